"""Remarks on recorded motions, each at its threshold, and the low-pass filter by its transfer function."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.stewart.motion_table import MotionTable


def motion(times, positions, turns=None):
    times, positions = np.asarray(times, dtype=float), np.asarray(positions, dtype=float)
    half = 0.5 * (np.zeros(len(times)) if turns is None else np.asarray(turns, dtype=float))
    axis = np.outer(np.sin(half), [0.48, -0.6, 0.64])
    return MotionTable(times, positions, np.column_stack([axis, np.cos(half)]))


def moved_by(accelerations, steps, begin=0.123456):
    """Positions whose second differences are ``accelerations``, from rest with a step more."""
    speeds = np.concatenate([[0.0], np.cumsum(np.asarray(accelerations) * steps[1:])])
    positions = np.full((len(steps) + 1, 3), begin)
    positions[1:, 1] += np.cumsum(speeds * steps)
    return motion(np.concatenate([[0.0], np.cumsum(steps)]), positions)


RAMP = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 4], dtype=float)


@pytest.mark.parametrize(
    ("quantum", "step", "words"),
    [
        (1e-2, 0.166, "rounded to 10 mm at steps of 166 ms: about 0.51 m/s² of"),
        (1e-2, 0.17, None),
        (1e-3, 0.052, "rounded to 1 mm at steps of 52 ms: about 0.52 m/s² of"),
        (1e-3, 0.0535, None),
        (1e-4, 0.0166, "rounded to 0.1 mm at steps of 16.6 ms: about 0.51 m/s² of"),
        (1e-4, 0.0169, None),
        (1e-5, 0.003, None),
    ],
)
def test_rounding_is_remarked_where_it_makes_half_a_metre_per_second_squared(quantum, step, words):
    """Closed form: √2 of the quantum over the square of the step."""
    positions = np.column_stack([0.0 * RAMP, quantum * RAMP, 0.37 + 0.0 * RAMP])
    found = motion(step * np.arange(len(RAMP)), positions).hints()
    assert [line for line in found if "rounded" in line] == (
        [f"positions are {words} their acceleration is rounding; see --low-pass"] if words else []
    )


@pytest.mark.parametrize(
    ("positions", "rounded"),
    [
        (1e-2 * RAMP, True),
        (-1e-2 * RAMP, True),
        (1e-2 * (RAMP + 5e-7), True),
        (1e-2 * (RAMP + 2e-6), False),
        (np.where(np.arange(len(RAMP)) == 0, 1e-8, 1e-2 * RAMP), False),  # off by exactly a millionth
        (1e-2 * np.minimum(RAMP, 3.0), False),  # three steps are no motion
        (1e-2 * np.minimum(RAMP, 4.0), True),
        (0.0 * RAMP, False),
    ],
)
def test_only_columns_that_move_tell_rounding(positions, rounded):
    still = 0.123456 + 0.0 * RAMP
    found = motion(0.15 * np.arange(len(RAMP)), np.column_stack([still, still, positions])).hints()
    assert any("rounded to 10 mm" in line for line in found) is rounded
    both = motion(0.15 * np.arange(len(RAMP)), np.column_stack([positions, 0.01237 * RAMP, still])).hints()
    assert not any("rounded" in line for line in both)


def test_steps_are_the_usual_ones_and_twenty_poses_are_needed():
    times = 0.15 * np.arange(len(RAMP))
    times[15:] += 7.0
    positions = np.column_stack([1e-2 * RAMP] * 3)
    assert "at steps of 150 ms" in motion(times, positions).hints()[0]
    assert "rounded to 10 mm" in motion(times[:20], positions[:20]).hints()[0]
    assert motion(times[:19], positions[:19]).hints() == []


STEPS = np.where(np.arange(30) % 2 == 0, 0.25, 0.125)


@pytest.mark.parametrize(
    ("before", "after", "remarked"),
    [
        (0.0, 0.51, True),
        (0.0, -0.51, True),
        (0.0, 0.49, False),
        (2.0, 0.98, True),
        (2.0, 1.02, False),
        (-1.1, -2.25, True),
        (-1.2, -2.25, False),
    ],
)
def test_a_jump_by_more_than_half_of_the_greatest_acceleration_is_remarked(before, after, remarked):
    accelerations = before + (after - before) * (np.arange(29) >= 12)
    expected = [
        f"the acceleration jumps at t = {STEPS[:13].sum():.3f} s: the smooth curve through the poses goes"
        " beyond it there; see --low-pass"
    ]
    assert moved_by(accelerations, STEPS).hints() == (expected if remarked else [])


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.5), (2.0, 1.0)])
def test_accelerations_and_jumps_at_their_bounds_are_not_remarked(before, after):
    """In numbers that doubles hold exactly."""
    assert moved_by(before + (after - before) * (np.arange(29) >= 12), STEPS, 0.0).hints() == []


@pytest.mark.parametrize(("quanta", "remarked"), [(7, False), (8, True)])
def test_jumps_of_rounded_positions_must_exceed_five_times_their_rounding(quanta, remarked):
    """Accelerations are whole numbers of quanta per step squared; five times √2 of them are 7.07."""
    steps = np.full(30, 0.125)
    accelerations = np.where(np.arange(29) >= 9, quanta, 0.0) * 1e-2 / 0.125**2
    exact = moved_by(accelerations, steps)
    positions = exact.position - 0.123456
    found = replace(exact, position=positions).hints()
    assert "rounded to 10 mm" in found[0]
    assert [line[:34] for line in found[1:]] == (["the acceleration jumps at t = 1.25"] if remarked else [])


ENDS = "; the path starts and stops there within one step: add poses that speed up and slow down"


def rates(first, second, before_last, last, turning=False):
    """Speeds of the first two and the last two steps; steps of 0.1, 0.2, ... and 0.3, 0.4 s."""
    steps = np.array([0.1, 0.2, 0.25, 0.3, 0.4])
    travel = np.concatenate([[0.0], np.cumsum(steps * np.array([first, second, 0.1, before_last, last]))])
    times = 5.0 + np.concatenate([[0.0], np.cumsum(steps)])
    still = np.zeros((6, 3))
    if turning:
        return motion(times, still, travel)
    return motion(times, still + travel[:, None] * np.array([0.48, -0.6, 0.64]))


@pytest.mark.parametrize("turning", [False, True])
@pytest.mark.parametrize(
    ("speeds", "words"),
    [
        ((0.04, 0.04, 0.1, 0.1), None),
        ((0.06, 0.06, 0.1, 0.1), "begins with {:.2g}"),
        ((0.3, 0.18, 0.1, 0.1), "begins with {:.2g}"),  # 0.05 + 2 * 0.12 is less than 0.3
        ((0.3, 0.17, 0.1, 0.1), None),
        ((0.3, 0.43, 0.1, 0.1), None),
        ((0.04, 0.04, 0.19, 0.19), None),
        ((0.04, 0.04, 0.21, 0.21), "ends with {:.2g}"),
        ((0.04, 0.04, 0.4, 0.51), "ends with {:.2g}"),  # 0.2 + 2 * 0.11 is less than 0.51
        ((0.04, 0.04, 0.2, 0.51), None),
        ((0.04, 0.04, 0.71, 0.5), None),
    ],
)
def test_a_motion_that_begins_or_ends_at_speed_is_remarked(speeds, words, turning):
    found = rates(*speeds, turning=turning).abrupt_ends()
    if words is None:
        assert found == []
        return
    speed = speeds[0] if "begins" in words else speeds[-1]
    said = words.format(0.0) + f" m/s and {speed:.2g} rad/s" if turning else words.format(speed)
    ending = "" if turning else " m/s and 0 rad/s"
    assert found == [f"the motion {said}{ending}{ENDS}"]


def test_speeds_at_their_bound_are_not_remarked():
    times = 0.125 * np.arange(5)
    for factor, count in ((1.0, 0), (1.5, 1)):
        moved = motion(times, np.outer(times, [0.0625 * factor, 0.0, 0.0]))
        assert len(moved.abrupt_ends()) == count


def test_both_ends_are_in_one_remark_and_three_poses_are_needed():
    times = np.array([0.0, 0.5, 1.5])
    moved = motion(times, np.outer(times, [0.8, 0.0, -0.6]), -2.0 * times)
    words = "1 m/s and 2 rad/s"
    assert moved.abrupt_ends() == [f"the motion begins with {words}, and ends with {words}{ENDS}"]
    short = MotionTable(moved.time[:2], moved.position[:2], moved.orientation[:2])
    assert short.abrupt_ends() == []
    still = motion([0.0, 1.0, 2.0], np.ones((3, 3)))
    assert replace(still, orientation=still.orientation * 1.0000001).abrupt_ends() == []


def test_the_filter_has_the_gain_of_a_butterworth_filter_passed_twice_and_no_delay():
    """Closed form with the bilinear transform: 1 / (1 + (tan πfh / tan πf_c h)^8), order 4."""
    pytest.importorskip("scipy", reason="scipy is not installed")
    h, cutoff = 0.02, 4.0
    times = 3.0 + h * np.arange(1001)
    frequencies = np.array([2.5, 4.0, 5.0])
    waves = np.sin(2.0 * np.pi * (times[:, None] - 13.0) * frequencies + np.array([0.3, 1.0, 2.0]))
    found = motion(times, waves, 1e-3 * waves[:, 1]).low_passed(cutoff)
    gains = 1.0 / (1.0 + (np.tan(np.pi * frequencies * h) / np.tan(np.pi * cutoff * h)) ** 8)
    middle = slice(300, 700)
    np.testing.assert_allclose(found.position[middle], gains * waves[middle], atol=2e-9)
    turned = 2.0 * np.arcsin(found.orientation[middle, 1] / -0.6)
    np.testing.assert_allclose(turned, 0.5 * 1e-3 * waves[middle, 1], atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(found.orientation, axis=1), 1.0, rtol=1e-15)
    np.testing.assert_array_equal(found.time, times)


def test_the_filter_continues_a_motion_point_symmetrically_for_three_periods():
    """The same filter without a continuation of its own, on the motion continued by hand."""
    signal = pytest.importorskip("scipy.signal", reason="scipy is not installed")
    h, cutoff, count = 0.05, 2.0, 60
    x = np.column_stack([np.arange(61.0) ** 2 / 500.0, np.cos(np.arange(61.0)), np.arange(61.0) % 7])
    found = motion(h * np.arange(61), x).low_passed(cutoff)
    pad = round(3.0 / (h * cutoff))
    assert pad == 30
    before = 2.0 * x[0] - x[pad:0:-1]
    after = 2.0 * x[-1] - x[-2 : -pad - 2 : -1]
    whole = np.vstack([before, x, after])
    sections = signal.butter(4, cutoff / (0.5 / h), output="sos")
    expected = signal.sosfiltfilt(sections, whole, axis=0, padlen=0)[pad : pad + count + 1]
    np.testing.assert_allclose(found.position, expected, rtol=1e-12, atol=1e-12)
    short = motion(h * np.arange(6), x[:6]).low_passed(cutoff)
    long = signal.sosfiltfilt(sections, x[:6], axis=0, padlen=5)
    np.testing.assert_allclose(short.position, long, rtol=1e-12, atol=1e-12)


def test_unequal_steps_are_made_equal_before_the_filter():
    """A straight motion at constant speed passes it but for a trace at its ends."""
    pytest.importorskip("scipy", reason="scipy is not installed")
    times = 2.0 + np.concatenate([[0.0], np.cumsum(np.tile([0.1, 0.1, 0.05, 0.1, 0.3], 8))])
    given = motion(times, np.outer(times, [1.0, -2.0, 0.5]))
    found = given.low_passed(2.0)
    np.testing.assert_allclose(found.time, np.linspace(times[0], times[-1], 53), rtol=1e-14)
    np.testing.assert_allclose(found.position, np.outer(found.time, [1.0, -2.0, 0.5]), atol=1e-3)
    np.testing.assert_allclose(found.orientation, np.tile([0.0, 0.0, 0.0, 1.0], (53, 1)), atol=1e-12)


@pytest.mark.parametrize(
    ("times", "cutoff", "bound"),
    [
        ([0.0, 0.25, 0.5], 2.0, "2"),
        ([0.0, 0.25, 0.5], 0.0, "2"),
        ([0.0, 0.25, 0.5], -1.0, "2"),
        ([0.0, 0.125], 4.5, "4"),
        ([0.5], 1.0, "0"),
        ([], 1.0, "0"),
    ],
)
def test_a_cutoff_frequency_outside_its_bounds_is_refused(times, cutoff, bound):
    pytest.importorskip("scipy", reason="scipy is not installed")
    given = motion(times, np.ones((len(times), 3)))
    with pytest.raises(ParameterError) as caught:
        given.low_passed(cutoff)
    assert str(caught.value) == (
        f"the cut-off frequency is {cutoff:g} Hz; it must be above 0 and below {bound} Hz, half the rate of"
        " the poses"
    )


def test_a_cutoff_frequency_just_inside_its_bounds_is_used():
    pytest.importorskip("scipy", reason="scipy is not installed")
    for times, cutoff in (([0.0, 0.25, 0.5], 1.99), ([0.0, 0.25], 1.0), ([0.0, 0.25, 0.5], 0.5)):
        found = motion(times, np.ones((len(times), 3))).low_passed(cutoff)
        np.testing.assert_allclose(found.position, np.ones((len(times), 3)), rtol=1e-9)


def test_without_scipy_the_filter_asks_for_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.signal", None)
    with pytest.raises(RobotDynamicsError, match="a low-pass filter needs scipy"):
        motion([0.0, 0.25, 0.5], np.ones((3, 3))).low_passed(1.0)
