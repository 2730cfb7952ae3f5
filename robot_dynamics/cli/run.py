"""``robot_dynamics run``: start a ROS 2 node, as ``ros2 run robot_dynamics`` does where there is a ROS."""

from __future__ import annotations

import argparse
import importlib

from robot_dynamics.cli.needs import need
from robot_dynamics.errors import RobotDynamicsError, quoted
from robot_dynamics.inputs.files import read_text
from robot_dynamics.resources import resource

# Each is a module of robot_dynamics.ros with main(args) -> exit code.
NODES = {
    "computed_torque_controller": "joint states and trajectories in, joint efforts out",
    "trajectory_feedforward": "gives a stock joint_trajectory_controller the model's efforts",
    "contact_monitor": "external efforts of an arm under any controller, from its joint states",
    "robot_model": "Denavit-Hartenberg tables and checks of the robot's description",
    "stewart_platform": "pose trajectories and leg states in, six actuator forces out",
    "simulator": "joint efforts in, joint states of an arm or a Stewart platform on MuJoCo out",
    "markers": "joint efforts and weights as markers for rviz",
    "web_view": "the live robot in a browser, with sliders that send trajectories",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _list_nodes()
    parser.add_argument("node", metavar="NODE", help="name of the node")
    parser.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        metavar="...",
        help="arguments of the node, such as --ros-args -p rate:=250.0 --params-file FILE -r __ns:=/left",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the node until it is interrupted; returns its exit code."""
    if arguments.node not in NODES:
        raise RobotDynamicsError(
            f"there is no node {quoted(arguments.node)}; the nodes are {', '.join(NODES)}"
        )
    if {"-h", "--help"} & set(arguments.arguments):
        print(_about(arguments.node), end="")
        return 0
    need(arguments.node, "rclpy")
    module = importlib.import_module(f"robot_dynamics.ros.{arguments.node}")
    return int(module.main(arguments.arguments))


def _about(node: str) -> str:
    """Usage of a node and its parameters, which its commented parameter file lists."""
    parameters = read_text(resource(f"config/{node}.yaml"), "parameter file")
    return (
        f"usage: robot_dynamics run {node} [--ros-args -p NAME:=VALUE --params-file FILE -r FROM:=TO]\n\n"
        f"{NODES[node]}\n\n{parameters}"
    )


def _list_nodes() -> str:
    width = max(map(len, NODES))
    return "the nodes are:\n" + "\n".join(f"  {name:<{width}}  {text}" for name, text in NODES.items())
