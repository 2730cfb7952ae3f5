"""Stops and parking of an arm: a latched hold, brakes where there are any, and guiding by hand meanwhile."""

import numpy as np
import pytest
from closed_loop import READY, ArmLoop, PlatformLoop

from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.errors import ParameterError, TrajectoryError


def moving(**parameters):
    loop = ArmLoop("ur5", READY, **parameters)
    loop.braked_by_controller = True
    loop.run(0.05)
    loop.go(np.add(READY, [0.6, 0.3, 0.0, 0.0, 0.0, 0.0]), 1.5)
    loop.run(0.7)
    return loop


@pytest.mark.parametrize("command", ["emergency_stop", "park"])
def test_a_stop_without_brakes_ends_in_a_hold_until_the_reset(command):
    loop = moving()
    assert getattr(loop.control, command)() == ""
    stopped = loop.cycle
    loop.run(0.5)
    assert loop.phases[-1] is Phase.PROTECTIVE_STOP and not loop.control.brake
    assert loop.control.stop_state is StopState.PROTECTED
    braked = np.abs(np.diff(loop.velocities[stopped:], axis=0)).max(axis=0) / loop.period
    assert (braked < (1.2 if command == "park" else 2.4) * 10.0 * loop.limits).all()
    place = loop.plant.position.copy()
    with pytest.raises(TrajectoryError, match="reset_fault"):
        loop.go(READY, 5.0)
    assert "not on its brakes" in loop.control.unpark() or "reset_fault" in loop.control.unpark()
    assert loop.control.hold() is None and loop.control.park() == ""
    assert loop.control.reset_fault() == ""
    loop.run(0.2)
    np.testing.assert_allclose(loop.plant.position, place, atol=2e-3)
    loop.go(READY, 2.0)
    loop.run(2.3)
    np.testing.assert_allclose(loop.plant.position, READY, atol=2e-3)


def test_brakes_engage_at_rest_and_only_unpark_releases_them():
    loop = moving(brakes=True, safe_fade_time=0.2)
    assert not loop.control.brake
    assert loop.control.emergency_stop() == ""
    loop.run(1.0, until=lambda: loop.control.brake)
    assert np.abs(loop.plant.velocity).max() < 0.02
    loop.run(0.5)
    assert not loop.efforts[-1].any()
    place = loop.plant.position.copy()
    assert "reset_fault" in loop.control.unpark()
    assert loop.control.reset_fault() == ""
    loop.run(0.1)
    assert loop.control.brake and loop.control.stop_state is StopState.STOPPED
    with pytest.raises(TrajectoryError, match="unpark"):
        loop.go(READY, 5.0)
    assert loop.control.unpark() == ""
    loop.run(0.6, until=lambda: not loop.control.brake)
    loop.run(1.3)
    assert loop.phases[-1] is Phase.HOLDING and loop.control.trip is None
    assert loop.control.stop_state is StopState.RELEASED
    np.testing.assert_allclose(loop.plant.position, place, atol=2e-3)
    loop.go(READY, 2.0)
    loop.run(2.3)
    np.testing.assert_allclose(loop.plant.position, READY, atol=2e-3)


def test_an_arm_is_held_where_its_brakes_have_let_it_be():
    """They let it settle by 5 mrad: it does not return to where they have engaged."""
    loop = ArmLoop("ur5", READY, brakes=True, safe_fade_time=0.05)
    loop.braked_by_controller = True
    loop.run(0.05)
    loop.control.emergency_stop()
    loop.run(0.5)
    assert loop.control.brake and not loop.efforts[-1].any()
    settled = loop.plant.position - 0.005
    loop.plant.reset(settled)
    loop.run(0.1)
    assert loop.control.reset_fault() == "" and loop.control.unpark() == ""
    loop.run(0.6)
    assert not loop.control.brake and loop.control.trip is None
    np.testing.assert_allclose(loop.plant.position, settled, atol=5e-4)


def test_motion_on_engaged_brakes_brings_the_efforts_back():
    loop = moving(brakes=True, safe_fade_time=0.1)
    loop.control.emergency_stop()
    loop.run(1.0)
    assert loop.control.brake and not loop.efforts[-1].any()
    loop.braked_by_controller = False
    loop.plant.set_brakes(False)  # they fail
    place = loop.plant.position
    loop.run(1.5)
    assert "slip" in loop.control.state and loop.control.brake
    assert np.abs(loop.plant.position - place).max() < 0.06
    assert np.abs(loop.plant.velocity).max() < 1e-3
    loop.braked_by_controller = True
    assert loop.control.reset_fault() == "" and loop.control.unpark() == ""
    loop.run(1.0)
    assert loop.phases[-1] is Phase.HOLDING and not loop.control.brake


