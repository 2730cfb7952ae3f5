"""Losses of power, joint states or a leg of a platform at home or in motion, simulated without brakes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.platform_model import compensated, loaded
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.errors import RobotDynamicsError, SingularityError, shown
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.dynamics import State, simulate, state_at_rest, task_space_dynamics
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import motion_of
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_quaternion
from robot_dynamics.stewart.platform import StewartPlatform

FALL_STEP, LANDING_STEP = 0.005, 0.0005
"""Steps of the simulated fall, and of the moment in which it ends [s]."""
LONGEST = 3.0
"""Time after which a platform without forces is taken to be held by its friction [s]."""
PERIOD, HELD, SAGS = 0.01, 0.1, 0.5
"""Period of the simulated controller, and times for which it holds first, by a right and a wrong mass [s]."""
REACH, SHORTER, ATTEMPTS = 0.3, 0.7, 6
"""Way of a heave motion, as a share of the stroke; its factor where it is refused; number of attempts."""
PEAK_SPEED, PEAK_ACCELERATION, MARGIN = 1.875, 5.7735, 1.05
"""Of a minimum-jerk motion of length 1 in time 1; factor of the shortest duration."""
UNKNOWN = 0.05
"""Share of the platform's mass that the model does not know, in a second case of each loss of states."""
_NO_FORCE = np.zeros(6)


@dataclass(frozen=True)
class Landing:
    """Motion after a loss, until a leg meets an end of its stroke.

    Attributes:
        time: from the loss to the end stop [s]; NaN where no stop is met.
        leg: the leg that meets its stop.
        leg_speed: (6,) rates of the lengths then [m/s].
        energy: kinetic energy of the platform and its legs then, for the buffers [J].
        braked: time from the loss until the brakes are commanded [s]; NaN: nothing commands them.
    """

    time: float
    leg: str
    leg_speed: Array
    energy: float
    braked: float = np.nan

    @property
    def speed(self) -> float:
        """Speed of the fastest leg [m/s]."""
        return float(np.abs(self.leg_speed).max())


NOWHERE = Landing(np.nan, "", np.zeros(6), 0.0)


def holding(platform: StewartPlatform) -> Array:
    """(6,) forces that hold a platform at home, for its brakes [N]."""
    machine = platform.machine
    home = motion_of(machine.home_position, [0.0, 0.0, 0.0])._replace(rotation=machine.home_rotation)
    return np.asarray(platform.inverse_dynamics_of(home, on_violation="report").actuator_forces)


def fall(platform: StewartPlatform, payload: RigidBody | None = None) -> Landing:
    """Fall from rest at home without actuator forces, friction and springs included.

    Args:
        platform: the machine; several falls of a compiled one are quicker.
        payload: body on the platform beside the machine's own, platform frame.
    """
    if payload is not None:
        platform = QuickPlatform(platform.machine, payload)
    return _until_a_stop(platform, _at_home(platform.machine), FALL_STEP, lambda time, state: _NO_FORCE)


def losses(platform: StewartPlatform, power: Landing) -> Mapping[str, Landing | str]:
    """Losses at home by their names; words where the controller cannot hold the platform there.

    Guessed friction brakes nothing, but where it is named. Joint states are lost for ``state_timeout`` before
    that is noticed. The lost leg is the one with the fastest end; the controller goes on with the other five.
    Power and states are also lost in the middle of a heave motion, as fast as legs and ``max_acceleration``
    permit. It goes up or down: the faster end counts.

    Args:
        platform: the machine, as its file describes it.
        power: the loss of power.
    """
    truth, names = QuickPlatform(compensated(platform).machine), platform.machine.leg_names
    found: dict[str, Landing | str] = {"power": power}
    body = RigidBody(
        UNKNOWN * platform.machine.platform.mass, platform.machine.platform.center_of_mass, np.zeros((3, 3))
    )
    cases = {"": truth, f", {UNKNOWN:.0%} of the mass unknown": QuickPlatform(truth.machine, body)}
    if "friction" in platform.machine.guessed:
        cases[", with the guessed friction"] = QuickPlatform(platform.machine)
    for output in ("settle", "gravity_fade"):
        for words, real in cases.items():
            found[f"joint states, {output}{words}"] = _tried(_without_states, platform, real, output)
    for output in ("settle", "gravity_fade"):
        ways = [_tried(_without_states, platform, truth, output, sign) for sign in (-1.0, 1.0)]
        found[f"joint states, {output}, in a heave motion"] = max(ways, key=_speed)
    ways = [_tried(_falling, truth, sign) for sign in (-1.0, 1.0)]
    found["power, in a heave motion"] = max(ways, key=_speed)
    legs = {name: _tried(_without_leg, platform, truth, leg) for leg, name in enumerate(names)}
    worst = max(legs, key=lambda name: _speed(legs[name]))
    found[f"the force of {worst}"] = legs[worst]
    return found


