"""The description with what was found written into it."""

from __future__ import annotations

import os
from xml.etree import ElementTree

from robot_dynamics.model.chain import KinematicChain, RigidBody
from robot_dynamics.model.urdf import parse_urdf
from robot_dynamics.model.urdf.gate import read_source
from robot_dynamics.model.urdf.tree import RobotTree

_ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


def identified_urdf(source: str | bytes | os.PathLike[str], chain: KinematicChain) -> bytes:
    """The description ``source`` with the masses and friction of ``chain``, which was loaded from it.

    Each moving link gets all that it carries, about its centre of mass and in the axes of its joint frame;
    links that move as one with it lose their ``<inertial>``. Everything else stays, comments included.

    Args:
        source: path of a URDF file, or its XML text.
        chain: of the description, with the bodies, damping and friction to be written.

    Raises:
        ModelError: the description cannot be used.
    """
    tree = parse_urdf(source)  # refuses what must not be expanded
    data = read_source(source).data
    builder = ElementTree.TreeBuilder(insert_comments=True)
    robot = ElementTree.fromstring(data, ElementTree.XMLParser(target=builder))
    links = {element.get("name"): element for element in robot.findall("link")}
    moving = {joint.name for joint in chain.joints}
    for joint in chain.joints:
        for name in _carried(tree, joint.link, moving):
            for old in links[name].findall("inertial"):
                links[name].remove(old)
        links[joint.link].insert(0, _inertial(joint.body))
    driven = {chain.driving_joint(j).name: chain.driving_joint(j) for j in range(chain.dof)}
    for element in robot.findall("joint"):
        found = driven.get(str(element.get("name")))
        if found is not None:
            dynamics = element.find("dynamics")
            if dynamics is None:
                dynamics = ElementTree.SubElement(element, "dynamics")
            dynamics.set("damping", repr(float(found.damping)))
            dynamics.set("friction", repr(float(found.friction)))
    ElementTree.indent(robot)
    return bytes(ElementTree.tostring(robot, encoding="utf-8", xml_declaration=True)) + b"\n"


def _carried(tree: RobotTree, link: str, moving: set[str]) -> list[str]:
    """``link`` and every link that moves as one with it."""
    found, pending = [], [link]
    while pending:
        found.append(pending.pop())
        pending.extend(joint.child for joint in tree.child_joints[found[-1]] if joint.name not in moving)
    return found


def _inertial(body: RigidBody) -> ElementTree.Element:
    element = ElementTree.Element("inertial")
    center = " ".join(repr(float(value)) for value in body.center_of_mass)
    ElementTree.SubElement(element, "origin", {"xyz": center, "rpy": "0 0 0"})
    ElementTree.SubElement(element, "mass", {"value": repr(float(body.mass))})
    entries = {name: repr(float(body.inertia[i, j])) for name, (i, j) in _ENTRIES.items()}
    ElementTree.SubElement(element, "inertia", entries)
    return element
