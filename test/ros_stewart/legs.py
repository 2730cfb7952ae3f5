"""Legs of a Stewart platform that a test plays over DDS."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import stewart
from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp
from robot_dynamics.stewart.orientation import quaternion_from_rotation

NODE = "stewart_platform"
SECOND = 1_000_000_000


def demo():
    """The machine that is built in the package."""
    return stewart.load(resource("config/stewart_demo.yaml"))


def forces_at(platform, shift=(0.0, 0.0, 0.0), **load):
    machine = platform.machine
    place = machine.home_position + np.array(shift)
    orientation, zero = quaternion_from_rotation(machine.home_rotation), np.zeros(3)
    return platform.inverse_dynamics(place, orientation, zero, zero, zero, zero, **load)


class Legs:
    """Publishes leg states and collects commands."""

    def __init__(self, peer, platform, command="effort"):
        self.peer, self.names = peer, list(platform.machine.leg_names)
        self.states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        self.stamped = peer.subscribe(JointState, "joint_command", qos.LOCKSTEP)
        self.commands = peer.subscribe(Float64MultiArray, f"leg_{command}_controller/commands", qos.COMMAND)
        self.now = SECOND

    def state(self, lengths):
        message = JointState(name=self.names, position=[float(x) for x in lengths], velocity=[0.0] * 6)
        message.header.stamp = nanoseconds_to_stamp(self.now)
        return message

    @property
    def faded(self):
        """True if the last command is no force."""
        return bool(self.commands) and not any(self.commands[-1].data)

    def answer(self, lengths):
        message = self.state(lengths)
        self.now += 2_000_000
        return self.peer.repeat_until(
            lambda: self.states.publish(message),
            lambda: next((m for m in self.stamped if m.header.stamp == message.header.stamp), None),
            f"no command at {self.now} ns",
        )
