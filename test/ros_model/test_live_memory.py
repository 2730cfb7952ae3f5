"""Live values for a respawn: nodes of this process, one after the other, with the same state folder."""

import contextlib
import os

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from robot_dynamics.ros.models import live_parameters
from robot_dynamics.ros.models.live_memory import LONGEST, LiveMemory

pytestmark = pytest.mark.ros
START = {"payload_mass": 0.0, "kp": [100.0], "robot_compensates_gravity": False}


class Process(Node):
    """Node with the members that the memory uses, in place of a process of the real node."""

    def __init__(self, context, start, **options):
        super().__init__("arm", context=context, use_global_arguments=False)
        for name, value in start.items():
            self.declare_parameter(name, value)
        self.warnings = []
        self.get_logger().warning = self.warnings.append
        self.memory = LiveMemory(self, ("payload_mass", "kp", "robot_compensates_gravity", "none"), **options)

    def get_logger(self):
        if not hasattr(self, "_log"):
            self._log = super().get_logger()
        return self._log

    def give(self, **values):
        result = self.set_parameters_atomically(
            [Parameter(name, value=value) for name, value in values.items()]
        )
        assert result.successful

    @property
    def values(self):
        found = {name: self.get_parameter(name).value for name in START}
        return {name: list(value) if hasattr(value, "__iter__") else value for name, value in found.items()}

    def end(self):
        self.memory._pool.shutdown(wait=True)
        self.destroy_node()


@pytest.fixture
def begin(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    context = rclpy.Context()
    rclpy.init(context=context, args=[])
    with contextlib.ExitStack() as stack:
        stack.callback(context.try_shutdown)
        yield lambda start=START, **options: Process(context, start, **options)


def only_file(folder):
    (file,) = (folder / "robot_dynamics").glob("live_*.json")
    return file


def test_live_values_are_kept_for_the_next_process_and_the_one_after_it(begin):
    """A controller that was respawned during a move lost its live values: 0.35 rad off."""
    first = begin()
    assert first.values == START
    first.give(payload_mass=5.0, kp=[25.0, 30.0])
    first.end()
    for _ in range(2):
        again = begin()
        assert again.values == {**START, "payload_mass": 5.0, "kp": [25.0, 30.0]}
        assert "payload_mass 5.0, kp [25.0, 30.0]" in again.warnings[0]
        again.end()


def test_other_start_values_count_and_the_difference_is_named(begin, tmp_path):
    first = begin()
    first.give(payload_mass=5.0)
    first.end()
    other = {**START, "payload_mass": 2.0}
    second = begin(other)
    assert second.values == other
    assert (
        "payload_mass 5.0; the start's values count, because this process starts with other values"
        in (second.warnings[0])
    )
    second.end()
    assert begin(other).warnings == []


def test_after_a_minute_the_start_values_count(begin, tmp_path):
    first = begin()
    first.give(payload_mass=5.0)
    first.end()
    file = only_file(tmp_path)
    past = file.stat().st_mtime - LONGEST - 10.0
    os.utime(file, (past, past))
    second = begin()
    assert second.values == START
    assert "the process before ended 7" in second.warnings[0]


def test_what_tripped_is_forgotten_and_the_next_process_says_so(begin):
    first = begin()
    first.give(kp=[900.0])
    first.memory.forget()
    first.end()
    second = begin()
    assert second.values == START
    assert "kp [900.0]; the start's values count, because it tripped a rule" in second.warnings[0]
    second.end()
    assert not begin().warnings


def test_what_is_set_back_is_no_difference(begin):
    first = begin()
    first.give(payload_mass=5.0)
    first.give(payload_mass=0.0)
    first.end()
    assert not begin().warnings


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"start": 1, "live": {}}', "[" * 5000])
def test_a_file_that_cannot_be_read_changes_nothing(begin, tmp_path, content):
    first = begin()
    first.give(payload_mass=5.0)
    first.end()
    only_file(tmp_path).write_text(content)
    second = begin()
    assert second.values == START
    assert "the start's values count: cannot read" in second.warnings[0]


def test_nothing_is_kept_where_a_run_can_be_repeated(begin, tmp_path):
    first = begin(used=False)
    first.give(payload_mass=5.0)
    first.end()
    assert not (tmp_path / "robot_dynamics").exists()


def test_of_several_senders_the_eldest_that_lives_counts(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(live_parameters.time, "monotonic", lambda: now[0])
    senders = live_parameters.Senders()
    assert senders.admits("2")
    assert not senders.admits("3")
    now[0] += live_parameters.ALIVE - 1.0
    assert not senders.admits("3")
    assert senders.admits("2")
    now[0] += live_parameters.ALIVE + 1.0
    assert senders.admits("3"), "the first is dead"
    assert senders.elder("4")
    assert not senders.elder("1")
    assert senders.admits("1"), "one that began earlier was cut off for a while"
    assert not senders.admits("3")


def test_values_of_parameters_that_are_declared_later_are_kept_too(begin):
    tip = "payload.left_hand.mass"

    def with_tip(value=0.0):
        process = begin()
        process.declare_parameter(tip, value)
        process.memory.add([tip])
        return process

    first = with_tip()
    first.give(**{tip: 1.5})
    first.end()
    second = with_tip()
    assert second.get_parameter(tip).value == 1.5 and "1.5" in second.warnings[-1]
    second.give(payload_mass=2.0)
    second.end()
    third = begin()  # the tips are not known yet
    assert third.values["payload_mass"] == 2.0
    third.give(kp=[50.0])
    third.end()
    fourth = with_tip(value=0.2)
    assert fourth.get_parameter(tip).value == 0.2 and "starts with other values" in fourth.warnings[-1]
    fourth.end()
