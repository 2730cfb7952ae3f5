"""Dynamics on array libraries: ours under JAX and PyTorch beside frax and MJX, in float64 on the CPU."""

from __future__ import annotations

import importlib
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.benchmark.arms import along_z
from robot_dynamics.benchmark.others import GRAVITY, mujoco_model
from robot_dynamics.benchmark.timing import TimedStatement, median_times
from robot_dynamics.dynamics.array_dynamics import CPU_OPTIONS
from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.load import load_urdf
from robot_dynamics.spatial import Array

NAMES = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
BATCHES = (1, 256, 4096)
OURS = "robot_dynamics, JAX"
# Greatest difference from the compiled kernels, relative to the greatest entry.
_SAME = 1e-9
Function = Callable[..., Any]


@dataclass(frozen=True)
class ArrayTimes:
    """Times of one quantity on one library.

    Attributes:
        seconds: processor time of a state, by number of states [s].
        first: processor time of the first call, by number of states [s]: tracing, compiling and generating.
    """

    seconds: dict[int, float]
    first: dict[int, float]


Results = dict[str, dict[str, ArrayTimes]]
"""By quantity and contender."""


def compare(file: Path, rounds: int, progress: Callable[[str], None]) -> tuple[KinematicChain, Results]:
    """Time the quantities of one description's whole tree in batches; contenders take turns.

    Raises:
        RobotDynamicsError: a contender of ours computes something else than the compiled kernels.
    """
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    chain = load_urdf(file, tips="all")
    right = compile_dynamics(chain, GRAVITY, friction=False)
    results: Results = {name: {} for name in NAMES}
    statements: dict[tuple[str, str, int], TimedStatement] = {}
    first: dict[tuple[str, str, int], float] = {}
    for contender, functions in _contenders(chain, file, progress):
        for name in NAMES:
            function = functions[name]
            for batch in BATCHES:
                states = _states(chain, name, batch)
                arrays = [_of(contender, state) for state in states]
                progress(f"{chain.name}: {contender}: {name} of {batch} states")
                start = time.process_time()
                found = np.asarray(function(*arrays))
                first[name, contender, batch] = time.process_time() - start
                _check(right, contender, name, states, found)
                names = {"f": function, "a": arrays, "wait": getattr(jax, "block_until_ready", None)}
                code = "f(*a)" if "PyTorch" in contender else "wait(f(*a))"
                statements[name, contender, batch] = TimedStatement(code, names, batch)
    progress(f"{chain.name}: timing")
    times = median_times(statements, rounds, time.process_time)
    for name, contender in dict.fromkeys(key[:2] for key in statements):
        results[name][contender] = ArrayTimes(
            *({batch: found[name, contender, batch] for batch in BATCHES} for found in (times, first))
        )
    return chain, results


