"""Ctrl-C while a program is still importing, which a module that takes its time makes long enough."""

import os
import signal
import subprocess
import sys

import pytest
from patience import PATIENCE

SLOW = 'import time\nprint("importing", flush=True)\ntime.sleep(3600)\n'


def start(*words, slow=None, folder=None):
    if slow:
        (folder / f"{slow}.py").write_text(SLOW)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": path}, preexec_fn=heed_sigint,
    )  # fmt: skip


def heed_sigint():
    """What runs in the background of a shell script ignores SIGINT, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("module", "slow", "code"),
    [
        ("robot_dynamics.cli.main", "numpy", 130),
        ("robot_dynamics.ros.simulator", "rclpy", 0),
        ("robot_dynamics.ros.computed_torque_controller", "numpy", 0),
    ],
)
def test_a_program_that_is_importing_ends_without_a_word(module, slow, code, tmp_path):
    words = ["dh", "arm.urdf"] if "cli" in module else []
    with start("-m", module, *words, slow=slow, folder=tmp_path) as process:
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        try:
            said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, *said) == (code, "", "")


def test_a_process_that_only_uses_the_package_keeps_its_ways(tmp_path):
    program = (
        "import signal, robot_dynamics.cli, robot_dynamics.ros;"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    with start("-c", program, folder=tmp_path) as process:
        assert process.communicate(timeout=PATIENCE)[0] == "True\n"
