"""Joint impedance, its filters, and limits of efforts, with a made-up model."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import Yielding


@pytest.mark.parametrize("critical", [(), (0,), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("driven", [True, False])
def test_joint_impedance_is_springs_and_dampers_beside_the_model(critical, driven):
    arm = Yielding(1, driven=driven)
    given, d = arm.d.copy(), arm.d.copy()
    for j in critical:
        given[j], d[j] = -1.0, 2.0 * np.sqrt(arm.k[j] * arm.whole_mass(arm.q)[j, j])
    arm.setting(damping=given)
    np.testing.assert_allclose(arm.law(), arm.expected(d), rtol=1e-9)
    for moving in range(3):
        arm.rd = np.where(np.arange(3) == moving, 0.7, 0.0)
        arm.begin()
        np.testing.assert_allclose(arm.law(), arm.expected(d), rtol=1e-9)
    arm.rd[:] = 0.0
    arm.begin()
    np.testing.assert_allclose(arm.law(), arm.expected(d), rtol=1e-9)


def test_joint_impedance_brakes_at_a_wall_by_the_joint_s_inertia():
    arm = Yielding(2)
    arm.qd[:] = arm.rd[:] = 0.0
    arm.begin()
    for lowest in (-9.0, arm.q[0] + 0.01):
        ends = [lowest, arm.q[1] + 0.02, -9.0, 9.0, 9.0, arm.q[2] - 0.03]
        arm.setting(position_limits=np.array(ends))
        arm.put(inertia=50.0)
        beyond = np.array([max(0.0, lowest - arm.q[0]), 0.02, -0.03])
        wall = 40.0 * 20.0 * beyond * np.diag(arm.whole_mass(arm.q))
        np.testing.assert_allclose(arm.law(), arm.expected(arm.d) + wall)


def test_joint_impedance_brakes_in_a_protective_stop():
    arm = Yielding(15)
    arm.core.trip.latched, arm.core.trip.rule = 1, arm.calls.RD_OVERSPEED
    arm.core.pace.recent = [0.004, 0.001, 0.002]
    arm.setting(velocity_limits=np.full(3, 4.0))
    arm.rd *= 0.01
    arm.put(led=9.0)
    arm.begin()
    arm.z = arm.z - 0.08 / 0.004 * np.sign(arm.qd) * np.maximum(np.abs(arm.qd) - 0.08, 0.0)
    np.testing.assert_allclose(arm.law(), arm.expected(arm.d))


@pytest.mark.parametrize("spared", range(7))
def test_without_a_model_there_is_no_impedance(spared):
    """It is called three times where the reference moves, and four times for the inertia."""
    arm = Yielding(3)
    arm.setting(damping=np.full(3, -1.0))
    arm.fails, arm.spared = "dynamics", spared
    assert arm.law() is None
    arm.fails = None
    assert arm.law() is not None


@pytest.mark.parametrize("spared", range(3))
def test_without_any_of_three_efforts_of_a_moving_reference_there_is_no_impedance(spared):
    """No joint needs its inertia here."""
    arm = Yielding(17)
    arm.fails, arm.spared = "dynamics", spared
    assert arm.law() is None
    arm.fails = None
    assert arm.law() is not None


def test_any_damping_that_is_not_negative_is_the_one_that_was_given():
    arm = Yielding(18)
    d = np.array([0.0, 0.3, 0.9])
    arm.setting(damping=d)
    arm.put(inertia=50.0)
    np.testing.assert_allclose(arm.law(), arm.expected(d), rtol=1e-9)


def test_a_load_that_drives_a_joint_away_fades_with_the_settings_in_force_only():
    arm = Yielding(4)
    arm.rd[:] = 0.0
    arm.qd = 0.3 * np.sign(arm.z)
    arm.r = arm.q - 0.5 * np.sign(arm.z)
    arm.begin()
    arm.core.disturbance_time = 4.99
    arm.law(settings=arm.ffi.new("rd_settings *", arm.settings[0]))
    np.testing.assert_allclose(arm.get("disturbance"), arm.z)
    arm.law()
    np.testing.assert_allclose(arm.get("disturbance"), arm.z * np.exp(-0.1))


@pytest.mark.parametrize("constants", [(0.01, 0.004), (0.01, 0.0), (0.0, 0.004), (0.0, 0.0)])
def test_measured_states_are_filtered_unless_they_begin_anew(constants):
    arm = Yielding(5)
    arm.settings.smoothing = [*constants, 0.0]
    place, rate = arm.q.copy(), arm.qd.copy()
    modes = arm.calls.RD_JOINT_IMPEDANCE, arm.calls.RD_CARTESIAN_IMPEDANCE
    for elapsed, broken, mode in (
        (0.004, 1, 0), (0.004, 0, 0), (0.002, 0, 1), (0.0, 0, 0), (0.003, 0, 0), (-0.1, 0, 0),
        (0.003, 0, 0), (0.004, 0, None), (0.003, 0, 1),
    ):  # fmt: skip
        arm.settings.mode = arm.calls.RD_PD if mode is None else modes[mode]
        q, qd = arm.draw.normal(size=3), arm.draw.normal(size=3)
        arm.put(state__position=q, state__velocity=qd)
        arm.calls.rd_see_state(arm.core, elapsed, broken)
        begins = broken or mode is None or elapsed <= 0.0
        shares = [1.0 if begins or c == 0.0 else 1.0 - np.exp(-elapsed / c) for c in constants]
        place, rate = place + shares[0] * (q - place), rate + shares[1] * (qd - rate)
        seen = arm.core.seen
        np.testing.assert_allclose([seen.position[j] for j in range(3)], place)
        np.testing.assert_allclose([seen.velocity[j] for j in range(3)], rate)
    springs = arm.law() - arm.bare(place, rate)
    np.testing.assert_allclose(springs, (arm.expected(arm.d, place, rate) - arm.bare(place, rate)))


def test_without_a_filter_the_measured_state_is_used_to_the_last_bit():
    arm = Yielding(16)
    for constants, elapsed in (
        ([0.0, 0.01, 0.0], 0.004),
        ([0.01, 0.0, 0.0], 0.004),
        ([0.01, 0.01, 0.0], 0.0),
    ):
        arm.settings.smoothing = constants
        arm.put(smoothed__position=1e9, smoothed__velocity=-1e9)
        arm.calls.rd_see_state(arm.core, elapsed, 0)
        for k, (name, measured) in enumerate((("position", arm.q), ("velocity", arm.qd))):
            found = np.array([getattr(arm.core.seen, name)[j] for j in range(3)])
            assert (found == measured).all() == (constants[k] == 0.0 or elapsed == 0.0)


@pytest.mark.parametrize("constant", [0.0, 0.01])
def test_efforts_of_what_yields_change_as_fast_as_their_rates_and_filter_let_them(constant):
    arm = Yielding(6)
    core, most = arm.core, np.array([20.0, 30.0, 40.0]) * 0.004
    arm.settings.smoothing = [0.0, 0.0, constant]
    share = 1.0 if constant == 0.0 else 1.0 - np.exp(-0.4)
    sent = np.array([1.0, -2.0, 3.0])
    step = np.array([-0.3, 0.1, 0.5])

    def bounded(cut=(0.0, 0.0, 0.0)):
        arm.put(sent=sent, effort=sent + step, unlimited=sent + step + np.asarray(cut))
        arm.calls.rd_bound_rate(core)
        return arm.get("effort") - sent

    core.has_sent = 1
    expected = share * np.clip(step, -most, most)
    np.testing.assert_allclose(bounded(), expected)
    free = np.array([0.0, 1.0, 0.0])
    np.testing.assert_allclose(arm.get("unlimited"), np.where(free, sent + expected, sent + step))
    bounded((0.0, 0.2, 0.0))
    np.testing.assert_allclose(arm.get("unlimited"), sent + step + np.array([0.0, 0.2, 0.0]))
    for change in ("rates", "mode", "stops", "sent", "period", None):
        kept = arm.settings.effort_rates, arm.settings.mode
        if change == "rates":
            arm.settings.effort_rates = arm.ffi.NULL
        elif change == "mode":
            arm.settings.mode = arm.calls.RD_COMPUTED_TORQUE
        core.stopping.kind = change == "stops"
        core.has_sent = change != "sent"
        core.period = 0.0 if change == "period" else 0.004
        np.testing.assert_allclose(bounded(), expected if change is None else step, err_msg=change)
        arm.settings.effort_rates, arm.settings.mode = kept


def test_an_effort_within_its_rate_stays_as_it_is_to_the_last_bit():
    arm = Yielding(7)
    arm.core.has_sent = 1
    arm.put(sent=0.1, effort=0.1 + 0.03, unlimited=0.1 + 0.03)
    arm.calls.rd_bound_rate(arm.core)
    assert (arm.get("effort") == 0.1 + 0.03).all()
    arm.setting(effort_rates=np.full(3, 1e9))
    sent, effort = np.array([1000.7, -333.3, 77.7]), np.array([0.1, 0.7, -0.3])
    assert (sent + (effort - sent) != effort).all()
    arm.put(sent=sent, effort=effort, unlimited=effort)
    arm.calls.rd_bound_rate(arm.core)
    np.testing.assert_array_equal(arm.get("effort"), effort)


# Efforts beyond the limits


def limit(bearing, unlimited, limits, velocity=(0.0, 0.0, 0.0), by_joint=0.0, period=0.004, fails=None):
    """Efforts within the limits, and how far each joint is limited by itself."""
    arm = Yielding(8, "COMPUTED_TORQUE")
    arm.bends[:] = 0.0
    arm.weight = lambda q: np.asarray(bearing)
    arm.setting(limits=limits)
    arm.put(state__velocity=velocity, disturbance=0.0)
    arm.core.by_joint, arm.core.period, arm.fails = by_joint, period, fails
    made = arm.ffi.new("double[3]")
    arm.calls.rd_limit(arm.core, list(unlimited), made)
    return np.array(list(made)), arm.core.by_joint, bool(arm.core.cut)


def test_efforts_at_their_limits_are_not_beyond():
    found, by_joint, cut = limit([1.0] * 3, [10.0, -8.0, 5.0], [10.0, 8.0, 6.0], by_joint=0.7)
    assert found.tolist() == [10.0, -8.0, 5.0] and by_joint == 0.0 and not cut


def test_the_share_is_the_largest_within_all_limits():
    for limits, share in (([10.0, 10.0, 9.0], 0.5), ([10.0, 12.0, 6.0], 0.75)):
        found, by_joint, cut = limit([-12.0, 8.0, 3.0], [-8.0, 12.0, 7.0], limits)
        assert cut and by_joint == 0.0
        np.testing.assert_allclose(found, np.array([-12.0, 8.0, 3.0]) + share * 4.0)


def test_where_no_share_is_within_the_limits_each_joint_is_limited_by_itself():
    for limits in ([10.0, 9.9, 9.0], [10.0, 12.0, 2.0], [7.0, 12.0, 9.0]):
        found, by_joint, cut = limit([-12.0, 8.0, 3.0], [-8.0, 12.0, 3.0], limits, by_joint=0.3)
        blend = min(1.0, 0.3 + 0.4) if limits != [10.0, 12.0, 9.0] else 0.0
        assert cut and by_joint == pytest.approx(blend)
        scaled = np.clip([-12.0, 8.0, 3.0], -np.array(limits), limits)
        own = np.clip([-8.0, 12.0, 3.0], -np.array(limits), limits)
        np.testing.assert_allclose(found, scaled + blend * (own - scaled))
    found, by_joint, _ = limit([-12.0, 8.0, 3.0], [-8.0, 12.0, 3.0], [10.0, 9.9, 9.0], period=0.0)
    assert by_joint == 1.0 and found.tolist() == [-8.0, 9.9, 3.0]


def test_a_joint_without_a_step_at_its_limit_leaves_a_share_to_the_others():
    found, by_joint, _ = limit([-12.0, 8.0, 3.0], [-8.0, 12.0, 3.0], [11.0, 9.0, 3.0])
    assert by_joint == 0.0
    np.testing.assert_allclose(found, [-11.0, 9.0, 3.0])


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_braking_limits_each_joint_where_that_takes_more_energy(side):
    """The first joint is braked, the second one driven; the last one needs most of its limit."""
    bearing, limits = side * np.array([1.0, -2.0, 3.0]), np.array([10.0, 8.0, 6.0])
    velocity = side * np.array([-2.0, 0.5, -0.3])
    for far, alone in ((9.0, False), (14.0, True)):
        step = side * np.array([8.0, 3.0, far])
        unlimited = bearing + step
        share = 3.0 / far
        scaled = bearing + share * step
        own = np.clip(unlimited, -limits, limits)
        own[1] = scaled[1]
        found, by_joint, _ = limit(bearing, unlimited, limits, velocity)
        blend = 0.4 if alone else 0.0
        assert by_joint == pytest.approx(blend)
        np.testing.assert_allclose(found, scaled + blend * (own - scaled))
        found, by_joint, _ = limit(bearing, unlimited, limits, -velocity, by_joint=0.9)
        assert by_joint == pytest.approx(0.5), "it drives"
        own = np.clip(unlimited, -limits, limits)
        np.testing.assert_allclose(found, scaled + 0.5 * (own - scaled))


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("slower", [1.0, 0.01])
def test_a_slow_arm_is_limited_as_a_fast_one(side, slower):
    """Powers far below 1 W decide, too; a joint at rest or driven keeps its share while others brake."""
    bearing, limits = side * np.array([1.0, -2.0, 3.0]), np.array([10.0, 8.0, 6.0])
    step = side * np.array([8.0, 13.0, 14.0])
    scaled = bearing + 3.0 / 14.0 * step
    alone = np.clip(bearing + step, -limits, limits)
    for rates, which, blend in (
        ([-2.0, 0.1, -0.3], [True, False, True], 0.4),
        ([-2.0, 0.0, -0.3], [True, True, True], 0.4),
        ([0.2, 0.1, 0.3], [True, True, True], 0.0),
        ([-0.75, 0.0, 0.375], [True, True, True], 0.0),
    ):
        velocity = side * slower * np.array(rates)
        power = step @ velocity
        own = np.where(np.array(which) | (power >= 0.0), alone, scaled)
        taken = (scaled - own) @ velocity
        blend = 0.4 if power < 0.0 and taken > 0.0 else 0.0
        for before in (0.0, 0.8):
            found, by_joint, _ = limit(bearing, bearing + step, limits, velocity, by_joint=before)
            now = before + np.clip((1.0 if blend else 0.0) - before, -0.4, 0.4)
            assert by_joint == pytest.approx(now)
            np.testing.assert_allclose(found, scaled + now * (own - scaled), atol=1e-12)


def test_a_share_of_zero_is_one():
    found, by_joint, _ = limit([10.0, -2.0, 3.0], [12.0, 4.0, 4.0], [10.0, 8.0, 6.0])
    assert by_joint == 0.0 and found.tolist() == [10.0, -2.0, 3.0]


def test_braking_that_takes_no_more_energy_by_joints_keeps_the_share():
    """The joint that moves is the one that limits the share."""
    for far, rate in ((64.0, -1.0), (-64.0, 1.0)):
        bearing, unlimited = [np.sign(far), -2.0, 3.0], [np.sign(far) + far, 6.0, 4.0]
        found, by_joint, _ = limit(bearing, unlimited, [10.0, 8.0, 6.0], [rate, 0.0, 0.0])
        assert by_joint == 0.0
        np.testing.assert_allclose(found, [10.0 * np.sign(far), -2.0 + 8.0 * 9.0 / 64.0, 3.0 + 9.0 / 64.0])


def test_braking_with_three_tenths_of_a_step_keeps_the_share():
    found, by_joint, _ = limit([1.0, -2.0, 3.0], [9.0, 1.0, 13.0], [10.0, 8.0, 6.0], [-2.0, 0.5, -0.3])
    assert by_joint == 0.0
    np.testing.assert_allclose(found, [3.4, -1.1, 6.0])


def test_a_step_of_one_is_one_as_any_other():
    found, by_joint, _ = limit([0.5, 2.0, 3.0], [1.5, 3.0, 2.0], [1.25, 8.0, 6.0])
    assert by_joint == 0.0
    np.testing.assert_allclose(found, [1.25, 2.75, 2.25])


def test_without_a_model_each_joint_is_limited_by_itself():
    for bearing, fails in (([1.0] * 3, "dynamics"), ([np.inf, 1.0, 1.0], None), ([1.0, np.nan, 1.0], None)):
        found, by_joint, cut = limit(bearing, [12.0, -9.0, 5.0], [10.0, 8.0, 6.0], by_joint=0.2, fails=fails)
        assert cut and by_joint == 0.2 and found.tolist() == [10.0, -8.0, 5.0]
