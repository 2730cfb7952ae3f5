"""Transports of the nodes, proven by the sockets and the memory that their processes hold."""

import contextlib
import os
import re
from pathlib import Path

import acknowledged
import plain_listener
import pytest
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState

from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.isolation import (
    DEFAULT,
    SOCKETS,
    TRANSPORTS,
    socket_variables,
    this_host_only,
)

pytest.importorskip("rclpy", reason="rclpy runs the nodes")
pytestmark = pytest.mark.ros

LOOPBACK = "0100007F"
SIMULATED = {"machine": str(resource("config/stewart_demo.yaml"))}
NO_PROFILE = {"FASTRTPS_DEFAULT_PROFILES_FILE": "", "FASTDDS_DEFAULT_PROFILES_FILE": ""}
LOCALHOST = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
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
    """True if a process has opened a port of Fast DDS in shared memory."""
    return "/dev/shm/fastrtps_port" in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.parametrize("transports", ["", SOCKETS, DEFAULT])
def test_a_node_talks_by_sockets_that_are_bound_to_the_loopback_interface(monkeypatch, transports):
    """Linux lets no packet with that address of origin onto another interface, and none in from there."""
    monkeypatch.setenv(TRANSPORTS, transports)
    monkeypatch.setenv("ROS_STATIC_PEERS", "192.0.2.77")
    with peer_with(NodeProcess("simulator", SIMULATED)) as peer:
        states = peer.subscribe(JointState, "joint_states", qos.STATE_SUBSCRIPTION)
        peer.wait_until(lambda: states, "no states come")
        (node,) = peer.processes
        for pid in (node.pid, os.getpid()):
            found = sockets(pid)
            assert len(found) >= 3 and set(found) == {LOOPBACK}, found
        assert shared_memory(node.pid) == (transports == DEFAULT)


@pytest.mark.long
@pytest.mark.parametrize("own", [{}, NO_PROFILE | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}])
def test_senders_ask_soon_what_has_arrived(own):
    """By default they ask every 3 s: twenty messages, each after another has arrived, take a minute."""
    with NodeProcess(Path(acknowledged.__file__), environment=own) as sender:
        time = float(sender.wait_for_output(r"acknowledged 20 in ([0-9.]+) s")[1])
    assert time < 30.0


def test_other_middlewares_and_variables_that_lead_elsewhere():
    elsewhere = {"ROS_STATIC_PEERS": "10.0.0.1", "ROS_LOCALHOST_ONLY": "1", "CYCLONEDDS_URI": "file:///x"}
    kept = {"HOME": "/home/of/somebody"}
    for other in ("rmw_cyclonedds_cpp", "rmw_zenoh_cpp"):
        own = {**kept, "RMW_IMPLEMENTATION": other}
        assert this_host_only(own | elsewhere) == {**own, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    fast = this_host_only(kept | elsewhere | {"RMW_IMPLEMENTATION": "rmw_fastrtps_dynamic_cpp"})
    assert not elsewhere.keys() & fast.keys() and fast["HOME"] == kept["HOME"]
    assert fast["FASTRTPS_DEFAULT_PROFILES_FILE"] == fast["FASTDDS_DEFAULT_PROFILES_FILE"]


@pytest.mark.parametrize(
    ("own", "memory"),
    [
        (LOCALHOST, False),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "", "ROS_LOCALHOST_ONLY": "1"}, False),
        (LOCALHOST | {TRANSPORTS: DEFAULT}, True),
    ],
)
def test_a_node_in_the_environment_of_a_user_sends_by_sockets_to_plain_nodes(own, memory):
    variables = NO_PROFILE | own
    listener = Path(plain_listener.__file__)
    with (
        NodeProcess("simulator", SIMULATED, environment=variables) as node,
        NodeProcess(listener, environment=variables) as foreign,
    ):
        foreign.wait_for_output("heard")
        assert shared_memory(foreign.pid)
        assert shared_memory(node.pid) == memory


def test_sockets_are_the_default_where_the_user_has_not_chosen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fast = {"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp"}
    # Nothing about the reach: other hosts are found as before.
    sockets = {TRANSPORTS: SOCKETS, "SKIP_DEFAULT_XML_FILE": "1"}
    sockets |= dict.fromkeys(NO_PROFILE, str(resource("config/prompt_repair.xml")))
    assert socket_variables(fast) == socket_variables(fast | NO_PROFILE) == sockets
    assert socket_variables(fast | {"ROS_STATIC_PEERS": "10.0.0.1"}) == sockets
    for chosen in (
        {TRANSPORTS: "LARGE_DATA"},
        {"FASTRTPS_DEFAULT_PROFILES_FILE": "/own.xml"},
        {"FASTDDS_DEFAULT_PROFILES_FILE": "/own.xml"},
        {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"},
        LOCALHOST | {"ROS_STATIC_PEERS": "10.0.0.1"},
    ):
        assert socket_variables(fast | chosen) == {}
    assert socket_variables(fast | LOCALHOST)["FASTRTPS_DEFAULT_PROFILES_FILE"].endswith("by_sockets.xml")
    Path("DEFAULT_FASTRTPS_PROFILES.xml").touch()
    assert socket_variables(fast) == {}
    assert socket_variables(fast | {"SKIP_DEFAULT_XML_FILE": "1"}) == sockets
