"""The dynamics of one chain, ready to be called from a control loop.

The generated program of every quantity is compiled with the system's C compiler and kept in the user's cache;
where there is no compiler, the same program runs as generated Python.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.codegen.program import OperationCount, count_operations
from robot_dynamics.dynamics.evaluator import Evaluator, Kernel
from robot_dynamics.dynamics.loading import KernelLoader
from robot_dynamics.dynamics.quantities import QUANTITIES, Quantity
from robot_dynamics.errors import BackendError, ParameterError, quoted
from robot_dynamics.inputs.arrays import real_vector
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.bridge import load_bridge
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.spatial import Array

BACKENDS = ("auto", "c", "python")


class CompiledDynamics:
    """The dynamics of one chain under one gravity vector; made by :func:`compile_dynamics`.

    Every method takes one state or a batch of N states (rows), and ``out``, an array float64 of the result's
    shape that is filled and returned instead of a new one; it may be one of the inputs. C-contiguous float64
    arrays of the right shape go straight to the compiled code; anything else that numpy can read as numbers
    is converted first. Results, not arguments, are checked to be finite: a NaN or an infinity in anything
    that the result depends on is refused by name, at no measurable cost; one in an entry that has no
    influence (the angle of a vertical first joint in ``gravity``) goes unnoticed.

    The functions may be called from several threads at once; long batches let other threads run.

    Attributes:
        chain: the arm; ``chain.joint_names`` is the order of every array.
        gravity_vector: (3,) gravity in the root frame [m/s²].
    """

    def __init__(self, chain: KinematicChain, gravity: Array, backend: str, live_gravity: bool) -> None:
        """See :func:`compile_dynamics`."""
        self.chain = chain
        self.gravity_vector = gravity
        self._wanted = backend
        self._live_gravity = live_gravity
        self._lock = threading.Lock()
        self._with_live_gravity: CompiledDynamics | None = None
        self._loader = KernelLoader(chain, None if live_gravity else gravity, backend)
        self._evaluators = {
            name: Evaluator(
                quantity,
                chain.joint_names,
                partial(self._loader.kernel, name),
                gravity if live_gravity and quantity.takes_gravity else None,
            )
            for name, quantity in QUANTITIES.items()
        }

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        wrench: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Joint efforts that give the accelerations ``qdd``.

        Args:
            q: (n,) or (N, n) joint positions, in the order of ``chain.joint_names`` [rad or m].
            qd: joint velocities, shaped like ``q`` [rad/s or m/s].
            qdd: joint accelerations, shaped like ``q`` [rad/s² or m/s²].
            wrench: (6,) or (N, 6) [force, torque] that the arm exerts on its environment at the tip, in the
                tip frame [N, N·m]; nothing when omitted.
            out: array for the result.

        Returns:
            Joint efforts, shaped like ``q`` [N·m or N].

        Raises:
            StateError: a wrong shape or a value that is not finite.
        """
        return self._ready("inverse_dynamics")(q, qd, qdd, wrench, out)

    def gravity(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Joint efforts that hold the arm at rest.

        Args:
            q: (n,) or (N, n) joint positions [rad or m].
            out: array for the result.

        Returns:
            Joint efforts, shaped like ``q`` [N·m or N].

        Raises:
            StateError: a wrong shape or a value that is not finite.
        """
        return self._ready("gravity")(q, out)

    def coriolis(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Joint efforts of the Coriolis and centrifugal terms, C(q, qd) qd.

        Args:
            q: (n,) or (N, n) joint positions [rad or m].
            qd: joint velocities, shaped like ``q`` [rad/s or m/s].
            out: array for the result.

        Returns:
            Joint efforts, shaped like ``q`` [N·m or N].

        Raises:
            StateError: a wrong shape or a value that is not finite.
        """
        return self._ready("coriolis")(q, qd, out)

    def mass_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """The joint-space mass matrix M(q), symmetric.

        Args:
            q: (n,) or (N, n) joint positions [rad or m].
            out: array for the result.

        Returns:
            (n, n) or (N, n, n) [kg·m², kg·m or kg].

        Raises:
            StateError: a wrong shape or a value that is not finite.
        """
        return self._ready("mass_matrix")(q, out)

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        wrench: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Joint accelerations under the efforts ``tau``.

        Args:
            q: (n,) or (N, n) joint positions [rad or m].
            qd: joint velocities, shaped like ``q`` [rad/s or m/s].
            tau: joint efforts, shaped like ``q`` [N·m or N].
            wrench: (6,) or (N, 6) [force, torque] that the arm exerts on its environment at the tip, in the
                tip frame [N, N·m]; nothing when omitted.
            out: array for the result.

        Returns:
            Joint accelerations, shaped like ``q`` [rad/s² or m/s²].

        Raises:
            StateError: a wrong shape or a value that is not finite.
            SingularityError: a joint moves no mass.
        """
        return self._ready("forward_dynamics")(q, qd, tau, wrench, out)

    def jacobian(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Jacobian of the tip: [linear, angular] velocity of the tip frame, in the tip frame, is J(q) qd.

        Args:
            q: (n,) or (N, n) joint positions [rad or m].
            out: array for the result.

        Returns:
            (6, n) or (N, 6, n).

        Raises:
            StateError: a wrong shape or a value that is not finite.
        """
        return self._ready("jacobian")(q, out)

    def prepare(self, quantities: Iterable[str] = tuple(QUANTITIES), wrench: bool = False) -> None:
        """Generate and compile now what would otherwise be made on first use.

        Args:
            quantities: names of methods; all by default.
            wrench: also prepare the calls with a tip wrench.

        Raises:
            ParameterError: no such quantity.
            BackendError: ``backend="c"`` and the compiler fails.
        """
        for name in quantities:
            quantity = _quantity(name)
            self._prepare(name, False)
            if wrench and quantity.takes_wrench:
                self._prepare(name, True)

    def operation_count(self, quantity: str = "inverse_dynamics", wrench: bool = False) -> OperationCount:
        """Operations of the generated program, by ``codegen.program.CONVENTION``.

        Raises:
            ParameterError: no such quantity.
        """
        _quantity(quantity)
        return count_operations(self._loader.program(quantity, wrench))

    @property
    def backend(self) -> str:
        """What computes the inverse dynamics: "c" or "python"."""
        kernel = self._evaluators["inverse_dynamics"].kernel(False)
        return "c" if isinstance(kernel, NativeKernel) else "python"

    def with_gravity(self, gravity: Sequence[float] | Array) -> CompiledDynamics:
        """The same arm under another gravity vector (3,) in the root frame [m/s²].

        The result's functions have gravity as an input, which costs a few operations more. The first of them
        to be used is generated and compiled; every later call of this method, on this object or on its
        result, shares what is there and takes well under a millisecond.

        Raises:
            ParameterError: ``gravity`` is not three finite numbers.
        """
        other = CompiledDynamics(self.chain, _gravity_vector(gravity), self._wanted, live_gravity=True)
        origin = self if self._live_gravity else self._with_live_gravity
        if origin is None:
            self._with_live_gravity = other
        else:
            for name, evaluator in other._evaluators.items():
                evaluator.share_kernels(origin._evaluators[name])
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledDynamics, (self.chain, self.gravity_vector, self._wanted, self._live_gravity)

    def _ready(self, name: str) -> Callable[..., Array]:
        """The function of quantity ``name``; from now on it takes the method's place in this object."""
        self._prepare(name, False)
        function: Callable[..., Array] = self.__dict__[name]
        return function

    def _prepare(self, name: str, with_wrench: bool) -> None:
        evaluator = self._evaluators[name]
        kernel = evaluator.kernel(with_wrench)
        with self._lock:
            if name not in self.__dict__:
                self.__dict__[name] = self._function(evaluator, kernel, with_wrench)

    def _function(self, evaluator: Evaluator, kernel: Kernel, with_wrench: bool) -> Callable[..., Array]:
        """The fastest way to call ``evaluator``, with ``kernel`` at hand."""
        bridge = load_bridge() if isinstance(kernel, NativeKernel) else None
        if bridge is None:
            return evaluator
        quantity = evaluator.quantity
        name = quantity.name
        function: Callable[..., Array] = bridge.function(
            name=name,
            documentation=f"{name}({', '.join(quantity.arguments)})\n\n{getattr(type(self), name).__doc__}",
            states=len(quantity.states),
            joints=self.chain.dof,
            shape=quantity.shape(self.chain.dof),
            takes_wrench=quantity.takes_wrench,
            gravity=evaluator.gravity,
            general=evaluator,
        )
        # The function owns the evaluator; the way back must be weak, as C code takes no part in collecting
        # cycles.
        reference = weakref.ref(function)

        def link(kernel: Kernel, with_wrench: bool) -> None:
            alive = reference()
            if alive is not None and isinstance(kernel, NativeKernel):
                bridge.set_kernel(alive, kernel, with_wrench)

        evaluator.link(link)
        evaluator.kernel(with_wrench)
        return function


def _quantity(name: str) -> Quantity:
    try:
        return QUANTITIES[name]
    except (KeyError, TypeError):
        raise ParameterError(f"no quantity {quoted(name)}; choose from {', '.join(QUANTITIES)}") from None


def compile_dynamics(
    chain: KinematicChain,
    gravity: Sequence[float] | Array = (0.0, 0.0, -9.81),
    backend: str = "auto",
    quantities: Iterable[str] = ("inverse_dynamics",),
) -> CompiledDynamics:
    """Generate, compile and load the dynamics of ``chain``.

    Args:
        chain: the arm.
        gravity: (3,) gravity in the root frame [m/s²].
        backend: "c" compiles with the system's compiler (the environment variable CC, else cc, gcc or clang),
            "python" needs none, "auto" is "c" where that works and otherwise "python", with a notice in the
            log. The results are the same to rounding.
        quantities: names of the methods to make ready now; the others are made on first use.

    Raises:
        BackendError: no such backend, or ``backend="c"`` and the compiler fails.
        ParameterError: ``gravity`` is not three finite numbers, or no such quantity.
    """
    if backend not in BACKENDS:
        raise BackendError(f"backend {quoted(backend)} does not exist; choose one of {', '.join(BACKENDS)}")
    dynamics = CompiledDynamics(chain, _gravity_vector(gravity), backend, live_gravity=False)
    dynamics.prepare(quantities)
    return dynamics


def _gravity_vector(gravity: Sequence[float] | Array) -> Array:
    try:
        return np.array(real_vector("gravity", gravity, 3, ParameterError))
    except ParameterError:
        raise ParameterError(
            f"gravity is {quoted(gravity)}; expected 3 finite numbers [m/s²] in the root frame"
        ) from None
