"""Descriptions of machines: everything unusable is refused, with the field named."""

import copy
import math
import re

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from stewart_oracles import random_oracle

from robot_dynamics import stewart
from robot_dynamics.errors import ModelError
from robot_dynamics.resources import resource

DEMO = yaml.safe_load(resource("config/stewart_demo.yaml").read_text(encoding="utf-8"))
# Without defaults, so that every field stands where it counts.
PLAIN = {key: value for key, value in copy.deepcopy(DEMO).items() if key != "leg_defaults"}
PLAIN["legs"] = [{**copy.deepcopy(DEMO["leg_defaults"]), **leg} for leg in DEMO["legs"]]


def fields(mapping, path=()):
    """Every field of a description, with the words by which an error must name it."""
    for key, value in mapping.items():
        here = (*path, key)
        yield here
        if isinstance(value, dict):
            yield from fields(value, here)
        elif key == "legs":
            # One leg stands for all.
            yield from fields(value[4], (*here, 4))


def at(mapping, path):
    for key in path[:-1]:
        mapping = mapping[key]
    return mapping, path[-1]


def name_of(path):
    words = ".".join(str(key) for key in path).replace("legs.4", "legs[5]")
    return re.escape(words)


FIELDS = list(fields(PLAIN))
NUMBERS = [
    path
    for path in FIELDS
    if isinstance(value := at(PLAIN, path)[0][path[-1]], int | float | list) and path[-1] != "legs"
]


def spoilt(path, value):
    mapping = copy.deepcopy(PLAIN)
    holder, key = at(mapping, path)
    holder[key] = value
    return mapping


def test_file_text_and_mapping_are_the_same_machine(tmp_path):
    file = tmp_path / "machine.yaml"
    text = yaml.safe_dump(PLAIN)
    file.write_text(text, encoding="utf-8")
    for source in (file, str(file), text, PLAIN, DEMO):
        machine = stewart.load(source).machine
        assert machine.leg_names == tuple(f"leg_{i}" for i in range(1, 7))
        assert machine.legs[4].limits.force == 1500.0


@pytest.mark.parametrize("path", FIELDS, ids=lambda path: ".".join(map(str, path)))
def test_a_missing_field_is_named(path):
    mapping = copy.deepcopy(PLAIN)
    holder, key = at(mapping, path)
    del holder[key]
    words = "needs 'orientation'" if path == ("home", "orientation") else f"{name_of(path)} is missing"
    with pytest.raises(ModelError, match=words):
        stewart.load(mapping)


@pytest.mark.parametrize("path", NUMBERS, ids=lambda path: ".".join(map(str, path)))
@settings(deadline=None, derandomize=True, max_examples=6)
@given(wrong=st.sampled_from([math.nan, math.inf, -math.inf]), where=st.integers(0, 100))
def test_a_number_that_is_not_finite_is_named(path, wrong, where):
    value = np.array(at(PLAIN, path)[0][path[-1]], dtype=float)
    value.ravel()[where % value.size : where % value.size + 1] = wrong
    if value.ndim == 0:
        value = np.array(wrong)
    with pytest.raises(ModelError, match=f"{name_of(path)} is .*finite"):
        stewart.load(spoilt(path, value.tolist()))


WRONG_SHAPES = st.one_of(
    st.lists(st.floats(-1.0, 1.0), max_size=8).filter(lambda x: len(x) not in (2, 3, 4)),
    st.text(max_size=5),
    st.booleans(),
    st.dictionaries(st.text(max_size=3), st.floats(-1.0, 1.0), max_size=2),
    st.just([[1.0, 2.0], [3.0]]),
    st.just([1.0, "x", 2.0]),
)


