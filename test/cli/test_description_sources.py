"""A robot by its semantic description's groups, and from the topic of a running robot."""

from __future__ import annotations

import pytest

from robot_dynamics.cli.main import main
from robot_dynamics.errors import ModelError
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.srdf import read_srdf
from robot_dynamics.model.urdf import parse_urdf
from robot_dynamics.resources import resource

PUMA = resource("urdf/puma560.urdf")
TREE = parse_urdf(PUMA)
CHAIN = load_urdf(PUMA)
JOINTS = CHAIN.joint_names


def srdf(folder, content):
    path = folder / "puma.srdf"
    path.write_text(f'<?xml version="1.0"?><robot name="puma560">{content}</robot>')
    return path


def group(name, *joints):
    return f'<group name="{name}">' + "".join(f'<joint name="{joint}"/>' for joint in joints) + "</group>"


def state(name, values):
    entries = "".join(f'<joint name="{joint}" value="{value}"/>' for joint, value in values.items())
    return f'<group_state name="{name}" group="arm">{entries}</group_state>'


def test_a_group_of_joints_ends_at_the_last_ones_link(tmp_path):
    semantics = read_srdf(srdf(tmp_path, group("arm", *JOINTS[:3])))
    assert semantics.ends("arm", TREE) == (None, [CHAIN.joints[2].link])


def test_a_group_of_a_chain_has_a_root_too_and_groups_nest(tmp_path):
    chain = f'<group name="arm"><chain base_link="{CHAIN.root}" tip_link="{CHAIN.tip}"/></group>'
    semantics = read_srdf(srdf(tmp_path, chain + '<group name="all"><group name="arm"/></group>'))
    assert semantics.ends("all", TREE) == (CHAIN.root, [CHAIN.tip])


def test_poses_and_pairs_that_may_touch(tmp_path):
    pair = '<disable_collisions link1="a" link2="b" reason="Never"/>'
    values = {joint: 0.1 * k for k, joint in enumerate(JOINTS)}
    semantics = read_srdf(srdf(tmp_path, state("ready", values) + pair))
    assert semantics.pose("ready", JOINTS) == list(values.values())
    assert semantics.touching == {frozenset("ab")}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (group("arm", "elbow9"), "no joint 'elbow9'"),
        ('<group name="arm"><group name="arm"/></group>', "contains itself"),
        ('<group name="arm"><group name="hand"/></group>', "'hand', which is no group"),
        ('<group name="arm"/>', "has no members"),
        ("<group/>", "<group> has no attribute 'name'"),
        ('<group name="other"/>', "no group 'arm'; there are other"),
        ('<group name="arm"><link name="x"/></group>', "no link 'x'"),
        (state("ready", {JOINTS[0]: "nan"}), "not a finite number"),
        ("<group", "not well-formed XML"),
    ],
)
def test_what_is_wrong_is_named(content, said, tmp_path):
    with pytest.raises(ModelError, match=said):
        read_srdf(srdf(tmp_path, content)).ends("arm", TREE)


def test_a_pose_of_other_joints_is_refused_with_what_it_lacks(tmp_path):
    semantics = read_srdf(srdf(tmp_path, state("ready", {JOINTS[0]: 0.0})))
    with pytest.raises(ModelError, match=f"no value for {JOINTS[1]}"):
        semantics.pose("ready", JOINTS)
    with pytest.raises(ModelError, match="no pose 'home'; there are ready"):
        semantics.pose("home", JOINTS)


def test_a_file_with_entities_is_refused(tmp_path):
    path = tmp_path / "bomb.srdf"
    path.write_text('<!DOCTYPE x [<!ENTITY a "b">]><robot name="r">&a;</robot>')
    with pytest.raises(ModelError, match="not allowed in an SRDF"):
        read_srdf(path)


def test_commands_take_the_group(tmp_path, capsys):
    path = srdf(tmp_path, group("arm", *JOINTS[:2]))
    assert main(["dh", str(PUMA), "--srdf", str(path), "--group", "arm", "--format", "csv"]) == 0
    assert capsys.readouterr().out.count("revolute") == 2
    assert main(["dh", str(PUMA), "--group", "arm"]) == 1
    assert "needs --srdf FILE" in capsys.readouterr().err
    assert main(["dh", str(PUMA), "--srdf", str(path), "--group", "arm", "--tip", "x"]) == 1
    assert "leave --root, --tip and --tips out" in capsys.readouterr().err


@pytest.mark.ros
def test_a_running_robots_topic_is_a_description(capsys):
    rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed")
    from std_msgs.msg import String

    from robot_dynamics.ros.models.graph_description import description_from
    from robot_dynamics.ros.support import qos

    context = rclpy.Context()
    rclpy.init(context=context, args=[])
    node = rclpy.create_node("publisher_of_a_description", context=context, use_global_arguments=False)
    topic = f"/robot_description_{id(node)}"
    try:
        publisher = node.create_publisher(String, topic, qos.DESCRIPTION)
        publisher.publish(String(data=PUMA.read_text()))
        assert description_from(topic) == PUMA.read_text()
        assert main(["dh", topic, "--format", "csv"]) == 0
        assert capsys.readouterr().out.count("revolute") == 6
    finally:
        node.destroy_node()
        context.try_shutdown()
    with pytest.raises(ModelError, match="is no file, and nobody published"):
        description_from("/nobody_publishes_here", 0.2)
