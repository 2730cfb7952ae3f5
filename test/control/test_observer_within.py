"""The momentum observer on made-up momenta: closed forms over all states, three joints that differ."""

from __future__ import annotations

import numpy as np
import pytest
from inner_core import inner

N, GAIN, DRIFT, TURNING = 3, 21.0, 0.37, 0.005
ROTORS = np.array([0.4, 0.7, 1.3])
FRICTION = np.array(
    [
        [1.5, 3.0, 4.0, 0.1, 0.5, 0.23, 1.1, 0.01],
        [2.5, 2.0, 1.2, 0.3, -0.4, 0.0, 0.0, 0.0],
        [0.6, 2.2, 2.9, 0.2, 0.3, 0.31, 0.8, 0.015],
    ]
)
"""Damping, friction, static friction, Stribeck velocity, offset, per load, presliding, its travel."""
FLOORS = np.array([[9.0, 7.0, 2.0], [4.0, 3.0, 5.0], [6.0, 8.0, 4.5]])
SPEEDS = np.array([[0.01, 0.0, 0.02], [0.1, 0.2, 0.15], [0.4, 0.5, 0.9]])
OFFSET = np.array([1.0, -0.5, 0.3])


class Observed:
    """An observer of states whose momenta, Coriolis terms and weights are given."""

    def __init__(self, driven=True, delay=0.0, gain=GAIN):
        self.ffi, self.calls = inner()
        self.observer = self.ffi.gc(self.calls.rd_observer_new(N), self.calls.rd_observer_free)
        self.settings, self.about = self.ffi.new("rd_settings *"), self.ffi.new("rd_observed *")
        self.kept, self.fails, self.given, self.seen = [], False, np.zeros((3, N)), None

        def momentum(inputs, out):
            self.seen = [None if item == self.ffi.NULL else list(item[0:N]) for item in inputs[0:4]]
            for k in range(3):
                self.ffi.memmove(out[k], self.given[k].tobytes(), 8 * N)
            return not self.fails

        kernel = self.ffi.callback("int(const double *const *, double *const *)", momentum)
        self.kept.append(kernel)
        s = self.settings
        s.momentum, s.observer_gain, s.model, s.friction_drift = kernel, gain, 1, DRIFT
        s.contact_points = len(FLOORS)
        self.put(s, contact_floor=FLOORS, contact_speeds=SPEEDS, rotor_inertia=ROTORS, friction=FRICTION)
        self.about.driven, self.about.delay = driven, delay
        self.put(self.about, offset=OFFSET)

    def put(self, into, **fields):
        for name, values in fields.items():
            made = self.array(values)
            self.kept.append(made)
            setattr(into, name, made)

    def array(self, values):
        return self.ffi.new("double[]", np.ravel(values).tolist())

    def take(self, time, q, qd, effort, given):
        """Take a state; whether it has a momentum."""
        self.given = np.ascontiguousarray(given, dtype=float)
        acting = self.ffi.NULL if effort is None else self.array(effort)
        arrays = self.array(q), self.array(qd), acting
        return self.calls.rd_observer_update(self.observer, self.settings, time, *arrays, self.about)

    def results(self):
        """(2, n) external efforts and thresholds."""
        found = self.calls.rd_observer_external(self.observer)
        return np.array(list(found[0 : 2 * N])).reshape(2, N)

    def each(self, name):
        return np.array([getattr(self.calls, f"rd_observer_{name}")(self.observer, j) for j in range(N)])

    def find_ratios(self, scale):
        given = self.ffi.NULL if scale is None else self.array(scale)
        self.calls.rd_observer_find_ratios(self.observer, given)
        return self.each("ratio")


