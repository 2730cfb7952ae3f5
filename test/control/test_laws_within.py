"""Laws of an arm against their description, from made-up states in which every part of them matters."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from arms import TWO_JOINTS, two_joint_chain
from inner_core import Inner

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.dynamics.compiled import compile_dynamics

MODEL = pin.buildModelFromXML(TWO_JOINTS)
DATA = MODEL.createData()
ROTORS = np.array([0.4, 0.7])
DRIVES = {
    "rotor_inertia": tuple(ROTORS),
    "damping": (1.5, 2.5),
    "friction": (3.0, 2.0),
    "presliding_friction": (1.0, 0.8),
    "presliding_travel": (0.01, 0.02),
}
KP, KV, KI = np.array([90.0, 160.0]), np.array([17.0, 29.0]), np.array([300.0, 500.0])
SPEED, SETTLED = np.array([3.0, 2.0]), np.array([0.02, 0.01])


class Law:
    """A controller of two driven joints whose state is made up; `fields` of the core by their names."""

    def __init__(self, seed=0, drives=DRIVES, **parameters):
        chain = two_joint_chain()
        links = compile_dynamics(chain, friction=False)
        model = ActuatedArm(links, chain, ActuatorParameters(**drives)) if drives else links
        given = {"kp": tuple(KP), "kv": tuple(KV), "ki": 300.0, "loop_delay": 0.003} | parameters
        self.inner = Inner(ArmController(chain, model, ArmParameters(**given)))
        self.core, self.calls = self.inner.core, self.inner.calls
        self.settings = self.inner.settings
        self.draw = np.random.default_rng(seed)
        self.following = np.array([self.settings.rules.following[j] for j in range(2)])
        for j in range(2):
            self.settings.settled[j], self.settings.ki[j] = SETTLED[j], KI[j]
        self.inertia = np.array([self.settings.rules.inertia[j] for j in range(2)])
        self.core.time, self.core.period, self.core.phase = 5.0, 0.004, self.calls.RD_TRACKING
        self.core.disturbance_time, self.core.slid_time = 4.996, 4.996

    def put(self, **fields):
        for name, values in fields.items():
            place = self.core
            for part in name.split("__"):
                place = getattr(place, part)
            for j in range(2):
                place[j] = values[j]

    def get(self, name):
        place = self.core
        for part in name.split("__"):
            place = getattr(place, part)
        return np.array([place[j] for j in range(2)])

    def effort(self, half=0.0):
        """Efforts of the law in force, half a period ahead of the state."""
        core, made = self.core, self.inner.ffi.new("double[2]")
        ahead = self.inner.ffi.new(
            "rd_motion *", [core.ahead.position, core.ahead.velocity, core.ahead.acceleration]
        )
        assert self.settings.machine.effort(core, self.settings, ahead, half, made)
        return np.array(list(made))

    def states(self, error, lag):
        """A reference in motion, and a robot that is behind it by an error and a velocity."""
        place, rate = (
            self.draw.uniform(-0.3, 0.3, 2),
            self.draw.uniform(0.2, 0.9, 2) * self.draw.choice([-1, 1], 2),
        )
        self.put(
            reference__position=place, reference__velocity=rate,
            state__position=place - error, state__velocity=rate - lag,
            ahead__position=place, ahead__velocity=rate, ahead__acceleration=self.draw.normal(size=2),
            slid_at=place - 0.004 * rate, slid=self.draw.uniform(-1.0, 1.0, 2),
            overcome=(1.0, 1.0), shown_friction=(1e9, 1e9), rubbed=(0.0, 0.0),
            undisturbed=(0.0, 0.0), softness=(1.0, 1.0),
        )  # fmt: skip
        return place, rate


def limited(pull, kv, rate):
    """The error's pull asks for no more speed than there is."""
    return np.clip(pull, np.minimum(0.0, kv * (-SPEED - rate)), np.maximum(0.0, kv * (SPEED - rate)))


