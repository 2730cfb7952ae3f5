"""Velocities from positions, from within: filtered differences, and zeros that take their place."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import MadeUpArm

CUTOFF, TURN = 2.0 * np.pi * 50.0, 2.0 * np.pi


class Measured(MadeUpArm):
    """Three joints, of which the second one turns without end."""

    def __init__(self):
        super().__init__(3)
        self.setting(turn=(0.0, TURN, 0.0))

    def estimate(self, time, position):
        found = self.calls.rd_estimate_velocity(self.core, time, self._array(position))
        return np.array(list(found[0:3]))

    def usable(self, time, position, velocity=(0.0, 0.0, 0.0)):
        """Velocities, and whether they are those that were given."""
        given = self._array(velocity)
        found = self.calls.rd_usable_velocity(self.core, time, self._array(position), given)
        return np.array(list(found[0:3])), found == given

    def estimated(self, time, position):
        """The same of a driver without velocities, whose own estimate is looked at."""
        made = self.calls.rd_estimate_velocity(self.core, time, self._array(position))
        return self.calls.rd_usable_velocity(self.core, time, self._array(position), made) == made


@pytest.fixture
def arm():
    return Measured()


def test_estimates_are_filtered_differences_with_whole_turns(arm):
    draw = np.random.default_rng(4)
    times = 3.0 + np.cumsum(draw.uniform(0.001, 0.02, 20))
    places = np.cumsum(draw.normal(0.0, 0.1, (20, 3)), axis=0)
    told = places + np.outer(draw.integers(-2, 3, 20), (0.0, TURN, 0.0))
    expected = np.zeros(3)
    np.testing.assert_array_equal(arm.estimate(times[0], told[0]), 0.0)
    for k in range(1, 20):
        elapsed = times[k] - times[k - 1]
        share = 1.0 - np.exp(-CUTOFF * elapsed)
        expected = expected + share * ((places[k] - places[k - 1]) / elapsed - expected)
        np.testing.assert_allclose(arm.estimate(times[k], told[k]), expected, rtol=1e-9)
    arm.calls.rd_forget_estimate(arm.core)
    np.testing.assert_array_equal(arm.estimate(times[-1] + 0.01, told[-1] + 0.3), 0.0)


@pytest.mark.parametrize(
    ("elapsed", "bridged"), [(0.19999, True), (0.20001, False), (0.0, False), (-0.01, False)]
)
def test_differences_over_more_than_a_fifth_of_a_second_or_back_in_time_are_none(arm, elapsed, bridged):
    arm.estimate(2.0, (0.0, 0.0, 0.0))
    assert arm.estimate(2.01, (0.1, -0.1, 0.1)).all()
    found = arm.estimate(2.01 + elapsed, (0.3, -0.4, 0.5))
    assert found.all() == found.any() == bridged
    assert arm.estimate(2.01 + elapsed + 0.01, (0.31, -0.4, 0.5)).any()


def test_a_gap_of_exactly_a_fifth_of_a_second_is_bridged(arm):
    arm.estimate(0.0, np.zeros(3))
    np.testing.assert_allclose(arm.estimate(0.2, (0.2, 0.4, -0.6)), (1.0, 2.0, -3.0))


def moved(arm, steps, step=0.5, period=0.01, joint=0, begin=1.0, place=0.0):
    """Return whether each zero is replaced while a joint moves by such steps."""
    q, found = np.full(3, place), []
    for k in range(steps):
        velocity, own = arm.usable(begin + period * k, q)
        found.append(not own)
        assert own or velocity[joint] != 0.0
        q[joint] += step
    return found


@pytest.mark.parametrize("joint", range(3))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_zeros_are_replaced_from_the_fifth_step_of_a_moving_joint_on(arm, joint, side):
    assert moved(arm, 9, side * 0.003, joint=joint) == [False] * 5 + [True] * 4


def test_zeros_of_joints_that_moved_by_less_than_a_thousandth_are_believed(arm):
    assert moved(arm, 8, 1.9e-4, period=0.001) == [False] * 6 + [True] * 2
    assert not any(moved(Measured(), 60, 1e-4, period=0.03)), "slower than 5 mrad/s"
    assert any(moved(Measured(), 60, 2e-4, period=0.03))


def test_steps_are_counted_where_any_joint_has_another_place(arm):
    """A simulation may report each place twice."""
    found, place = [], np.zeros(3)
    for k in range(14):
        place[2] = 0.01 * (k // 2)
        found.append(not arm.usable(1.0 + 0.01 * k, place)[1])
    assert found == [False] * 10 + [True] * 4


def test_zeros_are_looked_at_for_a_second_each(arm):
    """Four steps in a second are none, and steps of the second before do not count."""
    found, place = [], np.zeros(3)
    for k in range(40):
        place[0] = 0.02 * (k // 5)
        found.append(not arm.usable(1.0 + 0.05 * k, place)[1])
    assert not any(found)
    place[0] += 5.0
    assert arm.usable(1.5, place)[1]  # time runs back: it begins anew
    assert moved(arm, 7, begin=1.51, place=place[0] + 0.1)[:6] == [False] * 4 + [True] * 2


def test_the_fifth_step_counts_before_a_whole_second_has_passed():
    for last, expected in ((2.0 - 1e-9, False), (2.0, True)):
        arm = Measured()
        for k, time in enumerate((1.0, 1.2, 1.4, 1.6, 1.8)):
            assert arm.usable(time, np.full(3, 0.02 * k))[1]
        assert arm.usable(last, np.full(3, 0.1))[1] == expected


def test_a_step_at_the_time_of_the_first_zeros_counts(arm):
    found = [
        not arm.usable(time, np.full(3, 0.01 * k))[1] for k, time in enumerate((1.0, 1.0, 1.1, 1.2, 1.3, 1.4))
    ]
    assert found == [False] * 5 + [True]


def test_a_way_or_a_speed_that_meets_its_bound_exactly_is_no_motion():
    for times, ways in (
        (1.0 + np.arange(7) / 64.0, (0.0, 0.0001, 0.0002, 0.0003, 0.0004, 0.001, 0.0011)),
        ((1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.51), (0.0, 0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.0026)),
    ):
        arm = Measured()
        found = [not arm.usable(t, (0.0, -way, 0.0))[1] for t, way in zip(times, ways, strict=True)]
        assert found == [False] * 6 + [True]


def test_a_whole_turn_is_no_motion(arm):
    for k in range(12):
        assert arm.usable(1.0 + 0.01 * k, (0.0, TURN * (k % 2), 0.0))[1]


def test_one_velocity_that_is_not_zero_ends_the_replacement(arm):
    assert moved(arm, 8, 0.01)[-1]
    place = np.array([0.08, 0.0, 0.0])
    for j in range(3):
        assert not arm.usable(1.08 + 0.03 * j, place)[1]  # zeros go on to be replaced
        velocity = np.where(np.arange(3) == j, 1e-9, 0.0)
        assert arm.usable(1.09 + 0.03 * j, place, velocity)[1]
        assert not arm.core.estimate.replaces and not arm.core.estimate.begun
        again = moved(arm, 7, 0.01, begin=1.091 + 0.03 * j, period=0.001, place=place[0])
        assert again == [False] * 5 + [True] * 2


def test_places_that_are_no_numbers_end_it_too(arm):
    assert moved(arm, 8, 0.01)[-1]
    assert arm.usable(1.08, (np.nan, 0.0, 0.0))[1]
    assert arm.usable(1.09, (0.09, 0.0, 0.0))[1]


def test_velocities_that_are_estimated_anyway_forget_nothing(arm):
    assert arm.estimated(1.0, (0.0, 0.0, 0.0)) and arm.estimated(1.01, (0.1, 0.2, 0.3))
    assert arm.core.estimate.begun == 1
    np.testing.assert_array_equal(arm.estimate(1.02, (0.2, 0.4, 0.6)) > 5.0, True)


def test_zeros_begin_where_the_joints_are_when_they_come(arm):
    """In the first second of a simulated clock, after a velocity that was estimated."""
    arm.estimate(0.1, np.full(3, 1.0))
    for k in range(12):
        assert arm.usable(0.11 + 0.01 * k, np.full(3, 1.0 + 1e-5 * k))[1]
