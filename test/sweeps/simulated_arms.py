"""Arms drawn at random from installed descriptions, and logs of them; Pinocchio computes their efforts."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass, replace
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pinocchio

import robot_dynamics as rd
from robot_dynamics.identification import inertial
from robot_dynamics.identification.description import identified_urdf
from robot_dynamics.identification.logs import Log

ARMS = {
    "panda_description/urdf/panda.urdf": {},
    "ur_description/urdf/ur3_robot.urdf": {},
    "ur_description/urdf/ur5_robot.urdf": {},
    "ur_description/urdf/ur10_robot.urdf": {},
    "z1_description/urdf/z1.urdf": {"jointGripper": 0.0},
    "kinova_description/robots/kinova.urdf": {},
    "xarm_description/urdf/xarm7.urdf": {},
}
"""Descriptions in the package example-robot-data, and the joints that are locked."""
RATES = (30.0, 50.0, 100.0, 125.0, 250.0, 500.0, 1000.0)
STICTION = 0.005
"""Velocity below which the sign of a velocity is smooth in the nodes' law of friction [rad/s]."""


@dataclass(frozen=True)
class Friction:
    """Efforts of the actuators beside those of the links: friction and rotor inertia, (n,) each."""

    rotor: np.ndarray
    damping: np.ndarray
    coulomb: np.ndarray
    static: np.ndarray
    stribeck: np.ndarray
    asymmetry: np.ndarray
    load: np.ndarray
    builds: np.ndarray
    travel: np.ndarray

    def efforts(self, q, qd, qdd, load):
        """(N, n) from positions one after the other, velocities, accelerations and efforts of the links."""
        slow = np.clip(qd / STICTION, -1.0, 1.0)
        sign = 0.5 * slow * (3.0 - slow**2)
        size = self.coulomb + (self.static - self.coulomb) * np.exp(-np.abs(qd) / self.stribeck)
        size = size + self.asymmetry * sign + self.load * np.abs(load)
        built = self.builds * (np.abs(sign) * built_up(q, self.travel) - sign)
        return self.rotor * qdd + self.damping * qd + size * sign + built


def built_up(q, travel):
    """(N, n) states of Dahl's friction along positions, zero at first."""
    result = np.zeros_like(q)
    for k in range(1, len(q)):
        way = q[k] - q[k - 1]
        fade = np.exp(-np.abs(way) / travel)
        result[k] = np.sign(way) + (result[k - 1] - np.sign(way)) * fade
    return result


@dataclass(frozen=True)
class Arm:
    """A description and the robot that it is meant to describe."""

    source: Path
    described: rd.KinematicChain
    true: rd.KinematicChain
    friction: Friction
    offset: np.ndarray

    def parameters(self) -> np.ndarray:
        """(10 k + 8 n,) true parameters in the order of the regressor."""
        law = self.friction
        dry = (law.coulomb, law.static, law.asymmetry, law.builds, law.load)
        drives = [law.rotor, law.damping, *dry, self.offset]
        return np.concatenate([inertial.chain_parameters(self.true), *drives])

    def efforts(self, q, qd, qdd) -> np.ndarray:
        """(N, n) that the motion takes, without the sensors' offsets."""
        links = link_efforts(identified_urdf(self.source, self.true), self.true, q, qd, qdd)
        return links + self.friction.efforts(q, qd, qdd, links)


def link_efforts(urdf: bytes, chain, q, qd, qdd) -> np.ndarray:
    """(N, n) efforts of the links by Pinocchio."""
    with tempfile.NamedTemporaryFile(suffix=".urdf") as file:
        Path(file.name).write_bytes(urdf)
        whole = pinocchio.buildModelFromUrdf(file.name)
    names = set(chain.joint_names)
    others = [k for k in range(1, whole.njoints) if whole.names[k] not in names]
    model = pinocchio.buildReducedModel(whole, others, pinocchio.neutral(whole)) if others else whole
    data = model.createData()
    order = [chain.joint_names.index(name) for name in list(model.names)[1:]]
    place = np.zeros((len(q), model.nq))
    for k, j in enumerate(order):
        joint = model.joints[k + 1]
        if joint.nq == 2:  # a continuous joint
            place[:, joint.idx_q], place[:, joint.idx_q + 1] = np.cos(q[:, j]), np.sin(q[:, j])
        else:
            place[:, joint.idx_q] = q[:, j]
    result = np.zeros_like(q)
    for k in range(len(q)):
        result[k, order] = pinocchio.rnea(model, data, place[k], qd[k, order], qdd[k, order])
    return result


