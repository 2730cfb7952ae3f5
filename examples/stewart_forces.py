"""Six actuator forces of a Stewart platform along a motion, beside their limits.

python examples/stewart_forces.py
"""

import numpy as np

import robot_dynamics as rd
from robot_dynamics.resources import resource

platform = rd.load_stewart(resource("config/stewart_demo.yaml"))
machine = platform.machine

t = np.linspace(0.0, 1.0, 201)
omega, height = 2.0 * np.pi, 0.03
zero = np.zeros_like(t)
forces = platform.inverse_dynamics(
    position=machine.home_position + np.column_stack([zero, zero, height * np.sin(omega * t)]),
    orientation=np.tile([0.0, 0.0, 0.0], (len(t), 1)),
    linear_velocity=np.column_stack([zero, zero, height * omega * np.cos(omega * t)]),
    angular_velocity=np.zeros((len(t), 3)),
    linear_acceleration=np.column_stack([zero, zero, -height * omega**2 * np.sin(omega * t)]),
    angular_acceleration=np.zeros((len(t), 3)),
).actuator_forces
for leg, force in zip(machine.legs, forces.T, strict=True):
    print(f"{leg.name}: {force.min():8.1f} to {force.max():8.1f} N, limit {leg.limits.force:.0f} N")
