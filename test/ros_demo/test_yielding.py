"""The scene of the demonstration in which joints are springs, without its page."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.resources import resource
from robot_dynamics.ros.demo import yielding
from robot_dynamics.ros.demo.arm import START, ArmRun

pytestmark = [pytest.mark.ros, pytest.mark.long]


@pytest.mark.filterwarnings("ignore::robot_dynamics.ModelWarning")
def test_the_load_moves_the_joints_by_its_weight_over_their_stiffness():
    description, lines = resource("urdf/puma560.urdf"), []
    chain = rd.load_urdf(description)
    with ArmRun(description, chain, 100.0, lockstep=True) as arm:
        arm.wait_for_control()
        found = yielding.run(arm, lambda *_: None, lines.append)
    bare = rd.compile_dynamics(chain, friction=False)
    loaded = bare.with_payload(PayloadParameters(payload_mass=yielding.LOAD).payload)
    for way, factor in ((found.way, 1.0), (found.stiffer, yielding.STIFFER)):
        pose = START + way
        weight = bare.gravity(pose) - loaded.gravity(pose)
        np.testing.assert_allclose(factor * np.array(yielding.STIFFNESS) * way, weight, atol=0.05)
    np.testing.assert_allclose(found.left, 0.0, atol=1e-4)
    assert np.abs(found.way).max() > 0.01 and "2 kg move a joint by" in lines[0]
