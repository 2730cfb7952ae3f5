"""Errors of Dasgupta and Mruthyunjaya's print, each evaluated as printed and as corrected."""

from __future__ import annotations

from functools import cache

import numpy as np

from robot_dynamics.model.chain import RigidBody
from robot_dynamics.papers.dasgupta.closed_form import moved
from robot_dynamics.papers.dasgupta.machines import frictionless, general_machine, paper_platform
from robot_dynamics.papers.evidence.finding import Erratum, relative_error
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.newton_euler import Model, balance
from robot_dynamics.stewart.orientation import quaternion_from_rotation
from robot_dynamics.stewart.platform import StewartPlatform


def _motion(platform: StewartPlatform) -> Motion:
    random = np.random.default_rng(12)
    machine = platform.machine
    vectors = 0.8 * random.normal(size=(4, 3))
    return platform.motion(machine.home_position, quaternion_from_rotation(machine.home_rotation), *vectors)


@cache
def _platform() -> StewartPlatform:
    return StewartPlatform(frictionless(general_machine()))


def _power(model: Model) -> float:
    """Relative error of the power balance at one motion: energies from the bodies' own motion."""
    platform = _platform()
    motion = _motion(platform)
    forces = platform.inverse_dynamics_of(motion, model, on_violation="report")
    step, rate = 2e-3, 0.0
    for k, weight in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), 1):
        for sign in (1, -1):
            rate += sign * weight / step * _energy(platform, moved(motion, sign * k * step))
    power = float(forces.actuator_forces @ forces.leg_velocities)
    scale = float(np.abs(forces.actuator_forces * forces.leg_velocities).max())
    return abs(power - rate) / scale


def _energy(platform: StewartPlatform, motion: Motion) -> float:
    """Kinetic and potential energy [J] of platform and legs, with the legs turning as their joints allow."""
    machine = platform.machine
    asked = balance(machine, motion, "exact")
    total = _body(machine.gravity, machine.platform, motion.rotation, motion.position, np.zeros(3),
                  motion.linear_velocity, motion.angular_velocity)  # fmt: skip
    for i, leg in enumerate(machine.legs):
        axes, w = asked.motion.axes[i], asked.motion.angular_velocity[i]
        s, rate = asked.legs.directions[i], asked.motion.sliding_velocity[i]
        total += _body(machine.gravity, leg.lower, axes, leg.base_point, np.zeros(3), np.zeros(3), w)
        tip = asked.legs.vectors[i]
        total += _body(machine.gravity, leg.upper, axes, leg.base_point, tip, rate * s, w)
    return total


def _body(
    gravity: Array, body: RigidBody, axes: Array, origin: Array, offset: Array, slide: Array, w: Array
) -> float:
    center = offset + axes @ body.center_of_mass
    v = slide + np.cross(w, center)
    inertia = axes @ body.inertia @ axes.T
    return float(0.5 * body.mass * v @ v + 0.5 * w @ inertia @ w - body.mass * gravity @ (origin + center))


def _balance() -> tuple[float, float]:
    return _power("published"), _power("exact")


def _constraint() -> tuple[float, float]:
    """Component of the leg's angular velocity along k x y, which a universal joint forbids."""
    platform = _platform()
    motion = _motion(platform)
    errors = []
    models: tuple[Model, Model] = ("published", "exact")
    for model in models:
        asked = balance(platform.machine, motion, model)
        n = np.cross(platform.machine.universal_axes, asked.motion.axes[:, :, 1])
        along = np.einsum("ij,ij->i", n, asked.motion.angular_velocity)
        errors.append(float(np.abs(along).max() / np.abs(asked.motion.angular_velocity).max()))
    return errors[0], errors[1]


def _steiner() -> tuple[float, float]:
    """Moment about the base point that moves the upper part, with the printed inertia and with I_u."""
    random = np.random.default_rng(4)
    masses, points = (
        random.uniform(0.1, 0.5, 8),
        random.normal(scale=0.1, size=(8, 3)) + np.array([0.7, 0.0, 0.0]),
    )
    w, a = random.normal(size=(2, 3))
    accelerations = np.cross(a, points) + np.cross(w, np.cross(w, points))
    expected = np.cross(points, masses[:, None] * accelerations).sum(axis=0)
    mass = masses.sum()
    center = masses @ points / mass
    arms = points - center
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    own = np.cross(a, center) + np.cross(w, np.cross(w, center))
    moments = []
    for extra in (mass * 0.7**2 * np.diag([0.0, 1.0, 1.0]), np.zeros((3, 3))):
        i_u = inertia + extra
        moments.append(mass * np.cross(center, own) + i_u @ a + np.cross(w, i_u @ w))
    return relative_error(moments[0], expected), relative_error(moments[1], expected)


