"""Emitted C and Python against closed forms written out here."""

import ctypes
import math
import subprocess

import numpy as np
import pytest

from robot_dynamics.codegen.emit_c import c_header, c_source
from robot_dynamics.codegen.emit_lanes import lanes_source
from robot_dynamics.codegen.emit_python import python_module
from robot_dynamics.codegen.expression import ExpressionGraph, cos, sin, sqrt
from robot_dynamics.codegen.program import Argument
from robot_dynamics.native.compiler import find_compiler
from robot_dynamics.native.library import NativeKernel

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def example():
    """Every operation, a sine of a sum, a sine of a sine, a constant and an unused input."""
    graph = ExpressionGraph()
    x = graph.input("x", 3, 'angles [rad] */ """ \\')
    graph.input("unused", 2, "nothing")
    y = graph.input("y", 1, "length [m]")
    first = [
        sin(x[0] + x[1]) * y[0] - 0.25,
        -(cos(x[2]) * x[0]) / (y[0] + 3.0),
        sin(sin(x[0]) - 2.0 * x[1]),
        graph.expression(1e-5),
    ]
    second = [sqrt(y[0] * y[0] + cos(x[2]) * cos(x[2])) - (x[0] - (x[1] - x[2]))]
    return graph.build_program("example", [(Argument("u", 4, "[m]"), first), (Argument("v", 1), second)])


def exact(x, y):
    return [
        math.sin(x[0] + x[1]) * y - 0.25,
        -(math.cos(x[2]) * x[0]) / (y + 3.0),
        math.sin(math.sin(x[0]) - 2.0 * x[1]),
        1e-5,
        math.sqrt(y * y + math.cos(x[2]) ** 2) - (x[0] - (x[1] - x[2])),
    ]


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(3).uniform(-3.0, 3.0, (29, 4))


def doubles(values):
    return (ctypes.c_double * len(values))(*values)


def compile_shared(folder, *flags):
    call = [*find_compiler().command, *flags, "-shared", "-fPIC", "source.c", "-o", "source.so", "-lm"]
    subprocess.run(call, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "source.so"))


def test_c99_is_pedantically_clean_and_right(tmp_path, states):
    program = example()
    (tmp_path / "source.c").write_text(c_source([program], "source.h", ["a notice with */ in it"]))
    (tmp_path / "source.h").write_text(c_header([program], "SOURCE_H", ["notice"]))
    library = compile_shared(tmp_path, *STRICT, "-O1")
    for state in states:
        u, v = doubles([0.0] * 4), doubles([0.0])
        library.example(doubles(state[:3]), doubles([0, 0]), doubles(state[3:]), u, v)
        np.testing.assert_allclose([*u, *v], exact(state[:3], state[3]), rtol=1e-14, atol=1e-15)


def test_c99_writes_its_results_after_reading_its_inputs(tmp_path):
    graph = ExpressionGraph()
    x = graph.input("x", 2)
    program = graph.build_program("swap", [(Argument("y", 2), [x[1], x[0]])])
    (tmp_path / "source.c").write_text(c_source([program], "source.h", []))
    (tmp_path / "source.h").write_text(c_header([program], "SOURCE_H", []))
    both = doubles([1.0, 2.0])
    compile_shared(tmp_path, *STRICT, "-O2").swap(both, both)
    assert list(both) == [2.0, 1.0]


def test_python_module_on_numbers_and_on_arrays(states):
    names = {}
    exec(python_module([example()], ['notice with """ in it']), names)
    expected = np.array([exact(state[:3], state[3]) for state in states])
    for state, row in zip(states.tolist(), expected, strict=True):
        u, v = names["example"](state[:3], [0, 0], state[3:])
        np.testing.assert_allclose([*u, *v], row, rtol=1e-14, atol=1e-15)
    columns = states.T
    u, v = names["example"](columns[:3], [0, 0], columns[3:], np.sin, np.cos, np.sqrt)
    np.testing.assert_allclose(np.broadcast_arrays(*u, *v), expected.T, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("flags", [["-O1"], ["-O2", "-march=native"], ["-O1", "-DLANES=8"]])
def test_lanes_single_and_batches_of_every_remainder(tmp_path, states, flags):
    (tmp_path / "source.c").write_text(lanes_source(example()))
    kernel = NativeKernel(compile_shared(tmp_path, *flags, "-w"), outputs=2)
    expected = np.array([exact(state[:3], state[3]) for state in states])
    x, y, unused = states[:, :3].copy(), states[:, 3:].copy(), np.zeros((len(states), 2))
    for count in (*range(1, 18), len(states)):
        u, v = np.full((count + 1, 4), 7.0), np.full((count + 1, 1), 7.0)
        assert kernel.run([x[:count], unused[:count], y[:count]], [u[:count], v[:count]])
        np.testing.assert_allclose(np.hstack([u, v])[:count], expected[:count], rtol=1e-14, atol=1e-15)
        assert (u[count] == 7.0).all() and (v[count] == 7.0).all()
    u, v = np.empty(4), np.empty(1)
    assert kernel.run([x[3], unused[3], y[3]], [u, v])
    np.testing.assert_allclose([*u, *v], expected[3], rtol=1e-14, atol=1e-15)


def test_lanes_report_results_that_are_not_finite(tmp_path, states):
    (tmp_path / "source.c").write_text(lanes_source(example()))
    kernel = NativeKernel(compile_shared(tmp_path, "-O1", "-w"), outputs=2)
    for bad in (np.nan, np.inf, -np.inf):
        for row in (0, 8, 28):
            x, y = states[:, :3].copy(), states[:, 3:].copy()
            x[row, 1] = bad
            assert not kernel.run([x, np.zeros((29, 2)), y], [np.empty((29, 4)), np.empty((29, 1))])
        assert not kernel.run(
            [np.array([bad, 0.0, 0.0]), np.zeros(2), np.ones(1)], [np.empty(4), np.empty(1)]
        )
