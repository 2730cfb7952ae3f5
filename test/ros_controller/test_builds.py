"""Models are built in processes that end with the node, at once and without a trace."""

import os
import shlex
import signal
import stat
import time
from pathlib import Path

import numpy as np
import pytest
from compilers import CC
from patience import PATIENCE, POLL
from ros_harness import NodeProcess, peer_with
from std_msgs.msg import String
from two_links import NODE, TWO_LINKS, Robot, controller, gravity_load

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros
# A compiler that waits until it may go on, with its process and a temporary file to be found.
SLOW_COMPILER = """#!/bin/sh
echo $$ >> {folder}/compilers
: > "$TMPDIR/half_made"
while [ ! -e {folder}/go ]; do sleep 0.05; done
exec {compiler} "$@"
"""


class Workshop:
    """A cache of its own with a slow compiler, and the processes that are at work there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cache = folder / "robot_dynamics"
        compiler = folder / "slow_cc"
        compiler.write_text(SLOW_COMPILER.format(folder=folder, compiler=shlex.join(CC)), encoding="utf-8")
        compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
        self.environment = {"XDG_CACHE_HOME": str(folder), "CC": str(compiler)}
        self.environment["ROBOT_DYNAMICS_BUILT"] = str(folder)

    def go(self) -> None:
        """Let the compiler do its work."""
        (self._folder / "go").touch()

    def rest(self) -> None:
        """Let every further compiler wait."""
        (self._folder / "go").unlink()
        (self._folder / "compilers").unlink(missing_ok=True)

    @property
    def compilers(self) -> list[int]:
        """Process ids of all compilers that were ever started."""
        log = self._folder / "compilers"
        return [int(line) for line in log.read_text(encoding="utf-8").split()] if log.exists() else []

    @property
    def half_made(self) -> list[Path]:
        """Folders of unfinished entries of the cache."""
        return list(self._cache.glob(".new_*"))

    def wait_for_compiler(self) -> int:
        """Wait until a compiler is at work; returns its process id."""
        wait_until(lambda: self.compilers and self.half_made, "no compiler was started")
        return self.compilers[-1]

    @property
    def finished(self) -> list[Path]:
        """Entries of the cache."""
        return [path for path in self._cache.iterdir() if path.is_file()]

    def check_for_rest(self) -> None:
        """Nothing is left of builds that were ended."""
        wait_until(lambda: not any(map(lives, self.compilers)), "a compiler lives on")
        wait_until(lambda: not self.half_made, "a half-made entry is left")


def wait_until(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(POLL)


def lives(process: int) -> bool:
    """True if a process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


def test_a_signal_during_the_first_build_ends_the_node_and_the_build(workshop):
    parameters = {"robot_description": TWO_LINKS}
    with NodeProcess(NODE, parameters, environment=workshop.environment) as node:
        workshop.wait_for_compiler()
        node.send_signal(signal.SIGINT)
        assert node.wait_for_exit() == 0
        assert "internal error" not in node.output
    workshop.check_for_rest()
    assert not workshop.finished


def test_a_signal_during_a_build_for_a_description_on_the_topic_ends_both(workshop):
    workshop.go()  # what the loop itself needs
    with NodeProcess(NODE, environment=workshop.environment) as node, peer_with(node) as peer:
        node.wait_for_output("waiting for the topic")
        workshop.rest()
        before = workshop.finished
        peer.publisher(String, "robot_description", qos.DESCRIPTION).publish(String(data=TWO_LINKS))
        workshop.wait_for_compiler()
        node.send_signal(signal.SIGTERM)
        assert node.wait_for_exit() == 0
        assert "internal error" not in node.output
    workshop.check_for_rest()
    assert workshop.finished == before


def test_a_platform_is_built_likewise(workshop):
    with NodeProcess("stewart_platform", environment=workshop.environment) as node:
        workshop.wait_for_compiler()
        node.send_signal(signal.SIGINT)
        assert node.wait_for_exit() == 0
    workshop.check_for_rest()


def test_a_build_does_not_outlive_a_node_that_is_killed(workshop):
    with NodeProcess(NODE, {"robot_description": TWO_LINKS}, environment=workshop.environment) as node:
        workshop.wait_for_compiler()
        os.kill(node.pid, signal.SIGKILL)
        node.wait_for_exit()
    workshop.check_for_rest()


@pytest.mark.long
def test_of_queued_descriptions_only_the_newest_is_built(workshop):
    def variant(number):
        named = TWO_LINKS.replace('"two_links"', f'"robot_{number}"')
        return named.replace('mass value="2"', f'mass value="{2 + number}"')

    workshop.go()
    with NodeProcess(NODE, environment=workshop.environment) as node, peer_with(node) as peer:
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        describe.publish(String(data=variant(0)))
        Robot(peer).hold_at([0.3, 0.2])
        workshop.rest()
        for number in (1, 2, 3, 4):
            describe.publish(String(data=variant(number)))
            node.wait_for_output(rf"(?s)(a new description.*){{{number}}}")
            if number == 1:
                workshop.wait_for_compiler()
        workshop.go()
        node.wait_for_output("model of robot_4")
        assert "model of robot_1" in node.output
        assert "model of robot_2" not in node.output
        assert "model of robot_3" not in node.output


@pytest.mark.long
def test_a_second_signal_ends_the_node_at_once_whatever_it_does(workshop):
    workshop.go()
    parameters = {"robot_description": "", "safe_fade_time": 60.0}
    with NodeProcess(NODE, parameters, environment=workshop.environment) as node, peer_with(node) as peer:
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        describe.publish(String(data=TWO_LINKS))
        Robot(peer).hold_at([0.3, 0.2])
        workshop.rest()
        describe.publish(String(data=TWO_LINKS.replace('mass value="2"', 'mass value="3"')))
        workshop.wait_for_compiler()
        peer.processes.clear()
        node.send_signal(signal.SIGINT)
        node.wait_for_output("summary: ")
        peer.repeat_until(
            lambda: node.send_signal(signal.SIGINT), lambda: not node.running, "the second signal is ignored"
        )
        assert node.wait_for_exit() == 128 + signal.SIGINT
    workshop.check_for_rest()


@pytest.mark.long
def test_a_law_with_programs_of_its_own_is_compiled_beside_the_loop(tmp_path):
    """The mode is refused until it is compiled; meanwhile and afterwards every state is answered."""
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    with controller(environment=environment) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at([0.3, -0.4])
        refused = peer.set_parameter(NODE, "mode", "cartesian_impedance")
        assert not refused.successful and "is being compiled for this arm: set it again" in refused.reason
        while "mode cartesian_impedance is compiled: it can be set now" not in node.output:
            robot.hold_at([0.3, -0.4])
        accepted = peer.set_parameter(NODE, "mode", "cartesian_impedance")
        assert accepted.successful, accepted.reason
        for _ in range(3):
            effort = robot.hold_at([0.3, -0.4])
        np.testing.assert_allclose(effort, gravity_load([0.3, -0.4]), rtol=1e-6)
        node.wait_for_output("mode computed_torque -> cartesian_impedance")
