"""The controller node as a process of its own; this test plays the robot over DDS."""

from __future__ import annotations

import copy
import math

import numpy as np
import pinocchio as pin
import pytest
from geometry_msgs.msg import PoseStamped
from patience import PATIENCE
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NAMES, NODE, SECOND, TWO_LINKS, Robot, controller, gravity_load

from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp

pytestmark = pytest.mark.ros

TRAJECTORY = f"{NODE}/joint_trajectory"


def trajectory(points, names=NAMES, stamp=0):
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = nanoseconds_to_stamp(stamp)
    for seconds, positions in points:
        point = JointTrajectoryPoint(positions=[float(p) for p in positions])
        point.time_from_start.sec = math.floor(seconds)
        point.time_from_start.nanosec = round((seconds % 1) * 1e9)
        message.points.append(point)
    return message


def test_states_are_mapped_by_name_and_the_weight_is_carried():
    with controller() as node, peer_with(node) as peer:
        robot = Robot(peer)
        expected = gravity_load([0.3, -0.4])
        np.testing.assert_allclose(robot.hold_at([0.3, -0.4]), expected, rtol=1e-9)
        shuffled = robot.state(
            [7.0, -0.4, 0.3], [9.0, 0.0, 0.0], ["gripper", "elbow", "shoulder"], [math.nan] * 3
        )
        np.testing.assert_allclose(robot.answer(shuffled), expected, rtol=1e-9)
        without_velocity = robot.state([0.3, -0.4], [])
        np.testing.assert_allclose(robot.answer(without_velocity), expected, rtol=1e-9)
        peer.wait_until(lambda: robot.commands, "no unstamped command")
        np.testing.assert_allclose(robot.commands[-1].data, expected, rtol=1e-9)


def test_bad_states_are_refused_and_the_next_good_one_is_answered():
    with controller() as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.1, 0.1])
        unusable = robot.state([math.nan, 0.1])

        def refused():
            robot.states.publish(unusable)
            return "joint state refused: the position of joint shoulder is not a finite" in node.output

        peer.wait_until(refused, "a state with NaN is not refused")
        for bad in [
            robot.state([math.nan, 0.1]),
            robot.state([0.1], [0.0], ["shoulder"]),
            robot.state([0.1, 0.1, 0.2], [0.0, 0.0]),
        ]:
            robot.now += 1000
            bad.header.stamp = nanoseconds_to_stamp(robot.now)
            robot.states.publish(bad)
            robot.now += 1000
            robot.hold_at([0.1, 0.1])
            assert bad.header.stamp not in [command.header.stamp for command in robot.stamped]
        assert np.isfinite([command.effort for command in robot.stamped]).all()


def test_a_trajectory_is_followed_with_the_models_efforts():
    sparse = {"control_period": 0.002, "half_period_ahead": False, "max_stamp_step": 2.0}
    with controller(**sparse) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.0, 0.0])
        reference = peer.subscribe(JointState, f"{NODE}/reference", qos.RECORDING)
        send = peer.publisher(JointTrajectory, TRAJECTORY, qos.TRAJECTORY)
        begin = robot.now + SECOND
        send.publish(trajectory([(1.0, [0.8, -0.6])], stamp=begin))
        node.wait_for_output("following a trajectory of 1 points for 1.000 s")
        model = pin.buildModelFromXML(TWO_LINKS)
        data = model.createData()
        goal = np.array([0.8, -0.6])
        for s in (0.25, 0.5, 0.9):
            robot.now = begin + round(s * SECOND)
            q = goal * (10 * s**3 - 15 * s**4 + 6 * s**5)
            qd = goal * (30 * s**2 - 60 * s**3 + 30 * s**4)
            qdd = goal * (60 * s - 180 * s**2 + 120 * s**3)
            effort = robot.answer(robot.state(q, qd))
            np.testing.assert_allclose(effort, pin.rnea(model, data, q, qd, qdd), rtol=1e-7, atol=1e-7)
        peer.wait_until(lambda: len(reference) >= 3, "no reference")
        robot.now = begin + 2 * SECOND
        np.testing.assert_allclose(robot.hold_at(goal), gravity_load(goal), rtol=1e-9)


