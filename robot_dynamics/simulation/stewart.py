"""A simulated Stewart platform: MuJoCo integrates the motion, without this package's own dynamics."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import StateError
from robot_dynamics.model.chain import JointLimits
from robot_dynamics.simulation.mujoco_parts import quiet
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.simulation.plant import BRAKE, JointChecks, check_motion, checked_wrench, whole_steps
from robot_dynamics.simulation.stewart_model import LEGS, StewartModel, compile_stewart
from robot_dynamics.spatial import Array, cross
from robot_dynamics.stewart import StewartPlatform

SPEED_BANDWIDTH = 120.0
"""Bandwidth of the drives' velocity loop [rad/s]."""
POSITION_GAIN = 40.0
"""Velocity per position error [1/s]."""
RESET = 0.25
"""Rate of the integrator, as a share of the bandwidth of the velocity loop."""


class StewartPlant:
    """A Stewart platform that answers to actuator forces, or to setpoints of drives that close the loop.

    Joint positions are leg lengths [m]; the motion starts at rest.

    Args:
        platform: the machine; its own gravity holds.
        parameters: timestep and faults; gravity and rotor inertia of an arm do not apply.
        drives: ``effort``, or ``position`` or ``velocity`` for drives with a loop of their own.

    Raises:
        ModelError: MuJoCo cannot simulate the machine, e.g. because no rigid body has its inertias.
    """

    def __init__(
        self, platform: StewartPlatform, parameters: PlantParameters | None = None, drives: str = "effort"
    ) -> None:
        self.parameters = PlantParameters() if parameters is None else parameters
        self._platform = platform
        self._machine = platform.machine
        self._checks = JointChecks(
            self._machine.name, self.joint_names, "six finite numbers, one for each leg"
        )
        self._wrench = np.zeros(6)
        self._brakes = False
        self._command = drives
        self._drives: SetpointDrives | None = None
        self._use(compile_stewart(self._machine, self.parameters))
        self.reset(self.rest_position())

    def __repr__(self) -> str:
        step = 1e3 * self.parameters.physics_timestep
        stepping = f"{self.integrator} at {step:g} ms"
        return f"StewartPlant({self.name}: {self.dof} joints, {stepping}, at {self.time:g} s)"

    @property
    def name(self) -> str:
        """The machine's name."""
        return self._machine.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The legs, in the machine's order."""
        return self._machine.leg_names

    @property
    def idle_command(self) -> Array:
        """(6,) command that asks for no motion: no force, no velocity, or the present lengths."""
        return self.position if self._command == "position" else np.zeros(LEGS)

    @property
    def held_joints(self) -> Mapping[str, float]:
        """None: every joint is a leg's."""
        return {}

    @property
    def tip_names(self) -> tuple[str, ...]:
        """See :class:`Plant`."""
        return ()

    @property
    def dof(self) -> int:
        """Number of actuators."""
        return LEGS

    @property
    def limits(self) -> tuple[JointLimits, ...]:
        """Of length, rate and force."""
        return tuple(
            JointLimits(leg.limits.shortest, leg.limits.longest, leg.limits.speed, leg.limits.force)
            for leg in self._machine.legs
        )

    @property
    def integrator(self) -> str:
        """The integrator in use."""
        return "implicitfast"

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""
        return float(self._data.time)

    @property
    def position(self) -> Array:
        """(6,) leg lengths [m]."""
        return np.asarray(self._built.home_lengths + self._data.qpos[self._built.slides])

    @property
    def velocity(self) -> Array:
        """(6,) rates of the leg lengths [m/s]."""
        return np.array(self._data.qvel[self._built.slide_rates])

    @property
    def platform_pose(self) -> tuple[Array, Array]:
        """Position (3,) of the platform's origin [m] and rotation (3, 3), base frame: the true ones."""
        # Not the body's xpos, which MuJoCo computes before it moves on.
        x, y, z, *quaternion = self._data.qpos[:7]
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, np.array(quaternion))
        return np.array([x, y, z]), rotation.reshape(3, 3)

    @property
    def loop_error(self) -> float:
        """Largest distance between a leg's end and its point on the platform [m]."""
        mujoco.mj_kinematics(self._built.model, self._data)
        position, rotation = self.platform_pose
        points = position + self._machine.platform_points @ rotation.T
        ends = self._data.xpos[self._built.bodies[1:]]
        return float(np.linalg.norm(points - ends, axis=1).max())

    def rest_position(self) -> Array:
        """(6,) leg lengths at home [m]."""
        return np.array(self._built.home_lengths)

    def check_start(self, position: ArrayLike) -> Array:
        """The leg lengths (6,) [m] as an array, if the machine can start there; StateError if not."""
        return self._checks.start(position, self.limits)

    def reset(self, position: ArrayLike, velocity: ArrayLike | None = None) -> None:
        """Put the platform at rest where its legs have the given lengths, at time zero.

        Args:
            position: (6,) leg lengths [m]; the pose nearest to home is taken.
            velocity: must be None or zero.

        Raises:
            StateError: no pose near home has these lengths.
        """
        if velocity is not None and np.any(velocity):
            raise StateError("a platform starts at rest; the velocity must be zero")
        found = self._platform.forward_kinematics(self.check_start(position))
        if not found.converged:
            raise StateError(f"no pose near home has the leg lengths {np.asarray(position).tolist()} m")
        mujoco.mj_resetData(self._built.model, self._data)
        self._wrench = np.zeros(6)
        legs = self._platform.legs(found.position, found.orientation)
        x, y, z, w = found.orientation
        self._data.qpos[:7] = [*found.position, w, x, y, z]
        for k in range(LEGS):
            angles = self._built.universal_angles(k, legs.directions[k])
            slide = self._built.slides[k]
            self._data.qpos[slide - 2 : slide] = angles
            self._data.qpos[slide] = legs.lengths[k] - self._built.home_lengths[k]
        mujoco.mj_forward(self._built.model, self._data)
        if self._drives is not None:
            self._drives.reset()

    def set_wrench(self, wrench: ArrayLike) -> None:
        """Load the platform until further notice.

        Args:
            wrench: (6,) external force [N] on the platform at its origin and torque [N·m], base axes.

        Raises:
            StateError: a wrong length or a value that is not finite.
        """
        self._wrench = checked_wrench(wrench)

    def set_brakes(self, engaged: bool) -> None:
        """Lock all legs by dry friction, or release them."""
        self._brakes = engaged
        self._built.model.dof_frictionloss[self._built.slide_rates] = BRAKE if engaged else self._dry

    def advance(self, duration: float, effort: ArrayLike) -> Array:
        """Move on under constant actuator forces, or a constant setpoint of the drives.

        Args:
            duration: [s], a whole number of ``parameters.physics_timestep``.
            effort: (6,) [N], positive when the leg pushes; of drives lengths [m] or their rates [m/s].

        Returns:
            (6,) the last forces applied, after clamping to the limits where ``effort_limits`` is on.

        Raises:
            ParameterError: the duration is not a multiple of the step.
            StateError: a bad force, or the motion has diverged.
        """
        steps = whole_steps(duration, self.parameters.physics_timestep)
        command = force = self._checks.vector("command", effort)
        if self.parameters.effort_limits and self._drives is None:
            force = np.clip(force, -self._largest_force, self._largest_force)
        data, step = self._data, self.parameters.physics_timestep
        with quiet():
            for _ in range(steps):
                if self._drives is not None:
                    force = self._drives.force(command, self.position, self.velocity, step, self._brakes)
                data.qfrc_applied[self._built.slide_rates] = force + self._spring
                self._load_spherical_joints()
                mujoco.mj_step(self._built.model, data)
        check_motion(self, data.qpos, data.qvel)
        return force

    def check(self, parameters: PlantParameters) -> None:
        """ParameterError for a list of parameters that does not fit the legs."""
        self._force_limits(parameters)

    def prepare(self, parameters: PlantParameters) -> StewartModel:
        """Prepare for :meth:`reconfigure`, which takes a while; nothing changes, so any thread may.

        Raises:
            ModelError: the machine cannot be simulated so.
        """
        self._force_limits(parameters)
        return compile_stewart(self._machine, parameters)

    def reconfigure(self, parameters: PlantParameters, prepared: StewartModel | None = None) -> None:
        """Change the faults and keep the state.

        Args:
            parameters: the new ones.
            prepared: what :meth:`prepare` has made of them; made now if None.

        Raises:
            ModelError: the machine cannot be simulated so; everything stays as it was.
        """
        built = prepared or self.prepare(parameters)
        old = self._data
        self.parameters = parameters
        self._use(built)
        self._data.time = old.time
        self._data.qpos[:], self._data.qvel[:] = old.qpos, old.qvel

    def _force_limits(self, parameters: PlantParameters) -> Array:
        """(6,) the forces that the simulated actuators can give [N]."""
        described = [leg.limits.force for leg in self._machine.legs]
        return parameters.effort_limits_of(self.joint_names, described)

    def _load_spherical_joints(self) -> None:
        """The external wrench, and the viscous friction of the spherical joints, which MuJoCo has not."""
        data = self._data
        applied = data.xfrc_applied
        platform = self._built.bodies[0]
        offset = data.xpos[platform] - data.xipos[platform]
        applied[platform, :3] = self._wrench[:3]
        applied[platform, 3:] = self._wrench[3:] + cross(offset, self._wrench[:3])
        if not self._spherical.any():
            return
        # cvel is (angular, linear) in the world's axes.
        spin = data.cvel[self._built.bodies, :3]
        moments = self._spherical[:, None] * (spin[1:] - spin[0])
        applied[platform, 3:] += moments.sum(axis=0)
        applied[self._built.bodies[1:], 3:] = -moments

    def _use(self, built: StewartModel) -> None:
        self._largest_force = self._force_limits(self.parameters)
        if self._command != "effort":
            limits = self._largest_force if self.parameters.effort_limits else np.full(LEGS, np.inf)
            self._drives = SetpointDrives(self._command, self._machine.platform.mass / 3.0, limits)
        self._built = built
        self._data = mujoco.MjData(built.model)
        legs, rubbing = self._machine.legs, float(self.parameters.joint_friction)
        self._spherical = rubbing * np.array([leg.friction.spherical for leg in legs])
        self._dry = rubbing * np.array([leg.friction.coulomb for leg in legs])
        # MuJoCo's springs rest where the slides are at zero, at home; what they push there is added.
        self._spring = np.array(
            [leg.spring.force_at(home) for leg, home in zip(legs, built.home_lengths, strict=True)]
        )
        self.set_brakes(self._brakes)


