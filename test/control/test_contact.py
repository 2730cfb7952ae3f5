"""The momentum observer against MuJoCo's forces, and contact as a rule of supervision."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from closed_loop import READY, ArmLoop

import robot_dynamics as rd
from robot_dynamics.control.arm.contact import MomentumObserver
from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import ModelError, ParameterError, StateError
from robot_dynamics.resources import resource

GAIN = 25.0
UR5_FRICTION = {"friction": (3.0, 3.0, 2.0, 0.5, 0.5, 0.5), "damping": (2.0, 2.0, 1.5, 0.3, 0.3, 0.3)}


class Pushed(ArmLoop):
    """An arm that is pushed; what the joints feel of it, passed through the observer's own filter.

    Attributes:
        push: body and (6,) force and torque on it, in world axes.
        felt: (n,) the true external effort, filtered.
        errors: (cycles, 2, n) external efforts that are found, and the true ones, filtered.
    """

    def __init__(self, *args, **parameters):
        super().__init__(*args, **parameters)
        self.push = None
        self.felt = np.zeros(self.chain.dof)
        self.seen = []

    def step(self):
        data = self.plant._data
        data.xfrc_applied[:] = 0.0
        if self.push is not None:
            data.xfrc_applied[self.push[0]] = self.push[1]
        before = self.torque()
        super().step()
        self.seen.append((self.control.external.effort, self.felt))
        share = 1.0 - np.exp(-GAIN * self.period)
        self.felt = self.felt + share * (0.5 * (before + self.torque()) - self.felt)

    def torque(self):
        """Efforts of the push on the joints, by MuJoCo's own Jacobian."""
        if self.push is None:
            return np.zeros(self.chain.dof)
        model, data = self.plant._built.model, self.plant._data
        mujoco.mj_forward(model, data)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBodyCom(model, data, linear, angular, self.push[0])
        return (linear.T @ self.push[1][:3] + angular.T @ self.push[1][3:])[self.plant._built.drivers]


def wave(loop, duration=2.0):
    """Follow a motion of all joints."""
    loop.go(np.add(READY, (0.6, -0.5, 0.7, 0.5, -0.6, 0.8)), duration)


@pytest.mark.parametrize("period", [0.001, 0.004])
def test_every_push_is_found_as_large_as_it_is(period):
    loop = Pushed("ur5", READY, period=period, observer_gain=GAIN)
    loop.run(0.1)
    wave(loop, 1.0)
    rng = np.random.default_rng(0)
    for _ in range(8):
        body = int(rng.integers(2, loop.plant._built.model.nbody))
        loop.push = (body, rng.uniform(-1.0, 1.0, 6) * [40, 40, 40, 4, 4, 4])
        loop.run(0.1)
        loop.push = None
        loop.run(0.02)
    found, true = np.array(loop.seen).transpose(1, 0, 2)
    assert (np.abs(found - true).max(axis=0) < 1e-4 * np.abs(true).max(axis=0)).all()
    assert np.abs(true).max() > 15.0


def test_friction_and_rotors_are_no_external_effort():
    """Declared friction and rotors are subtracted: in motion, at reversals, for gears that rub under load."""
    real = {**UR5_FRICTION, "rotor_inertia": (0.5,) * 6, "load_friction": (0.05,) * 6}
    real["presliding_friction"] = (1.0, 1.0, 1.0, 0.3, 0.3, 0.3)
    loop = Pushed("ur5", READY, declared=real, real=real, period=0.001)
    loop.run(0.05)
    wave(loop)
    loop.run(0.6)
    loop.push = (4, np.array([0.0, 25.0, 20.0, 0.0, 0.0, 0.0]))
    loop.run(0.6)
    found, true = np.array(loop.seen).transpose(1, 0, 2)
    moving = np.array(
        [np.abs(loop.velocities[max(0, k - 120) : k + 1]).min() > 0.05 for k in range(len(found))]
    )
    assert np.abs(true).max() > 5.0 and moving.sum() > 400
    assert (np.abs(found - true)[moving] < 0.02 * np.abs(true).max()).all()


