"""Arm or platform to view, with the notes about its description."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.errors import ModelError, ModelWarning, RobotDynamicsError
from robot_dynamics.inputs.files import is_regular
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.model.expand import expand_xacro, is_xacro
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.selection import ChainSelection, ready_position, select_chain
from robot_dynamics.model.urdf import RobotTree, parse_urdf
from robot_dynamics.model.urdf.gate import kinematics_only, read_source
from robot_dynamics.spatial import Array
from robot_dynamics.view.ready_pose import free_pose
from robot_dynamics.view.robot_geometry import read_robot
from robot_dynamics.view.simulation_check import check_simulation
from robot_dynamics.view.tour import FARTHEST, Tour, plan_tour

NAMED = 6
"""Joints that a note names before it counts the rest."""


@dataclass(frozen=True)
class ArmOptions:
    """Chain of the robot and its load.

    Attributes:
        root, tip: links; None for the robot's root and for the tip that ``load_urdf`` chooses. Of several
            limbs all are taken, or, where their masses cannot be used, the one with the most joints.
        locked: positions at which joints are held [rad or m].
        payload: at the tip, or at every tip [kg].
        gravity: (3,) in the root frame [m/s²].
        tips: instead of ``tip`` the links where a tree ends, or "all".
        folder: of the description's file; None when it did not come from one.
        pose: name and positions of the pose in which the arm begins; None for the middle of its range.
        touching: pairs of links whose collisions are disabled.
    """

    root: str | None = None
    tip: str | None = None
    locked: Mapping[str, float] = field(default_factory=dict)
    payload: float = 0.0
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    tips: str | Sequence[str] | None = None
    folder: Path | None = None
    pose: tuple[str, Mapping[str, float]] | None = None
    touching: frozenset[frozenset[str]] = frozenset()


@dataclass(frozen=True)
class ArmSubject:
    """An arm, ready to be simulated or, without usable masses, to be moved.

    Attributes:
        text: its description, as the nodes get it.
        chain: of the description.
        locked: what has to be locked for the chain [rad or m].
        kinematic: moved without masses.
        tour: through the joints' ranges.
        start: (n,) where it begins, in chain order [rad or m].
        notes: what a person should know, a line each.
    """

    text: str
    chain: KinematicChain
    locked: Mapping[str, float]
    kinematic: bool
    tour: Tour
    start: Array
    notes: tuple[str, ...]

    def chain_parameters(self) -> dict[str, object]:
        """The parameters of every node that choose this chain."""
        lists: dict[str, object] = {}
        if self.locked:
            lists = {"locked_joints": list(self.locked), "locked_positions": list(self.locked.values())}
        names = [tip.link for tip in self.chain.tips]
        ends: dict[str, object] = {"tips": names} if len(names) > 1 else {"tip": names[0]}
        return {"robot_description": self.text, "root": self.chain.root, **ends, **lists}

    def start_parameters(self) -> dict[str, object]:
        """The simulator's parameters that put the arm where it begins."""
        return {
            "initial_joints": list(self.chain.joint_names),
            "initial_positions": [float(q) for q in self.start],
        }

    def max_effort(self) -> list[float]:
        """The parameter of that name: more than the limits that cannot carry the arm; empty without any."""
        if not self.tour.weak:
            return []
        return [2.0 * self.tour.weak.get(name, 0.0) for name in self.chain.joint_names]


def arm_subject(text: str, options: ArmOptions) -> ArmSubject:
    """Choose the chain, find out whether its masses can be used, and plan a tour.

    Raises:
        ModelError: the description cannot be used at all; the message names the link or joint.
    """
    tree, notes = _tree(text)
    chosen = select_chain(tree, options.root, options.tip, options.locked, options.tips)
    if not chosen.others:
        return _subject(text, tree, options, chosen, notes)
    ends = (chosen.tip, *chosen.others)
    whole = select_chain(tree, options.root, None, options.locked, ends)
    note = f"the robot has several limbs; --tip chooses one: {_named(ends)}"
    subject = _subject(text, tree, options, whole, [*notes, note])
    if not subject.kinematic or _masses_are_out(notes):
        return subject
    # One limb without usable masses takes the torques from all.
    note = f"the robot has several limbs; --tip chooses another, --tips all of them: {_named(chosen.others)}"
    return _subject(text, tree, options, chosen, [*notes, note])


