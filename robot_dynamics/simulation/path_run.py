"""A path run by a controller on a simulated arm, to see which efforts it takes there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.control.arm.trajectory import Trajectory
from robot_dynamics.control.protocol import Planned
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.supervision import OFF
from robot_dynamics.dynamics.friction import PARAMETERS
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.spatial import Array

RATE = 1000.0
"""Rate of the control cycle [Hz]."""
_BEFORE = 1.0
"""Time at rest before the path, in which the controller's start is over [s]."""
_AFTER = 0.5
"""Time that is simulated after the path's end [s]."""
_STEP = 0.0005
_WHATEVER: dict[str, Any] = {
    "max_following_error": (OFF,),
    "overspeed": OFF,
    "oscillation": OFF,
    "max_effort_step": 2.0,
}
"""Parameters with which the controller stops for nothing, and efforts may step from limit to limit."""


@dataclass(frozen=True)
class PathRun:
    """Efforts and errors of a simulated run; rows are control cycles.

    Attributes:
        times: (N,) from the path's start [s].
        efforts: (N, n) applied [N·m or N].
        asked: (N, n) what the law asked for before the limits [N·m or N].
        errors: (N, n) reference less measured position [rad or m].
    """

    times: Array
    efforts: Array
    asked: Array
    errors: Array

    @property
    def saturated(self) -> int:
        """Number of control cycles in which the effort of a joint was cut."""
        return int((self.efforts != self.asked).any(axis=1).sum())

    def largest_share(self, limits: Array) -> float:
        """Largest effort that was asked for, as a share of its limit (n,)."""
        return float((np.abs(self.asked) / limits).max(initial=0.0))


def run_path(
    chain: KinematicChain,
    model: ActuatedArm,
    spline: QuinticSpline,
    loads: Mapping[str, PayloadParameters] | None = None,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> PathRun:
    """Let computed torque follow a path on MuJoCo's arm, which has the same masses, friction and rotors.

    The path is followed whatever it needs; efforts are cut at the description's limits.

    Args:
        chain: the arm without its payload.
        model: its inverse dynamics with payload and actuators.
        spline: the path.
        loads: payloads of tips, by their names.
        gravity: (3,) in the axes of the root link [m/s²].

    Raises:
        ModelError: the arm cannot be simulated.
        StateError: the simulation has diverged.
    """
    rows = {"rotor_inertia": model.drives.rotor_inertia}
    rows.update({name: getattr(model.drives.friction, name) for name in PARAMETERS})
    drives: dict[str, Any] = {
        name: tuple(np.broadcast_to(row, (chain.dof,)).tolist()) for name, row in rows.items()
    }
    world = PlantParameters(
        physics_timestep=_STEP,
        gravity=tuple(gravity),
        tip_payloads=dict(loads or {}),
        joint_limits=False,
        **drives,
    )
    plant = ArmPlant(chain, parameters=world)
    control = ArmController(chain, model, ArmParameters(**_WHATEVER))
    plant.reset(spline.sample(float(spline.times[0]))[0])
    period, settling = 1.0 / RATE, round(_BEFORE * RATE)
    for cycle in range(settling + 1):
        command = control.update(cycle * period, plant.position, plant.velocity)
        if cycle < settling:
            plant.advance(period, command.effort)
    plan_start = control.plan_start(None)
    begin = plan_start.start - float(spline.times[0])
    control.accept(
        Planned(Trajectory(QuinticSpline(spline.times + begin, spline.coefficients)), plan_start.epoch)
    )
    rows_of_run = []
    for cycle in range(int(np.ceil((spline.times[-1] - spline.times[0] + _AFTER) / period))):
        position = plant.position
        now = plan_start.now + cycle * period
        command = control.update(now, position, plant.velocity)
        # The command's own reference is that of the middle of the cycle.
        wanted = control.reference(now).position
        rows_of_run.append((command.effort, command.unlimited, wanted - position))
        plant.advance(period, command.effort)
    efforts, asked, errors = (np.array(rows, dtype=float) for rows in zip(*rows_of_run, strict=True))
    return PathRun(np.asarray(period * np.arange(len(efforts))), efforts, asked, errors)
