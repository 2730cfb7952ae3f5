"""Files that launch arguments name: descriptions, Gazebo's world, rviz configurations."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import yaml
from transforms3d.euler import euler2mat

from robot_dynamics.errors import ModelError, ParameterError, quoted
from robot_dynamics.inputs.arrays import real_number
from robot_dynamics.inputs.documents import read_yaml
from robot_dynamics.inputs.files import exists, is_regular, read_text
from robot_dynamics.model.expand import expand_xacro, is_xacro
from robot_dynamics.resources import resource, share_directory
from robot_dynamics.ros.launching.arguments import description_topic
from robot_dynamics.stewart.machine import Machine

MOVING = ("revolute", "continuous", "prismatic")
NO_LIMIT = "1000000"
"""Limit of effort or velocity for Gazebo where none is given [SI]: more than any joint reaches."""
TOPIC_PACKAGE = "joint_state_topic_hardware_interface"
"""Hardware of ros2_control that is two topics."""
TOPIC_HARDWARE = f"{TOPIC_PACKAGE}/JointStateTopicSystem"
TOPIC_PARAMETERS = {
    # Relative, so that a namespace goes before them.
    "joint_states_topic": "joint_states",
    "joint_commands_topic": "robot_joint_commands",
    # Below zero a command is sent in every cycle, also when it is like the state.
    "trigger_joint_command_threshold": "-1.0",
}
WORLD = "world"
"""Gazebo fixes a root link of this name to the ground."""
LEG_CONTROLLER = "leg_effort_controller"
GRAVITY = (0.0, 0.0, -9.81)
"""In the axes of ``urdf/world.sdf`` [m/s²]."""
POSE = {"x": "-x", "y": "-y", "z": "-z", "roll": "-R", "pitch": "-P", "yaw": "-Y"}
"""Numbers of a pose with the flags of ``ros_gz_sim``'s program ``create``."""

_folders: list[tempfile.TemporaryDirectory[str]] = []
"""Written configurations of rviz; they are removed with this process."""


def description_path(given: Mapping[str, str]) -> Path:
    """The file that ``description_file`` or ``robot`` names."""
    return _file("description_file", given["description_file"] or resource(f"urdf/{given['robot']}.urdf"))


def _file(argument: str, path: str | Path) -> Path:
    """The absolute path of a file; ParameterError when there is none."""
    if not is_regular(Path(path)):
        lacks = "is no regular file" if exists(Path(path)) else "does not exist"
        raise ParameterError(f"argument '{argument}': {path} {lacks}")
    return Path(path).resolve()


def plain_description(given: Mapping[str, str]) -> str:
    """XML text of the chosen robot; a xacro file is expanded."""
    path = description_path(given)
    return expand(path) if is_xacro(path) else read_text(path, "robot description", ParameterError)


def drives(given: Mapping[str, str]) -> str:
    """Parameter file of the drives of a robot of this package, such as their rotors' inertia; or empty.

    No URDF describes them. Gazebo's arm has none, and for another robot they are unknown.
    """
    other_robot = given["description_file"] or given["description"] == "external"
    file = share_directory() / f"config/{given['robot']}.yaml"
    return "" if other_robot or given["plant"] == "gazebo" or not file.is_file() else str(file)


def controllers_path(given: Mapping[str, str]) -> Path:
    """The YAML file of ros2_control's controllers that ``controllers`` names, or else the robot's own."""
    if given["description_file"] and not given["controllers"]:
        raise ParameterError(
            "argument 'controllers' is needed with 'description_file': a YAML file for your arm"
        )
    own = share_directory() / f"config/{given['robot']}_controllers.yaml"
    return _file("controllers", given["controllers"] or own)


def initial_positions(robot: str, path: str = "") -> dict[str, float]:
    """Initial joint positions of a robot, by its name in its description, from a YAML file [rad or m]."""
    where = f"argument 'initial_positions': {path} must hold robots with joints and positions"
    file = initial_positions_path(path)
    document = read_yaml(file, "YAML file", lambda reason: ParameterError(f"{where}: {reason}"))
    joints = document.get(robot) or {}
    if not isinstance(joints, Mapping):
        raise ParameterError(f"{where}: {robot} is {quoted(joints)}")
    return {joint: real_number(f"{where}: {joint}", value, ParameterError) for joint, value in joints.items()}


def initial_positions_path(path: str = "") -> Path:
    """The given YAML file of initial positions, or the package's."""
    return Path(path).resolve() if path else resource("config/initial_positions.yaml")


def robot_name(text: str) -> str:
    """Name of the robot in a description."""
    return _parse(text).get("name", "")


