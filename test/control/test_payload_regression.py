"""Payload estimates against a regression of its own: unit bodies, the observer's filter, standard errors."""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pytest
from closed_loop import READY, compiled
from two_arms import TIPS, TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.control.arm.payload_estimate import (
    PayloadEstimate,
    _check,
    _estimates,
    estimate_at_rest,
    estimate_payload,
)
from robot_dynamics.errors import StateError
from robot_dynamics.model.chain import RigidBody

GAIN, PERIOD = 20.0, 0.005
FLOOR = 1e-3
"""Share of the largest external effort up to which residuals of all joints count alike."""
CENTER = np.array([0.06, -0.04, 0.09])


def ur5():
    return compiled("ur5")


def of_body(links, mass, center, motion, inertia=((0.0,) * 3,) * 3, tip=None):
    """Efforts (N, n) that a body at a tip needs in a motion."""
    body = RigidBody(mass, np.array(center), np.array(inertia))
    loaded = links.with_payload(body if tip is None else {tip: body})
    return loaded.inverse_dynamics(*motion) - links.inverse_dynamics(*motion)


def of_units(links, motion):
    """(N, n, 4) efforts of a unit mass and of unit first moments."""
    found = [of_body(links, 1.0, (0.0, 0.0, 0.0), motion)]
    for axis in np.eye(3):
        pair = [of_body(links, 1.0, sign * 0.1 * axis, motion) for sign in (1.0, -1.0)]
        found.append((pair[0] - pair[1]) / 0.2)
    return np.stack(found, axis=2)


class Moved:
    """A motion of some joints of a UR5, and external efforts as an observer finds them from its start."""

    def __init__(self, count=400, amplitudes=(0.5, 0.4, 0.6, 0.7, 0.5, 0.8), period=PERIOD, moves=1.0):
        self.times, self.period = 3.0 + period * np.arange(count), period
        t, rates = self.times[:, None], np.array([1.3, 2.1, 1.7, 2.9, 2.3, 3.1])
        way = np.array(amplitudes)
        self.motion = (
            READY + way * np.sin(rates * t),
            moves * way * rates * np.cos(rates * t),
            -moves * way * rates**2 * np.sin(rates * t),
        )

    def filtered(self, efforts):
        """First-order lag of the mean effort of each interval, from zero on."""
        from scipy.signal import lfilter  # takes most of a second, in every worker that collects this file

        keeps = np.exp(-GAIN * self.period)
        mean = 0.5 * (efforts[1:] + efforts[:-1])
        return np.concatenate(
            [np.zeros((1, *efforts.shape[1:])), lfilter([1.0 - keeps], [1.0, -keeps], mean, axis=0)]
        )

    def carrying(self, mass, center=CENTER, inertia=((0.0,) * 3,) * 3):
        return -self.filtered(of_body(ur5(), mass, center, self.motion, inertia))

    def estimate(self, external):
        [found] = estimate_payload(ur5(), GAIN, self.times, *self.motion[:2], external)
        return found

    def used(self, parts):
        """Parts of states that are later than five time constants after the first one."""
        return parts[self.times - self.times[0] > 5.0 / GAIN]


@lru_cache
def moved():
    return Moved()


@pytest.mark.parametrize("length", [1.0, 2.0])
def test_a_mass_at_the_end_of_a_long_tool_is_found_within_a_percent(length):
    """Its inertia about the tip is that of 0.6 m or 1.2 m, and begins as none."""
    center = length * np.array([0.3, 0.2, 0.5])
    found = moved().estimate(moved().carrying(1.5, center))
    assert found.mass == pytest.approx(1.5, rel=5e-3)
    np.testing.assert_allclose(found.center, center, rtol=5e-3)


@pytest.mark.parametrize("mass", [0.3, 2.5])
def test_a_point_mass_in_motion_is_found_exactly(mass):
    found = moved().estimate(moved().carrying(mass))
    assert found.tip == ur5().chain.tip
    assert found.mass == pytest.approx(mass, rel=2e-3)
    np.testing.assert_allclose(found.center, CENTER, atol=5e-4)
    assert found.unexplained < 5e-3


def test_the_deviation_is_that_of_a_weighted_regression_of_correlated_residuals():
    """Residuals below a thousandth of the largest effort count as such, and as two filter lags each."""
    units = moved().used(moved().filtered(of_units(ur5(), moved().motion)))
    external = moved().carrying(1.5)
    floor = FLOOR * np.abs(moved().used(external)).max()
    normal = np.einsum("tja,tjb->ab", units, units) / floor**2
    spread = np.sqrt(np.diag(np.linalg.inv(normal)) * 2.0 / (GAIN * PERIOD))
    found = moved().estimate(external)
    assert found.mass_deviation == pytest.approx(spread[0], rel=1e-2)
    around = np.sqrt(spread[1:] ** 2 + (CENTER * spread[0]) ** 2) / 1.5
    np.testing.assert_allclose(found.center_deviation, around, rtol=1e-2)


