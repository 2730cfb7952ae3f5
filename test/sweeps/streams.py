"""Lag, error and force steps of a platform whose stream of poses comes over DDS from a sender that scatters.

    make sweep NAME=streams                             fifteen cases, five minutes; the computer must be idle
    make sweep NAME=streams SWEEP="--late 25"           the sender is late once, by 25 ms

Simulator, controller, sender and observer are processes with a real-time priority, at 500 Hz by the wall
clock. Intervals of the sender scatter by 3 ms, and 2 % of its poses are not sent. Each case prints what is
left from the fourth second on: the lag behind the pose of the sender's clock, the error of the reference
after that, and the largest change of a force from one command to the next as a share of its limit. For the
computer's part in it there follow by how much the sender was late, the longest times between two states that
were answered and between two commands that arrived, and the moments of the worst.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import observer
import rclpy
import yaml
from geometry_msgs.msg import PoseStamped
from invariants import Record
from motion_base import MOTION_BASE, mix
from patience import PATIENCE
from ros_harness import NodeProcess

from robot_dynamics.ros.support.processes import claim_domain, node_environment
from robot_dynamics.ros.support.scheduling import run_first
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_vector

WAYS = [("tick", "meant"), ("tick", "sent"), ("tick", "none"), ("sending", "sent"), ("sending", "none")]
"""Moment for which a pose is computed; its stamp."""
RATES = (60, 30, 100)
SECONDS, SETTLED, BEFORE = 10.0, 4.0, 3.0
"""Of the stream; after which it counts; in which sender and node find each other [s]."""
SCATTER, LOST = 3e-3, 0.02
LATE_AT = 6.0
"""Moment at which the sender is late [s]."""
FIRST = 12
"""Poses that are never lost."""
RATE, PRIORITY = 500.0, 20
HOME, FORCE = MOTION_BASE["home"]["position"], MOTION_BASE["leg_defaults"]["limits"]["force"]
TOPICS = {"stewart_platform/reference": "place", "joint_command": "efforts"}


def send(rate: float, meant: str, stamp: str, begin: int, stall: float) -> None:
    """Send the poses of a case from a system time [ns] on; once the sender stalls [s]."""
    rclpy.init(args=[])
    node = rclpy.create_node("sender")
    poses = node.create_publisher(PoseStamped, "stewart_platform/pose_command", 10)
    random, count = np.random.default_rng(3), int(SECONDS * rate)
    ticks = np.arange(count) / rate
    dues = np.maximum.accumulate(ticks + random.normal(size=count) * SCATTER / np.sqrt(2.0))
    first = int(np.searchsorted(dues, LATE_AT))
    dues[first:] = np.maximum(dues[first:], dues[first] + stall)
    kept = (random.random(count) >= LOST) | (np.arange(count) < FIRST)
    late = []
    for tick, due, sent in zip(ticks.tolist(), dues.tolist(), kept.tolist(), strict=True):
        time.sleep(max(0.0, due - 1e-9 * (time.time_ns() - begin)))
        now = 1e-9 * (time.time_ns() - begin)
        late.append(now - due)
        if not sent:
            continue
        moment = tick if meant == "tick" else now
        message = PoseStamped()
        given = {"meant": moment, "sent": now, "none": None}[stamp]
        if given is not None:
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(begin + int(1e9 * given), 10**9)
        place, turn = mix(moment)
        at, to = message.pose.position, message.pose.orientation
        at.x, at.y, at.z = (np.array(HOME) + place).tolist()
        to.x, to.y, to.z, to.w = quaternion_from_rotation(rotation_from_vector(turn)).tolist()
        poses.publish(message)
    counted = np.where(ticks >= SETTLED, late, 0.0)
    print(
        f"99 % sent within {1e3 * np.percentile(late, 99):.1f} ms, the latest"
        f" {1e3 * counted.max():.1f} ms at {ticks[counted.argmax()]:.2f} s"
    )


def measure(folder: Path, stall: float, rate: float, meant: str, stamp: str) -> str:
    """One case; a line of the report."""
    machine, file = folder / "machine.yaml", folder / "record.jsonl"
    machine.write_text(yaml.safe_dump(MOTION_BASE), encoding="utf-8")
    given = {"machine": str(machine)}
    clock = "recovered" if (meant, stamp) == ("tick", "sent") else "stamps"
    watched = " ".join([str(file), *(f"{kind}={topic}" for topic, kind in TOPICS.items())])
    with (
        NodeProcess("simulator", {**given, "rate": RATE}) as plant,
        NodeProcess("stewart_platform", {**given, "stream_clock": clock}) as controller,
        NodeProcess(Path(observer.__file__), {}, environment={"RD_OBSERVED": watched}) as witness,
    ):
        run_first([plant.pid, controller.pid, witness.pid], PRIORITY)
        record, deadline = Record(file), time.monotonic() + PATIENCE
        while any(record.last(topic) is None for topic in TOPICS):
            assert time.monotonic() < deadline, controller.describe()
            time.sleep(0.1)
        begin = time.time_ns() + int(1e9 * BEFORE)
        words = [sys.executable, __file__, "--sender", json.dumps([rate, meant, stamp, begin, stall])]
        environment = os.environ | node_environment(claim_domain())
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as sender:
            if refused := run_first([sender.pid], PRIORITY):
                print(f"no real-time priority: {refused}")
            late = sender.communicate(timeout=PATIENCE)[0].strip()
        seen = record.read()
    settled, end = (begin + int(1e9 * second) for second in (SETTLED, SECONDS - 0.05))
    places, commands = ([one for one in seen if one.topic == topic] for topic in TOPICS)
    counted = [one for one in places if settled <= one.stamp <= end]
    times = 1e-9 * np.array([one.stamp - begin for one in counted])
    found = np.array([one.values for one in counted]) - HOME
    lags = np.arange(0.5, 3.0, 0.02) / rate
    errors = [np.abs(found - np.array([mix(t - lag)[0] for t in times])).max() for lag in lags]
    answers = [one for one in commands if settled <= one.stamp <= end]
    moments = 1e-9 * np.array([one.stamp - begin for one in answers])
    steps = np.abs(np.diff([one.values for one in answers], axis=0)).max(axis=1) / FORCE
    cycles, pauses = 1e3 * np.diff(moments), 1e3 * np.diff([one.at for one in answers])
    worst, longest, slowest = int(steps.argmax()), int(cycles.argmax()), int(pauses.argmax())
    best = int(np.argmin(errors))
    stalls = [
        f"longest {what} {times[at]:.1f} ms at {moments[at + 1]:.2f} s"
        for what, times, at in (("between states", cycles, longest), ("between commands", pauses, slowest))
    ]
    return (
        f"{rate} Hz, for the {meant}, stamp {stamp}, {clock}: lag {lags[best] * rate:.2f} periods, error"
        f" {1e3 * errors[best]:.2f} mm, force step {100.0 * steps[worst]:.2f} % at {moments[worst + 1]:.2f} s"
        f" after {cycles[worst]:.1f} ms; {late}; {'; '.join(stalls)}"
    )


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sender", help=argparse.SUPPRESS)
    parser.add_argument("--late", type=float, default=0.0, metavar="MS", help="once, by so much [ms]")
    parser.add_argument("--rates", type=int, nargs="+", default=RATES, help="of the sender [Hz]")
    arguments = parser.parse_args()
    if arguments.sender:
        send(*json.loads(arguments.sender))
        return 0
    for rate, way in itertools.product(arguments.rates, WAYS):
        with tempfile.TemporaryDirectory() as folder:
            print(measure(Path(folder), 1e-3 * arguments.late, rate, *way), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
