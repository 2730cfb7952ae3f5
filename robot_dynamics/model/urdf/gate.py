"""The gate in front of the URDF parser: what passes is small, well-formed, and nothing but kinematics.

Document type declarations and entities are refused before anything is expanded. Of the rest only the
elements of the table below are kept: geometry, transmissions, sensors and simulator extensions cannot
disturb the parser, whatever they contain.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from robot_dynamics.errors import ModelError, WrongTypeError, escaped, quoted
from robot_dynamics.inputs.arrays import plain_text
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.inputs.files import MAX_BYTES, read_bytes

MAX_DEPTH = 100
MAX_LINKS = 2000
"""Most links, and most joints, that a robot may have; a legged robot with two hands has a hundred."""

# Element -> (attributes that are read, child elements that are read). An attribute that is known but not
# read is dropped; one that is unknown on a pose or an axis would change the geometry, so it is refused.
_SCHEMA: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "robot": (frozenset({"name", "version"}), frozenset({"link", "joint"})),
    "robot/link": (frozenset({"name"}), frozenset({"inertial"})),
    "robot/link/inertial": (frozenset(), frozenset({"origin", "mass", "inertia"})),
    "robot/link/inertial/origin": (frozenset({"xyz", "rpy"}), frozenset()),
    "robot/link/inertial/mass": (frozenset({"value"}), frozenset()),
    "robot/link/inertial/inertia": (frozenset({"ixx", "ixy", "ixz", "iyy", "iyz", "izz"}), frozenset()),
    "robot/joint": (
        frozenset({"name", "type"}),
        frozenset({"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"}),
    ),
    "robot/joint/origin": (frozenset({"xyz", "rpy"}), frozenset()),
    "robot/joint/parent": (frozenset({"link"}), frozenset()),
    "robot/joint/child": (frozenset({"link"}), frozenset()),
    "robot/joint/axis": (frozenset({"xyz"}), frozenset()),
    "robot/joint/limit": (frozenset({"lower", "upper", "effort", "velocity"}), frozenset()),
    "robot/joint/dynamics": (frozenset({"damping", "friction"}), frozenset()),
    "robot/joint/mimic": (frozenset({"joint", "multiplier", "offset"}), frozenset()),
}
_REPEATABLE = frozenset({"link", "joint"})
# Attributes that are words, and how many numbers the others have; one unless listed.
_WORDS = frozenset({"name", "version", "type", "link", "joint"})
_WORD = re.compile(r"[^ \t\r\n]+")  # white space of XML, not of all scripts
_COUNTS = {"xyz": 3, "rpy": 3}
# What ROS's parser needs but complains of without saying where.
_REQUIRED = {
    "robot/link/inertial/mass": "value",
    "robot/joint/axis": "xyz",
    "robot/joint/parent": "link",
    "robot/joint/child": "link",
}
_STRICT = frozenset({"robot/link/inertial/origin", "robot/joint/origin"})


class Source(NamedTuple):
    """A description's bytes, how to name it in a message, and its encoding if the XML has no say in it."""

    data: bytes
    label: str
    encoding: str | None = None


def read_source(source: str | bytes | os.PathLike[str]) -> Source:
    """The description that ``source`` means.

    Args:
        source: path of a file, or the XML itself as str or bytes; a str with a ``<`` in it is XML.

    Raises:
        ModelError: no such file, not a regular file, unreadable, empty, or larger than ``MAX_BYTES``.
    """
    source = plain_text(source) or source
    if isinstance(source, bytes | bytearray):
        found = Source(bytes(source), "robot description")
    elif isinstance(source, str) and ("<" in source or not source.strip()):
        # An XML declaration may name another encoding, but a str is already decoded.
        found = Source(source.encode("utf-8", "surrogatepass"), "robot description", "utf-8")
    elif isinstance(source, str | os.PathLike):
        found = _read_file(source)
    else:
        raise WrongTypeError(
            f"a robot description must be a path, or XML as str or bytes, not {type(source).__name__}"
        )
    if len(found.data) > MAX_BYTES:
        raise ModelError(f"{found.label}: larger than the {MAX_BYTES // 2**20} MiB that a URDF may have")
    if not found.data.strip():
        raise ModelError(f"{found.label}: empty; a URDF has a <robot> element")
    return found


def _read_file(path: str | os.PathLike[str]) -> Source:
    data = read_bytes(path, "URDF file", ModelError, MAX_BYTES)
    label = escaped(os.fsdecode(path), kept="")
    if label.endswith(".xacro"):
        name = Path(label).name
        raise ModelError(f"{label} is a xacro file: expand it first (xacro {name} > robot.urdf)")
    return Source(data, label)


