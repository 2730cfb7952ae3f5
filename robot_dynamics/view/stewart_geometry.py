"""A Stewart platform in space: its parts at a pose, the pose as numbers, and moves that it can make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robot_dynamics.control.stewart.trajectory import PoseWaypoint, at_rest, plan_pose
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.spatial import Array, pose, rpy_from_rotation
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.checks import pose_violations
from robot_dynamics.stewart.kinematics import condition_number, leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import (
    quaternion_from_rotation,
    rotation_from_roll_pitch_yaw,
    rotation_vector,
)
from robot_dynamics.view.efforts import axis_frame
from robot_dynamics.view.links import Weight, bounds, weight_arrows
from robot_dynamics.view.machine import Chart, Coordinate, Gauge, effort_chart
from robot_dynamics.view.moves import MoveGoal
from robot_dynamics.view.stewart_parts import leg_axes, lower, platform_shapes, upper
from robot_dynamics.view.visuals import Visual

PLACE, ANGLES = ("x", "y", "z"), ("roll", "pitch", "yaw")
POSE = PLACE + ANGLES
"""Coordinates of a pose: position in the base frame [m]; R = Rz(yaw)·Ry(pitch)·Rx(roll) [rad]."""
TURNS = ("about x", "about y", "about z")
"""Components of an orientation's error, base frame."""
FARTHEST_TURN = math.radians(60.0)
"""Most that a slider turns the platform away from home [rad]."""
# Bisections for the range of a slider.
HALVINGS = 12


def pose_values(position: Sequence[float] | Array, rotation: Array) -> dict[str, float]:
    """A pose as its six coordinates, by name."""
    numbers = [*map(float, position), *map(float, rpy_from_rotation(rotation))]
    return dict(zip(POSE, numbers, strict=True))


def pose_from(values: Mapping[str, float]) -> tuple[Array, Array]:
    """Position (3,) [m] and rotation (3, 3) of the six coordinates."""
    numbers = np.array([values[name] for name in POSE])
    return numbers[:3], rotation_from_roll_pitch_yaw(numbers[3:])


def pose_errors(wanted: Mapping[str, float], true: Mapping[str, float]) -> dict[str, float]:
    """Wanted minus true position [m], and the rotation vector from true to wanted orientation [rad]."""
    (position, rotation), (present, turned) = pose_from(wanted), pose_from(true)
    numbers = [*(position - present), *rotation_vector(rotation @ turned.T)]
    return dict(zip(PLACE + TURNS, map(float, numbers), strict=True))


