"""Every node of a launch is killed in turn: the launch goes down, or starts it again, as declared."""

import pytest

pytest.importorskip("launch.actions", reason="launch is not installed")
pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed")

import stub_ros_packages
from lifecycle_msgs.srv import GetState
from rclpy.qos import qos_profile_sensor_data
from ros_harness import free_port
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from stock_ros2 import Session, description, needs, needs_command

pytestmark = pytest.mark.ros
CONTROLLER = "computed_torque_controller"
FADE_TIME = 0.2
ARM = ("simulator", CONTROLLER)
PLATFORM = ("simulator", "stewart_platform")
# The file, its arguments, the nodes that it starts, and the one to be killed.
KILLS = [
    ("computed_torque", (), ARM, CONTROLLER),
    ("computed_torque", (), ARM, "simulator"),
    ("computed_torque", ("robot_model:=true",), (*ARM, "robot_model"), "robot_model"),
    ("computed_torque", ("web_view:=true",), (*ARM, "web_view"), "web_view"),
    ("computed_torque", ("rviz:=true",), (*ARM, "markers"), "markers"),
    (
        "computed_torque",
        ("description:=robot_state_publisher",),
        (*ARM, "robot_state_publisher"),
        "robot_state_publisher",
    ),
    ("feedforward", ("plant:=none",), ("trajectory_feedforward",), "trajectory_feedforward"),
    ("stewart", (), PLATFORM, "stewart_platform"),
    ("stewart", (), PLATFORM, "simulator"),
    ("stewart", ("web_view:=true",), (*PLATFORM, "web_view"), "web_view"),
]


@pytest.fixture
def session(tmp_path):
    """Starts ``ros2 launch`` with an arm or a platform, all of whose nodes are up."""
    needs("robot_dynamics")
    needs_command("launch")
    started = []
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"/**: {{ros__parameters: {{safe_fade_time: {FADE_TIME}}}}}", encoding="utf-8")
    page = tmp_path / "page.yaml"
    page.write_text(f"/**: {{ros__parameters: {{port: {free_port()}}}}}", encoding="utf-8")

    def start(file: str, arguments: tuple[str, ...], nodes: tuple[str, ...], on_exit: str) -> Session:
        if "robot_state_publisher" in nodes:
            needs("robot_state_publisher")
        if "web_view" in nodes:
            pytest.importorskip("viser", reason="viser is not installed")
            arguments = (*arguments, f"web_view_parameters:={page}")
        environment = {}
        if "markers" in nodes:
            found = stub_ros_packages.install(tmp_path, "rviz2")
            environment = {name: found[name] for name in ("AMENT_PREFIX_PATH", "STUB_RECORD")}
        if file != "stewart":
            arguments = ("robot:=scara", description(), *arguments)
        if file == "computed_torque":
            arguments = (*arguments, f"controller_parameters:={settings}")
        one = Session(file, f"on_exit:={on_exit}", *arguments, environment=environment)
        started.append(one)
        one.wait_for_nodes(*nodes)
        return one

    yield start
    for one in started:
        one.close()


def identity(kill: tuple) -> str:
    return f"{kill[0]}-{kill[3]}"


@pytest.mark.parametrize("kill", KILLS, ids=identity)
def test_a_killed_node_takes_the_launch_down_and_the_others_end_cleanly(session, kill):
    file, arguments, nodes, victim = kill
    one = session(file, arguments, nodes, "shutdown")
    one.peer.processes.clear()
    one.kill(victim)
    assert one.launch.wait() != 0
    assert f"{victim} has ended with exit code -9: the launch goes down" in one.launch.output
    for node in set(nodes) - {victim}:
        assert one.launch.ended_cleanly(node), one.launch.describe()


@pytest.mark.parametrize("kill", KILLS, ids=identity)
def test_a_killed_node_is_started_again_where_that_is_declared(session, kill):
    file, arguments, nodes, victim = kill
    one = session(file, arguments, nodes, "respawn")
    topic = "leg_effort_controller/commands" if file == "stewart" else "effort_controller/commands"
    efforts = []
    if file != "feedforward":
        efforts = one.peer.subscribe(Float64MultiArray, topic, qos_profile_sensor_data)
        one.peer.wait_until(lambda: efforts and any(efforts[-1].data), "the machine is not held")
    printed = one.kill(victim)
    one.wait_for_output(rf"{victim}-\d+\]: process has died", after=printed)
    if victim == "simulator":
        safe = "settle" if file == "stewart" else "gravity_fade"
        one.wait_for_output(rf"no joint state for .* safe output {safe}", after=printed)
    if victim in (CONTROLLER, "stewart_platform"):
        one.wait_for_output(r"simulator.* no command for .*: brake", after=printed)
    one.wait_for_output(rf"{victim}-\d+\]: process started", after=printed)
    one.wait_for_nodes(*nodes)
    if victim == "simulator":
        one.wait_for_output("joint states are back: holding", after=printed)
    if efforts:
        count = len(efforts)
        one.peer.wait_until(
            lambda: len(efforts) > count + 50 and any(efforts[-1].data), "the machine is not held again"
        )
    assert one.launch.running


def test_the_arm_stays_braked_where_it_is_until_its_controller_is_back(session):
    one = session("computed_torque", (), ARM, "respawn")
    states = one.peer.subscribe(JointState, "joint_states", qos_profile_sensor_data)
    one.peer.wait_until(lambda: states and any(states[-1].effort), "the arm is not held")
    before = list(states[-1].position)
    printed = one.kill(CONTROLLER)
    one.wait_for_output("no command for .*: brake", after=printed)
    count = len(states)
    one.peer.wait_until(lambda: len(states) > count + 10, "no states from the braked arm")
    assert not any(states[-1].effort)
    one.wait_for_output(rf"{CONTROLLER}-\d+\]: process started", after=printed)
    one.peer.wait_until(lambda: any(states[-1].effort), "the arm is not held again")
    assert list(states[-1].position) == pytest.approx(before, abs=0.01)
    state = one.peer.call(GetState, f"{CONTROLLER}/get_state").current_state
    assert state.label == "active"


def test_the_controller_fades_its_efforts_while_the_plant_is_away(session):
    one = session("computed_torque", (), ARM, "respawn")
    efforts = one.peer.subscribe(Float64MultiArray, "effort_controller/commands", qos_profile_sensor_data)
    one.peer.wait_until(lambda: efforts and any(efforts[-1].data), "the arm is not held")
    one.kill("simulator")
    one.peer.wait_until(lambda: not any(efforts[-1].data), "the efforts do not fade to zero")
    one.peer.wait_until(lambda: any(efforts[-1].data), "the arm is not held again")
