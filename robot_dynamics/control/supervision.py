"""Supervision of a controller: parameters, thresholds and trips of its rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.control.core.library import doubles, ffi
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array

RULES = enumerators("rd_rule")
"""Rules of supervision and the quantity that each watches, in the order of the core's enumeration."""
ENFORCE, OBSERVE = "enforce", "observe"
"""Values of the parameter ``supervision``; with the second, rules of trajectories and errors only warn."""
OFF = -1.0
"""Value of a rule's parameter that switches it off, as any below zero does; 0 derives its threshold."""
SPEED_SHARE = 1.2
"""Speed beyond which a motion is braked, as a share of the limit."""
OSCILLATION_SHARE = 0.02
"""Speed of an oscillation, as a share of the velocity limit."""
START_SPEED_SHARE, START_DISPLACEMENT_SHARE = 0.12, 0.9
"""Speed and displacement in the first second, as shares of the velocity limit and of the following error."""
LOW_GAINS = {"rad": 0.2, "m": 0.05}
"""A derived following error beyond it says that the gains are too low."""
_NAMES = tuple(RULES)
TRIP_FIELDS = ("count", "rule", "joint", "time", "measured", "allowed", "latched", "stops", "reverted")
"""Fields of ``rd_trip``."""


@dataclass(frozen=True)
class Trip:
    """A rule that was broken.

    Attributes:
        count: number of this trip since the controller began.
        rule: its name in :data:`RULES`.
        joint: place of the joint or leg; -1: the whole robot.
        time: of the state [s].
        measured: value that was measured.
        allowed: value that the rule allows.
        latched: whether the protective stop is still in force.
        stops: whether the trip began it; False: it was reported only.
        reverted: number of the model that is in force again, because the trip came within 2 s of a change of
            model; 0: none.
    """

    count: int
    rule: str
    joint: int
    time: float
    measured: float
    allowed: float
    latched: bool
    stops: bool
    reverted: int = 0

    @staticmethod
    def of(value: Any) -> Trip:
        """The trip of an ``rd_trip`` or of a cycle's record."""
        given = {name: getattr(value, name) for name in TRIP_FIELDS}
        return Trip(
            **given
            | {
                "rule": _NAMES[given["rule"]],
                "latched": bool(given["latched"]),
                "stops": bool(given["stops"]),
            }
        )


@dataclass(frozen=True)
class Rule:
    """A rule in force for one robot.

    Attributes:
        number: place in the table.
        name: its name in :data:`RULES`.
        quantity: that it watches.
        thresholds: one per joint or leg, or one; infinite: off.
        duration: beyond the threshold until it trips [s].
        release: share of the threshold below which it has ended.
        reaction, reset: of the controller, and how it is ended.
        largest: largest value so far, as a share of its threshold.
    """

    number: int
    name: str
    quantity: str
    thresholds: tuple[float, ...]
    duration: float
    release: float
    reaction: str
    reset: str
    largest: float

    @property
    def threshold(self) -> str:
        """Thresholds in words."""
        finite = [value for value in self.thresholds if np.isfinite(value)]
        if not finite:
            return "off"
        same = len(set(self.thresholds)) == 1
        shown = self.thresholds[:1] if same else self.thresholds
        return ", ".join("off" if not np.isfinite(value) else f"{value:.3g}" for value in shown)

    @property
    def words(self) -> str:
        """Its line in the table of the log."""
        return (
            f"{self.number} {self.name}: threshold {self.threshold}; duration {self.duration:g} s;"
            f" release {self.release:g}; {self.reaction}; reset by {self.reset}"
        )


@dataclass(frozen=True)
class SupervisionParameters:
    """Thresholds of the rules: 0 derives one, -1 switches the rule off."""

    supervision: str = parameter(
        ENFORCE,
        "enforce ends in a protective stop; observe, for commissioning, only warns where a trajectory or an"
        " error breaks a rule, until the next deactivation",
        choices=[ENFORCE, OBSERVE],
    )
    max_following_error: tuple[float, ...] = parameter(
        (0.0,),
        "Distance of a joint or leg from its reference beyond which a protective stop begins, one per joint"
        " or one for all; 0: derived from weight, friction, inertia and kp; -1: off",
        unit="rad or m",
        minimum=-1.0,
        maximum=1e6,
    )
    overspeed: float = parameter(
        0.0,
        "Share of the velocity limit beyond which a motion is braked to a protective stop; 0: 1.2; -1: off",
        minimum=-1.0,
        maximum=1e6,
    )
    oscillation: float = parameter(
        0.0,
        "Share of the velocity limit beyond which an oscillation that the feedback feeds ends in a protective"
        " stop with lower gains; 0: 0.02; -1: off",
        minimum=-1.0,
        maximum=1.0,
    )
    start_motion: float = parameter(
        0.0,
        "Share of the velocity limit that a robot at rest may reach in the first second of control; it may"
        " come 0.9 of the following error from its place, and an arm may bear a part of its weight"
        " more or less than its model; 0: 0.12; -1: all of it off",
        minimum=-1.0,
        maximum=1.0,
    )

    loop_delay: float = parameter(
        0.0,
        "Delay of an effort beside half a period between states, with which the stability of the gains is"
        " judged; -1: gains are not judged by the period",
        unit="s",
        minimum=-1.0,
        maximum=1.0,
    )

    def __post_init__(self) -> None:
        validate(self)

    def fields_of_rules(self, speed: Array) -> dict[str, Any]:
        """Fields of ``rd_rules`` beside the following errors.

        Args:
            speed: (n,) velocity limits [rad/s or m/s], infinite where there is none.
        """
        share = self.start_motion or START_SPEED_SHARE
        off = self.overspeed < 0.0
        return {
            "speed": np.full_like(speed, np.inf) if off else (self.overspeed or SPEED_SHARE) * speed,
            "oscillation": 0.0 if self.oscillation < 0.0 else self.oscillation or OSCILLATION_SHARE,
            "start_speed": max(share, 0.0),
            "start_displacement": START_DISPLACEMENT_SHARE if share > 0.0 else 0.0,
            "delay": self.loop_delay,
            "observes": self.supervision == OBSERVE,
        }

    @property
    def switched_off(self) -> list[str]:
        """Names of the parameters that switch a rule off."""
        rules = {
            "max_following_error": min(self.max_following_error, default=0.0) < 0.0,
            "overspeed": self.overspeed < 0.0,
            "oscillation": self.oscillation < 0.0,
            "start_motion": self.start_motion < 0.0,
            "loop_delay": self.loop_delay < 0.0,
        }
        return [name for name, off in rules.items() if off]


def thresholds(given: Array, derived: Array) -> Array:
    """Thresholds (n,) of a rule: as given; derived where that is 0, infinite where it is negative."""
    return np.where(given > 0.0, given, np.where(given < 0.0, np.inf, derived))


def rules_of(library: Any, settings: Any, joints: int, largest: Any) -> list[Rule]:
    """Rules in force.

    Args:
        library: of the control core.
        settings: ``rd_settings *``.
        joints: n, of the robot.
        largest: largest value of each rule so far, as a share of its threshold.
    """
    found, out = [], np.zeros(max(joints, 2))
    for number, (name, quantity) in enumerate(RULES.items()):
        count = library.rd_rule_thresholds(settings, joints, number, doubles(out))
        if not count:
            continue
        info = library.rd_rule_table(number)
        reaction, reset = (ffi().string(text).decode() for text in (info.reaction, info.reset))
        values, most = tuple(out[:count].tolist()), float(largest[number])
        found.append(Rule(number, name, quantity, values, info.duration, info.release, reaction, reset, most))
    return found
