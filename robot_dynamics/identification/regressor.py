"""Joint efforts as a linear function of what is to be identified, for many states at once.

efforts = Y(q, qd, qdd) · parameters. The inertial columns follow from one Newton-Euler pass over all states:
the wrench that moves a body is linear in its ten inertial parameters, and each joint carries the wrenches of
the bodies behind it (Atkeson, An, Hollerbach, "Estimation of inertial parameters of manipulator loads and
links", Int. J. Robotics Research 5 (1986) 101-119). Frames and parameters: see
`robot_dynamics.identification.inertial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import StateError
from robot_dynamics.identification.friction import DriveSignals, FrictionLaw
from robot_dynamics.identification.inertial import COUNT, chain_parameters
from robot_dynamics.inputs.arrays import real_array
from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain
from robot_dynamics.spatial import Array, cross, skew

EARTH = (0.0, 0.0, -9.81)


def inertial_regressor(
    chain: KinematicChain, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, gravity: Sequence[float] = EARTH
) -> Array:
    """(N, n, 10 k) with efforts = Y · parameters of the ``k`` moving links.

    Args:
        chain: of ``n`` coordinates.
        q, qd, qdd: (N, n) in the order of ``chain.joint_names`` [rad or m, per s, per s²].
        gravity: (3,) acceleration of free fall in the root frame [m/s²].

    Raises:
        StateError: shapes other than (N, n), or different ones.
    """
    q, qd, qdd = states_of(chain, q, qd, qdd)
    motions = _motions(chain, q, qd, qdd, np.asarray(gravity, dtype=float))
    result = np.zeros((len(q), chain.dof, COUNT * len(chain.joints)))
    # Of every link: the columns of those behind it, and their forces and moments at its joint.
    behind: list[list[tuple[Array, Array, Array]]] = [[] for _ in chain.joints]
    for index in reversed(range(len(chain.joints))):
        joint, motion, carrier = chain.joints[index], motions[index], chain.carriers[index]
        own = (np.arange(COUNT * index, COUNT * (index + 1)), *motion.wrench_columns())
        columns, force, moment = (
            np.concatenate(parts, axis=-1) for parts in zip(own, *reversed(behind[index]), strict=True)
        )
        carried = force if joint.kind is JointKind.PRISMATIC else moment
        effort = joint.multiplier * np.einsum("i,nij->nj", joint.axis, carried)
        result[:, joint.coordinate, columns] += effort
        if carrier >= 0:
            force = motion.rotation @ force
            moment = motion.rotation @ moment + _skews(motion.position) @ force
            behind[carrier].append((columns, force, moment))
    return result


def regressor(
    chain: KinematicChain,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    gravity: Sequence[float] = EARTH,
    law: FrictionLaw | None = None,
    bodies: Array | None = None,
    slid: Array | None = None,
) -> Array:
    """(N, n, 10 k + 8 n) columns of the links, then of the drives; arguments as `inertial_regressor`.

    Without ``law`` friction is the same at all speeds, in both directions and under all loads. Loads are of
    links with the parameters ``bodies`` (10 k,), of the chain when None; weight is always part of them.
    Without states ``slid`` (N, n) of presliding, joints have travelled far since they reversed.
    """
    q, qd, qdd = states_of(chain, q, qd, qdd)
    law = law or FrictionLaw.plain(chain.dof)
    links = inertial_regressor(chain, q, qd, qdd, gravity)
    load = None
    if law.loaded.any():
        carried = links if tuple(gravity) == EARTH else inertial_regressor(chain, q, qd, qdd)
        load = carried @ (chain_parameters(chain) if bodies is None else bodies)
    signals = DriveSignals.of(
        qd,
        qdd,
        law.stribeck_velocity[None],
        load,
        law.coupling,
        law.presliding_travel[None],
        None if slid is None else slid[None],
    )
    drives = signals.columns(law)
    return np.concatenate([links, drives], axis=2)


def position_counts(chain: KinematicChain, gravity: Sequence[float] = EARTH) -> NDArray[np.bool_]:
    """(n,) whether any effort depends on the position of a joint, whatever the links' parameters."""
    draw = np.random.default_rng(0)
    q, qd, qdd = draw.uniform(-1.0, 1.0, (3, 4, chain.dof))
    here = inertial_regressor(chain, q, qd, qdd, gravity)
    counts = np.ones(chain.dof, dtype=bool)
    for j in range(chain.dof):
        change = inertial_regressor(chain, q + 0.7 * np.eye(chain.dof)[j], qd, qdd, gravity) - here
        counts[j] = np.abs(change).max() > 1e-9 * np.abs(here).max()
    return counts


