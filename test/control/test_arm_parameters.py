"""Parameters of the arm controller: defaults, bounds, and the limits and gains that follow from them."""

from dataclasses import replace

import numpy as np
import pytest
from arms import Masses, with_limits

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import (
    ArmParameters,
    arm_accelerations,
    arm_bounds,
    arm_stops,
    estimate_arrays,
    position_limits,
    settled_errors,
)
from robot_dynamics.control.arm.resting import ArmBrakeParameters, ArmRest, Rest
from robot_dynamics.control.brakes import BrakeTiming
from robot_dynamics.control.core.library import array_at
from robot_dynamics.control.plausibility import PlausibilityBounds
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import describe


def unlimited(chain):
    return with_limits(chain, 0, velocity=np.inf)


def test_own_parameters_have_their_defaults_and_bounds():
    described = {one.name: (one.default, one.minimum) for one in describe(ArmParameters)}
    own = {
        "mode": ("computed_torque", None),
        "kp": ((100.0,), 0.0),
        "kv": ((20.0,), 0.0),
        "ki": (0.0, -1.0),
        "max_acceleration": ((), 0.0),
        "stop_deceleration": ((), 0.0),
    }
    assert {name: described[name] for name in own} == own
    for name in ("kp", "kv"):
        with pytest.raises(ParameterError) as told:
            ArmParameters(**{name: ()})
        assert str(told.value) == f"parameter '{name}' is empty; give one value, or one per joint"
    # Rules of the laws hold here too.
    for values, words in (
        ({"joint_stiffness": ()}, "'joint_stiffness' is empty"),
        ({"nullspace_stiffness": ()}, "'nullspace_stiffness' is empty"),
        ({"kp": (-1.0,)}, "'kp' is -1"),
    ):
        with pytest.raises(ParameterError, match=words):
            ArmParameters(**values)


def test_accelerations_lead_to_the_velocity_limit_in_a_tenth_of_a_second(chain):
    np.testing.assert_allclose(arm_accelerations(chain, ArmParameters()), [30.0, 20.0])
    assert arm_accelerations(unlimited(chain), ArmParameters()).tolist() == [20.0, 20.0]
    slow = with_limits(chain, 1, velocity=0.7)
    np.testing.assert_allclose(arm_accelerations(slow, ArmParameters()), [30.0, 7.0])
    for given, expected in (
        ((4.0,), [4.0, 4.0]),
        ((0.0, 3.0), [30.0, 3.0]),
        ((0.0,), [30.0, 7.0]),
        ((0.5, 0.0), [0.5, 7.0]),
    ):
        np.testing.assert_allclose(arm_accelerations(slow, ArmParameters(max_acceleration=given)), expected)
    with pytest.raises(ParameterError, match="'max_acceleration' has 3 values"):
        arm_accelerations(chain, ArmParameters(max_acceleration=(1.0, 2.0, 3.0)))


def test_stops_are_twice_as_hard_as_holds_where_nothing_else_is_given(chain):
    stops = arm_stops(chain, ArmParameters(max_acceleration=(4.0, 0.0)))
    np.testing.assert_allclose(stops.hold_deceleration, [4.0, 20.0])
    np.testing.assert_allclose(stops.stop_deceleration, [8.0, 40.0])
    assert stops.following.tolist() == [0.2, 0.05]
    given = arm_stops(chain, ArmParameters(stop_deceleration=(0.0, 0.5)))
    np.testing.assert_allclose(given.stop_deceleration, [60.0, 0.5])
    assert arm_stops(chain, ArmParameters(stop_deceleration=(7.0,))).stop_deceleration.tolist() == [7.0, 7.0]
    with pytest.raises(ParameterError, match="'stop_deceleration' has 3 values"):
        arm_stops(chain, ArmParameters(stop_deceleration=(1.0, 2.0, 3.0)))


def test_joints_have_arrived_within_a_fiftieth_of_a_radian_or_two_millimetres(chain):
    assert settled_errors(chain).tolist() == [0.02, 0.002]
    assert position_limits(chain).tolist() == [[-1.0, -0.5], [2.0, 0.5]]


