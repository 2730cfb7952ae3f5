"""The kernel of a single state with the columns of its matrices in lanes."""

from __future__ import annotations

from collections.abc import Iterator

from robot_dynamics.codegen.columns import MOST
from robot_dynamics.codegen.emit_c import indented
from robot_dynamics.codegen.emit_single import CHAINS, Targets, computed
from robot_dynamics.codegen.program import Columns, PlacedRows, Program
from robot_dynamics.codegen.text import render


def columns_single(program: Program, columns: Columns) -> str:
    """The function ``kernel`` of ``program`` by ``columns``, where vectors have ``MOST`` lanes."""
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
