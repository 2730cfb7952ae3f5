"""Scalars that count what is done with them.

In both conventions sign changes, sines and cosines are free, and what depends on parameters alone is done
beforehand:

- *general arm*: every parameter is an unknown number, also where this robot's happens to be 0 or 1, and only
  plain Python numbers in a formula (the zeros of a unit vector) are structure. This is how the papers count.
- *this robot*: parameters are numbers; products with 0 and 1 and sums with 0 vanish.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.scalar import Scalar, Vector

Task = tuple[str, int]


@dataclass
class Tally:
    """Multiplications and additions (subtractions included)."""

    multiplications: int = 0
    additions: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.multiplications + other.multiplications, self.additions + other.additions)


class OperationCounter:
    """A scalar field whose scalars count.

    Attributes:
        general: True for the general arm, False for this robot (see the module).
        tasks: what was counted, by step and link.
        feeds: for every task, the tasks whose results it used.
    """

    def __init__(self, *, general: bool) -> None:
        self.general = general
        self.tasks: defaultdict[Task, Tally] = defaultdict(Tally)
        self.feeds: defaultdict[Task, set[Task]] = defaultdict(set)
        self._task: Task = ("", 0)

    def variables(self, size: int) -> Vector:
        """``size`` scalars that change in every call: joint values, a wrench."""
        return np.array([CountedScalar(self, constant=False, task=None, depth=0) for _ in range(size)])

    def sin(self, angle: Scalar) -> Scalar:
        """Sine: not counted."""
        return self._function(angle, np.sin)

    def cos(self, angle: Scalar) -> Scalar:
        """Cosine: not counted."""
        return self._function(angle, np.cos)

    def parameters(self, values: ArrayLike, *, structural_zeros: bool = False) -> Vector:
        """Constants: unknown numbers of a general arm, or the numbers of this robot."""
        numbers = np.asarray(values, dtype=float)
        if not self.general:
            return numbers
        scalars = np.empty(numbers.shape, dtype=object)
        for index, number in np.ndenumerate(numbers):
            structural = structural_zeros and number == 0.0
            scalars[index] = 0.0 if structural else CountedScalar(self, constant=True, task=None, depth=0)
        return scalars

    def as_variables(self, values: Vector) -> Vector:
        """Scalars that change in every call, in place of a general arm's constants."""
        if not self.general:
            return values
        return self.variables(values.size).reshape(values.shape)

    def step(self, name: str, link: int) -> None:
        """Count what follows under ``name`` and ``link``."""
        self._task = (name, link)

    def by_step(self) -> dict[str, Tally]:
        """Operations by step, all links together, in the order of first use."""
        steps: dict[str, Tally] = {}
        for (name, _), tally in self.tasks.items():
            steps[name] = steps.get(name, Tally()) + tally
        return steps

    def total(self) -> Tally:
        """All operations."""
        return sum(self.tasks.values(), Tally())

    def _function(self, angle: Scalar, number_function: np.ufunc) -> Scalar:
        if isinstance(angle, CountedScalar):
            return CountedScalar(self, constant=angle.constant, task=angle.task, depth=angle.depth)
        return float(number_function(angle))

    def combine(self, a: CountedScalar, b: Scalar, *, product: bool) -> CountedScalar:
        """The result of a product or sum of two scalars, entered into the account."""
        others = [b] if isinstance(b, CountedScalar) else []
        constant = a.constant and all(other.constant for other in others)
        if constant:
            return CountedScalar(self, constant=True, task=None, depth=0)
        tally = self.tasks[self._task]
        if product:
            tally.multiplications += 1
        else:
            tally.additions += 1
        for operand in (a, *others):
            if operand.task is not None and operand.task != self._task:
                self.feeds[self._task].add(operand.task)
        depth = 1 + max(operand.depth for operand in (a, *others))
        return CountedScalar(self, constant=False, task=self._task, depth=depth)


class CountedScalar:
    """A value of unknown size that enters every operation on it into an `OperationCounter`.

    Attributes:
        constant: True when it depends on parameters alone.
        task: the step and link in which it was computed, None for an input.
        depth: length of the longest chain of operations behind it.
    """

    __slots__ = ("constant", "counter", "depth", "task")

    def __init__(self, counter: OperationCounter, *, constant: bool, task: Task | None, depth: int) -> None:
        self.counter = counter
        self.constant = constant
        self.task = task
        self.depth = depth

    def __neg__(self) -> CountedScalar:
        return self

    def __add__(self, other: Scalar) -> Scalar:
        if not isinstance(other, CountedScalar) and other == 0:
            return self
        return self.counter.combine(self, other, product=False)

    __radd__ = __sub__ = __rsub__ = __add__

    def __mul__(self, other: Scalar) -> Scalar:
        if not isinstance(other, CountedScalar):
            if other == 0:
                return 0.0
            if abs(other) == 1:
                return self
        return self.counter.combine(self, other, product=True)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Schedule:
    """Steps that remain when independent tasks run at the same time (one processor for each task).

    Attributes:
        multiplications: along the chain of tasks with the most multiplications.
        additions: along the chain of tasks with the most additions.
    """

    multiplications: int
    additions: int


def concurrent_steps(tasks: Mapping[Task, Tally], feeds: Mapping[Task, set[Task]]) -> Schedule:
    """Longest chains of tasks that wait for one another, counted in multiplications and in additions."""
    finished: dict[Task, tuple[int, int]] = {}
    waiting = list(tasks)
    while waiting:
        ready = [task for task in waiting if all(f in finished for f in feeds.get(task, ()))]
        if not ready:
            raise ValueError(f"tasks wait for one another: {waiting}")
        for task in ready:
            before = [finished[f] for f in feeds.get(task, ())]
            finished[task] = (
                max((b[0] for b in before), default=0) + tasks[task].multiplications,
                max((b[1] for b in before), default=0) + tasks[task].additions,
            )
        waiting = [task for task in waiting if task not in finished]
    return Schedule(
        multiplications=max((f[0] for f in finished.values()), default=0),
        additions=max((f[1] for f in finished.values()), default=0),
    )
