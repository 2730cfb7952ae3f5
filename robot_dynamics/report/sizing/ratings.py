"""Use of actuators, motors and supply in a motion, and the fall after a loss of power."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import SingularityError
from robot_dynamics.report.sizing.loads import Loads
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.dynamics import State, task_space_dynamics
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import NO_DRIVE, Machine
from robot_dynamics.stewart.motion import motion_of
from robot_dynamics.stewart.orientation import rotation_from_quaternion
from robot_dynamics.stewart.platform import StewartPlatform

FALL_STEP, LANDING_STEP = 0.005, 0.0005
"""Steps of the simulated fall, and of the moment in which it ends [s]."""
LONGEST_FALL = 3.0
"""Time after which a platform is taken to be held by its friction [s]."""


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


@dataclass(frozen=True)
class Fall:
    """Motion from rest at home without actuator forces, until a leg meets an end of its stroke.

    Attributes:
        time: of the fall [s]; NaN where nothing falls onto a stop.
        leg: the leg that meets its stop.
        leg_speed: (6,) rates of the lengths then [m/s].
        energy: kinetic energy of the platform and its legs then, for the buffers [J].
        holding: (6,) forces that hold the platform at home, for the brakes [N].
    """

    time: float
    leg: str
    leg_speed: Array
    energy: float
    holding: Array


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


def fall(platform: StewartPlatform) -> Fall:
    """Fall from rest at home without actuator forces, friction and springs included."""
    machine = platform.machine
    home = motion_of(machine.home_position, [0.0, 0.0, 0.0])._replace(rotation=machine.home_rotation)
    holding = platform.inverse_dynamics_of(home, on_violation="report").actuator_forces
    nowhere = Fall(np.nan, "", np.zeros(6), 0.0, holding)
    start, time = None, 0.0
    while time < LONGEST_FALL:
        try:
            times, states = platform.simulate(lambda t, state: np.zeros(6), 0.1, FALL_STEP, start)
        except SingularityError:
            return nowhere
        for before, after, begin in zip(states, states[1:], times, strict=False):
            if _beyond(machine, after).max() > 0.0:
                return _landing(platform, before, time + begin, holding)
        start, time = states[-1], time + 0.1
    return nowhere


def _beyond(machine: Machine, state: State) -> Array:
    """(6,) lengths beyond the nearer end of the stroke, negative within it [m]."""
    lengths = leg_geometry(machine, state.position, rotation_from_quaternion(state.orientation)).lengths
    limits = [leg.limits for leg in machine.legs]
    shortest, longest = (np.array([getattr(x, name) for x in limits]) for name in ("shortest", "longest"))
    return np.asarray(np.maximum(shortest - lengths, lengths - longest))


def _landing(platform: StewartPlatform, start: State, time: float, holding: Array) -> Fall:
    """The end of a fall that has no more than a step left from ``start``, at ``time`` [s]."""
    machine = platform.machine
    _, states = platform.simulate(lambda t, state: np.zeros(6), FALL_STEP, LANDING_STEP, start)
    last = len(states) - 1
    end = next((k for k in range(1, last) if _beyond(machine, states[k]).max() > 0.0), last)
    state, over = states[end], _beyond(machine, states[end])
    leg = int(over.argmax())
    share = over[leg] / max(over[leg] - _beyond(machine, states[end - 1])[leg], 1e-300)
    rotation = rotation_from_quaternion(state.orientation)
    motion = motion_of(state.position, [0.0, 0.0, 0.0])._replace(
        rotation=rotation, linear_velocity=state.linear_velocity, angular_velocity=state.angular_velocity
    )
    dynamics = task_space_dynamics(machine, motion)
    twist = np.concatenate([state.linear_velocity, state.angular_velocity])
    energy = float(twist @ dynamics.mass_matrix @ twist) / 2.0
    landed = time + LANDING_STEP * (end - share)
    return Fall(landed, machine.leg_names[leg], dynamics.jacobian @ twist, energy, holding)
