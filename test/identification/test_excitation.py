"""Exciting motions: inside their bounds, at rest at both ends, clear of everything, and worth making."""

from __future__ import annotations

import re

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.identification.excitation.approach import approach
from robot_dynamics.identification.excitation.bounds import Bounds
from robot_dynamics.identification.excitation.information import Information
from robot_dynamics.identification.excitation.points import Points, read_points
from robot_dynamics.identification.excitation.series import Series
from robot_dynamics.resources import resource

pytest.importorskip("scipy", reason="scipy is not installed")


@pytest.fixture(scope="module")
def puma():
    return rd.load_urdf(resource("urdf/puma560.urdf"))


def test_series_are_at_rest_at_both_ends_and_their_own_derivatives():
    series = Series(period=7.0, harmonics=4)
    parameters = np.random.default_rng(0).normal(size=(series.size, 2))
    q, qd, qdd = (basis @ parameters for basis in series.basis(np.array([0.0, 7.0])))
    assert np.abs(qd).max() < 1e-13 and np.abs(qdd).max() < 1e-13
    assert np.abs(q[1] - q[0]).max() < 1e-13
    step, time = 1e-5, np.linspace(0.3, 6.0, 5)
    ahead, behind, here = (series.basis(time + shift) for shift in (step, -step, 0.0))
    for k in range(2):
        slope = (ahead[k] - behind[k]) @ parameters / (2.0 * step)
        assert np.abs(slope - here[k + 1] @ parameters).max() < 1e-7


def test_slopes_of_the_information_are_its_differences(puma):
    dynamics = rd.compile_dynamics(puma, friction=False)
    information = Information(dynamics, np.ones(6) / 50.0)
    draw = np.random.default_rng(1)
    states, way = draw.normal(size=(2, 3, 40, 6))
    _, slopes = information.with_slopes(states)
    step = 1e-5
    change = (information.value(states + step * way) - information.value(states - step * way)) / (2.0 * step)
    assert np.sum(slopes * way) == pytest.approx(change, rel=1e-6)


def test_links_without_their_meshes_share_one_line(puma):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    from robot_dynamics.identification.excitation.clearance import Clearance

    mesh = '<collision><geometry><mesh filename="package://arms/a.stl"/></geometry></collision>'
    text = re.sub(r"<collision>.*?</collision>", mesh, resource("urdf/puma560.urdf").read_text(), flags=re.S)
    (line,) = Clearance(text, puma, Bounds.of(puma, {})).pairs.skipped
    assert re.fullmatch(
        r"base_link, .*, link6: 1 mesh is not on this machine; install ros-\$ROS_DISTRO-arms, .*", line
    )


def test_distances_are_those_of_coal(puma):
    """Pinocchio reads the collision shapes by itself, and coal has its own geometry."""
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    pinocchio = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    from robot_dynamics.identification.excitation.clearance import Clearance

    path = resource("urdf/puma560.urdf")
    clearance = Clearance(path, puma, Bounds.of(puma, {}), floor=-1.0)
    model = pinocchio.buildModelFromUrdf(str(path))
    shapes = pinocchio.buildGeomFromUrdf(model, str(path), pinocchio.GeometryType.COLLISION)
    for a, one in enumerate(shapes.geometryObjects):
        for b, other in enumerate(shapes.geometryObjects[:a]):
            if abs(one.parentJoint - other.parentJoint) > 1:
                shapes.addCollisionPair(pinocchio.CollisionPair(b, a))
    data, geometry = model.createData(), pinocchio.GeometryData(shapes)
    for q in np.random.default_rng(5).uniform(-1.5, 1.5, (8, 6)):
        pinocchio.computeDistances(model, data, shapes, geometry, q)
        theirs = sorted(result.min_distance for result in geometry.distanceResults)
        ours = sorted(
            clearance._distance(one, other, 5.0)[0]
            for one, other, _ in map(clearance._pair, range(len(clearance.pairs.pairs)))
            if clearance.least(q[None], 5.0) and "the floor" not in (one.name, other.name)
        )
        assert len(ours) == len(theirs)
        apart = np.array(theirs) > 0.0
        np.testing.assert_allclose(np.array(ours)[apart], np.array(theirs)[apart], atol=1e-4)


