"""Efforts of a path are verified in continuous time: against dense samples, and against closed forms."""

import numpy as np
import pytest
from arms import GRAVITY, LENGTH, MASS, Pendulum, pendulum_chain, two_joint_chain
from hypothesis import given, settings
from hypothesis import strategies as st
from smooth_paths import opened

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.path_check import check_path
from robot_dynamics.control.arm.path_rules import IdentifiedRangeParameters, PathRules, TorqueCheckParameters
from robot_dynamics.control.arm.verified_torque import largest_efforts
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.dynamics.effort_curvature import EffortCurvature
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.resources import resource

DRIVES = ActuatorParameters(
    rotor_inertia=(0.2,),
    damping=(1.5,),
    friction=(2.0,),
    static_friction=(3.0,),
    friction_offset=(0.4,),
    load_friction=(0.15,),
)


@pytest.fixture(scope="module")
def puma():
    chain = load_urdf(resource("urdf/puma560.urdf").read_text(encoding="utf-8"))
    return chain, compile_dynamics(chain, friction=False)


def random_path(random, joints, reach=1.0):
    count = int(random.integers(2, 7))
    times = np.concatenate([[0.0], np.cumsum(random.uniform(0.1, 0.6, count))])
    positions = random.uniform(-reach, reach, (count + 1, joints))
    return waypoint_spline(times, positions, opened(*positions.shape), opened(*positions.shape))


def dense(model, spline, rate=20_000.0):
    times = np.linspace(0.0, spline.times[-1], int(rate * spline.times[-1]) + 1)
    return np.abs(model.inverse_dynamics(*map(np.ascontiguousarray, spline.at(times)))).max(axis=0)


@pytest.mark.long
@settings(deadline=None, derandomize=True, max_examples=12)
@given(seed=st.integers(0, 10_000))
def test_what_dense_sampling_finds_is_never_above_the_bound(puma, seed):
    random = np.random.default_rng(seed)
    chain, dynamics = puma
    loaded = dynamics.with_payload(RigidBody(2.0, np.array([0.0, 0.05, 0.1]), 1e-3 * np.eye(3)))
    arm = ActuatedArm(loaded, chain, DRIVES if seed % 2 else ActuatorParameters(friction=(0.0,)))
    spline = random_path(random, chain.dof)
    reached = dense(arm, spline)
    found = largest_efforts(chain, arm, spline, np.full(chain.dof, np.inf))
    assert (found.bound >= reached * (1.0 - 1e-12)).all()
    assert (found.bound <= 1.003 * np.abs(found.value)).all()
    at = arm.inverse_dynamics(*(row[0] for row in spline.at(found.time[:1])))
    assert at[0] == pytest.approx(found.value[0])
    beyond = largest_efforts(chain, arm, spline, reached * (1.0 - 1e-6), verdict_only=True)
    assert (beyond.bound > reached * (1.0 - 1e-6)).any()


def test_a_path_just_below_its_limits_is_accepted_and_one_just_above_is_not(puma):
    """Without dry friction, whose steps dense samples miss."""
    chain, dynamics = puma
    for seed in range(3):
        spline = random_path(np.random.default_rng(seed), chain.dof)
        peak = np.abs(largest_efforts(chain, dynamics, spline, dense(dynamics, spline)).value)
        for factor, kept in ((1.0 + 1e-6, True), (1.0 - 1e-6, False)):
            found = largest_efforts(chain, dynamics, spline, factor * peak, verdict_only=True)
            assert (found.bound <= factor * peak).all() == kept


def test_the_pendulum_needs_what_its_closed_form_says():
    """A slow quintic through the horizontal needs m g l there; a fast one m l² times its peak besides."""
    chain = pendulum_chain()
    model = compile_dynamics(chain, friction=False)
    rest = np.zeros((2, 1))
    spline = waypoint_spline(np.array([0.0, 200.0]), np.array([[0.0], [np.pi]]), rest, rest.copy())
    found = largest_efforts(chain, model, spline, np.array([np.inf]))
    assert found.value[0] == pytest.approx(MASS * GRAVITY * LENGTH, rel=2e-3)
    assert found.time[0] == pytest.approx(100.0, abs=2.0)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_efforts_bend_no_faster_than_their_bound(seed):
    """Against second differences, with one joint that turns and one that slides."""
    random = np.random.default_rng(seed)
    chain = two_joint_chain()
    model = compile_dynamics(chain, friction=False)
    spline = QuinticSpline(np.array([0.0, 1.0]), random.normal(size=(1, 6, 2)))
    h, time = 1e-3, random.uniform(0.1, 0.9)
    efforts = model.inverse_dynamics(
        *map(np.ascontiguousarray, spline.at(np.array([time - h, time, time + h])))
    )
    bent = np.abs(efforts[0] - 2.0 * efforts[1] + efforts[2]) / h**2
    columns = [np.polynomial.Polynomial(column) for column in spline.coefficients[0].T]
    near = np.linspace(time - h, time + h, 21)
    rates = [np.array([[np.abs(p.deriv(k)(near)).max() for p in columns]]) for k in range(1, 5)]
    positions = np.array([[np.abs(p(near)).max() for p in columns]])
    bound = EffortCurvature(chain, model.gravity_vector).of(rates, positions)[0]
    assert (bent <= bound * (1.0 + 1e-6)).all()


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(0, 10_000), st.floats(-0.3, 0.3), st.floats(0.0, 0.3))
def test_dry_friction_stays_in_its_range(seed, slowest, width):
    random = np.random.default_rng(seed)
    coulomb, static, share = random.uniform(0.0, 4.0), random.uniform(0.0, 4.0), random.uniform(-1.0, 1.0)
    light, heavy = np.sort(random.uniform(0.0, 20.0, 2))
    given = (0.0, coulomb, static, 0.05, share * min(coulomb, static), random.uniform(0.0, 0.3))
    law = DriveFriction(*(np.array([x]) for x in given))
    speeds = np.linspace(slowest, slowest + width, 400)[:, None]
    low, high = law.dry_range(speeds[0], speeds[-1], np.array([light]), np.array([heavy]))
    for load in np.linspace(light, heavy, 5):
        values = law.effort(speeds, None, np.array([load]))
        assert low[0] <= values.min() + 1e-12 and values.max() <= high[0] + 1e-12


