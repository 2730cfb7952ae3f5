"""Semantic robot description (SRDF): groups of joints, named poses, and pairs of links that may touch."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from robot_dynamics.errors import ModelError, escaped, quoted, shown
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.inputs.files import read_bytes
from robot_dynamics.model.urdf.tree import RobotTree

MAX_ENTRIES = 100_000
"""Largest number of elements in a file."""


@dataclass(frozen=True)
class PlanningGroup:
    """Members of a planning group, by name.

    Attributes:
        chains: base link and tip link of each.
        joints, links, groups: further members.
    """

    chains: list[tuple[str, str]] = field(default_factory=list)
    joints: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SemanticDescription:
    """Content of an SRDF file.

    Attributes:
        label: name of the file, for messages.
        groups: by name.
        states: joint positions [rad or m] by joint, of each named pose; poses of the same name in several
            groups are one.
        touching: pairs of links whose collisions are disabled.
    """

    label: str
    groups: Mapping[str, PlanningGroup]
    states: Mapping[str, Mapping[str, float]]
    touching: frozenset[frozenset[str]]

    def ends(self, name: str, tree: RobotTree) -> tuple[str | None, list[str]]:
        """Return the base link of a group, None for the robot's root, and the links at its ends.

        Args:
            name: of the group.
            tree: the robot.

        Raises:
            ModelError: no such group, or it names what the robot lacks.
        """
        if name not in self.groups:
            raise ModelError(
                f"{self.label}: no group {quoted(name)}; there are {shown(*self.groups) or 'none'}"
            )
        members = list(self._members(name, ()))
        bases = {base for group in members for base, _ in group.chains}
        links = [tip for group in members for _, tip in group.chains]
        links += [link for group in members for link in group.links]
        for joint in (joint for group in members for joint in group.joints):
            if joint not in tree.joints:
                raise ModelError(
                    f"{self.label}: group {quoted(name)}: the robot has no joint {quoted(joint)}"
                )
            links.append(tree.joints[joint].child)
        for link in (*links, *bases):
            if link not in tree.links:
                raise ModelError(f"{self.label}: group {quoted(name)}: the robot has no link {quoted(link)}")
        if not links:
            raise ModelError(f"{self.label}: group {quoted(name)} has no members")
        above = {joint.child: joint.parent for joint in tree.joints.values()}
        passed: set[str] = set()
        for link in links:
            while link in above:
                link = above[link]
                passed.add(link)
        only_chains = len(bases) == 1 and not any(group.links or group.joints for group in members)
        return next(iter(bases)) if only_chains else None, [
            link for link in dict.fromkeys(links) if link not in passed
        ]

    def pose(self, name: str, joints: tuple[str, ...]) -> list[float]:
        """Return the positions of ``joints`` in a named pose [rad or m].

        Raises:
            ModelError: no such pose, or it leaves joints open.
        """
        if name not in self.states:
            raise ModelError(
                f"{self.label}: no pose {quoted(name)}; there are {shown(*self.states) or 'none'}"
            )
        state = self.states[name]
        missing = [joint for joint in joints if joint not in state]
        if missing:
            raise ModelError(f"{self.label}: the pose {quoted(name)} has no value for {shown(*missing)}")
        return [state[joint] for joint in joints]

    def _members(self, name: str, outer: tuple[str, ...]) -> Iterator[PlanningGroup]:
        if name in outer:
            raise ModelError(f"{self.label}: group {quoted(name)} contains itself")
        if name not in self.groups:
            raise ModelError(
                f"{self.label}: group {quoted(outer[-1])} contains {quoted(name)}, which is no group"
            )
        group = self.groups[name]
        yield group
        for inner in group.groups:
            yield from self._members(inner, (*outer, name))


def read_srdf(path: str | os.PathLike[str]) -> SemanticDescription:
    """Read an SRDF file.

    Raises:
        ModelError: no such file, or it is no SRDF; the message names the element.
    """
    reader = _Reader(escaped(os.fsdecode(path), kept=""))
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = reader.refuse_doctype
    parser.EntityDeclHandler = reader.refuse_doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    try:
        parser.Parse(read_bytes(path, "SRDF file"), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise ModelError(f"{reader.label}: not well-formed XML: {reason} (line {error.lineno})") from None
    except (ValueError, LookupError) as error:
        raise ModelError(f"{reader.label}: cannot decode the XML: {error}") from None
    return SemanticDescription(reader.label, reader.groups, reader.states, frozenset(reader.touching))


class _Reader:
    """Expat handlers that collect what is read and pass over everything else."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.groups: dict[str, PlanningGroup] = {}
        self.states: dict[str, dict[str, float]] = {}
        self.touching: set[frozenset[str]] = set()
        self._path: list[str] = []
        self._owner = ""
        self._entries = 0

    def refuse_doctype(self, *_: object) -> None:
        raise ModelError(f"{self.label}: a document type or entity declaration is not allowed in an SRDF")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise ModelError(f"{self.label}: more than {MAX_ENTRIES} elements")
        if not self._path and tag != "robot":
            raise ModelError(f"{self.label}: the outermost element is <{escaped(tag)}>, an SRDF's is <robot>")
        self._path.append(tag)
        match self._path[1:]:
            case ["group"]:
                self._owner = self._named(tag, attributes, "name")
                self.groups.setdefault(self._owner, PlanningGroup())
            case ["group", "chain"]:
                base, tip = (self._named(tag, attributes, name) for name in ("base_link", "tip_link"))
                self.groups[self._owner].chains.append((base, tip))
            case ["group", "joint"]:
                self.groups[self._owner].joints.append(self._named(tag, attributes, "name"))
            case ["group", "link"]:
                self.groups[self._owner].links.append(self._named(tag, attributes, "name"))
            case ["group", "group"]:
                self.groups[self._owner].groups.append(self._named(tag, attributes, "name"))
            case ["group_state"]:
                self._owner = self._named(tag, attributes, "name")
                self.states.setdefault(self._owner, {})
            case ["group_state", "joint"]:
                joint, value = (self._named(tag, attributes, name) for name in ("name", "value"))
                try:
                    # A joint of several degrees of freedom has several values, and is in no chain.
                    if len(value.split()) == 1:
                        self.states[self._owner][joint] = _finite(value)
                except ValueError as reason:
                    raise ModelError(
                        f"{self.label}: pose {quoted(self._owner)}, joint {quoted(joint)}:"
                        f" {quoted(value)} is {reason}"
                    ) from None
            case ["disable_collisions"]:
                pair = (self._named(tag, attributes, name) for name in ("link1", "link2"))
                self.touching.add(frozenset(pair))

    def end(self, _: str) -> None:
        self._path.pop()

    def _named(self, tag: str, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise ModelError(f"{self.label}: <{tag}> has no attribute {name!r}")
        return attributes[name]


def _finite(text: str) -> float:
    value = decimal(text)
    if not math.isfinite(value):
        raise ValueError("not a finite number")
    return value