def _subject(
    text: str, tree: RobotTree, options: ArmOptions, chosen: ChainSelection, notes: list[str]
) -> ArmSubject:
    """The subject of a chain that has been selected; ``notes`` begin with the reason to leave masses out."""
    text = without_masses(text) if _masses_are_out(notes) else text
    locked = {**chosen.locked, **options.locked}
    if chosen.held:
        notes.append(f"locked beside the chain: {_named(chosen.held)}")
    chain, kinematic = _chain(text, options, chosen.tips, locked, notes)
    fixed = _without_range(chain)
    if fixed:
        text = _freed(text, fixed)
        chain, kinematic = _chain(text, options, chosen.tips, locked, notes[:1])
        notes.append(f"the limits of {_named(fixed)} leave no range: they are left out here")
    start, note = _start(text, tree, chain, options, locked)
    notes.append(note)
    tour = plan_tour(chain, start, None)
    if not kinematic:
        dynamics = compile_dynamics(chain, options.gravity, friction=False)
        usable = check_simulation(chain, tour.positions, dynamics.mass_matrix)
        if usable.reason:
            kinematic = True
            notes.append(_moved_kinematically(usable.reason))
        else:
            if usable.stuck:
                stuck = {j.name for j in chain.joints if chain.joint_names[j.coordinate] in usable.stuck}
                text = _without_friction(text, stuck)
                chain, _ = _chain(text, options, chosen.tips, locked, [])
                notes.append(
                    f"the friction of {_named(usable.stuck)} is left out here: it would dominate the motion,"
                    " because the inertia that these joints move is small"
                )
            if options.payload:
                load = np.array([options.payload, *np.zeros(9)])
                dynamics = dynamics.with_payload(np.tile(load, len(chain.tips)))
            tour = plan_tour(chain, start, _with_friction(chain, dynamics.inverse_dynamics))
    text = without_masses(text) if kinematic else text
    notes += [
        f"the effort limit of {name} cannot carry the arm through its range ({effort:.3g} are needed): it is"
        " raised here"
        for name, effort in tour.weak.items()
    ]
    return ArmSubject(text, chain, locked, kinematic, tour, start, (chain.description(), *notes))


def _start(
    text: str, tree: RobotTree, chain: KinematicChain, options: ArmOptions, locked: Mapping[str, float]
) -> tuple[Array, str]:
    """Pose in which the arm begins, and the note that names it."""
    first = {name: ready_position(tree.joints[name]) for name in chain.joint_names}
    name = "every joint at zero"
    if any(first.values()):
        name = "joints at zero, or in the middle of their range where zero is at its end"
    if options.pose is not None:
        name, given = options.pose
        first |= {joint: value for joint, value in given.items() if joint in first}
    start = np.array([first[joint] for joint in chain.joint_names])
    floor = read_robot(text, options.folder).ground
    try:
        place, moved = free_pose(text, chain, start, floor, options.folder, locked, options.touching)
    except RobotDynamicsError as error:
        return start, f"pose at the start: {name}; collisions are not checked: {error}"
    return place, f"pose at the start: {name}" + (f"; {moved}" if moved else "")


def _tree(text: str) -> tuple[RobotTree, list[str]]:
    """The robot; where its masses make it unreadable, without them and with a note."""
    try:
        return parse_urdf(text), []
    except ModelError as error:
        try:
            return parse_urdf(without_masses(text)), [_moved_kinematically(str(error))]
        except ModelError:
            raise error from None


