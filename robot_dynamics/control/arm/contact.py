"""External efforts of an arm: the momentum observer, its parameters and its thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.core.library import array_at, doubles, ffi, load_core
from robot_dynamics.control.core.settings import Settings
from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
from robot_dynamics.errors import BackendError, ModelError, ParameterError, StateError
from robot_dynamics.inputs.arrays import measured, of_type, real_number
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array

REACTIONS = ("off", "report", "hold", "yield", "retreat")
"""Values of ``on_contact``, in the order of the core's enumeration."""
LONGEST_DELAY = 0.05
"""Longest delay between efforts and positions [s]."""
OBSERVED = ("driver", "command", "motor", "link")
"""Values of ``observed_efforts``."""
NOT_MEASURED = (
    "joint states lack a finite effort of every joint; observed_efforts: command observes the commands"
)
FLOOR_SHARE = 0.05
"""Threshold of the external effort as a share of the effort limit, where none is given."""
UNLIMITED_SPEED = 1e6
"""Velocity limit of a joint that has none, for thresholds by speed [rad/s or m/s]."""


@dataclass(frozen=True)
class ObserverParameters:
    """Observer of external efforts, and its thresholds."""

    observer_gain: float = parameter(
        25.0,
        "Gain of the momentum observer, whose external efforts follow with the time constant 1/observer_gain;"
        " 0: off",
        unit="1/s",
        minimum=0.0,
        maximum=1e4,
    )
    contact_threshold: tuple[float, ...] = parameter(
        (),
        "External effort beyond which a contact is reported, beside friction_drift, one per joint or one for"
        " all; with contact_speeds, those of each speed after those of the slower one; empty: 0.05 of the"
        " effort limit",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    contact_speeds: tuple[float, ...] = parameter(
        (),
        "Speeds for which contact_threshold has values, ascending, as shares of the velocity limits; between"
        " them it is interpolated; empty: it is the same at all speeds",
        minimum=0.0,
        maximum=1.0,
    )
    effort_delay: float = parameter(
        0.0,
        "Delay of measured efforts behind the positions, as identify finds it; negative: positions are late",
        unit="s",
        minimum=-LONGEST_DELAY,
        maximum=LONGEST_DELAY,
    )
    effort_offset: tuple[float, ...] = parameter(
        (0.0,),
        "Offset of measured efforts, as identify finds it, which is taken off before external efforts are"
        " observed, one per joint or one for all",
        unit="N·m or N",
        minimum=-1e6,
        maximum=1e6,
    )
    friction_drift: float = parameter(
        0.3,
        "Share of the declared friction that is added to contact_threshold, because friction drifts with"
        " temperature and wear; at standstill the threshold also covers all dry friction",
        minimum=0.0,
        maximum=10.0,
    )

    def __post_init__(self) -> None:
        validate(self)

    def offsets(self, chain: KinematicChain) -> Array:
        """(n,) offsets of measured efforts [N·m or N].

        Raises:
            ParameterError: ``effort_offset`` does not fit the joints.
        """
        return per_joint(self.effort_offset or (0.0,), chain.joint_names, "effort_offset")

    def floors(self, chain: KinematicChain) -> tuple[Array, Array]:
        """Thresholds (k, n) without friction [N·m or N], infinite where there is none; their speeds (k, n).

        Raises:
            ParameterError: ``contact_threshold`` does not fit the joints and speeds, or these do not ascend.
        """
        names, speeds = chain.joint_names, self.contact_speeds or (0.0,)
        limits = [chain.driving_joint(j).limits for j in range(chain.dof)]
        points = np.outer(speeds, [min(limit.velocity, UNLIMITED_SPEED) for limit in limits])
        if any(later <= earlier for earlier, later in pairwise(speeds)):
            raise ParameterError(
                f"parameter 'contact_speeds' is {', '.join(f'{x:g}' for x in speeds)}: each must be larger"
                " than the one before"
            )
        if len(speeds) == 1:
            if self.contact_threshold:
                return per_joint(self.contact_threshold, names, "contact_threshold")[None], points
            return FLOOR_SHARE * np.array([[limit.effort for limit in limits]], dtype=float), points
        if len(self.contact_threshold) not in (len(speeds), len(speeds) * chain.dof):
            raise ParameterError(
                f"parameter 'contact_threshold' has {len(self.contact_threshold)} values; with"
                f" {len(speeds)} contact_speeds and {chain.dof} joints give {len(speeds)} or"
                f" {len(speeds) * chain.dof}"
            )
        rows = np.array(self.contact_threshold, dtype=float).reshape(len(speeds), -1)
        return np.array(np.broadcast_to(rows, points.shape)), points


@dataclass(frozen=True)
class ContactParameters(ObserverParameters):
    """Observer of external efforts, and the reaction to a contact. No safety function."""

    on_contact: str = parameter(
        "off",
        "Reaction to an external effort beyond its threshold: report it, hold where the arm is, yield there"
        " with joint_stiffness, or stop and retreat by retreat_distance, all until ~/reset_fault; no safety"
        " function",
        choices=list(REACTIONS),
    )
    observed_efforts: str = parameter(
        "driver",
        "Efforts from which external efforts are observed: the commands, or those of the joint states,"
        " measured at the motors (friction and rotors in them) or on the links (neither); driver: as its"
        " profile says, commands where it does not",
        choices=OBSERVED,
    )
    retreat_distance: float = parameter(
        0.1,
        "Way of the joint that moves farthest where on_contact is retreat",
        unit="rad or m",
        minimum=1e-3,
        maximum=1.0,
    )

    def __post_init__(self) -> None:
        validate(self)

    def observed(self, chain: KinematicChain, arm: Any) -> Settings | None:
        """``rd_observed *`` of the efforts in joint states; None where the commands are observed.

        Args:
            chain: the arm.
            arm: model of the arm; an ``ActuatedArm`` has the meaning of its driver's efforts.
        """
        drives = arm if isinstance(arm, ActuatedArm) else None
        side = self.observed_efforts
        if side == "driver":
            side = drives.measured.side if drives is not None else ""
        if side not in ("motor", "link"):
            return None
        kept: dict[str, Any] = {"offset": doubles(self.offsets(chain))}
        if drives is not None and drives.measured.gravity is not None:
            kept["gravity"] = doubles(np.array(drives.measured.gravity, dtype=float))
        if drives is not None:
            kept["friction"] = doubles(np.array(drives.measured.friction.matrix, dtype=float))
        driven = side == "motor" and drives is not None
        return Settings(
            ffi().new("rd_observed *", {"delay": self.effort_delay, "driven": driven, **kept}), kept
        )

    def fields(self, chain: KinematicChain, links: Any) -> dict[str, Any]:
        """Fields of ``rd_settings`` for a model's links; empty where external efforts are not observed.

        Raises:
            ParameterError: ``contact_threshold`` does not fit the joints, or contacts cannot be found.
        """
        (floor, speeds), kernel = self.floors(chain), None
        if self.observer_gain > 0.0:
            kernel = momentum_kernel(links)
        if kernel is not None:
            return {
                "momentum": kernel,
                "contact_floor": doubles(floor),
                "contact_speeds": doubles(speeds),
                "contact_points": len(floor),
                "friction_drift": self.friction_drift,
                "observer_gain": self.observer_gain,
            }
        if self.on_contact != "off":
            why = "the model is not compiled" if self.observer_gain > 0.0 else "observer_gain is 0"
            raise ParameterError(
                f"parameter 'on_contact' is '{self.on_contact}', but no external effort is observed: {why}"
            )
        return {}


def momentum_kernel(links: Any) -> Any:
    """``rd_kernels`` of the momentum of a compiled model; None where it has none."""
    if not isinstance(links, CompiledDynamics) or links.friction:
        return None
    kernel = links.evaluator("momentum").kernel()
    return ffi().cast("rd_kernels", kernel.single_address) if isinstance(kernel, NativeKernel) else None


@dataclass(frozen=True)
class External:
    """External efforts at one moment.

    Attributes:
        effort: (n,) that the environment exerts on the joints [N·m or N].
        threshold: (n,) of a contact, infinite where there is none [N·m or N].
    """

    effort: Array
    threshold: Array

    @property
    def contact(self) -> Array:
        """(n,) whether each joint feels more than its threshold."""
        return np.asarray(np.abs(self.effort) > self.threshold)


DAMPING = 0.01
"""Singular value of a Jacobian below which a wrench is damped [m or 1]."""


def frame_wrench(jacobian: Array, effort: Array) -> tuple[Array, float]:
    """Wrench at a frame that comes nearest to external efforts, damped near singular poses.

    It says nothing of contacts elsewhere on the arm.

    Args:
        jacobian: (6, n) of the frame's origin, [linear, angular] velocity; of k frames (6 k, n).
        effort: (n,) external efforts [N·m or N].

    Returns:
        (6 k,) force and torque on the arm at each frame, in the axes of the Jacobian [N, N·m], and the
        Jacobian's condition.
    """
    values = np.linalg.svd(jacobian, compute_uv=False)
    wrench = np.linalg.solve(jacobian @ jacobian.T + DAMPING**2 * np.eye(len(jacobian)), jacobian @ effort)
    return wrench, float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf


class MomentumObserver:
    """External efforts of an arm from its states and efforts, without accelerations or force sensors.

    It is the controller's own observer (``observer.c``), for states and efforts from anywhere else. It is no
    safety function.

    Args:
        chain: the arm.
        dynamics: its model; None compiles it. With an ``ActuatedArm`` efforts contain friction and the
            rotors' inertia, as motor currents do; with ``CompiledDynamics`` they are torques on the links.
        parameters: gain and thresholds, the defaults when None.

    Raises:
        BackendError: there is no compiler.
        ParameterError: the gain is zero, or a list does not fit the joints.
    """

    def __init__(
        self,
        chain: KinematicChain,
        dynamics: CompiledDynamics | ActuatedArm | None = None,
        parameters: ContactParameters | None = None,
    ) -> None:
        of_type("chain", chain, KinematicChain)
        self.chain = chain
        self.parameters = ContactParameters() if parameters is None else parameters
        of_type("parameters", self.parameters, ContactParameters)
        if self.parameters.observer_gain == 0.0:
            raise ParameterError("parameter 'observer_gain' is 0; an observer needs a positive one")
        self._library = load_core()
        self._observer = ffi().gc(self._library.rd_observer_new(chain.dof), self._library.rd_observer_free)
        self._measured = np.zeros((3, chain.dof))
        self._inputs = [doubles(row) for row in self._measured]
        self._external = array_at(self._library.rd_observer_external(self._observer), 2 * chain.dof)
        self._model = 0
        self.change_model(dynamics)

    def change_model(self, dynamics: CompiledDynamics | ActuatedArm | None) -> None:
        """Use another model of the same arm from the next state on, as with another payload.

        Raises:
            BackendError: the model is not compiled, or has friction in it.
            ModelError: it is of an arm with another number of joints.
        """
        if dynamics is None:
            dynamics = compile_dynamics(self.chain, quantities=(), friction=False)
        arm = dynamics if isinstance(dynamics, ActuatedArm) else None
        links: Any = arm.links if arm is not None else dynamics
        of_type("dynamics", links, CompiledDynamics)
        if links.chain.dof != self.chain.dof:
            raise ModelError(
                f"the model is of an arm with {links.chain.dof} joints; this one has {self.chain.dof}"
            )
        fields = self.parameters.fields(self.chain, links)
        if not fields:
            raise BackendError("the momentum observer needs compiled dynamics without friction in them")
        evaluator = links.evaluator("momentum")
        names = (array.name for array in evaluator.signature.constants)
        fields |= {name: doubles(array) for name, array in zip(names, evaluator.constants, strict=True)}
        if arm is not None and not arm.drives.ideal:
            drives = {"rotor_inertia": arm.drives.rotor_inertia, "friction": arm.drives.friction.matrix}
            fields |= {name: doubles(np.array(array, dtype=float)) for name, array in drives.items()}
        driven = arm is not None and not arm.drives.ideal
        offset = doubles(self.parameters.offsets(self.chain))
        about = {"delay": self.parameters.effort_delay, "driven": driven, "offset": offset}
        self._about = ffi().new("rd_observed *", about)
        settings = ffi().new("rd_settings *")
        self._model += 1
        settings.model = self._model
        for name, given in fields.items():
            setattr(settings, name, given)
        self._settings, self._kept = settings, (fields, links, about)

    def update(self, time: float, position: Array, velocity: Array, effort: Array) -> External:
        """External efforts with the state at a time.

        After a gap of more than 0.1 s, or where time runs backwards, it begins anew with zero.

        Args:
            time: of the state [s].
            position: (n,) [rad or m].
            velocity: (n,) [rad/s or m/s].
            effort: (n,) that acted since the last state [N·m or N].

        Raises:
            StateError: a wrong shape, or a value that is not finite.
        """
        state = {"position": position, "velocity": velocity, "effort": effort}
        for row, (name, value) in zip(self._measured, state.items(), strict=True):
            row[:] = measured(name, value, self.chain.dof)
        if not np.isfinite(self._measured).all():
            name = list(state)[int(np.argmin(np.isfinite(self._measured).all(axis=1)))]
            raise StateError(f"{name} has a value that is not a finite number")
        time = real_number("time", time)
        given = (time, *self._inputs, self._about)
        if not self._library.rd_observer_update(self._observer, self._settings, *given):
            raise StateError("the model has no finite momentum for this state")
        return External(*self._external.reshape(2, -1).copy())

    def restart(self) -> None:
        """Forget every state."""
        self._library.rd_observer_restart(self._observer)
