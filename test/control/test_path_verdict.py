"""Verdicts about paths against quintics in closed form, and rules that a path has to keep."""

from __future__ import annotations

import numpy as np
import pytest
from arms import joints_in_a_row, two_joint_chain
from smooth_paths import rest_to_rest

from robot_dynamics.control.arm import path_check
from robot_dynamics.control.arm.path_check import Finding, PathVerdict, check_path, shares_along
from robot_dynamics.control.arm.path_rules import (
    IdentifiedRangeParameters,
    PartialGoalParameters,
    PathRules,
    TorqueCheckParameters,
    unit_of,
    with_others_held,
)
from robot_dynamics.control.arm.verified_torque import LargestEfforts
from robot_dynamics.control.spline import QuinticSpline, hermite_spline
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import JointKind

INF = np.inf
NAMES = ("spin", "slide", "bend")
KINDS = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE)
STEEPEST, HARDEST = 15.0 / 8.0, 10.0 / np.sqrt(3.0)
EARLY, LATE = 0.5 - np.sqrt(3.0) / 6.0, 0.5 + np.sqrt(3.0) / 6.0
"""Largest rates of a quintic from rest to rest over 1 in 1 s, and when its acceleration is largest."""


def chain_of(ranges):
    limits = [(*ends, velocity) for ends, velocity in zip(ranges, (4.0, 2.0, 5.0), strict=True)]
    return joints_in_a_row(limits, KINDS, NAMES)


def there(begin, end):
    """All joints from rest to rest on one quintic."""
    still = np.zeros(len(begin))
    return hermite_spline(
        np.array([3.0, 5.0]),
        np.array([[begin, still, still]]),
        np.array([[end, still, still]]),
    )


@pytest.fixture
def efforts(monkeypatch):
    """Largest efforts as a test gives them."""
    given = {"value": np.zeros(3), "time": np.full(3, 3.0), "bound": np.zeros(3)}
    monkeypatch.setattr(path_check, "largest_efforts", lambda *asked: LargestEfforts(**given))
    return given


def verdict(ranges, path, rules=None, limits=(INF, INF, INF)):
    return check_path(chain_of(ranges), None, path, np.array(limits), rules or PathRules())


def of(found, quantity):
    return [one for one in found.findings if one.quantity == quantity]


WIDE = ((-9.0, 9.0),) * 3


def test_rates_are_those_of_the_quintic_with_their_signs_and_times(efforts):
    rules = PathRules(velocity={"slide": 1.5, "bend": 8.0}, acceleration={"spin": 2.0, "bend": 0.5})
    way = np.array([1.2, -0.8, 0.4])
    found = verdict(WIDE, there(np.zeros(3), way), rules)
    assert [(one.joint, one.quantity) for one in found.findings] == [
        (name, quantity) for name in NAMES for quantity in ("position", "velocity", "acceleration", "effort")
    ]
    assert found.duration == pytest.approx(2.0)
    for j, (one, limit, unit) in enumerate(
        zip(of(found, "velocity"), (4.0, 1.5, 5.0), ("rad/s", "m/s", "rad/s"), strict=True)
    ):
        assert one.value == pytest.approx(STEEPEST * way[j] / 2.0, rel=1e-9)
        assert one.time == pytest.approx(1.0, abs=1e-4)
        assert (one.limit, one.unit) == (limit, unit)
        assert one.share == pytest.approx(STEEPEST * abs(way[j]) / 2.0 / limit, rel=1e-9)
    for j, (one, limit, unit) in enumerate(
        zip(of(found, "acceleration"), (2.0, INF, 0.5), ("rad/s²", "m/s²", "rad/s²"), strict=True)
    ):
        assert abs(one.value) == pytest.approx(HARDEST * abs(way[j]) / 4.0, rel=1e-8)
        early = np.sign(one.value) == np.sign(way[j])
        assert one.time == pytest.approx(2.0 * (EARLY if early else LATE), abs=1e-4)
        assert (one.limit, one.unit) == (limit, unit)
        share = 0.0 if limit == INF else HARDEST * abs(way[j]) / 4.0 / limit
        assert one.share == pytest.approx(share, rel=1e-8)


