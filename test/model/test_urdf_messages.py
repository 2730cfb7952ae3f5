"""Faults of descriptions are reported word for word."""

import pytest
from descriptions import (
    INERTIAL,
    LABEL,
    inertial,
    joint,
    limited,
    link,
    robot,
    two_joint_arm,
    with_hand,
    with_wrist,
)

from robot_dynamics.errors import ModelError
from robot_dynamics.model.urdf import parse_urdf

SAID = {
    "empty": ("", "empty; a URDF has a <robot> element"),
    "blank": (b" \n\t", "empty; a URDF has a <robot> element"),
    "cut off": ("<robot name='r'>\n <link", "not well-formed XML: unclosed token (line 2, column 2)"),
    "mismatched": ("<robot>\n</joint>", "not well-formed XML: mismatched tag (line 2, column 3)"),
    "encoding": (
        b'<?xml version="1.0" encoding="klingon"?><robot name="r"/>',
        "cannot decode the XML: unknown encoding: klingon",
    ),
    "document type": (
        "<!DOCTYPE robot><robot name='r'/>",
        "a document type or entity declaration is not allowed in a URDF",
    ),
    "outermost": ("<model/>", "the outermost element is <model>, a URDF's is <robot>"),
    "macro": (
        robot("<xacro:arm/>"),
        "<xacro:arm> is a xacro macro: expand the file with xacro before loading it",
    ),
    "macro in a link": (
        robot('<link name="l"><xacro:arm/></link>'),
        "<xacro:arm> is a xacro macro: expand the file with xacro before loading it",
    ),
    "macro outside": (
        "<xacro:arm/>",
        "<xacro:arm> is a xacro macro: expand the file with xacro before loading it",
    ),
    "expression": (
        with_wrist(xyz="${a} 0 0"),
        "joint 'wrist': xyz='${a} 0 0' is an unresolved xacro expression: expand the file with xacro",
    ),
    "name of the robot": (
        '<robot name="$(arg name)"/>',
        "robot: name='$(arg name)' is an unresolved xacro expression: expand the file with xacro",
    ),
    "two masses": (
        with_hand(INERTIAL.replace("<mass", '<mass value="1"/><mass')),
        "link 'hand' has two different <mass> elements",
    ),
    "two equal inertials": (with_hand(INERTIAL * 2), "link 'hand' has two different <inertial> elements"),
    "misspelt": (
        with_wrist().replace('xyz="0 0 0.3"', 'xzy="0 0 0.3"', 1),
        "joint 'shoulder': <origin> has the unknown attribute 'xzy'; known are xyz and rpy",
    ),
    "misspelt inertial": (
        with_hand(INERTIAL.replace("rpy", "ypr")),
        "link 'hand': <origin> has the unknown attribute 'ypr'; known are xyz and rpy",
    ),
    "two numbers": (with_wrist(xyz="1 2"), "joint 'wrist': xyz='1 2' of <origin> is not 3 numbers"),
    "four numbers": (with_wrist(rpy="1 2 3 4"), "joint 'wrist': rpy='1 2 3 4' of <origin> is not 3 numbers"),
    "a word": (with_wrist(xyz="1 a 2"), "joint 'wrist': xyz='1 a 2' of <origin>: 'a' is not a number"),
    "too large": (
        with_wrist(xyz="1 2 1e999"),
        "joint 'wrist': xyz='1 2 1e999' of <origin>: '1e999' is too large for a number",
    ),
    "no number": (with_hand(inertial("")), "link 'hand': value='' of <mass> is not a number"),
    "two masses in one": (with_hand(inertial("1 2")), "link 'hand': value='1 2' of <mass> is not a number"),
    "word for a mass": (with_hand(inertial("much")), "link 'hand': value='much' of <mass> is not a number"),
    "word behind an unknown attribute": (
        with_hand(inertial("much").replace("<mass", '<mass unit="kg"')),
        "link 'hand': value='much' of <mass> is not a number",
    ),
    "no mass value": (
        with_hand("<inertial><mass/><inertia/></inertial>"),
        "link 'hand': <mass> has no attribute 'value'",
    ),
    "no axis value": (
        with_wrist(axis=None, extra="<axis/>"),
        "joint 'wrist': <axis> has no attribute 'xyz'",
    ),
    "no parent": (
        with_wrist().replace('<parent link="fore"/>', "<parent/>"),
        "joint 'wrist': <parent> has no attribute 'link'",
    ),
    "unnamed": (
        robot("<link name='l'/><joint><origin xyz='a b c'/></joint>"),
        "joint '(unnamed)': xyz='a b c' of <origin>: 'a' is not a number",
    ),
    "no inertia": (
        with_hand('<inertial><mass value="1"/></inertial>'),
        "link 'hand': <inertial> has no <inertia>",
    ),
    "names no child": (robot(link("a"), link("b"), joint("j", "a", "")), "joint 'j': <child> names no link"),
    "names no parent": (
        robot(link("a"), link("b"), joint("j", "", "b")),
        "joint 'j': <parent> names no link",
    ),
    "empty link name": (robot('<link name=" "/>'), "a link has an empty name"),
    "empty joint name": (robot(link("a"), link("b"), joint("", "a", "b")), "a joint has an empty name"),
    "two links": (two_joint_arm(link("fore")), "two links are named 'fore'"),
    "two joints": (two_joint_arm(link("x"), joint("elbow", "fore", "x")), "two joints are named 'elbow'"),
    "no links": ('<robot name="r"/>', "the robot has no links"),
    "no such parent": (with_wrist(parent="attic"), "joint 'wrist': its parent link 'attic' does not exist"),
    "no such child": (
        two_joint_arm(joint("wrist", "fore", "attic")),
        "joint 'wrist': its child link 'attic' does not exist",
    ),
    "two carriers": (
        two_joint_arm(joint("again", "ground", "fore")),
        "link 'fore' is the child of two joints: 'elbow' and 'again'",
    ),
    "two roots": (
        two_joint_arm(link("x"), link("y")),
        "the robot has 3 root links where one is needed: ground, x, y",
    ),
    "cycle": (
        two_joint_arm(
            link("a"),
            link("b"),
            link("c"),
            link("d"),
            joint("ab", "a", "b"),
            joint("bc", "b", "c"),
            joint("ca", "c", "a"),
            joint("cd", "c", "d"),
        ),
        "the links form a cycle: a -> b -> c -> a",
    ),
    "cycle behind a link": (
        robot(
            link("d"),
            link("a"),
            link("b"),
            link("c"),
            joint("ab", "a", "b"),
            joint("bc", "b", "c"),
            joint("ca", "c", "a"),
            joint("cd", "c", "d"),
        ),
        "the links form a cycle: c -> a -> b -> c",
    ),
    "mimic of nothing": (
        with_wrist(extra='<mimic joint="ghost"/>'),
        "joint 'wrist' mimics 'ghost', which does not exist",
    ),
    "mimic of a fixed joint": (
        two_joint_arm(
            link("x"),
            joint("weld", "fore", "x", "fixed"),
            link("y"),
            joint("z", "x", "y", extra='<mimic joint="weld"/>'),
        ),
        "joint 'z' mimics 'weld', which is fixed",
    ),
    "mimics in a circle": (
        two_joint_arm(
            *(link(name) for name in "xyz"),
            *(joint(f"j{k}", "fore", "xyz"[k], extra=f'<mimic joint="j{(k + 1) % 3}"/>') for k in range(3)),
        ),
        "joint 'j0' mimics itself: j0 -> j1 -> j2 -> j0",
    ),
    "damping": (
        with_wrist(extra='<dynamics damping="-0.5"/>'),
        "joint 'wrist': damping is -0.5; it cannot be negative",
    ),
    "friction": (
        with_wrist(extra='<dynamics friction="-0.5"/>'),
        "joint 'wrist': friction is -0.5; it cannot be negative",
    ),
    "large damping": (
        with_wrist(extra='<dynamics damping="1.001e9"/>'),
        "joint 'wrist', damping: 1001000000.0 is not a number between -1e+09 and 1e+09",
    ),
    "large multiplier": (
        with_wrist(extra='<mimic joint="elbow" multiplier="-1.001e9"/>'),
        "joint 'wrist', mimic multiplier: -1001000000.0 is not a number between -1e+09 and 1e+09",
    ),
    "large offset": (
        with_wrist(extra='<mimic joint="elbow" offset="nan"/>'),
        "joint 'wrist', mimic offset: nan is not a number between -1e+09 and 1e+09",
    ),
    "large xyz": (
        with_wrist(xyz="0 0 1.001e9"),
        "joint 'wrist', origin xyz: 1001000000.0 is not a number between -1e+09 and 1e+09",
    ),
    "large inertial rpy": (
        with_hand(inertial(origin='<origin rpy="0 inf 0"/>')),
        "link 'hand', <inertial>, origin rpy: inf is not a number between -1e+09 and 1e+09",
    ),
    "large moment": (
        with_hand(inertial(iyz="1.001e9")),
        "link 'hand', inertia: 1001000000.0 is not a number between -1e+09 and 1e+09",
    ),
    "large mass": (
        with_hand(inertial("1.001e9")),
        "link 'hand', mass: 1001000000.0 is not a number between -1e+09 and 1e+09",
    ),
    "negative mass": (with_hand(inertial("-0.5")), "link 'hand': the mass is -0.5 kg; it cannot be negative"),
    "no axis": (with_wrist(axis="0 0.9e-9 0"), "joint 'wrist': the axis of a revolute joint cannot be zero"),
    "no planar axis": (
        with_wrist(kind="planar", axis="0 0 0"),
        "joint 'wrist': the axis of a planar joint cannot be zero",
    ),
    "large axis": (
        with_wrist(axis="1e10 0 0"),
        "joint 'wrist', axis: 10000000000.0 is not a number between -1e+09 and 1e+09",
    ),
    "velocity": (
        with_wrist(limit=limited(-1, 1, 10, -0.25)),
        "joint 'wrist': the velocity limit is -0.25; it cannot be negative",
    ),
    "effort": (
        with_wrist(limit=limited(-1, 1, -0.25, 1)),
        "joint 'wrist': the effort limit is -0.25; it cannot be negative",
    ),
    "limits reversed": (
        with_wrist(limit=limited(0.5, 0.25, 10, 1)),
        "joint 'wrist': the lower limit 0.5 is above the upper limit 0.25",
    ),
    **{
        f"NaN {name}": (
            with_wrist(limit=limited(*("nan" if k == place else k + 1 for k in range(4)))),
            f"joint 'wrist': the {name} limit is not a number",
        )
        for place, name in enumerate(("lower", "upper", "effort", "velocity"))
    },
    "unknown type": (
        with_wrist(kind="unknown"),
        "joint 'wrist': unknown type 'unknown'; URDF has revolute, continuous, prismatic, fixed, floating,"
        " planar",
    ),
    "other type": (
        with_wrist(kind="screw"),
        "/robot[@name='sample']/joint[@name='wrist']: Invalid joint type: screw",
    ),
    "no type": (
        with_wrist().replace(' type="revolute"', ""),
        "/robot[@name='sample']/joint[@name='shoulder']: Required attribute not set in XML: type",
    ),
    "no mass": (
        with_hand("<inertial/>"),
        "/robot[@name='sample']/link[@name='hand']/inertial: Required element not set in XML: mass",
    ),
    "version": ('<robot name="r" version="2.0"/>', "Invalid version; only 1.0 is supported"),
}


@pytest.mark.parametrize(("source", "said"), SAID.values(), ids=SAID.keys())
def test_a_fault_is_told_word_for_word(source, said):
    with pytest.raises(ModelError) as refused:
        parse_urdf(source)
    assert str(refused.value) == LABEL + said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TypeError("__init__() missing"), "an attribute is missing"),
        (ValueError("of two\n  lines"), "of two lines"),
        (KeyError(), "KeyError"),
    ],
)
def test_errors_of_the_parser_are_told_in_a_line(monkeypatch, error, said):
    def failing(_):
        raise error

    monkeypatch.setattr("urdf_parser_py.urdf.URDF.from_xml_string", failing)
    with pytest.raises(ModelError) as refused:
        parse_urdf(with_wrist())
    assert str(refused.value) == LABEL + said
    assert refused.value.__cause__ is error
