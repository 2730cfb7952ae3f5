"""The executor does the work of the hot loops if rclpy lacks the calls that they take."""

from pathlib import Path

import foreign_rclpy
import numpy as np
import pytest
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from two_links import NODE, TWO_LINKS, Robot, controller, gravity_load

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros

FOREIGN = Path(foreign_rclpy.__file__)
PLACE = [0.3, 0.2]


@pytest.mark.parametrize("missing", sorted(foreign_rclpy.LACKING))
def test_the_controller_answers_all_the_same_and_says_so(missing):
    with (
        controller(FOREIGN, {"MISSING": missing, "NODE": NODE}, native_loop="off") as node,
        peer_with(node) as peer,
    ):
        robot = Robot(peer)
        for _ in range(3):
            np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        node.wait_for_output(r"\[WARN\].*this version of rclpy lets no subscription be served ahead")
        peer.processes.clear()
        assert node.stop() == 0
        peer.wait_until(lambda: robot.faded, "no safe output at the end")
        assert "Traceback" not in node.output


def test_the_simulator_takes_its_commands_all_the_same():
    parameters = {"robot_description": TWO_LINKS, "rate": 100.0, "command_timeout": 60.0}
    environment = {"MISSING": "CallbackType", "NODE": "simulator"}
    with NodeProcess(FOREIGN, parameters, environment=environment) as node, peer_with(node) as peer:
        states = peer.subscribe(JointState, "joint_states", qos.STATE_SUBSCRIPTION)
        commands = peer.publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        commands.publish(Float64MultiArray(data=[12.0, 3.0]))
        peer.wait_until(
            lambda: states and list(states[-1].effort) == [12.0, 3.0], "the command is not applied"
        )
        assert node.stop() == 0
