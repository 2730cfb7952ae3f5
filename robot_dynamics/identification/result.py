"""Result of an identification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.identification.friction import DRIVE_COLUMNS, TRAVELS, FrictionLaw, drives_at_joints
from robot_dynamics.identification.inertial import COUNT, body_of, chain_parameters, parameters_of
from robot_dynamics.identification.regressor import EARTH, regressor
from robot_dynamics.identification.timing import Treatment
from robot_dynamics.identification.uncertainty import Expected, Knowledge
from robot_dynamics.model.chain import KinematicChain, RigidBody
from robot_dynamics.spatial import Array

WELL_KNOWN = 0.02
"""Relative error of the efforts over the workspace below which a log is good enough."""
DEVIATIONS = 3.0
"""Standard deviations by which the efforts of other motions may be off."""


@dataclass(frozen=True)
class Comparison:
    """A run beside the predictions of what is written, without offsets of the sensors.

    Attributes:
        source: of the log.
        time: (N,) [s].
        position, velocity: (N, n) of the joints.
        measured, predicted, prior: (N, n) efforts, all filtered alike: of the log, by the result and by the
            description.
        moving: (N, n) whether a joint moves; at rest, friction is anything up to its greatest value.
        usable: (N, n) whether the effort is not saturated.
        rigid: (N, n) efforts of links and rotors alone, by the result.
        load: (N, n) efforts of the links alone, which the gears pass on.
    """

    source: str
    time: Array
    position: Array
    velocity: Array
    measured: Array
    predicted: Array
    prior: Array
    moving: NDArray[np.bool_]
    usable: NDArray[np.bool_]
    rigid: Array
    load: Array


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
        drives: (n,) each of DRIVE_COLUMNS, stribeck_velocity and presliding_travel, which are zero where
            friction is the same at all speeds, and does not build up after a reversal.
        knowledge: what the data alone say of the base parameters.
        gravity: (3,) with which the efforts are computed; zero where the robot takes the weight off.
        learn, validate: runs that were learned from, and those that were not.
        base: the base parameters.
        not_excited: names of base parameters of which the description tells more than the data.
        held: names of drive parameters that no motion separates from those of the links. Rotor inertias among
            them share by the description; offsets of the sensors stay zero.
        prior_weight: λ of the prior.
        payloads: what each tip has picked up, in its frame, where that alone was asked for.
        treatment: what was done to the logs before.
        tool: name of the mounted tool.
        expected, expected_prior: expected relative errors of the efforts over the workspace, by the result
            and by the description; None for a payload.
        kept: names of links and joints that keep the description, which is no worse.
        inaccurate: the solver's status where it did not reach its tolerance, else empty.
        coupling: of motors that move several joints, whose drives these are; see `FrictionLaw`.
    """

    prior: KinematicChain
    chain: KinematicChain
    drives: Mapping[str, Array]
    knowledge: Knowledge
    gravity: tuple[float, float, float]
    learn: tuple[Comparison, ...]
    validate: tuple[Comparison, ...]
    base: tuple[BaseParameter, ...]
    not_excited: tuple[str, ...]
    held: tuple[str, ...]
    prior_weight: float
    payloads: Mapping[str, RigidBody] = field(default_factory=dict)
    treatment: Treatment | None = None
    tool: str = ""
    expected: Expected | None = None
    expected_prior: Expected | None = None
    kept: tuple[str, ...] = ()
    inaccurate: str = ""
    coupling: Array | None = None

    @property
    def parameters(self) -> Array:
        """(10 k + 8 n,) of the links and of the drives."""
        return np.concatenate([chain_parameters(self.chain), *(self.drives[key] for key in DRIVE_COLUMNS)])

    @property
    def law(self) -> FrictionLaw:
        """Quantities that friction depends on."""
        drives = self.drives
        different, loaded = drives["friction_offset"] != 0.0, drives["load_friction"] != 0.0
        travels = drives["presliding_travel"]
        return FrictionLaw(drives["stribeck_velocity"], different, loaded, travels, self.coupling)

    @property
    def payload(self) -> RigidBody | None:
        """Payload of the only tip, in its frame; None where that was not asked for."""
        return self.payloads[self.chain.tip] if len(self.payloads) == 1 else None

    def friction(self) -> dict[str, list[float]]:
        """Parameters of the nodes; those that need no mention are left out."""
        law, drives = self.law, dict(drives_at_joints(self.drives, self.coupling))
        curved = law.stribeck_velocity > 0.0
        drives["stribeck_velocity"] = np.where(curved, law.stribeck_velocity, 0.1)
        slides = law.presliding_travel > 0.0
        drives["presliding_travel"] = np.where(slides, law.presliding_travel, TRAVELS[1])
        names = ["rotor_inertia", "damping", "friction"]
        names += ["static_friction", "stribeck_velocity"] if curved.any() else []
        names += ["friction_offset"] if law.asymmetric.any() else []
        names += ["load_friction"] if law.loaded.any() else []
        names += ["presliding_friction", "presliding_travel"] if slides.any() else []
        return {name: [float(value) for value in drives[name]] for name in names}

    def efforts(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(N, n) efforts that a sensor would report, its ``torque_offset`` among them."""
        return np.asarray(regressor(self.chain, q, qd, qdd, self.gravity, self.law) @ self.parameters)

    def summary(self) -> dict[str, Any]:
        """Content of ``result.json``."""
        names = self.chain.joint_names
        judged = self.validate or self.learn
        each = range(len(names))
        result: dict[str, Any] = {
            "joints": list(names),
            "tool": self.tool,
            "error": {
                "prior": relative_error(judged, "prior"),
                "learn": relative_error(self.learn),
                "validate": relative_error(self.validate),
            },
            "error_at_rest": {
                "prior": relative_error(judged, "prior", rest=True),
                "validate": relative_error(judged, rest=True),
            },
            "joint_error": {names[j]: relative_error(judged, joint=j) for j in each},
            "prior_joint_error": {names[j]: relative_error(judged, "prior", joint=j) for j in each},
            "joint_error_at_rest": {names[j]: relative_error(judged, joint=j, rest=True) for j in each},
            "prior_joint_error_at_rest": {
                names[j]: relative_error(judged, "prior", joint=j, rest=True) for j in each
            },
            **self._expected(),
            "tested": self.tested(),
            "kept": list(self.kept),
            "not_better": list(self.not_better()),
            "total_mass": float(sum(joint.body.mass for joint in self.chain.joints)),
            "links": {joint.link: self._link(k) for k, joint in enumerate(self.chain.joints)},
            "from_description": list(self.from_description),
            "friction": self.friction(),
            "friction_deviation": self._friction_deviations(),
            "base_parameters": [asdict(entry) for entry in self.base],
            "torque_offset": {
                name: float(value) for name, value in zip(names, self.drives["torque_offset"], strict=True)
            },
            "not_excited": list(self.not_excited),
            "held": list(self.held),
        }
        if self.coupling is not None:
            result["motors"] = {
                "coupling": self.coupling.tolist(),
                **{name: list(map(float, values)) for name, values in self.drives.items()},
            }
        if self.treatment is not None:
            result["cutoff"] = self.treatment.cutoff
            result["delay"] = asdict(self.treatment.delay)
            result["held_out"] = self.treatment.held_out
            result["notes"] = list(self.treatment.notes)
        bodies = {tip: _body(body) for tip, body in self.payloads.items()}
        if self.payload is not None:
            result["payload"] = bodies[self.chain.tip]
        elif bodies:
            result["payloads"] = bodies
        return result

    def offset_shares(self) -> dict[str, float]:
        """Torque offset of each joint as a share of the root mean square of its measured efforts."""
        measured = np.concatenate([run.measured for run in self.learn])
        size = np.sqrt(np.mean(measured**2, axis=0))
        offsets = np.abs(self.drives["torque_offset"])
        shares = np.where(size > 0.0, offsets / np.where(size > 0.0, size, 1.0), 0.0)
        return {name: float(share) for name, share in zip(self.chain.joint_names, shares, strict=True)}

    @property
    def from_description(self) -> tuple[str, ...]:
        """Names of the links' masses that no motion determines."""
        links = {joint.link: self._link(k)["deviation"] for k, joint in enumerate(self.chain.joints)}
        return tuple(f"{link}.mass" for link, deviation in links.items() if deviation["mass"] is None)

    def _friction_deviations(self) -> dict[str, list[float | None]]:
        """Standard deviations of the parameters of `friction`, None for what no motion determines."""
        count = COUNT * len(self.chain.joints)
        units = np.eye(len(self.parameters))
        own = {name: count + self.chain.dof * k for k, name in enumerate(DRIVE_COLUMNS)}
        return {
            name: [self.knowledge.deviation(units[own[name] + j]) for j in range(self.chain.dof)]
            for name in self.friction()
            if name in own
        }

    def _expected(self) -> dict[str, Any]:
        names, keys = (
            self.chain.joint_names,
            (("expected_error", self.expected), ("expected_prior_error", self.expected_prior)),
        )
        result: dict[str, Any] = {key: found.whole if found else None for key, found in keys}
        result["expected_miss"] = self.expected_miss()
        if self.expected is not None:
            result["expected_joint_error"] = dict(zip(names, self.expected.joints, strict=True))
        return result

    def tested(self, learned: bool = False) -> dict[str, dict[str, list[float]]]:
        """Least and greatest position, velocity and effort of each joint in the runs that were predicted.

        Args:
            learned: count those that were learned from too.
        """
        runs = (*self.learn, *self.validate) if learned else self.validate or self.learn
        result: dict[str, dict[str, list[float]]] = {}
        for j, name in enumerate(self.chain.joint_names):
            result[name] = {}
            for key, kind in (("position", "position"), ("velocity", "velocity"), ("effort", "measured")):
                values = np.concatenate([getattr(run, kind)[:, j] for run in runs])
                result[name][key] = [float(values.min()), float(values.max())]
        return result

    def expected_miss(self) -> float | None:
        """Relative error that efforts of other motions may have.

        The held-out part shows errors of model and measurement near the recorded motion. Elsewhere those of
        the parameters are added as independent ones: DEVIATIONS times the standard deviation by their
        covariance.
        """
        held_out = relative_error(self.validate)
        known = [DEVIATIONS * self.expected.whole] if self.expected is not None else []
        known += [held_out] if held_out is not None else []
        return float(np.linalg.norm(known)) if known else None

    def not_better(self) -> tuple[str, ...]:
        """Names of joints whose held-out efforts the result predicts no better than the description."""
        names = []
        for j, name in enumerate(self.chain.joint_names):
            before = relative_error(self.validate, "prior", joint=j)
            after = relative_error(self.validate, joint=j)
            if before is not None and after is not None and not after <= before:
                names.append(name)
        return tuple(names)

    def _link(self, index: int) -> dict[str, Any]:
        body = self.chain.joints[index].body
        return {**_body(body), "deviation": _deviation(body, index, self.knowledge)}


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


def relative_error(
    runs: Sequence[Comparison], kind: str = "predicted", joint: int | None = None, rest: bool = False
) -> float | None:
    """‖predicted − measured‖ / ‖measured‖ over the moving joints of all runs; None without any.

    Args:
        runs: measured and predicted efforts.
        kind: "predicted" by the result, or "prior" by the description.
        joint: index of the only joint that counts; None for all.
        rest: count the joints at rest instead.
    """
    own = slice(None) if joint is None else slice(joint, joint + 1)
    missed = whole = 0.0
    for run in runs:
        counted = (run.usable & (~run.moving if rest else run.moving))[:, own]
        measured = run.measured[:, own][counted]
        missed += float(np.sum((getattr(run, kind)[:, own][counted] - measured) ** 2))
        whole += float(np.sum(measured**2))
    return float(np.sqrt(missed / whole)) if whole > 0.0 else None


def earth_or_none(compensates_gravity: bool) -> tuple[float, float, float]:
    """Gravity that the measured efforts carry."""
    return (0.0, 0.0, 0.0) if compensates_gravity else EARTH


def _body(body: RigidBody) -> dict[str, Any]:
    return {
        "mass": float(body.mass),
        "center": [float(value) for value in body.center_of_mass],
        "inertia": [[float(value) for value in row] for row in body.inertia],
    }


def _deviation(body: RigidBody, index: int, knowledge: Knowledge) -> dict[str, Any]:
    """Standard deviations of mass, centre and inertia, to first order in those of the parameters.

    None stands for what no motion determines: the result has it from the description.
    """
    center = parameters_of(body)

    def flat(parameters: Array) -> Array:
        found = body_of(parameters)
        return np.concatenate([[found.mass], found.center_of_mass, found.inertia.ravel()])

    steps = 1e-6 * np.maximum(np.abs(center), 1e-6)
    slopes = np.zeros((13, knowledge.base.grouping.shape[1]))
    for k, (step, unit) in enumerate(zip(steps, np.eye(COUNT), strict=True)):
        change = flat(center + step * unit) - flat(center - step * unit)
        slopes[:, COUNT * index + k] = change / (2.0 * step)
    # Differences of rounded numbers are no slopes.
    slopes[np.abs(slopes) < 1e-7 * np.abs(slopes).max(axis=1, keepdims=True)] = 0.0
    spread = [knowledge.deviation(row) for row in slopes]
    return {
        "mass": spread[0],
        "center": spread[1:4],
        "inertia": [spread[4 + 3 * row : 7 + 3 * row] for row in range(3)],
    }
