"""A simulated arm: MuJoCo integrates the motion, none of this package's own dynamics takes part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.friction import direction
from robot_dynamics.errors import StateError, quoted, shown
from robot_dynamics.model.chain import JointLimits, KinematicChain
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.urdf import parse_urdf
from robot_dynamics.simulation.arm_model import MujocoArm, compile_arm, tip_site
from robot_dynamics.simulation.bodies import ArmBodies, bodies_of_chain, bodies_of_tree
from robot_dynamics.simulation.mujoco_parts import quiet
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.simulation.plant import BRAKE, JointChecks, check_motion, checked_wrench, whole_steps
from robot_dynamics.spatial import Array

LOAD_ROUNDS = 100
"""Most rounds in which load and the friction that depends on it are made to agree."""


class ArmPlant:
    """An arm that answers to joint efforts.

    Every link of the description is a body of its own, fixed links and locked side branches included. Efforts
    are held constant over a step; with ``rk4`` the error of a step of 0.5 ms is far below any encoder's.

    Args:
        source: path of a URDF, its XML text (str or bytes), or a chain.
        root: link fixed to the ground; the description's root when None.
        tip: link at the end of the arm; as :func:`robot_dynamics.load_urdf` chooses when None.
        parameters: the world the arm stands in, and its faults.
        locked_joints: positions at which joints are held [rad or m], as for :func:`robot_dynamics.load_urdf`.
        tips: instead of ``tip`` names of several links, or "all", as for :func:`robot_dynamics.load_urdf`.

    Raises:
        ModelError: the description cannot be read or simulated.
    """

    def __init__(
        self,
        source: str | bytes | Path | KinematicChain,
        root: str | None = None,
        tip: str | None = None,
        parameters: PlantParameters | None = None,
        locked_joints: dict[str, float] | None = None,
        tips: str | Sequence[str] | None = None,
    ) -> None:
        self.parameters = PlantParameters() if parameters is None else parameters
        self._arm = _read(source, root, tip, locked_joints, tips)
        names = self._arm.joint_names
        self._checks = JointChecks(
            self._arm.name, names, f"{len(names)} finite numbers, of {', '.join(names)}"
        )
        self._brakes = False
        built = compile_arm(self._arm, self.parameters)
        self._use(built, mujoco.MjData(built.model))
        self.reset(self.rest_position())

    def __repr__(self) -> str:
        step = 1e3 * self.parameters.physics_timestep
        return (
            f"ArmPlant({self.name}: {self.dof} joints, {self.integrator} at {step:g} ms, at {self.time:g} s)"
        )

    @property
    def name(self) -> str:
        """The robot's name."""
        return self._arm.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The independent joints in chain order: the order of every position, velocity and effort."""
        return self._arm.joint_names

    @property
    def held_joints(self) -> Mapping[str, float]:
        """Positions of the locked independent joints, such as a gripper's [rad or m]."""
        return self._arm.held

    @property
    def tip_names(self) -> tuple[str, ...]:
        """Names of the tips."""
        return self._arm.tip_names

    @property
    def dof(self) -> int:
        """Number of independent joints."""
        return len(self.joint_names)

    @property
    def limits(self) -> tuple[JointLimits, ...]:
        """Limits of the independent joints."""
        by_name = {body.joint.name: body.joint.limits for body in self._arm.bodies if body.joint is not None}
        return tuple(by_name[name] for name in self.joint_names)

    @property
    def integrator(self) -> str:
        """The integrator in use, "rk4" or "implicitfast"."""
        return self._built.integrator

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""
        return float(self._data.time)

    @property
    def position(self) -> Array:
        """(n,) joint positions [rad or m]."""
        return np.array(self._data.qpos[self._built.drivers])

    @property
    def velocity(self) -> Array:
        """(n,) joint velocities [rad/s or m/s]."""
        return np.array(self._data.qvel[self._built.drivers])

    def rest_position(self) -> Array:
        """(n,) zero, or the limit next to it where zero lies outside the limits."""
        return np.array([min(max(0.0, limit.lower), limit.upper) for limit in self.limits])

    @property
    def idle_command(self) -> Array:
        """(n,) no efforts."""
        return np.zeros(self.dof)

    def reset(self, position: ArrayLike, velocity: ArrayLike | None = None) -> None:
        """Put the arm into a state, at time zero, without a tip wrench.

        Args:
            position: (n,) [rad or m].
            velocity: (n,) [rad/s or m/s]; at rest when None.

        Raises:
            StateError: a wrong length, a value that is not finite, or a position outside the joint limits.
        """
        q = self.check_start(position)
        qd = np.zeros(self.dof) if velocity is None else self._checks.vector("velocity", velocity)
        mujoco.mj_resetData(self._built.model, self._data)
        self._slid = np.zeros(self.dof)
        self._write(self._data, q, qd)

    def check_start(self, position: ArrayLike) -> Array:
        """The position (n,) [rad or m] as an array, if the arm can start there; StateError if not."""
        return self._checks.start(position, self.limits if self.parameters.joint_limits else None)

    def set_wrench(self, wrench: ArrayLike) -> None:
        """Load the tip, or the tips, until further notice.

        Args:
            wrench: (6,), or (6 t,) for the t tips of a tree: force [N] and torque [N·m] that the arm exerts
                on its environment at the tip, in the axes of the tip frame, which turns with the arm.

        Raises:
            StateError: a wrong length or a value that is not finite.
        """
        self._data.ctrl[:] = -checked_wrench(wrench, len(self._arm.tips))

    def push(self, link: str, wrench: ArrayLike) -> None:
        """Push a link until the next push; zeros end it.

        Args:
            link: its name.
            wrench: (6,) force [N], and torque about the link's origin [N·m], on the arm in the axes of the
                root frame.

        Raises:
            StateError: no such link, a wrong length, or a value that is not finite.
        """
        names = [body.name for body in self._arm.bodies]
        if link not in names:
            raise StateError(f"no link {quoted(link)}; choose from {shown(*names)}")
        given, data = checked_wrench(wrench), self._data
        data.xfrc_applied[:] = 0.0
        body = self._built.model.body(f"body{names.index(link)}").id
        mujoco.mj_kinematics(self._built.model, data)
        about = np.cross(data.xpos[body] - data.xipos[body], given[:3])  # MuJoCo's is at the centre of mass
        data.xfrc_applied[body] = [*given[:3], *(given[3:] + about)]

    def set_brakes(self, engaged: bool) -> None:
        """Lock all joints by dry friction, or release them."""
        self._brakes = engaged
        self._slides = (
            self.parameters.joint_friction and not engaged and not self._built.drives.friction.is_plain
        )
        self._built.model.dof_frictionloss[:] = self._friction
        if engaged:
            self._built.model.dof_frictionloss[self._built.drivers] = BRAKE

    def advance(self, duration: float, effort: ArrayLike) -> Array:
        """Move on under constant joint efforts.

        Args:
            duration: [s], a whole number of ``parameters.physics_timestep``.
            effort: (n,) [N·m or N].

        Returns:
            (n,) the efforts applied, after clamping to the limits where ``effort_limits`` is on.

        Raises:
            ParameterError: the duration is not a multiple of the step.
            StateError: a bad effort, or the motion has diverged.
        """
        steps = whole_steps(duration, self.parameters.physics_timestep)
        tau = self._checks.vector("effort", effort)
        if self.parameters.effort_limits:
            tau = np.minimum(np.maximum(tau, -self._largest_effort), self._largest_effort)
        data, drivers, law = self._data, self._built.drivers, self._built.drives.friction
        data.qfrc_applied[drivers] = tau
        with quiet():
            if self._slides:
                for _ in range(steps):
                    # Friction of the middle of the step, under the load of the last one.
                    half = 0.5 * self.parameters.physics_timestep
                    middle = data.qvel + half * data.qacc
                    self._rub(middle, self._gear_loads(data))
                    travel = 0.5 * half * (data.qvel + middle)[drivers]
                    built_up = self._built_up(law.slid_after(self._slid, travel))
                    data.qfrc_applied[drivers] = tau - built_up - law.curved_viscous(middle[drivers])
                    before = data.qpos[drivers]
                    mujoco.mj_step(self._built.model, data)
                    self._slid = law.slid_after(self._slid, data.qpos[drivers] - before)
            else:
                mujoco.mj_step(self._built.model, data, steps)
        check_motion(self, data.qpos, data.qvel)
        return tau

    def acceleration(self, effort: ArrayLike) -> Array:
        """(n,) joint accelerations [rad/s² or m/s²] in the present state under ``effort`` (n,) [N·m or N]."""
        scratch = self._evaluate(self._checks.vector("effort", effort))
        return np.array(scratch.qacc[self._built.drivers])

    def energy(self) -> tuple[float, float]:
        """Kinetic energy and potential energy of gravity [J]."""
        scratch = self._evaluate(np.zeros(self.dof))
        mujoco.mj_energyPos(self._built.model, scratch)
        mujoco.mj_energyVel(self._built.model, scratch)
        return float(scratch.energy[1]), float(scratch.energy[0])

    def tip_pose(self, number: int = 0) -> Array:
        """(4, 4) pose of a tip's frame in the root frame; ``number`` counts the tips of a tree from 0."""
        site = self._evaluate(np.zeros(self.dof)).site(tip_site(number))
        pose = np.eye(4)
        pose[:3, :3] = site.xmat.reshape(3, 3)
        pose[:3, 3] = site.xpos
        return pose

    def check(self, parameters: PlantParameters) -> None:
        """ParameterError for a list of parameters that does not fit the joints."""
        self._effort_limits(parameters)
        self._arm.drives(parameters)

    def prepare(self, parameters: PlantParameters) -> MujocoArm:
        """Prepare for :meth:`reconfigure`, which takes a while; nothing changes, so any thread may.

        Raises:
            ModelError: the arm cannot be simulated so.
            ParameterError: a list of parameters does not fit the joints.
        """
        self._effort_limits(parameters)
        return compile_arm(self._arm, parameters)

    def reconfigure(self, parameters: PlantParameters, prepared: MujocoArm | None = None) -> None:
        """Change the payload, the scales or the world, and keep the state.

        Args:
            parameters: the new ones.
            prepared: what :meth:`prepare` has made of them; made now if None.

        Raises:
            ModelError: the arm cannot be simulated so; everything stays as it was.
        """
        built = prepared or self.prepare(parameters)
        data = mujoco.MjData(built.model)
        data.time, data.ctrl[:] = self._data.time, self._data.ctrl
        if data.xfrc_applied.shape == self._data.xfrc_applied.shape:
            data.xfrc_applied[:] = self._data.xfrc_applied
        data.qpos[:], data.qvel[:] = self._data.qpos, self._data.qvel
        self.parameters = parameters
        self._use(built, data)

    def _use(self, built: MujocoArm, data: mujoco.MjData) -> None:
        self._largest_effort = self._effort_limits(self.parameters)
        self._built = built
        self._data = data
        self._scratch = mujoco.MjData(built.model)
        self._friction = np.array(built.model.dof_frictionloss)
        self.set_brakes(self._brakes)

    def _effort_limits(self, parameters: PlantParameters) -> Array:
        """(n,) the efforts that the simulated actuators can give [N·m or N]."""
        return parameters.effort_limits_of(self.joint_names, [limit.effort for limit in self.limits])

    def _write(self, data: mujoco.MjData, q: Array, qd: Array) -> None:
        data.qpos[self._built.drivers] = q
        data.qvel[self._built.drivers] = qd
        for address, driver, multiplier, offset in self._built.followers:
            data.qpos[address] = multiplier * data.qpos[driver] + offset
            data.qvel[address] = multiplier * data.qvel[driver]

    def _rub(self, velocity: Array, load: Array) -> None:
        """Dry friction of the independent joints at the velocities of all joints, under loads (n,)."""
        built, qd, law = self._built, velocity[self._built.drivers], self._built.drives.friction
        dry = law.dry_size(qd, direction(qd), load) - law.presliding_friction
        built.model.dof_frictionloss[built.drivers] = dry

    def _built_up(self, slid: Array) -> Array:
        """(n,) friction that has built up since the last reversals, an elastic force at standstill."""
        return np.asarray(self._built.drives.friction.presliding_friction * slid)

    def _gear_loads(self, data: mujoco.MjData) -> Array:
        """(n,) efforts that the gears pass on to the links, as last evaluated."""
        rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF
        friction = np.zeros(self._built.model.nv)
        friction[data.efc_id[rows]] = data.efc_force[rows]
        rotors = self._built.model.dof_armature * data.qacc
        return np.asarray((data.qfrc_applied + data.qfrc_passive + friction - rotors)[self._built.drivers])

    def _evaluate(self, effort: Array) -> mujoco.MjData:
        scratch = self._scratch
        scratch.qpos[:], scratch.qvel[:] = self._data.qpos, self._data.qvel
        scratch.ctrl[:], scratch.xfrc_applied[:] = self._data.ctrl, self._data.xfrc_applied
        scratch.qfrc_applied[self._built.drivers] = effort
        if not self._slides:
            mujoco.mj_forward(self._built.model, scratch)
            return scratch
        drag = self._built.drives.friction.curved_viscous(scratch.qvel[self._built.drivers])
        scratch.qfrc_applied[self._built.drivers] -= self._built_up(self._slid) + drag
        # Load and friction depend on each other.
        load = np.zeros(self.dof)
        for _ in range(LOAD_ROUNDS):
            self._rub(scratch.qvel, load)
            mujoco.mj_forward(self._built.model, scratch)
            before, load = load, self._gear_loads(scratch)
            if np.allclose(load, before, rtol=1e-12, atol=1e-12):
                break
        return scratch


def _read(
    source: str | bytes | Path | KinematicChain,
    root: str | None,
    tip: str | None,
    locked_joints: dict[str, float] | None,
    tips: str | Sequence[str] | None,
) -> ArmBodies:
    if isinstance(source, KinematicChain):
        return bodies_of_chain(source)
    chain = load_urdf(source, root=root, tip=tip, locked_joints=locked_joints, tips=tips)
    return bodies_of_tree(parse_urdf(source), chain, locked_joints or {})
