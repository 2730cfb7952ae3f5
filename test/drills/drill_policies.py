"""The security policies: each running node uses what its policy declares, and nothing else."""

import shutil
import subprocess
import time

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import invariants
import policies
from machines import ARM
from patience import PATIENCE
from ros_harness import NodeProcess, free_port, peer_with

pytestmark = pytest.mark.ros
URDF = {"robot_description": ARM}
IMU = {"gravity_from_imu": True}
FOLLOWS = {"follow_robot_model": True}
SIMULATOR = {"publish_clock": True, "publish_description": True, "measure_latency": True}
CASES = {
    "computed_torque_controller": [
        {**URDF, **IMU, "brakes": True},
        {**URDF, **FOLLOWS, "use_sim_time": True},
    ],
    "stewart_platform": [{"use_sim_time": True}],
    "trajectory_feedforward": [
        {**URDF, **IMU, "effort_path": "commands"},
        {**URDF, **FOLLOWS, "use_sim_time": True},
    ],
    "robot_model": [{**URDF, **IMU, "use_sim_time": True}],
    "contact_monitor": [{**URDF, **IMU, "use_sim_time": True}, {**URDF, **FOLLOWS}],
    "simulator": [
        {**URDF, **SIMULATOR},
        {**URDF, "command_message": "sensor_msgs/JointState"},
        {"machine": "stewart_demo", "use_sim_time": True},
    ],
    "markers": [{**URDF, "use_sim_time": True}],
    "web_view": [{**URDF, "use_sim_time": True}, {"machine": "stewart_demo", "use_sim_time": True}],
}
NOT_HERE = ("/follow_joint_trajectory", "/controller_state", "/tf")
"""Ends of names that only appear where control_msgs and tf2_msgs are installed, which the wheels are not."""
PASSING = "/robot_model/set_parameters_atomically"
"""A client that exists only while a parameter that was set on a follower is passed on."""
SETTLED = 1.0
"""A graph that has not changed for so long is whole, where a process has a processor of its own [s]."""


def settled(peer, node):
    """Use of the graph by a node, once it does not change any more."""
    state = [set(), time.monotonic()]

    def same():
        now = (
            policies.used(peer.node, node)
            if (node, "/") in peer.node.get_node_names_and_namespaces()
            else set()
        )
        if now != state[0]:
            state[:] = [now, time.monotonic()]
        return bool(now) and time.monotonic() > state[1] + SETTLED * invariants.load()

    peer.wait_until(same, f"{node} does not settle")
    return state[0]


@pytest.mark.parametrize("node", CASES)
def test_a_node_uses_what_its_policy_declares_and_nothing_else(node):
    if node == "web_view":
        pytest.importorskip("viser", reason="viser is not installed")
    used = set()
    for parameters in CASES[node]:
        given = {**parameters, "port": free_port()} if node == "web_view" else parameters
        with NodeProcess(node, given) as process, peer_with(process) as peer:
            used |= settled(peer, node)
    declared = policies.declared(node)
    assert used <= declared, f"undeclared: {sorted(used - declared)}"
    unused = {use for use in declared - used if not use[1].endswith((*NOT_HERE, PASSING))}
    assert not unused, f"declared without need: {sorted(unused)}"


def test_every_node_has_a_policy():
    assert {file.name.partition(".")[0] for file in policies.FOLDER.iterdir()} == set(CASES)


def enforcing(keystore):
    """The environment of a node that shall not run without the keys of its enclave."""
    return {
        "ROS_SECURITY_ENABLE": "true",
        "ROS_SECURITY_STRATEGY": "Enforce",
        "ROS_SECURITY_KEYSTORE": str(keystore),
    }


@pytest.fixture
def refused(tmp_path):
    """Output of a node that must enforce a keystore without keys, until it ends."""
    enclave = tmp_path / "enclaves" / "robot_model"
    enclave.mkdir(parents=True)
    for name in ("identity_ca.cert", "cert", "key", "permissions_ca.cert"):
        (enclave / f"{name}.pem").write_text("no certificate", encoding="utf-8")
    for name in ("governance", "permissions"):
        (enclave / f"{name}.p7s").write_text("no signature", encoding="utf-8")
    with NodeProcess("robot_model", URDF, ["-e", "/robot_model"], enforcing(tmp_path)) as process:
        assert process.wait_for_exit() == 1
        process.wait_for_output(r"\[FATAL\]")
        return process.output


def test_a_keystore_that_nothing_can_enforce_keeps_the_node_from_starting(refused):
    assert "Traceback" not in refused


def test_who_has_no_keys_sees_nothing_of_a_node_in_its_enclave(refused, tmp_path):
    if "doesn't have the security libraries" in refused:
        pytest.skip("Fast DDS is built without its security libraries")
    if shutil.which("ros2") is None:
        pytest.skip("ros2 security is not installed")
    keys = str(tmp_path / "keys")
    policy = str(policies.FOLDER / "robot_model.policy.xml")
    for command in (
        ["create_keystore", keys],
        ["create_enclave", keys, "/robot_model"],
        ["create_permission", keys, "/robot_model", policy],
    ):
        subprocess.run(["ros2", "security", *command], check=True, timeout=PATIENCE)
    with NodeProcess("robot_model", URDF, ["-e", "/robot_model"], enforcing(keys)) as secured:
        secured.wait_for_output("model of")
        with NodeProcess("robot_model", URDF, ["-r", "__node:=open"]) as other, peer_with(other) as peer:
            settled(peer, "open")
            assert ("robot_model", "/") not in peer.node.get_node_names_and_namespaces()