def test_slopes_of_distances_are_their_differences(puma):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    from robot_dynamics.identification.excitation.clearance import Clearance

    clearance = Clearance(resource("urdf/puma560.urdf"), puma, Bounds.of(puma, {}), floor=-0.3)
    q, step = np.array([[0.3, -0.4, 0.9, 0.2, 0.5, 0.1]]), 1e-6
    near = clearance.near(q, 1.5)
    assert len(near) > 10
    for j in range(6):
        shift = np.eye(6)[j] * step
        ahead, behind = clearance.near(q + shift, 2.0), clearance.near(q - shift, 2.0)
        # All pairs, in the same order.
        here = clearance.near(q, 2.0)
        assert len(ahead) == len(behind) == len(here)
        for (_, high, _), (_, low, _), (_, distance, slopes) in zip(ahead, behind, here, strict=True):
            assert (high - low) / (2.0 * step) == pytest.approx(
                slopes[j], abs=2e-3 * max(1.0, 1.0 / distance)
            )


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """The SCARA's motion as the command writes it."""
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    path = tmp_path_factory.mktemp("excite") / "move.yaml"
    urdf = str(resource("urdf/scara.urdf"))
    options = ["--period", "8", "--harmonics", "3", "--range", "joint1=-0.5:0.9"]
    assert main(["excite", urdf, "-o", str(path), *options]) == 0
    chain = rd.load_urdf(urdf)
    return chain, path, read_points(str(path), chain.joint_names)


@pytest.mark.long
def test_the_motion_stays_inside_its_bounds(moved):
    """By quintics through the points and Pinocchio's efforts."""
    pinocchio = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    from scipy.interpolate import BPoly

    chain, _, points = moved
    states = np.stack([points.positions, points.velocities, points.accelerations], axis=1)
    path = BPoly.from_derivatives(points.time, states)
    time = np.linspace(0.0, points.time[-1], 800)
    q, qd, qdd = (path.derivative(k)(time) if k else path(time) for k in range(3))
    limits = [chain.driving_joint(j).limits for j in range(chain.dof)]
    model = pinocchio.buildModelFromUrdf(str(resource("urdf/scara.urdf")))
    data = model.createData()
    effort = np.array([pinocchio.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])
    for j, limit in enumerate(limits):
        assert limit.lower < q[:, j].min() and q[:, j].max() < limit.upper
        assert np.abs(qd[:, j]).max() <= 0.8 * limit.velocity + 1e-6
        assert np.abs(effort[:, j]).max() <= 0.6 * limit.effort
    assert q[:, 0].min() >= -0.5 and q[:, 0].max() <= 0.9
    assert np.ptp(q[:, 0]) > 0.7
    for part in (points.velocities, points.accelerations):
        assert not part[[0, -1]].any()


@pytest.mark.long
def test_the_spare_payload_just_fits_wherever_its_centre_is(moved):
    pinocchio = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    chain, path, points = moved
    (line,) = (
        line for line in path.read_text(encoding="utf-8").splitlines() if "# within all effort" in line
    )
    at_tip, beside = (float(number) for number in re.findall(r"([\d.e+]+) kg", line))
    assert beside < at_tip
    limits = np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])
    model = pinocchio.buildModelFromUrdf(str(resource("urdf/scara.urdf")))
    bodies = model.inertias.copy()

    def largest_share(mass, center):
        where = chain.tip_transform[:3, :3] @ center + chain.tip_transform[:3, 3]
        model.inertias[model.njoints - 1] = bodies[model.njoints - 1] + pinocchio.Inertia(
            mass, where, np.zeros((3, 3))
        )
        data = model.createData()
        states = zip(points.positions, points.velocities, points.accelerations, strict=True)
        return max(float((np.abs(pinocchio.rnea(model, data, *state)) / limits).max()) for state in states)

    assert largest_share(at_tip, np.zeros(3)) == pytest.approx(1.0, abs=0.05)
    directions = [sign * axis for axis in 0.15 * np.eye(3) for sign in (1.0, -1.0)]
    assert max(largest_share(beside, place) for place in directions) == pytest.approx(1.0, abs=0.05)


