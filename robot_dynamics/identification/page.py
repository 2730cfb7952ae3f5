"""The report of an identification: one HTML file with its plots inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.dynamics.friction import PARAMETERS, DriveFriction
from robot_dynamics.errors import shown
from robot_dynamics.identification.plausibility import implausibilities
from robot_dynamics.identification.result import DEVIATIONS, WELL_KNOWN, Comparison, Identification
from robot_dynamics.model.chain import JointKind
from robot_dynamics.report.pages import Bar, rendered
from robot_dynamics.report.plots import blank_figure, legend_below, panels, picture
from robot_dynamics.spatial import Array

BELIEVABLE = 0.1
"""Standard deviation of a parameter that is believed, as a share of its value."""
SMALL_RANGE = 0.5
"""Share of a joint's range below which more of it is worth a run."""
POOR = 0.3
"""Relative error of a joint's efforts from which the drawing shows it red."""
_DOTS = 4000
_ROUNDING = 1e-9
"""Share of its standard deviation below which a described base parameter is what sums left of zero."""

_UNITS = {
    "rotor_inertia": "rotor inertia [kg·m²]",
    "damping": "damping [N·m·s]",
    "friction": "Coulomb friction [N·m]",
    "static_friction": "static friction [N·m]",
    "stribeck_velocity": "Stribeck velocity [rad/s]",
    "friction_offset": "more forwards, less backwards [N·m]",
    "load_friction": "friction per load",
    "presliding_friction": "of it builds up after a reversal [N·m]",
    "presliding_travel": "travel over which it does [rad]",
}


def page(found: Identification) -> str:
    """The report as HTML without anything from outside."""
    summary = found.summary()
    doubts = implausibilities(found)
    runs = [("Learned from", run) for run in found.learn] + [
        ("Validated with", run) for run in found.validate
    ]
    return rendered(
        "identification/page.html.j2",
        title=f"Identification of {found.chain.name}",
        summary=f"Mounted tool: {found.tool}." if found.tool else "",
        doubts=doubts,
        verdict="This result is implausible." if doubts else _verdict(summary),
        findings=list(_findings(found, summary)),
        advice=list(_advice(found, summary)),
        held_out=summary.get("held_out") or "the runs to validate with",
        bars=_bars(found, summary),
        drawing=[_drawing(found, summary)],
        joints=_joints(found, summary),
        drives=_drives(found, summary),
        friction=_friction_pictures(found),
        links=_links(found, summary["links"]),
        remarks=list(_remarks(found, summary)),
        runs=[{"title": f"{kind} {run.source}", "pictures": _plots(found, run)} for kind, run in runs],
        base=_base(found) if found.base else None,
    )


def _verdict(summary: dict[str, Any]) -> str:
    errors = summary["error"]
    after, kind = errors["validate"], "held-out"
    if after is None:
        after, kind = errors["learn"], "learned"
    before = _percent(errors["prior"])
    return f"The {kind} efforts are missed by {_percent(after)}; the description misses {before}."


def _findings(found: Identification, summary: dict[str, Any]) -> Iterator[str]:
    """Verdict: gain, joints, and parameters to believe."""
    worse = summary["not_better"]
    better = [name for name in summary["joints"] if name not in worse]
    yield f"Better than the description: {shown(*better) or 'no joint'}."
    if worse:
        yield f"Not better than the description: {shown(*worse)}."
    if found.kept:
        yield f"Kept as described, because the data tell them no better: {shown(*found.kept)}."
    if summary["expected_error"] is not None:
        yield (
            f"Over the whole workspace efforts may be off by {_percent(summary['expected_error'])}, by the"
            f" description {_percent(summary['expected_prior_error'])} (one standard deviation)."
        )
    believed = [
        f"{joint}.{name}"
        for name, deviations in summary["friction_deviation"].items()
        for joint, value, deviation in zip(
            summary["joints"], summary["friction"][name], deviations, strict=True
        )
        if deviation is not None and 0.0 < deviation < BELIEVABLE * abs(value)
    ]
    if believed:
        yield f"To believe within {100.0 * BELIEVABLE:g} %: {shown(*believed)}."
    known = [entry for entry in found.base if entry.deviation < BELIEVABLE * abs(entry.least_squares)]
    if found.base:
        yield f"Of {len(found.base)} base parameters {len(known)} are known within {100.0 * BELIEVABLE:g} %."
    if summary["from_description"]:
        yield f"From the description, as no motion determines them: {shown(*summary['from_description'])}."


