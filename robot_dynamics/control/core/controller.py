"""A controller whose cycle runs in C: what all machines have in common."""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable
from typing import Any, ClassVar, Generic

import numpy as np

from robot_dynamics.control.core.library import Results, Settings, address, load_core, machine_address
from robot_dynamics.control.core.plans import Plans
from robot_dynamics.control.core.snapshot import PHASES, Snapshot, discontinuity
from robot_dynamics.control.parameters import LoopParameters
from robot_dynamics.control.protocol import Command, Departure, Phase, Planned, R, departure_of
from robot_dynamics.control.protocol import Trajectory as Timed
from robot_dynamics.errors import RobotDynamicsError, StateError, TrajectoryError
from robot_dynamics.inputs.arrays import measured, of_type, real_number
from robot_dynamics.spatial import Array


class NativeController(Generic[R]):
    """Schedule, hold, watchdog, cross-fade and limits in C; a machine adds its law, its model and its plans.

    Whoever runs the cycle, this object in Python or a thread that knows nothing of Python, alone calls
    :meth:`update`, :meth:`observe`, :meth:`lost_states` and :meth:`safe_command`. Everything else may be
    called from one other thread at any time: what it changes is handed over as a finished value and counts
    from the next cycle on.

    Args:
        joints: n.
        library: of a core that has the machine's functions; the arms' when None.

    Attributes:
        handle: address of the ``rd_core``.

    Raises:
        BackendError: there is no compiler, or the model or its law are not there in C.
    """

    machine: ClassVar[str]
    """Name of the ``rd_machine`` in the library."""
    told: ClassVar[int] = 0
    """How many values the machine tells beside what every core does."""

    def __init__(self, joints: int, library: ctypes.CDLL | None = None) -> None:
        self._library = load_core() if library is None else library
        self._settings: dict[int, tuple[Any, ...]] = {}
        self._joints = joints
        self._number = self._model = self._law = 0
        self._predecessor: NativeController[R] | None = None
        self._run_elsewhere: Callable[[str], None] | None = None
        self.handle: int = self._library.rd_core_new(joints, ctypes.byref(self._new_settings(True, True)))
        if not self.handle:
            raise MemoryError("no memory for a controller")
        self._snapshot = Snapshot(self._library, self.handle, joints)
        self._plans: Plans[R] = Plans(self._library, self.handle, joints, self._snapshot, self.at_rest)
        self._results = Results()
        self._library.rd_core_results(self.handle, ctypes.byref(self._results))
        self._views = {
            name: np.ctypeslib.as_array(getattr(self._results, name), (joints,))
            for name in ("effort", "unlimited", "position", "velocity", "acceleration")
        }

    def __del__(self) -> None:
        if getattr(self, "handle", 0):
            self._library.rd_core_free(self.handle)

    def driven_by(self, perform: Callable[[str], None] | None) -> None:
        """Let another thread run the cycle: from now on ``perform("hold")`` asks that one to hold."""
        self._run_elsewhere = perform

    # What a machine adds

    @property
    def parameters(self) -> LoopParameters:
        """The parameters in force."""
        raise NotImplementedError

    def conduct(self) -> float:
        """What is left to do beside the cycles where another thread runs them.

        Returns how long the next call may wait [s].
        """
        return math.inf

    def core_settings(self) -> tuple[Settings, Any]:
        """The present parameters and model without their numbers, and what lives as long as they are used."""
        raise NotImplementedError

    def reference_of(self, position: Array, velocity: Array, acceleration: Array) -> R:
        """A reference from its coordinates (n,) and their derivatives."""
        raise NotImplementedError

    @property
    def command_offset(self) -> Array | None:
        """(n,) what is added to measured positions where commands tell them too; None: they do not."""
        return None

    def at_rest(self, position: Array) -> R:
        """The reference that stays at a place (n,)."""
        zero = np.zeros(len(position))
        return self.reference_of(position.copy(), zero, zero)

    # What is known

    @property
    def phase(self) -> Phase:
        """What the controller is doing."""
        now = self._snapshot.read()
        phase = PHASES[now.phase]
        return Phase.TRACKING if phase.controls and self._plans.waiting(now) else phase

    @property
    def epoch(self) -> int:
        """Counts what makes an unfinished plan void: holds, discontinuities, losses and newer plans."""
        return self._plans.epoch(self._snapshot.read())

    @property
    def time(self) -> float:
        """Of the last joint state [s]."""
        return float(self._snapshot.read().time)

    @property
    def discontinuity(self) -> str:
        """Why the last state cannot follow from the one before; empty when it can."""
        self._library.rd_core_results(self.handle, ctypes.byref(self._results))
        return self.words_of(self._results)

    def words_of(self, results: Any) -> str:
        """What ``results`` of a cycle, or a record of it, tell of a discontinuity."""
        return discontinuity(results)

    # What is handed over

    def take_over_from(self, other: Any) -> None:
        """Begin with the effort of another controller of the same joints, and leave it likewise.

        Raises:
            StateError: it has another number of joints.
        """
        if not isinstance(other, NativeController):
            return
        if other._joints != self._joints:
            raise StateError(f"the other controller has {other._joints} joints; this one has {self._joints}")
        if other is not self._predecessor:
            other._predecessor = None
            self._predecessor = other
            self._library.rd_core_succeed(self.handle, other.handle)

    def departure(self, start: float | None, allowance: float = 0.0) -> Departure[R]:
        """See :meth:`Controller.departure`."""
        return departure_of(self, start, allowance)

    def accept(self, planned: Planned[R]) -> str:
        """Follow a finished plan, or tell why it is discarded; see ``ControlCore.accept``.

        Where another thread runs the cycle, the next one decides.
        """
        of_type("planned", planned, Planned)
        discarded = self._plans.accept(planned)
        return discarded if discarded or self._run_elsewhere is None else self._plans.verdict()

    def _follow(self, planned: Planned[R]) -> Timed[R]:
        """Accept a plan; TrajectoryError with the reason when it is discarded."""
        discarded = self.accept(planned)
        if discarded:
            raise TrajectoryError(discarded)
        return planned.trajectory

    # What is followed

    def reference(self, time: float) -> R:
        """The reference at ``time`` [s]."""
        return self._plans.reference(time)

    def follows(self, trajectory: Timed[R]) -> bool:
        """Whether ``trajectory`` is being followed, will be from its start on, or was followed to its end.

        Who looks at a cycle of a moment ago must not believe that the trajectory was dropped because it has
        ended since.
        """
        return self._plans.follows(trajectory)

    def hold(self) -> None:
        """Stop following and hold where the machine is."""
        if self._run_elsewhere is not None:
            self._run_elsewhere("hold")
        else:
            self._library.rd_core_hold(self.handle)

    # The cycle

    def update(self, time: float, position: Array, velocity: Array) -> Command:
        """One control cycle; see ``ControlCore.update``."""
        q, qd = self._measured("position", position), self._measured("velocity", velocity)
        time = real_number("time", time)
        if not self._library.rd_core_update(self.handle, time, address(q), address(qd)):
            raise StateError("the model has no finite effort for this state")
        return self._command()

    def observe(self, position: Array) -> None:
        """Keep the last known place fresh while not in control; an impossible position changes nothing."""
        with contextlib.suppress(RobotDynamicsError):
            q = self._measured("position", position)
            self._library.rd_core_observe(self.handle, address(q))

    def lost_states(self, age: float = 0.0) -> None:
        """Joint states have stopped, the last is ``age`` old [s]: from now on ``safe_command`` goes out."""
        self._library.rd_core_lost_states(self.handle, real_number("age", age))

    def safe_command(self, since: float) -> Command:
        """The declared safe output, ``since`` seconds after the fault began."""
        self._library.rd_core_safe_command(self.handle, real_number("since", since))
        return self._command()

    def _measured(self, name: str, value: Array) -> Array:
        """``value`` as the core reads it: (n,), one after the other."""
        return np.ascontiguousarray(measured(name, value, self._joints))

    def _command(self) -> Command:
        effort, unlimited, *reference = (view.copy() for view in self._views.values())
        return Command(effort, unlimited, self.reference_of(*reference), PHASES[self._snapshot.read().phase])

    # Settings

    def offer_settings(self, model: bool, law: bool) -> None:
        """Use the present parameters and model from the next cycle on.

        Args:
            model: it is another one.
            law: it is another one, or has other gains.
        """
        settings = self._new_settings(model, law)
        oldest = self._snapshot.read().oldest_settings
        self._settings = {n: kept for n, kept in self._settings.items() if n >= oldest}
        self._library.rd_core_offer_settings(self.handle, ctypes.byref(settings))

    def _new_settings(self, model: bool, law: bool) -> Settings:
        """The present parameters and model as a value of the core's, kept until it is not used any more."""
        settings, kept = self.core_settings()
        self._number += 1
        self._model += model
        self._law += law
        settings.machine = machine_address(self._library, self.machine)
        settings.number, settings.model, settings.law = self._number, self._model, self._law
        self._settings[self._number] = settings, kept
        return settings
