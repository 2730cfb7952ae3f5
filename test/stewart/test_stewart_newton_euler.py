"""Newton-Euler dynamics in batches: the printed equations leg by leg, locked joints and singular poses."""

import re
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from platform_legs import replace_leg
from scipy.spatial.transform import Rotation
from stewart_oracles import driven_machine, states_near_home, unit

from robot_dynamics.errors import ParameterError, SingularityError
from robot_dynamics.stewart.kinematics import LegGeometry, leg_geometry
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.newton_euler import Reactions, balance, leg_motion
from robot_dynamics.stewart.orientation import rotation_from_quaternion

BATCH = (2, 3)


def motion_of(seed):
    place, quaternion, *others = states_near_home(seed, *BATCH)
    return Motion(place, rotation_from_quaternion(quaternion), *others)


def state_of(motion, at):
    return Motion(*(part[at] for part in motion))


def spun(inertia, w, alpha):
    return inertia @ alpha + np.cross(w, inertia @ w)


def printed(machine, state):
    """Forces, static forces and loads of the legs by the paper's equations 1 to 36, for one state."""
    place, turn, v, w, a, alpha, force, torque = state
    g, body = machine.gravity, machine.platform
    pulled, carried, push, found = np.zeros((6, 6)), np.zeros(6), np.zeros(6), []
    for i, leg in enumerate(machine.legs):
        q = turn @ leg.platform_point
        s, length = unit(place + q - leg.base_point)
        y, _ = unit(np.cross(machine.universal_axes[i], s))
        axes = np.column_stack([s, y, np.cross(s, y)])
        speed = v + np.cross(w, q)
        bend = a + np.cross(alpha, q) + np.cross(w, np.cross(w, q))
        rate, spin = s @ speed, np.cross(s, speed) / length
        second = s @ bend + length * spin @ spin
        turning = (np.cross(s, bend) - 2.0 * rate * spin) / length
        low, up = axes @ leg.lower.center_of_mass, axes @ leg.upper.center_of_mass + length * s
        lift_low = np.cross(turning, low) + np.cross(spin, np.cross(spin, low)) - g
        lift_up = second * s + np.cross(turning, up) + np.cross(spin, np.cross(spin, up))
        lift_up = leg.upper.mass * (lift_up + 2.0 * rate * np.cross(spin, s) - g)
        lift_low = leg.lower.mass * lift_low
        inertia_low = axes @ leg.lower.inertia @ axes.T
        inertia_up = axes @ leg.upper.inertia @ axes.T
        inertia_up = inertia_up + leg.upper.mass * length**2 * (np.eye(3) - np.outer(s, s))  # as printed
        rub = leg.friction.spherical * (spin - w)
        upper = np.cross(up, lift_up) + spun(inertia_up, spin, turning) + rub
        whole = upper + np.cross(low, lift_low) + spun(inertia_low, spin, turning)
        whole = whole + leg.friction.universal * spin
        blocked = (whole @ s) * s
        across = np.cross(whole, s) / length
        # Dry friction grows smoothly through standstill; these legs are faster.
        push[i] = leg.spring.force - leg.spring.stiffness * (length - leg.spring.length)
        passive = leg.friction.prismatic * rate + leg.friction.coulomb * np.sign(rate) - push[i]
        passive += leg.drive.reflected_mass * second
        along = s @ lift_up + passive
        pulled[:, i] = [*s, *np.cross(q, s)]
        carried += [*(along * s + across), *(np.cross(q, along * s + across) - rub)]
        motion = {"s": s, "length": length, "rate": rate, "second": second, "spin": spin, "turning": turning}
        loads = {"along": along, "across": across, "passive": passive, "upper": upper, "blocked": blocked}
        found.append(SimpleNamespace(**motion, **loads, lift_low=lift_low, lift_up=lift_up))
    arm = turn @ body.center_of_mass
    fall = a + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm)) - g
    inertia = turn @ body.inertia @ turn.T
    own_force = turn @ force - body.mass * fall
    own_moment = turn @ torque - body.mass * np.cross(arm, fall) - spun(inertia, w, alpha)
    own = np.concatenate([own_force, own_moment])
    forces = np.linalg.solve(pulled, carried - own)
    return forces, np.linalg.solve(pulled, -own) - push, found


