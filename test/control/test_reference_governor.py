"""Reference governor: the acceleration that it asks for, what it tries where that is not safe, what it notes.

Rotations come from scipy. An envelope of wishes says what is safe, and records what it is asked.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from motion_base import HOME, MACHINE
from moving_reference import (
    AXIS,
    BEND,
    OTHER,
    PACE,
    PLACE,
    REST,
    ROTATION,
    TWIST,
    check,
    moved,
    reference,
)
from platform_legs import legs_of_machine
from scipy.spatial.transform import Rotation

from robot_dynamics.control.stewart.envelope import Pace
from robot_dynamics.control.stewart.reference_governor import (
    GovernedPlan,
    GovernedReference,
    PoseTarget,
    ReferenceGovernor,
)


class Wishes:
    """An envelope that answers as a test wishes, and records what it is asked."""

    def __init__(self, *answers, within=True):
        self.answers, self.within = list(answers), within
        self.asked, self.widened, self.reached = [], [], []
        self.reach = None

    def safe_steps(self, position, rotation, twist, accelerations, step, pace, place=None):
        self.asked.append((position, rotation, twist, accelerations, step, pace, place))
        answer = self.answers.pop(0) if self.answers else True
        safe = np.zeros(len(accelerations), dtype=bool)
        if answer is not None:
            safe[answer if type(answer) is int else slice(None)] = True
        return safe, self.within

    def reachable(self, position, rotation, pace):
        self.reached.append((position, rotation, pace))
        return (position, rotation) if self.reach is None else self.reach

    def widen(self, position, rotation):
        self.widened.append((position, rotation))


def governor(envelope=None, start=None, pace=PACE):
    return ReferenceGovernor(
        MACHINE, Wishes() if envelope is None else envelope, pace, reference(0.0) if start is None else start
    )


def wanted(here, target, hold, pace=PACE):
    """Acceleration towards a target: both time constants, the braking, and the limits."""
    way = np.concatenate(
        [
            target.position - here.position,
            (Rotation.from_matrix(target.rotation) * Rotation.from_matrix(here.rotation).inv()).as_rotvec(),
        ]
    )
    rate = way / (4.0 * hold)
    for part, most in ((slice(0, 3), pace.acceleration), (slice(3, 6), pace.angular_acceleration)):
        fastest = np.sqrt(2.0 * 0.6 * most * np.linalg.norm(way[part]))
        rate[part] *= min(1.0, fastest / max(np.linalg.norm(rate[part]), 1e-300))
    rate = rate + target.twist
    rates = legs_of_machine(MACHINE, here.position, here.rotation)[1] @ rate
    rate = rate * min(1.0, 0.95 / max(np.abs(rates / pace.leg_speed).max(), 1e-300))
    asked = target.acceleration + (rate - here.twist) / hold
    for part, most in ((slice(0, 3), pace.acceleration), (slice(3, 6), pace.angular_acceleration)):
        asked[part] *= min(1.0, most / np.linalg.norm(asked[part]))
    return asked


def target_at(way, twist=REST, acceleration=REST):
    return PoseTarget(*moved(np.array(way)), np.asarray(twist), np.asarray(acceleration))


NEAR = (0.002, -0.003, 0.001, 0.003, 0.001, -0.002)
FAR = (0.3, -0.2, 0.25, 0.2, 0.3, -0.25)


@pytest.mark.parametrize("step", [0.002, 0.01])
@pytest.mark.parametrize("way", [NEAR, FAR, (*FAR[:3], *NEAR[3:]), (*NEAR[:3], *FAR[3:])])
@pytest.mark.parametrize("speed", [0.05, 0.3, np.inf])
@pytest.mark.parametrize("moves", [False, True])
def test_the_acceleration_to_a_target_takes_its_time_and_keeps_the_pace(step, way, speed, moves):
    """Linear near the target, braking from afar, within the legs' speeds and the accelerations."""
    target = target_at(way, 0.3 * OTHER, 0.5 * BEND) if moves else target_at(way)
    for loose in (1.0, 1e3):
        pace = Pace(4.0 * loose, 3.0 * loose, np.full(6, speed), 1.0)
        made = governor(pace=pace)
        found = made.advance(0.0, target, step).acceleration
        np.testing.assert_allclose(
            found, wanted(reference(0.0), target, max(4.0 * step, 0.02), pace), rtol=1e-9
        )
    made = governor()
    made.quickness = 0.07
    found = made.advance(0.0, target, step).acceleration
    np.testing.assert_allclose(found, wanted(reference(0.0), target, 0.07), rtol=1e-9)
    assert made.limited is False


