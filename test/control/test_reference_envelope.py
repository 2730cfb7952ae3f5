"""Envelope of references: states of a step and its stop, each limit up to its bound, the last place in reach.

Legs come from numpy, rotations from scipy; the forces that a test gives the envelope record its states.
"""

from dataclasses import replace

import numpy as np
import pytest
from crooked_hexapod import (
    ALONG,
    CROOKED,
    JACOBIAN,
    LENGTHS,
    PLACE,
    ROTATION,
    Forces,
    envelope,
    legs_at,
    pace,
)
from scipy.spatial.transform import Rotation

from robot_dynamics.control.stewart.envelope import rotated, turned_by
from robot_dynamics.errors import SingularityError, StateError
from robot_dynamics.stewart.kinematics import condition_number, leg_geometry


def rests(made, position, rotation, with_pace=None):
    """Try to rest at a pose; True where the machine can."""
    return made.reachable(position, rotation, pace() if with_pace is None else with_pace)[0] is position


UP, DOWN = 1.0 + 1e-12, 1.0 - 1e-12


def test_accelerations_are_cut_to_the_pace_by_length_and_keep_their_direction():
    limits = pace(acceleration=2.0, angular_acceleration=0.5)
    given = np.array([1.2, -3.4, 0.6, 0.3, -0.1, 0.2])
    kept = given.copy()
    expected = np.concatenate([given[:3] * 2.0 / np.linalg.norm(given[:3]), given[3:]])
    np.testing.assert_allclose(limits.cut(given), expected, rtol=1e-15)
    np.testing.assert_array_equal(given, kept)
    given[3:] *= 9.0
    expected[3:] = given[3:] * 0.5 / np.linalg.norm(given[3:])
    np.testing.assert_allclose(limits.cut(given), expected, rtol=1e-15)
    slow = np.array([0.3, -0.4, 0.5, 0.1, 0.2, -0.3])
    np.testing.assert_array_equal(limits.cut(slow), slow)


def test_a_stop_takes_as_long_as_the_slower_of_both_parts():
    limits = pace(acceleration=2.0, angular_acceleration=0.5)
    twists = np.random.default_rng(1).normal(size=(2, 4, 6)) * [1.0, 1.0, 1.0, 0.25, 0.25, 0.25]
    linear, angular = (np.linalg.norm(part, axis=2) for part in (twists[..., :3], twists[..., 3:]))
    expected = np.maximum(linear / 2.0, angular / 0.5)
    assert (linear / 2.0 > angular / 0.5).any() and (linear / 2.0 < angular / 0.5).any()
    np.testing.assert_allclose(limits.stop_time(twists), expected, rtol=1e-14)
    np.testing.assert_allclose(limits.stop_time(twists[1, 2]), expected[1, 2], rtol=1e-14)


@pytest.mark.parametrize(
    "vector",
    [
        (0.3, -0.2, 0.5),
        (3.0, 0.2, 0.1),
        (-3.1, 0.3, -0.2),
        (0.2, 3.0, 0.3),
        (0.2, -3.1, 0.3),
        (-0.3, 0.2, 3.0),
        (0.3, -0.2, -3.1),
        (1.2, 1.5, -1.3),
        (0.0, 0.0, 0.0),
        (np.pi, 0.0, 0.0),
        (0.0, np.pi, 0.0),
        (0.0, 0.0, np.pi),
    ],
)
def test_turns_are_those_of_scipy(vector):
    """One rotation for each entry that may be the greatest, and both signs of its axis."""
    first = Rotation.from_rotvec(vector)
    further = np.array([[0.4, -0.3, 0.2], [0.0, 0.0, 0.0], [-2.0, 1.0, 0.5], [1e-9, -2e-9, 3e-9]])
    with np.errstate(all="raise"):
        found = turned_by(first.as_matrix(), further)
    expected = Rotation.from_rotvec(further) * first
    for one, other in zip(found, expected.as_quat(), strict=True):
        np.testing.assert_allclose(one, other * np.sign(one @ other), atol=2e-15)
    for one, turn in zip(further, expected.as_matrix(), strict=True):
        np.testing.assert_allclose(rotated(first.as_matrix(), one), turn, atol=3e-15)