def test_the_disturbance_estimate_has_a_sixteenth_of_both_gains(chain):
    given = ArmParameters(kp=(100.0, 50.0), kv=(20.0, 10.0))
    found = estimate_arrays(chain, given)
    assert found["ki"].tolist() == [125.0, 31.25] and found["settled"].tolist() == [0.02, 0.002]
    assert estimate_arrays(chain, replace(given, ki=7.0))["ki"].tolist() == [7.0, 7.0]
    assert estimate_arrays(chain, replace(given, ki=-1.0))["ki"].tolist() == [0.0, 0.0]
    assert [gain.tolist() for gain in given.gains(chain.joint_names)] == [[100.0, 50.0], [20.0, 10.0]]
    for name in ("kp", "kv"):
        with pytest.raises(ParameterError, match=f"'{name}' has 3 values"):
            replace(given, **{name: (1.0, 2.0, 3.0)}).gains(chain.joint_names)


def test_bounds_of_plausible_states_are_those_of_the_limits(chain):
    bounds = arm_bounds(chain, ArmParameters())
    expected = PlausibilityBounds.of(ArmParameters(), np.array([40.0, 15.0]), np.array([3.0, 2.0]))
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(bounds, name), value)
    with pytest.raises(ParameterError, match="'max_effort' has 3 values"):
        arm_bounds(chain, ArmParameters(max_effort=(1.0, 2.0, 3.0)))


def test_a_stream_that_is_switched_off_is_named_with_the_rules():
    assert ArmParameters().switched_off == []
    assert ArmParameters(stream_horizon=-1.0, overspeed=-1.0).switched_off == ["overspeed", "stream_horizon"]
    for horizon in (0.0, 0.125):
        assert ArmParameters(stream_horizon=horizon).switched_off == []


@pytest.mark.parametrize(
    ("values", "yields", "frame", "nothing"),
    [
        ({"mode": "computed_torque"}, False, False, False),
        ({"mode": "joint_impedance"}, True, False, False),
        ({"mode": "cartesian_impedance"}, True, True, False),
        ({"mode": "gravity_compensation"}, False, False, True),
        ({"mode": "hand_guiding"}, False, False, True),
        ({"mode": "hand_guiding", "guide_axes": ("x",)}, False, True, True),
        ({"mode": "computed_torque", "guide_axes": ("x",)}, False, False, False),
    ],
)
def test_modes_are_told_apart(values, yields, frame, nothing):
    given = ArmParameters(**values)
    assert (given.yields, given.frame_law, given.follows_nothing) == (yields, frame, nothing)


def test_any_gain_makes_another_law():
    whole = ArmParameters()
    assert hash(whole.law) == hash(ArmParameters().law)
    for values in (
        {"mode": "joint_impedance"}, {"kp": (99.0,)}, {"kv": (19.0,)}, {"ki": 1.0},
        {"joint_stiffness": (1.0,)}, {"joint_damping": (1.0,)}, {"joint_error_clip": (1.0,)},
        {"position_filter": 0.01}, {"velocity_filter": 0.01}, {"effort_filter": 0.01},
        {"cartesian_axes": "frame"}, {"guide_friction": 0.5},
    ):  # fmt: skip
        assert ArmParameters(**values).law != whole.law, values
    assert ArmParameters(state_timeout=0.5).law == whole.law
    given = ArmParameters(guide_friction=0.25, position_filter=0.01, velocity_filter=0.02, effort_filter=0.03)
    assert given.law_numbers == {"guide_friction": 0.25, "smoothing": [0.01, 0.02, 0.03]}


def test_laws_of_the_core_have_the_gains_of_their_modes(chain):
    given = ArmParameters(kp=(100.0, 50.0), kv=(20.0, 10.0), joint_stiffness=(8.0,), joint_damping=(3.0,))
    found = given.law_arrays(chain)
    assert found["kp"].tolist() == [100.0, 50.0] and found["kv"].tolist() == [20.0, 10.0]
    assert found["stiffness"].tolist() == [8.0, 8.0] and found["damping"].tolist() == [3.0, 3.0]
    assert found["ki"].tolist() == [125.0, 31.25] and found["settled"].tolist() == [0.02, 0.002]


