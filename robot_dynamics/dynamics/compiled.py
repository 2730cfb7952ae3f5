"""The dynamics of one chain, ready to be called from a control loop.

The generated program of every quantity is compiled with the system's C compiler and kept in the user's cache;
where there is no compiler, the same program runs as generated Python.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from robot_dynamics.codegen.program import OperationCount, count_operations
from robot_dynamics.dynamics.array_dynamics import MODULES, ArrayDynamics
from robot_dynamics.dynamics.constant_inputs import (
    ConstantInputs,
    Payload,
    friction_vector,
    gravity_vector,
    measured_vector,
    payload_vector,
    tell_what_is_left_out,
)
from robot_dynamics.dynamics.function_factory import FunctionFactory, fastest
from robot_dynamics.dynamics.identifiable import inertial_parameters
from robot_dynamics.dynamics.loading import KernelLoader, Settings
from robot_dynamics.dynamics.quantities import QUANTITIES, Quantities, quantity_named
from robot_dynamics.errors import ParameterError, WrongTypeError, of_wrong_type, quoted
from robot_dynamics.inputs.arrays import is_a, of_type, plain_text
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.load import load_urdf
from robot_dynamics.native.evaluator import Evaluator, Given
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.native.loading import check_backend
from robot_dynamics.spatial import Array

_LIVE = frozenset(["gravity", "payload"])
"""Inputs of kernels that serve any payload."""
_MEASURED = frozenset(["gravity", "payload", "measured"])
"""The same of a chain with measured joints."""
_MOST = 1000
"""Names that a list of quantities stays below, so that one without an end is refused."""


class CompiledDynamics(Quantities):
    """The dynamics of one chain under one gravity vector; made by :func:`compile_dynamics`.

    Every method takes one state or a batch of N states (rows), and ``out``, an array float64 of the result's
    shape that is filled and returned instead of a new one; it may be one of the inputs. C-contiguous float64
    arrays of the right shape go straight to the compiled code; anything else that numpy can read as numbers
    is converted first. Results, not arguments, are checked to be finite: a NaN or an infinity in anything
    that the result depends on is refused by name, at no measurable cost; one in an entry that has no
    influence (the angle of a vertical first joint in ``gravity``) goes unnoticed. A batch may differ from
    single calls in the last bit: it computes its own sines and cosines. Without ``out`` the result
    for one state may lie in the memory of an earlier one, once nobody refers to that any more.

    The functions may be called from several threads at once; long batches let other threads run.

    Attributes:
        chain: the arm; ``chain.joint_names`` is the order of every array.
    """

    def __init__(self, chain: KinematicChain, held: ConstantInputs, backend: str) -> None:
        """See :func:`compile_dynamics`."""
        of_type("chain", chain, KinematicChain)
        of_type("held", held, ConstantInputs)
        check_backend(backend)
        self.chain = chain
        self._held = held
        self._wanted = backend
        self._lock = threading.Lock()
        self._siblings: dict[frozenset[str], CompiledDynamics] = {}
        self._loader = KernelLoader(chain, held.gravity, held.live, backend)
        self._maker = FunctionFactory(chain, held.values, held.live, self._loader)
        self._evaluators: dict[str | tuple[str, Settings], Evaluator] = {}
        self._sharing: CompiledDynamics | None = None

    def prepare(self, quantities: Iterable[str] = tuple(QUANTITIES), wrench: bool = False) -> None:
        """Generate and compile now what would otherwise be made on first use.

        Args:
            quantities: names of methods; all by default.
            wrench: also prepare the calls with a tip wrench.

        Raises:
            ParameterError: no such quantity.
            BackendError: ``backend="c"`` and the compiler fails.
        """
        of_type("wrench", wrench, bool)
        try:
            names = None if is_a(quantities, str | bytes) else list(itertools.islice(quantities, _MOST))
        except Exception:  # of what cannot be gone through, or fails meanwhile
            names = None
        if names is None or len(names) == _MOST:
            raise of_wrong_type(ParameterError)(
                f"quantities is {quoted(quantities)}; it must be a list of names"
            )
        for name in names:
            optional = tuple(array.name for array in quantity_named(name).optional)
            self._prepare(name, ())
            if wrench and "wrench" in optional:
                self._prepare(name, ("wrench",))

    def operation_count(self, quantity: str = "inverse_dynamics", wrench: bool = False) -> OperationCount:
        """Operations of the generated program, by ``codegen.program.CONVENTION``.

        Raises:
            ParameterError: no such quantity, or it takes no wrench.
        """
        of_type("wrench", wrench, bool)
        quantity_named(quantity)
        given, settings = ("wrench",) if wrench else (), self._maker.settings(quantity, {})
        return count_operations(self._loader.program(quantity, given, settings))

    @property
    def backend(self) -> str:
        """Backend of the inverse dynamics: "c" or "python"."""
        kernel = self.evaluator("inverse_dynamics").kernel()
        return "c" if isinstance(kernel, NativeKernel) else "python"

    @property
    def gravity_vector(self) -> Array:
        """(3,) gravity in the root frame [m/s²]."""
        return self._held.gravity

    @property
    def payload(self) -> Array:
        """(10,) for each tip, what it carries besides the chain, as :meth:`with_payload` takes it."""
        return self._held.payload

    @property
    def friction(self) -> bool:
        """True where the joints' friction is part of the efforts."""
        return "friction" in self._held.live

    def with_gravity(self, gravity: Sequence[float] | Array) -> CompiledDynamics:
        """The same arm under another gravity vector (3,) in the root frame [m/s²].

        The result's functions have gravity as an input, which costs a few operations more. The first of them
        to be used is generated and compiled; every later call of this method, on this object or on its
        result, shares what is there and takes well under a millisecond.

        Raises:
            ParameterError: ``gravity`` is not three finite numbers.
        """
        live = self._held.live | {"gravity"}
        return self._sibling(replace(self._held, gravity=gravity_vector(gravity), live=live))

    def with_payload(self, payload: Payload) -> CompiledDynamics:
        """The same arm with another body at the tip, instead of the one that it carried before.

        The result's functions have gravity and payload as inputs, which costs up to two hundred operations
        more. Like :meth:`with_gravity`, it compiles nothing after the first time.

        Args:
            payload: a body in the tip frame, or (10,) its mass, first moment (3) and inertia xx, xy, yy, xz,
                yz, zz about the tip frame's origin, in its axes [kg, kg·m, kg·m²]; of a tree a mapping from
                names of tips to these, or (10 t,) in the order of ``chain.tips``.

        Raises:
            ParameterError: neither of both, a negative mass, or an inertia that no body has.
        """
        live = self._held.live | _LIVE
        return self._sibling(replace(self._held, payload=payload_vector(payload, self.chain), live=live))

    def with_measured(
        self, position: object, velocity: object = None, acceleration: object = None
    ) -> CompiledDynamics:
        """The same arm with the measured joints in another state; it compiles nothing.

        Args:
            position: (m,) of ``chain.measured_joints`` [rad or m].
            velocity: (m,) [rad/s or m/s]; zero where omitted.
            acceleration: (m,) [rad/s² or m/s²]; zero where omitted.

        Raises:
            ParameterError: the chain has no measured joints, or not one finite number is given for each.
        """
        if self.chain.whole is None:
            raise ParameterError(f"{self.chain.name} has no measured joints; load_urdf(measured_joints=...)")
        measured = measured_vector(self.chain, position, velocity, acceleration)
        return self._sibling(replace(self._held, measured=measured))

    def without_friction(self) -> CompiledDynamics:
        """The same arm without the friction of its joints; itself where it has none."""
        if not self.friction:
            return self
        return self._sibling(replace(self._held, live=self._held.live - {"friction"}))

    def _sibling(self, held: ConstantInputs) -> CompiledDynamics:
        """The arm with other values; kernels are shared with the first that has the same inputs."""
        other = CompiledDynamics(self.chain, held, self._wanted)
        with self._lock:
            if held.live == self._held.live:
                other._sharing = self._sharing or self
            else:
                first = self._siblings.setdefault(held.live, other)
                other._sharing = None if first is other else first
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledDynamics, (self.chain, self._held, self._wanted)

    def __repr__(self) -> str:
        made = ", ".join(name for name in QUANTITIES if name in self.__dict__) or "nothing yet"
        return f"<CompiledDynamics of {self.chain.name}, {self.chain.dof} joints; ready: {made}>"

    def function(self, quantity: str, **options: Any) -> Callable[..., Any]:
        """The function of a quantity, made if need be; it takes its method's place in this object.

        Args:
            quantity: its name.
            options: what calls of the method give by name only, such as ``frame`` of ``jacobian``. Where they
                differ from the defaults, the function is that of this choice and the method stays.

        Raises:
            ParameterError: no such quantity, option or choice.
        """
        quantity_named(quantity)
        settings = self._maker.settings(quantity, options)
        if settings != self._maker.settings(quantity, {}):
            return self._maker.chosen(quantity, settings)
        self._prepare(quantity, ())
        function: Callable[..., Any] = self.__dict__[quantity]
        return function

    @property
    def inertial_parameters(self) -> Array:
        """(10 m,) parameters p of the moving links, without payload, by which ``regressor`` is multiplied."""
        return inertial_parameters(self.chain)

    @property
    def base_map(self) -> Array:
        """(b, 10 m): ``regressor`` is ``base_regressor @ base_map``, base parameters are ``base_map @ p``."""
        return np.array(self._maker.base.grouping)

    def evaluator(self, name: str, **options: Any) -> Evaluator:
        """Evaluator of the quantity with this name, where its kernels are found; made on first use.

        Args:
            name: of the quantity.
            options: what calls of the method give by name only.

        Raises:
            ParameterError: no such quantity, option or choice.
        """
        quantity_named(name)
        settings = self._maker.settings(name, options)
        default = settings == self._maker.settings(name, {})
        key = name if default else (name, settings)
        with self._lock:
            if key not in self._evaluators:
                evaluator = (
                    self._maker.evaluator(name) if default else self._maker.chosen_evaluator(name, settings)
                )
                if self._sharing is not None:
                    evaluator.share_kernels(self._sharing.evaluator(name, **options))
                self._evaluators[key] = evaluator
            return self._evaluators[key]

    def _prepare(self, name: str, given: Given) -> None:
        evaluator = self.evaluator(name)
        kernel = evaluator.kernel(given)
        with self._lock:
            if name not in self.__dict__:
                self.__dict__[name] = fastest(evaluator, name, kernel, given)


