"""A Stewart platform's page in a headless Chromium, with the platform that the simulator really moves."""

from __future__ import annotations

import math
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from chromium import pixels
from geometry_msgs.msg import PoseStamped
from live_page import Page, newest, web_view
from ros_harness import NodeProcess, Peer, peer_with
from sensor_msgs.msg import JointState

from robot_dynamics import stewart
from robot_dynamics.resources import resource
from robot_dynamics.ros.running import pacemaker
from robot_dynamics.ros.support import qos
from robot_dynamics.spatial import rpy_from_rotation
from robot_dynamics.stewart.orientation import rotation_from_quaternion

pytest.importorskip("viser", reason="viser is not installed")
pytestmark = pytest.mark.ros

MACHINE = "stewart_demo"
HOME = np.array([0.0, 0.0, 550.0, 0.0, 0.0, 0.0])
SLIDERS = ("x", "y", "z", "roll", "pitch", "yaw")
LEGS = [f"leg_{k}" for k in range(1, 7)]
# Chromium draws without a graphics card here and takes both cores: in lockstep the platform waits for its
# controller. It moves no faster than a user can look.
COMMON = {"machine": MACHINE, "rate": 100.0, "lockstep": True}


def numbers(message):
    """The six coordinates of a pose as the sliders show them: mm and degrees."""
    place, turn = message.pose.position, message.pose.orientation
    rotation = rotation_from_quaternion([turn.x, turn.y, turn.z, turn.w])
    angles = np.degrees(rpy_from_rotation(rotation))
    return np.array([*(1e3 * value for value in (place.x, place.y, place.z)), *angles])


@pytest.fixture(scope="module")
def live(browser):
    view, address = web_view(machine=MACHINE, update_rate=10.0)
    nodes = (
        NodeProcess("simulator", COMMON),
        NodeProcess("stewart_platform", COMMON, pacemaker.ARGUMENTS),
        NodeProcess("running.pacemaker"),
    )
    with peer_with(*nodes, view) as peer:
        poses, references = [], []
        for topic, kept in (("simulator/platform_pose", poses), ("stewart_platform/reference", references)):
            peer.node.create_subscription(PoseStamped, topic, kept.append, qos.NEWEST)
        peer.wait_until(lambda: poses and references, "simulator and controller do not talk")
        page = Page(peer, browser, address)
        page.wait_for_slider("yaw")
        page.wait_for_plots(3)
        page.pose = lambda: numbers(newest(peer, poses))
        page.reference = lambda: numbers(newest(peer, references))
        yield page


def settle(live):
    live.peer.wait_until(lambda: np.abs(live.pose() - live.reference()).max() < 0.05, "it does not settle")


def wait_for_sliders(live):
    live.peer.wait_until(
        lambda: np.abs([live.slider_value(name) for name in SLIDERS] - live.pose()).max() < 1.0,
        "the sliders are not where the platform is",
    )


def test_the_page_shows_the_platform_and_its_sliders_follow_it(live):
    live.peer.wait_until(lambda: not live.texts(), "the page complains")
    wait_for_sliders(live)
    seen = pixels(live.driver)
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 500
    # The plate of the platform is light and warm, the sky and the ground are not.
    warm = (seen[..., 0] > 170) & (seen[..., 0] - seen[..., 2] > 12)
    assert warm.mean() > 0.002
    text = live.driver.execute_script("return document.body.innerText")
    for wanted in (MACHINE, "condition number", "position error", "orientation error", "leg force"):
        assert wanted in text
    names = live.driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert all(name.startswith(("http://127.0.0.1:", "data:", "blob:")) for name in names)


def test_sliders_and_send_move_the_simulated_platform(live):
    before = pixels(live.driver)
    for name, value in (("x", 40), ("z", 600), ("pitch", 8), ("duration", 1.0)):
        live.type(name, value)
    live.press("send")
    live.wait_for_notice("sent: 1.0 s")
    goal = np.array([40.0, 0.0, 600.0, 0.0, 8.0, 0.0])
    live.peer.wait_until(lambda: np.abs(live.pose() - goal).max() < 0.3, "the platform does not get there")
    live.press("current pose")
    live.peer.wait_until(
        lambda: (np.abs(pixels(live.driver) - before).max(axis=2) > 40).mean() > 0.01,
        "the picture does not change",
    )


