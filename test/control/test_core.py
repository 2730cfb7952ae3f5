"""The control core behind an arm's controller: its laws against Pinocchio, faults, plans and what is kept."""

import numpy as np
import pinocchio as pin
import pytest
from arms import Pendulum, pendulum_chain

from robot_dynamics.control.arm import laws
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.laws import arm_law
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.core.library import MODES
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.errors import ModelError, ParameterError, StateError, TrajectoryError
from robot_dynamics.model.load import load_urdf
from robot_dynamics.resources import resource

URDF = resource("urdf/puma560.urdf").read_text()


@pytest.fixture(scope="module")
def models():
    """A PUMA 560 with ideal drives, and with real ones."""
    chain = load_urdf(URDF)
    bare = compile_dynamics(chain, friction=False)
    ideal = ActuatorParameters((0.0,), (0.0,), (0.0,))
    drives = ActuatorParameters(rotor_inertia=(0.3,), damping=(1.5,), friction=(0.8,))
    return chain, [ActuatedArm(bare, chain, ideal), ActuatedArm(bare, chain, drives)]


@pytest.fixture(scope="module")
def oracle():
    model = pin.buildModelFromXML(URDF)
    data = model.createData()
    return lambda *motion: pin.rnea(model, data, *motion)


KP, KV = np.array([100.0, 90.0, 80.0, 70.0, 60.0, 50.0]), np.array([20.0, 19.0, 18.0, 17.0, 16.0, 15.0])


@pytest.fixture(autouse=True)
def no_law_stays(monkeypatch):
    """The laws of a test are not offered to the others of the process."""
    monkeypatch.setattr(laws, "_PYTHON_LAWS", dict(laws._PYTHON_LAWS))


@pytest.mark.parametrize("mode", [*sorted({*MODES} - {"cartesian_impedance"}), "in_python"])
@pytest.mark.parametrize("period", [0.0, 0.004])
def test_laws_agree_with_pinocchio(models, oracle, mode, period):
    """Lee's law (4.4), half a period ahead where a period is given; the others as they are named."""
    chain, (ideal, _) = models

    @arm_law("in_python")
    def lee(model, given):
        error, rate = given.reference.position - given.position, given.reference.velocity - given.velocity
        a = given.ahead.acceleration + given.kv * rate + given.kp * error
        h = given.half_period
        q, qd = given.position + h * given.velocity + 0.5 * h * h * a, given.velocity + h * a
        return model.inverse_dynamics(q, qd, a)

    parameters = ArmParameters(
        mode=mode, kp=tuple(KP), kv=tuple(KV), control_period=period, half_period_ahead=period > 0.0,
        joint_stiffness=(1.0,), guide_timeout=2.0, model_change_time=0.0 if mode == "hand_guiding" else 0.2,
    )  # fmt: skip
    control, random = ArmController(chain, ideal, parameters), np.random.default_rng(4)
    start = random.uniform(-0.5, 0.5, 6)
    control.update(0.0, start, np.zeros(6))
    if mode == "hand_guiding":
        assert control.guide(True) == ""
    elif mode != "gravity_compensation":
        control.follow(chain.joint_names, [Waypoint(1.0, (start + 0.3).tolist())])
    for time in (0.2, 0.4, 0.6):
        r, ahead = control.reference(time), control.reference(time + 0.5 * period)
        q, qd = r.position + random.normal(0.0, 1e-3, 6), r.velocity + random.normal(0.0, 1e-2, 6)
        command = control.update(time, q, qd)
        feedback = KV * (r.velocity - qd) + KP * (r.position - q)
        h, rest = 0.5 * period, np.zeros(6)
        if mode in ("computed_torque", "in_python"):
            a = ahead.acceleration + feedback
            expected = oracle(q + h * qd + 0.5 * h * h * a, qd + h * a, a)
        elif mode == "feedforward":
            expected = oracle(r.position, r.velocity, r.acceleration)
        elif mode in ("gravity_compensation", "hand_guiding"):
            expected = oracle(q, rest, -0.5 * qd)  # slight damping
        elif mode == "joint_impedance":
            unit = np.array([oracle(q, rest, row) - oracle(q, rest, rest) for row in np.eye(6)])
            damping = 2.0 * np.sqrt(np.diag(unit))
            spring = (r.position - q) + damping * (r.velocity - qd)
            both, apart = (oracle(q, qd + sign * r.velocity, rest) for sign in (1.0, -1.0))
            expected = oracle(q, rest, r.acceleration) + 0.25 * (both - apart) + spring  # C(q, qd) qd_d
        else:  # the inertia where the arm was held
            weight = oracle(start, rest, rest)
            inertia = np.array([oracle(start, rest, unit) - weight for unit in np.eye(6)])
            expected = np.diag(inertia) * feedback
        np.testing.assert_allclose(command.unlimited, expected, rtol=1e-11, atol=1e-11)
    assert bool(control.python_parts) == (mode == "in_python")


def test_a_law_in_python_that_fails_is_named_and_ends_in_the_safe_output(models):
    chain, (model, _) = models
    faults = {
        "raises": lambda model, given: 1.0 / 0.0,
        "too_few": lambda model, given: np.zeros(3),
        "no_number": lambda model, given: np.full(6, np.nan),
    }
    reasons = {"raises": "ZeroDivisionError", "too_few": r"the law 'too_few' gives efforts of shape \(3,\)"}
    for name, law in faults.items():
        arm_law(name)(law)
        control = ArmController(chain, model, ArmParameters(mode=name))
        if name == "no_number":
            assert control.update(0.0, np.zeros(6), np.zeros(6)).phase is Phase.FAULT
            continue
        with pytest.raises(StateError, match=reasons[name]):
            control.update(0.0, np.zeros(6), np.zeros(6))
        control.lost_states()
        weight = model.inverse_dynamics(*np.zeros((3, 6)))
        np.testing.assert_allclose(control.safe_command(0.0).effort, weight, atol=1e-12)


