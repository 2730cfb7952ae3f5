"""Programs as C for the machine at hand: one state per call, and many states in vector lanes.

Both functions of a source have one signature whatever the program, so that a caller needs no more than
their addresses:

    int kernel(const double *const *in, double *out);
    int kernel_batch(size_t count, const double *const *in, double *out);

``in`` holds one array per input; the outputs follow each other in ``out``; in a batch the states are rows.
An input may be shared instead: one row for all states. The result is 1 when every output is finite.
``out`` may be the array of an input whose rows are as long.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files

from robot_dynamics.codegen.emit_c import indented, statements
from robot_dynamics.codegen.program import Program
from robot_dynamics.codegen.text import ProgramText, render


def lanes_source(program: Program, shared: Collection[str] = ()) -> str:
    """The self-contained C source of ``kernel`` and ``kernel_batch``.

    Args:
        program: what they compute.
        shared: names of the inputs of which a batch has one row for all states.
    """
    library = files("robot_dynamics.codegen").joinpath("lanes.h").read_text(encoding="utf-8")
    return "\n".join([library, _single(program), _block(program, shared), _batch(program, shared)])


def _single(program: Program) -> str:
    text = render(program)
    order = _positions(program)
    lines = [f"const double {name} = in[{order[a]}][{i}];" for name, a, i in text.loads]
    lines += [f"const double {name} = {expression};" for name, expression in text.prologue]
    if text.angles:
        blocks = f"{len(text.angles)} / LANES + ({len(text.angles)} % LANES != 0)"
        lines += [
            f"union {{ lanes vector[{blocks}]; double scalar[({blocks}) * LANES]; }} angle, sine, cosine;",
            f"angle.vector[{len(text.angles)} / LANES - ({len(text.angles)} % LANES == 0)] = (lanes){{0}};",
        ]
        lines += [f"angle.scalar[{i}] = {angle};" for i, angle in enumerate(text.angles)]
        lines.append(f"sincos_lanes({blocks}, angle.vector, sine.vector, cosine.vector);")
    table = {"sin": "sine", "cos": "cosine"}
    lines += [f"const double {name} = {table[f]}.scalar[{i}];" for name, f, i in text.functions]
    lines += statements(text, "double")
    lines += [f"const double r{i} = {result};" for i, result in enumerate(text.results)]
    lines += [f"out[{i}] = r{i};" for i in range(len(text.results))]
    total = " + ".join(f"0.0 * r{i}" for i in range(len(text.results)))
    lines.append(f"return {total or '0.0'} == 0.0;")
    return (
        f"int kernel(const double *const *in, double *out)\n{{\n{_unused(program, text)}{indented(lines)}}}\n"
    )


def _block(program: Program, shared: Collection[str]) -> str:
    text = render(program, suffix="_lanes")
    order = _positions(program)
    size = {argument.name: argument.size for argument in program.inputs}
    lines = ["const lanes zero = {0};"]
    for name, a, i in text.loads:
        load = f"zero + in[{order[a]}][{i}]" if a in shared else f"gather(in[{order[a]}] + {i}, {size[a]})"
        lines.append(f"const lanes {name} = {load};")
    lines += [f"const lanes {name} = {expression};" for name, expression in text.prologue]
    if text.angles:
        count = len(text.angles)
        lines += [f"lanes angle[{count}], sine[{count}], cosine[{count}];"]
        lines += [f"angle[{i}] = {angle};" for i, angle in enumerate(text.angles)]
        lines += [f"sincos_lanes({count}, angle, sine, cosine);"]
    table = {"sin": "sine", "cos": "cosine"}
    lines += [f"const lanes {name} = {table[f]}[{i}];" for name, f, i in text.functions]
    lines += statements(text, "lanes")
    lines += [f"const lanes r{i} = zero + {result};" for i, result in enumerate(text.results)]
    stride = len(text.results)
    lines += [f"scatter(out + {i}, {stride}, r{i});" for i in range(stride)]
    total = "".join(f" + 0.0 * r{i}" for i in range(stride))
    lines.append(f"return all_zero(zero{total});")
    head = "static int block(const double *const *in, double *out)"
    return f"/* LANES states. */\n{head}\n{{\n{_unused(program, text)}{indented(lines)}}}\n"


def _batch(program: Program, shared: Collection[str]) -> str:
    """The loop over blocks; what remains is padded with copies of the last state."""
    rows = {i: a.size for i, a in enumerate(program.inputs) if a.name not in shared}
    outputs = sum(argument.size for argument in program.outputs)
    names = ", ".join(f"in[{i}]" for i in range(len(program.inputs)))
    advance = "".join(f"        row[{i}] += {size} * LANES;\n" for i, size in rows.items())
    buffers = "".join(f"        double padded{i}[{size} * LANES];\n" for i, size in rows.items())
    fill = "".join(
        f"            for (int j = 0; j < {size}; ++j)"
        f" padded{i}[{size} * lane + j] = row[{i}][{size} * from + j];\n"
        for i, size in rows.items()
    )
    padded = ", ".join(f"padded{i}" if i in rows else f"in[{i}]" for i in range(len(program.inputs)))
    return f"""int kernel_batch(size_t count, const double *const *in, double *out)
{{
    const double *row[] = {{{names}}};
    int finite = 1;
    for (; count >= LANES; count -= LANES) {{
        finite &= block(row, out);
{advance}        out += {outputs} * LANES;
    }}
    if (count) {{
{buffers}        double result[{outputs} * LANES];
        for (size_t lane = 0; lane < LANES; ++lane) {{
            const size_t from = lane < count ? lane : count - 1;
{fill}        }}
        const double *const rows[] = {{{padded}}};
        finite &= block(rows, result);
        for (size_t i = 0; i < {outputs} * count; ++i) out[i] = result[i];
    }}
    return finite;
}}
"""


def _positions(program: Program) -> dict[str, int]:
    return {argument.name: position for position, argument in enumerate(program.inputs)}


def _unused(program: Program, text: ProgramText) -> str:
    return "" if text.loads else "    (void)in;\n"
