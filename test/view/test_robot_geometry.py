"""Geometry for display against Pinocchio, and what it makes of faulty looks."""

from __future__ import annotations

import math
import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from robot_dynamics.errors import ModelError, ParameterError, TrajectoryError
from robot_dynamics.resources import resource
from robot_dynamics.view.efforts import (
    FULL_SWEEP,
    EffortScale,
    arc_arrow,
    arc_points,
    axis_frame,
    ring,
    share_color,
    straight_arrow,
)
from robot_dynamics.view.moves import MoveGoal, check_goal
from robot_dynamics.view.parameters import WebViewParameters
from robot_dynamics.view.robot_geometry import read_robot
from robot_dynamics.view.visuals import Box, Cylinder, MeshFile, Sphere, read_visuals

GRAVITY = np.array([0.3, -0.4, -9.7])
GRIPPER = """
<robot name="gripper">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0.1 0.02 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="left"><inertial><origin xyz="0 0.01 0.05"/><mass value="0.4"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <link name="right"><inertial><origin xyz="0 -0.01 0.05"/><mass value="0.3"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 0.3" rpy="0.2 -0.1 0.4"/><limit lower="-3" upper="3" effort="40" velocity="1.5"/></joint>
  <joint name="finger" type="prismatic"><parent link="arm"/><child link="left"/><axis xyz="0 0.6 0.8"/>
    <origin xyz="0.3 0 0"/><limit lower="0.01" upper="0.1" effort="5" velocity="1"/></joint>
  <joint name="other_finger" type="prismatic"><parent link="arm"/><child link="right"/><axis xyz="0 -1 0"/>
    <origin xyz="0.3 0 0"/><limit lower="-1" upper="1" effort="5" velocity="1"/>
    <mimic joint="finger" multiplier="-2" offset="0.03"/></joint>
</robot>
"""


def puma():
    return read_robot(resource("urdf/puma560.urdf"))


@pytest.mark.parametrize("name", ["puma560", "arm7", "scara"])
def test_link_poses_and_static_loads_agree_with_pinocchio(name):
    geometry = read_robot(resource(f"urdf/{name}.urdf"))
    model = pin.buildModelFromUrdf(str(resource(f"urdf/{name}.urdf")))
    model.gravity.linear = GRAVITY
    data = model.createData()
    generator = np.random.default_rng(7)
    names = [name for name in model.names if name in geometry.tree.joints]
    for _ in range(5):
        q = generator.uniform(-1.0, 1.0, model.nq)
        mimics = {n: m for n in names if (m := geometry.tree.joints[n].mimic) is not None}
        for follower, mimic in mimics.items():  # Pinocchio takes them for independent
            q[names.index(follower)] = mimic.multiplier * q[names.index(mimic.joint)] + mimic.offset
        positions = {n: value for n, value in zip(names, q, strict=True) if n not in mimics}
        poses = geometry.link_poses(positions)
        pin.framesForwardKinematics(model, data, q)
        for link, place in poses.items():
            expected = data.oMf[model.getFrameId(link, pin.FrameType.BODY)].homogeneous
            np.testing.assert_allclose(place, expected, atol=1e-12)
        efforts = geometry.gravity_efforts(poses, GRAVITY)
        expected = dict(zip(names, pin.computeGeneralizedGravity(model, data, q), strict=True))
        for follower, mimic in mimics.items():
            expected[mimic.joint] += mimic.multiplier * expected.pop(follower)
        assert efforts == pytest.approx(expected, abs=1e-10)


def test_mimic_joints_follow_and_load_their_master():
    """The derivative of the potential energy is the static effort of each independent joint."""
    geometry = read_robot(GRIPPER)

    def potential(shoulder, finger):
        poses = geometry.link_poses({"shoulder": shoulder, "finger": finger})
        return -sum(
            w.mass * GRAVITY @ (poses[w.link][:3, :3] @ w.center_of_mass + poses[w.link][:3, 3])
            for w in geometry.weights
        )

    poses = geometry.link_poses({"shoulder": 0.7, "finger": 0.05})
    side = np.linalg.inv(poses["arm"]) @ poses["right"]
    np.testing.assert_allclose(side[:3, 3], [0.3, 2 * 0.05 - 0.03, 0.0], atol=1e-12)
    efforts = geometry.gravity_efforts(poses, GRAVITY)
    assert set(efforts) == {"shoulder", "finger"}
    h = 1e-6
    assert efforts["shoulder"] == pytest.approx(
        (potential(0.7 + h, 0.05) - potential(0.7 - h, 0.05)) / (2 * h)
    )
    assert efforts["finger"] == pytest.approx((potential(0.7, 0.05 + h) - potential(0.7, 0.05 - h)) / (2 * h))


