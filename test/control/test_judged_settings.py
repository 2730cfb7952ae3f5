"""Thresholds, stable gains and sufficient efforts, which the core derives from settings and a model."""

import re

import numpy as np
import pytest

from robot_dynamics.control.core.library import MODES, doubles, ffi, load_core
from robot_dynamics.control.core.sources import enumerators

INFINITE = np.inf
COMPUTED_TORQUE, FEEDFORWARD, PD = (MODES.index(name) for name in ("computed_torque", "feedforward", "pd"))
IMPEDANCE = MODES.index("joint_impedance")
STANDS, BARELY, FAILS = range(3)
NAMES = ["first", "second", "third"]
LOWER, UPPER = np.array([-2.0, -INFINITE, 0.1]), np.array([1.5, INFINITE, 0.5])
SLIDES = [0, 0, 1]


def inertia_at(q):
    matrix = np.diag([2.0 + np.cos(q[1]), 0.5 + 0.1 * np.sin(q[0]), 0.05 + 0.1 * q[2]])
    matrix[0, 1] = matrix[1, 0] = 0.6 * np.cos(q[1])
    return matrix


def weight_at(q):
    return np.array([20.0 * np.cos(q[0]), 4.0 * np.sin(q[0] + q[1]), 3.0 - 10.0 * q[2]])


RUBS = [1.0, 2.0, 3.0, 0.1, -0.5, 0.0, 0.2, 0.01]
VALUES = {
    "rotor_inertia": [0.3, 0.2, 0.1],
    "friction": [RUBS, [0.0] * 8, [0.5, 1.5, 0.5, 0.1, 0.25, 0.1, 0.0, 0.01]],
    "limits": [100.0, INFINITE, 30.0],
    "effort_steps": [40.0, INFINITE, 15.0],
    "velocity_limits": [2.0, 3.0, 0.5],
    "kp": [100.0, 64.0, 400.0],
    "kv": [20.0, 16.0, 40.0],
    "ki": [0.0, 0.0, 0.0],
    "settled": [0.02, 0.02, 0.005],
    "following": [0.5, 0.5, 0.1],
    "contact_floor": [[5.0, 6.0, 7.0], [8.0, 4.0, 9.0]],
}  # fmt: skip
RULES = {
    "following": [0.05, INFINITE, 0.01],
    "speed": [2.5, 3.5, 0.6],
    "start_effort": [4.0, 5.0, 6.0],
}
OF_RULES = {
    "pose": (0.1, 0.2),
    "oscillation": 0.15,
    "start_speed": 0.1,
    "start_displacement": 0.5,
    "delay": 0.0,
}


class Model:
    """Settings of an arm of three joints with a model in closed form."""

    def __init__(self, inertia=inertia_at, weight=weight_at, finite=True, ruled=True, **changes):
        @ffi().callback("int(const double *const *, double *)")
        def kernel(given, out):
            q, _, qdd = (np.frombuffer(ffi().buffer(given[k], 24)) for k in range(3))
            ffi().buffer(out, 24)[:] = (inertia(q) @ qdd + weight(q)).tobytes()
            return finite

        self.library, rules = load_core(), ffi().new("rd_rules *")
        plain = {"mode": COMPUTED_TORQUE, "driven": 1, "contact_points": 1}
        arrays = {name: np.array(changes.pop(name, default), dtype=float) for name, default in VALUES.items()}
        of_rules = {name: changes.pop(name, default) for name, default in OF_RULES.items()}
        rows = {name: np.array(changes.pop(f"rule_{name}", default)) for name, default in RULES.items()}
        self.values, self.settings = arrays | rows, ffi().new("rd_settings *")
        self.kept = [kernel, rules, *((name, doubles(array.ravel())) for name, array in arrays.items())]
        for name, pointer in self.kept[2:]:
            setattr(self.settings, name, pointer)
        for name, array in rows.items():
            self.kept.append(doubles(array))
            setattr(rules, name, self.kept[-1])
        for name, value in (of_rules | {"contact": changes.pop("contact", 0)}).items():
            setattr(rules, name, value)
        for name, value in (plain | changes).items():
            setattr(self.settings, name, value)
        self.settings.inverse_dynamics, self.settings.machine = kernel, self.library.rd_machine_arm()
        self.settings.rules = rules if ruled else ffi().NULL

    def found(self, judge, *given, size=3):
        out = np.full(size, -1.0)
        known = getattr(self.library, judge)(self.settings, 3, *given, doubles(out))
        return known, out

    def judged(self, judge, *given, names=NAMES):
        """Standing, and the line about it."""
        texts = [ffi().new("char[]", name.encode()) for name in names]
        text = ffi().new("char[]", 400)
        standing = getattr(self.library, judge)(
            self.settings, 3, *given, ffi().new("char *[]", texts), text, 400
        )
        return standing, ffi().string(text).decode()


