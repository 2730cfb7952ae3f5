"""The regrouped model computed with numbers: every free choice gives the forces of the Newton-Euler model."""

from dataclasses import replace

import numpy as np
import pytest
from platform_legs import replace_leg, replace_legs
from stewart_oracles import driven_machine, random_oracle, states_near_home

from robot_dynamics import stewart
from robot_dynamics.codegen.expression import ExpressionGraph
from robot_dynamics.stewart.exact_model import PlatformInputs, _cylinder, actuator_forces
from robot_dynamics.stewart.program import _reached, _tally
from robot_dynamics.stewart.regrouping import _frame, regroup

COUNT = 5


def slow_states(seed):
    """Parts of states near home, of which the first is slow."""
    positions, quaternions, *others = states_near_home(seed, COUNT)
    for velocity in others[:2]:
        velocity[0] *= 1e-3
    return positions, quaternions, others


def each(parameters, positions, quaternions, others):
    """Forces (N, 6), one state after the other."""
    states = zip(positions.tolist(), quaternions.tolist(), *(part.tolist() for part in others), strict=True)
    return np.array([actuator_forces(parameters, PlatformInputs(*state)) for state in states])


FLAT = [
    (0.6, 0.8, 0.0),
    (-0.8, 0.6, 0.0),
    (0.0, 0.6, 0.8),
    (0.28, 0.0, -0.96),
    (1.0, 0.0, 0.0),
    (0.0, 1.0, 0.0),
]


@pytest.mark.parametrize("axes", [None, FLAT], ids=["general axes", "axes with zeros"])
@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"reference": 3},
        {"carriers": (0, 1, 4)},
        {"reference": 2, "carriers": (0, 3, 5), "triangle": (5, 1, 3)},
    ],
    ids=str,
)
def test_numbers_give_the_forces_of_the_newton_euler_model(axes, choices):
    machine = driven_machine(7)
    if axes is not None:
        machine = replace_legs(machine, universal_axis=axes)
    positions, quaternions, others = slow_states(11)
    expected = stewart.StewartPlatform(machine).inverse_dynamics(
        positions, quaternions, *others, on_violation="report"
    )
    found = each(regroup(machine, **choices), positions, quaternions, others)
    scale = np.abs(expected.actuator_forces).max()
    np.testing.assert_allclose(found, expected.actuator_forces, atol=2e-12 * scale)


def test_legs_without_weight_and_a_machine_without_gravity_have_the_same_forces_too():
    mapping = random_oracle(8).mapping
    mapping["gravity"] = [0.0, 0.0, 0.0]
    for leg in mapping["legs"][:3]:
        leg["upper"] = {"mass": 0.0, "center_of_mass": [0.0] * 3, "inertia": [[0.0] * 3] * 3}
    platform = stewart.load(mapping)
    positions, quaternions, others = slow_states(3)
    expected = platform.inverse_dynamics(positions, quaternions, *others, on_violation="report")
    found = each(regroup(platform.machine), positions, quaternions, others)
    scale = np.abs(expected.actuator_forces).max()
    np.testing.assert_allclose(found, expected.actuator_forces, atol=2e-12 * scale)


def test_the_parts_hand_on_the_reference_points_motion_the_wrench_and_the_legs():
    """Rigid-body kinematics and the Newton-Euler equations of the regrouped platform, written in vectors."""
    machine = driven_machine(7)
    parameters = regroup(machine, 2, (0, 3, 5))
    positions, quaternions, others = slow_states(4)
    velocity, w, acceleration, alpha, force, torque = (part[1] for part in others)
    parts = {}
    actuator_forces(
        parameters,
        PlatformInputs(positions[1], quaternions[1], velocity, w, acceleration, alpha, force, torque),
        lambda part, values: parts.update({part: np.array(values, dtype=float)}),
    )
    turn = stewart.StewartPlatform(machine).motion(positions[1], quaternions[1]).rotation
    arm = turn @ parameters.reference_arm

    def bent(r):
        return np.cross(alpha, r) + np.cross(w, np.cross(w, r))

    lift = acceleration + bent(arm) - machine.gravity
    first = turn @ parameters.first_moment
    second = turn @ parameters.second_moment @ turn.T
    inertia = np.trace(second) * np.eye(3) - second
    spin = inertia @ alpha + np.cross(w, inertia @ w)
    pushed = turn @ force - parameters.mass * lift - bent(first)
    turned = turn @ torque - np.cross(arm, turn @ force) - spin - np.cross(first, lift)
    bending = np.array([bent(axis) for axis in np.eye(3)]).T
    expected = [
        positions[1] + arm,
        velocity + np.cross(w, arm),
        acceleration + bent(arm),
        pushed,
        turned,
        turn.ravel(),
        (bending @ turn).ravel(),
    ]
    np.testing.assert_allclose(parts["platform"], np.concatenate(expected), rtol=1e-12, atol=1e-12)
    legs = stewart.StewartPlatform(machine).legs(positions[1], quaternions[1])
    of_legs = parts["legs"][6:].reshape(6, 5)
    np.testing.assert_allclose(of_legs[:, :3], legs.vectors, rtol=1e-13)
    np.testing.assert_allclose(of_legs[:, 3], legs.lengths, rtol=1e-13)
    assert list(parts) == ["platform", "legs"] and len(parts["legs"]) == 36


@pytest.mark.parametrize("field", ["tip_mass", "coulomb", "reflected_mass"])
@pytest.mark.parametrize("amount", [1.0, -1.0, 0.25])
def test_forces_are_proportional_to_what_is_added_to_a_leg(field, amount):
    machine = driven_machine(7)
    positions, quaternions, others = slow_states(3)
    given = regroup(machine)

    def forces(value):
        one = replace_leg(given, 0, **{field: value})
        return each(one, positions[:1], quaternions[:1], [part[:1] for part in others])

    none = forces(0.0)
    added = forces(amount) - none
    assert np.abs(added).max() > 0.1 * abs(amount)
    np.testing.assert_allclose(added, 0.5 * amount * (forces(2.0) - none), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("axis", "most"),
    [
        ([0.48, 0.6, 0.64], 45 + 28 + 1),
        ([-0.48, 0.6, -0.64], 45 + 28 + 1),
        ([0.6, -0.8, 0.0], 34 + 15 + 1),
        ([0.0, 0.6, 0.8], 34 + 15 + 1),
        ([-0.28, 0.0, -0.96], 34 + 15 + 1),
    ],
)
def test_zeros_in_a_fixed_axis_save_operations(axis, most):
    """Counted by hand: multiplications, additions and a division, for S, its tangent and three vectors."""
    frame = _frame(np.array(axis))
    leg = replace(regroup(driven_machine(7)).legs[0], frame=frame)
    graph = ExpressionGraph()
    vector, *others = (graph.input(name, 3) for name in "abcd")
    k, dd, e, tangent, along = _cylinder(leg, vector)
    assert k.tolist() == frame[2].tolist()
    values = [dd, e, *tangent, *(x for other in others for x in along(other))]
    found = _tally(graph, _reached(graph, [graph.expression(value) for value in values]))
    assert found.total <= most
