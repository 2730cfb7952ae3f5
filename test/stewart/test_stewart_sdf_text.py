"""Every number of the SDF model and of the actuators' description, of a machine without any symmetry."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from platform_legs import replace_leg
from point_masses import point_inertia
from scipy.spatial.transform import Rotation
from stewart_oracles import let_spin, random_oracle

from robot_dynamics import stewart
from robot_dynamics.errors import ModelError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.resources import resource
from robot_dynamics.stewart.sdf import Controllers, actuator_description, home_lengths, sdf

SPHERICAL, FREE = 3, 5
"""A leg without a universal joint, and one without limits."""


def made(seed=2):
    """Springs of other stiffness at three legs, Coulomb friction, limits."""
    mapping = random_oracle(seed).mapping
    for number, leg in enumerate(mapping["legs"]):
        leg["friction"]["coulomb"] = 3.0 + number
        if number in (0, 2, 4):
            leg["spring"] = {"length": 0.5, "force": 40.0 - 30.0 * number, "stiffness": 0.5 + 90.0 * number}
        if number != FREE:
            leg["limits"] = {
                "length": [0.2 + 0.01 * number, 1.1 + 0.02 * number],
                "speed": 1.0 + number,
                "force": 2000.0 + number,
                "base_angle": 1.5,
                "platform_angle": 1.5,
            }
        if number == SPHERICAL:
            let_spin(leg)
    return stewart.load(mapping).machine


@pytest.fixture(scope="module")
def machine():
    return made()


@pytest.fixture(scope="module")
def model(machine):
    root = ElementTree.fromstring(sdf(machine))
    assert (root.tag, root.get("version")) == ("sdf", "1.9")
    (found,) = root.findall("model")
    assert found.get("name") == machine.name
    return found


def numbers(text):
    return np.array([float(word) for word in text.split()])


def one(element, path):
    (found,) = element.findall(path)
    return numbers(found.text)


def check_body(link, body):
    np.testing.assert_array_equal(one(link, "inertial/pose"), [*body.center_of_mass, 0.0, 0.0, 0.0])
    assert one(link, "inertial/mass") == body.mass
    tensor = link.find("inertial/inertia")
    assert [entry.tag for entry in tensor] == ["ixx", "ixy", "ixz", "iyy", "iyz", "izz"]
    found = [float(entry.text) for entry in tensor]
    np.testing.assert_array_equal(found, body.inertia[np.triu_indices(3)])


def check_cylinder(link, pose, radius, length, colour):
    (visual,) = link.findall("visual")
    assert visual.get("name") == "visual"
    np.testing.assert_allclose(one(visual, "pose"), pose, atol=1e-15)
    assert one(visual, "geometry/cylinder/radius") == pytest.approx(radius, rel=1e-14)
    assert one(visual, "geometry/cylinder/length") == pytest.approx(length, rel=1e-14)
    assert visual.findtext("material/ambient") == visual.findtext("material/diffuse") == colour


def matrix(pose):
    return Rotation.from_euler("xyz", pose[3:]).as_matrix()


def link_of(model, name):
    return model.find(f"link[@name='{name}']")


def test_the_base_is_a_plate_below_the_base_points_fixed_to_the_world(machine, model):
    base = link_of(model, "base")
    check_body(base, RigidBody(1.0, np.zeros(3), np.eye(3)))
    radius = max(np.linalg.norm(leg.base_point) for leg in machine.legs) + 0.05
    check_cylinder(base, [0.0, 0.0, -0.01, 0.0, 0.0, 0.0], radius, 0.02, "0.3 0.3 0.32 1")
    ground = model.find("joint[@name='ground']")
    assert (ground.get("type"), ground.findtext("parent"), ground.findtext("child")) == (
        "fixed",
        "world",
        "base",
    )


def test_the_platform_is_a_plate_above_its_origin_at_home(machine, model):
    platform = link_of(model, "platform")
    pose = one(platform, "pose")
    np.testing.assert_allclose(pose[:3], machine.home_position, atol=1e-15)
    np.testing.assert_allclose(matrix(pose), machine.home_rotation, atol=1e-14)
    radius = max(np.linalg.norm(leg.platform_point) for leg in machine.legs) + 0.03
    check_cylinder(platform, [0.0, 0.0, 0.01, 0.0, 0.0, 0.0], radius, 0.02, "0.2 0.35 0.6 1")


def test_legs_stand_at_home_with_their_masses_and_rods(machine, model):
    for number, leg in enumerate(machine.legs):
        end = machine.home_position + machine.home_rotation @ leg.platform_point
        vector = end - leg.base_point
        length = np.linalg.norm(vector)
        assert home_lengths(machine)[number] == pytest.approx(length, rel=1e-14)
        lower, upper, tip = (link_of(model, f"{leg.name}_{part}") for part in ("lower", "upper", "tip"))
        along = vector / length
        across = np.cross(machine.universal_axes[number], along)
        across /= np.linalg.norm(across)
        for link, place in ((lower, leg.base_point), (upper, end), (tip, end)):
            pose = one(link, "pose")
            np.testing.assert_allclose(pose[:3], place, atol=1e-14)
            axes = np.column_stack([along, across, np.cross(along, across)])
            np.testing.assert_allclose(matrix(pose), axes, atol=1e-13)
        check_body(lower, leg.lower)
        check_body(upper, leg.upper)
        turned = [0.0, 0.0, 0.0, 0.5 * np.pi, 0.0]
        check_cylinder(lower, [0.3 * length, *turned], 0.03, 0.6 * length, "0.3 0.3 0.32 1")
        check_cylinder(upper, [-0.275 * length, *turned], 0.015, 0.55 * length, "0.7 0.72 0.75 1")
        assert tip.find("visual") is None


def test_joints_of_the_legs_have_their_axes_friction_springs_and_limits(machine, model):
    for number, leg in enumerate(machine.legs):
        base, slide, ball = (
            model.find(f"joint[@name='{name}']")
            for name in (f"{leg.name}_base", leg.name, f"{leg.name}_platform")
        )
        parts = [f"{leg.name}_{part}" for part in ("lower", "upper", "tip")]
        for joint, parent, child in zip((base, slide, ball), ["base", *parts], parts, strict=False):
            assert (joint.findtext("parent"), joint.findtext("child")) == (parent, child)
        assert (slide.get("type"), ball.get("type")) == ("prismatic", "ball")
        if number == SPHERICAL:
            assert base.get("type") == "ball" and base.find("axis") is None
        else:
            assert base.get("type") == "universal"
            axes = matrix(one(link_of(model, parts[0]), "pose"))
            np.testing.assert_allclose(axes @ one(base, "axis/xyz"), leg.universal_axis, atol=1e-13)
            np.testing.assert_array_equal(one(base, "axis2/xyz"), [0.0, 1.0, 0.0])
            for axis in ("axis", "axis2"):
                assert one(base, f"{axis}/dynamics/damping") == leg.friction.universal
                assert base.find(f"{axis}/limit") is None
        np.testing.assert_array_equal(one(slide, "axis/xyz"), [1.0, 0.0, 0.0])
        length = home_lengths(machine)[number]
        expected = {"damping": leg.friction.prismatic, "friction": 3.0 + number}
        if number in (0, 2, 4):
            # The force of the spring vanishes there; its position is zero at home.
            expected["spring_reference"] = 0.5 + (40.0 - 30.0 * number) / (0.5 + 90.0 * number) - length
            expected["spring_stiffness"] = 0.5 + 90.0 * number
        found = {entry.tag: float(entry.text) for entry in slide.find("axis/dynamics")}
        assert found == pytest.approx(expected, rel=1e-12)
        found = {entry.tag: float(entry.text) for entry in slide.find("axis/limit")}
        assert found == pytest.approx(limits_of(number, length), rel=1e-12)


def limits_of(number, length):
    """Counted from home; Gazebo takes no infinity."""
    if number == FREE:
        return {"lower": -length, "upper": 1e6, "effort": 1e6, "velocity": 1e6}
    return {
        "lower": 0.2 + 0.01 * number - length,
        "upper": 1.1 + 0.02 * number - length,
        "effort": 2000.0 + number,
        "velocity": 1.0 + number,
    }


def test_tips_are_welded_by_a_plugin_of_gazebo(machine, model):
    welds = model.findall("plugin")
    assert len(welds) == 6
    for leg, weld in zip(machine.legs, welds, strict=True):
        assert weld.get("filename") == "gz-sim-detachable-joint-system"
        assert weld.get("name") == "gz::sim::systems::DetachableJoint"
        assert [(entry.tag, entry.text) for entry in weld] == [
            ("parent_link", "platform"),
            ("child_model", "__model__"),
            ("child_link", f"{leg.name}_tip"),
        ]


def test_controllers_get_their_files_and_the_description_of_their_own_machine(machine):
    root = ElementTree.fromstring(sdf(machine, Controllers("/some/file.yaml", "/left/", "/left/legs")))
    plugin = root.find("model").findall("plugin")[-1]
    assert plugin.get("filename") == "gz_ros2_control-system"
    assert plugin.get("name") == "gz_ros2_control::GazeboSimROS2ControlPlugin"
    time = str(resource("config/gazebo_time.yaml"))
    assert [(entry.tag, (entry.text or "").strip()) for entry in plugin] == [
        ("parameters", "/some/file.yaml"),
        ("parameters", time),
        ("hold_joints", "true"),
        ("ros", ""),
    ]
    assert [(entry.tag, entry.text) for entry in plugin.find("ros")] == [
        ("namespace", "/left"),
        ("remapping", "controller_manager:robot_description:=/left/legs"),
    ]
    usual = Controllers("/file.yaml")
    assert (usual.namespace, usual.description_topic) == ("", "robot_description")


def possible_share(machine, inertia):
    """The greatest mass of a tip, as a part of the platform's, that leaves a body which can exist."""
    whole, points = machine.platform, [leg.platform_point for leg in machine.legs]

    for share in (0.06, 0.04, 0.02, 0.01, 0.005, 0.002):
        mass = share * whole.mass
        ball = 2.0 / 5.0 * mass * 0.02**2 * np.eye(3)
        left = whole.mass - 6.0 * mass
        center = (whole.mass * whole.center_of_mass - mass * np.sum(points, axis=0)) / left
        rest = inertia + point_inertia(whole.mass, whole.center_of_mass) - point_inertia(left, center)
        rest = rest - sum(ball + point_inertia(mass, point) for point in points)
        moments = np.sort(np.linalg.eigvals(rest).real)
        if moments[0] + moments[1] > moments[2]:
            return mass, ball, left, center, rest
    return None


