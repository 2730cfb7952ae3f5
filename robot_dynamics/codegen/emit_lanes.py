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

import re
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files

from robot_dynamics.codegen.columns import MOST
from robot_dynamics.codegen.emit_c import indented, statements
from robot_dynamics.codegen.emit_single import CHAINS, Targets, columns_single, limbs_single, single
from robot_dynamics.codegen.partition import KEPT, Block, brief, partition
from robot_dynamics.codegen.program import Program
from robot_dynamics.codegen.text import ProgramText, render

# Vectors that pass through a block together: enough to fetch a block's code once for many states, few enough
# to keep what passes from block to block near.
TILE = 8
# The most that the inputs, slots and results of a tile should take on the stack [bytes]: in the nearest
# cache, or in the one behind it where so few vectors would fit and the code is too long to stay near too.
NEAR_BYTES = 48 * 1024
FEWEST = 4
FAR_BYTES = 128 * 1024
# The states of the next tile are asked for where those of all tiles take more than this [bytes]: as much as
# the caches of one core hold. No block asks for more vectors than so many: then requests wait for each other.
ASKED_BYTES = 1024 * 1024
ASKED_VECTORS = 40
# Instructions whose code fits in the nearest cache, from block to block.
RESIDENT = 2400
# Compilers take time that grows faster than a function. Beyond so many instructions a single state passes
# through the blocks like many.
LONGEST_SINGLE = 20_000
# GCC then orders instructions before it assigns registers, which spares vectors many a trip to the stack. The
# code becomes longer, which a single state, whose code runs once, does not gain from.
SCHEDULED = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize ("schedule-insns", "sched-pressure")
#endif
"""
UNSCHEDULED = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
"""

_NAME = re.compile(r"[A-Za-z_]\w*")


def lanes_source(program: Program, shared: Collection[str] = ()) -> str:
    """The self-contained C source of ``kernel`` and ``kernel_batch``.

    Args:
        program: what they compute.
        shared: names of the inputs of which a batch has one row for all states.
    """
    program = brief(program)
    if _too_long(program):
        parameter = Targets.of(program).parameter
        head = f"int kernel(const double *const *in, {parameter})"
        one = f"{head}\n{{\n    return kernel_batch(1, in, out);\n}}\n"
        return "\n".join([lanes_library(), _blocks(program, shared), _batch(program, shared), one])
    return "\n".join(
        [lanes_library(), _state_kernel(program), _blocks(program, shared), _batch(program, shared)]
    )


def state_source(program: Program, header: str) -> str:
    """The C source of ``kernel`` without ``kernel_batch``, for a caller of one state at a time.

    Args:
        program: what it computes.
        header: path by which the source includes :func:`lanes_library`.
    """
    if _too_long(program):
        return lanes_source(program)
    return f'#include "{header}"\n\n{_state_kernel(brief(program))}'


def lanes_library() -> str:
    """C functions of vectors, which every source needs."""
    return files("robot_dynamics.codegen").joinpath("lanes.h").read_text(encoding="utf-8")


def _too_long(program: Program) -> bool:
    """Return whether a compiler would take too long for the function of a single state."""
    one = program.limbs.program if program.limbs else program
    return len(one.instructions) > LONGEST_SINGLE


def _state_kernel(program: Program) -> str:
    one = limbs_single(program, program.limbs) if program.limbs else single(program)
    if program.columns is None:
        return one
    return f"#if LANES == {MOST}\n{columns_single(program, program.columns)}#else\n{one}#endif\n"


def _blocks(program: Program, shared: Collection[str]) -> str:
    """One function per block and the one that calls them in turn for a tile of states."""
    parts = partition(program)
    targets = Targets.of(program)
    sizes = (max(1, program.input_size), max(1, parts.slots), len(targets.places))
    tile = _tile(len(program.instructions), sum(sizes))
    functions = [f"/* Vectors of states that pass through a block together. */\n#define TILE {tile}\n"]
    functions += [
        SCHEDULED,
        *(_block(program, k, block) for k, block in enumerate(parts.blocks)),
        UNSCHEDULED,
    ]
    names = ("inputs", "slots", "results")
    lines = [f"lanes {', '.join(f'{n}[{size}][TILE]' for n, size in zip(names, sizes, strict=True))};"]
    lines += ["const size_t vectors = (count + LANES - 1) / LANES;", "lanes total = {0};"]
    first = 0
    for number, argument in enumerate(program.inputs):
        size, to = argument.size, f"inputs[{first}]"
        if argument.name in shared:
            lines.append(f"repeat_row(vectors, {size}, in[{number}], {to}, TILE);")
        else:
            lines.append(f"load_rows(count, {size}, in[{number}], {to}, TILE);")
        first += size
    rows = [(i, a.size) for i, a in enumerate(program.inputs) if a.name not in shared]
    if tile * sum(size for _, size in rows) > ASKED_VECTORS * len(parts.blocks):
        rows = []
    for block in range(len(parts.blocks)):
        # While the blocks compute, the memory behind the results comes near, and the states of the next tile.
        part = f"{block}, {len(parts.blocks)}"
        for number, size in enumerate(targets.sizes):
            lines.append(f"ask_for({targets.array(number)}, {size} * count, {part}, 1);")
        if rows:
            asked = (f"ask_for(in[{i}] + {size} * count, {size} * next, {part}, 0);" for i, size in rows)
            lines += ["if (next) {", *(f"    {line}" for line in asked), "}"]
        lines.append(f"total += block{block}(vectors, inputs, slots, results);")
    first = 0
    for number, size in enumerate(targets.sizes):
        lines.append(f"store_rows(count, {size}, results[{first}], TILE, {targets.array(number)});")
        first += size
    lines.append("return all_zero(total);")
    head = "/* Up to TILE * LANES states. Of those after them, `next` are asked for. */\n"
    head += f"static MOVES int tile(size_t count, size_t next, const double *const *in, {targets.parameter})"
    return "\n".join([*functions, f"{head}\n{{\n{indented(lines)}}}\n"])


