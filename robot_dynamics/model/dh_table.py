"""A table of Denavit-Hartenberg parameters in one of the two conventions.

Between two rows both conventions do the same four elementary motions; they differ in where a row begins:

    modified (Craig, Khalil-Kleinfinger):  Rx(alpha) Tx(a) Rz(theta) Tz(d)
    standard (Denavit-Hartenberg, Paul):   Rz(theta) Tz(d) Tx(a) Rx(alpha)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError, StateError
from robot_dynamics.model.chain import JointKind
from robot_dynamics.model.dh_format import csv_text, json_text, text
from robot_dynamics.spatial import Array, pose, rotation_x, rotation_z

CONVENTIONS = ("modified", "standard")


def check_convention(convention: str) -> None:
    """Refuse anything but the two conventions.

    Raises:
        ParameterError: neither ``modified`` nor ``standard``.
    """
    if convention not in CONVENTIONS:
        raise ParameterError(f"convention {convention!r}: known are {' and '.join(CONVENTIONS)}")


def about_x(alpha: float, a: float) -> Array:
    """(4, 4) Tx(a) Rx(alpha)."""
    return pose(rotation_x(alpha), (a, 0.0, 0.0))


def about_z(theta: float, d: float) -> Array:
    """(4, 4) Rz(theta) Tz(d)."""
    return pose(rotation_z(theta), (0.0, 0.0, d))


@dataclass(frozen=True)
class DHRow:
    """One row of the table.

    A revolute row turns by ``theta + multiplier * q[coordinate]``, a prismatic one slides by
    ``d + multiplier * q[coordinate]``; ``theta`` and ``d`` are what remains at q = 0, joint offset included.
    z always points along the joint's own axis, so ``multiplier`` is 1 unless the joint is a mimic, and an
    antiparallel axis shows as an ``alpha`` of π.

    Attributes:
        joint: name of the joint; None for an auxiliary row, which moves nothing.
        link: name of the link that the row's frame is fixed to.
        kind: revolute or prismatic; None for an auxiliary row.
        alpha: angle between the two z axes, about x [rad].
        a: distance between the two z axes, along x [m].
        theta: angle between the two x axes, about z, at q = 0 [rad].
        d: distance between the two x axes, along z, at q = 0 [m].
        coordinate: index into ``q``; None for an auxiliary row.
        multiplier: see above.
        link_pose: (4, 4) constant pose of the row's frame in the URDF frame of ``link``.
    """

    joint: str | None
    link: str
    kind: JointKind | None
    alpha: float
    a: float
    theta: float
    d: float
    coordinate: int | None
    multiplier: float
    link_pose: Array

    @property
    def offset(self) -> float:
        """Constant part of the row's joint variable: of ``d`` if prismatic, else of ``theta``."""
        return self.d if self.kind is JointKind.PRISMATIC else self.theta

    def transform(self, q: Array, convention: str) -> Array:
        """(4, 4) pose of this row's frame in the frame before it at coordinates ``q`` (n,)."""
        theta, d = self.theta, self.d
        if self.coordinate is not None:
            moved = self.multiplier * q[self.coordinate]
            theta, d = (theta, d + moved) if self.kind is JointKind.PRISMATIC else (theta + moved, d)
        along_z, along_x = about_z(theta, d), about_x(self.alpha, self.a)
        return np.asarray(along_x @ along_z if convention == "modified" else along_z @ along_x)


@dataclass(frozen=True)
class DHTable:
    """Denavit-Hartenberg parameters of a serial chain.

    ``pose of tip in root = base · row 1 · row 2 ... · tool``

    Attributes:
        robot: name of the robot.
        root: name of the link in whose frame ``base`` is given.
        tip: name of the link whose frame ``tool`` leads to.
        convention: ``modified`` or ``standard``.
        joint_names: the joints that ``q`` belongs to, in order.
        rows: one per moving joint, mimic joints included, and an auxiliary row where two axes are parallel so
            nearly that their common normal cannot be expressed (see ``dh_parameters``).
        base: (4, 4) pose of frame 0 in the root frame.
        tool: (4, 4) pose of the tip frame in the last row's frame.
        residual: largest difference found between the table's and the chain's pose of the tip, over its
            entries (position in m).
    """

    robot: str
    root: str
    tip: str
    convention: str
    joint_names: tuple[str, ...]
    rows: tuple[DHRow, ...]
    base: Array
    tool: Array
    residual: float = 0.0

    @property
    def dof(self) -> int:
        """Number of coordinates."""
        return len(self.joint_names)

    def forward_kinematics(self, q: Array) -> Array:
        """(4, 4) pose of the tip frame in the root frame at coordinates ``q`` (n,) [rad or m].

        Raises:
            StateError: ``q`` has the wrong length or is not finite.
        """
        return np.asarray(self.frames(q)[-1] @ self.tool)

    def frames(self, q: Array) -> tuple[Array, ...]:
        """(4, 4) poses in the root frame of frame 0 and of every row's frame at coordinates ``q`` (n,).

        Raises:
            StateError: ``q`` has the wrong length or is not finite.
        """
        q = np.asarray(q, dtype=float)
        if q.shape != (self.dof,) or not np.isfinite(q).all():
            raise StateError(
                f"q must be {self.dof} finite numbers, for joints {', '.join(self.joint_names)}; got {q!r}"
            )
        frames = [self.base]
        for row in self.rows:
            frames.append(frames[-1] @ row.transform(q, self.convention))
        return tuple(frames)

    def text(self) -> str:
        """The table for reading: degrees and metres, aligned, with base and tool."""
        return text(self)

    def json(self) -> str:
        """The table as JSON, every number with all its digits (rad, m), link poses included."""
        return json_text(self)

    def csv(self) -> str:
        """The table as CSV, every number with all its digits (rad, m); first row base, last row tool."""
        return csv_text(self)
