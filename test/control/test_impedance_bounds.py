"""Bounds of an impedance with the period of the states: closed forms, and eigenvalues by SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arms import joints_in_a_row
from scipy.linalg import eigh
from sprung import POSES, Sprung, halton

from robot_dynamics.control.arm.impedance import ImpedanceParameters
from robot_dynamics.control.core.library import MODES, ffi
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.errors import ParameterError

DIAGONAL = np.diag([0.5, 2.0, 0.125])
COUPLED = np.array([[2.0, 0.9, 0.3], [0.9, 1.0, 0.25], [0.3, 0.25, 0.5]])
PERIOD, DELAY = 0.004, 0.001
LATENCY = 1.3 * (0.5 * PERIOD + DELAY)
"""Half a period and the delay, for an inertia that is 1.3 times too small."""


def chain():
    return joints_in_a_row([(-1.0, 2.0, 4.0), (-np.inf, np.inf, 4.0), (-20.0, 0.5, 4.0)])


BOUNDS = np.array([[-1.0, -np.inf, -20.0], [2.0, np.inf, 0.5]])


def given(stiffness, damping=(-1.0,), mass=None, bounds=BOUNDS, **other):
    """An arm with the same mass matrix everywhere."""
    n = len(mass)
    stiffness, damping = (np.broadcast_to(np.array(row, dtype=float), n) for row in (stiffness, damping))
    return Sprung(
        bounds[:, :n],
        lambda q: np.array(mass),
        {"stiffness": stiffness, "damping": damping, **other},
        delay=DELAY,
    )


def test_values_of_the_law_are_one_for_each_joint():
    parameters = ImpedanceParameters((10.0, 20.0, 30.0), (-1.0, 0.0, 2.0), (0.1, 0.2, 0.3), (0.0, 5.0, 6.0))
    found = parameters.impedance(chain())
    assert {name: array.tolist() for name, array in found.items()} == {
        "stiffness": [10.0, 20.0, 30.0],
        "damping": [-1.0, 0.0, 2.0],
        "error_clip": [0.1, 0.2, 0.3],
        "effort_rates": [np.inf, 5.0, 6.0],
    }
    usual = ImpedanceParameters().impedance(chain())
    assert {name: array.tolist() for name, array in usual.items()} == {
        "stiffness": [50.0] * 3, "damping": [-1.0] * 3, "error_clip": [0.5] * 3, "effort_rates": [np.inf] * 3,
    }  # fmt: skip
    with pytest.raises(ParameterError, match="'max_effort_rate' has 2 values"):
        ImpedanceParameters(max_effort_rate=(1.0, 2.0)).impedance(chain())


def test_filters_delay_by_the_longer_of_two_and_that_of_the_efforts():
    assert ImpedanceParameters().smoothing == (0.0, 0.0, 0.0)
    first = ImpedanceParameters(position_filter=0.01, velocity_filter=0.02, effort_filter=0.004)
    assert first.smoothing == (0.01, 0.02, 0.004) and first.smoothing_delay == pytest.approx(0.024)
    second = ImpedanceParameters(position_filter=0.03, velocity_filter=0.02, effort_filter=0.05)
    assert second.smoothing_delay == pytest.approx(0.08)


def test_empty_lists_and_negative_dampings_are_refused():
    for name in ("joint_stiffness", "joint_damping", "joint_error_clip"):
        with pytest.raises(ParameterError) as told:
            ImpedanceParameters(**{name: ()})
        assert str(told.value) == f"parameter '{name}' is empty; give one value, or one per joint"
    for value in (-0.5, -0.001, -0.999):
        with pytest.raises(ParameterError) as told:
            ImpedanceParameters(joint_damping=(3.0, value))
        assert str(told.value) == (
            f"parameter 'joint_damping' is {value:g}; it must not be negative, or -1: critical"
        )
    assert ImpedanceParameters(joint_damping=(-1.0, 0.0)).joint_damping == (-1.0, 0.0)


# Oracles


def rounded_down(values):
    """Values with two digits, none larger, by their decimal texts."""
    found = []
    for value in np.ravel(values):
        digits, _, exponent = f"{value * (1.0 + 1e-12):.16e}".partition("e")
        found.append(float(f"{digits[:3]}e{exponent}") if value > 0.0 else value)
    return np.array(found)


def at_most(name, values, stable, period=PERIOD):
    given, most = (", ".join(f"{value:g}" for value in row) for row in (values, rounded_down(stable)))
    return f"parameter '{name}' is {given}: with a state every {1e3 * period:.3g} ms at most {most} is stable"


def rates_of(stiffness, damping, masses):
    """Largest gains of the whole arm, and its joints' own by their mobility."""
    critical = [2.0 * np.sqrt(stiffness * np.diag(mass)) for mass in masses]
    kp = max(eigh(np.diag(stiffness), mass)[0][-1] for mass in masses)
    kv = max(
        eigh(np.diag(np.where(damping < 0.0, row, damping)), mass)[0][-1]
        for row, mass in zip(critical, masses, strict=True)
    )
    counts = (stiffness > 0.0) & (damping > 0.0)
    ratio = np.max(stiffness[counts] / damping[counts], initial=0.0)
    kv = min(kv, kp / ratio) if ratio > kv else kv
    mobility = np.max([np.diag(np.linalg.inv(mass)) for mass in masses], axis=0)
    own = stiffness * mobility
    damped = np.where(damping < 0.0, 2.0 * np.sqrt(own), damping * mobility)
    return kp, kv, kp * own / (own.max() or 1.0), kv * damped / (damped.max() or 1.0)


