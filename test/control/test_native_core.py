"""The control core in C against its twin in Python: the same inputs, cycle for cycle, in every situation."""

import numpy as np
import pytest
from arms import Pendulum, pendulum_chain
from twins import CalledAlike

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.core.arm import NativeArmController
from robot_dynamics.control.core.library import MODES
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.errors import BackendError, ModelError, StateError, TrajectoryError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.load import load_urdf
from robot_dynamics.resources import resource

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="module")
def models():
    """A PUMA 560 as it is, loaded, tilted, and with ideal drives."""
    chain = load_urdf(resource("urdf/puma560.urdf").read_text())
    load = RigidBody(2.0, np.array([0.0, 0.0, 0.1]), np.zeros((3, 3)))
    drives = ActuatorParameters(rotor_inertia=(0.3,), damping=(1.5,), friction=(0.8,))
    curved = ActuatorParameters((0.3,), (1.5,), (0.8,), (1.4, 0.3, 0.8, 0.7, 2.0, 0.8), (0.05,), (-0.2,))
    bare = compile_dynamics(chain)
    return chain, [
        ActuatedArm(bare, chain, drives),
        ActuatedArm(bare.with_payload(load), chain, drives),
        ActuatedArm(bare.with_gravity((1.0, -2.0, -9.0)), chain, drives),
        ActuatedArm(bare, chain, ActuatorParameters(damping=(0.0,), friction=(0.0,))),
        ActuatedArm(bare, chain, curved),
    ]


class Twins(CalledAlike):
    """Both controllers under the same calls; every answer is compared."""

    no_effort = StateError

    def __init__(self, chain, model, parameters, before=None):
        self.chain = chain
        self.python = ArmController(chain, model, parameters)
        self.native = NativeArmController(chain, model, parameters)
        self.left = None if before is None else before.left
        if before is not None:
            self.python.take_over_from(before.python)
            self.native.take_over_from(before.native)

    def keeps_to_its_steps(self, effort, safe):
        """Whatever is asked for; a lowered limit counts at once, and a safe output may take away at once."""
        bounds, last = self.python.bounds, effort if self.left is None else self.left
        allowed = np.maximum(bounds.effort_step, np.abs(last) - bounds.effort)
        assert (np.abs(effort - last) <= (np.maximum(allowed, np.abs(last)) if safe else allowed)).all()
        assert (np.abs(effort) <= bounds.effort).all()
        self.left = effort

    def compare(self, expected, reached):
        assert type(expected) is type(reached), (expected, reached)
        if isinstance(expected, str):
            assert expected == reached
        if hasattr(expected, "effort"):
            for field in ("effort", "unlimited"):
                np.testing.assert_allclose(getattr(reached, field), getattr(expected, field), **TOLERANCE)
            same_reference(expected.reference, reached.reference)
            assert reached.phase is expected.phase
        assert self.native.phase is self.python.phase
        assert self.native.time == self.python.time
        for ahead in (0.0, 0.05, 2.0):
            time = self.python.time + ahead
            same_reference(self.python.reference(time), self.native.reference(time))
        if hasattr(expected, "effort"):
            self.keeps_to_its_steps(expected.effort, safe=not expected.phase.controls)

    def follow(self, *arguments):
        outcomes = []
        for controller in (self.python, self.native):
            try:
                trajectory = controller.follow(*arguments)
                outcomes.append(f"followed: {controller.follows(trajectory)}")
            except TrajectoryError as error:
                outcomes.append(str(error))
        self.compare(*outcomes)
        return outcomes[0]


def same_reference(expected, reached):
    for field in ("position", "velocity", "acceleration"):
        np.testing.assert_allclose(getattr(reached, field), getattr(expected, field), **TOLERANCE)


