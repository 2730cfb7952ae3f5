"""Information in a motion: the logarithm of the determinant of its base regressor's information matrix."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.identification.base_parameters import base_of
from robot_dynamics.spatial import Array

SLOW = 0.1
"""Speed about which Coulomb and viscous friction are separated [rad/s or m/s]."""
_STEP = 1e-5


class Information:
    """log det Σ Yᵀ W Y of the columns that can be separated: base parameters of links and drives.

    The regressor is the generated, compiled one of the base parameters, and so are its slopes: central
    differences of it.

    Args:
        dynamics: of the arm.
        weights: (n,) of the joints' equations, such as 1 / effort limit.
    """

    def __init__(self, dynamics: CompiledDynamics, weights: Array) -> None:
        self._dynamics, self._weights = dynamics, weights
        self._count = dynamics.chain.dof
        draw = np.random.default_rng(0)
        states = draw.uniform(-2.0, 2.0, (3, 40 * self._count, self._count))
        whole = self._all(states)
        flat = whole.reshape(-1, whole.shape[2])
        self._columns = np.array(sorted(base_of(flat).columns))
        self._scale = np.sqrt(np.mean(flat[:, self._columns] ** 2, axis=0))

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self._columns)

    def value(self, states: Array) -> float:
        """Of states (3, N, n): positions, velocities, accelerations."""
        matrix = self._matrix(states)
        return float(np.linalg.slogdet(self._gram(matrix))[1])

    def with_slopes(self, states: Array) -> tuple[float, Array]:
        """The value, and its slopes (3, N, n) with the states."""
        matrix = self._matrix(states)
        gram = self._gram(matrix)
        pull = 2.0 * matrix @ np.linalg.inv(gram) / len(matrix)
        slopes = np.zeros_like(states)
        for kind in range(3):
            for j in range(self._count):
                ahead, behind = states.copy(), states.copy()
                ahead[kind, :, j] += _STEP
                behind[kind, :, j] -= _STEP
                change = (self._matrix(ahead) - self._matrix(behind)) / (2.0 * _STEP)
                slopes[kind, :, j] = np.einsum("nij,nij->n", pull, change)
        return float(np.linalg.slogdet(gram)[1]), slopes

    def _gram(self, matrix: Array) -> Array:
        rows = matrix.reshape(-1, self.size)
        return np.asarray(rows.T @ rows / len(matrix) + 1e-9 * np.eye(self.size))

    def _matrix(self, states: Array) -> Array:
        return np.asarray(self._all(states)[:, :, self._columns] / self._scale)

    def _all(self, states: Array) -> Array:
        """(N, n, b + 4 n) columns of the links, then of rotors, damping, friction and offset."""
        q, qd, qdd = (np.ascontiguousarray(part) for part in states)
        links = np.asarray(self._dynamics.base_regressor(q, qd, qdd))
        diagonal = np.eye(self._count)
        parts = (qdd, qd, np.tanh(qd / SLOW), np.ones_like(qd))
        drives = [part[:, :, None] * diagonal for part in parts]
        return np.asarray(np.concatenate([links, *drives], axis=2) * self._weights[:, None])