def _speed(lost: Landing | str) -> float:
    return lost.speed if isinstance(lost, Landing) else -1.0


def loss_lines(found: Mapping[str, Landing | str]) -> Iterator[str]:
    """A line for each loss."""
    for name, lost in found.items():
        if isinstance(lost, str):
            yield f"loss of {name}: not simulated: {lost}"
        elif np.isfinite(lost.time):
            yield (
                f"loss of {name}: {shown(lost.leg)} is at its end stop after {lost.time:.2f} s; the fastest"
                f" leg has {lost.speed:.2f} m/s"
            )
        else:
            yield f"loss of {name}: no leg comes to an end stop"


def loss_table(found: Mapping[str, Landing | str]) -> dict[str, Any]:
    """Header and a row for each loss, for the page."""
    rows = []
    for name, lost in found.items():
        if isinstance(lost, str):
            rows.append([name, "", lost, "", "", ""])
            continue
        cells = [f"{lost.time:.2f}", shown(lost.leg), f"{lost.speed:.2f}", f"{lost.energy:.3g}"]
        braked = f"{lost.braked:.2f}" if np.isfinite(lost.braked) else "not before"
        rows.append([name, *(cells if np.isfinite(lost.time) else ["", "none", "", ""]), braked])
    header = ["loss of", "end stop after [s]", "leg", "speed of the fastest leg [m/s]", "energy [J]"]
    return {"header": [*header, "brakes commanded after [s]"], "rows": rows}


def loss_rows(found: Mapping[str, Landing | str]) -> tuple[list[str], list[list[object]]]:
    """Columns and rows of the losses that were simulated, SI units."""
    rows: list[list[object]] = [
        [name, lost.time, lost.leg, lost.speed, lost.energy, lost.braked]
        for name, lost in found.items()
        if not isinstance(lost, str)
    ]
    return ["loss", "time", "leg", "speed", "energy", "braked"], rows


def _tried(simulation: Callable[..., Landing], *arguments: object) -> Landing | str:
    try:
        return simulation(*arguments)
    except RobotDynamicsError as error:
        return str(error)


class QuickPlatform(StewartPlatform):
    """A platform that is simulated by compiled forces: worth their compilation for many simulations.

    Args:
        machine: the platform.
        payload: body beside the machine's own, platform frame; nothing is compiled for it.
    """

    def __init__(self, machine: Machine, payload: RigidBody | None = None) -> None:
        super().__init__(machine if payload is None else loaded(machine, payload))
        self.payload, self.compiled = payload, StewartPlatform(machine).compile()


class _Loop:
    """A controller that answers the states of a simulated platform."""

    def __init__(self, platform: StewartPlatform, truth: StewartPlatform, safe_output: str) -> None:
        self.parameters = StewartParameters(safe_output=safe_output)
        self.control = StewartController(platform, self.parameters)
        self.truth, self.time, self.state = truth, 0.0, _at_home(truth.machine)
        exact = truth.machine.platform.mass == platform.machine.platform.mass
        self.go_on(HELD if exact else SAGS)

    def heave(self, sign: float) -> None:
        """Go on to the middle of a motion up (1) or down (-1)."""
        machine, parameters = self.truth.machine, self.parameters
        limits = machine.legs[0].limits
        speed, way = parameters.governed_share * limits.speed, REACH * (limits.longest - limits.shortest)
        turned = quaternion_from_rotation(machine.home_rotation).tolist()
        for attempt in range(ATTEMPTS):
            duration = max(
                PEAK_SPEED * way / speed, np.sqrt(PEAK_ACCELERATION * way / parameters.max_acceleration)
            )
            duration *= MARGIN
            goal = machine.home_position + np.array([0.0, 0.0, sign * way])
            try:
                self.control.follow([PoseWaypoint(duration, goal.tolist(), turned)])
                break
            except RobotDynamicsError:
                if attempt == ATTEMPTS - 1:
                    raise
                way *= SHORTER
        self.go_on(self.time + 0.5 * duration)

    def go_on(self, end: float) -> None:
        """Answer every state until a time [s]."""
        while self.time < end:
            self.advance(PERIOD, self.answer(self.time, self.state))

    def answer(self, time: float, state: State) -> Array:
        """Forces for a state."""
        legs = leg_geometry(self.truth.machine, state.position, rotation_from_quaternion(state.orientation))
        twist = np.concatenate([state.linear_velocity, state.angular_velocity])
        return self.control.update(time, legs.lengths, legs.jacobian @ twist).effort

    def advance(self, duration: float, forces: Array) -> None:
        """Simulate under constant forces."""
        step = min(duration, PERIOD)
        states = _simulate(self.truth, self.state, forces, duration, step)
        self.state, self.time = states[-1], self.time + duration


