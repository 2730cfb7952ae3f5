"""Random legal commands of operators to one platform, and the invariants of every cycle.

The platforms weigh 2 kg, 25 kg and 2 t. In half of the sequences something is declared wrongly: masses,
friction of 0 to 3 times the real one, gravity that is tilted by up to 10 degrees. The events: trajectories,
streams, services, payloads, pushes, a leg that jams, gains, live limits, lost states. For every cycle: no
leg is faster than MARGIN of its speed limit, none comes nearer to an end stop than GAP, and none moves on
engaged brakes, on which a parked platform may rest on its stops. Excused are lost states and pushes, and a
moment after each. With a wrong declaration a platform sags until that is estimated, with gains below SOFT
it is farther from its reference than that is from a stop, a leg that was jammed comes back to its place
beside a stop, and one that fell onto a stop while states were missing rests there: these may touch the
stops, no faster than the platform settles, or by half faster where a leg has jammed, which tilts the platform
and follows it from behind; they yield a little. The park pose lies as low as the legs allow, where it may
touch them at CREEP. Where low gains meet a wrong declaration, a fifth of the weight moves the platform by a
third of its stroke, and its stops are not judged.
"""

from __future__ import annotations

import contextlib
import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from arm_operator import EXCUSED, MARGIN, share, spread, unit
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from stop_rigs import PlatformRig

from robot_dynamics import stewart
from robot_dynamics.control.stewart.operating_modes import OperatingMode
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.simulation.arm import BRAKE
from robot_dynamics.stewart.orientation import rotation_from_vector

GAP, FREED, SOFT, TILTED, CREEP = 2.5e-4, 4.0, 50.0, 1.5, 0.1
"""Part of the stroke; time in which a leg that was jammed comes back to its place [s]; a low kp [1/s²];
speed of a leg that jammed or is beside one, and of one at the park pose, over the speed of settling."""


