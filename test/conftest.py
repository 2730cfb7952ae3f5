"""What all tests share: the list of what may be skipped is kept, and no ROS context reaches other hosts."""

import os
import sys
import tempfile

import pytest
from skip_guard import SkipGuard, required_features
from skips import SKIPS

from robot_dynamics.ros.support.isolation import stay_on_this_host


def pytest_configure(config: pytest.Config) -> None:
    """Watch every test from its collection on, in each process; nothing is kept in the user's home."""
    folder = tempfile.TemporaryDirectory(prefix="robot_dynamics_state_")
    config.add_cleanup(folder.cleanup)
    os.environ["XDG_STATE_HOME"] = folder.name
    config.pluginmanager.register(SkipGuard(SKIPS, required_features()), "skip_guard")


def pytest_collection_finish() -> None:
    """Before the first context of this process: Fast DDS does not ask again."""
    if "rclpy" in sys.modules:
        stay_on_this_host()
