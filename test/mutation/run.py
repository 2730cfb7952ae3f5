"""Plant small faults in the package, one at a time, and count those that the tests notice.

A fault meets the tests that reach its line, the shortest first; for C outside of the core these are the tests
of concerning.py. Those of equivalents.txt are not planted.

    python test/mutation/run.py [--sample 100] [--seed 1] [--workers 2] [module, folder or module:line ...]

Faults are planted in copies of the repository; the repository itself is only read.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import multiprocessing
import os
import queue
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from concerning import DRILLS, tests_for
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome
from objects import sources
from sampling import CFault, Fault, mutants, planted, sample, targets, told_of

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = Path("robot_dynamics")
LEFT_OUT = shutil.ignore_patterns(".*", "build", "install", "log", "__pycache__", "*.egg-info", "images")
PURE = ("codegen", "control", "model", "stewart", "parameters.py", "spatial.py")
SLOWER = 4.0
"""A mutant whose tests take so many times as long as without it hangs, and is noticed by that."""
COMPILING = 120.0
"""More for the compiler [s]."""
LONGEST = 900.0
"""For the tests without any fault [s]."""
OTHERS = "not ros and not browser and not whole"
STAGES = (f"not long and {OTHERS}", f"long and {OTHERS}")
"""Marks of the tests, those of ``make test`` first."""
KEPT = ".mutation_cache"
"""Folder of what tests reach."""
NO_TEST = 5
"""Exit code of pytest where no test has the marks."""


@dataclass(frozen=True)
class Verdict:
    """Outcome of a mutant.

    Attributes:
        name: module, line and operator.
        noticed: whether a test failed.
        change: the lines before and after.
    """

    name: str
    noticed: bool
    change: str


def copy_into(folder: str) -> Path:
    """A copy of the repository in a folder of its own."""
    copy = Path(tempfile.mkdtemp(dir=folder)) / "repository"
    shutil.copytree(REPOSITORY, copy, ignore=LEFT_OUT)
    return copy


def enter_copy(folder: str) -> None:
    """Give this process a copy of the repository of its own, and a cache of compiled code beside it."""
    copy = copy_into(folder)
    os.chdir(copy)
    os.environ.update(environment_in(copy))
    os.environ.pop("RD_REQUIRE", None)


def environment_in(copy: Path) -> dict[str, str]:
    """Variables for processes in a copy."""
    return {"PYTHONPATH": str(copy), "XDG_CACHE_HOME": str(copy.parent / "cache"), "PYTHONHASHSEED": "0"}


def command(tests: Iterable[str], marks: str = OTHERS) -> str:
    """Run tests with these marks until the first failure."""
    options = ("-x", "-q", "-p", "no:cacheprovider", "-m", marks)
    return shlex.join([sys.executable, "-m", "pytest", *options, *tests])


@functools.cache
def usual_time(tests: tuple[str, ...], marks: str) -> float | None:
    """Time of the tests without a fault [s]; None where none has these marks.

    Raises:
        RuntimeError: they fail, or take longer than LONGEST.
    """
    began = time.monotonic()
    run = shlex.split(command(tests, marks))
    try:
        done = subprocess.run(run, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(
            f"the tests take longer than {LONGEST:g} s without any fault: {shlex.join(run)}"
        ) from error
    if done.returncode not in (0, NO_TEST):
        raise RuntimeError(f"the tests fail without any fault: {shlex.join(run)}\n{done.stdout[-3000:]}")
    return time.monotonic() - began if done.returncode == 0 else None


def survives(fault: CFault, run: str, patience: float) -> tuple[bool, str]:
    """True where the tests pass with the fault, beside the lines before and after.

    A fault that the compiler refuses is noticed.
    """
    text, line = fault.module_path.read_text(encoding="utf-8"), fault.start_pos[0] - 1
    planted = fault.planted(text)
    try:
        fault.module_path.write_text(planted, encoding="utf-8")
        outcome, _ = run_tests(run, patience)
    finally:
        fault.module_path.write_text(text, encoding="utf-8")
    change = f"    -{text.splitlines()[line]}\n    +{planted.splitlines()[line]}"
    return outcome is TestOutcome.SURVIVED, change


def judge(mutant: CFault) -> Verdict:
    """Plant a mutant in this process's copy, run the tests that concern it, and take it out again."""
    module = mutant.module_path.relative_to(PACKAGE)
    tests = tests_for(module)
    name = f"{module}:{mutant.start_pos[0]} {mutant.operator_name}"
    change = ""
    for marks in STAGES:
        usual = usual_time(tests, marks)
        if usual is None:
            continue
        run, patience = command(tests, marks), SLOWER * usual + 10.0
        alive, change = survives(mutant, run, patience + COMPILING)
        if not alive:
            return Verdict(name, True, change)
    return Verdict(name, False, change)


