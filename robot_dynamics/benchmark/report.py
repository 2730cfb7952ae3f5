"""The benchmark's table and plot."""

from __future__ import annotations

from pathlib import Path

from robot_dynamics.benchmark.run import ArmTimes, Results
from robot_dynamics.report.plots import blank_figure

OURS = "robot_dynamics"


def table(results: Results) -> str:
    """The results as a Markdown table: nanoseconds per state, and how many times ours is faster."""
    lines = [", ".join(f"{key} {value}" for key, value in results.machine.items()), ""]
    lines += ["| arm | quantity | library | ns per state | ns per joint | ratio to ours |"]
    lines += ["|---|---|---|---:|---:|---:|"]
    for arm in results.arms:
        for quantity, seconds in arm.seconds.items():
            for name, value in seconds.items():
                ratio = value / seconds[OURS]
                lines.append(
                    f"| {arm.name} ({arm.joints}) | {quantity} | {name} | {value * 1e9:.0f} |"
                    f" {value * 1e9 / arm.joints:.1f} | {ratio:.2f} |"
                )
    lines.append("")
    for arm in results.arms:
        times_faster = loop_ratio(arm)
        if times_faster is not None:
            lines.append(
                f"- {arm.name}: a state of a batch takes 1/{times_faster:.0f} of one `pinocchio.rnea` call;"
                f" {arm.operations[0]} multiplications, {arm.operations[1]} additions."
            )
    lines += [f"- {key}, arm7: {value * 1e3:.0f} ms." for key, value in results.build_seconds.items()]
    reasons = {f"{name}: {reason}" for arm in results.arms for name, reason in arm.left_out.items()}
    lines += [f"- Left out: {reason.splitlines()[0]}." for reason in sorted(reasons)]
    return "\n".join(lines)


def loop_ratio(arm: ArmTimes) -> float | None:
    """How many times a batch is faster per state than calling ``pinocchio.rnea`` in a loop."""
    single = arm.seconds["inverse dynamics, one state"].get("Pinocchio")
    return None if single is None else single / arm.seconds["inverse dynamics, batch"][OURS]


def plot(results: Results, path: Path) -> None:
    """Time per state and per joint over the number of joints."""
    arms = [arm for arm in results.arms if arm.name.startswith("random")]
    figure = blank_figure(11.0, 4.6, "Inverse dynamics of random arms with n revolute joints")
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
            per_joint.semilogy([n for n, _ in points], [t / n for n, t in points], marker, label=label, ms=4)
    per_state.set_ylabel("ns per state")
    per_joint.set_ylabel("ns per state and joint")
    for axes in (per_state, per_joint):
        axes.set_xlabel("joints")
        axes.grid(True, which="both", alpha=0.3)
    per_joint.legend(fontsize=7)
    figure.savefig(path, dpi=120)
