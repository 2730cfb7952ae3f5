"""Joint impedance of an arm: its parameters, and what period of the states they stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import InverseDynamics
from robot_dynamics.errors import ParameterError, short
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array

MODE = "joint_impedance"
POSES = 64
"""Poses over the range of the joints at which the mass matrix is looked at."""
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

    def impedance(self, chain: KinematicChain) -> dict[str, Array]:
        """Arrays (n,) of the law, by their names in ``rd_settings``.

        Raises:
            ParameterError: a list does not fit the joints.
        """
        fields = {"stiffness": self.joint_stiffness, "damping": self.joint_damping}
        fields["error_clip"] = self.joint_error_clip
        return {name: per_joint(value, chain.joint_names, f"joint_{name}") for name, value in fields.items()}

    def equivalent_gains(self, chain: KinematicChain, arm: InverseDynamics) -> tuple[Array, Array]:
        """Gains (n,) on accelerations, [1/s²] and [1/s], as fast as the impedance at any pose.

        They are the largest eigenvalues of M⁻¹K and M⁻¹D at the poses.
        """
        given = self.impedance(chain)
        stiffness, damping = given["stiffness"], given["damping"]
        largest = np.zeros(2)
        for mass in mass_matrices(chain, arm):
            critical = 2.0 * np.sqrt(stiffness * np.diag(mass))
            for k, values in enumerate((stiffness, np.where(damping < 0.0, critical, damping))):
                root = np.sqrt(values)
                scaled = root[:, None] * np.linalg.solve(mass, np.diag(root))
                largest[k] = max(largest[k], float(np.linalg.eigvals(scaled).real.max()))
        return np.full(chain.dof, largest[0]), np.full(chain.dof, largest[1])

    def unstable(self, chain: KinematicChain, arm: InverseDynamics, period: float, delay: float) -> str:
        """Reason why the impedance is not stable with states every ``period`` seconds.

        Args:
            chain: the arm.
            arm: its model.
            period: of the states [s].
            delay: of an effort beside half a period [s].
        """
        kp, kv = (float(gains[0]) for gains in self.equivalent_gains(chain, arm))
        latency = INERTIA_RATIO * (0.5 * period + delay)
        given = self.impedance(chain)
        name, share = "joint_stiffness", 1.0
        if (given["damping"] < 0.0).any():
            share = min(1.0 / (kv * latency), kv / (kp * latency)) ** 2
        elif kv * latency >= 1.0:
            name, share = "joint_damping", 1.0 / (kv * latency)
        else:
            share = kv / (kp * latency)
        values = given[name.removeprefix("joint_")]
        most = ", ".join(short(float(f"{share * value:.2g}")) for value in values)
        return (
            f"parameter '{name}' is {', '.join(f'{value:g}' for value in values)}: with a state every"
            f" {1e3 * period:.3g} ms at most {most} is stable"
        )


def mass_matrices(chain: KinematicChain, arm: InverseDynamics) -> list[Array]:
    """Mass matrices (n, n), rotors included, at poses over the range of the joints."""
    n = chain.dof
    limits = [chain.driving_joint(j).limits for j in range(n)]
    lower = np.array([max(limit.lower, -np.pi) for limit in limits])
    upper = np.array([min(limit.upper, np.pi) for limit in limits])
    zero = np.zeros(n)
    found = []
    for q in lower + (upper - lower) * np.random.default_rng(0).random((POSES, n)):
        load = np.array(arm.inverse_dynamics(q, zero, zero))
        found.append(np.stack([arm.inverse_dynamics(q, zero, row) - load for row in np.eye(n)], axis=1))
    return found
