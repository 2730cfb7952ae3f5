"""Target poses: a single one is approached slowly, a stream is followed, what is out of reach is refused."""

import numpy as np
import pinocchio as pin
import pytest
from closed_loop import READY, ArmLoop

import robot_dynamics as rd
from robot_dynamics.control.arm.target_pose import FrameSolver, TargetPose
from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import TrajectoryError

PANDA = (0.1, -0.6, 0.2, -2.2, 0.1, 1.7, 0.6)
RATE = 30.0
JITTER = 0.008


class Hand:
    """A simulated arm, and a sender of poses of its tip."""

    def __init__(self, robot="ur5", start=READY, **parameters):
        self.loop = ArmLoop(robot, start, **({"max_effort": (1e4,)} | parameters))
        self.links = rd.compile_dynamics(self.loop.chain, friction=False)
        self.loop.run(0.1)
        self.home = self.links.forward_kinematics(np.array(start)).copy()
        self.remarks, self.places = [], []

    @property
    def pose(self):
        return self.links.forward_kinematics(self.loop.plant.position).copy()

    def send(self, pose):
        control = self.loop.control
        target = TargetPose(np.asarray(pose))
        planned = control.plan_pose(target, control.plan_start(None))
        assert not control.accept(planned)
        self.remarks += planned.trajectory.remarks
        return planned.trajectory

    def stream(self, duration, pose, seed=1):
        """Send ``pose`` of the time at 30 Hz with jitter; the tip's places are kept."""
        random = np.random.default_rng(seed)
        began = self.loop.time
        due, arrives = began, began
        while self.loop.time < began + duration:
            if self.loop.time >= arrives:
                self.send(pose(due - began))
                due += 1.0 / RATE
                arrives = due + JITTER * random.random()
            self.loop.step()
            self.places.append(self.pose)

    def shifted(self, way=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
        pose = self.home.copy()
        pose[:3, 3] += way
        pose[:3, :3] = pin.exp3(np.array(turn, dtype=float)) @ pose[:3, :3]
        return pose


@pytest.mark.parametrize(("robot", "start"), [("ur5", READY), ("panda", PANDA)])
def test_a_single_pose_is_approached_slowly_and_reached(robot, start):
    hand = Hand(robot, start)
    target = hand.shifted((0.1, -0.05, 0.08), (0.2, 0.1, -0.3))
    trajectory = hand.send(target)
    assert not trajectory.streamed and not hand.remarks
    hand.loop.run(trajectory.end - hand.loop.time + 1.0)
    assert hand.loop.trip is None and hand.loop.phases[-1] is Phase.HOLDING
    np.testing.assert_allclose(hand.pose, target, atol=2e-4)
    limits = [hand.loop.chain.driving_joint(j).limits.velocity for j in range(len(start))]
    speeds = np.abs(hand.loop.velocities).max(axis=0)
    assert (speeds < 0.26 * np.array(limits)).all() and (speeds / limits).max() > 0.1


@pytest.mark.long
@pytest.mark.parametrize("mode", ["computed_torque", "cartesian_impedance"])
@pytest.mark.parametrize(("robot", "start"), [("ur5", READY), ("panda", PANDA)])
def test_poses_at_30_hz_are_followed_smoothly_and_the_arm_stops_when_they_end(robot, start, mode):
    """A circle of 5 cm in 3 s; the lag is that of the stream: 1.7 periods."""
    hand = Hand(robot, start, mode=mode)

    def circle(time):
        angle = 2.0 * np.pi / 3.0 * max(0.0, time - 0.5) * np.clip((time - 0.5) / 1.0, 0.0, 1.0)
        return hand.shifted(
            (0.05 * np.sin(angle), 0.05 * (np.cos(angle) - 1.0), 0.0), (0.0, 0.0, 0.1 * np.sin(angle))
        )

    hand.stream(5.0, circle)
    assert any("followed as a stream" in remark for remark in hand.remarks)
    assert len(hand.remarks) == 1
    period = hand.loop.period
    lags = np.arange(0.0, 0.15, period)
    late = [circle(5.0 - 2.0), circle(5.0 - 1.0)]
    assert np.abs(late[0][:3, 3] - late[1][:3, 3]).max() > 0.03
    times = np.arange(round(2.0 / period), len(hand.places))
    misses = []
    for lag in lags:
        wanted = np.array([circle(period * k - lag)[:3, 3] for k in times])
        misses.append(np.abs(np.array([hand.places[k][:3, 3] for k in times]) - wanted).max())
    best = int(np.argmin(misses))
    assert misses[best] < (2e-3 if mode == "computed_torque" else 6e-3)
    assert lags[best] < 1.7 / RATE + 2.0 * JITTER + 0.02
    accelerations = np.abs(np.diff(hand.loop.velocities, axis=0) / period)
    assert accelerations[round(1.0 / period) :].max() < 8.0
    hand.loop.run(1.0)
    assert hand.loop.trip is None and hand.loop.phases[-1] is Phase.HOLDING
    assert np.abs(hand.loop.velocities[-1]).max() < 2e-3


def test_a_redundant_arm_that_returns_has_its_posture_again():
    """Ten circles: joint positions found by the nearest solution alone would drift."""
    hand = Hand("panda", PANDA)
    solver = hand.loop.control._solver()
    q = np.array(PANDA)
    for k in range(301):
        angle = 2.0 * np.pi * k / 30.0
        target = hand.shifted((0.1 * np.sin(angle), 0.1 * (np.cos(angle) - 1.0), 0.1 * np.sin(angle)))
        q = solver.solve(target, q, np.array(PANDA))
    np.testing.assert_allclose(hand.links.forward_kinematics(q), hand.home, atol=1e-7)
    assert np.abs(q - PANDA).max() < 0.05


def test_a_pose_beyond_reach_is_approached_as_near_as_possible_or_refused():
    hand = Hand()
    control = hand.loop.control
    shoulder = np.array((0.0, 0.0, 0.089))
    far = hand.home.copy()
    direction = (far[:3, 3] - shoulder) / np.linalg.norm(far[:3, 3] - shoulder)
    far[:3, 3] = shoulder + 2.0 * direction
    with pytest.raises(TrajectoryError, match=r"out of reach: the nearest pose of the arm is 1\.\d+ m away"):
        hand.send(far)
    seed = np.array(READY)
    nearest = np.linalg.norm(hand.links.forward_kinematics(np.zeros(6))[:3, 3])
    assert nearest < 1.0
    far[:3, 3] = shoulder + 0.97 * direction
    found = control._solver().solve(far, seed, seed)
    assert np.isfinite(found).all()


def test_the_joint_limits_of_the_arm_are_kept():
    hand = Hand("panda", PANDA)
    lower = np.array([hand.loop.chain.driving_joint(j).limits.lower for j in range(7)])
    upper = np.array([hand.loop.chain.driving_joint(j).limits.upper for j in range(7)])
    solver = FrameSolver(hand.loop.chain, hand.links, "", lower, upper)
    random, reached = np.random.default_rng(2), 0
    for _ in range(200):
        seed = lower + (upper - lower) * random.random(7)
        wanted = np.clip(seed + random.uniform(-0.4, 0.4, 7), lower, upper)
        try:
            found = solver.solve(hand.links.forward_kinematics(wanted).copy(), seed, seed)
        except TrajectoryError:
            continue
        assert (found >= lower).all() and (found <= upper).all()
        reached += (
            np.abs(hand.links.forward_kinematics(found) - hand.links.forward_kinematics(wanted)).max() < 1e-6
        )
    assert reached > 190


def test_gravity_compensation_and_trees_take_no_target_pose():
    hand = Hand(mode="gravity_compensation")
    with pytest.raises(TrajectoryError, match="set another mode first"):
        hand.send(hand.home)