def _without_states(
    platform: StewartPlatform, truth: StewartPlatform, safe_output: str, sign: float = 0.0
) -> Landing:
    """Motion under a safe output, from rest or in a motion up (1) or down (-1)."""
    loop = _Loop(platform, truth, safe_output)
    if sign:
        loop.heave(sign)
    noticed = loop.parameters.state_timeout
    forces = loop.answer(loop.time, loop.state)
    loop.advance(noticed, forces)
    loop.control.lost_states(noticed)
    lost = _until_a_stop(
        truth, loop.state, PERIOD, lambda time, state: loop.control.safe_command(time).effort, 2.0 * LONGEST
    )
    return replace(lost, time=lost.time + noticed, braked=noticed)


def _falling(platform: StewartPlatform, sign: float) -> Landing:
    """Fall from a motion up (1) or down (-1)."""
    loop = _Loop(platform, platform, "gravity_fade")
    loop.heave(sign)
    return _until_a_stop(platform, loop.state, FALL_STEP, lambda time, state: _NO_FORCE)


def _without_leg(platform: StewartPlatform, truth: StewartPlatform, leg: int) -> Landing:
    """Motion while one leg gives no force."""
    loop, braked = _Loop(platform, truth, "gravity_fade"), np.nan

    def forces(time: float, state: State) -> Array:
        nonlocal braked
        given = loop.answer(loop.time + time, state)
        given[leg] = 0.0
        if loop.control.brake and np.isnan(braked):
            braked = time
        return given

    lost = _until_a_stop(truth, loop.state, PERIOD, forces)
    return replace(lost, braked=braked)


def _at_home(machine: Machine) -> State:
    return state_at_rest(machine.home_position, machine.home_rotation)


def _until_a_stop(
    platform: StewartPlatform,
    start: State,
    step: float,
    forces: Callable[[float, State], Array],
    longest: float = LONGEST,
) -> Landing:
    """Motion under forces that stay for a step, up to the first end of a stroke."""
    state = start
    for count in range(round(longest / step)):
        given = forces(step * count, state)
        try:
            states = _simulate(platform, state, given, step, step)
        except SingularityError:
            return NOWHERE
        if _beyond(platform.machine, states[-1]).max() > 0.0:
            return _landing(platform, state, step, step * count, given)
        state = states[-1]
    return NOWHERE


def _simulate(
    platform: StewartPlatform, start: State, forces: Array, duration: float, step: float
) -> list[State]:
    """Motion under constant forces."""
    machine, compiled, payload = platform.machine, None, None
    if isinstance(platform, QuickPlatform):
        machine, compiled, payload = platform.compiled.machine, platform.compiled, platform.payload

    def constant(time: float, state: State) -> Array:
        return forces

    return simulate(machine, start, constant, duration, step, compiled=compiled, payload=payload)[1]


def _beyond(machine: Machine, state: State) -> Array:
    """(6,) lengths beyond the nearer end of the stroke, negative within it [m]."""
    lengths = leg_geometry(machine, state.position, rotation_from_quaternion(state.orientation)).lengths
    limits = [leg.limits for leg in machine.legs]
    shortest, longest = (np.array([getattr(x, name) for x in limits]) for name in ("shortest", "longest"))
    return np.asarray(np.maximum(shortest - lengths, lengths - longest))


def _landing(platform: StewartPlatform, start: State, step: float, time: float, forces: Array) -> Landing:
    """The end of a motion that has no more than a step left from ``start``, at ``time`` [s]."""
    machine = platform.machine
    states = _simulate(platform, start, forces, step, LANDING_STEP)
    last = len(states) - 1
    end = next((k for k in range(1, last) if _beyond(machine, states[k]).max() > 0.0), last)
    state, over = states[end], _beyond(machine, states[end])
    leg = int(over.argmax())
    share = over[leg] / max(over[leg] - _beyond(machine, states[end - 1])[leg], 1e-300)
    rotation = rotation_from_quaternion(state.orientation)
    motion = motion_of(state.position, [0.0, 0.0, 0.0])._replace(
        rotation=rotation, linear_velocity=state.linear_velocity, angular_velocity=state.angular_velocity
    )
    dynamics = task_space_dynamics(machine, motion)
    twist = np.concatenate([state.linear_velocity, state.angular_velocity])
    energy = float(twist @ dynamics.mass_matrix @ twist) / 2.0
    landed = time + LANDING_STEP * (end - share)
    return Landing(landed, machine.leg_names[leg], dynamics.jacobian @ twist, energy)
