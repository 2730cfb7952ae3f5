"""Kernels of a single state, read back from their C statement by statement, against matrices made here."""

import re

import numpy as np
import pytest

from robot_dynamics.codegen.columns import LEAST, MOST, ColumnGraph, Rows, Triangles
from robot_dynamics.codegen.emit_single import (
    CHAINS,
    MOST_CHAINED,
    Targets,
    columns_single,
    limbs_single,
    single,
    vectors_of,
)
from robot_dynamics.codegen.expression import ExpressionGraph, cos, sin, sqrt
from robot_dynamics.codegen.limbs import limbs_program
from robot_dynamics.codegen.program import Argument, Columns, Limbs, PlacedRows, Program, VectorInput


class Table:
    """A union of vectors: the same numbers as scalars, and in vectors of several widths."""

    def __init__(self, values):
        values = np.array(values)
        self.scalar = self.of_1 = values
        for width in (2, 4, 8):
            setattr(self, f"of_{width}", values[: len(values) // width * width].reshape(-1, width))


def picked(a, b, *places):
    """Lanes of two vectors, by numbers that no compiler has to wrap."""
    assert len(places) == MOST and all(0 <= place < 2 * MOST for place in places)
    return np.concatenate([a, b])[list(places)]


def padded(*angles):
    return list(angles)


NAMES = {
    "np": np,
    "Table": Table,
    "sqrt": np.sqrt,
    "PICK": picked,
    "VECTORS_OF_2": padded,
    "VECTORS_OF_4": padded,
    "VECTORS_OF_8": padded,
    "all_zero": lambda lanes: bool((np.asarray(lanes) == 0.0).all()),
    "not_finite": lambda values, size: float(0.0 * np.sum(values[:size])),
}
STATEMENTS = (
    (r"\(void\)in|enum .*|union .*|typedef .*|[{}]", r""),
    (r"const lanes angles\[\] = \{(.*)\}", r"angles = sum([\1], [])"),
    (r"sincos_state\(VECTORS, angles, sine\.vector, cosine\.vector\)",
     r"sine, cosine = Table(np.sin(angles)), Table(np.cos(angles))"),
    (r"lanes (\w+)\[(\d+)\]", r"\1 = [None] * \2"),
    (r"lanes (\w+)\[\] = \{(.*)\}", r"\1 = [np.array(row) for row in (\2)]"),
    (r"transpose\((\w+)\)", r"\1 = list(np.array(\1).T)"),
    (r"\*\(unaligned \*\)\((out(?:\[\d\])?) \+ (\d+)\) = (.*)", r"\1[\2:\2 + 8] = \3"),
    (r"lanes (total0 = .*)", r"\1"),
    (r"const \w+ (\w+) = \{(.*)\}", r"\1 = np.array([\2])"),
    (r"const \w+ (\w+) = (.*)", r"\1 = \2"),
    (r"return (.*)", r"finite = bool(\1)"),
)  # fmt: skip


def read_back(source):
    """The function ``kernel(given, out)`` of a source; it returns whether all is finite."""
    head, body = re.search(
        r"int kernel\(const double \*const \*in, (.*?)\)\n(\{\n.*\n\})\n$", source, re.S
    ).groups()
    lines = []
    for statement in re.split(r";?\n", body):
        line = statement.strip()
        for pattern, text in STATEMENTS:
            if re.fullmatch(pattern, line):
                line = re.sub(pattern, text, line)
                break
        line = re.sub(r"(total\d) = \{0\},?", r"\1 = np.zeros(8);", line)
        line = re.sub(r"\(lanes\)\{(.*)\}", r"np.array([\1])", line.replace("np.array([0])", "np.zeros(8)"))
        lines.append(re.sub(r"\bin\[", "given[", line))
    code = compile("\n".join(lines), "kernel", "exec")

    def kernel(given, out):
        names = {**NAMES, "given": given, "out": out}
        with np.errstate(invalid="ignore"):
            exec(code, names)
        return names["finite"]

    return head, kernel


def square_matrices(size, seed=1):
    """Columns, the program's frame, and the matrices as a function of the inputs."""
    graph = ExpressionGraph()
    x, y = graph.input("x", size * size), graph.input("y", size)
    lanes = ColumnGraph(graph)

    def column(j, lower):
        total = lanes.shared(sin(y[0])) * 0.0
        for i in range(j if lower else j + 1, size):
            total = total + lanes.entering(x[size * i + j], i) * lanes.shared(y[(i + j) % size])
        return total * lanes.shared(cos(y[1]) + 2.0)

    triangles = Triangles([column(j, True) for j in range(size)], [column(j, False) for j in range(size - 1)])
    scalars = [sin(y[i]) * y[j] for i in range(size) for j in range(size)]
    outputs = [
        Rows(right=triangles),
        Rows(left=scalars),
        Rows(left=scalars, right=triangles.negated),
    ]
    columns = lanes.columns("f", size, outputs)
    arguments = tuple(Argument(name, size * size) for name in ("u", "v", "w"))
    program = Program("f", tuple(graph.inputs), (), (), arguments, ())

    def expected(x, y):
        x = x.reshape(size, size)
        factor = np.array([[y[(i + j) % size] for j in range(size)] for i in range(size)])
        entries = np.where(np.tri(size, dtype=bool), x, x.T) * factor * (np.cos(y[1]) + 2.0)
        left = np.outer(np.sin(y), y)
        return [entries, left, -left @ entries]

    return columns, program, expected


@pytest.mark.parametrize("size", range(LEAST, MOST + 1))
def test_matrices_with_their_columns_in_lanes(size):
    assert (LEAST, MOST) == (4, 8)
    columns, program, expected = square_matrices(size)
    head, kernel = read_back(columns_single(program, columns))
    assert head == "double *const *out"
    random = np.random.default_rng(size)
    given = [random.uniform(0.2, 1.2, size * size), random.uniform(0.2, 1.2, size)]
    out = [np.full(size * size, np.nan) for _ in range(3)]
    assert kernel(given, out)
    for found, matrix in zip(out, expected(*given), strict=True):
        np.testing.assert_allclose(found.reshape(size, size), matrix, rtol=1e-13)


@pytest.mark.parametrize("place", [0, 5, 11, 15])
def test_an_entry_that_is_not_finite_is_found_in_every_row(place):
    columns, program, _ = square_matrices(4)
    _, kernel = read_back(columns_single(program, columns))
    x = np.linspace(0.5, 1.5, 16)
    x[place] = np.inf if place == 5 else np.nan
    reached = place in (0, 4, 5, 8, 9, 10, 12, 13, 14, 15)
    assert kernel([x, np.ones(4)], [np.empty(16) for _ in range(3)]) == (not reached)


def test_one_matrix_goes_into_one_array():
    columns, program, expected = square_matrices(5)
    alone = Columns(5, columns.scalars, columns.lanes, columns.entered, columns.outputs[:1])
    source = columns_single(Program("f", program.inputs, (), (), program.outputs[:1], ()), alone)
    head, kernel = read_back(source)
    given = [np.linspace(0.5, 1.5, 25), np.linspace(0.3, 0.9, 5)]
    out = np.full(25, np.nan)
    assert head == "double *out" and kernel(given, out)
    np.testing.assert_allclose(out.reshape(5, 5), expected(*given)[0], rtol=1e-13)


def test_scalars_that_lanes_share_are_entered_once():
    graph = ExpressionGraph()
    a, b = graph.input("x", 2)
    lanes = ColumnGraph(graph)
    once = lanes.shared(a)
    assert once == lanes.graph.input_scalars[0]
    assert lanes.shared(a) == once and lanes.shared(-a) == -once and lanes.shared(b) != once
    assert lanes.shared(graph.expression(-2.5)) == lanes.graph.expression(-2.5)
    assert lanes.entering(a - a, 3) == lanes.graph.expression(0.0)
    entered = lanes.entering(-a, 3)
    assert entered not in (once, -once) and lanes.entering(-a, 3) != entered
    assert lanes.graph.inputs == [Argument(f"needed{k}", 1) for k in range(4)]
    rows = [
        Rows(right=Triangles([once, entered], [once * 2.0])),
        Rows(left=[a, b, -b, a]),
        Rows([b] * 4, Triangles([once], [entered])),
    ]
    found = lanes.columns("f", 2, rows)
    assert found.size == 2 and found.entered == (None, None, 3, 3)
    assert found.outputs == (
        PlacedRows((), (0, 1), (2,)),
        PlacedRows((4, 5, 6, 7), (), ()),
        PlacedRows((8, 9, 10, 11), (3,), (4,)),
    )
    assert found.scalars.outputs == (Argument("needed", 12),) and found.scalars.inputs == (Argument("x", 2),)
    assert found.lanes.outputs == (Argument("vectors", 5),) and found.lanes.name == found.scalars.name == "f"
    negated = Triangles([once, -entered], [entered]).negated
    assert list(negated.lower) == [-once, entered] and list(negated.upper) == [-entered]


def straight(values, sizes, inputs=(("x", 3), ("y", 1))):
    graph = ExpressionGraph()
    arrays = [graph.input(name, size) for name, size in inputs]
    results = values(*arrays)
    arguments, place = [], 0
    for k, size in enumerate(sizes):
        arguments.append((Argument(f"out{k}", size), results[place : place + size]))
        place += size
    return graph.build_program("f", arguments)


def test_a_kernel_of_scalars():
    program = straight(
        lambda x, y: [sin(x[0] + y[0]) * x[1], cos(x[2]) - sqrt(y[0]), sin(sin(x[1])), x[0]], [3, 1]
    )
    source = single(program).replace("sin(s", "np.sin(s")
    head, kernel = read_back(source)
    out = [np.full(3, np.nan), np.full(1, np.nan)]
    assert head == "double *const *out" and kernel([[0.3, -0.7, 1.1], [2.3]], out)
    expected = [np.sin(2.6) * -0.7, np.cos(1.1) - np.sqrt(2.3), np.sin(np.sin(-0.7))]
    np.testing.assert_allclose(np.concatenate(out), [*expected, 0.3], rtol=1e-14)
    for bad in (np.inf, np.nan):
        assert not kernel([[bad, -0.7, 1.1], [2.3]], out)
        assert not kernel([[0.3, -0.7, 1.1], [bad]], out)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, MOST_CHAINED, MOST_CHAINED + 1, 20])
