"""Defaults and bounds of an arm's parameters, and what small classes make of them."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from arms import Pendulum, joints_in_a_row, two_joint_chain
from scipy.spatial.transform import Rotation

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters, Drives, RotorParameters
from robot_dynamics.control.arm.contact import ContactParameters
from robot_dynamics.control.arm.effort_limits import EffortLimitParameters, unlimited
from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.control.arm.gravity import GravityEstimator, ImuParameters, check_gravity
from robot_dynamics.control.arm.guiding import GuidingParameters
from robot_dynamics.control.arm.impedance import ImpedanceParameters
from robot_dynamics.control.arm.laws import LawModules, arm_law, arm_modes, import_laws, python_law
from robot_dynamics.control.arm.path_rules import (
    IdentifiedRangeParameters,
    PartialGoalParameters,
    TorqueCheckParameters,
)
from robot_dynamics.control.arm.payload import PayloadParameters, TipPayloadParameters
from robot_dynamics.errors import ParameterError, StateError, WrongTypeError
from robot_dynamics.model.chain import JointKind
from robot_dynamics.parameters import describe

ZERO, SIX = (0.0, 0.0, 0.0), (0.0,) * 6
VALUES = {
    RotorParameters: {"rotor_inertia": ((0.0,), 0.0)},
    EffortLimitParameters: {"max_effort": ((), 0.0)},
    FeedforwardParameters: {
        "max_effort": ((), 0.0),
        "effort_path": ("trajectory", ("trajectory", "commands")),
        "effort_error": ((), 0.0),
        "effort_error_share": (0.001, 1e-5),
        "command_rate": (250.0, 1.0),
        "state_timeout": (0.5, 1e-3),
        "safe_fade_time": (2.0, 0.0),
        "model_change_time": (0.2, 0.0),
        "max_effort_step": (1.0, 1e-3),
    },
    ImpedanceParameters: {
        "joint_stiffness": ((50.0,), 0.0),
        "joint_damping": ((-1.0,), -1.0),
        "joint_error_clip": ((0.5,), 1e-6),
        "max_effort_rate": ((), 0.0),
        "position_filter": (0.0, 0.0),
        "velocity_filter": (0.0, 0.0),
        "effort_filter": (0.0, 0.0),
    },
    GuidingParameters: {
        "guide_timeout": (0.3, 0.02),
        "guide_friction": (0.7, 0.0),
        "guide_speed": (0.25, 0.01),
        "guide_margin": (0.05, 0.0),
        "guide_axes": ((), None),
    },
    ImuParameters: {
        "gravity_from_imu": (False, None),
        "imu_roll_pitch_yaw": (ZERO, -7.0),
        "imu_time_constant": (0.5, 0.0),
        "imu_tolerance": (0.5, 1e-3),
    },
    PayloadParameters: {
        "payload_mass": (0.0, 0.0),
        "payload_center": (ZERO, -100.0),
        "payload_inertia": (SIX, -1e6),
    },
    TipPayloadParameters: {"mass": (0.0, 0.0), "center": (ZERO, -100.0), "inertia": (SIX, -1e6)},
    ContactParameters: {
        "observer_gain": (25.0, 0.0),
        "contact_threshold": ((), 0.0),
        "contact_speeds": ((), 0.0),
        "effort_delay": (0.0, -0.05),
        "effort_offset": ((0.0,), -1e6),
        "friction_drift": (0.3, 0.0),
        "on_contact": ("off", ("off", "report", "hold", "yield", "retreat")),
        "observed_efforts": ("driver", ("driver", "command", "motor", "link")),
        "retreat_distance": (0.1, 1e-3),
    },
    PartialGoalParameters: {"allow_partial_joints_goal": (False, None)},
    TorqueCheckParameters: {
        "torque_check": ("warn", ("refuse", "warn", "off")),
        "torque_margin": (0.0, 0.0),
        "retime": ("off", ("off", "slower", "fastest")),
    },
    IdentifiedRangeParameters: {
        "tested_lower": ((), None),
        "tested_upper": ((), None),
        "tested_velocity": ((), 0.0),
        "tested_effort": ((), 0.0),
    },
    LawModules: {"law_modules": ((), None)},
}
"""Default of each parameter, and its least value or its choices."""
FIXED = {
    "effort_path", "command_rate", "gravity_from_imu", "allow_partial_joints_goal", "law_modules",
}  # fmt: skip
"""Parameters that a started node keeps."""


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_defaults_and_bounds_are_those_that_users_know(kind):
    found = {one.name: one for one in describe(kind)}
    assert {name: (one.default, one.choices or one.minimum) for name, one in found.items()} == VALUES[kind]
    assert {name for name, one in found.items() if one.read_only} == FIXED & set(found)
    made = kind()
    assert {name: getattr(made, name) for name in found} == {
        name: default for name, (default, _) in VALUES[kind].items()
    }


def chain(effort=(np.inf,) * 3):
    ranges = (-1.0, 2.0, 3.0), (-np.inf, 0.5, np.inf), (-0.25, 0.15, 2.0)
    limits = [(*own, most) for own, most in zip(ranges, effort, strict=True)]
    return joints_in_a_row(limits, (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE))


def test_guiding_stays_off_the_ends_by_a_margin_or_a_quarter_of_the_range():
    """A joint without a velocity limit may have a share of 1 rad/s or m/s."""
    found = GuidingParameters(guide_speed=0.5, guide_margin=0.125).guide_arrays(chain())
    assert found["guide_speed"].tolist() == [1.5, 0.5, 1.0]
    np.testing.assert_allclose(
        found["guide_limits"], [[-0.875, -np.inf, -0.25 + 0.1], [1.875, 0.375, 0.15 - 0.1]]
    )


def test_axes_that_are_not_guided_are_held():
    assert not GuidingParameters().held_axes.any()
    some = GuidingParameters(guide_axes=("z", "x", "ry"))
    assert some.held_axes.tolist() == [False, True, False, True, False, True]
    assert some.guide_law == (0.7, 0.25, 0.05, ("z", "x", "ry"))
    with pytest.raises(ParameterError) as told:
        GuidingParameters(guide_axes=("x", "up"))
    assert str(told.value) == "parameter 'guide_axes' has 'up': directions are x, y, z, rx, ry, rz"
    with pytest.raises(ParameterError) as told:
        GuidingParameters(guide_axes=("x", "y", "x"))
    assert str(told.value) == "parameter 'guide_axes' has a direction twice: each one once"


def test_a_gravity_up_to_three_times_the_standard_one_is_believed():
    most = 3.0 * 9.80665
    check_gravity((0.0, 0.0, most))
    check_gravity(np.array([10.0, -20.0, 15.0]))
    for gravity in ((0.0, most, 0.01 * most), (-20.0, -20.0, 10.0), (np.nan, 0.0, 0.0)):
        with pytest.raises(ParameterError) as told:
            check_gravity(gravity)
        assert str(told.value) == (
            f"parameter 'gravity' has a magnitude of {np.linalg.norm(gravity):.3f} m/s²; at most 29.42 is"
            " believed: give it in m/s², such as 0, 0, -9.81"
        )


def test_gravity_is_filtered_with_the_time_since_the_last_sample():
    """By the exponential of a first-order lag, turned into the root frame."""
    turn = (0.3, -0.5, 1.1)
    estimator = GravityEstimator(ImuParameters(imu_roll_pitch_yaw=turn, imu_time_constant=0.8))
    assert estimator.vector is None
    samples = np.array([[0.5, -9.7, 1.3], [9.6, 1.0, 2.0], [-3.0, 3.5, 8.6], [5.0, 5.0, -6.8]])
    mounted = Rotation.from_euler("xyz", turn)
    expected, last = None, None
    for time, sample in zip((-3.0, -2.5, -2.4, 4.0), samples, strict=True):
        gravity = -mounted.apply(sample)
        keeps = 0.0 if last is None else math.exp(-(time - last) / 0.8)
        expected = gravity if last is None else keeps * expected + (1.0 - keeps) * gravity
        np.testing.assert_allclose(estimator.update(time, sample), expected, rtol=1e-12)
        last = time
    before = estimator.vector
    np.testing.assert_array_equal(estimator.update(4.0, samples[0]), before)
    np.testing.assert_allclose(estimator.update(3.9, samples[0]), -mounted.apply(samples[0]))
    unfiltered = GravityEstimator(ImuParameters(imu_time_constant=0.0))
    for time, sample in ((1.0, samples[0]), (1.5, samples[1])):
        np.testing.assert_allclose(unfiltered.update(time, sample), -sample)


def test_samples_that_are_not_gravity_alone_are_refused():
    estimator = GravityEstimator(ImuParameters(imu_tolerance=0.25))
    for size, good in ((9.80665 - 0.2499, True), (9.80665 + 0.2499, True), (9.55, False), (10.06, False)):
        if good:
            assert estimator.update(1.0, np.array([0.0, size, 0.0])) is not None
            continue
        with pytest.raises(StateError) as told:
            estimator.update(1.0, np.array([0.0, 0.6 * size, -0.8 * size]))
        assert str(told.value) == (
            f"the accelerometer measures {size:.3f} m/s², which is not gravity alone (9.81 ± 0.25)"
        )
    exact = GravityEstimator(ImuParameters(imu_tolerance=1.0))
    assert exact.update(0.0, [9.80665 + 1.0, 0.0, 0.0]) is not None
    for bad in ([0.0, 9.8], [[9.8, 0.0, 0.0]], [9.8, np.nan, 0.0], [np.inf, 0.0, 0.0]):
        with pytest.raises(StateError) as told:
            exact.update(0.0, bad)
        assert str(told.value) == f"acceleration {bad!r}; it must be three finite numbers"
    with pytest.raises(ParameterError) as told:
        ImuParameters(imu_roll_pitch_yaw=(0.1, 0.2))
    assert str(told.value) == "parameter 'imu_roll_pitch_yaw' must have 3 values: roll, pitch, yaw"


def test_effort_limits_of_the_parameter_replace_those_of_the_description():
    """A zero leaves a joint its own; a described limit of zero is one."""
    names, described = ("a", "b", "c"), (5.0, np.inf, 0.0)
    for given, expected in (
        ((), [5.0, np.inf, 0.0]),
        ((0.0,), [5.0, np.inf, 0.0]),
        ((7.0,), [7.0, 7.0, 7.0]),
        ((20.0, 7.0, 1.0), [20.0, 7.0, 1.0]),
        ((0.0, 3.0, 0.0), [5.0, 3.0, 0.0]),
        ((1e-3, 0.0, 0.5), [1e-3, np.inf, 0.5]),
    ):
        limits = EffortLimitParameters(max_effort=given)
        assert limits.effort_limits_of(names, described).tolist() == expected
        assert limits.limits_of(chain(effort=described)).tolist() == expected
    for wrong, text in (
        ((5.0, 6.0), "(5.0, 6.0)"),
        ((5.0, 6.0, 7.0, 8.0), "(5.0, 6.0, 7.0, 8.0)"),
        ((5.0, -1e-9, 6.0), "(5.0, -1e-09, 6.0)"),
    ):
        with pytest.raises(ParameterError) as told:
            EffortLimitParameters().effort_limits_of(names, wrong)
        assert str(told.value) == f"described is {text}; it must be 3 limits, none of them negative"


def test_joints_without_an_effort_limit_are_named():
    assert unlimited(chain(), np.array([np.inf, 3.0, np.inf])) == (
        "no effort limit for a, c: the parameter max_effort sets one"
    )
    assert unlimited(chain(), np.array([1.0, 3.0, 2.0])) == ""


def law_of_the_test(model, given):
    return given.position


def test_names_of_laws_are_identifiers_that_the_core_does_not_have():
    for name in ("two words", "", 3, "1st"):
        with pytest.raises(ParameterError) as told:
            arm_law(name)
        assert str(told.value) == f"a control law is named {name!r}; a name is letters, digits and _"
    for name in ("computed_torque", "called"):
        with pytest.raises(ParameterError) as told:
            arm_law(name)
        assert str(told.value) == f"the core has a control law {name!r}; choose another name"
    with pytest.raises(ParameterError) as told:
        import_laws(["math", "no_such_module_of_laws"])
    assert str(told.value) == (
        "parameter 'law_modules' names 'no_such_module_of_laws', which cannot be imported:"
        " ModuleNotFoundError: No module named 'no_such_module_of_laws'"
    )


def test_a_law_in_python_is_found_by_its_name_after_those_of_the_core():
    from robot_dynamics.control.arm import laws

    own = arm_modes()
    assert python_law("computed_torque") is None and "called" not in own
    try:
        assert arm_law("of_the_test")(law_of_the_test) is law_of_the_test
        assert arm_modes() == (*own, "of_the_test") and python_law("of_the_test") is law_of_the_test
    finally:
        laws._PYTHON_LAWS.pop("of_the_test")
    assert arm_modes() == own
    for mode in (one for one in own if one in laws.MODES):
        assert f"{mode} " in laws.DESCRIPTION


def profile(quantity="torque", side="motor", gravity="included", left=((0.5, 0.25), (0.75, 0.0))):
    state = SimpleNamespace(quantity=quantity, side=side, gravity=gravity)
    return SimpleNamespace(state=state, friction_left=lambda names: left)


@pytest.mark.parametrize(
    ("driver", "world", "side", "weight"),
    [
        (None, (0.0, 0.0, -9.8), "", None),
        (profile(), (0.0, 0.5, -9.8), "motor", [0.0, 0.5, -9.8]),
        (profile(), None, "motor", None),
        (profile(side="link", gravity="removed"), (0.0, 0.5, -9.8), "link", [0.0, 0.0, 0.0]),
        (profile(side="link", gravity="unknown"), (0.0, 0.5, -9.8), "link", None),
        (profile(side="unknown"), (0.0, 0.5, -9.8), "", None),
        (profile(quantity="current"), (0.0, 0.5, -9.8), "", None),
        (profile(quantity="none", gravity="removed"), (0.0, 0.5, -9.8), "", None),
    ],
)
def test_measured_efforts_are_those_that_the_driver_s_profile_says(driver, world, side, weight):
    given = ActuatorParameters(damping=(2.0, 4.0), friction=(1.0, 3.0))
    arm = ActuatedArm(Pendulum(), two_joint_chain(), given, driver, world)
    assert arm.measured.side == side
    assert (arm.measured.gravity is None) == (weight is None)
    if weight is not None:
        assert arm.measured.gravity.tolist() == weight
    whole = given.of(two_joint_chain()).friction.matrix
    np.testing.assert_array_equal(arm.measured.friction.matrix, whole)
    if driver is None:
        np.testing.assert_array_equal(arm.drives.friction.matrix, whole)
        return
    left = given.of(two_joint_chain()).friction.left(*driver.friction_left(())).matrix
    np.testing.assert_array_equal(arm.drives.friction.matrix, left)
    assert not np.array_equal(left, whole)


def test_drives_that_add_nothing_are_ideal():
    two = two_joint_chain()
    assert ActuatorParameters(friction=(0.0,), damping=(0.0,)).of(two).ideal
    assert not ActuatorParameters(rotor_inertia=(0.0, 0.5), friction=(0.0,), damping=(0.0,)).of(two).ideal
    assert not ActuatorParameters(friction=(0.5, 0.0), damping=(0.0,)).of(two).ideal
    assert isinstance(ActuatorParameters().of_joints(list(two.joints)), Drives)
    with pytest.raises(WrongTypeError, match=r"must be a model with inverse_dynamics\(\)"):
        ActuatedArm(object(), two, ActuatorParameters())


def test_the_same_arm_with_measured_joints_elsewhere_is_another_one():
    class Links(Pendulum):
        def with_measured(self, *state):
            self.asked = state
            return "others"

    arm = ActuatedArm(Links(), two_joint_chain(), ActuatorParameters(rotor_inertia=(0.5,)))
    moved = arm.with_measured(np.array([0.5]), np.array([1.5]))
    assert (moved.links, moved.drives) == ("others", arm.drives)
    assert isinstance(arm.links, Links) and [part.tolist() for part in arm.links.asked] == [[0.5], [1.5]]


def test_a_step_of_the_error_of_efforts_is_positive_for_each_joint():
    with pytest.raises(ParameterError) as told:
        FeedforwardParameters(effort_error=(0.5, 0.0))
    assert str(told.value) == "parameter 'effort_error' is 0 for a joint; it must be positive"
    assert FeedforwardParameters(effort_error=(0.5, 1e-9)).effort_error == (0.5, 1e-9)