@pytest.mark.parametrize("least", [False, True])
def test_states_of_a_step_lead_from_its_begin_through_its_end_to_the_standstill(least):
    """Constant acceleration, then a stop straight on; no stop is shorter than the step."""
    forces, limits = Forces(), pace(acceleration=1.5, angular_acceleration=2.0)
    made, step = envelope(forces), 0.05
    twist = np.array([0.3, -0.2, 0.1, 0.2, -0.4, 0.3]) * (0.01 if least else 1.0)
    accelerations = np.array([[1.0, -0.5, 0.3, 0.6, 0.9, -0.7], [-0.4, 0.8, 0.2, -1.0, 0.3, 0.5]])
    place = np.array([0.03, 0.02, -0.05, 0.2, -0.1, 0.15])
    safe, within = made.safe_steps(PLACE, ROTATION, twist, accelerations, step, limits, place)
    assert safe.tolist() == [True, True] and within is True
    rows = [(place, np.zeros(6), np.zeros(6))]
    for a in accelerations:
        after = twist + step * a
        end = step * twist + 0.5 * step**2 * a
        linear, angular = np.linalg.norm(after[:3]) / 1.5, np.linalg.norm(after[3:]) / 2.0
        duration = max(linear, angular, step)
        assert bool(duration == step) is least
        rows += [(np.zeros(6), twist, a), (end, after, a)]
        for t in duration * np.arange(8) / 7.0:
            slowing = -after / duration
            rows.append((end + t * after + 0.5 * t**2 * slowing, after + t * slowing, slowing))
    moved, twists, wanted = (np.array(column) for column in zip(*rows, strict=True))
    positions, quaternions, rotations, found_twists, found = forces.states[0]
    expected = Rotation.from_rotvec(moved[:, 3:]) * Rotation.from_matrix(ROTATION)
    np.testing.assert_allclose(positions, PLACE + moved[:, :3], atol=1e-15)
    np.testing.assert_allclose(rotations, expected.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(Rotation.from_quat(quaternions).as_matrix(), rotations, atol=1e-14)
    np.testing.assert_allclose(found_twists, twists, atol=1e-15)
    np.testing.assert_allclose(found, wanted, atol=1e-14)
    # Without a place there is one state less, and nothing to be out of reach.
    safe, within = made.safe_steps(PLACE, ROTATION, twist, accelerations, step, limits)
    assert safe.tolist() == [True, True] and within is True
    np.testing.assert_allclose(forces.states[1][0], PLACE + moved[1:, :3], atol=1e-15)


def test_each_acceleration_and_the_place_have_a_verdict_of_their_own():
    made = envelope(longest=(float(LENGTHS.max()) + 0.03) / (1.0 - 5e-4))
    up = np.eye(6)[2]
    accelerations = np.array([0.0, 1.0, -1.0, 2.0])[:, None] * up
    for place, reached in ((0.02 * up, True), (0.5 * up, False), (None, True)):
        safe, within = made.safe_steps(PLACE, ROTATION, 0.0 * up, accelerations, 0.25, pace(), place)
        assert safe.tolist() == [True, False, True, False]
        assert within is reached


@pytest.mark.parametrize("leg", range(6))
def test_a_length_may_be_its_limit_and_no_more(leg):
    """A leg without a greatest length has no stroke, of which a share could stay free."""
    length = float(leg_geometry(CROOKED, PLACE, rotated(ROTATION, np.zeros(3))).lengths[leg])
    assert length == pytest.approx(LENGTHS[leg])
    for limit, kept in ((length, True), (length * DOWN, True), (length * UP, False)):
        assert rests(envelope(shortest={leg: limit}), PLACE, ROTATION) is kept
    near = length / (1.0 - 5e-4) + np.spacing(length) * np.arange(-8, 9)
    most = float(near[near - 5e-4 * near == length][0])
    for limit, kept in ((most, True), (most * DOWN, False), (most * UP, True)):
        assert rests(envelope(longest={leg: limit}), PLACE, ROTATION) is kept


@pytest.mark.parametrize("lag", [0.0, 0.004, -0.003])
def test_a_share_of_the_stroke_and_the_lag_of_the_legs_stay_free(lag):
    """A leg that is longer than its reference is short of room above, one that is shorter below."""
    leg, margin = 3, 5e-4 * 0.5
    for end, sign, least in (("longest", 1.0, max(lag, 0.0)), ("shortest", -1.0, max(-lag, 0.0))):
        for spare, kept in ((1e-9, True), (-1e-9, False)):
            limit = LENGTHS[leg] + sign * (margin + least + spare)
            other = {"longest": "shortest", "shortest": "longest"}[end]
            made = envelope(**{end: {leg: limit}, other: {leg: limit - sign * 0.5}})
            made.lag = np.where(np.arange(6) == leg, lag, 0.0)
            assert rests(made, PLACE, ROTATION) is kept


def test_the_lag_is_a_mean_of_what_legs_are_longer_than_their_reference():
    made = envelope()
    np.testing.assert_array_equal(made.lag, np.zeros(6))
    found, lags = (PLACE, ROTATION), []
    for shift in ([0.01, -0.02, 0.03], [-0.02, 0.01, 0.0]):
        led = (PLACE + shift, rotated(ROTATION, np.array(shift)))
        made.note_lag(found, led)
        lags.append(LENGTHS - legs_at(*led)[0])
    np.testing.assert_allclose(made.lag, 0.8 * 0.2 * lags[0] + 0.2 * lags[1], atol=1e-15)


def test_the_speed_of_a_leg_may_be_its_limit():
    twist, step = np.array([0.2, -0.3, 0.1, 0.15, -0.1, 0.25]), 1e-9
    rates = np.abs(JACOBIAN @ twist)
    for leg in range(6):
        for spare, kept in ((2e-9, True), (0.0, True), (-2e-8, False)):
            speeds = np.where(np.arange(6) == leg, rates * (1.0 + spare), 10.0)
            limits = pace(leg_speed=speeds, acceleration=1e9, angular_acceleration=1e9)
            made = envelope()
            safe, _ = made.safe_steps(PLACE, ROTATION, twist, np.zeros((1, 6)), step, limits)
            assert safe[0] == kept
    assert rests(envelope(), PLACE, ROTATION, pace(leg_speed=np.zeros(6)))


@pytest.mark.parametrize("leg", [0, 4])
def test_legs_may_turn_up_to_their_angles_at_both_ends(leg):
    home, level = legs_at(CROOKED.home_position, CROOKED.home_rotation)[1], CROOKED.home_rotation
    for name, cosine in (
        ("base_angle", ALONG[leg] @ home[leg]),
        ("platform_angle", (ROTATION.T @ ALONG[leg]) @ (level.T @ home[leg])),
    ):
        angle = np.arccos(cosine)
        assert angle > 0.02
        for spare, kept in ((5e-9, True), (0.0, True), (-1e-7, False)):
            assert rests(envelope(**{name: {leg: angle + spare}}), PLACE, ROTATION) is kept


def test_an_angle_counts_up_to_a_rounding_of_its_cosine():
    legs = leg_geometry(CROOKED, PLACE, ROTATION)
    local = (CROOKED.home_directions @ CROOKED.home_rotation) @ ROTATION.T
    for name, axes in (("base_cosine", CROOKED.home_directions), ("platform_cosine", local)):
        cosine = (legs.directions * axes).sum(axis=-1)
        for beyond, kept in ((0.9e-9, True), (1.1e-9, False)):
            made = envelope()
            made.limits = replace(made.limits, **{name: cosine + beyond})
            assert rests(made, PLACE, ROTATION) is kept


@pytest.mark.parametrize("name", ["base_cosine", "platform_cosine"])
def test_a_cosine_may_be_its_limit_less_the_rounding(name):
    rotation = rotated(ROTATION, np.zeros(3))
    local = (CROOKED.home_directions @ CROOKED.home_rotation) @ rotation.T
    axes = CROOKED.home_directions if name == "base_cosine" else local
    cosine = float((leg_geometry(CROOKED, PLACE, rotation).directions * axes).sum(axis=-1)[2])
    near = cosine + 1e-9 + np.spacing(cosine) * np.arange(-8, 9)
    limit = float(near[near - 1e-9 == cosine][0])
    for beyond, kept in ((0.0, True), (1e-14, False)):
        made = envelope()
        limits = np.where(np.arange(6) == 2, limit + beyond, -1.0)
        made.limits = replace(made.limits, **{name: limits})
        assert rests(made, PLACE, rotation) is kept


def test_the_condition_number_may_be_its_limit():
    found = float(condition_number(JACOBIAN, CROOKED.characteristic_length))
    scale = np.array([1.0] * 3 + [1.0 / CROOKED.characteristic_length] * 3)
    assert found == pytest.approx(np.linalg.cond(JACOBIAN * scale), rel=1e-12)
    for limit, kept in ((found * (1.0 + 1e-12), True), (found * (1.0 - 1e-12), False)):
        assert rests(envelope(condition=limit), PLACE, ROTATION) is kept


def test_every_fourth_state_of_a_step_is_compared_with_the_condition_limit():
    """Of the ten of one step these are its begin, and the third and the seventh pose of the stop."""
    twist, step = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 1.5]), 0.05
    forces, limits = Forces(), pace(angular_acceleration=4.0)
    for limit, kept in ((None, True), (5, False), (9, True)):
        made = envelope(forces)
        if limit is not None:
            positions, _, rotations, *_ = forces.states[0]
            numbers = condition_number(leg_geometry(CROOKED, positions, rotations).jacobian, 1.2)
            assert CROOKED.characteristic_length == 1.2 and (np.diff(numbers[2:]) > 0.0).all()
            made.limits = replace(made.limits, condition=float(0.5 * (numbers[limit] + numbers[limit - 1])))
        safe, _ = made.safe_steps(PLACE, ROTATION, twist, np.zeros((1, 6)), step, limits)
        assert safe[0] == kept


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_forces_may_be_the_share_of_their_limit_that_the_pace_allows(sign):
    limits = pace(share=0.5)
    for force, kept in ((4.0, True), (4.0 * UP, False), (4.0 * DOWN, True)):
        forces = Forces(sign * np.array([1.0, force, 2.0, 0.0, 3.0, 1.0]))
        made = envelope(forces, force={1: 8.0, 0: 100.0})
        assert rests(made, PLACE, ROTATION, limits) is kept


