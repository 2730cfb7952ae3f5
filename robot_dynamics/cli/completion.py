"""``robot_dynamics completion``: what makes a shell complete the command's words."""

from __future__ import annotations

import argparse

from robot_dynamics.errors import RobotDynamicsError

SHELLS = ("bash", "zsh", "tcsh")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "For bash: robot_dynamics completion bash > ~/.local/share/bash-completion/completions/robot_dynamics"
    )
    parser.add_argument("shell", choices=SHELLS)


def run(arguments: argparse.Namespace) -> int:
    """Print the shell's completion script."""
    try:
        import shtab
    except ImportError as error:
        raise RobotDynamicsError("completion needs shtab: pip install shtab") from error
    from robot_dynamics.cli.main import command_line

    print(shtab.complete(command_line(lambda name: True), arguments.shell))
    return 0
