"""Gains and effort limits from within: bounds that are met exactly, gains of zero, known ratios."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import MadeUpArm

STANDS, BARELY, FAILS = 0, 1, 2


class Judged(MadeUpArm):
    """Joints whose gains are powers of two, so that bounds are met exactly."""

    def __init__(self, n=3, delay=0.0, **arrays):
        super().__init__(n, driven=False)
        self.rules = self.settings.rules = self.ffi.new("rd_rules *")
        self.rules.delay = delay
        self.settings.mode = self.calls.RD_COMPUTED_TORQUE
        given = {"kp": 16.0, "kv": 16.0, "ki": 0.0, "effort_steps": 1e9, "limits": 16.0} | arrays
        self.setting(**{name: np.broadcast_to(values, n) for name, values in given.items()})
        self.calls.rd_use_settings(self.core, self.settings)
        self.names = [self.ffi.new("char[]", f"j{j}".encode()) for j in range(n)]

    def text(self, function, *given):
        written = self.ffi.new("char[]", 600)
        names = self.ffi.new("char *[]", self.names)
        found = getattr(self.calls, f"rd_{function}_text")(*given, names, written, 600)
        return found, self.ffi.string(written).decode()

    def gains(self, period):
        return self.text("gains", self.settings, self.n, period)

    def periods(self):
        made = self.ffi.new("double[]", [0.77] * (self.n + 1))
        self.calls.rd_longest_periods(self.settings, self.n, made)
        assert made[self.n] == 0.77
        return np.array(list(made)[: self.n])


def test_the_latency_of_gains_is_the_least_of_both_and_endless_without_gains():
    arm = Judged(5, kp=[0.0, 0.5, 0.5, 8.0, 0.0], kv=[0.0, 0.6, 0.0, 0.7, 0.8], delay=0.01)
    stands = np.array([np.inf, 1.2, 0.0, 0.7 / 8.0, 1.25])
    np.testing.assert_allclose(arm.periods(), np.maximum(0.0, 2.0 * (stands / 1.3 - 0.01)))
    arm.settings.rules = arm.ffi.NULL
    np.testing.assert_array_equal(arm.periods(), np.inf)
    arm = Judged(delay=0.0)
    assert np.isfinite(arm.periods()).all()
    arm.settings.mode = arm.calls.RD_CALLED
    np.testing.assert_array_equal(arm.periods(), np.inf)
    assert arm.gains(1e3) == (STANDS, "")


@pytest.mark.parametrize("joint", range(3))
def test_the_weakest_joint_is_the_first_of_equal_ones(joint):
    weak = np.where(np.arange(3) >= joint, 64.0, 16.0)
    arm = Judged(kp=weak, kv=weak)
    assert arm.core.weakest == joint
    assert f"for j{joint}: " in arm.gains(0.02)[1]


def test_gains_that_stand_twice_the_latency_exactly_barely_stand():
    """1 / 64 s; both gains are then met, and the damping is named."""
    arm = Judged(kp=[16.0, 64.0, 16.0], kv=[16.0, 64.0, 16.0])
    found, text = arm.gains(2.0**-6)
    assert found == BARELY and text.startswith(
        "parameter 'kv' is 64 for j1: with a state every 15.6 ms at most 64"
    )
    assert arm.gains(2.0**-6 * (1.0 - 1e-12)) == (STANDS, "")
    assert arm.gains(0.0) == (STANDS, "")
    arm.rules.delay = 0.5
    assert arm.gains(0.0) == (STANDS, ""), "no period is known"
    assert "and loop_delay" in arm.gains(1e-3)[1]


def test_an_estimate_of_exactly_half_of_kp_kv_stands():
    arm = Judged(ki=[127.0, 128.0, 100.0])
    assert arm.gains(0.001)[0] == STANDS
    for joint in range(3):
        arm.setting(ki=np.where(np.arange(3) == joint, 128.5, 1.0))
        assert arm.gains(0.001) == (
            FAILS, f"parameter 'ki' is 128.5 for j{joint}: with its kp and kv at most 128 is stable",
        )  # fmt: skip


def test_steps_that_hold_a_period_exactly_suffice_and_of_equal_joints_the_first_is_named():
    """A sixteenth of the limit over half of the root of kp: 1 / 32 s."""
    arm = Judged(kp=16.0, kv=4.0, effort_steps=[1e9, 1.0, 1.0])
    assert "max_effort_step" not in arm.gains(2.0**-5)[1]
    found, text = arm.gains(2.0**-5 * 1.001)
    assert found == FAILS and text.startswith(
        "parameter 'max_effort_step' is 0.0625: with the kp of j1 and a state every 31.3 ms"
    )
    assert text.endswith("at least 0.063 holds the arm")
    arm.settings.platform = arm.ffi.cast("const struct rd_platform_model *", arm.rules)
    assert "max_effort_step" not in arm.gains(2.0**-5 * 1.001)[1]
    arm = Judged(kp=[0.25, 0.0, 1.0], kv=4.0, effort_steps=[0.01, 0.0, 1e9], limits=[1.0, 1.0, np.inf])
    assert "kp of j0" in arm.gains(0.05)[1]
    arm.setting(limits=[np.inf, 1.0, 1.0])
    assert arm.gains(0.05)[0] == STANDS


def weighing(n, weight):
    """An arm at rest that asks for such efforts."""
    arm = Judged(n)

    def dynamics(q, qd, qdd):
        assert not qd.any() and not qdd.any()
        arm.calls_made += 1
        return np.array(weight)

    arm.calls_made = 0
    arm.settings.inverse_dynamics = arm.kernel("weight", dynamics, n, 3)
    return arm


def lowered(arm, limits, before=None):
    arm.setting(limits=limits)
    last = arm.ffi.NULL if before is None else arm._array(before)
    return arm.text("weight", arm.settings, arm.n, arm._array(np.full(arm.n, 0.1)), last)


def test_a_weight_that_meets_its_limit_exactly_is_held_and_of_equal_shares_the_first_is_named():
    arm = weighing(3, [8.0, -6.0, 3.0])
    assert lowered(arm, [8.0, 6.0, 3.0]) == (STANDS, "")
    assert "j1 needs 6" in lowered(arm, [8.0, 4.0, 2.0])[1]
    assert "j0 needs 8" in lowered(arm, [4.0, 3.0, 1.5])[1]
    assert "j2 needs 3" in lowered(arm, [7.0, 5.0, 2.0])[1]
    assert "j1 needs 6" in lowered(arm, [0.5, 3.0, 0.4], [0.5, 3.5, 0.4])[1]
    assert lowered(arm, [0.5, 3.0, 0.4], [0.5, 3.0, 0.4]) == (STANDS, "")


def test_weights_and_loads_are_judged_for_up_to_64_joints():
    for joints, asked in ((64, 1), (65, 0)):
        arm = weighing(joints, np.full(joints, 2.0))
        assert lowered(arm, np.full(joints, 1.0))[0] == (FAILS if asked else STANDS)
        assert arm.calls_made == asked
        arm = Judged(joints)
        arm.settings.inverse_dynamics, arm.fails = arm.kernel("any", lambda *_: None, joints, 3), "any"
        place = arm._array(np.zeros(joints))
        given = arm.settings, joints, arm.settings, place, place, 0.5
        assert arm.text("load", *given) == (STANDS, "") and arm.spared == -asked


MASSES = np.diag([1.0, 2.0, 0.5])
"""Of the links without the load."""


class Loaded(Judged):
    """An arm before and after a load was declared."""

    def __init__(self, more, load, **arrays):
        super().__init__(**arrays)

        def before(q, qd, qdd):
            assert not qd.any()
            return MASSES @ qdd + (1.0, 2.0, 3.0)

        self.settings.inverse_dynamics = self.kernel(
            "after", lambda q, qd, qdd: (MASSES + more) @ qdd + (1.0, 2.0, 3.0) + np.array(load), 3, 3
        )
        self.former = self.ffi.new("rd_settings *", self.settings[0])
        self.former.inverse_dynamics = self.kernel("before", before, 3, 3)

    def judged(self, period, external=(0.0, 0.0, 0.0), place=(0.1, 0.2, 0.3)):
        where, felt = self._array(place), self._array(external)
        return self.text("load", self.settings, 3, self.former, where, felt, period)


HEAVIER = np.diag([0.2, 1.0, 0.1])
"""Of the load: the ratio is largest at the second joint, 3 / 2."""


def test_a_load_that_weighs_nothing_is_never_felt():
    arm = Loaded(HEAVIER, (0.0, 0.0, 0.0))
    limit = 2.0 / (16.0 * 1.5)
    for external in ((0.0, 0.0, 0.0), (3.0, -4.0, 5.0)):
        assert arm.judged(0.999 * limit, external) == (STANDS, "")
        found, text = arm.judged(1.001 * limit, external)
        assert found == FAILS and text.startswith("j1 has 1.5 times the inertia")


def test_a_small_load_is_felt_from_exactly_half_of_it_on():
    load = np.array([0.25, -0.5, 0.125])
    arm = Loaded(HEAVIER, load)
    assert arm.judged(0.2, -0.5 * load)[0] == STANDS
    assert arm.judged(0.2, -0.4999 * load)[0] == FAILS
    assert arm.judged(0.2, (0.0, 0.0, 0.0))[0] == FAILS
    assert arm.judged(0.2, 0.6 * load)[0] == FAILS


@pytest.mark.parametrize("model", ["before", "after"])
def test_a_load_is_not_judged_where_a_model_has_no_efforts(model):
    arm = Loaded(HEAVIER, (0.0, 0.0, 0.0))
    assert arm.judged(0.2)[0] == FAILS
    arm.fails = model
    assert arm.judged(0.2) == (STANDS, "")
    arm.fails = None
    assert arm.judged(0.2, place=(0.1, np.nan, 0.2)) == (STANDS, "")
    arm.rules.delay = 0.5
    assert arm.judged(0.0) == (STANDS, "")
    assert arm.judged(1e-4)[0] == FAILS
    arm.rules.delay = -1.0
    assert arm.judged(0.2) == (STANDS, "")
    arm.rules.delay, arm.settings.mode = 0.0, arm.calls.RD_PD
    assert arm.judged(0.2) == (STANDS, "")


# Periods


def look(arm, rare, median=1e-4, latched=0, delay=0.0, warned=0):
    """A look at the periods in a core that stands 1 / 16 s; whether it stops, and what was noted."""
    core, pace = arm.core, arm.core.pace
    arm.rules.delay = delay
    core.time, pace.last, pace.seen, pace.unseen, pace.share = 4.0, 3.9, 1, 0, 1.0
    pace.median, pace.rare, pace.recent = median, rare, [1e-4] * 3
    core.trip.latched = latched
    rule = core.supervision.rules[arm.calls.RD_SLOW_STATES]
    rule.warned, rule.largest = warned, 0.0
    before = core.trip.count
    return arm.calls.rd_watch_pace(core), core.trip.count - before, rule


def test_bounds_of_late_states_that_are_met_exactly_neither_stop_nor_warn():
    stands, arm = 2.0**-4, Judged()
    assert look(arm, 2.0 * stands)[:2] == (0, 0)
    assert look(arm, 2.0 * stands * 1.001)[:2] == (0, 1)
    stops, _, rule = look(arm, 8.0 * stands)
    assert stops == 0 and rule.share == 4.0 == rule.largest and arm.core.pace.wanted == 0.25
    assert look(arm, 8.001 * stands)[0] == 1
    assert look(arm, 8.001 * stands, latched=1)[:2] == (0, 1)


def test_a_warning_ends_at_its_release():
    stands, arm = 2.0**-4, Judged()
    release = arm.calls.rd_rule_table(arm.calls.RD_SLOW_STATES).release
    assert 0.5 < release < 1.0
    for share, warned, goes_on in (
        (release, 1, 0),
        (1.001 * release, 1, 1),
        (1.001 * release, 0, 0),
        (1.0, 0, 0),
    ):
        _, count, rule = look(arm, 2.0 * stands * share, warned=warned)
        assert (count, rule.warned) == (0, goes_on)
    assert look(arm, 2.1 * stands, warned=1)[1] == 0


def test_of_equal_latencies_the_median_is_reported():
    stands, arm = 2.0**-4, Judged()
    median = 1.8 * stands
    _, count, _ = look(arm, 1.3 * median, median)
    trip = arm.core.trip
    assert count == 1 and trip.measured == median and trip.allowed == pytest.approx(2.0 * stands / 1.3)


def test_no_period_is_allowed_where_the_delay_alone_is_too_long():
    stands, arm = 2.0**-4, Judged()
    for rare, delay, stops in ((0.01, 1.1 * stands, 0), (8.0 * stands, 1.1 * stands, 1)):
        found, _, _ = look(arm, rare, delay=delay)
        assert found == stops and arm.core.trip.allowed == 0.0


def test_periods_are_not_judged_before_any_was_seen_or_without_a_delay():
    arm = Judged()
    arm.core.pace.share, arm.core.pace.seen = 0.4, 0
    assert arm.calls.rd_watch_pace(arm.core) == 0 and arm.core.pace.share == 1.0
    arm.core.pace.share, arm.core.pace.seen, arm.rules.delay = 0.4, 1, -1.0
    assert arm.calls.rd_watch_pace(arm.core) == 0 and arm.core.pace.share == 1.0


def test_states_that_meet_the_latency_exactly_leave_the_gains():
    """1 / 16 s of three states in a row, and 3 / 16 s of one."""
    stands, arm = 2.0**-4, Judged()
    for recent, share in (
        ((2.0 * stands,) * 3, 1.0),
        ((2.001 * stands,) * 3, 1.0 / 1.3 / 1.0005),
        ((6.0 * stands, 1e-4, 1e-4), 1.0),
        ((6.001 * stands, 1e-4, 1e-4), 1.0 / 1.3 / 3.0005),
        ((4.0 * stands, 1e-4, 4.0 * stands), 1.0),
        ((4.0 * stands, 4.0 * stands, 1e-4), 1.0),
        ((1e-4, 4.0 * stands, 4.0 * stands), 1.0),
    ):
        arm.core.pace.unseen, arm.core.pace.seen, arm.core.pace.wanted = 3, 1, 1.0
        arm.core.pace.share, arm.core.pace.last, arm.core.time = 1.0, 3.9, 4.0
        arm.core.pace.recent = recent
        arm.calls.rd_watch_pace(arm.core)
        assert arm.core.pace.share == pytest.approx(share)


def test_the_longest_of_the_last_periods_is_any_of_them():
    arm = Judged()
    arm.core.pace.longest = [9.0, 9.0]
    for k in range(3):
        arm.core.pace.recent = [0.3 if i == k else 0.1 for i in range(3)]
        assert arm.calls.rd_longest_recent(arm.core, 0.2) == 0.3
    assert arm.calls.rd_longest_recent(arm.core, 0.4) == 0.4


def take(arm, *periods):
    for period in periods:
        arm.calls.rd_pace_take(arm.core, period)
    return arm.core.pace


def test_the_first_and_the_last_bin_hold_what_is_beyond_them():
    """Up to 2^-18 and from 2^-2 s on."""
    for periods in ((0.25, 0.3, 0.25), (1e-7, 1.01 * 2.0**-18, 1.02 * 2.0**-18), (0.249, 0.25, 4.0)):
        arm = Judged()
        arm.core.time = arm.core.pace.began = 3.0
        pace = take(arm, 0.01, *periods)
        assert pace.median == pytest.approx(np.mean(periods))


def test_the_rarest_of_exactly_40_periods_counts():
    arm = Judged()
    arm.core.time = arm.core.pace.began = 3.0
    take(arm, *[0.01] * 28)
    arm.core.time = 3.6
    take(arm, *[0.01] * 8)
    arm.core.time = 4.2
    pace = take(arm, *[0.01] * 29, 0.02, 0.02, 0.02)
    assert sum(pace.totals) == 40 and pace.unseen == 0
    assert pace.rare == pytest.approx(0.02) and pace.median == pytest.approx(0.01)


def test_efforts_are_remembered_for_exactly_a_second_and_are_late_beyond_two_and_a_half_periods():
    arm = Judged()
    core = arm.core
    core.pace.turned, core.pace.longest = 5.0, [0.5, 0.25]
    core.time = 6.0
    arm.calls.rd_note_held(core, 0.1)
    assert list(core.pace.longest) == [0.5, 0.25]
    core.pace.longest = [2.5 / 64.0, 0.0]
    assert arm.calls.rd_longest_held(core, 1.0 / 64.0) == 1.0 / 64.0
    core.pace.longest = [0.0, 2.501 / 64.0]
    assert arm.calls.rd_longest_held(core, 1.0 / 64.0) == 2.501 / 64.0


def test_gains_with_little_damping_are_judged_by_their_stiffness():
    found, text = Judged(kp=8.0, kv=0.5).gains(0.2)
    assert found == FAILS and text.startswith("parameter 'kp' is 8 for j0")
    assert text.endswith(f"at most {0.5 / 0.13:.4g} is stable")


def test_of_joints_that_are_all_as_much_heavier_the_first_is_named():
    arm = Loaded(np.eye(3), (0.0, 0.0, 0.0))
    same = arm.kernel("same", lambda q, qd, qdd: 2.0 * qdd, 3, 3)
    heavier = arm.kernel("heavier", lambda q, qd, qdd: 3.0 * qdd, 3, 3)
    arm.former.inverse_dynamics, arm.settings.inverse_dynamics = same, heavier
    assert arm.judged(0.2)[1].startswith("j0 has 1.5 times")


# Known ratios of the inertia


def taught(arm, factors):
    """Let the observer learn that joints have such factors of the inertia's reciprocal; the ratios."""
    now = [np.zeros(3)]

    def momentum(_inputs, out):
        for k, values in enumerate((now[0], np.zeros(3), np.zeros(3))):
            arm.ffi.memmove(out[k], values.tobytes(), 24)
        return 1

    s, about = arm.settings, arm.ffi.new("rd_observed *")
    kernel = arm.ffi.callback("int(const double *const *, double *const *)", momentum)
    s.momentum, s.observer_gain, s.contact_points = kernel, 25.0, 1
    arm.setting(contact_floor=np.ones(3), contact_speeds=np.zeros(3))
    observer, draw = arm.core.observer, np.random.default_rng(2)
    arm.calls.rd_observer_learn(observer, 1)
    effort = np.zeros(3)
    for k in range(20):
        effort = 0.7 * effort + draw.normal(size=3)
        now[0] = now[0] + 0.01 * np.array(factors) * effort
        rest = arm._array(np.zeros(3))
        assert arm.calls.rd_observer_update(
            observer, s, 1.0 + 0.01 * k, rest, rest, arm._array(effort), about
        )
    arm.calls.rd_observer_find_ratios(observer, arm._array(np.full(3, 0.1)))
    s.momentum = arm.ffi.NULL
    return np.array([arm.calls.rd_observer_ratio(observer, j) for j in range(3)])


