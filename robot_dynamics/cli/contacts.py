"""``robot_dynamics contacts``: external efforts and contacts in recorded motion."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from robot_dynamics.cli.chain_source import add_chain_arguments, add_gravity_argument, chain_of, number
from robot_dynamics.cli.needs import need
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.contact import ContactParameters
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.errors import short, shown
from robot_dynamics.inputs.files import check_output, open_output

if TYPE_CHECKING:
    from robot_dynamics.identification.logs import Log


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = "No safety function. A contact beside the tip is one, too: look at the joints."
    add_chain_arguments(parser)
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        help="recorded motion: a rosbag2 folder, .db3, .mcap, or CSV with time and JOINT.position, .effort",
    )
    add_gravity_argument(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.html", help="page with the external efforts"
    )
    parser.add_argument(
        "--drives",
        metavar="FILE.yaml",
        help="friction, rotors, thresholds and delay of the efforts, such as the friction.yaml of identify",
    )
    parser.add_argument(
        "--free",
        metavar="RUN",
        action="append",
        default=[],
        help="run in free motion, from whose external efforts thresholds are taken; may be repeated",
    )
    parser.add_argument(
        "--threshold",
        type=number,
        nargs="+",
        default=(),
        metavar="EFFORT",
        help="contact_threshold at all speeds, one or one per joint [N·m or N] (default: as --drives has it,"
        " else 0.05 of the effort limit)",
    )
    parser.add_argument(
        "--gain", type=number, help="observer_gain [1/s] (default: as --drives has it, else 25)"
    )
    parser.add_argument(
        "--delay",
        type=number,
        metavar="S",
        help="delay of the efforts behind the positions [s] (default: as --drives has it, else 0)",
    )
    parser.add_argument("--topic", help="topic of the joint states, where a bag has several")


def run(arguments: argparse.Namespace) -> int:
    """Print every contact, and write the page."""
    from robot_dynamics.identification.contacts import contact_page, felt, free_thresholds
    from robot_dynamics.identification.files import read_drives, read_observer
    from robot_dynamics.identification.logs import read_log

    if arguments.output is not None:
        need("the page", "matplotlib", "jinja2")
        check_output(arguments.output)
    chain = chain_of(arguments)
    drives, known = ActuatorParameters(), {}
    if arguments.drives:
        drives, known = read_drives(arguments.drives, chain), read_observer(arguments.drives)
    if arguments.threshold:
        known |= {"contact_threshold": tuple(arguments.threshold), "contact_speeds": ()}
    given = {"observer_gain": arguments.gain, "effort_delay": arguments.delay}
    links = compile_dynamics(chain, arguments.gravity, quantities=(), friction=False)
    arm = ActuatedArm(links, chain, drives)
    parameters = ContactParameters(
        **known | {name: value for name, value in given.items() if value is not None}
    )

    def logs(paths: list[str]) -> list[Log]:
        return [read_log(path, chain.joint_names, arguments.topic, dict(arguments.lock)) for path in paths]

    if arguments.free:
        bare = replace(parameters, contact_threshold=(0.0,), contact_speeds=())
        free = [felt(log, arm, bare) for log in logs(arguments.free)]
        parameters = free_thresholds(free, parameters)
        print(f"contact_threshold: {', '.join(map(short, parameters.contact_threshold))}")
    found = [felt(log, arm, parameters) for log in logs(arguments.runs)]
    for one in found:
        contacts = one.contacts()
        for contact in contacts:
            print(
                f"{shown(contact.joint)}: {short(contact.largest)} N·m or N from {contact.began:.3f} to"
                f" {contact.ended:.3f} s, threshold {short(contact.threshold)}"
            )
        print(f"{shown(one.log.source)}: {len(contacts) or 'no'} contact{'s' * (len(contacts) != 1)}")
    if arguments.output is not None:
        with open_output(arguments.output) as file:
            file.write(contact_page(found, parameters))
        print(arguments.output)
    return 0
