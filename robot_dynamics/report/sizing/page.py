"""The sizing report as one HTML page that holds its pictures and tables, with the tables as CSV beside it."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.control.stewart.platform_model import compensated, loaded
from robot_dynamics.errors import shown
from robot_dynamics.inputs.files import write_files
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.report.pages import rendered
from robot_dynamics.report.sizing import pictures
from robot_dynamics.report.sizing.axes import NAMES, PLANES, is_turn, shown_unit, shown_value
from robot_dynamics.report.sizing.box import WorkspaceBox, largest_box
from robot_dynamics.report.sizing.envelopes import MotionEnvelope, envelope_rows, envelopes
from robot_dynamics.report.sizing.loads import REACTIONS, Loads, recorded_loads, standard_loads
from robot_dynamics.report.sizing.losses import (
    Landing,
    QuickPlatform,
    fall,
    holding,
    loss_rows,
    loss_table,
    losses,
)
from robot_dynamics.report.sizing.ratings import Ratings, ratings, supply
from robot_dynamics.report.sizing.verdict import LoadCase, bars, next_steps, verdict
from robot_dynamics.report.sizing.workspace import CAUSES, Excursion, PlaneMap, excursions, map_rows, maps
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion_table import PLACE, QUATERNION, MotionTable
from robot_dynamics.stewart.orientation import quaternion_from_rotation
from robot_dynamics.stewart.platform import StewartPlatform


@dataclass(frozen=True)
class Study:
    """All numbers of the report.

    Attributes:
        machine: the platform.
        reached: excursions along the six directions.
        maps: over pairs of them.
        able: what can be done along them.
        losses: of power, joint states and a leg at home, by their names; words where there is no
            simulation.
        box: the largest one around home that is within the limits.
        cases: the machine as in its file, then the same with payloads.
    """

    machine: Machine
    reached: list[Excursion]
    maps: list[PlaneMap]
    able: list[MotionEnvelope]
    losses: Mapping[str, Landing | str]
    box: WorkspaceBox
    cases: tuple[LoadCase, ...]

    @property
    def own(self) -> LoadCase:
        """The machine as in its file."""
        return self.cases[0]


def study(
    platform: StewartPlatform,
    motion: MotionTable | None,
    title: str,
    payloads: Mapping[str, RigidBody] | None = None,
    proportions: Array | None = None,
    progress: Callable[[str, float], object] = lambda stage, share: None,
) -> Study:
    """Work the numbers out.

    Args:
        platform: the machine.
        motion: what it shall follow; a standard motion when None.
        title: of the motion.
        payloads: further load cases by name: bodies on the platform, in its frame.
        proportions: (6,) of the box of poses around home [m, rad]; those of the excursions when None.
        progress: called with each stage of the work and its share of the whole.
    """
    progress("reach and envelopes", 0.0)
    reached = excursions(platform.machine)
    able = envelopes(platform.machine, reached)

    def in_motion(carrying: StewartPlatform) -> Loads:
        if motion is None:
            return standard_loads(carrying, reached, able)
        return recorded_loads(carrying, motion, title)

    falling = QuickPlatform(compensated(platform).machine)

    def case(name: str, carrying: StewartPlatform, payload: RigidBody | None = None) -> LoadCase:
        there, mass = in_motion(carrying), carrying.machine.platform.mass
        rated, held = ratings(platform.machine, there), holding(compensated(carrying))
        return LoadCase(name, mass, there, rated, supply(there), fall(falling, payload), held)

    progress("loads of the motion", 0.2)
    machine = platform.machine
    cases = [case("", platform)]
    for name, body in (payloads or {}).items():
        cases.append(case(name, StewartPlatform(loaded(machine, body)), body))
    progress("maps of the workspace", 0.4)
    every = maps(machine, reached)
    progress("proof of the box", 0.6)
    box = largest_box(machine, reached, proportions)
    progress("losses of power, joint states and a leg", 0.7)
    lost = losses(platform, cases[0].fall)
    return Study(machine, reached, every, able, lost, box, tuple(cases))


def write(found: Study, folder: Path) -> list[Path]:
    """Write index.html and the tables into ``folder``; their paths.

    Raises:
        ParameterError: the folder cannot be written.
        RobotDynamicsError: matplotlib or jinja2 is missing.
    """
    tables = _tables(found)
    texts = {"index.html": _html(found, tables), **{name: text for name, (_, text) in tables.items()}}
    return write_files(folder, texts)


def _html(found: Study, tables: dict[str, tuple[str, str]]) -> str:
    machine, loads = found.machine, found.own.loads
    limit = min(leg.limits.force for leg in machine.legs)
    planes = [f"{NAMES[a]} and {NAMES[b]}" for a, b in PLANES]
    curves = pictures.load_curves(machine, loads)
    kept, sentence = verdict(machine, found.cases)
    return rendered(
        "report/sizing/page.html.j2",
        title=f"{shown(machine.name)}: what it reaches, what it can do, what it needs",
        summary=_summary(machine),
        kept=kept,
        verdict=sentence,
        steps=list(next_steps(machine, found.cases)),
        force_bars=bars(machine, found.cases),
        drawing=_captioned(["The platform at home"], [pictures.drawing(machine)]),
        findings=list(_findings(found)),
        characteristic=f"{machine.characteristic_length:g}",
        reach=_reach_table(found),
        causes_key=list(zip(CAUSES[1:], pictures.CAUSE_COLORS[1:], strict=True)),
        legs_key=list(zip(map(shown, machine.leg_names), pictures.LEG_COLORS, strict=True)),
        condition=_captioned(planes, pictures.condition_maps(found.maps)),
        force=_captioned(planes, pictures.force_maps(found.maps, limit)),
        force_note=_force_note(found.maps, limit),
        speed=_captioned(NAMES, pictures.speed_curves(found.able)),
        acceleration=_captioned(NAMES, pictures.acceleration_curves(found.able)),
        power=_captioned(NAMES, pictures.power_curves(found.able)),
        motion=f"The motion: {loads.title}; {loads.time[-1]:.4g} s, {len(loads.time)} samples.",
        messages=loads.messages,
        actuators=_actuator_table(machine, loads),
        ratings=_rating_table(machine, found.own.ratings),
        most_loaded=_most_loaded(found),
        supply=found.own.supply,
        cases=_case_table(found) if len(found.cases) > 1 else None,
        box=_box_table(found.box),
        box_words=_box_words(found.box),
        fall=_fall_words(found),
        losses=loss_table(found.losses),
        figures=_figures,
        over_time=_captioned([f"{name} over time" for name in curves], list(curves.values())),
        operating=_captioned(["force over speed"], [pictures.force_over_speed(machine, loads)]),
        reactions=_reaction_table(machine, loads),
        files=[
            {"name": name, "words": words, "data": base64.b64encode(text.encode()).decode()}
            for name, (words, text) in tables.items()
        ],
    )


def _summary(machine: Machine) -> str:
    limits = [leg.limits for leg in machine.legs]
    legs = sum(leg.lower.mass + leg.upper.mass for leg in machine.legs)
    parts = [
        f"Platform with payload {_figures(machine.platform.mass)} kg, legs {_figures(legs)} kg together",
        f"legs of {min(x.shortest for x in limits):.4g} to {max(x.longest for x in limits):.4g} m"
        if np.isfinite([x.longest for x in limits]).all()
        else "no limit of stroke",
    ]
    for name, unit in (("speed", "m/s"), ("force", "N")):
        value = min(getattr(x, name) for x in limits)
        parts.append(f"{name} to {_figures(value)} {unit}" if np.isfinite(value) else f"no limit of {name}")
    return "; ".join(parts) + "."


def _captioned(captions: Sequence[str], images: Sequence[bytes]) -> list[dict[str, str]]:
    """Pictures for the page; none where there are no images."""
    if not images:
        return []
    return [
        {"caption": caption, "data": base64.b64encode(image).decode()}
        for caption, image in zip(captions, images, strict=True)
    ]


def _force_note(every: Sequence[PlaneMap], limit: float) -> str:
    greatest = max(float(np.nanmax(m.force[m.kept], initial=0.0)) for m in every)
    if not np.isfinite(limit):
        return f"It reaches {_figures(greatest)} N; the platform's file names no limit."
    share = 100.0 * greatest / limit
    return f"It reaches {_figures(greatest)} N, {share:.0f} % of the limit of {_figures(limit)} N."


def _reach_table(found: Study) -> dict[str, Any]:
    header = [
        "direction",
        "from",
        "to",
        "",
        "ended by (from)",
        "ended by (to)",
        "speed",
        "acceleration along",
    ]
    rows = []
    for excursion, envelope in zip(found.reached, found.able, strict=True):
        axis = excursion.axis
        factor, unit = (float(np.degrees(1.0)), "°") if is_turn(axis) else (1.0, "m")
        rates = [
            f"{_figures(factor * value)} {unit}/{per}" if np.isfinite(value) else "no limit"
            for value, per in (
                (envelope.at_home(envelope.speed), "s"),
                (envelope.at_home(envelope.forward), "s²"),
                (envelope.at_home(envelope.backward), "s²"),
            )
        ]
        ends = [f"{shown_value(axis, x):+.4g}" for x in (excursion.least, excursion.greatest)]
        why = [cause or "nothing seen" for cause in excursion.causes]
        rows.append([NAMES[axis], *ends, shown_unit(axis), *why, *rates])
    return {"header": [*header, "against"], "rows": rows}


def _actuator_table(machine: Machine, loads: Loads) -> dict[str, Any]:
    limits, numbers = [leg.limits for leg in machine.legs], loads.actuators()
    bounds = {
        "shortest": ("shortest [m]", [-x.shortest for x in limits]),
        "longest": ("longest [m]", [x.longest for x in limits]),
        "peak_speed": ("peak speed [m/s]", [x.speed for x in limits]),
        "rms_speed": ("rms speed [m/s]", None),
        "greatest_force": ("greatest force [N]", [x.force for x in limits]),
        "least_force": ("least force [N]", [x.force for x in limits]),
        "rms_force": ("rms force [N]", None),
        "peak_power": ("peak power [W]", None),
        "peak_power_given_back": ("given back [W]", None),
        "mean_power": ("mean power [W]", None),
    }
    sign = {"shortest": -1.0, "least_force": -1.0}
    rows = []
    for k, name in enumerate(machine.leg_names):
        cells: list[Any] = [shown(name)]
        for key, (_, bound) in bounds.items():
            value = float(numbers[key][k])
            text = _figures(value)
            over = bound is not None and sign.get(key, 1.0) * value > bound[k] + 1e-12 * abs(bound[k])
            cells.append({"style": "over", "text": text} if over else text)
        rows.append(cells)
    return {"header": ["leg", *(words for words, _ in bounds.values())], "rows": rows}


def _rating_table(machine: Machine, rated: Ratings) -> dict[str, Any]:
    """Shares of the ratings in percent, and the motors."""
    columns: dict[str, Array] = {
        "peak force of its limit": rated.peak_use,
        "rms force of the continuous force": rated.continuous_use,
        "force at its speed, of the curve": rated.curve_use,
    }
    columns = {words: use for words, use in columns.items() if np.isfinite(use).any() and use.any()}
    header = ["leg", *(f"{words} [%]" for words in columns)]
    motors = np.isfinite(rated.motor_speed).any()
    if motors:
        header += ["motor speed [1/min]", "motor torque, peak [N·m]", "motor torque, rms [N·m]"]
    rows = []
    for k, name in enumerate(machine.leg_names):
        cells: list[Any] = [shown(name)]
        for use in columns.values():
            text = f"{100.0 * use[k]:.0f}"
            cells.append({"style": "over", "text": text} if use[k] > 1.0 + 1e-9 else text)
        if motors:
            speed = 30.0 / np.pi * rated.motor_speed[k]
            cells += [_figures(float(x)) for x in (speed, rated.motor_torque[k], rated.motor_rms_torque[k])]
        rows.append(cells)
    return {"header": header, "rows": rows}


def _findings(found: Study) -> Iterator[str]:
    """Results for who decides, below the verdict."""
    yield f"Most loaded: {_most_loaded(found)}."
    supply = found.own.supply
    yield (
        f"Supply of all six actuators: peak {_figures(supply.peak)} W, mean {_figures(supply.mean)} W net,"
        f" returned at most {_figures(supply.regeneration)} W."
    )
    sizes = ", ".join(
        f"{name} {cell}" for name, cell in zip(NAMES, _box_table(found.box)["rows"][0], strict=True)
    )
    yield f"Verified box around home: {sizes if found.box.scale else 'none'}."
    yield _fall_words(found)


def _most_loaded(found: Study) -> str:
    """The leg with the greatest use, by each rating."""
    names, rated, words = list(map(shown, found.machine.leg_names)), found.own.ratings, []
    for use, what in (
        (rated.continuous_use, "continuous force"),
        (rated.peak_use, "force limit"),
        (rated.curve_use, "force at its speed"),
    ):
        if np.isfinite(use).all() and use.any():
            leg = int(use.argmax())
            words.append(f"{names[leg]}: {100.0 * use[leg]:.0f} % of its {what}")
    if not words:
        rms = found.own.loads.actuators()["rms_force"]
        words = [f"{names[int(rms.argmax())]}: {_figures(float(rms.max()))} N rms"]
    return "; ".join(words)


def _box_table(box: WorkspaceBox) -> dict[str, Any]:
    """Half sizes of the verified box."""
    cells = [
        f"±{shown_value(axis, float(size)):.4g} {shown_unit(axis)}" for axis, size in enumerate(box.half)
    ]
    return {"header": list(NAMES), "rows": [cells]}


def _box_words(box: WorkspaceBox) -> str:
    """Size of the box and its limit, in words."""
    if box.scale == 0.0:
        return "No box of these proportions could be verified."
    larger = box.sampled / box.scale - 1.0
    ends = f": {box.cause}" if box.cause else " that was looked at"
    return (
        f"The scale is {box.scale:.4g} of the proportions. At {larger:.1%} more the first pose of a grid"
        f" leaves a limit{ends}."
    )


def _case_table(found: Study) -> dict[str, Any]:
    """One row for each load case, the file's own first."""
    header = ["load case", "platform [kg]", "peak force [N]", "most loaded leg", "rms force [N]"]
    header += ["rms of the continuous force [%]", "supply peak [W]", "mean [W]", "returned [W]"]
    header += ["fall: leg speed [m/s]", "energy [J]", "holding [N]"]
    rows = []
    for case in found.cases:
        force, rms = np.abs(case.loads.force).max(axis=0), case.loads.actuators()["rms_force"]
        leg, use = int(force.argmax()), float(case.ratings.continuous_use.max())
        peak = _figures(float(force.max()))
        cells: list[Any] = [shown(case.name) or "as in the file", _figures(case.mass)]
        cells.append({"style": "over", "text": peak} if case.loads.messages else peak)
        cells += [shown(found.machine.leg_names[leg]), _figures(float(rms.max()))]
        share = f"{100.0 * use:.0f}" if np.isfinite(use) and use > 0.0 else ""
        cells.append({"style": "over", "text": share} if use > 1.0 + 1e-9 else share)
        cells += [_figures(x) for x in (case.supply.peak, case.supply.mean, case.supply.regeneration)]
        landed = np.isfinite(case.fall.time)
        cells += [_figures(case.fall.speed), _figures(case.fall.energy)] if landed else ["", ""]
        cells.append(_figures(float(np.abs(case.holding).max())))
        rows.append(cells)
    return {"header": header, "rows": rows}


