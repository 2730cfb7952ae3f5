"""Rules of all tests: tests are skipped for listed reasons only, and no ROS context reaches other hosts."""

import gc
import os
import sys
import tempfile
from pathlib import Path

import long_first
import pytest
from skips import SkipGuard

from robot_dynamics.ros.support.isolation import stay_on_this_host

# Each of the many interpreters that the tests start would compile every module, and each worker every test.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
ROOT = Path(__file__).parent
# Set before numpy is imported. The threads of linear algebra wait actively for each other: with one for each
# core in every worker, a regression of 7 s took 99 s of processor time.
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
# Plugins of other packages, such as trio's, which take a second to import in every worker.
os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers for each core: tests of nodes mostly wait."""
    return 2 * (os.cpu_count() or 1)


def pytest_configure(config: pytest.Config) -> None:
    """Watch every test from its collection on, in each process; nothing is kept in the user's home."""
    config.option.rerun_show_tracebacks = True
    folder = tempfile.TemporaryDirectory(prefix="robot_dynamics_state_")
    config.add_cleanup(folder.cleanup)
    os.environ["XDG_STATE_HOME"] = folder.name
    config.pluginmanager.register(SkipGuard(), "skip_guard")
    config.pluginmanager.register(long_first, "long_first")
    from coarse_pictures import draw_coarsely  # imports numpy

    draw_coarsely()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run a test of nodes that fails once more: a race in discovery fails one run, a fault both."""
    if config.pluginmanager.hasplugin("rerunfailures"):
        for item in items:
            room = item.path.relative_to(ROOT).parts[0] if ROOT in item.path.parents else ""
            if room.startswith("ros_") or room in ("drills", "launch"):
                item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Prepare this process: collections of garbage skip what stays, and Fast DDS asks its questions once."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    if "rclpy" in sys.modules:
        stay_on_this_host()