@pytest.mark.parametrize("check", ["refuse", "warn", "off"])
def test_the_parameter_decides_and_the_answer_names_joint_time_value_and_limit(check):
    control = ArmController(pendulum_chain(effort=5.0), Pendulum(), ArmParameters())
    control.update(0.0, np.zeros(1), np.zeros(1))
    points, rules = [Waypoint(4.0, [1.5])], PathRules(torque=TorqueCheckParameters(check))
    if check == "refuse":
        with pytest.raises(
            TrajectoryError, match=r"'swing' needs .* N·m .* s after the start; its effort limit"
        ):
            control.plan(["swing"], points, control.plan_start(None), rules)
        return
    planned = control.plan(["swing"], points, control.plan_start(None), rules).trajectory
    assert len(planned.remarks) == (check == "warn")


def test_the_margin_is_taken_off_the_limit():
    control = ArmController(pendulum_chain(effort=6.5), Pendulum(), ArmParameters())
    control.update(0.0, np.zeros(1), np.zeros(1))
    for margin, remarks in ((0.0, 0), (0.2, 1)):
        rules = PathRules(torque=TorqueCheckParameters("warn", margin))
        planned = control.plan(["swing"], [Waypoint(20.0, [1.5])], control.plan_start(None), rules).trajectory
        assert len(planned.remarks) == remarks
    assert "torque_margin leaves 5.2" in planned.remarks[0]


@pytest.mark.parametrize(
    "ranges, words",
    [
        ((), ""),
        (([-0.2], [1.6], [1.0], [6.0]), ""),
        (([-0.2], [0.9], [], []), "swing goes to 1.500 (tested -0.200 to 0.900)"),
        (([], [], [0.3], []), "swing moves at 0.703 (tested to 0.300)"),
        (([], [], [], [2.0]), "swing needs 5.927"),
        (([0.0, 0.0], [], [], []), "have 2, 0, 0, 0 values; give 1 each"),
    ],
)
def test_a_trajectory_far_from_what_was_identified_is_remarked(ranges, words):
    control = ArmController(pendulum_chain(effort=9.0), Pendulum(), ArmParameters())
    control.update(0.0, np.zeros(1), np.zeros(1))
    rules = PathRules(identified=IdentifiedRangeParameters(*map(tuple, ranges)))
    path = control.plan(["swing"], [Waypoint(4.0, [1.5])], control.plan_start(None), rules).trajectory
    assert words in path.untested if words else not path.untested


def test_the_verdict_has_a_finding_for_every_limit(puma):
    chain, dynamics = puma
    rest = np.zeros((2, chain.dof))
    goal = np.full(chain.dof, 0.5)
    spline = waypoint_spline(np.array([0.0, 0.3]), np.vstack([rest[0], goal]), rest, rest.copy())
    limits = np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])
    verdict = check_path(chain, dynamics, spline, limits, PathRules(acceleration={"joint1": 20.0}))
    assert len(verdict.findings) == 4 * chain.dof
    worst = {(one.joint, one.quantity): one for one in verdict.exceeded}
    fastest = worst["joint1", "velocity"]
    assert fastest.value == pytest.approx(15.0 / 8.0 * 0.5 / 0.3) and fastest.time == pytest.approx(0.15)
    hardest = worst["joint1", "acceleration"]
    assert abs(hardest.value) == pytest.approx(10.0 / np.sqrt(3.0) * 0.5 / 0.09)
    assert verdict.sentence.startswith("exceeds ")
    slow = waypoint_spline(np.array([0.0, 9.0]), np.vstack([rest[0], goal]), rest, rest.copy())
    known = PathRules(acceleration=dict.fromkeys(chain.joint_names, 20.0))
    assert check_path(chain, dynamics, slow, limits, known).sentence == "keeps every limit in 9.000 s"
    unknown = check_path(chain, dynamics, slow, limits, PathRules()).sentence
    assert unknown == "keeps every limit of position, velocity and effort in 9.000 s"
