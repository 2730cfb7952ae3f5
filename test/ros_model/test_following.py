"""Payload, gravity and friction set at robot_model count in every node that follows it."""

import signal
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
import yaml
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from ros_harness import NodeProcess, peer_with
from test_robot_model_node import ARM

from robot_dynamics.cli.main import main
from robot_dynamics.ros.models import set_all_nodes
from robot_dynamics.ros.support.processes import claim_domain, node_environment

pytestmark = pytest.mark.ros

OWNER, FOLLOWERS = "robot_model", ("computed_torque_controller", "trajectory_feedforward")
FOLLOW = {"robot_description": ARM, "follow_robot_model": True, "payload_mass": 9.0}


def value(peer, node, name):
    answer = peer.call(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=[name]))
    found = parameter_value_to_python(answer.values[0])
    return list(found) if hasattr(found, "__iter__") and not isinstance(found, str) else found


def test_who_follows_takes_what_is_set_at_robot_model_now_and_later():
    owner = NodeProcess(OWNER, {"robot_description": ARM, "payload_mass": 1.5, "friction": [0.3]})
    followers = [NodeProcess(node, FOLLOW) for node in FOLLOWERS]
    with peer_with(owner, *followers) as peer:

        def reaches(name, expected):
            for node in FOLLOWERS:
                peer.wait_until(lambda node=node: value(peer, node, name) == expected, f"{node}: {name}")

        reaches("payload_mass", 1.5)
        reaches("friction", [0.3])
        for name, wanted in [
            ("payload_center", [0.0, 0.1, 0.2]),
            ("payload_inertia", [0.01, 0.0, 0.0, 0.02, 0.0, 0.015]),
            ("payload_mass", 2.5),
            ("gravity", [3.0, 0.0, -9.0]),
            ("robot_compensates_gravity", True),
            ("damping", [0.1, 0.2]),
            ("rotor_inertia", [0.05, 0.06]),
        ]:
            assert peer.set_parameter(OWNER, name, wanted).successful, name
            reaches(name, wanted)
        for name, bad in [
            ("payload_mass", float("nan")),
            ("payload_inertia", [1.0, 0.0, 0.0, 1.0, 0.0, 3.0]),
            ("damping", [0.1, 0.2, 0.3]),
            ("friction", [-0.1]),
        ]:
            result = peer.set_parameter(OWNER, name, bad)
            assert not result.successful
            assert result.reason
        assert np.isclose(value(peer, FOLLOWERS[0], "payload_mass"), 2.5)
        assert value(peer, FOLLOWERS[0], "damping") == [0.1, 0.2]


def test_what_does_not_fit_a_follower_is_refused_there_with_the_reason():
    """The follower's arm ends at the upper link, so two values of damping are one too many."""
    owner = NodeProcess(OWNER, {"robot_description": ARM, "damping": [0.1, 0.2], "payload_mass": 1.5})
    follower = NodeProcess(FOLLOWERS[0], {**FOLLOW, "tip": "upper"})
    with peer_with(owner, follower) as peer:
        follower.wait_for_output("of /robot_model are refused, the own values stay: .*damping.* has 2 values")
        assert value(peer, FOLLOWERS[0], "payload_mass") == 9.0


def test_a_second_sender_changes_nothing_and_followers_pass_on_what_they_are_given(tmp_path):
    """The defaults of a second robot_model replaced 5 kg that were set live: 1.75 rad at 4.7 rad/s."""
    given = {"robot_description": ARM, "payload_mass": 1.5}
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    owner = NodeProcess(OWNER, given, environment=environment)
    follower = NodeProcess(FOLLOWERS[0], FOLLOW)
    with peer_with(owner, follower) as peer:

        def reaches(node, expected):
            peer.wait_until(lambda: value(peer, node, "payload_mass") == expected, f"{node}: {expected}")

        reaches(FOLLOWERS[0], 1.5)
        assert peer.set_parameter(FOLLOWERS[0], "payload_mass", 5.0).successful
        follower.wait_for_output("payload_mass: passed on to /robot_model")
        reaches(OWNER, 5.0)
        second = NodeProcess(OWNER, given)
        with second:
            second.wait_for_output("another node publishes /robot_model/live_parameters: this one is silent")
            assert value(peer, FOLLOWERS[0], "payload_mass") == 5.0
        owner.send_signal(signal.SIGKILL)
        owner.wait_for_exit()
        peer.processes.remove(owner)
        with NodeProcess(OWNER, given, environment=environment) as respawned:
            respawned.wait_for_output(
                "kept from the process before, which was given it live: payload_mass 5.0"
            )
            assert value(peer, FOLLOWERS[0], "payload_mass") == 5.0


