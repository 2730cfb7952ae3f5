"""Cartesian impedance of an arm: its parameters and its law for the core. springs.c judges them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.core.library import doubles, ffi
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.dynamics.quantities.frames import FRAME
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array

MODE = "cartesian_impedance"
AXES = tuple(name.removeprefix("task_") for name in enumerators("rd_task_axes"))
PROJECTORS = {name.removeprefix("project_"): about for name, about in enumerators("rd_projector").items()}
_LISTS = ("cartesian_stiffness", "cartesian_damping", "cartesian_error_clip")


class Task(NamedTuple):
    """The law of a frame for the core.

    Attributes:
        value: ``rd_task *``.
        kept: what lives as long as the value is used.
    """

    value: Any
    kept: Any


@dataclass(frozen=True)
class TaskImpedanceParameters:
    """Stiffness and damping of the mode cartesian_impedance."""

    cartesian_frame: str = parameter(
        "",
        "Link of the chain, or frame fixed to one, that yields in the mode cartesian_impedance; empty: the"
        " tip",
        read_only=True,
    )
    cartesian_axes: str = parameter(
        "root",
        "Axes of the springs in the mode cartesian_impedance: those of the root frame, or of the frame",
        choices=AXES,
    )
    cartesian_stiffness: tuple[float, ...] = parameter(
        (500.0, 30.0),
        "Stiffness in the mode cartesian_impedance: linear and angular, or x, y, z of each",
        unit="N/m and N·m/rad; with operational_space 1/s²",
        minimum=0.0,
        maximum=1e6,
    )
    cartesian_damping: tuple[float, ...] = parameter(
        (-1.0, -1.0),
        "Damping in the mode cartesian_impedance: linear and angular, or x, y, z of each; -1: critical",
        unit="N·s/m and N·m·s/rad; with operational_space 1/s",
        minimum=-1.0,
        maximum=1e6,
    )
    cartesian_error_clip: tuple[float, ...] = parameter(
        (0.1, 0.5),
        "Distance from the reference beyond which a spring pulls no more in the mode cartesian_impedance:"
        " linear and angular, or x, y, z of each",
        unit="m and rad",
        minimum=1e-6,
        maximum=1e6,
    )
    operational_space: bool = parameter(
        False,
        "Springs and dampers act on accelerations of the frame, by its operational-space inertia, so its"
        " directions are decoupled",
    )
    nullspace_stiffness: tuple[float, ...] = parameter(
        (5.0,),
        "Stiffness towards the reference's posture, as far as it does not move the frame, in the mode"
        " cartesian_impedance: one per joint or one for all",
        unit="N·m/rad or N/m",
        minimum=0.0,
        maximum=1e6,
    )
    nullspace_damping: float = parameter(
        -1.0,
        "Damping of the posture in the mode cartesian_impedance; -1: critical for the joint's own inertia",
        unit="N·m·s/rad or N·s/m",
        minimum=-1.0,
        maximum=1e6,
    )
    nullspace_max_effort: float = parameter(
        5.0,
        "Effort of each joint towards the posture, at most, in the mode cartesian_impedance",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    nullspace_projector: str = parameter(
        "dynamic",
        "Quantity that the effort towards the posture does not change in the mode cartesian_impedance: "
        + "; ".join(f"{name}: {about}" for name, about in PROJECTORS.items()),
        choices=tuple(PROJECTORS),
    )

    operational_space_regularization: float = parameter(
        0.0,
        "Regularization e of the operational-space inertia: its inverse's singular values x count as"
        " x + e²/x; 0: those below 0.03 of the third smallest are limited instead",
        unit="1/kg",
        minimum=0.0,
        maximum=10.0,
    )
    nullspace_regularization: float = parameter(
        0.0,
        "Regularization e of the Jacobian's pseudo-inverse with nullspace_projector kinematic: its singular"
        " values x count as x + e²/x; 0: those that are small are limited instead",
        minimum=0.0,
        maximum=10.0,
    )
    limit_repulsion_range: float = parameter(
        0.0,
        "Distance from a joint's position limit from which a spring pushes it back in the mode"
        " cartesian_impedance; 0: none",
        unit="rad or m",
        minimum=0.0,
        maximum=1.0,
    )
    limit_repulsion_effort: float = parameter(
        5.0,
        "Effort of that spring at the limit",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    wrench_timeout: float = parameter(
        0.5,
        "Time after the last wrench on ~/target_wrench at which it ends, in the mode cartesian_impedance",
        unit="s",
        minimum=0.02,
        maximum=60.0,
    )

    def __post_init__(self) -> None:
        validate(self)
        for name in _LISTS:
            six(name, getattr(self, name))
        for name, values in (
            ("cartesian_damping", self.cartesian_damping),
            ("nullspace_damping", (self.nullspace_damping,)),
        ):
            for value in values:
                if value < 0.0 and value != -1.0:
                    raise ParameterError(
                        f"parameter '{name}' is {value:g}; it must not be negative, or -1: critical"
                    )
        if not self.nullspace_stiffness:
            raise ParameterError("parameter 'nullspace_stiffness' is empty; give one value, or one per joint")
        if self.operational_space and self.nullspace_projector == "kinematic":
            raise ParameterError(
                "parameter 'nullspace_projector' is 'kinematic', which moves the frame where"
                " operational_space decouples it: choose 'dynamic'"
            )

    @property
    def task_law(self) -> tuple[object, ...]:
        """Every parameter of the law."""
        springs = (self.cartesian_axes, *(getattr(self, name) for name in _LISTS), self.operational_space)
        posture = self.nullspace_stiffness, self.nullspace_damping, self.nullspace_max_effort
        limits = *self._regularization, self.limit_repulsion_range, self.limit_repulsion_effort
        return (*springs, *posture, self.nullspace_projector, *limits)

    def task(self, chain: KinematicChain, links: EffortModel, held: Array | None = None) -> Task:
        """The law for the core.

        Args:
            chain: the arm.
            links: its model without drives.
            held: (6,) directions in which a guided frame is held: it is free in the others, and so is the
                posture; None: it is not guided.

        Raises:
            ParameterError: the model is not compiled, the robot has several tips, there is no such frame, or
                a list does not fit the joints.
        """
        if not isinstance(links, CompiledDynamics) or links.friction:
            raise ParameterError(f"mode '{MODE}' needs compiled dynamics without friction in them")
        if len(chain.tips) > 1:
            tips = ", ".join(tip.link for tip in chain.tips)
            raise ParameterError(
                f"mode '{MODE}' moves one frame, and this robot has the tips {tips}: load one of its arms, or"
                " choose 'joint_impedance'"
            )
        if self.cartesian_frame:
            FRAME.read(chain, self.cartesian_frame)
        posture = per_joint(self.nullspace_stiffness, chain.joint_names, "nullspace_stiffness")
        value, kept = ffi().new("rd_task *"), doubles(posture)
        kernels = []
        for name, options in self._kernels().items():
            kernel = links.evaluator(name, **options).kernel()
            if not isinstance(kernel, NativeKernel):
                raise ParameterError(f"mode '{MODE}' needs a C compiler: {name} is not compiled")
            field = "pose" if name == "forward_kinematics" else name
            setattr(value, field, ffi().cast("rd_kernel", kernel.single_address))
            kernels.append(kernel)
        for name in _LISTS:
            setattr(value, name.removeprefix("cartesian_"), list(six(name, getattr(self, name))))
        value.posture_stiffness = kept
        value.posture_damping, value.posture_effort = self.nullspace_damping, self.nullspace_max_effort
        value.regularization = list(self._regularization)
        value.limit_range, value.limit_effort = self.limit_repulsion_range, self.limit_repulsion_effort
        value.axes = AXES.index(self.cartesian_axes)
        value.projector = [*PROJECTORS].index(self.nullspace_projector)
        value.decoupled = self.operational_space
        if held is not None:
            value.stiffness, value.damping = (
                np.where(held, six(name, getattr(self, name)), 0.0).tolist() for name in _LISTS[:2]
            )
            value.posture_effort = 0.0
            value.projector, value.decoupled = [*PROJECTORS].index("none"), False
        return Task(value, (kept, kernels))

    def _kernels(self) -> dict[str, dict[str, str]]:
        """Quantities of the law, with their options."""
        frame = {"frame": self.cartesian_frame} if self.cartesian_frame else {}
        return {
            "forward_kinematics": frame,
            "jacobian": {**frame, "axes": "root"},
            "jacobian_rate": {**frame, "axes": "root"},
            "mass_matrix": {},
        }

    def prepare(self, links: EffortModel) -> None:
        """Compile now what the law calls, which is otherwise made when the mode is first chosen."""
        if isinstance(links, CompiledDynamics):
            for name, options in self._kernels().items():
                links.evaluator(name, **options).kernel()

    @property
    def _regularization(self) -> tuple[float, float]:
        return self.operational_space_regularization, self.nullspace_regularization


def six(name: str, values: tuple[float, ...]) -> tuple[float, ...]:
    """Values of the six directions of a frame from those, or from one linear and one angular.

    Raises:
        ParameterError: there are neither two nor six.
    """
    if len(values) == 2:
        return (values[0],) * 3 + (values[1],) * 3
    if len(values) != 6:
        raise ParameterError(
            f"parameter '{name}' has {len(values)} values; give 2 (linear, angular) or 6 (x, y, z of each)"
        )
    return tuple(values)
