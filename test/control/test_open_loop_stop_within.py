"""The stop of an arm without states, under made-up dynamics: accelerations, simulation, efforts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_up_arm import MadeUpArm

N = 3
GUARD = 1e9
LIMITS = np.array([900.0, 700.0, 800.0])


class Blind(MadeUpArm):
    """Three joints under dynamics of their own, that may fail; what lies behind arrays is large."""

    def __init__(self, seed=0):
        super().__init__(N, seed)
        draw = self.draw
        self.matrix, self.count, self.fails_at = draw.normal(size=(N, N)), 0, None
        self.matrix += 3.0 * np.eye(N)
        self.drag, self.rubs = draw.normal(size=(N, N)), draw.normal(size=(N, N))
        machine = self.machine = self.ffi.new("rd_machine *", self.settings.machine[0])
        kind = "int(rd_core *, const rd_settings *, const double *, const double *, const double *, "
        self.called = self.ffi.callback(kind + "const double *, double *)", self._dynamics)
        machine.dynamics = self.called
        self.settings.machine, self.settings.safe_fade_time = machine, 0.4
        self.settings.safe_output = self.calls.RD_GRAVITY_FADE
        self.setting(limits=LIMITS, following=np.full(N, 9.0), stop_deceleration=[1.5, 2.0, 2.5],
                     hold_deceleration=[1.0, 1.0, 1.0], effort_steps=np.full(N, np.inf))  # fmt: skip
        for k in range(20 * N):
            self.core.task.rows[k] = GUARD * (k != N)

    def motion(self, q, qd, qdd, rate):
        return self.matrix @ qdd + self.drag @ (qd * np.abs(qd)) + np.sin(3.0 * q) + self.rubs @ rate

    def _dynamics(self, core, settings, *given):
        *arrays, effort = given
        self.count += 1
        if self.count == self.fails_at:
            return 0
        found = self.motion(*(np.array(self.ffi.unpack(values, N)) for values in arrays))
        for j in range(N):
            effort[j] = found[j]
        return 1

    def acceleration(self, q, qd, rate, effort):
        """Of rd_acceleration; None: it has none."""
        given = [self.ffi.new("double[]", [*values, GUARD]) for values in (q, qd, rate, effort)]
        made = self.ffi.new("double[]", [0.0] * N + [GUARD])
        self.count = 0
        known = self.calls.rd_acceleration(self.core, self.settings, *given, made)
        assert made[N] == GUARD and all(self.core.task.rows[k] == GUARD * (k != N) for k in range(20 * N))
        return np.array(list(made[0:N])) if known == 1 else None

    def solved(self, q, qd, rate, effort):
        return np.linalg.solve(self.matrix, effort - self.motion(q, qd, np.zeros(N), rate))

    def simulated(self, q, qd, rate, effort, duration, steps):
        """Place and velocity after midpoint steps."""
        step = duration / steps
        for _ in range(steps):
            half = q + 0.5 * step * qd, qd + 0.5 * step * self.solved(q, qd, rate, effort)
            q, qd = q + step * half[1], qd + step * self.solved(*half, rate, effort)
        return np.array([q, qd])

    def lose(self, age, rate=(0.4, -0.3, 0.2)):
        """Begin a stop without states beside a straight stop that is active."""
        core = self.core
        self.q, self.qd, self.rate = np.array([0.2, -0.1, 0.3]), np.array([0.5, -0.7, 0.3]), np.array(rate)
        self.left = np.array([4.0, -6.0, 3.0])
        core.time, core.phase, core.has_left, core.current.plan = 4.0, 2, 1, self.ffi.NULL
        core.unseen, core.stopping.kind, core.stopping.path.plan = age, 1, self.ffi.NULL
        core.stopping.at, core.stopping.pace, core.stopping.where, core.stopping.change = 4.0, 1.0, 0.0, 0.0
        self.put(left=self.left, state__position=self.q, state__velocity=self.qd, stopping__place=self.q,
                 stopping__rate=self.rate, reference__velocity=self.rate, zero=0.0)  # fmt: skip
        self.count = 0
        return self.calls.rd_begin_blind(core, age)

    def effort(self, since):
        """Of rd_blind_effort; None: it has none."""
        self.put(disturbance=(0.1, 0.2, 0.3))
        made = self.ffi.new("double[]", [0.0] * N + [GUARD])
        self.count = 0
        known = self.calls.rd_blind_effort(self.core, since, made)
        assert made[N] == GUARD
        np.testing.assert_array_equal(self.get("disturbance"), (0.1, 0.2, 0.3))
        return np.array(list(made[0:N])) if known == 1 else None

    def blind(self):
        return np.array([self.get("blind__position"), self.get("blind__velocity")])


@pytest.fixture
def arm():
    return Blind()


# Accelerations


MATRICES = {
    "pivot in the second row": [[0.0, 2.0, 1.0], [3.0, 1.0, -1.0], [0.0, 4.0, 7.0]],
    "pivot in the third row": [[0.1, 2.0, 1.0], [3.0, 1.0, -1.0], [-5.0, 4.0, 7.0]],
    "second pivot below": [[4.0, 2.0, 1.0], [4.0, 2.0, -1.0], [1.0, 4.0, 7.0]],
    "large above": [[4.0, 900.0, 1.0], [1.0, 2.0, -1.0], [-1.0, 300.0, 7.0]],
    "no pivot below": [[2.0, -1.0, 0.5], [0.3, 3.0, 0.7], [-0.4, 0.2, 1.0]],
}


@pytest.mark.parametrize("name", MATRICES)
def test_an_acceleration_solves_the_dynamics(arm, name):
    arm.matrix = np.array(MATRICES[name])
    given = (
        np.array([0.3, -0.2, 0.5]),
        np.array([0.7, -0.4, 0.2]),
        np.array([0.6, 0.1, -0.9]),
        np.array([5.0, 2.0, -8.0]),
    )
    np.testing.assert_allclose(arm.acceleration(*given), arm.solved(*given), rtol=1e-9)
    assert arm.count == 1 + N
    np.testing.assert_array_equal(arm.get("zero"), 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_an_acceleration_of_any_dynamics_is_their_solution(seed):
    arm = Blind(seed)
    arm.matrix = arm.draw.normal(size=(N, N))
    given = arm.draw.normal(size=(4, N))
    np.testing.assert_allclose(arm.acceleration(*given), arm.solved(*given), rtol=1e-7)


def test_a_singular_or_unknown_acceleration_is_none(arm):
    given = arm.draw.normal(size=(4, N))
    for call in range(1, 2 + N):
        arm.fails_at = call
        assert arm.acceleration(*given) is None
    arm.fails_at = None
    assert arm.acceleration(given[0], given[1], given[2], [1.0, np.inf, 2.0]) is None
    assert arm.acceleration(given[0], given[1], given[2], [np.nan, 1.0, 2.0]) is None
    for singular in (
        [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        np.zeros((3, 3)),
        np.full((3, 3), np.nan),
    ):
        arm.matrix = np.array(singular)
        assert arm.acceleration(*np.zeros((4, N))) is None


# The simulated arm


@pytest.mark.parametrize(("age", "steps"), [
    (0.001, 1), (0.002, 1), (0.0021, 2), (0.004, 2), (0.004 * (1.0 + 2.5e-10), 2), (0.0127, 7),
    (0.7, 250),
])  # fmt: skip
def test_the_arm_is_simulated_in_midpoint_steps_of_two_milliseconds(arm, age, steps):
    assert arm.lose(age) == 1
    assert arm.count == 2 * steps * (1 + N)
    assert steps == max(1, math.ceil(min(age, 0.5) / 0.002 - 1e-9))
    expected = arm.simulated(arm.q, arm.qd, arm.rate, arm.left, min(age, 0.5), steps)
    np.testing.assert_allclose(arm.blind(), expected, rtol=1e-9)
    assert (arm.core.blind.active, arm.core.blind.since) == (1, 0.0) and arm.core.blind.rested < 0.0
    np.testing.assert_array_equal(arm.get("zero"), 0.0)


def test_a_loss_that_is_noticed_at_once_needs_no_simulation(arm):
    arm.fails_at = 1
    assert arm.lose(0.0) == 1 and arm.count == 0
    np.testing.assert_array_equal(arm.blind(), [arm.q, arm.qd])


@pytest.mark.parametrize("call", [1, 5, 9])
def test_an_arm_that_cannot_be_simulated_begins_no_stop(arm, call):
    arm.fails_at, arm.core.blind.active = call, 1
    assert arm.lose(0.004) == 0 and arm.core.blind.active == 0


@pytest.mark.parametrize("lacks", ["effort", "dynamics", "left", "output"])
def test_a_stop_without_states_needs_all_that_it_works_with(arm, lacks):
    assert arm.lose(0.01) == 1
    arm.core.blind.active = 1
    if lacks == "effort":
        arm.settings.command = arm.calls.RD_COMMAND_POSITION
    elif lacks == "dynamics":
        arm.machine.dynamics = arm.ffi.NULL
    elif lacks == "output":
        arm.settings.safe_output = arm.calls.RD_ZERO
    if lacks != "left":
        assert arm.lose(0.01) == 0 and arm.core.blind.active == 0
        return
    arm.core.has_left = 0
    assert arm.calls.rd_begin_blind(arm.core, 0.01) == 0 and arm.core.blind.active == 0


# Efforts


def asked(arm, since):
    """Acceleration that is asked for, from the reference and the simulated arm."""
    core, ffi = arm.core, arm.ffi
    parts = [[ffi.new("double[]", N) for _ in range(3)] for _ in range(2)]
    time = core.time + core.unseen + since
    for at, motion in zip((time, time + 0.01), parts, strict=True):
        arm.calls.rd_refer(core, at, ffi.new("rd_motion *", motion))
    (r, rd, _), (_, after, _) = [[np.array(list(part)) for part in motion] for motion in parts]
    q, qd = arm.blind()
    return (after - rd) / 0.01 + 20.0 * (rd - qd) + 100.0 * (r - q), q, qd, rd


@pytest.mark.parametrize("since", [0.0, 0.005, 0.01, 0.0321])
def test_efforts_bring_the_simulated_arm_along_the_reference(arm, since):
    assert arm.lose(0.03) == 1
    before, rate = arm.blind(), arm.get("reference__velocity")
    found = arm.effort(since)
    steps = math.ceil(since / 0.002 - 1e-9) if since else 0
    expected = arm.simulated(*before, rate, arm.left, since, steps) if since else before
    np.testing.assert_allclose(arm.blind(), expected, rtol=1e-9)
    assert arm.count == 1 + 2 * steps * (1 + N)
    assert arm.core.blind.since == since and arm.core.stopping.at == pytest.approx(4.03 + since)
    qdd, q, qd, rd = asked(arm, since)
    np.testing.assert_allclose(found, arm.motion(q, qd, qdd, rd), rtol=1e-9)
    assert abs(qdd).min() > 0.1 and arm.core.blind.rested < 0.0
    again = arm.blind()
    arm.effort(0.5 * since)
    np.testing.assert_array_equal(arm.blind(), again, err_msg="it never goes back")
    assert arm.core.blind.since == since


def test_the_simulation_goes_on_from_where_it_was(arm):
    arm.lose(0.0)
    arm.effort(0.012)
    before, rate = arm.blind(), arm.get("reference__velocity")
    arm.effort(0.022)
    np.testing.assert_allclose(arm.blind(), arm.simulated(*before, rate, arm.left, 0.01, 5), rtol=1e-7)


@pytest.mark.parametrize("joint", range(N))
@pytest.mark.parametrize("sign", [1, -1])
def test_efforts_stay_within_the_limit_of_each_joint(arm, joint, sign):
    arm.lose(0.0)
    limits = np.full(N, 1e9)
    limits[joint] = 0.25
    arm.setting(limits=limits)
    arm.core.blind.position[joint] -= 0.5 * sign * np.sign(arm.matrix[joint, joint])
    found = arm.effort(0.0)
    qdd, q, qd, rd = asked(arm, 0.0)
    expected = arm.motion(q, qd, qdd, rd)
    assert abs(expected[joint]) > 0.25
    np.testing.assert_allclose(found, np.clip(expected, -limits, limits), rtol=1e-9)


def test_efforts_fade_from_when_the_reference_rests(arm):
    arm.lose(0.0, rate=(0.0, 0.0, 0.0))
    arm.core.stopping.kind = 0
    arm.put(hold=arm.q)
    for since, share in ((0.75, 1.0), (0.85, 0.75), (1.05, 0.25), (1.15, 0.0)):
        arm.core.blind.since = since
        found = arm.effort(since)
        qdd, q, qd, rd = asked(arm, since)
        np.testing.assert_allclose(found, share * arm.motion(q, qd, qdd, rd), rtol=1e-7, atol=1e-12)
        assert arm.core.blind.rested == 0.75


def test_a_reference_that_rests_at_once_fades_from_there(arm):
    arm.lose(0.0, rate=(0.0, 0.0, 0.0))
    arm.core.stopping.kind = 0
    arm.effort(0.0)
    assert arm.core.blind.rested == 0.0
    arm.core.blind.since = 0.5
    arm.effort(0.5)
    assert arm.core.blind.rested == 0.0


def test_without_a_model_there_is_no_effort(arm):
    arm.lose(0.0)
    arm.fails_at = 1
    assert arm.effort(0.0) is None
    assert arm.effort(0.01) is None
    arm.fails_at = None
    assert arm.effort(0.01) is not None
    arm.fails_at = 1
    arm.core.blind.since = 0.01
    assert arm.effort(0.01) is None
    arm.fails_at, arm.drag = None, np.full((N, N), np.nan)
    assert arm.effort(0.01) is None
