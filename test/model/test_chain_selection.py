"""Choice of the chain where the caller names no tip: the same in the library and in ``view``."""

from __future__ import annotations

import warnings

import pytest
from descriptions import inertial, limited, link
from installed_robots import example_robot
from two_arms import JOINTS, TIPS, TWO_ARMS

from robot_dynamics.errors import ModelError, ModelWarning
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.selection import limb_ends, select_chain
from robot_dynamics.model.urdf import parse_urdf


def robot(*joints):
    """A robot from (name, type, parent, child, further elements)."""
    links = dict.fromkeys(["base", *(child for _, _, _, child, *_ in joints)])
    body = "".join(link(name, inertial()) for name in links)
    for name, kind, parent, child, *further in joints:
        limit = limited(0.2, 1, 1, 1) if kind == "revolute" else ""
        body += (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<axis xyz="0 0 1"/>{limit}{"".join(further)}</joint>'
        )
    return f'<robot name="r">{body}</robot>'


def chain_of(text, **options):
    chosen = select_chain(parse_urdf(text), **options)
    return chosen, load_urdf(text, tip=chosen.tip, locked_joints=chosen.locked)


def test_the_longest_limb_is_selected_and_the_rest_is_held():
    text = robot(
        ("a", "revolute", "base", "la"),
        ("b", "revolute", "base", "lb"),
        ("c", "revolute", "lb", "lc"),
        ("tool", "fixed", "lc", "tool0"),
    )
    chosen, chain = chain_of(text)
    assert (chosen.tip, chosen.joints, chosen.held, chosen.others) == ("tool0", ("b", "c"), ("a",), ())
    assert chain.joint_names == ("b", "c")


def test_of_equally_long_chains_the_first_in_the_file_is_taken_and_the_others_named():
    text = robot(("b", "revolute", "base", "lb"), ("a", "revolute", "base", "la"))
    assert select_chain(parse_urdf(text)).tip == "lb"
    assert select_chain(parse_urdf(text)).others == ("la",)


def test_leaves_behind_the_same_joints_are_one_limb():
    text = robot(
        ("a", "revolute", "base", "la"), ("t1", "fixed", "la", "tool1"), ("t2", "fixed", "la", "tool2")
    )
    selected = select_chain(parse_urdf(text))
    assert (selected.tip, selected.others) == ("la", ()) and load_urdf(text).tip == "la"


def hand(side):
    """An arm of three joints with two fingers of two."""
    yield from (
        (f"{side}{i}", "revolute", f"{side}l{i - 1}" if i > 1 else "base", f"{side}l{i}") for i in (1, 2, 3)
    )
    for finger in "pq":
        yield (f"{side}{finger}1", "revolute", f"{side}l3", f"{side}{finger}a")
        yield (f"{side}{finger}2", "revolute", f"{side}{finger}a", f"{side}{finger}b")


def test_arms_end_where_their_fingers_begin():
    text = robot(*hand("left"), *hand("right"), ("camera", "fixed", "base", "lens"))
    assert limb_ends(parse_urdf(text), "base") == ["leftl3", "rightl3"]
    with pytest.raises(ModelError, match=r"several chains .* one of: leftl3, rightl3$"):
        load_urdf(text)


def test_locked_joints_do_not_make_a_limb():
    text = robot(*hand("left"), ("head", "revolute", "base", "neck"))
    assert limb_ends(parse_urdf(text), "base") == ["leftl3"]
    locked = dict.fromkeys(("left1", "left2", "left3", "leftp1", "leftp2", "leftq1", "leftq2"), 0.3)
    assert limb_ends(parse_urdf(text), "base", locked) == ["neck"]
    assert (
        select_chain(parse_urdf(text), locked=locked).tip
        == load_urdf(text, locked_joints=locked).tip
        == "neck"
    )


def test_a_finger_that_mimics_one_in_the_chain_is_locked_at_its_limit():
    mimic = '<mimic joint="a"/>'
    text = robot(("a", "revolute", "base", "la"), ("m", "revolute", "base", "lm", mimic))
    chosen, chain = chain_of(text)
    assert chosen.locked == {"m": 0.2} and chain.joint_names == ("a",)


def test_a_mimic_joint_in_the_chain_whose_master_is_not_is_locked():
    text = robot(
        ("a", "revolute", "base", "la"),
        ("b", "revolute", "la", "lb"),
        ("m", "revolute", "lb", "lm", '<mimic joint="other"/>'),
        ("other", "revolute", "base", "lo"),
    )
    chosen, chain = chain_of(text, tip="lm")
    assert chosen.locked == {"m": 0.2} and chain.joint_names == ("a", "b")


def test_floating_joints_are_held_at_zero():
    text = robot(("f", "floating", "base", "body"), ("a", "revolute", "body", "la"))
    chosen, chain = chain_of(text)
    assert chosen.locked == {"f": 0.0} and chain.joint_names == ("a",)


def test_a_given_root_and_tip_are_kept():
    text = robot(
        ("a", "revolute", "base", "la"), ("b", "revolute", "la", "lb"), ("c", "revolute", "lb", "lc")
    )
    assert select_chain(parse_urdf(text), root="la").joints == ("b", "c")
    assert select_chain(parse_urdf(text), tip="lb").joints == ("a", "b")


def test_a_robot_without_moving_joints_is_refused():
    with pytest.raises(ModelError, match="no moving joint below link 'base'"):
        select_chain(parse_urdf(robot(("f", "fixed", "base", "la"))))
    with pytest.raises(ModelError, match="'nowhere' is not in robot"):
        select_chain(parse_urdf(robot(("a", "revolute", "base", "la"))), root="nowhere")


@pytest.mark.parametrize(
    ("name", "joints"),
    [
        ("ur_description/urdf/ur5_robot.urdf", 6),
        ("panda_description/urdf/panda.urdf", 7),
        ("talos_data/robots/talos_full_v2.urdf", 9),
    ],
)
def test_real_robots(name, joints):
    path = example_robot(name)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    chosen = select_chain(parse_urdf(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        chain = load_urdf(path, tip=chosen.tip, locked_joints=chosen.locked)
        assert chain.dof == len(chosen.joints) == joints
        if not chosen.others:
            assert load_urdf(path).tip == chosen.tip


def test_several_tips_choose_the_joints_on_the_way_to_all_of_them():
    chosen = select_chain(parse_urdf(TWO_ARMS), tips="all")
    assert (chosen.tips, chosen.joints, chosen.held) == (tuple(TIPS), tuple(JOINTS), ())
    part = select_chain(parse_urdf(TWO_ARMS), tips=["left_hand", "right_upper"])
    assert part.joints == tuple(JOINTS[:4]) and part.held == ("right_elbow",)
