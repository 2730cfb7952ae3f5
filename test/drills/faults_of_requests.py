"""Faults of what others ask of a node: trajectories, descriptions, parameters, services."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

from faults import fault
from geometry_msgs.msg import Twist
from machines import ARM
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter
from scene import Scene
from scenes import CONTROLLERS, FEEDERS, THAT_MOVE_IN_SIMULATED_TIME
from std_msgs.msg import String
from std_srvs.srv import Trigger

from robot_dynamics.ros.support import qos

ROBOT = ARM
"""The description in use."""
MOVED = (*CONTROLLERS, *FEEDERS)
ONE_ARM = ("arm", "arm_in_python", *FEEDERS, "model", "simulator")


@fault(MOVED, quick=("arm",))
def trajectories_malformed(scene: Scene) -> None:
    """Wrong names and counts, numbers that are not finite, times that run back; bytes that are none."""
    here = list(scene.goals[0])
    for bad in (
        scene.make([(1.0, [math.nan] * len(here))]),
        scene.make([(1.0, [math.inf] * len(here))]),
        scene.make([(1.0, [1e300] * len(here))]),
        scene.make([(1.0, here), (0.5, here)]),
        scene.make([(0.0, here), (0.0, here)]),
        scene.make([(-1.0, here)]),
        scene.make([(1e-9, here)]),
        _renamed(scene.make([(1.0, here)]), ["nobody", "nothing"]),
        _renamed(scene.make([(1.0, here)]), ["x" * 100_000, ""]),
        _moving(scene.make([(1.0, here)]), 1e9),
        _moving(scene.make([(1.0, here), (2.0, here)]), math.nan),
        b"\0\1\0\0" + b"\xff" * 100,
        b"\0\1\0\0" + bytes(20) + b"\xff\xff\xff\x7f",
        b"",
    ):
        scene.send(bad)
    scene.said("refused")


def _renamed(message: Any, names: list[str]) -> Any:
    message.joint_names = names
    return message


def _moving(message: Any, speed: float) -> Any:
    """Velocities at every point, of one joint or of the platform."""
    for point in message.points:
        if hasattr(point, "positions"):
            point.velocities = [speed] * len(point.positions)
        else:
            twist = Twist()
            twist.linear.x = speed
            point.velocities = [twist]
    return message


@fault(MOVED)
def trajectories_huge(scene: Scene) -> None:
    """90 000 points, then a million, then 50 MB of names."""
    here = list(scene.goals[0])
    for count in (90_000, 300_000):
        scene.send(scene.make([(0.01 * (k + 1), here) for k in range(count)]))
        scene.move()
    scene.send(_renamed(scene.make([(1.0, here)]), ["x" * 1_000_000] * 50))
    scene.send(b"\0\1\0\0" + bytes(50_000_000))
    scene.wire.wait_for_states(50)


@fault((*MOVED, *THAT_MOVE_IN_SIMULATED_TIME))
def trajectories_far_away(scene: Scene) -> None:
    """Goals in 60 years, in the past, beyond the limits, in no time at all."""
    here, there = list(scene.goals[0]), list(scene.goals[1])
    late = scene.make([(2.0**31 - 1, here)])
    future, past = scene.make([(1.0, here)]), scene.make([(1.0, here)])
    future.header.stamp.sec, past.header.stamp.sec = 2**31 - 1, 1
    for far in (
        late,
        future,
        past,
        scene.make([(1.0, [9.0 * x for x in here])]),
        scene.make([(0.001, there)]),
        scene.make([(1e-9, there), (1.0, here)]),
        scene.make([(0.5, here), (0.500000001, there), (1.0, here)]),
    ):
        scene.send(far)
        scene.wire.wait_for_states(3)


@fault((*MOVED, *THAT_MOVE_IN_SIMULATED_TIME), quick=("arm",))
def trajectories_replaced(scene: Scene) -> None:
    """Another goal 50 times a second, back and forth."""
    goals = itertools.cycle(scene.goals)
    for _ in range(50):
        scene.send(scene.make([(0.8, next(goals))]))
        scene.wire.wait_for_states(2)


@fault(MOVED)
def flood_of_trajectories(scene: Scene) -> None:
    """2000 trajectories as fast as they can be sent, good ones, bad ones and empty ones."""
    goals = itertools.cycle(scene.goals)
    for k in range(2000):
        scene.send(scene.make([] if k % 3 == 0 else [(0.8 if k % 3 == 1 else -1.0, next(goals))]))
    scene.wire.wait_for_states(20)


@fault(MOVED)
def flood_of_holds(scene: Scene) -> None:
    """500 calls of the hold service at a time."""
    client = scene.peer.node.create_client(Trigger, f"{scene.node}/hold")
    scene.peer.wait_until(client.service_is_ready, "no hold service")
    futures = [client.call_async(Trigger.Request()) for _ in range(500)]
    scene.peer.wait_until(lambda: any(future.done() for future in futures), "no hold is answered")
    scene.peer.node.destroy_client(client)


DESCRIPTIONS = (
    "",
    "<",
    "garbage",
    "<robot",
    "<robot/>",
    "\x00<robot/>",
    "<robot name='x'><link name='a'/></robot>",
    '<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>',
    ROBOT.replace('mass value="2"', 'mass value="-2"'),
    ROBOT.replace('mass value="2"', 'mass value="nan"'),
    ROBOT.replace('mass value="2"', 'mass value="1e300"'),
    ROBOT.replace('effort="40"', 'effort="1e400"'),
    ROBOT.replace('effort="40"', 'effort="-1"'),
    ROBOT.replace('axis xyz="0 1 0"', 'axis xyz="0 0 0"'),
    ROBOT.replace('<child link="lower"/>', '<child link="base"/>'),
    ROBOT.replace('xyz="0.4 0 0"', 'xyz="1e200 0 0"'),
    "<" * 100_000,
    "<robot name='x'>" + "<link name='l'/>" * 20_000 + "</robot>",
)


@fault(ONE_ARM)
def descriptions_absurd(scene: Scene) -> None:
    """Descriptions that are none or of no robot, on the topic and as a parameter; in the end the good one."""
    publisher = scene.peer.publisher(String, "robot_description", qos.DESCRIPTION)
    try:
        for text in DESCRIPTIONS:
            publisher.publish(String(data=text))
            if "\x00" not in text:
                assert_refused_or_same(scene, "robot_description", text)
        assert scene.peer.set_parameter(scene.node, "robot_description", ROBOT).successful
    finally:
        scene.peer.node.destroy_publisher(publisher)


@fault(ONE_ARM)
def descriptions_of_50_megabytes(scene: Scene) -> None:
    """50 MB of text as a description, on the topic and as a parameter."""
    text = "<robot name='x'>" + "<!-- " + "x" * 50_000_000 + " --></robot>"
    publisher = scene.peer.publisher(String, "robot_description", qos.DESCRIPTION)
    try:
        publisher.publish(String(data=text))
        assert_refused_or_same(scene, "robot_description", text)
    finally:
        scene.peer.node.destroy_publisher(publisher)


@fault(ONE_ARM)
def descriptions_in_turn(scene: Scene) -> None:
    """Two good descriptions, 20 times a second."""
    heavy = ROBOT.replace('mass value="1"', 'mass value="1.5"')
    publisher = scene.peer.publisher(String, "robot_description", qos.DESCRIPTION)
    try:
        for k in range(40):
            publisher.publish(String(data=(heavy, ROBOT)[k % 2]))
            scene.wire.wait_for_states(5)
    finally:
        scene.peer.node.destroy_publisher(publisher)


def assert_refused_or_same(scene: Scene, name: str, value: Any) -> None:
    """A bad value is refused with a reason, in bounded time and length."""
    answer = scene.peer.set_parameter(scene.node, name, value)
    if not answer.successful:
        assert 0 < len(answer.reason) < 2000, f"{name}: a reason of {len(answer.reason)} characters"


NUMBERS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e6, 5e-324, -1.0)
ABSURD: dict[str, tuple[Any, ...]] = {
    "state_timeout": (math.nan, -1.0, 0.0, 1e300, "text", True, [0.1]),
    "safe_fade_time": (math.nan, -1.0, 1e300, math.inf),
    "safe_output": ("", "explode", 5),
    "model_change_time": NUMBERS,
    "max_stamp_step": NUMBERS,
    "max_state_jump": NUMBERS,
    "max_velocity_factor": NUMBERS,
    "max_effort_step": (math.nan, math.inf, -1.0, 3.0),
    "control_period": NUMBERS,
    "kp": ([math.nan], [math.inf], [-1.0], [1e308], [], [1.0] * 100_000, ["a"], 5.0, [1e6]),
    "kv": ([math.nan], [math.inf], [-1.0], [1e308], [], [1.0] * 100_000, [1e4]),
    "mode": ("", "unknown", "x" * 1_000_000, "pd", "feedforward", "gravity_compensation"),
    "payload_mass": (math.nan, math.inf, -1.0, 1e300, 1e6),
    "payload_center": ([math.nan] * 3, [1e300] * 3, [1.0] * 2, []),
    "payload_inertia": ([math.nan] * 6, [1.0, 0.0, 0.0, 1e-9, 0.0, 1e-9], [-1.0] * 6),
    "gravity": ([math.nan] * 3, [1e300] * 3, [0.0], [99.0, 99.0, 99.0]),
    "max_effort": ([math.nan], [-1.0], [1e-300], [1.0] * 50),
    "rotor_inertia": ([math.nan], [-1.0], [1e300], [1e6]),
    "damping": ([math.nan], [-1.0], [1e300], [1e6]),
    "friction": ([math.nan], [-1.0], [1e300]),
    "command_rate": (0.0, math.nan, 1e9),
    "effort_error": ([0.0], [math.nan], [-1.0], [1e-300]),
    "effort_error_share": (0.0, math.nan, 1e-300),
    "dh_tolerance": (0.0, math.nan, -1.0, 1e300),
    "load_period": (math.nan, -1.0, 1e300),
    "machine": ("", "/dev/zero", "/nonexistent", "x" * 1_000_000),
    "zero_lengths": ([math.nan] * 6, [1.0] * 5, [0.5] * 6),
    "use_sim_time": (5, "yes"),
    "robot_compensates_gravity": (5, "yes"),
}

NOT_GIVEN = {"max_effort": [0.0], "damping": [0.0], "friction": [0.0], "effort_error": [0.05]}
"""Values nearest to lists that nobody has set."""


@fault((*CONTROLLERS, *FEEDERS, "model", "simulator"))
def parameters_absurd(scene: Scene) -> None:
    """Every parameter that is a number or a list, set live to what it cannot be, or only just can be."""
    node, peer = scene.node, scene.peer
    known = set(peer.call(ListParameters, f"{node}/list_parameters").result.names)
    for name in sorted(known & ABSURD.keys()):
        before = peer.call(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=[name]))
        for value in ABSURD[name]:
            assert_refused_or_same(scene, name, value)
        scene.wire.wait_for_states(2)
        parameter = Parameter(name, value=NOT_GIVEN.get(name, [0.0])).to_parameter_msg()
        if before.values:
            parameter.value = before.values[0]
        if before.values or name in NOT_GIVEN:
            peer.call(SetParameters, f"{node}/set_parameters", SetParameters.Request(parameters=[parameter]))


@fault(CONTROLLERS)
def parameters_in_turn(scene: Scene) -> None:
    """Gains and mode changed as fast as the node answers, while it follows a trajectory."""
    began = time.monotonic()
    for gain in itertools.cycle([20.0, 400.0]):
        scene.peer.set_parameter(scene.node, "kp", [gain])
        scene.peer.set_parameter(scene.node, "mode", "computed_torque")
        if time.monotonic() > began + 1.0:
            break
    scene.peer.set_parameter(scene.node, "kp", [100.0])


@fault((*CONTROLLERS, *FEEDERS, "model", "simulator"))
def payload_in_turn(scene: Scene) -> None:
    """A payload that comes and goes."""
    for mass in (0.5, 0.0, 0.3, 0.0):
        assert scene.peer.set_parameter(scene.node, "payload_mass", mass).successful
        scene.move(1.0)
