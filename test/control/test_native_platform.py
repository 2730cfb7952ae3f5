"""A platform's law in C against its twin in Python: the same inputs, cycle for cycle, in every situation.

Both find the pose by the same Newton steps to 1e-10 m, from the same start, so that it differs by rounding
alone: 1e-13. The condition number (up to 30) brings that into the twist, 1e-12, and the gains (up to 900/s²
and 72/s) into the forces: 1e-11 of what carries the weight.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from motion_base import machine
from sanitized import output_of
from twins import CalledAlike

from robot_dynamics import stewart
from robot_dynamics.control.core import library
from robot_dynamics.control.core.platform.controller import NativePlatform
from robot_dynamics.control.protocol import Phase, Planned
from robot_dynamics.control.stewart.basis import PlatformCore
from robot_dynamics.control.stewart.laws import LAWS
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.trajectory import PoseWaypoint, smooth_pose
from robot_dynamics.control.stewart.watch import StateWatch
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.resources import resource
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_vector
from robot_dynamics.stewart.tracking import PoseTracker

C_SOURCES = Path(library.__file__).parent
KINEMATICS = Path(stewart.__file__).parent / "native"
NOTHING = RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))


def crooked(seed):
    """A motion base with every measure off, dry friction, and springs."""
    random = np.random.default_rng(seed)
    mapping = machine(1.6, 1.2, [1.2, 2.0], 1.3, 1500.0, 15e3, 1.0, 60.0)
    for leg in mapping["legs"]:
        for point in ("base_point", "platform_point"):
            leg[point] = (np.array(leg[point]) + random.uniform(-0.05, 0.05, 3)).tolist()
        leg["friction"] = {"coulomb": random.uniform(20.0, 200.0)}
        leg["spring"] = {"length": 1.5, "force": random.uniform(0.0, 2000.0), "stiffness": 500.0}
    mapping["home"]["orientation"] = [0.02, -0.03, 0.1, float(np.sqrt(1.0 - 0.0113))]
    return stewart.load(mapping)


@pytest.fixture(scope="module")
def platforms():
    return [stewart.load(resource("config/stewart_demo.yaml")), crooked(1)]


class Twins(CalledAlike):
    """Both controllers under the same calls; every answer is compared."""

    def __init__(self, platform, parameters, zero=None):
        self.platform = platform
        self.python = PlatformCore(platform, parameters, zero)
        self.native = NativePlatform(platform, parameters, zero)
        self.scale = np.abs(self.python.law.load(self.python._legs.state)).max()

    def follow(self, waypoints):
        """What the machine's limits would say of the way does not matter here."""
        if not self.python.phase.controls:
            return
        departures = [controller.departure(None) for controller in (self.python, self.native)]
        start, origin, now = departures[0].start, departures[0].origin, departures[0].now
        trajectory = smooth_pose(waypoints, start, origin, now)
        for controller, departure in zip((self.python, self.native), departures, strict=True):
            assert controller.accept(Planned(trajectory, departure.epoch)) == ""
            assert controller.follows(trajectory)

    def compare(self, expected, reached):
        if isinstance(expected, str):
            assert expected == reached
        if hasattr(expected, "effort"):
            assert reached.phase is expected.phase
            for field in ("effort", "unlimited"):
                wanted = getattr(expected, field)
                most = 1e-11 * max(self.scale, np.abs(wanted).max())
                np.testing.assert_allclose(getattr(reached, field), wanted, rtol=0.0, atol=most)
            for field in ("position", "rotation", "linear_velocity", "angular_velocity"):
                wanted, found = (getattr(each.reference, field) for each in (expected, reached))
                np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-13)
        assert self.native.phase is self.python.phase
        assert self.native.time == self.python.time
        assert self.native.discontinuity == self.python.discontinuity
        tracker, told = self.python.pose, self.native.pose
        for field in ("position", "rotation", "twist", "quaternion"):
            wanted = np.array(getattr(tracker, field))
            most = (1e-12 if field == "twist" else 1e-13) * max(1.0, np.abs(wanted).max())
            np.testing.assert_allclose(getattr(told, field), wanted, rtol=0.0, atol=most, err_msg=field)
        estimate = self.python.law.observer.estimate
        np.testing.assert_allclose(told.disturbance, estimate, rtol=0.0, atol=1e-12)


