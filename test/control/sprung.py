"""Settings of an impedance for the core: made-up arms, and what the core finds of their springs."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.core.library import MODES, array_at, doubles, ffi, load_core

FAILS = 2
POSES = 256
PRIMES = (2, 3, 5, 7, 11, 13, 17)


def halton(n):
    """(256, n) shares of the ranges at which the core evaluates an arm: van der Corput's sequences."""
    shares = np.zeros((POSES, n))
    for j in range(n):
        for k in range(POSES):
            digits, left = [], k + 1
            while left:
                left, digit = divmod(left, PRIMES[j])
                digits.append(digit)
            shares[k, j] = sum(digit / PRIMES[j] ** (at + 1) for at, digit in enumerate(digits))
    return shares


class Sprung:
    """An arm with springs.

    Args:
        bounds: (2, n) lowest and highest positions.
        mass: its mass matrix (n, n) at a position.
        law: fields of ``rd_settings``, arrays among them.
        task: ``rd_task *``; None: the joints have springs.
        jacobian: (6, n) at a position.
    """

    def __init__(self, bounds, mass, law, task=None, jacobian=None, mode=None, **rules):
        self.lower, self.upper = (np.array(row, dtype=float) for row in bounds)
        n = self.n = len(self.lower)
        self.asked = []

        def inverse_dynamics(given, out):
            q, qd, qdd = (array_at(given[k], n).copy() for k in range(3))
            assert not qd.any()
            self.asked.append(q)
            matrix = mass(q)
            if matrix is None:
                return 0
            array_at(out, n)[:] = matrix @ qdd + 7.0 * np.cos(q)
            return 1

        def rows(given, out):
            array_at(out, 6 * n)[:] = np.ravel(jacobian(array_at(given[0], n).copy()))
            return 1

        value = self.settings = ffi().new("rd_settings *")
        one = ffi().new("rd_rules *", {"delay": 0.0, **rules})
        self.kept = [one, task, ffi().callback("rd_kernel", inverse_dynamics)]
        value.inverse_dynamics, value.rules = self.kept[2], one
        value.mode = MODES.index(mode or ("joint_impedance" if task is None else "cartesian_impedance"))
        if task is not None:
            self.kept.append(ffi().callback("rd_kernel", rows))
            task.jacobian, value.task = self.kept[-1], task
        for name, given in law.items():
            if isinstance(given, np.ndarray):
                self.kept.append(doubles(np.array(given, dtype=float)))
                given = self.kept[-1]
            setattr(value, name, given)

    @property
    def bounds(self):
        return doubles(self.lower), doubles(self.upper)

    def gains(self, before=0.0):
        """Gains (n,) on accelerations; None: the model has no mass matrix."""
        kp, kv = np.full(self.n, before), np.full(self.n, before)
        known = load_core().rd_equivalent_gains(self.settings, self.n, *self.bounds, doubles(kp), doubles(kv))
        return (kp, kv) if known else None

    def refusal(self, period):
        """Reason why the springs are not stable with a state every ``period`` seconds."""
        text, names = ffi().new("char[]", 600), ffi().new("char *[]", self.n)
        standing = load_core().rd_springs_text(self.settings, self.n, *self.bounds, period, names, text, 600)
        found = ffi().string(text).decode()
        assert (standing == FAILS) == bool(found)
        return found
