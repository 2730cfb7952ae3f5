"""The launch files: what they declare, what they start and in which order, what happens when a part ends."""

import ast
import itertools
import os
import re
import signal
from pathlib import Path

import pytest
import yaml

from robot_dynamics.resources import share_directory

FILES = sorted((share_directory() / "launch").glob("*.launch.py"))
EXPECTED = {
    "computed_torque",
    "description",
    "feedforward",
    "gazebo_arm",
    "gazebo_stewart",
    "gazebo_world",
    "rviz",
    "stewart",
}
NODES_WITH_A_VIEW = ("computed_torque_controller", "robot_model", "markers", "rviz2", "web_view")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_launch_file_says_what_it_is_for_and_describes_itself(path):
    module = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    assert ast.get_docstring(module)
    functions = [node.name for node in module.body if isinstance(node, ast.FunctionDef)]
    assert "generate_launch_description" in functions


def test_every_launch_file_is_there():
    assert {path.name.removesuffix(".launch.py") for path in FILES} == EXPECTED


class TestWithLaunch:
    """Run where ``launch`` and ``launch_ros`` are installed."""

    @pytest.fixture(autouse=True)
    def needs_launch(self):
        # Not "launch" alone: a folder of that name would do.
        pytest.importorskip("launch.actions", reason="launch is not installed")
        pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed")

    @pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
    def test_arguments_are_described_and_defaults_are_among_the_choices(self, path):
        from launch import LaunchContext
        from launch.launch_description_sources import PythonLaunchDescriptionSource

        context = LaunchContext()
        context.launch_configurations["plant"] = "simulator"
        description = PythonLaunchDescriptionSource(str(path)).get_launch_description(context)
        arguments = description.get_launch_arguments()
        assert arguments
        for argument in arguments:
            assert len(argument.description) > 20, argument.name
            value = "".join(part.perform(context) for part in argument.default_value)
            assert argument.choices is None or value in argument.choices, argument.name
            assert max(map(len, argument.description.splitlines())) <= 108, argument.name
            told = " ".join(part.describe() for part in argument.default_value)
            assert "object at" not in told, told

    def test_the_arm_in_gazebo_starts_in_turn_with_one_namespace(self, tmp_path):
        names = ["ros_gz_bridge", "create", "joint_state_broadcaster", "effort_controller"]
        launch, calls = started(
            tmp_path,
            "computed_torque",
            *("robot:=arm7", "plant:=gazebo", "gui:=false", "namespace:=left"),
            *("rviz:=true", "web_view:=true", "robot_model:=true"),
        )
        with launch:
            launch.wait_for(lambda: call(calls(), "spawner", "effort_controller"), "the last spawner")
            for program in NODES_WITH_A_VIEW:
                launch.wait_for(lambda program=program: call(calls(), program), program)
            made = calls()
            assert launch.stop() == 0
        order = [
            made.index(call(made, *wanted))
            for wanted in (("create",), ("spawner", names[2]), ("spawner", names[3]))
        ]
        assert order == sorted(order)
        for program in (*NODES_WITH_A_VIEW, "robot_state_publisher", "create", "spawner"):
            assert "__ns:=/left" in call(made, program)["arguments"], program
        server = call(made, "gz_server")["arguments"]
        assert server[0].startswith("-r -s ") and server[0].endswith("urdf/world.sdf")
        assert server[1] == "true"
        assert "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock" in call(made, "parameter_bridge")["arguments"]
        create = call(made, "create")["arguments"]
        assert create[:4] == ["-topic", "robot_description", "-name", "arm7"]
        spawner = call(made, "spawner", "effort_controller")["arguments"]
        assert float(spawner[spawner.index("--switch-timeout") + 1]) > 1.0
        assert float(spawner[spawner.index("--controller-manager-timeout") + 1]) > 10.0
        assert spawner[spawner.index("--param-file") + 1].endswith("config/arm7_controllers.yaml")

    def test_everybody_takes_the_time_from_gazebo(self, tmp_path):
        views = ("rviz:=true", "web_view:=true", "robot_model:=true")
        launch, calls = started(tmp_path, "computed_torque", "plant:=gazebo", "gui:=false", *views)
        with launch:
            launch.wait_for(lambda: call(calls(), "spawner", "effort_controller"), "the last spawner")
            for program in (*NODES_WITH_A_VIEW, "robot_state_publisher"):
                made = launch.wait_for(lambda program=program: call(calls(), program), program)
                assert parameters(made)["use_sim_time"] is True, program

    def test_the_plant_is_swapped_by_one_argument(self, tmp_path):
        """The controller is started in the same way whatever the plant is; Gazebo has a time of its own."""
        seen = {}
        for plant in ("simulator", "gazebo", "none"):
            (tmp_path / plant).mkdir()
            launch, calls = started(tmp_path / plant, "computed_torque", "robot:=arm7", f"plant:={plant}")
            with launch:
                made = launch.wait_for(
                    lambda calls=calls: call(calls(), "computed_torque_controller"), "the controller"
                )
                if plant == "gazebo":
                    # launch bears no interruption while it starts a program.
                    last = lambda calls=calls: call(calls(), "spawner", "effort_controller")  # noqa: E731
                    launch.wait_for(last, "the last spawner")
                flags = [word for word in made["arguments"] if not word.startswith("/")]
                seen[plant] = (flags, parameters(made))
        assert seen["simulator"] == seen["none"]
        assert seen["gazebo"][0] == seen["none"][0]
        assert seen["gazebo"][1] == {**seen["none"][1], "use_sim_time": True}

    def test_the_description_for_gazebo_carries_the_effort_interfaces(self, tmp_path):
        launch, calls = started(tmp_path, "gazebo_arm", "robot:=scara", "gui:=false")
        with launch:
            launch.wait_for(lambda: call(calls(), "spawner", "effort_controller"), "the last spawner")
            made = launch.wait_for(lambda: call(calls(), "robot_state_publisher"), "robot_state_publisher")
            assert '<command_interface name="effort"/>' in parameters(made)["robot_description"]

    def test_the_feeder_gets_a_trajectory_controller_around_the_simulator(self, tmp_path):
        """It is what there is without Gazebo."""
        import stub_ros_packages

        from robot_dynamics.ros.launching.actions import installed

        there = [package for package in stub_ros_packages.PACKAGES if "gz" not in package]
        names = ["robot:=puma560", "namespace:=left", "robot_model:=true"]
        if installed("ros_gz_sim"):
            names.append("plant:=simulator")
        launch, calls = started(tmp_path, "feedforward", *names, packages=there)
        with launch:
            programs = ("trajectory_feedforward", "robot_model", "simulator", "robot_state_publisher")
            for program in (*programs, "ros2_control_node", "spawner"):
                launch.wait_for(lambda program=program: call(calls(), program), program)
            made = calls()
        assert "__ns:=/left" in call(made, "ros2_control_node")["arguments"]
        assert call(made, "spawner", "joint_trajectory_controller")
        plant = parameters(call(made, "simulator"))
        assert plant["command_message"] == "sensor_msgs/JointState"
        assert list(plant["initial_joints"]) == ["joint1", "joint3"]
        manager = parameters(call(made, "ros2_control_node"))
        assert (manager["update_rate"], manager["use_sim_time"], plant["publish_clock"]) == (500, True, True)
        # The gains of the controller are those of an arm without rotors.
        for program in ("simulator", "trajectory_feedforward", "robot_model"):
            assert "rotor_inertia" not in parameters(call(made, program)), program
        description = parameters(call(made, "robot_state_publisher"))["robot_description"]
        assert "joint_state_topic_hardware_interface/JointStateTopicSystem" in description

    def test_the_platform_in_gazebo_starts_in_turn(self, tmp_path):
        views = ("rviz:=true", "web_view:=true")
        where = ("plant:=gazebo", "gui:=false", "namespace:=right")
        launch, calls = started(tmp_path, "stewart", *where, *views)
        with launch:
            launch.wait_for(lambda: call(calls(), "spawner", "leg_effort_controller"), "the last spawner")
            launch.wait_for(lambda: call(calls(), "stewart_platform"), "the controller")
            made = calls()
            model = parameters(call(made, "create"))
            assert model["name"] == "stewart_demo" and "<sdf version" in model["string"]
            assert "<namespace>/right</namespace>" in model["string"]
            for program in ("stewart_platform", "web_view"):
                given = parameters(launch.wait_for(lambda name=program: call(calls(), name), program))
                assert len(given["zero_lengths"]) == 6, program
                assert given["machine"].endswith("stewart_demo.yaml"), program
                assert given["use_sim_time"] is True, program

    def test_feedforward_runs_the_trajectory_controller(self, tmp_path):
        launch, calls = started(tmp_path, "feedforward", "robot:=scara", "gui:=false")
        with launch:
            launch.wait_for(lambda: call(calls(), "spawner", "joint_trajectory_controller"), "the spawner")
            launch.wait_for(lambda: call(calls(), "trajectory_feedforward"), "the feeder")
            assert call(calls(), "spawner", "effort_controller") is None

    @pytest.mark.parametrize("failing", ["create", "joint_state_broadcaster"])
    def test_a_step_that_fails_takes_the_launch_down(self, tmp_path, failing):
        launch, calls = started(tmp_path, "gazebo_arm", "gui:=false", STUB_FAIL=failing)
        with launch:
            assert launch.wait() != 0
            assert "has ended with exit code 1" in launch.output
        assert call(calls(), "spawner", "effort_controller") is None
        assert not alive(calls())

    @pytest.mark.parametrize(("window", "code", "fails"), [("false", 0, 1), ("true", 255, 1), ("true", 0, 0)])
    def test_gazebo_that_ends_takes_the_launch_down_and_fails_it_unless_its_window_was_closed(
        self, tmp_path, window, code, fails
    ):
        launch, calls = started(tmp_path, "gazebo_world", f"gui:={window}", STUB_END=f"gz_server:{code}")
        with launch:
            assert launch.wait() == fails
            assert ("gazebo has ended with exit code" in launch.output) == bool(fails)
        assert not alive(calls())

    def test_a_second_tilted_arm_comes_into_a_gazebo_that_runs(self, tmp_path):
        place = ("gazebo:=running", "entity:=second", "spawn_pose:=1 0 0 0 1.5707963267948966 0")
        names = (
            "namespace:=right",
            "remappings:=joint_states:=states robot_description:=/text",
            "tip:=link5",
        )
        launch, calls = started(tmp_path, "computed_torque", "plant:=gazebo", *place, *names)
        with launch:
            launch.wait_for(lambda: call(calls(), "spawner", "effort_controller"), "the last spawner")
            made = launch.wait_for(lambda: call(calls(), "computed_torque_controller"), "the controller")
            create = call(calls(), "create")["arguments"]
            assert create[:6] == ["-topic", "robot_description", "-name", "second", "-x", "1"]
            assert "robot_description:=/text" in create and "joint_states:=states" in made["arguments"]
            given = parameters(made)
            # Pitched by a quarter turn, the world's down is where the base's x axis points.
            assert given["gravity"] == pytest.approx([9.81, 0.0, 0.0], abs=1e-12)
            assert given["tip"] == "link5" and "root" not in given
            assert call(calls(), "gz_server") is None and call(calls(), "parameter_bridge") is None

    def test_a_node_that_dies_takes_the_launch_down(self, tmp_path):
        launch, calls = started(tmp_path, "computed_torque")
        with launch:
            launch.wait_for(lambda: call(calls(), "simulator"), "the simulator")
            os.kill(
                launch.wait_for(lambda: call(calls(), "computed_torque_controller"), "the controller")["pid"],
                signal.SIGKILL,
            )
            assert launch.wait() != 0
            assert "computed_torque_controller has ended" in launch.output
        assert not alive(calls())

    def test_a_node_that_dies_is_started_again_when_declared_so(self, tmp_path):
        launch, calls = started(tmp_path, "computed_torque", "on_exit:=respawn")
        with launch:
            first = launch.wait_for(lambda: call(calls(), "computed_torque_controller"), "the controller")
            os.kill(first["pid"], signal.SIGKILL)
            count = len([made for made in calls() if made["name"] == first["name"]])
            launch.wait_for(
                lambda: len([made for made in calls() if made["name"] == first["name"]]) > count,
                "a second controller",
            )
            assert launch.stop() == 0
        assert not alive(calls())

    @pytest.mark.parametrize(
        ("own", "chosen", "expected"),
        [
            ({}, "", "UDPv4"),
            ({}, "default", "DEFAULT"),
            ({"FASTDDS_BUILTIN_TRANSPORTS": "SHM"}, "", "SHM"),
            ({"FASTRTPS_DEFAULT_PROFILES_FILE": "/own.xml"}, "", None),
        ],
    )
    def test_every_program_uses_sockets_unless_the_user_chose(self, tmp_path, own, chosen, expected):
        own = {"FASTRTPS_DEFAULT_PROFILES_FILE": "", "FASTDDS_DEFAULT_PROFILES_FILE": "", **own}
        own["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SUBNET"
        choice = [f"transport:={chosen}"] if chosen else []
        launch, calls = started(tmp_path, "computed_torque", "plant:=gazebo", "gui:=false", *choice, **own)
        with launch:
            launch.wait_for(lambda: call(calls(), "spawner", "effort_controller"), "the last spawner")
            made = calls()
        programs = {"gz_server", "parameter_bridge", "create", "spawner", "robot_state_publisher"}
        assert programs < {one["name"] for one in made}
        assert {one["transports"] for one in made} == {expected}

    def test_closing_rviz_has_no_consequence_but_its_crash_has(self, tmp_path):
        launch, calls = started(tmp_path, "computed_torque", "rviz:=true")
        with launch:
            window = launch.wait_for(lambda: call(calls(), "rviz2"), "rviz")
            launch.wait_for(lambda: call(calls(), "simulator"), "the simulator")
            os.kill(window["pid"], signal.SIGINT)
            launch.wait_for_output(r"rviz2-\d+\]: process has finished cleanly")
            assert launch.running
        (tmp_path / "second").mkdir()
        launch, calls = started(tmp_path / "second", "rviz")
        with launch:
            os.kill(launch.wait_for(lambda: call(calls(), "rviz2"), "rviz")["pid"], signal.SIGKILL)
            launch.wait()

    def test_rviz_may_crash_where_nodes_are_started_again(self, tmp_path):
        launch, calls = started(tmp_path, "computed_torque", "rviz:=true", "on_exit:=respawn")
        with launch:
            window = launch.wait_for(lambda: call(calls(), "rviz2"), "rviz")
            launch.wait_for(lambda: call(calls(), "simulator"), "the simulator")
            os.kill(window["pid"], signal.SIGKILL)
            launch.wait_for_output(r"rviz2-\d+\]: process has died")
            os.kill(call(calls(), "simulator")["pid"], signal.SIGKILL)
            launch.wait_for_output(r"(?s)simulator-\d+\]: process has died.*simulator-\d+\]: process started")
            assert launch.stop() == 0

    @pytest.mark.parametrize(
        ("file", "arguments", "message"),
        [
            ("computed_torque", ["robot:=nobody"], "nobody.*puma560"),
            ("computed_torque", ["description_file:=/nowhere.urdf"], "/nowhere.urdf does not exist"),
            ("computed_torque", ["controller_parameters:=/nowhere.yaml"], "/nowhere.yaml does not exist"),
            ("computed_torque", ["plant:=gazebo", "world:=/nowhere.sdf"], "/nowhere.sdf does not exist"),
            ("gazebo_arm", ["spawn_pose:=0 0 x 0 0 0"], "spawn_pose': z cannot be read"),
            ("computed_torque", ["remappings:=joint_states"], "'joint_states' must be FROM:=TO"),
            ("feedforward", ["plant:=hardware"], "hardware.*simulator.*gazebo"),
            ("feedforward", ["plant:=simulator", "description:=parameter"], "simulator needs description"),
            ("gazebo_stewart", ["platform:=stewart_dasgupta1998"], "platform.inertia"),
        ],
    )
    def test_faulty_arguments_end_the_launch_with_their_name(self, tmp_path, file, arguments, message):
        launch, _ = started(tmp_path, file, *arguments)
        with launch:
            assert launch.wait() != 0
            assert re.search(message, launch.output), launch.output
            assert "Traceback" not in launch.output


def started(folder, file, *arguments, packages=None, **environment):
    """A launch in which every program is a stand-in, and a function that tells what it has called."""
    import stub_ros_packages
    from launching_harness import Launch

    full = stub_ros_packages.install(folder, *(packages or stub_ros_packages.PACKAGES))
    launch = Launch(file, {**full, **environment}, *arguments)
    launch.programs = lambda: [
        (one["pid"], one["name"] in stub_ros_packages.ENDING) for one in stub_ros_packages.calls(full)
    ]
    return launch, lambda: stub_ros_packages.calls(full)


def call(made, program, *words):
    """The first call of a program with these arguments, or None."""
    wanted = (one for one in made if one["name"] == program and set(words) <= set(one["arguments"]))
    return next(wanted, None)


def parameters(made):
    """Every parameter that a program was given in files, the later files over the earlier ones."""
    words, merged = made["arguments"], {}
    for flag, path in itertools.pairwise(words):
        if flag == "--params-file":
            for section in yaml.full_load(Path(path).read_text(encoding="utf-8")).values():
                merged.update(section["ros__parameters"])
    return merged


def alive(made):
    """Process ids of the calls that still run."""
    return [one["pid"] for one in made if Path(f"/proc/{one['pid']}").exists()]
