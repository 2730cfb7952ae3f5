"""Random legal motion trips no rule of supervision: arms and platforms against MuJoCo.

    make sweep NAME=supervision                 ten minutes of each robot, rate and mass error: hours
    make sweep NAME=supervision SWEEP="--seconds 60 --robots ur5 panda --rates 125"

Seven arms and three platforms (2 kg, 25 kg, 2 t) with default gains, at 1 kHz, 500 and 125 Hz. The masses are
20 % lighter or heavier than the model's, the drives have the friction that is declared, encoders are noisy.
Trajectories go over the whole range, are replaced before their end, or held; there are streams of single
targets, and payloads that are picked up and declared. A motion is legal where the planner takes it and the
real robot's efforts are within its limits. Every trip is printed, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
from closed_loop import ArmLoop, Loop, PlatformLoop
from motion_base import platform_mappings

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.simulation.parameters import PlantParameters

ARMS = ("ur5", "panda", "puma", "ur3", "ur10", "xarm7", "kinova")
PLATFORMS = platform_mappings()
RATES = (125.0, 500.0, 1000.0)
SCALES = (0.8, 1.2)
NOISE = {"arm": (1e-5, 5e-3), "platform": (1e-6, 1e-3)}
"""Of measured positions and velocities [rad or m, rad/s or m/s]."""
FRICTION = 0.01
"""Dry friction, and viscous friction at the velocity limit, as shares of the effort limit."""
SPARE = 0.9
"""Share of the effort limits that a legal motion of the real robot takes at most."""
REACH = 0.8
"""Share of a joint's range, and of a revolution, that the motion takes."""


class Arm:
    """Random legal motion of one arm.

    Args:
        name: of the description.
        period: of the cycle [s].
        scale: of the real masses.
        draw: random numbers.
    """

    def __init__(self, name: str, period: float, scale: float, draw: np.random.Generator) -> None:
        self.draw, self.scale = draw, scale
        model = ArmLoop(name, None).chain
        limits = [model.driving_joint(j).limits for j in range(model.dof)]
        effort = np.array([limit.effort for limit in limits])
        speed = np.array([limit.velocity for limit in limits])
        drives = {"friction": tuple(FRICTION * effort), "damping": tuple(FRICTION * effort / speed)}
        self.most, self.speed = effort, speed
        low = np.array([max(limit.lower, -np.pi) for limit in limits])
        high = np.array([min(limit.upper, np.pi) for limit in limits])
        middle, half = 0.5 * (low + high), 0.5 * REACH * (high - low)
        self.low, self.high = middle - half, middle + half
        start = middle
        while not self._bears(ArmLoop(name, None).links, start, scale):
            start = self._place()
        self.loop = ArmLoop(name, start, declared=drives, real={**drives, "mass_scale": scale}, period=period)
        self.world = PlantParameters(**drives, mass_scale=scale)
        self.loop.run(1.2)

    def _place(self) -> np.ndarray:
        return self.draw.uniform(self.low, self.high)

    def _bears(self, links: Any, q: np.ndarray, factor: float) -> bool:
        rest = np.zeros(len(q))
        effort = np.abs(links.inverse_dynamics(q, rest, rest))
        return bool((effort * max(factor, 1.0) <= SPARE * self.most).all())

    def move(self) -> None:
        """One motion."""
        loop, draw = self.loop, self.draw
        kind = draw.uniform()
        if kind < 0.1:
            self._stream()
        elif kind < 0.15:
            self._carry()
        elif kind < 0.3:
            loop.control.hold()
            loop.run(0.6)
        else:
            self._trajectory()

    def _trajectory(self) -> None:
        loop, draw = self.loop, self.draw
        here = loop.plant.position
        near = here + draw.uniform(0.02, 1.0) * (self._place() - here)
        goal = np.clip(near, self.low, self.high)
        shortest = float((np.abs(goal - here) / self.speed).max()) * 1.875
        duration = max(0.3, shortest * draw.uniform(1.05, 3.0))
        try:
            control = loop.control
            points = [Waypoint(duration, tuple(goal.tolist()))]
            planned = control.plan(loop.chain.joint_names, points, control.plan_start(None), streamed=False)
        except RobotDynamicsError:
            return
        for moment in np.linspace(planned.trajectory.start, planned.trajectory.end, 40):
            at = planned.trajectory.sample(float(moment))
            effort = control.dynamics.inverse_dynamics(at.position, at.velocity, at.acceleration)
            if (np.abs(effort) * max(self.scale, 1.0) > SPARE * self.most).any():
                return
        if not control.accept(planned):
            loop.run(duration * draw.uniform(0.3, 1.3))

    def _stream(self) -> None:
        loop, draw = self.loop, self.draw
        middle, rate = loop.plant.position, draw.choice([20.0, 50.0])
        reach = draw.uniform(-0.1, 0.1, loop.chain.dof)
        for k in range(round(1.5 * rate)):
            goal = np.clip(middle + reach * np.sin(2.0 * np.pi * 0.5 * k / rate), self.low, self.high)
            try:
                loop.control.follow(loop.chain.joint_names, [Waypoint(0.1, tuple(goal.tolist()))])
            except RobotDynamicsError:
                return
            loop.run(1.0 / rate)
        loop.run(0.5)

    def _carry(self) -> None:
        """Pick something up at rest, and declare it."""
        loop, draw = self.loop, self.draw
        loop.control.hold()
        loop.run(1.0)
        mass = float(draw.choice([0.0, draw.uniform(0.01, 0.03) * self.most.max() / 9.81]))
        links = loop.links.with_payload(RigidBody(mass, np.zeros(3), np.zeros((3, 3))))
        if not self._bears(links, loop.plant.position, self.scale):
            return
        loop.plant.reconfigure(replace(self.world, payload_mass=mass))
        drives = ActuatorParameters(friction=self.world.friction, damping=self.world.damping)
        loop.control.change_model(ActuatedArm(links, loop.chain, drives))
        loop.run(2.0)


