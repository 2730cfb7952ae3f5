"""Longest silences of a platform over each transport of Fast DDS while other processes join and die.

    make sweep NAME=transports                          about six minutes over each transport
    make sweep NAME=transports SWEEP="--seconds 3600 --alone 3600 --relay --rate 100 --pause 2"

Simulator and controller of a platform run by the wall clock, at 500 Hz where nothing else is said. Plain
rclpy nodes without a profile join: first one after another, ended by SIGINT; then several at once, killed by
SIGKILL at random ages. At last a process takes the lock of a client's new port in shared memory, and dies
with it. An observer over the same transport writes down every joint state and every command. Simulator,
controller and observer have a real-time priority where the system allows it. A silence counts without the
time for which they waited for a processor. A silence of states is printed with the time between the stamps
around it: more than a period, and states are missing; else they came late. With --relay a sender of states
and a relay without physics and control, which cost a tenth, take the places of simulator and controller.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import itertools
import multiprocessing
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import observer
import rclpy
from invariants import Record
from patience import PATIENCE
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from ros_harness import NodeProcess
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from waits import Waits

from robot_dynamics.resources import resource
from robot_dynamics.ros.support.isolation import DEFAULT, SOCKETS, TRANSPORTS
from robot_dynamics.ros.support.processes import claim_domain
from robot_dynamics.ros.support.scheduling import run_first

NO_PROFILE = {
    "FASTRTPS_DEFAULT_PROFILES_FILE": "",
    "FASTDDS_DEFAULT_PROFILES_FILE": "",
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    TRANSPORTS: DEFAULT,
}
"""Fast DDS by itself, on this host only."""
RUNS: Mapping[str, Mapping[str, str]] = {
    "sockets": {TRANSPORTS: SOCKETS},
    "shared_memory": {TRANSPORTS: DEFAULT},
    "default": NO_PROFILE,
}
"""Variables of simulator, controller and observer: each of this package's two profiles, and none."""
STATES, PLATFORM, RELAY = "joint_states", "leg_effort_controller/commands", "effort_controller/commands"
JOINS = 40
TOGETHER = 4
"""Clients that live at once while they are killed."""
LIFE = 0.5
"""Mean life of a client that will be killed [s]: most of them die while they join."""
LOCKS = 5
"""Clients at whose port somebody dies with the lock."""
AFTER_LOCK = 4.0
"""Time in which a dead lock can do harm [s]."""
MOST_PARTICIPANTS = 30
PRIORITY = 10
COUNTED = 0.05
"""From this length on a silence is listed [s]."""


@dataclass
class Phase:
    """Measurements of one phase.

    Attributes:
        title: of the phase.
        clients: that joined.
        seconds: of the phase.
        silences: longer than COUNTED, without waits for a processor [s], by topic.
        processor: time of simulator and controller, as a share of the phase.
    """

    title: str
    clients: int = 0
    seconds: float = 0.0
    silences: dict[str, list[float]] = field(default_factory=dict)
    processor: float = 0.0

    def line(self) -> str:
        """One line of the report."""
        found = "; ".join(
            f"{topic.rpartition('/')[2]} {len(some)}, longest {max(some, default=0.0):.3f} s"
            for topic, some in self.silences.items()
        )
        return (
            f"  {self.title}: {self.clients} in {self.seconds:.0f} s; silences above {COUNTED:g} s: {found};"
            f" processor {100.0 * self.processor:.0f} %"
        )


