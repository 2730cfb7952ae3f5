"""Bounds of an arm's laws, met exactly, and what the laws leave alone, with a made-up model.

Times and speeds are such that differences and products are exact.
"""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import Yielding

SIDES = pytest.mark.parametrize("side", [1.0, -1.0])


class Law(Yielding):
    """At 0.05 s, so that times since zero are exact; gains and velocity limits are powers of two.

    Rows of ``friction`` are those of :mod:`robot_dynamics.dynamics.friction`.
    """

    def __init__(self, mode="COMPUTED_TORQUE", driven=True, seed=41):
        super().__init__(seed, mode, driven)
        self.setting(kp=np.full(3, 64.0), kv=np.full(3, 16.0), ki=np.full(3, 256.0))
        self.setting(velocity_limits=np.full(3, 2.0), settled=np.full(3, 0.0625), following=np.full(3, 1.0))
        self.core.time, self.core.period = 0.05, 0.004
        self.core.disturbance_time, self.core.slid_time = 0.046, 0.046
        self.friction = np.zeros((3, 8))
        self.friction[:, 3] = self.friction[:, 7] = 0.01
        self.put(softness=1.0, disturbance=0.0, undisturbed=0.0, shown_friction=1e9, strayed=-9.0)

    def at(self, place=0.0, rate=0.0, reference=0.0, ahead=0.0, **fields):
        """A made-up state and reference."""
        self.put(state__position=place, state__velocity=rate, reference__position=reference)
        self.put(reference__velocity=ahead, reference__acceleration=0.0, **fields)

    def resist(self, **columns):
        """Friction by its parameters."""
        names = ("damping", "friction", "static", "speed", "offset", "load", "presliding", "travel")
        for name, values in columns.items():
            self.friction[:, names.index(name)] = values
        self.setting(friction=self.friction.ravel())

    def effort(self, settings=None, half=0.0):
        """Efforts by the law in force; the fourth number behind them is nobody's."""
        settings = self.settings if settings is None else settings
        made, r = self.ffi.new("double[4]", [0.0, 0.0, 0.0, 77.0]), self.core.reference
        ahead = self.ffi.new("rd_motion *", [r.position, r.velocity, r.acceleration])
        assert settings.machine.effort(self.core, settings, ahead, half, made)
        assert made[3] == 77.0
        return np.array(list(made)[:3])

    def estimated(self):
        """The estimate of a load, by the law in force."""
        self.effort()
        return self.get("disturbance")

    def another(self):
        """Settings that are not those in force."""
        return self.ffi.new("rd_settings *", self.settings[0])


# What is estimated


@SIDES
def test_nothing_is_integrated_over_the_longest_gap_and_over_no_time(side):
    law = Law()
    law.at(reference=side * 0.25, disturbance=side * 900.0)
    for last, z in ((0.05, 900.0), (0.0, 900.0), (0.0001, 64.0)):
        law.put(disturbance=side * 900.0, undisturbed=0.0)
        law.core.disturbance_time = last
        np.testing.assert_array_equal(law.estimated(), side * z, err_msg=str(last))


@SIDES
def test_what_blocks_a_joint_at_half_the_following_error_is_no_load(side):
    law = Law()
    law.setting(velocity_limits=np.full(3, 1e6))
    for error, grows in ((0.5, False), (0.4999, True)):
        law.at(reference=side * error, disturbance=0.0)
        law.core.disturbance_time = 0.046
        assert law.estimated().all() == grows == law.get("disturbance").any()


@SIDES
def test_any_gain_integrates(side):
    law = Law()
    law.setting(ki=np.array([0.5, 0.25, 0.0]))
    law.at(reference=side * 0.25)
    np.testing.assert_allclose(law.estimated(), side * 0.25 * 0.004 * np.array([0.5, 0.25, 0.0]), rtol=1e-9)


@SIDES
def test_where_a_speed_limit_leaves_half_of_the_pull_the_error_is_integrated_as_any_other(side):
    """16 of 32 rad/s²; with less the estimate grows only while the joint falls behind."""
    law = Law()
    law.setting(following=np.full(3, 4.0), kp=np.array([64.0, 64.0, 64.25]))
    law.setting(velocity_limits=np.full(3, 1.0))
    law.at(reference=side * 0.5, rate=side * 0.125)
    law.estimated()
    gained = 256.0 * 0.004 * 0.5
    np.testing.assert_allclose(law.get("disturbance"), side * np.array([gained, gained, 0.0]), rtol=1e-9)