class Falling(Robot):
    """An arm that its efforts accelerate, as Pinocchio has it."""

    def __init__(self, peer):
        super().__init__(peer)
        self.model = pin.buildModelFromXML(TWO_LINKS)
        self.data = self.model.createData()
        self.place, self.rate, self.efforts = np.array([-0.8, 0.2]), np.zeros(2), []

    def step(self):
        self.stamped.clear()
        effort = self.answer(self.state(self.place, self.rate))
        self.rate = self.rate + 0.002 * pin.aba(self.model, self.data, self.place, self.rate, effort)
        self.place = self.place + 0.002 * self.rate
        self.efforts.append(effort)
        return self.rate[0]


def test_targets_of_one_point_at_30_hz_are_one_smooth_motion():
    """Speed swung from 0 to 0.58 rad/s where 0.3 were meant, efforts to 100 %, 166 times."""
    # In lockstep a target is planned at once, however much faster than time the states come.
    with controller(lockstep=True) as node, peer_with(node) as peer:
        arm = Falling(peer)
        send = peer.publisher(JointTrajectory, TRAJECTORY, qos.TRAJECTORY)
        begin = arm.place.copy()
        for _ in range(50):
            arm.step()
        start, sent, speeds = arm.now, 0, []
        while arm.now < start + 1.5 * SECOND:
            if arm.now >= start + sent * SECOND // 30:
                meant = begin + np.array([0.3 * (sent / 30 + 0.04), 0.0])
                # With the stamp it does not matter when it arrives.
                send.publish(trajectory([(0.04, meant)], stamp=start + sent * SECOND // 30))
                sent += 1
            speeds.append(arm.step())
        settled = np.array(speeds[400:])
        assert settled.min() > 0.25 and settled.max() < 0.35
        limits = np.array([40.0, 5.0])
        assert (np.abs(arm.efforts[450:]) / limits - np.abs(gravity_load(begin)) / limits).max() < 0.1
        changes = np.sign(np.diff(settled[::10])) * (np.abs(np.diff(settled[::10])) > 0.01)
        assert (np.diff(changes[changes != 0.0]) != 0.0).sum() < 4
        assert "followed as a stream" in node.output


def test_refused_trajectories_are_logged_and_change_nothing():
    with controller() as node, peer_with(node) as peer:
        robot = Robot(peer)
        expected = robot.hold_at([0.2, 0.2])
        send = peer.publisher(JointTrajectory, TRAJECTORY, qos.TRAJECTORY)
        unsorted = trajectory([(1.0, [0.1, 0.1]), (0.5, [0.2, 0.2])])
        for bad, reason in [
            (trajectory([(1.0, [0.5])], ["shoulder"]), "missing joint names .*elbow"),
            (trajectory([(1.0, [0.5, 0.5])], ["shoulder", "knee"]), "unknown joint names .*knee"),
            (trajectory([(1.0, [0.5])]), "1 positions for 2 joints"),
            (trajectory([(1.0, [0.5, math.inf])]), "not finite"),
            (trajectory([(1.0, [0.5, 9.0])]), "outside its limits"),
            (unsorted, "not later than"),
            (trajectory([(1.0, [0.5, 0.5])], stamp=1), "in the past"),
        ]:
            send.publish(bad)
            node.wait_for_output(f"trajectory refused: .*{reason}")
        np.testing.assert_allclose(robot.hold_at([0.2, 0.2]), expected, rtol=1e-9)


def test_a_description_with_the_same_model_drops_nothing_and_another_says_what_it_drops():
    """A comment in the description dropped the trajectory, and no log line said so."""
    with controller(max_stamp_step=2.0) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.0, 0.0])
        send = peer.publisher(JointTrajectory, TRAJECTORY, qos.TRAJECTORY)
        send.publish(trajectory([(60.0, [0.8, -0.6])]))
        node.wait_for_output("following a trajectory of 1 points for 60.000 s")
        commented = TWO_LINKS.replace("<link", "<!-- another -->\n<link", 1)
        assert peer.set_parameter(NODE, "robot_description", commented).successful
        node.wait_for_output("the new description has the same model: nothing changes")
        assert "dropped" not in node.output
        heavier = TWO_LINKS.replace('<mass value="', '<mass value="1', 1)
        assert peer.set_parameter(NODE, "robot_description", heavier).successful
        node.wait_for_output(
            r"a new model is in use: the arm is held where it is; dropped: a trajectory of 1 points.* s"
        )


