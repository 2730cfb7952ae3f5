"""Oscillations from within: the numbers that the rule keeps of made-up velocity errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_up_arm import MadeUpArm

LACKS = 0.25
"""Share of the reference's change that a robot a fifth lighter lacks: 0.2 / 0.8."""
KP, KV, LIMITS = np.array([100.0, 60.0, 150.0]), np.array([20.0, 13.0, 31.0]), np.array([2.0, 3.0, np.inf])
SOFT = np.array([0.9, 1.0, 0.7])
FIELDS = [
    "turned",
    "speed",
    "pull",
    "peak",
    "last",
    "work",
    "spent",
    "led",
    "step",
    "count",
    "states",
    "swells",
]
FIELDS += ["first", "grew", "square", "weight", "noise", "sign"]


class Described:
    """The rule's verdict on one joint's velocity errors."""

    def __init__(self, kp, kv, limit, floor):
        self.kp, self.kv, self.limit, self.floor = kp, kv, limit, floor
        self.errors, self.halves, self.noise, self.known = [], [], 0.0, False
        self.turned = self.seen = self.speed = self.pull = self.square = self.weight = 0.0
        self.sign = self.count = self.swells = self.states = 0
        self.grew = self.first = self.last = self.turning = 0.0
        self.begin(0.0)

    def begin(self, change):
        self.peak = self.work = self.spent = 0.0
        self.led, self.step = LACKS * change, change

    def turns(self, time, speed, pull, change):
        """Growth of an error that has turned in every state."""
        share = 0.0
        if self.states > 3:
            share = min(1.0, max(1.0 / (self.states - 3), (time - self.seen) / 0.3))
        self.errors.insert(0, speed)
        e = [*self.errors, *[0.0] * 5][:5]
        self.noise += share * (e[4] ** 2 - self.noise)
        if not (self.pull * speed > 0.0 > pull * speed):
            return 0.0
        own = max(0.0, abs(speed) - (1.0 + LACKS) * change)
        growths = [-e[i] / e[i + 1] if e[i + 1] else -math.inf for i in range(3)]
        first = -math.copysign(own, speed) / e[1] if e[1] else -math.inf
        grown = 0.0
        fast = own > 0.25 * self.limit and abs(e[2]) > 0.125 * self.limit
        if fast and abs(e[0]) >= abs(e[1]) >= abs(e[2]) and e[0] * e[1] < 0.0 > e[1] * e[2]:
            grown = max(growths[:2])
        steep, alike = (1.1, 4.0) if self.known else (2.0, 2.0)
        older = growths[1 : 2 if self.known else 3]
        even = max(older) <= alike * min(older) and first <= alike * max(older)
        size = own > max(1e-4 * self.limit, 8.0 * math.sqrt(self.noise))
        found = min(first, *older) >= steep and even and size and share > 0.0
        return max(first, *older) if found else grown

    def take(self, time, speed, pull, change):
        self.turning = self.turns(time, speed, pull, change)
        elapsed, longest = time - self.seen, math.pi / (2.0 * math.sqrt(self.kp))
        self.work += 0.5 * (speed + self.speed) * self.pull * elapsed
        self.spent += self.kv * self.speed**2 * elapsed
        self.led += LACKS * change
        self.step = max(self.step, change)
        self.seen, self.speed, self.pull = time, speed, pull
        small = 0.1 * self.floor
        sign = int(math.copysign(1, speed)) if abs(speed) > small else self.sign
        since = time - self.turned
        noise = math.sqrt(self.square / self.weight) if self.weight > 0.0 else 0.0
        if sign != self.sign:
            fed = self.work > -0.5 * self.spent
            lasts = self.peak > self.floor and self.peak >= 0.9 * self.last and since < longest
            swells = fed and since < longest and self.peak - self.led - self.step >= 1.3 * self.last
            if not self.swells:
                self.first = max(self.last, noise)
            self.count = self.count + 1 if lasts and fed else 0
            self.swells = self.swells + 1 if swells else 0
            self.grew = self.peak / max(self.last, small)
            share = min(1.0, since / 0.1)
            self.square += share * (self.last**2 - self.square)
            self.weight += share * (1.0 - self.weight)
            self.last, self.turned, self.sign = self.peak, time, sign
            self.begin(change)
        elif since > longest:
            self.count = self.swells = 0
        self.peak = max(self.peak, abs(speed))
        self.states += 1

    def swollen(self):
        """Half periods that swell, each by so much, make one sooner."""
        halves, small = self.swells + 1, 0.1 * self.floor
        if halves < 2 or self.last <= 0.0:
            return False
        noise = math.sqrt(self.square / self.weight) if self.weight > 0.0 else 0.0
        own = self.peak - self.led - self.step
        grows = own / max(self.last, small)
        even = grows < 2.0 * self.grew and (halves > 2 or self.grew < 2.0 * grows)
        together = own * 2.0**halves >= 100.0 * max(
            self.first if self.swells else max(self.last, noise), small
        )
        loud = own > max(0.5 * self.floor, 6.0 * noise)
        return bool(even and own >= 1.3 * self.last and together and loud and self.states > 10)

    def swings(self):
        return self.turning > 0.0 or self.count >= 6 or self.swollen()

    def swelling(self):
        if self.turning > 0.0:
            return self.turning
        return max(1.0, self.peak / self.last) if self.last > 0.0 else 1.0


