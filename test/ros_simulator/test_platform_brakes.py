"""The brakes of a simulated platform: its own, by the topic, and those of a simulator without commands."""

import numpy as np
import pytest

from robot_dynamics import stewart
from robot_dynamics.resources import resource
from robot_dynamics.ros.simulation.motion import SimulatedMotion
from robot_dynamics.simulation.parameters import PlantParameters, SimulatorParameters

pytest.importorskip("mujoco", reason="MuJoCo simulates the platform")
pytestmark = pytest.mark.ros


@pytest.mark.parametrize("on_timeout", ["brake", "zero_effort"])
def test_a_platform_falls_unless_commanded_or_braked(on_timeout):
    from robot_dynamics.simulation.stewart import StewartPlant

    settings = SimulatorParameters(on_timeout=on_timeout)
    platform = stewart.load(resource("config/stewart_demo.yaml"))
    plant = StewartPlant(platform, PlantParameters())
    motion = SimulatedMotion(plant, settings, 2_000_000, 0)

    def falls():
        motion.reset(settings)
        if commanded:
            motion.accept(np.zeros(6))
        for _ in range(20):
            motion.advance(settings)
        return bool(plant.velocity.min() < -0.05)

    for braked in (True, False):
        for commanded in (True, False):
            motion.brake(braked, settings)
            assert falls() is not (braked or (not commanded and on_timeout == "brake"))
    motion.accept(np.zeros(6))
    motion.brake(True, settings)
    motion.brake(False, settings)
    motion.halt(settings)
    motion.brake(False, settings)
    assert falls() is (on_timeout != "brake")
