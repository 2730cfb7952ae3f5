"""The bodies of an arm, one by one, as a physics engine wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatorParameters, Drives
from robot_dynamics.model.chain import ChainJoint, KinematicChain, RigidBody
from robot_dynamics.model.urdf import Joint, JointType, RobotTree
from robot_dynamics.spatial import Array, pose, rotation_about

GROUND = -1
NO_MASS = RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True)
class Body:
    """One link.

    Attributes:
        name: the link's name.
        parent: index of the parent body, or GROUND.
        origin: (4, 4) pose in the parent's frame, at joint variable zero where there is a joint.
        mass_properties: in the body's frame.
        joint: the joint that moves the body; None when it is fixed to its parent.
    """

    name: str
    parent: int
    origin: Array
    mass_properties: RigidBody = NO_MASS
    joint: ChainJoint | None = None


@dataclass(frozen=True)
class ArmBodies:
    """Every body of an arm, parents before children.

    Attributes:
        name: the robot's name.
        bodies: all moving bodies and those that are fixed to them.
        tips: indices of the bodies whose frames are the tip frames.
        joint_names: the independent joints, in chain order.
        tip_names: names of the tips.
        held: where the other independent joints of the description are held [rad or m].
    """

    name: str
    bodies: tuple[Body, ...]
    tips: tuple[int, ...]
    joint_names: tuple[str, ...]
    tip_names: tuple[str, ...]
    held: Mapping[str, float] = field(default_factory=dict)

    def drives(self, parameters: ActuatorParameters) -> Drives:
        """The drives of the independent joints; ParameterError where ``parameters`` do not fit them."""
        joints = {body.joint.name: body.joint for body in self.bodies if body.joint is not None}
        return parameters.of_joints([joints[name] for name in self.joint_names])


def bodies_of_chain(chain: KinematicChain) -> ArmBodies:
    """The bodies of a chain, in which fixed links and side branches are lumped already."""
    moving = [
        Body(joint.link, GROUND if carrier < 0 else carrier, joint.origin, joint.body, joint)
        for joint, carrier in zip(chain.joints, chain.carriers, strict=True)
    ]
    ends = [Body(f"{tip.link} (tip frame)", tip.joint, tip.transform) for tip in chain.tips]
    tips = tuple(range(len(moving), len(moving) + len(ends)))
    names = tuple(tip.link for tip in chain.tips)
    return ArmBodies(chain.name, (*moving, *ends), tips, chain.joint_names, names)


def bodies_of_tree(tree: RobotTree, chain: KinematicChain, locked_joints: Mapping[str, float]) -> ArmBodies:
    """The bodies of a description that move with a chain of it, nothing lumped.

    Args:
        tree: the description.
        chain: the chain made from it; says which joints move and how.
        locked_joints: position of the other joints [rad or m]; those not named are at zero, or at the limit
            nearest to it, and mimic joints follow.
    """
    moving = {joint.name: joint for joint in chain.joints}
    # The joints at the root behind which tips are, each once.
    first = list({(way := tree.path(chain.root, tip.link)[0]).name: way for tip in chain.tips}.values())
    indices = {chain.root: GROUND}
    bodies: list[Body] = []
    for joint in (part for one in first for part in (one, *tree.subtree(one.child))):
        origin = (
            joint.origin if joint.name in moving else joint.origin @ _locked_pose(tree, joint, locked_joints)
        )
        properties = tree.links[joint.child].body or NO_MASS
        parent = indices[joint.parent]
        indices[joint.child] = len(bodies)
        bodies.append(Body(joint.child, parent, origin, properties, moving.get(joint.name)))
    held = {
        name: _locked_position(tree, joint, locked_joints)
        for name, joint in tree.joints.items()
        if joint.kind.moves_on_axis and joint.mimic is None and name not in moving
    }
    tips = tuple(indices[tip.link] for tip in chain.tips)
    names = tuple(tip.link for tip in chain.tips)
    return ArmBodies(chain.name, tuple(bodies), tips, chain.joint_names, names, held)


def _locked_pose(tree: RobotTree, joint: Joint, locked_joints: Mapping[str, float]) -> Array:
    """(4, 4) pose of a locked joint's link in its joint frame."""
    if joint.kind is JointType.PRISMATIC:
        return pose(None, _locked_position(tree, joint, locked_joints) * joint.axis)
    if joint.kind.moves_on_axis:
        return pose(rotation_about(joint.axis, _locked_position(tree, joint, locked_joints)))
    return np.eye(4)


def _locked_position(tree: RobotTree, joint: Joint, locked_joints: Mapping[str, float]) -> float:
    if joint.name in locked_joints:
        return locked_joints[joint.name]
    if joint.mimic is not None:
        master = _locked_position(tree, tree.joints[joint.mimic.joint], locked_joints)
        return joint.mimic.multiplier * master + joint.mimic.offset
    return min(max(0.0, joint.limits.lower), joint.limits.upper)
