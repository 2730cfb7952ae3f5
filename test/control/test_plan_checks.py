"""Checks of plans against efforts and against tested ranges; stops within efforts; measured joints."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from arms import WEIGHT, Masses, Pendulum, two_joint_chain
from smooth_paths import rest_to_rest
from two_arms import TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.control.arm import plan_checks
from robot_dynamics.control.arm.measured import GAP, MOST_OF_LIMIT, NOTABLE, MeasuredJoints, measured_bounds
from robot_dynamics.control.arm.path_rules import IdentifiedRangeParameters, TorqueCheckParameters
from robot_dynamics.control.arm.plan_checks import beyond_tested, torque_checked
from robot_dynamics.control.arm.stopping import stop_within
from robot_dynamics.control.arm.trajectory import Trajectory
from robot_dynamics.control.arm.verified_torque import LargestEfforts
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.errors import ParameterError, StateError, TrajectoryError
from robot_dynamics.model.chain import JointKind, JointLimits

TWO_MASSES = Masses((2.0, 3.0), (5.0, -4.0))


def trajectory(first=(0.0, 1.0), second=(0.0, 1.0), start=2.0, duration=1.0, **more):
    """Both joints from rest to rest by quintics."""
    rows = np.zeros((1, 6, 2))
    for j, (begin, end) in enumerate((first, second)):
        rows[0, :, j] = rest_to_rest(begin, end)
    return Trajectory(QuinticSpline(np.array([start, start + duration]), rows), **more)


# Efforts of a plan

LARGEST = LargestEfforts(np.array([-7.0, 9.5]), np.array([2.25, 2.5]), np.array([7.5, 9.0]))


@pytest.fixture
def found(monkeypatch):
    """Calls of the search for the largest efforts, whose result is given."""
    asked = []

    def largest(chain, model, spline, limits, verdict_only=False):
        asked.append((chain, model, spline, limits.tolist(), verdict_only))
        if isinstance(asked[0], Exception):
            raise asked[0]
        return LARGEST

    monkeypatch.setattr(plan_checks, "largest_efforts", largest)
    return asked


def checked(limits, check="warn", margin=0.0, sent=None):
    sent = sent or trajectory(remarks=("own",))
    parameters = TorqueCheckParameters(check, margin)
    return torque_checked(two_joint_chain(), "model", sent, np.array(limits), parameters)


LIFT = "joint 'lift' needs 7.5000 N·m 0.250 s after the start; its effort limit is 5.0000 N·m"
TURN = "joint 'turn' needs 9.5000 N 0.500 s after the start; its effort limit is 8.0000 N"


def test_joints_beyond_their_limits_are_remarked_the_farthest_first(found):
    sent = trajectory(remarks=("own",))
    answer = checked((5.0, 8.0), sent=sent)
    assert answer.remarks == ("own", LIFT, TURN)
    assert answer == replace(sent, remarks=answer.remarks)
    assert found[0][1:] == ("model", sent.spline, [5.0, 8.0], True)
    assert checked((7.0, 5.0)).remarks[1].startswith("joint 'turn' needs 9.5000 N 0.500 s")
    assert checked((7.5, 9.0)).remarks == ("own",)
    assert checked((7.49, 9.0)).remarks[1:] == (LIFT.replace("5.0000 N·m", "7.4900 N·m"),)
    assert checked((np.inf, 8.0)).remarks == ("own", TURN)


def test_a_margin_is_left_free_and_told(found):
    assert checked((10.0, 11.0), margin=0.0).remarks == ("own",)
    assert checked((10.0, 11.0), margin=0.25).remarks == (
        "own",
        "joint 'turn' needs 9.5000 N 0.500 s after the start; its effort limit is 11.0000 N, of which"
        " torque_margin leaves 8.2500",
    )
    assert found[-1][3] == [7.5, 8.25]


def test_a_plan_is_refused_with_its_reasons_or_not_looked_at(found, monkeypatch):
    with pytest.raises(TrajectoryError) as told:
        checked((5.0, 8.0), "refuse")
    assert str(told.value) == f"{LIFT}; {TURN}"
    assert checked((8.0, 10.0), "refuse").remarks == ("own",)
    found.clear()
    sent = trajectory()
    assert checked((5.0, 8.0), "off", sent=sent) is sent and checked((np.inf, np.inf), sent=sent) is sent
    assert checked((np.inf, np.inf), "refuse", sent=sent) is sent and not found
    found.append(TrajectoryError("too near for too long"))
    assert checked((5.0, 8.0)).remarks == ("own", "too near for too long")
    with pytest.raises(TrajectoryError, match=r"^too near for too long$"):
        checked((5.0, 8.0), "refuse")
    many = LargestEfforts(np.full(4, 3.0), np.full(4, 2.0), np.array([6.0, 5.0, 4.0, 3.0]))
    monkeypatch.setattr(plan_checks, "largest_efforts", lambda *given, **more: many)
    joint = SimpleNamespace(kind=JointKind.REVOLUTE)
    chain = SimpleNamespace(joint_names="abcd", driving_joint=lambda j: joint)
    with pytest.raises(TrajectoryError) as told:
        torque_checked(chain, "model", sent, np.ones(4), TorqueCheckParameters("refuse"))
    assert [part[:9] for part in str(told.value).split("; joint")] == ["joint 'a'", " 'b' need", " 'c' need"]


# Tested ranges


def remark(sent, **ranges):
    given = {f"tested_{name}": value for name, value in ranges.items()}
    return beyond_tested(two_joint_chain(), TWO_MASSES, sent, IdentifiedRangeParameters(**given))


BEGIN = "the model was not identified for this trajectory: "
END = ". Its efforts may be wrong there; record such motion and identify again"


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ({}, ""),
        # Half of the range's width beyond it is let pass: 0.4 to 0.8, and 0.1 at least.
        ({"lower": (0.1, -9.0), "upper": (0.701, 9.0)}, ""),
        ({"lower": (0.1, -9.0), "upper": (0.699, 9.0)}, "lift goes to 1.000 (tested 0.100 to 0.699)"),
        ({"lower": (-9.0, 0.3), "upper": (9.0, 1.0)}, ""),
        ({"lower": (-9.0, 0.34), "upper": (9.0, 1.0)}, "turn goes to 0.000 (tested 0.340 to 1.000)"),
        ({"lower": (-9.0, 0.85), "upper": (9.0, 0.91)}, "turn goes to 0.000 (tested 0.850 to 0.910)"),
        ({"upper": (0.5, 0.5)}, ""),
        ({"lower": (0.95, 0.0), "upper": (0.96, 1.0)}, "lift goes to 0.000 (tested 0.950 to 0.960)"),
        ({"lower": (0.05, 0.0), "upper": (0.06, 1.0)}, "lift goes to 1.000 (tested 0.050 to 0.060)"),
        ({"lower": (0.0, 0.0), "upper": (0.901, 1.0)}, ""),
        # Twice the speed: 15/8 of the mean.
        ({"velocity": (0.938, 5.0)}, ""),
        ({"velocity": (0.937, 5.0)}, "lift moves at 1.875 (tested to 0.937)"),
        # One and a half of the effort: weights and 10/sqrt(3) of the acceleration.
        ({"effort": (11.05, 14.3)}, ""),
        ({"effort": (11.0, 14.3)}, "lift needs 16.54"),
        ({"effort": (90.0, 14.1)}, "turn needs 21.32"),
        ({"velocity": (0.5, 0.6)}, "lift moves at 1.875 (tested to 0.500), turn moves at 1.875 (tested to"
                                   " 0.600)"),
    ],
)  # fmt: skip
def test_a_trajectory_far_beyond_a_tested_range_is_remarked(ranges, words):
    found = remark(trajectory(), **ranges)
    if not words:
        assert found == ""
    elif words.startswith(("lift needs", "turn needs")):
        assert found.startswith(BEGIN + words) and found.endswith(END)
    else:
        assert found == BEGIN + words + END


def test_the_farther_end_of_a_range_is_named():
    for way, place in (
        ((-0.6, 1.0), "-0.600"),
        ((-0.2, 1.6), "1.600"),
        ((1.6, -0.2), "1.600"),
        ((0.9, -0.1), "-0.100"),
    ):
        found = remark(trajectory(first=way), lower=(0.5, -9.0), upper=(0.6, 9.0))
        assert found == f"{BEGIN}lift goes to {place} (tested 0.500 to 0.600){END}"


def test_four_findings_are_named_and_the_others_counted():
    every = {"lower": (5.0, 5.0), "upper": (5.1, 5.1), "velocity": (0.1, 0.1), "effort": (0.1, 0.1)}
    found = remark(trajectory(), **every)
    assert found.count("tested") == 4 and f" and 2 more{END}" in found
    four = remark(trajectory(), velocity=(0.1, 0.1), effort=(0.1, 0.1))
    assert four.count("tested") == 4 and "more." not in four
    assert found.startswith(
        f"{BEGIN}lift goes to 0.000 (tested 5.000 to 5.100), lift moves at 1.875 (tested to 0.100), lift"
    )


def test_ranges_of_other_sizes_are_compared_with_nothing():
    assert remark(trajectory(), lower=(1.0,), velocity=(1.0, 2.0, 3.0), effort=(1.0, 2.0)) == (
        "tested_lower, _upper, _velocity and _effort have 1, 0, 3, 2 values; give 2 each, or none: nothing is"
        " compared with them"
    )


def test_efforts_of_the_whole_trajectory_count():
    """The largest acceleration is at both ends of the first and last fifth; here at the last moment."""
    rows = np.zeros((1, 6, 2))
    rows[0, 3, 0] = 1.0  # acceleration 6 s
    sent = Trajectory(QuinticSpline(np.array([3.0, 4.0]), rows))
    assert remark(sent, effort=(16.99 / 1.5, 99.0)).startswith(BEGIN + "lift needs 17.000")
    assert remark(sent, effort=(17.01 / 1.5, 99.0)) == ""


def test_efforts_are_compared_at_two_hundred_moments():
    sizes = []

    class Counting(Masses):
        def inverse_dynamics(self, q, v, a, heading=None):
            sizes.append(len(q))
            return super().inverse_dynamics(q, v, a)

    known = IdentifiedRangeParameters(tested_effort=(99.0, 99.0))
    model = Counting((2.0, 3.0), (5.0, -4.0))
    assert beyond_tested(two_joint_chain(), model, trajectory(), known) == "" and sizes == [200]


# Stops within effort limits


def test_a_stop_is_as_hard_as_efforts_allow_at_the_shortest_of_its_times():
    """m l² a + c v + m g l sin q within the limit at five points of the stop, by closed form."""
    pendulum, times = Pendulum(), 10.0 ** np.linspace(-3.0, 1.0, 61)
    for limit, q, v in ((30.0, 0.3, 2.0), (9.0, -0.4, -1.5), (7.0, 0.1, 0.7)):
        for time in times:
            parts = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
            places, speeds = q + v * time * (parts - 0.5 * parts**2), v * (1.0 - parts)
            efforts = pendulum.inertia * -v / time + 0.8 * speeds + WEIGHT * np.sin(places)
            if (np.abs(efforts) <= limit).all():
                break
        stop = stop_within(pendulum, np.array([limit]))
        found = stop(np.array([q]), np.array([v]))
        assert found[0] == pytest.approx(abs(v) / time, rel=1e-12)
        assert stop_within(pendulum, np.array([limit]), np.array([0.1]))(np.array([q]), np.array([v])) == 0.1
        hard = stop_within(pendulum, np.array([limit]), np.array([1e9]))(np.array([q]), np.array([v]))
        assert hard[0] == found[0]


def test_joints_stop_together_and_each_limit_counts():
    q, v = np.array([0.1, 0.2]), np.array([0.6, -1.2])
    for limits in (np.array([9.0, np.inf]), np.array([np.inf, 12.0])):
        found = stop_within(TWO_MASSES, limits)(q, v)
        assert found[1] == pytest.approx(2.0 * found[0])
        times = 0.6 / found[0]
        efforts = TWO_MASSES.inverse_dynamics(q, v, -v / times)
        assert (np.abs(efforts) <= limits).all()
        shorter = times / 10.0 ** (4.0 / 60.0)
        assert (np.abs(TWO_MASSES.inverse_dynamics(q, v, -v / shorter)) > limits).any()


def test_a_stop_is_looked_at_in_five_places_of_an_even_deceleration():
    class Noting:
        def __init__(self):
            self.asked = []

        def inverse_dynamics(self, q, v, a):
            self.asked.append([q.tolist(), v.tolist(), a.tolist()])
            return np.full(2, 9.0 if len(self.asked) == 3 else 0.0)

    noting, q, v = Noting(), np.array([0.3, -0.4]), np.array([2.0, -5.0])
    stop_within(noting, np.array([8.0, 9.5]))(q, v)
    times = [1e-3] * 3 + [10.0 ** (-3.0 + 4.0 / 60.0)] * 5
    parts = [0.0, 0.25, 0.5, 0.0, 0.25, 0.5, 0.75, 1.0]
    assert len(noting.asked) == 8
    for found, time, s in zip(noting.asked, times, parts, strict=True):
        expected = [q + v * time * (s - 0.5 * s * s), v * (1.0 - s), -v / time]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_efforts_on_their_limits_are_bearable():
    steady = Masses((0.0, 0.0), (9.0, -8.0))
    stop = stop_within(steady, np.array([9.0, 8.0]))
    np.testing.assert_allclose(stop(np.zeros(2), np.array([2.0, -5.0])), [2000.0, 5000.0])


def test_a_stop_without_limits_or_without_motion_is_not_looked_at():
    class Refusing:
        def inverse_dynamics(self, *given):
            raise AssertionError

    place, rate = np.zeros(2), np.ones(2)
    assert stop_within(Refusing(), np.full(2, np.inf))(place, rate).tolist() == [np.inf] * 2
    hardest = np.array([3.0, 4.0])
    assert stop_within(Refusing(), np.full(2, np.inf), hardest)(place, rate) is hardest
    assert stop_within(Refusing(), np.array([1.0, np.inf]), hardest)(place, np.zeros(2)) is hardest
    # Where no even stop is bearable it takes half a second.
    weak = stop_within(TWO_MASSES, np.array([1.0, 1.0]))(place, np.array([0.3, -0.4]))
    np.testing.assert_allclose(weak, [0.6, 0.8])


# Measured joints


def test_measured_joints_are_believed_within_their_limits_and_up_to_twice_their_speed():
    kinds = [
        (JointKind.REVOLUTE, 5.0),
        (JointKind.PRISMATIC, 2.0),
        (JointKind.REVOLUTE, np.inf),
        (JointKind.PRISMATIC, np.inf),
    ]
    joints = [
        SimpleNamespace(kind=kind, limits=JointLimits(-1.0 - k, 2.0 + k, speed, 9.0))
        for k, (kind, speed) in enumerate(kinds)
    ]
    modelled = SimpleNamespace(driving_joint=lambda i: joints[i - 10])
    chain = SimpleNamespace(modelled=modelled, measured_coordinates=[10, 12, 11, 13])
    assert measured_bounds(chain).tolist() == [
        -1.0, -3.0, -2.0, -4.0, 2.0, 4.0, 3.0, 5.0, 10.0, 50.0, 4.0, 10.0,
    ]  # fmt: skip


def test_measured_joints_have_their_times_and_shares():
    """Accelerations of references count for 0.1 s; unknown ones warn from 5 % of a limit."""
    assert (GAP, NOTABLE, MOST_OF_LIMIT) == (0.1, 0.05, 2.0)


def test_measured_joints_have_states_of_their_own():
    chain = rd.load_urdf(TWO_ARMS, tip="left_hand", measured_joints=["right_elbow", "right_shoulder"])
    joints = MeasuredJoints(chain, 0.5)
    assert len(joints.names) == 2 and chain.dof == 3
    assert joints.awaits == f"no joint state yet of the measured joints {', '.join(joints.names)}"
    assert joints.motion().shape == (3, 2)
    missed = joints.missed()
    assert missed.effort.shape == (3,) and missed.age == np.inf
    joints.take(1.0, np.array([0.1, 0.2]), np.array([0.3, 0.4]))
    assert joints.awaits == ""
    joints.accelerate(np.array([0.5, 0.6]), 2.0)
    for call, error, words in (
        (lambda: joints.take(1.0, np.zeros(3)), StateError, "position of measured joints"),
        (lambda: joints.take(1.0, np.zeros(2), np.zeros(1)), StateError, "velocity of measured joints"),
        (lambda: joints.take(np.nan, np.zeros(2)), StateError, "time"),
        (lambda: joints.accelerate(np.zeros(1), 1.0), ParameterError, "acceleration"),
        (lambda: joints.accelerate(np.zeros(2), "soon"), StateError, "until"),
    ):
        with pytest.raises(error, match=words):
            call()
