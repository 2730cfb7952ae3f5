"""The open-loop descent of a platform: reference, simulation and forces of a made-up machine, in numpy."""

from __future__ import annotations

import numpy as np
import pytest
from platform_body import (
    GRAVITY,
    POSE,
    TWIST,
    WRENCH,
    PlatformBody,
    direction,
    error_of,
    motion_of,
)
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

TIMES = np.array([0.0, 0.8, 1.7, 2.9])
PLACES = np.array(
    [
        [0.02, -0.03, 1.2, 0.0, 0.0, 0.0],
        [0.04, -0.05, 1.1, 0.05, -0.04, 0.06],
        [0.01, -0.02, 1.0, 0.02, -0.06, 0.03],
        [0.03, -0.01, 0.9, 0.01, 0.02, -0.02],
    ]
)
UP = -GRAVITY / np.linalg.norm(GRAVITY)
STEP, PACE, BLIND = 0.005, (0.9, 1.3), 0.25
JERK = np.poly1d([6.0, -15.0, 10.0, 0.0, 0.0, 0.0])
"""Share of a minimum-jerk way that has passed, of the share of its time."""


def rates_of(angles, w):
    """Rates of roll, pitch and yaw under an angular velocity."""
    axes = [motion_of(np.r_[0, 0, 0, angles], np.r_[0, 0, 0, unit], np.zeros(6))[1][3:] for unit in np.eye(3)]
    return np.linalg.solve(np.transpose(axes), w)


class Descending(PlatformBody):
    """A platform without friction of its own and with a descent of four knots, from a measured state."""

    def __init__(self, pose=POSE, twist=TWIST, rubs=False):
        super().__init__(4)
        self.coulomb, self.viscous = np.zeros(6), np.zeros(6)
        ways = np.diff(PLACES, axis=0)
        powers = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
        parts = powers[:, None] * ways[:, None, :]
        parts[:, 0] = PLACES[:-1]
        self.plan = self.ffi.new("rd_plan *")
        self.plan.knots, self.plan.times = 4, self.array(TIMES, 1.25)
        self.plan.coefficients = self.array(parts.ravel())
        self.model.descent, self.model.blind_speed, self.model.pace = self.plan, BLIND, list(PACE)
        self.rubbed, self.oiled = np.zeros(6), np.zeros(6)
        if rubs:
            self.rubbed, self.oiled = self.draw.uniform(5.0, 30.0, 6), self.draw.uniform(40.0, 90.0, 6)
            self.model.guessed_coulomb, self.model.guessed_viscous = self.rubbed.tolist(), self.oiled.tolist()
        self.settings.safe_fade_time = 0.5
        self.z = np.array([0.2, -0.1, 0.3, -0.15, 0.25, 0.1])
        self.put(pose, twist, disturbance=self.z, wrench=WRENCH)
        self.open = self.platform.open_loop

    def settle(self, since, begins=False):
        self.motions.clear()
        made = self.ffi.new("double[7]", [77.0] * 7)
        found = self.calls.rd_platform_settle(self.core, since, begins, made)
        assert made[6] == 77.0
        return np.array(list(made))[:6] if found else None

    def get(self, name):
        found = self.open
        for part in name.split("."):
            found = getattr(found, part)
        return np.array(list(found)) if hasattr(found, "__len__") else found

    def state(self, which="believed"):
        return self.get(f"{which}.pose"), self.get(f"{which}.twist")

    def accelerations(self, pose, twist, sent, rubs):
        """(6,) under forces."""
        rates = self.jacobian(pose) @ twist
        if rubs:
            sent = sent - self.rubbed * direction(rates) - self.oiled * rates
        rest = self.forces(np.concatenate([pose, twist, self.z, WRENCH]))
        return np.linalg.solve(self.inertia_matrix(pose, self.mass), self.jacobian(pose).T @ (sent - rest))

    def moved(self, pose, twist, sent, duration, rubs=False):
        """Pose and twist after midpoint steps."""
        count = max(1, int(np.ceil(duration / STEP - 1e-9)))
        step = duration / count
        for _ in range(count):
            a = self.accelerations(pose, twist, sent, rubs)
            a = self.accelerations(*stepped(pose, twist, a, 0.5 * step), sent, rubs)
            pose, twist = stepped(pose, twist, a, step)
        return pose, twist

    def check(self, which, pose, twist):
        found, rate = self.state(which)
        np.testing.assert_allclose(error_of(found, pose), 0.0, atol=1e-11)
        np.testing.assert_allclose(rate, twist, rtol=1e-8, atol=1e-10)


