"""Statements of programs, by hand: inline or named, angles first, parentheses, loads of what is used."""

import re
from dataclasses import FrozenInstanceError, replace

import pytest

from robot_dynamics.codegen.program import Argument, Instruction, Operation, Program
from robot_dynamics.codegen.text import LONGEST_INLINE, ProgramText, render
from robot_dynamics.errors import BackendError

ADD, SUB, MUL, DIV, NEG = Operation.ADD, Operation.SUB, Operation.MUL, Operation.DIV, Operation.NEG
SIN, COS, SQRT, PICK = Operation.SIN, Operation.COS, Operation.SQRT, Operation.PICK


def program(instructions, results, constants=(0.5, -1.5, 0.0), inputs=(("a", 2), ("unused", 1), ("b", 1))):
    """Values 0, 1: a; 2: unused; 3: b; 4, 5, 6: constants; instructions from 7 on."""
    return Program(
        "f",
        tuple(Argument(name, size) for name, size in inputs),
        constants,
        tuple(Instruction(operation, operands) for operation, *operands in instructions),
        (Argument("out", len(results)),),
        tuple(results),
    )


EVERY = program(
    [
        (ADD, 0, 1),  # 7
        (SIN, 7),
        (COS, 7),
        (COS, 0),  # 10
        (MUL, 8, 5),
        (SIN, 11),
        (SUB, 3, 11),
        (MUL, 13, 12),
        (NEG, 9),  # 15
        (DIV, 15, 10),
        (ADD, 3, 4),
        (SQRT, 17),
    ],
    [14, 16, 18, 11, 0, 5, 6],
)


def test_every_operation():
    assert render(EVERY) == ProgramText(
        loads=(("a_0", "a", 0), ("a_1", "a", 1), ("b_0", "b", 0)),
        prologue=(("t0", "a_0 + a_1"),),
        angles=("t0", "a_0"),
        arguments=(7, 0),
        functions=(("sin0", "sin", 0), ("cos0", "cos", 0), ("cos1", "cos", 1)),
        body=(("t4", "sin0 * (-1.5)"), ("t5", "sin(t4)"), ("t11", "sqrt(b_0 + 0.5)")),
        results=("(b_0 - t4) * t5", "(-cos0) / cos1", "t11", "t4", "a_0", "(-1.5)", "0.0"),
    )


def test_functions_with_a_suffix_and_results_with_names():
    text = render(EVERY, suffix="_lanes", named_results=True)
    assert text.body == (
        ("t4", "sin0 * (-1.5)"),
        ("t5", "sin_lanes(t4)"),
        ("t7", "(b_0 - t4) * t5"),
        ("t9", "(-cos0) / cos1"),
        ("t11", "sqrt_lanes(b_0 + 0.5)"),
    )
    assert text.results == ("t7", "t9", "t11", "t4", "a_0", "(-1.5)", "0.0")
    assert text.functions == render(EVERY).functions
    assert render(EVERY) == render(EVERY, "", False)
    both = render(program([(SUB, 0, 1), (MUL, 7, 4)], [7, 8]), named_results=True)
    assert both.body == (("t0", "a_0 - a_1"), ("t1", "t0 * 0.5")) and both.results == ("t0", "t1")


def test_sines_that_depend_on_no_other_come_first_with_what_they_need():
    text = render(
        program(
            [
                (MUL, 4, 3),  # 7
                (SUB, 0, 7),
                (ADD, 3, 4),
                (SIN, 8),  # 10
                (COS, 10),
                (ADD, 10, 9),
                (MUL, 12, 4),
                (SIN, 13),
                (COS, 9),  # 15
                (MUL, 9, 15),
            ],
            [11, 14, 16],
        )
    )
    assert text.prologue == (("t2", "b_0 + 0.5"),)
    assert text.angles == ("a_0 - (0.5 * b_0)", "t2") and text.arguments == (8, 9)
    assert text.functions == (("sin0", "sin", 0), ("cos1", "cos", 1))
    assert text.body == (("t4", "cos(sin0)"), ("t7", "sin((sin0 + t2) * 0.5)"))
    assert text.results == ("t4", "t7", "t2 * cos1")
    assert text.loads == (("a_0", "a", 0), ("b_0", "b", 0))


def test_a_lane_is_picked_from_a_name():
    text = render(program([(ADD, 0, 3), (PICK, 7, 6), (PICK, 7, 5), (SUB, 8, 9)], [10], (9.0, 2.0, 1.0)))
    assert text.body == (("t0", "a_0 + b_0"),) and text.results == ("t0[1] - t0[2]",)
    once = render(program([(ADD, 0, 3), (PICK, 7, 6)], [8], (9.0, 2.0, 1.0)))
    assert once.body == (("t0", "a_0 + b_0"),) and once.results == ("t0[1]",)
    assert render(program([(PICK, 3, 6)], [7], (9.0, 2.0, 1.0))).results == ("b_0[1]",)


@pytest.mark.parametrize(("length", "named"), [(26, False), (27, False), (28, True), (29, True)])
def test_what_is_used_once_is_inline_as_long_as_the_line_is_short(length, named):
    first, second = "p" * length, "q" * 26
    text = render(program([(ADD, 0, 1), (SQRT, 3)], [4], (0.5,), ((first, 1), (second, 1))))
    line = f"{first}_0 + {second}_0"
    assert LONGEST_INLINE == 60 and named == (len(line) > 60)
    expected = (("t0", line), ("t1", "sqrt(t0)")) if named else (("t1", f"sqrt({line})"),)
    assert text.body == expected and text.results == ("t1",)


def test_what_is_used_twice_and_calls_have_names():
    square = render(program([(SUB, 0, 1), (MUL, 7, 7)], [8]))
    assert square.body == (("t0", "a_0 - a_1"),) and square.results == ("t0 * t0",)
    twice = render(program([(SUB, 0, 1)], [7, 7]))
    assert twice.body == (("t0", "a_0 - a_1"),) and twice.results == ("t0", "t0")
    root = render(program([(SQRT, 3)], [7]))
    assert root.body == (("t0", "sqrt(b_0)"),) and root.results == ("t0",)
    assert root.loads == (("b_0", "b", 0),)


def test_constants_are_written_to_the_last_bit():
    text = render(program([(ADD, 0, 4), (MUL, 7, 5), (DIV, 6, 8)], [9], (0.1, -1e-5, 0.75)))
    assert text.results == ("0.75 / ((a_0 + 0.1) * (-1e-05))",)
    assert render(program([], [4, 5, 6], (1 / 3, 2, 0))).results == ("0.3333333333333333", "2.0", "0.0")


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_constants_that_are_not_finite_are_named(bad):
    with pytest.raises(BackendError, match=f"^{re.escape(f'f: constant 5 is {bad}; it must be finite')}$"):
        render(program([], [0], (0.5, bad)))


def test_texts_do_not_change():
    with pytest.raises(FrozenInstanceError):
        render(EVERY).body = ()
    assert replace(render(EVERY), results=()) != render(EVERY)
