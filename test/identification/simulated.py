"""Logs of arms that are known: what a robot with given parameters would have reported."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.identification import inertial
from robot_dynamics.identification.friction import FrictionLaw, slid_along
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.regressor import regressor
from robot_dynamics.model.chain import KinematicChain


def parameters(chain: KinematicChain, rotor=0.0, damping=0.0, friction=0.0, offset=0.0, load=0.0, slid=0.0):
    """(10 k + 8 n,) of the chain's links and of drives that are all alike."""
    values = (rotor, damping, friction, friction, 0.0, slid, load, offset)
    drives = [np.full(chain.dof, value) for value in values]
    return np.concatenate([inertial.chain_parameters(chain), *drives])


def another(chain: KinematicChain, seed: int, size: float = 0.3) -> KinematicChain:
    """The chain with other, physically possible bodies: each pseudo-inertia P becomes A P Aᵀ."""
    draw = np.random.default_rng(seed)
    joints = []
    for joint in chain.joints:
        change = np.eye(4)
        change[:3, :3] += size / 2.0 * draw.uniform(-1.0, 1.0, (3, 3))
        change[:3, 3] = 0.02 * draw.uniform(-1.0, 1.0, 3)
        change *= np.sqrt(1.0 + size * draw.uniform(-1.0, 1.0))
        moved = inertial.moved_parameters(change) @ inertial.parameters_of(joint.body)
        joints.append(replace(joint, body=inertial.body_of(moved)))
    return replace(chain, joints=tuple(joints))


def trajectory(dof: int, seed: int, seconds: float = 20.0, rate: float = 125.0, shift: float = 0.0):
    """Times (N,) and q, qd, qdd (N, n) of a Fourier series of five harmonics, ``shift`` [s] later."""
    time = np.arange(round(seconds * rate)) / rate
    return time, *states_at(dof, seed, time + shift)


def states_at(dof: int, seed: int, time):
    """q, qd, qdd (N, n) of the Fourier series at the times (N,)."""
    draw = np.random.default_rng(seed)
    q, qd, qdd = np.zeros((3, len(time), dof))
    for k in range(1, 6):
        omega = 2.0 * np.pi * 0.1 * k
        size, phase = draw.uniform(0.2, 0.5, dof), draw.uniform(0.0, 2.0 * np.pi, dof)
        angle = omega * time[:, None] + phase
        q += size * np.sin(angle)
        qd += size * omega * np.cos(angle)
        qdd -= size * omega**2 * np.sin(angle)
    return q, qd, qdd


def stopping(dof: int, seed: int, seconds: float, rest: float, rate: float = 125.0):
    """Times and q, qd, qdd of the series, which slows down for 1 s after ``seconds`` and then rests."""
    time = np.arange(round((seconds + 1.0 + rest) * rate)) / rate
    pace = 0.5 + 0.5 * np.cos(np.pi * np.clip(time - seconds, 0.0, 1.0))
    slope = np.where(np.abs(time - seconds - 0.5) < 0.5, -0.5 * np.pi * np.sin(np.pi * (time - seconds)), 0.0)
    after = np.clip(time - seconds, 0.0, 1.0)
    along = np.minimum(time, seconds) + 0.5 * after + 0.5 * np.sin(np.pi * after) / np.pi
    q, qd, qdd = states_at(dof, seed, along)
    return time, q, pace[:, None] * qd, pace[:, None] ** 2 * qdd + slope[:, None] * qd


def simulated_log(
    chain: KinematicChain,
    true,
    seed: int,
    noise=0.0,
    seconds: float = 20.0,
    gravity=(0.0, 0.0, -9.81),
    law: FrictionLaw | None = None,
) -> Log:
    """A log of ``chain`` with the parameters ``true``; ``noise`` (n,) of the efforts [N·m]."""
    time, q, qd, qdd = trajectory(chain.dof, seed, seconds)
    bodies = true[: inertial.COUNT * len(chain.joints)]
    slid = slid_along(q, law.presliding_travel[None])[0] if law else None
    effort = regressor(chain, q, qd, qdd, gravity, law, bodies, slid) @ true
    effort = effort + noise * np.random.default_rng(seed + 1000).normal(size=effort.shape)
    return Log("run", chain.joint_names, time, q, qd, effort)