def test_noisy_joints_count_less_by_their_residuals():
    """Deviations by the noise of each joint; the unexplained share is that of the noise."""
    noise = np.array([4.0, 0.5, 0.3, 0.1, 0.2, 0.05]) * np.random.default_rng(2).normal(size=(400, 6))
    external = moved().carrying(1.5) + noise
    noise = moved().used(noise)
    weights = 1.0 / np.sqrt((noise**2).mean(axis=0))
    units = moved().used(moved().filtered(of_units(ur5(), moved().motion))) * weights[:, None]
    spread = np.sqrt(np.diag(np.linalg.inv(np.einsum("tja,tjb->ab", units, units))) * 2.0 / (GAIN * PERIOD))
    found = moved().estimate(external)
    assert found.mass == pytest.approx(1.5, abs=4.0 * spread[0])
    assert found.mass_deviation == pytest.approx(spread[0], rel=0.03)
    seen = moved().used(external)
    share = np.sqrt(((noise * weights) ** 2).sum() / ((seen * weights) ** 2).sum())
    assert found.unexplained == pytest.approx(share, rel=0.03)


def test_the_inertia_of_a_point_mass_is_taken_off_and_no_other():
    """A body with an inertia of its own about its centre leaves a part that nothing explains."""
    inertia = np.diag([0.05, 0.04, 0.02])
    point, body = (
        moved().estimate(moved().carrying(1.0, inertia=one)) for one in (np.zeros((3, 3)), inertia)
    )
    assert point.unexplained < 0.005 < 0.02 < body.unexplained < 0.5


def test_states_of_the_first_five_time_constants_are_left_out():
    """An observer that begins with a wrong value has forgotten it by then."""
    external = moved().carrying(1.0)
    wrong = external.copy()
    late = moved().times - moved().times[0] > 5.0 / GAIN
    wrong[~late] += 50.0
    assert moved().estimate(wrong).mass == moved().estimate(external).mass
    first = int(np.argmax(late))
    assert (~late).sum() == first == 51
    wrong[first] += 5.0
    assert moved().estimate(wrong).mass != moved().estimate(external).mass


def test_a_direction_that_the_motion_does_not_move_is_left_at_zero():
    """Only shoulder and elbow move, whose axes are parallel."""
    plane = Moved(amplitudes=(0.0, 0.5, 0.4, 0.0, 0.0, 0.0))
    found = plane.estimate(plane.carrying(1.0))
    assert np.isfinite(found.center).all() and np.abs(found.center).max() < 1.0
    assert found.mass_deviation < 0.2 and np.abs(found.center_deviation).max() < 1.0


def test_ten_states_of_each_joint_are_enough():
    """Sixty of six joints after five time constants, which the 51 states before are not."""
    few = Moved(51 + 60, amplitudes=(2.0,) * 6)
    external = few.carrying(1.0)
    assert few.estimate(external).mass == pytest.approx(1.0, rel=0.02)
    less = slice(0, -1)
    with pytest.raises(StateError) as told:
        estimate_payload(
            ur5(), GAIN, few.times[less], few.motion[0][less], few.motion[1][less], external[less]
        )
    assert str(told.value) == "59 states are too few: let the arm move longer"


def test_two_joints_have_to_move():
    """By more than 0.1 each; the refusal says how far the arm has moved."""
    external = moved().carrying(1.0)
    q, qd = moved().motion[:2]
    still = np.array(q)
    still[:, 1:] = READY[1:]
    still[:, :2] = 0.0
    still[-1, :2] = 0.75, 0.1
    with pytest.raises(StateError) as told:
        estimate_payload(ur5(), GAIN, moved().times, still, qd, external)
    assert str(told.value) == (
        "the arm moved by at most 0.750 rad or m: move at least two joints that feel the payload, by 0.1 or"
        " more"
    )
    still[0, 1] = -0.01
    assert estimate_payload(ur5(), GAIN, moved().times, still, qd, external)


