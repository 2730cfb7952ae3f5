"""The benchmark's table and plot."""

from __future__ import annotations

from pathlib import Path

from robot_dynamics.benchmark.run import BenchmarkResults
from robot_dynamics.report.plots import blank_figure, save

OURS = "robot_dynamics"
BESIDE = "our inverse dynamics"
"""Beginning of the names of this package's times with which others are compared."""


def table(results: BenchmarkResults) -> str:
    """The results as Markdown: nanoseconds per state, and how many times ours is faster."""
    lines = [", ".join(f"{key} {value}" for key, value in results.machine.items()), ""]
    for quantity in dict.fromkeys(quantity for arm in results.arms for quantity in arm.seconds):
        lines += [*_quantity_table(results, quantity), ""]
    lines += [*_related_table(results), ""]
    lines += [f"- {key}, arm7: {value * 1e3:.0f} ms" for key, value in results.build_seconds.items()]
    for arm, uses in results.first_uses.items():
        times = ", ".join(f"{quantity.replace('_', ' ')} {spent:.1f} s" for quantity, spent in uses.items())
        lines.append(f"- processor time to generate and compile, {arm}: {times}")
    reasons = {f"{name}: {reason}" for arm in results.arms for name, reason in arm.left_out.items()}
    lines += [f"- left out: {reason.splitlines()[0]}" for reason in sorted(reasons)]
    return "\n".join(lines)


def _quantity_table(results: BenchmarkResults, quantity: str) -> list[str]:
    arms = [arm for arm in results.arms if quantity in arm.seconds]
    timed = dict.fromkeys(name for arm in arms for name in arm.seconds[quantity])
    names = [name for name in timed if not name.startswith(BESIDE)]
    inverse = quantity.startswith("inverse dynamics,")
    batch = quantity.endswith("batch")
    heads = ["arm", "joints", *(["× +"] if inverse and batch else []), *names]
    heads += ["ours per joint"] if inverse else []
    heads += ["a Python loop over Pinocchio"] if inverse and batch else []
    lines = [f"**{quantity}** [ns per state; in brackets: times ours]", ""]
    lines += ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for arm in arms:
        seconds = arm.seconds[quantity]
        cells = [arm.name, str(arm.joints)]
        cells += [f"{arm.operations[0]} {arm.operations[1]}"] if inverse and batch else []
        cells += [_cell(seconds.get(name), None if name == OURS else seconds[OURS]) for name in names]
        cells += [f"{1e9 * seconds[OURS] / arm.joints:.1f}"] if inverse else []
        if inverse and batch:
            one_by_one = arm.seconds["inverse dynamics, one state"].get("Pinocchio")
            cells.append(_cell(one_by_one, seconds[OURS]))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _related_table(results: BenchmarkResults) -> list[str]:
    """Derivatives and momentum in terms of our own inverse dynamics of the same rounds, like with like."""
    alike = {"call": "", "call with out=": ", out=", "kernel, called from C": ", kernel"}
    lines = [
        "**derivatives and momentum** [times our own inverse dynamics, called the same way]",
        "",
    ]
    lines += ["| arm | quantity | " + " | ".join(alike) + " |", "|---|---" + "|---:" * len(alike) + "|"]
    for arm in results.arms:
        for quantity, seconds in arm.seconds.items():
            if BESIDE in seconds:
                ratios = [
                    f"{seconds[OURS + way] / seconds[BESIDE + way]:.2f}" if OURS + way in seconds else "–"
                    for way in alike.values()
                ]
                cells = [arm.name, quantity.split(",")[0], *ratios]
                lines.append("| " + " | ".join(cells) + " |")
    return lines


def _cell(seconds: float | None, ours: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{1e9 * seconds:.0f}" + (f" ({seconds / ours:.1f})" if ours is not None else "")


def plot(results: BenchmarkResults, path: Path) -> None:
    """Time per state and per joint over the number of joints."""
    arms = [arm for arm in results.arms if arm.name.startswith("random")]
    figure = blank_figure(11.0, 5.0, "Inverse dynamics of random arms with n revolute joints")
    per_state, per_joint = figure.subplots(1, 2)
    markers = {"inverse dynamics, one state": "o-", "inverse dynamics, batch": "s--"}
    for quantity, marker in markers.items():
        names = dict.fromkeys(name for arm in arms for name in arm.seconds[quantity])
        for name in names:
            points = [
                (arm.joints, 1e9 * arm.seconds[quantity][name])
                for arm in arms
                if name in arm.seconds[quantity]
            ]
            label = f"{name} ({quantity.split(', ')[1]})"
            per_state.loglog([n for n, _ in points], [t for _, t in points], marker, label=label, ms=4)
            per_joint.loglog([n for n, _ in points], [t / n for n, t in points], marker, label=label, ms=4)
    per_state.set_ylabel("ns per state")
    per_joint.set_ylabel("ns per state and joint")
    for axes in (per_state, per_joint):
        axes.set_xlabel("joints")
        axes.set_xticks([arm.joints for arm in arms], [str(arm.joints) for arm in arms], minor=False)
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        axes.grid(True, which="both", alpha=0.3)
    figure.legend(*per_joint.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    save(figure, path, 120)
