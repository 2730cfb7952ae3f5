"""Fourier series that begin and end at rest.

q(t) = c + Σ a_k sin(k ω t) + b_k cos(k ω t) has no velocity at both ends of its period where Σ k a_k = 0, and
no acceleration where Σ k² b_k = 0. Free parameters are c and coordinates of the coefficients that obey this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class Series:
    """All series of some harmonics over one period.

    Attributes:
        period: [s].
        harmonics: their number H, at least 2.
    """

    period: float
    harmonics: int

    @property
    def size(self) -> int:
        """Free parameters of a joint: its centre, then H − 1 for sines and for cosines."""
        return 2 * self.harmonics - 1

    def basis(self, time: Array) -> tuple[Array, Array, Array]:
        """(N, size) each: times the parameters, position, velocity and acceleration at ``time`` (N,)."""
        order = np.arange(1, self.harmonics + 1)
        rate = 2.0 * np.pi * order / self.period
        angle = time[:, None] * rate
        sine, cosine = np.sin(angle), np.cos(angle)
        # Each is divided by its own speed, so that the parameters weigh alike.
        sines, cosines = _null(order.astype(float)), _null(order.astype(float) ** 2)
        zero, one = np.zeros((len(time), 1)), np.ones((len(time), 1))
        return (
            np.hstack([one, sine @ sines, cosine @ cosines]),
            np.hstack([zero, (rate * cosine) @ sines, (-rate * sine) @ cosines]),
            np.hstack([zero, (-(rate**2) * sine) @ sines, (-(rate**2) * cosine) @ cosines]),
        )


def _null(row: Array) -> Array:
    """(H, H − 1) orthonormal columns with row @ columns = 0."""
    return np.asarray(np.linalg.svd(row[None])[2][1:].T)
