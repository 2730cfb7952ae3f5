"""Torques with and without 2 kg in the gripper, and the force with which the tip must push.

python examples/payload.py
"""

import numpy as np

import robot_dynamics as rd
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.resources import resource

chain = rd.load_urdf(resource("urdf/puma560.urdf"))
loaded = PayloadParameters(payload_mass=2.0, payload_center=(0.0, 0.0, 0.1)).on(chain)

q = np.array([0.0, 0.3, 0.4, 0.0, 0.5, 0.0])
empty, full = (rd.compile_dynamics(arm).gravity(q) for arm in (chain, loaded))
for name, without, carrying in zip(chain.joint_names, empty, full, strict=True):
    print(f"{name}: {without:8.3f} N·m empty, {carrying:8.3f} N·m with 2 kg")

# A force of 10 N that the tip exerts downwards, in the axes of the tip frame.
down = chain.forward_kinematics(q)[:3, :3].T @ [0.0, 0.0, -10.0]
rest = np.zeros(chain.dof)
pushing = rd.compile_dynamics(chain).inverse_dynamics(q, rest, rest, wrench=[*down, 0.0, 0.0, 0.0])
print("pushing down with 10 N takes", np.round(pushing - empty, 3), "N·m more")
