"""Files of CRISP's controller in terms of this package, value by value and line by line."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robot_dynamics.control.arm.crisp import DEFAULTS, is_crisp, is_its_own, translate
from robot_dynamics.errors import ParameterError

PANDA = {
    "friction.fp1": (0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489),
    "friction.fp2": (5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336),
    "friction.fp3": (0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526),
}
SEVEN = {"joints": [f"joint{k}" for k in range(1, 8)]}


def test_defaults_are_those_of_crisp_2_3_1():
    """Against the default values of its ``cartesian_controller.yaml``."""
    assert dict(DEFAULTS) == {
        "joints": (),
        "end_effector_frame": "",
        "base_frame": "",
        "use_operational_space": False,
        "operational_space_regularization": 0.01,
        "task.k_pos_x": 500.0, "task.k_pos_y": 500.0, "task.k_pos_z": 500.0,
        "task.k_rot_x": 30.0, "task.k_rot_y": 30.0, "task.k_rot_z": 30.0,
        "task.d_pos_x": -1.0, "task.d_pos_y": -1.0, "task.d_pos_z": -1.0,
        "task.d_rot_x": -1.0, "task.d_rot_y": -1.0, "task.d_rot_z": -1.0,
        "task.error_clip.x": 0.1, "task.error_clip.y": 0.1, "task.error_clip.z": 0.1,
        "task.error_clip.rx": 0.5, "task.error_clip.ry": 0.5, "task.error_clip.rz": 0.5,
        "nullspace.stiffness": 1.0,
        "nullspace.damping": -1.0,
        "nullspace.regularization": 0.000001,
        "nullspace.projector_type": "kinematic",
        "nullspace.max_tau": 5.0,
        "noise.add_random_noise": False,
        "noise.amplitude": 0.0,
        "use_friction": False,
        "use_coriolis_compensation": False,
        "use_gravity_compensation": False,
        "use_local_jacobian": False,
        "filter.target_pose": 0.1,
        "filter.q": 0.5, "filter.dq": 0.5, "filter.q_ref": 0.5, "filter.output_torque": 0.5,
        "limit_error": True,
        "limit_torques": True,
        "joint_limit_repulsion.enabled": True,
        "joint_limit_repulsion.safe_range": 0.1,
        "joint_limit_repulsion.max_torque": 5.0,
        "max_delta_tau": 0.5,
        "stop_commands": False,
        **PANDA,
        "variable_max_stiffness.translational": 900.0,
        "variable_max_stiffness.rotational": 60.0,
        "variable_stiffness.enabled": False,
        "variable_stiffness.topic": "target_stiffness",
        "enable_introspection": False,
        "log.enabled": False, "log.robot_state": False, "log.control_values": False,
        "log.limits": False, "log.controller_parameters": False, "log.computed_torques": False,
        "log.dynamic_params": False, "log.timing": False,
    }  # fmt: skip
    assert is_crisp(list(DEFAULTS))


def test_a_file_without_values_has_the_defaults_of_crisp_at_1000_hz():
    """Springs, posture, gravity, friction, limits and filters; a filter's share is exp(-1/(rate T))."""
    found = translate({})
    half = float(f"{1e-3 / math.log(2.0):.4g}")
    assert half == 0.001443
    assert found.values == {
        "mode": "cartesian_impedance",
        "cartesian_frame": "",
        "cartesian_axes": "root",
        "cartesian_stiffness": [500.0, 500.0, 500.0, 30.0, 30.0, 30.0],
        "cartesian_damping": [-1.0] * 6,
        "cartesian_error_clip": [0.1, 0.1, 0.1, 0.5, 0.5, 0.5],
        "operational_space": False,
        "operational_space_regularization": 0.01,
        "nullspace_stiffness": [1.0],
        "nullspace_damping": -1.0,
        "nullspace_projector": "kinematic",
        "nullspace_regularization": 1e-6,
        "nullspace_max_effort": 5.0,
        "robot_compensates_gravity": True,
        "friction": [0.0],
        "damping": [0.0],
        "max_effort_rate": [500.0],
        "limit_repulsion_range": 0.1,
        "limit_repulsion_effort": 5.0,
        "position_filter": half,
        "velocity_filter": half,
        "effort_filter": half,
    }
    assert found.joints == ()
    assert found.lines == (
        "task.d_*: 0 and -1 are critical for the frame's inertia at each pose, not 2 sqrt(k)",
        "nullspace.max_tau: bounds the effort before the projection, so that it never moves the frame",
        "use_gravity_compensation: false: the robot carries its own weight (robot_compensates_gravity)",
        "use_coriolis_compensation: false: the reference's Coriolis efforts are added; at rest they are 0",
        "use_friction: false: friction of the description is not compensated",
        "max_delta_tau: 0.5 N·m per cycle is max_effort_rate: [500] N·m/s at 1000 Hz",
        "joint_limit_repulsion: the springs at position limits are damped, and joints are braked there",
        "filter.q: 0.5 per cycle is position_filter: 0.001443 s at 1000 Hz",
        "filter.dq: 0.5 per cycle is velocity_filter: 0.001443 s at 1000 Hz",
        "filter.output_torque: 0.5 per cycle is effort_filter: 0.001443 s at 1000 Hz",
        "filter.target_pose, filter.q_ref: 0.1, 0.5: targets are smoothed by their times, and go within the"
        " limits of speed and acceleration",
    )


