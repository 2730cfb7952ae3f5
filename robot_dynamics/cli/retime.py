"""``robot_dynamics retime``: the fastest timing of a path within the limits of an arm, torque included."""

from __future__ import annotations

import argparse
import csv
import json
import os
from pathlib import Path

import numpy as np

from robot_dynamics.cli import streams
from robot_dynamics.cli.chain_source import (
    add_backend_argument,
    add_gravity_argument,
    number,
    payloads_of,
)
from robot_dynamics.cli.check import (
    EXCEEDED,
    KEPT,
    UNUSABLE,
    add_load_arguments,
    add_path_arguments,
    limited_arm,
    path_of,
)
from robot_dynamics.cli.machine_source import is_machine
from robot_dynamics.cli.needs import need
from robot_dynamics.cli.path_source import LARGEST_YAML, TOPIC, YAML_SUFFIXES, write_bag
from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.retiming.executable import executable
from robot_dynamics.control.retiming.retime import INTERVALS
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.errors import ParameterError, RobotDynamicsError, shown
from robot_dynamics.inputs.files import check_output, open_output
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.driver_profile import load_driver
from robot_dynamics.spatial import Array

INTERVALS_OF_YAML = 250
"""A file with many more points is larger than what commands read."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "The fastest motion along a path within velocity, acceleration and effort limits. Its geometry stays."
        " Accelerations have the limits of --limits only. The result is verified at every moment, as"
        " robot_dynamics check does. Exit code 0: the result keeps every limit; 1: it does not; 2: the input"
        " cannot be used, or no motion along the path is possible."
    )
    add_path_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="file of the result: CSV with time, positions, velocities, accelerations and efforts, or a"
        " JointTrajectory where its name ends in .yaml, or a folder with a bag where it has no ending",
    )
    parser.add_argument(
        "--slower", action="store_true", help="never faster than the path's own timing: slow down only"
    )
    parser.add_argument(
        "--effort-rate",
        type=number,
        nargs="+",
        metavar="RATE",
        help="limit of the change of the effort without dry friction [N·m/s or N/s], one for all joints or"
        " one for each; the effort then begins and ends as what holds the arm; default: the --driver's",
    )
    add_gravity_argument(parser)
    add_load_arguments(parser)
    parser.add_argument(
        "--plot", metavar="FILE.png", help="picture of the efforts before and after, and of the path speed"
    )
    parser.add_argument(
        "--simulate",
        metavar="FILE.png",
        help="let computed torque follow the path before and after on a simulated arm, and draw its efforts",
    )
    add_backend_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the motion and print the verdict."""
    try:
        return _retimed(arguments)
    except RobotDynamicsError as error:
        streams.complain(error)
        return UNUSABLE


def _retimed(arguments: argparse.Namespace) -> int:
    if is_machine(arguments.urdf or ""):
        raise ParameterError(f"{shown(arguments.urdf)} is a Stewart platform: this command retimes arms")
    output = Path(arguments.output)
    as_yaml = output.suffix.lower() in YAML_SUFFIXES
    as_bag = not output.suffix and not os.path.lexists(output)
    if as_bag:
        need("a bag", "rosbags")
    for place in filter(None, (arguments.output, arguments.plot, arguments.simulate)):
        check_output(place)
    if arguments.plot is not None:
        need("--plot", "matplotlib")
    if arguments.simulate is not None:
        need("--simulate", "matplotlib", "mujoco")
    chain, spline = path_of(arguments)
    model, rules, efforts = limited_arm(chain, arguments)
    intervals = INTERVALS_OF_YAML if as_yaml else INTERVALS
    rate = arguments.effort_rate
    if rate is None and arguments.driver is not None:
        rate = load_driver(arguments.driver).command.torque_rate_limit or None
    table, made, verdict = executable(chain, model, spline, efforts, rules, arguments.slower, intervals, rate)
    needed = model.inverse_dynamics(table.positions, table.velocities, table.accelerations)
    if as_yaml:
        _write_yaml(arguments.output, chain.joint_names, table, needed)
    elif as_bag:
        write_bag(arguments.output, arguments.topic or TOPIC, chain.joint_names, table, needed)
    else:
        _write_csv(arguments.output, chain.joint_names, table, needed)
    before = float(spline.times[-1] - spline.times[0])
    print(f"{shown(arguments.path)}: {before:.3f} s become {made.duration:.3f} s; {verdict.sentence}")
    print(shown(arguments.output))
    own = QuinticSpline(spline.times - spline.times[0], spline.coefficients)
    if arguments.simulate is not None:
        _simulate(chain, model, own, table, arguments)
    if arguments.plot is not None:
        from robot_dynamics.report.path_plots import retiming_plot

        retiming_plot(chain, model, own, made, efforts, Path(arguments.plot))
        print(shown(arguments.plot))
    return EXCEEDED if verdict.exceeded else KEPT


