"""Parking, streams, payload and brakes of the platform's node, over DDS."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from legs import NODE, SECOND, Legs, demo, forces_at
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from robot_dynamics.cli.main import main
from robot_dynamics.control.stewart.platform_model import loaded
from robot_dynamics.control.stream_clock import LeastDelay
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.ros.control.operation import PlatformOperation
from robot_dynamics.ros.support import processes, qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp
from robot_dynamics.stewart import StewartPlatform

pytestmark = pytest.mark.ros
WARN = DiagnosticStatus.WARN
SLOW = {"state_timeout": 60.0, "safe_fade_time": 0.05, "kp": [1.0], "kv": [1.0], "max_stamp_step": 60.0}


@pytest.mark.long
@pytest.mark.parametrize("loop", ["on", "off"])
def test_services_streams_payload_and_brakes(loop):
    platform = demo()
    parameters = {"state_timeout": 60.0, "safe_fade_time": 0.05, "payload_mass": 5.0, "max_stamp_step": 60.0}
    parameters |= {"native_loop": loop}
    parameters |= {"payload_center": [0.0, 0.0, 0.2], "brake_engage_time": 0.0, "brake_release_time": 0.0}
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        legs = Legs(peer, platform)
        brakes = peer.subscribe(Bool, f"{NODE}/brake", qos.DESCRIPTION)
        home = forces_at(platform).leg_lengths
        carried = StewartPlatform(
            loaded(platform.machine, RigidBody(5.0, np.array([0.0, 0.0, 0.2]), np.zeros((3, 3))))
        )
        np.testing.assert_allclose(legs.answer(home).effort, forces_at(carried).actuator_forces, rtol=1e-6)
        peer.wait_until(lambda: brakes and not brakes[-1].data, "the brakes are not released")

        def call(name):
            return peer.call(Trigger, f"{NODE}/{name}", Trigger.Request())

        node.wait_for_output("rule 2 pose_error: threshold 0.0.*; protective stop where the platform is")
        for mode in ("feedforward", "computed_force"):
            assert peer.set_parameter(NODE, "mode", mode).successful
            node.wait_for_output(f"mode .* -> {mode}")
        assert "neither parked nor stopped" in call("unpark").message
        poses = peer.publisher(PoseStamped, f"{NODE}/pose_command", qos.COMMAND)
        pose = PoseStamped()
        pose.pose.position.z, pose.pose.orientation.w = 0.56, 1.0

        def stream():
            # A pose that is no newer than the one before keeps no stream alive.
            pose.header.stamp = nanoseconds_to_stamp(legs.now)
            poses.publish(pose)

        peer.repeat_until(
            stream,
            lambda: "the platform: following a trajectory" in node.output or legs.answer(home) is None,
            "the stream is not followed",
        )
        pose.header.frame_id = "moon"
        # What recurs is logged only now and then, and another pose may have been refused a moment before.
        peer.repeat_until(
            lambda: poses.publish(pose),
            lambda: "pose command refused: the frame is 'moon'" in node.output,
            "the frame is not refused",
        )
        assert call("hold").success
        assert call("emergency_stop").success

        def stopped():
            legs.now += SECOND // 10
            legs.answer(home)
            return brakes[-1].data

        peer.wait_until(stopped, "the brakes are not engaged")
        legs.now += SECOND
        assert not any(legs.answer(home).effort)
        assert call("unpark").success
        peer.wait_until(lambda: not stopped(), "the brakes are not released again")


def test_a_pose_without_a_stamp_counts_without_the_scatter_of_its_way():
    """The sender's clock is 5 s behind, and set once; ways take 1 ms, most of them up to 8 ms more."""
    operation = SimpleNamespace(_delay=LeastDelay())
    behind, errors = 5_000_000_000, []
    for k in range(300):
        sent = 1_000_000_000 + 20_000_000 * k
        if k == 150:
            behind += 300_000_000
        more = 0 if k % 8 == 0 else 8_000_000 * (k % 5) // 4
        info = {"source_timestamp": sent, "received_timestamp": sent + behind + 1_000_000 + more}
        errors.append(abs(PlatformOperation._punctual(operation, info) - sent - behind - 1_000_000))
    assert max(errors[:150] + errors[210:]) < 50_000
    assert PlatformOperation._punctual(operation, {"received_timestamp": 7}) == 7
    assert PlatformOperation._punctual(operation, {}) == 0