class Swings(MadeUpArm):
    """Three joints whose references and states are given, with the description of each."""

    def __init__(self, share=0.02, known=False, n=3):
        super().__init__(n)
        self.share, self.worst = share, -1
        columns = [np.resize(values, n) for values in (KP, KV, LIMITS, SOFT)]
        self.kp, self.kv, limits, self.soft = columns
        self.setting(kp=self.kp, kv=self.kv, velocity_limits=limits)
        self.limits = np.where(np.isfinite(limits), limits, 1.0)
        self.put(softness=self.soft)
        self.core.trip.latched, self.core.trip.rule = known, self.calls.RD_OSCILLATION
        self.described = [
            Described(self.kp[j], self.soft[j] * self.kv[j], self.limits[j], share * self.limits[j])
            for j in range(n)
        ]
        for one in self.described:
            one.known = known
        self.reference, self.time = np.zeros(n), 5.0
        self.measured, self.allowed = self.ffi.new("double *"), self.ffi.new("double *")

    def pulls(self, slower, away):
        return self.soft * self.kv * slower + self.soft**2 * self.kp * away

    def state(self, speed, away, reference=None, elapsed=0.002):
        """Velocity of each joint beyond the reference's, and its position error."""
        reference = self.reference if reference is None else np.asarray(reference)
        self.time += elapsed
        self.core.time = self.time
        change = np.abs(reference - self.reference) if self.described[0].states else np.zeros(self.n)
        self.reference = reference
        self.put(
            reference__velocity=reference, state__velocity=reference + speed, reference__position=1.0,
            state__position=1.0 - np.asarray(away),
        )  # fmt: skip
        self.worst = self.calls.rd_find_oscillation(self.core, self.share, self.measured, self.allowed)
        pulls = self.pulls(-np.asarray(speed), np.asarray(away))
        for j, one in enumerate(self.described):
            one.take(self.time, speed[j], pulls[j], change[j])
        self.compare()

    def compare(self):
        for j, one in enumerate(self.described):
            swing = self.core.swings[j]
            found = [getattr(swing, name) for name in FIELDS]
            found += [swing.turning, swing.swings, self.calls.rd_swelling(self.core, j)]
            wanted = [getattr(one, name) for name in FIELDS] + [one.turning, one.swings(), one.swelling()]
            if any(abs(a - b) > 1e-9 * abs(b) + 1e-12 for a, b in zip(found, wanted, strict=True)):
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12, err_msg=f"{j}, {FIELDS}")
        loud = [max(abs(one.speed), one.last, one.peak) if one.swings() else -1.0 for one in self.described]
        if max(loud) < 0.0:
            assert self.worst == -1
        else:
            assert self.worst == loud.index(max(loud))
            assert abs(self.measured[0] - max(loud)) < 1e-12
            assert abs(self.allowed[0] - self.described[self.worst].floor) < 1e-12


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_errors_that_turn_in_every_state_grow_as_described(seed, known):
    draw, arm = np.random.default_rng(seed), Swings(known=known)
    speed, found = np.array([1e-4, -1e-4, 1e-4]), 0
    for k in range(70):
        growth = draw.uniform(1.0 if known else 1.85, 2.6 if k % 3 else 4.5, 3)
        speed = -speed * growth
        speed = np.where((np.abs(speed) > arm.limits) | (draw.uniform(size=3) < 0.04), 3e-4, speed)
        away = draw.uniform(-0.2, 0.4, 3) * arm.kv / arm.kp * speed
        moved = arm.reference + draw.uniform(0.0, 0.3, 3) * speed * (draw.uniform(size=3) < 0.3)
        arm.state(speed, away, moved, draw.uniform(0.001, 0.004))
        found += sum(one.turning > 0.0 for one in arm.described)
    assert found > 5


