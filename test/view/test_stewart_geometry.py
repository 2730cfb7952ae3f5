"""A Stewart platform as it is drawn: against the kinematics, and what its sliders may ask for."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from robot_dynamics import stewart
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.resources import resource
from robot_dynamics.stewart.orientation import rotation_from_roll_pitch_yaw, rotation_from_vector
from robot_dynamics.view.moves import MoveGoal
from robot_dynamics.view.plates import convex_hull, plate_below, plate_mesh
from robot_dynamics.view.stewart_geometry import (
    PLACE,
    POSE,
    TURNS,
    StewartGeometry,
    pose_errors,
    pose_from,
    pose_values,
)
from robot_dynamics.view.stewart_parts import part_lengths
from robot_dynamics.view.visuals import Cylinder, Plate

MACHINES = ["stewart_demo", "stewart_dasgupta1998"]


def geometry(name="stewart_demo"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StewartGeometry(stewart.load(resource(f"config/{name}.yaml")))


def moved(shown, **changes):
    return {**shown.home, **changes}


@pytest.mark.parametrize("name", MACHINES)
def test_the_parts_of_the_legs_join_base_and_platform_at_any_pose(name):
    shown = geometry(name)
    machine = shown.machine
    pose = {key: value + 0.05 for key, value in shown.home.items()}
    poses = shown.link_poses(pose)
    position, rotation = pose_from(pose)
    lengths = shown.platform.legs(position, list(pose.values())[3:]).lengths
    for k, leg in enumerate(machine.legs):
        low, high = poses[f"{leg.name}_lower"], poses[f"{leg.name}_upper"]
        np.testing.assert_allclose(low[:3, 3], leg.base_point, atol=1e-12)
        np.testing.assert_allclose(high[:3, 3], position + rotation @ leg.platform_point, atol=1e-12)
        # Both parts have the leg along x, so that the rod slides in its housing.
        np.testing.assert_allclose(low[:3, 3] + lengths[k] * low[:3, 0], high[:3, 3], atol=1e-12)
        np.testing.assert_allclose(low[:3, :3], high[:3, :3], atol=1e-12)
        np.testing.assert_allclose(low[:3, :3].T @ low[:3, :3], np.eye(3), atol=1e-12)
        # A universal joint: the moving axis is across the fixed one and across the leg.
        assert low[:3, 1] @ machine.universal_axes[k] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(poses["platform"][:3, :3], rotation)
    assert {visual.link for visual in shown.shapes} == set(poses)
    low, high = shown.bounds(poses)
    assert (high > low).all() and low[2] >= shown.ground - 0.2


@pytest.mark.parametrize("name", MACHINES)
def test_rod_and_housing_overlap_over_the_whole_stroke(name):
    shown = geometry(name)
    for leg in shown.machine.legs:
        housing, rod = part_lengths(leg, 0.65)
        if math.isfinite(leg.limits.longest):
            assert housing < leg.limits.shortest and rod < leg.limits.shortest
            assert housing + rod > leg.limits.longest
        assert housing > 0.0 and rod > 0.0


def test_a_pose_and_its_coordinates_are_the_same():
    values = dict(zip(POSE, (0.1, -0.2, 0.5, 0.3, -0.4, 1.2), strict=True))
    position, rotation = pose_from(values)
    np.testing.assert_allclose(position, [0.1, -0.2, 0.5])
    np.testing.assert_allclose(rotation, rotation_from_roll_pitch_yaw([0.3, -0.4, 1.2]))
    assert pose_values(position, rotation) == pytest.approx(values)


def test_errors_are_wanted_minus_true_in_the_base_frame():
    true = pose_values([0.0, 0.1, 0.5], rotation_from_roll_pitch_yaw([0.2, -0.1, 0.3]))
    turn = np.array([0.01, -0.02, 0.03])
    rotation = rotation_from_vector(turn) @ pose_from(true)[1]
    errors = pose_errors(pose_values([0.001, 0.1, 0.498], rotation), true)
    assert [errors[name] for name in PLACE] == pytest.approx([0.001, 0.0, -0.002])
    assert [errors[name] for name in TURNS] == pytest.approx(turn)


def test_the_sliders_reach_as_far_as_the_legs_let_each_coordinate_alone():
    shown = geometry()
    for one in shown.coordinates:
        for bound in (one.low, one.high):
            way = bound - shown.home[one.name]
            inside = moved(shown, **{one.name: shown.home[one.name] + 0.93 * way})
            shown.check_goal(shown.home, MoveGoal(inside, 20.0))
            with pytest.raises(TrajectoryError):
                shown.check_goal(shown.home, MoveGoal(moved(shown, **{one.name: bound + 0.1 * way}), 20.0))
    assert [one.unit for one in shown.coordinates] == ["mm"] * 3 + ["°"] * 3


@pytest.mark.parametrize(
    ("changes", "duration", "text"),
    [
        ({"z": 0.73}, 5.0, r"cannot be there: leg_\d: length 0\.\d+ m, above its greatest 0\.78 m"),
        ({"x": 0.2, "y": 0.2}, 5.0, r"cannot be there: leg_\d"),
        ({"z": 0.62}, 0.1, r"at t = 0\.\d+ s: leg_\d.*: speed .* above its greatest 0\.8 m/s; and more"),
    ],
)
def test_a_move_that_the_legs_cannot_make_is_refused_with_the_leg_and_the_number(changes, duration, text):
    shown = geometry()
    with pytest.raises(TrajectoryError, match=text):
        shown.check_goal(shown.home, MoveGoal(moved(shown, **changes), duration))


def test_arrows_are_beside_the_legs_and_tell_the_share_of_the_limit():
    shown = geometry()
    poses = shown.link_poses(shown.home)
    center = shown.machine.base_points.mean(axis=0)
    for leg, gauge in zip(shown.machine.legs, shown.gauges, strict=True):
        place = poses[gauge.link] @ gauge.frame
        along = poses[gauge.link][:3, 0]
        np.testing.assert_allclose(place[:3, 2], along, atol=1e-12)  # a push points away from the base
        across = place[:3, 3] - leg.base_point
        across -= (across @ along) * along
        assert np.linalg.norm(across) > 0.03 and across @ (leg.base_point - center) > 0.0
        assert (gauge.limit, gauge.unit) == (1500.0, "N")
    titles = [(chart.title, chart.unit) for chart in shown.charts]
    assert titles == [("position error", "mm"), ("orientation error", "°"), ("leg force", "% of limit")]
    assert geometry("stewart_dasgupta1998").charts[2].unit == "N"


def test_the_weights_are_those_of_the_machine():
    shown = geometry()
    machine = shown.machine
    total = machine.platform.mass + sum(leg.lower.mass + leg.upper.mass for leg in machine.legs)
    assert sum(weight.mass for weight in shown.weights) == pytest.approx(total)
    assert all(arrow[2] < 0.0 for arrow in shown.weight_arrows(machine.gravity))


# Plates


def test_a_plate_carries_every_joint_and_leaves_a_margin():
    points = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [-1.0, -1.0, 0.5], [0.0, 0.0, 0.5]])
    frame, plate = plate_below(points, np.array([0.0, 0.0, -1.0]), 0.1, 0.2, 0.05)
    local = (points - frame[:3, 3]) @ frame[:3, :3]
    np.testing.assert_allclose(local[:, 2], 0.1)
    np.testing.assert_allclose(frame[:3, 2], [0.0, 0.0, -1.0], atol=1e-12)
    outline = np.array(plate.outline)
    edges = np.roll(outline, -1, axis=0) - outline
    normals = np.column_stack([edges[:, 1], -edges[:, 0]]) / np.linalg.norm(edges, axis=1)[:, None]
    distances = ((outline[None] - local[:, None, :2]) * normals).sum(axis=2)
    assert distances.min() == pytest.approx(0.2, rel=0.05)
    mesh = plate_mesh(plate)
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    x, y = outline.T
    area = 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    assert volume == pytest.approx(0.05 * area) and area > 0.0


def test_joints_on_a_line_or_in_one_point_have_a_plate_too():
    for points in (np.zeros((6, 3)), np.outer(np.arange(6.0), [0.1, 0.2, 0.3])):
        frame, plate = plate_below(points, np.array([0.0, 0.0, 1.0]), 0.0, 0.1, 0.02)
        assert np.isfinite(frame).all() and len(plate.outline) >= 3


def test_the_hull_of_a_square_with_points_inside_and_on_its_edges_has_four_corners():
    square = [[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [0.5, 0.0], [1, 1]]
    assert len(convex_hull(np.array(square, float))) == 4


def test_shapes_are_those_that_the_page_can_draw():
    shapes = [visual.shape for visual in geometry().shapes]
    assert sum(isinstance(shape, Plate) for shape in shapes) == 2
    assert sum(isinstance(shape, Cylinder) for shape in shapes) == 6 * 5
