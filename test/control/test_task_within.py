"""Impedance of a frame against its description, with made-up poses, Jacobians and inertia."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import MadeUpArm
from scipy.spatial.transform import Rotation

STIFF = np.array([600.0, 300.0, 900.0, 30.0, 20.0, 10.0])
DAMP = np.array([40.0, 30.0, 50.0, 3.0, 2.0, 1.0])
CLIP = np.array([0.3, 0.2, 0.25, 0.4, 0.35, 0.3])
LEVER = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
PLAIN = {
    "stiffness": STIFF, "damping": DAMP, "error_clip": CLIP, "axes": 0, "projector": 0, "decoupled": 0,
    "posture_damping": 0.7, "posture_effort": 4.0, "limit_range": 0.0, "limit_effort": 0.0,
    "regularization": [0.0, 0.0],
}  # fmt: skip
DYNAMIC, KINEMATIC, FREE = 0, 1, 2
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def inverse(matrix, regularization, squares):
    """With eigenvalues of at least 3 % of the third smallest, or with a regularization."""
    if regularization > 0.0:
        values, axes = np.linalg.eigh(matrix)
        values = np.maximum(values, 0.0)
        added = regularization**2
        return axes @ np.diag(1.0 / (values + added) if squares else values / (values**2 + added)) @ axes.T
    values, axes = np.linalg.eigh(LEVER[:, None] * matrix * LEVER)
    values = np.maximum(values, 0.0)
    least = 0.03 * max(values[2], 1e-6 * values[5])
    inverted = 1.0 / np.maximum(values, least) if least > 0.0 else np.zeros(6)
    return LEVER[:, None] * (axes @ np.diag(inverted) @ axes.T) * LEVER


class Frame(MadeUpArm):
    """A made-up arm in a made-up state, with the law's parameters."""

    def __init__(self, n, seed=0, driven=True, error=None, **law):
        self.law = PLAIN | {"posture_stiffness": np.linspace(4.0, 9.0, n)} | law
        super().__init__(n, seed, driven, **self.law)
        draw = self.draw
        self.q, self.qd = draw.uniform(-0.5, 0.5, n), draw.uniform(-0.8, 0.8, n)
        self.r, self.rd, self.rdd = (
            self.q + draw.uniform(-0.3, 0.3, n), draw.uniform(-0.8, 0.8, n), draw.normal(size=n),
        )  # fmt: skip
        self.z, self.soft = draw.normal(size=n), draw.uniform(0.6, 0.9, n)
        self.turn = Rotation.random(random_state=seed).as_matrix()
        self.error = draw.uniform(-0.5, 0.5, 6) if error is None else np.asarray(error)
        here, there = np.eye(4), np.eye(4)
        here[:3, :3], here[:3, 3] = self.turn, draw.normal(size=3)
        there[:3, :3] = Rotation.from_rotvec(self.error[3:]).as_matrix() @ self.turn
        there[:3, 3] = here[:3, 3] + self.error[:3]
        self.poses = {self.q.tobytes(): here, self.r.tobytes(): there}
        self.core.disturbance_time = 5.0  # no load fades
        self.core.push_time = 5.0
        self.begin()

    def begin(self):
        self.put(
            state__position=self.q, state__velocity=self.qd, reference__position=self.r,
            reference__velocity=self.rd, reference__acceleration=self.rdd, disturbance=self.z,
            softness=self.soft, difference=np.arange(1.0, self.n + 1.0),
        )  # fmt: skip

    def effort(self, settings=None):
        """Efforts; what lies behind the law's arrays is nobody's but a way back's, or zero, and stays so."""
        made = self.ffi.new("double[]", [77.0] * (self.n + 1))
        ahead = self.ffi.new("rd_motion *")
        settings = self.settings if settings is None else settings
        self.put(retreat__coefficients=3.0)
        assert self.calls.rd_cartesian_impedance(self.core, settings, ahead, 0.0, made)
        assert made[self.n] == 77.0
        assert (self.get("retreat__coefficients") == 3.0).all() and not self.get("zero").any()
        return np.array(list(made)[: self.n])

    def dynamics(self):
        """Efforts without springs."""
        rate = self.qd if self.law["decoupled"] else self.rd
        return (
            self.whole_mass(self.q) @ (self.rdd + self.z) + self.coriolis(self.qd, rate) + self.weight(self.q)
        )

    def bent(self):
        """Acceleration of the reference's frame by its velocity, less that of the arm's frame."""
        return self.jacobian_rate(self.r, self.rd) - self.jacobian_rate(self.q, self.qd)

    def expected(self, push=0.0, pushed_back=0.0):
        """The law, and what of it springs, dampers and a push are."""
        law, soft = self.law, self.soft.min()
        mass = self.whole_mass(self.q)
        turn = np.kron(np.eye(2), self.turn.T if law["axes"] else np.eye(3))
        jacobian, following = turn @ self.jacobian(self.q), turn @ self.jacobian(self.r)
        k, d = np.asarray(law["stiffness"]), np.asarray(law["damping"])
        pull = soft**2 * k * np.clip(turn @ self.error, -CLIP, CLIP)
        rate = following @ self.rd - jacobian @ self.qd
        w = jacobian @ np.linalg.solve(mass, jacobian.T)
        regular = law["regularization"]
        inertia = inverse(w, regular[0], False)
        if law["decoupled"]:
            bend = turn @ self.bent()
            asked = pull + soft * np.where(d < 0, 2.0 * np.sqrt(k), d) * rate + bend
            force = inertia @ (asked + (following - jacobian) @ self.rdd)
        else:
            root = np.sqrt(np.where((d < 0) & (k > 0), k, 0.0))
            values, axes = np.linalg.eigh(root[:, None] * w * root)
            kept = values > 1e-12 * values.max()
            critical = (axes[:, kept] / np.sqrt(values[kept])) @ axes[:, kept].T
            force = pull + soft * (
                np.maximum(d, 0.0) * rate + 2.0 * root * (critical @ (root * rate)) * (values.max() > 0.0)
            )
        force = force + turn @ np.broadcast_to(push, 6)
        own, damper = np.asarray(law["posture_stiffness"]), law["posture_damping"]
        dampers = 2.0 * np.sqrt(own * np.diag(mass)) if damper < 0.0 else damper
        posture = soft * (soft * own * (self.r - self.q) + dampers * (self.rd - self.qd))
        posture = np.clip(posture, -law["posture_effort"], law["posture_effort"])
        if law["projector"] == KINEMATIC and not law["decoupled"]:
            squares = inverse(jacobian @ jacobian.T, regular[1], True)
            posture = posture - jacobian.T @ squares @ jacobian @ posture
        elif law["projector"] != FREE:
            posture = posture - jacobian.T @ inertia @ jacobian @ np.linalg.solve(mass, posture)
        return self.dynamics() + pushed_back, posture + jacobian.T @ force