def test_what_is_no_contact_does_not_alarm():
    """Friction off by 30 %, encoder steps, reversals, standstill, and a payload that is announced."""
    declared = UR5_FRICTION
    real = {name: tuple(1.3 * np.array(values)) for name, values in declared.items()}
    loop = ArmLoop("ur5", READY, declared=declared, real=real, on_contact="hold", kp=(400.0,), kv=(40.0,))
    steps = 2.0 * np.pi / 2**17
    past = []

    def encoders(q, qd):
        place = steps * np.round(q / steps)
        past.append(place)
        return place, (place - past[-2]) / loop.period if len(past) > 1 else 0.0 * place

    loop.measure = encoders
    loop.run(0.2)
    for _ in range(2):
        wave(loop, 0.9)
        loop.run(1.0)
        loop.go(READY, 0.9)
        loop.run(1.0)
    load = [3.0, 0.0, 0.0, 0.3, 0.03, 0.0, 0.03, 0.0, 0.0, 0.0]
    loop.control.change_model(rd.ActuatedArm(loop.links.with_payload(load), loop.chain, drives(declared)))
    carried = {"payload_mass": 3.0, "payload_center": (0.0, 0.0, 0.1)}
    loop.plant.reconfigure(replace(loop.plant.parameters, **carried))
    wave(loop)
    loop.run(1.5)
    assert loop.trip is None
    assert all(phase is not Phase.PROTECTIVE_STOP for phase in loop.phases)


def drives(values):
    return rd.ActuatorParameters(**{"rotor_inertia": (0.0,)} | values)


def test_a_contact_holds_the_arm_where_it_is_until_the_reset():
    loop = Pushed("ur5", READY, on_contact="hold")
    loop.run(0.1)
    wave(loop)
    loop.run(0.8)
    assert loop.trip is None
    loop.push = (3, np.array([60.0, 60.0, 0.0, 0.0, 0.0, 0.0]))
    began = loop.time
    loop.run(0.5, until=lambda: loop.phases[-1] is Phase.PROTECTIVE_STOP)
    assert loop.trip.rule == "contact" and loop.time - began < 0.1
    joint = loop.chain.joint_names[loop.trip.joint]
    assert loop.line.startswith(
        f"{joint} feels an external effort of {loop.trip.measured:.4g} N·m, allowed are"
    )
    at = loop.plant.position
    loop.push = None
    loop.run(1.0)
    assert np.abs(loop.plant.position - at).max() < 0.15
    np.testing.assert_allclose(loop.plant.velocity, 0.0, atol=1e-3)
    np.testing.assert_allclose(loop.references[-1], loop.plant.position, atol=0.01)
    assert loop.control.reset_fault() == ""
    wave(loop)
    loop.run(0.5)
    assert loop.phases[-1] is Phase.TRACKING


def test_a_contact_that_is_only_reported_stops_nothing():
    loop = Pushed("ur5", READY, on_contact="report", kp=(900.0,), kv=(60.0,))
    loop.run(1.2)
    loop.push = (3, np.array([0.0, 40.0, 0.0, 0.0, 0.0, 0.0]))
    loop.run(0.2)
    assert loop.trip.rule == "contact" and not loop.trip.stops
    assert "on_contact: report" in loop.line
    assert loop.phases[-1] is Phase.HOLDING
    [rule] = [rule for rule in loop.control.rules() if rule.name == "contact"]
    assert rule.largest > 1.0 and rule.thresholds[0] == pytest.approx(0.05 * 150.0)


