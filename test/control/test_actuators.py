"""Efforts that actuators add to those of the links, term by term and joint by joint."""

from dataclasses import fields

import numpy as np
import pytest
from arms import TWO_JOINTS, two_joint_chain

from robot_dynamics import load_urdf
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.dynamics.friction import STICTION_VELOCITY
from robot_dynamics.errors import ParameterError

Q, QD, QDD = np.array([0.2, -0.1]), np.array([0.7, -0.3]), np.array([-1.5, 2.5])
LINKS = np.array([3.0, -5.0])


class Links:
    """A model that gives the same efforts whatever the motion, and remembers it."""

    def inverse_dynamics(self, q, qd, qdd):
        self.asked = (q, qd, qdd)
        return LINKS.copy()


def added(qd=QD, heading=None, chain=None, **drives):
    """Efforts that the actuators add to those of the links."""
    arm = ActuatedArm(Links(), chain or two_joint_chain(), ActuatorParameters(**drives))
    return arm.inverse_dynamics(Q, qd, QDD, heading) - LINKS


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize(
    ("name", "factor"), [("rotor_inertia", QDD), ("damping", QD), ("friction", np.sign(QD))]
)
def test_one_drive_alone_adds_its_term_to_its_joint_alone(name, joint, factor):
    values = [0.0, 0.0]
    values[joint] = 0.4
    expected = np.zeros(2)
    expected[joint] = 0.4 * factor[joint]
    np.testing.assert_allclose(added(**{name: tuple(values)}), expected, atol=1e-15)


def test_the_terms_add_up():
    given = added(rotor_inertia=(0.2,), damping=(0.1, 0.3), friction=(2.0, 0.5))
    np.testing.assert_allclose(given, 0.2 * QDD + [0.1 * 0.7, -0.3 * 0.3] + np.array([2.0, -0.5]))


@pytest.mark.parametrize("drives", [{}, {"rotor_inertia": (), "damping": (0.0,), "friction": (0.0, 0.0)}])
def test_drives_without_losses_and_rotors_leave_the_links_alone(drives):
    assert not added(**drives).any()


def test_friction_is_overcome_along_the_heading_where_there_is_one():
    heading = np.array([-0.02, 0.0])
    np.testing.assert_allclose(added(heading=heading, friction=(2.0, 3.0)), [-2.0, 0.0])
    # Damping is of the measured velocity all the same.
    np.testing.assert_allclose(added(heading=heading, damping=(1.0,)), QD)


@pytest.mark.parametrize("share", [-2.0, -1.0, -0.5, -1e-3, 0.0, 0.25, 0.75, 1.0, 3.0])
def test_friction_goes_through_zero_as_a_cubic_with_level_ends(share):
    velocity = np.array([share * STICTION_VELOCITY, -share * STICTION_VELOCITY])
    limited = max(-1.0, min(1.0, share))
    cubic = 0.5 * (3.0 * limited - limited**3)
    np.testing.assert_allclose(added(qd=velocity, friction=(2.0,)), 2.0 * cubic * np.array([1.0, -1.0]))


@pytest.mark.parametrize("velocity", [-0.9, -0.02, 0.03, 0.2])
def test_friction_goes_from_static_to_coulomb_friction_and_differs_by_direction(velocity):
    law = {"friction": (2.0,), "static_friction": (3.5, 0.5), "stribeck_velocity": (0.1, 0.4)}
    found = added(qd=np.full(2, velocity), friction_offset=(0.3, -0.4), **law)
    sizes = 2.0 + np.array([1.5, -1.5]) * np.exp(-np.abs(velocity) / np.array([0.1, 0.4]))
    offset = np.array([0.3, -0.4])
    np.testing.assert_allclose(found, np.sign(velocity) * sizes + offset, rtol=1e-14)
    # Overcome along the heading, in the size that the velocity gives it.
    ahead = added(qd=np.full(2, velocity), heading=np.ones(2), friction_offset=(0.3, -0.4), **law)
    np.testing.assert_allclose(ahead, sizes + offset, rtol=1e-14)


