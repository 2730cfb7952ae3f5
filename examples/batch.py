"""A hundred thousand states in one call: the torques along a trajectory, and whether the motors can do it.

python examples/batch.py
"""

import time

import numpy as np

import robot_dynamics as rd
from robot_dynamics.resources import resource

chain = rd.load_urdf(resource("urdf/puma560.urdf"))
dynamics = rd.compile_dynamics(chain)

t = np.linspace(0.0, 10.0, 100_000)[:, None]
rates = np.array([1.0, 1.3, 1.7, 2.1, 2.3, 2.9])
q, qd, qdd = 0.4 * np.sin(rates * t), 0.4 * rates * np.cos(rates * t), -0.4 * rates**2 * np.sin(rates * t)
dynamics.inverse_dynamics(q[:1], qd[:1], qdd[:1])  # compiles at the first call ever

began = time.perf_counter()
tau = dynamics.inverse_dynamics(q, qd, qdd)
seconds = time.perf_counter() - began
print(f"{len(t)} states of {chain.dof} joints: {1e9 * seconds / len(t):.0f} ns a state")

limits = np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])
for name, share in zip(chain.joint_names, np.abs(tau).max(axis=0) / limits, strict=True):
    print(f"{name} needs {100.0 * share:5.1f} % of its limit")

# Kinetic energy changes by the power of the joints, gravity's share taken out: the torques are right.
power = np.sum((tau - dynamics.gravity(q)) * qd, axis=1)
energy = 0.5 * np.einsum("ni,nij,nj->n", qd, dynamics.mass_matrix(q), qd)
work = np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(t[:, 0]))
print(f"work of the joints {work:.6f} J, gain of kinetic energy {energy[-1] - energy[0]:.6f} J")