@pytest.mark.parametrize("error", [SingularityError("singular"), StateError("none")])
def test_poses_without_forces_are_beyond_the_limits_and_one_leg_without_length_is_too(error):
    assert not rests(envelope(error), PLACE, ROTATION)
    turn = np.eye(3)
    on_its_base = CROOKED.base_points[2] - CROOKED.platform_points[2]
    assert not rests(envelope(), on_its_base, turn)


def test_forces_count_only_where_the_rest_is_kept():
    """They may not exist beyond."""
    forces = Forces()
    made = envelope(forces, longest=float(LENGTHS.max()) - 1e-3)
    made.safe_steps(PLACE, ROTATION, np.zeros(6), np.zeros((1, 6)), 0.05, pace())
    assert len(forces.states[0][0]) == 0


def test_a_leg_that_turns_within_a_step_has_its_greatest_length_within():
    """Straight on along a leg, which slows down and comes back: v²/2a beyond the begin."""
    leg, step, speed, slow = 2, 0.2, 0.1, 1.0
    twist = np.append(speed * ALONG[leg], np.zeros(3))
    acceleration = np.append(-slow * ALONG[leg], np.zeros(3))[None]
    highest = LENGTHS[leg] + speed**2 / (2.0 * slow)
    for spare, kept in ((1e-9, True), (-1e-9, False)):
        made = envelope(longest={leg: (highest + spare) / (1.0 - 5e-4)})
        safe, _ = made.safe_steps(PLACE, ROTATION, twist, acceleration, step, pace())
        assert safe[0] == kept
        made = envelope(shortest={leg: 2.0 * LENGTHS[leg] - highest - spare})
        safe, _ = made.safe_steps(PLACE, ROTATION, -twist, -acceleration, step, pace())
        assert safe[0] == kept
    # One of several steps: the others, and a place in front of them, stay as they are.
    made = envelope(longest={leg: (highest - 1e-9) / (1.0 - 5e-4)})
    both = np.concatenate([-twist[None] / step, acceleration, -10.0 * twist[None] / step])
    for place in (None, np.zeros(6)):
        safe, _ = made.safe_steps(PLACE, ROTATION, twist, both, step, pace(), place)
        assert safe.tolist() == [False, False, True]


