"""An arm as a MuJoCo model: bodies and joints only, nothing collides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from robot_dynamics.control.arm.actuators import Drives
from robot_dynamics.control.arm.payload import several_tips
from robot_dynamics.errors import ModelError, ParameterError, quoted
from robot_dynamics.model.chain import ChainJoint, JointKind, RigidBody
from robot_dynamics.model.lumping import MASSLESS
from robot_dynamics.simulation.bodies import GROUND, ArmBodies
from robot_dynamics.simulation.mujoco_parts import (
    add_body,
    compile_spec,
    hard_constraint,
    new_spec,
    quiet,
    scalar_or_first,
    scaled,
    set_mass,
)
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.spatial import Array

# Explicit integration of damping is stable up to 2.78 (rk4); the damping rate changes with the posture.
STIFF_DAMPING = 0.5
# Largest square of the frequency of friction that builds up, times the step; stable is up to 4.
STIFF_PRESLIDING = 0.5
# Smallest joint inertia as a share of the largest; below it the mass matrix counts as singular.
SINGULAR = 1e-14


@dataclass(frozen=True)
class MujocoArm:
    """A compiled model and where the arm's quantities are in it.

    Attributes:
        model: the mujoco.MjModel.
        drivers: (n,) address of each independent joint in qpos and qvel.
        followers: (address, address of its driver, multiplier, offset) of every mimic joint.
        integrator: "rk4" or "implicitfast".
        drives: of the independent joints.
    """

    model: Any
    drivers: Array
    followers: tuple[tuple[int, int, float, float], ...]
    integrator: str
    drives: Drives


def compile_arm(arm: ArmBodies, parameters: PlantParameters) -> MujocoArm:
    """Build the MuJoCo model of an arm.

    Args:
        arm: its bodies.
        parameters: the world and the faults.

    Raises:
        ModelError: the arm cannot be simulated, with the joint or link that is the cause.
        ParameterError: a list of parameters does not fit the joints.
    """
    timestep = parameters.physics_timestep
    joints = {joint.name: joint for joint in _joints(arm)}
    drives = arm.drives(parameters)
    law = drives.friction
    for name, damping, friction in zip(arm.joint_names, law.damping, law.friction, strict=True):
        joints[name] = replace(joints[name], damping=float(damping), friction=float(friction))
    spec = new_spec(arm.name, timestep, parameters.gravity)
    exact: dict[str, tuple[float, Array]] = {}
    handles: list[Any] = []
    for index, body in enumerate(arm.bodies):
        parent = spec.worldbody if body.parent == GROUND else handles[body.parent]
        handle = add_body(parent, f"body{index}", body.origin)
        handles.append(handle)
        properties = scaled(body.mass_properties, parameters)
        set_mass(handle, properties, exact, body.joint is not None)
        if body.joint is not None:
            _add_joint(handle, joints[body.joint.name], parameters, timestep)
    for k, load in enumerate(_loads(arm, parameters)):
        if load.mass > 0.0:
            handle = add_body(handles[arm.tips[k]], f"payload{k or ''}", np.eye(4))
            set_mass(handle, load, exact, moving=False)
    for k, end in enumerate(arm.tips):
        handles[end].add_site(name=tip_site(k))
        for axis in range(6):
            actuator = spec.add_actuator(name=f"wrench{k}_{axis}")
            actuator.trntype = mujoco.mjtTrn.mjTRN_SITE
            actuator.target = tip_site(k)
            actuator.gear = np.eye(6)[axis]
    _couple_mimic_joints(spec, arm, timestep)
    model = compile_spec(spec, f"the arm {arm.name}", exact)
    with quiet():
        return _finish(model, arm, parameters, drives)


def _loads(arm: ArmBodies, parameters: PlantParameters) -> list[RigidBody]:
    """Payload of each tip; ParameterError where one is for no tip."""
    loads = parameters.tip_payloads
    if len(arm.tips) == 1 and not loads:
        return [parameters.payload]
    if parameters.payload_mass > 0.0:
        raise ParameterError(several_tips(arm.name, arm.tip_names))
    for tip in loads:
        if tip not in arm.tip_names:
            raise ParameterError(f"payload at tip {quoted(tip)}; the tips are {', '.join(arm.tip_names)}")
    return [loads[tip].payload if tip in loads else MASSLESS for tip in arm.tip_names]


def tip_site(number: int) -> str:
    """Name of the site at a tip."""
    return f"tip{number}"


def _finish(model: Any, arm: ArmBodies, parameters: PlantParameters, drives: Drives) -> MujocoArm:
    names = {joint.name: int(model.joint(joint.name).qposadr[0]) for joint in _joints(arm)}
    drivers = np.array([names[name] for name in arm.joint_names])
    followers = tuple(
        (names[joint.name], int(drivers[joint.coordinate]), joint.multiplier, joint.offset)
        for joint in _joints(arm)
        if joint.name not in arm.joint_names
    )
    model.dof_armature[drivers] = drives.rotor_inertia
    data = mujoco.MjData(model)
    # The compiler has derived its constants from the stand-ins and without the rotors.
    mujoco.mj_setConst(model, data)
    mujoco.mj_forward(model, data)
    mass_matrix = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass_matrix)
    _check_inertia(mass_matrix, arm, names)
    _check_stiffness(mass_matrix[np.ix_(drivers, drivers)], arm, drives, parameters)
    integrator = parameters.integrator
    if integrator == "auto":
        damping_rates = np.linalg.eigvals(np.linalg.solve(mass_matrix, np.diag(model.dof_damping)))
        integrator = (
            "implicitfast"
            if parameters.physics_timestep * np.abs(damping_rates).max() > STIFF_DAMPING
            else "rk4"
        )
    kinds = {"rk4": mujoco.mjtIntegrator.mjINT_RK4, "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST}
    model.opt.integrator = int(kinds[integrator])
    return MujocoArm(model, drivers, followers, integrator, drives)


def _joints(arm: ArmBodies) -> list[ChainJoint]:
    return [body.joint for body in arm.bodies if body.joint is not None]


def _add_joint(body: Any, joint: ChainJoint, parameters: PlantParameters, timestep: float) -> None:
    slide = joint.kind is JointKind.PRISMATIC
    handle = body.add_joint(name=joint.name, axis=joint.axis)
    handle.type = mujoco.mjtJoint.mjJNT_SLIDE if slide else mujoco.mjtJoint.mjJNT_HINGE
    handle.solref_friction, handle.solimp_friction = hard_constraint(timestep)
    if parameters.joint_friction:
        handle.damping = scalar_or_first(handle.damping, joint.damping)
        handle.frictionloss = joint.friction
    bounded = np.isfinite(joint.limits.lower) and np.isfinite(joint.limits.upper)
    if parameters.joint_limits and bounded:
        handle.limited = 1
        handle.range = [joint.limits.lower, joint.limits.upper]
        handle.solref_limit, handle.solimp_limit = hard_constraint(timestep)


def _couple_mimic_joints(spec: Any, arm: ArmBodies, timestep: float) -> None:
    for joint in _joints(arm):
        if joint.name in arm.joint_names:
            continue
        equality = spec.add_equality()
        equality.type = mujoco.mjtEq.mjEQ_JOINT
        equality.name1 = joint.name
        equality.name2 = arm.joint_names[joint.coordinate]
        data = np.array(equality.data, dtype=float)
        data[:5] = [joint.offset, joint.multiplier, 0.0, 0.0, 0.0]
        equality.data = data
        equality.solref, equality.solimp = hard_constraint(timestep)


def _check_stiffness(mass_matrix: Array, arm: ArmBodies, drives: Drives, parameters: PlantParameters) -> None:
    """Refuse friction that builds up over so short a travel that the step does not see it."""
    law, step = drives.friction, parameters.physics_timestep
    stiffness = law.presliding_friction / law.presliding_travel
    if not parameters.joint_friction or not stiffness.any():
        return
    squares, vectors = np.linalg.eig(np.linalg.solve(mass_matrix, np.diag(stiffness)))
    at = int(np.argmax(squares.real))
    share = step**2 * float(squares.real[at])
    if share > STIFF_PRESLIDING:
        j = int(np.argmax(np.abs(vectors[:, at])))
        raise ParameterError(
            f"parameter 'presliding_travel' is {law.presliding_travel[j]:g} for {arm.joint_names[j]}, too"
            f" short for a physics_timestep of {step:g} s and a presliding_friction of"
            f" {law.presliding_friction[j]:g}: give at least"
            f" {law.presliding_travel[j] * share / STIFF_PRESLIDING:.2g}, or a shorter step"
        )


def _check_inertia(mass_matrix: Array, arm: ArmBodies, addresses: dict[str, int]) -> None:
    """Refuse an arm whose joints do not all move some inertia."""
    largest = float(np.max(np.diag(mass_matrix)))
    for name, address in addresses.items():
        if not mass_matrix[address, address] > SINGULAR * largest:
            raise ModelError(
                f"joint {name} of {arm.name} moves no inertia, so its acceleration is undefined; give the"
                " links that it moves a mass and an inertia"
            )
    smallest, vectors = np.linalg.eigh(mass_matrix)
    if not smallest[0] > SINGULAR * largest:
        worst = max(addresses, key=lambda name: abs(vectors[addresses[name], 0]))
        raise ModelError(
            f"the mass matrix of {arm.name} is singular about joint {worst}; give the links that it moves a"
            " mass and an inertia"
        )
