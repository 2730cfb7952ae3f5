"""Intake of a stream: which poses make one, when each was meant, and what contradicts itself."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from robot_dynamics.control.smoothing import DELAY, check_stamp
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.stream import PoseFilter, PoseSample
from robot_dynamics.control.stream_clock import BURST, SenderClock
from robot_dynamics.errors import TrajectoryError, short
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import rotation_vector

JUMP = 3.0
"""Factor on the legs' speed limits beyond which two poses are not of one motion."""
RETURN = 0.3
"""Part of a jump within which the pose after it returns to the one before."""
CONTRADICTIONS, CONTRADICTED = 3, 1.0
"""Number of such returns that are two senders, within so long [s]."""
SHAKEN, SHAKEN_RETURN = 2.0, 0.2
"""Factor on the maximum acceleration beyond which a slower return is no motion; part of its jump."""
LAST, SHAKES = 24, 16
"""Poses of which so many such returns are two senders."""
TWIST_SPAN = 0.5
"""Time over which twists are compared with the poses [s]."""
TWIST_ERROR, LEAST_TWIST_ERROR = 0.5, 0.005
"""Part of the way, and distance, by which integrated twists may differ from the poses [m, rad]."""
SLOWEST = 0.025
"""Longest period about which nothing is said [s]."""
CURVED = 0.3
"""Error of the motion between two poses, as a part of the fourth difference of poses."""
EVEN = 0.5
"""Deviation of intervals from the period, in periods, within which poses come evenly."""
TOLERATED = 1e-3
"""Such an error that is not reported [m, rad]."""


