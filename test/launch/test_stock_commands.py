"""From ``ros2 launch`` to a moving arm with stock commands alone; skipped by name where they are missing."""

import contextlib
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("launch.actions", reason="launch is not installed")
pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed")

from ament_index_python.packages import get_package_prefix
from patience import PATIENCE
from rclpy.qos import qos_profile_sensor_data
from ros_harness import NodeProcess
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from stock_ros2 import Session, description, needs, needs_command

from robot_dynamics.resources import resource, share_directory

pytestmark = pytest.mark.ros
FILES = sorted(path.name for path in (share_directory() / "launch").glob("*.launch.py"))
PAGE = Path(__file__).parents[2] / "docs/reference/launch_files.md"
CONTROLLER = "computed_torque_controller"
OWN_ARM = """<robot name="crane"><link name="base"/>
  <link name="boom"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="trolley"><inertial><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="lift" type="revolute"><parent link="base"/><child link="boom"/><axis xyz="0 -1 0"/>
    <limit lower="-2" upper="2" effort="100" velocity="5"/></joint>
  <joint name="slide" type="prismatic"><parent link="boom"/><child link="trolley"/><axis xyz="1 0 0"/>
    <origin xyz="0.5 0 0"/>
    <limit lower="0" upper="1" effort="100" velocity="2"/></joint></robot>"""


