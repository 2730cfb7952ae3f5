"""Gravity compensation: the torques that carry an arm's own weight, in every position.

python examples/gravity_compensation.py
"""

import numpy as np

import robot_dynamics as rd
from robot_dynamics.resources import resource

chain = rd.load_urdf(resource("urdf/puma560.urdf"))
dynamics = rd.compile_dynamics(chain)

q = np.zeros(chain.dof)
for name, torque in zip(chain.joint_names, dynamics.gravity(q), strict=True):
    print(f"{name}: {torque:8.3f} N·m at zero")

# A whole sweep of the shoulder in one call.
sweep = np.tile(q, (91, 1))
sweep[:, 1] = np.radians(np.arange(-90, 91, 2))
torques = dynamics.gravity(sweep)
heaviest = int(np.abs(torques[:, 1]).argmax())
angle = np.degrees(sweep[heaviest, 1])
print(f"{chain.joint_names[1]} carries most, {abs(torques[heaviest, 1]):.2f} N·m, at {angle:.0f} degrees")