@pytest.mark.parametrize("seed", range(6))
def test_half_periods_count_as_described(seed):
    draw, arm = np.random.default_rng(10 + seed), Swings()
    most, swollen = 0, 0
    low, high = ((0.93, 1.12), (1.4, 2.4), (1.5, 1.8), (0.8, 2.0), (4.4, 6.0), (0.6, 1.1))[seed]
    begin = 0.03 if seed in (0, 5) else 0.001
    size, left, side = begin * arm.limits, np.zeros(3), np.ones(3)
    for k in range(120):
        ends, begins = left <= 0, k % 40 > 36
        side = np.where(ends, -side, side)
        size = np.where(ends, size * draw.uniform(low, high, 3), size)
        size = np.where(begins | (size > 0.3 * arm.limits), begin * arm.limits, size)
        left = np.where(ends, 0 if begins else draw.integers(1, 5, 3), left - 1)
        speed = side * size * draw.uniform(0.9, 1.0, 3)
        away = draw.uniform(0.4, 1.1, 3) * arm.kv / arm.kp / arm.soft * speed
        moved = arm.reference + 0.03 * size * draw.normal(size=3) * (k % 7 == 0)
        arm.state(
            speed, away, moved, 0.4 if k == 78 else 0.11 if begins and k > 40 else draw.uniform(0.001, 0.006)
        )
        most = max(most, *[max(one.count, one.swells) for one in arm.described])
        swollen += any(one.count < 6 and one.turning == 0.0 and one.swings() for one in arm.described)
    assert seed == 5 or (most >= 6 if seed == 0 else swollen)


FLOOR, LIMIT, HALF = 0.25, 2.0, math.pi / (2.0 * math.sqrt(KP[0]))
"""Of the first joint with a share of 1/8; half a period of its loop [s]."""


def at_bound(speed, elapsed=0.0, away=0.0, errors=(), **fields):
    """Take a speed in a state of the rule that meets a bound exactly; the description of it."""
    arm = Swings(share=0.125, n=1)
    swing, one = arm.core.swings[0], arm.described[0]
    arm.time = fields.pop("time", 0.0)
    given = {"sign": 1, "states": 20, "seen": arm.time, "turned": arm.time} | fields
    for name, value in given.items():
        setattr(swing, name, value)
        setattr(one, name, value)
    swing.errors, one.errors = [*errors, *[0.0] * 4][:4], list(errors)
    arm.state([speed], [away], elapsed=elapsed)
    return one


@pytest.mark.parametrize("side", [1, -1])
def test_a_half_period_that_meets_its_bounds_exactly(side):
    turned = -side * 0.3
    given = {"sign": side, "count": 3, "swells": 2, "last": 0.5, "spent": 1.0, "first": 0.01}
    peak = {"peak": 0.6}
    assert at_bound(-side * 0.1 * FLOOR, **given).sign == side, "has no sign"
    assert at_bound(turned, **given | {"peak": FLOOR, "last": 0.1}).count == 0
    assert at_bound(turned, **given, peak=0.9 * 0.5).count == 4
    assert at_bound(turned, elapsed=HALF, **given | peak).count == 0
    assert at_bound(turned, elapsed=HALF, **given | {"peak": 0.7}).swells == 0
    assert at_bound(-turned, elapsed=HALF, **given | peak).count == 3
    assert at_bound(turned, work=-0.5, **given | peak).count == 0
    assert at_bound(turned, work=-0.4999, **given | peak).count == 4
    assert at_bound(turned, **given, peak=1.3 * 0.5).swells == 3
    assert at_bound(turned, **given, peak=0.65 + 0.4, led=0.25, step=0.15).swells == 3
    assert at_bound(turned, **given, peak=0.65 + 0.3999, led=0.25, step=0.15).swells == 0
    assert at_bound(-turned, elapsed=1.001 * HALF, **given | {"count": 0}).swells == 0
    assert at_bound(-turned, elapsed=1.001 * HALF, **given | {"swells": 0}).count == 0


