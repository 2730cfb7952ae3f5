"""Outputs of the core, from made-up states: setpoints, limited efforts, fades, brakes, the way back."""

from __future__ import annotations

import numpy as np
import pytest
from arms import two_joint_chain
from inner_core import Inner

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.dynamics.compiled import compile_dynamics

SPEED = np.array([3.0, 2.0])


class Outputs:
    """Two joints whose state is made up; arrays of the core are set and read by their names."""

    def __init__(self, command="effort"):
        self.links = compile_dynamics(two_joint_chain(), friction=False)
        self.inner = Inner(ArmController(two_joint_chain(), self.links, ArmParameters()))
        self.core, self.calls, self.settings = self.inner.core, self.inner.calls, self.inner.settings
        self.settings.command = getattr(self.calls, f"RD_COMMAND_{command.upper()}")
        self.kept = []

    def given(self, values):
        array = np.array(values, dtype=float)
        self.kept.append(array)
        return self.inner.ffi.from_buffer("double[]", array)

    def put(self, place, **fields):
        for name, values in fields.items():
            for j in range(2):
                getattr(place, name)[j] = values[j]


@pytest.fixture
def outputs():
    return Outputs()


# Setpoints


@pytest.fixture
def drives():
    """Drives that take positions; the last setpoint was 4 ms ago, and so was the one before it."""
    made = Outputs(command="position")
    s, core = made.settings, made.core
    s.setpoint_speed, s.setpoint_deceleration, s.setpoint_gain = 0.2, 3.0, 5.0
    s.setpoint_range = made.given([-9.0, -9.0, 9.0, 9.0])
    core.phase, core.setpoints.known = made.calls.RD_TRACKING, 1
    core.setpoints.time, core.setpoints.period = 4.0, 0.004
    made.put(core.setpoints, position=(0.1, 0.2), velocity=(0.0, 0.0))
    return made


def advance(drives, place, rate, time=4.004):
    drives.put(drives.core.reference, position=place, velocity=rate)
    drives.calls.rd_advance_setpoints(drives.core, time)
    found = drives.core.setpoints
    return np.array([list(found.position[0:2]), list(found.velocity[0:2])])


def test_setpoints_on_their_reference_are_the_reference(drives):
    rate = np.array([0.5, -0.3])
    place = np.array([0.1, 0.2]) + 0.004 * rate
    found = advance(drives, place, rate)
    np.testing.assert_allclose(found, [place, rate])
    assert (drives.core.setpoints.time, drives.core.setpoints.stops) == (4.004, 0)
    assert drives.core.setpoints.period == pytest.approx(0.004)


def test_setpoints_away_from_their_reference_come_back_slowly_on_one_line(drives):
    rate, away = np.array([0.5, -0.3]), np.array([0.04, -0.01])
    place = np.array([0.1, 0.2]) + 0.004 * rate + away
    found = advance(drives, place, rate)
    step = 0.004 * rate + away * 0.004 * (0.2 + 3.0 * 0.004) / 0.04
    np.testing.assert_allclose(found, [np.array([0.1, 0.2]) + step, step / 0.004])


def test_no_setpoint_is_faster_than_a_joint_and_all_are_slowed_down_alike(drives):
    rate = np.array([3.6, 1.0])
    found = advance(drives, np.array([0.1, 0.2]) + 0.004 * rate, rate)
    np.testing.assert_allclose(found[1], rate / 1.2)
    np.testing.assert_allclose(found[0], np.array([0.1, 0.2]) + 0.004 * rate / 1.2)


def test_a_gap_counts_as_one_and_a_half_periods(drives):
    rate = np.array([0.5, -0.3])
    found = advance(drives, np.array([0.1, 0.2]) + 0.006 * rate, rate, 4.05)
    np.testing.assert_allclose(found, [np.array([0.1, 0.2]) + 0.006 * rate, rate])
    assert drives.core.setpoints.period == pytest.approx(0.05)
    found = advance(drives, (0.3, 0.4), rate, 4.05)
    assert not found[1].any(), "the same time twice"


