"""Symmetric block tridiagonal systems of 2 x 2 blocks, solved for all blocks at once.

Odd-even reduction (Golub & Van Loan, Matrix Computations, section 4.5.4): every second block is eliminated,
which leaves a system of the same form and half the size. It is Gaussian elimination in another order, so it
is as stable for positive definite matrices, and it takes O(K) operations in O(log K) calls of numpy.

Blocks come last in every array, so that each operation runs along contiguous memory.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.spatial import Array


def solve_symmetric(diagonal: Array, upper: Array, right: Array) -> Array:
    """The solution z of ``diagonal[k] z[k] + upper[k] z[k+1] + upper[k-1].T z[k-1] = right[k]``.

    Args:
        diagonal: (2, 2, K) symmetric blocks of a positive definite matrix.
        upper: (2, 2, K - 1) blocks to the right of the diagonal.
        right: (2, n, K) right-hand sides.

    Returns:
        (2, n, K)
    """
    count = diagonal.shape[2]
    if count == 1:
        return _solve_blocks(diagonal, right)
    odd, between = count // 2, (count - 1) // 2
    # An odd block has an even one on its left, and one on its right unless it is the last.
    from_left, to_right = upper[:, :, 0::2], upper[:, :, 1::2]
    middle = diagonal[:, :, 1::2]
    own = _solve_blocks(middle, right[:, :, 1::2])
    left = _solve_blocks(middle, from_left.swapaxes(0, 1))
    ahead = _solve_blocks(middle[:, :, :between], to_right)

    to_left = to_right.swapaxes(0, 1)
    diagonal_even, right_even = diagonal[:, :, 0::2].copy(), right[:, :, 0::2].copy()
    diagonal_even[:, :, :odd] -= product(from_left, left)
    diagonal_even[:, :, 1:] -= product(to_left, ahead)
    right_even[:, :, :odd] -= product(from_left, own)
    right_even[:, :, 1:] -= product(to_left, own[:, :, :between])
    upper_even = -product(from_left[:, :, :between], ahead)

    even = solve_symmetric(diagonal_even, upper_even, right_even)
    own -= product(left, even[:, :, :odd])
    own[:, :, :between] -= product(ahead, even[:, :, 1:])
    solution = np.empty_like(right)
    solution[:, :, 0::2], solution[:, :, 1::2] = even, own
    return solution


def product(first: Array, second: Array) -> Array:
    """(2, n, K) products of K pairs of (2, 2) and (2, n)."""
    result = np.empty((2, *second.shape[1:]))
    for i in (0, 1):
        np.multiply(first[i, 0], second[0], out=result[i])
        result[i] += first[i, 1] * second[1]
    return result


def _solve_blocks(matrix: Array, right: Array) -> Array:
    """(2, n, K) solutions of K systems (2, 2, K) with right-hand sides (2, n, K), by elimination."""
    (a, b), (c, d) = matrix
    factor = c / a
    result = np.empty(right.shape)
    np.divide(right[1] - factor * right[0], d - factor * b, out=result[1])
    np.divide(right[0] - b * result[1], a, out=result[0])
    return result
