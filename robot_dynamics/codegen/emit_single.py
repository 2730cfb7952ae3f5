"""Kernels of a single state: with scalars, with a matrix's columns in lanes, and with limbs in lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from robot_dynamics.codegen.columns import MOST
from robot_dynamics.codegen.emit_c import indented, statements
from robot_dynamics.codegen.partition import brief
from robot_dynamics.codegen.program import Columns, Limbs, Operation, PlacedRows, Program, VectorInput
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


def columns_single(program: Program, columns: Columns) -> str:
    """The function ``kernel`` of ``program`` by ``columns`` in lanes; vectors have ``MOST`` lanes."""
    text = render(columns.scalars)
    lines = computed(columns.scalars, text)
    lines += [f"const double needed{k} = {result};" for k, result in enumerate(text.results)]
    lines += ["const lanes zero = {0};", f"lanes {', '.join(f'total{k} = {{0}}' for k in range(CHAINS))};"]
    lanes = render(columns.lanes)
    for name, argument, _ in lanes.loads:
        number = int(argument.removeprefix("needed"))
        lane = columns.entered[number]
        if lane is None:
            lines.append(f"const double {name} = needed{number};")
        else:
            vector = ", ".join(f"needed{number}" if k == lane else "0.0" for k in range(MOST))
            lines.append(f"const lanes {name} = {{{vector}}};")
    # The names of both programs are the same: those of the vectors hide those of the scalars.
    inner = [f"const __auto_type {name} = {expression};" for name, expression in lanes.body]
    inner += [f"const lanes vector{k} = zero + {result};" for k, result in enumerate(lanes.results)]
    targets = Targets.of(program)
    for number, output in enumerate(columns.outputs):
        inner += _stored(columns.size, number, output, targets.array(number))
    inner.append(f"return all_zero({' + '.join(f'total{k}' for k in range(CHAINS))});")
    return (
        f"int kernel(const double *const *in, {targets.parameter})\n"
        f"{{\n{indented(lines)}    {{\n{indented([f'    {line}' for line in inner])}    }}\n}}\n"
    )


def _stored(size: int, number: int, output: PlacedRows, target: str) -> Iterator[str]:
    """Write one matrix, row by row."""
    rows = [f"rows{number}[{i}]" for i in range(size)]
    if output.lower:
        yield from _rows(size, number, output)
        if output.left:
            yield f"lanes product{number}[{size}];"
            for i in range(size):
                factors = output.left[i * size : (i + 1) * size]
                products = " + ".join(f"needed{f} * {row}" for f, row in zip(factors, rows, strict=True))
                yield f"product{number}[{i}] = {products};"
            rows = [f"product{number}[{i}]" for i in range(size)]
    else:
        yield f"lanes rows{number}[{size}];"
        for i in range(size):
            entries = [f"needed{k}" for k in output.left[i * size : (i + 1) * size]]
            yield f"rows{number}[{i}] = (lanes){{{', '.join([*entries, *['0.0'] * (MOST - size)])}}};"
    for i, row in enumerate(rows):
        yield f"total{i % CHAINS} += 0.0 * {row};"
        if i + 1 < size:
            # What is written past the row's end is written again with the next one.
            yield f"*(unaligned *)({target} + {i * size}) = {row};"
    before = MOST - size
    last = ", ".join(str(k + size - before if k < before else k + size) for k in range(MOST))
    yield f"*(unaligned *)({target} + {size * size - MOST}) = PICK({rows[-2]}, {rows[-1]}, {last});"


def _rows(size: int, number: int, output: PlacedRows) -> Iterator[str]:
    """The rows of a matrix from its columns below the diagonal and its rows above."""
    lower = [f"vector{k}" for k in output.lower] + ["zero"] * (MOST - size)
    yield f"lanes rows{number}[] = {{{', '.join(lower)}}};"
    yield f"transpose(rows{number});"
    for i in range(size - 1):
        picked = ", ".join(str(k if k <= i else k + MOST) for k in range(MOST))
        yield f"rows{number}[{i}] = PICK(rows{number}[{i}], vector{output.upper[i]}, {picked});"


def limbs_single(program: Program, limbs: Limbs) -> str:
    """The function ``kernel`` of ``program`` by ``limbs``, which are lanes of vectors."""
    made = brief(limbs.program)
    text = render(made)
    widths = sorted({_width(vector) for vector in limbs.vectors})
    types = [f"typedef double limbs_{width} __attribute__((vector_size({8 * width})));\n" for width in widths]
    places = [f"in[{k}][{i}]" for k, argument in enumerate(program.inputs) for i in range(argument.size)]
    given = {argument.name: f"in[{k}]" for k, argument in enumerate(program.inputs)}
    vectors = {f"vector{k}": vector for k, vector in enumerate(limbs.vectors)}
    lines = []
    for name, argument, element in text.loads:
        if argument in vectors:
            vector = vectors[argument]
            lines.append(f"const limbs_{_width(vector)} {name} = {_lanes(vector, places)};")
        else:
            lines.append(f"const double {name} = {given[argument]}[{element}];")
    lines += [f"const __auto_type {name} = {expression};" for name, expression in text.prologue]
    if text.angles:
        lines += _sines(text, _widths(made, limbs))
    lines += [f"const __auto_type {name} = {expression};" for name, expression in text.body]
    return "".join(types) + kernel(program, [*([] if text.loads else ["(void)in;"]), *lines], text)


def _width(vector: VectorInput) -> int:
    """Lanes of the type of a vector: a power of two."""
    return 1 << (vector.limbs - 1).bit_length()


def _lanes(vector: VectorInput, places: Sequence[str]) -> str:
    """A vector in C; lanes without a limb repeat the last one, so that nothing in them is divided by zero."""
    if vector.constants:
        entries = [repr(value) for value in vector.constants]
    else:
        signs = ("-" if sign else "" for sign in vector.negated)
        entries = [f"{sign}{places[k]}" for sign, k in zip(signs, vector.scalars, strict=True)]
    entries += entries[-1:] * (_width(vector) - len(entries))
    return f"{{{', '.join(entries)}}}"


def _widths(program: Program, limbs: Limbs) -> list[int]:
    """Lanes of every value of the program, 1 for scalars."""
    widths = [1] * program.first_instruction
    first = program.input_size - len(limbs.vectors)
    for k, vector in enumerate(limbs.vectors):
        widths[first + k] = _width(vector)
    for instruction in program.instructions:
        of_operands = [widths[operand] for operand in instruction.operands]
        widths.append(1 if instruction.operation is Operation.PICK else max(of_operands))
    return widths


def _sines(text: ProgramText, widths: Sequence[int]) -> list[str]:
    """Sines and cosines of all angles together, those of vectors first, the longest at the beginning."""
    order = sorted(range(len(text.angles)), key=lambda k: -widths[text.arguments[k]])
    lines, entries, place = [], list[str](), {}
    for k in order:
        width = widths[text.arguments[k]]
        place[k] = len(entries) // width
        if width == 1:
            entries.append(text.angles[k])
        else:
            lines.append(f"const limbs_{width} angle{k} = {text.angles[k]};")
            entries += [f"angle{k}[{lane}]" for lane in range(width)]
    used = sorted({widths[value] for value in text.arguments} - {1})
    members = "".join(f" limbs_{width} of_{width}[VECTORS * LANES / {width}];" for width in used)
    lines += [
        f"const lanes angles[] = {{{vectors_of(entries)}}};",
        "enum { VECTORS = sizeof angles / sizeof *angles };",
        f"union {{ lanes vector[VECTORS]; double of_1[VECTORS * LANES];{members} }} sine, cosine;",
        "sincos_state(VECTORS, angles, sine.vector, cosine.vector);",
    ]
    table = {"sin": "sine", "cos": "cosine"}
    for name, function, k in text.functions:
        width = widths[text.arguments[k]]
        lines.append(f"const __auto_type {name} = {table[function]}.of_{width}[{place[k]}];")
    return lines
