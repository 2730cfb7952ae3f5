"""The momentum observer against the equations that describe it, on irregular states and efforts."""

import numpy as np
import pinocchio as pin
import pytest
from arms import TWO_JOINTS, two_joint_chain

import robot_dynamics as rd
from robot_dynamics.control.arm.contact import MomentumObserver

GAIN, DRIFT, TURNING = 25.0, 0.3, 0.005
MODEL = pin.buildModelFromXML(TWO_JOINTS)
DATA = MODEL.createData()
FRICTION = {
    "rotor_inertia": (0.4, 0.7),
    "damping": (1.5, 2.5),
    "friction": (3.0, 2.0),
    "static_friction": (4.0, 2.5),
    "stribeck_velocity": (0.1, 0.3),
    "friction_offset": (0.5, -0.4),
    "load_friction": (0.1, 0.2),
    "presliding_friction": (1.0, 0.8),
    "presliding_travel": (0.01, 0.02),
}
FLOORS, SPEEDS = np.array([[9.0, 7.0], [4.0, 3.0], [6.0, 8.0]]), (0.0, 0.1, 0.4)
LIMITS = np.array([3.0, 2.0])  # of the velocities


def momentum(q, qd):
    """(2,) momentum of the links, and its rate at these efforts: C^T qd - g."""
    p = pin.crba(MODEL, DATA, q)
    p = (np.triu(p) + np.triu(p, 1).T) @ qd
    matrix = pin.computeCoriolisMatrix(MODEL, DATA, q, qd)
    return p, matrix.T @ qd - pin.computeGeneralizedGravity(MODEL, DATA, q)


def direction(v):
    c = np.clip(v / TURNING, -1.0, 1.0)
    return 0.5 * c * (3.0 - c * c)


class Equations:
    """The description in ``observer.c``, joint by joint; ``past`` holds intervals with their values."""

    def __init__(self, drives, delay, offset):
        self.drives, self.delay, self.offset = drives, delay, offset
        self.restart()

    def restart(self):
        self.external, self.threshold = np.zeros(2), np.full(2, np.inf)
        self.last, self.slid, self.past = None, np.zeros(2), []

    def dry(self, j, speed, sign):
        """Friction without load, and its share per load, at a speed in a direction."""
        p = {name: values[j] for name, values in self.drives.items()}
        stribeck = (p["static_friction"] - p["friction"]) * np.exp(-abs(speed) / p["stribeck_velocity"])
        plain = sign * (p["friction"] + stribeck + p["friction_offset"] * sign)
        return p["damping"] * speed + plain, p["load_friction"] * sign

    def friction(self, j, v, effort):
        """Friction, the share that drifts, and what standstill and reversals hide."""
        s, built = direction(v), self.drives["presliding_friction"][j]
        plain, slope = self.dry(j, v, s)
        plain += built * (abs(s) * self.slid[j] - s)
        # What the links get is x, of which the gear rubs away slope |x|.
        links = (effort - plain) / (1.0 + slope)
        links = links if links > 0.0 else (effort - plain) / (1.0 - slope)
        load = abs(links)
        ahead, per_load = self.dry(j, abs(v), 1.0)
        still, rest = 1.0 - abs(s), self.dry(j, 0.0, 1.0)
        hidden = still * (rest[0] + rest[1] * load) + built * (1.0 - abs(self.slid[j]))
        return plain + slope * load, DRIFT * (ahead + per_load * load), hidden

    def floor(self, j, speed, hidden):
        here = np.interp(speed, np.array(SPEEDS) * LIMITS[j], FLOORS[:, j])
        return max(here, FLOORS[:, j].min() + hidden)

    def mean(self, name, wait):
        """Mean over as long as the last interval, `wait` earlier, of what is known of it; whether all is."""
        begin, end, _ = self.past[-1]
        low, high = begin - wait, end - wait
        counted = self.past[1:] or self.past  # the first interval after a start is left out
        shares = [(max(0.0, min(b, high) - max(a, low)), values[name]) for a, b, values in counted]
        total = sum((share * value for share, value in shares), np.zeros(2))
        return total / (end - begin), counted[0][0] <= low

    def update(self, time, q, qd, effort):
        if self.last is not None and not 0.0 < time - self.last["time"] <= 0.1:
            self.restart()
        acting, (p, drive) = effort - self.offset, momentum(q, qd)
        drift, hidden = np.zeros((2, 2))
        now = {"time": time, "q": q}
        wait = self.delay
        if self.last is not None:
            begin = self.last["time"]
            self.past.append((begin, time, {"acting": acting}))
        known = self.last is not None
        if known and wait < 0.0:
            acting, known = self.mean("acting", -wait)
        for j in range(2) if self.drives else ():
            if self.last is not None and abs(qd[j]) > 0.01:
                e, travel = np.sign(q[j] - self.last["q"][j]), abs(q[j] - self.last["q"][j])
                self.slid[j] = e + (self.slid[j] - e) * np.exp(-travel / self.drives["presliding_travel"][j])
            p[j] += self.drives["rotor_inertia"][j] * qd[j]
            lost, drift[j], hidden[j] = self.friction(j, qd[j], acting[j])
            drive[j] -= lost
        limit = drift + [self.floor(j, abs(qd[j]), hidden[j]) for j in range(2)]
        now |= {"p": p, "drive": drive}
        share = 0.0
        if self.last is not None:
            elapsed = time - self.last["time"]
            share = 1.0 - np.exp(-GAIN * elapsed)
            asked = (p - self.last["p"]) / elapsed - 0.5 * (drive + self.last["drive"])
            self.past[-1][2].update(asked=asked, limit=limit)
            if wait > 0.0:
                low, high = begin - wait, time - wait
                asked, known = self.mean("asked", wait)
                meanwhile = [v["limit"] for a, b, v in self.past[1:] if a < high and b > low]
                limit = np.max([limit, *meanwhile], axis=0)
            if known:
                self.external += share * (asked - acting - self.external)
        smooth = self.threshold + share * (limit - np.where(np.isinf(self.threshold), 0.0, self.threshold))
        rises = (limit > self.threshold) | (self.last is None)
        self.threshold = np.where(rises, limit, smooth)
        self.last = now


