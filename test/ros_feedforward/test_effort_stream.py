"""Efforts of the moment on their way out: bounded steps, and a fade while nobody knows where the arm is."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.ros.feedforward import effort_stream


def test_efforts_go_by_steps_and_fade_at_once(monkeypatch):
    sent, clock, wanted, blind = [], [100.0], np.zeros(2), [""]
    publisher = SimpleNamespace(publish=lambda message: sent.append(list(message.data)))
    monkeypatch.setattr(effort_stream.qos, "publisher", lambda *_: publisher)
    monkeypatch.setattr(effort_stream, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    arm = SimpleNamespace(
        position=np.zeros(2), effort_limits=np.array([4.0, 8.0]), effort=lambda now, ahead: wanted.copy()
    )
    feeder = SimpleNamespace(
        settings=FeedforwardParameters(max_effort_step=0.25, safe_fade_time=1.0),
        active=True,
        feedforward=arm,
        now=lambda: 0.0,
        blindness=lambda: blind[0],
    )
    stream = effort_stream.EffortStream(MagicMock(), feeder)

    def send(count=1):
        for _ in range(count):
            stream._stream()
        return sent[-1]

    blind[0] = "there is no joint state yet"
    stream._stream()
    assert not sent, "nothing is sent of an arm that nobody has seen"
    blind[0] = ""
    assert send() == [0.0, 0.0]
    wanted[:] = 4.0, -8.0
    assert send() == pytest.approx([1.0, -2.0])
    assert send(3) == pytest.approx([4.0, -8.0])
    blind[0] = "no joint state for 0.5 s"
    assert send() == pytest.approx([4.0, -8.0])
    clock[0] += 0.75
    assert send() == pytest.approx([1.0, -2.0])
    clock[0] += 0.75
    assert send() == [0.0, 0.0]
    blind[0] = ""
    assert send() == pytest.approx([1.0, -2.0])
