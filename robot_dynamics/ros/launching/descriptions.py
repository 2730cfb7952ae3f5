"""Robot descriptions for the launch files: plain, or with what Gazebo's ros2_control needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from robot_dynamics.errors import ModelError, ParameterError, quoted
from robot_dynamics.inputs.arrays import real_number
from robot_dynamics.inputs.documents import read_yaml
from robot_dynamics.inputs.files import read_text
from robot_dynamics.model.expand import expand_xacro, is_xacro
from robot_dynamics.resources import resource, share_directory
from robot_dynamics.ros.launching.arguments import description_topic

MOVING = ("revolute", "continuous", "prismatic")
NO_LIMIT = "1000000"
"""What Gazebo gets for an effort or velocity limit that is not given [SI]: more than any joint reaches."""
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


def description_path(given: Mapping[str, str]) -> Path:
    """The file that ``description_file`` or ``robot`` names.

    Raises:
        ParameterError: it does not exist.
    """
    path = Path(given["description_file"] or resource(f"urdf/{given['robot']}.urdf"))
    if not path.is_file():
        raise ParameterError(f"argument 'description_file': {path} does not exist")
    return path.resolve()


def plain_description(given: Mapping[str, str]) -> str:
    """XML text of the chosen robot; a xacro file is expanded.

    Raises:
        ParameterError: the file does not exist, or xacro does not understand it.
    """
    path = description_path(given)
    return expand(path) if is_xacro(path) else read_text(path, "robot description", ParameterError)


def drives(given: Mapping[str, str]) -> str:
    """Parameter file of the drives of one of the package's robots, such as their rotors' inertia; or none.

    No URDF describes them. Gazebo's arm does not have them, and of another robot nothing is known.
    """
    other_robot = given["description_file"] or given["description"] == "external"
    file = share_directory() / f"config/{given['robot']}.yaml"
    return "" if other_robot or given["plant"] == "gazebo" or not file.is_file() else str(file)


def controllers_path(given: Mapping[str, str]) -> Path:
    """The YAML file of ros2_control's controllers that ``controllers`` names, or else the robot's own.

    Raises:
        ParameterError: it does not exist.
    """
    if given["description_file"] and not given["controllers"]:
        raise ParameterError(
            "argument 'controllers' is needed with 'description_file': a YAML file for your arm"
        )
    path = Path(given["controllers"] or share_directory() / f"config/{given['robot']}_controllers.yaml")
    if not path.is_file():
        raise ParameterError(f"argument 'controllers': {path} does not exist")
    return path.resolve()


def initial_positions(robot: str, path: str = "") -> dict[str, float]:
    """Where the joints of a robot begin, the same in every plant [rad or m].

    Args:
        robot: name of the robot in its description.
        path: YAML file; empty: the package's.

    Raises:
        ParameterError: the file cannot be read.
    """
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
    """Name of the robot in a description.

    Raises:
        ParameterError: the text is no XML.
    """
    return _parse(text).get("name", "")


def gazebo_description(given: Mapping[str, str]) -> str:
    """XML text of the chosen robot with its ros2_control block for Gazebo.

    An effort or velocity limit of 0 stands for "not given", but Gazebo and ros2_control may enforce it: they
    get :data:`NO_LIMIT`.

    Args:
        given: values of ``robot``, ``description_file``, ``controllers``, ``initial_positions``,
            ``namespace`` and ``remappings``.

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
    return without_zero_limits(expanded)


def topic_description(given: Mapping[str, str]) -> str:
    """XML text of the chosen robot whose hardware of ros2_control are topics: this package's simulator.

    Hardware that the description names by itself is left out: who asks for the simulator moves no robot.
    Limits of 0 become :data:`NO_LIMIT`.

    Args:
        given: values of ``robot``, ``description_file``, ``controllers`` and ``initial_positions``.

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
    """Where a joint begins that no file tells: at zero, or at the limit next to it, as in the simulator."""
    limit = joint.find("limit")
    if limit is None or joint.get("type") == "continuous":
        return 0.0
    return min(max(0.0, float(limit.get("lower", "0"))), float(limit.get("upper", "0")))


def without_zero_limits(text: str) -> str:
    """A description in which no joint has an effort or velocity limit of 0; ROS's parsers know no infinity.

    Raises:
        ParameterError: the text is no XML.
    """
    robot = _parse(text)
    zeros = [
        (limit, name)
        for limit in robot.findall("joint/limit")
        for name in ("effort", "velocity")
        if _is_zero(limit.get(name, ""))
    ]
    if not zeros:
        return text
    for limit, name in zeros:
        limit.set(name, NO_LIMIT)
    return ElementTree.tostring(robot, encoding="unicode")


def _is_zero(word: str) -> bool:
    try:
        return float(word) == 0.0
    except ValueError:
        return False


def effort_joints(controllers: Path, controller: str = "effort_controller") -> list[str]:
    """The joints of an effort controller in a YAML file of ros2_control, in the order of its commands.

    Raises:
        ParameterError: the file has none.
    """
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
    """XML text of a xacro file.

    Raises:
        ParameterError: xacro is not installed, or does not understand the file.
    """
    try:
        return expand_xacro(path, arguments)
    except ModelError as error:
        raise ParameterError(str(error)) from error


def _parse(text: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ParameterError(f"the robot's description is not XML: {error}") from error
