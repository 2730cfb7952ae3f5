"""Arrays of the core lie one behind the other: no law reads or writes what belongs to the next one."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import Yielding

LAWS = ("COMPUTED_TORQUE", "FEEDFORWARD", "GRAVITY_COMPENSATION", "PD", "JOINT_IMPEDANCE", "HAND_GUIDING")
SETTINGS = (
    "kp", "kv", "ki", "settled", "following", "velocity_limits", "stiffness", "damping", "error_clip",
    "effort_rates", "rotor_inertia", "limits",
)  # fmt: skip
BEHIND = (
    "zero", "unwrapped", "last_position", "sent", "left", "hold", "supervision__place", "softness", "swung",
    "strayed", "cut_at", "setpoints__position", "felt", "retreat__way", "place", "stopping__place",
)  # fmt: skip
"""Arrays that no law writes, many of them behind one that some law does."""
FREE = 77.0


class Arm(Yielding):
    """In a protective stop, with drives and friction; behind arrays of the settings stands a number."""

    def __init__(self, mode, behind):
        super().__init__(51, mode)
        friction = np.zeros((3, 8))
        friction[:, [0, 1, 2, 6, 7]] = 0.4, 1.0, 1.0, 0.5, 0.01
        self.setting(friction=[*friction.ravel(), *np.full(8, behind)])
        self.setting(velocity_limits=np.array([0.8, 0.9, 0.7]), damping=np.array([-1.0, 2.0, -1.0]))
        self.setting(limits=np.array([30.0, 40.0, 35.0]))
        for name in SETTINGS:
            values = getattr(self.settings, name)
            self.setting(**{name: [*(values[j] for j in range(3)), behind]})
        self.core.trip.latched, self.core.trip.rule = 1, self.calls.RD_OVERSPEED
        self.core.pace.recent, self.core.slid_time = [0.004] * 3, 4.996
        self.core.disturbance_time = 4.996
        self.begin()
        self.put(led=(9.0, 8.0, 7.0), undisturbed=(0.3, 0.4, 0.5), shown_friction=9.0)
        self.put(cut_at=-9.0, strayed=4.0)

    def effort(self):
        made, r = self.ffi.new("double[4]", [FREE] * 4), self.core.reference
        ahead = self.ffi.new("rd_motion *", [r.position, r.velocity, r.acceleration])
        assert self.settings.machine.effort(self.core, self.settings, ahead, 0.002, made)
        assert made[3] == FREE
        return np.array(list(made))


@pytest.mark.parametrize("mode", LAWS)
def test_a_law_uses_and_changes_its_own_arrays_alone(mode):
    found = []
    for behind in (0.0, 1e30, -1e30):
        arm = Arm(mode, behind)
        if mode != "COMPUTED_TORQUE":
            arm.core.guides = mode != "JOINT_IMPEDANCE"
        kept = {name: arm.get(name) for name in BEHIND}
        found.append(arm.effort())
        for name, values in kept.items():
            np.testing.assert_array_equal(arm.get(name), values, err_msg=name)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("constant", [0.0, 0.01])
def test_bounded_rates_change_efforts_alone(constant):
    arm = Yielding(52)
    arm.settings.smoothing = [0.0, 0.0, constant]
    arm.setting(effort_rates=[20.0, 30.0, 40.0, 1.0])
    arm.core.has_sent = 1
    arm.put(sent=1.0, effort=3.0, unlimited=(3.0, 4.0, 5.0), reference__position=(8.0, 7.0, 6.0))
    arm.put(place=-5.0)
    arm.calls.rd_bound_rate(arm.core)
    assert arm.get("unlimited").tolist() == [3.0, 4.0, 5.0]
    assert arm.get("reference__position").tolist() == [8.0, 7.0, 6.0]


def test_filters_of_measured_states_change_no_other_array():
    arm = Yielding(53)
    arm.settings.smoothing = [0.01, 0.01, 0.0]
    for j in range(9):
        arm.core.matrix[j] = 5.0
    arm.put(smoothed__position=0.1, smoothed__velocity=0.2)
    arm.calls.rd_see_state(arm.core, 0.004, 0)
    share = 1.0 - np.exp(-0.4)
    np.testing.assert_allclose(arm.get("smoothed__velocity"), 0.2 + share * (arm.qd - 0.2))
    assert arm.get("matrix", 9).tolist() == [5.0] * 9


@pytest.mark.parametrize("behind", [0.0, 1e-9, -3.0, 1e30])
@pytest.mark.parametrize("velocity", [(0.0, 0.0, 0.0), (-2.0, 0.5, -0.3), (2.0, -0.5, 0.3)])
def test_limited_efforts_depend_on_their_own_joints_alone(behind, velocity):
    """Efforts at their limits, and efforts beyond, of an arm that is at rest, brakes and drives."""
    for unlimited, limited in (((10.0, -8.0, 5.0), False), ((9.0, 11.0, 14.0), True)):
        found = []
        for other in (0.0, behind):
            arm = Yielding(54, "COMPUTED_TORQUE")
            arm.bends[:] = 0.0
            arm.weight = lambda q: np.array([1.0, -2.0, 3.0])
            arm.setting(limits=[10.0, 8.0, 6.0, other])
            arm.put(state__velocity=velocity, disturbance=0.0, ahead__position=300.0 * other)
            arm.put(unlimited=unlimited, reference__position=20.0)
            for k in range(4):
                for j in range(3):
                    arm.core.scratch[k][j] = 4.0 * other
            arm.core.by_joint = 0.3
            made = arm.ffi.new("double[4]", [FREE] * 4)
            arm.calls.rd_limit(arm.core, arm.core.unlimited, made)
            assert made[3] == FREE and bool(arm.core.cut) == limited
            assert not arm.get("zero").any()
            found.append([*made, arm.core.by_joint])
            arm.calls.rd_limit_each(arm.core, arm.core.unlimited, made)
            assert list(made) == [*np.clip(unlimited, [-10.0, -8.0, -6.0], [10.0, 8.0, 6.0]), FREE]
        assert found[0] == found[1]
