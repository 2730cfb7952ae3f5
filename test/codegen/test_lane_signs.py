"""Signs of lanes: equations over bits, against all assignments of the unknowns."""

from itertools import product

import numpy as np
import pytest

from robot_dynamics.codegen.lane_signs import LaneSigns, added, relative


def test_unknowns_have_bits_of_their_own():
    signs = LaneSigns()
    assert signs.unknown(3) == (0b10, 0b100)
    assert signs.unknown(1) == ()
    assert signs.unknown(2) == (0b1000,)
    assert signs.unknown(4) == (0b10000, 0b100000, 0b1000000)
    assert signs.values((0b10, 0b1000)) == (0, 0, 0)
    assert signs.values((1, 0b101, 0)) == (0, 1, 1, 0)
    assert signs.values(()) == (0,)


def test_sums_and_relative_signs():
    assert added((1, 0, 6, 3), (1, 1, 2, 0)) == (0, 1, 4, 3)
    assert relative((0, 1, 0)) == (1, 0) and relative((1, 1, 0)) == (0, 1) and relative((1,)) == ()


def test_equations_are_solved_one_after_the_other():
    signs = LaneSigns()
    a, b = signs.unknown(3), signs.unknown(3)
    assert signs.made_equal(a, (1, 0)) == (0, 0, 0)
    assert signs.values(a) == (0, 1, 0)
    assert signs.made_equal(added(a, b), (1, 1)) == (0, 0, 0)
    assert signs.values(b) == (0, 0, 1)
    assert signs.made_equal(b, a) == (0, 1, 1)
    assert signs.made_equal(b, (0, 1)) == (0, 0, 0)
    assert signs.values(added(b, (1, 1))) == (0, 1, 0)


def bit(form, assignment):
    """A form where unknown k has the value ``assignment[k - 1]``."""
    return (form & 1) ^ sum(value for k, value in enumerate(assignment, 1) if form >> k & 1) % 2


@pytest.mark.parametrize("seed", range(25))
def test_only_what_contradicts_is_left_unequal(seed):
    random = np.random.default_rng(seed)
    signs = LaneSigns()
    unknown = [form for _ in range(3) for form in signs.unknown(3)]
    possible = list(product((0, 1), repeat=len(unknown)))
    kept = []
    for _ in range(8):
        a, b = (tuple(int(form) for form in random.integers(0, 1 << 7, 2)) for _ in range(2))
        left = signs.made_equal(a, b)
        assert left[0] == 0 and len(left) == 3
        for x, y, unequal in zip(a, b, left[1:], strict=True):
            agreeing = [given for given in possible if bit(x, given) == bit(y, given)]
            assert unequal == (not agreeing)
            possible = agreeing or possible
            kept.append((x, y, unequal))
    for x, y, unequal in kept:
        assert signs.values((x,))[1] ^ signs.values((y,))[1] == unequal
    chosen = tuple(signs.values((form,))[1] for form in unknown)
    assert chosen in possible
    for x, y, _ in kept:
        assert (signs.values((x, y))[1:]) == (bit(x, chosen), bit(y, chosen))
