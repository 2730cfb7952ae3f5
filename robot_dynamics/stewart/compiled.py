"""The exact actuator forces of one machine as compiled code, or as generated Python where no compiler is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import StateError, quoted
from robot_dynamics.inputs.arrays import of_type, real_array
from robot_dynamics.native.evaluator import Evaluator, Given
from robot_dynamics.native.fast_call import fast_function
from robot_dynamics.native.kernel import Kernel
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.native.loading import check_backend, load_kernel
from robot_dynamics.native.signature import Input, Signature
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import program
from robot_dynamics.stewart.machine import LEG_COUNT, Machine
from robot_dynamics.stewart.motion import common_batch
from robot_dynamics.stewart.program import DESCRIPTION, MOTION, MOTION_SIZE, StewartProgram, make_program

_ENTRIES = tuple(f"{name}[{i}]" for name, size in MOTION for i in range(size))
_SIGNATURE = Signature(
    name="actuator_forces",
    states=(Input("motion", MOTION_SIZE, DESCRIPTION, _ENTRIES),),
    outputs=((LEG_COUNT,),),
    singular=(
        "the actuator forces are not finite: the pose is singular, a universal joint is locked or a leg lies"
        " in the plane of the base"
    ),
)


class CompiledStewart:
    """Actuator forces of one machine by its generated program.

    Attributes:
        machine: the platform.
        backend: "c" or "python".
        kernel: the compiled program, for callers in C; None where it is Python.
        actuator_forces: called with motions (25,) or (N, 25), and optionally ``out``; returns the forces (6,)
            or (N, 6) [N], positive when the leg pushes. A motion holds the position of the platform's origin,
            its orientation as a unit quaternion x, y, z, w, linear and angular velocity, linear and angular
            acceleration (base frame), external force and torque (platform frame); :func:`pack` makes one. No
            limits are checked here; forces that are not finite raise.
    """

    actuator_forces: Callable[..., Array]

    def __init__(self, machine: Machine, backend: str) -> None:
        """See :func:`compile_stewart`."""
        of_type("machine", machine, Machine)
        check_backend(backend)
        self.machine = machine
        self._made: StewartProgram | None = None
        self._backend = backend
        evaluator = Evaluator(_SIGNATURE, self._load)
        kernel = evaluator.kernel()
        self.kernel = kernel if isinstance(kernel, NativeKernel) else None
        self.backend = "python" if self.kernel is None else "c"
        self.actuator_forces = evaluator
        if self.kernel is not None:
            documentation = f"Forces (6,) or (N, 6) [N].\n\nmotion: {DESCRIPTION}."
            self.actuator_forces = fast_function(evaluator, documentation)
            evaluator.kernel()

    @property
    def program(self) -> StewartProgram:
        """The generated program with its operation counts."""
        if self._made is None:
            self._made = make_program(self.machine)
        return self._made

    def _load(self, _: Given) -> Kernel:
        return load_kernel(
            key=f"stewart {machine_fingerprint(self.machine)}",
            generator=program.__name__,
            program=lambda: self.program.program,
            outputs=1,
            backend=self._backend,
        )


def pack(
    position: ArrayLike,
    orientation: ArrayLike,
    linear_velocity: ArrayLike,
    angular_velocity: ArrayLike,
    linear_acceleration: ArrayLike,
    angular_acceleration: ArrayLike,
    force: ArrayLike = (0.0, 0.0, 0.0),
    torque: ArrayLike = (0.0, 0.0, 0.0),
) -> Array:
    """Motions (25,) or (N, 25) for :attr:`CompiledStewart.actuator_forces`.

    Args:
        position: (3,) or (N, 3) of the platform's origin, base frame [m].
        orientation: (4,) or (N, 4) unit quaternion x, y, z, w.
        linear_velocity: of the origin, base frame [m/s].
        angular_velocity: base frame [rad/s].
        linear_acceleration: of the origin, base frame [m/s²].
        angular_acceleration: base frame [rad/s²].
        force: external, platform frame [N].
        torque: external, about the origin, platform frame [N·m].

    Raises:
        StateError: a wrong shape, batches that do not fit together, or a value that is not finite.
    """
    given = {
        "position": position,
        "orientation": orientation,
        "linear_velocity": linear_velocity,
        "angular_velocity": angular_velocity,
        "linear_acceleration": linear_acceleration,
        "angular_acceleration": angular_acceleration,
        "force": force,
        "torque": torque,
    }
    parts = {name: real_array(name, value) for name, value in given.items()}
    for name, part in parts.items():
        size = 4 if name == "orientation" else 3
        if part.ndim not in (1, 2) or part.shape[-1] != size:
            raise StateError(f"{name} has shape {part.shape}; expected ({size},) or (N, {size})")
    leading = common_batch(parts)
    alike = [
        part if part.shape[:-1] == leading else np.broadcast_to(part, (*leading, part.shape[-1]))
        for part in parts.values()
    ]
    packed = np.concatenate(alike, axis=-1)
    if not np.isfinite(packed).all():
        name = next(name for name, part in parts.items() if not np.isfinite(part).all())
        raise StateError(f"{name} is {quoted(given[name])}; every number must be finite")
    return packed


def compile_stewart(machine: Machine, backend: str = "auto") -> CompiledStewart:
    """Generate, compile and load the exact actuator forces of ``machine``.

    Args:
        machine: the platform.
        backend: "c" compiles with the system's compiler, "python" needs none, "auto" is "c" where that works.

    Raises:
        BackendError: no such backend, or ``backend="c"`` and the compiler fails.
    """
    check_backend(backend)
    return CompiledStewart(machine, backend)


def machine_fingerprint(machine: Machine) -> str:
    """Digest of every number that the actuator forces depend on; names and limits do not count."""
    digest = hashlib.sha256()
    numbers: list[Any] = [machine.gravity, machine.home_directions]
    bodies = [machine.platform]
    for leg in machine.legs:
        axis = np.zeros(3) if leg.universal_axis is None else leg.universal_axis
        friction = (leg.friction.universal, leg.friction.prismatic, leg.friction.spherical)
        beside = (
            leg.friction.coulomb,
            leg.drive.reflected_mass,
            leg.spring.force_at_zero,
            leg.spring.stiffness,
        )
        numbers += [beside, leg.base_point, leg.platform_point, axis, friction]
        bodies += [leg.lower, leg.upper]
    for body in bodies:
        numbers += [body.mass, body.center_of_mass, body.inertia]
    for number in numbers:
        digest.update(np.asarray(number, dtype=float).tobytes())
    return digest.hexdigest()
