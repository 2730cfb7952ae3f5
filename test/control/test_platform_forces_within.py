"""Motions, errors and forces of a platform: a made-up machine, in numpy."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest
from inner_core import FOLDER, opened, without_bodies
from scipy.spatial.transform import Rotation

from robot_dynamics.spatial import skew

GRAVITY = np.array([0.7, -0.4, -9.6])


@lru_cache(maxsize=1)
def declared():
    """cffi's declarations of the platform's headers, and the core's library with them."""
    text = "\n".join(
        (folder / name).read_text(encoding="utf-8")
        for folder, name in (
            (FOLDER.parents[1] / "stewart" / "native", "kinematics.h"),
            (FOLDER / "platform", "platform.h"),
        )
    )
    text = re.sub(r"#ifn?def (__cplusplus|STEWART_API).*?#endif", "", text, flags=re.DOTALL)
    text = re.sub(r"^#.*$|\bSTEWART_API\b|\b_Atomic\b", "", text, flags=re.MULTILINE)
    return opened(without_bodies(text))


def matrix_of(quaternion):
    return Rotation.from_quat(quaternion).as_matrix()


def cross(a, b):
    """Faster than numpy's, of single vectors."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def direction(velocity):
    """Smooth sign, see friction.h."""
    t = np.clip(np.asarray(velocity) / 0.005, -1.0, 1.0)
    return 0.5 * t * (3.0 - t * t)


class MadeUpPlatform:
    """A rigid body on six legs without mass, with friction, as the model of a core.

    Args:
        seed: of the numbers.
        turning: friction of base and platform joints, beside the actuators' in the model.
    """

    def __init__(self, seed=0, turning=False):
        self.ffi, self.calls = declared()
        self.draw = draw = np.random.default_rng(seed)
        self.kept, self.motions, self.fails_at = [], [], None
        side = np.radians([10, 50, 130, 170, 250, 290]), np.radians([-30, 80, 95, 200, 220, 330])
        self.base = np.array([1.5 * np.cos(side[0]), 1.5 * np.sin(side[0]), np.zeros(6)]).T
        self.top = np.array([1.1 * np.cos(side[1]), 1.1 * np.sin(side[1]), np.zeros(6)]).T
        self.base += draw.uniform(-0.1, 0.1, (6, 3))
        self.top += draw.uniform(-0.1, 0.1, (6, 3))
        self.mass, self.center = 40.0, np.array([0.05, -0.03, 0.2])
        self.inertia = np.array([[9.0, 0.4, -0.3], [0.4, 7.0, 0.5], [-0.3, 0.5, 12.0]])
        self.coulomb, self.viscous = draw.uniform(3.0, 9.0, 6), draw.uniform(20.0, 60.0, 6)
        self.turning = draw.uniform(10.0, 30.0, 6) if turning else np.zeros(6)
        self.model = model = self.ffi.new("rd_platform_model *")
        model.geometry.base, model.geometry.platform = self.base.tolist(), self.top.tolist()
        model.geometry.characteristic_length = 1.1
        model.home, model.gravity = [0.02, -0.03, 1.2, 0.0, 0.0, 0.0, 1.0], GRAVITY.tolist()
        model.up = (-GRAVITY / np.linalg.norm(GRAVITY)).tolist()
        model.stroke, model.condition_limit, model.turning_friction = 0.6, 50.0, turning
        model.coulomb, model.viscous = self.coulomb.tolist(), self.viscous.tolist()
        model.disturbance_bounds, model.longest, model.shortest = [1e3, 1e3], [1.0] * 6, [0.3] * 6
        self.settings = self.new_settings(1)
        self.core = self.ffi.gc(self.calls.rd_core_new(6, self.settings), self.calls.rd_core_free)
        self.platform = self.ffi.cast("rd_platform *", self.core.machine_state)
        self.core.phase, self.core.period = self.calls.RD_HOLDING, 0.004
        self.core.rubbed[0] = 0.5  # behind the shares of friction

    def array(self, values, behind=np.nan):
        """Numbers, and one behind them, by which a function shows that it reads too far."""
        self.kept.append(self.ffi.new("double[]", [*map(float, values), behind]))
        return self.kept[-1]

    def new_settings(self, number, mass=None, model=None):
        """Settings of a model; with another mass of the body."""
        settings = self.ffi.new("rd_settings *")
        settings.number = settings.model = number
        settings.machine = self.calls.rd_machine_platform()
        settings.platform = self.model if model is None else model
        settings.mode = self.calls.RD_PLATFORM_COMPUTED_FORCE
        self.kp, self.kv = np.array([90.0, 70, 110, 130, 80, 60]), np.array([17.0, 14, 19, 21, 15, 13])
        for name, values in (
            ("kp", self.kp), ("kv", self.kv), ("velocity_limits", [1e3] * 6), ("limits", [np.inf] * 6),
        ):  # fmt: skip
            setattr(settings, name, self.array(values, 0.0))

        def kernel(given, out):
            motion = np.frombuffer(self.ffi.buffer(given[0], 200)).copy()
            self.motions.append(motion)
            if len(self.motions) == self.fails_at:
                return 0
            self.ffi.memmove(out, self.forces(motion, self.mass if mass is None else mass), 48)
            return 1

        called = self.ffi.callback("int(const double *const *, double *)", kernel)
        settings.inverse_dynamics = called
        self.kept += [settings, called]
        return settings

    def body(self, rotation, w, linear, angular, mass, center, inertia):
        """(6,) wrench about the platform's origin, base frame, that moves a body."""
        c, about = rotation @ center, rotation @ inertia @ rotation.T
        force = mass * (linear - GRAVITY + cross(angular, c) + cross(w, cross(w, c)))
        return np.concatenate([force, cross(c, force) + about @ angular + cross(w, about @ w)])

    def jacobian(self, pose):
        arms = self.top @ matrix_of(pose[3:]).T
        legs = arms + pose[:3] - self.base
        legs /= np.linalg.norm(legs, axis=1)[:, None]
        return np.hstack([legs, np.cross(arms, legs)])

    def forces(self, motion, mass=None):
        """(6,) of a motion (25,), by virtual work."""
        pose, twist, a, wrench = np.split(motion, [7, 13, 19])
        rotation, mass = matrix_of(pose[3:]), self.mass if mass is None else mass
        jacobian = self.jacobian(pose)
        pushed = np.concatenate([rotation @ wrench[:3], rotation @ wrench[3:]])
        load = self.body(rotation, twist[3:], a[:3], a[3:], mass, self.center, self.inertia) - pushed
        rates = jacobian @ twist
        rubbed = self.coulomb * direction(rates) + (self.viscous + self.turning) * rates
        return np.linalg.solve(jacobian.T, load) + rubbed

    def inertia_matrix(self, pose, mass):
        rotation = matrix_of(pose[3:])
        c = skew(rotation @ self.center)
        about = rotation @ self.inertia @ rotation.T - mass * c @ c
        return np.block([[mass * np.eye(3), -mass * c], [mass * c, about]])

    def put(self, pose, twist=None, **fields):
        """Put the measured state into the core, and other arrays of the platform."""
        twist = np.zeros(6) if twist is None else twist
        self.pose, self.twist, self.j = pose, twist, self.jacobian(pose)
        fields |= {"pose": pose, "twist": twist, "jacobian": self.j.ravel(), "rates": self.j @ twist}
        for name, values in fields.items():
            setattr(self.platform, name, np.asarray(values, dtype=float).tolist())
        for i in range(6):
            self.core.state.velocity[i] = self.platform.rates[i]

    def motion(self, position, velocity, acceleration):
        made = self.ffi.new("rd_motion *")
        made.position, made.velocity, made.acceleration = map(self.array, (position, velocity, acceleration))
        self.kept.append(made)
        return made

    def refer(self, position, velocity, acceleration):
        """Put the reference of this cycle into the core; returns it."""
        for i in range(6):
            self.core.reference.position[i] = position[i]
            self.core.reference.velocity[i] = velocity[i]
            self.core.reference.acceleration[i] = acceleration[i]
        return self.ffi.addressof(self.core, "reference")

    def call(self, name, *given, of=None):
        """Efforts (6,) of a function of the core; None: it has none."""
        made = self.ffi.new("double[7]", [77.0] * 7)
        of = self.settings if of is None else of
        found = getattr(self.calls, name)(self.core, of, *given, made)
        assert (made[6], self.core.rubbed[0]) == (77.0, 0.5)
        return np.array(list(made))[:6] if found else None

    def effort(self, ahead=None, half=0.0, of=None):
        ahead = self.ffi.addressof(self.core, "reference") if ahead is None else ahead
        return self.call("rd_platform_effort", ahead, half, of=of)

    @property
    def disturbance(self):
        return np.array(list(self.platform.disturbance))

    @property
    def undisturbed(self):
        return np.array(list(self.platform.undisturbed))

    def doubles(self, name, *given, size=6):
        """Numbers that a function writes behind what it is given, and none beyond."""
        made = self.ffi.new("double[]", [55.0] * (size + 3))
        given = [self.array(one) if isinstance(one, np.ndarray | list) else one for one in given]
        getattr(self.calls, name)(*given, made)
        assert list(made)[size:] == [55.0] * 3
        return np.array(list(made))[:size]


