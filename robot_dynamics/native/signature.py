"""Inputs and outputs of a compiled function."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Input:
    """An array of a call: (size,) for one state, (N, size) for N states.

    Attributes:
        name: of the argument.
        size: number of entries.
        meaning: what an array of the right shape holds, for messages.
        entries: what the entries are called in messages; where empty they are numbered.
    """

    name: str
    size: int
    meaning: str = ""
    entries: tuple[str, ...] = ()

    def entry(self, index: int) -> str:
        """Name of entry ``index``."""
        return self.entries[index] if self.entries else f"entry {index}"


@dataclass(frozen=True)
class Signature:
    """The arrays of a function. A call gives the states, then the optional inputs, then ``out``.

    A function with k optional inputs has up to 2^k kernels, one for every choice of those that are given. A
    kernel's inputs are the states, the optional inputs that are given, and the constants.

    Attributes:
        name: of the function.
        states: what every call gives, all for one state or all for equally many.
        outputs: shape of every output for one state; one array is returned, or a tuple of several.
        optional: what a call may leave out; one row may stand for all states.
        constants: one row for all states; the function keeps it and no call gives it.
        singular: what it means that a result is not finite although the inputs are, raised as
            SingularityError; where empty, the inputs are too large.
    """

    name: str
    states: tuple[Input, ...]
    outputs: tuple[tuple[int, ...], ...]
    optional: tuple[Input, ...] = ()
    constants: tuple[Input, ...] = ()
    singular: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments of a call, in order."""
        return (*(array.name for array in (*self.states, *self.optional)), "out")
