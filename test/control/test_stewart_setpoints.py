"""Platforms whose drives close the loop: setpoints of lengths, through motions and injected faults.

The drives are a first-order lag behind positions, or velocities that are 1 % too fast. Positions of the legs
are lengths less 1 m.
"""

import numpy as np
import pytest
from motion_base import motion_base

from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.operating_modes import OperatingMode
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.errors import ParameterError, StateError
from robot_dynamics.stewart.orientation import quaternion_from_rotation

PERIOD, SAFE_PERIOD, LAG, TOO_FAST = 0.004, 0.01, 0.02, 1.01
ZERO = np.ones(6)
LEVEL = [0.0, 0.0, 0.0, 1.0]
COMMANDS = ("position", "velocity")


@pytest.fixture(scope="module")
def platform():
    return motion_base()


class Drives:
    """A controller, its drives, and what holds of every setpoint."""

    def __init__(self, platform, command, **parameters):
        self.platform, self.machine = platform, platform.machine
        given = {"brake_engage_time": 0.1, "safe_fade_time": 0.5, **parameters}
        self.control = StewartController(platform, StewartParameters(command=command, **given), ZERO)
        self.velocity_drives = command == "velocity"
        self.place = self.lengths(self.machine.home_position)
        self.rate, self.time = np.zeros(6), 0.0
        self.last, self.limit = None, np.array([leg.limits.speed for leg in self.machine.legs])
        self.setpoints, self.restarts = [], 0

    def lengths(self, position, rotation=None):
        orientation = LEVEL if rotation is None else quaternion_from_rotation(rotation)
        return self.platform.legs(position, orientation).lengths - ZERO

    def _take(self, elapsed, measured):
        position, velocity = self.control.drive_reference
        assert np.isfinite(position).all()
        assert (np.abs(velocity) <= self.limit * (1.0 + 1e-9)).all()
        if self.last is None or (np.abs(position - self.last) > self.limit * elapsed).any():
            np.testing.assert_array_equal(position, measured)
            self.restarts += 1
        self.last = position
        self.setpoints.append((position, velocity))
        return position, velocity

    def _move(self, duration):
        position, velocity = self.setpoints[-1] if self.setpoints else (self.place, np.zeros(6))
        if self.velocity_drives:
            self.rate = TOO_FAST * velocity
        else:
            self.rate = np.clip((position - self.place) / LAG, -self.limit, self.limit)
        self.place = self.place + duration * self.rate

    def cycle(self, place=None, rate=None, time=None):
        """One state and its command; a state that is told instead of the real one."""
        place = self.place if place is None else place
        rate = self.rate if rate is None else rate
        time = self.time if time is None else time
        try:
            self.command = self.control.update(time, place, rate)
        except StateError:
            self.control.lost_states(0.0)
            self.command = self.control.safe_command(0.0)
        self._take(PERIOD, place)
        self._move(PERIOD)
        self.time += PERIOD

    def run(self, duration, until=lambda: False):
        end = self.time + duration
        while self.time < end and not until():
            self.cycle()

    def silence(self, duration, age=0.1):
        """States are lost, noticed after ``age``; the fail-safe output goes on for a while."""
        self._move(age)
        self.control.lost_states(age)
        for since in np.arange(0.0, duration, SAFE_PERIOD):
            self.command = self.control.safe_command(float(since))
            self._take(SAFE_PERIOD + (0.0 if since else age), self.place)
            self._move(SAFE_PERIOD)
        self.time += age + duration

    def follow(self, shift, duration=1.0):
        target = self.machine.home_position + np.array(shift)
        self.control.follow([PoseWaypoint(duration, target, LEVEL)])
        return self.lengths(target)


@pytest.fixture(params=COMMANDS)
def drives(request, platform):
    return Drives(platform, request.param)


def moving(drives):
    """In the middle of a fast motion, at about 0.14 m/s."""
    drives.run(0.1)
    drives.follow((0.05, 0.02, 0.08))
    drives.run(0.5)
    assert np.abs(drives.setpoints[-1][1]).max() > 0.1


def rests(drives, brake=True):
    """The end of every fault: setpoints of a stop that stay, and brakes."""
    position, velocity = drives.control.drive_reference
    # Velocities have a part that keeps the lengths.
    assert np.abs(velocity).max() <= (1e-3 if drives.velocity_drives else 0.0)
    np.testing.assert_allclose(position, drives.place, atol=0.01)
    assert drives.control.brake == brake
    assert np.abs(position + ZERO - 1.55).max() < 0.2


def test_drives_follow_the_reference_and_the_forces_are_the_model_s(drives):
    """The forces are those of the inverse dynamics at the reference, whatever is measured."""
    first = drives.place.copy()
    drives.cycle()
    np.testing.assert_array_equal(drives.setpoints[0][0], first)
    drives.run(0.1)
    goal = drives.follow((0.05, 0.02, 0.08))
    drives.run(0.5)
    motion = drives.command.reference
    legs = drives.platform.legs_of(motion)
    twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
    np.testing.assert_allclose(drives.setpoints[-1][0] + ZERO, legs.lengths, atol=1e-12)
    if not drives.velocity_drives:
        np.testing.assert_allclose(drives.setpoints[-1][1], legs.jacobian @ twist, atol=1e-12)
    drives.run(1.5)
    np.testing.assert_allclose(drives.place, goal, atol=1e-4)
    assert drives.restarts == 1
    zero = np.zeros(3)
    still = drives.platform.inverse_dynamics(drives.command.reference.position, LEVEL, zero, zero, zero, zero)
    np.testing.assert_allclose(drives.command.effort, still.actuator_forces, rtol=1e-6)