def test_setpoints_stay_in_their_range_and_come_back_from_beyond(drives):
    drives.settings.setpoint_range = drives.given([-9.0, 0.199, 0.101, 9.0])
    rate = np.array([0.5, -0.5])
    found = advance(drives, np.array([0.1, 0.2]) + 0.004 * rate, rate)
    np.testing.assert_allclose(found[0], (0.101, 0.199))
    drives.settings.setpoint_range = drives.given([-9.0, 0.3, 0.05, 9.0])
    drives.put(drives.core.setpoints, position=(0.1, 0.2))
    drives.core.setpoints.time, drives.core.setpoints.period = 4.0, 0.004
    found = advance(drives, np.array([0.1, 0.2]) + 0.004 * rate, rate)
    np.testing.assert_allclose(found[0], (0.1, 0.2), err_msg="no farther beyond")


def test_the_first_setpoint_is_where_the_joints_are(drives):
    drives.core.setpoints.known = 0
    drives.put(drives.core.state, position=(0.7, -0.4))
    found = advance(drives, (0.1, 0.2), (0.5, 0.5))
    np.testing.assert_allclose(found, [(0.7, -0.4), (0.0, 0.0)])
    assert drives.core.setpoints.known and drives.core.setpoints.period == 0.0
    found = advance(drives, (0.71, -0.4), (0.0, 0.0), 4.1)
    step = 0.1 * (0.2 + 3.0 * 0.1)
    np.testing.assert_allclose(found[0], (0.7 + min(0.01, step), -0.4))


@pytest.mark.parametrize("away", [0.9, 1.1])
def test_after_a_stop_setpoints_begin_where_drives_that_are_elsewhere_are(drives, away):
    following = drives.settings.rules.following[1]
    drives.core.setpoints.stops = 1
    drives.put(drives.core.state, position=(0.1, 0.2 + away * following))
    found = advance(drives, (0.1, 0.2), (0.0, 0.0))
    np.testing.assert_allclose(found[0], (0.1, 0.2 + (away * following if away > 1.0 else 0.0)))


def test_velocities_are_corrected_by_the_position_and_stay_within_the_limits():
    made = Outputs(command="velocity")
    s, core = made.settings, made.core
    s.setpoint_speed, s.setpoint_deceleration, s.setpoint_gain = 0.2, 3.0, 5.0
    core.phase, core.setpoints.known, core.setpoints.time, core.setpoints.period = 2, 1, 4.0, 0.004
    made.put(core.setpoints, position=(0.1, 0.2), velocity=(0.0, 0.0))
    made.put(core.state, position=(0.07, 0.3))
    rate = np.array([0.5, -0.3])
    found = advance(made, np.array([0.1, 0.2]) + 0.004 * rate, rate)
    np.testing.assert_allclose(found[1], np.add(rate, (5.0 * (0.1 + 0.002 - 0.07), -0.2)))
    made.core.setpoints.time = 4.0
    made.put(core.setpoints, position=(0.1, 0.2))
    rate = np.array([2.9, -1.5])
    made.put(core.state, position=(-0.5, 0.2 - 0.006))
    found = advance(made, np.array([0.1, 0.2]) + 0.004 * rate, rate)
    np.testing.assert_allclose(found[1], np.array([3.1, -1.5]) * 3.0 / 3.1)


def test_setpoints_rest_together_by_the_deceleration_of_the_fastest(outputs):
    position, velocity = outputs.given([0.3, -0.2]), outputs.given([-1.2, 0.4])
    rest = outputs.calls.rd_rest_setpoints
    rest(2, 0.1, 3.0, outputs.inner.ffi.NULL, position, velocity)
    left = 1.0 - 0.1 / 0.4
    np.testing.assert_allclose(list(velocity), [-1.2 * left, 0.4 * left])
    way = 0.5 * (1.0 + left) * 0.1
    np.testing.assert_allclose(list(position), [0.3 - 1.2 * way, -0.2 + 0.4 * way])
    rest(2, -1.0, 3.0, outputs.inner.ffi.NULL, position, velocity)
    np.testing.assert_allclose(list(velocity), [-1.2 * left, 0.4 * left])
    rest(2, 9.0, 3.0, outputs.given([0.15, -9.0, 9.0, 9.0]), position, velocity)
    assert list(velocity) == [0.0, 0.0]
    np.testing.assert_allclose(list(position), [0.15, -0.2 + 0.4 * 0.2])
    velocity[0] = 1.0
    rest(2, 0.5, 0.0, outputs.inner.ffi.NULL, position, velocity)
    assert list(velocity) == [0.0, 0.0] and position[0] == pytest.approx(0.15)


