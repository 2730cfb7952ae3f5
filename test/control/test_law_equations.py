"""Laws of an arm by their equations: states of a pendulum are made up, and accelerations are compared."""

from dataclasses import replace

import numpy as np
import pytest
from arms import GRAVITY, LENGTH, MASS, Pendulum, pendulum_chain, two_joint_chain

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.dynamics.compiled import compile_dynamics

KP, KV, LIMIT, FOLLOWING, SETTLED, PERIOD = 100.0, 20.0, 2.0, 0.1, 0.02, 0.002
INERTIA = MASS * LENGTH**2
QUIET = {
    "oscillation": -1.0,
    "overspeed": -1.0,
    "start_motion": -1.0,
    "loop_delay": -1.0,
    "half_period_ahead": False,
}


class Arm:
    """A controller that is told states of a pendulum, at first at rest at zero."""

    def __init__(self, chain=None, **parameters):
        given = {
            "kp": (KP,),
            "kv": (KV,),
            "ki": -1.0,
            "max_following_error": (FOLLOWING,),
            **QUIET,
            **parameters,
        }
        chain = pendulum_chain(velocity=LIMIT) if chain is None else chain
        self.control = ArmController(chain, Pendulum(), ArmParameters(**given))
        self.time = self.place = 0.0
        self.state(0.0, elapsed=0.0)

    def state(self, place=None, rate=0.0, elapsed=PERIOD):
        """A state; the effort beside the weight and the damping."""
        self.time += elapsed
        self.place = self.place if place is None else place
        self.command = self.control.update(self.time, np.array([self.place]), np.array([rate]))
        return float(self.command.unlimited[0]) - MASS * GRAVITY * LENGTH * np.sin(self.place)

    def acceleration(self, place=None, rate=0.0, elapsed=PERIOD):
        """Acceleration of the pendulum by the effort of a state."""
        return (self.state(place, rate, elapsed) - Pendulum.damping * rate) / INERTIA

    def walk(self, place, rate=1.0):
        while abs(place - self.place) > 1e-12:
            step = np.clip(place - self.place, -rate * PERIOD, rate * PERIOD)
            self.state(self.place + step, np.sign(step) * rate)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_error_asks_for_no_more_speed_than_the_limit(side):
    arm = Arm(max_following_error=(-1.0,))
    for error, pull in (0.39, 39.0), (0.41, 40.0), (0.8, 40.0):
        arm.walk(-side * error)
        assert arm.acceleration() == pytest.approx(side * pull)
        assert arm.acceleration(rate=side * 0.5) == pytest.approx(side * (pull - KV * 0.5))


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_error_adds_to_a_reference_in_motion_what_its_speed_leaves_of_the_limit(side):
    arm = Arm(max_following_error=(-1.0,))
    arm.control.follow(["swing"], [Waypoint(2.0, (side * 1.6,))])
    for k in range(499):
        reference = arm.control.reference(arm.time + PERIOD)
        behind = side * min(0.001 * k, 0.45)
        arm.state(reference.position[0] - behind, reference.velocity[0] - side * 0.5)
    reference = arm.control.reference(arm.time + PERIOD)
    speed, rest = side * reference.velocity[0], reference.acceleration[0]
    assert speed == pytest.approx(1.5, abs=1e-3)
    found = arm.acceleration(reference.position[0] - side * 0.45, reference.velocity[0])
    assert found - rest == pytest.approx(side * KV * (LIMIT - speed))
    for ahead in (0.45, 0.8):
        while side * (arm.place - arm.control.reference(arm.time + PERIOD).position[0]) < ahead - 1e-9:
            reference = arm.control.reference(arm.time + PERIOD)
            now = min(ahead, side * (arm.place - reference.position[0]) + 0.02)
            found = arm.acceleration(reference.position[0] + side * now, reference.velocity[0] + 4.0 * side)
        speed, rest = side * reference.velocity[0], reference.acceleration[0]
        expected = max(-KP * ahead, -KV * (LIMIT + speed))
        assert found - rest + KV * 4.0 * side == pytest.approx(side * expected)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_lasting_error_is_integrated_between_the_settled_one_and_half_the_following_error(side):
    """z' = ki e, state by state; a block beyond is no load, and a gap tells nothing."""
    arm, ki = Arm(ki=400.0), 400.0

    def estimate(error, elapsed=PERIOD, rate=0.0):
        return arm.acceleration(-side * error, rate, elapsed) + KV * rate - KP * side * error

    arm.walk(-side * 0.0199)
    assert estimate(0.0199) == pytest.approx(0.0, abs=1e-9)
    z = estimate(0.03)
    assert z == pytest.approx(side * ki * PERIOD * 0.03)
    assert estimate(0.049) == pytest.approx(z + side * ki * PERIOD * 0.049)
    z = estimate(0.049, 0.049)
    assert z == pytest.approx(side * ki * (PERIOD * (0.03 + 0.049) + 0.049 * 0.049))
    assert estimate(0.049, 0.051) == pytest.approx(z)
    assert estimate(0.051) == pytest.approx(z)
    assert estimate(0.0199) == pytest.approx(z)
    arm.walk(-side * 0.045)
    for _ in range(600):
        z = estimate(0.045)
    assert z == pytest.approx(side * KP * FOLLOWING), "at most what the following error pulls"