class Forked:
    """A process that judges faults.

    Args:
        script: of it.
        copy: of the repository, for it alone.
        orders: what it shall do.
    """

    def __init__(self, script: str, copy: Path, orders: dict[str, Any]) -> None:
        environment = os.environ | environment_in(copy)
        environment["PYTHONPATH"] = os.pathsep.join((str(copy), str(copy / "test/mutation")))
        environment.pop("RD_REQUIRE", None)
        call = [sys.executable, str(copy / "test/mutation" / script)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(call, cwd=copy, env=environment, stdin=pipe, stdout=pipe, text=True)
        self._log = copy / "judge.log"
        self.send(orders)

    def send(self, message: Any) -> None:
        """Send a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def receive(self) -> Any:
        """Receive a line.

        Raises:
            RuntimeError: the process has ended.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"no fault was judged:\n{self._log.read_text()[-3000:]}")
        return json.loads(line)

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def judged(self, fault: Fault) -> Verdict:
        """Verdict on a fault."""
        line, _ = fault.start_pos
        given: dict[str, Any] = {"source": str(fault.module_path), "line": line}
        if isinstance(fault, CFault):
            given |= {"offset": fault.offset, "before": fault.before, "after": fault.after}
        else:
            given["text"] = planted(fault, REPOSITORY)
        self.send(given)
        got = self.receive()
        module = fault.module_path.relative_to(PACKAGE)
        name = f"{module}:{line} {fault.operator_name.removeprefix('core/').removeprefix('Replace')}"
        told = (
            f"    {told_of(fault, REPOSITORY)}\n    {got['tests']} tests, {got['seconds']:.0f} s, {got['by']}"
        )
        return Verdict(name, got["by"] is not None, told)


def tests_of_core(faults: Sequence[Fault]) -> list[str]:
    """Files of tests that concern faults of the core."""
    modules = dict.fromkeys(fault.module_path.relative_to(PACKAGE) for fault in faults)
    return list(dict.fromkeys(test for module in modules for test in tests_for(module)))


def tests_of_python() -> list[str]:
    """All files of tests; those of nodes have none with the marks."""
    found = Path("test").rglob("test_*.py")
    return sorted(
        path.as_posix() for path in found if not path.parts[1].startswith(("ros_", "drills", "fuzz"))
    )


def judge_in_forks(
    script: str, faults: Sequence[Fault], tests: Sequence[str], folder: str, given: argparse.Namespace
) -> Iterator[Verdict]:
    """Verdicts of processes that fork, as they come."""
    drills = [test for test in DRILLS if test in tests]
    processes = given.workers
    orders = {"tests": tests, "drills": drills, "processes": processes, "kept": str(REPOSITORY / KEPT)}
    orders |= {"marks": STAGES[0] if given.short else OTHERS, "longest": given.longest}
    workers = [Forked(script, copy_into(folder), orders | {"number": k}) for k in range(processes)]
    began = time.monotonic()
    for said in ("measured", None):
        for worker in workers:
            got = worker.receive()
            assert said is None or got == said, got
        if said is not None:
            for worker in workers:
                worker.send("go on")
    seconds = time.monotonic() - began
    print(f"{got['tests']} tests, measured in {seconds:.0f} s; not used: {got['silent']}", flush=True)
    waiting, done = list(faults), queue.SimpleQueue[Verdict | Exception | None]()

    def serve(worker: Forked) -> None:
        try:
            while waiting:
                done.put(worker.judged(waiting.pop(0)))
            done.put(None)
        except Exception as error:  # raised where it is read
            done.put(error)

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            verdict = done.get()
            if isinstance(verdict, Exception):
                raise verdict
            if verdict is None:
                running -= 1
            else:
                yield verdict
    finally:
        for worker in workers:
            worker.end()


