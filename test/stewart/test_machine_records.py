"""Records of a machine: values at their bounds, computed values, and errors."""

import math
from dataclasses import replace

import numpy as np
import pytest
from platform_legs import replace_leg, replace_legs
from stewart_oracles import random_oracle

from robot_dynamics import stewart
from robot_dynamics.errors import ModelError, WrongTypeError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.stewart.actuators import coulomb_friction, passive_forces
from robot_dynamics.stewart.machine import (
    GUESSED,
    NO_DRIVE,
    NO_SPRING,
    Drive,
    JointFriction,
    Leg,
    LegLimits,
    Spring,
    _any_perpendicular,
)

BODY = RigidBody(2.0, np.array([0.1, 0.0, 0.0]), np.diag([0.1, 0.2, 0.2]))
FRICTION = JointFriction(0.5, 20.0, 0.25, 3.0)


@pytest.fixture(scope="module")
def machine():
    return stewart.load(random_oracle(3).mapping).machine


@pytest.mark.parametrize(
    ("record", "names"),
    [
        (FRICTION, ("universal", "prismatic", "spherical", "coulomb")),
        (Drive(0.01, 1e-4, 2e-5, 2.5), ("screw_inertia", "rotor_inertia", "gear_ratio")),
        (LegLimits(), ("speed", "force", "base_angle", "platform_angle")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_a_magnitude_may_be_zero_but_not_negative(record, names):
    for name in names:
        assert getattr(replace(record, **{name: 0.0}), name) == 0.0
        kind = type(record).__name__
        with pytest.raises(ModelError) as caught:
            replace(record, **{name: -0.25})
        assert str(caught.value) == f"{name} of a {kind} is -0.25; it must not be negative"
        with pytest.raises(ModelError, match=f"^{name} of a {kind} is nan"):
            replace(record, **{name: math.nan})


def test_a_lead_is_positive_and_numbers_of_a_spring_are_finite():
    for lead in (0.0, -0.5):
        with pytest.raises(ModelError) as caught:
            Drive(lead, 1e-4, 1e-4, 1.0)
        assert str(caught.value) == f"lead of a Drive is {lead:g}; it must be positive"
    for name in ("length", "force", "stiffness"):
        assert getattr(replace(NO_SPRING, **{name: -2.5}), name) == -2.5
        with pytest.raises(ModelError, match=f"^{name} of a Spring is inf"):
            replace(NO_SPRING, **{name: math.inf})


def test_turning_parts_resist_with_their_energy():
    """½ m v² is ½ J ω² of the screw and of the rotor behind its gear."""
    drive, speed = Drive(0.02, 3e-4, 1.5e-4, 2.5), 0.7
    screw = 2.0 * math.pi * speed / 0.02
    energy = 0.5 * 3e-4 * screw**2 + 0.5 * 1.5e-4 * (2.5 * screw) ** 2
    assert 0.5 * drive.reflected_mass * speed**2 == pytest.approx(energy, rel=1e-14)
    assert NO_DRIVE.reflected_mass == 0.0


def test_a_spring_loses_force_as_its_leg_grows():
    spring = Spring(0.5, 70.0, 200.0)
    assert [spring.force_at(x) for x in (0.5, 0.75, 0.25)] == [70.0, 20.0, 120.0]
    assert spring.force_at_zero == spring.force_at(0.0) == 170.0
    assert [NO_SPRING.force_at(x) for x in (0.0, 3.0)] == [0.0, 0.0]


def test_limits_that_are_not_given_are_none():
    given = LegLimits()
    assert (given.shortest, given.longest, given.speed_force) == (0.0, np.inf, ())
    for name in ("speed", "force", "base_angle", "platform_angle", "continuous_force"):
        assert getattr(given, name) == np.inf
    assert JointFriction(1.0, 2.0, 3.0).coulomb == 0.0
    leg = Leg("l", np.zeros(3), np.ones(3), None, BODY, BODY, FRICTION, given)
    assert leg.drive is NO_DRIVE and leg.spring is NO_SPRING
    assert GUESSED == ("friction", "masses")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"shortest": 0.5, "longest": 0.5},
            "shortest of a LegLimits is 0.5 m; it must be less than longest, 0.5 m",
        ),
        (
            {"shortest": 0.75, "longest": 0.5},
            "shortest of a LegLimits is 0.75 m; it must be less than longest, 0.5 m",
        ),
        (
            {"force": 200.0, "continuous_force": 200.5},
            "continuous_force of a LegLimits is 200.5 N; it must be at most force, 200 N",
        ),
        *(
            (
                {"speed_force": curve},
                f"speed_force of a LegLimits is {curve}; speeds must increase from 0 or more, and no force"
                " may be negative",
            )
            for curve in (
                ((0.5, 9.0), (0.25, 8.0)),
                ((0.5, 9.0), (0.5, 8.0)),
                ((-0.25, 9.0), (0.5, 8.0)),
                ((0.25, 9.0), (0.5, -0.5)),
            )
        ),
    ],
)
def test_limits_that_cannot_be_are_refused_in_words(change, words):
    with pytest.raises(ModelError) as caught:
        LegLimits(**change)
    assert str(caught.value) == words


