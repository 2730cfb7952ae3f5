"""Frames of links: exact sines, transforms, and what a record of a link refuses."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_chains import P, R, place, screw

from robot_dynamics.errors import ModelError
from robot_dynamics.model.link_frame import JointFrame, LinkFrame, exact_cos_sin


def frame(kind=R, **changes):
    values = {
        "name": "j", "kind": kind, "parent": -1, "alpha": 0.7, "a": 0.3, "y_shift": -0.2, "r": 0.5,
        "theta": -1.1, "coordinate": 1, "multiplier": -1.5, "offset": 0.4, "gamma": 0.6, **changes,
    }  # fmt: skip
    return JointFrame(**values)


@pytest.mark.parametrize("k", range(-9, 10))
def test_cosines_and_sines_are_exact_at_quarter_turns(k):
    cosine, sine = exact_cos_sin(k * math.pi / 2)
    assert (cosine, sine) == ([1, 0, -1, 0][k % 4], [0, 1, 0, -1][k % 4])
    for angle in (0.3, 1e-14, math.pi / 2 - 1e-14):
        assert exact_cos_sin(angle)[1 if angle < 1 else 0] == (math.sin if angle < 1 else math.cos)(angle)
    assert exact_cos_sin(0.3) == (math.cos(0.3), math.sin(0.3))
    assert math.cos(3e-8) < 1.0 == exact_cos_sin(3e-8)[0] and exact_cos_sin(math.pi + 3e-8)[0] == -1.0
    assert exact_cos_sin(0.9e-15)[1] == 0.0 and exact_cos_sin(1e-15)[1] == 1e-15


@pytest.mark.parametrize("gamma", [0.0, 0.6, -2.0, math.pi / 2])
@pytest.mark.parametrize("kind", [R, P])
def test_a_frame_stands_behind_its_elementary_motions(kind, gamma):
    made, q = frame(kind, gamma=gamma), [9.0, 0.8]
    variable = -1.5 * 0.8 + 0.4
    theta, r = (variable, 0.5) if kind is R else (-1.1, variable)
    before = screw(gamma, 0.0, 2) @ screw(0.7, 0.3, 0) @ place((0.0, -0.2, 0.0))
    np.testing.assert_allclose(made.before_joint(), before, atol=1e-15)
    expected = before @ screw(theta, r, 2)
    np.testing.assert_allclose(made.transform(q), expected, atol=1e-15)
    np.testing.assert_allclose(made.pose_at(variable), expected, atol=1e-15)
    assert made.joint_variable(q) == variable and type(made.joint_variable(q)) is float
    assert made.revolute is (kind is R)


def test_cosines_and_sines_of_the_frame():
    made = frame(alpha=-math.pi / 2, gamma=math.pi)
    assert (made.cos_alpha, made.sin_alpha, made.cos_gamma, made.sin_gamma) == (0.0, -1.0, -1.0, 0.0)
    made = frame()
    assert (made.cos_alpha, made.sin_alpha) == (math.cos(0.7), math.sin(0.7))
    assert (made.cos_gamma, made.sin_gamma) == (math.cos(0.6), math.sin(0.6))
    assert made.before_joint()[2, 1] == math.sin(0.7)


LINK = LinkFrame(
    **frame().joint_fields(),
    mass=2.0,
    first_moment=np.array([0.1, 0.2, 0.3]),
    inertia=np.diag([1.0, 2.0, 3.0]),
)


def test_a_link_has_the_fields_of_its_joint():
    own = frame().joint_fields()
    assert list(own) == [
        "name", "kind", "parent", "alpha", "a", "y_shift", "r", "theta", "coordinate", "multiplier", "offset",
        "gamma",
    ]  # fmt: skip
    assert LINK.joint_fields() == own and own["a"] == 0.3
    plain = {name: value for name, value in own.items() if name != "gamma"}
    assert JointFrame(**plain).gamma == 0.0


@pytest.mark.parametrize(
    "changes",
    [
        {"first_moment": np.zeros(4)},
        {"first_moment": np.zeros((3, 1))},
        {"inertia": np.zeros((3, 4))},
        {"inertia": np.zeros((2, 3))},
        {"inertia": np.full((3, 3), np.nan)},
        {"mass": np.inf},
        {"a": np.nan},
        {"gamma": np.inf},
        {"y_shift": -np.inf},
    ],
)
def test_a_link_of_other_shapes_or_infinite_numbers_is_refused(changes):
    (name,) = changes
    with pytest.raises(ModelError, match=f"{name} of a LinkFrame"):
        replace(LINK, **changes)
