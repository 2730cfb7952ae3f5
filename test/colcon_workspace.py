"""Build and test the package in a colcon workspace, as a ROS 2 user does; exits non-zero on failure.

Works with a ROS 2 installation and with the wheels from PyPI alone. Only a part of the tests is run: the
whole suite has run before, and what matters here is that colcon finds and runs them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from robot_dynamics.cli.run import NODES

REPOSITORY = Path(__file__).resolve().parent.parent
SKIPPED = shutil.ignore_patterns(".*", "build", "install", "log", "__pycache__", "*.egg-info", "demo_output")
TESTS = (
    "test/control/test_phases.py",
    "test/control/test_effort_steps.py",
    "test/stewart/test_stewart_limits.py",
)
"""One file of the core of arms, one of both kinds of robot, one of a generated program."""
SOURCED_CHECKS = """
set -e
source install/setup.bash
cd /
python - <<'PYTHON'
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from pathlib import Path
import robot_dynamics
from robot_dynamics.resources import resource, share_directory

share = Path(get_package_share_directory("robot_dynamics"))
assert share == share_directory(), (share, share_directory())
assert Path(robot_dynamics.__file__).is_relative_to(get_package_prefix("robot_dynamics"))
for folder in ("launch", "urdf", "config"):
    assert any((share / folder).iterdir()), f"{folder} was not installed"
chain = robot_dynamics.load_urdf(resource("urdf/puma560.urdf"))
print("share:", share)
print("joints:", ", ".join(chain.joint_names))
PYTHON
for node in $NODES; do
  test -x "$PREFIX/lib/robot_dynamics/$node" || { echo "no executable $node"; exit 1; }
done
# Everything that a node's loop needs has been compiled with the package.
CC=/no/such/compiler XDG_CACHE_HOME=$(mktemp -d) python - <<'PYTHON'
import rclpy
from robot_dynamics.control.core.library import load_core
from robot_dynamics.control.retiming.library import load_retiming
from robot_dynamics.ros.control.native.library import load_hosts, load_node

for load in (load_core, load_retiming, load_hosts, load_node):
    load()
print("compiled with the package: core, retiming, hosts")
PYTHON
"$PREFIX/lib/robot_dynamics/robot_dynamics" dh "$PREFIX/share/robot_dynamics/urdf/puma560.urdf"
"""


def run(command: list[str], workspace: Path, **environment: str) -> None:
    """Run a command in the workspace; a failure ends this program."""
    print("+", " ".join(command[:6]), flush=True)
    subprocess.run(command, cwd=workspace, check=True, env={**os.environ, **environment})


def main() -> int:
    """Build, source, look at what was installed, test."""
    beside = str(Path(sys.executable).parent)
    # The system's colcon, where there is one, builds for the system's Python.
    colcon = shutil.which("colcon", path=beside) or shutil.which("colcon") or "colcon"
    path = f"{beside}{os.pathsep}{os.environ['PATH']}"
    # colcon's Python tasks must see this environment's packages whatever started this script.
    with tempfile.TemporaryDirectory(prefix="robot_dynamics_ws_") as folder:
        workspace = Path(folder)
        shutil.copytree(REPOSITORY, workspace / "src" / "robot_dynamics", ignore=SKIPPED)
        try:
            run([colcon, "build", "--event-handlers", "console_cohesion+"], workspace, PATH=path)
            prefix = workspace / "install" / "robot_dynamics"
            nodes = [*NODES, "robot_dynamics"]
            run(
                ["bash", "-c", SOURCED_CHECKS],
                workspace,
                PATH=path,
                PREFIX=str(prefix),
                NODES=" ".join(nodes),
            )
            run([colcon, "test", "--pytest-args", *TESTS, "-q"], workspace, PATH=path)
            run([colcon, "test-result", "--verbose"], workspace, PATH=path)
        except subprocess.CalledProcessError as error:
            print(f"failed with exit code {error.returncode}: {error.cmd[0]}", file=sys.stderr)
            return 1
    print("colcon build and colcon test: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
