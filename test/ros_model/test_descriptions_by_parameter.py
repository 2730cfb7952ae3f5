"""Descriptions set by parameter while a node runs: garbage is refused at once and blocks no later one."""

import os
from types import SimpleNamespace

import pytest
from rclpy.logging import get_logger
from ros_harness import NodeProcess, peer_with
from std_msgs.msg import String

from robot_dynamics.errors import ParameterError
from robot_dynamics.ros.support import qos, spin
from robot_dynamics.ros.support.rate_limited_log import RateLimitedLog


def arm(name, mass="2", joint="shoulder", noise=""):
    return f"""<robot name="{name}"><link name="base"/>{noise}
      <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="{mass}"/>
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
      <joint name="{joint}" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
        <limit lower="-3" upper="3" effort="40" velocity="5"/></joint></robot>"""


GARBAGE = {
    "words": ("garbage", "must hold the URDF itself"),
    "a path": ("/tmp/arm.urdf", "must hold the URDF itself"),
    "no XML": ("<<<", "not well-formed"),
    "no robot": ("<sdf/>", "outermost element is <sdf>"),
    "no links": ("<robot name='r'/>", "no links"),
    "nothing that moves": ("<robot name='r'><link name='a'/></robot>", "no moving joint"),
    "a mass that is no number": (arm("r", "1_7.4"), "is not a number"),
    "a negative mass": (arm("r", "-1"), "it cannot be negative"),
    "a long name": (arm("r", joint="j" * 100_000).replace("revolute", "screw"), "screw"),
    "large": (arm("r", noise=" " * 2**18), "larger than the 256 KiB"),
}
NODES = {
    "computed_torque_controller": ("model of {}:", "the new description"),
    "trajectory_feedforward": ("model of {}:", "the new description"),
    "robot_model": ("model of {}:", "the new description"),
    "simulator": ("simulating {}", "the new description"),
}


@pytest.mark.ros
@pytest.mark.parametrize("node", NODES)
def test_garbage_is_answered_with_the_reason_and_blocks_nothing(node):
    told, _ = NODES[node]
    with NodeProcess(node, {"robot_description": arm("first")}) as process, peer_with(process) as peer:
        process.wait_for_output(told.format("first"))
        for text, reason in GARBAGE.values():
            answer = peer.set_parameter(node, "robot_description", text)
            assert not answer.successful
            assert reason in answer.reason
            assert len(answer.reason) <= 500
        assert peer.set_parameter(node, "robot_description", arm("second")).successful
        process.wait_for_output(told.format("second"))
        assert "Traceback" not in process.output


@pytest.mark.ros
def test_a_robot_that_does_not_fit_by_parameter_leaves_the_topic_open():
    """Faults that only the making of the controller shows are logged; the topic then counts again."""
    node, two_gains = "computed_torque_controller", [1.0, 2.0]
    hand = """<link name="hand"><inertial><mass value="1"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
      <joint name="wrist" type="continuous"><parent link="upper"/><child link="hand"/></joint></robot>"""
    pair = arm("pair").replace("</robot>", hand)
    with (
        NodeProcess(node, {"robot_description": pair, "kp": two_gains}) as process,
        peer_with(process) as peer,
    ):
        process.wait_for_output("model of pair:")
        assert peer.set_parameter(node, "robot_description", arm("single")).successful
        process.wait_for_output("the old model stays: parameter 'kp' has 2 values; give 1, or 1")
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        describe.publish(String(data=pair.replace('"pair"', '"other"')))
        process.wait_for_output("model of other:")


def test_a_burst_of_lines_is_cut_short_and_counted(monkeypatch):
    now, lines = 100.0, []
    monkeypatch.setattr("robot_dynamics.ros.support.rate_limited_log.time.monotonic", lambda: now)
    log = RateLimitedLog(SimpleNamespace(error=lines.append), burst=3, period=2.0)
    for k in range(50):
        log(f"line {k}")
    assert lines == ["line 0", "line 1", "line 2"]
    now += 2.5
    log("later")
    log("too soon")
    assert lines[3:] == ["later (47 more lines were left out)"]
    now += 100.0
    for k in range(4):
        log(f"again {k}")
    assert lines[4:] == ["again 0 (1 more lines were left out)", "again 1", "again 2"]


def test_lines_of_both_severities_go_to_one_logger(capfd):
    logger = get_logger("bursts")
    RateLimitedLog(logger)("an error")
    RateLimitedLog(logger, severe=False)("a warning")
    told = capfd.readouterr().err
    assert "[ERROR]" in told and "[WARN]" in told


@pytest.mark.ros
def test_a_fifo_as_a_parameter_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with NodeProcess("robot_model", arguments=["--params-file", str(tmp_path / "fifo")]) as process:
        assert process.wait_for_exit() == 2
        assert "bad ROS arguments: cannot read the parameter file" in process.output


def test_a_parameter_file_without_an_end_is_refused_before_ros_reads_it(tmp_path):
    file = tmp_path / "endless.yaml"
    with file.open("wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(ParameterError, match="larger than the 5 MiB"):
        spin.check_parameter_files(["--ros-args", "--params-file", str(file)])


def test_a_publisher_of_which_nothing_is_heard_is_told_of():
    """As after a SIGKILL, when shared memory may be stale: here it has published before it had a reader."""
    with NodeProcess("robot_model") as node, peer_with(node) as peer:
        peer.node.create_publisher(String, "robot_description", qos.COMMAND).publish(
            String(data=arm("early"))
        )
        node.wait_for_output("robot_description has a publisher, but nothing .*UDPv4")
        assert "Traceback" not in node.output
