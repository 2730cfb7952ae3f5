"""Head of the sizing report: verdict, next steps, and guesses that the figures rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import shown
from robot_dynamics.report.pages import Bar
from robot_dynamics.report.sizing.loads import Loads
from robot_dynamics.report.sizing.losses import Landing
from robot_dynamics.report.sizing.ratings import Ratings, Supply
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine

TIGHT = 0.8
"""Share of a rating from which on little is left."""
GUESSES = {
    "friction": "The friction of the legs is guessed: measure it, or compare the forces of a real leg.",
    "masses": "The masses of the legs are guessed: weigh an actuator and give its mass.",
}


@dataclass(frozen=True)
class LoadCase:
    """Numbers of one payload in the motion of the report.

    Attributes:
        name: of the case; empty for the machine as its file has it.
        mass: of the platform with it [kg].
        loads: of the motion.
        ratings: use of the actuators in it.
        supply: power of all actuators in it.
        fall: after a loss of power at home.
        holding: (6,) forces that hold the platform at home [N].
    """

    name: str
    mass: float
    loads: Loads
    ratings: Ratings
    supply: Supply
    fall: Landing
    holding: Array

    def most_used(self, rating: str) -> tuple[float, int]:
        """Greatest use by ``peak_use``, ``continuous_use`` or ``curve_use``, and its leg; 0 without it."""
        use = np.nan_to_num(getattr(self.ratings, rating), posinf=0.0)
        return float(use.max()), int(use.argmax())


def verdict(machine: Machine, cases: Sequence[LoadCase]) -> tuple[bool, str]:
    """Return True if the motion is within every limit and rating with every load, and a sentence about it."""
    names = [shown(name) for name in machine.leg_names]
    for case in cases:
        if case.loads.messages:
            return False, f"The platform cannot make this motion{_carrying(case)}: {case.loads.messages[0]}."
    heat, leg, case = _worst(cases, "continuous_use")
    if heat > 1.0:
        return (
            False,
            f"{names[leg]} gets too hot{_carrying(case)}: rms force {100.0 * heat:.0f} % of its"
            " continuous force.",
        )
    curve, leg, case = _worst(cases, "curve_use")
    if curve > 1.0:
        return (
            False,
            f"{names[leg]} is too weak at speed{_carrying(case)}: {100.0 * curve:.0f} % of its speed-force"
            f" curve at {case.ratings.curve_time[leg]:.3g} s.",
        )
    use, leg, case = _worst(cases, "peak_use")
    if use == 0.0:
        return True, "The platform makes this motion; no limit of force is given."
    what = "force limit"
    if curve > use:
        (use, leg, case), what = _worst(cases, "curve_use"), "force at its speed"
    return (
        True,
        f"The platform makes this motion: {names[leg]} needs {100.0 * use:.0f} % of its"
        f" {what}{_carrying(case)}.",
    )


def _worst(cases: Sequence[LoadCase], rating: str) -> tuple[float, int, LoadCase]:
    """Greatest use by a rating, its leg and its case; the first of equals."""
    used = [(*case.most_used(rating), case) for case in cases]
    return max(used, key=lambda found: found[0])


def _carrying(case: LoadCase) -> str:
    return f" with the load {shown(case.name)}" if case.name else ""


def next_steps(machine: Machine, cases: Sequence[LoadCase]) -> Iterator[str]:
    """Next steps, most urgent first."""
    use, heat, curve = (_worst(cases, f"{name}_use")[0] for name in ("peak", "continuous", "curve"))
    rated = cases[0].ratings
    if any(case.loads.messages for case in cases):
        yield (
            "Slow the motion down (robot_dynamics stewart retime), carry less, or choose actuators with the"
            " forces, speeds and strokes of the table below."
        )
    elif heat > 1.0:
        yield "Let the motion rest in between, carry less, or choose actuators with more continuous force."
    elif curve > 1.0:
        yield "Slow the motion down where it is fastest, or choose actuators with more force at that speed."
    elif (most := max(use, curve)) > TIGHT:
        yield f"Only {100.0 - 100.0 * most:.0f} % of the force is left: vary the payload (--payload)."
    elif 0.0 < most < 0.3:
        yield f"The actuators could be smaller: {100.0 * most:.0f} % of their force is needed."
    if not (np.isfinite(rated.continuous_use).all() and rated.continuous_use.any()):
        yield "Give the continuous force of the actuators: heat is not judged without it."
    if not np.isfinite(rated.motor_speed).any():
        yield "Give the drive (motor, gear, screw): motors are not judged without it."
    for part in machine.guessed:
        yield GUESSES[part]


def bars(machine: Machine, cases: Sequence[LoadCase]) -> list[Bar]:
    """Needed and available force of each leg, the greatest of all load cases."""
    needed = np.max([np.abs(case.loads.force).max(axis=0) for case in cases], axis=0)
    limits = [leg.limits.force for leg in machine.legs]
    rows = zip(machine.leg_names, needed, limits, strict=True)
    return [Bar.of(shown(name), float(force), limit, "N") for name, force, limit in rows]
