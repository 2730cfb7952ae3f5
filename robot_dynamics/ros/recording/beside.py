"""A recording of joint states beside other work, by the command ``record`` in its own process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from robot_dynamics.errors import RobotDynamicsError

PATIENCE = 30.0
"""Time for the recorder's end [s]."""


@contextmanager
def recorded(bag: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Record what comes on ``joint_states`` meanwhile.

    Args:
        bag: folder, which must not exist yet.
        environment: of the recorder, such as its ROS domain.

    Raises:
        RobotDynamicsError: nothing is recorded.
    """
    command = [sys.executable, "-m", "robot_dynamics.cli.main", "record", "-o", str(bag)]
    with subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as recorder:
        try:
            assert recorder.stdout is not None
            lines: list[str] = []
            for line in recorder.stdout:
                lines.append(line)
                if "the first message has come" in line:
                    break
            else:
                raise RobotDynamicsError(f"nothing is recorded:\n{''.join(lines)}")
            yield
        finally:
            recorder.send_signal(signal.SIGINT)
            recorder.communicate(timeout=PATIENCE)
