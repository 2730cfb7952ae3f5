"""The way back from a contact, from its choice to its end, with a made-up model."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import Yielding

PUSHED = np.array([4.0, -7.0, 5.5])
EVERY = (
    "effort", "unlimited", "state__position", "state__velocity", "ahead__position", "hold", "last_effort",
    "sent", "left", "disturbance", "softness", "led", "strayed", "felt", "rejoining__place",
    "rejoining__rate", "estimate__place", "supervision__stopped", "unwrapped",
)  # fmt: skip
"""Arrays that the choice of a way leaves alone; the one behind the way is among them."""


class Touched(Yielding):
    """An arm whose joints are pushed; it shall move by 0.15 rad at most."""

    def __init__(self, contact="RETREAT", pushed=PUSHED, **given):
        super().__init__(31, "COMPUTED_TORQUE", **given)
        self.rules = self.ffi.new("rd_rules *")
        self.rules.contact = getattr(self.calls, f"RD_CONTACT_{contact}")
        self.rules.retreat = 0.15
        self.settings.rules = self.rules
        self.external = self.ffi.cast("double *", self.calls.rd_observer_external(self.core.observer))
        self.feel(pushed)
        self.setting(hold_deceleration=np.array([3.0, 4.0, 5.0]), stop_deceleration=np.array([9.0, 8.0, 7.0]))
        self.setting(velocity_limits=np.array([2.0, 3.0, 1.5]))
        self.retreat, self.current = self.core.retreat, self.core.current
        self.put(hold=self.q, softness=1.0)

    def feel(self, external, threshold=1e9):
        """External efforts and their thresholds."""
        for j, (effort, most) in enumerate(zip(external, np.broadcast_to(threshold, 3), strict=True)):
            self.external[j], self.external[3 + j] = effort, most

    def choose(self, rule="CONTACT"):
        self.calls.rd_choose_retreat(self.core, getattr(self.calls, f"RD_{rule}"))
        return self.get("retreat__way")

    def go_on(self):
        self.calls.rd_go_on_with_retreat(self.core)
        return bool(self.retreat.begins), bool(self.retreat.active)

    def sample(self, time):
        """The reference by the plan in force."""
        cursor = self.ffi.addressof(self.core, "current")
        self.calls.rd_sample(cursor, 3, time, self.ffi.addressof(self.core, "reference"))

    def begin(self):
        """In a protective stop that has ended, where a load and an error of the reference do not matter."""
        super().begin()
        self.core.trip.latched, self.core.phase = 1, self.calls.RD_PROTECTIVE_STOP


@pytest.mark.parametrize("driven", [True, False])
@pytest.mark.parametrize("share", [1.0, -0.003])
def test_the_arm_moves_away_as_it_would_accelerate_by_what_pushes(driven, share):
    """Also where it would accelerate slowly. The joint that moves farthest goes the whole way."""
    arm = Touched(pushed=share * PUSHED, driven=driven)
    arm.retreat.active = 1
    kept = {name: arm.get(name) for name in EVERY}
    arm.put(rejoining__place=50.0)
    kept["rejoining__place"] = np.full(3, 50.0)
    away = np.linalg.solve(arm.whole_mass(arm.q), share * PUSHED)
    np.testing.assert_allclose(arm.choose(), 0.15 * away / np.abs(away).max(), rtol=1e-9)
    assert arm.retreat.begins and not arm.retreat.active
    for name, values in kept.items():
        np.testing.assert_array_equal(arm.get(name), values, err_msg=name)


@pytest.mark.parametrize("j", range(3))
def test_each_joint_may_be_the_one_that_moves_farthest(j):
    arm = Touched()
    away = np.where(np.arange(3) == j, -0.9, np.array([0.2, 0.3, -0.4]))
    arm.feel(arm.whole_mass(arm.q) @ away)
    np.testing.assert_allclose(arm.choose(), 0.15 / 0.9 * away)


def test_without_a_push_there_is_no_way():
    arm = Touched(pushed=np.zeros(3))
    assert not arm.choose().any()
    assert not arm.retreat.begins


@pytest.mark.parametrize(
    ("contact", "rule"),
    [("RETREAT", "OVERSPEED"), ("RETREAT", "DISPUTE"), ("HOLD", "CONTACT"), ("YIELD", "CONTACT"),
     ("YIELD", "OVERSPEED")],
)  # fmt: skip
def test_another_rule_or_another_reaction_chooses_no_way_and_ends_the_last_one(contact, rule):
    arm = Touched(contact)
    arm.put(retreat__way=0.7)
    arm.retreat.begins = arm.retreat.active = 1
    assert (arm.choose(rule) == 0.7).all()
    assert not arm.retreat.begins and not arm.retreat.active


def test_a_robot_without_a_model_of_its_motion_has_no_way_back():
    arm = Touched()
    machine = arm.ffi.new("struct rd_machine *", arm.settings.machine[0])
    machine.dynamics = arm.ffi.NULL
    arm.settings.machine = machine
    arm.retreat.begins = 1
    assert not arm.choose().any() and not arm.retreat.begins


@pytest.mark.parametrize("spared", range(5))
def test_without_an_effort_of_the_model_there_is_no_way(spared):
    """It is called once for the weight, and four times for the inertia."""
    arm = Touched()
    arm.fails, arm.spared = "dynamics", spared
    arm.choose()
    assert not arm.retreat.begins
    arm.fails = None
    arm.choose()
    assert arm.retreat.begins


def test_the_way_back_is_a_plan_with_the_number_of_the_last_one_that_rests_at_both_ends():
    arm = Touched()
    core = arm.core
    core.finished, core.epoch = 41, 7
    arm.put(rejoining__place=50.0)
    way = arm.choose()
    assert arm.go_on() == (False, True)
    plan = core.current.plan
    assert plan == arm.ffi.addressof(arm.retreat, "plan")
    assert (plan.number, plan.knots, core.epoch, core.current.segment) == (41, 2, 8, 0)
    assert plan.times[0] == core.time
    np.testing.assert_array_equal(arm.get("rejoining__place"), 50.0)
    duration, deceleration = plan.times[1] - plan.times[0], np.array([3.0, 4.0, 5.0])
    speeds = 1.875 * np.abs(way) / (0.25 * np.array([2.0, 3.0, 1.5]))
    assert duration == pytest.approx(
        max(0.2, speeds.max(), np.sqrt(5.7735 * np.abs(way) / deceleration).max())
    )
    for share in (0.0, 0.3, 0.8, 1.0):
        arm.sample(core.time + share * duration)
        gone = 10.0 * share**3 - 15.0 * share**4 + 6.0 * share**5
        speed = 30.0 * (share * (1.0 - share)) ** 2 / duration
        np.testing.assert_allclose(arm.get("reference__position"), arm.q + gone * way)
        np.testing.assert_allclose(arm.get("reference__velocity"), speed * way, atol=1e-12)


def test_a_joint_without_a_velocity_limit_moves_back_at_a_quarter_of_a_radian_a_second():
    arm = Touched()
    arm.setting(velocity_limits=np.array([np.inf, np.inf, np.inf]))
    farthest = np.abs(arm.choose()).max()
    arm.go_on()
    assert arm.retreat.times[1] - arm.retreat.times[0] == pytest.approx(1.875 * farthest / 0.25)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_no_joint_is_moved_beyond_a_limit_or_farther_beyond(side):
    """At 0.6 rad, with 0.1 rad of room in the way; the last joint is beyond its limit already."""
    arm = Touched()
    hold = side * np.array([0.6, 0.6, 0.6])
    low, high = np.full(3, -2.0), np.full(3, 2.0)
    (high if side > 0.0 else low)[:] = side * np.array([0.7, 3.0, 0.5])
    arm.setting(position_limits=np.concatenate([low, high]))
    for way, left in ((0.4, [0.1, 0.4, 0.0]), (0.04, [0.04, 0.04, 0.0]), (-0.3, [-0.3, -0.3, -0.3])):
        arm.put(hold=hold, retreat__way=side * way)
        arm.current.plan, arm.retreat.begins = arm.ffi.NULL, 1
        arm.go_on()
        np.testing.assert_allclose(arm.get("retreat__way"), side * np.array(left))
        ends = np.array([arm.retreat.coefficients[k] for k in range(18)]).reshape(6, 3).sum(axis=0)
        np.testing.assert_allclose(ends, hold + side * np.array(left))


def test_the_way_back_begins_once_the_stop_has_ended_and_nothing_is_followed():
    arm = Touched()
    plan = arm.ffi.new("rd_plan *")
    arm.choose()
    arm.core.stopping.kind = arm.calls.RD_STOP_EMERGENCY
    assert arm.go_on() == (True, False)
    arm.core.stopping.kind, arm.current.plan = arm.calls.RD_NO_STOP, plan
    assert arm.go_on() == (True, False)
    arm.current.plan, arm.core.waits = arm.ffi.NULL, 1
    assert arm.go_on() == (True, False)
    arm.core.waits = 0
    assert arm.go_on() == (False, True)
    assert arm.go_on() == (False, True)
    assert arm.current.plan == arm.ffi.addressof(arm.retreat, "plan")


def test_nothing_begins_by_itself():
    arm = Touched()
    arm.put(retreat__way=0.1)
    arm.current.plan = arm.ffi.NULL
    assert arm.go_on() == (False, False)
    assert not arm.current.plan


@pytest.mark.parametrize(("latched", "guides", "begins"), [(1, 0, True), (0, 0, False), (1, 1, False)])
def test_the_way_back_is_for_an_arm_in_its_protective_stop_alone(latched, guides, begins):
    arm = Touched()
    arm.choose()
    arm.core.trip.latched, arm.core.guides = latched, guides
    assert arm.go_on() == (False, begins)
    assert bool(arm.current.plan) == begins


@pytest.mark.parametrize("follows", ["nothing", "another plan"])
def test_the_way_back_has_ended_where_its_plan_is_followed_no_more(follows):
    arm = Touched()
    arm.choose()
    arm.go_on()
    plan = arm.ffi.new("rd_plan *")
    arm.current.plan = arm.ffi.NULL if follows == "nothing" else plan
    arm.feel(-100.0 * arm.get("retreat__way"), 1.0)
    assert arm.go_on() == (False, False)
    assert arm.core.stopping.kind == arm.calls.RD_NO_STOP, "nobody is in the way any more"


def blocked(external, threshold, way, behind=0.0):
    """Return whether external efforts block a way back, which ends by an emergency stop then."""
    arm = Touched()
    arm.choose()
    arm.go_on()
    arm.feel(external, threshold)
    arm.put(retreat__way=way, rejoining__place=behind, state__velocity=np.array([0.3, -0.4, 0.2]))
    arm.put(believed=np.array([0.3, -0.4, 0.2]))
    begins, active = arm.go_on()
    stops = arm.core.stopping.kind == arm.calls.RD_STOP_EMERGENCY
    assert not begins and stops == (not active)
    assert bool(arm.current.plan) == active
    return stops


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("j", range(3))
def test_what_pushes_against_the_way_by_more_than_a_threshold_blocks_it(side, j):
    way, threshold = side * np.array([0.05, -0.02, 0.1]), np.array([2.0, 3.0, 5.0])
    one = np.arange(3) == j
    against = -np.sign(way) * one
    assert blocked(1.01 * threshold * against, threshold, way)
    assert not blocked(threshold * against, threshold, way), "as much as the threshold"
    assert not blocked(0.99 * threshold * against, threshold, way)
    assert not blocked(-1.01 * threshold * against, threshold, way), "as the arm goes"
    assert blocked(0.999 * np.sign(way) * threshold + 2.1 * threshold * against, threshold, way)


def test_a_joint_that_stays_where_it_is_blocks_nothing():
    for way in (0.0, -0.0):
        for side in (1.0, -1.0):
            assert not blocked([side * 9.0, 0.0, 0.0], 2.0, np.array([way, 0.1, -0.1]))


def test_thresholds_are_no_external_efforts():
    assert not blocked([1.0, -1.0, 1.0], 2.0, np.array([0.1, 0.1, -0.1]), behind=-50.0)


def test_without_a_threshold_nothing_blocks_the_way():
    assert not blocked([-1e6, 1e6, -1e6], np.inf, np.array([0.1, -0.1, 0.1]))


def test_a_way_back_that_is_dropped_slows_down_along_its_path():
    arm = Touched()
    arm.choose()
    arm.go_on()
    arm.core.time += 0.4 * (arm.retreat.times[1] - arm.retreat.times[0])
    arm.sample(arm.core.time)
    place, rate = arm.get("reference__position"), arm.get("reference__velocity")
    arm.put(state__position=place)
    arm.calls.rd_drop_retreat(arm.core)
    assert not arm.retreat.active and not arm.current.plan
    assert arm.core.stopping.kind == arm.calls.RD_STOP_HOLD
    assert arm.core.stopping.path.plan == arm.ffi.addressof(arm.retreat, "plan")
    arm.calls.rd_refer_stop(arm.core, arm.core.time, arm.ffi.addressof(arm.core, "reference"))
    np.testing.assert_allclose(arm.get("reference__position"), place)
    np.testing.assert_allclose(arm.get("reference__velocity"), rate)


@pytest.mark.parametrize("state", ["not begun", "another plan", "ended"])
def test_where_no_way_back_is_followed_nothing_is_stopped_for_it(state):
    arm = Touched()
    arm.choose()
    plan = arm.ffi.new("rd_plan *")
    if state != "not begun":
        arm.go_on()
        arm.current.plan = plan if state == "another plan" else arm.ffi.addressof(arm.retreat, "plan")
        arm.retreat.active = state == "another plan"
    kept, epoch = arm.current.plan, arm.core.epoch
    arm.calls.rd_drop_retreat(arm.core)
    assert not arm.retreat.begins and not arm.retreat.active
    assert (arm.current.plan, arm.core.epoch) == (kept, epoch)
    assert arm.core.stopping.kind == arm.calls.RD_NO_STOP
