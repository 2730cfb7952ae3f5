"""The latched protective stop: it holds with feedback, and nothing is followed until it is reset."""

import numpy as np
import pytest
from arms import Pendulum, pendulum_chain

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.core.library import ffi, load_core
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.control.protocol import LATCHED, MOVES, Phase
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import TrajectoryError

PERIOD = 0.002
OVERSPEED = list(enumerators("rd_rule")).index("overspeed")


def protected(mode="computed_torque"):
    """A controller at 0.5 rad whose protective stop has begun while it followed a trajectory."""
    control = ArmController(pendulum_chain(), Pendulum(), ArmParameters(mode=mode, half_period_ahead=False))
    control.update(0.0, np.array([0.5]), np.zeros(1))
    if mode != "gravity_compensation":
        control.follow(["swing"], [Waypoint(2.0, (0.8,))])
    control.update(PERIOD, np.array([0.5]), np.zeros(1))
    load_core().rd_core_protect(ffi().cast("rd_core *", control.handle), OVERSPEED)
    return control


@pytest.mark.parametrize("mode", ["computed_torque", "pd", "feedforward", "gravity_compensation"])
def test_a_protective_stop_holds_with_feedback_in_every_mode(mode):
    control = protected(mode)
    command = control.update(2 * PERIOD, np.array([0.51]), np.zeros(1))
    assert command.phase is control.phase is Phase.PROTECTIVE_STOP
    feedback = -100.0 * 0.01 * Pendulum.inertia
    load = Pendulum().inverse_dynamics(np.array([0.5 if mode == "pd" else 0.51]), np.zeros(1), np.zeros(1))
    expected = feedback + (0.0 if mode == "pd" else load[0])
    assert command.effort[0] == pytest.approx(expected, rel=1e-6)


def test_trajectories_are_refused_until_the_reset_which_moves_nothing():
    control = protected()
    control.update(2 * PERIOD, np.array([0.5]), np.zeros(1))
    with pytest.raises(TrajectoryError, match="reset_fault"):
        control.follow(["swing"], [Waypoint(2.0, (0.8,))])
    assert control.reset_fault() == ""
    assert control.reset_fault() == "no protective stop is in force"
    command = control.update(3 * PERIOD, np.array([0.5]), np.zeros(1))
    assert command.phase is Phase.HOLDING
    assert command.reference.position[0] == 0.5
    control.follow(["swing"], [Waypoint(2.0, (0.8,))])
    assert control.phase is Phase.TRACKING


def test_a_robot_that_moves_is_not_reset_neither_while_it_turns_back():
    """Its springs would be soft before it is caught: an unknown load took a wrist to 1.16 of its speed."""
    control, time = protected(), 2 * PERIOD
    for velocity in (1.5, 0.0, -1.5):
        control.update(time, np.array([0.5]), np.array([velocity]))
        assert control.reset_fault() == MOVES and control.phase is Phase.PROTECTIVE_STOP
        time += 0.05
    while control.reset_fault():
        control.update(time, np.array([0.5]), np.zeros(1))
        time += PERIOD
    assert time == pytest.approx(2 * PERIOD + 0.1 + 0.2, abs=2 * PERIOD)
    assert control.update(time, np.array([0.5]), np.zeros(1)).phase is Phase.HOLDING


def test_a_plan_from_before_the_stop_is_refused_and_one_from_before_the_reset_is_void():
    control = protected()
    control.reset_fault()
    planned = control.plan(["swing"], [Waypoint(2.0, (0.8,))], control.plan_start(None))
    load_core().rd_core_protect(ffi().cast("rd_core *", control.handle), OVERSPEED)
    assert control.accept(planned) == LATCHED
    control.reset_fault()
    assert "came first" in control.accept(planned)


def test_lost_states_and_a_jump_keep_the_latch():
    control = protected()
    control.lost_states(0.1)
    assert control.phase is Phase.STALE
    assert control.update(0.5, np.array([0.5]), np.zeros(1)).phase is Phase.PROTECTIVE_STOP
    assert control.update(0.5 + PERIOD, np.array([0.9]), np.zeros(1)).phase is Phase.PROTECTIVE_STOP
    assert control.discontinuity
    control.hold()
    assert control.phase is Phase.PROTECTIVE_STOP
