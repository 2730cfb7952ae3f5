"""Drives with a loop of their own: the reference beside the effort, and an arm that such drives move."""

import numpy as np
import pinocchio as pin

import robot_dynamics as rd
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.resources import resource

PUMA = resource("urdf/puma560.urdf")
START, GOAL = np.zeros(6), np.array([0.4, -0.3, 0.5, 0.3, -0.4, 0.5])
PERIOD, STEPS = 0.004, 8  # of the controller [s], of the drives within
KP, KD, ROTOR = 60.0, 6.0, 0.3


def moved(carries_load):
    """Largest distance from the reference of an arm on MIT drives, with or without the model's efforts."""
    chain, model = rd.load_urdf(PUMA), pin.buildModelFromUrdf(str(PUMA))
    model.armature = np.full(6, ROTOR)
    data = model.createData()
    drives = ActuatorParameters(rotor_inertia=(ROTOR,), damping=(0.0,), friction=(0.0,))
    arm = ActuatedArm(rd.compile_dynamics(chain, friction=False), chain, drives)
    control = ArmController(
        chain, arm, ArmParameters(mode="feedforward", kp=(0.0,), kv=(0.0,), supervision="observe")
    )
    q, qd = START.copy(), np.zeros(6)
    assert np.isnan(control.drive_reference[0]).all()
    worst = 0.0
    for cycle in range(300):
        time = PERIOD * cycle
        command = control.update(time, q, qd)
        if cycle == 2:
            control.follow(chain.joint_names, [Waypoint(1.0, GOAL.tolist())], None)
        position, velocity = control.drive_reference
        reference = control.reference(time)
        np.testing.assert_allclose(position, reference.position, atol=1e-14)
        np.testing.assert_allclose(velocity, reference.velocity, atol=1e-14)
        if carries_load and cycle > 3:
            expected = pin.rnea(model, data, position, velocity, reference.acceleration)
            np.testing.assert_allclose(command.effort, expected, atol=1e-9)
        worst = max(worst, np.abs(position - q).max())
        for _ in range(STEPS):
            effort = KP * (position - q) + KD * (velocity - qd) + carries_load * command.effort
            qd = qd + PERIOD / STEPS * pin.aba(model, data, q, qd, effort)
            q = q + PERIOD / STEPS * qd
    assert not carries_load or np.abs(position - GOAL).max() < 1e-12
    return worst


def test_drives_follow_the_reference_with_the_efforts_of_the_model():
    with_efforts, without = moved(True), moved(False)
    assert with_efforts < 0.01
    assert without > 20.0 * with_efforts


def test_what_follows_nothing_and_what_has_stopped_stays_where_it_is_measured():
    chain = rd.load_urdf(PUMA)
    guided = ArmController(chain, parameters=ArmParameters(mode="gravity_compensation"))
    for time, angle in ((0.0, 0.0), (PERIOD, 0.001), (2 * PERIOD, 0.002)):
        place = START + angle
        guided.update(time, place, np.full(6, 0.25))
        position, velocity = guided.drive_reference
        np.testing.assert_array_equal(position, place)
        np.testing.assert_array_equal(velocity, np.zeros(6))
    control = ArmController(chain, parameters=ArmParameters(mode="feedforward", safe_output="zero"))
    control.update(0.0, GOAL, np.zeros(6))
    control.lost_states(0.0)
    control.safe_command(0.1)
    position, velocity = control.drive_reference
    np.testing.assert_array_equal(position, GOAL)
    np.testing.assert_array_equal(velocity, np.zeros(6))
