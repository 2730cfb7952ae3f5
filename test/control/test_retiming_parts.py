"""Parts of retiming around its computation: limits, models, waypoints that are verified, and its modes."""

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
from arms import Pendulum, pendulum_chain, two_joint_chain

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.path_rules import PathRules, TorqueCheckParameters
from robot_dynamics.control.retiming import executable as executing
from robot_dynamics.control.retiming import following, sources
from robot_dynamics.control.retiming.library import ffi
from robot_dynamics.control.retiming.limits import PathLimits
from robot_dynamics.control.retiming.model import DrivenModel
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline, minimum_jerk_spline
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.errors import ParameterError, TrajectoryError, WrongTypeError

CRANE = two_joint_chain()
LAW = [field.name for field in dataclasses.fields(DriveFriction)]
NO_FRICTION = np.zeros((2, len(LAW)))


class Sum:
    """Efforts whose parts can be told from each other."""

    def inverse_dynamics(self, q, qd, qdd, heading=None):
        return q + 10.0 * qd + 100.0 * qdd


def test_limits_of_a_description_are_velocities_and_efforts():
    limits = PathLimits.of(CRANE)
    np.testing.assert_array_equal(limits.velocity, [3.0, 2.0])
    np.testing.assert_array_equal(limits.effort, [40.0, 15.0])
    assert limits.acceleration is None and limits.effort_rate is None
    with pytest.raises(WrongTypeError, match="chain"):
        PathLimits.of("a chain")
    assert PathLimits() == PathLimits(None, None, None, None)
    np.testing.assert_array_equal(limits.of(CRANE).effort, [40.0, 15.0])


def test_limits_are_one_for_all_or_one_for_each_and_else_infinite():
    arrays = PathLimits(velocity=2, acceleration=[3.0], effort=[4.0, np.inf]).arrays(CRANE)
    assert {name: values.tolist() for name, values in arrays.items()} == {
        "velocity": [2.0, 2.0],
        "acceleration": [3.0, 3.0],
        "effort": [4.0, np.inf],
        "effort_rate": [np.inf, np.inf],
    }
    assert list(arrays) == ["velocity", "acceleration", "effort", "effort_rate"]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"velocity": [1.0, 0.0]}, "velocity of joint 'turn' is 0 rad/s or m/s; it must be above 0"),
        ({"acceleration": -2.0}, "acceleration of joint 'lift' is -2 rad/s² or m/s²; it must be above 0"),
        ({"effort": [np.nan, -1.0]}, "effort of joint 'lift' is nan N·m or N; it must be above 0"),
        (
            {"effort_rate": [1.0, -0.5]},
            "effort_rate of joint 'turn' is -0.5 N·m/s or N/s; it must be above 0",
        ),
        ({"effort": [1.0, 2.0, 3.0]}, "effort is [1.0, 2.0, 3.0]; give one number, or 2: one per joint"),
    ],
)
def test_limits_that_are_none_name_the_joint_and_its_unit(limits, message):
    with pytest.raises(ParameterError) as found:
        PathLimits(**limits).arrays(CRANE)
    assert str(found.value) == f"limits: {message}"


def drives(**given):
    return ActuatorParameters(damping=(0.5, 0.25), friction=(2.0, 3.0), rotor_inertia=(0.1, 0.2), **given)


def test_efforts_are_those_of_the_links_the_rotors_and_the_friction():
    arm = ActuatedArm(Sum(), CRANE, drives())
    driven = DrivenModel.of(arm, CRANE)
    assert driven.of(arm, CRANE).chain is CRANE
    assert driven.chain is CRANE and driven.links is arm.links
    np.testing.assert_array_equal(driven.rotor_inertia, [0.1, 0.2])
    np.testing.assert_array_equal(driven.friction, arm.drives.friction.matrix)
    assert driven.friction.flags.c_contiguous
    np.testing.assert_array_equal(driven.load_friction, [0.0, 0.0])
    q, qd, qdd = np.array([[0.3, -0.4]]), np.array([[50.0, -60.0]]), np.array([[0.7, -0.9]])
    expected = q + (10.0 + np.array([0.5, 0.25])) * qd + (100.0 + np.array([0.1, 0.2])) * qdd + [2.0, -3.0]
    np.testing.assert_allclose(driven.efforts(q, qd, qdd), expected)
    np.testing.assert_allclose(
        dataclasses.replace(driven, friction=driven.friction_with(0.5)).efforts(q, qd, qdd),
        expected + 0.5 * np.sign(qd) * np.abs(Sum().inverse_dynamics(q, qd, qdd)),
    )
    assert DrivenModel(CRANE, Sum(), np.zeros(2), NO_FRICTION).load_friction.tolist() == [0.0, 0.0]


