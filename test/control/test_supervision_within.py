"""Rules of supervision from within: thresholds, durations and reactions in made-up states of three joints."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import MadeUpArm

FOLLOWING = np.array([0.125, 0.25, 0.1875])
SPEED = np.array([4.0, 2.0, 3.0])
KP, KV = np.array([80.0, 0.5, 50.0]), np.array([16.0, 0.75, 12.0])
REST = np.zeros(3)


class Watched(MadeUpArm):
    """Three joints. Arrays of settings have a fourth value that any joint there would be beyond.

    Args:
        stray: distances of three legs, linear and angular distance of the pose; the robot is then no arm.
    """

    def __init__(self, stray=None):
        super().__init__(3, 3, driven=False)
        ffi = self.ffi
        self.stray, self.stray_rate = stray, REST
        self.rules, self.machine = ffi.new("rd_rules *"), ffi.new("rd_machine *", self.settings.machine[0])
        self.settings.machine, self.settings.rules = self.machine, self.rules
        self.settings.mode = self.calls.RD_COMPUTED_TORQUE
        for name, values in {"following": FOLLOWING, "speed": SPEED}.items():
            setattr(self.rules, name, self._array([*values, 1e-9]))
        self.rules.pose, self.rules.delay = [np.inf, np.inf], -1.0
        self.setting(
            kp=[*KP, 1.0], kv=[*KV, 1.0], velocity_limits=[4.0, 2.0, 3.0, 1e-9], limits=np.full(4, np.inf),
            following=[*FOLLOWING, 1e-9], stop_deceleration=[3.0] * 4, hold_deceleration=[2.0] * 4,
        )  # fmt: skip
        if stray is not None:
            self.own("stray", "void(const struct rd_core *, double *, double *, double *)", self._strays)
            self.own("stray_rate", "void(const struct rd_core *, double *)", self._rates)
        self.core.phase, self.core.period = self.calls.RD_HOLDING, 0.004
        self.core.supervision.began = -9.0

    def own(self, name, kind, call):
        """A function of the machine's own."""
        made = self.ffi.callback(kind, call)
        self._kept.append(made)
        setattr(self.machine, name, made)

    def _strays(self, core, legs, linear, angular):
        for j in range(3):
            legs[j] = self.stray[j]
        linear[0], angular[0] = self.stray[3:]

    def _rates(self, core, rates):
        for j in range(3):
            rates[j] = self.stray_rate[j]

    def rule(self, name):
        """State of a rule."""
        return self.core.supervision.rules[getattr(self.calls, f"RD_{name}")]

    def supervise(self, time=5.0, error=REST, velocity=REST, place=-0.5, **fields):
        """Return whether a stop begins in a state so far behind its reference."""
        self.core.time = time
        self.put(
            reference__position=np.asarray(error) + place, state__position=place, state__velocity=velocity
        )
        self.put(**fields)
        return self.calls.rd_supervise(self.core)

    def first(self, times, **state):
        """Index of the first of these times at which a stop begins in a state that lasts; None: none does."""
        return next((k for k, time in enumerate(times) if self.supervise(time, **state)), None)

    @property
    def trip(self):
        """Rule, joint, measured, allowed, whether it stops, and how many there have been."""
        trip = self.core.trip
        names = [name for name in dir(self.calls) if name.startswith("RD_") and self.is_rule(name, trip.rule)]
        return (
            *names,
            trip.joint,
            *(round(each, 9) for each in (trip.measured, trip.allowed)),
            trip.stops,
            trip.count,
        )

    def is_rule(self, name, number):
        info = self.calls.rd_rule_table(number)
        return bool(info) and name[3:].lower() == self.ffi.string(info.name).decode()


@pytest.fixture
def watched():
    return Watched()


def one(joint, value):
    """(3,) a value of one joint alone."""
    return np.where(np.arange(3) == joint, value, 0.0)


# Every rule