def test_limits_at_their_bounds_are_accepted():
    found = LegLimits(-0.5, 0.25, force=200, continuous_force=200, speed_force=[[0, 0], [0.25, 9]])
    assert found.speed_force == ((0.0, 0.0), (0.25, 9.0))
    assert all(type(x) is float for point in found.speed_force for x in point)
    assert LegLimits(force=200.0).continuous_force == np.inf
    with pytest.raises(ModelError, match=r"^speed_force of a LegLimits"):
        LegLimits(speed_force=((0.5, 9.0, 1.0),))


def test_the_force_at_a_speed_is_that_of_the_curve_or_the_greatest_up_to_the_greatest_speed():
    speeds = np.array([[0.0, 0.25, -0.25, 0.375], [0.5, -0.75, 0.75001, -2.0]])
    curve = LegLimits(force=999.0, speed=0.1, speed_force=((0.25, 800.0), (0.5, 400.0), (0.75, 100.0)))
    expected = [[800.0, 800.0, 800.0, 600.0], [400.0, 100.0, 0.0, 0.0]]
    np.testing.assert_allclose(curve.force_at_speed(speeds), expected)
    plain = LegLimits(force=500.0, speed=0.5).force_at_speed(speeds)
    np.testing.assert_array_equal(plain, [[500.0] * 4, [500.0, 0.0, 0.0, 0.0]])


def test_legs_know_their_directions_axes_and_names(machine):
    assert machine.leg_names == tuple(f"leg_{k}" for k in range(1, 7))
    for k, leg in enumerate(machine.legs):
        vector = machine.home_position + machine.home_rotation @ leg.platform_point - leg.base_point
        np.testing.assert_allclose(machine.home_directions[k], vector / np.linalg.norm(vector), rtol=1e-13)
        np.testing.assert_array_equal(machine.base_points[k], leg.base_point)
        np.testing.assert_array_equal(machine.platform_points[k], leg.platform_point)
        np.testing.assert_array_equal(machine.universal_axes[k], leg.universal_axis)
    free = replace_leg(machine, 2, universal_axis=None)
    axis = free.universal_axes[2]
    assert axis @ axis == pytest.approx(1.0) and abs(axis @ free.home_directions[2]) < 1e-15


@pytest.mark.parametrize("direction", [[1, 0, 0], [0, -1, 0], [0, 0, 1], [0.6, 0, 0.8], [0.48, -0.6, 0.64]])
def test_a_perpendicular_of_any_direction_is_a_unit_vector_across_it(direction):
    across = _any_perpendicular(np.array(direction, dtype=float))
    assert across @ across == pytest.approx(1.0, rel=1e-15)
    assert across @ direction == pytest.approx(0.0, abs=1e-15)