def test_friction_has_all_parameters_and_another_share_of_the_load_changes_no_other():
    parameters = np.arange(2.0 * len(LAW)).reshape(2, -1)
    driven = DrivenModel(CRANE, Sum(), np.zeros(2), parameters.copy())
    np.testing.assert_array_equal(driven.load_friction, parameters[:, LAW.index("load_friction")])
    changed = driven.friction_with(np.array([0.25, 0.5]))
    np.testing.assert_array_equal(changed[:, LAW.index("load_friction")], [0.25, 0.5])
    others = [k for k, name in enumerate(LAW) if name != "load_friction"]
    np.testing.assert_array_equal(changed[:, others], parameters[:, others])
    np.testing.assert_array_equal(driven.friction, parameters)
    assert changed.flags.c_contiguous


def test_friction_of_another_shape_is_refused():
    message = f"friction has the shape (2, 5); it must be (2, {len(LAW)})"
    with pytest.raises(ParameterError, match=f"^{re.escape(message)}$"):
        DrivenModel(CRANE, Sum(), np.zeros(2), np.zeros((2, 5)))


def test_models_that_are_none_are_refused():
    with pytest.raises(ParameterError, match=r"^the arm's links are no compiled dynamics: give the chain$"):
        DrivenModel.of(ActuatedArm(Sum(), CRANE, drives()))
    with pytest.raises(WrongTypeError) as found:
        DrivenModel.of(7)
    assert str(found.value) == "model is 7; it must be a KinematicChain, CompiledDynamics or ActuatedArm"


def called(driven, rows):
    """Result of a model's function for states (rows, n) by pointers: code, states, efforts and errors."""
    declared = ffi()
    function, constants, failures = driven.kernel()
    assert constants == ()
    random = np.random.default_rng(rows)
    states, out = random.normal(size=(3, rows, 2)), np.full((rows, 2), 7.0)
    pointers = declared.new("double *[]", [declared.from_buffer("double[]", state) for state in states])
    result = function(rows, pointers, declared.from_buffer("double[]", out))
    return result, states, out, failures


@pytest.mark.parametrize("rows", [1, 3, 4])
def test_any_model_is_called_with_rows_of_states(rows):
    result, states, out, failures = called(DrivenModel(CRANE, Sum(), np.zeros(2), NO_FRICTION), rows)
    assert result == 1 and not failures
    np.testing.assert_allclose(out, states[0] + 10.0 * states[1] + 100.0 * states[2])


def test_errors_of_a_model_are_kept_and_not_raised_through_c():
    class Broken:
        def inverse_dynamics(self, q, qd, qdd):
            raise KeyError("here")

    result, _, out, failures = called(DrivenModel(CRANE, Broken(), np.zeros(2), NO_FRICTION), 2)
    assert result == 0 and (out == 7.0).all()
    assert [type(error) for error in failures] == [KeyError]


def test_limits_of_waypoints_are_the_smaller_ones_of_the_chain_and_the_rules():
    rules = PathRules(velocity={"turn": 1.5, "lift": 5.0}, acceleration={"lift": 4.0})
    limits = executing.path_limits(CRANE, np.array([7.0, 8.0]), rules)
    np.testing.assert_array_equal(limits.velocity, [3.0, 1.5])
    np.testing.assert_array_equal(limits.acceleration, [4.0, np.inf])
    np.testing.assert_array_equal(limits.effort, [7.0, 8.0])
    assert limits.effort_rate is None
    free = executing.path_limits(CRANE, np.array([7.0, 8.0]), PathRules(), 9.0)
    np.testing.assert_array_equal(free.velocity, [3.0, 2.0])
    assert free.effort_rate == 9.0 and np.isinf(free.acceleration).all()


