"""Descriptions of parameters, the checks that they bring, and lists that give a value to every joint."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import (
    MOST_ELEMENTS,
    Description,
    by_name,
    describe,
    parameter,
    per_joint,
    validate,
)

KINDS = ["steel"]


@dataclass(frozen=True)
class Sample:
    """Parameters of every kind."""

    gain: float = parameter(2.5, "Gain", unit="1/s", minimum=0.5, maximum=4.0)
    other: dict = field(default_factory=dict)
    count: int = parameter(3, "Number of rows", minimum=2)
    top: float = parameter(-1.0, "Upper value", unit="m", maximum=1.5)
    on: bool = parameter(True, "Switch", read_only=True)
    mode: str = parameter("fast", "Mode", choices=["fast", "slow"])
    kind: str = parameter("steel", "Material", choices=lambda: KINDS)
    weights: tuple[float, ...] = parameter((1.0, 2.0), "Weights", unit="kg", minimum=0.25, maximum=8.0)
    names: tuple[str, ...] = parameter((), "Names")

    def __post_init__(self) -> None:
        validate(self)


def test_every_parameter_is_described():
    described = {one.name: one for one in describe(Sample)}
    assert list(described) == ["gain", "count", "top", "on", "mode", "kind", "weights", "names"]
    assert described["gain"] == Description(
        "gain", float, False, 2.5, "Gain", "1/s", minimum=0.5, maximum=4.0, choices=(), read_only=False
    )
    assert described["count"] == Description(
        "count", int, False, 3, "Number of rows", "", 2, None, choices=(), read_only=False
    )
    assert described["on"] == Description("on", bool, False, True, "Switch", "", None, None, (), True)
    assert described["mode"] == Description(
        "mode", str, False, "fast", "Mode", "", None, None, ("fast", "slow"), False
    )
    assert described["weights"] == Description(
        "weights", float, True, (1.0, 2.0), "Weights", "kg", 0.25, 8.0, (), False
    )
    assert (described["names"].type, described["names"].array, described["names"].default) == (str, True, ())


def test_legal_values_in_words():
    words = {one.name: one.constraints for one in describe(Sample)}
    assert words == {
        "gain": "0.5 to 4",
        "count": "at least 2",
        "top": "at most 1.5",
        "on": "",
        "mode": "one of 'fast', 'slow'",
        "kind": "one of 'steel'",
        "weights": "0.25 to 8",
        "names": "",
    }


def test_choices_of_a_function_are_asked_for_every_time():
    assert {one.name: one.choices for one in describe(Sample)}["kind"] == ("steel",)
    with pytest.raises(ParameterError):
        Sample(kind="wood")
    KINDS.append("wood")
    try:
        assert {one.name: one.choices for one in describe(Sample)}["kind"] == ("steel", "wood")
        assert Sample(kind="wood").kind == "wood"
    finally:
        KINDS.remove("wood")
    assert {one.name: one.choices for one in describe(Sample)}["mode"] == ("fast", "slow")


LARGE = 2**1023
REFUSED = {
    "below": ({"gain": 0.49}, "parameter 'gain' is 0.49 1/s; it must be 0.5 to 4 1/s"),
    "above": ({"gain": 4.01}, "parameter 'gain' is 4.01 1/s; it must be 0.5 to 4 1/s"),
    "too few": ({"count": 1}, "parameter 'count' is 1; it must be at least 2"),
    "above the top": ({"top": 1.6}, "parameter 'top' is 1.6 m; it must be at most 1.5 m"),
    "no choice": ({"mode": "faster"}, "parameter 'mode' is 'faster'; it must be one of 'fast', 'slow'"),
    "an element": ({"weights": (1, 2.0, 8.5)}, "parameter 'weights' is 8.5 kg; it must be 0.25 to 8 kg"),
    "no list": ({"weights": 2.0}, "parameter 'weights' is 2.0; it must be a list"),
    "a text": ({"names": "elbow"}, "parameter 'names' is 'elbow'; it must be a list"),
    "bytes": ({"names": b"elbow"}, "parameter 'names' is b'elbow'; it must be a list"),
    "no number": ({"gain": "1"}, "parameter 'gain' is '1'; it must be a number"),
    "true": ({"gain": True}, "parameter 'gain' is True; it must be a number"),
    "a fraction": ({"count": 3.0}, "parameter 'count' is 3.0; it must be a whole number"),
    "no switch": ({"on": 1}, "parameter 'on' is 1; it must be true or false"),
    "no text": ({"mode": 1}, "parameter 'mode' is 1; it must be a text"),
    "names": ({"names": ("a", 2)}, "parameter 'names' is 2; it must be a text"),
    "NaN": ({"gain": math.nan}, "parameter 'gain' is nan; it must be a finite number"),
    "large": ({"top": LARGE}, "parameter 'top' is inf; it must be a finite number"),
    "larger": ({"top": 10**400}, "parameter 'top' is inf; it must be a finite number"),
    "very negative": ({"top": -LARGE}, "parameter 'top' is -inf; it must be a finite number"),
    "numpy": ({"gain": np.float32(8)}, "parameter 'gain' is 8.0 1/s; it must be 0.5 to 4 1/s"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_illegal_is_refused_with_its_value(given, message):
    with pytest.raises(ParameterError) as refused:
        Sample(**given)
    assert str(refused.value) == message


@pytest.mark.parametrize(("name", "value"), [("gain", "1"), ("weights", 2.0), ("mode", 1)])
def test_a_value_of_another_type_is_also_a_type_error(name, value):
    with pytest.raises(TypeError):
        Sample(**{name: value})


def test_legal_values_are_stored_as_what_they_are_declared_to_be():
    made = Sample(
        gain=4, count=2, top=-(LARGE - 1), weights=[1, np.float64(8.0), np.int64(2)], on=np.bool_(False)
    )
    assert [type(value) for value in (made.gain, made.count, made.top, made.on)] == [float, int, float, bool]
    assert (made.gain, made.count, made.on) == (4.0, 2, False)
    assert made.top == float(-(LARGE - 1))
    assert made.weights == (1.0, 8.0, 2.0) and {type(value) for value in made.weights} == {float}
    assert Sample(gain=0.5).gain == 0.5
    assert Sample(top=1.5, weights=iter([0.25])).weights == (0.25,)
    assert Sample(names=("a", "b")).names == ("a", "b")
    assert Sample(weights=np.array([1.0, 2.0])).weights == (1.0, 2.0)


def test_lists_have_at_most_ten_thousand_elements():
    assert MOST_ELEMENTS == 10_000
    assert len(Sample(weights=[1.0] * 10_000).weights) == 10_000
    read = []

    def endless():
        while True:
            read.append(1)
            yield 1.0

    for values in ([1.0] * 10_001, endless()):
        with pytest.raises(ParameterError) as refused:
            Sample(weights=values)
        assert str(refused.value) == "parameter 'weights' has more than 10000 values"
    assert len(read) == 10_001


def test_a_list_that_fails_while_it_is_read_is_refused():
    def faulty():
        yield 1.0
        raise OSError("the device is gone")

    with pytest.raises(ParameterError) as refused:
        Sample(weights=faulty())
    assert str(refused.value).startswith("parameter 'weights' cannot be read as a list: ")
    assert "the device is gone" in str(refused.value)
    assert refused.value.__suppress_context__


@dataclass(frozen=True)
class Wrong:
    """A parameter of a fifth type."""

    place: complex = parameter(1j, "Place")


def test_parameters_are_of_four_types():
    with pytest.raises(TypeError) as refused:
        describe(Wrong)
    assert str(refused.value) == "Wrong.place: a parameter is a bool, int, float or str, or a tuple"


JOINTS = ("a", "b", "c")


def test_a_value_for_every_joint_or_one_for_all():
    one, three = per_joint((2.5,), JOINTS, "kp"), per_joint([1, 2, 3], list(JOINTS), "kp")
    assert one.tolist() == [2.5, 2.5, 2.5] and three.tolist() == [1.0, 2.0, 3.0]
    assert one.dtype == three.dtype == float
    assert per_joint((2,), ("a",), "kp").tolist() == [2.0]
    for values in ((), (1.0, 2.0), (1.0, 2.0, 3.0, 4.0)):
        with pytest.raises(ParameterError) as refused:
            per_joint(values, JOINTS, "kp")
        expected = f"parameter 'kp' has {len(values)} values; give 1, or 3 in the order a, b, c"
        assert str(refused.value) == expected
    with pytest.raises(ParameterError, match="joint_names"):
        per_joint((1.0,), [f"j{k}" for k in range(MOST_ELEMENTS + 1)], "kp")


@dataclass(frozen=True)
class Pairs:
    names: tuple[str, ...]
    values: tuple[float, ...]


def test_two_lists_make_a_dictionary():
    assert by_name(Pairs(JOINTS, (1.0, 2.0, 2.0)), "names", "values") == {"a": 1.0, "b": 2.0, "c": 2.0}
    assert by_name(Pairs((), ()), "names", "values") == {}
    for pairs, message in (
        (Pairs(JOINTS, (1.0, 2.0)), "parameter 'values' has 2 values for 3 'names'"),
        (Pairs((), (1.0,)), "parameter 'values' has 1 values for 0 'names'"),
        (Pairs(("a", "b", "a"), (1.0, 2.0, 3.0)), "parameter 'names' names a joint twice"),
    ):
        with pytest.raises(ParameterError) as refused:
            by_name(pairs, "names", "values")
        assert str(refused.value) == message