def motion(rng, count, period):
    """Times, positions, velocities that pass zero and rest there, and efforts."""
    steps = period * rng.uniform(0.5, 1.5, count)
    velocities = np.cumsum(rng.normal(0.0, 0.04, (count, 2)), axis=0)
    velocities[rng.uniform(size=(count, 2)) < 0.1] *= 0.01
    velocities[40:50] = 0.0
    positions = np.array([0.2, -0.1]) + np.cumsum(steps[:, None] * velocities, axis=0)
    return np.cumsum(steps), positions, velocities, rng.normal([-8.0, 0.0], 3.0, (count, 2))


@pytest.mark.parametrize(
    ("driven", "delay"), [(False, 0.0), (True, 0.0), (True, 0.007), (True, -0.007), (False, 0.004)]
)
def test_external_efforts_and_thresholds_are_those_of_the_equations(driven, delay):
    chain, offset = two_joint_chain(), np.array([1.0, -0.5])
    links = rd.compile_dynamics(chain, friction=False)
    model = rd.ActuatedArm(links, chain, rd.ActuatorParameters(**FRICTION)) if driven else links
    parameters = rd.ContactParameters(
        observer_gain=GAIN, contact_threshold=tuple(FLOORS.ravel()), contact_speeds=SPEEDS,
        effort_delay=delay, effort_offset=tuple(offset), friction_drift=DRIFT,
    )  # fmt: skip
    observer = MomentumObserver(chain, model, parameters)
    equations = Equations(FRICTION if driven else {}, delay, offset)
    times, positions, velocities, efforts = motion(np.random.default_rng(7), 160, 0.003)
    times[100:] += 0.2  # a gap, after which it begins anew
    for given in zip(times, positions, velocities, efforts, strict=True):
        found = observer.update(*given)
        equations.update(*given)
        np.testing.assert_allclose(found.effort, equations.external, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.threshold, equations.threshold, rtol=1e-9, atol=1e-9)
    assert np.abs(found.effort).max() > 1.0


def test_gaps_up_to_a_tenth_of_a_second_are_bridged():
    chain = two_joint_chain()
    rest, load = np.zeros(2), np.array([0.0, 2.0])
    for gap, bridged in ((0.0999, True), (0.1, True), (0.1001, False), (0.0, False), (-0.01, False)):
        observer = MomentumObserver(chain, rd.compile_dynamics(chain, friction=False))
        for time in (-0.002, 0.0, gap):
            found = observer.update(time, rest, rest, -load)
        assert (found.effort[1] != 0.0) == bridged, gap


@pytest.mark.parametrize("delay", [0.05, -0.05])
def test_efforts_may_wait_for_more_states_than_are_kept(delay):
    """At 10 kHz: the oldest interval that is kept stands for those before it."""
    chain = two_joint_chain()
    links, rest, load = rd.compile_dynamics(chain, friction=False), np.zeros(2), np.array([3.0, -2.0])
    observer = MomentumObserver(chain, links, rd.ContactParameters(observer_gain=1e3, effort_delay=delay))
    acting = links.gravity(rest) - load
    for k in range(400):
        found = observer.update(1e-4 * k, rest, rest, acting)
    np.testing.assert_allclose(found.effort, load * (1.0 - np.exp(-0.1 * (400 - 256))), rtol=1e-9)
