"""The kernel of a single state, whose results are scalars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.codegen.emit_c import indented, statements
from robot_dynamics.codegen.program import Program
from robot_dynamics.codegen.text import ProgramText, render

# Sums that run side by side where results are checked, and the most results that a single state adds
# without reading them back.
CHAINS = 4
MOST_CHAINED = 16


def single(program: Program) -> str:
    """The function ``kernel`` of a program."""
    text = render(program)
    return kernel(program, computed(program, text), text)


def kernel(program: Program, body: Sequence[str], text: ProgramText) -> str:
    """The function ``kernel`` from the statements after which every name in ``text`` is known."""
    lines = [*body]
    lines += [f"const double r{i} = {result};" for i, result in enumerate(text.results)]
    targets = Targets.of(program)
    lines += [f"{targets.scalar(i)} = r{i};" for i in range(len(text.results))]
    lines.append(f"return {_all_finite(targets)};")
    return f"int kernel(const double *const *in, {targets.parameter})\n{{\n{indented(lines)}}}\n"


def computed(program: Program, text: ProgramText) -> list[str]:
    """Statements after which every name in ``text`` is known, from the arrays ``in``."""
    order = {argument.name: position for position, argument in enumerate(program.inputs)}
    lines = [f"const double {name} = in[{order[a]}][{i}];" for name, a, i in text.loads]
    lines += [f"const double {name} = {expression};" for name, expression in text.prologue]
    if text.angles:
        lines += [
            f"const lanes angles[] = {{{vectors_of(text.angles)}}};",
            "enum { VECTORS = sizeof angles / sizeof *angles };",
            "union { lanes vector[VECTORS]; double scalar[VECTORS * LANES]; } sine, cosine;",
            "sincos_state(VECTORS, angles, sine.vector, cosine.vector);",
        ]
    table = {"sin": "sine", "cos": "cosine"}
    lines += [f"const double {name} = {table[f]}.scalar[{i}];" for name, f, i in text.functions]
    lines += statements(text, "double")
    return [*([] if text.loads else ["(void)in;"]), *lines]


def vectors_of(angles: Sequence[str]) -> str:
    """The angles of one state as vectors of as many lanes as the machine has; zeros fill the last one up."""
    groups = []
    for start in range(0, len(angles), 8):
        group = angles[start : start + 8]
        size = next(size for size in (2, 4, 8) if len(group) <= size)
        padded = [*group, *["0.0"] * (size - len(group))]
        groups.append(f"VECTORS_OF_{size}({', '.join(padded)})")
    return ", ".join(groups)


def _all_finite(targets: Targets) -> str:
    """Test in C that every result of a single state is finite.

    One long chain of additions would take longer than the program; many results are read back from where they
    were written.
    """
    if len(targets.places) > MOST_CHAINED:
        sums = [f"not_finite({targets.array(k)}, {size})" for k, size in enumerate(targets.sizes)]
    else:
        count = len(targets.places)
        chains = [
            " + ".join(f"0.0 * r{i}" for i in range(k, count, CHAINS)) for k in range(min(CHAINS, count))
        ]
        sums = [f"({chain})" for chain in chains]
    return f"{' + '.join(sums) or '0.0'} == 0.0"


@dataclass(frozen=True)
class Targets:
    """Destination of the results: one array, or an array of arrays.

    Attributes:
        sizes: of the outputs.
        places: output and element of every result.
    """

    sizes: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    @staticmethod
    def of(program: Program) -> Targets:
        sizes = tuple(argument.size for argument in program.outputs)
        return Targets(sizes, tuple((k, i) for k, size in enumerate(sizes) for i in range(size)))

    @property
    def parameter(self) -> str:
        """Declaration of the parameter ``out``."""
        return "double *out" if len(self.sizes) == 1 else "double *const *out"

    def array(self, output: int, of: str = "out") -> str:
        """The array of an output."""
        return of if len(self.sizes) == 1 else f"{of}[{output}]"

    def scalar(self, result: int) -> str:
        """The element that a result of a single state goes to."""
        output, element = self.places[result]
        return f"{self.array(output)}[{element}]"
