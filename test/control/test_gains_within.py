"""Arithmetic of gains.c: periods in bins, what they leave of gains, factors of stops, numbers in texts."""

from __future__ import annotations

import numpy as np
import pytest
from arms import GRAVITY, LENGTH, MASS, Pendulum, pendulum_chain, two_joint_chain
from inner_core import Inner

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters

KP, KV = (100.0, 50.0), (21.0, 13.0)


@pytest.fixture
def inner():
    """Two joints whose gains differ; nothing has come yet."""
    return Inner(ArmController(two_joint_chain(), None, ArmParameters(kp=KP, kv=KV, loop_delay=0.003)))


@pytest.fixture
def names(inner):
    return [inner.ffi.new("char[]", name) for name in (b"lift", b"turn")]


def quantile(periods, share):
    """Mean of the periods in the bin where it lies; sixteen bins of equal width for each power of two."""
    edges = np.concatenate([2.0**k * (1.0 + np.arange(16) / 16.0) for k in range(-18, -2)])
    bins = np.clip(np.searchsorted(edges, periods, side="right") - 1, 0, len(edges) - 1)
    where = np.sort(bins)[int(share * len(periods))]
    return np.mean(np.asarray(periods)[bins == where])


def take(inner, periods):
    for period in periods:
        inner.calls.rd_pace_take(inner.core, period)


@pytest.mark.parametrize("middle", [0.0007, 0.0013, 0.012, 0.09])
def test_median_and_rarest_periods_are_those_of_their_bins(inner, middle):
    pace = inner.core.pace
    inner.core.time = pace.began = 3.0
    periods = middle * 2.0 ** np.random.default_rng(4).uniform(-1.5, 1.5, 132)
    take(inner, periods[:3])
    assert not pace.seen
    take(inner, periods[3:4])
    assert pace.seen and pace.median == pytest.approx(quantile(periods[:4], 0.5))
    take(inner, periods[4:35])
    assert pace.median == pytest.approx(quantile(periods[:4], 0.5)), "every 32 states"
    take(inner, periods[35:36])
    assert pace.median == pytest.approx(quantile(periods[:36], 0.5))
    assert pace.rare == pace.median, "of fewer than 40 states none is rare"
    take(inner, periods[36:])
    assert pace.median == pytest.approx(quantile(periods, 0.5))
    assert pace.rare == pytest.approx(quantile(periods, 0.95))
    np.testing.assert_array_equal(list(pace.recent), periods[:-4:-1])


@pytest.mark.parametrize(("period", "alike"), [(1e-7, 3e-6), (0.3, 7.0)])
def test_periods_beyond_the_bins_are_in_the_last_ones(inner, period, alike):
    inner.core.time = inner.core.pace.began = 3.0
    take(inner, [0.01, period, alike, period])
    expected = (2.0 * period + alike) / 3.0
    assert inner.core.pace.median == pytest.approx(expected)


def test_periods_count_for_half_a_second_to_a_second(inner):
    core, pace = inner.core, inner.core.pace
    core.time = pace.began = 3.0
    take(inner, [0.01] * 36)
    core.time = 3.5
    take(inner, [0.01] * 4)
    assert sum(pace.totals) == 40
    core.time = 3.51
    take(inner, [0.02] * 28)
    assert sum(pace.totals) == 68 and pace.median == pytest.approx(0.01)
    core.time = 4.02
    take(inner, [0.03] * 32)
    assert sum(pace.totals) == 60 and pace.median == pytest.approx(0.03)
    assert sum(sum(half) for half in pace.sums) == pytest.approx(28 * 0.02 + 32 * 0.03)
    inner.calls.rd_pace_forget(core)
    assert sum(pace.totals) == 0 and not pace.seen and pace.began == 4.02