def test_the_library_s_observer_is_the_controller_s():
    loop = Pushed("ur5", READY, observer_gain=GAIN, start_motion=-1.0)
    loop.push = (4, np.array([0.0, 20.0, 0.0, 0.0, 0.0, 0.0]))
    wave_at = round(0.05 / loop.period)
    for cycle in range(150):
        if cycle == wave_at:
            wave(loop)
        loop.step()
    observer = MomentumObserver(loop.chain, loop.links, rd.ContactParameters(observer_gain=GAIN))
    acted = np.vstack([np.zeros(6), loop.efforts[:-1]])
    for k, time in enumerate(loop.times):
        external = observer.update(time, loop.positions[k], loop.velocities[k], acted[k])
        np.testing.assert_array_equal(external.effort, loop.seen[k][0])
    assert external.contact.any()
    observer.change_model(loop.links.with_gravity((0.0, 0.0, -9.81)))
    again = observer.update(time + loop.period, loop.positions[-1], loop.velocities[-1], acted[-1])
    np.testing.assert_array_equal(again.effort, external.effort)  # the step to another model is left out
    gone = observer.update(time + 1.0, loop.positions[-1], loop.velocities[-1], acted[-1])
    np.testing.assert_array_equal(gone.effort, 0.0)


class Sensed(Pushed):
    """Its efforts are measured some periods late, or act so late; sensors on the links feel no damping."""

    def __init__(self, *args, late=0, acts=0, links=False, **parameters):
        super().__init__(*args, **parameters)
        self.late, self.links_only, self.sent = late, links, []
        self.measure = self.sense
        self.disturbance = lambda time, effort: self.sent.append(effort) or self.at(acts)

    def at(self, periods):
        return self.sent[max(0, len(self.sent) - 1 - periods)] if self.sent else np.zeros(self.chain.dof)

    def sense(self, q, qd):
        return q, qd, self.at(self.late) - self.links_only * np.array(UR5_FRICTION["damping"]) * qd


@pytest.mark.parametrize(("late", "rest"), [(0, {}), (6, {}), (6, {"observed_efforts": "command"})])
def test_efforts_that_are_measured_late_tell_the_external_ones_as_late(late, rest):
    """By effort_delay exactly; a sample tells the interval before it, so half a period is in the delay."""
    period = 0.002
    delay = {"effort_delay": (late + 0.5) * period}
    given = {"observed_efforts": "motor", **delay, **rest}
    loop = Sensed("ur5", READY, late=late, period=period, observer_gain=GAIN, **given)
    loop.run(0.1)
    wave(loop, 1.0)
    loop.run(0.3)
    loop.push = (4, np.array([30.0, 20.0, 10.0, 1.0, 0.0, 0.0]))
    loop.run(0.4)
    found, true = np.array(loop.seen).transpose(1, 0, 2)
    if "observed_efforts" not in rest:
        true = 0.5 * (np.roll(true, late, axis=0) + np.roll(true, late + 1, axis=0))
    assert 5.0 < np.abs(true).max() > 1e3 * np.abs(found - true)[100:].max()


def test_positions_that_are_late_wait_for_no_effort():
    loop = Pushed("ur5", READY, observer_gain=GAIN)
    loop.run(0.1)
    wave(loop, 0.6)
    loop.push = (4, np.array([30.0, 20.0, 10.0, 1.0, 0.0, 0.0]))
    loop.run(0.6)
    late, acted = 4, np.vstack([np.zeros(6), loop.efforts[:-1]])
    observer = MomentumObserver(
        loop.chain, loop.links, rd.ContactParameters(observer_gain=GAIN, effort_delay=-late * loop.period)
    )
    found = [
        observer.update(time, q, qd, effort).effort
        for time, q, qd, effort in zip(
            loop.times[late:], loop.positions, loop.velocities, acted[late:], strict=False
        )
    ]
    true = np.array([felt for _, felt in loop.seen])[: len(found)]
    assert 5.0 < np.abs(true).max() > 1e3 * np.abs(found - true)[100:].max()


@pytest.mark.parametrize("delay", [0.0, 0.012])
def test_commands_that_act_late_tell_external_efforts_by_the_declared_loop_delay(delay):
    loop = Sensed("ur5", READY, acts=6, observer_gain=GAIN, loop_delay=delay, kp=(100.0,), kv=(20.0,))
    loop.run(0.1)
    wave(loop, 0.8)
    loop.run(0.8)
    largest = np.abs([found for found, _ in loop.seen]).max()
    assert largest < 0.01 if delay else largest > 1.0


