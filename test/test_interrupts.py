"""Ctrl-C while a program is still importing, which a module that takes its time makes long enough."""

import os
import signal
import subprocess
import sys

import pytest
from patience import PATIENCE

# What numpy's own code makes of a KeyboardInterrupt.
SLOW = """
import time
print("importing", flush=True)
try:
    time.sleep(3600)
except KeyboardInterrupt:
    raise ImportError("interrupted") from None
"""


def start(*words, slow=None, folder=None):
    if slow:
        (folder / f"{slow}.py").write_text(SLOW)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": path}, preexec_fn=heed_sigint,
    )  # fmt: skip


def heed_sigint():
    """Heed SIGINT: a command in the background of a shell script ignores it, as its children would."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("module", "slow", "code"),
    [
        ("robot_dynamics.cli.main", "numpy", 130),
        ("robot_dynamics.cli.main", "rclpy", 130),
        ("robot_dynamics.ros.simulator", "rclpy", 0),
        ("robot_dynamics.ros.computed_torque_controller", "numpy", 0),
    ],
)
def test_a_program_that_is_importing_ends_without_a_word(module, slow, code, tmp_path):
    words = {"numpy": ["dh", "arm.urdf"], "rclpy": ["set", "payload_mass=1"]}[slow] if "cli" in module else []
    with start("-m", module, *words, slow=slow, folder=tmp_path) as process:
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        try:
            said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, *said) == (code, "", "")


def test_the_command_line_ends_by_itself_what_it_has_started(tmp_path):
    """A script that imports the nodes' room: ``view`` has children then, ``record`` a bag."""
    program = (
        "import signal, sys\n"
        "from robot_dynamics.interrupts import raise_at_sigint\n"
        "import robot_dynamics.cli; early = signal.getsignal(signal.SIGINT)\n"
        "raise_at_sigint(); import robot_dynamics.ros; late = signal.getsignal(signal.SIGINT)\n"
        "default = signal.default_int_handler; print(early is default, late is default)"
    )
    scripts = {"robot_dynamics": ("view", "False True"), "lib/robot_dynamics/simulator": ("", "True False")}
    for name, (word, expected) in {**scripts, "robot_dynamics/own.py": ("", "True True")}.items():
        script = tmp_path / "bin" / name if word else tmp_path / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(program)
        with start(str(script), word, folder=tmp_path / "none") as process:
            assert process.communicate(timeout=PATIENCE) == (expected + "\n", ""), name


def test_a_process_that_only_uses_the_package_keeps_its_ways(tmp_path):
    program = (
        "import signal, robot_dynamics.cli, robot_dynamics.ros;"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    with start("-c", program, folder=tmp_path) as process:
        assert process.communicate(timeout=PATIENCE)[0] == "True\n"


def test_a_signal_that_comes_while_a_node_sets_its_handlers_is_not_lost():
    """On a loaded machine a node that starts may stand between two of its handlers for a while."""
    program = f"""
import os, signal
from rclpy.node import Node
from robot_dynamics.ros.support import spin

set_handler = signal.signal

def set_and_interrupt(number, handler):
    set_handler(number, handler)
    if number == signal.SIGINT:
        signal.signal = set_handler
        os.kill(os.getpid(), number)

signal.signal = set_and_interrupt
wait = lambda node, stop: print("interrupted" if stop.wait({PATIENCE}) else "lost")
raise SystemExit(spin.run(lambda: Node("node"), [], wait))
"""
    with start("-c", program) as process:
        said = process.communicate(timeout=2 * PATIENCE)
    assert (process.returncode, *said) == (0, "interrupted\n", "")
