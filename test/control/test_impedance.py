"""Joint impedance: the torque by Pinocchio, closed forms, a stiff wall, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from arms import LENGTH, MASS, pendulum_chain
from closed_loop import READY, ArmLoop, Wall, description
from stop_rigs import PANDA, UR5, ArmRig

import robot_dynamics as rd
from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import ParameterError

STIFFNESS = (300.0, 400.0, 200.0, 50.0, 50.0, 20.0)
MODE = {"mode": "joint_impedance", "joint_stiffness": STIFFNESS, "max_effort": (1e4,)}


def test_the_torque_is_the_law_s_by_pinocchio():
    """With friction and rotors, given and critical damping, before and after the error is clipped."""
    chain = rd.load_urdf(description("ur5"))
    drives = rd.ActuatorParameters(rotor_inertia=(0.3,), damping=(2.0,), friction=(0.0,))
    arm = rd.ActuatedArm(rd.compile_dynamics(chain, friction=False), chain, drives)
    model = pin.buildModelFromUrdf(str(description("ur5")))
    data = model.createData()
    rng = np.random.default_rng(1)
    for damping in ((10.0, 12.0, 8.0, 2.0, 2.0, -1.0), (-1.0,)):
        parameters = rd.ArmParameters(
            **MODE, joint_damping=damping, joint_error_clip=(0.02,), start_motion=-1.0
        )
        control = rd.ArmController(chain, arm, parameters)
        q = np.array(READY)
        control.update(0.0, q, np.zeros(6))
        control.follow(chain.joint_names, [rd.Waypoint(1.0, tuple(q + 0.3))])
        for k in range(1, 12):
            measured = control.reference(0.002 * k).position + rng.uniform(-0.004, 0.04, 6) * k / 12
            velocity = rng.uniform(-0.1, 0.1, 6)
            command = control.update(0.002 * k, measured, velocity)
            r = command.reference
            mass = pin.crba(model, data, measured)
            inertia = np.diag(mass) + 0.3
            d = np.where(np.array(damping) < 0.0, 2.0 * np.sqrt(np.array(STIFFNESS) * inertia), damping)
            expected = (
                pin.rnea(model, data, measured, np.zeros(6), r.acceleration) + 0.3 * r.acceleration
                + pin.computeCoriolisMatrix(model, data, measured, velocity) @ r.velocity
                + 2.0 * r.velocity
                + STIFFNESS * np.clip(r.position - measured, -0.02, 0.02) + d * (r.velocity - velocity)
            )  # fmt: skip
            np.testing.assert_allclose(command.unlimited, expected, rtol=1e-9, atol=1e-9)


def test_a_pushed_joint_goes_as_a_damped_spring_does():
    """m l² e'' + d e' + k e = -tau: the pendulum's closed form, critically damped and not."""
    chain = pendulum_chain()
    arm = rd.ActuatedArm(rd.compile_dynamics(chain, friction=False), chain, rd.ActuatorParameters())
    inertia = MASS * LENGTH**2 + 1e-6
    for damping in (-1.0, 1.0):
        control = rd.ArmController(
            chain, arm,
            rd.ArmParameters(
                mode="joint_impedance", joint_stiffness=(30.0,), joint_damping=(damping,),
                joint_error_clip=(2.0,), supervision="observe", start_motion=-1.0,
            ),
        )  # fmt: skip
        q, qd, step, push = 0.3, 0.0, 1e-4, 1.5
        places = []
        for k in range(10000):
            effort = control.update(k * step, np.array([q]), np.array([qd])).effort[0] + push
            acceleration = (effort - MASS * LENGTH * 9.81 * np.sin(q)) / inertia
            qd += step * acceleration
            q += step * qd
            places.append(q)
        t = step * np.arange(1, 10001)
        omega = np.sqrt(30.0 / inertia)
        zeta = 1.0 if damping < 0.0 else damping / (2.0 * np.sqrt(30.0 * inertia))
        if zeta == 1.0:
            rest = np.exp(-omega * t) * (1.0 + omega * t)
        else:
            slow = omega * np.sqrt(1.0 - zeta**2)
            rest = np.exp(-zeta * omega * t) * (np.cos(slow * t) + zeta * omega / slow * np.sin(slow * t))
        np.testing.assert_allclose(np.array(places), 0.3 + push / 30.0 * (1.0 - rest), atol=2e-4)


@pytest.mark.parametrize("period", [0.001, 0.004])
def test_a_stiff_wall_is_hit_without_instability(period):
    """A wall of 1e5 N/m hit at 0.16 m/s: the arm comes to rest on it."""
    loop = ArmLoop("ur5", READY, period=period, **MODE | {"max_following_error": (-1.0,)})
    wall = Wall(loop, below=0.01)
    loop.run(0.05)
    down = np.add(READY, (0.0, 0.12, 0.0, -0.12, 0.0, 0.0))
    loop.go(down, 0.5)
    loop.run(2.0)
    deep, rates, forces = np.array(wall.seen).T
    hit = np.argmax(forces > 0.0)
    assert forces.max() > 0.0 and -rates[max(hit - 1, 0)] > 0.1
    assert loop.phases[-1] is Phase.HOLDING and loop.trip is None
    last = round(0.3 / period)
    assert np.abs(loop.velocities[-last:]).max() < 0.01
    assert np.ptp(forces[-last:]) < 0.1 * forces[-last:].mean() and forces[-1] > 1.0
    assert deep.max() < 0.01


def test_what_is_not_stable_or_no_impedance_is_refused():
    loop = ArmLoop("ur5", READY, control_period=0.002, **MODE)
    loop.run(0.1)
    stiff = {**MODE, "joint_stiffness": (1e6,)}
    with pytest.raises(
        ParameterError, match=r"'joint_stiffness' is 1e\+06, .* 2 ms at most (\S+), .*is stable"
    ) as told:
        loop.control.parameters = rd.ArmParameters(control_period=0.002, **stiff)
    most = [
        float(text) for text in str(told.value).split("at most ")[1].removesuffix(" is stable").split(",")
    ]
    loop.control.parameters = rd.ArmParameters(
        control_period=0.002, **MODE | {"joint_stiffness": tuple(most)}
    )
    with pytest.raises(ParameterError, match="joint_stiffness"):
        loop.control.parameters = rd.ArmParameters(
            control_period=0.002, **MODE | {"joint_stiffness": tuple(3.0 * value for value in most)}
        )
    loop.run(0.3)
    assert loop.trip is None
    with pytest.raises(ParameterError, match=r"'joint_damping' is 1000.*at most"):
        loop.control.parameters = rd.ArmParameters(control_period=0.002, **MODE, joint_damping=(1000.0,))
    with pytest.raises(ParameterError, match=r"at most 50, 50, 50, 50, 50, \d\.\d is stable"):
        rd.ArmController(  # the light wrist alone gives way
            rd.load_urdf(description("puma")),
            parameters=rd.ArmParameters(mode="joint_impedance", control_period=0.002),
        )
    for values, words in (
        ({"joint_stiffness": (-1.0,)}, "joint_stiffness"),
        ({"joint_damping": (-0.5,)}, "or -1: critical"),
        ({"joint_stiffness": (float("nan"),)}, "joint_stiffness"),
        ({"joint_error_clip": ()}, "joint_error_clip.*empty"),
    ):
        with pytest.raises(ParameterError, match=words):
            rd.ArmParameters(mode="joint_impedance", **values)
    with pytest.raises(ParameterError, match=r"joint_stiffness.*2 values"):
        rd.ArmController(
            loop.chain, parameters=rd.ArmParameters(mode="joint_impedance", joint_stiffness=(1.0, 2.0))
        )


def test_a_pushed_arm_yields_and_returns_and_live_stiffness_blends():
    loop = ArmLoop("ur5", READY, **MODE)
    loop.run(0.1)
    loop.disturbance = lambda time, effort: np.add(effort, (0.0, 30.0, 0.0, 0.0, 0.0, 0.0))
    loop.run(2.0)
    assert loop.plant.position[1] - READY[1] == pytest.approx(30.0 / 400.0, rel=1e-3)
    assert loop.trip is None
    before = loop.efforts[-1]
    loop.control.parameters = rd.ArmParameters(
        **MODE | {"joint_stiffness": (100.0, 800.0, 100.0, 50.0, 50.0, 20.0)}
    )
    added, began = loop.control.energy_added, len(loop.times)
    assert added == pytest.approx(0.5 * (800.0 - 400.0) * (30.0 / 400.0) ** 2, rel=0.01)
    loop.run(0.004)
    assert np.abs(loop.efforts[-1] - before).max() < 5.0
    loop.run(2.0)
    given = 30.0 * (loop.positions[began, 1] - loop.positions[-1, 1])
    assert 0.0 < given < 0.5 * 400.0 * (30.0 / 400.0) ** 2 + added
    assert loop.plant.position[1] - READY[1] == pytest.approx(30.0 / 800.0, rel=1e-3)
    loop.disturbance = None
    loop.run(2.0)
    np.testing.assert_allclose(loop.plant.position, READY, atol=1e-4)


@pytest.mark.parametrize(
    ("given", "limits"),
    [({}, False), ({"effort_filter": 0.004}, False), ({"max_effort_rate": (20.0,)}, True)],
)
def test_only_efforts_that_are_limited_are_said_to_be(given, limits):
    loop = ArmLoop("ur5", READY, **MODE, **given)
    loop.run(0.1)
    loop.go(np.add(READY, (0.4, -0.3, 0.3, 0.2, -0.2, 0.3)), 1.5)
    seen, update = [], loop.control.update

    def watched(*state):
        command = update(*state)
        seen.append(command.saturated)
        return command

    loop.control.update = watched
    loop.run(2.0)
    assert np.any(seen) == limits


def test_a_load_that_has_been_estimated_is_carried_on_and_taken_back():
    """An unknown payload: the softer law bears what was estimated of it, and so does the law before again."""
    soft = {"joint_stiffness": (40.0,), "start_motion": -1.0}
    sagged = []
    for ki in (-1.0, 0.0):
        loop = ArmLoop("ur5", READY, real={"payload_mass": 2.0}, ki=ki, **soft)
        loop.run(4.0)
        before = loop.plant.position.copy()
        loop.control.parameters = rd.ArmParameters(mode="joint_impedance", ki=ki, **soft)
        loop.run(3.0)
        sagged.append(np.abs(loop.plant.position - before).max())
    assert sagged[1] < 0.4 * sagged[0]
    loop.control.parameters = rd.ArmParameters(ki=0.0, **soft)
    loop.run(1.0)
    assert loop.trip is None
    assert np.abs(loop.plant.position - READY).max() < 0.02


def test_a_protective_stop_brakes_an_arm_with_soft_springs():
    """Springs of 1 N·m/rad stop nothing: the arm went on for seconds."""
    rig = ArmRig(UR5, mode="joint_impedance", joint_stiffness=(1.0,))
    rig.run(0.1)
    rig.plant.set_wrench(np.array([0.0, 100.0, 0.0, 0.0, 0.0, 0.0]))
    rig.run(0.2)
    rig.plant.set_wrench(np.zeros(6))
    rig.control.emergency_stop()
    place, moving = rig.plant.position, rig.share_of_speed()
    rig.run(1.0)
    assert rig.control.latched and moving > 0.05
    assert np.abs(rig.plant.position - place).max() < 0.6
    assert (np.abs(rig.plant.velocity) / rig.speeds).max() < 0.5 * moving


def test_springs_whose_arm_was_held_back_accelerate_no_joint_beyond_its_limit():
    """26 N·m/rad with 1 N·m·s/rad ask a light joint 0.25 rad away for 6.5 rad/s; it may have 2.61."""
    rig = ArmRig(PANDA, mode="joint_impedance", joint_stiffness=(26.0,), joint_damping=(1.0,))
    rig.run(0.1)
    rig.plant.set_brakes(True)
    rig.go(0.25 * np.eye(7)[5], 1.0)
    rig.run(1.2)
    rig.plant.set_brakes(False)
    rig.run(0.5)
    assert rig.share_of_speed() < 1.0
    assert rig.control.trip is None
    rig.run(2.5)
    np.testing.assert_allclose(rig.plant.position, rig.command.reference.position, atol=0.02)


def test_springs_of_a_frame_without_damping_are_refused():
    """A posture damps the fastest direction, not the others: sampling feeds their oscillation."""
    rig = ArmRig(PANDA, mode="cartesian_impedance")
    rig.run(0.1)
    with pytest.raises(ParameterError, match="no stiffness is stable without damping; a damping of -1"):
        rig.control.parameters = replace(rig.control.parameters, cartesian_damping=(0.0, 0.0))
