"""The frames that a quantity may be about, and the axes that it may be given in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.frame_kinematics import Steps
from robot_dynamics.dynamics.generator.inputs import Request
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.quantities.quantity import Option, SeveralOption
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

TIP = "tip"
ROOT = "root"


def _frames(chain: KinematicChain) -> Mapping[str, str]:
    """Option values by link: number of the moving link, and the pose in it of a frame attached to it."""
    links = {joint.link: str(index) for index, joint in enumerate(chain.joints)}
    first, *others = chain.tips
    tips = {first.link: TIP, **{tip.link: f"{TIP}{k}" for k, tip in enumerate(others, 1)}}
    attached = {
        frame.name: " ".join([links[frame.link], *(x.hex() for x in frame.pose[:3].ravel().tolist())])
        for frame in chain.frames
    }
    return {**attached, **links, **tips}


FRAMES = SeveralOption("frames", "", _frames, instead_of="frame")
FRAME = Option("frame", TIP, _frames)
AXES = Option("axes", TIP, lambda _: {TIP: TIP, ROOT: ROOT})


@dataclass(frozen=True)
class FixedFrame:
    """A frame that is fixed in a link.

    Attributes:
        path: indices of the links from the base to that link.
        links: the same, each the parent of the next.
        pose: (4, 4) of the frame in the frame of that link.
    """

    path: tuple[int, ...]
    links: tuple[GeneratorLink, ...]
    pose: Array


def frame_of(request: Request) -> FixedFrame:
    """The frame that a request chooses."""
    return _fixed(request, request.options[FRAME.name])


def frames_of(request: Request) -> list[FixedFrame]:
    """The frames that a request chooses at once; none where it does not."""
    chosen = request.options[FRAMES.name]
    return [_fixed(request, name) for name in chosen.split(",")] if chosen else []


def _fixed(request: Request, chosen: str) -> FixedFrame:
    if chosen.startswith(TIP):
        index, pose = request.model.tips[int(chosen[len(TIP) :] or 0)]
    else:
        number, *attached = chosen.split()
        index = int(number)
        pose = request.model.link_poses[index] if request.model.link_poses else np.eye(4)
        if attached:
            pose = pose @ np.vstack([np.reshape([float.fromhex(x) for x in attached], (3, 4)), np.eye(4)[3]])
    path = []
    while index >= 0:
        path.append(index)
        index = request.links[index].parent
    path.reverse()
    links = (request.links[i] for i in path)
    renumbered = (x if x.parent == k - 1 else replace(x, parent=k - 1) for k, x in enumerate(links))
    return FixedFrame(tuple(path), tuple(renumbered), pose)


def steps_to(request: Request, links: tuple[GeneratorLink, ...], q: tuple[Expression, ...]) -> Steps:
    """The steps along ``links`` at coordinates ``q``."""
    graph = q[0].graph
    return Steps(graph, links, q, composed=request.objective is not Objective.OPERATIONS)