def random_parameters(random):
    kp = random.uniform(10.0, 900.0, random.choice((1, 6)))
    return StewartParameters(
        mode=str(random.choice(list(LAWS))),
        kp=tuple(kp.tolist()),
        kv=tuple((2.0 * np.sqrt(kp) * random.uniform(0.0, 1.2)).tolist()),
        ki=float(random.choice((0.0, 0.0, 500.0, 5000.0))),
        disturbance_limit=float(random.choice((0.05, 3.0))),
        half_period_ahead=bool(random.random() < 0.7),
        control_period=float(random.choice((0.0, 0.002, 0.01))),
        safe_output=str(random.choice(("gravity_fade", "zero"))),
        safe_fade_time=float(random.choice((0.0, 0.5, 2.0))),
        model_change_time=float(random.choice((0.0, 0.02, 0.2))),
        max_effort_step=float(random.choice((1.0, 2.0))),
        max_velocity_factor=float(random.choice((1.0, 3.0, 1e6))),
    )


def beside(random, twins, time, size):
    """Leg lengths and rates near the reference."""
    motion = twins.python.reference(time)
    turned = rotation_from_vector(size * random.normal(size=3)) @ motion.rotation
    legs = twins.platform.legs(
        motion.position + size * random.normal(size=3), quaternion_from_rotation(turned)
    )
    twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
    return legs.lengths, legs.jacobian @ (twist + 10.0 * size * random.normal(size=6))


@pytest.mark.parametrize("seed", range(4))
def test_the_law_in_c_does_what_its_twin_does(platforms, seed):
    """Random runs: plans, holds, jumps, losses, wrenches, loads, parameters; one far off at first."""
    random = np.random.default_rng(seed)
    platform = platforms[seed % 2]
    home, weight = platform.machine.home_position, platform.machine.platform.mass
    zero = random.uniform(0.1, 0.3, 6) if seed > 1 else np.zeros(6)
    twins = Twins(platform, random_parameters(random), zero)
    time, period = float(random.uniform(0.0, 10.0)), float(random.choice((0.001, 0.004, 0.01)))
    seen = set()
    for cycle in range(160):
        action = random.random()
        if action < 0.06:
            turned = quaternion_from_rotation(rotation_from_vector(random.uniform(-0.1, 0.1, 3)))
            goal = home + random.uniform(-0.05, 0.05, 3)
            twins.follow([PoseWaypoint(0.8, goal.tolist(), turned.tolist())])
        elif action < 0.07:
            twins.hold()
        elif action < 0.08:
            twins.lost_states()
            for since in (0.0, 0.3, 1.0):
                twins.safe_command(since)
            twins.observe(beside(random, twins, time, 1e-3)[0] - zero)
            twins.safe_command(0.1)
        elif action < 0.10:
            twins.set_parameters(random_parameters(random))
        elif action < 0.12:
            load = RigidBody(
                0.2 * weight, random.uniform(-0.2, 0.2, 3), 0.01 * weight * np.diag([1.0, 1.2, 0.9])
            )
            twins.change_payload(load if random.random() < 0.7 else NOTHING)
        elif action < 0.16:
            # Up to what no leg can bear.
            size = float(random.choice((0.1, 30.0))) * weight
            twins.set_wrench(size * random.normal(size=3), 0.2 * size * random.normal(size=3))
        time += period * float(random.uniform(0.5, 1.5))
        time += 0.0 if random.random() < 0.98 else float(random.choice((-0.2, 0.07, 1.0)))
        lengths, rates = beside(random, twins, time, 0.02 if cycle == 0 else 3e-4)
        if random.random() < 0.01:
            lengths[random.integers(6)] += float(random.choice((0.03, 9.0, np.nan)))
        outcome = twins.update(time, lengths - zero, rates)
        seen.add(getattr(outcome, "phase", outcome))
    assert {Phase.HOLDING, Phase.TRACKING} <= seen


def test_a_platform_at_the_end_of_its_strokes_is_found_and_a_pose_that_no_legs_have_is_not(platforms):
    """The first pose may be far from home; later ones are near the last."""
    platform = platforms[1]
    for shift in (-0.35, 0.3):
        twins = Twins(platform, StewartParameters())
        turned = quaternion_from_rotation(rotation_from_vector(np.array([0.05, -0.1, 0.15])))
        place = platform.machine.home_position + np.array([0.05, -0.1, shift])
        twins.update(0.0, platform.legs(place, turned).lengths, np.zeros(6))
        np.testing.assert_allclose(twins.native.pose.position, place, rtol=0.0, atol=1e-9)
        assert twins.native.pose.condition_number == pytest.approx(twins.python.pose.condition_number)
        short = platform.legs(place, turned).lengths - np.array([0.0, 0.0, 1.4, 0.0, 0.0, 0.0])
        twins.update(0.01, short, np.zeros(6))
        assert twins.native.phase is Phase.STALE
        np.testing.assert_allclose(twins.native.pose.position, place, rtol=0.0, atol=1e-9)


