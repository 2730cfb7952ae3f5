"""A made-up platform from within: rotations, its pose from leg lengths, the external wrench, the watch."""

from __future__ import annotations

import numpy as np
import pytest
from inner_core import inner
from made_up_platform import HOME, MadeUpPlatform, quaternion, rotated


def called(name, given, size):
    """Results of a function of arrays; it writes no more than so many numbers."""
    ffi, calls = inner()
    made = ffi.new("double[]", [0.77] * (size + 1))
    getattr(calls, name)(*(ffi.new("double[]", np.ravel(array).tolist()) for array in given), made)
    assert made[size] == 0.77
    return np.array(list(made)[:size])


ANGLES = [(0.3, -0.5, 0.9), (-2.8, 0.4, -1.9), (1.1, 1.3, 2.9), (-0.2, -1.2, 0.4), (2.2, 0.1, -3.0)]


@pytest.mark.parametrize("angles", ANGLES)
def test_rotations_quaternions_and_angles_are_one_another_s(angles):
    rotation = rotated(angles)
    np.testing.assert_allclose(called("rd_quaternion", [angles], 4), quaternion(angles), atol=1e-15)
    np.testing.assert_allclose(called("rd_rotation", [quaternion(angles)], 9), rotation.ravel(), atol=1e-15)
    np.testing.assert_allclose(called("rd_roll_pitch_yaw", [rotation], 3), angles, atol=1e-14)


@pytest.mark.parametrize("pitch", [0.5 * np.pi, -0.5 * np.pi])
def test_at_90_degrees_of_pitch_the_yaw_is_zero(pitch):
    """Roll alone then tells the rotation; what rounding leaves of the horizontal direction is none."""
    side = np.sign(pitch)
    for roll, yaw in ((0.4, 1.1), (-1.9, 0.3)):
        rotation = rotated((roll, pitch, yaw))
        for rest in ((3e-15, -4e-15), (-1e-14, 0.0), (0.0, 0.0)):
            rotation[0, 0], rotation[1, 0], rotation[2, 0] = *rest, -side
            found = called("rd_roll_pitch_yaw", [rotation], 3)
            assert found[2] == 0.0 and found[1] == pytest.approx(pitch, abs=1e-13)
            assert found[0] == pytest.approx(roll - side * yaw)
    rotation[0, 0], rotation[1, 0] = -1.2e-14, 0.9e-14
    assert called("rd_roll_pitch_yaw", [rotation], 3)[2] == pytest.approx(np.pi - np.arctan2(0.9, 1.2))


def test_half_a_turn_of_roll_is_positive_whichever_sign_zeros_have():
    turned = np.diag([1.0, -1.0, -1.0])
    for signs in np.ndindex(2, 2, 2):
        turned[0, 2], turned[1, 2], turned[2, 0] = (0.0, -0.0)[signs[0]], (0.0, -0.0)[signs[1]], 0.0
        turned[1, 0] = (0.0, -0.0)[signs[2]]
        found = called("rd_roll_pitch_yaw", [turned], 3)
        assert found[0] == np.pi and found[1] == 0.0 and not np.signbit(found[1])


@pytest.mark.parametrize("angles", [ANGLES[0], ANGLES[1], ANGLES[3]])
def test_rates_of_angles_are_differences_of_a_body_that_turns(angles):
    velocity, step = np.array([0.7, -0.4, 1.3]), 1e-6
    skew = np.cross(np.eye(3), velocity)
    ends = [
        called("rd_roll_pitch_yaw", [(np.eye(3) + sign * step * skew) @ rotated(angles)], 3)
        for sign in (1, -1)
    ]
    found = called("rd_angle_rates", [angles, velocity], 3)
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2.0 * step), rtol=1e-7)


# The pose of the legs


def scaled(jacobian, length=0.6):
    return jacobian / np.repeat([1.0, length], 3)