class States:
    """Irregular states: efforts that swing, speeds of both signs, fast, slow and none."""

    def __init__(self, count=24, seed=3, period=0.004):
        draw = np.random.default_rng(seed)
        self.t = 2.0 + np.cumsum(period * draw.uniform(0.5, 1.5, count))
        self.q = np.cumsum(draw.normal(0.0, 0.004, (count, N)), axis=0)
        size = 10.0 ** draw.uniform(-3.2, 0.2, (count, N))
        self.qd = size * draw.choice((-1.0, 1.0), (count, N))
        self.qd[5:7] = 0.0
        self.q[9, 1] = self.q[8, 1]
        self.qd[9, 1] = 0.2
        self.effort = draw.normal([-8.0, 3.0, 0.0], [4.0, 5.0, 9.0], (count, N))
        self.momentum = np.cumsum(draw.normal(0.0, 0.03, (count, N)), axis=0)
        self.given = np.stack([self.momentum, *draw.normal(0.0, 3.0, (2, count, N))], axis=1)

    def __iter__(self):
        return zip(self.t, self.q, self.qd, self.effort, self.given, strict=True)


def friction(qd, slid, effort):
    """Friction, the share of it that drifts, and what standstill and reversals hide: (n) each."""
    d, f, fs, vs, off, per, pre, _ = FRICTION.T
    c = np.clip(qd / TURNING, -1.0, 1.0)
    s = 0.5 * c * (3.0 - c * c)
    dry = f + (fs - f) * np.exp(-np.abs(qd) / vs)
    plain = d * qd + s * (dry + off * s) + pre * (np.abs(s) * slid - s)
    links = effort - plain
    for _ in range(60):  # the gear rubs away a share of what it gives the links
        links = effort - plain - s * per * np.abs(links)
    load = np.abs(links)
    drift = d * np.abs(qd) + dry + off + per * load
    hidden = (1.0 - np.abs(s)) * (fs + off + per * load) + pre * (1.0 - np.abs(slid))
    return effort - links, DRIFT * drift, hidden


def waited(t, values, delay, k):
    """Mean over the last interval, a delay before, of values that hold from one state to the next."""
    first = 2 if k > 1 else 1
    whole = np.concatenate([[np.zeros(N)], np.cumsum(np.diff(t)[first - 1 :, None] * values[first:], axis=0)])
    ends = np.array([np.interp(t[k - 1 : k + 1] - delay, t[first - 1 :], whole[:, j]) for j in range(N)])
    return (ends[:, 1] - ends[:, 0]) / (t[k] - t[k - 1]), k > 1 and t[k - 1] - delay >= t[1]


def described(states, driven=True, delay=0.0, gain=GAIN):
    """External efforts, thresholds, what is borne, and pairs of each state, by the equations of the file."""
    t, count = states.t, len(states.t)
    acting = states.effort - OFFSET
    external, borne, slid, threshold = np.zeros(N), np.zeros(N), np.zeros(N), None
    p = states.given[:, 0] + (ROTORS * states.qd if driven else 0.0)
    drive, asked, limits = np.zeros((3, count, N))
    rows = []
    for k in range(count):
        effort, known, lost, drift, hidden = acting[k], k > 0, np.zeros(N), np.zeros(N), np.zeros(N)
        if k > 0 and delay < 0.0:
            effort, known = waited(t[: k + 1], acting[: k + 1], -delay, k)
        if driven:
            if k > 0:
                travel, side = np.abs(states.q[k] - states.q[k - 1]), np.sign(states.q[k] - states.q[k - 1])
                after = side + (slid - side) * np.exp(-travel / np.maximum(FRICTION[:, 7], 1e-300))
                slid = np.where((FRICTION[:, 6] > 0.0) & (np.abs(states.qd[k]) > 0.01), after, slid)
            lost, drift, hidden = friction(states.qd[k], slid, effort)
        drive[k] = states.given[k, 1] - states.given[k, 2] - lost
        here = [np.interp(abs(states.qd[k, j]), SPEEDS[:, j], FLOORS[:, j]) for j in range(N)]
        limits[k] = drift + np.maximum(here, FLOORS.min(axis=0) + hidden)
        limit, share = limits[k], 0.0
        if k > 0:
            elapsed = t[k] - t[k - 1]
            share = 1.0 - np.exp(-gain * elapsed)
            between = 0.5 * (drive[k] + drive[k - 1])
            asked[k] = (p[k] - p[k - 1]) / elapsed - between
            seen = asked[k] - effort
            borne = borne + share * known * (effort + between - borne)
            if delay > 0.0:
                late, known = waited(t[: k + 1], asked[: k + 1], delay, k)
                seen = late - effort
                low, high = t[k - 1] - delay, t[k] - delay
                counted = [m for m in range(2, k + 1) if t[m - 1] < high and t[m] > low]
                limit = np.max([limit, *limits[counted]], axis=0)
            external = external + share * known * (seen - external)
            rows.append((effort, seen, bool(known)))
        rises = threshold is None or limit > threshold
        threshold = np.where(
            rises, limit, 0.0 if threshold is None else threshold + share * (limit - threshold)
        )
        yield external, threshold, borne, rows


