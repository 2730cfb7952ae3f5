"""Every formulation against Pinocchio and against closed forms."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio
import pytest
import random_robots
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.codegen import nodes
from robot_dynamics.codegen.expression import ExpressionGraph
from robot_dynamics.dynamics.formulations import FORMULATIONS
from robot_dynamics.dynamics.scalar import SYMBOLS
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ModelWarning
from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain, RigidBody
from robot_dynamics.model.load import load_urdf

REVOLUTE, PRISMATIC = JointKind.REVOLUTE, JointKind.PRISMATIC
Z = np.array([0.0, 0.0, 1.0])
DOWN = np.array([0.0, 0.0, -9.81])
cheap = pytest.mark.parametrize("name", [name for name in FORMULATIONS if name != "lagrange-direct"])
every = pytest.mark.parametrize("name", FORMULATIONS)


EXAMPLE_ROBOTS = (
    "ur_description/urdf/ur5_robot.urdf",
    "ur_description/urdf/ur10_robot.urdf",
    "z1_description/urdf/z1.urdf",
    "panda_description/urdf/panda.urdf",
    "talos_data/robots/talos_left_arm.urdf",
    "tiago_description/robots/tiago_no_hand.urdf",
    "kinova_description/robots/kinova.urdf",
)


def agree(robot, gravity, seed, names=FORMULATIONS, tolerance=1e-10):
    """Every formulation equals Pinocchio, relative to the largest torque."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-3, 3, (3, robot.dof))
    wrench = rng.normal(scale=5.0, size=6)
    expected = random_robots.pinocchio_inverse_dynamics(robot, gravity, q, qd, qdd, wrench)
    model = SerialModel.from_chain(robot, gravity)
    for name in names:
        tau = FORMULATIONS[name](model, q, qd, qdd, wrench)
        error = np.max(np.abs(tau - expected)) / np.max(np.abs(expected))
        assert error < tolerance, f"{name} misses Pinocchio by {error:.1e}"


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(0, 10**6))
def test_random_robots_equal_pinocchio(seed):
    robot = random_robots.chain(seed)
    gravity = np.random.default_rng(seed).normal(scale=7.0, size=3)
    slow = robot.dof > 4
    agree(robot, gravity, seed, [name for name in FORMULATIONS if not (slow and name == "lagrange-direct")])


@pytest.mark.parametrize("kinds", ["R", "P", "RRRR", "PPPP", "PRPR", "RRRRRRRR"])
def test_named_joint_sequences_equal_pinocchio(kinds):
    sequence = [REVOLUTE if kind == "R" else PRISMATIC for kind in kinds]
    for seed in range(3):
        agree(random_robots.chain(seed, n=len(kinds), kinds=sequence), DOWN, seed)


@pytest.mark.parametrize("kinds", [[REVOLUTE] * 4, [PRISMATIC] * 4, [REVOLUTE, PRISMATIC] * 2])
def test_all_axes_parallel(kinds):
    for seed in range(3):
        agree(parallel_arm(seed, kinds, tilt=0.0), np.array([1.0, -2.0, -9.0]), seed)


@pytest.mark.parametrize("tilt", [3.7e-6, 1e-9, 4.9e-12])
def test_axes_that_are_parallel_but_for_rounding(tilt):
    for seed in range(3):
        agree(parallel_arm(seed, [REVOLUTE] * 4, tilt), DOWN, seed)


def test_massless_links_inside():
    agree(random_robots.chain(5, n=5, massless=(0, 2, 3)), DOWN, 5)


def test_hanging_upside_down_and_tilted_base():
    agree(random_robots.chain(7, n=4), -DOWN, 7)
    agree(random_robots.chain(8, n=4), random_robots.tilt(0.7)[:3, :3] @ DOWN, 8)


