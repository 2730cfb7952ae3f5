"""Draws the pictures of the tutorials' steps from the tutorials' own files, with the controller and MuJoCo.

python docs/tools/draw_tutorials.py
"""

from __future__ import annotations

import os
import re
import runpy
import tempfile
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import yaml

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import robot_dynamics as rd
from robot_dynamics import stewart
from robot_dynamics.cli.main import main
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.simulation.stewart import StewartPlant

DOCS = Path(__file__).resolve().parents[1]
IMAGES = DOCS / "images"
PERIOD = 0.002
COLOURS = ("C0", "C1", "C2")
LIMIT = {"color": "tab:red", "ls": ":", "lw": 1.2}


def block(page: str, language: str, part: str = "") -> str:
    """The first block of a tutorial in a language that contains a text."""
    text = (DOCS / "tutorials" / page).read_text(encoding="utf-8")
    found = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return next(code for code in found if part in code)


def save(figure: Any, name: str) -> None:
    """Write one picture."""
    figure.savefig(IMAGES / name, dpi=80)
    plt.close(figure)
    print(f"wrote {IMAGES / name}")


def poses(dynamics: rd.CompiledDynamics, names: tuple[str, ...]) -> None:
    """The arm at zero, and at the goal of the tutorial's trajectory."""
    figure = plt.figure(figsize=(8.0, 3.6), layout="constrained")
    places = ([0.0, 0.0, 0.0], [0.8, 0.5, -0.5])
    for column, place in enumerate(places):
        axes = figure.add_subplot(1, 2, column + 1, projection="3d")
        at = dynamics.forward_kinematics(np.array(place), frames=["column", "boom", "forearm"])
        end = at[2] @ np.array([0.4, 0.0, 0.0, 1.0])
        points = np.vstack([np.zeros(3), at[1, :3, 3], at[2, :3, 3], end[:3]])
        for k, link in enumerate(("column", "boom", "forearm")):
            axes.plot(*points[k : k + 2].T, "-o", color=f"C{k}", linewidth=5, label=link)
        axes.set(xlim=(-0.2, 1.0), ylim=(-0.2, 1.0), zlim=(0.0, 1.2), xlabel="x [m]", ylabel="y [m]")
        title = ", ".join(f"{name} {q:g}" for name, q in zip(names, place, strict=True))
        axes.set_title(f"{title} rad", fontsize=9)
        axes.legend(fontsize=8)
    save(figure, "crane.png")


class Run:
    """The tutorial's controller, and the arm that MuJoCo simulates; keeps what is drawn."""

    def __init__(self, source: Path, **parameters: Any) -> None:
        self.plant = ArmPlant(source)
        chain = rd.load_urdf(source)
        self.control = rd.ArmController(chain, parameters=rd.ArmParameters(**parameters))
        self.rows: list[tuple[Any, ...]] = []

    def cycles(self, until: float) -> None:
        """Control up to a time [s]."""
        while self.plant.time < until:
            here, time = self.plant.position.copy(), self.plant.time
            command = self.control.update(time, here, self.plant.velocity)
            external = self.control.external.effort.copy()
            self.rows.append((time, here, command.reference.position.copy(), command.effort.copy(), external))
            self.plant.advance(PERIOD, command.effort)

    def columns(self) -> list[np.ndarray]:
        """Time, position, reference, effort, external effort."""
        return [np.array(part) for part in zip(*self.rows, strict=True)]


def trajectory(source: Path, names: tuple[str, ...]) -> None:
    """The move of ``send.py``."""
    run = Run(source)
    run.cycles(0.5)
    run.control.follow(names, [rd.Waypoint(2.0, np.array([0.8, 0.5, -0.5]))])
    run.cycles(3.5)
    time, position, reference, effort, _ = run.columns()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.0), layout="constrained")
    for j, name in enumerate(names):
        left.plot(time, position[:, j], color=COLOURS[j], label=name)
        left.plot(time, reference[:, j], "k:", linewidth=1)
        right.plot(time, effort[:, j], color=COLOURS[j], label=name)
    left.set(xlabel="time [s]", ylabel="position [rad]; dotted: reference")
    right.set(xlabel="time [s]", ylabel="torque [N·m]")
    left.legend(fontsize=8)
    save(figure, "crane_move.png")


