"""What an identification finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.identification.friction import DRIVE_COLUMNS, FrictionLaw
from robot_dynamics.identification.inertial import COUNT, body_of, chain_parameters, parameters_of
from robot_dynamics.identification.regressor import EARTH, regressor
from robot_dynamics.model.chain import KinematicChain, RigidBody
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class Comparison:
    """A run beside what was predicted for it: (N,) times and (N, n) efforts, all filtered alike."""

    source: str
    time: Array
    measured: Array
    predicted: Array
    prior: Array


@dataclass(frozen=True)
class BaseParameter:
    """A combination of parameters that the efforts depend on: by the description, the data and in the end."""

    name: str
    prior: float
    least_squares: float
    deviation: float
    result: float


@dataclass(frozen=True)
class Identification:
    """A robot as its motion shows it.

    Attributes:
        prior: the chain of the description.
        chain: the same with the masses and friction that were found.
        drives: (n,) each of DRIVE_COLUMNS and stribeck_velocity, which is zero where friction is the same at
            all speeds.
        covariance: (10 k + 6 n,) squared, of the links' and the drives' parameters.
        gravity: (3,) with which the efforts are computed; zero where the robot takes the weight off.
        learn, validate: runs that were learned from, and those that were not.
        base: the base parameters.
        not_excited: names of base parameters of which the description tells more than the data.
        held: names of drive parameters that cannot be told from the links' own, which stay as given.
        prior_weight: λ of the prior.
        payload: what was picked up, in the tip frame, where that alone was asked for.
        inaccurate: the solver's status where it did not reach its tolerance, else empty.
    """

    prior: KinematicChain
    chain: KinematicChain
    drives: Mapping[str, Array]
    covariance: Array
    gravity: tuple[float, float, float]
    learn: tuple[Comparison, ...]
    validate: tuple[Comparison, ...]
    base: tuple[BaseParameter, ...]
    not_excited: tuple[str, ...]
    held: tuple[str, ...]
    prior_weight: float
    payload: RigidBody | None = None
    inaccurate: str = ""

    @property
    def parameters(self) -> Array:
        """(10 k + 6 n,) of the links and of the drives."""
        return np.concatenate([chain_parameters(self.chain), *(self.drives[key] for key in DRIVE_COLUMNS)])

    @property
    def law(self) -> FrictionLaw:
        """What friction depends on."""
        return FrictionLaw(self.drives["stribeck_velocity"], self.drives["friction_offset"] != 0.0)

    def friction(self) -> dict[str, list[float]]:
        """Parameters of the nodes; those that need no mention are left out."""
        law, drives = self.law, dict(self.drives)
        curved = law.stribeck_velocity > 0.0
        drives["stribeck_velocity"] = np.where(curved, law.stribeck_velocity, 0.1)
        names = ["rotor_inertia", "damping", "friction"]
        names += ["static_friction", "stribeck_velocity"] if curved.any() else []
        names += ["friction_offset"] if law.asymmetric.any() else []
        return {name: [float(value) for value in drives[name]] for name in names}

    def efforts(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(N, n) efforts that a sensor would report, its ``torque_offset`` among them."""
        return np.asarray(regressor(self.chain, q, qd, qdd, self.gravity, self.law) @ self.parameters)

    def summary(self) -> dict[str, Any]:
        """What ``result.json`` holds."""
        names = self.chain.joint_names
        judged = self.validate or self.learn
        result: dict[str, Any] = {
            "joints": list(names),
            "error": {
                "prior": relative_error([(run.prior, run.measured) for run in judged]),
                "learn": relative_error([(run.predicted, run.measured) for run in self.learn]),
                "validate": relative_error([(run.predicted, run.measured) for run in self.validate])
                if self.validate
                else None,
            },
            "joint_error": {
                name: relative_error([(run.predicted[:, j], run.measured[:, j]) for run in judged])
                for j, name in enumerate(names)
            },
            "total_mass": float(sum(joint.body.mass for joint in self.chain.joints)),
            "links": {joint.link: self._link(k) for k, joint in enumerate(self.chain.joints)},
            "friction": self.friction(),
            "torque_offset": {
                name: float(value) for name, value in zip(names, self.drives["torque_offset"], strict=True)
            },
            "not_excited": list(self.not_excited),
            "held": list(self.held),
        }
        if self.payload is not None:
            result["payload"] = _body(self.payload)
        return result

    def _link(self, index: int) -> dict[str, Any]:
        own = slice(COUNT * index, COUNT * (index + 1))
        body = self.chain.joints[index].body
        return {**_body(body), "deviation": _deviation(body, self.covariance[own, own])}


def with_parameters(chain: KinematicChain, links: Array, drives: Mapping[str, Array]) -> KinematicChain:
    """``chain`` with the inertial parameters (k, 10) and the friction that were found."""
    joints = []
    for joint, parameters in zip(chain.joints, links, strict=True):
        changed = replace(joint, body=body_of(parameters))
        if joint is chain.driving_joint(joint.coordinate):
            j = joint.coordinate
            changed = replace(
                changed, damping=float(drives["damping"][j]), friction=float(drives["friction"][j])
            )
        joints.append(changed)
    return replace(chain, joints=tuple(joints))


def relative_error(pairs: list[tuple[Array, Array]]) -> float:
    """‖predicted − measured‖ / ‖measured‖ over all runs and joints."""
    missed = sum(float(np.sum((predicted - measured) ** 2)) for predicted, measured in pairs)
    whole = sum(float(np.sum(measured**2)) for _, measured in pairs)
    return float(np.sqrt(missed / whole)) if whole else float("nan")


def earth_or_none(compensates_gravity: bool) -> tuple[float, float, float]:
    """Gravity that the measured efforts carry."""
    return (0.0, 0.0, 0.0) if compensates_gravity else EARTH


def _body(body: RigidBody) -> dict[str, Any]:
    return {
        "mass": float(body.mass),
        "center": [float(value) for value in body.center_of_mass],
        "inertia": [[float(value) for value in row] for row in body.inertia],
    }


def _deviation(body: RigidBody, covariance: Array) -> dict[str, Any]:
    """Standard deviations of mass, centre and inertia, to first order in those of the parameters."""
    center = parameters_of(body)

    def flat(parameters: Array) -> Array:
        found = body_of(parameters)
        return np.concatenate([[found.mass], found.center_of_mass, found.inertia.ravel()])

    steps = 1e-6 * np.maximum(np.abs(center), 1e-6)
    slopes = np.stack(
        [
            (flat(center + step * unit) - flat(center - step * unit)) / (2.0 * step)
            for step, unit in zip(steps, np.eye(COUNT), strict=True)
        ],
        axis=1,
    )
    spread = np.sqrt(np.maximum(0.0, np.einsum("ij,jk,ik->i", slopes, covariance, slopes)))
    return {
        "mass": float(spread[0]),
        "center": [float(value) for value in spread[1:4]],
        "inertia": [[float(value) for value in row] for row in spread[4:].reshape(3, 3)],
    }
