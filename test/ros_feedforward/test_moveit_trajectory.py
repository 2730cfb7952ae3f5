"""A Panda's trajectory as MoveIt times it, and ``retime: slower``: it exceeds limits between its points."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
import yaml
from builtin_interfaces.msg import Duration
from closed_loop import description
from diagnostic_msgs.msg import DiagnosticArray
from ros_harness import NodeProcess, peer_with
from scipy.interpolate import BPoly
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robot_dynamics as rd
from robot_dynamics.control.arm.tolerances import Tolerances
from robot_dynamics.control.arm.trajectory import Reference, plan
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.ros.actions.goal_trajectory import stretch_tolerances
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds

pytestmark = pytest.mark.ros
NODE, TIP = "trajectory_feedforward", "panda_link8"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FINGERS = 2


@pytest.fixture(scope="module")
def given():
    """The example's trajectory as a message, and MoveIt's limits."""
    document = yaml.safe_load((EXAMPLES / "panda_moveit.yaml").read_text(encoding="utf-8"))
    message = JointTrajectory(joint_names=document["joint_names"])
    for point in document["points"]:
        made = JointTrajectoryPoint(
            **{name: point[name] for name in ("positions", "velocities", "accelerations")}
        )
        made.time_from_start = Duration(**point["time_from_start"])
        message.points.append(made)
    limits = yaml.safe_load((EXAMPLES / "panda_joint_limits.yaml").read_text(encoding="utf-8"))[
        "joint_limits"
    ]
    return message, limits


def rows(message):
    """Times, positions, velocities, accelerations and efforts of a message."""
    times = np.array([1e-9 * stamp_to_nanoseconds(point.time_from_start) for point in message.points])
    kinds = ("positions", "velocities", "accelerations", "effort")
    return times, *(np.array([list(getattr(point, kind)) for point in message.points]) for kind in kinds)


@pytest.mark.parametrize("mode", ["off", "slower"])
def test_only_retimed_it_comes_out_and_is_executable(given, mode):
    message, limits = given
    text = description("panda").read_text(encoding="utf-8")
    rules = {
        f"joint_limits.{joint}.{name}": value for joint, one in limits.items() for name, value in one.items()
    }
    node = NodeProcess(
        NODE,
        {
            "robot_description": text,
            "tip": TIP,
            "state_timeout": 60.0,
            "retime": mode,
            "torque_check": "refuse",
        }
        | rules,
    )
    with node, peer_with(node) as peer:
        states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        sent = peer.subscribe(JointTrajectory, "joint_trajectory_controller/joint_trajectory", qos.TRAJECTORY)
        reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        give = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        here = JointState(name=message.joint_names, position=list(message.points[0].positions))

        def ready():
            states.publish(here)
            return reports and reports[-1].status[0].message == "ready"

        peer.wait_until(ready, "the node does not become ready")
        give.publish(message)
        if mode == "off":
            peer.wait_until(
                lambda: "trajectory refused: joint" in node.output, "the trajectory is not refused"
            )
            assert not sent
            return

        def answered():
            states.publish(here)
            return bool(sent)

        peer.wait_until(answered, "no trajectory was sent on")
    times, q, qd, qdd, efforts = rows(sent[-1])
    asked = 1e-9 * stamp_to_nanoseconds(message.points[-1].time_from_start)
    assert times[-1] > 1.03 * asked
    np.testing.assert_allclose(q[-1], message.points[-1].positions, atol=1e-6)
    highest = [
        np.array([one[f"max_{kind}"] for one in limits.values()]) for kind in ("velocity", "acceleration")
    ]
    # MoveIt's own points keep the limits; what a controller interpolates between them does not.
    assert (np.abs([point.accelerations for point in message.points]) <= 1.001 * highest[1]).all()
    for given_or_sent, exceeds in ((message, True), (sent[-1], False)):
        knots, *derivatives, _ = rows(given_or_sent)
        motion = BPoly.from_derivatives(knots, np.stack(derivatives, axis=1))
        dense = np.linspace(knots[0], knots[-1], 20_001)
        assert (np.abs(motion.derivative(2)(dense)) > 1.5 * highest[1]).any() == exceeds
        assert (np.abs(motion.derivative(1)(dense)) <= 1.001 * highest[0]).all()
        assert exceeds or (np.abs(motion.derivative(2)(dense)) <= 1.001 * highest[1]).all()
    # Efforts: Pinocchio's, with the fingers closed.
    model = pin.buildModelFromXML(text)
    data, closed = model.createData(), np.zeros((len(q), FINGERS))
    states_of = (np.hstack([part, closed]) for part in (q, qd, qdd))
    wanted = np.array([pin.rnea(model, data, *state)[:7] for state in zip(*states_of, strict=True)])
    np.testing.assert_allclose(efforts, wanted, atol=0.02)
    assert (np.abs(efforts) <= model.effortLimit[:7]).all()


def test_tolerances_of_the_goal_follow_the_new_timing():
    chain = rd.load_urdf(description("panda"), tip=TIP)
    names, start = chain.joint_names, np.array([0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0])
    table = WaypointTable(np.array([1.0]), start[None] + 0.1, *np.full((2, 1, 7), np.nan))
    rest = Reference.at_rest(start)

    def twice(spline):
        return type(spline)(2.0 * spline.times, spline.coefficients)

    made = plan(chain, names, table, 0.0, rest, 0.0, retiming=twice)
    assert made.stretch == pytest.approx(2.0)
    assert plan(chain, names, table, 0.0, rest, 0.0).stretch == 1.0
    own = Tolerances(np.ones((3, 7)), np.ones((3, 7)), 0.5).stretched(made.stretch)
    np.testing.assert_allclose(own.path[:, 0], [1.0, 0.5, 0.25])
    assert own.goal_time == 1.0 and (own.goal == 1.0).all()
    # The same in the message that the feedforward node passes on; 0 and -1 have a meaning of their own.
    goal = SimpleNamespace(
        path_tolerance=[
            SimpleNamespace(position=0.1, velocity=0.4, acceleration=-1.0),
            SimpleNamespace(position=0.0, velocity=0.0, acceleration=0.8),
        ],
        goal_time_tolerance=Duration(sec=1, nanosec=500_000_000),
    )
    stretch_tolerances(goal, made.stretch)
    first, second = goal.path_tolerance
    assert (first.position, first.velocity, first.acceleration) == (0.1, 0.2, -1.0)
    assert (second.velocity, second.acceleration) == (0.0, 0.2)
    assert goal.goal_time_tolerance == Duration(sec=3)