@pytest.mark.long
def test_a_motion_that_is_not_played_ends_with_the_reason(tmp_path):
    """An inactive node refuses the first pose; a node that is not there does not answer."""
    z = demo().machine.home_position[2]
    file = tmp_path / "motion.csv"
    file.write_text(f"time,x,y,z,qx,qy,qz,qw\n0,0,0,{z},0,0,0,1\n1,0,0,{z},0,0,0,1\n", encoding="utf-8")
    command = [sys.executable, "-m", "robot_dynamics.cli.main", "stewart", "play", str(file)]
    environment = processes.node_environment(processes.claim_domain())

    def played(*more):
        return subprocess.Popen(
            [*command, *more], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    with NodeProcess(NODE, {**SLOW, "autostart": False}) as node, peer_with(node) as peer:
        states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        message = JointState(name=list(demo().machine.leg_names), position=[0.5] * 6)
        with played("--patience", "60") as player:
            peer.repeat_until(
                lambda: states.publish(message), lambda: player.poll() is not None, "the player does not end"
            )
            assert player.returncode == 1
            assert "pose command refused: the controller is not active" in player.stdout.read()
        with played("--node", "nobody", "--patience", "1") as player:
            peer.wait_until(lambda: player.poll() is not None, "the player waits on")
            assert player.returncode == 1
            assert "no node nobody answers within 1 s" in player.stdout.read()


@pytest.mark.long
def test_a_recorded_motion_is_played_through_the_same_gate(tmp_path):
    """The file wants 0.2 m within a tenth of a second; the reference comes as near as it can."""
    platform = demo()
    z = platform.machine.home_position[2]
    rows = [
        "time,x,y,z,qx,qy,qz,qw",
        f"0,0,0,{z},0,0,0,1",
        f"0.1,0,0,{z + 0.2},0,0,0,1",
        f"0.4,0,0,{z},0,0,0,1",
    ]
    file = tmp_path / "motion.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    with NodeProcess(NODE, SLOW) as node, peer_with(node) as peer:
        legs = Legs(peer, platform)
        references = peer.subscribe(PoseStamped, f"{NODE}/reference", qos.LOCKSTEP)
        deviations = peer.subscribe(DiagnosticArray, f"{NODE}/stream_deviation", qos.LOCKSTEP)
        lengths = [forces_at(platform).leg_lengths]
        legs.answer(lengths[0])
        command = [sys.executable, "-m", "robot_dynamics.cli.main", "stewart", "play", str(file)]
        environment = processes.node_environment(processes.claim_domain())
        with contextlib.ExitStack() as stack:
            player = stack.enter_context(subprocess.Popen([*command, "--lead", "0.2"], env=environment))
            stack.callback(player.kill)
            poses = peer.subscribe(PoseStamped, f"{NODE}/pose_command", qos.LOCKSTEP)

            def played():
                return player.poll() is not None

            def answered(state):
                stamps = [each[-1].header.stamp for each in (poses, references) if each]
                return all(stamp == state.header.stamp for stamp in stamps)

            while not played():
                # The clock goes on when all have answered: each has its own share of a busy machine.
                legs.now += 6_000_000
                state = legs.state(lengths[0])
                legs.answer(lengths[0])
                peer.repeat_until(
                    lambda state=state: legs.states.publish(state),
                    lambda state=state: played() or answered(state),
                    "the player or the node's front does not answer a state",
                )
                if references:
                    place = references[-1].pose.position
                    shift = np.array([place.x, place.y, place.z]) - platform.machine.home_position
                    lengths[0] = platform.legs(
                        platform.machine.home_position + shift, [0.0, 0.0, 0.0, 1.0]
                    ).lengths
            assert player.returncode == 0
        heights = np.array([message.pose.position.z for message in references])
        assert heights.max() > z + 0.01
        told = [message.status[0] for message in deviations]
        changed = [
            {pair.key: pair.value for pair in status.values} for status in told if status.level == WARN
        ]
        worst = max(changed, key=lambda values: float(values["position [m]"]))
        assert 0.02 < float(worst["position [m]"]) < 0.2
        assert worst["cause"]
        longest = platform.legs([0.0, 0.0, heights.max()], [0.0, 0.0, 0.0, 1.0]).lengths.max()
        assert longest < platform.machine.legs[0].limits.longest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stewart_demo", "absent.csv"], "absent.csv"),
        (["absent.csv"], "absent.csv"),
        (["absent.csv", "--machine", "stewart_demo"], "absent.csv"),
        (["absent.yaml", "stewart_demo_motion"], "absent.yaml"),
        (["stewart_demo", "motion.csv", "--machine", "stewart_demo"], "given twice"),
        (["-", "-"], "cannot both be read from standard input"),
    ],
)
def test_the_machine_stands_before_the_motion_or_behind_an_option(arguments, message, capsys):
    assert main(["stewart", "play", *arguments]) == 1
    assert message in capsys.readouterr().err
