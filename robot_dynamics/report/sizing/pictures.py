"""Pictures of the sizing report: one panel each, so that a page can lay them out for any width."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.report.plots import blank_figure
from robot_dynamics.report.sizing.axes import NAMES, shown_unit, shown_value
from robot_dynamics.report.sizing.envelopes import MotionEnvelope
from robot_dynamics.report.sizing.loads import Loads
from robot_dynamics.report.sizing.workspace import CAUSES, PlaneMap
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RESOLUTION = 110
PANEL, WIDE = (4.6, 3.9), (9.4, 3.3)
# Hues that stay apart for every kind of colour vision (Okabe and Ito).
LEG_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
CAUSE_COLORS = ("#ffffff", "#e8d5b7", "#cfe0c3", "#cdd5e0", "#e3cfe0", "#b9b9b9")
"""Of what ends the workspace, in the order of ``CAUSES``."""
WIDE_SCALE = 20.0
"""Ratio of greatest to least value from which on colours go by the logarithm."""
LIMIT: dict[str, Any] = {"color": "#b00020", "lw": 1.4, "ls": (0, (5, 3))}


def drawing(machine: Machine) -> bytes:
    """The platform at home: base, platform and legs, lengths in metres."""
    figure = blank_figure(*PANEL, "")
    axes: Any = figure.add_subplot(projection="3d")
    tops = machine.platform_points @ machine.home_rotation.T + machine.home_position
    for points, color in ((machine.base_points, "#57606a"), (tops, "#bf8700")):
        around = points - points.mean(axis=0)
        order = np.argsort(np.arctan2(around[:, 1], around[:, 0]))
        ring = points[[*order, order[0]]]
        axes.plot(*ring.T, color=color, lw=2.0)
    for base, top, color, name in zip(machine.base_points, tops, LEG_COLORS, machine.leg_names, strict=True):
        axes.plot(*np.array([base, top]).T, color=color, lw=2.5)
        axes.text(*(0.5 * (base + top)), name.replace("$", ""), fontsize=7)
    axes.set_box_aspect(np.ptp(np.vstack([machine.base_points, tops]), axis=0) + 1e-3, zoom=0.85)
    for set_label, name in zip((axes.set_xlabel, axes.set_ylabel, axes.set_zlabel), "xyz", strict=True):
        set_label(f"{name} [m]", fontsize=8)
    axes.tick_params(labelsize=7)
    return _png(figure)


def condition_maps(maps: Sequence[PlaneMap]) -> list[bytes]:
    """Condition number within reach, what ends it outside; one scale for all."""
    scale = _scale([m.condition[m.kept] for m in maps])
    return [_map(m, m.condition, scale, "condition number") for m in maps]


def force_maps(maps: Sequence[PlaneMap], limit: float) -> list[bytes]:
    """Greatest force of a leg at rest; one scale for all, the limit as a line."""
    least, greatest = _scale([m.force[m.kept] for m in maps])
    unit, divisor = _newtons(greatest)
    scale = (least / divisor, greatest / divisor)
    return [_map(m, m.force / divisor, scale, f"greatest leg force [{unit}]", limit / divisor) for m in maps]


def _scale(values: Sequence[Array]) -> tuple[float, float]:
    """Least and greatest of all, never equal."""
    every = np.concatenate(values)
    every = every[np.isfinite(every)]
    least, greatest = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    return least, max(greatest, least + 1e-3 * abs(least) + 1e-9)


def _map(m: PlaneMap, values: Array, scale: tuple[float, float], label: str, line: float = np.inf) -> bytes:
    from matplotlib.colors import ListedColormap, LogNorm, Normalize
    from matplotlib.ticker import MaxNLocator

    figure, axes = _panel(PANEL)
    first, second = m.plane
    across = [shown_value(first, x) for x in m.across]
    up = [shown_value(second, x) for x in m.up]
    room = m.slack.min(axis=-1)
    tints = ListedColormap(CAUSE_COLORS[1:])
    nearest = m.slack.argmin(axis=-1)
    axes.pcolormesh(across, up, nearest, cmap=tints, vmin=-0.5, vmax=len(CAUSES) - 1.5, shading="nearest")
    wide = scale[0] > 0.0 and scale[1] > WIDE_SCALE * scale[0]
    norm = LogNorm(*scale) if wide else Normalize(*scale)
    mesh = axes.pcolormesh(across, up, values, cmap="viridis", norm=norm, shading="nearest")
    inside = axes.contourf(across, up, room, levels=[0.0, 1e3], alpha=0.0)
    (area,) = inside.get_paths()
    mesh.set_clip_path(area, axes.transData)
    if room.min() < 0.0 < room.max():
        axes.contour(across, up, room, levels=[0.0], colors="k", linewidths=1.2)
    reached = values[m.kept & np.isfinite(values)]
    if len(reached) and reached.min() < line < reached.max():
        edge = axes.contour(across, up, values, levels=[line], colors=LIMIT["color"], linewidths=1.6)
        edge.set_clip_path(area, axes.transData)
    axes.plot(0.0, 0.0, "k+", ms=9, mew=1.6)
    axes.set_xlabel(_axis_label(first))
    axes.set_ylabel(_axis_label(second))
    bar = figure.colorbar(mesh, ax=axes, pad=0.02)
    bar.set_label(label)
    if not wide:
        bar.locator = MaxNLocator(5)
        bar.update_ticks()
    # The label of the bar stands beyond its axes.
    figure.subplots_adjust(right=0.95)
    return _png(figure)


def speed_curves(able: Sequence[MotionEnvelope]) -> list[bytes]:
    """Greatest speed over each excursion; translations share a scale, rotations another."""
    return _curves(able, "greatest speed", lambda e: [("greatest", e.speed)], rate="s")


def acceleration_curves(able: Sequence[MotionEnvelope]) -> list[bytes]:
    """Greatest acceleration from rest, both ways."""
    return _curves(
        able, "acceleration from rest", lambda e: [("along", e.forward), ("against", e.backward)], rate="s²"
    )


def power_curves(able: Sequence[MotionEnvelope]) -> list[bytes]:
    """Power at the greatest speed: of an actuator, and of all."""
    return _curves(
        able, "power at greatest speed", lambda e: [("all actuators", e.total_power), ("one", e.leg_power)]
    )


def _curves(
    able: Sequence[MotionEnvelope],
    words: str,
    lines: Callable[[MotionEnvelope], list[tuple[str, Array]]],
    rate: str | None = None,
) -> list[bytes]:
    if not any(np.isfinite(line).any() for envelope in able for _, line in lines(envelope)):
        return []
    pictures = []
    for envelope in able:
        axis, alike = envelope.axis, [e for e in able if (e.axis >= 3) == (envelope.axis >= 3)]
        if rate is None:
            alike = list(able)
        unit, factor = ("W", 1.0) if rate is None else _rate_unit(axis, rate)
        values = [factor * line for e in alike for _, line in lines(e)]
        top = max((float(v[np.isfinite(v)].max(initial=0.0)) for v in values), default=0.0)
        if rate is None and top >= 2000.0:
            unit, factor, top = "kW", 1e-3, 1e-3 * top
        figure, axes = _panel((4.6, 3.1))
        x = [shown_value(axis, value) for value in envelope.displacement]
        for k, (label, line) in enumerate(lines(envelope)):
            if np.isfinite(line).any():
                axes.plot(x, factor * line, color=LEG_COLORS[k], lw=2.0, ls=("-", "--")[k], label=label)
        axes.set_ylim(0.0, 1.25 * max(top, 1e-9))
        axes.axvline(0.0, color="k", lw=0.8, alpha=0.4)
        axes.set_xlabel(_axis_label(axis))
        axes.set_ylabel(f"{words} [{unit}]")
        if len(axes.lines) > 2:
            # The scale leaves the upper fifth free for it.
            axes.legend(loc="upper center", ncols=2, frameon=False, fontsize="small")
        pictures.append(_png(figure))
    return pictures


def load_curves(machine: Machine, loads: Loads) -> dict[str, bytes]:
    """Length, speed, force and power of the legs over time, with their limits."""
    limits = [leg.limits for leg in machine.legs]
    force_unit, force = _newtons(float(np.abs(loads.force).max()))
    power_unit, power = ("kW", 1e3) if np.abs(loads.power).max() >= 2000.0 else ("W", 1.0)
    shortest, longest = _common([-x.shortest for x in limits]), _common([x.longest for x in limits])
    fastest, strongest = _common([x.speed for x in limits]), _common([x.force for x in limits])
    return {
        "length": _over_time(loads, loads.length, "leg length [m]", (-shortest, longest)),
        "speed": _over_time(loads, loads.speed, "leg speed [m/s]", (-fastest, fastest)),
        "force": _over_time(
            loads, loads.force / force, f"leg force [{force_unit}]", (-strongest / force, strongest / force)
        ),
        "power": _over_time(loads, loads.power / power, f"leg power [{power_unit}]", (-np.inf, np.inf)),
    }


def _common(values: Sequence[float]) -> float:
    """The narrowest limit, which all legs share where they are alike."""
    return float(min(values))


def _over_time(loads: Loads, values: Array, label: str, limits: tuple[float, float]) -> bytes:
    figure, axes = _panel(WIDE)
    for rows in _parts(loads):
        for k in range(values.shape[1]):
            axes.plot(loads.time[rows], values[rows, k], color=LEG_COLORS[k], lw=1.3)
    least, greatest = float(values.min()), float(values.max())
    span = max(greatest - least, 1e-9)
    for limit in limits:
        # A limit that is far away would flatten the curves; its distance is in the table.
        if least - 2.0 * span <= limit <= greatest + 2.0 * span:
            axes.axhline(limit, **LIMIT)
            least, greatest = min(least, limit), max(greatest, limit)
    span = max(greatest - least, 1e-9)
    axes.set_ylim(least - 0.06 * span, greatest + (0.16 if loads.parts else 0.06) * span)
    for row, name in loads.parts:
        begin = float(loads.time[row])
        axes.axvline(begin, color="k", lw=0.8, alpha=0.4)
        axes.annotate(
            name,
            (begin, 1.0),
            (4, -4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="top",
        )
    axes.set_xlim(loads.time[0], loads.time[-1])
    axes.set_xlabel("time [s]")
    axes.set_ylabel(label)
    return _png(figure)


def force_over_speed(machine: Machine, loads: Loads) -> bytes:
    """Operating points of all legs within their limits, with lines of equal power."""
    unit, divisor = _newtons(float(np.abs(loads.force).max()))
    figure, axes = _panel((6.2, 4.6))
    for rows in _parts(loads):
        for k in range(loads.force.shape[1]):
            axes.plot(loads.speed[rows, k], loads.force[rows, k] / divisor, color=LEG_COLORS[k], lw=1.1)
    speed = float(np.abs(loads.speed).max())
    force = float(np.abs(loads.force).max()) / divisor
    fastest = min(leg.limits.speed for leg in machine.legs)
    strongest = min(leg.limits.force for leg in machine.legs) / divisor
    width = 1.08 * max(speed, fastest if fastest < 5.0 * speed else 0.0, 1e-9)
    height = 1.08 * max(force, strongest if strongest < 5.0 * force else 0.0, 1e-9)
    grid = np.linspace(width / 400.0, width, 400)
    peak = float(np.abs(loads.power).max())
    for share in (0.5, 1.0):
        line = share * peak / grid / divisor
        for sx, sy in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            axes.plot(sx * grid, sy * line, color="k", lw=0.7, ls=":", zorder=0)
    for limit in (-fastest, fastest):
        axes.axvline(limit, **LIMIT)
    for limit in (-strongest, strongest):
        axes.axhline(limit, **LIMIT)
    for curve in {leg.limits.speed_force for leg in machine.legs if leg.limits.speed_force}:
        speeds, forces = np.array(curve).T
        for sx, sy in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            axes.plot(sx * speeds, sy * forces / divisor, color=LIMIT["color"], lw=1.4)
    axes.set_xlim(-width, width)
    axes.set_ylim(-height, height)
    axes.set_xlabel("leg speed [m/s]")
    axes.set_ylabel(f"leg force, positive pushing [{unit}]")
    return _png(figure)


def _parts(loads: Loads) -> list[slice]:
    """Rows of each part of the motion: its lines begin anew."""
    begins = [row for row, _ in loads.parts] or [0]
    return [slice(a, b) for a, b in zip(begins, [*begins[1:], len(loads.time)], strict=True)]


def _rate_unit(axis: int, rate: str) -> tuple[str, float]:
    return (f"°/{rate}", float(np.degrees(1.0))) if axis >= 3 else (f"m/{rate}", 1.0)


def _newtons(greatest: float) -> tuple[str, float]:
    """Unit in which forces up to ``greatest`` are shown, and its size [N]."""
    return ("kN", 1e3) if greatest >= 2000.0 else ("N", 1.0)


def _axis_label(axis: int) -> str:
    return f"{NAMES[axis]} from home [{shown_unit(axis)}]"


def _panel(size: tuple[float, float]) -> tuple[Figure, Axes]:
    figure = blank_figure(*size, "")
    # Fixed margins: to fit them takes as long as to draw.
    figure.set_layout_engine(None)
    figure.subplots_adjust(0.75 / size[0], 0.55 / size[1], 1.0 - 0.22 / size[0], 1.0 - 0.15 / size[1])
    axes = figure.subplots()
    axes.grid(alpha=0.25)
    return figure, axes


def _png(figure: Figure) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=RESOLUTION)
    return stream.getvalue()
