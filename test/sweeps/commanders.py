"""Search for faults between nodes: random legal events of one or two robots, each node a process of its own.

    make sweep NAME=commanders                          two minutes
    make sweep NAME=commanders SWEEP="--minutes 120 --seed 7"

A run has one or two robots in namespaces, arms with and without brakes and platforms, each with a
simulator. EVENTS times something happens to one of them: a controller starts, ends by SIGINT, is killed,
paused, activated or deactivated; somebody sends a goal or a payload, or calls a service. Some goals of arms
go through a feedforward node, which starts and ends, too. Some brakes have a driver that reports their
state, and at times nothing or the contrary. An observer knows nothing of the package but names of topics.
Where control_msgs is installed, arms get goals of actions, too: see ``action_goals``.
Controllers get parameter files for them or for nodes with almost their name, and new descriptions. It
checks:

- brakes that an emergency stop, ~/park or the end of a stream has engaged open only after ~/unpark;
- a platform whose goals lie in a plane does not fall;
- no joint moves farther than STOPPING without a cause a moment before: a goal, a release of brakes, or the
  start or end of a process;
- a payload that was given live is kept by a respawn, or its log says so;
- a parameter file that names another node is a WARN, and one that names this node is none;
- a description that differs by a comment changes nothing, and the log says which other one is in use;
- no process prints a traceback, and SIGINT ends it with 0.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from action_goals import ActionGoals, FollowJointTrajectory
from geometry_msgs.msg import PoseStamped, Transform
from rcl_interfaces.srv import GetParameters
from ros_harness import HarnessError, Lifecycle, NodeProcess, Peer
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.processes import OWN_DOMAIN

EVENTS = 25
QUIET = 4.0
"""Time after a goal, a release or the end of a process in which motion is expected [s]."""
STOPPING = {"arm": 0.15, "platform": 0.02}
"""Travel of a joint without any cause [rad], [m]."""
FALL = 0.03
NODES = {"arm": "computed_torque_controller", "platform": "stewart_platform"}
FEEDER, DOWNSTREAM = "trajectory_feedforward", "joint_trajectory_controller"
ACTION = [f"_action/{name}" for name in ("send_goal", "cancel_goal", "get_result", "feedback", "status")]
PARKING = 15.0
"""Longest way down to a park pose, with its brakes [s]."""
LAG = 0.1
"""From a command to the brakes to the driver's report of it, and between two reports [s]."""


