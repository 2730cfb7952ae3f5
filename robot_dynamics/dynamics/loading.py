"""From a chain to the kernels of its quantities: generated, compiled, cached."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from robot_dynamics.codegen.emit_lanes import lanes_source
from robot_dynamics.codegen.emit_python import python_module
from robot_dynamics.codegen.program import Program
from robot_dynamics.dynamics.evaluator import Kernel, PythonKernel
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.errors import BackendError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.cache import cached, content
from robot_dynamics.native.fingerprint import generator_fingerprint, model_fingerprint
from robot_dynamics.native.library import load_kernel
from robot_dynamics.spatial import Array

_LOG = logging.getLogger(__name__)


class KernelLoader:
    """Makes the kernels of one chain.

    Attributes:
        program: the program of (quantity, whether with a wrench), generated once.
    """

    def __init__(self, chain: KinematicChain, gravity: Array | None, backend: str) -> None:
        """Prepare without generating anything.

        Args:
            chain: the arm.
            gravity: (3,) gravity in the root frame [m/s²]; None makes it the kernels' last input.
            backend: "auto", "c" or "python".
        """
        self._chain = chain
        self._gravity = gravity
        self._backend = backend
        self.program: Callable[[str, bool], Program] = cache(partial(make_program, chain, gravity))

    def kernel(self, quantity: str, with_wrench: bool) -> Kernel:
        """The kernel of a quantity.

        Raises:
            BackendError: ``backend="c"`` and the compiler fails.
        """
        program = partial(self.program, quantity, with_wrench)
        constant = self._gravity is not None and QUANTITIES[quantity].takes_gravity
        model = model_fingerprint(self._chain, self._gravity if constant else None)
        live = self._gravity is None and QUANTITIES[quantity].takes_gravity
        key = f"{quantity} {with_wrench} {live} {model} {generator_fingerprint()}"
        if self._backend != "python":
            try:
                return load_kernel(key, lambda: lanes_source(program(), shared=("gravity",)))
            except BackendError as error:
                if self._backend == "c":
                    raise
                _notice(str(error))
        return _python_kernel(key, program)


@cache
def _notice(reason: str) -> None:
    """Say once that the slow way is taken."""
    _LOG.warning("generated Python is used, with the results of compiled code but slower: %s", reason)


def _python_kernel(key: str, program: Callable[[], Program]) -> PythonKernel:
    def build(target: Path, _folder: Path) -> None:
        text = python_module([replace(program(), name="kernel")], [])
        target.write_text(text, encoding="utf-8")

    path = cached(key, ".py", build)
    names: dict[str, Any] = {}
    exec(compile(content(path), str(path), "exec"), names)
    return PythonKernel(names["kernel"])
