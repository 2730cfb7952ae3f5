"""A reference that restarts where the robot is after a gap between two states, from within."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import MadeUpArm
from test_cycle_within import PLACE, Cycle

KP, KV = np.array([9.0, 7.0, 8.0, 5.0, 6.0, 4.0]), np.array([3.0, 2.5, 2.0, 1.5, 1.75, 1.25])
MOST = np.array([2.0, 2.0, 2.0, 0.75, 0.75, 0.75])
RATE = np.array([0.1, -0.2, 0.15, 0.05, 0.1, -0.3])
NOTHING = np.zeros(6)
STEADY = np.array([0.5, -0.25, 1.5, 0.2, -0.3, 0.1])


class Gap(MadeUpArm):
    """A made-up machine of six coordinates; it is off its place in a stream by `away` and `rate`."""

    def __init__(self, away=NOTHING, rate=NOTHING, group=3):
        super().__init__(6, 1)
        ffi = self.ffi
        self.machine = ffi.new("rd_machine *", self.settings.machine[0])
        self.settings.machine = self.machine
        self.machine.rejoins, self.machine.group = 1, group
        self.rate = np.array(rate) + RATE
        self.measured = ffi.callback("void(const struct rd_core *, double *)", self.find_rate)
        self.machine.find_rate = self.measured
        self.setting(kp=[*KP, 1e9], kv=[*KV, 1e9], hold_deceleration=[*MOST, 1e-9])
        kept = [self._array(values) for values in (STEADY, RATE, np.zeros(6))]
        self.stream, self.plan = ffi.new("rd_stream *"), ffi.new("rd_plan *")
        for motion in (self.stream.now, self.stream.ahead):
            motion.position, motion.velocity, motion.acceleration = kept
        self.stream.time = 99.0
        self.plan.stream, self.plan.times, self.plan.knots = self.stream, self._array([0.0, 99.0]), 2
        self.core.current.plan = self.plan
        self.put(state__position=STEADY + away)
        self.core.rejoining.began = -1.0

    def find_rate(self, core, rate):
        for j in range(6):
            rate[j] = self.rate[j]

    def begin(self, elapsed=0.1, period=0.004):
        """Return whether a state after a gap makes the reference rejoin; None: it is no gap."""
        self.calls.rd_begin_rejoining(self.core, 5.0, elapsed, period)
        gap = self.core.rejoining
        return None if gap.began == -1.0 else bool(gap.active)


def lengths(values):
    """Norms of both groups."""
    return np.linalg.norm(np.reshape(values, (2, 3)), axis=1)


@pytest.mark.parametrize(
    ("away", "rate"),
    [
        ((0.2, -0.3, 0.1, 0.0, 0.0, 0.0), np.zeros(6)),
        ((0.0, 0.0, 0.0, 0.1, 0.3, -0.2), np.zeros(6)),
        ((0.1, 0.2, 0.3, 0.2, -0.1, 0.1), (0.3, -0.2, 0.4, 0.1, 0.2, 0.3)),
        (np.zeros(6), (0.9, -0.8, 0.7, 0.1, 0.1, 0.1)),
        (np.zeros(6), (0.1, 0.1, 0.1, 0.4, -0.6, 0.5)),
        ((-0.5, 0.0, 0.0, 0.0, 0.0, 0.0), (0.7, 0.0, 0.0, 0.1, 0.0, 0.0)),
        ((0.0, 0.02, 0.0, 0.01, 0.02, 0.0), (0.02, 0.0, 0.03, 0.0, 0.1, -0.02)),
        ((4.0, 0.0, 0.0, 0.0, 0.0, 0.0), np.zeros(6)),
        ((0.23, 0.0, 0.0, 0.0, 0.0, 0.0), np.zeros(6)),
        ((0.3, 0.0, 0.0, 0.0, 0.0, 0.0), (-0.5, 0.0, 0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_distance_and_velocity_of_a_gap_fade_with_the_deceleration_of_a_hold(away, rate):
    """5.78 and 4 are the greatest second derivatives of both polynomials of one unit."""
    made = Gap(away, rate)
    gap = made.core.rejoining
    made.core.rejoining.active, gap.duration = 1, 1e3  # an earlier one counts no more
    made.put(rejoining__place=3.0, rejoining__rate=0.0)
    gap.began = 4.9
    asked = KP * away + KV * rate
    most = MOST[[0, 3]]
    parted = (lengths(asked) > most).any()
    assert made.begin() == parted
    np.testing.assert_allclose(made.get("rejoining__place"), away, atol=1e-12)
    np.testing.assert_allclose(made.get("rejoining__rate"), rate, atol=1e-12)
    longest = max((np.sqrt(5.78 * lengths(away) / most)).max(), (4.0 * lengths(rate) / most).max())
    assert gap.duration == pytest.approx(longest) and gap.began == 5.0


def test_angles_go_the_short_way_round():
    for group, turning in ((3, range(3, 6)), (2, range(2, 6)), (1, range(0))):
        made = Gap(np.full(6, 4.0), group=group)
        assert made.begin()
        for j in range(6):
            expected = 4.0 - 2.0 * np.pi * (j in turning)
            assert made.core.rejoining.place[j] == pytest.approx(expected)


def test_what_feedback_may_ask_for_at_once_is_no_parting():
    made = Gap((3.0, 4.0, 0.0, 0.0, 0.0, 0.0))
    made.put(state__position=(3.5, 3.75, 1.5, *STEADY[3:]))
    made.setting(kp=[0.4] * 7, kv=[0.0] * 7)
    assert made.begin() is False and made.core.rejoining.duration > 1.0, "just as much"
    made.setting(kp=[0.41] * 7)
    assert made.begin() is True


@pytest.mark.parametrize(
    ("elapsed", "period", "begins"),
    [
        (0.02, 0.001, True), (0.0199, 0.001, False), (5.0 * 2.0**-7, 2.0**-7, True), (0.039, 2.0**-7, False),
        (0.1, 0.021, False), (0.1, 0.0, None), (3.0, 0.5, True),
    ],
)  # fmt: skip
def test_a_gap_is_longer_than_five_periods_and_a_fiftieth_of_a_second(elapsed, period, begins):
    made = Gap((0.9, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert made.begin(elapsed, period) is (True if begins else None)


@pytest.mark.parametrize("lacks", ["rejoins", "efforts", "free", "plan"])
def test_nothing_rejoins_without_a_plan_feedback_and_free_brakes(lacks):
    made = Gap((0.9, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert made.begin()
    made.core.rejoining.began = -1.0
    made.machine.rejoins = lacks != "rejoins"
    made.settings.command = (
        made.calls.RD_COMMAND_POSITION if lacks == "efforts" else made.calls.RD_COMMAND_EFFORT
    )
    made.core.braked = lacks == "free"
    made.core.current.plan = made.ffi.NULL if lacks == "plan" else made.plan
    assert made.begin() is None


@pytest.mark.parametrize("share", [-0.1, 0.0, 0.125, 0.3, 0.65, 0.95, 1.2])
def test_what_is_added_is_the_quintic_from_distance_and_velocity_to_nothing(share):
    """Its conditions: distance, velocity and no acceleration at its begin, nothing from its end on."""
    away, rate, length = np.linspace(-0.3, 0.4, 6), np.linspace(0.7, -0.9, 6), 0.8
    powers, slopes = np.arange(6), np.arange(6) * (np.arange(6) - 1.0)
    begin, end = [np.eye(6)[0], np.eye(6)[1], 2.0 * np.eye(6)[2]], [np.ones(6), powers, slopes]
    conditions = np.vstack([begin, end])
    given = np.vstack([away, rate * length, np.zeros((4, 6))])
    rows = np.linalg.solve(conditions, given) * (0.0 <= share < 1.0)
    made = Gap()
    gap = made.core.rejoining
    gap.active, gap.began, gap.duration = 1, 5.0, length
    made.put(rejoining__place=away, rejoining__rate=rate)
    motion = [made._array(np.full(7, 10.0 * k)) for k in range(3)]
    made.calls.rd_add_rejoining(made.core, 5.0 + share * length, made.ffi.new("rd_motion *", motion)[0:1])
    taken = [
        share**powers,
        powers * share ** np.maximum(powers - 1, 0),
        slopes * share ** np.maximum(powers - 2, 0),
    ]
    for k in range(3):
        assert motion[k][6] == 10.0 * k, "behind the coordinates"
        np.testing.assert_allclose(
            np.array(list(motion[k]))[:6] - 10.0 * k, taken[k] @ rows / length**k, atol=1e-12
        )


@pytest.mark.parametrize("how", ["gap", "lost", "jump"])
def test_after_a_break_a_plan_begins_without_rejoining(how):
    made = Cycle()
    made.machine.rejoins, made.machine.group = 1, 3
    made.own("find_rate", "void(const struct rd_core *, double *)", lambda core, rate: None)
    made.own(
        "joints_of",
        "void(const struct rd_core *, const rd_motion *, double *, double *)",
        lambda *given: None,
    )
    made.setting(effort_steps=[1e9] * 4, hold_deceleration=[0.1] * 4)
    made.core.phase = made.calls.RD_STALE if how == "lost" else made.core.phase
    made.plan(made.time, epoch=made.core.epoch + (how != "gap"))
    made.update(0.03, place=PLACE + (0.9 if how == "jump" else 0.1))
    assert made.core.verdict == made.calls.RD_ACCEPTED
    assert made.core.rejoining.active == (how == "gap")
