"""Friction of an arm, learned by gradient through the dynamics in JAX.

Torques of a PUMA 560 with friction are recorded at random states. The gradient of the error with respect
to all twelve friction parameters, six viscous and six Coulomb, comes from JAX.

Run: python examples/learn_friction.py      (needs the package jax)
"""

import jax
import jax.numpy as jnp
import numpy as np

import robot_dynamics as rd
from robot_dynamics.resources import resource

STEPS, RATE, MOMENTUM = 200, 0.5, 0.8


def main():
    jax.config.update("jax_enable_x64", True)
    chain = rd.load_urdf(resource("urdf/puma560.urdf"))
    draw = np.random.default_rng(0)
    q, qd, qdd = draw.uniform(-1.5, 1.5, (3, 500, chain.dof))
    true = np.concatenate([draw.uniform(0.5, 3.0, 6), draw.uniform(0.2, 2.0, 6)])
    arm = rd.compile_dynamics(chain, backend="jax", friction=False)
    measured = arm.inverse_dynamics(q, qd, qdd, friction=true)

    def error(friction):
        return jnp.mean((arm.inverse_dynamics(q, qd, qdd, friction=friction) - measured) ** 2)

    step = jax.jit(jax.value_and_grad(error))
    found, speed = jnp.zeros(12), jnp.zeros(12)
    for _ in range(STEPS):
        _, slope = step(found)
        speed = MOMENTUM * speed - RATE * slope
        found = found + speed
    worst = float(np.abs(found - true).max())
    print("damping  [N·m·s/rad]:", np.round(found[:6], 4))
    print("friction [N·m]:      ", np.round(found[6:], 4))
    print(f"largest error after {STEPS} steps: {worst:.1e}")
    return worst


if __name__ == "__main__":
    assert main() < 1e-3
