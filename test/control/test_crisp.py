"""Parameters of CRISP's controller in terms of this package, and the wrench that a frame pushes with."""

from __future__ import annotations

import numpy as np
import pytest
from closed_loop import READY, ArmLoop

import robot_dynamics as rd
from robot_dynamics.control.arm.crisp import DEFAULTS, is_crisp, translate
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import describe

JOINTS = [f"joint{k}" for k in range(1, 8)]
FILE = {
    "joints": JOINTS,
    "end_effector_frame": "panda_hand",
    "task.k_pos_x": 400.0,
    "task.d_rot_z": 3.0,
    "task.error_clip.rx": 0.3,
    "nullspace.stiffness": 8.0,
    "nullspace.weights.joint7.value": 0.5,
    "nullspace.projector_type": "dynamic",
    "use_local_jacobian": True,
    "max_delta_tau": 0.4,
    "log.enabled": True,
}


def test_a_file_of_crisp_in_terms_of_this_package():
    found = translate(FILE, 1000.0)
    values = found.values
    assert values["cartesian_stiffness"] == [400.0, 500.0, 500.0, 30.0, 30.0, 30.0]
    assert values["cartesian_damping"] == [-1.0, -1.0, -1.0, -1.0, -1.0, 3.0]
    assert values["cartesian_error_clip"] == [0.1, 0.1, 0.1, 0.3, 0.5, 0.5]
    assert values["nullspace_stiffness"] == [8.0] * 6 + [4.0]
    assert (values["cartesian_frame"], values["cartesian_axes"]) == ("panda_hand", "frame")
    assert values["robot_compensates_gravity"] is True and found.joints == tuple(JOINTS)
    assert any("max_effort_rate: [400] N·m/s at 1000 Hz" in line for line in found.lines)
    assert values["max_effort_rate"] == [400.0]
    assert (values["limit_repulsion_range"], values["limit_repulsion_effort"]) == (0.1, 5.0)
    stiff = translate({**FILE, "task.k_pos_x": 3000.0, "task.d_pos_x": 0.0})
    assert stiff.values["cartesian_stiffness"][0] == 900.0 and stiff.values["cartesian_damping"][0] == -1.0
    assert any(line.startswith("variable_max_stiffness") for line in stiff.lines)
    taken = {about.name for about in describe(rd.ArmParameters)}
    arm = {name: value for name, value in values.items() if name in taken}
    assert rd.ArmParameters(**{k: tuple(v) if isinstance(v, list) else v for k, v in arm.items()}).yields
    left = set(values) - taken - {about.name for about in describe(rd.ActuatorParameters)}
    assert left == {"robot_compensates_gravity"}


CHANGED = {
    "values": {
        "end_effector_frame": "panda_link8",
        "use_operational_space": True,
        "operational_space_regularization": 0.1,
        **{f"task.k_pos_{axis}": 300.0 for axis in "xyz"},
        **{f"task.k_rot_{axis}": 20.0 for axis in "xyz"},
        **{f"task.d_{kind}_{axis}": 2.0 for kind in ("pos", "rot") for axis in "xyz"},
        **{f"task.error_clip.{name}": 0.2 for name in ("x", "y", "z", "rx", "ry", "rz")},
        "nullspace.stiffness": 9.0,
        "nullspace.damping": 0.5,
        "nullspace.regularization": 1e-4,
        "nullspace.projector_type": "none",
        "nullspace.max_tau": 2.0,
        **{f"nullspace.weights.joint{k}.value": 0.25 for k in range(1, 8)},
        "use_friction": True,
        "use_gravity_compensation": True,
        "use_local_jacobian": False,
        "filter.q": 0.9,
        "filter.dq": 0.0,
        "filter.output_torque": 0.9,
        "limit_error": False,
        "limit_torques": False,
        "joint_limit_repulsion.enabled": False,
        "joint_limit_repulsion.safe_range": 0.2,
        "joint_limit_repulsion.max_torque": 4.0,
        "max_delta_tau": 0.2,
        "friction.fp1": [0.6] * 7,
        "friction.fp2": [6.0] * 7,
        "friction.fp3": [0.1] * 7,
        "variable_max_stiffness.translational": 200.0,
        "variable_max_stiffness.rotational": 10.0,
    },
    "a line": {
        "base_frame": "world",
        "use_coriolis_compensation": True,
        "filter.target_pose": 0.9,
        "filter.q_ref": 0.9,
        "enable_introspection": True,
        **{f"log.{part}": True for part in (
            "robot_state", "control_values", "limits", "controller_parameters", "computed_torques",
            "dynamic_params", "timing",
        )},
        "log.enabled": False,
    },
    "refused": {
        "noise.add_random_noise": True,
        "stop_commands": True,
        "variable_stiffness.enabled": True,
    },
    "of what is refused": {"noise.amplitude": 1.0, "variable_stiffness.topic": "stiffer"},
}  # fmt: skip
"""Every parameter of version 2.3.1 but `joints`, with another value, and what comes of it."""


