"""State of the feedforward's planner between plans: rest, following error, plan starts, counts and stops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arms import WEIGHT, Masses, Pendulum, joints_in_a_row, pendulum_chain, swing

from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.control.arm.sampling import sample_efforts
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import JointKind


def three_joints(effort=(np.inf, np.inf, np.inf)):
    """A joint that turns without end, a slide without ends, and a joint within limits."""
    ranges = (-np.inf, np.inf, 4.0), (-np.inf, np.inf, 2.0), (-8.0, 8.0, 5.0)
    return joints_in_a_row(
        [(*own, most) for own, most in zip(ranges, effort, strict=True)],
        (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE),
        ("spin", "slide", "bend"),
    )


THREE_MASSES = Masses((2.0, 0.5, 0.1), (0.0, 0.0, 0.25))


def of_three(place=(0.0, 0.0, 0.0), effort=(np.inf, np.inf, np.inf), **parameters):
    made = Feedforward(three_joints(effort), THREE_MASSES, FeedforwardParameters(**parameters))
    made.observe(np.array(place))
    return made


def swinging(place=0.4, limit=np.inf, **parameters):
    made = Feedforward(pendulum_chain(effort=limit), Pendulum(), FeedforwardParameters(**parameters))
    made.observe(np.array([place]))
    return made


def follows(made, goal=1.4, now=0.0, time=1.0):
    planned = made.plan(*swing(goal, time), None, now)
    assert made.accept(planned, now) == ""
    return planned


def test_before_any_state_nothing_is_known():
    made = Feedforward(pendulum_chain(), Pendulum(), FeedforwardParameters())
    assert (made.position, made.reported, made.epoch, made.time) == (None, None, 0, 0.0)
    assert (made.measured, made.awaits, made.resting_place()) == (None, "", None)
    assert not made.rests() and made.astray(1.0) == "" and made.brake(1.0) is None
    assert isinstance(made.dynamics, Pendulum) and made.parameters == FeedforwardParameters()
    made.reported = np.array([3.0])
    assert made.astray(1.0) == ""
    made.observe(np.array([0.4]), -2.5)
    assert made.time == -2.5
    made.observe(np.array([0.4]))
    assert made.time == 0.0


def test_rest_is_a_tenth_of_a_second_within_five_thousandths_of_a_place():
    """Counted from the state that began it, in binary fractions of a second."""
    made = of_three()
    place = np.array([1.0, -2.0, 3.0])
    made.observe(place, 4.0)
    for time, way, still in (
        (4.0625, (0.004, -0.004, 0.0), False),
        (4.125, (-0.004, 0.004, 0.004), True),
        (4.25, (0.0, 0.0, 0.006), False),
        (4.3125, (0.0, 0.0, 0.006), False),
        (4.375, (0.0, 0.0, 0.002), True),
    ):
        made.observe(place + way, time)
        assert made.rests() == still, time
    assert made.rests(0.125) and not made.rests(0.126)
    made.observe(np.add(place, (0.0, 0.0, 0.002)), 4.25)
    assert made.rests(0.0), "the same time as that of the rest's first state"
    made.observe(np.add(place, (0.0, 0.0, 0.002)), 4.0)
    assert not made.rests(), "a clock that runs backwards begins a new rest"
    made.observe(place)
    assert not made.rests()


def test_a_way_of_five_thousandths_is_rest_still():
    made = swinging()
    made.observe(np.zeros(1), 1.0)
    made.observe(np.array([0.005]), 2.0)
    assert made.rests()
    made.observe(np.array([0.00501]), 3.0)
    assert not made.rests()


def test_a_following_error_is_that_of_the_joint_farthest_from_its_allowance():
    """Turns do not count where a joint has no limits; a slide's metres are no turns."""
    made = of_three()
    made.reported = np.zeros(3)
    turn = 2.0 * np.pi
    for place, text in (
        ((0.1, -0.02, 0.05), ""),
        ((turn + 0.15, 0.0, 0.0), ""),
        ((-3.0 * turn - 0.15, 0.0, 0.0), ""),
        ((turn - 0.25, 0.0, 0.0), "joint 'spin' is 0.250 rad from its reference, allowed are 0.200 rad"),
        ((0.3, turn, 0.0), "joint 'slide' is 6.283 m from its reference, allowed are 0.050 m"),
        ((0.0, -0.06, 0.19), "joint 'slide' is 0.060 m from its reference, allowed are 0.050 m"),
        ((0.0, 0.06, -1.9), "joint 'bend' is 1.900 rad from its reference, allowed are 0.200 rad"),
        ((0.0, 0.0, turn), "joint 'bend' is 6.283 rad from its reference, allowed are 0.200 rad"),
    ):
        made.observe(np.array(place))
        assert made.astray(0.0) == text, place


