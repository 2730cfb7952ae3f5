"""Thresholds that come from the model, and a stop without states, against Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from arms import TWO_JOINTS, two_joint_chain
from inner_core import Inner
from scipy.integrate import solve_ivp

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.dynamics.compiled import compile_dynamics

MODEL = pin.buildModelFromXML(TWO_JOINTS)
DATA = MODEL.createData()
ROTORS = np.array([0.4, 0.7])
DRIVES = {
    "rotor_inertia": tuple(ROTORS),
    "friction": (3.0, 2.0),
    "static_friction": (3.5, 1.5),
    "stribeck_velocity": (0.1, 0.1),
    "friction_offset": (0.5, -0.4),
}
DRY = np.array([3.5 + 0.5, 2.0 + 0.4])
"""The greater one of friction at rest and in motion, and the greatest that its offset adds."""
LOWER, UPPER = np.array([-1.0, -0.5]), np.array([2.0, 0.5])


def van_der_corput(index, base):
    """Digits of the index in a base, mirrored at the point."""
    digits = []
    while index:
        index, digit = divmod(index, base)
        digits.append(digit)
    return sum(digit / base ** (k + 1) for k, digit in enumerate(digits))


def poses(lower=LOWER, upper=UPPER):
    ranged = upper - lower < 1e3
    low, high = np.where(ranged, lower, -np.pi), np.where(ranged, upper, np.pi)
    shares = np.array([[van_der_corput(k + 1, base) for base in (2, 3)] for k in range(64)])
    return low + (high - low) * shares


def inertia(q):
    m = pin.crba(MODEL, DATA, q)
    return np.triu(m) + np.triu(m, 1).T + np.diag(ROTORS)


class Judged:
    def __init__(self, **parameters):
        chain = two_joint_chain()
        model = ActuatedArm(compile_dynamics(chain, friction=False), chain, ActuatorParameters(**DRIVES))
        self.inner = Inner(ArmController(chain, model, ArmParameters(**parameters)))
        self.core, self.calls, self.settings = self.inner.core, self.inner.calls, self.inner.settings

    def find(self, function, *given, ranges=(LOWER, UPPER)):
        made = self.inner.ffi.new("double[2]")
        bounds = [self.inner.ffi.new("double[]", list(values)) for values in ranges]
        assert getattr(self.calls, function)(self.settings, 2, *bounds, *given, made)
        return np.array(list(made))

    def put(self, into, **fields):
        for name, values in fields.items():
            for j in range(2):
                getattr(into, name)[j] = values[j]


@pytest.fixture
def judged():
    return Judged()


@pytest.mark.parametrize("upper", [UPPER, np.array([np.inf, 0.5])])
def test_the_least_inertia_of_a_joint_is_that_of_even_poses(judged, upper):
    expected = np.min([np.diag(inertia(q)) for q in poses(LOWER, upper)], axis=0)
    np.testing.assert_allclose(judged.find("rd_arm_inertia", ranges=(LOWER, upper)), expected)


def test_unknown_efforts_at_rest_are_a_quarter_of_the_weight_friction_and_a_share_of_the_limit(judged):
    weight = np.abs([pin.computeGeneralizedGravity(MODEL, DATA, q) for q in poses()]).max(axis=0)
    for limits in ((40.0, 15.0), (40.0, np.inf), (np.inf, 15.0)):
        judged.put(judged.settings, limits=limits)
        most = np.where(np.isfinite(limits), limits, weight.max())
        expected = 0.25 * weight + DRY + 0.02 * most
        np.testing.assert_allclose(judged.find("rd_arm_unknown_efforts"), expected)


@pytest.mark.parametrize("mode", ["computed_torque", "pd"])
def test_the_following_error_is_one_and_a_half_of_what_unknown_weight_and_friction_ask_for(mode):
    judged = Judged(mode=mode, kp=(900.0, 1600.0), kv=(60.0, 80.0))
    share = 1.25 if mode == "pd" else 0.25
    asked = []
    for q in poses():
        weight, mass = pin.computeGeneralizedGravity(MODEL, DATA, q), inertia(q)
        own = (share * np.abs(weight) + DRY) / np.diag(mass)
        asked.append(np.maximum(own, np.abs(np.linalg.solve(mass, share * weight))))
    wanted = 1.5 * np.max(asked, axis=0) / (900.0, 1600.0) + (0.02, 0.005)
    velocity, slides = judged.inner.ffi.new("double[]", [3.0, 2.0]), judged.inner.ffi.new("int32_t[]", [0, 1])
    most = np.minimum(0.1 * (UPPER - LOWER), np.array([60.0 * 3.0 / 900.0, 80.0 * 2.0 / 1600.0]))
    found = judged.find("rd_arm_following", velocity, slides)
    np.testing.assert_allclose(found, np.maximum((0.02, 0.005), np.minimum(wanted, most)))
    endless = (np.array([-1e3, -0.5]), np.array([1e3, 0.5]))
    found = judged.find("rd_arm_following", velocity, slides, ranges=endless)[0]
    assert found <= 0.2 and found >= 0.02
    judged.put(judged.settings, kp=(0.0, 1e9))
    found = judged.find("rd_arm_following", velocity, slides)
    np.testing.assert_allclose(found, (0.1 * 3.0, 0.005))


def test_thresholds_of_every_rule(judged):
    s, calls = judged.settings, judged.calls
    rules, made = s.rules, judged.inner.ffi.new("double[4]")

    def thresholds(name):
        count = calls.rd_rule_thresholds(s, 2, getattr(calls, f"RD_{name}"), made)
        return list(made[0:count])

    following, speed = list(rules.following[0:2]), list(rules.speed[0:2])
    rules.oscillation, rules.start_speed, rules.start_displacement = 0.02, 0.1, 0.5
    judged.put(s, limits=(40.0, 15.0))
    assert thresholds("FOLLOWING_ERROR") == following
    assert thresholds("OVERSPEED") == speed
    assert thresholds("OSCILLATION") == pytest.approx([0.06, 0.04])
    assert thresholds("START_SPEED") == pytest.approx([0.3, 0.2])
    assert thresholds("START_DISPLACEMENT") == pytest.approx([0.5 * each for each in following])
    assert thresholds("START_LOAD") == [40.0, 15.0]
    assert thresholds("START_EFFORT") == pytest.approx(list(rules.start_effort[0:2]))
    assert thresholds("REPEATED_FAULTS") == [2.0] and len(thresholds("DISPUTE")) == 1
    assert thresholds("POSE_ERROR") == [] and thresholds("NO_RULE") == []
    rules.pose = [0.02, 0.3]
    assert thresholds("POSE_ERROR") == [0.02, 0.3]
    rules.start_speed = rules.oscillation = rules.start_displacement = 0.0
    for name in ("OSCILLATION", "START_SPEED", "START_DISPLACEMENT", "START_LOAD", "START_EFFORT"):
        assert thresholds(name) == [np.inf, np.inf]
    rules.start_effort = judged.inner.ffi.NULL
    assert thresholds("START_EFFORT") == []
    floors = judged.inner.ffi.new("double[]", [3.0, 9.0, 5.0, 2.0, 4.0, 4.0])
    s.contact_floor, rules.contact = floors, calls.RD_CONTACT_HOLD
    for points, expected in ((0, [3.0, 9.0]), (1, [3.0, 9.0]), (2, [5.0, 9.0]), (3, [5.0, 9.0])):
        s.contact_points = points
        assert thresholds("CONTACT") == expected
    rules.contact = calls.RD_CONTACT_OFF
    assert thresholds("CONTACT") == []
    assert thresholds("SLOW_STATES") == pytest.approx(
        [2.0 * (min(s.kv[j] / s.kp[j], 1.0 / s.kv[j]) / 1.3 - rules.delay) for j in range(2)]
    )


def arrival(judged, mode="PD", ki=0.0, kp=200.0, inertia=0.5, settled=0.02, rotor=0.4, unit=b"rad"):
    s, ffi = judged.settings, judged.inner.ffi
    s.mode, s.ki[0], s.kp[0], s.settled[0] = getattr(judged.calls, f"RD_{mode}"), ki, kp, settled
    s.rotor_inertia[0] = rotor
    name = ffi.new("char[]", b"lift"), ffi.new("char[]", unit)
    return judged.inner.text("rd_arrival_text", s, 0, inertia, *name)


def test_a_joint_that_friction_may_stop_before_its_goal_is_told_with_a_remedy(judged):
    assert arrival(judged, settled=1.01 * DRY[0] / 100.0) == (0, "")
    found, text = arrival(judged, settled=0.99 * DRY[0] / 100.0)
    assert found == 2
    assert text.startswith(
        "lift may rest 0.04 rad from its goal: friction 4 over kp times inertia 100 N·m/rad; raise"
    )
    assert text.endswith(f"raise kp to {DRY[0] / (0.5 * 0.99 * DRY[0] / 100.0):.4g}")
    found, text = arrival(judged, unit=b"m", rotor=0.0)
    assert "100 N/m; declare its rotor_inertia, or raise kp to 400" in text
    found, text = arrival(judged, "COMPUTED_TORQUE")
    assert text.endswith("raise kp to 400, or switch ki on")
    half = 0.5 * judged.settings.rules.following[0]
    for share, expected in ((0.99, 2), (1.01, 0)):
        assert arrival(judged, "COMPUTED_TORQUE", ki=9.0, kp=DRY[0] / (0.5 * half) * share)[0] == expected
    assert arrival(judged, "FEEDFORWARD") == (0, "")
    assert arrival(judged, kp=0.0)[0] == 0


# A stop without states


@pytest.mark.parametrize("seed", range(4))
def test_an_effort_accelerates_the_arm_as_forward_dynamics_say(judged, seed):
    draw = np.random.default_rng(seed)
    q, qd, effort = draw.uniform(-0.4, 0.4, 2), draw.normal(size=2), 20.0 * draw.normal(size=2)
    given = [judged.inner.ffi.new("double[]", list(values)) for values in (q, qd, (0.0, 0.0), effort)]
    made = judged.inner.ffi.new("double[2]")
    assert judged.calls.rd_acceleration(judged.core, judged.settings, *given, made)
    bearing = pin.rnea(MODEL, DATA, q, qd, np.zeros(2))
    np.testing.assert_allclose(list(made), np.linalg.solve(inertia(q), effort - bearing), rtol=1e-9)


def blind(judged, age, place, velocity, left):
    """Begin a stop without states, so long after the last one at 4 s."""
    core = judged.core
    core.time, core.phase, core.has_left, core.current.plan = (
        4.0,
        judged.calls.RD_TRACKING,
        1,
        judged.inner.ffi.NULL,
    )
    core.stopping.kind, core.unseen = judged.calls.RD_STOP_HOLD, age
    core.stopping.path.plan, core.stopping.at, core.stopping.pace, core.stopping.where = (
        judged.inner.ffi.NULL,
        4.0,
        1.0,
        0.0,
    )
    judged.put(core, left=left)
    judged.put(core.state, position=place, velocity=velocity)
    judged.put(core.stopping, place=place, rate=velocity)
    judged.put(core.reference, velocity=(0.0, 0.0))
    return judged.calls.rd_begin_blind(core, age)


@pytest.mark.parametrize("age", [0.001, 0.05, 0.3])
def test_the_time_before_the_loss_was_noticed_is_simulated_under_the_last_efforts(judged, age):
    place, velocity, left = np.array([0.2, 0.1]), np.array([0.3, -0.2]), np.array([14.0, 3.0])
    assert blind(judged, age, place, velocity, left)

    def rates(_, state):
        q, qd = state[:2], state[2:]
        return [*qd, *np.linalg.solve(inertia(q), left - pin.rnea(MODEL, DATA, q, qd, np.zeros(2)))]

    end = solve_ivp(rates, (0.0, age), [*place, *velocity], rtol=1e-9, atol=1e-9).y[:, -1]
    found = judged.core.blind
    np.testing.assert_allclose(list(found.position[0:2]), end[:2], atol=1e-4)
    np.testing.assert_allclose(list(found.velocity[0:2]), end[2:], atol=1e-3)
    assert (found.active, found.since, found.rested) == (1, 0.0, -1.0)


def test_no_more_than_half_a_second_is_simulated(judged):
    place, left = np.array([0.2, 0.1]), np.array([14.0, 3.0])
    ends = []
    for age in (0.5, 0.7):
        blind(judged, age, place, (0.0, 0.0), left)
        ends.append(list(judged.core.blind.position[0:2]))
    assert ends[0] == ends[1]


def test_a_stop_without_states_needs_efforts_that_left_and_the_safe_output_that_it_is(judged):
    given = 0.01, (0.2, 0.1), (0.3, -0.2), (14.0, 3.0)
    assert blind(judged, *given)
    judged.settings.safe_output = judged.calls.RD_ZERO
    assert not blind(judged, *given) and not judged.core.blind.active


def test_its_efforts_bring_the_simulated_arm_along_the_reference_and_fade_at_rest(judged):
    core, s = judged.core, judged.settings
    s.safe_fade_time = 0.4
    judged.put(s, limits=(1e9, 1e9))
    assert blind(judged, 0.01, (0.2, 0.1), (0.3, -0.2), (14.0, 3.0))
    made = judged.inner.ffi.new("double[2]")
    judged.put(core.blind, position=(0.21, 0.09))
    assert judged.calls.rd_blind_effort(core, 0.0, made)
    q, qd = (np.array(list(values[0:2])) for values in (core.blind.position, core.blind.velocity))
    r, rd = (np.array(list(values[0:2])) for values in (core.reference.position, core.reference.velocity))
    after = np.array(list(core.ahead.velocity[0:2]))
    asked = (after - rd) / 0.01 + 20.0 * (rd - qd) + 100.0 * (r - q)
    sign = np.sign(rd)
    lost = sign * np.array([3.0, 2.0]) + np.array([0.5, -0.4])
    stribeck = np.array([0.5, -0.5]) * np.exp(-np.abs(rd) / 0.1)
    expected = pin.rnea(MODEL, DATA, q, qd, asked) + ROTORS * asked + lost + sign * stribeck
    assert np.abs(rd).min() > 0.05
    np.testing.assert_allclose(list(made), expected, rtol=0.02)
    judged.put(s, limits=(1.5, 0.5))
    assert judged.calls.rd_blind_effort(core, 0.0, made)
    np.testing.assert_allclose(np.abs(list(made)), (1.5, 0.5))
    core.stopping.kind = 0
    for since, share in ((1.0, 1.0), (1.1, 0.75), (1.5, 0.0)):
        core.blind.since = since
        assert judged.calls.rd_blind_effort(core, since, made)
        np.testing.assert_allclose(np.abs(list(made)), (1.5 * share, 0.5 * share))