def _advice(found: Identification, summary: dict[str, Any]) -> Iterator[str]:
    """Advice on the next recording."""
    joints = summary.get("expected_joint_error") or {}
    weak = [name for name, error in joints.items() if DEVIATIONS * error > WELL_KNOWN]
    if weak:
        yield f"Longer, larger and faster motion of {shown(*weak)}: their efforts are known least."
    for j, name in enumerate(summary["joints"]):
        limits = found.chain.driving_joint(j).limits
        ranges = summary["tested"][name]
        whole, fastest = limits.upper - limits.lower, limits.velocity
        parts = []
        if np.isfinite(whole) and whole > 0.0 and np.ptp(ranges["position"]) < SMALL_RANGE * whole:
            parts.append(f"{100.0 * np.ptp(ranges['position']) / whole:.0f} % of its range")
        speed = float(np.abs(ranges["velocity"]).max())
        if np.isfinite(fastest) and fastest > 0.0 and speed < SMALL_RANGE * fastest:
            parts.append(f"{100.0 * speed / fastest:.0f} % of its speed")
        if parts:
            yield f"{name} was tested in {' and '.join(parts)} only."
    if len(found.learn) == 1:
        yield (
            "A second, different motion at half the speed. In simulation two such runs left half of the error"
            " of one run of the same length in all (median); on 5 of 14 robots they were no better."
        )


def _bars(found: Identification, summary: dict[str, Any]) -> list[Bar]:
    """Largest effort of each joint in what was held out, and its limit."""
    bars = []
    for j, name in enumerate(summary["joints"]):
        joint = found.chain.driving_joint(j)
        largest = float(np.abs(summary["tested"][name]["effort"]).max())
        unit = "N" if joint.kind is JointKind.PRISMATIC else "N·m"
        bars.append(Bar.of(shown(name), largest, joint.limits.effort or np.inf, unit))
    return bars


def _drawing(found: Identification, summary: dict[str, Any]) -> dict[str, str]:
    """The arm where its positions were on average; its joints from green to red by the error that is left."""
    chain = found.chain
    places = chain.link_poses(
        np.array([np.mean(summary["tested"][n]["position"]) for n in chain.joint_names])
    )
    figure = blank_figure(4.6, 3.9, "")
    axes: Any = figure.add_subplot(projection="3d")
    origins = np.array([np.zeros(3), *(place[:3, 3] for place in places)])
    for at, carrier in zip(origins[1:], chain.carriers, strict=True):
        axes.plot(*np.array([origins[carrier + 1], at]).T, color="#57606a", lw=3.0)
    for tip in chain.tips:
        end = (places[tip.joint] @ tip.transform)[:3, 3]
        axes.plot(*np.array([origins[tip.joint + 1], end]).T, color="#57606a", lw=3.0)
    for joint, at in zip(chain.joints, origins[1:], strict=True):
        name = chain.joint_names[joint.coordinate]
        error = summary["joint_error"][name]
        known = error is not None and np.isfinite(error)
        color = _shade(min(1.0, error / POOR)) if known else "#8c959f"
        axes.plot(*at, "o", color=color, ms=9.0, mec="#1b1f24")
        axes.text(*at, f"  {name}".replace("$", ""), fontsize=7)
    middle, half = 0.5 * (origins.max(axis=0) + origins.min(axis=0)), 0.55 * np.ptp(origins, axis=0).max()
    for set_limits, center in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), middle, strict=True):
        set_limits(center - half, center + half)
    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=0.9)
    for set_label, letter in zip((axes.set_xlabel, axes.set_ylabel, axes.set_zlabel), "xyz", strict=True):
        set_label(f"{letter} [m]", fontsize=8)
    axes.tick_params(labelsize=7)
    return picture(figure, f"Joints by their error, green for none, red from {100.0 * POOR:g} %")


def _shade(share: float) -> tuple[float, float, float]:
    """Colour from green by yellow to red, of 0 to 1."""
    return (min(1.0, 2.0 * share), min(1.0, 2.0 - 2.0 * share), 0.15)


