"""Programs as C for the machine at hand: one state per call, and many states in vector lanes.

Both functions of a source have one signature whatever the program, so that a caller needs no more than
their addresses:

    int kernel(const double *const *in, double *out);
    int kernel_batch(size_t count, const double *const *in, double *out);

``in`` holds one array per input; in a batch the states are rows. An input may be shared instead: one row for
all states. The result is 1 when every output is finite. ``out`` may be the array of an input whose rows are
as long. Where a program has several outputs, ``double *const *out`` holds one array per output.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files

from robot_dynamics.codegen.emit_c import indented, statements
from robot_dynamics.codegen.partition import KEPT, Block, partition
from robot_dynamics.codegen.program import Program
from robot_dynamics.codegen.text import ProgramText, render

# Vectors that pass through a block together: enough to fetch a block's code once for many states, few enough
# to keep what passes from block to block near.
TILE = 8
# The most that the slots of a tile may take on the stack [bytes].
SLOT_BYTES = 256 * 1024
# Compilers take time that grows faster than a function. Beyond so many instructions a single state passes
# through the blocks like many.
LONGEST_SINGLE = 20_000
# Sums that run side by side where results are checked, and the most results that a single state adds
# without reading them back.
CHAINS = 4
MOST_CHAINED = 16


def lanes_source(program: Program, shared: Collection[str] = ()) -> str:
    """The self-contained C source of ``kernel`` and ``kernel_batch``.

    Args:
        program: what they compute.
        shared: names of the inputs of which a batch has one row for all states.
    """
    library = files("robot_dynamics.codegen").joinpath("lanes.h").read_text(encoding="utf-8")
    if len(program.instructions) > LONGEST_SINGLE:
        parameter = _Targets.of(program).parameter
        head = f"int kernel(const double *const *in, {parameter})"
        single = f"{head}\n{{\n    return kernel_batch(1, in, out);\n}}\n"
        return "\n".join([library, _blocks(program, shared), _batch(program, shared), single])
    return "\n".join([library, _single(program), _blocks(program, shared), _batch(program, shared)])


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
    targets = _Targets.of(program)
    lines += [f"{targets.scalar(i)} = r{i};" for i in range(len(text.results))]
    lines.append(f"return {_all_finite(targets)};")
    return (
        f"int kernel(const double *const *in, {targets.parameter})\n"
        f"{{\n{_unused(program, text)}{indented(lines)}}}\n"
    )


def _all_finite(targets: _Targets) -> str:
    """Whether every result of a single state is finite.

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
class _Targets:
    """Where the results go: one array, or an array of arrays.

    Attributes:
        sizes: of the outputs.
        places: output and element of every result.
    """

    sizes: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    @staticmethod
    def of(program: Program) -> _Targets:
        sizes = tuple(argument.size for argument in program.outputs)
        return _Targets(sizes, tuple((k, i) for k, size in enumerate(sizes) for i in range(size)))

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