CASES = [
    (False, 0.0),
    (True, 0.0),
    (True, 0.007),
    (True, -0.007),
    (False, 0.011),
    (True, 0.001),
    (True, -0.001),
]


@pytest.mark.parametrize(("driven", "delay"), CASES)
@pytest.mark.parametrize("gain", [GAIN, 0.7])
def test_external_efforts_and_thresholds_follow_the_equations_with_friction_and_delays(driven, delay, gain):
    observed, states = Observed(driven, delay, gain), States()
    for given, expected in zip(states, described(states, driven, delay, gain), strict=True):
        assert observed.take(*given) == 1
        np.testing.assert_allclose(observed.results(), expected[:2], rtol=1e-9, atol=1e-9)
    assert np.abs(expected[0]).min() > 1e-3


def ratios(rows, scale):
    """Ratios from covariances of each effort with the next one and with what is seen then."""
    pairs = [k for k in range(1, len(rows)) if rows[k][2] and rows[k - 1][2]]
    before = np.array([rows[k - 1][0] for k in pairs])
    effort, seen = (np.array([rows[k][i] for k in pairs]) for i in range(2))
    centred = before - before.mean(axis=0)
    with_effort, with_seen = (centred * effort).sum(axis=0), (centred * seen).sum(axis=0)
    scale = np.asarray(scale)
    told, told_seen = np.abs(with_effort) / scale**2, np.sign(with_effort) * with_seen / scale**2
    together = told_seen.sum() / (0.2 + told.sum())
    slope = (told_seen + 0.2 * together) / (told + 0.2)
    return np.clip(1.0 / np.maximum(1.0 + slope, 0.25), 0.05, 4.0), with_effort


def learned(factors, delay=0.0, seed=5):
    """An observer that has learned from an arm with such factors of the inertia; its states."""
    observed, states = Observed(True, delay), States(40, seed)
    turns = np.where(np.arange(40) % 2, -1.0, 1.0)
    states.effort[:, 1] = 3.0 + 6.0 * turns * np.abs(states.effort[:, 1] / 6.0) ** 0.3
    states.effort[1:, [0, 2]] += 0.8 * states.effort[:-1, [0, 2]]
    elapsed = np.diff(states.t, prepend=states.t[0] - 0.004)
    states.given[:, 0] = np.cumsum(np.array(factors) * states.effort * elapsed[:, None], axis=0)
    states.given[:, 0] -= ROTORS * states.qd
    observed.calls.rd_observer_learn(observed.observer, 1)
    for given, expected in zip(states, described(states, True, delay), strict=True):
        observed.take(*given)
        last = expected
    return observed, last


@pytest.mark.parametrize("delay", [0.0, 0.005, -0.005])
@pytest.mark.parametrize("scale", [(2.0, 3.0, 5.0), (60.0, 50.0, 70.0)])
def test_ratios_of_inertia_are_slopes_of_what_is_seen_over_the_effort_before(delay, scale):
    observed, (external, _, borne, rows) = learned((1.7, 2.2, 0.8), delay)
    wanted, with_effort = ratios(rows, scale)
    assert delay or with_effort.min() < 0.0 < with_effort.max()
    np.testing.assert_array_equal(observed.find_ratios(None), 1.0)
    np.testing.assert_allclose(observed.find_ratios(scale), wanted, rtol=1e-9)
    assert delay or np.ptp(wanted) > 0.05
    np.testing.assert_allclose(observed.each("load"), wanted * external - (1.0 - wanted) * borne, rtol=1e-9)


