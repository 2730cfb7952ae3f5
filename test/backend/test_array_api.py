"""Functions over array libraries: with NumPy as the library, the numbers of the generated Python.

Only what the array API standard has is used, so a namespace that has nothing else must do.
"""

from __future__ import annotations

import ast
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from random_arms import PinocchioArm, random_chain

from robot_dynamics.cli.main import main
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.errors import BackendError, ParameterError
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


@pytest.mark.long
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


@pytest.mark.parametrize("backend", ["numpy", "jax", "torch"])
def test_the_library_gives_the_same_functions_on_an_array_library(backend):
    """Against the generated Python: states of any leading axes, a wrench, and what is constant otherwise."""
    if backend != "numpy":
        library = pytest.importorskip(backend, reason=f"{backend} is not installed")
    if backend == "jax":
        library.config.update("jax_enable_x64", True)
    chain = load_urdf(resource("urdf/scara.urdf"))
    arm = compile_dynamics(chain, backend=backend, friction=False)
    right = compile_dynamics(chain, backend="python", friction=False)
    draw = np.random.default_rng(2)
    states, wrench, gravity = draw.normal(size=(3, 4, chain.dof)), draw.normal(size=6), [1.0, -2.0, -9.0]
    for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian", "energy"):
        count = STATES[name]
        expected = getattr(right, name)(*states[:count])
        found = getattr(arm, name)(*states[:count].reshape(count, 2, 2, chain.dof))
        pairs = zip(
            *((each,) if not isinstance(each, tuple) else each for each in (expected, found)), strict=True
        )
        for one, other in pairs:
            np.testing.assert_allclose(np.asarray(other).reshape(one.shape), one, rtol=1e-12, atol=1e-12)
    one = states[:, 0]
    for found in (arm.inverse_dynamics(*one, wrench), arm.inverse_dynamics(*one, wrench=wrench)):
        np.testing.assert_allclose(np.asarray(found), right.inverse_dynamics(*one, wrench), atol=1e-12)
    tilted = right.with_gravity(gravity).gravity(one[0])
    np.testing.assert_allclose(np.asarray(arm.gravity(one[0], gravity=gravity)), tilted, atol=1e-12)
    jacobian = np.asarray(arm.jacobian(one[0], axes="root"))
    np.testing.assert_allclose(jacobian, right.jacobian(one[0], axes="root"), atol=1e-12)
    drives = np.concatenate([np.full(chain.dof, 1.5), np.full(chain.dof, 0.8)])
    fast = np.array([1.0, -1.0, 0.5, -0.5])
    rubbed = np.asarray(arm.inverse_dynamics(one[0], fast, one[2], friction=drives))
    plain = right.inverse_dynamics(one[0], fast, one[2])
    np.testing.assert_allclose(rubbed, plain + 1.5 * fast + 0.8 * np.sign(fast), atol=1e-12)
    with pytest.raises(ParameterError, match="takes q, qd, qdd; 1 of them are given"):
        arm.inverse_dynamics(one[0])


def test_jax_gives_pinocchios_efforts_alone_and_within_what_a_user_transforms():
    """A CPU has options of its own, which JAX refuses within another transformation."""
    jax = pytest.importorskip("jax", reason="jax is not installed")
    jax.config.update("jax_enable_x64", True)
    chain = random_chain(np.random.default_rng(3), 4)
    right, arm = PinocchioArm(chain), compile_dynamics(chain, backend="jax", friction=False)
    states = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 5, chain.dof))
    q, qd, qdd = states
    efforts = np.array([right.inverse_dynamics(*state) for state in states.swapaxes(0, 1)])
    close = {"rtol": 0.0, "atol": 1e-12 * np.abs(efforts).max()}
    np.testing.assert_allclose(arm.inverse_dynamics(q, qd, qdd), efforts, **close)
    np.testing.assert_allclose(jax.jit(arm.inverse_dynamics)(q, qd, qdd), efforts, **close)
    np.testing.assert_allclose(jax.vmap(arm.inverse_dynamics)(q, qd, qdd), efforts, **close)
    # Constants within a function that is compiled.
    doubled = jax.jit(lambda factor: factor * arm.inverse_dynamics(q, qd, qdd))(2.0)
    np.testing.assert_allclose(doubled, 2.0 * efforts, rtol=0.0, atol=2.0 * close["atol"])
    slopes = jax.jacobian(lambda x: arm.inverse_dynamics(q[0], qd[0], x))(qdd[0])
    mass = arm.mass_matrix(q[0])
    np.testing.assert_allclose(slopes, mass, rtol=0.0, atol=1e-12 * np.abs(mass).max())
    found = arm.forward_dynamics(q, qd, efforts)
    np.testing.assert_allclose(found, qdd, rtol=0.0, atol=1e-9)


def test_a_library_that_is_missing_is_refused_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(BackendError, match=r"backend 'torch' needs the package torch.*pip install torch"):
        compile_dynamics(load_urdf(resource("urdf/scara.urdf")), backend="torch")