def test_an_error_of_what_is_allowed_is_allowed():
    made = swinging(0.0)
    made.reported = np.array([0.2])
    assert made.astray(0.0) == ""
    made.reported = np.array([np.nextafter(0.2, 1.0)])
    assert made.astray(0.0) != ""


def test_an_arm_without_a_report_is_measured_by_its_own_plan_at_its_last_state():
    """Only once something was followed: before, nobody knows what holds it."""
    made = swinging()
    assert made.astray(0.0) == ""
    planned = follows(made, 2.4)
    at = planned.trajectory.sample(0.5).position
    made.observe(at, 0.5)
    assert made.astray(0.9) == ""
    made.observe(at + 0.25, 0.5)
    assert made.astray(0.9) == "joint 'swing' is 0.250 rad from its reference, allowed are 0.200 rad"
    made.observe(planned.trajectory.sample(0.9).position)
    assert made.astray(0.9) == "", "without a time the present counts"
    made.reported = at
    made.observe(at, 0.5)
    assert made.astray(0.5) == ""
    assert "of the controller is" in made.astray(0.9), "a report is of the present"


def test_a_blend_takes_messages_or_the_speed_of_the_fastest_joint():
    """Five times the delivery, or as much as a message half a second late needs."""
    made = of_three()
    names = list(made.chain.joint_names)
    planned = made.plan(names, [Waypoint(1.0, [1.0, 0.5, -2.0])], None, 0.0)
    assert made.accept(planned, 0.0) == ""
    joining = made.plan_from(names, [Waypoint(1.0, [1.0, 0.5, -2.0])], made.plan_start(None, 0.5, 0.05, 0.1))
    states = [planned.trajectory.sample(t).velocity for t in joining.lead.times]
    states += [joining.trajectory.sample(joining.trajectory.start).velocity]
    share = (np.abs(states) / [4.0, 2.0, 5.0]).max()
    assert 0.5 < share < 1.0
    assert made.blending(joining, 0.02) == pytest.approx(2.0 * 0.5 * share)
    assert made.blending(joining, 0.4) == pytest.approx(2.0)


def test_a_plan_starts_after_planning_and_delivery_or_at_its_time():
    made = swinging()
    for start, begin, departs in ((None, 3.5, 3.5), (3.125, 3.125, 3.5), (4.25, 4.25, 4.25)):
        found = made.plan_start(start, 3.0, 0.25, 0.25)
        assert (found.start, found.now, found.delivery) == (begin, 3.5, 0.25)
        assert (found.epoch, found.moving, found.queue) == (0, False, ())
        np.testing.assert_array_equal(found.lead.times, [3.0])
        np.testing.assert_array_equal(found.lead.references[0].position, [0.4])
        planned = made.plan_from(*swing(1.0, 2.0), found)
        assert planned.trajectory.start == departs and planned.delivery == 0.25
    plain = made.plan_start(None, 3.0)
    assert (plain.start, plain.now, plain.delivery) == (3.0, 3.0, 0.0)
    assert plain.lead.times.shape == (0,) and len(plain.lead.references) == 0