@pytest.mark.parametrize(
    ("given", "step", "free"),
    [
        ({}, 0.03, 0.03),
        ({"time": 0.0}, 1e-4, 1e-4),
        ({"time": 3.0}, 0.1, 0.1),
        ({"step": 0.05}, 0.05, 0.05),
        ({"step": 0.01, "free": 0.04}, 0.01, 0.04),
        ({"step": 0.02, "free": 0.01}, 0.02, 0.02),
        ({"step": 0.0}, 1e-4, 1e-4),
        ({"step": 7.0}, 0.1, 0.1),
    ],
)
def test_an_acceleration_is_safe_for_its_step_at_least(given, step, free):
    wishes = Wishes()
    made, target = governor(wishes), target_at(NEAR)
    given = {"time": 0.03, **given}
    found = made.advance(given.pop("time"), target, **given)
    assert made.plan.free == free
    assert wishes.asked[0][4] == free
    here = reference(0.0).at(found.time)
    np.testing.assert_allclose(found.acceleration, wanted(here, target, max(4.0 * step, 0.02)), rtol=1e-9)
    after = found.at(found.time + free).twist
    expected = max(np.linalg.norm(after[:3]) / 4.0, np.linalg.norm(after[3:]) / 3.0, free)
    assert made.plan.stop_time == pytest.approx(expected)
    assert (made.plan.before, made.plan.ramp) == (None, 0.0)
    position, rotation, twist, accelerations, _, pace, place = wishes.asked[0]
    check(GovernedReference(found.time, position, rotation, twist, BEND), found.time, *ways(found.time))
    np.testing.assert_array_equal(accelerations, found.acceleration[None])
    assert pace is PACE and place is None


def ways(t):
    """Way, twist and acceleration of the reference after a time."""
    return TWIST * t + BEND * t**2 / 2.0, TWIST + BEND * t, BEND


def test_a_governor_begins_without_a_plan_and_without_bounds():
    made = governor()
    flags = made.limited, made.confined, made.stuck, made.plan, made.farthest
    assert flags == (False, False, False, None, None)
    assert (made.quickness, made.ramp) == (0.02, 0.0)
    for jerk in (made.jerk, made.stop_jerk):
        np.testing.assert_array_equal(jerk, np.full(6, np.inf))
    # With the plan of another motion it stops where it is told to.
    made.plan = GovernedPlan(reference(0.0), 5.0, 1.0)
    found = made.advance(0.01, None, 0.01)
    assert made.plan.free == 0.01
    assert found.acceleration @ TWIST < 0.0


def test_without_a_target_the_reference_stops_straight_on():
    found = governor().advance(0.0, None, 0.01)
    duration = max(np.linalg.norm(TWIST[:3]) / 4.0, 0.4 / 3.0)
    np.testing.assert_allclose(found.acceleration, -TWIST / duration, rtol=1e-12)
    slow = governor(start=reference(0.0, 1e-3 * TWIST))
    np.testing.assert_allclose(
        slow.advance(0.0, None, 0.05, 0.08).acceleration, -1e-3 * TWIST / 0.08, rtol=1e-12
    )
    # What stands has nothing to stop.
    still = governor(start=reference(0.0, REST))
    still.advance(0.0, None, 0.01)
    assert still.plan.stop_time == 0.0
    assert not still.reference.acceleration.any()


