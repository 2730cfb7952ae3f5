"""A payload, a tilt and the robot's own compensation change under a trajectory, which goes on."""

import numpy as np
import pinocchio as pin
import pytest
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds

pytestmark = pytest.mark.ros

NODE = "computed_torque_controller"
SECOND = 1_000_000_000
ARM = """<robot name="lever"><link name="base"/>
  <link name="rod"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="lift" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="500" velocity="10"/></joint></robot>"""
CENTER = [0.6, 0.0, 0.1]


def rnea(state, mass=0.0, gravity=(0.0, 0.0, -9.81)):
    model = pin.buildModelFromXML(ARM)
    model.gravity.linear = np.array(gravity)
    body = pin.Inertia(mass, np.array(CENTER), np.zeros((3, 3)))
    model.appendBodyToJoint(1, body, pin.SE3.Identity())
    return pin.rnea(model, model.createData(), *(np.array([value]) for value in state))


def on_path(seconds, duration=100.0):
    """The quintic from 0 to 1 rad."""
    s = seconds / duration
    return (
        10 * s**3 - 15 * s**4 + 6 * s**5,
        (30 * s**2 - 60 * s**3 + 30 * s**4) / duration,
        (60 * s - 180 * s**2 + 120 * s**3) / duration**2,
    )


@pytest.mark.long
def test_the_trajectory_goes_on_with_the_new_model():
    parameters = {"robot_description": ARM, "state_timeout": 60.0, "mode": "feedforward"}
    parameters["max_stamp_step"] = 5.0
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        commands = peer.subscribe(JointState, "joint_command", qos.LOCKSTEP)
        now = SECOND

        def effort(nanoseconds):
            message = JointState(name=["lift"], position=[0.0], velocity=[0.0])
            message.header.stamp = nanoseconds_to_stamp(nanoseconds)
            answers = peer.repeat_until(
                lambda: states.publish(message),
                lambda: [c for c in commands if stamp_to_nanoseconds(c.header.stamp) == nanoseconds],
                "no command",
            )
            return np.array(answers[-1].effort)

        effort(now)
        point = JointTrajectoryPoint(positions=[1.0])
        point.time_from_start.sec = 100
        begin = now + SECOND // 4  # a larger step of the stamps would be taken for a jump
        message = JointTrajectory(joint_names=["lift"], points=[point])
        message.header.stamp = nanoseconds_to_stamp(begin)
        peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY).publish(message)
        node.wait_for_output("following a trajectory")
        seconds, efforts = 0.0, []

        def reaches(what, **changed):
            nonlocal seconds

            def same():
                nonlocal seconds
                seconds += 0.01
                given = effort(begin + round(seconds * SECOND))
                efforts.append(given[0])
                return np.allclose(given, rnea(on_path(seconds), **changed), rtol=1e-8, atol=1e-8)

            peer.wait_until(same, what)

        reaches("no feedforward")
        assert peer.set_parameter(NODE, "payload_center", CENTER).successful
        assert peer.set_parameter(NODE, "payload_mass", 3.0).successful
        reaches("the payload does not count, or the trajectory was dropped", mass=3.0)
        assert peer.set_parameter(NODE, "gravity", [2.0, 0.0, -9.0]).successful
        reaches("the tilt does not count", mass=3.0, gravity=[2.0, 0.0, -9.0])
        assert peer.set_parameter(NODE, "robot_compensates_gravity", True).successful
        reaches("gravity is counted twice", mass=3.0, gravity=[0.0, 0.0, 0.0])
        assert seconds < 100.0
        # States 10 ms apart, efforts that go over in 200 ms; the largest change is the whole weight.
        weight = np.abs(rnea((0.0, 0.0, 0.0), mass=3.0))[0]
        assert np.abs(np.diff(efforts)).max() < 1.5 * weight * 0.01 / 0.2
