"""The harness itself: limits that the environment multiplies, and requests that are sent again."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import long_first
import patience
import pytest
import ros_harness
from ros_harness import HarnessError, Lifecycle, Peer


@pytest.fixture
def reloaded(monkeypatch):
    """The module of limits as another environment has it."""

    def load(value):
        if value is None:
            monkeypatch.delenv("RD_PATIENCE", raising=False)
        else:
            monkeypatch.setenv("RD_PATIENCE", value)
        return importlib.reload(patience)

    yield load
    monkeypatch.undo()
    importlib.reload(patience)


def test_the_environment_multiplies_every_limit(reloaded):
    usual = {name: getattr(reloaded(None), name) for name in ("PATIENCE", "LONG_PATIENCE", "RESEND")}
    for name, value in usual.items():
        assert getattr(reloaded("2.5"), name) == 2.5 * value
    assert usual["RESEND"] < 0.2 * usual["PATIENCE"] < usual["LONG_PATIENCE"]


@pytest.mark.parametrize("value", ["", "much", "0", "-1", "nan", "inf"])
def test_a_patience_that_is_no_factor_is_refused(reloaded, value):
    with pytest.raises(ValueError, match=r"RD_PATIENCE is .*; it must be a number above 0"):
        reloaded(value)


class Service:
    """A service that answers the request with this number, and none before; counts them."""

    Request = SimpleNamespace

    def __init__(self, answers):
        self.answers, self.requests = answers, []

    def service_is_ready(self):
        return True

    def call_async(self, request):
        self.requests.append(request)
        answered = len(self.requests) == self.answers
        return SimpleNamespace(done=lambda: answered, result=lambda: f"answer {len(self.requests)}")


def peer_of(service):
    """A peer without ROS, whose every client is the service."""
    peer = Peer.__new__(Peer)
    peer.processes = []
    peer.executor = SimpleNamespace(spin_once=lambda timeout_sec: None)
    peer.node = SimpleNamespace(create_client=lambda *_: service, destroy_client=lambda client: None)
    return peer


@pytest.mark.parametrize("answers", [1, 2, 4])
def test_a_request_without_an_answer_is_sent_again(monkeypatch, answers):
    monkeypatch.setattr(ros_harness, "RESEND", 0.001)
    service = Service(answers)
    request = SimpleNamespace(transition=3)
    assert peer_of(service).call(Service, "service", request) == f"answer {answers}"
    assert service.requests == [request] * answers


def test_a_request_whose_effect_has_come_is_not_sent_again(monkeypatch):
    monkeypatch.setattr(ros_harness, "RESEND", 0.001)
    service = Service(answers=0)
    assert peer_of(service).call(Service, "service", lost=lambda: False) is None
    assert len(service.requests) == 1


def test_nothing_is_sent_twice_while_an_answer_may_still_come():
    service = Service(answers=2)
    peer = peer_of(service)
    peer.wait_until = lambda condition, what: [condition() for _ in range(50)][-1] or [None]
    peer.call(Service, "service")
    assert len(service.requests) == 1


def test_a_node_that_does_not_end_when_it_is_told_to_is_a_failure(tmp_path):
    deaf = tmp_path / "deaf_node.py"
    deaf.write_text(
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf')\nsignal.pause()\n",
        encoding="utf-8",
    )
    node = ros_harness.NodeProcess(deaf)
    node.STOP_TIMEOUT = 0.1
    node.wait_for_output("deaf")
    with pytest.raises(HarnessError, match=r"did not end by SIGINT and was killed(.|\n)*deaf"), node:
        pass
    assert not node.running


def test_the_end_of_a_node_ends_the_wait():
    peer = peer_of(Service(answers=0))
    peer.processes.append(SimpleNamespace(running=False, name="simulator", describe=lambda: "its output"))
    with pytest.raises(HarnessError, match=r"(?s)no answer from service: simulator has ended.*its output"):
        peer.call(Service, "service")


@pytest.mark.parametrize(("states", "sent"), [(["inactive", "active"], 1), (["inactive", "inactive"], 2)])
def test_a_transition_is_asked_for_again_in_the_same_state_only(monkeypatch, states, sent):
    """Twice the same transition would be an error: the second one is refused."""
    pytest.importorskip("lifecycle_msgs.srv", reason="lifecycle_msgs is not installed")
    monkeypatch.setattr(ros_harness, "RESEND", 0.001)
    service = Service(answers=2)
    monkeypatch.setattr(
        Service,
        "call_async",
        lambda self, request, call=Service.call_async: with_success(call(self, request)),
    )
    told = iter(states)
    monkeypatch.setattr(Lifecycle, "state", property(lambda self: next(told)))
    lifecycle = Lifecycle(peer_of(service), "node")
    assert lifecycle.change(Lifecycle.ACTIVATE)
    assert len(service.requests) == sent


def with_success(future):
    return SimpleNamespace(done=future.done, result=lambda: SimpleNamespace(success=True))


@pytest.mark.parametrize("workers", [2, 4, 5])
def test_workers_begin_with_the_long_files_and_half_of_them_with_those_that_wait(workers):
    File = long_first.File
    waiting = [File(["W", "w"], 20.0, True), File(["V"], 9.0, True)]
    computing = [File(["C"], 12.0), File(["D", "d"], 8.0)]
    files = [File(list("abcdefgh")), *waiting, File(list("ijklmno")), *computing]
    tests = long_first.arrange(files, workers)
    assert sorted(tests) == sorted(test for file in files for test in file.tests)
    sizes = long_first.shares(len(tests), workers)
    queues = [tests[sum(sizes[:k]) :][: sizes[k]] for k in range(workers)]
    if workers == 2:
        assert [queue[:3] for queue in queues] == [["W", "w", "V"], ["C", "D", "d"]]
    else:
        assert [queue[0] for queue in queues[:4]] == ["W", "C", "V", "D"]
        assert queues[0][1] == "w" and queues[3][1] == "d"


def test_a_file_of_nodes_takes_a_second_for_each_test_where_nothing_is_known():
    described = long_first.described
    tests = ["a", "b", "c"]
    assert described(long_first.TESTS / "ros_docs" / "test_x.py", tests) == long_first.File(tests, 3.0, True)
    assert described(long_first.TESTS / "model" / "test_x.py", tests) == long_first.File(tests, 0.0, False)
    known = described(long_first.TESTS / "ros_model" / "test_following.py", tests)
    assert known == long_first.File(tests, long_first.SECONDS["ros_model/test_following.py"], True)
    assert described(Path("/elsewhere/ros_x.py"), tests) == long_first.File(tests, 0.0, False)


def test_the_long_files_exist():
    assert [name for name in long_first.SECONDS if not (long_first.TESTS / name).is_file()] == []