def test_a_load_that_drives_its_joint_away_fades():
    def held(place, rate, elapsed=PERIOD):
        """Share of the estimate that a state leaves, with the arm there."""
        arm = Arm(ki=400.0)
        arm.walk(-0.045)
        for _ in range(200):
            z = arm.acceleration() - KP * 0.045
        arm.state(-0.0199)
        before = arm.acceleration(place) + KP * place
        after = arm.acceleration(place, rate, elapsed) + KP * place + KV * rate
        assert z > 1.0 and before == pytest.approx(z, rel=0.01)
        integrated = -400.0 * elapsed * place if abs(place) > SETTLED else 0.0
        return (after - integrated) / before

    assert held(0.021, 0.1) == pytest.approx(np.exp(-PERIOD / 0.1))
    assert held(0.021, 0.1, 0.004) == pytest.approx(np.exp(-0.004 / 0.1))
    assert held(0.021, -0.1) == pytest.approx(1.0), "on its way back"
    assert held(0.0199, 0.1) == pytest.approx(1.0), "where it is small"
    assert held(-0.01, -0.1) == pytest.approx(1.0), "on the other side of its reference"


def test_a_trajectory_goes_on_through_a_change_to_another_law_that_follows_it():
    arm = Arm(max_following_error=(-1.0,))
    trajectory = arm.control.follow(["swing"], [Waypoint(1.0, (0.3,))])
    for k, mode in enumerate(("joint_impedance", "pd", "computed_torque", "joint_impedance")):
        for _ in range(100):
            expected = trajectory.sample(arm.time + PERIOD)
            arm.state(expected.position[0] - 0.002, expected.velocity[0])
            np.testing.assert_allclose(arm.command.reference.position, expected.position, atol=1e-12)
            assert arm.command.phase is Phase.TRACKING, (k, mode)
        arm.control.parameters = replace(arm.control.parameters, mode=mode)