def test_a_tip_is_as_heavy_as_the_platform_allows(machine):
    """Six shares are tried; the more slender the platform, the less its tips weigh."""
    seen = set()
    for factor in np.geomspace(0.01, 30.0, 60):
        inertia = factor * machine.platform.inertia
        slender = replace(machine, platform=replace(machine.platform, inertia=inertia))
        expected = possible_share(machine, inertia)
        if expected is None and "refused" in seen:
            continue
        if expected is None:
            seen.add("refused")
            with pytest.raises(ModelError) as caught:
                sdf(slender)
            assert str(caught.value) == (
                "random_2: the platform is too slender to give each leg a tip of"
                f" {0.002 * machine.platform.mass:g} kg; a body with the rest of its inertia does not exist"
            )
            continue
        mass, ball, left, center, rest = expected
        share = round(mass / machine.platform.mass, 4)
        if share in seen:
            continue
        seen.add(share)
        model = ElementTree.fromstring(sdf(slender)).find("model")
        for leg in machine.legs:
            tip = link_of(model, f"{leg.name}_tip")
            assert one(tip, "inertial/mass") == pytest.approx(mass, rel=1e-13)
            np.testing.assert_array_equal(one(tip, "inertial/pose"), np.zeros(6))
            found = [float(entry.text) for entry in tip.find("inertial/inertia")]
            np.testing.assert_allclose(found, ball[np.triu_indices(3)], rtol=1e-13)
        platform = link_of(model, "platform")
        assert one(platform, "inertial/mass") == pytest.approx(left, rel=1e-13)
        np.testing.assert_allclose(one(platform, "inertial/pose"), [*center, 0.0, 0.0, 0.0], atol=1e-14)
        found = [float(entry.text) for entry in platform.find("inertial/inertia")]
        np.testing.assert_allclose(found, rest[np.triu_indices(3)], atol=1e-13)
    assert seen == {0.06, 0.04, 0.02, 0.01, 0.005, 0.002, "refused"}


