"""Estimates of loads through a change of law, joint by joint and to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import Yielding


class Carrying(Yielding):
    """An arm with a mass of one, so that efforts at rest are estimates to the last bit.

    Half the following error pulls with 32 rad/s².
    """

    def __init__(self, before="COMPUTED_TORQUE"):
        super().__init__(42, "COMPUTED_TORQUE", driven=False)
        self.setting(kp=np.full(3, 64.0), ki=np.full(3, 256.0), following=np.full(3, 1.0))
        self.before = self.ffi.new("rd_settings *", self.settings[0])
        self.before.mode = getattr(self.calls, f"RD_{before}")
        self.heavy = np.zeros(3)
        self.settings.inverse_dynamics = self.kernel("unit", lambda q, qd, qdd: qdd, 3, 3)
        self.before.inverse_dynamics = self.settings.inverse_dynamics
        self.core.phase, self.core.knows_effort = self.calls.RD_HOLDING, 1
        self.put(state__velocity=0.0, state__position=0.0)

    def keep(self, z):
        self.put(disturbance=z, undisturbed=9.0)
        changed = self.settings.machine.keep_load(self.core, self.before)
        return self.get("disturbance"), bool(changed)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_what_half_the_following_error_holds_is_needed_no_more_when_the_estimate_is_switched_off(side):
    arm = Carrying()
    arm.setting(ki=np.zeros(3), following=np.array([1.0, 0.5, 0.25]))
    found, changed = arm.keep(side * np.array([32.0, 16.0001, 8.0]))
    np.testing.assert_array_equal(found, side * np.array([0.0, 16.0001, 0.0]))
    assert changed
    arm.setting(ki=np.array([0.5, 0.5, 0.0]))
    found, _ = arm.keep(side * np.array([0.3, 0.4, 0.5]))
    np.testing.assert_array_equal(found, side * np.array([0.3, 0.4, 0.0]))


@pytest.mark.parametrize("j", range(3))
def test_a_change_of_any_joint_s_estimate_is_reported(j):
    arm = Carrying()
    found, changed = arm.keep(np.array([0.3, 0.4, 0.5]))
    assert found.tolist() == [0.3, 0.4, 0.5] and not changed
    arm.setting(ki=np.where(np.arange(3) == j, 0.0, 1.0))
    found, changed = arm.keep(np.array([0.3, 0.4, 0.5]))
    assert changed and found[j] == 0.0 and np.count_nonzero(found) == 2


def test_an_estimate_is_kept_by_the_joints_alone_and_changes_nothing_else():
    arm = Carrying("FEEDFORWARD")
    arm.put(ahead__position=5.0, softness=(0.5, 0.6, 0.7), last_effort=(0.3, 0.4, 0.5))
    found, changed = arm.keep(np.zeros(3))
    np.testing.assert_array_equal(found, (0.3, 0.4, 0.5))
    np.testing.assert_array_equal(arm.get("softness"), (0.5, 0.6, 0.7))
    assert changed
    for name, value in (("knows_effort", 0), ("braked", 1), ("cut", 1), ("phase", arm.calls.RD_FAULT)):
        kept = getattr(arm.core, name)
        setattr(arm.core, name, value)
        assert not arm.keep(np.full(3, 0.2))[0].any(), name
        setattr(arm.core, name, kept)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_estimate_that_changes_never_grows_and_never_turns(side):
    """Of the model before, efforts beside the one now are taken from it or added."""
    arm = Carrying()
    for z, beside, left in ((0.25, 0.5, 0.25), (0.25, -0.125, 0.125), (0.25, -0.5, 0.0), (4.0, -8.0, 0.0)):
        weight = np.array([side, -side, side]) * beside
        arm.before.inverse_dynamics = arm.kernel("before", lambda q, qd, qdd, w=weight: qdd + w, 3, 3)
        found, changed = arm.keep(np.array([side, -side, side]) * z)
        np.testing.assert_array_equal(found, np.array([side, -side, side]) * left)
        assert changed == (left != z)
