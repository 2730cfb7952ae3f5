"""Numbers in the file of a new machine: closed forms of its measures, and marks at those that are guesses."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import yaml

from robot_dynamics import stewart
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import lumped_body
from robot_dynamics.stewart.new_machine import Measures, _rounded, _rounded_up, machine_text

GIVEN = Measures(
    'base "ü" 1',
    1.1,
    0.7,
    0.5,
    shortest_leg=1.05,
    force=8123.0,
    speed=0.45,
    pair_angle=math.radians(24.0),
    platform_pair_angle=math.radians(36.0),
    mass=310.0,
    com=(0.01, -0.02, 0.3),
    inertia=(40.0, 50.0, 60.0, 1.0, -2.0, 3.0),
    lower_mass=21.0,
    upper_mass=7.5,
    continuous_force=5123.0,
    speed_force=((0.0, 8000.0), (0.25, 7000.0), (0.6, 2500.0)),
    drive=(0.02, 3e-4, 2e-4, 2.5),
    base_angle=0.7,
    platform_angle=0.9,
)
SOME = Measures("some", 1.1, 0.7, 0.5, payload=150.0, force=8000.0, base_angle=1.0, platform_angle=1.0)


def three(value):
    return float(f"{value:.3g}")


def text_of(measures):
    text = machine_text(measures)
    return text, yaml.safe_load(text)


def pairs(measures):
    """Angles of the pairs of joints on base and platform [rad]."""
    base, platform = measures.pair_angle, measures.platform_pair_angle
    return base, base if platform is None else platform


def across(measures):
    """Horizontal distance of the two joints of a leg, by the law of cosines."""
    a, b = measures.base_radius, measures.platform_radius
    between = math.radians(60.0) - 0.5 * sum(pairs(measures))
    return math.sqrt(a * a + b * b - 2.0 * a * b * math.cos(between))


@pytest.mark.parametrize("measures", [GIVEN, SOME], ids=lambda m: m.name)
def test_joints_are_where_the_measures_put_them(measures):
    _, described = text_of(measures)
    pair, other = np.degrees(pairs(measures))
    at = [
        0.5 * pair,
        120 - 0.5 * pair,
        120 + 0.5 * pair,
        240 - 0.5 * pair,
        240 + 0.5 * pair,
        360 - 0.5 * pair,
    ]
    to = [s * 120.0 + 60.0 + sign * 0.5 * other for s in range(3) for sign in (-1, 1)]
    for k, leg in enumerate(described["legs"]):
        assert leg["name"] == f"leg_{k + 1}"
        u, v = np.radians(at[k]), np.radians(to[k])
        np.testing.assert_allclose(leg["base_point"], 1.1 * np.array([np.cos(u), np.sin(u), 0.0]), atol=2e-9)
        np.testing.assert_allclose(
            leg["platform_point"], 0.7 * np.array([np.cos(v), np.sin(v), 0.0]), atol=2e-9
        )
        np.testing.assert_allclose(leg["universal_axis"], [-np.sin(u), np.cos(u), 0.0], atol=2e-9)
        assert len(leg) == 4
    legs = stewart.load(described).machine.legs
    span = [np.linalg.norm((leg.base_point - leg.platform_point)[:2]) for leg in legs]
    np.testing.assert_allclose(span, across(measures), rtol=1e-8)


def test_no_coordinate_is_minus_zero():
    assert "-0," not in machine_text(SOME) and "-0]" not in machine_text(SOME)


def test_what_is_given_is_in_the_file_and_nothing_of_it_is_called_a_guess():
    text, described = text_of(GIVEN)
    assert described["name"] == 'base "ü" 1'
    assert described["guessed"] == ["friction"]
    assert described["gravity"] == [0.0, 0.0, -9.81]
    assert (described["characteristic_length"], described["condition_limit"]) == (0.7, 50.0)
    height = three(math.sqrt(1.3**2 - across(GIVEN) ** 2))
    assert described["home"] == {"position": [0.0, 0.0, height], "orientation": [0.0, 0.0, 0.0, 1.0]}
    assert described["platform"] == {
        "mass": 310,
        "center_of_mass": [0.01, -0.02, 0.3],
        "inertia": [[40, 1, -2], [1, 50, 3], [-2, 3, 60]],
    }
    defaults = described["leg_defaults"]
    assert defaults["drive"] == {
        "lead": 0.02,
        "screw_inertia": 0.0003,
        "rotor_inertia": 0.0002,
        "gear_ratio": 2.5,
    }
    assert defaults["limits"] == {
        "length": [1.05, 1.55],
        "speed": 0.45,
        "force": 8123,
        "continuous_force": 5123,
        "speed_force": [[0, 8000], [0.25, 7000], [0.6, 2500]],
        "base_angle": 0.7,
        "platform_angle": 0.9,
    }
    assert (defaults["lower"]["mass"], defaults["upper"]["mass"]) == (21, 7.5)
    assert defaults["base_joint"] == "universal"
    friction = {
        "universal": 0.0,
        "prismatic": three(812.3 / 0.45),
        "spherical": 0.0,
        "coulomb": three(162.46),
    }
    assert defaults["friction"] == friction
    lines = [line.strip() for line in text.splitlines() if "guess" in line and not line.startswith("#")]
    assert [line.split(":")[0] for line in lines] == [
        "guessed",
        *["center_of_mass", "inertia"] * 2,
        "prismatic",
        "coulomb",
    ]
    assert "# Joint circles of radius 1.1 and 0.7, 24 and 36 degrees\n" in text
    assert "    length: [1.05, 1.55]      # stroke 0.5\n" in text
    assert "  # spring:\n  #   length: 1.3      # of the leg, at which it\n  #   force: 812      #" in text
    assert (
        "    speed_force: [[0, 8000], [0.25, 7000], [0.6, 2500]]      # greatest force over speed\n" in text
    )
    assert "    continuous_force: 5123\n" in text


def test_what_is_not_given_is_marked_as_a_guess():
    bare = replace(SOME, force=None, base_angle=None, platform_angle=None)
    text, described = text_of(bare)
    assert described["guessed"] == ["friction", "masses"]
    plate = three(400.0 * 0.7**3)
    platform, defaults = described["platform"], described["leg_defaults"]
    for line in (
        f"  mass: {platform['mass']:g}      # guess: plate {plate:g} + payload 150\n",
        f"  center_of_mass: [0, 0, {platform['center_of_mass'][2]:g}]      # guess\n",
        f"    - [{platform['inertia'][0][0]:g}, 0, 0]      # guess: a disc with a cylinder on it\n",
        f"    mass: {defaults['lower']['mass']:g}      # guess\n",
        f"    mass: {defaults['upper']['mass']:g}      # guess\n",
        "    speed: 1      # guess\n",
        f"    force: {defaults['limits']['force']:g}      # guess\n",
        f"    base_angle: {defaults['limits']['base_angle']:g}      # guess: all strokes need less\n",
        f"    platform_angle: {defaults['limits']['platform_angle']:g}      # guess: all strokes need less\n",
        "  # drive:\n  #   lead: 0.01      #",
        "  #   screw_inertia: 0.0001      #",
        "  #   rotor_inertia: 0.0001      #",
        "  #   gear_ratio: 1      #",
    ):
        assert line in text
    assert "continuous_force" not in text and "speed_force" not in text
    assert "drive" not in defaults
    assert "# guess" not in "".join(line for line in text.splitlines() if "stroke 0.5" in line)


@pytest.mark.parametrize("missing", ["mass", "lower_mass", "upper_mass"])
def test_one_mass_that_is_not_given_makes_masses_a_guess(missing):
    changed = {"inertia": None} if missing == "mass" else {}
    _, described = text_of(replace(GIVEN, **{missing: None}, **changed))
    assert described["guessed"] == ["friction", "masses"]


def disc_with_cylinder(radius, plate, load):
    """Two bodies on each other: a disc, and a cylinder of 0.6 of its radius and 0.8 of it high."""
    wide, high = 0.6 * radius, 0.8 * radius
    disc = np.diag([0.25, 0.25, 0.5]) * plate * radius**2
    across_it = load * (3.0 * wide**2 + high**2) / 12.0
    cylinder = np.diag([across_it, across_it, 0.5 * load * wide**2])
    return lumped_body(
        (RigidBody(plate, np.zeros(3), disc), RigidBody(load, np.array([0.0, 0.0, 0.5 * high]), cylinder))
    )


@pytest.mark.parametrize(("payload", "mass"), [(None, None), (150.0, None), (None, 500.0)])
def test_the_guessed_platform_is_a_disc_with_a_cylinder_on_it(payload, mass):
    _, described = text_of(replace(SOME, payload=payload, mass=mass))
    load, plate = 150.0 if payload else three(800.0 * 0.7**3), three(400.0 * 0.7**3)
    body = disc_with_cylinder(0.7, plate, load)
    scale = 1.0 if mass is None else mass / body.mass
    platform = described["platform"]
    assert platform["mass"] == pytest.approx(mass or body.mass, rel=1e-5)
    np.testing.assert_allclose(platform["center_of_mass"], body.center_of_mass, rtol=1e-5)
    inertia = np.diag([three(scale * moment) for moment in np.diag(body.inertia)])
    np.testing.assert_array_equal(platform["inertia"], inertia)


def test_a_platform_of_a_metre_weighs_four_hundred_kilograms_and_carries_eight_hundred():
    text, described = text_of(replace(SOME, platform_radius=1.0, payload=None, force=2e4))
    assert described["platform"]["mass"] == 1200
    assert "      # guess: plate 400 + payload 800\n" in text


@pytest.mark.parametrize(("lower", "upper"), [(None, None), (12.0, 3.0)])
def test_guessed_legs_are_two_slender_cylinders(lower, upper):
    """Each 0.6 of the leg in its middle long; radii 0.05 and 0.025 of it; 15 and 4 kg at 1 m."""
    _, described = text_of(replace(SOME, shortest_leg=1.1, lower_mass=lower, upper_mass=upper))
    middle = 1.35
    for name, given, density, thick, sign in (
        ("lower", lower, 15.0, 0.05, 1.0),
        ("upper", upper, 4.0, 0.025, -1.0),
    ):
        mass, length, radius = given or density * middle**3, 0.6 * middle, thick * middle
        part = described["leg_defaults"][name]
        assert part["mass"] == three(mass)
        assert part["center_of_mass"] == [sign * three(0.5 * length), 0.0, 0.0]
        across_it = three(mass * (3.0 * radius**2 + length**2) / 12.0)
        np.testing.assert_array_equal(
            part["inertia"], np.diag([three(0.5 * mass * radius**2), *[across_it] * 2])
        )


@pytest.mark.parametrize(("stroke", "long"), [(0.5, False), (0.9, True)])
def test_the_shortest_leg_lets_legs_lean_and_has_room_for_what_does_not_slide(stroke, long):
    measures = replace(SOME, stroke=stroke)
    _, described = text_of(measures)
    lean, dead = 1.5 * across(measures) - 0.5 * stroke, 1.5 * stroke
    assert (dead > lean) is long
    shortest = three(max(lean, dead))
    limits = described["leg_defaults"]["limits"]
    np.testing.assert_allclose(limits["length"], [shortest, shortest + stroke], rtol=1e-6)
    height = math.sqrt((shortest + 0.5 * stroke) ** 2 - across(measures) ** 2)
    assert described["home"]["position"] == [0.0, 0.0, three(height)]
    assert limits["speed"] == pytest.approx(2.0 * stroke)


def test_legs_that_hardly_rise_are_refused_at_a_twentieth_more_than_their_span():
    span = across(SOME)
    low = replace(SOME, shortest_leg=1.049 * span - 0.25)
    with pytest.raises(ParameterError) as caught:
        machine_text(low)
    shortest = low.shortest_leg
    assert str(caught.value) == (
        f"legs of {shortest:g} to {shortest + 0.5:g} m do not lift the platform: {span:.4g} m is what they"
        " span sideways; make shortest_leg longer or the radii more alike"
    )
    assert stewart.load(machine_text(replace(SOME, shortest_leg=1.052 * span - 0.25)))


@pytest.mark.parametrize(
    ("change", "speed", "guessed"),
    [
        ({}, 1.0, True),
        ({"speed": 0.3}, 0.3, False),
        ({"speed_force": ((0.0, 8000.0), (0.6, 3000.0))}, 0.6, False),
        ({"speed": 0.4, "speed_force": ((0.0, 8000.0), (0.6, 3000.0))}, 0.4, False),
    ],
)
def test_the_speed_is_given_or_that_of_the_curve_or_two_strokes_a_second(change, speed, guessed):
    text, described = text_of(replace(SOME, **change))
    assert described["leg_defaults"]["limits"]["speed"] == speed
    assert (f"    speed: {speed:g}      # guess\n" in text) is guessed


@pytest.mark.parametrize(
    ("change", "force"),
    [
        ({"speed_force": ((0.0, 7000.0), (0.3, 9000.0), (0.6, 3000.0))}, 9000.0),
        ({"force": 5000.0, "speed_force": ((0.0, 5000.0), (0.6, 3000.0))}, 5000.0),
        ({"continuous_force": 123456.0}, 123456.0),
    ],
)
def test_the_force_is_given_or_the_greatest_of_the_curve(change, force):
    text, described = text_of(
        replace(SOME, force=None, **change) if "force" not in change else replace(SOME, **change)
    )
    limits = described["leg_defaults"]["limits"]
    assert limits["force"] == force
    assert (f"    force: {force:g}      # guess\n" in text) is ("continuous_force" in change)
    assert limits.get("continuous_force") == change.get("continuous_force")


@pytest.mark.parametrize("continuous", [None, 5.0])
def test_the_guessed_force_is_twice_what_shaking_at_home_needs(continuous):
    """5 m/s² along and against each axis; Newton-Euler forces of the machine in the file."""
    _, described = text_of(replace(SOME, force=None, continuous_force=continuous))
    platform = stewart.load(described)
    shaken = 5.0 * np.vstack([np.eye(3), -np.eye(3)])
    rest = np.zeros((6, 3))
    home = platform.machine.home_position
    forces = platform.inverse_dynamics(
        home, [0.0, 0.0, 0.0], rest, rest, shaken, rest, on_violation="report"
    ).actuator_forces
    needed = 2.0 * np.abs(forces).max()
    force = described["leg_defaults"]["limits"]["force"]
    step = 10.0 ** (math.floor(math.log10(needed)) - 1)
    assert force == step * math.ceil(needed / step)
    friction = described["leg_defaults"]["friction"]
    assert (friction["prismatic"], friction["coulomb"]) == (three(0.1 * force / 1.0), three(0.02 * force))


def test_the_guessed_joint_angles_are_those_of_all_combinations_of_strokes_rounded_up():
    """To the next twentieth of a radian, with a fiftieth more than the corners need."""
    measures = replace(SOME, base_angle=None, platform_angle=None)
    platform = stewart.load(machine_text(measures))
    machine = platform.machine
    limits = machine.legs[0].limits
    greatest = np.zeros(2)
    for lengths in itertools.product((limits.shortest, limits.longest), repeat=6):
        pose = platform.forward_kinematics(lengths)
        if not pose.converged:
            continue
        s = platform.legs(pose.position, pose.orientation).directions
        home = machine.home_directions
        cosines = (s * home).sum(axis=1), ((s @ pose.rotation) * (home @ machine.home_rotation)).sum(axis=1)
        greatest = np.maximum(greatest, [np.arccos(cosine).max() for cosine in cosines])
    for angle, bound in zip(greatest, (limits.base_angle, limits.platform_angle), strict=True):
        assert bound == pytest.approx(min(math.ceil(1.02 * angle * 20.0) / 20.0, math.pi), rel=1e-5)
    for name in ("base_angle", "platform_angle"):
        _, described = text_of(replace(SOME, **{name: None}))
        found = described["leg_defaults"]["limits"]
        assert found[name] == pytest.approx(getattr(limits, name), rel=1e-5)
        assert {found["base_angle"], found["platform_angle"]} > {1.0}


SIZES = ("base_radius", "platform_radius", "stroke", "shortest_leg", "speed")
LOADS = ("payload", "mass", "force", "continuous_force", "lower_mass", "upper_mass")


@pytest.mark.parametrize("name", [*SIZES, *LOADS])
def test_sizes_and_loads_are_within_bounds_that_are_named(name):
    top, shown = (1e3, "1000") if name in SIZES else (1e9, "1e+09")
    plain = Measures("m", 1.1, 0.7, 0.5)
    for value in (1e-4, top):
        assert getattr(replace(plain, **{name: value}), name) == value
    for value in (0.99e-4, 1.01 * top, 0.0, -1.0, math.nan):
        with pytest.raises(ParameterError) as caught:
            replace(plain, **{name: value})
        assert str(caught.value) == f"{name} is {value:g}; it must be between 0.0001 and {shown} (SI units)"


@pytest.mark.parametrize("name", ["pair_angle", "platform_pair_angle"])
def test_angles_of_pairs_are_between_0_and_120_degrees_and_together_below_it(name):
    plain = Measures("m", 1.1, 0.7, 0.5, pair_angle=math.radians(0.5), platform_pair_angle=math.radians(0.5))
    for degrees in (0.01, 119.4):
        assert getattr(replace(plain, **{name: math.radians(degrees)}), name) == math.radians(degrees)
    for degrees in (0.0, -5.0, 120.0, 121.0):
        with pytest.raises(ParameterError) as caught:
            replace(plain, **{name: math.radians(degrees)})
        assert str(caught.value) == f"{name} is {degrees:g} degrees; it must be above 0, below 120"
    with pytest.raises(ParameterError) as caught:
        replace(plain, pair_angle=math.radians(50.0), platform_pair_angle=math.radians(70.5))
    assert str(caught.value) == (
        "pair_angle is 50 degrees and that of the platform 70.5; together they must be below 120, where the"
        " platform would not resist being turned"
    )
    with pytest.raises(ParameterError, match="together they must be below 120"):
        Measures("m", 1.1, 0.7, 0.5, pair_angle=math.radians(60.0))


@pytest.mark.parametrize("name", ["base_angle", "platform_angle"])
def test_joint_angles_are_above_0_and_up_to_half_a_turn(name):
    for angle in (0.001, math.pi):
        assert getattr(replace(SOME, **{name: angle}), name) == angle
    for angle in (0.0, -0.5, 3.2):
        with pytest.raises(ParameterError) as caught:
            replace(SOME, **{name: angle})
        assert (
            str(caught.value) == f"{name} is {math.degrees(angle):g} degrees; it must be above 0, up to 180"
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": 5.0}, "mass and payload are both given; mass is plate and payload together"),
        ({"inertia": (1.0,) * 6}, "inertia is given without mass"),
        ({"com": (0.0, 1.0)}, "com is (0.0, 1.0); it must be 3 finite numbers"),
        ({"com": (0.0, 1.0, 2.0, 3.0)}, "com is (0.0, 1.0, 2.0, 3.0); it must be 3 finite numbers"),
        ({"com": (0.0, 1.0, math.inf)}, "com is (0.0, 1.0, inf); it must be 3 finite numbers"),
        ({"com": (0.0, math.nan, 0.0)}, "com is (0.0, nan, 0.0); it must be 3 finite numbers"),
        ({"drive": (1.0, 2.0, 3.0)}, "drive is (1.0, 2.0, 3.0); it must be 4 finite numbers"),
        (
            {"payload": None, "mass": 5.0, "inertia": (1.0, 2.0)},
            "inertia is (1.0, 2.0); it must be 6 finite numbers",
        ),
        ({"name": "a\nb"}, "name is 'a\\nb'; it must be a word that can be printed"),
        ({"name": "a\tb"}, "name is 'a\\tb'; it must be a word that can be printed"),
        ({"name": "  "}, "name is '  '; it must be a word that can be printed"),
        ({"name": ""}, "name is ''; it must be a word that can be printed"),
    ],
)
def test_measures_that_do_not_fit_are_refused_in_words(change, words):
    with pytest.raises(ParameterError) as caught:
        replace(SOME, **change)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("value", "near", "up"),
    [
        (1234.5, 1230.0, 1300.0),
        (120.0, 120.0, 120.0),
        (0.0010123, 0.00101, 0.0011),
        (99.1, 99.1, 100.0),
        (0.55, 0.55, 0.55),
    ],
)
def test_numbers_are_rounded_to_three_digits_and_forces_up_to_two(value, near, up):
    assert (_rounded(value), _rounded_up(value)) == (near, up)


def test_measures_that_are_not_given_are_none():
    plain = Measures("m", 1.1, 0.7, 0.5)
    assert plain.pair_angle == pytest.approx(np.pi / 9.0, rel=1e-15)
    left = {name: value for name, value in vars(plain).items() if name != "pair_angle"}
    assert left.pop("speed_force") == ()
    assert [left.pop(name) for name in ("name", "base_radius", "platform_radius", "stroke")] == [
        "m",
        1.1,
        0.7,
        0.5,
    ]
    assert set(left.values()) == {None}
