"""Draws the animations of the site, ``docs/images/arm_moving.gif`` and ``push.gif``.

python docs/tools/draw_animation.py
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter

import robot_dynamics as rd
from robot_dynamics.resources import resource
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters

IMAGES = Path(__file__).resolve().parents[1] / "images"
SOURCE = resource("urdf/puma560.urdf")
LINKS = [f"link{number}" for number in range(1, 7)]
START = np.array([0.0, 0.8, 0.3, 0.0, 0.5, 0.0])
END = np.array([1.2, -0.3, 0.9, 0.8, -0.4, 0.5])
PERIOD, RATE = 4.0, 12
# Within the limits of the description, in front of the arm.
REST, GOAL = np.array([0.0, -0.5, 0.4, 0.0, 0.4, 0.0]), np.array([0.8, -0.9, 0.8, 0.5, -0.3, 0.3])
# Reflected inertia of the rotors, by Armstrong, Khatib and Burdick [kg m^2].
ROTORS = (1.14, 4.71, 0.827, 0.2, 0.179, 0.193)
PUSH, PUSHED = np.array([0.0, 0.0, -40.0]), (1.5, 2.5)


def motion(time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """There and back: position, velocity, acceleration."""
    rate = 2.0 * np.pi / PERIOD
    half = 0.5 * (END - START)
    return (
        START + half * (1.0 - np.cos(rate * time)),
        half * rate * np.sin(rate * time),
        half * rate**2 * np.cos(rate * time),
    )


def skeleton(dynamics: Any, positions: np.ndarray) -> np.ndarray:
    """(K, 7, 3) origins of the links, from the base on [m]."""
    places = np.array([dynamics.forward_kinematics(q, frames=LINKS)[:, :3, 3] for q in positions])
    return np.concatenate([np.zeros((len(positions), 1, 3)), places], axis=1)


def animate(name: str, points: np.ndarray, beside: Callable[[Any, Any], Callable[[int], None]]) -> None:
    """Write an animation with the arm at the left, and a plot at the right."""
    figure = plt.figure(figsize=(7.2, 3.6), layout="constrained")
    scene = figure.add_subplot(1, 2, 1, projection="3d")
    scene.set(xlim=(-0.7, 0.7), ylim=(-0.7, 0.7), zlim=(-0.2, 1.2), xlabel="x [m]", ylabel="y [m]")
    (arm,) = scene.plot([], [], [], "-o", color="#2b4a66", linewidth=4)
    plot = beside(scene, figure.add_subplot(1, 2, 2))

    def draw(frame: int) -> list[object]:
        arm.set_data_3d(*points[frame].T)
        plot(frame)
        return []

    path = IMAGES / name
    FuncAnimation(figure, draw, frames=len(points)).save(path, writer=PillowWriter(fps=RATE), dpi=80)
    plt.close(figure)
    print(f"wrote {path}")


def moving(chain: rd.KinematicChain, dynamics: Any) -> None:
    """An arm on a smooth motion, and the torques that it needs."""
    times = np.arange(0.0, PERIOD, 1.0 / RATE)
    states = [np.array(part) for part in zip(*map(motion, times), strict=True)]
    torques = dynamics.inverse_dynamics(*states)
    limits = np.array([joint.limits.effort for joint in chain.joints])

    def beside(_: Any, axes: Any) -> Callable[[int], None]:
        axes.set(ylim=(-100, 100), ylabel="torque [% of the limit]", title="PUMA 560")
        bars = axes.bar(chain.joint_names, np.zeros(chain.dof))

        def draw(frame: int) -> None:
            for bar, share in zip(bars, 100.0 * torques[frame] / limits, strict=True):
                bar.set_height(share)
                bar.set_color("#3a8a4d" if abs(share) < 50.0 else "#d9822b")

        return draw

    animate("arm_moving.gif", skeleton(dynamics, states[0]), beside)


def pushed(chain: rd.KinematicChain, dynamics: Any) -> None:
    """An arm in motion in MuJoCo, a push down on its tip, and the external torques that the observer sees."""
    plant = ArmPlant(SOURCE, parameters=PlantParameters(rotor_inertia=ROTORS))
    plant.reset(REST)
    drives = rd.ActuatorParameters(rotor_inertia=ROTORS)
    arm = rd.ActuatedArm(rd.compile_dynamics(chain, friction=False), chain, drives)
    controller = rd.ArmController(chain, arm, rd.ArmParameters(kp=(400.0,), kv=(40.0,)))
    period, shown = 0.002, round(1.0 / (0.002 * RATE))
    controller.update(0.0, plant.position, plant.velocity)
    controller.follow(chain.joint_names, [rd.Waypoint(PERIOD, GOAL)])
    positions, seen, true, times = [], [], [], []
    for cycle in range(round(PERIOD / period)):
        time = period * cycle
        here = plant.position.copy()
        turn = dynamics.forward_kinematics(here)[:3, :3]
        force = PUSH if PUSHED[0] <= time < PUSHED[1] else np.zeros(3)
        # The wrench is what the tip exerts, in its own axes.
        wrench = np.concatenate([-turn.T @ force, np.zeros(3)])
        plant.set_wrench(wrench)
        command = controller.update(time, here, plant.velocity)
        if cycle % shown == 0:
            times.append(time)
            positions.append(here)
            seen.append(controller.external.effort.copy())
            true.append(-dynamics.jacobian(here).T @ wrench)
        plant.advance(period, command.effort)
    points = skeleton(dynamics, np.array(positions))
    tip = points[:, -1]

    def beside(scene: Any, axes: Any) -> Callable[[int], None]:
        axes.set(xlim=(0, PERIOD), ylim=(-10, 20), xlabel="time [s]", ylabel="external torque [N·m]")
        axes.set_title("40 N down on the tip")
        lines = [axes.plot([], [], color=f"C{j}", label=f"joint{j + 1}")[0] for j in range(3)]
        for j in range(3):
            axes.plot(times, np.array(true)[:, j], ":", color=f"C{j}", linewidth=1)
        axes.legend(loc="upper left", title="observed; dotted: applied", fontsize=8, title_fontsize=8)
        (arrow,) = scene.plot([], [], [], color="#c0392b", linewidth=4)

        def draw(frame: int) -> None:
            for j, line in enumerate(lines):
                line.set_data(times[: frame + 1], np.array(seen)[: frame + 1, j])
            top = tip[frame] + np.array([0.0, 0.0, 0.4])
            acts = PUSHED[0] <= times[frame] < PUSHED[1]
            arrow.set_data_3d(*(np.array([top, tip[frame]]).T if acts else np.empty((3, 0))))

        return draw

    animate("push.gif", points, beside)


def main() -> None:
    """Write the pictures."""
    chain = rd.load_urdf(SOURCE)
    dynamics = rd.compile_dynamics(chain)
    moving(chain, dynamics)
    pushed(chain, dynamics)


if __name__ == "__main__":
    main()
