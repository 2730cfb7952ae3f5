"""Parameters and model as one finished value for the control core in C: any machine's part, and an arm's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.arm.parameters import ArmParameters, arm_bounds
from robot_dynamics.control.core.library import MODES, SAFE_OUTPUTS, Settings, address
from robot_dynamics.control.parameters import LoopParameters
from robot_dynamics.control.plausibility import Bounds
from robot_dynamics.errors import BackendError, ModelError, ParameterError, quoted
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.spatial import Array

_TIMES = ("control_period", "state_timeout", "safe_fade_time", "model_change_time", "front_timeout")


def loop_settings(
    kernel: NativeKernel, parameters: LoopParameters, bounds: Bounds, arrays: Mapping[str, Array], **own: Any
) -> tuple[Settings, Any]:
    """The settings of any machine, without their numbers, and what must live as long as they are used.

    Args:
        kernel: the compiled inverse dynamics.
        parameters: of the controller.
        bounds: what can be real for the joints.
        arrays: (n,) of the machine and its law, by their names in ``rd_settings``.
        own: further fields, of the machine's own.
    """
    limits = {
        "limits": bounds.effort,
        "velocity_bounds": bounds.velocity,
        "effort_steps": bounds.effort_step,
    }
    kept = {name: np.array(array, dtype=float) for name, array in (limits | dict(arrays)).items()}
    settings = Settings(
        inverse_dynamics=kernel.single_address,
        looks_ahead=parameters.half_period_ahead,
        state_jump=bounds.state_jump,
        stamp_step=bounds.stamp_step,
        safe_output=SAFE_OUTPUTS.index(parameters.safe_output),
        **{name: getattr(parameters, name) for name in _TIMES},
        **{name: address(array) for name, array in kept.items()},
        **own,
    )
    return settings, (kept, kernel)


def arm_settings(chain: KinematicChain, arm: ActuatedArm, parameters: ArmParameters) -> tuple[Settings, Any]:
    """The settings of an arm; see :func:`loop_settings`.

    Raises:
        BackendError: the model is not compiled.
        ModelError: the model is of an arm with another number of joints.
        ParameterError: the core does not have the law, or a parameter does not fit the arm.
    """
    check_mode(parameters)
    kernel, held, joints = _inverse_dynamics(arm)
    driven = len(arm.drives.rotor_inertia)
    if not joints == driven == chain.dof:
        raise ModelError(
            f"the model is of an arm with {joints} joints, its drives of one with {driven};"
            f" arm {quoted(chain.name)} has {chain.dof}"
        )
    drives = {"rotor_inertia": arm.drives.rotor_inertia, "friction": arm.drives.friction.matrix}
    kp, kv = parameters.gains(chain.joint_names)
    return loop_settings(
        kernel,
        parameters,
        arm_bounds(chain, parameters),
        {**drives, "kp": kp, "kv": kv, **held},
        driven=not arm.drives.ideal,
        mode=MODES.index(parameters.mode),
    )


def check_mode(parameters: ArmParameters) -> None:
    """ParameterError unless the core in C has the law that the parameters choose."""
    if parameters.mode not in MODES:
        raise ParameterError(
            f"the native control loop has no mode {parameters.mode!r}, only {', '.join(MODES)}; with"
            " native_loop: off the loop runs in Python"
        )


def _inverse_dynamics(arm: ActuatedArm) -> tuple[NativeKernel, Mapping[str, Array], int]:
    """The compiled inverse dynamics of the links, gravity and payload as far as they are inputs, and n.

    Raises:
        BackendError: they are not compiled, or have inputs that the core does not know.
    """
    make: Any = getattr(arm.links, "evaluator", None)
    evaluator: Any = make("inverse_dynamics") if make is not None else None
    kernel = evaluator.kernel() if evaluator is not None else None
    if not isinstance(kernel, NativeKernel):
        raise BackendError("the model is not compiled, so the control core must run in Python")
    held = dict(
        zip((array.name for array in evaluator.signature.constants), evaluator.constants, strict=True)
    )
    # The core hands the kernel gravity, then payload; dry friction it adds itself, along a heading.
    if tuple(held) not in ((), ("gravity",), ("gravity", "payload")):
        raise BackendError(
            f"the model takes {', '.join(held)} as inputs; the core in C gives gravity and payload, and adds"
            " the friction of the drives itself"
        )
    return kernel, held, evaluator.signature.outputs[0][0]
