"""A parameter that nobody has is refused with the name that may be meant."""

import pytest
import yaml

pytest.importorskip("rclpy", reason="rclpy is not installed")

from ros_harness import NodeProcess

from robot_dynamics.cli.run import NODES
from robot_dynamics.resources import resource
from robot_dynamics.ros.support.undeclared import _faulty_override, known_in_the_package, unmatched_files

pytestmark = pytest.mark.ros

ARM = resource("urdf/scara.urdf").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("robot_model", {}),
        # It would start by itself, and a summary would tell of its life.
        ("computed_torque_controller", {"robot_description": ARM}),
        ("stewart_platform", {"machine": "stewart_demo"}),
    ],
)
def test_a_misspelt_parameter_ends_the_node_with_a_hint_before_it_starts(name, parameters):
    with NodeProcess(name, {**parameters, "payload_mas": 1.5}) as node:
        assert node.wait_for_exit() == 1
        assert "summary" not in node.output
        assert (
            "no node of robot_dynamics has a parameter 'payload_mas'; did you mean 'payload_mass'?"
            in node.output
        )
        assert "Traceback" not in node.output


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("/joint_state.subscription.depth", "/joint_states.subscription.depth"),
        ("/simulator/joint_trajectroy.subscription.depth", "/simulator/joint_trajectory.subscription.depth"),
        ("joint_states.subscription.depth", "/joint_states.subscription.depth"),
        ("/joint_states.subscriber.depth", "/joint_states.subscription.depth"),
        ("/joint_states.subscription.reliabilty", "/joint_states.subscription.reliability"),
        ("/joint_states.subscription.lifespan", "can be overridden is history, depth, reliability"),
        ("/joint_states", "must be qos_overrides.<topic>.<publisher or subscription>.<policy>"),
        ("/joint_states.subscription.depth", ""),
        ("/joint_states.publisher.depth", ""),
        ("/left/joint_states.subscription.depth", ""),
        ("/arm_1/effort_controller/commands.publisher.depth", ""),
        ("/leg_effort_controller/commands.publisher.depth", ""),
    ],
)
def test_a_misspelt_quality_of_service_is_refused_and_that_of_another_topic_is_not(given, meant):
    topics = [
        "/joint_states",
        "/effort_controller/commands",
        "/arm_2/effort_controller/commands",
        "/simulator/joint_trajectory",
    ]
    found = _faulty_override(f"qos_overrides.{given}", topics)
    assert meant in found and bool(meant) == bool(found)


def test_parameters_of_other_nodes_and_of_ros_are_accepted():
    shared = {"real_time_factor": 1.0, "kp": [100.0], "use_sim_time": False}
    with NodeProcess("robot_model", shared) as node:
        node.wait_for_output("waiting for the topic")


def test_the_parameter_files_name_what_the_package_knows():
    known = known_in_the_package()
    assert {"payload_mass", "kp", "rate", "machine", "locked_joints", "zero_lengths", "max_effort"} <= known
    assert len(known) > 60 and len(NODES) == 8


def test_a_parameter_file_for_another_node_is_named_with_the_nearest_section(tmp_path):
    """Payload 0 and kp 100 instead of 5 and 25, silently: the file had another node's name."""
    file = tmp_path / "arm.yaml"
    sections = ("/left/other", "/robot_modle")
    text = "".join(f"{name}:\n  ros__parameters:\n    payload_mass: 5.0\n" for name in sections)
    file.write_text(text, encoding="utf-8")
    with NodeProcess("robot_model", {"robot_description": ARM}, ["--params-file", str(file)]) as node:
        node.wait_for_output(
            r"\[WARN\].*no section of the parameter file .*arm.yaml is for the node /robot_model; the nearest"
            " is for /robot_modle: nothing in the file counts"
        )


def test_a_list_in_a_launch_file_reaches_a_node(tmp_path):
    """launch_ros makes tuples of lists, and PyYAML writes these with a tag."""
    file = tmp_path / "launch_params"
    given = {"locked_joints": ("joint3", "joint4"), "locked_positions": (0.0, 0.0)}
    parameters = {"/**": {"ros__parameters": given}}
    file.write_text(yaml.dump(parameters, default_flow_style=False), encoding="utf-8")
    assert "!!python/tuple" in file.read_text(encoding="utf-8")
    assert unmatched_files("/robot_model", [str(file)]) == []
    with NodeProcess("robot_model", {"robot_description": ARM}, ["--params-file", str(file)]) as node:
        node.wait_for_output("model of scara: world -> link4, joints joint1, joint2\n")


@pytest.mark.parametrize(
    ("section", "counts"),
    [
        ("/**", True),
        ("arm", True),
        ("/cell/**", False),
        ("/*/arm", False),
        ("/**/arm", True),
        ("/arms", False),
        ("/ar.", False),
    ],
)
def test_sections_are_matched_as_ros_does(section, counts, tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(f"{section}:\n  ros__parameters:\n    a: 1\n", encoding="utf-8")
    assert unmatched_files("/arm", [str(file)]) == [] if counts else unmatched_files("/arm", [str(file)])


def test_sections_below_a_namespace_and_empty_files(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("left:\n  arm:\n    ros__parameters:\n      a: 1\n", encoding="utf-8")
    assert not unmatched_files("/left/arm", [str(file)])
    assert unmatched_files("/arm", [str(file)])
    file.write_text("{}\n", encoding="utf-8")
    assert not unmatched_files("/arm", [str(file)])
