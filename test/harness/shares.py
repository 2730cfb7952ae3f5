"""Long lists of cases, of which ``make test`` takes a share and ``make test-long`` the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest


def share_of(cases: Mapping[str, Any] | Iterable[Any], each: int = 3, several: bool = False) -> list[Any]:
    """Cases for ``parametrize``: the first one and each so many after it is short, the others are long.

    Args:
        cases: by their names, or without.
        each: of so many one is short.
        several: whether a case is a tuple with a value for each of several arguments.
    """
    named = cases.items() if isinstance(cases, Mapping) else ((None, case) for case in cases)
    return [
        pytest.param(
            *(case if several else (case,)),
            id=name,
            marks=() if k % each == 0 else pytest.mark.long,
        )
        for k, (name, case) in enumerate(named)
    ]
