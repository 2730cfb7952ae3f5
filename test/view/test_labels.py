"""Labels of a column are apart in the picture of every camera that does not look down steeply."""

import numpy as np
import pytest

from robot_dynamics.view.labels import STEEPEST, Viewpoint, apart, label_column

HEIGHT, WIDTH = 0.1, 1.0


def rectangles(places, azimuth, elevation, distance):
    """Centres (N, 2), and half the sizes (N, 2), of labels that face a camera, in its image plane."""
    sight = -np.array(
        [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    )
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    relative = places - (places.mean(axis=0) - distance * sight)
    depth = relative @ sight
    centers = np.stack([relative @ right, relative @ np.cross(right, sight)], axis=1) / depth[:, None]
    return centers, 0.5 * np.array([WIDTH, HEIGHT]) / depth[:, None]


def overlaps(places, azimuth, elevation, distance):
    centers, halves = rectangles(places, azimuth, elevation, distance)
    return [
        (i, j)
        for i in range(len(places))
        for j in range(i)
        if (np.abs(centers[i] - centers[j]) < halves[i] + halves[j] - 1e-12).all()
    ]


@pytest.mark.parametrize("distance", [3.0, 10.0, 1000.0])
def test_no_label_covers_another_from_any_side(distance):
    places = label_column(np.array([0.3, -0.2, 1.0]), 7, HEIGHT)
    assert places[0, 2] - 0.5 * HEIGHT > 1.0, "it stands on its foot"
    for azimuth in np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False):
        for elevation in np.linspace(-STEEPEST, STEEPEST, 13):
            assert not overlaps(places, azimuth, elevation, distance), (azimuth, elevation)
    # The camera sees what is in the way: the same labels beside each other.
    beside = places[:, [2, 0, 1]]
    assert any(overlaps(beside, azimuth, 0.0, distance) for azimuth in np.linspace(0.0, np.pi, 13))


def test_no_labels_are_none():
    assert label_column(np.zeros(3), 0, HEIGHT).shape == (0, 3)


def test_numbers_that_would_cover_more_important_ones_are_left_out():
    """Seen from 2 m in front, 500 pixels away: 1 m is 250 pixels."""
    front = np.eye(4)
    front[:3, :3] = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # looks along y, z is up
    front[:3, 3] = [0.0, -2.0, 0.0]
    view = Viewpoint(front, 500.0)
    points = np.array(
        [
            [0.0, 0.0, 0.0],
            [0.1, 0.0, 0.02],  # 25 pixels beside and 5 above the first
            [0.0, 0.0, 0.10],  # 25 pixels above it
            [0.5, 0.0, 0.0],  # 125 pixels beside it: behind its end
            [-0.1, 0.0, 0.0],  # ends behind the beginning of the first
            [0.0, -3.0, 0.0],  # behind the camera
        ]
    )
    assert view.places(points[2:4]) == pytest.approx(np.array([[0.0, -25.0], [125.0, 0.0]]))
    assert apart(view, points, ["twenty characters   "] * 6, 5) == [0, 2, 3]
    assert apart(view, points, ["twenty characters   "] * 6, 2) == [0, 2]
    assert apart(view, points[[1, 0]], ["a", "b"], 5) == [0, 1], "short ones have room"
