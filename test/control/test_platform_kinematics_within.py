"""Kinematics of a platform in C, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from inner_core import inner
from platform_body import POSE, TWIST, PlatformBody
from platform_legs import legs_of
from scipy.spatial.transform import Rotation

FOUND, SINGULAR, NOT_FOUND, NOT_A_LENGTH = range(4)
BEYOND = np.nan
"""Behind what a function is given: who reads it is found out."""


class Kinematics:
    """A geometry, and calls with arrays."""

    def __init__(self, base=None, top=None, length=1.1):
        self.ffi, self.calls = inner()
        made = PlatformBody()
        self.base, self.top = made.base if base is None else base, made.top if top is None else top
        self.geometry, self.length = self.ffi.new("stewart_geometry *"), length
        self.geometry.base, self.geometry.platform = self.base.tolist(), self.top.tolist()
        self.geometry.characteristic_length = length

    def array(self, values):
        return self.ffi.new("double[]", [*np.ravel(values), BEYOND])

    def legs(self, pose):
        """Lengths (6,) and Jacobian (6, 6)."""
        return legs_of(self.base, self.top, pose[:3], Rotation.from_quat(pose[3:]).as_matrix())

    def search(self, lengths, pose, tolerance=1e-10, most=30):
        """Result, pose, residual and steps."""
        place = self.array(pose)
        residual, steps = self.ffi.new("double *", -1.0), self.ffi.new("int *", -1)
        given = self.array(lengths), tolerance, most, place
        found = self.calls.stewart_forward_kinematics(self.geometry, *given, residual, steps)
        silent = self.array(pose)
        again = self.calls.stewart_forward_kinematics(
            self.geometry, *given[:3], silent, self.ffi.NULL, self.ffi.NULL
        )
        assert again == found
        np.testing.assert_array_equal(list(silent), list(place))
        assert np.isnan(place[7])
        return found, np.array(list(place)[:7]), residual[0], steps[0]

    def newton(self, lengths, pose, tolerance=1e-10, most=30):
        """The same by its description: Newton's steps, halved until the errors' squares are less."""
        pose, steps = np.concatenate([pose[:3], pose[3:] / np.linalg.norm(pose[3:])]), 0
        short = lengths - self.legs(pose)[0]
        while np.abs(short).max() > tolerance and steps < most:
            step, fraction = np.linalg.solve(self.legs(pose)[1], short), 1.0
            while True:
                turn = Rotation.from_rotvec(fraction * step[3:]) * Rotation.from_quat(pose[3:])
                trial = np.concatenate([pose[:3] + fraction * step[:3], turn.as_quat()])
                missing = lengths - self.legs(trial)[0]
                if missing @ missing < short @ short:
                    pose, short = trial, missing
                    break
                if fraction < 1e-3:
                    return NOT_FOUND, pose, np.abs(short).max(), steps + 1
                fraction *= 0.5
            steps += 1
        result = FOUND if np.abs(short).max() <= tolerance else NOT_FOUND
        return result, pose, np.abs(short).max(), steps


@pytest.fixture
def made():
    return Kinematics()


def ring(*degrees):
    return np.array([[np.cos(a), np.sin(a), 0.0] for a in np.radians(degrees)])


def quarter(away):
    """A platform like its base, and a pose so far from the singular one after a quarter turn."""
    turn = Rotation.from_euler("z", 0.5 * np.pi + away).as_quat()
    made = Kinematics(ring(10, -10, 130, 110, 250, 230), ring(50, -50, 170, 70, 290, 190))
    return made, np.concatenate([[0.0, 0.0, 1.3], turn])


@pytest.mark.parametrize("angle", [0.9, 1e-6, 1e-13, 0.0])
@pytest.mark.parametrize("size", [1.0, 0.7])
def test_a_turn_goes_on_in_the_base_frame_and_leaves_a_unit_quaternion(made, angle, size):
    vector = angle * np.array([2.0, -3.0, 6.0]) / 7.0
    for start in (POSE[3:], np.array([0.0, 0.0, 0.0, 1.0])):
        given = made.array(size * start)
        made.calls.stewart_turn(given, made.array(vector))
        turned = Rotation.from_rotvec(vector) * Rotation.from_quat(start)
        np.testing.assert_allclose(list(given)[:4], turned.as_quat(), rtol=1e-11, atol=1e-26)
        assert np.isnan(given[4])


def test_rates_of_legs_are_the_jacobian_times_the_twist(made):
    _, jacobian = made.legs(POSE)
    rates = made.ffi.new("double[]", [5.0] * 7)
    made.calls.rd_leg_rates(made.array(jacobian), made.array(TWIST), rates)
    np.testing.assert_allclose(list(rates)[:6], jacobian @ TWIST, rtol=1e-12)
    assert rates[6] == 5.0


def test_lengths_and_jacobian_of_a_pose(made):
    lengths, jacobian = (made.ffi.new("double[]", [5.0] * size) for size in (7, 37))
    made.calls.stewart_inverse_kinematics(made.geometry, made.array(POSE), lengths, jacobian)
    expected = made.legs(POSE)
    np.testing.assert_allclose(list(lengths)[:6], expected[0], rtol=1e-13)
    np.testing.assert_allclose(list(jacobian)[:36], expected[1].ravel(), rtol=1e-12, atol=1e-15)
    assert (lengths[6], jacobian[36]) == (5.0, 5.0)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_six_equations_are_solved_with_the_sign_of_their_determinant(made, columns, seed):
    draw = np.random.default_rng(seed)
    matrix, right = draw.normal(size=(6, 6)), draw.normal(size=(6, columns))
    if seed % 2:  # pivots that are zero without an exchange of rows
        matrix[0, 0] = 0.0
        matrix[1] = 2.0 * matrix[0] + np.array([0.0, 0.0, 1.0, 2.0, -1.0, 3.0])
    given, out = made.array(matrix), made.array(right)
    assert made.calls.stewart_solve(given, out, columns) == np.sign(np.linalg.det(matrix))
    np.testing.assert_allclose(list(out)[:-1], np.linalg.solve(matrix, right).ravel(), rtol=1e-9)
    assert np.isnan([given[36], out[6 * columns]]).all()


@pytest.mark.parametrize("k", range(6))
def test_rows_are_exchanged_for_the_largest_pivot(made, k):
    """A small one loses all digits."""
    matrix = np.eye(6)
    matrix[k, k] = 1e-17
    other = (k + 1) % 6
    matrix[k, other], matrix[other, k] = -1.0, -1.0
    right = np.arange(1.0, 7.0)
    out = made.array(right)
    assert made.calls.stewart_solve(made.array(matrix), out, 1) == np.sign(np.linalg.det(matrix))
    np.testing.assert_allclose(list(out)[:6], np.linalg.solve(matrix, right), rtol=1e-12)


@pytest.mark.parametrize("k", range(6))
def test_a_singular_matrix_has_no_solution(made, k):
    matrix = np.diag([3.0, -2.0, 5.0, 7.0, -4.0, 6.0])
    matrix[k, k] = 0.0
    assert made.calls.stewart_solve(made.array(matrix), made.array(np.ones(6)), 1) == 0
    matrix[k, k] = np.nan
    assert made.calls.stewart_solve(made.array(matrix), made.array(np.ones(6)), 1) == 0


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e3])
def test_the_twist_of_rates(made, size):
    _, jacobian = made.legs(POSE)
    out = made.array(np.full(6, 9.0))
    given = made.geometry, made.array(POSE)
    assert made.calls.stewart_twist(*given, made.array(size * jacobian @ TWIST), out) == FOUND
    np.testing.assert_allclose(list(out)[:6], size * TWIST, rtol=1e-10)
    assert np.isnan(out[6])
    for k in range(6):
        odd = jacobian @ TWIST
        odd[k] = np.nan
        assert made.calls.stewart_twist(*given, made.array(odd), out) == SINGULAR
        np.testing.assert_allclose(list(out)[:6], size * TWIST, rtol=1e-10)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("away", "result"), [(1e-9, FOUND), (2e-10, SINGULAR), (0.0, SINGULAR)])
def test_no_twist_is_found_near_a_singular_pose(size, away, result):
    """The platform would be more than 1e8 times as fast as the legs."""
    made, pose = quarter(away)
    rates = size * np.array([0.3, -0.2, 0.5, 0.1, -0.4, 0.6])
    out = made.array(np.full(6, 9.0))
    found = made.calls.stewart_twist(made.geometry, made.array(pose), made.array(rates), out)
    assert found == result
    if result == FOUND:
        assert np.abs(list(out)[:6]).max() > 1e4 * size
    else:
        assert list(out)[:6] == [9.0] * 6


def test_a_pose_is_found_from_its_lengths_by_newtons_steps(made):
    lengths = made.legs(POSE)[0]
    for shift, turn, size in ((0.02, 0.05, 1.0), (-0.15, 0.3, 0.8), (0.3, -0.5, 1.3)):
        start = np.concatenate(
            [POSE[:3] + shift, size * Rotation.from_rotvec([turn, -turn, 0.5 * turn]).as_quat()]
        )
        found, pose, residual, steps = made.search(lengths, start)
        assert found == FOUND and residual <= 1e-10 and steps == made.newton(lengths, start)[3]
        np.testing.assert_allclose(pose * np.r_[1, 1, 1, np.full(4, np.sign(pose[6]))], POSE, atol=1e-8)
        for most in range(steps):
            again, same, residual, taken = made.search(lengths, start, most=most)
            assert (again, taken) == (NOT_FOUND, most)
            np.testing.assert_array_equal(same, start)
            expected = made.newton(lengths, start, most=most)[2]
            np.testing.assert_allclose(residual, expected, rtol=1e-5, atol=1e-12)


def test_lengths_within_the_tolerance_need_no_step(made):
    lengths = made.legs(POSE)[0] + np.array([1e-3, 0.0, -2e-3, 0.0, 1e-3, -1e-3])
    residual = made.search(lengths, POSE, most=0)[2]
    assert residual == pytest.approx(2e-3)
    assert made.search(lengths, POSE, residual)[0::3] == (FOUND, 0)
    assert made.search(lengths, POSE, residual, 0)[0] == FOUND
    assert made.search(lengths, POSE, 0.999 * residual)[3] == 1
    assert made.search(lengths, POSE, 0.999 * residual, 0)[0] == NOT_FOUND


@pytest.mark.parametrize("most", [3, 6, 30])
@pytest.mark.parametrize("seed", range(6))
def test_steps_are_halved_until_they_come_nearer(made, seed, most):
    """From afar, and for lengths that no pose has: the search ends where no part of a step comes nearer."""
    draw = np.random.default_rng(seed)
    start = np.concatenate([[0.0, 0.1, 1.1], Rotation.from_rotvec(draw.normal(size=3)).as_quat()])
    lengths = np.array([1.0, 1.9, 1.2, 1.7, 0.8, 2.1]) + draw.uniform(-0.1, 0.1, 6)
    found, pose, residual, steps = made.search(lengths, start, most=most)
    expected = made.newton(lengths, start, most=most)
    assert (found, steps) == (expected[0], expected[3])
    np.testing.assert_allclose(residual, expected[2], rtol=1e-5, atol=1e-12)
    kept = expected[1] if found == FOUND else start
    np.testing.assert_allclose(pose * np.sign(pose[6] * kept[6]) ** [0, 0, 0, 1, 1, 1, 1], kept, atol=1e-9)


def test_a_search_ends_in_a_singular_pose():
    made, pose = quarter(0.0)
    lengths = made.legs(pose)[0] + np.array([0.01, -0.02, 0.005, 0.0, 0.01, 0.0])
    found, same, residual, steps = made.search(lengths, pose)
    assert (found, steps) == (SINGULAR, 0)
    assert residual == pytest.approx(0.02)
    np.testing.assert_array_equal(same, pose)


@pytest.mark.parametrize("odd", [0.0, -1.3, np.nan, np.inf])
def test_lengths_are_positive_and_finite(made, odd):
    lengths = made.legs(POSE)[0]
    for k in range(6):
        wrong = lengths.copy()
        wrong[k] = odd
        assert made.search(wrong, POSE)[0] == NOT_A_LENGTH
    assert made.search(0.5 * lengths, POSE, most=0)[0] == NOT_FOUND


def test_a_start_is_a_pose(made):
    lengths = made.legs(POSE)[0]
    for k in range(7):
        for odd in (np.nan, np.inf):
            wrong = POSE.copy()
            wrong[k] = odd
            assert made.search(lengths, wrong)[0] == NOT_A_LENGTH
    for axis in np.vstack([np.eye(4), POSE[3:]]):
        at = np.concatenate([POSE[:3], axis])
        results = [
            made.search(made.legs(at)[0], np.concatenate([POSE[:3], size * axis]))[0]
            for size in (0.0, 0.49, 0.51, 2.0)
        ]
        assert results == [NOT_A_LENGTH, NOT_A_LENGTH, FOUND, FOUND]
    half = np.concatenate([POSE[:3], [0.0, 0.0, 0.5, 0.0]])
    assert made.search(lengths, half)[0] == NOT_A_LENGTH


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("length", [1.0, 0.3, 2.7])
def test_the_condition_number_is_that_of_numpy(made, length, size):
    made.geometry.characteristic_length = length
    draw = np.random.default_rng(5)
    scale = np.array([1.0, 1.0, 1.0, length, length, length])
    for jacobian in (
        made.legs(POSE)[1],
        *draw.normal(size=(4, 6, 6)),
        np.diag(10.0 ** np.arange(6.0)) @ np.linalg.qr(draw.normal(size=(6, 6)))[0],
    ):
        found = made.calls.stewart_condition_number(made.geometry, made.array(size * jacobian))
        np.testing.assert_allclose(found, np.linalg.cond(jacobian / scale), rtol=1e-8)


def test_the_condition_number_of_perpendicular_columns_is_the_ratio_of_their_lengths(made):
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(6, 6)))[0]
    made.geometry.characteristic_length = 1.0
    for k, j in ((0, 5), (5, 0), (2, 3)):
        sizes = np.array([3.0, 4.0, 5.0, 4.5, 3.5, 2.5])
        sizes[k], sizes[j] = 9.0, 0.5
        for jacobian in (turn * sizes, np.diag(sizes)):
            found = made.calls.stewart_condition_number(made.geometry, made.array(jacobian))
            np.testing.assert_allclose(found, 18.0, rtol=1e-12)


@pytest.mark.parametrize("k", [0, 7, 20, 34, 35])
def test_the_condition_number_of_what_is_singular_or_no_number_is_infinite(made, k):
    for odd in (np.nan, np.inf, -np.inf):
        jacobian = made.legs(POSE)[1].ravel()
        jacobian[k] = odd
        assert made.calls.stewart_condition_number(made.geometry, made.array(jacobian)) == np.inf
    jacobian = made.legs(POSE)[1]
    jacobian[:, k % 6] = 0.0
    assert made.calls.stewart_condition_number(made.geometry, made.array(jacobian)) == np.inf


def test_a_jacobian_of_zeros_is_singular(made):
    assert made.calls.stewart_condition_number(made.geometry, made.array(np.zeros(36))) == np.inf


@pytest.mark.parametrize("seed", range(3))
def test_a_search_ends_where_no_step_comes_nearer(made, seed):
    """The errors are those of rounding."""
    turn = Rotation.from_rotvec(np.random.default_rng(seed).uniform(-0.2, 0.2, 3)).as_quat()
    pose = np.concatenate([POSE[:3], turn])
    lengths = made.legs(pose)[0] * (1.0 + 2e-16)
    assert made.search(lengths, pose, 0.0, 200)[3] < 20
