"""Errors of Turney, Mudge and Lee's print, each evaluated as printed and as corrected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.dynamics.formulations import modified_newton_euler
from robot_dynamics.dynamics.formulations.newton_euler import angular_matrix
from robot_dynamics.dynamics.scalar import axial
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.dynamics.strobing import strobed_mass_matrix
from robot_dynamics.papers.evidence.finding import Erratum, relative_error
from robot_dynamics.papers.evidence.kinematics import energies, frame_motion, random_arm, random_state
from robot_dynamics.papers.turney.strobing import coriolis_cost
from robot_dynamics.spatial import Array

_RANDOM = np.random.default_rng(3)
_W, _AL, _R, _RBAR, _A0 = _RANDOM.normal(size=(5, 3))
_MASS, _I = 1.7, np.diag([0.3, 0.4, 0.5])


def _turn(w: Array, al: Array, r: Array) -> Array:
    return np.asarray(np.cross(w, np.cross(w, r)) + np.cross(al, r))


def _expected_moment() -> Array:
    return np.asarray(_I @ _AL + np.cross(_W, _I @ _W))


def _matrix_k() -> Array:
    return np.asarray(0.5 * np.trace(_I) * np.eye(3) - _I)


def _about_origin() -> tuple[float, float]:
    a, k = angular_matrix(_W, _AL), _matrix_k()
    arm = _R + _RBAR
    shifted = k + _MASS * np.outer(arm, arm)
    return (
        relative_error(axial(a @ shifted), _expected_moment()),
        relative_error(axial(a @ k), _expected_moment()),
    )


def _sign() -> tuple[float, float]:
    moment = axial(angular_matrix(_W, _AL) @ _matrix_k())
    return relative_error(-moment, _expected_moment()), relative_error(moment, _expected_moment())


def _entry() -> tuple[float, float]:
    right = angular_matrix(_W, _AL)
    wrong = right.copy()
    wrong[2, 1] = _W[2] * _W[1] + _AL[2]
    expected = _turn(_W, _AL, _R)
    return relative_error(wrong @ _R, expected), relative_error(right @ _R, expected)


def _center() -> tuple[float, float]:
    expected = _turn(_W, _AL, _R + _RBAR) + _A0
    base = _turn(_W, _AL, _R) + _A0
    return relative_error(_turn(_W, _AL, _R) + base, expected), relative_error(
        _turn(_W, _AL, _RBAR) + base, expected
    )


def _frames() -> tuple[float, float]:
    """(3.16) with omega_i in its own frame i, and with omega_{i-1} in frame i-1 where z_{i-1} is."""
    model = random_arm(2)
    q, qd, qdd = random_state(model)
    motion = frame_motion(model, q, qd, qdd, standard=True)
    i, z = 4, np.array([0.0, 0.0, 1.0])
    before, own = motion.rotation[i - 1], motion.rotation[i]
    turn = own.T @ before
    al = before.T @ motion.angular_acceleration[i - 1]
    errors = [
        relative_error(
            turn @ (al + np.cross(w, z) * qd[i] + z * qdd[i]), own.T @ motion.angular_acceleration[i]
        )
        for w in (own.T @ motion.angular_velocity[i], before.T @ motion.angular_velocity[i - 1])
    ]
    return errors[0], errors[1]


def _strobed_pair() -> tuple[float, float]:
    model = replace(random_arm(4), gravity=np.zeros(3))
    q, _, _ = random_state(model)
    rest, units = np.zeros(model.dof), np.eye(model.dof)

    def run(rates: Array) -> Array:
        return np.asarray(modified_newton_euler(model, q, rates, rest), dtype=float)

    both, first, second = run(units[1] + units[3]), run(units[1]), run(units[3])
    # C_jk by Christoffel's symbols of the mass matrix, whose derivatives are taken by differences.
    derivative = _mass_derivatives(q, model)
    expected = 0.5 * (derivative[3][:, 1] + derivative[1][:, 3] - np.array([d[1, 3] for d in derivative]))
    return relative_error(both, expected), relative_error(0.5 * (both - first - second), expected)


def _mass_derivatives(q: Array, model: SerialModel) -> list[Array]:
    derivatives = []
    for unit in np.eye(len(q)):
        total = np.zeros((len(q), len(q)))
        for k, weight in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), 1):
            for sign in (1, -1):
                total += sign * weight / 5e-3 * strobed_mass_matrix(model, q + sign * k * 5e-3 * unit)
        derivatives.append(total)
    return derivatives


def _kinetic() -> tuple[float, float]:
    model = random_arm(4)
    q, qd, _ = random_state(model)
    matrix, kinetic = strobed_mass_matrix(model, q), energies(model, q, qd)[0]
    return relative_error([0.5 * matrix.sum()], [kinetic]), relative_error(
        [0.5 * qd @ matrix @ qd], [kinetic]
    )


def _potential() -> tuple[float, float]:
    """dP.E./dtheta with either sign of P.E., against the torques that hold the arm."""
    model = random_arm(4)
    q, _, _ = random_state(model)
    rest = np.zeros(model.dof)
    holding = np.asarray(modified_newton_euler(model, q, rest, rest), dtype=float)
    step, slope = 1e-4, []
    for unit in np.eye(model.dof):
        heights = [energies(model, q + sign * step * unit, rest)[1] for sign in (1, -1)]
        slope.append((heights[0] - heights[1]) / (2.0 * step))
    return relative_error(-np.array(slope), holding), relative_error(np.array(slope), holding)


def _summands() -> tuple[float, float]:
    n = 6
    summed = sum(16 * q * (q + 1) + 32 for q in range(1, n + 1))
    printed, corrected = 32 * n + 16 * n * (n * n - 1) / 3, 32 * n + 16 * n * (n + 1) * (n + 2) / 3
    return relative_error([printed], [summed]), relative_error([corrected], [summed])


def _second_derivatives() -> tuple[float, float]:
    n = 6
    products = sum(48 * i * (i - 1) / 2 for i in range(1, n + 1))
    return relative_error([16 * n * (n * n - 1)], [products]), relative_error(
        [8 * n * (n * n - 1)], [products]
    )


def _dynamic_runs() -> tuple[float, float]:
    """Powers of n: of n(n+1)/2, and of n(n+1)(2n+1)/6, against that of the counted dynamic part of C."""
    power = len(coriolis_cost().dynamic.multiplications.coefficients) - 1
    return relative_error([2.0], [power]), relative_error([3.0], [power])


ERRATA = (
    Erratum(
        "section 5, K_i",
        "an inertial matrix about origin i-1, expressed in frame i",
        "about the center of mass, as the printed entries are",
        "Integrate d x (A d) over the link with d = r_i + rbar_i + x, x from the center of mass: it gives"
        " axial(A int x x' dm) + m (r_i + rbar_i) x A (r_i + rbar_i). The second part is in m (r_i +"
        " rbar_i) x"
        " abar_i of (5.2) already, so K_i = int x x' dm = Tr(I_i)/2 E - I_i about the center of mass.",
        "Tr{A K sigma} against I alpha + omega x (I omega)",
        _about_origin,
    ),
    Erratum(
        "after (5.2), components of n_i",
        "(A K)_yz - (A K)_zy for n_x",
        "(A K)_zy - (A K)_yz, and cyclic",
        "n_x = int (d_y (A d)_z - d_z (A d)_y) dm = (A K)_zy - (A K)_yz with K = int d d' dm.",
        "moment against I alpha + omega x (I omega)",
        _sign,
    ),
    Erratum(
        "section 5, entry (3, 2) of A_i",
        "omega_z omega_y + alpha_z",
        "omega_z omega_y + alpha_x",
        "A = omega omega' - Tr{omega omega'} E + alpha^, and entry (3, 2) of the skew matrix alpha^ is"
        " alpha_x.",
        "A r against omega x (omega x r) + alpha x r",
        _entry,
    ),
    Erratum(
        "(3.16)",
        "R (alpha_{i-1} + omega_i x z_{i-1} theta_i' + ...)",
        "omega_{i-1} x z_{i-1}, as in (3.4)",
        "In one common frame both are the same, since omega_i = omega_{i-1} + z_{i-1} theta_i' and z x z ="
        " 0. But"
        " in (3.15) to (3.21) omega_i is expressed in frame i and z_{i-1} in frame i-1; the cross product of"
        " components from two frames is no vector.",
        "alpha_i against derivatives of the positions",
        _frames,
    ),
    Erratum(
        "(3.18)",
        "abar_i = omega_i x (omega_i x r_i) + alpha_i x r_i + a_i",
        "with rbar_i, as in (3.8)",
        "The center of mass lies at rbar_i from the origin of frame i, which accelerates with a_i.",
        "abar_i against the acceleration of the center of mass",
        _center,
    ),
    Erratum(
        "end of section 3, strobing C",
        "with theta_j' and theta_k' at 1 the equations give C_jk",
        "they give C_jj + C_kk + 2 C_jk: C_jk = (tau(j, k) - tau(j) - tau(k)) / 2",
        "With qd = e_j + e_k, qd' C^i qd = C^i_jj + C^i_kk + C^i_jk + C^i_kj, and C^i is symmetric. So the"
        " runs"
        " with one velocity each have to be taken off, and the rest halved.",
        "C_jk against Christoffel's symbols of M",
        _strobed_pair,
    ),
    Erratum(
        "(2.6)",
        "K.E. = 1/2 sum of Tr{...}, without velocities",
        "with theta_j' theta_k' in each term, as (2.5) has them",
        "Integrating (2.5) over the links replaces d d' dm by J_q and leaves the velocities.",
        "kinetic energy against that of the links",
        _kinetic,
    ),
    Erratum(
        "(2.1), (2.7): sign of the potential energy",
        "P.E. = - sum of g z_0' T m rbar, tau_i = ... - dP.E./dtheta_i",
        "P.E. = + sum of g z_0' T m rbar, tau_i = ... + dP.E./dtheta_i; the two slips cancel in (2.10)",
        "z_0 points up and g = 9.8 m/s²: the energy of a mass grows with its height. Lagrange's equation with"
        " L = K.E. - P.E. gives + dP.E./dtheta_i.",
        "slope of the potential energy against the torques that hold the arm",
        _potential,
    ),
    Erratum(
        "appendix, additions of the kinetic term",
        "sum of 16 q (q+1) + 32 = 32n + (16/3) n (n² - 1)",
        "32n + (16/3) n (n+1)(n+2); and by the symmetry used elsewhere 8q² + 24q + 32 are enough",
        "sum of q (q+1) over q = 1 ... n is n (n+1)(n+2)/3.",
        "the sum, at n = 6",
        _summands,
    ),
    Erratum(
        "appendix, additions of d2T/dtheta_j dtheta_k",
        "16 n (n² - 1)",
        "8 n (n² - 1), as table 2 has it",
        "i (i-1)/2 products of 4x4 matrices with 48 additions each for link i (only 3 of 4 rows), summed"
        " over i:"
        " 24 sum of i (i-1) = 8 n (n² - 1).",
        "the sum, at n = 6",
        _second_derivatives,
    ),
    Erratum(
        "section 6, dynamic part of the cost of C",
        "d_2 n(n+1)/2",
        "grows like n(n+1)(2n+1)/6, as the kinematic part does",
        "Each of the n(n+1)/2 pairs j <= k is one run of the equations, and each run takes the dynamics of"
        " the"
        " links j ... n that move: the sum over the pairs of n - j + 1 is n(n+1)(2n+1)/6.",
        "power of n, 2 as printed and 3 as corrected, against that of the counted operations",
        _dynamic_runs,
    ),
)
