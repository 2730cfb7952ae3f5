"""Random paths of installed arms, verified and sampled: ``make sweep NAME=paths SWEEP="--paths 1500"``.

Seven arms from PyPI, 1500 paths each make ten thousand. Every path has random waypoints, times, friction and
payload. Its effort limits are what dense samples at 20 kHz reach, times a factor: just above the largest, so
that it has to be accepted, or just below, so that it has to be refused. Waypoints of every second path have
times over five decades; these are compared with the interval between their waypoints alone.
"""

import argparse
import logging
import sys
import time
import warnings

import numpy as np
from installed_robots import example_robot
from retiming import ARMS

import robot_dynamics as rd
from robot_dynamics.control.arm.verified_torque import largest_efforts
from robot_dynamics.control.shape import allowance, strays, waypoint_spline

RATE = 20_000.0
NEAR = 1e-6


def random_path(rng, joints, decades):
    count = int(rng.integers(2, 9))
    powers = rng.uniform(-2.0, 3.0, count) if decades else rng.uniform(-1.0, 0.0, count)
    times = np.concatenate([[0.0], np.cumsum(10.0**powers)])
    positions = rng.uniform(-2.0, 2.0, (count + 1, joints))
    if rng.random() < 0.3:
        positions = np.round(positions)
    rates = np.full(positions.shape, np.nan)
    rates[[0, -1]] = 0.0
    return waypoint_spline(times, positions, rates, rates.copy())


def loaded(rng, chain, links):
    """The arm with random drives and payload."""
    scale = float(10.0 ** rng.uniform(-1.0, 1.0)) * (rng.random() < 0.7)
    drives = rd.ActuatorParameters(
        damping=(scale,),
        friction=(scale,),
        static_friction=(scale * float(rng.uniform(0.5, 2.0)),),
        stribeck_velocity=(float(rng.uniform(0.02, 0.5)),),
        load_friction=(float(rng.uniform(0.0, 0.3)) * (rng.random() < 0.5),),
        rotor_inertia=(float(rng.uniform(0.0, 1.0)),),
    )
    mass, center = float(rng.uniform(0.0, 3.0)), rng.uniform(-0.1, 0.1, 3)
    inertia = mass * (1e-3 * np.eye(3) + center @ center * np.eye(3) - np.outer(center, center))
    payload = [mass, *mass * center, *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
    return rd.ActuatedArm(links.with_payload(payload), chain, drives)


def dense(arm, spline):
    """(n,) largest efforts of samples at 20 kHz, and of ones around each largest."""
    times = np.linspace(0.0, spline.times[-1], int(RATE * spline.times[-1]) + 1)
    states = [np.ascontiguousarray(row) for row in spline.at(times)]
    efforts = np.abs(arm.inverse_dynamics(*states))
    largest = efforts.max(axis=0)
    for j, k in enumerate(np.argmax(efforts, axis=0)):
        near = np.clip(times[k] + np.linspace(-1.0, 1.0, 2001) / RATE, 0.0, spline.times[-1])
        fine = np.abs(arm.inverse_dynamics(*(np.ascontiguousarray(row) for row in spline.at(near))))
        largest[j] = max(largest[j], fine[:, j].max())
    return largest


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=40, help="of each arm")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arm", default="", help="only arms whose file names contain this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()
    total = wrong = 0
    for name, tip in ARMS.items():
        if options.arm not in name:
            continue
        chain = rd.load_urdf(example_robot(name), **({"tip": tip} if tip else {}))
        links = rd.compile_dynamics(chain, friction=False)
        accepted, refused, times, widest = 0, 0, [], 0.0
        for k in range(options.paths):
            seed = [options.seed, k]
            rng = np.random.default_rng(seed)
            decades = k % 2 == 1
            spline = random_path(rng, chain.dof, decades)
            total += 1
            distance = spline.coefficients[:, 1:].sum(axis=1)
            share = float((np.maximum(*strays(spline)) / allowance(distance)).max())
            widest = max(widest, share)
            if share > 1.0 + 1e-9:
                wrong += 1
                print(f"{name}, seed {seed}: leaves its waypoints by {share:.3f} of what is allowed")
            if decades:
                continue
            arm = loaded(rng, chain, links)
            reached = dense(arm, spline)
            keeps = k % 4 == 0
            limits = reached / (1.0 - 2.0 * NEAR) if keeps else reached * (1.0 - NEAR)
            begin = time.thread_time()
            found = largest_efforts(chain, arm, spline, limits, verdict_only=True)
            times.append(time.thread_time() - begin)
            within = bool((found.bound <= limits).all())
            if not keeps and within:
                wrong += 1
                print(f"{name}, seed {seed}: accepted, but samples reach {float(max(reached / limits)):.9f}")
            # Samples may miss a peak: only what no value proves is refused wrongly.
            if keeps and not within and not (np.abs(found.value) > limits * (1.0 - NEAR)).any():
                wrong += 1
                print(f"{name}, seed {seed}: refused, but no effort is near its limit")
            accepted, refused = accepted + within, refused + (not within)
        print(
            f"{name}: {accepted} accepted, {refused} refused, median {1e3 * np.median(times):.0f} ms;"
            f" waypoints left by at most {widest:.3f} of what is allowed",
            flush=True,
        )
    print(f"{total} paths, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