def test_the_reference_follows_its_plan_unless_somebody_has_put_it_elsewhere():
    made, target = governor(), target_at(FAR)
    made.ramp = 0.01
    made.advance(0.0, target, 0.02, 0.05)
    plan = made.plan
    assert plan.before is not None and plan.ramp == 0.01
    found = made.advance(0.005, target, 0.02, 0.05)
    np.testing.assert_allclose(made.plan.before.position, plan.at(0.005).position, atol=1e-15)
    np.testing.assert_allclose(made.plan.before.acceleration, plan.at(0.005).acceleration, atol=1e-15)
    made.reference = elsewhere = reference(0.005, OTHER, REST)
    made.advance(0.015, target, 0.02, 0.05)
    np.testing.assert_array_equal(made.plan.before.position, elsewhere.at(0.015).position)
    assert found.time == 0.005


@pytest.mark.parametrize(("ramp", "kept"), [(0.004, 0.004), (0.3, 0.02)])
def test_the_acceleration_changes_within_a_ramp_that_half_of_the_step_ends(ramp, kept):
    wishes = Wishes()
    made, target = governor(wishes), target_at(NEAR)
    made.ramp = ramp
    made.advance(0.0, target, 0.01, 0.04)
    assert made.plan.ramp == kept
    eased = reference(0.0).eased(made.plan.reference.acceleration, kept)
    np.testing.assert_array_equal(wishes.asked[0][0], eased.position)
    np.testing.assert_array_equal(wishes.asked[0][2], eased.twist)
    np.testing.assert_array_equal(made.plan.reference.position, eased.position)
    # Near a limit it changes at once.
    wishes.answers = [None, 0]
    made = governor(wishes)
    made.ramp = ramp
    made.advance(0.0, target, 0.01, 0.04)
    assert (made.plan.before, made.plan.ramp) == (None, 0.0)
    np.testing.assert_array_equal(made.plan.reference.position, PLACE)


def test_the_acceleration_asked_for_changes_within_the_jerk():
    target, jerk = target_at(FAR), np.array([20.0, 30.0, 25.0, 15.0, 10.0, 12.0])
    made = governor()
    made.jerk = jerk
    first = made.advance(0.0, target, 0.01).acceleration
    np.testing.assert_allclose(first, wanted(reference(0.0), target, 0.04), rtol=1e-9)
    back = target_at(-np.array(FAR))
    second = made.advance(0.01, back, 0.01)
    asked = wanted(replace(second, acceleration=first), back, 0.04)
    expected = first + np.clip(asked - first, -0.01 * jerk, 0.01 * jerk)
    assert (np.abs(asked - first) > 0.01 * jerk).all()
    np.testing.assert_allclose(second.acceleration, expected, rtol=1e-9)
    # In no time there is no rate, and one part without a limit frees them all.
    third = made.advance(0.01, target, 0.01)
    np.testing.assert_allclose(third.acceleration, wanted(third, target, 0.04), rtol=1e-9)
    made.jerk = np.append(jerk[:5], np.inf)
    fourth = made.advance(0.02, back, 0.01)
    np.testing.assert_allclose(fourth.acceleration, wanted(fourth, back, 0.04), rtol=1e-9)
    # Stops have a jerk of their own; what is eased stays within the pace.
    made.stop_jerk = 2.0 * jerk
    fifth = made.advance(0.03, None, 0.01)
    stop = -fifth.twist / max(PACE.stop_time(fifth.twist), 0.01)
    expected = fourth.acceleration + np.clip(stop - fourth.acceleration, -0.02 * jerk, 0.02 * jerk)
    np.testing.assert_allclose(fifth.acceleration, expected, rtol=1e-9)
    slower = governor(pace=Pace(0.5, 3.0, np.full(6, np.inf), 1.0), start=reference(0.0, REST, REST))
    slower.jerk = jerk
    slower.advance(0.0, target, 0.01)
    found = slower.advance(0.01, back, 0.01).acceleration
    assert np.linalg.norm(found[:3]) <= 0.5 * (1.0 + 1e-12)


