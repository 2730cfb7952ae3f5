"""Stops of a made-up robot with coordinates that are limited each, or in groups."""

from __future__ import annotations

import numpy as np
from made_up_arm import MadeUpArm

TIME = 5.0
OTHERS = 1e-6
"""Behind the last joint, where nobody looks."""


class Stopping(MadeUpArm):
    """A core of n coordinates, of which a deceleration limits each, or each group of 3 by its norm.

    Args:
        n: coordinates.
        group: of the machine.
        deceleration: (n) of emergency stops; holds have half of it.
    """

    def __init__(self, n=3, group=0, deceleration=(2.5, 0.8, 1.7), seed=0):
        super().__init__(n, seed)
        self.machine = self.ffi.new("rd_machine *", self.settings.machine[0])
        self.machine.group = group
        self.settings.machine = self.machine
        self.deceleration = np.array(deceleration)
        beyond = np.full(max(group, 1), OTHERS)
        self.setting(
            stop_deceleration=[*self.deceleration, *beyond],
            hold_deceleration=[*0.5 * self.deceleration, *beyond],
            following=[*np.full(n, 0.5), OTHERS],
        )
        self.stop = self.core.stopping
        self.settings.control_period, self.settings.looks_ahead = 0.002, 0
        self.settings.mode = self.calls.RD_COMPUTED_TORQUE
        self.core.pace.turned = TIME
        self.core.phase = self.calls.RD_HOLDING
        self.core.period = 0.002

    def begin(self, place=(0.3, 0.02, -0.4), rate=(-1.2, 0.5, 0.7), pace=1.0, kind="EMERGENCY"):
        """A stop that goes straight on, since the last state."""
        stop = self.stop
        stop.kind, stop.path.plan = getattr(self.calls, f"RD_STOP_{kind}"), self.ffi.NULL
        stop.where, stop.pace, stop.at, stop.change = 0.0, pace, TIME, -1.0
        self.put(stopping__place=place, stopping__rate=rate, place=place)
        stop.deceleration = self.settings.stop_deceleration

    def along(self, plan, pace=1.0, time=TIME):
        """The same along a plan, on which the robot is."""
        self.begin(plan.at(time)[0], 0.0, pace)
        self.stop.path.plan, self.stop.where = plan.plan, time

    def change(self):
        """Rate of the pace from the last state on [1/s]."""
        self.calls.rd_advance_stop(self.core, self.core.time)
        return self.stop.change

    def reference(self, time):
        """(3, n) position, velocity and acceleration; what lies behind them stays."""
        n = self.n
        made = self.ffi.new("double[]", [0.77] * (3 * n + 3))
        rows = [made + k * (n + 1) for k in range(3)]
        self.calls.rd_refer_stop(self.core, time, self.ffi.new("rd_motion *", rows))
        found = np.array(list(made)).reshape(3, n + 1)
        np.testing.assert_array_equal(found[:, n], 0.77)
        return found[:, :n]


class Path:
    """A plan of one quintic from 4 s to 7 s, or of references that come from outside.

    Args:
        arm: whose plan it is.
        coefficients: (6, n) of the powers of the share of its time; None: random ones.
        stream: (2, 3, n) reference now, and ahead of 5.001 s.
    """

    def __init__(self, arm, coefficients=None, stream=None, start=4.0, number=8):
        self.times = np.array([start, start + 3.0])
        drawn = arm.draw.normal(size=(6, arm.n)) * np.array([[0.4, 1.5, 0.3, 0.2, 0.1, 0.1]]).T
        self.coefficients = drawn if coefficients is None else np.array(coefficients, dtype=float)
        self.plan = arm.ffi.new("rd_plan *")
        self.plan.knots, self.plan.number = 2, number
        self.plan.times = arm.ffi.from_buffer("double[]", self.times)
        self.plan.coefficients = arm.ffi.from_buffer("double[]", self.coefficients)
        if stream is not None:
            self.given = np.array(stream, dtype=float)
            self.stream = arm.ffi.new("rd_stream *")
            self.stream.time = 5.001
            for k, motion in enumerate((self.stream.now, self.stream.ahead)):
                motion.position, motion.velocity, motion.acceleration = (
                    arm.ffi.from_buffer("double[]", row) for row in self.given[k]
                )
            self.plan.stream = self.stream

    def at(self, time):
        """(3, n) position, velocity, acceleration."""
        s, h = (time - self.times[0]) / 3.0, 3.0
        curves = [np.polynomial.Polynomial(column) for column in self.coefficients.T]
        return np.array([[p(s), p.deriv()(s) / h, p.deriv(2)(s) / h**2] for p in curves]).T
