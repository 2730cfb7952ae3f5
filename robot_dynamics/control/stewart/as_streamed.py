"""A recorded motion as a platform follows it when it is streamed, simulated without a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.smoothing import DELAY, LONGEST_PERIOD
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.operating_modes import cause_of_deviation
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.recorded import RecordedMotion
from robot_dynamics.control.stewart.reference_governor import GovernedReference, PoseTarget
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.errors import ParameterError, short
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.orientation import rotation_vector

STEP = 0.01
"""Time between two steps of the governor [s]."""
FREE = 0.05
"""Time for which each step is safe at least, as in the node [s]."""
BEFORE, BEFORE_STEP = 1.0, 0.02
"""Time before a deviation in which a limit may have begun it, and step in which it is looked for [s]."""
LEAD = 1.0
"""Time at the first pose before the motion [s]."""


@dataclass(frozen=True)
class StreamedMotion:
    """Deviations of a streamed motion from the recorded one, the lag taken out.

    Attributes:
        lag: of the reference [s].
        worst: largest distance and angle [m, rad].
        rms: root mean squares of both.
        times: of the largest ones, since the first pose [s].
        cause: limit behind the largest deviation; empty where that is tolerated.
    """

    lag: float
    worst: tuple[float, float]
    rms: tuple[float, float]
    times: tuple[float, float]
    cause: str


def as_streamed(
    platform: StewartPlatform,
    motion: RecordedMotion,
    rate: float,
    parameters: StewartParameters | None = None,
) -> StreamedMotion:
    """Follow a recorded motion as a stream with exact stamps, from rest at its first pose.

    Args:
        platform: with all that it carries.
        motion: as recorded.
        rate: of the stream [Hz].
        parameters: of the controller; the defaults when None.

    Raises:
        ParameterError: the rate is none of a stream, or the first pose is out of reach.
    """
    if not 1.0 / LONGEST_PERIOD < rate <= 1e4:
        raise ParameterError(
            f"a stream has more than {1.0 / LONGEST_PERIOD:g} Hz and at most 10000, not {rate:g}"
        )
    control = StewartController(platform, parameters)
    begin, rest = float(motion.times[0]), np.zeros(6)
    first = _pose(motion, begin)
    modes, intake = control.modes, control.intake
    if not modes.reachable(first.position, first.rotation):
        place, home = (
            ", ".join(short(x) for x in v.tolist())
            for v in (first.position, control.machine_description.home_position)
        )
        raise ParameterError(
            f"the first pose is out of reach: ({place}) m in the base frame, where home is ({home}) m"
        )
    start = GovernedReference(0.0, first.position, first.rotation, rest, rest)
    governed = modes.stream(0.0, start, intake.filter)
    governor, goal = governed.governor, governed.goal
    lag, sent, rows = DELAY / rate, 0, []
    for time in np.arange(STEP, LEAD + motion.duration + lag, STEP).tolist():
        while sent / rate <= time:
            pose = _pose(motion, begin + min(max(sent / rate - LEAD, 0.0), motion.duration))
            intake.add(PoseSample(sent / rate, pose.position, pose.rotation, None), time)
            sent += 1
        governor.advance(time, goal.target(time, STEP, governor), 0.25 * STEP, FREE)
        since = time - lag - LEAD
        if 0.0 <= since <= motion.duration:
            rows.append((since, *_way(_pose(motion, begin + since), governor.reference)))
    found = np.array(rows)
    worst = tuple(int(np.argmax(found[:, k])) for k in (1, 2))
    size = np.max(found[worst[0], 1]), np.max(found[worst[1], 2])
    farthest = worst[0] if size[0] >= size[1] else worst[1]
    before = np.arange(found[farthest, 0], max(found[farthest, 0] - BEFORE, 0.0) - 1e-9, -BEFORE_STEP)
    tolerated = control.parameters.stream_tolerance
    beyond = size[0] > tolerated[0] or size[1] > tolerated[1]
    asked = [_pose(motion, begin + since) for since in before.tolist()] if beyond else []
    return StreamedMotion(
        lag,
        (float(size[0]), float(size[1])),
        (float(np.sqrt((found[:, 1] ** 2).mean())), float(np.sqrt((found[:, 2] ** 2).mean()))),
        (float(found[worst[0], 0]), float(found[worst[1], 0])),
        cause_of_deviation(governor, asked) if asked else "",
    )


def _pose(motion: RecordedMotion, time: float) -> PoseTarget:
    """Pose, twist and acceleration of a motion at a time of its table [s]."""
    found = motion.at([time])
    twist = np.concatenate([found.linear_velocity[0], found.angular_velocity[0]])
    acceleration = np.concatenate([found.linear_acceleration[0], found.angular_acceleration[0]])
    return PoseTarget(found.position[0], found.rotation[0], twist, acceleration)


def _way(wanted: PoseTarget, reference: GovernedReference) -> tuple[float, float]:
    """Distance [m] and angle [rad]."""
    turn: Array = rotation_vector(wanted.rotation @ reference.rotation.T)
    return float(np.linalg.norm(wanted.position - reference.position)), float(np.linalg.norm(turn))