def share_of(kp, kv, critical, latency):
    """Share that is stable, and whether it is one of the damping."""
    if kp == 0.0 and (critical or kv * latency < 1.0):
        return math.inf, False
    if critical:
        return min(1.0 / (kv * latency), kv / (kp * latency)) ** 2, False
    return (1.0 / (kv * latency), True) if kv * latency >= 1.0 else (kv / (kp * latency), False)


def refusal_of(stiffness, damping, masses, period, delay):
    """The text, by the oracles above; empty where the springs are stable."""
    latency, critical = 1.3 * (0.5 * period + delay), damping < 0.0
    kp, kv, *own = rates_of(stiffness, damping, masses)
    share, damps = share_of(kp, kv, critical.any(), latency)
    if share > 1.0:
        return ""
    name, values = ("joint_damping", damping) if damps else ("joint_stiffness", stiffness)
    alone = np.array([share_of(*gains, latency)[0] for gains in zip(*own, critical, strict=True)])
    for part in (1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.1):
        slower = rounded_down(values * np.minimum(part * alone, 1.0))
        springs = (stiffness, slower) if damps else (slower, damping)
        if share_of(*rates_of(*springs, masses)[:2], critical.any(), latency)[0] > 1.0:
            return told(name, values, slower, period)
    return told(name, values, share * values, period)


def told(name, values, stable, period):
    if (stable > 0.0).any():
        return at_most(name, values, stable, period)
    return (
        f"parameter '{name}' is {', '.join(f'{value:g}' for value in values)}: no stiffness is stable without"
        " damping; a damping of -1 is critical"
    )


# The core


def test_poses_cover_the_range_of_each_joint_or_a_turn():
    arm = given((1.0,), mass=DIAGONAL)
    arm.gains()
    places = np.array(arm.asked).reshape(POSES, 4, 3)
    assert (places == places[:, :1]).all()
    lower, upper = np.array([-1.0, -np.pi, -20.0]), np.array([2.0, np.pi, 0.5])
    np.testing.assert_allclose(places[:, 0], lower + halton(3) * (upper - lower))
    assert (np.ptp(places[:, 0], axis=0) > 0.9 * (upper - lower)).all()
    assert np.abs(np.corrcoef(places[:, 0].T) - np.eye(3)).max() < 0.35


