"""rviz2 on a display of its own that nobody sees, where rviz2 and Xvfb are installed."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from patience import PATIENCE
from ros_harness import HarnessError

from robot_dynamics.ros.support.processes import claim_domain, node_environment


def rviz_program() -> Path:
    """rviz2's executable; skips the test where it, or the display, is missing."""
    packages = pytest.importorskip(
        "ament_index_python.packages", reason="ament_index_python is not installed"
    )
    try:
        program = Path(packages.get_package_prefix("rviz2"), "lib", "rviz2", "rviz2")
    except (LookupError, OSError, ValueError):
        pytest.skip("the package rviz2 is not in the ROS workspace")
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    return program


class RvizWindow:
    """A running rviz2; a context manager that closes it. Looks like a node process to a peer.

    Args:
        configuration: the ``.rviz`` file.
        arguments: ROS arguments, such as ``["-r", "__ns:=/left"]``.
    """

    name = "rviz2"

    def __init__(self, configuration: Path, arguments: Sequence[str] = ()) -> None:
        program = rviz_program()
        self._folder = tempfile.TemporaryDirectory(prefix="robot_dynamics_rviz_")
        self._log = Path(self._folder.name) / "output"
        ready, told = os.pipe()
        screen = ["-displayfd", str(told), "-screen", "0", "1400x900x24", "-nolisten", "tcp"]
        self._display = subprocess.Popen(
            ["Xvfb", *screen], pass_fds=[told], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(told)
        with os.fdopen(ready) as stream:
            # The server tells its number once it answers, and closes the pipe when it fails.
            number = stream.readline().strip()
        if not number:
            raise HarnessError("Xvfb does not start")
        environment = node_environment(claim_domain()) | {
            "DISPLAY": f":{number}",
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "HOME": self._folder.name,
        }
        with self._log.open("w", encoding="utf-8") as output:
            self._process = subprocess.Popen(
                [str(program), "-d", str(configuration), "--ros-args", *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> "RvizWindow":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._display.terminate()
            self._display.wait()
            self._folder.cleanup()

    @property
    def running(self) -> bool:
        """True if the process lives."""
        return self._process.poll() is None

    @property
    def output(self) -> str:
        """Everything that rviz2 has printed so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def describe(self) -> str:
        """State and output, for the message of a failure."""
        return f"--- rviz2; its output:\n{self.output}---"
