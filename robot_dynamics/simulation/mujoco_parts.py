"""Parts of MuJoCo models: bodies with exact mass properties, and constraints as hard as MuJoCo has them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import mujoco
import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.spatial import Array

# MuJoCo's constraints are soft: d of solimp is the share of the constraint force that is applied, and the
# time constant of solref may not be shorter than two steps.
HARD = 0.9999


def hard_constraint(timestep: float) -> tuple[list[float], list[float]]:
    """solref and solimp of a constraint that gives as little as MuJoCo can simulate."""
    return [2.0 * timestep, 1.0], [HARD, HARD, 0.001, 0.5, 2.0]


def new_spec(name: str, timestep: float, gravity: Sequence[float] | Array) -> Any:
    """An empty specification: angles in radians, nothing collides, divergence is seen.

    Args:
        name: of the model.
        timestep: [s].
        gravity: (3,) [m/s²].
    """
    spec = mujoco.MjSpec()
    spec.modelname = name
    spec.compiler.degree = False
    spec.compiler.autolimits = False
    spec.option.timestep = timestep
    spec.option.gravity = gravity
    # Divergence must be seen, not hidden by a silent reset to the initial state.
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(
        mujoco.mjtDisableBit.mjDSBL_AUTORESET
    )
    return spec


def compile_spec(spec: Any, machine: str, exact: dict[str, tuple[float, Array]]) -> Any:
    """The model of a specification, with the exact mass properties in place of stand-ins.

    Raises:
        ModelError: MuJoCo refuses it.
    """
    with quiet():
        try:
            model = spec.compile()
        except ValueError as error:
            raise ModelError(f"MuJoCo refuses {machine}: {error}") from error
    use_exact_masses(model, exact)
    return model


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep MuJoCo from writing warnings to the terminal and to a file: what it warns of is checked here."""
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(previous)


def add_body(parent: Any, name: str, origin: Array) -> Any:
    """A body of a specification at ``origin`` (4, 4) in its parent's frame."""
    body = parent.add_body(name=name, pos=origin[:3, 3])
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(origin[:3, :3]).ravel())
    body.quat = quaternion
    return body


def scaled(properties: RigidBody, parameters: PlantParameters) -> RigidBody:
    """A link's mass properties with the faults of the parameters."""
    factor = parameters.mass_scale
    inertia = properties.inertia * factor * parameters.inertia_scale
    return RigidBody(properties.mass * factor, properties.center_of_mass, inertia)


def set_mass(body: Any, properties: RigidBody, exact: dict[str, tuple[float, Array]], moving: bool) -> None:
    """Give a body its mass properties.

    The compiler of MuJoCo refuses moving bodies without mass and inertias that break the triangle inequality,
    though its dynamics can use both; such a body is compiled with a stand-in, and ``exact`` notes its values.
    """
    moments, axes = np.linalg.eigh(properties.inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    moments = np.maximum(moments, 0.0)
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(axes).ravel())
    body.explicitinertial = True
    body.ipos = properties.center_of_mass
    body.iquat = quaternion
    body.mass = properties.mass
    body.inertia = moments
    least = 1e-9 if moving else 0.0
    refused = properties.mass < least or moments[0] < least or moments[0] + moments[1] < moments[2]
    if refused:
        exact[body.name] = (properties.mass, moments)
        body.mass = max(properties.mass, least)
        body.inertia = np.full(3, max(moments[2], least))


def use_exact_masses(model: Any, exact: dict[str, tuple[float, Array]]) -> None:
    """Put the noted mass properties in place of the stand-ins of a compiled model."""
    for name, (mass, moments) in exact.items():
        model.body(name).mass[0] = mass
        model.body(name).inertia[:] = moments


def scalar_or_first(current: Any, value: float) -> Any:
    """MuJoCo 3 has one damping coefficient, MuJoCo 4 a polynomial whose first is the linear one."""
    if np.ndim(current) == 0:
        return value
    coefficients = np.array(current, dtype=float)
    coefficients[0] = value
    return coefficients