def test_sensors_on_the_links_know_no_friction_and_without_efforts_nothing_is_observed():
    real = {"damping": UR5_FRICTION["damping"]}
    given = {"declared": UR5_FRICTION, "real": real, "effort_delay": 0.001}
    loop = Sensed("ur5", READY, links=True, observer_gain=GAIN, observed_efforts="link", **given)
    loop.run(0.1)
    wave(loop, 0.8)
    loop.run(0.5)
    found = np.array([found for found, _ in loop.seen])
    assert np.abs(found).max() < 0.02
    np.testing.assert_allclose(loop.control.external.threshold[0], 0.05 * 150.0)
    assert loop.control.unobserved == ""
    loop.measure = lambda q, qd: (q, qd, np.full(6, np.nan))
    loop.step()
    assert "observed_efforts: command" in loop.control.unobserved
    assert np.isinf(loop.control.external.threshold).all()
    assert (loop.control.external.effort == 0.0).all()


@pytest.mark.parametrize(
    ("floors", "at_rest"), [((5.0,), 5.0 + 3.0), ((20.0, 5.0), 20.0), ((6.0, 5.0), 5.0 + 3.0)]
)
def test_at_standstill_dry_friction_is_hidden_and_an_identified_floor_contains_it(floors, at_rest):
    """The larger of the floor there, and of the least floor with all dry friction; both with the drift."""
    chain, speeds = ArmLoop("ur5").chain, (0.0, 0.05)[: len(floors) - 1 and 2]
    links = rd.compile_dynamics(chain, friction=False)
    arm = rd.ActuatedArm(links, chain, drives({"friction": (3.0,)}))
    q, limits = np.array(READY), np.array([chain.driving_joint(j).limits.velocity for j in range(6)])
    parameters = rd.ContactParameters(contact_threshold=floors, contact_speeds=speeds)
    observer = MomentumObserver(chain, arm, parameters)
    for k in range(1000):
        still = observer.update(0.002 * k, q, np.zeros(6), links.gravity(q)).threshold
    np.testing.assert_allclose(still, at_rest + 0.3 * 3.0)
    for k in range(1000, 2000):
        moving = observer.update(0.002 * k, q, 0.1 * limits, links.gravity(q)).threshold
    np.testing.assert_allclose(moving, floors[-1] + 0.3 * 3.0, rtol=1e-6)


def test_bad_input_is_refused_by_name():
    chain = ArmLoop("ur5").chain
    q = np.zeros(6)
    with pytest.raises(ParameterError, match=r"contact_threshold.*2 values"):
        rd.MomentumObserver(chain, parameters=rd.ContactParameters(contact_threshold=(1.0, 2.0)))
    with pytest.raises(ParameterError, match="observer_gain"):
        rd.MomentumObserver(chain, parameters=rd.ContactParameters(observer_gain=0.0))
    with pytest.raises(ParameterError, match="on_contact"):
        rd.ContactParameters(on_contact="run")
    with pytest.raises(ParameterError, match=r"'on_contact' is 'hold'.*observer_gain is 0"):
        rd.ArmController(chain, parameters=rd.ArmParameters(on_contact="hold", observer_gain=0.0))
    with pytest.raises(ModelError, match="of an arm with 7 joints; this one has 6"):
        rd.MomentumObserver(
            chain, rd.compile_dynamics(rd.load_urdf(resource("urdf/arm7.urdf")), friction=False)
        )
    observer = rd.MomentumObserver(chain)
    for values, words in (((q, q, q[:3]), "effort"), ((q, np.full(6, np.nan), q), "velocity")):
        with pytest.raises(StateError, match=words):
            observer.update(0.0, *values)
    observer.update(0.0, q, q, q)
    with pytest.raises(StateError, match="effort"):
        observer.update(0.001, q, q, np.array([0, 0, np.inf, 0, 0, 0]))