@SIDES
def test_near_its_speed_limit_a_joint_s_estimate_grows_while_it_falls_behind(side):
    law = Law()
    law.setting(following=np.full(3, 0.75), velocity_limits=np.full(3, 0.5))
    for rates, behind in (((0.25, 0.25), False), ((0.25, 0.24), True), ((0.25, 0.26), False)):
        reference, measured = rates
        law.at(reference=side * 0.7, ahead=side * reference, rate=side * measured, disturbance=side * 0.3)
        law.core.disturbance_time = 0.046
        gained = 256.0 * 0.004 * 0.7 if behind else 0.0
        np.testing.assert_allclose(law.estimated(), side * (0.3 + gained), rtol=1e-9)


@SIDES
def test_an_estimate_that_takes_a_joint_beyond_its_speed_limit_fades(side):
    """Whatever its size, and twice where it drives the joint away. One of zero begins to grow."""
    law = Law()
    law.setting(following=np.full(3, 0.75), velocity_limits=np.full(3, 0.5), kp=np.full(3, 640.0))
    fades, gained = np.exp(-0.04), 256.0 * 0.004 * 0.7
    for z, rate, expected in (
        (0.3, 0.55, 0.3 * fades),
        (0.3, 0.5, 0.3),
        (-0.3, 0.55, -0.3),
        (0.3, -0.55, 0.3 + gained),
        (3.0, 0.55, 3.0 * fades),
        (0.0, -0.55, gained),
        (-0.3, -0.55, -0.3 * fades**2),
    ):
        law.at(reference=side * 0.7, rate=side * rate, disturbance=side * z)
        law.core.disturbance_time = 0.046
        np.testing.assert_allclose(law.estimated(), side * expected, rtol=1e-9, err_msg=str((z, rate)))
    law.setting(velocity_limits=np.full(3, 1e6))
    law.at(reference=side * 0.07, rate=side * 0.55, disturbance=side * 0.3)
    law.core.disturbance_time = 0.046
    np.testing.assert_allclose(law.estimated(), side * (0.3 + 0.1 * gained), err_msg="it is far from it")
    law.setting(velocity_limits=np.full(3, 0.5))
    law.at(reference=side * 0.7, rate=side * 0.55, disturbance=side * 0.3)
    law.core.disturbance_time = 0.05
    np.testing.assert_array_equal(law.estimated(), side * 0.3, err_msg="no time has passed")


@SIDES
def test_near_a_speed_limit_nothing_is_integrated_without_a_gain_over_a_gap_or_while_efforts_are_cut(side):
    law = Law()
    law.setting(following=np.full(3, 0.75), velocity_limits=np.full(3, 0.5))
    for changed in ("gain", "gap", "cut", "braked", None):
        law.at(reference=side * 0.7, ahead=side * 0.25, disturbance=side * 0.3)
        law.setting(ki=np.full(3, 0.0 if changed == "gain" else 256.0))
        law.core.cut, law.core.braked = changed == "cut", changed == "braked"
        law.core.disturbance_time = -0.1 if changed == "gap" else 0.046
        assert (law.estimated() == side * 0.3).all() == (changed is not None), changed


def test_only_the_law_in_force_estimates_and_not_while_it_waits_for_a_button():
    law = Law()
    for settings in (law.another(), law.settings):
        law.at(reference=0.25)
        law.core.disturbance_time = 0.046
        law.effort(settings)
        own = settings == law.settings
        assert law.get("disturbance").any() == own
        assert law.core.disturbance_time == (0.05 if own else 0.046)
    guided = Law("HAND_GUIDING")
    for settings in (guided.settings, guided.another()):
        guided.at(reference=0.25)
        guided.core.disturbance_time = 0.046
        plain = guided.whole_mass(np.zeros(3)) @ np.full(3, 16.0) + guided.weight(np.zeros(3))
        np.testing.assert_allclose(guided.effort(settings), plain)
        assert not guided.get("disturbance").any() and guided.core.disturbance_time == 0.046