def test_an_empty_trajectory_and_the_hold_service_stop_where_the_arm_is():
    with controller() as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.0, 0.0])
        send = peer.publisher(JointTrajectory, TRAJECTORY, qos.TRAJECTORY)
        for stop in ("message", "service"):
            send.publish(trajectory([(4.0, [1.0, 1.0])]))
            node.wait_for_output(r"following (.|\n)*" * (1 if stop == "message" else 2))
            robot.now += SECOND
            robot.answer(robot.state([0.1, 0.1]))
            if stop == "message":
                send.publish(JointTrajectory())
                node.wait_for_output("holding where the arm is")
            else:
                response = peer.call(Trigger, f"{NODE}/hold")
                assert response.success, response.message
            robot.now += SECOND
            np.testing.assert_allclose(robot.hold_at([0.1, 0.1]), gravity_load([0.1, 0.1]), rtol=1e-6)


def test_efforts_stay_within_the_limits():
    with controller(kp=[1e5], max_stamp_step=2.0, loop_delay=-1.0) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.0, 0.0])
        robot.now += SECOND
        efforts = np.abs(robot.answer(robot.state([0.5, 0.5])))
        assert (efforts <= [40.0, 5.0]).all() and (efforts == [40.0, 5.0]).any()
        node.wait_for_output("effort limited at shoulder, elbow")


def test_without_states_the_safe_output_fades_and_returning_states_are_held():
    with controller(state_timeout=0.3) as node, peer_with(node) as peer:
        robot = Robot(peer)
        weight = robot.hold_at([0.3, 0.2])
        count = len(robot.commands)
        node.wait_for_output("no joint state for .* safe output gravity_fade")
        peer.wait_until(lambda: len(robot.commands) > count and robot.faded, "no fade to zero")
        faded = np.array([message.data for message in robot.commands[count:]])
        assert np.all(np.diff(np.abs(faded[:, 0])) <= 1e-12)
        assert np.all(np.abs(faded) <= np.abs(weight) + 1e-9)
        assert len(faded) > 3
        robot.now += 5 * SECOND
        np.testing.assert_allclose(robot.hold_at([0.6, 0.1]), gravity_load([0.6, 0.1]), rtol=1e-9)
        node.wait_for_output("joint states are back")


def test_gains_change_live_and_bad_values_are_refused_with_a_reason():
    with controller(half_period_ahead=False, model_change_time=0.0) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.0, 0.0])
        for name, value, reason in [
            ("kp", [1.0, 2.0, 3.0], "parameter 'kp' has 3 values; give 1, or 2 in the order shoulder, elbow"),
            ("kp", [-1.0], "0 to 1e+06"),
            ("mode", "magic", "computed_torque"),
            ("state_timeout", 0.0, "0.001"),
            ("root", "upper", "read-only"),
        ]:
            result = peer.set_parameter(NODE, name, value)
            assert not result.successful, name
            assert name in result.reason and reason in result.reason, result.reason
        for _ in range(6):
            robot.hold_at([0.0, 0.0])
        unstable = peer.set_parameter(NODE, "kv", [1e4])
        assert "with a state every 2 ms at most 769.2 is stable" in unstable.reason
        before = robot.answer(robot.state([0.01, 0.0]))
        assert peer.set_parameter(NODE, "kp", [200.0]).successful
        after = robot.answer(robot.state([0.01, 0.0]))
        load = gravity_load([0.01, 0.0])
        np.testing.assert_allclose(after - load, 2.0 * (before - load), rtol=1e-6)


