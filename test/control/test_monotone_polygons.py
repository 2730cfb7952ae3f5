"""Knots that are moved until a path stays between its waypoints: the conditions on its derivative."""

import numpy as np
import pytest
from smooth_paths import opened, smooth_path

from robot_dynamics.control import shape
from robot_dynamics.control.path_bounds import bernstein
from robot_dynamics.control.shape import allowance, strays, waypoint_spline
from robot_dynamics.control.spline import (
    QuinticSpline,
    hermite_coefficients,
    least_jerk_derivatives,
)
from robot_dynamics.errors import TrajectoryError

OPEN = np.nan


def through(times, positions, velocities=None, accelerations=None, **more):
    positions = np.asarray(positions, dtype=float).reshape(len(times), -1)
    free = opened(*positions.shape)
    velocities = free if velocities is None else velocities
    return waypoint_spline(
        np.asarray(times, dtype=float),
        positions,
        velocities,
        free if accelerations is None else accelerations,
        **more,
    )


def test_the_allowance_is_two_percent_of_the_way_or_a_millimetre():
    np.testing.assert_allclose(
        allowance(np.array([0.0, 0.04, -0.04, 0.06, -3.0])), [1e-3, 1e-3, 1e-3, 1.2e-3, 0.06]
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_strays_are_what_a_path_goes_beyond_its_ends_on_each_side(sign):
    """Cubics with known extremes; bounds of eighths are near them."""
    h, ends = np.array([1.0, 2.0]), np.zeros((3, 3, 2))
    ends[0] = np.array([[0.0, 0.0], [1.0, 0.5], [1.0, 0.0]]) * sign
    ends[1, :, 0] = (0.0, 2.0 * sign, 0.0)
    c = hermite_coefficients(h, *ends)
    below, above = strays(QuinticSpline(np.array([0.0, 1.0, 3.0]), c))
    dense = np.einsum("pt,kpn->ktn", np.linspace(0.0, 1.0, 2001) ** np.arange(6)[:, None], c)
    for k in range(2):
        for j in range(2):
            low, high = min(ends[0, k : k + 2, j]), max(ends[0, k : k + 2, j])
            for found, true in ((below, low - dense[k, :, j].min()), (above, dense[k, :, j].max() - high)):
                assert -1e-9 <= found[k, j] - max(true, 0.0) < 0.01
    assert (above if sign > 0.0 else below)[1, 0] > 0.5
    assert max(below[:, 1].max(), above[:, 1].max()) < 1e-15


def test_small_strays_are_bounds_of_whole_segments_and_larger_ones_of_eighths():
    times, c = np.array([0.0, 1.0, 2.0]), np.zeros((2, 6, 1))
    c[0, :3, 0], c[1, :3, 0] = (0.0, 1e-3, -1e-3), (0.0, 1.0, -1.0)
    below, above = strays(QuinticSpline(times, c))
    assert above[0, 0] == pytest.approx(bernstein(c[0]).max()) and not below.any()
    assert above[0, 0] > 0.00026 and 0.25 <= above[1, 0] < 0.255
    other_below, other_above = strays(QuinticSpline(times, 3.0 * (np.arange(6) == 0)[:, None] - c))
    np.testing.assert_allclose(other_below, above, atol=1e-12)
    assert other_above.max() < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_polygons_keep_the_derivative_on_the_side_of_the_way(seed):
    """Any velocities and accelerations inside them give a derivative without a change of sign."""
    random = np.random.default_rng(seed)
    h = 10.0 ** random.uniform(-1.0, 1.0, (5, 1))
    distance = random.normal(size=(5, 3))
    if seed == 0:
        distance = np.abs(distance)
    half = 2.5 * np.abs(distance)
    slowest, fastest = shape._velocities(h, distance, half, half)
    for share in (0.0, 0.3, 1.0):
        v = slowest + share * (fastest - slowest)
        low, high = shape._accelerations(h, distance, half, half, v)
        assert (low <= high + 1e-9 * (1.0 + np.abs(low))).all()
        for part in (0.0, 0.6, 1.0):
            finite = np.where(np.isfinite(low) & np.isfinite(high), low + part * (high - low), 0.0)
            c = hermite_coefficients(
                h[:, 0], np.concatenate([np.zeros((1, 3)), np.cumsum(distance, axis=0)]), v, finite
            )
            rates = bernstein(c.transpose(1, 0, 2), 1) * np.sign(distance)
            assert rates.min() > -1e-9 * np.abs(rates).max()


def test_velocities_of_polygons_are_the_largest_that_both_sides_permit():
    """Each side allows v h <= B; both together 2 v (1/h1 + 1/h2) <= B1/h1² + B2/h2²."""
    h, distance = np.array([[0.5], [2.0], [1.0]]), np.array([[1.0], [3.0], [-2.0]])
    left, right = np.array([[2.0], [5.0], [4.0]]), np.array([[1.5], [6.0], [4.5]])
    slowest, fastest = shape._velocities(h, distance, left, right)
    both = (1.5 / 0.25 + 5.0 / 4.0) / (2.0 / 0.5 + 2.0 / 2.0)
    np.testing.assert_allclose(fastest[:, 0], [4.0, min(3.0, 2.5, both), 0.0, 0.0])
    np.testing.assert_allclose(slowest[:, 0], [0.0, 0.0, 0.0, -4.5])
    back = shape._velocities(h, -distance, left, right)
    np.testing.assert_allclose(back[0], -fastest)
    np.testing.assert_allclose(back[1], -slowest)
    wide = shape._velocities(h, distance, 10.0 * left, right)
    np.testing.assert_allclose(wide[1][:2, 0], [40.0, min(3.0, 25.0, (6.0 + 12.5) / 5.0)])


def test_every_inner_knot_is_bounded_by_both_sides():
    """With durations of 1 s and budgets of 1 and 3 m: 2 v (1 + 1) is at most 1 + 3."""
    h, left, right = np.ones((3, 1)), np.array([[9.0], [3.0], [1.2]]), np.array([[1.0], [1.2], [9.0]])
    fastest = shape._velocities(h, np.ones((3, 1)), left, right)[1]
    np.testing.assert_allclose(fastest[:, 0], [9.0, 1.0, 0.6, 9.0])


def test_a_knot_beside_a_joint_that_stands_has_no_velocity():
    h, budget = np.ones((3, 1)), np.full((3, 1), 2.0)
    for distance in ([0.0, 1.0, -1.0], [1.0, 0.0, -1.0], [0.0, -1.0, 0.0]):
        slowest, fastest = shape._velocities(h, np.array(distance)[:, None], budget, budget)
        assert not slowest[1:3].any() and not fastest[1:3].any()


def test_accelerations_of_polygons_are_those_that_both_sides_permit():
    """At the beginning -4 v / h to 4 (B - 2 v h) / h²; at the end the same backwards in time."""
    h, distance = np.array([[0.5], [2.0]]), np.array([[1.0, -1.0, 0.0], [3.0, -3.0, 2.0]])
    left = right = np.array([[2.0, 2.0, 0.0], [5.0, 5.0, 4.0]])
    v = np.array([[0.3, -0.3, 0.0], [0.7, -0.7, 0.1], [0.2, -0.2, 0.4]])
    low, high = shape._accelerations(h, distance, left, right, v)
    begin = [[-4 * 0.3 / 0.5, -4 * 0.7 / 2.0], [4 * (2 - 0.3) / 0.25, 4 * (5 - 2.8) / 4.0]]
    end = [[-4 * (2 - 0.7) / 0.25, -4 * (5 - 0.8) / 4.0], [4 * 0.7 / 0.5, 4 * 0.2 / 2.0]]
    np.testing.assert_allclose(low[:, 0], [begin[0][0], max(begin[0][1], end[0][0]), end[0][1]])
    np.testing.assert_allclose(high[:, 0], [begin[1][0], min(begin[1][1], end[1][0]), end[1][1]])
    np.testing.assert_allclose(low[:, 1], -high[:, 0])
    np.testing.assert_allclose(high[:, 1], -low[:, 0])
    np.testing.assert_allclose(low[:2, 2], [0.0, 0.0])  # where a joint does not move, none is left
    np.testing.assert_allclose(high[:2, 2], [0.0, 0.0])


def test_durations_up_to_twice_those_beside_them_are_even():
    h = np.array([1.0, 2.0, 2.0, 4.1, 4.0])[:, None]
    np.testing.assert_array_equal(shape._evenly_timed(h)[:, 0], [True, True, False, False, True])
    assert shape._evenly_timed(np.array([[3.0]])).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_given_velocity_beyond_half_of_what_its_segment_allows_is_kept(sign):
    """A velocity of 1.6 times the mean one, of which 1.25 is half."""
    times, positions = np.array([0.0, 1.0, 4.0, 5.0]), sign * np.array([[0.0], [1.0], [1.2], [4.0]])
    given = opened(4)
    given[1] = 1.6 * sign
    assert through(times, positions, given).sample(1.0)[1][0] == pytest.approx(1.6 * sign)


def budgets(h, distance, v, a, given):
    """Budgets of both ends of each segment: half each, less the use of a given velocity at the other end."""
    half, sign, left, right = 2.5 * np.abs(distance), np.sign(distance), [], []
    for k in range(len(h)):
        begin = sign[k] * (2.0 * v[k] * h[k] + 0.25 * a[k] * h[k] ** 2)
        end = sign[k] * (2.0 * v[k + 1] * h[k] - 0.25 * a[k + 1] * h[k] ** 2)
        left.append(min(max(2.0 * half[k] - end, 0.0), half[k]) if given[k + 1] else half[k])
        right.append(min(max(2.0 * half[k] - begin, 0.0), half[k]) if given[k] else half[k])
    return np.array(left)[:, None], np.array(right)[:, None]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("fast", [1.0, 1.7])
def test_budgets_are_halves_less_what_a_given_velocity_uses(sign, fast):
    h, distance = np.array([1.0, 1.3, 0.8, 1.1]), sign * np.array([1.0, 1.2, 0.9, 1.0])
    times, positions = np.cumsum([0.0, *h]), np.cumsum([0.0, *distance])[:, None]
    v = sign * fast * np.array([0.0, 1.75, 1.6, 1.4, 0.0])
    a = sign * np.array([0.3, 0.8, -0.7, 0.5, -0.2])
    velocities = opened(5)
    velocities[[1, 2], 0] = v[[1, 2]]
    shaped = shape._Shaped(times, positions, velocities, opened(5), 1.0)
    found = shaped._budgets(np.arange(1), v[:, None], a[:, None])
    expected = budgets(h, distance, v, a, [True, True, True, False, True])
    np.testing.assert_allclose(found, expected)
    if fast == 1.0:
        inside = (expected[0] > 0.0) & (expected[0] < 2.5 * np.abs(distance)[:, None])
        assert inside[:2].all()


@pytest.mark.parametrize("part", [1.0, 0.5])
def test_paths_use_no_more_than_a_part_of_the_allowance(part):
    times, positions = [0.0, 1.0, 1.3, 6.0, 6.2], [0.0, 1.0, 1.1, 1.2, 3.0]
    path = through(times, positions, part=part)
    grid = np.linspace(0.0, 6.2, 3001)
    places = path.at(grid)[0][:, 0]
    for k in range(4):
        inside = places[(grid >= times[k]) & (grid <= times[k + 1])]
        slack = part * max(0.02 * (positions[k + 1] - positions[k]), 1e-3)
        assert inside.min() >= positions[k] - slack and inside.max() <= positions[k + 1] + slack
    smooth = smooth_path(times, np.array(positions)[:, None]).at(grid)[0][:, 0]
    assert smooth.max() > 3.01 or smooth.min() < -0.01 or not np.allclose(places, smooth)


def test_joints_are_shaped_each_for_itself():
    random = np.random.default_rng(3)
    times = np.cumsum(10.0 ** random.uniform(-1.0, 1.0, 9))
    positions = random.normal(size=(9, 4))
    positions[4, 1], positions[6, 2] = positions[3, 1], positions[5, 2]
    velocities = opened(9, 4)
    velocities[3, 2], velocities[5, 3] = 0.4, -0.2
    whole = through(times, positions, velocities, opened(9, 4))
    for j in range(4):
        alone = through(times, positions[:, [j]], velocities[:, [j]], opened(9))
        np.testing.assert_allclose(whole.coefficients[:, :, [j]], alone.coefficients, atol=1e-9)
        if j <= 1:
            most = allowance(np.diff(positions[:, [j]], axis=0))
            assert (np.maximum(*strays(alone)) <= most + 1e-12).all()


def test_backwards_in_time_a_path_is_the_same():
    """Waypoints, given velocities and rests in the other order, with the other sign of velocities."""
    times, positions = np.array([0.0, 0.4, 3.0, 3.5, 8.0, 8.3]), np.array([0.0, 0.8, 1.0, 1.0, 0.2, -1.0])
    velocities = np.array([0.0, OPEN, OPEN, OPEN, -0.3, 0.0])[:, None]
    forth = through(times, positions, velocities)
    back = through(8.3 - times[::-1], positions[::-1], -velocities[::-1])
    grid = np.linspace(0.0, 8.3, 401)
    for order, sign in enumerate((1.0, -1.0, 1.0)):
        np.testing.assert_allclose(
            back.at(8.3 - grid)[order], sign * forth.at(grid)[order], rtol=1e-7, atol=1e-7
        )


def test_equal_positions_are_an_exact_rest_unless_evenly_timed_or_given_a_velocity():
    times = [0.0, 1.0, 9.0, 10.0]
    resting = through(times, [0.0, 0.7, 0.7, 1.1])
    assert not resting.coefficients[1, 1:].any() and resting.coefficients[1, 0] == 0.7
    assert resting.coefficients[0, 1:].any() and resting.coefficients[2, 1:].any()
    small = through(times, [0.0, 1e-4, 1e-4, 2e-4])  # least jerk would leave it by less than a millimetre
    assert not small.coefficients[1, 1:].any()
    rounded = through([0.0, 1.0, 4.0, 5.1, 6.0], [0.1, 0.3, 0.3, 0.5, 0.7])  # by its ends alone 1e-16
    assert not rounded.coefficients[1, 1:].any() and rounded.coefficients[2, 1:].any()
    one = through(times, [0.0, 1.0, 1.0 + 1e-4, 1.5])
    assert one.coefficients[1, 1:].any()
    given = opened(4)
    given[1] = 0.05
    moving = through(times, [0.0, 0.7, 0.7, 1.1], given)
    assert moving.coefficients[1, 1, 0] == pytest.approx(0.05 * 8.0)
    given = opened(4)
    given[2] = 0.05
    assert through(times, [0.0, 0.7, 0.7, 1.1], given).coefficients[1, 1:].any()
    bent = opened(4)
    bent[1] = 0.2
    assert through(times, [0.0, 0.7, 0.7, 1.1], None, bent).coefficients[1, 2, 0] == pytest.approx(0.1 * 64.0)
    even = through([0.0, 1.0, 2.0, 3.0], [0.0, 0.001, 0.001, 0.0])
    assert even.coefficients[1, 1:].any() and 0.0011 < even.at(np.linspace(1.0, 2.0, 99))[0].max() <= 0.002


def test_numbers_that_are_too_large_and_times_that_stand_are_refused():
    with pytest.raises(TrajectoryError, match="value 0 has no finite position"):
        through([0.0, 1.0, 2.0], [0.0, 1e308, -1e308])
    with pytest.raises(TrajectoryError, match="strictly increasing"):
        through([0.0, 1.0, 1.0], [0.0, 1.0, 2.0])


def test_whole_numbers_are_positions():
    found = waypoint_spline([0, 1, 2], np.array([[0], [1], [2]]), opened(3), opened(3))
    assert found.coefficients.dtype == float and found.times.dtype == float


def chosen(times, positions, velocities, accelerations, last=8, solved=3):
    """Rates of one joint by the rules of the module, round by round, and the number of rounds.

    Knots beside a segment that leaves its waypoints move into their polygons. In the first three rounds the
    others are chosen anew, and in the ninth all are moved.
    """
    h, distance = np.diff(times)[:, None], np.diff(positions, axis=0)
    wanted = [velocities.copy(), accelerations.copy()]
    values = least_jerk_derivatives(times, positions, *wanted)
    for attempt in range(last + 1):
        below, above = strays(QuinticSpline(times, hermite_coefficients(h[:, 0], positions, *values)))
        leaving = np.maximum(below, above)[:, 0] > allowance(distance[:, 0])
        beside = np.concatenate([leaving, [False]]) | np.concatenate([[False], leaving])
        if attempt == last and leaving.any():
            beside[:] = True
        open_ = np.isnan(wanted)[:, :, 0]
        beside &= open_.any(axis=0)
        if not beside.any():
            return values, attempt
        given = ~np.isnan(velocities[:, 0])
        sides = budgets(h[:, 0], distance[:, 0], values[0][:, 0], values[1][:, 0], given)
        slowest, fastest = shape._velocities(h, distance, *sides)
        v = np.where((beside & open_[0])[:, None], np.clip(values[0], slowest, fastest), values[0])
        low, high = shape._accelerations(h, distance, *sides, v)
        low, high = np.minimum(low, high), np.maximum(low, high)
        a = np.where((beside & open_[1])[:, None], np.clip(values[1], low, high), values[1])
        values = v, a
        for row, found in zip(wanted, values, strict=True):
            row[beside] = found[beside]
        if attempt < solved:
            values = least_jerk_derivatives(times, positions, *wanted)
    return values, last + 1


@pytest.mark.parametrize(
    ("seed", "rounds", "last", "solved"),
    [
        *((371, 4, 8, 3), (189, 3, 8, 3), (379, 3, 8, 3), (6, 2, 8, 3), (16, 2, 8, 3), (1, 1, 8, 3)),
        *((371, 3, 2, 3), (189, 2, 1, 1), (521, 1, 0, 0), (379, None, 8, 1)),
    ],
)
def test_knots_are_moved_only_beside_segments_that_leave_their_waypoints(
    seed, rounds, last, solved, monkeypatch
):
    """Two joints, the second with other positions at the same times."""
    for name, value, usual in (("_ROUNDS", last, 8), ("_SOLVED", solved, 3)):
        if value != usual:
            monkeypatch.setattr(shape, name, value)
    random = np.random.default_rng(seed)
    count, width = 12 + seed % 50, 0.3 * (1 + seed % 7)
    times = np.cumsum(10.0 ** random.uniform(-width, width, count))
    positions = random.normal(size=(count, 1))
    if seed % 2:
        positions = np.sort(positions, axis=0)
    both = np.hstack([positions, 0.1 * np.cumsum(times)[:, None] / np.sum(times)])
    found = through(times, both, opened(count, 2), opened(count, 2))
    for j in range(2):
        (v, a), taken = chosen(times, both[:, [j]], opened(count), opened(count), last, solved)
        expected = hermite_coefficients(np.diff(times), both[:, [j]], v, a)
        most = 1e-9 * np.abs(expected).max()
        np.testing.assert_allclose(found.coefficients[:, :, [j]], expected, rtol=1e-9, atol=most)
        assert j or rounds is None or taken == rounds


@pytest.mark.parametrize("seed", range(8))
def test_given_velocities_stay_while_accelerations_beside_them_are_moved(seed):
    random = np.random.default_rng(seed)
    times = np.cumsum(10.0 ** random.uniform(-0.8, 0.8, 9))
    positions = np.sort(random.normal(size=(9, 1)), axis=0)
    velocities, accelerations = opened(9), opened(9)
    mean = np.diff(positions[:, 0]) / np.diff(times)
    for k in (2, 3, 6):
        velocities[k] = 0.8 * min(mean[k - 1], mean[k])
    accelerations[5] = 0.1
    (v, a), rounds = chosen(times, positions, velocities, accelerations)
    assert rounds > 0
    expected = hermite_coefficients(np.diff(times), positions, v, a)
    found = through(times, positions, velocities, accelerations).coefficients
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
