"""What the generated model costs: operations beside the paper's, time beside a serial arm's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.codegen.program import CONVENTION, count_operations
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.model.load import load_urdf
from robot_dynamics.resources import resource
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
    """Times of one call from Python and of one sample of a batch, each [s].

    Attributes:
        platform: one call of the platform's generated model.
        arm: one call of the generated model of a six-joint arm (PUMA 560).
        platform_sample: one sample of a batch of the platform's.
        arm_sample: one sample of a batch of the arm's.
    """

    platform: float
    arm: float
    platform_sample: float
    arm_sample: float

    @property
    def lines(self) -> list[str]:
        """The times and their ratios as text."""
        return [
            f"one call: platform {self.platform * 1e6:.2f} µs, PUMA 560 {self.arm * 1e6:.2f} µs, ratio"
            f" {self.platform / self.arm:.2f} (the paper's operations: {PUBLISHED_RATIO})",
            f"per sample of a batch of {BATCH}: platform {self.platform_sample * 1e9:.0f} ns, PUMA 560"
            f" {self.arm_sample * 1e9:.0f} ns, ratio {self.platform_sample / self.arm_sample:.2f}",
        ]


def measure(machine: Machine, rounds: int = 15) -> Timing:
    """Medians of interleaved rounds in this process; both models compiled by the same backend."""
    platform = compile_stewart(machine)
    arm = compile_dynamics(load_urdf(resource("urdf/puma560.urdf")))
    rng = np.random.default_rng(1)
    motion = pack(
        machine.home_position,
        quaternion_from_rotation(machine.home_rotation),
        *(0.3 * rng.normal(size=3) for _ in range(6)),
    )
    motions, forces = np.tile(motion, (BATCH, 1)), np.empty((BATCH, 6))
    joints = rng.normal(size=(3, 6))
    states = [np.tile(values, (BATCH, 1)) for values in joints]
    q, qd, qdd = joints
    qs, qds, qdds = states
    torques = np.empty((BATCH, 6))
    calls: list[tuple[Callable[[], object], int]] = [
        (lambda: platform.actuator_forces(motion), 2000),
        (lambda: arm.inverse_dynamics(q, qd, qdd), 2000),
        (lambda: platform.actuator_forces(motions, out=forces), 2),
        (lambda: arm.inverse_dynamics(qs, qds, qdds, out=torques), 2),
    ]
    times = np.array([[_duration(call, count) for call, count in calls] for _ in range(rounds)])
    one, arm_one, batch, arm_batch = (float(value) for value in np.median(times, axis=0))
    return Timing(one, arm_one, batch / BATCH, arm_batch / BATCH)


def _duration(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count
