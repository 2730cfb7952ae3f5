"""Identification of a robot with two arms: columns, bodies and boxes of a tree, and its masses."""

import numpy as np
import pinocchio as pin
import pytest
from two_arms import JOINTS, TIPS, TWO_ARMS

pytest.importorskip("scipy", reason="excitation and identification need scipy")
from robot_dynamics import ActuatorParameters, compile_dynamics, load_urdf
from robot_dynamics.errors import ParameterError
from robot_dynamics.identification import inertial
from robot_dynamics.identification.excitation.bodies import link_poses, slope
from robot_dynamics.identification.excitation.bounds import Bounds
from robot_dynamics.identification.excitation.plan import plan
from robot_dynamics.identification.excitation.series import Series
from robot_dynamics.identification.gains import drive_gains
from robot_dynamics.identification.identify import identify
from robot_dynamics.identification.inertial import chain_parameters
from robot_dynamics.identification.link_boxes import link_boxes
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.payload import identify_payload
from robot_dynamics.identification.regressor import inertial_regressor
from robot_dynamics.identification.runs import Options

pytestmark = pytest.mark.long

FOLLOWING = TWO_ARMS.replace(
    '<joint name="right_elbow" type="revolute">',
    '<joint name="right_elbow" type="revolute"><mimic joint="left_elbow" multiplier="-0.7" offset="0.2"/>',
)


@pytest.fixture(scope="module")
def tree():
    return load_urdf(TWO_ARMS, tips="all")


class Robot:
    """Pinocchio's robot, in the order of JOINTS."""

    def __init__(self, heavier=0.0):
        self.model = pin.buildModelFromXML(TWO_ARMS)
        for k in range(1, self.model.njoints):
            self.model.inertias[k].mass *= 1.0 + heavier * k
        self.data = self.model.createData()
        self.index = [self.model.joints[self.model.getJointId(name)].idx_q for name in JOINTS]

    def efforts(self, *states):
        found = []
        for rows in zip(*states, strict=True):
            given = np.zeros((3, len(JOINTS)))
            given[:, self.index] = rows
            found.append(pin.rnea(self.model, self.data, *given)[self.index])
        return np.array(found)


def test_the_columns_of_a_tree_are_its_inverse_dynamics(tree):
    states = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 20, tree.dof))
    columns = inertial_regressor(tree, *states)
    np.testing.assert_allclose(
        columns @ chain_parameters(tree), Robot().efforts(*states), rtol=1e-11, atol=1e-11
    )
    assert np.abs(columns[:, JOINTS.index("left_elbow"), 30:]).max() == 0.0  # nothing of the right arm
    coupled = load_urdf(FOLLOWING, tips="all")
    states = np.ascontiguousarray(states[..., : coupled.dof])
    expected = compile_dynamics(coupled, backend="python", friction=False).inverse_dynamics(*states)
    found = inertial_regressor(coupled, *states) @ chain_parameters(coupled)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_bodies_of_a_tree_move_with_the_joints_that_carry_them(tree):
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (3, tree.dof))
    poses = link_poses(tree, q)
    for row, found in zip(q, poses, strict=True):
        np.testing.assert_allclose(found, tree.link_poses(row), atol=1e-14)
    fore, point, direction = (
        JOINTS.index("right_elbow"),
        np.array([0.1, 0.2, -0.3]),
        np.array([0.6, 0.0, 0.8]),
    )
    world = poses[0, fore] @ [*point, 1.0]
    slopes = slope(tree, poses[0], fore, world[:3], direction)
    for j, step in enumerate(1e-6 * np.eye(tree.dof)):
        moved = link_poses(tree, np.array([q[0] + step, q[0] - step]))[:, fore] @ [*point, 1.0]
        assert slopes[j] == pytest.approx(direction @ (moved[0] - moved[1])[:3] / 2e-6, abs=1e-8)
    assert slopes[JOINTS.index("left_shoulder")] == 0.0


def test_the_box_of_a_link_reaches_all_that_it_carries(tree):
    boxes = link_boxes(tree)
    for joint, carrier in zip(tree.joints, tree.carriers, strict=True):
        if carrier >= 0:
            place = joint.origin[:3, 3]
            assert (boxes[carrier].lower < place).all() and (place < boxes[carrier].upper).all()
    for tip in tree.tips:
        place = tip.transform[:3, 3]
        assert (boxes[tip.joint].lower < place).all() and (place < boxes[tip.joint].upper).all()


