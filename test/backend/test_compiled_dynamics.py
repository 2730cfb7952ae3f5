"""Every quantity and backend against Pinocchio, and what callers may do wrong."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
from random_arms import PinocchioArm, random_chain
from shares import share_of

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.errors import (
    BackendError,
    ParameterError,
    RobotDynamicsError,
    SingularityError,
    StateError,
    WrongTypeError,
)
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.resources import resource

GRAVITY = (1.0, -2.0, -9.3)
BACKENDS = ("c", "python")
CALLS = [
    ("inverse_dynamics", 3, False),
    ("inverse_dynamics", 3, True),
    ("gravity", 1, False),
    ("coriolis", 2, False),
    ("mass_matrix", 1, False),
    ("forward_dynamics", 3, False),
    ("forward_dynamics", 3, True),
]


pytestmark = pytest.mark.usefixtures("fresh_cache")


@pytest.fixture(scope="module")
def chain():
    return random_chain(np.random.default_rng(5), 4, mimic=True)


@pytest.fixture(scope="module")
def oracle(chain):
    return PinocchioArm(chain, GRAVITY)


@pytest.fixture(scope="module")
def models(chain):
    return {backend: compile_dynamics(chain, GRAVITY, backend) for backend in BACKENDS}


@pytest.fixture(params=BACKENDS)
def dynamics(request, models):
    return models[request.param]


@pytest.fixture
def states(chain):
    return list(np.random.default_rng(1).normal(size=(3, 21, chain.dof)))


@pytest.fixture
def wrench():
    return np.random.default_rng(2).normal(size=(21, 6))


def close(value, reference):
    np.testing.assert_allclose(value, reference, rtol=0, atol=1e-12 * np.abs(reference).max())


@pytest.mark.parametrize(("name", "count", "with_wrench"), CALLS)
def test_agrees_with_pinocchio_one_by_one_and_in_batches(
    dynamics, oracle, states, wrench, name, count, with_wrench
):
    arguments = [*states[:count], *([wrench] if with_wrench else [])]
    reference = np.array([getattr(oracle, name)(*rows) for rows in zip(*arguments, strict=True)])
    function = getattr(dynamics, name)
    for samples in (1, 5, 21):
        close(function(*(rows[:samples] for rows in arguments)), reference[:samples])
    for i in (0, 20):
        close(function(*(rows[i] for rows in arguments)), reference[i])


def test_jacobian_gives_the_velocity_of_the_tip(dynamics, oracle, states):
    q, qd, _ = states
    velocity = np.array([oracle.tip_velocity(*rows) for rows in zip(q, qd, strict=True)])
    close(np.einsum("kij,kj->ki", dynamics.jacobian(q), qd), velocity)
    close(dynamics.jacobian(q[3]) @ qd[3], velocity[3])


def test_long_batches_and_their_remainder(models, oracle):
    q, qd, qdd = np.random.default_rng(8).normal(size=(3, 1003, 3))
    tau = models["c"].inverse_dynamics(q, qd, qdd)
    for i in (0, 499, 999, 1000, 1001, 1002):
        close(tau[i], oracle.inverse_dynamics(q[i], qd[i], qdd[i]))


def test_angles_of_many_turns(dynamics, oracle, states):
    q = 1e5 * states[0]
    np.testing.assert_allclose(
        dynamics.gravity(q), [oracle.gravity(row) for row in q], rtol=1e-9, atol=1e-9 * 1e5
    )


def test_lists_integers_single_precision_and_slices_are_converted(dynamics, oracle, states):
    q, qd, qdd = states
    reference = np.array([oracle.inverse_dynamics(*rows) for rows in zip(q, qd, qdd, strict=True)])
    close(dynamics.inverse_dynamics(q.tolist(), qd.tolist(), qdd.tolist()), reference)
    close(dynamics.inverse_dynamics(np.asfortranarray(q), qd, qdd), reference)
    wide = np.zeros((42, 6))
    wide[::2, ::2] = q
    close(dynamics.inverse_dynamics(wide[::2, ::2], qd, qdd), reference)
    close(dynamics.inverse_dynamics(wide[0, ::2], qd[0], qdd[0]), reference[0])
    np.testing.assert_allclose(
        dynamics.inverse_dynamics(q.astype(np.float32), qd, qdd), reference, rtol=0, atol=1e-5 * 100
    )
    close(
        dynamics.inverse_dynamics([1, 0, 2], [0, 0, 0], [0, 0, 0]),
        oracle.gravity(np.array([1.0, 0.0, 2.0])),
    )
    swapped = q.astype(">f8")
    close(dynamics.inverse_dynamics(swapped, qd, qdd), reference)


def test_arguments_by_name_and_one_wrench_for_all(dynamics, oracle, states, wrench):
    q, qd, qdd = states
    load = wrench[0]
    rows = zip(q, qd, qdd, strict=True)
    reference = np.array([oracle.inverse_dynamics(*row, load) for row in rows])
    close(dynamics.inverse_dynamics(q=q, qd=qd, qdd=qdd, wrench=load), reference)
    close(dynamics.inverse_dynamics(q, qd, qdd, load), reference)
    close(
        dynamics.inverse_dynamics(q, qd, qdd, wrench=None),
        dynamics.inverse_dynamics(q, qd, qdd, np.zeros(6)),
    )


@pytest.mark.parametrize("name", share_of(sorted(QUANTITIES)))
def test_out_is_filled_and_returned(dynamics, states, name):
    arguments = states[: len(QUANTITIES[name].states)]
    for rows in (arguments, [array[0] for array in arguments]):
        reference = getattr(dynamics, name)(*rows)
        several = isinstance(reference, tuple)
        arrays = reference if several else (reference,)
        outs = tuple(np.full(array.shape, 7.0) for array in arrays)
        out = outs if several else outs[0]
        assert getattr(dynamics, name)(*rows, out=out) is out
        for filled, array in zip(outs, arrays, strict=True):
            np.testing.assert_array_equal(filled, array)
        assert getattr(dynamics, name)(*rows, None, out) is out if QUANTITIES[name].optional else True


def test_out_may_overlap_the_inputs(dynamics, states):
    q, qd, qdd = states
    reference = dynamics.inverse_dynamics(q, qd, qdd)
    last = qdd.copy()
    np.testing.assert_array_equal(dynamics.inverse_dynamics(q, qd, last, out=last), reference)
    shared = np.zeros((22, 3))
    shared[1:] = qdd
    dynamics.inverse_dynamics(q, qd, shared[1:], out=shared[:-1])
    np.testing.assert_array_equal(shared[:-1], reference)
    room = np.zeros((21, 3, 3))
    flat = room.reshape(-1)[: 21 * 3].reshape(21, 3)
    flat[:] = q
    matrices = dynamics.mass_matrix(q)
    np.testing.assert_array_equal(dynamics.mass_matrix(flat, out=room), matrices)


def test_out_with_gaps_is_filled_too(dynamics, states):
    out = np.zeros((21, 6))
    dynamics.gravity(states[0], out=out[:, ::2])
    np.testing.assert_array_equal(out[:, ::2], dynamics.gravity(states[0]))
    assert not out[:, 1::2].any()


def test_an_empty_batch_is_an_empty_result(dynamics):
    empty = np.zeros((0, 3))
    assert dynamics.inverse_dynamics(empty, empty, empty).shape == (0, 3)
    assert dynamics.mass_matrix(empty).shape == (0, 3, 3)


def test_wrong_shapes_are_refused_with_what_would_be_right(dynamics):
    three, four = np.zeros(3), np.zeros(4)
    for wrong in ((four, three, three), (three, four, three), (three, three, four)):
        with pytest.raises(StateError, match=r"has shape \(4,\); expected \(3,\) or \(N, 3\).*joint_1"):
            dynamics.inverse_dynamics(*wrong)
    rows = np.zeros((2, 3))
    for wrong in ((rows, three, three), (three, rows, three), (rows, rows, np.zeros((3, 3)))):
        with pytest.raises(StateError, match="all states must have one shape"):
            dynamics.inverse_dynamics(*wrong)
    for wrong in (np.zeros((2, 2, 3)), np.array(1.0), np.zeros((3, 1)), np.zeros((2, 4))):
        with pytest.raises(StateError, match="expected"):
            dynamics.gravity(wrong)
    for wrong in (np.zeros(5), np.zeros((1, 6)), np.zeros((3, 6))):
        with pytest.raises(StateError, match="wrench has shape"):
            dynamics.inverse_dynamics(three, three, three, wrong)
    for wrong in (np.zeros(4), np.zeros((1, 3)), np.zeros(3, np.float32), [0, 0, 0]):
        with pytest.raises(StateError, match="out is"):
            dynamics.gravity(three, out=wrong)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(StateError, match="read-only"):
        dynamics.gravity(three, out=frozen)
    with pytest.raises(StateError, match="q cannot be read"):
        dynamics.gravity(["a", "b", "c"])


def test_wrong_calls_are_type_errors(dynamics):
    q = np.zeros(3)
    for positional, named in (
        ((), {}),
        ((q, q), {}),
        ((q, q, q, None, None, None), {}),
        ((q, q, q), {"torque": q}),
        ((q, q, q), {"q": q}),
    ):
        with pytest.raises(WrongTypeError) as caught:
            dynamics.inverse_dynamics(*positional, **named)
        assert isinstance(caught.value, TypeError) and isinstance(caught.value, RobotDynamicsError)
    with pytest.raises(WrongTypeError, match="no frame 5; choose from"):
        dynamics.jacobian(q, frame=5)


def test_dynamics_of_a_file_are_those_of_its_chain(dynamics):
    path = resource("urdf/scara.urdf")
    q = np.full(4, 0.3)
    own = compile_dynamics(path, backend="python").gravity(q)
    np.testing.assert_array_equal(own, compile_dynamics(load_urdf(path), backend="python").gravity(q))
    with pytest.raises(WrongTypeError, match="must be a KinematicChain, or the path or text"):
        compile_dynamics(5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_by_name(dynamics, states, bad):
    q, qd, qdd = states
    wrong = qdd.copy()
    wrong[6, 1] = bad
    with pytest.raises(StateError, match=r"qdd is -?(nan|inf) at joint joint_2 of state 6"):
        dynamics.inverse_dynamics(q, qd, wrong)
    with pytest.raises(StateError, match=r"qdd is -?(nan|inf) at joint joint_2;"):
        dynamics.inverse_dynamics(q[6], qd[6], wrong[6])
    load = np.zeros(6)
    load[4] = bad
    with pytest.raises(StateError, match=r"wrench is -?(nan|inf) at entry 4"):
        dynamics.inverse_dynamics(q[0], qd[0], qdd[0], load)
    turned = q[0].copy()
    turned[2] = bad
    with pytest.raises(StateError, match=r"q is -?(nan|inf) at joint joint_3"):
        dynamics.inverse_dynamics(turned, qd[0], qdd[0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_joint_that_moves_no_mass_is_reported(chain, backend):
    massless = RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))
    joint = copy.replace if hasattr(copy, "replace") else __import__("dataclasses").replace
    last = joint(chain.joints[-1], body=massless, coordinate=3, multiplier=1.0, offset=0.0)
    light = joint(
        chain, joints=(*chain.joints[:-1], last), coordinate_names=tuple(j.name for j in chain.joints)
    )
    dynamics = compile_dynamics(light, backend=backend, quantities=())
    state = np.linspace(0.1, 1.0, 4)
    with pytest.raises(SingularityError, match="moves no mass"):
        dynamics.forward_dynamics(state, state, state)


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_that_overflow_are_not_taken_for_a_joint_without_mass(chain, backend):
    dynamics = compile_dynamics(chain, backend=backend, quantities=())
    rest = np.zeros(chain.dof)
    with pytest.raises(StateError, match="the given values are too large"):
        dynamics.forward_dynamics(rest, rest + 1e200, rest)
    fast = np.array([rest, rest + 1e200])
    with pytest.raises(StateError, match="the given values are too large"):
        dynamics.forward_dynamics(np.zeros_like(fast), fast, np.zeros_like(fast))


def test_threads_share_one_model(models, states):
    q, qd, qdd = (np.tile(array, (40, 1)) for array in states)
    dynamics = models["c"]
    reference = dynamics.inverse_dynamics(q, qd, qdd)
    wrong = []

    def work(row):
        for _ in range(50):
            if not np.array_equal(dynamics.inverse_dynamics(q, qd, qdd), reference):
                wrong.append(row)
            single = dynamics.inverse_dynamics(q[row], qd[row], qdd[row])
            if not np.allclose(single, reference[row], rtol=1e-12, atol=1e-12):
                wrong.append(row)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_first_use_from_several_threads(chain, oracle, states):
    dynamics = compile_dynamics(chain, GRAVITY, "c", quantities=())
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(dynamics.gravity(states[0][0]))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        close(result, oracle.gravity(states[0][0]))
    assert len(results) == 4


def test_results_and_functions_outlive_the_model(chain, states):
    dynamics = compile_dynamics(chain, GRAVITY, "c")
    function = dynamics.inverse_dynamics
    before = [function(*(array[0] for array in states)) for _ in range(3)]
    del dynamics
    after = function(*(array[0] for array in states))
    np.testing.assert_array_equal(before, [after] * 3)


def test_models_are_collected_and_a_wrench_is_fast_after_its_first_use(chain, states, wrench):
    dynamics = compile_dynamics(chain, GRAVITY, "c")
    evaluator = weakref.ref(dynamics._evaluators["inverse_dynamics"])
    row = [array[0] for array in states]
    first = dynamics.inverse_dynamics(*row, wrench[0])
    dynamics._evaluators["inverse_dynamics"]._kernels.clear()
    dynamics._evaluators["inverse_dynamics"]._load = None
    np.testing.assert_allclose(dynamics.inverse_dynamics(*row, wrench[0]), first, rtol=1e-12)
    del dynamics
    gc.collect()
    assert evaluator() is None


def test_gravity_may_change(models, chain, states):
    turned = models["c"].with_gravity((0.0, 9.81, 0.0))
    oracle = PinocchioArm(chain, (0.0, 9.81, 0.0))
    close(turned.gravity(states[0][0]), oracle.gravity(states[0][0]))


def test_gravity_changes_without_compiling_again(models, chain, states, monkeypatch):
    dynamics = models["c"]
    dynamics.with_gravity((0.0, 0.0, -1.0)).prepare(("inverse_dynamics",), wrench=True)
    monkeypatch.setenv("CC", "/no/compiler")
    rows = [array[0] for array in states]
    load = np.arange(6.0)
    turned = dynamics.with_gravity((0.0, 0.0, -2.0))
    for vector in ((1.0, 2.0, 3.0), (0.0, 0.0, 0.0), (-9.0, 0.5, 1.0)):
        turned = turned.with_gravity(vector)
        oracle = PinocchioArm(chain, vector)
        close(turned.inverse_dynamics(*rows), oracle.inverse_dynamics(*rows))
        close(turned.inverse_dynamics(*rows, load), oracle.inverse_dynamics(*rows, load))
        batch = turned.inverse_dynamics(*states)
        close(batch[13], oracle.inverse_dynamics(*(array[13] for array in states)))
        close(turned.inverse_dynamics(*(array.tolist() for array in states)), batch)


def test_gravity_changes_in_generated_python_too(models, chain, states):
    turned = models["python"].with_gravity((1.0, 2.0, 3.0))
    oracle = PinocchioArm(chain, (1.0, 2.0, 3.0))
    batch = turned.forward_dynamics(*states)
    for i in (0, 20):
        close(batch[i], oracle.forward_dynamics(*(array[i] for array in states)))
        close(turned.forward_dynamics(*(array[i] for array in states)), batch[i])


def test_copies_compute_the_same(dynamics, states):
    state = states[0][0]
    twin = pickle.loads(pickle.dumps(dynamics))
    np.testing.assert_array_equal(twin.gravity(state), dynamics.gravity(state))


def test_documentation_survives_compilation(models):
    function = models["c"].inverse_dynamics
    assert "accelerations" in function.__doc__ and "inverse_dynamics" in repr(function)


def test_backend_and_arguments_are_checked(chain, models):
    assert models["c"].backend == "c" and models["python"].backend == "python"
    with pytest.raises(BackendError, match="backend is 'fortran'; it must be 'auto', 'c' or 'python'"):
        compile_dynamics(chain, backend="fortran")
    for wrong in ((0, 0), (0, 0, np.nan), "down", None):
        with pytest.raises(ParameterError, match="gravity"):
            compile_dynamics(chain, wrong)
    with pytest.raises(ParameterError, match="quantity is 'mass'; it must be"):
        compile_dynamics(chain, quantities=("mass",))
    with pytest.raises(ParameterError, match="quantity is 'mass'"):
        models["c"].operation_count("mass")


def test_operation_count_is_that_of_the_program(models):
    count = models["c"].operation_count()
    assert count.multiplications > 0 and count.additions > 0
    assert models["c"].operation_count(wrench=True).total > count.total
    assert models["c"].operation_count("gravity").total < count.total


def test_a_batch_differs_from_single_calls_in_the_last_bits_at_most(chain, models):
    states = np.random.default_rng(5).uniform(-2.0, 2.0, (3, 500, chain.dof))
    batch = models["c"].inverse_dynamics(*states)
    single = np.array([models["c"].inverse_dynamics(*(part[i] for part in states)) for i in range(500)])
    assert np.abs(batch - single).max() <= 1e-15 * np.abs(single).max()
