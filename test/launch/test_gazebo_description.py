"""The arms as Gazebo and ros2_control get them, and the controllers that go with them."""

import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

import robot_dynamics as rd
from robot_dynamics.errors import ParameterError
from robot_dynamics.resources import resource, share_directory
from robot_dynamics.ros.launching import descriptions

ROBOTS = ("puma560", "arm7", "scara")
EXTERNAL_BASE = """<robot name="swing">
  <link name="stand"/>
  <joint name="pivot" type="continuous">
    <parent link="stand"/><child link="bar"/><axis xyz="0 1 0"/>
  </joint>
  <link name="bar">
    <inertial>
      <origin xyz="0 0 -0.5"/><mass value="2"/>
      <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.01"/>
    </inertial>
  </link>
</robot>
"""


@pytest.fixture(autouse=True)
def needs_xacro():
    pytest.importorskip("xacro", reason="xacro, which expands the descriptions, is not installed")


def arguments(**values):
    empty = dict.fromkeys(("robot", "description_file", "controllers", "initial_positions", "namespace"), "")
    return {**empty, **values}


def controllers_of(robot):
    return yaml.safe_load(resource(f"config/{robot}_controllers.yaml").read_text(encoding="utf-8"))


def control_joints(text):
    """Name, command interface (or None) and initial position of every joint in the ros2_control block."""
    for joint in ElementTree.fromstring(text).findall("ros2_control/joint"):
        command = joint.find("command_interface")
        position = joint.find("state_interface[@name='position']/param[@name='initial_value']")
        yield joint.get("name"), None if command is None else command.get("name"), float(position.text)


@pytest.mark.parametrize("robot", ROBOTS)
def test_gazebo_moves_the_same_arm(robot):
    """Every number of the chain is the plain URDF's, so the dynamics are too."""
    plain = rd.load_urdf(resource(f"urdf/{robot}.urdf"))
    expanded = rd.load_urdf(descriptions.gazebo_description(arguments(robot=robot)))
    assert expanded.joint_names == plain.joint_names
    for ours, theirs in zip(expanded.joints, plain.joints, strict=True):
        assert ours.kind == theirs.kind
        np.testing.assert_array_equal(ours.origin, theirs.origin)
        np.testing.assert_array_equal(ours.axis, theirs.axis)
        assert ours.body.mass == theirs.body.mass
        np.testing.assert_array_equal(ours.body.center_of_mass, theirs.body.center_of_mass)
        np.testing.assert_array_equal(ours.body.inertia, theirs.body.inertia)
    random = np.random.default_rng(1)
    state = random.uniform(-1.0, 1.0, (3, 20, plain.dof))
    np.testing.assert_array_equal(
        rd.compile_dynamics(expanded).inverse_dynamics(*state),
        rd.compile_dynamics(plain).inverse_dynamics(*state),
    )


@pytest.mark.parametrize("robot", ROBOTS)
def test_every_joint_of_the_chain_takes_efforts_in_its_order(robot):
    chain = rd.load_urdf(resource(f"urdf/{robot}.urdf"))
    joints = list(control_joints(descriptions.gazebo_description(arguments(robot=robot))))
    assert tuple(name for name, command, _ in joints if command == "effort") == chain.joint_names


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_arm_begins_where_the_simulator_lets_it_begin(robot):
    wanted = descriptions.initial_positions(robot)
    chain = rd.load_urdf(resource(f"urdf/{robot}.urdf"))
    assert wanted and set(wanted) <= set(chain.joint_names)
    for name, _, position in control_joints(descriptions.gazebo_description(arguments(robot=robot))):
        assert position == wanted.get(name, 0.0)


def test_the_gripper_is_held_and_its_mimic_joint_follows():
    text = descriptions.gazebo_description(arguments(robot="arm7"))
    commands = {name: command for name, command, _ in control_joints(text)}
    assert commands["finger_left"] == "velocity"
    assert commands["finger_right"] is None


def test_the_plugin_gets_controllers_and_namespace():
    names = {"namespace": "left", "remappings": "joint_states:=states robot_description:=/text"}
    text = descriptions.gazebo_description(arguments(robot="scara", **names))
    plugin = ElementTree.fromstring(text).find("gazebo/plugin")
    assert plugin.get("filename") == "gz_ros2_control-system"
    controllers, time = (Path(element.text) for element in plugin.findall("parameters"))
    assert controllers.samefile(resource("config/scara_controllers.yaml"))
    assert simulated_time(time)
    assert plugin.findtext("ros/namespace") == "/left"
    assert plugin.findtext("ros/remapping") == "controller_manager:robot_description:=/text"


