"""The closed form that the paper leaves to future work, as `task_space_dynamics` gives it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from robot_dynamics.papers.dasgupta.machines import frictionless, general_machine, paper_platform
from robot_dynamics.papers.evidence.finding import PaperFinding, relative_error, within
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.dynamics import TaskSpaceDynamics
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.orientation import quaternion_from_rotation
from robot_dynamics.stewart.platform import StewartPlatform


def closed_form(folder: Path) -> Iterator[PaperFinding]:
    """M a + b = J' F, its symmetry and its energy."""
    asked = (
        "closed form dynamic equations, useful for simulation and the design of control systems (section 6)"
    )
    for name, platform in (
        ("the paper's machine", paper_platform()),
        ("a general machine", StewartPlatform(general_machine())),
    ):
        errors, skew, least, energy = [], [], [], []
        for seed in range(5):
            motion, dynamics = _state(platform, seed)
            acceleration = np.concatenate([motion.linear_acceleration, motion.angular_acceleration])
            run = platform.inverse_dynamics_of(motion, "exact", on_violation="report")
            expected = run.jacobian.T @ run.actuator_forces
            errors.append(relative_error(dynamics.mass_matrix @ acceleration + dynamics.bias, expected))
            matrix = _columns(platform, motion)
            skew.append(max(relative_error(matrix.T, matrix), relative_error(matrix, dynamics.mass_matrix)))
            least.append(float(np.linalg.eigvalsh(dynamics.mass_matrix).min()))
            energy.append(_power_error(platform, motion))
        yield within(
            f"M(x) a + b(x, v) = J' F, {name}",
            asked,
            max(errors),
            "5 random states, against inverse dynamics",
        )
        yield PaperFinding(
            f"M(x) symmetric and positive definite, {name}",
            asked,
            f"column by column from inverse dynamics: asymmetry {max(skew):.0e}, smallest eigenvalue"
            f" {min(least):.2g}",
            max(skew) < 1e-9 and min(least) > 0.0,
            "not symmetric or not positive definite",
        )
        yield within(
            f"actuator power and energy, {name}",
            asked,
            max(energy),
            "power of actuators, less friction, against the rate of v' M v / 2 and of the potential energy",
            1e-5,
        )


def _state(platform: StewartPlatform, seed: int) -> tuple[Motion, TaskSpaceDynamics]:
    random = np.random.default_rng([seed, 5])
    machine = platform.machine
    v, w, a, alpha = 0.5 * random.normal(size=(4, 3))
    position = machine.home_position + 0.02 * random.normal(size=3)
    orientation = quaternion_from_rotation(machine.home_rotation)
    motion = platform.motion(position, orientation, v, w, a, alpha)
    return motion, platform.task_space_dynamics(position, orientation, v, w)


def _columns(platform: StewartPlatform, motion: Motion) -> Array:
    """M (6, 6) from the forces of unit accelerations."""
    units = np.vstack([np.zeros(6), np.eye(6)])
    wrenches = []
    for unit in units:
        one = motion._replace(linear_acceleration=unit[:3], angular_acceleration=unit[3:])
        run = platform.inverse_dynamics_of(one, "exact", on_violation="report")
        wrenches.append(run.jacobian.T @ run.actuator_forces)
    return np.asarray(np.array(wrenches[1:]).T - np.array(wrenches[0])[:, None])


def _power_error(platform: StewartPlatform, motion: Motion) -> float:
    """Relative error of the power balance at one state, without gravity and friction in the energy's rate."""
    smooth = StewartPlatform(frictionless(platform.machine))
    run = smooth.inverse_dynamics_of(motion, "exact", on_violation="report")
    power = float(run.actuator_forces @ run.leg_velocities)
    step, rate = 2e-3, 0.0
    for k, weight in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), 1):
        for sign in (1, -1):
            rate += sign * weight / step * _kinetic(smooth, moved(motion, sign * k * step))
    still = motion._replace(linear_acceleration=np.zeros(3), angular_acceleration=np.zeros(3))
    weightless = smooth.task_space_dynamics(
        motion.position, quaternion_from_rotation(motion.rotation), np.zeros(3), np.zeros(3)
    )
    twist = np.concatenate([still.linear_velocity, still.angular_velocity])
    return relative_error([rate + float(weightless.bias @ twist)], [power])


def _kinetic(platform: StewartPlatform, motion: Motion) -> float:
    twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
    orientation = quaternion_from_rotation(motion.rotation)
    dynamics = platform.task_space_dynamics(
        motion.position, orientation, motion.linear_velocity, motion.angular_velocity
    )
    return float(0.5 * twist @ dynamics.mass_matrix @ twist)


def moved(motion: Motion, time: float) -> Motion:
    """The motion a little later or earlier, with its accelerations constant."""
    v = motion.linear_velocity + time * motion.linear_acceleration
    w = motion.angular_velocity + time * motion.angular_acceleration
    position = motion.position + time * motion.linear_velocity + 0.5 * time**2 * motion.linear_acceleration
    return motion._replace(
        position=position, rotation=_turned(motion, time), linear_velocity=v, angular_velocity=w
    )


def _turned(motion: Motion, time: float) -> Array:
    """Rotation after ``time`` under w + alpha t, by Runge-Kutta in small steps."""
    steps = 8
    h = time / steps
    rotation = np.array(motion.rotation, dtype=float)

    def rate(at: float, r: Array) -> Array:
        w = motion.angular_velocity + at * motion.angular_acceleration
        return np.asarray(np.array([np.cross(w, column) for column in r.T]).T)

    for k in range(steps):
        t = k * h
        k1 = rate(t, rotation)
        k2 = rate(t + h / 2, rotation + h / 2 * k1)
        k3 = rate(t + h / 2, rotation + h / 2 * k2)
        k4 = rate(t + h, rotation + h * k3)
        rotation = rotation + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    u, _, vt = np.linalg.svd(rotation)
    return np.asarray(u @ vt)
