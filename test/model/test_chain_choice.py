"""Tips, limbs and positions that are chosen where the caller names none."""

import math

import numpy as np
import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model.chain import JointLimits
from robot_dynamics.model.selection import (
    ChainSelection,
    choose_tip,
    followers,
    limb_ends,
    ready_position,
    rest_position,
    select_chain,
    tips_of,
)
from robot_dynamics.model.urdf.tree import Joint, JointType, Link, Mimic, RobotTree

KINDS = {"r": JointType.REVOLUTE, "f": JointType.FIXED, "p": JointType.PRISMATIC, "o": JointType.FLOATING}
LIMITS = JointLimits(0.2, 1.0)


def tree(*lines, **mimics):
    """From "name kind parent child" of every joint; mimics by name, as the joint that is followed."""
    joints = {}
    for line in lines:
        name, kind, parent, child = line.split()
        mimic = Mimic(mimics[name]) if name in mimics else None
        joints[name] = Joint(name, KINDS[kind], parent, child, np.eye(4), np.eye(3)[2], LIMITS, mimic=mimic)
    names = dict.fromkeys(name for joint in joints.values() for name in (joint.parent, joint.child))
    return RobotTree("made", {name: Link(name, None) for name in names}, joints)


def limb(name, parent, count, kind="r"):
    """Joints in a row below a link."""
    links = [parent, *(f"{name}{k}" for k in range(1, count + 1))]
    return [f"j_{links[k + 1]} {kind} {links[k]} {links[k + 1]}" for k in range(count)]


@pytest.mark.parametrize("fingers", [1, 2, 3])
def test_fingers_are_no_limbs_as_long_as_their_joints_are_not_more_than_those_of_the_arm(fingers):
    robot = tree(*limb("a", "base", 3), *limb("x", "a3", fingers), *limb("y", "a3", fingers))
    assert choose_tip(robot, "base") == "a3"
    assert limb_ends(robot, "base") == ["a3"]


def test_limbs_part_before_half_of_the_way_and_those_with_most_joints_come_first():
    robot = tree(*limb("a", "base", 3), *limb("x", "a3", 4), *limb("y", "a3", 4))
    assert sorted(limb_ends(robot, "base")) == ["x4", "y4"]
    # Three of seven joints are shared, so these are two limbs; the third, shorter, comes last.
    more = tree(*limb("s", "base", 1), *limb("a", "s1", 2), *limb("b", "s1", 4), *limb("c", "s1", 4))
    assert limb_ends(more, "base") == ["b4", "c4", "a2"]
    with pytest.raises(ModelError) as refused:
        choose_tip(more, "base")
    assert str(refused.value) == (
        "robot 'made' has several chains below link 'base': take the whole tree with tips='all' (node: tips:"
        " [all]; command: --tips all), or name the tip link, for example one of: b4, c4, a2"
    )


def test_a_longer_limb_is_the_only_one_where_a_shorter_one_leaves_it_late():
    robot = tree(*limb("a", "base", 5), *limb("x", "a2", 1))
    assert limb_ends(robot, "base") == ["a5"]
    early = tree(*limb("a", "base", 5), *limb("x", "base", 4))
    assert limb_ends(early, "base") == ["a5"]


def test_at_most_six_tips_are_suggested():
    robot = tree(*(line for k in range(7) for line in limb(f"leg{k}_", "base", 2)))
    with pytest.raises(ModelError, match=r"one of: (leg\d_2, ){5}leg5_2$"):
        choose_tip(robot, "base")


def test_fixed_and_locked_joints_are_not_counted():
    robot = tree(
        *limb("a", "base", 2), *limb("x", "base", 2), *limb("w", "x2", 6, "f"), *limb("z", "base", 1, "f")
    )
    assert limb_ends(robot, "base") == ["a2", "w6"]
    assert limb_ends(robot, "base", ["j_a1"]) == ["w6"]
    assert limb_ends(robot, "base", ["j_a1", "j_a2"]) == ["w6"]
    assert tips_of(robot, "base", ["j_a1", "j_a2"]) == ["w6"]
    assert limb_ends(robot, "base", ["j_x1", "j_x2"]) == ["a2"]
    for of in (choose_tip, limb_ends, tips_of):
        with pytest.raises(ModelError) as refused:
            of(robot, "z1")
        assert str(refused.value) == "robot 'made' has no moving joint below link 'z1'"
        with pytest.raises(ModelError) as unknown:
            of(robot, "attic")
        links = ", ".join(robot.links)
        assert str(unknown.value) == f"root link 'attic' is not in robot 'made'; its links are: {links}"


def test_limbs_that_hang_elsewhere_do_not_count():
    robot = tree(*limb("a", "base", 3), *limb("x", "base", 3))
    assert limb_ends(robot, "a1") == ["a3"] and choose_tip(robot, "x2") == "x3"


