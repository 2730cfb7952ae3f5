"""Plans and messages of the feedforward node: plan starts, tolerances, limits, and the current efforts."""

import numpy as np
import pytest
from arms import WEIGHT, Masses, Pendulum, pendulum_chain, swing, two_joint_chain, with_limits
from scipy.interpolate import BPoly
from smooth_paths import rest_to_rest

import robot_dynamics as rd
from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.control.arm.path_rules import PathRules, TorqueCheckParameters
from robot_dynamics.control.state_age import StateAge
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import ParameterError, TrajectoryError

MILLISECOND = 1_000_000


MASSES = Masses((1.0, 0.1), (0.0, 2.0))
"""Unit mass on the first joint, a tenth on the second; the second bears 2 N·m more."""


def feeder(drives=None, **parameters):
    chain = pendulum_chain(effort=parameters.pop("limit", np.inf))
    model = Pendulum() if drives is None else rd.ActuatedArm(Pendulum(), chain, drives)
    made = Feedforward(chain, model, settings(**parameters))
    made.observe(np.array([0.4]))
    return made


REFUSE = PathRules(torque=TorqueCheckParameters("refuse"))


def settings(**parameters):
    return FeedforwardParameters(**parameters)


def quintic(begin, end, share):
    """Position, velocity and acceleration on the way from rest to rest in one second."""
    way = np.polynomial.Polynomial(rest_to_rest(begin, end))
    return way(share), way.deriv()(share), way.deriv(2)(share)


def test_before_any_state_there_is_no_plan_and_no_effort():
    made = Feedforward(pendulum_chain(), Pendulum(), settings())
    assert made.effort(0.0).tolist() == [0.0]
    with pytest.raises(TrajectoryError, match="where the arm is is not known yet: there is no joint state"):
        made.plan(*swing(1.0), None, 0.0)


def test_an_arm_at_rest_is_carried_where_it_is():
    made = feeder()
    np.testing.assert_allclose(made.effort(3.0), WEIGHT * np.sin([0.4]))
    made.observe(np.array([0.9]))
    np.testing.assert_allclose(made.effort(3.0), WEIGHT * np.sin([0.9]))


@pytest.mark.parametrize("start", [None, 2.0])
def test_efforts_of_the_moment_are_the_models_on_the_path(start):
    made = feeder()
    planned = made.plan(*swing(1.4), start, 2.0)
    assert (planned.moving, planned.beyond) == (False, ())
    assert (planned.trajectory.start, planned.trajectory.end) == (2.0, 3.0)
    assert not made.accept(planned, 2.0)
    for share in (0.0, 0.3, 0.5, 0.99):
        q, qd, qdd = quintic(0.4, 1.4, share)
        expected = Pendulum().inverse_dynamics(q, qd, qdd)
        np.testing.assert_allclose(made.effort(2.0 + share), [expected], rtol=1e-9)
        assert made.moving(2.0 + share)
    made.observe(np.array([1.39]))
    np.testing.assert_allclose(made.effort(3.0), WEIGHT * np.sin([1.39]))
    assert not made.moving(3.0)


def test_a_path_with_a_stamp_waits_and_one_with_an_old_stamp_begins_now():
    made = feeder()
    assert not made.accept(made.plan(*swing(1.4), 5.0, 2.0), 2.0)
    np.testing.assert_allclose(made.effort(4.9), WEIGHT * np.sin([0.4]))
    assert made.moving(4.9)
    # Until its start the arm is carried wherever it is.
    made.observe(np.array([0.41]))
    np.testing.assert_allclose(made.effort(4.9), WEIGHT * np.sin([0.41]))
    late = made.plan(["swing"], [Waypoint(1.0, [1.0]), Waypoint(3.0, [0.5])], 3.5, 4.75)
    assert (late.trajectory.start, late.trajectory.end, late.moving) == (4.75, 6.5, True)
    np.testing.assert_allclose(late.trajectory.sample(4.75).position, [0.4])


def test_a_plan_under_way_is_joined_where_it_is_at_plan_start():
    made = feeder()
    assert not made.accept(made.plan(*swing(1.4), None, 0.0), 0.0)
    for start, plan_start in ((None, 0.5), (0.25, 0.5), (0.75, 0.75)):
        joined = made.plan(*swing(0.0, 2.0), start, 0.5)
        assert joined.moving
        at = joined.trajectory.sample(plan_start)
        q, qd, qdd = quintic(0.4, 1.4, plan_start)
        np.testing.assert_allclose([at.position, at.velocity, at.acceleration], [[q], [qd], [qdd]], atol=1e-9)