def test_where_no_contact_is_told_the_threshold_stays_infinite():
    observed, states = Observed(), States(12)
    observed.put(observed.settings, contact_floor=np.where(np.arange(N) == 1, np.inf, FLOORS))
    for state in states:
        observed.take(*state)
        np.testing.assert_array_equal(np.isinf(observed.results()[1]), np.arange(N) == 1)


def test_ratios_are_believed_from_a_twentieth_to_four():
    observed, (*_, rows) = learned((60.0, 1.5, 0.02))
    found = observed.find_ratios((0.5, 0.5, 0.5))
    np.testing.assert_allclose(found, ratios(rows, (0.5, 0.5, 0.5))[0], rtol=1e-9)
    assert found[0] == 0.05 and found[2] == 4.0 and 0.05 < found[1] < 4.0


@pytest.mark.parametrize("scale", [(1.0, 0.0, 1.0), (1.0, np.inf, 1.0), (0.0, 0.0, 0.0)])
def test_without_a_scale_of_efforts_a_joint_has_the_inertia_of_its_model(scale):
    """As one without weight, friction and an effort limit."""
    observed, _ = learned((60.0, 60.0, 60.0))
    found = observed.find_ratios(scale)
    np.testing.assert_array_equal(found[~(np.array(scale) == 1.0)], 1.0)
    assert ((found >= 0.05) & (found <= 4.0)).all()


def test_learning_goes_on_until_it_ends_and_begins_anew_after_that():
    observed, (*_, rows) = learned((1.7, 2.2, 0.8))
    scale = (2.0, 3.0, 5.0)
    learn, states = observed.calls.rd_observer_learn, States(12, 8)
    learn(observed.observer, 1)
    found = observed.find_ratios(scale)
    np.testing.assert_allclose(found, ratios(rows, scale)[0], rtol=1e-9)
    learn(observed.observer, 0)
    for given in states:
        observed.take(*given)
    np.testing.assert_array_equal(observed.find_ratios(scale), found)  # nothing is learned any more
    learn(observed.observer, 1)
    np.testing.assert_array_equal(observed.each("ratio"), 1.0)
    np.testing.assert_array_equal(observed.find_ratios(scale), 1.0)
    observed.calls.rd_observer_restart(observed.observer)
    for given, expected in zip(states, described(states), strict=True):
        observed.take(*given)
        last = expected
    np.testing.assert_allclose(observed.find_ratios(scale), ratios(last[3], scale)[0], rtol=1e-9)


def test_a_new_observer_knows_nothing():
    observed = Observed()
    np.testing.assert_array_equal(observed.results(), [[0.0] * N, [np.inf] * N])
    np.testing.assert_array_equal(observed.each("ratio"), 1.0)
    np.testing.assert_array_equal(observed.each("load"), 0.0)


def none_of(observed, given, case):
    """Take a state where something is missing; whether it was taken."""
    s, (t, q, qd, effort, of) = observed.settings, given
    kept = s.momentum, s.observer_gain
    if case == "no model":
        s.momentum = observed.ffi.NULL
    elif case == "no gain":
        s.observer_gain = 0.0
    observed.fails = case == "no momentum"
    found = observed.take(t, q, qd, None if case == "no efforts" else effort, of)
    s.momentum, s.observer_gain, observed.fails = *kept, False
    return found