def stepped(pose, twist, a, step):
    way = step * twist + 0.5 * step**2 * a
    turned = (Rotation.from_rotvec(way[3:]) * Rotation.from_quat(pose[3:])).as_quat()
    return np.concatenate([pose[:3] + way[:3], turned]), twist + step * a


def place_of(pose):
    return np.concatenate([pose[:3], Rotation.from_quat(pose[3:]).as_euler("ZYX")[::-1]])


class Way:
    """The reference of a descent that begins in a state."""

    def __init__(self, made, pose, twist, begun):
        self.place = place_of(pose)
        self.rate = np.concatenate([twist[:3], rates_of(self.place[3:], twist[3:])])
        speeds = np.linalg.norm(twist[:3]) / PACE[0], np.linalg.norm(twist[3:]) / PACE[1]
        self.begun, self.stop = begun, max(*speeds, 0.02)
        self.stands = self.place + 0.5 * self.stop * self.rate
        off = self.stands - PLACES
        off[:, 3:] = 1.1 * (np.mod(off[:, 3:] + np.pi, 2.0 * np.pi) - np.pi)
        self.knot = int(np.argmin((off**2).sum(axis=1)))
        self.way = self.stands - PLACES[self.knot]
        self.way[3:] = np.mod(self.way[3:] + np.pi, 2.0 * np.pi) - np.pi
        self.joins = PLACES[self.knot]
        self.moved = moved = motion_of(self.place, self.way, np.zeros(6))[1]
        fastest = np.abs(made.j @ moved).max()
        hardest = max(np.linalg.norm(moved[:3]) / PACE[0], np.linalg.norm(moved[3:]) / PACE[1])
        self.lasts = max(1.875 * fastest / BLIND, np.sqrt(5.7735 * hardest / 0.6))
        self.end = begun + self.stop + self.lasts + TIMES[-1] - TIMES[self.knot]

    def at(self, time):
        """Place, rate and second derivative."""
        t = time - self.begun
        if t < self.stop:
            slower = 1.0 - t / self.stop
            return (
                self.place + self.rate * (t - 0.5 * t**2 / self.stop),
                slower * self.rate,
                -self.rate / self.stop,
            )
        t -= self.stop
        if t < self.lasts:
            return jerked(self.joins + self.way, -self.way, t, self.lasts)
        t += TIMES[self.knot] - self.lasts
        k = min(int(np.searchsorted(TIMES, t, side="right")) - 1, 2)
        return jerked(PLACES[k], PLACES[k + 1] - PLACES[k], t - TIMES[k], TIMES[k + 1] - TIMES[k])


def jerked(start, way, t, lasts):
    u = t / lasts
    return start + JERK(u) * way, JERK.deriv()(u) / lasts * way, JERK.deriv(2)(u) / lasts**2 * way


STATES = [
    (POSE, TWIST),
    (POSE, 0.0 * TWIST),
    (POSE, np.array([0.02, 0.01, -0.03, 0.3, -0.4, 0.2])),
    (np.concatenate([[0.02, -0.01, 0.98], Rotation.from_rotvec([0.02, -0.05, 0.02]).as_quat()]), 0.3 * TWIST),
    (np.concatenate([[0.2, 0.3, 0.88], Rotation.from_rotvec([0.1, 0.2, -0.3]).as_quat()]), 0.1 * TWIST),
    (
        np.concatenate([[0.025, -0.035, 1.05], Rotation.from_rotvec([0.035, -0.05, 0.045]).as_quat()]),
        0.01 * TWIST,
    ),
    (np.concatenate([[0.05, -0.06, 1.12], Rotation.from_rotvec([0.05, 0.0, 3.2]).as_quat()]), 0.2 * TWIST),
]


@pytest.mark.parametrize(("pose", "twist"), STATES)
def test_the_reference_stops_and_joins_the_descent_where_it_is_nearest(pose, twist):
    made = Descending(pose, twist)
    made.core.unseen = 0.3  # nothing has left: no motion is known
    made.settle(0.3, begins=True)
    way = Way(made, pose, twist, 0.3)
    for name, expected in (
        ("place", way.place),
        ("rate", way.rate),
        ("stop_time", way.stop),
        ("joins", way.joins),
        ("way", way.way),
        ("way_time", way.lasts),
        ("descends", TIMES[way.knot]),
        ("end", way.end),
        ("begun", 0.3),
        ("time", 0.3),
    ):
        np.testing.assert_allclose(made.get(name), expected, rtol=1e-9, atol=1e-12, err_msg=name)
    assert made.get("sends") == 1
    made.check("believed", pose, twist)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9999, 1.0, 1.4, 1.9999, 2.0, 2.4, 2.9])
