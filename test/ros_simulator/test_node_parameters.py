"""Parameters: described in dataclasses, declared on nodes, listed in YAML files."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import rclpy
from patience import PATIENCE
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from robot_dynamics.cli.main import main
from robot_dynamics.cli.run import NODES
from robot_dynamics.errors import ParameterError, StateError
from robot_dynamics.extras import install_command
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.ros.support import parameters
from robot_dynamics.ros.support.messages import JointOrder, nanoseconds_to_stamp, stamp_to_nanoseconds
from robot_dynamics.ros.support.processes import claim_domain, node_environment


@dataclass(frozen=True)
class Sample:
    gain: tuple[float, ...] = parameter((1.0,), "Gain", unit="1/s", minimum=0.0)
    rate: float = parameter(10.0, "Rate", unit="Hz", minimum=1.0, maximum=100.0, read_only=True)
    count: int = parameter(3, "Count", minimum=1)
    names: tuple[str, ...] = parameter((), "Names")
    mode: str = parameter("a", "Mode", choices=("a", "b"))

    def __post_init__(self) -> None:
        validate(self)


def test_values_are_converted_to_their_type():
    sample = Sample(gain=[1, np.float64(2.5)], rate=np.float32(5), names=["x"])
    assert sample.gain == (1.0, 2.5)
    assert [type(value) for value in sample.gain] == [float, float]
    assert sample.rate == 5.0
    assert sample.names == ("x",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gain": (1.0, -0.1)}, r"'gain' is -0\.1 1/s; it must be at least 0 1/s"),
        ({"gain": (float("nan"),)}, "'gain' is nan; it must be a finite number"),
        ({"gain": 1.0}, "'gain' is 1.0; it must be a list"),
        ({"gain": "12"}, "must be a list"),
        ({"rate": 0.5}, r"'rate' is 0\.5 Hz; it must be 1 to 100 Hz"),
        ({"rate": float("inf")}, "finite"),
        ({"rate": True}, "'rate' is True; it must be a number"),
        ({"count": 2.0}, "'count' is 2.0; it must be a whole number"),
        ({"count": 0}, "at least 1"),
        ({"names": (1,)}, "must be a text"),
        ({"mode": "c"}, "'mode' is 'c'; it must be one of 'a', 'b'"),
    ],
)
def test_bad_values_are_refused_by_name(given, message):
    with pytest.raises(ParameterError, match=message):
        Sample(**given)


def test_one_value_stands_for_all_joints():
    np.testing.assert_array_equal(per_joint((2.0,), ("a", "b"), "kp"), [2.0, 2.0])
    np.testing.assert_array_equal(per_joint((2.0, 3.0), ("a", "b"), "kp"), [2.0, 3.0])
    with pytest.raises(ParameterError, match="'kp' has 3 values; give 1, or 2 in the order a, b"):
        per_joint((1.0, 2.0, 3.0), ("a", "b"), "kp")


def test_joints_are_found_by_name_among_others():
    order = JointOrder(["a", "b"])
    message = JointState(name=["x", "b", "a"], position=[9.0, 2.0, 1.0], velocity=[float("nan"), 0.2, 0.1])
    message.header.stamp = nanoseconds_to_stamp(1_500_000_001)
    sample = order.read(message)
    np.testing.assert_array_equal(sample.position, [1.0, 2.0])
    np.testing.assert_array_equal(sample.velocity, [0.1, 0.2])
    assert sample.effort is None
    assert sample.nanoseconds == stamp_to_nanoseconds(message.header.stamp) == 1_500_000_001
    again = order.read(JointState(name=["a", "b"], position=[3.0, 4.0]))
    np.testing.assert_array_equal(again.position, [3.0, 4.0])


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (JointState(name=["a"], position=[1.0]), "lacks joint b; it has a"),
        (JointState(name=["a", "b", "a"], position=[1.0, 2.0, 3.0]), "names joint a more than once"),
        (JointState(name=["a", "b"], position=[1.0]), "1 values of position for 2 joint names"),
        (
            JointState(name=["a", "b"], position=[1.0, float("nan")]),
            "position of joint b is not a finite number",
        ),
        (JointState(name=["a", "b"], velocity=[1.0, 2.0]), "has no position of the joints a, b"),
        (JointState(), "it has none"),
    ],
)
def test_bad_joint_states_are_refused(message, complaint):
    order = JointOrder(["a", "b"])
    order.read(JointState(name=["a", "b"], position=[3.0, 4.0]))
    for _ in range(2):
        with pytest.raises(StateError, match=complaint):
            order.read(message)


def test_run_lists_the_nodes_when_the_name_is_unknown(capsys):
    assert main(["run", "simulatr"]) == 1
    complaint = capsys.readouterr().err
    assert "there is no node 'simulatr'" in complaint
    assert all(node in complaint for node in NODES)


def test_run_says_how_to_get_ros(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rclpy", None)
    assert main(["run", "simulator"]) == 1
    assert install_command("ros") in capsys.readouterr().err


@pytest.mark.long
def test_run_hands_over_everything_after_the_node():
    command = [sys.executable, "-m", "robot_dynamics.cli.main", "run", "simulator"]
    for arguments, code, complaint in (
        (["rate:=3.0"], 2, "unknown arguments rate:=3.0; ROS arguments follow --ros-args"),
        (["--ros-args", "-p", "rate:="], 2, "bad ROS arguments"),
        (["--ros-args", "-p", "rate:=-1.0"], 1, "parameter 'rate' must be 1 to 2000"),
    ):
        ended = subprocess.run(
            [*command, *arguments],
            env=node_environment(claim_domain()),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert ended.returncode == code
        assert complaint in ended.stdout + ended.stderr
        assert "Traceback" not in ended.stderr


@pytest.mark.ros
def test_the_simulator_without_mujoco_says_in_one_line_what_to_install(tmp_path):
    (tmp_path / "mujoco.py").write_text("raise ModuleNotFoundError('it is hidden')\n", encoding="utf-8")
    environment = node_environment(claim_domain())
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "robot_dynamics.ros.simulator"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    lines = (ended.stdout + ended.stderr).strip().splitlines()
    assert (ended.returncode, len(lines)) == (1, 1), lines
    assert install_command("simulation") in lines[0]


def test_a_change_that_is_impossible_once_it_is_decided_is_taken_back():
    """States that come between decision and use may forbid it: the node keeps what it had, and works on."""
    used, kept, most = [], [], 20

    def use(candidate):
        if candidate.count > most:
            raise ParameterError("too long")
        used.append(candidate.count)

    context = rclpy.Context()
    rclpy.init(context=context, domain_id=claim_domain())
    node = rclpy.create_node("watched", context=context)
    try:
        current = parameters.declare(node, Sample)
        watcher = parameters.watch(node, current, use)
        for value in (10, 30, 12):
            [result] = node.set_parameters([Parameter("count", value=value)])
            assert result.successful
            kept.append(node.get_parameter("count").value)
        assert kept == [10, 10, 12] and used == [10, 10, 12]
        most = 5  # what is in force would be refused now, too
        node.set_parameters([Parameter("count", value=8)])
        assert watcher.current.count == node.get_parameter("count").value == 12 and used[-1] == 12
    finally:
        node.destroy_node()
        context.try_shutdown()
