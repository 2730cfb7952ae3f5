"""``robot_dynamics stewart``: a Stewart platform from its first measures on; one module per subcommand."""

from __future__ import annotations

import argparse
import importlib

# Each module defines configure(parser) and run(arguments) -> exit code.
COMMANDS = {
    "new": "write the file of a new platform from its dimensions",
    "report": "write a page with what a platform reaches, can do and needs",
    "check": "check whether a platform can follow a motion within its limits",
    "retime": "slow a motion down until it keeps the limits of lengths, speeds and forces",
    "play": "stream a motion to a running platform, within its limits",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands."""
    subparsers = parser.add_subparsers(dest="stewart_command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = subparsers.add_parser(name, help=summary, description=summary)
        importlib.import_module(f"robot_dynamics.cli.stewart.{name}").configure(command)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand."""
    module = importlib.import_module(f"robot_dynamics.cli.stewart.{arguments.stewart_command}")
    return int(module.run(arguments))