@pytest.mark.parametrize("state", [0, 3])
def test_forces_bring_the_simulated_platform_to_the_reference(share, state):
    """By feedback on a motion of the stop, the way or the descent."""
    made = Descending(*STATES[state])
    made.settle(0.3, begins=True)
    way = Way(made, *STATES[state], 0.3)
    lasts = (way.stop, way.lasts, way.end - 0.3 - way.stop - way.lasts)
    whole, part = int(share), share % 1.0
    time = 0.3 + sum(lasts[:whole]) + part * lasts[whole]
    made.open.sends = 0  # nothing is simulated
    found = made.settle(time)
    place, rate, second = way.at(time)
    pose, twist, a = motion_of(place, rate, second)
    believed, moves = made.state()
    wanted = a + 100.0 * error_of(pose, believed) + 20.0 * (twist - moves)
    np.testing.assert_allclose(made.motions[0][13:19], wanted + made.z, rtol=1e-7, atol=1e-8)
    assert len(made.motions) == 1
    np.testing.assert_allclose(found, made.forces(made.motions[0]), rtol=1e-9)
    np.testing.assert_array_equal(made.get("sent"), found)
    assert made.get("time") == time


@pytest.mark.parametrize("rubs", [False, True])
@pytest.mark.parametrize("duration", [0.004, 0.005, 0.0051, 0.013, 0.07])
def test_the_simulated_platforms_move_as_bodies_do(rubs, duration):
    made = Descending(rubs=rubs)
    sent = made.settle(0.3, begins=True)
    np.testing.assert_array_equal(made.get("sent"), sent)
    assert (made.get("believed.rubs"), made.get("free.rubs")) == (int(rubs), 0)
    made.settle(0.3 + duration)
    steps = min(duration, 0.05)
    made.check("believed", *made.moved(POSE, TWIST, sent, steps, rubs))
    made.check("free", *(made.moved(POSE, TWIST, sent, steps) if rubs else (POSE, TWIST)))
    assert made.get("time") == 0.3 + duration


def test_midpoint_steps_are_those_of_the_equations_of_motion():
    made = Descending()
    sent = made.settle(0.0, begins=True)
    made.settle(0.05)

    def slope(_, y):
        pose, twist = y[:7], y[7:]
        x, w = pose[3:], twist[3:]
        turned = (
            0.5 * (Rotation.from_quat(np.r_[w, 0.0] / np.linalg.norm(w)) * Rotation.from_quat(x)).as_quat()
        )
        turned *= np.linalg.norm(w) * np.linalg.norm(x)
        return np.concatenate([twist[:3], turned, made.accelerations(pose, twist, sent, False)])

    exact = solve_ivp(slope, (0.0, 0.05), np.concatenate([POSE, TWIST]), rtol=1e-6, atol=1e-9).y[:, -1]
    found, rates = made.state()
    np.testing.assert_allclose(error_of(found, exact[:7]), 0.0, atol=3e-6)
    np.testing.assert_allclose(rates, exact[7:], atol=3e-5)


def test_what_was_not_seen_is_simulated_under_the_last_forces():
    made = Descending(rubs=True)
    bearing = made.forces(np.concatenate([POSE, TWIST, made.z, WRENCH]))
    sent = bearing + np.array([20.0, -30.0, 10.0, 25.0, -15.0, 5.0])
    for i in range(6):
        made.core.left[i] = sent[i]
    made.core.has_left, made.core.unseen = 1, 0.022
    made.settle(0.3, begins=True)
    pose, twist = made.moved(POSE, TWIST, sent, 0.022, True)
    made.check("believed", pose, twist)
    made.check("free", *made.moved(POSE, TWIST, sent, 0.022))
    way = Way(made, pose, twist, 0.3)
    np.testing.assert_allclose(made.get("place"), way.place, rtol=1e-8)
    np.testing.assert_allclose(made.get("rate"), way.rate, rtol=1e-7)
    # A second one begins where the states ended, also where the model fails at once or later.
    for fails_at in (1, 2, 8, 9, 40, 71, 72):
        made.motions.clear()
        made.fails_at = fails_at
        made.calls.rd_platform_settle(made.core, 0.4, 1, made.ffi.new("double[6]"))
        made.check("believed", POSE, TWIST)
        made.check("free", POSE, TWIST)
        assert (made.get("believed.rubs"), made.get("free.rubs")) == (1, 0)


