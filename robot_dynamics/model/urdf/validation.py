"""What ROS's parser leaves unchecked: tree, limits, mimic relations and mass properties."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.chain import JointLimits, RigidBody
from robot_dynamics.model.urdf.tree import Joint, Link
from robot_dynamics.spatial import principal_moments, shift_inertia

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
    rooted: set[str] = set()
    for start in links:
        trail: list[str] = []
        link = start
        while link in carrier and link not in rooted:
            if link in trail:
                cycle = [*reversed(trail[trail.index(link) :])]
                raise ModelError(f"the links form a cycle: {' -> '.join([*cycle, cycle[0]])}")
            trail.append(link)
            link = joints[carrier[link]].parent
        rooted.update(trail)


def check_mimics(joints: Mapping[str, Joint]) -> None:
    """Every mimic follows an existing moving joint, and none in the end itself.

    Raises:
        ModelError: naming the joint.
    """
    for joint in joints.values():
        trail = [joint.name]
        while (mimic := joints[trail[-1]].mimic) is not None:
            if mimic.joint not in joints:
                raise ModelError(f"joint {trail[-1]!r} mimics {mimic.joint!r}, which does not exist")
            if mimic.joint in trail:
                raise ModelError(f"joint {joint.name!r} mimics itself: {' -> '.join([*trail, mimic.joint])}")
            if not joints[mimic.joint].kind.moves_on_axis:
                kind = joints[mimic.joint].kind.value
                raise ModelError(f"joint {trail[-1]!r} mimics {mimic.joint!r}, which is {kind}")
            trail.append(mimic.joint)


def check_limits(where: str, limits: JointLimits) -> list[str]:
    """Limits that a joint can have; returns what is odd about them.

    Raises:
        ModelError: not a number, a negative velocity or effort limit, or an empty range.
    """
    odd: list[str] = []
    for name, value in dataclasses.asdict(limits).items():
        if math.isnan(value):
            raise ModelError(f"{where}: the {name} limit is not a number")
    for name, value in (("velocity", limits.velocity), ("effort", limits.effort)):
        if value < 0.0:
            raise ModelError(f"{where}: the {name} limit is {value:g}; it cannot be negative")
        if value == 0.0:
            odd.append(f"the {name} limit is 0, which allows none")
    lower, upper = limits.lower, limits.upper
    if lower > upper or lower == math.inf or upper == -math.inf:
        raise ModelError(f"{where}: the lower limit {lower:g} is above the upper limit {upper:g}")
    if lower == upper:
        odd.append(f"lower and upper limit are both {lower:g}, so the joint cannot move")
    return odd


def check_body(where: str, body: RigidBody) -> list[str]:
    """Mass properties of one link; returns what is odd about them.

    A zero mass or an inertia that is not positive definite occurs in descriptions of real robots and does no
    harm as long as the body that moves with the link is sound, which is checked once everything is lumped. A
    broken triangle inequality does no harm to inverse dynamics, but physics engines reject it.

    Raises:
        ModelError: a number that is not finite, or a negative mass.
    """
    if not np.isfinite((body.mass, *body.center_of_mass, *body.inertia.ravel())).all():
        raise ModelError(f"{where}: mass, centre of mass or inertia has a number that is not finite")
    if body.mass < 0.0:
        raise ModelError(f"{where}: the mass is {body.mass:g} kg; it cannot be negative")
    odd: list[str] = []
    moments = principal_moments(body.inertia)
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
