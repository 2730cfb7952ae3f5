"""Symmetric block tridiagonal systems: the solution is that of the dense system, and nothing else changes."""

import numpy as np
import pytest

from robot_dynamics.control.tridiagonal import product, solve_symmetric


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 11, 20])
@pytest.mark.parametrize("columns", [1, 3])
def test_the_solution_fulfils_every_row(count, columns):
    random = np.random.default_rng(count)
    upper = random.normal(size=(2, 2, count - 1))
    diagonal = np.zeros((2, 2, count))
    for k in range(count):
        block = random.normal(size=(2, 2))
        diagonal[:, :, k] = block @ block.T + 6.0 * np.eye(2)
    right = random.normal(size=(2, columns, count))
    before = [array.copy() for array in (diagonal, upper, right)]
    z = solve_symmetric(diagonal, upper, right)
    assert z.shape == right.shape
    for k in range(count):
        row = diagonal[:, :, k] @ z[:, :, k]
        if k + 1 < count:
            row = row + upper[:, :, k] @ z[:, :, k + 1]
        if k:
            row = row + upper[:, :, k - 1].T @ z[:, :, k - 1]
        np.testing.assert_allclose(row, right[:, :, k], rtol=1e-10, atol=1e-12)
    for array, kept in zip((diagonal, upper, right), before, strict=True):
        np.testing.assert_array_equal(array, kept)


@pytest.mark.parametrize("columns", [1, 3])
def test_products_are_those_of_each_pair(columns):
    random = np.random.default_rng(9)
    first, second = random.normal(size=(2, 2, 5)), random.normal(size=(2, columns, 5))
    found = product(first, second)
    for k in range(5):
        np.testing.assert_allclose(found[:, :, k], first[:, :, k] @ second[:, :, k], rtol=1e-13)