# The last place on the way


def test_the_last_place_on_the_way_from_home_is_found_in_steps_of_a_sixteenth():
    """The way leads along a line and about an axis; each level divides it by another 16."""
    home, level = CROOKED.home_position, CROOKED.home_rotation
    way = np.array([0.1, -0.2, 0.9])
    turn = np.array([0.3, -0.2, 0.25])
    target = (home + way, (Rotation.from_rotvec(turn) * Rotation.from_matrix(level)).as_matrix())

    def length(share):
        rotation = Rotation.from_rotvec(share * turn) * Rotation.from_matrix(level)
        return legs_at(home + share * way, rotation.as_matrix())[0].max()

    for levels, most in ((1, 0.6789), (2, 0.6789), (3, 0.6789), (2, 0.9712), (2, 0.0321)):
        made = envelope(longest=length(most) / (1.0 - 5e-4))
        finest = 16.0**levels
        share = np.floor(most * finest) / finest
        position, rotation = made.reachable(*target, pace(), levels=levels)
        np.testing.assert_allclose(position, home + share * way, atol=1e-14)
        np.testing.assert_allclose(
            Rotation.from_matrix(rotation @ level.T).as_rotvec(), share * turn, atol=1e-13
        )
    np.testing.assert_array_equal(made.reachable(*target, pace())[0], made.reachable(*target, pace(), 2)[0])
    # Where home is out of reach itself, nothing is better.
    position, rotation = envelope(longest=1.0).reachable(*target, pace())
    np.testing.assert_array_equal(position, home)
    np.testing.assert_allclose(rotation, level, atol=1e-15)


