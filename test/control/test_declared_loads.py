"""Loads and gravity that are declared and cannot be: refused before they move anything."""

from __future__ import annotations

import numpy as np
import pytest
from closed_loop import READY, ArmLoop

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.gravity import check_gravity
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import ParameterError


def test_a_payload_that_efforts_cannot_carry_is_refused_and_the_model_stays():
    """500 kg declared on a UR5 at rest: 22 times the velocity limit, the tip went up by 0.61 m in 1 s."""
    loop = ArmLoop("ur5", READY)
    loop.run(0.1)
    before = loop.control.dynamics
    payload = PayloadParameters(payload_mass=500.0).payload
    heavy = ActuatedArm(loop.links.with_payload(payload), loop.chain, ActuatorParameters())
    with pytest.raises(ParameterError, match=r"needs .* but its limit is 150.*payload_mass \[kg\]"):
        loop.control.change_model(heavy)
    assert loop.control.dynamics is before
    loop.run(0.5)
    assert np.abs(loop.velocities).max() < 1e-6 and loop.phases[-1] is Phase.HOLDING


def test_a_payload_farther_from_the_tip_than_the_arm_is_long_asks_for_the_unit():
    """5 kg with its centre at 50, millimetres typed: 20 times the velocity limit."""
    chain = ArmLoop("ur5", READY).chain
    with pytest.raises(ParameterError, match=r"is 50\..* m from the tip.*in metres"):
        PayloadParameters(payload_mass=5.0, payload_center=(0.0, 0.0, 50.0)).on(chain)
    PayloadParameters(payload_mass=5.0, payload_center=(0.0, 0.0, 0.5)).on(chain)


@pytest.mark.parametrize(("gravity", "bad"), [((0.0, 0.0, -9810.0), True), ((0.0, 0.0, -29.0), False)])
def test_gravity_beyond_three_times_the_standard_one_is_refused(gravity, bad):
    if bad:
        with pytest.raises(ParameterError, match="magnitude of 9810"):
            check_gravity(gravity)
    else:
        check_gravity(gravity)
