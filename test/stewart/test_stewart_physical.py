"""Machines that cannot be: every check at its bound, just within it and just beyond it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from platform_legs import legs_of, replace_leg, replace_legs
from stewart_oracles import driven_machine, random_oracle

from robot_dynamics import stewart
from robot_dynamics.errors import ModelError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.resources import resource
from robot_dynamics.stewart.machine import JointFriction, LegLimits, Spring
from robot_dynamics.stewart.physical import check_body, check_geometry, check_spinning_leg, check_units


@pytest.fixture(scope="module")
def machine():
    return stewart.load(resource("config/stewart_demo.yaml")).machine


def complaint(check, *given):
    """Message of the error that a check raises; empty where it raises none."""
    try:
        check(*given)
    except ModelError as error:
        return str(error)
    return ""


def body(inertia, mass=2.0, center=(0.1, 0.2, 0.3)):
    return RigidBody(mass, np.array(center), np.array(inertia, dtype=float))


def turned(moments):
    """An inertia whose principal axes are those of nobody."""
    axes = np.linalg.qr(np.array([[2.0, -1.0, 0.5], [0.3, 1.0, -0.7], [0.4, 0.6, 3.0]]))[0]
    inertia = axes @ np.diag(moments) @ axes.T
    return 0.5 * (inertia + inertia.T)


@pytest.mark.parametrize("scale", [1.0, 1e-4, 500.0])
def test_an_inertia_is_symmetric_up_to_a_millionth_of_its_greatest_entry(scale):
    inertia = scale * np.array([[2.0, 0.3, -0.1], [0.3, 2.5, 0.2], [-0.1, 0.2, 3.0]])
    for row, column in ((0, 1), (2, 0), (1, 2)):
        for amount, kept in ((2.9e-6, True), (3.1e-6, False), (-2.9e-6, True), (-3.1e-6, False)):
            askew = inertia.copy()
            askew[row, column] += amount * scale
            said = complaint(check_body, body(askew), "legs[2].lower")
            assert said == ("" if kept else "legs[2].lower.inertia is not symmetric")


def test_a_body_without_mass_has_no_inertia():
    check_body(body(np.zeros((3, 3)), mass=0.0), "platform")
    check_body(body(np.zeros((3, 3)), mass=1e-3), "platform")  # a point
    said = "platform.inertia must be zero because platform.mass is zero"
    for inertia in (np.diag([1e-9, 1e-9, 1e-9]), np.diag([2.0, 2.0, 2.0])):
        assert complaint(check_body, body(inertia, mass=0.0), "platform") == said
        check_body(body(inertia, mass=1e-9), "platform")


@pytest.mark.parametrize("scale", [1.0, 1e-4, 500.0])
def test_principal_moments_are_not_negative_up_to_a_millionth(scale):
    """Rounded numbers of a data sheet are no reason to refuse a thin rod."""
    largest = np.abs(turned([0.0, 2.0, 2.0])).max()
    for amount, kept in ((-0.9e-6, True), (-1.2e-6, False), (1e-3, True)):
        least = amount * largest
        said = complaint(check_body, body(scale * turned([least, 2.0, 2.0])), "x")
        assert (said == "") is kept
        if not kept:
            assert said.startswith("x.inertia has the negative principal moment ") and said.endswith(" kg·m²")
            assert float(said.split()[-2]) == pytest.approx(scale * least, rel=1e-5)


@pytest.mark.parametrize("scale", [1.0, 1e-4, 500.0])
def test_no_principal_moment_exceeds_the_sum_of_the_others_by_more_than_a_millionth(scale):
    largest = np.abs(turned([0.7, 1.1, 1.8])).max()
    for amount, kept in ((0.9e-6, True), (1.1e-6, False), (0.5, False), (-0.3, True)):
        moments = [
            0.7 * scale,
            1.1 * scale,
            (1.8 + amount * (largest if abs(amount) < 1e-3 else 1.0)) * scale,
        ]
        told = ", ".join(f"{moment:g}" for moment in moments)
        said = f"x.inertia has the principal moments {told} kg·m²; none may exceed the sum of the other two"
        assert complaint(check_body, body(turned(moments)), "x") == ("" if kept else said)


def spinning():
    """A leg between two spherical joints."""
    return driven_machine(0, spinning=[1]).legs[1]


@pytest.mark.parametrize("part", ["lower", "upper"])
def test_the_mass_of_a_leg_that_may_spin_lies_on_its_axis(part):
    leg = spinning()

    def said(inertia, center=(0.1, 0.0, 0.0)):
        made = RigidBody(1.0, np.array(center), np.array(inertia, dtype=float))
        return complaint(check_spinning_leg, replace(leg, **{part: made}), "legs[2]")

    round_ = np.diag([0.01, 0.03, 0.03])
    assert said(round_, [-0.7, 0.9e-9, -0.9e-9]) == ""
    for center in ([0.1, 1.1e-9, 0.0], [0.1, 0.0, -1.1e-9], [0.0, -0.5, 0.0], [0.0, 0.0, 0.5]):
        assert said(round_, center) == (
            f"legs[2].{part}.center_of_mass must lie on the leg's axis (y = z = 0): the base joint is"
            " spherical, so the leg may spin"
        )
    words = (
        f"legs[2].{part}.inertia must be diagonal with yy = zz: the base joint is spherical,"
        " so the leg may spin"
    )
    for scale in (1.0, 1e-4, 300.0):
        for amount, kept in ((0.029e-6, True), (0.031e-6, False)):
            amount *= scale
            for row, column in ((0, 1), (0, 2), (1, 2)):
                askew = scale * round_
                askew[row, column] = askew[column, row] = -amount
                oval = scale * round_
                oval[1, 1] += amount if row else -amount
                assert said(askew) == said(oval) == ("" if kept else words)
    assert said(np.diag([5.0, 0.03, 0.03])) == ""
    for inertia in ([[1.0, 1e-6, 0.0], [1e-6, 0.9, 0.0], [0.0, 0.0, 0.9]], np.diag([1.0, 1e-6, 0.0])):
        assert said(inertia) == ""  # the bound itself
    # No inertia at all, as of a leg without mass, is round. Beside it 1e-18 kg·m² are a difference.
    assert said(np.zeros((3, 3))) == said(np.diag([0.0, 0.0, 0.9e-18])) == ""
    assert said(np.diag([0.0, 0.0, 1.1e-18])) == words


@pytest.mark.parametrize("joint", ["universal", "spherical"])
def test_no_friction_drags_a_leg_round_that_may_spin(joint):
    leg = spinning()
    check_spinning_leg(leg, "legs[2]")
    values = {"universal": 0.0, "spherical": 0.0, "prismatic": 7.0, joint: 1e-6}
    assert complaint(check_spinning_leg, replace(leg, friction=JointFriction(**values)), "legs[2]") == (
        f"legs[2].friction.{joint} must be 0: the base joint is spherical, and friction would spin the leg at"
        " a rate that the platform's motion does not determine"
    )


FREE = [LegLimits()] * 6


@pytest.mark.parametrize("name", ["base_point", "platform_point"])
def test_six_points_on_a_line_are_refused_wherever_it_lies(machine, name):
    """Up to a millionth of their spread."""
    along, aside = np.array([2.0, -1.0, 0.5]), np.array([0.2, 0.4, 0.0])
    places = np.array([-1.0, -0.55, -0.3, 0.2, 0.6, 1.05])
    bump = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    spread = np.linalg.norm(places - places.mean()) * np.linalg.norm(along)
    for amount, kept in ((0.5e-6, False), (2e-6, True)):
        shift = amount * spread / np.linalg.norm(bump) / np.linalg.norm(aside)
        points = [0.3, 0.2, 0.1] + places[:, None] * along + shift * bump[:, None] * aside
        made = replace_legs(machine, **{name: points, "limits": FREE})
        said = complaint(check_geometry, made)
        if kept:
            assert said.startswith("home is singular")
        else:
            assert said == f"legs[1..6].{name}: the six points lie on one line"


def test_six_points_that_are_one_are_refused(machine):
    """Below a millionth of a millionth of a metre apart, in any direction."""
    random = np.random.default_rng(1)
    for size, said in (
        (1e-13, "legs[1..6].platform_point: the six points lie on one line"),
        (1e-9, "home is singular"),
    ):
        points = [0.1, 0.1, 0.1] + size * random.normal(size=(6, 3))
        made = replace_legs(machine, platform_point=points, limits=FREE)
        assert complaint(check_geometry, made).startswith(said)


def end_of(machine, number):
    return machine.home_position + machine.home_rotation @ machine.legs[number].platform_point


def test_a_leg_without_length_at_home_is_refused(machine):
    for length, kept in ((0.9e-6, False), (1.1e-6, True)):
        base = end_of(machine, 3) - [0.0, 0.0, length]
        made = replace_leg(
            machine, 3, base_point=base, universal_axis=np.array([1.0, 0.0, 0.0]), limits=LegLimits()
        )
        made = replace(made, condition_limit=1e9)
        said = "legs[4] (leg_4) has no length at home: base and platform point coincide"
        assert complaint(check_geometry, made) == ("" if kept else said)


def test_legs_keep_their_stroke_at_home_its_ends_included(machine):
    length = float(np.linalg.norm(end_of(machine, 2) - machine.legs[2].base_point))
    for shortest, longest in ((length, 1.0), (0.1, length), (0.1, 1.0)):
        check_geometry(replace_leg(machine, 2, limits=LegLimits(shortest, longest)))
    above, below = np.nextafter(length, 1.0) + 1e-9, length - 1e-9
    for shortest, longest in ((above, 1.0), (0.1, below)):
        assert complaint(check_geometry, replace_leg(machine, 2, limits=LegLimits(shortest, longest))) == (
            f"legs[3] (leg_3) has length {length:.4f} m at home, outside limits.length"
            f" [{shortest:g}, {longest:g}] m"
        )


@pytest.mark.parametrize("size", [1.0, 0.2, 5.0])
def test_a_universal_joint_is_locked_at_home_within_a_thousandth(machine, size):
    """Of the leg's direction, however long the leg is."""
    axes = machine.universal_axes
    points = {"base_point": size * machine.base_points, "platform_point": size * machine.platform_points}
    made = replace(replace_legs(machine, **points, limits=FREE), home_position=size * machine.home_position)
    made = replace(made, characteristic_length=size * machine.characteristic_length)
    direction = machine.home_directions[4]
    aside = np.cross(direction, axes[4])
    aside /= np.linalg.norm(aside)
    for sense in (1.0, -1.0):
        for sine, kept in ((0.99e-3, False), (1.01e-3, True)):
            axis = sense * (np.sqrt(1.0 - sine**2) * direction + sine * aside)
            said = "legs[5] (leg_5).universal_axis is parallel to the leg at home: the joint is locked"
            found = complaint(check_geometry, replace_leg(made, 4, universal_axis=axis))
            assert found == ("" if kept else said)