@pytest.mark.parametrize("split", [False, True])
def test_every_result_is_checked(count, split):
    sizes = [count // 2, count - count // 2] if split and count > 1 else [count]
    program = straight(lambda x: [x[k] * 2.0 for k in range(count)], sizes, (("x", count),))
    source = single(program)
    assert ("not_finite(" in source) == (count > 16)
    head, kernel = read_back(source)
    assert head == ("double *out" if len(sizes) == 1 else "double *const *out")
    given = np.linspace(0.5, 1.5, count)
    out = [np.full(size, np.nan) for size in sizes]
    target = out[0] if len(sizes) == 1 else out
    assert kernel([given], target)
    np.testing.assert_array_equal(np.concatenate(out), 2.0 * given)
    for place in range(count):
        bad = given.copy()
        bad[place] = np.inf
        assert not kernel([bad], target)


def test_sums_of_checks_run_side_by_side():
    source = single(straight(lambda x: [x[k] * 2.0 for k in range(6)], [6], (("x", 6),)))
    assert CHAINS == 4
    assert source.endswith(
        "    return (0.0 * r0 + 0.0 * r4) + (0.0 * r1 + 0.0 * r5) + (0.0 * r2) + (0.0 * r3) == 0.0;\n}\n"
    )
    two = single(straight(lambda x: [x[0], x[1]], [2], (("x", 2),)))
    assert two.endswith("    return (0.0 * r0) + (0.0 * r1) == 0.0;\n}\n")
    none = single(straight(lambda x: [], [0], (("x", 2),)))
    assert (
        none
        == "int kernel(const double *const *in, double *out)\n{\n    (void)in;\n    return 0.0 == 0.0;\n}\n"
    )


def test_angles_fill_vectors_of_two_four_and_eight():
    names = [f"a{k}" for k in range(11)]
    assert vectors_of(names[:1]) == "VECTORS_OF_2(a0, 0.0)"
    assert vectors_of(names[:2]) == "VECTORS_OF_2(a0, a1)"
    assert vectors_of(names[:3]) == "VECTORS_OF_4(a0, a1, a2, 0.0)"
    assert vectors_of(names[:4]) == "VECTORS_OF_4(a0, a1, a2, a3)"
    assert vectors_of(names[:5]) == "VECTORS_OF_8(a0, a1, a2, a3, a4, 0.0, 0.0, 0.0)"
    assert vectors_of(names) == f"VECTORS_OF_8({', '.join(names[:8])}), VECTORS_OF_4(a8, a9, a10, 0.0)"
    assert vectors_of([]) == ""


def test_places_of_results():
    one = Targets.of(straight(lambda x: [x[0], x[1]], [2], (("x", 2),)))
    assert (one.sizes, one.places, one.parameter) == ((2,), ((0, 0), (0, 1)), "double *out")
    assert one.array(0) == "out" and one.array(0, "place") == "place" and one.scalar(1) == "out[1]"
    two = Targets.of(straight(lambda x: [x[0], x[1], x[0]], [1, 2], (("x", 2),)))
    assert (two.sizes, two.places) == ((1, 2), ((0, 0), (1, 0), (1, 1)))
    assert two.parameter == "double *const *out"
    assert two.array(1) == "out[1]" and two.array(0, "place") == "place[0]" and two.scalar(2) == "out[1][1]"


@pytest.mark.parametrize("limbs", [2, 3, 4, 5])
def test_kernels_of_limbs(limbs):
    graph = ExpressionGraph()
    s = graph.input("s", 2)
    every = graph.input("q", 3 * limbs)

    def of_limb(k, s, q, sine=sin, cosine=cos):
        sign, number = (-1.0) ** k, 0.5 + k
        return (sine(q[0] + sign * q[1]) * number + s[0]) * q[2] - cosine(q[1]) / (s[1] + q[0])

    def values(s, every, sine=sin, cosine=cos):
        found = [of_limb(k, s, every[3 * k : 3 * k + 3], sine, cosine) for k in range(limbs)]
        return [*found, sine(s[0]) * found[0] + cosine(found[-1])]

    results = values(s, every)
    outputs = [(Argument("u", limbs), results[:-1]), (Argument("v", 1), results[-1:])]
    whole = graph.build_program("f", outputs)
    groups = [[range(2 + 3 * k, 5 + 3 * k) for k in range(limbs)]]
    made = limbs_program(graph, "f", outputs, groups, whole)
    source = limbs_single(whole, made)
    width = {2: 2, 3: 4, 4: 4, 5: 8}[limbs]
    typed = f"typedef double limbs_{width} __attribute__((vector_size({8 * width})));\n"
    assert source.startswith(typed + "int kernel(") and source.count("typedef") == 1
    members = f"double of_1[VECTORS * LANES]; limbs_{width} of_{width}[VECTORS * LANES / {width}];"
    assert f"    union {{ lanes vector[VECTORS]; {members} }} sine, cosine;\n" in source
    head, kernel = read_back(re.sub(r"(?<!\.)\bcos\(", "np.cos(", source[len(typed) :]))
    random = np.random.default_rng(limbs)
    given = [random.uniform(0.2, 1.2, 2), random.uniform(0.2, 1.2, 3 * limbs)]
    out = [np.full(limbs, np.nan), np.full(1, np.nan)]
    assert head == "double *const *out" and kernel(given, out)
    np.testing.assert_allclose(np.concatenate(out), values(*given, np.sin, np.cos), rtol=1e-13)
    given[1][-1] = np.nan
    assert not kernel(given, out)


def test_lanes_without_a_limb_repeat_the_last_one():
    graph = ExpressionGraph()
    x = graph.input("x", 2)
    y = graph.input("y", 3)
    first, second = graph.input("vector0", 1)[0], graph.input("vector1", 1)[0]
    pick = graph.pick((first * second + x[1]).literal, 2)
    whole = ExpressionGraph()
    whole.input("x", 2), whole.input("y", 3)
    program = whole.build_program("f", [(Argument("u", 1), [0.0])])
    lanes = graph.build_program("f", [(Argument("u", 1), [type(y[0])(graph, pick)])])
    vectors = (
        VectorInput(scalars=(4, 2, 1), negated=(0, 1, 0)),
        VectorInput(constants=(0.5, -1.5, 3.0, 1.0, 2.0)),
    )
    lines = limbs_single(program, Limbs(lanes, vectors)).splitlines()
    assert lines[:2] == [
        "typedef double limbs_4 __attribute__((vector_size(32)));",
        "typedef double limbs_8 __attribute__((vector_size(64)));",
    ]
    assert [line.strip() for line in lines[4:]] == [
        "const double x_1 = in[0][1];",
        "const limbs_4 vector0_0 = {in[1][2], -in[1][0], in[0][1], in[0][1]};",
        "const limbs_8 vector1_0 = {0.5, -1.5, 3.0, 1.0, 2.0, 2.0, 2.0, 2.0};",
        "const __auto_type t1 = x_1 + (vector0_0 * vector1_0);",
        "const double r0 = t1[2];",
        "out[0] = r0;",
        "return (0.0 * r0) == 0.0;",
        "}",
    ]


def test_a_sine_of_what_is_picked_from_limbs_is_a_scalar_among_vectors():
    graph = ExpressionGraph()
    every = graph.input("q", 6)

    def values(q, sine=sin):
        made = [(sine(q[k]) + q[k + 1] * q[k + 2]) * q[k + 1] - q[k] * q[k + 2] for k in (0, 3)]
        joined = [q[k] * q[k + 1] - q[k + 2] for k in (0, 3)]
        return [*made, sine(joined[0] * joined[1])]

    outputs = [(Argument("u", 3), values(every))]
    whole = graph.build_program("f", outputs)
    made = limbs_program(graph, "f", outputs, [[range(3), range(3, 6)]], whole)
    source = limbs_single(whole, made)
    _, kernel = read_back(source.partition("\n")[2])
    given, out = np.array([0.3, -0.7, 1.1, 0.4, 0.9, -1.2]), np.full(3, np.nan)
    assert kernel([given], out)
    np.testing.assert_allclose(out, values(given, np.sin), rtol=1e-13)