def test_gains_are_the_largest_eigenvalues_over_all_poses():
    """Of an arm whose masses change with its pose; SciPy's generalised eigenvalues."""
    random = np.random.default_rng(5)
    for n in (1, 2, 4, 7):
        shape = random.normal(size=(n, n))
        bounds = np.array([random.uniform(-3.0, -1.0, n), random.uniform(0.5, 4.0, n)])

        def mass(q, shape=shape, n=n):
            return shape @ shape.T + np.diag(0.2 + 0.15 * np.sin(q)) + 0.02 * np.outer(np.cos(q), np.cos(q))

        masses = [mass(q) for q in bounds[0] + halton(n) * (bounds[1] - bounds[0])]
        for critical in (0.0, 0.5, 1.0):
            stiffness = random.uniform(1.0, 90.0, n)
            damping = np.where(random.random(n) < critical, -1.0, random.uniform(0.5, 20.0, n))
            found = Sprung(bounds, mass, {"stiffness": stiffness, "damping": damping}).gains()
            np.testing.assert_allclose(found, rates_of(stiffness, damping, masses)[2:], rtol=1e-7)


def test_springs_are_refused_by_the_words_of_the_oracle():
    """Random arms, springs and periods, most of them near what is stable."""
    random = np.random.default_rng(11)
    kinds = set()
    for number in range(120):
        unit = (1.0, 0.01)[number % 2]  # of force: light robots have dampings below 1
        n = int(random.integers(1, 5))
        shape = random.normal(size=(n, n))
        mass = unit * (shape @ shape.T / n + np.diag(random.uniform(0.1, 1.0, n)))
        stiffness = unit * 10.0 ** random.uniform(1.0, 4.5, n) * (random.random(n) < 0.9)
        given_damping = unit * 10.0 ** random.uniform(0.0, 2.7, n) * (random.random(n) < 0.9)
        damping = np.where(random.random(n) < random.choice([0.0, 0.5, 1.0]), -1.0, given_damping)
        period, delay = random.uniform(0.001, 0.01), random.choice([0.0, 0.002])
        bounds = np.array([[-1.0] * n, [1.0] * n])
        springs = {"stiffness": stiffness, "damping": damping}
        arm = Sprung(bounds, lambda q, mass=mass: mass, springs, delay=delay)
        expected = refusal_of(stiffness, damping, [mass], period, delay)
        assert arm.refusal(period) == expected
        kinds.add(expected.partition(" is ")[0] + expected[-8:])
    assert {"", "parameter 'joint_stiffness's stable", "parameter 'joint_damping's stable"} <= kinds


def test_a_direction_with_less_damping_for_its_stiffness_counts():
    """kv is at most kp over the largest ratio of stiffness to given damping."""
    for stiffness, damping in (
        ((40.0, 90.0, 500.0), (4.0, 3.0, -1.0)),
        ((40.0, 900.0, 0.0), (4.0, 3.0, 2.0)),
        ((0.9, 0.0, 0.0), (1.2, 0.0, 0.0)),
        ((0.1, 0.05, 0.01), (0.02, 0.03, 0.01)),
        ((40.0, 9.0, 1.0), (-1.0, 0.0, 0.0)),
    ):
        found = given(stiffness, damping, DIAGONAL).gains()
        expected = rates_of(np.array(stiffness), np.array(damping), [DIAGONAL])[2:]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_values_are_rounded_down_to_two_digits():
    """Of joints whose damping is too strong, each alone."""
    for stable, text in ((12.34, "12"), (0.0999, "0.099"), (1.0 + 1e-9, "1"), (55.0 + 1e-9, "55"),
                         (999.0, "990"), (0.315, "0.31"), (1.29, "1.2"), (130.1, "130")):  # fmt: skip
        arm = given((0.0,), (5.0 * stable,), np.array([[stable * LATENCY]]))
        assert arm.refusal(PERIOD).endswith(f" ms at most {text} is stable")


