"""The Stewart platform that Gazebo gets: a valid file, the machine's mass, and its accelerations."""

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from robot_dynamics import stewart
from robot_dynamics.cli.main import main
from robot_dynamics.errors import ModelError
from robot_dynamics.resources import resource
from robot_dynamics.spatial import pose, rotation_from_rpy, shift_inertia
from robot_dynamics.stewart.loader import load_machine
from robot_dynamics.stewart.sdf import Controllers, actuator_description, home_lengths, sdf

DEMO = resource("config/stewart_demo.yaml")
LEVEL = [0.0, 0.0, 0.0, 1.0]


@pytest.fixture(scope="module")
def machine():
    return load_machine(DEMO)


@pytest.fixture(scope="module")
def frictionless():
    document = yaml.safe_load(DEMO.read_text(encoding="utf-8"))
    document["leg_defaults"]["friction"] = dict.fromkeys(("universal", "prismatic", "spherical"), 0.0)
    return load_machine(document)


def numbers(element, path):
    return np.array([float(word) for word in element.findtext(path).split()])


def placed(element):
    values = numbers(element, "pose")
    return pose(rotation_from_rpy(values[3:]), values[:3])


def mass_properties(link):
    """Mass, center and inertia about the center, in the link's axes."""
    mass = float(link.findtext("inertial/mass"))
    entries = {
        key: float(link.findtext(f"inertial/inertia/i{key}")) for key in ("xx", "xy", "xz", "yy", "yz", "zz")
    }
    inertia = np.array([[entries["".join(sorted(row + column))] for column in "xyz"] for row in "xyz"])
    return mass, numbers(link, "inertial/pose")[:3], inertia


def links_of(machine):
    model = ElementTree.fromstring(sdf(machine)).find("model")
    return model, {link.get("name"): link for link in model.findall("link")}


@pytest.mark.parametrize("controllers", [None, Controllers("/controllers.yaml", "left")])
def test_gazebos_own_checker_accepts_the_file(machine, controllers, tmp_path):
    program = next((path for path in map(shutil.which, ("gz", "ign")) if path), None)
    if program is None:
        pytest.skip("neither gz nor ign is installed")
    file = tmp_path / "model.sdf"
    file.write_text(sdf(machine, controllers), encoding="utf-8")
    for path in (file, resource("urdf/world.sdf")):
        result = subprocess.run(
            [program, "sdf", "-k", str(path)], capture_output=True, text=True, check=False
        )
        assert "Valid." in result.stdout and "Error" not in result.stderr, result.stderr


def test_no_joint_closes_a_loop_but_every_tip_is_welded(machine):
    """DART builds a tree: no link may be the child of two joints."""
    model, links = links_of(machine)
    children = [joint.findtext("child") for joint in model.findall("joint")]
    assert len(set(children)) == len(children)
    assert set(links) - set(children) == {"platform"}
    welds = [plugin for plugin in model.findall("plugin") if "DetachableJoint" in plugin.get("name")]
    assert [weld.findtext("child_link") for weld in welds] == [f"{name}_tip" for name in machine.leg_names]
    assert {(weld.findtext("parent_link"), weld.findtext("child_model")) for weld in welds} == {
        ("platform", "__model__")
    }


def test_platform_and_tips_together_are_the_machines_platform(machine):
    _, links = links_of(machine)
    home = placed(links["platform"])
    mass, moment, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    for name in ("platform", *(f"{leg}_tip" for leg in machine.leg_names)):
        part_mass, center, part_inertia = mass_properties(links[name])
        relative = np.linalg.inv(home) @ placed(links[name])
        rotation, center = relative[:3, :3], (relative @ [*center, 1.0])[:3]
        mass += part_mass
        moment += part_mass * center
        inertia += rotation @ part_inertia @ rotation.T + shift_inertia(part_mass, center)
    whole = machine.platform
    assert mass == pytest.approx(whole.mass, rel=1e-12)
    np.testing.assert_allclose(moment / mass, whole.center_of_mass, atol=1e-14)
    np.testing.assert_allclose(inertia - shift_inertia(mass, moment / mass), whole.inertia, atol=1e-12)


def test_limits_count_from_home(machine):
    model, _ = links_of(machine)
    for leg, length in zip(machine.legs, home_lengths(machine), strict=True):
        limit = model.find(f"joint[@name='{leg.name}']/axis/limit")
        assert float(limit.findtext("lower")) + length == pytest.approx(leg.limits.shortest)
        assert float(limit.findtext("upper")) + length == pytest.approx(leg.limits.longest)


def test_the_model_accelerates_as_the_machine(frictionless):
    """MuJoCo gives the equations of the file's tree, the welds close it; the exact model is the reference."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo computes the tree's equations of motion")
    model = mujoco_model(mujoco, frictionless)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    size = model.nv
    mass = np.zeros((size, size))
    for row, unit in zip(mass, np.eye(size), strict=True):
        mujoco.mj_mulM(model, data, row, unit)
    welds = np.concatenate([weld_jacobian(mujoco, model, data, name) for name in frictionless.leg_names])
    # At rest: mass @ acceleration - welds.T @ reactions = forces - bias, and welds @ acceleration = 0.
    system = np.block([[mass, -welds.T], [welds, np.zeros((len(welds), len(welds)))]])
    platform = stewart.StewartPlatform(frictionless)
    legs = platform.legs(frictionless.home_position, LEVEL)
    addresses = [model.joint(name).dofadr[0] for name in frictionless.leg_names]
    random = np.random.default_rng(3)
    for forces in random.uniform(-200.0, 400.0, (5, 6)):
        applied = -data.qfrc_bias.copy()
        applied[addresses] += forces
        acceleration = np.linalg.solve(system, np.concatenate([applied, np.zeros(len(welds))]))[addresses]
        zero = np.zeros(3)
        linear, angular = platform.forward_dynamics(frictionless.home_position, LEVEL, zero, zero, forces)
        expected = legs.jacobian @ np.concatenate([linear, angular])
        np.testing.assert_allclose(acceleration, expected, atol=1e-9 * np.abs(expected).max())


def weld_jacobian(mujoco, model, data, leg):
    """(6, nv) of the motion of a leg's tip relative to the platform, at the tip."""
    difference = np.zeros((6, model.nv))
    point = data.body(f"{leg}_tip").xpos
    for sign, name in ((1.0, f"{leg}_tip"), (-1.0, "platform")):
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, linear, angular, point, data.body(name).id)
        difference += sign * np.concatenate([linear, angular])
    return difference