def _tile(instructions: int, values: int) -> int:
    """Number of vectors that pass through the blocks together; each has ``values`` entries on the stack."""
    size = 64 * values  # of AVX-512, the longest vectors
    near = NEAR_BYTES // size
    if near >= FEWEST:
        return min(TILE, near)
    return 1 if instructions <= RESIDENT else max(1, min(TILE, FAR_BYTES // size))


def _block(program: Program, number: int, block: Block) -> str:
    """Function ``block<number>``: its results times zero, added up."""
    text = render(block.program, suffix="_lanes", named_results=True)
    first = _first_elements(program)
    loads = {}
    for name, argument, i in text.loads:
        place = f"slots[{block.loads[i]}]" if argument == KEPT else f"inputs[{first[argument] + i}]"
        loads[name] = f"const lanes {name} = {place}[v];"
    prologue = [f"const lanes {name} = {expression};" for name, expression in text.prologue]
    lines = ["const lanes zero = {0};", f"lanes {', '.join(f'total{k} = {{0}}' for k in range(CHAINS))};"]
    each_vector = "#pragma GCC unroll 1\n    for (size_t v = 0; v < vectors; ++v) {"
    count = len(text.angles)
    if text.angles:
        lines += [f"lanes angle[{count} * TILE], sine[{count} * TILE], cosine[{count} * TILE];", each_vector]
        angles = [f"angle[{count} * v + {i}] = zero + {angle};" for i, angle in enumerate(text.angles)]
        lines += [f"    {line}" for line in _defined_late(loads, [*prologue, *angles])]
        lines += ["}", f"sincos_lanes({count} * vectors, angle, sine, cosine);"]
    table = {"sin": "sine", "cos": "cosine"}
    loads |= {n: f"const lanes {n} = {table[f]}[{count} * v + {i}];" for n, f, i in text.functions}
    body = prologue
    stores = _stores(text, block)
    defined = {name for name, _ in text.body}
    body += [line for result, using in stores.items() if result not in defined for line in using]
    for (name, _), statement in zip(text.body, statements(text, "lanes"), strict=True):
        body += [statement, *stores.get(name, [])]
    lines += [
        each_vector,
        *(f"    {line}" for line in _defined_late(loads, body)),
        "}",
        f"return {' + '.join(f'total{k}' for k in range(CHAINS))};",
    ]
    head = f"static __attribute__((noinline)) lanes block{number}(\n"
    head += "    size_t vectors, lanes (*inputs)[TILE], lanes (*slots)[TILE], lanes (*results)[TILE])"
    return f"{head}\n{{\n{indented(lines)}}}\n"


def _defined_late(definitions: Mapping[str, str], lines: Sequence[str]) -> list[str]:
    """``lines``, each definition of a name right before the first of them that uses it.

    Compilers keep what is loaded early in registers, or on the stack once they are full; they cannot move a
    load behind what is stored before it.
    """
    waiting = dict(definitions)
    placed = []
    for line in lines:
        placed += [waiting.pop(name) for name in _NAME.findall(line) if name in waiting]
        placed.append(line)
    return placed


def _stores(text: ProgramText, block: Block) -> dict[str, list[str]]:
    """Statements for the result that an expression names, as soon as it is known."""
    stores: dict[str, list[str]] = {}
    kept = len(block.stores)
    for slot, result in zip(block.stores, text.results[:kept], strict=True):
        stores.setdefault(result, []).append(f"slots[{slot}][v] = {result};")
    for number, (place, result) in enumerate(zip(block.outputs, text.results[kept:], strict=True)):
        stores.setdefault(result, []).append(
            f"results[{place}][v] = zero + {result}; total{number % CHAINS} += 0.0 * {result};"
        )
    return stores


def _batch(program: Program, shared: Collection[str]) -> str:
    """The loop over tiles."""
    targets = Targets.of(program)
    several = len(targets.sizes) > 1
    names = ", ".join(f"in[{i}]" for i in range(len(program.inputs)))
    place = "place" if several else "out"
    moved = [f"row[{i}] += {a.size} * states;" for i, a in enumerate(program.inputs) if a.name not in shared]
    moved += [f"{targets.array(k, place)} += {size} * states;" for k, size in enumerate(targets.sizes)]
    outputs = ", ".join(f"out[{k}]" for k in range(len(targets.sizes)))
    lines = [f"const double *row[] = {{{names}}};"]
    lines += [f"double *place[] = {{{outputs}}};"] if several else []
    state = sum(argument.size for argument in program.inputs if argument.name not in shared)
    lines += [
        f"const size_t most = count * {state} * sizeof(double) > {ASKED_BYTES} ? TILE * LANES : 0;",
        "int finite = 1;",
        "while (count) {",
        "    const size_t states = count < TILE * LANES ? count : TILE * LANES;",
        "    count -= states;",
        "    const size_t next = count < most ? count : most;",
        f"    finite &= tile(states, next, row, {place});",
        *(f"    {line}" for line in moved),
        "}",
        "return finite;",
    ]
    head = f"int kernel_batch(size_t count, const double *const *in, {targets.parameter})"
    return f"{head}\n{{\n{indented(lines)}}}\n"


def _first_elements(program: Program) -> dict[str, int]:
    """Number of every input's first element among those of all inputs."""
    first, number = {}, 0
    for argument in program.inputs:
        first[argument.name] = number
        number += argument.size
    return first
