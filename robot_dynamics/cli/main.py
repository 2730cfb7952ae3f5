"""The ``robot_dynamics`` command: one module per subcommand, loaded only when it is asked for."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from robot_dynamics import __version__
from robot_dynamics.cli import streams
from robot_dynamics.errors import RobotDynamicsError, readable
from robot_dynamics.interrupts import raise_at_sigint

# Each module defines configure(parser) and run(arguments) -> exit code.
COMMANDS = {
    "demo": "run the demonstration: a PUMA 560 tracks a trajectory by computed torque over ROS 2",
    "view": "show a robot moving in a browser, from its URDF, xacro or YAML file",
    "doctor": "check this computer: compiler, ROS 2, real-time rights, optional packages, a robot's chain",
    "dh": "print the Denavit-Hartenberg parameters of a URDF's chain",
    "inverse_dynamics": "compute joint efforts for the states of a CSV file",
    "check": "verify a path of an arm against its limits, torque included, in continuous time",
    "retime": "find the fastest timing of a path within the limits of an arm, torque included",
    "play": "move an arm along a path or to a named pose, verified before it moves",
    "record": "record joint states into a rosbag2, for identify",
    "excite": "plan the excitation trajectory for identify",
    "identify": "identify masses, friction and payload of an arm from recorded motion",
    "contacts": "find contacts in recorded motion, by the external efforts of an arm",
    "run": "start a ROS 2 node of this package",
    "set": "set payload, mode, gains and other parameters at every running node of a robot",
    "call": "call a service such as hold or reset_fault at every running node of a robot",
    "count": "count the operations of every formulation beside the published formulas",
    "generate": "write a customised model as C or Python source",
    "benchmark": "time the generated model beside other libraries",
    "reproduce": "compare the papers' results with this package's",
    "stewart": "design a Stewart platform",
    "sdf": "print a Stewart platform as an SDF model for Gazebo",
    "build": "compile the control loops of this installation, so that no node has to",
    "completion": "print the completion script of a shell",
}

ELSEWHERE = {
    "calibrate": "there is no command calibrate: masses and friction of a running arm come from"
    " robot_dynamics identify --live URDF -o FOLDER; joint zeros and cameras are no part of this package",
}
"""Names that users look for, and what to call instead."""
ONE_THREAD = {"excite", "identify", "contacts"}
"""Commands that solve many small problems of linear algebra. Its threads wait actively for each other, which
takes most of the time on a busy computer."""
_TOPIC = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+")


class Parser(argparse.ArgumentParser):
    """Argument parser with short error messages, however long the argument is."""

    def error(self, message: str) -> NoReturn:
        try:
            super().error(readable(message))
        except OSError:  # a full disk behind the terminal: argparse of Python 3.11.2 does not bear it
            self.exit(2)

    def print_help(self, file: Any = None) -> None:
        """Print the help; argparse itself takes no notice when that fails."""
        print(self.format_help(), end="", file=file)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    streams.prepare()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
    except SystemExit as end:  # argparse has said what is to be said
        sys.exit(streams.finish(end.code if isinstance(end.code, int) else 1))
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 0
    except (RobotDynamicsError, OSError) as error:
        streams.complain(error)
        code = 1
    return streams.finish(code)


def command_line(wanted: Callable[[str], bool]) -> Parser:
    """The parser, with the arguments of those subcommands that are wanted."""
    parser = Parser(
        prog="robot_dynamics", description="Dynamics of serial arms and Stewart platforms, from URDF."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = subparsers.add_parser(name.replace("_", "-"), help=summary, description=summary)
        if wanted(name):
            importlib.import_module(f"robot_dynamics.cli.{name}").configure(command)
    return parser


def _run(argv: list[str]) -> int:
    called = next((word.replace("-", "_") for word in argv if not word.startswith("-")), None)
    if called in ONE_THREAD:
        for library in ("OPENBLAS", "OMP", "MKL"):  # read where numpy is imported
            os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    parser = command_line(lambda name: name == called)
    if called in ELSEWHERE and argv[:1] == [called]:
        parser.error(ELSEWHERE[called])
    arguments, further = parser.parse_known_args(argv)
    # argparse takes no RUN and no NAME:=VALUE behind an option that follows the file.
    if called == "identify" and all(word == "-" or not word.startswith("-") for word in further):
        arguments.runs += further
    elif called == "view" and all(":=" in word for word in further):
        arguments.arguments += further
    elif further:
        parser.error(f"unrecognized arguments: {' '.join(further)}")
    if arguments.command is None:
        parser.print_help()
        return 2
    module = importlib.import_module(f"robot_dynamics.cli.{arguments.command.replace('-', '_')}")
    # Not before what it needs is imported: numpy makes an ImportError of a KeyboardInterrupt.
    raise_at_sigint()
    with _description_at_hand(arguments):
        return int(module.run(arguments))


@contextmanager
def _description_at_hand(arguments: argparse.Namespace) -> Iterator[None]:
    """Replace the topic of a running robot's description by a file with its text."""
    name = "urdf" if hasattr(arguments, "urdf") else "file"
    given = getattr(arguments, name, None)
    if not isinstance(given, str) or not _TOPIC.fullmatch(given) or Path(given).exists():
        yield
        return
    from robot_dynamics.cli.needs import need

    need(f"reading the topic {given}", "rclpy")
    from robot_dynamics.ros.models.graph_description import description_from

    text = description_from(given)
    with tempfile.TemporaryDirectory(prefix="robot_dynamics_") as folder:
        path = Path(folder, f"{given.rpartition('/')[2]}.urdf")
        path.write_text(text, encoding="utf-8")
        setattr(arguments, name, str(path))
        yield


if __name__ == "__main__":
    sys.exit(main())