def test_a_stop_of_a_lighter_robot_has_gains_that_its_inertia_stands():
    """Half of that with the delay: twice the latency; a heavier joint has no more gains for that."""
    arm = Judged(kp=[16.0, 20.0, 90.0], kv=[16.0, 20.0, 30.0], delay=0.01)
    ratios = taught(arm, (2.5, 4.0, 0.5))
    assert ratios[0] < 0.6 and ratios[1] < 0.4 and ratios[2] > 1.2
    core = arm.core
    core.pace.share, core.period, core.trip.latched, core.trip.rule = 1.0, 0.05, 1, arm.calls.RD_OVERSPEED
    arm.put(swung=1.0, softness=1.0, stiffened=1.0, cut_at=-1e9)
    arm.calls.rd_soften(core)
    stands = np.minimum(arm_of(arm, "kv") / arm_of(arm, "kp"), 1.0 / arm_of(arm, "kv"))
    light = np.where(ratios < 1.0, ratios * stands / (2.0 * (0.025 + 0.01)), 1.0)
    assert (light[:2] < 1.0).all() and light[0] != light[1]
    np.testing.assert_allclose(arm.get("softness"), np.minimum(1.0, light))
    np.testing.assert_allclose([arm.calls.rd_known_ratio(core, j) for j in range(3)], np.minimum(1.0, ratios))
    core.trip.latched = 0
    arm.calls.rd_soften(core)
    np.testing.assert_array_equal(arm.get("softness"), 1.0)
    assert [arm.calls.rd_known_ratio(core, j) for j in range(3)] == [1.0] * 3