def _joints(found: Identification, summary: dict[str, Any]) -> dict[str, Any]:
    header = ["joint", "before", "after", "before, at rest", "after, at rest", "workspace"]
    header += ["position [rad or m]", "velocity [per s]", "effort [N·m or N]"]
    rows = []
    expected = summary.get("expected_joint_error") or {}
    for name in summary["joints"]:
        after = _percent(summary["joint_error"][name])
        over = name in summary["not_better"]
        tested = summary["tested"][name]
        rows.append(
            [
                name,
                _percent(summary["prior_joint_error"][name]),
                {"style": "over", "text": after} if over else after,
                _percent(summary["prior_joint_error_at_rest"][name]),
                _percent(summary["joint_error_at_rest"][name]),
                _percent(expected.get(name)),
                *(
                    f"{low:.3g} to {high:.3g}"
                    for low, high in (tested["position"], tested["velocity"], tested["effort"])
                ),
            ]
        )
    return {"header": header, "rows": rows}


def _drives(found: Identification, summary: dict[str, Any]) -> dict[str, Any]:
    values, deviations = summary["friction"], summary["friction_deviation"]
    header = ["joint", *(_UNITS[key] for key in values), "torque offset [N·m], never commanded"]
    rows = []
    for j, name in enumerate(summary["joints"]):
        cells = []
        for key, unlike in (
            *((key, True) for key in values if key not in _OPTIONAL),
            *((key, bool(seen[j])) for key, seen in _seen(found).items() if key in values),
        ):
            if not unlike:
                cells.append("none seen")
            elif key in ("stribeck_velocity", "presliding_travel"):
                cells.append(f"{values[key][j]:.4g}")
            else:
                cells.append(_determined(values[key][j], deviations[key][j]))
        held = f"{name}.torque_offset" in found.held
        offset = "not determined" if held else f"{summary['torque_offset'][name]:.4g}"
        rows.append([name, *cells, offset])
    return {"header": header, "rows": rows}


_OPTIONAL = (
    "static_friction", "stribeck_velocity", "friction_offset", "load_friction", "presliding_friction",
    "presliding_travel",
)  # fmt: skip


def _seen(found: Identification) -> dict[str, Any]:
    """True for joints with parameters that not every law of friction has, (n,) each."""
    law = found.law
    curved, slides = law.stribeck_velocity > 0.0, law.presliding_travel > 0.0
    seen = (curved, curved, law.asymmetric, law.loaded, slides, slides)
    return dict(zip(_OPTIONAL, seen, strict=True))


def _determined(value: float, deviation: float | None) -> str:
    if deviation is None:
        return f"not determined ({value:.4g})"
    return f"{value:.4g} ± {1.96 * deviation:.2g}" if value else f"0, at most {1.96 * deviation:.2g}"


def _links(found: Identification, links: dict[str, Any]) -> dict[str, Any]:
    rows = []
    for prior, joint in zip(found.prior.joints, found.chain.joints, strict=True):
        deviation = links[joint.link]["deviation"]
        center = ", ".join(f"{value:.4f}" for value in joint.body.center_of_mass)
        before = ", ".join(f"{value:.4f}" for value in prior.body.center_of_mass)
        mass = _with_deviation(joint.body.mass, deviation["mass"])
        rows.append([joint.link, f"{prior.body.mass:.4g}", mass, before, center])
    header = ["link", "mass before [kg]", "mass, 95 % [kg]", "centre before [m]", "centre [m]"]
    return {"header": header, "rows": rows}


def _with_deviation(value: float, deviation: float | None) -> str:
    if deviation is None:
        return f"not determined ({value:.4g}, with the prior from the description)"
    return f"{value:.4g} ± {1.96 * deviation:.2g}"


def _remarks(found: Identification, summary: dict[str, Any]) -> Iterator[str]:
    described = sum(joint.body.mass for joint in found.prior.joints)
    yield (
        f"Total mass of the moving links: {summary['total_mass']:.4g} kg, by the description"
        f" {described:.4g} kg. Weight of the prior: {found.prior_weight:.3g}."
    )
    for tip, payload in found.payloads.items():
        center = ", ".join(f"{value:.4g}" for value in payload.center_of_mass)
        yield f"Payload: {payload.mass:.4g} kg, centre ({center}) m in the frame of the tip {tip}."
    if found.held:
        yield f"No motion separates from the links: {shown(*found.held)}; as given, or shared."
    if found.not_excited:
        yield f"Not excited, so mostly as in the description: {shown(*found.not_excited)}."


