"""The path of a stream: each of its pieces by scalar formulas, its stop in closed form, its bounds."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from arms import STREAM_LIMITS, pendulum_chain, two_joint_chain

from robot_dynamics.control.arm.stream import (
    JointFilter,
    JointStream,
    JointTarget,
    StreamLimits,
    _approach,
    _braked,
)
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.control.protocol import PlanStart
from robot_dynamics.errors import TrajectoryError


def approach(p, v, place, rate, bend, room, step, limits):
    """Acceleration of one joint by the rules of the text; limits: lower, upper, velocity, acceleration."""
    lower, upper, fast, most = limits
    hold = max(4.0 * step, 0.02)
    error = place - p
    speed = min(abs(error) / (4.0 * hold), 0.25 * fast, math.sqrt(0.6 * most * min(abs(error), room)))
    asked = rate + math.copysign(speed, error)
    wanted = v + step * min(max(bend + (asked - v) / hold, -most), most)
    ends = []
    for way, sense in ((upper - p, 1.0), (p - lower, -1.0)):
        # Largest w with step (v + w) / 2 + w² / (2 a) = way: the whole room after the step and a stop.
        square = step**2 / 4.0 + 2.0 * (way - step * sense * v / 2.0) / most
        ends.append(sense * min(fast, most * (math.sqrt(square) - step / 2.0) if square > 0.0 else 0.0))
    low, high = min(ends), max(ends)
    return min(max((min(max(wanted, low), high) - v) / step, -most), most)


def rows(limits, j):
    return tuple(float(row[j]) for row in limits)


@pytest.mark.parametrize("step", [0.002, 0.004, 0.01])
def test_an_approach_is_that_of_every_joint_alone(step):
    """Joints in the middle of their ranges, near their limits and beyond, with targets near and far."""
    random = np.random.default_rng(4)
    for spread in (1.0, 0.03, 3e-4):
        n = 150
        upper = random.uniform(0.2, 2.0, n)
        limits = StreamLimits(-1.5 * upper, upper, random.uniform(0.5, 4.0, n), random.uniform(2.0, 40.0, n))
        sense = np.where(random.random(n) < 0.5, 1.0, -1.5)
        p = np.where(
            random.random(n) < 0.5, sense * upper * (1.0 - spread * random.uniform(-0.1, 1.0, n)), 0.1
        )
        v, rate = random.normal(size=(2, n)) * 0.6
        place, bend = p + spread * random.normal(size=n), 5.0 * random.normal(size=n)
        room = np.where(random.random(n) < 0.5, np.inf, spread * random.uniform(0.0, 0.5, n))
        found = _approach(p, v, place, rate, bend, room, step, limits)
        for j in range(n):
            own = (x[j] for x in (p, v, place, rate, bend, room))
            assert found[j] == pytest.approx(approach(*own, step, rows(limits, j)), rel=1e-9, abs=1e-9)


def test_a_joint_brakes_from_the_velocity_after_a_step_exactly_within_its_room():
    room = np.array([0.3, 0.002, 0.004, 1e-4, np.inf, 0.0, -1e-3])
    v, most, step = np.array([0.5, 0.2, -0.3, -0.4, 1.0, 0.7, 0.1]), np.array([4.0] * 6 + [9.0]), 0.01
    after = _braked(room, v, step, most)
    used = 0.5 * step * (v + after)[:4] + after[:4] ** 2 / (2.0 * most[:4])
    np.testing.assert_allclose(used, room[:4], rtol=1e-12)
    assert after[4] == np.inf and after[5:].tolist() == [0.0, 0.0]
    assert after[0] > 1.0 and 0.0 < after[1] < after[2]


@pytest.mark.parametrize("velocity", [(0.5, -0.013), (-0.5001, 0.7), (1e-9, 0.0), (1.1e-9, -2.0), (0.0, 0.7)])
def test_a_stop_takes_each_joint_to_rest_evenly_in_whole_steps_of_its_own(velocity):
    """Half the velocity times the time of the stop is its way; the times are multiples of 0.1 ms."""
    v, most = np.array(velocity), np.array([30.0, 20.0])
    times, place = [1.0, 2.5], np.array([0.3, -0.2])
    states, accelerations = [(place - 1.0, 2.0 * v), (place.copy(), v.copy())], [np.array([7.0, 8.0])]
    JointStream._stop(times, states, accelerations, most)
    needs = [
        math.ceil(abs(x) / (a * 1e-4)) * 1e-4 if abs(x) > 1e-9 else 0.0 for x, a in zip(v, most, strict=True)
    ]
    ends = sorted({x for x in needs if x > 0.0})
    np.testing.assert_allclose(times, [1.0, 2.5, *(2.5 + x for x in ends or [0.004])], atol=1e-12)
    assert len(states) == len(times) == len(accelerations) + 1
    np.testing.assert_allclose(states[-1][0], place + 0.5 * v * needs, atol=1e-12)
    assert states[-1][1].tolist() == [0.0, 0.0]
    for (p, u), (q, w), a, h in zip(
        states[1:-1], states[2:], accelerations[1:], np.diff(times[1:]), strict=True
    ):
        even = [-x / t if t > 0.0 and y != 0.0 else 0.0 for x, t, y in zip(v, needs, u, strict=True)]
        np.testing.assert_allclose(a, even, rtol=1e-9)
        np.testing.assert_allclose(q, p + h * (u + 0.5 * h * a) * (np.abs(u) > 1e-8), atol=1e-12)
        np.testing.assert_allclose(w, u + h * a, atol=1.1e-9)
        assert (np.abs(a) <= most * (1.0 + 1e-12)).all()


class Known:
    """A filter whose motion is a polynomial of the time; it stops where it has no more to say."""

    def __init__(self, period, latest, end, last, ways, until=math.inf):
        self.period, self.latest, self._end, self._ways = period, latest, end, ways
        self.last, self.until, self.asked = JointTarget(np.array(last), None), until, []

    def smoothed(self, at):
        self.asked.append(at)
        if at > self.until:
            return None
        s = at - self.latest
        way, rate, second, third = (np.array([p.deriv(k)(s) for p in self._ways]) for k in range(4))
        return SimpleNamespace(
            middle=JointTarget(np.array([0.05, -0.02]), None), way=way, rate=rate, second=second, third=third
        )


POLYNOMIALS = [
    np.polynomial.Polynomial([0.35, 0.4, -1.2, 3.0]),
    np.polynomial.Polynomial([-0.05, -0.3, -0.6, -4.0]),
]


def planned(known, horizon, origin, start, now, chain=None, limits=STREAM_LIMITS):
    stream = JointStream(two_joint_chain() if chain is None else chain)
    stream._filter, stream._horizon = known, horizon
    return stream.path(PlanStart(start, now, origin, 0), limits)


@pytest.mark.parametrize(
    ("period", "horizon", "lag", "step", "beyond"),
    [
        (0.05, 0.04, 0.045, 0.01, 0.065),
        (0.025, 0.5, 0.0, 0.00625, 0.0325),
        (0.01, -0.3, 0.017, 0.004, 0.02),
        (0.02, 0.01, 0.024, 0.005, 0.026),
    ],
)
def test_every_piece_of_the_path_approaches_the_motion_of_its_moment(period, horizon, lag, step, beyond):
    """lag: 1.7 periods less the lead of the targets; step: a quarter of a period, within 4 and 10 ms."""
    origin = Reference(np.array([0.38, -0.09]), np.array([0.2, -0.4]), np.zeros(2))
    known = Known(period, 7.0, 7.0 + beyond, (0.43, -0.1), POLYNOMIALS)
    spline = planned(known, horizon, origin, 6.93, 6.9503)
    times, last = spline.times, 7.0 + beyond + lag
    count = math.ceil((last - 6.9503) / step - 1e-9)
    np.testing.assert_allclose(times[: count + 1], 6.9503 + step * np.arange(count + 1), atol=1e-9)
    p, v = origin.position, origin.velocity
    end, kinds = np.array([0.43, -0.1]), set()
    fastest = np.array([abs(x.deriv()(0.0)) for x in POLYNOMIALS])
    for k in range(count):
        at = float(times[k]) - lag
        s, accelerations = at - 7.0, []
        for j, way in enumerate(POLYNOMIALS):
            place = (0.05, -0.02)[j] + way(s)
            rate, bend, room = way.deriv()(s), way.deriv(2)(s) + 0.5 * step * way.deriv(3)(s), math.inf
            if s > 1e-12:  # after the last target
                rate = min(max(rate, -fastest[j]), fastest[j])
                bend = bend if bend * rate < 0.0 else 0.0
                left = end[j] - p[j]
                room = abs(left) if left * (place - p[j]) > 0.0 else 0.0
                kinds |= {("faster", rate == fastest[j]), ("brakes", bend != 0.0), ("near", room > 0.0)}
            accelerations.append(approach(p[j], v[j], place, rate, bend, room, step, rows(STREAM_LIMITS, j)))
        a = np.array(accelerations)
        for share in (0.25, 0.75):  # within the piece
            q, u, b = spline.sample(float(times[k]) + share * step)
            h = share * step
            np.testing.assert_allclose(q, p + h * v + 0.5 * h * h * a, atol=1e-9)
            np.testing.assert_allclose(u, v + h * a, atol=1e-8)
            np.testing.assert_allclose(b, a, atol=1e-6)
        p, v = p + step * v + 0.5 * step**2 * a, v + step * a
    assert len(kinds) >= 3
    q, u, b = spline.sample(float(times[-1]))
    np.testing.assert_allclose([u, b * 0.0], np.zeros((2, 2)), atol=1e-9)
    np.testing.assert_allclose(
        q, p + 0.5 * v * np.ceil(np.abs(v) / (STREAM_LIMITS.acceleration * 1e-4)) * 1e-4
    )
    assert min(known.asked) == pytest.approx(6.9503 - lag)


def test_a_path_ends_where_the_motion_is_known_no_more():
    rest = Reference.at_rest(np.array([0.4, -0.07]))
    known = Known(0.04, 3.0, 3.1, (0.4, -0.07), POLYNOMIALS, until=2.955)
    spline = planned(known, 1.0, rest, 2.9, 2.8)
    assert spline.times[0] == 2.9
    ahead = np.searchsorted(spline.times, 2.955, side="right")
    np.testing.assert_allclose(spline.times[: ahead + 1], 2.9 + 0.01 * np.arange(ahead + 1), atol=1e-9)
    assert spline.times[-1] < 2.955 + 0.01 + 0.1


def test_after_the_last_target_a_motion_without_speed_bends_no_more():
    """lift stands with an acceleration of its curve: it stays where it is."""
    flat = [np.polynomial.Polynomial([0.35, 0.0, 9.0]), np.polynomial.Polynomial([-0.05])]
    known = Known(0.04, 3.0, 3.1, (0.4, -0.07), flat)
    stand = known.smoothed(3.0)
    known.smoothed = lambda at: stand
    spline = planned(known, 1.0, Reference.at_rest(np.array([0.4, -0.07])), 3.0005, 3.0005)
    np.testing.assert_allclose(spline.at(spline.times)[0], [[0.4, -0.07]] * len(spline.times), atol=1e-12)


def test_beyond_a_limit_a_joint_may_come_back_and_its_target_must_be_within():
    """The messages name the joint and its own limits, whatever the arm's place."""
    chain = two_joint_chain()
    out = Reference.at_rest(np.array([2.05, -0.6]))
    flat = [np.polynomial.Polynomial([x]) for x in (1.97, -0.53)]
    spline = planned(Known(0.04, 3.0, 3.1, (2.02, -0.55), flat), 1.0, out, 2.9, 2.9, chain)
    places = spline.at(np.linspace(*spline.times[[0, -1]], 300))[0]
    assert (places[:, 0] <= 2.05 + 1e-9).all() and (places[:, 1] >= -0.6 - 1e-9).all()
    assert places[-1, 0] < 2.049 and places[-1, 1] > -0.599
    for last, words in (
        ((2.0512345, 0.0), r"joint 'lift' would reach 2\.0512, outside its limits \[-1\.0, 2\.0\]"),
        ((0.0, -0.60006), r"joint 'turn' would reach -0\.6001, outside its limits \[-0\.5, 0\.5\]"),
        ((-1.00001, 0.0), r"joint 'lift' would reach -1\.0000, outside its limits \[-1\.0, 2\.0\]"),
        ((0.0, 0.50001), r"joint 'turn' would reach 0\.5000, outside its limits \[-0\.5, 0\.5\]"),
    ):
        with pytest.raises(TrajectoryError, match=f"^{words}$"):
            planned(Known(0.04, 3.0, 3.1, last, flat), 1.0, out, 2.9, 2.9, chain)
    for last in ((2.05, -0.6), (-1.0, 0.5), (2.05, 0.5)):
        assert planned(Known(0.04, 3.0, 3.1, last, flat), 1.0, out, 2.9, 2.9, chain)


