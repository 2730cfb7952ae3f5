"""A Stewart platform as a MuJoCo model: six legs, the moving platform, and the loops closed by constraints.

Each leg is a universal joint (two hinges), the lower part, a slide and the upper part, whose end is tied to
the platform's point. The platform itself is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import lumped_body
from robot_dynamics.simulation.mujoco_parts import (
    add_body,
    compile_spec,
    hard_constraint,
    new_spec,
    scalar_or_first,
    scaled,
    set_mass,
)
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.spatial import Array, pose
from robot_dynamics.stewart import Machine
from robot_dynamics.stewart.kinematics import leg_geometry

LEGS = 6


@dataclass(frozen=True)
class StewartModel:
    """A compiled model and where the platform's quantities are in it.

    Attributes:
        model: the mujoco.MjModel.
        slides: (6,) address of each leg's slide in qpos; its two hinges stand before it.
        slide_rates: (6,) the same in qvel.
        bodies: (7,) the platform, then the upper part of each leg.
        home_lengths: (6,) leg lengths at which the slides are at zero [m].
        universal_axes: (6, 3) axes of the universal joints that are fixed to the base.
        frames: (6, 4, 4) of the legs at home: x along the leg, y along the universal joint's moving axis.
    """

    model: Any
    slides: NDArray[np.int_]
    slide_rates: NDArray[np.int_]
    bodies: NDArray[np.int_]
    home_lengths: Array
    universal_axes: Array
    frames: Array

    def universal_angles(self, k: int, direction: Array) -> tuple[float, float]:
        """Angles of a universal joint about its fixed and its moving axis that point leg k along a line."""
        fixed, moving = self.universal_axes[k], self.frames[k][:3, 1]
        normal = np.cross(fixed, moving)
        home = self.frames[k][:3, 0]
        along, across = home @ fixed, home @ normal
        side = np.sign(across) * np.hypot(direction @ moving, direction @ normal)
        second = np.arctan2(across, along) - np.arctan2(side, direction @ fixed)
        first = np.arctan2(-(direction @ moving) / side, (direction @ normal) / side)
        return float(first), float((second + np.pi) % (2.0 * np.pi) - np.pi)


def compile_stewart(machine: Machine, parameters: PlantParameters) -> StewartModel:
    """Build the MuJoCo model of a Stewart platform.

    Args:
        machine: its geometry, masses, friction and gravity.
        parameters: timestep and faults.

    Raises:
        ModelError: the machine cannot be simulated.
    """
    spec = new_spec(machine.name, parameters.physics_timestep, machine.gravity)
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    exact: dict[str, tuple[float, Array]] = {}
    plate = add_body(spec.worldbody, "platform", pose(machine.home_rotation, machine.home_position))
    plate.add_freejoint()
    set_mass(plate, _loaded(machine, parameters), exact, moving=True)
    home = leg_geometry(machine, machine.home_position, machine.home_rotation)
    frames = np.array([_leg_frame(machine, k, home.directions[k]) for k in range(LEGS)])
    for k in range(LEGS):
        _add_leg(spec, machine, k, frames[k], home.lengths[k], parameters, exact)
    model = compile_spec(spec, f"the machine {machine.name}", exact)
    mujoco.mj_setConst(model, mujoco.MjData(model))
    joints = [model.joint(name) for name in machine.leg_names]
    return StewartModel(
        model,
        slides=np.array([int(joint.qposadr[0]) for joint in joints]),
        slide_rates=np.array([int(joint.dofadr[0]) for joint in joints]),
        bodies=np.array([model.body(n).id for n in ("platform", *(f"upper{k}" for k in range(LEGS)))]),
        home_lengths=home.lengths,
        universal_axes=machine.universal_axes,
        frames=frames,
    )


def _add_leg(
    spec: Any,
    machine: Machine,
    k: int,
    frame: Array,
    home_length: float,
    parameters: PlantParameters,
    exact: dict[str, tuple[float, Array]],
) -> None:
    leg = machine.legs[k]
    constraint = hard_constraint(parameters.physics_timestep)
    lower = add_body(spec.worldbody, f"lower{k}", frame)
    fixed = frame[:3, :3].T @ machine.universal_axes[k]
    for number, axis in enumerate((fixed, np.array([0.0, 1.0, 0.0]))):
        hinge = lower.add_joint(name=f"universal{k}{number}", axis=axis)
        hinge.type = mujoco.mjtJoint.mjJNT_HINGE
        if parameters.joint_friction:
            hinge.damping = scalar_or_first(hinge.damping, leg.friction.universal)
    set_mass(lower, scaled(leg.lower, parameters), exact, moving=True)
    upper = add_body(lower, f"upper{k}", pose(position=[home_length, 0.0, 0.0]))
    slide = upper.add_joint(name=leg.name, axis=[1.0, 0.0, 0.0])
    slide.type = mujoco.mjtJoint.mjJNT_SLIDE
    slide.solref_friction, slide.solimp_friction = constraint
    if parameters.joint_friction:
        slide.damping = scalar_or_first(slide.damping, leg.friction.prismatic)
    slide.armature = leg.drive.reflected_mass
    slide.stiffness = scalar_or_first(slide.stiffness, leg.spring.stiffness)
    if parameters.joint_limits and np.isfinite(leg.limits.longest):
        slide.limited = 1
        slide.range = [leg.limits.shortest - home_length, leg.limits.longest - home_length]
        slide.solref_limit, slide.solimp_limit = constraint
    set_mass(upper, scaled(leg.upper, parameters), exact, moving=True)
    tie = spec.add_equality()
    tie.type = mujoco.mjtEq.mjEQ_CONNECT
    tie.objtype = mujoco.mjtObj.mjOBJ_BODY
    tie.name1, tie.name2 = "platform", f"upper{k}"
    data = np.array(tie.data, dtype=float)
    data[:3] = leg.platform_point
    tie.data = data
    tie.solref, tie.solimp = constraint


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