def scattered(index, base):
    """Element of the sequence of van der Corput: its digits, mirrored at the point."""
    digits = []
    while index:
        index, digit = divmod(index, base)
        digits.append(digit)
    return sum(digit * float(base) ** -(k + 1) for k, digit in enumerate(digits))


LOW, HIGH = np.where(np.isinf(LOWER), -np.pi, LOWER), np.where(np.isinf(UPPER), np.pi, UPPER)
POSES = [LOW + (HIGH - LOW) * np.array([scattered(k + 1, base) for base in (2, 3, 5)]) for k in range(64)]
FRICTION = np.array([3.5, 0.0, 1.75])  # the larger of both, and the asymmetry
BOUNDS = doubles(LOWER), doubles(UPPER)


@pytest.mark.parametrize(("mode", "share"), [(COMPUTED_TORQUE, 0.25), (PD, 1.25)])
@pytest.mark.parametrize("driven", [0, 1])
def test_a_following_error_is_that_of_a_fifth_of_the_weight_and_the_friction(mode, share, driven):
    model, speed = Model(mode=mode, driven=driven), np.array([2.0, 3.0, 0.5])
    largest = np.zeros(3)
    for q in POSES:
        matrix = inertia_at(q) + driven * np.diag(model.values["rotor_inertia"])
        own = (share * np.abs(weight_at(q)) + driven * FRICTION) / np.diag(matrix)
        largest = np.maximum(largest, np.maximum(own, np.abs(np.linalg.solve(matrix, share * weight_at(q)))))
    least = np.array([0.02, 0.02, 0.005])
    kp, kv = model.values["kp"], model.values["kv"]
    most = np.minimum(np.array([0.35, INFINITE, 0.04]), kv * speed / kp)
    expected = np.maximum(least, np.minimum(1.5 * largest / kp + least, most))
    known, found = model.found("rd_arm_following", *BOUNDS, doubles(speed), ffi().new("int32_t[]", SLIDES))
    assert known
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_following_error_has_no_bound_without_a_gain_and_a_range_bounds_it():
    slides = ffi().new("int32_t[]", SLIDES)
    for speed, expected in (
        (np.full(3, INFINITE), [0.35, INFINITE, 0.04]),
        (np.zeros(3), [0.35, INFINITE, 0.04]),
    ):
        known, found = Model(kp=[0.0] * 3).found("rd_arm_following", *BOUNDS, doubles(speed), slides)
        assert known
        np.testing.assert_allclose(found, expected)
    small = Model(kp=[1e9] * 3).found("rd_arm_following", *BOUNDS, doubles(np.ones(3)), slides)[1]
    np.testing.assert_allclose(small, [0.02, 0.02, 0.005], rtol=1e-5)
    soft = Model(kp=[1e-6] * 3).found("rd_arm_following", *BOUNDS, doubles(np.full(3, 0.5)), slides)[1]
    np.testing.assert_allclose(soft, [0.35, 8e6, 0.04])


def test_a_joint_without_inertia_is_accelerated_by_nothing_of_its_own():
    hollow = Model(inertia=lambda q: np.diag([1.0, 0.0, 1.0]), rotor_inertia=[0.0] * 3)
    found = hollow.found("rd_arm_following", *BOUNDS, doubles(np.ones(3)), ffi().new("int32_t[]", SLIDES))[1]
    assert found[1] == 0.02


def test_unknown_efforts_at_rest_are_a_share_of_weight_and_limit_and_the_friction():
    heaviest = np.max([np.abs(weight_at(q)) for q in POSES], axis=0)
    limits = np.array([100.0, heaviest.max(), 30.0])  # without a limit as much as the heaviest joint bears
    known, found = Model().found("rd_arm_unknown_efforts", *BOUNDS)
    assert known
    np.testing.assert_allclose(found, 0.25 * heaviest + FRICTION + 0.02 * limits, rtol=1e-12)


def test_the_least_inertia_is_that_of_the_lightest_pose_with_its_rotor():
    for driven in (0, 1):
        known, found = Model(driven=driven).found("rd_arm_inertia", *BOUNDS)
        rotors = driven * np.array(VALUES["rotor_inertia"])
        assert known
        np.testing.assert_allclose(found, np.min([np.diag(inertia_at(q)) for q in POSES], axis=0) + rotors)


