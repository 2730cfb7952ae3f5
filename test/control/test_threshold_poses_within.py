"""Thresholds that are derived from a made-up model: the poses where it is asked, and what counts of them."""

from __future__ import annotations

import numpy as np
import pytest
from inner_core import inner

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
POSES = 64


def radical_inverse(index, base):
    """Digits of the index in a base, mirrored at the point."""
    value, weight = 0.0, 1.0 / base
    while index:
        value, index, weight = value + weight * (index % base), index // base, weight / base
    return value


class Model:
    """An arm of n joints whose efforts are those of a function of pose and acceleration."""

    def __init__(self, n, of, **numbers):
        self.ffi, self.calls = inner()
        self.n, self.asked, self.fails_at = n, [], None
        self.settings, self.kept = self.ffi.new("rd_settings *"), []
        self.lower, self.upper = np.linspace(-1.5, -0.5, n), np.linspace(0.5, 1.5, n)
        shares = [
            [radical_inverse(k + 1 + j // 16, PRIMES[j % 16]) for j in range(n)] for k in range(POSES + 1)
        ]
        self.shares = np.array(shares)
        self.indices = {round(share, 9): k for k, share in enumerate(self.shares[:, 0])}

        def dynamics(inputs, out):
            q, qd, qdd = (np.frombuffer(self.ffi.buffer(inputs[k], 8 * n)).copy() for k in range(3))
            assert not qd.any()
            self.asked.append(q)
            if len(self.asked) - 1 == self.fails_at:
                return 0
            self.ffi.memmove(out, np.ascontiguousarray(of(q, qdd), dtype=float), 8 * n)
            return 1

        self.kernel = self.ffi.callback("int(const double *const *, double *)", dynamics)
        s = self.settings
        s.inverse_dynamics, s.mode, s.driven = self.kernel, self.calls.RD_COMPUTED_TORQUE, 1
        self.put(friction=np.zeros(8 * n), rotor_inertia=np.zeros(n), limits=np.full(n, np.inf))
        self.put(kp=np.full(n, 100.0), kv=np.full(n, 20.0))
        self.put(**numbers)

    def put(self, **arrays):
        for name, values in arrays.items():
            made = self.ffi.new("double[]", np.ravel(values).tolist())
            self.kept.append(made)
            setattr(self.settings, name, made)

    def find(self, name, *given):
        """Values of the joints, None where the model has none; nothing is written behind them."""
        made = self.ffi.new("double[]", [0.77] * (self.n + 1))
        bounds = [self.ffi.new("double[]", values.tolist()) for values in (self.lower, self.upper)]
        self.asked.clear()
        found = getattr(self.calls, name)(self.settings, self.n, *bounds, *given, made)
        assert made[self.n] == 0.77 and found in (0, 1)
        return np.array(list(made)[: self.n]) if found else None

    def index(self, q):
        """Index of the pose; one beyond them is the last."""
        return self.indices[round(float((q[0] - self.lower[0]) / (self.upper[0] - self.lower[0])), 9)]


def test_poses_are_even_within_ranges_or_a_whole_turn_and_the_heaviest_of_all_counts():
    model = Model(20, lambda q, _: 3.0 * q)
    model.lower[[2, 5, 7, 9]], model.upper[[2, 5, 7, 9]] = (
        (-np.inf, 0.0, -600.0, -99.0),
        (np.inf, 1e3, 600.0, 900.0),
    )
    found = model.find("rd_arm_unknown_efforts")
    low, high = model.lower.copy(), model.upper.copy()
    low[[2, 5, 7]], high[[2, 5, 7]] = -np.pi, np.pi
    poses = low + (high - low) * model.shares[:POSES]
    np.testing.assert_allclose(model.asked, poses, rtol=1e-12)
    weight = 3.0 * np.abs(poses).max(axis=0)
    np.testing.assert_allclose(found, 0.25 * weight + 0.02 * weight.max())
    model.settings.driven = 0
    np.testing.assert_array_equal(model.find("rd_arm_unknown_efforts"), found)
    model = Model(3, lambda q, _: 0.0 * q)
    np.testing.assert_array_equal(model.find("rd_arm_unknown_efforts"), 0.0)


@pytest.mark.parametrize("name", ["rd_arm_unknown_efforts", "rd_arm_inertia", "rd_arm_following"])
def test_a_model_without_efforts_at_a_pose_has_no_thresholds(name):
    given = (np.full(3, 2.0), np.zeros(3, np.int32)) if name == "rd_arm_following" else ()
    model = Model(3, lambda q, qdd: q + qdd)
    given = [
        model.ffi.from_buffer(kind, each)
        for kind, each in zip(("double[]", "int32_t[]"), given, strict=False)
    ]
    assert model.find(name, *given) is not None
    asked = len(model.asked)
    for model.fails_at in (0, 1, 2, 3, asked - 1):
        assert model.find(name, *given) is None
        assert len(model.asked) == model.fails_at + 1


@pytest.mark.parametrize("name", ["rd_arm_unknown_efforts", "rd_arm_inertia"])
def test_up_to_64_joints_have_thresholds(name):
    for joints, asked in ((64, 1), (65, 0)):
        model = Model(joints, lambda q, _: q)
        model.fails_at = 0
        assert model.find(name) is None and len(model.asked) == asked


@pytest.mark.parametrize("special", [0, 1, POSES - 1])
def test_the_least_inertia_with_rotors_is_that_of_the_first_pose_as_of_the_last(special):
    rotors = np.array([0.3, 0.5, 0.2])

    def dynamics(q, qdd):
        factor = {special: 1.0, POSES: 0.1}.get(model.index(q), 2.0 + 0.1 * q[0])
        return q + factor * np.array([2.0, 5.0, 3.0]) * qdd + 0.7 * qdd.sum()

    model = Model(3, dynamics, rotor_inertia=rotors)
    np.testing.assert_allclose(model.find("rd_arm_inertia"), np.array([2.7, 5.7, 3.7]) + rotors)
    assert len(model.asked) == 4 * POSES
    model.settings.driven = 0
    np.testing.assert_allclose(model.find("rd_arm_inertia"), [2.7, 5.7, 3.7])


@pytest.mark.parametrize("special", [0, 1, POSES - 1])
def test_the_heaviest_pose_may_be_the_first_and_the_last(special):
    def dynamics(q, _):
        return {special: 1.0, POSES: 3.0}.get(model.index(q), 0.5) * np.array([20.0, -30.0, 10.0])

    model = Model(3, dynamics, limits=[50.0, np.inf, 200.0])
    found = model.find("rd_arm_unknown_efforts")
    np.testing.assert_allclose(
        found, 0.25 * np.array([20.0, 30.0, 10.0]) + 0.02 * np.array([50.0, 30.0, 200.0])
    )


MASS = np.array([[2.0, 0.5, -0.2], [0.5, 1.5, 0.3], [-0.2, 0.3, 1.1]])
DRY = np.array([[0.0, 3.0, 4.0, 0.1, -0.5, 0.0, 0.0, 0.0], [0.0, 2.0, 1.0, 0.1, 0.4, 0.0, 0.0, 0.0]])
FRICTION = np.vstack([DRY, np.zeros((1, 8))])


@pytest.mark.parametrize("mode", ["COMPUTED_TORQUE", "PD"])
@pytest.mark.parametrize("special", [0, 1, POSES - 1])
@pytest.mark.parametrize("order", [1, -1])
def test_unknown_weight_counts_by_itself_with_friction_and_through_other_joints(special, mode, order):
    weight = np.array([8.0, -2.0, 1.0])

    def dynamics(q, qdd):
        return {special: 1.0, POSES: 3.0}.get(model.index(q), 0.5) * weight + MASS @ qdd

    model = Model(3, dynamics, friction=FRICTION[::order], kp=[100.0, 0.5, 60.0])
    model.settings.mode = getattr(model.calls, f"RD_{mode}")
    share = 1.25 if mode == "PD" else 0.25
    dry = np.array([4.5, 2.4, 0.0])[::order]
    own = (share * np.abs(weight) + dry) / np.diag(MASS)
    through = np.abs(np.linalg.solve(MASS, share * weight))
    assert (own > through).any() and (through > own)[0 if order < 0 else 2]
    wanted = 1.5 * np.maximum(own, through) / (100.0, 0.5, 60.0) + (0.02, 0.005, 0.02)
    model.lower, model.upper = np.full(3, -400.0), np.full(3, 400.0)
    velocity, slides = model.ffi.new("double[]", [9e3] * 3), model.ffi.new("int32_t[]", [0, 2, 0])
    np.testing.assert_allclose(model.find("rd_arm_following", velocity, slides), np.minimum(wanted, 80.0))
    assert wanted[1] < 80.0


def test_the_following_error_is_bounded_by_a_tenth_of_the_range_and_by_the_speed_that_it_asks_for():
    model = Model(4, lambda _q, qdd: 1e6 + qdd, kp=[100.0, 200.0, 0.0, 50.0], kv=[20.0, 30.0, 10.0, 5.0])
    model.lower, model.upper = np.array([-3.0, -600.0, -1e4, 0.0]), np.array([4.0, 600.0, 1e4, 1e3])
    slides = model.ffi.new("int32_t[]", [0] * 4)
    velocity = model.ffi.new("double[]", [9.0, 2.0, 4.0, 2e3])
    expected = [0.7, 30.0 * 2.0 / 200.0, np.inf, 5.0 * 2e3 / 50.0]
    np.testing.assert_allclose(model.find("rd_arm_following", velocity, slides), expected)
    velocity[2], model.lower[2], model.upper[2] = 0.0, -1.0, 2.0
    assert model.find("rd_arm_following", velocity, slides)[2] == pytest.approx(0.3)
    velocity[0] = 0.001
    assert model.find("rd_arm_following", velocity, slides)[0] == 0.02


def test_joints_without_inertia_and_models_that_are_no_matrix_bound_nothing():
    """Friction alone counts then, where it can; exact zeros stay zero."""
    slides, velocity = inner()[0].new("int32_t[]", [0] * 3), inner()[0].new("double[]", [9e3] * 3)
    model = Model(3, lambda q, qdd: 4.0 + np.array([0.0, -1.0, 0.5]) * qdd, kp=[1.0] * 3)
    found = model.find("rd_arm_following", velocity, slides)
    np.testing.assert_allclose(found, (0.02, 0.02, min(0.2, 1.5 * 1.0 / 0.5 + 0.02)))
    model = Model(3, lambda q, qdd: 4.0 + np.array([0.0, -1.0, 80.0]) * qdd, kp=[1.0] * 3)
    assert model.find("rd_arm_following", velocity, slides)[2] == pytest.approx(1.5 / 80.0 + 0.02)


def arrival(model, mode="PD", kp=25.0, inertia=4.0, settled=0.04, ki=0.0):
    s, text = model.settings, model.ffi.new("char[]", 400)
    s.mode = getattr(model.calls, f"RD_{mode}")
    model.put(kp=[kp] * 3, ki=[ki] * 3, settled=[settled] * 3)
    names = model.ffi.new("char[]", b"lift"), model.ffi.new("char[]", b"rad")
    found = model.calls.rd_arrival_text(s, 0, inertia, *names, text, 400)
    return found, model.ffi.string(text).decode()


def test_a_joint_that_rests_where_it_is_settled_arrives():
    """Friction of 4 over a stiffness of 100."""
    model = Model(3, lambda q, _: q, friction=[0.0, 4.0, 3.0, *[0.0] * 5] * 3, following=[0.3] * 3)
    assert arrival(model)[0] == 0
    assert arrival(model, settled=0.0399)[0] == 2
    assert arrival(model, kp=0.1, settled=1.0)[0] == 2
    assert arrival(model, "COMPUTED_TORQUE", ki=0.5, settled=1e-3)[0] == 0
    model.settings.driven = 0
    assert arrival(model, settled=1e-9)[0] == 0


def test_an_estimate_bears_half_of_the_following_error_of_the_rule_or_of_the_settings():
    model = Model(3, lambda q, _: q, friction=[0.0, 4.0, 3.0, *[0.0] * 5] * 3, following=[0.07] * 3)
    assert arrival(model, "COMPUTED_TORQUE", ki=9.0)[0] == 2
    model.put(following=[0.09] * 3)
    assert arrival(model, "COMPUTED_TORQUE", ki=9.0)[0] == 0
    rules = model.settings.rules = model.ffi.new("rd_rules *")
    for following, found in ((0.07, 2), (0.09, 0), (np.inf, 0)):
        rules.following = kept = model.ffi.new("double[]", [following] * 3)
        assert arrival(model, "COMPUTED_TORQUE", ki=9.0)[0] == found, kept
    model.put(following=[0.07] * 3)
    assert arrival(model, "COMPUTED_TORQUE", ki=9.0)[0] == 2


def test_rules_write_no_more_thresholds_than_they_have():
    model = Model(3, lambda q, _: q)
    rules = model.settings.rules = model.ffi.new("rd_rules *")
    rules.contact, rules.start_speed = model.calls.RD_CONTACT_HOLD, 0.5
    model.put(contact_floor=[0.0, 2.0, 3.0, 9.0, 0.0, 0.0, 0.5])

    def thresholds(name):
        out = model.ffi.new("double[]", [0.77] * 8)
        count = model.calls.rd_rule_thresholds(model.settings, 3, getattr(model.calls, f"RD_{name}"), out)
        assert list(out)[count:] == [0.77] * (8 - count)
        return list(out)[:count]

    for points in (0, 1):
        model.settings.contact_points = points
        assert thresholds("CONTACT") == [0.0, 2.0, 3.0]
    assert thresholds("POSE_ERROR") == [] and thresholds("START_EFFORT") == [] and thresholds("NO_RULE") == []
    rules.pose = [0.3, 0.4]
    assert thresholds("POSE_ERROR") == [0.3, 0.4]
    assert len(thresholds("REPEATED_FAULTS")) == len(thresholds("DISPUTE")) == 1
    made = model.ffi.new("double[]", [1.0, 2.0, 4.0, 1e9])
    rules.start_effort = rules.following = rules.speed = made
    for name in ("START_EFFORT", "FOLLOWING_ERROR", "OVERSPEED"):
        assert thresholds(name) == [1.0, 2.0, 4.0]