def test_dropping_the_last_plan_stops_and_dropping_a_replaced_one_does_not():
    made = feeder()
    first = made.plan(*swing(1.4), None, 0.0)
    assert not made.accept(first, 0.0)
    assert made.moving(0.0)
    second = made.plan(*swing(0.6), None, 0.5)
    assert not made.accept(second, 0.5)
    assert made.moving(0.5)
    assert not made.drop_plan(first)
    assert made.moving(0.6)
    assert made.drop_plan(second)
    assert not made.moving(0.6)
    assert made.drop_plan(second), "nothing is under way that could go on"
    np.testing.assert_allclose(made.effort(0.7), WEIGHT * np.sin([0.4]))


def test_efforts_beyond_the_limits_are_cut_and_named_or_refused():
    free = feeder().plan(*swing(1.4), None, 0.0).samples
    limit = 0.8 * np.abs(free.efforts).max()
    planned = feeder(limit=limit).plan(*swing(1.4), None, 0.0)
    assert planned.beyond == ("swing",)
    assert np.abs(planned.samples.efforts).max() == limit
    assert np.abs(planned.samples.efforts).min() < limit
    assert "'swing' needs" in planned.trajectory.remarks[0]
    needed = f"{np.abs(free.efforts).max():.3g}"[:3]
    refusing = feeder(limit=limit)
    with pytest.raises(TrajectoryError, match=rf"'swing' needs {needed}.*its effort limit is {limit:.4f}"):
        refusing.plan(*swing(1.4), None, 0.0, REFUSE)
    assert refusing.plan(*swing(0.5, 5.0), None, 0.0, REFUSE).beyond == ()
    # The efforts of the moment are cut too, on both sides.
    made = feeder(limit=0.1 * WEIGHT)
    for q, sign in ((1.2, 1.0), (-1.2, -1.0)):
        made.observe(np.array([q]))
        np.testing.assert_allclose(made.effort(0.0), [sign * 0.1 * WEIGHT])


def test_which_joint_needs_too_much_is_named():
    made = Feedforward(two_joint_chain(), MASSES, settings(max_effort=(100.0, 1.0)))
    made.observe(np.zeros(2))
    with pytest.raises(TrajectoryError, match="'turn' needs 2"):
        made.plan(["lift", "turn"], [Waypoint(1.0, [1.0, 0.0])], None, 0.0, REFUSE)
    planned = made.plan(["lift", "turn"], [Waypoint(1.0, [1.0, 0.0])], None, 0.0)
    assert planned.beyond == ("turn",)
    np.testing.assert_array_equal(planned.samples.efforts[:, 1], 1.0)


@pytest.mark.parametrize(
    ("given", "limit", "tolerance"),
    [
        ({"effort_error": (0.05,)}, 40.0, 0.05),
        ({}, 40.0, 0.04),
        ({"effort_error_share": 0.01}, 40.0, 0.4),
    ],
)
def test_the_tolerance_of_straight_lines_is_as_asked_for(given, limit, tolerance):
    samples = feeder(limit=limit, **given).plan(*swing(2.4), None, 0.0).samples
    assert 0.1 * tolerance < samples.error[0] <= tolerance
    lines = np.linspace(samples.times[0], samples.times[-1], 20_001)
    exact = Pendulum().inverse_dynamics(*quintic(0.4, 2.4, lines))
    assert np.abs(np.interp(lines, samples.times, samples.efforts[:, 0]) - exact).max() <= tolerance


def test_without_a_limit_the_largest_effort_on_the_way_counts():
    samples = feeder(effort_error_share=0.01).plan(*swing(2.4), None, 0.0).samples
    largest = np.abs(Pendulum().inverse_dynamics(*quintic(0.4, 2.4, np.linspace(0.0, 1.0, 101)))).max()
    assert 0.1 * 0.01 * largest < samples.error[0] <= 0.01 * largest


def test_each_joint_has_a_tolerance_of_its_own():
    """turn moves a tenth as heavy a mass, so that a tenth of the error takes as many points."""
    move = (["lift", "turn"], [Waypoint(1.0, [0.4, 0.4])], None, 0.0)
    counts = {}
    for errors in ((0.01, 1.0), (1.0, 0.001), (1.0, 0.1), (0.01, 0.001)):
        made = Feedforward(two_joint_chain(), MASSES, settings(effort_error=errors))
        made.observe(np.zeros(2))
        counts[errors] = len(made.plan(*move).samples.times)
    assert counts[(0.01, 1.0)] == counts[(1.0, 0.001)] == counts[(0.01, 0.001)] > 2 * counts[(1.0, 0.1)]


