"""Another model under a moving arm: the effort goes over to it without a jump."""

from dataclasses import replace

import numpy as np
import pytest
from arms import GRAVITY, LENGTH, Pendulum, pendulum_chain

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.control.arm.parameters import ArmParameters

PERIOD, CHANGE = 0.001, 0.2
CHANGES = round(CHANGE / PERIOD)
Q, QD = np.array([0.7]), np.zeros(1)


class Laden(Pendulum):
    """The pendulum with a point mass at its end."""

    def __init__(self, mass):
        self.mass = mass

    def inverse_dynamics(self, q, qd, qdd, heading=None):
        load = self.mass * LENGTH * (LENGTH * qdd + GRAVITY * np.sin(q))
        return super().inverse_dynamics(q, qd, qdd) + load


def controller(dynamics, **parameters):
    given = ArmParameters(model_change_time=CHANGE, half_period_ahead=False, **parameters)
    return ArmController(pendulum_chain(), dynamics, given)


def held(control, start, cycles, q=Q):
    """Efforts of so many cycles of the arm at rest at ``q``, from cycle ``start`` on."""
    return np.array([control.update((start + k) * PERIOD, q, QD).effort[0] for k in range(cycles)])


@pytest.mark.parametrize("mode", ["computed_torque", "feedforward", "gravity_compensation"])
def test_the_effort_goes_over_to_the_new_model_in_a_straight_line(mode):
    control = controller(Pendulum(), mode=mode)
    old = held(control, 0, 5)[-1]
    control.change_model(Laden(3.0))
    new = Laden(3.0).inverse_dynamics(Q, QD, QD)[0]
    efforts = held(control, 5, 2 * CHANGES)
    line = np.concatenate([np.linspace(old, new, CHANGES + 1), np.full(CHANGES - 1, new)])
    np.testing.assert_allclose(efforts, line, rtol=1e-9)


def test_a_change_during_a_change_does_not_jump_either_and_ends_at_the_last_model():
    control = controller(Pendulum())
    held(control, 0, 5)
    before = 0.0
    efforts = []
    for k, mass in enumerate((1.0, 4.0, 2.0)):
        control.change_model(Laden(0.5 * mass))  # overtaken before a state has come
        control.change_model(Laden(mass))
        efforts.append(held(control, 5 + 50 * k, 50))
        before = mass
    efforts = np.concatenate([*efforts, held(control, 155, CHANGES)])
    largest = np.abs(Laden(4.0).inverse_dynamics(Q, QD, QD) - Pendulum().inverse_dynamics(Q, QD, QD))[0]
    assert np.abs(np.diff(efforts)).max() < 1.5 * largest / CHANGES
    assert efforts[-1] == pytest.approx(Laden(before).inverse_dynamics(Q, QD, QD)[0])


def test_feedback_is_at_work_while_the_model_changes():
    control = controller(Pendulum())
    held(control, 0, 5)
    control.change_model(Laden(3.0))
    near = held(control, 5, 1)[0]
    away = held(control, 6, 1, Q - 0.01)[0]
    # The law's reaction to 0.01 rad, with the inertia of the new model.
    stiffness = 100.0 * (Pendulum.inertia + 3.0 * LENGTH**2)
    assert away - near == pytest.approx(0.01 * stiffness, rel=0.15)


def test_after_a_loss_of_states_the_new_model_counts_at_once():
    control = controller(Pendulum())
    held(control, 0, 5)
    control.change_model(Laden(3.0))
    control.lost_states()
    assert held(control, 500, 1)[0] == pytest.approx(Laden(3.0).inverse_dynamics(Q, QD, QD)[0])


def test_a_new_controller_begins_with_the_effort_of_the_old_one():
    old = controller(Pendulum())
    last = held(old, 0, 5)[-1]
    new = controller(Laden(2.0))
    new.take_over_from(old)
    efforts = held(new, 0, CHANGES + 1)
    assert efforts[0] == pytest.approx(last)
    assert efforts[-1] == pytest.approx(Laden(2.0).inverse_dynamics(Q, QD, QD)[0])
    lost = controller(Pendulum())
    held(lost, 0, 5)
    lost.lost_states()
    fresh = controller(Laden(2.0))
    fresh.take_over_from(lost)
    assert held(fresh, 0, 1)[0] == pytest.approx(efforts[-1])


def test_zero_changes_at_once():
    control = ArmController(pendulum_chain(), Pendulum(), ArmParameters(model_change_time=0.0))
    held(control, 0, 5)
    control.change_model(Laden(2.0))
    assert held(control, 5, 1)[0] == pytest.approx(Laden(2.0).inverse_dynamics(Q, QD, QD)[0])


def test_a_change_at_once_is_as_fast_as_steps_may_be_and_no_fault():
    """Several faults would latch."""
    last, new = (model.inverse_dynamics(Q, QD, QD)[0] for model in (Pendulum(), Laden(2.0)))
    limits = {"max_effort": (2.0 * new,), "max_effort_step": 0.25 * (new - last) / new}
    given = ArmParameters(model_change_time=0.0, **limits)
    control = ArmController(pendulum_chain(), Pendulum(), given)
    assert held(control, 0, 5)[-1] == pytest.approx(last)
    for change in range(4):
        control.change_model(Laden(0.0 if change % 2 else 2.0))
        went = held(control, 5 + 3 * change, 3)
        assert went == pytest.approx([0.5 * (last + new), *2 * [last if change % 2 else new]])
    assert not control.latched


def test_the_effort_goes_over_to_another_mode_and_to_other_gains_without_a_jump():
    control = controller(Pendulum())
    held(control, 0, 5)
    away = Q - 0.01
    last = held(control, 5, 1, away)[0]
    control.parameters = replace(control.parameters, kp=(400.0,), kv=(40.0,))
    firm = held(control, 6, CHANGES + 1, away)
    assert firm[0] == pytest.approx(last)
    assert firm[-1] == pytest.approx(last + 300.0 * 0.01 * Pendulum.inertia)
    halfway = held(control, 300, 1, away)[0]
    control.parameters = replace(control.parameters, mode="gravity_compensation")
    efforts = held(control, 301, CHANGES // 2, away)
    assert efforts[0] == pytest.approx(halfway)
    control.parameters = replace(control.parameters, mode="computed_torque")
    back = held(control, 301 + CHANGES // 2, CHANGES + 1, away)
    assert back[0] == pytest.approx(efforts[-1])
    # Without feedback it has been elsewhere: it is held where it is found, and not pulled back.
    assert back[-1] == pytest.approx(Pendulum().inverse_dynamics(away, QD, QD)[0])


def test_efforts_of_the_moment_go_over_to_the_new_model_too():
    feeder = Feedforward(pendulum_chain(), Pendulum(), FeedforwardParameters(model_change_time=CHANGE))
    feeder.observe(Q)
    old = feeder.effort(0.0)[0]
    feeder.change_model(Laden(1.0))
    feeder.change_model(Laden(3.0))
    new = Laden(3.0).inverse_dynamics(Q, QD, QD)[0]
    efforts = [feeder.effort(0.1 + k * PERIOD)[0] for k in range(CHANGES + 2)]
    np.testing.assert_allclose(efforts[:-1], np.linspace(old, new, CHANGES + 1), rtol=1e-9)
    assert efforts[-1] == pytest.approx(new)
