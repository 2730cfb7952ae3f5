"""Draws the pictures of Stewart platforms from simulated runs, with the controller and MuJoCo.

python docs/tools/draw_platform.py

The reference shows a motion base with 1500 kg; the tutorial shows the platform of its own commands.
"""

from __future__ import annotations

import os
import runpy
import shlex
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import yaml

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from draw_tutorials import DPI, IMAGES, PLAIN, WIDTH, arrow, block, save

from robot_dynamics import stewart
from robot_dynamics.cli.main import main
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.operating_modes import OperatingMode
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.report.sizing import pictures, workspace
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.simulation.stewart import StewartPlant
from robot_dynamics.stewart.new_machine import Measures, machine_text

PERIOD = 0.004
BASE, PLATE = "tab:blue", "tab:orange"
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
    save(figure, "platform_step.png", 90)


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
    save(figure, "platform_loss.png", 90)


def tutorial() -> None:
    """The pictures of the tutorial's platform, from its commands and its motion."""
    main(shlex.split(block("your_stewart_platform.md", "sh", "stewart new"))[1:])
    script = Path("make_motion.py")
    script.write_text(block("your_stewart_platform.md", "python", "motion.csv"), encoding="utf-8")
    runpy.run_path(str(script))
    platform = stewart.load("my_platform.yaml")
    geometry(platform.machine)
    motion(platform)
    move(platform)
    stream(platform)


def geometry(machine):
    """Joints and legs at home, from above and from the side, with the measures of the file."""
    home, stroke = machine.home_position, machine.legs[0].limits
    below, above = machine.base_points, machine.platform_points + home
    figure, (top, side) = plt.subplots(
        2, 1, figsize=(WIDTH, 8.1), layout="constrained", sharex=True, height_ratios=[3.6, 1.5]
    )
    round_trip = np.linspace(0.0, 2.0 * np.pi, 200)
    for points, colour, name, angle in ((below, BASE, "base", 0.0), (above, PLATE, "platform", 2.1)):
        radius = np.hypot(*points[0, :2])
        top.plot(radius * np.cos(round_trip), radius * np.sin(round_trip), color=colour, linewidth=1.2)
        end = radius * np.array([np.cos(angle), np.sin(angle)])
        arrow(top, np.zeros(2), end, colour)
        place = {"ha": "center", "va": "center", "size": 11, "color": colour, "bbox": PLAIN}
        top.text(*(0.42 * end), f"{name} radius\n{radius:g} m", **place, zorder=6)
        side.plot(points[:, 0], points[:, 2], color=colour, linewidth=4, alpha=0.4)
    for leg, (start, end) in enumerate(zip(below, above, strict=True)):
        for axes, rows in ((top, [0, 1]), (side, [0, 2])):
            axes.plot(*np.array([start, end])[:, rows].T, color="0.6", linewidth=3, zorder=2)
            axes.plot(*start[rows], "o", color=BASE, markersize=8, zorder=4)
            axes.plot(*end[rows], "o", color=PLATE, markersize=8, zorder=4)
        names = {"ha": "center", "va": "center", "weight": "bold", "size": 14}
        top.text(*(1.11 * start[:2]), str(leg + 1), color=BASE, **names)
        top.text(*(0.84 * end[:2]), str(leg + 1), color=PLATE, **names)
    arrow(side, np.array([2.0, 0.0]), np.array([2.0, home[2]]), "0.3", "<|-|>")
    side.text(1.96, 0.5 * home[2], f"home\n{home[2]:g} m", ha="right", va="center", size=11, bbox=PLAIN)
    words = f"from the side, at home; legs of {stroke.shortest:g} to {stroke.longest:g} m"
    top.set(aspect="equal", ylabel="y [m]", title="from above: joints of legs 1 to 6", xlim=(-2.1, 2.1))
    top.set(ylim=(-1.8, 1.8))
    side.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title=words, ylim=(-0.15, 1.35))
    for axes in (top, side):
        axes.grid(alpha=0.25)
    save(figure, "platform_geometry.png", DPI)