def test_a_platform_begins_at_home():
    made = MadeUpPlatform()
    rotation = rotated((0.1, -0.2, 0.3))
    lengths, jacobian = made.legs(HOME, rotation)
    np.testing.assert_array_equal(made.numbers("pose", 7), made.home)
    np.testing.assert_allclose(made.get("place"), [*HOME, 0.1, -0.2, 0.3], atol=1e-15)
    np.testing.assert_allclose(made.get("hold"), [*HOME, 0.1, -0.2, 0.3], atol=1e-15)
    np.testing.assert_allclose(made.numbers("rotation", 9), rotation.ravel(), atol=1e-15)
    np.testing.assert_allclose(made.numbers("lengths", 6), lengths)
    np.testing.assert_allclose(made.numbers("jacobian", 36), jacobian.ravel(), atol=1e-14)
    state = made.state
    assert state.condition == np.inf and state.wrench_share == 0.0 and not state.known
    assert state.time == state.disturbance_time == state.given[6] == state.box.values[6] == -np.inf


ANGLES_AWAY = (-0.15, 0.1, 0.5)
PLACE_AWAY = HOME + np.array([0.06, -0.05, 0.1])
TWIST = np.array([0.3, -0.2, 0.5, 0.4, -0.6, 0.7])


def test_pose_and_twist_are_those_of_the_measured_legs():
    made = MadeUpPlatform()
    rotation = rotated(ANGLES_AWAY)
    lengths, jacobian = made.legs(PLACE_AWAY, rotation)
    made.core.discontinuity, made.state.condition_exact = 77, 1
    assert made.find(lengths, jacobian @ TWIST, 6.5) == 1
    state = made.state
    assert made.core.discontinuity == made.calls.RD_CONTINUOUS
    assert state.known == 1 and state.time == 6.5 and state.condition_exact == 0
    np.testing.assert_allclose(made.numbers("pose", 7), [*PLACE_AWAY, *quaternion(ANGLES_AWAY)], atol=1e-9)
    np.testing.assert_allclose(made.numbers("rotation", 9), rotation.ravel(), atol=1e-9)
    np.testing.assert_allclose(made.numbers("twist", 6), TWIST, atol=1e-8)
    np.testing.assert_allclose(made.numbers("rates", 6), jacobian @ TWIST, atol=1e-14)
    np.testing.assert_allclose(made.numbers("lengths", 6), lengths, atol=1e-14)
    np.testing.assert_allclose(made.numbers("jacobian", 36), jacobian.ravel(), atol=1e-9)
    np.testing.assert_allclose(made.get("place"), [*PLACE_AWAY, *ANGLES_AWAY], atol=1e-9)
    bound = np.linalg.norm(scaled(jacobian)) * np.linalg.norm(np.linalg.inv(scaled(jacobian)))
    assert state.condition == pytest.approx(bound)
    rates = made.ffi.new("double[7]", [0.77] * 7)
    made.settings.machine.find_rate(made.core, rates)
    np.testing.assert_allclose(list(rates)[:3], TWIST[:3], atol=1e-8)
    np.testing.assert_allclose(
        list(rates)[3:6], called("rd_angle_rates", [ANGLES_AWAY, TWIST[3:]], 3), atol=1e-8
    )
    assert rates[6] == 0.77
    told = made.ffi.new("double[27]", [0.77] * 27)
    made.put(rejoining__rate=0.0)
    for k in range(6):
        state.disturbance[k] = 0.1 * k - 0.3
    made.settings.machine.report(made.core, told)
    names = ("pose", 7), ("twist", 6), ("rates", 6), ("disturbance", 6)
    expected = [*np.concatenate([made.numbers(*one) for one in names]), state.condition, 0.77]
    np.testing.assert_array_equal(list(told), expected)


def test_the_condition_number_is_bounded_first_and_exact_where_the_bound_is_no_answer():
    made = MadeUpPlatform()
    lengths, jacobian = made.legs(PLACE_AWAY, rotated(ANGLES_AWAY))
    made.find(lengths)
    exact, bound = np.linalg.cond(scaled(jacobian)), made.state.condition
    assert exact < 0.9 * bound
    conditioned = made.calls.rd_platform_conditioned
    assert conditioned(made.core, bound) == 1 and not made.state.condition_exact, "equal is within"
    assert conditioned(made.core, 0.99 * bound) == 1 and made.state.condition_exact == 1
    assert made.state.condition == pytest.approx(exact)
    assert conditioned(made.core, made.state.condition) == 1
    assert conditioned(made.core, 0.99 * exact) == 0
    made.state.condition = 3.0
    assert conditioned(made.core, 2.0) == 0 and made.state.condition == 3.0, "an exact one stays"
    made.state.condition, made.state.condition_exact = np.nan, 0
    assert conditioned(made.core, 1e3) == 1 and made.state.condition == pytest.approx(exact)


