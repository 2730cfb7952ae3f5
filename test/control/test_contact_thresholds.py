"""Thresholds of contacts, what is observed from joint states, and wrenches at frames in closed form."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from arms import Pendulum, joints_in_a_row, two_joint_chain
from closed_loop import READY, compiled

import robot_dynamics as rd
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.contact import (
    ContactParameters,
    External,
    MomentumObserver,
    ObserverParameters,
    frame_wrench,
    momentum_kernel,
)
from robot_dynamics.control.core.library import array_at
from robot_dynamics.errors import BackendError, ParameterError, StateError


def chain():
    return joints_in_a_row([(-1.0, 1.0, 4.0, 40.0), (-1.0, 1.0), (-1.0, 1.0, 2.0, 10.0)])


@pytest.mark.parametrize(
    ("thresholds", "speeds", "floors", "points"),
    [
        ((), (), [[2.0, np.inf, 0.5]], [[0.0, 0.0, 0.0]]),
        ((3.0,), (), [[3.0, 3.0, 3.0]], [[0.0, 0.0, 0.0]]),
        ((1.0, 2.0, 3.0), (), [[1.0, 2.0, 3.0]], [[0.0, 0.0, 0.0]]),
        ((), (0.5,), [[2.0, np.inf, 0.5]], [[2.0, 5e5, 1.0]]),
        ((5.0, 7.0), (0.25, 0.5), [[5.0] * 3, [7.0] * 3], [[1.0, 2.5e5, 0.5], [2.0, 5e5, 1.0]]),
        (
            (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
            (0.0, 1.0),
            [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
            [[0.0, 0.0, 0.0], [4.0, 1e6, 2.0]],
        ),
        ((1.0, 2.0, 3.0), (0.0, 0.5, 0.75), [[1.0] * 3, [2.0] * 3, [3.0] * 3], None),
    ],
)
def test_floors_are_those_of_each_speed_and_joint(thresholds, speeds, floors, points):
    """Without any, a twentieth of the effort limits; speeds are shares of the velocity limits."""
    given = ObserverParameters(contact_threshold=thresholds, contact_speeds=speeds)
    found, at = given.floors(chain())
    np.testing.assert_allclose(found, floors)
    assert at.shape == found.shape
    if points is not None:
        np.testing.assert_allclose(at, points)


def test_speeds_that_do_not_ascend_and_thresholds_that_do_not_fit_are_refused():
    for speeds in ((0.5, 0.25), (0.25, 0.25), (0.1, 0.3, 0.2)):
        given = ObserverParameters(contact_threshold=(1.0,) * len(speeds), contact_speeds=speeds)
        with pytest.raises(ParameterError) as told:
            given.floors(chain())
        assert str(told.value) == (
            f"parameter 'contact_speeds' is {', '.join(f'{x:g}' for x in speeds)}: each must be larger than"
            " the one before"
        )
    for count in (0, 1, 3, 5, 7):
        given = ObserverParameters(contact_threshold=(1.0,) * count, contact_speeds=(0.1, 0.2))
        with pytest.raises(ParameterError) as told:
            given.floors(chain())
        assert str(told.value) == (
            f"parameter 'contact_threshold' has {count} values; with 2 contact_speeds and 3 joints give 2 or"
            " 6"
        )


def test_offsets_of_efforts_are_one_for_all_or_one_for_each_joint():
    for given, expected in (((), [0.0] * 3), ((0.5,), [0.5] * 3), ((0.5, -1.0, 2.0), [0.5, -1.0, 2.0])):
        assert ObserverParameters(effort_offset=given).offsets(chain()).tolist() == expected
    with pytest.raises(ParameterError, match="'effort_offset' has 2 values"):
        ObserverParameters(effort_offset=(0.5, 1.0)).offsets(chain())


def observed(side, driver=None, gravity=(0.0, 0.5, -9.7), actuated=True):
    two = two_joint_chain()
    drives = ActuatorParameters(damping=(2.0, 4.0), friction=(1.0, 3.0))
    profile = None
    if driver is not None:
        state = SimpleNamespace(quantity="torque", side=driver, gravity="included")
        profile = SimpleNamespace(state=state, friction_left=lambda names: ((1.0,), (1.0,)))
    arm = ActuatedArm(Pendulum(), two, drives, profile, gravity) if actuated else Pendulum()
    given = ContactParameters(observed_efforts=side, effort_delay=0.0125, effort_offset=(0.5, -0.25))
    return given.observed(two, arm)


@pytest.mark.parametrize(
    ("side", "driver", "actuated", "driven"),
    [
        ("motor", None, True, True),
        ("motor", None, False, False),
        ("link", None, True, False),
        ("link", None, False, False),
        ("driver", "motor", True, True),
        ("driver", "link", True, False),
        ("motor", "link", True, True),
        ("link", "motor", True, False),
    ],
)
def test_efforts_of_joint_states_are_observed_as_they_are_measured(side, driver, actuated, driven):
    """Friction and rotors are in those of the motors; the weight in them is what the driver says."""
    settings = observed(side, driver, actuated=actuated)
    found = settings.value
    assert (found.delay, bool(found.driven)) == (0.0125, driven)
    assert array_at(found.offset, 2).tolist() == [0.5, -0.25]
    assert bool(found.friction) == actuated and bool(found.gravity) == (driver is not None)
    if actuated:
        matrix = ActuatorParameters(damping=(2.0, 4.0), friction=(1.0, 3.0)).of(two_joint_chain()).friction
        size = matrix.matrix.size
        np.testing.assert_array_equal(array_at(found.friction, size), matrix.matrix.ravel())
    if driver is not None:
        assert array_at(found.gravity, 3).tolist() == [0.0, 0.5, -9.7]


@pytest.mark.parametrize(
    ("side", "driver", "actuated"),
    [
        ("command", "motor", True),
        ("driver", None, True),
        ("driver", "unknown", True),
        ("driver", None, False),
    ],
)
def test_commands_are_observed_where_nothing_else_is_known(side, driver, actuated):
    assert observed(side, driver, actuated=actuated) is None


def test_a_reaction_needs_external_efforts():
    two = two_joint_chain()
    assert ContactParameters().fields(two, Pendulum()) == {}
    assert momentum_kernel(Pendulum()) is None
    for given, why in (({}, "the model is not compiled"), ({"observer_gain": 0.0}, "observer_gain is 0")):
        for reaction in ("report", "hold", "yield", "retreat"):
            with pytest.raises(ParameterError) as told:
                ContactParameters(on_contact=reaction, **given).fields(two, Pendulum())
            assert str(told.value) == (
                f"parameter 'on_contact' is '{reaction}', but no external effort is observed: {why}"
            )
    with pytest.raises(ParameterError, match="the model is not compiled"):
        ContactParameters(on_contact="hold", observer_gain=0.5).fields(two, Pendulum())


@pytest.fixture
def ur5():
    return compiled("ur5").chain, compiled("ur5")


def test_fields_of_an_observed_model_are_thresholds_and_gains(ur5):
    arm, links = ur5
    given = ContactParameters(
        observer_gain=0.5, contact_threshold=(5.0, 7.0), contact_speeds=(0.0, 0.5), friction_drift=0.125
    )
    found = given.fields(arm, links)
    assert found["momentum"] == momentum_kernel(links)
    assert (found["contact_points"], found["friction_drift"], found["observer_gain"]) == (2, 0.125, 0.5)
    assert array_at(found["contact_floor"], 12).tolist() == [5.0] * 6 + [7.0] * 6
    speeds = [0.5 * arm.driving_joint(j).limits.velocity for j in range(6)]
    assert array_at(found["contact_speeds"], 12).tolist() == [0.0] * 6 + speeds
    assert ContactParameters(observer_gain=0.0).fields(arm, links) == {}


def test_an_observer_needs_a_gain_and_a_compiled_model_without_friction(ur5):
    arm, _ = ur5
    with pytest.raises(ParameterError) as told:
        MomentumObserver(arm, parameters=ContactParameters(observer_gain=0.0))
    assert str(told.value) == "parameter 'observer_gain' is 0; an observer needs a positive one"
    for other in (
        rd.compile_dynamics(arm, friction=False, backend="python"),
        rd.compile_dynamics(arm, quantities=(), friction=True),
    ):
        if other.friction or other.backend == "python":
            with pytest.raises(BackendError) as told:
                MomentumObserver(arm, other)
            assert str(told.value) == "the momentum observer needs compiled dynamics without friction in them"


def test_an_observer_at_rest_finds_the_efforts_that_are_missing(ur5):
    """They come in by a first-order lag, less the offset; a restart forgets them."""
    arm, links = ur5
    offset = np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6])
    observer = MomentumObserver(
        arm, links, ContactParameters(observer_gain=20.0, effort_offset=tuple(offset))
    )
    q, still = np.array(READY), np.zeros(6)
    push = np.array([3.0, -12.0, 7.0, -1.0, 0.5, 0.25])
    for k in range(40):
        found = observer.update(0.005 * k, q, still, links.gravity(q) - push + offset)
    share = 1.0 - np.exp(-20.0 * 0.005 * 39)
    np.testing.assert_allclose(found.effort, share * push, rtol=1e-9)
    limits = np.array([arm.driving_joint(j).limits.effort for j in range(6)])
    np.testing.assert_allclose(found.threshold, 0.05 * limits)
    assert found.contact.tolist() == (np.abs(share * push) > 0.05 * limits).tolist() and found.contact.any()
    observer.restart()
    assert not observer.update(0.2, q, still, links.gravity(q) - push + offset).effort.any()
    with pytest.raises(StateError) as told:
        observer.update(0.3, q, still * np.nan, still)
    assert str(told.value) == "velocity has a value that is not a finite number"
    with pytest.raises(StateError, match="time"):
        observer.update("soon", q, still, still)


def test_an_observer_of_motors_takes_rotors_and_friction_off(ur5):
    """At a constant speed of one joint the motor's friction is no external effort."""
    arm, links = ur5
    drives = ActuatorParameters(friction=(2.0,), damping=(3.0,), rotor_inertia=(0.5,))
    observer = MomentumObserver(arm, ActuatedArm(links, arm, drives), ContactParameters(observer_gain=20.0))
    speed = np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    for k in range(60):
        q = np.array(READY) + 0.002 * k * speed
        effort = links.inverse_dynamics(q, speed, np.zeros(6)) + 3.0 * speed + 2.0 * np.sign(speed)
        found = observer.update(0.002 * k, q, speed, effort)
    np.testing.assert_allclose(found.effort, 0.0, atol=1e-6)
    ideal = MomentumObserver(
        arm, ActuatedArm(links, arm, ActuatorParameters(friction=(0.0,), damping=(0.0,))), ContactParameters()
    )
    assert ideal.update(0.0, q, speed, effort).threshold == pytest.approx(
        [0.05 * arm.driving_joint(j).limits.effort for j in range(6)]
    )