def test_hold_stops_a_move(live):
    began = live.pose()[2]
    goal = 520 if began > 550.0 else 580
    way = abs(goal - began)
    live.type("z", goal)
    live.type("duration", 20.0)
    live.press("send")
    live.peer.wait_until(lambda: abs(live.pose()[2] - began) > 3.0, "the platform does not move")
    live.press("hold")
    live.wait_for_notice("hold: ")
    held = live.reference()
    assert abs(held[2] - began) < way - 1.0
    settle(live)
    assert np.abs(live.reference() - held).max() < 1e-6


def test_a_pose_that_the_legs_cannot_reach_is_refused_with_the_leg_and_the_number(live):
    settle(live)
    before = live.pose()
    live.press("current pose")
    for name, value in (("x", 200), ("y", 200), ("z", 700), ("duration", 5.0)):
        live.type(name, value)
    live.press("send")
    live.wait_for_notice("not sent: the platform cannot be there: leg_")
    assert any("above its greatest 0.78 m" in text for text in live.texts())
    assert np.abs(live.pose() - before).max() < 0.5
    live.press("current pose")
    wait_for_sliders(live)


def test_too_fast_a_move_is_refused(live):
    live.type("yaw", 20)
    live.type("duration", 0.1)
    live.press("send")
    live.wait_for_notice("not sent: at t = ")
    live.press("current pose")


def test_reset_puts_the_platform_where_it_began_and_the_controller_lets_it_stay(live):
    assert np.abs(live.pose() - HOME).max() > 5.0
    live.reset()
    live.wait_for_notice(f"reset: {MACHINE} is in its initial state")
    live.peer.wait_until(
        lambda: np.abs(live.reference() - HOME).max() < 5.0 and np.abs(live.pose() - HOME).max() < 5.0,
        "the platform is not reset",
    )


def test_the_controllers_own_refusal_is_shown(live):
    """A trajectory of another program: the page tells what the node says of it."""
    from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

    sender = live.peer.publisher(MultiDOFJointTrajectory, "stewart_platform/trajectory", qos.TRAJECTORY)
    sender.publish(MultiDOFJointTrajectory(points=[MultiDOFJointTrajectoryPoint()]))
    live.wait_for_notice("stewart_platform: trajectory refused: waypoint 0 has 0 transforms")


@pytest.fixture
def heave(live):
    """A stream, in the simulator's time, that goes 30 mm higher than the legs reach."""
    sender, began = Peer("sender"), []
    poses = sender.publisher(PoseStamped, "stewart_platform/pose_command", qos.STREAM)

    def send(reference):
        now = reference.header.stamp.sec + 1e-9 * reference.header.stamp.nanosec
        began.append(now)
        pose = PoseStamped(header=reference.header)
        pose.pose.orientation.w = 1.0
        pose.pose.position.z = 1e-3 * HOME[2] + 0.1 * (1.0 - math.cos(0.5 * math.pi * (now - began[0])))
        poses.publish(pose)

    sender.node.create_subscription(PoseStamped, "stewart_platform/reference", send, qos.NEWEST)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(sender.executor.spin)
        yield
        sender.executor.shutdown()
    sender.close()


@pytest.mark.usefixtures("heave")
def test_a_stream_that_limits_change_is_shown_with_the_deviation_and_the_limit(live):
    def shown():
        text = live.driver.execute_script("return document.body.innerText")
        return re.search(r"stream changed by \d+\.\d+ mm, \S+ mrad: longest length of leg_\d", text)

    live.peer.wait_until(shown, "the deviation is not shown")


