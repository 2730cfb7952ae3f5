"""Several robots in one ros2_control package: what its files say, and what is refused."""

from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
import yaml
from test_package_configuration import configured
from two_arms import TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.cli.main import main

CELL = """
robots:
  left: {description: puma560, position: [0, 0.5, 1], orientation: [0.4, -0.3, 0.2]}
  right: {description: puma560, position: [0, -0.5, 1], parameters: {payload_mass: 1.5, kp: [64]}}
  torso: {description: two.urdf, tips: [left_hand, right_hand], prefix: "", driver: own.yaml}
"""


def generated(folder, cell, *options):
    (folder / "two.urdf").write_text(TWO_ARMS, encoding="utf-8")
    own = rd.resources.resource("config/drivers/ur.yaml").read_text(encoding="utf-8")
    for key in ("viscous_left", "coulomb_left"):
        own = "\n".join(f"  {key}: []" if line.strip().startswith(key) else line for line in own.split("\n"))
    (folder / "own.yaml").write_text(own, encoding="utf-8")
    (folder / "cell.yaml").write_text(cell, encoding="utf-8")
    output = folder / "cell_control"
    command = ["generate", str(folder / "cell.yaml"), "--ros2-control", "-o", str(output), *options]
    return main(command), output


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    code, folder = generated(tmp_path_factory.mktemp("cell"), CELL)
    assert code == 0
    return folder


@pytest.mark.long
def test_robots_of_a_kind_share_their_code_and_have_controllers_of_their_own(cell):
    assert sorted(path.name for path in (cell / "robots").iterdir()) == ["left", "torso"]
    document = yaml.safe_load((cell / "config/controllers.yaml").read_text(encoding="utf-8"))
    manager = document["controller_manager"]["ros__parameters"]
    assert manager["update_rate"] == 1000
    types = [manager[f"{name}_computed_torque_controller"]["type"] for name in ("left", "right", "torso")]
    assert types == [f"cell_control_{name}/ComputedTorqueController" for name in ("left", "left", "torso")]
    right = document["right_computed_torque_controller"]["ros__parameters"]
    assert right["joints"] == [f"right_joint{k}" for k in range(1, 7)]
    assert (right["payload_mass"], right["kp"]) == (1.5, [64.0])
    torso = document["torso_computed_torque_controller"]["ros__parameters"]
    assert torso["update_rate"] == 500
    assert "joints" not in torso
    front = document["right_joint_trajectory_controller"]["ros__parameters"]
    assert front["command_joints"] == [f"right_computed_torque_controller/{j}" for j in right["joints"]]
    moveit = yaml.safe_load((cell / "config/moveit_controllers.yaml").read_text(encoding="utf-8"))
    listed = moveit["moveit_simple_controller_manager"]
    wholes = [f"{name}_joint_trajectory_controller" for name in ("left", "right", "torso")]
    assert [name for name in listed["controller_names"] if listed[name]["default"]] == wholes
    limits = yaml.safe_load((cell / "config/joint_limits.yaml").read_text(encoding="utf-8"))["joint_limits"]
    own, other = limits["left_joint2"], limits["right_joint2"]
    assert own["max_velocity"] == other["max_velocity"]
    assert own["max_acceleration"] != other["max_acceleration"]  # the tilted arm has another weight


def test_the_description_has_all_robots_where_they_are_and_gravity_follows_their_tilt(cell):
    """Oracle: Pinocchio on the description of all robots, under gravity along z of the world."""
    text = (cell / "urdf/robot.urdf").read_text(encoding="utf-8")
    model = pin.buildModelFromXML(text)
    data, place = model.createData(), np.random.default_rng(4).uniform(-1.0, 1.0, model.nq)
    efforts = pin.computeGeneralizedGravity(model, data, place)
    document = yaml.safe_load((cell / "config/controllers.yaml").read_text(encoding="utf-8"))
    for prefix in ("left_", "right_"):
        values = document[f"{prefix}computed_torque_controller"]["ros__parameters"]
        arm = rd.compile_dynamics(rd.load_urdf("urdf/puma560.urdf"), values.get("gravity", (0.0, 0.0, -9.81)))
        at = [model.joints[model.getJointId(name)].idx_q for name in values["joints"]]
        still = np.zeros(6)
        np.testing.assert_allclose(arm.inverse_dynamics(place[at], still, still), efforts[at], atol=1e-9)
        mount = data.oMi[model.joints[model.getJointId(f"{prefix}joint1")].id]
        assert np.isfinite(mount.translation).all()
    assert "gravity" not in document["right_computed_torque_controller"]["ros__parameters"]
    assert text.count("<plugin>cell_control_left/SimulatedArm</plugin>") == 2
    assert text.count('<param name="gravity">') == 1
    assert model.frames[model.getFrameId("left_base_link")].placement.translation.tolist() == [0.0, 0.5, 1.0]


