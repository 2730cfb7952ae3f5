"""The stock ``ros2`` command, as somebody uses it who knows nothing of this package's insides."""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_prefix
from launching_harness import Launch
from patience import PATIENCE
from ros_harness import HarnessError, Peer

from robot_dynamics.ros.support.processes import claim_domain, node_environment


def needs(*packages: str) -> None:
    """Skip where a package is not installed; this one must be built, so that its programs are found."""
    for package in packages:
        try:
            prefix = get_package_prefix(package)
        except (LookupError, ValueError):
            pytest.skip(f"the package {package} is not in the ROS workspace")
        if package == "robot_dynamics" and not Path(prefix, "lib", package).is_dir():
            pytest.skip("robot_dynamics is not built with colcon")


def needs_command(*verbs: str) -> None:
    """Skip where the ``ros2`` command, or a verb of it such as ``action``, is not installed."""
    if shutil.which("ros2") is None:
        pytest.skip("the command ros2 is not installed")
    for verb in verbs:
        if importlib.util.find_spec(f"ros2{verb}") is None:
            pytest.skip(f"ros2{verb} is not installed")


def description() -> str:
    """The launch argument with which the nodes get their description on this machine."""
    try:
        get_package_prefix("robot_state_publisher")
    except (LookupError, ValueError):
        return "description:=parameter"
    return "description:=robot_state_publisher"


class StockLaunch(Launch):
    """``ros2 launch robot_dynamics FILE ARGUMENTS``."""

    def command(self, file: str, arguments: tuple[str, ...]) -> list[str]:
        """Command line that is run."""
        return ["ros2", "launch", "--noninteractive", "robot_dynamics", f"{file}.launch.py", *arguments]

    def pid(self, node: str) -> int:
        """Process id of a node that the launch has started last."""
        pattern = rf"{node}-\d+\]: process started with pid \[(\d+)\]"
        return int(self.wait_for_output(rf"(?s).*{pattern}")[1])

    def ended_cleanly(self, node: str) -> bool:
        """True if a node has ended as it should."""
        return f"process has finished cleanly [pid {self.pid(node)}]" in self.output


class Session:
    """A launch, a peer that listens, and the command line beside them."""

    def __init__(self, file: str, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self.environment = {**node_environment(claim_domain()), **(environment or {})}
        self.launch = StockLaunch(file, self.environment, *arguments)
        self.peer = Peer()
        self.peer.processes.append(self.launch)

    def close(self) -> None:
        """End everything."""
        self.peer.close()
        self.launch.__exit__()

    def wait_for_nodes(self, *names: str) -> None:
        """Wait until nodes of these names are in the graph."""
        self.peer.wait_until(
            lambda: set(names) <= set(self.peer.node.get_node_names()),
            f"not all of {', '.join(names)} are up",
        )

    def wait_for_output(self, pattern: str, after: int = 0) -> None:
        """Run callbacks until the launch has printed a match behind that many characters."""
        self.peer.wait_until(
            lambda: re.search(pattern, self.launch.output[after:]), f"the launch never printed {pattern!r}"
        )

    def kill(self, node: str) -> int:
        """Kill a node; returns how much the launch had printed before."""
        printed = len(self.launch.output)
        os.kill(self.launch.pid(node), signal.SIGKILL)
        return printed

    def ros2(self, *words: str, expect: str = "") -> str:
        """Output of a command, run again until it contains ``expect``: discovery takes its time."""
        outputs = []

        def answered() -> bool:
            done = subprocess.run(
                ["ros2", *words],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            outputs.append(done.stdout + done.stderr)
            return expect in outputs[-1]

        try:
            self.peer.wait_until(answered, f"ros2 {' '.join(words[:3])} does not answer {expect!r}")
        except HarnessError as error:
            raise HarnessError(f"{error}\n--- last output:\n{outputs[-1]}") from None
        return outputs[-1]