@dataclass(frozen=True)
class StewartGeometry:
    """Looks and limits of a Stewart platform. Its coordinates are those of the pose, ``POSE``.

    Attributes:
        platform: the machine.
    """

    platform: StewartPlatform

    skipped = ()

    @property
    def machine(self) -> Machine:
        """Its parameters."""
        return self.platform.machine

    @property
    def name(self) -> str:
        """Of the machine."""
        return self.machine.name

    @cached_property
    def home(self) -> dict[str, float]:
        """The machine's home."""
        return pose_values(self.machine.home_position, self.machine.home_rotation)

    @cached_property
    def shapes(self) -> tuple[Visual, ...]:
        """Plates, joints, and the two parts of every leg."""
        return platform_shapes(self.machine, self._leg_length)

    @cached_property
    def _leg_length(self) -> float:
        """Mean length of the legs at home [m]."""
        machine = self.machine
        return float(leg_geometry(machine, machine.home_position, machine.home_rotation).lengths.mean())

    @cached_property
    def size(self) -> float:
        """About how high it is [m]."""
        return 1.5 * self._leg_length

    @cached_property
    def ground(self) -> float:
        """Height of the lowest part at home, base frame [m]."""
        return float(self.bounds(self.link_poses(self.home))[0][2])

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The pose, in mm and degrees; each slider goes as far from home as the limits let it alone."""
        found = []
        for name in POSE:
            low, high = (self._reach(name, side) for side in (-1.0, 1.0))
            if name in PLACE:
                found.append(Coordinate(name, "mm", 1e3, *_rounded(low, high, 1e3, 5.0), step=0.5))
            else:
                factor = math.degrees(1.0)
                found.append(Coordinate(name, "°", factor, *_rounded(low, high, factor, 1.0), step=0.1))
        return tuple(found)

    def _reach(self, name: str, side: float) -> float:
        """Range of a coordinate within the platform's limits, the others at home [m or rad]."""
        inside, outside = 0.0, FARTHEST_TURN if name in ANGLES else self._leg_length
        for _ in range(HALVINGS):
            middle = 0.5 * (inside + outside)
            position, rotation = pose_from({**self.home, name: self.home[name] + side * middle})
            legs = leg_geometry(self.machine, position, rotation)
            if pose_violations(self.machine, legs, rotation):
                outside = middle
            else:
                inside = middle
        return self.home[name] + side * outside

    @cached_property
    def gauges(self) -> tuple[Gauge, ...]:
        """An arrow beside every leg: away from the base when the leg pushes, to the base when it pulls."""
        machine = self.machine
        center = machine.base_points.mean(axis=0)
        found = []
        for leg, axis, along in zip(
            machine.legs, machine.universal_axes, machine.home_directions, strict=True
        ):
            away = leg.base_point - center
            away = away - (away @ along) * along
            norm = float(np.linalg.norm(away))
            # In the lower part's axes the leg is x, so what is across it stays across it.
            across = leg_axes(axis, along).T @ (away / norm) if norm > 1e-6 else np.array([0.0, 1.0, 0.0])
            place = np.array([0.5 * self._leg_length, 0.0, 0.0]) + 0.1 * self._leg_length * across
            frame = pose(axis_frame(np.array([1.0, 0.0, 0.0])), place)
            found.append(
                Gauge(
                    leg.name,
                    lower(leg),
                    frame,
                    False,
                    leg.limits.force,
                    0.5 * self._leg_length,
                    0.034 * self._leg_length,
                )
            )
        return tuple(found)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Errors of the pose, and the legs' forces."""
        return (
            Chart("position error", "mm", "errors", dict.fromkeys(PLACE, 1e3), 0.01),
            Chart("orientation error", "°", "errors", dict.fromkeys(TURNS, math.degrees(1.0)), 0.001),
            effort_chart("leg force", self.gauges),
        )

    @cached_property
    def weights(self) -> tuple[Weight, ...]:
        """The platform with its payload, and both parts of every leg that have a mass."""
        bodies = {"platform": self.machine.platform}
        for leg in self.machine.legs:
            bodies |= {lower(leg): leg.lower, upper(leg): leg.upper}
        return tuple(
            Weight(link, body.center_of_mass, body.mass) for link, body in bodies.items() if body.mass > 0.0
        )

    def weight_arrows(self, gravity: Array) -> tuple[Array, ...]:
        """An arrow (3,) for each of ``weights``, base frame [m]; as long as it is heavy."""
        return weight_arrows(self.weights, gravity, self.size)

    def link_poses(self, positions: Mapping[str, float]) -> dict[str, Array]:
        """(4, 4) pose of the base, the platform and the legs' parts in the base frame.

        Args:
            positions: the six coordinates of the pose.
        """
        position, rotation = pose_from(positions)
        legs = leg_geometry(self.machine, position, rotation)
        tops = self.machine.base_points + legs.vectors
        poses = {"base": np.eye(4), "platform": pose(rotation, position)}
        for k, leg in enumerate(self.machine.legs):
            axes = leg_axes(self.machine.universal_axes[k], legs.directions[k])
            poses[lower(leg)] = pose(axes, leg.base_point)
            poses[upper(leg)] = pose(axes, tops[k])
        return poses

    def bounds(self, poses: Mapping[str, Array]) -> tuple[Array, Array]:
        """Least and greatest coordinates (3,), (3,) of the parts, base frame [m]."""
        return bounds(poses, self.shapes)

    def condition_number(self, positions: Mapping[str, float]) -> float:
        """Of the Jacobian at a pose, with the machine's characteristic length."""
        legs = leg_geometry(self.machine, *pose_from(positions))
        return float(condition_number(legs.jacobian, self.machine.characteristic_length))

    def check_goal(self, start: Mapping[str, float], goal: MoveGoal) -> None:
        """Refuse a move that the legs cannot make, as the controller would.

        Args:
            start: the pose at which the platform stands.
            goal: the pose where it shall stand.

        Raises:
            TrajectoryError: the goal or the way to it leaves the machine's limits or meets a singular pose;
                names the leg and tells when.
        """
        position, rotation = pose_from(goal.positions)
        legs = leg_geometry(self.machine, position, rotation)
        violations = pose_violations(self.machine, legs, rotation)
        if violations:
            raise TrajectoryError(f"the platform cannot be there: {violations[0].message}")
        quaternion = quaternion_from_rotation(rotation).tolist()
        waypoint = PoseWaypoint(goal.duration, position.tolist(), quaternion)
        try:
            plan_pose(self.platform, [waypoint], 0.0, at_rest(*pose_from(start)), 0.0)
        except RobotDynamicsError as error:
            first, _, more = str(error).partition("; ")
            raise TrajectoryError(first + ("; and more" if more else "")) from error


def _rounded(low: float, high: float, factor: float, to: float) -> tuple[float, float]:
    """The bounds, moved outwards to round numbers as they are shown."""
    return math.floor(low * factor / to) * to / factor, math.ceil(high * factor / to) * to / factor