def test_a_plan_start_in_motion_has_the_motion_until_it_departs():
    made = swinging()
    planned = follows(made)
    start = made.plan_start(None, 0.25, 0.125, 0.125)
    assert start.moving and len(start.queue) == 1
    np.testing.assert_array_equal(start.origin.position, planned.trajectory.sample(0.5).position)
    np.testing.assert_array_equal(start.origin.velocity, planned.trajectory.sample(0.5).velocity)
    inside = planned.samples.times[(planned.samples.times > 0.25) & (planned.samples.times < 0.5)]
    np.testing.assert_array_equal(start.lead.times, [0.25, *inside])
    assert len(start.lead.references) == len(start.lead.times)
    for time, reference in zip(start.lead.times, start.lead.references, strict=True):
        np.testing.assert_array_equal(reference.position, planned.trajectory.sample(time).position)


def test_a_plan_is_accepted_until_it_is_late_by_its_delivery():
    made = swinging()
    start = made.plan_start(2.0, 1.0, 0.25, 0.25)
    planned = made.plan_from(*swing(1.0), start)
    assert made.accept(planned, 1.875) == "planning took 0.125 s longer than it was allowed to"
    assert made.accept(planned, 1.75) == ""
    assert made.moving(2.5)


def test_a_hold_voids_plans_and_a_stand_asks_for_them_again():
    for act, epochs in (("drop", 1), ("stand", 0)):
        made = swinging()
        planned = made.plan(*swing(1.0), None, 0.0)
        getattr(made, act)()
        assert made.epoch == epochs
        assert made.accept(planned, 0.0) == "a hold or another trajectory came first"
        assert made.accept(made.plan(*swing(1.0), None, 0.0), 0.0) == ""
        getattr(made, act)()
        assert made.epoch == 2 * epochs and not made.moving(0.1)


def test_a_plan_that_another_has_replaced_is_withdrawn_without_an_effect():
    made = swinging()
    first = follows(made)
    second = follows(made, 0.6, 0.25)
    made.withdraw(first)
    at = second.trajectory.sample(0.75).position
    np.testing.assert_array_equal(made.plan_start(None, 0.75).origin.position, at)
    made.withdraw(second)
    assert made.drop_plan(first), "the first is the last one again"
    assert not made.moving(0.8)


def test_an_arm_that_was_moved_by_hand_leaves_from_where_it_is():
    """Within 0.02 of where the last trajectory ended it is held there; a report counts before both."""
    made = swinging(0.0)
    follows(made, 0.5)
    made.moving(2.0)
    for place, held in ((0.4801, 0.5), (0.5199, 0.5), (0.479, 0.479), (0.521, 0.521)):
        made.observe(np.array([place]))
        np.testing.assert_allclose(made.resting_place(), [held], atol=1e-12)
        assert made.plan_start(None, 2.0).origin.position == pytest.approx(held)
    made.observe(np.array([0.49]))
    made.reported = np.array([0.45])
    np.testing.assert_array_equal(made.resting_place(), [0.45])
    made.reported = np.array([0.9])
    np.testing.assert_allclose(made.resting_place(), [0.5], atol=1e-12)
    made = swinging(0.0)
    made.drop()
    made.observe(np.array([0.02]))
    assert made.resting_place().tolist() == [0.0]
    made.observe(np.array([np.nextafter(0.02, 1.0)]))
    assert made.resting_place()[0] > 0.02


def test_an_arm_that_follows_nothing_and_was_moved_drops_where_it_was():
    """A trajectory with a time of its own waits; the arm is carried where it is, not where it was held."""
    made = swinging(0.0)
    follows(made, 0.5)
    made.moving(2.0)
    made.observe(np.array([0.9]))
    assert made.accept(made.plan(*swing(1.2), 4.0, 2.0), 2.0) == ""
    np.testing.assert_allclose(made.effort(3.0), WEIGHT * np.sin([0.9]))
    np.testing.assert_allclose(made.plan_start(4.5, 3.0).queue[0].sample(4.0).position, [0.9])


