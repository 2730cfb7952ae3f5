"""Every reason for which a test may be skipped; ``skip_guard`` makes a failure of any other."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from skip_guard import Skip

DOCUMENTATION = Path(__file__).parents[1] / "docs"
Missing = Callable[[re.Match[str]], bool]


def found(module: str) -> bool:
    """Whether a module can be imported, as far as that can be told without doing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def no_module(*names: str) -> Missing:
    """One of the modules is missing; without names, the one in the reason's first group."""
    return lambda match: not all(map(found, names or (match[1],)))


def no_program(*names: str) -> Missing:
    """None of the programs is on the path."""
    return lambda match: not any(map(shutil.which, names))


def in_workspace(package: str) -> bool:
    """Whether a ROS package is in the workspace that is sourced."""
    try:
        from ament_index_python.packages import get_package_prefix

        get_package_prefix(package)
    except (ImportError, LookupError, OSError, ValueError):
        return False  # OSError: no workspace is sourced at all
    return True


def not_built_by_colcon(match: re.Match[str]) -> bool:
    """This package's programs are not where a launch looks for them."""
    from ament_index_python.packages import get_package_prefix

    return not Path(get_package_prefix("robot_dynamics"), "lib", "robot_dynamics").is_dir()


def no_gazebo(match: re.Match[str]) -> bool:
    """There is no command ``gz sim``."""
    command = ["gz", "sim", "--versions"]
    return shutil.which("gz") is None or subprocess.run(command, capture_output=True).returncode != 0


def no_robots(match: re.Match[str]) -> bool:
    """A package of robot descriptions is missing."""
    from installed_robots import FOLDERS

    return not {"example-robot-data", "pybullet_data", "rtbdata"} <= FOLDERS.keys()


def no_ur10(match: re.Match[str]) -> bool:
    """The log of a UR10, which is not part of the repository, is not here."""
    from test_ur10 import LOG

    return not LOG.is_file()


def no_packages(*names: str) -> Missing:
    """One of these ROS packages is not in the workspace; without names, the one in the first group."""
    return lambda match: not all(map(in_workspace, names or (match[1],)))


ROS = no_module("rclpy", "visualization_msgs", "ament_index_python")
BROWSERS = no_program("chromium", "chromium-browser", "google-chrome")
PAGES = ("test/ros_view/test_web_view.py*", "test/ros_view/test_stewart_view.py*", "test/ros_demo/*")
EVERYWHERE = ("test/*",)
LAUNCH = ("test/launch/*",)
GAZEBO = "ros_gz_sim|ros_gz_bridge|gz_ros2_control"
CONTROLLERS = "controller_manager|joint_trajectory_controller|effort_controllers|joint_state_broadcaster"


def no_sanitizers(match: re.Match[str]) -> bool:
    """The C compiler cannot link with its sanitizers."""
    from robot_dynamics.native.compiler import find_compiler

    call = [*find_compiler().command, "-xc", "-", "-fsanitize=address,undefined", "-o", "/dev/null"]
    return subprocess.run(call, input=b"int main(void) { return 0; }", capture_output=True).returncode != 0


def no_namespaces(match: re.Match[str]) -> bool:
    """This machine makes no network namespaces with a cable between them."""
    from namespaces import impossible

    return bool(impossible())


def no_security(match: re.Match[str]) -> bool:
    """The library between rmw and Fast DDS has the words by which it says that it cannot secure anything."""
    built = next(Path(sys.prefix).rglob("librmw_fastrtps_shared_cpp.so"), None)
    return built is not None and b"doesn't have the security libraries" in built.read_bytes()