def test_nothing_is_simulated_where_nothing_was_unseen():
    made = Descending()
    made.core.has_left, made.core.unseen = 1, 0.0
    made.settle(0.3, begins=True)
    assert len(made.motions) == 1


def test_at_the_end_of_the_stop_the_way_has_begun():
    made = Descending()
    made.settle(0.0, begins=True)
    made.open.sends = 0
    made.settle(made.get("stop_time"))
    way = Way(made, POSE, TWIST, 0.0)
    pose = motion_of(way.stands, 0.0 * TWIST, 0.0 * TWIST)[0]
    wanted = 100.0 * error_of(pose, POSE) - 20.0 * TWIST
    np.testing.assert_allclose(made.motions[0][13:19], wanted + made.z, rtol=1e-9, atol=1e-9)


def test_at_most_half_a_second_is_simulated_that_was_not_seen():
    made = Descending()
    made.forces = lambda motion, mass=None: 9.0 * motion[13:19]
    made.core.has_left, made.core.unseen = 1, 0.8
    made.model.shortest = [0.0] * 6
    calls = made.motions
    made.fails_at = 14 * 100 + 1  # the first forces that are sent
    made.calls.rd_platform_settle(made.core, 0.3, 1, made.ffi.new("double[6]"))
    assert len(calls) == 14 * 100 + 1


@pytest.mark.parametrize("leg", [0, 3, 5, None])
@pytest.mark.parametrize("name", ["guessed_coulomb", "guessed_viscous"])
def test_any_guessed_friction_counts(name, leg):
    """That of joints at the legs' ends is none."""
    made = Descending()
    made.model.turning_friction = 1
    if leg is not None:
        getattr(made.model, name)[leg] = 0.3
    made.settle(0.0, begins=True)
    assert made.get("believed.rubs") == (leg is not None)


def test_the_leg_that_moves_fastest_gives_the_time_of_the_way():
    fastest = set()
    for turn in range(12):
        angle = np.radians(30.0 * turn)
        aside = 0.15 * np.array([np.cos(angle), np.sin(angle), 0.05])
        pose = np.concatenate([PLACES[0, :3] + aside, [0.0, 0.0, 0.0, 1.0]])
        made = Descending(pose, 0.0 * TWIST)
        made.settle(0.3, begins=True)
        way = Way(made, pose, 0.0 * TWIST, 0.3)
        np.testing.assert_allclose(made.get("way_time"), way.lasts, rtol=1e-9)
        fastest.add(int(np.argmax(np.abs(made.j @ way.moved))))
    assert fastest == set(range(6))


@pytest.mark.parametrize("above", [-0.01, 0.01])
def test_a_platform_at_its_lower_stops_rests(above):
    made = Descending()
    sent = made.settle(0.0, begins=True)
    pose, twist = made.moved(POSE, TWIST, sent, STEP)
    legs = made.top @ Rotation.from_quat(pose[3:]).as_matrix().T + pose[:3] - made.base
    lengths = np.linalg.norm(legs, axis=1)
    made.model.shortest = (lengths - above + np.array([0.3, -0.3, 0.2, -0.1, -0.2, 0.1])).tolist()
    made.settle(2.0 * STEP)
    if above > 0.0:
        assert made.get("believed.rests") == 0
        made.check("believed", *made.moved(pose, twist, sent, STEP))
        return
    assert made.get("believed.rests") == 1
    made.check("believed", pose, 0.0 * TWIST)
    made.settle(4.0 * STEP)
    made.check("believed", pose, 0.0 * TWIST)
    made.settle(0.0, begins=True)
    assert made.get("believed.rests") == 0


