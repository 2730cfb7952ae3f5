"""What all tests share: tests are skipped for listed reasons only, and no ROS context reaches other hosts."""

import os
import sys
import tempfile

import pytest
from skips import SkipGuard

from robot_dynamics.ros.support.isolation import stay_on_this_host


def pytest_configure(config: pytest.Config) -> None:
    """Watch every test from its collection on, in each process; nothing is kept in the user's home."""
    folder = tempfile.TemporaryDirectory(prefix="robot_dynamics_state_")
    config.add_cleanup(folder.cleanup)
    os.environ["XDG_STATE_HOME"] = folder.name
    config.pluginmanager.register(SkipGuard(), "skip_guard")


def pytest_collection_finish() -> None:
    """Before the first context of this process: Fast DDS does not ask again."""
    if "rclpy" in sys.modules:
        stay_on_this_host()