def arm(draw: np.random.Generator, index: int, load: bool = True) -> Arm:
    """A robot whose masses are up to 50 % off its description."""
    name, locked = list(ARMS.items())[index % len(ARMS)]
    [source] = [f.locate() for f in files("example-robot-data") if str(f).endswith(f"robots/{name}")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain = rd.load_urdf(source, locked_joints=locked)
    joints = []
    for joint in chain.joints:
        body = joint.body
        size = np.sqrt(np.abs(np.linalg.eigvalsh(body.inertia)).max() / max(body.mass, 1e-9))
        change = np.eye(4)
        change[:3, :3] += 0.1 * draw.uniform(-1.0, 1.0, (3, 3))
        change[:3, 3] = 0.3 * size * draw.uniform(-1.0, 1.0, 3)
        change *= np.sqrt(1.0 + 0.5 * draw.uniform(-1.0, 1.0))
        moved = inertial.moved_parameters(change) @ inertial.parameters_of(body)
        joints.append(replace(joint, body=inertial.body_of(moved)))
    true = replace(chain, joints=tuple(joints))
    # Typical efforts and inertias of each joint give the size of its drive.
    q = draw.uniform(-1.5, 1.5, (40, chain.dof))
    still = np.zeros_like(q)
    from robot_dynamics.identification.regressor import inertial_regressor

    bodies = inertial.chain_parameters(chain)
    weight = np.abs(inertial_regressor(chain, q, still, still) @ bodies).max(axis=0)
    weight = np.maximum(weight, 0.1 * weight.max())
    unit = inertial_regressor(chain, q, still, np.ones_like(q), (0.0, 0.0, 0.0)) @ bodies
    inertia = np.maximum(np.abs(unit).mean(axis=0), 0.01)
    n = chain.dof
    coulomb = weight * draw.uniform(0.02, 0.12, n)
    curved = draw.random(n) < 0.3
    static = np.where(curved, coulomb * draw.uniform(0.3, 1.8, n), coulomb)
    own = np.random.default_rng(index)
    builds = np.minimum(coulomb, static) * own.uniform(0.0, 0.9, n) * (own.random(n) < 0.7)
    friction = Friction(
        rotor=inertia * draw.uniform(0.1, 1.0, n),
        damping=weight * draw.uniform(0.0, 0.1, n),
        coulomb=coulomb,
        static=static,
        stribeck=np.where(curved, draw.uniform(0.04, 0.4, n), 0.1),
        asymmetry=np.zeros(n),
        load=draw.uniform(0.0, 0.1, n) * load * (draw.random() < 0.5),
        builds=builds * (own.random() < 0.4),
        travel=np.exp(own.uniform(np.log(0.001), np.log(0.02), n)),
    )
    offset = weight * draw.uniform(-0.03, 0.03, n) * (draw.random() < 0.5)
    return Arm(source, chain, true, friction, offset)


@dataclass(frozen=True)
class Conditions:
    """Conditions of a run: its motion and its measurements."""

    rate: float
    delay: float
    encoder_step: float
    noise: float
    seconds: float
    speed: float
    span: float

    @classmethod
    def drawn(cls, draw: np.random.Generator) -> Conditions:
        """At random; one run in five is slow or small."""
        poor = draw.random() < 0.2
        return cls(
            rate=float(draw.choice(RATES)),
            delay=float(draw.choice([0.0, draw.uniform(0.0, 0.015)])),
            encoder_step=float(10.0 ** draw.uniform(-5.3, -3.7)),
            noise=float(draw.uniform(0.002, 0.02)),
            seconds=float(draw.uniform(20.0, 40.0)),
            speed=float(draw.uniform(0.1, 0.2) if poor else draw.uniform(0.4, 0.8)),
            span=float(draw.uniform(0.15, 0.4) if poor else draw.uniform(0.6, 1.2)),
        )


def motion(chain, draw: np.random.Generator, time, speed: float, span: float):
    """q, qd, qdd (N, n): a Fourier series of incommensurable frequencies, within limits."""
    limits = [chain.driving_joint(j).limits for j in range(chain.dof)]
    lower = np.array([max(limit.lower, -2.5) for limit in limits])
    upper = np.array([min(limit.upper, 2.5) for limit in limits])
    velocity = np.array([min(limit.velocity, 3.0) for limit in limits])
    terms = 6
    frequency = 2.0 * np.pi * draw.uniform(0.04, 0.6, (terms, chain.dof))
    size = draw.uniform(0.3, 1.0, (terms, chain.dof)) / frequency**0.5
    phase = draw.uniform(0.0, 2.0 * np.pi, (terms, chain.dof))
    angle = frequency * time[:, None, None] + phase
    q = np.sum(size * np.sin(angle), axis=1)
    qd = np.sum(size * frequency * np.cos(angle), axis=1)
    qdd = -np.sum(size * frequency**2 * np.sin(angle), axis=1)
    scale = np.minimum(
        np.minimum(span, 0.5 * (upper - lower)) / np.abs(q).max(axis=0),
        np.minimum(speed * velocity / np.abs(qd).max(axis=0), 8.0 * speed / np.abs(qdd).max(axis=0)),
    )
    room = 0.5 * (upper - lower) - scale * np.abs(q).max(axis=0)
    middle = 0.5 * (upper + lower) + draw.uniform(-0.6, 0.6, chain.dof) * np.maximum(room, 0.0)
    return middle + scale * q, scale * qd, scale * qdd


def log_of(arm: Arm, conditions: Conditions, draw: np.random.Generator, pace: float = 1.0) -> Log:
    """States that the robot reports of a motion, which may be slower by the factor ``pace``."""
    time = np.arange(round(conditions.seconds * conditions.rate)) / conditions.rate
    seed = draw.integers(2**32)

    def at(when):
        again = np.random.default_rng(seed)
        # The same motion at other times: the scales come from a common grid.
        grid = np.linspace(0.0, conditions.seconds, 4001)
        times = np.concatenate([grid, pace * when])
        whole = motion(arm.described, again, times, conditions.speed, conditions.span)
        return [pace**order * part[len(grid) :] for order, part in enumerate(whole)]

    q, qd, _ = at(time)
    effort = arm.efforts(*at(time - conditions.delay)) + arm.offset
    effort = effort + conditions.noise * np.abs(effort).max(axis=0) * draw.normal(size=effort.shape)
    step = conditions.encoder_step
    return Log("run", arm.described.joint_names, time, step * np.round(q / step), qd, effort)