@pytest.mark.parametrize("path", NUMBERS, ids=lambda path: ".".join(map(str, path)))
@settings(deadline=None, derandomize=True, max_examples=8)
@given(wrong=WRONG_SHAPES)
def test_a_value_of_the_wrong_shape_is_named(path, wrong):
    with pytest.raises(ModelError, match=f"{name_of(path)} (is|must)"):
        stewart.load(spoilt(path, wrong))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("platform", "mass"), 0.0, "platform.mass is 0; it must be greater than 0"),
        (("platform", "mass"), -1.0, "platform.mass is -1"),
        (("legs", 4, "lower", "mass"), -0.1, re.escape("legs[5].lower.mass is -0.1")),
        (("legs", 4, "upper", "mass"), 0.0, re.escape("legs[5].upper.inertia must be zero")),
        (
            ("platform", "inertia"),
            [[1, 0, 0], [0, 1, 0], [0, 0, 2.1]],
            "platform.inertia has the principal moments 1, 1, 2.1",
        ),
        (("platform", "inertia"), [[1, 2, 0], [2, 1, 0], [0, 0, 1]], "negative principal moment -1"),
        (("platform", "inertia"), [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], "platform.inertia is not symmetric"),
        (("legs", 4, "friction", "prismatic"), -1.0, re.escape("legs[5].friction.prismatic is -1")),
        (("legs", 4, "universal_axis"), [0, 0, 0], re.escape("legs[5].universal_axis is [0.0, 0.0, 0.0]")),
        (("legs", 4, "limits", "length"), [0.7, 0.6], re.escape("legs[5].limits.length is [0.7, 0.6]")),
        (("legs", 4, "limits", "length"), [0.3, 0.4], "has length 0.6230 m at home, outside limits.length"),
        (("legs", 4, "limits", "force"), 0.0, re.escape("legs[5].limits.force is 0")),
        (
            ("legs", 4, "limits", "base_angle"),
            35.0,
            "35 rad, more than half a turn: .* 0.6109 for 35 degrees",
        ),
        (("legs", 4, "limits", "speed"), 800.0, "800 m/s, 2.86e.03 strokes a second: give it in m/s"),
        (("legs", 4, "base_joint"), "ball", re.escape("legs[5].base_joint is 'ball'")),
        (("legs", 4, "name"), "leg_1", "not all different"),
        (("legs",), PLAIN["legs"][:5], "legs must be a list of 6 legs"),
        (("home", "orientation"), [0, 0, 0, 0.9], "home.orientation has norm 0.9"),
        (("characteristic_length",), 0.0, "characteristic_length is 0"),
        (("condition_limit",), 2.0, "home is singular: its condition number is 2.7"),
        (("allow_unphysical_inertia",), "yes", "allow_unphysical_inertia is 'yes'"),
        (("wheels",), 4, "wheels is unknown"),
        (("platform", "colour"), "red", "platform.colour is unknown"),
    ],
)
def test_what_cannot_be_is_refused(path, value, words):
    with pytest.raises(ModelError, match=words):
        stewart.load(spoilt(path, value))


def test_legs_that_do_not_carry_the_machine_ask_for_the_unit():
    """1.5, in kN, fell by 134 mm."""
    weak = copy.deepcopy(DEMO)
    weak["leg_defaults"]["limits"]["force"] = 1.5
    with pytest.raises(ModelError, match=r"carry at most .* N at home, the platform weighs 245\.2 N: give"):
        stewart.load(weak)
    light = copy.deepcopy(DEMO)
    light["platform"]["mass"] *= 1e-3  # in tonnes
    light["platform"]["inertia"] = [[0.0] * 3] * 3
    with pytest.warns(stewart.StewartModelWarning, match=r"platform weighs 0\.245. N: is its mass in kg\?"):
        stewart.load(light)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda leg, i: leg.update(base_point=[0.1 * i, 0.0, 0.0]),
            "base_point: the six points lie on one line",
        ),
        (lambda leg, i: leg.update(platform_point=[0.1, 0.1, 0.1]), "platform_point: the six points lie"),
        (
            lambda leg, i: leg.update(base_point=[0.3, 0.1 * i - 0.2, 0.4 - 0.05 * i]),
            "base_point: the six points lie on one line",
        ),
        (
            lambda leg, i: leg.update(platform_point=[0.05 * i, 0.2, 0.1]),
            "platform_point: the six points lie on one line",
        ),
        (
            lambda leg, i: leg.update(universal_axis=(home_direction(i)).tolist()),
            "parallel to the leg at home",
        ),
    ],
)
def test_geometry_without_six_degrees_of_freedom_is_refused(change, words):
    mapping = copy.deepcopy(PLAIN)
    for i, leg in enumerate(mapping["legs"]):
        change(leg, i)
    with pytest.raises(ModelError, match=words):
        stewart.load(mapping)


