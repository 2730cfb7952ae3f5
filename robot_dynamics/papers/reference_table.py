"""The counts of the reference models and of the Stewart platform, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from robot_dynamics.codegen.program import CONVENTION
from robot_dynamics.papers.dasgupta.machines import StewartCount
from robot_dynamics.papers.reference_models import REFERENCE_MODELS, ReferenceCount

_NOTES = (
    "Generated with the objective 'operations' (also sines and cosines of sums and doubles of joint angles)"
    " and with 'joint-angles' (own sin, cos only); robot_dynamics generate takes either with --objective."
    " Numbers are generic: no two lengths or inertial parameters are equal."
)


def reference_table(counts: Sequence[ReferenceCount]) -> str:
    """The counts as text, with the convention by which they are counted."""
    draws = counts[0].draws
    worst_of = f"worst of {draws}" if draws else ""
    head = f"{'model':<30}{'elsewhere':>17}{'generated':>17}{'own sin, cos only':>20}{worst_of:>15}"
    lines = [f"Counted so: {CONVENTION}.", head]
    for row in counts:
        elsewhere = _sum(row.reference.multiplications, row.reference.additions)
        found = _sum(row.count.multiplications, row.count.additions)
        plain = _sum(row.joint_angles_only.multiplications, row.joint_angles_only.additions)
        worst = "" if row.worst is None else f"{row.worst[0]}, {row.worst[1]}"
        lines.append(f"{row.reference.name:<30}{elsewhere:>17}{found:>17}{plain:>20}{worst:>15}")
    for published in (True, False):
        of = [model for model in REFERENCE_MODELS if model.published is published]
        for source in dict.fromkeys(model.source for model in of):
            names = "; ".join(f"{model.total} ({model.name})" for model in of if model.source == source)
            lines.append(f"Elsewhere, {'published' if published else 'not published'}: {names}: {source}.")
    if draws:
        lines.append(
            f"Worst of {draws}: the same choices with {draws} random draws of lengths and inertial parameters"
            " of either sign."
        )
    return "\n".join([*lines, _NOTES])


def stewart_table(counts: Sequence[StewartCount]) -> str:
    """The counts of the Stewart platform's generated model."""
    lines = [f"{'Stewart platform':<44}{'frictionless':>14}{'with friction':>15}"]
    lines += [f"{row.name:<44}{row.without.total:>14}{row.with_friction.total:>15}" for row in counts]
    return "\n".join(lines)


def as_documents(
    counts: Sequence[ReferenceCount], stewart: Sequence[StewartCount]
) -> dict[str, list[dict[str, Any]]]:
    """The same for programs."""
    return {
        "generated_reference_models": [_arm(row) for row in counts],
        "generated_stewart_models": [
            {"model": row.name, "frictionless": asdict(row.without), "friction": asdict(row.with_friction)}
            for row in stewart
        ],
    }


def _arm(row: ReferenceCount) -> dict[str, Any]:
    model = row.reference
    return {
        "model": model.name,
        "elsewhere": {
            "multiplications": model.multiplications,
            "additions": model.additions,
            "source": model.source,
            "published": model.published,
        },
        "generated": asdict(row.count),
        "generated_with_joint_angles_only": asdict(row.joint_angles_only),
        "draws": row.draws,
        "worst": None
        if row.worst is None
        else {"generated": row.worst[0], "joint_angles_only": row.worst[1]},
    }


def _sum(multiplications: int, additions: int) -> str:
    return f"{multiplications}* {additions}+ = {multiplications + additions}"