@pytest.fixture
def session(tmp_path):
    """Starts ``ros2 launch``; in lockstep, so that a busy machine does not matter."""
    needs("robot_dynamics")
    needs_command("launch")
    started = []
    lockstep = tmp_path / "lockstep.yaml"
    lockstep.write_text("/**: {ros__parameters: {lockstep: true}}", encoding="utf-8")
    files = [f"controller_parameters:={lockstep}", f"simulator_parameters:={lockstep}"]

    def start(file: str, *arguments: str) -> Session:
        started.append(Session(file, description(), *files, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.close()


def own_arm(folder: Path) -> str:
    """The launch argument for an arm that this package does not know."""
    (folder / "crane.urdf").write_text(OWN_ARM, encoding="utf-8")
    return f"description_file:={folder / 'crane.urdf'}"


def send_goal(session: Session, controller: str, positions: dict[str, float], tolerance: float) -> str:
    """Output of ``ros2 action send_goal`` until a goal of two seconds has ended."""
    points = [{"positions": list(positions.values()), "time_from_start": {"sec": 2}}]
    tolerances = [{"name": name, "position": tolerance} for name in positions]
    goal = {
        "trajectory": {"joint_names": list(positions), "points": points},
        "path_tolerance": tolerances,
        "goal_tolerance": tolerances,
    }
    return session.ros2(
        *("action", "send_goal", "--feedback", f"{controller}/follow_joint_trajectory"),
        *("control_msgs/action/FollowJointTrajectory", json.dumps(goal)),
        expect="Goal finished",
    )


def joint_states(session: Session, namespace: str = "") -> list:
    """The growing list of joint states of an arm that is held by its controller."""
    states = session.peer.subscribe(JointState, f"{namespace}/joint_states", qos_profile_sensor_data)
    session.peer.wait_until(lambda: states and any(states[-1].effort), "the arm is not held")
    return states


@pytest.mark.parametrize(
    ("robot", "namespace", "goal", "tolerance"),
    [
        ("puma560", "", {f"joint{k}": 0.1 * k for k in range(1, 7)}, 1e-3),
        # Its last joint, which weighs next to nothing, sticks by dry friction.
        ("scara", "/left", {"joint1": 0.2, "joint2": -0.8, "joint3": 0.1, "joint4": 0.5}, 0.15),
        ("crane", "", {"slide": 0.4, "lift": 0.7}, 1e-3),
    ],
)
def test_a_goal_is_reached_by_the_stock_action_command(session, tmp_path, robot, namespace, goal, tolerance):
    needs_command("action")
    needs("control_msgs")
    which = own_arm(tmp_path) if robot == "crane" else f"robot:={robot}"
    one = session("computed_torque", which, *([f"namespace:={namespace[1:]}"] if namespace else []))
    states = joint_states(one, namespace)
    printed = send_goal(one, f"{namespace}/{CONTROLLER}", goal, tolerance)
    assert "Goal finished with status: SUCCEEDED" in printed
    assert "Feedback:" in printed
    count = len(states)
    one.peer.wait_until(lambda: len(states) > count, "no further joint states")
    reached = dict(zip(states[-1].name, states[-1].position, strict=True))
    assert reached == pytest.approx(goal, abs=tolerance)


def test_the_first_commands_on_the_page_do_what_it_says(session):
    needs_command("action", "param", "service", "lifecycle")
    needs("control_msgs")
    if not PAGE.is_file():
        pytest.skip("the documentation is not here")
    block = next(text for text in PAGE.read_text(encoding="utf-8").split("```") if "ros2 action" in text)
    commands = re.split(r"\n(?=ros2 )", block.removeprefix("sh\n").replace("\\\n", " "))
    one = session("computed_torque")
    states = joint_states(one)
    answers = {
        "action": "Goal finished with status: SUCCEEDED",
        "param": "Set parameter successful",
        "service": "success=True",
        "lifecycle": "Transitioning successful",
    }
    for words in map(shlex.split, commands):
        one.ros2(*words[1:], expect=answers[words[1]])
    assert len(commands) == 5
    one.peer.wait_until(lambda: states[-1].position[0] < 0.6, "the arm has not moved")


def test_what_a_goal_asks_in_vain_is_told(session):
    needs_command("action")
    needs("control_msgs")
    one = session("computed_torque", "robot:=scara")
    joint_states(one)
    goal = {"joint1": 0.2, "joint2": -0.8, "joint3": 9.0, "joint4": 0.5}
    printed = send_goal(one, CONTROLLER, goal, 0.01)
    assert "Goal finished with status: ABORTED" in printed
    assert "joint 'joint3' would reach 9.0" in printed


def test_gains_and_payload_change_live(session, tmp_path):
    needs_command("param")
    one = session("computed_torque", own_arm(tmp_path))
    states = joint_states(one)

    def set_parameter(node: str, name: str, value: str, expect: str = "Set parameter successful") -> str:
        return one.ros2("param", "set", "--no-daemon", f"/{node}", name, value, expect=expect)

    def error() -> float:
        return abs(states[-1].position[0])

    def settles() -> float:
        one.peer.wait_until(
            lambda: error() > 1e-4 and abs(states[-1].velocity[0]) < 1e-9, "the boom does not settle"
        )
        return error()

    # What hangs on the boom pulls it down by an error that is inverse to the gain ...
    set_parameter("simulator", "payload_mass", "0.1")
    before = settles()
    set_parameter(CONTROLLER, "kp", "[400.0]")
    set_parameter(CONTROLLER, "kv", "[40.0]")
    one.peer.wait_until(lambda: error() < 0.3 * before, "the gains have no effect")
    assert settles() == pytest.approx(before / 4, rel=0.02)
    # ... until the controller knows it.
    set_parameter(CONTROLLER, "payload_mass", "0.1")
    one.peer.wait_until(lambda: error() < 1e-6, "the payload is not carried")
    refused = set_parameter(CONTROLLER, "kp", "[-1.0]", expect="Setting parameter failed")
    assert "'kp'" in refused and "-1" in refused
    assert "400.0" in one.ros2("param", "get", "--no-daemon", f"/{CONTROLLER}", "kp", expect="value")


def test_hold_and_lifecycle_by_stock_commands(session):
    needs_command("lifecycle", "service")
    one = session("computed_torque", "robot:=scara", "namespace:=left")
    efforts = one.peer.subscribe(
        Float64MultiArray, "/left/effort_controller/commands", qos_profile_sensor_data
    )
    node = f"/left/{CONTROLLER}"
    hold = ("service", "call", f"{node}/hold", "std_srvs/srv/Trigger")
    one.ros2(*hold, expect="success=True")
    one.ros2("lifecycle", "get", "--no-daemon", node, expect="active [3]")
    one.ros2("lifecycle", "set", "--no-daemon", node, "deactivate", expect="Transitioning successful")
    one.ros2("lifecycle", "get", "--no-daemon", node, expect="inactive [2]")
    one.peer.wait_until(lambda: efforts and not any(efforts[-1].data), "the efforts do not fade to zero")
    assert "success=False, message='the controller is not active'" in one.ros2(*hold, expect="response")
    one.ros2("lifecycle", "set", "--no-daemon", node, "activate", expect="Transitioning successful")
    one.peer.wait_until(lambda: any(efforts[-1].data), "no efforts after the activation")


def test_an_interrupt_ends_every_node_cleanly(session):
    one = session("computed_torque", "robot:=scara", "robot_model:=true")
    joint_states(one)
    one.wait_for_nodes("simulator", CONTROLLER, "robot_model")
    one.peer.processes.clear()
    assert one.launch.stop() == 0
    for node in ("simulator", CONTROLLER, "robot_model"):
        assert one.launch.ended_cleanly(node), one.launch.describe()


def test_another_plant_takes_the_simulators_place_on_the_same_topics(session):
    """``plant:=none``, and in the launch's stead a robot that the controller finds by its topics alone."""
    needs_command("launch")

    def topics_of_the_controller(one: Session) -> dict:
        node = one.peer.node
        one.wait_for_nodes(CONTROLLER)
        both = (
            node.get_publisher_names_and_types_by_node,
            node.get_subscriber_names_and_types_by_node,
            node.get_service_names_and_types_by_node,
        )
        return {ask.__name__: sorted(ask(CONTROLLER, "/")) for ask in both}

    launched = session("computed_torque", "robot:=scara", "plant:=simulator")
    joint_states(launched)
    launched.wait_for_output("model of scara")
    expected = topics_of_the_controller(launched)
    launched.close()

    other = session("computed_torque", "robot:=scara", "plant:=none")
    start = {"initial_joints": ["joint3"], "initial_positions": [0.1], "lockstep": True}
    text = resource("urdf/scara.urdf").read_text(encoding="utf-8")
    with NodeProcess("simulator", {"robot_description": text, **start}):
        states = joint_states(other)
        count = len(states)
        other.peer.wait_until(lambda: len(states) > count + 100, "the other plant is not commanded")
        assert states[-1].position[2] == pytest.approx(0.1, abs=1e-6)
        assert topics_of_the_controller(other) == expected


@pytest.mark.parametrize(
    ("file", "argument", "package"),
    [
        ("computed_torque", "plant:=gazebo", "ros_gz_sim"),
        ("stewart", "plant:=gazebo", "ros_gz_sim"),
        ("computed_torque", "rviz:=true", "rviz2"),
        ("stewart", "rviz:=true", "rviz2"),
    ],
)
def test_a_missing_package_is_told_in_a_sentence_before_anything_runs(session, file, argument, package):
    with contextlib.suppress(LookupError):
        get_package_prefix(package)
        pytest.skip(f"{package} is installed")
    one = session(file, argument)
    one.peer.processes.clear()
    assert one.launch.wait() != 0
    assert f"the package {package} is not installed" in one.launch.output
    assert "Traceback" not in one.launch.output
    assert "process started" not in one.launch.output


@pytest.mark.parametrize("file", FILES)
def test_the_arguments_of_every_file_are_told(file):
    needs("robot_dynamics")
    needs_command("launch")
    command = ["ros2", "launch", "robot_dynamics", file, "--show-args"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    # The name of the argument, what it is for with its choices (some lines), and its default.
    told = re.findall(r"^    '(\w+)':\n((?: {8}\S.*\n)+) {8}\(default: .*\)$", shown, re.MULTILINE)
    assert len(told) == len(re.findall(r"^    '\w+':$", shown, re.MULTILINE)) > 0
    assert {"on_exit"} <= {name for name, _ in told}
    assert all(len(text) > 20 for _, text in told)
