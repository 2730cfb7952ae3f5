"""Fields of a machine's description: values at their bounds, and errors with field, value and remedy."""

import copy
import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from stewart_oracles import random_oracle, rotation

from robot_dynamics import stewart
from robot_dynamics.errors import ModelError, WrongTypeError, quoted
from robot_dynamics.resources import resource
from robot_dynamics.stewart.fields import Fields
from robot_dynamics.stewart.loader import load_machine

MEANT = ": units are m, kg and s; was it meant in millimetres or grams?"
LEG = Fields({}, "legs[3].lower")


def fields(**values):
    return Fields(values, "home")


class Falling(list):
    """A list that fails when it is gone through."""

    def __iter__(self):
        raise RuntimeError("gone")


def refused(words, call, *given, **named):
    with pytest.raises(ModelError) as caught:
        call(*given, **named)
    assert str(caught.value) == words


def test_paths_join_the_section_and_the_field():
    assert (LEG.path("mass"), Fields({}, "").path("mass")) == ("legs[3].lower.mass", "mass")
    inner = Fields({"a": {"b": {"c": 1.5}}}, "").section("a").section("b")
    assert (inner.where, inner.number("c")) == ("a.b", 1.5)
    refused("home.x is missing", fields().value, "x")
    refused("home.x is missing", fields(x=None).value, "x")
    refused("home.x is missing", fields(x=None).section, "x")


def test_texts_have_characters_and_no_controls():
    assert fields(x="two words ü").text("x") == "two words ü"
    refused("home.x is ''; it must be a text", fields(x="").text, "x")
    refused("home.x is 3; it must be a text", fields(x=3).text, "x")
    with pytest.raises(WrongTypeError):
        fields(x=3).text("x")
    for code in (0x00, 0x09, 0x1F, 0x7F, 0x80, 0x9F, 0xD800, 0xDFFF):
        with pytest.raises(ModelError, match=r"^home\.x is .*; a text must have no control characters$"):
            fields(x=f"a{chr(code)}b").text("x")
    for code in (0x20, 0x7E, 0xA0, 0xD7FF, 0xE000):
        assert fields(x=f"a{chr(code)}b").text("x") == f"a{chr(code)}b"


def test_flags_are_true_or_false_or_left_to_their_default():
    assert fields(x=True).flag("x", default=False) is True
    assert fields(x=False).flag("x", default=True) is False
    assert fields().flag("x", default=True) is True
    refused("home.x is 1; it must be true or false", fields(x=1).flag, "x", default=False)
    refused("home.x is [2]; it must be a mapping", fields(x=[2]).section, "x")
    assert fields().optional_section("x") == fields(x=None).optional_section("x") == {}
    assert fields(x={"y": 2}).optional_section("x") == {"y": 2}
    refused("home.x is 'y'; it must be a mapping", fields(x="y").optional_section, "x")


@pytest.mark.parametrize("number", [1e9, -1e9])
def test_numbers_of_an_array_are_finite_and_at_most_the_largest(number):
    np.testing.assert_array_equal(fields(x=[1, number]).array("x", (2,)), [1.0, number])
    far = number + np.sign(number) * 0.5
    refused(
        f"home.x is [1, {quoted(float(far))}]; no number may exceed 1e+09{MEANT}",
        fields(x=[1, float(far)]).array,
        "x",
        (2,),
    )
    refused("home.x is [1, inf]; every number must be finite", fields(x=[1, math.inf]).array, "x", (2,))
    refused("home.x is [1, nan]; every number must be finite", fields(x=[1, math.nan]).array, "x", (2,))


