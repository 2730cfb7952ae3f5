"""Programs as a Python module.

Every function takes sequences of numbers, or of equally long arrays for many states at once, with the sine,
cosine and square root that fit.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from robot_dynamics.codegen.emit_c import CAUTION, operation_lines
from robot_dynamics.codegen.program import Program
from robot_dynamics.codegen.text import render
from robot_dynamics.errors import escaped

WIDTH = 110


def python_module(programs: Sequence[Program], notice: Sequence[str]) -> str:
    """The Python module that defines one function per program.

    Args:
        programs: each becomes a function of its name.
        notice: lines for the module's docstring.
    """
    lines = [CAUTION, "", *notice, "", *operation_lines(programs)]
    document = "\n".join(wrapped(line) for line in lines)
    functions = "\n\n".join(_function(program) for program in programs)
    return f'"""{document}\n"""\n\nfrom math import cos, sin, sqrt\n\n\n{functions}'


def _function(program: Program) -> str:
    text = render(program)
    names = [argument.name for argument in program.inputs]
    lines = [f'"""{program.name}.', ""]
    lines += ["Args:"]
    lines += [f"    {a.name}: {a.size} numbers. {safe(a.description)}" for a in program.inputs]
    lines += ["    sin, cos, sqrt: numpy's, where the numbers are arrays.", "", "Returns:"]
    lines += [f"    {a.name}: {a.size} numbers. {safe(a.description)}" for a in program.outputs]
    lines += ['"""']
    for argument in program.inputs:
        elements = ", ".join(f"{argument.name}_{i}" for i in range(argument.size))
        lines.append(f"{elements}{',' if argument.size == 1 else ''} = {argument.name}")
    lines += [f"{name} = {expression}" for name, expression in text.prologue]
    lines += [f"{name} = {function}({text.angles[i]})" for name, function, i in text.functions]
    lines += [f"{name} = {expression}" for name, expression in text.body]
    results, start = [], 0
    for argument in program.outputs:
        results.append(f"[{', '.join(text.results[start : start + argument.size])}]")
        start += argument.size
    lines.append(f"return {', '.join(results)}")
    body = "".join(f"    {line}\n" if line else "\n" for line in lines)
    return f"def {program.name}({', '.join(names)}, sin=sin, cos=cos, sqrt=sqrt):\n{body}"


def wrapped(line: str) -> str:
    """A line of a docstring, in lines that are not too long."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return "\n".join(textwrap.wrap(safe(line), WIDTH, subsequent_indent=indent))


def safe(text: str) -> str:
    """Text that cannot end the docstring it stands in, nor look like code that it is not."""
    return escaped(text).replace("\\", "/").replace('"', "'")