def test_of_two_equal_rates_the_positive_one_is_named(efforts):
    """There and back: a quintic from rest over 1 and one back."""
    still = np.zeros(3)
    ends = np.array([1.0, -1.0, 2.0])
    both = hermite_spline(
        np.array([0.0, 1.0, 2.0]),
        np.array([[still, still, still], [ends, still, still]]),
        np.array([[ends, still, still], [still, still, still]]),
    )
    for one, size in zip(of(verdict(WIDE, both), "velocity"), (1.0, 1.0, 2.0), strict=True):
        assert one.value == pytest.approx(STEEPEST * size) and one.value > 0.0
    times = [one.time for one in of(verdict(WIDE, both), "velocity")]
    assert times == pytest.approx([0.5, 1.5, 0.5], abs=1e-4)


def test_positions_count_as_the_share_of_half_their_range_from_its_middle(efforts):
    """The end that is nearest its limit: here the lower of one joint, the upper of the others."""
    path = there(np.array([-0.5, 0.2, -1.0]), np.array([0.1, 0.9, 3.5]))
    found = of(verdict(((-1.0, 2.0), (-0.5, 1.5), (-3.0, 3.0)), path), "position")
    expected = [
        ("spin", -0.5, 0.0, -1.0, 1.0 / 1.5, "rad"),
        ("slide", 0.9, 2.0, 1.5, 0.4, "m"),
        ("bend", 3.5, 2.0, 3.0, 3.5 / 3.0, "rad"),
    ]
    for one, (name, value, time, limit, share, unit) in zip(found, expected, strict=True):
        assert (one.joint, one.limit, one.unit) == (name, limit, unit)
        assert (one.value, one.time) == pytest.approx((value, time), abs=1e-9)
        assert one.share == pytest.approx(share)
    low = of(verdict(((-1.0, 2.0), (0.25, 1.5), (-3.0, 3.0)), path), "position")[1]
    assert (low.value, low.limit, low.share) == pytest.approx((0.2, 0.25, (0.875 - 0.2) / 0.625))
    assert low.exceeded


def test_limits_at_one_side_or_at_a_single_place_are_kept_or_not(efforts):
    """A share of 2 says that they are not, as there is no range to compare with."""
    rest = there(np.array([0.5, -0.375, 0.25]), np.array([0.5, -0.375, 0.25]))
    for ranges, limits, shares in (
        (((-INF, 0.5), (-0.375, INF), (-INF, INF)), (0.5, -0.375, INF), (0.0, 0.0, 0.0)),
        (((-INF, 0.375), (-0.25, INF), (0.25, 0.25)), (0.375, -0.25, 0.25), (2.0, 2.0, 0.0)),
        (((0.625, INF), (-INF, -0.5), (0.125, 0.125)), (0.625, -0.5, 0.125), (2.0, 2.0, 2.0)),
        (((-INF, INF), (-INF, INF), (0.375, 0.375)), (INF, INF, 0.375), (0.0, 0.0, 2.0)),
    ):
        found = of(verdict(ranges, rest), "position")
        assert [one.limit for one in found] == list(limits)
        assert [one.share for one in found] == list(shares), ranges


def test_efforts_that_are_proven_count_only_where_they_exceed_what_samples_keep(efforts):
    efforts["value"] = np.array([-4.0, 3.0, -7.0])
    efforts["bound"] = np.array([4.5, 3.5, 7.5])
    efforts["time"] = np.array([3.25, 4.0, 4.5])
    path = there(np.zeros(3), np.ones(3))
    for limits, values, shares in (
        ((5.0, INF, 8.0), (-4.0, 3.0, -7.0), (0.8, 0.0, 7.0 / 8.0)),
        ((4.25, 3.25, 6.0), (-4.5, 3.5, -7.0), (4.5 / 4.25, 3.5 / 3.25, 7.0 / 6.0)),
        ((4.5, 3.5, 7.0), (-4.0, 3.0, -7.5), (4.0 / 4.5, 3.0 / 3.5, 7.5 / 7.0)),
    ):
        found = of(verdict(WIDE, path, limits=limits), "effort")
        assert [one.value for one in found] == list(values), limits
        assert [one.share for one in found] == pytest.approx(shares)
        assert [one.limit for one in found] == list(limits)
        assert [one.unit for one in found] == ["N·m", "N", "N·m"]
        assert [one.time for one in found] == pytest.approx([0.25, 1.0, 1.5])


