"""An arm of made-up matrices: a core whose model is called back, so that nothing is compiled for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from inner_core import inner


class MadeUpArm:
    """A core of n joints. The model is M(q) qdd + c(qd) + g(q) of random numbers; poses are given.

    Args:
        n: joints.
        seed: of the numbers.
        driven: whether drives add rotors.
        law: fields of the task; arrays of settings are given by :meth:`setting`.
    """

    def __init__(self, n: int, seed: int = 0, driven: bool = True, **law: Any) -> None:
        self.n, self.draw = n, np.random.default_rng(seed)
        self.ffi, self.calls = inner()
        draw = self.draw
        self.shape = draw.normal(size=(n, n)) / np.sqrt(n)
        self.bends = draw.normal(size=(n, n, n))
        self.bends = 0.5 * (self.bends + self.bends.transpose(0, 2, 1))
        self.heavy = draw.normal(size=n) * 5.0
        self.rows = draw.normal(size=(6, n))
        self.turns = draw.normal(size=(6, n, n)) * 0.3
        self.poses: dict[bytes, np.ndarray] = {}
        self.fails: str | None = None
        self.spared = 0
        self._kept: list[Any] = []
        ffi = self.ffi
        self.settings = ffi.new("rd_settings *")
        self.task = ffi.new("rd_task *")
        self.settings.task, self.settings.machine = self.task, self.calls.rd_machine_arm()
        self.settings.inverse_dynamics = self.kernel("dynamics", self.dynamics_of, n, 3)
        self.task.pose = self.kernel("pose", self.pose, 16, 1)
        self.task.jacobian = self.kernel("jacobian", self.jacobian, 6 * n, 1)
        self.task.jacobian_rate = self.kernel("rate", self.jacobian_rate, 6, 2)
        self.task.mass_matrix = self.kernel("mass", self.mass, n * n, 1)
        self.rotors = draw.uniform(0.1, 0.6, n) if driven else np.zeros(n)
        self.setting(
            rotor_inertia=self.rotors,
            friction=np.zeros(8 * n),
            limits=np.full(n, np.inf),
            velocity_limits=np.full(n, 1e6),
            position_limits=np.concatenate([np.full(n, -1e3), np.full(n, 1e3)]),
            following=np.full(n, 0.5),
            settled=np.full(n, 0.01),
            error_clip=np.full(n, 0.4),
            kp=np.full(n, 80.0),
            kv=np.full(n, 15.0),
            ki=np.full(n, 200.0),
        )
        self.settings.driven = driven
        self.settings.mode = self.calls.RD_CARTESIAN_IMPEDANCE
        for name, value in law.items():
            listed = list(value) if np.ndim(value) else value
            setattr(self.task, name, self._array(value) if name == "posture_stiffness" else listed)
        self.core = ffi.gc(self.calls.rd_core_new(n, self.settings), self.calls.rd_core_free)
        self.core.time, self.core.period, self.core.disturbance_time = 5.0, 0.004, 4.996

    def _array(self, values: Any) -> Any:
        made = self.ffi.new("double[]", [float(value) for value in values])
        self._kept.append(made)
        return made

    def kernel(self, name: str, of: Any, size: int, inputs: int) -> Any:
        """A function that the core calls; where ``fails`` is its name, it fails after ``spared`` calls."""

        def call(given: Any, out: Any) -> int:
            if self.fails == name:
                self.spared -= 1
                if self.spared < 0:
                    return 0
            arguments = [np.frombuffer(self.ffi.buffer(given[k], 8 * self.n)).copy() for k in range(inputs)]
            self.ffi.memmove(out, np.ascontiguousarray(of(*arguments), dtype=float), 8 * size)
            return 1

        made = self.ffi.callback("int(const double *const *, double *)", call)
        self._kept.append(made)
        return made

    def setting(self, **arrays: Any) -> None:
        """Arrays of the settings by their names."""
        for name, values in arrays.items():
            setattr(self.settings, name, self._array(values))

    def put(self, **fields: Any) -> None:
        """Arrays of the core by their names, in which two underscores stand for a point."""
        for name, values in fields.items():
            place = self.core
            for part in name.split("__"):
                place = getattr(place, part)
            for j, value in enumerate(np.broadcast_to(values, self.n)):
                place[j] = value

    def get(self, name: str, count: int | None = None) -> np.ndarray:
        """An array of the core."""
        place = self.core
        for part in name.split("__"):
            place = getattr(place, part)
        return np.array([place[j] for j in range(self.n if count is None else count)])

    def mass(self, q: np.ndarray) -> np.ndarray:
        """(n, n) of the links."""
        swing = self.shape + 0.2 * np.diag(np.sin(q))
        return swing @ swing.T + 0.5 * np.eye(self.n)

    def whole_mass(self, q: np.ndarray) -> np.ndarray:
        """(n, n) with rotors."""
        return self.mass(q) + np.diag(self.rotors)

    def coriolis(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(n) bilinear and symmetric in both velocities."""
        return np.einsum("ijk,j,k->i", self.bends, a, b)

    def dynamics_of(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """(n) of the links."""
        return self.mass(q) @ qdd + self.coriolis(qd, qd) + self.weight(q)

    def weight(self, q: np.ndarray) -> np.ndarray:
        """(n) at a place."""
        return self.heavy * np.cos(q)

    def pose(self, q: np.ndarray) -> np.ndarray:
        """(4, 4) that has been given for a place; else the identity."""
        return self.poses.get(q.tobytes(), np.eye(4))

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """(6, n)."""
        return self.rows + self.turns @ q

    def jacobian_rate(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(6)."""
        return (self.turns @ qd) @ qd + 0.1 * q.sum()


class Yielding(MadeUpArm):
    """Three joints that yield, in a made-up state."""

    def __init__(self, seed=0, mode="JOINT_IMPEDANCE", driven=True):
        super().__init__(3, seed, driven)
        self.settings.mode = getattr(self.calls, f"RD_{mode}")
        draw = self.draw
        self.k, self.d = draw.uniform(20.0, 50.0, 3), np.array([3.0, 2.0, 4.0])
        self.setting(stiffness=self.k, damping=self.d, effort_rates=np.array([20.0, 30.0, 40.0]))
        self.q, self.qd = draw.uniform(-0.5, 0.5, 3), draw.uniform(-0.8, 0.8, 3)
        self.r, self.rd, self.rdd = (
            self.q + np.array([0.3, -0.5, 0.2]),
            draw.normal(size=3),
            draw.normal(size=3),
        )
        self.z, self.soft = draw.normal(size=3), draw.uniform(0.6, 0.9, 3)
        self.core.disturbance_time = 5.0
        self.begin()

    def begin(self):
        """Put the state into the core."""
        self.put(
            state__position=self.q, state__velocity=self.qd, reference__position=self.r,
            reference__velocity=self.rd, reference__acceleration=self.rdd, disturbance=self.z,
            softness=self.soft,
        )  # fmt: skip

    def law(self, name="rd_joint_impedance", settings=None):
        """Efforts of a law; None: it has none."""
        made, ahead = self.ffi.new("double[]", self.n), self.ffi.new("rd_motion *")
        settings = self.settings if settings is None else settings
        found = getattr(self.calls, name)(self.core, settings, ahead, 0.0, made)
        return np.array(list(made)) if found else None

    def bare(self, q=None, qd=None):
        """Efforts without springs."""
        q, qd = self.q if q is None else q, self.qd if qd is None else qd
        return self.whole_mass(q) @ (self.rdd + self.z) + self.coriolis(qd, self.rd) + self.weight(q)

    def expected(self, d, q=None, qd=None):
        """Efforts with springs, and dampers d."""
        q, qd = self.q if q is None else q, self.qd if qd is None else qd
        error = np.clip(self.r - q, -0.4, 0.4)
        return self.bare(q, qd) + self.soft * (self.soft * self.k * error + d * (self.rd - qd))