def home_direction(i):
    leg = PLAIN["legs"][i]
    return np.array(leg["platform_point"]) + np.array([0.0, 0.0, 0.55]) - np.array(leg["base_point"])


@pytest.mark.parametrize(
    ("part", "field", "value", "words"),
    [
        ("lower", "center_of_mass", [0.2, 0.01, 0.0], "must lie on the leg's axis"),
        ("upper", "inertia", [[0.001, 0, 0], [0, 0.03, 0], [0, 0, 0.029]], "diagonal with yy = zz"),
        ("friction", "spherical", 0.1, "friction.spherical must be 0"),
        ("friction", "universal", 0.1, "friction.universal must be 0"),
    ],
)
def test_legs_that_may_spin_must_be_symmetric(part, field, value, words):
    mapping = random_oracle(0).mapping
    leg = mapping["legs"][1]
    leg["base_joint"] = "spherical"
    del leg["universal_axis"]
    for name in ("lower", "upper"):
        leg[name] = {
            "mass": 1.0,
            "center_of_mass": [0.1, 0, 0],
            "inertia": np.diag([0.01, 0.03, 0.03]).tolist(),
        }
    leg["friction"] = {"universal": 0.0, "prismatic": 3.0, "spherical": 0.0}
    stewart.load(mapping)
    leg[part][field] = value
    with pytest.raises(ModelError, match=re.escape(f"legs[2].{part}") + ".*" + words.split(".")[-1]):
        stewart.load(mapping)


def test_what_a_leg_leaves_open_of_its_limits_it_inherits():
    mapping = copy.deepcopy(DEMO)
    mapping["legs"][4]["limits"] = {"force": 2000.0}
    mapping["legs"][4]["friction"] = {"prismatic": 7.0}
    legs = stewart.load(mapping).machine.legs
    assert legs[4].limits == stewart.LegLimits(0.50, 0.78, 0.8, 2000.0, 0.6, 0.7)
    assert legs[4].friction == stewart.JointFriction(0.02, 7.0, 0.01)
    assert legs[3].limits.force == 1500.0
    mapping["leg_defaults"]["limits"] = "unlimited"
    legs = stewart.load(mapping).machine.legs
    assert legs[4].limits == stewart.LegLimits(force=2000.0) and legs[3].limits == stewart.LegLimits()


def test_numbers_that_other_yaml_readers_take_for_texts_are_numbers():
    for text in ("1e4", "1.0e4", "+1E+4", ".1e5"):
        machine = stewart.load(spoilt(("legs", 4, "limits", "force"), text)).machine
        assert machine.legs[4].limits.force == 1e4
    point = stewart.load(spoilt(("legs", 4, "base_point"), [-0.153909, "-4.2e-1", "0e0"])).machine
    assert point.legs[4].base_point.tolist() == [-0.153909, -0.42, 0.0]
    with pytest.raises(ModelError, match="is '1e'; it must be a number"):
        stewart.load(spoilt(("legs", 4, "limits", "force"), "1e"))


def test_printed_inertias_of_the_paper_need_the_flag():
    with pytest.warns(stewart.StewartModelWarning, match="no rigid body has"):
        stewart.load(resource("config/stewart_dasgupta1998.yaml"))
    mapping = yaml.safe_load(resource("config/stewart_dasgupta1998.yaml").read_text(encoding="utf-8"))
    del mapping["allow_unphysical_inertia"]
    with pytest.raises(ModelError, match="inertia has the principal moments"):
        stewart.load(mapping)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("no/such/file.yaml", "cannot be read"),
        ("a: [1,\nb: 2", "not valid YAML"),
        ("- 1\n- 2\n", "must hold a mapping"),
    ],
)
def test_unreadable_sources_are_refused(source, words):
    with pytest.raises(ModelError, match=words):
        stewart.load(source)