def table(results: Results) -> str:
    """The times as a table in Markdown."""
    contenders = list(dict.fromkeys(name for times in results.values() for name in times))
    lines = [
        "| µs a state (times ours), first call [s] | states | " + " | ".join(contenders) + " |",
        "|---|---:|" + "---:|" * len(contenders),
    ]
    for quantity, times in results.items():
        for batch in BATCHES:
            cells = []
            for name in contenders:
                found, ours = times.get(name), times[OURS].seconds[batch]
                cells.append("-")
                if found is not None:
                    ratio = "" if name == OURS else f" ({found.seconds[batch] / ours:.1f})"
                    cells[-1] = f"{1e6 * found.seconds[batch]:.3g}{ratio}, {found.first[batch]:.1f}"
            lines.append(f"| {quantity.replace('_', ' ')} | {batch} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _states(chain: KinematicChain, name: str, batch: int) -> Array:
    count = len(QUANTITIES[name].states)
    return np.random.default_rng(0).uniform(-1.0, 1.0, (3, batch, chain.dof))[:count]


def _of(contender: str, state: Array) -> Any:
    if "PyTorch" in contender:
        return importlib.import_module("torch").as_tensor(state)
    return importlib.import_module("jax.numpy").asarray(state)


def _check(right: CompiledDynamics, contender: str, name: str, states: Array, found: Array) -> None:
    expected = getattr(right, name)(*states)
    if not np.allclose(found, expected, rtol=0.0, atol=_SAME * np.abs(expected).max()):
        raise RobotDynamicsError(f"{contender} computes another {name}")


def _contenders(
    chain: KinematicChain, file: Path, progress: Callable[[str], None]
) -> Iterator[tuple[str, dict[str, Function]]]:
    """Contenders that are installed and know the robot, each with its functions of arrays of states."""
    makers: dict[str, Callable[[], dict[str, Function]]] = {
        OURS: lambda: _our_functions(chain, "jax"),
        "robot_dynamics, PyTorch": lambda: _our_functions(chain, "torch"),
        "frax": lambda: _frax(chain, file),
        "MJX": lambda: _mjx(chain),
    }
    for name, make in makers.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield name, make()
        except (ImportError, RobotDynamicsError, ValueError, KeyError, AssertionError) as problem:
            if name == OURS:
                raise
            progress(f"{chain.name}: left out: {name}: {problem}")


def _our_functions(chain: KinematicChain, backend: str) -> dict[str, Function]:
    arm: Any = compile_dynamics(chain, GRAVITY, backend=backend, friction=False)
    return {name: getattr(arm, name) for name in NAMES}


def _frax(chain: KinematicChain, file: Path) -> dict[str, Function]:
    """frax's algorithms for one state, over the first axis, compiled as JAX compiles by default."""
    jax, numpy = importlib.import_module("jax"), importlib.import_module("jax.numpy")
    robot = importlib.import_module("frax.core.robot").Robot(str(file))
    if tuple(robot.joint_names) != tuple(chain.joint_names):
        raise RobotDynamicsError(f"it has {len(robot.joint_names)} joints, or another order")
    gravity = numpy.array([*(-value for value in GRAVITY), 0.0, 0.0, 0.0])
    single: dict[str, Function] = {
        "inverse_dynamics": lambda q, qd, qdd: robot.rnea(q, qd, qdd, gravity, None),
        "forward_dynamics": lambda q, qd, tau: robot.forward_dynamics(q, qd, tau, None),
        "mass_matrix": robot.crba,
    }
    return {name: jax.jit(jax.vmap(function)) for name, function in single.items()}


def _mjx(chain: KinematicChain) -> dict[str, Function]:
    """MJX's functions that each quantity needs: without contacts, sensors or actuators.

    Compiled with our options: with XLA's fusion a state takes hundreds of times as long.
    """
    logging.getLogger("mujoco").setLevel(logging.ERROR)
    jax, mjx = importlib.import_module("jax"), importlib.import_module("mujoco.mjx")
    if len(chain.tips) != 1:
        raise RobotDynamicsError("its model is made for chains here")
    model = mjx.put_model(mujoco_model(along_z(chain)))
    rest = mjx.make_data(model)

    def placed(q: Any) -> Any:
        return mjx.com_pos(model, mjx.kinematics(model, rest.replace(qpos=q)))

    def inverse_dynamics(q: Any, qd: Any, qdd: Any) -> Any:
        moving = mjx.com_vel(model, placed(q).replace(qvel=qd, qacc=qdd))
        return mjx.rne(model, moving, flg_acc=True).qfrc_bias

    def forward_dynamics(q: Any, qd: Any, tau: Any) -> Any:
        data = mjx.factor_m(model, mjx.crb(model, placed(q).replace(qvel=qd, qfrc_applied=tau)))
        return mjx.fwd_acceleration(model, mjx.rne(model, mjx.com_vel(model, data))).qacc_smooth

    def mass_matrix(q: Any) -> Any:
        return mjx.full_m(model, mjx.crb(model, placed(q)))

    return {
        function.__name__: jax.jit(jax.vmap(function), compiler_options=CPU_OPTIONS)
        for function in (inverse_dynamics, forward_dynamics, mass_matrix)
    }
