"""Parameters that a motion will tell and those that it will not, and the motion as a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.identification import inertial
from robot_dynamics.identification.base_parameters import less_known, structure
from robot_dynamics.identification.estimation import OFFSET_SHARE
from robot_dynamics.identification.excitation.information import SLOW
from robot_dynamics.identification.excitation.plan import Excitation
from robot_dynamics.identification.friction import NOT_DRY, FrictionLaw
from robot_dynamics.identification.least_squares import Equations
from robot_dynamics.identification.regressor import EARTH, regressor
from robot_dynamics.identification.runs import parameter_names, prior_parameters
from robot_dynamics.identification.uncertainty import (
    expected_errors,
    posterior_covariance,
    workspace_regressor,
)
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import MASSLESS
from robot_dynamics.spatial import Array

NOISE = 0.02
"""Assumed scatter of a joint's efforts, as a share of the greatest in the motion."""
RATE = 20.0
"""Independent equations a second."""
SLOWER = (0.5, 0.3, 0.15, 0.08)
"""Speeds of a second run that are compared, as shares of the planned speed."""
SLOWEST = 0.03
"""Least speed for which efforts shall be known, as a share of that of other motions."""
SECOND = 0.5
"""Speed of the second, different motion that is recommended, as a share of the planned speed."""
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
        runs: speeds of runs of one period each, as shares of the planned one, and the expected relative
            error of efforts at all speeds that they leave; those of the motion, and others.
        spare_payload: the greatest point mass with which all efforts stay within the limits [kg]: at the tip
            frame's origin, and ``AWAY`` from it along the axis of that frame where it weighs most.
    """

    determined: tuple[str, ...]
    undetermined: tuple[str, ...]
    held: tuple[str, ...]
    friction: Array
    runs: tuple[tuple[tuple[float, ...], float], ...]
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
        runs=_runs(excitation, gravity),
        spare_payload=_spare_payload(excitation, gravity, (q, qd, qdd), effort),
    )


def _runs(
    excitation: Excitation, gravity: tuple[float, float, float]
) -> tuple[tuple[tuple[float, ...], float], ...]:
    twice = [(1.0, 1.0), *((1.0, speed) for speed in SLOWER)]
    tried = dict.fromkeys([excitation.speeds, (1.0,), *twice])
    errors = _errors_left(excitation, gravity, list(tried))
    return tuple(zip(tried, errors, strict=True))


def _errors_left(
    excitation: Excitation, gravity: tuple[float, float, float], choices: Sequence[tuple[float, ...]]
) -> list[float]:
    """Expected relative errors of the efforts at random states after runs of one period at some speeds each.

    Friction is of the whole law: it changes about the speed `SLOW`, and with the load.
    """
    chain, period = excitation.chain, excitation.series.period
    count = inertial.COUNT * len(chain.joints)
    parameters = prior_parameters(chain, ActuatorParameters().of(chain))
    bodies = parameters[:count]
    every = np.ones(chain.dof, dtype=bool)
    law = FrictionLaw(np.full(chain.dof, SLOW), ~every, every, np.zeros(chain.dof))
    time = np.arange(0.0, period, 1.0 / RATE)
    products: dict[float, Array] = {}
    for speed in sorted({speed for speeds in choices for speed in speeds}, reverse=True):
        q, qd, qdd = excitation.states(speed * time)
        matrix = regressor(chain, q, speed * qd, speed**2 * qdd, gravity, law, bodies)
        if speed == 1.0 or not products:
            effort = matrix[:, :, :count] @ bodies
            greatest = np.maximum(np.abs(effort).max(axis=0), 1e-3 * np.abs(effort).max())
        rows = (matrix / (NOISE * greatest)[:, None]).reshape(-1, matrix.shape[2])
        products[speed] = rows.T @ rows
    states = workspace_regressor(chain, law, gravity, bodies, SLOWEST)
    used = np.sqrt(np.mean(states[:, :, count:] ** 2, axis=(0, 1)))
    sizes = np.tile(greatest, len(used) // chain.dof) / np.maximum(used, 1e-9)
    sizes[-chain.dof :] = OFFSET_SHARE * greatest
    nothing = np.zeros(0)
    result = []
    for speeds in choices:
        whole = np.sum([products[speed] for speed in speeds], axis=0)
        values, axes = np.linalg.eigh(whole)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T
        covariance = posterior_covariance(Equations(root, nothing, 0.0), parameters, sizes, len(chain.joints))
        result.append(expected_errors(states, parameters, covariance).whole)
    return result


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


def _recommendation(excitation: Excitation, found: Prospect) -> Iterator[str]:
    """Lines about runs at several speeds."""
    errors, planned = dict(found.runs), excitation.speeds
    yield f"efforts at all speeds will be known to {100.0 * errors[planned]:.2g} % by {_named(planned)}"
    slower = [(1.0, speed) for speed in SLOWER]
    best = min(slower, key=lambda speeds: errors[speeds])
    for speeds in ((1.0,), (1.0, 1.0), best):
        if speeds != planned:
            yield f"by {_named(speeds)}: {100.0 * errors[speeds]:.2g} %"
    if planned == (1.0,):
        yield (
            f"recommended: record a second, different motion at {SECOND:g} of the speed too"
            f" (--seed 1 --speeds {SECOND:g}), and identify from both recordings"
        )


def _named(speeds: tuple[float, ...]) -> str:
    if speeds == (1.0,):
        return "one run"
    if speeds == (1.0, 1.0):
        return "a run of double length"
    if len(speeds) == 1:
        return f"one run at {speeds[0]:g} of the speed"
    return f"runs of this motion at {' and '.join(f'{speed:g}' for speed in speeds)} of the speed"


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
    lines.extend(_recommendation(excitation, found))
    lines.append(f"will be determined: {len(found.determined)} base parameters")
    lines.append(f"will not be determined, stays as described: {', '.join(found.undetermined) or 'nothing'}")
    if found.held:
        lines.append(f"not determined by any motion, stays as given: {', '.join(found.held)}")
    return "\n".join(lines)
