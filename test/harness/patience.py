"""Time limits of tests: every limit stands here, and the variable RD_PATIENCE multiplies them all.

A limit only bounds a failure. A passing test waits for a condition and never so long, so that the limits are
wide enough for a machine with several times more to do than it has cores.
"""

from __future__ import annotations

import math
import os


def _scale() -> float:
    text = os.environ.get("RD_PATIENCE", "1")
    try:
        scale = float(text)
    except ValueError:
        scale = math.nan
    if not (math.isfinite(scale) and scale > 0.0):
        raise ValueError(
            f"RD_PATIENCE is {text!r}; it must be a number above 0, by which limits are multiplied"
        )
    return scale


PATIENCE = 120.0 * _scale()
"""Longest wait for anything that a node or a program shall do [s]."""

LONG_PATIENCE = 3.0 * PATIENCE
"""Longest wait for a whole demonstration, or for a browser that draws in software [s]."""

RESEND = 10.0 * _scale()
"""After this time without an answer a request may be lost, and is sent again if that does no harm [s]."""

REPEAT = 0.5
"""Between two tries of a message that goes best effort [s]."""

RETYPE = 2.0
"""After this time a person types again what a page has not taken [s]."""

POLL = 0.02
"""Between two looks at something that tells nobody when it changes [s]."""