def test_efforts_ahead_are_those_of_a_later_moment():
    made = swinging()
    planned = follows(made)
    for ahead in (0.0, 0.125):
        at = planned.trajectory.sample(0.5 + ahead)
        expected = Pendulum().inverse_dynamics(at.position, at.velocity, at.acceleration)
        np.testing.assert_allclose(made.effort(0.5 + ahead / 8.0, ahead * 7.0 / 8.0), expected, rtol=1e-9)


def test_a_clock_that_is_set_back_a_little_changes_nothing_and_a_reset_drops():
    made = swinging()
    follows(made, time=8.0)
    before = made.effort(5.0).copy()
    np.testing.assert_array_equal(made.effort(4.125), before)
    np.testing.assert_array_equal(made.effort(5.0), before)
    assert made.moving(4.5)
    made.effort(3.5)
    assert not made.moving(3.6)


def test_a_stop_needs_motion_an_arm_on_its_path_and_leaves_the_path_after_its_delivery():
    made = swinging()
    planned = follows(made, time=2.0)
    made.observe(planned.trajectory.sample(1.0).position, 1.0)
    stop = made.brake(1.0)
    assert stop is not None and made.epoch == stop.epoch == 1
    assert (stop.trajectory.start, stop.delivery, stop.moving) == (pytest.approx(1.02), 0.0, True)
    at = planned.trajectory.sample(1.02)
    np.testing.assert_allclose(stop.trajectory.sample(1.02).velocity, at.velocity, rtol=1e-9)
    np.testing.assert_array_equal(stop.lead.times[:1], [1.0])
    made.observe(stop.trajectory.sample(stop.trajectory.end).position, stop.trajectory.end - 1e-4)
    assert made.brake(stop.trajectory.end - 0.0201) is None, "slower than a thousandth"
    assert made.epoch == 1
    made.observe(stop.trajectory.sample(1.03).position + 0.3, 1.03)
    assert made.brake(1.03) is None


class Stepping(Pendulum):
    """A pendulum whose effort steps by 2 N·m in the middle of its way."""

    def inverse_dynamics(self, q, qd, qdd, heading=None):
        return super().inverse_dynamics(q, qd, qdd) + np.sign(q - 0.9123)


def test_errors_of_efforts_that_step_are_tried_ten_times_larger_each():
    """No points are close enough for a step; of a path that may step the first error that suffices counts."""
    path = swinging().plan(*swing(1.4), None, 0.0).trajectory
    low, high = 1.0, 3.0
    for _ in range(8):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _sampled(path.spline, middle) is not None else (middle, high)
    for factor, share, used in ((1.0, 1.02, 1.0), (1.0, 0.97, 10.0), (10.0, 1.02, 10.0), (10.0, 0.97, 100.0)):
        error = share * high / factor
        made = swinging(limit=40.0, effort_error=(error,))
        found = made._samples(path, True, Stepping(), None)
        np.testing.assert_array_equal(found.times, _sampled(path.spline, used * error).times)
    with pytest.raises(TrajectoryError, match=rf"within {error:.3g} \(N·m or N\)"):
        made._samples(path, False, Stepping(), None)
    last = swinging(limit=40.0, effort_error=(0.9e-4 * high,))
    with pytest.raises(TrajectoryError, match=rf"within {0.9 * high:.3g} \(N·m or N\)"):
        last._samples(path, True, Stepping(), None)


def _sampled(spline, tolerance):
    try:
        return sample_efforts(spline, Stepping(), np.array([tolerance]))
    except TrajectoryError:
        return None