def kinematics_only(source: Source) -> bytes:
    """The description reduced to its kinematics and mass properties, as bytes of UTF-8 XML.

    Raises:
        ModelError: not well-formed, a DTD, nested too deeply, not a URDF, xacro left unexpanded, an element
            given twice, an unknown attribute on a pose, or words where numbers are needed.
    """
    data, label, encoding = source
    reader = _DescriptionReader(label)
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reader.refuse_doctype
    parser.EntityDeclHandler = reader.refuse_doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise ModelError(
            f"{label}: not well-formed XML: {reason} (line {error.lineno}, column {error.offset + 1})"
        ) from error
    except (ValueError, LookupError) as error:
        raise ModelError(f"{label}: cannot decode the XML: {error}") from error
    return reader.result()


class _DescriptionReader:
    """Expat handlers that build the reduced document."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._path: list[str] = []
        self._kept: list[ElementTree.Element | None] = []
        self._owner = ""
        self._robot: ElementTree.Element | None = None
        self._counts = {"link": 0, "joint": 0}

    def result(self) -> bytes:
        if self._robot is None:
            raise ModelError(f"{self._label}: no <robot> element")
        return bytes(ElementTree.tostring(self._robot, encoding="utf-8"))

    def refuse_doctype(self, *_: object) -> None:
        raise ModelError(f"{self._label}: a document type or entity declaration is not allowed in a URDF")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= MAX_DEPTH:
            raise ModelError(f"{self._label}: elements nested more than {MAX_DEPTH} deep")
        if tag.startswith("xacro:") and (not self._path or self._kept[-1] is not None):
            raise ModelError(
                f"{self._label}: <{tag}> is a xacro macro: expand the file with xacro before loading it"
            )
        if not self._path and tag != "robot":
            raise ModelError(f"{self._label}: the outermost element is <{tag}>, a URDF's is <robot>")
        self._path.append(tag)
        parent = self._kept[-1] if self._kept else None
        if len(self._path) > 1 and parent is None:
            self._kept.append(None)
            return
        path = "/".join(self._path)
        if path not in _SCHEMA:
            self._kept.append(None)
            return
        if len(self._path) == 2:
            self._owner = f"{tag} {quoted(attributes.get('name', '(unnamed)'))}"
            self._counts[tag] += 1
            if self._counts[tag] > MAX_LINKS:
                raise ModelError(f"{self._label}: more than {MAX_LINKS} elements <{tag}>")
        element = ElementTree.Element(tag, self._checked(path, attributes))
        if parent is None:
            self._robot = element
        else:
            earlier = None if tag in _REPEATABLE else parent.find(tag)
            if earlier is None:
                parent.append(element)
            elif _SCHEMA[path][1] or earlier.attrib != element.attrib:
                raise ModelError(f"{self._label}: {self._owner} has two different <{tag}> elements")
        self._kept.append(element)

    def end(self, tag: str) -> None:
        self._path.pop()
        self._kept.pop()

    def _checked(self, path: str, attributes: dict[str, str]) -> dict[str, str]:
        known = _SCHEMA[path][0]
        where = f"{self._label}: {self._owner or 'robot'}"
        tag = path.rpartition("/")[2]
        for name, value in attributes.items():
            if name not in known:
                if path in _STRICT:
                    raise ModelError(
                        f"{where}: <origin> has the unknown attribute {name!r}; known are xyz and rpy"
                    )
                continue
            if "${" in value or "$(" in value:
                raise ModelError(
                    f"{where}: {name}={quoted(value)} is an unresolved xacro expression: expand the file with"
                    " xacro"
                )
            if name not in _WORDS:
                _check_numbers(f"{where}: {name}={quoted(value)} of <{tag}>", value, _COUNTS.get(name, 1))
        required = _REQUIRED.get(path)
        if required is not None and required not in attributes:
            raise ModelError(f"{where}: <{tag}> has no attribute {required!r}")
        return {name: value for name, value in attributes.items() if name in known}


def _check_numbers(where: str, value: str, count: int) -> None:
    """Refuse what is not ``count`` decimal numbers, which Python's own conversion might take all the same."""
    words, alone = _WORD.findall(value), count == 1
    try:
        for word in words:
            decimal(word)
    except ValueError as reason:
        which = "" if alone else f": {quoted(word)}"
        raise ModelError(f"{where}{which} is {reason}") from None
    if len(words) != count:
        raise ModelError(f"{where} is not {'a number' if alone else f'{count} numbers'}")
