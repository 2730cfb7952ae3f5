"""The core of a platform whose model is a rigid body on six legs, in numpy and scipy."""

from __future__ import annotations

import numpy as np
from inner_core import inner
from platform_legs import legs_of
from scipy.spatial.transform import Rotation

from robot_dynamics.spatial import cross, skew

GRAVITY = np.array([0.7, -0.4, -9.6])


def matrix_of(quaternion):
    return Rotation.from_quat(quaternion).as_matrix()


def direction(velocity):
    """Smooth sign, see friction.h."""
    t = np.clip(np.asarray(velocity) / 0.005, -1.0, 1.0)
    return 0.5 * t * (3.0 - t * t)


def spatial_inertia(rotation, mass, center, inertia):
    """(6, 6) of a body that is turned, about the origin of its frame."""
    c = skew(rotation @ center)
    about = rotation @ inertia @ rotation.T - mass * c @ c
    return np.block([[mass * np.eye(3), -mass * c], [mass * c, about]])


class PlatformBody:
    """A rigid body on six legs without mass, with friction, as the model of a core.

    Args:
        seed: of the numbers.
        turning: friction of base and platform joints, beside the actuators' in the model.
    """

    def __init__(self, seed=0, turning=False):
        self.ffi, self.calls = inner()
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
        return legs_of(self.base, self.top, pose[:3], matrix_of(pose[3:]))[1]

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
        return spatial_inertia(matrix_of(pose[3:]), mass, self.center, self.inertia)

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
    yaw, pitch, roll = (Rotation.from_rotvec(place[k] * np.eye(3)[k - 3]) for k in (5, 4, 3))
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
