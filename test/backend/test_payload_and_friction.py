"""Payload and friction as inputs of the kernels: what they add, and that another value compiles nothing."""

import logging

import numpy as np
import pytest
from interpreter import evaluate
from random_arms import PinocchioArm, random_chain

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.payload import with_payload
from robot_dynamics.dynamics.identifiable import body_parameters
from robot_dynamics.dynamics.programs import generate
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.native.compiler import Compiler
from robot_dynamics.resources import resource

GRAVITY = (1.0, -2.0, -9.3)
SCARA = resource("urdf/scara.urdf")


def body(rng, mass):
    """A body that exists: three point masses."""
    points = rng.normal(size=(4, 3)) * 0.2
    center = points.mean(axis=0)
    inertia = sum(mass / 4 * ((r @ r) * np.eye(3) - np.outer(r, r)) for r in points - center)
    return RigidBody(mass, center, inertia)


@pytest.mark.parametrize("seed", range(3))
def test_every_quantity_knows_the_payload(seed):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, 3 + seed, mimic=seed == 2)
    load = body(rng, 3.0)
    carried = with_payload(chain, load.mass, load.center_of_mass, load.inertia)
    models = [SerialModel.from_chain(each, np.array(GRAVITY)) for each in (chain, carried)]
    values = dict(zip(("q", "qd", "qdd"), rng.normal(size=(3, chain.dof)), strict=True))
    values |= {"tau": values["qdd"], "payload": body_parameters(load), "gravity": np.array(GRAVITY)}
    for name, quantity in QUANTITIES.items():
        held = [array.name for array in quantity.held if array.name != "friction"]
        if "payload" in held:
            ours = evaluated(models[0], name, held, values)
            for output, expected in evaluated(models[1], name, [], values).items():
                close(ours[output], expected)
    motion = [values[name] for name in ("q", "qd", "qdd")]
    ours = evaluated(models[0], "inverse_dynamics", ["gravity", "payload"], values)["tau"]
    close(ours, PinocchioArm(carried, GRAVITY).inverse_dynamics(*motion))


def evaluated(model, name, held, values):
    """The outputs of the program, without a search for the best one."""
    program = generate(model, name, inputs=held, effort="none")
    return evaluate(program, {argument.name: values[argument.name] for argument in program.inputs})


def close(value, reference):
    np.testing.assert_allclose(value, reference, rtol=0, atol=1e-9 * max(1.0, np.abs(reference).max()))


def test_another_payload_compiles_nothing(monkeypatch):
    rng = np.random.default_rng(7)
    chain = load_urdf(resource("urdf/puma560.urdf"))
    wanted = ("inverse_dynamics", "mass_matrix")
    first = compile_dynamics(chain, GRAVITY, "c", wanted, payload=body(rng, 1.0))
    monkeypatch.setattr(Compiler, "compile", lambda *_: pytest.fail("the compiler was called"))
    monkeypatch.setattr(
        "robot_dynamics.dynamics.programs.generate", lambda *_: pytest.fail("generated again")
    )
    states = rng.normal(size=(3, 20, 6))
    for mass in (0.0, 0.5, 2.0):
        load = body(rng, mass)
        carried = PinocchioArm(with_payload(chain, mass, load.center_of_mass, load.inertia), (0.0, 0.0, -9.0))
        changed = first.with_payload(load).with_gravity((0.0, 0.0, -9.0))
        expected = np.array([carried.inverse_dynamics(*state) for state in states.transpose(1, 0, 2)])
        for result, reference in (
            (changed.inverse_dynamics(*states), expected),
            (changed.inverse_dynamics(*states[:, 0]), expected[0]),
            (changed.mass_matrix(states[0, 0]), carried.mass_matrix(states[0, 0])),
        ):
            np.testing.assert_allclose(result, reference, rtol=0, atol=1e-9 * np.abs(reference).max())


def test_friction_is_that_of_the_drives():
    chain = load_urdf(SCARA)
    compiled, dynamics, links = (
        compile_dynamics(chain, GRAVITY, backend, (), friction=friction)
        for backend, friction in (("c", True), ("python", True), ("python", False))
    )
    drives = ActuatedArm(links, chain, ActuatorParameters())
    rng = np.random.default_rng(1)
    q, qdd = rng.normal(size=(2, chain.dof))
    for speed in (0.0, 1e-4, 4e-3, 1.0, 1e3):
        qd = speed * rng.choice([-1.0, 1.0], chain.dof)
        tau = dynamics.inverse_dynamics(q, qd, qdd)
        reference = drives.inverse_dynamics(q, qd, qdd)
        np.testing.assert_allclose(tau, reference, rtol=1e-12, atol=1e-12 * np.abs(reference).max())
        for result in (compiled.inverse_dynamics(q, qd, qdd), compiled.inverse_dynamics([q], [qd], [qdd])[0]):
            np.testing.assert_allclose(result, tau, rtol=1e-12, atol=1e-12 * np.abs(tau).max())
        accelerations = dynamics.forward_dynamics(q, qd, tau)
        np.testing.assert_allclose(accelerations, qdd, rtol=0, atol=1e-9 * np.abs(tau).max())
        by_qd = dynamics.inverse_dynamics_derivatives(q, qd, qdd)[1]
        step = 1e-6 * max(speed, 1e-3)
        for j, direction in enumerate(step * np.eye(chain.dof)):
            ahead, behind = (dynamics.inverse_dynamics(q, qd + d, qdd) for d in (direction, -direction))
            slope = (ahead - behind) / (2.0 * step)
            np.testing.assert_allclose(by_qd[:, j], slope, rtol=0, atol=1e-5 * np.abs(by_qd).max())
        mass_inverse = links.inverse_mass_matrix(q)
        np.testing.assert_allclose(
            dynamics.forward_dynamics_derivatives(q, qd, tau)[1],
            -mass_inverse @ by_qd,
            rtol=0,
            atol=1e-9 * np.abs(mass_inverse).max() * np.abs(by_qd).max(),
        )


def test_friction_that_is_left_out_is_told(caplog):
    chain = load_urdf(SCARA)
    with caplog.at_level(logging.WARNING):
        compile_dynamics(chain, backend="python", quantities=())
    assert "friction=True" in caplog.text
    caplog.clear()
    for choice in (True, False):
        assert compile_dynamics(chain, backend="python", quantities=(), friction=choice).friction is choice
    compile_dynamics(load_urdf(resource("urdf/puma560.urdf")), backend="python", quantities=())
    assert not caplog.text


@pytest.mark.parametrize(
    "payload",
    [
        (1.0, 2.0),
        [np.nan] * 10,
        "heavy",
        [-1.0, *[0.0] * 9],
        [1e300] * 10,
        [1.0, 0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 1.0, 0.0, 1.0],
        [2.0, 0.0, 0.0, 0.4, 0.01, 0.0, 0.01, 0.0, 0.0, 0.01],
    ],
    ids=["short", "nan", "text", "negative", "huge", "negative inertia", "about the centre"],
)
def test_what_is_no_body_is_refused(payload):
    dynamics = compile_dynamics(load_urdf(SCARA), backend="python", quantities=(), friction=False)
    with pytest.raises(ParameterError, match="payload"):
        dynamics.with_payload(payload)
