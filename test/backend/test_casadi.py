"""Functions for CasADi: compiled, loaded as external functions and differentiated, against Pinocchio."""

import subprocess

import numpy as np
import pinocchio as pin
import pytest
from compilers import CC

from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource

ca = pytest.importorskip("casadi", reason="casadi is not installed")

URDF = resource("urdf/scara.urdf")
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "forward_kinematics", "mass_matrix", "energy")
N = 4


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("casadi")
    arguments = ["--language", "casadi", "--friction", "-o", str(folder)]
    arguments += [word for name in QUANTITIES for word in ("--quantity", name)]
    assert main(["generate", str(URDF), *arguments]) == 0
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-fPIC", "-shared"]
    subprocess.run([*CC, *flags, "scara_casadi.c", "-o", "scara.so", "-lm"], cwd=folder, check=True)
    return {name: ca.external(f"scara_{name}", str(folder / "scara.so")) for name in QUANTITIES}


def differentiated(function):
    """The Jacobian of all outputs by all inputs, through an expression around the function."""
    inputs = [ca.MX.sym(function.name_in(i), N) for i in range(function.n_in())]
    values = 2.0 * ca.vec(function(*[ca.sin(given) for given in inputs]))
    outer = ca.Function("outer", inputs, [ca.jacobian(values, ca.vertcat(*inputs))])
    return lambda *states: (
        np.array(outer(*np.arcsin(states)))
        / np.concatenate([2.0 * np.sqrt(1.0 - state**2) for state in states])
    )


def test_dynamics_and_their_derivatives_are_pinocchios(functions):
    model = pin.buildModelFromUrdf(str(URDF))
    data = model.createData()
    q, qd, qdd = np.random.default_rng(0).uniform(-0.9, 0.9, (3, N))
    assert functions["inverse_dynamics"].name_in() == ["q", "qd", "qdd"]
    expected = pin.rnea(model, data, q, qd, qdd) + model.damping * qd + model.friction * np.sign(qd)
    tau = np.array(functions["inverse_dynamics"](q, qd, qdd)).ravel()
    np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    by_q, by_qd, mass = pin.computeRNEADerivatives(model, data, q, qd, qdd)
    mass = np.triu(mass) + np.triu(mass, 1).T
    blocks = np.hstack([by_q, by_qd + np.diag(model.damping), mass])
    jacobian = differentiated(functions["inverse_dynamics"])(q, qd, qdd)
    np.testing.assert_allclose(jacobian, blocks, rtol=0, atol=1e-9 * np.abs(blocks).max())
    share = 0.9 * tau / np.abs(tau).max()
    friction = model.damping * qd + model.friction * np.sign(qd)
    by_q, by_qd, inverse = pin.computeABADerivatives(model, data, q, qd, share - friction)
    inverse = np.triu(inverse) + np.triu(inverse, 1).T
    blocks = np.hstack([by_q, by_qd - inverse @ np.diag(model.damping), inverse])
    jacobian = differentiated(functions["forward_dynamics"])(q, qd, share)
    np.testing.assert_allclose(jacobian, blocks, rtol=0, atol=1e-9 * np.abs(blocks).max())
    matrix = np.array(functions["mass_matrix"](q))
    np.testing.assert_allclose(matrix, mass, rtol=0, atol=1e-10 * np.abs(mass).max())


@pytest.mark.parametrize("name", ["forward_kinematics", "mass_matrix", "energy"])
def test_the_chain_rule_agrees_with_differences(functions, name):
    function, rng = functions[name], np.random.default_rng(1)
    states = rng.uniform(-0.9, 0.9, (function.n_in(), N))
    jacobian = differentiated(function)(*states)
    step = 1e-6
    for column, direction in enumerate(step * np.eye(states.size).reshape(-1, *states.shape)):
        ahead, behind = (np.array(function(*(states + way * direction))) for way in (1.0, -1.0))
        slope = ((ahead - behind) / (2.0 * step)).T.ravel()
        np.testing.assert_allclose(jacobian[:, column], slope, rtol=0, atol=1e-7 * np.abs(jacobian).max())


def test_what_the_interface_lacks_is_refused(tmp_path, capsys):
    for arguments, words in (
        (["--language", "casadi", "--wrench"], "no wrench"),
        (["--friction"], "--language casadi"),
    ):
        assert main(["generate", str(URDF), "-o", str(tmp_path), *arguments]) == 1
        assert words in capsys.readouterr().err