@pytest.mark.parametrize("chosen", range(9))
def test_where_the_wanted_acceleration_is_not_safe_the_nearest_to_it_is_taken(chosen):
    """First shares of it, the rest being the stop's; then ways that bend towards home; then the stop."""
    wishes = Wishes(None, chosen)
    made, target = governor(wishes), target_at(FAR)
    found = made.advance(0.0, target, 0.01, 0.04)
    here = reference(0.0)
    asked = wanted(here, target, 0.04)
    stop = -TWIST / max(np.linalg.norm(TWIST[:3]) / 4.0, 0.4 / 3.0, 0.04)
    expected = [stop + share * (asked - stop) for share in (0.9, 0.7, 0.5, 0.3)]
    turn = Rotation.from_matrix(target.rotation) * Rotation.from_matrix(MACHINE.home_rotation).inv()
    for share in (0.8, 0.4, 0.0):
        rotation = Rotation.from_rotvec(share * turn.as_rotvec()) * Rotation.from_matrix(
            MACHINE.home_rotation
        )
        bent = PoseTarget.rest(HOME + share * (target.position - HOME), rotation.as_matrix())
        expected.append(wanted(here, bent, 0.04))
    expected += [stop + share * (asked - stop) for share in (0.1, 0.0)]
    np.testing.assert_allclose(wishes.asked[1][3], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.acceleration, wishes.asked[1][3][chosen])
    assert wishes.asked[1][4] == 0.04 and wishes.asked[1][6] is None
    assert made.limited is True


def test_without_a_target_there_is_no_way_that_bends():
    wishes = Wishes(None, 2)
    made = governor(wishes)
    made.stop_jerk = np.full(6, 1e9)
    made.advance(0.0, None, 0.01)
    assert len(wishes.asked[1][3]) == 6


def test_where_nothing_is_safe_the_plan_goes_on_to_its_end_and_without_one_it_stops():
    wishes = Wishes(None, None)
    made, target = governor(wishes), target_at(FAR)
    found = made.advance(0.0, target, 0.01, 0.04)
    duration = max(np.linalg.norm(TWIST[:3]) / 4.0, 0.4 / 3.0)
    np.testing.assert_allclose(found.acceleration, -TWIST / duration, rtol=1e-12)
    assert made.limited is True and made.plan.free == 0.04
    made.advance(0.01, target, 0.01, 0.04)
    assert made.limited is False
    plan = made.plan
    wishes.answers = [None, None]
    made.advance(0.03, target, 0.01, 0.04)
    assert made.plan.free == pytest.approx(0.02) and made.plan.stop_time == plan.stop_time
    check_same(made.plan, plan, 0.03)
    assert made.limited is True


def check_same(plan, other, since):
    for time in since + np.linspace(0.0, 0.3, 31):
        one, two = plan.at(time), other.at(time)
        np.testing.assert_allclose(one.position, two.position, atol=1e-14)
        np.testing.assert_allclose(one.twist, two.twist, atol=1e-14)


def test_a_stop_that_nothing_else_is_safe_beside_goes_on_without_a_further_look():
    wishes = Wishes(True, None, None)
    made, target = governor(wishes), target_at(FAR)
    made.advance(0.0, target, 0.01, 0.04)
    plan = made.plan
    made.advance(0.02, None, 0.01, 0.04)
    looks = len(wishes.asked)
    for time in (0.03, 0.07):
        made.advance(time, None, 0.01, 0.04)
        check_same(made.plan, plan, time)
    assert len(wishes.asked) == looks
    # A target is looked at again; afterwards a stop is, too.
    made.advance(0.08, target, 0.01, 0.04)
    assert len(wishes.asked) == looks + 1
    made.advance(0.09, None, 0.01, 0.04)
    assert len(wishes.asked) == looks + 2
    # A stop that is safe is looked at each time.
    made.advance(0.1, None, 0.01, 0.04)
    assert len(wishes.asked) == looks + 3