def _blocks(program: Program, shared: Collection[str]) -> str:
    """One function per block and the one that calls them in turn for a tile of states."""
    parts = partition(program)
    # A tile's slots stay on the stack and in the nearest caches; the vectors of AVX-512 have eight lanes.
    tile = max(1, min(TILE, SLOT_BYTES // (64 * max(1, parts.slots))))
    functions = [f"/* Vectors of states that pass through a block together. */\n#define TILE {tile}\n"]
    functions += [_block(program, shared, number, block) for number, block in enumerate(parts.blocks)]
    parameter = _Targets.of(program).parameter
    lines = [f"lanes slots[{max(1, parts.slots)}][TILE];", "lanes total = {0};"]
    lines += [f"total += block{i}(vectors, in, slots, out);" for i in range(len(parts.blocks))]
    lines.append("return all_zero(total);")
    head = "/* vectors * LANES states, no more than TILE * LANES. */\n"
    head += f"static int tile(size_t vectors, const double *const *in, {parameter})"
    return "\n".join([*functions, f"{head}\n{{\n{indented(lines)}}}\n"])


def _block(program: Program, shared: Collection[str], number: int, block: Block) -> str:
    """Function ``block<number>``: its results times zero, added up."""
    text = render(block.program, suffix="_lanes", named_results=True)
    order = _positions(program)
    size = {argument.name: argument.size for argument in program.inputs}
    loads = []
    for name, a, i in text.loads:
        if a == KEPT:
            load = f"slots[{block.loads[i]}][v]"
        elif a in shared:
            load = f"zero + in[{order[a]}][{i}]"
        else:
            load = f"gather(in[{order[a]}] + {size[a]} * LANES * v + {i}, {size[a]})"
        loads.append(f"const lanes {name} = {load};")
    loads += [f"const lanes {name} = {expression};" for name, expression in text.prologue]
    lines = ["const lanes zero = {0};", f"lanes {', '.join(f'total{k} = {{0}}' for k in range(CHAINS))};"]
    each_vector = "for (size_t v = 0; v < vectors; ++v) {"
    count = len(text.angles)
    if text.angles:
        lines += [f"lanes angle[{count} * TILE], sine[{count} * TILE], cosine[{count} * TILE];", each_vector]
        lines += [f"    {line}" for line in loads]
        lines += [f"    angle[{count} * v + {i}] = zero + {angle};" for i, angle in enumerate(text.angles)]
        lines += ["}", f"sincos_lanes({count} * vectors, angle, sine, cosine);"]
    table = {"sin": "sine", "cos": "cosine"}
    body = [*loads, *(f"const lanes {n} = {table[f]}[{count} * v + {i}];" for n, f, i in text.functions)]
    targets = _Targets.of(program)
    stores = _stores(text, block, targets)
    defined = {name for name, _ in text.body}
    body += [line for result, using in stores.items() if result not in defined for line in using]
    for (name, _), statement in zip(text.body, statements(text, "lanes"), strict=True):
        body += [statement, *stores.get(name, [])]
    lines += [
        each_vector,
        *(f"    {line}" for line in body),
        "}",
        f"return {' + '.join(f'total{k}' for k in range(CHAINS))};",
    ]
    head = f"static __attribute__((noinline)) lanes block{number}(\n"
    head += f"    size_t vectors, const double *const *in, lanes (*slots)[TILE], {targets.parameter})"
    return f"{head}\n{{\n{indented(lines)}}}\n"


def _stores(text: ProgramText, block: Block, targets: _Targets) -> dict[str, list[str]]:
    """What to do with the result that an expression names, as soon as it is known."""
    stores: dict[str, list[str]] = {}
    kept = len(block.stores)
    for slot, result in zip(block.stores, text.results[:kept], strict=True):
        stores.setdefault(result, []).append(f"slots[{slot}][v] = {result};")
    for number, (place, result) in enumerate(zip(block.outputs, text.results[kept:], strict=True)):
        output, element = targets.places[place]
        array, stride = targets.array(output), targets.sizes[output]
        stores.setdefault(result, []).append(
            f"scatter({array} + {stride} * LANES * v + {element}, {stride}, zero + {result});"
            f" total{number % CHAINS} += 0.0 * {result};"
        )
    return stores


def _batch(program: Program, shared: Collection[str]) -> str:
    """The loop over tiles; what remains is padded with copies of the last state."""
    rows = {i: a.size for i, a in enumerate(program.inputs) if a.name not in shared}
    targets = _Targets.of(program)
    several = len(targets.sizes) > 1
    names = ", ".join(f"in[{i}]" for i in range(len(program.inputs)))
    advance = "".join(f"        row[{i}] += {size} * LANES * vectors;\n" for i, size in rows.items())
    buffers = "".join(f"        double padded{i}[{size} * LANES];\n" for i, size in rows.items())
    fill = "".join(
        f"            for (int j = 0; j < {size}; ++j)"
        f" padded{i}[{size} * lane + j] = row[{i}][{size} * from + j];\n"
        for i, size in rows.items()
    )
    padded = ", ".join(f"padded{i}" if i in rows else f"in[{i}]" for i in range(len(program.inputs)))
    place, result = ("place", "results") if several else ("out", "result")
    moved, results, copies = "", "", ""
    for k, size in enumerate(targets.sizes):
        own = f"result{k}" if several else "result"
        to = targets.array(k, place)
        moved += f"        {to} += {size} * LANES * vectors;\n"
        results += f"        double {own}[{size} * LANES];\n"
        copies += f"        for (size_t i = 0; i < {size} * count; ++i) {to}[i] = {own}[i];\n"
    start = ""
    if several:
        outputs = range(len(targets.sizes))
        start = f"    double *place[] = {{{', '.join(f'out[{k}]' for k in outputs)}}};\n"
        results += f"        double *const results[] = {{{', '.join(f'result{k}' for k in outputs)}}};\n"
    return f"""int kernel_batch(size_t count, const double *const *in, {targets.parameter})
{{
    const double *row[] = {{{names}}};
{start}    int finite = 1;
    while (count >= LANES) {{
        const size_t vectors = count / LANES < TILE ? count / LANES : TILE;
        finite &= tile(vectors, row, {place});
{advance}{moved}        count -= LANES * vectors;
    }}
    if (count) {{
{buffers}{results}        for (size_t lane = 0; lane < LANES; ++lane) {{
            const size_t from = lane < count ? lane : count - 1;
{fill}        }}
        const double *const rows[] = {{{padded}}};
        finite &= tile(1, rows, {result});
{copies}    }}
    return finite;
}}
"""


def _positions(program: Program) -> dict[str, int]:
    return {argument.name: position for position, argument in enumerate(program.inputs)}


def _unused(program: Program, text: ProgramText) -> str:
    return "" if text.loads else "    (void)in;\n"
