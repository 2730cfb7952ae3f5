"""The command ``record`` writes what passes; the nodes take what ``identify`` has written."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from patience import PATIENCE
from ros_harness import NodeProcess, Peer, peer_with
from sensor_msgs.msg import JointState

from robot_dynamics.cli.main import main
from robot_dynamics.cli.path_source import read_path
from robot_dynamics.identification.logs import read_log
from robot_dynamics.resources import resource
from robot_dynamics.ros.support import processes, qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp

pytest.importorskip("rosbags", reason="rosbags is not installed")
pytestmark = pytest.mark.ros
STEP = 8_000_000


@contextmanager
def recording(*arguments):
    """The command ``record`` as a process: its lines on stderr, and a peer in its domain."""
    command = [sys.executable, "-m", "robot_dynamics.cli.main", "record", *arguments]
    environment = processes.node_environment(processes.claim_domain())
    peer = Peer()
    recorder = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(recorder.stderr), daemon=True)
    reader.start()
    try:
        yield peer, lines
    finally:
        recorder.send_signal(signal.SIGINT)
        code = recorder.wait(PATIENCE)
        reader.join(PATIENCE)
        recorder.stderr.close()
        peer.close()
    assert code == 0, "".join(lines)


@pytest.mark.long
@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_a_recorded_bag_holds_every_state(storage, tmp_path):
    given = ("-o", str(tmp_path / "run"), "--storage", storage, "--topic", "arm/joint_states")
    with recording(*given) as (peer, lines):
        states = peer.publisher(JointState, "arm/joint_states", qos.STATE_PUBLISHER)
        sent = 0

        def send():
            nonlocal sent
            sent += 1
            state = JointState(name=["a", "b"], position=[1.0 * sent, 2.0], effort=[0.5, -1.0 * sent])
            state.header.stamp = nanoseconds_to_stamp(sent * STEP)
            states.publish(state)

        peer.repeat_until(send, lambda: any("first message" in line for line in lines), "nothing recorded")
        for _ in range(20):
            send()
        peer.wait_until(lambda: (tmp_path / "run").is_dir(), "no folder")
    assert re.search(r"\d+ messages recorded", "".join(lines))
    log = read_log(str(tmp_path / "run"), ["b", "a"])
    assert np.all(np.diff(log.time) > 0.0)
    assert np.array_equal(log.q[:, 1], -log.effort[:, 0])
    assert np.array_equal(log.effort[:, 1], np.full(len(log.time), 0.5))
    assert np.allclose(log.time, log.q[:, 1] * 1e-9 * STEP)


ALL = ("rotor_inertia", "damping", "friction")


# The simulator has damping and friction from the description, where identify has written them too.
@pytest.mark.parametrize(
    ("node", "keys"),
    [("computed_torque_controller", ALL), ("trajectory_feedforward", ALL), ("simulator", ALL[:1])],
)
def test_the_nodes_take_the_drives_that_were_found(node, keys, tmp_path):
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    lines = "".join(f"    {key}: {values}\n" for key in ALL)
    (tmp_path / "friction.yaml").write_text(f"/**:\n  ros__parameters:\n{lines}", encoding="utf-8")
    urdf = resource("urdf/puma560.urdf").read_text(encoding="utf-8")
    arguments = ["--params-file", str(tmp_path / "friction.yaml")]
    with NodeProcess(node, {"robot_description": urdf}, arguments) as process, peer_with(process) as peer:
        from rcl_interfaces.srv import GetParameters

        request = GetParameters.Request(names=list(keys))
        found = peer.call(GetParameters, f"{node}/get_parameters", request).values
        assert [list(value.double_array_value) for value in found] == [values] * len(keys)
        assert process.running


@pytest.mark.long
def test_places_of_rest_are_waypoints_that_retime_takes(tmp_path, capsys):
    names = [f"joint{k}" for k in range(1, 7)]
    taught = [np.zeros(6), np.full(6, 0.4), np.array([0.4, 0.4, 0.4, -0.3, 0.4, 0.4])]
    path = tmp_path / "taught.csv"
    with recording("-o", str(path), "--waypoints") as (peer, lines):
        states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        sent = 0
        for count, place in enumerate(taught, 1):

            def send(place=place):
                nonlocal sent
                sent += 1
                state = JointState(name=names, position=(place + 1e-3 * np.sin(sent)).tolist())
                state.header.stamp = nanoseconds_to_stamp(sent * 10 * STEP)
                states.publish(state)

            peer.repeat_until(
                send, lambda n=count: any(f"waypoint {n}:" in line for line in lines), "no waypoint"
            )
    assert "3 waypoints recorded" in "".join(lines)
    read = read_path(str(path), names)
    np.testing.assert_allclose(read.table.positions, taught, atol=2e-3)
    assert (
        main(["retime", str(resource("urdf/puma560.urdf")), str(path), "-o", str(tmp_path / "fast.csv")]) == 0
    )
    assert "become" in capsys.readouterr().out