@pytest.mark.parametrize(("command", "age", "stands"), [
    ("position", 0.009, False), ("position", 0.011, True), ("velocity", 0.011, False)])  # fmt: skip
def test_a_stop_of_setpoints_begins_where_the_drives_are(command, age, stands):
    made = Outputs(command=command)
    core, s = made.core, made.settings
    s.setpoint_deceleration, s.setpoint_range = 2.0, made.inner.ffi.NULL
    core.setpoints.known, core.setpoints.period = 1, 0.004
    made.put(core.setpoints, position=(0.1, 0.2), velocity=(0.5, -0.3))
    made.calls.rd_begin_setpoint_stop(core, age)
    begins = np.array([0.1, 0.2]) + (0.0 if stands else age) * np.array([0.5, -0.3])
    np.testing.assert_allclose(list(core.setpoints.position[0:2]), begins)
    assert core.setpoints.velocity[0] == (0.0 if stands else 0.5)
    made.calls.rd_begin_setpoint_stop(core, 1.0)
    np.testing.assert_allclose(list(core.setpoints.position[0:2]), begins)
    if not stands:
        for since, elapsed in ((7.0, 0.004), (7.05, 0.05)):
            before = core.setpoints.velocity[0]
            made.calls.rd_stop_setpoints(core, since)
            assert core.setpoints.velocity[0] == pytest.approx(before - 2.0 * elapsed)
        s.safe_fade_time = 0.5
        assert made.calls.rd_safe_output_goes_on(core, 0.6)
        made.put(core.setpoints, velocity=(0.0, 0.0))
        assert made.calls.rd_safe_output_goes_on(core, 0.4)
        assert not made.calls.rd_safe_output_goes_on(core, 0.6)


# Efforts


def share_within(bearing, step, limits):
    """Largest of many shares from 0 to 1 at which the efforts are within the limits; None: there is none."""
    shares = np.linspace(0.0, 1.0, 100001)
    fits = (np.abs(bearing[:, None] + step[:, None] * shares) <= limits[:, None] + 1e-12).all(axis=0)
    return shares[fits][-1] if fits.any() else None


@pytest.mark.parametrize("seed", range(12))
def test_efforts_beyond_the_limits_keep_their_direction_from_what_bears_the_arm(seed):
    """Or each joint is limited by itself, where that brakes more; it changes in a hundredth of a second."""
    made, draw = Outputs(), np.random.default_rng(seed)
    core = made.core
    made.settings.limits = made.given([20.0, 9.0])
    limits = np.array([20.0, 9.0])
    position, velocity = draw.uniform(-0.4, 0.4, 2), draw.normal(size=2)
    made.put(core.state, position=position, velocity=velocity)
    made.put(core, disturbance=(0.0, 0.0))
    core.period = 0.002
    bearing = made.links.inverse_dynamics(position, velocity, np.zeros(2))
    unlimited = bearing + draw.normal(size=2) * 40.0
    step = unlimited - bearing
    effort = made.inner.ffi.new("double[2]")
    for by_joint in (0.0, 0.37, 1.0):
        core.by_joint = by_joint
        made.calls.rd_limit(core, made.given(unlimited), effort)
        beyond = (np.abs(unlimited) > limits).any()
        assert bool(core.cut) == beyond
        if not beyond:
            np.testing.assert_allclose(list(effort), unlimited)
            assert core.by_joint == 0.0
            continue
        found = share_within(bearing, step, limits)
        scaled = np.clip(bearing + (found or 0.0) * step, -limits, limits)
        own = np.clip(unlimited, -limits, limits)
        brakes = step @ velocity < 0.0
        own = np.where(brakes & (step * velocity > 0.0), scaled, own)
        alone = found is None or (brakes and found < 0.3 and (scaled - own) @ velocity > 0.0)
        blend = by_joint + np.clip(float(alone) - by_joint, -0.2, 0.2)
        assert core.by_joint == pytest.approx(blend)
        np.testing.assert_allclose(list(effort), scaled + blend * (own - scaled), atol=2e-3)


