"""rviz configurations: they show what is there, in a frame that exists; rviz2 loads them where it is."""

import re
from pathlib import Path

import pytest
import yaml
from rviz_window import RvizWindow, rviz_program

import robot_dynamics as rd
from robot_dynamics.errors import ParameterError
from robot_dynamics.resources import resource, share_directory

ARMS = sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf"))
PLATFORM = "stewart_demo"
ALL = [*ARMS, PLATFORM]
CLASSES = {
    *("rviz_common/Displays", "rviz_default_plugins/Orbit"),
    *(f"rviz_default_plugins/{name}" for name in ("Grid", "RobotModel", "TF", "MarkerArray")),
    *(f"rviz_default_plugins/{name}" for name in ("MoveCamera", "Select", "FocusCamera", "Measure")),
}
"""Names of the classes as rviz2 has them."""
COMPLAINT = re.compile(r"\[(ERROR|FATAL|WARN)\]|exception|failed|could not", re.IGNORECASE)


def document(name):
    return yaml.safe_load(resource(f"rviz/{name}.rviz").read_text(encoding="utf-8"))


def displays(name):
    manager = document(name)["Visualization Manager"]
    by_class = {display["Class"].rpartition("/")[2]: display for display in manager["Displays"]}
    return manager["Global Options"]["Fixed Frame"], by_class


def classes(part):
    """Every class that a part of a configuration names."""
    if isinstance(part, dict):
        own = {part["Class"]} if part.get("Class") else set()
        return own.union(*(classes(value) for value in part.values()))
    return set().union(*(classes(value) for value in part)) if isinstance(part, list) else set()


def dock_widths(state):
    """Widths of the areas beside the scene in Qt's record of a window's panels."""
    record = bytes.fromhex(state)
    # After magic, version and the marker 0xfd: the number of areas, then position, width, height and content.
    assert record[:4] == bytes.fromhex("000000ff") and record[8] == 0xFD
    assert int.from_bytes(record[9:13], "big") == 1
    return [int.from_bytes(record[17:21], "big")]


@pytest.mark.parametrize("robot", ARMS)
def test_every_arm_has_a_configuration_in_its_root_frame(robot):
    frame, shown = displays(robot)
    assert frame == rd.load_urdf(resource(f"urdf/{robot}.urdf")).root
    assert {"RobotModel", "TF", "MarkerArray", "Grid"} <= set(shown)
    assert shown["RobotModel"]["Description Source"] == "Topic"
    # Latched, and relative, so that it follows the namespace.
    topic = shown["RobotModel"]["Description Topic"]
    assert (topic["Value"], topic["Durability Policy"]) == ("robot_description", "Transient Local")
    assert shown["MarkerArray"]["Topic"]["Value"] == "markers"


def test_the_platform_is_shown_by_the_markers_of_its_node():
    frame, shown = displays(PLATFORM)
    assert frame == "base"
    assert shown["MarkerArray"]["Topic"]["Value"] == "stewart_platform/markers"


@pytest.mark.parametrize("name", ALL)
def test_the_classes_are_rvizs(name):
    assert classes(document(name)) <= CLASSES


@pytest.mark.parametrize("name", ALL)
def test_the_scene_has_most_of_the_window_and_nothing_is_cut_off(name):
    geometry = document(name)["Window Geometry"]
    assert sum(dock_widths(geometry["QMainWindow State"])) < 0.3 * geometry["Width"]
    view = document(name)["Visualization Manager"]["Views"]["Current"]
    assert view["Near Clip Distance"] < 0.05 * view["Distance"]


@pytest.mark.parametrize("name", ALL)
def test_the_namespaces_of_the_markers_are_open_in_the_tree(name):
    """rviz forgets branches whose names are not those of a display, without a word."""
    panel = document(name)["Panels"][0]
    title = displays(name)[1]["MarkerArray"]["Name"]
    assert panel["Property Tree Widget"]["Expanded"] == [f"/{title}1", f"/{title}1/Namespaces1"]


