"""Checks beyond those of ROS's parser: tree, limits, mimic relations and mass properties."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.chain import JointLimits, RigidBody
from robot_dynamics.model.urdf.tree import Joint, Link
from robot_dynamics.spatial import principal_moments, shift_inertia

# A larger number (in m, rad, kg, kg·m²) is a mistake, and its products would overflow.
LARGEST = 1e9
# How far below zero a principal moment may be, relative to the largest: digits lost in the file.
_ROUNDING = 1e-6


def check_tree(links: Mapping[str, Link], joints: Mapping[str, Joint]) -> None:
    """One root, one parent for every other link, no cycle, no unknown link.

    Raises:
        ModelError: naming the joints and links that break the tree.
    """
    if not links:
        raise ModelError("the robot has no links")
    carrier: dict[str, str] = {}
    for joint in joints.values():
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                raise ModelError(f"joint {joint.name!r}: its {role} link {link!r} does not exist")
        if joint.child in carrier:
            raise ModelError(
                f"link {joint.child!r} is the child of two joints:"
                f" {carrier[joint.child]!r} and {joint.name!r}"
            )
        carrier[joint.child] = joint.name
    roots = [name for name in links if name not in carrier]
    _check_cycles(links, joints, carrier)
    if len(roots) != 1:
        raise ModelError(f"the robot has {len(roots)} root links where one is needed: {', '.join(roots)}")


def _check_cycles(links: Mapping[str, Link], joints: Mapping[str, Joint], carrier: Mapping[str, str]) -> None:
    parents = {child: joints[joint].parent for child, joint in carrier.items()}
    cycle = _find_cycle(links, parents)
    if cycle:
        raise ModelError(f"the links form a cycle: {' -> '.join(reversed(cycle))}")


def _find_cycle(names: Iterable[str], onward: Mapping[str, str]) -> list[str]:
    """The first cycle found by following ``onward``, its first name repeated at the end, or nothing."""
    finished: set[str] = set()
    for start in names:
        trail: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in finished:
            if name in trail:
                steps = list(trail)
                return [*steps[steps.index(name) :], name]
            trail[name] = None
            name = onward.get(name)
        finished.update(trail)
    return []


def check_mimics(joints: Mapping[str, Joint]) -> None:
    """Every mimic follows an existing moving joint, and none in the end itself.

    Raises:
        ModelError: naming the joint.
    """
    masters = {joint.name: joint.mimic.joint for joint in joints.values() if joint.mimic is not None}
    for name, master in masters.items():
        if master not in joints:
            raise ModelError(f"joint {name!r} mimics {master!r}, which does not exist")
        if not joints[master].kind.moves_on_axis:
            raise ModelError(f"joint {name!r} mimics {master!r}, which is {joints[master].kind.value}")
    cycle = _find_cycle(masters, masters)
    if cycle:
        raise ModelError(f"joint {cycle[0]!r} mimics itself: {' -> '.join(cycle)}")


def check_limits(where: str, limits: JointLimits) -> list[str]:
    """Limits that a joint can have; returns what is odd about them.

    Raises:
        ModelError: a negative velocity or effort limit, or an empty range.
    """
    for name, value in (("velocity", limits.velocity), ("effort", limits.effort)):
        if value < 0.0:
            raise ModelError(f"{where}: the {name} limit is {value:g}; it cannot be negative")
    lower, upper = limits.lower, limits.upper
    if lower > upper or lower == math.inf or upper == -math.inf:
        raise ModelError(f"{where}: the lower limit {lower:g} is above the upper limit {upper:g}")
    if lower == upper:
        return [f"lower and upper limit are both {lower:g}, so the joint cannot move"]
    return []


def without_zeros(limits: JointLimits) -> tuple[JointLimits, tuple[str, ...]]:
    """The limits with every effort or velocity limit of 0 made infinite, and the names of those that were 0.

    Exporters write 0 where nothing is known. A range from 0 to 0 keeps its meaning: such a joint is blocked.
    """
    zeros = tuple(name for name in ("effort", "velocity") if getattr(limits, name) == 0.0)
    return dataclasses.replace(limits, **dict.fromkeys(zeros, math.inf)), zeros


def check_body(where: str, body: RigidBody, fixed: bool) -> list[str]:
    """Mass properties of one link; returns what is odd about them.

    A point mass on a fixed joint is not odd: it is part of the body that carries it.

    A zero mass or an inertia that is not positive definite occurs in descriptions of real robots and does no
    harm as long as the body that moves with the link is sound, which is checked once everything is lumped. A
    broken triangle inequality does no harm to inverse dynamics, but physics engines reject it.

    Raises:
        ModelError: a negative mass.
    """
    if body.mass < 0.0:
        raise ModelError(f"{where}: the mass is {body.mass:g} kg; it cannot be negative")
    odd: list[str] = []
    moments = principal_moments(body.inertia)
    if fixed and not moments.any():
        return odd
    listed = ", ".join(f"{moment:.3g}" for moment in moments)
    if body.mass == 0.0:
        if moments.any():
            odd.append(f"it has an inertia but no mass: its principal moments are {listed} kg·m²")
    elif moments[0] <= 0.0:
        odd.append(f"the inertia is not positive definite: its principal moments are {listed} kg·m²")
    elif moments[2] > (moments[0] + moments[1]) * (1.0 + _ROUNDING):
        odd.append(
            f"no rigid body has this inertia: its principal moments {listed} kg·m² break the triangle"
            " inequality, and physics engines reject it"
        )
    return odd


def check_moving_body(where: str, body: RigidBody) -> None:
    """The body that a joint moves, everything lumped, must not gain energy by being turned about its joint.

    A principal moment that is slightly negative, as in some descriptions of real robots, is outweighed by the
    mass, which lies beside the joint.

    Raises:
        ModelError: the inertia about the origin of the link frame has a negative principal moment.
    """
    about_origin = body.inertia + shift_inertia(body.mass, body.center_of_mass)
    moments = principal_moments(about_origin)
    if moments[0] < -_ROUNDING * float(np.abs(moments).max()) - 1e-12:
        listed = ", ".join(f"{moment:.3g}" for moment in moments)
        raise ModelError(
            f"{where}: the inertia of everything that moves with it is not positive definite: its principal"
            f" moments about the joint's origin are {listed} kg·m²"
        )
