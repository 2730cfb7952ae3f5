"""An arm whose joints are springs: a load is hung on its tip, then the springs become stiffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robot_dynamics.ros.demo.arm import ArmRun, Case, Progress
from robot_dynamics.ros.running.observer import SECOND
from robot_dynamics.spatial import Array

LOAD = 2.0
"""Mass that is hung on the tip [kg]."""
STIFFNESS, STIFFER = (400.0, 400.0, 200.0, 40.0, 40.0, 40.0), 3.0
"""Of the joints [N·m/rad]; factor of the stiffer springs."""
DURATION = 4.0
"""Of each part [s]."""


@dataclass(frozen=True)
class Yielding:
    """Result of the scene.

    Attributes:
        way: (n,) by which the load moves the joints [rad].
        stiffer: (n,) the same with stiffer springs [rad].
        left: (n,) what is left of it without the load [rad].
    """

    way: Array
    stiffer: Array
    left: Array

    @property
    def line(self) -> str:
        """The result in a sentence."""
        ways = [float(np.abs(part).max()) for part in (self.way, self.stiffer, self.left)]
        return (
            f"joints as springs: {LOAD:g} kg move a joint by {ways[0]:.3f} rad, {STIFFER:g} times stiffer by"
            f" {ways[1]:.3f} rad; without the load {ways[2]:.3f} rad are left"
        )


def run(arm: ArmRun, progress: Progress, say: Callable[[str], None]) -> Yielding:
    """Show the scene on an arm that rests.

    Raises:
        RobotDynamicsError: a node ends or falls silent, or refuses a parameter.
    """
    springs = {"mode": "joint_impedance", "joint_stiffness": list(STIFFNESS)}
    stiffer = {"joint_stiffness": [STIFFER * value for value in STIFFNESS]}
    parts = (
        ("joints as springs", Case("", "", springs)),
        (f"{LOAD:g} kg at the tip, unknown to the model", Case("", "", {}, {"payload_mass": LOAD})),
        (f"springs that are {STIFFER:g} times stiffer", Case("", "", stiffer)),
        ("without the load", Case("", "", {}, {"payload_mass": 0.0})),
    )
    places = [_part(arm, title, case, progress) for title, case in parts]
    result = Yielding(*(place - places[0] for place in places[1:]))
    say(result.line)
    return result


def _part(arm: ArmRun, title: str, case: Case, progress: Progress) -> Array:
    """Positions (n,) some time after a change [rad]."""
    arm.apply(case)
    observer = arm.observer
    begin = observer.latest
    end = begin + int(DURATION * SECOND)

    def show() -> None:
        progress(title, min(1.0, max(0.0, (observer.latest - begin) / (end - begin))))

    observer.wait_until(lambda: observer.latest > end, title, show)
    return np.array(arm.position)
