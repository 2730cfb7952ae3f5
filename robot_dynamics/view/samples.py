"""What is known of a machine at one moment, by joint name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Measured and commanded values of joints (of an arm) or legs (of a platform).

    Attributes:
        time: [s].
        positions: where the joints are [rad or m].
        efforts: what drives them [N·m or N].
        references: where they should be [rad or m]; empty when nobody says.
        errors: reference minus position at one and the same time; empty when unknown.
    """

    time: float
    positions: Mapping[str, float]
    efforts: Mapping[str, float] = field(default_factory=dict)
    references: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
