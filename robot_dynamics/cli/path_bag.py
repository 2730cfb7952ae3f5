"""A path as a JointTrajectory in a bag."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robot_dynamics.cli.path_source import MESSAGE
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.errors import ParameterError, shown
from robot_dynamics.extras import lacking
from robot_dynamics.spatial import Array

TOPIC = "/joint_trajectory"


def write_bag(path: str, topic: str, names: Sequence[str], table: WaypointTable, efforts: Array) -> None:
    """Write a bag with one trajectory.

    Args:
        path: folder, which must not exist yet.
        topic: of the trajectory.
        names: of the joints.
        table: waypoints (K, n); times from 0 on [s].
        efforts: (K, n) [N·m or N].

    Raises:
        ParameterError: rosbags is missing, or the folder cannot be made.
    """
    try:
        from rosbags.rosbag2 import Writer
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise ParameterError(lacking("bags need", "rosbags")) from error
    store = get_typestore(Stores.ROS2_JAZZY)
    kinds = {name.rpartition("/")[2]: store.types[name] for name in store.types}
    rows = zip(table.times, table.positions, table.velocities, table.accelerations, efforts, strict=True)
    points = []
    for time, *values in rows:
        nanoseconds = round(1e9 * float(time))
        since = kinds["Duration"](sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        points.append(kinds["JointTrajectoryPoint"](*map(np.ascontiguousarray, values), since))
    header = kinds["Header"](stamp=kinds["Time"](sec=0, nanosec=0), frame_id="")
    message = kinds["JointTrajectory"](header, list(names), points)
    try:
        with Writer(Path(path), version=9) as writer:
            connection = writer.add_connection(topic, MESSAGE, typestore=store)
            writer.write(connection, 0, store.serialize_cdr(message, MESSAGE))
    except OSError as error:
        raise ParameterError(f"cannot make the bag {shown(path)}: {error.strerror}") from error
