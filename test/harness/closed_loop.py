"""A controller and its MuJoCo plant in lockstep, without nodes: what the tests of supervision drive."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import files
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import robot_dynamics as rd
from robot_dynamics import stewart
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
from robot_dynamics.errors import StateError
from robot_dynamics.resources import resource
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.simulation.stewart import StewartPlant

PERIOD = 0.002
READY = (0.0, -1.2, 1.6, -1.9, -1.57, 0.3)
"""A UR5 bent at shoulder and elbow [rad]."""


@lru_cache
def description(robot: str) -> Path:
    """Description of a robot by its short name, of the package example-robot-data or this repository."""
    places = {
        **{f"ur{size}": f"ur_description/urdf/ur{size}_robot.urdf" for size in (3, 5, 10)},
        "panda": "panda_description/urdf/panda.urdf",
        "xarm7": "xarm_description/urdf/xarm7.urdf",
        "kinova": "kinova_description/robots/kinova.urdf",
    }
    if robot == "puma":
        return Path(str(resource("urdf/puma560.urdf")))
    [found] = [f for f in files("example-robot-data") or [] if str(f).endswith(f"robots/{places[robot]}")]
    return Path(str(found.locate()))


@lru_cache
def compiled(robot: str) -> CompiledDynamics:
    """Dynamics of a robot by its short name, without friction."""
    return compile_dynamics(rd.load_urdf(description(robot)), friction=False)


class Loop:
    """A plant under control; its history is kept.

    Attributes:
        control: the controller.
        plant: what it controls.
        times, positions, velocities, efforts, references: of every cycle.
        faults: cycles without an effort.
    """

    def __init__(self, control: Any, plant: Any, period: float = PERIOD) -> None:
        self.control, self.plant, self.period = control, plant, period
        self.cycle = 0
        self.times: list[float] = []
        self.history: list[np.ndarray] = []
        self.phases: list[Any] = []
        self.faults = 0
        self.fault_began: float | None = None
        self.disturbance: Callable[[float, np.ndarray], np.ndarray] | None = None
        self.measure: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
        self.braked_by_controller = False

    @property
    def time(self) -> float:
        return self.cycle * self.period

    def run(self, duration: float, until: Callable[[], bool] | None = None) -> None:
        """So many seconds, or until a condition holds."""
        for _ in range(round(duration / self.period)):
            self.step()
            if until is not None and until():
                return

    def step(self) -> None:
        """One cycle."""
        q, qd = self.plant.position.copy(), self.plant.velocity.copy()
        seen = (q, qd) if self.measure is None else self.measure(q, qd)
        time = self.time
        try:
            command = self.control.update(time, *seen)
            self.fault_began = None
        except StateError:
            self.faults += 1
            self.fault_began = time if self.fault_began is None else self.fault_began
            self.control.lost_states()
            command = self.control.safe_command(time - self.fault_began)
        effort = command.effort if self.disturbance is None else self.disturbance(time, command.effort)
        place = getattr(command.reference, "position", np.full(len(q), np.nan))
        self.times.append(time)
        self.history.append(np.stack([q, qd, command.effort, np.resize(place, len(q))]))
        self.phases.append(command.phase)
        if self.braked_by_controller:
            self.plant.set_brakes(self.control.brake)
        self.plant.advance(self.period, effort)
        self.cycle += 1

    @property
    def trip(self) -> Any:
        """The last trip, with the line that people read as ``line``."""
        return self.control.trip

    @property
    def line(self) -> str:
        """The last trip in words."""
        return "" if self.trip is None else str(self.control.words_of_trip(self.trip))

    @property
    def positions(self) -> np.ndarray:
        return np.array(self.history)[:, 0]

    @property
    def velocities(self) -> np.ndarray:
        return np.array(self.history)[:, 1]

    @property
    def efforts(self) -> np.ndarray:
        return np.array(self.history)[:, 2]

    @property
    def references(self) -> np.ndarray:
        return np.array(self.history)[:, 3]


class ArmLoop(Loop):
    """An arm of a description; the real one may differ from what is declared.

    Args:
        robot: short name, see :func:`description`.
        start: (n,) where it begins; as the simulator does when None.
        declared: drives in the model.
        real: parameters of the plant.
        chain: of the model instead of the description's.
        period: of the cycle [s].
        parameters: of the controller.
    """

    def __init__(
        self,
        robot: str = "ur5",
        start: Sequence[float] | None = READY,
        declared: dict[str, Any] | None = None,
        real: dict[str, Any] | None = None,
        period: float = PERIOD,
        gravity: Sequence[float] | None = None,
        **parameters: Any,
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = description(robot)
            tip = {"panda": "panda_link8"}.get(robot)
            chain = rd.load_urdf(source, tip=tip) if tip else rd.load_urdf(source)
            links = compile_dynamics(chain, friction=False)
            if gravity is not None:
                links = links.with_gravity(gravity)
            ideal = {"damping": (0.0,), "friction": (0.0,), "rotor_inertia": (0.0,)}
            model = ActuatedArm(links, chain, ActuatorParameters(**(ideal | (declared or {}))))
            plant = ArmPlant(chain, parameters=PlantParameters(**(ideal | (real or {}))))
        if start is not None:
            plant.reset(start)
        self.chain, self.links = chain, links
        self.limits = np.array([chain.driving_joint(j).limits.velocity for j in range(chain.dof)])
        super().__init__(ArmController(chain, model, ArmParameters(**parameters)), plant, period)

    def go(self, target: Sequence[float], duration: float) -> None:
        """Follow a trajectory to a place."""
        self.control.follow(self.chain.joint_names, [Waypoint(duration, tuple(target))])

    @property
    def share(self) -> float:
        """Largest speed so far as a share of the joint's limit."""
        return float((np.abs(self.velocities) / self.limits).max())