class Robot:
    """One robot, its simulator and at most two instances of its controller."""

    def __init__(self, run: Run, kind: str, namespace: str, stack: contextlib.ExitStack) -> None:
        self.run, self.kind, self.namespace, self.stack = run, kind, namespace, stack
        self.node = f"{namespace}/{NODES[kind]}"
        self.model: dict[str, Any] = {"machine": "stewart_demo"}
        if kind == "arm":
            self.model = {"robot_description": resource("urdf/scara.urdf").read_text(encoding="utf-8")}
        self.braked = kind == "platform" or run.random.random() < 0.5
        if kind == "arm" and self.braked:
            self.model["brakes"] = True
        self.commanded: bool | None = None
        self.silent, self.contrary = 0.0, 0.0
        self.feeder: NodeProcess | None = None
        self.instances: list[NodeProcess] = []
        self.caused = self.moved = time.monotonic()
        self.unparked, self.stopped, self.payload = True, False, 0.0
        self.position: np.ndarray[Any, Any] | None = None
        self.anchor: np.ndarray[Any, Any] | None = None
        self.height, self.finds, self.descends, self.starved = np.inf, list[str](), False, 0
        self.files, self.text = 0, str(self.model.get("robot_description"))
        peer = run.peer
        peer.node.create_subscription(
            JointState, f"{namespace}/joint_states", self._see, qos.STATE_SUBSCRIPTION
        )
        if self.braked:
            peer.node.create_subscription(Bool, f"{self.node}/brake", self._brake, 10)
            if run.random.random() < 0.5:
                self.reports = peer.node.create_publisher(Bool, f"{self.node}/brake_state", 2)
                peer.node.create_timer(LAG, self._report)
        if kind == "platform":
            peer.node.create_subscription(PoseStamped, f"{namespace}/simulator/platform_pose", self._pose, 10)
            self.poses = peer.node.create_publisher(PoseStamped, f"{self.node}/pose_command", qos.STREAM)
            message, topic = MultiDOFJointTrajectory, "trajectory"
        else:
            message, topic = JointTrajectory, "joint_trajectory"
        self.fed = peer.node.create_publisher(
            JointTrajectory, f"{namespace}/{FEEDER}/joint_trajectory", qos.TRAJECTORY
        )
        self.goals = peer.node.create_publisher(message, f"{self.node}/{topic}", qos.TRAJECTORY)
        self.simulator = self.enter("simulator", {**self.description, "rate": 200.0})
        self.actions: ActionGoals | None = None
        if kind == "arm" and FollowJointTrajectory is not None:
            self.actions = ActionGoals(self, f"{namespace}/{FEEDER}")
        self.start()

    def enter(self, node: str | Path, given: dict[str, Any], words: Sequence[str] = ()) -> NodeProcess:
        words = [*words, *(["-r", f"__ns:={self.namespace}"] if self.namespace else [])]
        environment = {"XDG_STATE_HOME": self.run.folder, OWN_DOMAIN: "0"}
        process = NodeProcess(node, given, words, environment)
        self.stack.enter_context(process)
        return process

    @property
    def description(self) -> dict[str, Any]:
        """Parameters of nodes that command no brakes."""
        return {name: value for name, value in self.model.items() if name != "brakes"}

    def _report(self) -> None:
        """The driver tells the state of the brakes."""
        now = time.monotonic()
        if self.commanded is not None and now > self.silent:
            self.reports.publish(Bool(data=self.commanded != (now < self.contrary)))

    # Observed

    def _see(self, message: JointState) -> None:
        self.position = np.array(message.position)
        if time.monotonic() - self.caused < QUIET or self.anchor is None:
            self.anchor = self.position
        moved = float(np.abs(self.position - self.anchor).max())
        if moved > STOPPING[self.kind]:
            self._find(f"moved by {moved:.3f} without a cause")
            self.anchor = self.position

    def _find(self, words: str) -> None:
        """Note a motion, unless a node was starved: its fail-safe output moves the robot, and says so."""
        starved = self._losses()
        if starved > self.starved:
            self.starved, self.caused = starved, time.monotonic()
            return
        logs = [process.describe() for process in (self.simulator, *self.instances)]
        self.finds.append("\n".join([words, *logs]))

    def _losses(self) -> int:
        return sum(process.output.count("safe output") for process in self.instances)

    def _brake(self, message: Bool) -> None:
        self.commanded = bool(message.data)
        if not message.data and self.stopped and not self.unparked:
            logs = [process.describe() for process in self.instances]
            self.finds.append("\n".join(["brakes open without ~/unpark", *logs]))
            self.stopped = False

    def _pose(self, message: PoseStamped) -> None:
        height = message.pose.position.z
        if self.descends:
            self.height = np.inf
        if height < self.height - FALL and np.isfinite(self.height):
            self._find(f"falls from {self.height:.3f} to {height:.3f} m")
            self.height = np.inf
        self.height = height if not np.isfinite(self.height) else max(self.height - 1e-5, height)

    # Events

    @property
    def alone(self) -> NodeProcess | None:
        """The only instance; services of two are not told apart."""
        return self.instances[0] if len(self.instances) == 1 else None

    def start(self) -> None:
        if len(self.instances) < 2:
            host = self.run.random.choice(["on", "off"])
            self.caused = time.monotonic()
            named = self.run.random.choice(["", "", "own", "other"])
            words = [] if not named else ["--params-file", str(self._file(named))]
            self.text = str(self.model.get("robot_description"))
            self.instances.append(self.enter(NODES[self.kind], {**self.model, "native_loop": host}, words))
            if named:
                self._check_file(self.instances[-1], named)

    def _file(self, named: str) -> Path:
        """A parameter file for this node, or for one with almost its name."""
        self.files += 1
        file = Path(self.run.folder) / f"{self.namespace.strip('/')}{self.files}.yaml"
        section = f"/{self.node.strip('/')}" + ("s" if named == "other" else "")
        file.write_text(f"{section}:\n  ros__parameters:\n    start_patience: 4.0\n", encoding="utf-8")
        return file

    def _check_file(self, process: NodeProcess, named: str) -> None:
        warning, begun = "no section of the parameter file", "supervision, enforce"
        waits = [begun, "not activated", *([warning] if named == "other" else [])]
        with contextlib.suppress(HarnessError):
            process.wait_for_output("|".join(waits[-1:] if named == "other" else waits))
        if (warning in process.output) != (named == "other"):
            self.finds.append(f"a parameter file for the {named} node:\n{process.describe()}")

    def describe(self) -> None:
        """Another description: the same model with a comment, or one with a heavier link."""
        process = self.alone
        if process is None or self.kind != "arm":
            return
        text, self.caused = str(self.model["robot_description"]), time.monotonic()
        same = self.run.random.random() < 0.5
        self.files += 1
        self.text = (
            self.text.replace("<robot", f"<!-- {self.files} -->\n<robot", 1)
            if same
            else text.replace('<mass value="', f'<mass value="{self.files}', 1)
        )
        said, taken = "has the same model: nothing changes", "model of scara"
        before = [process.output.count(words) for words in (said, taken)]
        if not self.run.peer.set_parameter(self.node, "robot_description", self.text).successful:
            return

        def reported() -> bool:
            return process.output.count(said) > before[0] or process.output.count(taken) > before[1]

        self.run.peer.wait_until(reported, "a description is not reported")
        if same and process.output.count(taken) > before[1]:
            self.finds.append(f"a comment is another model:\n{process.describe()}")

    def _end(self, number: signal.Signals) -> None:
        if self.instances:
            self.caused = time.monotonic()
            if self.actions is not None:
                self.actions.forget()
            process = self.instances.pop(self.run.random.randrange(len(self.instances)))
            self.starved = self._losses()
            process.send_signal(number)
            code = process.wait_for_exit()
            if "Traceback" in process.output or (number is signal.SIGINT and code):
                self.finds.append(f"ends by {number.name} with {code}:\n{process.describe()}")

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def respawn(self) -> None:
        given = self.payload
        self.kill()
        self.start()
        if not given or not self.alone:
            return
        process = self.instances[-1]
        with contextlib.suppress(HarnessError):
            request = GetParameters.Request(names=["payload_mass"])
            answer = self.run.peer.call(GetParameters, f"{self.node}/get_parameters", request)
            kept = answer.values[0].double_value
            said = "given it live" in process.output or "given live" in process.output
            if kept != given and not said:
                self.finds.append(f"payload {given} became {kept}, and nobody said so:\n{process.describe()}")
            self.payload = kept

    def pause(self) -> None:
        if self.instances:
            process, self.caused = self.run.random.choice(self.instances), time.monotonic()
            process.send_signal(signal.SIGSTOP)
            self.run.wait(self.run.random.uniform(0.1, 1.5))
            process.send_signal(signal.SIGCONT)

    def lifecycle(self) -> None:
        if self.alone:
            self.caused = time.monotonic()
            cycle = Lifecycle(self.run.peer, self.node)
            cycle.change(self.run.random.choice([cycle.ACTIVATE, cycle.DEACTIVATE]))
            self.caused = time.monotonic()  # on a loaded machine it takes seconds

    def act(self) -> None:
        if self.actions is not None:
            self.actions.act()

    def goal_message(self, seconds: float) -> JointTrajectory:
        """A place near the arm's."""
        assert self.position is not None
        shift = [self.run.random.uniform(-0.3, 0.3) * (k != 2) for k in range(len(self.position))]
        place = [float(q) + s for q, s in zip(self.position, shift, strict=True)]
        point = JointTrajectoryPoint(positions=place)
        point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(1e9 * (seconds % 1))
        return JointTrajectory(joint_names=["joint1", "joint2", "joint3", "joint4"], points=[point])

    def goal(self) -> None:
        self.caused = self.moved = time.monotonic()
        seconds = self.run.random.uniform(0.5, 2.0)
        if self.kind == "platform":
            shift = Transform()
            shift.translation.x = self.run.random.uniform(-0.05, 0.05)
            shift.translation.z = self.run.home
            shift.rotation.w = 1.0
            point = MultiDOFJointTrajectoryPoint(transforms=[shift])
            point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(1e9 * (seconds % 1))
            message = MultiDOFJointTrajectory(joint_names=["platform"], points=[point])
        elif self.position is None:
            return
        else:
            message = self.goal_message(seconds)
        (self.fed if self.feeder and self.run.random.random() < 0.5 else self.goals).publish(message)

    def feed(self) -> None:
        """The feedforward node of an arm starts, ends or is killed."""
        if self.kind != "arm":
            return
        if self.feeder is None:
            names = ["joint_trajectory", *(f"follow_joint_trajectory/{part}" for part in ACTION)]
            words = [word for n in names for word in ("-r", f"{DOWNSTREAM}/{n}:={NODES['arm']}/{n}")]
            self.feeder = self.enter(FEEDER, self.description, words)
            return
        number = self.run.random.choice([signal.SIGINT, signal.SIGKILL])
        process, self.feeder, self.caused = self.feeder, None, time.monotonic()
        if self.actions is not None:
            self.actions.forget()
        process.send_signal(number)
        code = process.wait_for_exit()
        if "Traceback" in process.output or (number is signal.SIGINT and code):
            self.finds.append(f"feeder ends by {number.name} with {code}:\n{process.describe()}")

    def driver(self) -> None:
        """The driver of the brakes reports nothing, or the contrary."""
        until = time.monotonic() + self.run.random.uniform(0.2, 2.5)
        if self.run.random.random() < 0.5:
            self.silent = until
        else:
            self.contrary, self.caused = until, until

    def load(self) -> None:
        if self.alone:
            mass = round(self.run.random.uniform(0.0, 0.5), 3)
            with contextlib.suppress(HarnessError):
                if self.run.peer.set_parameter(self.node, "payload_mass", mass).successful:
                    self.payload = mass

    def ask(self) -> None:
        if not self.alone:
            return
        services = ["hold", "reset_fault"] + (["emergency_stop", "park", "unpark"] if self.braked else [])
        service, before = self.run.random.choice(services), self.unparked
        if service == "unpark":
            self.unparked, self.caused = True, time.monotonic() + QUIET  # from its park pose it goes home
        answer = self.run.peer.call(Trigger, f"{self.node}/{service}")
        if service == "unpark" and not answer.success:
            self.unparked = before
        if service == "emergency_stop" and answer.success:
            self.stopped, self.unparked, self.caused = False, False, time.monotonic()
            self.run.wait(2.0)  # it comes to rest, and the brakes engage
            self.stopped = True
        elif service == "park" and answer.success and self.alone:
            self._parks(self.alone)

    def _parks(self, process: NodeProcess) -> None:
        """It goes down to its park pose and brakes; from then on the brakes open only after ~/unpark."""
        self.stopped, self.descends, end = False, self.kind == "platform", time.monotonic() + PARKING
        said = "the platform: parked" if self.kind == "platform" else "the arm: on its brakes until"
        before = process.output.count(said)
        while process.output.count(said) == before and time.monotonic() < end:
            self.caused = time.monotonic()
            self.run.wait(0.2)
        self.descends, self.caused = False, time.monotonic()
        if process.output.count(said) > before:
            self.run.wait(0.5)
            self.stopped, self.unparked = True, False

    def stream(self) -> None:
        """Poses at 60 Hz for a while; after their end a platform parks."""
        process = self.alone
        if process is None or self.kind != "platform" or self.commanded is not False:
            return
        said = process.output.count("settling down to the park pose")
        begin, turn = time.monotonic(), self.run.random.uniform(1.0, 3.0)
        pose = PoseStamped()
        pose.pose.position.z, pose.pose.orientation.w = self.run.home, 1.0
        while time.monotonic() < begin + 2.0:
            self.caused = time.monotonic()
            pose.pose.position.x = 0.01 * float(np.sin(turn * (time.monotonic() - begin)))
            self.poses.publish(pose)
            self.run.wait(1.0 / 60.0)
        self.descends = True
        with contextlib.suppress(HarnessError):
            settles = lambda: process.output.count("settling down to the park pose") > said  # noqa: E731
            self.run.peer.wait_until(settles, "", 2.0)
            self._parks(process)
        self.descends = False