def test_slow_states_are_each_a_residual_of_their_own():
    """States that are farther apart than two time constants share no residual."""
    slow = Moved(200, period=0.15, moves=0.0)
    units = slow.used(slow.filtered(of_units(ur5(), slow.motion)))
    external = slow.carrying(1.0)
    floor = FLOOR * np.abs(slow.used(external)).max()
    spread = np.sqrt(np.linalg.inv(np.einsum("tja,tjb->ab", units, units))[0, 0])
    found = slow.estimate(external)
    assert GAIN * slow.period > 2.0 and found.mass == pytest.approx(1.0, rel=1e-6)
    assert found.mass_deviation == pytest.approx(spread * floor, rel=1e-6)


@pytest.mark.parametrize(
    ("mass", "words"),
    [
        (-0.5, "what acts has the mass -0.500 kg: the declared payload or a mass of the model is too large"),
        (0.015, "nothing beyond 0.02 kg is carried beside the declared payload"),
        (-0.015, "nothing beyond 0.02 kg is carried beside the declared payload"),
    ],
)
def test_no_mass_and_a_negative_one_are_refused(mass, words):
    with pytest.raises(StateError) as told:
        moved().estimate(np.sign(mass) * moved().carrying(abs(mass), (0.0, 0.0, 0.0)))
    assert str(told.value).replace("-0.499", "-0.500") == words


NOISE = np.array([4.0, 0.5, 0.3, 0.1, 0.2, 0.05]) * np.random.default_rng(5).normal(size=(400, 6))


def test_a_mass_that_is_uncertain_is_refused():
    """A standard deviation of more than a fifth of the mass is too much; it grows with the noise."""
    certain = moved().estimate(moved().carrying(4.0) + 6.0 * NOISE).mass_deviation
    assert certain > 0.15 * 0.5
    with pytest.raises(StateError) as told:
        moved().estimate(moved().carrying(0.5) + 12.0 * NOISE)
    mass = str(told.value).split()[3]
    assert float(mass) == pytest.approx(0.5, abs=2.0 * certain)
    assert str(told.value) == (
        f"the mass is {mass} kg with a standard deviation of {2.0 * certain:.3f} kg: move at least two joints"
        " that feel the payload, farther or longer"
    )


def test_a_push_is_no_payload():
    """The share that nothing explains is named in per cent: beyond a half it is something else."""
    external = moved().carrying(0.5)
    for scale, refused in ((2.0, False), (5.0, True)):
        seen, noise = (moved().used(part) for part in (external + scale * NOISE, scale * NOISE))
        weights = 1.0 / (noise**2).mean(axis=0)
        share = np.sqrt((noise**2 * weights).sum() / (seen**2 * weights).sum())
        if not refused:
            found = moved().estimate(external + scale * NOISE)
            assert found.unexplained == pytest.approx(share, rel=0.02) and share < 0.5
            continue
        with pytest.raises(StateError) as told:
            moved().estimate(external + scale * NOISE)
        percent = float(str(told.value)[20:22])
        assert percent == pytest.approx(100.0 * share, abs=1.5)
        assert str(told.value) == (
            f"no payload explains {percent:.0f} % of the external efforts: something touches the arm, or its"
            " model or friction differs from it"
        )


def test_an_estimate_adds_to_what_is_declared_as_one_body():
    found = PayloadEstimate("tool", 2.0, np.array([0.1, -0.2, 0.3]), 0.1, np.full(3, 0.01), 0.05)
    inertia = (0.02, 0.001, 0.0, 0.03, 0.0, 0.04)
    both = found.added_to(PayloadParameters(3.0, (0.5, 0.25, -0.125), inertia))
    assert both.payload_mass == 5.0 and both.payload_inertia == inertia
    assert both.payload_center == pytest.approx((0.34, 0.07, 0.045), abs=1e-15)


class Resting:
    """External efforts of a UR5 at rest in poses that each joint has reached from both sides."""

    def __init__(self, poses=6, mass=1.2, friction=(2.0, 1.5, 1.2, 0.4, 0.3, 0.2), seed=1):
        random = np.random.default_rng(seed)
        self.positions = np.array(READY) + random.uniform(-0.7, 0.7, (poses, 6))
        self.came = np.where(random.random((poses, 6)) < 0.5, -1.0, 1.0)
        self.came[0], self.came[1] = 1.0, -1.0
        still = np.zeros_like(self.positions)
        self.motion = (self.positions, still, still)
        self.friction = np.array(friction)
        self.external = -of_body(ur5(), mass, CENTER, self.motion) + self.friction * self.came

    def estimate(self, external=None, came=None):
        given = (self.came if came is None else came, self.external if external is None else external)
        [found] = estimate_at_rest(ur5(), self.positions, *given)
        return found


