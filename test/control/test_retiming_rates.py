"""Retiming within limits of the rate of efforts: closed forms, dense simulation, other starts."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.control.retiming.model import DrivenModel
from robot_dynamics.control.retiming.retime import KINDS, _Problem
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.resources import resource

INERTIA, WAY = 2.0, 3.0
WHEEL = (
    '<robot name="wheel"><link name="a"/><link name="b"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="2" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="spin" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
    "</robot>"
)


def shortest(jerk, acceleration):
    """Duration of a way from rest to rest with bounded jerk and acceleration."""
    ramp = acceleration / jerk
    if 2.0 * jerk * ramp**3 > WAY:  # the acceleration's limit is not reached
        return float(np.cbrt(32.0 * WAY / jerk))
    constant = 0.5 * (np.sqrt(ramp**2 + 4.0 * WAY / acceleration) - ramp)
    return float(2.0 * (constant + ramp))


@pytest.mark.parametrize(("rate", "effort"), [(8.0, np.inf), (8.0, 1000.0), (40.0, 6.0), (400.0, 6.0)])
def test_one_joint_is_as_fast_as_its_jerk_permits(rate, effort):
    wheel = rd.load_urdf(WHEEL)
    limits = rd.PathLimits(effort=effort, effort_rate=rate)
    made = rd.retime(wheel, [[0.0], [WAY]], limits)
    assert made.duration == pytest.approx(shortest(rate / INERTIA, effort / INERTIA), rel=1.5e-2)
    assert made.duration >= shortest(rate / INERTIA, effort / INERTIA)
    times = np.linspace(0.0, made.duration, 40_000)
    accelerations = made.spline.at(times)[2]
    assert np.abs(INERTIA * np.diff(accelerations, axis=0) / times[1]).max() <= rate
    assert accelerations[[0, -1]] == pytest.approx(0.0, abs=1e-9)
    assert (made.kind == KINDS.index("effort rate")).sum() > 50


@pytest.fixture(scope="module")
def arm():
    puma = rd.load_urdf(resource("urdf/puma560.urdf"))
    parameters = rd.ActuatorParameters(
        damping=(3.0, 5.0, 3.0, 0.5, 0.5, 0.5), friction=(5.0, 8.0, 5.0, 1.0, 1.0, 1.0), rotor_inertia=(0.2,)
    )
    return rd.ActuatedArm(rd.compile_dynamics(puma, friction=False), puma, parameters)


def path_of(seed, count=6):
    middle = np.array([0.0, -0.5, 0.5, 0.0, 0.0, 0.0])
    return middle + 0.6 * np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 6))


def rates_of(driven, at, states):
    """Largest change of the efforts a second without dry friction, and the efforts."""
    q, qd, qdd = states
    smooth = (
        driven.links.inverse_dynamics(q, qd, qdd) + driven.rotor_inertia * qdd + driven.friction[:, 0] * qd
    )
    return np.abs(np.diff(smooth, axis=0)).max(axis=0) / at[1], smooth


@pytest.mark.parametrize(("seed", "times"), [(0, 8.0), (1, 30.0), (2, 150.0)])
def test_an_arm_with_friction_keeps_all_limits(arm, seed, times):
    """Efforts cross their range so many times a second; 20 000 samples a second agree."""
    driven = DrivenModel.of(arm)
    given = rd.PathLimits.of(driven.chain)
    limits = rd.PathLimits(given.velocity, 40.0, given.effort, times * given.effort)
    made = rd.retime(arm, path_of(seed), limits)
    at = np.linspace(0.0, made.duration, int(20_000 * made.duration))
    q, qd, qdd = made.spline.at(at)
    rates, smooth = rates_of(driven, at, (q, qd, qdd))
    assert (rates / limits.effort_rate).max() <= 1.0
    assert (np.abs(driven.efforts(q, qd, qdd)) / limits.effort).max() <= 1.0
    assert (np.abs(qd) / limits.velocity).max() <= 1.0 and np.abs(qdd).max() <= 40.0
    hold = driven.links.inverse_dynamics(q[[0, -1]], 0.0 * q[[0, -1]], 0.0 * q[[0, -1]])
    assert smooth[[0, -1]] == pytest.approx(hold, abs=1e-6)
    without = rd.retime(arm, path_of(seed), rd.PathLimits(given.velocity, 40.0, given.effort))
    assert without.duration < made.duration < 1.5 * without.duration
    assert made.q[[0, -1]] == pytest.approx(path_of(seed)[[0, -1]], abs=1e-12)


def test_no_other_start_ends_at_a_much_faster_motion(arm, monkeypatch):
    given = rd.PathLimits.of(arm.links.chain)
    limits = rd.PathLimits(given.velocity, None, given.effort, 10.0 * given.effort)
    durations = []
    for variant in range(10):
        monkeypatch.setattr(_Problem, "variant", variant)
        durations.append(rd.retime(arm, path_of(3), limits, intervals=400).duration)
    assert durations[0] <= 1.01 * min(durations)
    assert max(durations) > min(durations)  # so the starts were different


def test_paths_that_turn_sharply_are_passed_not_much_more_slowly(arm):
    """All joints turn back at waypoints: no effort depends on the path acceleration there."""
    driven = DrivenModel.of(arm)
    given = rd.PathLimits.of(driven.chain)
    points = path_of(4, 40)
    points[5::6] = points[3::6][:6]
    limits = rd.PathLimits(given.velocity, None, given.effort, 5.0 * given.effort)
    made = rd.retime(arm, points, limits, intervals=400)
    at = np.linspace(0.0, made.duration, int(5_000 * made.duration))
    states = made.spline.at(at)
    assert (rates_of(driven, at, states)[0] / limits.effort_rate).max() <= 1.0
    assert (np.abs(driven.efforts(*states)) / limits.effort).max() <= 1.0
    assert (np.abs(states[1]) / limits.velocity).max() <= 1.0
    without = rd.retime(arm, points, rd.PathLimits(given.velocity, None, given.effort))
    assert made.duration < 1.25 * without.duration


def test_a_start_in_motion_keeps_its_speed(arm):
    given = rd.PathLimits.of(arm.links.chain)
    limits = rd.PathLimits(given.velocity, None, given.effort, 20.0 * given.effort)
    made = rd.retime(arm, path_of(4), limits, start_speed=0.05, end_speed=0.03)
    assert made.x[[0, -1]] == pytest.approx([0.05**2, 0.03**2])


def test_rates_that_are_none_or_too_small_are_refused(arm):
    with pytest.raises(ParameterError, match=r"effort_rate of joint 'joint1' is 0 N·m/s or N/s"):
        rd.retime(arm, path_of(0), rd.PathLimits(effort_rate=0.0))
    with pytest.raises(TrajectoryError, match=r"joint\d changes by .* N·m/s at s = .*, 1e-12 are"):
        rd.retime(arm, path_of(0), rd.PathLimits(velocity=2.0, effort_rate=1e-12))
    given = rd.PathLimits.of(arm.links.chain)
    limits = rd.PathLimits(given.velocity, None, given.effort, 0.1 * given.effort)
    with pytest.raises(TrajectoryError, match=r"joint\d changes by .* N·m/s at s = 0, .* are allowed"):
        rd.retime(arm, path_of(0), limits, start_speed=0.3)


@pytest.mark.parametrize("rate", [8.0, 200.0])
def test_a_trajectory_becomes_as_fast_as_waypoints_whatever_its_own_timing(rate):
    """The largest path speed, relative to the own timing, is found between those that fail and that bound."""
    times, rests = np.array([0.0, 10.0]), np.zeros((2, 1))
    slow = waypoint_spline(times, np.array([[0.0], [WAY]]), rests, rests)
    made = rd.retime(rd.load_urdf(WHEEL), slow, rd.PathLimits(effort=1000.0, effort_rate=rate))
    assert 1.0 <= made.duration / shortest(rate / INERTIA, 1000.0 / INERTIA) < 1.15