# From outside


def test_from_beyond_the_strokes_one_may_return_but_not_go_further():
    made = envelope(shortest=1.0, longest=float(LENGTHS.max()) - 0.01)
    further = PLACE + 1e-6 * ALONG[int(np.argmax(LENGTHS))]
    assert not rests(made, PLACE, ROTATION)
    for lag in (np.zeros(6), np.full(6, 0.002), np.full(6, -0.002)):
        made.lag = lag
        made.widen(PLACE, ROTATION)
        assert rests(made, PLACE, ROTATION)
        assert not rests(made, further, ROTATION)
    np.testing.assert_array_equal(made.limits.shortest, np.full(6, 1.0))
    np.testing.assert_allclose(made.limits.longest, np.maximum(LENGTHS, LENGTHS.max() - 0.01), rtol=1e-15)
    below = envelope(shortest=float(LENGTHS.min()) + 0.01, longest=3.0)
    below.lag = np.full(6, -0.002)
    below.widen(PLACE, ROTATION)
    assert rests(below, PLACE, ROTATION)
    assert not rests(below, PLACE - 1e-6 * ALONG[int(np.argmin(LENGTHS))], ROTATION)


def test_well_inside_the_strokes_the_usual_share_stays_free():
    longest = float(LENGTHS.max()) + 0.1
    made = envelope(shortest=longest - 1.0, longest=longest)
    made.widen(PLACE, ROTATION)
    along = ALONG[int(np.argmax(LENGTHS))]
    for margin, kept in ((6e-4, True), (4e-4, False)):
        assert rests(made, PLACE + (0.1 - margin) * along, ROTATION) is kept


def test_from_beyond_the_condition_limit_one_may_return():
    found = float(condition_number(JACOBIAN, CROOKED.characteristic_length))
    made = envelope(condition=0.9 * found)
    assert not rests(made, PLACE, ROTATION)
    made.widen(PLACE, ROTATION)
    assert made.limits.condition == pytest.approx(found * (1.0 + 1e-9), rel=1e-12)
    assert rests(made, PLACE, ROTATION)
    wide = envelope(condition=1.5 * found)
    wide.widen(PLACE, ROTATION)
    assert wide.limits.condition == 1.5 * found


def test_limits_are_those_of_the_machine():
    made = envelope(shortest=1.1, longest=2.1, speed=0.7, force=9.0, base_angle=0.3, platform_angle=0.4)
    for name, value in (
        ("shortest", 1.1),
        ("longest", 2.1),
        ("speed", 0.7),
        ("force", 9.0),
        ("base_cosine", np.cos(0.3)),
        ("platform_cosine", np.cos(0.4)),
        ("condition", 1e9),
    ):
        np.testing.assert_allclose(
            getattr(made.limits, name), np.broadcast_to(value, np.shape(getattr(made.limits, name)))
        )
