"""A protective stop as people see it: log, diagnostics, ~/supervision, refusals, and ~/reset_fault."""

import signal

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters
from reports import ERROR, OK, Report
from ros_harness import Lifecycle, peer_with
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NODE, Robot, controller, gravity_load

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros
RESET = f"/{NODE}/reset_fault"


@pytest.mark.long
def test_a_protective_stop_of_an_arm_outlasts_activation_kill_and_respawn_until_it_is_reset(tmp_path):
    memory, moved, latched = {"XDG_STATE_HOME": str(tmp_path)}, [0.22, 0.2], "holding until ~/reset_fault"

    def files():
        return [*tmp_path.glob("robot_dynamics/*two_links*.json")]

    def arm():
        return controller(environment=memory, max_following_error=[0.01], start_motion=-1.0)

    def refuses(peer, node, robot):
        report, count = Report(peer), node.output.count("a protective stop is in force")
        report.wait_for(ERROR, f"protective stop: {latched}", lambda: robot.hold_at(moved))
        send = peer.publisher(JointTrajectory, f"/{NODE}/joint_trajectory", qos.TRAJECTORY)
        point = JointTrajectoryPoint(positions=[0.3, 0.3])
        point.time_from_start.sec = 1
        send.publish(JointTrajectory(joint_names=["shoulder", "elbow"], points=[point]))
        peer.wait_until(lambda: node.output.count("a protective stop is in force") > count, "not refused")

    with arm() as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.2, 0.2])
        assert peer.set_parameter(NODE, "kp", [99.0]).successful
        live = tmp_path / "robot_dynamics"
        peer.wait_until(lambda: [*live.glob("live_*")], "a live value is not kept")
        for _ in range(20):
            robot.hold_at(moved)
        node.wait_for_output("protective stop: shoulder")
        tripped = "what tripped is kept for a respawn"
        peer.wait_until(
            lambda: ['"tripped"' in file.read_text() for file in live.glob("live_*.json")] == [True], tripped
        )
        lifecycle = Lifecycle(peer, NODE)
        assert lifecycle.change(lifecycle.DEACTIVATE)
        assert lifecycle.change(lifecycle.ACTIVATE)
        refuses(peer, node, robot)
        assert len(files()) == 1
        peer.processes.clear()
        node.send_signal(signal.SIGKILL)
        node.wait_for_exit()
    with arm() as node, peer_with(node) as peer:
        node.wait_for_output("protected according to .*two_links.*: the arm is held; call ~/reset_fault")
        node.wait_for_output(r"live: kp \[99.0\]; the start's values count, because it tripped a rule")
        robot = Robot(peer)
        refuses(peer, node, robot)
        # It holds where it is, whatever moves: the weight, and no more than that.
        np.testing.assert_allclose(robot.hold_at(moved), gravity_load(moved), rtol=1e-6)
        answer = peer.call(Trigger, RESET, Trigger.Request())
        assert answer.success and answer.message == "holding position"
        peer.wait_until(lambda: not files(), "a stop that was reset is remembered")


def test_a_protective_stop_is_told_and_lasts_until_it_is_reset():
    with controller(max_following_error=[0.01], start_motion=-1.0) as node, peer_with(node) as peer:
        node.wait_for_output("parameter 'start_motion' is -1: its rule of supervision is off")
        node.wait_for_output(
            r"rule 1 following_error: threshold 0.01; duration 0.02 s; release 0.8; protective stop where the"
            r" joint is; reset by ~/reset_fault"
        )
        assert peer.set_parameter(NODE, "oscillation", -1.0).successful
        node.wait_for_output("parameter 'oscillation' is -1: its rule of supervision is off")
        report, robot, seen = Report(peer), Robot(peer), []
        peer.node.create_subscription(DiagnosticArray, f"/{NODE}/supervision", seen.append, qos.DIAGNOSTICS)
        robot.hold_at([0.2, 0.2])
        assert not peer.call(Trigger, RESET, Trigger.Request()).success
        for _ in range(20):
            robot.hold_at([0.22, 0.2])
        node.wait_for_output(
            r"protective stop: shoulder is 0.02 rad from its reference, allowed are 0.01 rad: protective stop"
            r" where the joint is; .*call ~/reset_fault"
        )
        values = report.wait_for(ERROR, "protective stop: holding until ~/reset_fault: shoulder is 0.02 rad")
        assert values["trips"] == "1"
        peer.wait_until(
            lambda: any(one.level == ERROR for message in seen for one in message.status),
            "~/supervision does not show the trip",
        )
        assert {one.name for one in seen[-1].status} >= {"following_error", "overspeed", "oscillation"}
        send = peer.publisher(JointTrajectory, f"/{NODE}/joint_trajectory", qos.TRAJECTORY)
        point = JointTrajectoryPoint(positions=[0.3, 0.3])
        point.time_from_start.sec = 1
        send.publish(JointTrajectory(joint_names=["shoulder", "elbow"], points=[point]))
        node.wait_for_output("trajectory refused: a protective stop is in force")
        answer = peer.call(Trigger, RESET, Trigger.Request())
        assert answer.success and answer.message == "holding position"
        robot.hold_at([0.22, 0.2])
        report.wait_for(OK, "holding position")