def test_a_model_without_finite_efforts_derives_nothing():
    model, slides = Model(finite=False), ffi().new("int32_t[]", SLIDES)
    assert not model.found("rd_arm_following", *BOUNDS, doubles(np.ones(3)), slides)[0]
    assert not model.found("rd_arm_unknown_efforts", *BOUNDS)[0]
    assert not model.found("rd_arm_inertia", *BOUNDS)[0]
    assert model.judged("rd_weight_text", doubles(np.zeros(3)), ffi().NULL) == (STANDS, "")


def arrival(model, joint, inertia, unit="rad"):
    text = ffi().new("char[]", 400)
    given = joint, inertia, NAMES[joint].encode(), unit.encode(), text, 400
    return model.library.rd_arrival_text(model.settings, *given), ffi().string(text).decode()


def test_a_joint_arrives_where_kp_overcomes_its_friction_within_the_settled_error():
    """Friction 3.5 over kp 100 is 0.02 rad from 1.75 kg m^2 on."""
    assert arrival(Model(), 0, 1.76)[0] == STANDS
    standing, line = arrival(Model(), 0, 1.74)
    assert standing == FAILS
    assert line == (
        f"first may rest {3.5 / 174.0:.3g} rad from its goal: friction 3.5 over kp times inertia 174 N·m/rad;"
        f" raise kp to {3.5 / (1.74 * 0.02):.4g}, or switch ki on"
    )
    line = arrival(Model(mode=PD, rotor_inertia=[0.0] * 3), 2, 0.5, "m")[1]
    assert line == (
        "third may rest 0.00875 m from its goal: friction 1.75 over kp times inertia 200 N/m;"
        " declare its rotor_inertia, or raise kp to 700"
    )
    for quiet in (Model(mode=FEEDFORWARD), Model(kp=[0.0] * 3), Model(driven=0)):
        assert arrival(quiet, 0, 0.1)[0] == STANDS
    assert arrival(Model(), 0, 0.0)[0] == STANDS


def test_an_estimated_load_lets_a_joint_arrive_up_to_half_the_following_error():
    """ki integrates as far as that: 0.025 rad by the rule, 0.25 rad of stops where the rule is off."""
    for changes, most in ({}, 0.025), ({"rule_following": [INFINITE] * 3}, 0.25), ({"ruled": False}, 0.25):
        model = Model(ki=[1.0] * 3, **changes)
        assert arrival(model, 0, 1.01 * 0.035 / most)[0] == STANDS
        standing, line = arrival(model, 0, 0.99 * 0.035 / most)
        assert standing == FAILS and "ki" not in line
        assert line.endswith(f"raise kp to {3.5 / (0.99 * 0.035):.4g}")
    assert arrival(Model(ki=[1.0] * 3, mode=PD), 0, 1.5)[0] == FAILS


FAST, FAST_KP = "'kv' is 40 for third: with a state every ", {"kp": [2000.0, 64.0, 400.0]}
STIFF = "'kp' is 2000 for first: with a state every 10.1 ms at most 1980"
LIMP = "'kv' is 0 for first: with a state every 4 ms at least 0.26 is stable"
EAGER = "'ki' is 513 for second: with its kp and kv at most 512 is stable"


@pytest.mark.parametrize(
    ("gains", "period", "delay", "standing", "line"),
    [
        # kv (T/2) < 1 of the third joint: 0.025 s; for half the inertia 0.0125 s, for 1/1.3 of it 0.01923 s.
        ({}, 0.01, 0.0, STANDS, ""),
        ({}, 0.0249, 0.0, STANDS, ""),
        ({}, 0.0251, 0.0, BARELY, FAST + "25.1 ms at most 39.84 stays stable"),
        ({}, 0.0384, 0.0, BARELY, "at most 26.04 stays stable where the inertia is half the model's"),
        ({}, 0.0385, 0.0, FAILS, FAST + "38.5 ms at most 39.96 is stable"),
        ({}, 0.0185, 0.01, FAILS, "every 18.5 ms and loop_delay at most 39.96 is stable"),
        ({}, 0.004, 0.01, STANDS, ""),
        # kp (T/2) < kv of the first joint: 0.01 s.
        (FAST_KP, 0.0099, 0.0, STANDS, ""),
        (FAST_KP, 0.0101, 0.0, BARELY, STIFF),
        (FAST_KP, 0.0155, 0.0, FAILS, "at most 1985 is stable"),
        ({"kv": [0.0, 16.0, 40.0]}, 0.004, 0.0, FAILS, LIMP),
        ({"kp": [0.0] * 3, "kv": [0.0] * 3}, 0.1, 0.0, STANDS, ""),
        ({}, 0.0, 0.1, STANDS, ""),
        ({}, 0.1, -1.0, STANDS, ""),
        ({"ki": [0.0, 513.0, 0.0]}, 0.001, 0.0, FAILS, EAGER),
        ({"ki": [0.0, 512.0, 0.0]}, 0.001, 0.0, STANDS, ""),
        ({"ki": [0.0, 513.0, 0.0], "mode": PD}, 0.001, 0.0, STANDS, ""),
    ],
)
def test_gains_of_the_weakest_joint_are_stable_with_period_and_delay(gains, period, delay, standing, line):
    found = Model(delay=delay, **gains).judged("rd_gains_text", period)
    assert found[0] == standing
    assert line in found[1] and bool(line) == bool(found[1])


