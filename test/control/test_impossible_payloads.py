"""Payloads that no body can be: every wrong shape, every value that is no number, every false inertia."""

import numpy as np
import pytest
from arms import two_joint_chain

from robot_dynamics.control.arm.payload import PayloadParameters, inertia_matrix, with_payload
from robot_dynamics.errors import ParameterError

SOUND = np.array([[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.025]])


@pytest.mark.parametrize("shape", [(), (1,), (2,), (4,), (1, 3), (3, 1), (3, 3)])
def test_a_centre_of_another_shape_is_refused(shape):
    with pytest.raises(ParameterError, match=r"payload centre .*; it must be three finite numbers"):
        with_payload(two_joint_chain(), 1.0, np.zeros(shape))


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_coordinate_of_the_centre_that_is_no_number_is_enough(place, value):
    center = np.zeros(3)
    center[place] = value
    with pytest.raises(ParameterError, match="payload centre"):
        with_payload(two_joint_chain(), 1.0, center)


@pytest.mark.parametrize("row", range(3))
@pytest.mark.parametrize("column", range(3))
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_one_entry_of_the_inertia_that_is_no_number_is_enough(row, column, value):
    inertia = SOUND.copy()
    inertia[row, column] = inertia[column, row] = value
    with pytest.raises(ParameterError, match="symmetric 3 x 3 matrix of finite numbers"):
        with_payload(two_joint_chain(), 1.0, inertia=inertia)


@pytest.mark.parametrize("shape", [(3,), (6,), (2, 2), (3, 4), (1, 3, 3)])
def test_an_inertia_of_another_shape_is_refused(shape):
    with pytest.raises(ParameterError, match="symmetric 3 x 3 matrix"):
        with_payload(two_joint_chain(), 1.0, inertia=np.zeros(shape))


@pytest.mark.parametrize(("row", "column"), [(0, 1), (0, 2), (1, 2)])
def test_an_inertia_that_is_not_symmetric_is_refused(row, column):
    inertia = SOUND.copy()
    inertia[row, column] += 1e-9
    with pytest.raises(ParameterError, match="symmetric 3 x 3 matrix"):
        with_payload(two_joint_chain(), 1.0, inertia=inertia)


@pytest.mark.parametrize("mass", [-1e-9, np.nan, np.inf])
def test_a_mass_that_is_none_is_refused(mass):
    with pytest.raises(ParameterError, match=r"payload mass .*at least 0 kg"):
        with_payload(two_joint_chain(), mass)


@pytest.mark.parametrize(
    ("moments", "possible"),
    [
        ((1.0, 1.0, 2.0), True),  # a disc without thickness
        ((1.0, 1.0, 2.0 + 1e-7), True),  # and its rounded numbers
        ((1.0, 1.0, 2.0 + 1e-5), False),
        ((0.0, 1.0, 1.0), True),  # a rod without thickness
        ((-1e-7, 1.0, 1.0), True),
        ((-1e-5, 1.0, 1.0), False),
        ((0.0, 0.0, 0.0), True),
        ((0.0, 0.0, 1e-9), False),
    ],
)
def test_the_principal_moments_of_a_body_bound_each_other(moments, possible):
    generator = np.random.default_rng(2)
    axes = np.linalg.qr(generator.normal(size=(3, 3)))[0]
    for turn in (np.eye(3), axes):
        inertia = turn @ np.diag(moments) @ turn.T
        inertia = 0.5 * (inertia + inertia.T)
        if possible:
            with_payload(two_joint_chain(), 1.0, inertia=inertia)
        else:
            with pytest.raises(ParameterError, match="no rigid body has the payload inertia"):
                with_payload(two_joint_chain(), 1.0, inertia=inertia)


def test_the_six_numbers_stand_in_the_order_of_urdf():
    six = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    expected = [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]]
    assert inertia_matrix(six).tolist() == expected


def test_parameters_and_function_put_the_same_load_on_the_arm():
    six = (0.02, 0.001, -0.002, 0.03, 0.003, 0.025)
    center = (0.05, -0.08, 0.12)
    chain = two_joint_chain()
    given = PayloadParameters(payload_mass=2.3, payload_center=center, payload_inertia=six)
    one, other = given.on(chain).joints[-1].body, with_payload(chain, 2.3, center, SOUND).joints[-1].body
    assert one.mass == other.mass == pytest.approx(1.0 + 2.3)
    np.testing.assert_array_equal(one.center_of_mass, other.center_of_mass)
    np.testing.assert_array_equal(one.inertia, other.inertia)
    # Centre of the two bodies, in the tip's frame, which is the last link's here.
    np.testing.assert_allclose(one.center_of_mass, 2.3 / 3.3 * np.array(center), atol=1e-15)
    assert given.payload.mass == 2.3
    np.testing.assert_array_equal(given.payload.center_of_mass, center)
    np.testing.assert_array_equal(given.payload.inertia, SOUND)
