"""The states of a plant as messages, with stamps of simulated time or of the clock on the wall."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState

from robot_dynamics.ros.models.plants.kind import PlantKind
from robot_dynamics.ros.simulation.motion import SimulatedMotion
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.joint_state_bytes import JointStateBytes
from robot_dynamics.ros.support.messages import set_stamp
from robot_dynamics.ros.support.pacing import GIVE_UP
from robot_dynamics.simulation.parameters import SimulatorParameters
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import quaternion_from_rotation


class StateOutput:
    """Publishes joint states, the true pose of what moves, and the time, the latter two where it is asked to.

    Attributes:
        settings: as they are now.

    Args:
        node: gets the publishers.
        kind: of the plant.
        settings: of the simulator.
    """

    def __init__(self, node: Node, kind: PlantKind, settings: SimulatorParameters) -> None:
        self._node = node
        self._kind = kind
        self.settings = settings
        self._random = np.random.default_rng(0)
        self._real_time_factor = settings.real_time_factor
        self._simulated_stamps = settings.lockstep or settings.publish_clock
        self._epoch: int | None = None
        self._bytes = JointStateBytes(())
        self._position, self._velocity, self._effort = np.zeros((3, 0))
        state_qos = qos.LOCKSTEP if settings.lockstep else qos.STATE_PUBLISHER
        self._states = node.create_publisher(JointState, "joint_states", state_qos)
        self._clock: Publisher | None = None
        self._clock_message = ClockMessage()
        if settings.publish_clock:
            self._clock = node.create_publisher(ClockMessage, "/clock", qos.CLOCK)
        self._pose: Publisher | None = None
        if kind.pose_topic:
            self._pose = node.create_publisher(PoseStamped, kind.pose_topic, qos.LOCKSTEP)

    def begin(self, plant: Plant) -> None:
        """This plant reports from now on."""
        # Who looks at the whole robot needs the joints too that do not take part.
        names = [*plant.joint_names, *plant.held_joints]
        self._bytes = JointStateBytes(names)
        self._position, self._velocity, self._effort = np.zeros((3, len(names)))
        self._position[plant.dof :] = [*plant.held_joints.values()]

    def restart_clock(self) -> None:
        """The present instant of simulated time is due now."""
        self._epoch = None

    def publish(self, motion: SimulatedMotion) -> None:
        """Publish the state at the present instant of simulated time."""
        if self._clock is not None:
            set_stamp(self._clock_message.clock, motion.now)
            self._clock.publish(self._clock_message)
        plant = motion.plant
        stamp = motion.now if self._simulated_stamps else self._wall_stamp(motion.now)
        n = plant.dof
        self._position[:n] = self._measured(plant.position)
        self._velocity[:n] = plant.velocity
        self._effort[:n] = self._sensed(motion.applied)
        true_pose = self._kind.pose
        if self._pose is not None and true_pose is not None and self._pose.get_subscription_count():
            self._pose.publish(_pose_message(stamp, *true_pose(plant)))
        self._states.publish(self._bytes.message(stamp, self._position, self._velocity, self._effort))

    def _measured(self, position: Array) -> Array:
        """Positions as encoders tell them."""
        step = self.settings.encoder_step
        return np.asarray(np.round(position / step) * step) if step > 0.0 else position

    def _sensed(self, effort: Array) -> Array:
        """Efforts as sensors tell them."""
        share = self.settings.effort_noise
        return (
            np.asarray(effort * (1.0 + share * self._random.normal(size=effort.shape)))
            if share > 0.0
            else effort
        )

    def _wall_stamp(self, simulated: int) -> int:
        """Time of the wall clock at which an instant of simulated time is due [ns].

        Not when it is published: a cycle that begins late computes the state of its deadline.
        """
        elapsed = round(simulated / self._real_time_factor)
        now = self._node.get_clock().now().nanoseconds
        # No instant is published before it is due, so an epoch that says so is too late.
        if self._epoch is None or not 0 <= now - self._epoch - elapsed <= GIVE_UP:
            self._epoch = now - elapsed
        return self._epoch + elapsed


def _pose_message(nanoseconds: int, position: Array, rotation: Array) -> PoseStamped:
    message = PoseStamped()
    set_stamp(message.header.stamp, nanoseconds)
    message.header.frame_id = "base"
    place, turn = message.pose.position, message.pose.orientation
    place.x, place.y, place.z = position.tolist()
    turn.x, turn.y, turn.z, turn.w = quaternion_from_rotation(rotation).tolist()
    return message