def test_setpoints_are_those_of_the_reference_from_the_second_state_on(platform):
    drives = Drives(platform, "position")
    drives.cycle()
    drives.follow((0.05, 0.02, 0.08), 0.7)
    for _ in range(3):
        drives.cycle()
        legs = platform.legs_of(drives.command.reference).lengths
        np.testing.assert_allclose(drives.setpoints[-1][0] + ZERO, legs, rtol=0.0, atol=1e-12)
        assert not np.array_equal(drives.setpoints[-1][0], drives.setpoints[-2][0])


@pytest.mark.long
def test_a_stream_is_followed_and_its_end_parks_on_brakes(drives):
    drives.run(0.1)
    home = drives.machine.home_position
    begun = drives.time
    while drives.time < begun + 3.0:
        place = home + np.array([0.0, 0.0, 0.03 * np.sin(2.0 * (drives.time - begun))])
        drives.control.command_pose(PoseSample(drives.time - PERIOD, place, np.eye(3), None))
        for _ in range(4):
            drives.cycle()
    assert np.ptp([position for position, _ in drives.setpoints], axis=0).max() > 0.03
    drives.run(20.0, lambda: drives.control.modes.mode is OperatingMode.PARKED)
    drives.run(1.5)
    rests(drives)
    assert drives.control.unpark() == ""
    # The platform has sunk in its brakes: the setpoints begin there.
    drives.place = drives.place - 0.006
    drives.run(0.2)
    assert drives.restarts == 2
    drives.run(1.0)
    assert not drives.control.brake


@pytest.mark.parametrize("safe_output", ["settle", "gravity_fade", "zero"])
@pytest.mark.parametrize("command", COMMANDS)
def test_lost_states_end_in_a_stop_and_brakes(platform, command, safe_output):
    drives = Drives(platform, command, safe_output=safe_output)
    moving(drives)
    drives.silence(1.0)
    rests(drives)
    # The weight stays with the drives: no force falls to zero.
    assert np.abs(drives.command.effort).min() > 1e3
    held = drives.setpoints[-1][0]
    drives.run(0.5)
    assert drives.control.phase is Phase.HOLDING
    np.testing.assert_allclose(drives.place, held, atol=0.01)


def test_states_that_come_back_elsewhere_are_where_the_setpoints_begin(drives):
    """Drives that were switched off let the platform sink by 60 mm."""
    moving(drives)
    drives.silence(1.0)
    drives.place = drives.place - 0.06
    drives.cycle()
    np.testing.assert_allclose(drives.setpoints[-1][0], drives.place, atol=1e-3)
    drives.run(0.5)
    assert drives.control.phase is Phase.HOLDING


def _jump(drives):
    drives.cycle(place=drives.place + 0.2)


def _backwards(drives):
    drives.time -= 5.0


def _ahead(drives):
    drives.time += 3.0


def _too_fast(drives):
    drives.cycle(rate=np.full(6, 30.0))


def _no_pose(drives):
    drives.cycle(place=drives.place + np.array([0.15, -0.1, 0.0, 0.15, -0.1, 0.0]), rate=np.zeros(6))


def _gap(drives):
    drives._move(0.09)
    drives.time += 0.09


@pytest.mark.parametrize("fault", [_jump, _backwards, _ahead, _too_fast, _no_pose, _gap])
def test_faults_of_states_end_in_a_stop(drives, fault):
    moving(drives)
    (last, velocity), sent = drives.setpoints[-1], len(drives.setpoints)
    fault(drives)
    drives.run(2.0)
    if fault is not _gap:  # the stop begins where the drives have been sent, not where they are
        step = np.abs(drives.setpoints[sent][0] - last).max()
        assert step <= PERIOD * np.abs(velocity).max()
    assert drives.control.phase is Phase.HOLDING
    rests(drives, brake=drives.control.modes.mode is OperatingMode.PARKED)


@pytest.mark.parametrize("end", ["emergency_stop", "protect", "hold"])
def test_stops_go_along_the_path_and_end_on_brakes(drives, end):
    moving(drives)
    getattr(drives.control, end)()
    drives.run(3.0)
    rests(drives, brake=end != "hold")
    if end != "hold":
        assert not drives.command.effort.any()  # the brakes carry


def test_drives_that_do_not_follow_end_in_a_protective_stop(drives):
    moving(drives)
    stuck = drives.place.copy()
    for _ in range(500):
        drives.place, drives.rate = stuck, np.zeros(6)
        drives.cycle()
    assert drives.control.latched
    assert drives.control.brake
    assert np.abs(drives.setpoints[-1][1]).max() < 0.06


def test_the_command_of_a_controller_does_not_change(platform):
    control = StewartController(platform, StewartParameters(command="position"))
    with pytest.raises(ParameterError, match="'command' is effort; this controller has begun with position"):
        control.parameters = StewartParameters()