class PlatformOperator(RuleBasedStateMachine):
    """One platform and its operator."""

    mapping: ClassVar[dict[str, Any]]

    @initialize(
        wrong=st.sampled_from(["nothing", "nothing", "masses", "friction", "gravity"]),
        size=unit,
        towards=st.floats(0.0, 2.0 * np.pi),
    )
    def begin(self, wrong: str, size: float, towards: float) -> None:
        """A new controller at home, whose file may be wrong."""
        declared, world = copy.deepcopy(self.mapping), {}
        if wrong == "masses":
            world["mass_scale"] = 0.8 + 0.4 * size
        elif wrong == "friction":
            friction = declared["leg_defaults"]["friction"]
            declared["leg_defaults"]["friction"] = {k: 3.0 * size * one for k, one in friction.items()}
        elif wrong == "gravity":
            tilt = np.radians(10.0 * size)
            across = 9.81 * float(np.sin(tilt))
            sideways = [across * float(np.cos(towards)), across * float(np.sin(towards))]
            declared["gravity"] = [*sideways, -9.81 * float(np.cos(tilt))]
        self.rig = PlatformRig(stewart.load(declared), plant=world, real=stewart.load(self.mapping))
        legs = self.rig.machine.legs
        self.force, self.reach = legs[0].limits.force, legs[0].limits.longest - legs[0].limits.shortest
        self.home = self.rig.machine.home_position
        self.excused, self.sags, self.freed, self.fell = 0.0, wrong != "nothing", -np.inf, False
        self.rests = None
        self._cycles(3)

    @rule(
        places=st.lists(st.lists(share, min_size=6, max_size=6), min_size=1, max_size=3),
        times=st.lists(spread(0.1, 3.0), min_size=3, max_size=3),
        reach=spread(0.01, 0.5),
        then=unit,
    )
    def trajectory(self, places: list[list[float]], times: list[float], reach: float, then: float) -> None:
        """A trajectory of one to three poses around home."""
        reach *= self.reach
        moments = np.cumsum(times[: len(places)]).tolist()
        points = []
        for moment, place in zip(moments, places, strict=True):
            angle = 0.5 * reach * place[5]
            turn = (0.0, 0.0, float(np.sin(angle)), float(np.cos(angle)))
            points.append(PoseWaypoint(moment, (self.home + reach * np.array(place[:3])).tolist(), turn))
        with contextlib.suppress(RobotDynamicsError):
            self.rig.control.follow(points)
        self._cycles(round(then * min(moments[-1], 3.0) / self.rig.period))

    @rule(
        count=st.integers(1, 60),
        rate=st.sampled_from([30.0, 60.0, 100.0]),
        wave=st.lists(share, min_size=6, max_size=6),
        reach=spread(0.003, 0.75),
        frequency=spread(0.1, 2.0),
        stamped=st.booleans(),
    )
    def stream(
        self, count: int, rate: float, wave: list[float], reach: float, frequency: float, stamped: bool
    ) -> None:
        """Poses one by one, a wave around home."""
        reach *= self.reach
        for k in range(count):
            size = reach * np.sin(2.0 * np.pi * frequency * k / rate)
            place = self.home + size * np.array(wave[:3])
            turned = rotation_from_vector(size * np.array(wave[3:]))
            stamp = self.rig.time - self.rig.period if stamped else None
            with contextlib.suppress(RobotDynamicsError):
                self.rig.control.command_pose(PoseSample(stamp, place, turned, None))
            self._cycles(max(round(1.0 / rate / self.rig.period), 1))

    @rule(how=st.sampled_from(["hold", "emergency_stop", "park", "unpark", "reset_fault", "resume_stream"]))
    def command(self, how: str) -> None:
        """A service."""
        getattr(self.rig.control, how)()
        self._cycles(50)

    @rule(mass=spread(1e-3, 0.7), place=st.lists(share, min_size=3, max_size=3), declared=st.booleans())
    def payload(self, mass: float, place: list[float], declared: bool) -> None:
        """A declared load, which the real platform does not have: on brakes it is taken over all the same."""
        center = 0.75 * self.reach * np.array(place)
        mass *= self.force / 17.0
        body = RigidBody(mass, center, np.eye(3) * mass * 0.05)
        with contextlib.suppress(RobotDynamicsError):
            self.rig.control.change_payload(
                body if declared else RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))
            )
            self.sags = self.sags or (declared and self.rig.brakes)
        self._cycles(50)

    @rule(wrench=st.lists(share, min_size=6, max_size=6), size=spread(1e-4, 0.2), duration=spread(0.02, 0.5))
    def push(self, wrench: list[float], size: float, duration: float) -> None:
        """Somebody pushes at the platform."""
        lever = 0.75 * self.reach
        force = size * self.force * np.array(wrench)
        self.rig.plant.set_wrench(force * [1.0, 1.0, 1.0, lever, lever, lever])
        self.excused = np.inf
        self._cycles(round(duration / self.rig.period))
        self.rig.plant.set_wrench(np.zeros(6))
        self.excused = self.rig.time + 2.0

    @rule(which=st.integers(0, 5), duration=spread(0.02, 1.0))
    def jam(self, which: int, duration: float) -> None:
        """One leg jams for a while, and is freed."""
        plant = self.rig.plant
        if self.rig.brakes:
            return
        plant._built.model.dof_frictionloss[plant._built.slide_rates[which]] = BRAKE
        self.freed = np.inf
        self._cycles(round(duration / self.rig.period))
        plant.set_brakes(self.rig.brakes)
        self.freed = self.rig.time
        self._cycles(50)

    @rule(kp=spread(10.0, 2e4), damping=spread(0.2, 5.0))
    def gains(self, kp: float, damping: float) -> None:
        """Other gains."""
        self._set(kp=(kp,), kv=(min(2.0 * damping * kp**0.5, 1e4),))

    @rule(
        values=st.fixed_dictionaries(
            {},
            optional={
                "max_acceleration": spread(0.5, 10.0),
                "max_angular_acceleration": spread(0.5, 10.0),
                "stop_deceleration": spread(4.0, 20.0),
                "settle_speed": spread(0.02, 0.3),
                "governed_share": st.floats(0.5, 0.95),
                "model_change_time": spread(0.01, 10.0),
                "max_effort_step": spread(0.001, 2.0),
                "on_stream_end": st.sampled_from(["park", "settle", "hold"]),
                "stream_jerk": st.sampled_from([0.0, 20.0, 200.0]),
            },
        )
    )
    def limits(self, values: dict[str, Any]) -> None:
        """Other live values."""
        self._set(**values)

    @rule(duration=spread(0.01, 0.4))
    def lose(self, duration: float) -> None:
        """No states for a while."""
        rig = self.rig
        rig.control.lost_states(0.0)
        for k in range(max(round(duration / 0.01), 1)):
            safe = rig.control.safe_command(0.01 * k).effort
            assert np.isfinite(safe).all()
            rig.plant.advance(0.01, safe)
            rig.time += 0.01
        self.excused = rig.time + EXCUSED
        self._cycles(20)

    @rule(duration=spread(0.02, 4.0))
    def wait(self, duration: float) -> None:
        """Nothing happens."""
        self._cycles(round(duration / self.rig.period))

    def _set(self, **values: Any) -> None:
        control = self.rig.control
        with contextlib.suppress(RobotDynamicsError, TypeError):
            control.parameters = replace(control.parameters, **values)
        self._cycles(10)

    def _cycles(self, count: int) -> None:
        rig = self.rig
        for _ in range(count):
            rig.cycle()
            now = rig.time
            quick = np.abs(rig.plant.velocity) / rig.speeds
            if rig.brakes and self.rests is None and quick.max() < 1e-3:
                self.rests = rig.plant.position
            if not rig.brakes:
                self.rests = None
            if self.rests is not None:
                moved = np.abs(rig.plant.position - self.rests).max()
                assert moved < 5e-3 * self.reach, (
                    f"it moves by {1e3 * moved:.1f} mm on its brakes at {now:.3f} s"
                )
                continue  # a parked platform may rest on its stops
            low, high = rig.strokes.T
            gaps = np.minimum(rig.plant.position - low, high - rig.plant.position)
            gap, nearest = gaps.min(), np.abs(rig.plant.velocity)[gaps < GAP * self.reach]
            self.fell = gap < GAP * self.reach and (self.fell or now < self.excused)
            if now < self.excused:
                continue
            assert quick.max() < MARGIN, f"{quick.max():.2f} of a leg's speed limit at {now:.3f} s"
            soft = min(rig.control.parameters.kp) < SOFT
            if soft and self.sags:
                continue
            jammed, fastest = now < self.freed + FREED, nearest.max(initial=0.0)
            most = (TILTED if jammed else MARGIN) * rig.control.parameters.settle_speed
            slow = (soft or self.sags or self.fell or jammed) and fastest < most
            if rig.control.modes.mode is OperatingMode.SETTLING:
                slow = slow or fastest < CREEP * rig.control.parameters.settle_speed
            assert gap > (-4.0 * GAP if slow else GAP) * self.reach, (
                f"a leg comes within {1e3 * gap:.2f} mm of its end stop at {now:.3f} s"
            )
        rig.log.clear()
