"""Cost of the generated model: operations beside the paper's, time beside a serial arm's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.codegen.program import CONVENTION, count_operations
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.compiled import compile_stewart, pack
from robot_dynamics.stewart.machine import JointFriction, Machine
from robot_dynamics.stewart.orientation import quaternion_from_rotation
from robot_dynamics.stewart.program import PUBLISHED, make_program

# The paper's ratio to the serial six-joint arm of Fu, Gonzalez and Lee: 4889 to 1454 operations.
PUBLISHED_RATIO = 3.36
# Large enough to hide the call, small enough for both models' states to stay in the cache.
BATCH = 1024


def operation_lines(machine: Machine) -> list[str]:
    """The paper's section 4.5 beside the generated program of ``machine``, as text."""
    with_friction = make_program(machine)
    smooth = [replace(leg, friction=JointFriction(0.0, 0.0, 0.0)) for leg in machine.legs]
    without = make_program(replace(machine, legs=tuple(smooth)))
    lines = [f"{'operations':<28}{'paper':>10}{'exact':>10}{'exact, with friction':>22}"]
    for name, published in PUBLISHED.items():
        label = "legs (all six)" if name == "legs" else name
        lines.append(
            f"{label:<28}{published:>10}{without.parts[name].total:>10}{with_friction.parts[name].total:>22}"
        )
    total = sum(PUBLISHED.values())
    lines.append(f"{'sum':<28}{total:>10}{without.count.total:>10}{with_friction.count.total:>22}")
    count = count_operations(with_friction.program)
    lines.append(
        f"with friction: {count.multiplications} multiplications, {count.additions} additions,"
        f" {count.divisions} divisions, {count.square_roots} square roots"
    )
    lines.append(
        "paper: Matlab's flops of the equations as they stand, friction not counted; here: rotation from the"
        f" quaternion and external wrench included; {CONVENTION}"
    )
    return lines


@dataclass(frozen=True)
class Timing:
    """Times of one call from Python and of one sample of a batch [s].

    Attributes:
        call: one call of the generated model.
        sample: one sample of a batch.
    """

    call: float
    sample: float


def timing_lines(machine: Machine, arms: Mapping[str, KinematicChain], rounds: int = 15) -> list[str]:
    """Time of the platform's generated model beside those of serial arms, as text."""
    platform, *others = measure(machine, tuple(arms.values()), rounds)
    lines = [
        f"platform: one call {platform.call * 1e6:.2f} µs, per sample of a batch of {BATCH}"
        f" {platform.sample * 1e9:.0f} ns"
    ]
    for name, arm in zip(arms, others, strict=True):
        lines.append(
            f"{name}: {arm.call * 1e6:.2f} µs and {arm.sample * 1e9:.0f} ns; the platform takes"
            f" {platform.call / arm.call:.2f} and {platform.sample / arm.sample:.2f} times as long"
            f" (the paper's operations: {PUBLISHED_RATIO} times those of a general arm)"
        )
    return lines


def measure(machine: Machine, arms: Sequence[KinematicChain], rounds: int = 15) -> list[Timing]:
    """Medians of interleaved rounds in this process, the platform's first; all compiled by one backend."""
    rng = np.random.default_rng(1)
    platform = compile_stewart(machine)
    motion = pack(
        machine.home_position,
        quaternion_from_rotation(machine.home_rotation),
        *(0.3 * rng.normal(size=3) for _ in range(6)),
    )
    motions, forces = np.tile(motion, (BATCH, 1)), np.empty((BATCH, 6))
    calls: list[tuple[Callable[[], object], int]] = [
        (lambda: platform.actuator_forces(motion), 2000),
        (lambda: platform.actuator_forces(motions, out=forces), 2),
    ]
    for chain in arms:
        one = rng.normal(size=(3, chain.dof))
        many = np.repeat(one[:, None], BATCH, axis=1)
        calls += _arm_calls(compile_dynamics(chain, friction=False).inverse_dynamics, one, many)
    times = np.array([[_duration(call, count) for call, count in calls] for _ in range(rounds)])
    medians = np.median(times, axis=0).reshape(-1, 2).tolist()
    return [Timing(call, batch / BATCH) for call, batch in medians]


def _arm_calls(
    function: Callable[..., object], one: Array, many: Array
) -> list[tuple[Callable[[], object], int]]:
    out = np.empty_like(many[0])
    q, qd, qdd = one
    qs, qds, qdds = many
    return [(lambda: function(q, qd, qdd), 2000), (lambda: function(qs, qds, qdds, out=out), 2)]


def _duration(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count
