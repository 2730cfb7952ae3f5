"""Runs of this package reach this host only: proven by the sockets that their processes hold."""

import contextlib
import os
import re
from pathlib import Path

import pytest
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState

from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.isolation import SOCKETS, TRANSPORTS, this_host_only

pytest.importorskip("rclpy", reason="rclpy runs the nodes")
pytestmark = pytest.mark.ros

LOOPBACK = "0100007F"
TABLES = ("udp", "udp6", "udplite", "udplite6", "tcp", "tcp6", "raw", "raw6", "packet")


def sockets(pid):
    """Local address of every socket of a process that could reach a network."""
    own = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            own.update(re.findall(r"^socket:\[(\d+)\]$", str(link.readlink())))
    found = []
    for table in TABLES:
        file, inode = Path(f"/proc/{pid}/net/{table}"), -1 if table == "packet" else 9
        lines = [line.split() for line in file.read_text().splitlines()[1:]] if file.exists() else []
        found += [words[1].partition(":")[0] for words in lines if words[inode] in own]
    return found


def shared_memory(pid):
    """Whether a process has opened a port of Fast DDS in shared memory."""
    return "/dev/shm/fastrtps_port" in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.parametrize("transports", ["", SOCKETS])
def test_a_node_talks_by_sockets_that_are_bound_to_the_loopback_interface(monkeypatch, transports):
    """Linux lets no packet with that address of origin onto another interface, and none in from there."""
    monkeypatch.setenv(TRANSPORTS, transports)
    monkeypatch.setenv("ROS_STATIC_PEERS", "192.0.2.77")
    with peer_with(NodeProcess("simulator", {"machine": str(resource("config/stewart_demo.yaml"))})) as peer:
        states = peer.subscribe(JointState, "joint_states", qos.STATE_SUBSCRIPTION)
        peer.wait_until(lambda: states, "no states come")
        (node,) = peer.processes
        for pid in (node.pid, os.getpid()):
            found = sockets(pid)
            assert len(found) >= 3 and set(found) == {LOOPBACK}, found
        assert shared_memory(node.pid) == (not transports)


def test_other_middlewares_and_variables_that_lead_elsewhere():
    elsewhere = {"ROS_STATIC_PEERS": "10.0.0.1", "ROS_LOCALHOST_ONLY": "1", "CYCLONEDDS_URI": "file:///x"}
    kept = {"HOME": "/home/of/somebody"}
    for other in ("rmw_cyclonedds_cpp", "rmw_zenoh_cpp"):
        own = {**kept, "RMW_IMPLEMENTATION": other}
        assert this_host_only(own | elsewhere) == {**own, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    fast = this_host_only(kept | elsewhere | {"RMW_IMPLEMENTATION": "rmw_fastrtps_dynamic_cpp"})
    assert not elsewhere.keys() & fast.keys() and fast["HOME"] == kept["HOME"]
    assert fast["FASTRTPS_DEFAULT_PROFILES_FILE"] == fast["FASTDDS_DEFAULT_PROFILES_FILE"]