def test_beyond_twice_its_limit_of_the_condition_number_nothing_is_controlled():
    made = MadeUpPlatform()
    lengths, jacobian = made.legs(PLACE_AWAY, rotated(ANGLES_AWAY))
    exact = np.linalg.cond(scaled(jacobian))
    for share, found in ((0.501, 1), (0.499, 0)):
        made.model.condition_limit = share * exact
        assert made.find(lengths) == found
        assert made.state.condition == pytest.approx(exact) and made.state.condition_exact == 1
    core = made.core
    assert core.discontinuity == made.calls.RD_BEYOND + 6 * made.calls.RD_ILL_CONDITIONED
    assert core.discontinuity_size == pytest.approx(exact)
    assert core.discontinuity_more == made.model.condition_limit
    np.testing.assert_allclose(made.numbers("pose", 3), PLACE_AWAY, atol=1e-9)


def test_a_state_without_a_pose_changes_nothing():
    made = MadeUpPlatform()
    calls = made.calls
    lengths, jacobian = made.legs(PLACE_AWAY, rotated(ANGLES_AWAY))
    assert made.find(lengths, jacobian @ TWIST) == 1
    before = bytes(made.ffi.buffer(made.state)[: 8 * (7 + 9 + 36 + 18)])
    rates = np.full(6, 0.1)
    rates[4] = np.nan
    assert made.find(lengths, rates) == 0 and made.core.discontinuity == calls.RD_CONTINUOUS
    short = lengths.copy()
    short[2] -= 1.1
    assert made.find(short) == 0
    assert made.core.discontinuity == calls.RD_BEYOND + 6 * calls.RD_NO_POSE
    assert made.core.discontinuity_size > 1e-3 and made.core.discontinuity_more == 1e-10
    assert made.find(np.append(lengths[:5], -0.3)) == 0
    assert made.core.discontinuity_size == np.inf
    assert bytes(made.ffi.buffer(made.state)[: len(before)]) == before


def test_a_singular_pose_is_no_pose():
    """Legs that are all vertical bear no horizontal force, whether or not the search has to move."""
    base = MadeUpPlatform().base
    made = MadeUpPlatform((0.0, 0.0, 0.0), base=base, top=base, home=np.array([0.0, 0.0, 1.3]))
    made.state.known = 1
    singular = made.calls.RD_BEYOND + 6 * made.calls.RD_SINGULAR
    made.core.discontinuity_size = made.core.discontinuity_more = 9.0
    assert made.find(np.full(6, 1.3)) == 0
    core = made.core
    assert (core.discontinuity, core.discontinuity_size, core.discontinuity_more) == (singular, 0.0, 0.0)
    assert made.find(np.full(6, 1.35)) == 0
    assert core.discontinuity == singular
    assert core.discontinuity_size == pytest.approx(0.05) and core.discontinuity_more == 1e-10
    assert made.state.time == -np.inf
    made.state.known, made.model.stroke = 0, 0.1
    assert made.find(np.full(6, 1.35)) == 0, "half a stroke above home, which is as singular"
    assert core.discontinuity == singular and core.discontinuity_size == pytest.approx(0.05)


@pytest.mark.parametrize(("off", "kind"), [(1e-3, "bound"), (4.9e-4, "exact"), (1e-4, "singular")])
def test_near_a_singular_pose_the_exact_condition_number_decides(off, kind):
    """All legs are parallel but for this angle."""
    base, place, angles = MadeUpPlatform().base, np.array([0.0, 0.0, 1.3]), (0.0, off, off)
    made = MadeUpPlatform((0.0, 0.0, 0.0), 1e12, base, base, place)
    lengths, jacobian = made.legs(place, rotated(angles))
    found = scaled(jacobian)
    exact, bound = np.linalg.cond(found), np.linalg.norm(found) * np.linalg.norm(np.linalg.inv(found))
    assert {"bound": bound < 1e8, "exact": exact < 1e8 < bound, "singular": exact > 1e8}[kind]
    made.state.known, made.state.pose = 1, [*place, *quaternion(angles)]
    assert made.find(lengths) == (kind != "singular")
    if kind == "singular":
        assert made.core.discontinuity == made.calls.RD_BEYOND + 6 * made.calls.RD_SINGULAR
        assert made.core.discontinuity_size == made.core.discontinuity_more == 0.0
    else:
        assert made.state.condition == pytest.approx({"bound": bound, "exact": exact}[kind], rel=1e-4)