TABLE = WaypointTable(np.array([0.0, 1.0, 2.5]), *np.random.default_rng(1).normal(size=(3, 3, 2)))
PATH = minimum_jerk_spline(
    np.array([3.0, 5.0]), np.array([[0.0, 0.0], [1.0, 0.4]]), np.zeros((2, 2)), np.zeros((2, 2))
)


def finding(quantity, joint, share):
    return SimpleNamespace(
        quantity=quantity, joint=joint, share=share, message=f"{joint} is beyond its {quantity}"
    )


class Rounds:
    """Stands for retiming and the check of its waypoints: notes the limits, gives findings round by round."""

    def __init__(self, monkeypatch, module, findings, failing=()):
        self.limits, self.words, self.checked, rounds = [], [], [], self

        def retime(driven, spline, limits, **words):
            rounds.limits.append(
                {one.name: np.array(getattr(limits, one.name)) for one in dataclasses.fields(limits)}
            )
            rounds.words.append(words)
            assert isinstance(driven, DrivenModel) and spline is PATH
            if len(rounds.limits) in failing:
                raise TrajectoryError("there is none")
            return SimpleNamespace(table=lambda: TABLE, number=len(rounds.limits))

        def check(chain, arm, spline, efforts, rules):
            rounds.checked.append(spline)
            exceeded = findings[min(len(rounds.checked), len(findings)) - 1]
            return SimpleNamespace(exceeded=tuple(exceeded))

        monkeypatch.setattr(module, "retime", retime, raising=False)
        monkeypatch.setattr(module, "check_path", check)


ARM = ActuatedArm(Sum(), CRANE, drives())


def run(**words):
    return executing.executable(CRANE, ARM, PATH, np.array([40.0, 15.0]), PathRules(), **words)


def test_limits_that_the_waypoints_exceed_are_lowered_until_none_is(monkeypatch):
    first = [
        finding("velocity", "turn", 1.25),
        finding("effort", "lift", 1.1),
        finding("position", "lift", 9.0),
    ]
    rounds = Rounds(
        monkeypatch,
        executing,
        [first, [finding("velocity", "turn", 1.5)], [finding("position", "lift", 2.0)]],
    )
    table, made, verdict = run(slower=True, intervals=77, effort_rate=12.0)
    assert table is TABLE and made.number == 3 and verdict.exceeded[0].quantity == "position"
    assert rounds.words == [{"slower": True, "intervals": 77}] * 3
    velocity = [3.0, 2.0 * 0.997 / 1.25]
    np.testing.assert_allclose(rounds.limits[0]["velocity"], [3.0, 2.0])
    np.testing.assert_allclose(rounds.limits[1]["velocity"], velocity)
    np.testing.assert_allclose(rounds.limits[1]["effort"], [40.0 * 0.997 / 1.1, 15.0])
    np.testing.assert_allclose(rounds.limits[2]["velocity"], [3.0, velocity[1] * 0.997 / 1.5])
    np.testing.assert_allclose(rounds.limits[2]["effort"], [40.0 * 0.997 / 1.1, 15.0])
    np.testing.assert_allclose(rounds.limits[0]["effort_rate"], 12.0)
    expected = waypoint_spline(TABLE.times, TABLE.positions, TABLE.velocities, TABLE.accelerations)
    np.testing.assert_array_equal(rounds.checked[0].coefficients, expected.coefficients)


def test_limits_are_lowered_fifteen_times_and_the_last_verdict_is_given(monkeypatch):
    rounds = Rounds(monkeypatch, executing, [[finding("effort", "lift", 1.01)]])
    _, made, verdict = run()
    assert (made.number, len(rounds.limits), len(verdict.exceeded)) == (15, 15, 1)
    assert rounds.words[0] == {"slower": False, "intervals": 1000}