def main(words: Sequence[str] | None = None) -> int:
    """Sample, judge, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("modules", nargs="*", default=PURE, help=f"default: {' '.join(PURE)}")
    parser.add_argument("--sample", type=int, default=100, help="number of mutants (100)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--workers", type=int, default=2, help="processes, each with a copy (2)")
    parser.add_argument("--short", action="store_true", help="the tests of make test alone")
    parser.add_argument("--longest", type=float, default=math.inf, help="of the core's tests [s] (all)")
    given = parser.parse_args(words)
    os.chdir(REPOSITORY)
    try:
        chosen = targets(given.modules or PURE, PACKAGE)
    except ValueError as error:
        parser.error(str(error))
    drawn = sample([m for target in chosen for m in mutants(target, REPOSITORY)], given.sample, given.seed)
    print(f"{len(drawn)} mutants of {len(chosen)} modules, seed {given.seed}", flush=True)
    began, verdicts = time.monotonic(), []
    core = set(sources(REPOSITORY))
    known = equivalents()
    wanted = [fault for fault in drawn if told_of(fault, REPOSITORY) not in known]
    in_python = [fault for fault in wanted if not isinstance(fault, CFault)]
    in_core = [fault for fault in wanted if fault.module_path in core]
    elsewhere = [fault for fault in wanted if isinstance(fault, CFault) and fault.module_path not in core]
    with tempfile.TemporaryDirectory(prefix="robot_dynamics_mutation_", ignore_cleanup_errors=True) as folder:
        # Mutants with the same tests follow one another, so that few tests are timed in both copies.
        elsewhere.sort(key=lambda mutant: mutant.module_path)
        verdicts_of = itertools.chain(
            judge_in_forks("forked.py", in_core, tests_of_core(in_core), folder, given) if in_core else (),
            judge_in_forks("afresh.py", in_python, tests_of_python(), folder, given) if in_python else (),
            judge_elsewhere(elsewhere, folder, given.workers),
        )
        for verdict in verdicts_of:
            print(
                f"{'killed  ' if verdict.noticed else 'SURVIVED'} {verdict.name}\n{verdict.change}",
                flush=True,
            )
            verdicts.append(verdict)
    report(verdicts, time.monotonic() - began)
    if len(wanted) < len(drawn):
        print(f"beside {len(drawn) - len(wanted)} that change nothing, by {EQUIVALENTS.name}")
    return 0


def judge_elsewhere(faults: Sequence[CFault], folder: str, processes: int) -> Iterator[Verdict]:
    """Verdicts on faults of C files outside of the core."""
    if not faults:
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawn, enter_copy, (folder,)) as workers:
        try:
            yield from workers.map(judge, faults)
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            raise


EQUIVALENTS = Path(__file__).with_name("equivalents.txt")


def equivalents() -> frozenset[str]:
    """Faults that change nothing, each as :func:`told_of`; the lines below each say why."""
    lines = EQUIVALENTS.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith((" ", "#")))


def report(verdicts: Sequence[Verdict], seconds: float) -> None:
    """Kill rates, in all and by module, and the survivors by name."""
    every = Counter(verdict.name.partition(":")[0] for verdict in verdicts)
    killed = Counter(verdict.name.partition(":")[0] for verdict in verdicts if verdict.noticed)
    print()
    for module, count in sorted(every.items()):
        print(f"{module:45s} {killed[module]:3d} of {count}")
    survivors = [verdict for verdict in verdicts if not verdict.noticed]
    if survivors:
        print("\nsurvivors:")
    for verdict in survivors:
        print(f"{verdict.name}\n{verdict.change}")
    share = killed.total() / max(1, len(verdicts))
    print(f"\n{killed.total()} of {len(verdicts)} mutants killed: {share:.0%}, in {seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