def test_the_tolerance_of_a_joint_without_a_limit_is_a_share_of_its_largest_effort():
    """At least a thousandth of the largest of all joints, and of a joint with a limit the limit's share."""
    made = of_three(effort=(np.inf, 8.0, np.inf), effort_error_share=0.02)
    planned = made.plan(list(made.chain.joint_names), [Waypoint(1.0, [1.0, 0.5, 1e-5])], None, 0.0)
    found = made._tolerance(planned.trajectory, THREE_MASSES)
    peak = 10.0 / np.sqrt(3.0)
    np.testing.assert_allclose(found, [0.02 * 2.0 * peak, 0.02 * 8.0, 0.02 * 0.25], rtol=2e-3)
    found = made._tolerance(replace(planned.trajectory), Masses((2.0, 0.5, 0.0)))
    np.testing.assert_allclose(found, [0.02 * 2.0 * peak, 0.02 * 8.0, 0.02 * 2e-3 * peak], rtol=2e-3)
    found = made._tolerance(replace(planned.trajectory), Masses((0.0, 0.0, 0.0)))
    np.testing.assert_allclose(found, [2e-8, 0.16, 2e-8])


def test_joints_whose_points_were_cut_are_named_in_their_order():
    made = of_three(effort=(10.0, 100.0, 0.25))
    planned = made.plan(list(made.chain.joint_names), [Waypoint(1.0, [1.0, 0.5, 0.5])], None, 0.0)
    assert planned.beyond == ("spin", "bend")
    assert np.abs(planned.samples.efforts).max(axis=0)[[0, 2]].tolist() == [10.0, 0.25]
    assert planned.samples.efforts[:, 0].min() == -10.0
    assert planned.lead.efforts.shape == (0, 3)
    still = of_three(effort=(10.0, 100.0, 0.25))
    assert still.plan(["spin", "slide", "bend"], [Waypoint(9.0, [0.1, 0.1, 0.0])], None, 0.0).beyond == ()


def test_single_points_that_come_fast_are_trajectories_of_their_own():
    """The controller behind the feedforward follows no stream of this planner."""
    made = of_three()
    for k in range(1, 9):
        now = 0.05 * k
        start = made.plan_start(None, now)
        planned = made.plan_from(list(made.chain.joint_names), [Waypoint(0.1, (0.01 * k, 0.0, 0.0))], start)
        assert made.accept(planned, now) == ""
    assert not planned.trajectory.streamed and planned.trajectory.end - planned.trajectory.start == (
        pytest.approx(0.1)
    )


def test_efforts_go_from_limit_to_limit_at_once():
    made = swinging(1.2, limit=0.1 * WEIGHT)
    assert made.effort(0.0).tolist() == pytest.approx([0.1 * WEIGHT])
    made.observe(np.array([-1.2]))
    assert made.effort(0.001).tolist() == pytest.approx([-0.1 * WEIGHT])


def test_states_that_jump_or_come_late_are_carried_all_the_same():
    """Checks of plausibility are those of the controller behind it."""
    made = swinging(0.1)
    for time, place in ((0.0, 0.1), (0.001, 9.0), (0.002, -9.0), (50.0, 0.5), (50.001, 0.6)):
        made.observe(np.array([place]), time)
        np.testing.assert_allclose(made.effort(time), [WEIGHT * np.sin(place)], err_msg=str(time))


def test_other_parameters_are_in_force_at_once_or_refused_as_a_whole():
    made = swinging(limit=40.0)
    before = made.parameters
    made.parameters = FeedforwardParameters(max_effort=(0.25 * WEIGHT * np.sin(0.4),))
    made.observe(np.array([0.4]))
    assert made.effort_limits.tolist() == made.effort(0.0).tolist() == [0.25 * WEIGHT * np.sin(0.4)]
    made.parameters = before
    assert made.effort_limits.tolist() == [40.0] and made.parameters is before


def test_points_and_moments_of_a_plan_have_the_efforts_of_its_model():
    made = swinging()
    planned = follows(made, 0.9)
    at = planned.trajectory.sample(0.25)
    expected = Pendulum().inverse_dynamics(at.position, at.velocity, at.acceleration)
    np.testing.assert_allclose(made.effort(0.25), expected, rtol=1e-9)
    points = planned.samples
    np.testing.assert_allclose(
        points.efforts,
        Pendulum().inverse_dynamics(points.positions, points.velocities, points.accelerations),
    )
    assert planned.built is None and planned.dynamics is made.dynamics
