"""Hours of an arm under control: memory that grows, cycles that are lost, beside those of a bare relay.

    make soak  an hour of simulated time at ten times its speed, 10 min at 1 kHz
    make soak SOAK="--hours 0.05 --minutes 1"  shorter

The arm moves all the time, is told to hold, gets another payload and other gains, and plans are refused.
Memory is what the system has given the process; it has grown when the last quarter of the run needs more
than the second by more than GROWTH.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from machines import ARM, trajectory
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_harness import NodeProcess, Peer
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.ros.support import qos

CONTROLLER, RELAY = "computed_torque_controller", "demo.relay"
RATE = 1000.0
"""States by the wall clock [Hz]."""
FASTER = 10.0
"""Than the wall clock is the compressed hour."""
RELAY_MINUTES = 1.0
GROWTH = 2.0
"""Most that memory may grow [MB]."""
GOALS = ((0.9, -0.6), (0.2, 0.5), (-0.4, 0.3))


@dataclass
class Run:
    """Measurements of one run.

    Attributes:
        title: name of the run.
        simulated: time [s].
        seconds: by the wall clock.
        memory: of each process at each look [MB].
        cycles: that the plant went through.
        answers: that it got.
    """

    title: str
    simulated: float = 0.0
    seconds: float = 0.0
    memory: dict[str, list[float]] = field(default_factory=dict)
    cycles: int = 0
    answers: int = 0

    @property
    def lost(self) -> float:
        """Share of the cycles without an answer."""
        return 1.0 - self.answers / max(self.cycles, 1)

    def growth(self, name: str) -> float:
        """From the second quarter of the run to the last [MB]."""
        looks = np.array(self.memory[name])
        quarter = max(1, len(looks) // 4)
        return float(np.median(looks[-quarter:]) - np.median(looks[quarter : 2 * quarter]))


class Operator:
    """Somebody who keeps the arm busy."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._sender = peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", qos.TRAJECTORY)
        node = peer.node
        self._hold = node.create_client(Trigger, f"{CONTROLLER}/hold")
        self._set = node.create_client(SetParameters, f"{CONTROLLER}/set_parameters")
        self._steps = itertools.count()

    def act(self) -> None:
        """The next thing to do."""
        step = next(self._steps)
        self._sender.publish(trajectory([(1.5, GOALS[step % len(GOALS)])]))
        if step % 7 == 3:
            self._hold.call_async(Trigger.Request())
        if step % 5 == 2:
            self._change("payload_mass", (0.0, 0.2)[step % 2])
            self._change("kp", [(90.0, 110.0)[step % 2]])
        if step % 4 == 1:
            self._sender.publish(trajectory([(0.01, (2.5, -2.5))]))  # beyond the velocity limits

    def _change(self, name: str, value: Any) -> None:
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        self._set.call_async(request)


def soak(title: str, controller: str, simulated: float, faster: float) -> Run:
    """Run plant and controller, or relay, for so much simulated time [s]."""
    run = Run(title)
    plant_parameters = {
        "robot_description": ARM,
        "rate": RATE / faster,
        "real_time_factor": faster,
        "measure_latency": True,
        "publish_clock": faster != 1.0,
        "command_timeout": 5.0,  # a machine with more to do than it can shall not brake the arm
        **({} if controller == CONTROLLER else {"gravity": [0.0, 0.0, 0.0]}),
    }
    mine = {"robot_description": ARM, "use_sim_time": faster != 1.0}
    parameters = mine if controller == CONTROLLER else {"bytes": True}
    peer = Peer()
    try:
        with NodeProcess(controller, parameters) as node, NodeProcess("simulator", plant_parameters) as plant:
            peer.processes[:] = [node, plant]
            watched = {"controller" if controller == CONTROLLER else "relay": node, "simulator": plant}
            reports: list[DiagnosticArray] = []
            peer.node.create_subscription(DiagnosticArray, "/diagnostics", reports.append, qos.DIAGNOSTICS)
            operator = Operator(peer) if controller == CONTROLLER else None
            peer.wait_until(lambda: _simulated(reports) > 0.0, "the plant does not move")
            began = due = look = time.monotonic()
            while run.simulated < simulated:
                peer.executor.spin_once(timeout_sec=0.1)
                now = time.monotonic()
                run.simulated = max(run.simulated, _simulated(reports))
                del reports[:-20]
                if operator is not None and now >= due:
                    operator.act()
                    due = now + 2.0 / min(faster, 5.0)
                if now >= look:
                    look = now + max(1.0, simulated / faster / 200.0)
                    for name, process in watched.items():
                        run.memory.setdefault(name, []).append(_memory(process.pid))
                assert node.running and plant.running, node.describe() + plant.describe()
            run.seconds = time.monotonic() - began
            plant.stop()
            summary = json.loads(re.findall(r"summary: (\{.*\})", plant.output)[-1])
            run.cycles, run.answers = int(summary["cycles"]), int(summary.get("answers", 0))
            assert node.stop() == 0, node.describe()
            assert "Traceback" not in node.output + plant.output
    finally:
        peer.close()
    print(_lines(run), flush=True)
    return run


def _simulated(reports: Sequence[DiagnosticArray]) -> float:
    values = [
        float(pair.value)
        for report in reports
        for status in report.status
        for pair in status.values
        if pair.key == "simulated time [s]"
    ]
    return values[-1] if values else 0.0


def _memory(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return int(re.findall(r"VmRSS:\s+(\d+) kB", text)[0]) / 1024.0


def _lines(run: Run) -> str:
    lines = [
        f"{run.title}: {run.simulated:.0f} s simulated in {run.seconds:.0f} s; {run.cycles} cycles,"
        f" {100.0 * run.lost:.3f} % of them without an answer in time"
    ]
    for name, looks in run.memory.items():
        lines.append(
            f"  memory of the {name}: {looks[0]:.1f} MB at first, {np.max(looks):.1f} MB at most,"
            f" {run.growth(name):+.2f} MB from the second quarter to the last"
        )
    return "\n".join(lines)


def main() -> int:
    """Run, print; 0 when nothing has grown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=1.0, help="compressed, of simulated time")
    parser.add_argument("--minutes", type=float, default=10.0, help="at 1 kHz by the wall clock")
    arguments = parser.parse_args()
    hour = soak("compressed hour", CONTROLLER, 3600.0 * arguments.hours, FASTER)
    before = soak("a bare relay, before", RELAY, 60.0 * min(RELAY_MINUTES, arguments.minutes), 1.0)
    fast = soak("1 kHz", CONTROLLER, 60.0 * arguments.minutes, 1.0)
    after = soak("a bare relay, after", RELAY, 60.0 * min(RELAY_MINUTES, arguments.minutes), 1.0)
    relay = max(before.lost, after.lost)
    print(f"lost cycles at 1 kHz: controller {100 * fast.lost:.3f} %, relay {100 * relay:.3f} %")
    grown = [
        f"{run.title}, {name}" for run in (hour, fast) for name in run.memory if run.growth(name) > GROWTH
    ]
    print("memory: " + (f"GROWS in {'; '.join(grown)}" if grown else "does not grow"))
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