class Run:
    """One sequence, which its seed repeats as far as schedulers permit."""

    home = 0.55

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.peer = Peer()
        self.said: list[str] = []

    def wait(self, seconds: float) -> None:
        """Let the observer look for a while."""
        end = time.monotonic() + seconds
        with contextlib.suppress(HarnessError):
            self.peer.wait_until(lambda: time.monotonic() > end, "", seconds + 1.0)

    def events(self) -> list[str]:
        """Let it happen; returns what was found."""
        with tempfile.TemporaryDirectory() as self.folder, contextlib.ExitStack() as stack:
            kinds = [self.random.choice(list(NODES)) for _ in range(self.random.choice([1, 1, 2]))]
            spaces = [""] if len(kinds) == 1 else ["/left", "/right"]
            robots = [Robot(self, kind, space, stack) for kind, space in zip(kinds, spaces, strict=True)]
            self.wait(4.0)
            for _ in range(EVENTS):
                robot = self.random.choice(robots)
                name = self.random.choices(
                    [
                        "start",
                        "stop",
                        "kill",
                        "respawn",
                        "pause",
                        "lifecycle",
                        "goal",
                        "load",
                        "ask",
                        "describe",
                        "feed",
                        "driver",
                        "act",
                        "stream",
                    ],
                    [3, 1, 2, 2, 2, 3, 5, 2, 3, 1, 2, 1, 7 if FollowJointTrajectory is not None else 0, 2],
                )[0]
                self.said.append(f"{robot.kind}{robot.namespace} {name}")
                try:
                    getattr(robot, name)()
                except HarnessError as error:
                    described = [each.describe() for each in (robot.simulator, *robot.instances)]
                    return [f"{name}: {error}", *described]
                self.wait(self.random.uniform(0.1, 3.0))
                for each in robots:
                    if each.actions is not None:
                        each.actions.look()
                if found := [find for each in robots for find in each.finds]:
                    return found
            return [
                process.describe()
                for each in robots
                for process in (*each.instances, *filter(None, [each.feeder]))
                if "Traceback" in process.output
            ]


def main() -> None:
    """Search for so many minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    seed, end, finds = given.seed, time.monotonic() + 60.0 * given.minutes, 0
    if FollowJointTrajectory is None:
        print("control_msgs is not installed: no goals of actions", flush=True)
    while time.monotonic() < end:
        run = Run(seed)
        try:
            found = run.events()
        except HarnessError as error:
            found = [str(error)]
        finally:
            run.peer.close()
        finds += bool(found)
        print(f"seed {seed}: {len(run.said)} events, {len(found)} finds", flush=True)
        for find in found:
            print(f"  after {', '.join(run.said[-8:])}: {find}", flush=True)
        seed += 1
    print(f"{finds} of {seed - given.seed} runs with finds")


if __name__ == "__main__":
    main()
