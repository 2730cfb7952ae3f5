"""Parts of an arm's model for retiming: efforts of the links for batches, rotors and friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.retiming.library import ffi
from robot_dynamics.control.retiming.limits import Coordinates
from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
from robot_dynamics.dynamics.friction import PARAMETERS, DriveFriction
from robot_dynamics.errors import ParameterError, RobotDynamicsError, WrongTypeError, quoted
from robot_dynamics.inputs.arrays import real_array
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.spatial import Array

_WITHOUT = ActuatorParameters(damping=(0.0,), friction=(0.0,))
_LOAD = PARAMETERS.index("load_friction")


@dataclass(frozen=True)
class DrivenModel:
    """An arm's model in parts.

    Attributes:
        chain: the arm, or other coordinates of a path.
        links: inverse dynamics of the links, without friction.
        rotor_inertia: (n,) as seen at the joints [kg·m² or kg].
        friction: (n, p) parameters of ``DriveFriction``, as its ``matrix`` has them.
    """

    chain: Coordinates
    links: EffortModel
    rotor_inertia: Array
    friction: Array

    def __post_init__(self) -> None:
        if np.shape(self.friction) != (shape := (len(self.rotor_inertia), len(PARAMETERS))):
            raise ParameterError(f"friction has the shape {np.shape(self.friction)}; it must be {shape}")

    @property
    def load_friction(self) -> Array:
        """(n,) share of the load that friction takes."""
        return np.asarray(self.friction[:, _LOAD])

    def friction_with(self, share: Array | float) -> Array:
        """``friction`` with this share of the load (n,), or one for all."""
        friction = np.array(self.friction)
        friction[:, _LOAD] = share
        return friction

    @staticmethod
    def of(model: Any, chain: KinematicChain | None = None) -> DrivenModel:
        """The parts of a chain, of compiled dynamics, or of an arm with its drives.

        Args:
            model: a `KinematicChain` (its friction counts), `CompiledDynamics` (friction counts where it was
                compiled with it), or `ActuatedArm`.
            chain: of an `ActuatedArm` whose links are no `CompiledDynamics`.

        Raises:
            ParameterError: none of these.
        """
        if isinstance(model, KinematicChain):
            drives = ActuatorParameters().of(model)
            links = compile_dynamics(model, friction=False)
            return DrivenModel(model, links, drives.rotor_inertia, drives.friction.matrix)
        if isinstance(model, CompiledDynamics):
            count = model.chain.dof
            parameters = ActuatorParameters() if model.friction else _WITHOUT
            friction = parameters.of(model.chain).friction.matrix
            return DrivenModel(model.chain, model.without_friction(), np.zeros(count), friction)
        if isinstance(model, ActuatedArm):
            links_of = model.links
            known = links_of.chain if isinstance(links_of, CompiledDynamics) else chain
            if known is None:
                raise ParameterError("the arm's links are no compiled dynamics: give the chain")
            if isinstance(links_of, CompiledDynamics) and links_of.friction:
                raise ParameterError(
                    "the links of an ActuatedArm are compiled with friction, which its drives have too:"
                    " compile them with friction=False"
                )
            drives = model.drives
            return DrivenModel(known, links_of, drives.rotor_inertia, drives.friction.matrix)
        raise WrongTypeError(
            f"model is {quoted(model)}; it must be a KinematicChain, CompiledDynamics or ActuatedArm"
        )

    def efforts(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(N, n) efforts of motions (N, n) with rotors and friction [N·m or N]."""
        law = DriveFriction(*self.friction.T)
        rigid = self.links.inverse_dynamics(q, qd, qdd)
        return np.asarray(rigid + self.rotor_inertia * qdd + law.effort(qd, load=rigid))

    @cached_property
    def _compiled(self) -> tuple[Any, Sequence[Array]] | None:
        """The kernel of compiled dynamics and its constant inputs."""
        if isinstance(self.links, CompiledDynamics):
            evaluator = self.links.evaluator("inverse_dynamics")
            kernel = evaluator.kernel()
            if isinstance(kernel, NativeKernel):
                return ffi().cast("rd_efforts", kernel.batch_address), evaluator.constants
        return None

    def kernel(self) -> tuple[Any, Sequence[Array], list[BaseException]]:
        """``rd_efforts``, its constant inputs, and the errors that it has met; to be kept while it is called.

        Compiled dynamics are called as they are. Any other model is called through Python.
        """
        if self._compiled is not None:
            return *self._compiled, []
        failures: list[BaseException] = []
        count = self.chain.dof

        def call(rows: int, given: Any, out: Any) -> int:
            try:
                size = 8 * rows * count
                states = [
                    np.frombuffer(ffi().buffer(given[k], size), dtype=float).reshape(rows, count)
                    for k in range(3)
                ]
                efforts = real_array("efforts", self.links.inverse_dynamics(*states), RobotDynamicsError)
                np.frombuffer(ffi().buffer(out, size), dtype=float).reshape(rows, count)[:] = efforts
            except BaseException as error:  # nothing may be raised through C
                failures.append(error)
                return 0
            return 1

        return ffi().callback("rd_efforts", call), (), failures
