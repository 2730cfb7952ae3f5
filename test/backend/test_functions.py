"""Compiled functions of any inputs and outputs: the fast way and the general way give the same."""

import gc
import weakref
from contextlib import suppress

import numpy as np
import pytest

from robot_dynamics.codegen.expression import ExpressionGraph, sin
from robot_dynamics.codegen.program import Argument
from robot_dynamics.errors import SingularityError, StateError
from robot_dynamics.native.evaluator import Evaluator
from robot_dynamics.native.fast_call import fast_function
from robot_dynamics.native.loading import load_kernel
from robot_dynamics.native.signature import Input, Signature

STATES = (Input("x", 3), Input("y", 10, "ten numbers"))
OPTIONAL = (Input("force", 6, "six numbers"), Input("scale", 1, "one number"))
HELD = (Input("offset", 4), Input("factor", 1))
SHAPES = ((4, 4), (), (2, 3, 2))
SIGNATURE = Signature("trial", STATES, SHAPES, OPTIONAL, HELD, "y[9] must not be zero")
OFFSET, FACTOR = np.array([0.5, -1.0, 2.0, 3.0]), np.array([1.5])


def program(given):
    graph = ExpressionGraph()
    arrays = [*STATES, *(array for array in OPTIONAL if array.name in given), *HELD]
    named = {array.name: graph.input(array.name, array.size) for array in arrays}
    x, y, offset, factor = (named[name] for name in ("x", "y", "offset", "factor"))
    one = graph.expression(1.0)
    force = named.get("force", (graph.expression(0.0),) * 6)
    scale = named.get("scale", (one,))[0]
    matrix = [scale * (y[i] * offset[j] + sin(x[j % 3])) + force[i] for i in range(4) for j in range(4)]
    quotient = factor[0] * x[0] / y[9]
    cube = [y[i] * x[i % 3] + force[i % 6] * factor[0] for i in range(10)] + [one, x[2]]
    outputs = [
        (Argument("matrix", 16), matrix),
        (Argument("quotient", 1), [quotient]),
        (Argument("cube", 12), cube),
    ]
    return graph.build_program("trial", outputs)


def reference(x, y, force=(0,) * 6, scale=(1,)):
    force = np.asarray(force, dtype=float)
    matrix = scale[0] * (np.outer(y[:4], OFFSET) + np.sin(x[[0, 1, 2, 0]])) + force[:4, None]
    cube = [y[i] * x[i % 3] + force[i % 6] * FACTOR[0] for i in range(10)] + [1.0, x[2]]
    return matrix, FACTOR[0] * x[0] / y[9], np.reshape(cube, (2, 3, 2))


pytestmark = pytest.mark.usefixtures("fresh_cache")


def make(backend):
    def load(given):
        key, shared = f"trial {given}", ("offset", "factor")
        return load_kernel(key, __name__, lambda: program(given), len(SHAPES), backend, shared)

    evaluator = Evaluator(SIGNATURE, load, [OFFSET, FACTOR])
    function = fast_function(evaluator, "A trial.") if backend == "c" else evaluator
    for given in ((), ("force",), ("scale",), ("force", "scale")):
        evaluator.kernel(given)
    return function


@pytest.fixture(scope="module", params=["c", "python"])
def function(request):
    return make(request.param)


@pytest.fixture
def rows():
    rng = np.random.default_rng(4)
    return {a.name: rng.uniform(0.5, 2.0, (37, a.size)) for a in (*STATES, *OPTIONAL)}


