"""Common behaviour of arm and platform: no effort before a state, holds, losses, stamps and stale plans."""

from dataclasses import replace

import numpy as np
import pytest
from arms import GRAVITY, LENGTH, MASS, Pendulum, pendulum_chain

from robot_dynamics import stewart
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.resources import resource

PERIOD = 0.002
NOT_READY = "the controller is not ready for a trajectory: "


class Arm:
    """A pendulum at so many radians."""

    joints = 1

    def controller(self, **parameters):
        given = ArmParameters(max_following_error=(-1.0,), **parameters)  # the states are made up
        return ArmController(pendulum_chain(), Pendulum(), given)

    def at(self, share):
        return np.array([0.4 + 0.1 * share])

    def load(self, share):
        return MASS * GRAVITY * LENGTH * np.sin(self.at(share))

    def plan(self, control, goals, plan_start):
        points = [Waypoint(time, self.at(share)) for time, share in goals]
        return control.plan(["swing"], points, plan_start)

    def share(self, reference):
        return (reference.position[0] - 0.4) / 0.1


class Platform:
    """A platform raised by so many centimetres."""

    joints = 6

    def __init__(self):
        self.platform = stewart.load(resource("config/stewart_demo.yaml"))
        machine = self.platform.machine
        self.home, self.level = machine.home_position, [0.0, 0.0, 0.0, 1.0]
        np.testing.assert_allclose(machine.home_rotation, np.eye(3), atol=1e-12)

    def controller(self, **parameters):
        return StewartController(
            self.platform, StewartParameters(**{"safe_output": "gravity_fade", **parameters})
        )

    def place(self, share):
        return self.home + np.array([0.0, 0.0, 0.01 * share])

    def at(self, share):
        return self.platform.legs(self.place(share), self.level).lengths

    def load(self, share):
        rest = [np.zeros(3)] * 4
        return self.platform.inverse_dynamics(self.place(share), self.level, *rest).actuator_forces

    def plan(self, control, goals, plan_start):
        points = [PoseWaypoint(time, self.place(share), self.level) for time, share in goals]
        return control.plan(points, plan_start)

    def share(self, reference):
        return (reference.position - self.home)[2] / 0.01


@pytest.fixture(scope="module", params=[Arm, Platform])
def machine(request):
    return request.param()


def follow(machine, control, goals, start=None):
    """Plan and accept; the reason when that fails."""
    return control.accept(machine.plan(control, goals, control.plan_start(start)))


@pytest.mark.parametrize("output", ["gravity_fade", "zero"])
def test_before_any_state_nothing_is_held_followed_lost_or_carried(machine, output):
    control = machine.controller(safe_output=output)
    assert control.phase is Phase.WAITING
    assert control.time == -np.inf
    for event in (control.hold, control.lost_states, lambda: control.observe(machine.at(1.0))):
        event()
        assert control.phase is Phase.WAITING
        for since in (0.0, 1.0):
            command = control.safe_command(since)
            assert command.phase is Phase.WAITING
            np.testing.assert_array_equal(command.effort, np.zeros(machine.joints))
    with pytest.raises(TrajectoryError, match=f"{NOT_READY}waiting for the first joint state"):
        control.plan_start(None)
    command = control.update(0.0, machine.at(0.5), np.zeros(machine.joints))
    assert command.phase is control.phase is Phase.HOLDING
    assert machine.share(command.reference) == pytest.approx(0.5)
    np.testing.assert_allclose(command.effort, machine.load(0.5), rtol=1e-6)


def test_a_first_state_holds_also_where_the_time_is_negative(machine):
    control = machine.controller()
    command = control.update(-3.0, machine.at(0.5), np.zeros(machine.joints))
    assert (command.phase, control.discontinuity, control.time) == (Phase.HOLDING, "", -3.0)
    np.testing.assert_allclose(control.safe_command(0.0).effort, machine.load(0.5), rtol=1e-6)


def test_lost_states_end_what_is_followed_and_holds_change_nothing(machine):
    control = machine.controller(safe_fade_time=4.0)
    control.update(0.0, machine.at(0.0), np.zeros(machine.joints))
    assert follow(machine, control, [(1.0, 1.0)]) == ""
    assert control.phase is Phase.TRACKING
    control.lost_states()
    control.hold()
    assert control.phase is Phase.STALE
    with pytest.raises(TrajectoryError, match=f"{NOT_READY}no joint state: safe output"):
        control.plan_start(None)
    assert machine.share(control.reference(0.5)) == pytest.approx(0.0)
    # The load is the one at the place that was seen last, though nothing is controlled.
    control.observe(machine.at(1.0))
    for since, share in ((0.0, 1.0), (1.0, 0.75), (4.0, 0.0), (5.0, 0.0)):
        command = control.safe_command(since)
        np.testing.assert_allclose(command.effort, share * machine.load(1.0), rtol=1e-6, atol=1e-9)
        assert machine.share(command.reference) == pytest.approx(1.0)
    control.parameters = replace(control.parameters, safe_fade_time=0.0)
    assert not control.safe_command(0.0).effort.any()
    control.parameters = replace(control.parameters, safe_output="zero")
    assert not control.safe_command(0.0).effort.any()


def test_a_hold_stops_on_the_path_of_what_was_followed(machine):
    control = machine.controller()
    control.update(0.0, machine.at(0.0), np.zeros(machine.joints))
    follow(machine, control, [(1.0, 1.0)])
    assert control.update(PERIOD, machine.at(0.001), np.zeros(machine.joints)).phase is Phase.TRACKING
    control.hold()
    command = control.update(2 * PERIOD, machine.at(0.001), np.zeros(machine.joints))
    assert command.phase is Phase.HOLDING
    assert machine.share(command.reference) == pytest.approx(0.0, abs=1e-6)
    assert machine.share(control.reference(9.0)) == pytest.approx(0.0, abs=1e-6)


