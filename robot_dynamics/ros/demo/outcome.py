"""What a demonstration leaves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """The result of one demonstration.

    Attributes:
        failure: what missed its limit, in words; empty when nothing did.
        table: short, for people.
        figures: everything in numbers.
        files: plots.
    """

    failure: str
    table: str
    figures: dict[str, object]
    files: list[Path]

    @property
    def passed(self) -> bool:
        """Whether everything was within its limits."""
        return not self.failure
