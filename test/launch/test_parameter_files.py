"""Every YAML file of parameters is one that ROS 2 itself reads."""

import pytest

from robot_dynamics.resources import share_directory

rclpy = pytest.importorskip("rclpy", reason="rclpy reads the parameter files")

FILES = sorted((share_directory() / "config").glob("*_controllers.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_parameters_reach_a_node_in_any_namespace(path):
    """ROS 2's parser knows less of YAML than others: no aliases, no lists of mixed types."""
    context = rclpy.Context()
    rclpy.init(context=context, args=["--ros-args", "--params-file", str(path)])
    try:
        for namespace in ("/", "/left/arm"):
            node = rclpy.create_node(
                "controller_manager",
                namespace=namespace,
                context=context,
                automatically_declare_parameters_from_overrides=True,
            )
            assert node.get_parameter("update_rate").value == 1000
            assert node.get_parameter("joint_state_broadcaster.type").value
            node.destroy_node()
    finally:
        context.try_shutdown()


def test_there_are_controllers():
    assert FILES