@pytest.mark.parametrize(("mode", "kept"), [("pd", False), ("joint_impedance", True)])
def test_a_law_that_carries_no_estimate_ends_it(mode, kept):
    """Computed torque takes an estimate back only from a law that carries it, too."""
    arm = Arm(ki=400.0)
    arm.walk(-0.045)
    for _ in range(100):
        z = arm.acceleration() - KP * 0.045
    given = arm.control.parameters
    arm.state(-0.01)
    arm.control.parameters = replace(given, mode=mode, max_following_error=(-1.0,))
    for _ in range(200):
        arm.state()
    arm.control.parameters = given
    for _ in range(200):
        found = arm.acceleration()
    error = arm.control.reference(arm.time).position[0] - arm.place
    estimate = found - KP * error
    assert z > 2.0
    assert estimate == pytest.approx(z if kept else 0.0, abs=0.02 * z)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_near_the_velocity_limit_the_estimate_alone_bears_a_load(side):
    """It grows there while the joint falls behind, and fades where it takes the joint beyond the limit."""
    arm, ki, error = Arm(ki=400.0), 400.0, 0.055  # which would be a block elsewhere
    arm.control.follow(["swing"], [Waypoint(2.0, (side * 1.9 * 2.0 / 1.875,))])

    def estimate(slower):
        reference = arm.control.reference(arm.time + PERIOD)
        rate = reference.velocity[0] - side * slower
        found = arm.acceleration(reference.position[0] - side * behind, rate) - reference.acceleration[0]
        pull = min(KP * behind, KV * (LIMIT - side * reference.velocity[0]))
        return side * (found - KV * side * slower) - pull

    behind = 0.0
    while arm.time < 0.998:
        behind = min(behind + 0.001, 0.0199)
        assert estimate(0.0) == pytest.approx(0.0, abs=1e-8)
    behind = error
    z = estimate(0.1)
    assert z == pytest.approx(ki * PERIOD * error)
    assert estimate(0.1) == pytest.approx(2.0 * z)
    assert estimate(-0.05) == pytest.approx(2.0 * z), "it catches up"
    assert estimate(-0.11) == pytest.approx(2.0 * z * np.exp(-PERIOD / 0.1)), "beyond the limit"


IMPEDANCE = {
    "mode": "joint_impedance", "joint_stiffness": (3.0,), "joint_damping": (0.5,), "joint_error_clip": (0.4,),
    "max_following_error": (-1.0,),
}  # fmt: skip


def test_springs_and_dampers_yield_within_their_clip():
    arm = Arm(**IMPEDANCE)
    arm.walk(-0.3)
    assert arm.state() == pytest.approx(3.0 * 0.3)
    assert arm.state(rate=-0.1) == pytest.approx(3.0 * 0.3 + 0.05)
    arm.walk(-0.5)
    assert arm.state() == pytest.approx(3.0 * 0.4)
    arm.walk(0.7)
    assert arm.state() == pytest.approx(-3.0 * 0.4)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_springs_accelerate_no_joint_to_its_velocity_limit(side):
    arm = Arm(**IMPEDANCE | {"joint_damping": (0.0,)})
    arm.walk(-side * 0.5, 0.2)
    pull = side * 3.0 * 0.4
    for speed, share in (0.84, 1.0), (0.925, 0.5), (0.97, 0.2), (1.0, 0.0):
        assert arm.state(rate=side * speed * LIMIT) == pytest.approx(share * pull, abs=1e-9)
        assert arm.state(rate=-side * speed * LIMIT) == pytest.approx(pull), (
            "against the motion they are whole"
        )


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_that_yields_is_braked_at_its_limits(side):
    """Beyond the velocity limit, and before the position limit by the way that is left; 40/s in good time."""
    arm = Arm(
        pendulum_chain(lower=-1.0, upper=1.0, velocity=LIMIT),
        **IMPEDANCE | {"joint_stiffness": (0.0,), "joint_damping": (0.0,)},
    )
    for _ in range(100):
        arm.state()
    fast = arm.state(rate=side * 2.5)
    assert fast == pytest.approx(-side * 40.0 * 0.5 * INERTIA)
    arm.walk(side * 0.95, 0.9)
    assert arm.state(rate=side * 1.0) == pytest.approx(0.0, abs=1e-9)
    assert arm.state(rate=side * 1.2) == pytest.approx(-side * 40.0 * 0.2 * INERTIA)
    assert arm.state(rate=-side * 1.2) == pytest.approx(0.0, abs=1e-9)
    arm.walk(side * 1.01, 0.1)
    assert arm.state() == pytest.approx(-side * 40.0 * 20.0 * 0.01 * INERTIA)


