"""The picture of a Stewart platform: where the parts are, what arrows and colours say."""

import numpy as np
import pytest

pytest.importorskip("visualization_msgs.msg", reason="visualization_msgs is not installed")

from std_msgs.msg import Header
from visualization_msgs.msg import Marker

from robot_dynamics.resources import resource
from robot_dynamics.ros.viewing.stewart_markers import stewart_markers
from robot_dynamics.stewart import load

FORCES = np.array([0.0, 150.0, -150.0, 1500.0, -3000.0, 750.0])


@pytest.fixture(scope="module")
def platform():
    return load(resource("config/stewart_demo.yaml"))


def picture(platform, position=None, forces=FORCES):
    machine = platform.machine
    place = machine.home_position if position is None else position
    header = Header(frame_id="left/base")
    header.stamp.sec = 7
    array = stewart_markers(header, platform, place, machine.home_rotation, forces, 2.75)
    assert all(marker.header == header for marker in array.markers)
    return {(marker.ns, marker.id): marker for marker in array.markers}


def array(point):
    return np.array([point.x, point.y, point.z])


def test_pushing_arrows_grow_from_the_base_and_pulling_ones_from_the_platform(platform):
    shown = picture(platform)
    assert shown["forces", 0].action == Marker.DELETE
    for leg, share in ((1, 0.1), (2, -0.1), (3, 1.0), (4, -1.0), (5, 0.5)):
        low, high = (array(point) for point in shown["force_limits", leg].points)
        start, tip = (array(point) for point in shown["forces", leg].points)
        assert low[2] < high[2]
        np.testing.assert_allclose(start, low if share > 0.0 else high)
        np.testing.assert_allclose(tip - start, share * (high - low), atol=1e-12)


def test_rods_are_green_without_force_and_red_at_the_limit(platform):
    shown = picture(platform)
    green = [m for m in shown.values() if m.ns == "legs" and m.color.g > 0.5 and m.color.r < 0.3]
    red = [m for m in shown.values() if m.ns == "legs" and m.color.r > 3.0 * m.color.g]
    assert (len(green), len(red)) == (3, 2)


def test_numbers_tell_forces_and_condition(platform):
    shown = picture(platform)
    assert shown["numbers", 2].text == "leg_3: -150.0 N (10 %)"
    assert shown["condition", 0].text == "condition number 2.8 (limit 50)"
    assert all(label.scale.x > 0.0 for label in shown.values() if label.type == Marker.TEXT_VIEW_FACING)


def test_the_platform_moves_and_the_base_stays(platform):
    home = platform.machine.home_position
    before = {key: array(m.pose.position) for key, m in picture(platform).items()}
    after = {
        key: array(m.pose.position) for key, m in picture(platform, home + np.array([0.0, 0.0, 0.05])).items()
    }
    for key, place in before.items():
        if key[0] == "base":
            np.testing.assert_array_equal(after[key], place)
        elif key[0] in ("platform", "condition"):
            np.testing.assert_allclose(after[key] - place, [0.0, 0.0, 0.05], atol=1e-12)


def test_rods_join_the_platform(platform):
    """The middle of each rod lies on the line between the joints of its leg."""
    machine = platform.machine
    tops = machine.home_position + machine.platform_points @ machine.home_rotation.T
    legs = tops - machine.base_points
    parts = [array(m.pose.position) for m in picture(platform).values() if m.ns == "legs"]
    for part in parts:
        gaps = np.linalg.norm(np.cross(part - machine.base_points, legs), axis=1) / np.linalg.norm(
            legs, axis=1
        )
        assert gaps.min() < 1e-9