def test_home_keeps_the_limit_of_its_condition_number():
    """With moments over the characteristic length, by the eigenvalues of J Jᵀ."""
    made = stewart.load(random_oracle(3).mapping).machine
    _, jacobian = legs_of(made.base_points, made.platform_points, made.home_position, made.home_rotation)
    rows = jacobian / [1.0, 1.0, 1.0, 0.3, 0.3, 0.3]
    values = np.linalg.eigvalsh(rows @ rows.T)
    condition = float(np.sqrt(values[-1] / values[0]))
    check_geometry(replace(made, condition_limit=condition * (1.0 + 1e-9)))
    limit = condition * (1.0 - 1e-9)
    assert complaint(check_geometry, replace(made, condition_limit=limit)) == (
        f"home is singular: its condition number is {condition:.3g}, condition_limit is {limit:g}"
    )


def test_sizes_beyond_a_hundred_metres_are_taken_for_millimetres(machine):
    machine = replace_legs(machine, limits=FREE)

    def sized(name, size):
        if name == "characteristic_length":
            return replace(machine, characteristic_length=size)
        if name == "home.position":
            return replace(machine, home_position=np.array([0.1, -size, 0.55]))
        if name == "center_of_mass":
            inside = replace(machine.platform, center_of_mass=np.array([0.0, 0.1, -size]))
            return replace(machine, platform=inside)
        return replace_leg(machine, 5, **{name: np.array([-size, 0.2, 0.1])})

    for name in ("characteristic_length", "home.position", "base_point", "platform_point", "center_of_mass"):
        assert check_units(sized(name, 100.0)) == ""
        said = f"{name} has 100.5 m, the limit is 100 m: give it in metres"
        assert complaint(check_units, sized(name, 100.5)) == said