def test_mass_and_centre_at_rest_are_told_apart_from_static_friction():
    found = Resting().estimate()
    assert found.tip == ur5().chain.tip
    assert found.mass == pytest.approx(1.2, rel=1e-8)
    np.testing.assert_allclose(found.center, CENTER, rtol=1e-6)
    assert found.unexplained < 1e-8


def test_the_deviation_at_rest_is_that_of_the_regression():
    """Unknowns are mass, first moment and the friction of the joints that feel a weight, not the first."""
    rest = Resting(poses=8)
    columns = np.concatenate(
        [of_units(ur5(), rest.motion), np.stack([np.diag(-came) for came in rest.came])[:, :, 1:]], axis=2
    )[:, 1:]
    for noise in (np.zeros(6), np.array([5.0, 0.5, 0.3, 0.2, 0.1, 0.4])):
        external = rest.external + noise * np.random.default_rng(4).normal(size=rest.external.shape)
        scale = np.ones(5)
        for _ in range(20):
            used = scale
            rows = (columns * scale[:, None]).reshape(-1, 9)
            found = np.linalg.solve(rows.T @ rows, rows.T @ (-external[:, 1:] * scale).ravel())
            left = -external[:, 1:] - columns @ found
            scale = 1.0 / np.maximum(np.sqrt((left**2).mean(axis=0)), FLOOR * np.abs(external).max())
        rows = (columns * used[:, None]).reshape(-1, 9)
        spread = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
        got = rest.estimate(external)
        assert got.mass == pytest.approx(found[0], rel=1e-6)
        np.testing.assert_allclose(got.center, found[1:4] / found[0], rtol=1e-5, atol=1e-7)
        assert got.mass_deviation == pytest.approx(spread[0], rel=1e-5)
        around = np.sqrt(spread[1:4] ** 2 + (got.center * spread[0]) ** 2) / got.mass
        np.testing.assert_allclose(got.center_deviation, around, rtol=1e-5)
        share = np.sqrt(((left * scale) ** 2).sum() / ((external[:, 1:] * scale) ** 2).sum())
        assert got.unexplained == pytest.approx(share, rel=1e-4, abs=1e-9)


@pytest.mark.filterwarnings("error")
def test_every_joint_that_feels_a_weight_comes_from_both_sides():
    """One that did not move has no friction to tell; the first axis, which is vertical, feels none."""
    rest = Resting()
    came = rest.came.copy()
    came[:, 0] = 1.0
    assert rest.estimate(came=came).mass == pytest.approx(1.2, rel=1e-8)
    names = ur5().chain.joint_names
    for sign, joints in ((1.0, (2,)), (-1.0, (1, 4))):
        came = rest.came.copy()
        for j in joints:
            came[:, j] = np.where(came[:, j] == sign, sign, 0.0)
        with pytest.raises(StateError) as told:
            rest.estimate(came=came)
        assert str(told.value) == (
            f"{', '.join(names[j] for j in joints)} came to rest from one side only, so that static friction"
            " is not told from the payload: approach poses from both sides"
        )
    came = rest.came.copy()
    came[:, 3] = 0.0
    external = rest.external - rest.friction * rest.came * (np.arange(6) == 3)
    assert rest.estimate(external, came).mass == pytest.approx(1.2, rel=1e-8)


def test_rests_give_twice_as_many_efforts_as_there_are_unknowns():
    """Five joints feel a weight, and nine unknowns take 18 efforts: four poses, not three."""
    assert Resting(poses=4).estimate().mass == pytest.approx(1.2, rel=1e-6)
    with pytest.raises(StateError) as told:
        Resting(poses=3).estimate()
    assert str(told.value) == "3 rests are too few: approach more poses from both sides"


@lru_cache
def tree():
    chain = rd.load_urdf(TWO_ARMS, tips=TIPS)
    return rd.compile_dynamics(chain, friction=False)


def at_rest_with_two_hands(masses):
    links = tree()
    n, random = links.chain.dof, np.random.default_rng(7)
    positions = random.uniform(-1.0, 1.0, (12, n))
    came = np.where(random.random((12, n)) < 0.5, -1.0, 1.0)
    still = np.zeros_like(positions)
    external = 0.2 * came
    for tip, (mass, center) in masses.items():
        external = external - np.sign(mass) * of_body(
            links, abs(mass), center, (positions, still, still), tip=tip
        )
    return estimate_at_rest(links, positions, came, external)


