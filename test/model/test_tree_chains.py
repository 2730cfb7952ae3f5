"""Robots with several limbs: what is loaded, where its links are, and what is refused."""

import json
import warnings

import numpy as np
import pytest
from descriptions import LIMIT, joint, link, robot, two_joint_arm

from robot_dynamics.cli.main import main
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.errors import ModelError, ModelWarning
from robot_dynamics.model.dh import dh_tables
from robot_dynamics.model.load import load_urdf

pytestmark = pytest.mark.filterwarnings("ignore:links without:robot_dynamics.errors.ModelWarning")

TWO_ARMS = robot(
    link("base", ""),
    link("torso"),
    joint("waist", "base", "torso"),
    *(
        part
        for side, shift in (("left", "0.2"), ("right", "-0.2"))
        for part in (
            link(f"{side}_upper"),
            link(f"{side}_fore"),
            link(f"{side}_hand", ""),
            joint(f"{side}_shoulder", "torso", f"{side}_upper", xyz=f"0 {shift} 0", axis="0 1 0"),
            joint(f"{side}_elbow", f"{side}_upper", f"{side}_fore", axis="0 1 0"),
            joint(f"{side}_tool", f"{side}_fore", f"{side}_hand", "fixed"),
        )
    ),
)
RIGHT_FOLLOWS = TWO_ARMS.replace(
    '<joint name="right_elbow" type="revolute">',
    '<joint name="right_elbow" type="revolute"><mimic joint="left_elbow" multiplier="-2" offset="0.1"/>',
)


def test_the_whole_tree_has_a_tip_for_every_end_and_the_order_of_the_description():
    tree = load_urdf(TWO_ARMS, tips="all")
    assert [tip.link for tip in tree.tips] == ["left_hand", "right_hand"]
    assert tree.joint_names == ("waist", "left_shoulder", "left_elbow", "right_shoulder", "right_elbow")
    assert tree.carriers == (-1, 0, 1, 0, 3)
    assert not tree.serial and tree.tip == "left_hand"


@pytest.mark.parametrize("side", ["left", "right"])
def test_every_branch_is_where_the_chain_to_it_is(side):
    tree, chain = load_urdf(TWO_ARMS, tips="all"), load_urdf(TWO_ARMS, tip=f"{side}_hand")
    q = np.linspace(-0.9, 1.1, tree.dof)
    own = q[[tree.joint_names.index(name) for name in chain.joint_names]]
    branch = tree.branch(f"{side}_hand")
    assert branch.joint_names == chain.joint_names and branch.serial
    np.testing.assert_array_equal(branch.forward_kinematics(own), chain.forward_kinematics(own))


def test_named_tips_choose_a_part_and_one_tip_is_a_chain():
    part = load_urdf(TWO_ARMS, tips=["right_hand", "left_upper"])
    assert part.joint_names == ("waist", "left_shoulder", "right_shoulder", "right_elbow")
    assert [tip.link for tip in part.tips] == ["right_hand", "left_upper"] and part.tip == "right_hand"
    # What hangs behind an inner tip counts.
    assert part.joints[1].body.mass == 4.0
    assert load_urdf(TWO_ARMS, tips=["left_hand"]).serial
    assert load_urdf(two_joint_arm(), tips="all").serial


def test_joints_follow_across_branches_and_stay_where_their_leader_is_locked():
    tree = load_urdf(RIGHT_FOLLOWS, tips="all")
    assert tree.joint_names == ("waist", "left_shoulder", "left_elbow", "right_shoulder")
    np.testing.assert_allclose(tree.joint_values(np.array([0.0, 0.0, 0.3, 0.0])), [0, 0, 0.3, 0, -0.5])
    with pytest.raises(ModelError, match=r"'right_elbow' follows 'left_elbow', which is not on the branch"):
        tree.branch("right_hand")
    # In the table of its own branch, it moves by itself.
    right = dh_tables(tree)[1]
    assert right.joint_names == ("waist", "right_shoulder", "right_elbow")
    values = tree.joint_values(np.array([0.2, 0.0, 0.3, 0.4]))[[0, 3, 4]]
    expected = load_urdf(TWO_ARMS, tip="right_hand").forward_kinematics(values)
    np.testing.assert_allclose(right.forward_kinematics(values), expected, atol=1e-12)
    with pytest.warns(
        ModelWarning, match=r"'right_elbow' follows 'left_elbow', which is locked: it stays at -0.3"
    ):
        held = load_urdf(RIGHT_FOLLOWS, tips="all", locked_joints={"left_elbow": 0.2})
    assert held.joint_names == ("waist", "left_shoulder", "right_shoulder")