def test_a_joint_that_is_not_listed_is_at_zero_or_the_limit_next_to_it():
    geometry = read_robot(GRIPPER)
    finger = geometry.tree.joints["finger"]
    assert geometry.joint_value(finger, {}) == 0.01
    assert geometry.joint_value(geometry.tree.joints["shoulder"], {}) == 0.0


def visual(inside, materials=""):
    text = f'<robot name="r">{materials}<link name="a"><visual>{inside}</visual></link></robot>'
    found = read_visuals(text)
    return (*found.shapes, *found.skipped)[0]


def test_primitives_are_read_with_pose_and_color(tmp_path):
    mesh = tmp_path / "part.stl"
    mesh.touch()
    red = '<material name="red"><color rgba="1 0 0 0.5"/></material>'
    box = visual('<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><geometry><box size="1 2 3"/></geometry>')
    assert box.shape == Box((1.0, 2.0, 3.0))
    np.testing.assert_allclose(box.origin @ [1, 0, 0, 1], [1, 3, 3, 1], atol=1e-12)
    named = visual('<geometry><sphere radius="2"/></geometry><material name="red"/>', red)
    assert named.shape == Sphere(2.0) and named.color == (1.0, 0.0, 0.0, 0.5)
    assert visual('<geometry><cylinder radius="1" length="2"/></geometry>').shape == Cylinder(1.0, 2.0)
    assert visual(f'<geometry><mesh filename="file://{mesh}" scale="1 1 2"/></geometry>').shape == MeshFile(
        mesh, (1.0, 1.0, 2.0)
    )


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        ("", "no <geometry>"),
        ("<geometry/>", "no <geometry>"),
        ('<geometry><cone radius="1"/></geometry>', "unknown geometry <cone>"),
        ('<geometry><sphere radius="-1"/></geometry>', "must be positive"),
        ('<geometry><sphere radius="nan"/></geometry>', "1 numbers"),
        ('<geometry><box size="1 2"/></geometry>', "size of <box>"),
        ('<geometry><mesh filename="package://nowhere/x.stl"/></geometry>', "not on this machine"),
        ('<origin xyz="0 0"/><geometry><sphere radius="1"/></geometry>', "xyz"),
    ],
)
def test_a_faulty_visual_is_left_out_with_its_reason(inside, reason):
    found = visual(inside)
    assert isinstance(found, str) and reason in found and "link 'a'" in found


def test_a_frame_with_a_nominal_mass_is_not_shown():
    """Of a robot without shapes all links with a mass that counts are."""
    frame = """<link name="camera"><inertial><mass value="0.001"/>
      <inertia ixx="1e-8" ixy="0" ixz="0" iyy="1e-8" iyz="0" izz="1e-8"/></inertial></link>
      <joint name="fixed" type="fixed"><parent link="base"/><child link="camera"/></joint></robot>"""
    shown = {shape.link for shape in read_robot(GRIPPER.replace("</robot>", frame)).shapes}
    assert {"arm", "left", "right"} <= shown and "camera" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "<robot name='r'><link name='a'>",
        "<!DOCTYPE r [<!ENTITY a 'b'>]><robot name='r'><link name='a'/></robot>",
        "<robot name='r'><link name='a'/><link name='b'/></robot>",
    ],
)
def test_a_description_that_the_model_refuses_is_refused(text):
    with pytest.raises(ModelError):
        read_robot(text)


@pytest.mark.long
def test_descriptions_of_real_robots_can_be_shown():
    robots = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
    if not robots.is_dir():
        pytest.skip("example-robot-data is not installed")
    shown = 0
    for path in sorted(robots.rglob("*.urdf"))[::8]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                geometry = read_robot(path)
            except ModelError:
                continue
        poses = geometry.link_poses({})
        low, high = geometry.bounds(poses)
        assert np.isfinite([low, high]).all() and (high >= low).all() and geometry.size > 0.0
        shown += 1
    assert shown > 3


# Efforts as shapes


def test_arcs_sweep_in_proportion_to_the_share_and_turn_with_its_sign():
    for share in (-1.0, -0.25, 0.5, 1.0):
        points = arc_points(share, 0.2, 200)
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 0.2)
        angles = np.unwrap(np.arctan2(points[:, 1], points[:, 0]))
        assert angles[-1] == pytest.approx(share * FULL_SWEEP)


@pytest.mark.parametrize(
    "mesh",
    [
        arc_arrow(0.4, 0.2, 0.02),
        arc_arrow(-0.4, 0.2, 0.02),
        ring(0.2, 0.02),
        straight_arrow(0.5, 0.4, 0.02),
        straight_arrow(-0.5, 0.4, 0.02),
    ],
)
def test_surfaces_face_outwards(mesh):
    """The volume enclosed by outward faces is positive."""
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0 > 0.0