@pytest.mark.parametrize(
    ("times", "trips"),
    [
        ([0.0, 0.005, 0.01, 0.015, 0.02], 4),
        ([0.0, 0.01, 0.0199, 0.0201], 3),
        ([0.0, 0.1, 0.2], 2),
        ([0.0, 0.01, 0.02 - 5e-10], 2),
        ([0.0, 0.01, 0.02 - 1e-9], 2),
        ([0.0, 0.01, 0.02 - 2e-9], None),
        ([7.0, 7.01, 7.02], 2),
    ],
)
@pytest.mark.parametrize("joint", range(3))
def test_an_error_beyond_its_threshold_trips_after_its_duration_and_three_states(
    watched, times, trips, joint
):
    error = one(joint, (-1.01, 1.01, 2.0)[joint] * FOLLOWING[joint])
    assert watched.first(times, error=error) == trips
    rule = watched.rule("FOLLOWING_ERROR")
    assert rule.share == rule.largest == pytest.approx(abs(error[joint]) / FOLLOWING[joint])
    if trips is not None:
        assert watched.trip == (
            "RD_FOLLOWING_ERROR",
            joint,
            round(abs(error[joint]), 9),
            FOLLOWING[joint],
            1,
            1,
        )
        assert watched.core.trip.latched and watched.core.trip.time == times[trips]
        assert watched.core.phase == watched.calls.RD_PROTECTIVE_STOP and rule.states == 0


def test_an_error_at_its_threshold_is_none_and_ends_the_count(watched):
    over = 1.5 * FOLLOWING
    assert watched.first([1.0, 1.1], error=over) is None
    assert watched.supervise(1.2, error=FOLLOWING) == 0
    assert (watched.rule("FOLLOWING_ERROR").share, watched.rule("FOLLOWING_ERROR").largest) == (1.0, 1.5)
    assert watched.first([1.3, 1.31, 1.315, 1.32], error=over) == 3


def test_the_joint_with_the_largest_share_is_told_and_the_first_of_equal_ones(watched):
    for shares, joint in (((1.2, 1.5, 1.3), 1), ((1.5, 1.25, 1.5), 0), ((1.2, -1.3, 1.4), 2)):
        made = Watched()
        assert made.first([0.0, 0.1, 0.2], error=shares * FOLLOWING) == 2
        assert made.trip[1] == joint


def test_a_threshold_of_zero_is_switched_off(watched):
    watched.rules.following[1] = 0.0
    assert watched.first([0.0, 0.1, 0.2], error=(0.0, 5.0, 0.0)) is None
    assert watched.rule("FOLLOWING_ERROR").largest == 0.0
    watched.rules.following[1] = 0.5  # below one
    assert watched.first([0.3, 0.4, 0.5], error=(0.0, 5.0, 0.0)) == 2


def test_a_rule_that_only_observes_warns_once_until_the_value_is_below_its_release(watched):
    watched.rules.observes = 1
    over, counts = 0.15, []
    for k, error in enumerate([over] * 5 + [0.11] + [over] * 3 + [0.1] + [over] * 3 + [0.11]):
        assert not watched.supervise(0.1 * k, place=0.0, error=one(0, error))
        counts.append(watched.trip[-1])
    assert counts == [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2]
    assert watched.trip[:5] == ("RD_FOLLOWING_ERROR", 0, 0.15, 0.125, 0) and not watched.core.trip.latched
    assert watched.core.phase == watched.calls.RD_HOLDING


def test_after_a_stop_a_rule_that_only_observes_warns_when_the_value_has_been_below_its_release(watched):
    over = one(0, 0.15)
    assert watched.first([0.0, 0.1, 0.2], error=over) == 2
    watched.rules.observes, watched.core.trip.latched = 1, 0
    watched.supervise(0.3, error=one(0, 0.11))
    assert watched.first([0.4, 0.5, 0.6, 0.7], error=over) is None and watched.trip[-1] == 1
    watched.supervise(0.8, error=one(0, 0.05))
    assert watched.first([0.9, 1.0, 1.1, 1.2], error=over) is None and watched.trip[-1] == 2