def test_a_confined_target_counts_as_the_last_place_on_the_way_to_it():
    wishes = Wishes(within=False)
    nearer = target_at(0.5 * np.array(FAR))
    wishes.reach = nearer.position, nearer.rotation
    made, target = governor(wishes), target_at(FAR, TWIST, BEND)
    made.ramp = 0.01
    free = made.advance(0.0, target, 0.01).acceleration
    np.testing.assert_allclose(free, wanted(reference(0.0), target, 0.04), rtol=1e-9)
    assert wishes.asked[-1][6] is None and not wishes.reached
    for ramp, within in ((0.01, False), (0.0, False), (0.0, True)):
        wishes.within, wishes.asked, wishes.reached = within, [], []
        made = governor(wishes)
        made.confined, made.ramp = True, ramp
        made.jerk = np.full(6, 1e9)
        found = made.advance(0.0, target, 0.01)
        at = target if within else PoseTarget.rest(*wishes.reach)
        np.testing.assert_allclose(found.acceleration, wanted(reference(0.0), at, 0.04), rtol=1e-9)
        assert len(wishes.asked) == (1 if within else 2)
        start = reference(0.0).eased(wanted(reference(0.0), target, 0.04), min(ramp, 0.005))
        way = (Rotation.from_matrix(target.rotation) * Rotation.from_matrix(start.rotation).inv()).as_rotvec()
        np.testing.assert_allclose(
            wishes.asked[0][6], np.concatenate([target.position - start.position, way]), atol=1e-12
        )
        if not within:
            start = reference(0.0).eased(found.acceleration, min(ramp, 0.005))
            np.testing.assert_allclose(wishes.asked[1][0], start.position, atol=1e-12)
            np.testing.assert_allclose(wishes.asked[1][3], found.acceleration[None], rtol=1e-9)
            assert wishes.asked[1][6] is None
            ((position, rotation, pace),) = wishes.reached
            assert position is target.position and rotation is target.rotation and pace is PACE
    # One that is reachable at rest stays as it is, with its twist.
    wishes.within, wishes.reach = False, None
    made = governor(wishes)
    made.confined = True
    found = made.advance(0.0, target, 0.01)
    np.testing.assert_allclose(found.acceleration, wanted(reference(0.0), target, 0.04), rtol=1e-9)


def test_a_reference_that_stands_without_a_way_is_stuck_after_ten_steps():
    wishes = Wishes(*[None] * 60)
    made, target = governor(wishes, reference(0.0, REST, REST)), target_at(NEAR)
    for k in range(11):
        assert made.stuck is False
        made.advance(0.01 * k, target, 0.01)
    assert made.stuck is True
    assert len(wishes.widened) == 11
    np.testing.assert_array_equal(wishes.widened[0][0], PLACE)
    np.testing.assert_array_equal(wishes.widened[0][1], ROTATION)


@pytest.mark.parametrize(("size", "counts"), [(0.9e-9, True), (-1.1e-9, False), (1.1e-9, False)])
def test_a_reference_stands_up_to_a_rounding(size, counts):
    wishes = Wishes(None, None)
    made = governor(wishes, reference(0.0, np.array([0.0, 0.0, 0.0, size, 0.0, 0.0]), REST))
    made.advance(0.0, target_at(NEAR), 0.1, 10.0)
    assert bool(wishes.widened) is counts


def test_steps_that_lead_on_or_have_no_target_make_nothing_stuck():
    wishes = Wishes(*[None] * 20)
    made, target = governor(wishes, reference(0.0, REST, REST)), target_at(NEAR)
    for k in range(10):
        made.advance(0.01 * k, target, 0.01)
    wishes.answers = []
    made.advance(0.1, None, 0.01)
    assert len(wishes.widened) == 10
    wishes.answers = [None] * 60
    made.plan, made.reference = None, reference(0.1, REST, REST)
    for k in range(10):
        made.advance(0.1 + 0.01 * k, target, 0.01)
    assert made.stuck is False and len(wishes.widened) == 20
    made.advance(0.2, target, 0.01)
    assert made.stuck is True
    moves = governor(wishes := Wishes(), reference(0.0, REST, REST))
    moves.advance(0.0, target, 0.01)
    assert not wishes.widened, "it has an acceleration"


