"""Robots as a MuJoCo model with a motor at each joint, for mujoco_ros2_control."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from robot_dynamics.control.arm.actuators import Drives
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain
from robot_dynamics.spatial import Array, pose

_LICENCE = "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
LEAST = "1e-9"
"""Smallest mass and inertia that MuJoCo gets [kg, kg·m²]."""
STICTION = 1e-5
"""Coulomb friction of each joint at least, as a share of its effort limit.

An arm whose weight alone is commanded is in an unstable equilibrium. This friction keeps it there.
"""
STUCK = 0.1
"""The same at most, as an acceleration, which over ``kp`` is the error that it leaves [rad/s² or m/s²]."""


class Simulated(NamedTuple):
    """A robot in MuJoCo's world.

    Attributes:
        chain: its bodies.
        prefix: of its joints and links.
        root: (4, 4) pose of its root link in the world [m].
        gravity: (3,) in the root frame; zero where the robot carries its own weight [m/s²].
        drives: friction and rotor inertia of its joints.
    """

    chain: KinematicChain
    prefix: str
    root: Array
    gravity: Array
    drives: Drives


def mjcf(name: str, robots: Sequence[Simulated], rate: float) -> str | None:
    """The model as XML, in which nothing collides; None where no gravity of one world fits all robots.

    Args:
        name: of the model.
        robots: with different prefixes or joints.
        rate: of the controllers; a period has two steps [Hz].
    """
    pulls = [robot.root[:3, :3] @ robot.gravity for robot in robots]
    world = next((pull for pull in pulls if pull.any()), np.zeros(3))
    if not all(np.allclose(pull, world) for pull in pulls if pull.any()):
        return None
    timestep = 0.5 / rate
    model = Element("mujoco", model=name)
    SubElement(model, "compiler", angle="radian", balanceinertia="true", boundmass=LEAST, boundinertia=LEAST)
    option = SubElement(
        model, "option", timestep=repr(timestep), gravity=_row(world), integrator="implicitfast"
    )
    SubElement(option, "flag", contact="disable")
    ground, actuators, equalities = (
        SubElement(model, part) for part in ("worldbody", "actuator", "equality")
    )
    for robot, pull in zip(robots, pulls, strict=True):
        floats = bool(world.any()) and not pull.any()
        _add_robot(robot, ground, floats, timestep)
        for joint in robot.chain.joints:
            _add_drive(robot, joint, actuators, equalities)
    ElementTree.indent(model)
    return f"{_LICENCE}{ElementTree.tostring(model, encoding='unicode')}\n"


def weights(robot: Simulated, position: Sequence[float]) -> dict[str, float]:
    """Effort that carries each joint at rest at ``position`` (n,) [N·m or N]."""
    dynamics = compile_dynamics(robot.chain, robot.gravity, friction=False)
    rest = np.zeros(robot.chain.dof)
    efforts = dynamics.inverse_dynamics(np.array(position, dtype=float), rest, rest)
    names = (f"{robot.prefix}{name}" for name in robot.chain.joint_names)
    return dict(zip(names, (float(effort) for effort in efforts), strict=True))


def _most_stiction(robot: Simulated) -> Array:
    """Greatest friction of each joint (n,) that only keeps it where it is [N·m or N]."""
    dynamics = compile_dynamics(robot.chain, robot.gravity, friction=False)
    rest = np.zeros(robot.chain.dof)
    efforts = [dynamics.inverse_dynamics(rest, rest, unit) for unit in np.eye(robot.chain.dof)]
    inertia = np.diag(efforts - dynamics.inverse_dynamics(rest, rest, rest))
    return STUCK * (inertia + robot.drives.rotor_inertia)


def _add_robot(robot: Simulated, ground: Element, floats: bool, timestep: float) -> None:
    chain, most = robot.chain, _most_stiction(robot)
    base = SubElement(ground, "body", _place(robot.root))  # MuJoCo has a body "world" of its own
    bodies: list[Element] = []
    for joint, carrier in zip(chain.joints, chain.carriers, strict=True):
        parent = base if carrier < 0 else bodies[carrier]
        body = SubElement(parent, "body", {"name": f"{robot.prefix}{joint.link}", **_place(joint.origin)})
        if floats:
            body.set("gravcomp", "1")
        bodies.append(body)
        moments, axes = np.linalg.eigh(joint.body.inertia)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        place = _place(pose(axes, joint.body.center_of_mass))
        inertia = {"mass": repr(float(joint.body.mass)), "diaginertia": _row(np.maximum(moments, 0.0))}
        SubElement(body, "inertial", {**inertia, **place})
        _add_joint(robot, joint, body, timestep, most)


def _add_joint(robot: Simulated, joint: ChainJoint, body: Element, timestep: float, most: Array) -> None:
    kind = "slide" if joint.kind is JointKind.PRISMATIC else "hinge"
    added = SubElement(body, "joint", name=f"{robot.prefix}{joint.name}", type=kind, axis=_row(joint.axis))
    limits = np.array([joint.limits.lower, joint.limits.upper])
    added.set("limited", "true" if np.isfinite(limits).all() else "false")
    if np.isfinite(limits).all():
        added.set("range", _row(limits))
    if joint.name in robot.chain.joint_names:
        drives, at = robot.drives, joint.coordinate
        added.set("damping", repr(float(drives.friction.damping[at])))
        least = STICTION * joint.limits.effort if np.isfinite(joint.limits.effort) else STICTION
        friction = max(drives.friction.friction[at], min(least, most[at]))
        added.set("frictionloss", repr(float(friction)))
        # As hard as a constraint of MuJoCo can be: a soft one creeps.
        added.set("solreffriction", _row((2.0 * timestep, 1.0)))
        added.set("solimpfriction", "0.9999 0.9999 0.001 0.5 2")
        added.set("armature", repr(float(drives.rotor_inertia[at])))


def _add_drive(robot: Simulated, joint: ChainJoint, actuators: Element, equalities: Element) -> None:
    """A motor with the name of its joint; a mimic joint is coupled to the one that it follows."""
    name = f"{robot.prefix}{joint.name}"
    if joint.name not in robot.chain.joint_names:
        driving = f"{robot.prefix}{robot.chain.joint_names[joint.coordinate]}"
        law = _row((joint.offset, joint.multiplier, 0.0, 0.0, 0.0))
        SubElement(equalities, "joint", joint1=name, joint2=driving, polycoef=law)
        return
    motor = SubElement(actuators, "motor", name=name, joint=name)
    largest = joint.limits.effort
    motor.set("ctrllimited", "true" if np.isfinite(largest) else "false")
    if np.isfinite(largest):
        motor.set("ctrlrange", _row((-largest, largest)))


def _place(at: Array) -> dict[str, str]:
    """Attributes of a pose."""
    return {"pos": _row(at[:3, 3]), "xyaxes": _row((*at[:3, 0], *at[:3, 1]))}


def _row(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