def test_a_payload_that_trips_a_rule_at_once_is_taken_back_and_the_parameters_show_it():
    with controller(max_following_error=[0.01], start_motion=-1.0) as node, peer_with(node) as peer:
        robot = Robot(peer)
        np.testing.assert_allclose(robot.hold_at([0.2, 0.2]), gravity_load([0.2, 0.2]), rtol=1e-6)
        assert peer.set_parameter(NODE, "payload_mass", 0.5).successful
        node.wait_for_output("payload.*0.5")
        robot.hold_at([0.2, 0.2])
        for _ in range(20):
            robot.hold_at([0.22, 0.2])
        node.wait_for_output("on the model before the last change, which is in force again")
        node.wait_for_output("that were set last are taken back")
        asked = GetParameters.Request(names=["payload_mass"])
        peer.repeat_until(
            lambda: robot.hold_at([0.22, 0.2]),
            lambda: peer.call(GetParameters, f"{NODE}/get_parameters", asked).values[0].double_value == 0.0,
            "the parameter stays",
        )
        peer.repeat_until(
            lambda: robot.hold_at([0.22, 0.2]),
            lambda: np.allclose(robot.hold_at([0.22, 0.2]), gravity_load([0.22, 0.2]), rtol=1e-6),
            "the model before is not in force",
        )


@pytest.mark.long
@pytest.mark.parametrize("host", ["auto", "off"])
def test_an_emergency_stop_of_an_arm_engages_its_brakes_until_unpark(host):
    brakes = {"brakes": True, "brake_engage_time": 0.01, "brake_release_time": 0.01, "safe_fade_time": 0.02}
    with controller(native_loop=host, **brakes) as node, peer_with(node) as peer:
        robot, place = Robot(peer), [0.2, 0.2]
        commands = peer.subscribe(Bool, f"/{NODE}/brake", qos.DESCRIPTION)

        def call(name):
            return peer.call(Trigger, f"/{NODE}/{name}", Trigger.Request())

        def until(condition, what):
            peer.repeat_until(lambda: robot.hold_at(place), condition, what)

        until(lambda: commands and not commands[-1].data, "the brakes stay engaged")
        assert call("emergency_stop").success
        until(lambda: commands[-1].data, "the brakes are not engaged")
        until(lambda: robot.faded, "efforts stay")

        def slide():
            place[0] += 1e-3
            robot.hold_at(place)

        peer.repeat_until(slide, lambda: not robot.faded, "the arm is not carried by its efforts")
        node.wait_for_output("ERROR.*the arm moves on its brakes: its brakes slip: the efforts carry it")
        assert "reset_fault" in call("unpark").message
        assert call("reset_fault").success
        answer = call("unpark")
        assert answer.success and answer.message == "leaving the brakes"
        until(lambda: not commands[-1].data, "the brakes are not released")
        until(lambda: not robot.faded, "the arm is not carried")
        # Feedback leads it back to where the efforts came back.
        np.testing.assert_allclose(robot.hold_at(place), gravity_load(place), atol=0.3)


def test_targets_that_replace_each_other_are_followed_as_a_stream():
    with controller() as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.2, 0.2])
        send = peer.publisher(JointTrajectory, f"/{NODE}/joint_trajectory", qos.TRAJECTORY)
        place, count = [0.2, 0.2], 0

        def go_on():
            nonlocal count
            point = JointTrajectoryPoint(positions=[0.2 + 0.0005 * count, 0.2])
            point.time_from_start.nanosec = 40_000_000
            send.publish(JointTrajectory(joint_names=["shoulder", "elbow"], points=[point]))
            for _ in range(15):
                robot.hold_at(place)
            count += 1
            return "are followed as a stream" in node.output

        peer.wait_until(go_on, "no stream")
        # The first ones may arrive together: the newest counts.
        refused = [line for line in node.output.splitlines() if "refused" in line]
        assert all("a newer one has replaced it" in line for line in refused)
