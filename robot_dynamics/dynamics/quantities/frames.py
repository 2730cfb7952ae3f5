"""The frames that a quantity may be about, and the axes that it may be given in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.inputs import Request
from robot_dynamics.dynamics.generator.links import Link
from robot_dynamics.dynamics.generator.placing import Steps
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.quantities.quantity import Option, SeveralOption
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

TIP = "tip"
ROOT = "root"


def _frames(chain: KinematicChain) -> Mapping[str, str]:
    links = {joint.link: str(index) for index, joint in enumerate(chain.joints)}
    return {**links, chain.tip: TIP}


FRAMES = SeveralOption("frames", "", _frames, instead_of="frame")
FRAME = Option("frame", TIP, _frames)
AXES = Option("axes", TIP, lambda _: {TIP: TIP, ROOT: ROOT})


@dataclass(frozen=True)
class FixedFrame:
    """A frame that is fixed in a link.

    Attributes:
        links: from the base to that link.
        pose: (4, 4) of the frame in the frame of that link.
    """

    links: tuple[Link, ...]
    pose: Array


def frame_of(request: Request) -> FixedFrame:
    """The frame that a request chooses."""
    return _fixed(request, request.options[FRAME.name])


def frames_of(request: Request) -> list[FixedFrame]:
    """The frames that a request chooses at once; none where it does not."""
    chosen = request.options[FRAMES.name]
    return [_fixed(request, name) for name in chosen.split(",")] if chosen else []


def _fixed(request: Request, chosen: str) -> FixedFrame:
    if chosen == TIP:
        return FixedFrame(request.links, request.model.tip)
    index = int(chosen)
    pose = request.model.link_poses[index] if request.model.link_poses else np.eye(4)
    return FixedFrame(request.links[: index + 1], pose)


def steps_to(request: Request, links: tuple[Link, ...], q: tuple[Expression, ...]) -> Steps:
    """The steps along ``links`` at coordinates ``q``."""
    graph = q[0].graph
    return Steps(graph, links, q, composed=request.objective is not Objective.OPERATIONS)
