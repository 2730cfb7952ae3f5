"""``robot_dynamics identify``: masses, friction and payload from recorded motion."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.cli import streams
from robot_dynamics.cli.chain_source import (
    add_chain_arguments,
    chain_of,
    masses_at_tips,
    number,
    number_within,
    tip_mass,
)
from robot_dynamics.cli.identify_live import add_live_arguments, run_live
from robot_dynamics.cli.needs import need
from robot_dynamics.errors import LogError, ParameterError, quoted, shown
from robot_dynamics.inputs.files import (
    check_folder,
    check_output,
    decoded,
    open_output,
    open_regular,
    write_files,
)
from robot_dynamics.inputs.tables import text_lines
from robot_dynamics.model.driver_profile import driver_names, load_driver

if TYPE_CHECKING:
    from robot_dynamics.control.arm.actuators import ActuatorParameters
    from robot_dynamics.identification.logs import Log
    from robot_dynamics.identification.result import Identification
    from robot_dynamics.identification.runs import Options
    from robot_dynamics.model.chain import KinematicChain

IMPLAUSIBLE = 3
"""Exit code of a result that cannot be right."""
LARGE_OFFSET = 0.2
"""Torque offset that is named, as a share of the joint's efforts."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_chain_arguments(parser)
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="*",
        help="recorded motion: a rosbag2 folder, .db3, .mcap, or CSV with time and JOINT.position, .effort;"
        " - reads CSV from standard input",
    )
    parser.add_argument(
        "--validate",
        metavar="RUN",
        nargs="+",
        default=[],
        help="runs that are only predicted (default: the last 30 %% of each run, not learned from)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="folder for the results; with --inspect, the file (default there: standard output)",
    )
    parser.add_argument(
        "--inspect",
        metavar="LOG",
        help="write a mapping file for a text log, a guess with what was seen; - reads standard input",
    )
    parser.add_argument(
        "--columns",
        metavar="FILE.yaml",
        help="mapping file: columns, units, signs, gains and coupled motors of the runs",
    )
    parser.add_argument(
        "--compensates-gravity", action="store_true", help="the robot reports efforts without gravity"
    )
    parser.add_argument(
        "--driver",
        metavar="NAME",
        help=f"profile of the driver that reported the efforts ({', '.join(driver_names())}), or the path of"
        " one (.yaml); it decides --compensates-gravity",
    )
    parser.add_argument(
        "--payload",
        action="store_true",
        help="identify only the payload of each tip; the robot is known",
    )
    parser.add_argument(
        "--static",
        action="store_true",
        help="with --payload: the runs are poses at rest, each approached from both sides",
    )
    parser.add_argument(
        "--gains",
        action="store_true",
        help="identify the drives' gains by a known payload: the runs are without it, those of --loaded with"
        " it; writes columns.yaml",
    )
    parser.add_argument(
        "--loaded", metavar="RUN", nargs="+", default=[], help="with --gains: runs with the payload"
    )
    parser.add_argument(
        "--payload-mass",
        type=tip_mass,
        action="append",
        default=[],
        metavar="[TIP=]KG",
        help="with --gains: mass of the payload; of several tips TIP=KG, which may be repeated",
    )
    parser.add_argument(
        "--payload-center",
        type=number,
        nargs=3,
        metavar=("X", "Y", "Z"),
        action="append",
        default=[],
        help="with --gains: its centre in the tip frame [m], one for each --payload-mass (default: unknown)",
    )
    parser.add_argument(
        "--drives",
        metavar="FILE.yaml",
        help="drives as known, such as an earlier friction.yaml; - reads standard input",
    )
    parser.add_argument(
        "--tool", default="", metavar="TEXT", help="name of the mounted tool, recorded with the result"
    )
    parser.add_argument("--topic", help="topic of the joint states, where a bag has several")
    for option, name, what in (("--from", "begin", "begin"), ("--to", "end", "end")):
        parser.add_argument(
            option,
            dest=name,
            type=number_within(0.0, 1e9),
            metavar="S",
            help=f"{what} of the part that counts, after each run's first state [s] (default: the whole run)",
        )
    parser.add_argument(
        "--accept",
        action="store_true",
        help="write identified.urdf and friction.yaml of an implausible result too (default: exit with 3)",
    )
    parser.add_argument(
        "--cutoff",
        type=number,
        metavar="HZ",
        help="cut-off frequency of the zero-phase low-pass filter [Hz] (default: from the data)",
    )
    parser.add_argument(
        "--delay",
        type=number,
        metavar="S",
        help="delay of the efforts behind the positions [s] (default: estimated)",
    )
    add_live_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Identify and write the files; returns 3 where the result is implausible and not accepted."""
    if arguments.inspect:
        return _inspect(arguments)
    if arguments.live:
        needed = ("scipy", "cvxpy", "clarabel", "matplotlib", "jinja2")
        need("identify --live", "rclpy", "rosbags", "mujoco", *needed)
        return run_live(arguments, run)
    if not arguments.runs or arguments.output is None:
        raise ParameterError("identify needs a RUN, and -o FOLDER for the results; or --inspect LOG")
    check_folder(arguments.output)
    compensates_gravity = _without_weight(arguments)
    need("identification", "scipy", "cvxpy", "clarabel", "matplotlib", "jinja2")
    from robot_dynamics.identification.files import write_identified
    from robot_dynamics.identification.identify import identify
    from robot_dynamics.identification.link_boxes import described_shapes, link_boxes
    from robot_dynamics.identification.plausibility import implausibilities
    from robot_dynamics.identification.runs import Options

    _check_inputs(arguments)
    _check_gains(arguments)
    source = streams.read_input() if arguments.urdf == "-" else Path(arguments.urdf)
    chain = chain_of(arguments, source if isinstance(source, bytes) else None)
    text = source if isinstance(source, bytes) else arguments.urdf
    options = Options(
        boxes=link_boxes(chain, described_shapes(text, chain, dict(arguments.lock))),
        cutoff=arguments.cutoff,
        delay=arguments.delay,
        compensates_gravity=compensates_gravity,
        payload=arguments.payload,
        drives=_drives(arguments.drives, chain) if arguments.drives else None,
        tool=arguments.tool,
        static=arguments.static,
    )
    learn, validate = (
        [read_run(path, chain, arguments) for path in paths] for paths in (arguments.runs, arguments.validate)
    )
    if arguments.gains:
        return _gains(chain, learn, options, arguments)
    found = identify(chain, learn, validate, options)
    for line in _report(found, arguments):
        print(line)
    reasons = implausibilities(found)
    for reason in reasons:
        streams.note(f"robot_dynamics: implausible: {reason}")
    if reasons and not arguments.accept:
        streams.note(_not_written(arguments.output))
    for path in write_identified(found, source, arguments.output, arguments.accept):
        print(path)
    return IMPLAUSIBLE if reasons and not arguments.accept else 0


def _without_weight(arguments: argparse.Namespace) -> bool:
    """Return whether the efforts come without the weight, by the driver's profile where one is given."""
    if arguments.driver is None:
        return bool(arguments.compensates_gravity)
    driver = load_driver(arguments.driver)
    driver.check_state(converted=bool(arguments.columns))
    if arguments.compensates_gravity and driver.state.gravity == "included":
        raise ParameterError(
            f"driver {quoted(driver.name)} reports efforts with gravity; --compensates-gravity contradicts it"
        )
    unverified = [key for key in driver.unverified if key.startswith("state.")]
    if unverified:
        streams.note(f"robot_dynamics: driver {driver.name}: no source confirmed {', '.join(unverified)}")
    if driver.state.side == "link":
        streams.note(
            f"robot_dynamics: driver {driver.name}: measured on the link, so friction is not in the efforts"
        )
    return bool(arguments.compensates_gravity) or driver.state.gravity == "removed"


