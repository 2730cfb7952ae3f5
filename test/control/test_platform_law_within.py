"""Law and estimated disturbance of a platform: a made-up machine, in numpy."""

from __future__ import annotations

import numpy as np
import pytest
from platform_body import (
    GRAVITY,
    PLACE,
    POSE,
    RATE,
    SECOND,
    TWIST,
    WRENCH,
    PlatformBody,
    direction,
    error_of,
    motion_of,
)
from scipy.spatial.transform import Rotation

NOISE = 0.01
"""Of a reference's velocity; see internal.h."""


@pytest.fixture
def made():
    return PlatformBody()


def soften(made, soft):
    for i in range(6):
        made.core.softness[i] = soft


def asked(made, wanted, rate, acceleration, soft=1.0, limits=1e3, z=0.0):
    """Acceleration that the law asks for."""
    error = error_of(wanted, made.pose)
    kv, stiff = soft * made.kv, max(1.0, soft)
    soft_kp = soft**2 * made.kp
    kp = soft_kp if soft <= 1.0 else np.minimum(soft_kp, np.maximum(made.kp, 0.25 * kv**2))
    # The pull asks each leg for no more speed than its limit, in whichever direction.
    full = kp if soft > 1.0 else made.kp
    with np.errstate(divide="ignore", invalid="ignore"):
        pull = np.where(made.kv > 0.0, full / (stiff * made.kv) * error, 0.0)
        led, more = made.j @ rate, made.j @ pull
        bounded = np.clip(more, np.minimum(0.0, -limits - led), np.maximum(0.0, limits - led))
        share = min(1.0, np.nanmin(bounded / more))
    return acceleration + kv * (rate - made.twist) + share * kp * error + z, share


def friction(made, given, reference, overcome, noise=NOISE):
    """Forces that the law adds to those whose friction is that of a twist."""
    more, led, known = made.j @ (reference - given), made.j @ reference, made.j @ given
    heading = np.sign(led) * np.maximum(np.abs(led) - noise, 0.0)
    dry = made.coulomb * (overcome * direction(heading) - direction(known))
    return (made.viscous + made.turning) * more + dry - (1.0 - overcome) * made.viscous * led