class StreamIntake:
    """Poses of a sender, on their way into a stream's filter.

    Args:
        machine: the platform.
        parameters: of the controller; replaceable.

    Attributes:
        parameters: in force.
        filter: the motion.
        clock: of the sender.
        twists_ignored: whether twists contradict the poses.
    """

    def __init__(self, machine: Machine, parameters: StewartParameters) -> None:
        self._machine = machine
        self.parameters = parameters
        self.filter = PoseFilter(parameters.stream_timeout)
        self.clock = SenderClock()
        self._speeds = JUMP * np.array([leg.limits.speed for leg in machine.legs])
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.clock.clear()
        self._pause()

    def _pause(self) -> None:
        """Begin anew with a sender whose rate is known."""
        self.filter.clear()
        self.clock.pause()
        self.twists_ignored = False
        self._returns: deque[float] = deque(maxlen=CONTRADICTIONS)
        self._shakes: deque[bool] = deque(maxlen=LAST)
        self._places: deque[Array] = deque(maxlen=5)
        self._moments: deque[float] = deque(maxlen=5)
        self._twists: deque[tuple[float, Array, Array]] = deque()
        self._raw, self._curved, self._lag = -np.inf, 0.0, 0.0

    @property
    def ready(self) -> bool:
        """True when enough poses in a row have come."""
        return self.filter.ready

    def add(self, sample: PoseSample, now: float) -> bool:
        """Take a pose that comes at ``now`` [s]; False for one that is not newer.

        Raises:
            TrajectoryError: its stamp is of another clock, or poses contradict each other.
        """
        recovered = sample.time is None or self.parameters.stream_clock == "recovered"
        timeout = self.parameters.stream_timeout
        stamp = sample.time
        if stamp is not None and not recovered:
            check_stamp(stamp, now, timeout)
        # A stamp of another clock tells nothing.
        foreign = stamp is None or abs(stamp - now) > max(timeout, self.filter.gap)
        arrival = now if sample.arrival is None else sample.arrival
        raw = arrival if stamp is None or (recovered and foreign) else stamp
        if raw < self._raw - self.filter.gap:
            self.clear()
        elif raw - self._raw > self.filter.gap:
            self._pause()
        if stamp is None:
            raw = max(raw, self._raw)  # arrivals are measured, with an error
        if raw < self._raw or (raw == self._raw and stamp is not None):
            return False
        place = self._place(sample)
        self._compare(place, raw, now)
        if recovered and not self.ready and raw - self._raw < BURST * self.clock.known:
            self._pause()  # poses have waited in the gap: the last of them counts
        tick = self.clock.tick(raw, place)
        time = tick if recovered and self.clock.on_ticks else raw
        self._raw = raw
        self._curve(place, raw)
        self._lag += 0.1 * (now - time - self._lag)
        self.filter.window = self.parameters.stream_window if recovered else 0.0
        return self.filter.add(self._checked(sample, place, time), time, now, self.clock.period)

    def _place(self, sample: PoseSample) -> Array:
        home = self._machine
        turn = rotation_vector(sample.rotation @ home.home_rotation.T)
        return np.concatenate([sample.position - home.home_position, turn])

    def _compare(self, place: Array, time: float, now: float) -> None:
        """Notice poses that no motion of these legs, or within the limits, explains."""
        if not self._places:
            return
        before = self._places[-1]
        jumps = self._jumps(before, place, time - self._raw)
        if len(self._places) > 1:
            jump = float(np.abs(place - before).max())
            back = float(np.abs(place - self._places[-2]).max())
            self._shakes.append(back < SHAKEN_RETURN * jump and self._shaken(before, place))
            if jumps and back < RETURN * jump:
                self._returns.append(now)
            often = len(self._returns) == CONTRADICTIONS and now - self._returns[0] < CONTRADICTED
            if often or sum(self._shakes) >= SHAKES:
                self.clear()
                raise Contradiction(f"poses jump back and forth by {short(jump)} m or rad: two senders?")
        if jumps and not self.ready:
            self.filter.clear()
            self.clock.clear()

    def _shaken(self, before: Array, after: Array) -> bool:
        """Check whether a way there and back in two periods is beyond the acceleration limit."""
        length = np.repeat([1.0, self._machine.characteristic_length], 3)
        bend = 2.0 * np.abs(length * (after - before)).max() / max(self.clock.period, 1e-3) ** 2
        far = np.abs(after - before).max() > TOLERATED
        return bool(far and bend > SHAKEN * self.parameters.max_acceleration)

    def _jumps(self, before: Array, after: Array, elapsed: float) -> bool:
        legs = leg_geometry(self._machine, self._machine.home_position, self._machine.home_rotation)
        moved = np.abs(legs.jacobian @ (after - before))
        return bool((moved > self._speeds * max(elapsed, self.clock.period, 1e-3)).any())

    def _checked(self, sample: PoseSample, place: Array, time: float) -> PoseSample:
        """The pose, without a twist until twists have been found to agree with the poses."""
        if sample.twist is None:
            self._twists.clear()
            return sample
        self._twists.append((time, place, sample.twist))
        while time - self._twists[0][0] > 1.5 * TWIST_SPAN:
            self._twists.popleft()
        times = np.array([one[0] for one in self._twists])
        if times[-1] - times[0] < TWIST_SPAN:
            return sample._replace(twist=None)
        twists = np.array([one[2] for one in self._twists])
        way = self._twists[-1][1] - self._twists[0][1]
        integrated = (0.5 * np.diff(times)[:, None] * (twists[1:] + twists[:-1])).sum(axis=0)
        path = (np.diff(times)[:, None] * np.abs(twists[1:])).sum(axis=0)
        error = np.abs(integrated - way)
        wrong = error > np.maximum(TWIST_ERROR * np.maximum(path, np.abs(way)), LEAST_TWIST_ERROR)
        self.twists_ignored = bool(wrong.any())
        return sample._replace(twist=None) if self.twists_ignored else sample

    def _curve(self, place: Array, time: float) -> None:
        """Estimate the error between poses from their fourth difference, where they come evenly."""
        self._places.append(place)
        self._moments.append(time)
        steps = [b - a for a, b in pairwise(self._moments)]
        even, period = EVEN, self.clock.period
        if len(steps) == 4 and (1.0 - even) * period < min(steps) and max(steps) < (1.0 + even) * period:
            a, b, c, d, e = self._places
            found = CURVED * float(np.abs(a - 4.0 * b + 6.0 * c - 4.0 * d + e).max())
            self._curved += 0.05 * (found - self._curved)

    # Reports

    @property
    def rate(self) -> float:
        """Poses per second; 0 where there is no stream [Hz]."""
        return 1.0 / self.clock.period if self.clock.period > 0.0 else 0.0

    @property
    def lag(self) -> float:
        """Mean lag of the motion behind the poses' times, at the time of the states [s]."""
        return DELAY * self.clock.period + self._lag

    @property
    def remarks(self) -> list[str]:
        """Warnings about the stream."""
        found = []
        if self.twists_ignored:
            found.append("twists contradict the poses and are ignored: m/s and rad/s in the base frame?")
        if self.clock.period > SLOWEST and self._curved > TOLERATED:
            needed = self.rate * (self._curved / TOLERATED) ** 0.25
            found.append(
                f"a stream of {short(self.rate)} Hz is too slow for its motion, which may be"
                f" {short(1e3 * self._curved)} mm or mrad off: send {short(needed)} Hz or more"
            )
        return found

    @property
    def count(self) -> int:
        """Number of poses in a row."""
        return self.filter.count

    def coming(self, now: float) -> bool:
        """Check whether poses come at ``now`` [s]."""
        return not self.filter.ended(now)


class Contradiction(TrajectoryError):
    """Poses of two senders."""
