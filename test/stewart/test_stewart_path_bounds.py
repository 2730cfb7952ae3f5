"""Bounds along polynomial paths hold every sample of another formulation, and are tight on short spans."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from platform_legs import replace_legs
from scipy.spatial.transform import Rotation
from stewart_oracles import HOME, random_oracle

from robot_dynamics import stewart
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.orientation import angular_motion
from robot_dynamics.stewart.path_bounds import Boxes, PathBounds, Pieces, _well_conditioned

WRENCH = np.array([40.0, -70.0, -55.0, 9.0, -6.0, 4.0])
TIMES = np.array([0.7, 1.5, 1.9, 2.8])
AXIS = np.array([2.0, -3.0, 6.0]) / 7.0
FIRST = np.array([0.1, -0.2, 0.15, 0.0])
FIRST[3] = np.sqrt(1.0 - FIRST @ FIRST)


@pytest.fixture(scope="module")
def platform():
    return stewart.load(random_oracle(4).mapping)


def pieces_of(times, axis=None, seed=3, size=0.02):
    """Polynomials near home, of coordinates that all move; pieces do not even meet."""
    random = np.random.default_rng(seed)
    coefficients = random.uniform(-size, size, (len(times) - 1, 6, 6))
    coefficients[:, 0] += HOME
    if axis is not None:
        coefficients[:, :, 4:] = 0.0
    return Pieces(times, coefficients, axis)


def exact(platform, pieces, piece, share):
    """Values of :class:`LegBounds` at places of pieces, by Newton and Euler's equations of each body."""
    machine, width = platform.machine, np.diff(pieces.times)[piece][:, None]
    powers = np.arange(6.0)
    weights = share[:, None] ** powers
    slopes = powers * share[:, None] ** np.maximum(powers - 1.0, 0.0)
    bends = powers * (powers - 1.0) * share[:, None] ** np.maximum(powers - 2.0, 0.0)
    place, rate, second = (
        np.einsum("np,npj->nj", factors, pieces.coefficients[piece]) for factors in (weights, slopes, bends)
    )
    rate, second = rate / width, second / width**2
    if pieces.axis is None:
        rotation = Rotation.from_euler("xyz", place[:, 3:]).as_matrix()
        velocity, acceleration = angular_motion(place[:, 3:], rate[:, 3:], second[:, 3:])
    else:
        first, axis = pieces.axis
        rotation = (Rotation.from_rotvec(place[:, 3:4] * axis) * Rotation.from_quat(first)).as_matrix()
        velocity, acceleration = rate[:, 3:4] * axis, second[:, 3:4] * axis
    load = [np.broadcast_to(part, (len(piece), 3)) for part in (WRENCH[:3], WRENCH[3:])]
    motion = Motion(place[:, :3], rotation, rate[:, :3], velocity, second[:, :3], acceleration, *load)
    found = platform.inverse_dynamics_of(motion, on_violation="report")
    directions = found.jacobian[..., :3]
    return SimpleNamespace(
        lengths=found.leg_lengths,
        speeds=found.leg_velocities,
        forces=found.actuator_forces,
        base_cosines=(directions * machine.home_directions).sum(axis=-1),
        platform_cosines=((directions @ rotation) * (machine.home_directions @ machine.home_rotation)).sum(
            axis=-1
        ),
        jacobian=found.jacobian * ([1.0] * 3 + [1.0 / machine.characteristic_length] * 3),
    )


LEGS = ("lengths", "speeds", "forces", "base_cosines", "platform_cosines")


