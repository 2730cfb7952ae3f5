"""Bounds up to which a robot description is legal, and the tree that is made of it."""

import math

import numpy as np
import pytest
from descriptions import (
    LABEL,
    LIMIT,
    POINT,
    inertial,
    joint,
    limited,
    link,
    robot,
    two_joint_arm,
    with_hand,
    with_wrist,
)
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import ModelError, WrongTypeError
from robot_dynamics.model.chain import JointLimits, RigidBody
from robot_dynamics.model.urdf import DescriptionFinding, Joint, JointType, Mimic, RobotTree, parse_urdf
from robot_dynamics.model.urdf.gate import MAX_BYTES, Source, kinematics_only, read_source
from robot_dynamics.model.urdf.validation import check_body, check_limits, check_moving_body, without_zeros


def test_names_of_a_thousand_characters_are_legal():
    name = "x" * 1000
    tree = parse_urdf(with_wrist(child=name).replace('"hand"', f'"{name}"').replace("sample", name))
    assert tree.name == name and name in tree.links
    for text, what in (
        (with_wrist(name=name + "x"), "joint"),
        (robot(link(name + "x")), "link"),
        (robot().replace("sample", name + "x"), "robot"),
    ):
        said = f"^{LABEL}the name of the {what} 'xxx.* is longer than 1000 characters$"
        with pytest.raises(ModelError, match=said):
            parse_urdf(text)


def test_numbers_are_legal_up_to_the_largest():
    body = inertial("1e9", ixx="1e9", iyy="1e9", izz="1e9", origin='<origin xyz="1e9 -1e9 0"/>')
    extra = '<dynamics damping="1e9" friction="1e9"/><mimic joint="elbow" multiplier="-1e9" offset="1e9"/>'
    text = two_joint_arm(link("hand", body), joint("wrist", "fore", "hand", xyz="0 1e9 -1e9", extra=extra))
    tree = parse_urdf(text)
    made = tree.joints["wrist"]
    assert (made.damping, made.friction) == (1e9, 1e9)
    assert (made.mimic.joint, made.mimic.multiplier, made.mimic.offset) == ("elbow", -1e9, 1e9)
    assert made.origin[:3, 3].tolist() == [0.0, 1e9, -1e9]
    assert tree.links["hand"].body.mass == 1e9


def test_what_a_description_may_leave_out():
    text = robot(
        '<link name="a"/><link name="b"/><link name="c"/>',
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>',
        '<joint name="k" type="fixed"><parent link="a"/><child link="c"/><origin rpy="0 0.3 0"/></joint>',
    )
    tree = parse_urdf(text)
    joint_ = tree.joints["j"]
    assert joint_.axis.tolist() == [1.0, 0.0, 0.0] and np.array_equal(joint_.origin, np.eye(4))
    assert (joint_.damping, joint_.friction, joint_.mimic, joint_.zero_limits) == (0.0, 0.0, None, ())
    assert joint_.limits == JointLimits() and tree.findings == ()
    turned = tree.joints["k"].origin
    assert not turned[:3, 3].any()
    np.testing.assert_allclose(turned[:3, :3], Rotation.from_euler("y", 0.3).as_matrix(), atol=1e-15)
    assert tree.joints["k"].limits == JointLimits()
    assert tree.links["a"].body is None


@pytest.mark.parametrize("xyz", ["1e-9 0 0", "0 0 -2.5", "3 -4 12"])
def test_axes_are_made_unit_vectors(xyz):
    given = np.array(xyz.split(), dtype=float)
    axis = parse_urdf(with_wrist(axis=xyz)).joints["wrist"].axis
    np.testing.assert_allclose(axis, given / np.linalg.norm(given), atol=1e-15)


@pytest.mark.parametrize("kind", ["fixed", "floating"])
def test_an_axis_of_zero_is_none_where_none_is_needed(kind):
    assert parse_urdf(with_wrist(kind=kind, axis="0 0 0")).joints["wrist"].axis.tolist() == [1.0, 0.0, 0.0]