def test_an_effort_held_long_is_remembered_for_one_to_two_seconds(inner):
    core = inner.core

    def held(time, elapsed):
        core.time = time
        inner.calls.rd_note_held(core, elapsed)
        return inner.calls.rd_longest_held(core, 0.01)

    core.pace.turned = 5.0
    assert held(5.1, 0.024) == 0.01, "no late cycle takes less than 2.5 periods"
    assert held(5.2, 0.026) == 0.026
    assert held(5.9, 0.001) == 0.026
    assert held(6.1, 0.03) == 0.03
    assert held(7.05, 0.001) == 0.03
    assert held(7.2, 0.028) == 0.03
    assert held(8.25, 0.001) == 0.028
    assert held(9.4, 0.001) == 0.01
    core.pace.longest[0] = 0.06
    assert held(3.0, 0.001) == 0.06, "a clock that goes back"
    assert held(1.5, 0.001) == 0.01


def watched(inner, median, rare, recent, elapsed=0.002, before=1.0):
    """Share of the gains after a look at the periods, and the share of the rule; whether it stops."""
    core, pace = inner.core, inner.core.pace
    core.time, pace.last, pace.seen, pace.unseen, pace.share = 4.0, 4.0 - elapsed, 1, 0, before
    pace.median, pace.rare, pace.recent = median, rare, recent
    rule = core.supervision.rules[inner.calls.RD_SLOW_STATES]
    core.trip.latched = rule.warned = 0
    stops = inner.calls.rd_watch_pace(core)
    return pace.share, rule.share, bool(stops)


DELAY, LEAST = 0.003, 1.0 / 21.0
"""Delay, and the least latency that the gains stand: of kv / kp and 1 / kv of both joints [s]."""


@pytest.mark.parametrize("rare", [0.01, 0.11])
@pytest.mark.parametrize("median", [0.01, 0.07, 0.09])
def test_gains_fall_as_far_as_the_periods_of_a_second_ask_for(inner, median, rare):
    latency = max(1.3 * (0.5 * median + DELAY), 0.5 * rare + DELAY)
    share, watch, stops = watched(inner, median, rare, [0.002] * 3)
    assert share == pytest.approx(min(1.0, LEAST / latency)) and watch == pytest.approx(latency / LEAST)
    trip = inner.core.trip
    assert not stops and (trip.rule == inner.calls.RD_SLOW_STATES) == (latency > LEAST)
    if latency > LEAST:
        usual = 1.3 * (0.5 * median + DELAY) >= 0.5 * rare + DELAY
        assert trip.measured == (median if usual else rare)
        assert trip.allowed == pytest.approx(2.0 * ((LEAST / 1.3 if usual else LEAST) - DELAY))
        assert (trip.joint, trip.stops) == (0, 0)


def test_below_a_quarter_of_the_gains_it_stops(inner):
    for factor, expected in (0.99, False), (1.01, True):
        rare = 2.0 * (4.0 * LEAST * factor - DELAY)
        share, _, stops = watched(inner, 0.01, rare, [0.002] * 3)
        assert stops == expected and share == pytest.approx(0.25 / factor)


@pytest.mark.parametrize(
    "recent", [(0.1, 0.12, 0.14), (0.14, 0.12, 0.1), (0.12, 0.1, 0.05), (0.1, 0.08, 0.12)]
)
def test_three_late_states_in_a_row_lower_the_gains_at_once(inner, recent):
    latency = 0.5 * min(recent) + DELAY
    expected = LEAST / (1.3 * latency) if latency > LEAST else 1.0
    assert watched(inner, 0.002, 0.002, recent)[0] == pytest.approx(expected)


def test_one_state_that_is_three_times_too_late_lowers_them_alone(inner):
    for factor in 0.99, 1.01:
        late = 2.0 * (3.0 * LEAST * factor - DELAY)
        expected = 1.0 / (1.3 * 3.0 * factor) if factor > 1.0 else 1.0
        assert watched(inner, 0.002, 0.002, (late, 0.002, 0.002))[0] == pytest.approx(expected)
        assert watched(inner, 0.002, 0.002, (0.002, late, late))[0] == 1.0


def test_gains_rise_by_one_in_a_second_and_in_a_gap_by_half(inner):
    assert watched(inner, 0.002, 0.002, [0.002] * 3, 0.01, 0.4)[0] == pytest.approx(0.41)
    assert watched(inner, 0.002, 0.002, [0.002] * 3, 3.0, 0.4)[0] == pytest.approx(0.9)
    assert watched(inner, 0.002, 0.002, [0.002] * 3, 0.7, 0.8)[0] == 1.0


