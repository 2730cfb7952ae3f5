"""Functions over array libraries: with NumPy as the library, the numbers of the generated Python.

Only what the array API standard has is used, so a namespace that has nothing else must do.
"""

from __future__ import annotations

import ast
from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.cli.main import main
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.model.load import load_urdf
from robot_dynamics.resources import resource

STANDARD = SimpleNamespace(
    **{name: getattr(np, name) for name in ("sin", "cos", "sqrt", "stack", "reshape", "zeros_like")}
)
STATES = {
    "inverse_dynamics": 3, "gravity": 1, "coriolis": 2, "coriolis_matrix": 2, "mass_matrix": 1,
    "inverse_mass_matrix": 1, "forward_dynamics": 3, "forward_kinematics": 1, "jacobian": 1,
    "jacobian_rate": 2, "energy": 2, "momentum": 2, "regressor": 3, "base_regressor": 3,
    "inverse_dynamics_derivatives": 3, "forward_dynamics_derivatives": 3,
}  # fmt: skip


def module_of(folder, robot, *more):
    path = resource(f"urdf/{robot}.urdf")
    arguments = ["generate", str(path), "--language", "array-api", "-o", str(folder), *more]
    assert main(arguments) == 0
    text = (folder / f"{robot}_arrays.py").read_text(encoding="utf-8")
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(ast.parse(text)))
    space: dict = {}
    exec(text, space)
    return path, space


@pytest.mark.parametrize("robot", ["scara", "puma560"])
def test_every_quantity_agrees_for_states_of_any_leading_axes(tmp_path, robot):
    path, made = module_of(tmp_path, robot, "--quantity", "all")
    chain = load_urdf(path)
    dynamics = compile_dynamics(chain, backend="python", friction=False)
    states = np.random.default_rng(0).normal(size=(3, 6, chain.dof))
    for name, count in STATES.items():
        function = made[f"{robot}_{name}"]
        expected = getattr(dynamics, name)(*states[:count])
        found = function(STANDARD, *states[:count].reshape(count, 2, 3, chain.dof))
        single = function(STANDARD, *states[:count, 0])
        if not isinstance(expected, tuple):
            expected, found, single = (expected,), (found,), (single,)
        for right, many, one in zip(expected, found, single, strict=True):
            scale = np.abs(right).max()
            assert many.shape == (2, 3, *right.shape[1:])
            np.testing.assert_allclose(many.reshape(right.shape), right, rtol=0, atol=1e-12 * scale)
            np.testing.assert_allclose(one, right[0], rtol=0, atol=1e-12 * scale)
    assert set(made) - {"__builtins__"} >= {f"{robot}_{name}" for name in STATES}


def test_arguments_are_broadcast_against_each_other(tmp_path):
    path, made = module_of(tmp_path, "scara", "--wrench")
    dynamics = compile_dynamics(load_urdf(path), backend="python", friction=False)
    draw = np.random.default_rng(1)
    q, qd, qdd, wrench = (
        draw.normal(size=(5, 4)),
        draw.normal(size=4),
        draw.normal(size=4),
        draw.normal(size=6),
    )
    found = made["scara_inverse_dynamics"](STANDARD, q, qd, qdd, wrench)
    for row, position in zip(found, q, strict=True):
        np.testing.assert_allclose(
            row, dynamics.inverse_dynamics(position, qd, qdd, wrench), rtol=1e-12, atol=1e-12
        )