def test_overspeed_stops_though_rules_of_errors_only_observe_and_in_a_stop_once_more(watched):
    watched.rules.observes = 1
    assert move(watched, one(1, -2.5), 6) == [0, 0, 1, 0, 0, 1]
    assert watched.trip == ("RD_OVERSPEED", 1, 2.5, 2.0, 1, 2)


def test_a_stop_begins_no_other_but_for_overspeed(watched):
    watched.core.trip.latched, watched.core.phase = 1, watched.calls.RD_PROTECTIVE_STOP
    assert watched.first([0.1 * k for k in range(9)], error=2.0 * FOLLOWING) is None
    assert watched.trip[-1] == 0 and watched.rule("FOLLOWING_ERROR").states == 9


# Errors of following


def test_distances_are_those_from_the_reference_of_these_joints_alone(watched):
    """Behind each array stands another one."""
    watched.core.scratch[0][0] = watched.core.ahead.position[0] = 77.0
    for j in range(3):
        watched.core.supervision.stopped[j] = 66.0 + j
    error = np.array([0.01, -0.02, 0.03])
    watched.supervise(5.0, error=error)
    np.testing.assert_allclose(watched.get("before"), error)
    assert watched.core.scratch[0][0] == 77.0 and watched.core.supervision.stopped[0] == 66.0
    watched.core.before[3] = 77.0
    watched.supervise(5.1, error=error)
    assert watched.rule("FOLLOWING_ERROR").largest < 1.0 and watched.rule("OVERSPEED").largest == 0.0


def test_what_follows_nothing_yields_or_is_braked_has_no_following_error(watched):
    calls, times = watched.calls, [0.0, 0.1, 0.2, 0.3]
    for change in (
        {"mode": calls.RD_GRAVITY_COMPENSATION},
        {"mode": calls.RD_JOINT_IMPEDANCE},
        {"braked": 1},
    ):
        made = Watched()
        made.core.braked = change.get("braked", 0)
        made.settings.mode = change.get("mode", calls.RD_COMPUTED_TORQUE)
        made.rule("FOLLOWING_ERROR").states = 5
        assert made.first(times, error=2.0 * FOLLOWING) is None
        assert made.rule("FOLLOWING_ERROR").states == 5, "it is not watched"


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_accelerations_of_the_reference_excuse_errors_beyond_the_threshold_until_feedback_has_come_up(side):
    """The following error has a share of the acceleration over kp more, which fades by T kp / kv a state."""
    made = Watched()
    felt, draw = np.zeros(3), np.random.default_rng(5)
    for k in range(40):
        acceleration = side * draw.uniform(-9.0, 9.0, 3) * (k % 9 == 0)
        made.supervise(0.004 * k, error=1.5 * FOLLOWING, reference__acceleration=acceleration)
        felt = np.maximum(np.abs(acceleration), felt * (1.0 - 0.004 * KP / KV))
        np.testing.assert_allclose(made.get("supervision__shaken"), felt, atol=1e-15)
        shares = 1.5 * FOLLOWING / (FOLLOWING + 0.375 * felt / KP)
        assert made.rule("FOLLOWING_ERROR").share == pytest.approx(shares.max())
        made.core.trip.latched, made.core.trip.count = 0, 0
    for share in (1.0, 0.5):
        made.supervise(1.0, error=share * FOLLOWING, reference__acceleration=REST + 7.0)
        assert made.rule("FOLLOWING_ERROR").share == share, "within the threshold nothing is excused"


def test_without_gains_no_acceleration_is_remembered_or_excused():
    for kp in (0.0, 50.0):
        made = Watched()
        made.setting(kp=[80.0, kp, 50.0, 1.0], kv=[16.0, 0.0, 12.0, 1.0])
        made.put(supervision__shaken=(3.0, 4.0, 5.0))
        made.supervise(0.0, error=one(1, 0.5), reference__acceleration=(0.1, 0.25, 0.3))
        assert made.core.supervision.shaken[1] == 0.25
        more = 0.375 * 0.25 / kp if kp else 0.0
        assert made.rule("FOLLOWING_ERROR").share == pytest.approx(0.5 / (0.25 + more))
    made = Watched()
    made.supervise(0.0, reference__acceleration=(0.1, 0.25, 0.3))
    np.testing.assert_allclose(made.get("supervision__shaken"), (0.1, 0.25, 0.3), err_msg="slight ones, too")