@pytest.mark.parametrize(
    ("value", "shape", "wanted"),
    [
        ([1.0, 2.0], (3,), "3"),
        ([[1.0, 2.0]], (2, 3), "2 by 3"),
        (4.0, (1,), "1"),
        ([[1.0], [2.0]], (2,), "2"),
        (Falling([1.0, 2.0]), (2,), "2"),
        ("1 2", (2,), "2"),
        ({1: 0.0, 2: 0.0}, (2,), "2"),
        ([1.0, True], (2,), "2"),
        ([True], (1,), "1"),
        (Falling([1.0]), (1,), "1"),
    ],
)
def test_an_array_of_another_shape_is_refused(value, shape, wanted):
    with pytest.raises(ModelError, match=rf"^home\.x is .*; it must be {wanted} numbers$"):
        fields(x=value).array("x", shape)


def test_numbers_with_exponents_are_numbers_to_the_depth_of_the_array():
    np.testing.assert_array_equal(fields(x=["1e3", "-2.5E-1"]).array("x", (2,)), [1000.0, -0.25])
    np.testing.assert_array_equal(fields(x=(["1e3"], ["+.5e1"])).array("x", (2, 1)), [[1000.0], [5.0]])
    assert fields(x="1.e2").number("x") == 100.0
    for text in ("1e300", "1e", "e5", "0x1e5", "1 e5", "12", "1.5"):
        with pytest.raises(ModelError, match=r"^home\.x is '.*'; it must be a number$"):
            fields(x=text).number("x")


def test_texts_below_the_depth_of_an_array_or_number_are_of_a_wrong_type():
    for call, given in ((fields(x=["1e4"]).number, ()), (fields(x=[["1e4"], ["2e4"]]).array, ((2,),))):
        with pytest.raises(WrongTypeError):
            call("x", *given)


@pytest.mark.parametrize(
    ("value", "bounds", "words"),
    [
        (math.inf, {}, "inf; it must be finite"),
        (math.nan, {}, "nan; it must be finite"),
        (-math.inf, {"least": 0.0}, "-inf; it must be finite"),
        (0.2499, {"least": 0.25}, "0.2499; it must be at least 0.25"),
        (-1, {"least": 0.0}, "-1; it must be at least 0"),
        (0.25, {"above": 0.25}, "0.25; it must be greater than 0.25"),
        (0.2, {"above": 0.25}, "0.2; it must be greater than 0.25"),
        (
            1e9 + 0.5,
            {},
            f"1e+09; it must be at most 1e+09{MEANT}",
        ),
        ([1.0], {}, "[1.0]; it must be a number"),
        (True, {}, "True; it must be a number"),
        ("far", {}, "'far'; it must be a number"),
    ],
)
def test_a_number_outside_its_bounds_is_refused(value, bounds, words):
    refused(f"home.x is {words}", fields(x=value).number, "x", **bounds)
    refused(f"home.x is {words}", fields(x=value).optional_number, "x", 7.0, **bounds)


def test_a_number_at_its_bounds_is_taken_and_a_default_only_where_there_is_none():
    for value, bounds in (
        (0.25, {"least": 0.25}),
        (0.2501, {"above": 0.25}),
        (1e9, {}),
        (-2e9, {}),
        (-1, {}),
    ):
        assert (
            fields(x=value).number("x", **bounds)
            == fields(x=value).optional_number("x", 7.0, **bounds)
            == value
        )
    for empty in (fields(), fields(x=None)):
        assert empty.optional_number("x", -7.0, least=0.0) == -7.0 and not empty.has("x")
    assert fields(x=0).has("x")


def test_a_direction_is_a_unit_vector_of_what_points_somewhere():
    np.testing.assert_allclose(fields(x=[0, -3, 4]).direction("x"), [0.0, -0.6, 0.8], rtol=1e-15)
    for length in (2e-6, 999999.5):
        np.testing.assert_allclose(fields(x=[0, 0, -length]).direction("x"), [0.0, 0.0, -1.0])
    for length in (0.5e-6, 1e-6, 1e6, 1000000.5):
        refused(
            f"home.x is [0.0, 0.0, {length}]; it must point somewhere",
            fields(x=[0, 0, length]).direction,
            "x",
        )