# What drives a joint away


def driven_away(law, z, error, rate, elapsed=0.004, ahead=0.0, led=9.0):
    """The rest of an estimate, of a joint with an error and a speed."""
    law.at(reference=error, rate=rate, ahead=ahead, disturbance=z, undisturbed=5.0, led=led)
    law.calls.rd_drop_driving_load(law.core, elapsed, law.settings.settled)
    left = law.get("disturbance")
    np.testing.assert_array_equal(law.get("undisturbed"), left if (left != z).any() else 5.0)
    return left / z


@SIDES
@pytest.mark.parametrize("size", [0.3, 40.0])
def test_a_load_fades_only_where_its_joint_moves_away_along_it(side, size):
    law, z = Law(), side * size
    for error, rate, fades in (
        (-0.07, 0.02, True), (-0.07, 3.0, True), (-0.07, 0.0, False), (-0.07, -0.02, False),
        (0.07, 0.02, False), (0.0, 0.02, False), (-0.0625, 0.02, False), (-9.0, 0.02, True),
        (9.0, 3.0, False),
    ):  # fmt: skip
        expected = np.exp(-0.04) if fades else 1.0
        np.testing.assert_allclose(
            driven_away(law, z, side * error, side * rate), expected, err_msg=str((error, rate))
        )
    np.testing.assert_allclose(driven_away(law, z, -side * 0.07, side * 0.02, 0.2), np.exp(-2.0))
    np.testing.assert_allclose(driven_away(law, z, -side * 0.07, side * 0.02, 0.0), 1.0)


@SIDES
def test_in_a_stop_a_load_fades_the_faster_the_faster_its_joint_goes_away(side):
    """From a quarter of the settled error on, where its speed grows, and never slower than else."""
    law = Law()
    law.core.trip.latched = 1
    for error, rate, led, pace in (
        (-0.02, 2.0, 1.9, 32.0), (-0.02, 2.0, 2.0, 0.0), (-0.015625, 2.0, 1.9, 0.0), (-0.07, 2.0, 2.0, 10.0),
        (-0.02, 0.5, 0.4, 10.0), (-0.02, 4.0, 1.9, 64.0),
    ):  # fmt: skip
        left = driven_away(law, side * 0.3, side * error, side * rate, led=led)
        np.testing.assert_allclose(left, np.exp(-0.004 * pace), err_msg=str((error, rate, led)))
    left = driven_away(law, side * 0.3, -side * 0.02, side * 2.0, ahead=side * 0.5, led=1.4)
    np.testing.assert_allclose(left, np.exp(-0.004 * 1.5 / 0.0625))


@SIDES
def test_what_fades_of_joints_leaves_everything_else_alone(side):
    law = Law()
    law.resist(friction=1.0, static=1.0)
    law.at(reference=-0.07, rate=0.5, disturbance=0.3, overcome=0.6, led=0.1)
    law.put(
        undisturbed=(0.9, 0.8, 0.7), softness=(0.5, 0.4, 0.3), rubbed=side * 0.25, shown_friction=0.2,
        strayed=0.1, swung=0.9, reference__velocity=(-0.5, 0.3, 0.3), ahead__position=(0.6, 0.3, 0.3),
        reference__acceleration=(side * 5.0, 0.0, 0.0),
    )  # fmt: skip
    law.calls.rd_drop_driving_load(law.core, 0.004, law.settings.settled)
    for name, values in (
        ("softness", (0.5, 0.4, 0.3)), ("rubbed", side * 0.25), ("shown_friction", 0.2), ("strayed", 0.1),
        ("swung", 0.9), ("led", 0.1),
    ):  # fmt: skip
        np.testing.assert_array_equal(law.get(name), values, err_msg=name)


def test_without_drives_no_friction_is_doubted():
    for driven in (True, False):
        law = Law(driven=driven)
        law.at(ahead=0.5, rate=2.0, overcome=0.8)
        law.calls.rd_drop_driving_load(law.core, 0.004, law.settings.settled)
        assert (law.get("overcome") < 0.8).all() == driven


# Friction


