"""The kernel of a single state of a robot whose limbs are lanes of vectors."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.codegen.emit_single import kernel, vectors_of
from robot_dynamics.codegen.partition import brief
from robot_dynamics.codegen.program import Limbs, Operation, Program, VectorInput
from robot_dynamics.codegen.text import ProgramText, render


def limbs_single(program: Program, limbs: Limbs) -> str:
    """The function ``kernel`` of ``program`` by ``limbs``."""
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
