"""Plant small faults in the package, one at a time, and count those that the tests notice.

The tests of ``make test`` come first; what they do not notice is given to the long ones. A fault in a C
source meets the tests that reach its function, the shortest first.

    python test/mutation/run.py [--sample 100] [--seed 1] [--workers 2] [module, folder or module:line ...]

Faults are planted in copies of the repository; the repository itself is only read.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from concerning import tests_for
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome
from reach import Functions, Reached, measure, remembered
from sampling import CFault, Fault, mutants, sample, targets

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
    """What became of a mutant.

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


_REACHED: list[Reached] = []
"""Tests of this process's C faults, the shortest first."""


def enter_copy(folder: str, reached: Sequence[Reached]) -> None:
    """Give this process a copy of the repository of its own, and a cache of compiled code beside it."""
    copy = copy_into(folder)
    os.chdir(copy)
    os.environ.update(PYTHONPATH=str(copy), XDG_CACHE_HOME=str(copy.parent / "cache"), PYTHONHASHSEED="0")
    os.environ.pop("RD_REQUIRE", None)
    _REACHED[:] = sorted(reached, key=lambda test: test.seconds)


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


def survives_in_c(fault: CFault, run: str, patience: float) -> tuple[bool, str]:
    """As :func:`survives`; a fault that the compiler refuses is noticed."""
    text, line = fault.module_path.read_text(encoding="utf-8"), fault.start_pos[0] - 1
    planted = fault.planted(text)
    try:
        fault.module_path.write_text(planted, encoding="utf-8")
        outcome, _ = run_tests(run, patience)
    finally:
        fault.module_path.write_text(text, encoding="utf-8")
    change = f"    -{text.splitlines()[line]}\n    +{planted.splitlines()[line]}"
    return outcome is TestOutcome.SURVIVED, change


def survives(mutant: MutationSpec, run: str, patience: float) -> tuple[bool, str]:
    """True where the tests pass with the fault, beside the lines before and after."""
    result = mutate_and_test([mutant], run, patience)
    if result.worker_outcome is not WorkerOutcome.NORMAL:
        raise RuntimeError(f"{mutant} cannot be planted: {result.output}")
    lines = [line for line in (result.diff or "").splitlines() if line[:1] in "+-" and line[:3] not in MARKS]
    return not result.is_killed, "\n".join(f"    {line}" for line in lines)


def judge(given: tuple[Fault, int | None]) -> Verdict:
    """Plant a mutant in this process's copy, run the tests that concern it, and take it out again.

    Args:
        given: the mutant, and the number of the C function that it is in.
    """
    mutant, function = given
    module = mutant.module_path.relative_to(PACKAGE)
    tests = tests_for(module)
    operator = mutant.operator_name.removeprefix("core/").removeprefix("Replace")
    name = f"{module}:{mutant.start_pos[0]} {operator}"
    change = ""
    if isinstance(mutant, CFault):
        found = [test for test in _REACHED if test.may_reach(function)]
        listed = Path("tests.txt")
        listed.write_text("\n".join(test.name for test in found), encoding="utf-8")
        patience = COMPILING + SLOWER * sum(test.seconds for test in found)
        alive, change = survives_in_c(mutant, command([f"@{listed}"]), patience)
        return Verdict(name, not alive, change)
    for marks in STAGES:
        usual = usual_time(tests, marks)
        if usual is None:
            continue
        alive, change = survives(mutant, command(tests, marks), SLOWER * usual + 10.0)
        if not alive:
            return Verdict(name, True, change)
    return Verdict(name, False, change)


def reach_of(sources: Sequence[Path], functions: Functions, copy: Path, processes: int) -> list[Reached]:
    """Tests that concern C sources, and what each of them reaches."""
    tests = dict.fromkeys(test for source in sources for test in tests_for(source.relative_to(PACKAGE)))
    functions.mark(copy)
    began = time.monotonic()

    def run(some: Sequence[str]) -> list[Reached]:
        return measure(copy, some, OTHERS, processes)

    found = remembered(REPOSITORY / KEPT, REPOSITORY, sources, tuple(tests), run)
    print(f"{len(found)} tests with marks, in {time.monotonic() - began:.0f} s", flush=True)
    return found


MARKS = ("---", "+++")


def main(words: Sequence[str] | None = None) -> int:
    """Sample, judge, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("modules", nargs="*", default=PURE, help=f"default: {' '.join(PURE)}")
    parser.add_argument("--sample", type=int, default=100, help="number of mutants (100)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--workers", type=int, default=2, help="processes, each with a copy (2)")
    given = parser.parse_args(words)
    os.chdir(REPOSITORY)
    try:
        chosen = targets(given.modules or PURE, PACKAGE)
    except ValueError as error:
        parser.error(str(error))
    found = [m for target in chosen for m in mutants(target, REPOSITORY)]
    drawn = sample(found, given.sample, given.seed)
    print(f"{len(drawn)} mutants of {len(chosen)} modules, seed {given.seed}", flush=True)
    began, verdicts = time.monotonic(), []
    sources = sorted({mutant.module_path for mutant in found if isinstance(mutant, CFault)})
    functions = Functions(REPOSITORY, sources)
    with tempfile.TemporaryDirectory(prefix="robot_dynamics_mutation_", ignore_cleanup_errors=True) as folder:
        in_c = any(isinstance(mutant, CFault) for mutant in drawn)
        reached = reach_of(sources, functions, copy_into(folder), given.workers) if in_c else []
        start = (folder, reached)
        # Mutants with the same tests follow one another, so that few tests are timed in both copies.
        drawn.sort(key=lambda mutant: mutant.module_path)
        planted = [
            (m, functions.around(m.module_path, m.offset) if isinstance(m, CFault) else None) for m in drawn
        ]
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(given.workers, spawn, enter_copy, start) as workers:
            try:
                for verdict in workers.map(judge, planted):
                    print(f"{'killed  ' if verdict.noticed else 'SURVIVED'} {verdict.name}", flush=True)
                    verdicts.append(verdict)
            except BaseException:
                workers.shutdown(wait=False, cancel_futures=True)
                raise
    report(verdicts, time.monotonic() - began)
    return 0


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