def test_the_warning_of_late_periods_is_given_once_until_they_are_short(inner):
    core = inner.core
    core.time, core.pace.seen = 4.0, 1
    core.pace.recent = [0.002] * 3
    counts = []
    for median in 0.09, 0.09, 0.068, 0.09, 0.03, 0.09:
        core.pace.unseen, core.pace.median, core.pace.rare = 0, median, median
        inner.calls.rd_watch_pace(core)
        counts.append(core.trip.count)
    assert counts == [1, 1, 1, 1, 1, 2]
    core.pace.unseen, core.pace.median = 5, 0.2
    inner.calls.rd_watch_pace(core)
    assert core.pace.wanted == pytest.approx(LEAST / (1.3 * (0.045 + DELAY))), (
        "only where periods were counted"
    )


def test_the_longest_periods_leave_three_tenths_for_the_inertia(inner):
    periods = inner.ffi.new("double[2]")
    inner.calls.rd_longest_periods(inner.settings, 2, periods)
    expected = [2.0 * (1.0 / 21.0 / 1.3 - DELAY), 2.0 * (1.0 / 13.0 / 1.3 - DELAY)]
    np.testing.assert_allclose(list(periods), expected)
    inner.settings.rules.delay = 0.2
    inner.calls.rd_longest_periods(inner.settings, 2, periods)
    assert list(periods) == [0.0, 0.0]
    inner.settings.rules.delay = -1.0
    inner.calls.rd_longest_periods(inner.settings, 2, periods)
    assert list(periods) == [np.inf, np.inf]
    inner.settings.rules.delay, inner.settings.kv[0], inner.settings.kp[1] = 0.0, 0.0, 1690.0
    inner.calls.rd_longest_periods(inner.settings, 2, periods)
    np.testing.assert_allclose(list(periods), [0.0, 2.0 * 13.0 / 1690.0 / 1.3])


def told(inner, names, period, kp=KP, kv=KV, ki=(0.0, 0.0), step=(1e9, 1e9), delay=DELAY):
    s = inner.settings
    for j in range(2):
        s.kp[j], s.kv[j], s.ki[j], s.effort_steps[j] = kp[j], kv[j], ki[j], step[j]
    s.rules.delay = delay
    return inner.text("rd_gains_text", s, 2, period, names)


def test_texts_name_the_weakest_joint_and_the_gain_that_it_stands(inner, names):
    assert told(inner, names, 0.04) == (0, "")
    _, text = told(inner, names, 2.0 * (LEAST / 1.9 - DELAY))
    assert text.startswith("parameter 'kv' is 21 for lift: with a state every ")
    assert "and loop_delay at most 19.95 stays stable where the inertia is half" in text
    found, text = told(inner, names, 2.0 * (LEAST / 1.2 - DELAY))
    assert found == 2 and text.endswith(f"at most {21.0 * 1.2 / 1.3:.4g} is stable")
    found, text = told(inner, names, 2.0 * (LEAST / 1.31 - DELAY))
    assert found == 1 and "stays stable" in text
    found, text = told(inner, names, 0.02, kp=(100.0, 1690.0), delay=0.0)
    assert found == 2
    assert text == "parameter 'kp' is 1690 for turn: with a state every 20 ms at most 1000 is stable"


def test_texts_of_gains_without_damping_name_the_least_damping(inner, names):
    found, text = told(inner, names, 0.01, kv=(21.0, 0.0))
    assert found == 2 and text == (
        "parameter 'kv' is 0 for turn: with a state every 10 ms and loop_delay at least"
        f" {50.0 * 1.3 * 0.008:.4g} is stable"
    )
    assert told(inner, names, 0.01, kv=(21.0, 0.0), kp=(100.0, 0.0)) == (0, "")


def test_the_estimate_is_stable_below_half_of_kp_kv(inner, names):
    assert told(inner, names, 0.0, ki=(1049.0, 324.0))[0] == 0
    found, text = told(inner, names, 0.0, ki=(1049.0, 326.0))
    assert (found, text) == (
        2, "parameter 'ki' is 326 for turn: with its kp and kv at most 325 is stable",
    )  # fmt: skip
    inner.settings.mode = inner.calls.RD_PD
    assert told(inner, names, 0.0, ki=(1049.0, 326.0))[0] == 0