def test_friction_grows_with_the_load_of_the_links():
    np.testing.assert_allclose(added(load_friction=(0.1, 0.2)), np.sign(QD) * [0.3, 1.0])
    # The rotor's own effort is no load of the gear.
    both = added(load_friction=(0.1,), rotor_inertia=(5.0,))
    np.testing.assert_allclose(both, np.sign(QD) * [0.3, 0.5] + 5.0 * QDD)
    assert not added(qd=np.zeros(2), load_friction=(0.1,)).any()


def test_friction_never_drives_a_joint():
    draw = np.random.default_rng(0)
    velocity = np.concatenate([draw.normal(0.0, size, (200, 2)) for size in (0.001, 0.1, 10.0)])
    for _ in range(20):
        coulomb, static = draw.uniform(0.0, 5.0, (2, 2))
        offset = draw.uniform(-1.0, 1.0, 2) * np.minimum(coulomb, static)
        drives = ActuatorParameters(
            (),
            (0.0,),
            tuple(coulomb),
            tuple(static),
            tuple(draw.uniform(0.01, 3.0, 2)),
            tuple(offset),
            tuple(draw.uniform(0.0, 0.9, 2)),
        ).of(two_joint_chain())
        load = draw.normal(0.0, 10.0, velocity.shape)
        assert (drives.friction.effort(velocity, load=load) * velocity >= 0.0).all()
        assert not drives.friction.effort(np.zeros(2)).any()


@pytest.mark.parametrize("given", [{"friction_offset": (0.0, -1.1)}, {"static_friction": (0.4,)}])
def test_an_asymmetry_that_would_drive_a_joint_is_refused(given):
    drives = ActuatorParameters(**{"friction": (1.0,), "friction_offset": (0.0, 0.5), **given})
    with pytest.raises(ParameterError, match=r"'friction_offset' is .* for turn; .* would drive the joint"):
        drives.of(two_joint_chain())


def test_what_is_not_given_is_as_in_the_description():
    text = TWO_JOINTS.replace("</joint>", '<dynamics damping="0.6" friction="1.5"/></joint>', 1)
    chain = load_urdf(text)
    np.testing.assert_allclose(added(chain=chain), [0.6 * 0.7 + 1.5, 0.0])
    np.testing.assert_allclose(added(chain=chain, damping=(0.0,)), [1.5, 0.0])
    np.testing.assert_allclose(added(chain=chain, friction=(0.0, 2.0)), [0.6 * 0.7, -2.0])


def test_the_links_are_asked_for_the_motion_itself():
    links = Links()
    ActuatedArm(links, two_joint_chain(), ActuatorParameters(damping=(1.0,))).inverse_dynamics(Q, QD, QDD)
    assert all(a is b for a, b in zip(links.asked, (Q, QD, QDD), strict=True))


@pytest.mark.parametrize("name", [field.name for field in fields(ActuatorParameters)])
def test_a_list_of_another_length_is_refused(name):
    with pytest.raises(ParameterError, match=f"'{name}' has 3 values; give 1, or 2 in the order lift, turn"):
        ActuatorParameters(**{name: (0.1,) * 3}).of(two_joint_chain())


def test_batches_are_taken_row_by_row():
    """Sampling a path asks for many states at once."""

    class Many:
        def inverse_dynamics(self, q, qd, qdd):
            return np.tile(LINKS, (len(q), 1))

    drives = ActuatorParameters(rotor_inertia=(0.2, 0.1), damping=(0.1, 0.3), friction=(2.0, 0.5))
    qd = np.array([QD, -QD, 0.0 * QD])
    rows = np.tile(Q, (3, 1)), qd, np.tile(QDD, (3, 1))
    found = ActuatedArm(Many(), two_joint_chain(), drives).inverse_dynamics(*rows)
    for row, velocity in zip(found, qd, strict=True):
        expected = added(qd=velocity, rotor_inertia=(0.2, 0.1), damping=(0.1, 0.3), friction=(2.0, 0.5))
        np.testing.assert_allclose(row, LINKS + expected)