def _sign_of_k() -> tuple[float, float]:
    """Newton's law of the platform with F_s = x s + K: sum x s = R F + M (g - a) ± sum K."""
    platform = _platform()
    motion = _motion(platform)
    run = platform.inverse_dynamics_of(motion, "published", on_violation="report")
    asked = balance(platform.machine, motion, "published")
    force = np.asarray(run.reactions.spherical_force)
    s, k = asked.legs.directions, asked.across
    x = np.einsum("ij,ij->i", s, force)
    left = x @ s
    body = platform.machine.platform
    r = motion.rotation @ body.center_of_mass
    w = motion.angular_velocity
    a = motion.linear_acceleration + np.cross(motion.angular_acceleration, r) + np.cross(w, np.cross(w, r))
    load = body.mass * (platform.machine.gravity - a)
    return relative_error(load + k.sum(axis=0), left), relative_error(load - k.sum(axis=0), left)


def _unit_axis() -> tuple[float, float]:
    printed = np.array([-0.8141, 0.2714, 0.0])
    return abs(float(np.linalg.norm(printed)) - 1.0), abs(
        float(np.linalg.norm(printed / np.linalg.norm(printed))) - 1.0
    )


def _inertias() -> tuple[float, float]:
    """Violation of the triangle inequality by the printed lower tensor, and a possible tensor."""
    paper, general = paper_platform().machine.legs[0].lower.inertia, general_machine().legs[0].lower.inertia
    errors = []
    for tensor in (paper, general):
        moments = np.sort(np.linalg.eigvalsh(tensor))
        errors.append(max(0.0, float(moments[2] - moments[1] - moments[0])) / float(np.abs(moments).max()))
    return errors[0], errors[1]


ERRATA = (
    Erratum(
        "before (6), (17), (20): the universal joint",
        "no rotation about the leg axis, s · W = 0, with a constraint moment along s",
        "W · n = 0 with n = k x y, and the constraint moment along n",
        "The joint has an axis k fixed to the base and an axis y fixed to the leg, perpendicular to k and"
        " s. The leg"
        " turns about these two only, W = a k + b y; so the vanishing component of W is the one along n = k"
        " x y."
        " The joint does no work under any a and b, so its moment is along n as well. With W' = s x S'/L, W"
        " = W' -"
        " (W'·n / s·n) s; A follows from A·n + W·n' = 0; and C = M_u n + S x F_s.",
        "component of the legs' angular velocities that the joint forbids",
        _constraint,
    ),
    Erratum(
        "(16)",
        "I_u = T [I_u0 + m_u L² diag(0, 1, 1)] T'",
        "I_u = T I_u0 T', I_u0 being about the center of gravity",
        "Euler's equation (19) about the base point contains m_u r_u x a_u, r_u counted from the base"
        " point. That is the"
        " whole of the shift: int r x r'' dm = m r_c x a_c + I_c A + W x I_c W. Adding m_u L² counts it"
        " twice. The"
        " printed tensors can only be about the centers: 3 kg at 0.46 m cannot have 0.01 kg m² about the"
        " joint.",
        "moment of a cloud of point masses",
        _steiner,
    ),
    Erratum(
        "both of these: power balance",
        "the actuator forces of the printed equations",
        "those of the exact model",
        "Without friction the power of the actuators, sum F L', is the rate of kinetic and potential energy"
        " of"
        " platform and legs. The energies are computed body by body from the legs' motion.",
        "error of the power balance, of the greatest leg's power",
        _balance,
    ),
    Erratum(
        "(33)",
        "sum x_i s_i = R F_ext + M (g - a) + sum K_i",
        "- sum K_i, as (35) has it",
        "Newton's equation is - M a + M g + R F_ext - sum F_s = 0 with F_s = x s + K: the K_i change sides"
        " with the"
        " minus sign.",
        "Newton's law of the platform",
        _sign_of_k,
    ),
    Erratum(
        "appendix, k_1",
        "(-0.8141, 0.2714, 0.0000), a unit vector",
        "its norm is 0.858; only its direction can be used",
        "0.8141² + 0.2714² = 0.736. (0.9487, -0.3162, 0), the direction of b_1, has the same direction but"
        " for the"
        " sign.",
        "norm less one",
        _unit_axis,
    ),
    Erratum(
        "appendix, inertias of the leg parts",
        "I_d0 = [[0.010, 0.005, 0.007], [0.005, 0.002, 0.003], [0.007, 0.003, 0.001]]",
        "no rigid body has such a tensor; a realisable one was used for comparison",
        "A principal moment may not exceed the sum of the other two, and none may be negative: int (y² +"
        " z²) dm <= int"
        " (x² + z²) dm + int (x² + y²) dm. (The second tensor, of the upper part, is printed with the name"
        " I_d0 again.)",
        "excess of the greatest principal moment over the sum of the others",
        _inertias,
    ),
)
