"""References of a follower, cycle by cycle: what is joined, what is a step, whole turns, and what leads."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from inner_follower import follower
from test_follower_within import INERTIA, MS, NAN, PLACE, WEIGHT, Follower, at, controlled

SLOPE = np.array([3.0, 7.0])
"""Of the weight at each joint [N m/rad or N/m]."""

kept_controlled = lru_cache(controlled)


class Detailed(Follower):
    """A follower whose arrays end in infinities, under a weight that depends on the place.

    Args:
        parameters: of the controller.
    """

    def __init__(self, **parameters):
        self.inner = kept_controlled(**parameters)
        self.ffi, self.calls = follower()
        self.settings = self.ffi.new("rd_settings *", self.inner.settings[0])
        self.kept, self.owned, self.fails = [], [], False
        self.settings.inverse_dynamics = self.called("int(const double *const *, double *)", self._dynamics)
        made = self.calls.rd_follower_new(2, self.settings, 0)
        self.handle = self.ffi.gc(made, self.calls.rd_follower_free)
        self.now, self.leads, self.most_step = 5000 * MS, 0, 0.1
        self.activate()

    @property
    def core(self):
        behind = self.ffi.cast("char *", self.handle) + self.ffi.offsetof("rd_loop", "shown_session") + 16
        return self.ffi.cast("rd_session **", behind)[0].core  # also before the first cycle

    def called(self, kind, function):
        made = self.ffi.callback(kind, function)
        self.owned.append(made)
        return made

    def _dynamics(self, given, out):
        for j in range(2):
            out[j] = INERTIA[j] * given[2][j] + WEIGHT[j] + SLOPE[j] * (given[0][j] - PLACE[j])
        return not (self.fails and given[1][0] != 0.0)

    def array(self, values):
        return super().array(values if values is None else [*values, np.inf])

    def setting(self, **arrays):
        for name, values in arrays.items():
            made = self.ffi.new("double[]", list(values))
            self.owned.append(made)
            setattr(self.settings, name, made)


def following(**parameters):
    made = Detailed(**parameters)
    made.cycles(3, at(PLACE))
    assert made.follows
    return made


# What is joined


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_reference_is_joined_up_to_the_very_step_and_velocity(joint, sign):
    unit = sign * np.eye(2)[joint]
    place, most = np.array([0.25, -0.25]), np.array([0.2, 0.1])[joint]
    for away, speed, joins in (
        (0.125, most, True),
        (0.126, most, False),
        (0.125, most * (1.0 + 1e-12), False),
    ):
        made = Detailed()
        made.most_step = 0.125
        made.cycles(3, place=place)
        made.cycle(at(place + away * unit, speed * unit), place=place)
        assert made.core.considered == int(joins)


def test_a_reference_that_accelerates_is_joined():
    made = Detailed()
    made.cycles(3)
    made.cycles(2, at(PLACE, (0.0, 0.0), (90.0, -80.0)))
    assert made.follows


@pytest.mark.parametrize("velocity", [(0.15, -0.05), (-0.15, 0.05)])
def test_a_reference_joins_the_velocity_of_the_arm_and_not_its_mirror(velocity):
    made = Detailed()
    made.cycles(3)
    for j in range(2):
        made.core.reference.velocity[j] = velocity[j]
    made.cycle(at(PLACE, np.multiply(-1.0, velocity)))
    assert not made.follows
    made = Detailed()
    made.cycles(3)
    for j in range(2):
        made.core.reference.velocity[j] = 2.0 * velocity[j]
    made.cycle(at(PLACE, np.multiply(2.0, velocity)))
    assert made.follows


def test_a_step_is_longer_than_most_and_one_of_velocities_is_none():
    made = following()
    made.most_step = 0.01
    place, epoch = np.array(PLACE), made.core.epoch
    for k in range(12):
        place = place + np.array([0.0099, -0.0099]) * (-1) ** k
        made.cycle(at(place, (0.05 * (-1) ** k, 0.03), (0.1 * k, 0.2)))
        assert made.follows and made.core.epoch == epoch, "it is taken up once"
    exact = np.array([0.25, -0.25])
    made = Detailed()
    made.most_step = 0.125
    made.cycles(3, at(exact), place=exact)
    made.cycle(at(np.add(exact, [0.125, -0.125])), place=exact)
    assert made.follows
    np.testing.assert_allclose(made.own()[0], np.add(exact, [0.125, -0.125]))


def test_a_step_back_to_where_the_arm_is_is_joined_at_once():
    made = Detailed()
    made.leads = 1
    made.cycles(3, at(PLACE))
    made.cycle(at(PLACE + 0.09))
    made.cycle(at(PLACE - 0.02))
    assert made.follows
    np.testing.assert_allclose(made.own()[0], PLACE - 0.02)


@pytest.mark.parametrize("parts", [(0, 1), (1, 2), (0, 2)])
@pytest.mark.parametrize("joint", [0, 1])
def test_a_joint_of_which_two_parts_are_missing_has_no_reference(parts, joint):
    made = following()
    wrong = at(PLACE)
    for i in parts:
        wrong[i][joint] = NAN
    made.cycles(3, wrong)
    assert not made.follows


def test_all_parts_missing_is_no_reference_and_one_joint_is_enough():
    made = following()
    made.cycle(at([NAN, NAN], [NAN, NAN], [NAN, NAN]))
    assert not made.follows
    made.cycles(2, at([NAN, PLACE[1]], [NAN, 0.0], [NAN, 0.0]))
    assert made.follows


@pytest.mark.parametrize(
    ("share", "follows"), [(1.0, True), (-1.0, True), (1.0 + 1e-12, False), (-1.1, False)]
)
@pytest.mark.parametrize("joint", [0, 1])
def test_a_joint_without_a_reference_may_move_as_slowly_as_one_that_is_joined(joint, share, follows):
    made = Detailed()
    made.cycles(3)
    reference = at(PLACE)
    for part in reference:
        part[joint] = NAN
    most = np.array([0.2, 0.1])[joint]
    made.core.reference.velocity[joint] = share * most
    made.core.reference.position[joint] = PLACE[joint] + 0.03
    made.cycle(reference)
    assert made.core.considered == int(follows) and made.follows == (follows and abs(share) * most <= 0.2)
    if follows:
        assert made.own()[0][joint] == pytest.approx(PLACE[joint] + 0.03)
        assert made.own()[1][joint] == made.own()[2][joint] == 0.0


def test_a_joint_that_loses_its_reference_in_motion_ends_what_is_followed_without_a_fault():
    made = Detailed(max_acceleration=(20.0, 2.0))
    made.cycles(3)
    for k in range(25):
        speed = 0.002 * k
        place = np.add(PLACE, [0.0, 1e-6 * k**2])
        made.cycle(at(place, (0.0, speed), (0.0, 2.0)), place=place, velocity=(0.0, speed))
    assert made.follows
    made.cycle(at([PLACE[0], NAN], [0.0, NAN], [0.0, NAN]), place=place, velocity=(0.0, speed))
    assert made.core.phase == made.calls.RD_STOPPING and np.isfinite(made.cycle(place=place)).all()
    assert made.core.phase in (made.calls.RD_STOPPING, made.calls.RD_HOLDING)


def test_before_the_arm_is_controlled_a_joint_without_a_reference_is_where_it_is_measured():
    made = Detailed()
    made.leads = 1
    reference = at([PLACE[0] + 0.05, NAN], [0.0, NAN], [0.0, NAN])
    made.core.reference.velocity[1] = 3.0
    made.cycle(reference)
    made.cycle(reference)
    assert made.follows
    np.testing.assert_allclose(made.own()[0], (PLACE[0] + 0.05, PLACE[1]))


# Turns


def turning():
    made = Detailed()
    made.setting(turn=[2.0 * np.pi, 0.0])
    return made


@pytest.mark.parametrize("turns", [-3, -1, 1, 2])
def test_references_of_a_continuous_joint_are_followed_at_the_nearest_turn(turns):
    made = turning()
    away = np.array([2.0 * np.pi * turns, 0.0])
    made.cycles(4, at(PLACE + away + 0.02, acceleration=(0.3, 0.2)))
    assert made.follows
    np.testing.assert_allclose(made.own()[0], PLACE + 0.02)
    made.cycle(at(PLACE + away + 0.05, (0.1, 0.05)))
    np.testing.assert_allclose(made.own()[0], PLACE + 0.05)
    made = turning()
    made.cycles(4, at(PLACE + away[::-1]))
    assert not made.follows, "the other joint does not turn"


def test_turns_stay_while_a_reference_is_followed():
    made = turning()
    made.cycles(3, at(PLACE))
    away = np.array([2.0 * np.pi, 0.0])
    made.cycle(at(PLACE + away))
    assert not made.follows, "that is a step"
    made.cycles(2, at(PLACE + away))
    assert made.follows
    np.testing.assert_allclose(made.own()[0], PLACE)


# What leads


def test_a_reference_that_leads_goes_between_the_last_one_and_its_own():
    made = Detailed()
    made.leads = 1
    made.cycles(3, at(PLACE))
    first = at(np.add(PLACE, [0.01, -0.02]), (0.02, 0.03), (1.0, 3.0))
    second = at(np.add(PLACE, [0.03, 0.01]), (0.05, -0.07), (2.0, -7.0))
    made.cycle(first)
    made.cycle(second)
    for found, expected in zip(made.own()[:2], first[:2], strict=True):
        np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(made.own()[2], first[2])
    ahead = made.core.current.plan.stream.ahead
    found = [list(part[0:2]) for part in (ahead.position, ahead.velocity, ahead.acceleration)]
    np.testing.assert_allclose(found, [second[0], second[1], (1.5, -2.0)])
    made.leads = 0
    made.cycle(second)
    ahead = made.core.current.plan.stream.ahead
    np.testing.assert_allclose(list(ahead.acceleration[0:2]), second[2])
    np.testing.assert_allclose(made.own()[0], second[0])
    assert made.core.current.plan.stream.time == pytest.approx(made.core.time)


@pytest.mark.parametrize("how", ["none", "part"])
def test_after_a_pause_nothing_of_the_last_reference_is_left(how):
    made = Detailed()
    made.leads = 1
    made.cycles(3, at(PLACE + 0.01))
    none = None if how == "none" else at(PLACE, (0.0, np.inf))
    made.cycles(30, none)
    assert not made.follows
    made.cycle(at(PLACE + 0.05))
    assert made.follows
    np.testing.assert_allclose(made.own()[0], PLACE + 0.05)


# Rest


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_after_a_latch_references_have_to_rest_near_the_arm(joint, sign):
    unit = sign * np.eye(2)[joint]
    for away, speed, follows in (
        (0.0199, 0.0, True),
        (0.0, 0.02, True),
        (0.0201, 0.0, False),
        (0.0, 0.0201, False),
    ):
        made = following()
        made.calls.rd_follower_emergency_stop(made.handle)
        made.cycles(30, at(PLACE))
        assert made.calls.rd_follower_reset_fault(made.handle) == 1
        made.cycles(3, at(np.array(list(made.core.hold[0:2])) + away * unit, speed * unit, (0.9, 0.9)))
        assert made.follows == follows
        made.cycles(2, at(PLACE))
        assert made.follows


def test_after_guiding_references_have_to_rest_near_the_arm():
    made = following()
    made.settings.mode = made.calls.RD_HAND_GUIDING
    made.setting(guide_speed=[0.2, 0.2], guide_limits=[-1.0, -0.5, 1.0, 0.5])
    made.cycle()
    made.settings.mode = made.calls.RD_COMPUTED_TORQUE
    made.cycles(3, at(PLACE + 0.03))
    assert not made.follows
    made.cycles(3, at(PLACE + 0.01))
    assert made.follows
    made.cycles(3, at(PLACE + 0.09))
    assert made.follows