def farthest(found, middle, samples):
    """Greatest deviations of samples from bounds, which all of them keep."""
    for name in LEGS:
        value, _ = getattr(found, name)
        np.testing.assert_allclose(getattr(middle, name), value, rtol=1e-9, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(middle.jacobian, found.jacobian, atol=1e-12)
    apart = dict.fromkeys((*LEGS, "jacobian"), 0.0)
    for sample in samples:
        for name in LEGS:
            value, deviation = getattr(found, name)
            away = np.abs(getattr(sample, name) - value)
            assert (away <= deviation * (1.0 + 1e-9) + 1e-10).all(), name
            apart[name] = np.maximum(apart[name], away)
        away = np.linalg.norm(sample.jacobian - found.jacobian, axis=(1, 2))
        assert (away <= found.jacobian_deviation * (1.0 + 1e-9) + 1e-12).all()
        apart["jacobian"] = np.maximum(apart["jacobian"], away)
    return apart


def check(platform, pieces, boxes, shares, tight):
    """The bounds of boxes hold samples; where ``tight`` says so they are hardly greater than these.

    ``shares`` are places in each box from -1 to 1.
    """
    found = PathBounds(platform.machine, WRENCH).of(pieces, boxes)
    middle = exact(platform, pieces, boxes.piece, boxes.center)
    samples = [exact(platform, pieces, boxes.piece, boxes.center + share * boxes.half) for share in shares]
    apart = farthest(found, middle, samples)
    if tight:
        for name in LEGS:
            assert (
                getattr(found, name)[1] < 1.02 * apart[name] + 1e-5 * np.abs(getattr(found, name)[0])
            ).all(), name
        assert (found.jacobian_deviation < 1.02 * apart["jacobian"]).all()


@pytest.mark.parametrize("axis", [None, (FIRST, AXIS)])
def test_bounds_on_parts_of_pieces_hold_all_samples(platform, axis):
    piece = np.array([0, 1, 1, 2, 2, 2])
    boxes = Boxes(
        piece, np.array([0.5, 0.3, 0.8, 0.2, 0.5, 0.9]), np.array([0.5, 0.2, 0.1, 0.2, 0.05, 0.1]), 1
    )
    check(platform, pieces_of(TIMES, axis), boxes, np.linspace(-1.0, 1.0, 7), tight=False)


@pytest.mark.parametrize("axis", [None, (FIRST, AXIS)])
def test_bounds_on_short_spans_are_the_change_in_them(platform, axis):
    boxes = Boxes(np.array([0, 1, 2]), np.array([0.3, 0.6, 0.45]), np.full(3, 1e-5), 1)
    check(platform, pieces_of(TIMES, axis), boxes, (-1.0, 1.0), tight=True)


def test_a_first_orientation_counts_with_each_of_its_parts(platform):
    for first in np.eye(4):
        near = 0.3 * first + FIRST
        axis = (near / np.linalg.norm(near), AXIS[[2, 0, 1]])
        check(platform, pieces_of(TIMES, axis), Boxes.over(3), (-1.0, 0.3), tight=False)


def smooth_pieces(count, duration=0.4, begin=0.3):
    """One motion, x + a sine in each coordinate, as ``count`` pieces of Taylor's polynomials."""
    times = begin + np.linspace(0.0, 1.0, count + 1) ** 1.3 * duration
    size = np.array([0.02, 0.03, 0.02, 0.1, -0.1, 0.08])
    frequency = np.array([2.0, 3.0, 2.5, 1.5, 2.2, 2.7])
    coefficients, width = np.empty((count, 6, 6)), np.diff(times)
    for power in range(6):
        derivative = size * frequency**power * np.sin(frequency * times[:-1, None] + 0.5 * np.pi * power)
        coefficients[:, power] = (
            derivative * width[:, None] ** power / max(1.0, float(np.prod(np.arange(1, power + 1))))
        )
    coefficients[:, 0] += HOME
    return Pieces(times, coefficients)


def test_groups_of_pieces_are_bounded_together(platform):
    """Of 523 pieces, whose last group has three."""
    pieces, count = smooth_pieces(523), 523
    boxes = Boxes.over(count).subset(np.array([0, 7, 40, 64, 65]))
    found = PathBounds(platform.machine, WRENCH).of(pieces, boxes)
    start, middle, end = boxes.spans(pieces)
    first = np.array([0, 56, 320, 512, 520])
    center = np.minimum(first + 4, count - 1)
    np.testing.assert_array_equal(start, pieces.times[first])
    np.testing.assert_array_equal(end, pieces.times[np.minimum(first + 8, count)])
    np.testing.assert_allclose(middle, 0.5 * (pieces.times[center] + pieces.times[center + 1]), rtol=1e-15)
    value = exact(platform, pieces, center, np.full(5, 0.5))
    samples = [
        exact(platform, pieces, np.minimum(first + offset, count - 1), np.full(5, share))
        for offset in range(8)
        for share in (0.0, 1.0)
    ]
    apart = farthest(found, value, samples)
    # Neither the least nor the greatest of a coordinate is lost, and no bound is far from the samples.
    for name, room in zip(LEGS, (1.2, 1.4, 9.0, 1.3, 1.3), strict=True):
        at, deviation = getattr(found, name)
        assert (deviation < room * apart[name] + 1e-2 * np.abs(at)).all(), name


@pytest.mark.parametrize(
    ("count", "boxes", "group"), [(1, 1, 1), (7, 7, 1), (500, 500, 1), (501, 63, 8), (520, 65, 8)]
)
def test_more_than_500_pieces_are_looked_at_in_groups_of_eight(count, boxes, group):
    found = Boxes.over(count)
    assert found.group == group
    np.testing.assert_array_equal(found.piece, group * np.arange(boxes))
    np.testing.assert_array_equal(found.center, np.full(boxes, 0.5))
    np.testing.assert_array_equal(found.half, np.full(boxes, 0.5))


def test_a_group_is_split_into_its_pieces_and_a_piece_into_quarters():
    groups = Boxes.over(523)
    open_ = np.zeros(66, dtype=bool)
    open_[[1, 65]] = True
    single = groups.split(open_, 523)
    assert single.group == 1
    np.testing.assert_array_equal(single.piece, [*range(8, 16), 520, 521, 522])
    np.testing.assert_array_equal(single.center, np.full(11, 0.5))
    np.testing.assert_array_equal(single.half, np.full(11, 0.5))
    quarters = single.split(np.array([2, 9]), 523)
    assert quarters.group == 1
    np.testing.assert_array_equal(quarters.piece, [10] * 4 + [521] * 4)
    np.testing.assert_allclose(quarters.center, [0.125, 0.375, 0.625, 0.875] * 2, rtol=1e-15)
    np.testing.assert_allclose(quarters.half, np.full(8, 0.125), rtol=1e-15)
    finer = quarters.split(np.array([6]), 523)
    np.testing.assert_array_equal(finer.piece, [521] * 4)
    np.testing.assert_allclose(finer.center, 0.625 + np.array([-3.0, -1.0, 1.0, 3.0]) / 32.0, rtol=1e-15)
    np.testing.assert_allclose(finer.half, np.full(4, 1.0 / 32.0), rtol=1e-15)


def test_spans_of_parts_lie_in_their_pieces():
    pieces = pieces_of(TIMES)
    boxes = Boxes(np.array([2, 0]), np.array([0.3, 0.75]), np.array([0.1, 0.25]), 1)
    start, middle, end = boxes.spans(pieces)
    np.testing.assert_allclose(start, [1.9 + 0.2 * 0.9, 0.7 + 0.5 * 0.8], rtol=1e-14)
    np.testing.assert_allclose(middle, [1.9 + 0.3 * 0.9, 0.7 + 0.75 * 0.8], rtol=1e-14)
    np.testing.assert_allclose(end, [1.9 + 0.4 * 0.9, 1.5], rtol=1e-14)
    one = boxes.subset(np.array([False, True]))
    assert (one.piece.tolist(), one.center.tolist(), one.half.tolist(), one.group) == ([0], [0.75], [0.25], 1)


def test_where_nothing_is_known_the_deviation_is_infinite(platform):
    """The platform passes through its base, so that legs may vanish."""
    coefficients = np.zeros((2, 6, 6))
    coefficients[:, 0, :3], coefficients[0, 1, 2] = [0.02, -0.03, 0.6], -1.2
    pieces = Pieces(np.array([0.0, 1.0, 2.0]), coefficients)
    found = PathBounds(platform.machine, WRENCH).of(pieces, Boxes.over(2))
    for name in LEGS:
        value, deviation = getattr(found, name)
        assert value.shape == deviation.shape == (2, 6)
        assert np.isfinite(value[1]).all() and (deviation[1] < 1e-12).all()
        assert not np.isnan(deviation).any()
        if name != "lengths":
            assert np.isinf(deviation[0]).all(), name
    assert np.isinf(found.jacobian_deviation[0]) and found.jacobian_deviation[1] < 1e-12
    assert found.jacobian.shape == (2, 6, 6)


def test_moments_are_counted_about_the_triangle_from_which_legs_rise_the_most(platform):
    """Its least rise times its area: six times the volume of a unit leg over the triangle."""
    random, machine = np.random.default_rng(3), platform.machine
    for _ in range(25):
        points = random.normal(size=(6, 3)) * [0.6, 0.6, 0.2] + [0.2, -0.1, 0.0]
        made = replace_legs(machine, base_point=points)
        directions = made.home_directions
        volumes = {
            (a, b, c): min(
                abs(np.linalg.det([points[b] - points[a], points[c] - points[a], directions[leg]]))
                for leg in (a, b, c)
            )
            for a, b, c in combinations(range(6), 3)
        }
        assert _well_conditioned(made).triangle == max(volumes, key=lambda legs: volumes[legs])
