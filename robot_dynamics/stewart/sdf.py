"""A Stewart platform for Gazebo: its SDF model, and the description of its actuators for ros2_control.

The platform hangs in six closed loops, and Gazebo's physics takes none: a joint whose child has a parent
already is refused with a message in the log, and the loop stays open. Here each leg ends in a small body of
its own behind the ball joint, the tip, and the system ``DetachableJoint`` welds the six tips to the platform
when the simulation begins. What the tips weigh is taken from the platform, so that the whole is the machine.

The model is drawn at home, and the position of a prismatic joint is the leg's length beyond that at home
(:func:`home_lengths`). The friction of the spherical joints and what turns in the
drives are left out: SDF has no place for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.resources import resource
from robot_dynamics.spatial import Array, rpy_from_rotation, shift_inertia
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import Leg, Machine
from robot_dynamics.stewart.physical import check_body

Element = ElementTree.Element

SDF_VERSION = "1.9"
PLATFORM, BASE = "platform", "base"
TIP_MASS_SHARES = (0.06, 0.04, 0.02, 0.01, 0.005, 0.002)
"""Mass of each leg's tip as a part of the platform's mass: the first that leaves a possible platform.

The heavier the better: Gazebo's physics dampens the legs before it closes the loops, so that a leg loses the
part time step x prismatic friction / (mass of upper part and tip) of what acts on it."""
TIP_RADIUS = 0.02
"""Radius of the solid ball whose inertia a tip has [m]."""
DETACHABLE_JOINT = ("gz-sim-detachable-joint-system", "gz::sim::systems::DetachableJoint")
ROS2_CONTROL = ("gz_ros2_control-system", "gz_ros2_control::GazeboSimROS2ControlPlugin")
GREY, STEEL, BLUE = "0.3 0.3 0.32 1", "0.7 0.72 0.75 1", "0.2 0.35 0.6 1"


@dataclass(frozen=True)
class Controllers:
    """Controllers that gz_ros2_control loads.

    Attributes:
        parameters: path of the controllers' YAML file.
        namespace: of the controller manager and its controllers.
        description_topic: where the controller manager finds the description of the actuators.
    """

    parameters: str
    namespace: str = ""
    description_topic: str = "robot_description"


def home_lengths(machine: Machine) -> Array:
    """(6,) lengths of the legs at home [m], at which the joint positions of the SDF model are zero."""
    return np.asarray(leg_geometry(machine, machine.home_position, machine.home_rotation).lengths)


def sdf(machine: Machine, controllers: Controllers | None = None) -> str:
    """The machine as an SDF model at home, standing on its base frame.

    Args:
        machine: the platform; its bodies must be such that can exist.
        controllers: drive the legs by gz_ros2_control; None leaves them without a controller.

    Raises:
        ModelError: a part of a leg has no mass, or mass properties that no body has, or the platform is so
            slender that it cannot give the tips their mass.
    """
    _check(machine)
    root = ElementTree.Element("sdf", version=SDF_VERSION)
    model = _add(root, "model", name=machine.name)
    # Links are placed in the model's own frame, which is the base frame.
    base = _add(model, "link", name=BASE)
    _inertial(base, RigidBody(1.0, np.zeros(3), np.eye(3)))
    _base_plate(base, machine)
    ground = _add(model, "joint", name="ground", type="fixed")
    _texts(ground, parent="world", child=BASE)
    tip, rest = _split(machine)
    legs = leg_geometry(machine, machine.home_position, machine.home_rotation)
    for leg, axis, vector in zip(machine.legs, machine.universal_axes, legs.vectors, strict=True):
        _leg(model, leg, axis, vector, tip)
    platform = _add(model, "link", name=PLATFORM)
    _pose(platform, machine.home_position, machine.home_rotation)
    _inertial(platform, rest)
    _platform_plate(platform, machine)
    for leg in machine.legs:
        weld = _plugin(model, DETACHABLE_JOINT)
        _texts(weld, parent_link=PLATFORM, child_model="__model__", child_link=f"{leg.name}_tip")
    if controllers is not None:
        control = _plugin(model, ROS2_CONTROL)
        for path in (controllers.parameters, str(resource("config/gazebo_time.yaml"))):
            _texts(control, parameters=path)
        _texts(control, hold_joints="true")
        # Always: without a rule of its own a second machine would follow the first one's.
        rule = f"controller_manager:robot_description:={controllers.description_topic}"
        _texts(_add(control, "ros"), namespace=f"/{controllers.namespace.strip('/')}", remapping=rule)
    return _document_text(root)


def actuator_description(
    machine: Machine,
    plugin: str = "gz_ros2_control/GazeboSimSystem",
    commands: Sequence[str] = ("effort",),
) -> str:
    """URDF with the six prismatic joints and their ros2_control block, for the controller manager.

    It serves ros2_control alone, which asks for a description on ``robot_description``: a tree of links
    cannot show the platform, so its frames mean nothing.

    Args:
        machine: the platform.
        plugin: hardware of ros2_control.
        commands: command interfaces of every leg.
    """
    lengths = home_lengths(machine)
    robot = ElementTree.Element("robot", name=machine.name)
    _add(robot, "link", name=BASE)
    for leg, length, direction in zip(machine.legs, lengths, machine.home_directions, strict=True):
        _add(robot, "link", name=f"{leg.name}_upper")
        joint = _add(robot, "joint", name=leg.name, type="prismatic")
        _add(joint, "parent", link=BASE)
        _add(joint, "child", link=f"{leg.name}_upper")
        _add(joint, "origin", xyz=_numbers_text(leg.base_point + length * direction))
        _add(joint, "axis", xyz=_numbers_text(direction))
        _add(joint, "limit", **{name: _number_text(value) for name, value in _limits(leg, length).items()})
    control = _add(robot, "ros2_control", name=machine.name, type="system")
    _texts(_add(control, "hardware"), plugin=plugin)
    for leg in machine.legs:
        joint = _add(control, "joint", name=leg.name)
        for command in commands:
            _add(joint, "command_interface", name=command)
        for state in ("position", "velocity", "effort"):
            _add(joint, "state_interface", name=state)
    return _document_text(robot)


def _check(machine: Machine) -> None:
    check_body(machine.platform, PLATFORM)
    for leg in machine.legs:
        for part, body in (("lower", leg.lower), ("upper", leg.upper)):
            if not body.mass > 0.0:
                raise ModelError(f"{leg.name}.{part}: Gazebo cannot simulate a body without mass")
            check_body(body, f"{leg.name}.{part}")


def _leg(model: Element, leg: Leg, axis: Array, vector: Array, tip: RigidBody) -> None:
    """The three bodies of one leg and the joints between them."""
    length = float(np.linalg.norm(vector))
    along = vector / length
    across = np.cross(axis, along)
    across /= np.linalg.norm(across)
    rotation = np.column_stack([along, across, np.cross(along, across)])
    end = leg.base_point + vector
    for part, body, position in (
        ("lower", leg.lower, leg.base_point),
        ("upper", leg.upper, end),
        ("tip", tip, end),
    ):
        link = _add(model, "link", name=f"{leg.name}_{part}")
        _pose(link, position, rotation)
        _inertial(link, body)
        if part == "lower":
            _rod(link, 0.0, 0.6 * length, 0.03, GREY)
        elif part == "upper":
            _rod(link, -0.55 * length, 0.0, 0.015, STEEL)
    if leg.universal_axis is None:
        _joint(model, f"{leg.name}_base", "ball", BASE, f"{leg.name}_lower")
    else:
        base = _joint(model, f"{leg.name}_base", "universal", BASE, f"{leg.name}_lower")
        _axis(base, "axis", rotation.T @ axis, {"damping": leg.friction.universal})
        _axis(base, "axis2", np.array([0.0, 1.0, 0.0]), {"damping": leg.friction.universal})
    slide = _joint(model, leg.name, "prismatic", f"{leg.name}_lower", f"{leg.name}_upper")
    _axis(slide, "axis", np.array([1.0, 0.0, 0.0]), _beside(leg, length), _limits(leg, length))
    _joint(model, f"{leg.name}_platform", "ball", f"{leg.name}_upper", f"{leg.name}_tip")


def _beside(leg: Leg, length: float) -> dict[str, float]:
    """Friction and spring of a leg's prismatic joint, whose position is zero at the given length."""
    spring, dynamics = leg.spring, {"damping": leg.friction.prismatic, "friction": leg.friction.coulomb}
    if spring.stiffness > 0.0:
        reference = spring.force_at(length) / spring.stiffness
        return {**dynamics, "spring_reference": reference, "spring_stiffness": spring.stiffness}
    if spring.stiffness < 0.0:
        raise ModelError(
            f"{leg.name}.spring: the stiffness is {spring.stiffness:g} N/m; Gazebo has no negative stiffness"
        )
    if spring.force != 0.0:
        raise ModelError(f"{leg.name}.spring: Gazebo has no spring of constant force; give it a stiffness")
    return dynamics