def test_a_contact_is_more_than_its_threshold_on_either_side():
    external = External(np.array([2.0, -2.0, 2.0, -3.0, 1.0]), np.array([1.5, 1.5, 2.0, np.inf, 1.0 - 1e-12]))
    assert external.contact.tolist() == [True, True, False, False, True]


def test_a_wrench_is_the_damped_least_squares_of_the_efforts():
    """(J Jᵀ + 0.01²) w = J τ by the singular values of SciPy's matrix functions."""
    random = np.random.default_rng(3)
    for rows, joints in ((6, 7), (6, 6), (12, 9), (6, 4)):
        jacobian = random.normal(size=(rows, joints))
        effort = random.normal(size=joints)
        u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
        expected = u @ (s / (s**2 + 1e-4) * (vt @ effort))
        wrench, condition = frame_wrench(jacobian, effort)
        np.testing.assert_allclose(wrench, expected, rtol=1e-8, atol=1e-9)
        assert condition == pytest.approx(np.linalg.cond(jacobian), rel=1e-9)
    pushed = np.array([10.0, -4.0, 3.0, 0.5, -0.2, 0.1])
    jacobian = 5.0 * random.normal(size=(6, 7))
    np.testing.assert_allclose(frame_wrench(jacobian, jacobian.T @ pushed)[0], pushed, rtol=1e-3)
    flat = np.diag([2.0, 1.0, 0.5, 0.25, 0.1, 0.0])
    wrench, condition = frame_wrench(flat, np.ones(6))
    assert condition == np.inf and wrench[5] == 0.0
    assert wrench[4] == pytest.approx(0.1 / (0.01 + 1e-4))
    tiny = np.diag([2.0, 1.0, 0.5, 0.25, 0.1, 1e-3])
    assert frame_wrench(tiny, np.ones(6))[1] == pytest.approx(2000.0)