TILTED = (0.7, -0.6, 0.3)
AFAR = [
    ((0.1, -0.2, 0.3), (-0.546, 1.022, -1.131), (0.201, 0.576, 0.292), 1.12, (0.154, 0.736, 0.659)),
    ((0.1, -0.2, 0.3), (0.941, 0.475, -1.102), (0.957, 0.357, 1.044), 0.331, (-0.085, 0.294, 0.952)),
    ((0.1, -0.2, 0.3), (0.958, -0.879, 1.095), (0.571, 1.211, 1.878), 1.282, (0.0, -0.214, 0.977)),
    ((0.1, -0.2, 0.3), (-1.135, -0.961, -1.56), (-0.241, 0.38, 1.097), 1.462, (-0.901, -0.247, 0.355)),
    ((0.1, -0.2, 0.3), (0.202, -1.217, 1.474), (0.177, 0.214, 1.363), 0.992, (-0.606, 0.007, 0.796)),
    ((0.1, -0.2, 0.3), (0.377, 0.68, 1.559), (-0.348, -0.449, 0.532), 0.546, (0.584, -0.027, 0.812)),
    ((0.1, -0.2, 0.3), (0.964, -1.29, 1.109), (0.671, 0.109, 1.745), 0.652, (-0.559, 0.061, 0.827)),
    ((0.1, -0.2, 0.3), (0.961, -1.22, 0.992), (0.549, 0.232, 1.387), 1.241, (0.107, -0.759, 0.642)),
    ((0.1, -0.2, 0.3), (1.164, -1.046, 1.052), (-0.194, -0.022, 1.119), 0.958, (0.888, -0.422, 0.185)),
    ((0.1, -0.2, 0.3), (0.775, -0.866, 1.235), (-0.056, 0.826, 1.118), 1.456, (0.562, 0.807, 0.182)),
    ((0.1, -0.2, 0.3), (-0.67, 1.06, 1.4), (0.68, 0.48, 1.47), 1.29, (-0.01, -0.01, 1.0)),
    ((0.1, -0.2, 0.3), (-0.445, -0.673, -0.397), (0.538, -0.377, 1.198), 0.5, (0.0, 0.0, 1.0)),
    (TILTED, (-0.6, -1.19, 0.14), (-0.68, -0.3, 1.71), 1.48, (0.31, -0.22, 0.93)),
    (TILTED, (2.17, -0.26, -0.7), (0.25, -0.55, 1.62), 0.36, (-0.35, 0.39, 0.85)),
    (TILTED, (-0.41, -0.97, 0.06), (0.33, -0.64, 1.7), 0.39, (0.05, -0.07, 1.0)),
    (TILTED, (0.11, -0.74, -0.8), (-0.13, -0.49, 1.15), 1.2, (0.51, -0.69, 0.51)),
]
"""Angles at home; angles and place of a first pose; stroke and direction of other starts."""


@pytest.mark.parametrize(("home", "angles", "place", "stroke", "up"), AFAR)
def test_a_first_pose_far_from_home_is_found_upright_and_on_home_s_side(home, angles, place, stroke, up):
    """The legs' lengths have other poses: a search from home ends in one of those, or nowhere."""
    made = MadeUpPlatform(home, 1e12)
    made.model.stroke, made.model.up = stroke, up
    lengths, jacobian = made.legs(np.array(place), rotated(angles))
    assert np.linalg.det(jacobian) * np.linalg.det(made.legs(HOME, rotated(home))[1]) > 0.0
    assert rotated(angles)[:, 2] @ rotated(home)[:, 2] > 0.0
    assert made.find(lengths) == 1
    np.testing.assert_allclose(made.get("place", 3), place, atol=1e-7)
    np.testing.assert_allclose(rotated(made.get("place")[3:]), rotated(angles), atol=1e-7)