def arm_of(arm, name):
    return np.array(list(getattr(arm.settings, name)[0 : arm.n]))


def test_braking_of_a_lighter_joint_rises_less_far_and_other_settings_raise_none():
    arm = Judged(delay=0.004)
    ratio = taught(arm, (2.5, 4.0, 0.5))[0]
    core, limit = arm.core, 1e6
    arm.put(swung=1.0, softness=1.0, stiffened=1.0, cut_at=-1e9, led=0.0)
    core.period, core.pace.recent, core.trip.latched = 0.001, [0.004, 0.006, 0.002], 1
    most = 0.0625 / (2.0 / ratio * (0.003 + 0.004))
    guide = arm.calls.rd_guided_stiffness
    found = [guide(core, arm.settings, 0, (0.1 + 0.1 * k) * limit, 16.0) for k in range(5)]
    np.testing.assert_allclose(found, np.minimum([2.0, 4.0, 8.0, 16.0, 32.0], most))
    assert 1.5 < most < 8.0
    other = arm.ffi.new("rd_settings *", arm.settings[0])
    assert guide(core, other, 0, -1.0, 16.0) == found[-1] == core.stiffened[0]
    assert guide(core, arm.settings, 0, 0.5, 16.0) == found[-1], "as fast as it may be, but no slower"
    assert guide(core, arm.settings, 0, 0.0, 16.0) == pytest.approx(most - 0.005 * (most - 1.0))
    core.pace.recent, core.period = [0.0] * 3, 0.0
    assert guide(core, arm.settings, 0, 0.9 * limit, 16.0) == 1.0, "without any period"
