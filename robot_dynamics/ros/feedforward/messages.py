"""Plans as messages for a ``joint_trajectory_controller``."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feeding import Plan
from robot_dynamics.control.arm.sampling import PathPoints
from robot_dynamics.ros.support.messages import set_stamp, to_array
from robot_dynamics.spatial import Array

POINT_FIELDS = ("positions", "velocities", "accelerations", "effort")
"""Of a point, in the order in which a message has them."""


class FilledTrajectory:
    """Message for a plan: its points, with those that lead to them, each for its moment.

    Without a stamp the controller would begin when the message arrives, and be behind the plan from then on:
    the next trajectory, which departs from the plan, would step its reference. It begins in the past, with
    what is under way (see ``robot_dynamics.control.arm.feeding``).

    A controller that blends trajectories takes a stamp in the past as now. It gets the plan from the present
    on: of an arm in motion it leads from its own reference to the first point by itself, in the time of
    ``Feedforward.blending``. Such a message has no stamp: with one it is refused where it comes after its
    end, and a stop would be lost.

    Args:
        plan: of the trajectory that was given.
        joint_names: in the order of the plan.
        epoch: time 0 of the plan's clock [ns].
        efforts: whether the points carry the model's efforts; without, they are the path's knots alone.
        blended: the present, and the time in which a controller that blends leads to a plan of an arm in
            motion [s]; None: it takes stamps as they are.
    """

    def __init__(
        self,
        plan: Plan,
        joint_names: Sequence[str],
        epoch: int,
        efforts: bool,
        blended: tuple[float, float] | None = None,
    ) -> None:
        lead, samples, spline = plan.lead, plan.samples, plan.trajectory.spline
        times: Array = samples.times
        states: list[Array] = [samples.positions, samples.velocities, samples.accelerations, samples.efforts]
        if not efforts:
            # Quintics between the knots are the path itself; nothing else needs points.
            times, states = spline.times, list(spline.at(spline.times))
        begin = None if blended is None else min(blended[0], float(times[0]))
        if blended is not None and begin is not None:
            lead = _from(lead, begin, plan.moving)
            if plan.moving:
                reached = begin + blended[1]
                first = min(int(np.searchsorted(times, reached)), len(times) - 1)
                times, states = np.maximum(times[first:], reached), [rows[first:] for rows in states]
        before = (lead.positions, lead.velocities, lead.accelerations, lead.efforts)
        self._columns = [np.concatenate(parts) for parts in zip(before, states, strict=False)]
        # The controller takes no trajectory whose end moves, not even by a rounding error.
        self._columns[1][-1] = 0.0
        times = np.concatenate((lead.times, times))
        begin = float(times[0]) if begin is None else begin
        self._since = [round(1e9 * since) for since in (times - begin).tolist()]
        self._head = JointTrajectory(joint_names=list(joint_names))
        if blended is None or not plan.moving:
            set_stamp(self._head.header.stamp, epoch + round(1e9 * begin))

    @cached_property
    def message(self) -> JointTrajectory:
        """As an object."""
        message = JointTrajectory(header=self._head.header, joint_names=self._head.joint_names)
        for since, *values in zip(self._since, *self._columns, strict=True):
            point = JointTrajectoryPoint()
            for field, row in zip(POINT_FIELDS, values, strict=False):
                setattr(point, field, to_array(row))
            set_stamp(point.time_from_start, since)
            message.points.append(point)
        return message

    @cached_property
    def data(self) -> bytes:
        """As it is sent: made without an object for each point, which would hold the interpreter."""
        joints, given = len(self._head.joint_names), len(self._columns)
        filled = POINT_FIELDS[:given]
        whole = given == len(POINT_FIELDS)
        # Values lie at multiples of 8 bytes. A point of all fields leaves the next one there, one whose
        # efforts are absent 4 bytes behind, where the count of its positions needs no gap.
        row = np.dtype(
            [
                part
                for k, name in enumerate(filled)
                for part in (
                    (f"{name} count", "<u4"),
                    *([(f"{name} gap", "<u4")] if k or whole else []),
                    (name, "<f8", (joints,)),
                )
            ]
            + ([] if whole else [("no efforts", "<u4")])
            + [("sec", "<i4"), ("nanosec", "<u4")]
        )
        rows = np.zeros(len(self._since), row)
        for name, values in zip(filled, self._columns, strict=True):
            rows[f"{name} count"], rows[name] = joints, values
        rows["sec"], rows["nanosec"] = np.divmod(np.array(self._since, dtype=np.int64), 10**9)
        head = bytes(serialize_message(self._head))[:-4] + struct.pack("<I", len(rows))
        aligned, points = (len(head) - 4) % 8 == 0, rows.tobytes()
        if aligned != whole:
            points = points[:4] + (bytes(4) + points[4:] if aligned else points[8:])
        return head + points


def _from(lead: PathPoints, begin: float, moving: bool) -> PathPoints:
    """A lead that begins then [s]: at rest its last point, in motion none."""
    kept = slice(None, 0) if moving else slice(-1, None)
    rows = (lead.positions, lead.velocities, lead.accelerations, lead.efforts)
    return PathPoints(np.full(len(lead.times[kept]), begin), *(row[kept] for row in rows))


def hold_message(
    feedforward: Feedforward, now: float, efforts: bool, position: Array | None = None
) -> JointTrajectory:
    """One point at rest; with ``efforts`` what carries the arm where it is at ``now`` [s].

    Args:
        feedforward: knows the arm.
        now: the present [s].
        efforts: whether the point carries them.
        position: (n,) of the point; None: where the arm is [rad or m].
    """
    message = JointTrajectory(joint_names=list(feedforward.chain.joint_names))
    position = feedforward.position if position is None else position
    if position is not None:
        point = JointTrajectoryPoint(positions=to_array(position), velocities=to_array(0.0 * position))
        if efforts:
            point.effort = to_array(feedforward.effort(now))
        message.points.append(point)
    return message