def gazebo_description(given: Mapping[str, str]) -> str:
    """XML text of the chosen robot with its ros2_control block for Gazebo.

    An effort or velocity limit of 0 means "not given", but Gazebo and ros2_control may enforce it: they get
    :data:`NO_LIMIT`.

    Raises:
        ParameterError: a file does not exist or cannot be understood, or names an unknown joint.
    """
    path, controllers = description_path(given), controllers_path(given)
    robot = _parse(plain_description(given))
    joints = _moving_joints(robot)
    driven = _driven_joints(controllers, "effort_controller", joints)
    further = [name for name in joints if name not in driven]
    mimic = [name for name in further if joints[name].find("mimic") is not None]
    children = {child.get("link") for child in robot.iterfind("joint/child")}
    roots = [link.get("name", "") for link in robot.findall("link") if link.get("name") not in children]
    expanded = expand(
        resource("urdf/gazebo_arm.xacro"),
        name=robot.get("name", ""),
        description=str(path),
        controllers=str(controllers),
        time=str(resource("config/gazebo_time.yaml")),
        initial_positions=str(initial_positions_path(given["initial_positions"])),
        held_joints=" ".join(name for name in further if name not in mimic),
        mimic_joints=" ".join(mimic),
        fixed_link="" if WORLD in roots else roots[0],
        namespace=given["namespace"],
        description_topic=description_topic(given),
    )
    return without_zero_limits(_with_one_control(expanded))


def _with_one_control(text: str) -> str:
    """A description with the last of its ros2_control blocks and of Gazebo's controller managers alone.

    Another block would command the same joints or real hardware; another manager has the same name.
    """
    robot = _parse(text)
    for block in robot.findall("ros2_control")[:-1]:
        robot.remove(block)
    managers = [
        (tag, plugin)
        for tag in robot.findall("gazebo")
        for plugin in tag.findall("plugin")
        if "ros_control" in plugin.get("filename", "") or "ros2_control" in plugin.get("filename", "")
    ]
    for tag, plugin in managers[:-1]:
        tag.remove(plugin)
    return ElementTree.tostring(robot, encoding="unicode")


def topic_description(given: Mapping[str, str]) -> str:
    """XML text of the chosen robot whose ros2_control hardware are the topics of this package's simulator.

    Hardware that the description names by itself is removed, so that no robot moves. Limits of 0 become
    :data:`NO_LIMIT`.

    Raises:
        ParameterError: a file does not exist or cannot be understood, or names an unknown joint.
    """
    robot = _parse(plain_description(given))
    for hardware in robot.findall("ros2_control"):
        robot.remove(hardware)
    name, joints = robot.get("name", ""), _moving_joints(robot)
    initial = initial_positions(name, given["initial_positions"])
    system = ElementTree.SubElement(robot, "ros2_control", name=name, type="system")
    hardware = ElementTree.SubElement(system, "hardware")
    ElementTree.SubElement(hardware, "plugin").text = TOPIC_HARDWARE
    for key, value in TOPIC_PARAMETERS.items():
        ElementTree.SubElement(hardware, "param", name=key).text = value
    for driven in _driven_joints(controllers_path(given), "joint_trajectory_controller", joints):
        joint = ElementTree.SubElement(system, "joint", name=driven)
        ElementTree.SubElement(joint, "command_interface", name="effort")
        begins = {"position": initial.get(driven, _start(joints[driven])), "velocity": 0.0, "effort": 0.0}
        for state, begin in begins.items():
            interface = ElementTree.SubElement(joint, "state_interface", name=state)
            # The controller may be active before the first state has come.
            ElementTree.SubElement(interface, "param", name="initial_value").text = repr(begin)
    return without_zero_limits(ElementTree.tostring(robot, encoding="unicode"))


def _moving_joints(robot: ElementTree.Element) -> dict[str, ElementTree.Element]:
    """The joints that move, by their names."""
    return {joint.get("name", ""): joint for joint in robot.findall("joint") if joint.get("type") in MOVING}


def _driven_joints(controllers: Path, controller: str, moving: Mapping[str, object]) -> list[str]:
    """The joints of an effort controller, which ``moving`` must have."""
    driven = effort_joints(controllers, controller)
    unknown = [name for name in driven if name not in moving]
    if unknown:
        raise ParameterError(
            f"{controllers} gives efforts to {', '.join(unknown)}; the robot's moving joints are"
            f" {', '.join(moving)}"
        )
    return driven


def _start(joint: ElementTree.Element) -> float:
    """Initial position of a joint that no file names: zero, or the limit next to it, as in the simulator."""
    limit = joint.find("limit")
    if limit is None or joint.get("type") == "continuous":
        return 0.0
    return min(max(0.0, float(limit.get("lower", "0"))), float(limit.get("upper", "0")))


def without_zero_limits(text: str) -> str:
    """A description without effort or velocity limits of 0; ROS's parsers know no infinity."""
    robot = _parse(text)
    limits = itertools.product(robot.findall("joint/limit"), ("effort", "velocity"))
    zeros = [(limit, name) for limit, name in limits if _number(limit.get(name, "")) == 0.0]
    if not zeros:
        return text
    for limit, name in zeros:
        limit.set(name, NO_LIMIT)
    return ElementTree.tostring(robot, encoding="unicode")


def _number(word: str) -> object:
    """The number that a word means, or the word."""
    try:
        return float(word)
    except ValueError:
        return word


