"""Reasons for which tests may be skipped, by feature: a pytest plugin makes a failure of every other skip.

A skip is lawful when its reason names a module, a program or a ROS package that is really missing, or is one
of ``REASONS``. RD_REQUIRE names features, separated by commas, whose tests must not be skipped at all.
"""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCUMENTATION = Path(__file__).parents[1] / "docs"
VARIABLE = "RD_REQUIRE"
NAMES = {
    "ros": "rclpy lifecycle_msgs visualization_msgs ament_index_python",
    "control_msgs": "control_msgs",
    "launch": "launch launch_ros launch_testing robot_dynamics robot_state_publisher"
    " ros2 ros2action ros2launch ros2lifecycle ros2param ros2service",
    "rviz": "rviz2 Xvfb",
    "gazebo": "gz ign ros_gz_sim ros_gz_bridge gz_ros2_control controller_manager joint_trajectory_controller"
    " effort_controllers joint_state_broadcaster",
    "xacro": "xacro",
    "pinocchio": "pinocchio",
    "mujoco": "mujoco",
    "casadi": "casadi",
    "cmake": "cmake",
    "ziglang": "ziglang",
    "view": "viser",
    "meshes": "collada",
    "completion": "shtab",
    "fuzz": "atheris",
    "browser": "selenium PIL chromium chromedriver",
    "arrays": "jax torch",
    "identification": "scipy cvxpy rosbags matplotlib jinja2",
}
FEATURES = {name: feature for feature, names in NAMES.items() for name in names.split()}
REASONS = {
    "security": "Fast DDS is built without its security libraries",
    "network": "no network namespaces: .*",
    "sanitizers": "the compiler has no sanitizers",
    "robots": "not installed: .*|example-robot-data is not installed",
    "ur10": "the log of a UR10 is not here",
    "documentation": "the documentation is not here",
    "long double": "this machine's long double is no wider than a double",
    # A test of what is reported where a package is missing.
    "absence": r"\w+ is installed",
}
"""Reasons that the tests check themselves."""


def in_workspace(package: str) -> bool:
    """True if a ROS package is in the workspace that is sourced, this one with its programs."""
    try:
        from ament_index_python.packages import get_package_prefix

        prefix = get_package_prefix(package)
    except (ImportError, LookupError, OSError, ValueError):
        return False  # OSError: no workspace is sourced at all
    return package != "robot_dynamics" or Path(prefix, "lib", package).is_dir()


def is_missing(name: str) -> bool:
    """True if there is neither a ROS package nor a module nor a program of this name."""
    if in_workspace(name) or name == "robot_dynamics":
        return not in_workspace(name)
    # This repository has a folder launch/.
    module = f"{name}.actions" if name.startswith("launch") else name
    try:
        return importlib.util.find_spec(module) is None and shutil.which(name) is None
    except (ImportError, ValueError):
        return shutil.which(name) is None


def names_in(reason: str) -> list[str]:
    """Names of modules, programs and packages that a reason has."""
    words = {word.lower() for word in re.findall(r"\w+", reason)}
    return [name for name in FEATURES if name.lower() in words]


def feature_of(reason: str) -> str:
    """The feature that a reason is about; empty for none."""
    listed = [feature for feature, pattern in REASONS.items() if re.fullmatch(pattern, reason)]
    return next(iter([*listed, *(FEATURES[name] for name in names_in(reason))]), "")


class SkipGuard:
    """The plugin.

    Raises:
        pytest.UsageError: RD_REQUIRE names a feature that does not exist.
    """

    def __init__(self) -> None:
        known = {*FEATURES.values(), *REASONS}
        self._required = {word.strip() for word in os.environ.get(VARIABLE, "").split(",") if word.strip()}
        if unknown := self._required - known:
            raise pytest.UsageError(
                f"{VARIABLE} has {', '.join(unknown)}; known are {', '.join(sorted(known))}"
            )

    def objection(self, reason: str) -> str:
        """The objection to a skip for this reason; empty where a test may be skipped."""
        feature, names = feature_of(reason), names_in(reason)
        if not feature:
            return "test/skips.py has no such reason"
        if feature in self._required:
            return f"{VARIABLE} requires {feature}"
        missing = [
            name for name in names if is_missing(name) or ("workspace" in reason and not in_workspace(name))
        ]
        if feature not in REASONS and not missing:
            return f"{', '.join(names)} is here, so that the test must run"
        return ""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """A test that skips itself, or whose fixtures or marks do."""
        outcome = yield
        if not hasattr(outcome.get_result(), "wasxfail"):
            self._judge(outcome.get_result(), item.nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """A module that skips all its tests."""
        outcome = yield
        self._judge(outcome.get_result(), collector.nodeid)

    def _judge(self, report: pytest.TestReport | pytest.CollectReport, test: str) -> None:
        reason = report.longrepr[2].removeprefix("Skipped: ") if report.skipped else ""
        if report.skipped and (objection := self.objection(reason)):
            report.outcome = "failed"
            report.longrepr = f"{test} is skipped: {reason!r}, but {objection}"