def test_values_of_all_directions_and_joints_keep_their_places():
    kinds = [("pos", axis) for axis in "xyz"] + [("rot", axis) for axis in "xyz"]
    clips = ("x", "y", "z", "rx", "ry", "rz")
    found = translate(
        {
            "type": "crisp_controllers/CartesianController",
            "joints": ["a", "b", "c"],
            "end_effector_frame": "tool",
            "base_frame": "table",
            **{f"task.k_{kind}_{axis}": 11.0 + k for k, (kind, axis) in enumerate(kinds)},
            **{f"task.d_{kind}_{axis}": 2.5 + k for k, (kind, axis) in enumerate(kinds)},
            **{f"task.error_clip.{name}": 0.2 + 0.1 * k for k, name in enumerate(clips)},
            "use_operational_space": True,
            "operational_space_regularization": 10.0,
            "nullspace.stiffness": 3.0,
            "nullspace.damping": 0.75,
            "nullspace.regularization": 10.0,
            "nullspace.max_tau": 7.0,
            "nullspace.weights.a.value": 0.5,
            "nullspace.weights.c.value": 4.0,
            "use_gravity_compensation": True,
            "use_coriolis_compensation": True,
            "use_local_jacobian": True,
            "joint_limit_repulsion.safe_range": 0.3,
            "joint_limit_repulsion.max_torque": 6.0,
            "max_delta_tau": 0.25,
            "filter.q": 0.0,
            "filter.dq": 0.0,
            "filter.output_torque": 1.0,
        },
        400.0,
    )
    assert found.values == {
        "mode": "cartesian_impedance",
        "cartesian_frame": "tool",
        "cartesian_axes": "frame",
        "cartesian_stiffness": [11.0, 12.0, 13.0, 14.0, 15.0, 16.0],
        "cartesian_damping": [2.5, 3.5, 4.5, 5.5, 6.5, 7.5],
        "cartesian_error_clip": pytest.approx([0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        "operational_space": True,
        "operational_space_regularization": 10.0,
        "nullspace_stiffness": [1.5, 3.0, 12.0],
        "nullspace_damping": 0.75,
        "nullspace_projector": "dynamic",
        "nullspace_regularization": 10.0,
        "nullspace_max_effort": 7.0,
        "robot_compensates_gravity": False,
        "friction": [0.0],
        "damping": [0.0],
        "max_effort_rate": [100.0],
        "limit_repulsion_range": 0.3,
        "limit_repulsion_effort": 6.0,
        "position_filter": 0.0,
        "velocity_filter": 0.0,
        "effort_filter": 0.0,
    }
    assert found.joints == ("a", "b", "c")
    assert found.lines == (
        "nullspace.projector_type: kinematic counts as dynamic, because use_operational_space is true",
        "nullspace.weights: they scale the stiffness of the posture, not its damping",
        "nullspace.max_tau: bounds the effort before the projection, so that it never moves the frame",
        "use_friction: false: friction of the description is not compensated",
        "max_delta_tau: 0.25 N·m per cycle is max_effort_rate: [100] N·m/s at 400 Hz",
        "joint_limit_repulsion: the springs at position limits are damped, and joints are braked there",
        "filter.target_pose, filter.q_ref: 0.1, 0.5: targets are smoothed by their times, and go within the"
        " limits of speed and acceleration",
        "base_frame: poses are in the root frame of the arm, which must be table",
    )


def test_stiffness_is_clamped_for_translation_and_rotation_alone():
    limits = {"variable_max_stiffness.translational": 300.0, "variable_max_stiffness.rotational": 20.0}
    line = "variable_max_stiffness: task.k_* are clamped to 300 and 20, as in CRISP"
    stiff = translate({**limits, "task.k_pos_x": 300.0, "task.k_pos_z": 299.5, "task.k_rot_x": 25.0})
    assert stiff.values["cartesian_stiffness"] == [300.0, 300.0, 299.5, 20.0, 20.0, 20.0]
    assert stiff.lines[0] == line
    bound = {f"task.k_{kind}_{axis}": k for kind, k in (("pos", 300.0), ("rot", 20.0)) for axis in "xyz"}
    assert line not in translate({**limits, **bound}).lines
    assert translate({**limits, **bound}).values["cartesian_stiffness"] == [300.0] * 3 + [20.0] * 3


def test_damping_up_to_zero_is_critical():
    """A line says that it differs, unless operational space control has CRISP's own meaning."""
    line = "task.d_*: 0 and -1 are critical for the frame's inertia at each pose, not 2 sqrt(k)"
    given = {f"task.d_{kind}_{axis}": 3.0 for kind in ("pos", "rot") for axis in "xyz"}
    assert translate(given).values["cartesian_damping"] == [3.0] * 6
    assert line not in translate(given).lines
    mixed = given | {"task.d_pos_y": 0.0, "task.d_rot_z": -0.5, "task.d_rot_y": 1e-3}
    assert translate(mixed).values["cartesian_damping"] == [3.0, -1.0, 3.0, 3.0, 1e-3, -1.0]
    assert line in translate(mixed).lines
    decoupled = translate(mixed | {"use_operational_space": True})
    assert decoupled.values["cartesian_damping"] == [3.0, -1.0, 3.0, 3.0, 1e-3, -1.0]
    assert line not in decoupled.lines


def test_posture_has_one_stiffness_where_weights_are_equal():
    """A damping up to zero is critical; weights are said not to scale one that is given."""
    joints = {"joints": ["a", "b", "c"], "nullspace.stiffness": 6.0}
    said = "nullspace.weights: they scale the stiffness of the posture, not its damping"
    same = {f"nullspace.weights.{name}.value": 0.5 for name in "abc"}
    assert translate(joints).values["nullspace_stiffness"] == [6.0]
    assert translate(joints | same).values["nullspace_stiffness"] == [3.0]
    one = joints | {"nullspace.weights.b.value": 2.0}
    assert translate(one).values["nullspace_stiffness"] == [6.0, 12.0, 6.0]
    for damping, critical in ((0.0, True), (-0.5, True), (1e-3, False), (2.0, False)):
        found = translate(one | {"nullspace.damping": damping})
        assert found.values["nullspace_damping"] == (-1.0 if critical else damping)
        assert (said in found.lines) == (not critical)
    assert said not in translate(joints | {"nullspace.damping": 2.0}).lines
    assert said in translate(joints | same | {"nullspace.damping": 2.0}).lines


@pytest.mark.parametrize(
    ("given", "decoupled", "found"),
    [
        ("kinematic", False, "kinematic"),
        ("kinematic", True, "dynamic"),
        ("dynamic", False, "dynamic"),
        ("none", True, "none"),
    ],
)
def test_only_the_kinematic_projector_changes_with_operational_space(given, decoupled, found):
    translated = translate({"nullspace.projector_type": given, "use_operational_space": decoupled})
    assert translated.values["nullspace_projector"] == found
    assert any("counts as dynamic" in line for line in translated.lines) == (given != found)


def test_errors_that_are_not_limited_are_clipped_far_away():
    found = translate({"limit_error": False})
    assert found.values["cartesian_error_clip"] == [1e6] * 6
    assert "limit_error: false: errors are clipped at 1e6 only" in found.lines


def test_efforts_and_limits_that_crisp_does_not_bound_stay_open():
    found = translate({"limit_torques": False, "max_delta_tau": -1.0, "joint_limit_repulsion.enabled": False})
    assert not set(found.values) & {"max_effort_rate", "limit_repulsion_range", "limit_repulsion_effort"}
    assert not any(line.startswith(("max_delta_tau", "joint_limit")) for line in found.lines)


def test_the_friction_of_a_panda_is_the_default():
    """fp1 (1/(1+exp(-fp2 (v+fp3))) - 1/(1+exp(-fp2 fp3))): its ends, for every joint."""
    fp1, fp2, fp3 = map(np.array, PANDA.values())
    for given in (SEVEN, {}):
        found = translate(given | {"use_friction": True})
        ends = [
            fp1 / (1.0 + np.exp(-fp2 * (v + fp3))) - fp1 / (1.0 + np.exp(-fp2 * fp3)) for v in (-20.0, 20.0)
        ]
        friction, offset = (np.array(found.values[name]) for name in ("friction", "friction_offset"))
        np.testing.assert_allclose([offset - friction, offset + friction], ends, rtol=1e-12)
        assert found.values["damping"] == [0.0]
        assert (
            "friction.fp1 to fp3: their ends are friction and friction_offset, along the reference's velocity"
            in found.lines
        )
        assert not any(line.startswith("use_friction") for line in found.lines)


def test_friction_that_is_all_on_one_side_overflows_nothing():
    """A product of fp2 and fp3 beyond 700 has its limit: no or all friction forwards."""
    given = {"friction.fp1": [2.0, 2.0], "friction.fp2": [100.0, 100.0], "friction.fp3": [8.0, -8.0]}
    found = translate({"joints": ["a", "b"], "use_friction": True, **given}).values
    assert found["friction"] == [1.0, 1.0]
    assert found["friction_offset"] == pytest.approx([-1.0, 1.0])


@pytest.mark.parametrize(
    ("lengths", "joints", "text"),
    [
        ((7, 7, 7), 6, "7, 7, 7"),
        ((3, 2, 3), 3, "3, 2, 3"),
        ((2, 2, 3), 0, "2, 2, 3"),
        ((1, 1, 1), 2, "1, 1, 1"),
    ],
)
def test_friction_that_is_not_of_every_joint_is_refused(lengths, joints, text):
    given = {f"friction.fp{k}": [0.5] * length for k, length in enumerate(lengths, 1)}
    with pytest.raises(ParameterError) as told:
        translate({"joints": [f"j{k}" for k in range(joints)], "use_friction": True, **given})
    assert str(told.value) == (
        f"parameters 'friction.fp1' to 'fp3' have {text} values; with use_friction each needs one per joint"
    )


@pytest.mark.parametrize("name", ["filter.target_pose", "filter.q_ref", "filter.q", "filter.dq"])
def test_shares_of_the_last_value_are_from_zero_to_below_one(name):
    assert translate({name: 0.0})
    for value in (-1e-9, 1.0, 1.5):
        with pytest.raises(ParameterError) as told:
            translate({name: value})
        assert str(told.value) == (
            f"parameter '{name}' is {value:g}, the share of the last value that each cycle keeps: it must be"
            " at least 0, and below 1"
        )


@pytest.mark.parametrize(("value", "good"), [(0.0, False), (-0.5, False), (1.0, True), (1.0001, False)])
def test_the_share_of_the_new_torque_is_above_zero_to_one(value, good):
    if good:
        assert translate({"filter.output_torque": value}).values["effort_filter"] == 0.0
        return
    with pytest.raises(ParameterError) as told:
        translate({"filter.output_torque": value})
    assert str(told.value) == (
        f"parameter 'filter.output_torque' is {value:g}, the share of the new torque that each cycle takes:"
        " it must be above 0, and at most 1"
    )


def test_filters_are_as_long_as_springs_bear():
    """At 100 Hz 0.81873 is kept for 0.05 s; a share that is kept longer is refused."""
    longest = math.exp(-1.0 / (100.0 * 0.05))
    for name, share in (
        ("filter.q", longest),
        ("filter.dq", longest),
        ("filter.output_torque", 1.0 - longest),
    ):
        own = {"filter.q": "position_filter", "filter.dq": "velocity_filter"}.get(name, "effort_filter")
        found = translate({name: share}, 100.0)
        assert found.values[own] == 0.05
        assert f"{name}: {share:g} per cycle is {own}: 0.05 s at 100 Hz" in found.lines
        slower = share + (-0.01 if own == "effort_filter" else 0.01)
        kept = 1.0 - slower if own == "effort_filter" else slower
        with pytest.raises(ParameterError) as told:
            translate({name: slower}, 100.0)
        assert str(told.value) == (
            f"parameter '{name}' is {slower:g}, a time constant of {-0.01 / math.log(kept):.3g} s at 100 Hz;"
            " at most 0.05 s is stable with springs"
        )


@pytest.mark.parametrize("name", ["nullspace.regularization", "operational_space_regularization"])
def test_regularizations_are_above_zero_to_ten(name):
    for value in (0.0, -0.5, 10.001):
        with pytest.raises(ParameterError) as told:
            translate({name: value})
        assert str(told.value) == f"parameter '{name}' is {value:g}; it must be above 0, and at most 10"
    assert translate({name: 10.0}).values[name.replace("nullspace.", "nullspace_")] == 10.0


@pytest.mark.parametrize("value", [0.0, -0.5])
def test_a_step_of_the_torque_is_above_zero(value):
    with pytest.raises(ParameterError) as told:
        translate({"max_delta_tau": value})
    assert str(told.value) == f"parameter 'max_delta_tau' is {value:g}; it must be above 0"


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("use_friction", 1.0, "true or false"),
        ("use_local_jacobian", "yes", "true or false"),
        ("task.k_pos_y", True, "a finite number"),
        ("task.k_rot_x", float("inf"), "a finite number"),
        ("nullspace.weights.a.value", "much", "a finite number"),
        ("end_effector_frame", 3.0, "a text"),
        ("friction.fp2", 5.0, "a list"),
    ],
)
def test_values_of_another_kind_are_refused(name, value, kind):
    with pytest.raises(ParameterError) as told:
        translate({"joints": ["a"], name: value})
    assert str(told.value) == f"parameter '{name}' of CRISP is '{value}'; it must be {kind}"