def test_a_law_in_python_has_a_name_of_its_own():
    for name in ("pd", "called", "two words", 3):
        with pytest.raises(ParameterError, match="control law"):
            arm_law(name)
    with pytest.raises(ParameterError, match="computed_torque"):
        ArmParameters(mode="nobody_wrote_it")


def test_every_motion_that_cannot_be_real_is_noticed(models):
    chain, variants = models
    control = ArmController(chain, variants[0], ArmParameters(kp=(3000.0,), kv=(60.0,), max_effort_step=0.4))
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
    control.update(0.0, rest, rest)
    for elapsed, position, velocity, phase, told in faults:
        if control.phase.controls:
            control.follow(chain.joint_names, [Waypoint(2.0, [0.1] * 6)])
        time += elapsed
        control.update(time, position, velocity)
        assert control.discontinuity.startswith(told), control.discontinuity
        assert bool(told) == bool(control.discontinuity)
        assert control.phase is phase
    for _ in range(3):
        time += 0.3
        control.update(time, rest + 0.04, rest + 90.0)
        assert control.phase is Phase.FAULT
    # What brakes a joint that seems fast is itself too large a step, which takes several cycles.
    control.parameters = ArmParameters(kv=(4000.0,), max_effort_step=0.4)
    for _ in range(200):
        time += 0.002
        control.update(time, rest + 0.04, rest)
    assert control.reset_fault() == ""
    time += 0.002
    control.update(time, rest + 0.04, rest)
    command = control.update(time + 0.002, rest + 0.04, rest + 1.0)
    assert control.discontinuity.startswith("an effort would step by ")
    assert control.phase.controls
    assert command.saturated.any()


def test_a_plan_is_void_after_a_hold_and_when_it_comes_late(models):
    chain, variants = models
    control = ArmController(chain, variants[0], ArmParameters())
    goal = [Waypoint(1.0, [0.1] * 6)]
    for k in range(3):
        control.update(0.01 * k, np.zeros(6), np.zeros(6))
    planned = control.plan(chain.joint_names, goal, control.plan_start(None, 0.05))
    assert planned.trajectory.start == pytest.approx(0.07)
    control.hold()
    assert "a hold, a jump" in control.accept(planned)
    planned = control.plan(chain.joint_names, goal, control.plan_start(None, 0.05))
    for k in range(3, 12):
        control.update(0.01 * k, np.zeros(6), np.zeros(6))
    assert "longer than it was allowed to" in control.accept(planned)
    planned = control.plan(chain.joint_names, goal, control.plan_start(None, 0.05))
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
    control = ArmController(chain, variants[0], ArmParameters())
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
        control._library.rd_core_hold(control._core)
        run(0.05)
        assert not control.follows(void)
        second = control.follow(chain.joint_names, [Waypoint(1.0, [0.01] * 6)])
        run(0.05)
        assert control.follows(second)
        assert control.phase is Phase.TRACKING
        run(1.2)


def test_handed_over_values_are_kept_as_long_as_they_are_used_and_no_longer(models):
    chain, variants = models
    control = ArmController(chain, variants[0], ArmParameters(loop_delay=-1.0))
    control.update(0.0, np.zeros(6), np.zeros(6))
    for k in range(1, 50):
        control.parameters = ArmParameters(kp=(100.0 + k,), loop_delay=-1.0)
        control.change_model(variants[k % 2])
        control.follow(chain.joint_names, [Waypoint(5.0, [0.1] * 6)], None)
        control.update(0.001 * k, np.zeros(6), np.zeros(6))
    assert len(control._settings) <= 5
    assert len(control._plans) <= 3


def test_a_model_in_python_is_called(models):
    """The same program runs as generated Python for a model that is not compiled."""
    chain, _ = models
    given = np.linspace(-0.3, 0.4, 6), np.linspace(0.2, -0.1, 6)
    drives, commands = ActuatorParameters(rotor_inertia=(0.3,), friction=(0.8,)), []
    for backend in ("python", "c"):
        model = ActuatedArm(compile_dynamics(chain, backend=backend, friction=False), chain, drives)
        control = ArmController(chain, model)
        assert bool(control.python_parts) == (backend == "python")
        control.update(0.0, given[0], np.zeros(6))
        commands.append(control.update(0.01, *given))
    np.testing.assert_allclose(commands[0].unlimited, commands[1].unlimited, rtol=1e-12, atol=1e-12)
    bare = ArmController(pendulum_chain(), Pendulum())
    assert "not compiled" in bare.python_parts


def test_what_does_not_fit_the_arm_never_reaches_the_core(models):
    """The core reads as many numbers as the arm has joints, wherever they lie."""
    chain, (model, *_) = models
    pendulum = pendulum_chain()
    short = ActuatedArm(compile_dynamics(pendulum), pendulum, ActuatorParameters())
    native = ArmController(chain, model, ArmParameters())
    small = ArmController(pendulum, short, ArmParameters())
    rest = np.zeros(6)
    for controller, other in ((native, small),):
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
            planned = other.plan(["swing"], [Waypoint(1.0, np.array([0.5]))], other.plan_start(None))
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