def _fall_words(found: Study) -> str:
    """The fall after a loss of power, in words."""
    lost, machine = found.own.fall, found.machine
    hold = f"Brakes must hold up to {_figures(float(np.abs(found.own.holding).max()))} N per leg at home"
    static = max((float(np.nanmax(m.force[m.kept], initial=0.0)) for m in found.maps), default=0.0)
    hold += f", {_figures(static)} N on the maps above."
    if not np.isfinite(lost.time):
        return f"Without actuator forces the platform meets no end of a stroke within 3 s. {hold}"
    guessed = " Friction that is guessed is left out." if "friction" in machine.guessed else ""
    return (
        f"Without actuator forces and brakes {shown(machine.name)} falls from home onto its stops within"
        f" {lost.time:.2f} s: the fastest leg has {_figures(lost.speed)} m/s, the buffers take"
        f" {_figures(lost.energy)} J together.{guessed} {hold}"
    )


def _reaction_table(machine: Machine, loads: Loads) -> dict[str, Any]:
    peaks = loads.peak_reactions()
    header = ["leg", *(f"{words} [{unit}]" for words, unit in REACTIONS.values())]
    rows = [
        [shown(name), *(_figures(float(peaks[key][k])) for key in REACTIONS)]
        for k, name in enumerate(machine.leg_names)
    ]
    return {"header": header, "rows": rows}