class Watching(NativePlatform):
    """A platform whose limits are looked after."""

    def platform_model(self):
        """As it is, watching."""
        model = super().platform_model()
        model.watches = 1
        return model


ANYWHERE = {"shortest": 0.2, "longest": 9.0}


@pytest.mark.parametrize(
    ("shift", "turn", "rates", "limits"),
    [
        ((0.0, 0.0, 0.45), (0.0, 0.0, 0.0), 0.0, {}),
        ((0.0, 0.0, -0.45), (0.0, 0.0, 0.0), 0.0, {}),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), [0.0, 0.2, -1.2, 0.0, 1.1, 0.0], {}),
        ((0.3, 0.1, 0.0), (0.0, 0.0, 0.0), 0.0, {"base_angle": 0.1, **ANYWHERE}),
        ((0.0, 0.1, 0.0), (0.1, 0.2, 0.0), 0.0, {"platform_angle": 0.1, **ANYWHERE}),
        ((0.0, 0.0, 0.1), (0.0, 0.0, 0.2), 0.0, {"condition_limit": 2.0, **ANYWHERE}),
        ((0.02, 0.0, 0.0), (0.0, 0.0, 0.1), 0.1, {}),
    ],
)
def test_what_is_beyond_a_limit_is_told_once_and_answered_by_a_hold(platforms, shift, turn, rates, limits):
    """In the words of the twin's watch."""
    machine_ = with_limits(platforms[1].machine, **limits)
    turned = quaternion_from_rotation(rotation_from_vector(np.array(turn)) @ machine_.home_rotation)
    legs = platforms[1].legs(machine_.home_position + np.array(shift), turned)
    control, tracker = Watching(StewartPlatform(machine_), StewartParameters()), PoseTracker(machine_)
    tracker.update(legs.lengths, np.zeros(6) + rates)
    expected = StateWatch(machine_, StewartParameters().watch_margin).judge(tracker, legs.lengths)
    assert bool(expected) == (max(map(abs, shift)) > 0.05 or max(np.zeros(6) + rates) > 0.5)
    control.update(0.0, legs.lengths, np.zeros(6) + rates)
    assert control.discontinuity == expected
    epoch = control.epoch
    for k in range(1, 5):
        control.update(0.01 * k, legs.lengths, np.zeros(6) + rates)
        assert control.discontinuity == ""
    assert control.epoch == epoch
    assert control._snapshot.read().beyond == bool(expected)


def with_limits(machine_, condition_limit=None, **limits):
    """A machine with other limits; its model stays."""
    legs = tuple(replace(leg, limits=replace(leg.limits, **limits)) for leg in machine_.legs)
    return replace(machine_, legs=legs, condition_limit=condition_limit or machine_.condition_limit)


EXPECTED = r"""
holding: sent 3, sum 59\d\d, phase 1, beyond 0, cut 0
following: sent 60, sum \d+, phase 2, beyond 0, cut 1
under a weight: sent 105, sum 239\d\d, phase 1, beyond 0, cut 1
other loads: sent 120, sum \d+, phase 1, beyond 0, cut 1
too long: sent 20, sum \d+, phase 1, beyond 1, cut 0
on brakes: sent 20, sum 0, phase 1, beyond 1, cut 0
ill conditioned: sent 20, sum \d+, phase 1, beyond 2, cut 0
states lost: sent \d+, sum \d+, phase 3, beyond 2, cut 0
settled: sent \d+, sum 0, phase 3, beyond 2, cut 0
numbers again: sent 2, sum \d+, phase 1, beyond \d+, cut 0
wrong 0
"""


def test_the_law_under_sanitizers(tmp_path):
    """See drill_platform.c: every situation, and states that no machine has."""
    drill = Path(__file__).with_name("drill_platform.c")
    folders = (C_SOURCES, C_SOURCES / "platform", KINEMATICS)
    parts = [part for folder in folders for part in sorted(folder.glob("*.c"))]
    printed = output_of(tmp_path / "drill", [drill, *parts]).strip()
    assert re.fullmatch(EXPECTED.strip(), printed), printed
