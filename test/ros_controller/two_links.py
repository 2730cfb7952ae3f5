"""A robot of two links that a test plays over DDS, and its controller as a process of its own."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from arm_of_two_links import two_links
from ros_harness import NodeProcess
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds

NODE = "computed_torque_controller"
SECOND = 1_000_000_000
TWO_LINKS = two_links(elbow_effort=5.0)
NAMES = ["shoulder", "elbow"]


def gravity_load(q):
    """Pinocchio's static efforts of the two links."""
    model = pin.buildModelFromXML(TWO_LINKS)
    return pin.rnea(model, model.createData(), np.asarray(q, float), np.zeros(2), np.zeros(2))


class Robot:
    """Publishes joint states and collects commands."""

    def __init__(self, peer):
        self.peer = peer
        self.states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        self.stamped = peer.subscribe(JointState, "joint_command", qos.LOCKSTEP)
        self.commands = peer.subscribe(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        self.now = SECOND

    @property
    def faded(self):
        """True if the last command is no effort."""
        return bool(self.commands) and not any(self.commands[-1].data)

    def state(self, position, velocity=(0.0, 0.0), names=NAMES, effort=()):
        message = JointState(name=list(names), effort=list(map(float, effort)))
        message.position, message.velocity = list(map(float, position)), list(map(float, velocity))
        message.header.stamp = nanoseconds_to_stamp(self.now)
        return message

    def answer(self, message):
        """Send a state, repeatedly as it goes best effort, until its command comes; returns the efforts."""
        stamp = stamp_to_nanoseconds(message.header.stamp)
        command = self.peer.repeat_until(
            lambda: self.states.publish(message),
            lambda: next((m for m in self.stamped if stamp_to_nanoseconds(m.header.stamp) == stamp), None),
            f"no command for the state at {stamp} ns",
        )
        self.now += 2_000_000
        return np.array(command.effort)

    def hold_at(self, position):
        return self.answer(self.state(position))


def controller(node=NODE, environment=None, **parameters):
    patient = {"safe_fade_time": 0.5, "state_timeout": 60.0}
    given = {"robot_description": TWO_LINKS, **patient, **parameters}
    return NodeProcess(node, given, environment=environment)