@SIDES
def test_a_lead_counts_in_the_direction_of_the_reference_alone(side):
    law = Law()
    for reference, rate, share in (
        (0.5, 0.5, 0.8), (0.0, -1.0, 0.8), (0.0, 1.0, 0.8), (0.5, 0.49, 0.804), (0.5, 0.59, 0.8),
        (0.5, 0.9, 0.4), (-0.005, -0.9, 0.8), (0.005, 0.9, 0.8),
    ):  # fmt: skip
        law.at(ahead=side * reference, rate=side * rate, overcome=0.8)
        law.calls.rd_doubt_friction(law.core, 1, side * reference, 0.004)
        np.testing.assert_allclose(law.get("overcome"), [0.8, share, 0.8], err_msg=str((reference, rate)))
    law.at(ahead=side * 0.5, rate=side * 0.8, overcome=0.8)
    law.calls.rd_doubt_friction(law.core, 1, side * 0.5, 0.0001)
    np.testing.assert_allclose(law.get("overcome")[1], 0.8 * (1.0 - 2000.0 * 0.0001 * 0.1))


@SIDES
def test_along_a_plan_whose_velocity_is_meant_the_slightest_lead_counts(side):
    law = Law()
    plan = law.ffi.new("rd_plan *")
    plan.exact, law.core.current.plan = 1, plan
    law.at(ahead=side * 0.006, rate=side * 0.9, overcome=0.8)
    law.calls.rd_doubt_friction(law.core, 1, side * 0.006, 0.004)
    assert law.get("overcome")[1] == pytest.approx(0.4)
    plan.exact = 0
    law.calls.rd_doubt_friction(law.core, 1, side * 0.006, 0.004)
    assert law.get("overcome")[1] == pytest.approx(0.4), "within noise a reference is at rest"


@SIDES
def test_friction_that_was_shown_stays_at_a_lead_of_a_twentieth_of_the_limit(side):
    law = Law()
    law.resist(friction=3.0, static=3.0)
    for rate, left in ((0.1, 6.0), (0.1001, 3.0), (-2.0, 6.0)):
        law.at(rate=side * rate, rubbed=side * 0.5, shown_friction=6.0)
        law.effort()
        np.testing.assert_array_equal(law.get("shown_friction"), left)
    law.at(rubbed=-side * 7.0, shown_friction=6.0)
    law.effort()
    np.testing.assert_array_equal(law.get("shown_friction"), 7.0)


@SIDES
def test_slight_friction_grows_from_what_was_compensated_last_unless_it_turns(side):
    """0.01 N m are the most that the least inertia stands more in a state."""
    law = Law()
    law.resist(friction=0.04, static=0.04)
    rules = law.ffi.new("rd_rules *")
    inertia = law.ffi.new("double[3]", [0.01 * 0.004 / (0.1 * 2.0)] * 3)
    following = law.ffi.new("double[3]", [1.0] * 3)
    rules.inertia, rules.following, law.settings.rules = inertia, following, rules
    for last, given in ((0.0, 0.01), (0.02, 0.03), (-0.02, 0.01), (0.035, 0.04), (-0.5, 0.01)):
        law.at(ahead=side * 0.5, rate=side * 0.5, shown_friction=0.0, rubbed=side * last)
        law.put(slid_at=-side * 1.0, shown_friction=0.0)
        bare = law.coriolis(law.get("state__velocity"), law.get("state__velocity")) + law.weight(np.zeros(3))
        law.settings.rules.inertia = inertia
        law.put(overcome=1.0)
        last_shown = np.abs(last)
        found = law.effort() - bare
        np.testing.assert_allclose(found, side * max(given, min(last_shown, 0.04)), err_msg=str(last))


def test_presliding_is_known_up_to_the_longest_gap_but_not_over_it():
    law = Law()
    law.resist(presliding=0.5, travel=0.01)
    for last, known in ((0.0, False), (0.001, True), (0.05, True), (0.051, False)):
        law.at(ahead=0.5, reference=0.001, slid=0.25, slid_at=0.0)
        law.core.slid_time = last
        law.effort()
        expected = 1.0 - 0.75 * np.exp(-0.1) if known else 0.0
        np.testing.assert_allclose(law.get("slid"), expected)
        assert law.core.slid_time == 0.05


