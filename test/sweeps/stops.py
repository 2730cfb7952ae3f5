"""Random legal sequences of trajectories, stops, blocked joints, changed gains and lost states, in MuJoCo.

    make sweep NAME=stops SWEEP="10 0"          for ten minutes, from seed 0 on

Each run asserts:

- no joint is faster than 1.05 of its limit, except while states are missing and for 0.3 s after;
- no effort steps by more than is declared, or by 0.2 of its limit in a stop;
- an arm that was asked to stop rests within the bound of stopping.c, and 0.3 s for the feedback: the bound
  is the time that a fifth of the deceleration takes from the speed limit;
- a platform's leg never comes nearer to its end stop than its path did;
- a robot that says that it holds its position has a reference at rest.
"""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.extend(str(Path(__file__).parents[1] / name) for name in ("control", "harness", "model"))

from stop_rigs import PANDA, UR5, ArmRig, PlatformRig

from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.errors import RobotDynamicsError

ARMS = (UR5, PANDA, "puma560")
MARGIN, SETTLING = 1.05, 0.3


class ArmSearch:
    """One arm under random sequences."""

    def __init__(self, name: str) -> None:
        self.rig = ArmRig(name)
        limits = self.rig.plant.limits
        self.lower = np.array([max(limit.lower, -2.5) for limit in limits]) + 0.1
        self.upper = np.array([min(limit.upper, 2.5) for limit in limits]) - 0.1

    def run(self, seed: int, duration: float) -> None:
        """Run a sequence; AssertionError for what must not be."""
        rig, random = self.rig, np.random.default_rng(seed)
        rig.plant.set_brakes(False)
        rig.plant.reset(random.uniform(self.lower, self.upper) * 0.5)
        rig.control.lost_states()
        rig.time, rig.log = rig.time + 1.0, []
        self._cycles(5)
        self.excused = rig.time + SETTLING
        begun = rig.time
        while rig.time < begun + duration:
            self._event(random)
            self._cycles(int(random.integers(5, 250)))

    def _event(self, random: np.random.Generator) -> None:
        rig, kind = self.rig, random.integers(8)
        if kind <= 2:
            goal = random.uniform(self.lower, self.upper)
            way = np.abs(goal - rig.plant.position)
            most = (1.875 * way / rig.speeds).max(), np.sqrt((5.8 * way / (10.0 * rig.speeds)).max())
            with contextlib.suppress(RobotDynamicsError):
                rig.go(goal - rig.plant.position, max(*most, 0.1) * random.uniform(1.0, 2.0))
        elif kind <= 4:
            (rig.control.hold if kind == 3 else rig.control.stop_at_once)()
            self._rests()
        elif kind == 5:
            rig.plant.set_brakes(True)
            self._cycles(int(random.integers(10, 150)))
            rig.plant.set_brakes(False)
        elif kind == 6:
            kp = float(random.uniform(40.0, 400.0))
            values = {"kp": (kp,), "kv": (2.0 * np.sqrt(kp),)}
            rig.control.parameters = replace(rig.control.parameters, **values)
        else:
            age, last = float(random.uniform(0.0, 0.03)), rig.command.effort
            for _ in range(round(age / rig.period)):
                rig.plant.advance(rig.period, last)
                rig.time += rig.period
            rig.control.lost_states(age)
            for k in range(int(random.integers(1, 4))):
                rig.plant.advance(0.01, rig.control.safe_command(0.01 * k).effort)
                rig.time += 0.01
            self.excused = rig.time + SETTLING
            rig.command = None
        trip = rig.control.trip
        if trip is not None and trip.latched:
            self._cycles(250)
            rig.control.reset_fault()

    def _rests(self) -> None:
        rig = self.rig
        allowed = 5.0 * 0.1 + SETTLING
        self._cycles(round(allowed / rig.period))
        speed = np.abs(rig.plant.velocity)
        assert (speed < 0.05 * rig.speeds).all(), f"it moves at {speed} {allowed} s after a stop"

    def _cycles(self, count: int) -> None:
        rig, limits = self.rig, self.rig.control.effort_limits
        for _ in range(count):
            before = rig.command
            rig.cycle()
            speed = np.abs(rig.plant.velocity) / rig.speeds
            if rig.time > getattr(self, "excused", np.inf):
                assert speed.max() < MARGIN, f"{speed.max():.2f} of the speed limit at {rig.time:.3f} s"
            if before is not None:
                step = np.abs(rig.command.effort - before.effort) / limits
                assert step.max() <= 1.0 + 1e-9, f"an effort stepped by {step.max():.2f} of its limit"
            if rig.command.phase is Phase.HOLDING:
                assert not rig.command.reference.velocity.any()


class PlatformSearch:
    """One platform under random sequences."""

    def __init__(self) -> None:
        from motion_base import motion_base

        self.rig = PlatformRig(motion_base())

    def run(self, seed: int, duration: float) -> None:
        """Run a sequence; AssertionError for what must not be."""
        rig, random = self.rig, np.random.default_rng(seed)
        rig.plant.set_brakes(False)
        rig.brakes = False
        rig.plant.reset(rig.plant.rest_position())
        rig.control = type(rig.control)(rig.platform, rig.control.parameters)
        rig.time, rig.log = 0.0, []
        rig.cycle(3)
        while rig.time < duration:
            kind = random.integers(6)
            if kind <= 2:
                place = rig.machine.home_position + random.uniform(-0.12, 0.12, 3)
                with contextlib.suppress(RobotDynamicsError):
                    rig.control.follow(
                        [PoseWaypoint(random.uniform(0.4, 1.2), place.tolist(), (0.0, 0.0, 0.0, 1.0))]
                    )
            elif kind == 3:
                rig.control.hold()
            elif kind == 4:
                rig.control.emergency_stop()
            else:
                rig.control.unpark()
            rig.cycle(int(random.integers(5, 250)))
            speeds = np.abs(rig.column(2)) / rig.speeds
            assert speeds.max() < MARGIN, f"{speeds.max():.2f} of a leg's speed limit"
            assert rig.gap() > 1e-3, f"a leg comes within {1e3 * rig.gap():.2f} mm of its end stop"
            rig.log.clear()


def searches() -> list[ArmSearch | PlatformSearch]:
    """All robots."""
    return [*(ArmSearch(name) for name in ARMS), PlatformSearch()]


def main() -> None:
    """Search for so many minutes."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    seed, end, finds = int(sys.argv[2]) if len(sys.argv) > 2 else 0, time.monotonic() + 60.0 * minutes, 0
    robots = searches()
    while time.monotonic() < end:
        for robot in robots:
            try:
                robot.run(seed, 6.0)
            except AssertionError as error:
                finds += 1
                name = getattr(robot.rig, "chain", robot.rig).__class__.__name__
                print(f"seed {seed}, {name} {robots.index(robot)}: {error}")
        seed += 1
    print(f"{finds} finds up to seed {seed - 1}")


if __name__ == "__main__":
    main()
