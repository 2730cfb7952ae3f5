"""Joint impedance of an arm: its parameters, and what period of the states they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array

MODE = "joint_impedance"
POSES = 64
"""Poses over the range of the joints at which the mass matrix is looked at."""
COUPLED = (1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.1)
"""Shares of what each joint stands by itself, of which the first that the whole arm stands is named."""
LONGEST_FILTER = 0.05
"""Longest time constant of a filter [s]."""
INERTIA_RATIO = 1.3
"""Share of the model's inertia that a real one may lack; see gains.c."""


@dataclass(frozen=True)
class ImpedanceParameters:
    """Stiffness and damping of the mode joint_impedance."""

    joint_stiffness: tuple[float, ...] = parameter(
        (50.0,),
        "Stiffness in the mode joint_impedance, one per joint or one for all",
        unit="N·m/rad or N/m",
        minimum=0.0,
        maximum=1e6,
    )
    joint_damping: tuple[float, ...] = parameter(
        (-1.0,),
        "Damping in the mode joint_impedance, one per joint or one for all; -1: critical for the joint's own"
        " inertia at each pose",
        unit="N·m·s/rad or N·s/m",
        minimum=-1.0,
        maximum=1e6,
    )
    joint_error_clip: tuple[float, ...] = parameter(
        (0.5,),
        "Distance from the reference beyond which the spring pulls no more in the mode joint_impedance, one"
        " per joint or one for all",
        unit="rad or m",
        minimum=1e-6,
        maximum=1e6,
    )

    max_effort_rate: tuple[float, ...] = parameter(
        (),
        "Maximum rate of each joint's effort in the modes joint_impedance and cartesian_impedance, but in a"
        " stop: one per joint or one for all; 0 or empty: none",
        unit="N·m/s or N/s",
        minimum=0.0,
        maximum=1e9,
    )
    position_filter: float = parameter(
        0.0,
        "Time constant of a low-pass filter of measured positions in the modes joint_impedance and"
        " cartesian_impedance; 0: none",
        unit="s",
        minimum=0.0,
        maximum=LONGEST_FILTER,
    )
    velocity_filter: float = parameter(
        0.0,
        "Time constant of a low-pass filter of measured velocities in the modes joint_impedance and"
        " cartesian_impedance; 0: none",
        unit="s",
        minimum=0.0,
        maximum=LONGEST_FILTER,
    )
    effort_filter: float = parameter(
        0.0,
        "Time constant of a low-pass filter of the efforts in the modes joint_impedance and"
        " cartesian_impedance, but in a stop; 0: none",
        unit="s",
        minimum=0.0,
        maximum=LONGEST_FILTER,
    )

    def __post_init__(self) -> None:
        validate(self)
        for name in ("joint_stiffness", "joint_damping", "joint_error_clip"):
            if not getattr(self, name):
                raise ParameterError(f"parameter '{name}' is empty; give one value, or one per joint")
        for value in self.joint_damping:
            if value < 0.0 and value != -1.0:
                raise ParameterError(
                    f"parameter 'joint_damping' is {value:g}; it must not be negative, or -1: critical"
                )

    @property
    def smoothing(self) -> tuple[float, float, float]:
        """Time constants of the filters of positions, velocities and efforts [s]."""
        return self.position_filter, self.velocity_filter, self.effort_filter

    @property
    def smoothing_delay(self) -> float:
        """Delay of the springs or dampers by the filters, whichever is longer [s]."""
        return max(self.position_filter, self.velocity_filter) + self.effort_filter

    def impedance(self, chain: KinematicChain) -> dict[str, Array]:
        """Arrays (n,) of the law, by their names in ``rd_settings``.

        Raises:
            ParameterError: a list does not fit the joints.
        """
        fields = {"stiffness": self.joint_stiffness, "damping": self.joint_damping}
        fields["error_clip"] = self.joint_error_clip
        found = {name: per_joint(value, chain.joint_names, f"joint_{name}") for name, value in fields.items()}
        rates = per_joint(self.max_effort_rate or (0.0,), chain.joint_names, "max_effort_rate")
        return {**found, "effort_rates": np.where(rates > 0.0, rates, np.inf)}

    def equivalent_gains(self, chain: KinematicChain, arm: EffortModel) -> tuple[Array, Array]:
        """Gains (n,) on accelerations, [1/s²] and [1/s], as fast as the impedance at any pose.

        The largest are those of the whole arm; the joints share them as they would have them alone.
        """
        given = self.impedance(chain)
        stiffness, damping = given["stiffness"], given["damping"]
        found = list(poses(chain, arm))
        largest = fastest(
            (mass, np.diag(stiffness), np.diag(np.where(damping < 0.0, critical, damping)))
            for _, mass in found
            for critical in (2.0 * np.sqrt(stiffness * np.diag(mass)),)
        )
        largest = largest[0], least_damped(*largest, stiffness, damping)
        mobility = np.max([np.diag(np.linalg.inv(mass)) for _, mass in found], axis=0)
        kp = stiffness * mobility
        kv = np.where(damping < 0.0, 2.0 * np.sqrt(kp), damping * mobility)
        shares = [gains / (float(gains.max()) or 1.0) for gains in (kp, kv)]
        return largest[0] * shares[0], largest[1] * shares[1]

    def unstable(self, chain: KinematicChain, arm: EffortModel, period: float, delay: float) -> str:
        """Reason why the impedance is not stable with states every ``period`` seconds; empty where it is.

        Args:
            chain: the arm.
            arm: its model.
            period: of the states [s].
            delay: of an effort beside half a period [s].
        """
        given = self.impedance(chain)
        kp, kv = self.equivalent_gains(chain, arm)
        critical = given["damping"] < 0.0
        whole = TooFast.of((float(kp.max()), float(kv.max())), bool(critical.any()), period, delay)
        if whole.share > 1.0:
            return ""
        name = "joint_damping" if whole.damping else "joint_stiffness"
        values = given[name.removeprefix("joint_")]
        # Only the joints that are too fast give way, where that is enough.
        own = [
            TooFast.of((float(kp[j]), float(kv[j])), bool(critical[j]), period, delay).share
            for j in range(chain.dof)
        ]
        for part in COUPLED:
            stable = rounded_down(values * np.minimum(part * np.array(own), 1.0))
            softer: dict[str, Any] = {name: tuple(stable.tolist())}
            slower = replace(self, **softer)
            gains = tuple(float(gain.max()) for gain in slower.equivalent_gains(chain, arm))
            if TooFast.of((gains[0], gains[1]), bool(critical.any()), period, delay).share > 1.0:
                return at_most(name, values, stable, period)
        return at_most(name, values, values * whole.share, period)


