"""A node under drill, what it moves, the wire between, and an observer."""

from __future__ import annotations

import contextlib
import itertools
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import invariants
import observer
from invariants import Interval, Promise, Record, Verdict
from machines import ARM, JOINTS, RATE, trajectory
from ros_harness import NodeProcess, Peer
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
from waits import Waits
from wall_clock import WallClock
from wire import PLANT, PLANT_CLOCK, Wire

from robot_dynamics.ros.support import qos


class Scene:
    """A node under drill and what belongs to it; a context manager.

    Attributes:
        node: name of the node.
        joints: that it moves.
        wire: between plant and node.
        peer: of the test, for services and messages.
        process: of the node.
        trajectories: publisher of the test.
        plant: process of the simulator; None where the wire plays it.
        record: of the observer.
        dead: intervals of steady time in which the node had nothing to send.
        shared: intervals of steady time in which a second node sent on its topics.
        wall: the clock on the wall as the node sees it, where it is in the hands of the test.
    """

    node: ClassVar[str]
    joints: ClassVar[list[str]] = JOINTS
    watched: ClassVar[tuple[str, ...]]
    promises: ClassVar[tuple[Promise, ...]]
    parameters: ClassVar[Mapping[str, Any]] = {"robot_description": ARM}
    plant_parameters: ClassVar[Mapping[str, Any] | None] = None
    goals: ClassVar[Sequence[Sequence[float]]] = ((0.9, -0.6), (0.2, 0.5))
    make: Callable[..., Any] = staticmethod(trajectory)
    trajectory_type: ClassVar[type] = JointTrajectory
    trajectory_topic = "joint_trajectory"
    UNDER_WAY: ClassVar[str] = r"following a trajectory|sent \d+ points"
    ON_BRAKES: ClassVar[str] = "the platform is not ready for a trajectory"
    MOST_TRIES = 10
    second_arguments: ClassVar[Sequence[str]] = ()
    moves = True
    simulated_time = False

    def __init__(self, with_wall_clock: bool = False) -> None:
        self._with_wall_clock = with_wall_clock
        self.wall: WallClock | None = None
        self.plant: NodeProcess | None = None
        self.dead: list[Interval] = []
        self.shared: list[Interval] = []
        self._printed = 0
        # The process whose protective stop was released last, and its output until then.
        self._latched: tuple[Any, int] = (None, 0)
        self._stack = contextlib.ExitStack()
        self._goal = itertools.cycle(self.goals)

    def __enter__(self) -> Scene:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        file = folder / "record.jsonl"
        self.wire = Wire()
        self._stack.callback(self.wire.close)
        self.peer = Peer()
        self._stack.callback(self.peer.close)
        self._observer = self._stack.enter_context(
            _Observer(Path(observer.__file__), (str(file), *self.watched))
        )
        self.record = Record(file)
        self._observer.wait_for_output("observing")
        self._stack.callback(self._stop)
        if self._with_wall_clock and not self.simulated_time:
            self.wall = WallClock(folder)
        self.start_plant()
        self.start_node()
        self._waits = self._stack.enter_context(Waits(lambda: (self.process.pid, self._observer.pid)))
        if self.moves:
            self.trajectories = self.peer.publisher(
                self.trajectory_type, f"{self.node}/{self.trajectory_topic}", qos.TRAJECTORY
            )
        self.recover()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _stop(self) -> None:
        for process in (self.process, self.plant):
            if process is not None:
                process.stop()

    # Processes

    def start_node(self) -> None:
        """Start the node under drill."""
        clock = {"use_sim_time": True} if self.simulated_time else {}
        self.process = NodeProcess(self.node, {**self.parameters, **clock}, environment=self.environment)

    @property
    def environment(self) -> Mapping[str, str]:
        """Of the node, beside that of this process."""
        return {} if self.wall is None else self.wall.environment

    def start_plant(self) -> None:
        """Start what the node moves."""
        if self.plant_parameters is None:
            if self.wire.last is None:
                self.wire.play(self.joints, [0.4, 0.3], self.simulated_time)
            self.wire.start()
            return
        remapped = ["-r", f"joint_states:={PLANT}", "-r", f"/clock:={PLANT_CLOCK}"]
        given = {"rate": RATE, "publish_clock": self.simulated_time, "command_timeout": 0.3}
        given = {**given, **self.plant_parameters}
        self.plant = NodeProcess("simulator", given, remapped)
        self.wire.wait_for_states(1)

    def kill_plant(self) -> None:
        """The plant dies by SIGKILL."""
        if self.plant is None:
            self.wire.stop()
        else:
            self.kill(self.plant)

    def kill(self, process: NodeProcess) -> None:
        """SIGKILL, and wait for the end."""
        process.send_signal(signal.SIGKILL)
        process.wait_for_exit()
        process.stop()

    # What a drill does

    @property
    def topic(self) -> str:
        """The topic of the first promise: what the node sends as long as it lives."""
        return self.promises[0].topic

    def move(self, seconds: float = 2.0) -> None:
        """Send the machine to the next of its goals, and wait until it is on its way."""
        if self.moves:
            goal = self.make([(seconds, next(self._goal))])
            tries = itertools.count(1)
            while not self._sets_out(goal):
                assert next(tries) < self.MOST_TRIES, self.process.describe()
                self.put_home()
                self.recover()
            self.wire.wait_for_states(20)

    def _sets_out(self, goal: Any) -> bool:
        """True if the machine is on its way, not on its brakes."""
        self._printed = len(self.process.output)
        # A node that was started a moment ago may not be known yet.
        self.send_until(f"{self.UNDER_WAY}|{self.ON_BRAKES}", self.trajectories, goal)
        return invariants.found(self.UNDER_WAY, self.printed)

    def reset_latch(self) -> None:
        """Release a protective stop as an operator does, who tries again where joints still move.

        Three faults within five seconds latch one.
        """
        if self._latched[0] is not self.process:
            self._latched = self.process, 0
        end = len(self.process.output)
        if (
            invariants.found("call ~/reset_fault", self.process.output[self._latched[1] :])
            and self.peer.call(Trigger, f"{self.node}/reset_fault").success
        ):
            self._latched = self.process, end

    def put_home(self) -> None:
        """Bring home, as people do, a robot that was driven so far that it rests on its brakes."""
        raise NotImplementedError

    def rest(self, seconds: float) -> None:
        """Let so much time pass."""
        end = time.monotonic() + seconds
        self.peer.wait_until(lambda: time.monotonic() > end, "time stands still")

    def send(self, message: Any) -> None:
        """A trajectory, an object or bytes."""
        self.trajectories.publish(message)

    @property
    def printed(self) -> str:
        """By the node since the last move."""
        return self.process.output[self._printed :]

    def said(self, pattern: str) -> None:
        """Wait until the node has printed it since the last move."""
        self.peer.wait_until(
            lambda: invariants.found(pattern, self.printed), f"the node never said {pattern!r}"
        )

    def loses_states(self, words: str = "") -> None:
        """Wait until the node has noticed that states are lost: it says so, and its efforts have faded."""
        if words:
            self.said(words)
        self.wait_for_no_effort()

    def wait_for_no_effort(self) -> None:
        """Wait until the efforts that leave are zero."""

        def faded() -> bool:
            last = self.record.last(self.topic)
            return last is not None and not any(last.values)

        self.peer.wait_until(faded, "the safe output does not fade")

    def send_until(self, pattern: str, publisher: Any, message: Any) -> None:
        """Publish what may get lost until the node has said something new that matches."""
        before = len(self.process.output)

        def publish() -> None:
            self.reset_latch()
            publisher.publish(message)

        self.peer.repeat_until(
            publish,
            lambda: invariants.found(pattern, self.process.output[before:]),
            f"the node never said {pattern}",
        )

    def recover(self) -> None:
        """Wait until the node is at work again: it says so, and an answer to a newer state is seen."""
        assert self.process.running, self.process.describe()
        self.peer.processes = [self.process, self._observer]
        began = time.monotonic()
        self.peer.wait_until(self.works, f"{self.node} is not at work again")
        # What it sends once may be sent before the observer is known.
        self.peer.repeat_until(
            self.works, lambda: self.record.has_noted(began, self.topic), f"nothing on {self.topic} any more"
        )

    def works(self) -> bool:
        """True if the node holds its machine when it is told to."""
        answer = self.peer.call(Trigger, f"{self.node}/hold")
        self.reset_latch()
        return bool(answer.success) and answer.message == "holding position"

    def judge(self, began: float, largest_step: float) -> Verdict:
        """Compare the efforts that the observer has seen since then with the node's promises."""
        seen = self.record.read()
        during, waited = (began, seen[-1].at), self._waits.between
        return invariants.judge(
            seen, self.promises, during, self.dead, largest_step, waited=waited, shared=self.shared
        )

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """The node may be silent meanwhile, until it has sent something again."""
        last = self.record.last(self.topic)
        began = last.at if last is not None else 0.0
        yield
        self.dead.append((began, time.monotonic()))

    @contextlib.contextmanager
    def second(self) -> Iterator[NodeProcess]:
        """A second node of the same kind on the same topics; what it alone sends passes by another."""
        last, arguments = self.record.last(self.topic), ["-r", "__node:=second", *self.second_arguments]
        with NodeProcess(self.node, dict(self.parameters), arguments) as process:
            yield process
        self.shared.append((0.0 if last is None else last.at, time.monotonic()))


class _Observer(NodeProcess):
    """The observer as a process."""

    def __init__(self, file: Path, arguments: Sequence[str]) -> None:
        super().__init__(file, environment={"RD_OBSERVED": " ".join(arguments)})