def finding(share, quantity="velocity", limit=2.0, joint="a"):
    return Finding(joint, quantity, -1.23456, 0.4567, limit, share, "rad/s")


def test_a_limit_is_exceeded_beyond_rounding():
    assert not finding(1.0).exceeded and not finding(1.0 + 1e-9).exceeded
    assert finding(1.0 + 2e-9).exceeded
    assert finding(3.0).message == "a: velocity -1.2346 rad/s at t = 0.457 s, limit 2.0000 rad/s"


def test_the_verdict_names_the_worst_and_counts_all():
    two = PathVerdict((finding(1.5), finding(0.9, joint="b"), finding(3.0, joint="c")), 2.5)
    assert [one.joint for one in two.exceeded] == ["c", "a"]
    assert two.sentence == ("exceeds 2 limits: c: velocity -1.2346 rad/s at t = 0.457 s, limit 2.0000 rad/s")
    assert PathVerdict((finding(1.5),), 2.5).sentence.startswith("exceeds 1 limit: a: velocity")
    kept = finding(0.5), finding(0.1, "acceleration", 3.0)
    assert PathVerdict(kept, 2.5).sentence == "keeps every limit in 2.500 s"
    unknown = (*kept, finding(0.0, "acceleration", INF))
    assert PathVerdict(unknown, 2.5).sentence == (
        "keeps every limit of position, velocity and effort in 2.500 s"
    )
    assert PathVerdict((finding(0.5, "effort", INF),), 2.5).sentence == "keeps every limit in 2.500 s"


class Contiguous:
    """Efforts of accelerations and velocities; states come in arrays as C has them."""

    def inverse_dynamics(self, q, qd, qdd):
        assert q.flags.c_contiguous and qd.flags.c_contiguous and qdd.flags.c_contiguous
        return qdd * [2.0, -0.5, 0.25] + qd * [0.0, 1.0, 0.0]


@pytest.mark.filterwarnings("error")
def test_shares_along_a_path_are_those_of_its_samples():
    """Of a position from the middle of its range; 2 beyond the limits of a joint without one."""
    begin, end = np.array([-0.5, 0.2, -1.0]), np.array([0.1, 0.9, 3.0])
    s = np.array([0.0, 0.2, 0.5, 0.9])
    times = 3.0 + 2.0 * s
    way = np.polynomial.Polynomial(rest_to_rest(0.0, 1.0))
    shape, rate, bend = way(s), way.deriv()(s) / 2.0, way.deriv(2)(s) / 4.0
    q, v, a = begin + np.outer(shape, end - begin), np.outer(rate, end - begin), np.outer(bend, end - begin)
    chain = chain_of(((-1.0, 2.0), (-INF, 0.5), (2.0, 2.0)))
    rules = PathRules(velocity={"slide": 1.5, "bend": 8.0}, acceleration={"spin": 2.0, "bend": 0.5})
    limits = np.array([10.0, INF, 0.5])
    positions, efforts, shares = shares_along(chain, Contiguous(), there(begin, end), limits, rules, times)
    np.testing.assert_allclose(positions, q)
    forces = a * [2.0, -0.5, 0.25] + v * [0.0, 1.0, 0.0]
    np.testing.assert_allclose(efforts, forces, atol=1e-12)
    place = np.stack([np.abs(q[:, 0] - 0.5) / 1.5, 2.0 * (q[:, 1] > 0.5), 2.0 * (q[:, 2] != 2.0)], axis=1)
    assert place[:, 1].any() and not place[:, 1].all()
    np.testing.assert_allclose(shares[0], place)
    np.testing.assert_allclose(shares[1], np.abs(v) / [4.0, 1.5, 5.0], atol=1e-12)
    np.testing.assert_allclose(shares[2], np.abs(a) / [2.0, INF, 0.5], atol=1e-12)
    np.testing.assert_allclose(shares[3], np.abs(forces) / limits, atol=1e-12)
    low = chain_of(((-INF, INF), (0.25, INF), (-1.0, 3.0)))
    place = shares_along(low, Contiguous(), there(begin, end), limits, rules, times)[2][0]
    np.testing.assert_allclose(place[:, 0], 0.0)
    np.testing.assert_allclose(place[:, 1], 2.0 * (q[:, 1] < 0.25))
    np.testing.assert_allclose(place[:, 2], np.abs(q[:, 2] - 1.0) / 2.0)
    at = chain_of(((-0.5, INF), (-INF, 0.875), (-1.0, -1.0)))
    exact = there(begin, np.array([0.125, 0.875, 3.0]))
    place = shares_along(at, Contiguous(), exact, limits, rules, np.array([3.0, 5.0]))[2][0]
    np.testing.assert_allclose(place, [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]])