@overload
def compile_dynamics(  # type: ignore[overload-overlap]
    chain: KinematicChain,
    gravity: Sequence[float] | Array = ...,
    *,
    backend: Literal["jax", "torch", "numpy"],
    quantities: Iterable[str] = ...,
    payload: Payload | None = ...,
    friction: bool | None = ...,
) -> ArrayDynamics: ...
@overload
def compile_dynamics(
    chain: KinematicChain | str | os.PathLike[str],
    gravity: Sequence[float] | Array = ...,
    backend: str = ...,
    quantities: Iterable[str] = ...,
    *,
    payload: Payload | None = ...,
    friction: bool | None = ...,
) -> CompiledDynamics: ...
def compile_dynamics(
    chain: KinematicChain | str | os.PathLike[str],
    gravity: Sequence[float] | Array = (0.0, 0.0, -9.81),
    backend: str = "auto",
    quantities: Iterable[str] = ("inverse_dynamics",),
    *,
    payload: Payload | None = None,
    friction: bool | None = None,
) -> CompiledDynamics | ArrayDynamics:
    """Generate, compile and load the dynamics of ``chain``.

    Args:
        chain: the arm, or path or text of a description, whose chain is chosen as by :func:`load_urdf`.
        gravity: (3,) gravity in the root frame [m/s²].
        backend: "c" compiles with the system's compiler (the environment variable CC, else cc, gcc or clang),
            "python" needs none, "auto" is "c" where that works and otherwise "python", with a notice in the
            log. The results are the same to rounding. "jax", "torch" and "numpy" give an
            :class:`ArrayDynamics`: functions of that library, which can be differentiated.
        quantities: names of the methods to make ready now; the others are made on first use.
        payload: a body at the tip, as :meth:`CompiledDynamics.with_payload` takes it. Gravity and payload are
            then inputs of the kernels, so that another of either compiles nothing.
        friction: whether efforts and accelerations, and their derivatives, include the damping and the
            Coulomb friction that the description gives the joints (``dynamics.friction`` has the law). None
            leaves them out and says so in the log where there are any.

    Raises:
        BackendError: no such backend, or ``backend="c"`` and the compiler fails.
        ParameterError: ``gravity`` is not three finite numbers, ``payload`` is no body, or no such quantity.
    """
    arrays = plain_text(backend) in MODULES
    if not arrays:
        check_backend(backend)
    arm = _arm(chain)
    of_type("friction", friction, bool | np.bool_ | None)
    if friction is None:
        tell_what_is_left_out(arm)
    live = _LIVE if payload is not None else frozenset()
    live |= _MEASURED if arm.whole is not None else frozenset()
    live |= {"friction"} if friction else frozenset()
    carried = np.zeros(10 * len(arm.tips)) if payload is None else payload_vector(payload, arm)
    held = ConstantInputs(gravity_vector(gravity), carried, friction_vector(arm), live, measured_vector(arm))
    if arrays:
        return ArrayDynamics(arm, held, backend)
    dynamics = CompiledDynamics(arm, held, backend)
    dynamics.prepare(quantities)
    return dynamics


def _arm(given: KinematicChain | str | os.PathLike[str]) -> KinematicChain:
    """The chain, or that of a description."""
    if is_a(given, KinematicChain):
        assert isinstance(given, KinematicChain)
        return given
    if is_a(given, str | os.PathLike):
        assert not isinstance(given, KinematicChain)
        return load_urdf(given)
    raise WrongTypeError(
        f"chain is {quoted(given)}; it must be a KinematicChain, or the path or text of a description"
    )