def test_gains_of_an_impedance_are_as_fast_as_its_springs(chain):
    """Stiffness and damping over the inertia; of other modes those that are given."""
    springs = {"joint_stiffness": (8.0,), "joint_damping": (3.0,), "control_period": 0.0}
    for mode, gains in (
        ("joint_impedance", [[4.0, 16.0], [1.5, 6.0]]),
        ("computed_torque", [[9.0] * 2, [2.0] * 2]),
    ):
        given = ArmParameters(mode=mode, kp=(9.0,), kv=(2.0,), **springs)
        settings = ArmController(chain, Masses((2.0, 0.5), 3.0), given).core_settings()
        np.testing.assert_allclose(
            [array_at(row, 2) for row in (settings.value.kp, settings.value.kv)], gains
        )


# Rest on brakes


def resting(brakes=True, engage=0.25, release=0.5, fade=0.125):
    return ArmRest(
        ArmBrakeParameters(brakes=brakes, brake_engage_time=engage, brake_release_time=release), fade
    )


def test_brakes_engage_after_a_stop_that_rests_and_let_go_on_request():
    rest = resting()
    assert rest.exists and rest.state is Rest.RELEASED and not rest.active
    rest.advance(1.0, False, True)
    assert rest.state is Rest.RELEASED
    rest.advance(2.0, True, False)
    assert rest.state is Rest.STOPPING and rest.active and not rest.brakes.engaged(2.0)
    rest.advance(2.5, True, False)
    assert rest.state is Rest.STOPPING
    rest.advance(2.75, False, True)
    assert rest.state is Rest.BRAKED and not rest.active and rest.brakes.engaged(2.75)
    assert rest.brakes.share(2.99) == 1.0 and rest.brakes.share(3.125) == 0.0
    rest.advance(4.0, True, True)
    assert rest.state is Rest.BRAKED
    rest.rise(5.0)
    assert rest.state is Rest.RISING and rest.active
    rest.advance(5.5, False, True)
    assert rest.state is Rest.RISING
    rest.advance(5.625, False, False)
    assert rest.state is Rest.RELEASED and rest.brakes.since == -np.inf
    rest.rise(7.0)
    rest.advance(7.125, True, False)
    assert rest.state is Rest.STOPPING


@pytest.mark.parametrize(
    ("later", "braked"), [(0.0, False), (0.9375, False), (1.0, True), (1.5, True), (-0.125, True)]
)
def test_brakes_wait_a_second_for_an_arm_that_does_not_rest(later, braked):
    rest = resting()
    rest.advance(3.0, True, False)
    rest.advance(3.0 + later, True, False)
    assert (rest.state is Rest.BRAKED) is braked


def test_an_arm_without_brakes_has_no_states():
    rest = resting(brakes=False)
    assert not rest.exists
    rest.advance(1.0, True, True)
    rest.advance(9.0, True, True)
    assert rest.state is Rest.RELEASED and not rest.brakes.engaging
    [brakes] = [one for one in describe(ArmBrakeParameters) if one.name == "brakes"]
    assert brakes.default is False and brakes.read_only


def test_a_robot_may_begin_on_its_brakes_and_delays_may_change():
    rest = resting()
    assert rest.brakes.timing == BrakeTiming(0.25, 0.5, 0.125)
    rest.brakes.reported = True
    rest.begin()
    assert rest.state is Rest.BRAKED and rest.brakes.engaging and rest.brakes.reported is True
    assert rest.brakes.timing == BrakeTiming(0.25, 0.5, 0.125)
    assert rest.brakes.share(0.0) == 0.0
    rest.use(ArmBrakeParameters(brake_engage_time=1.0, brake_release_time=2.0), 3.0)
    assert rest.brakes.timing == BrakeTiming(1.0, 2.0, 3.0)
    assert resting().brakes.engaging is False and resting().brakes.reported is None