POSE = np.concatenate([[0.06, -0.09, 1.27], Rotation.from_rotvec([0.11, -0.17, 0.23]).as_quat()])
ANGLES = np.array([0.13, -0.19, 0.27])
PLACE = np.concatenate([[0.04, -0.05, 1.31], ANGLES])
RATE, SECOND = np.array([0.3, -0.2, 0.15, 0.4, -0.35, 0.25]), np.array([1.1, -0.9, 0.8, -1.3, 1.2, 0.7])
TWIST = np.array([0.21, -0.17, 0.28, -0.31, 0.22, 0.19])
WRENCH = np.array([31.0, -22.0, 17.0, -4.0, 6.0, 5.0])


def motion_of(place, rate, second):
    """Pose, twist and acceleration of a reference: sums over the axes of yaw, pitch and roll."""
    yaw, pitch, roll = (Rotation.from_rotvec(v) for v in np.diag(place[[5, 4, 3]])[:, [2, 1, 0]][:, ::1])
    outer = [np.eye(3), yaw.as_matrix(), (yaw * pitch).as_matrix()]
    axes = [outer[0][:, 2], outer[1][:, 1], outer[2][:, 0]]
    w, alpha = np.zeros(3), np.zeros(3)
    for axis, k in zip(axes, (5, 4, 3), strict=True):
        alpha = alpha + axis * second[k] + np.cross(w, axis) * rate[k]
        w = w + axis * rate[k]
    whole = yaw * pitch * roll
    return (
        np.concatenate([place[:3], whole.as_quat()]),
        np.concatenate([rate[:3], w]),
        np.concatenate([second[:3], alpha]),
    )


