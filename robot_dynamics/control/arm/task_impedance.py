"""Cartesian impedance of an arm: its parameters, and what period of the states they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.control.arm.impedance import TooFast, at_most, fastest, least_damped, poses
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
LEAST_MOBILITY, ALMOST_NONE, LEVER = 3e-2, 1e-6, 0.1
"""See task_impedance.c."""
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
            springs = (np.where(held, values, 0.0).tolist() for values in self._springs)
            value.stiffness, value.damping = springs
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

    def task_gains(
        self, chain: KinematicChain, arm: EffortModel, links: CompiledDynamics
    ) -> tuple[float, float]:
        """Gains on accelerations, [1/s²] and [1/s], as fast as the impedance at any pose."""
        kp, kv = fastest(self._systems(chain, arm, links, *self._springs, 1.0))
        return kp, least_damped(kp, kv, *self._springs)

    @property
    def _regularization(self) -> tuple[float, float]:
        return self.operational_space_regularization, self.nullspace_regularization

    @property
    def _springs(self) -> tuple[Array, Array]:
        """(6,) stiffness and (6,) damping."""
        stiffness, damping = (np.array(six(name, getattr(self, name))) for name in _LISTS[:2])
        return stiffness, damping

    def _systems(
        self,
        chain: KinematicChain,
        arm: EffortModel,
        links: CompiledDynamics,
        stiffness: Array,
        damping: Array,
        posture: float,
    ) -> Iterator[tuple[Array, Array, Array]]:
        """(M, K, D) at poses over the range of the joints, with a share of the posture's springs."""
        springs = posture * per_joint(self.nullspace_stiffness, chain.joint_names, "nullspace_stiffness")
        jacobian_at = self._jacobian(links)
        for q, mass in poses(chain, arm):
            jacobian = jacobian_at(q)
            mobility = jacobian @ np.linalg.solve(mass, jacobian.T)
            if self.operational_space:
                inertia = limited_inverse(mobility, self.operational_space_regularization)
                k = inertia * stiffness
                d = inertia * np.where(damping < 0.0, 2.0 * np.sqrt(stiffness), damping)
            else:
                k, d = np.diag(stiffness), damping_matrix(stiffness, damping, mobility)
            project = np.eye(chain.dof)
            if self.nullspace_projector == "dynamic":
                inertia = limited_inverse(mobility, self.operational_space_regularization)
                project -= jacobian.T @ inertia @ np.linalg.solve(mass, jacobian.T).T
            elif self.nullspace_projector == "kinematic":
                squares = jacobian @ jacobian.T
                inverse = limited_inverse(squares, self.nullspace_regularization, squares=True)
                project -= jacobian.T @ inverse @ jacobian
            own = self.nullspace_damping
            critical = 2.0 * np.sqrt(springs * np.diag(mass))
            dampers = critical if own < 0.0 else np.full(chain.dof, posture * own)
            yield (
                mass,
                jacobian.T @ k @ jacobian + project * springs,
                jacobian.T @ d @ jacobian + project * dampers,
            )

    def _jacobian(self, links: CompiledDynamics) -> Callable[[Array], Array]:
        return links.function("jacobian", **self._kernels()["jacobian"])

    def unstable_task(
        self,
        chain: KinematicChain,
        arm: EffortModel,
        links: CompiledDynamics,
        period: float,
        delay: float,
    ) -> str:
        """Reason why the impedance is not stable with states every ``period`` seconds.

        Args:
            chain: the arm.
            arm: its model.
            links: the part of it without drives.
            period: of the states [s].
            delay: of an effort beside half a period [s].
        """
        if reason := self._unstable_springs(chain, arm, links, period, delay):
            return reason
        if self.limit_repulsion_range > 0.0:
            mobility = max(float(np.diag(np.linalg.inv(mass)).max()) for _, mass in poses(chain, arm))
            kp = self.limit_repulsion_effort / self.limit_repulsion_range * mobility
            share = TooFast.of((kp, 2.0 * np.sqrt(kp)), True, period, delay).share
            if share < 1.0:
                effort = np.array([self.limit_repulsion_effort])
                return at_most("limit_repulsion_effort", effort, share * effort, period)
        both = self.task_gains(chain, arm, links)
        too_fast = TooFast.of(both, self.nullspace_damping < 0.0, period, delay)
        if too_fast.share >= 1.0:
            return ""
        name = "nullspace_damping" if too_fast.damping else "nullspace_stiffness"
        values = np.array([self.nullspace_damping] if too_fast.damping else self.nullspace_stiffness)
        return at_most(name, values, too_fast.share * values, period)

    def _unstable_springs(
        self,
        chain: KinematicChain,
        arm: EffortModel,
        links: CompiledDynamics,
        period: float,
        delay: float,
    ) -> str:
        """See :meth:`unstable_task`, without the posture; linear and angular springs also by themselves."""
        given = np.array(self._springs)
        stable = given.copy()
        for chosen in (np.arange(6) < 3, np.arange(6) >= 3, np.ones(6, dtype=bool)):
            stiffness, damping = np.where(chosen, stable, 0.0)
            kp, kv = fastest(self._systems(chain, arm, links, stiffness, damping, 0.0))
            gains = kp, least_damped(kp, kv, stiffness, damping)
            too_fast = TooFast.of(gains, bool((damping[chosen] < 0.0).any()), period, delay)
            if too_fast.share < 1.0:
                row = stable[int(too_fast.damping)]
                row[chosen & (row > 0.0)] *= too_fast.share
        for name, before, most in zip(_LISTS[:2], given, stable, strict=True):
            if (most < before).any():
                shown = [0, 3] if len(getattr(self, name)) == 2 else [*range(6)]
                return at_most(name, before[shown], most[shown], period)
        return ""


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


def damping_matrix(stiffness: Array, damping: Array, mobility: Array) -> Array:
    """(6, 6) damping of springs: given, and critical with the mobility (6, 6) where it is negative."""
    root = np.sqrt(np.where(damping < 0.0, stiffness, 0.0))
    values, axes = np.linalg.eigh(root[:, None] * mobility * root)
    floor = 1e-12 * values.max()
    scaled = axes * (2.0 / np.sqrt(np.maximum(values, floor)) if floor > 0.0 else np.zeros(6)) @ axes.T
    return np.asarray(np.diag(np.maximum(damping, 0.0)) + root[:, None] * scaled * root)


def limited_inverse(mobility: Array, regularization: float, squares: bool = False) -> Array:
    """(6, 6) inverse, of directions that can hardly be moved as task_impedance.c limits or regularizes it.

    Args:
        mobility: (6, 6) symmetric.
        regularization: 0: limited.
        squares: whether its eigenvalues are squares of what is regularized.
    """
    scale = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER]) if regularization == 0.0 else np.ones(6)
    values, axes = np.linalg.eigh(scale[:, None] * mobility * scale)
    if regularization == 0.0:
        least = LEAST_MOBILITY * max(values[2], ALMOST_NONE * values[-1])
        inverses = 1.0 / np.maximum(values, least) if least > 0.0 else np.zeros(6)
    else:
        values = np.maximum(values, 0.0)
        added = regularization**2
        inverses = 1.0 / (values + added) if squares else values / (values**2 + added)
    return np.asarray(scale[:, None] * (axes * inverses @ axes.T) * scale)