def random_parameters(random):
    joints = 6
    return ArmParameters(
        mode=str(random.choice(MODES)),
        kp=tuple(random.uniform(10.0, 200.0, random.choice((1, joints))).tolist()),
        kv=tuple(random.uniform(0.0, 30.0, random.choice((1, joints))).tolist()),
        half_period_ahead=bool(random.random() < 0.7),
        control_period=float(random.choice((0.0, 0.002, 0.01))),
        safe_output=str(random.choice(("gravity_fade", "zero"))),
        safe_fade_time=float(random.choice((0.0, 0.5, 2.0))),
        model_change_time=float(random.choice((0.0, 0.02, 0.2))),
        max_effort_step=float(random.choice((0.1, 1.0, 2.0))),
        max_stamp_step=float(random.choice((0.25, 0.5, 5.0))),
        max_velocity_factor=float(random.choice((1.0, 3.0, 1e6))),
        max_effort=() if random.random() < 0.5 else tuple(random.uniform(1.0, 60.0, joints).tolist()),
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_core_in_c_does_what_its_twin_does(models, seed):
    """Random runs: plans, holds, jumps, stamps that repeat or run backwards, losses, models, parameters."""
    chain, variants = models
    random = np.random.default_rng(seed)
    twins = Twins(chain, variants[0], random_parameters(random))
    time, period = float(random.uniform(0.0, 10.0)), float(random.choice((0.001, 0.004, 0.01)))
    seen = set()
    for _ in range(300):
        action = random.random()
        goal = twins.python.reference(time).position
        if action < 0.05:
            points = [
                Waypoint(0.4 * (k + 1), (goal + random.uniform(-0.1, 0.1, 6)).tolist())
                for k in range(random.integers(1, 5))
            ]
            start = None if random.random() < 0.7 else time + float(random.uniform(-0.5, 0.5))
            seen.add(twins.follow(chain.joint_names, points, start).split(" ")[0])
        elif action < 0.06:
            twins.hold()
        elif action < 0.07:
            twins.lost_states()
            for since in (0.0, 0.3, 1.0):
                twins.safe_command(since)
            twins.observe(goal + random.normal(size=6))
            twins.safe_command(0.1)
        elif action < 0.09:
            twins.set_parameters(random_parameters(random))
        elif action < 0.11:
            twins.change_model(variants[random.integers(len(variants))])
        elif action < 0.115:
            model = variants[random.integers(len(variants))]
            twins = Twins(chain, model, random_parameters(random), before=twins)
        disturbance = random.random()
        time += (
            period * float(random.uniform(0.5, 1.5))
            if disturbance < 0.97
            else float(random.choice((0.0, -0.2, 0.3, 1.0)))
        )
        place = twins.python.reference(time)
        q = place.position + 1e-3 * random.normal(size=6)
        qd = place.velocity + 1e-2 * random.normal(size=6)
        if random.random() < 0.01:
            q += random.uniform(-0.5, 0.5, 6)
        if random.random() < 0.005:
            qd[random.integers(6)] = 1e200
        outcome = twins.update(time, q, qd)
        seen.add(getattr(outcome, "phase", outcome))
        assert twins.native.discontinuity == twins.python.discontinuity
    assert {Phase.HOLDING, Phase.TRACKING} <= seen


def test_both_notice_every_motion_that_cannot_be_real(models):
    chain, variants = models
    twins = Twins(chain, variants[0], ArmParameters(kp=(3000.0,), kv=(5.0,), max_effort_step=0.4))
    rest, time = np.zeros(6), 0.0
    tracking, holding, fault = Phase.TRACKING, Phase.HOLDING, Phase.FAULT
    faults = [
        (0.002, rest, rest, tracking, ""),
        (0.002, rest + 0.3, rest, holding, "a joint jumped by 0.300 rad or m in 0.002 s"),
        (0.0, rest, rest, holding, "a joint jumped by 0.300 rad or m in 0.000 s"),
        (0.6, rest, rest, holding, "the stamps jumped ahead by 0.600 s"),
        (-0.1, rest, rest, holding, "time ran backwards by 0.100 s"),
        (0.002, rest, rest + 90.0, fault, "a joint seems to move at 90.000 rad/s or m/s, which is beyond"),
        (0.002, rest, rest, holding, ""),
        (0.002, rest, rest, tracking, ""),
        (0.002, rest + 0.04, rest, holding, "an effort would step by"),
        (0.002, rest + 0.04, rest, tracking, ""),
    ]
    twins.update(0.0, rest, rest)
    for elapsed, position, velocity, phase, told in faults:
        twins.follow(chain.joint_names, [Waypoint(2.0, [0.1] * 6)], None)
        time += elapsed
        twins.update(time, position, velocity)
        assert twins.native.discontinuity == twins.python.discontinuity
        assert twins.native.discontinuity.startswith(told), twins.native.discontinuity
        assert bool(told) == bool(twins.native.discontinuity)
        assert twins.native.phase is phase
    for _ in range(3):
        time += 0.3
        twins.update(time, rest + 0.04, rest + 90.0)
        assert twins.native.phase is Phase.FAULT
    # What brakes a joint that seems fast is itself too large a step, so the safe output takes over.
    twins.set_parameters(ArmParameters(kv=(4000.0,), max_effort_step=0.4))
    for _ in range(2):
        time += 0.002
        twins.update(time, rest + 0.04, rest)
    twins.update(time + 0.002, rest + 0.04, rest + 1.0)
    assert twins.native.phase is Phase.FAULT


def test_a_plan_is_void_after_a_hold_and_when_it_comes_late(models):
    chain, variants = models
    for kind in (ArmController, NativeArmController):
        control = kind(chain, variants[0], ArmParameters())
        goal = [Waypoint(1.0, [0.1] * 6)]
        for k in range(3):
            control.update(0.01 * k, np.zeros(6), np.zeros(6))
        planned = control.plan(chain.joint_names, goal, control.departure(None, 0.05))
        assert planned.trajectory.start == pytest.approx(0.07)
        control.hold()
        assert "a hold, a jump" in control.accept(planned)
        planned = control.plan(chain.joint_names, goal, control.departure(None, 0.05))
        for k in range(3, 12):
            control.update(0.01 * k, np.zeros(6), np.zeros(6))
        assert "longer than it was allowed to" in control.accept(planned)
        planned = control.plan(chain.joint_names, goal, control.departure(None, 0.05))
        control.update(0.13, np.zeros(6), np.zeros(6))
        assert control.accept(planned) == ""
        assert control.follows(planned.trajectory)
        held = control.update(0.15, np.zeros(6), np.zeros(6))
        np.testing.assert_array_equal(held.reference.position, np.zeros(6))
        assert control.update(0.3, np.zeros(6), np.zeros(6)).reference.position[0] > 0.0
        assert control.phase is Phase.TRACKING


def test_plans_are_counted_on_after_one_that_was_void(models):
    """A plan that is looked at and discarded has a number too: the next one must not get it."""
    chain, variants = models
    control = NativeArmController(chain, variants[0], ArmParameters())
    time = 0.0

    def run(seconds):
        nonlocal time
        for _ in range(round(100 * seconds)):
            time += 0.01
            control.update(time, np.zeros(6), np.zeros(6))

    run(0.05)
    for _ in range(3):
        first = control.follow(chain.joint_names, [Waypoint(0.1, [0.0] * 6)])
        run(0.2)
        assert control.follows(first), "it was followed to its end"
        void = control.follow(chain.joint_names, [Waypoint(0.1, [0.0] * 6)])
        control._library.rd_core_hold(control.handle)
        run(0.05)
        assert not control.follows(void)
        second = control.follow(chain.joint_names, [Waypoint(1.0, [0.01] * 6)])
        run(0.05)
        assert control.follows(second)
        assert control.phase is Phase.TRACKING
        run(1.2)


def test_handed_over_values_are_kept_as_long_as_they_are_used_and_no_longer(models):
    chain, variants = models
    control = NativeArmController(chain, variants[0], ArmParameters())
    control.update(0.0, np.zeros(6), np.zeros(6))
    for k in range(1, 50):
        control.parameters = ArmParameters(kp=(100.0 + k,))
        control.change_model(variants[k % 2])
        control.follow(chain.joint_names, [Waypoint(5.0, [0.1] * 6)], None)
        control.update(0.001 * k, np.zeros(6), np.zeros(6))
    assert len(control._settings) <= 4
    assert len(control._plans) <= 3


def test_a_model_that_is_not_compiled_needs_the_twin_in_python(models):
    with pytest.raises(BackendError, match="not compiled"):
        NativeArmController(
            pendulum_chain(),
            ActuatedArm(Pendulum(), pendulum_chain(), ActuatorParameters()),
            ArmParameters(),
        )
    chain = pendulum_chain()
    slow = ActuatedArm(compile_dynamics(chain, backend="python"), chain, ActuatorParameters())
    with pytest.raises(BackendError, match="not compiled"):
        NativeArmController(chain, slow, ArmParameters())


def test_what_does_not_fit_the_arm_never_reaches_the_core(models):
    """The core reads as many numbers as the arm has joints, wherever they lie."""
    chain, (model, *_) = models
    pendulum = pendulum_chain()
    short = ActuatedArm(compile_dynamics(pendulum), pendulum, ActuatorParameters())
    native = NativeArmController(chain, model, ArmParameters())
    twin = ArmController(chain, model, ArmParameters())
    small = NativeArmController(pendulum, short, ArmParameters())
    rest = np.zeros(6)
    for controller, other in ((native, small), (twin, None)):
        for time, position, velocity in (
            (0.0, [0.1], rest),
            (0.0, rest, [[0.0] * 6]),
            (0.0, rest, [1 + 1j] * 6),
            (float("nan"), rest, rest),
            (10**400, rest, rest),
        ):
            with pytest.raises(StateError):
                controller.update(time, position, velocity)
        controller.observe([0.1])
        command = controller.update(0.0, rest, rest)
        for wrong in (None, 3, "p"):
            with pytest.raises(TypeError):
                controller.parameters = wrong
            with pytest.raises(TypeError):
                controller.accept(wrong)
        if other is not None:
            other.update(0.0, [0.1], [0.0])
            planned = other.plan(["swing"], [Waypoint(1.0, np.array([0.5]))], other.departure(None))
            with pytest.raises(TrajectoryError, match="moves 1 coordinates; this machine has 6"):
                controller.accept(planned)
            with pytest.raises(ModelError, match="of an arm with 1 joints"):
                controller.change_model(short)
            with pytest.raises(TypeError, match="dynamics"):
                controller.change_model(None)
            with pytest.raises(StateError, match="has 1 joints; this one has 6"):
                controller.take_over_from(other)
        # Nothing of it has changed anything.
        np.testing.assert_array_equal(controller.update(0.01, rest, rest).effort, command.effort)
