"""Dynamics in task space: M(pose)·acceleration + bias = jacobianᵀ·actuator forces, and its simulation.

The acceleration is (linear of the platform's origin, angular), base frame; legs included, no singularity of
the leg forces enters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.errors import ParameterError, RobotDynamicsError, SingularityError, StateError, quoted
from robot_dynamics.inputs.arrays import real_array, real_number, real_vector
from robot_dynamics.inputs.records import check_fields, numbers
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import lumped_body
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.checks import require_finite
from robot_dynamics.stewart.compiled import CompiledStewart
from robot_dynamics.stewart.machine import LEG_COUNT, Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.newton_euler import Model, balance
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_quaternion
from robot_dynamics.stewart.program import MOTION_SIZE

MOST_STEPS = 10_000_000
"""Of one simulation; their states are kept."""
Forces = Callable[[float, "State"], Array]


_STATE = {
    "position": numbers(3),
    "orientation": numbers(4),
    "linear_velocity": numbers(3),
    "angular_velocity": numbers(3),
}


@dataclass(frozen=True)
class State:
    """Pose and velocity of the platform, base frame.

    Attributes:
        position: (3,) of the platform's origin [m].
        orientation: (4,) unit quaternion x, y, z, w.
        linear_velocity: (3,) of the origin [m/s].
        angular_velocity: (3,) [rad/s].
    """

    position: Array
    orientation: Array
    linear_velocity: Array
    angular_velocity: Array

    def __post_init__(self) -> None:
        check_fields(self, _STATE, StateError)


@dataclass(frozen=True)
class TaskSpaceDynamics:
    """Dynamics at one state.

    Attributes:
        mass_matrix: (6, 6) symmetric [kg, kg·m, kg·m²].
        bias: (6,) force and moment about the platform's origin: velocity terms, friction, gravity and, with
            its sign reversed, the external wrench [N, N·m].
        jacobian: (6, 6) from platform velocity to leg rates.
    """

    mass_matrix: Array
    bias: Array
    jacobian: Array

    def __post_init__(self) -> None:
        matrix = numbers(LEG_COUNT, LEG_COUNT)
        fields = {"mass_matrix": matrix, "bias": numbers(LEG_COUNT), "jacobian": matrix}
        check_fields(self, fields, StateError)

    def acceleration(self, actuator_forces: Array) -> Array:
        """(6,) linear and angular acceleration under ``actuator_forces`` (6,) [N]; base frame [m/s², rad/s²].

        Raises:
            StateError: not six finite forces, or so great that the accelerations are not finite.
            SingularityError: the mass matrix cannot be inverted.
        """
        forces = real_vector("actuator_forces", actuator_forces, LEG_COUNT)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # reported by name below
                result = np.linalg.solve(self.mass_matrix, self.jacobian.T @ forces - self.bias)
        except np.linalg.LinAlgError as error:
            raise SingularityError(
                "the mass matrix is singular: the platform can move without mass"
            ) from error
        if not np.isfinite(result).all():
            raise StateError("the accelerations are not finite: forces or velocities are too large")
        return np.asarray(result)


def task_space_dynamics(machine: Machine, platform: Motion, model: Model = "exact") -> TaskSpaceDynamics:
    """Mass matrix, bias and Jacobian; the accelerations of ``platform`` are not looked at.

    Raises:
        StateError: more than one state, or values so great that the matrices are not finite.
        SingularityError: a universal joint is locked.
    """
    if platform.position.ndim != 1:
        raise StateError(
            f"position, velocities and load hold a batch {platform.position.shape[:-1]}; give one state"
        )
    accelerations = np.vstack([np.zeros(6), np.eye(6)])
    states = Motion(
        *(
            np.broadcast_to(value, (7, *value.shape))
            for value in platform._replace(linear_acceleration=np.zeros(3), angular_acceleration=np.zeros(3))
        )
    )._replace(linear_acceleration=accelerations[:, :3], angular_acceleration=accelerations[:, 3:])
    with np.errstate(over="ignore", invalid="ignore"):  # reported by name below
        result = balance(machine, states, model)
    require_finite(result.wrench, states)
    bias = result.wrench[0]
    matrix = (result.wrench[1:] - bias).T
    return TaskSpaceDynamics(0.5 * (matrix + matrix.T), bias, result.legs.jacobian[0])


def simulate(
    machine: Machine,
    start: State,
    forces: Forces,
    duration: float,
    step: float,
    external_force: Array | None = None,
    external_torque: Array | None = None,
    compiled: CompiledStewart | None = None,
    payload: RigidBody | None = None,
) -> tuple[Array, list[State]]:
    """Motion under actuator forces, by the classical fourth-order Runge-Kutta method.

    Args:
        machine: the platform.
        start: where it starts.
        forces: called with the time [s] and the state; returns the six actuator forces [N].
        duration: [s].
        step: [s]; the last step is shortened to end at ``duration``.
        external_force: (3,) on the platform, platform frame [N].
        external_torque: (3,) about the platform's origin, platform frame [N·m].
        compiled: actuator forces of this machine; the motion is the same, and several times quicker.
        payload: body on the platform beside the machine's own, platform frame.

    Returns:
        Times (N,) [s] and as many states, the start included.

    Raises:
        ParameterError: a duration or step that is not positive.
        StateError: a start that is no state, or ``forces`` returned something else than six finite numbers.
        SingularityError: the motion ran into a pose without finite accelerations.
    """
    duration = real_number("duration", duration, ParameterError)
    step = real_number("step", step, ParameterError)
    if not (duration >= 0.0 and step > 0.0):
        raise ParameterError(f"duration {duration} s and step {step} s must be positive")
    force = np.zeros(3) if external_force is None else real_vector("external_force", external_force, 3)
    torque = np.zeros(3) if external_torque is None else real_vector("external_torque", external_torque, 3)

    carrying = machine
    if payload is not None:
        carrying = replace(machine, platform=lumped_body((machine.platform, payload)))

    def rate(time: float, x: Array) -> Array:
        applied = _checked(forces(time, _unpack(x)), time)
        found = None if compiled is None else _compiled_rate(compiled, x, applied, force, torque, payload)
        return _rate(carrying, x, applied, force, torque) if found is None else found

    steps = duration / step
    if steps > MOST_STEPS:
        raise ParameterError(
            f"step is {step:g} s: {steps:.3g} steps in {duration:g} s; {MOST_STEPS} are possible"
        )
    x = np.concatenate(
        [
            start.position,
            _start_quaternion(start.orientation),
            start.linear_velocity,
            start.angular_velocity,
        ]
    )
    times, states = [0.0], [_unpack(x)]
    while times[-1] < duration * (1.0 - 1e-12):
        time = times[-1]
        h = min(step, duration - time)
        x = _runge_kutta_step(rate, time, x, h)
        x[3:7] /= np.linalg.norm(x[3:7])
        times.append(time + h)
        states.append(_unpack(x))
    return np.array(times), states


def state_at_rest(position: Array, rotation: Array) -> State:
    """The platform standing still."""
    return State(position.copy(), quaternion_from_rotation(rotation), np.zeros(3), np.zeros(3))


def _checked(forces: Array, time: float) -> Array:
    applied = real_array("the result of forces()", forces)
    if applied.shape != (LEG_COUNT,) or not np.isfinite(applied).all():
        raise StateError(
            f"the actuator forces at t = {time:g} s are {quoted(forces)}; six finite numbers are due"
        )
    return applied


def _start_quaternion(orientation: Array) -> Array:
    """(4,) unit quaternion of the orientation that a state starts with."""
    length = float(np.linalg.norm(orientation))
    if not 1e-9 < length < 1e9:
        raise StateError(f"start.orientation is {quoted(orientation)}; it must be a quaternion x, y, z, w")
    return np.asarray(orientation / length)


def _rate(machine: Machine, x: Array, applied: Array, force: Array, torque: Array) -> Array:
    """Rate of the state vector under actuator forces and an external wrench."""
    state, rest = _unpack(x), np.zeros(3)
    rotation = rotation_from_quaternion(state.orientation)
    velocities = (state.linear_velocity, state.angular_velocity)
    motion = Motion(state.position, rotation, *velocities, rest, rest, force, torque)
    acceleration = task_space_dynamics(machine, motion).acceleration(applied)
    return np.concatenate(
        [state.linear_velocity, _quaternion_rate(x[3:7], state.angular_velocity), acceleration]
    )


def _compiled_rate(
    compiled: CompiledStewart,
    x: Array,
    applied: Array,
    force: Array,
    torque: Array,
    payload: RigidBody | None,
) -> Array | None:
    """The same from compiled forces; None where forces do not determine the accelerations."""
    motions = np.zeros((7, MOTION_SIZE))
    motions[:] = np.concatenate([x, np.zeros(6), force, torque])
    motions[:, 3:7] /= np.linalg.norm(x[3:7])
    motions[1:, 13:19] = np.eye(6)
    if payload is not None:
        motions[:, 19:25] += _payload_wrench(payload, compiled.machine.gravity, motions)
    try:
        rows = compiled.actuator_forces(motions)
        acceleration = np.linalg.solve((rows[1:] - rows[0]).T, applied - rows[0])
    except (RobotDynamicsError, np.linalg.LinAlgError):
        return None
    if not np.isfinite(acceleration).all():
        return None
    return np.concatenate([x[7:10], _quaternion_rate(x[3:7], x[10:13]), acceleration])


def _payload_wrench(payload: RigidBody, gravity: Array, motions: Array) -> Array:
    """(N, 6) weight and inertia of a body as a wrench about the platform's origin, platform frame."""
    rotation = rotation_from_quaternion(motions[0, 3:7])
    center, spin = rotation @ payload.center_of_mass, motions[0, 10:13]
    inertia = rotation @ payload.inertia @ rotation.T
    turn = motions[:, 16:19]
    moved = motions[:, 13:16] + np.cross(turn, center) + np.cross(spin, np.cross(spin, center))
    force = payload.mass * (gravity - moved)
    torque = np.cross(center, force) - turn @ inertia - np.cross(spin, inertia @ spin)
    return np.hstack([force @ rotation, torque @ rotation])


def _runge_kutta_step(rate: Callable[[float, Array], Array], time: float, x: Array, h: float) -> Array:
    k1 = rate(time, x)
    k2 = rate(time + h / 2, x + h / 2 * k1)
    k3 = rate(time + h / 2, x + h / 2 * k2)
    k4 = rate(time + h, x + h * k3)
    return np.asarray(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


def _unpack(x: Array) -> State:
    return State(x[:3], x[3:7] / np.linalg.norm(x[3:7]), x[7:10], x[10:])


def _quaternion_rate(q: Array, w: Array) -> Array:
    x, y, z, s = q
    return 0.5 * np.array(
        [
            w[0] * s + w[1] * z - w[2] * y,
            w[1] * s + w[2] * x - w[0] * z,
            w[2] * s + w[0] * y - w[1] * x,
            -w[0] * x - w[1] * y - w[2] * z,
        ]
    )