@pytest.mark.long
def test_an_arm_that_yields_to_a_contact_can_be_pushed_away_until_the_reset():
    """The spring of joint_stiffness, by the static balance; the reset then holds the arm where it is."""
    soft = {"joint_stiffness": (60.0,), "joint_error_clip": (1.0,), "kp": (900.0,), "kv": (60.0,)}
    loop = Pushed("ur5", READY, on_contact="yield", **soft)
    loop.run(0.1)
    loop.go(np.add(READY, (0.5, 0.0, 0.0, 0.0, 0.0, 0.0)), 1.0)
    loop.run(0.5)
    loop.push = (4, np.array([0.0, -60.0, 0.0, 0.0, 0.0, 0.0]))
    loop.run(3.0)
    assert loop.trip.rule == "contact" and loop.phases[-1] is Phase.PROTECTIVE_STOP
    assert np.abs(loop.velocities[-1]).max() < 0.01
    away = loop.plant.position - loop.control.reference(np.inf).position
    np.testing.assert_allclose(60.0 * away, loop.torque(), atol=0.05)
    assert np.abs(away).max() > 0.2
    place, before = loop.plant.position.copy(), len(loop.times)
    loop.control.reset_fault()
    loop.control.parameters = replace(loop.control.parameters, on_contact="off")
    loop.run(1.5)
    assert loop.phases[-1] is Phase.HOLDING
    assert np.abs(loop.plant.position - place).max() < 0.15
    loop.push = None
    loop.run(3.0)
    assert np.abs(loop.plant.position - place).max() < 0.03
    steps = np.abs(np.diff(loop.efforts[before:], axis=0)).max(axis=0)
    limits = [loop.chain.driving_joint(j).limits.effort for j in range(6)]
    assert (steps < 0.2 * np.array(limits)).all()


def test_an_arm_retreats_as_it_was_pushed_by_a_bounded_way_and_stays_there():
    """In the direction M^-1 of the external effort; a second obstacle on the way ends it."""
    loop = Pushed("ur5", READY, on_contact="retreat", retreat_distance=0.2, kp=(900.0,), kv=(60.0,))
    loop.run(0.1)
    loop.go(np.add(READY, (0.5, 0.0, 0.0, 0.0, 0.0, 0.0)), 1.0)
    loop.run(0.5)
    pushing = (4, np.array([0.0, -60.0, 0.0, 0.0, 0.0, 0.0]))
    loop.push = pushing
    loop.run(0.5, until=lambda: loop.phases[-1] is Phase.PROTECTIVE_STOP)
    felt = loop.control.external.effort
    mass = loop.links.mass_matrix(loop.plant.position)
    loop.run(0.1)
    loop.push = None
    began = loop.references[-1]
    loop.run(2.0)
    way = loop.plant.position - began
    expected = np.linalg.solve(mass, felt)
    assert np.abs(way).max() == pytest.approx(0.2, abs=0.05)
    assert way @ expected > 0.95 * np.linalg.norm(way) * np.linalg.norm(expected)
    assert loop.phases[-1] is Phase.PROTECTIVE_STOP and np.abs(loop.velocities[-1]).max() < 1e-3
    assert loop.share < 1.0
    assert loop.control.reset_fault() == ""
    at = loop.plant.position.copy()
    loop.run(0.2)
    assert loop.phases[-1] is Phase.HOLDING and np.abs(loop.plant.position - at).max() < 1e-3
    loop.go(np.add(READY, (0.5, 0.0, 0.0, 0.0, 0.0, 0.0)), 2.0)
    loop.run(0.5)
    loop.push = pushing
    loop.run(0.5, until=lambda: loop.phases[-1] is Phase.PROTECTIVE_STOP)
    at = loop.plant.position.copy()
    loop.push = (4, -pushing[1])
    loop.run(2.0)
    assert np.abs(loop.plant.position - at).max() < 0.15


def test_an_arm_does_not_yield_with_springs_that_are_not_stable():
    loop = Pushed("ur5", READY)
    loop.run(0.1)
    with pytest.raises(ParameterError, match=r"on_contact is 'yield': .*'joint_stiffness' is 1e.06.*stable"):
        loop.control.parameters = rd.ArmParameters(on_contact="yield", joint_stiffness=(1e6,))
