"""Random paths of installed arms, retimed and simulated: ``make sweep NAME=retiming SWEEP="--paths 1000"``.

A path has 100 waypoints by default: anywhere, a random walk, or sines. Every second one has friction.
"""

import argparse
import logging
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
from installed_robots import example_robot

import robot_dynamics as rd
from robot_dynamics.control.retiming.model import DrivenModel

ARMS = {
    "panda_description/urdf/panda.urdf": "panda_hand",
    "ur_description/urdf/ur3_robot.urdf": None,
    "ur_description/urdf/ur5_robot.urdf": None,
    "ur_description/urdf/ur10_robot.urdf": None,
    "kinova_description/robots/kinova.urdf": None,
    "xarm_description/urdf/xarm7.urdf": None,
    "z1_description/urdf/z1.urdf": None,
}
"""Descriptions of example-robot-data, and their tips where there are several."""
SAMPLES = 64
"""Of each interval, at least."""
RATE, MOST = 20_000.0, 100_000
"""Samples a second, at least, as long as there are no more than so many."""


def waypoints(rng, kind, count, lower, upper):
    middle, half, joints = 0.5 * (lower + upper), 0.5 * (upper - lower), len(lower)
    if kind == 0:
        return middle + 0.6 * half * rng.uniform(-1.0, 1.0, (count, joints))
    if kind == 1:
        walk = np.cumsum(rng.normal(scale=0.1, size=(count, joints)), axis=0)
        return middle + 0.9 * half * np.sin(walk)
    angles = np.linspace(0.0, 6.0, count)[:, None] * rng.uniform(0.3, 1.0, joints)
    return middle + 0.4 * half * np.sin(angles + rng.uniform(0.0, 6.0, joints))


def states(coefficients, durations, count):
    """(K, count, n) positions, velocities and accelerations of quintics, ends included nearly."""
    part = np.linspace(1e-6, 1.0 - 1e-6, count)
    powers = part[:, None] ** np.arange(6)
    order = np.arange(6)
    first = np.zeros_like(powers)
    first[:, 1:] = order[1:] * powers[:, :-1]
    second = np.zeros_like(powers)
    second[:, 2:] = order[2:] * order[1:-1] * powers[:, :-2]
    h = durations[:, None, None]
    return powers @ coefficients, first @ coefficients / h, second @ coefficients / h**2


def largest_share(model, made, limits):
    """Of efforts and velocities, and of the efforts' rates, by samples of the resulting quintics."""
    durations, coefficients = np.diff(made.times), made.spline.coefficients
    counts = SAMPLES * 2 ** np.ceil(np.log2(np.maximum(durations * RATE / SAMPLES, 1.0))).astype(int)
    counts[np.cumsum(counts) > MOST] = SAMPLES
    shares = []
    for count in np.unique(counts):
        chosen = counts == count
        motion = states(coefficients[chosen], durations[chosen], count)
        flat = [np.ascontiguousarray(rows.reshape(-1, rows.shape[2])) for rows in motion]
        shares.append((np.abs(model.efforts(*flat)) / limits.effort).max())
        shares.append((np.abs(flat[1]) / limits.velocity).max())
        if limits.effort_rate is not None:
            # Without dry friction, within intervals: what the shortest ones change in is rounded.
            rest = model.friction.copy()
            rest[:, 1:] = 0.0
            smooth = replace(model, friction=rest, load_friction=0.0).efforts(*flat).reshape(motion[0].shape)
            step = durations[chosen][:, None, None] * (1.0 - 2e-6) / (count - 1)
            change = np.abs(np.diff(smooth, axis=1)) / step / limits.effort_rate
            shares.append(change[durations[chosen] > 1e-6].max(initial=0.0))
    return float(max(shares))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=30, help="of each arm")
    parser.add_argument("--waypoints", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, help="most changes of the efforts a second, in effort limits")
    parser.add_argument("--arm", default="", help="only arms whose file names contain this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()
    total = failed = beyond = 0
    for name, tip in ARMS.items():
        if options.arm not in name:
            continue
        chain = rd.load_urdf(example_robot(name), **({"tip": tip} if tip else {}))
        given = rd.PathLimits.of(chain).arrays(chain)
        effort = np.where(np.isfinite(given["effort"]), given["effort"], 50.0)
        limits = rd.PathLimits(
            velocity=np.where(np.isfinite(given["velocity"]), given["velocity"], 3.0),
            effort=effort,
            effort_rate=None if options.rate is None else options.rate * effort,
        )
        joints = [chain.driving_joint(j).limits for j in range(chain.dof)]
        lower = np.array([max(joint.lower, -2.5) for joint in joints])
        upper = np.array([min(joint.upper, 2.5) for joint in joints])
        links = rd.compile_dynamics(chain, friction=False)
        rubbing = rd.ActuatorParameters(
            damping=(0.5,), friction=tuple((0.01 * effort).tolist()), rotor_inertia=(0.02,)
        )
        none = rd.ActuatorParameters(damping=(0.0,), friction=(0.0,))
        models = [DrivenModel.of(rd.ActuatedArm(links, chain, drives)) for drives in (none, rubbing)]
        rng = np.random.default_rng(options.seed)
        shares, times, rounds = [], [], []
        for k in range(options.paths):
            path = waypoints(rng, k % 3, options.waypoints, lower, upper)
            total += 1
            try:
                begin = time.thread_time()
                made = rd.retime(models[k % 2], path, limits)
                times.append(time.thread_time() - begin)
            except rd.RobotDynamicsError as error:
                failed += 1
                print(f"{name}, path {k}: {error}")
                continue
            rounds.append(made.rounds)
            shares.append(largest_share(models[k % 2], made, limits))
            if shares[-1] > 1.0:
                print(f"{name}, path {k}: {shares[-1]:.6f} of a limit")
        excessive = sum(share > 1.0 for share in shares)
        beyond += excessive
        print(
            f"{name}: {len(shares)} of {options.paths} retimed, {excessive} beyond a limit,"
            f" largest share {max(shares):.6f}; median {1e3 * np.median(times):.1f} ms,"
            f" at most {max(rounds)} solutions",
            flush=True,
        )
    print(f"{total} paths: {failed} without a result, {beyond} beyond a limit")
    return 1 if failed or beyond else 0


if __name__ == "__main__":
    sys.exit(main())