def test_a_joint_without_effort_is_not_worth_points_of_its_own():
    """Not even where its effort is the noise of rounded numbers."""

    class Noise:
        def inverse_dynamics(self, q, qd, qdd):
            return qdd * np.array([1.0, 1e-9]) + 1e-9 * np.sin(1e6 * q) * np.array([0.0, 1.0])

    chain = with_limits(two_joint_chain(), effort=np.inf)
    made = Feedforward(chain, Noise(), settings(effort_error_share=0.01))
    made.observe(np.zeros(2))
    planned = made.plan(["lift", "turn"], [Waypoint(1.0, [0.4, 0.4])], None, 0.0)
    assert len(planned.samples.times) < 100


def test_a_tolerance_of_zero_or_of_the_wrong_length_is_refused():
    with pytest.raises(ParameterError, match="'effort_error' is 0 for a joint; it must be positive"):
        settings(effort_error=(0.1, 0.0))
    made = feeder()
    before = made.parameters
    with pytest.raises(ParameterError, match="'effort_error' has 2 values"):
        made.parameters = settings(effort_error=(0.1, 0.1))
    assert made.parameters is before
    with pytest.raises(ParameterError, match="'max_effort' has 2 values"):
        made.check(settings(max_effort=(1.0, 2.0)))


def test_an_effort_that_is_no_number_is_never_sent():
    class Broken(Pendulum):
        def inverse_dynamics(self, q, qd, qdd, heading=None):
            return np.array([np.nan])

    made = Feedforward(pendulum_chain(), Broken(), settings())
    made.observe(np.zeros(1))
    assert made.effort(0.0).tolist() == [0.0]


def message_points(planned):
    """Times, positions, velocities, accelerations, efforts of all points that are sent."""
    lead, samples = planned.lead, planned.samples
    return [
        np.concatenate([getattr(lead, name), getattr(samples, name)])
        for name in ("times", "positions", "velocities", "accelerations", "efforts")
    ]


def as_the_controller_does(planned, time):
    """Position and effort at ``time`` between the points, by SciPy's quintic and by a straight line."""
    times, *states, efforts = message_points(planned)
    k = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 2))
    ends = np.stack([state[k : k + 2, 0] for state in states], axis=1)
    path = BPoly.from_derivatives(times[k : k + 2], ends)
    return float(path(time)), float(np.interp(time, times, efforts[:, 0]))


BUILDS_UP = rd.ActuatorParameters(friction=(2.0,), presliding_friction=(1.2,), presliding_travel=(0.05,))


@pytest.mark.parametrize("drives", [None, BUILDS_UP], ids=["no friction", "friction that builds up"])
@pytest.mark.parametrize("departs", [None, 0.9], ids=["at once", "with a stamp"])
def test_until_a_plan_departs_its_points_are_those_of_what_it_replaces(departs, drives):
    """So it does not matter when the controller takes it up."""
    made = feeder(drives, limit=40.0)
    first = made.plan(*swing(1.4), None, 0.0)
    assert not made.accept(first, 0.0)
    plan_start = made.plan_start(departs, 0.5, allowance=0.1, delivery=0.2)
    second = made.plan_from(*swing(0.2, 2.0), plan_start)
    leaves = departs or 0.8
    assert (second.trajectory.start, second.lead.times[0]) == (pytest.approx(leaves), 0.5)
    assert np.diff(message_points(second)[0]).min() > 1e-5
    for time in np.linspace(0.5, leaves, 57):
        expected = as_the_controller_does(first, time)
        position, effort = as_the_controller_does(second, time)
        assert position == pytest.approx(expected[0], abs=1e-9)
        assert effort == pytest.approx(expected[1], abs=0.04), "what straight lines may leave"
    assert "longer than it was allowed to" in made.accept(second, leaves - 0.19)
    assert made.accept(second, 0.55) == ""


def test_a_plan_departs_from_where_the_arm_is_held_and_not_from_where_it_sags_to():
    made = feeder()
    assert not made.accept(made.plan(*swing(1.4), None, 0.0), 0.0)
    assert not made.moving(2.0)
    for measured, departs in ((1.385, 1.4), (1.3, 1.3)):
        made.observe(np.array([measured]))
        planned = made.plan_from(*swing(0.5), made.plan_start(None, 2.0, 0.1))
        np.testing.assert_allclose(planned.lead.positions, [[departs]], atol=1e-9)
        np.testing.assert_allclose(planned.samples.positions[0], [departs], atol=1e-9)
    made.observe(np.array([1.2]))
    made.drop()
    made.observe(np.array([1.19]))
    assert made.plan_start(None, 3.0).origin.position.tolist() == [1.2]


