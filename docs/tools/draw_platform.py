"""Draws the pictures of ``docs/reference/stewart_platform.md`` from simulated runs of a 1500 kg motion base.

python docs/tools/draw_platform.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import yaml

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from robot_dynamics import stewart
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.operating_modes import OperatingMode
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.report.sizing import pictures, workspace
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.simulation.stewart import StewartPlant
from robot_dynamics.stewart.new_machine import Measures, machine_text

IMAGES = Path(__file__).resolve().parents[1] / "images"
PERIOD = 0.004
LIMIT = {"color": "tab:red", "ls": ":", "lw": 1.2}
MEASURES = Measures(
    name="motion_base",
    base_radius=1.6,
    platform_radius=1.2,
    stroke=0.4,
    shortest_leg=None,
    payload=1500.0,
    force=15e3,
    speed=1.0,
    pair_angle=float(np.radians(20.0)),
)


class Run:
    """A controller and the machine, which MuJoCo simulates; keeps what is drawn."""

    def __init__(self, platform, **parameters):
        self.plant = StewartPlant(platform, PlantParameters(physics_timestep=0.001))
        self.plant.reset(platform.legs(platform.machine.home_position, [0.0, 0.0, 0.0, 1.0]).lengths)
        self.control = StewartController(platform, StewartParameters(**parameters))
        self.rows = []

    def cycle(self, since=None):
        """One cycle; without states ``since`` so many seconds [s]."""
        plant, control = self.plant, self.control
        if since is None:
            command = control.update(plant.time, plant.position, plant.velocity)
        else:
            command = control.safe_command(since)
        plant.set_brakes(since is None and control.brake)
        height, speed = plant.platform_pose[0][2], np.abs(plant.velocity).max()
        self.rows.append(
            (plant.time, height, command.reference.position[2], speed, np.abs(command.effort).max() / 1e3)
        )
        plant.advance(PERIOD, command.effort)
        return command

    @property
    def columns(self):
        """Time, height, wanted height, greatest leg speed, greatest force [kN]."""
        return np.array(self.rows).T


def panels(title):
    """Three panels above each other."""
    figure, grid = plt.subplots(3, 1, figsize=(8.4, 6.4), sharex=True, layout="constrained")
    figure.suptitle(title)
    for axes, words in zip(
        grid, ("height [m]", "greatest leg speed [m/s]", "greatest force [kN]"), strict=True
    ):
        axes.set_ylabel(words)
        axes.grid(alpha=0.3)
    grid[-1].set_xlabel("time [s]")
    return figure, grid


def save(figure, name):
    """As a file of the documentation."""
    figure.savefig(IMAGES / name, dpi=90)
    print(f"wrote {IMAGES / name}")


def step_and_dropout(platform):
    """A stream that jumps out of reach, and ends."""
    run, limits = Run(platform, safe_fade_time=1.0), platform.machine.legs[0].limits
    home = platform.machine.home_position
    asked = home + np.array([0.1, 0.0, 0.3])
    begins, ends, parked = 0.5, 2.5, None
    while parked is None or run.plant.time < parked + 1.8:
        time = run.plant.time
        if time and time < ends:
            run.control.command_pose(PoseSample(time, home if time < begins else asked, np.eye(3), None))
        run.cycle()
        if parked is None and run.control.modes.mode is OperatingMode.PARKED:
            parked = time
    time, height, wanted, speed, force = run.columns
    figure, grid = panels("A stream jumps by 0.32 m to where no leg reaches, and ends after 2 s")
    grid[0].step(
        [0.0, begins, ends], [home[2], asked[2], asked[2]], where="post", color="0.6", label="what is sent"
    )
    grid[0].plot(time, wanted, lw=3.0, alpha=0.4, label="reference")
    grid[0].plot(time, height, "k--", lw=1.0, label="platform (MuJoCo)")
    grid[0].legend(fontsize="small")
    grid[1].plot(time, speed, lw=1.2)
    grid[1].axhline(limits.speed, **LIMIT, label="limit")
    grid[1].axhline(run.control.parameters.settle_speed, color="tab:green", ls=":", label="settle_speed")
    grid[1].legend(fontsize="small")
    grid[2].plot(time, force, lw=1.2)
    grid[2].axhline(limits.force / 1e3, **LIMIT)
    for axes in grid:
        for moment in (begins, ends, parked):
            axes.axvline(moment, color="0.5", lw=0.7)
    for moment, words in ((begins, "step"), (ends, "stream ends: settles"), (parked, "parked, brakes")):
        grid[2].text(moment + 0.06, 0.8 * limits.force / 1e3, words, fontsize="small")
    save(figure, "platform_step.png")


def loss_of_states(platform):
    """The same loss, with two safe outputs."""
    figure, grid = panels("No joint states from 0.5 s on, noticed at 0.6 s; no brakes")
    for safe_output in ("settle", "gravity_fade"):
        run = Run(platform, safe_output=safe_output)
        while run.plant.time < 0.5:
            command = run.cycle()
        run.plant.advance(0.1, command.effort)
        run.control.lost_states(0.1)
        began = run.plant.time
        while run.plant.time < 3.5:
            run.cycle(run.plant.time - began)
        time, height, _, speed, force = run.columns
        for axes, values in zip(grid, (height, speed, force), strict=True):
            axes.plot(time, values, lw=1.3, label=f"safe_output: {safe_output}")
    grid[1].axhline(0.05, color="tab:green", ls=":", label="0.05 m/s")
    for axes in grid[:2]:
        axes.legend(fontsize="small")
    save(figure, "platform_loss.png")


def main():
    """Draw them."""
    platform = stewart.load(yaml.safe_load(machine_text(MEASURES)))
    step_and_dropout(platform)
    loss_of_states(platform)
    machine = platform.machine
    maps = workspace.maps(machine, workspace.excursions(machine))
    (IMAGES / "platform_workspace.png").write_bytes(pictures.condition_maps(maps)[0])
    print(f"wrote {IMAGES / 'platform_workspace.png'}")


if __name__ == "__main__":
    main()