@pytest.mark.parametrize(
    ("stray", "trip"),
    [
        ((0.0, -0.5, 0.0, 0.0, 0.0), ("RD_FOLLOWING_ERROR", 1, 0.5, 0.25)),
        ((0.0, 0.0, 0.0, 0.06, 0.1), ("RD_POSE_ERROR", 0, 0.06, 0.05)),
        ((0.0, 0.0, 0.0, 0.04, 0.3), ("RD_POSE_ERROR", 1, 0.3, 0.2)),
        ((0.1, 0.2, 0.1, 0.05, 0.2), None),
    ],
)
def test_a_platform_has_errors_of_its_legs_and_of_its_pose(stray, trip):
    made = Watched(stray)
    made.rules.pose = [0.05, 0.2]
    found = made.first([0.0, 0.1, 0.2, 0.3], error=9.0 * FOLLOWING, reference__acceleration=REST + 9.0)
    assert found == (None if trip is None else 2)
    if trip:
        assert made.trip[:4] == trip
    else:
        assert made.rule("POSE_ERROR").largest == 1.0
    assert not made.get("supervision__shaken").any(), "an arm's only"


@pytest.mark.parametrize("stray", [None, (0.5, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0, 0.0)])
def test_an_error_that_begins_with_a_leap_is_a_reset_of_a_simulation(stray):
    made = Watched(stray)
    made.rules.pose = [0.05, 0.2]
    core, name = made.core, "POSE_ERROR" if stray and stray[3] else "FOLLOWING_ERROR"
    error = 2.0 * FOLLOWING
    core.supervision.leapt, core.supervision.leap = 1.0, 0.3
    core.fades, core.replaced = 1, made.settings
    assert made.supervise(1.0, error=error) == 0 and core.discontinuity == 0, "the state with the leap"
    assert made.supervise(1.01, error=error) == 1
    assert (core.discontinuity, core.discontinuity_size) == (made.calls.RD_JUMPED, 0.3)
    assert core.discontinuity_more == pytest.approx(0.004)
    assert core.fades == 0 and not core.replaced and core.epoch == 1 and made.rule(name).states == 0
    assert made.trip[-1] == 0 and core.phase == made.calls.RD_HOLDING
    np.testing.assert_allclose(made.get("hold"), -0.5, err_msg="it holds where it is")


def test_an_error_that_no_leap_began_or_that_is_over_is_no_reset():
    made = Watched()
    core = made.core
    for time, leapt, error, since, states in (
        (1.01, 0.9, 2.0, 1.0, 1),  # another time
        (1.01, 1.0, 1.0, 1.0, 1),  # at the threshold by now
        (1.01, 1.0, 2.0, 1.0, 0),  # nothing counts yet
    ):
        core.supervision.leapt = leapt
        made.rule("FOLLOWING_ERROR").since, made.rule("FOLLOWING_ERROR").states = since, states
        assert made.supervise(time, error=error * FOLLOWING) == 0 and core.discontinuity == 0


# Speeds


def move(made, rates, steps, period=0.01, share=1.0, start=1.0, reference=REST, **fields):
    """Return whether a stop begins in states with such velocities, of which positions show a share."""
    found, place, rates = [], np.array([0.7, -0.4, 0.3]), np.asarray(rates)
    for k in range(steps):
        made.core.time = start + k * period
        made.put(
            state__position=place,
            reference__position=place,
            state__velocity=rates,
            reference__velocity=reference,
        )
        made.put(**fields)
        found.append(made.calls.rd_supervise(made.core))
        place = place + share * period * rates
    return found


