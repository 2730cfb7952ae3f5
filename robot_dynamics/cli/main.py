"""The ``robot_dynamics`` command: one module per subcommand, loaded only when it is asked for."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from robot_dynamics.errors import RobotDynamicsError

# Each module defines configure(parser) and run(arguments) -> exit code.
COMMANDS = {
    "demo": "run the main job: a PUMA 560 tracks a trajectory by computed torque over ROS 2",
    "view": "show a robot moving in a browser, from its URDF, xacro or YAML file",
    "dh": "print the Denavit-Hartenberg parameters of a URDF's chain",
    "inverse_dynamics": "torques for the states of a CSV file",
    "run": "start a ROS 2 node of this package",
    "count": "operations of every formulation beside the published formulas",
    "generate": "write a customised model as C or Python source",
    "benchmark": "time the generated model beside other libraries",
    "reproduce": "make the figures and numbers of a paper",
    "sdf": "print a Stewart platform as an SDF model for Gazebo",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="robot_dynamics",
        description="Dynamics of serial arms and Stewart platforms, from URDF.",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    wanted = next((word.replace("-", "_") for word in argv if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        command = subparsers.add_parser(name.replace("_", "-"), help=summary, description=summary)
        if name == wanted:
            importlib.import_module(f"robot_dynamics.cli.{name}").configure(command)
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 2
    module = importlib.import_module(f"robot_dynamics.cli.{arguments.command.replace('-', '_')}")
    try:
        return int(module.run(arguments))
    except RobotDynamicsError as error:
        print(f"robot_dynamics: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