def effort_joints(controllers: Path, controller: str = "effort_controller") -> list[str]:
    """The joints of an effort controller in a YAML file of ros2_control, in the order of its commands."""
    where = f"{controllers} must hold '/**/{controller}', 'ros__parameters', 'joints'"
    document = read_yaml(controllers, "YAML file", lambda reason: ParameterError(f"{where}: {reason}"))
    try:
        joints = document[f"/**/{controller}"]["ros__parameters"]["joints"]
    except (KeyError, TypeError) as error:
        raise ParameterError(f"{where}: {error!r}") from error
    if not isinstance(joints, list) or not all(isinstance(name, str) for name in joints):
        raise ParameterError(f"{where}: {quoted(joints)} are no names")
    return joints


def expand(path: Path, **arguments: str) -> str:
    """XML text of a xacro file."""
    try:
        return expand_xacro(path, arguments)
    except ModelError as error:
        raise ParameterError(str(error)) from error


def _parse(text: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ParameterError(f"the robot's description is not XML: {error}") from error


def machine_path(given: Mapping[str, str]) -> Path:
    """The YAML file of a platform that ``machine_file`` or ``platform`` names."""
    return _file("machine_file", given["machine_file"] or resource(f"config/{given['platform']}.yaml"))


def leg_controllers(given: Mapping[str, str], platform: Machine) -> str:
    """Path of the YAML file of ros2_control's controllers for the legs.

    Raises:
        ParameterError: it does not exist, or its joints are not the legs of the platform in their order.
    """
    path = _file("leg_controllers", given["leg_controllers"] or resource("config/leg_controllers.yaml"))
    joints = effort_joints(path, LEG_CONTROLLER)
    if joints != list(platform.leg_names):
        raise ParameterError(
            f"the joints of {LEG_CONTROLLER} in {path} are {', '.join(joints)};"
            f" the legs of {platform.name} are {', '.join(platform.leg_names)}"
        )
    return str(path)


def world_path(given: Mapping[str, str]) -> str:
    """The SDF file that ``world`` names, or this package's; Gazebo looks for a bare name itself."""
    if not given["world"]:
        return str(resource("urdf/world.sdf"))
    path = Path(given["world"])
    return given["world"] if len(path.parts) == 1 and not path.is_file() else str(_file("world", path))


def spawn_pose(given: Mapping[str, str]) -> list[float]:
    """The six numbers of ``spawn_pose``: x, y, z [m], roll, pitch, yaw [rad]."""
    where, words = "argument 'spawn_pose'", given["spawn_pose"].split()
    if len(words) != len(POSE):
        raise ParameterError(
            f"{where} is {quoted(given['spawn_pose'])}; it must be six numbers: {' '.join(POSE)}"
        )
    named = zip(POSE, words, strict=True)
    return [real_number(f"{where}: {name}", _number(word), ParameterError) for name, word in named]


def placed(given: Mapping[str, str], name: str) -> list[str]:
    """Arguments of ``ros_gz_sim``'s program ``create``: name and pose of a robot."""
    flags = zip(POSE.values(), spawn_pose(given), strict=True)
    return ["-name", given["entity"] or name, *(word for flag, x in flags for word in (flag, f"{x:.17g}"))]


def tilted_gravity(given: Mapping[str, str]) -> dict[str, list[float]]:
    """The parameter ``gravity`` of a robot that ``spawn_pose`` tilts, in its root link's axes [m/s²]."""
    roll, pitch, yaw = spawn_pose(given)[3:]
    if roll == pitch == 0.0:
        return {}
    return {"gravity": (euler2mat(roll, pitch, yaw, "sxyz").T @ np.array(GRAVITY)).tolist()}


def with_frame_prefix(path: str, prefix: str) -> str:
    """Path of an rviz configuration like the one at ``path``, for frames that begin with ``prefix``.

    Raises:
        ParameterError: rviz cannot show the prefix, or the file is no configuration of rviz.
    """
    if not prefix:
        return path
    if not prefix.endswith("/"):
        raise ParameterError(f"frame_prefix is {prefix!r}; rviz shows robots only where it ends in '/'")
    useless = f"{path} cannot be used as a configuration of rviz"
    try:
        configuration = read_yaml(path, "YAML file", lambda reason: ParameterError(f"{useless}: {reason}"))
        manager = configuration["Visualization Manager"]
        manager["Global Options"]["Fixed Frame"] = prefix + manager["Global Options"]["Fixed Frame"]
        for display in manager["Displays"]:
            if display["Class"] == "rviz_default_plugins/RobotModel":
                display["TF Prefix"] = prefix.rstrip("/")
    except (KeyError, TypeError, AttributeError) as error:
        raise ParameterError(f"{useless}: {error!r}") from error
    folder = tempfile.TemporaryDirectory(prefix="robot_dynamics_rviz_")
    _folders.append(folder)
    changed = Path(folder.name) / Path(path).name
    changed.write_text(yaml.safe_dump(configuration, sort_keys=False), encoding="utf-8")
    return str(changed)