def test_a_controller_that_ends_is_told_and_one_that_comes_back_is_used_again(browser):
    view, address = web_view("/two", machine=MACHINE, update_rate=10.0)
    two = ["-r", "__ns:=/two"]
    simulator = NodeProcess("simulator", COMMON, two)
    with peer_with(simulator, view) as peer:
        poses = peer.subscribe(PoseStamped, "/two/simulator/platform_pose", qos.NEWEST)
        page = Page(peer, browser, address)
        page.wait_for_slider("x")
        page.wait_for_notice("no controller takes trajectories on /two/stewart_platform/trajectory")
        page.press("send")
        page.wait_for_notice("not sent: no controller takes trajectories")
        page.press("hold")
        page.wait_for_notice("there is no service /two/stewart_platform/hold")
        for height in (560.0, 580.0):
            # A reset is a jump: an estimate takes its error for a load, and leaves some of it.
            with NodeProcess("stewart_platform", {**COMMON, "ki": -1.0}, two) as controller:
                peer.processes.append(controller)
                peer.wait_until(
                    lambda: not any("controller" in text or "no reference" in text for text in page.texts()),
                    "the controller is not seen",
                )
                # Without one the platform has come down on its stops, from where no path is allowed.
                page.reset()
                page.wait_for_notice("is in its initial state")
                page.type("z", height)
                page.type("duration", 1.0)
                page.press("send")
                page.wait_for_notice("sent: 1.0 s")
                peer.wait_until(
                    lambda height=height: abs(numbers(newest(peer, poses))[2] - height) < 0.5,
                    f"it does not get to {height} mm",
                )
                peer.processes.remove(controller)
            page.wait_for_notice("no controller takes trajectories")
            page.press("current pose")
        peer.processes.remove(simulator)
        simulator.stop()
        page.wait_for_notice("no joint states on /two/joint_states")
        assert view.running and "Traceback" not in view.output


def test_states_that_make_no_sense_are_told(browser):
    view, address = web_view("/three", machine=MACHINE)
    machine = stewart.load(resource(f"config/{MACHINE}.yaml"))
    lengths = machine.legs(machine.machine.home_position, [0.0, 0.0, 0.0]).lengths.tolist()
    with peer_with(view) as peer:
        page = Page(peer, browser, address)
        states = peer.publisher(JointState, "/three/joint_states", qos.STATE_PUBLISHER)

        def say(message, text):
            def said():
                states.publish(message)
                return any(text in notice for notice in page.texts())

            peer.wait_until(said, f"the page never says {text!r}")

        say(JointState(name=LEGS, position=[math.nan, *lengths[1:]]), "leg_1 is not a finite number")
        say(JointState(name=LEGS[:5], position=lengths[:5]), "has no joint leg_6")
        say(JointState(name=LEGS, position=[0.1] * 6), "joint positions that count from elsewhere")
        say(JointState(name=LEGS, position=[0.0] * 6), "leg lengths")
        page.press("send")
        page.wait_for_notice("not sent: ")
        references = peer.publisher(PoseStamped, "/three/stewart_platform/reference", qos.STATE_PUBLISHER)
        bad = PoseStamped()
        bad.pose.orientation.w = 3.0
        good = JointState(name=LEGS, position=lengths)

        def both():
            references.publish(bad)
            states.publish(good)
            return not any("leg lengths" in text for text in page.texts())

        peer.wait_until(both, "the platform is not found again")
        assert view.running and "Traceback" not in view.output


def test_joint_positions_may_count_from_home(browser):
    """As in Gazebo."""
    machine = stewart.load(resource(f"config/{MACHINE}.yaml"))
    home = machine.legs(machine.machine.home_position, [0.0, 0.0, 0.0]).lengths
    there = machine.legs([0.03, 0.0, 0.58], [0.0, 0.1, 0.0]).lengths
    view, address = web_view("/four", machine=MACHINE, zero_lengths=home.tolist())
    with peer_with(view) as peer:
        page = Page(peer, browser, address)
        states = peer.publisher(JointState, "/four/joint_states", qos.STATE_PUBLISHER)

        def followed():
            states.publish(JointState(name=LEGS, position=(there - home).tolist()))
            wanted = (30.0, 580.0, math.degrees(0.1))
            values = [page.slider_value(name) for name in ("x", "z", "pitch")]
            return np.abs(np.array(values) - wanted).max() < 1.0

        page.wait_for_slider("pitch")
        peer.wait_until(followed, "the page does not show the pose")


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"machine": "/nowhere/machine.yaml"}, "parameter 'machine': /nowhere/machine.yaml does not exist"),
        ({"machine": MACHINE, "zero_lengths": [0.5]}, "parameter 'zero_lengths' has 1 values"),
        ({"allowed_origins": ["robot.example"]}, "parameter 'allowed_origins': 'robot.example' is no origin"),
    ],
)
def test_bad_parameters_end_the_node_with_one_line(parameters, text):
    with NodeProcess("web_view", parameters) as node:
        assert node.wait_for_exit() == 1
        assert text in node.output and "Traceback" not in node.output