class SetpointDrives:
    """Drives with a loop of their own that take cyclic setpoints of position or velocity.

    Each joint has cascaded control: position to velocity, and velocity to force with an integrator.

    Args:
        command: ``position`` or ``velocity``, the quantity of the setpoints.
        mass: that each joint moves, roughly [kg].
        limits: (n,) forces [N].

    Attributes:
        command: as given.
    """

    def __init__(self, command: str, mass: float, limits: Array) -> None:
        self.command = command
        self._gain, self._limits = mass * SPEED_BANDWIDTH, limits
        self.reset()

    def reset(self) -> None:
        """Forget the load."""
        self._carried = np.zeros(len(self._limits))

    def force(self, setpoint: Array, position: Array, velocity: Array, step: float, braked: bool) -> Array:
        """Forces (n,) for the next step.

        Args:
            setpoint: (n,) [m or m/s].
            position: (n,) measured [m].
            velocity: (n,) measured [m/s].
            step: [s].
            braked: engaged brakes hold the joints, so that the integrator rests.
        """
        wanted = POSITION_GAIN * (setpoint - position) if self.command == "position" else setpoint
        error = self._gain * (wanted - velocity)
        if not braked:
            self._carried = self._cut(self._carried + RESET * SPEED_BANDWIDTH * step * error)
        return self._cut(self._carried + error)

    def _cut(self, force: Array) -> Array:
        return np.clip(force, -self._limits, self._limits)