def test_filters_delay_springs_but_not_those_of_a_contact():
    most = 1.0 / (4.0 * LATENCY**2)
    later = 1.0 / (4.0 * (LATENCY + 1.3 * 0.05) ** 2)
    smooth = given((0.9 * most,), (-1.0,), np.eye(1), smoothing=[0.01, 0.03, 0.02])
    assert smooth.refusal(PERIOD) == at_most("joint_stiffness", [0.9 * most], [later])
    assert given((0.9 * later,), (-1.0,), np.eye(1), smoothing=[0.03, 0.01, 0.02]).refusal(PERIOD) == ""
    law = {"stiffness": np.array([0.9 * most]), "damping": np.array([-1.0]), "smoothing": [0.01, 0.03, 0.02]}
    for scale, accepted in ((1.0, True), (1.3, False)):
        stiff = law | {"stiffness": scale * law["stiffness"]}
        contact = enumerators("rd_on_contact")
        place = [*contact].index("contact_yield")
        arm = Sprung([[-1.0], [1.0]], lambda q: np.eye(1), stiff, mode="pd", delay=DELAY, contact=place)
        text = at_most("joint_stiffness", stiff["stiffness"], [most])
        assert arm.refusal(PERIOD) == ("" if accepted else f"on_contact is 'yield': {text}")
        other = Sprung([[-1.0], [1.0]], lambda q: np.eye(1), stiff, mode="pd", delay=DELAY, contact=place - 1)
        assert other.refusal(PERIOD) == ""


def test_springs_are_not_judged_without_a_period_or_a_delay():
    stiff = {"stiffness": np.array([1e6]), "damping": np.array([-1.0])}
    for delay, period, refused in ((0.0, 0.004, True), (0.0, 0.0, False), (-1.0, 0.004, False)):
        arm = Sprung([[-1.0], [1.0]], lambda q: np.eye(1), stiff, delay=delay)
        assert bool(arm.refusal(period)) == refused
    arm.settings.rules = ffi().NULL
    assert arm.refusal(0.004) == ""


@pytest.mark.parametrize("mass", [None, np.diag([1.0, 0.0]), np.array([[1.0, 2.0], [2.0, 1.0]])])
def test_a_model_without_a_mass_matrix_has_no_springs(mass):
    springs = {"stiffness": np.array([1.0, 2.0]), "damping": np.array([-1.0, -1.0])}
    arm = Sprung([[-1.0] * 2, [1.0] * 2], lambda q: mass, springs)
    assert arm.gains() is None
    assert arm.refusal(0.004) == (
        "springs cannot be judged: the model has no mass matrix at a pose within the range of the joints"
    )
    arm.settings.mode = MODES.index("pd")
    assert [gain.tolist() for gain in arm.gains(3.0)] == [[3.0, 3.0]] * 2


def test_gains_of_joints_alone_are_stiffness_and_damping_over_inertia():
    kp, kv = given((50.0, 30.0, 20.0), (-1.0, 9.0, 4.0), DIAGONAL).gains()
    np.testing.assert_allclose(kp, [100.0, 15.0, 160.0])
    largest = max(2.0 * math.sqrt(100.0), 4.5, 32.0)
    np.testing.assert_allclose(kv, np.array([20.0, 4.5, 32.0]) / 32.0 * largest)
    free, none = given((0.0,), (0.0,), DIAGONAL).gains()
    assert not free.any() and not none.any()