def _limits(leg: Leg, length: float) -> dict[str, float]:
    """Limits of a leg's prismatic joint, whose position is zero at the given length; finite in every case."""
    most = 1e6
    return {
        "lower": leg.limits.shortest - length,
        "upper": min(leg.limits.longest - length, most),
        "effort": min(leg.limits.force, most),
        "velocity": min(leg.limits.speed, most),
    }


def _split(machine: Machine) -> tuple[RigidBody, RigidBody]:
    """The tip of a leg, in leg axes, and what remains of the platform, in its frame."""
    for share in TIP_MASS_SHARES:
        mass = share * machine.platform.mass
        tip = RigidBody(mass, np.zeros(3), 0.4 * mass * TIP_RADIUS**2 * np.eye(3))
        rest = _without_tips(machine, tip)
        least, middle, greatest = np.linalg.eigvalsh(rest.inertia)
        if least + middle > greatest:  # then the least is positive
            return tip, rest
    raise ModelError(
        f"{machine.name}: the platform is too slender to give each leg a tip of {tip.mass:g} kg; a body with"
        " the rest of its inertia does not exist"
    )


def _without_tips(machine: Machine, tip: RigidBody) -> RigidBody:
    """The platform less the six tips that are welded to it."""
    whole = machine.platform
    mass = whole.mass - tip.mass * len(machine.legs)
    moment = whole.mass * whole.center_of_mass - tip.mass * machine.platform_points.sum(axis=0)
    inertia = whole.inertia + shift_inertia(whole.mass, whole.center_of_mass)
    for point in machine.platform_points:
        inertia = inertia - tip.inertia - shift_inertia(tip.mass, point)
    center = moment / mass
    return RigidBody(mass, center, inertia - shift_inertia(mass, center))