def test_a_filter_of_joints_takes_differences_of_positions_and_velocities_of_all_or_none():
    samples = [
        JointTarget(np.array([0.3, -0.7]), np.array([1.5, 2.5])),
        JointTarget(np.array([0.9, 0.2]), None),
    ]
    kept, middle = JointFilter(0.25), JointTarget(np.array([0.1, 0.4]), None)
    np.testing.assert_allclose(kept.ways(middle, samples), [[0.2, -1.1], [0.8, -0.2]], atol=1e-15)
    assert kept.rates(samples) is None and kept.rates(samples[1:]) is None
    np.testing.assert_array_equal(kept.rates([samples[0], samples[0]]), [[1.5, 2.5], [1.5, 2.5]])


def test_a_joint_without_limits_follows_a_stream_too():
    chain = pendulum_chain(lower=-np.inf, upper=np.inf)
    ways = [np.polynomial.Polynomial([0.2, 0.5])]
    bounds = StreamLimits(np.array([-np.inf]), np.array([np.inf]), np.array([20.0]), np.array([200.0]))
    stream = JointStream(chain)
    stream._filter, stream._horizon = Known(0.04, 3.0, 3.1, (0.25,), ways), 1.0
    stream._filter.smoothed = lambda at: SimpleNamespace(
        middle=JointTarget(np.array([0.0]), None), way=np.array([0.2 + 0.5 * (at - 3.0)]),
        rate=np.array([0.5]), second=np.zeros(1), third=np.zeros(1),
    )  # fmt: skip
    origin = Reference(np.array([0.15]), np.array([0.5]), np.zeros(1))
    spline = stream.path(PlanStart(2.9, 2.9, origin, 0), bounds)
    np.testing.assert_allclose(spline.sample(2.985)[0], [0.2 - 0.5 * 0.015], atol=1e-9)
