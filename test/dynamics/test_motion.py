"""Simulated motions against closed forms, energy, and the order of the method."""

import numpy as np
import pytest
import random_robots

from robot_dynamics.dynamics.equations import kinetic_energy, potential_energy, simulate
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ParameterError, StateError
from robot_dynamics.model.chain import JointKind

REVOLUTE, PRISMATIC = JointKind.REVOLUTE, JointKind.PRISMATIC


def swinging_arm():
    """An unforced arm of two turning and one sliding joint, the slider held by a spring."""
    robot = random_robots.chain(21, n=3, kinds=[REVOLUTE, REVOLUTE, PRISMATIC])
    return SerialModel.from_chain(robot)


def spring(_, q, __):
    return np.array([0.0, 0.0, -80.0 * q[2]])


def total_energy(model, motion):
    pairs = zip(motion.q, motion.qd, strict=True)
    return np.array(
        [kinetic_energy(model, q, v) + potential_energy(model, q) + 40.0 * q[2] ** 2 for q, v in pairs]
    )


def test_energy_of_an_unforced_arm_is_kept():
    model = swinging_arm()
    motion = simulate(model, [0.5, -0.3, 0.0], [1.0, 0.5, 0.0], duration=0.8, step=4e-3, effort=spring)
    energy = total_energy(model, motion)
    moved = np.ptp([potential_energy(model, q) for q in motion.q])
    assert moved > 0.1
    assert np.max(np.abs(energy - energy[0])) < 1e-6 * moved


def test_fourth_order():
    """Halving the step divides the error of the final state by 16."""
    model = swinging_arm()

    def final(step):
        motion = simulate(model, [0.5, -0.3, 0.0], [1.0, 0.5, 0.0], duration=0.4, step=step, effort=spring)
        return np.concatenate([motion.q[-1], motion.qd[-1]])

    reference = final(0.4 / 256)
    errors = [np.linalg.norm(final(0.4 / steps) - reference) for steps in (16, 32, 64)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 4.0, atol=0.25)


def test_small_swings_of_a_pendulum_have_the_period_of_a_pendulum():
    length = 0.5
    model = SerialModel.from_dh(
        [0.0], [0.0], [0.0], [2.0], [[0.0, -2.0 * length, 0.0]], [np.diag([1.0, 0.0, 1.0]) * 2.0 * length**2],
        gravity=(0.0, -9.81, 0.0),
    )  # fmt: skip
    amplitude = 1e-3
    period = 2 * np.pi * np.sqrt(length / 9.81)
    motion = simulate(model, [amplitude], [0.0], duration=period, step=period / 200)
    np.testing.assert_allclose(
        motion.q[:, 0], amplitude * np.cos(2 * np.pi * motion.time / period), atol=1e-8
    )


def test_a_constant_force_gives_a_parabola():
    model = SerialModel.from_dh([0.0], [0.0], [0.0], [2.0], [[0.0, 0.0, 0.0]], [np.eye(3)], prismatic=[True])
    motion = simulate(
        model, [0.1], [0.5], duration=1.0, step=0.1, effort=lambda *_: np.array([3.0 + 2.0 * 9.81])
    )
    np.testing.assert_allclose(motion.q[:, 0], 0.1 + 0.5 * motion.time + 0.75 * motion.time**2, rtol=1e-12)


def test_bad_requests_are_refused():
    model = swinging_arm()
    with pytest.raises(ParameterError, match="step"):
        simulate(model, np.zeros(3), np.zeros(3), duration=1.0, step=0.0)
    with pytest.raises(StateError, match="j0, j1, j2"):
        simulate(model, np.zeros(3), np.zeros(2), duration=1.0, step=0.1)
    with pytest.raises(StateError, match="not finite"), np.errstate(all="ignore"):
        simulate(
            model, np.zeros(3), np.zeros(3), duration=1.0, step=0.1, effort=lambda *_: np.full(3, np.inf)
        )