def parallel_arm(seed, kinds, tilt):
    """All joints turn about, or slide along, axes that are parallel but for ``tilt`` [rad] each."""
    rng = np.random.default_rng(seed)
    joints = tuple(
        ChainJoint(
            name=f"j{i}",
            link=f"l{i}",
            kind=kind,
            origin=random_robots.shift(*rng.uniform(-0.4, 0.4, 3)) @ random_robots.tilt(tilt),
            axis=Z * rng.choice([-1.0, 1.0]),
            body=random_robots.body(rng),
            coordinate=i,
        )
        for i, kind in enumerate(kinds)
    )
    return KinematicChain("parallel", "root", "tip", joints, tuple(j.name for j in joints), np.eye(4))


def arm(*links):
    """A chain of (kind, origin, axis, body)."""
    joints = tuple(
        ChainJoint(f"j{i}", f"l{i}", kind, origin, np.array(axis, dtype=float), body, coordinate=i)
        for i, (kind, origin, axis, body) in enumerate(links)
    )
    return KinematicChain("arm", "root", "tip", joints, tuple(j.name for j in joints), np.eye(4))


def point_mass(mass, *center):
    return RigidBody(mass, np.array(center, dtype=float), np.zeros((3, 3)))


@every
def test_pendulum(name):
    mass, length, g = 1.7, 0.6, 9.81
    robot = arm((REVOLUTE, np.eye(4), [0, 1, 0], point_mass(mass, 0, 0, -length)))
    tau = FORMULATIONS[name](SerialModel.from_chain(robot), [0.4], [2.0], [3.0])
    np.testing.assert_allclose(tau, [mass * length**2 * 3.0 + mass * g * length * np.sin(0.4)], rtol=1e-13)


@every
def test_slider_on_an_incline(name):
    slope, mass = 0.3, 2.0
    axis = [0.0, np.cos(slope), np.sin(slope)]
    robot = arm(
        (
            PRISMATIC,
            np.eye(4),
            axis,
            point_mass(mass, 0, 0, 0),
        )
    )
    tau = FORMULATIONS[name](SerialModel.from_chain(robot), [0.1], [5.0], [0.7], [*np.zeros(6)])
    np.testing.assert_allclose(tau, [mass * (0.7 + 9.81 * np.sin(slope))], rtol=1e-13)


@every
def test_two_link_arm(name):
    """Point masses at the ends of two horizontal-axis links (Craig, example 6.1)."""
    (m1, m2), (l1, l2), g = (2.0, 1.3), (0.5, 0.4), 9.81
    robot = arm(
        (REVOLUTE, random_robots.tilt(np.pi / 2), [0, 0, 1], point_mass(m1, l1, 0, 0)),
        (REVOLUTE, random_robots.shift(l1, 0, 0), [0, 0, 1], point_mass(m2, l2, 0, 0)),
    )
    (t1, t2), (d1, d2), (a1, a2) = (0.3, -0.8), (1.1, 0.6), (0.4, -2.0)
    c2, s2, c1, c12 = np.cos(t2), np.sin(t2), np.cos(t1), np.cos(t1 + t2)
    expected = [
        m2 * l2**2 * (a1 + a2)
        + m2 * l1 * l2 * c2 * (2 * a1 + a2)
        + (m1 + m2) * l1**2 * a1
        - m2 * l1 * l2 * s2 * d2**2
        - 2 * m2 * l1 * l2 * s2 * d1 * d2
        + m2 * l2 * g * c12
        + (m1 + m2) * l1 * g * c1,
        m2 * l1 * l2 * c2 * a1 + m2 * l1 * l2 * s2 * d1**2 + m2 * l2 * g * c12 + m2 * l2**2 * (a1 + a2),
    ]
    tau = FORMULATIONS[name](SerialModel.from_chain(robot), [t1, t2], [d1, d2], [a1, a2])
    np.testing.assert_allclose(tau, expected, rtol=1e-12)