def test_effort_steps_hold_an_arm_from_half_of_the_root_of_kp_on(inner, names):
    """The limits are 40 and 15; the least is told in thousandths, rounded up."""
    period, needed = 0.016, 0.5 * np.sqrt(50.0) * 0.016
    steps = 1e9, 1.01 * needed * 15.0
    assert told(inner, names, period, step=steps)[0] == 0
    found, text = told(inner, names, period, step=(1e9, 0.99 * needed * 15.0))
    assert found == 2
    assert text.startswith(
        "parameter 'max_effort_step' is 0.056: with the kp of turn and a state every 16 ms"
    )
    assert text.endswith(f"at least {np.ceil(1e3 * needed) / 1e3:.4g} holds the arm")
    inner.settings.mode = inner.calls.RD_JOINT_IMPEDANCE
    assert told(inner, names, period, step=(1e9, 0.9 * needed * 15.0))[0] == 0


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_weight_beyond_a_limit_is_told_where_the_limit_came_down(side):
    inner = Inner(ArmController(pendulum_chain(effort=5.0), Pendulum(), ArmParameters()))
    place = inner.ffi.new("double[]", [side * 1.2])
    names = [inner.ffi.new("char[]", b"swing")]
    weight = MASS * GRAVITY * LENGTH * np.sin(1.2)
    for limit, before, found in (
        (0.99 * weight, None, 2),
        (1.01 * weight, None, 0),
        (0.99 * weight, weight, 2),
        (0.99 * weight, 0.99 * weight, 0),
        (0.99 * weight, 0.98 * weight, 0),
    ):
        inner.settings.limits[0] = limit
        last = inner.ffi.NULL if before is None else inner.ffi.new("double[]", [before])
        got, text = inner.text("rd_weight_text", inner.settings, 1, place, last, names)
        assert got == found
        needs = f"swing needs {weight:.4g} to hold the arm at rest here, but its limit is {limit:.4g}: "
        assert text == (f"by this model {needs}" if found else "")
    place[0] = np.nan
    assert inner.text("rd_weight_text", inner.settings, 1, place, inner.ffi.NULL, names)[0] == 0


def guided(inner, excess, gain=8.0, count=1):
    """Factors of the braking of the first joint from state to state."""
    return [
        inner.calls.rd_guided_stiffness(inner.core, inner.settings, 0, excess, gain) for _ in range(count)
    ]


def test_braking_of_a_guided_joint_doubles_until_it_slows_down_and_fades_behind(inner):
    """As far as half of the model's inertia is stable: 1 / gain over the latency, with twice the delay."""
    core, limit = inner.core, inner.settings.velocity_limits[0]
    core.cut_at[0], core.period, core.pace.recent = -1e9, 0.004, [0.001, 0.004, 0.006]
    most = (1.0 / 8.0) / (2.0 * 0.5 * 0.006 + 2.0 * DELAY)
    assert guided(inner, 0.049 * limit) == [1.0], "below a twentieth of the speed limit"
    assert guided(inner, 0.06 * limit) == [2.0]
    assert guided(inner, 0.06 * limit) == [2.0], "no faster than before"
    assert guided(inner, 0.061 * limit) == [4.0]
    assert guided(inner, 0.062 * limit) == [8.0]
    assert guided(inner, 0.063 * limit) == [pytest.approx(most)] and 8.0 < most < 16.0
    assert guided(inner, -0.1) == [pytest.approx(most - 0.02 * (most - 1.0))]
    core.period = 0.3
    assert guided(inner, -0.1) == [1.0], "a period longer than the fading"


def test_what_is_in_force_falls_with_longer_periods_but_not_with_a_delay_declared_later(inner):
    core, limit = inner.core, inner.settings.velocity_limits[0]
    core.cut_at[0], core.period, core.pace.recent = -1e9, 0.004, [0.004] * 3
    inner.settings.rules.delay = 0.0
    assert [guided(inner, k * limit)[0] for k in (0.1, 0.2, 0.3)] == [2.0, 4.0, 8.0]
    inner.settings.rules.delay = 0.05
    assert guided(inner, 0.4 * limit) == [8.0]
    core.pace.recent[1] = 0.025
    assert guided(inner, 0.3 * limit) == [pytest.approx((1.0 / 8.0) / 0.025)]
    core.pace.recent[1], core.period = 0.0, 0.05
    assert guided(inner, 0.3 * limit) == [pytest.approx((1.0 / 8.0) / 0.05)]


