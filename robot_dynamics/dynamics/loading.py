"""From a chain to the kernels of its quantities."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, partial
from typing import TypeAlias

import numpy as np

from robot_dynamics.codegen.program import Program
from robot_dynamics.dynamics import programs
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.errors import readable
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.kernel import Kernel
from robot_dynamics.native.loading import load_kernel
from robot_dynamics.native.waiting import waiting_line
from robot_dynamics.spatial import Array

# Options by name, as `Option.read` gives them, in the order of the quantity's.
Settings: TypeAlias = tuple[tuple[str, str], ...]


class KernelLoader:
    """Makes the kernels of one chain.

    Attributes:
        program: the program of (quantity, names of the optional inputs that are given, options by name as
            `Option.read` gives them), generated once.
    """

    def __init__(self, chain: KinematicChain, gravity: Array, live: frozenset[str], backend: str) -> None:
        """Prepare without generating anything.

        Args:
            chain: the arm.
            gravity: (3,) gravity in the root frame [m/s²].
            live: names of what is held and an input of the kernels instead of a constant in them.
            backend: "auto", "c" or "python".
        """
        self._chain = chain
        self._gravity = gravity
        self._live = live
        self._backend = backend
        self.program: Callable[[str, tuple[str, ...], Settings], Program] = cache(self._program)

    def kernel(self, quantity: str, settings: Settings, given: tuple[str, ...]) -> Kernel:
        """The kernel of a quantity with its options set.

        Raises:
            BackendError: ``backend="c"`` and the compiler fails.
        """
        about = QUANTITIES[quantity]
        live = self._inputs(quantity)
        constant = any(array.name == "gravity" for array in about.held) and "gravity" not in live
        model = model_fingerprint(self._chain, self._gravity if constant else None)
        with waiting_line(f"generating and compiling {quantity} of {readable(self._chain.name)}"):
            return load_kernel(
                key=f"{quantity} {given} {live} {settings} {model}",
                generator=programs.__name__,
                program=partial(self.program, quantity, given, settings),
                outputs=len(about.outputs),
                backend=self._backend,
                shared=live,
            )

    def _inputs(self, quantity: str) -> tuple[str, ...]:
        """Constant inputs of the quantity's kernels."""
        return tuple(array.name for array in QUANTITIES[quantity].constants if array.name in self._live)

    def _program(self, quantity: str, given: tuple[str, ...], settings: Settings) -> Program:
        live = self._inputs(quantity)
        gravity = None if "gravity" in live else self._gravity
        inputs = (*given, *live)
        return programs.make_program(self._chain, gravity, quantity, inputs, options=dict(settings))


def model_fingerprint(chain: KinematicChain, gravity: Array | None) -> str:
    """Digest of every number that the dynamics of ``chain`` depend on; names do not count.

    ``gravity`` is (3,) in the root frame [m/s²], None where nothing depends on it.
    """
    digest = hashlib.sha256(b"" if gravity is None else np.asarray(gravity, dtype=float).tobytes())
    if chain.whole is not None:
        digest.update(f"{chain.own_coordinates}".encode())
        chain = chain.whole
    for joint, parent in zip(chain.joints, chain.carriers, strict=True):
        digest.update(f"{parent}".encode())
        digest.update(f"{joint.kind.value} {joint.coordinate}".encode())
        scalars = (joint.multiplier, joint.offset, joint.body.mass)
        arrays = (joint.origin, joint.axis, joint.body.center_of_mass, joint.body.inertia)
        for numbers in (scalars, *arrays):
            digest.update(np.asarray(numbers, dtype=float).tobytes())
    for tip in chain.tips:
        digest.update(f"{tip.joint}".encode())
        digest.update(np.asarray(tip.transform, dtype=float).tobytes())
    return digest.hexdigest()
