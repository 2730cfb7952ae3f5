"""Rules of supervision as users see them: parameters, thresholds, trips and their lines."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.core.library import ffi
from robot_dynamics.control.supervision import (
    ENFORCE,
    LOW_GAINS,
    OBSERVE,
    OFF,
    RULES,
    TRIP_FIELDS,
    Rule,
    SupervisionParameters,
    Trip,
    rules_of,
    thresholds,
)
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import describe

SPEED = np.array([2.0, 3.5, np.inf])


def fields(**values):
    return SupervisionParameters(**values).fields_of_rules(SPEED)


def test_thresholds_are_derived_by_default():
    found = fields()
    np.testing.assert_allclose(found["speed"], [2.4, 4.2, np.inf])
    assert {name: value for name, value in found.items() if name != "speed"} == {
        "oscillation": 0.02,
        "start_speed": 0.12,
        "start_displacement": 0.9,
        "delay": 0.0,
        "observes": False,
    }
    assert SupervisionParameters().switched_off == []


def test_thresholds_that_are_given_count():
    found = fields(overspeed=1.5, oscillation=0.3, start_motion=0.5, loop_delay=0.25, supervision="observe")
    np.testing.assert_allclose(found["speed"], [3.0, 5.25, np.inf])
    del found["speed"]
    assert list(found.values()) == [0.3, 0.5, 0.9, 0.25, True]


def test_all_rules_that_are_switched_off_are_named_and_no_other():
    assert fields(loop_delay=-1.0)["delay"] == -1.0
    rules = ("overspeed", "oscillation", "start_motion", "loop_delay")
    for name in rules:
        assert SupervisionParameters(**{name: 0.5}).switched_off == []
    assert SupervisionParameters(max_following_error=(0.5, 0.0)).switched_off == []
    assert SupervisionParameters(max_following_error=()).switched_off == []
    every = SupervisionParameters(max_following_error=(-1.0,), **dict.fromkeys(rules, -1.0))
    assert every.switched_off == ["max_following_error", *rules]


@pytest.mark.parametrize("value", [-1.0, -0.5, -1e-9])
def test_any_value_below_zero_switches_a_rule_off_and_is_named(value):
    """-0.5 made a negative threshold of speed, and switched other rules off without a word."""
    assert fields(overspeed=value)["speed"].tolist() == [np.inf] * 3
    assert fields(oscillation=value)["oscillation"] == 0.0
    found = fields(start_motion=value)
    assert (found["start_speed"], found["start_displacement"]) == (0.0, 0.0)
    for name in ("overspeed", "oscillation", "start_motion", "loop_delay"):
        assert SupervisionParameters(**{name: value}).switched_off == [name]
    assert SupervisionParameters(max_following_error=(0.5, value)).switched_off == ["max_following_error"]


def test_parameters_have_their_defaults_and_bounds():
    expected = {
        "supervision": ("enforce", None),
        "max_following_error": ((0.0,), -1.0),
        "overspeed": (0.0, -1.0),
        "oscillation": (0.0, -1.0),
        "start_motion": (0.0, -1.0),
        "loop_delay": (0.0, -1.0),
    }
    assert {one.name: (one.default, one.minimum) for one in describe(SupervisionParameters)} == expected
    assert (ENFORCE, OBSERVE, OFF) == ("enforce", "observe", -1.0)
    assert describe(SupervisionParameters)[0].choices == ("enforce", "observe")
    assert LOW_GAINS == {"rad": 0.2, "m": 0.05}
    with pytest.raises(ParameterError, match=r"'overspeed' is -1\.5"):
        SupervisionParameters(overspeed=-1.5)
    with pytest.raises(ParameterError, match=r"'supervision' is 'watch'; it must be one of"):
        SupervisionParameters(supervision="watch")


def test_a_threshold_is_given_derived_or_infinite():
    given = np.array([0.5, 0.0, -1.0, 0.25, -0.0, 1e-9])
    derived = np.array([7.0, 8.0, 9.0, 10.0, 11.0, 12.0])
    assert thresholds(given, derived).tolist() == [0.5, 8.0, np.inf, 0.25, 11.0, 1e-9]


def test_a_trip_has_the_name_of_its_rule():
    values = {
        "count": 7, "rule": 3, "joint": 2, "time": 1.5, "measured": 4.5, "allowed": 3.5, "latched": 1,
        "stops": 0, "reverted": 9,
    }  # fmt: skip
    assert tuple(values) == TRIP_FIELDS
    trip = Trip.of(SimpleNamespace(**values))
    assert trip == Trip(7, list(RULES)[3], 2, 1.5, 4.5, 3.5, True, False, 9)
    assert trip.latched is True and trip.stops is False and trip.rule == "overspeed"
    raw = ffi().new("rd_trip *", values | {"stops": 1, "latched": 0})
    assert Trip.of(raw) == Trip(7, "overspeed", 2, 1.5, 4.5, 3.5, False, True, 9)
    assert trip.of(raw).joint == 2
    assert Trip(1, "overspeed", 0, 0.0, 1.0, 1.0, False, False).reverted == 0


def rule(*values, **more):
    given = {"number": 4, "name": "oscillation", "quantity": "speed", "thresholds": values, "duration": 0.125}
    given |= {"release": 0.5, "reaction": "protective stop", "reset": "~/reset_fault", "largest": 0.25}
    return Rule(**given | more)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.123456,), "0.123"),
        ((0.5, 0.5, 0.5), "0.5"),
        ((0.5, 0.25, np.inf), "0.5, 0.25, off"),
        ((np.inf, 12345.0), "off, 1.23e+04"),
        ((np.inf, np.inf), "off"),
        ((np.inf,), "off"),
    ],
)
def test_thresholds_in_words(values, words):
    assert rule(*values).threshold == words
    assert rule(*values).words == (
        f"4 oscillation: threshold {words}; duration 0.125 s; release 0.5; protective stop; reset by"
        " ~/reset_fault"
    )


class Library:
    """A core with thresholds of its own for three rules."""

    def __init__(self, given):
        self.given, self.asked = given, []

    def rd_rule_thresholds(self, settings, joints, number, out):
        self.asked.append((settings, joints, number))
        values = self.given.get(number, ())
        for k, value in enumerate(values):
            out[k] = value
        return len(values)

    def rd_rule_table(self, number):
        text = {"reaction": f"reaction {number}", "reset": f"reset {number}"}
        self.kept = {name: ffi().new("char[]", value.encode()) for name, value in text.items()}
        return SimpleNamespace(**self.kept, duration=0.5 * number, release=0.25 * number)


@pytest.mark.parametrize("joints", [1, 3])
def test_rules_in_force_are_listed_with_their_thresholds(joints):
    library = Library({2: (0.5, 0.75), 3: (1.5,) * joints, 12: (9.0,)})
    largest = np.arange(13) / 10.0
    found = rules_of(library, "settings", joints, largest)
    names, quantities = list(RULES), list(RULES.values())
    assert found == [
        Rule(k, names[k], quantities[k], values, 0.5 * k, 0.25 * k, f"reaction {k}", f"reset {k}", k / 10.0)
        for k, values in ((2, (0.5, 0.75)), (3, (1.5,) * joints), (12, (9.0,)))
    ]
    assert library.asked == [("settings", joints, k) for k in range(13)]