def friction(law, slid_before, travel, rate, load):
    """Of the drives along the reference, all turning faster than the smoothing around standstill."""
    towards = np.sign(travel)
    slid = towards + (slid_before - towards) * np.exp(-np.abs(travel) / DRIVES["presliding_travel"])
    sign = np.sign(rate)
    built = np.array(DRIVES["presliding_friction"]) * (slid - sign)
    return np.array(DRIVES["damping"]) * rate + sign * np.array(DRIVES["friction"]) + built, slid


def links(q, qd, qdd):
    return pin.rnea(MODEL, DATA, q, qd, qdd)


@pytest.mark.parametrize("half", [0.0, 0.002])
@pytest.mark.parametrize("seed", range(4))
def test_computed_torque_is_feedback_through_the_model_and_friction_along_the_reference(seed, half):
    law = Law(seed)
    error, lag = law.draw.uniform(-0.009, 0.009, 2), law.draw.uniform(-0.09, 0.09, 2)
    place, rate = law.states(error, lag)
    z = law.draw.normal(size=2)
    slid = law.get("slid")
    law.put(disturbance=z)
    soft = np.array([0.8, 0.6])
    law.put(softness=soft)
    kp, kv = soft**2 * KP, soft * KV
    asked = law.get("ahead__acceleration") + kv * lag + limited(kp * error, kv, rate) + z
    q, qd = place - error, rate - lag
    at, fast = q + half * (qd + 0.5 * half * asked), qd + half * asked
    lost, slid = friction(law, slid, 0.004 * rate, rate, 0.0)
    expected = links(at, fast, asked) + ROTORS * asked + lost
    np.testing.assert_allclose(law.effort(half), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(law.get("slid"), slid)
    np.testing.assert_allclose(law.get("slid_at"), place)
    np.testing.assert_allclose(law.get("disturbance"), z)


def test_known_ratios_of_the_inertia_scale_the_reference_s_acceleration_in_a_stop():
    law = Law(1)
    law.states(np.zeros(2), np.zeros(2))
    plain = law.effort()
    law.core.trip.latched = 1
    np.testing.assert_allclose(law.effort(), plain)


@pytest.mark.parametrize(("elapsed", "known"), [(0.049, True), (0.0, True), (0.051, False), (-0.001, False)])
def test_presliding_is_known_over_a_short_time_only(elapsed, known):
    law = Law(2)
    _, rate = law.states(np.zeros(2), np.zeros(2))
    slid = law.get("slid")
    law.core.slid_time = 5.0 - elapsed
    law.effort()
    expected = friction(law, slid, 0.004 * rate, rate, 0.0)[1] if known else np.zeros(2)
    np.testing.assert_allclose(law.get("slid"), expected)
    law.put(slid=(0.3, 0.4))
    law.core.discontinuity = law.calls.RD_JUMPED
    law.effort()
    assert not law.get("slid").any()


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_friction_grows_as_the_least_inertia_stands_and_what_was_shown_is_there_at_once(side):
    law = Law(3)
    law.states(np.zeros(2), np.zeros(2))
    rate = side * np.array([0.5, 0.7])
    law.put(
        reference__velocity=rate, state__velocity=rate, ahead__velocity=rate, ahead__acceleration=(0.0, 0.0)
    )
    law.put(
        slid=side * np.ones(2),
        shown_friction=(0.0, 0.0),
        slid_at=law.get("reference__position") - 0.004 * rate,
    )
    law.core.period = 0.05
    bare = links(law.get("state__position"), rate, np.zeros(2))
    whole = np.abs(friction(law, side * np.ones(2), 0.004 * rate, rate, 0.0)[0])
    step = 0.1 * SPEED * law.inertia / 0.05
    given = law.effort() - bare
    np.testing.assert_allclose(given, side * np.minimum(whole, step))
    np.testing.assert_allclose(law.get("rubbed"), given)
    again = law.effort() - bare
    np.testing.assert_allclose(again, side * np.minimum(whole, 2.0 * step))
    np.testing.assert_allclose(law.get("shown_friction"), np.abs(given))
    law.put(rubbed=-given)
    np.testing.assert_allclose(law.effort() - bare, side * np.minimum(whole, np.maximum(step, np.abs(given))))
    law.put(overcome=(0.5, 0.25), rubbed=side * whole)
    np.testing.assert_allclose(law.effort() - bare, side * np.array([0.5, 0.25]) * whole)


def test_friction_that_was_shown_halves_where_a_joint_runs_ahead():
    law = Law(4)
    for lead, left in ((0.049, 1.0), (0.051, 0.5)):
        law.states(np.zeros(2), np.zeros(2))
        rate = np.array([0.5, 0.7])
        law.put(
            reference__velocity=rate,
            state__velocity=rate + lead * SPEED,
            shown_friction=(8.0, 9.0),
            rubbed=(0.1, 0.2),
        )
        law.effort()
        np.testing.assert_allclose(law.get("shown_friction"), left * np.array([8.0, 9.0]))


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("soft", [0.7, 1.0, 1.6])
def test_an_estimate_integrates_an_error_between_settled_and_half_of_following(side, soft):
    law = Law(5)
    stiff = max(1.0, soft)
    gain = stiff if stiff > 1.0 else soft**3

    def after(error, z=(side * 0.4, side * 0.3), elapsed=0.004, lag=(0.0, 0.0), undisturbed=(0.0, 0.0)):
        law.states(side * np.asarray(error), np.asarray(lag))
        law.put(disturbance=z, undisturbed=undisturbed, softness=(soft, soft))
        law.core.disturbance_time = 5.0 - elapsed
        law.effort()
        return law.get("disturbance") - z

    settled, half = SETTLED / stiff, 0.5 * law.following
    assert not after(0.99 * settled).any()
    for error in (1.01 * settled, 0.99 * half):
        np.testing.assert_allclose(after(error), side * gain * KI * 0.004 * error)
    assert not after(1.01 * half).any()
    np.testing.assert_allclose(after(0.9 * half, elapsed=0.049), side * gain * KI * 0.049 * 0.9 * half)
    assert not after(0.9 * half, elapsed=0.051).any()
    assert not after(0.9 * half, elapsed=0.0).any()
    law.core.cut = 1
    assert not after(0.9 * half).any()
    law.core.cut, law.core.braked = 0, 1
    assert not after(0.9 * half).any()
    law.core.braked = 0
    most = stiff * KP * law.following
    full = side * (most - 1e-3)
    np.testing.assert_allclose(after(0.9 * half, full) + full, side * most)
    np.testing.assert_allclose(after(0.9 * half, full, undisturbed=-1.5 * most) + full,
                               full + side * gain * KI * 0.004 * 0.9 * half)  # fmt: skip


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("latched", [0, 1])
def test_a_load_that_drives_its_joint_away_fades(side, latched):
    """In a tenth of a second; in a stop sooner and faster, where the joint gets faster."""
    law = Law(6)
    law.settings.ki[0] = law.settings.ki[1] = 0.0
    law.core.trip.latched = latched

    def left(error, ahead, led, z=(2.0, 3.0), outside=None):
        """Remainder of the estimate; error and speed beyond the reference's are along the side."""
        z = side * np.asarray(z)
        law.states(side * np.asarray(error), -side * np.asarray(ahead))
        rate = side * np.array([0.1, 0.2])
        law.put(reference__velocity=rate, state__velocity=rate + side * np.asarray(ahead))
        if outside is not None:
            law.put(reference__position=outside + side * np.asarray(error), state__position=outside)
        law.put(disturbance=z, led=led)
        law.core.disturbance_time = 4.996
        law.effort()
        return law.get("disturbance") / z

    away = -1.01 * SETTLED
    slow = np.exp(-0.004 / 0.1)
    np.testing.assert_allclose(left(away, (0.3, 0.4), (0.5, 0.5)), slow)
    np.testing.assert_allclose(left(-0.99 * SETTLED, (0.3, 0.4), (0.5, 0.5)), 1.0)
    np.testing.assert_allclose(left(away, (-0.11, -0.21), (0.5, 0.5)), 1.0, err_msg="it comes back")
    fast = np.exp(-0.004 * np.maximum(10.0, np.array([0.3, 0.4]) / SETTLED))
    expected = fast if latched else slow
    np.testing.assert_allclose(left(away, (0.3, 0.4), (0.2, 0.2)), expected)
    np.testing.assert_allclose(left(-0.26 * SETTLED, (0.3, 0.4), (0.2, 0.2)), fast if latched else 1.0)
    np.testing.assert_allclose(left(-0.24 * SETTLED, (0.3, 0.4), (0.2, 0.2)), 1.0)
    ends = np.array([2.0, 0.5]) if side > 0.0 else np.array([-1.0, -0.5])
    inside = left((0.0, 0.0), (0.0, 0.0), (0.5, 0.5), outside=ends - side * 0.01)
    np.testing.assert_allclose(inside, 1.0)
    beyond = left((0.0, 0.0), (0.0, 0.0), (0.5, 0.5), outside=ends + side * 0.01)
    np.testing.assert_allclose(beyond, slow, err_msg="an end stop bore it")
    back = left((0.0, 0.0), (0.0, 0.0), (0.5, 0.5), z=(-2.0, -3.0), outside=ends + side * 0.01)
    np.testing.assert_allclose(back, 1.0)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_declared_friction_that_drives_a_joint_ahead_is_doubted(side):
    law = Law(7)

    def share(lead, elapsed=0.0004, before=(0.8, 0.8)):
        law.states(np.zeros(2), np.zeros(2))
        rate = side * np.array([0.5, 0.7])
        law.put(reference__velocity=rate, state__velocity=rate + side * lead * SPEED, overcome=before)
        law.core.disturbance_time = 5.0 - elapsed
        law.effort()
        return law.get("overcome")

    np.testing.assert_allclose(share(0.049), 0.8)
    np.testing.assert_allclose(share(0.15), 0.8 * (1.0 - 2000.0 * 0.0004 * 0.1))
    np.testing.assert_allclose(share(0.9), 0.4)
    np.testing.assert_allclose(share(-0.01, 0.03), 0.83)
    np.testing.assert_allclose(share(-0.01, 0.03, (0.99, 0.99)), 1.0)
    np.testing.assert_allclose(share(-0.01, 3.0), 0.85)


def test_the_pull_of_an_error_is_known_where_a_joint_keeps_pace_for_a_twentieth_of_a_second():
    law = Law(8)
    error, lag = np.array([0.05, -0.04]), np.array([0.1, 0.05])
    _, rate = law.states(error, lag)
    law.put(disturbance=(0.3, 0.6), strayed=(4.951, 4.949))
    pull = [law.calls.rd_pull(law.core, law.settings, j, 0.9) for j in range(2)]
    expected = 0.6 + limited(0.81 * KP * error, 0.9 * KV, rate)[1]
    assert np.isnan(pull[0]) and pull[1] == pytest.approx(expected)
    law.calls.rd_carry_pull(law.core, 1, 5.0, 0.5)
    carried = 5.0 - limited(0.25 * KP * error, 0.5 * KV, rate)[1]
    assert law.get("disturbance")[1] == law.get("undisturbed")[1] == pytest.approx(carried)
    law.calls.rd_carry_pull(law.core, 0, np.nan, 0.5)
    assert law.get("disturbance")[0] == 0.3
    for j, (share, strays) in enumerate(((0.049, False), (0.051, True))):
        law.put(state__velocity=rate + share * SPEED * (-1, 1), strayed=(1.0, 1.0))
        law.calls.rd_watch_lag(law.core, law.settings, j)
        assert law.get("strayed")[j] == (5.0 if strays else 1.0)


def test_stiffened_joints_that_run_away_keep_what_pulls_them_back():
    law = Law(9)
    error = np.array([0.005, -0.004])
    _, rate = law.states(error, np.array([0.2, -0.1]))
    law.put(disturbance=(0.3, 0.6), softness=(1.5, 1.5))
    law.calls.rd_keep_pull(law.core)
    stiff = 2.25 * KP
    kp = np.minimum(stiff, np.maximum(KP, 0.25 * (1.5 * KV) ** 2))
    expected = np.array([0.3, 0.6]) + limited(kp * error, 1.5 * KV, rate)
    np.testing.assert_allclose(law.get("disturbance"), expected)
    np.testing.assert_allclose(law.get("undisturbed"), expected)
    lag = np.array([0.2, -0.1])
    for changed in ({"softness": (1.0, 1.0)}, {"state__velocity": rate + lag}):
        law.put(disturbance=(0.3, 0.6), softness=(1.5, 1.5), state__velocity=rate - lag)
        law.put(**changed)
        law.calls.rd_keep_pull(law.core)
        np.testing.assert_allclose(law.get("disturbance"), (0.3, 0.6))


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_braking_begins_at_the_cap_and_where_the_way_to_a_limit_asks_for_it(side):
    law = Law(10)
    gain, cap = 30.0, 0.5

    def braking(place, velocity, rate=0.0, limits=None):
        law.put(state__position=(0.0, side * place), state__velocity=(0.0, side * velocity))
        given = law.inner.ffi.NULL if limits is None else law.inner.ffi.new("double[4]", limits)
        return side * law.calls.rd_braking_within(law.core, law.settings, 1, cap, given, gain, side * rate)

    assert braking(0.0, 0.49) == 0.0
    assert braking(0.0, 0.51) == pytest.approx(-30.0 * 0.01)
    assert braking(0.48, 0.31) == pytest.approx(-30.0 * (0.31 - 15.0 * 0.02))
    assert braking(0.48, 0.29) == 0.0
    assert braking(0.51, 0.0) == pytest.approx(-30.0 * 15.0 * 0.01)
    assert braking(0.9, 0.0) == pytest.approx(-30.0 * 0.5), "pushed back no faster than the cap"
    assert braking(0.0, 0.8, 0.9) == 0.0, "its reference is as fast"
    assert braking(0.0, 0.95, 0.9) == pytest.approx(-30.0 * 0.05)
    assert braking(0.0, 0.8, -0.9) == pytest.approx(-30.0 * 0.3)
    assert braking(0.1, 0.31, limits=[-9.0, -0.12, 9.0, 0.12]) == pytest.approx(-30.0 * (0.31 - 15.0 * 0.02))


def test_springs_accelerate_a_joint_less_near_its_velocity_limit():
    law = Law(11)
    law.put(state__velocity=(2.7, -1.9), reference__velocity=(0.0, 0.0))
    within = law.calls.rd_within_speed
    assert within(law.core, law.settings, 0, 5.0) == pytest.approx(5.0 * (1.0 - 0.9) / 0.15)
    assert within(law.core, law.settings, 1, -5.0) == pytest.approx(-5.0 * (1.0 - 0.95) / 0.15)
    assert within(law.core, law.settings, 0, -5.0) == -5.0
    law.put(state__velocity=(2.5, -2.1))
    assert within(law.core, law.settings, 0, 5.0) == 5.0
    assert within(law.core, law.settings, 1, -5.0) == 0.0
    law.put(state__velocity=(2.7, -1.9), reference__velocity=(-2.9, 4.0))
    assert within(law.core, law.settings, 0, 5.0) == pytest.approx(5.0 * (1.0 - 0.9) / 0.15)
    assert within(law.core, law.settings, 1, -5.0) == -5.0


def test_the_braking_at_a_wall_is_stable_with_the_period_of_the_states():
    law = Law(12)
    for period, gain in ((0.001, 40.0), (0.00624, 40.0), (0.01, 25.0), (0.0, 10.0)):
        law.core.period = period
        assert law.calls.rd_wall_gain(law.core, law.settings) == pytest.approx(gain)
    law.core.period = 0.01
    law.put(state__velocity=(3.2, 0.0), reference__velocity=(0.0, 0.0), state__position=(0.0, 0.0))
    assert law.calls.rd_braking_at_wall(law.core, law.settings, 0) == pytest.approx(-25.0 * 0.2)


def test_a_stop_brakes_what_yields_from_a_fiftieth_of_the_limit_on():
    law = Law(13, mode="joint_impedance")
    core = law.core
    core.pace.recent, core.period = [0.001, 0.004, 0.002], 0.003
    law.put(cut_at=(-9.0, -9.0), state__position=(0.0, 0.0), reference__velocity=(0.0, 0.0))
    gain = 0.08 / (0.004 + 0.003)

    def braking(velocity):
        core.stiffened[1] = 1.0
        core.led[1] = 1e9
        law.put(state__velocity=(0.0, velocity))
        return law.calls.rd_braking_in_stop(core, law.settings, 1)

    assert braking(0.5) == 0.0
    core.trip.latched, core.trip.rule = 1, law.calls.RD_OVERSPEED
    assert braking(0.5) == pytest.approx(-gain * (0.5 - 0.04))
    assert braking(-0.5) == pytest.approx(gain * (0.5 - 0.04))
    assert braking(0.039) == 0.0
    assert braking(2.1) == 0.0, "the wall brakes it"
    core.pace.recent = [0.0001] * 3
    core.period = 0.0001
    law.settings.rules.delay = 0.0
    assert braking(0.5) == pytest.approx(-40.0 * (0.5 - 0.04))
    core.trip.rule = law.calls.RD_CONTACT
    assert braking(0.5) == 0.0


def test_gravity_compensation_carries_the_weight_damps_and_brakes_above_a_quarter_of_the_limit():
    law = Law(14, mode="gravity_compensation")
    law.core.pace.recent, law.core.stiffened[0], law.core.stiffened[1] = [0.004] * 3, 1.0, 1.0
    place, velocity = np.array([0.3, 0.1]), np.array([0.7, -0.6])
    law.put(state__position=place, state__velocity=velocity, led=(9.0, 9.0), cut_at=(-9.0, -9.0))
    gain = np.maximum(KV, 10.0)
    asked = -0.5 * velocity - gain * np.array([0.0, -0.6 + 0.5])
    np.testing.assert_allclose(law.effort(), links(place, np.zeros(2), asked) + ROTORS * asked)


def test_pd_is_feedback_times_the_diagonal_of_the_mass_matrix():
    law = Law(15, mode="pd")
    error, lag = np.array([0.004, -0.003]), np.array([0.1, 0.2])
    place, rate = law.states(error, lag)
    law.core.knows_inertia = 0
    mass = pin.crba(MODEL, DATA, place - error)
    expected = (np.diag(mass) + ROTORS) * (KV * lag + limited(KP * error, KV, rate))
    np.testing.assert_allclose(law.effort(), expected)


def test_pd_keeps_the_inertia_of_its_own_model_beside_a_law_that_is_replaced():
    law = Law(15, mode="pd")
    law.states(np.array([0.004, -0.003]), np.array([0.1, 0.2]))
    law.core.knows_inertia = 0
    expected = law.effort()
    ffi, heavy = law.inner.ffi, law.inner.ffi.new("double[]", [9.0, 7.0])
    other = ffi.new("rd_settings *", law.settings[0])
    other.rotor_inertia = heavy
    assert law.calls.rd_joint_inertia(law.core, other)
    np.testing.assert_array_equal(law.effort(), expected)