def simulated_time(path):
    """Some releases of gz_ros2_control end in an exception unless the manager is told before it starts."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document["/**/controller_manager"]["ros__parameters"]["use_sim_time"]


def test_a_root_that_is_not_the_world_is_fixed_to_it(tmp_path):
    robot, controllers = tmp_path / "swing.urdf", tmp_path / "swing.yaml"
    robot.write_text(EXTERNAL_BASE, encoding="utf-8")
    controllers.write_text(
        yaml.safe_dump({"/**/effort_controller": {"ros__parameters": {"joints": ["pivot"]}}}),
        encoding="utf-8",
    )
    given = arguments(description_file=str(robot), controllers=str(controllers))
    chain = rd.load_urdf(descriptions.gazebo_description(given))
    assert (chain.root, chain.joint_names) == ("world", ("pivot",))


def test_gazebo_gets_one_block_and_one_controller_manager_beside_those_of_the_description(tmp_path):
    own = """
      <ros2_control name="own" type="system">
        <hardware><plugin>gz_ros2_control/GazeboSimSystem</plugin></hardware>
        <joint name="joint1"><command_interface name="position"/></joint>
      </ros2_control>
      <gazebo>
        <plugin filename="libgazebo_ros2_control.so" name="old"/>
        <plugin filename="libpower.so" name="power"/>
      </gazebo>
      <gazebo><plugin filename="gz_ros2_control-system" name="own"/></gazebo>
    </robot>"""
    file, controllers = tmp_path / "arm.urdf", str(resource("config/puma560_controllers.yaml"))
    arm = resource("urdf/puma560.urdf").read_text(encoding="utf-8")
    file.write_text(arm.replace("</robot>", own), encoding="utf-8")
    text = descriptions.gazebo_description(arguments(description_file=str(file), controllers=controllers))
    assert [name for name, command, _ in control_joints(text) if command == "effort"] == [
        f"joint{k}" for k in range(1, 7)
    ]
    robot = ElementTree.fromstring(text)
    assert len(robot.findall("ros2_control")) == 1
    assert [plugin.get("filename") for plugin in robot.findall("gazebo/plugin")] == [
        "libpower.so", "gz_ros2_control-system",
    ]  # fmt: skip
    assert robot.findtext("gazebo/plugin/parameters") == controllers


def test_the_simulator_takes_the_place_of_every_hardware_of_the_description(tmp_path):
    arm = resource("urdf/puma560.urdf").read_text(encoding="utf-8")
    arm = arm.replace('lower="-3.9269908169872414"', 'lower="0.25"').replace('effort="97.6"', 'effort="0"')
    real = "<ros2_control><hardware><plugin>maker/Driver</plugin></hardware></ros2_control>"
    file = tmp_path / "arm.urdf"
    file.write_text(arm.replace("</robot>", f"{real}</robot>"), encoding="utf-8")
    own = {"description_file": str(file), "controllers": str(resource("config/puma560_controllers.yaml"))}
    text = descriptions.topic_description(arguments(**own))
    assert "maker/Driver" not in text
    (system,) = ElementTree.fromstring(text).findall("ros2_control")
    assert system.findtext("hardware/plugin") == "joint_state_topic_hardware_interface/JointStateTopicSystem"
    begins = {"joint1": np.pi / 2, "joint2": 0.25, "joint3": np.pi / 2}
    names = [f"joint{k}" for k in range(1, 7)]
    assert list(control_joints(text)) == [(name, "effort", begins.get(name, 0.0)) for name in names]
    limits = rd.load_urdf(text).joints[0].limits
    assert limits.effort == float(descriptions.NO_LIMIT)


def test_gazebo_gets_no_effort_or_velocity_limit_of_zero(tmp_path):
    """A limit that is not given must not be enforced; a range from 0 to 0 blocks the joint, here too."""
    zeros = '<axis xyz="0 1 0"/><limit lower="0" upper="0" effort="0" velocity="0.0"/>'
    robot, controllers = tmp_path / "swing.urdf", tmp_path / "swing.yaml"
    robot.write_text(EXTERNAL_BASE.replace('<axis xyz="0 1 0"/>', zeros), encoding="utf-8")
    controllers.write_text(
        yaml.safe_dump({"/**/effort_controller": {"ros__parameters": {"joints": ["pivot"]}}}),
        encoding="utf-8",
    )
    given = arguments(description_file=str(robot), controllers=str(controllers))
    text = descriptions.gazebo_description(given)
    limit = ElementTree.fromstring(text).find("joint[@name='pivot']/limit")
    assert {name: float(word) for name, word in limit.attrib.items()} == {
        "lower": 0.0, "upper": 0.0, "effort": 1e6, "velocity": 1e6,
    }  # fmt: skip
    assert [name for name, command, _ in control_joints(text) if command == "effort"] == ["pivot"]


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_arms_of_the_package_reach_gazebo_with_their_own_limits(robot):
    text = descriptions.gazebo_description(arguments(robot=robot))
    assert descriptions.without_zero_limits(text) is text


def test_a_joint_that_the_robot_does_not_have_is_refused(tmp_path):
    robot = tmp_path / "swing.urdf"
    robot.write_text(EXTERNAL_BASE, encoding="utf-8")
    controllers = str(resource("config/scara_controllers.yaml"))
    with pytest.raises(ParameterError, match=r"joint1.*moving joints are pivot"):
        descriptions.gazebo_description(arguments(description_file=str(robot), controllers=controllers))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"description_file": "/nowhere.urdf"}, "description_file.*nowhere.urdf does not exist"),
        ({"robot": "scara", "controllers": "/nowhere.yaml"}, "controllers.*nowhere.yaml does not exist"),
        ({"robot": "scara", "controllers": "package.xml"}, "must hold"),
        ({"description_file": "package.xml"}, "'controllers' is needed"),
    ],
)
def test_faulty_arguments_are_named(values, message, monkeypatch):
    monkeypatch.chdir(share_directory())
    with pytest.raises(ParameterError, match=message):
        descriptions.gazebo_description(arguments(**values))


def test_a_faulty_xacro_is_named(tmp_path):
    file = tmp_path / "arm.xacro"
    file.write_text('<robot name="${nothing}"/>', encoding="utf-8")
    with pytest.raises(ParameterError, match=r"arm\.xacro.*nothing"):
        descriptions.plain_description(arguments(description_file=str(file)))


@pytest.mark.parametrize("robot", ROBOTS)
def test_controllers_command_the_chain_in_its_order(robot):
    names = list(rd.load_urdf(resource(f"urdf/{robot}.urdf")).joint_names)
    controllers = controllers_of(robot)
    manager = controllers["/**/controller_manager"]["ros__parameters"]
    assert manager["update_rate"] == 1000
    # The broadcaster's rate is its own parameter: in the block of the manager it would have no effect.
    broadcaster = controllers["/**/joint_state_broadcaster"]["ros__parameters"]
    assert (broadcaster["update_rate"], "update_rate" in manager["joint_state_broadcaster"]) == (500, False)
    effort = controllers["/**/effort_controller"]["ros__parameters"]
    assert (effort["joints"], effort["interface_name"]) == (names, "effort")
    trajectory = controllers["/**/joint_trajectory_controller"]["ros__parameters"]
    assert (trajectory["joints"], list(trajectory["gains"])) == (names, names)
    for name in ("joint_state_broadcaster", "effort_controller", "joint_trajectory_controller"):
        assert "type" in manager[name]


@pytest.mark.parametrize("robot", ROBOTS)
def test_stock_trajectory_gains_are_stable_at_the_update_rate(robot):
    """Explicit damping d of inertia M is stable while d·dt/M < 2; M is the least that the joint meets."""
    chain = rd.load_urdf(resource(f"urdf/{robot}.urdf"))
    dynamics = rd.compile_dynamics(chain)
    random = np.random.default_rng(2)
    configurations = random.uniform(-np.pi, np.pi, (200, chain.dof))
    inverse = np.linalg.inv(dynamics.mass_matrix(configurations))
    alone = 1.0 / np.diagonal(inverse, axis1=-2, axis2=-1)
    controllers = controllers_of(robot)
    gains = controllers["/**/joint_trajectory_controller"]["ros__parameters"]["gains"]
    for joint, name in enumerate(chain.joint_names):
        assert gains[name]["d"] * 1e-3 / alone[:, joint].min() < 1.0, name


@pytest.mark.parametrize(
    "text",
    [
        "scara: {joint1: true}",
        "scara: {joint1: 1_0}",
        "scara: {joint1: .inf}",
        "scara: {joint1: 1e400}",
        "scara: {joint1: 2001-99-99}",
        "scara: [1, 2]",
        "scara: {joint1: 1, joint1: 2}",
        "a: &a [*a]",
        "\0",
    ],
)
def test_initial_positions_are_numbers(text, tmp_path):
    file = tmp_path / "positions.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match="'initial_positions'") as caught:
        descriptions.initial_positions("scara", str(file))
    assert len(str(caught.value)) <= 500


def test_a_fifo_is_no_parameter_file(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ParameterError, match="not a regular file"):
        descriptions.initial_positions("scara", str(tmp_path / "fifo"))
    with pytest.raises(ParameterError, match="not a regular file"):
        descriptions.effort_joints(tmp_path / "fifo")
