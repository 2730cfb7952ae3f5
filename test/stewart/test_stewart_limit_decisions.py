"""Limits of legs and condition numbers, decided on boxes of a path: at their bounds and just beyond."""

from dataclasses import replace

import numpy as np
import pytest
from limited_demo import limited
from platform_legs import legs_of

from robot_dynamics.spatial import rotation_about
from robot_dynamics.stewart.path_bounds import LegBounds
from robot_dynamics.stewart.verified_limits import MachineLimits, _condition, _judge

SHORTEST, LONGEST = 0.5 + 0.01 * np.arange(6), np.array([0.7, 0.72, np.inf, 0.76, 0.78, 0.8])
SPEED, FORCE = 0.4 + 0.1 * np.arange(6), 900.0 + 50.0 * np.arange(6)
BASE, PLATFORM = 0.2 + 0.1 * np.arange(6), np.array([0.5, 0.8, 0.9, 1.0, 3.0, np.inf])
EVERY = {
    "shortest": SHORTEST,
    "longest": LONGEST,
    "speed": SPEED,
    "force": FORCE,
    "base_angle": BASE,
    "platform_angle": PLATFORM,
}


def test_limits_of_a_machine_are_those_of_its_legs():
    limits = MachineLimits.of(limited(**EVERY).machine)
    for name in ("shortest", "longest", "speed", "force"):
        np.testing.assert_array_equal(getattr(limits, name), EVERY[name], err_msg=name)
    np.testing.assert_allclose(limits.base_cosine, np.cos(BASE), rtol=1e-15)
    np.testing.assert_allclose(limits.platform_cosine, [*np.cos(PLATFORM[:5]), -1.0], rtol=1e-15)
    assert limits.condition == 50.0


def test_a_margin_widens_strokes_speeds_and_angles_by_its_share():
    """Not the forces; a leg without a greatest length has no stroke, and no angle exceeds half a turn."""
    limits = MachineLimits.of(limited(**EVERY).machine, 0.1)
    stroke = np.array([0.2, 0.21, 0.0, 0.23, 0.24, 0.25])
    np.testing.assert_allclose(limits.shortest, SHORTEST - 0.1 * stroke, rtol=1e-14)
    np.testing.assert_allclose(limits.longest, LONGEST + 0.1 * stroke, rtol=1e-14)
    np.testing.assert_allclose(limits.speed, 1.1 * SPEED, rtol=1e-14)
    np.testing.assert_array_equal(limits.force, FORCE)
    np.testing.assert_allclose(limits.base_cosine, np.cos(1.1 * BASE), rtol=1e-14)
    np.testing.assert_allclose(limits.platform_cosine, [*np.cos(1.1 * PLATFORM[:4]), -1.0, -1.0], rtol=1e-14)
    assert limits.condition == 50.0


def test_limits_from_outside_reach_to_the_pose_and_no_further():
    """In each quantity the wider one counts, leg by leg."""
    platform = limited(**EVERY)
    machine = platform.machine
    place, turn = np.array([0.12, -0.16, 0.52]), rotation_about(np.array([0.6, 0.0, 0.8]), 0.9)
    limits = MachineLimits.of(machine).widened(machine, place, turn)
    lengths, jacobian = legs_of(machine.base_points, machine.platform_points, place, turn)
    directions = jacobian[:, :3]
    base = np.array([d @ h for d, h in zip(directions, machine.home_directions, strict=True)])
    tilted = np.array([d @ turn @ h for d, h in zip(directions, machine.home_directions, strict=True)])
    for kept, own, reached, choose in (
        (limits.shortest, SHORTEST, lengths, min),
        (limits.longest, LONGEST, lengths, max),
        (limits.base_cosine, np.cos(BASE), base, min),
        (limits.platform_cosine, [*np.cos(PLATFORM[:5]), -1.0], tilted, min),
    ):
        expected = [choose(a, b) for a, b in zip(own, reached, strict=True)]
        np.testing.assert_allclose(kept, expected, rtol=1e-12)
        assert 0 < sum(a == pytest.approx(b, rel=1e-12) for a, b in zip(kept, own, strict=True)) < 6
    np.testing.assert_array_equal(limits.speed, SPEED)
    np.testing.assert_array_equal(limits.force, FORCE)


