"""Plans for a trajectory controller: where they depart, what leads there, and the points that are sent.

What the controller follows from the moment at which a plan is asked for until the plan departs is sent in
front of the plan's own points. So a ``joint_trajectory_controller`` may take the trajectory up at any moment
before the plan start without noticing. Without it the controller, whose first point would lie ahead, goes
there from where the arm *is*: its reference steps by the error of tracking, and forgets what was under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.sampling import SHORTEST_INTERVAL, BuiltUp, EffortSamples, PathPoints
from robot_dynamics.control.arm.trajectory import Reference, Trajectory
from robot_dynamics.control.protocol import Planned, PlanStart
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class Lead:
    """The references until a plan start.

    Attributes:
        times: (L,) from when it was asked for, before the plan's start; empty where nothing leads to it [s].
        references: at these times.
    """

    times: Array
    references: Sequence[Reference]


@dataclass(frozen=True)
class PathStart(PlanStart[Reference]):
    """Place and time at which a plan may begin.

    Attributes:
        moving: whether a trajectory is being followed.
        revision: of what is followed; see :meth:`Feedforward.accept`.
        delivery: how long before its start the plan must be ready [s].
        lead: what is followed until then.
        dynamics: the arm's model, with joints that somebody else moves at rest where they are.
    """

    moving: bool
    revision: int
    delivery: float
    lead: Lead
    dynamics: EffortModel


@dataclass(frozen=True)
class Plan(Planned[Reference]):
    """A trajectory ready to be sent.

    Attributes:
        trajectory: the path over time.
        samples: its points with efforts, within the limits.
        beyond: names of the joints whose efforts were cut.
        moving: whether it begins while another trajectory is being followed.
        revision: of its plan start.
        delivery: how long before its start it must be ready [s].
        lead: the points that lead to the path's first one.
        dynamics: of its plan start.
        built: friction that builds up along the path, which is in the efforts.
    """

    trajectory: Trajectory
    samples: EffortSamples
    beyond: tuple[str, ...]
    moving: bool
    revision: int
    delivery: float
    lead: PathPoints
    dynamics: EffortModel
    built: BuiltUp | None = None


def lead_times(now: float, departs: float, points: Array) -> Array:
    """Times of a lead's points: now, and those of what is under way until it is left [s].

    Args:
        now: when it was asked for [s].
        departs: when the plan takes over [s].
        points: of the trajectories under way, ascending [s].
    """
    if departs - now < SHORTEST_INTERVAL:
        return np.zeros(0)
    inside = points[(points > now + SHORTEST_INTERVAL) & (points < departs - SHORTEST_INTERVAL)]
    times = np.concatenate(([now], inside))
    return np.asarray(times[np.concatenate(([True], np.diff(times) >= SHORTEST_INTERVAL))])


def sample_lead(lead: Lead, dynamics: EffortModel, limits: Array, built: BuiltUp | None = None) -> PathPoints:
    """The points of ``lead`` with the efforts that drive it, within ``limits`` (n,) [N·m or N].

    Args:
        lead: times and references.
        dynamics: gives the efforts.
        limits: (n,) of these.
        built: friction that builds up along what is followed, beside the efforts of ``dynamics``.
    """
    dof = len(limits)
    rows = [
        np.array([getattr(reference, name) for reference in lead.references]).reshape(-1, dof)
        for name in ("position", "velocity", "acceleration")
    ]
    efforts = dynamics.inverse_dynamics(*rows) if len(lead.times) else np.zeros((0, dof))
    if built is not None and len(lead.times):
        efforts = efforts + built.efforts(lead.times, rows[1])
    return PathPoints(lead.times, rows[0], rows[1], rows[2], np.clip(efforts, -limits, limits))