def test_with_late_states_the_braking_at_a_limit_is_weaker():
    """A quarter in a period: 12.5/s with states every 20 ms."""
    arm = Arm(**IMPEDANCE | {"joint_stiffness": (0.0,), "joint_damping": (0.0,)})
    for _ in range(400):
        arm.state(elapsed=0.02)
    assert arm.state(rate=2.5, elapsed=0.02) == pytest.approx(-12.5 * 0.5 * INERTIA, rel=1e-6)


def weight(place):
    return MASS * GRAVITY * LENGTH * np.sin(place)


def test_filters_of_measured_states_follow_with_their_time_constants():
    """Also of the weight; after a loss and after a jump they begin with the state."""
    filters = {"position_filter": 0.01, "velocity_filter": 0.004}
    constants = {"": (0.01, 0.004), "position": (0.0, 0.004), "velocity": (0.01, 0.0)}
    for off, (constant_q, constant_v) in constants.items():
        given = {name: value for name, value in filters.items() if not off or not name.startswith(off)}
        arm, random, q, v = Arm(**IMPEDANCE, **given), np.random.default_rng(2), 0.0, 0.0
        for k in range(60):
            elapsed, place, rate = random.uniform(0.001, 0.004), 0.01 * random.normal(), 0.2 * random.normal()
            rate *= k not in (29, 30, 44, 45)  # so that the reference rests at once
            if k == 30:
                arm.control.lost_states()
            if k in (30, 45):  # a loss, and a jump
                q, v, place = place + (k - 30) / 50.0, rate, place + (k - 30) / 50.0
            else:
                place += 0.3 * (k > 45)
                q += (1.0 if constant_q == 0.0 else 1.0 - np.exp(-elapsed / constant_q)) * (place - q)
                v += (1.0 if constant_v == 0.0 else 1.0 - np.exp(-elapsed / constant_v)) * (rate - v)
            found = arm.state(place, rate, elapsed) + weight(place)
            held = arm.control.reference(arm.time).position[0]
            assert found == pytest.approx(weight(q) + 3.0 * np.clip(held - q, -0.4, 0.4) - 0.5 * v), (off, k)


def test_efforts_step_as_fast_as_their_rate_and_filter_let_them():
    for rate, constant in (20.0, 0.0), (20.0, 0.01), (1e6, 0.01):
        arm = Arm(**IMPEDANCE, max_effort_rate=(rate,), effort_filter=constant)
        share = 1.0 if constant == 0.0 else 1.0 - np.exp(-PERIOD / constant)
        for _ in range(20):
            arm.state()
        sent = 0.0
        for place in (0.01,) * 8 + (-0.005,) * 20:
            arm.state(place)
            law = weight(place) - 3.0 * place
            step = law - sent
            sent += share * np.clip(step, -rate * PERIOD, rate * PERIOD)
            command = arm.command
            assert command.effort[0] == pytest.approx(sent, abs=1e-12)
            assert command.saturated[0] == (abs(step) > rate * PERIOD)
    arm.control.hold()
    arm.control.follow(["swing"], [Waypoint(1.0, (0.1,))])
    for _ in range(200):
        arm.state(arm.control.reference(arm.time + PERIOD).position[0])
    arm.control.hold()
    arm.state(arm.place + 0.01)
    assert arm.command.effort[0] == pytest.approx(arm.command.unlimited[0]), "but in a stop"