def test_another_search_than_the_first_begins_at_the_last_pose_only():
    made = MadeUpPlatform((0.1, -0.2, 0.3), 1e12)
    _, angles, place, made.model.stroke, made.model.up = AFAR[2]
    made.state.known = 1
    assert made.find(made.legs(np.array(place), rotated(angles))[0]) == 0
    assert made.core.discontinuity == made.calls.RD_BEYOND + 6 * made.calls.RD_NO_POSE


def test_a_search_from_the_last_pose_takes_eight_steps_at_most():
    """From home the second of these poses needs nine by Newton's method."""
    made = MadeUpPlatform((0.1, -0.2, 0.3), 1e12)
    for angles, place, found in (
        ((-0.5, -0.5, 0.1), (0.1, -0.2, 1.3), 1),
        ((-1.01, -1.0, -0.21), (0.4, -1.12, 1.26), 0),
    ):
        made.state.known, made.state.pose = 1, made.home.tolist()
        assert made.find(made.legs(np.array(place), rotated(angles))[0]) == found


def test_lengths_of_no_pose_are_refused():
    made = MadeUpPlatform()
    lengths = made.legs(HOME, rotated((0.1, -0.2, 0.3)))[0]
    lengths[1] += 2.5
    assert made.find(lengths) == 0 and not made.state.known
    assert made.core.discontinuity_size > 0.1


# The external wrench


class Pushed(MadeUpPlatform):
    """At home, with a wrench that counts fully after 0.2 s."""

    def __init__(self, fade=0.2):
        super().__init__()
        self.model.wrench_fade = fade
        self.lengths, self.given = self.legs(HOME, rotated((0.1, -0.2, 0.3)))[0], np.arange(1.0, 7.0) * 10.0

    def offer(self, until):
        given = self.ffi.new("double[]", [*self.given, 5.0])
        self.calls.rd_platform_offer_wrench(self.core, given, until)

    def share(self, time):
        """Share of the wrench that is in force."""
        assert self.find(self.lengths, time=time) == 1
        shares = self.numbers("wrench", 6) / self.given
        np.testing.assert_allclose(shares, self.state.wrench_share, atol=1e-15)
        return self.state.wrench_share