def test_two_sources_of_gravity_are_refused():
    with NodeProcess(FOLLOWERS[0], {**FOLLOW, "gravity_from_imu": True}) as node:
        assert node.wait_for_exit() == 1
        node.wait_for_output("follow_robot_model and gravity_from_imu cannot both be true")


LEFT = ["-r", "__ns:=/left"]


def modes_gains_and_a_file_of_what_is_in_force(peer, command, path):
    """A number is one for all joints where the node has a list; the file starts a node as it was."""
    name = f"left/{FOLLOWERS[0]}"

    def done():
        set_there = command("mode=gravity_compensation", "kp=64", "kv=16", "--save", str(path))
        return set_there.returncode == 0 and "/left/robot_model:" in path.read_text("utf-8") and set_there

    said = peer.wait_until(done, "mode and gains are not set").stdout
    assert f"/{name}: mode gravity_compensation, kp 64.0, kv 16.0" in said
    assert value(peer, name, "mode") == "gravity_compensation" and value(peer, name, "kp") == [64.0]
    saved = yaml.safe_load(path.read_text(encoding="utf-8"))
    own = saved[f"/{name}"]["ros__parameters"]
    assert own["mode"] == "gravity_compensation" and own["kp"] == [64.0] and own["payload_mass"] == 2.0
    assert "robot_description" not in own and saved["/left/robot_model"]["ros__parameters"]["friction"] == [
        0.25
    ]
    path.write_text(yaml.safe_dump({"/**": saved[f"/{name}"]}), encoding="utf-8")
    again = ["-r", "__ns:=/again", "--params-file", str(path)]
    with NodeProcess(FOLLOWERS[0], {"robot_description": ARM}, again) as node:
        node.wait_for_output("model of")
        assert value(peer, f"again/{FOLLOWERS[0]}", "kp") == [64.0]
    refused = command("rate=0")
    assert refused.returncode == 1 and "rate" in refused.stderr


