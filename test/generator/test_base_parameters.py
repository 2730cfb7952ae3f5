"""Base parameters by rule against the rank of the regressor."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import plain_recursion
import pytest
import random_robots

import robot_dynamics as rd
from robot_dynamics.dynamics.base_parameters import base_parameters, standard_parameters
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.model.chain import JointKind
from robot_dynamics.papers.reference_models import reference_model

URDF = Path(__file__).parents[2] / "urdf"


def skew(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def on_inertia(v):
    """I v = on_inertia(v) @ (XX, XY, XZ, YY, YZ, ZZ)."""
    x, y, z = v
    return np.array([[x, y, z, 0, 0, 0], [0, x, 0, y, z, 0], [0, 0, x, 0, y, z]])


def regressor(model, q, qd, qdd):
    """(n, 10 links) torques as a linear function of the standard parameters."""
    z = np.array([0.0, 0.0, 1.0])
    w = wd = np.zeros(3)
    a = -model.gravity
    poses, blocks = [], np.zeros((model.dof, 10 * len(model.links)))
    for index, link in enumerate(model.links):
        pose = link.transform(q)
        r, p = pose[:3, :3], pose[:3, 3]
        poses.append((r, p))
        rate, change = (link.multiplier * x[link.coordinate] * z for x in (qd, qdd))
        a = r.T @ (a + np.cross(wd, p) + np.cross(w, np.cross(w, p)))
        w, wd = r.T @ w, r.T @ wd
        if link.revolute:
            wd, w = wd + np.cross(w, rate) + change, w + rate
        else:
            a = a + 2.0 * np.cross(w, rate) + change
        force = np.hstack([np.zeros((3, 6)), skew(wd) + skew(w) @ skew(w), a[:, None]])
        moment = np.hstack([on_inertia(wd) + skew(w) @ on_inertia(w), -skew(a), np.zeros((3, 1))])
        for previous in range(index, -1, -1):
            joint = model.links[previous]
            row = (moment if joint.revolute else force)[2]
            blocks[joint.coordinate, 10 * index : 10 * index + 10] += joint.multiplier * row
            r, p = poses[previous]
            force = r @ force
            moment = r @ moment + skew(p) @ force
    return blocks


def assert_minimal(model, seed=0):
    model = model.rebased()
    states = plain_recursion.states(model, seed, 12 * len(model.links) + 6)
    matrix = np.vstack([regressor(model, *state) for state in states])
    base = base_parameters(model)
    singular = np.linalg.svd(matrix, compute_uv=False)
    assert len(base.names) == np.sum(singular > 1e-9 * max(singular[0], 1e-300))
    same = matrix @ base.embedding @ base.grouping
    np.testing.assert_allclose(same, matrix, rtol=0, atol=1e-9 * max(np.abs(matrix).max(), 1.0))


def test_regressor_of_the_oracle():
    model = plain_recursion.random_arm(3, n=4)
    for state in plain_recursion.states(model, 1):
        torques = regressor(model, *state) @ standard_parameters(model)
        expected = plain_recursion.inverse_dynamics(model, *state)
        np.testing.assert_allclose(torques, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(30))
def test_random_arms(seed):
    model = plain_recursion.random_arm(seed, n=1 + seed % 5, generic=seed % 4 == 0, prismatic=0.4)
    assert_minimal(model, seed)


@pytest.mark.parametrize("name", ["puma560", "arm7", "scara"])
def test_real_robots(name):
    assert_minimal(SerialModel.from_chain(rd.load_urdf(URDF / f"{name}.urdf")))


@pytest.mark.parametrize("kind", JointKind)
def test_parallel_axes_and_single_kinds(kind):
    vertical = [np.array([0.0, 0.0, 1.0])] * 4
    chain = random_robots.chain(5, n=4, kinds=[kind] * 4, axes=vertical, special=True)
    for gravity in ((0.0, 0.0, -9.81), (0.0, -9.81, 0.0)):
        assert_minimal(SerialModel.from_chain(chain, gravity))


@pytest.mark.parametrize("make", [reference_model(name).model for name in ("puma560_base", "rx90_base")])
def test_textbook_arms_have_36(make):
    model = make()
    links = [replace(link, inertia=np.eye(3), mass=1.0) for link in model.links]
    base = base_parameters(replace(model, links=tuple(links)))
    assert len(base.names) == 36
    assert base.names[:2] == ("ZZ1", "XX2")
    # The sets that the reference arms are given are base parameters already.
    parameters = standard_parameters(model)
    np.testing.assert_allclose(base.embedding @ base.grouping @ parameters, parameters, atol=1e-14)