def states_of(chain: KinematicChain, *values: ArrayLike) -> list[Array]:
    """The arrays, all of one shape (N, n).

    Raises:
        StateError: they are not.
    """
    arrays = [real_array("state", value) for value in values]
    shape = (len(arrays[0]) if arrays[0].ndim else 0, chain.dof)
    if any(array.shape != shape for array in arrays):
        found = ", ".join(str(array.shape) for array in arrays)
        raise StateError(f"states have the shapes {found}; all must be (N, {chain.dof})")
    return arrays


@dataclass(frozen=True)
class _Motion:
    """Motion of one link in its own axes, and its pose in the link before: (N, 3) and (N, 3, 3) arrays.

    Attributes:
        acceleration: of the origin, less that of free fall.
    """

    rotation: Array
    position: Array
    velocity: Array
    turning: Array
    acceleration: Array

    def wrench_columns(self) -> tuple[Array, Array]:
        """(N, 3, 10) force and moment about the origin that move the link, for each of its parameters."""
        spin = _skews(self.velocity)
        force = np.zeros((len(self.velocity), 3, COUNT))
        force[:, :, 0] = self.acceleration
        force[:, :, 1:4] = _skews(self.turning) + spin @ spin
        moment = np.zeros_like(force)
        moment[:, :, 1:4] = -_skews(self.acceleration)
        moment[:, :, 4:] = _inertia_columns(self.turning) + spin @ _inertia_columns(self.velocity)
        return force, moment


def _motions(chain: KinematicChain, q: Array, qd: Array, qdd: Array, gravity: Array) -> list[_Motion]:
    zero = np.zeros((len(q), 3))
    moved = [(zero, zero, zero - gravity)]
    motions = []
    for joint, carrier in zip(chain.joints, chain.carriers, strict=True):
        velocity, turning, acceleration = moved[carrier + 1]
        value = joint.multiplier * q[:, joint.coordinate] + joint.offset
        rate = (joint.multiplier * qd[:, joint.coordinate])[:, None] * joint.axis
        change = (joint.multiplier * qdd[:, joint.coordinate])[:, None] * joint.axis
        rotation, position = joint_poses(joint, value)
        at_joint = acceleration + cross(turning, position) + cross(velocity, cross(velocity, position))
        velocity, turning, acceleration = (
            np.einsum("nji,nj->ni", rotation, vector) for vector in (velocity, turning, at_joint)
        )
        if joint.kind is JointKind.PRISMATIC:
            acceleration = acceleration + 2.0 * cross(velocity, rate) + change
        else:
            turning = turning + change + cross(velocity, rate)
            velocity = velocity + rate
        moved.append((velocity, turning, acceleration))
        motions.append(_Motion(rotation, position, velocity, turning, acceleration))
    return motions


def joint_poses(joint: ChainJoint, value: Array) -> tuple[Array, Array]:
    """Rotations (N, 3, 3) and positions (N, 3) of the link frame in the one before."""
    rotation, position = joint.origin[:3, :3], joint.origin[:3, 3]
    if joint.kind is JointKind.PRISMATIC:
        return (
            np.broadcast_to(rotation, (len(value), 3, 3)),
            position + value[:, None] * (rotation @ joint.axis),
        )
    turn = skew(joint.axis)
    sine, cosine = np.sin(value)[:, None, None], np.cos(value)[:, None, None]
    turned = rotation @ (np.eye(3) + sine * turn + (1.0 - cosine) * (turn @ turn))
    return turned, np.broadcast_to(position, (len(value), 3))


def _skews(vectors: Array) -> Array:
    """(N, 3, 3) cross-product matrices of (N, 3)."""
    result = np.zeros((len(vectors), 3, 3))
    x, y, z = vectors.T
    result[:, 0, 1], result[:, 0, 2], result[:, 1, 2] = -z, y, -x
    result[:, 1, 0], result[:, 2, 0], result[:, 2, 1] = z, -y, x
    return result


def _inertia_columns(vectors: Array) -> Array:
    """(N, 3, 6) with I v = columns · (I_xx, I_xy, I_yy, I_xz, I_yz, I_zz)."""
    result = np.zeros((len(vectors), 3, 6))
    x, y, z = vectors.T
    result[:, 0, 0], result[:, 0, 1], result[:, 0, 3] = x, y, z
    result[:, 1, 1], result[:, 1, 2], result[:, 1, 4] = x, y, z
    result[:, 2, 3], result[:, 2, 4], result[:, 2, 5] = x, y, z
    return result
