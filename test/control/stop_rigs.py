"""Arms and platforms in MuJoCo under the core in this process, with what a test of stops records."""

import numpy as np
import pytest
from installed_robots import example_robot

PANDA, UR5 = "panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf"
FINGERS = {"panda_finger_joint1": 0.02, "panda_finger_joint2": 0.02}
HOMES = {
    PANDA: np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
    UR5: np.array([0.0, -1.2, 1.5, -0.8, -1.57, 0.0]),
    "puma560": np.array([0.0, -0.7, 0.5, 0.3, 0.4, 0.2]),
}


def described(name):
    """Path and locked joints of a description; the test is skipped without it."""
    from robot_dynamics.resources import resource

    if name == "puma560":
        return resource("urdf/puma560.urdf"), {}
    path = example_robot(name)
    if path is None:
        pytest.skip(f"{name} comes with example-robot-data")
    return path, FINGERS if name == PANDA else {}


class ArmRig:
    """A controller with an arm of MuJoCo; ``log``: time, position, velocity, effort, phase, reference.

    Args:
        name: of the description, see HOMES.
        period: of the cycle [s].
        plant: parameters of the simulated arm.
        model: of the controller; compiled from the description when None.
        parameters: of the controller.
    """

    def __init__(self, name, period=0.002, plant=None, model=None, **parameters):
        pytest.importorskip("mujoco", reason="MuJoCo simulates the arms")
        from robot_dynamics import load_urdf
        from robot_dynamics.control.arm.controller import ArmController
        from robot_dynamics.control.arm.parameters import ArmParameters
        from robot_dynamics.simulation.arm import ArmPlant
        from robot_dynamics.simulation.parameters import PlantParameters

        path, locked = described(name)
        self.chain = load_urdf(path, locked_joints=locked) if locked else load_urdf(path)
        world = {"physics_timestep": min(0.001, period)} | (plant or {})
        self.plant = ArmPlant(path, parameters=PlantParameters(**world), locked_joints=locked or None)
        self.speeds = np.array([limit.velocity for limit in self.plant.limits])
        self.period, self.time, self.log, self.command = period, 0.0, [], None
        if isinstance(model, dict):  # a load of the controller's own
            from robot_dynamics import compile_dynamics
            from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters

            compiled = compile_dynamics(self.chain, friction=False)
            model = ActuatedArm(compiled, self.chain, ActuatorParameters(**model))
        self.control = ArmController(self.chain, model, ArmParameters(**parameters))
        self.home = HOMES[name]
        self.plant.reset(self.home)

    def cycle(self, count=1, effort=None):
        """Cycles under the controller, or under an effort of the test's own."""
        for _ in range(count):
            q, qd = self.plant.position, self.plant.velocity
            self.command = self.control.update(self.time, q, qd)
            sent = self.command.effort if effort is None else effort
            self.log.append((self.time, q, qd, sent, self.command.phase, self.command.reference))
            self.plant.advance(self.period, sent)
            self.time += self.period

    def run(self, duration):
        """Cycles for a duration [s]."""
        self.cycle(round(duration / self.period))

    def stand_still(self, duration):
        """No cycle for a duration [s]: the last effort acts on."""
        self.plant.advance(duration, self.command.effort)
        self.time += duration

    def go(self, displacement, duration, start=None):
        """Follow a point (n,) away from where the arm is."""
        from robot_dynamics.control.waypoints import Waypoint

        goal = np.asarray(self.plant.position + displacement)
        return self.control.follow(self.chain.joint_names, [Waypoint(duration, goal.tolist())], start)

    def column(self, k, since=0.0):
        """(N, ...) one column of the log from a time on."""
        return np.array([row[k] for row in self.log if row[0] >= since])

    def share_of_speed(self, since=0.0):
        """Largest speed over its limit."""
        return float((np.abs(self.column(2, since)) / self.speeds).max())


class PlatformRig:
    """A controller with a platform of MuJoCo; ``log``: time, lengths, rates, forces, phase, reference."""

    def __init__(self, platform, period=0.002, plant=None, real=None, **parameters):
        pytest.importorskip("mujoco", reason="MuJoCo simulates the platforms")
        from robot_dynamics.control.stewart.controller import StewartController
        from robot_dynamics.control.stewart.parameters import StewartParameters
        from robot_dynamics.simulation.parameters import PlantParameters
        from robot_dynamics.simulation.stewart import StewartPlant

        self.platform, self.machine = platform, platform.machine
        world = {"physics_timestep": min(0.001, period)} | (plant or {})
        self.plant = StewartPlant(real or platform, PlantParameters(**world))
        self.control = StewartController(platform, StewartParameters(**parameters))
        limits = [leg.limits for leg in self.machine.legs]
        self.strokes = np.array([[limit.shortest, limit.longest] for limit in limits])
        self.speeds = np.array([limit.speed for limit in limits])
        self.forces = np.array([limit.force for limit in limits])
        self.period, self.time, self.log, self.command = period, 0.0, [], None
        self.brakes = False

    def cycle(self, count=1):
        """Cycles under the controller and its brakes."""
        for _ in range(count):
            q, qd = self.plant.position, self.plant.velocity
            self.command = self.control.update(self.time, q, qd)
            if self.control.brake != self.brakes:
                self.brakes = self.control.brake
                self.plant.set_brakes(self.brakes)
            command = self.command
            self.log.append((self.time, q, qd, command.effort, command.phase, command.reference))
            self.plant.advance(self.period, self.command.effort)
            self.time += self.period

    def run(self, duration):
        """Cycles for a duration [s]."""
        self.cycle(round(duration / self.period))

    def column(self, k, since=0.0):
        """(N, ...) one column of the log from a time on."""
        return np.array([row[k] for row in self.log if row[0] >= since])

    def gap(self, since=0.0):
        """Least distance of a leg from its end stops [m]."""
        q = self.column(1, since)[:, :, None]
        return float(np.minimum(q[..., 0] - self.strokes[:, 0], self.strokes[:, 1] - q[..., 0]).min())
