"""The ten inertial parameters of a link and its pseudo-inertia.

The parameters of a body stand in the order of Pinocchio's ``Inertia.toDynamicParameters``: m, m c_x, m c_y,
m c_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz, where c is the centre of mass [m] and I the inertia about the
origin, both in the link's URDF joint frame. A body is physically possible when its pseudo-inertia
P = [[½ tr(I)·1 − I, m c], [m cᵀ, m]] is positive definite (Wensing, Kim, Slotine, "Linear matrix inequalities
for physically consistent inertial parameter identification", IEEE RA-L 3 (2018) 60-67).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.model.chain import KinematicChain, RigidBody
from robot_dynamics.model.lumping import lumped_body, moved_body
from robot_dynamics.spatial import INERTIA_ENTRIES, Array, second_moments, shift_inertia

NAMES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
COUNT = len(NAMES)
_LEAST_SHARE = 1e-4
_LEAST_RADIUS = 0.05


def parameters_of(body: RigidBody) -> Array:
    """(10,) inertial parameters of a body [kg, kg·m, kg·m²]."""
    inertia = body.inertia + shift_inertia(body.mass, body.center_of_mass)
    entries = [inertia[i, j] for i, j in INERTIA_ENTRIES]
    return np.concatenate([[body.mass], body.mass * body.center_of_mass, entries])


def body_of(parameters: Array) -> RigidBody:
    """The body with the inertial parameters (10,); its mass must not be zero."""
    mass = float(parameters[0])
    center = parameters[1:4] / mass
    return RigidBody(mass, center, inertia_about_origin(parameters) - shift_inertia(mass, center))


def inertia_about_origin(parameters: Array) -> Array:
    """(3, 3) inertia about the origin of the link frame [kg·m²]."""
    inertia = np.zeros((3, 3))
    for (i, j), value in zip(INERTIA_ENTRIES, parameters[4:], strict=True):
        inertia[i, j] = inertia[j, i] = value
    return inertia


def pseudo_inertia(parameters: Array) -> Array:
    """(4, 4) pseudo-inertia of a body with the inertial parameters (10,)."""
    matrix = np.empty((4, 4))
    matrix[:3, :3] = second_moments(inertia_about_origin(parameters))
    matrix[:3, 3] = matrix[3, :3] = parameters[1:4]
    matrix[3, 3] = parameters[0]
    return matrix


def pseudo_basis() -> Array:
    """(10, 4, 4) pseudo-inertia of each inertial parameter alone: P is linear in them."""
    return np.array([pseudo_inertia(unit) for unit in np.eye(COUNT)])


def possible_pseudo_inertia(parameters: Array, typical_mass: float) -> Array:
    """(4, 4) pseudo-inertia of a link of the description, made positive definite where it is not."""
    matrix = pseudo_inertia(parameters)
    radius = _LEAST_RADIUS**2
    least = _LEAST_SHARE * typical_mass * np.diag([radius, radius, radius, 1.0])
    whiten = np.diag(1.0 / np.sqrt(np.diag(least)))
    smallest = np.linalg.eigvalsh(whiten @ matrix @ whiten)[0]
    return np.asarray(matrix if smallest >= 1.0 else matrix + (1.0 - smallest) * least)


def divergence_hessians(links: Array) -> Array:
    """(k, 10, 10) second derivatives of −log det P at the parameters (k, 10) of links.

    A link that no body has, such as one without inertia in the description, counts as one near it.
    """
    typical = float(np.mean(links[:, 0])) or 1.0
    basis = pseudo_basis()
    inverses = [np.linalg.inv(possible_pseudo_inertia(link, typical)) for link in links]
    return np.array([
        np.einsum("ij,ajk,kl,bli->ab", inverse, basis, inverse, basis, optimize=True) for inverse in inverses
    ])  # fmt: skip


def chain_parameters(chain: KinematicChain) -> Array:
    """(10 k,) inertial parameters of the ``k`` moving links of ``chain``, from the root on."""
    return np.concatenate([parameters_of(joint.body) for joint in chain.joints])


def moved_parameters(transform: Array) -> Array:
    """(10, 10) matrix from parameters in an inner frame to those in the outer; ``transform`` its pose there.

    P goes over to T P Tᵀ with the pose T (4, 4), which is linear in the parameters.
    """
    basis = pseudo_basis()
    moved = np.einsum("ij,kjl,ml->kim", transform, basis, transform).reshape(COUNT, 16).T
    columns, *_ = np.linalg.lstsq(basis.reshape(COUNT, 16).T, moved, rcond=None)
    return np.asarray(columns)


def with_payload(body: RigidBody, payload: RigidBody, transform: Array) -> RigidBody:
    """``body`` with a payload that is given in a frame of the pose ``transform`` (4, 4) in the link frame."""
    return lumped_body([body, moved_body(payload, transform)])