LAWS = {
    "given damping": {"projector": FREE},
    "critical": {"damping": [-1.0] * 6},
    "one critical": {"damping": [-1.0, 30.0, 50.0, 3.0, 2.0, 1.0]},
    "some critical": {"damping": [-1.0, 30.0, -1.0, 2.0, -1.0, 0.0], "posture_damping": -1.0, "axes": 1},
    "some without springs": {
        "damping": [-1.0, -1.0, 20.0, -1.0, 1.0, -1.0], "stiffness": [0.0, 300.0, 200.0, 20.0, 0.0, 30.0],
    },
    "kinematic": {"projector": KINEMATIC, "axes": 1, "posture_effort": 1e3},
    "kinematic and regularized": {"projector": KINEMATIC, "regularization": [0.4, 0.7]},
    "dynamic and regularized": {"regularization": [0.4, 0.7], "axes": 1, "posture_effort": 1e3},
    "decoupled": {"decoupled": 1, "damping": [-1.0, 9.0, -1.0, 4.0, -1.0, 3.0]},
    "decoupled in the frame": {"decoupled": 1, "axes": 1, "projector": FREE, "posture_damping": -1.0},
    "decoupled, kinematic is dynamic": {"decoupled": 1, "projector": KINEMATIC},
    "decoupled and regularized": {"decoupled": 1, "regularization": [0.4, 0.7], "axes": 1},
    "soft springs": {
        "stiffness": [0.5, 0.02, 200.0, 0.3, 0.4, 30.0], "damping": [-1.0] * 6, "posture_damping": 0.0,
    },
    "only soft springs": {
        "stiffness": [0.002, 0.001, 0.003, 0.0005, 0.0004, 0.0002],
        "damping": [-1.0, 0.6, -1.0, 0.3, -1.0, -1.0],
    },
    "decoupled with slight damping": {"decoupled": 1, "damping": [0.5, 0.0, -1.0, 0.3, 0.7, 0.2]},
}  # fmt: skip


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [6, 8, 3])
def test_efforts_are_those_of_the_description(law, n):
    """Also with three joints, which move the frame in three directions."""
    for seed, driven in ((n, True), (n + 1, False)):
        frame = Frame(n, seed, driven, **LAWS[law])
        dynamics, springs = frame.expected()
        np.testing.assert_allclose(frame.effort(), dynamics + springs, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(frame.effort(), dynamics + springs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weak", [(1,), (2, 4), (0, 3, 5), (0, 1, 2, 3), (0, 1, 2, 3, 4, 5)])
@pytest.mark.parametrize("law", ["decoupled", "decoupled in the frame", "kinematic", "critical"])
@pytest.mark.parametrize("heavy", [1.0, 30.0])
def test_directions_that_can_hardly_be_moved_are_limited(law, weak, heavy):
    for share in (0.3, 1e-2, 0.0) if law == "critical" else (0.3, 1e-2, 1e-6, 0.0):
        frame = Frame(8, 3, **LAWS[law] | {"axes": 0})
        frame.rows[list(weak)] *= share
        frame.turns[list(weak)] *= share
        frame.shape *= heavy
        dynamics, springs = frame.expected()
        found = frame.effort()
        tolerance = 1e-5 * np.abs(springs).max() if share != 1e-6 else 1e-3 * np.abs(springs).max()
        np.testing.assert_allclose(found, dynamics + springs, rtol=1e-6, atol=tolerance)


@pytest.mark.parametrize(
    "axis", [(1.0, 0.2, -0.3), (0.1, -1.0, 0.3), (-0.2, 0.3, 1.0), (0.6, -0.5, 0.7), X, Y, Z]
)
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_spring_turns_about_the_shortest_way_and_fades_before_half_a_turn(axis, side):
    axis = side * np.array(axis) / np.linalg.norm(axis)
    for angle, share in (
        (0.0, 1.0), (1e-6, 1.0), (0.9, 1.0), (1.9, 1.0), (2.3, 1.0), (2.83, 1.0),
        (np.pi - 0.24, 0.8), (np.pi - 0.03, 0.1), (np.pi + 0.15, 0.5), (4.0, 1.0), (6.0, 1.0),
    ):  # fmt: skip
        frame = Frame(6, 5, error=[0.01, -0.02, 0.03, *(angle * axis)], projector=FREE)
        frame.task.error_clip = [9.0] * 6
        frame.put(softness=1.0)
        turned = angle if angle < np.pi else angle - 2.0 * np.pi
        found = np.linalg.solve(frame.jacobian(frame.q).T, frame.effort() - bare(frame))
        error = np.concatenate([[0.01, -0.02, 0.03], share * turned * axis])
        np.testing.assert_allclose(found / STIFF, error, atol=1e-8)


def bare(frame):
    """Efforts of the same state without springs of the frame."""
    kept = list(frame.task.stiffness)
    frame.task.stiffness = [0.0] * 6
    found = frame.effort()
    frame.task.stiffness = kept
    return found


@pytest.mark.parametrize("axes", [0, 1])
def test_a_wrench_comes_and_goes_with_its_time_constant(axes):
    frame = Frame(7, 6, axes=axes)
    wrench = np.array([5.0, -7.0, 9.0, 0.6, -0.8, 1.1])
    frame.calls.rd_core_push(frame.core, list(wrench), 5.013)
    smoothed = np.zeros(6)
    for k, elapsed in enumerate((0.004, 0.009, 0.004, 0.1, 0.0, -0.01, 0.004)):
        frame.core.time += elapsed
        frame.core.disturbance_time = frame.core.time
        wanted = wrench if k < 2 else 0.0
        if elapsed > 0.0:
            smoothed = smoothed + elapsed / (elapsed + 0.05) * (wanted - smoothed)
        dynamics, springs = frame.expected(push=smoothed)
        np.testing.assert_allclose(frame.effort(), dynamics + springs, rtol=1e-8, atol=1e-8, err_msg=str(k))


@pytest.mark.parametrize(
    "law", ["kinematic and regularized", "dynamic and regularized", "decoupled and regularized"]
)
@pytest.mark.parametrize("even", [True, False])
def test_a_frame_is_regularized_also_where_it_moves_evenly_or_hardly(law, even):
    for share in (0.2, 0.03) if not even else (1.0, 0.3):
        frame = Frame(6, 17, driven=False, **LAWS[law] | {"posture_effort": 1e3})
        if even:
            frame.mass = lambda q: np.diag([1.0, 1.2, 0.9, 1.1, 1.3, 0.8])
            frame.task.mass_matrix = frame.kernel("mass", frame.mass, 36, 1)
            frame.rows = np.eye(6) + 0.05 * frame.rows
            frame.turns *= 0.01
        frame.rows, frame.turns = share * frame.rows, share * frame.turns
        dynamics, springs = frame.expected()
        np.testing.assert_allclose(frame.effort(), dynamics + springs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("j", range(6))
def test_each_joint_that_is_near_its_velocity_limit_bounds_the_pull(j):
    frame = Frame(6, 10)
    frame.qd[:] = frame.rd[:] = 0.0
    frame.begin()
    frame.core.pace.recent = [0.004] * 3
    dynamics, springs = frame.expected()
    gained = 0.004 * np.abs(np.linalg.solve(frame.whole_mass(frame.q), springs))
    frame.setting(velocity_limits=np.where(np.arange(6) == j, 0.25 * gained / 1.02, 1e6))
    np.testing.assert_allclose(frame.effort() - dynamics, 0.25 * springs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("change", ["mode", "latched"])
def test_no_wrench_pushes_in_another_mode_or_in_a_protective_stop(change):
    frame = Frame(6, 7)
    frame.calls.rd_core_push(frame.core, [5.0] * 6, 9.0)
    if change == "mode":
        frame.settings.mode = frame.calls.RD_JOINT_IMPEDANCE
    else:
        frame.core.trip.latched, frame.core.guides = 1, 1
    frame.core.push_time = 4.9
    frame.effort()
    assert not any(frame.core.pushes)


def test_joints_near_a_position_limit_are_pushed_back_with_critical_damping():
    frame = Frame(6, 8, limit_range=0.2, limit_effort=7.0)
    ways = np.array([0.05, 0.15, 0.25, 0.12, 0.3, 0.02])
    low = np.array([1, 0, 1, 1, 0, 0], dtype=bool)
    lowest = np.where(low, frame.q - ways, frame.q - 3.0)
    highest = np.where(low, frame.q + 4.0, frame.q + ways)
    frame.setting(position_limits=np.concatenate([lowest, highest]))
    shares = np.clip((0.2 - ways) / 0.2, 0.0, 1.0)
    mass = np.diag(frame.whole_mass(frame.q))
    frame.qd *= 0.01  # no joint is braked
    back = 7.0 * shares * np.where(low, 1.0, -1.0) - 2.0 * np.sqrt(7.0 / 0.2 * mass) * shares * frame.qd
    frame.begin()
    dynamics, springs = frame.expected(pushed_back=back)
    np.testing.assert_allclose(frame.effort(), dynamics + springs, rtol=1e-8)
    frame.task.limit_range = 0.0
    dynamics, springs = frame.expected()
    np.testing.assert_allclose(frame.effort(), dynamics + springs, rtol=1e-8)


def test_joints_beyond_a_position_limit_are_braked_by_their_own_inertia():
    frame = Frame(6, 9, limit_range=0.02, limit_effort=7.0)
    frame.qd[:] = 0.0
    beyond = np.array([0.01, 0.0, -0.02, 0.03, 0.0, 0.0])
    lowest, highest = frame.q - 3.0, frame.q + 3.0
    highest[beyond > 0] = (frame.q - beyond)[beyond > 0]
    lowest[beyond < 0] = (frame.q - beyond)[beyond < 0]
    frame.setting(position_limits=np.concatenate([lowest, highest]))
    frame.rd[:] = 0.0
    frame.begin()
    pushed = -np.diag(frame.whole_mass(frame.q)) * 40.0 * 20.0 * beyond - 7.0 * np.sign(beyond)
    dynamics, springs = frame.expected(pushed_back=pushed)
    np.testing.assert_allclose(frame.effort(), dynamics + springs, rtol=1e-8)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_springs_take_no_joint_beyond_its_velocity_limit_before_the_next_state(own, side):
    """The share of the pull that remains balances the springs before it, of the settings in force only."""
    for fast in (0.0, 0.5, -0.5, 2.0):
        frame = Frame(6, 10)
        frame.qd[:] = frame.rd[:] = 0.0
        mass = frame.whole_mass(frame.q)
        frame.begin()
        frame.error *= side
        frame.poses[frame.r.tobytes()][:3, :3] = (
            Rotation.from_rotvec(frame.error[3:]).as_matrix() @ frame.turn
        )
        frame.poses[frame.r.tobytes()][:3, 3] = frame.poses[frame.q.tobytes()][:3, 3] + frame.error[:3]
        frame.core.pace.recent = [0.001, 0.006, 0.002]
        _, springs = frame.expected()
        gained = 0.006 * np.linalg.solve(mass, springs)
        j = int(np.argmax(np.abs(gained)))
        limit = 0.4 * abs(gained[j]) / 1.02
        frame.qd[j] = fast * limit * np.sign(gained[j])
        frame.begin()
        limits = np.full(6, 1e6)
        limits[j] = limit
        dynamics, springs = frame.expected()
        gained = 0.006 * abs(np.linalg.solve(mass, springs)[j])
        share = np.clip((1.02 - fast) * limit / gained, 0.0, 1.0)
        frame.setting(velocity_limits=limits)
        settings = frame.settings
        if not own:
            settings = frame.ffi.new("rd_settings *", frame.settings[0])
        if fast < 1.0:
            found = frame.effort(settings)
            np.testing.assert_allclose(
                within(frame, springs, limits, share), found - dynamics, rtol=1e-7, atol=1e-9
            )
        else:
            frame.effort(settings)
        left = share if own else 1.0
        np.testing.assert_allclose(frame.get("difference"), left * np.arange(1.0, 7.0), atol=1e-12)


def within(frame, springs, limits, share):
    """Springs that accelerate a joint fade from 85 % of its velocity limit on."""
    left = np.clip((1.0 - np.abs(frame.qd) / limits) / 0.15, 0.0, 1.0)
    return share * np.where(springs * frame.qd > 0.0, left * springs, springs)


def test_a_protective_stop_brakes_joints_above_a_fiftieth_of_their_velocity_limit():
    frame = Frame(6, 14)
    frame.core.trip.latched, frame.core.trip.rule = 1, frame.calls.RD_OVERSPEED
    frame.core.pace.recent = [0.004, 0.001, 0.002]
    frame.setting(velocity_limits=np.full(6, 2.0))
    frame.rd *= 0.01
    frame.put(led=9.0)
    frame.begin()
    over = np.sign(frame.qd) * np.maximum(np.abs(frame.qd) - 0.04, 0.0)
    frame.z = frame.z - 0.08 / 0.004 * over
    dynamics, springs = frame.expected()
    np.testing.assert_allclose(frame.effort(), dynamics + springs, rtol=1e-8)


@pytest.mark.parametrize("law", ["decoupled", "decoupled in the frame", "critical", "kinematic"])
def test_a_frame_that_moves_evenly_is_limited_in_no_direction(law):
    for seed in range(3):
        frame = Frame(6, 20 + seed, driven=False, **LAWS[law] | {"posture_effort": 1e3})
        draw = np.random.default_rng(seed)
        loads = 0.1 * draw.normal(size=(6, 6))
        frame.mass = lambda q, loads=loads: np.eye(6) + loads @ loads.T
        frame.task.mass_matrix = frame.kernel("mass", frame.mass, 36, 1)
        frame.turns *= 0.01
        frame.rows = (np.eye(6) + 0.1 * draw.normal(size=(6, 6))) / LEVER[:, None]
        dynamics, springs = frame.expected()
        np.testing.assert_allclose(frame.effort(), dynamics + springs, rtol=1e-8, atol=1e-8)


def test_springs_that_are_hardly_any_are_damped_critically_too():
    frame = Frame(6, 24, stiffness=np.full(6, 1e-8), damping=[-1.0] * 6, projector=FREE, posture_effort=0.0)
    dynamics, springs = frame.expected()
    np.testing.assert_allclose(frame.effort() - dynamics, springs, atol=1e-10)


@pytest.mark.parametrize("least", [0.031, 0.029, 0.025, 0.01])
def test_a_mobility_is_limited_from_three_hundredths_of_the_third_smallest_on(least):
    """Of directions that are independent, whose mobilities are known."""
    frame = Frame(6, 15, driven=False, decoupled=1, projector=FREE)
    values = np.array([least, 0.2, 1.0, 40.0, 50.0, 60.0])
    frame.mass = lambda q: np.eye(6)
    frame.task.mass_matrix = frame.kernel("mass", frame.mass, 36, 1)
    frame.turns[:] = 0.0
    frame.rows = np.diag(np.sqrt(values) / LEVER)
    frame.qd[:] = frame.rd[:] = 0.0
    frame.task.posture_effort = 0.0
    frame.begin()
    pull = frame.soft.min() ** 2 * STIFF * np.clip(frame.error, -CLIP, CLIP) + frame.bent()
    inverted = LEVER**2 / np.maximum(values, 0.03)
    found = frame.effort() - frame.dynamics()
    np.testing.assert_allclose(found, frame.rows.T @ (inverted * pull), rtol=1e-9)


def test_stiffened_joints_make_no_spring_of_the_frame_stiffer():
    frame = Frame(6, 16)
    frame.put(softness=1.6)
    frame.soft = np.ones(6)
    dynamics, springs = frame.expected()
    np.testing.assert_allclose(frame.effort(), dynamics + springs, rtol=1e-8)


@pytest.mark.parametrize("fails", ["dynamics", "pose", "jacobian", "rate", "mass"])
@pytest.mark.parametrize("decoupled", [0, 1])
def test_without_a_part_of_the_model_there_is_no_effort(fails, decoupled):
    frame = Frame(6, 11, decoupled=decoupled)
    frame.fails = fails
    made, ahead = frame.ffi.new("double[]", 6), frame.ffi.new("rd_motion *")
    call = frame.calls.rd_cartesian_impedance
    assert call(frame.core, frame.settings, ahead, 0.0, made) == (fails == "rate" and not decoupled)
    frame.fails = None
    assert call(frame.core, frame.settings, ahead, 0.0, made) == 1
    frame.settings.task = frame.ffi.NULL
    assert call(frame.core, frame.settings, ahead, 0.0, made) == 0


def test_an_inertia_that_is_not_positive_has_no_effort():
    frame = Frame(6, 12)
    frame.task.mass_matrix = frame.kernel("mass", lambda q: -np.eye(6), 36, 1)
    made, ahead = frame.ffi.new("double[]", 6), frame.ffi.new("rd_motion *")
    assert frame.calls.rd_cartesian_impedance(frame.core, frame.settings, ahead, 0.0, made) == 0


def test_a_load_that_drives_a_joint_away_fades_with_the_settings_in_force_only():
    frame = Frame(6, 13)
    frame.rd[:] = 0.0
    frame.qd = 0.3 * np.sign(frame.z)
    frame.r = frame.q - 0.5 * np.sign(frame.z)
    frame.begin()
    frame.core.disturbance_time = 4.99
    frame.effort(frame.ffi.new("rd_settings *", frame.settings[0]))
    np.testing.assert_allclose(frame.get("disturbance"), frame.z)
    frame.effort()
    np.testing.assert_allclose(frame.get("disturbance"), frame.z * np.exp(-0.1))