LOADS = {
    "left_hand": inertial.RigidBody(1.2, np.array([0.03, -0.02, 0.05]), 0.004 * np.eye(3)),
    "right_hand": inertial.RigidBody(0.5, np.array([-0.02, 0.04, 0.03]), 0.002 * np.eye(3)),
}


def recorded(tree, motion, loads, gains=1.0):
    """A log of Pinocchio's robot, with bodies in its hands."""
    time = np.arange(0.0, 10.0, 0.02)
    q, qd, qdd = motion.states(time)
    real = Robot()
    for tip in tree.tips:
        if tip.link in loads:
            load = loads[tip.link]
            body = pin.Inertia(load.mass, load.center_of_mass, load.inertia)
            at = real.model.getJointId(tree.joints[tip.joint].name)
            real.model.inertias[at] += pin.SE3(tip.transform).act(body)
    real.data = real.model.createData()
    noise = np.random.default_rng(2).normal(0.0, 0.01, q.shape)
    efforts = real.efforts(q, qd, qdd) + 0.4 * qd + 0.5 * np.tanh(qd / 0.005) + noise
    return Log("run", tuple(JOINTS), time, q, qd, efforts / gains)


@pytest.fixture(scope="module")
def motion(tree):
    bounds, series = Bounds.of(tree, {}), Series(10.0, 4)
    return plan([compile_dynamics(tree, friction=False)], bounds, None, series, starts=1)


def test_the_payload_of_each_tip_is_found_by_one_motion(tree, motion):
    drives = ActuatorParameters(damping=(0.4,) * 5, friction=(0.5,) * 5)
    options = Options(payload=True, drives=drives)
    found = identify(tree, [recorded(tree, motion, LOADS)], options=options)
    assert found.payload is None and list(found.payloads) == TIPS
    for tip, load in LOADS.items():
        assert found.payloads[tip].mass == pytest.approx(load.mass, abs=0.02)
        assert found.payloads[tip].center_of_mass == pytest.approx(load.center_of_mass, abs=0.02)
        assert found.summary()["payloads"][tip]["mass"] == found.payloads[tip].mass
    assert found.knowledge.deviations[0] < 0.02
    twice = load_urdf(TWO_ARMS, tips=["left_hand", "left_fore"])
    with pytest.raises(ParameterError, match="left_hand and left_fore are both on the link left_fore"):
        identify_payload(twice, (np.zeros(65), None), [], [], options)


def test_gains_of_both_arms_by_a_payload_in_each_hand(tree, motion):
    gains = np.array([1.1, 0.9, 1.15, 0.85, 1.05])
    empty, loaded = (recorded(tree, motion, loads, gains) for loads in ({}, LOADS))
    known = {tip: (load.mass, load.center_of_mass) for tip, load in LOADS.items()}
    options = Options(cutoff=10.0, delay=0.0)
    found = drive_gains(tree, [empty], [loaded], known, options)
    assert found.felt.all()
    np.testing.assert_allclose(found.factors, gains, rtol=0.01)
    left = {"left_hand": known["left_hand"]}
    alone = drive_gains(
        tree, [empty], [recorded(tree, motion, {"left_hand": LOADS["left_hand"]}, gains)], left
    )
    assert alone.felt[:3].all() and not alone.felt[3:].any()
    with pytest.raises(ParameterError, match="a payload at 'hand'; the tips are left_hand, right_hand"):
        drive_gains(tree, [empty], [loaded], {"hand": (1.0, None)}, options)


def test_masses_of_both_arms_are_found_by_one_motion(tree, motion):
    time = np.arange(0.0, 10.0, 0.02)
    q, qd, qdd = motion.states(time)
    real = Robot(heavier=0.1)
    noise = np.random.default_rng(2).normal(0.0, 0.01, q.shape)
    efforts = real.efforts(q, qd, qdd) + 0.4 * qd + 0.5 * np.tanh(qd / 0.005) + noise
    log = Log("run", tuple(JOINTS), time, q, qd, efforts)
    found = identify(tree, [log], [], Options(boxes=link_boxes(tree)))
    states = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 50, tree.dof))
    expected = real.efforts(*states)
    missed = inertial_regressor(tree, *states) @ chain_parameters(found.chain) - expected
    assert np.linalg.norm(missed) < 0.03 * np.linalg.norm(expected)
    assert [tip.link for tip in found.chain.tips] == TIPS
