"""Values that numpy would turn into numbers silently are refused, and the argument is named."""

import datetime
import decimal
import fractions

import numpy as np
import pytest

from robot_dynamics.errors import LONGEST_MESSAGE, StateError
from robot_dynamics.inputs.arrays import real_array, real_number, real_vector


class Faulty:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no " * 10_000)

    def __repr__(self):
        raise RuntimeError("no repr either")


NO_NUMBERS = {
    "complex": [1j, 2.0],
    "complex array": np.array([1.0 + 0.0j]),
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
    "date": np.array(["2001-01-01"], dtype="datetime64[D]"),
    "duration": np.array([3], dtype="timedelta64[s]"),
    "Python's date": [datetime.date(2001, 1, 1)],
    "texts": ["1.0", "2.0"],
    "a text among numbers": [1.0, "2.0"],
    "bytes": b"123",
    "booleans": [True, False],
    "a boolean among numbers": [[1.0, 2.0], [3.0, True]],
    "a boolean at the end of a long list": [1.0] * 100_000 + [True],
    "numpy's boolean": (0.5, np.True_),
    "an array of booleans in a list": [np.array([True]), np.array([1.0])],
    "none": None,
    "none among numbers": [1.0, None],
    "large integer": 10**400,
    "large integers": [1, -(10**5000)],
    "large fraction": fractions.Fraction(10**400),
    "ragged": [[1.0], [1.0, 2.0]],
    "set": {1.0},
    "mapping": {"q": 1.0},
    "generator": (x for x in [1.0]),
    "structured": np.zeros(2, dtype=[("a", float)]),
    "objects of every kind": np.array([1.0, object()], dtype=object),
    "what numpy fails on": Faulty(),
}


@pytest.mark.parametrize("value", NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
@pytest.mark.parametrize("read", [real_array, real_number, lambda name, value: real_vector(name, value, 3)])
def test_what_is_no_real_number_is_refused(value, read):
    with pytest.raises(StateError, match=r"^qd ") as caught:
        read("qd", value)
    assert len(str(caught.value)) <= LONGEST_MESSAGE


@pytest.mark.parametrize(
    "value",
    [
        [1, 2], (1.5, 2), range(3), 3, [2**70], np.float32(2.5), np.arange(3, dtype=np.uint8),
        np.ones(2, np.float16), np.ones((2, 3), np.longdouble), [fractions.Fraction(1, 2), 1],
        np.array([decimal.Decimal("0.5")], dtype=object),
    ],
    ids=repr,
)  # fmt: skip
def test_real_numbers_of_any_kind_are_taken(value):
    np.testing.assert_array_equal(real_array("q", value), np.array(value, dtype=float))


def test_an_array_of_doubles_is_not_copied():
    q = np.arange(3.0)
    assert real_array("q", q) is q


@pytest.mark.parametrize("value", [[1.0, 2.0], [1.0, 2.0, np.nan], [1.0, 2.0, True], np.inf])
def test_a_vector_has_its_size_and_finite_numbers(value):
    with pytest.raises(StateError, match="gravity"):
        real_vector("gravity", value, 3)