def _tables(found: Study) -> dict[str, tuple[str, str]]:
    """Words and CSV text of every table by its file's name."""
    loads, names = found.own.loads, [shown(name) for name in found.machine.leg_names]
    series = {"length": loads.length, "speed": loads.speed, "force": loads.force, "power": loads.power}
    poses = [loads.motion.position, quaternion_from_rotation(loads.motion.rotation)]
    over_time: Array = np.column_stack([loads.time, *poses, *series.values(), loads.condition])
    legs = [f"{name}.{key}" for key in series for name in names]
    columns = ["time", *PLACE, *QUATERNION, *legs, "condition_number"]
    peaks = _peaks(loads, found.own.ratings)
    more = {
        f"actuators_{number}.csv": (
            f"the same with the load case {shown(case.name)}",
            _csv(["leg", *peaks], _legs_of(names, case.loads, case.ratings)),
        )
        for number, case in enumerate(found.cases[1:], start=1)
    }
    reach = [[NAMES[e.axis], e.least, e.greatest, *e.causes] for e in found.reached]
    each = _legs_of(names, loads, found.own.ratings)
    return {
        "reach.csv": (
            "excursions along the six directions",
            _csv(["direction", "from", "to", "from_ended_by", "to_ended_by"], reach),
        ),
        "workspace.csv": ("every point of the maps", _csv(*map_rows(found.maps))),
        "envelopes.csv": ("speed, acceleration and power along each", _csv(*envelope_rows(found.able))),
        "losses.csv": (
            "losses at home up to the first end stop",
            _csv(*loss_rows(found.losses)),
        ),
        "actuators.csv": ("peaks, rms and reactions of each leg", _csv(["leg", *peaks], each)),
        **more,
        "motion.csv": ("poses and every leg over the motion's time", _csv(columns, over_time.tolist())),
    }


def _peaks(loads: Loads, rated: Ratings) -> dict[str, Array]:
    """Values (6,) of the actuators by name, SI units."""
    reactions = {f"peak_{key}": values for key, values in loads.peak_reactions().items()}
    return {**loads.actuators(), **rated.rows(), **reactions}


def _legs_of(names: Sequence[str], loads: Loads, rated: Ratings) -> list[list[object]]:
    """A row for each leg."""
    peaks = _peaks(loads, rated)
    return [[name, *(float(v[k]) for v in peaks.values())] for k, name in enumerate(names)]


def _csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    # Seven digits: less than a millionth, and half the size.
    writer.writerows([f"{x:.7g}" if isinstance(x, float) else x for x in row] for row in rows)
    return stream.getvalue()


def _figures(value: float) -> str:
    """Four digits, without an exponent where a person reads none."""
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.4g}"
