"""Trajectories that leave joints out, and limits of velocity and acceleration beside the description's."""

import numpy as np
import pytest

from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.trajectory import Reference, plan
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import TrajectoryError

REST = Reference.at_rest(np.array([0.1, -0.2]))
PARTIAL = PathRules(partial=True)
# A quintic from rest to rest over d in T: at most 15 d / 8 T and 10 d / (sqrt(3) T^2), closed form.
DISTANCE, TIME = 0.4, 0.8
FASTEST = 15.0 / 8.0 * DISTANCE / TIME
HARDEST = 10.0 / np.sqrt(3.0) * DISTANCE / TIME**2
HARDEST_AT = TIME * (0.5 - np.sqrt(3.0) / 6.0)


def move(chain, rules, names=("lift", "turn"), goal=(0.1 + DISTANCE, -0.2), origin=REST, **given):
    return plan(chain, names, [Waypoint(TIME, goal, **given)], 5.0, origin, 5.0, rules)


def test_joints_that_are_not_named_hold_their_place_exactly(chain):
    path = plan(
        chain,
        ["turn"],
        [Waypoint(0.5, [0.0], [0.4]), Waypoint(1.0, [0.2])],
        5.0,
        REST,
        5.0,
        PARTIAL,
    )
    alone = plan(
        chain,
        ["lift", "turn"],
        [Waypoint(0.5, [0.1, 0.0], [0.0, 0.4]), Waypoint(1.0, [0.1, 0.2])],
        5.0,
        REST,
        5.0,
    )
    for time in np.linspace(5.0, 6.0, 41):
        reference, expected = path.sample(time), alone.sample(time)
        np.testing.assert_allclose(reference.position, expected.position, atol=1e-12)
        np.testing.assert_allclose(reference.acceleration, expected.acceleration, atol=1e-9)
        assert abs(reference.position[0] - 0.1) < 1e-12 and abs(reference.velocity[0]) < 1e-12


def test_a_joint_that_moves_must_be_named_and_so_must_one_at_all(chain):
    moving = Reference(REST.position, np.array([0.3, 0.0]), np.zeros(2))
    with pytest.raises(TrajectoryError, match=r"'lift' is moving .* cannot be left out"):
        move(chain, PARTIAL, ["turn"], [0.0], moving)
    assert move(chain, PARTIAL, ["lift"], [0.3], moving).end == 5.0 + TIME
    with pytest.raises(TrajectoryError, match=r"missing joint names .*'lift', 'turn'"):
        move(chain, PARTIAL, [], [])
    with pytest.raises(TrajectoryError, match=r"unknown joint names .*'elbow'"):
        move(chain, PARTIAL, ["turn", "elbow"], [0.0, 0.0])
    with pytest.raises(TrajectoryError, match=r"repeated joint names .*'turn'"):
        move(chain, PARTIAL, ["turn", "turn"], [0.0, 0.0])
    with pytest.raises(TrajectoryError, match=r"missing joint names .*'lift'"):
        move(chain, PathRules(), ["turn"], [0.0])


def test_the_limits_are_those_of_the_closed_form_and_the_refusal_tells_joint_time_and_value(chain):
    move(chain, PathRules(velocity={"lift": FASTEST}, acceleration={"lift": HARDEST, "turn": 1e-3}))
    with pytest.raises(TrajectoryError) as slow:
        move(chain, PathRules(velocity={"lift": FASTEST / 1.02}))
    assert f"'lift' would have the velocity {FASTEST:.4f}" in str(slow.value)
    assert f"{TIME / 2:.3f} s after the start" in str(slow.value)
    with pytest.raises(TrajectoryError, match=r"'lift' would have the acceleration .* limit is") as gentle:
        move(chain, PathRules(acceleration={"lift": HARDEST / 1.02}))
    value, time = (float(str(gentle.value).split(word)[1].split()[0]) for word in ("acceleration ", "m/s²) "))
    assert abs(abs(value) - HARDEST) < 0.002 * HARDEST
    assert min(abs(time - HARDEST_AT), abs(time - (TIME - HARDEST_AT))) < TIME / 32
