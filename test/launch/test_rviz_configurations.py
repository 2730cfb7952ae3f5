"""rviz configurations: readable, with the displays that belong to each robot, in a frame that exists."""

import pytest
import yaml

import robot_dynamics as rd
from robot_dynamics.resources import resource, share_directory

ROBOTS = sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf"))


def displays(name):
    document = yaml.safe_load(resource(f"rviz/{name}.rviz").read_text(encoding="utf-8"))
    manager = document["Visualization Manager"]
    by_class = {display["Class"].rpartition("/")[2]: display for display in manager["Displays"]}
    return manager["Global Options"]["Fixed Frame"], by_class


@pytest.mark.parametrize("robot", ROBOTS)
def test_every_arm_has_a_configuration_in_its_root_frame(robot):
    frame, shown = displays(robot)
    assert frame == rd.load_urdf(resource(f"urdf/{robot}.urdf")).root
    assert {"RobotModel", "TF", "MarkerArray", "Grid"} <= set(shown)
    topic = shown["RobotModel"]["Description Topic"]
    # Latched, and relative, so that it follows the namespace.
    assert (topic["Value"], topic["Durability Policy"]) == (
        "robot_description",
        "Transient Local",
    )
    assert not shown["MarkerArray"]["Topic"]["Value"].startswith("/")


def test_the_platform_is_shown_by_the_markers_of_its_node():
    frame, shown = displays("stewart_demo")
    assert frame == "base"
    assert shown["MarkerArray"]["Topic"]["Value"] == "stewart_platform/markers"