def test_the_inertia_stands_in_the_axes_of_the_link():
    origin = '<origin xyz="0.1 0.2 0.3" rpy="0.4 -0.5 0.6"/>'
    moments = {"ixx": "1.1", "ixy": "0.1", "ixz": "0.2", "iyy": "1.3", "iyz": "-0.15", "izz": "1.7"}
    body = parse_urdf(with_hand(inertial("2", origin, **moments))).links["hand"].body
    turn = Rotation.from_euler("xyz", (0.4, -0.5, 0.6)).as_matrix()
    own = np.array([[1.1, 0.1, 0.2], [0.1, 1.3, -0.15], [0.2, -0.15, 1.7]])
    np.testing.assert_allclose(body.inertia, turn @ own @ turn.T, atol=1e-14)
    assert body.center_of_mass.tolist() == [0.1, 0.2, 0.3] and body.mass == 2.0


@pytest.mark.parametrize(
    ("kind", "limit", "limits", "zeros", "found"),
    [
        ("revolute", "", JointLimits(), (), ["a revolute joint needs <limit>; taken as unlimited"]),
        ("prismatic", "", JointLimits(), (), ["a prismatic joint needs <limit>; taken as unlimited"]),
        ("continuous", "", JointLimits(), (), []),
        ("floating", LIMIT, JointLimits(), (), []),
        ("continuous", LIMIT, JointLimits(velocity=3, effort=10), (), []),
        ("prismatic", LIMIT, JointLimits(-2, 2, 3, 10), (), []),
        ("revolute", limited(-2, 0, 0, 0), JointLimits(-2, 0), ("effort", "velocity"), []),
        ("revolute", limited(-2, 0, 5, 0), JointLimits(-2, 0, effort=5), ("velocity",), []),
        ("revolute", '<limit upper="2" effort="5" velocity="3"/>', JointLimits(0, 2, 3, 5), (), []),
        ("revolute", '<limit lower="-2" effort="5" velocity="3"/>', JointLimits(-2, 0, 3, 5), (), []),
        (
            "revolute", limited(0.5, 0.5, 5, 3), JointLimits(0.5, 0.5, 3, 5), (),
            ["lower and upper limit are both 0.5, so the joint cannot move"],
        ),
        ("revolute", limited("-inf", "inf", 5, 3), JointLimits(velocity=3, effort=5), (), []),
    ],
)  # fmt: skip
def test_limits_in_force_and_what_is_odd_about_them(kind, limit, limits, zeros, found):
    tree = parse_urdf(with_wrist(kind=kind, limit=limit))
    assert tree.joints["wrist"].limits == limits
    assert tree.joints["wrist"].zero_limits == zeros
    assert [(f.kind, f.name, f.message) for f in tree.findings] == [("joint", "wrist", m) for m in found]
    assert [str(f) for f in tree.findings] == [f"joint 'wrist': {message}" for message in found]


@pytest.mark.parametrize(("lower", "upper"), [(math.inf, math.inf), (-math.inf, -math.inf), (1.0, 0.5)])
def test_ranges_that_nothing_lies_in_are_refused(lower, upper):
    with pytest.raises(ModelError) as refused:
        check_limits("joint 'j'", JointLimits(lower, upper))
    assert str(refused.value) == f"joint 'j': the lower limit {lower:g} is above the upper limit {upper:g}"
    assert check_limits("joint 'j'", JointLimits(0.0, 1.0, velocity=0.0, effort=0.0)) == []
    assert without_zeros(JointLimits(0.0, 0.0, 0.0, 2.0)) == (
        JointLimits(0.0, 0.0, effort=2.0),
        ("velocity",),
    )


BROKEN = "kg·m² break the triangle inequality, and physics engines reject it"


def diagonal(*moments, mass=1.0, center=(0.0, 0.0, 0.0)):
    return RigidBody(mass, np.array(center), np.diag(np.array(moments, dtype=float)))