def test_a_swell_that_meets_its_bounds_exactly():
    """Of a peak of 0.5 after 0.25, with halves that make it four or eight times as much."""
    given = {"swells": 2, "last": 0.25, "peak": 0.5, "grew": 1.5, "first": 0.03, "states": 20, "turned": 0.0}

    def swollen(**changes):
        return at_bound(0.01, **given | changes).swollen()

    assert swollen()
    assert not swollen(grew=1.0) and swollen(grew=1.0001)
    two = {"swells": 1, "first": 0.001, "peak": 0.75}
    assert swollen(**two, grew=5.999) and not swollen(**two, grew=6.0)
    assert swollen(swells=2, grew=9.0)
    assert swollen(peak=1.3 * 0.25, first=0.02) and not swollen(peak=1.2999 * 0.25, first=0.02)
    assert swollen(first=0.04, peak=0.5) and not swollen(first=0.0401)
    assert not swollen(states=9) and swollen(states=10)
    small = {"peak": 0.125, "last": 0.0625, "first": 0.0, "swells": 6}
    assert not swollen(**small) and swollen(**small | {"peak": 0.1251})
    noisy = {"peak": 0.75, "last": 0.4, "first": 0.01}
    assert not swollen(square=0.5 * 0.125**2, weight=0.5, **noisy)
    assert swollen(square=0.5 * 0.1249**2, weight=0.5, **noisy)
    assert not swollen(last=0.0) and not swollen(swells=0)
    assert swollen(led=0.1, step=0.05, **noisy | {"peak": 0.75, "last": 0.31})
    assert swollen(last=0.01, first=0.001, peak=0.13, swells=6, grew=4.0), (
        "small ones count as a tenth of the floor"
    )


def turning(speed, errors, **fields):
    """Growth of an error that has turned, after so many that the position error pulls along with."""
    given = {"seen": -1.0, "pull": math.copysign(1.0, speed)} | fields
    return at_bound(speed, errors=errors, **given).turning


def test_an_error_that_turns_meets_its_bounds_exactly():
    assert turning(0.4, (-0.2, 0.1, -0.05)) == 2.0
    assert turning(0.4, (-0.2, 0.1, -0.05), pull=0.0) == turning(0.4, (-0.2, 0.1, -0.05), pull=-1.0) == 0.0
    assert turning(0.4, (-0.2, 0.1, -0.0501)) == 0.0
    assert turning(0.8, (-0.2, 0.1, -0.05)) == 4.0
    assert turning(0.8001, (-0.2, 0.1, -0.05)) == 0.0
    assert turning(0.08, (-0.02, 0.01, -0.005)) == 4.0 and turning(0.0801, (-0.02, 0.01, -0.005)) == 0.0
    assert turning(0.2, (-0.1, 0.025, -0.0125)) == 4.0 and turning(0.2, (-0.1, 0.02499, -0.0125)) == 0.0
    assert turning(1e-4 * LIMIT, (-1e-4, 5e-5, -2.5e-5)) == 0.0
    assert turning(1.001e-4 * LIMIT, (-1e-4, 5e-5, -2.5e-5)) > 2.0
    for noise, found in ((2.0**-12, 0.0), (0.99 * 2.0**-12, 2.0)):  # eight times a 64th
        errors = (-0.0625, 0.03125, -0.015625, math.sqrt(noise))
        assert turning(0.125, errors, noise=noise, seen=0.0) == found
    assert turning(0.125, (-0.0625, 0.03125, -0.015625), states=3) == 0.0, "no noise is known"


def test_a_fast_error_meets_its_bounds_exactly():
    assert turning(0.5, (-0.4, 0.3)) == 0.0 and turning(0.5001, (-0.4, 0.3)) > 1.2
    assert turning(0.6, (-0.4, 0.25)) == 0.0 and turning(0.6, (-0.4, 0.2501)) > 1.4
    assert turning(0.6, (-0.6, 0.6)) == 1.0
    assert turning(0.6, (-0.6001, 0.6)) == turning(0.6, (-0.6, 0.6001)) == 0.0
    assert turning(0.9, (-0.6, 0.3, 0.2)) == 2.0, "the one before does not count"
    assert turning(0.6, (-0.5, 0.3, -0.29)) == pytest.approx(5.0 / 3.0)


