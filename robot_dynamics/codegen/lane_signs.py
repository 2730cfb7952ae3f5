"""Signs of lanes as linear forms of unknown bits, which sums of vectors tie together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Forms: TypeAlias = tuple[int, ...]
"""Of every lane behind the first: its sign relative to the first lane's. Bit 0 is a constant, bit k is the
unknown k. Forms are added by exclusive or."""
Signs: TypeAlias = tuple[int, ...]
"""Of every lane 1 where its scalar is stored negated."""


class LaneSigns:
    """Equations between signs, solved one after the other."""

    def __init__(self) -> None:
        self._count = 0
        # An unknown is replaced by a form of unknowns with smaller numbers.
        self._solved: dict[int, int] = {}

    def unknown(self, lanes: int) -> Forms:
        """Signs that can be chosen, of a vector of so many lanes."""
        first = self._count + 1
        self._count += lanes - 1
        return tuple(1 << k for k in range(first, first + lanes - 1))

    def made_equal(self, a: Forms, b: Forms) -> Signs:
        """Choose unknowns such that two vectors have the same signs.

        Returns:
            For every lane, the first included, 1 where that is not possible.
        """
        different = [0]
        for difference in added(a, b):
            left = self._reduced(difference)
            if left > 1:
                highest = left.bit_length() - 1
                self._solved[highest] = left ^ (1 << highest)
                left = 0
            different.append(left)
        return tuple(different)

    def values(self, forms: Forms) -> Signs:
        """The signs of every lane, the first included, when unknowns that are still free are zero."""
        return (0, *(self._reduced(form) & 1 for form in forms))

    def _reduced(self, form: int) -> int:
        left, kept = form, 0
        while left > 1:
            highest = left.bit_length() - 1
            left ^= 1 << highest
            if highest in self._solved:
                left ^= self._solved[highest]
            else:
                kept |= 1 << highest
        return kept | left


def added(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """Signs, or forms, of a product."""
    return tuple(x ^ y for x, y in zip(a, b, strict=True))


def relative(signs: Sequence[int]) -> Forms:
    """Signs as constant forms: relative to that of the first lane."""
    return tuple(sign ^ signs[0] for sign in signs[1:])