class PlatformLoop(Loop):
    """A Stewart platform; the real one may be another machine.

    Args:
        machine: of the model: file, text or mapping.
        real: of the plant; the model's when None.
        world: parameters of the plant.
        period: of the cycle [s].
        parameters: of the controller.
    """

    def __init__(
        self,
        machine: Any = None,
        real: Any = None,
        world: dict[str, Any] | None = None,
        period: float = PERIOD,
        **parameters: Any,
    ) -> None:
        machine = resource("config/stewart_demo.yaml") if machine is None else machine
        platform = stewart.load(machine)
        plant = StewartPlant(
            platform if real is None else stewart.load(real), PlantParameters(**(world or {}))
        )
        self.platform = platform
        self.limits = np.array([leg.limits.speed for leg in platform.machine.legs])
        super().__init__(StewartController(platform, StewartParameters(**parameters)), plant, period)

    @property
    def share(self) -> float:
        """Largest leg speed so far as a share of its limit."""
        return float((np.abs(self.velocities) / self.limits).max())


class Wall:
    """A wall of 1e5 N/m below the tip of an arm, in half-millisecond steps: it pushes as MuJoCo integrates.

    Attributes:
        seen: depth [m], its rate [m/s] and force [N] after every cycle.
    """

    NORMAL = np.array([0.0, 0.0, 1.0])

    def __init__(self, loop: ArmLoop, below: float) -> None:
        self.seen: list[tuple[float, float, float]] = []
        self._plant = loop.plant
        self._advance = loop.plant.advance
        self._model, self._data = loop.plant._built.model, loop.plant._data
        mujoco.mj_forward(self._model, self._data)
        self._height = float(self._data.site_xpos[self._model.nsite - 1][2]) - below
        loop.plant.advance = self.advance

    def advance(self, duration: float, effort: np.ndarray) -> None:
        """Advance the arm and the wall."""
        model, data, site = self._model, self._data, self._model.nsite - 1
        for _ in range(round(duration / 0.0005)):
            mujoco.mj_forward(model, data)
            depth = self._height - float(data.site_xpos[site][2])
            linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            mujoco.mj_jacSite(model, data, linear, angular, site)
            rate = float(self.NORMAL @ (linear @ data.qvel))
            force = max(0.0, 1e5 * depth - 100.0 * rate) if depth > 0.0 else 0.0
            push = (force * linear.T @ self.NORMAL)[self._plant._built.drivers]
            self._advance(0.0005, effort + push)
        self.seen.append((depth, rate, force))
