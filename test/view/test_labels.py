"""Labels give way to each other, and stay where they are otherwise."""

import numpy as np

from robot_dynamics.view.labels import spread_labels

WIDTH, HEIGHT = 0.5, 0.1


def test_labels_with_room_stay():
    places = np.array([[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [0.0, 0.0, 0.11]])
    np.testing.assert_array_equal(spread_labels(places, WIDTH, HEIGHT), places)


def test_labels_in_each_others_way_are_stacked_in_order():
    spread = spread_labels(np.zeros((4, 3)), WIDTH, HEIGHT)
    np.testing.assert_allclose(spread[:, 2], [0.0, 0.1, 0.2, 0.3])


def test_no_two_labels_overlap_and_none_sinks():
    places = np.random.default_rng(1).uniform(0.0, 0.8, (40, 3))
    spread = spread_labels(places, WIDTH, HEIGHT)
    assert (spread[:, 2] >= places[:, 2]).all()
    np.testing.assert_array_equal(spread[:, :2], places[:, :2])
    for i, one in enumerate(spread):
        for other in spread[:i]:
            beside = np.hypot(*(one - other)[:2]) >= WIDTH
            assert beside or abs(one[2] - other[2]) >= HEIGHT - 1e-12


def test_no_labels_are_none():
    assert spread_labels(np.zeros((0, 3)), WIDTH, HEIGHT).shape == (0, 3)
