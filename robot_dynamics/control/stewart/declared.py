"""Declarations of users, compared with what the legs of a platform carry and reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.platform_model import loaded
from robot_dynamics.errors import ParameterError, short
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.checks import pose_violations
from robot_dynamics.stewart.dynamics import task_space_dynamics
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.orientation import rotation_from_roll_pitch_yaw

SAME_PLACE = 1e-6
"""Distance within which points of two machines are the same [m]."""


def carried_share(free: Array, loaded: Array, limits: Array) -> float:
    """Largest share of a load within force limits, 0 to 1.

    Args:
        free: (6,) forces without the load [N].
        loaded: (6,) forces with it.
        limits: (6,) of the forces.
    """
    more = loaded - free
    if not np.isfinite(more).all():
        return 0.0
    room = np.where(more > 0.0, limits - free, limits + free)
    shares = np.where(np.abs(more) > 0.0, room / np.maximum(np.abs(more), 1e-300), 1.0)
    return float(np.clip(shares.min(), 0.0, 1.0))


def overload(leg_names: Sequence[str], forces: Array, limits: Array) -> str:
    """Leg whose force (6,) [N] is beyond its limit in words; empty: there is none."""
    if not (np.abs(forces) > limits).any():
        return ""
    leg = int(np.argmax(np.abs(forces) - limits))
    return (
        f"{leg_names[leg]} would need {short(abs(forces[leg]), 4)} N at rest, its limit is"
        f" {short(limits[leg], 4)}: check payload_mass [kg] and payload_center [m]"
    )


def check_load_ahead(
    machine: Machine, payload: RigidBody, parameters: StewartParameters, period: float
) -> None:
    """Check that the gains are stable on a platform that does not have its declared payload yet, at home.

    Until a load is put on, the gains act as if they were higher by the ratio of both inertias.

    Args:
        machine: without the payload.
        payload: platform frame.
        parameters: of the controller.
        period: from state to state [s]; 0 where it is not known, and nothing is checked.

    Raises:
        ParameterError: they are not.
    """
    if not (period > 0.0 and parameters.loop_delay >= 0.0):
        return
    rest = np.zeros(3)
    home = Motion(machine.home_position, machine.home_rotation, *[rest] * 6)
    without, full = (
        task_space_dynamics(one, home).mass_matrix for one in (machine, loaded(machine, payload))
    )
    ratio = float(np.linalg.eigvals(np.linalg.solve(without, full)).real.max())
    most = 1.0 / (ratio * (0.5 * period + parameters.loop_delay))
    if any(
        max(kv, kp / kv if kv > 0.0 else 0.0) > most for kp, kv in np.broadcast(parameters.kp, parameters.kv)
    ):
        raise ParameterError(
            f"with this payload the model has {short(ratio, 3)} times the inertia of the platform without it,"
            f" which with a state every {short(1e3 * period, 3)} ms would oscillate until it is loaded: kv"
            f" and kp / kv at most {short(most, 4)}, or check payload_mass, payload_center, payload_inertia"
        )


def check_park_pose(machine: Machine, pose: Sequence[float]) -> None:
    """Check that a park pose, x, y, z [m] and roll, pitch, yaw [rad], is within the machine's limits.

    Raises:
        ParameterError: it is not.
    """
    place = np.array(pose)
    rotation = rotation_from_roll_pitch_yaw(place[3:])
    found = pose_violations(machine, leg_geometry(machine, place[:3], rotation), rotation)
    if found:
        home = ", ".join(short(x) for x in machine.home_position.tolist())
        raise ParameterError(
            f"park_pose is out of reach: {found[0].message}; it is x, y, z in m in the base frame, where home"
            f" is ({home}), and roll, pitch, yaw in rad"
        )


def other_machine(machine: Machine, other: Machine) -> str:
    """Difference that makes another machine of a model, in words; empty where there is none."""
    for name in ("base_points", "platform_points"):
        if np.abs(getattr(machine, name) - getattr(other, name)).max() > SAME_PLACE:
            return f"the {name} differ"
    for mine, its in zip(machine.legs, other.legs, strict=True):
        wider = its.limits.shortest < mine.limits.shortest or any(
            getattr(its.limits, name) > getattr(mine.limits, name)
            for name in ("longest", "speed", "force", "base_angle", "platform_angle")
        )
        if wider:
            return f"{mine.name} has wider limits"
    return ""