def limited(effort, bearing, rate, limits, before, blends):
    """Efforts by the description of ``limiting.c``, and how far each joint is limited by itself."""
    if (np.abs(effort) <= limits).all():
        return effort, 0.0
    step = effort - bearing
    with np.errstate(divide="ignore"):
        ends = np.sort([(side * limits - bearing) / step for side in (-1.0, 1.0)], axis=0)
    least, most = max(0.0, ends[0].max()), min(1.0, ends[1].min())
    share, possible = max(most, 0.0) if least <= most else 0.0, least <= most
    together = np.clip(bearing + share * step, -limits, limits)
    brakes = step @ rate < 0.0
    alone = np.where(brakes & (step * rate > 0.0), together, np.clip(effort, -limits, limits))
    better = brakes and share < 0.3 and (together - alone) @ rate > 0.0
    change = np.clip((better or not possible) - before, -blends, blends)
    return np.clip(together + (before + change) * (alone - together), -limits, limits), before + change


def test_efforts_beyond_the_limits_are_those_of_the_description():
    """Two joints that pull at each other, slowly and fast, with limits that carry them or not."""
    chain, seen = two_joint_chain(), []
    links = compile_dynamics(chain, friction=False)
    for amplitude, pace, strong in (
        (0.02, 3.0, 1),
        (0.3, 3.0, 1),
        (0.3, 6.0, 1),
        (0.3, 3.0, 0),
        (0.3, 0.1, 0),
    ):
        limits = np.array([40.0, 15.0]) if strong else np.array([11.0, 6.0])
        given = {
            "kp": (900.0,),
            "kv": (20.0,),
            "ki": -1.0,
            "max_effort_step": 2.0,
            "max_effort": tuple(limits),
        }
        control = ArmController(chain, links, ArmParameters(max_following_error=(-1.0,), **given, **QUIET))
        share = 0.0
        for k in range(180):
            grown, time = amplitude * min(1.0, k / 60), PERIOD * k
            phases = np.array([pace * time + 0.7, 1.7 * pace * time + 1.0])
            q, qd = grown * np.sin(phases), grown * np.array([1.0, 1.7]) * pace * np.cos(phases)
            command = control.update(time, q, qd)
            bearing = links.inverse_dynamics(q, qd, np.zeros(2))
            blends = PERIOD / 0.01 if k else 1.0  # the first state has no period
            expected, share = limited(command.unlimited, bearing, qd, limits, share, blends)
            np.testing.assert_allclose(command.effort, expected, rtol=1e-9, atol=1e-9)
            seen.append(share)
    assert {0.0, 1.0} < {round(share, 6) for share in seen}


@pytest.mark.parametrize(("output", "brakes"), [("zero", False), ("gravity_fade", True)])
def test_lost_states_in_motion_are_answered_by_what_is_declared_as_safe(output, brakes):
    arm = Arm(max_following_error=(-1.0,), safe_output=output)
    trajectory = arm.control.follow(["swing"], [Waypoint(1.0, (0.8,))])
    for _ in range(250):
        expected = trajectory.sample(arm.time + PERIOD)
        arm.state(expected.position[0], expected.velocity[0])
    arm.control.lost_states(0.0)
    for since in (0.0, 0.01):
        effort = arm.control.safe_command(since).effort[0]
        assert (effort < weight(arm.place) - 0.5) if brakes else effort == 0.0


@pytest.mark.parametrize(("delay", "most"), [(0.0, 25.0), (0.002, 0.05 / 0.006), (0.01, 0.05 / 0.022)])
def test_a_protective_stop_doubles_its_damping_while_a_joint_gets_faster(delay, most):
    """As far as half of the model's inertia stays stable: kv (T + 2 d) < 1, here with kv 20 and T 2 ms."""
    arm = Arm(max_following_error=(-1.0,), loop_delay=delay, kp=(0.0,))
    for _ in range(20):
        arm.state()
    assert arm.control.emergency_stop() == ""
    for k in range(9):
        rate = 0.25 + 0.05 * k
        found = arm.acceleration(arm.place + PERIOD * rate, rate)
        slower = arm.command.reference.velocity[0] - rate
        assert found / (KV * slower) == pytest.approx(min(2.0**k, most))
