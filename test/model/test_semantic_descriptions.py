"""Files of groups and poses: what is read of them, and what is said of a faulty one."""

import pytest
from two_arms import TWO_ARMS

from robot_dynamics.errors import ModelError
from robot_dynamics.model import srdf
from robot_dynamics.model.srdf import PlanningGroup, SemanticDescription, read_srdf
from robot_dynamics.model.urdf import parse_urdf

TREE = parse_urdf(TWO_ARMS)
CHAIN = '<chain base_link="{}" tip_link="{}"/>'
GROUPS = f"""
<group name="left">{CHAIN.format("torso", "left_hand")}</group>
<group name="right">{CHAIN.format("torso", "right_hand")}</group>
<group name="right_from_base">{CHAIN.format("base", "right_hand")}</group>
<group name="both"><group name="left"/><group name="right"/></group>
<group name="mixed"><group name="left"/><group name="right_from_base"/></group>
<group name="chain_and_joint">{CHAIN.format("torso", "left_hand")}<joint name="right_elbow"/></group>
<group name="chain_and_link">{CHAIN.format("torso", "left_hand")}<link name="right_upper"/></group>
<group name="joints"><joint name="left_shoulder"/><joint name="right_elbow"/>
  <joint name="left_elbow"/></group>
<group name="links"><link name="right_fore"/><link name="right_upper"/><link name="torso"/>
  <link name="right_fore"/></group>
<group name="deep"><group name="both"/><joint name="waist"/></group>
<group name="left"><link name="left_fore"/></group>
<end_effector name="hand"><group name="not_read"/></end_effector>
<group name="odd"><passive_joint name="x"/><group name="joints"><joint name="never"/></group></group>
"""


def written(folder, content, root="robot"):
    path = folder / "pair.srdf"
    path.write_text(f'<?xml version="1.0"?><{root} name="two_arms">{content}</{root}>')
    return path


@pytest.mark.parametrize(
    ("name", "base", "ends"),
    [
        ("right", "torso", ["right_hand"]),
        ("right_from_base", "base", ["right_hand"]),
        ("both", None, ["left_hand", "right_hand"]),
        ("mixed", None, ["left_hand", "right_hand"]),
        ("chain_and_joint", None, ["left_hand", "right_fore"]),
        ("chain_and_link", None, ["left_hand", "right_upper"]),
        ("joints", None, ["right_fore", "left_fore"]),
        ("links", None, ["right_fore"]),
        ("deep", None, ["left_hand", "right_hand"]),
        ("odd", None, ["right_fore", "left_fore"]),
    ],
)
def test_a_group_ends_at_the_links_behind_which_it_has_no_others(tmp_path, name, base, ends):
    assert read_srdf(written(tmp_path, GROUPS)).ends(name, TREE) == (base, ends)


def test_two_chains_with_one_base_have_it(tmp_path):
    content = GROUPS.replace('<group name="left"><link name="left_fore"/></group>', "")
    assert read_srdf(written(tmp_path, content)).ends("both", TREE) == ("torso", ["left_hand", "right_hand"])
    assert read_srdf(written(tmp_path, content)).ends("mixed", TREE)[0] is None


def test_members_of_a_group_given_twice_are_together(tmp_path):
    description = read_srdf(written(tmp_path, GROUPS))
    assert description.groups["left"] == PlanningGroup([("torso", "left_hand")], [], ["left_fore"], [])
    assert "not_read" not in description.groups and "never" not in description.groups["odd"].joints
    assert description.label == str(tmp_path / "pair.srdf")
    assert PlanningGroup() == PlanningGroup([], [], [], [])


POSES = """
<group_state name="home" group="left"><joint name="waist" value="0.25"/><joint name="a" value="-1e-3"/>
</group_state>
<group_state name="home" group="right"><joint name="b" value="2"/><joint name="planar" value="1 2 3"/>
</group_state>
<group_state name="empty" group="left"/>
<disable_collisions link1="x" link2="y"/><disable_collisions link1="y" link2="x"/>
<disable_collisions link1="x" link2="z"/>
"""


def test_poses_of_one_name_in_several_groups_are_one(tmp_path):
    description = read_srdf(written(tmp_path, POSES))
    assert description.states == {"home": {"waist": 0.25, "a": -1e-3, "b": 2.0}, "empty": {}}
    assert description.pose("home", ("b", "waist")) == [2.0, 0.25]
    assert description.touching == {frozenset("xy"), frozenset("xz")}
    without = written(tmp_path, '<group_state name="s"><joint name="a" value=""/></group_state>')
    assert read_srdf(without).states == {"s": {}}


