"""Joint positions of a target pose: on linear arms in closed form, within limits, and as near as possible."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from two_arms import TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.control.arm.target_pose import FrameSolver, TargetPose
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.errors import TrajectoryError

ONE_TIP = SimpleNamespace(tips=[SimpleNamespace(link="tip")])


class Linear(CompiledDynamics):
    """An arm whose frame moves by rows @ q and turns about a fixed axis by angles @ q."""

    def __init__(self, rows, angles=None, axis=(0.0, 0.0, 1.0)):
        self.rows = np.atleast_2d(rows).astype(float)
        self.angles = np.zeros(self.rows.shape[1]) if angles is None else np.array(angles)
        self.axis, self.asked, self.steps = np.array(axis), [], 0

    def pose(self, q):
        found = np.eye(4)
        found[: len(self.rows), 3] = self.rows @ q
        found[:3, :3] = Rotation.from_rotvec((self.angles @ q) * self.axis).as_matrix()
        return found

    def jacobian(self, q):
        self.steps += 1
        found = np.zeros((6, len(self.angles)))
        found[: len(self.rows)] = self.rows
        found[3:] = np.outer(self.axis, self.angles)
        return found

    def function(self, name, **options):
        self.asked.append((name, options))
        return {"forward_kinematics": self.pose, "jacobian": self.jacobian}[name]


def solver(links, lower=None, upper=None, frame=""):
    n = len(links.angles)
    bounds = (
        np.full(n, value) if given is None else np.array(given)
        for given, value in ((lower, -np.inf), (upper, np.inf))
    )
    return FrameSolver(ONE_TIP, links, frame, *bounds)


AXIS = np.array([0.6, -0.48, 0.64])
ROWS = np.random.default_rng(3).normal(size=(3, 6))
ANGLES = np.array([0.3, -0.8, 0.5, 0.9, -0.4, 0.7])


def target(links, q, way=(0.0, 0.0, 0.0), turn=0.0):
    pose = links.pose(np.array(q))
    pose[:3, 3] += way
    pose[:3, :3] = Rotation.from_rotvec(turn * AXIS).as_matrix() @ pose[:3, :3]
    return pose


class Gantry(Linear):
    """A frame with the coordinates u = G q: its position, and its turns about z, y and x."""

    def __init__(self, mixed):
        super().__init__(np.zeros((3, mixed.shape[1])))
        self.mixed = mixed

    def pose(self, q):
        u, found = self.mixed @ q, np.eye(4)
        found[:3, 3], found[:3, :3] = u[:3], Rotation.from_euler("ZYX", u[3:]).as_matrix()
        return found

    def jacobian(self, q):
        self.steps += 1
        a, b, _ = (self.mixed @ q)[3:]
        about = np.eye(6)
        about[3:, 3] = (0.0, 0.0, 1.0)
        about[3:, 4] = (-math.sin(a), math.cos(a), 0.0)
        about[3:, 5] = (math.cos(a) * math.cos(b), math.sin(a) * math.cos(b), -math.sin(b))
        return about @ self.mixed


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_a_redundant_arm_goes_a_tenth_of_the_way_to_its_posture(scale):
    """q = seed + G⁺ (u - G seed) + 0.1 (1 - G⁺ G) (posture - seed): its free motions are those of G."""
    random = np.random.default_rng(12)
    links, seed = Gantry(random.normal(size=(6, 8))), random.uniform(-0.3, 0.3, 8)
    posture, inverse = seed + random.normal(size=8), np.linalg.pinv(links.mixed)
    u = links.mixed @ seed + scale * np.array([0.2, -0.1, 0.15, 0.4, -0.2, 0.3])
    free = np.eye(8) - inverse @ links.mixed
    expected = seed + inverse @ (u - links.mixed @ seed) + 0.1 * free @ (posture - seed)
    pose, before = links.pose(inverse @ u), seed.copy()
    found = solver(links).solve(pose, seed, posture)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_array_equal(seed, before)
    assert links.steps == 1 if scale == 0.0 else links.steps < 20


def test_the_error_is_the_way_and_the_rotation_vector_in_root_axes():
    links, q = Linear(ROWS, ANGLES, AXIS), np.array([0.2, -0.3, 0.4, 0.1, -0.6, 0.5])
    error = solver(links)._error(q, target(links, q, (0.2, -0.1, 0.15), 0.4))
    np.testing.assert_allclose(error, [0.2, -0.1, 0.15, *(0.4 * AXIS)], atol=1e-12)
    gantry = Gantry(np.eye(6))
    begin, end = np.array([0.1, 0.2, 0.3, 0.5, -0.4, 0.3]), np.array([0.0, 0.5, 0.1, -0.2, 0.3, 0.6])
    here, there = (Rotation.from_euler("ZYX", u[3:]) for u in (begin, end))
    expected = [*(end - begin)[:3], *(there * here.inv()).as_rotvec()]
    np.testing.assert_allclose(solver(gantry)._error(begin, gantry.pose(end)), expected, atol=1e-12)


def test_moving_and_turning_are_weighed_with_a_lever_where_both_cannot_be_reached():
    """One joint moves along x and turns about z: least x² + (0.2 turn)² of what is left."""
    links = Linear([[1.0], [0.0], [0.0]], [2.0])
    pose = np.eye(4)
    pose[0, 3], pose[:3, :3] = 0.1, Rotation.from_rotvec([0.0, 0.0, 0.4]).as_matrix()
    found = solver(links).solve(pose, np.array([0.05]), np.zeros(1))
    assert found[0] == pytest.approx((0.1 + 0.04 * 2.0 * 0.4) / (1.0 + 0.04 * 4.0), abs=1e-5)
    sideways = Linear([[1.0], [-2.0], [3.0]], [0.0])
    pose = np.eye(4)
    pose[:3, 3] = (0.05, 0.04, -0.06)
    found = solver(sideways).solve(pose, np.array([0.01]), np.zeros(1))
    assert found[0] == pytest.approx((0.05 - 0.08 - 0.18) / 14.0, abs=1e-4)


def test_a_joint_at_its_limit_is_left_there_and_the_others_take_over():
    links = Linear([[1.0, 1.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.0]])
    lower, upper = [-1.0, -1.0, -0.25], [0.1, 1.0, 1.0]
    seed = np.array([0.1, 0.2, 0.3])
    found = solver(links, lower, upper).solve(target(links, seed, (0.4, 0.0, 0.0)), seed, seed)
    np.testing.assert_allclose(found, [0.1, 0.6, 0.1], atol=1e-6)
    seed = np.array([0.1, 0.2, -0.25])
    found = solver(links, lower, upper).solve(target(links, seed, (0.3, 0.06, 0.0)), seed, seed)
    assert found[0] == pytest.approx(0.1) and found[2] == pytest.approx(-0.25, abs=0.1)
    # An arm beyond its limits may stay, and come back.
    out = np.array([0.15, 0.2, -0.3])
    found = solver(links, lower, upper).solve(target(links, out, (0.02, 0.01, 0.0)), out, out)
    np.testing.assert_allclose(
        links.pose(found)[:3, 3], links.pose(out)[:3, 3] + [0.02, 0.01, 0.0], atol=1e-8
    )
    assert found[0] <= 0.15 and found[2] >= -0.3
    back = solver(links, lower, upper).solve(target(links, [0.05, 0.2, -0.1]), out, out)
    np.testing.assert_allclose(links.pose(back)[:3, 3], [0.25, 0.0, 0.0], atol=1e-8)


def test_a_step_is_damped_least_squares_without_the_joints_that_would_leave_their_limits():
    random = np.random.default_rng(5)
    jacobian, error, square = random.normal(size=(6, 5)), random.normal(size=6), 0.3
    free = np.inf * np.ones(5)

    def damped(moved):
        rows = np.vstack([jacobian[:, moved], np.sqrt(0.5 * square + 1e-8) * np.eye(len(moved))])
        step = np.zeros(5)
        step[moved] = np.linalg.lstsq(rows, np.concatenate([error, np.zeros(len(moved))]))[0]
        return step

    whole = damped([0, 1, 2, 3, 4])
    found = FrameSolver._step(jacobian, error, square, np.zeros(5), -free, free)
    np.testing.assert_allclose(found, whole, rtol=1e-9)
    small = FrameSolver._step(jacobian, error, 0.0, np.zeros(5), -free, free)
    np.testing.assert_allclose(small, np.linalg.lstsq(jacobian, error)[0], rtol=1e-6)
    for j in range(5):
        lower, upper = -free, free.copy()
        (upper if whole[j] > 0.0 else lower)[j] = 0.0
        rest = [k for k in range(5) if k != j]
        found = FrameSolver._step(jacobian, error, square, np.zeros(5), lower, upper)
        np.testing.assert_allclose(found, damped(rest), rtol=1e-9)
        # At the other limit it moves away.
        lower, upper = -free, free.copy()
        (lower if whole[j] > 0.0 else upper)[j] = 0.0
        found = FrameSolver._step(jacobian, error, square, np.zeros(5), lower, upper)
        np.testing.assert_allclose(found, whole, rtol=1e-9)


def test_what_moves_the_frame_is_no_part_of_the_way_to_the_posture():
    jacobian = np.random.default_rng(6).normal(size=(6, 8))
    way = np.arange(1.0, 9.0)
    found = FrameSolver._free(jacobian, way)
    np.testing.assert_allclose(found, way - np.linalg.pinv(jacobian) @ jacobian @ way, atol=1e-9)
    assert np.abs(found).max() > 0.5
    assert not FrameSolver._free(jacobian[:, :6], way[:6]).any()


class Restless(Linear):
    """An arm that never comes nearer."""

    def pose(self, q):
        return np.eye(4)


def test_the_search_ends_after_sixty_steps_and_sooner_where_it_stands():
    links, pose = Restless(np.eye(3)), np.eye(4)
    pose[0, 3] = 0.05
    solver(links).solve(pose, np.zeros(3), np.zeros(3))
    assert links.steps == 60
    stuck = Linear(np.eye(3))
    solver(stuck, upper=[0.0, 1.0, 1.0]).solve(pose, np.zeros(3), np.zeros(3))
    assert stuck.steps == 2
    near = Linear(np.eye(3))
    solver(near).solve(pose, np.zeros(3), np.zeros(3))
    # The damping is half the square of the error: cubic, then damped by 1e-8.
    assert near.steps <= 4


def test_the_search_goes_on_until_a_billionth_of_a_metre():
    links = Linear(np.eye(3))
    for away, steps in ((0.9e-9, 1), (1.1e-9, 2)):
        links.steps, pose = 0, np.eye(4)
        pose[1, 3] = away
        chosen = solver(links)
        full, chosen._step = chosen._step, lambda *given: np.zeros(3)
        chosen.solve(pose, np.zeros(3), np.zeros(3))
        assert links.steps == steps
        assert full(np.eye(6)[:, :3], np.ones(6), 0.0, *[np.full(3, x) for x in (0.0, -9.0, 9.0)])[0] > 0.9


@pytest.mark.parametrize(
    ("way", "turn", "words"),
    [
        (0.0999, 0.499, ""),
        (0.1001, 0.0, "0.100 m away, and at most 0.1 m are let pass"),
        (1.25, 3.0, "1.250 m away, and at most 0.1 m are let pass"),
        (0.0, 0.501, "0.501 rad away, and at most 0.5 rad are let pass"),
    ],
)
def test_a_pose_out_of_reach_is_refused_with_its_distance(way, turn, words):
    links = Linear(np.zeros((3, 2)))
    pose = np.eye(4)
    pose[:3, 3] = way * np.array([0.6, 0.0, -0.8])
    pose[:3, :3] = Rotation.from_rotvec(turn * AXIS).as_matrix()
    if not words:
        assert solver(links).solve(pose, np.ones(2), np.ones(2)).tolist() == [1.0, 1.0]
        return
    with pytest.raises(TrajectoryError) as told:
        solver(links).solve(pose, np.ones(2), np.ones(2))
    assert str(told.value) == f"the target pose is out of reach: the nearest pose of the arm is {words}"


def test_the_frame_is_chosen_in_both_functions():
    links = Linear(np.eye(3))
    solver(links)
    assert links.asked == [("forward_kinematics", {}), ("jacobian", {"axes": "root"})]
    links.asked.clear()
    solver(links, frame="tool")
    assert links.asked == [
        ("forward_kinematics", {"frame": "tool"}),
        ("jacobian", {"axes": "root", "frame": "tool"}),
    ]


def test_robots_with_several_tips_and_models_that_are_not_compiled_have_no_target_poses():
    with pytest.raises(TrajectoryError) as told:
        FrameSolver(rd.load_urdf(TWO_ARMS, tips="all"), Linear(np.eye(3)), "", np.zeros(5), np.zeros(5))
    assert str(told.value) == (
        "the robot has the tips left_hand, right_hand; a target pose is for a robot with one tip"
    )
    with pytest.raises(TrajectoryError, match=r"^target poses need a compiled model$"):
        FrameSolver(ONE_TIP, SimpleNamespace(), "", np.zeros(5), np.zeros(5))
    pose = np.diag([1.0, 2.0, 3.0, 1.0])
    assert TargetPose(pose).pose is pose and TargetPose(pose).found is None
    assert math.isclose(np.linalg.norm(AXIS), 1.0)
