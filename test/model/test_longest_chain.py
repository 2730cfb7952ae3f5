"""The chain that is meant when nobody names one: the longest, the rest held."""

from __future__ import annotations

import pytest
from installed_robots import example_robot

from robot_dynamics.errors import ModelError
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.longest import longest_chain
from robot_dynamics.model.urdf import parse_urdf

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def robot(*joints):
    """A robot from (name, type, parent, child, further elements)."""
    links = dict.fromkeys(["base", *(child for _, _, _, child, *_ in joints)])
    body = "".join(f'<link name="{link}">{INERTIAL}</link>' for link in links)
    for name, kind, parent, child, *further in joints:
        limit = '<limit lower="0.2" upper="1" effort="1" velocity="1"/>' if kind == "revolute" else ""
        body += (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<axis xyz="0 0 1"/>{limit}{"".join(further)}</joint>'
        )
    return f'<robot name="r">{body}</robot>'


def chain_of(text, **options):
    chosen = longest_chain(parse_urdf(text), **options)
    return chosen, load_urdf(text, tip=chosen.tip, locked_joints=chosen.locked)


def test_the_longest_chain_wins_and_the_rest_is_held():
    text = robot(
        ("a", "revolute", "base", "la"),
        ("b", "revolute", "base", "lb"),
        ("c", "revolute", "lb", "lc"),
        ("tool", "fixed", "lc", "tool0"),
    )
    chosen, chain = chain_of(text)
    assert (chosen.tip, chosen.joints, chosen.held, chosen.rivals) == ("tool0", ("b", "c"), ("a",), ())
    assert chain.joint_names == ("b", "c")


def test_of_equally_long_chains_the_first_in_the_file_is_taken_and_the_others_named():
    text = robot(("b", "revolute", "base", "lb"), ("a", "revolute", "base", "la"))
    assert longest_chain(parse_urdf(text)).tip == "lb"
    assert longest_chain(parse_urdf(text)).rivals == ("la",)


def test_leaves_behind_the_same_joints_are_no_rivals():
    text = robot(
        ("a", "revolute", "base", "la"), ("t1", "fixed", "la", "tool1"), ("t2", "fixed", "la", "tool2")
    )
    assert longest_chain(parse_urdf(text)).rivals == ()


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
    assert longest_chain(parse_urdf(text), root="la").joints == ("b", "c")
    assert longest_chain(parse_urdf(text), tip="lb").joints == ("a", "b")


def test_a_robot_without_moving_joints_is_refused():
    with pytest.raises(ModelError, match="no moving joint below link 'base'"):
        longest_chain(parse_urdf(robot(("f", "fixed", "base", "la"))))
    with pytest.raises(ModelError, match="'nowhere' is not in robot"):
        longest_chain(parse_urdf(robot(("a", "revolute", "base", "la"))), root="nowhere")


@pytest.mark.parametrize(
    ("name", "joints"),
    [
        ("ur_description/urdf/ur5_robot.urdf", 6),
        ("panda_description/urdf/panda.urdf", 8),
        ("talos_data/robots/talos_full_v2.urdf", 10),
    ],
)
def test_real_robots(name, joints):
    path = example_robot(name)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    chosen = longest_chain(parse_urdf(path))
    with pytest.warns():
        chain = load_urdf(path, tip=chosen.tip, locked_joints=chosen.locked)
    assert chain.dof == len(chosen.joints) == joints
