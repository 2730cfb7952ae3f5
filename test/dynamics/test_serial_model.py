"""Link frames reproduce the chain they were placed on, whatever the relation of its axes."""

import numpy as np
import pytest
import random_robots

from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ConversionError, ParameterError, StateError
from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain
from robot_dynamics.model.frames import place_frames


@pytest.mark.parametrize("seed", range(60))
def test_forward_kinematics_equals_the_chain(seed):
    robot = random_robots.chain(seed)
    model = SerialModel.from_chain(robot)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q = rng.uniform(-3, 3, robot.dof)
        np.testing.assert_allclose(model.forward_kinematics(q), robot.forward_kinematics(q), atol=2e-10)


@pytest.mark.parametrize("seed", range(20))
def test_lengths_stay_of_the_arms_size(seed):
    robot = random_robots.chain(seed, n=7, special=True)
    model = SerialModel.from_chain(robot)
    lengths = [abs(x) for link in model.links for x in (link.a, link.y_shift, link.r)]
    assert max(lengths) < 40.0


def test_first_joint_starts_at_frame_zero():
    for seed in range(10):
        first = SerialModel.from_chain(random_robots.chain(seed)).links[0]
        assert (first.alpha, first.a, first.y_shift, first.r, first.theta, first.offset) == (0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("seed", range(10))
def test_a_links_pose_is_what_lies_before_its_joint_and_then_the_joint_itself(seed):
    """Rx(alpha) Trans(a, y_shift, 0), then Rz(theta) Trans(0, 0, r), written out."""
    for link in SerialModel.from_chain(random_robots.chain(seed)).links:
        ca, sa = np.cos(link.alpha), np.sin(link.alpha)
        before = np.array(
            [
                [1.0, 0.0, 0.0, link.a],
                [0.0, ca, -sa, ca * link.y_shift],
                [0.0, sa, ca, sa * link.y_shift],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
        np.testing.assert_allclose(link.before_joint(), before, atol=1e-14)
        theta, r = (0.7, link.r) if link.revolute else (link.theta, 0.7)
        c, s = np.cos(theta), np.sin(theta)
        joint = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, r], [0, 0, 0, 1]])
        np.testing.assert_allclose(link.pose_at(0.7), before @ joint, atol=1e-14)


def planar(angle):
    joints = tuple(
        ChainJoint(
            name=f"j{i}",
            link=f"l{i}",
            kind=JointKind.REVOLUTE,
            origin=random_robots.tilt(angle * i) @ random_robots.shift(0.5 * i, 0.0, 0.0),
            axis=np.array([0.0, 0.0, 1.0]),
            body=random_robots.body(np.random.default_rng(i)),
            coordinate=i,
        )
        for i in range(2)
    )
    return KinematicChain("planar", "root", "tip", joints, ("j0", "j1"), np.eye(4))


def test_imprecise_right_angles_become_exact_only_within_the_tolerance():
    assert SerialModel.from_chain(planar(5e-12)).links[1].alpha == 0.0
    assert SerialModel.from_chain(planar(4e-6)).links[1].alpha != 0.0
    assert SerialModel.from_chain(planar(4e-6), tolerance=1e-4).links[1].alpha == 0.0


def test_frames_that_miss_the_chain_are_refused():
    with pytest.raises(ConversionError, match=r"root -> tip miss its forward kinematics by \d.*limit 6e-18"):
        SerialModel.from_chain(random_robots.chain(5, n=7, special=False), tolerance=1e-18)


def test_a_chain_without_joints_and_an_impossible_tolerance_are_refused():
    fixed = KinematicChain("fixed", "root", "tip", (), (), np.eye(4))
    with pytest.raises(ParameterError, match="root -> tip has no moving joint"):
        SerialModel.from_chain(fixed)
    for tolerance in (0.0, -1e-9, np.inf, np.nan):
        with pytest.raises(ParameterError, match="tolerance"):
            SerialModel.from_chain(planar(0.0), tolerance=tolerance)


def test_z_is_the_joints_own_axis_and_every_link_knows_its_parent():
    for seed in range(20):
        robot = random_robots.chain(seed)
        placed, pose = place_frames(robot), np.eye(4)
        assert [link.parent for link in placed.links] == list(range(-1, len(robot.joints) - 1))
        frames = SerialModel.from_chain(robot).frames(np.zeros(robot.dof))
        for joint, link, place, frame in zip(robot.joints, placed.links, placed.poses, frames, strict=True):
            pose = pose @ joint.origin
            np.testing.assert_allclose(place[:3, 2], joint.axis, atol=2e-11)
            np.testing.assert_allclose(placed.base @ frame, pose @ place, atol=1e-9)
            assert link.multiplier == joint.multiplier


def test_textbook_arm_is_checked():
    good = {
        "alpha": [0.0],
        "a": [0.0],
        "r": [0.0],
        "mass": [1.0],
        "first_moment": [[0, 0, 0]],
        "inertia": [np.eye(3)],
    }
    model = SerialModel.from_dh(**good)
    np.testing.assert_allclose(model.forward_kinematics([0.3])[0, 0], np.cos(0.3))
    with pytest.raises(ParameterError, match="mass"):
        SerialModel.from_dh(**{**good, "mass": [1.0, 2.0]})
    with pytest.raises(ParameterError, match="inertia of link 1"):
        SerialModel.from_dh(**{**good, "inertia": [np.arange(9.0).reshape(3, 3)]})
    with pytest.raises(StateError, match="joint_1"):
        model.forward_kinematics([0.0, 1.0])
