"""Either twin of a machine's controller."""

from __future__ import annotations

from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.core.arm import NativeArmController
from robot_dynamics.control.core.stewart import NativeStewartController
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.model.chain import KinematicChain

AnyArmController = ArmController | NativeArmController
AnyStewartController = StewartController | NativeStewartController


def arm_controller(
    chain: KinematicChain, dynamics: ActuatedArm, parameters: ArmParameters, native: bool
) -> AnyArmController:
    """The controller of an arm, its cycle in C or in Python.

    Raises:
        BackendError: ``native``, and there is no compiler, or the model is not compiled.
    """
    kind = NativeArmController if native else ArmController
    return kind(chain, dynamics, parameters)