@pytest.mark.parametrize("joint", range(3))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_speed_counts_as_far_as_positions_show_half_of_it(joint, side):
    for speed, share, trips in ((1.25, 1.0, True), (1.25, 0.501, True), (1.25, 0.499, False),
                                (1.0, 1.0, False), (1.25, -1.0, False), (2.5, 0.501, True)):  # fmt: skip
        made = Watched()
        made.core.supervision.path = 9.0  # of an earlier one
        rates = one(joint, side * speed * SPEED[joint] - 0.1) + 0.1
        assert move(made, rates, 3, share=share) == [0, 0, int(trips)]
        if trips:
            measured = abs(rates[joint])
            assert made.trip == ("RD_OVERSPEED", joint, measured, SPEED[joint], 1, 1)
        assert made.core.supervision.seen == made.core.time


def test_a_speed_that_positions_show_by_just_a_half_counts():
    """Numbers without any rounding."""
    for way, states in ((0.5, 2), (0.4375, 0)):
        made = Watched()
        for k in range(2):
            made.core.time = 1.0 + 0.125 * k
            made.put(state__velocity=(8.0, 0.0, 0.0), state__position=(k * way, 0.0, 0.0))
            made.calls.rd_supervise(made.core)
        assert made.rule("OVERSPEED").states == states
        assert made.rule("OVERSPEED").share == (2.0 if states else 0.0)
        assert made.core.supervision.path == 1.0 and made.get("supervision__place").tolist() == [0.0] * 3


def test_the_place_of_an_overspeed_is_where_it_began(watched):
    watched.put(supervision__place=(5.0, 5.0, 5.0))
    watched.supervise(1.0, velocity=one(1, 2.0))
    assert watched.get("supervision__place").tolist() == [5.0] * 3, "no speed is beyond"
    watched.supervise(1.1, velocity=one(1, 2.1))
    watched.supervise(1.2, velocity=one(1, 2.1), state__position=(0.0, 0.1, 0.0))
    assert watched.get("supervision__place").tolist() == [-0.5] * 3
    assert watched.core.supervision.path == pytest.approx(0.21)


@pytest.mark.parametrize("doubt", ["new model", "stiffened"])
def test_a_joint_whose_load_is_doubted_leaves_its_reference_by_half_of_its_limit_at_most(doubt):
    def doubted(speed, reference=0.0, times=(0.0, 0.001, 0.002), **change):
        made = Watched()
        calls, core = made.calls, made.core
        if doubt == "new model":
            core.former, core.changed_at = made.settings, change.pop("since", 0.9)
        else:
            core.supervision.doubted = change.pop("since", 0.9) + 2.001
        made.settings.mode = change.pop("mode", calls.RD_COMPUTED_TORQUE)
        stops = move(made, one(1, -2.0 * speed), 3, 0.001, reference=one(1, 2.0 * reference), start=2.0)
        assert made.trip[1:4] == (
            1,
            2.0 * speed,
            pytest.approx(min(1.0, 0.5 + abs(reference)) * 2.0),
        ) or not sum(stops)
        return stops == [0, 0, 1], made.rule("OVERSPEED").share

    assert doubted(0.51) == (True, pytest.approx(1.02))
    assert doubted(0.49) == (False, pytest.approx(0.98))
    assert doubted(0.79, 0.3) == (False, pytest.approx(0.79 / 0.8))
    assert doubted(0.81, -0.3) == (True, pytest.approx(0.81 / 0.8))
    assert doubted(1.01, 0.9) == (True, pytest.approx(1.01))
    assert doubted(0.99, 0.9) == (False, pytest.approx(0.99)), "never more than the limit"
    assert doubted(0.9, since=-0.5)[0] is False, "over"
    for mode in ("GRAVITY_COMPENSATION", "JOINT_IMPEDANCE"):
        number = getattr(Watched().calls, f"RD_{mode}")
        assert doubted(0.9, mode=number) == (False, pytest.approx(0.9))


def test_a_load_is_doubted_until_its_time_and_without_doubt_a_speed_lasts_for_20_ms(watched):
    for doubted, states, stops in ((2.0, 3, [0, 0, 0]), (2.003, 3, [0, 0, 1]), (2.002, 3, [0, 0, 0])):
        made = Watched()
        made.core.supervision.doubted = doubted
        assert move(made, one(0, 5.0), states, 0.001, start=2.0) == stops