def test_joints_without_presliding_and_references_within_noise_do_not_slide():
    law = Law()
    law.resist(presliding=(0.5, 0.0, 0.5), travel=0.01)
    for rate, slides in ((0.5, True), (0.0101, True), (0.01, False), (-0.005, False), (0.0, False)):
        law.at(ahead=rate, reference=0.001, slid=0.25, slid_at=0.0)
        law.core.slid_time = 0.046
        law.effort()
        moved = 1.0 - 0.75 * np.exp(-0.1) if slides else 0.25
        np.testing.assert_allclose(law.get("slid"), [moved, 0.25, moved], err_msg=str(rate))
        np.testing.assert_array_equal(law.get("slid_at"), 0.001)


def test_dynamics_of_a_state_count_the_friction_as_shown_and_note_nothing():
    """Also in presliding. What may grow in no time is not limited."""
    law = Law()
    law.resist(friction=3.0, static=3.0, presliding=2.0)
    rules = law.ffi.new("rd_rules *")
    inertia = law.ffi.new("double[3]", [0.01] * 3)
    rules.inertia, law.settings.rules = inertia, rules
    rate = np.array([0.5, -0.6, 0.7])
    for mode in ("dynamics", "reference", "load", "bearing"):
        law.at(place=0.3, rate=rate, reference=0.3, ahead=rate, disturbance=0.4)
        law.put(rubbed=0.1, shown_friction=0.2, overcome=0.7, slid=(0.3, -0.4, 0.5))
        made, zero, given = law.ffi.new("double[4]", [0.0, 0.0, 0.0, 77.0]), law.core.zero, law.core.state
        machine, q = law.settings.machine, np.full(3, 0.3)
        friction = 3.0 * np.sign(rate)
        built = 2.0 * (np.array([0.3, -0.4, 0.5]) - np.sign(rate))
        links = law.weight(q) + law.coriolis(rate, rate)
        if mode == "dynamics":
            found = machine.dynamics(
                law.core, law.settings, given.position, given.velocity, zero, given.velocity, made
            )
            expected = links + 0.7 * (friction + built)
        elif mode == "reference":
            motion = law.ffi.addressof(law.core, "reference")
            found = machine.reference_effort(law.core, law.settings, motion, made)
            expected = links + friction + built
        elif mode == "load":
            found = machine.load(law.core, law.settings, made)
            expected = law.weight(q) + law.whole_mass(q) @ np.full(3, 0.4)
        else:
            found = machine.bearing(law.core, law.settings, made)
            expected = links + law.whole_mass(q) @ np.full(3, 0.4) + friction
        assert found
        np.testing.assert_allclose(list(made), [*expected, 77.0], err_msg=mode)
        np.testing.assert_array_equal(law.get("rubbed"), 0.1)
        np.testing.assert_array_equal(law.get("shown_friction"), 0.2)


# Pulls, and what keeps pace


def test_a_joint_has_kept_pace_for_longer_than_a_twentieth_of_a_second():
    law = Law()
    law.at(reference=0.25, disturbance=0.5, strayed=(0.0, -0.0001, 0.1))
    pulls = [law.calls.rd_pull(law.core, law.settings, j, 1.0) for j in range(3)]
    assert np.isnan(pulls[0]) and pulls[1] == 16.5 and np.isnan(pulls[2])
    for rate, strays in ((0.1, True), (0.0999, False), (-0.1, True)):
        law.at(rate=rate, strayed=-9.0)
        law.calls.rd_watch_lag(law.core, law.settings, 1)
        assert law.get("strayed").tolist() == [-9.0, 0.05 if strays else -9.0, -9.0]


@SIDES
def test_springs_that_hardly_pull_fade_near_the_velocity_limit_too(side):
    law = Law()
    within = law.calls.rd_within_speed
    for rate, left in ((1.9, 1.0 / 3.0), (1.7, 1.0), (1.6, 1.0), (0.4, 1.0), (2.1, 0.0), (0.0, 1.0)):
        law.at(rate=side * rate)
        for pull in (0.02, 30.0):
            assert within(law.core, law.settings, 1, side * pull) == pytest.approx(side * pull * left)
            assert within(law.core, law.settings, 1, -side * pull) == -side * pull


# Braking


