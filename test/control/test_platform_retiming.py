"""Parts of a platform's retiming: leg coordinates, forces, finer knots, and limits that are lowered.

Legs come from numpy, rotations from scipy, forces from the library's inverse dynamics of the whole platform.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from motion_base import HOME, MACHINE, motion_base
from platform_legs import legs_of_machine, replace_legs
from scipy.spatial.transform import Rotation

from robot_dynamics.control.retiming.retime import INTERVALS
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.stewart import retiming as module
from robot_dynamics.control.stewart.retiming import _PlatformModel, followed, retime_motion
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import JointKind
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.machine import JointFriction
from robot_dynamics.stewart.motion_table import MotionTable
from robot_dynamics.stewart.orientation import angular_motion

BASE = motion_base()
K = np.arange(6)
WRENCH = np.array([300.0, -200.0, 500.0, 40.0, -50.0, 60.0])


RUBBING = replace_legs(
    MACHINE, friction=[JointFriction(0.02, 100.0 + 10.0 * k, 0.01, 20.0 + 3.0 * k) for k in range(6)]
)
"""The motion base with friction of its own for each leg."""


@pytest.fixture(scope="module")
def model():
    return _PlatformModel(RUBBING, WRENCH)


def motions(count=5):
    """Places, rates and second derivatives of x, y, z, roll, pitch, yaw near home."""
    random = np.random.default_rng(3)
    place, rate, second = random.uniform(-0.1, 0.1, (3, count, 6)) * [[[1.0]], [[3.0]], [[9.0]]]
    place[:, :3] += HOME
    return place, rate, second


def lengths(place):
    """(N, 6) lengths of the legs at places (N, 6)."""
    turns = Rotation.from_euler("xyz", place[:, 3:]).as_matrix()
    return np.array([legs_of_machine(RUBBING, *pose)[0] for pose in zip(place[:, :3], turns, strict=True)])


def test_coordinates_are_the_pose_and_the_lengths_of_the_legs(model):
    assert model.dof == 12
    assert model.joint_names == ("x", "y", "z", "roll", "pitch", "yaw", *RUBBING.leg_names)
    for k, name in enumerate(model.joint_names):
        joint = model.driving_joint(k)
        assert (joint.name, joint.kind) == (name, JointKind.PRISMATIC)
        np.testing.assert_array_equal(joint.axis, [1.0, 0.0, 0.0])
        assert joint.body.mass == 0.0 and not joint.body.center_of_mass.any() and not joint.body.inertia.any()
        np.testing.assert_array_equal(joint.origin, np.eye(4))


def test_rates_of_the_legs_are_derivatives_of_their_lengths(model):
    place, rate, second = motions()
    found = model.legs(place, rate, second)
    np.testing.assert_allclose(found[0], lengths(place), rtol=1e-12)
    h = 1e-4
    ahead, behind = (lengths(place + s * rate + s * s * second / 2) for s in (h, -h))
    np.testing.assert_allclose(found[1], (ahead - behind) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(found[2], (ahead - 2 * lengths(place) + behind) / h**2, atol=1e-5)


def test_forces_are_those_of_the_platform_without_friction(model):
    place, rate, second = motions()
    found = model.inverse_dynamics(
        *(np.hstack([part, np.full((5, 6), 7.0)]) for part in (place, rate, second))
    )
    np.testing.assert_array_equal(found[:, :6], np.zeros((5, 6)))
    smooth = replace_legs(RUBBING, friction=[JointFriction(0.0, 0.0, 0.0)] * 6)
    turning, bend = angular_motion(place[:, 3:], rate[:, 3:], second[:, 3:])
    exact = StewartPlatform(smooth).inverse_dynamics(
        place[:, :3], Rotation.from_euler("xyz", place[:, 3:]).as_quat(), rate[:, :3], turning, second[:, :3],
        bend, force=WRENCH[:3], torque=WRENCH[3:], on_violation="report",
    )  # fmt: skip
    np.testing.assert_allclose(found[:, 6:], exact.actuator_forces, rtol=1e-8)


def test_friction_of_the_actuators_is_that_of_the_coordinates(model):
    """Viscous, and dry to either side; the pose has none."""
    driven = model.driven
    assert driven.chain is model and driven.links is model and model.driven is driven
    np.testing.assert_array_equal(driven.rotor_inertia, np.zeros(12))
    expected = {name: np.zeros(12) for name in DriveFriction.__dataclass_fields__}
    expected["damping"][6:], expected["friction"][6:] = 100 + 10 * K, 20 + 3 * K
    expected["static_friction"] = expected["friction"]
    expected["stribeck_velocity"] = expected["presliding_travel"] = np.ones(12)
    np.testing.assert_array_equal(driven.friction, np.column_stack(list(expected.values())))


def test_quaternions_are_those_of_roll_pitch_and_yaw():
    angles = np.random.default_rng(5).uniform(-1.5, 1.5, (9, 3))
    found, expected = module._quaternion(angles), Rotation.from_euler("xyz", angles).as_quat()
    np.testing.assert_allclose(found * np.sign((found * expected).sum(axis=1))[:, None], expected, atol=1e-14)


def table(count=7, start=2.0, end=4.39):
    """A motion about all axes, from rest to rest."""
    times = np.linspace(start, end, count)
    s = (times - start) / (end - start)
    angles = np.outer(np.sin(np.pi * s) ** 2, [0.1, -0.15, 0.2])
    ways = np.outer(np.sin(np.pi * s) ** 2, [0.05, -0.04, 0.06])
    return MotionTable(times, HOME + ways, Rotation.from_euler("xyz", angles).as_quat())


def test_the_followed_curve_begins_at_rest_at_the_first_pose_at_time_zero():
    given = table()
    path = followed(given)
    np.testing.assert_allclose(path.spline.times, given.time - 2.0, atol=1e-12)
    for time, place, turn in zip(given.time, given.position, given.orientation, strict=True):
        motion = path.sample(time - 2.0)
        np.testing.assert_allclose(motion.position, place, atol=1e-12)
        np.testing.assert_allclose(motion.rotation, Rotation.from_quat(turn).as_matrix(), atol=1e-12)
    for end in (0.0, 2.39):
        motion = path.at(end)
        assert max(np.abs(part).max() for part in (motion.linear_velocity, motion.angular_velocity)) < 1e-12
    single = MotionTable(given.time[:1], given.position[:1], given.orientation[:1])
    with pytest.raises(TrajectoryError, match=r"^a motion needs at least two poses$"):
        followed(single)


@pytest.mark.parametrize(("count", "parts"), [(2, 200), (4, 67), (201, 1), (300, 1)])
def test_leg_lengths_run_beside_the_pose_on_finer_knots(model, count, parts):
    given = followed(table(count)).spline
    found = module._with_lengths(given, model)
    assert len(found.times) == (count - 1) * parts + 1
    expected = np.interp(np.arange((count - 1) * parts + 1) / parts, np.arange(count), given.times)
    np.testing.assert_allclose(found.times, expected, atol=1e-9)
    times = np.linspace(0.0, given.times[-1], 33)
    for part, own in zip(found.at(times), given.at(times), strict=True):
        np.testing.assert_allclose(part[:, :6], own, atol=1e-6)
    place, rate, second = (given.at(found.times[::9])[order] for order in range(3))
    for part, own in zip(found.at(found.times[::9]), model.legs(place, rate, second), strict=True):
        np.testing.assert_allclose(part[:, 6:], own, atol=1e-6)


@pytest.mark.parametrize(
    ("duration", "step", "count"), [(1.0, 0.3, 4), (1.0, 0.25, 4), (1.0, 0.2499, 5), (0.1, 9.0, 2)]
)
def test_poses_of_the_result_are_at_even_times(duration, step, count):
    spline = followed(table()).spline
    wide = QuinticSpline(spline.times, np.concatenate([spline.coefficients, spline.coefficients], axis=2))
    found = module._table(SimpleNamespace(duration=duration, spline=wide), step, 5.0)
    np.testing.assert_allclose(found.time, 5.0 + np.linspace(0.0, duration, count + 1), atol=1e-12)
    places = spline.at(found.time - 5.0)[0]
    np.testing.assert_allclose(found.position, places[:, :3], atol=1e-12)
    turns = Rotation.from_quat(found.orientation).as_matrix()
    np.testing.assert_allclose(turns, Rotation.from_euler("xyz", places[:, 3:]).as_matrix(), atol=1e-12)


# The loop over limits


class Loop:
    """Retiming and verification whose results a test chooses."""

    def __init__(self, monkeypatch, *found, errors=()):
        self.found, self.errors = list(found), list(errors)
        self.platforms, self.retimed, self.trajectories = [], [], []
        monkeypatch.setattr(module, "trajectory_violations", self.violations)
        monkeypatch.setattr(module, "retime", self.retime)

    def violations(self, platform, trajectory, wrench):
        assert wrench is WRENCH
        self.platforms.append(platform)
        self.trajectories.append(trajectory)
        found = self.found.pop(0) if self.found else ()
        return tuple(SimpleNamespace(violation=SimpleNamespace(**one)) for one in found)

    def retime(self, driven, spline, limits, slower, intervals):
        if self.errors and (error := self.errors.pop(0)):
            raise error
        assert driven.chain.dof == 12 and np.array_equal(driven.chain._wrench, WRENCH)
        self.retimed.append((limits.velocity.copy(), limits.effort.copy(), slower, intervals))
        return SimpleNamespace(duration=spline.times[-1], spline=spline)


def too_much(quantity="force", leg=2, value=20e3, limit=15e3):
    return {"quantity": quantity, "leg": leg, "value": value, "limit": limit}


FAST = (too_much("speed"),)


@pytest.mark.parametrize("found", [(), (too_much("length"),)])
def test_a_motion_that_keeps_the_limits_of_its_timing_stays_as_it_is(monkeypatch, found):
    loop, given = Loop(monkeypatch, found), table()
    made = retime_motion(BASE, given, WRENCH)
    assert made.table is given and made.profile is None and len(made.violations) == len(found)
    assert loop.retimed == [] and loop.platforms == [BASE]
    np.testing.assert_array_equal(
        loop.trajectories[0].spline.coefficients, followed(given).spline.coefficients
    )


@pytest.mark.parametrize("quantity", ["speed", "force"])
def test_a_motion_that_exceeds_them_is_slowed_down_within_the_limits_of_the_legs(monkeypatch, quantity):
    loop, given = Loop(monkeypatch, (too_much(quantity),)), table()
    made = retime_motion(BASE, given, WRENCH)
    ((velocity, effort, slower, intervals),) = loop.retimed
    np.testing.assert_array_equal(velocity, [np.inf] * 6 + [1.0] * 6)
    np.testing.assert_array_equal(effort, [np.inf] * 6 + [15e3] * 6)
    assert slower is True and intervals == INTERVALS
    assert made.violations == () and made.profile is not None
    np.testing.assert_allclose(made.table.time, 2.0 + np.linspace(0.0, 2.39, 121), atol=1e-9)
    np.testing.assert_allclose(made.table.position[0], HOME, atol=1e-9)
    np.testing.assert_allclose(loop.trajectories[1].end, 2.39)


def test_the_fastest_motion_is_free_of_its_own_timing(monkeypatch):
    loop = Loop(monkeypatch)
    made = retime_motion(BASE, table(), WRENCH, fastest=True, intervals=77)
    assert [one[2:] for one in loop.retimed] == [(False, 77)] and made.profile is not None


def test_poses_of_the_result_are_no_farther_apart_than_those_of_the_motion(monkeypatch):
    Loop(monkeypatch, FAST)
    made = retime_motion(BASE, table(481), WRENCH)
    steps = np.diff(made.table.time) / (2.39 / 480)
    assert steps.min() > 0.995 and steps.max() < 1.0 + 1e-9


def test_a_margin_stays_free_of_each_limit(monkeypatch):
    loop = Loop(monkeypatch, FAST)
    retime_motion(BASE, table(), WRENCH, margin=0.2)
    velocity, effort, *_ = loop.retimed[0]
    np.testing.assert_allclose(velocity[6:], 0.8)
    np.testing.assert_allclose(effort[6:], 12e3)
    for platform in loop.platforms:
        for leg, own in zip(platform.machine.legs, BASE.machine.legs, strict=True):
            assert leg.limits == replace(own.limits, speed=0.8 * 1.0, force=(1.0 - 0.2) * 15e3)


def test_limits_that_the_result_exceeds_are_lowered_for_that_leg(monkeypatch):
    second = (
        too_much("force", 2, 20e3, 15e3),
        too_much("speed", 4, 1.25, 1.0),
        too_much("length", 1, 9.0, 1.0),
    )
    loop = Loop(monkeypatch, FAST, second, (too_much("force", 2, 16e3, 15e3),))
    made = retime_motion(BASE, table(), WRENCH)
    velocities, efforts = (np.array([one[k][6:] for one in loop.retimed]) for k in (0, 1))
    np.testing.assert_allclose(velocities[:, [0, 4]], [[1.0, 1.0], [1.0, 0.997 / 1.25], [1.0, 0.997 / 1.25]])
    steps = [15e3, 15e3 * 0.997 * 0.75, 15e3 * 0.997**2 * 0.75 * 15.0 / 16.0]
    np.testing.assert_allclose(efforts[:, 2], steps)
    np.testing.assert_allclose(efforts[:, 4], 15e3)
    assert len(loop.retimed) == 3 and made.violations == ()


def test_limits_are_lowered_fifteen_times_at_most(monkeypatch):
    loop = Loop(monkeypatch, *[FAST] * 40)
    made = retime_motion(BASE, table(), WRENCH)
    assert len(loop.retimed) == 15 and len(made.violations) == 1


def test_lengths_that_no_timing_changes_end_the_search(monkeypatch):
    loop = Loop(monkeypatch, FAST, (too_much("length"),))
    made = retime_motion(BASE, table(), WRENCH)
    assert len(loop.retimed) == 1 and len(made.violations) == 1


def test_where_lower_limits_permit_no_timing_the_last_one_counts(monkeypatch):
    loop = Loop(monkeypatch, FAST, FAST, errors=[None, TrajectoryError("none")])
    made = retime_motion(BASE, table(), WRENCH)
    assert len(loop.retimed) == 1 and len(made.violations) == 1
    Loop(monkeypatch, FAST, errors=[TrajectoryError("leg_1 cannot")])
    with pytest.raises(TrajectoryError, match="leg_1 cannot"):
        retime_motion(BASE, table(), WRENCH)
