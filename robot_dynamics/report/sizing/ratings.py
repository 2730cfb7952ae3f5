"""Use of actuators, motors and supply in a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.report.sizing.loads import Loads
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import NO_DRIVE, Machine


@dataclass(frozen=True)
class Ratings:
    """Use of the actuators in a motion, (6,) each; infinite or NaN where the machine has no such rating.

    Attributes:
        peak_use: greatest force over the force limit.
        continuous_use: root mean square of the force over the continuous force.
        curve_use: greatest force over the actuator's force at the same speed.
        curve_time: when that is [s].
        motor_speed: greatest speed of the motor [rad/s]; NaN without a drive.
        motor_torque: greatest torque of the motor, its inertia included, no loss of the gear [N·m].
        motor_rms_torque: its root mean square [N·m].
    """

    peak_use: Array
    continuous_use: Array
    curve_use: Array
    curve_time: Array
    motor_speed: Array
    motor_torque: Array
    motor_rms_torque: Array

    def rows(self) -> dict[str, Array]:
        """Values (6,) by name, SI units."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Supply:
    """Mechanical power of all six actuators together in a motion.

    Attributes:
        peak: greatest sum [W].
        mean: mean of the sum, returned power subtracted [W].
        regeneration: greatest returned sum; the supply or a resistor takes it [W].
        regeneration_mean: mean of the returned sum [W].
        returned_energy: greatest energy that is returned without a break [J].
    """

    peak: float
    mean: float
    regeneration: float
    regeneration_mean: float
    returned_energy: float


def ratings(machine: Machine, loads: Loads) -> Ratings:
    """Use of the actuators and motors.

    Args:
        machine: has the ratings.
        loads: of the motion.
    """
    limits, force, speed = [leg.limits for leg in machine.legs], np.abs(loads.force), np.abs(loads.speed)
    rms = np.sqrt(loads.mean(force**2))
    able = np.column_stack([limit.force_at_speed(speed[:, k]) for k, limit in enumerate(limits)])
    with np.errstate(divide="ignore", invalid="ignore"):
        use = np.where(force > 0.0, force / able, 0.0)
        peak = force.max(axis=0) / np.array([limit.force for limit in limits])
        continuous = rms / np.array([limit.continuous_force for limit in limits])
    driven = np.array([leg.drive != NO_DRIVE for leg in machine.legs])
    turns = np.array([2.0 * np.pi * leg.drive.gear_ratio / leg.drive.lead for leg in machine.legs])
    turns = np.where(driven, turns, np.nan)
    return Ratings(
        peak_use=peak,
        continuous_use=continuous,
        curve_use=use.max(axis=0),
        curve_time=loads.time[use.argmax(axis=0)],
        motor_speed=speed.max(axis=0) * turns,
        motor_torque=force.max(axis=0) / turns,
        motor_rms_torque=rms / turns,
    )


def supply(loads: Loads) -> Supply:
    """Power of all actuators together."""
    total = loads.power.sum(axis=1)
    returned = (-total).clip(min=0.0)
    steps = np.diff(loads.time)
    energies = 0.5 * (returned[1:] + returned[:-1]) * steps
    greatest = running = 0.0
    for energy, going in zip(energies.tolist(), (returned[1:] > 0.0).tolist(), strict=True):
        running += energy
        greatest = max(greatest, running)
        running = running if going else 0.0
    return Supply(
        peak=float(total.max()),
        mean=float(loads.mean(total[:, None])[0]),
        regeneration=float(returned.max()),
        regeneration_mean=float(loads.mean(returned[:, None])[0]),
        returned_energy=greatest,
    )