@pytest.mark.long
def test_the_file_says_what_will_be_told_and_what_will_not(moved):
    _, path, _ = moved
    text = path.read_text(encoding="utf-8")
    for line in (
        "# will be determined: ",
        "# will not be determined",
        "# not determined by any motion",
        "# least distance",
        "# recommended: record a second, different motion at 0.5 of the speed too (--seed 1 --speeds 0.5)",
    ):
        assert line in text


@pytest.mark.long
def test_another_seed_gives_another_motion_at_its_own_speed(moved, tmp_path):
    _, _, first = moved
    options = ["--period", "8", "--harmonics", "3", "--range", "joint1=-0.5:0.9"]
    path = tmp_path / "second.yaml"
    second_run = ["--seed", "1", "--speeds", "0.5"]
    assert main(["excite", str(resource("urdf/scara.urdf")), "-o", str(path), *options, *second_run]) == 0
    second = read_points(str(path), first.joint_names)
    assert second.time[-1] == pytest.approx(2.0 * first.time[-1])
    size = np.ptp(first.positions, axis=0)
    assert np.abs((second.positions - first.positions) / size).max() > 0.3
    assert "known to" in path.read_text(encoding="utf-8")


@pytest.mark.long
def test_slower_is_the_same_way_with_its_own_derivatives(moved):
    _, _, points = moved
    slow = points.slower(0.1)
    assert slow.time[-1] == pytest.approx(10.0 * points.time[-1])
    speed = np.gradient(slow.positions[:, 0], slow.time)
    assert np.abs(speed - slow.velocities[:, 0]).max() < 0.05 * np.abs(slow.velocities[:, 0]).max() + 1e-3
    both = points.after(Points(points.joint_names, *(part[:2] for part in _parts(points))))
    assert len(both.time) == len(points.time) + 1 and both.time[1] == points.time[1]


def _parts(points):
    return points.time, points.positions, points.velocities, points.accelerations


@pytest.mark.long
def test_the_way_to_the_motion_is_clear_or_there_is_none(puma):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    from robot_dynamics.identification.excitation.clearance import Clearance

    bounds = Bounds.of(puma, {})
    clearance = Clearance(resource("urdf/puma560.urdf"), puma, bounds, floor=0.2)
    upright = np.array([0.0, -np.pi / 2.0, np.pi / 2.0, 0.0, 0.0, 0.0])
    there = np.array([1.0, -1.2, 1.5, 0.3, -0.4, 0.2])
    way = approach(puma.joint_names, upright, there, bounds, clearance)
    assert (way.positions[0] == upright).all() and (way.positions[-1] == there).all()
    assert not way.velocities.any()
    straight = upright + np.linspace(0.0, 1.0, 60)[:, None] * (there - upright)
    assert len(way.time) > 2 or clearance.least(straight, 1.0)[0] >= 0.9 * bounds.clearance
    buried = np.array([0.0, 0.7, 1.57, 0.0, 0.0, 0.0])
    with pytest.raises(TrajectoryError, match=r"no clear way .* joint1 0.000, joint2 0.700"):
        approach(puma.joint_names, upright, buried, bounds, clearance)


@pytest.mark.parametrize(
    ("ranges", "share", "message"),
    [
        ({"elbow": (0.0, 1.0)}, 0.6, "no such joint; there are joint1"),
        ({"joint1": (-9.0, 1.0)}, 0.6, "must be inside the limits"),
        ({"joint1": (1.0, 0.0)}, 0.6, "must be inside the limits"),
        ({}, 0.7, "at most 0.6"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(puma, ranges, share, message):
    with pytest.raises(ParameterError, match=message):
        Bounds.of(puma, ranges, share)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("joint_names: [a]\npoints: []\n", "joint_names must be"),
        ("joint_names: [b]\npoints: [1]\n", "points must be a list"),
        ("joint_names: [b]\npoints: [1, 2]\n", "has no time_from_start"),
    ],
)
def test_files_that_are_no_motion_are_refused(tmp_path, text, message):
    path = tmp_path / "move.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TrajectoryError, match=message):
        read_points(str(path), ["b"])