class Platform:
    """Random legal motion of one platform; arguments as of :class:`Arm`."""

    def __init__(self, name: str, period: float, scale: float, draw: np.random.Generator) -> None:
        self.draw, self.scale = draw, scale
        self.loop = PlatformLoop(PLATFORMS[name], world={"mass_scale": scale}, period=period)
        made = self.loop.platform.machine
        self.home, self.size = made.home_position, 0.1 * float(made.legs[0].limits.longest)
        self.loop.run(1.2)

    def move(self) -> None:
        """One motion."""
        loop, draw = self.loop, self.draw
        duration = draw.uniform(0.5, 2.0)
        angle = draw.uniform(-0.1, 0.1)
        turned = [0.0, 0.0, float(np.sin(angle / 2.0)), float(np.cos(angle / 2.0))]
        place = self.home + self.size * draw.uniform(-1.0, 1.0, 3)
        if draw.uniform() < 0.15:
            loop.control.hold()
            loop.run(0.6)
            return
        try:
            loop.control.follow([PoseWaypoint(duration, place, turned)])
        except RobotDynamicsError:
            return
        loop.run(draw.uniform(0.3, 1.3) * duration)


def legal_motion(
    make: Callable[..., Any], name: str, rate: float, scale: float, seconds: float, seed: int
) -> tuple[Loop, float]:
    """The loop after so many simulated seconds or the first trip, and the part of it that moved."""
    draw = np.random.default_rng(seed)
    robot = make(name, 1.0 / rate, scale, draw)
    loop: Loop = robot.loop
    place, speed = NOISE["platform" if name in PLATFORMS else "arm"]

    def measure(q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return q + place * draw.normal(size=len(q)), qd + speed * draw.normal(size=len(q))

    loop.measure = measure
    moving = seen = 0
    while loop.time < seconds and loop.trip is None:
        before = loop.time
        robot.move()
        if loop.time == before:
            loop.run(0.02)
        quick = np.abs(loop.velocities) > 0.01 * loop.limits
        moving += int(quick.any(axis=1).sum())
        seen += len(quick)
        for kept in (loop.times, loop.history, loop.phases):
            del kept[:-1]
    return loop, moving / max(seen, 1)


def main() -> int:
    """Run every robot; 1 where one has tripped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="simulated, for each run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--robots", nargs="+", choices=[*ARMS, *PLATFORMS], default=[*ARMS, *PLATFORMS])
    parser.add_argument("--rates", nargs="+", type=float, default=RATES, help="of states [Hz]")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    tripped = 0
    for rate in arguments.rates:
        for scale in SCALES:
            for name in arguments.robots:
                make, began = Platform if name in PLATFORMS else Arm, time.monotonic()
                loop, moved = legal_motion(make, name, rate, scale, arguments.seconds, arguments.seed)
                tripped += loop.trip is not None
                largest = {rule.name: round(rule.largest, 2) for rule in loop.control.rules()}
                print(
                    f"{name} {rate:g} Hz, mass {scale}, {loop.time:.0f} s, moving {moved:.0%}, faults"
                    f" {loop.faults}: {loop.line or 'no trip'}; largest {largest};"
                    f" took {time.monotonic() - began:.0f} s",
                    flush=True,
                )
    print(f"{tripped} trips")
    return int(tripped > 0)


if __name__ == "__main__":
    sys.exit(main())