def test_legs_of_a_platform_whose_load_is_doubted_are_compared_with_the_rates_of_its_reference():
    def joints_of(core, reference, place, rate):
        for j in range(3):
            rate[j] = (0.4, 0.8, 0.3)[j] * SPEED[j]

    for platform, speed, trips in ((1, 1.29, 0), (1, 1.31, 1), (0, 0.51, 1), (0, 0.49, 0)):
        made = Watched((0.0,) * 5)
        made.own(
            "joints_of", "void(const struct rd_core *, const rd_motion *, double *, double *)", joints_of
        )
        made.settings.platform = made.ffi.cast("void *", platform)
        made.core.supervision.doubted, made.core.trip.latched = 9.0, 0
        # The third leg: half of its limit and 0.3 of it by its reference.
        rates = one(2, SPEED[2] * (speed - 0.5 if platform else speed))
        assert move(made, rates, 3, 0.001)[-1] == trips


# Oscillations


def swinging(made, joints=(1,), last=0.5, peak=0.75, share=0.25, **fields):
    """Return whether a stop begins in a state in which joints swing for the seventh half of a period."""
    made.rules.oscillation = share
    made.core.time = 5.0
    for j in range(3):
        swing = made.core.swings[j]
        swing.seen = swing.turned = 4.996
        swing.sign, swing.count, swing.states, swing.last, swing.peak = (
            1,
            7 if j in joints else 3,
            50,
            last,
            peak,
        )
    made.put(state__velocity=0.6, softness=(0.8, 0.9, 1.5), **fields)
    made.stray_rate = REST - 0.6
    return made.calls.rd_supervise(made.core)


@pytest.mark.parametrize("joint", range(3))
def test_an_oscillation_lowers_the_gains_of_the_joint_that_swings_and_stops(joint):
    made = Watched()
    soft = min(1.0, (0.8, 0.9, 1.5)[joint])
    assert swinging(made, (joint,)) == 1
    assert made.trip == ("RD_OSCILLATION", joint, 0.75, 0.25 * SPEED[joint], 1, 1)
    np.testing.assert_allclose(made.get("swung"), 1.0 + one(joint, soft / (1.0 + 1.5) - 1.0))
    assert [made.core.swings[j].count for j in range(3)] == [0 if j == joint else 3 for j in range(3)]
    assert made.rule("OSCILLATION").largest == pytest.approx(0.75 / (0.25 * SPEED[joint]))


def test_in_a_stop_gains_go_on_falling_without_another_trip_down_to_a_millionth():
    made = Watched()
    made.core.trip.latched = 1
    assert swinging(made, (0, 2), last=1e-9) == 1, "efforts of this state have lower gains already"
    assert made.trip[-1] == 0
    np.testing.assert_allclose(made.get("swung"), (1e-6, 1.0, 1e-6))
    assert made.rule("OSCILLATION").largest == 0.75


def test_the_gains_of_a_platform_fall_as_one():
    made = Watched((0.0,) * 5)
    made.rules.pose = [1.0, 1.0]
    assert swinging(made, (1,), stiffened=2.0) == 1
    assert made.core.stiffened[0] > 1.0, "of a stop, which stands behind"
    np.testing.assert_allclose(made.get("swung"), np.array([0.8, 0.9, 1.0]) / 2.5)
    assert [made.core.swings[j].count for j in range(3)] == [0, 0, 0]


def test_oscillations_are_watched_where_feedback_follows_something():
    calls = Watched().calls
    for change in ({}, {"braked": 1}, {"mode": calls.RD_GRAVITY_COMPENSATION}, {"share": 0.0}):
        made = Watched()
        made.core.braked, made.settings.mode = change.get("braked", 0), change.get("mode", 0)
        assert swinging(made, share=change.get("share", 0.25)) == (not change)
        assert made.core.swung[1] == (pytest.approx(0.36) if not change else 1.0)
    made = Watched()
    assert swinging(made, ()) == 0 and made.get("swung").tolist() == [1.0] * 3
    assert made.rule("OSCILLATION").largest == 0.0 and made.trip[-1] == 0
