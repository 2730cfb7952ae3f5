"""A simulated Stewart platform: MuJoCo integrates the motion, its six loops closed by constraints.

Each leg is a universal joint (two hinges), the lower part, a slide and the upper part, whose end is tied to
the platform's point. The platform itself is free. None of this package's own dynamics takes part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ModelError, ParameterError, StateError
from robot_dynamics.model.chain import JointLimits, RigidBody
from robot_dynamics.model.lumping import lumped_body
from robot_dynamics.simulation.mujoco_parts import (
    add_body,
    hard_constraint,
    quiet,
    scalar_or_first,
    scaled,
    set_mass,
    use_exact_masses,
)
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.spatial import Array, pose
from robot_dynamics.stewart import Machine, StewartPlatform
from robot_dynamics.stewart.kinematics import leg_geometry

# Dry friction of an engaged brake [N]: more than any actuator can overcome.
BRAKE = 1e6
LEGS = 6


class StewartPlant:
    """A Stewart platform that answers to actuator forces.

    Joint positions are leg lengths [m]; the motion starts at rest.

    Args:
        platform: the machine; its own gravity holds.
        parameters: timestep and faults; gravity and rotor inertia of an arm do not apply.

    Raises:
        ModelError: MuJoCo cannot simulate the machine, e.g. because no rigid body has its inertias.
    """

    def __init__(self, platform: StewartPlatform, parameters: PlantParameters | None = None) -> None:
        self.parameters = PlantParameters() if parameters is None else parameters
        self._platform = platform
        self._machine = platform.machine
        home = self._machine
        self._home = leg_geometry(home, home.home_position, home.home_rotation)
        self._largest_force = self._force_limits(self.parameters)
        self._brakes = False
        self._use(self._compile(self.parameters))
        self.reset(self.rest_position())

    @property
    def name(self) -> str:
        """The machine's name."""
        return self._machine.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The legs, in the machine's order."""
        return self._machine.leg_names

    @property
    def held_joints(self) -> Mapping[str, float]:
        """None: every joint is a leg's."""
        return {}

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
        return np.asarray(self._home.lengths + self._data.qpos[self._slides])

    @property
    def velocity(self) -> Array:
        """(6,) rates of the leg lengths [m/s]."""
        return np.array(self._data.qvel[self._slide_rates])

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
        mujoco.mj_kinematics(self._model, self._data)
        position, rotation = self.platform_pose
        points = position + self._machine.platform_points @ rotation.T
        ends = self._data.xpos[self._bodies[1:]]
        return float(np.linalg.norm(points - ends, axis=1).max())

    def rest_position(self) -> Array:
        """(6,) leg lengths at home [m]."""
        return np.array(self._home.lengths)

    def check_start(self, position: ArrayLike) -> Array:
        """The leg lengths (6,) [m] as an array, if the machine can start there; StateError if not."""
        lengths = self._checked("position", position)
        for name, value, limit in zip(self.joint_names, lengths, self.limits, strict=True):
            if not limit.lower - 1e-9 <= value <= limit.upper + 1e-9:
                raise StateError(
                    f"{name} cannot start at {value:g} m, outside its stroke {limit.lower:g} to"
                    f" {limit.upper:g} m"
                )
        return lengths

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
        mujoco.mj_resetData(self._model, self._data)
        legs = self._platform.legs(found.position, found.orientation)
        x, y, z, w = found.orientation
        self._data.qpos[:7] = [*found.position, w, x, y, z]
        for k in range(LEGS):
            first, second = self._angles(k, legs.directions[k])
            self._data.qpos[self._slides[k] - 2] = first
            self._data.qpos[self._slides[k] - 1] = second
            self._data.qpos[self._slides[k]] = legs.lengths[k] - self._home.lengths[k]
        mujoco.mj_forward(self._model, self._data)

    def set_wrench(self, wrench: ArrayLike) -> None:
        """Load the platform until further notice.

        Args:
            wrench: (6,) external force [N] on the platform at its origin and torque [N·m], base axes.

        Raises:
            StateError: a wrong length or a value that is not finite.
        """
        values = np.asarray(wrench, dtype=float)
        if values.shape != (6,) or not np.isfinite(values).all():
            raise StateError(f"the wrench must be six finite numbers, force and torque; it is {wrench!r}")
        self._wrench = values

    def set_brakes(self, engaged: bool) -> None:
        """Lock all legs by dry friction, or release them."""
        self._brakes = engaged
        self._model.dof_frictionloss[self._slide_rates] = BRAKE if engaged else 0.0

    def advance(self, duration: float, effort: ArrayLike) -> Array:
        """Move on under constant actuator forces.

        Args:
            duration: [s], a whole number of ``parameters.physics_timestep``.
            effort: (6,) [N], positive when the leg pushes.

        Returns:
            (6,) the forces applied, after clamping to the limits where ``effort_limits`` is on.

        Raises:
            ParameterError: the duration is not a multiple of the step.
            StateError: a bad force, or the motion has diverged.
        """
        timestep = self.parameters.physics_timestep
        steps = round(duration / timestep)
        if steps < 0 or abs(steps * timestep - duration) > 1e-6 * timestep:
            raise ParameterError(f"the duration {duration} s is not a multiple of the timestep {timestep} s")
        force = self._checked("effort", effort)
        if self.parameters.effort_limits:
            force = np.clip(force, -self._largest_force, self._largest_force)
        data = self._data
        data.qfrc_applied[self._slide_rates] = force
        for _ in range(steps):
            self._load_spherical_joints()
            mujoco.mj_step(self._model, data)
        if not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
            raise StateError(f"the motion of {self.name} has diverged at {self.time:g} s")
        return force

    def prepare(self, parameters: PlantParameters) -> Any:
        """What :meth:`reconfigure` needs, which takes a while to make; nothing changes, so any thread may.

        Raises:
            ModelError: the machine cannot be simulated so.
        """
        self._force_limits(parameters)
        return self._compile(parameters)

    def reconfigure(self, parameters: PlantParameters, prepared: Any = None) -> None:
        """Change the faults and keep the state.

        Args:
            parameters: the new ones.
            prepared: what :meth:`prepare` has made of them; made now if None.

        Raises:
            ModelError: the machine cannot be simulated so; everything stays as it was.
        """
        model = prepared or self.prepare(parameters)
        old = self._data
        self._largest_force = self._force_limits(parameters)
        self.parameters = parameters
        self._use(model)
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
        platform = self._bodies[0]
        offset = data.xpos[platform] - data.xipos[platform]
        applied[platform, :3] = self._wrench[:3]
        applied[platform, 3:] = self._wrench[3:] + np.cross(offset, self._wrench[:3])
        if not self._spherical.any():
            return
        # cvel is (angular, linear) in the world's axes.
        spin = data.cvel[self._bodies, :3]
        moments = self._spherical[:, None] * (spin[1:] - spin[0])
        applied[platform, 3:] += moments.sum(axis=0)
        applied[self._bodies[1:], 3:] = -moments

    def _angles(self, k: int, direction: Array) -> tuple[float, float]:
        """Angles of the universal joint about its fixed and its moving axis that point leg k along a line."""
        fixed, moving = self._machine.universal_axes[k], self._frames[k][:3, 1]
        normal = np.cross(fixed, moving)
        home = self._frames[k][:3, 0]
        along, across = home @ fixed, home @ normal
        side = np.sign(across) * np.hypot(direction @ moving, direction @ normal)
        second = np.arctan2(across, along) - np.arctan2(side, direction @ fixed)
        first = np.arctan2(-(direction @ moving) / side, (direction @ normal) / side)
        return float(first), float((second + np.pi) % (2.0 * np.pi) - np.pi)

    def _use(self, model: Any) -> None:
        self._model = model
        self._data = mujoco.MjData(model)
        joints = [model.joint(name) for name in self.joint_names]
        self._slides = np.array([int(joint.qposadr[0]) for joint in joints])
        self._slide_rates = np.array([int(joint.dofadr[0]) for joint in joints])
        self._bodies = np.array([model.body(n).id for n in ("platform", *(f"upper{k}" for k in range(LEGS)))])
        friction = [leg.friction.spherical for leg in self._machine.legs]
        self._spherical = np.array(friction) if self.parameters.joint_friction else np.zeros(LEGS)
        self._wrench = np.zeros(6)
        self.set_brakes(self._brakes)

    def _compile(self, parameters: PlantParameters) -> Any:
        machine, timestep = self._machine, parameters.physics_timestep
        spec = mujoco.MjSpec()
        spec.modelname = machine.name
        spec.compiler.degree = False
        spec.compiler.autolimits = False
        spec.option.timestep = timestep
        spec.option.gravity = machine.gravity
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(
            mujoco.mjtDisableBit.mjDSBL_AUTORESET
        )
        exact: dict[str, tuple[float, Array]] = {}
        plate = add_body(spec.worldbody, "platform", pose(machine.home_rotation, machine.home_position))
        plate.add_freejoint()
        set_mass(plate, _loaded(machine, parameters), exact, moving=True)
        self._frames = [_leg_frame(machine, k, self._home.directions[k]) for k in range(LEGS)]
        for k in range(LEGS):
            self._add_leg(spec, k, parameters, exact)
        with quiet():
            try:
                model = spec.compile()
            except ValueError as error:
                raise ModelError(f"MuJoCo refuses the machine {machine.name}: {error}") from error
        use_exact_masses(model, exact)
        mujoco.mj_setConst(model, mujoco.MjData(model))
        return model

    def _add_leg(
        self, spec: Any, k: int, parameters: PlantParameters, exact: dict[str, tuple[float, Array]]
    ) -> None:
        leg, timestep = self._machine.legs[k], parameters.physics_timestep
        frame = self._frames[k]
        lower = add_body(spec.worldbody, f"lower{k}", frame)
        fixed = frame[:3, :3].T @ self._machine.universal_axes[k]
        for number, axis in enumerate((fixed, np.array([0.0, 1.0, 0.0]))):
            hinge = lower.add_joint(name=f"universal{k}{number}", axis=axis)
            hinge.type = mujoco.mjtJoint.mjJNT_HINGE
            if parameters.joint_friction:
                hinge.damping = scalar_or_first(hinge.damping, leg.friction.universal)
        set_mass(lower, scaled(leg.lower, parameters), exact, moving=True)
        upper = add_body(lower, f"upper{k}", pose(position=[self._home.lengths[k], 0.0, 0.0]))
        slide = upper.add_joint(name=leg.name, axis=[1.0, 0.0, 0.0])
        slide.type = mujoco.mjtJoint.mjJNT_SLIDE
        slide.solref_friction, slide.solimp_friction = hard_constraint(timestep)
        if parameters.joint_friction:
            slide.damping = scalar_or_first(slide.damping, leg.friction.prismatic)
        if parameters.joint_limits and np.isfinite(leg.limits.longest):
            slide.limited = 1
            slide.range = [
                leg.limits.shortest - self._home.lengths[k],
                leg.limits.longest - self._home.lengths[k],
            ]
            slide.solref_limit, slide.solimp_limit = hard_constraint(timestep)
        set_mass(upper, scaled(leg.upper, parameters), exact, moving=True)
        tie = spec.add_equality()
        tie.type = mujoco.mjtEq.mjEQ_CONNECT
        tie.objtype = mujoco.mjtObj.mjOBJ_BODY
        tie.name1, tie.name2 = "platform", f"upper{k}"
        data = np.array(tie.data, dtype=float)
        data[:3] = leg.platform_point
        tie.data = data
        tie.solref, tie.solimp = hard_constraint(timestep)

    def _checked(self, what: str, values: ArrayLike) -> Array:
        array = np.asarray(values, dtype=float)
        if array.shape != (LEGS,) or not np.isfinite(array).all():
            raise StateError(f"the {what} of {self.name} must be six finite numbers, one for each leg")
        return array


def _leg_frame(machine: Machine, k: int, direction: Array) -> Array:
    """(4, 4) pose of leg k at home: x along the leg, y along the moving axis of the universal joint."""
    moving = np.cross(machine.universal_axes[k], direction)
    moving /= np.linalg.norm(moving)
    rotation = np.column_stack([direction, moving, np.cross(direction, moving)])
    return pose(rotation, machine.legs[k].base_point)


def _loaded(machine: Machine, parameters: PlantParameters) -> RigidBody:
    """The platform with the payload of the parameters."""
    plate = scaled(machine.platform, parameters)
    return lumped_body((plate, parameters.payload)) if parameters.payload_mass > 0.0 else plate