def test_a_controller_that_reports_its_reference_is_taken_at_its_word():
    made = feeder()
    made.reported = np.array([0.5])
    assert made.astray(0.0) == ""
    planned = made.plan(*swing(1.4), None, 0.0)
    np.testing.assert_allclose(planned.trajectory.sample(0.0).position, [0.5])
    assert not made.accept(planned, 0.0)
    # A driver that scales the speed: the arm is where its controller has it, which is far behind the plan.
    for time, place in ((0.3, 0.55), (0.6, 0.6)):
        made.reported = np.array([place])
        made.observe(made.reported, time)
    q = quintic(0.5, 1.4, 0.6)[0] - 0.6
    assert made.astray(0.6) == (
        f"joint 'swing' of the controller is {q:.3f} rad from its reference, allowed are 0.200 rad"
    )
    assert not made.rests()
    made.reported = np.array([0.2])
    assert "joint 'swing' is 0.400 rad from its reference" in made.astray(0.6)
    for tenth in range(7, 9):
        made.observe(np.array([0.6]), 0.1 * tenth)
    assert made.rests()
    made.stand()
    assert (made.moving(0.9), made.plan_start(None, 0.9).origin.position.tolist()) == (False, [0.6])
    # A turn more or less is the same place of a joint without limits, not of another.
    made.reported = np.array([0.6 + 2.0 * np.pi])
    assert "is 6.28" in made.astray(0.9)


def test_what_the_controller_does_not_take_leaves_what_it_would_have_replaced():
    made = feeder()
    assert not made.accept(made.plan(*swing(1.4), None, 0.0), 0.0)
    expected = made.plan_start(0.7, 0.5).origin.position
    refused = made.plan(*swing(0.2), None, 0.5)
    assert not made.accept(refused, 0.5)
    late = made.plan(*swing(0.9), None, 0.55)
    made.withdraw(refused)
    np.testing.assert_array_equal(made.plan_start(0.7, 0.55).origin.position, expected)
    assert "came first" in made.accept(late, 0.55)


@pytest.mark.parametrize(
    ("stamp", "age", "objection"),
    [
        (-2, 0.002, ""),  # [ms] against the clock
        (-800, 0.8, "joint states come 0.8 s after their stamps"),
        (300, 0.0, ""),  # the clock of the robot is ahead
        (-60_000, 0.0, ""),  # another clock
        (None, 0.0, ""),
    ],
)
def test_a_late_state_is_as_old_as_its_stamp_says(stamp, age, objection):
    now = 1_000_000 * MILLISECOND
    one = StateAge(simulated=False)
    assert (
        one.objection(now, now, 0.5) == "there is no joint state yet" and one.seconds(now, now, 0.5) == np.inf
    )
    one.note(now, now, 0 if stamp is None else now + stamp * MILLISECOND, 0.5)
    assert one.seconds(now, now, 0.5) == pytest.approx(age, abs=1e-12)
    assert one.objection(now, now, 0.5) == objection
    later = now + 501 * MILLISECOND
    # A step of the wall's clock changes nothing.
    for wall in (later, later - 3600_000 * MILLISECOND, later + 3600_000 * MILLISECOND):
        assert one.objection(wall, later, 0.5) == "no joint state for 0.5 s"
        assert one.objection(wall, now, 0.5) == objection
    one.forget()
    assert one.objection(now, now, 0.5) == "there is no joint state yet"


