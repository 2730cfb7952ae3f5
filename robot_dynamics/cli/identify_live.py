"""``robot_dynamics identify --live``: excitation, recording, identification and a move before and after."""

from __future__ import annotations

import argparse
import itertools
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from robot_dynamics.cli import excite, streams
from robot_dynamics.cli.chain_source import chain_of, number_within
from robot_dynamics.cli.demo import ProgressLine
from robot_dynamics.cli.sending import agreed, send
from robot_dynamics.errors import ParameterError, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from robot_dynamics.identification.excitation.bounds import Bounds
    from robot_dynamics.identification.excitation.clearance import Clearance
    from robot_dynamics.identification.excitation.points import Points
    from robot_dynamics.model.chain import KinematicChain
    from robot_dynamics.spatial import Array

WORSE = 4
"""Exit code of a robot that follows no better with what was identified."""
_PLACES = (0.25, 0.5, 0.75)
"""Moments of the excitation trajectory, as shares of its period, whose places the test move passes."""
PATIENCE = 5.0
"""Longest search for the robot's nodes [s]."""
_MOVE, _RUN = "move.yaml", "run"


def add_live_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what --live takes."""
    group = parser.add_argument_group("with --live")
    group.add_argument(
        "--live",
        action="store_true",
        help="move the running robot or simulator: test move, excitation trajectory with recording,"
        " identification, and the test move with what was identified; each motion is asked for",
    )
    group.add_argument("--yes", action="store_true", help="move without asking")
    group.add_argument(
        "--speed",
        type=number_within(0.01, 1.0),
        default=0.5,
        metavar="SHARE",
        help="speed as a share of the planned one (default: %(default)s)",
    )
    group.add_argument(
        "--floor",
        type=number_within(-1e3, 1e3),
        metavar="Z",
        help="height of the floor in the root frame [m]",
    )
    excite.add_series_arguments(group, number_within(1.0, 600.0))
    group.add_argument(
        "--controller",
        default="computed_torque_controller",
        metavar="NODE",
        help="node that follows trajectories (default: %(default)s)",
    )


def run_live(arguments: argparse.Namespace, identified: Callable[[argparse.Namespace], int]) -> int:
    """Chain the steps; stops at the first that is refused, declined, or not to be believed.

    Args:
        arguments: those of ``identify``.
        identified: identifies from recorded runs and writes the files; returns an exit code.
    """
    if arguments.runs or arguments.urdf is None or arguments.urdf == "-" or arguments.output is None:
        raise ParameterError("identify --live needs a URDF file and -o FOLDER, and no RUN")
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    planning = _planning(arguments)
    steps = _Live(arguments, planning)
    before = steps.test_move("1 of 4: test move with the model in use")
    if before is None or not steps.excited():
        return 1
    print("3 of 4: identification", flush=True)
    options = argparse.Namespace(**{**vars(arguments), "live": False, "runs": [str(steps.bag)]})
    code = identified(options)
    if code:
        streams.note("robot_dynamics: the result is not to be believed: nothing is set, nothing moves")
        return code
    if before.size == 0:
        streams.note(
            f"robot_dynamics: {arguments.controller} reports no reference: its errors are not compared;"
            f" give the nodes {shown(str(folder / 'identified.urdf'))} and friction.yaml"
        )
        return 0
    return steps.compared(before)


class _Live:
    """The steps that move the robot.

    Attributes:
        bag: recording of the excitation trajectory.
    """

    def __init__(self, arguments: argparse.Namespace, planning: argparse.Namespace) -> None:
        from robot_dynamics.identification.excitation.points import Points

        self._arguments, self._planning = arguments, planning
        self._progress = ProgressLine()
        self._folder: Path = arguments.output
        self.bag = self._folder / f"{_RUN}_{time.strftime('%Y%m%d_%H%M%S')}"
        chain: KinematicChain = chain_of(planning)
        self._names = chain.joint_names
        try:
            clearance = excite.clearance_of(planning, Path(planning.urdf), chain)
            excitation = excite.planned(planning, chain, clearance, self._progress)
        finally:
            self._progress.clear()
        self._bounds: Bounds = excite.bounds_of(planning, chain)
        self._clearance: Clearance | None = clearance if clearance.shaped else None
        self._motion: Points = Points.of(excitation)
        (self._folder / _MOVE).write_text(self._motion.text("excitation trajectory"), encoding="utf-8")
        print(shown(str(self._folder / _MOVE)), flush=True)

    def test_move(self, title: str) -> Array | None:
        """Pass some places of the excitation trajectory; (n,) largest errors, empty where nobody reports any.

        None where the user declined.
        """
        print(title, flush=True)
        errors: list[Array] = []
        sent = self._send(self._through_places(), errors)
        return np.asarray(errors[0]) if sent else None

    def excited(self) -> bool:
        """Follow the excitation trajectory while joint states are recorded."""
        from robot_dynamics.ros.recording.beside import recorded

        print("2 of 4: excitation trajectory", flush=True)
        with recorded(self.bag, os.environ):
            return self._send(self._motion.slower(self._arguments.speed), [])

    def compared(self, before: Array) -> int:
        """Set what was identified, repeat the test move, and print both errors."""
        from robot_dynamics.ros.models.set_all_nodes import set_all_nodes, wait_until_prepared

        wanted = self._identified()
        print("4 of 4: test move with what was identified", flush=True)
        if not (self._arguments.yes or agreed("Set it at the running nodes")):
            print("not set")
            return 0
        done = set_all_nodes(wanted, None, False, PATIENCE)
        print(f"set at {', '.join(done.names)}", flush=True)
        for owner in done.names:
            wait_until_prepared(owner)
        after = self.test_move("the same move again")
        if after is None:
            return 0
        width = max(map(len, self._names))
        for name, first, second in zip(self._names, before, after, strict=True):
            errors = f"{1e3 * first:9.3f} before, {1e3 * second:9.3f} after"
            print(f"{name:<{width}}  largest error {errors} [mrad or mm]")
        if np.max(after) <= np.max(before):
            return 0
        for owner, values in done.before.items():
            set_all_nodes(values, owner.rpartition("/")[0] or "/", False, PATIENCE)
        streams.note("robot_dynamics: the robot follows no better: the nodes have their old values again")
        return WORSE

    def _identified(self) -> dict[str, Any]:
        """Parameters of the nodes: the identified description and drives."""
        drives = yaml.safe_load((self._folder / "friction.yaml").read_text(encoding="utf-8"))
        text = (self._folder / "identified.urdf").read_text(encoding="utf-8")
        return {"robot_description": text, **drives["/**"]["ros__parameters"]}

    def _through_places(self) -> Points:
        from robot_dynamics.identification.excitation.approach import approach

        speed, motion = self._arguments.speed, self._motion
        slow = replace(
            self._bounds,
            velocity=speed * self._bounds.velocity,
            acceleration=speed**2 * self._bounds.acceleration,
        )
        rows = [round(share * (len(motion.time) - 1)) for share in _PLACES]
        places = [motion.positions[row] for row in (0, *rows, 0)]
        whole: Points | None = None
        for here, there in itertools.pairwise(places):
            part = approach(self._names, here, there, slow, self._clearance)
            whole = part if whole is None else part.after(whole)
        assert whole is not None
        return whole

    def _send(self, motion: Points, errors: list[Array]) -> bool:
        reference = f"{self._arguments.controller}/reference"
        share = min(self._arguments.speed, 0.3)
        arguments = self._planning
        return send(
            self._names,
            motion,
            self._bounds,
            self._clearance,
            arguments,
            share,
            self._progress,
            reference=reference,
            errors=errors,
        )


def _planning(arguments: argparse.Namespace) -> argparse.Namespace:
    """Arguments of ``excite`` for this robot."""
    parser = argparse.ArgumentParser()
    excite.configure(parser)
    words = [arguments.urdf, "-o", str(arguments.output / _MOVE), "--period", str(arguments.period)]
    words += ["--harmonics", str(arguments.harmonics), "--topic", f"{arguments.controller}/joint_trajectory"]
    words += ["--yes"] if arguments.yes else []
    words += ["--floor", repr(arguments.floor)] if arguments.floor is not None else []
    made = parser.parse_args(words)
    for name in ("root", "tip", "tips", "lock", "srdf", "group"):
        setattr(made, name, getattr(arguments, name))
    if not 2 <= made.harmonics <= 20:
        raise ParameterError(f"--harmonics {made.harmonics}: must be 2 to 20")
    return made