def error_of(wanted, pose):
    turn = Rotation.from_quat(wanted[3:]) * Rotation.from_quat(pose[3:]).inv()
    return np.concatenate([wanted[:3] - pose[:3], turn.as_rotvec()])


@pytest.fixture
def made():
    return MadeUpPlatform()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_reference_is_a_pose_a_twist_and_an_acceleration(made, sign):
    pose, twist, acceleration = motion_of(PLACE, sign * RATE, SECOND)
    reference = made.motion(PLACE, sign * RATE, SECOND)
    outs = [made.ffi.new("double[9]", [9.0] * 9) for _ in range(3)]
    made.calls.rd_platform_motion(reference, *outs)
    for out, expected in zip(outs, (pose, twist, acceleration), strict=True):
        found = np.array(list(out))
        assert (found[len(expected) :] == 9.0).all()
        expected = expected * (np.sign(expected @ found[:7]) if len(expected) == 7 else 1.0)
        np.testing.assert_allclose(found[: len(expected)], expected, rtol=1e-12, atol=1e-14)
    found = made.doubles("rd_platform_reference", PLACE, sign * RATE, SECOND, size=24)
    expected = np.concatenate([PLACE[:3], matrix_of(pose[3:]).ravel(), twist, acceleration])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("signs", [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)])
@pytest.mark.parametrize("angle", [1e-13, 1e-5, 0.7, 3.0])
def test_the_error_of_a_pose_is_the_rotation_vector_in_the_base_frame(made, signs, angle):
    axis = np.array([2.0, -3.0, 6.0]) / 7.0
    own = POSE[3:] if angle > 1e-6 else np.array([0.0, 0.0, 0.0, 1.0])
    half = np.concatenate([np.sin(0.5 * angle) * axis, [np.cos(0.5 * angle)]])
    wanted = half if angle < 1e-6 else (Rotation.from_quat(half) * Rotation.from_quat(own)).as_quat()
    given = (
        np.concatenate([[0.5, -0.4, 1.1], signs[0] * wanted]),
        np.concatenate([[0.2, 0.3, 1.5], signs[1] * own]),
    )
    found = made.doubles("rd_pose_error", *given)
    expected = np.concatenate([[0.3, -0.7, -0.4], angle * axis])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-16)


