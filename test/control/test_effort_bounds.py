"""Bounds of the efforts on pieces of a path: each by its formula, and the search that halves the pieces."""

import math
from dataclasses import replace

import numpy as np
import pytest
from arms import LENGTH, MASS, WEIGHT, Masses, Pendulum, pendulum_chain, two_joint_chain

from robot_dynamics import compile_dynamics
from robot_dynamics.control.arm import verified_torque
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.verified_torque import LargestEfforts, _Boxes, _Search, largest_efforts
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.dynamics.effort_curvature import EffortCurvature
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import RigidBody

INFINITE = np.full(2, np.inf)
DRIVES = ActuatorParameters(
    rotor_inertia=(0.2, 0.7), damping=(1.5, 0.6), friction=(2.0, 1.0), static_friction=(3.0, 0.8),
    friction_offset=(0.4, -0.3), load_friction=(0.15, 0.1),
)  # fmt: skip


class Crane:
    """Efforts of a made-up model of two joints, of single states or of many."""

    def inverse_dynamics(self, q, v, a, heading=None):
        mixed = 3.0 * a + 0.7 * np.flip(a, axis=-1)
        return mixed + 9.0 * np.cos(q) + 0.5 * v * np.flip(v, axis=-1)


class Bob(Pendulum):
    """The pendulum as its chain has it, without friction: m l² a + m g l sin q."""

    damping, inertia = 0.0, MASS * LENGTH**2 + 1e-6


def path(seed=3, knots=4):
    random = np.random.default_rng(seed)
    times = 5.0 + np.cumsum(random.uniform(0.3, 0.9, knots))
    return QuinticSpline(
        times, random.normal(size=(knots - 1, 6, 2)) * [[[1.0], [0.6], [0.4], [0.3], [0.2], [0.1]]]
    )


def search(spline=None, drives=DRIVES, links=None):
    chain = two_joint_chain()
    model = ActuatedArm(Crane() if links is None else links, chain, drives)
    return _Search(chain, model, path() if spline is None else spline, INFINITE, False)


def boxes_of(found, piece, begin, width):
    piece, begin, width = np.array(piece), np.array(begin), np.array(width)
    return _Boxes(piece, begin, width, found._efforts(piece, begin), found._efforts(piece, begin + width))


PIECES = [0, 2, 1, 1]
BEGINS, WIDTHS = [0.0, 0.25, 0.625, 0.5], [1.0, 0.5, 0.125, 0.5]


def polynomials(spline, piece):
    """Positions of the joints as polynomials of the time since the piece begins."""
    step = spline.times[piece + 1] - spline.times[piece]
    columns = spline.coefficients[piece].T / step ** np.arange(6)
    return [np.polynomial.Polynomial(column) for column in columns], step


def hull(polynomial, begin, width, degree):
    """Bernstein coefficients on an interval: of sum a_k s^k, b_i = sum C(i, k) / C(n, k) a_k."""
    part = polynomial(np.polynomial.Polynomial([begin, width])).coef
    a = np.pad(part, (0, degree + 1 - len(part)))
    return [
        sum(math.comb(i, k) / math.comb(degree, k) * a[k] for k in range(i + 1)) for i in range(degree + 1)
    ]


@pytest.mark.parametrize("whole", [False, True])
def test_motions_on_pieces_are_bounded_by_their_bernstein_coefficients(whole):
    found = search()
    begins, widths = (np.zeros(4), np.ones(4)) if whole else (BEGINS, WIDTHS)
    positions, (slowest, fastest), rates = found._motion(boxes_of(found, PIECES, begins, widths))
    assert len(rates) == 4
    for k, piece in enumerate(PIECES):
        ways, step = polynomials(found._spline, piece)
        for j, way in enumerate(ways):
            at = begins[k] * step, widths[k] * step
            expected = np.abs(hull(way, *at, 5)).max()
            assert positions[k, j] == pytest.approx(expected, rel=1e-10)
            speeds = hull(way.deriv(), *at, 4)
            assert slowest[k, j] == pytest.approx(min(speeds), rel=1e-10)
            assert fastest[k, j] == pytest.approx(max(speeds), rel=1e-10)
            for order in (1, 2, 3, 4):
                expected = np.abs(hull(way.deriv(order), *at, 5 - order)).max()
                assert rates[order - 1][k, j] == pytest.approx(expected, rel=1e-10)