def test_a_new_description_is_a_new_model_and_a_bad_one_changes_nothing():
    heavier = TWO_LINKS.replace('<mass value="1"/>', '<mass value="3"/>')
    with NodeProcess(NODE) as node, peer_with(node) as peer:
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        describe.publish(String(data=TWO_LINKS))
        robot = Robot(peer)
        node.wait_for_output("model of two_links")
        weight = robot.hold_at([0.3, 0.2])
        describe.publish(String(data=TWO_LINKS.replace('type="revolute"', 'type="floating"')))
        node.wait_for_output("the new description is refused, the old model stays")
        np.testing.assert_allclose(robot.hold_at([0.3, 0.2]), weight, rtol=1e-9)
        describe.publish(String(data=heavier))
        node.wait_for_output(r"(model of two_links(.|\n)*){2}")
        model = pin.buildModelFromXML(heavier)
        expected = pin.rnea(model, model.createData(), np.array([0.3, 0.2]), np.zeros(2), np.zeros(2))
        peer.wait_until(
            lambda: np.allclose(robot.hold_at([0.3, 0.2]), expected, rtol=1e-9), "the new model is not used"
        )


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"robot_description": "<robot name='x'><link"}, "XML|parse|well-formed"),
        ({"robot_description": TWO_LINKS, "tip": "hand"}, "hand"),
        ({"robot_description": TWO_LINKS, "gravity": [0.0, 1.0]}, "gravity"),
        ({"robot_description": TWO_LINKS, "kp": [math.nan]}, "kp"),
    ],
)
def test_a_bad_start_ends_with_one_clear_line(parameters, reason):
    with NodeProcess(NODE, parameters) as node:
        assert node.wait(PATIENCE) != 0
        assert "Traceback" not in node.output
        node.wait_for_output(reason)


def test_an_interrupt_ends_with_the_safe_output_and_exit_code_0():
    with controller() as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.3, 0.2])
        peer.processes.clear()
        assert node.stop() == 0
        peer.wait_until(lambda: robot.faded, "no safe output at the end")
        assert "Traceback" not in node.output


def test_the_packaged_puma_is_held_against_gravity():
    text = resource("urdf/puma560.urdf").read_text(encoding="utf-8")
    model = pin.buildModelFromXML(text)
    q = np.array([0.3, -0.5, 0.4, 0.2, 0.1, 0.6])
    names = [f"joint{i}" for i in range(1, 7)]
    with NodeProcess(NODE, {"robot_description": text}) as node, peer_with(node) as peer:
        robot = Robot(peer)
        effort = robot.answer(robot.state(q, np.zeros(6), names))
        expected = pin.rnea(model, model.createData(), q, np.zeros(6), np.zeros(6))
        np.testing.assert_allclose(effort, expected, rtol=1e-9, atol=1e-9)


def test_a_target_pose_is_approached_and_unusable_ones_are_refused():
    """The last link of the two at joint positions that the arm then takes."""
    with controller(max_stamp_step=10.0) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.3, -0.4])
        reference = peer.subscribe(JointState, f"{NODE}/reference", qos.RECORDING)
        send = peer.publisher(PoseStamped, f"{NODE}/target_pose", qos.STREAM)
        model = pin.buildModelFromXML(TWO_LINKS)
        data = model.createData()
        goal = np.array([0.5, -0.7])
        pin.framesForwardKinematics(model, data, goal)
        pose = pin.SE3ToXYZQUAT(data.oMf[model.getFrameId("lower")])
        message = PoseStamped()
        message.header.frame_id = "base"
        place, turn = message.pose.position, message.pose.orientation
        place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w = pose.tolist()
        send.publish(message)
        node.wait_for_output(r"moving to a target pose in \d\.\d+ s")
        robot.now += 5 * SECOND
        np.testing.assert_allclose(robot.hold_at(goal), gravity_load(goal), rtol=1e-5)
        peer.wait_until(lambda: reference and reference[-1].header.stamp.sec >= 5, "no reference")
        np.testing.assert_allclose(reference[-1].position, goal, atol=1e-5)

        def refused(change, reason):
            bad = copy.deepcopy(message)
            change(bad)
            said = f"target pose refused: {reason}"
            peer.repeat_until(lambda: send.publish(bad), lambda: said in node.output, said)

        refused(lambda bad: setattr(bad.pose.position, "x", math.nan), "its position is not finite")
        refused(
            lambda bad: setattr(bad.pose.position, "x", 9.0), "the target pose is out of reach: the nearest"
        )
        refused(lambda bad: setattr(bad.pose.orientation, "w", 2.0), "orientation has norm 2.")
        refused(
            lambda bad: setattr(bad.header, "frame_id", "map"),
            "the frame is 'map'; it must be empty or 'base'",
        )
        np.testing.assert_allclose(robot.hold_at(goal), gravity_load(goal), rtol=1e-5)
