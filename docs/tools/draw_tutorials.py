"""Draws the pictures of the tutorials' steps from the tutorials' own files, with the controller and MuJoCo.

python docs/tools/draw_tutorials.py
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import yaml

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.model.dh import dh_tables
from robot_dynamics.ros.support.processes import NodeProcess, claim_domain, node_environment
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters

DOCS = Path(__file__).resolve().parents[1]
IMAGES = DOCS / "images"
PERIOD = 0.002
COLOURS = ("C0", "C1", "C2")
LINKS = ("column", "boom", "forearm")
SOFT = 40.0
NODES = ("simulator", "computed_torque_controller", "web_view")
# Every node has these.
COMMON = {"/rosout", "/parameter_events", "/diagnostics"}
# At this width the words are large enough on a telephone.
WIDTH, DPI = 6.4, 120
INK, PALE = "#2b4a66", "#dfe9f3"
PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 2.0}


def block(page: str, language: str, part: str = "") -> str:
    """The first block of a tutorial in a language that contains a text."""
    text = (DOCS / "tutorials" / page).read_text(encoding="utf-8")
    found = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return next(code for code in found if part in code)


def save(figure: Any, name: str, dpi: int = 80) -> None:
    """Write one picture."""
    figure.savefig(IMAGES / name, dpi=dpi)
    plt.close(figure)
    print(f"wrote {IMAGES / name}")


def demonstration() -> None:
    """The plots of the first demonstration, and a picture of what it prints."""
    main(["demo", "--output", "demo_output"])
    for name in ("arm_error", "arm_error_comparison", "arm_torque", "platform_pose", "platform_forces"):
        shutil.copy(f"demo_output/{name}.png", IMAGES)
    printed("demo_output")


def printed(folder: str) -> None:
    """Largest errors of the arm's runs and forces of the legs, as the demonstration reports them."""
    report = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(WIDTH, 6.4), layout="constrained", height_ratios=[1.3, 1.0]
    )
    limit = report["limits"]["joint"]
    for row, run in enumerate(report["runs"].values()):
        error = run["largest_error"]
        above.barh(row, error, 0.42, color="tab:green" if error <= limit else "tab:orange")
        above.text(1.3e-6, row - 0.36, run["title"], size=11, va="center", bbox=PLAIN)
        above.text(error * 1.15, row, f"{error:.1e}", size=11, va="center")
    above.axvline(limit, color="tab:red", ls=":", label=f"limit of the first run: {limit:g} rad")
    above.set(
        xscale="log", xlim=(1e-6, 1.0), ylim=(3.4, -0.65), yticks=[], xlabel="largest error of the arm [rad]"
    )
    above.legend(fontsize=10, loc="upper right")
    forces = report["platform"]["largest_force_per_leg_N"]
    bars = below.bar(range(1, 7), forces.values(), color=PALE, edgecolor=INK)
    below.bar_label(bars, fmt="%.0f", fontsize=11)
    below.set(xlabel="leg of the platform", ylabel="largest force [N]")
    below.margins(y=0.15)
    save(figure, "demonstration.png", DPI)


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

    def __init__(self, source: Path, plant: PlantParameters | None = None, **parameters: Any) -> None:
        self.plant = ArmPlant(source, parameters=plant)
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


def side_view(places: np.ndarray, **limits: Any) -> tuple[Any, Any]:
    """The crane from the side: a figure with its links between places (4, 2) [m]."""
    figure, axes = plt.subplots(figsize=(WIDTH, 4.4), layout="constrained")
    for k, link in enumerate(LINKS):
        axes.plot(
            *places[k : k + 2].T, "-", color=COLOURS[k], linewidth=9, alpha=0.35, solid_capstyle="round"
        )
        axes.plot([], [], color=COLOURS[k], linewidth=6, alpha=0.35, label=link)
    axes.plot([-0.12, 0.12], [0.0, 0.0], color="0.4", linewidth=3)
    axes.set(xlabel="x [m]", ylabel="z [m]", aspect="equal", **limits)
    axes.grid(alpha=0.25)
    return figure, axes


