"""One run of the benchmark."""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.benchmark import others
from robot_dynamics.benchmark.arms import random_arm, robot
from robot_dynamics.benchmark.timing import Statement, median_times
from robot_dynamics.codegen.emit_lanes import lanes_source
from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.compiler import find_compiler

BATCH = 2048
Progress = Callable[[str], None]


@dataclass
class ArmTimes:
    """Times of one arm.

    Attributes:
        name: of the arm.
        joints: their number.
        operations: multiplications and additions of the generated inverse dynamics.
        seconds: median per state, by quantity and contender.
        left_out: why a contender is missing.
    """

    name: str
    joints: int
    operations: tuple[int, int]
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


@dataclass
class Results:
    """Everything that one run found out."""

    machine: dict[str, str]
    build_seconds: dict[str, float]
    arms: list[ArmTimes]

    def as_dict(self) -> dict[str, Any]:
        """For a JSON file."""
        return asdict(self)


def run_benchmark(joint_numbers: list[int], rounds: int, cpp: bool, progress: Progress) -> Results:
    """Time the package's robots and random arms with ``joint_numbers`` joints."""
    loop: others.PinocchioLoop | None = None
    missing = "not asked for"
    if cpp:
        try:
            loop = others.PinocchioLoop(progress)
        except (RobotDynamicsError, ImportError, OSError) as error:
            missing = str(error)
            progress(f"no C++ loop over Pinocchio: {missing}")
    chains = [robot("puma560"), robot("arm7"), *(random_arm(n) for n in joint_numbers)]
    arms = []
    for chain in chains:
        progress(f"{chain.name}: generating and compiling")
        quantities = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
        named = chain in chains[:2]
        dynamics = compile_dynamics(chain, quantities=quantities if named else quantities[:1])
        progress(f"{chain.name}: timing")
        arms.append(_time_arm(chain, dynamics, loop, missing, rounds, named))
    progress("arm7: timing generation, compilation and a cached load")
    return Results(_machine(), _build_times(chains[1]), arms)


def _time_arm(
    chain: KinematicChain,
    dynamics: CompiledDynamics,
    loop: others.PinocchioLoop | None,
    no_loop: str,
    rounds: int,
    all_quantities: bool,
) -> ArmTimes:
    count = dynamics.operation_count()
    times = ArmTimes(chain.name, chain.dof, (count.multiplications, count.additions))
    rng = np.random.default_rng(chain.dof)
    rows = rng.uniform(-1.0, 1.0, (3, BATCH, chain.dof))
    q, qd, qdd = (np.ascontiguousarray(array[0]) for array in rows)
    reference = dynamics.inverse_dynamics(*rows)
    ours = {"f": dynamics.inverse_dynamics, "q": q, "qd": qd, "x": qdd, "out": np.empty(chain.dof)}
    single = {
        "robot_dynamics": Statement("f(q, qd, x)", ours),
        "robot_dynamics, out=": Statement("f(q, qd, x, None, out)", ours),
    }
    batch_names = {"f": dynamics.inverse_dynamics, "a": rows, "out": np.empty_like(rows[0])}
    batch_names |= dict(zip(("q", "qd", "x"), rows, strict=True))
    batch = {"robot_dynamics": Statement("f(q, qd, x, None, out)", batch_names, BATCH)}

    def add(name: str, make: Callable[[], Statement], result: Callable[[Statement], Any]) -> None:
        try:
            statement = make()
            exec(statement.code, dict(statement.names))
            got = np.array([float(value) for value in result(statement)])
            error = np.abs(got - reference[0]).max() / np.abs(reference[0]).max()
            if error > 1e-9:
                raise RobotDynamicsError(f"its result differs by {error:.1e}")
            single[name] = statement
        except (ImportError, RobotDynamicsError, ValueError, TypeError, AttributeError) as problem:
            times.left_out[name] = str(problem)

    pinocchio: dict[str, Statement] = {}

    def pinocchio_rnea() -> Statement:
        pinocchio.update(others.pinocchio_statements(chain, q, qd, qdd))
        return pinocchio["inverse_dynamics"]

    add("Pinocchio", pinocchio_rnea, lambda s: s.names["data"].tau)
    add(
        "MuJoCo",
        lambda: others.mujoco_statement(chain, q, qd, qdd),
        lambda s: s.names["data"].qfrc_inverse,
    )
    add("PyKDL", lambda: others.pykdl_statement(chain, q, qd, qdd), lambda s: list(s.names["tau"]))
    if loop is None:
        times.left_out["Pinocchio, C++ loop"] = no_loop
    else:
        out = np.empty_like(reference)
        statement = loop.statement(chain, rows[0], rows[1], rows[2], out)
        exec(statement.code, dict(statement.names))
        if not np.allclose(out, reference, rtol=1e-9, atol=1e-9 * np.abs(reference).max()):
            raise RobotDynamicsError("the C++ loop over Pinocchio computes other efforts")
        batch["Pinocchio, C++ loop"] = statement
    timed = median_times(
        {**{f"single:{k}": v for k, v in single.items()}, **{f"batch:{k}": v for k, v in batch.items()}},
        rounds,
    )
    for key, value in timed.items():
        kind, name = key.split(":", 1)
        label = "inverse dynamics, one state" if kind == "single" else "inverse dynamics, batch"
        times.seconds.setdefault(label, {})[name] = value
    if all_quantities:
        for quantity in ("forward_dynamics", "mass_matrix"):
            names = {**ours, "f": getattr(dynamics, quantity)}
            code = "f(q, qd, x)" if quantity == "forward_dynamics" else "f(q)"
            pair = {"robot_dynamics": Statement(code, names)}
            if quantity in pinocchio:
                pair["Pinocchio"] = pinocchio[quantity]
            times.seconds[f"{quantity.replace('_', ' ')}, one state"] = median_times(pair, rounds)
    return times


_LOAD = """
import sys, time
import numpy, robot_dynamics
from robot_dynamics.benchmark.arms import robot
from robot_dynamics.dynamics import compiled
chain = robot(sys.argv[1])
start = time.perf_counter()
compiled.compile_dynamics(chain)
print(time.perf_counter() - start)
"""


def _build_times(chain: KinematicChain) -> dict[str, float]:
    """Seconds to generate and to compile the inverse dynamics, and to load it in a fresh process."""
    start = time.perf_counter()
    program = make_program(chain, np.array(others.GRAVITY), "inverse_dynamics")
    generated = time.perf_counter()
    times = {"generation": generated - start}
    try:
        compiler = find_compiler()
    except RobotDynamicsError:
        return times
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        compiler.compile(lanes_source(program), Path(folder) / "kernel.so", Path(folder))
        times["compilation"] = time.perf_counter() - start
    loads = []
    for _ in range(5):
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _LOAD, "arm7"], capture_output=True, text=True, check=True
        )
        loads.append(float(run.stdout))
    times["cached load"] = sorted(loads)[len(loads) // 2]
    return times


def _machine() -> dict[str, str]:
    versions = {"Python": platform.python_version(), "numpy": np.__version__}
    for name in ("pinocchio", "mujoco", "PyKDL"):
        try:
            versions[name] = str(getattr(__import__(name), "__version__", "?"))
        except ImportError:
            continue
    model = platform.processor() or platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        model = next(line.split(":")[1].strip() for line in text.splitlines() if "model name" in line)
    except (OSError, StopIteration):
        pass
    return {"CPU": model, **versions}