def test_every_parameter_of_2_3_1_is_honoured_or_said_or_refused():
    names = [name for group in CHANGED.values() for name in group]
    assert len(names) == len(set(names))
    assert set(names) - {f"nullspace.weights.{joint}.value" for joint in JOINTS} == set(DEFAULTS) - {"joints"}
    for what, group in CHANGED.items():
        for name, value in group.items():
            given = FILE | ({"use_friction": True} if name.startswith("friction") else {})
            before, after = translate(given), given | {name: value}
            if what == "refused":
                with pytest.raises(ParameterError, match=name):
                    translate(after)
            elif what == "values":
                assert translate(after).values != before.values, name
            else:
                found = translate(after)
                assert found.values == before.values, name
                assert (found.lines != before.lines) == (what == "a line"), name


def test_filters_keep_the_share_of_the_last_value_at_their_rate():
    for rate in (500.0, 1000.0):
        values = translate(
            FILE | {"filter.q": 0.7, "filter.dq": 0.0, "filter.output_torque": 0.2}, rate
        ).values
        assert np.exp(-1.0 / rate / values["position_filter"]) == pytest.approx(0.7, rel=1e-3)
        assert np.exp(-1.0 / rate / values["effort_filter"]) == pytest.approx(0.8, rel=1e-3)
        assert values["velocity_filter"] == 0.0


def test_friction_of_crisp_is_its_ends():
    fp = np.array([0.8, 5.0, 0.04])
    given = {f"friction.fp{k + 1}": [float(fp[k])] * 7 for k in range(3)}
    values = translate({**FILE, "use_friction": True, **given}).values

    def crisp(v):
        return fp[0] / (1 + np.exp(-fp[1] * (v + fp[2]))) - fp[0] / (1 + np.exp(-fp[1] * fp[2]))

    for sign in (1.0, -1.0):
        own = sign * values["friction"][0] + values["friction_offset"][0]
        assert own == pytest.approx(crisp(100.0 * sign))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"task.k_pos_w": 3.0}, "'task.k_pos_w' of CRISP's controller has no meaning here"),
        ({"filter.q": 0.99}, "'filter.q' is 0.99, a time constant of 0.0995 s at 1000 Hz"),
        ({"variable_max_stiffness.cross": 500.0}, "has no meaning here"),
        ({"nullspace.weights.elbow.value": 1.0}, "for none of its joints: joint1"),
        ({"task.k_pos_x": "stiff"}, "'task.k_pos_x' of CRISP is 'stiff'; it must be a finite number"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(given, words):
    with pytest.raises(ParameterError, match=words):
        translate({**FILE, **given})
    assert is_crisp(list(FILE)) and not is_crisp(["kp", "mode"])


def test_a_wrench_moves_the_frame_by_its_stiffness_and_ends():
    """Static balance: way = push / stiffness; nothing external is felt."""
    loop = ArmLoop(
        "ur5",
        READY,
        mode="cartesian_impedance",
        cartesian_stiffness=(500.0, 30.0),
        wrench_timeout=1.5,
        max_effort_rate=(300.0, 100.0, 50.0, 300.0, 300.0, 300.0),
    )
    loop.run(0.1)
    before = loop.links.forward_kinematics(loop.plant.position)
    assert loop.control.push([0.0, 10.0, 20.0, 0.0, 0.0, 0.0]) == ""
    loop.run(1.5)
    moved = loop.links.forward_kinematics(loop.plant.position)[:3, 3] - before[:3, 3]
    np.testing.assert_allclose(moved, [0.0, 0.02, 0.04], atol=2e-3)
    assert np.abs(loop.control.external.effort).max() < 0.2
    rates = np.abs(np.diff(loop.efforts[2:], axis=0)).max(axis=0) / loop.period
    assert np.all(rates < [301.0, 100.1, 50.05, 301.0, 301.0, 301.0]) and rates[2] > 49.0
    loop.run(2.0)
    np.testing.assert_allclose(loop.links.forward_kinematics(loop.plant.position), before, atol=1e-3)
    assert "six finite numbers" in loop.control.push([np.nan] * 6)
    loop.control.parameters = rd.ArmParameters()
    assert "the mode is computed_torque" in loop.control.push(np.zeros(6))