def _base_plate(link: Element, machine: Machine) -> None:
    radius = float(np.linalg.norm(machine.base_points, axis=1).max()) + 0.05
    _cylinder(link, "0.0 0.0 -0.01 0 0 0", radius, 0.02, GREY)


def _platform_plate(link: Element, machine: Machine) -> None:
    radius = float(np.linalg.norm(machine.platform_points, axis=1).max()) + 0.03
    _cylinder(link, "0.0 0.0 0.01 0 0 0", radius, 0.02, BLUE)


def _rod(link: Element, begin: float, end: float, radius: float, colour: str) -> None:
    """A cylinder along x."""
    pose = f"{_number_text(0.5 * (begin + end))} 0 0 0 {_number_text(0.5 * np.pi)} 0"
    _cylinder(link, pose, radius, abs(end - begin), colour)


def _cylinder(link: Element, pose: str, radius: float, length: float, colour: str) -> None:
    visual = _add(link, "visual", name="visual")
    _texts(visual, pose=pose)
    _texts(
        _add(_add(visual, "geometry"), "cylinder"), radius=_number_text(radius), length=_number_text(length)
    )
    _texts(_add(visual, "material"), ambient=colour, diffuse=colour)


def _joint(model: Element, name: str, kind: str, parent: str, child: str) -> Element:
    """A joint at the origin and in the axes of its child link."""
    joint = _add(model, "joint", name=name, type=kind)
    _texts(joint, parent=parent, child=child)
    return joint


def _axis(
    joint: Element,
    name: str,
    direction: Array,
    dynamics: dict[str, float],
    limits: dict[str, float] | None = None,
) -> None:
    axis = _add(joint, name)
    _texts(axis, xyz=_numbers_text(direction))
    for group, values in (("dynamics", dynamics), ("limit", limits or {})):
        if values:
            _texts(_add(axis, group), **{key: _number_text(value) for key, value in values.items()})


def _pose(link: Element, position: Array, rotation: Array) -> None:
    _texts(link, pose=f"{_numbers_text(position)} {_numbers_text(rpy_from_rotation(rotation))}")


def _inertial(link: Element, body: RigidBody) -> None:
    """Mass properties in the axes of the link: some releases of Gazebo's physics turn turned ones twice."""
    inertial = _add(link, "inertial")
    _texts(inertial, pose=f"{_numbers_text(body.center_of_mass)} 0 0 0", mass=_number_text(body.mass))
    tensor = _add(inertial, "inertia")
    for row, column in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        _texts(tensor, **{f"i{'xyz'[row]}{'xyz'[column]}": _number_text(body.inertia[row, column])})


def _plugin(model: Element, names: tuple[str, str]) -> Element:
    return _add(model, "plugin", filename=names[0], name=names[1])


def _add(element: Element, tag: str, /, **attributes: str) -> Element:
    """A new element at the end of ``element``."""
    return ElementTree.SubElement(element, tag, attributes)


def _texts(element: Element, /, **children: str) -> None:
    """New elements with these texts at the end of ``element``."""
    for tag, text in children.items():
        _add(element, tag).text = text


def _visible(document: str) -> str:
    """XML in which what is not printable, such as marks of writing direction, stands as a reference."""
    return "".join(c if c.isprintable() or c == "\n" else f"&#x{ord(c):x};" for c in document)


def _document_text(root: Element) -> str:
    """The whole document, indented."""
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + _visible(ElementTree.tostring(root, encoding="unicode")) + "\n"


def _numbers_text(values: Sequence[float] | Array) -> str:
    """Numbers with blanks between them."""
    return " ".join(_number_text(value) for value in values)


def _number_text(value: float) -> str:
    """Every digit that a double has, without a superfluous one."""
    return repr(float(value) + 0.0)
