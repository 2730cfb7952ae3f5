"""Gains of a protective stop from within: their rise for legs and joints, their end, and what they bore."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import MadeUpArm

LONGEST, DELAY = 0.006, 0.002
"""The longest of the last periods, and the delay of efforts [s]."""


class Stop(MadeUpArm):
    """A robot of n joints in a protective stop; as a platform, references and legs differ.

    Args:
        kp: gains of the joints (n).
        kv: the same.
        platform: whether it is one.
    """

    def __init__(self, kp, kv, platform=False):
        n = len(kp)
        super().__init__(n, driven=False)
        self.kp, self.kv, self.platform = np.array(kp, float), np.array(kv, float), platform
        self.limits = np.linspace(2.0, 0.8, n)
        self.rules = self.ffi.new("rd_rules *")
        self.rules.delay = DELAY
        self.settings.rules = self.rules
        self.settings.mode = self.calls.RD_COMPUTED_TORQUE
        self.setting(kp=self.kp, kv=self.kv, velocity_limits=self.limits)
        self.machine = self.ffi.new("rd_machine *", self.settings.machine[0])
        self.pulled, self.taken = [], []
        self.legs, self.rates = np.zeros(n), np.zeros(n)

        def joints_of(_core, _reference, place, rate):
            self.ffi.memmove(place, self.legs.tobytes(), 8 * n)
            self.ffi.memmove(rate, self.rates.tobytes(), 8 * n)

        def carry_pull(_core, before, now):
            self.pulled.append((before, now))

        def take_load(core, factor):
            self.taken.append(factor)
            for j in range(n):
                core.disturbance[j] = 0.5

        kinds = (
            "void(const struct rd_core *, const rd_motion *, double *, double *)",
            (
                "void(struct rd_core *, double, double)",
                "void(struct rd_core *, double)",
            ),
        )
        self.kernels = [self.ffi.callback(kinds[0], joints_of)]
        self.kernels += [
            self.ffi.callback(kind, of) for kind, of in zip(kinds[1], (carry_pull, take_load), strict=True)
        ]
        self.machine.take_load = self.kernels[2]
        if platform:
            self.machine.joints_of, self.machine.carry_pull = self.kernels[:2]
            self.settings.platform = self.ffi.cast("const struct rd_platform_model *", self.machine)
        self.settings.machine = self.machine
        core = self.core
        self.calls.rd_use_settings(core, self.settings)
        core.trip.latched, core.trip.rule = 1, self.calls.RD_OVERSPEED
        core.phase, core.pace.share, core.period = self.calls.RD_PROTECTIVE_STOP, 1.0, 0.004
        core.pace.recent = [0.003, LONGEST, 0.001]
        core.cut = core.braked = 0
        self.put(cut_at=-1e9, strayed=-1e9, swung=1.0, softness=1.0, stiffened=1.0, led=0.0)
        self.move(np.zeros(n), np.zeros(n))

    def move(self, error, speed, rate=0.0):
        """Errors, speeds, and what the reference asks for."""
        n = self.n
        error, rate = np.broadcast_to(error, n), np.broadcast_to(rate, n)
        self.put(state__position=0.3, state__velocity=speed)
        if self.platform:
            self.legs, self.rates = np.array(0.3 + error), np.array(rate, float)
            self.put(reference__position=9.0, reference__velocity=7.0)
        else:
            self.put(reference__position=0.3 + error, reference__velocity=rate)

    def soften(self):
        self.calls.rd_soften(self.core)
        return self.get("stiffened")


LEGS = {
    "kp": (90.0, 80.0, 100.0, 70.0, 95.0, 60.0),
    "kv": (20.0, 30.0, 25.0, 18.0, 24.0, 22.0),
    "platform": True,
}
WEAK = 1
"""The leg with the least of kv / kp and 1 / kv: its gains count for all."""


@pytest.mark.parametrize("leg", range(6))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_gains_of_a_platform_double_for_the_leg_that_is_farthest_beyond_a_quarter_of_its_speed(leg, side):
    """As one, with what the gains of the weakest leg ask for on the way to the reference."""
    stop = Stop(**LEGS)
    error = np.array([0.02, -0.03, 0.04, 0.01, -0.02, 0.03])
    rate = side * np.array([0.1, 0.2, -0.1, 0.15, 0.0, 0.3])
    asked = np.maximum(0.0, side * 0.9 * LEGS["kp"][WEAK] / LEGS["kv"][WEAK] * error)
    for share, expected in ((0.249, 1.0), (0.251, 2.0)):
        excess = np.where(np.arange(6) == leg, share, 0.2) * stop.limits
        speed = rate + side * (asked + excess)
        stop.put(softness=0.9, led=0.0, stiffened=1.0)
        given = np.where(side * speed > 0.0, speed, side * 1e-9)
        stop.move(error, given, rate)
        np.testing.assert_array_equal(stop.soften(), expected)
        wanted = side * (given - rate) - asked
        np.testing.assert_allclose(stop.get("led"), wanted, atol=1e-12)


def test_of_legs_that_are_as_far_beyond_the_first_decides():
    stop = Stop(**LEGS)
    limits, speed = np.array([1.0, 2.0, 1.0, 1.0, 0.5, 1.0]), np.zeros(6)
    stop.setting(velocity_limits=limits)
    speed[[1, 4]] = 0.5 * limits[[1, 4]]
    stop.put(led=np.array([0.0, 0.0, 0.0, 0.0, 9.0, 0.0]))
    stop.move(0.0, speed)
    np.testing.assert_array_equal(stop.soften(), 2.0)


def test_gains_of_a_platform_rise_to_four_times_while_a_leg_gets_faster():
    stop = Stop(**LEGS)
    stop.core.pace.recent, stop.core.period, stop.rules.delay = [0.001] * 3, 0.001, 0.0
    for k, expected in enumerate((2.0, 4.0, 4.0)):
        stop.move(0.0, 0.3 * stop.limits * (1.0 + 0.1 * k))
        np.testing.assert_array_equal(stop.soften(), expected)
    np.testing.assert_array_equal(stop.get("softness"), 4.0)
    stop.put(unlimited=1e9)
    stop.core.cut = 1
    stop.setting(limits=np.full(6, 1.0))
    np.testing.assert_array_equal(stop.soften(), 2.0)  # its efforts are limited together
    assert (stop.get("cut_at") == -1e9).all()


@pytest.mark.parametrize("platform", [False, True])
@pytest.mark.parametrize("kv", [0.6, 25.0])
def test_gains_rise_as_far_as_half_of_the_inertia_stands_them(platform, kv):
    """By kv alone, because kp stays within it."""
    count = 6 if platform else 2
    stop = Stop([0.02 * kv] * count, [kv] * count, platform)
    periods = 0.3 / kv
    stop.core.pace.recent, stop.rules.delay = [0.5 * periods, periods, 0.2 * periods], 0.2 / kv
    stop.core.period = 0.9 * periods
    most = 1.0 / (periods * kv + 2.0 * stop.rules.delay * kv)
    for k in range(2):
        stop.move(0.0, 0.5 * stop.limits * (1.0 + 0.1 * k))
        np.testing.assert_allclose(stop.soften(), min(2.0 ** (k + 1), most))
    assert 1.2 < most < 2.0


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_on_its_way_a_joint_may_be_no_faster_than_its_limit_above_the_reference(rate):
    """Of an error that asks for more than the velocity limits."""
    stop = Stop((100.0, 50.0), (21.0, 13.0))
    for share, expected in ((0.099, 1.0), (0.101, 2.0)):
        stop.put(softness=1.0, stiffened=1.0, led=0.0)
        stop.move(5.0, rate + (1.0 + share) * stop.limits, rate)
        np.testing.assert_array_equal(stop.soften(), expected)
    stop = Stop((100.0, 50.0), (0.0, 0.0))
    stop.move(5.0, 0.09 * stop.limits)
    stop.soften()
    np.testing.assert_allclose(stop.get("led"), 0.09 * stop.limits)  # nothing is asked without damping


def test_without_feedback_or_with_brakes_no_gains_rise():
    for change in ("effort", "brakes", "yields", "mode"):
        stop = Stop((100.0, 50.0), (21.0, 13.0))
        stop.put(stiffened=1.5)
        stop.move(0.0, stop.limits)
        if change == "effort":
            stop.settings.command = stop.calls.RD_COMMAND_EFFORT + 1
        elif change == "brakes":
            stop.core.braked = 1
        elif change == "yields":
            stop.settings.mode = stop.calls.RD_JOINT_IMPEDANCE
        else:
            stop.settings.mode, stop.core.guides = stop.calls.RD_GRAVITY_COMPENSATION, 1
        np.testing.assert_array_equal(stop.soften(), 1.5)
        np.testing.assert_array_equal(stop.get("softness"), 1.0 if change in ("yields", "mode") else 1.5)
    stop = Stop((100.0, 50.0), (21.0, 13.0))
    stop.put(stiffened=1.5)
    stop.core.trip.latched = 0
    np.testing.assert_array_equal(stop.soften(), 1.0)


def pull(stop, softness):
    """The pull of errors of 0.02 and -0.03 with a softness: within 1/4 of the square of kv above 1."""
    error = np.array([0.02, -0.03])
    kp = softness**2 * stop.kp
    if softness > 1.0:
        kp = np.minimum(kp, np.maximum(stop.kp, 0.25 * (softness * stop.kv) ** 2))
    return kp * error


def test_where_gains_fall_what_they_pulled_is_carried():
    stop = Stop((100.0, 50.0), (21.0, 13.0))
    stop.move((0.02, -0.03), 0.0)
    for latched, cut, before, carries in (
        (1, 0, 3.0, True),
        (0, 0, 3.0, False),
        (1, 1, 3.0, False),
        (1, 0, 1.0, False),
    ):
        stop.core.trip.latched, stop.core.cut = latched, cut
        stop.put(softness=before, stiffened=1.0, disturbance=(0.4, -0.7), undisturbed=0.0)
        stop.core.pace.share = 0.5
        stop.soften()
        wanted = np.array([0.4, -0.7]) + (pull(stop, 3.0) - pull(stop, 1.0) if carries else 0.0)
        np.testing.assert_allclose(stop.get("disturbance"), wanted)
        np.testing.assert_allclose(stop.get("undisturbed"), wanted if carries else 0.0)
        share = np.minimum(1.0, 0.5 * np.minimum(stop.kv / stop.kp, 1.0 / stop.kv) * 21.0)
        np.testing.assert_allclose(stop.get("softness"), share)


def test_what_falls_from_stiffer_gains_to_others_above_one_is_carried_too():
    stop = Stop((100.0, 50.0), (21.0, 13.0))
    stop.move((0.02, -0.03), 0.0)
    stop.core.pace.recent, stop.rules.delay = [0.001] * 3, 0.0
    stop.put(softness=3.0, stiffened=2.0)
    stop.soften()
    np.testing.assert_array_equal(stop.get("softness"), 2.0)
    np.testing.assert_allclose(stop.get("disturbance"), pull(stop, 3.0) - pull(stop, 2.0))
    stop.put(softness=1.5, stiffened=2.0, disturbance=0.0)
    stop.soften()
    np.testing.assert_array_equal(stop.get("disturbance"), 0.0)  # they rise
    stop.put(softness=2.0, disturbance=0.4, undisturbed=0.3)
    stop.soften()
    np.testing.assert_array_equal(stop.get("undisturbed"), 0.3)  # they stay


def test_a_platform_carries_the_pull_of_its_pose_once():
    stop = Stop(**LEGS)
    stop.put(softness=3.0, stiffened=1.0)
    stop.core.pace.share = 0.7
    stop.soften()
    assert stop.pulled == [(3.0, 1.0)]
    np.testing.assert_array_equal(stop.get("softness"), 0.7)
    stop.core.pace.recent, stop.rules.delay, stop.core.pace.share = [0.001] * 3, 0.0, 1.0
    stop.core.period = 0.001
    stop.put(softness=3.0, stiffened=2.0)
    stop.soften()
    assert stop.pulled[1:] == [(3.0, 2.0)]
    stop.put(softness=1.5, stiffened=1.2)
    stop.soften()
    assert stop.pulled[2:] == [(1.5, pytest.approx(1.2))]


def ended(stop, softness, before="COMPUTED_TORQUE", **core):
    """End the raised gains of a stop; whether there were any."""
    stop.put(softness=softness, disturbance=(0.4, -0.7) if stop.n == 2 else 0.4, led=9.0)
    stop.put(undisturbed=0.3)
    for name, value in core.items():
        setattr(stop.core, name, value)
    mode = stop.ffi.new("rd_settings *", stop.settings[0])
    mode.mode = getattr(stop.calls, f"RD_{before}")
    found = stop.calls.rd_end_stiffness(stop.core, mode)
    np.testing.assert_array_equal(stop.get("led"), 0.0)
    np.testing.assert_array_equal(stop.get("stiffened"), 1.0)
    np.testing.assert_array_equal(stop.get("softness"), np.minimum(1.0, softness))
    return found


@pytest.mark.parametrize("factor", [3.0, 1.5])
@pytest.mark.parametrize("joint", [0, 1])
def test_another_law_bears_what_raised_gains_of_a_stop_bore(joint, factor):
    raised = np.where(np.arange(2) == joint, factor, 1.0)
    stop = Stop((100.0, 50.0), (21.0, 13.0))
    stop.move((0.02, -0.03), 0.0)
    stop.put(stiffened=np.where(np.arange(2) == joint, factor, 1.0))
    assert ended(stop, raised) == 1 and stop.taken == []
    np.testing.assert_array_equal(stop.get("undisturbed")[1 - joint], 0.3)
    more = np.where(np.arange(2) == joint, pull(stop, factor) - pull(stop, 1.0), 0.0)
    np.testing.assert_allclose(stop.get("disturbance"), np.array([0.4, -0.7]) + more)


def test_where_external_efforts_are_observed_their_load_is_taken_and_the_pull_on_top():
    for gain, taken in ((25.0, [1.0]), (0.5, [1.0]), (0.0, [])):
        stop = Stop((100.0, 50.0), (21.0, 13.0))
        stop.move((0.02, -0.03), 0.0)
        stop.settings.observer_gain = gain
        kernel = stop.ffi.callback("int(const double *const *, double *const *)", lambda _in, _out: 1)
        stop.settings.momentum = kernel
        stop.put(stiffened=(3.0, 1.0))
        assert ended(stop, np.array([3.0, 0.8])) == 1 and stop.taken == taken
        kept = 0.5 if taken else -0.7
        np.testing.assert_allclose(stop.get("disturbance")[1], kept)
        np.testing.assert_allclose(stop.get("disturbance")[0], 0.4 + (pull(stop, 3.0) - pull(stop, 1.0))[0])
    stop.settings.momentum, stop.settings.observer_gain, stop.taken = stop.ffi.NULL, 25.0, []
    stop.put(stiffened=(3.0, 1.0))
    assert ended(stop, np.array([3.0, 0.8])) == 1 and stop.taken == []


def test_nothing_is_carried_without_a_stop_that_had_raised_gains():
    for case in ("not raised", "no stop", "yielded", "follows nothing"):
        stop = Stop((100.0, 50.0), (21.0, 13.0))
        stop.move((0.02, -0.03), 0.0)
        stop.put(stiffened=1.0 if case == "not raised" else 3.0)
        stop.core.trip.latched = case != "no stop"
        if case == "follows nothing":
            stop.settings.mode, stop.core.guides = stop.calls.RD_GRAVITY_COMPENSATION, 1
        had = ended(stop, np.array([3.0, 3.0]), "JOINT_IMPEDANCE" if case == "yielded" else "COMPUTED_TORQUE")
        assert had == (case in ("no stop", "follows nothing"))
        np.testing.assert_array_equal(stop.get("disturbance"), (0.4, -0.7))


def test_raised_gains_of_a_platform_end_with_the_pull_of_its_pose():
    for softness, latched, pulled in (
        (3.0, 1, [(3.0, 1.0)]),
        (1.5, 1, [(1.5, 1.0)]),
        (1.0, 1, []),
        (3.0, 0, []),
    ):
        stop = Stop(**LEGS)
        stop.put(stiffened=2.0)
        stop.core.trip.latched = latched
        assert ended(stop, softness) == 1
        assert stop.pulled == pulled and stop.taken == []


def test_weak_damping_asks_for_the_speed_of_its_error_too():
    """Of 1.2 times the error of 0.5."""
    stop = Stop((0.72, 0.72), (0.6, 0.6))
    stop.move(0.5, 0.7)
    stop.soften()
    np.testing.assert_allclose(stop.get("led"), 0.1)


def test_gains_rise_without_rules_and_where_they_are_not_judged_as_without_a_delay():
    for case in ("no rules", "not judged"):
        stop = Stop((100.0, 50.0), (21.0, 13.0))
        if case == "no rules":
            stop.settings.rules = stop.ffi.NULL
        else:
            stop.rules.delay = -1.0
        for k in range(4):
            stop.move(0.0, (0.5 + 0.1 * k) * stop.limits)
            factors = stop.soften()
        np.testing.assert_allclose(factors, np.minimum(16.0, 1.0 / stop.kv / LONGEST))


def test_an_effort_that_meets_its_limit_exactly_is_not_cut_and_half_a_second_is_enough():
    stop = Stop((100.0, 50.0), (21.0, 13.0))
    stop.setting(limits=(40.0, 15.0))
    stop.core.cut, stop.core.time = 1, 7.0
    stop.put(unlimited=(-40.0, 15.1), stiffened=4.0)
    np.testing.assert_array_equal(stop.soften(), (2.0, 1.0))
    np.testing.assert_array_equal(stop.get("cut_at"), (-1e9, 7.0))
    stop.core.cut = 0
    for time, expected in ((7.4999, 1.0), (7.5, 2.0)):
        stop.core.time = time
        stop.put(led=0.0, stiffened=1.0)
        stop.move(0.0, 0.5 * stop.limits)
        np.testing.assert_array_equal(stop.soften(), (2.0, expected))