@pytest.mark.parametrize("name", ["base_angle", "platform_angle"])
def test_angles_beyond_half_a_turn_are_taken_for_degrees(machine, name):
    for angle in (np.pi, np.inf, 1.0):
        check_units(replace_leg(machine, 1, limits=LegLimits(**{name: angle})))
    for angle, radians in ((3.1416, "0.05483"), (40.0, "0.6981")):
        assert complaint(check_units, replace_leg(machine, 1, limits=LegLimits(**{name: angle}))) == (
            f"legs[2].limits.{name} is {angle:g} rad, more than half a turn: give it in radians, such as"
            f" {radians} for {angle:g} degrees"
        )


def test_legs_faster_than_a_hundred_strokes_a_second_are_taken_for_millimetres(machine):
    def fast(**limits):
        return replace_leg(machine, 2, limits=LegLimits(**{"force": 1500.0, **limits}))

    for limits in (
        {"shortest": 0.5, "longest": 0.75, "speed": 25.0},
        {"speed": 1e9},
        {"shortest": 0.5, "longest": 0.75},
    ):
        check_units(fast(**limits))
    assert complaint(check_units, fast(shortest=0.5, longest=0.75, speed=25.2)) == (
        "legs[3].limits.speed is 25.2 m/s, 101 strokes a second: give it in m/s"
    )


