"""Hand guiding from within: its button in every state of the core, and its law with a made-up model."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from made_up_arm import MadeUpArm
from test_cycle_within import PLACE, WEIGHT, Cycle

FRICTION = np.array([
    [1.5, 3.0, 3.5, 0.1, 0.5, 0.0, 0.0, 0.0],
    [2.5, 2.0, 2.0, 0.1, -0.4, 0.1, 0.0, 0.0],
    [0.5, 1.0, 1.2, 0.2, 0.0, 0.05, 0.0, 0.0],
])  # fmt: skip
"""Damping, friction, static friction, Stribeck velocity, offset, share of the load."""


# The button


def look(made, button, guiding, broken, braked, latched, guides, armed, pressed):
    """Look at the button in a state at 5 s; whether it is pressed, and may be."""
    core, calls = made.core, made.calls
    made.settings.mode = calls.RD_HAND_GUIDING if guiding else calls.RD_GRAVITY_COMPENSATION
    core.time, core.guided_until = 5.0, 5.0 if button else 4.999
    core.braked, core.trip.latched, core.guides = braked, latched, guides
    core.armed, core.pressed = armed, pressed
    core.departs, core.has_sent, core.phase, core.knows_effort = 0, 1, calls.RD_HOLDING, 1
    made.put(felt=0.7, last_effort=(1.0, 2.0, 3.0), departing=0.0, hold=9.0, state__position=PLACE)
    calls.rd_look_at_button(core, broken)
    return bool(core.pressed), bool(core.armed)


@pytest.mark.parametrize(("button", "guiding"), itertools.product((0, 1), (0, 1)))
def test_a_button_guides_until_anything_ends_it_and_must_be_released_then(button, guiding):
    made = Cycle(1)
    for broken, braked, latched, guides, armed, pressed in itertools.product((0, 1), repeat=6):
        stopped = latched and not guides
        allowed = guiding and not broken and not braked and not stopped
        now_armed = not button or bool(armed and allowed)
        now_pressed = bool(button and allowed and armed)
        found = look(made, button, guiding, broken, braked, latched, guides, armed, pressed)
        assert found == (now_pressed, now_armed)
        core, changes = made.core, now_pressed != bool(pressed)
        assert made.get("felt").tolist() == [0.0 if changes else 0.7] * 3
        moves = changes and guiding and not broken
        assert core.departs == moves
        assert made.get("departing").tolist() == ([1.0, 2.0, 3.0] if moves else [0.0] * 3)
        holds = moves and (now_pressed or not latched)
        np.testing.assert_allclose(made.get("hold"), PLACE if holds else 9.0)
        assert core.has_sent == (not holds)


def test_an_arm_that_is_not_controlled_departs_from_no_effort():
    made = Cycle(1)
    for phase, knows, departs in (("STALE", 1, 0), ("HOLDING", 0, 0), ("HOLDING", 1, 1)):
        core = made.core
        look(made, 0, 1, 0, 0, 0, 0, 1, 0)
        core.guided_until, core.armed, core.knows_effort = 5.0, 1, knows
        core.phase = getattr(made.calls, f"RD_{phase}")
        made.calls.rd_look_at_button(core, 0)
        assert core.pressed and core.departs == departs


@pytest.mark.parametrize("how", [None, "lost", "backwards", "jump"])
def test_a_break_ends_the_guiding(how):
    made = Cycle(0, mode=Cycle(0).calls.RD_HAND_GUIDING)
    made.settings.task = made.ffi.NULL
    made.setting(guide_speed=[9.0] * 3, guide_limits=[-9.0] * 3 + [9.0] * 3)
    made.update()
    made.calls.rd_core_guide(made.core, np.inf)
    made.update()
    assert made.core.pressed and made.phase() == "GUIDED"
    made.core.phase = made.calls.RD_STALE if how == "lost" else made.core.phase
    made.update(-0.1 if how == "backwards" else 0.004, place=PLACE + (0.3 if how == "jump" else 0.0))
    assert made.core.pressed == (how is None) and made.core.armed == (how is None)
    made.update(place=made.get("state__position"))
    assert made.core.pressed == (how is None), "it must be released first"
    if how is None:
        np.testing.assert_allclose(made.get("effort"), WEIGHT)
    made.calls.rd_core_guide(made.core, -np.inf)
    made.update(place=made.get("state__position"))
    made.calls.rd_core_guide(made.core, np.inf)
    made.update(place=made.get("state__position"))
    assert made.core.pressed


# Its law


class Guided(MadeUpArm):
    """Three driven joints in a made-up state, 4 ms after the last one."""

    def __init__(self, axes=False, driven=True, seed=4):
        super().__init__(3, seed, driven, **({
            "stiffness": np.linspace(300.0, 800.0, 6), "damping": np.linspace(20.0, 40.0, 6),
            "error_clip": np.full(6, 0.3), "posture_stiffness": np.zeros(4), "posture_damping": 0.5,
            "posture_effort": 5.0,
        } if axes else {}))  # fmt: skip
        s, draw = self.settings, self.draw
        if not axes:
            s.task = self.ffi.NULL
        s.mode, s.guide_friction = self.calls.RD_HAND_GUIDING, 0.7
        self.cap, self.walls = np.array([0.5, 0.6, 0.7]), np.array([-3.0, -3.0, -3.0, 3.0, 3.0, 3.0])
        self.setting(
            friction=[*FRICTION.ravel(), *[9.0] * 8], guide_speed=[*self.cap, 1e-9], guide_limits=self.walls
        )
        self.q, self.qd = draw.uniform(-0.5, 0.5, 3), np.array([0.3, -0.4, 0.2])
        self.felt, self.z = np.array([0.02, -0.3, 0.25]), draw.normal(size=3)
        self.core.disturbance_time = 4.996
        self.begin()

    def begin(self):
        self.put(
            state__position=self.q,
            state__velocity=self.qd,
            felt=self.felt,
            disturbance=self.z,
            retreat__way=6.0,
            undisturbed=5.0,
            unwrapped=np.inf,
        )

    def effort(self, settings=None, law="rd_hand_guiding"):
        made, ahead = self.ffi.new("double[4]", [55.0] * 4), self.ffi.new("rd_motion *")
        found = getattr(self.calls, law)(self.core, settings or self.settings, ahead, 0.0, made)
        assert made[3] == 55.0 and self.core.retreat.way[0] == 6.0
        assert not self.get("zero").any(), "nothing behind the joints is written"
        return np.array(list(made)[:3]) if found else None

    def braking(self):
        """Slight damping, and braking above the cap and towards the walls: 40 per second at 250 Hz."""
        room = 20.0 * np.array([self.walls[3:] - self.q, self.q - self.walls[:3]])
        up, down = np.clip(room, -self.cap, self.cap)
        over = np.maximum(self.qd - up, 0.0) + np.minimum(self.qd + down, 0.0)
        return -40.0 * over - 0.5 * self.qd

    def rubbed(self, felt, load):
        """Share of the friction along the velocity that is felt, faster than noise by 0.005 at least."""
        damping, dry, rest, stribeck, offset, share = FRICTION.T[:6]
        sign = np.sign(felt)
        steady = dry + (rest - dry) * np.exp(-np.abs(felt) / stribeck)
        return 0.7 * (damping * felt + sign * (steady + sign * offset + share * np.abs(load)))


@pytest.mark.parametrize("elapsed", [0.004, 0.0])
@pytest.mark.parametrize("driven", [True, False])
def test_it_carries_the_weight_the_load_and_most_of_the_friction_of_a_smoothed_velocity(elapsed, driven):
    made = Guided(driven=driven)
    felt = made.felt + elapsed / (elapsed + 0.02) * (made.qd - made.felt)
    made.core.time, made.core.disturbance_time = 5.0, 5.0 - elapsed
    load = made.whole_mass(made.q) @ (made.z - 0.5 * made.qd) + made.weight(made.q)
    found = made.effort()
    np.testing.assert_allclose(made.get("felt"), felt)
    assert made.core.disturbance_time == 5.0
    rubbed = made.rubbed(felt, load) if driven else 0.0
    np.testing.assert_allclose(found, load + rubbed, rtol=1e-9)
    assert (np.abs(felt) > 0.015).all(), "noise has no direction"


def test_settings_that_are_not_in_force_smooth_nothing():
    made = Guided()
    other = made.ffi.new("rd_settings *", made.settings[0])
    made.effort(other)
    np.testing.assert_allclose(made.get("felt"), made.felt)
    assert made.core.disturbance_time == 4.996


@pytest.mark.parametrize("axes", [False, True])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_it_brakes_above_its_speed_and_before_its_walls(axes, side):
    made = Guided(axes, driven=axes)
    made.setting(friction=np.zeros(32))
    made.qd = side * np.array([0.8, 0.3, -0.4])
    made.walls[1 + 3 * (side > 0)] = made.q[1] + side * 0.01
    made.setting(guide_limits=made.walls)
    made.begin()
    braking = made.braking()
    assert np.abs(braking[:2] + 0.5 * made.qd[:2]).min() > 1.0 > abs(braking[2])
    if axes:
        twin = Guided(True)
        twin.setting(friction=np.zeros(32))
        twin.qd = made.qd
        twin.begin()
        expected = twin.effort(law="rd_cartesian_impedance") + np.diag(made.whole_mass(made.q)) * braking
    else:
        expected = made.whole_mass(made.q) @ (made.z + braking) + made.weight(made.q)
    np.testing.assert_allclose(made.effort(), expected, rtol=1e-9)


@pytest.mark.parametrize(("axes", "part", "spared"), [
    (False, "dynamics", 0), (True, "dynamics", 0), (True, "dynamics", 3),
    (True, "pose", 0), (True, "mass", 0),
])  # fmt: skip
def test_without_a_model_nothing_is_guided(axes, part, spared):
    made = Guided(axes)
    made.fails, made.spared = part, spared
    assert made.effort() is None
    made.fails = None
    assert made.effort() is not None
