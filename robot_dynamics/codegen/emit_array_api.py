"""Programs as functions over any library of the Python array API standard: NumPy, CuPy, JAX, PyTorch.

Every function takes the library's namespace as its first argument and arrays with any leading axes. There are
no loops, branches or assignments into arrays, so the library can differentiate and compile the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from robot_dynamics.codegen.emit_c import CAUTION, operation_lines
from robot_dynamics.codegen.emit_python import safe, wrapped
from robot_dynamics.codegen.program import Program
from robot_dynamics.codegen.text import render

Shapes = Sequence[Sequence[int]]
"""Of every output of a program, for one state."""

_USE = (
    "xp is the array library's namespace, such as numpy or jax.numpy. The last axis of an argument is the one"
    " that is described; axes before it are states and are broadcast against each other."
)


def array_module(programs: Sequence[tuple[Program, Shapes]], notice: Sequence[str]) -> str:
    """The Python module that defines one function per program.

    Args:
        programs: each becomes a function of its name.
        notice: lines for the module's docstring.
    """
    lines = [CAUTION, "", *notice, "", _USE, "", *operation_lines([program for program, _ in programs])]
    document = "\n".join(wrapped(line) for line in lines)
    functions = "\n\n".join(_function(program, shapes) for program, shapes in programs)
    return f'"""{document}\n"""\n\n\n{functions}'


def _function(program: Program, shapes: Shapes) -> str:
    text = render(program)
    names = [argument.name for argument in program.inputs]
    lines = [f'"""{program.name}.', "", "Args:", "    xp: namespace of the array library."]
    lines += [f"    {a.name}: (..., {a.size}) {safe(a.description)}" for a in program.inputs]
    lines += ["", "Returns:"]
    for argument, shape in zip(program.outputs, shapes, strict=True):
        assert argument.size == prod(shape)
        axes = ", ".join(map(str, shape))
        lines.append(f"    {argument.name}: (..., {axes}) {safe(argument.description)}")
    lines.append('"""')
    # Of the shape of all states together, and of their type and device.
    lines.append(f"zero = xp.zeros_like({' + '.join(f'{name}[..., 0]' for name in names)})")
    lines += [f"{name} = {argument}[..., {element}]" for name, argument, element in text.loads]
    lines += [f"{name} = {expression}" for name, expression in text.prologue]
    lines += [f"{name} = xp.{function}({text.angles[i]})" for name, function, i in text.functions]
    lines += [f"{name} = {_of_library(expression)}" for name, expression in text.body]
    start = 0
    results = []
    for argument, shape in zip(program.outputs, shapes, strict=True):
        entries = ", ".join(f"zero + {result}" for result in text.results[start : start + argument.size])
        stacked = f"xp.stack([{_of_library(entries)}], axis=-1)"
        if len(shape) != 1:
            stacked = f"xp.reshape({stacked}, (*zero.shape, {', '.join(map(str, shape))}))"
        results.append(stacked)
        start += argument.size
    lines.append(f"return {', '.join(results)}")
    body = "".join(f"    {line}\n" if line else "\n" for line in lines)
    return f"def {program.name}(xp, {', '.join(names)}):\n{body}"


def _of_library(expression: str) -> str:
    """The expression with the library's sine, cosine and square root."""
    for name in ("sin(", "cos(", "sqrt("):
        expression = expression.replace(name, f"xp.{name}")
    return expression