@SIDES
@pytest.mark.parametrize("mode", ["GRAVITY_COMPENSATION", "JOINT_IMPEDANCE"])
def test_an_arm_that_is_braked_notes_how_much_faster_it_is_than_it_may_be(side, mode):
    law = Law(mode)
    rate = side * np.array([0.75, -0.9, 0.3])
    law.at(rate=rate, led=9.0)
    law.put(led=9.0, strayed=-7.0)
    law.core.trip.latched, law.core.trip.rule = mode != "GRAVITY_COMPENSATION", law.calls.RD_OVERSPEED
    if mode == "GRAVITY_COMPENSATION":
        law.effort()
        most = 0.5
    else:
        for j in range(3):
            law.calls.rd_braking_in_stop(law.core, law.settings, j)
        most = 0.04
    np.testing.assert_allclose(law.get("led"), np.maximum(np.abs(rate) - most, 0.0))
    np.testing.assert_array_equal(law.get("strayed"), -7.0)


def test_a_stop_brakes_no_arm_that_is_moved_by_hand_or_has_yielded_to_a_contact():
    law = Law("JOINT_IMPEDANCE")
    core, calls = law.core, law.calls
    for latched, rule, guides, brakes in (
        (1, calls.RD_OVERSPEED, 0, True), (0, calls.RD_OVERSPEED, 0, False), (1, calls.RD_CONTACT, 0, False),
        (1, calls.RD_OVERSPEED, 1, False), (0, calls.RD_CONTACT, 0, False), (1, calls.RD_CONTACT, 1, False),
        (0, calls.RD_OVERSPEED, 1, False),
    ):  # fmt: skip
        law.at(rate=0.5)
        law.put(led=9.0)
        core.trip.latched, core.trip.rule, core.guides = latched, rule, guides
        found = calls.rd_braking_in_stop(core, law.settings, 1)
        assert found == (pytest.approx(-0.08 / 0.004 * 0.46) if brakes else 0.0)


# What is carried


@SIDES
def test_stiffened_joints_keep_their_pull_and_nothing_else_is_written(side):
    law = Law()
    law.at(reference=side * 0.125, rate=-side * 0.1, softness=1.5, swung=1.0, stiffened=1.5)
    law.put(reference__velocity=(0.0, 0.1, 0.2), reference__acceleration=4.0, ahead__position=-4.0)
    law.calls.rd_keep_pull(law.core)
    np.testing.assert_array_equal(law.get("softness"), 1.5)
    np.testing.assert_array_equal(law.get("swung"), 1.0)


@SIDES
def test_a_load_that_is_taken_has_no_friction_of_the_gear_s_load_in_it(side):
    """Neither at standstill nor without drives any friction is doubted."""
    law = Law()
    law.resist(friction=0.25, static=0.25, load=5.0)
    rules = law.ffi.new("rd_rules *")
    inertia = law.ffi.new("double[3]", [1e-6] * 3)
    rules.inertia, law.settings.rules = inertia, rules
    external = law.ffi.cast("double *", law.calls.rd_observer_external(law.core.observer))
    stands = 0.1 * 2.0 * 1e-6 / 0.004
    for driven, rate, shown, left in (
        (1, 0.25, 1.5, 1.25 + stands), (1, -0.25, 1.5, 1.5), (1, 0.25, 0.125, stands), (0, 0.25, 1.5, 1.5),
        (1, 0.0, 1.5, 1.5),
    ):  # fmt: skip
        law.settings.driven = driven
        law.at(rate=side * rate)
        for j in range(3):
            external[j] = side * shown
        law.settings.machine.take_load(law.core, 1.0)
        mass = law.whole_mass(np.zeros(3)) if driven else law.mass(np.zeros(3))
        np.testing.assert_allclose(-mass @ law.get("disturbance"), side * left, rtol=1e-9)


def test_external_efforts_and_their_thresholds_are_reported_and_nothing_behind_them():
    law = Law()
    external = law.ffi.cast("double *", law.calls.rd_observer_external(law.core.observer))
    for k in range(6):
        external[k] = 1.0 + k
    made = law.ffi.new("double[]", [77.0] * 9)
    law.settings.machine.report(law.core, made)
    assert list(made) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 77.0, 77.0, 77.0]
