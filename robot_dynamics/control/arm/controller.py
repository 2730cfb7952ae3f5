"""The controller of an arm: joint states in, joint efforts out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics.control.arm import guiding
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.commands import ArmCommands
from robot_dynamics.control.arm.contact import NOT_MEASURED, REACTIONS, External
from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.laws import PythonLaw, law_input, python_law
from robot_dynamics.control.arm.parameters import ArmParameters, arm_bounds, arm_stops, position_limits
from robot_dynamics.control.arm.spring_energy import spring_energy
from robot_dynamics.control.arm.tolerances import Stiffness
from robot_dynamics.control.arm.trajectory import Reference, turns
from robot_dynamics.control.core.controller import LONGEST_LINE
from robot_dynamics.control.core.library import array_at, doubles, ffi, load_core
from robot_dynamics.control.core.settings import Settings, loop_settings, supervised
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.control.supervision import RULES, Trip, thresholds
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.errors import (
    ModelError,
    ParameterError,
    RobotDynamicsError,
    StateError,
    WrongTypeError,
    quoted,
)
from robot_dynamics.inputs.arrays import of_type
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.parameters import per_joint
from robot_dynamics.spatial import Array

_MODES = tuple(enumerators("rd_arm_mode"))
_FAILS = list(enumerators("rd_standing")).index("fails")


class ArmController(ArmCommands):
    """Control of one arm by the law that its parameters choose.

    It needs no ROS: hand every joint state to :meth:`update` and send the efforts that it returns.

    Args:
        chain: the arm.
        dynamics: its model, or any object with ``inverse_dynamics(q, qd, qdd)``; None generates and compiles
            it, with the friction of the description.
        parameters: gains, mode and fail-safe output, the defaults when None; replaceable at any time through
            ``parameters``.

    Raises:
        BackendError: there is no compiler for the control core.
        ModelError: the model is of an arm with another number of joints.
        ParameterError: a list of parameters does not fit the joints, or gains are not stable with the
            declared ``control_period``.
    """

    machine = "rd_machine_arm"

    def __init__(
        self,
        chain: KinematicChain,
        dynamics: EffortModel | None = None,
        parameters: ArmParameters | None = None,
    ) -> None:
        of_type("chain", chain, KinematicChain)
        if dynamics is None:
            dynamics = ActuatedArm(compile_dynamics(chain, friction=False), chain, ActuatorParameters())
        if parameters is None:
            parameters = ArmParameters()
        of_type("parameters", parameters, ArmParameters)
        self._parameters = parameters
        self._dynamics = _model("dynamics", dynamics)
        self._python_parts = ""
        self._error: Exception | None = None
        self.telemetry = 2 * chain.dof
        self.energy_added = 0.0
        super().__init__(chain, parameters)
        self._check_gains(self._settings[self._number], parameters)

    def __repr__(self) -> str:
        return (
            f"ArmController({self.chain.name}: {self.chain.dof} joints, {self._parameters.mode},"
            f" {self.phase.value})"
        )

    def core_settings(self) -> Settings:
        """See :class:`CoreController`."""
        chain, parameters, arm = self.chain, self._parameters, self._dynamics
        drives = arm.drives if isinstance(arm, ActuatedArm) else ActuatorParameters(**_IDEAL).of(chain)
        kernel, constant, joints = self._kernel(self._links)
        driven = len(drives.rotor_inertia)
        if not joints == driven == chain.dof:
            raise ModelError(
                f"the model is of an arm with {joints} joints, its drives of one with {driven};"
                f" arm {quoted(chain.name)} has {chain.dof}"
            )
        law = self._python_law()
        slow = [] if isinstance(kernel, NativeKernel) else ["the model, which is not compiled"]
        slow += [f"the law {parameters.mode!r}"] if law is not None else []
        self._python_parts = " and ".join(slow)
        called = ffi().NULL if law is None else self._callback("rd_law", self._law_call(law, parameters.mode))
        mode = "called" if law is not None else parameters.mode
        settings = loop_settings(
            kernel.single_address if isinstance(kernel, NativeKernel) else kernel,
            parameters,
            arm_bounds(chain, parameters),
            arm_stops(chain, parameters),
            {
                "rotor_inertia": drives.rotor_inertia,
                "friction": drives.friction.matrix,
                "position_limits": position_limits(chain),
                "turn": turns(chain),
                **parameters.law_arrays(chain),
            },
            **{name: doubles(array) for name, array in constant.items()},
            beside=self.measured.pointer if self.measured is not None else ffi().NULL,
            driven=not drives.ideal,
            mode=_MODES.index(mode),
            called=called,
            **dict(zip(("brakes", "brake_from", "brake_fade"), self._share, strict=True)),
            brake_delay=parameters.brake_engage_time if self.rest.exists else 0.0,
            **parameters.law_numbers,
            **parameters.fields(chain, self._links),
        )
        task = None
        if parameters.frame_law:
            held = parameters.held_axes if mode == guiding.MODE else None
            task = parameters.task(chain, self._links, held)
            settings.value.task = task.value
        self._derive_gains(settings)
        observed = parameters.observed(chain, arm)
        if observed is not None:
            settings.value.measured = observed.value
        return self._supervised(Settings(settings.value, (settings.kept, kernel, task, observed)))

    def _derive_gains(self, settings: Settings) -> None:
        """Replace the gains of an impedance by those that are as fast as its springs."""
        value = settings.value
        if not load_core().rd_equivalent_gains(value, self.chain.dof, *self._ranges, value.kp, value.kv):
            nowhere = ParameterError("the model has no mass matrix at a pose within the range of the joints")
            raise self.failure() if self._error else nowhere

    @property
    def _ranges(self) -> list[Any]:
        """Lowest and highest positions (n) for the core."""
        return [doubles(limit) for limit in position_limits(self.chain)]

    @property
    def _links(self) -> EffortModel:
        """The model without drives."""
        return self._dynamics.links if isinstance(self._dynamics, ActuatedArm) else self._dynamics

    def _python_law(self) -> PythonLaw | None:
        """The law in force; None: the core has it."""
        return python_law(self._parameters.mode)

    def _supervised(self, settings: Settings) -> Settings:
        """The settings with the rules of supervision, some of them derived from the model."""
        joints = [self.chain.driving_joint(j) for j in range(self.chain.dof)]
        velocity = np.array([joint.limits.velocity for joint in joints])
        slides = ffi().new("int32_t[]", [joint.kind is JointKind.PRISMATIC for joint in joints])
        core, n = load_core(), self.chain.dof

        def found(judge: str, *given: Any) -> Array:
            """Values (n,) of a function of the core; infinite where the model gives no effort."""
            values = np.zeros(n)
            known = getattr(core, judge)(settings.value, n, *self._ranges, *given, doubles(values))
            return values if known else np.full(n, np.inf)

        derived = found("rd_arm_following", doubles(velocity), slides)
        unknown, inertia = found("rd_arm_unknown_efforts"), found("rd_arm_inertia")
        self._error = None
        given = self._parameters.max_following_error
        following = thresholds(per_joint(given, self.chain.joint_names, "max_following_error"), derived)
        rules = self._parameters.fields_of_rules(velocity)
        return supervised(
            settings,
            {
                "following": following,
                "contact": REACTIONS.index(self._parameters.on_contact),
                "retreat": self._parameters.retreat_distance,
                "inertia": inertia,
                "start_effort": unknown,
                **rules,
            },
        )

    def _kernel(self, links: EffortModel) -> tuple[Any, Mapping[str, Array], int]:
        """The inverse dynamics of the links as the core calls them, their constant inputs, and n."""
        make: Any = getattr(links, "evaluator", None)
        evaluator: Any = make("inverse_dynamics") if make is not None else None
        kernel = evaluator.kernel() if evaluator is not None else None
        if isinstance(kernel, NativeKernel):
            names = (array.name for array in evaluator.signature.constants)
            constant = dict(zip(names, evaluator.constants, strict=True))
            # The core hands over gravity, payload and measured joints; dry friction it adds along a heading.
            known = [(), ("gravity",), ("gravity", "payload")]
            if tuple(constant) in ([("gravity", "payload", "measured")] if self.measured else known):
                constant.pop("measured", None)
                return kernel, constant, evaluator.signature.outputs[0][0]
        if self.measured is not None:
            raise ParameterError("measured joints need compiled dynamics without friction in them")
        return self._callback("rd_kernel", self._model_call(links)), {}, self.chain.dof

    # Parts of the cycle in Python: an error becomes a state without an effort, and is raised to the caller.

    def _callback(self, kind: str, function: Callable[..., int]) -> Any:
        def note(kind: type[Exception], error: Exception, trace: Any) -> None:
            self._error = error

        return ffi().callback(kind, function, error=0, onerror=note)

    def _model_call(self, links: EffortModel) -> Callable[[Any, Any], int]:
        n = self.chain.dof

        def call(given: Any, out: Any) -> int:
            effort = links.inverse_dynamics(*(array_at(given[i], n).copy() for i in range(3)))
            return self._fill(out, effort, "the model")

        return call

    def _law_call(self, law: PythonLaw, name: str) -> Callable[[Any, Any, Any], int]:
        model = self._dynamics

        def call(context: Any, given: Any, out: Any) -> int:
            return self._fill(out, law(self.beside(model), law_input(given)), f"the law {name!r}")

        return call

    def _fill(self, out: Any, effort: Any, whose: str) -> int:
        values = np.asarray(effort, dtype=float)
        if values.shape != (self.chain.dof,):
            raise StateError(f"{whose} gives efforts of shape {values.shape}; expected ({self.chain.dof},)")
        array_at(out, self.chain.dof)[:] = values
        return 1

    def failure(self) -> RobotDynamicsError:
        error, self._error = self._error, None
        if error is None:
            return StateError(self.awaits) if self.awaits else super().failure()
        if isinstance(error, RobotDynamicsError):
            return error
        failure = StateError(f"{type(error).__name__}: {error}")
        failure.__cause__ = error
        return failure

    # What is known

    def joint_of(self, trip: Trip) -> tuple[str, str]:
        """See :class:`CoreController`."""
        if trip.joint < 0:
            return self.chain.name, ""
        return self.chain.joint_names[trip.joint], self._unit(trip.joint)

    @property
    def python_parts(self) -> str:
        """See :class:`CoreController`."""
        return self._python_parts

    def reference_of(self, position: Array, velocity: Array, acceleration: Array) -> Reference:
        """Joint positions are an arm's coordinates."""
        return Reference(position, velocity, acceleration)

    @property
    def effort_limits(self) -> Array:
        """(n,) [N·m or N], infinite where there is none."""
        return self._parameters.limits_of(self.chain)

    @property
    def external(self) -> External:
        """External efforts after the last joint state; thresholds are infinite where none are observed."""
        self._snapshot.read()
        return External(*self._snapshot.telemetry.reshape(2, -1).copy())

    @property
    def unobserved(self) -> str:
        """Reason why no external efforts are observed from measured ones; empty where there is none."""
        measured = self._settings[self._number].value.measured
        if not measured or not self.phase.controls or np.isfinite(self.external.threshold).any():
            return ""
        return f"no external efforts: {NOT_MEASURED}"

    @property
    def dynamics(self) -> EffortModel:
        """The model in use."""
        if self._take_back():
            self.offer_settings(True, False)
        return self._dynamics

    @property
    def model_in_use(self) -> EffortModel:
        """See :class:`CoreController`."""
        return self._dynamics

    @model_in_use.setter
    def model_in_use(self, model: EffortModel) -> None:
        self._dynamics = model

    @property
    def parameters(self) -> ArmParameters:
        """The parameters in force."""
        return self._parameters

    @parameters.setter
    def parameters(self, value: ArmParameters) -> None:
        """Use other parameters; the efforts blend to another law or other gains as to another model."""
        self.check_parameters(value)
        before, self._parameters = self._parameters, value
        self.rest.use(value, value.safe_fade_time)
        stored = self._spring_energy(before.mode)
        self.offer_settings(False, before.law != value.law)
        self.energy_added = self._spring_energy(value.mode) - stored if before.mode == value.mode else 0.0

    def _spring_energy(self, mode: str) -> float:
        if not self.phase.controls:
            return 0.0
        now, settings = self._snapshot.read(), self._settings[self._number].value
        return spring_energy(settings, mode, self.reference(now.time).position, self._snapshot.position)

    def check_parameters(self, candidate: ArmParameters) -> str:
        """Check whether parameters may be set now.

        Returns:
            A warning: gains that are only just stable; empty where there is none.

        Raises:
            ParameterError: they do not fit the arm, gains are not stable with the period of the states, or
                effort limits do not carry the arm where it is.
        """
        of_type("parameters", candidate, ArmParameters)
        candidate.gains(self.chain.joint_names)
        candidate.limits_of(self.chain)
        arm_stops(self.chain, candidate)
        before, limits = self._parameters, self.effort_limits
        if self.latched and candidate.follows_nothing and candidate.mode != before.mode:
            self._check_guiding()
        self._parameters = candidate
        try:
            settings = self.core_settings()
        finally:
            self._parameters = before
        if self.phase.controls and (reason := self._weight_of(settings, limits)):
            raise ParameterError(f"{reason}max_effort must be larger")
        judged = [
            (one.law, one.control_period, one.loop_delay, one.max_effort_step, one.on_contact)
            for one in (before, candidate)
        ]
        if judged[0] != judged[1]:
            return self._check_gains(settings, candidate)
        return ""

    def _check_guiding(self) -> None:
        """Refuse to let the arm be moved by hand while model or states are in doubt."""
        rule = self._snapshot.read().trip.rule
        if self._library.rd_rule_doubts(rule):
            raise ParameterError(
                f"the rule {list(RULES)[rule]} leaves model or states in doubt: the arm cannot be moved by"
                " hand before ~/reset_fault"
            )

    def check_start(self) -> None:
        """Check whether the effort limits carry the arm where it was seen last.

        Raises:
            ParameterError: they do not.
        """
        seen = math.isfinite(self._snapshot.read().time) or self._snapshot.position.any()
        if seen and (reason := self._weight_of(self.core_settings())):
            raise ParameterError(f"{reason}check max_effort, payload and masses")

    def _check_gains(self, settings: Settings, parameters: ArmParameters) -> str:
        """See :meth:`check_parameters`."""
        period = self._usual_period(settings)
        failed, text = self._judged("rd_gains_text", settings, period)
        unstable, springs = self._judged("rd_springs_text", settings, *self._ranges, period)
        if parameters.yields:
            failed, text = failed or unstable, springs or (text if failed else "")
        if failed or unstable:
            raise ParameterError(text if failed else springs)
        return text

    def _weight_of(self, settings: Settings, before: Array | None = None) -> str:
        """Joint whose effort limit does not carry the arm at rest where it is; empty: there is none.

        Args:
            settings: with the limits and the model.
            before: (n,) limits; only lower ones are judged; None: all.
        """
        self._snapshot.read()
        earlier = ffi().NULL if before is None else doubles(before)
        return self._judged("rd_weight_text", settings, doubles(self._snapshot.position.copy()), earlier)[1]

    def _usual_period(self, settings: Settings) -> float:
        """Declared or measured period of the states; 0: there is none yet [s]."""
        return float(settings.value.control_period or self._snapshot.read().usual_period)

    def _load_ahead(self, settings: Settings) -> str:
        """Reason why gains are not stable before a load of other settings is on the arm; empty: they are."""
        external, position = self.external.effort, self._snapshot.position.copy()
        period = self._usual_period(settings)
        given = (self._settings[self._number].value, doubles(position), doubles(external), period)
        return self._judged("rd_load_text", settings, *given)[1]

    def _judged(self, judge: str, settings: Settings, *given: Any) -> tuple[bool, str]:
        """Reason for which settings fail; empty where they do not."""
        names = [ffi().new("char[]", name.encode()) for name in self.chain.joint_names]
        text = ffi().new("char[]", LONGEST_LINE)
        standing = getattr(load_core(), judge)(
            settings.value, self.chain.dof, *given, ffi().new("char *[]", names), text, LONGEST_LINE
        )
        self._error = None
        return standing == _FAILS, str(ffi().string(text).decode(errors="replace"))

    def stiffnesses(self) -> list[Stiffness]:
        """Stiffness of each joint in the pose where its inertia is least."""
        settings, n, core = self._settings[self._number].value, self.chain.dof, load_core()
        inertia = np.zeros(n)
        known = core.rd_arm_inertia(settings, n, *self._ranges, doubles(inertia))
        self._error = None
        kp = array_at(settings.kp, n)
        return [
            Stiffness(
                self.chain.joint_names[j],
                float(kp[j] * inertia[j]),
                float(core.rd_arm_friction(settings, j)),
                float(np.sqrt(kp[j]) / (2.0 * np.pi)),
                float(inertia[j]),
            )
            for j in range(n if known else 0)
        ]

    def low_gains(self) -> list[str]:
        """See :class:`CoreController`."""
        settings, core = self._settings[self._number], load_core()
        found = [
            *super().low_gains(),
            self._judged("rd_gains_text", settings, settings.value.control_period)[1],
        ]
        for j, joint in enumerate(self.stiffnesses()):
            text, unit = ffi().new("char[]", LONGEST_LINE), self._unit(j)
            core.rd_arrival_text(
                settings.value, j, joint.inertia, joint.name.encode(), unit.encode(), text, LONGEST_LINE
            )
            found.append(ffi().string(text).decode(errors="replace"))
        return [line for line in found if line]

    @property
    def characteristics(self) -> str:
        """See :class:`CoreController`."""
        return "; ".join(
            f"{joint.name} {joint.stiffness:.3g} {'N/m' if self._unit(j) == 'm' else 'N·m/rad'},"
            f" {joint.friction / joint.stiffness if joint.stiffness else np.inf:.2g} {self._unit(j)},"
            f" {joint.frequency:.2g} Hz"
            for j, joint in enumerate(self.stiffnesses())
        )

    def _unit(self, joint: int) -> str:
        return "m" if self.chain.driving_joint(joint).kind is JointKind.PRISMATIC else "rad"

    def change_model(self, dynamics: EffortModel) -> None:
        """Use another model of the same arm; the efforts blend to it in ``model_change_time``.

        Raises:
            ModelError: it is of an arm with another number of joints; the model stays as it was.
            ParameterError: by it, efforts cannot carry the arm where they carry it now; in motion this
                begins a protective stop. Or the gains are not stable before a declared load is on the arm.
        """
        before, self._dynamics = self._dynamics, _model("dynamics", dynamics)
        try:
            if self.phase.controls:
                settings = self.core_settings()
                if reason := self._weight_of(settings):
                    self.stop_in_motion()
                    raise ParameterError(f"{reason}check {_LOAD} and gravity [m/s²]")
                if reason := self._load_ahead(settings):
                    raise ParameterError(f"{reason}, or check {_LOAD}, payload_inertia and rotor_inertia")
            self.offer_settings(True, False)
        except RobotDynamicsError:
            self._dynamics = before
            raise


def _model(name: str, value: EffortModel) -> EffortModel:
    """``value``, if it can be called as a model; else TypeError."""
    if not callable(getattr(value, "inverse_dynamics", None)):
        raise WrongTypeError(f"{name} is {quoted(value)}; it must be a model with inverse_dynamics()")
    return value


_LOAD = "payload_mass [kg], payload_center [m]"
"""Parameters that a refusal names."""
_IDEAL = dict.fromkeys(("rotor_inertia", "damping", "friction", "static_friction"), (0.0,))
"""Drives of a model that is all there is."""
