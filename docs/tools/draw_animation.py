"""Draws ``docs/images/arm_moving.gif``: an arm on a smooth motion, and the torques that it needs.

python docs/tools/draw_animation.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter

import robot_dynamics as rd
from robot_dynamics.resources import resource

IMAGE = Path(__file__).resolve().parents[1] / "images/arm_moving.gif"
START = np.array([0.0, 0.8, 0.3, 0.0, 0.5, 0.0])
END = np.array([1.2, -0.3, 0.9, 0.8, -0.4, 0.5])
PERIOD, RATE = 4.0, 12


def motion(time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """There and back: position, velocity, acceleration."""
    rate = 2.0 * np.pi / PERIOD
    half = 0.5 * (END - START)
    return (
        START + half * (1.0 - np.cos(rate * time)),
        half * rate * np.sin(rate * time),
        half * rate**2 * np.cos(rate * time),
    )


def main() -> None:
    """Write the picture."""
    chain = rd.load_urdf(resource("urdf/puma560.urdf"))
    dynamics = rd.compile_dynamics(chain)
    times = np.arange(0.0, PERIOD, 1.0 / RATE)
    states = [np.array(part) for part in zip(*map(motion, times), strict=True)]
    torques = dynamics.inverse_dynamics(*states)
    limits = np.array([joint.limits.effort for joint in chain.joints])
    links = [f"link{number}" for number in range(1, 7)]
    places = np.array([dynamics.forward_kinematics(q, frames=links)[:, :3, 3] for q in states[0]])
    points = np.concatenate([np.zeros((len(times), 1, 3)), places], axis=1)

    figure = plt.figure(figsize=(7.2, 3.6), layout="constrained")
    scene = figure.add_subplot(1, 2, 1, projection="3d")
    scene.set(xlim=(-0.7, 0.7), ylim=(-0.7, 0.7), zlim=(-0.2, 1.2), xlabel="x [m]", ylabel="y [m]")
    (arm,) = scene.plot([], [], [], "-o", color="#2b4a66", linewidth=4)
    bars_axes = figure.add_subplot(1, 2, 2)
    bars_axes.set(ylim=(-100, 100), ylabel="torque [% of the limit]", title="PUMA 560")
    bars = bars_axes.bar(chain.joint_names, np.zeros(chain.dof))

    def draw(frame: int) -> list[object]:
        arm.set_data_3d(*points[frame].T)
        for bar, share in zip(bars, 100.0 * torques[frame] / limits, strict=True):
            bar.set_height(share)
            bar.set_color("#3a8a4d" if abs(share) < 50.0 else "#d9822b")
        return [arm, *bars]

    FuncAnimation(figure, draw, frames=len(times)).save(IMAGE, writer=PillowWriter(fps=RATE), dpi=80)
    print(f"wrote {IMAGE}")


if __name__ == "__main__":
    main()
