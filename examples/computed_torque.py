"""Computed torque without ROS: an arm in MuJoCo follows a trajectory.

python examples/computed_torque.py        (needs the extra "simulation")
"""

import numpy as np

import robot_dynamics as rd
from robot_dynamics.resources import resource
from robot_dynamics.simulation.arm import ArmPlant

source = resource("urdf/puma560.urdf")
chain = rd.load_urdf(source)
plant = ArmPlant(source)
controller = rd.ArmController(chain, parameters=rd.ArmParameters(kp=(100.0,), kv=(20.0,)))

period, worst = 0.002, 0.0
controller.update(0.0, plant.position, plant.velocity)  # the first state: it holds from here on
controller.follow(
    chain.joint_names, [rd.Waypoint(1.5, plant.position + 0.6), rd.Waypoint(3.0, plant.position)]
)
for cycle in range(1, 1751):
    plant.advance(period, controller.update(period * cycle, plant.position, plant.velocity).effort)
    reference = controller.reference(period * (cycle + 1)).position
    worst = max(worst, float(np.abs(reference - plant.position).max()))
print(f"largest tracking error: {worst:.1e} rad")