def test_a_joint_whose_effort_is_cut_is_not_stiffened_for_half_a_second(inner):
    core, limit = inner.core, inner.settings.velocity_limits[0]
    core.cut_at[0], core.period, core.pace.recent = -1e9, 0.004, [0.004] * 3
    assert [guided(inner, k * limit)[0] for k in (0.1, 0.2)] == [2.0, 4.0]
    core.time, core.cut, core.unlimited[0] = 7.0, 1, -41.0
    assert guided(inner, 0.5 * limit) == [1.0]
    core.cut, core.time = 0, 7.49
    assert guided(inner, 0.6 * limit) == [1.0]
    core.time = 7.51
    assert guided(inner, 0.7 * limit) == [2.0]
    core.cut, core.unlimited[0] = 1, 39.0
    assert guided(inner, 0.8 * limit) == [1.0], "another joint is cut: half as much from state to state"
    assert core.cut_at[0] == 7.0


def stopping(inner, place, rate, moved=(0.0, 0.0)):
    """A protective stop in the next state: references and measured motion of both joints."""
    core = inner.core
    core.trip.latched, core.trip.rule = 1, inner.calls.RD_OVERSPEED
    core.phase, core.pace.share, core.period, core.pace.recent = (
        inner.calls.RD_PROTECTIVE_STOP,
        1.0,
        0.004,
        [0.004] * 3,
    )
    for j in range(2):
        core.reference.position[j], core.reference.velocity[j] = place[j], moved[j]
        core.state.position[j], core.state.velocity[j] = 0.0, rate[j]
        core.cut_at[j] = -1e9
    inner.calls.rd_soften(core)
    return list(core.stiffened[0:2]), list(core.softness[0:2])


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_gains_of_a_stop_rise_where_a_joint_is_faster_than_reference_and_error_ask_for(inner, side):
    """A tenth of the limits of 3 and 2; kp e / kv of the second joint is 0.2 and counts on its way only."""
    error = side * 0.2 * 13.0 / 50.0
    for rates, expected in (
        ((0.31, 0.39), [2.0, 1.0]),
        ((0.29, 0.41), [1.0, 2.0]),
        ((-0.31, -0.19), [2.0, 1.0]),
        ((-0.29, -0.21), [1.0, 2.0]),
    ):
        inner.core.stiffened[0] = inner.core.stiffened[1] = inner.core.softness[0] = inner.core.softness[
            1
        ] = 1.0
        inner.core.led[0] = inner.core.led[1] = 0.0
        given = [0.0, error], [side * rate for rate in rates]
        assert stopping(inner, *given) == (expected, expected)
    inner.core.led[0] = inner.core.led[1] = 0.0
    moved = [side * 0.5, side * 0.6]
    rates = [side * 0.81, side * 0.99]
    inner.core.stiffened[0] = inner.core.stiffened[1] = 1.0
    assert stopping(inner, [0.0, error], rates, moved)[0] == [2.0, 1.0]


def test_gains_of_a_stop_end_with_it(inner):
    assert stopping(inner, [0.0, 0.0], [1.0, 1.0])[0] == [2.0, 2.0]
    inner.core.trip.latched = 0
    inner.calls.rd_soften(inner.core)
    assert list(inner.core.stiffened[0:2]) == list(inner.core.softness[0:2]) == [1.0, 1.0]


def test_what_periods_leave_is_for_each_joint_as_much_as_its_gains_stand(inner):
    core = inner.core
    core.pace.share = 0.5
    inner.calls.rd_soften(core)
    assert list(core.softness[0:2]) == [0.5, pytest.approx(0.5 * 21.0 / 13.0)]
    core.pace.share = 0.9
    inner.calls.rd_soften(core)
    assert list(core.softness[0:2]) == [0.9, 1.0]
    core.swung[1] = 0.3
    inner.calls.rd_soften(core)
    assert list(core.softness[0:2]) == [0.9, 0.3]
