"""Reports of the controller on /diagnostics: each level provoked, with its reason."""

import time

import numpy as np
import pytest
from reports import ERROR, OK, STALE, WARN, Report
from ros_harness import Lifecycle, NodeProcess, peer_with
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray, String
from two_links import NODE, TWO_LINKS, Robot, controller

from robot_dynamics.ros.control import cycle_monitor
from robot_dynamics.ros.control.cycle_monitor import NO_STATE, CycleMonitor
from robot_dynamics.ros.support import qos

PLACE = [0.3, 0.2]


@pytest.mark.ros
def test_the_way_from_unconfigured_to_a_loss_of_states():
    with NodeProcess(NODE, {"autostart": False, "safe_fade_time": 0.2}) as node, peer_with(node) as peer:
        report, lifecycle = Report(peer), Lifecycle(peer, NODE)
        values = report.wait_for(WARN, "not configured: there is no robot description yet")
        assert values["lifecycle"] == "unconfigured"
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        describe.publish(String(data="<robot/>"))
        report.wait_for(WARN, "not configured: the description was refused: ")
        describe.publish(String(data=TWO_LINKS))
        report.wait_for(WARN, "not configured: it can be")
        assert lifecycle.change(lifecycle.CONFIGURE)
        assert report.wait_for(OK, "inactive")["model"] == "two_links: base -> lower, 2 joints"
        assert lifecycle.change(lifecycle.ACTIVATE)
        report.wait_for(STALE, "waiting for the first joint state")
        robot = Robot(peer)
        robot.hold_at(PLACE)
        assert report.wait_for(ERROR, "no joint state: safe output")["lifecycle"] == "active"


@pytest.mark.ros
def test_the_values_while_it_holds_and_what_makes_a_warning():
    with controller(kp=[1e5], loop_delay=-1.0) as node, peer_with(node) as peer:
        report, robot = Report(peer), Robot(peer)
        for _ in range(3):
            robot.hold_at(PLACE)
        values = report.wait_for(OK, "holding position")
        assert values["lifecycle"] == "active"
        assert values["mode"] == "computed_torque"
        assert values["backend"] == "c"
        assert values["saturated joints"] == "none"
        assert float(values["rate [Hz]"]) > 0.0
        assert float(values["age of the state [s]"]) >= 0.0
        assert 0.0 <= float(values["missed deadlines [share]"]) <= 1.0
        assert int(values["missed deadlines"]) >= 0
        assert len(values["period 50 / 99 / 100 % [ms]"].split(" / ")) == 3
        assert len(values["answer 50 / 99 / 100 % [ms]"].split(" / ")) == 3
        robot.hold_at([PLACE[0] + 0.04, PLACE[1]])
        values = report.wait_for(WARN, "effort limited at shoulder, elbow")
        assert values["saturated joints"] == "shoulder, elbow"
        robot.hold_at(PLACE)
        report.wait_for(OK, "holding position")


@pytest.mark.ros
def test_a_second_sender_of_efforts_is_a_warning():
    with controller() as node, peer_with(node) as peer:
        report, robot = Report(peer), Robot(peer)
        robot.hold_at(PLACE)
        report.wait_for(OK, "holding position")
        other = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        report.wait_for(WARN, "/peer can publish /effort_controller/commands too")
        peer.node.destroy_publisher(other)
        report.wait_for(OK, "holding position")


@pytest.mark.ros
def test_a_joint_without_an_effort_limit_is_a_warning_until_max_effort_gives_one():
    zeros = TWO_LINKS.replace('effort="40"', 'effort="0"').replace('velocity="5"', 'velocity="0"')
    widened = {"max_following_error": [0.5], "loop_delay": -1.0}
    with controller(robot_description=zeros, kp=[1e5], **widened) as node, peer_with(node) as peer:
        node.wait_for_output("limits of 0 are taken as not given, so there is none: effort of shoulder;")
        report, robot = Report(peer), Robot(peer)
        robot.hold_at(PLACE)
        report.wait_for(WARN, "holding position; no effort limit for shoulder: the parameter max_effort")
        pushed = [PLACE[0] + 0.04, PLACE[1]]
        # The elbow's limit scales both efforts, so that the motion keeps its direction.
        assert abs(robot.hold_at(pushed)[0]) > 20.0
        refused = peer.set_parameter(NODE, "max_effort", [30.0, 5.0, 3.0])
        assert not refused.successful and "give 1, or 2 in the order shoulder, elbow" in refused.reason
        weak = peer.set_parameter(NODE, "max_effort", [1.0, 0.0])
        assert not weak.successful and "shoulder needs" in weak.reason
        assert peer.set_parameter(NODE, "max_effort", [24.0, 0.0]).successful
        # An effort goes by steps of max_effort_step where it was asked to become another.
        peer.wait_until(lambda: abs(robot.hold_at(PLACE)[0]) < 23.0, "the effort stays at its limit")
        report.wait_for(OK, "holding position")

        def at_a_limit():
            efforts = np.abs(robot.hold_at(pushed))
            assert (efforts <= [24.0, 5.0]).all()
            return (efforts == [24.0, 5.0]).any()

        peer.wait_until(at_a_limit, "not the largest efforts")


@pytest.mark.ros
def test_gravity_without_samples_is_a_warning():
    with controller(gravity_from_imu=True) as node, peer_with(node) as peer:
        report, robot = Report(peer), Robot(peer)
        robot.hold_at(PLACE)
        report.wait_for(WARN, "no usable sample on imu yet")
        imu = peer.publisher(Imu, "imu", qos.STATE_PUBLISHER)
        sample = Imu()
        sample.linear_acceleration.z = 9.81
        report.wait_for(OK, "holding position", lambda: imu.publish(sample))
        report.wait_for(WARN, "no usable sample on imu for")


def test_late_and_old_states_are_warned_of(monkeypatch):
    arrivals = 100.0 + 0.002 * np.arange(200) + 0.006 * (np.arange(200) // 50)
    monitor = CycleMonitor()
    assert monitor.values(NO_STATE) == {"rate [Hz]": "0"}
    for some in np.split(arrivals, 4):
        monitor.add(some, np.full(len(some), 0.0005))
    last = round(1e9 * arrivals[-1])
    monkeypatch.setattr(cycle_monitor.time, "monotonic_ns", lambda: last + 8_000_000)
    values = monitor.values(last)
    # 3 gaps of 8 ms among periods of 2 ms.
    assert values["missed deadlines"] == "3"
    assert float(values["missed deadlines [share]"]) == pytest.approx(3 / 199, abs=1e-5)
    assert float(values["rate [Hz]"]) == pytest.approx(199 / (196 * 0.002 + 3 * 0.008), abs=0.1)
    assert values["answer 50 / 99 / 100 % [ms]"].startswith("0.500 / ")
    assert "1.5 % of the joint states came late" in monitor.warnings(10.0, last)[0]
    assert monitor.warnings(0.01, last)[1] == "the last joint state is 0.008 s old"
    assert len(monitor.warnings(0.1, last)) == 1
    assert monitor.warnings(0.1, NO_STATE)[1] == "the last joint state is inf s old"


def test_few_cycles_say_nothing_about_lateness():
    monitor = CycleMonitor()
    arrivals = np.cumsum(np.where(np.arange(50) % 10 == 0, 0.1, 0.002))
    monitor.add(arrivals, np.zeros(50))
    assert monitor.warnings(60.0, time.monotonic_ns()) == []
