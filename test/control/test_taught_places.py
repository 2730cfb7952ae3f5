"""Waypoints that are taught by hand: an arm that rests is at one, an arm that is moved is at none."""

import numpy as np
import pytest

from robot_dynamics.control.taught_path import TaughtPath, order

NAMES = ("shoulder", "elbow")


def path():
    return TaughtPath(NAMES)


def rest(taught, place, begin, end, step=0.125):
    """States at rest; the times at which a waypoint was taken."""
    times = np.arange(begin, end + 0.5 * step, step)
    return [time for time in times.tolist() if taught.observe(time, np.array(place))]


def test_a_place_is_taken_after_four_tenths_of_a_second_and_once():
    taught = path()
    assert rest(taught, (0.3, -0.5), 10.0, 12.0) == [10.5]
    assert taught.times == [0.0] and taught.places[0].tolist() == [0.3, -0.5]
    exact = path()
    assert [exact.observe(time, np.zeros(2)) for time in (0.0, 0.3999, 0.4, 0.5)] == [
        False,
        False,
        True,
        False,
    ]
    first = path()
    assert not first.observe(-3.0, np.ones(2)) and first.observe(-2.5, np.ones(2))


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_joint_that_moves_by_more_than_five_thousandths_begins_anew(joint, sense):
    for way, taken in ((0.0049, True), (0.0051, False)):
        taught, place = path(), np.zeros(2)
        taught.observe(1.0, place)
        place[joint] = sense * way
        assert not taught.observe(1.25, place)
        assert taught.observe(1.5, place) is taken
        assert taught.observe(1.7, place) is not taken
    # What creeps is compared with the place at which the rest began.
    creeping = path()
    for k in range(9):
        place = np.zeros(2)
        place[joint] = sense * 0.003 * k
        assert not creeping.observe(0.125 * k, place)


def test_a_state_from_before_begins_anew():
    taught = path()
    taught.observe(5.0, np.zeros(2))
    assert not taught.observe(2.0, np.zeros(2))
    assert not taught.observe(2.25, np.zeros(2)) and taught.observe(2.5, np.zeros(2))


def test_waypoints_differ_by_two_hundredths_and_follow_in_half_a_second_or_as_fast_as_half_a_unit_a_second():
    taught = path()
    rest(taught, (0.0, 0.0), 0.0, 1.0)
    for place, begin, count in (
        ((0.019, -0.019), 2.0, 1),
        ((0.01, -0.021), 4.0, 2),
        ((0.1, -0.1), 6.0, 3),
        ((0.1, 0.8), 8.0, 4),
        ((-0.5, 0.79), 10.0, 5),
    ):
        rest(taught, place, begin, begin + 1.0)
        assert len(taught.times) == len(taught.places) == count
    np.testing.assert_allclose(taught.times, [0.0, 0.5, 1.0, 2.8, 4.0])
    assert taught.lines() == [
        "time,shoulder.position,elbow.position\n",
        "0.0,0.0,0.0\n",
        "0.5,0.01,-0.021\n",
        "1.0,0.1,-0.1\n",
        *(
            f"{time!r},{a!r},{b!r}\n"
            for time, a, b in zip(taught.times[3:], (0.1, -0.5), (0.8, 0.79), strict=True)
        ),
    ]
    assert path().lines() == ["time,shoulder.position,elbow.position\n"]


def test_places_are_kept_as_they_were():
    taught, place = path(), np.array([0.3, 0.4])
    taught.observe(0.0, place)
    place += 0.001
    taught.observe(0.5, place)
    place += 9.0
    assert taught.places[0].tolist() == [0.301, 0.401] and taught.joint_names == NAMES
    moved = path()
    place = np.array([0.3, 0.4])
    moved.observe(0.0, place)
    place += 1.0  # the array of the first state is used again
    assert not moved.observe(0.5, place)


def test_names_are_found_among_others_or_not_at_all():
    assert order(["c", "a", "x", "b"], ["a", "b", "c"]) == [1, 3, 0]
    assert order(["a", "b"], []) == []
    assert order(["a", "b"], ["a", "d"]) is None and order([], ["a"]) is None
