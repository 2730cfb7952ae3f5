"""Loads that are carried through changes, and which law is in force, with a made-up model."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import Yielding


class Changing(Yielding):
    """Settings before, with another weight, and those in force now."""

    def __init__(self, mode="COMPUTED_TORQUE", before="COMPUTED_TORQUE"):
        super().__init__(9, mode)
        self.before = self.ffi.new("rd_settings *", self.settings[0])
        self.before.mode = getattr(self.calls, f"RD_{before}")
        self.lighter = np.array([1.0, -2.0, 3.0])
        self.before.inverse_dynamics = self.kernel(
            "before", lambda q, qd, qdd: self.dynamics_of(q, qd, qdd) + self.lighter, 3, 3
        )
        self.core.phase, self.core.knows_effort = self.calls.RD_HOLDING, 1
        self.qd[:] = 0.0
        self.begin()
        self.put(last_effort=self.weight(self.q) + np.array([4.0, -5.0, 6.0]))

    def keep(self, z=None):
        self.put(disturbance=self.z if z is None else z, undisturbed=9.0)
        changed = self.settings.machine.keep_load(self.core, self.before)
        np.testing.assert_array_equal(self.get("disturbance"), self.get("undisturbed"))
        return self.get("disturbance"), changed


def test_a_new_model_takes_its_share_from_an_estimate_that_never_grows():
    arm = Changing()
    more = np.linalg.solve(arm.whole_mass(arm.q), arm.lighter)
    for z in (
        np.array([0.4, -3.0, 2.0]),
        5.0 * more,
        -5.0 * more,
        -0.5 * more,
        np.array([60.0, -70.0, 80.0]),
    ):
        expected = np.clip(z + more, np.minimum(z, 0.0), np.maximum(z, 0.0))
        found, changed = arm.keep(z)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert changed == (expected != z).any()
    arm.before.inverse_dynamics = arm.settings.inverse_dynamics
    found, _ = arm.keep(np.array([60.0, -70.0, 80.0]))
    np.testing.assert_allclose(found, [60.0, -70.0, 80.0])
    found, changed = arm.keep(np.zeros(3))
    assert not found.any() and not changed


@pytest.mark.parametrize("before", ["FEEDFORWARD", "GRAVITY_COMPENSATION", "HAND_GUIDING"])
def test_after_a_law_without_feedback_the_present_effort_is_carried(before):
    arm = Changing(before=before)
    held = np.linalg.solve(arm.whole_mass(arm.q), np.array([4.0, -5.0, 6.0]))
    np.testing.assert_allclose(arm.keep()[0], held)
    arm.setting(kp=np.array([0.4, 80.0, 0.9]))
    np.testing.assert_allclose(arm.keep()[0], np.clip(held, [-0.2, -40.0, -0.45], [0.2, 40.0, 0.45]))
    for fields in ({"cut": 1}, {"fades": 1}):
        for name, value in fields.items():
            setattr(arm.core, name, value)
        assert not arm.keep()[0].any()
        for name in fields:
            setattr(arm.core, name, 0)
    for rate, kept in ((0.019, True), (-0.019, True), (0.02, False), (0.021, False), (-0.021, False)):
        arm.put(state__velocity=np.array([0.0, rate, 0.0]))
        assert arm.keep()[0].any() == kept


def test_an_estimate_goes_on_while_something_is_controlled_by_the_law_s_own_efforts():
    arm = Changing()
    arm.core.cut = arm.core.fades = 1
    arm.put(state__velocity=1.0)
    assert arm.keep()[0].any(), "with feedback before"
    for name, value in (("knows_effort", 0), ("braked", 1), ("phase", arm.calls.RD_STALE)):
        kept = getattr(arm.core, name)
        setattr(arm.core, name, value)
        assert not arm.keep()[0].any(), name
        setattr(arm.core, name, kept)
    for fails in ("before", "dynamics"):
        arm.fails = fails
        assert not arm.keep()[0].any(), fails
        arm.fails = None


@pytest.mark.parametrize(
    ("mode", "carries"),
    [("COMPUTED_TORQUE", True), ("JOINT_IMPEDANCE", True), ("CARTESIAN_IMPEDANCE", True),
     ("HAND_GUIDING", True), ("PD", False), ("FEEDFORWARD", False),
     ("GRAVITY_COMPENSATION", False), ("CALLED", False)],
)  # fmt: skip
def test_laws_that_carry_an_estimate_keep_it(mode, carries):
    arm = Changing(mode)
    found, changed = arm.keep()
    assert found.any() == carries and changed


def test_an_estimate_that_is_switched_off_keeps_what_kp_would_hold_too_far_away():
    """Half of the following error of the rules, or of the stops where the rules have none."""
    arm = Changing()
    arm.before.inverse_dynamics = arm.settings.inverse_dynamics
    arm.setting(ki=np.zeros(3), following=np.array([0.3, 0.2, 0.1]), kp=np.array([40.0, 50.0, 60.0]))
    least = 0.5 * np.array([0.3, 0.2, 0.1]) * np.array([40.0, 50.0, 60.0])
    for share, kept in ((1.01, True), (0.99, False), (-1.01, True), (-0.99, False)):
        np.testing.assert_allclose(arm.keep(share * least)[0], share * least if kept else 0.0)
    rules = arm.ffi.new("rd_rules *")
    following = arm.ffi.new("double[3]", [0.7, np.inf, 0.6])
    rules.following, arm.settings.rules = following, rules
    least = 0.5 * np.array([0.7, 0.2, 0.6]) * np.array([40.0, 50.0, 60.0])
    for share, kept in ((1.01, True), (0.99, False)):
        np.testing.assert_allclose(arm.keep(share * least)[0], share * least if kept else 0.0)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_load_that_the_observer_shows_is_taken_without_what_may_be_friction(side):
    """Of friction along the motion as much counts as load as the least inertia stands in a state."""
    arm = Yielding(10, "COMPUTED_TORQUE")
    external = arm.ffi.cast("double *", arm.calls.rd_observer_external(arm.core.observer))
    shown = side * np.array([4.0, -5.0, 6.0])
    for j in range(3):
        external[j] = shown[j]
    friction = np.zeros((3, 8))
    friction[:, 0], friction[:, 1], friction[:, 2], friction[:, 3] = (
        0.5,
        (1.0, 2.0, 9.0),
        (1.0, 2.0, 9.0),
        1.0,
    )
    arm.setting(friction=friction.ravel(), velocity_limits=np.array([3.0, 2.0, 1.0]))
    velocity = side * np.array([0.6, 0.4, 0.2])
    arm.put(state__velocity=velocity, undisturbed=0.0, disturbance=0.0)

    def taken(factor):
        arm.settings.machine.take_load(arm.core, factor)
        np.testing.assert_array_equal(arm.get("disturbance"), arm.get("undisturbed"))
        return -arm.whole_mass(arm.q) @ arm.get("disturbance")

    def left(load, stands):
        lost = np.abs(0.5 * velocity) + np.array([1.0, 2.0, 9.0])
        doubt = np.where(load * velocity > 0.0, np.minimum(np.abs(load), lost), 0.0)
        return load - np.sign(load) * (doubt - np.minimum(doubt, stands))

    for factor in (1.0, 1.7):
        np.testing.assert_allclose(taken(factor), factor * shown, err_msg="nothing is known of the inertia")
    rules = arm.ffi.new("rd_rules *")
    inertia = arm.ffi.new("double[3]", [0.002, 0.03, 0.05])
    rules.inertia, arm.settings.rules = inertia, rules
    stands = 0.1 * np.array([3.0, 2.0, 1.0]) * np.array([0.002, 0.03, 0.05]) / 0.004
    for factor in (1.0, 1.7):
        np.testing.assert_allclose(taken(factor), left(factor * shown, stands))
    velocity = -velocity
    arm.put(state__velocity=velocity)
    np.testing.assert_allclose(taken(1.0), left(shown, stands))
    arm.core.period = 0.0
    velocity = -velocity
    arm.put(state__velocity=velocity)
    np.testing.assert_allclose(taken(1.0), shown)
    arm.core.period, arm.settings.driven = 0.004, 0
    arm.rotors = np.zeros(3)
    np.testing.assert_allclose(taken(1.0), shown)
    before = arm.get("disturbance")
    for spared in range(5):
        arm.fails, arm.spared = "dynamics", spared
        arm.settings.machine.take_load(arm.core, 3.0)
        np.testing.assert_array_equal(arm.get("disturbance"), before)


# Which law is in force


def test_the_law_in_force_is_that_of_the_mode_or_what_a_stop_needs():
    arm = Yielding(11, "FEEDFORWARD")
    core, rules = arm.core, arm.ffi.new("rd_rules *")
    arm.put(softness=1.0, disturbance=0.0)
    rules.contact, arm.settings.rules = arm.calls.RD_CONTACT_YIELD, rules
    following = arm.ffi.new("double[3]", [0.5] * 3)
    rules.following = following
    made = arm.ffi.new("double[3]")
    ahead = arm.ffi.new(
        "rd_motion *", [core.reference.position, core.reference.velocity, core.reference.acceleration]
    )

    def effort(settings=arm.settings):
        arm.put(disturbance=0.0)
        assert settings.machine.effort(core, settings, ahead, 0.0, made)
        return np.array(list(made))

    feedforward = arm.whole_mass(arm.r) @ arm.rdd + arm.coriolis(arm.rd, arm.rd) + arm.weight(arm.r)
    np.testing.assert_allclose(effort(), feedforward)
    core.trip.latched, core.trip.rule, core.pace.recent = 1, arm.calls.RD_OVERSPEED, [0.004] * 3
    core.disturbance_time = 5.0
    pull = 15.0 * (arm.rd - arm.qd) + 80.0 * (arm.r - arm.q)
    feedback = arm.rdd + pull
    fed_back = arm.whole_mass(arm.q) @ feedback + arm.coriolis(arm.qd, arm.qd) + arm.weight(arm.q)
    np.testing.assert_allclose(effort(), fed_back)
    core.trip.rule = arm.calls.RD_CONTACT
    arm.soft[:], arm.z[:] = 1.0, 0.0
    np.testing.assert_allclose(effort(), arm.expected(arm.d))
    core.guides = 1
    np.testing.assert_allclose(effort(), feedforward)


def test_presliding_advances_with_the_settings_in_force_and_with_drives_only():
    arm = Yielding(12, "FEEDFORWARD")
    friction = np.zeros((3, 8))
    friction[:, 6], friction[:, 7] = 1.0, 0.01
    arm.setting(friction=friction.ravel())
    arm.core.slid_time = 4.996
    made, ahead = arm.ffi.new("double[3]"), arm.ffi.new("rd_motion *")
    others = arm.ffi.new("rd_settings *", arm.settings[0])
    undriven = arm.ffi.new("rd_settings *", arm.settings[0])
    undriven.driven = 0
    for settings, current, slides in ((others, 0, False), (undriven, 1, False), (arm.settings, 1, True)):
        arm.put(slid=0.0, slid_at=arm.r - 0.004 * arm.rd)
        if current:
            arm.core.settings = settings
        assert settings.machine.effort(arm.core, settings, ahead, 0.0, made)
        assert arm.get("slid").all() == slides == arm.get("slid").any()


def test_a_law_that_is_called_is_given_state_references_and_gains():
    arm = Yielding(13, "CALLED")
    seen = []

    def law(context, given, effort):
        seen.append([
            given.joints, given.time, given.half_period, given.position[1], given.velocity[2],
            given.reference.position[0], given.ahead.velocity[1], given.kp[0], given.kv[2],
            int(arm.ffi.cast("intptr_t", context)),
        ])  # fmt: skip
        effort[0], effort[1], effort[2] = 3.0, 4.0, 5.0
        return answers

    made = arm.ffi.new("double[3]")
    ahead = arm.ffi.new(
        "rd_motion *", [arm.core.ahead.position, arm.core.ahead.velocity, arm.core.ahead.acceleration]
    )
    arm.put(ahead__velocity=(0.1, 0.2, 0.3))
    effort = arm.settings.machine.effort
    assert effort(arm.core, arm.settings, ahead, 0.002, made) == 0
    called = arm.ffi.callback("int(void *, const rd_law_input *, double *)", law)
    arm.settings.called, arm.settings.called_context = called, arm.ffi.cast("void *", 77)
    for answers in (1, 0):
        assert effort(arm.core, arm.settings, ahead, 0.002, made) == answers
    assert seen[0] == seen[1] == [3, 5.0, 0.002, arm.q[1], arm.qd[2], arm.r[0], 0.2, 80.0, 15.0, 77]
    assert list(made) == [3.0, 4.0, 5.0]


@pytest.mark.parametrize("mode", ["COMPUTED_TORQUE", "FEEDFORWARD", "GRAVITY_COMPENSATION", "PD"])
def test_without_a_model_no_law_has_an_effort(mode):
    arm = Yielding(14, mode)
    made = arm.ffi.new("double[3]")
    ahead = arm.ffi.new(
        "rd_motion *",
        [arm.core.reference.position, arm.core.reference.velocity, arm.core.reference.acceleration],
    )
    effort = arm.settings.machine.effort
    arm.fails = "dynamics"
    assert effort(arm.core, arm.settings, ahead, 0.0, made) == 0
    arm.fails = None
    assert effort(arm.core, arm.settings, ahead, 0.0, made) == 1
    arm.fails = "dynamics"
    assert effort(arm.core, arm.settings, ahead, 0.0, made) == (mode == "PD"), "the inertia is known"
    arm.settings.machine.change_law(arm.core)
    assert effort(arm.core, arm.settings, ahead, 0.0, made) == 0


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_arm_that_is_moved_by_hand_is_braked_in_both_directions(side):
    arm = Yielding(17, "GRAVITY_COMPENSATION")
    arm.setting(velocity_limits=np.array([3.0, 2.0, 1.0]), kv=np.array([15.0, 4.0, 20.0]))
    arm.core.pace.recent = [0.004] * 3
    arm.put(disturbance=7.0, led=9.0)
    velocity = side * np.array([0.9, 0.7, 0.2])
    arm.put(state__velocity=velocity)
    over = side * np.array([0.15, 0.2, 0.0])
    asked = -0.5 * velocity - np.array([15.0, 10.0, 20.0]) * over
    made, ahead = arm.ffi.new("double[3]"), arm.ffi.new("rd_motion *")
    assert arm.settings.machine.effort(arm.core, arm.settings, ahead, 0.0, made)
    np.testing.assert_allclose(list(made), arm.whole_mass(arm.q) @ asked + arm.weight(arm.q))


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_exactly_at_its_limit_is_not_beyond_it(side):
    arm = Yielding(18)
    arm.setting(
        position_limits=np.concatenate([np.where(side < 0.0, arm.q, -9.0), np.where(side > 0.0, arm.q, 9.0)])
    )
    for place, share in ((arm.q, 1.0), (arm.q + side * 1e-6, np.exp(-0.1))):
        arm.put(state__position=place, reference__position=place, disturbance=side * 0.6)
        arm.calls.rd_drop_driving_load(arm.core, 0.01, arm.settings.settled)
        np.testing.assert_allclose(arm.get("disturbance"), side * 0.6 * share)
    arm.put(disturbance=side * 0.6)
    arm.calls.rd_drop_driving_load(arm.core, 0.05, arm.settings.settled)
    np.testing.assert_allclose(arm.get("disturbance"), side * 0.6, err_msg="over a gap nothing is known")
    arm.calls.rd_drop_driving_load(arm.core, 0.0, arm.settings.settled)
    np.testing.assert_allclose(arm.get("disturbance"), side * 0.6)


@pytest.mark.parametrize("own", [True, False])
def test_friction_that_is_compensated_is_noted_by_the_settings_in_force_over_a_period_only(own):
    arm = Yielding(19, "COMPUTED_TORQUE")
    friction = np.zeros((3, 8))
    friction[:, 1] = friction[:, 2] = 2.0
    arm.setting(friction=friction.ravel(), kp=np.zeros(3), kv=np.zeros(3))
    arm.rd = np.array([0.5, -0.4, 0.3])
    arm.qd = arm.rd.copy()
    arm.begin()
    settings = arm.settings if own else arm.ffi.new("rd_settings *", arm.settings[0])
    made = arm.ffi.new("double[3]")
    for period in (0.0, 0.004):
        arm.core.period = period
        arm.put(rubbed=0.0, shown_friction=0.0)
        ahead = arm.ffi.new(
            "rd_motion *",
            [arm.core.reference.position, arm.core.reference.velocity, arm.core.reference.acceleration],
        )
        for calls in (1, 2):
            assert settings.machine.effort(arm.core, settings, ahead, 0.0, made)
            noted = own and period > 0.0
            np.testing.assert_allclose(arm.get("rubbed"), 2.0 * np.sign(arm.rd) if noted else 0.0)
            np.testing.assert_allclose(arm.get("shown_friction"), 2.0 if noted and calls == 2 else 0.0)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_without_a_gain_an_estimate_stays_as_it_is_however_large(side):
    arm = Yielding(20, "COMPUTED_TORQUE")
    arm.rd[:] = arm.qd[:] = 0.0
    arm.r = arm.q + side * 0.1
    arm.z = side * np.array([60.0, 70.0, 80.0])
    arm.setting(ki=np.array([0.0, 200.0, 0.0]))
    arm.begin()
    arm.put(undisturbed=0.0, softness=1.0)
    arm.core.disturbance_time = 4.996
    made = arm.ffi.new("double[3]")
    ahead = arm.ffi.new(
        "rd_motion *",
        [arm.core.reference.position, arm.core.reference.velocity, arm.core.reference.acceleration],
    )
    assert arm.settings.machine.effort(arm.core, arm.settings, ahead, 0.0, made)
    np.testing.assert_allclose(arm.get("disturbance"), side * np.array([60.0, 40.0, 80.0]))


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_stiffened_joints_that_run_away_keep_their_pull_wherever_they_are(side):
    for place in (0.7, -0.7):
        for error, faster, kept in (
            (0.01, -0.1, True),
            (0.01, 0.1, False),
            (0.01, 0.0, False),
            (0.0, 0.1, False),
        ):
            arm = Yielding(21, "COMPUTED_TORQUE")
            arm.put(
                reference__position=place, state__position=place - side * error, softness=1.5,
                reference__velocity=0.3, state__velocity=0.3 + side * faster,
                disturbance=2.0, undisturbed=1.0,
            )  # fmt: skip
            arm.calls.rd_keep_pull(arm.core)
            kp = min(2.25 * 80.0, max(80.0, 0.25 * 22.5**2))
            np.testing.assert_allclose(arm.get("disturbance"), 2.0 + kept * side * kp * error)
            np.testing.assert_allclose(arm.get("undisturbed"), 2.0 + side * kp * error if kept else 1.0)


def test_a_load_is_restored_to_what_it_was_before_the_error_grew():
    arm = Yielding(22)
    arm.put(disturbance=(1.0, 2.0, 3.0), undisturbed=(-4.0, 5.0, 6.0))
    arm.settings.machine.restore_load(arm.core)
    assert arm.get("disturbance").tolist() == [-4.0, 5.0, 6.0]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_without_damping_the_pull_of_an_error_is_not_bounded_by_a_speed(side):
    arm = Yielding(23, "COMPUTED_TORQUE")
    arm.setting(kv=np.array([0.0, 2.0, 0.0]), velocity_limits=np.array([0.1, 0.1, 0.1]))
    arm.put(reference__velocity=0.0, state__position=0.3, reference__position=0.3 + side * 0.2, strayed=-9.0)
    arm.put(disturbance=0.5)
    pulls = [arm.calls.rd_pull(arm.core, arm.settings, j, 1.0) for j in range(3)]
    np.testing.assert_allclose(pulls, 0.5 + side * np.array([16.0, 0.2, 16.0]))


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_error_pulls_no_reference_that_is_too_fast_any_faster(side):
    arm = Yielding(24, "COMPUTED_TORQUE")
    arm.setting(velocity_limits=np.full(3, 0.4))
    arm.put(reference__velocity=side * 0.9, reference__position=side * 0.2, state__position=0.0)
    arm.put(strayed=-9.0, disturbance=0.0)
    assert arm.calls.rd_pull(arm.core, arm.settings, 1, 1.0) == 0.0
    arm.put(reference__position=-side * 0.02)
    assert arm.calls.rd_pull(arm.core, arm.settings, 1, 1.0) == pytest.approx(-side * 1.6)


def test_in_a_stop_a_joint_that_gets_no_faster_loses_a_load_slowly():
    arm = Yielding(25)
    arm.core.trip.latched = 1
    arm.put(
        state__velocity=0.5, reference__velocity=0.0, state__position=0.2, reference__position=0.0,
        disturbance=2.0, led=0.5,
    )  # fmt: skip
    arm.calls.rd_drop_driving_load(arm.core, 0.004, arm.settings.settled)
    np.testing.assert_allclose(arm.get("disturbance"), 2.0 * np.exp(-0.04))


@pytest.mark.parametrize(
    "mode", ["COMPUTED_TORQUE", "FEEDFORWARD", "GRAVITY_COMPENSATION", "PD", "JOINT_IMPEDANCE"]
)
def test_no_law_writes_what_is_not_its_own(mode):
    """After a gap presliding begins at the reference."""
    arm = Yielding(26, mode)
    arm.setting(damping=np.full(3, -1.0))
    others = (
        "unwrapped",
        "last_position",
        "sent",
        "left",
        "hold",
        "supervision__place",
        "undisturbed",
        "strayed",
    )
    arm.put(**dict.fromkeys(others, 0.77))
    arm.core.slid_time = 1.0
    made, ahead = arm.ffi.new("double[3]"), arm.ffi.new("rd_motion *")
    ahead.position, ahead.velocity = arm.core.reference.position, arm.core.reference.velocity
    ahead.acceleration = arm.core.reference.acceleration
    assert arm.settings.machine.effort(arm.core, arm.settings, ahead, 0.0, made)
    for name in others[:-2]:
        np.testing.assert_array_equal(arm.get(name), 0.77, err_msg=name)
    np.testing.assert_array_equal(arm.get("slid_at"), arm.r)


def test_an_error_of_the_settled_one_is_not_integrated():
    arm = Yielding(27, "COMPUTED_TORQUE")
    arm.put(reference__position=0.01, state__position=0.0, softness=1.0, disturbance=0.5, undisturbed=0.1)
    arm.core.disturbance_time = 4.996
    made, ahead = arm.ffi.new("double[3]"), arm.ffi.new("rd_motion *")
    ahead.position, ahead.velocity = arm.core.reference.position, arm.core.reference.velocity
    ahead.acceleration = arm.core.reference.acceleration
    assert arm.settings.machine.effort(arm.core, arm.settings, ahead, 0.0, made)
    np.testing.assert_array_equal(arm.get("disturbance"), 0.5)
    np.testing.assert_array_equal(arm.get("undisturbed"), 0.5)
