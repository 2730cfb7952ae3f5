"""A made-up platform: a core without a model of its forces."""

from __future__ import annotations

import numpy as np
from made_up_arm import MadeUpArm
from platform_legs import legs_of
from transforms3d.euler import euler2mat, euler2quat

HOME = np.array([0.05, -0.02, 1.3])
"""Position of the platform of these tests at home [m]."""


def rotated(angles):
    """Rotation of roll, pitch and yaw."""
    return euler2mat(*angles)


def quaternion(angles):
    """Quaternion x, y, z, w of roll, pitch and yaw."""
    return np.roll(euler2quat(*angles), -1)


class MadeUpPlatform(MadeUpArm):
    """A crooked platform on six legs, at home, whose joints are zero at lengths of their own.

    Args:
        home_angles: roll, pitch and yaw at home [rad].
        condition_limit: of the model.
        base, top: (6, 3) centres of the joints.
    """

    def __init__(self, home_angles=(0.1, -0.2, 0.3), condition_limit=1e4, base=None, top=None, home=HOME):
        super().__init__(6)
        draw = np.random.default_rng(4)
        around = np.array([-0.15, 0.15, 2.0, 2.3, 4.05, 4.35])
        circle = np.array([np.cos(around), np.sin(around), np.zeros(6)]).T
        inside = np.array([np.cos(around + 1.0), np.sin(around + 1.0), np.zeros(6)]).T[[5, 0, 1, 2, 3, 4]]
        self.base = 1.2 * circle + draw.uniform(-0.05, 0.05, (6, 3)) if base is None else np.array(base)
        self.top = 0.8 * inside + draw.uniform(-0.05, 0.05, (6, 3)) if top is None else np.array(top)
        self.home, self.zero = np.append(home, quaternion(home_angles)), draw.uniform(0.8, 1.1, 6)
        model = self.model = self.ffi.new("rd_platform_model *")
        model.geometry.base, model.geometry.platform = self.base.tolist(), self.top.tolist()
        model.geometry.characteristic_length = self.length = 0.6
        model.home, model.zero_lengths = self.home.tolist(), self.zero.tolist()
        model.condition_limit, model.stroke, model.up = condition_limit, 0.5, [0.0, 0.0, 1.0]
        self.settings.platform, self.settings.machine = model, self.calls.rd_machine_platform()
        self.setting(hold_deceleration=np.full(6, 1.0), stop_deceleration=np.full(6, 1.0))
        self.core = self.ffi.gc(self.calls.rd_core_new(6, self.settings), self.calls.rd_core_free)
        self.state = self.ffi.cast("rd_platform *", self.core.machine_state)

    def legs(self, place, rotation):
        """(6) lengths and (6, 6) Jacobian."""
        return legs_of(self.base, self.top, place, rotation)

    def find(self, lengths, rates=(0.0,) * 6, time=6.0):
        """Return whether a pose is found."""
        values = [*(lengths - self.zero), np.nan], [*rates, np.nan]
        given = [self.ffi.new("double[]", each) for each in values]
        return self.settings.machine.find_place(self.core, time, *given)

    def numbers(self, name, count):
        """An array of the platform's state."""
        return np.array(list(getattr(self.state, name)))[:count]