@pytest.mark.parametrize("axis", [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0.6, 0.0, 0.8], [0.0, -1.0, 0.0]])
def test_the_axis_frame_is_a_rotation_with_its_z_along_the_axis(axis):
    frame = axis_frame(np.array(axis, float))
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1.0)
    np.testing.assert_allclose(frame[:, 2], axis, atol=1e-12)


def test_colors_and_arcs_tell_the_share_of_the_limit():
    assert EffortScale(40.0)(-10.0) == (-0.25, share_color(0.25))
    assert EffortScale(40.0)(400.0) == (1.0, share_color(1.0))
    red, green, _ = share_color(1.0)
    assert red > 2 * green
    red, green, _ = share_color(0.0)
    assert green > 2 * red
    without = EffortScale(math.inf)
    assert without(0.0)[0] == 0.0
    assert without(8.0)[0] == 0.5 and without(-4.0)[0] == -0.25


# Moves


def test_a_move_that_is_too_fast_is_refused_with_the_least_duration():
    """The peak speed of a quintic is 15/8 of the mean."""
    geometry = puma()
    start = dict.fromkeys((f"joint{i}" for i in range(1, 7)), 0.0)
    goal = dict(start, joint2=-0.94)  # its limit is 0.94 rad/s
    check_goal(geometry, start, MoveGoal(goal, 15.0 / 8.0 + 1e-9))
    with pytest.raises(TrajectoryError, match=r"joint2 .* at least 1\.9 s"):
        check_goal(geometry, start, MoveGoal(goal, 1.8))


def test_bad_parameters_are_refused():
    with pytest.raises(ParameterError, match="port"):
        WebViewParameters(port=0)
    with pytest.raises(ParameterError, match="gravity"):
        WebViewParameters(gravity=(0.0, 1.0))


def test_limbs_are_called_by_the_names_of_their_joints():
    def joint(name, parent, child, more=""):
        return (
            f"<joint name='{name}' type='revolute'><parent link='{parent}'/><child link='{child}'/>"
            f"<axis xyz='0 0 1'/><limit lower='-1' upper='1' effort='1' velocity='1'/>{more}</joint>"
        )

    links = "".join(f"<link name='{name}'/>" for name in "abcdefg")
    joints = joint("head_pan", "a", "b") + joint("left_1", "a", "c") + joint("left_2", "c", "d")
    joints += joint("right_s", "a", "e") + joint("right_w", "e", "f")
    joints += joint("finger", "a", "g", "<mimic joint='head_pan'/>")
    shown = read_robot(f"<robot name='r'>{links}{joints}</robot>")
    groups = {one.name: (one.group, one.locked) for one in shown.coordinates}
    assert groups == {
        "head_pan": ("other joints", ""),
        "left_1": ("left", ""),
        "left_2": ("left", ""),
        "right_s": ("right", ""),
        "right_w": ("right", ""),
        "finger": ("other joints", "follows head_pan"),
    }
    assert read_robot(resource("urdf/puma560.urdf")).coordinates[0].group == ""


def test_an_arm_begins_where_nothing_touches():
    """A forearm of the length of the upper arm, folded onto it where both joints are in the middle."""
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    from robot_dynamics.model.load import load_urdf
    from robot_dynamics.view.ready_pose import free_pose

    shape = "<collision><origin xyz='0.3 0 0'/><geometry><box size='0.6 0.1 0.1'/></geometry></collision>"
    text = (
        "<robot name='r'><link name='a'/><link name='b'>"
        + shape
        + "</link><link name='c'/><link name='d'>"
        + shape
        + "</link>"
        "<joint name='shoulder' type='revolute'><parent link='a'/><child link='b'/><axis xyz='0 0 1'/>"
        "<limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
        "<joint name='turn' type='revolute'><parent link='b'/><child link='c'/><axis xyz='1 0 0'/>"
        "<origin xyz='0.6 0 0'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
        "<joint name='elbow' type='revolute'><parent link='c'/><child link='d'/><axis xyz='0 0 1'/>"
        "<origin xyz='0.1 0 0'/><limit lower='-3.1' upper='3.1' effort='1' velocity='1'/></joint></robot>"
    )
    chain = load_urdf(text)
    folded = np.array([0.0, 0.0, 3.1])
    place, note = free_pose(text, chain, folded, None)
    assert "b and d" in note and abs(place[2] - 3.1) > 0.3
    assert free_pose(text, chain, np.zeros(3), None) == (pytest.approx(np.zeros(3)), "")
