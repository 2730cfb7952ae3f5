"""Labels of a column are apart in the picture of every camera that does not look down steeply."""

import numpy as np
import pytest

from robot_dynamics.view.labels import STEEPEST, label_column

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
