"""Payloads as bodies of the model: lumped into the link that carries them, by Steiner's theorem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arms import pendulum_chain, two_joint_chain, with_limits
from point_masses import point_inertia
from scipy.spatial.transform import Rotation
from two_arms import TIPS, TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.control.arm.payload import (
    PayloadParameters,
    TipPayloadParameters,
    inertia_matrix,
    several_tips,
    with_payload,
)
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.lumping import MASSLESS

MASS, CENTER = 3.0, (0.1, -0.2, 0.3)
INERTIA = (0.05, 0.004, -0.003, 0.06, 0.002, 0.07)
MATRIX = np.array([[0.05, 0.004, -0.003], [0.004, 0.06, 0.002], [-0.003, 0.002, 0.07]])


def about_origin(mass, center, inertia):
    return inertia + point_inertia(mass, np.asarray(center))


def tilted(chain):
    """The chain with its tip frame turned and moved on its last link."""
    transform = np.eye(4)
    transform[:3, :3] = Rotation.from_euler("xyz", (0.4, -0.7, 1.2)).as_matrix()
    transform[:3, 3] = 0.05, -0.15, 0.25
    return replace(chain, tip_transform=transform)


def test_a_payload_is_lumped_into_the_link_of_the_tip():
    chain = tilted(two_joint_chain())
    turn, place = chain.tip_transform[:3, :3], chain.tip_transform[:3, 3]
    bare = chain.joints[-1].body
    for loaded in (
        with_payload(chain, MASS, CENTER, MATRIX),
        PayloadParameters(MASS, CENTER, INERTIA).on(chain),
        with_payload(chain, MASS, CENTER, MATRIX, chain.tip),
    ):
        body = loaded.joints[-1].body
        carried = place + turn @ CENTER
        assert body.mass == pytest.approx(bare.mass + MASS)
        center = (bare.mass * bare.center_of_mass + MASS * carried) / (bare.mass + MASS)
        np.testing.assert_allclose(body.center_of_mass, center)
        whole = about_origin(bare.mass, bare.center_of_mass, bare.inertia) + about_origin(
            MASS, carried, turn @ MATRIX @ turn.T
        )
        np.testing.assert_allclose(about_origin(body.mass, body.center_of_mass, body.inertia), whole)
        assert loaded.joints[0] is chain.joints[0] and chain.joints[-1].body is bare


def test_a_payload_without_centre_or_inertia_is_a_point_at_the_tip():
    chain = tilted(two_joint_chain())
    point = with_payload(chain, MASS)
    same = with_payload(chain, MASS, (0.0, 0.0, 0.0), np.zeros((3, 3)))
    for first, second in zip(point.joints, same.joints, strict=True):
        np.testing.assert_array_equal(first.body.center_of_mass, second.body.center_of_mass)
        np.testing.assert_array_equal(first.body.inertia, second.body.inertia)
    assert with_payload(chain, 0.0, CENTER, MATRIX) is chain
    assert PayloadParameters(0.0, CENTER, INERTIA).on(chain) is chain


def test_payloads_as_bodies_and_matrices():
    load = PayloadParameters(MASS, CENTER, INERTIA)
    np.testing.assert_array_equal(inertia_matrix(INERTIA), MATRIX)
    np.testing.assert_array_equal(load.inertia, MATRIX)
    assert load.payload.mass == MASS
    np.testing.assert_array_equal(load.payload.center_of_mass, CENTER)
    np.testing.assert_array_equal(load.payload.inertia, MATRIX)
    assert PayloadParameters(0.0, CENTER, INERTIA).payload is MASSLESS
    light = PayloadParameters(0.5, CENTER).payload
    assert light.mass == 0.5 and not light.inertia.any()
    assert TipPayloadParameters(MASS, CENTER, INERTIA).load == load


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"payload_center": (0.1, 0.2)}, "'payload_center' has 2 values; it must have 3: x, y, z"),
        ({"payload_center": (0.1,) * 4}, "'payload_center' has 4 values; it must have 3: x, y, z"),
        (
            {"payload_inertia": (0.1,) * 5},
            "'payload_inertia' has 5 values; it must have 6: ixx, ixy, ixz, iyy, iyz, izz",
        ),
        (
            {"payload_inertia": (0.1,) * 7},
            "'payload_inertia' has 7 values; it must have 6: ixx, ixy, ixz, iyy, iyz, izz",
        ),
    ],
)
def test_lists_of_another_length_are_refused(given, text):
    with pytest.raises(ParameterError) as told:
        PayloadParameters(**given)
    assert str(told.value) == f"parameter {text}"
    with pytest.raises(ParameterError) as told:
        TipPayloadParameters(**{name.removeprefix("payload_"): value for name, value in given.items()})
    assert str(told.value) == f"parameter {text}"


def test_principal_moments_that_no_body_has_are_named():
    with pytest.raises(ParameterError) as told:
        PayloadParameters(1.0, payload_inertia=(0.1, 0.0, 0.0, 0.25, 0.0, 0.5))
    assert str(told.value) == (
        "no rigid body has the payload inertia with principal moments 0.1, 0.25, 0.5 kg·m²: none may be"
        " negative, nor larger than the sum of the other two"
    )


def test_a_centre_beyond_the_length_of_the_arm_is_refused():
    """A boom of 0.6 m, and a hook that slides by 0.75 m at most: 1.35 m, and the tip's own 0.25 m."""
    chain, tip = two_joint_chain(), np.eye(4)
    tip[:3, 3] = 0.0, 0.25, 0.0
    for lower, upper in ((-0.5, 0.75), (-0.75, 0.5)):
        long = replace(with_limits(chain, 1, lower=lower, upper=upper), tip_transform=tip)
        PayloadParameters(1.0, (0.0, 0.0, 1.5999)).on(long)
        with pytest.raises(ParameterError) as told:
            PayloadParameters(1.0, (0.0, -0.96, 1.2801)).on(long)
        assert str(told.value) == (
            "parameter 'payload_center' is 1.600 m from the tip, but the arm is 1.600 m long: give it in"
            " metres"
        )
        assert PayloadParameters(0.0, (0.0, 0.0, 9.0)).on(long) is long
    PayloadParameters(1.0, (0.0, 0.0, 9.0)).on(pendulum_chain())  # an arm without a length
    PayloadParameters(1.0, (0.0, 0.0, 9.0)).on(with_limits(chain, 1, lower=-np.inf, upper=np.inf))


