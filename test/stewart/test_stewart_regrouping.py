"""Constants of a platform in another form: all free choices have the same forces, the cheapest is taken."""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from platform_legs import replace_legs
from point_masses import point_inertia
from scipy.spatial.transform import Rotation
from stewart_oracles import driven_machine, random_oracle, states_near_home

from robot_dynamics import stewart
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.resources import resource
from robot_dynamics.stewart.exact_model import PlatformInputs, actuator_forces
from robot_dynamics.stewart.program import (
    MOTION,
    MOTION_SIZE,
    PUBLISHED,
    _balancing_cost,
    _carriers,
    _cost,
    _triangles,
    make_program,
    split_motion,
)
from robot_dynamics.stewart.regrouping import _frame, regroup
from robot_dynamics.stewart.wrench_distribution import wrench_distribution


@pytest.fixture(scope="module")
def machine():
    return driven_machine(3, spinning=(1,))


def forces_of(parameters, motion):
    return np.array(actuator_forces(parameters, PlatformInputs(*(part.tolist() for part in motion))))


CHOICES = [
    {},
    {"reference": 0},
    {"reference": 3},
    {"reference": 4, "triangle": (5, 1, 3)},
    {"carriers": (0, 1, 2)},
    {"carriers": (0, 1, 4)},
    {"carriers": (5, 2, 3), "triangle": (1, 0, 4)},
    {"reference": 2, "carriers": (0, 3, 5)},
    {"reference": 2, "carriers": (0, 3, 5), "triangle": (5, 1, 3)},
    {"reference": 5, "carriers": (1, 4)},
    {"reference": 1, "carriers": (3,), "triangle": (4, 2, 0)},
]


AXES_WITH_ZEROS = [
    (0.6, 0.8, 0.0),
    (-0.8, 0.6, 0.0),
    (0.0, 0.6, 0.8),
    (0.28, 0.0, -0.96),
    (1.0, 0.0, 0.0),
    (0.0, 1.0, 0.0),
]
NOTHING = RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))


def with_gravity(machine, *gravity):
    return replace(machine, gravity=np.array(gravity))


def light_machine():
    """Neither drives nor springs nor gravity; the upper parts of three legs weigh nothing."""
    plain = stewart.load(random_oracle(8).mapping).machine
    uppers = [NOTHING] * 3 + [leg.upper for leg in plain.legs[3:]]
    return with_gravity(replace_legs(plain, upper=uppers), 0.0, 0.0, 0.0)


SPINNING = {seed: driven_machine(seed, spinning=(1, 4)) for seed in (3, 6)}
MACHINES = {
    "general axes": driven_machine(7),
    "axes with zeros": replace_legs(driven_machine(7), universal_axis=AXES_WITH_ZEROS),
    "light legs": light_machine(),
    **{f"{seed}, legs that spin": made for seed, made in SPINNING.items()},
    **{f"{seed}, no gravity": with_gravity(made, 0.0, 0.0, 0.0) for seed, made in SPINNING.items()},
    **{f"{seed}, other gravity": with_gravity(made, 0.3, -0.2, 0.4) for seed, made in SPINNING.items()},
}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_every_free_choice_has_the_forces_of_newton_and_euler(machine):
    """In five states, of which the first is so slow that dry friction is not yet whole."""
    position, quaternion, velocity, w, *others = states_near_home(11, 5)
    velocity[0] *= 1e-3
    w[0] *= 1e-3
    states = position, quaternion, velocity, w, *others
    platform = stewart.StewartPlatform(machine)
    expected = platform.inverse_dynamics(*states, on_violation="report").actuator_forces
    tight = {"rtol": 0.0, "atol": 2e-12 * np.abs(expected).max()}
    for given in CHOICES:
        parameters = regroup(machine, **given)
        found = [forces_of(parameters, state) for state in zip(*states, strict=True)]
        np.testing.assert_allclose(found, expected, **tight, err_msg=str(given))