def _chain(
    text: str, options: ArmOptions, tips: Sequence[str], locked: Mapping[str, float], notes: list[str]
) -> tuple[KinematicChain, bool]:
    """The chain, and whether its masses are of no use."""

    def load(description: str) -> KinematicChain:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            return load_urdf(description, options.root, None, dict(locked), tips)

    without = _masses_are_out(notes)
    try:
        chain = load(text)
    except ModelError as error:
        try:
            chain = load(without_masses(text))
        except ModelError:
            raise error from None
        notes.append(_moved_kinematically(str(error)))
        return chain, True
    if not without:
        notes += chain.warnings
    return chain, without


KINEMATIC = "moved without masses"


def _masses_are_out(notes: Sequence[str]) -> bool:
    return bool(notes) and notes[0].startswith(KINEMATIC)


def _moved_kinematically(reason: str) -> str:
    return f"{KINEMATIC}, by its kinematics alone, because they are of no use: {reason}"


def without_masses(text: str) -> str:
    """The description without its ``<inertial>`` elements.

    Raises:
        ModelError: it is no XML.
    """
    try:
        robot = ElementTree.fromstring(text.encode("utf-8"))
    except ElementTree.ParseError as error:
        raise ModelError(f"not well-formed XML: {error}") from error
    for link in robot.iter("link"):
        for inertial in link.findall("inertial"):
            link.remove(inertial)
    return ElementTree.tostring(robot, encoding="unicode")


def _without_friction(text: str, joints: set[str]) -> str:
    """The description without the ``<dynamics>`` of some joints."""
    robot = ElementTree.fromstring(text.encode("utf-8"))
    for joint in robot.findall("joint"):
        if joint.get("name") in joints:
            for dynamics in joint.findall("dynamics"):
                joint.remove(dynamics)
    return ElementTree.tostring(robot, encoding="unicode")


def _without_range(chain: KinematicChain) -> tuple[str, ...]:
    """Joints whose lower limit is their upper one, as where both are forgotten."""
    joints = [chain.driving_joint(j) for j in range(chain.dof)]
    return tuple(joint.name for joint in joints if joint.limits.lower == joint.limits.upper)


def _freed(text: str, joints: tuple[str, ...]) -> str:
    """The description with a range for some joints: any angle, or as far as a tour goes."""
    robot = ElementTree.fromstring(text.encode("utf-8"))
    for joint in robot.findall("joint"):
        limit = joint.find("limit")
        if joint.get("name") not in joints or limit is None:
            continue
        if joint.get("type") == "revolute":
            joint.set("type", "continuous")
            limit.attrib.pop("lower", None)
            limit.attrib.pop("upper", None)
        else:
            reach = FARTHEST[JointKind.PRISMATIC]
            limit.set("lower", str(-reach))
            limit.set("upper", str(reach))
    return ElementTree.tostring(robot, encoding="unicode")


def _with_friction(
    chain: KinematicChain, links: Callable[[Array, Array, Array], Array]
) -> Callable[[Array, Array, Array], Array]:
    """The efforts of the links and of the joints' damping and Coulomb friction."""
    joints = [chain.driving_joint(j) for j in range(chain.dof)]
    damping = np.array([joint.damping for joint in joints])
    friction = np.array([joint.friction for joint in joints])
    return lambda q, qd, qdd: np.asarray(links(q, qd, qdd) + damping * qd + friction * np.sign(qd))


def _named(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"


def description_text(path: Path, arguments: Mapping[str, str], given: bytes | None = None) -> str:
    """XML text of a URDF or xacro file.

    Args:
        path: of the file.
        arguments: of the xacro, by name.
        given: the URDF, where it has been read already.

    Raises:
        ModelError: it cannot be read or expanded.
    """
    if is_xacro(path):
        if not is_regular(path):
            raise ModelError(f"no such file: {path}")
        return expand_xacro(path, arguments)
    if arguments:
        raise ModelError(f"{path.name} is no xacro file: it takes no {', '.join(arguments)}")
    source = read_source(path if given is None else given)
    kinematics_only(source)  # refuses document types and entities, which the next line would expand
    return ElementTree.tostring(ElementTree.fromstring(source.data), encoding="unicode")