def mujoco_model(mujoco, machine):
    """The SDF model as a MuJoCo model; positions in joint axes are as SDF defines them."""
    model, links = links_of(machine)
    specification = mujoco.MjSpec()
    specification.option.gravity = machine.gravity
    bodies, frames = {"world": specification.worldbody}, {"world": np.eye(4)}
    joints = {joint.findtext("child"): joint for joint in model.findall("joint")}
    for name, link in links.items():
        joint = joints.get(name)
        parent = "world" if joint is None else joint.findtext("parent")
        frames[name] = placed(link) if link.find("pose") is not None else np.eye(4)
        relative = np.linalg.inv(frames[parent]) @ frames[name]
        body = bodies[name] = bodies[parent].add_body(name=name, pos=relative[:3, 3])
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, relative[:3, :3].ravel())
        body.quat = quaternion
        body.mass, body.ipos, inertia = mass_properties(link)
        body.fullinertia = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        body.explicitinertial = True
        if joint is None:
            body.add_freejoint()
        elif joint.get("type") == "universal":
            for axis in ("axis", "axis2"):
                body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=numbers(joint, f"{axis}/xyz"))
        elif joint.get("type") == "prismatic":
            body.add_joint(
                name=joint.get("name"), type=mujoco.mjtJoint.mjJNT_SLIDE, axis=numbers(joint, "axis/xyz")
            )
        elif joint.get("type") == "ball":
            body.add_joint(type=mujoco.mjtJoint.mjJNT_BALL)
    return specification.compile()


def test_actuators_are_the_legs_in_their_order(machine):
    robot = ElementTree.fromstring(actuator_description(machine))
    names = [joint.get("name") for joint in robot.findall("ros2_control/joint")]
    assert names == list(machine.leg_names)
    assert [joint.get("name") for joint in robot.findall("joint")] == names
    for joint in robot.findall("ros2_control/joint"):
        assert [command.get("name") for command in joint.findall("command_interface")] == ["effort"]


def test_the_controllers_command_the_legs_in_their_order(machine):
    document = yaml.safe_load(resource("config/leg_controllers.yaml").read_text(encoding="utf-8"))
    controller = document["/**/leg_effort_controller"]["ros__parameters"]
    assert (controller["joints"], controller["interface_name"]) == (list(machine.leg_names), "effort")
    assert document["/**/controller_manager"]["ros__parameters"]["update_rate"] == 1000


def test_the_plugin_gets_controllers_and_namespace(machine):
    model = ElementTree.fromstring(sdf(machine, Controllers("/some/file.yaml", "/left/"))).find("model")
    plugin = model.findall("plugin")[-1]
    assert plugin.get("name").startswith("gz_ros2_control")
    files = [element.text for element in plugin.findall("parameters")]
    assert files == ["/some/file.yaml", str(resource("config/gazebo_time.yaml"))]
    assert plugin.findtext("ros/namespace") == "/left"
    assert plugin.findtext("ros/remapping") == "controller_manager:robot_description:=robot_description"


def test_the_command_prints_both_descriptions(machine, capsys):
    assert main(["sdf", str(DEMO)]) == 0
    assert capsys.readouterr().out == sdf(machine)
    assert main(["sdf", str(DEMO), "--actuators"]) == 0
    assert capsys.readouterr().out == actuator_description(machine)


def test_a_machine_that_cannot_exist_is_refused_by_name():
    with pytest.warns(stewart.StewartModelWarning):
        machine = load_machine(resource("config/stewart_dasgupta1998.yaml"))
    with pytest.raises(ModelError, match=r"platform\.inertia"):
        sdf(machine)


def test_a_leg_without_mass_is_refused_by_name():
    document = yaml.safe_load(DEMO.read_text(encoding="utf-8"))
    document["leg_defaults"]["upper"] = {
        "mass": 0.0,
        "center_of_mass": [0.0] * 3,
        "inertia": np.zeros((3, 3)).tolist(),
    }
    with pytest.raises(ModelError, match=r"leg_1\.upper.*mass"):
        sdf(load_machine(document))


def test_setup_installs_what_the_launch_files_need():
    """Every file of these folders goes to the share directory: setup.py lists the folders."""
    setup = (Path(__file__).parents[2] / "setup.py").read_text(encoding="utf-8")
    for folder in ("launch", "urdf", "config", "rviz"):
        assert f'share("{folder}")' in setup
        inside = resource(f"{folder}/{KNOWN[folder]}").parent
        below = [path.name for path in inside.iterdir() if path.is_dir() and path.name != "__pycache__"]
        assert all(f'share("{folder}/{name}")' in setup for name in below)


KNOWN = {
    "launch": "rviz.launch.py",
    "urdf": "gazebo_arm.xacro",
    "config": "leg_controllers.yaml",
    "rviz": "puma560.rviz",
}