class TooFast(NamedTuple):
    """An impedance that is not stable with the period of the states.

    Attributes:
        share: of the stiffness, or of the damping, that is stable.
        damping: whether the damping is at fault.
    """

    share: float
    damping: bool

    @staticmethod
    def of(gains: tuple[float, float], critical: bool, period: float, delay: float) -> TooFast:
        """Share that is stable; 1 or more: all of it.

        Args:
            gains: on accelerations, as fast as the impedance at any pose [1/s², 1/s].
            critical: whether any damping follows the stiffness.
            period: of the states [s].
            delay: of an effort beside half a period [s].
        """
        (kp, kv), latency = gains, INERTIA_RATIO * (0.5 * period + delay)
        if critical:
            return TooFast(min(1.0 / (kv * latency), kv / (kp * latency)) ** 2 if kp > 0.0 else np.inf, False)
        if kv * latency >= 1.0:
            return TooFast(1.0 / (kv * latency), True)
        return TooFast(kv / (kp * latency) if kp > 0.0 else np.inf, False)


def least_damped(kp: float, kv: float, stiffness: Array, damping: Array) -> float:
    """``kv`` [1/s], or less where a direction that it does not damp has less damping for its stiffness.

    Args:
        kp, kv: the largest of all directions [1/s², 1/s].
        stiffness, damping: of each direction; a negative damping is critical.
    """
    given = (stiffness > 0.0) & (damping > 0.0)
    ratio = float(np.max(stiffness[given] / damping[given], initial=0.0))
    return min(kv, kp / ratio) if ratio > kv else kv


def rounded_down(values: Array) -> Array:
    """Values with two digits, none of them larger than before."""
    digits = 10.0 ** (np.floor(np.log10(np.maximum(values, 1e-300))) - 1.0)
    return np.asarray(np.floor(values / digits * (1.0 + 1e-12)) * digits)


def at_most(name: str, values: Array, stable: Array, period: float) -> str:
    """Reason why values are refused, with those that are stable.

    Args:
        name: of the parameter.
        values: that are refused.
        stable: the largest that are stable; they are rounded down to two digits.
        period: of the states [s].
    """
    if not (stable > 0.0).any():
        return (
            f"parameter '{name}' is {', '.join(f'{value:g}' for value in values)}: no stiffness is stable"
            " without damping; a damping of -1 is critical"
        )
    most = ", ".join(f"{value:g}" for value in rounded_down(stable))
    return (
        f"parameter '{name}' is {', '.join(f'{value:g}' for value in values)}: with a state every"
        f" {1e3 * period:.3g} ms at most {most} is stable"
    )


def fastest(systems: Iterable[tuple[Array, Array, Array]]) -> tuple[float, float]:
    """Largest eigenvalues of M⁻¹K and M⁻¹D over (M, K, D), each (n, n)."""
    largest = np.zeros(2)
    for mass, *others in systems:
        for k, matrix in enumerate(others):
            rate = np.linalg.eigvals(np.linalg.solve(mass, matrix)).real.max()
            largest[k] = max(largest[k], float(rate))
    return float(largest[0]), float(largest[1])


def poses(chain: KinematicChain, arm: EffortModel) -> Iterator[tuple[Array, Array]]:
    """Positions (n,) over the range of the joints, with their mass matrices (n, n), rotors included."""
    n = chain.dof
    limits = [chain.driving_joint(j).limits for j in range(n)]
    lower = np.array([max(limit.lower, -np.pi) for limit in limits])
    upper = np.array([min(limit.upper, np.pi) for limit in limits])
    zero = np.zeros(n)
    for q in lower + (upper - lower) * np.random.default_rng(0).random((POSES, n)):
        load = np.array(arm.inverse_dynamics(q, zero, zero))
        yield q, np.stack([arm.inverse_dynamics(q, zero, row) - load for row in np.eye(n)], axis=1)
