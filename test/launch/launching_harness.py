"""``ros2 launch`` with one of this package's launch files, as a process of its own."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from patience import PATIENCE, POLL
from ros_harness import HarnessError

from robot_dynamics.resources import resource

# What ``ros2 launch FILE`` does, without the ros2 command.
PROGRAM = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService(argv=sys.argv[2:], noninteractive=True)
arguments = [tuple(text.split(":=", 1)) for text in sys.argv[2:]]
file = IncludeLaunchDescription(PythonLaunchDescriptionSource(sys.argv[1]), launch_arguments=arguments)
service.include_launch_description(LaunchDescription([file]))
sys.exit(service.run())
"""


class Launch:
    """A launch file that runs until it ends or is interrupted; a context manager.

    Args:
        file: its name without ``.launch.py``.
        environment: of the process.
        arguments: such as ``"robot:=scara"``.
    """

    programs: Callable[[], Iterable[tuple[int, bool]]] = staticmethod(tuple)
    """Tells the process id of everything that the launch has started, and whether it ends by itself."""

    def __init__(self, file: str, environment: dict[str, str], *arguments: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="robot_dynamics_launch_")
        self._log = Path(self._folder.name) / "output"
        with self._log.open("w", encoding="utf-8") as output:
            self._process = subprocess.Popen(
                self.command(file, arguments),
                env={"ROS_LOG_DIR": self._folder.name, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Its nodes go with it, whatever happens.
                start_new_session=True,
            )

    def command(self, file: str, arguments: tuple[str, ...]) -> list[str]:
        """Command line that is run."""
        return [sys.executable, "-c", PROGRAM, str(resource(f"launch/{file}.launch.py")), *arguments]

    def __enter__(self) -> "Launch":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        except HarnessError:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            raise
        finally:
            self._folder.cleanup()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def output(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def describe(self) -> str:
        return f"--- output of the launch:\n{self.output}---"

    @property
    def name(self) -> str:
        return "the launch"

    def stop(self) -> int:
        """Interrupt it as Ctrl-C does, and return the exit code.

        Not before the start of every program is reported, and the end of those that end by themselves: launch
        bears no interruption in the middle of that.
        """
        for pid, ends in self.programs():
            self.wait_for(
                lambda pid=pid, ends=ends: not self.running or self._reported(pid, ends),
                f"the report on {pid}",
            )
        if self.running:
            self._process.send_signal(signal.SIGINT)
        return self.wait()

    def _reported(self, pid: int, end: bool) -> bool:
        output = self.output
        return f"process started with pid [{pid}]" in output and (
            not end or re.search(rf"process has .*\[pid {pid}\b", output) is not None
        )

    def wait(self) -> int:
        """Wait until it ends, and return the exit code."""
        try:
            return self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise HarnessError(f"the launch did not end\n{self.describe()}") from None

    def wait_for(self, condition, what: str):
        """Wait until ``condition()`` is true, and return its value."""
        deadline = time.monotonic() + PATIENCE
        while True:
            running, value = self.running, condition()
            if value:
                return value
            if not running or time.monotonic() > deadline:
                raise HarnessError(f"{what} did not happen\n{self.describe()}")
            time.sleep(POLL)

    def wait_for_output(self, pattern: str) -> re.Match[str]:
        """Wait until the output contains a match of the regular expression."""
        return self.wait_for(lambda: re.search(pattern, self.output), f"output {pattern!r}")
