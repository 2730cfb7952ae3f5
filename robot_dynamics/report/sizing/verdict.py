"""Head of the sizing report: verdict, next steps, and guesses that the figures rest on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.errors import shown
from robot_dynamics.report.pages import Bar
from robot_dynamics.report.sizing.loads import Loads
from robot_dynamics.report.sizing.ratings import Ratings
from robot_dynamics.stewart.machine import Machine

TIGHT = 0.8
"""Share of a rating from which on little is left."""
GUESSES = {
    "friction": "The friction of the legs is guessed: measure it, or compare the forces of a real leg.",
    "masses": "The masses of the legs are guessed: weigh an actuator and give its mass.",
}


def verdict(machine: Machine, loads: Loads, rated: Ratings) -> tuple[bool, str]:
    """Return True if the motion is within every limit and rating, and a sentence about it."""
    names = [shown(name) for name in machine.leg_names]
    worst = int(np.nan_to_num(rated.peak_use).argmax())
    use = float(rated.peak_use[worst])
    if loads.messages:
        return False, f"The platform cannot make this motion: {loads.messages[0]}."
    heat = rated.continuous_use
    if np.isfinite(heat).all() and heat.max() > 1.0:
        leg = int(heat.argmax())
        return (
            False,
            f"{names[leg]} gets too hot: rms force {100.0 * heat[leg]:.0f} % of its continuous force.",
        )
    if not np.isfinite(use) or use == 0.0:
        return True, "The platform makes this motion; no limit of force is given."
    return (
        True,
        f"The platform makes this motion: {names[worst]} needs {100.0 * use:.0f} % of its force limit.",
    )


def next_steps(machine: Machine, loads: Loads, rated: Ratings) -> Iterator[str]:
    """Next steps, most urgent first."""
    use = float(np.nan_to_num(rated.peak_use, posinf=0.0).max())
    if loads.messages:
        yield (
            "Slow the motion down (robot_dynamics stewart retime), carry less, or choose actuators with the"
            " forces, speeds and strokes of the table below."
        )
    elif use > TIGHT:
        yield f"Only {100.0 - 100.0 * use:.0f} % of the force is left: vary the payload (--payload)."
    elif 0.0 < use < 0.3:
        yield f"The actuators could be smaller: {100.0 * use:.0f} % of their force is needed."
    if not (np.isfinite(rated.continuous_use).all() and rated.continuous_use.any()):
        yield "Give the continuous force of the actuators: heat is not judged without it."
    if not np.isfinite(rated.motor_speed).any():
        yield "Give the drive (motor, gear, screw): motors are not judged without it."
    for part in machine.guessed:
        yield GUESSES[part]


def bars(machine: Machine, loads: Loads) -> list[Bar]:
    """Needed and available force of each leg."""
    needed = np.abs(loads.force).max(axis=0)
    limits = [leg.limits.force for leg in machine.legs]
    rows = zip(machine.leg_names, needed, limits, strict=True)
    return [Bar.of(shown(name), float(force), limit, "N") for name, force, limit in rows]