def test_fields_that_nobody_asked_for_are_unknown():
    given = fields(b=1, a=2, zeal=3, colour=4, source=5)
    assert (given.number("b"), given.has("a"), given.flag("flag", default=True)) == (1.0, True, True)
    assert given.optional_number("least", 3.0) == 3.0 and given.optional_section("more") == {}
    refused("home.colour is unknown; known are a, b, flag, least, more", given.finish, ("source",))
    refused("home.colour is unknown; known are a, b, flag, least, more", given.finish)
    given.finish(("source", "zeal", "colour"))
    refused("home.3 is unknown; known are ", Fields({3: 1}, "home").finish)
    fields().finish()
    with pytest.raises(ModelError, match=r"^home\.a+ \[.* more characters\] a+ is unknown; known are $"):
        Fields({"b": 2, "a" * 500: 1}, "home").finish()


DEMO = yaml.safe_load(resource("config/stewart_demo.yaml").read_text(encoding="utf-8"))


def described(**changes):
    return {**copy.deepcopy(DEMO), **changes}


def unloadable(source, words):
    """A machine that is refused with these words."""
    refused(words, load_machine, source)


def test_an_error_in_a_file_begins_with_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # messages cut long paths
    file = Path("machine.yaml")
    file.write_text(yaml.safe_dump(described(gravity=[1, 2])), encoding="utf-8")
    for source in (file, str(file)):
        unloadable(source, f"{file}: gravity is [1, 2]; it must be 3 numbers")
    unloadable(described(gravity=[1, 2]), "gravity is [1, 2]; it must be 3 numbers")
    unloadable(yaml.safe_dump(described(gravity=[1, 2])), "gravity is [1, 2]; it must be 3 numbers")
    unloadable("none.yaml", "the platform cannot be read: no such platform file: 'none.yaml'")
    file.write_text("a: [1,\n", encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        load_machine(file)
    assert str(caught.value).count(str(file)) == 1
    with pytest.raises(WrongTypeError) as caught:
        load_machine(3.5)
    assert (
        str(caught.value) == "a machine must be a path, YAML of more than one line, or a mapping, not float"
    )


def test_guesses_are_a_list_of_known_parts():
    assert load_machine(described(guessed=["masses", "friction"])).guessed == ("masses", "friction")
    assert load_machine(described(guessed=[])).guessed == load_machine(described(guessed=None)).guessed == ()
    for wrong in (["mass"], [3], ["friction", "mass"]):
        unloadable(described(guessed=wrong), f"guessed is {wrong}; it is a list of friction, masses")
    with pytest.raises(ModelError, match=r"^guessed"):
        load_machine(described(guessed=["friction"] * 3))


def test_home_turns_by_a_quaternion_or_by_angles():
    home = {"position": DEMO["home"]["position"]}
    turned = load_machine(described(home={**home, "roll_pitch_yaw": [0.1, -0.2, 0.15]}))
    np.testing.assert_allclose(turned.home_rotation, rotation(np.array([0.1, -0.2, 0.15])), atol=1e-15)
    for norm in (0.9991, 1.0009):
        quaternion = (norm * np.array([0.06, 0.0, 0.08, np.sqrt(0.99)])).tolist()
        found = load_machine(described(home={**home, "orientation": quaternion})).home_rotation
        expected = stewart.StewartPlatform(turned).motion(np.zeros(3), np.array(quaternion) / norm).rotation
        np.testing.assert_allclose(found, expected, atol=1e-15)
    for norm in (0.9989, 1.0011):
        unloadable(
            described(home={**home, "orientation": [0.0, 0.0, 0.0, norm]}),
            f"home.orientation has norm {norm}; it must be 1",
        )
    unloadable(
        described(home=home), "home needs 'orientation' (quaternion x, y, z, w) or 'roll_pitch_yaw' [rad]"
    )
    both = {**home, "orientation": [0, 0, 0, 1], "roll_pitch_yaw": [0, 0, 0]}
    unloadable(described(home=both), "home.orientation is unknown; known are position, roll_pitch_yaw")


def test_legs_are_six_mappings_of_different_names():
    legs = DEMO["legs"]
    for wrong in (legs[:5], [*legs, legs[0]], "legs", 6.0):
        unloadable(described(legs=wrong), "legs must be a list of 6 legs")
    unloadable(described(legs=[*legs[:5], 7]), "legs[6] must be a mapping")
    doubled = [*legs[:5], {**legs[5], "name": "leg_2"}]
    names = "leg_1, leg_2, leg_3, leg_4, leg_5, leg_2"
    unloadable(described(legs=doubled), f"legs: the names {names} are not all different")
    defaults = {**DEMO["leg_defaults"], "colour": 1, "age": 2}
    unloadable(
        described(leg_defaults=defaults),
        "leg_defaults.age is unknown; known are base_joint, base_point, universal_axis, platform_point,"
        " lower, upper, friction, limits, drive, spring",
    )


def with_leg(**changes):
    mapping = described()
    mapping["legs"][1].update(changes)
    return mapping


def test_a_leg_has_a_drive_and_a_spring_of_its_own():
    drive = {"lead": 0.02, "screw_inertia": 3e-4, "rotor_inertia": 1e-5, "gear_ratio": 2.5}
    spring = {"length": 0.6, "force": -40.0, "stiffness": 150.0}
    legs = load_machine(with_leg(drive=drive, spring=spring)).legs
    assert legs[1].drive == stewart.Drive(0.02, 3e-4, 1e-5, 2.5)
    assert legs[1].spring == stewart.Spring(0.6, -40.0, 150.0)
    assert legs[0].drive is stewart.machine.NO_DRIVE and legs[0].spring is stewart.machine.NO_SPRING
    assert load_machine(with_leg(drive={"lead": 0.02})).legs[1].drive == stewart.Drive(0.02, 0.0, 0.0, 1.0)
    assert load_machine(with_leg(drive=None, spring=None)).legs[1].drive is stewart.machine.NO_DRIVE
    with_friction = load_machine(with_leg(friction={"coulomb": 3.0})).legs[1].friction
    assert (with_friction.coulomb, legs[1].friction.coulomb) == (3.0, 0.0)
    for name, value, words in (
        ("lead", 0, "is 0; it must be greater than 0"),
        ("rotor_inertia", -1, "is -1; it must be at least 0"),
        ("screw_inertia", -1, "is -1; it must be at least 0"),
        ("gear_ratio", 0, "is 0; it must be greater than 0"),
        ("other", 0, "is unknown; known are gear_ratio, lead, rotor_inertia, screw_inertia"),
    ):
        unloadable(with_leg(drive={**drive, name: value}), f"legs[2].drive.{name} {words}")
    unloadable(with_leg(spring={"length": 0.5, "stiffness": 3}), "legs[2].spring.force is missing")
    unloadable(
        with_leg(spring={**spring, "length": 0}), "legs[2].spring.length is 0; it must be greater than 0"
    )
    unloadable(
        with_leg(spring={**spring, "stiffness": -1}), "legs[2].spring.stiffness is -1; it must be at least 0"
    )
    zero = {**spring, "stiffness": 0}
    assert load_machine(with_leg(spring=zero)).legs[1].spring.stiffness == 0.0
    heavy = {"lead": 2.0 * math.pi * 1e-4, "screw_inertia": 10.1}
    unloadable(
        with_leg(drive=heavy),
        "legs[2].drive: its turning parts are as heavy as 1.01e+09 kg; the lead is in metres per turn,"
        " inertias in kg·m²",
    )
    assert load_machine(with_leg(drive={**heavy, "screw_inertia": 9.9})).legs[1].drive.lead == heavy["lead"]


@pytest.mark.parametrize("name", ["universal", "prismatic", "spherical", "coulomb"])
def test_friction_of_a_leg_is_zero_or_more(name):
    for value in (0, 0.25):
        assert getattr(load_machine(with_leg(friction={name: value})).legs[1].friction, name) == value
    words = f"legs[2].friction.{name} is -0.5; it must be at least 0"
    unloadable(with_leg(friction={name: -0.5}), words)


def test_parts_of_a_leg_may_weigh_little_or_nothing_and_drives_may_be_slow():
    light = {"mass": 0.5, "center_of_mass": [0.1, 0, 0], "inertia": np.diag([0.01, 0.03, 0.03]).tolist()}
    none = {"mass": 0, "center_of_mass": [0, 0, 0], "inertia": np.zeros((3, 3)).tolist()}
    legs = load_machine(with_leg(lower=light, upper=none, drive={"lead": 0.01, "gear_ratio": 0.5})).legs
    assert (legs[1].lower.mass, legs[1].upper.mass, legs[1].drive.gear_ratio) == (0.5, 0.0, 0.5)
    unloadable(with_leg(lower={**light, "mass": -0.25}), "legs[2].lower.mass is -0.25; it must be at least 0")
    weak = {"continuous_force": 0.5, "speed": 0.5}
    assert load_machine(with_leg(limits=weak)).legs[1].limits.continuous_force == 0.5
    unloadable(
        with_leg(limits={"continuous_force": -0.5}),
        "legs[2].limits.continuous_force is -0.5; it must be greater than 0",
    )
    unloadable(
        with_leg(lower={**light, "name": 3}),
        "legs[2].lower.name is unknown; known are center_of_mass, inertia, mass",
    )


def test_limits_of_a_leg_are_its_own_or_none():
    limits = {
        **DEMO["leg_defaults"]["limits"],
        "speed_force": [[0, 900], [0.5, "1e2"]],
        "continuous_force": 400,
    }
    found = load_machine(with_leg(limits=limits)).legs[1].limits
    assert found.speed_force == ((0.0, 900.0), (0.5, 100.0)) and found.continuous_force == 400.0
    assert load_machine(with_leg(limits={**limits, "speed_force": None})).legs[1].limits.speed_force == ()
    assert load_machine(with_leg(limits="unlimited")).legs[1].limits == stewart.LegLimits()
    for name, value, words in (
        ("length", [0.75, 0.75], "length is [0.75, 0.75]; it must grow from 0 on"),
        ("length", [0.75, 0.5], "length is [0.75, 0.5]; it must grow from 0 on"),
        ("length", [-0.25, 0.75], "length is [-0.25, 0.75]; it must grow from 0 on"),
        ("speed", 0, "speed is 0; it must be greater than 0"),
        ("base_angle", -1, "base_angle is -1; it must be greater than 0"),
        ("continuous_force", 0, "continuous_force is 0; it must be greater than 0"),
        ("speed_force", [[1, 2, 3]], "speed_force is [[1, 2, 3]]; it must be 1 by 2 numbers"),
    ):
        unloadable(with_leg(limits={**limits, name: value}), f"legs[2].limits.{words}")
    unloadable(
        with_leg(limits={**limits, "continuous_force": 5000}),
        "legs[2].limits: continuous_force of a LegLimits is 5000 N; it must be at most force, 1500 N",
    )
    assert load_machine(with_leg(limits={**limits, "length": [0, 0.8]})).legs[1].limits.shortest == 0.0
    with pytest.raises(ModelError, match=r"^legs\[2\]\.limits\.speed_force"):
        load_machine(with_leg(limits={**limits, "speed_force": [[k, 1] for k in range(1001)]}))
    thousand = [[0.001 * k, 1] for k in range(1000)]
    assert (
        len(load_machine(with_leg(limits={**limits, "speed_force": thousand})).legs[1].limits.speed_force)
        == 1000
    )


def test_with_unlimited_defaults_a_leg_has_the_limits_that_it_gives():
    mapping = with_leg(limits={"speed": 0.5})
    mapping["leg_defaults"]["limits"] = "unlimited"
    assert load_machine(mapping).legs[1].limits == stewart.LegLimits(speed=0.5)
    mapping["legs"][1]["limits"] = {"length": [0.5, 0.75]}
    assert load_machine(mapping).legs[1].limits == stewart.LegLimits(0.5, 0.75)
    mapping = described()
    del mapping["leg_defaults"]["limits"]
    for leg in mapping["legs"]:
        leg["limits"] = "unlimited"
    mapping["legs"][1]["limits"] = {"speed": 0.5}
    unloadable(mapping, "legs[2].limits.length is missing")


def test_the_base_joint_is_universal_or_spherical():
    unloadable(with_leg(base_joint="ball"), "legs[2].base_joint is 'ball'; it must be universal or spherical")
    mapping = random_oracle(0).mapping
    body = {"mass": 1.0, "center_of_mass": [0.1, 0, 0], "inertia": np.diag([0.01, 0.03, 0.03]).tolist()}
    free = {"base_joint": "spherical", "lower": body, "upper": body}
    mapping["legs"][1].update(free, friction={"universal": 0.0, "prismatic": 3.0, "spherical": 0.0})
    legs = load_machine(mapping).legs
    assert legs[1].universal_axis is None and legs[0].universal_axis is not None


UNPHYSICAL = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.5]]


