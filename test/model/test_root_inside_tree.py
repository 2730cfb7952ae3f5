"""A chain that begins inside the tree: what lies above its root is neither carried nor asked about."""

import numpy as np
import pytest
from descriptions import INERTIAL, joint, link, robot

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.errors import ModelError

pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")

ABOVE = (
    link("world"),
    link("cart"),
    link("mast"),
    joint("drive", "world", "cart", "prismatic", xyz="1 2 3", rpy="0.3 0.2 0.1", axis="1 0 0"),
    joint("tilt", "cart", "mast", xyz="0.1 0 0.5", rpy="0.4 -0.2 0.9", axis="0 1 0"),
    # A longer way beside the chain, and a body on its root that does not move with it.
    link("crane"),
    link("trolley"),
    link("hook"),
    link("load"),
    joint("slew", "cart", "crane"),
    joint("travel", "crane", "trolley", "prismatic", axis="1 0 0"),
    joint("hoist", "trolley", "hook", "prismatic"),
    joint("swing", "hook", "load"),
)
ARM = (
    link("upper"),
    link("fore", INERTIAL.replace('value="2"', 'value="1.3"')),
    link("hand", INERTIAL.replace('value="2"', 'value="0.4"')),
    joint("shoulder", "mast", "upper", xyz="0 0.1 0.2", rpy="0.2 0 -0.3", axis="0 0.6 0.8"),
    joint("elbow", "upper", "fore", xyz="0.3 0 0", axis="0 1 0"),
    joint("wrist", "fore", "hand", xyz="0.25 0 0.05", axis="1 0 0"),
    link("camera", INERTIAL.replace('value="2"', 'value="0.3"')),
    joint("mount", "upper", "camera", "fixed", xyz="0 0 0.1"),
)
ALONE = robot(link("mast"), *ARM)
"""The arm with its root fixed to the ground."""


@pytest.fixture(scope="module")
def chain():
    return load_urdf(robot(*ABOVE, *ARM), root="mast")


def test_the_chain_below_the_root_has_a_tip_of_its_own(chain):
    assert (chain.root, chain.tip) == ("mast", "hand")
    assert chain.joint_names == ("shoulder", "elbow", "wrist")
    assert [body.link for body in chain.joints] == ["upper", "fore", "hand"]


def test_places_and_efforts_are_those_of_the_arm_alone(chain):
    model = pin.buildModelFromXML(ALONE)
    model.gravity.linear = np.array([1.0, -2.0, -9.0])
    data = model.createData()
    dynamics = compile_dynamics(chain, gravity=(1.0, -2.0, -9.0), backend="python")
    random = np.random.default_rng(4)
    for q, qd, qdd in random.uniform(-1.5, 1.5, (10, 3, 3)):
        pin.framesForwardKinematics(model, data, q)
        expected = data.oMf[model.getFrameId("hand")].homogeneous
        np.testing.assert_allclose(chain.forward_kinematics(q), expected, atol=1e-12)
        efforts = pin.rnea(model, data, q, qd, qdd)
        np.testing.assert_allclose(dynamics.inverse_dynamics(q, qd, qdd), efforts, rtol=1e-9, atol=1e-12)


def test_a_tip_above_the_root_or_beside_it_is_refused():
    for tip in ("cart", "world", "load"):
        with pytest.raises(
            ModelError, match=f"link '{tip}' does not hang below link 'mast' in robot 'sample'"
        ):
            load_urdf(robot(*ABOVE, *ARM), root="mast", tip=tip)


def test_a_branch_beside_the_root_may_be_a_root_itself():
    chain = load_urdf(robot(*ABOVE, *ARM), root="cart", tip="load")
    assert chain.joint_names == ("slew", "travel", "hoist", "swing")


def test_a_joint_that_mimics_one_above_the_root_is_named():
    """The position of the master is given by nobody."""
    mimic = '<mimic joint="tilt" multiplier="2" offset="0.1"/>'
    arm = [part.replace("</joint>", f"{mimic}</joint>") if "wrist" in part else part for part in ARM]
    message = "joint 'wrist' is in the chain but mimics 'tilt', which is not: lock one of them"
    with pytest.raises(ModelError, match=message):
        load_urdf(robot(*ABOVE, *arm), root="mast")
    held = load_urdf(robot(*ABOVE, *arm), root="mast", locked_joints={"tilt": 0.2})
    assert held.joint_names == ("shoulder", "elbow")
    # The hand is fixed to the fore arm, turned by 2 * 0.2 + 0.1.
    alone = load_urdf(ALONE).forward_kinematics(np.array([0.0, 0.0, 0.5]))
    np.testing.assert_allclose(held.forward_kinematics(np.zeros(2)), alone, atol=1e-12)
