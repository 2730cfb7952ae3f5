"""Invariants of the efforts that an observer has seen, under every fault."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from patience import PATIENCE, POLL

LATE = 0.1
"""By which a silence may be longer than promised and than the waits for a processor in it: a look of the node
at its clocks, and the way of a message to the observer [s]."""


def load() -> float:
    """Processes that have waited for each processor in the last minute, 1 at least."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def found(pattern: str, text: str) -> bool:
    """True if a text contains a match."""
    return re.search(pattern, text) is not None


@dataclass(frozen=True)
class Seen:
    """One message: steady time of its arrival [s], topic, stamp [ns], numbers."""

    at: float
    topic: str
    stamp: int
    values: Sequence[float]


class Record:
    """The observer's file, read as it grows."""

    def __init__(self, file: Path) -> None:
        self._file, self._place = file, 0
        self.seen: list[Seen] = []

    def read(self) -> list[Seen]:
        """Everything that has been seen so far."""
        if self._file.exists():
            with self._file.open(encoding="utf-8") as lines:
                lines.seek(self._place)
                text = lines.read()
            whole = text[: text.rfind("\n") + 1]
            self._place += len(whole.encode())
            self.seen += [Seen(*json.loads(line)) for line in whole.splitlines()]
        return self.seen

    def last(self, topic: str) -> Seen | None:
        """The newest message of a topic."""
        return next((one for one in reversed(self.read()) if one.topic == topic), None)

    def has_noted(self, moment: float, topic: str) -> bool:
        """True if the file holds something of a topic that is younger than ``moment`` [s]."""
        return any(one.at > moment for one in reversed(self.read()) if one.topic == topic)

    def wait_until_noted(self, moment: float, topic: str, alive: Callable[[], bool]) -> None:
        """Return when the file holds something of a topic that is younger than ``moment`` [s]."""
        deadline = time.monotonic() + PATIENCE
        while not self.has_noted(moment, topic):
            assert alive(), "the observer has ended"
            assert time.monotonic() < deadline, f"nothing on {topic} any more"
            time.sleep(POLL)


@dataclass(frozen=True)
class Promise:
    """Promise of a node about the efforts on one topic.

    Attributes:
        topic: of the efforts.
        limits: of the joints, in the order of the message [N·m or N]; none: numbers without a limit.
        silence: longest time without a message from a living node [s]; infinite where it may be silent.
        rows: whether a message holds rows of efforts, one for each instant.
        least: no number is below it.
    """

    topic: str
    limits: Sequence[float] = ()
    silence: float = math.inf
    rows: bool = False
    least: float = -math.inf


@dataclass
class Verdict:
    """Result of a drill.

    Attributes:
        messages: that were judged.
        effort: the largest, as a share of its limit.
        step: the largest, as a share of its limit.
        silence: the longest, of a node that lived [s].
        waited: in that one for a processor [s].
        broken: promises that were not kept, in words.
    """

    messages: int = 0
    effort: float = 0.0
    step: float = 0.0
    silence: float = 0.0
    waited: float = 0.0
    broken: list[str] = field(default_factory=list)


Interval = tuple[float, float]


def without_waits(begin: float, end: float) -> float:
    """A machine on which nothing ever waits for a processor."""
    return 0.0


def judge(
    seen: Sequence[Seen],
    promises: Sequence[Promise],
    during: Interval,
    dead: Sequence[Interval] = (),
    largest_step: float = math.inf,
    waited: Callable[[float, float], float] = without_waits,
    shared: Sequence[Interval] = (),
) -> Verdict:
    """Hold what was seen against what is promised.

    Args:
        seen: by the observer, all topics.
        promises: of the node.
        during: steady time from when to when [s].
        dead: when the node did not live, or was told to be silent; each from the last message before it on.
        largest_step: of an effort from one message to the next, as a share of its limit.
        waited: for how long node and observer waited for a processor between two steady times [s].
        shared: when several nodes sent on the topic of the first promise; each is judged by its own.
    """
    verdict = Verdict()
    for k, promise in enumerate(promises):
        mine = [one for one in seen if one.topic == promise.topic and during[0] <= one.at <= during[1]]
        verdict.messages += len(mine)
        for one in mine:
            _judge_numbers(one, promise, verdict)
        for before, after in itertools.pairwise(mine):
            mixed = k == 0 and _meets(before.at, after.at, shared)
            if not promise.rows and not mixed:
                _judge_step(before, after, promise, largest_step, verdict)
        _judge_silence([one.at for one in mine], promise, during, dead, waited, verdict)
    return verdict


def _meets(begin: float, end: float, intervals: Sequence[Interval]) -> bool:
    """True if the time between two moments is partly in one of the intervals."""
    return any(first < end and begin < last for first, last in intervals)


def _judge_numbers(one: Seen, promise: Promise, verdict: Verdict) -> None:
    joints = len(promise.limits)
    if not all(map(math.isfinite, one.values)):
        verdict.broken.append(f"{one.topic}: {one.values} is not finite")
    elif joints and (len(one.values) % joints if promise.rows else len(one.values) != joints):
        verdict.broken.append(f"{one.topic}: {len(one.values)} efforts for {joints} joints")
    elif joints:
        share = max((abs(v) / promise.limits[k % joints] for k, v in enumerate(one.values)), default=0.0)
        verdict.effort = max(verdict.effort, share)
        if share > 1.0 + 1e-12:
            verdict.broken.append(f"{one.topic}: {one.values} is beyond the limits {promise.limits}")
        if min(one.values, default=math.inf) < promise.least:
            verdict.broken.append(f"{one.topic}: {one.values} is below {promise.least}")


def _judge_step(before: Seen, after: Seen, promise: Promise, largest: float, verdict: Verdict) -> None:
    pairs = zip(before.values, after.values, promise.limits, strict=False)
    share = max((abs(b - a) / limit for a, b, limit in pairs), default=0.0)
    verdict.step = max(verdict.step, share)
    if share > largest:
        verdict.broken.append(
            f"{after.topic}: from {before.values} to {after.values}, {share:.2f} of a limit in one step"
        )


def _judge_silence(
    times: Sequence[float],
    promise: Promise,
    during: Interval,
    dead: Sequence[Interval],
    waited: Callable[[float, float], float],
    verdict: Verdict,
) -> None:
    marks = [during[0], *times, during[1]]
    for before, after in itertools.pairwise(marks):
        silence = after - before
        if math.isinf(promise.silence) or _meets(before, after, dead):
            continue
        # Waits are looked up for the silences that matter only.
        wait = waited(before, after) if silence > promise.silence else 0.0
        if silence > verdict.silence:
            verdict.silence, verdict.waited = silence, wait
        if silence - wait > promise.silence + LATE:
            verdict.broken.append(
                f"{promise.topic}: nothing for {silence:.2f} s from a living node, {before - during[0]:.2f} s"
                f" after the move began; {wait:.2f} s of it somebody waited for a processor"
            )