@pytest.mark.parametrize(
    ("way", "twist", "there"),
    [
        ((0.9e-6, 0, 0, 0, 0, 0), REST, True),
        ((1.1e-6, 0, 0, 0, 0, 0), REST, False),
        ((0, -1.1e-6, 0, 0, 0, 0), REST, False),
        ((0, 0, 0, 0, 0.9e-6, 0), REST, True),
        ((0, 0, 0, 0, 0, -1.1e-6), REST, False),
        ((0, 0, 0, 1.1e-6, 0, 0), REST, False),
        ((0, 0, 0, 0, 0, 0), (0, 0, 0.9e-5, 0, 0, -0.9e-5), True),
        ((0, 0, 0, 0, 0, 0), (0, 0, -1.1e-5, 0, 0, 0), False),
        ((0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1.1e-5), False),
    ],
)
def test_a_reference_has_arrived_within_a_micrometre_and_ten_a_second(way, twist, there):
    made = governor(start=reference(0.0, np.array(twist, dtype=float), REST))
    assert made.arrived(target_at(way)) is there


# The target from which the reference was farthest


def test_the_farthest_target_is_kept_with_those_of_the_second_before_it():
    made = governor(start=reference(0.0, REST, REST))
    assert made.farthest is None
    shares = [0.1, 0.2, 0.15, 0.3, 0.25]
    targets = [target_at(share * np.array([1.0, 2.0, -2.0, 0.0, 0.0, 0.0]), REST) for share in shares]
    for k, target in enumerate(targets):
        made.reference = reference(0.04 * k, REST, REST)
        made.advance(0.04 * k, target, 0.01)
    linear, angular, asked = made.farthest
    assert linear == pytest.approx(0.9) and angular == pytest.approx(0.0, abs=1e-12)
    assert [id(one) for one in asked] == [id(targets[k]) for k in (3, 2, 1, 0)]
    # A turn counts as well, and a stop not at all.
    turned = target_at((0.1, 0.0, 0.0, *(1.1 * AXIS)))
    made.reference = reference(0.2, REST, REST)
    made.advance(0.2, turned, 0.01)
    made.advance(0.25, None, 0.01)
    linear, angular, asked = made.farthest
    assert linear == pytest.approx(0.1) and angular == pytest.approx(1.1)
    assert [id(one) for one in asked] == [id(one) for one in (turned, *reversed(targets))]
    # The same once more is not farther.
    made.reference = reference(0.3, REST, REST)
    made.advance(0.3, turned, 0.01)
    assert made.farthest[2] is asked


def test_earlier_targets_are_kept_every_thirty_milliseconds_and_at_most_32():
    made = governor(start=reference(0.0, REST, REST))
    targets = []
    for k in range(70):
        targets.append(target_at((0.001 * k, 0.0, 0.0, 0.0, 0.0, 0.0)))
        made.reference = reference(0.015625 * k, REST, REST)
        made.advance(0.015625 * k, targets[-1], 0.01)
    asked = made.farthest[2]
    assert len(asked) == 33
    assert [round((one.position[0] - PLACE[0]) / 0.001) for one in asked] == [69, *range(68, 4, -2)]


@pytest.mark.parametrize(("gap", "kept"), [(0.03, 2), (math.nextafter(0.03, 0.0), 1)])
def test_a_target_thirty_milliseconds_after_another_one_is_kept(gap, kept):
    made = governor(start=reference(0.0, REST, REST))
    for k, time in enumerate((0.0, gap, 1.0)):
        made.reference = reference(time, REST, REST)
        made.advance(time, target_at((0.01 * (k + 1), 0.0, 0.0, 0.0, 0.0, 0.0)), 0.01)
    assert len(made.farthest[2]) == 1 + kept


def test_the_confined_target_that_was_asked_for_counts_and_not_its_place():
    wishes = Wishes(within=False)
    wishes.reach = PLACE, ROTATION
    made, target = governor(wishes, reference(0.0, REST, REST)), target_at(FAR)
    made.confined = True
    made.advance(0.0, target, 0.01)
    assert made.farthest[2] == (target,)