def strong(machine, share):
    """Legs of unequal force, together ``share`` times what the platform weighs."""
    parts = np.array([1.0, 1.2, 0.8, 1.1, 0.7, 1.2])
    direction = machine.gravity / np.linalg.norm(machine.gravity)
    weight = np.linalg.norm(machine.gravity) * machine.platform.mass
    forces = share * weight * parts / (parts @ np.abs(machine.home_directions @ direction))
    return replace_legs(machine, limits=[LegLimits(force=force) for force in forces])


def test_legs_carry_the_platform_and_not_a_thousand_of_them(machine):
    askew = replace(machine, gravity=np.array([1.0, -3.0, -8.5]))
    for given in (machine, askew):
        weight = float(np.linalg.norm(given.gravity)) * 25.0
        for share in (1.0 + 1e-9, 3.0, 999.0, 1000.0 * (1.0 - 1e-9)):
            assert check_units(strong(given, share)) == ""
        found = f"the legs carry at most {0.99 * weight:.4g} N at home, the platform weighs {weight:.4g} N"
        said = complaint(check_units, strong(given, 0.99))
        assert said == f"{found}: give limits.force in N and masses in kg"
        found = f"the legs carry at most {1001.0 * weight:.4g} N at home, the platform weighs {weight:.4g} N"
        assert check_units(strong(given, 1001.0)) == f"{found}: is its mass in kg?"
    assert check_units(replace_legs(machine, limits=FREE)) == ""  # without limits nothing is known


def test_legs_that_carry_just_the_platform_carry_it(machine):
    """To the last digit: one leg pushes alone."""
    strength = float(np.linalg.norm(machine.gravity))
    share = (np.abs(machine.home_directions @ machine.gravity) / np.linalg.norm(machine.gravity))[2]
    pushes = 300.0 + 0.1 * np.arange(100)
    force = next(one for one in pushes if strength * (one * share / strength) == one * share)
    heavy = replace(machine, platform=replace(machine.platform, mass=force * share / strength))
    forces = [force if k == 2 else 0.0 for k in range(6)]
    assert check_units(replace_legs(heavy, limits=[LegLimits(force=one) for one in forces])) == ""


def test_what_springs_or_no_gravity_carry_needs_no_force(machine):
    weak = strong(machine, 0.5)
    assert check_units(replace_leg(weak, 3, spring=Spring(0.6, 100.0, 50.0))) == ""
    with warnings.catch_warnings(action="error"):
        assert check_units(replace(weak, gravity=np.zeros(3))) == ""
    assert complaint(check_units, replace(weak, gravity=np.array([0.0, 0.0, -9.81]))).endswith("masses in kg")
    small = replace(weak.platform, mass=1e-4, inertia=np.zeros((3, 3)))
    light = replace_legs(replace(weak, platform=small), limits=[LegLimits(force=1e-5)] * 6)
    assert complaint(check_units, light).startswith("the legs carry at most 5.")