@pytest.mark.long
def test_one_command_sets_every_node_of_a_robot_or_none(tmp_path, monkeypatch, capfd):
    """The elbow of the second robot is locked: a list for two joints does not fit it."""
    left = LEFT
    first = NodeProcess(OWNER, {"robot_description": ARM, "friction": [0.25]}, left)
    # The simulated arm bears no payload and refuses efforts for one joint: no start that a robot has.
    locked = {"locked_joints": ["elbow"], "locked_positions": [0.0], "start_motion": -1.0}
    second = NodeProcess(FOLLOWERS[0], {"robot_description": ARM, **locked}, left)
    simulator = NodeProcess("simulator", {"robot_description": ARM, "rate": 50.0}, left)

    # In this process, and sooner sure that no further node comes up than a user's command is.
    monkeypatch.setattr(set_all_nodes, "SETTLED", 0.5)
    for name, text in node_environment(claim_domain()).items():
        monkeypatch.setenv(name, text)

    def command(*words):
        capfd.readouterr()
        code = main(["set", "--namespace", "left", *words])
        return subprocess.CompletedProcess(words, code, *capfd.readouterr())

    with peer_with(first, second, simulator) as peer:
        for node in (first, second):
            node.wait_for_output("model of")
        simulator.wait_for_output("simulating")

        def both():
            # On a busy machine the second node may be seen later than the command looks for it.
            done = command("payload_mass=2", "payload_center=[0, 0, 0.1]", "gravity=[0, 0, -9]")
            assert done.returncode == 0, done.stderr
            return "left/robot_model" in done.stdout and "left/computed_torque_controller" in done.stdout

        peer.wait_until(both, "the command does not find both nodes")
        for node in (first, second):
            node.wait_for_output("in force from now on: payload .kg. 2 at 0, 0, 0.1 m; gravity .* 0, 0, -9;")
            assert "gravity [m/s^2] 0, 0, -9.81" not in node.output  # all at once
        assert value(peer, "left/simulator", "payload_mass") == 0.0

        def refused_by_one():
            done = command("friction=[0.5, 0.5]", "damping=[0.5]")
            if done.returncode == 1 and " refuses" in done.stderr:
                return done
            return peer.set_parameter("left/robot_model", "friction", [0.25]) and None

        refused = peer.wait_until(refused_by_one, "the command does not find the node that refuses")
        assert "/left/computed_torque_controller refuses: parameter 'friction' has 2 values" in refused.stderr
        assert "every node has its old values" in refused.stderr
        assert value(peer, "left/robot_model", "friction") == [0.25]
        missing = "payload_mas, or none was found in 5 s; did you mean payload_mass"
        peer.wait_until(lambda: missing in command("payload_mas=1").stderr, "no node has been found")
        modes_gains_and_a_file_of_what_is_in_force(peer, command, tmp_path / "robot.yaml")
        a_service_by_its_name(peer, capfd)
        refuses_several_robots(peer)


def a_service_by_its_name(peer, capfd):
    """The simulator's reset; what no node has is named with what is near, and a refusal is the exit code."""

    def called(*words):
        capfd.readouterr()
        code = main(["call", "--namespace", "left", *words])
        return code, *capfd.readouterr()

    peer.wait_until(lambda: called("reset")[0] == 0, "reset is not called")
    code, out, _ = called("reset_fault")
    assert code == 1 and out.startswith("/left/computed_torque_controller: refused: ")
    missing = "no node below /left/ has the service rest, looked for 2 s; did you mean reset?"
    peer.wait_until(lambda: missing in called("rest", "--patience", "2")[2], "no service has been found")


def refuses_several_robots(peer):
    """``robot_dynamics set payload_mass=5`` set /left and /right: without a namespace nothing is set."""
    other = Node("arm", context=peer.context, namespace="/right", use_global_arguments=False)
    other.declare_parameter("payload_mass", 0.0)
    peer.executor.add_node(other)
    words = [sys.executable, "-m", "robot_dynamics.cli.main", "set", "payload_mass=7"]

    def refused():
        """On a busy machine the command may have seen one of the robots only, and have set that one."""
        with subprocess.Popen(
            words, env=node_environment(claim_domain()), stderr=subprocess.PIPE, text=True
        ) as done:
            peer.wait_until(lambda: done.poll() is not None, "the command does not end")
            if done.returncode == 1:
                return done.stderr.read()
        other.set_parameters([Parameter("payload_mass", value=0.0)])
        return peer.set_parameter("left/robot_model", "payload_mass", 2.0) and None

    said = peer.wait_until(refused, "the command sets one of two robots")
    assert "there are several robots: nodes in /left, /right have payload_mass" in said
    assert other.get_parameter("payload_mass").value == 0.0
    assert value(peer, "left/robot_model", "payload_mass") == 2.0
    peer.executor.remove_node(other)
    other.destroy_node()


def test_a_request_of_parameters_without_an_answer_is_sent_again(monkeypatch):
    """As where DDS has dropped the answer to a client that it has just found."""
    monkeypatch.setattr(set_all_nodes, "AGAIN", 0.01)
    futures = [mock.Mock(**{"done.return_value": k == 2, "result.return_value": k}) for k in range(3)]
    client = mock.Mock(**{"call_async.side_effect": futures})
    caller = set_all_nodes._Caller(mock.Mock(**{"create_client.return_value": client}), mock.Mock())
    assert caller.call(GetParameters, "/arm/get_parameters", GetParameters.Request()) == 2
