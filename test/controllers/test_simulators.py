"""Gazebo and MuJoCo in place of the generated package's hardware.

Oracle of the MuJoCo model: Pinocchio's inertia matrix and inverse dynamics of the same description.
"""

import sys
from unittest import mock
from xml.etree import ElementTree

import numpy as np
import pytest

from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource

PUMA = resource("urdf/puma560.urdf")
MODULES = (
    "ament_index_python", "ament_index_python.packages", "launch", "launch.actions",
    "launch.launch_description_sources", "launch.substitutions", "launch_ros", "launch_ros.actions",
    "launch_ros.parameter_descriptions",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated") / "own_arm"
    assert main(["generate", str(PUMA), "--ros2-control", "-o", str(folder)]) == 0
    return folder


def launch_file(folder):
    """Names of the launch file, without launch."""
    packages = mock.MagicMock()
    packages.get_package_share_directory.return_value = str(folder)
    stubs = dict.fromkeys(MODULES, mock.MagicMock()) | {"ament_index_python.packages": packages}
    names: dict[str, object] = {}
    with mock.patch.dict(sys.modules, stubs):
        exec((folder / "launch/computed_torque.launch.py").read_text(encoding="utf-8"), names)
    return names


@pytest.mark.long
def test_the_mujoco_model_is_that_of_the_description_and_is_held_before_activation(folder):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    pin = pytest.importorskip("pinocchio", reason="pinocchio is the oracle")
    model = mujoco.MjModel.from_xml_path(str(folder / "mujoco/robot.xml"))
    data, own = mujoco.MjData(model), pin.buildModelFromUrdf(str(PUMA))
    joints = [model.joint(k).name for k in range(model.njnt)]
    assert joints == list(own.names)[1:] == [model.actuator(k).name for k in range(model.nu)]
    np.testing.assert_allclose(model.actuator_ctrlrange[:, 1], own.effortLimit)
    random, matrix = np.random.default_rng(5), np.zeros((6, 6))
    for _ in range(10):
        data.qpos, data.qvel = random.uniform(-1.0, 1.0, (2, 6))
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, matrix)
        inertia = pin.crba(own, own.createData(), data.qpos)
        bias = pin.rnea(own, own.createData(), data.qpos, data.qvel, np.zeros(6))
        np.testing.assert_allclose(matrix, np.triu(inertia) + np.triu(inertia, 1).T, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(data.qfrc_bias, bias, rtol=1e-6, atol=1e-6)
    # Friction that only keeps an arm where it is leaves no joint 1 mrad from its goal, with kp of 100.
    mujoco.mj_resetData(model, data)
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, matrix)
    assert (model.dof_frictionloss <= 1.001e-3 * 100.0 * np.diag(matrix)).all()
    # What the launch file lets MuJoCo begin with holds the arm for 30 s.
    mujoco.mj_resetData(model, data)
    weights = launch_file(folder)["WEIGHTS"]
    data.ctrl = [weights[name] for name in joints]
    assert np.abs(data.ctrl).max() > 10.0
    mujoco.mj_step(model, data, nstep=round(30.0 / model.opt.timestep))
    assert np.abs(data.qpos).max() < 1e-4


@pytest.mark.long
def test_the_launch_file_puts_a_simulator_in_place_of_the_hardware(folder):
    names = launch_file(folder)
    given = (folder / "urdf/robot.urdf").read_text(encoding="utf-8")
    changed = ElementTree.fromstring(names["in_simulator"](given, "gazebo", "controllers.yaml", True))
    assert changed.findtext("ros2_control/hardware/plugin") == "gz_ros2_control/GazeboSimSystem"
    assert changed.findtext("gazebo/plugin/parameters") == "controllers.yaml"
    mount = changed.find("joint[@name='world_mount']")
    assert mount is None or mount.find("parent").get("link") == "world"
    # Several systems become one, because each would simulate a world of its own.
    second = '<ros2_control name="b"><hardware><plugin>x</plugin></hardware><joint name="g"/></ros2_control>'
    given = given.replace("</robot>", f"{second}</robot>")
    changed = ElementTree.fromstring(names["in_simulator"](given, "mujoco", "controllers.yaml", True))
    (system,) = changed.findall("ros2_control")
    hardware = system.find("hardware")
    assert hardware.findtext("plugin") == "mujoco_ros2_control/MujocoSystemInterface"
    assert hardware.findtext("param[@name='mujoco_model']") == str(folder / "mujoco/robot.xml")
    starts = [joint.findtext("state_interface[@name='effort']/param") for joint in system.findall("joint")]
    assert len(starts) == 7
    assert starts.pop() is None
    assert [float(start) for start in starts] == list(names["WEIGHTS"].values())