@pytest.mark.parametrize("seed", [3, 7])
def test_the_published_model_is_what_the_paper_prints(seed):
    machine, motion = driven_machine(seed), motion_of(seed)
    asked = balance(machine, motion, "published")
    forces, static = asked.solve()
    reactions = asked.reactions(forces)
    for at in np.ndindex(BATCH):
        expected, still, legs = printed(machine, state_of(motion, at))
        tight = {"rtol": 1e-9, "atol": 1e-9 * np.abs(expected).max()}
        np.testing.assert_allclose(forces[at], expected, **tight)
        np.testing.assert_allclose(static[at], still, **tight)
        for i, leg in enumerate(legs):
            moved = asked.motion
            assert abs(leg.rate) > 0.005
            assert asked.legs.lengths[at][i] == pytest.approx(leg.length, rel=1e-14)
            assert moved.sliding_velocity[at][i] == pytest.approx(leg.rate)
            assert moved.sliding_acceleration[at][i] == pytest.approx(leg.second)
            np.testing.assert_allclose(moved.angular_velocity[at][i], leg.spin, atol=1e-12)
            np.testing.assert_allclose(moved.angular_acceleration[at][i], leg.turning, atol=1e-12)
            np.testing.assert_array_equal(moved.blocked[at][i], asked.legs.directions[at][i])
            held = (leg.along - expected[i]) * leg.s + leg.across
            np.testing.assert_allclose(reactions.spherical_force[at][i], held, **tight)
            inside = leg.lift_up - held + leg.passive * leg.s
            np.testing.assert_allclose(
                reactions.prismatic_force[at][i], inside - expected[i] * leg.s, **tight
            )
            ground = leg.lift_low + inside - leg.passive * leg.s
            np.testing.assert_allclose(reactions.universal_force[at][i], ground, **tight)
            bent = leg.upper - np.cross(leg.length * leg.s, held)
            np.testing.assert_allclose(reactions.prismatic_moment[at][i], bent, **tight)
            np.testing.assert_allclose(reactions.universal_moment[at][i], leg.blocked, **tight)


def test_a_printed_leg_may_stand_in_a_plane_of_the_axes():
    """Forces across the axis of a leg are not divided by entries of this axis."""
    machine, state = driven_machine(3), state_of(motion_of(3), (0, 0))
    state = state._replace(rotation=np.eye(3), position=np.array([0.02, 0.0, 0.6]))
    points = {name: getattr(machine.legs[0], name) * [1, 0, 1] for name in ("base_point", "platform_point")}
    machine = replace_leg(machine, 0, **points)
    assert leg_geometry(machine, state.position, state.rotation).directions[0, 1] == 0.0
    forces, _ = balance(machine, state, "published").solve()
    np.testing.assert_allclose(forces, printed(machine, state)[0], rtol=1e-9)


def leaves(found):
    """Arrays of a record, those of records inside it too."""
    for field in fields(found):
        value = getattr(found, field.name)
        if isinstance(value, np.ndarray):
            yield field.name, value
        else:
            yield from leaves(value)


@pytest.mark.parametrize("model", ["exact", "published"])
def test_a_state_of_a_batch_is_what_it_is_alone(model):
    machine, motion = driven_machine(5, spinning=(1, 4)), motion_of(5)
    asked = balance(machine, motion, model)
    forces, static = asked.solve()
    reactions = asked.reactions(forces)
    for at in np.ndindex(BATCH):
        single = balance(machine, state_of(motion, at), model)
        alone = single.solve()
        for name, value in leaves(single):
            given = dict(leaves(asked))[name][at]
            np.testing.assert_allclose(given, value, rtol=1e-10, atol=1e-9, err_msg=name)
        np.testing.assert_allclose((forces[at], static[at]), alone, rtol=1e-9, atol=1e-9)
        for name, value in leaves(single.reactions(alone[0])):
            np.testing.assert_allclose(
                getattr(reactions, name)[at], value, rtol=1e-8, atol=1e-8, err_msg=name
            )