SKIPS = (
    Skip("security", "Fast DDS is built without its security libraries", ("test/drills/*",), no_security),
    Skip("security", "ros2 security is not installed", ("test/drills/*",), no_program("ros2")),
    Skip("network", "no network namespaces: .*", ("test/drills/*",), no_namespaces),
    Skip(
        "sanitizers",
        "the compiler has no sanitizers",
        ("test/ros_controller/*", "test/control/*"),
        no_sanitizers,
    ),
    Skip("ros", "rclpy runs the nodes", ("test/ros_docs/*", "test/ros_demo/*"), ROS),
    Skip("ros", "rclpy reads the parameter files", ("test/launch/test_parameter_files.py*",), ROS),
    Skip(
        "ros",
        "(rclpy|lifecycle_msgs|visualization_msgs|ament_index_python) is not installed",
        ("test/ros_*", "test/drills/*", "test/test_harness.py*", *LAUNCH),
        no_module(),
    ),
    Skip(
        "control_msgs",
        "(control_msgs) is not installed",
        ("test/ros_feedforward/*", "test/ros_live/*"),
        no_module(),
    ),
    Skip("control_msgs", "the package (control_msgs) is not in the ROS workspace", LAUNCH, no_packages()),
    Skip("casadi", "(casadi) is not installed", ("test/backend/*", "test/test_documents.py*"), no_module()),
    Skip("cmake", "no cmake", ("test/backend/*",), no_program("cmake")),
    Skip("pinocchio", "(pinocchio) is not installed", EVERYWHERE, no_module()),
    Skip(
        "mujoco",
        "(mujoco) is not installed",
        (
            "test/model/*",
            "test/backend/*",
            "test/stewart/*",
            "test/ros_live/*",
            "test/identification/*",
            "test/test_documents.py*",
        ),
        no_module(),
    ),
    Skip(
        "mujoco",
        "MuJoCo simulates the (arms?|platform)",
        ("test/control/*", "test/simulation/*", "test/ros_simulator/*"),
        no_module("mujoco"),
    ),
    Skip("mujoco", "MuJoCo computes the tree's equations of motion", LAUNCH, no_module("mujoco")),
    Skip(
        "view",
        "(viser) is not installed",
        ("test/view/*", "test/ros_*", "test/drills/*", "test/launch/test_killed_nodes.py*"),
        no_module(),
    ),
    Skip("view", "viser serves the page", ("test/view/*", "test/ros_docs/*"), no_module("viser")),
    Skip("meshes", "pycollada is not installed", ("test/view/*",), no_module("collada")),
    Skip("completion", "shtab is not installed", ("test/test_command_line.py*",), no_module("shtab")),
    Skip(
        "fuzz",
        "atheris, the coverage-guided fuzzer, is not installed",
        ("test/fuzz/*",),
        no_module("atheris"),
    ),
    Skip("xacro", "xacro is not installed", ("test/view/*",), no_module("xacro")),
    Skip("browser", "(selenium) is not installed", PAGES, no_module()),
    Skip("browser", "pillow is not installed", PAGES, no_module("PIL")),
    Skip(
        "browser",
        "no Chromium with chromedriver on this machine",
        PAGES,
        lambda match: BROWSERS(match) or shutil.which("chromedriver") is None,
    ),
    Skip(
        "launch",
        "(launch|launch_ros|launch_testing) is not installed",
        LAUNCH,
        lambda match: not found(f"{match[1]}.actions"),  # this repository has a folder launch/
    ),
    Skip("launch", "the command ros2 is not installed", LAUNCH, no_program("ros2")),
    Skip("launch", r"the command ros2 has no (\w+)", LAUNCH, lambda match: not found(f"ros2{match[1]}")),
    Skip(
        "launch",
        "the package (robot_dynamics|robot_state_publisher) is not in the ROS workspace",
        LAUNCH,
        no_packages(),
    ),
    Skip("launch", "(robot_dynamics) is not in the ROS workspace", LAUNCH, no_packages()),
    Skip("launch", "robot_dynamics is not built with colcon", LAUNCH, not_built_by_colcon),
    Skip("rviz", "the package (rviz2) is not in the ROS workspace", LAUNCH, no_packages()),
    Skip("rviz", "Xvfb is not installed", LAUNCH, no_program("Xvfb")),
    Skip("gazebo", r"Gazebo \(gz sim\) is not installed", LAUNCH, no_gazebo),
    Skip("gazebo", "neither gz nor ign is installed", LAUNCH, no_program("gz", "ign")),
    Skip(
        "gazebo",
        f"the package ({GAZEBO}|{CONTROLLERS}) is not in the ROS workspace",
        LAUNCH,
        no_packages(),
    ),
    Skip("xacro", "(xacro) is not installed", ("test/view/*",), no_module()),
    Skip("xacro", "(xacro), which expands the descriptions, is not installed", LAUNCH, no_module()),
    Skip("robots", r"not installed: [\w, -]+", ("test/model/test_real_robots.py*",), no_robots),
    Skip(
        "robots",
        "example-robot-data is not installed",
        ("test/model/*", "test/view/*", "test/backend/test_quantities.py*"),
        no_robots,
    ),
    Skip(
        "robots",
        "example-robot-data is not installed",
        ("test/identification/*",),
        lambda match: next(Path(sys.prefix).rglob("ur10_robot.urdf"), None) is None,
    ),
    Skip("ur10", "the log of a UR10 is not here", ("test/identification/*",), no_ur10),
    Skip(
        "identification",
        r"(scipy|cvxpy|rosbags|rosbags\.rosbag2|matplotlib) is not installed",
        (
            "test/identification/*",
            "test/ros_recording/*",
            "test/ros_live/test_sending.py*",
            "test/stewart/test_stewart_report.py*",
        ),
        no_module(),
    ),
    Skip("documentation", "the documentation is not here", LAUNCH, lambda match: not DOCUMENTATION.is_dir()),
    Skip(
        "long double",
        "this machine's long double is no wider than a double",
        ("test/backend/test_lanes.py*",),
        lambda match: np.finfo(np.longdouble).nmant < 63,
    ),
    # The other way round: what is told where a package is missing.
    Skip("absence", r"(\w+) is installed", LAUNCH, lambda match: in_workspace(match[1])),
)
