"""A Stewart platform in motion at 1 Hz: simulator and ``stewart_platform`` as processes, over DDS."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np
from geometry_msgs.msg import PoseStamped, Transform
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from robot_dynamics import stewart
from robot_dynamics.report.stewart import StewartRecording
from robot_dynamics.resources import resource
from robot_dynamics.ros.demo.arm import Progress
from robot_dynamics.ros.running.observer import (
    SECOND,
    Observer,
    complete_stamps,
    duration_message,
    newest,
    wait_for_start,
)
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import JointOrder
from robot_dynamics.ros.support.processes import NodeProcess, claim_domain
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_vector,
)

MACHINE = "stewart_demo"
RATE = 500.0
FREQUENCY = 1.0
AMPLITUDE = 0.05
"""Of the translation, in a direction that moves x, y and z [m]."""
ANGLE = np.radians(5.0)
"""Of the rotation, about an axis that is none of the frame's."""
DURATION = 5.0
RAMP = 1.0
SETTLING = 0.3
SPACING = 0.02
"""Between two waypoints [s]."""


def path(times: Array) -> tuple[Array, Array]:
    """Displacement (N, 3) [m] and rotation vector (N, 3) [rad] from home: a sine that swells and fades."""
    rise = np.clip(np.minimum(times, DURATION - times) / RAMP, 0.0, 1.0)
    envelope = rise**3 * (10.0 - 15.0 * rise + 6.0 * rise**2)
    phase = 2.0 * np.pi * FREQUENCY * times
    direction, axis = np.array([1.0, 1.0, 1.0]) / np.sqrt(3.0), np.array([1.0, -1.0, 1.0]) / np.sqrt(3.0)
    shift = (AMPLITUDE * envelope * np.sin(phase))[:, None] * direction
    turn = (ANGLE * envelope * np.sin(phase + 0.5 * np.pi))[:, None] * axis
    return shift, turn


def trajectory(machine: stewart.Machine) -> MultiDOFJointTrajectory:
    """The motion as poses alone; velocities and accelerations are the controller's to find."""
    times = np.arange(0.0, DURATION + 0.5 * SPACING, SPACING)
    shifts, turns = path(times)
    message = MultiDOFJointTrajectory(joint_names=["platform"])
    for time, shift, turn in zip(times, shifts, turns, strict=True):
        transform = Transform()
        place, rotation = transform.translation, transform.rotation
        place.x, place.y, place.z = (machine.home_position + shift).tolist()
        orientation = quaternion_from_rotation(rotation_from_vector(turn) @ machine.home_rotation)
        rotation.x, rotation.y, rotation.z, rotation.w = orientation.tolist()
        point = MultiDOFJointTrajectoryPoint(transforms=[transform])
        point.time_from_start = duration_message(float(time))
        message.points.append(point)
    return message


def _values(message: PoseStamped) -> list[float]:
    place, turn = message.pose.position, message.pose.orientation
    return [place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w]


Nodes = tuple[NodeProcess, ...]


def run(
    progress: Progress,
    rate: float = RATE,
    arguments: Sequence[str] = (),
    before: Callable[[Nodes], None] = lambda _: None,
    after: Callable[[Nodes, Observer], None] = lambda *_: None,
) -> StewartRecording:
    """Start both nodes, make the motion in lockstep, stop them.

    Args:
        progress: called with the share of the motion.
        rate: of the control loop [Hz].
        arguments: further ROS arguments of the controller.
        before: called with the nodes when they talk, before the motion begins.
        after: called with the nodes and their observer after the motion.

    Raises:
        RobotDynamicsError: a node ends or falls silent.
    """
    title = (
        f"platform: {FREQUENCY:g} Hz, {1e3 * AMPLITUDE:g} mm along (1, 1, 1)"
        f" and {np.degrees(ANGLE):g}° about (1, -1, 1)"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = stewart.load(resource(f"config/{MACHINE}.yaml")).machine
    common = {"machine": MACHINE, "lockstep": True}
    with ExitStack() as stack:
        domain = claim_domain()
        controller = stack.enter_context(
            NodeProcess(
                "robot_dynamics.ros.stewart_platform",
                domain,
                {**common, "safe_output": "zero", "ki": -1.0},
                arguments,
            )
        )
        simulator = stack.enter_context(
            NodeProcess("robot_dynamics.ros.simulator", domain, {**common, "rate": rate})
        )
        observer = stack.enter_context(Observer(domain, (controller, simulator)))
        order = JointOrder(machine.leg_names)
        poses = observer.record(PoseStamped, "simulator/platform_pose", _values)
        references = observer.record(PoseStamped, "stewart_platform/reference", _values)
        forces = observer.record(JointState, "joint_command", order.read_command)
        sender = observer.node.create_publisher(
            MultiDOFJointTrajectory, "stewart_platform/trajectory", qos.TRAJECTORY
        )
        observer.wait_until(
            lambda: all((poses, references, forces)) and sender.get_subscription_count() > 0,
            "waiting for simulator and controller",
        )
        before((controller, simulator))
        sender.publish(trajectory(machine))
        begin = wait_for_start(observer, references, title)
        end = begin + round((DURATION + SETTLING) * SECOND)

        def show() -> None:
            progress(title, min(1.0, max(0.0, (observer.latest - begin) / (end - begin))))

        observer.wait_until(lambda: min(map(newest, (poses, references, forces))) > end, title, show)
        stamps = complete_stamps((poses, references, forces), begin, end)
        after((controller, simulator), observer)
    wanted = np.array([references[stamp] for stamp in stamps])
    true = np.array([poses[stamp] for stamp in stamps])
    force = np.array([forces[stamp] for stamp in stamps])
    return _recording(title, machine, np.array([1e-9 * (s - begin) for s in stamps]), wanted, true, force)


def _recording(
    title: str, machine: stewart.Machine, time: Array, wanted: Array, true: Array, force: Array
) -> StewartRecording:
    home = machine.home_rotation
    rotations = [rotation_from_quaternion(rows[:, 3:]) for rows in (wanted, true)]
    vectors = [np.array([rotation_vector(r @ home.T) for r in rows]) for rows in rotations]
    errors = np.array([np.linalg.norm(rotation_vector(a @ b.T)) for a, b in zip(*rotations, strict=True)])
    return StewartRecording(
        title,
        machine.leg_names,
        time,
        np.hstack((wanted[:, :3], vectors[0])),
        np.hstack((true[:, :3], vectors[1])),
        errors,
        force,
        np.array([leg.limits.force for leg in machine.legs]),
    )