FREE = MachineLimits(*(np.full(6, v) for v in (0.0, np.inf, np.inf, np.inf, -1.0, -1.0)), 1e6)


def bounds_of(**given):
    """Bounds on three boxes: 0.6 for every leg, but for the fifth what is ``given``."""
    both = {
        name: np.array([np.full((3, 6), 0.6), np.zeros((3, 6))]) for name in LegBounds.__dataclass_fields__
    }
    both |= {"jacobian": np.broadcast_to(np.eye(6), (3, 6, 6)), "jacobian_deviation": np.zeros(3)}
    for name, (value, deviations) in given.items():
        both[name][0, :, 4], both[name][1, :, 4] = value, deviations
    return LegBounds(**both)


@pytest.mark.parametrize(
    ("name", "limit", "bound", "sign"),
    [
        ("lengths", "longest", 0.8, 1.0),
        ("lengths", "shortest", 0.4, 1.0),
        ("speeds", "speed", 0.9, 1.0),
        ("speeds", "speed", 0.9, -1.0),
        ("forces", "force", 700.0, 1.0),
        ("forces", "force", 700.0, -1.0),
        ("base_cosines", "base_cosine", 0.3, 1.0),
        ("base_cosines", "base_cosine", -0.3, 1.0),
        ("platform_cosines", "platform_cosine", 0.2, 1.0),
        ("platform_cosines", "platform_cosine", -0.4, 1.0),
    ],
)
def test_a_limit_is_kept_up_to_a_millionth_of_it_on_the_whole_box(name, limit, bound, sign):
    """A box is open where a deviation may leave the limit, and broken where the middle does."""
    least = limit in ("shortest", "base_cosine", "platform_cosine")
    limits = replace(FREE, **{limit: np.where(np.arange(6) == 4, bound, getattr(FREE, limit))})
    out = -1.0 if least else sign
    for beyond, broken in ((0.9e-6, False), (1.1e-6, True), (-0.01, False)):
        value = out * beyond * abs(bound) + (bound if least else sign * bound)
        room = (1e-6 - beyond) * abs(bound)
        deviations = np.array([0.0, 0.98 * room, 1.02 * room]) if room > 0.0 else np.zeros(3)
        found = _judge(limits, bounds_of(**{name: (value, deviations)}))
        assert found[0].tolist() == ([True] * 3 if broken else [False, False, True]), (value, deviations)
        assert found[1].tolist() == [broken] * 3


def test_a_box_whose_bound_is_the_greatest_value_keeps_its_limit():
    limits = replace(FREE, longest=np.full(6, 0.6 / (1.0 + 1e-6)))
    greatest = limits.longest[0] + 1e-6 * limits.longest[0]
    for value, deviation, kept in ((greatest, 0.0, True), (np.nextafter(greatest, 1.0), 0.0, False)):
        bounds = bounds_of(lengths=(value, np.full(3, deviation)))
        bounds.lengths[0][bounds.lengths[0] != value] = 0.3
        open_, broken = _judge(limits, bounds)
        assert open_.tolist() == broken.tolist() == [not kept] * 3


@pytest.mark.parametrize("name", ["lengths", "speeds", "forces", "base_cosines", "platform_cosines"])
def test_what_is_not_known_keeps_no_limit(name):
    limits = MachineLimits(*(np.full(6, v) for v in (0.5, 0.7, 0.7, 0.7, 0.5, 0.5)), 2.0)
    open_, broken = _judge(limits, bounds_of(**{name: (np.nan, np.zeros(3))}))
    assert open_.all() and broken.all()
    open_, broken = _judge(limits, bounds_of(**{name: (0.6, np.array([0.0, np.inf, np.nan]))}))
    assert open_.tolist() == [False, True, True] and not broken.any()


def test_a_box_is_open_for_any_of_its_limits_and_only_its_own():
    limits = replace(FREE, longest=np.full(6, 0.7), speed=np.full(6, 0.7))
    bounds = bounds_of()
    bounds.lengths[0, 1, 2] = 0.8
    bounds.speeds[1, 2, 5] = 0.2
    open_, broken = _judge(limits, bounds)
    assert (open_.tolist(), broken.tolist()) == ([False, True, True], [False, True, False])