# Fades and brakes


def test_a_fade_goes_from_the_effort_before_to_that_of_the_law(outputs):
    core, calls = outputs.core, outputs.calls
    outputs.settings.model_change_time = 0.4
    before, law = outputs.given([5.0, -3.0]), outputs.given([2.0, 1.0])
    core.fades = 0
    calls.rd_begin_fading(core, 7.0, before, law)

    def faded(time):
        effort = outputs.given([2.0, 1.0])
        calls.rd_add_fading(core, time, effort)
        return list(effort)

    np.testing.assert_allclose(faded(7.0), [5.0, -3.0])
    np.testing.assert_allclose(faded(7.1), [2.0 + 0.75 * 3.0, 1.0 - 0.75 * 4.0])
    calls.rd_begin_fading(core, 7.2, outputs.given([6.0, 6.0]), law)
    np.testing.assert_allclose(faded(7.2), [6.0 + 1.5, 6.0 - 2.0], err_msg="what was left goes on")
    calls.rd_end_fading_soon(core, 7.3)
    left = 0.75 * np.array([5.5, 3.0])
    np.testing.assert_allclose(faded(7.3), [2.0 + left[0], 1.0 + left[1]])
    np.testing.assert_allclose(faded(7.325), [2.0 + 0.5 * left[0], 1.0 + 0.5 * left[1]])
    calls.rd_end_fading_soon(core, 7.32)
    np.testing.assert_allclose(faded(7.325), [2.0 + 0.5 * left[0], 1.0 + 0.5 * left[1]])
    assert faded(7.351) == [2.0, 1.0] and not core.fades


def test_a_fade_in_a_stop_takes_a_twentieth_of_a_second(outputs):
    core = outputs.core
    outputs.settings.model_change_time, core.fades = 0.4, 0
    core.stopping.kind = outputs.calls.RD_STOP_HOLD
    outputs.calls.rd_begin_fading(core, 7.0, outputs.given([5.0, -3.0]), outputs.given([2.0, 1.0]))
    assert core.fade_duration == 0.05


@pytest.mark.parametrize(("since", "duration", "share"), [
    (0.0, 0.2, 1.0), (0.05, 0.2, 0.75), (0.2, 0.2, 0.0), (0.3, 0.2, 0.0), (-0.1, 0.2, 1.5), (0.0, 0.0, 0.0),
    (-0.1, 0.0, 0.0),
])  # fmt: skip
def test_a_ramp_falls_evenly_from_one(outputs, since, duration, share):
    assert outputs.calls.rd_ramp_down(since, duration) == pytest.approx(share)


def test_a_fade_is_of_these_joints_alone_and_nothing_where_there_is_none(outputs):
    core, calls = outputs.core, outputs.calls
    outputs.settings.model_change_time = 0.4
    core.inertia[0] = core.fades = 0
    before, law = outputs.given([5.0, -3.0, 77.0]), outputs.given([2.0, 1.0, 66.0])
    calls.rd_begin_fading(core, 7.0, before, law)
    core.inertia[0] = 9.0
    effort = outputs.given([2.0, 1.0, 55.0])
    calls.rd_add_fading(core, 7.1, effort)
    calls.rd_end_fading_soon(core, 7.1)
    assert before[2] == 77.0 and effort[2] == 55.0 and core.inertia[0] == 9.0
    core.fades, core.fade_began, core.fade_duration = 0, 7.0, 9.0
    calls.rd_end_fading_soon(core, 7.2)
    assert (core.fade_began, core.fade_duration) == (7.0, 9.0)


def test_brakes_that_hold_at_once_leave_nothing_from_then_on(outputs):
    core, s = outputs.core, outputs.settings
    s.brakes, s.brake_from, s.brake_fade = outputs.calls.RD_FALLING, 5.0, 0.0
    assert [outputs.calls.rd_brake_share(core, time) for time in (4.999, 5.0)] == [1.0, 0.0]