def _simulate(
    chain: KinematicChain,
    model: ActuatedArm,
    own: QuinticSpline,
    table: WaypointTable,
    arguments: argparse.Namespace,
) -> None:
    """Run the path with both timings on MuJoCo's arm, print cut efforts and errors, and draw them."""
    from robot_dynamics.report.path_plots import simulated_plot
    from robot_dynamics.simulation.path_run import run_path

    limits = np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])
    after = waypoint_spline(table.times, table.positions, table.velocities, table.accelerations)
    loads = payloads_of(arguments, chain, arguments.payload_center)
    runs = {}
    for name, spline in (("before", own), ("after", after)):
        run = runs[f"{name}: {spline.times[-1]:.2f} s"] = run_path(
            chain, model, spline, loads, arguments.gravity
        )
        print(
            f"simulated {name}: efforts cut in {run.saturated} of {len(run.times)} cycles, largest"
            f" {100.0 * run.largest_share(limits):.1f} % of its limit, largest error"
            f" {1e3 * np.abs(run.errors).max():.2f} mrad or mm"
        )
    simulated_plot(chain.joint_names, runs, limits, Path(arguments.simulate))
    print(shown(arguments.simulate))


def _write_csv(path: str, names: tuple[str, ...], table: WaypointTable, efforts: Array) -> None:
    kinds = ("position", "velocity", "acceleration", "effort")
    columns = ["time", *(f"{name}.{kind}" for kind in kinds for name in names)]
    values = np.column_stack(
        [table.times, table.positions, table.velocities, table.accelerations, efforts]
    ).tolist()
    with open_output(path) as stream:
        csv.writer(stream, lineterminator="\n").writerow(columns)
        stream.write("".join(",".join(map(repr, row)) + "\n" for row in values))


def _write_yaml(path: str, names: tuple[str, ...], table: WaypointTable, efforts: Array) -> None:
    """A JointTrajectory as ``ros2 topic pub`` takes it; JSON is YAML, and much faster to write."""
    lines = []
    fields = ("positions", "velocities", "accelerations", "effort")
    for time, *rows in zip(
        table.times, table.positions, table.velocities, table.accelerations, efforts, strict=True
    ):
        nanoseconds = round(1e9 * float(time))
        stamp = {"sec": nanoseconds // 10**9, "nanosec": nanoseconds % 10**9}
        point = {field: [_short(v) for v in row.tolist()] for field, row in zip(fields, rows, strict=True)}
        lines.append("- " + json.dumps({**point, "time_from_start": stamp}))
    text = f"joint_names: {json.dumps(list(names))}\npoints:\n" + "\n".join(lines) + "\n"
    with open_output(path) as stream:
        stream.write(text)
    if len(text) > LARGEST_YAML:
        streams.note(
            f"robot_dynamics: note: {len(lines)} points make a larger YAML file than robot_dynamics reads;"
            " give the output a name in .csv"
        )


def _short(value: float) -> float:
    """The number with ten digits."""
    return float(f"{value:.10g}")
