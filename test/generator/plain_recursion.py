"""The oracle: Newton and Euler's equations link by link, in floats, without any simplification.

It is written from F = m (a - g), N = I dw + w x I w and the kinematics of a chain alone, and it is itself
held against Pinocchio in the tests.
"""

import numpy as np

from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.spatial import cross

Z = np.array([0.0, 0.0, 1.0])


def inverse_dynamics(model, q, qd, qdd, wrench=None, gravity=None):
    """Generalised forces; ``gravity`` in frame 0, ``wrench`` exerted by the tip, in the tip frame."""
    gravity = model.gravity if gravity is None else gravity
    w = wd = np.zeros(3)
    acceleration = -np.asarray(gravity, dtype=float)
    states = []
    for link in model.links:
        pose = link.transform(q)
        rotation, p = pose[:3, :3], pose[:3, 3]
        rate, change = (link.multiplier * x[link.coordinate] * Z for x in (qd, qdd))
        acceleration = rotation.T @ (acceleration + cross(wd, p) + cross(w, cross(w, p)))
        w, wd = rotation.T @ w, rotation.T @ wd
        if link.revolute:
            wd = wd + cross(w, rate) + change
            w = w + rate
        else:
            acceleration = acceleration + 2.0 * cross(w, rate) + change
        states.append((rotation, p, w, wd, acceleration))
    force = moment = np.zeros(3)
    if wrench is not None:
        force = model.tip[:3, :3] @ wrench[:3]
        moment = model.tip[:3, :3] @ wrench[3:] + cross(model.tip[:3, 3], force)
    tau = np.zeros(model.dof)
    for link, (rotation, p, w, wd, a) in zip(reversed(model.links), reversed(states), strict=True):
        s, inertia = link.first_moment, link.inertia
        force = force + link.mass * a + cross(wd, s) + cross(w, cross(w, s))
        moment = moment + inertia @ wd + cross(w, inertia @ w) + cross(s, a)
        tau[link.coordinate] += link.multiplier * (moment if link.revolute else force)[2]
        force = rotation @ force
        moment = rotation @ moment + cross(p, force)
    return tau


def mass_matrix(model, q):
    """Columns are the forces of unit accelerations at rest and without gravity."""
    zero, still = np.zeros(model.dof), np.zeros(3)
    columns = [inverse_dynamics(model, q, zero, unit, gravity=still) for unit in np.eye(model.dof)]
    return np.array(columns).T


def states(model, seed, count=3):
    """Random q, qd, qdd."""
    return np.random.default_rng(seed).uniform(-2.5, 2.5, (count, 3, model.dof))


def random_arm(seed, n=None, *, generic=False, prismatic=0.3):
    """A random arm given by DH parameters: special angles, zero lengths, links without first moment."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9)) if n is None else n
    half = np.pi / 2
    alpha = rng.choice([0.0, half, -half, np.pi, 0.7], n, p=[0.35, 0.2, 0.2, 0.05, 0.2])
    if generic:
        alpha = rng.uniform(-3.0, 3.0, n)
    first = rng.normal(size=(n, 3)) * rng.choice([0.0, 1.0], (n, 1))
    factors = rng.normal(size=(n, 3, 3))
    base, tip = np.eye(4), np.eye(4)
    base[:3, :3], tip[:3, :3] = _rotation(rng), _rotation(rng)
    base[:3, 3], tip[:3, 3] = rng.normal(size=(2, 3))
    return SerialModel.from_dh(
        alpha=alpha,
        a=rng.choice([0.0, 0.3, -0.4, 0.7], n),
        r=rng.choice([0.0, 0.5, -0.2], n),
        theta=rng.choice([0.0, 0.0, half, 0.3], n),
        mass=rng.uniform(0.5, 3.0, n),
        first_moment=first,
        inertia=factors @ factors.transpose(0, 2, 1) + 3.0 * np.eye(3),
        prismatic=rng.random(n) < prismatic,
        gravity=(0.0, 0.0, -9.81) if rng.random() < 0.5 else rng.normal(size=3) * 5.0,
        base=base,
        tip=tip,
    )


def _rotation(rng):
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))