@pytest.mark.parametrize("deceleration", [None, np.array([0.8, 3.0])])
def test_a_stop_stays_on_the_path_and_brakes_no_harder_than_it_may(deceleration):
    """Both joints keep their ratio, as on the path; velocities, accelerations and efforts make no step."""
    chain = two_joint_chain()
    made = Feedforward(chain, MASSES, settings(max_effort=(4.0, 4.0)))
    made.observe(np.zeros(2))
    assert made.brake(0.0) is None
    names, waypoints = list(chain.joint_names), [Waypoint(2.0, [1.0, -0.5])]
    planned = made.plan(names, waypoints, None, 0.0)
    assert not made.accept(planned, 0.0)
    at = planned.trajectory.sample(0.9)
    made.observe(at.position, 0.9)
    epoch = made.epoch
    stop = made.brake(0.9, deceleration)
    assert made.epoch == epoch + 1
    start, end = stop.trajectory.start, stop.trajectory.end
    before, after = planned.trajectory.sample(start), stop.trajectory.sample(start)
    for name in ("position", "velocity", "acceleration"):
        np.testing.assert_allclose(getattr(after, name), getattr(before, name), atol=1e-9)
    position, velocity, acceleration = stop.trajectory.spline.at(np.linspace(start, end, 400))
    np.testing.assert_allclose(position[:, 1], -0.5 * position[:, 0], atol=1e-6)
    assert (np.diff(position[:, 0]) >= -1e-12).all()
    np.testing.assert_allclose([velocity[-1], acceleration[-1]], 0.0, atol=1e-9)
    largest = np.array([1.0, 0.1]) if deceleration is None else deceleration
    most = np.maximum(
        largest, np.abs(planned.trajectory.spline.at(np.linspace(0.9, 2.0, 200))[2]).max(axis=0)
    )
    if deceleration is not None:
        assert (np.abs(acceleration) <= 1.01 * most).all()
        assert end - start > 1.5 * abs(before.velocity[0]) / 0.8 - 1e-9
    assert (np.abs(stop.samples.efforts) <= 4.0).all()
    # It is followed like any other: what comes in its middle leaves from it.
    made.observe(stop.trajectory.sample(start + 0.1).position, start + 0.1)
    assert made.moving(start + 0.1)
    leaves = made.plan_start(None, start + 0.1).origin
    np.testing.assert_allclose(leaves.velocity, stop.trajectory.sample(start + 0.1).velocity, atol=1e-12)
    # An arm that is not where it should be is held where it is.
    made.observe(np.array([2.0, 0.0]), start + 0.1)
    assert made.brake(start + 0.1) is None


def test_limits_that_do_not_carry_the_arm_are_refused_and_those_before_stay():
    made = feeder(max_effort=(2.0 * WEIGHT,))
    made.effort(0.0)
    made.effort(0.001)
    with pytest.raises(ParameterError, match=r"needs .* to hold the arm at rest here, but its limit is"):
        made.check(settings(max_effort=(1e-300,)))
    assert made.effort_limits.tolist() == [2.0 * WEIGHT]


def test_a_load_that_efforts_cannot_carry_is_refused_and_the_efforts_stay():
    """Declared at the node, 500 kg took the efforts of five of six joints to their limits."""

    class Loaded(Pendulum):
        def inverse_dynamics(self, q, qd, qdd):
            return 500.0 * super().inverse_dynamics(q, qd, qdd)

    made = feeder(limit=2.0 * WEIGHT)
    before = [made.effort(time) for time in (0.0, 0.001)][-1]
    with pytest.raises(ParameterError, match=r"needs .* to hold the arm at rest here, but its limit is"):
        made.change_model(Loaded())
    np.testing.assert_allclose(made.effort(2.0), before, rtol=1e-12)


def test_friction_that_builds_up_after_a_reversal_is_in_points_and_in_efforts_of_the_moment():
    """Dahl's law in closed form along two quintics, there and back."""
    made = feeder(BUILDS_UP, effort_error=(0.01,))
    made.observe(np.array([0.4]), 0.0)
    slid, largest = 0.0, 0.0
    for begin, end, start in ((0.4, 0.9, 1.0), (0.9, 0.4, 3.0)):
        made.effort(start - 0.5)
        planned = made.plan(*swing(end), start, start - 0.5)
        assert not made.accept(planned, start - 0.5)
        way = np.sign(end - begin)
        for share in np.linspace(0.0, 1.0, 400):
            q, qd, qdd = (np.array([x]) for x in quintic(begin, end, share))
            here = way + (slid - way) * np.exp(-abs(q - begin) / 0.05)
            slow = np.clip(qd / 0.005, -1.0, 1.0)
            along = 0.5 * slow * (3.0 - slow**2)
            wanted = Pendulum().inverse_dynamics(q, qd, qdd) + 2.0 * along + 1.2 * (abs(along) * here - along)
            largest = max(largest, abs(1.2 * (abs(along) * here - along)).max())
            made.observe(q, start + share)
            assert made.effort(start + share) == pytest.approx(wanted, abs=1e-9)
            points = planned.samples
            assert np.interp(start + share, points.times, points.efforts[:, 0]) == pytest.approx(
                wanted[0], abs=0.011
            )
        slid = here[0]
        made.observe(q, start + 1.5)
        assert made.effort(start + 1.5) == pytest.approx(Pendulum().inverse_dynamics(q, 0.0 * q, 0.0 * q))
    assert largest > 2.0 and slid < -0.99


def test_no_rule_latches_a_feeder_which_nobody_can_reset():
    assert not feeder()._core.core_settings().value.rules