@pytest.mark.parametrize("parts", [("platform",), ("platform", "lower")])
def test_inertias_of_no_rigid_body_are_counted_in_a_warning(parts):
    mapping = described(allow_unphysical_inertia=True)
    mapping["platform"]["inertia"] = UNPHYSICAL
    if "lower" in parts:
        mapping["legs"][1]["lower"] = {**mapping["leg_defaults"]["lower"], "inertia": UNPHYSICAL}
    with pytest.warns(stewart.StewartModelWarning) as caught:
        load_machine(mapping)
    (warning,) = caught
    assert str(warning.message) == (
        f"{DEMO['name']} is used with inertias that no rigid body has, as allow_unphysical_inertia asks:"
        " platform.inertia has the principal moments 1, 1, 2.5 kg·m²; none may exceed the sum of the other"
        f" two ({len(parts)} such bodies)"
    )
    mapping["platform"]["inertia"] = [[1.0, 0.25, 0.0], [0.25 + 1e-13, 1.0, 0.0], [0.0, 0.0, 2.5]]
    with pytest.warns(stewart.StewartModelWarning, match="no rigid body has"):
        load_machine(mapping)
    mapping["platform"]["inertia"] = [[1.0, 0.25, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    unloadable(mapping, "platform.inertia is not symmetric")
    mapping["platform"]["inertia"] = [[1.0, 0.25, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]]
    unloadable(mapping, "platform.inertia is not symmetric")
    mapping["allow_unphysical_inertia"] = False
    mapping["platform"]["inertia"] = UNPHYSICAL
    with pytest.raises(ModelError, match=r"^platform\.inertia has the principal moments"):
        load_machine(mapping)


def test_warnings_point_at_the_line_that_loads():
    mapping = described(allow_unphysical_inertia=True)
    mapping["platform"]["inertia"] = UNPHYSICAL
    light = described()
    light["platform"].update(mass=0.025, inertia=[[0.0] * 3] * 3)
    for given in (mapping, light):
        with pytest.warns(stewart.StewartModelWarning) as caught:
            stewart.load(given)
        assert caught[0].filename == __file__
        assert str(caught[0].message).startswith(DEMO["name"])


def test_numbers_of_the_machine_have_least_values():
    for name, value, words in (
        ("characteristic_length", 1e-6, "characteristic_length is 1e-06; it must be greater than 1e-06"),
        ("condition_limit", 1.0, "condition_limit is 1; it must be greater than 1"),
    ):
        unloadable(described(**{name: value}), words)
    platform = {**DEMO["platform"], "mass": 0}
    unloadable(described(platform=platform), "platform.mass is 0; it must be greater than 0")
    assert load_machine(described(source="a paper")).name == DEMO["name"]
    unloadable(
        described(sources=3),
        "sources is unknown; known are allow_unphysical_inertia, characteristic_length, condition_limit,"
        " gravity, guessed, home, leg_defaults, legs, name, platform",
    )