def _gains(
    chain: KinematicChain, unloaded: list[Log], options: Options, arguments: argparse.Namespace
) -> int:
    """Identify the gains and write the mapping file that has them."""
    from robot_dynamics.identification.columns import with_gains
    from robot_dynamics.identification.gains import drive_gains

    loaded = [read_run(path, chain, arguments) for path in arguments.loaded]
    masses = masses_at_tips("--payload-mass", arguments.payload_mass, chain)
    centers = arguments.payload_center or [None] * len(masses)
    payloads = dict(zip(masses, zip(masses.values(), centers, strict=True), strict=True))
    found = drive_gains(chain, unloaded, loaded, payloads, options)
    text = with_gains(arguments.columns, chain.joint_names, found.factors, found.deviations)
    for name, factor, deviation in zip(chain.joint_names, found.factors, found.deviations, strict=True):
        known = f"(± {100.0 * deviation:.2g} %)" if deviation < 1.0 else ""
        if factor != 1.0:
            print(f"{name + ':':<16} {factor:7.4f} times the gain as given {known}")
        else:
            print(f"{name + ':':<16} as given; it feels too little of the payload {known}".rstrip())
    for path in write_files(arguments.output, {"columns.yaml": text}):
        print(path)
    return 0


def _report(found: Identification, arguments: argparse.Namespace) -> Iterator[str]:
    """Lines about the result, which come before anything is written."""
    from robot_dynamics.identification.result import DEVIATIONS, WELL_KNOWN

    summary = found.summary()
    for key, name in (("prior", "description"), ("learn", "learned from"), ("validate", "validated with")):
        if summary["error"][key] is not None:
            yield f"{name + ':':<16} {100.0 * summary['error'][key]:6.2f} % of the efforts missed"
    if not arguments.static:
        yield from _treatment(summary, arguments)
    if summary["held_out"]:
        yield f"held out:        {summary['held_out']}"
    for line in summary["notes"]:
        yield f"note:            {line}"
    yield f"total mass:      {summary['total_mass']:6.2f} kg"
    for tip, payload in found.payloads.items():
        center = ", ".join(f"{value:.4f}" for value in payload.center_of_mass)
        frame = "the tip frame" if len(found.payloads) == 1 else shown(tip)
        yield f"payload:         {payload.mass:6.3f} kg at ({center}) m in {frame}"
    if found.coupling is not None:
        yield (
            "note:            motors move several joints: friction.yaml has the friction of each joint as if"
            " it moved alone, result.json that of the motors, which the errors above belong to"
        )
    if found.not_excited:
        yield f"not excited:     {shown(*found.not_excited)}"
    if summary["from_description"]:
        yield f"as described:    {shown(*summary['from_description'])}"
    for name, share in found.offset_shares().items():
        if share > LARGE_OFFSET:
            yield (
                f"note:            torque offset of {name}: {summary['torque_offset'][name]:.3g} N·m or N,"
                f" {100.0 * share:.0f} % of its efforts; it is not commanded"
            )
    if found.kept:
        yield f"kept:            {shown(*found.kept)} as described: not improved by the data"
    for name in summary["not_better"]:
        after, before = (100.0 * summary[key][name] for key in ("joint_error", "prior_joint_error"))
        yield f"note:            {name} is not better: {after:.3g} % missed, as described {before:.3g} %"
    yield from _tested(summary["tested"])
    if summary["expected_error"] is not None:
        expected, before = (100.0 * summary[key] for key in ("expected_error", "expected_prior_error"))
        yield (
            f"workspace:       {expected:6.2f} % of the efforts (one standard deviation), by the description"
            f" {before:.2f} %"
        )
        miss = summary["expected_miss"]
        if miss > WELL_KNOWN:
            errors = summary["expected_joint_error"]
            each = {n: hypot(DEVIATIONS * e, summary["joint_error"][n] or 0.0) for n, e in errors.items()}
            weak = [name for name, error in each.items() if error > WELL_KNOWN] or list(each)
            yield (
                f"note:            efforts of other motions may be off by {100.0 * miss:.2g} %, above all"
                f" those of {shown(*weak)}: record longer, larger and faster motion of these joints"
            )