@pytest.mark.parametrize("turning", [False, True])
@pytest.mark.parametrize("half", [0.0, 0.03])
@pytest.mark.parametrize("soft", [0.7, 1.0, 1.3])
def test_the_forces_are_those_of_the_acceleration_of_the_error(turning, half, soft):
    made = PlatformBody(3, turning)
    z = np.array([0.4, -0.3, 0.2, -0.5, 0.6, 0.1])
    gains = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    made.model.disturbance_gain = gains.tolist()
    made.put(POSE, TWIST, wrench=WRENCH, disturbance=z)
    made.platform.time = made.platform.disturbance_time = 3.0
    overcome = np.array([0.3, 0.9, 0.5, 1.0, 0.0, 0.7])
    for i in range(6):
        made.core.overcome[i] = overcome[i]
    soften(made, soft)
    made.refer(PLACE, RATE, SECOND)
    ahead_place = PLACE + half * RATE
    ahead = made.motion(ahead_place, 1.1 * RATE, 0.9 * SECOND) if half else None
    other = made.new_settings(7)
    other.law = 9
    wanted, rate, a = motion_of(PLACE, RATE, SECOND)
    lead, second = motion_of(ahead_place, 1.1 * RATE, 0.9 * SECOND)[1:] if half else (rate, a)
    found = made.effort(ahead, half, of=other)
    motion = next(one for one in made.motions if not (one[13:19] == 0.0).all())
    expected, share = asked(made, wanted, rate, second, soft, z=z)
    assert share == 1.0
    np.testing.assert_allclose(motion[13:19], expected, rtol=1e-9)
    step = half * TWIST + 0.5 * half**2 * expected
    turned = (Rotation.from_rotvec(step[3:]) * Rotation.from_quat(POSE[3:])).as_quat()
    np.testing.assert_allclose(motion[:3], POSE[:3] + step[:3], rtol=1e-12)
    np.testing.assert_allclose(motion[3:7], turned, rtol=1e-9)
    np.testing.assert_allclose(motion[7:13], TWIST + half * expected, rtol=1e-9)
    np.testing.assert_allclose(motion[19:], WRENCH)
    rubbed = friction(made, motion[7:13], lead, overcome)
    if turning:  # the model says it at the pose ahead, of each leg's whole friction
        at = made.jacobian(motion[:7]) @ (lead - motion[7:13])
        there = (made.viscous + made.turning) * at + made.coulomb * direction(at)
        near = made.j @ (lead - motion[7:13])
        rubbed += there - (made.viscous + made.turning) * near - made.coulomb * direction(near)
    np.testing.assert_allclose(found, made.forces(motion) + rubbed, rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_the_law_has_no_forces_where_the_model_has_none(fails_at):
    made = PlatformBody(1, True)
    made.put(POSE, TWIST)
    made.refer(PLACE, RATE, SECOND)
    assert made.effort() is not None
    assert len(made.motions) == 3
    made.motions.clear()
    made.fails_at = fails_at
    assert made.effort() is None


def test_an_exact_plan_has_no_noise(made):
    slow = np.array([0.004, -0.003, 0.002, 0.001, -0.002, 0.003])
    made.put(POSE)
    made.refer(PLACE, slow, 0.0 * SECOND)
    rate = motion_of(PLACE, slow, 0.0 * slow)[1]
    plan = made.ffi.new("rd_plan *")
    for exact, noise in ((0, NOISE), (1, 0.0)):
        made.core.current.plan, plan.exact = plan, exact
        found, given = made.effort(), made.motions[-1]
        expected = made.forces(given) + friction(made, 0.0 * rate, rate, 1.0, noise)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize(("sign", "limit"), [(1.0, 0.9), (-1.0, 0.9), (-1.0, 0.35), (1.0, 0.12), (1.0, 0.5)])
@pytest.mark.parametrize("soft", [0.8, 1.5])
def test_the_error_asks_no_leg_for_more_speed_than_there_is(made, sign, limit, soft):
    limits = limit * np.array([1.0, 1.2, 0.9, 1.1, 1.3, 0.8])
    made.settings.velocity_limits = made.array(limits, 0.0)
    made.put(POSE, TWIST)
    place = PLACE + np.array([0.2, -0.1, 0.15, 0.2, 0.1, -0.3])
    soften(made, soft)
    made.refer(place, sign * RATE, SECOND)
    wanted, rate, second = motion_of(place, sign * RATE, SECOND)
    made.effort()
    expected, share = asked(made, wanted, rate, second, soft, limits)
    assert share < 1.0
    np.testing.assert_allclose(made.motions[-1][13:19], expected, rtol=1e-9)


def test_a_coordinate_without_damping_asks_for_no_speed(made):
    made.kv = np.array([0.0, 14.0, 19.0, 0.6, 15.0, 13.0])
    limits = np.full(6, 0.8)
    made.settings.kv, made.settings.velocity_limits = made.array(made.kv), made.array(limits, 0.0)
    made.put(POSE, 0.0 * TWIST)
    place = PLACE + np.array([0.9, 0.0, 0.1, 0.0, 0.0, 0.0])
    made.refer(place, 0.0 * RATE, SECOND)
    wanted, rate, second = motion_of(place, 0.0 * RATE, SECOND)
    made.effort()
    expected, share = asked(made, wanted, rate, second, 1.0, limits)
    assert 0.0 < share < 1.0
    np.testing.assert_allclose(made.motions[-1][13:19], expected, rtol=1e-9)


def test_friction_of_a_leg_that_is_driven_ahead_is_doubted_once_a_cycle(made):
    limits = np.array([2.0, 3.0, 2.5, 1.5, 4.0, 3.5])
    made.settings.velocity_limits = made.array(limits, 0.0)
    made.core.period = 0.001
    made.put(POSE, TWIST)
    wanted = made.j @ motion_of(PLACE, RATE, SECOND)[1]
    leads = np.array([0.4, -0.3, 0.06, 0.02, 0.1, -0.2])
    for i in range(6):
        made.core.overcome[i] = 0.5
        made.core.state.velocity[i] = wanted[i] + leads[i] * limits[i] * np.sign(wanted[i])
    made.refer(PLACE, RATE, SECOND)
    made.effort(of=made.new_settings(8))
    assert [made.core.overcome[i] for i in range(6)] == [0.5] * 6
    made.effort()
    lost = 0.5 * np.maximum(0.5, 1.0 - 2000.0 * 0.001 * (leads - 0.05))
    expected = np.where(leads > 0.05, lost, np.where(leads < 0.0, 0.501, 0.5))
    np.testing.assert_allclose([made.core.overcome[i] for i in range(6)], expected)


# The disturbance


@pytest.mark.parametrize("gain", [0.7, 0.0])
@pytest.mark.parametrize(("linear", "angular"), [(2.0, 0.3), (0.4, 6.0), (0.4, 0.3), (9.0, 9.0)])
def test_an_estimate_is_shortened_to_its_bounds_and_dropped_without_an_observer(made, gain, linear, angular):
    z = np.concatenate(
        [linear * np.array([2.0, -3.0, 6.0]) / 7.0, angular * np.array([-1.0, 4.0, 8.0]) / 9.0]
    )
    kept = [5.0, -6.0, 7.0, 3.0, 2.0, 1.0]
    made.model.disturbance_bounds, made.model.disturbance_gain = [1.5, 0.8], [gain, 1.0, 1.0, 1.0, 1.0, 1.0]
    made.put(POSE, disturbance=z, undisturbed=kept)
    made.calls.rd_platform_keep_disturbance(made.core)
    shares = np.repeat([min(1.0, 1.5 / linear), min(1.0, 0.8 / angular)], 3)
    np.testing.assert_allclose(made.disturbance, z * shares if gain else 0.0 * z, rtol=1e-12)
    np.testing.assert_array_equal(made.undisturbed, kept)
    made.calls.rd_platform_restore_disturbance(made.core)
    np.testing.assert_array_equal([made.disturbance, made.undisturbed], [kept, kept])
    assert made.platform.disturbance_time == -np.inf


GAIN = np.array([40.0, 30.0, 50.0, 20.0, 60.0, 35.0])


class Estimating(PlatformBody):
    """A platform whose reference rests beside it, with thresholds of the pose error."""

    def __init__(self, error=(0.02, -0.03, 0.06, 0.0, 0.0, 0.0), pose=(0.2, 0.4)):
        super().__init__()
        self.rules = self.ffi.new("rd_rules *")
        self.rules.pose, self.settings.rules = list(pose), self.rules
        self.model.disturbance_gain, self.error = GAIN.tolist(), np.array(error)
        turn = Rotation.from_rotvec(self.error[3:]).inv()
        home = np.concatenate([[0.02, -0.03, 1.2] - self.error[:3], turn.as_quat()])
        self.put(home)
        self.refer([0.02, -0.03, 1.2, 0.0, 0.0, 0.0], np.zeros(6), np.zeros(6))
        self.platform.disturbance_time = 0.0

    def after(self, elapsed):
        """The estimate after a state so much later; also what the law has asked for beside its feedback."""
        self.platform.time = self.platform.disturbance_time + elapsed
        self.motions.clear()
        assert self.effort() is not None
        assert self.platform.disturbance_time == self.platform.time
        return self.disturbance


SMALL_ERROR = (0.004, -0.006, 0.012, 0.02, 0.01, -0.02)
UNEQUAL = (0.02, -0.03, 0.06, 0.06, -0.09, 0.02)


@pytest.mark.parametrize("error", [SMALL_ERROR, UNEQUAL])
@pytest.mark.parametrize("soft", [0.7, 1.4])
def test_an_estimate_grows_with_the_error_and_is_asked_for(error, soft):
    made = Estimating(error)
    soften(made, soft)
    rate = min(1.0, soft) ** 3 * GAIN * made.error
    np.testing.assert_allclose(made.after(0.02), 0.02 * rate, rtol=1e-9)
    before = made.motions[0][13:19].copy()
    np.testing.assert_allclose(made.after(0.03), 0.05 * rate, rtol=1e-9)
    np.testing.assert_allclose(made.motions[0][13:19] - before, 0.03 * rate, rtol=1e-7)
    made.model.disturbance_bounds = (0.5 * np.linalg.norm(made.disturbance.reshape(2, 3), axis=1)).tolist()
    made.after(0.01)
    np.testing.assert_allclose(made.disturbance, 0.025 * rate, rtol=1e-9)


@pytest.mark.parametrize("elapsed", [-0.01, 0.0, 0.051, 1.5])
def test_nothing_is_integrated_over_a_gap_nor_twice(elapsed):
    made = Estimating()
    assert not made.after(elapsed).any()
    assert made.after(0.049).any()


@pytest.mark.parametrize("name", ["cut", "braked"])
def test_nothing_is_integrated_while_limits_or_brakes_take_forces(name):
    made = Estimating()
    setattr(made.core, name, 1)
    assert not made.after(0.01).any()


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize(
    ("share", "counts", "good"),
    [(0.2, 1, 1), (0.24, 1, 1), (0.26, 1, 0), (0.49, 1, 0), (0.51, 0, 0), (1.3, 0, 0)],
)
def test_an_error_near_the_one_that_trips_is_of_a_blocked_leg(part, share, counts, good):
    """The estimate is good while the error is small; then it is kept."""
    error = np.zeros(6)
    error[3 * part : 3 * part + 3] = share * (0.2, 0.4)[part] * np.array([2.0, -3.0, 6.0]) / 7.0
    made = Estimating(error)
    made.put(made.pose, disturbance=0.01 * np.sign(error), undisturbed=[9.0] * 6)
    found = made.after(0.02)
    assert bool(np.abs(found - 0.01 * np.sign(error)).max() > 1e-9) == bool(counts)
    np.testing.assert_array_equal(made.undisturbed, 0.01 * np.sign(error) if good else [9.0] * 6)


@pytest.mark.parametrize("pose", [None, (np.inf, np.inf), (0.0, 0.0)])
def test_without_a_threshold_every_error_is_small(pose):
    made = Estimating((0.2, -0.3, 0.6, 0.1, -0.2, 0.2), (1.0, 1.0) if pose is None else pose)
    if pose is None:
        made.settings.rules = made.ffi.NULL
    np.testing.assert_allclose(made.after(0.01), 0.01 * GAIN * made.error, rtol=1e-9)


@pytest.mark.parametrize("left", [(0.06, 0.2), (0.08, 0.1), (0.06, 0.1)])
def test_what_is_left_is_left_of_each_part(left):
    """The error is one of 0.07 m and 0.11 rad."""
    made = Estimating(UNEQUAL)
    made.model.disturbance_left = list(left)
    moves = np.repeat(np.array([0.07, 0.11]) > left, 3)
    grown = np.where(moves, 0.01 * GAIN * made.error, 0.0)
    np.testing.assert_allclose(made.after(0.01), grown, rtol=1e-9)


def test_an_estimate_that_drives_the_platform_away_fades(made):
    """Only where it is against the error, and moves the platform; also after forces that were cut."""
    made = Estimating((0.0, -0.03, 0.06, 0.06, -0.05, 0.02))
    z = np.array([-0.3, 0.4, -0.5, 0.6, 0.7, -0.8])
    twist = np.array([-0.1, 0.0, -0.3, 0.1, 0.2, 0.1])
    kept = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    made.put(made.pose, twist, disturbance=z, undisturbed=kept)
    made.core.cut = 1
    for elapsed in (0.0, -0.02):
        np.testing.assert_array_equal(made.after(elapsed), z)
        np.testing.assert_array_equal(made.undisturbed, kept)
    fades = np.array([False, False, True, False, True, False])
    np.testing.assert_allclose(made.after(0.02), np.where(fades, z * np.exp(-0.2), z), rtol=1e-12)
    np.testing.assert_allclose(made.undisturbed, np.where(fades, z * np.exp(-0.2), kept), rtol=1e-12)
    made.rules.pose = [0.4, 0.8]  # the error is small now
    np.testing.assert_allclose(made.after(0.02), np.where(fades, z * np.exp(-0.2), z), rtol=1e-12)
    np.testing.assert_array_equal(made.undisturbed, made.disturbance)


@pytest.mark.parametrize(("before", "now"), [(1.0, 0.6), (0.5, 0.9), (1.4, 1.0)])
def test_another_softness_leaves_the_pull_of_the_error(before, now):
    made = Estimating((0.2, -0.3, 0.1, 0.06, -0.05, 0.02))
    z = np.array([0.3, -0.2, 0.4, 0.1, 0.2, -0.1])
    made.put(made.pose, disturbance=z)
    limits = np.full(6, 0.9)
    made.settings.velocity_limits = made.array(limits, 0.0)
    zero, wanted = np.zeros(6), motion_of(np.array([0.02, -0.03, 1.2, 0, 0, 0]), np.zeros(6), np.zeros(6))[0]
    had, has = (asked(made, wanted, zero, zero, soft, limits)[0] for soft in (before, now))
    made.calls.rd_platform_carry_pull(made.core, before, now)
    np.testing.assert_allclose(made.disturbance, z + had - has, rtol=1e-9)
    np.testing.assert_array_equal(made.undisturbed, made.disturbance)
    assert made.platform.disturbance_time == 0.0
    made.model.disturbance_bounds = [0.1, 1e3]
    made.calls.rd_platform_carry_pull(made.core, now, now)
    assert np.linalg.norm(made.disturbance[:3]) == pytest.approx(0.1)
    made.model.disturbance_gain = [0.0] * 6
    kept = made.disturbance
    made.calls.rd_platform_carry_pull(made.core, before, now)
    np.testing.assert_allclose(made.disturbance, kept, rtol=1e-12)


# Another model


class Replaced(PlatformBody):
    """A platform with an estimate whose model is about to be replaced by one with another mass."""

    def __init__(self, mass):
        super().__init__()
        self.z = np.array([0.3, -0.4, -0.9, 0.2, -0.1, 0.15])
        self.put(POSE, TWIST, disturbance=self.z, undisturbed=[8.0] * 6, wrench=WRENCH)
        self.core.settings = self.new_settings(2, mass)

    def keep(self):
        return self.calls.rd_platform_keep_load(self.core, self.settings)


@pytest.mark.parametrize("mass", [43.0, 38.5, 40.0])
def test_a_new_model_carries_what_the_estimate_has_borne(mass):
    made = Replaced(mass)
    old, new = (made.inertia_matrix(POSE, one) for one in (40.0, mass))
    lift = np.concatenate([-GRAVITY, np.zeros(3)])
    left = np.linalg.solve(new, old @ (made.z + lift) - new @ lift)
    expected = np.clip(left, np.minimum(0.0, made.z), np.maximum(0.0, made.z))
    assert made.keep() == 1
    np.testing.assert_allclose(made.disturbance, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(made.undisturbed, made.disturbance)


def test_a_model_that_stays_or_an_estimate_of_zero_changes_nothing():
    made = Replaced(43.0)
    made.core.settings = made.settings
    assert made.keep() == 0
    np.testing.assert_array_equal(made.disturbance, made.z)
    made = Replaced(43.0)
    made.put(POSE, disturbance=np.zeros(6), undisturbed=[8.0] * 6)
    assert made.keep() == 0
    assert not made.disturbance.any() and not made.undisturbed.any()


@pytest.mark.parametrize("fails_at", [*range(1, 9), "phase", "brakes", "inertia"])
def test_an_estimate_that_no_model_takes_over_is_dropped(fails_at):
    made = Replaced(-60.0 if fails_at == "inertia" else 43.0)
    made.put(POSE, disturbance=[0.3, -0.2, 0.4, 0.1, 0.2, 0.0], undisturbed=[8.0] * 6)
    made.fails_at = fails_at
    if fails_at == "phase":
        made.core.phase = made.calls.RD_STALE
    made.core.braked = fails_at == "brakes"
    assert made.keep() == 1
    assert not made.disturbance.any() and not made.undisturbed.any()