@pytest.mark.parametrize("case", ["no model", "no gain", "no efforts", "no momentum"])
def test_states_without_momentum_or_efforts_make_it_begin_anew(case):
    observed, states = Observed(), States(16)
    given = list(states)
    for one in given[:7]:
        observed.take(*one)
    assert observed.results()[0].all()
    assert none_of(observed, given[7], case) == 0
    np.testing.assert_array_equal(observed.results(), [[0.0] * N, [np.inf] * N])
    states.t, states.q, states.qd, states.effort, states.given = (
        each[8:] for each in (states.t, states.q, states.qd, states.effort, states.given)
    )
    for one, expected in zip(given[8:], described(states), strict=True):
        observed.take(*one)
        np.testing.assert_allclose(observed.results(), expected[:2], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("delay", [0.0, 0.003, -0.003])
def test_a_step_to_another_model_is_left_out(delay):
    """External efforts stay in the first state; thresholds rise then, but do not fall."""
    observed, states = Observed(False, delay), States(20)
    given = list(states)
    for one in given[:9]:
        observed.take(*one)
    before = observed.results()
    observed.settings.model = 2
    observed.take(*given[9])
    now = observed.results()
    np.testing.assert_array_equal(now[0], before[0])
    limit = [
        max(np.interp(abs(states.qd[9, j]), SPEEDS[:, j], FLOORS[:, j]), FLOORS[:, j].min()) for j in range(N)
    ]
    np.testing.assert_allclose(now[1], np.maximum(before[1], limit))
    changed = None
    for k in range(10, 14):
        observed.take(*given[k])
        if changed is None and (observed.results()[0] != now[0]).all():
            changed = k
    if delay == 0.0:
        assert changed == 10
    else:
        assert changed > 10, "what waits is of the model before"


def test_another_delay_forgets_what_waits():
    observed, states = Observed(False, 0.004), States(24)
    given = list(states)
    for one in given[:12]:
        observed.take(*one)
    before = observed.results()[0]
    observed.about.delay = 0.006
    observed.take(*given[12])
    np.testing.assert_array_equal(observed.results()[0], before)
    for one in given[13:18]:
        observed.take(*one)
    assert (observed.results()[0] != before).all()


@pytest.mark.parametrize(
    ("elapsed", "bridged"), [(0.0999, True), (0.1001, False), (0.0, False), (-0.003, False)]
)
def test_states_that_are_no_later_or_much_later_begin_anew(elapsed, bridged):
    observed, given = Observed(), list(States())
    for one in given[:6]:
        observed.take(*one)
    before = observed.results()[0]
    observed.take(given[5][0] + elapsed, *given[6][1:])
    found = observed.results()[0]
    assert (found != before).all() and found.all() == bridged


def test_gravity_friction_and_offset_of_the_efforts_take_the_place_of_those_of_the_settings():
    """NULL: those of the settings, and no offset."""
    one, other, states = Observed(), Observed(), States()
    settings, about = one.settings, other.about
    for each in (one, other):
        each.put(each.settings, gravity=(1.0, 2.0, -3.0), payload=(0.5, 0.6, 0.7))
    one.about.offset = one.ffi.NULL
    other.put(about, gravity=(4.0, 5.0, 6.0), friction=FRICTION, offset=np.zeros(N))
    other.put(other.settings, friction=7.0 * FRICTION)
    for given in states:
        one.take(*given)
        other.take(*given)
        np.testing.assert_array_equal(one.results(), other.results())
    assert one.seen == [list(given[1]), list(given[2]), [1.0, 2.0, -3.0], [0.5, 0.6, 0.7]]
    assert other.seen[2] == [4.0, 5.0, 6.0]
    assert settings.gravity[0] == 1.0


def test_a_restart_forgets_presliding_and_what_waits():
    for delay in (0.0, 0.004):
        observed, states = Observed(True, delay), States(20)
        for given in states:
            observed.take(*given)
        observed.calls.rd_observer_restart(observed.observer)
        np.testing.assert_array_equal(observed.each("load"), 0.0)
        for given, expected in zip(states, described(states, True, delay), strict=True):
            observed.take(*given)
            np.testing.assert_allclose(observed.results(), expected[:2], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("points", [1, 2])
def test_floors_of_few_speeds(points):
    observed, (given, *_) = Observed(False), States()
    observed.settings.contact_points = points
    for speed in (0.0, 0.07, 0.17, 3.0):
        observed.calls.rd_observer_restart(observed.observer)
        observed.take(given[0], given[1], [speed, -speed, speed], *given[3:])
        floors, speeds = FLOORS[:points], SPEEDS[:points]
        expected = [np.interp(speed, speeds[:, j], floors[:, j]) for j in range(N)]
        np.testing.assert_allclose(observed.results()[1], expected)
