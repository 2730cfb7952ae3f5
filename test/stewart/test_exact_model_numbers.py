"""The regrouped model computed with numbers: its parts, its operations, and what is added to a leg."""

from dataclasses import replace

import numpy as np
import pytest
from platform_legs import replace_leg
from stewart_oracles import driven_machine, states_near_home

from robot_dynamics import stewart
from robot_dynamics.codegen.expression import ExpressionGraph
from robot_dynamics.stewart.exact_model import PlatformInputs, _cylinder, actuator_forces
from robot_dynamics.stewart.program import _reached, _tally
from robot_dynamics.stewart.regrouping import _frame, regroup


def test_the_parts_hand_on_the_reference_points_motion_the_wrench_and_the_legs():
    """Rigid-body kinematics and the Newton-Euler equations of the regrouped platform, written in vectors."""
    machine = driven_machine(7)
    parameters = regroup(machine, 2, (0, 3, 5))
    given = states_near_home(4)
    position, quaternion, velocity, w, acceleration, alpha, force, torque = given
    parts = {}
    actuator_forces(
        parameters,
        PlatformInputs(*given),
        lambda part, values: parts.update({part: np.array(values, dtype=float)}),
    )
    turn = stewart.StewartPlatform(machine).motion(position, quaternion).rotation
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
        position + arm,
        velocity + np.cross(w, arm),
        acceleration + bent(arm),
        pushed,
        turned,
        turn.ravel(),
        (bending @ turn).ravel(),
    ]
    np.testing.assert_allclose(parts["platform"], np.concatenate(expected), rtol=1e-12, atol=1e-12)
    legs = stewart.StewartPlatform(machine).legs(position, quaternion)
    of_legs = parts["legs"][6:].reshape(6, 5)
    np.testing.assert_allclose(of_legs[:, :3], legs.vectors, rtol=1e-13)
    np.testing.assert_allclose(of_legs[:, 3], legs.lengths, rtol=1e-13)
    assert list(parts) == ["platform", "legs"] and len(parts["legs"]) == 36


@pytest.mark.parametrize("field", ["tip_mass", "coulomb", "reflected_mass"])
@pytest.mark.parametrize("amount", [1.0, -1.0, 0.25])
def test_forces_are_proportional_to_what_is_added_to_a_leg(field, amount):
    """Slow enough for dry friction that is not yet whole."""
    given = regroup(driven_machine(7))
    position, quaternion, velocity, w, *others = states_near_home(3)
    slow = PlatformInputs(
        *(part.tolist() for part in (position, quaternion, 1e-3 * velocity, 1e-3 * w, *others))
    )

    def forces(value):
        return np.array(actuator_forces(replace_leg(given, 0, **{field: value}), slow))

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
