"""Stops along a path, and the points that lead to a plan, against polynomials in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.control.arm.feed_stop import stop_spline
from robot_dynamics.control.arm.feeding import Lead, lead_times, sample_lead
from robot_dynamics.control.arm.trajectory import Reference

START = 2.0
FREE = np.full(2, np.inf)


class Weighed:
    """Masses of 3 and 0.5 kg, the second of which bears 2 N more, with viscous friction."""

    def inverse_dynamics(self, q, qd, qdd):
        return np.asarray(qdd) * [3.0, 0.5] + np.asarray(qd) * [0.0, 0.25] + [0.0, 2.0]


def path(*coefficients):
    """A polynomial path of ascending coefficients (2,), from ``START`` on."""
    rows = np.polynomial.Polynomial
    joints = [rows(list(joint)) for joint in np.array(coefficients).T]
    parts = [[joint.deriv(k) for joint in joints] for k in range(3)]

    def motion(times):
        return tuple(np.stack([joint(times - START) for joint in part], axis=-1) for part in parts)

    return motion


CRUISE = path((0.4, -0.2), (0.6, -0.3))


def stop(motion=CRUISE, deceleration=(2.0, 2.0), limits=FREE):
    made = stop_spline(motion, START, np.array(deceleration), Weighed(), np.array(limits))
    return made, float(made.times[-1] - made.times[0])


def test_a_stop_is_as_short_as_the_decelerations_permit():
    """The smoothest step decelerates by 1.5 v / T at most: T = 1.5 v / a of the joint that needs longest."""
    for deceleration, duration in (((2.0, 2.0), 0.45), ((3.0, 0.5), 0.9), ((9.0, 3.0), 0.15)):
        made, took = stop(deceleration=deceleration)
        assert made.times[0] == START and took == pytest.approx(duration, rel=1e-12)
        _, _, acceleration = made.at(made.times)
        largest = np.abs(acceleration).max(axis=0)
        ratio = largest / deceleration
        assert (ratio < 1.0 + 1e-9).all() and ratio.max() > 0.98
        assert len(made.times) == round(duration / 0.02) + 1
        np.testing.assert_allclose(np.diff(made.times), took / round(duration / 0.02), rtol=1e-9)
        end = CRUISE(START + 0.5 * took)[0]
        np.testing.assert_allclose(made.at(made.times[-1:])[0][0], end, atol=1e-12)
        np.testing.assert_allclose(np.stack(made.at(made.times[-1:]))[1:], 0.0, atol=1e-10)


def test_a_stop_goes_along_its_path_with_a_slower_clock():
    """Position, velocity and acceleration by the chain rule, at every knot."""
    motion = path((0.4, -0.2), (0.6, -0.3), (0.5, 0.4), (-0.3, 0.2))
    made, took = stop(motion)
    assert took > 0.45
    share = (made.times - START) / took
    clock = START + took * (share - share**3 + share**4 / 2.0)
    rate = 1.0 - 3.0 * share**2 + 2.0 * share**3
    slows = (-6.0 * share + 6.0 * share**2) / took
    q, v, a = motion(clock)
    expected = q, v * rate[:, None], a * rate[:, None] ** 2 + v * slows[:, None]
    for found, wanted in zip(made.at(made.times), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_a_stop_is_never_shorter_than_what_points_resolve_nor_longer_than_five_seconds():
    made, took = stop(deceleration=(1e3, 1e3))
    assert took == pytest.approx(0.04, abs=1e-12) and len(made.times) == 3
    made, took = stop(limits=(1e-3, np.inf))
    assert took == pytest.approx(5.0, abs=1e-12) and len(made.times) == 251


def test_a_stop_lasts_until_its_efforts_are_nine_tenths_of_the_limits():
    """Longer by a quarter each time: 3 kg from 0.6 m/s need 2.7 / T."""
    for limit, times in ((7.0, 0), (6.0, 1), (4.3, 2), (3.5, 3)):
        duration = 0.45 * 1.25**times
        assert 2.7 / duration <= 0.9 * limit and (times == 0 or 2.7 / duration * 1.25 > 0.9 * limit)
        assert stop(limits=(limit, np.inf))[1] == pytest.approx(duration, rel=1e-9), limit


def test_a_path_that_needs_more_than_the_limits_is_left_with_what_it_needs():
    """Two newtons of weight are beyond the limit of the second joint, on the path as in the stop."""
    rising = path((0.4, -0.2), (0.6, 0.3))
    assert stop(rising, limits=(np.inf, 1.5))[1] == pytest.approx(0.45, rel=1e-9)


def test_accelerations_of_the_path_itself_are_permitted_and_more_is_not():
    """A path that speeds up by 3 rad/s² may be left with 3 rad/s², one that does by 1 rad/s² with 2."""
    for bend, most in ((1.5, 3.0), (0.5, 2.0)):
        made, took = stop(path((0.4, -0.2), (0.6, -0.3), (bend, 0.0)), deceleration=(2.0, 2.0))
        quarters = round(np.log(took / 0.45) / np.log(1.25))
        assert quarters > 0 and took == pytest.approx(0.45 * 1.25**quarters, rel=1e-9)
        largest = np.abs(made.at(made.times)[2]).max()
        assert largest <= most * (1.0 + 1e-9) and largest > 0.85 * most


@pytest.mark.parametrize("speed", [0.6, 1.9])
def test_a_path_that_brakes_with_all_it_may_is_left_with_three_tenths_more(speed):
    """None brakes less: the clock would have to run slower from the first moment on."""
    braking = path((0.4, -0.2), (speed, 0.0), (-1.0, 0.0))
    made, took = stop(braking)
    assert 0.75 * speed <= took < 1.2 * speed
    assert 2.0 < np.abs(made.at(made.times)[2]).max() <= 2.6 * (1.0 + 1e-9)
    turn = 0.4 + speed**2 / 4.0  # of the path
    assert 0.4 + 0.8 * speed**2 / 4.0 < made.at(made.times[-1:])[0][0, 0] <= turn


@pytest.mark.parametrize("speed", [0.6, 1.9])
def test_a_path_that_brakes_with_all_its_effort_is_left_where_it_turns_back(speed):
    """3 kg brake by 2 m/s² with 6 N, which is the limit, and so cannot brake by more."""
    braking = path((0.4, -0.2), (speed, 0.0), (-1.0, 0.0))
    made, took = stop(braking, limits=(6.0, np.inf))
    turns = speed / 2.0
    assert turns < took < turns + 0.3  # tried every 0.1 s
    position, _, acceleration = made.at(made.times)
    assert (3.0 * np.abs(acceleration[:, 0]) <= 6.0 * (1.0 + 1e-9)).all()
    assert position[-1, 0] == pytest.approx(0.4 + speed**2 / 4.0, abs=0.025)
    way = made.times < START + turns
    np.testing.assert_allclose(position[way], braking(made.times[way])[0], atol=1e-9)


def test_a_stop_waits_no_longer_than_the_longest_stop_follows_its_path():
    """A path that turns back after 2.3 s is left there; one that does so after 2.6 s is slowed at once."""
    for turns, most in ((2.3, 2.4), (2.6, 5.0)):
        _, took = stop(path((0.4, -0.2), (2.0 * turns, 0.0), (-1.0, 0.0)), limits=(6.0, np.inf))
        assert took == pytest.approx(most, abs=0.1), turns


GAP = 2e-5


def test_a_lead_has_the_points_between_now_and_the_plan():
    """Those nearer to an end, or to each other, than the shortest interval are left out."""
    points = np.array([0.2, 1.0 + 0.5 * GAP, 1.1, 1.1 + 0.5 * GAP, 1.3, 1.5 - 0.5 * GAP, 1.5, 1.8])
    np.testing.assert_array_equal(lead_times(1.0, 1.5, points), [1.0, 1.1, 1.3])
    np.testing.assert_array_equal(lead_times(1.0, 1.5, np.zeros(0)), [1.0])
    assert lead_times(1.0, 1.0 + 0.9 * GAP, points).shape == (0,)
    assert lead_times(1.0, 1.0, points).shape == (0,)
    np.testing.assert_array_equal(lead_times(1.0, 1.0 + 1.1 * GAP, points), [1.0])
    np.testing.assert_array_equal(lead_times(-0.5, 0.5, np.array([-0.25, 0.25])), [-0.5, -0.25, 0.25])


def test_bounds_of_a_lead_are_the_shortest_interval_itself():
    """With times that are exact in binary: 2e-5 before and after zero."""
    assert lead_times(0.0, GAP, np.zeros(0)).tolist() == [0.0]
    assert lead_times(0.0, 1.0, np.array([GAP, 2.0 * GAP])).tolist() == [0.0, 2.0 * GAP]
    assert lead_times(-1.0, 0.0, np.array([-2.0 * GAP, -GAP])).tolist() == [-1.0, -2.0 * GAP]
    assert lead_times(-1.0, 4.0, np.array([0.0, GAP, 2.0])).tolist() == [-1.0, 0.0, GAP, 2.0]


class Climbing:
    """Friction beside a model: half the velocity and the time."""

    def efforts(self, times, velocities):
        return 0.5 * velocities + times[:, None]


@pytest.mark.parametrize("built", [None, Climbing()])
def test_points_of_a_lead_have_the_efforts_of_the_model_within_the_limits(built):
    times = np.array([2.0, 2.25, 2.5])
    motion = path((0.4, -0.2), (0.6, -0.3), (2.0, -1.5))
    references = [Reference(*motion(time)) for time in times]
    limits = np.array([13.0, 1.0])
    found = sample_lead(Lead(times, references), Weighed(), limits, built)
    np.testing.assert_array_equal(found.times, times)
    t = times[:, None] - START
    q = [0.4, -0.2] + np.array([0.6, -0.3]) * t + np.array([2.0, -1.5]) * t**2
    v = [0.6, -0.3] + np.array([4.0, -3.0]) * t
    a = np.broadcast_to([4.0, -3.0], (3, 2))
    np.testing.assert_allclose(found.positions, q)
    np.testing.assert_allclose(found.velocities, v)
    np.testing.assert_allclose(found.accelerations, a)
    efforts = a * [3.0, 0.5] + v * [0.0, 0.25] + [0.0, 2.0]
    if built is not None:
        efforts = efforts + 0.5 * v + times[:, None]
    assert (efforts > limits).any() == (built is not None)
    np.testing.assert_allclose(found.efforts, np.clip(efforts, -limits, limits))
    low = sample_lead(Lead(times, references), Weighed(), np.array([0.5, 0.1]), built)
    np.testing.assert_allclose(low.efforts, np.clip(efforts, [-0.5, -0.1], [0.5, 0.1]))


@pytest.mark.parametrize("built", [None, Climbing()])
def test_a_lead_without_times_has_no_points(built):
    found = sample_lead(Lead(np.zeros(0), []), Weighed(), np.ones(2), built)
    assert found.times.shape == (0,)
    for part in (found.positions, found.velocities, found.accelerations, found.efforts):
        assert part.shape == (0, 2)