def test_several_chains_without_a_tip_are_refused_with_the_way_to_the_whole_tree():
    with pytest.raises(
        ModelError, match=r"several chains below link 'base': take the whole tree with tips='all'"
    ):
        load_urdf(TWO_ARMS)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"tips": ["left_hand", "claw"]}, "tip link 'claw' is not in robot 'sample'; its links are: base"),
        ({"tips": ["left_hand", "left_hand"]}, "tips names 'left_hand' twice"),
        ({"tips": []}, "tips is empty; name links, or give 'all'"),
        ({"tips": ["left_hand"], "tip": "left_hand"}, "give one of them"),
        ({"tips": ["left_hand", "base"]}, "no moving joint between 'base' and 'base'"),
        ({"tips": "all", "root": "left_hand"}, "has no moving joint below link 'left_hand'"),
        ({"tips": "all", "root": "claw"}, "root link 'claw' is not in robot"),
    ],
)
def test_tips_that_cannot_be_are_refused(given, reason):
    with pytest.raises(ModelError, match=reason):
        load_urdf(TWO_ARMS, **given)


def test_followers_in_a_circle_and_faulty_trees_are_refused():
    circle = RIGHT_FOLLOWS.replace(
        '<joint name="left_elbow" type="revolute">',
        '<joint name="left_elbow" type="revolute"><mimic joint="right_elbow"/>',
    )
    with pytest.raises(ModelError, match="mimic"):
        load_urdf(circle, tips="all")
    with pytest.raises(ModelError, match="other"):
        load_urdf(TWO_ARMS.replace("</robot>", f"{link('other')}</robot>"), tips="all")
    twice = joint("again", "left_fore", "right_fore")
    with pytest.raises(ModelError, match="right_fore"):
        load_urdf(TWO_ARMS.replace("</robot>", f"{twice}</robot>"), tips="all")


def test_a_branch_without_mass_is_told():
    bare = TWO_ARMS.replace(link("right_fore"), link("right_fore", "")).replace(
        "</robot>", f"{link('claw', '')}{joint('grip', 'right_hand', 'claw')}</robot>"
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        load_urdf(bare, tips="all")
    assert any("'claw', the last that moves, has no mass" in str(warning.message) for warning in told)


def test_a_tree_of_400_joints_is_refused_where_programs_are_made():
    parts = [link("base", "")]
    for k in range(400):
        parts += [link(f"l{k}"), joint(f"j{k}", "base" if k % 10 == 0 else f"l{k - 1}", f"l{k}", limit=LIMIT)]
    tree = load_urdf(robot(*parts), tips="all")
    assert (tree.dof, len(tree.tips)) == (400, 40)
    with pytest.raises(
        ModelError, match=r"400 joints from base to l9, .*; programs are generated for at most 150"
    ):
        make_program(tree, np.zeros(3), "gravity")


@pytest.mark.long
def test_commands_take_trees(tmp_path, capsys):
    file = tmp_path / "two_arms.urdf"
    file.write_text(TWO_ARMS, encoding="utf-8")
    assert main(["dh", str(file), "--tips", "all"]) == 0
    tables = capsys.readouterr().out
    assert "left_elbow" in tables and "right_elbow" in tables
    assert main(["count", str(file), "--tips", "left_hand,right_hand"]) == 0
    assert "Generated programs of sample, 5 joints" in capsys.readouterr().out
    assert main(["dh", str(file), "--tips", "all", "--format", "json"]) == 0
    assert [table["tip"] for table in json.loads(capsys.readouterr().out)] == ["left_hand", "right_hand"]
    assert main(["dh", str(file), "--tips", "all", "--format", "csv"]) == 1
    assert "give one --tip" in capsys.readouterr().err
    assert main(["count", str(file), "--tips", "all", "--format", "csv"]) == 1
    assert "sample is a tree" in capsys.readouterr().err