@pytest.mark.long
def test_a_platform_whose_brakes_do_not_hold_is_carried_again():
    loop = PlatformLoop(safe_fade_time=0.1)
    loop.run(1.2)
    loop.control.emergency_stop()
    loop.run(0.5)  # no brake has engaged
    assert loop.control.brake and "slip" in loop.control.state
    place = loop.plant.position
    loop.run(1.0)
    assert np.abs(loop.positions[-1] - loop.positions[0]).max() < 0.02
    np.testing.assert_allclose(loop.plant.position, place, atol=2e-3)
    loop.braked_by_controller = True
    loop.control.reset_fault()
    assert loop.control.unpark() == ""
    loop.run(1.0)
    assert loop.phases[-1] is Phase.HOLDING and not loop.control.brake


def test_brakes_that_do_not_hold_are_noticed_while_the_efforts_fade():
    """A UR5 moved by 2.5 rad at 4.5 times its velocity limit, a platform fell to its stops."""
    for loop, least, most in ((ArmLoop("ur5", READY, brakes=True), 0.01, 0.06), (PlatformLoop(), 1e-3, 6e-3)):
        loop.run(1.2)
        loop.control.emergency_stop()
        loop.run(3.0)  # no brake has engaged
        assert loop.control.brake and "slip" in loop.control.state
        assert least < np.abs(loop.positions - loop.positions[0]).max() < most
        assert np.abs(loop.velocities / loop.limits).max() < 0.1
        assert np.abs(loop.velocities[-1] / loop.limits).max() < 1e-3


def test_an_arm_that_was_moved_on_its_brakes_stays_where_it_is_when_they_let_go():
    loop = moving(brakes=True, safe_fade_time=0.1)
    loop.control.park()
    loop.run(1.0)
    elsewhere = np.add(READY, [0.5, 0.1, 0.0, 0.3, 0.0, 0.0])
    loop.plant.reset(elsewhere)
    loop.measure = None
    loop.run(0.1)
    assert loop.control.reset_fault() == "" and loop.control.unpark() == ""
    loop.run(1.5)
    np.testing.assert_allclose(loop.plant.position, elsewhere, atol=5e-3)


@pytest.mark.parametrize("state", [StopState.STOPPED, StopState.PROTECTED])
def test_a_remembered_stop_begins_on_the_brakes(state):
    loop = ArmLoop("ur5", READY, brakes=True)
    loop.braked_by_controller = True
    loop.control.begin_at_rest(state)
    loop.run(0.1)
    assert loop.control.brake and not loop.efforts[-1].any()
    assert (loop.phases[-1] is Phase.PROTECTIVE_STOP) == (state is StopState.PROTECTED)
    assert loop.control.stop_state is state


def test_a_latched_arm_is_guided_by_hand_slowly_and_held_again():
    loop = moving()
    loop.control.emergency_stop()
    loop.run(0.5)
    parameters = loop.control.parameters
    guided = type(parameters)(mode="gravity_compensation")
    loop.control.parameters = guided
    loop.run(0.4)
    at = loop.plant.position.copy()
    loop.disturbance = lambda time, effort: effort + np.array([20.0, 0, 0, 0, 0, 0])
    began = loop.cycle
    loop.run(1.0)
    assert loop.phases[-1] is Phase.PROTECTIVE_STOP
    assert loop.plant.position[0] - at[0] > 0.2
    assert (np.abs(loop.velocities[began:]) / loop.limits).max() < 0.5
    loop.disturbance = None
    loop.control.parameters = parameters
    loop.run(1.5)
    held = loop.references[-1]
    assert loop.control.reset_fault() == ""
    loop.run(0.5)
    np.testing.assert_array_equal(loop.references[-1], held)
    np.testing.assert_allclose(loop.plant.position, held, atol=0.021)


def test_an_arm_whose_model_is_in_doubt_is_not_guided():
    loop = ArmLoop("ur5", READY, gravity=(0.0, 0.0, 9.81))
    loop.run(0.2)
    assert loop.trip.rule.startswith("start_")
    with pytest.raises(ParameterError, match="in doubt"):
        loop.control.check_parameters(type(loop.control.parameters)(mode="gravity_compensation"))


def test_feedback_that_comes_back_while_the_arm_is_moved_by_hand_holds_it_without_a_trip():
    """The stop began while the efforts were those of the other mode: following error, protective stop."""
    loop = ArmLoop("ur5", READY, mode="gravity_compensation")
    loop.run(0.1)
    loop.disturbance = lambda time, effort: effort + np.array([10.0, 5.0, 3.0, 0.0, 0.0, 0.0])
    loop.run(0.8)
    loop.disturbance = None
    assert np.abs(loop.velocities[-1] / loop.limits).max() > 0.2
    loop.control.parameters = type(loop.control.parameters)()
    loop.run(0.5)
    assert loop.trip is None and loop.phases[-1] is Phase.HOLDING
    assert np.abs(loop.velocities[-1]).max() < 0.1
