"""Malformed descriptions: each is refused with an error that names what is wrong."""

import math
import random

import numpy as np
import pytest
from descriptions import (
    INERTIAL,
    LIMIT,
    inertial,
    joint,
    link,
    robot,
    two_joint_arm,
    with_hand,
    with_wrist,
)

from robot_dynamics.errors import ModelError, WrongTypeError
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.urdf import JointType, parse_urdf
from robot_dynamics.model.urdf.gate import MAX_BYTES

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics.errors.ModelWarning")

ARM = two_joint_arm()
BOMB = (
    '<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    '<robot name="&b;"><link name="l"/></robot>'
)
EXTERNAL = BOMB.split("[")[0] + 'SYSTEM "file:///etc/passwd"><robot name="r"><link name="l"/></robot>'

MALFORMED = {
    "DTD with entities": (BOMB, "document type"),
    "external DTD": (EXTERNAL, "document type"),
    "no XML": ("<<<<", "not well-formed"),
    "binary junk": (bytes(range(256)) * 8, "not well-formed"),
    "NUL bytes": (b"\0" * 64, "well-formed"),
    "truncated": (ARM[: len(ARM) // 2], "not well-formed"),
    "lone surrogate": (ARM.replace("sample", "\ud800"), "not well-formed"),
    "undefined entity": (ARM.replace("sample", "&who;"), "not well-formed"),
    "huge": (b"<robot>" + b" " * MAX_BYTES, "larger than"),
    "deep": ("<robot name='r'>" + "<link>" * 5000, "nested"),
    "endless name": (ARM.replace("fore", "f" * 100_000), "longer than 1000 characters"),
    "other root element": ("<sdf version='1.9'><model name='m'/></sdf>", "<sdf>"),
    "robot without a name": ("<robot><link name='l'/></robot>", "name"),
    "xacro macro": (robot('<xacro:arm prefix="left"/>'), "<xacro:arm>"),
    "xacro expression": (with_wrist(xyz="0 0 ${length}"), "joint 'wrist'.*\\$\\{length\\}"),
    "xacro substitution": (with_wrist(rpy="$(arg roll) 0 0"), "joint 'wrist'.*\\$\\(arg roll\\)"),
    "link without a name": (robot("<link/>"), "name"),
    "two roots": (two_joint_arm(link("stray")), "2 root links.*ground, stray"),
    "cycle beside the tree": (
        two_joint_arm(link("a"), link("b"), joint("ab", "a", "b"), joint("ba", "b", "a")),
        "cycle: (a -> b -> a|b -> a -> b)",
    ),
    "cycle without a root": (
        robot(link("a"), link("b"), joint("ab", "a", "b"), joint("ba", "b", "a")),
        "cycle: (a -> b -> a|b -> a -> b)",
    ),
    "own parent": (two_joint_arm(link("self"), joint("loop", "self", "self")), "cycle: self -> self"),
    "no child": (robot(link("a"), '<joint name="j" type="fixed"><parent link="a"/></joint>'), "'j'.*child"),
    "no type": (robot(link("a"), '<joint name="j"><parent link="a"/><child link="a"/></joint>'), "'j'.*type"),
    "zero axis": (with_wrist(axis="0 0 0"), "'wrist'.*axis"),
    "zero axis, prismatic": (with_wrist(axis="0 0 0", kind="prismatic"), "'wrist'.*axis"),
    "two numbers in an axis": (with_wrist(axis="0 1"), "'wrist'"),
    "NaN in an axis": (with_wrist(axis="0 nan 1"), "'wrist'.*axis.*nan"),
    "infinite origin": (with_wrist(xyz="0 inf 0"), "'wrist'.*origin xyz.*inf"),
    "absurd origin": (with_wrist(xyz="0 1e300 0"), "'wrist'.*origin xyz.*1e\\+300"),
    "NaN in rpy": (with_wrist(rpy="nan 0 0"), "'wrist'.*origin rpy.*nan"),
    "words for numbers": (with_wrist(xyz="a b c"), "'wrist'.*xyz"),
    "four numbers": (with_wrist(xyz="0 0 0 0"), "'wrist'"),
    "two origins": (with_wrist(extra='<origin xyz="1 1 1"/>'), "'wrist' has two different <origin>"),
    "limit without effort": (
        with_wrist(limit='<limit lower="0" upper="1" velocity="1"/>'),
        "'wrist'.*effort",
    ),
    "NaN friction": (with_wrist(extra='<dynamics friction="nan"/>'), "'wrist'.*friction"),
    "mimic of itself": (with_wrist(extra='<mimic joint="wrist"/>'), "'wrist' mimics itself"),
    "mimic of a fixed joint": (
        with_wrist(extra='<mimic joint="weld"/>').replace(
            "</robot>", link("plate") + joint("weld", "hand", "plate", kind="fixed") + "</robot>"
        ),
        "'wrist' mimics 'weld', which is fixed",
    ),
    "NaN multiplier": (with_wrist(extra='<mimic joint="elbow" multiplier="nan"/>'), "'wrist'.*multiplier"),
    "NaN mass": (with_hand(inertial("nan")), "'hand'.*mass.*nan"),
    "infinite mass": (with_hand(inertial("inf")), "'hand'.*mass.*inf"),
    "missing moment": (
        with_hand(INERTIAL.replace('ixx="0.02" ', "")),
        "'hand'.*ixx",
    ),
    "NaN moment": (with_hand(inertial(ixx="nan")), "'hand'.*inertia.*nan"),
    "negative moment": (with_hand(inertial(izz="-1")), "'hand'.*not positive definite"),
    "indefinite inertia": (with_hand(inertial(ixy="5")), "'hand'.*not positive definite"),
}


@pytest.mark.parametrize(("source", "message"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_description_is_refused_by_name(source, message):
    with pytest.raises(ModelError, match=f"(?s){message}") as caught:
        load_urdf(source)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("source", [None, 3, ["<robot/>"]], ids=["None", "int", "list"])
def test_what_is_no_description_is_refused(source):
    with pytest.raises(WrongTypeError, match="path, or XML"):
        load_urdf(source)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(ModelError, match=r"no such URDF file.*missing\.urdf"):
        load_urdf(tmp_path / "missing.urdf")
    with pytest.raises(ModelError, match="not a regular file"):
        load_urdf(str(tmp_path))
    for strange in ("nul\0byte", "x" * 5000):
        with pytest.raises(ModelError, match=r"no such URDF file|cannot read"):
            load_urdf(strange)
    macro = tmp_path / "arm.urdf.xacro"
    macro.write_text(ARM)
    with pytest.raises(ModelError, match="expand it first"):
        load_urdf(macro)
    large = tmp_path / "large.urdf"
    large.write_bytes(b"<robot>" + b" " * (MAX_BYTES + 10))
    with pytest.raises(ModelError, match=r"large\.urdf: larger than"):
        load_urdf(large)


def test_damaged_descriptions_load_or_are_refused_and_nothing_else():
    generator = random.Random(560)
    whole = with_wrist(extra='<dynamics damping="0.1"/><mimic joint="elbow" multiplier="2"/>').encode()
    refused = 0
    for _ in range(600):
        damaged = bytearray(whole)
        for _ in range(generator.randint(1, 4)):
            place = generator.randrange(len(damaged))
            kind = generator.random()
            if kind < 0.4:
                damaged[place] = generator.randrange(256)
            elif kind < 0.7:
                del damaged[place : place + generator.randint(1, 30)]
            else:
                damaged[place:place] = damaged[generator.randrange(len(damaged)) :][:20]
        try:
            chain = load_urdf(bytes(damaged))
        except ModelError:
            refused += 1
        else:
            assert np.isfinite(chain.forward_kinematics(np.full(chain.dof, 0.3))).all()
    assert 300 < refused < 600


def test_a_message_names_the_file(tmp_path):
    faulty = tmp_path / "faulty.urdf"
    faulty.write_text(with_wrist(axis="0 0 0"))
    with pytest.raises(ModelError, match=r"faulty\.urdf: joint 'wrist'"):
        load_urdf(faulty)


def test_every_way_to_pass_a_description_gives_the_same_chain(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    q = np.array([0.3, -0.4])
    poses = [
        load_urdf(source).forward_kinematics(q)
        for source in (path, str(path), ARM, ARM.encode(), "\ufeff" + ARM, ARM.encode("utf-16"))
    ]
    for pose in poses[1:]:
        assert np.array_equal(pose, poses[0])


def test_a_decoded_text_may_declare_another_encoding():
    text = ARM.replace('version="1.0"', 'version="1.0" encoding="utf-16"', 1).replace("sample", "Grüße")
    assert load_urdf(text).name == "Grüße"


def test_what_is_not_kinematics_cannot_disturb(capfd):
    noise = (
        '<transmission name="t"><joint name="shoulder"/></transmission>'
        "<gazebo reference='upper'><sensor type='camera' name='${not_our_business}'/></gazebo>"
        "<ros2_control name='x' type='system'><joint name='elbow'/></ros2_control>"
        "<sensor name='s'><parent link='fore'/></sensor><loop_joint/>"
        "<material name='unfinished'/>"
    )
    shapes = "<visual><geometry><teapot/></geometry></visual><collision/><self_filter/>"
    description = two_joint_arm(noise).replace('<link name="upper">', f'<link name="upper">{shapes}')
    chain = load_urdf(description)
    assert chain.joint_names == ("shoulder", "elbow")
    assert capfd.readouterr() == ("", "")


def test_tree_keeps_what_the_description_says():
    extra = '<dynamics damping="0.7" friction="0.2"/><mimic joint="elbow" multiplier="-2" offset="0.1"/>'
    tree = parse_urdf(
        two_joint_arm(
            link("hand", ""),
            joint("wrist", "fore", "hand", "prismatic", axis="0 3 4", limit=LIMIT, extra=extra),
            link("frame", ""),
            joint("mount", "hand", "frame", "fixed", axis="0 0 0", xyz="1 2 3", rpy="0 0 1.5707963267948966"),
            link("disc", ""),
            joint("spin", "hand", "disc", "continuous", axis=None),
        )
    )
    wrist, mount, spin = (tree.joints[name] for name in ("wrist", "mount", "spin"))
    assert wrist.kind is JointType.PRISMATIC
    assert np.allclose(wrist.axis, [0, 0.6, 0.8])
    assert (wrist.damping, wrist.friction) == (0.7, 0.2)
    assert (wrist.mimic.joint, wrist.mimic.multiplier, wrist.mimic.offset) == ("elbow", -2.0, 0.1)
    assert (wrist.limits.lower, wrist.limits.upper) == (-2.0, 2.0)
    assert (wrist.limits.velocity, wrist.limits.effort) == (3.0, 10.0)
    assert np.allclose(mount.origin, [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
    assert np.array_equal(spin.axis, [1, 0, 0])
    assert (spin.limits.lower, spin.limits.upper) == (-math.inf, math.inf)
    assert tree.root == "ground"
    assert tree.leaves == ("frame", "disc")
    assert tree.links["hand"].body is None
    assert tree.links["fore"].body.mass == 2.0
    assert [j.name for j in tree.path("ground", "frame")] == ["shoulder", "elbow", "wrist", "mount"]


def test_mimic_without_numbers_follows_one_to_one():
    tree = parse_urdf(with_wrist(extra='<mimic joint="elbow"/>'))
    assert (tree.joints["wrist"].mimic.multiplier, tree.joints["wrist"].mimic.offset) == (1.0, 0.0)


def test_long_chains_and_long_mimic_chains_load():
    count = 300
    links = [link(f"l{k}") for k in range(count + 1)]
    follow = [f'<mimic joint="j{k - 1}"/>' if k else "" for k in range(count)]
    joints = [joint(f"j{k}", f"l{k}", f"l{k + 1}", extra=follow[k]) for k in range(count)]
    chain = load_urdf(robot(*links, *joints))
    assert chain.dof == 1
    assert len(chain.joints) == count