def _base(found: Identification) -> dict[str, Any]:
    rows = [
        [
            entry.name,
            _beside(entry.prior, entry.deviation),
            f"{entry.least_squares:.4g} ± {1.96 * entry.deviation:.2g}",
            _beside(entry.result, entry.deviation),
        ]
        for entry in sorted(found.base, key=lambda entry: entry.name)
    ]
    return {"header": ["named after", "description", "least squares, 95 %", "result"], "rows": rows}


def _beside(value: float, deviation: float) -> str:
    """A value beside one of this deviation; zero where only rounding is left."""
    return f"{value if abs(value) > _ROUNDING * deviation else 0.0:.4g}"


def _plots(found: Identification, run: Comparison) -> list[dict[str, str]]:
    names = found.chain.joint_names
    efforts, grid = panels(len(names), "Effort: measured and predicted", "N·m")
    residuals, lower = panels(len(names), "Residual: measured less predicted", "N·m")
    for j, name in enumerate(names):
        grid[j].plot(run.time, run.measured[:, j], lw=1.6, alpha=0.5, label="measured")
        grid[j].plot(run.time, run.predicted[:, j], "k", lw=0.8, label="identified")
        grid[j].plot(run.time, run.prior[:, j], "tab:red", lw=0.6, label="description")
        lower[j].plot(run.time, run.measured[:, j] - run.predicted[:, j], lw=0.8)
        for axes in (grid[j], lower[j]):
            axes.set_title(name, fontsize="medium")
    legend_below(efforts, grid[0])
    return [picture(efforts, "Efforts"), picture(residuals, "Residuals")]


def _friction_pictures(found: Identification) -> list[dict[str, str]]:
    """Friction against speed, and dry friction against the load, of all runs."""
    names, runs = found.chain.joint_names, [*found.learn, *found.validate]
    if found.payloads:
        return []
    known = found.drives.keys() & set(PARAMETERS)
    law = DriveFriction(**{name: found.drives[name] for name in known})
    curved = law.stribeck_velocity > 0.0
    law = replace(law, stribeck_velocity=np.where(curved, law.stribeck_velocity, 0.1))

    def all_of(name: str) -> Array:
        return np.concatenate([getattr(run, name) for run in runs])

    speed, load = all_of("velocity"), all_of("load")
    moving = np.concatenate([run.moving & run.usable for run in runs])
    rubbed = all_of("measured") - all_of("rigid") - found.drives["torque_offset"]
    by_speed, upper = panels(len(names), "Friction against speed", "N·m", over="speed [rad/s or m/s]")
    title = "Dry friction along the motion against the load"
    by_load, lower = panels(len(names), title, "N·m", over="load [N·m or N]")
    step = max(1, len(speed) // _DOTS)
    for j, name in enumerate(names):
        rows = np.flatnonzero(moving[:, j])[::step]
        v, size = speed[rows, j], np.abs(load[rows, j])
        upper[j].plot(v, rubbed[rows, j], ".", ms=1.5, alpha=0.4)
        grid = np.linspace(v.min(), v.max(), 400) if len(v) else np.zeros(2)
        middle = np.median(size) if len(v) else 0.0
        upper[j].plot(grid, _of(law, j).effort(grid, load=np.full_like(grid, middle)), "k", lw=1.2)
        dry = (rubbed[rows, j] - law.damping[j] * v) * np.sign(v)
        lower[j].plot(size, dry, ".", ms=1.5, alpha=0.4)
        ends = np.array([size.min(), size.max()]) if len(v) else np.zeros(2)
        typical = np.full(2, np.median(np.abs(v)) if len(v) else 0.0)
        lower[j].plot(ends, _of(law, j).dry_size(typical, np.ones(2), ends), "k", lw=1.2)
        for axes in (upper[j], lower[j]):
            axes.set_title(name, fontsize="medium")
    return [picture(by_speed, "Friction against speed"), picture(by_load, "Dry friction against the load")]


def _of(law: DriveFriction, joint: int) -> DriveFriction:
    """The law of one joint."""
    return DriveFriction(*law.matrix[joint])


def _percent(share: float | None) -> str:
    return "–" if share is None or not np.isfinite(share) else f"{100.0 * share:.2f} %"