def moves(way):
    return there(np.zeros(3), np.array(way))


def refused(rules, path):
    with pytest.raises(TrajectoryError) as told:
        rules.check(NAMES, path)
    return str(told.value)


def test_a_path_may_be_faster_than_its_rules_by_one_per_cent():
    """15/16 of the way in 2 s; the joint that exceeds its limit most is named."""
    way = (1.0, -1.6, 0.5)
    rules = PathRules(velocity={"slide": 1.5 / 1.0099, "bend": 9.0})
    rules.check(NAMES, moves(way))
    PathRules().check(NAMES, moves((90.0, 90.0, 90.0)))
    assert refused(PathRules(velocity={"slide": 1.5 / 1.0101, "spin": 2.0}), moves(way)) == (
        "joint 'slide' would have the velocity -1.5000 (rad/s or m/s) 1.000 s after the start; the limit is"
        " 1.485"
    )
    both = PathRules(velocity={"spin": 0.9, "slide": 1.0, "bend": 0.4})
    assert refused(both, moves((1.0, -1.2, 0.9))).startswith("joint 'bend' would have the velocity 0.8438 ")
    assert refused(both, moves((-1.2, -1.0, 0.3))).startswith("joint 'spin' would have the velocity -1.1250 ")


def test_accelerations_are_refused_after_velocities_with_their_time():
    hardest = HARDEST * 0.8 / 4.0
    PathRules(acceleration={"slide": hardest / 1.0099}).check(NAMES, moves((0.0, 0.8, 0.0)))
    text = refused(PathRules(acceleration={"slide": hardest / 1.0101, "spin": 9.0}), moves((0.0, 0.8, 0.0)))
    late = f"{2.0 * LATE:.3f}"
    early = f"{2.0 * EARLY:.3f}"
    value, time = ("-", late) if " -" in text.split("(rad")[0] else ("", early)
    assert text == (
        f"joint 'slide' would have the acceleration {value}{hardest:.4f} (rad/s² or m/s²) {time} s after the"
        f" start; the limit is {hardest / 1.0101:.4g}"
    )
    fast = PathRules(velocity={"bend": 0.1}, acceleration={"slide": 0.1})
    assert "velocity" in refused(fast, moves((0.0, 0.8, 0.8)))
    assert "acceleration" in refused(
        PathRules(velocity={"bend": 9.0}, acceleration={"slide": 0.1}), moves((0.0, 0.8, 0.8))
    )


def test_an_acceleration_at_the_start_may_go_on():
    """A path that begins at -2 rad/s² may have -2.02 rad/s², though its rules say 1."""
    cubic = QuinticSpline(
        np.array([3.0, 5.0]),
        np.array([[[0.0] * 3, [4.0] * 3, [-4.0, 0.0, 0.0], [0.0] * 3, [0.0] * 3, [0.0] * 3]]),
    )
    rules = PathRules(acceleration={"spin": 1.0, "slide": 1.0, "bend": 1.0})
    assert cubic.sample(3.0)[2].tolist() == [-2.0, 0.0, 0.0]
    rules.check(NAMES, cubic)
    for bend, last in ((0.013, -2.0195), (0.014, -2.021)):
        third = np.eye(6)[3][:, None] * [bend, 0.0, 0.0]
        grows = QuinticSpline(cubic.times, cubic.coefficients - third)
        assert grows.sample(5.0)[2][0] == pytest.approx(last)
        if last > -2.02:
            rules.check(NAMES, grows)
    assert refused(rules, grows) == (
        "joint 'spin' would have the acceleration -2.0210 (rad/s² or m/s²) 2.000 s after the start; the limit"
        " is 2"
    )