def test_where_lower_limits_permit_no_motion_the_one_before_is_given(monkeypatch):
    Rounds(monkeypatch, executing, [[finding("effort", "lift", 1.01)]], failing=(3,))
    assert run()[1].number == 2
    Rounds(monkeypatch, executing, [[]], failing=(1,))
    with pytest.raises(TrajectoryError, match="there is none"):
        run()


def rules(mode, margin=0.0):
    return PathRules(torque=TorqueCheckParameters("refuse", margin, mode))


def test_retiming_that_is_off_is_none_and_a_path_that_stands_stays():
    assert following.retimed(CRANE, ARM, np.ones(2), rules("off")) is None
    still = QuinticSpline(PATH.times, np.eye(6, 2)[None] * 0.0)
    still.coefficients[0, 0] = 0.5
    for mode in ("slower", "fastest"):
        assert following.retimed(CRANE, ARM, np.ones(2), rules(mode))(still) is still


@pytest.mark.parametrize("mode", ["slower", "fastest"])
def test_retiming_needs_a_model_of_links_and_actuators(mode):
    with pytest.raises(TrajectoryError) as found:
        following.retimed(pendulum_chain(), Pendulum(), np.ones(1), rules(mode))(PATH)
    assert str(found.value) == f"retime '{mode}' needs a model of links and actuators; set it to 'off'"


@pytest.mark.parametrize("mode", ["slower", "fastest"])
def test_only_a_path_that_is_too_fast_is_retimed_where_it_may_only_become_slower(monkeypatch, mode):
    asked, verdicts = [], {}

    def executable(chain, arm, spline, efforts, rules, slower, intervals):
        asked.append((efforts.tolist(), slower, intervals))
        return TABLE, None, SimpleNamespace(exceeded=verdicts.get("after", ()))

    def check(chain, arm, spline, efforts, rules):
        assert efforts.tolist() == [30.0, 15.0]
        return SimpleNamespace(exceeded=verdicts.get("before", ()))

    monkeypatch.setattr(following, "executable", executable)
    monkeypatch.setattr(following, "check_path", check)
    retiming = following.retimed(CRANE, ARM, np.array([40.0, 20.0]), rules(mode, 0.25))
    verdicts["before"] = (finding("position", "lift", 1.5),)
    kept = retiming(PATH)
    assert (kept is PATH) == (mode == "slower") and len(asked) == (mode == "fastest")
    verdicts["before"] += (finding("effort", "lift", 1.5),)
    made = retiming(PATH)
    np.testing.assert_allclose(made.times, 3.0 + TABLE.times)
    expected = waypoint_spline(3.0 + TABLE.times, TABLE.positions, TABLE.velocities, TABLE.accelerations)
    np.testing.assert_array_equal(made.coefficients, expected.coefficients)
    assert asked[-1] == ([30.0, 15.0], mode == "slower", 400)
    verdicts["after"] = (finding("position", "lift", 2.0),)
    retiming(PATH)
    verdicts["after"] += (finding("velocity", "turn", 2.0), finding("effort", "turn", 2.0))
    with pytest.raises(TrajectoryError) as found:
        retiming(PATH)
    assert str(found.value) == "retimed, it still exceeds a limit: turn is beyond its velocity"


@pytest.mark.parametrize(
    ("identity", "wide"),
    [("sse avx2 x fma", True), ("fma avx2", True), ("avx2", False), ("fma sse", False), ("avx2fma", False)],
)
def test_wide_code_needs_two_features_of_the_processor(monkeypatch, identity, wide):
    monkeypatch.setattr(sources, "cpu_identity", lambda: identity)
    assert sources.wide() is wide


def test_the_source_has_the_friction_of_the_core_first_and_every_file_once():
    text = sources.retiming_source()
    assert text.count("int rd_retime(") >= 1
    assert set(sources.FLAGS) < set(sources.WIDE) and {"-mavx2", "-mfma"} < set(sources.WIDE)
