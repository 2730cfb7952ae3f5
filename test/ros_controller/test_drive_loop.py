"""Drives with a loop of their own behind the node: joint_command has the reference, and no second gain."""

import numpy as np
import pinocchio as pin
import pytest
from ros_harness import peer_with
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NAMES, NODE, SECOND, TWO_LINKS, Robot, controller

from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds

pytestmark = pytest.mark.ros


def quintic(s, duration):
    """The way from 0 to 1, and its derivatives in time."""
    return (
        10 * s**3 - 15 * s**4 + 6 * s**5,
        (30 * s**2 - 60 * s**3 + 30 * s**4) / duration,
        (60 * s - 180 * s**2 + 120 * s**3) / duration**2,
    )


def test_the_command_has_the_reference_and_the_model_s_effort_without_gains(tmp_path):
    own = tmp_path / "mit.yaml"
    text = resource("config/drivers/openarm_mit.yaml").read_text(encoding="utf-8")
    own.write_text(text.replace("gravity: controller", "gravity: robot"), encoding="utf-8")
    model = pin.buildModelFromXML(TWO_LINKS)
    model.gravity.linear = np.zeros(3)
    given = {"driver": str(own), "mode": "feedforward", "max_stamp_step": 5.0}
    with controller(**given) as node, peer_with(node) as peer:
        robot, start = Robot(peer), np.array([0.3, -0.4])

        def command(position, velocity=(0.0, 0.0)):
            stamp = robot.now
            robot.answer(robot.state(position, velocity))
            return next(m for m in robot.stamped if stamp_to_nanoseconds(m.header.stamp) == stamp)

        first = command(start)
        np.testing.assert_array_equal(first.position, start)
        np.testing.assert_array_equal(first.velocity, [0.0, 0.0])
        np.testing.assert_allclose(first.effort, [0.0, 0.0], atol=1e-12)
        begin = robot.now + SECOND // 4
        message = JointTrajectory(joint_names=NAMES)
        message.header.stamp = nanoseconds_to_stamp(begin)
        point = JointTrajectoryPoint(positions=(start + 0.5).tolist())
        point.time_from_start.sec = 2
        message.points = [point]
        peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY).publish(message)
        node.wait_for_output("following a trajectory")
        for seconds, gain in ((0.5, 100.0), (0.9, 400.0)):
            assert peer.set_parameter(NODE, "kp", [gain]).successful
            way, rate, change = (0.5 * np.full(2, part) for part in quintic(seconds / 2.0, 2.0))
            robot.now = begin + round(seconds * SECOND)
            # Measured elsewhere than the reference: the drives' gains are about that, the effort is not.
            sent = command(start + way - 0.01, rate)
            np.testing.assert_allclose(sent.position, start + way, atol=1e-9)
            np.testing.assert_allclose(sent.velocity, rate, atol=1e-9)
            expected = pin.rnea(model, model.createData(), start + way, rate, change)
            np.testing.assert_allclose(sent.effort, expected, atol=1e-8)
        refused = peer.set_parameter(NODE, "mode", "computed_torque")
        assert not refused.successful
        assert "driver 'openarm_mit' has a loop of its own: set mode to feedforward" in refused.reason
        assert peer.set_parameter(NODE, "mode", "gravity_compensation").successful
