"""The report of an identification: one HTML file with its plots inside."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.identification.plausibility import implausibilities
from robot_dynamics.identification.result import Comparison, Identification
from robot_dynamics.report.plots import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """body{font:15px/1.45 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.15rem .7rem;text-align:right;border-bottom:1px
solid #ddd}td:first-child,th:first-child{text-align:left}img{max-width:100%}"""

_UNITS = {
    "rotor_inertia": "rotor inertia [kg·m²]",
    "damping": "damping [N·m·s]",
    "friction": "Coulomb friction [N·m]",
    "static_friction": "static friction [N·m]",
    "stribeck_velocity": "Stribeck velocity [rad/s]",
    "friction_offset": "more forwards, less backwards [N·m]",
}


def page(found: Identification) -> str:
    """The report as HTML without anything from outside."""
    summary = found.summary()
    errors = summary["error"]
    parts = [
        f"<h1>Identification of {escape(found.chain.name)}</h1>",
        *_doubts(found),
        *([f"<p>Mounted tool: {escape(found.tool)}.</p>"] if found.tool else []),
        "<p>Errors are ‖predicted − measured‖ / ‖measured‖, both filtered alike.</p>",
        _table(["", "error"], [[key, _percent(errors[key])] for key in ("prior", "learn", "validate")]),
        f"<p>Total mass of the moving links: {summary['total_mass']:.4g} kg, by the description"
        f" {sum(joint.body.mass for joint in found.prior.joints):.4g} kg. Weight of the prior:"
        f" {found.prior_weight:.3g}.</p>",
        "<h2>Joints</h2>",
        _drives(found, summary["joint_error"]),
        "<h2>Links</h2>",
        _links(found, summary["links"]),
    ]
    if found.payload is not None:
        center = ", ".join(f"{value:.4g}" for value in found.payload.center_of_mass)
        parts.append(f"<p>Payload: {found.payload.mass:.4g} kg, centre ({center}) m in the tip frame.</p>")
    if found.held:
        parts.append(
            f"<p>Cannot be told from the links' own and stays as given: {escape(', '.join(found.held))}.</p>"
        )
    if found.not_excited:
        parts.append(
            "<p>Not excited, so mostly as in the description: "
            + escape(", ".join(found.not_excited))
            + ".</p>"
        )
    for kind, runs in (("Learned from", found.learn), ("Validated with", found.validate)):
        for run in runs:
            parts.append(f"<h2>{kind} {escape(run.source)}</h2>")
            parts.extend(_picture(figure) for figure in _plots(found, run))
    if found.base:
        parts.extend(["<h2>Base parameters</h2>", _base(found)])
    title = f"Identification of {escape(found.chain.name)}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _doubts(found: Identification) -> list[str]:
    reasons = implausibilities(found)
    if not reasons:
        return []
    items = "".join(f"<li>{escape(reason)}</li>" for reason in reasons)
    return [f"<p><strong>This result is implausible:</strong></p><ul>{items}</ul>"]


def _drives(found: Identification, errors: dict[str, float | None]) -> str:
    shown = found.friction()
    head = ["joint", "error", *(_UNITS[key] for key in shown), "torque offset [N·m]"]
    rows = []
    for j, name in enumerate(found.chain.joint_names):
        values = [*(shown[key][j] for key in shown), float(found.drives["torque_offset"][j])]
        rows.append([name, _percent(errors[name]), *(f"{value:.4g}" for value in values)])
    return _table(head, rows)


def _links(found: Identification, links: dict[str, dict[str, object]]) -> str:
    rows = []
    for prior, joint in zip(found.prior.joints, found.chain.joints, strict=True):
        deviation = links[joint.link]["deviation"]
        assert isinstance(deviation, dict)
        center = ", ".join(f"{value:.4f}" for value in joint.body.center_of_mass)
        before = ", ".join(f"{value:.4f}" for value in prior.body.center_of_mass)
        rows.append(
            [
                joint.link,
                f"{prior.body.mass:.4g}",
                _with_deviation(joint.body.mass, deviation["mass"]),
                before,
                center,
            ]
        )
    return _table(["link", "mass before [kg]", "mass, 95 % [kg]", "centre before [m]", "centre [m]"], rows)


def _with_deviation(value: float, deviation: float | None) -> str:
    return (
        f"{value:.4g}, from the description" if deviation is None else f"{value:.4g} ± {1.96 * deviation:.2g}"
    )


def _base(found: Identification) -> str:
    rows = [
        [
            entry.name,
            f"{entry.prior:.4g}",
            f"{entry.least_squares:.4g} ± {1.96 * entry.deviation:.2g}",
            f"{entry.result:.4g}",
        ]
        for entry in sorted(found.base, key=lambda entry: entry.name)
    ]
    return _table(["named after", "description", "least squares, 95 %", "result"], rows)


def _plots(found: Identification, run: Comparison) -> list[Figure]:
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
    handles, labels = grid[0].get_legend_handles_labels()
    efforts.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    return [efforts, residuals]


def _picture(figure: Figure) -> str:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=90)
    return f'<img alt="plot" src="data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}">'


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "<table>" + "".join(lines) + "</table>"


def _percent(share: float | None) -> str:
    return "–" if share is None or not np.isfinite(share) else f"{100.0 * share:.2f} %"