@pytest.mark.parametrize(
    ("body", "fixed", "odd"),
    [
        (diagonal(1, 2, 3), False, []),
        (diagonal(1, 2, 3 * (1 + 0.9e-6)), False, []),
        (
            diagonal(1, 2, 3 * (1 + 1.1e-6)), False,
            [f"no rigid body has this inertia: its principal moments 1, 2, 3 {BROKEN}"],
        ),
        (
            diagonal(4, 1, 2), True,
            [f"no rigid body has this inertia: its principal moments 1, 2, 4 {BROKEN}"],
        ),
        (diagonal(0, 0, 0), True, []),
        (
            diagonal(0, 0, 0), False,
            ["the inertia is not positive definite: its principal moments are 0, 0, 0 kg·m²"],
        ),
        (
            diagonal(0, 2, 2), True,
            ["the inertia is not positive definite: its principal moments are 0, 2, 2 kg·m²"],
        ),
        (
            diagonal(3, -0.5, 2), False,
            ["the inertia is not positive definite: its principal moments are -0.5, 2, 3 kg·m²"],
        ),
        (diagonal(0, 0, 0, mass=0.0), False, []),
        (
            diagonal(0.25, 3, 1, mass=0.0), False,
            ["it has an inertia but no mass: its principal moments are 0.25, 1, 3 kg·m²"],
        ),
        (
            diagonal(0.25, 3, 1, mass=0.0), True,
            ["it has an inertia but no mass: its principal moments are 0.25, 1, 3 kg·m²"],
        ),
    ],
)  # fmt: skip
def test_odd_mass_properties_of_a_link(body, fixed, odd):
    assert check_body("link 'l'", body, fixed) == odd


@pytest.mark.parametrize(
    ("body", "legal"),
    [
        (diagonal(1, 2, -1.9e-6), True),
        (diagonal(1, 2, -2.1e-6), False),
        (diagonal(1, 2, -1e-6 * 2.0 - 1e-12), True),  # exactly at the bound
        (diagonal(-3, -2, 2), False),
        (diagonal(1e-12, 1e-12, -0.9e-12), True),
        (diagonal(1e-12, 1e-12, -1.1e-12), False),
        # The mass beside the joint outweighs a negative moment, but not about the axis through it.
        (diagonal(1, -1, -1, mass=2.0, center=(1, 0, 0)), True),
        (diagonal(-1, 1, 1, mass=2.0, center=(1, 0, 0)), False),
    ],
)
def test_a_body_that_moves_must_not_gain_energy(body, legal):
    if legal:
        check_moving_body("link 'l'", body)
        return
    with pytest.raises(
        ModelError, match=r"^link 'l': the inertia of everything that moves with it is not"
    ) as no:
        check_moving_body("link 'l'", body)
    steiner = body.mass * (
        body.center_of_mass @ body.center_of_mass * np.eye(3)
        - np.outer(body.center_of_mass, body.center_of_mass)
    )
    moments = ", ".join(f"{moment:.3g}" for moment in np.sort(np.diag(body.inertia + steiner)))
    end = f"positive definite: its principal moments about the joint's origin are {moments} kg·m²"
    assert str(no.value).endswith(end)


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "floating", "planar"])
def test_point_masses_are_odd_only_where_they_move(kind):
    nail, ball = (link(name, inertial(**POINT)) for name in ("nail", "ball"))
    text = two_joint_arm(nail, joint("pin", "fore", "nail", "fixed"), ball, joint("j", "fore", "ball", kind))
    message = "the inertia is not positive definite: its principal moments are 0, 0, 0 kg·m²"
    (found,) = parse_urdf(text).findings
    assert found == DescriptionFinding("link", "ball", message)
    assert str(found) == f"link 'ball': {message}"


def nested(depth):
    """Elements inside each other, the robot among them."""
    return f'<robot name="r"><link name="l"/>{"<a>" * (depth - 1)}{"</a>" * (depth - 1)}</robot>'


def test_elements_are_nested_up_to_a_hundred_deep():
    assert parse_urdf(nested(100)).root == "l"
    with pytest.raises(ModelError) as refused:
        parse_urdf(nested(101))
    assert str(refused.value) == f"{LABEL}elements nested more than 100 deep"


@pytest.mark.parametrize("tag", ["link", "joint"])
def test_a_robot_has_up_to_two_thousand_links_and_joints(tag):
    def many(count):
        return Source(b'<robot name="r">' + f"<{tag}/>".encode() * count + b"</robot>", "big")

    assert kinematics_only(many(2000)).count(f"<{tag}".encode()) == 2000
    with pytest.raises(ModelError) as refused:
        kinematics_only(many(2001))
    assert str(refused.value) == f"big: more than 2000 elements <{tag}>"


def test_a_description_is_as_large_as_it_may_be():
    assert MAX_BYTES == 5 * 2**20
    whole = b"<" + b" " * (MAX_BYTES - 1)
    assert read_source(whole) == Source(whole, "robot description")
    with pytest.raises(ModelError) as refused:
        read_source(whole + b" ")
    assert str(refused.value) == f"{LABEL}larger than the 5 MiB that a URDF may have"