def check(results, inputs):
    batch = inputs["x"].ndim == 2
    for i in range(len(inputs["x"]) if batch else 1):
        row = {name: array[i] if batch and array.ndim == 2 else array for name, array in inputs.items()}
        for result, expected in zip(results, reference(**row), strict=True):
            np.testing.assert_allclose(result[i] if batch else result, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.long
@pytest.mark.parametrize("names", [(), ("force",), ("scale",), ("force", "scale")])
def test_every_choice_of_optional_inputs(function, rows, names):
    chosen = {name: rows[name] for name in ("x", "y", *names)}
    for inputs in (chosen, {name: array[5] for name, array in chosen.items()}):
        options = {name: inputs[name] for name in names}
        results = function(inputs["x"], inputs["y"], **options)
        assert isinstance(results, tuple) and len(results) == 3
        leading = inputs["x"].shape[:-1]
        assert [result.shape for result in results] == [(*leading, *shape) for shape in SHAPES]
        check(results, inputs)
        positional = [options.get(array.name) for array in OPTIONAL]
        check(function(inputs["x"], inputs["y"], *positional), inputs)
        check(function(inputs["x"].tolist(), inputs["y"].tolist(), *positional), inputs)


@pytest.mark.long
def test_one_row_of_an_optional_input_stands_for_all_states(function, rows):
    inputs = {"x": rows["x"], "y": rows["y"], "force": rows["force"][0]}
    check(function(inputs["x"], inputs["y"], force=inputs["force"]), inputs)


@pytest.mark.long
@pytest.mark.parametrize("count", [None, 1, 37, 700])
def test_results_go_where_they_are_wanted(function, rows, count):
    inputs = {name: np.resize(rows[name], (count or 1, rows[name].shape[1])) for name in ("x", "y")}
    if count is None:
        inputs = {name: array[0] for name, array in inputs.items()}
    leading = inputs["x"].shape[:-1]
    out = tuple(np.full((*leading, *shape), 7.0) for shape in SHAPES)
    assert function(inputs["x"], inputs["y"], out=out) is out
    check(out, inputs)
    expected = function(inputs["x"], inputs["y"])
    # A list, an array with gaps, and one that lies over an input are all right, only slower.
    gaps = np.zeros((*leading, 4, 8))[..., ::2]
    listed = [gaps, np.empty(leading), np.empty((*leading, 2, 3, 2))]
    assert function(inputs["x"], inputs["y"], None, None, listed) is listed
    for result, value in zip(listed, expected, strict=True):
        np.testing.assert_array_equal(result, value)
    room = np.zeros((*leading, 16))
    room[..., :10] = inputs["y"]
    over = (room.reshape(*leading, 4, 4), np.empty(leading), np.empty((*leading, 2, 3, 2)))
    function(inputs["x"], room[..., :10], out=over)
    np.testing.assert_array_equal(over[0], expected[0])


def test_a_result_that_somebody_holds_is_never_filled_again(rows):
    function = make("c")
    x, y = rows["x"], rows["y"]
    held = [function(x[i], y[i]) for i in range(20)]
    for i, results in enumerate(held):
        check(results, {"x": x[i], "y": y[i]})
    arrays = [function(x[i], y[i])[0] for i in range(20)]
    views = [function(x[i], y[i])[0][1:, ::2] for i in range(20)]
    buffers = [memoryview(function(x[i], y[i])[2]) for i in range(20)]
    # The tuple alone is what is asked for, and what refers to one weakly must see it die, not change.
    watched = weakref.ref(function(x[0], y[0])[0])
    for i in range(20):
        function(x[20 + i % 3], y[20 + i % 3])
        expected = reference(x[i], y[i])
        np.testing.assert_allclose(arrays[i], expected[0], rtol=1e-13)
        np.testing.assert_allclose(views[i], expected[0][1:, ::2], rtol=1e-13)
        np.testing.assert_allclose(buffers[i], expected[2], rtol=1e-13)
    assert watched() is None or np.allclose(watched(), reference(x[0], y[0])[0])
    # One that nobody holds is: new memory would cost more than the kernel.
    del held, arrays, views, buffers
    places = {tuple(array.ctypes.data for array in function(x[0], y[0])) for _ in range(50)}
    assert len(places) <= 2


def test_an_array_that_was_changed_is_no_place_for_results(rows):
    function = make("c")
    x, y = rows["x"][0], rows["y"][0]
    foreign = np.full(16, 7.0)

    def reshape(array):
        array.shape = (16,)

    def close(array):
        array.flags.writeable = False

    def other_numbers(array):
        array.dtype = np.int64

    def other_memory(array):
        with suppress(AttributeError):  # older versions of numpy only
            array.data = foreign.data

    def shrink(array):
        array.resize((2, 2), refcheck=False)

    for change in (reshape, close, other_numbers, other_memory, shrink):
        for _ in range(3):
            change(function(x, y)[0])
        for _ in range(3):
            check(function(x, y), {"x": x, "y": y})
    assert (foreign == 7.0).all()


def test_results_that_lie_over_each_other_are_refused(function, rows):
    room = np.full(40, 7.0)
    out = (room[:16].reshape(4, 4), room[20:21].reshape(()), room[10:22].reshape(2, 3, 2))
    with pytest.raises(StateError, match="entry 2 of out shares memory"):
        function(rows["x"][0], rows["y"][0], out=out)
    assert (room == 7.0).all()


def test_an_output_may_take_the_place_of_an_input_of_its_size():
    graph = ExpressionGraph()
    x = graph.input("x", 2)
    outputs = [(Argument("swapped", 2), [x[1], x[0]]), (Argument("sum", 1), [x[0] + x[1]])]
    made = graph.build_program("swap", outputs)
    signature = Signature("swap", (Input("x", 2),), ((2,), (1,)))
    evaluator = Evaluator(signature, lambda given: load_kernel("swap", __name__, lambda: made, 2, "c"))
    function = fast_function(evaluator, "Swaps.")
    evaluator.kernel()
    values = np.arange(42.0).reshape(21, 2)
    total = np.empty((21, 1))
    array = values.copy()
    function(array, out=(array, total))
    np.testing.assert_array_equal(array, values[:, ::-1])
    np.testing.assert_array_equal(total[:, 0], values.sum(axis=1))


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (np.empty((4, 4)), "expected a tuple of 3 arrays"),
        ((np.empty((4, 4)), np.empty(())), "expected a tuple of 3 arrays"),
        (
            (np.empty((4, 4)), np.empty(1), np.empty((2, 3, 2))),
            r"float64 \(1,\); expected an array float64 \(\)",
        ),
        ((np.empty((4, 4)), None, np.empty((2, 3, 2))), "out is NoneType"),
    ],
)
def test_other_places_are_refused(function, rows, out, words):
    with pytest.raises(StateError, match=words):
        function(rows["x"][0], rows["y"][0], out=out)