def test_masses_of_the_legs_and_of_the_platform_are_handed_on(machine):
    """Point masses at the platform points: their sum, first and second moments stay what they are."""
    uppers = np.array([leg.upper.mass for leg in machine.legs])
    points = np.array([leg.platform_point for leg in machine.legs])
    whole = machine.platform
    covariance = 0.5 * np.trace(whole.inertia) * np.eye(3) - whole.inertia
    for given in CHOICES:
        reference, carriers = given.get("reference"), given.get("carriers", ())
        found = regroup(machine, **given)
        origin = np.zeros(3) if reference is None else points[reference]
        np.testing.assert_array_equal(found.reference_arm, origin)
        tips = np.array([leg.tip_mass for leg in found.legs])
        arms, center = points - origin, whole.center_of_mass - origin
        np.testing.assert_allclose([leg.arm for leg in found.legs], arms, atol=1e-15)
        assert set(np.flatnonzero(tips)) <= set(carriers)
        assert found.mass + tips.sum() == pytest.approx(whole.mass + uppers.sum(), rel=1e-13)
        first = whole.mass * center + uppers @ arms
        np.testing.assert_allclose(found.first_moment + tips @ arms, first, atol=1e-12)
        second = covariance + whole.mass * np.outer(center, center)
        second = second + sum(
            (m - tip) * np.outer(r, r) for m, tip, r in zip(uppers, tips, arms, strict=True)
        )
        np.testing.assert_allclose(found.second_moment, second, atol=1e-12)
        if len(carriers) == 3:
            np.testing.assert_array_equal(found.first_moment, np.zeros(3))
        elif carriers:
            # As far as possible: what is left has no part along the carriers' arms.
            np.testing.assert_allclose(arms[list(carriers)] @ found.first_moment, 0.0, atol=1e-12)
            assert np.linalg.norm(found.first_moment) > 1e-3
        assert (found.reference, found.carriers) == (reference, carriers)
        assert found.triangle == given.get("triangle", (0, 2, 4))
        np.testing.assert_array_equal(found.gravity, machine.gravity)


def test_first_moments_that_rounding_has_spoilt_are_zero(machine):
    """Relative to the size and mass of what moves; a small moment that is one stays."""
    uppers = np.array([leg.upper.mass for leg in machine.legs])
    points = np.array([leg.platform_point for leg in machine.legs])
    scale = np.abs(points).max() * (uppers.sum() + machine.platform.mass)
    for share, kept in ((0.8e-14, False), (1.2e-14, True)):
        center = (np.array([0.0, share, 0.0]) * scale - uppers @ points) / machine.platform.mass
        balanced = replace(machine, platform=replace(machine.platform, center_of_mass=center))
        found = regroup(balanced).first_moment
        assert found[0] == found[2] == 0.0 and bool(found[1]) is kept
        assert not kept or found[1] == pytest.approx(share * scale, rel=0.1)


def test_both_parts_of_a_leg_are_one_body_about_its_joints(machine):
    strength = np.linalg.norm(machine.gravity)
    for number, (leg, found) in enumerate(zip(machine.legs, regroup(machine).legs, strict=True)):
        parts = leg.lower, leg.upper
        inertia = sum(part.inertia + point_inertia(part.mass, part.center_of_mass) for part in parts)
        if number == 1:  # it may spin, and what it has about its own axis is nobody's
            inertia[0, 0] = 0.0
        np.testing.assert_allclose(found.inertia, inertia, atol=1e-14)
        moving = leg.upper.mass * leg.upper.center_of_mass
        np.testing.assert_allclose(found.moving_moment, moving, atol=1e-15)
        still = leg.lower.mass * leg.lower.center_of_mass
        np.testing.assert_allclose(found.weight_moment, strength * (moving + still), atol=1e-13)
        np.testing.assert_allclose(found.weight_direction, machine.gravity / strength, atol=1e-15)
        np.testing.assert_array_equal(found.base_point, leg.base_point)
        friction = leg.friction
        assert found.friction == (friction.universal, friction.prismatic, friction.spherical)
        assert (found.coulomb, found.reflected_mass) == (friction.coulomb, leg.drive.reflected_mass)
        spring = leg.spring
        assert found.spring == (spring.force + spring.stiffness * spring.length, spring.stiffness)
        np.testing.assert_allclose(found.frame[2], machine.universal_axes[number], atol=1e-15)
    weightless = regroup(replace(machine, gravity=np.zeros(3)))
    for leg in weightless.legs:
        np.testing.assert_array_equal(leg.weight_direction, np.zeros(3))
        np.testing.assert_array_equal(leg.weight_moment, np.zeros(3))


@pytest.mark.parametrize(
    ("axis", "zeros"),
    [
        ([1.0, 0.0, 0.0], 6),
        ([0.0, -1.0, 0.0], 6),
        ([0.0, 0.0, 1.0], 6),
        ([0.6, -0.8, 0.0], 4),
        ([-0.8, 0.0, 0.6], 4),
        ([0.0, 0.28, 0.96], 4),
        ([2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0], 1),
        ([-2.0 / 3.0, 2.0 / 3.0, 1.0 / 3.0], 1),
        ([0.6, 0.8, 0.9e-15], 3),
        ([0.6, 0.8, 1.1e-15], 1),
    ],
)
def test_the_frame_of_a_joint_is_right_handed_with_as_many_zeros_as_its_axis_allows(axis, zeros):
    found = _frame(np.array(axis))
    np.testing.assert_array_equal(found[2], axis)
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(found) == pytest.approx(1.0)
    assert np.count_nonzero(found == 0.0) == zeros