@cheap
def test_linear_in_the_inertial_parameters(name):
    """The torques of two arms of equal geometry add up to those of the arm with both arms' bodies."""
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-2, 2, (3, 5))
    one = SerialModel.from_chain(random_robots.chain(3, n=5))

    def with_links(change):
        return replace(one, links=tuple(change(i, link) for i, link in enumerate(one.links)))

    factors = rng.uniform(0.2, 1.0, 5)
    moment, inertia = np.array([0.1, -0.2, 0.3]), np.diag([0.3, 0.4, 0.5])
    other = with_links(
        lambda i, link: replace(
            link, mass=2.0 * factors[i], first_moment=factors[i] * moment, inertia=factors[i] * inertia
        )
    )
    both = with_links(
        lambda i, link: replace(
            link,
            mass=link.mass + other.links[i].mass,
            first_moment=link.first_moment + other.links[i].first_moment,
            inertia=link.inertia + other.links[i].inertia,
        )
    )
    torques = [FORMULATIONS[name](model, q, qd, qdd) for model in (one, other, both)]
    np.testing.assert_allclose(torques[0] + torques[1], torques[2], rtol=1e-11, atol=1e-11)


@cheap
def test_mimic_joint_adds_to_its_masters_torque(name):
    """A mimic joint is the independent joint moved by multiplier * q + offset (virtual work)."""
    free = random_robots.chain(11, n=4)
    factor, offset = -0.5, 0.3
    joints = list(free.joints)
    joints[3] = replace(joints[3], coordinate=1, multiplier=factor, offset=offset)
    coupled = KinematicChain("mimic", "root", "tip", tuple(joints), ("j0", "j1", "j2"), free.tip_transform)
    rng = np.random.default_rng(2)
    q, qd, qdd = rng.uniform(-2, 2, (3, 3))
    full = (
        np.append(q, factor * q[1] + offset),
        np.append(qd, factor * qd[1]),
        np.append(qdd, factor * qdd[1]),
    )
    expected = random_robots.pinocchio_inverse_dynamics(free, DOWN, *full, np.zeros(6))
    tau = FORMULATIONS[name](SerialModel.from_chain(coupled), q, qd, qdd)
    np.testing.assert_allclose(tau, expected[:3] + np.array([0.0, factor, 0.0]) * expected[3], rtol=1e-10)


@every
def test_symbols_give_the_floats(name):
    """A formulation that runs on floats runs on symbols: the program's value is the torque."""
    robot = random_robots.chain(4, n=2, kinds=[REVOLUTE, PRISMATIC])
    model = SerialModel.from_chain(robot)
    graph = ExpressionGraph()
    inputs = [graph.input(symbol, 2) for symbol in ("q", "qd", "qdd")]
    tau = FORMULATIONS[name](model, *inputs, None, SYMBOLS)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-2, 2, (3, 2))
    expected = FORMULATIONS[name](model, q, qd, qdd)
    np.testing.assert_allclose(
        [evaluate(graph, force, [*q, *qd, *qdd]) for force in tau], expected, rtol=1e-11
    )


def evaluate(graph, expression, inputs):
    """Value of an expression, by walking its graph."""

    def value(number):
        kind, a, b = graph.nodes[number]
        if kind == nodes.INPUT:
            return inputs[a]
        if kind == nodes.CONSTANT:
            return graph.values[number]
        if kind in (nodes.SIN, nodes.COS):
            angle = -value(a >> 1) if a & 1 else value(a >> 1)
            return np.sin(angle) if kind == nodes.SIN else np.cos(angle)
        left, right = value(a), value(b)
        return {nodes.ADD: left + right, nodes.SUB: left - right, nodes.MUL: left * right}[kind]

    literal = graph.literal(expression)
    return -value(literal >> 1) if literal & 1 else value(literal >> 1)


def real_descriptions():
    """This package's URDFs, and arms of example-robot-data where that is installed beside Pinocchio."""
    own = sorted((Path(__file__).parents[2] / "urdf").glob("*.urdf"))
    shared = Path(pinocchio.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    others = [shared / name for name in EXAMPLE_ROBOTS]
    return own + [path for path in others if path.exists()]


@pytest.mark.parametrize("path", real_descriptions(), ids=lambda path: path.name)
def test_real_descriptions_equal_pinocchio(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = load_urdf(path)
    assert len(robot.joints) == robot.dof
    names = [name for name in FORMULATIONS if name != "lagrange-direct"]
    for gravity in (DOWN, np.array([3.0, -5.0, 7.0])):
        agree(robot, gravity, 0, names)