def test_a_path_with_an_old_stamp_leaves_from_where_the_reference_is_now(machine):
    """Not from where the reference was at the stamp, nor from where the machine is."""
    control = machine.controller()
    control.update(0.0, machine.at(0.0), np.zeros(machine.joints))
    follow(machine, control, [(2.0, 1.0)])
    for k in range(1, 501):
        control.update(k * PERIOD, machine.at(0.0), np.zeros(machine.joints))
    before = control.reference(1.0)
    assert machine.share(before) == pytest.approx(0.5)
    assert follow(machine, control, [(0.2, 3.0), (1.5, 0.8)], start=0.3) == ""
    after = control.reference(1.0)
    for field in ("position", "velocity", "linear_velocity", "acceleration", "linear_acceleration"):
        if hasattr(before, field):
            np.testing.assert_allclose(getattr(after, field), getattr(before, field), atol=1e-9)
    # The first waypoint, due at 0.5 s, is past; the second comes when its stamp says.
    assert machine.share(control.reference(1.8)) == pytest.approx(0.8)
    assert machine.share(control.reference(1.79)) != pytest.approx(0.8, abs=1e-9)


def test_what_is_followed_is_known_until_it_is_replaced(machine):
    control = machine.controller()
    control.update(0.0, machine.at(0.0), np.zeros(machine.joints))
    first = machine.plan(control, [(1.0, 1.0)], control.plan_start(None))
    assert not control.follows(first.trajectory)
    assert control.accept(first) == "" and control.follows(first.trajectory)
    later = machine.plan(control, [(1.0, 0.5)], control.plan_start(0.5))
    assert control.accept(later) == ""
    control.update(0.1, machine.at(0.001), np.zeros(machine.joints))
    assert control.follows(first.trajectory) and control.follows(later.trajectory)
    control.update(0.5, machine.at(0.002), np.zeros(machine.joints))
    assert not control.follows(first.trajectory) and control.follows(later.trajectory)


def test_a_path_that_waits_behind_another_is_joined_without_a_jump(machine):
    """A plan begins where the one before it leads at that moment: that one goes on until then."""
    control = machine.controller()
    control.update(0.0, machine.at(0.0), np.zeros(machine.joints))
    for start, time, share in ((1.0, 1.0, 1.0), (1.5, 1.0, 0.0), (4.0, 1.0, 2.0), (3.0, 2.0, -1.0)):
        assert follow(machine, control, [(time, share)], start) == ""
    # The last one begins before the one to 2 and takes its place.
    passed = {0.0: 0.0, 1.0: 0.0, 1.5: 0.5, 2.5: 0.0, 3.0: 0.0, 5.0: -1.0, 9.0: -1.0}
    shares = []
    for k in range(round(9.0 / 0.01) + 1):
        command = control.update(0.01 * k, machine.at(0.0), np.zeros(machine.joints))
        shares.append(machine.share(command.reference))
        if round(0.01 * k, 9) in passed:
            assert shares[-1] == pytest.approx(passed[round(0.01 * k, 9)], abs=1e-6)
    assert np.abs(np.diff(shares)).max() < 0.03
    assert control.phase is Phase.HOLDING


def test_a_plan_is_void_when_anything_else_came_first(machine):
    reason = "a hold, a jump, a loss of states or another trajectory came first"
    rest = np.zeros(machine.joints)

    def jump(control):
        control.update(PERIOD, machine.at(8.0), rest)

    def loss(control):
        control.lost_states()
        control.update(0.01, machine.at(0.0), rest)

    def newer(control):
        assert follow(machine, control, [(1.0, 0.5)]) == ""

    for event in (lambda control: control.hold(), jump, loss, newer, lambda control: control.lost_states()):
        control = machine.controller()
        control.update(0.0, machine.at(0.0), rest)
        late = machine.plan(control, [(1.0, 1.0)], control.plan_start(None, allowance=0.5))
        event(control)
        phase = control.phase
        assert control.accept(late) == reason
        assert control.phase is phase and not control.follows(late.trajectory)


def test_planning_may_take_as_long_as_it_was_allowed_to(machine):
    rest = np.zeros(machine.joints)
    for elapsed, reason in ((0.25, ""), (0.375, "planning took 0.125 s longer than it was allowed to")):
        control = machine.controller()
        control.update(0.0, machine.at(0.0), rest)
        planned = machine.plan(control, [(1.0, 1.0)], control.plan_start(None, allowance=0.25))
        assert planned.trajectory.start == 0.25
        control.update(elapsed, machine.at(0.0), rest)
        assert control.accept(planned) == reason
        assert control.phase is (Phase.HOLDING if reason else Phase.TRACKING)


def test_a_plan_may_go_on_with_one_that_waits(machine):
    """And with one that is active; not with one that nobody follows."""
    control, plans, still = machine.controller(), None, np.zeros(machine.joints)
    for k in range(3):
        control.update(PERIOD * k, machine.at(0.0), still)
    plans = control._plans
    assert follow(machine, control, [(0.5, 0.0)], start=0.2) == ""
    control.update(PERIOD * 3, machine.at(0.0), still)
    first = plans.last
    for k, (start, number, goes_on) in enumerate([(0.8, first, True), (0.9, 77, False), (1.0, first, True)]):
        planned = machine.plan(control, [(0.5, 0.0)], control.plan_start(start))
        assert plans.accept(planned, continues=number) == ""
        control.update(PERIOD * (4 + k), machine.at(0.0), still)
        assert control.follows(planned.trajectory) == goes_on
