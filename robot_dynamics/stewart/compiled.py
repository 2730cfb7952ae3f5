"""The exact actuator forces of one machine as compiled code, or as generated Python where no compiler is."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.codegen.emit_lanes import lanes_source
from robot_dynamics.codegen.emit_python import python_module
from robot_dynamics.dynamics.evaluator import Kernel, PythonKernel
from robot_dynamics.errors import BackendError, SingularityError, StateError
from robot_dynamics.native.bridge import load_bridge
from robot_dynamics.native.cache import cached, content
from robot_dynamics.native.fingerprint import generator_fingerprint
from robot_dynamics.native.library import NativeKernel, load_kernel
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import LEG_COUNT, Machine
from robot_dynamics.stewart.program import DESCRIPTION, MOTION_SIZE, StewartProgram, make_program

_LOG = logging.getLogger(__name__)
BACKENDS = ("auto", "c", "python")


class CompiledStewart:
    """Actuator forces of one machine by its generated program.

    Attributes:
        machine: the platform.
        backend: "c" or "python".
        actuator_forces: called with motions (25,) or (N, 25), and optionally ``out``; returns the forces (6,)
            or (N, 6) [N], positive when the leg pushes. A motion holds the position of the platform's origin,
            its orientation as a unit quaternion x, y, z, w, linear and angular velocity, linear and angular
            acceleration (base frame), external force and torque (platform frame); :func:`pack` makes one. No
            limits are checked here; forces that are not finite raise.
    """

    actuator_forces: Callable[..., Array]

    def __init__(self, machine: Machine, backend: str) -> None:
        """See :func:`compile_stewart`."""
        self.machine = machine
        self._made: StewartProgram | None = None
        kernel = self._load(backend)
        self.backend = "c" if isinstance(kernel, NativeKernel) else "python"
        self._kernel = kernel
        self.actuator_forces = self._evaluate
        bridge = load_bridge() if isinstance(kernel, NativeKernel) else None
        if bridge is not None and isinstance(kernel, NativeKernel):
            function = bridge.function(
                name="actuator_forces",
                documentation=f"actuator_forces(motion, out=None)\n\nmotion: {DESCRIPTION}.",
                states=1,
                joints=MOTION_SIZE,
                shape=(LEG_COUNT,),
                takes_wrench=False,
                gravity=None,
                general=self._evaluate,
            )
            bridge.set_kernel(function, kernel, False)
            self.actuator_forces = function

    @property
    def program(self) -> StewartProgram:
        """The generated program with its operation counts."""
        if self._made is None:
            self._made = make_program(self.machine)
        return self._made

    def _load(self, backend: str) -> Kernel:
        key = f"stewart {machine_fingerprint(self.machine)} {_own_fingerprint()} {generator_fingerprint()}"
        if backend != "python":
            try:
                return load_kernel(key, lambda: lanes_source(self.program.program))
            except BackendError as error:
                if backend == "c":
                    raise
                _LOG.warning("generated Python is used, slower than compiled code: %s", error)

        def build(target: Any, _folder: Any) -> None:
            text = python_module([replace(self.program.program, name="kernel")], [])
            target.write_text(text, encoding="utf-8")

        path = cached(key, ".py", build)
        names: dict[str, Any] = {}
        exec(compile(content(path), str(path), "exec"), names)
        return PythonKernel(names["kernel"])

    def _evaluate(self, motion: ArrayLike, out: Array | None = None) -> Array:
        try:
            state = np.require(motion, dtype=np.float64, requirements=("C", "A"))
        except (TypeError, ValueError) as error:
            raise StateError(f"motion cannot be read as an array of numbers: {error}") from error
        if state.ndim not in (1, 2) or state.shape[-1] != MOTION_SIZE:
            raise StateError(
                f"motion has shape {state.shape}; expected ({MOTION_SIZE},) or (N, {MOTION_SIZE}):"
                f" {DESCRIPTION}"
            )
        shape = (*state.shape[:-1], LEG_COUNT)
        if out is not None and (out.shape != shape or out.dtype != np.float64 or not out.flags.writeable):
            raise StateError(f"out must be a writeable array float64 {shape}")
        result = np.empty(shape)
        if result.size and not self._kernel.run([state], result):
            self._explain(state)
        if out is None:
            return result
        out[...] = result
        return out

    def _explain(self, motion: Array) -> None:
        if not np.isfinite(motion).all():
            raise StateError("motion is not finite")
        raise SingularityError(
            "the actuator forces are not finite: the pose is singular, a universal joint is locked or a leg"
            " lies in the plane of the base"
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
    """
    parts = [
        np.asarray(part, dtype=float)
        for part in (
            position,
            orientation,
            linear_velocity,
            angular_velocity,
            linear_acceleration,
            angular_acceleration,
            force,
            torque,
        )
    ]
    leading = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.broadcast_to(part, (*leading, part.shape[-1])) for part in parts], axis=-1)


def compile_stewart(machine: Machine, backend: str = "auto") -> CompiledStewart:
    """Generate, compile and load the exact actuator forces of ``machine``.

    Args:
        machine: the platform.
        backend: "c" compiles with the system's compiler, "python" needs none, "auto" is "c" where that works.

    Raises:
        BackendError: no such backend, or ``backend="c"`` and the compiler fails.
    """
    if backend not in BACKENDS:
        raise BackendError(f"backend {backend!r} does not exist; choose one of {', '.join(BACKENDS)}")
    return CompiledStewart(machine, backend)


def machine_fingerprint(machine: Machine) -> str:
    """Digest of every number that the actuator forces depend on; names and limits do not count."""
    digest = hashlib.sha256()
    numbers: list[Any] = [machine.gravity, machine.home_directions]
    bodies = [machine.platform]
    for leg in machine.legs:
        axis = np.zeros(3) if leg.universal_axis is None else leg.universal_axis
        friction = (leg.friction.universal, leg.friction.prismatic, leg.friction.spherical)
        numbers += [leg.base_point, leg.platform_point, axis, friction]
        bodies += [leg.lower, leg.upper]
    for body in bodies:
        numbers += [body.mass, body.center_of_mass, body.inertia]
    for number in numbers:
        digest.update(np.asarray(number, dtype=float).tobytes())
    return digest.hexdigest()


@cache
def _own_fingerprint() -> str:
    digest = hashlib.sha256()
    for entry in sorted(files("robot_dynamics.stewart").iterdir(), key=lambda entry: str(entry.name)):
        if entry.name.endswith(".py"):
            digest.update(entry.read_bytes())
    return digest.hexdigest()