SLOW = {"effort_steps": [0.1, INFINITE, 15.0]}


@pytest.mark.parametrize(
    ("changes", "period", "least"),
    [
        # 40 % of the limit of the first joint holds kp 100 for 0.08 s, 50 % of the third kp 400 for 0.05 s.
        ({}, 0.0499, ""),
        ({}, 0.0501, "is 0.5: with the kp of third and a state every 50.1 ms at least 0.501 holds"),
        (SLOW, 0.001, "is 0.001: with the kp of first and a state every 1 ms at least 0.005 holds"),
        ({"effort_steps": [0.49, INFINITE, 15.0]}, 0.001, "at least 0.005 holds the arm"),
        ({"effort_steps": [0.51, INFINITE, 15.0]}, 0.001, ""),
        ({"effort_steps": [0.1, INFINITE, 0.03]}, 0.001, "with the kp of third"),
        (SLOW | {"kp": [0.0] * 3}, 0.001, ""),
        (SLOW | {"mode": IMPEDANCE}, 0.001, ""),
        (SLOW | {"delay": -1.0}, 0.001, ""),
    ],
)
def test_steps_of_efforts_are_fast_enough_for_the_feedback(changes, period, least):
    standing, line = Model(**changes).judged("rd_gains_text", period)
    if least:
        assert standing == FAILS and line.startswith("parameter 'max_effort_step'") and least in line
    else:
        assert "max_effort_step" not in line


def test_the_longest_periods_are_those_that_gains_of_a_lighter_robot_stand():
    for delay, mode, expected in (
        (0.0, COMPUTED_TORQUE, np.array([0.1, 0.125, 0.05]) / 1.3),
        (0.01, COMPUTED_TORQUE, np.array([0.1, 0.125, 0.05]) / 1.3 - 0.02),
        (0.03, COMPUTED_TORQUE, [0.1 / 1.3 - 0.06, 0.125 / 1.3 - 0.06, 0.0]),
        (-1.0, COMPUTED_TORQUE, [INFINITE] * 3),
    ):
        model, out = Model(delay=delay, mode=mode), np.zeros(3)
        model.library.rd_longest_periods(model.settings, 3, doubles(out))
        np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_effort_limits_carry_the_weight_of_each_joint_where_they_are_lowered():
    place, before = np.array([0.0, 0.5 * np.pi, 0.1]), np.array([30.0, 5.0, 5.0])
    weight = weight_at(place)  # 20, 4, 2

    def judged(limits, earlier=None):
        given = ffi().NULL if earlier is None else doubles(earlier)
        return Model(limits=limits).judged("rd_weight_text", doubles(place), given)

    np.testing.assert_allclose(weight, [20.0, 4.0, 2.0])
    assert judged([20.0, 4.0, 2.0]) == (STANDS, "")
    assert judged([19.0, 3.0, 1.9]) == (
        FAILS, "by this model second needs 4 to hold the arm at rest here, but its limit is 3: ",
    )  # fmt: skip
    assert "first needs 20" in judged([10.0, 3.0, 1.9])[1]
    assert "third needs 2" in judged([30.0, 5.0, 1.0])[1]
    assert judged([19.0, 3.0, 1.9], np.array([19.0, 3.0, 1.9])) == (STANDS, "")
    assert "third" in judged([19.0, 3.0, 1.9], np.array([19.0, 3.0, 2.0]))[1]
    assert "second" in judged([19.0, 3.0, 1.9], before)[1]
    nowhere = Model(limits=[0.1] * 3).judged("rd_weight_text", doubles(np.full(3, np.nan)), ffi().NULL)
    assert nowhere == (STANDS, "")


LOAD = np.array([[1.0, 0.2, 0.0], [0.2, 2.0, 0.1], [0.0, 0.1, 0.05]])
CARRIED = np.array([5.0, -3.0, 1.0])


