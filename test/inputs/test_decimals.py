"""Words that are numbers, and words that are not."""

import math

import pytest

from robot_dynamics.inputs.decimals import decimal


@pytest.mark.parametrize(
    "word", ["0", "-0", "17.4", "+.5", "1.", " 2\n", "1e5", "-1.25E-3", "0" * 9999 + "1", "1e-400"]
)
def test_decimal_numbers_are_those_of_float(word):
    assert decimal(word) == float(word)


@pytest.mark.parametrize(
    "word",
    [
        "",
        " ",
        "1_7.4",
        "1,5",
        "١٧.٤",
        "１７.４",
        "0x10",
        "1e",
        "e5",
        ".",
        "1 2",
        "1\u00a0",
        "\u20031",
        "--1",
        "1f",
        "1d0",
    ],
)
def test_other_words_are_no_numbers(word):
    with pytest.raises(ValueError, match="not a number"):
        decimal(word)


@pytest.mark.parametrize("word", ["1e400", "-1e309", "9" * 400, "1" + "0" * 100_000])
def test_what_doubles_do_not_hold_is_too_large(word):
    with pytest.raises(ValueError, match="too large for a number"):
        decimal(word)


@pytest.mark.parametrize("word", ["inf", "-Infinity", "NaN", "+nan"])
def test_words_for_what_is_not_finite_are_understood(word):
    assert not math.isfinite(decimal(word))