def test_sources_and_their_labels(tmp_path):
    text = two_joint_arm()
    assert read_source(bytearray(b"<robot/>")) == (b"<robot/>", "robot description", None)
    assert read_source("<robot/>") == (b"<robot/>", "robot description", "utf-8")
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    for given in (path, str(path)):
        assert read_source(given) == (text.encode(), str(path), None)
    path.write_text(" ")
    with pytest.raises(ModelError) as blank:
        read_source(path)
    assert str(blank.value) == f"{path}: empty; a URDF has a <robot> element"
    macro = tmp_path / "arm.urdf.xacro"
    macro.write_text(text)
    with pytest.raises(ModelError) as refused:
        read_source(macro)
    expected = f"{macro} is a xacro file: expand it first (xacro arm.urdf.xacro > robot.urdf)"
    assert str(refused.value) == expected
    with pytest.raises(WrongTypeError) as wrong:
        read_source(3)
    assert str(wrong.value) == "a robot description must be a path, or XML as str or bytes, not int"


def test_only_kinematics_pass_the_gate():
    text = (
        '<robot name="r" xmlns:x="y" version="1.0"><link name="a" type="odd"><visual><xacro:box/>'
        '<origin xzy="1"/><mass value="${no}"/></visual><inertial><mass value="1" unit="kg"/>'
        '<mass value="1"/>'
        "<inertia/></inertial></link><sensor name='s'><link name='inner'/><joint/></sensor>"
        '<joint name="${" type="fixed"/></robot>'
    )
    with pytest.raises(ModelError, match=r"joint '\$\{': name='\$\{' is an unresolved xacro expression"):
        kinematics_only(Source(text.encode(), "label"))
    passed = kinematics_only(Source(text.replace("${", "j").encode(), "label"))
    assert passed.split(b"\n")[-1] == (
        b'<robot name="r" version="1.0"><link name="a"><inertial><mass value="1" /><inertia /></inertial>'
        b"</link>"
        b'<joint name="j" type="fixed" /></robot>'
    )


def test_defaults_of_joints_and_mimics():
    made = Joint("j", JointType.REVOLUTE, "a", "b", np.eye(4), np.eye(3)[0])
    assert (made.damping, made.friction, made.mimic, made.zero_limits) == (0.0, 0.0, None, ())
    assert made.limits == JointLimits() and Mimic("j") == Mimic("j", multiplier=1.0, offset=0.0)
    assert RobotTree("r", {}, {}).findings == ()


@pytest.mark.parametrize("kind", list(JointType))
def test_types_of_joints_that_move_on_an_axis(kind):
    assert kind.moves_on_axis is (kind.value in ("revolute", "continuous", "prismatic"))


def test_a_tree_tells_what_carries_what():
    text = two_joint_arm(
        link("x"), joint("a", "upper", "x"),
        link("y"), joint("b", "x", "y"),
        link("z"), joint("c", "upper", "z"),
    )  # fmt: skip
    tree = parse_urdf(text)
    assert tree.root == "ground" and tree.leaves == ("fore", "y", "z")
    assert [j.name for j in tree.child_joints["upper"]] == ["elbow", "a", "c"]
    assert tree.child_joints["y"] == ()
    assert {name: j.name for name, j in tree.parent_joint.items()} == {
        "upper": "shoulder", "fore": "elbow", "x": "a", "y": "b", "z": "c"
    }  # fmt: skip
    assert [j.name for j in tree.subtree("ground")] == ["shoulder", "elbow", "a", "b", "c"]
    assert [j.name for j in tree.subtree("x")] == ["b"] and list(tree.subtree("z")) == []
    assert [j.name for j in tree.path("ground", "y")] == ["shoulder", "a", "b"] and tree.path("x", "x") == ()
    with pytest.raises(ModelError) as below:
        tree.path("x", "fore")
    assert str(below.value) == "link 'fore' does not hang below link 'x' in robot 'sample'"
    for root, tip, role in (("attic", "x", "root"), ("x", "attic", "tip")):
        with pytest.raises(ModelError) as unknown:
            tree.path(root, tip)
        assert str(unknown.value) == (
            f"{role} link 'attic' is not in robot 'sample'; its links are: ground, upper, fore, x, y, z"
        )