@pytest.mark.parametrize("rests", [0, 1])
@pytest.mark.parametrize("climb", [0.0, -0.001, -0.3, 0.02])
@pytest.mark.parametrize("push", [-3.0, 0.01, 4.0])
def test_no_force_lifts_a_platform_without_the_guessed_friction(rests, climb, push):
    """In the next 5 ms; one that rests on its stops leans on them."""
    twist = np.concatenate([climb * UP, [0.0] * 3])
    made = Descending(POSE, twist, rubs=True)
    made.settle(0.3, begins=True)
    made.open.free.rests, made.open.sends = rests, 0
    time = 0.3 + 0.5 * made.get("stop_time")
    # An error of the simulated platform pushes it up or down.
    away = np.concatenate([POSE[:3] - 0.02 * push * UP, POSE[3:]])
    made.open.believed.pose = away.tolist()
    made.settle(time)
    sent = made.forces(made.motions[0])
    rates = made.jacobian(away) @ twist
    sent = sent + made.rubbed * direction(rates) + made.oiled * rates
    a = made.accelerations(POSE, twist, sent, False)
    lean = 2.0 * rests
    rise = lean + UP @ a[:3]
    base = np.concatenate([-lean * UP, [0.0] * 3])
    share = min(1.0, max(0.0, -climb) / (rise * STEP)) if rise > 0.0 else 1.0
    found = made.accelerations(POSE, twist, made.get("sent"), False)
    np.testing.assert_allclose(found, base + share * (a - base), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(lean + UP @ found[:3], share * rise, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("fails_at", [1, 2, 3, 4, 9])
def test_forces_where_the_model_has_none(fails_at):
    """None at all is sent where those of the motion are missing; else they stay as they are."""
    made = Descending(POSE, 0.0 * TWIST, rubs=True)
    made.settle(0.3, begins=True)
    made.open.believed.pose = np.concatenate([POSE[:3] - 0.1 * UP, POSE[3:]]).tolist()
    made.open.sends = 0
    plain = made.settle(0.3)
    expected = made.forces(made.motions[0])
    assert len(made.motions) == 9
    assert np.abs(plain - expected).max() > 1.0
    made.open.sends = 0
    made.fails_at = fails_at
    found = made.settle(0.3)
    np.testing.assert_allclose(found, 0.0 * expected if fails_at == 1 else expected, rtol=1e-9)


@pytest.mark.parametrize("odd", [np.nan, np.inf, 5.0])
def test_forces_stay_within_the_limits_and_finite(odd):
    made = Descending()
    limits = np.array([30.0, 60.0, 20.0, 90.0, 50.0, 40.0])
    made.settings.limits = made.array(limits)
    plain, signs = made.forces, np.array([1.0, -1.0, 1.0, 1.0, 1.0, -1.0])

    def forces(motion, mass=None):
        return np.where(np.arange(6) == 3, odd, signs * plain(motion, mass))

    made.forces = forces
    found = made.settle(0.0, begins=True)
    expected = np.clip(signs * plain(made.motions[0]), -limits, limits)
    expected[3] = 5.0 if odd == 5.0 else 0.0
    assert (expected == limits).any() and (expected == -limits).any()
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_descent_ends_and_its_forces_fade():
    made = Descending()
    made.settle(0.3, begins=True)
    end = made.get("end")
    made.open.time = end - 0.004
    last = made.settle(end)
    np.testing.assert_array_equal(last, made.get("sent"))
    pose, twist = made.state()
    assert len(made.motions) == 14 + 1
    for later, left in ((1e-9, 1.0), (0.1, 0.8), (0.25, 0.5), (0.45, 0.1), (0.6, 0.0)):
        found = made.settle(end + later)
        assert not made.motions
        np.testing.assert_allclose(found, left * last, rtol=1e-7, atol=1e-9)
    made.check("believed", pose, twist)


def test_forces_fade_from_where_the_simulation_fails():
    made = Descending()
    sent = made.settle(0.3, begins=True)
    made.fails_at = 1
    found = made.settle(0.304)
    assert made.get("end") == 0.3
    assert made.get("time") == 0.304
    np.testing.assert_allclose(found, made.get("sent") * found[0] / sent[0], rtol=1e-9)
    np.testing.assert_array_equal(made.get("sent"), sent)
    assert np.abs(made.settle(0.79)).max() == pytest.approx(0.02 * np.abs(sent).max())


def test_a_descent_begins_anew_with_each_fault_and_where_time_runs_backwards():
    made = Descending()
    made.settle(0.3, begins=True)
    made.settle(0.304)
    assert made.get("begun") == 0.3
    before = made.state()
    made.settle(0.304)  # the same moment again
    np.testing.assert_array_equal(made.state()[0], before[0])
    assert made.get("begun") == 0.3
    assert len(made.motions) == 1
    made.settle(0.303)
    assert made.get("begun") == 0.303
    made.settle(0.5, begins=True)
    assert made.get("begun") == 0.5
    made.model.descent = made.ffi.NULL
    assert made.settle(0.6) is None
