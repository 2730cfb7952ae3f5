"""No force steps by more than is declared, and brakes or forces carry, whatever is asked of a platform when.

The arm's controllers are held to their steps in ``test_native_core``.
"""

import contextlib

import numpy as np
import pytest

from robot_dynamics import stewart
from robot_dynamics.control.brakes import Brakes, BrakeTiming
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.operating_modes import OperatingMode
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.resources import resource

PERIOD, SHARE, STOPPING = 0.01, 0.1, 0.2
"""Of the cycle [s]; of a force's limit that it may step by, and in a stop, whatever is declared."""
STOPS = (Phase.STOPPING, Phase.PROTECTIVE_STOP)


def parameters_of(random):
    return StewartParameters(
        mode=str(random.choice(("computed_force", "feedforward"))),
        kp=(float(random.uniform(20.0, 900.0)),),
        safe_output=str(random.choice(("settle", "gravity_fade", "zero"))),
        model_change_time=float(random.choice((0.0, 0.1))),
        safe_fade_time=float(random.choice((0.0, 0.1))),
        brake_engage_time=0.05,
        max_effort_step=SHARE,
        settle_speed=0.3,
    )


@pytest.mark.parametrize("seed", range(3))
def test_forces_keep_to_their_steps_through_events_in_any_order(seed):
    platform = stewart.load(resource("config/stewart_demo.yaml"))
    machine, random = platform.machine, np.random.default_rng(seed)
    control = StewartController(platform, parameters_of(random))
    limits = np.array([leg.limits.force for leg in machine.legs])
    lengths = np.asarray(platform.legs(machine.home_position, [0.0, 0.0, 0.0, 1.0]).lengths)
    left, phases = None, set()

    def keep(command):
        nonlocal left
        last = command.effort if left is None else left
        share = max(SHARE, STOPPING) if control.phase in STOPS else SHARE
        allowed = share * limits if command.phase.controls else np.maximum(SHARE * limits, np.abs(last))
        assert (np.abs(command.effort - last) <= allowed).all(), (phases, command)
        assert (np.abs(command.effort) <= limits).all()
        left = command.effort
        phases.add(control.state)

    def fly():
        goal = machine.home_position + random.uniform(-0.02, 0.02, 3)
        control.follow([PoseWaypoint(0.3, goal, np.array([0.0, 0.0, 0.0, 1.0]))])

    def lose():
        control.lost_states()
        for k in range(random.integers(1, 15)):
            keep(control.safe_command(PERIOD * k))

    events = [
        fly,
        lose,
        control.hold,
        control.park,
        control.unpark,
        control.emergency_stop,
        lambda: setattr(control, "parameters", parameters_of(random)),
        lambda: control.change_payload(
            RigidBody(float(random.uniform(0, 50)), np.zeros(3), np.zeros((3, 3)))
        ),
        lambda: control.set_wrench(random.uniform(-500.0, 500.0, 3), np.zeros(3)),
    ]
    time = 0.0
    for _ in range(300):
        if random.random() < 0.3:
            with contextlib.suppress(RobotDynamicsError):  # not ready for it
                events[random.integers(len(events))]()
        time += PERIOD if random.random() < 0.98 else -0.2
        noise = 1e-3 if random.random() < 0.97 else 0.03
        keep(control.update(time, lengths + noise * random.normal(size=6), 0.1 * random.normal(size=6)))
    assert len(phases) > 3, phases


@pytest.mark.parametrize("fade", [0.0, 0.1])
def test_brakes_or_forces_carry_whenever_brakes_are_asked_for(fade):
    """A brake holds after it has been commanded for as long as it takes to engage, and only while it is."""
    random, timing = np.random.default_rng(3), BrakeTiming(engage=0.05, release=0.03, fade=fade)
    brakes, time, before, commanded = Brakes(timing), 0.0, 1.0, None
    for _ in range(5000):
        time += 0.002
        if random.random() < 0.05:
            (brakes.engage if random.random() < 0.5 else brakes.release)(time)
        commanded = (commanded or time) if brakes.engaged(time) else None
        holds = commanded is not None and time - commanded >= timing.engage - 1e-9
        share = brakes.share(time)
        assert share > 1.0 - 1e-9 or holds
        if fade:
            assert abs(share - before) <= 0.002 / fade + 1e-9
        before = share


def test_a_platform_that_was_thrown_where_no_way_leads_back_ends_on_its_brakes():
    """Legs at both ends of their strokes, joints beyond their angles: every way makes one of them worse."""
    platform = stewart.load(resource("config/stewart_demo.yaml"))
    control = StewartController(platform, StewartParameters(safe_fade_time=0.1, brake_engage_time=0.1))
    lengths, time = np.array([0.5, 0.78, 0.5, 0.78, 0.5, 0.5]), 0.0
    while not (control.modes.resting and control.brake) and time < 5.0:
        time += PERIOD
        control.update(time, lengths, np.zeros(6))
    assert control.modes.mode is OperatingMode.STRANDED
    assert "not ready" in control.park()
    after = [control.update(time + PERIOD * k, lengths, np.zeros(6)) for k in range(1, 30)]
    assert not after[-1].effort.any()
    assert not after[-1].saturated.any()
    assert control.unpark() == ""
