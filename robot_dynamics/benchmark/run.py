"""One run of the benchmark."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from robot_dynamics.benchmark import others
from robot_dynamics.benchmark.arms import random_arm, robot
from robot_dynamics.benchmark.contest import LOOPS, Contest
from robot_dynamics.benchmark.timing import median_times
from robot_dynamics.codegen.emit_lanes import lanes_source
from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.compiler import find_compiler

BATCH = 2048
ONE_STATE = "inverse dynamics, one state"
A_BATCH = "inverse dynamics, batch"
# Quantities that are timed besides, for one state of the named arms.
ALSO_TIMED = (
    "forward_kinematics",
    "jacobian",
    "forward_dynamics",
    "mass_matrix",
    "regressor",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "momentum",
)
# Chains of so many joints show how long generating and compiling may take; these quantities of them.
LONG = 40
LONG_QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_mass_matrix")
# Processes that load the compiled inverse dynamics; the median of their times counts.
LOADS = 5
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
class BenchmarkResults:
    """Everything that one run found out.

    Attributes:
        machine: the CPU and the versions of what takes part.
        build_seconds: to generate, compile and load the inverse dynamics of a seven-joint arm.
        arms: times of the arms.
        first_uses: processor time to generate and compile quantities, by arm and quantity [s].
    """

    machine: dict[str, str]
    build_seconds: dict[str, float]
    arms: list[ArmTimes]
    first_uses: dict[str, dict[str, float]]


def run_benchmark(joint_numbers: list[int], rounds: int, cpp: bool, progress: Progress) -> BenchmarkResults:
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
        quantities = ("inverse_dynamics", *ALSO_TIMED)
        named = chain in chains[:2]
        dynamics = compile_dynamics(chain, quantities=quantities if named else quantities[:1], friction=False)
        progress(f"{chain.name}: timing")
        arms.append(_time_arm(chain, dynamics, loop, missing, rounds, named))
    progress("arm7: timing generation, compilation and a cached load")
    build_seconds = _build_times(chains[1])
    first_uses = {}
    wanted = [(chains[1], tuple(QUANTITIES)), *((c, LONG_QUANTITIES) for c in chains if c.dof >= LONG)]
    for chain, names in wanted:
        progress(f"{chain.name}: timing the first use of {len(names)} quantities")
        first_uses[chain.name] = {name: _first_use(chain, name) for name in names}
    return BenchmarkResults(_machine(), build_seconds, arms, first_uses)


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
    contest = Contest(chain, dynamics, BATCH)
    contest.enter_libraries()
    if loop is None:
        contest.left_out["Pinocchio, C++ loop"] = no_loop
    else:
        contest.enter_loop(loop)
    times.left_out = contest.left_out
    timed = median_times(
        {(ONE_STATE, name): statement for name, statement in contest.single.items()}
        | {(A_BATCH, name): statement for name, statement in contest.batch.items()},
        rounds,
    )
    for (label, name), seconds in timed.items():
        times.seconds.setdefault(label, {})[name] = seconds
    if all_quantities:
        for quantity in ALSO_TIMED:
            label = f"{quantity.replace('_', ' ')}, one state"
            times.seconds[label] = median_times(contest.pair(quantity), rounds)
        for quantity in LOOPS:
            label = f"{quantity.replace('_', ' ')}, batch"
            times.seconds[label] = median_times(contest.batch_pair(quantity, loop), rounds)
    return times


_LOAD = """
import sys, time
import numpy, robot_dynamics
from robot_dynamics.benchmark.arms import robot
from robot_dynamics.dynamics import compiled
chain = robot(sys.argv[1])
start = time.perf_counter()
compiled.compile_dynamics(chain, friction=False)
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
    for _ in range(LOADS):
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _LOAD, "arm7"], capture_output=True, text=True, check=True
        )
        loads.append(float(run.stdout))
    times["cached load"] = sorted(loads)[len(loads) // 2]
    return times


def _first_use(chain: KinematicChain, quantity: str) -> float:
    """Processor time to generate and compile a quantity, that of the compiler included [s]."""
    start = _processor_time()
    program = make_program(chain, np.array(others.GRAVITY), quantity)
    with tempfile.TemporaryDirectory() as folder:
        find_compiler().compile(lanes_source(program), Path(folder) / "kernel.so", Path(folder))
    return _processor_time() - start


def _processor_time() -> float:
    """Of this process and of those that it waited for [s]."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


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
