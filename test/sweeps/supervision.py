"""Random legal motion trips no rule of supervision: arms and platforms against MuJoCo, minutes of it.

    make sweep NAME=supervision SWEEP="--seconds 600"      of each robot at each rate and mass error

Every trip is printed with its robot; the exit code is 1 where any robot has tripped.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
from closed_loop import READY, ArmLoop, PlatformLoop

from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.errors import RobotDynamicsError

ARMS = {
    "ur5": READY,
    "panda": (0.0, -0.6, 0.0, -2.0, 0.0, 1.6, 0.5),
    "puma": (0.0, -0.5, 0.5, 0.0, 0.3, 0.0),
}
RATES = (125.0, 500.0)
SCALES = (0.8, 1.2)
NOISE, RATE_NOISE = 1e-5, 5e-3
"""Of measured positions and velocities [rad or m, rad/s or m/s]."""


def arm_moves(loop: ArmLoop, start: np.ndarray, seconds: float, draw: np.random.Generator) -> None:
    """Random trajectories near the start, some replaced in motion, some held."""
    loop.run(1.2)
    while loop.time < seconds and loop.trip is None:
        duration = draw.uniform(0.8, 3.0)
        try:
            loop.go(start + draw.uniform(-0.7, 0.7, len(start)), duration)
        except RobotDynamicsError:
            continue  # beyond a limit: not legal
        loop.run(draw.uniform(0.3, 1.3) * duration)
        if draw.uniform() < 0.2:
            loop.control.hold()
            loop.run(0.6)


def platform_moves(loop: PlatformLoop, seconds: float, draw: np.random.Generator) -> None:
    """Random trajectories around home."""
    home = loop.platform.machine.home_position
    loop.run(1.2)
    while loop.time < seconds and loop.trip is None:
        duration = draw.uniform(0.8, 2.0)
        angle = draw.uniform(-0.1, 0.1)
        turned = [0.0, 0.0, float(np.sin(angle / 2.0)), float(np.cos(angle / 2.0))]
        try:
            loop.control.follow([PoseWaypoint(duration, home + draw.uniform(-0.05, 0.05, 3), turned)])
        except RobotDynamicsError:
            continue
        loop.run(draw.uniform(0.3, 1.3) * duration)


def main() -> int:
    """Run every robot; 1 where one has tripped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="simulated, for each run")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    seconds, seed = arguments.seconds, arguments.seed
    warnings.simplefilter("ignore")
    draw, tripped = np.random.default_rng(seed), 0
    for rate in RATES:
        for scale in SCALES:
            for name, start in (*ARMS.items(), ("platform", ())):
                world = {"mass_scale": scale}
                loop = (
                    ArmLoop(name, start, real=world, period=1.0 / rate)
                    if start
                    else PlatformLoop(world=world, period=1.0 / rate)
                )
                loop.measure = lambda q, qd: (
                    q + NOISE * draw.normal(size=len(q)),
                    qd + RATE_NOISE * draw.normal(size=len(q)),
                )
                if isinstance(loop, ArmLoop):
                    arm_moves(loop, np.array(start), seconds, draw)
                else:
                    platform_moves(loop, seconds, draw)
                tripped += loop.trip is not None
                largest = {rule.name: round(rule.largest, 2) for rule in loop.control.rules()}
                print(
                    f"{name} {rate:g} Hz, mass {scale}: {loop.line or 'no trip'}; largest {largest}",
                    flush=True,
                )
    return int(tripped > 0)


if __name__ == "__main__":
    sys.exit(main())