@pytest.mark.parametrize("part", ["lower", "upper"])
def test_parts_of_legs_need_a_mass_and_possible_inertias(machine, part):
    nothing = RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))
    with pytest.raises(ModelError) as caught:
        sdf(replace_leg(machine, 2, **{part: nothing}))
    assert str(caught.value) == f"leg_3.{part}: Gazebo cannot simulate a body without mass"
    light = RigidBody(1e-6, np.zeros(3), 1e-9 * np.eye(3))
    assert f"{1e-6!r}" in sdf(replace_leg(machine, 2, **{part: light}))
    with pytest.raises(ModelError, match=rf"^leg_3\.{part}\.inertia has the principal moments 1, 1, 3 "):
        sdf(replace_leg(machine, 2, **{part: RigidBody(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))}))


@pytest.mark.parametrize("force", [0.4, -30.0])
def test_a_spring_of_constant_force_is_refused(machine, force):
    with pytest.raises(ModelError) as caught:
        sdf(replace_leg(machine, 1, spring=stewart.Spring(0.5, force, 0.0)))
    assert str(caught.value) == "leg_2.spring: Gazebo has no spring of constant force; give it a stiffness"


@pytest.mark.parametrize("force", [0.0, 25.0])
def test_a_spring_of_negative_stiffness_is_refused_instead_of_left_out(machine, force):
    with pytest.raises(ModelError) as caught:
        sdf(replace_leg(machine, 1, spring=stewart.Spring(0.5, force, -0.5)))
    assert str(caught.value) == ("leg_2.spring: the stiffness is -0.5 N/m; Gazebo has no negative stiffness")


