"""Numbers in text: ASCII decimal and nothing else."""

from __future__ import annotations

import math
import re

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE)


def decimal(text: str) -> float:
    """Number in ``text``, white space around it left aside; ``inf`` and ``nan`` are numbers too.

    Python's ``float`` takes more for a number than people do: ``1_7.4``, Arabic and full-width digits, and
    ``1e400``, which it makes infinite.

    Raises:
        ValueError: "not a number" or "too large for a number".
    """
    word = text.strip(" \t\r\n\f\v")
    if _DECIMAL.fullmatch(word):
        value = float(word)
        if math.isinf(value):
            raise ValueError("too large for a number")
        return value
    if _NOT_FINITE.fullmatch(word):
        return float(word)
    raise ValueError("not a number")