def test_tips_of_the_whole_tree_are_behind_the_last_moving_joints():
    robot = tree(
        *limb("a", "base", 2), *limb("tool", "a2", 2, "f"),
        *limb("b", "a1", 1), "c1 f b1 left", "c2 f b1 right", "c3 f base shelf", *limb("d", "base", 1),
    )  # fmt: skip
    assert tips_of(robot, "base") == ["tool2", "b1", "d1"]
    assert tips_of(robot, "base", ["j_a2"]) == ["b1", "d1"]
    assert tips_of(robot, "base", ["j_a2", "j_b1"]) == ["a1", "d1"]
    assert tips_of(robot, "a1") == ["tool2", "b1"]


def test_a_selection_tells_the_chain_and_what_is_beside_it():
    robot = tree(
        *limb("a", "base", 2), "m r a2 finger", "n r base crank", "o1 o base drone", "o2 r drone arm",
        *limb("x", "base", 1),
        m="n", n="j_x1",
    )  # fmt: skip
    chosen = select_chain(robot, tip="finger")
    assert chosen == ChainSelection(
        tip="finger",
        joints=("j_a1", "j_a2"),
        locked={"m": 0.2, "o1": 0.0},
        held=("o2", "j_x1"),
        others=(),
        tips=("finger",),
    )
    # Of the followers, those are free whose leader in the end is in the chain with them, or beside it.
    both = select_chain(robot, tips=["finger", "x1"])
    assert (both.tip, both.tips, both.locked) == ("finger", ("finger", "x1"), {"n": 0.2, "o1": 0.0})
    assert both.joints == ("j_a1", "j_a2", "j_x1") and both.held == ("o2",)
    # A name alone is one tip.
    assert select_chain(robot, tips="x1").tips == ("x1",)
    assert select_chain(robot, tips="all", root="a1").tips == ("finger",)


def test_without_a_tip_the_longest_limb_is_selected_and_the_others_are_named():
    robot = tree(*limb("a", "base", 2), *limb("x", "base", 4), *limb("y", "base", 4))
    chosen = select_chain(robot)
    assert (chosen.tip, chosen.others) == ("x4", ("y4", "a2"))
    assert chosen.joints == ("j_x1", "j_x2", "j_x3", "j_x4")
    assert chosen.held == ("j_a1", "j_a2", "j_y1", "j_y2", "j_y3", "j_y4") and chosen.locked == {}
    two = {"j_x1": 0.3, "j_x2": 0.3}
    assert (select_chain(robot, locked=two).tip, select_chain(robot, locked=two).others) == ("y4", ())
    alike = select_chain(robot, locked={**two, "j_y1": 0.3, "j_y2": 0.3})
    assert (alike.tip, alike.others) == ("a2", ("x4", "y4"))
    assert select_chain(robot, tips="all", locked=dict.fromkeys(chosen.joints, 0.3)).tips == ("a2", "y4")
    assert select_chain(robot, tip="a2", root="base").others == ()


def test_a_selection_without_moving_joints_is_refused():
    robot = tree(*limb("a", "base", 2), *limb("z", "base", 2, "f"), "m r base crank", m="j_a1")
    for given, named in (({"tip": "z2"}, "'z2'"), ({"tips": ["z1", "crank"]}, "'z1', 'crank'")):
        with pytest.raises(ModelError) as refused:
            select_chain(robot, **given)
        expected = f"robot 'made' has no moving joint between 'base' and {named}"
        assert str(refused.value) == expected


def test_followers_of_a_joint_also_follow_in_the_end():
    robot = tree(*limb("a", "base", 5), j_a2="j_a1", j_a3="j_a2", j_a5="j_a4")
    assert followers(robot, ["j_a1"], ()) == ["j_a2", "j_a3"]
    assert followers(robot, ["j_a1"], ["j_a2"]) == ["j_a3"]
    assert followers(robot, ["j_a4", "j_a1"], ()) == ["j_a2", "j_a3", "j_a5"]
    assert followers(robot, ["j_a2"], ()) == []


def limited(low, high, kind=JointType.REVOLUTE):
    return Joint("j", kind, "a", "b", np.eye(4), np.eye(3)[2], JointLimits(low, high))


@pytest.mark.parametrize(
    ("low", "high", "rest", "ready"),
    [
        (-math.inf, math.inf, 0.0, 0.0),
        (-2.0, 1.0, 0.0, 0.0),
        (0.2, 1.0, 0.2, 0.6),
        (-3.0, -1.0, -1.0, -2.0),
        (0.0, 2.0, 0.0, 1.0),
        (-2.0, 0.0, 0.0, -1.0),
        (0.5, math.inf, 0.5, 0.5),
        (-math.inf, -0.5, -0.5, -0.5),
        # Zero is a twentieth of the range from the end, a little less, and a little more.
        (-1.0, 19.0, 0.0, 9.0),
        (-0.99, 19.01, 0.0, 9.01),
        (-1.01, 18.99, 0.0, 0.0),
        (-19.0, 1.0, 0.0, -9.0),
        (-19.01, 0.99, 0.0, -9.01),
        (-18.99, 1.01, 0.0, 0.0),
    ],
)
def test_positions_at_rest_and_ready(low, high, rest, ready):
    assert rest_position(limited(low, high)) == rest
    assert ready_position(limited(low, high)) == pytest.approx(ready)
    assert ready_position(limited(low, high, JointType.PRISMATIC)) == rest