def test_an_external_wrench_fades_in_and_out_by_the_time_between_states():
    made = Pushed()
    assert made.share(6.0) == 0.0, "none has been offered"
    made.offer(6.3)
    found = [made.share(time) for time in (6.02, 6.06, 6.2, 6.15, 6.2, 6.25, 6.28, 6.3)]
    np.testing.assert_allclose(found, [0.1, 0.3, 0.55, 0.55, 0.8, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(
        [made.share(time) for time in (6.31, 6.35, 6.4, 6.45, 6.5)], [0.95, 0.75, 0.5, 0.25, 0.0], atol=1e-12
    )
    made.offer(7.0)
    assert made.share(6.51) == pytest.approx(0.05)


def test_without_a_fade_an_external_wrench_counts_at_once():
    made = Pushed(0.0)
    made.state.open_loop.begun = 0.77
    made.offer(6.1)
    assert made.state.open_loop.begun == 0.77, "nothing else is written"
    times = 6.0, 6.0, 6.1, np.nextafter(6.1, 7.0), 6.2
    assert [made.share(time) for time in times] == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_a_wrench_that_is_being_written_does_not_count():
    made = Pushed(0.0)
    made.offer(9.0)
    made.share(6.0)
    made.state.box.sequence += 1
    made.state.box.values = [7.0] * 7
    assert made.share(6.01) == 1.0
    made.offer(8.0)
    np.testing.assert_array_equal(made.numbers("given", 7), [*made.given, 9.0])
    made.state.box.sequence += 1
    made.share(6.02)
    np.testing.assert_array_equal(made.numbers("given", 7), [*made.given, 8.0])


# The watch


class Watched(MadeUpPlatform):
    """A measured state, and its values (6) of each kind that is watched; far limits."""

    KINDS = ("RD_TOO_LONG", "RD_TOO_SHORT", "RD_TOO_QUICK", "RD_BASE_ANGLE", "RD_PLATFORM_ANGLE")

    def __init__(self):
        super().__init__()
        draw = np.random.default_rng(8)
        rotation = rotated(ANGLES_AWAY)
        lengths, jacobian = self.legs(PLACE_AWAY, rotation)
        rates = np.array([0.3, -0.5, 0.2, 0.7, -0.1, 0.4])
        directions = jacobian[:, :3]
        base, top = (each / np.linalg.norm(each, axis=1)[:, None] for each in draw.normal(size=(2, 6, 3)))
        base, top = base + 2.0 * directions, top + 2.0 * directions @ rotation
        base, top = (each / np.linalg.norm(each, axis=1)[:, None] for each in (base, top))
        model = self.model
        model.base_axes, model.platform_axes, model.watches = base.tolist(), top.tolist(), 1
        self.far()
        assert self.find(lengths, rates) == 1
        angles = ((directions * base).sum(axis=1), (directions @ rotation * top).sum(axis=1))
        self.values = [lengths, lengths, np.abs(rates), *map(np.arccos, angles)]

    def far(self):
        model = self.model
        model.longest, model.shortest, model.speed = [9.0] * 6, [0.1] * 6, [9.0] * 6
        model.base_cosine, model.platform_cosine = [-0.9] * 6, [-0.9] * 6

    def limit(self, kind, values):
        """Limits (6) of a kind."""
        name = ("longest", "shortest", "speed", "base_cosine", "platform_cosine")[kind]
        setattr(self.model, name, (np.cos(values) if kind > 2 else np.array(values)).tolist())

    def watch(self):
        """Kind and leg that is beyond its limit, its value and the limit; None."""
        core = self.core
        core.discontinuity, core.discontinuity_size, core.discontinuity_more = 0, 9.0, 9.0
        if not self.settings.machine.watch(core):
            assert (core.discontinuity, core.discontinuity_size) == (0, 9.0)
            return None
        kind, leg = divmod(core.discontinuity - self.calls.RD_BEYOND, 6)
        return kind, leg, core.discontinuity_size, core.discontinuity_more


@pytest.mark.parametrize("kind", range(5))
def test_the_leg_that_is_farthest_beyond_a_limit_is_reported(kind):
    made = Watched()
    assert getattr(made.calls, made.KINDS[kind]) == kind and made.watch() is None
    values, side = made.values[kind], -1.0 if kind == 1 else 1.0
    for leg in range(6):
        limits = values + side * 0.05
        limits[leg] = values[leg] - side * 0.04
        other = (leg + 2) % 6
        limits[other] = values[other] - side * 0.001
        made.limit(kind, limits)
        assert made.watch() == (kind, leg, pytest.approx(values[leg]), pytest.approx(limits[leg]))
    made.model.watches = 0
    assert made.watch() is None


@pytest.mark.parametrize("kind", range(3))
def test_at_its_limit_a_leg_is_not_beyond_it(kind):
    made = Watched()
    exact = made.numbers("rates" if kind == 2 else "lengths", 6)
    made.limit(kind, np.abs(exact))
    assert made.watch() is None


def test_limits_are_watched_in_their_order_and_the_condition_number_last():
    made = Watched()
    beyond = [made.values[kind] + (0.05 if kind == 1 else -0.05) for kind in range(5)]
    made.model.condition_limit = 1.5
    _, jacobian = made.legs(PLACE_AWAY, rotated(ANGLES_AWAY))
    exact = np.linalg.cond(scaled(jacobian))
    for first in range(5):
        made.far()
        for kind in range(first, 5):
            made.limit(kind, beyond[kind])
        assert made.watch()[0] == first
    made.far()
    assert made.watch() == (made.calls.RD_CONDITION, 0, pytest.approx(exact), 1.5)
    made.model.condition_limit = 1.01 * exact
    assert made.watch() is None


def test_the_table_of_a_platform():
    ffi, calls = inner()
    machine = calls.rd_machine_platform()
    assert machine.state_size == ffi.sizeof("rd_platform")
    assert machine.without_feedback == 2 and calls.RD_PLATFORM_FEEDFORWARD == 1
    assert machine.without_reference == machine.held_to_run == machine.yielding == 0
    assert (machine.telemetry, machine.telemetry_of_joints) == (26, 0)
    assert (machine.group, machine.rejoins) == (3, 1)