def test_of_equal_speeds_the_first_joint_is_reported():
    arm = Swings(n=3)
    arm.setting(velocity_limits=np.full(3, 2.0))
    for j in range(3):
        arm.core.swings[j].count, arm.core.swings[j].sign, arm.core.swings[j].peak = 6, 1, 0.5
        arm.core.swings[j].seen = arm.core.swings[j].turned = 5.0
    for speeds, worst in (((0.1, 0.1, 0.1), 0), ((0.1, 0.6, 0.6), 1), ((0.1, 0.6, 0.7), 2)):
        arm.core.time += 0.0
        arm.put(state__velocity=speeds, reference__velocity=0.0)
        assert arm.calls.rd_find_oscillation(arm.core, 0.02, arm.measured, arm.allowed) == worst
        assert arm.measured[0] == max(0.5, *speeds) and arm.allowed[0] == 0.04


def legs_of(arm, levers):
    """Make the arm's machine one whose legs stray otherwise than its references, as a platform's do."""
    machine = arm.ffi.new("rd_machine *", arm.settings.machine[0])
    strayed, rates = np.arange(1.0, arm.n + 1.0) * 1e-3, np.linspace(-0.02, 0.03, arm.n)

    def stray(_core, joints, linear, angular):
        arm.ffi.memmove(joints, strayed.tobytes(), 8 * arm.n)
        linear[0] = angular[0] = 7.0

    def stray_rate(_core, joints):
        arm.ffi.memmove(joints, rates.tobytes(), 8 * arm.n)

    kernels = [
        arm.ffi.callback("void(const struct rd_core *, double *, double *, double *)", stray),
        arm.ffi.callback("void(const struct rd_core *, double *)", stray_rate),
    ]
    machine.stray, machine.stray_rate = kernels
    arm.settings.machine = machine
    arm.setting(hold_deceleration=levers)
    arm.kept = [kernels, machine]
    return strayed, rates


@pytest.mark.parametrize("turning", [0.8, 0.0])
def test_legs_change_by_the_norms_of_the_pose_s_change_with_the_lever_of_its_decelerations(turning):
    arm = Swings(n=6)
    strayed, rates = legs_of(arm, (2.0, 2.5, 3.0, turning, 0.3, 0.4))
    first, then = np.array([0.3, -0.2, 0.1, 0.5, 0.4, -0.6]), np.array([0.5, -0.7, 0.4, 0.1, 0.7, -0.1])
    for place in (first, then):
        arm.core.time += 0.002
        arm.put(reference__velocity=place)
        arm.calls.rd_find_oscillation(arm.core, 0.02, arm.measured, arm.allowed)
        steps = [arm.core.swings[j].step for j in range(6)]
        np.testing.assert_array_equal(steps if place is first else 0.0, 0.0)
    moved, turned = np.linalg.norm((then - first)[:3]), np.linalg.norm((then - first)[3:])
    np.testing.assert_allclose(steps, moved + (2.0 / 0.8 * turned if turning else 0.0))
    for j in range(6):
        swing = arm.core.swings[j]
        assert (swing.speed, swing.reference) == (-rates[j], then[j])
        assert swing.pull == pytest.approx(arm.pulls(rates, strayed)[j])


def test_what_is_forgotten_of_an_oscillation_is_not_its_noise():
    kept, gone = (
        ("square", "weight", "noise", "states", "reference"),
        ("speed", "pull", "peak", "last", "work"),
    )
    gone += ("spent", "led", "step", "sign", "count", "swings", "swells", "first", "grew", "turning")
    for every in (0, 1):
        arm = Swings()
        for j in range(3):
            for k, name in enumerate(("seen", "turned", *kept, *gone)):
                setattr(arm.core.swings[j], name, 3 + k + j if name != "swings" else j == 1)
            arm.core.swings[j].errors = [1.0, 2.0, 3.0, 4.0]
        arm.core.time = 9.5
        arm.calls.rd_forget_oscillation(arm.core, every)
        for j in range(3):
            swing = arm.core.swings[j]
            forgotten = every or j == 1
            assert [getattr(swing, name) for name in kept] == [5 + k + j for k in range(len(kept))]
            assert list(swing.errors) == ([0.0] * 4 if forgotten else [1.0, 2.0, 3.0, 4.0])
            if forgotten:
                assert (swing.seen, swing.turned) == (9.5, 9.5)
                assert not any(getattr(swing, name) for name in gone)
            else:
                assert (swing.seen, swing.speed, swing.turning) == (3 + j, 10 + j, 24 + j)