def test_numbers_keep_their_digits_and_no_zero_is_negative(machine):
    text = sdf(machine)
    assert text.startswith('<?xml version="1.0"?>\n<sdf version="1.9">\n') and text.endswith("</sdf>\n")
    assert "-0.0 " not in text and ">-0.0<" not in text
    third = replace_leg(machine, 0, limits=replace(machine.legs[0].limits, force=1000.0 / 3.0))
    assert "<effort>333.3333333333333</effort>" in sdf(third)
    # Marks of writing direction in a name stand as references, and line ends as they are.
    named = sdf(replace(machine, name="left\u202eright\u00e9"))
    assert '<model name="left&#x202e;right\u00e9">\n' in named


def test_actuators_push_from_home_along_their_legs(machine):
    text = actuator_description(machine)
    assert text.startswith('<?xml version="1.0"?>\n<robot name="random_2">\n') and text.endswith("</robot>\n")
    robot = ElementTree.fromstring(text)
    assert [link.get("name") for link in robot.findall("link")] == [
        "base",
        *(f"{leg.name}_upper" for leg in machine.legs),
    ]
    for number, (leg, joint) in enumerate(zip(machine.legs, robot.findall("joint"), strict=True)):
        assert (joint.get("name"), joint.get("type")) == (leg.name, "prismatic")
        assert (joint.find("parent").get("link"), joint.find("child").get("link")) == (
            "base",
            f"{leg.name}_upper",
        )
        end = machine.home_position + machine.home_rotation @ leg.platform_point
        vector = end - leg.base_point
        np.testing.assert_allclose(numbers(joint.find("origin").get("xyz")), end, atol=1e-14)
        length = np.linalg.norm(vector)
        np.testing.assert_allclose(numbers(joint.find("axis").get("xyz")), vector / length, atol=1e-14)
        limit = {name: float(value) for name, value in joint.find("limit").attrib.items()}
        assert limit == pytest.approx(limits_of(number, length), rel=1e-12)


@pytest.mark.parametrize(
    ("given", "plugin", "commands"),
    [
        ({}, "gz_ros2_control/GazeboSimSystem", ["effort"]),
        (
            {"plugin": "my/Hardware", "commands": ("position", "velocity")},
            "my/Hardware",
            ["position", "velocity"],
        ),
    ],
)
def test_ros2_control_gets_hardware_commands_and_states_of_every_leg(machine, given, plugin, commands):
    robot = ElementTree.fromstring(actuator_description(machine, **given))
    (control,) = robot.findall("ros2_control")
    assert (control.get("name"), control.get("type")) == (machine.name, "system")
    assert control.findtext("hardware/plugin") == plugin
    for leg, joint in zip(machine.legs, control.findall("joint"), strict=True):
        assert joint.get("name") == leg.name
        assert [one.get("name") for one in joint.findall("command_interface")] == commands
        states = [one.get("name") for one in joint.findall("state_interface")]
        assert states == ["position", "velocity", "effort"]