def arrow(axes: Any, start: np.ndarray, end: np.ndarray, colour: str, style: str = "-|>") -> None:
    """A straight arrow between two places."""
    look = {"arrowstyle": style, "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=look, zorder=5)


def arc(axes: Any, centre: np.ndarray, radius: float, first: float, last: float, colour: str) -> None:
    """A turning arrow between two angles [rad]."""
    angles = np.linspace(first, last, 40)
    points = centre + radius * np.column_stack([np.cos(angles), np.sin(angles)])
    axes.plot(*points[:-3].T, color=colour, linewidth=1.8, zorder=5)
    arrow(axes, points[-5], points[-1], colour)


def frames(source: Path) -> None:
    """The crane with the frames of its table, from the side."""
    chain, bent = rd.load_urdf(source), np.array([0.0, 0.35, 0.6])
    table = dh_tables(chain, "modified", 1e-9)[0]
    poses = table.frames(bent)
    end = table.forward_kinematics(bent) @ np.array([0.4, 0.0, 0.0, 1.0])
    places = np.array([[pose[0, 3], pose[2, 3]] for pose in (poses[0], poses[1], poses[3])] + [end[[0, 2]]])
    figure, axes = side_view(places, xlim=(-0.5, 0.95), ylim=(-0.06, 0.94))
    for number, pose in enumerate(poses):
        at = pose[[0, 2], 3]
        for name, column, colour in (("x", 0, "tab:red"), ("z", 2, "tab:blue")):
            along = pose[[0, 2], column]
            length = 0.26 if number in (1, 2) else 0.2
            if np.linalg.norm(along) > 0.5:
                tip = at + length * along
                arrow(axes, at, tip, colour)
                axes.text(
                    *(tip + 0.04 * along),
                    f"${name}_{number}$",
                    color=colour,
                    size=13,
                    ha="center",
                    va="center",
                )
            else:  # towards the reader
                axes.plot(
                    *at,
                    "o",
                    color="white",
                    markeredgecolor=colour,
                    markersize=11,
                    markeredgewidth=1.8,
                    zorder=6,
                )
                axes.plot(*at, ".", color=colour, markersize=5, zorder=7)
    axes.text(*(places[1] + [-0.1, 0.035]), "$z_2$", color="tab:blue", size=13)
    axes.text(*(places[2] + [-0.1, 0.04]), "$z_3$", color="tab:blue", size=13)
    arc(axes, places[1], 0.17, 0.0, bent[1], INK)
    axes.text(*(places[1] + [0.18, 0.02]), "$q_2$", size=13, color=INK)
    arc(axes, places[2], 0.15, bent[1], bent[1] + bent[2], INK)
    axes.text(*(places[2] + [0.13, 0.12]), "$q_3$", size=13, color=INK)
    d, a = table.rows[0].d, table.rows[2].a
    arrow(axes, np.array([-0.16, 0.0]), np.array([-0.16, d]), "0.35", "<|-|>")
    axes.text(-0.18, d / 2, f"$d_1$ = {d:g} m", ha="right", va="center", size=11)
    across = np.array([np.sin(bent[1]), -np.cos(bent[1])]) * 0.17
    arrow(axes, places[1] + across, places[2] + across, "0.35", "<|-|>")
    axes.text(*((places[1] + places[2]) / 2 + 1.25 * across), f"$a_3$ = {a:g} m", size=11, va="top")
    axes.set_title(
        f"$q_1$ = 0, $q_2$ = {bent[1]:g} rad, $q_3$ = {bent[2]:g} rad; $z_2$ and $z_3$ point at you", size=11
    )
    axes.axis("off")
    axes.legend(fontsize=11, loc="lower right")
    save(figure, "crane_frames.png", DPI)


def rest(source: Path) -> None:
    """The crane as it starts: weights of the links, and the torques that hold them."""
    run = Run(source)
    run.cycles(0.5)
    _, position, _, effort, _ = run.columns()
    chain = rd.load_urdf(source)
    dynamics = rd.compile_dynamics(chain)
    at = dynamics.forward_kinematics(position[-1], frames=list(LINKS))
    end = at[2] @ np.array([0.4, 0.0, 0.0, 1.0])
    places = np.array([[0.0, 0.0], *at[1:, [0, 2], 3], end[[0, 2]]])
    figure, axes = side_view(places, xlim=(-0.32, 1.0), ylim=(-0.08, 0.8))
    for link in ElementTree.parse(source).iterfind("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        mass = float(inertial.find("mass").get("value"))
        centre = [*map(float, inertial.find("origin").get("xyz").split()), 1.0]
        place = (at[LINKS.index(link.get("name"))] @ centre)[[0, 2]]
        axes.plot(*place, "ko", markersize=5, zorder=6)
        arrow(axes, place, place - [0.0, 0.006 * 9.81 * mass], "0.25")
        axes.text(*(place - [-0.02, 0.004 * 9.81 * mass]), f"{9.81 * mass:.1f} N", size=11, color="0.25")
    for j, joint in enumerate(chain.joints):
        limit = joint.limits.effort
        words = f"{joint.name}\n{effort[-1, j]:.1f} of {limit:g} N·m"
        if j:
            arc(axes, places[j], 0.12, 0.35 * np.pi, 1.1 * np.pi, COLOURS[j])
            axes.text(*(places[j] + [0.02, 0.15]), words, size=11, color=COLOURS[j], ha="left")
        else:
            axes.text(-0.3, 0.06, words.replace(" of", "\nof"), size=11, color=COLOURS[j])
    axes.legend(fontsize=11, loc="upper left")
    save(figure, "crane_rest.png", DPI)


def stiffness(source: Path, names: tuple[str, ...]) -> None:
    """Displacements of each spring under known torques, and the stiffness that is set."""
    figure, axes = plt.subplots(figsize=(WIDTH, 4.0), layout="constrained")
    reach, turns = np.array([-9.0, 9.0]), ([0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [0.0, -1.0, 0.0])
    axes.plot(reach / SOFT, reach, "k:", linewidth=1.2, label=f"{SOFT:g} N·m/rad, as set")
    for j, name in enumerate(names):
        found = []
        for torque in np.arange(-8.0 + j, 8.5, 3.0):
            run = Run(source, mode="joint_impedance", joint_stiffness=(SOFT,))
            run.cycles(1.0)
            for share in np.linspace(0.0, 1.0, 100):
                run.plant.push(LINKS[j], [0.0, 0.0, 0.0, *(share * torque * np.array(turns[j]))])
                run.cycles(run.plant.time + 0.02)
            while np.abs(run.plant.velocity).max() > 1e-6:
                run.cycles(run.plant.time + 0.1)
            assert run.control.trip is None, run.control.trip
            found.append((run.plant.position[j], torque))
        axes.plot(*np.array(found).T, "os^"[j], color=COLOURS[j], markersize=8, label=name)
        slope = np.polyfit(*np.array(found).T, 1)[0]
        print(f"{name}: {slope:.2f} N·m/rad")
    axes.set(xlabel="displacement at rest [rad]", ylabel="torque on the joint [N·m]")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=11)
    save(figure, "crane_stiffness.png", DPI)


def tuning(source: Path, names: tuple[str, ...]) -> None:
    """Errors of a motion whose gains are set on the way, with links that are heavier than in the model."""
    run = Run(source, PlantParameters(mass_scale=1.1), kp=(100.0,), kv=(20.0,))
    run.cycles(2.0)
    there, back, changed = np.array([0.8, 0.5, -0.5]), np.zeros(3), 4.0
    began = run.plant.time
    run.control.follow(names, [rd.Waypoint(2.0, there), rd.Waypoint(4.0, back)])
    run.cycles(changed)
    run.control.parameters = rd.ArmParameters(kp=(225.0,), kv=(30.0,))
    run.cycles(began + 5.0)
    time, position, reference, _, _ = run.columns()
    figure, (top, below) = plt.subplots(2, 1, figsize=(WIDTH, 5.2), layout="constrained", sharex=True)
    for j, name in enumerate(names):
        top.plot(time - began, position[:, j], color=COLOURS[j], label=name)
        below.plot(time - began, 1e3 * (reference - position)[:, j], color=COLOURS[j])
    for axes in (top, below):
        axes.axvline(changed - began, color="0.4", linewidth=1.0)
        axes.grid(alpha=0.3)
    for words, side, place in (("kp 100, kv 20", "right", -0.05), ("kp 225, kv 30", "left", 0.05)):
        below.text(
            changed - began + place, 0.9, words, size=11, ha=side, transform=below.get_xaxis_transform()
        )
    top.set(ylabel="position [rad]", xlim=(-0.5, 5.0))
    shown = 1e3 * np.abs(reference - position)[time > began - 0.5].max()
    below.set(ylim=(-1.2 * shown, 1.5 * shown))
    below.set(xlabel="time [s]", ylabel="error [mrad]")
    top.legend(fontsize=11)
    save(figure, "crane_tuning.png", DPI)


def running_graph(source: Path) -> dict[tuple[str, str], list[str]]:
    """Topics between the nodes of step 4, from the nodes themselves: (publisher, subscriber) and names."""
    import rclpy

    domain = claim_domain()
    text = source.read_text(encoding="utf-8")
    parameters = {"simulator": {"robot_description": text, "publish_description": True}}
    with ExitStack() as running:
        for node in NODES:
            module = f"robot_dynamics.ros.{node}"
            running.enter_context(NodeProcess(module, domain, parameters.get(node)))
        os.environ.update(node_environment(domain))
        rclpy.init()
        running.callback(rclpy.shutdown)
        look = rclpy.create_node("look")
        found: dict[tuple[str, str], list[str]] = {}
        seen, since = None, monotonic()
        while len(found) < 6 or monotonic() < since + 5.0:  # until nothing has changed for 5 s
            sleep(0.5)
            present = set(look.get_node_names())
            if not present >= set(NODES):
                continue
            asks = (look.get_publisher_names_and_types_by_node, look.get_subscriber_names_and_types_by_node)
            ends = {node: [{name for name, _ in ask(node, "/")} for ask in asks] for node in NODES}
            found = {
                (a, b): sorted(topics - COMMON)
                for a in NODES
                for b in NODES
                if a != b and (topics := ends[a][0] & ends[b][1]) - COMMON
            }
            if found != seen:
                seen, since = found, monotonic()
    return found


def graph(source: Path) -> None:
    """The nodes of step 4, and the topics between them."""
    figure, axes = plt.subplots(figsize=(WIDTH, 6.2), layout="constrained")
    simulator, controller, view = NODES
    boxes = {simulator: (0.0, 5.3, 6.4), controller: (2.2, 2.75, 4.2), view: (0.0, 0.2, 6.4)}
    for node, (left, bottom, width) in boxes.items():
        look = {"boxstyle": "round,pad=0,rounding_size=0.1", "facecolor": PALE, "edgecolor": INK}
        axes.add_patch(FancyBboxPatch((left, bottom), width, 0.55, **look))
        axes.text(left + width / 2, bottom + 0.28, node, weight="bold", size=12, ha="center", va="center")
    # Where each arrow is, from bottom to top or the other way.
    places = {
        (simulator, controller): (2.5, 5.3, 3.3),
        (controller, simulator): (4.1, 3.3, 5.3),
        (controller, view): (2.5, 2.75, 0.75),
        (view, controller): (4.6, 0.75, 2.75),
        (simulator, view): (0.15, 5.3, 0.75),
        (view, simulator): (1.75, 0.75, 5.3),
    }
    found = running_graph(source)
    for ends, topics in found.items():
        x, start, end = places[ends]
        print(ends, topics)
        arrow(axes, np.array([x, start]), np.array([x, end]), INK)
        words = "\n".join(topic.replace(f"/{controller}/", "~/") for topic in topics)
        side = -1 if ends == (view, simulator) else 1  # of the arrow, on which its words are
        axes.text(x + 0.08 * side, 0.5 * (start + end) + 0.5 * (x < 2.0) * side, words,
                  size=10, va="center", ha="right" if side < 0 else "left")  # fmt: skip
    axes.set(xlim=(-0.05, 6.45), ylim=(0.1, 5.95))
    axes.axis("off")
    save(figure, "crane_graph.png", DPI)


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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        urdf = Path("arm.urdf")
        urdf.write_text(block("your_arm.md", "xml"), encoding="utf-8")
        arm = rd.load_urdf(urdf)
        poses(rd.compile_dynamics(arm), arm.joint_names)
        trajectory(urdf, arm.joint_names)
        springs(urdf, arm.joint_names)
        frames(urdf)
        graph(urdf)
        tuning(urdf, arm.joint_names)
        rest(urdf)
        stiffness(urdf, arm.joint_names)
        excitation(urdf, arm.joint_names)
        demonstration()