def test_states_and_efforts_at_places_of_the_pieces():
    found = search()
    piece, place = np.array(PIECES), np.array([0.3, 0.0, 1.0, 0.7])
    states = found._state(piece, place)
    efforts = found._efforts(piece, place)
    for k, s in enumerate(place):
        ways, step = polynomials(found._spline, piece[k])
        expected = [[way.deriv(order)(s * step) for way in ways] for order in range(3)]
        np.testing.assert_allclose([rows[k] for rows in states], expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(efforts[k], Crane().inverse_dynamics(*map(np.array, expected)), rtol=1e-9)


def test_efforts_at_the_ends_are_kept_where_they_are_the_largest_with_their_times():
    """Dry friction is in what is kept, and not in what is returned."""
    found = search()
    boxes = boxes_of(found, PIECES, BEGINS, WIDTHS)
    smooth = found._ends(boxes)
    chain, spline = two_joint_chain(), found._spline
    arm = ActuatedArm(Crane(), chain, DRIVES)
    viscous = ActuatedArm(
        Crane(), chain, ActuatorParameters(rotor_inertia=(0.2, 0.7), damping=(1.5, 0.6), friction=(0.0,))
    )
    seen = []
    for k, (piece, begin, width) in enumerate(zip(PIECES, BEGINS, WIDTHS, strict=True)):
        for end, place in enumerate((begin, begin + width)):
            ways, step = polynomials(spline, piece)
            state = [np.array([way.deriv(order)(place * step) for way in ways]) for order in range(3)]
            np.testing.assert_allclose(smooth[end][k], viscous.inverse_dynamics(*state), rtol=1e-9)
            seen.append((arm.inverse_dynamics(*state), spline.times[piece] + place * step))
    for j in range(2):
        value, time = max(((row[j], time) for row, time in seen), key=lambda one: abs(one[0]))
        assert found._value[j] == pytest.approx(value, rel=1e-9) and found._time[j] == pytest.approx(time)
    before = found._value.copy(), found._time.copy()
    found._value[0] *= -2.0
    found._ends(boxes)
    assert found._value.tolist() == [-2.0 * before[0][0], before[0][1]]
    assert found._time.tolist() == before[1].tolist()


def test_halves_of_chosen_pieces_meet_in_their_middles():
    found = search()
    boxes = boxes_of(found, PIECES, BEGINS, WIDTHS)
    halves = found._halved(boxes, np.array([False, True, True, False]))
    assert halves.piece.tolist() == [2, 1, 2, 1]
    assert halves.begin.tolist() == [0.25, 0.625, 0.5, 0.6875]
    assert halves.width.tolist() == [0.25, 0.0625, 0.25, 0.0625]
    ends = halves.begin + halves.width
    np.testing.assert_allclose(halves.first, found._efforts(halves.piece, halves.begin), rtol=1e-12)
    np.testing.assert_allclose(halves.last, found._efforts(halves.piece, ends), rtol=1e-12)


def bounds_by_formula(found, boxes):
    """Least and greatest effort on each piece: the ends, an eighth of the curvature, and dry friction."""
    positions, velocities, rates = found._motion(boxes)
    curvature = EffortCurvature(two_joint_chain(), np.array([0.0, 0.0, -9.81]))
    h = boxes.width * np.diff(found._spline.times)[boxes.piece]
    bow = curvature.of(rates, positions) * h[:, None] ** 2 / 8.0
    rotor, damping = np.array([0.2, 0.7]), np.array([1.5, 0.6])
    drives = (rotor * rates[3] + damping * rates[2]) * h[:, None] ** 2 / 8.0
    low, high = np.minimum(boxes.first, boxes.last) - bow, np.maximum(boxes.first, boxes.last) + bow
    heaviest = np.maximum(np.abs(low), np.abs(high))
    lightest = np.where((low <= 0.0) & (high >= 0.0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    dry = DRIVES.of(two_joint_chain()).friction.dry_range(*velocities, lightest, heaviest)
    smooth = search()._ends(boxes)
    return (
        np.minimum(*smooth) - bow - drives + dry[0],
        np.maximum(*smooth) + bow + drives + dry[1],
    )


def test_pieces_are_bounded_by_their_ends_curvature_and_dry_friction():
    found = search()
    for begins, widths in ((np.zeros(4), np.ones(4)), (BEGINS, WIDTHS), (BEGINS, [0.01] * 4)):
        boxes = boxes_of(found, PIECES, begins, widths)
        bound = found._open(boxes)[1]
        low, high = bounds_by_formula(found, boxes)
        np.testing.assert_allclose(bound, np.maximum(np.abs(low), np.abs(high)), rtol=1e-9)


@pytest.mark.parametrize(("effort", "bound"), [(-0.5, 0.425), (0.5, 0.575), (-2.5, 2.125), (2.5, 2.875)])
def test_the_load_s_friction_takes_from_an_effort_that_brakes_and_adds_to_one_that_drives(effort, bound):
    """0.15 of the load, in a short piece of a motion ahead."""
    rows = np.zeros((1, 6, 2))
    rows[0, 1] = 1.0
    drives = ActuatorParameters(friction=(0.0,), damping=(0.0,), load_friction=(0.15,))
    found = search(QuinticSpline(np.array([5.0, 6.0]), rows), drives=drives, links=Masses((0.0, 0.0), effort))
    np.testing.assert_allclose(found._open(boxes_of(found, [0], [0.25], [1e-4]))[1], [[bound] * 2], rtol=1e-4)


def narrow():
    """A search that keeps its values, a piece whose bounds are near each other, and these bounds."""
    found = search(drives=ActuatorParameters(friction=(0.0,), damping=(0.0,)))
    boxes = boxes_of(found, [0], [0.4], [1e-3])
    bound = found._open(boxes)[1][0]
    found._ends = lambda boxes: _Search._ends(copied(found), boxes)
    return found, boxes, bound


def copied(found):
    """A search with values of its own."""
    other = object.__new__(_Search)
    other.__dict__.update(found.__dict__)
    other._value, other._time = found._value.copy(), found._time.copy()
    return other


@pytest.mark.parametrize("joint", [0, 1])
def test_a_piece_is_left_where_its_bound_is_within_the_limit_or_the_limit_is_passed_elsewhere(joint):
    _, boxes, bound = narrow()
    for verdict_only in (False, True):
        for limit, value, opened in (
            (1.01 * bound[joint], bound[joint], False),  # within, and reached elsewhere
            (1.01 * bound[joint], 0.5 * bound[joint], not verdict_only),  # within; not the largest yet
            (0.99 * bound[joint], 0.98 * bound[joint], True),  # not decided
            (0.99 * bound[joint], 1.001 * bound[joint], False),  # passed elsewhere
            (0.99 * bound[joint], -1.001 * bound[joint], False),
            (0.9 * bound[joint], 0.95 * bound[joint], True),  # passed, but a larger one may be here
            (0.9 * bound[joint], 0.99 * bound[joint], True),
        ):
            found, _, _ = narrow()
            limits, values = 10.0 * bound, bound.copy()
            limits[joint], values[joint] = limit, value
            found._limits, found._value, found._verdict_only = limits, values, verdict_only
            assert found._open(boxes)[0].tolist() == [opened], (limit / bound[joint], value / bound[joint])


@pytest.mark.parametrize(
    ("missing", "known", "opened"),
    [((0.099, 0.09999), 0.0, False), ((0.101, 0.101), 0.0, True), ((0.101, 0.101), 1.0, False)],
)
def test_a_largest_effort_is_known_to_a_thousandth_of_its_limit(missing, known, opened):
    """Also where it is not reached: what is bounded by as much already opens no piece."""
    found, boxes, bound = narrow()
    found._limits = np.full(2, 100.0 * bound.max())
    found._value = bound - np.array(missing) * bound.max()
    found._bound = bound * known
    assert found._open(boxes)[0].tolist() == [opened]


def test_a_piece_whose_bounds_agree_to_a_ten_millionth_of_the_limit_is_left():
    found, boxes, bound = narrow()
    found._limits = np.full(2, 0.9999 * bound.min())  # passed or not: it cannot be told
    found._value = np.zeros(2)
    assert found._open(boxes)[0].tolist() == [True]
    tiny = boxes_of(found, [0], [0.4], [1e-9])
    assert found._open(tiny)[0].tolist() == [False]


def test_shares_are_of_finite_limits():
    found = LargestEfforts(np.array([1.0, -2.0, 0.0, 0.0]), np.zeros(4), np.array([1.5, 2.5, 3.0, 0.0]))
    share = found.share(np.array([3.0, 2.0, np.inf, 4.0]))
    assert share.tolist() == [0.5, 1.25, 0.0, 0.0]
    assert LargestEfforts(np.ones(1), np.ones(1), np.ones(1)).share(np.zeros(1))[0] == np.inf


@pytest.mark.parametrize("verdict_only", [False, True])
def test_a_path_of_a_made_up_model_is_bounded_as_closely_as_it_is_asked(verdict_only):
    spline, chain = path(), pendulum_chain()
    spline = QuinticSpline(spline.times, spline.coefficients[:, :, :1] * 0.4)
    times = np.linspace(*spline.times[[0, -1]], 40_001)
    q, _, a = spline.at(times)
    efforts = Bob().inverse_dynamics(q, 0.0, a)
    peak = np.abs(efforts[:, 0]).max()
    when = times[np.argmax(np.abs(efforts[:, 0]))]
    for limit in (np.inf, 1.001 * peak, 0.999 * peak, 50.0):
        found = largest_efforts(chain, Bob(), spline, np.array([limit]), verdict_only)
        assert found.bound[0] >= peak * (1.0 - 1e-9) and (found.bound[0] > limit) == (peak > limit)
        if not verdict_only or limit == 0.999 * peak:
            scale = limit if np.isfinite(limit) else peak
            assert abs(found.value[0]) >= peak - 1.1e-3 * scale
            assert found.bound[0] <= max(peak, abs(found.value[0])) + 1.1e-3 * scale
        if not verdict_only and limit == np.inf:
            assert found.value[0] == pytest.approx(efforts[np.argmax(np.abs(efforts[:, 0])), 0], rel=2e-3)
            assert found.time[0] == pytest.approx(when, abs=0.05)
    still = QuinticSpline(np.array([4.0, 5.0]), np.zeros((1, 6, 1)))
    rest = largest_efforts(chain, Bob(), still, np.array([9.0]))
    assert (rest.value.tolist(), rest.time.tolist(), rest.bound[0] < 2.0) == ([0.0], [4.0], True)


def test_long_paths_are_looked_at_part_by_part_and_too_many_pieces_are_refused(monkeypatch):
    spline, chain = path(7, 6), two_joint_chain()
    model = ActuatedArm(Crane(), chain, DRIVES)
    # Crane is none of the chain's own dynamics: its curvature bounds what is between all the same here.
    whole = largest_efforts(chain, model, spline, INFINITE)
    monkeypatch.setattr(verified_torque, "_CHUNK", 2)
    parts = largest_efforts(chain, model, spline, INFINITE)
    np.testing.assert_allclose(parts.value, whole.value, rtol=3e-3)
    np.testing.assert_allclose(parts.bound, whole.bound, rtol=3e-3)
    asked = []
    search_of = _Search._open
    monkeypatch.setattr(
        _Search, "_open", lambda self, boxes: asked.append(len(boxes.piece)) or search_of(self, boxes)
    )
    largest_efforts(chain, model, spline, INFINITE)
    assert asked[0] == 2 and asked.count(1) >= 1
    total, seen = sum(asked), list(asked)
    monkeypatch.setattr(verified_torque, "MOST_BOXES", total)
    asked.clear()
    largest_efforts(chain, model, spline, INFINITE)
    assert asked == seen
    monkeypatch.setattr(verified_torque, "MOST_BOXES", total - 1)
    with pytest.raises(TrajectoryError) as told:
        largest_efforts(chain, model, spline, INFINITE)
    assert str(told.value) == (
        "the efforts stay too near to their limits for too long to be compared, e.g."
        f" {spline.times[4] - spline.times[0]:.3f} s after the start"
    )


def test_a_piece_that_is_bounded_closely_is_looked_at_once(monkeypatch):
    asked, search_of = [], _Search._open

    def counted(self, boxes):
        asked.append(len(boxes.piece))
        return search_of(self, boxes)

    monkeypatch.setattr(_Search, "_open", counted)
    still = QuinticSpline(np.arange(4.0), np.zeros((3, 6, 2)))
    drives = ActuatorParameters(friction=(0.0,), damping=(0.0,))
    model = ActuatedArm(Crane(), two_joint_chain(), drives)
    found = largest_efforts(two_joint_chain(), model, still, INFINITE)
    assert found.time.tolist() == [0.0, 0.0]  # of equal efforts the first counts
    assert verified_torque.MOST_BOXES == 3_000_000
    assert asked == [3] and found.value.tolist() == found.bound.tolist() == [9.0, 9.0]


def test_small_efforts_are_bounded_as_closely_as_great_ones():
    """A bob of 15 mg: its largest effort is bounded to a thousandth all the same."""
    chain = pendulum_chain()
    [joint] = chain.joints
    light = RigidBody(1e-5 * MASS, joint.body.center_of_mass, 1e-5 * joint.body.inertia)
    chain = replace(chain, joints=(replace(joint, body=light),))

    class Light(Bob):
        def inverse_dynamics(self, q, v, a, heading=None):
            return 1e-5 * super().inverse_dynamics(q, v, a)

    spline = QuinticSpline(path().times, path().coefficients[:, :, :1] * 0.4)
    found = largest_efforts(chain, Light(), spline, np.array([np.inf]))
    assert 0.0 < abs(found.value[0]) <= found.bound[0] <= 1.002 * abs(found.value[0])


def test_a_model_that_is_not_compiled_has_no_friction_beside_its_own():
    slow = np.zeros((1, 6, 1))
    slow[0, :2, 0] = [0.5, 0.01]
    found = largest_efforts(pendulum_chain(), Bob(), QuinticSpline(np.arange(2.0), slow), np.array([np.inf]))
    assert found.bound[0] == pytest.approx(WEIGHT * np.sin(0.51), rel=2e-3)


def test_after_the_last_halving_the_bounds_of_what_is_open_count(monkeypatch):
    spline, chain = path(7, 3), two_joint_chain()
    model = ActuatedArm(Crane(), chain, DRIVES)
    found = search(spline)
    bound = found._open(boxes_of(found, [0, 1], [0.0, 0.0], [1.0, 1.0]))[1]
    monkeypatch.setattr(verified_torque, "_HALVINGS", 1)
    np.testing.assert_allclose(largest_efforts(chain, model, spline, INFINITE).bound, bound.max(axis=0))
    monkeypatch.setattr(verified_torque, "_HALVINGS", 50)
    assert (largest_efforts(chain, model, spline, INFINITE).bound < 0.9 * bound.max(axis=0)).any()


@pytest.fixture(scope="module")
def rough():
    chain = two_joint_chain()
    joints = tuple(replace(joint, damping=0.8, friction=1.7) for joint in chain.joints)
    chain = replace(chain, joints=joints)
    return (
        chain,
        compile_dynamics(chain, backend="python", friction=True),
        compile_dynamics(chain, backend="python", friction=False),
    )


def test_friction_counts_once_whoever_brings_it(rough):
    """A model with the description's friction in it, and links with drives that have the same."""
    chain, whole, links = rough
    spline = path(5)
    drives = ActuatorParameters()
    together = largest_efforts(chain, whole, spline, INFINITE)
    apart = largest_efforts(chain, ActuatedArm(links, chain, drives), spline, INFINITE)
    bare = largest_efforts(chain, links, spline, INFINITE)
    for name in ("value", "time", "bound"):
        np.testing.assert_allclose(getattr(together, name), getattr(apart, name), rtol=1e-9)
    q, v, a = (rows[0] for rows in spline.at(bare.time[:1]))
    assert bare.value[0] == pytest.approx(links.inverse_dynamics(q, v, a)[0], rel=1e-9)
    assert together.bound[0] > bare.bound[0] + 0.5
    at = [rows[0] for rows in spline.at(together.time[1:])]
    assert together.value[1] == pytest.approx(whole.inverse_dynamics(*at)[1], rel=1e-9)
    rotor = ActuatorParameters(rotor_inertia=(0.9,), damping=(0.0,), friction=(0.0,))
    twice = largest_efforts(chain, ActuatedArm(whole, chain, rotor), spline, INFINITE)
    at = [rows[0] for rows in spline.at(twice.time[:1])]
    expected = links.inverse_dynamics(*at) + 0.9 * at[2]
    assert twice.value[0] == pytest.approx(expected[0], rel=1e-9)


def test_a_payload_of_the_model_bends_the_efforts_more(rough):
    chain, _, links = rough
    spline = path(5)
    loaded = links.with_payload(RigidBody(4.0, np.array([0.1, 0.05, 0.1]), 1e-3 * np.eye(3)))
    times = np.linspace(*spline.times[[0, -1]], 20_001)
    peak = np.abs(loaded.inverse_dynamics(*map(np.ascontiguousarray, spline.at(times)))).max(axis=0)
    found = largest_efforts(chain, loaded, spline, INFINITE)
    assert (found.bound >= peak * (1.0 - 1e-12)).all() and (found.bound <= 1.003 * peak).all()
    curvature = EffortCurvature(chain, loaded.gravity_vector, loaded.payload)
    own = _Search(chain, loaded, spline, INFINITE, False)._curvature
    rates = [np.full((1, 2), rate) for rate in (1.0, 2.0, 3.0, 4.0)]
    np.testing.assert_array_equal(own.of(rates, np.ones((1, 2))), curvature.of(rates, np.ones((1, 2))))
