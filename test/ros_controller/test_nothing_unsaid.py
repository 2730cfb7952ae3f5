"""Trajectories that come early wait or are refused; what is dropped and what is in force is told."""

import json

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from ros_harness import UNSUPERVISED, NodeProcess, peer_with
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NAMES, NODE, SECOND, TWO_LINKS, Robot, controller

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp

pytestmark = pytest.mark.ros


def trajectory(position, names=NAMES, seconds=60):
    point = JointTrajectoryPoint(positions=[position] * len(names))
    point.time_from_start.sec = seconds
    return JointTrajectory(joint_names=list(names), points=[point])


def test_an_early_trajectory_waits_for_the_controller_and_everything_that_happens_to_it_is_told():
    parameters = {"start_patience": 120.0, "state_timeout": 60.0, "safe_fade_time": 0.1}
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        send = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        send.publish(trajectory(0.3))
        node.wait_for_output("trajectory: it waits up to 120 s, there is no robot description yet")
        send.publish(trajectory(0.5))
        node.wait_for_output("trajectory refused: while it waited for the controller a newer one came")
        peer.publisher(String, "robot_description", qos.DESCRIPTION).publish(String(data=TWO_LINKS))
        robot = Robot(peer)
        reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        robot.hold_at([0.0, 0.0])
        node.wait_for_output("following a trajectory of 1 points for 60.0")

        assert peer.call(Trigger, f"{NODE}/hold").success
        node.wait_for_output(
            r"asked to hold; dropped: a trajectory of 1 points, (59|60)\.\d+ s before its end"
        )
        send.publish(trajectory(0.1, ["knee", "elbow"]))
        node.wait_for_output("trajectory refused: .*'knee'")
        assert peer.set_parameter(NODE, "payload_mass", 0.25).successful
        assert peer.set_parameter(NODE, "payload_center", [0.0, 0.0, 0.1]).successful

        def in_force():
            robot.hold_at([0.0, 0.0])
            return "in force from now on: payload [kg] 0.25 at 0, 0, 0.1 m; gravity [m/s^2] 0, 0, -9.81" in (
                node.output
            )

        peer.wait_until(in_force, "the payload in force is not told")

        def reported():
            values = {entry.key: entry.value for entry in reports[-1].status[0].values} if reports else {}
            return values.get("payload [kg]") == "0.25 at 0, 0, 0.1 m" and values

        values = peer.wait_until(reported, "the diagnostics have another payload")
        assert values["refused trajectories"] == "2"
        assert "'knee'" in values["last refusal"]

        # A jump names what it drops too.
        send.publish(trajectory(0.2))
        peer.wait_until(lambda: node.output.count("following a trajectory") == 2, "it is not followed")
        robot.hold_at([1.5, 0.0])
        node.wait_for_output("nothing is followed any more; dropped: a trajectory of 1 points")
        peer.processes.clear()
        assert node.stop() == 0
        summary = json.loads(node.wait_for_output("summary: (.*)")[1])
        assert summary["refused_trajectories"] == 2


def test_of_targets_that_wait_for_a_busy_planner_the_newest_is_followed_and_the_others_are_told():
    """On a loaded computer ten old targets stayed, and every new one was refused."""
    with controller(max_stamp_step=10.0, **UNSUPERVISED) as node, peer_with(node) as peer:
        robot = Robot(peer)
        send = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        robot.hold_at([0.0, 0.0])
        send.publish(trajectory(0.1))
        node.wait_for_output("following a trajectory of 1 points for 60")
        # Until the next state comes, the planner cannot hand this one over.
        later = trajectory(0.2, seconds=61)
        later.header.stamp = nanoseconds_to_stamp(robot.now + SECOND)
        send.publish(later)
        for number in range(15):
            send.publish(trajectory(0.3, seconds=70 + number))
        replaced = "trajectory refused: a newer one has replaced it before it was planned"
        node.wait_for_output(replaced)

        def followed():
            robot.hold_at([0.0, 0.0])
            return "following a trajectory of 1 points for 84" in node.output

        peer.wait_until(followed, "the newest is not followed")
        assert "are being planned already" not in node.output
        peer.processes.clear()
        assert node.stop() == 0
        refused = json.loads(node.wait_for_output("summary: (.*)")[1])["refused_trajectories"]
        assert 0 < refused <= 14  # of a burst, the queue of DDS keeps the newest ten


def test_trajectories_before_the_first_state_are_refused_where_none_may_wait():
    with controller(start_patience=0.0) as node, peer_with(node) as peer:
        node.wait_for_output("supervision, enforce")
        send = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        peer.repeat_until(
            lambda: send.publish(trajectory(0.3)),
            lambda: node.output.count("trajectory refused: the controller is not ready") > 1,
            "they are not refused",
        )
        Robot(peer).hold_at([0.0, 0.0])


def test_after_its_patience_the_sender_reads_that_his_trajectory_is_refused():
    with NodeProcess(NODE, {"start_patience": 0.2}) as node, peer_with(node) as peer:
        send = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        send.publish(trajectory(0.3))
        node.wait_for_output("trajectory refused: there is no robot description yet, and it has waited 0.2 s")
