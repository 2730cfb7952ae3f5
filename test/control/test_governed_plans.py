"""References of a governor, and its plans: the integrals of their accelerations, with rotations of scipy."""

from dataclasses import replace

import numpy as np
import pytest
from moving_reference import (
    BEND,
    OTHER,
    PLACE,
    REST,
    ROTATION,
    TWIST,
    check,
    reference,
)

from robot_dynamics.control.stewart.reference_governor import (
    GovernedPlan,
    GovernedReference,
    PoseTarget,
)


def test_a_reference_goes_on_with_its_acceleration():
    begin = reference()
    for t in (-0.3, 0.1, 0.7):
        check(begin.at(2.0 + t), 2.0 + t, TWIST * t + BEND * t**2 / 2.0, TWIST + BEND * t, BEND)
    assert begin.at(2.0) is begin
    check(begin.accelerated(OTHER), 2.0, REST, TWIST, OTHER)


def test_references_and_targets_are_made_of_motions_and_become_ones():
    target = PoseTarget(PLACE, ROTATION, TWIST, BEND)
    np.testing.assert_array_equal(target.jerk, REST)
    for motion in (target.motion, reference().motion):
        for part, expected in (
            (motion.position, PLACE),
            (motion.rotation, ROTATION),
            (motion.linear_velocity, TWIST[:3]),
            (motion.angular_velocity, TWIST[3:]),
            (motion.linear_acceleration, BEND[:3]),
            (motion.angular_acceleration, BEND[3:]),
            (motion.force, np.zeros(3)),
            (motion.torque, np.zeros(3)),
        ):
            np.testing.assert_array_equal(part, expected)
    check(GovernedReference.of(5.0, target.motion), 5.0, REST, TWIST, BEND)
    check(GovernedReference.measured(6.0, target), 6.0, REST, TWIST, REST)
    # They may be made of others of their kind, too.
    check(reference().of(5.0, target.motion), 5.0, REST, TWIST, BEND)
    check(reference().measured(6.0, target), 6.0, REST, TWIST, REST)
    assert target.rest(PLACE, ROTATION).position is PLACE
    resting = PoseTarget.rest(PLACE, ROTATION)
    assert not resting.twist.any() and not resting.acceleration.any() and not resting.jerk.any()
    np.testing.assert_array_equal(resting.position, PLACE)
    np.testing.assert_array_equal(resting.rotation, ROTATION)


class Profile:
    """A linear change of the acceleration within a ramp, then free motion, then a stop: by integrals."""

    def __init__(self, ramp=0.2, free=0.5, stop=0.8):
        self.ramp, self.free, self.stop = ramp, free, stop
        begin = reference()
        before = begin if ramp else None
        eased = begin.eased(OTHER, ramp) if ramp else begin.accelerated(OTHER)
        self.plan = GovernedPlan(eased, free, stop, before, ramp)

    def at(self, t):
        """Way, twist and acceleration after a time."""
        way, twist, since, start = REST, TWIST, 0.0, BEND if self.ramp else OTHER
        for end, last in ((self.ramp, OTHER), (self.free, OTHER)):
            s, whole = min(t, end) - since, end - since
            if whole > 0.0:
                slope = (last - start) / whole
                way = way + twist * s + start * s**2 / 2.0 + slope * s**3 / 6.0
                twist, start = twist + start * s + slope * s**2 / 2.0, start + slope * s
            since = end
            if t <= end:
                return way, twist, start
        s = min(t - self.free, self.stop)
        slowing = -twist / self.stop if self.stop else REST
        way = way + twist * s + slowing * s**2 / 2.0
        return (
            way,
            twist + slowing * s if t < self.free + self.stop else REST,
            slowing if s < self.stop else REST,
        )

    @property
    def moments(self):
        return np.unique([*np.linspace(0.0, 2.0, 11), self.ramp, self.free, self.free + self.stop])


@pytest.mark.parametrize("profile", [Profile(), Profile(ramp=0.0), Profile(stop=0.0), Profile(free=0.25)])
def test_a_plan_changes_its_acceleration_and_goes_on_and_stops(profile):
    for t in profile.moments:
        check(profile.plan.at(2.0 + t), 2.0 + t, *profile.at(t))
    if profile.stop:
        assert not profile.plan.at(2.0 + profile.free + profile.stop).acceleration.any()
    np.testing.assert_array_equal(profile.plan.at(2.0 + profile.free).acceleration, OTHER)


@pytest.mark.parametrize("profile", [Profile(), Profile(ramp=0.0), Profile(ramp=0.005, free=0.05, stop=0.1)])
def test_what_is_carried_on_from_a_plan_is_its_rest(profile):
    for t in profile.moments[profile.moments < profile.free + profile.stop - 0.002]:
        rest = profile.plan.carried_on(profile.plan.at(2.0 + t))
        assert (rest.before is None) == (t >= profile.ramp - 1e-3)
        for s in profile.moments[profile.moments >= t]:
            if np.abs(s - np.array([t, profile.free, profile.free + profile.stop])).min() > 1e-9:
                check(rest.at(2.0 + s), 2.0 + s, *profile.at(s))


def test_parts_of_a_plan_of_a_millisecond_are_left_out():
    """Times that doubles have exactly."""
    here = reference(0.0)
    for left, kept in ((1e-3, 0.0), (1.0001e-3, 1.0001e-3)):
        rest = GovernedPlan(here.accelerated(REST), left, 0.5).carried_on(here)
        assert (rest.free, rest.before, rest.stop_time) == (kept, None, 0.5)
    for ramp, kept in ((1e-3, 0.0), (1.0001e-3, 1.0001e-3)):
        rest = GovernedPlan(here.eased(OTHER, ramp), 0.4, 0.5, here, ramp).carried_on(here)
        assert (rest.ramp, rest.free, rest.stop_time) == (kept, 0.4, 0.5)
        assert (rest.before is here) == bool(kept)
    # A stop that is nearly over has this time left.
    plan = GovernedPlan(here.accelerated(OTHER), 0.5, 0.8)
    for late in (1.2999, 1.35):
        rest = plan.carried_on(replace(plan.at(late), twist=1e-12 * TWIST))
        assert rest.stop_time == 1e-3


@pytest.mark.parametrize("faster", [(0.5, 0.3), (1.7, 1.2), (1.2, 2.5)])
def test_a_stop_from_beside_its_plan_is_no_harder(faster):
    """It takes as long as the part of the twist that is faster needs at the plan's deceleration."""
    plan = GovernedPlan(reference(0.0).accelerated(OTHER), 0.5, 0.8)
    on = plan.at(0.9)
    twist = on.twist * np.repeat(faster, 3)
    rest = plan.carried_on(replace(on, twist=twist))
    expected = 0.4 * max(1.0, *faster)
    assert rest.stop_time == pytest.approx(expected, rel=1e-12)
    assert rest.free == 0.0
    np.testing.assert_allclose(rest.reference.acceleration, -twist / expected, rtol=1e-12)
    # A part that the plan does not move has no deceleration to compare with.
    only = GovernedPlan(reference(0.0, TWIST * [1, 1, 1, 0, 0, 0], REST), 0.5, 0.8)
    assert only.carried_on(replace(only.at(0.9), twist=TWIST)).stop_time == pytest.approx(0.8)
