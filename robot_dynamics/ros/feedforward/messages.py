"""Plans as messages for a ``joint_trajectory_controller``."""

from __future__ import annotations

from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.control.arm.feedforward import Feedforward, Plan
from robot_dynamics.control.arm.sampling import evaluate
from robot_dynamics.ros.support.messages import set_stamp, to_array


def plan_message(plan: Plan, feedforward: Feedforward, epoch: int, efforts: bool) -> JointTrajectory:
    """The trajectory to send on, stamped with the moment that it was planned for.

    Without a stamp the controller would begin when the message arrives, and be behind the plan from then on:
    the next trajectory, which departs from the plan, would step its reference.

    Args:
        plan: of the trajectory that was given.
        feedforward: names the joints.
        epoch: time 0 of the plan's clock [ns].
        efforts: whether the points carry the model's efforts; without, they are the path's knots alone.
    """
    message = JointTrajectory(joint_names=list(feedforward.chain.joint_names))
    begin = plan.trajectory.start
    set_stamp(message.header.stamp, epoch + round(1e9 * begin))
    samples, spline = plan.samples, plan.trajectory.spline
    times = samples.times
    states = (samples.positions, samples.velocities, samples.accelerations)
    if not efforts:
        # Quintics between the knots are the path itself; nothing else needs points.
        times, states = spline.times, evaluate(spline, spline.times)
    # The controller takes no trajectory whose end moves, not even by a rounding error.
    states[1][-1] = 0.0
    for k, moment in enumerate(times):
        point = JointTrajectoryPoint(
            positions=to_array(states[0][k]),
            velocities=to_array(states[1][k]),
            accelerations=to_array(states[2][k]),
        )
        set_stamp(point.time_from_start, round(1e9 * (moment - begin)))
        if efforts:
            point.effort = to_array(samples.efforts[k])
        message.points.append(point)
    return message


def hold_message(feedforward: Feedforward, now: float, efforts: bool) -> JointTrajectory:
    """One point: where the arm is, at rest; with ``efforts`` what carries it there at ``now`` [s]."""
    message = JointTrajectory(joint_names=list(feedforward.chain.joint_names))
    position = feedforward.position
    if position is not None:
        point = JointTrajectoryPoint(positions=to_array(position), velocities=to_array(0.0 * position))
        if efforts:
            point.effort = to_array(feedforward.effort(now))
        message.points.append(point)
    return message
