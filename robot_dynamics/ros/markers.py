"""Node ``markers``: joint efforts against their limits and the weights of the links, for rviz.

The geometry is in ``robot_dynamics.view``; this module moves messages.
"""

from __future__ import annotations

import sys

from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.ros.models.description import DescriptionSource
from robot_dynamics.ros.support import parameters, qos, spin
from robot_dynamics.ros.support.paced import spin_at
from robot_dynamics.ros.viewing.load_markers import LoadMarkers
from robot_dynamics.ros.viewing.streams import STALE, ShownJoints
from robot_dynamics.view.parameters import MarkerParameters
from robot_dynamics.view.robot_geometry import read_robot


class Markers(Node):
    """Publishes a picture of the robot's load."""

    def __init__(self) -> None:
        super().__init__("markers")
        self._settings = parameters.declare(self, MarkerParameters)
        self._load: LoadMarkers | None = None
        self._shown = False
        self._states = ShownJoints(self, "joint_states")
        self._commands = ShownJoints(self, "joint_command")
        self._markers = self.create_publisher(MarkerArray, "markers", qos.TRAJECTORY)
        DescriptionSource(self, self._on_description).start()

    def run(self, stop: spin.StopEvent) -> None:
        """Look at the topics at the node's rate until the event."""
        spin_at(self._settings.update_rate, self, stop, self._look)

    def _on_description(self, text: str) -> None:
        self._load = LoadMarkers(read_robot(text), self._settings)
        self._clear()
        self.get_logger().info(f"markers of {self._load.describe()}")

    def _clear(self) -> None:
        if self._shown:
            self._markers.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
            self._shown = False

    def _look(self) -> None:
        """Publish the picture of this moment."""
        self._commands.take()
        self._states.take()
        state = self._states.newest
        if self._load is None or state is None or self._states.age > STALE:
            self._clear()
            return
        if not self._markers.get_subscription_count():
            return
        command = self._commands.newest if self._commands.age < STALE else None
        efforts = command.effort if command is not None and command.effort else state.effort
        self._shown = True
        self._markers.publish(MarkerArray(markers=self._load.picture(state, efforts)))


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(Markers, args, loop=Markers.run)


if __name__ == "__main__":
    sys.exit(main())
