"""External efforts of an arm as topics: of each joint, and as a wrench at a frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics.control.arm.contact import External, frame_wrench
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.dynamics.quantities.frames import FRAME
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.build_process import BUILDS
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.control.records import Cycles
from robot_dynamics.ros.support import parameters, qos
from robot_dynamics.ros.support.background import Background
from robot_dynamics.ros.support.joint_state_bytes import JointStateBytes
from robot_dynamics.ros.support.messages import set_stamp
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class WrenchParameters:
    """Frame of the external wrench."""

    wrench_frame: str = parameter(
        "",
        "Link of the chain, or frame fixed to one, at which ~/external_wrench is given; empty: the tip, or"
        " every tip of a tree",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)


class ExternalEfforts:
    """Publishes the external efforts of an arm, and their wrench at a frame, each while somebody listens.

    Args:
        node: gets the publishers.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._frame = parameters.declare(node, WrenchParameters).wrench_frame
        self._efforts = node.create_publisher(JointState, "~/external_torque", qos.LOCKSTEP)
        self._wrench = node.create_publisher(WrenchStamped, "~/external_wrench", qos.LOCKSTEP)
        self._background = Background(node)
        self._bytes = JointStateBytes(())
        self._dynamics: CompiledDynamics | None = None
        self._jacobians: list[Any] = []
        self._frames: tuple[str, ...] = ()
        self._asked = False
        self._condition = np.nan

    def begin(self, chain: KinematicChain, dynamics: CompiledDynamics) -> None:
        """Report of this arm from now on.

        Raises:
            ParameterError: it has no frame ``wrench_frame``.
        """
        if self._frame:
            FRAME.read(chain, self._frame)
        self._frames = (self._frame,) if self._frame else tuple(tip.link for tip in chain.tips)
        self._bytes = JointStateBytes(chain.joint_names)
        self._dynamics, self._jacobians, self._asked = dynamics, [], False

    def publish_all(self, cycles: Cycles) -> bool:
        """Report of many cycles, the wrench of the last one; whether anybody listens."""
        if not len(cycles):
            return bool(self._efforts.get_subscription_count() or self._wrench.get_subscription_count())
        position, velocity, telemetry = (cycles.array(name) for name in ("position", "velocity", "telemetry"))
        return self.publish(cycles.nanoseconds, position, velocity, telemetry[:, : position.shape[1]])

    def publish(self, stamps: NDArray[np.int64], position: Array, velocity: Array, external: Array) -> bool:
        """Publish external efforts, and the wrench of the last ones; whether anybody listens.

        Args:
            stamps: (k,) of the states [ns].
            position, velocity: (k, n) [rad or m, rad/s or m/s].
            external: (k, n) [N·m or N].
        """
        efforts, wrench = self._efforts.get_subscription_count(), self._wrench.get_subscription_count()
        if efforts:
            for message in self._bytes.messages(stamps, position, velocity, external):
                self._efforts.publish(message)
        if wrench:
            self._publish_wrench(int(stamps[-1]), position[-1], external[-1])
        return bool(efforts or wrench)

    def _publish_wrench(self, nanoseconds: int, position: Array, effort: Array) -> None:
        if not self._jacobians:
            self._prepare()
            return
        # A joint before the branching bears the wrenches of all tips: they are solved for together.
        stacked = np.vstack([jacobian(position) for jacobian in self._jacobians])
        wrenches, self._condition = frame_wrench(stacked, effort)
        for frame, values in zip(self._frames, wrenches.reshape(-1, 6), strict=True):
            message = WrenchStamped()
            message.header.frame_id = frame
            set_stamp(message.header.stamp, nanoseconds)
            force, torque = message.wrench.force, message.wrench.torque
            force.x, force.y, force.z, torque.x, torque.y, torque.z = values.tolist()
            self._wrench.publish(message)

    def _prepare(self) -> None:
        """Compile the Jacobian where nothing waits for it."""
        if self._asked or self._dynamics is None:
            return
        self._asked = True
        single = not self._frame and len(self._frames) == 1
        options = [{}] if single else [{"frame": frame} for frame in self._frames]
        make = partial(_jacobians, self._dynamics, options)
        self._background.submit("Jacobian", lambda: BUILDS.made(make, make), self._take, self._refused)

    def _take(self, jacobians: list[Any]) -> None:
        self._jacobians = jacobians

    def _refused(self, reason: str) -> None:
        self._node.get_logger().error(f"~/external_wrench is not published: {reason}")

    def describe(self, external: External) -> Mapping[str, object]:
        """Largest share of a threshold, and condition of the wrench, for the diagnostics."""
        observed = np.isfinite(external.threshold)
        share = np.abs(external.effort[observed] / external.threshold[observed]).max(initial=0.0)
        return {
            "external effort [share of threshold]": f"{share:.2f}" if observed.any() else "not observed",
            "condition of external wrench": f"{self._condition:.3g}",
        }


def _jacobians(dynamics: CompiledDynamics, options: list[dict[str, str]]) -> list[Any]:
    """Jacobian of every frame."""
    return [dynamics.function("jacobian", **chosen) for chosen in options]