def client(domain: int, begins: Connection) -> None:
    """A plain node that listens to everything of the platform, and leaves the graph by SIGINT."""
    signals: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    for name in NO_PROFILE:
        os.environ.pop(name, None)
    os.environ |= {name: value for name, value in NO_PROFILE.items() if value}
    with contextlib.suppress(OSError):
        os.nice(-10)
    begins.send(None)
    context = rclpy.Context()
    rclpy.init(context=context, args=[], domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(f"client_{os.getpid()}", context=context, use_global_arguments=False)
    for kind, topic in ((JointState, STATES), (Float64MultiArray, PLATFORM), (Float64MultiArray, RELAY)):
        node.create_subscription(kind, topic, lambda _: None, qos_profile_sensor_data)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    while not signals:
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    node.destroy_node()
    context.shutdown()


def begin(target: Callable[[int, Connection], None]) -> BaseProcess:
    """A process that has begun. One server has imported rclpy for all of them, so that many can join."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("forkserver").Process(target=target, args=(claim_domain(), there))
    process.start()
    there.close()
    here.recv()
    return process


def joins(count: int) -> int:
    """Clients that join one after another and end by SIGINT."""
    for _ in range(count):
        process = begin(client)
        time.sleep(random.uniform(0.8, 1.2))
        os.kill(process.pid, signal.SIGINT)
        process.join()
    return count


def die_with_lock(domain: int, watching: Connection) -> None:
    """Take the lock of the next port that a client makes in shared memory, and die with it."""
    library = ctypes.CDLL(None)
    library.sem_open.restype = ctypes.c_void_p
    library.sem_wait.argtypes = [ctypes.c_void_p]
    first = 7400 + 250 * domain + 10
    ports = [Path(f"/dev/shm/fastrtps_port{first + k}") for k in range(2 * MOST_PARTICIPANTS)]
    absent = [port for port in ports if not port.exists()]
    watching.send(None)
    while not (found := next((port for port in absent if port.exists()), None)):
        time.sleep(0.001)
    library.sem_wait(library.sem_open(f"/{found.name}_mutex".encode(), 0))
    os.kill(os.getpid(), signal.SIGKILL)


def dead_locks(count: int) -> int:
    """Clients at whose port somebody dies with the lock; returns for how many somebody did."""
    locked = 0
    for _ in range(count):
        killer = begin(die_with_lock)
        process = begin(client)
        killer.join(PATIENCE)
        locked += not killer.is_alive()
        time.sleep(AFTER_LOCK)
        for one in (killer, process):
            one.kill()
            one.join()
    return locked


def kills(seconds: float, pause: float) -> int:
    """Clients that are killed at random ages; returns how many.

    Args:
        seconds: how long [s].
        pause: mean time between a death and the next client [s].
    """
    end, count = time.monotonic() + seconds, 0
    living: list[tuple[float, BaseProcess]] = []
    while time.monotonic() < end:
        while len(living) < TOGETHER:
            living.append((time.monotonic() + random.expovariate(1.0 / LIFE), begin(client)))
        due, process = first = min(living, key=lambda one: one[0])
        time.sleep(max(0.0, due - time.monotonic()))
        process.kill()
        process.join()
        living.remove(first)
        count += 1
        if pause:
            time.sleep(random.expovariate(1.0 / pause))
    for _, process in living:
        process.kill()
        process.join()
    return count


@contextlib.contextmanager
def loop(
    variables: Mapping[str, str], folder: Path, options: argparse.Namespace
) -> Iterator[tuple[list[NodeProcess], Record, Waits]]:
    """Simulator, controller and observer over one transport, or the two that take their places."""
    if options.relay:
        arm = resource("urdf/puma560.urdf").read_text(encoding="utf-8")
        sender = "live.kinematic_mover", {"robot_description": arm, "rate": options.rate}
        receiver: tuple[str, Mapping[str, object]] = "demo.relay", {}
    else:
        machine = {"machine": str(resource("config/stewart_demo.yaml"))}
        sender = "simulator", {**machine, "measure_latency": True, "rate": options.rate}
        receiver = "stewart_platform", machine
    topics = {STATES: "positions", RELAY if options.relay else PLATFORM: "array"}
    file = folder / "record.jsonl"
    watched = " ".join([str(file), *(f"{kind}={topic}" for topic, kind in topics.items())])
    with contextlib.ExitStack() as stack:

        def start(node: str | Path, parameters: Mapping[str, object], **further: str) -> NodeProcess:
            process = stack.enter_context(NodeProcess(node, parameters, environment={**variables, **further}))
            if refused := run_first([process.pid], PRIORITY):
                print(f"  no real-time priority: {refused}")
            return process

        plant, controller = start(*sender), start(*receiver)
        witness = start(Path(observer.__file__), {}, RD_OBSERVED=watched)
        record, processes = Record(file), [plant, controller, witness]
        waits = stack.enter_context(Waits(lambda: [one.pid for one in processes]))
        deadline = time.monotonic() + PATIENCE
        while any(record.last(topic) is None for topic in topics):
            assert time.monotonic() < deadline, "\n".join(one.describe() for one in processes)
            time.sleep(0.1)
        yield processes, record, waits


def measure(title: str, run: tuple[list[NodeProcess], Record, Waits], action: Callable[[], int]) -> Phase:
    """Do something and look for silences meanwhile."""
    processes, record, waits = run
    moving = processes[:2]
    before = sum(one.cpu_seconds for one in moving)
    began = time.monotonic()
    phase = Phase(title, clients=action())
    end = time.monotonic()
    phase.seconds = end - began
    phase.processor = (sum(one.cpu_seconds for one in moving) - before) / phase.seconds
    time.sleep(0.2)
    seen = record.read()
    for topic in {one.topic for one in seen}:
        times = [one.at for one in seen if one.topic == topic and began <= one.at <= end]
        gaps = ((b - a, waits.between(a, b)) for a, b in itertools.pairwise(times) if b - a > COUNTED)
        phase.silences[topic] = [gap - wait for gap, wait in gaps if gap - wait > COUNTED]
        stamped = [one for one in seen if one.topic == topic and one.stamp and began <= one.at <= end]
        for a, b in itertools.pairwise(stamped):
            gap = b.at - a.at - (waits.between(a.at, b.at) if b.at - a.at > COUNTED else 0.0)
            if gap > COUNTED:
                apart = 1e-9 * (b.stamp - a.stamp)
                print(f"    states: {gap:.3f} s at {a.at - began:.0f} s, stamps {apart:.3f} s apart")
    return phase


def sweep(name: str, options: argparse.Namespace) -> None:
    """One transport: joins, kills, and what the nodes said."""
    print(f"{name}:", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        with loop(RUNS[name], Path(folder), options) as run:
            for title, action in (
                ("nobody joins", lambda: time.sleep(options.alone) or 0),
                ("joins", lambda: joins(options.joins)),
                ("kills", lambda: kills(options.seconds, options.pause)),
                ("deaths with a lock", lambda: dead_locks(LOCKS)),
            ):
                print(measure(title, run, action).line(), flush=True)
            plant, controller, _ = run[0]
        if options.relay:
            return
        lost = [float(text) for text in re.findall(r"no joint state for ([\d.]+) s", controller.output)]
        print(f"  the controller lost its states {len(lost)} times, for up to {max(lost, default=0.0):g} s")
        summary = re.findall(r"summary: (\{.*\})", plant.output)
        print(f"  the simulator: {summary[-1] if summary else plant.output[-500:]}", flush=True)


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=180.0, help="duration of the kills [s]")
    parser.add_argument("--alone", type=float, default=20.0, help="time before, for comparison [s]")
    parser.add_argument("--joins", type=int, default=JOINS, help="number of clients that join and leave")
    parser.add_argument("--transports", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--relay", action="store_true", help="sender and relay without physics and control")
    parser.add_argument("--rate", type=float, default=500.0, help="of simulator and controller [Hz]")
    parser.add_argument(
        "--pause", type=float, default=0.0, help="mean time from a death to the next client [s]"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the clients' ages")
    arguments = parser.parse_args()
    multiprocessing.set_forkserver_preload(["observer", "invariants", "ros_harness", "waits"])
    for name in arguments.transports:
        random.seed(arguments.seed)
        sweep(name, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
