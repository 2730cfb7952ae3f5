"""Random robots for the dynamics tests, and Pinocchio models built from the same chains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio

from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain, RigidBody, Tip


def rotation(rng) -> np.ndarray:
    """A uniformly random rotation matrix."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def pose(rng, length=0.5) -> np.ndarray:
    """A random (4, 4) pose."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation(rng)
    matrix[:3, 3] = rng.uniform(-length, length, 3)
    return matrix


def body(rng, mass=None) -> RigidBody:
    """A realisable rigid body: a cloud of mass points about a random center."""
    points = rng.normal(scale=0.1, size=(8, 3))
    weights = rng.uniform(0.1, 1.0, 8) if mass is None else np.full(8, mass / 8)
    center = weights @ points / weights.sum() if weights.sum() else np.zeros(3)
    inertia = np.zeros((3, 3))
    for weight, point in zip(weights, points - center, strict=True):
        inertia += weight * (point @ point * np.eye(3) - np.outer(point, point))
    return RigidBody(float(weights.sum()), center + rng.uniform(-0.2, 0.2, 3), inertia)


def axis(rng) -> np.ndarray:
    """A coordinate axis of either sign, or a random direction."""
    if rng.random() < 0.5:
        return np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def tilt(angle) -> np.ndarray:
    """(4, 4) rotation about x."""
    matrix = np.eye(4)
    c, s = np.cos(angle), np.sin(angle)
    matrix[1:3, 1:3] = [[c, -s], [s, c]]
    return matrix


def shift(x, y, z) -> np.ndarray:
    """(4, 4) translation."""
    matrix = np.eye(4)
    matrix[:3, 3] = [x, y, z]
    return matrix


def joint_origin(rng, special: bool) -> np.ndarray:
    """A random pose, or one whose angles and lengths are those of a real drawing (also imprecise: 1.5708)."""
    if not special:
        return pose(rng)
    matrix = tilt(rng.choice([0.0, np.pi / 2, -np.pi / 2, np.pi, 1.5708, 3.1416, 1.57079632679, 1e-7]))
    matrix[:3, 3] = rng.choice([0.0, 0.0, 0.3, -0.2], 3)
    return matrix


def chain(seed, n=None, kinds=None, special=None, massless=(), axes=None) -> KinematicChain:
    """A random serial chain of ``n`` joints; ``massless`` lists links without mass."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9)) if n is None else n
    special = bool(rng.random() < 0.5) if special is None else special
    kinds = (
        rng.choice([JointKind.REVOLUTE, JointKind.REVOLUTE, JointKind.PRISMATIC], n)
        if kinds is None
        else kinds
    )
    joints = tuple(
        ChainJoint(
            name=f"j{i}",
            link=f"l{i}",
            kind=kinds[i],
            origin=joint_origin(rng, special),
            axis=axis(rng) if axes is None else axes[i],
            body=body(rng, 0.0 if i in massless else None),
            coordinate=i,
        )
        for i in range(n)
    )
    return KinematicChain("random", "root", "tip", joints, tuple(j.name for j in joints), pose(rng, 0.2))


def tree(seed, n=9, special=None, followers=False) -> KinematicChain:
    """A random tree of ``n`` joints with a tip behind every end; ``followers``: some joints are mimics."""
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(-1, i)) for i in range(1, n))]
    # Depth first, as descriptions are loaded.
    order, pending = [], [i for i in reversed(range(n)) if parents[i] < 0]
    while pending:
        order.append(pending.pop())
        pending.extend(i for i in reversed(range(n)) if parents[i] == order[-1])
    carriers = tuple(order.index(parents[i]) if parents[i] >= 0 else -1 for i in order)
    serial = chain(seed, n, special=special)
    joints, names = [], []
    for i, joint in enumerate(serial.joints):
        if followers and i > 1 and rng.random() < 0.3:
            leader = int(rng.integers(len(names)))
            more = {"multiplier": float(rng.uniform(-2.0, 2.0)), "offset": float(rng.uniform(-1.0, 1.0))}
        else:
            leader, more = len(names), {}
            names.append(joint.name)
        joints.append(replace(joint, coordinate=leader, **more))
    ends = [i for i in range(n) if i not in carriers]
    tips = [Tip(f"tip{i}", i, pose(rng, 0.2)) for i in ends]
    return KinematicChain(
        "tree",
        "root",
        tips[0].link,
        tuple(joints),
        tuple(names),
        tips[0].transform,
        parents=carriers,
        tip_joint=ends[0],
        other_tips=tuple(tips[1:]),
    )


def pinocchio_model(robot: KinematicChain, gravity) -> pinocchio.Model:
    """The chain as Pinocchio sees it; joint variables equal the coordinates (no mimic joints)."""
    model = pinocchio.Model()
    model.gravity = pinocchio.Motion(np.asarray(gravity, dtype=float), np.zeros(3))
    for joint, parent in zip(robot.joints, robot.carriers, strict=True):
        kind = pinocchio.JointModelRevoluteUnaligned
        if joint.kind is JointKind.PRISMATIC:
            kind = pinocchio.JointModelPrismaticUnaligned
        index = model.addJoint(parent + 1, kind(joint.axis), pinocchio.SE3(joint.origin), joint.name)
        inertia = pinocchio.Inertia(joint.body.mass, joint.body.center_of_mass, joint.body.inertia)
        model.appendBodyToJoint(index, inertia, pinocchio.SE3.Identity())
    for tip in robot.tips:
        place = pinocchio.SE3(tip.transform)
        model.addFrame(pinocchio.Frame(tip.link, tip.joint + 1, 0, place, pinocchio.FrameType.BODY))
    return model


def pinocchio_inverse_dynamics(robot: KinematicChain, gravity, q, qd, qdd, wrench) -> np.ndarray:
    """Joint forces by Pinocchio for the wrench [force, torque] that the tip exerts, in the tip frame."""
    model = pinocchio_model(robot, gravity)
    external = pinocchio.StdVec_Force()
    for _ in range(model.njoints - 1):
        external.append(pinocchio.Force.Zero())
    on_tip = pinocchio.Force(-np.asarray(wrench[:3]), -np.asarray(wrench[3:]))
    external.append(pinocchio.SE3(robot.tip_transform).act(on_tip))
    return np.array(pinocchio.rnea(model, model.createData(), q, qd, qdd, external))
