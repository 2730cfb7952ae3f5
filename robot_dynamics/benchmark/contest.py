"""Contenders that compute the efforts of one arm; all must agree before they are timed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from robot_dynamics.benchmark import others
from robot_dynamics.benchmark.timing import TimedStatement
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.library import shared_library
from robot_dynamics.native.prebuilt import joined_source

# Greatest difference of another library's efforts, relative to the greatest effort.
_SAME = 1e-9
# Calls of a kernel in one execution of its statement.
_REPEATS = 1000
LOOPS = {
    "inverse_dynamics_derivatives": "arm_rnea_derivatives",
    "forward_dynamics_derivatives": "arm_aba_derivatives",
}
"""Derivatives that are timed in batches, and the function of the C++ loop."""
RELATED = (*LOOPS, "momentum")
"""Quantities that are timed beside our own inverse dynamics."""


class Contest:
    """The contenders for one arm.

    Attributes:
        single: statements that evaluate one state, by contender.
        batch: statements that evaluate a batch of states, by contender.
        left_out: why a contender is missing.
    """

    def __init__(self, chain: KinematicChain, dynamics: CompiledDynamics, batch: int) -> None:
        """This package's own entries, at ``batch`` random states."""
        self.chain, self.dynamics = chain, dynamics
        self.left_out: dict[str, str] = {}
        self._rows = np.random.default_rng(chain.dof).uniform(-1.0, 1.0, (3, batch, chain.dof))
        q, qd, qdd = (np.ascontiguousarray(array[0]) for array in self._rows)
        self._state = q, qd, qdd
        self._reference = dynamics.inverse_dynamics(*self._rows)
        self._pinocchio: dict[str, TimedStatement] = {}
        function = dynamics.inverse_dynamics
        self._ours = {"f": function, "q": q, "qd": qd, "x": qdd, "out": np.empty(chain.dof)}
        self.single = {
            "robot_dynamics": TimedStatement("f(q, qd, x)", self._ours),
            "robot_dynamics, out=": TimedStatement("f(q, qd, x, None, out)", self._ours),
        }
        names: dict[str, Any] = {"f": function, "a": self._rows, "out": np.empty_like(self._rows[0])}
        names |= dict(zip(("q", "qd", "x"), self._rows, strict=True))
        self.batch = {"robot_dynamics": TimedStatement("f(q, qd, x, None, out)", names, batch)}

    def enter_libraries(self) -> None:
        """Pinocchio, MuJoCo and PyKDL, where they are installed and agree."""
        chain, state = self.chain, self._state

        def pinocchio() -> TimedStatement:
            self._pinocchio = others.pinocchio_statements(chain, *state)
            return self._pinocchio["inverse_dynamics"]

        self._enter("Pinocchio", pinocchio, lambda names: names["data"].tau)
        self._enter(
            "MuJoCo", lambda: others.mujoco_statement(chain, *state), lambda names: names["data"].qfrc_inverse
        )
        self._enter("PyKDL", lambda: others.pykdl_statement(chain, *state), lambda names: list(names["tau"]))

    def enter_loop(self, loop: others.PinocchioLoop) -> None:
        """A C++ loop over Pinocchio.

        Raises:
            RobotDynamicsError: it computes other efforts.
        """
        out = np.empty_like(self._reference)
        statement = loop.statement(self.chain, list(self._rows), [out])
        exec(statement.code, dict(statement.names))
        if not np.allclose(out, self._reference, rtol=_SAME, atol=_SAME * np.abs(self._reference).max()):
            raise RobotDynamicsError("the C++ loop over Pinocchio computes other efforts")
        self.batch["Pinocchio, C++ loop"] = statement

    def batch_pair(self, quantity: str, loop: others.PinocchioLoop | None) -> dict[str, TimedStatement]:
        """Statements of derivatives of a batch: ours and, where it takes part, the C++ loop's.

        Raises:
            RobotDynamicsError: the loop computes other derivatives.
        """
        count, n = self._rows[0].shape
        names: dict[str, Any] = {"f": getattr(self.dynamics, quantity)}
        names |= dict(zip(("q", "qd", "x"), self._rows, strict=True))
        names["out"] = tuple(np.empty((count, n, n)) for _ in range(3))
        pair = {"robot_dynamics": TimedStatement("f(q, qd, x, None, out)", names, count)}
        if loop is not None:
            theirs = [np.empty((count, n, n)) for _ in range(3)]
            statement = loop.statement(self.chain, list(self._rows), theirs, LOOPS[quantity])
            exec(statement.code, dict(statement.names))
            exec("f(q, qd, x, None, out)", dict(names))
            for got, ours in zip(theirs[:2], names["out"], strict=False):
                if not np.allclose(got, ours, rtol=_SAME, atol=_SAME * np.abs(ours).max()):
                    raise RobotDynamicsError(f"the C++ loop over Pinocchio computes other {quantity}")
            pair["Pinocchio, C++ loop"] = statement
        return pair

    def pair(self, quantity: str) -> dict[str, TimedStatement]:
        """Statements of another quantity at one state: ours and, where it takes part, Pinocchio's.

        Beside those of `RELATED` our own inverse dynamics take their turns too.
        """
        given = ", ".join(("q", "qd", "x")[: len(QUANTITIES[quantity].states)])
        code = f"f({given})"
        pair = {"robot_dynamics": TimedStatement(code, {**self._ours, "f": getattr(self.dynamics, quantity)})}
        if quantity in RELATED:
            shapes = self.dynamics.evaluator(quantity).signature.outputs
            out, wrench = tuple(map(np.empty, shapes)), ", None" if quantity in LOOPS else ""
            names = {**self._ours, "f": getattr(self.dynamics, quantity), "out": out}
            pair["robot_dynamics, out="] = TimedStatement(f"f({given}{wrench}, out)", names)
            pair["our inverse dynamics"] = self.single["robot_dynamics"]
            pair["our inverse dynamics, out="] = self.single["robot_dynamics, out="]
            if self.dynamics.backend == "c":
                pair["robot_dynamics, kernel"] = self._kernel(quantity)
                pair["our inverse dynamics, kernel"] = self._kernel("inverse_dynamics")
        for theirs, statement in self._pinocchio.items():
            if theirs.split(",")[0] == quantity:
                pair[theirs.replace(quantity, "Pinocchio")] = statement
        if quantity == "forward_kinematics" and self._pinocchio:
            self._compare_poses()
        return pair

    def _compare_poses(self) -> None:
        statement = self._pinocchio["forward_kinematics"]
        exec(statement.code, dict(statement.names))
        pose = statement.names["pose"].homogeneous @ self.chain.tip_transform
        if not np.allclose(pose, self.dynamics.forward_kinematics(self._state[0]), rtol=0.0, atol=_SAME):
            raise RobotDynamicsError("Pinocchio computes another pose of the tip")

    def _kernel(self, quantity: str) -> TimedStatement:
        """The compiled kernel of a quantity, called from C."""
        evaluator = self.dynamics.evaluator(quantity)
        kernel: Any = evaluator.kernel()
        shapes = evaluator.signature.outputs
        states = self._state[: len(QUANTITIES[quantity].states)]
        arrays = [*states, *evaluator.constants, *(np.empty(shape) for shape in shapes)]
        addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        given, places = addresses[: -len(shapes)], addresses[-len(shapes) :]
        source = joined_source("robot_dynamics.benchmark", ["kernel_loop.c"])
        repeat = ctypes.CDLL(str(shared_library(source, lambda: source))).repeat
        arguments = [
            ctypes.c_void_p(kernel.single_address),
            (ctypes.c_void_p * len(given))(*given),
            places[0] if len(places) == 1 else (ctypes.c_void_p * len(places))(*places),
            ctypes.c_long(_REPEATS),
        ]
        names = {"repeat": repeat, "arguments": arguments, "keep": arrays}
        return TimedStatement("repeat(*arguments)", names, _REPEATS)

    def _enter(
        self, name: str, make: Callable[[], TimedStatement], efforts: Callable[[Any], Iterable[Any]]
    ) -> None:
        try:
            statement = make()
            exec(statement.code, dict(statement.names))
            got = np.array([float(value) for value in efforts(statement.names)])
            error = np.abs(got - self._reference[0]).max() / np.abs(self._reference[0]).max()
            if error > _SAME:
                raise RobotDynamicsError(f"its result differs by {error:.1e}")
            self.single[name] = statement
        except (ImportError, RobotDynamicsError, ValueError, TypeError, AttributeError) as problem:
            self.left_out[name] = str(problem)
