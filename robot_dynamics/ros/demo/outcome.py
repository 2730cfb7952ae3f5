"""What a demonstration leaves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """The result of one demonstration.

    Attributes:
        passed: the tracking was within the limit.
        limit: on the largest joint error [rad].
        failure: what missed its limit, in words; empty when nothing did.
        table: short, for people.
        figures: everything in numbers.
        files: plots.
    """

    passed: bool
    limit: float
    failure: str
    table: str
    figures: dict[str, object]
    files: list[Path]