def test_legs_turn_as_their_joints_allow():
    """About the fixed and the moving axis of a universal joint; without spin where both joints are spherical.

    Accelerations are differences of velocities along the motion.
    """
    machine, state, h = driven_machine(6, spinning=(0, 3)), state_of(motion_of(6), (1, 2)), 1e-5

    def moved(time):
        turn = Rotation.from_rotvec(
            state.angular_velocity * time + 0.5 * state.angular_acceleration * time**2
        )
        then = state._replace(
            position=state.position
            + time * state.linear_velocity
            + 0.5 * time**2 * state.linear_acceleration,
            rotation=turn.as_matrix() @ state.rotation,
            linear_velocity=state.linear_velocity + time * state.linear_acceleration,
            angular_velocity=state.angular_velocity + time * state.angular_acceleration,
        )
        legs = leg_geometry(machine, then.position, then.rotation)
        return legs, leg_motion(machine, legs, then, "exact")

    legs, now = moved(0.0)
    (near, after), (_, before) = moved(h), moved(-h)
    slope = (after.angular_velocity - before.angular_velocity) / (2.0 * h)
    np.testing.assert_allclose(now.angular_acceleration, slope, atol=1e-6)
    slope = (after.sliding_velocity - before.sliding_velocity) / (2.0 * h)
    np.testing.assert_allclose(now.sliding_acceleration, slope, atol=1e-6)
    np.testing.assert_allclose(now.sliding_velocity, (near.lengths - legs.lengths) / h, atol=1e-3)
    for i, (leg, w, s) in enumerate(zip(machine.legs, now.angular_velocity, legs.directions, strict=True)):
        y, _ = unit(np.cross(machine.universal_axes[i], s))
        np.testing.assert_allclose(now.axes[i], np.column_stack([s, y, np.cross(s, y)]), atol=1e-13)
        np.testing.assert_allclose(np.cross(w, s), (near.directions[i] - s) / h, atol=1e-3)
        if leg.universal_axis is None:
            assert w @ s == pytest.approx(0.0, abs=1e-13)
            np.testing.assert_array_equal(now.blocked[i], np.zeros(3))
        else:
            n = np.cross(leg.universal_axis, y)
            np.testing.assert_allclose(now.blocked[i], n, atol=1e-13)
            assert w @ n == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_leg_along_the_fixed_axis_of_its_joint_is_locked(sense):
    """Nearer than a thousandth; of a batch the least angle is told."""
    machine, motion = driven_machine(8, spinning=(2,)), motion_of(8)
    legs = leg_geometry(machine, motion.position, motion.rotation)
    aside = np.array([np.cross(s, [0.3, -0.2, 0.1]) for s in legs.directions[1, 1]])
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)

    def with_axis(leg, sine):
        axis = sense * (np.sqrt(1.0 - sine**2) * legs.directions[1, 1, leg] + sine * aside[leg])
        return replace_leg(machine, leg, universal_axis=axis)

    for model in ("exact", "published"):
        with pytest.raises(SingularityError) as caught:
            balance(with_axis(4, 0.9e-3), motion, model)
        assert str(caught.value) == (
            "leg_5 lies along the fixed axis of its universal joint (sine of the angle 9.0e-04): the joint is"
            " locked"
        )
        balance(with_axis(4, 1.1e-3), motion, model)
    with pytest.raises(SingularityError, match=r"^leg_1 lies .*\(sine of the angle 5\.0e-04\)"):
        balance(with_axis(0, 5e-4), motion)


def test_a_leg_between_two_spherical_joints_is_never_locked():
    """It may lie along any axis, e.g. along the one that its leg axes are counted from."""
    machine, motion = driven_machine(8, spinning=(2,)), motion_of(8)
    legs = leg_geometry(machine, motion.position, motion.rotation)
    axes = machine.universal_axes.copy()
    axes[2] = legs.directions[0, 1, 2] + [0.0, 1e-5, 0.0]
    object.__setattr__(machine, "universal_axes", axes)
    assert np.isfinite(balance(machine, motion).wrench).all()


def test_forces_that_cannot_hold_the_platform_are_refused():
    asked = balance(driven_machine(4), motion_of(4))
    none = LegGeometry(*(np.zeros_like(part) for part in vars(asked.legs).values()))
    with pytest.raises(SingularityError) as caught:
        replace(asked, legs=none).solve()
    assert str(caught.value) == "the platform is in a singular pose: no leg forces can hold it"


@pytest.mark.parametrize("model", ["Exact", "", "both"])
def test_there_are_two_models(model):
    with pytest.raises(ParameterError) as caught:
        balance(driven_machine(4), motion_of(4), model)
    assert str(caught.value) == f"the model is {model!r}; it must be 'exact' or 'published'"


def test_the_exact_model_is_the_usual_one():
    machine, motion = driven_machine(4), motion_of(4)
    usual, exact, other = (balance(machine, motion, *model) for model in ((), ("exact",), ("published",)))
    np.testing.assert_array_equal(usual.wrench, exact.wrench)
    assert np.abs(usual.wrench - other.wrench).max() > 1.0


@pytest.mark.parametrize("name", [field.name for field in fields(Reactions)])
def test_reactions_are_arrays(name):
    arrays = {field.name: np.zeros((6, 3)) for field in fields(Reactions)}
    assert getattr(Reactions(**arrays), name) is arrays[name]
    with pytest.raises(TypeError, match=re.escape(f"{name} of a Reactions")):
        Reactions(**{**arrays, name: [[0.0] * 3] * 6})