def test_two_hands_at_rest_are_told_apart():
    """Also where one of them is empty, whose centre is zero then."""
    loads = {"left_hand": (1.0, (0.05, 0.01, 0.02)), "right_hand": (0.4, (0.02, 0.03, -0.04))}
    left, right = at_rest_with_two_hands(loads)
    assert (left.tip, right.tip) == ("left_hand", "right_hand")
    for one in (left, right):
        assert one.mass == pytest.approx(loads[one.tip][0], rel=1e-6)
        np.testing.assert_allclose(one.center, loads[one.tip][1], atol=1e-5)
    left, right = at_rest_with_two_hands({"right_hand": (0.4, (0.02, 0.03, -0.04))})
    assert abs(left.mass) < 1e-6 and right.mass == pytest.approx(0.4, rel=1e-6)
    assert not left.center.any() and not left.center_deviation.any() and left.mass_deviation > 0.0


def test_a_negative_mass_of_one_hand_is_refused_by_its_name():
    with pytest.raises(StateError) as told:
        at_rest_with_two_hands({"left_hand": (1.0, (0.0, 0.0, 0.05)), "right_hand": (-0.4, (0.0, 0.0, 0.05))})
    assert str(told.value) == (
        "what acts at right_hand has the mass -0.400 kg: the declared payload or a mass of the model is too"
        " large"
    )


def test_three_tips_keep_their_masses_centres_and_deviations_apart():
    """From mass and first moment of each, and their covariance."""
    tips = [SimpleNamespace(link=name) for name in ("a", "b", "c")]
    links = SimpleNamespace(chain=SimpleNamespace(tips=tips))
    found = np.array([2.0, 0.2, -0.4, 0.6, 0.01, 5.0, 6.0, 7.0, 4.0, 0.4, 0.8, -1.2, 8.0, 9.0])
    deviations = np.array([0.1, 0.02, 0.03, 0.04, 0.5, 0.6, 0.7, 0.8, 0.2, 0.06, 0.05, 0.04, 8.0, 9.0])
    a, b, c = _estimates(links, found, np.diag(deviations**2), 0.25)
    assert [one.tip for one in (a, b, c)] == ["a", "b", "c"]
    assert [one.mass for one in (a, b, c)] == [2.0, 0.01, 4.0]
    assert [one.mass_deviation for one in (a, b, c)] == pytest.approx([0.1, 0.5, 0.2])
    assert [one.unexplained for one in (a, b, c)] == [0.25] * 3
    np.testing.assert_allclose(
        [a.center, b.center, c.center], [[0.1, -0.2, 0.3], [0.0] * 3, [0.1, 0.2, -0.3]]
    )
    np.testing.assert_allclose(a.center_deviation, np.hypot([0.02, 0.03, 0.04], [0.01, 0.02, 0.03]) / 2.0)
    np.testing.assert_allclose(c.center_deviation, np.hypot([0.06, 0.05, 0.04], [0.02, 0.04, 0.06]) / 4.0)
    assert not b.center_deviation.any()


@pytest.mark.parametrize(
    ("masses", "deviation", "words"),
    [
        ((1.0, -0.02), 0.001, "what acts at b has the mass -0.020 kg: the declared payload"),
        ((1.0, -0.0199), 0.001, ""),
        ((1.0, -0.375), 0.125, "what acts at b has the mass -0.375 kg: the declared payload"),
        ((1.0, -0.374), 0.125, ""),
        ((0.02, 0.0), 1.0, ""),
        ((0.0199, 0.019), 1.0, "nothing beyond 0.02 kg is carried beside the declared payload"),
        ((-0.02,), 1.0, "what acts has the mass -0.020 kg: the declared payload"),
        ((-0.0199,), 1.0, "nothing beyond 0.02 kg is carried beside the declared payload"),
        ((0.02,), 0.00401, "the mass is 0.020 kg with a standard deviation of 0.004 kg: move"),
        ((1.0,), 0.2, ""),
        ((1.0,), 0.201, "the mass is 1.000 kg with a standard deviation of 0.201 kg: move"),
        ((0.0199,), 1.0, "nothing beyond"),
    ],
)
def test_masses_are_judged_with_their_deviations(masses, deviation, words):
    """A negative one of several by three deviations, an uncertain one where there is no other."""
    found = [
        PayloadEstimate(name, mass, np.zeros(3), deviation, np.zeros(3), 0.5)
        for name, mass in zip("ab", masses, strict=False)
    ]
    if not words:
        _check(found)
        return
    with pytest.raises(StateError) as told:
        _check(found)
    assert str(told.value).startswith(words)


def test_more_than_half_that_nothing_explains_is_refused():
    one = PayloadEstimate("a", 1.0, np.zeros(3), 0.1, np.zeros(3), 0.501)
    with pytest.raises(StateError, match="no payload explains 50 % of the external efforts"):
        _check([one])