def motion(platform):
    """The motion of ``make_motion.py``, and the lengths of the legs."""
    rows = np.loadtxt("motion.csv", delimiter=",", skiprows=1)
    home = platform.machine.home_position
    lengths = platform.legs(home + rows[:, 1:4], np.tile([0.0, 0.0, 0.0, 1.0], (len(rows), 1))).lengths
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.0), layout="constrained")
    left.plot(rows[:, 0], 100.0 * rows[:, 3])
    left.set(xlabel="time [s]", ylabel="heave from home [cm]")
    right.plot(rows[:, 0], lengths)
    limits = platform.machine.legs[0].limits
    for limit in (limits.shortest, limits.longest):
        right.axhline(limit, **LIMIT)
    right.set(xlabel="time [s]", ylabel="leg length [m]; dotted: limits")
    save(figure, "platform_motion.png")


def move(platform):
    """The pose of ``send_pose.py``: the way there and the forces of the legs."""
    home, goal = platform.machine.home_position, np.array([0.03, 0.0, 1.18])
    run, rows, began, sent = Run(platform), [], 1.0, False
    while run.plant.time < began + 3.5:
        if run.plant.time >= began and not sent:
            sent = True
            run.control.follow([PoseWaypoint(2.0, goal, [0.0, 0.0, 0.0, 1.0])])
        time, pose = run.plant.time - began, run.plant.platform_pose[0]
        command = run.cycle()
        rows.append((time, *(pose - home), *(command.reference.position - home), *command.effort))
    time, *way = np.array(rows).T
    figure, (above, below) = plt.subplots(2, 1, figsize=(WIDTH, 5.6), layout="constrained", sharex=True)
    for name, axis, colour in (("x", 0, "C0"), ("z", 2, "C1")):
        above.plot(time, 100.0 * way[axis], color=colour, label=f"{name} of the platform (MuJoCo)")
        above.plot(time, 100.0 * way[3 + axis], "k:", label=None if axis else "x and z of the reference")
    above.set(ylabel="distance from home [cm]", xlim=(-0.5, 3.5))
    above.legend(fontsize=11)
    # The move is in the plane of symmetry of legs 1 and 6, 2 and 5, 3 and 4.
    forces = np.array(way[6:]) / 1e3
    assert np.allclose(forces, forces[::-1], atol=1e-6)
    for leg in range(3):
        below.plot(time, forces[leg], color=f"C{leg + 2}", label=f"legs {leg + 1} and {6 - leg}")
    below.set(xlabel="time [s]", ylabel="force [kN]")
    below.legend(fontsize=11)
    for axes in (above, below):
        axes.grid(alpha=0.3)
    print("off at the end [mm]:", [f"{1e3 * (way[k][-1] - way[3 + k][-1]):.2f}" for k in range(3)])
    save(figure, "platform_move.png", DPI)


def stream(platform):
    """Poses at 60 Hz until 5 s, and the end of the stream."""
    home = platform.machine.home_position
    plant, control = StewartPlant(platform), StewartController(platform)
    plant.reset(platform.legs(home, [0.0, 0.0, 0.0, 1.0]).lengths)
    sent, rows = [], []
    while plant.time < 8.0:
        time = plant.time
        if len(sent) / 60.0 <= time < 5.0 and time > 0.0:
            rise = 0.02 * np.sin(np.pi * len(sent) / 60.0)
            sent.append((time, rise))
            control.command_pose(PoseSample(time, home + np.array([0.0, 0.0, rise]), np.eye(3), None))
        command = control.update(time, plant.position, plant.velocity)
        plant.set_brakes(control.brake)
        rows.append((time, plant.platform_pose[0][2] - home[2]))
        plant.advance(PERIOD, command.effort)
    figure, axes = plt.subplots(figsize=(8.0, 2.8), layout="constrained")
    axes.plot(*(np.array(sent).T * [[1.0], [100.0]]), ".", color="0.6", markersize=3, label="poses sent")
    axes.plot(*(np.array(rows).T * [[1.0], [100.0]]), label="platform (MuJoCo)")
    axes.set(xlabel="time [s]", ylabel="heave from home [cm]")
    axes.legend(fontsize=8)
    save(figure, "platform_stream.png")


def motion_base():
    """The pictures of the reference."""
    platform = stewart.load(yaml.safe_load(machine_text(MEASURES)))
    step_and_dropout(platform)
    loss_of_states(platform)
    machine = platform.machine
    maps = workspace.maps(machine, workspace.excursions(machine))
    (IMAGES / "platform_workspace.png").write_bytes(pictures.condition_maps(maps)[0])
    print(f"wrote {IMAGES / 'platform_workspace.png'}")


if __name__ == "__main__":
    motion_base()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        tutorial()