def test_a_machine_with_a_leg_without_length_or_an_unknown_guess_is_refused(machine):
    leg = machine.legs[3]
    touching = machine.home_position + machine.home_rotation @ leg.platform_point
    for point, length in ((touching, "0"), (np.array([1e200, 0.0, 0.0]), "inf")):
        with pytest.raises(ModelError) as caught:
            replace_leg(machine, 3, base_point=point)
        assert str(caught.value) == f"leg 'leg_4' of a Machine has the length {length} m at home"
    assert replace(machine, guessed=("masses",)).guessed == ("masses",)
    assert machine.guessed == ()
    with pytest.raises(ModelError) as caught:
        replace(machine, guessed=("friction", "zeal", "gravity"))
    assert str(caught.value) == "guessed has 'gravity'; known are friction, masses"


@pytest.mark.parametrize(
    ("name", "wrong", "error"),
    [
        ("name", 3, WrongTypeError),
        ("gravity", [0.0, -9.81], ModelError),
        ("platform", 3.0, WrongTypeError),
        ("home_position", [0.0, 0.0, np.nan], ModelError),
        ("home_rotation", np.eye(4), ModelError),
        ("home_rotation", np.ones(3), ModelError),
        ("characteristic_length", 0.0, ModelError),
        ("condition_limit", -1.0, ModelError),
        ("legs", (), ModelError),
    ],
)
def test_fields_of_a_machine_are_named(machine, name, wrong, error):
    with pytest.raises(error, match=f"^{name} of a Machine"):
        replace(machine, **{name: wrong})
    for legs in (machine.legs[:5], machine.legs + machine.legs[:1]):
        with pytest.raises(ModelError, match=r"^legs of a Machine"):
            replace(machine, legs=legs)


@pytest.mark.parametrize("name", ["base_point", "platform_point", "universal_axis"])
def test_points_of_a_leg_have_three_finite_numbers(machine, name):
    for wrong in ([1.0, 2.0], [1.0, 2.0, 3.0, 4.0], [1.0, np.inf, 2.0]):
        with pytest.raises(ModelError, match=f"^{name} of a Leg is .*3 finite numbers"):
            replace(machine.legs[0], **{name: wrong})
    for part in ("lower", "upper", "friction", "limits", "drive", "spring", "name"):
        with pytest.raises(WrongTypeError, match=f"^{part} of a Leg"):
            replace(machine.legs[0], **{part: 3.0})


def test_passive_forces_are_friction_inertia_and_springs_of_each_leg(machine):
    driven = replace_legs(
        machine,
        friction=[JointFriction(0.1, 10.0 + k, 0.2, 3.0 + k) for k in range(6)],
        drive=[Drive(0.01 + 0.001 * k, 1e-4, 2e-5, 1.5) for k in range(6)],
        spring=[Spring(0.5, 40.0 - 9.0 * k, 100.0 * k) for k in range(6)],
    )
    np.testing.assert_array_equal(coulomb_friction(driven), [3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    rng = np.random.default_rng(1)
    lengths, accelerations = rng.uniform(0.4, 0.8, (2, 6)), rng.normal(size=(2, 6))
    rates = np.array([[0.5, -0.25, 0.1, -0.3, 0.0, 2.0], [-0.5, 0.3, -0.2, 0.0, 0.7, -0.4]])
    against, springs = passive_forces(driven, lengths, rates, accelerations)
    for n, k in np.ndindex(2, 6):
        leg = driven.legs[k]
        rub = leg.friction.prismatic * rates[n, k] + np.sign(rates[n, k]) * leg.friction.coulomb
        heavy = leg.drive.reflected_mass * accelerations[n, k]
        assert against[n, k] == pytest.approx(rub + heavy, rel=1e-12)
        assert springs[n, k] == pytest.approx(leg.spring.force_at(lengths[n, k]), rel=1e-12)
