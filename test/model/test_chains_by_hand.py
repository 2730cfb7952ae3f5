"""Chains and trees made of joints in code: what they say of themselves, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from made_chains import P, R, joint_motion, link_poses, place

from robot_dynamics.errors import ModelError, ParameterError
from robot_dynamics.model.chain import (
    MOST_SHOWN,
    AttachedFrame,
    ChainJoint,
    JointLimits,
    KinematicChain,
    RigidBody,
    Tip,
    same_model,
)


def moving(name, coordinate, kind=R, **more):
    more = {"origin": place((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), "axis": np.array([0.6, 0.0, -0.8]), **more}
    body = RigidBody(1.23456, np.array([0.1, 0.2, 0.3]), np.diag([0.1, 0.2, 0.3]))
    return ChainJoint(name, f"{name}_link", kind, body=body, coordinate=coordinate, **more)


SERIAL = KinematicChain(
    "arm",
    "base",
    "hand",
    (moving("a", 0), moving("b", 1, P), moving("c", 2)),
    ("a", "b", "c"),
    place((0.5, 0, 0)),
)
TREE = KinematicChain(
    "pair",
    "base",
    "left",
    (
        moving("waist", 0),
        moving("one", 1),
        moving("two", 2, P, multiplier=1.5, offset=0.2),
        moving("three", 1, multiplier=-2.0, offset=0.1),
    ),
    ("waist", "one", "two"),
    place((0.5, 0, 0), (0, 0.3, 0)),
    warnings=("odd",),
    parents=(-1, 0, 0, 2),
    tip_joint=1,
    other_tips=(Tip("right", 3, place((0, 0.7, 0))), Tip("middle", 2, place((0, 0, 0.9)))),
    frames=(
        AttachedFrame("plate", "one_link", "one_link", place((0.1, 0, 0))),
        AttachedFrame("cover", "three_link", "three_link", place((0.2, 0, 0))),
    ),
)


def test_a_serial_chain_says_what_it_is():
    assert SERIAL.carriers == (-1, 0, 1) and SERIAL.serial and SERIAL.dof == 3
    assert SERIAL.ends == "base -> hand" and SERIAL.joint_names == ("a", "b", "c")
    (tip,) = SERIAL.tips
    assert (tip.link, tip.joint) == ("hand", 2) and np.array_equal(tip.transform, place((0.5, 0, 0)))
    assert repr(SERIAL) == "<KinematicChain arm: base -> hand, 3 joints: a, b, c>"
    assert SERIAL.description() == "root base, tip hand, 3 joints: a, b, c"
    assert repr(SERIAL.joints[1]) == "<ChainJoint b: prismatic, moves b_link of 1.235 kg>"
    assert SERIAL.only_serial("a table") is SERIAL
    assert SERIAL.modelled is SERIAL
    assert (SERIAL.measured_coordinates, SERIAL.measured_joints) == ((), ())
    assert SERIAL.own_coordinates == (0, 1, 2)


def test_a_tree_says_what_it_is():
    assert TREE.carriers == (-1, 0, 0, 2) and not TREE.serial and TREE.dof == 3
    assert TREE.ends == "base -> left, right, middle"
    assert [(tip.link, tip.joint) for tip in TREE.tips] == [("left", 1), ("right", 3), ("middle", 2)]
    assert repr(TREE) == "<KinematicChain pair: base -> left, right, middle, 3 joints: waist, one, two>"
    assert TREE.description() == "root base, tips left, right, middle, 3 joints: waist, one, two"
    with pytest.raises(ModelError) as refused:
        TREE.only_serial("a table")
    assert str(refused.value) == (
        "pair is a tree with the tips left, right, middle; a table takes a serial chain: give one tip, or"
        " take chain.branch(tip)"
    )


def test_defaults_of_joints_and_limits():
    joint = ChainJoint("j", "l", R, np.eye(4), np.array([0, 0, 1.0]), SERIAL.joints[0].body)
    assert joint.limits == JointLimits(-np.inf, np.inf, np.inf, np.inf) == JointLimits()
    numbers = (joint.damping, joint.friction, joint.coordinate, joint.multiplier, joint.offset)
    assert numbers == (0.0, 0.0, 0, 1.0, 0.0)
    chain = KinematicChain("r", "b", "t", (joint,), ("j",), np.eye(4))
    assert (chain.warnings, chain.parents, chain.tip_joint) == ((), (), -1)
    assert (chain.other_tips, chain.frames, chain.whole) == ((), (), None)
    assert chain.description() == "root b, tip t, 1 joint: j"


@pytest.mark.parametrize(
    ("changes", "serial"),
    [
        ({"parents": (-1, 0, 1)}, True),
        ({"tip_joint": 2}, True),
        ({"tip_joint": 0}, False),
        ({"parents": (-1, 0, 0)}, False),
        ({"parents": (-1, -1, 1)}, False),
        ({"other_tips": (Tip("more", 2, np.eye(4)),)}, False),
    ],
)
def test_a_chain_is_serial_if_every_joint_carries_the_next_and_the_last_the_only_tip(changes, serial):
    assert replace(SERIAL, **changes).serial is serial


@pytest.mark.parametrize("kind", [R, P])
def test_a_joint_moves_its_link_about_or_along_its_axis(kind):
    joint = moving("j", 0, kind)
    for value in (-0.7, 1.9):
        np.testing.assert_allclose(joint.displacement(value), joint_motion(joint, value), atol=1e-15)


def test_poses_of_links_and_tip():
    q = np.array([0.3, -0.6, 0.9])
    values = [0.3, -0.6, 1.5 * 0.9 + 0.2, -2.0 * -0.6 + 0.1]
    np.testing.assert_allclose(TREE.joint_values(q), values, atol=1e-15)
    poses = link_poses(TREE, q)
    for found, expected in zip(TREE.link_poses(q), poses, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_allclose(TREE.forward_kinematics(q), poses[1] @ TREE.tip_transform, atol=1e-14)
    inner = replace(SERIAL, tip_joint=0)
    np.testing.assert_allclose(
        inner.forward_kinematics(q), SERIAL.link_poses(q)[0] @ place((0.5, 0, 0)), atol=1e-14
    )
    nothing = KinematicChain("r", "base", "end", (), (), place((0.5, 0, 0)))
    assert np.array_equal(nothing.forward_kinematics(np.zeros(0)), place((0.5, 0, 0)))


def test_the_joint_of_a_coordinate_is_the_one_it_is_named_after():
    assert [TREE.driving_joint(k).name for k in range(-3, 3)] == ["waist", "one", "two"] * 2
    for k in (3, -4, 7, -9):
        with pytest.raises(ParameterError) as refused:
            TREE.driving_joint(k)
        assert str(refused.value) == f"coordinate is {k}; the chain has 3"


REFUSED = {
    "parents too few": (SERIAL, {"parents": (-1, 0)}, "parents has 2 entries for 3 joints"),
    "parent itself": (
        SERIAL,
        {"parents": (-1, 1, 0)},
        "the parent of joint 'b' is 1; it must be -1, or the index of a joint before it, below 1",
    ),
    "parent below the root": (
        SERIAL,
        {"parents": (-1, 0, -2)},
        "the parent of joint 'c' is -2; it must be -1, or the index of a joint before it, below 2",
    ),
    "tip beyond": (SERIAL, {"tip_joint": 3}, "tip 'hand' is carried by joint 3; there are 3"),
    "tip far beyond": (SERIAL, {"tip_joint": 7}, "tip 'hand' is carried by joint 7; there are 3"),
    "other tip beyond": (
        SERIAL,
        {"other_tips": (Tip("x", -1, np.eye(4)),)},
        "tip 'x' is carried by joint -1; there are 3",
    ),
    "tip twice": (SERIAL, {"other_tips": (Tip("hand", 0, np.eye(4)),)}, "a tip is given twice"),
    "coordinate beyond": (
        SERIAL,
        {"joints": (*SERIAL.joints[:2], moving("c", 3))},
        "joint 'c' moves with coordinate 3; coordinate_names has 3",
    ),
    "coordinate far beyond": (
        SERIAL,
        {"joints": (*SERIAL.joints[:2], moving("c", 8))},
        "joint 'c' moves with coordinate 8; coordinate_names has 3",
    ),
    "parent behind": (
        SERIAL,
        {"parents": (-1, 2, 0)},
        "the parent of joint 'b' is 2; it must be -1, or the index of a joint before it, below 1",
    ),
    "negative coordinate": (
        SERIAL,
        {"joints": (*SERIAL.joints[:2], moving("c", -1))},
        "joint 'c' moves with coordinate -1; coordinate_names has 3",
    ),
    "coordinate of no joint": (
        SERIAL,
        {"coordinate_names": ("a", "b", "d")},
        "coordinate_names has 'd', which is the name of no joint",
    ),
}


@pytest.mark.parametrize(("chain", "changes", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_chain_is_refused(chain, changes, message):
    with pytest.raises(ModelError) as refused:
        replace(chain, **changes)
    assert str(refused.value) == message


def test_legal_bounds_of_indices():
    assert replace(SERIAL, parents=(-1, -1, -1)).carriers == (-1, -1, -1)
    assert replace(SERIAL, other_tips=(Tip("x", 0, np.eye(4)), Tip("y", 2, np.eye(4)))).tips[2].joint == 2


def test_the_whole_has_the_same_tips_and_all_joints_of_the_chain_and_more():
    own = replace(SERIAL, joints=(moving("a", 0), moving("b", 1)), coordinate_names=("a", "b"))
    more = replace(
        SERIAL,
        joints=(moving("m", 0), moving("b", 1), moving("n", 2), moving("a", 3)),
        coordinate_names=("m", "b", "n", "a"),
    )
    chain = replace(own, whole=more)
    assert chain.modelled is more
    assert chain.own_coordinates == (3, 1)
    assert chain.measured_coordinates == (0, 2)
    assert chain.measured_joints == ("m", "n")
    wrong = [
        own,  # no further joints
        replace(more, joints=more.joints[:3], coordinate_names=("m", "b", "n")),  # one is missing
        replace(more, tip="elsewhere"),
        replace(more, other_tips=(Tip("x", 0, np.eye(4)),)),
    ]
    for whole in wrong:
        with pytest.raises(ModelError) as refused:
            replace(own, whole=whole)
        expected = "whole has other tips, or not all joints of the chain and further ones"
        assert str(refused.value) == expected
    last = moving("z", 4)
    most = replace(more, joints=(*more.joints, last), coordinate_names=("m", "b", "n", "a", "z"))
    with pytest.raises(ModelError, match="whole has other tips"):
        replace(own, whole=replace(more, whole=most))
    with pytest.raises(TypeError, match="whole"):
        replace(own, whole=3)


def test_a_branch_has_the_joints_and_frames_on_its_way():
    left = TREE.branch("left")
    assert (left.name, left.root, left.tip) == ("pair", "base", "left")
    assert [joint.name for joint in left.joints] == ["waist", "one"]
    assert left.joint_names == ("waist", "one") and left.serial
    assert np.array_equal(left.tip_transform, TREE.tip_transform)
    assert [frame.name for frame in left.frames] == ["plate"] and left.warnings == ("odd",)
    middle = TREE.branch("middle")
    assert middle.joint_names == ("waist", "two") and middle.frames == ()
    assert [joint.coordinate for joint in middle.joints] == [0, 1]
    assert (middle.joints[1].multiplier, middle.joints[1].offset) == (1.5, 0.2)
    np.testing.assert_allclose(
        middle.forward_kinematics(np.array([0.3, 0.9])),
        TREE.link_poses(np.array([0.3, 5.0, 0.9]))[2] @ place((0, 0, 0.9)),
        atol=1e-14,
    )


def test_a_follower_of_another_branch_is_refused_or_moves_by_itself():
    with pytest.raises(ModelError) as refused:
        TREE.branch("right")
    assert str(refused.value) == "joint 'three' follows 'one', which is not on the branch to 'right'"
    right = TREE.branch("right", followers_free=True)
    assert right.joint_names == ("waist", "two", "three")
    assert [joint.coordinate for joint in right.joints] == [0, 1, 2]
    assert [(joint.multiplier, joint.offset) for joint in right.joints] == [(1, 0), (1.5, 0.2), (1, 0)]
    assert [frame.name for frame in right.frames] == ["cover"]
    with pytest.raises(ModelError) as unknown:
        TREE.branch("foot")
    assert str(unknown.value) == "pair has no tip 'foot'; its tips are left, right, middle"


def test_two_followers_of_other_branches_move_by_themselves():
    joints = (
        moving("lead", 0),
        moving("x", 0, multiplier=3.0, offset=0.5),
        moving("y", 0, P, multiplier=-2.0, offset=-0.5),
        moving("z", 1),
    )
    tree = KinematicChain(
        "r", "base", "side", joints, ("lead", "z"), np.eye(4), parents=(-1, -1, 1, 2), tip_joint=0,
        other_tips=(Tip("end", 3, np.eye(4)),),
    )  # fmt: skip
    branch = tree.branch("end", True)
    assert branch.joint_names == ("x", "y", "z")
    assert [joint.coordinate for joint in branch.joints] == [0, 1, 2]
    assert [(joint.multiplier, joint.offset) for joint in branch.joints] == [(1, 0)] * 3
    # A leader on the branch keeps its follower.
    inner = replace(tree, parents=(-1, 0, 1, 2)).branch("end", True)
    assert inner.joint_names == ("lead", "z")
    assert [joint.multiplier for joint in inner.joints] == [1.0, 3.0, -2.0, 1.0]


def fixed(name, parent, pose, link="c_link"):
    return AttachedFrame(name, link, parent, pose)


def test_frames_behind_the_tip_are_shown_with_their_distances():
    tip = place((0.5, 0.1, 0.2), (0, 0, 1.0))
    frames = (
        fixed("hand", "c_link", tip),
        fixed("beside", "c_link", place((9.0, 0, 0))),
        fixed("flange", "hand", tip),
        fixed("turned", "hand", tip @ place(rpy=(0, 0, 1e-6))),
        fixed("tool", "flange", tip @ place((0.003, 0.004, 0.0))),
        fixed("camera", "tool", tip @ place((-0.012, 0.3, 0.4))),
    )
    chain = replace(SERIAL, tip_transform=tip, frames=frames)
    behind = chain.frames_behind_tips()
    assert list(behind) == ["turned", "tool", "camera"]
    assert list(behind.values()) == pytest.approx([0.0, 0.005, np.sqrt(0.012**2 + 0.25)], abs=1e-12)
    assert chain.description() == (
        "root base, tip hand, 3 joints: a, b, c;"
        " fixed behind the tip, for --tip: turned 0 mm, tool 5 mm, camera 500 mm"
    ).replace("turned 0 mm", f"turned {1e3 * behind['turned']:.3g} mm")
    close = fixed("close", "hand", tip @ place((0.9e-9, 0, 0)))
    apart = fixed("apart", "hand", tip @ place((1.2e-9, 0, 0)))
    assert list(replace(chain, frames=(close, apart)).frames_behind_tips()) == ["apart"]


@pytest.mark.parametrize(
    ("count", "further"), [(MOST_SHOWN, ""), (MOST_SHOWN + 1, " and 1 more"), (9, " and 5 more")]
)
def test_at_most_four_frames_behind_the_tip_are_shown(count, further):
    frames = tuple(fixed(f"f{k}", "hand", place((0.5 + 0.001 * (k + 1), 0, 0))) for k in range(count))
    line = replace(SERIAL, frames=frames).description()
    assert MOST_SHOWN == 4
    assert line.endswith(f"for --tip: f0 1 mm, f1 2 mm, f2 3 mm, f3 4 mm{further}")


def test_frames_behind_every_tip_of_a_tree_are_found():
    frames = (
        AttachedFrame("grip", "three_link", "right", place((0, 0.75, 0))),
        AttachedFrame("nail", "one_link", "left", TREE.tip_transform @ place((0.3, 0, 0))),
    )
    assert replace(TREE, frames=frames).frames_behind_tips() == pytest.approx({"nail": 0.3, "grip": 0.05})


def test_models_are_the_same_where_all_numbers_are_whatever_their_warnings():
    other = replace(TREE, warnings=("odder", "odd"))
    copied = replace(other, joints=tuple(replace(joint, origin=joint.origin.copy()) for joint in TREE.joints))
    assert same_model(TREE, copied)
    changed = [
        replace(TREE, name="other"),
        replace(TREE, tip_transform=TREE.tip_transform + 1e-15),
        replace(TREE, tip_joint=3),
        replace(TREE, other_tips=TREE.other_tips[:1]),
        replace(TREE, frames=()),
        replace(TREE, joints=(*TREE.joints[:3], replace(TREE.joints[3], damping=0.1))),
        replace(TREE, joints=(replace(TREE.joints[0], kind=P), *TREE.joints[1:])),
        replace(TREE, joints=(replace(TREE.joints[0], limits=JointLimits(upper=3.0)), *TREE.joints[1:])),
        replace(
            TREE,
            joints=(
                replace(TREE.joints[0], body=replace(TREE.joints[0].body, mass=2.0)),
                *TREE.joints[1:],
            ),
        ),
    ]
    for chain in changed:
        assert not same_model(TREE, chain) and not same_model(chain, TREE)
    whole = replace(
        TREE,
        joints=(*TREE.joints, moving("m", 3)),
        coordinate_names=("waist", "one", "two", "m"),
        parents=(*TREE.parents, 0),
    )
    assert not same_model(TREE, replace(TREE, whole=whole))
    assert not same_model(replace(TREE, whole=whole), TREE)
    assert same_model(replace(TREE, whole=whole), replace(TREE, whole=replace(whole)))
