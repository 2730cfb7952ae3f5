"""Draws the pictures of the tutorial *Identify it* from the folder in which it was followed.

python docs/tools/draw_identified.py FOLDER

FOLDER has ``arm.urdf``, ``move.yaml`` and ``found``. The friction is the first picture of the report.
The errors are those of the controller on MuJoCo, before and after.
"""

from __future__ import annotations

import base64
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import yaml

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from draw_tutorials import COLOURS, IMAGES, save

import robot_dynamics as rd
from robot_dynamics.controllers.parameters import given_parameters
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters

PERIOD = 0.001
# The tutorial's simulator, and its controller before the identification.
ARM = {"mass_scale": 1.3, "damping": (0.5,), "friction": (0.5,)}
BEFORE = {"kp": (900.0,), "kv": (60.0,), "max_following_error": (0.1,)}


def motion(file: Path) -> tuple[list[str], list[rd.Waypoint]]:
    """Joints and points of a trajectory's file."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
    points = []
    for point in document["points"]:
        time = point["time_from_start"]["sec"] + 1e-9 * point["time_from_start"]["nanosec"]
        parts = (np.array(point[name]) for name in ("positions", "velocities", "accelerations"))
        points.append(rd.Waypoint(time, *parts))
    return document["joint_names"], points


def errors(
    folder: Path, urdf: Path, drives: dict[str, Any], gains: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Times and errors of the motion, on the tutorial's arm."""
    names, points = motion(folder / "move.yaml")
    plant = ArmPlant(folder / "arm.urdf", parameters=PlantParameters(**ARM))
    plant.reset(points[0].positions)
    chain = rd.load_urdf(urdf)
    known = {field.name for field in fields(rd.ActuatorParameters)}
    actuators = rd.ActuatorParameters(**{name: value for name, value in drives.items() if name in known})
    model = rd.ActuatedArm(rd.compile_dynamics(chain, friction=False), chain, actuators)
    control = rd.ArmController(chain, model, rd.ArmParameters(**gains))
    rows: list[tuple[float, ...]] = []
    began = None
    while began is None or plant.time < began + points[-1].time + 0.5:
        here, time = plant.position.copy(), plant.time
        command = control.update(time, here, plant.velocity)
        if began is None and time > 0.5:
            control.follow(names, points)
            began = time
        if began is not None:
            rows.append((time - began, *(command.reference.position - here)))
        plant.advance(PERIOD, command.effort)
    table = np.array(rows)
    return table[:, 0], table[:, 1:]


if __name__ == "__main__":
    place = Path(sys.argv[1]).resolve()
    page = (place / "found/report.html").read_text(encoding="utf-8")
    picture = re.findall(r'src="data:image/png;base64,([^"]+)"', page)[0]
    (IMAGES / "identified_friction.png").write_bytes(base64.b64decode(picture))
    found = given_parameters(str(place / "found/friction.yaml"))
    joints = motion(place / "move.yaml")[0]
    figure, axes = plt.subplots(1, 2, figsize=(8.0, 3.0), layout="constrained", sharey=True)
    for axis, title, runs in (
        (axes[0], "step 3: as described, gains nine times as high", (place / "arm.urdf", {}, BEFORE)),
        (axes[1], "step 5: identified, default gains", (place / "found/identified.urdf", found, {})),
    ):
        time, error = errors(place, *runs)
        print(title, np.abs(error).max(axis=0))
        for j, name in enumerate(joints):
            axis.plot(time, 1e3 * error[:, j], color=COLOURS[j], label=name, linewidth=0.8)
        axis.set(xlabel="time [s]")
        axis.set_title(title, fontsize=9)
    axes[0].set(ylabel="error [mrad]")
    axes[1].legend(fontsize=8)
    save(figure, "crane_identified.png")