def springs(source: Path, names: tuple[str, ...]) -> None:
    """Joints as springs, a load at 1 s, and a larger stiffness at 4 s."""
    run = Run(source, mode="joint_impedance", joint_stiffness=(40.0,))
    run.cycles(1.0)
    run.plant.reconfigure(PlantParameters(payload_mass=1.0, payload_center=(0.3, 0.0, 0.0)))
    run.cycles(4.0)
    run.control.parameters = rd.ArmParameters(mode="joint_impedance", joint_stiffness=(200.0,))
    run.cycles(6.0)
    time, position, _, _, external = run.columns()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.0), layout="constrained")
    for j, name in enumerate(names):
        left.plot(time, position[:, j], color=COLOURS[j], label=name)
        right.plot(time, external[:, j], color=COLOURS[j], label=name)
    for axes in (left, right):
        axes.axvline(1.0, color="grey", linewidth=0.8)
        axes.axvline(4.0, color="grey", linewidth=0.8)
        axes.set(xlabel="time [s]")
    left.set(ylabel="position [rad]", title="load at 1 s, stiffness 200 N·m/rad at 4 s")
    left.title.set_fontsize(9)
    right.set(ylabel="observed external torque [N·m]")
    right.legend(fontsize=8)
    save(figure, "crane_springs.png")


def excitation(source: Path, names: tuple[str, ...]) -> None:
    """The motion that ``excite`` plans."""
    main(["excite", str(source), "-o", "move.yaml"])
    text = Path("move.yaml").read_text(encoding="utf-8")
    points = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["points"]
    time = [p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in points]
    figure, axes = plt.subplots(figsize=(8.0, 2.8), layout="constrained")
    for j, name in enumerate(names):
        axes.plot(time, [p["positions"][j] for p in points], color=COLOURS[j], label=name)
    axes.set(xlabel="time [s]", ylabel="position [rad]")
    axes.legend(fontsize=8)
    save(figure, "crane_excitation.png")


def platform() -> None:
    """The motion of ``make_motion.py``, and the legs' lengths and speeds."""
    size = ["--base-radius", "1.6", "--platform-radius", "1.2", "--stroke", "0.4"]
    main(["stewart", "new", *size, "-o", "my_platform.yaml"])
    script = Path("make_motion.py")
    script.write_text(block("your_stewart_platform.md", "python", "motion.csv"), encoding="utf-8")
    runpy.run_path(str(script))
    rows = np.loadtxt("motion.csv", delimiter=",", skiprows=1)
    machine = stewart.load("my_platform.yaml")
    home = np.asarray(machine.machine.home_position)
    lengths = machine.legs(home + rows[:, 1:4], np.tile([0.0, 0.0, 0.0, 1.0], (len(rows), 1))).lengths
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.0), layout="constrained")
    left.plot(rows[:, 0], 100.0 * rows[:, 3])
    left.set(xlabel="time [s]", ylabel="heave from home [cm]")
    right.plot(rows[:, 0], lengths)
    limits = machine.machine.legs[0].limits
    for limit in (limits.shortest, limits.longest):
        right.axhline(limit, **LIMIT)
    right.set(xlabel="time [s]", ylabel="leg length [m]; dotted: limits")
    save(figure, "platform_motion.png")
    stream(machine)


def stream(machine: stewart.StewartPlatform) -> None:
    """Poses at 60 Hz until 5 s, and the end of the stream."""
    home, period = np.asarray(machine.machine.home_position), 0.004
    plant, control = StewartPlant(machine), StewartController(machine)
    plant.reset(machine.legs(home, [0.0, 0.0, 0.0, 1.0]).lengths)
    sent: list[tuple[float, float]] = []
    rows = []
    while plant.time < 8.0:
        time = plant.time
        if len(sent) / 60.0 <= time < 5.0 and time > 0.0:
            rise = 0.02 * np.sin(np.pi * len(sent) / 60.0)
            sent.append((time, rise))
            control.command_pose(PoseSample(time, home + np.array([0.0, 0.0, rise]), np.eye(3), None))
        command = control.update(time, plant.position, plant.velocity)
        plant.set_brakes(control.brake)
        rows.append((time, plant.platform_pose[0][2] - home[2]))
        plant.advance(period, command.effort)
    figure, axes = plt.subplots(figsize=(8.0, 2.8), layout="constrained")
    axes.plot(*(np.array(sent).T * [[1.0], [100.0]]), ".", color="0.6", markersize=3, label="poses sent")
    axes.plot(*(np.array(rows).T * [[1.0], [100.0]]), label="platform (MuJoCo)")
    axes.set(xlabel="time [s]", ylabel="heave from home [cm]")
    axes.legend(fontsize=8)
    save(figure, "platform_stream.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        urdf = Path("arm.urdf")
        urdf.write_text(block("your_arm.md", "xml"), encoding="utf-8")
        arm = rd.load_urdf(urdf)
        poses(rd.compile_dynamics(arm), arm.joint_names)
        trajectory(urdf, arm.joint_names)
        springs(urdf, arm.joint_names)
        platform()
        excitation(urdf, arm.joint_names)