def test_gains_of_coupled_joints_are_shared_by_their_mobility():
    stiffness, damping = np.array([50.0, 30.0, 20.0]), np.array([6.0, -1.0, 4.0])
    kp, kv = given(stiffness, damping, COUPLED).gains()
    critical = 2.0 * np.sqrt(stiffness * np.diag(COUPLED))
    all_of_it = eigh(np.diag(stiffness), COUPLED)[0][-1]
    rates = eigh(np.diag(np.where(damping < 0.0, critical, damping)), COUPLED)[0][-1]
    assert rates > max(50.0 / 6.0, 20.0 / 4.0)
    mobility = np.diag(np.linalg.inv(COUPLED))
    np.testing.assert_allclose(kp, all_of_it * stiffness * mobility / (stiffness * mobility).max())
    alone = np.where(damping < 0.0, 2.0 * np.sqrt(stiffness * mobility), damping * mobility)
    np.testing.assert_allclose(kv, rates * alone / alone.max())


def test_stiffness_with_critical_damping_is_bounded_for_each_joint():
    """kp ≤ 1 / (2 latency)²: joints that are slow enough keep what they have."""
    bound = 1.0 / (2.0 * LATENCY) ** 2
    inertias = np.diag(DIAGONAL)
    values = np.array([40.0 * bound * 0.5, 0.3 * bound * 2.0, 0.99 * bound * 0.125])
    assert given(0.999 * bound * inertias, mass=DIAGONAL).refusal(PERIOD) == ""
    stable = rounded_down(np.minimum(values, bound * inertias * [1.0, 1.0, 1.0]))
    assert given(values, mass=DIAGONAL).refusal(PERIOD) == at_most("joint_stiffness", values, stable, PERIOD)


def test_damping_is_bounded_where_it_is_too_strong():
    """kv < 1 / latency, of the joint that is too fast alone."""
    most = np.diag(DIAGONAL) / LATENCY
    damping = np.array([0.9, 3.0, 0.5]) * most
    assert given((1.0,), 0.95 * most, DIAGONAL).refusal(PERIOD) == ""
    stable = rounded_down(np.array([damping[0], most[1], damping[2]]))
    assert given((1.0,), damping, DIAGONAL).refusal(PERIOD) == at_most(
        "joint_damping", damping, stable, PERIOD
    )


def judged(stiffness, mass):
    """Margin of critical damping of every joint of a coupled arm; it is stable above 1."""
    kp = eigh(np.diag(stiffness), mass)[0][-1]
    kv = eigh(np.diag(2.0 * np.sqrt(stiffness * np.diag(mass))), mass)[0][-1]
    return min(1.0 / (kv * LATENCY), kv / (kp * LATENCY)) ** 2


@pytest.mark.parametrize("scale", [1.5, 4.0, 60.0])
@pytest.mark.parametrize("mass", [COUPLED, COUPLED + np.diag([0.0, -0.45, -0.25])])
def test_coupled_joints_give_way_by_the_first_share_that_is_stable(mass, scale):
    """Of 1, 0.8, 0.6, 0.4, 0.25, 0.15 and 0.1 of what each stands by itself."""
    eigenvalues = np.linalg.eigvalsh(mass)
    assert eigenvalues.min() > 0.0
    stiffness = np.array([1.0, 0.2, 0.6])
    stiffness *= scale * judged(stiffness, mass)
    kp, kv = given(stiffness, mass=mass).gains()
    own = np.minimum(1.0 / (kv * LATENCY), kv / (kp * LATENCY)) ** 2
    expected = next(
        rounded
        for share in (1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.1)
        for rounded in (rounded_down(stiffness * np.minimum(share * own, 1.0)),)
        if judged(rounded, mass) > 1.0
    )
    assert given(stiffness, mass=mass).refusal(PERIOD) == at_most(
        "joint_stiffness", stiffness, expected, PERIOD
    )


def test_a_stiffness_without_damping_is_never_stable():
    text = given((30.0,), (0.0,), DIAGONAL).refusal(PERIOD)
    assert text == (
        "parameter 'joint_stiffness' is 30, 30, 30: no stiffness is stable without damping; a damping of"
        " -1 is critical"
    )
