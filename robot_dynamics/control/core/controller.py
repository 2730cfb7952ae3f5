"""A controller: the thin binding of the control core, which every robot's controller shares."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic

import numpy as np

from robot_dynamics.control.core.library import array_at, doubles, ffi, load_core
from robot_dynamics.control.core.plans import Plans
from robot_dynamics.control.core.settings import Settings
from robot_dynamics.control.core.snapshot import PHASES, Snapshot
from robot_dynamics.control.parameters import LoopParameters
from robot_dynamics.control.protocol import MOVES, Command, Phase, Planned, PlanStart, R, plan_start_of
from robot_dynamics.control.protocol import FollowedTrajectory as Timed
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.control.supervision import LOW_GAINS, RULES, Rule, Trip, rules_of
from robot_dynamics.errors import RobotDynamicsError, StateError, TrajectoryError, short
from robot_dynamics.inputs.arrays import measured, of_type, real_number
from robot_dynamics.spatial import Array

_LONGEST_TEXT = 200
LONGEST_LINE = 600
"""Bytes of a line that the core writes."""


class CoreController(Generic[R]):
    """Schedule, hold, watchdog, cross-fade and limits in C; a robot adds its law, its model and its plans.

    Whoever runs the cycle, this object in Python or a thread that knows nothing of Python, alone calls
    :meth:`update`, :meth:`observe`, :meth:`lost_states` and :meth:`safe_command`. Everything else may be
    called from one other thread at any time: what it changes is handed over as a finished value and counts
    from the next cycle on.

    Without a trajectory the robot holds where it is. Time is the time of the joint states. When it runs
    backwards, the robot jumps (a simulation was reset) or states come back after a loss, what is followed is
    dropped and the robot holds where it is found.

    Args:
        joints: n.

    Attributes:
        handle: address of the ``rd_core``.

    Raises:
        BackendError: there is no compiler.
    """

    machine: ClassVar[str]
    """Function of the library that has its ``rd_machine``."""
    telemetry: int = 0
    """Number of values that the robot reports beside those of every core."""

    def __init__(self, joints: int) -> None:
        self._library = load_core()
        self._settings: dict[int, Settings] = {}
        self._joints = joints
        self._number = self._model = self._law = 0
        self._models: dict[int, Any] = {}
        self._went_back = False
        self._predecessor: CoreController[R] | None = None
        self._run_elsewhere: Callable[[str], None] | None = None
        self._core = self._library.rd_core_new(joints, self._new_settings(True, True).value)
        if not self._core:
            raise MemoryError("no memory for a controller")
        self.handle = int(ffi().cast("uintptr_t", self._core))
        self._snapshot = Snapshot(self._library, self._core, joints)
        self._plans: Plans[R] = Plans(
            self._library,
            self._core,
            joints,
            self._snapshot,
            self.reference_of,
            self._take_plan,
        )
        self._measured = np.zeros((2, joints))
        self._inputs = doubles(self._measured[0]), doubles(self._measured[1])
        self._results = ffi().new("rd_results *")
        self._library.rd_core_results(self._core, self._results)
        self._phase, self._rows = self._results.phase, array_at(self._results.results, 5 * joints)
        self._rows.shape = 5, joints

    def __del__(self) -> None:
        if getattr(self, "handle", 0):
            self._library.rd_core_free(self._core)

    def driven_by(self, perform: Callable[[str], None] | None) -> None:
        """Let another thread run the cycle.

        Args:
            perform: has it do one of the requests ``hold``, ``emergency_stop``, ``take_plan`` and
                ``reset_fault``, and returns.
        """
        self._run_elsewhere = perform

    # What a robot adds

    @property
    def parameters(self) -> LoopParameters:
        """The parameters in force."""
        raise NotImplementedError

    @property
    def python_parts(self) -> str:
        """Parts of the cycle that run in Python, by name; empty: none, so a real-time thread can run it."""
        return ""

    @property
    def awaits(self) -> str:
        """State that no cycle can do without and that has not come yet; empty: there is none."""
        return ""

    @property
    def measured_joints(self) -> Sequence[str]:
        """Names of joints that somebody else moves, and whose state the model takes."""
        return ()

    def conduct(self) -> float:
        """Do the work beside the cycles where another thread runs them.

        Returns how long the next call may wait [s].
        """
        return math.inf

    def before_state(self, time: float) -> None:
        """Do the work before a cycle at ``time`` [s] that a host runs in this thread."""

    def after_state(self) -> None:
        """Do the work after a cycle that a host runs in this thread."""

    def core_settings(self) -> Settings:
        """The present parameters and model without their numbers."""
        raise NotImplementedError

    @property
    def model_in_use(self) -> Any:
        """Whatever a change of model replaces; it can be set to what it was earlier."""
        raise NotImplementedError

    @model_in_use.setter
    def model_in_use(self, model: Any) -> None:
        raise NotImplementedError

    def reference_of(self, position: Array, velocity: Array, acceleration: Array) -> R:
        """A reference from its coordinates (n,) and their derivatives."""
        raise NotImplementedError

    def check_start(self) -> None:
        """Check whether control may begin where the robot was seen last.

        Raises:
            ParameterError: it may not.
        """

    @property
    def command_offset(self) -> Array | None:
        """(n,) added to measured positions where commands report them; None: they report the reference."""
        return None

    def at_rest(self, position: Array) -> R:
        """The reference that stays at a place (n,)."""
        zero = np.zeros(len(position))
        return self.reference_of(position.copy(), zero, zero)

    # What is known

    @property
    def phase(self) -> Phase:
        """The present phase."""
        now = self._snapshot.read()
        phase = PHASES[now.phase]
        return Phase.TRACKING if phase.controls and self._plans.waiting(now) else phase

    @property
    def epoch(self) -> int:
        """Counter of what makes an unfinished plan void: holds, discontinuities, losses and newer plans."""
        return self._plans.epoch(self._snapshot.read())

    @property
    def time(self) -> float:
        """Time of the last joint state [s]."""
        return float(self._snapshot.read().time)

    @property
    def zero_velocities(self) -> str:
        """Warning where measured velocities are zeros while the joints move; empty where they are not."""
        if not self._snapshot.read().estimates:
            return ""
        return (
            "joint velocities are always zero while the joints move: they are estimated from the positions;"
            " give velocities, or none"
        )

    @property
    def discontinuity(self) -> str:
        """Reason why the last state cannot follow from the one before; empty when it can."""
        self._library.rd_core_results(self._core, self._results)
        return self.words_of(self._results)

    def words_of(self, results: Any) -> str:
        """A discontinuity in words, from ``rd_results`` or a cycle's record; empty when there is none."""
        text = ffi().new("char[]", _LONGEST_TEXT)
        size, more = results.discontinuity_size, results.discontinuity_more
        self._library.rd_discontinuity_text(results.discontinuity, size, more, text, _LONGEST_TEXT)
        return str(ffi().string(text).decode())

    @property
    def drive_reference(self) -> tuple[Array, Array]:
        """Position and velocity (n,) beside the last effort, for drives with a loop of their own.

        Where the command is no effort, they are the setpoints. Else they are the reference of an arm, or rest
        where it is measured under a law that follows nothing. NaN and 0 before the first state
        [rad or m, rad/s or m/s].
        """
        position, velocity = np.zeros((2, self._joints))
        self._library.rd_core_drive_reference(self._core, doubles(position), doubles(velocity))
        return position, velocity

    # What is handed over

    def take_over_from(self, other: Any) -> None:
        """Begin with the effort of another controller of the same joints, and leave it likewise.

        Raises:
            StateError: it has another number of joints.
        """
        of_type("other", other, CoreController)
        if other._joints != self._joints:
            raise StateError(f"the other controller has {other._joints} joints; this one has {self._joints}")
        if other is not self._predecessor:
            other._predecessor = None
            self._predecessor = other
            self._library.rd_core_succeed(self._core, other._core)

    def plan_start(self, start: float | None, allowance: float = 0.0) -> PlanStart[R]:
        """See :meth:`Controller.plan_start`."""
        plan_start = plan_start_of(self, start, allowance)
        delay, most = plan_start.start - plan_start.now, self.parameters.max_start_delay
        if delay > most:
            raise TrajectoryError(
                f"the trajectory would begin {short(delay)} s from now; max_start_delay allows {short(most)}"
            )
        return plan_start

    def departure(self, start: float | None, allowance: float = 0.0) -> PlanStart[R]:
        """Earlier name of :meth:`plan_start`."""
        return self.plan_start(start, allowance)

    def accept(self, planned: Planned[R]) -> str:
        """Follow a finished plan.

        Where another thread runs the cycle, that thread decides at once, without waiting for a state.

        Returns:
            The reason why the plan is discarded and the active trajectory goes on; empty when it is accepted.
            A plan is void when a hold, a discontinuity, a loss of states or another plan came after its start
            was asked for, and when it should have begun already.
        """
        of_type("planned", planned, Planned)
        return self._plans.accept(planned) or self._plans.verdict()

    def _take_plan(self) -> None:
        if self._run_elsewhere is not None:
            self._run_elsewhere("take_plan")
        else:
            self._library.rd_core_take_plan(self._core)

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

    def motion(self, times: Array) -> tuple[Array, Array, Array]:
        """Coordinates of the references at ``times`` (m,) [s], and their derivatives, (m, n) each."""
        return self._plans.motion(times)

    def follows(self, trajectory: Timed[R]) -> bool:
        """Check whether ``trajectory`` is followed, will be from its start on, or was followed to its end.

        Who looks at a cycle of a moment ago must not believe that the trajectory was dropped because it has
        ended since.
        """
        return self._plans.follows(trajectory)

    def hold(self) -> None:
        """Slow down along the path that is followed, and hold there; at rest the reference stays."""
        self._stop("hold", self._library.rd_core_hold)

    def stop_at_once(self) -> None:
        """Slow down like :meth:`hold`, with the deceleration of an emergency stop."""
        self._stop("emergency_stop", self._library.rd_core_emergency_stop)

    def latch(self) -> None:
        """Let the stop or the hold that is active stay in force until :meth:`reset_fault`."""
        self._stop("latch", self._library.rd_core_latch)

    def stop_in_motion(self) -> None:
        """Begin a protective stop where something is followed: what is declared contradicts it."""
        if self.phase is Phase.TRACKING:
            self.stop_at_once()
            self.latch()

    def _stop(self, request: str, stop: Callable[[Any], None]) -> None:
        if self._run_elsewhere is not None:
            self._run_elsewhere(request)
        else:
            stop(self._core)

    @property
    def latched(self) -> bool:
        """True while a protective stop is in force."""
        return bool(self._snapshot.read().trip.latched)

    @property
    def trip(self) -> Trip | None:
        """The last trip of a rule of supervision; None before the first."""
        trip = self._snapshot.read().trip
        return Trip.of(trip) if trip.rule else None

    def rules(self) -> list[Rule]:
        """Every rule of supervision with its thresholds and the largest value so far."""
        largest = self._snapshot.read().largest
        return rules_of(self._library, self._settings[self._number].value, self._joints, largest)

    def low_gains(self) -> list[str]:
        """Warnings about the gains, in words: a large derived following error, or stable with no period."""
        settings = self._settings[self._number].value
        found, periods = [], np.zeros(self._joints)
        self._library.rd_longest_periods(settings, self._joints, doubles(periods))
        if not periods.all():
            found.append(
                "kp, kv and loop_delay are stable with no period of the states: the rule slow_states will"
                " lower the gains or stop the robot; loop_delay -1 switches it off"
            )
        for j, value in enumerate(array_at(settings.rules.following, self._joints).tolist()):
            name, unit = self.joint_of(Trip(0, "following_error", j, 0.0, 0.0, 0.0, False, False))
            if LOW_GAINS[unit] < value < math.inf:
                found.append(
                    f"{name} may come {value:.3g} {unit} from its reference before a protective stop: kp is"
                    " low for its weight, friction and inertia"
                )
        return found

    @property
    def characteristics(self) -> str:
        """Stiffness, dry friction over it and natural frequency of each joint, in words; empty: not known."""
        return ""

    def protect(self, rule: str = "repeated_faults") -> None:
        """Begin with a protective stop that an earlier controller has left in force."""
        self._library.rd_core_protect(self._core, list(RULES).index(rule))

    @property
    def stop_state(self) -> StopState | None:
        """State that the next controller of this robot must know; None: what was remembered still counts."""
        return StopState.PROTECTED if self._snapshot.read().trip.latched else StopState.RELEASED

    def begin_at_rest(self, state: StopState) -> None:
        """Begin as an earlier controller was left: a robot without brakes is held until a reset."""
        self.protect()

    def words_of_trip(self, trip: Trip) -> str:
        """A trip as a line: joint, measured, limit, what the controller did, how to go on."""
        told = {name: getattr(trip, name) for name in ("measured", "allowed", "joint", "stops", "reverted")}
        value = ffi().new("rd_trip *", {"rule": list(RULES).index(trip.rule), **told})
        name, unit = self.joint_of(trip)
        text = ffi().new("char[]", LONGEST_LINE)
        self._library.rd_trip_text(value, name.encode(), unit.encode(), text, LONGEST_LINE)
        return str(ffi().string(text).decode(errors="replace"))

    def joint_of(self, trip: Trip) -> tuple[str, str]:
        """Name of the joint or robot that a trip concerns, and its unit."""
        raise NotImplementedError

    def reset_fault(self) -> str:
        """End a protective stop, which moves nothing; the reason where there is none, or it still moves."""
        picture = self._snapshot.read()
        if not picture.trip.latched:
            return "no protective stop is in force"
        if picture.moves:
            return MOVES
        if self._run_elsewhere is not None:
            self._run_elsewhere("reset_fault")
        else:
            self._library.rd_core_reset_fault(self._core)
        return ""

    # The cycle

    def update(self, time: float, position: Array, velocity: Array) -> Command:
        """One control cycle.

        Args:
            time: of the joint state [s].
            position: (n,) measured [rad or m].
            velocity: (n,) measured [rad/s or m/s].

        Raises:
            StateError: the robot cannot be in this state, or not be controlled there.
        """
        given, joints = self._measured, self._joints
        given[0] = measured("position", position, joints)
        given[1] = measured("velocity", velocity, joints)
        if not (type(time) is float and math.isfinite(time)):
            time = real_number("time", time)
        if not self._library.rd_core_update(self._core, time, *self._inputs):
            raise self.failure()
        return self._command()

    def observe(self, position: Array) -> None:
        """Keep the last known place fresh while not in control; an impossible position changes nothing."""
        with contextlib.suppress(RobotDynamicsError):
            place = measured("position", position, self._joints)
            if np.isfinite(place).all():
                self._measured[0] = place
                self._library.rd_core_observe(self._core, self._inputs[0])

    def lost_states(self, age: float = 0.0) -> None:
        """Joint states have stopped, the last is ``age`` old [s]: from now on ``safe_command`` goes out."""
        self._library.rd_core_lost_states(self._core, real_number("age", age))

    def safe_command(self, since: float) -> Command:
        """The declared fail-safe output, ``since`` seconds after the fault began."""
        self._library.rd_core_safe_command(self._core, real_number("since", since))
        return self._command()

    def failure(self) -> RobotDynamicsError:
        """The error of a state for which there is no effort."""
        return StateError("the model has no finite effort for this state")

    def _command(self) -> Command:
        effort, unlimited, position, velocity, acceleration = self._rows.copy()
        reference = self.reference_of(position, velocity, acceleration)
        return Command(effort, unlimited, reference, PHASES[self._phase[0]])

    # Settings

    def went_back(self) -> bool:
        """Return True once after a trip has put the model before the last change in force again."""
        if self._take_back():
            self.offer_settings(True, False)
        found, self._went_back = self._went_back, False
        return found

    def _take_back(self) -> bool:
        """Use the model of the core, where that has taken the last one back; whether it has."""
        now = self._snapshot.read() if self._models else None
        if now is None or now.refused < self._model:
            return False
        self.model_in_use = self._models[now.model]
        self._went_back = True
        return True

    def offer_settings(self, model: bool, law: bool) -> None:
        """Use the present parameters and model from the next cycle on.

        Args:
            model: it is another one.
            law: it is another one, or has other gains.
        """
        if not model:
            model = self._take_back()
        settings = self._new_settings(model, law)
        now = self._snapshot.read()
        used = (now.former, self._number)
        self._settings = {
            n: one for n, one in self._settings.items() if n >= now.oldest_settings or n in used
        }
        models = {one.value.model for one in self._settings.values()}
        self._models = {n: one for n, one in self._models.items() if n in models}
        self._library.rd_core_offer_settings(self._core, settings.value)

    def _new_settings(self, model: bool, law: bool) -> Settings:
        """The present parameters and model as a value of the core's, kept until it is not used any more."""
        settings = self.core_settings()
        self._number += 1
        self._model += model
        self._law += law
        if model:
            self._models[self._model] = self.model_in_use
        value = settings.value
        value.machine = getattr(self._library, self.machine)()
        value.number, value.model, value.law = self._number, self._model, self._law
        self._settings[self._number] = settings
        return settings