def test_cmake_takes_all_robots(cell, tmp_path):
    done = configured(cell, tmp_path, "4.46.0", solver=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("exports-controller_interface") == 2
    assert done.stdout.count("exports-inverse_dynamics_solver") == 2


@pytest.mark.parametrize(
    ("robots", "reason"),
    [
        ("{}", "robots must be a mapping of 1 to 8 names to robots"),
        ("[a]", "robots must be a mapping"),
        ("{Left: {description: puma560}}", "robot 'Left': a name has lower-case letters"),
        ("{a: puma560}", "robot 'a': it is 'puma560'; it must be a mapping"),
        ("{a: {tip: x}}", "robot 'a': key description is missing"),
        ("{a: {description: none.urdf}}", "robot 'a': "),
        ("{a: {description: puma560, prfix: b}}", "robot 'a': key 'prfix' is unknown"),
        ("{a: {description: puma560, prefix: 'b c'}}", "robot 'a': prefix is 'b c'"),
        ("{a: {description: puma560, position: [0, 0]}}", "robot 'a': position is [0, 0]"),
        ("{a: {description: puma560, orientation: [0, 0, .inf]}}", "robot 'a': orientation is"),
        ("{a: {description: puma560, driver: ur, gravity: [0, 0, 0]}}", "carries the robot's weight"),
        ("{a: {description: puma560, driver: nobody}}", "robot 'a': there is no driver profile 'nobody'"),
        ("{a: {description: puma560, parameters: {kpp: [1]}}}", "the controller has no parameter 'kpp'"),
        ("{a: {description: puma560, parameters: {payload_mass: -1}}}", "payload_mass"),
        (
            "{a: {description: puma560, tips: link6}}",
            "robot 'a': tips is 'link6'; it must be a list of links",
        ),
        (
            "{a: {description: two.urdf, root: torso, tip: left_hand, lock: {waist: x}}}",
            "lock of waist cannot be read as real numbers: 'x'",
        ),
        ("{a: {description: two.urdf, root: torso, tip: left_hand}}", "joint 'waist' moves the root 'torso'"),
        (
            "{a: {description: puma560, prefix: ''}, b: {description: two.urdf, tip: left_hand, prefix: ''}}",
            "robots 'a' and 'b' have the prefix '', and different descriptions",
        ),
        (
            "{a: {description: two.urdf, prefix: '', tip: left_hand}, b: {description: two.urdf, prefix: '',"
            " tip: right_hand}}",
            "robots 'a' and 'b' both move joint 'waist'",
        ),
    ],
)
def test_what_is_no_cell_is_refused_with_its_robot_and_nothing_is_written(tmp_path, capsys, robots, reason):
    code, folder = generated(tmp_path, f"robots: {robots}\n")
    said = capsys.readouterr().err
    assert code == 1
    assert reason in said
    assert said.count("\n") == 1
    assert not folder.exists()


def test_options_for_one_robot_are_refused(tmp_path, capsys):
    code, folder = generated(tmp_path, CELL, "--tip", "link6")
    assert code == 1
    assert "--tip is for one robot; give it in" in capsys.readouterr().err
    assert main(["generate", str(tmp_path / "cell.yaml"), "-o", str(folder)]) == 1
    assert "names robots, which makes a package: add --ros2-control" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.long
def test_a_robot_without_hardware_is_simulated_beside_one_that_has_its_own(tmp_path, capsys):
    tag = '<ros2_control name="mine" type="system"><hardware><plugin>a/B</plugin></hardware></ros2_control>'
    urdf = rd.resources.resource("urdf/scara.urdf").read_text(encoding="utf-8")
    (tmp_path / "own.urdf").write_text(urdf.replace("</robot>", f"{tag}</robot>"), encoding="utf-8")
    code, folder = generated(tmp_path, "robots: {a: {description: own.urdf}, b: {description: scara}}")
    assert code == 0
    assert "of a has a ros2_control tag of its own" in capsys.readouterr().err
    whole = ElementTree.parse(folder / "urdf/robot.urdf")
    hardware = {one.get("name"): one.findtext("hardware/plugin") for one in whole.iterfind("ros2_control")}
    assert hardware == {"a_mine": "a/B", "b_simulated_arm": "cell_control_b/SimulatedArm"}
