"""Parameters that a motion will tell and those that it will not, and the motion as a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.identification import inertial
from robot_dynamics.identification.base_parameters import less_known, structure
from robot_dynamics.identification.excitation.plan import Excitation
from robot_dynamics.identification.friction import NOT_DRY
from robot_dynamics.identification.regressor import EARTH, regressor
from robot_dynamics.identification.runs import parameter_names, prior_parameters
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import MASSLESS
from robot_dynamics.spatial import Array

NOISE = 0.02
"""Assumed scatter of a joint's efforts, as a share of the greatest in the motion."""
RATE = 20.0
"""Independent equations a second."""
AWAY = 0.15
"""Distance of a payload's centre from the tip for the second figure [m]: a gripper's length."""
_HEADS = ("begins at", "least", "greatest", "speed", "accel.", "effort")


@dataclass(frozen=True)
class Prospect:
    """Knowledge of a robot that makes a motion once.

    Attributes:
        determined: base parameters that the data will determine better than the description.
        undetermined: those that stay as described.
        held: parameters of drives that no motion can tell from the links'.
        friction: (n,) standard deviation of Coulomb friction as a share of the greatest effort of its joint.
        spare_payload: the greatest point mass with which all efforts stay within the limits [kg]: at the tip
            frame's origin, and ``AWAY`` from it along the axis of that frame where it weighs most.
    """

    determined: tuple[str, ...]
    undetermined: tuple[str, ...]
    held: tuple[str, ...]
    friction: Array
    spare_payload: tuple[float, float]


def prospect(excitation: Excitation, gravity: tuple[float, float, float] = EARTH) -> Prospect:
    """Forecast for ``excitation``, by the description's own numbers."""
    chain = excitation.chain
    time = np.arange(0.0, excitation.series.period, 1.0 / RATE)
    q, qd, qdd = excitation.states(time)
    base, held = structure(chain, gravity)
    drives = ActuatorParameters().of(chain)
    parameters = prior_parameters(chain, drives)
    matrix = regressor(chain, q, qd, qdd, gravity)
    effort = matrix @ parameters
    greatest = np.maximum(np.abs(effort).max(axis=0), 1e-3 * np.abs(effort).max())
    whole = matrix[:, :, list(base.columns)] / (NOISE * greatest)[:, None]
    rows = whole.reshape(-1, whole.shape[2])
    size = np.linalg.norm(rows, axis=0)
    size[size == 0.0] = 1.0
    scaled = rows / size
    covariance = np.linalg.pinv(scaled.T @ scaled, rcond=1e-12) / np.outer(size, size)
    deviations = np.sqrt(np.maximum(0.0, np.diag(covariance)))
    names = parameter_names(chain)
    links = inertial.COUNT * len(chain.joints)
    undetermined = less_known(base, parameters, deviations, names, links)
    index = {column: k for k, column in enumerate(base.columns)}
    coulomb = [index[names.index(f"{joint}.friction")] for joint in chain.joint_names]
    return Prospect(
        determined=tuple(
            names[column] for column in sorted(base.columns) if names[column] not in undetermined
        ),
        undetermined=tuple(sorted(undetermined, key=names.index)),
        held=tuple(
            name for name, stays in zip(names[links:], held, strict=True) if stays and name.endswith(NOT_DRY)
        ),
        friction=deviations[coulomb] / greatest,
        spare_payload=_spare_payload(excitation, gravity, (q, qd, qdd), effort),
    )


def _spare_payload(
    excitation: Excitation,
    gravity: tuple[float, float, float],
    motion: tuple[Array, Array, Array],
    effort: Array,
) -> tuple[float, float]:
    chain = excitation.chain
    limits = np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])

    def at_tips(body: RigidBody) -> RigidBody | dict[str, RigidBody]:
        return {tip.link: body for tip in chain.tips} if chain.other_tips else body

    bare = compile_dynamics(chain, gravity, friction=False).with_payload(at_tips(MASSLESS))
    states = [np.ascontiguousarray(part) for part in motion]
    without = np.asarray(bare.inverse_dynamics(*states))

    def carried(center: Array) -> float:
        loaded = bare.with_payload(at_tips(RigidBody(1.0, center, np.zeros((3, 3)))))
        unit = np.abs(np.asarray(loaded.inverse_dynamics(*states)) - without)
        with np.errstate(divide="ignore", invalid="ignore"):
            masses = (limits - np.abs(effort)) / unit
        return max(0.0, float(np.nanmin(np.where(unit > 0.0, masses, np.inf))))

    away = min(carried(sign * AWAY * axis) for axis in np.eye(3) for sign in (1.0, -1.0))
    return carried(np.zeros(3)), away


def report(excitation: Excitation, found: Prospect) -> str:
    """Summary for a person, before anything moves."""
    chain, series = excitation.chain, excitation.series
    time = np.linspace(0.0, series.period, 2001)
    q, qd, qdd = excitation.states(time)
    lines = [
        f"{chain.name}: {series.period:g} s, {series.harmonics} harmonics of {1.0 / series.period:.3g} Hz,"
        " at rest at both ends",
        f"{'joint':<24}" + "".join(f"{head:>10}" for head in _HEADS),
    ]
    for j, name in enumerate(chain.joint_names):
        numbers = (q[0, j], q[:, j].min(), q[:, j].max(), np.abs(qd[:, j]).max(), np.abs(qdd[:, j]).max())
        share = (
            f"{100.0 * excitation.effort_share[j]:.0f} %" if np.isfinite(excitation.effort_share[j]) else "–"
        )
        lines.append(f"{name:<24}" + "".join(f"{value:>10.3f}" for value in numbers) + f"{share:>10}")
    lines.append("effort: of what the motion may use of the description's limit")
    before, after = excitation.information
    lines.append(f"log det of the information: {after:.1f}, of a random motion {before:.1f}")
    distance, between = excitation.nearest
    if np.isfinite(distance):
        lines.append(f"least distance of the collision shapes: {1e3 * distance:.0f} mm, {between}")
    at_tip, away = found.spare_payload
    where = " at every tip at once," if chain.other_tips else ""
    if np.isfinite(at_tip):
        lines.append(
            f"within all effort limits with up to {at_tip:.2g} kg more{where} whose centre is at the tip's"
            f" origin, {away:.2g} kg {AWAY:g} m beside it"
        )
    lines.append(f"will be determined: {len(found.determined)} base parameters")
    lines.append(f"will not be determined, stays as described: {', '.join(found.undetermined) or 'nothing'}")
    if found.held:
        lines.append(f"no motion tells, stays as given: {', '.join(found.held)}")
    return "\n".join(lines)