@pytest.mark.parametrize("name", ALL)
def test_a_configuration_for_frames_with_a_prefix_differs_in_the_frames_only(name):
    plain = resource(f"rviz/{name}.rviz")
    from robot_dynamics.ros.launching.descriptions import with_frame_prefix

    assert with_frame_prefix(str(plain), "") == str(plain)
    paths = (plain, Path(with_frame_prefix(str(plain), "left/")))
    given, changed = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths)
    options = changed["Visualization Manager"]["Global Options"]
    assert options["Fixed Frame"] == "left/" + given["Visualization Manager"]["Global Options"]["Fixed Frame"]
    options["Fixed Frame"] = options["Fixed Frame"].removeprefix("left/")
    for display in changed["Visualization Manager"]["Displays"]:
        if display["Class"].endswith("RobotModel"):
            assert display.pop("TF Prefix") == "left"
    assert changed == given


@pytest.mark.parametrize(("path", "prefix"), [("rviz/scara.rviz", "left"), ("urdf/scara.urdf", "left/")])
def test_what_rviz_cannot_show_with_a_prefix_is_refused(path, prefix):
    from robot_dynamics.ros.launching.descriptions import with_frame_prefix

    with pytest.raises(ParameterError, match=r"ends in '/'|configuration of rviz"):
        with_frame_prefix(str(resource(path)), prefix)


@pytest.mark.ros
@pytest.mark.parametrize("namespace", ["", "/left"])
@pytest.mark.parametrize("name", ALL)
def test_rviz2_loads_it_and_subscribes_to_what_the_nodes_publish(name, namespace):
    rviz_program()
    from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
    from ros_harness import peer_with

    from robot_dynamics.ros.support import qos

    topics = {"stewart_platform/markers": qos.TRAJECTORY}
    if name != PLATFORM:
        topics = {"robot_description": qos.DESCRIPTION, "markers": qos.TRAJECTORY}
    with (
        RvizWindow(resource(f"rviz/{name}.rviz"), ["-r", f"__ns:={namespace or '/'}"]) as window,
        peer_with() as peer,
    ):
        peer.processes.append(window)
        for topic, published in topics.items():
            path = f"{namespace}/{topic}"
            found = peer.wait_until(
                lambda path=path: peer.node.get_subscriptions_info_by_topic(path),
                f"rviz2 does not want {path}",
            )
            for one in found:
                wanted = QoSProfile(
                    depth=1, reliability=one.qos_profile.reliability, durability=one.qos_profile.durability
                )
                assert qos_check_compatible(published, wanted)[0] != QoSCompatibility.ERROR, (
                    f"{path}: {wanted}"
                )
        assert not COMPLAINT.search(window.output), window.output


@pytest.mark.ros
def test_rviz2_draws_the_markers_of_an_arm():
    """RViz takes the messages of the node markers without a complaint."""
    rviz_program()
    from ros_harness import NodeProcess, peer_with
    from sensor_msgs.msg import JointState
    from visualization_msgs.msg import MarkerArray

    from robot_dynamics.ros.support import qos

    description = resource("urdf/scara.urdf").read_text(encoding="utf-8")
    markers = NodeProcess("markers", {"robot_description": description})
    with RvizWindow(resource("rviz/scara.rviz")) as window, peer_with(markers) as peer:
        peer.processes.append(window)
        peer.wait_until(
            lambda: peer.node.get_subscriptions_info_by_topic("/markers"), "rviz2 does not want the markers"
        )
        states = peer.publisher(JointState, "/joint_states", qos.STATE_PUBLISHER)
        pictures = peer.subscribe(MarkerArray, "/markers", qos.TRAJECTORY)

        def shown():
            message = JointState(name=["joint1"], position=[0.1], effort=[5.0])
            message.header.stamp = peer.node.get_clock().now().to_msg()
            states.publish(message)
            return len(pictures) > 20

        peer.wait_until(shown, "no pictures")
        assert not COMPLAINT.search(window.output), window.output
