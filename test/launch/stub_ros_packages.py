"""Stand-ins for packages that launch files start: each records how it was called, and ends when it is told.

They stand for Gazebo and ros2_control where what is tested is the launch file: what it starts, when, with
which arguments, and what it does when a part ends.
"""

import json
import os
import stat
import sys
from pathlib import Path

# Ends by itself after a moment for programs that do one thing; the others stay until they are interrupted.
EXECUTABLE = """#!{python}
import json, os, signal, sys
name = os.path.basename(sys.argv[0])
with open(os.environ["STUB_RECORD"], "a") as record:
    record.write(json.dumps({{"name": name, "pid": os.getpid(), "arguments": sys.argv[1:],
                             "transports": os.environ.get("FASTDDS_BUILTIN_TRANSPORTS")}}) + "\\n")
ends, _, code = os.environ.get("STUB_END", "").partition(":")
if name == ends:
    sys.exit(int(code))
if name in {ending}:
    sys.exit(int(os.environ.get("STUB_FAIL") in (name, *sys.argv[1:])))
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
signal.pause()
"""
GAZEBO_LAUNCH = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, Shutdown
from launch.substitutions import LaunchConfiguration

def generate_launch_description():
    arguments = ["'", LaunchConfiguration("gz_args"), "'"]
    command = ["gz_server", arguments, LaunchConfiguration("on_exit_shutdown")]
    return LaunchDescription([DeclareLaunchArgument("gz_args"), DeclareLaunchArgument("on_exit_shutdown"),
                              ExecuteProcess(cmd=command, name="gazebo", shell=True, on_exit=Shutdown())])
"""
PACKAGES = {
    "robot_state_publisher": ["robot_state_publisher"],
    "ros_gz_sim": ["create"],
    "ros_gz_bridge": ["parameter_bridge"],
    "controller_manager": ["ros2_control_node", "spawner"],
    "joint_state_topic_hardware_interface": [],
    "rviz2": ["rviz2"],
    "robot_dynamics": [
        "computed_torque_controller",
        "markers",
        "robot_model",
        "simulator",
        "stewart_platform",
        "trajectory_feedforward",
        "web_view",
    ],
}
ENDING = ("create", "spawner")


def install(folder: Path, *packages: str) -> dict[str, str]:
    """Install the stand-ins of these packages, and return the environment in which they are found."""
    prefix, record = folder / "prefix", folder / "record"
    record.touch()
    index = prefix / "share/ament_index/resource_index/packages"
    for package in packages:
        index.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
        for executable in PACKAGES[package]:
            _program(prefix / "lib" / package / executable)
    if "ros_gz_sim" in packages:
        file = prefix / "share/ros_gz_sim/launch/gz_sim.launch.py"
        file.parent.mkdir(parents=True)
        file.write_text(GAZEBO_LAUNCH, encoding="utf-8")
        _program(prefix / "bin/gz_server")
    return {
        **os.environ,
        "AMENT_PREFIX_PATH": os.pathsep.join([str(prefix), os.environ.get("AMENT_PREFIX_PATH", "")]),
        "PATH": os.pathsep.join([str(prefix / "bin"), os.environ["PATH"]]),
        "STUB_RECORD": str(record),
        "PYTHONUNBUFFERED": "1",
    }


def _program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(EXECUTABLE.format(python=sys.executable, ending=ENDING), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def calls(environment: dict[str, str]) -> list[dict]:
    """Every call so far: name, pid, arguments, transports of Fast DDS."""
    text = Path(environment["STUB_RECORD"]).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]