def rotated(values, seed=5):
    """Matrices with these singular values (N, 6)."""
    random = np.random.default_rng(seed)
    left, right = (np.linalg.qr(random.normal(size=(len(values), 6, 6)))[0] for _ in range(2))
    return left @ (values[..., None] * right)


def test_the_condition_number_is_judged_by_singular_values_that_a_deviation_moves():
    values = np.tile([3.0, 2.5, 2.0, 1.5, 1.2, 0.5], (9, 1))
    values[:, 0] = [3.0, 3.0, 3.0, 3.0, 6.0, 3.0, 3.0, 0.6, 0.6]
    values[5, 5] = 0.0
    values[7:] = 0.5
    # 3 + d is above 7.4 (0.5 - d) from d = 1 / 12 on.
    deviation = np.array([0.0, 0.08, 0.085, 0.6, 0.0, 0.0, np.inf, 0.0, 0.3])
    for limit, open_, broken in (
        (7.4, [0, 0, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0, 0]),
        (7.0, [0, 1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0, 0]),
        (5.9, [1, 1, 1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1, 1, 0, 0]),
    ):
        found = _condition(rotated(values), deviation, limit)
        np.testing.assert_array_equal(found, np.array([open_, broken], dtype=bool))


def test_the_condition_number_that_a_limit_allows_is_allowed():
    values = np.tile([3.0, 2.5, 2.0, 1.5, 1.2, 0.5], (2, 1))
    matrices = values[..., None] * np.eye(6)
    for limit, kept in ((6.0, True), (6.0 * (1.0 - 1e-9), False)):
        open_, broken = _condition(matrices, np.zeros(2), limit)
        assert open_.tolist() == broken.tolist() == [not kept] * 2
    machine = replace(FREE, condition=6.0)
    bounds = replace(
        bounds_of(), jacobian=np.array([np.diag([x, 2, 2, 2, 2, 0.5]) for x in (3.0, 3.0000027, 3.0000033)])
    )
    assert _judge(machine, bounds)[1].tolist() == [False, False, True]
    assert _judge(machine, bounds)[0].tolist() == [False, False, True]


def judged(values, deviation, limit):
    """Open and broken by the singular values alone."""
    greatest, least = values.max(axis=1), values.min(axis=1)
    return ~(greatest + deviation <= limit * (least - deviation)), ~(greatest <= limit * least)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-3])
def test_the_condition_number_does_not_depend_on_the_unit_of_length(scale):
    random = np.random.default_rng(9)
    values = random.uniform(0.05, 4.0, (400, 6))
    deviation = random.uniform(0.0, 0.4, 400) * values.min(axis=1)
    for limit in (3.0, 9.0, 40.0):
        expected = judged(values, deviation, limit)
        assert all(0.02 < each.mean() < 0.99 for each in expected) or limit > 10.0
        found = _condition(scale * rotated(values), scale * deviation, limit)
        np.testing.assert_array_equal(found, expected)


def test_shears_are_judged_by_their_closed_form():
    """Of a shear by e the singular values are (√(e² + 4) ± |e|) / 2, and its inverse has -e."""
    shear = np.arange(-100.0, 100.0, 0.13)
    matrices = np.tile(np.eye(6), (len(shear), 1, 1))
    matrices[:, 0, 1] = shear
    root = np.sqrt(shear**2 + 4.0)
    values = np.stack([(root + np.abs(shear)) / 2.0, (root - np.abs(shear)) / 2.0], axis=1)
    for limit in (15.0, 50.0, 3000.0):
        found = _condition(matrices, np.zeros(len(shear)), limit)
        np.testing.assert_array_equal(found, judged(values, 0.0, limit))


def test_a_singular_matrix_among_others_leaves_these_to_be_judged():
    """numpy inverts none of a batch that has a singular one."""
    values = np.tile([3.0, 2.5, 2.0, 1.5, 1.2, 0.5], (3, 1))
    matrices = values[..., None] * np.eye(6)
    matrices[1, 2] = 0.0
    open_, broken = _condition(matrices, np.array([0.0, 0.0, 0.1]), 7.0)
    assert (open_.tolist(), broken.tolist()) == ([False, True, True], [False, True, False])