GRIPPER = """
  <gazebo><plugin filename="libgazebo_ros_control.so" name="c"/></gazebo>
  <gazebo><plugin filename="gz_ros2_control-system" name="n"><parameters>other</parameters></plugin></gazebo>
  <link name="left"/><link name="right"/>
  <joint name="follows" type="prismatic"><parent link="link6"/><child link="right"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="0" velocity="0"/><mimic joint="finger"/></joint>
  <joint name="finger" type="prismatic"><parent link="link6"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="0.2"/></joint>
</robot>"""


@pytest.mark.long
def test_gazebo_holds_joints_without_commands_and_gets_one_controller_manager(folder):
    given = (folder / "urdf/robot.urdf").read_text(encoding="utf-8").replace("</robot>", GRIPPER)
    changed = ElementTree.fromstring(launch_file(folder)["in_simulator"](given, "gazebo", "own.yaml", False))
    (plugin,) = changed.findall("gazebo/plugin")
    time = folder / "gazebo/time.yaml"
    assert [one.text for one in plugin.findall("parameters")] == ["own.yaml", str(time)]
    assert "use_sim_time: true" in time.read_text(encoding="utf-8")
    finger, follows = (changed.find(f"ros2_control/joint[@name='{name}']") for name in ("finger", "follows"))
    assert [one.get("name") for one in finger.findall("command_interface")] == ["velocity"]
    assert follows.find("command_interface") is None
    for joint in (finger, follows):
        assert [one.get("name") for one in joint.findall("state_interface")] == ["position", "velocity"]
    limits = changed.find("joint[@name='follows']/limit")
    assert float(limits.get("effort")) == float(limits.get("velocity")) == 1e6
    assert changed.find("joint[@name='finger']/limit").get("effort") == "20"
    assert changed.find("gazebo/gravity") is None


DRIVER = """
  <ros2_control name="cell" type="sensor">
    <hardware><plugin>acme/Sensor</plugin></hardware><sensor name="wrench"/>
  </ros2_control>
  <ros2_control name="acme" type="system" rw_rate="500" is_async="true" thread_priority="50">
    <hardware><plugin>acme/Driver</plugin><param name="robot_ip">192.0.2.1</param></hardware>
    <joint name="joint1"><command_interface name="effort"/></joint><gpio name="flange"/>
  </ros2_control>
</robot>"""


@pytest.mark.long
@pytest.mark.parametrize("plant", ["gazebo", "mujoco"])
def test_nothing_of_a_real_driver_is_left_in_a_simulator(folder, plant):
    given = PUMA.read_text(encoding="utf-8").replace("</robot>", DRIVER)
    names = launch_file(folder)
    changed = ElementTree.fromstring(names["in_simulator"](given, plant, "own.yaml", False))
    (system,) = changed.findall("ros2_control")  # the sensor's would wait for joints that it does not have
    assert system.attrib == {"name": "acme", "type": "system"}
    assert system.findtext("hardware/plugin") == names["HARDWARE"][plant]
    assert "192.0.2.1" not in ElementTree.tostring(changed, encoding="unicode")


@pytest.mark.long
def test_gazebo_looks_for_meshes_above_their_packages(folder):
    names = launch_file(folder)
    files = ("package://one/a.stl", "package://one/b/c.dae", "file:///d")
    text = "".join(f'<mesh filename="{file}"/>' for file in files)
    assert names["mesh_folders"](text) == [str(folder.parent)]
    assert names["mesh_folders"]("<robot/>") == []


def gravity_of(folder):
    return ElementTree.parse(folder / "gazebo/world.sdf").findtext("world/gravity")


@pytest.mark.long
def test_gazebo_has_the_gravity_of_the_model(folder, tmp_path):
    assert gravity_of(folder) == "0 0 -9.81"
    assert "gazebo" in (folder / "cmake/ros.cmake").read_text(encoding="utf-8")
    moon = tmp_path / "moon_arm"
    assert (
        main(["generate", str(PUMA), "--ros2-control", "--gravity", "0", "0", "-1.62", "-o", str(moon)]) == 0
    )
    assert gravity_of(moon) == "0 0 -1.62"


@pytest.mark.long
def test_the_floor_in_gazebo_is_not_in_the_way_of_an_arm_whose_base_stands_on_it(folder):
    world = ElementTree.parse(folder / "gazebo/world.sdf")
    assert world.find("world/model[@name='floor']/link/visual") is not None
    assert list(world.iter("collision")) == []


@pytest.mark.long
def test_a_robot_that_carries_its_own_weight_has_no_gravity_in_gazebo(tmp_path):
    folder = tmp_path / "ur_arm"
    assert main(["generate", str(PUMA), "--ros2-control", "--driver", "ur", "-o", str(folder)]) == 0
    given = (folder / "urdf/robot.urdf").read_text(encoding="utf-8")
    changed = ElementTree.fromstring(launch_file(folder)["in_simulator"](given, "gazebo", "c.yaml", True))
    weightless = {
        tag.get("reference") for tag in changed.findall("gazebo") if tag.findtext("gravity") == "false"
    }
    assert weightless >= {"link1", "link2", "link3", "link4", "link5", "link6"}
