"""The controller of a Stewart platform whose cycle runs in C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.control.core.controller import Settings
from robot_dynamics.control.core.governing import Governing
from robot_dynamics.control.core.plans import plan_value
from robot_dynamics.control.core.platform.controller import NativePlatform
from robot_dynamics.control.core.platform.library import BEYOND
from robot_dynamics.control.protocol import Command, Departure, Planned
from robot_dynamics.control.stewart.conductor import Conductor, Mode
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.descent import WAYS, descent
from robot_dynamics.control.stewart.governed import GovernedMotion
from robot_dynamics.control.stewart.governor import Reference
from robot_dynamics.control.stewart.operator import Operated, Operator
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.inputs.arrays import of_type
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Motion, StewartPlatform

ALL, FALLING, RISING = range(3)
"""What the forces' share does, in the order of the core's enumeration."""


class NativeStewartController(Operated, NativePlatform):
    """Control of one platform, as :class:`~robot_dynamics.control.stewart.controller.StewartController` in C.

    Law, holds, trajectories, watch, brakes' share and safe output are the core's. Governed motions are led
    by :meth:`conduct`, which whoever runs the cycle elsewhere calls every few milliseconds: what it hands
    over is finished, and ends in a stop when nothing further comes.

    Args:
        platform: the machine.
        parameters: gains, mode and safe output; replaceable at any time through ``parameters``.
        zero_lengths: (6,) leg lengths at which the joint positions are zero [m]; zero when None.

    Raises:
        BackendError: there is no compiler.
    """

    def __init__(
        self,
        platform: StewartPlatform,
        parameters: StewartParameters | None = None,
        zero_lengths: Array | None = None,
    ) -> None:
        parameters = StewartParameters() if parameters is None else parameters
        of_type("platform", platform, StewartPlatform)
        of_type("parameters", parameters, StewartParameters)
        self._conductor = Conductor(platform.machine, self.model_forces, parameters)
        self._brakes = self._wanted_brakes()
        self._descent: tuple[Any, Any] | None = None
        super().__init__(platform, parameters, zero_lengths)
        self._governing = Governing(self._plans, self._snapshot)
        self._operator = Operator(self, self._conductor)
        self._beyond = 0
        self._find_descent(parameters)
        self.offer_settings(model=False, law=False)

    def driven_by(self, perform: Callable[[str], None] | None) -> None:
        """See :class:`CoreController`."""
        super().driven_by(perform)
        self._governing.elsewhere = perform is not None

    # Settings

    def core_settings(self) -> Settings:
        """See :class:`NativePlatform`; with the brakes."""
        settings = super().core_settings()
        value = settings.value
        _, value.brakes, value.brake_from, value.brake_fade = self._brakes
        return Settings(value, (settings.kept, self._descent))

    def platform_model(self) -> Any:
        """See :class:`NativePlatform`; with the watch and the way down without states."""
        model, pace = super().platform_model(), self._conductor.pace
        model.watches = self._brakes[0]
        if self._descent is not None:
            model.descent = self._descent[0]
            model.blind_speed = self._parameters.blind_speed
            model.pace = [pace.acceleration, pace.angular_acceleration]
        return model

    def use_parameters(self, parameters: StewartParameters) -> None:
        """See :class:`NativePlatform`."""
        another = any(getattr(parameters, name) != getattr(self._parameters, name) for name in WAYS)
        self._conductor.use(parameters)
        self._brakes = self._wanted_brakes()
        if another:
            self._find_descent(parameters)
        super().use_parameters(parameters)

    def _find_descent(self, parameters: StewartParameters) -> None:
        """Plan the way down that is gone without states, where it is."""
        if parameters.safe_output != "settle":
            return
        spline = descent(self.platform.machine, self.model_forces, parameters).spline
        self._descent = plan_value(spline, 1, 0, 0)

    def _wanted_brakes(self) -> tuple[bool, int, float, float]:
        """Whether the state is watched, and how the forces' share goes: see ``Brakes.share``."""
        conductor = self._conductor
        brakes, timing = conductor.brakes, conductor.brakes.timing
        kind = FALLING if brakes.engaging else RISING if np.isfinite(brakes.since) else ALL
        since = brakes.since + timing.engage if brakes.engaging else brakes.since
        return conductor.mode is Mode.OPERATIONAL, kind, since, timing.fade

    def words_of(self, results: Any) -> str:
        """See :class:`NativePlatform`; a state beyond a limit is answered by settling."""
        words = super().words_of(results)
        return f"{words}; settling" if results.discontinuity >= BEYOND else words

    # Operation

    def unpark(self) -> str:
        """Leave the brakes, and from the park pose go home; why not, if so."""
        reason = super().unpark()
        self._offer_brakes()
        return reason

    def emergency_stop(self) -> str:
        """Stop and brake; why not, if so."""
        reason = super().emergency_stop()
        self._offer_brakes()
        return reason

    def begin_at_rest(self, state: StopState) -> None:
        """Begin as an earlier controller was left: brakes engaged and no forces until :meth:`unpark`."""
        super().begin_at_rest(state)
        self._offer_brakes()

    def departure(self, start: float | None, allowance: float = 0.0) -> Departure[Motion]:
        """See :class:`CoreController`; only in operation."""
        self._operator.check_ready()
        return super().departure(start, allowance)

    def accept(self, planned: Planned[Motion]) -> str:
        """See :class:`CoreController`; only in operation."""
        return self._operator.unready or super().accept(planned)

    # What the operator needs

    @property
    def present(self) -> Reference:
        """The reference when a motion that is handed over now may begin."""
        departure = self._governing.departure
        return Reference.of(departure, self.reference(departure))

    def capture(self) -> None:
        """Hold where the platform is, at once."""
        NativePlatform.hold(self)

    def take_up(self, motion: GovernedMotion | None) -> None:
        """Follow a governed motion, if there is one, whatever the mode."""
        if motion is None:
            return
        try:
            self._governing.begin(motion)
        except TrajectoryError:  # holds, jumps or losses come faster than it can be handed over
            self._conductor.release()
            self.capture()
        self._offer_brakes()

    # The front's part of the cycle

    def conduct(self) -> float:
        """Lead governed motions, and let modes and brakes follow what has become of them."""
        self._lead(None)
        self._change()
        idle = self._conductor.motion is None and self._conductor.mode not in (Mode.RISING, Mode.STOPPING)
        return np.inf if idle else self._governing.step

    def before_state(self, time: float) -> None:
        """See :class:`CoreController`: lead what is followed on."""
        self._lead(time)

    def after_state(self) -> None:
        """See :class:`CoreController`: let modes and brakes follow what has become of the cycle."""
        self._change()

    def update(self, time: float, position: Array, velocity: Array) -> Command:
        """One control cycle, where nobody else runs it; see :class:`CoreController`."""
        self.before_state(time)
        command = super().update(time, position, velocity)
        self.after_state()
        return command

    def _lead(self, time: float | None) -> None:
        if self._governing.lost():
            self._governing.drop()
            self._conductor.release()
        self._governing.go_on(time)

    def _change(self) -> None:
        """Modes and brakes, as the core's time has come to be."""
        now = self._snapshot.read()
        if self.phase.controls:
            if now.beyond != self._beyond and self._conductor.mode is Mode.OPERATIONAL:
                here = Reference.measured(self._governing.departure, self.pose)
                self.take_up(self._conductor.settle(now.time, here))
            if self._conductor.changes(now.time):
                ended = self._governing.motion
                self.take_up(self._conductor.next_motion(now.time, self.present))
                if self._governing.motion is ended:
                    self._governing.drop()
        self._beyond = now.beyond
        self._offer_brakes()

    def _offer_brakes(self) -> None:
        wanted = self._wanted_brakes()
        if wanted != self._brakes:
            self._brakes = wanted
            self.offer_settings(model=False, law=False)


AnyStewartController = StewartController | NativeStewartController
