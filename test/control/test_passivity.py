"""Passivity: no network of springs, masses and dampers gets more energy from an arm than was stored in it."""

from __future__ import annotations

import numpy as np
import pytest
from closed_loop import READY, ArmLoop
from scipy.spatial.transform import Rotation

from robot_dynamics.control.arm.task_impedance import six

STEP, EACH = 2.5e-4, 4
"""Step of the integration [s], and how many there are between two states."""


class Network:
    """A random network: springs and dampers between masses, points of the tip, the world and the joints.

    Args:
        draw: random numbers.
        tip: pose of the tip at the start, where everything is at rest and relaxed.
        q: (n,) positions of the joints at the start.
    """

    def __init__(self, draw, tip, q):
        masses = int(draw.integers(1, 4))
        self.offsets = draw.uniform(-0.1, 0.1, (2, 3))
        points = tip[:3, 3] + self.offsets @ tip[:3, :3].T
        fixed = points[draw.integers(0, 2, 2)] + draw.uniform(-0.3, 0.3, (2, 3))
        self.x = points[draw.integers(0, 2, masses)] + draw.uniform(-0.2, 0.2, (masses, 3))
        self.v = np.zeros_like(self.x)
        self.mass = 10.0 ** draw.uniform(-0.5, 1.0, masses)
        self.fixed = fixed
        nodes = 4 + masses
        pairs = [(i, k) for i in range(nodes) for k in range(i) if draw.uniform() < 0.6 and (i, k) != (3, 2)]
        pairs = [pair for pair in pairs if pair != (1, 0)]
        self.first, self.second = np.array(pairs).T
        places = self.places(points)
        self.rest = places[self.first] - places[self.second]  # a spring of length zero about this difference
        self.k = 10.0 ** draw.uniform(1.0, 5.0, len(pairs))
        self.d = np.where(
            draw.uniform(size=len(pairs)) < 0.5, 10.0 ** draw.uniform(-1.0, 2.0, len(pairs)), 0.0
        )
        n = len(q)
        self.q = q
        root = np.where(draw.uniform(size=(n, n)) < 0.3, draw.normal(0.0, 5.0, (n, n)), 0.0)
        self.joint_k = root @ root.T
        self.joint_d = 0.01 * self.joint_k * float(draw.integers(0, 2))

    def places(self, points):
        return np.vstack([points, self.fixed, self.x])

    def act(self, tip, jacobian, q, qd):
        """Efforts (n,) on the arm from this state, after which the masses have moved on by a step."""
        arms = self.offsets @ tip[:3, :3].T
        points = tip[:3, 3] + arms
        rows = [jacobian[:3] + np.cross(jacobian[3:].T, arm).T for arm in arms]
        rates = np.vstack([np.array([row @ qd for row in rows]), np.zeros((2, 3)), self.v])
        places = self.places(points)
        stretched = places[self.first] - places[self.second] - self.rest
        pulls = self.k[:, None] * stretched
        pulls += self.d[:, None] * (rates[self.first] - rates[self.second])
        forces = np.zeros_like(places)
        np.add.at(forces, self.first, -pulls)
        np.add.at(forces, self.second, pulls)
        self.v = self.v + STEP * forces[4:] / self.mass[:, None]
        self.x = self.x + STEP * self.v
        joints = self.joint_k @ (q - self.q) + self.joint_d @ qd
        return sum(row.T @ force for row, force in zip(rows, forces[:2], strict=True)) - joints


def spring(stiffness, clip, error):
    """Energy of springs that pull no more beyond a clip [J]."""
    far = np.maximum(np.abs(error) - clip, 0.0)
    return float(np.sum(stiffness * (0.5 * (np.abs(error) - far) ** 2 + clip * far)))


def stored(parameters, chain, arm, q, qd, target):
    """Energy of the arm and of its springs [J]."""
    kinetic = 0.5 * qd @ arm.mass_matrix(q) @ qd
    if parameters.mode == "joint_impedance":
        given = parameters.impedance(chain)
        return kinetic + spring(given["stiffness"], given["error_clip"], target - q)
    here, there = (arm.forward_kinematics(x) for x in (q, target))
    turn = Rotation.from_matrix(there[:3, :3] @ here[:3, :3].T).as_rotvec()
    error = np.concatenate([there[:3, 3] - here[:3, 3], turn])
    k, clip = (
        np.array(six(name, getattr(parameters, name)))
        for name in ("cartesian_stiffness", "cartesian_error_clip")
    )
    [posture] = parameters.nullspace_stiffness
    own = spring(posture, parameters.nullspace_max_effort / posture, target - q)
    return kinetic + spring(k, clip, error) + own


def share_given(seed, seconds, **law):
    """Largest energy that a random network has got from a UR5, as a share of what was stored at the start.

    The arm begins to move aside of its target. The model is exact, states come each millisecond.
    """
    draw = np.random.default_rng(seed)
    loop = ArmLoop("ur5", READY, start_motion=-1.0, max_effort=(1e4,), supervision="observe", **law)
    control, arm, target = loop.control, loop.links, np.array(READY)
    q = target + draw.uniform(-0.25, 0.25, 6)
    for k, place in enumerate(np.linspace(target, q, 30)):
        control.update(0.01 * (k - 30), place, np.zeros(6))
    qd = draw.uniform(-0.5, 0.5, 6)
    begins = stored(control.parameters, loop.chain, arm, q, qd, target)
    network = Network(draw, arm.forward_kinematics(q), q)
    given = most = 0.0
    for k in range(round(seconds / STEP)):
        if k % EACH == 0:
            effort = control.update(k * STEP, q, qd).unlimited
        push = network.act(arm.forward_kinematics(q), arm.jacobian(q, axes="root"), q, qd)
        before = qd
        qd = qd + STEP * arm.forward_dynamics(q, qd, effort + push)
        q = q + STEP * qd
        given -= STEP * 0.5 * push @ (qd + before)
        most = max(most, given)
    return most / begins


SLIGHT = {"cartesian_stiffness": (900.0, 60.0), "cartesian_damping": (3.0, 0.3), "nullspace_damping": 0.1}
LAWS = {
    "joints": {"mode": "joint_impedance", "joint_stiffness": (200.0,)},
    "joints, slightly damped": {
        "mode": "joint_impedance",
        "joint_stiffness": (200.0,),
        "joint_damping": (0.3,),
    },
    "frame": {"mode": "cartesian_impedance"},
    "frame, slightly damped": {"mode": "cartesian_impedance", **SLIGHT},
}


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_no_random_network_gets_more_energy_than_was_stored(law):
    for seed in range(6):
        assert share_given(seed, 1.0, **LAWS[law]) < 1.01
