"""``robot_dynamics completion``: completion script of a shell."""

from __future__ import annotations

import argparse
import re
from typing import Any

from robot_dynamics.errors import RobotDynamicsError

SHELLS = ("bash", "zsh", "tcsh")
FILES = re.compile(r"(FILE|URDF|RUN|MACHINE|PATH)\b|\.\.\.")
"""Placeholders of arguments that name files, or may."""
FOLDERS = ("DIR", "FOLDER")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = """bash, with the package bash-completion:
  mkdir -p ~/.local/share/bash-completion/completions
  robot_dynamics completion bash > ~/.local/share/bash-completion/completions/robot_dynamics
zsh, in .zshrc behind compinit:
  eval "$(robot_dynamics completion zsh)"
tcsh:
  robot_dynamics completion tcsh > ~/.robot_dynamics.tcsh, and in .tcshrc: source ~/.robot_dynamics.tcsh"""
    parser.add_argument("shell", choices=SHELLS)


def run(arguments: argparse.Namespace) -> int:
    """Print the shell's completion script."""
    try:
        import shtab
    except ImportError as error:
        raise RobotDynamicsError("completion needs shtab: pip install shtab") from error
    from robot_dynamics.cli.main import command_line

    parser = command_line(lambda name: True)
    _say_what_completes(parser, shtab)
    print(shtab.complete(parser, arguments.shell))
    return 0


def _say_what_completes(parser: argparse.ArgumentParser, shtab: Any) -> None:
    """Tell shtab, by the arguments' placeholders, which are files, folders and nodes."""
    from robot_dynamics.cli.run import NODES

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in set(action.choices.values()):
                _say_what_completes(command, shtab)
        elif action.metavar == "NODE":
            action.choices = tuple(NODES)
        elif action.metavar in FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif isinstance(action.metavar, str) and FILES.match(action.metavar):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