def test_efforts_fall_and_rise_beside_brakes(outputs):
    core, s, calls = outputs.core, outputs.settings, outputs.calls
    s.brake_from, s.brake_fade = 5.0, 0.4
    for brakes, time, set_back, share in (
        (calls.RD_ALL, 5.1, 0.0, 1.0),
        (calls.RD_FALLING, 4.9, 0.0, 1.0),
        (calls.RD_FALLING, 5.1, 0.0, 0.75),
        (calls.RD_FALLING, 4.1, 1.0, 0.75),
        (calls.RD_FALLING, 5.5, 0.0, 0.0),
        (calls.RD_RISING, 4.9, 0.0, 0.0),
        (calls.RD_RISING, 5.1, 0.0, 0.25),
        (calls.RD_RISING, 5.5, 0.0, 1.0),
    ):
        s.brakes, core.set_back = brakes, set_back
        assert calls.rd_brake_share(core, time) == pytest.approx(share)
        outputs.put(core, effort=(4.0, -8.0), unlimited=(6.0, -9.0))
        calls.rd_brake(core, time)
        assert bool(core.braked) == (share < 1.0)
        np.testing.assert_allclose(list(core.effort[0:2]), [4.0 * share, -8.0 * share])
        np.testing.assert_allclose(list(core.unlimited[0:2]), [6.0 * share, -9.0 * share])


# The way back


def test_the_way_back_from_a_contact_keeps_speeds_accelerations_and_limits():
    made = Outputs()
    core, s, calls = made.core, made.settings, made.calls
    retreat = core.retreat
    s.position_limits, s.hold_deceleration = made.given([-1.0, -0.5, 2.0, 0.5]), made.given([1.5, 4.0])

    def begun(way, hold=(0.2, 0.1)):
        made.put(core, hold=hold)
        made.put(retreat, way=way)
        core.trip.latched, core.guides, core.time = 1, 0, 6.0
        core.current.plan, core.waits, core.stopping.kind = made.inner.ffi.NULL, 0, 0
        retreat.begins, retreat.active = 1, 0
        calls.rd_go_on_with_retreat(core)
        assert retreat.active and not retreat.begins
        assert core.current.plan == made.inner.ffi.addressof(retreat, "plan")
        coefficients = np.array([retreat.coefficients[k] for k in range(12)]).reshape(6, 2)
        return retreat.times[1] - retreat.times[0], coefficients

    for way, hold in (((0.3, -0.05), (0.2, 0.1)), ((0.02, 0.5), (0.2, -0.3)), ((0.001, 0.0), (0.2, 0.1))):
        duration, coefficients = begun(way, hold)
        path = [np.polynomial.Polynomial(coefficients[:, j]) for j in range(2)]
        s_ = np.linspace(0.0, 1.0, 2001)
        speed = np.array([np.abs(p.deriv()(s_)).max() / duration for p in path]) / (0.25 * SPEED)
        acceleration = np.array([np.abs(p.deriv(2)(s_)).max() / duration**2 for p in path]) / (1.5, 4.0)
        np.testing.assert_allclose([p(0.0) for p in path], hold)
        np.testing.assert_allclose([p(1.0) for p in path], np.add(hold, way))
        tight = max(speed.max(), acceleration.max())
        assert tight == pytest.approx(1.0, abs=1e-4) if max(way) > 0.01 else duration == pytest.approx(0.2)
    _, coefficients = begun((3.0, -0.9))
    np.testing.assert_allclose(coefficients.sum(axis=0), (2.0, -0.5))
    _, coefficients = begun((0.3, -0.1), (2.1, -0.6))
    np.testing.assert_allclose(coefficients.sum(axis=0), (2.1, -0.6), err_msg="no farther beyond a limit")
    core.guides, retreat.begins = 1, 1
    calls.rd_go_on_with_retreat(core)
    assert not retreat.begins


def test_the_way_back_ends_where_another_plan_is_followed():
    made = Outputs()
    core = made.core
    core.retreat.active, core.current.plan, core.trip.latched = 1, made.inner.ffi.NULL, 1
    made.calls.rd_go_on_with_retreat(core)
    assert not core.retreat.active
