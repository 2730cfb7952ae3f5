"""Inverse dynamics of a platform with joint reactions and limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.inputs.arrays import of_type
from robot_dynamics.inputs.records import check_arrays
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.checks import (
    OnViolation,
    Violation,
    act_on,
    load_violations,
    pose_violations,
    require_finite,
)
from robot_dynamics.stewart.kinematics import condition_number
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.newton_euler import Model, Reactions, balance


@dataclass(frozen=True)
class InverseDynamics:
    """Forces and motion of the legs; leading batch axes are kept, legs in the machine's order.

    Attributes:
        actuator_forces: (..., 6) positive when the leg pushes, F [N].
        static_forces: (..., 6) with massless legs and frictionless joints, springs at work, F_0 [N].
        leg_lengths: (..., 6) [m].
        leg_velocities: (..., 6) [m/s].
        leg_accelerations: (..., 6) [m/s²].
        jacobian: (..., 6, 6) from platform velocity (linear, angular; base frame) to leg velocities.
        condition_number: (...) of the Jacobian in SI units, by singular values.
        scaled_condition_number: (...) with moments divided by the machine's characteristic length.
        violations: limits that are not kept.
        reactions: at the joints, base frame.
    """

    actuator_forces: Array
    static_forces: Array
    leg_lengths: Array
    leg_velocities: Array
    leg_accelerations: Array
    jacobian: Array
    condition_number: Array
    scaled_condition_number: Array
    violations: tuple[Violation, ...]
    reactions: Reactions

    def __post_init__(self) -> None:
        check_arrays(self, *list(self.__dataclass_fields__)[:-2])
        of_type("violations of an InverseDynamics", self.violations, tuple)
        of_type("reactions of an InverseDynamics", self.reactions, Reactions)

    @property
    def dynamic_forces(self) -> Array:
        """(..., 6) what inertia and weight of the legs, drives and friction take, F_d = F - F_0 [N]."""
        return self.actuator_forces - self.static_forces

    @property
    def dynamic_fraction(self) -> Array:
        """(..., 6) F_d / F; infinite or undefined where a force vanishes."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.dynamic_forces / self.actuator_forces


def inverse_dynamics(
    machine: Machine, motion: Motion, model: Model = "exact", on_violation: OnViolation = "raise"
) -> InverseDynamics:
    """Inverse dynamics; see :meth:`StewartPlatform.inverse_dynamics` for the arguments and the errors."""
    with np.errstate(over="ignore", invalid="ignore"):  # reported by name below
        asked = balance(machine, motion, model)
    require_finite(asked.wrench, motion)
    pose = pose_violations(machine, asked.legs, motion.rotation)
    act_on(pose, on_violation)
    forces, static = asked.solve()
    require_finite(forces, motion)
    load = load_violations(machine, asked.motion.sliding_velocity, forces)
    act_on(load, on_violation)
    jacobian = asked.legs.jacobian
    return InverseDynamics(
        actuator_forces=forces,
        static_forces=static,
        leg_lengths=asked.legs.lengths,
        leg_velocities=asked.motion.sliding_velocity,
        leg_accelerations=asked.motion.sliding_acceleration,
        jacobian=jacobian,
        condition_number=condition_number(jacobian),
        scaled_condition_number=condition_number(jacobian, machine.characteristic_length),
        violations=pose + load,
        reactions=asked.reactions(forces),
    )