@pytest.mark.parametrize(
    "turn", [np.zeros(3), [np.pi / 2, 0.1, 0.0], [0.1, np.pi / 2, 0.2], [0.7, -0.6, 0.4]]
)
def test_leg_forces_balance_any_wrench_from_any_triangle(turn):
    """The normal of the triangle may be nearest to any axis."""
    random = np.random.default_rng(4)
    rotation = Rotation.from_rotvec(turn).as_matrix()
    machine, aside = driven_machine(5), np.array([0.1, 0.2, 0.3])
    points, axes = (machine.base_points + aside) @ rotation.T, machine.universal_axes @ rotation.T
    machine = replace(
        replace_legs(machine, base_point=points, universal_axis=axes),
        home_position=rotation @ (machine.home_position + aside),
        home_rotation=rotation @ machine.home_rotation,
    )
    vectors = np.array([rotation @ [0.1 * random.normal(), 0.1 * random.normal(), 0.6] for _ in range(6)])
    point, force, moment = random.normal(size=(3, 3))
    matrix = np.array(
        [[*s, *np.cross(leg.base_point - point, s)] for leg, s in zip(machine.legs, vectors, strict=True)]
    )
    expected = np.linalg.solve(matrix.T, np.concatenate([force, moment]))
    for triangle in ((0, 2, 4), (2, 0, 4), (1, 3, 4), (5, 3, 1), (4, 5, 0)):
        shares = wrench_distribution(regroup(machine, triangle=triangle), vectors, point, force, moment)
        np.testing.assert_allclose(shares, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("normal", [0, 1, 2])
def test_legs_beside_the_plane_of_their_triangle_count_with_their_height(normal):
    """The normal is an axis, and has more zeros than the levers of these legs."""
    random, swap = np.random.default_rng(6), np.roll(np.eye(3), normal + 1, axis=0)
    base = random.normal(size=(6, 3))
    base[[0, 3, 5], 2] = 0.25
    directions = random.normal(size=(6, 3)) * [0.2, 0.2, 0.0] + [0.0, 0.0, 0.7]
    machine = replace_legs(driven_machine(5), base_point=base @ swap.T)
    point, force, moment = random.normal(size=(3, 3))
    vectors = directions @ swap.T
    matrix = np.array([[*s, *np.cross(swap @ b - point, s)] for b, s in zip(base, vectors, strict=True)])
    expected = np.linalg.solve(matrix.T, np.concatenate([force, moment]))
    for triangle in permutations((0, 3, 5)):
        shares = wrench_distribution(regroup(machine, triangle=triangle), vectors, point, force, moment)
        np.testing.assert_allclose(shares, expected, rtol=1e-9, atol=1e-11)


def test_carriers_whose_arms_are_nearly_in_a_plane_carry_no_masses_of_rounding():
    machine = driven_machine(3)
    lift = 1e-12 * np.array([1.0, -2.0, 3.0, 1.0, 2.0, -1.0])
    points = np.column_stack([machine.platform_points[:, :2], lift])
    found = regroup(replace_legs(machine, platform_point=points), carriers=(0, 2, 3))
    tips = np.array([leg.tip_mass for leg in found.legs])
    arms = machine.platform_points[[0, 2, 3], :2]
    uppers = np.array([leg.upper.mass for leg in machine.legs])
    first = (
        machine.platform.mass * machine.platform.center_of_mass[:2] + uppers @ machine.platform_points[:, :2]
    )
    np.testing.assert_allclose(tips[[0, 2, 3]], np.linalg.pinv(arms.T) @ first, rtol=1e-6)


def rough(seed):
    """Base points near a line or below legs that lie low, so that few triangles will do."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(6, 3)) * [0.5, 0.12, 0.06]
    made = replace_legs(driven_machine(seed % 3), base_point=points)
    return replace(made, home_position=np.array([0.3, 0.2, 0.12]))


@pytest.mark.parametrize("seed", range(6))
def test_triangles_are_no_slivers_and_their_legs_rise(seed):
    machine = rough(seed)
    expected, refused = [], {"flat": 0, "low": 0}
    for a, b, c in combinations(range(6), 3):
        one, two = (machine.base_points[other] - machine.base_points[a] for other in (b, c))
        cosine = one @ two / np.sqrt(one @ one * (two @ two))
        normal = np.cross(one, two)
        normal = normal / np.linalg.norm(normal)
        if np.sqrt(1.0 - cosine**2) < 0.05:
            refused["flat"] += 1
        elif min(abs(float(normal @ machine.home_directions[leg])) for leg in (a, b, c)) < 0.1:
            refused["low"] += 1
        else:
            expected += [(a, b, c), (b, a, c), (c, a, b)]
    assert list(_triangles(machine)) == expected
    assert refused["low"] and (refused["flat"] or seed)


@pytest.mark.parametrize(
    ("flat", "reference", "rank"), [(False, None, 3), (False, 2, 3), (True, None, 2), (True, 4, 2)]
)
def test_carriers_are_as_many_as_the_arms_have_directions_and_carry_moderate_masses(flat, reference, rank):
    machine = driven_machine(3)
    if flat:
        machine = replace_legs(machine, platform_point=machine.platform_points * [1.0, 1.0, 0.0])
    uppers = np.array([leg.upper.mass for leg in machine.legs])
    total = machine.platform.mass + uppers.sum()
    origin = np.zeros(3) if reference is None else machine.platform_points[reference]
    arms = machine.platform_points - origin
    first = machine.platform.mass * (machine.platform.center_of_mass - origin) + uppers @ arms
    expected, refused = [], 0
    for legs in combinations([leg for leg in range(6) if leg != reference], rank):
        tips = np.linalg.pinv(arms[list(legs)].T, rcond=1e-9) @ first
        if np.abs(tips).max() <= 4.0 * total:
            expected.append(legs)
        else:
            refused += 1
    assert list(_carriers(machine, reference)) == expected
    assert expected


@pytest.mark.parametrize(("centred", "reference"), [(False, None), (True, 4)])
def test_the_cheapest_of_the_choices_is_taken(centred, reference):
    """One after the other: triangle, reference point, carriers."""
    machine = stewart.load(resource("config/stewart_demo.yaml")).machine
    if centred:  # legs whose upper parts weigh nothing, and the mass of the platform at one of their ends
        platform = replace(machine.platform, center_of_mass=machine.platform_points[4])
        machine = replace(replace_legs(machine, upper=[NOTHING] * 6), platform=platform)
    made = make_program(machine)
    found = made.parameters
    assert found.reference == reference
    least = min(_balancing_cost(machine, triangle) for triangle in _triangles(machine))
    assert _balancing_cost(machine, found.triangle) == least
    cost = _cost(found)
    references = [_cost(regroup(machine, k, triangle=found.triangle)) for k in (None, *range(6))]
    plain = _cost(regroup(machine, found.reference, triangle=found.triangle))
    assert plain == min(references) and cost <= plain
    carried = [
        _cost(regroup(machine, found.reference, carriers, found.triangle))
        for carriers in _carriers(machine, found.reference)
    ]
    assert cost == min([plain, *carried])
    # Factoring makes it cheaper still; every operation belongs to one part.
    assert made.count.total < cost
    assert centred or made.count.total == 1669  # as docs/papers/stewart_model.md says
    assert set(made.parts) == {"platform", "legs", "linear system"}
    for name in ("multiplications", "additions", "divisions", "square_roots"):
        assert getattr(made.count, name) == sum(getattr(part, name) for part in made.parts.values())
    assert made.count.square_roots == made.parts["legs"].square_roots >= 12
    assert made.parts["platform"].divisions == 0 and made.parts["linear system"].divisions > 0
    assert made.program.name == "stewart_inverse_dynamics"


def test_a_motion_has_its_parts_in_their_order():
    names = [*("position", "orientation", "linear_velocity", "angular_velocity")]
    names += ["linear_acceleration", "angular_acceleration", "force", "torque"]
    assert [name for name, _ in MOTION] == names and MOTION_SIZE == 25
    parts = split_motion(np.arange(50.0).reshape(25, 2))
    assert list(parts) == names
    np.testing.assert_array_equal(np.concatenate(list(parts.values())), np.arange(50.0).reshape(25, 2))
    assert [len(part) for part in parts.values()] == [3, 4, 3, 3, 3, 3, 3, 3]


def test_carriers_take_at_most_four_times_what_moves():
    """Of many platforms with arms at random some masses are just below this, and some just above."""
    machine, random, seen = driven_machine(3), np.random.default_rng(2), set()
    total = machine.platform.mass + sum(leg.upper.mass for leg in machine.legs)
    for _ in range(12):
        made = replace_legs(machine, platform_point=0.3 * random.normal(size=(6, 3)))
        taken = set(_carriers(made, None))
        for carriers in combinations(range(6), 3):
            share = max(abs(leg.tip_mass) for leg in regroup(made, None, carriers).legs) / total
            assert (carriers in taken) is (share <= 4.0)
            seen.add(min(int(share), 6))
    assert {3, 4} <= seen


def test_the_paper_counts_its_operations_leg_by_leg():
    assert PUBLISHED == {"legs": 4164, "platform": 273, "linear system": 452}
    assert sum(PUBLISHED.values()) == 4889


def test_choices_are_equal_to_themselves_alone(machine):
    """Arrays have no single truth value, so that two sets of constants are never compared by them."""
    one, other = regroup(machine), regroup(machine)
    assert one == one and one != other and len({one, other}) == 2
    assert one.legs[0] == one.legs[0] and one.legs[0] != other.legs[0]