def _treatment(summary: dict[str, Any], arguments: argparse.Namespace) -> Iterator[str]:
    """Lines about cut-off and delay."""
    source = "from the data" if arguments.cutoff is None else "given"
    yield f"cut-off:         {summary['cutoff']:6.2f} Hz, {source}"
    delay, deviation = (1e3 * summary["delay"][key] for key in ("seconds", "deviation"))
    source = f"± {deviation:.2g} ms, taken off" if delay else f"none found, ± {deviation:.2g} ms"
    yield f"delay:           {delay:6.2f} ms of the efforts, {source if arguments.delay is None else 'given'}"


def _tested(joints: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    """Lines with the ranges of the runs that were predicted."""
    for name, ranges in joints.items():
        position, velocity, effort = (
            f"{least:.3g} to {most:.3g} {unit}"
            for (least, most), unit in zip(ranges.values(), ("rad or m", "per s", "N·m or N"), strict=True)
        )
        yield f"tested:          {name} {position}, {velocity}, {effort}"


def _not_written(folder: Path) -> str:
    text = "robot_dynamics: identified.urdf and friction.yaml were not written; --accept writes them"
    old = [name for name in ("identified.urdf", "friction.yaml") if (folder / name).exists()]
    return f"{text}. {shown(*old)} in {folder} came from an earlier run" if old else text


def _check_inputs(arguments: argparse.Namespace) -> None:
    named = [
        arguments.urdf,
        *arguments.runs,
        *arguments.validate,
        arguments.drives,
        arguments.columns,
        arguments.inspect,
    ]
    if named.count("-") > 1:
        raise ParameterError(
            "only one of URDF, RUN, --drives, --columns and --inspect can be read from standard input"
        )


def _check_gains(arguments: argparse.Namespace) -> None:
    if (arguments.loaded or arguments.payload_mass or arguments.payload_center) and not arguments.gains:
        raise ParameterError("--loaded, --payload-mass and --payload-center are for --gains")
    if not arguments.gains:
        return
    if not arguments.payload_mass or not arguments.loaded:
        raise ParameterError("--gains needs --payload-mass KG and --loaded RUN, runs with this payload")
    if arguments.payload or arguments.static or arguments.validate:
        raise ParameterError("--gains cannot be combined with --payload, --static or --validate")
    if len(arguments.payload_center) not in (0, len(arguments.payload_mass)):
        raise ParameterError(
            f"--payload-center is given {len(arguments.payload_center)} times, --payload-mass"
            f" {len(arguments.payload_mass)} times: give one for each, or none"
        )


def _drives(path: str, chain: KinematicChain) -> ActuatorParameters:
    from robot_dynamics.identification.files import read_drives

    if path != "-":
        return read_drives(path, chain)
    text = decoded(streams.read_input(), "standard input", ParameterError)
    return read_drives("standard input", chain, text)


def read_run(path: str, chain: KinematicChain, arguments: argparse.Namespace) -> Log:
    """The part of a recorded run that --from and --to name."""
    log = _whole_log(path, chain, arguments)
    if arguments.begin is None and arguments.end is None:
        return log
    begin, end = arguments.begin or 0.0, np.inf if arguments.end is None else arguments.end
    since = log.time - log.time[0]
    kept = (since >= begin) & (since <= end)
    if kept.sum() < 2:
        raise LogError(f"{log.source}: nothing from {begin:g} s to {end:g} s; it lasts {since[-1]:.6g} s")
    return replace(log, time=log.time[kept], q=log.q[kept], qd=log.qd[kept], effort=log.effort[kept])


def _whole_log(path: str, chain: KinematicChain, arguments: argparse.Namespace) -> Log:
    from robot_dynamics.identification.logs import read_log, read_table

    locked = dict(arguments.lock)
    if arguments.columns:
        return _mapped(path, chain, arguments)
    if path != "-":
        return read_log(path, chain.joint_names, arguments.topic, locked)
    lines = text_lines(streams.opened_input(), "standard input")
    return read_table(streams.counted(lines), chain.joint_names, "standard input", locked)


def _inspect(arguments: argparse.Namespace) -> int:
    """Write the guess of a mapping file."""
    from robot_dynamics.identification.inspect_log import inspect_log
    from robot_dynamics.identification.logs import is_bag

    _check_inputs(arguments)
    if is_bag(arguments.inspect):
        raise ParameterError(
            f"--inspect guesses the columns of a text log; {shown(arguments.inspect)} is a bag, whose joint"
            " states have names: give it as RUN"
        )
    if arguments.runs or arguments.columns:
        raise ParameterError("--inspect reads one log; give no RUN and no --columns with it")
    if arguments.output is not None:
        check_output(arguments.output)
    source = streams.read_input() if arguments.urdf == "-" else None
    chain = chain_of(arguments, source)
    if arguments.inspect == "-":
        guess = inspect_log(text_lines(streams.opened_input(), "standard input"), chain, "standard input")
    else:
        with open_regular(arguments.inspect, "log", LogError) as stream:
            guess = inspect_log(text_lines(stream, arguments.inspect), chain, arguments.inspect)
    if arguments.output is None:
        print(guess, end="")
        return 0
    with open_output(arguments.output) as file:
        file.write(guess)
    print(arguments.output)
    return 0


def _mapped(path: str, chain: KinematicChain, arguments: argparse.Namespace) -> Log:
    """A run by the mapping file."""
    from robot_dynamics.identification.columns import mapped_log, names_in_bag, read_columns, read_mapped
    from robot_dynamics.identification.logs import is_bag, read_log

    columns = read_columns(arguments.columns, chain.joint_names)
    if path == "-":
        lines = text_lines(streams.opened_input(), "standard input")
        return read_mapped(streams.counted(lines), columns, "standard input")
    if is_bag(path):
        return mapped_log(read_log(path, names_in_bag(columns), arguments.topic, {}), columns)
    with open_regular(path, "text log", LogError) as stream:
        return read_mapped(text_lines(stream, path), columns, path)