def test_lists_and_whole_numbers_are_taken():
    given = {
        "joints": np.array(["a", "b"]),
        "use_friction": True,
        "friction.fp1": (0.5, 0.7),
        "friction.fp2": np.array([2.0, 3.0]),
        "friction.fp3": [0.1, 0.2],
        "task.k_pos_x": 250,
    }
    found = translate(given)
    assert found.joints == ("a", "b")
    assert found.values["friction"] == [0.25, 0.35]
    assert found.values["cartesian_stiffness"][0] == 250.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"joints": ["a", "b"], "nullspace.weights.c.value": 1.0},
            "parameter 'nullspace.weights.c.value' of CRISP is for none of its joints: a, b",
        ),
        (
            {"nullspace.weights.c.value": 1.0},
            "parameter 'nullspace.weights.c.value' of CRISP is for none of its joints: none",
        ),
        (
            {"type": "x", "task.k": 1.0},
            "parameter 'task.k' of CRISP's controller has no meaning here: remove it from the file",
        ),
        (
            {"noise.add_random_noise": True},
            "parameter 'noise.add_random_noise' is true: no noise is added to efforts here",
        ),
        (
            {"stop_commands": True},
            "parameter 'stop_commands' is true: do not activate the controller instead",
        ),
        (
            {"variable_stiffness.enabled": True},
            "parameter 'variable_stiffness.enabled' is true: no topic sets the stiffness here; set the live"
            " parameter cartesian_stiffness",
        ),
    ],
)
def test_names_and_demands_without_a_counterpart_are_refused(given, message):
    with pytest.raises(ParameterError) as told:
        translate(given)
    assert str(told.value) == message


def test_reports_of_crisp_are_said_to_have_no_effect():
    found = translate({"log.limits": True, "log.timing": True, "enable_introspection": True})
    assert found.lines[-2:] == (
        "log.limits, log.timing: no effect; /diagnostics and the topics report instead",
        "enable_introspection: no effect; ~/controller_state and the topics report instead",
    )


def test_parameters_of_crisp_are_known_by_their_names():
    assert is_crisp(["kp", "task.k_pos_x"]) and is_crisp(["use_operational_space", "kp"])
    assert not is_crisp(["kp", "nullspace.stiffness"]) and not is_crisp([])
    for name in (*DEFAULTS, "type", "nullspace.weights.elbow.value", "friction.fp9", "log.more"):
        assert is_its_own(name), name
    for name in ("kp", "friction", "friction_offset", "robot_description", "cartesian_stiffness", "types"):
        assert not is_its_own(name), name