def test_rules_take_the_lower_of_two_accelerations():
    rules = PathRules(velocity={"spin": 3.0}, acceleration={"spin": 1.0, "slide": 4.0})
    found = rules.accelerated(NAMES, np.array([2.0, 3.0, INF]))
    assert found.acceleration == {"spin": 1.0, "slide": 3.0, "bend": INF}
    assert found.velocity == {"spin": 3.0} and rules.acceleration == {"spin": 1.0, "slide": 4.0}


def test_joints_of_a_trajectory_are_found_in_the_arm_and_in_the_message():
    partial = PathRules(partial=True)
    assert PathRules().order(NAMES, ("bend", "spin", "slide")) == ([0, 1, 2], [1, 2, 0])
    assert partial.order(NAMES, ("bend", "slide")) == ([1, 2], [1, 0])
    assert partial.order(NAMES, ("spin",)) == ([0], [0])
    for rules, given, problem in (
        (PathRules(), ("bend", "slide"), r"missing joint names \['spin'\]"),
        (partial, ("bend", "elbow"), r"unknown joint names \['elbow'\]"),
        (partial, (), r"missing joint names \['spin', 'slide', 'bend'\]"),
        (partial, ("bend", "bend"), r"repeated joint names \['bend'\]"),
    ):
        with pytest.raises(TrajectoryError, match=problem):
            rules.order(NAMES, given)


def test_units_are_those_of_the_kind_of_joint():
    chain = two_joint_chain()
    quantities = ("position", "velocity", "acceleration", "effort")
    assert [unit_of(chain, 0, one) for one in quantities] == ["rad", "rad/s", "rad/s²", "N·m"]
    assert [unit_of(chain, 1, one) for one in quantities] == ["m", "m/s", "m/s²", "N"]


def test_joints_that_are_left_out_hold_their_place():
    """Rows that leave velocities or accelerations open leave them open for all."""
    nan = np.nan
    table = WaypointTable(
        np.array([1.0, 2.0, 4.0]),
        np.array([[0.5, -0.5], [0.75, -0.75], [1.0, -1.5]]),
        np.array([[0.1, 0.2], [nan, nan], [0.3, 0.4]]),
        np.array([[nan, nan], [2.0, 3.0], [4.0, 5.0]]),
    )
    state = (np.array([7.0, 8.0, 9.0]), np.array([0.5, 1e-6, 0.5]), np.array([0.5, -1e-6, 0.5]))
    found = with_others_held(table, [0, 2], NAMES, state)
    np.testing.assert_array_equal(found.times, table.times)
    np.testing.assert_array_equal(found.positions, [[0.5, 8.0, -0.5], [0.75, 8.0, -0.75], [1.0, 8.0, -1.5]])
    np.testing.assert_array_equal(found.velocities, [[0.1, 0.0, 0.2], [nan] * 3, [0.3, 0.0, 0.4]])
    np.testing.assert_array_equal(found.accelerations, [[nan] * 3, [2.0, 0.0, 3.0], [4.0, 0.0, 5.0]])
    for k in (1, 2):
        fast = [part.copy() for part in state]
        fast[k][1] = -1.1e-6
        with pytest.raises(TrajectoryError) as told:
            with_others_held(table, [0, 2], NAMES, tuple(fast))
        assert str(told.value) == "joint 'slide' is moving when the trajectory begins: it cannot be left out"


def test_rules_and_their_parameters_have_defaults_that_demand_nothing():
    rules = PathRules()
    assert (rules.partial, dict(rules.velocity), dict(rules.acceleration)) == (False, {}, {})
    assert rules.torque == TorqueCheckParameters("warn", 0.0, "off")
    assert rules.identified == IdentifiedRangeParameters((), (), (), ()) and not rules.identified.known
    assert PartialGoalParameters().allow_partial_joints_goal is False
    for name in ("tested_lower", "tested_upper", "tested_velocity", "tested_effort"):
        assert IdentifiedRangeParameters(**{name: (0.5, 1.5)}).known


def test_only_a_tree_leaves_joints_out_by_itself():
    chain = two_joint_chain()
    assert PathRules().of(chain).partial is False and PathRules(partial=True).of(chain).partial is True
