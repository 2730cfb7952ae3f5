"""Contacts in fast motion: none where nothing touches the arm, and every push that is large enough.

    make sweep NAME=contacts               ten minutes of motion of each arm: two minutes of processor time
    make sweep NAME=contacts SWEEP="--seconds 60 --robots ur5"

The arms move at random at up to 0.9 of their velocity limits. Real friction is 30 % more or less than
declared, in turns, positions have the steps of encoders with 17 bits, and velocities are their differences.
Every alarm of the rule `contact` is printed. Then random forces and torques push random links in motion for
3/observer_gain. A push counts where a joint feels more than twice its threshold for that time, the force of
its position stop included; every one that is missed is printed. Some pushes drive a joint beyond its velocity
limit, which is a protective stop: the next push meets a new arm. The exit code is 1 where anything is printed
as an alarm or as missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import mujoco
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
from closed_loop import READY, ArmLoop

from robot_dynamics.control.arm.parameters import position_limits
from robot_dynamics.errors import TrajectoryError

STEPS = 2.0 * np.pi / 2**17
STARTS = {"ur5": READY, "ur10": READY, "panda": (0.1, -0.6, 0.2, -2.2, 0.1, 1.7, 0.6)}
FAST = 0.9
"""Peak speed of a motion as a share of the velocity limits."""
REACH = 0.9
"""Way of a joint from its start at most [rad]."""
SHARE = 0.02
"""Dry friction as a share of the effort limit; viscous friction at half the velocity limit likewise."""
SWITCH = 20.0
"""Time between two sets of friction [s]."""
BEGINNING = 1.2
"""Time in which an arm that begins is not pushed: rules of the first second do not take a push [s]."""


class Touched(ArmLoop):
    """An arm in random motion with encoders, whose real friction differs.

    Args:
        robot: short name.
        drift: factor on the real friction.
        seed: of the motion.
        period: of the cycle [s].
    """

    def __init__(self, robot: str, drift: float, seed: int, period: float = 0.002) -> None:
        probe = ArmLoop(robot, STARTS[robot])
        efforts = np.array([probe.chain.driving_joint(j).limits.effort for j in range(probe.chain.dof)])
        friction = {"friction": SHARE * efforts, "damping": SHARE * efforts / (0.5 * probe.limits)}
        declared = {name: tuple(values.tolist()) for name, values in friction.items()}
        real = {name: tuple((drift * values).tolist()) for name, values in friction.items()}
        gains = {"kp": (400.0,), "kv": (40.0,), "on_contact": "report", "supervision": "observe"}
        super().__init__(robot, STARTS[robot], declared=declared, real=real, period=period, **gains)
        self.draw, self.start = np.random.default_rng(seed), np.array(STARTS[robot])
        self.places: list[np.ndarray] = []
        self.measure = self.encode
        self.push: tuple[int, np.ndarray] | None = None

    def encode(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions in steps, and their differences."""
        self.places = [*self.places[-1:], STEPS * np.round(q / STEPS)]
        return self.places[-1], (self.places[-1] - self.places[0]) / self.period

    def step(self) -> None:
        """One cycle; a motion follows on the last one."""
        if self.control.state == "holding position":
            goal = self.start + self.draw.uniform(-REACH, REACH, self.chain.dof)
            lower, upper = position_limits(self.chain)
            goal = np.clip(goal, lower + 0.05, upper - 0.05)
            way = np.abs(goal - self.plant.position)
            duration = float(np.max(1.875 * way / (FAST * self.limits))) + 0.05
            try:
                self.go(goal, duration)
            except TrajectoryError:  # it still moves from the motion before
                self.go(goal, 1.3 * duration)
        data = self.plant._data
        data.xfrc_applied[:] = 0.0
        if self.push is not None:
            data.xfrc_applied[self.push[0]] = self.push[1]
        super().step()

    def felt(self) -> np.ndarray:
        """(n,) efforts of the push and of position stops on the joints."""
        assert self.push is not None
        model, data = self.plant._built.model, self.plant._data
        mujoco.mj_forward(model, data)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBodyCom(model, data, linear, angular, self.push[0])
        found: np.ndarray = linear.T @ self.push[1][:3] + angular.T @ self.push[1][3:]
        stops = np.flatnonzero(data.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT)
        found += data.efc_force[stops] @ data.efc_J.reshape(-1, model.nv)[stops]
        return found[self.plant._built.drivers]


def free_motion(robot: str, seconds: float) -> int:
    """Alarms in free motion, printed."""
    alarms, largest = 0, 0.0
    for k in range(max(1, round(seconds / SWITCH))):
        drift = 1.3 if k % 2 == 0 else 0.7
        loop = Touched(robot, drift, k)
        for _ in range(round(min(SWITCH, seconds) / loop.period)):
            loop.step()
            external = loop.control.external
            largest = max(largest, float((np.abs(external.effort) / external.threshold).max()))
        rule = next(one for one in loop.control.rules() if one.name == "contact")
        if rule.largest > 1.0:
            alarms += 1
            print(f"{robot}: friction x {drift:g}, seed {k}: {loop.line}")
        loop.history.clear()
    print(f"{robot}: {seconds:g} s of motion, {alarms} alarms, largest share of a threshold {largest:.2f}")
    return alarms


def pushes(robot: str, number: int) -> int:
    """Pushes that are missed, printed."""
    arms, loop, missed, counted, moving = 1, Touched(robot, 1.3, 99), 0, 0, 0
    while counted < number:
        if loop.trip is not None and loop.trip.stops:
            loop, arms = Touched(robot, 1.3, 99 + arms), arms + 1
        for _ in range(round((0.3 if loop.cycle else BEGINNING) / loop.period)):
            loop.step()
        body = int(loop.draw.integers(2, loop.plant._built.model.nbody))
        force = (
            loop.draw.normal(0.0, 1.0, 6)
            * (1.0, 1.0, 1.0, 0.1, 0.1, 0.1)
            * 10.0 ** loop.draw.uniform(1.0, 2.5)
        )
        loop.push, found, least = (body, force), False, np.full(loop.chain.dof, np.inf)
        speed = float((np.abs(loop.plant.velocity) / loop.limits).max())
        for _ in range(round(3.0 / loop.control.parameters.observer_gain / loop.period)):
            before = loop.felt()
            loop.step()
            external = loop.control.external
            least = np.minimum(least, np.abs(before) / external.threshold)
            found |= bool(external.contact.any())
        loop.push = None
        if least.max() > 2.0:
            counted += 1
            moving += speed > 0.1
            if not found:
                missed += 1
                print(f"{robot}: a push of {least.max():.2f} thresholds on body {body} was missed")
    print(
        f"{robot}: {counted} pushes of more than twice a threshold, {moving} of them on an arm that moves,"
        f" {missed} missed, {arms} arms"
    )
    return missed


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="of motion of each arm")
    parser.add_argument("--pushes", type=int, default=200, help="of each arm")
    parser.add_argument("--robots", nargs="+", choices=tuple(STARTS), default=["ur5", "panda"])
    arguments = parser.parse_args()
    bad = sum(
        free_motion(robot, arguments.seconds) + pushes(robot, arguments.pushes) for robot in arguments.robots
    )
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