def test_a_list_that_cannot_be_gone_through_is_no_place(function, rows):
    class Faulty(list):
        def __iter__(self):
            raise RuntimeError("nothing works")

        __len__ = __iter__

    with pytest.raises(StateError, match=r"out cannot be read as a list: .*nothing works"):
        function(rows["x"][0], rows["y"][0], out=Faulty())


def test_what_is_wrong_is_named(function, rows):
    x, y = rows["x"][0], rows["y"][0]
    with pytest.raises(StateError, match=r"y has shape \(9,\); expected \(10,\) or \(N, 10\): ten numbers"):
        function(x, y[:9])
    with pytest.raises(StateError, match=r"scale has shape \(2,\)"):
        function(x, y, scale=np.ones(2))
    with pytest.raises(TypeError, match=r"takes \(x, y, force, scale, out\)"):
        function(x, y, offset=OFFSET)
    with pytest.raises(TypeError, match="takes"):
        function(x)
    broken = rows["force"].copy()
    broken[30, 2] = np.inf
    with pytest.raises(StateError, match="force is inf at entry 2 of state 30"):
        function(rows["x"], rows["y"], broken)
    y = y.copy()
    y[9] = 0.0
    with pytest.raises(SingularityError, match=r"y\[9\] must not be zero"):
        function(x, y)


def test_the_function_lives_as_long_as_it_is_used_and_no_longer(rows):
    evaluator = make("python")
    assert isinstance(evaluator, Evaluator)
    function = fast_function(evaluator, "A trial.")
    alive = weakref.ref(evaluator)
    del evaluator
    gc.collect()
    check(function(rows["x"], rows["y"]), {"x": rows["x"], "y": rows["y"]})
    del function
    gc.collect()
    assert alive() is None


def test_what_fast_calls_cannot_hold_is_called_through_the_evaluator():
    many = tuple(Input(f"x{i}", 1) for i in range(13))
    assert isinstance(fast_function(Evaluator(Signature("many", many, ((1,),)), None), ""), Evaluator)
    wide = Signature("wide", many[:1], ((1, 1, 1, 1),))
    assert isinstance(fast_function(Evaluator(wide, None), ""), Evaluator)