def carry(made, mass=25.0):
    """Give the model a payload; returns the forces that it adds to a motion."""
    center, inertia = (
        np.array([0.3, -0.2, 0.4]),
        np.array([[3.0, 0.5, 0.2], [0.5, 4.0, -0.6], [0.2, -0.6, 5.0]]),
    )
    made.model.payload_mass, made.model.payload_center = mass, center.tolist()
    made.model.payload_inertia = inertia.ravel().tolist()

    def added(motion):
        pose, twist, a, _ = np.split(motion, [7, 13, 19])
        wrench = made.body(matrix_of(pose[3:]), twist[3:], a[:3], a[3:], mass, center, inertia)
        return np.linalg.solve(made.jacobian(pose).T, wrench)

    return added


@pytest.mark.parametrize("mass", [25.0, 0.5])
def test_a_payload_adds_the_forces_of_its_own_body_to_each_motion(made, mass):
    added = carry(made, mass)
    motions = np.array([np.concatenate([POSE, s * TWIST, s * SECOND, s * WRENCH]) for s in (1.0, -0.6, 0.3)])
    given, out = made.array(motions.ravel()), made.ffi.new("double[19]", [7.0] * 19)
    assert made.calls.rd_platform_forces_of(made.settings, 3, given, out)
    assert out[18] == 7.0
    found = np.array(list(out))[:18].reshape(3, 6)
    expected = [made.forces(motion) + added(motion) for motion in motions]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for fails_at in (1, 2, 3):
        made.motions.clear()
        made.fails_at = fails_at
        assert not made.calls.rd_platform_forces_of(made.settings, 3, made.array(motions.ravel()), out)


def test_without_a_payload_the_wrench_of_now_is_the_only_one(made):
    made.model.payload_center, made.model.payload_inertia = [1.0] * 3, [5.0] * 9
    made.put(POSE, TWIST, wrench=WRENCH)
    acceleration = made.array(SECOND)
    found = made.call("rd_platform_forces", made.array(POSE), made.array(TWIST), acceleration)
    np.testing.assert_array_equal(made.motions[-1], np.concatenate([POSE, TWIST, SECOND, WRENCH]))
    np.testing.assert_allclose(found, made.forces(made.motions[-1]), rtol=1e-12)


def test_loads_are_carried_with_the_estimated_disturbance(made):
    z = 0.1 * SECOND
    made.put(POSE, TWIST, wrench=WRENCH, disturbance=z)
    for name, twist in (("rd_platform_bearing", TWIST), ("rd_platform_load", 0.0 * TWIST)):
        expected = made.forces(np.concatenate([POSE, twist, z, WRENCH]))
        np.testing.assert_allclose(made.call(name), expected, rtol=1e-12)
    reference = made.motion(PLACE, RATE, SECOND)
    pose, twist, acceleration = motion_of(PLACE, RATE, SECOND)
    expected = made.forces(np.concatenate([pose, twist, acceleration, WRENCH]))
    np.testing.assert_allclose(made.call("rd_platform_reference_effort", reference), expected, rtol=1e-10)
    made.settings.mode = made.calls.RD_PLATFORM_FEEDFORWARD
    np.testing.assert_allclose(made.effort(reference), expected, rtol=1e-10)
    made.core.trip.latched = 1
    made.refer(PLACE, RATE, SECOND)
    assert np.abs(made.effort(reference) - expected).max() > 1.0


def test_legs_at_a_reference_and_their_distance_from_it(made):
    made.model.zero_lengths = zero = [0.7, 0.8, 0.9, 0.6, 0.5, 0.4]
    pose, twist, _ = motion_of(PLACE, RATE, SECOND)
    made.put(POSE, TWIST)
    reference = made.refer(PLACE, RATE, SECOND)
    position, rates = made.ffi.new("double[6]"), made.ffi.new("double[6]")
    made.calls.rd_platform_joints_of(made.core, reference, position, rates)
    legs = made.top @ matrix_of(pose[3:]).T + pose[:3] - made.base
    np.testing.assert_allclose(list(position), np.linalg.norm(legs, axis=1) - zero, rtol=1e-12)
    np.testing.assert_allclose(list(rates), made.jacobian(pose) @ twist, rtol=1e-10)
    linear, angular = made.ffi.new("double *"), made.ffi.new("double *")
    made.calls.rd_platform_stray(made.core, position, linear, angular)
    error = error_of(pose, POSE)
    np.testing.assert_allclose(list(position), made.j @ error, rtol=1e-10)
    np.testing.assert_allclose(
        [linear[0], angular[0]], [np.linalg.norm(error[:3]), np.linalg.norm(error[3:])]
    )
    np.testing.assert_allclose(made.doubles("rd_platform_stray_rate", made.core), made.j @ (twist - TWIST))