FAULTS = {
    "another root": ("", "sdf", "the outermost element is <sdf>, an SRDF's is <robot>"),
    "no name": ("<group/>", "robot", "<group> has no attribute 'name'"),
    "no tip": (
        '<group name="g"><chain base_link="a"/></group>', "robot", "<chain> has no attribute 'tip_link'"
    ),
    "no value": (
        '<group_state name="s"><joint name="a"/></group_state>', "robot", "<joint> has no attribute 'value'"
    ),
    "no second link": (
        '<disable_collisions link1="a"/>', "robot", "<disable_collisions> has no attribute 'link2'"
    ),
    "a word": (
        '<group_state name="s"><joint name="a" value="much"/></group_state>', "robot",
        "pose 's', joint 'a': 'much' is not a number",
    ),
    "infinite": (
        '<group_state name="s"><joint name="a" value="-inf"/></group_state>', "robot",
        "pose 's', joint 'a': '-inf' is not a finite number",
    ),
    "cut off": ("<group", "robot", "not well-formed XML: not well-formed (invalid token) (line 1)"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "root", "said"), FAULTS.values(), ids=FAULTS.keys())
def test_a_faulty_file_is_refused(tmp_path, content, root, said):
    path = written(tmp_path, content, root)
    with pytest.raises(ModelError) as refused:
        read_srdf(path)
    assert str(refused.value) == f"{path}: {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            b"<!DOCTYPE robot><robot/>",
            "a document type or entity declaration is not allowed in an SRDF",
        ),
        (
            b'<?xml version="1.0" encoding="klingon"?><robot/>',
            "cannot decode the XML: unknown encoding: klingon",
        ),
        (b"<robot>\n\n</group>", "not well-formed XML: mismatched tag (line 3)"),
        (b"<robot>\n<group name='a'/>", "not well-formed XML: no element found (line 2)"),
    ],
)
def test_a_file_that_is_no_document_is_refused(tmp_path, text, said):
    path = tmp_path / "faulty.srdf"
    path.write_bytes(text)
    with pytest.raises(ModelError) as refused:
        read_srdf(path)
    assert str(refused.value) == f"{path}: {said}"
    with pytest.raises(ModelError, match="no such SRDF file"):
        read_srdf(tmp_path / "missing.srdf")


def test_a_file_has_a_largest_number_of_elements(tmp_path, monkeypatch):
    assert srdf.MAX_ENTRIES == 100_000
    monkeypatch.setattr(srdf, "MAX_ENTRIES", 3)
    assert read_srdf(written(tmp_path, "<a/><b/>")).groups == {}
    with pytest.raises(ModelError) as refused:
        read_srdf(written(tmp_path, "<a/><b/><c/>"))
    assert str(refused.value) == f"{tmp_path / 'pair.srdf'}: more than 3 elements"


def described(**groups):
    return SemanticDescription(
        "file", {name: PlanningGroup(**of) for name, of in groups.items()}, {}, frozenset()
    )


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ({}, "no group 'g'; there are none"),
        ({"a": {}, "b": {}}, "no group 'g'; there are a, b"),
        ({"g": {}}, "group 'g' has no members"),
        ({"g": {"joints": ["knee"]}}, "group 'g': the robot has no joint 'knee'"),
        ({"g": {"links": ["foot"]}}, "group 'g': the robot has no link 'foot'"),
        ({"g": {"chains": [("attic", "left_hand")]}}, "group 'g': the robot has no link 'attic'"),
        ({"g": {"chains": [("base", "foot")]}}, "group 'g': the robot has no link 'foot'"),
        ({"g": {"groups": ["h"]}, "h": {"groups": ["g"]}}, "group 'g' contains itself"),
        ({"g": {"groups": ["h"]}, "h": {"groups": ["k"]}}, "group 'h' contains 'k', which is no group"),
    ],
)
def test_a_group_that_does_not_fit_the_robot_is_refused(groups, said):
    with pytest.raises(ModelError) as refused:
        described(**groups).ends("g", TREE)
    assert str(refused.value) == f"file: {said}"


def test_a_group_that_two_groups_contain_does_not_contain_itself():
    shared = {
        "g": {"groups": ["a", "b"]},
        "a": {"groups": ["c"]},
        "b": {"groups": ["c"]},
        "c": {"links": ["torso"]},
    }
    assert described(**shared).ends("g", TREE) == (None, ["torso"])


def test_poses_that_are_missing_or_lack_joints_are_refused():
    poses = SemanticDescription("file", {}, {"up": {"a": 1.0}, "down": {}}, frozenset())
    for name, joints, said in (
        ("home", ("a",), "no pose 'home'; there are up, down"),
        ("up", ("a", "b", "c"), "the pose 'up' has no value for b, c"),
    ):
        with pytest.raises(ModelError) as refused:
            poses.pose(name, joints)
        assert str(refused.value) == f"file: {said}"
    with pytest.raises(ModelError, match=r"^file: no pose 'home'; there are none$"):
        SemanticDescription("file", {}, {}, frozenset()).pose("home", ())