def loaded(period, external=(0.0, 0.0, 0.0), delay=0.0, **changes):
    """Standing of the gains until a declared load is on the arm."""
    place = np.array([0.3, -0.4, 0.2])
    before = Model(delay=delay)
    after = Model(lambda q: inertia_at(q) + LOAD, lambda q: weight_at(q) + CARRIED, delay=delay, **changes)
    given = before.settings, doubles(place), doubles(np.array(external, dtype=float)), period
    had = inertia_at(place) + np.diag(VALUES["rotor_inertia"])
    values, vectors = np.linalg.eig(np.linalg.solve(had, had + LOAD))
    ratio = values.max()
    joint = int(np.abs(vectors[:, values.argmax()]).argmax())
    return *after.judged("rd_load_text", *given), ratio, joint


def test_gains_stand_a_declared_load_that_is_not_on_the_arm_yet():
    """They act on the inertia without it: the largest ratio of both counts, here of the second joint."""
    ratio, joint = loaded(0.001)[2:]
    limit = 2.0 / (40.0 * ratio)  # of the period, with kv 40
    assert loaded(0.999 * limit)[:2] == (STANDS, "")
    standing, line, *_ = loaded(1.001 * limit)
    assert standing == FAILS
    numbers = [float(x) for x in re.findall(r"(?<![\w.])\d+\.?\d*(?:e[+-]\d+)?", line)]
    assert line.startswith(f"{NAMES[joint]} has {ratio:.3g} times the inertia")
    np.testing.assert_allclose(numbers, [ratio, 1001.0 * limit, 40.0 / 1.001], rtol=6e-3)
    assert loaded(1.001 * limit - 0.01, delay=0.005)[0] == FAILS
    assert loaded(0.999 * limit - 0.01, delay=0.005)[0] == STANDS
    for quiet in ({"mode": PD}, {"delay": -1.0}, {"finite": False}):
        assert loaded(1.5 * limit, **quiet)[0] == STANDS
    assert loaded(0.0)[0] == STANDS


def test_a_load_that_the_arm_feels_at_least_by_half_is_on_it():
    """External efforts of the load pull as its weight does: against the efforts that would carry it."""
    assert loaded(0.1, -0.51 * CARRIED)[0] == STANDS
    assert loaded(0.1, -0.49 * CARRIED)[0] == FAILS
    assert loaded(0.1, 0.51 * CARRIED)[0] == FAILS
    assert loaded(0.1, [-7.1, 0.0, 0.0])[0] == STANDS  # 35.5 of 35
    assert loaded(0.1, [-3.4, 0.0, 0.0])[0] == FAILS


def test_every_rule_has_the_thresholds_of_its_settings():
    names = list(enumerators("rd_rule"))

    def thresholds(model, name):
        count, out = model.found_rule(names.index(name))
        return out[:count].tolist()

    class Rules(Model):
        def found_rule(self, rule):
            out = np.full(4, -1.0)
            count = self.library.rd_rule_thresholds(self.settings, 3, rule, doubles(out))
            return count, out

    model, off = (
        Rules(contact=1),
        Rules(start_speed=0.0, oscillation=0.0, start_displacement=0.0, pose=(0.0, 0.0)),
    )
    expected = {
        "no_rule": [],
        "following_error": [0.05, INFINITE, 0.01],
        "pose_error": [0.1, 0.2],
        "overspeed": [2.5, 3.5, 0.6],
        "oscillation": [0.15 * 2.0, 0.15 * 3.0, 0.15 * 0.5],
        "start_speed": [0.1 * 2.0, 0.1 * 3.0, 0.1 * 0.5],
        "start_displacement": [0.025, INFINITE, 0.005],
        "start_load": [100.0, INFINITE, 30.0],
        "start_effort": [4.0, 5.0, 6.0],
        "repeated_faults": [2.0],
        "dispute": [0.7],
        "contact": [5.0, 6.0, 7.0],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(thresholds(model, name), values, err_msg=name)
    np.testing.assert_allclose(thresholds(model, "slow_states"), np.array([0.1, 0.125, 0.05]) / 1.3)
    for name in ("oscillation", "start_speed", "start_displacement", "start_load", "start_effort"):
        assert thresholds(off, name) == [INFINITE] * 3, name
    assert thresholds(off, "pose_error") == thresholds(off, "contact") == []
    assert thresholds(Rules(contact=1, contact_points=2), "contact") == [8.0, 6.0, 9.0]
    assert thresholds(Rules(contact=1, contact_points=0), "contact") == [5.0, 6.0, 7.0]
    unknown = Rules()
    unknown.settings.rules.start_effort = ffi().NULL
    assert thresholds(unknown, "start_effort") == []
    assert thresholds(unknown, "contact") == []
