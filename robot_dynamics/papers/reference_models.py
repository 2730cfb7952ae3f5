"""The arms whose operation counts are published, and the counts that the generator reaches for them.

The inertial parameters are generic numbers: a count then holds for symbolic parameters, since no two of them
are equal, opposite or zero by chance. Only the zeros that the models state are zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.codegen.program import CONVENTION, OperationCount, count_operations
from robot_dynamics.dynamics.generator.api import generate
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.serial_model import SerialModel

_QUARTER = math.pi / 2.0
_INERTIA = ("XX", "XY", "XZ", "YY", "YZ", "ZZ")
_BASE = "XX XY XZ YZ ZZ MX MY"


@dataclass(frozen=True)
class ReferenceModel:
    """An arm with a published operation count for its inverse dynamics.

    Attributes:
        name: of the arm and its parameter set.
        make: builds it.
        multiplications, additions: the smallest count known from elsewhere.
        source: where that count comes from.
    """

    name: str
    make: Callable[[], SerialModel]
    multiplications: int
    additions: int
    source: str


@dataclass(frozen=True)
class ReferenceCount:
    """What the generator reaches for a reference model.

    Attributes:
        reference: the model and its published count.
        count: fewest operations found.
        joint_angles_only: fewest operations when only the joints' own sines and cosines are used.
    """

    reference: ReferenceModel
    count: OperationCount
    joint_angles_only: OperationCount


def renaud_arm() -> SerialModel:
    """Renaud's example with six revolute joints: centers of mass on frame axes, no products of inertia."""
    values = _generic_values()
    moments = (2, 0, 1, 2, 1, 2)
    return SerialModel.from_dh(
        alpha=(0.0, _QUARTER, 0.0, _QUARTER, -_QUARTER, _QUARTER),
        a=(0.0, 0.0, 0.47, 0.0, 0.0, 0.0),
        r=(0.0, 0.0, 0.0, 0.61, 0.0, 0.0),
        mass=[next(values) for _ in range(6)],
        first_moment=[next(values) * np.eye(3)[axis] for axis in moments],
        inertia=[np.diag([next(values), next(values), next(values)]) for _ in range(6)],
    )


def rx90_simplified() -> SerialModel:
    """Stäubli RX-90 with the simplified set of parameters."""
    return _rx90(("ZZ", "XX XZ ZZ MX", "XX ZZ MY", "XX ZZ", "XX ZZ MY", "XX ZZ"))


def rx90_base() -> SerialModel:
    """Stäubli RX-90 with its 36 base parameters."""
    return _rx90(("ZZ", *[_BASE] * 5))


def puma560_base() -> SerialModel:
    """PUMA 560 with its 36 base parameters."""
    return _arm(
        alpha=(0.0, -_QUARTER, 0.0, -_QUARTER, _QUARTER, -_QUARTER),
        a=(0.0, 0.0, 0.4318, 0.0203, 0.0, 0.0),
        r=(0.0, 0.0, 0.15005, 0.4318, 0.0, 0.0),
        names=("ZZ", *[_BASE] * 5),
    )


REFERENCE_MODELS = (
    ReferenceModel(
        "Renaud's 6R example",
        renaud_arm,
        164,
        115,
        "Renaud 1987, after regrouping by hand",
    ),
    ReferenceModel("RX-90, simplified set", rx90_simplified, 160, 109, "SymPyBotics"),
    ReferenceModel("RX-90, 36 base parameters", rx90_base, 286, 226, "SymPyBotics"),
    ReferenceModel("PUMA 560, 36 base parameters", puma560_base, 301, 240, "SymPyBotics"),
)


def reference_counts(effort: str = "high") -> list[ReferenceCount]:
    """Count the generated inverse dynamics of every reference model, by ``program.CONVENTION``."""
    counts = []
    for reference in REFERENCE_MODELS:
        model = reference.make()
        fewest, joint_angles = (
            count_operations(generate(model, objective=objective, effort=effort))
            for objective in (Objective.OPERATIONS, Objective.JOINT_ANGLES)
        )
        counts.append(ReferenceCount(reference, fewest, joint_angles))
    return counts


def reference_table(effort: str = "high") -> str:
    """The counts as text, with the convention by which they are counted."""
    head = f"{'model':<30}{'published':>16}{'generated':>16}{'own sin, cos only':>20}"
    lines = [f"Counted so: {CONVENTION}.", head]
    for row in reference_counts(effort):
        published = _sum(row.reference.multiplications, row.reference.additions)
        found = _sum(row.count.multiplications, row.count.additions)
        plain = _sum(row.joint_angles_only.multiplications, row.joint_angles_only.additions)
        lines.append(f"{row.reference.name:<30}{published:>16}{found:>16}{plain:>20}")
    lines.append("Published: " + "; ".join(f"{r.name}: {r.source}" for r in REFERENCE_MODELS) + ".")
    lines.append(
        "Generated programs take sines and cosines of sums and doubles of joint angles as well; the last"
        " column takes those of the joint angles alone."
    )
    return "\n".join(lines)


def _sum(multiplications: int, additions: int) -> str:
    return f"{multiplications}* {additions}+ = {multiplications + additions}"


def _rx90(names: Sequence[str]) -> SerialModel:
    return _arm(
        alpha=(0.0, _QUARTER, 0.0, -_QUARTER, _QUARTER, -_QUARTER),
        a=(0.0, 0.0, 0.45, 0.0, 0.0, 0.0),
        r=(0.0, 0.0, 0.0, 0.57, 0.0, 0.0),
        names=names,
    )


def _arm(alpha: Sequence[float], a: Sequence[float], r: Sequence[float], names: Sequence[str]) -> SerialModel:
    """An arm whose parameters are zero but for those named, link by link."""
    values = _generic_values()
    sets: list[Mapping[str, float]] = [{name: next(values) for name in link.split()} for link in names]
    return SerialModel.from_dh(
        alpha=alpha,
        a=a,
        r=r,
        mass=[0.0] * len(sets),
        first_moment=[[link.get(name, 0.0) for name in ("MX", "MY", "MZ")] for link in sets],
        inertia=[[link.get(name, 0.0) for name in _INERTIA] for link in sets],
    )


def _generic_values() -> Iterator[float]:
    """Numbers between 0.3 and 2.3 that have nothing in common (multiples of the golden section)."""
    k = 0
    while True:
        k += 1
        yield 0.3 + 2.0 * math.fmod(k * 0.6180339887498949, 1.0)


if __name__ == "__main__":
    print(reference_table())
