"""Node ``kinematic_mover``: an arm that is always where its reference is.

It stands in for controller and simulator where a description's masses are of no use: joint states and
reference are the same, and there are no efforts.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.arm.trajectory import Reference, Trajectory, plan
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain_parameters import ChainParameters
from robot_dynamics.model.selection import rest_position
from robot_dynamics.model.urdf import parse_urdf
from robot_dynamics.parameters import parameter
from robot_dynamics.ros.support import parameters, qos, spin
from robot_dynamics.ros.support.messages import set_stamp, to_array
from robot_dynamics.ros.support.trajectories import waypoints


@dataclass(frozen=True)
class MoverParameters(ChainParameters):
    """Arm that moves, and the rate of its states."""

    robot_description: str = parameter("", "URDF of the robot as XML text", read_only=True)
    rate: float = parameter(
        100.0, "Rate of the joint states", unit="Hz", minimum=1.0, maximum=1000.0, read_only=True
    )
    initial_joints: tuple[str, ...] = parameter(
        (), "Joints whose first position is given; the others begin at zero", read_only=True
    )
    initial_positions: tuple[float, ...] = parameter(
        (), "First position of each of initial_joints", unit="rad or m", read_only=True
    )


class KinematicMover(Node):
    """Plays trajectories."""

    def __init__(self) -> None:
        super().__init__("kinematic_mover")
        settings = parameters.declare(self, MoverParameters)
        tree = parse_urdf(settings.robot_description)
        self.chain = settings.load(settings.robot_description)
        begin = dict(zip(settings.initial_joints, settings.initial_positions, strict=True))
        place = [begin.get(name, rest_position(tree.joints[name])) for name in self.chain.joint_names]
        self._reference = Reference.at_rest(np.array(place))
        self._trajectory: Trajectory | None = None
        held = {
            joint.name: settings.locked.get(joint.name, rest_position(joint))
            for joint in tree.joints.values()
            if joint.kind.moves_on_axis and joint.mimic is None and joint.name not in self.chain.joint_names
        }
        self._held = to_array(np.array([*held.values()]))
        self._still = to_array(np.zeros(len(held)))
        self._clock_began = self.get_clock().now().nanoseconds
        self._states = self.create_publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        self._references = self.create_publisher(JointState, "~/reference", qos.LOCKSTEP)
        self._message = JointState(name=[*self.chain.joint_names, *held])
        self.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.TRAJECTORY)
        self.create_service(Trigger, "~/hold", self._on_hold)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0 / settings.rate, self._tell, clock=steady)
        self.get_logger().info(f"moving {self.chain.name} without masses")

    def _now(self) -> float:
        """Seconds since the node began."""
        return 1e-9 * (self.get_clock().now().nanoseconds - self._clock_began)

    def _tell(self) -> None:
        now = self._now()
        if self._trajectory is not None:
            self._reference = self._trajectory.sample(now)
        set_stamp(self._message.header.stamp, self._clock_began + round(1e9 * now))
        self._message.position = to_array(self._reference.position) + self._held
        self._message.velocity = to_array(self._reference.velocity) + self._still
        self._references.publish(self._message)
        self._states.publish(self._message)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        now = self._now()
        if not message.points:
            self._trajectory = None
            return
        try:
            self._trajectory = plan(
                self.chain, message.joint_names, waypoints(message), now, self._reference, now
            )
        except RobotDynamicsError as error:
            self.get_logger().warning(f"trajectory refused: {error}")

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._trajectory = None
        self._reference = Reference.at_rest(self._reference.position)
        response.success, response.message = True, "holding"
        return response


def main(args: list[str] | None = None) -> int:
    """Entry point of the module."""
    return spin.run(KinematicMover, args)


if __name__ == "__main__":
    sys.exit(main())