@pytest.fixture(scope="module")
def tree():
    return rd.load_urdf(TWO_ARMS, tips=TIPS)


def test_payloads_of_a_tree_are_those_of_its_tips(tree):
    loads = {"right_hand": PayloadParameters(0.75, (0.01, 0.02, 0.03)), "left_hand": PayloadParameters(0.5)}
    loaded = PayloadParameters().on(tree, loads)
    carriers = {tip.link: tip.joint for tip in tree.tips}
    added = [
        after.body.mass - before.body.mass for after, before in zip(loaded.joints, tree.joints, strict=True)
    ]
    assert added[carriers["right_hand"]] == pytest.approx(0.75)
    assert added[carriers["left_hand"]] == pytest.approx(0.5)
    assert sum(added) == pytest.approx(1.25)
    assert PayloadParameters().on(tree) is tree
    bodies = PayloadParameters().at_tips(tree, loads)
    assert {tip: body.mass for tip, body in bodies.items()} == {"right_hand": 0.75, "left_hand": 0.5}
    single = PayloadParameters(2.0).at_tips(two_joint_chain(), loads)
    assert single.mass == 2.0


def test_a_payload_needs_a_tip_of_its_own_where_there_are_several(tree):
    text = (
        f"parameter 'payload_mass' is for one tip, {tree.name} has left_hand, right_hand: set"
        " 'payload.left_hand.mass'"
    )
    assert several_tips(tree.name, ["left_hand", "right_hand"]) == text
    with pytest.raises(ParameterError) as told:
        PayloadParameters(0.5).on(tree)
    assert str(told.value) == text
    for tip in (None, "elbow"):
        with pytest.raises(ParameterError) as told:
            with_payload(tree, 0.5, tip=tip)
        shown = repr(tip) if tip else "None"
        assert str(told.value) == f"payload at tip {shown}; the tips are left_hand, right_hand"
    with pytest.raises(ParameterError, match=r"'payload_center' is 90\.000 m from the tip"):
        PayloadParameters().on(tree, {"left_hand": PayloadParameters(0.5, (0.0, 90.0, 0.0))})
    alone = two_joint_chain()
    with pytest.raises(ParameterError, match="payload at tip 'elbow'; the tips are hook"):
        with_payload(alone, 0.5, tip="elbow")
