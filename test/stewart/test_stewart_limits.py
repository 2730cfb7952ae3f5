"""Limits, singular poses and unusable input: named, never a silently huge force."""

import itertools

import numpy as np
import pytest

from robot_dynamics import stewart
from robot_dynamics.errors import ParameterError, SingularityError, StateError
from robot_dynamics.papers.dasgupta.machines import paper_platform
from robot_dynamics.papers.dasgupta.reproduction import paper_paths
from robot_dynamics.resources import resource
from robot_dynamics.stewart.orientation import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_roll_pitch_yaw,
    rotation_from_vector,
)
from robot_dynamics.stewart.path_bounds import Boxes, PathBounds

HOME = ([0.0, 0.0, 0.55], [0.0, 0.0, 0.0])
REST = np.zeros((4, 3))


@pytest.fixture(scope="module")
def demo():
    return stewart.load(resource("config/stewart_demo.yaml"))


@pytest.mark.parametrize(
    ("motion", "quantity", "words"),
    [
        (([0.0, 0.0, 0.75], HOME[1], *REST), "length", "leg_1: length 0.80509"),
        (([0.0, 0.0, 0.38], HOME[1], *REST), "length", "below its least 0.5 m"),
        (([0.0, 0.0, 0.55], [0.0, 0.0, 1.3], *REST), "platform_angle", "angle at the platform"),
        ((*HOME, [0.0, 0.0, 1.5], *REST[:3]), "speed", "m/s, above its greatest 0.8 m/s"),
        ((*HOME, *REST[:2], [0.0, 0.0, 300.0], REST[0]), "force", "above its greatest 1500 N"),
    ],
)
def test_every_limit_names_leg_and_number(demo, motion, quantity, words):
    with pytest.raises(stewart.LimitError, match=words):
        demo.inverse_dynamics(*motion)
    with pytest.warns(stewart.LimitWarning, match=words):
        demo.inverse_dynamics(*motion, on_violation="warn")
    found = demo.inverse_dynamics(*motion, on_violation="report").violations
    assert any(violation.quantity == quantity and words in violation.message for violation in found)
    assert all(abs(v.value) > v.limit or v.quantity == "length" for v in found)


def test_a_pose_within_its_limits_is_not_objected_to(demo):
    assert demo.inverse_dynamics(*HOME, *REST).violations == ()
    assert demo.check_pose(*HOME) == ()


def test_every_state_of_a_batch_has_its_answer(demo):
    rng = np.random.default_rng(3)
    positions = np.array([0.0, 0.0, 0.55]) + rng.uniform(-0.15, 0.15, (40, 5, 3))
    angles = rng.uniform(-0.6, 0.6, (40, 5, 3))
    found = demo.check_pose(positions, angles, on_violation="report")
    alone = [
        not demo.check_pose(position, angle, on_violation="report")
        for position, angle in zip(positions.reshape(-1, 3), angles.reshape(-1, 3), strict=True)
    ]
    assert found.kept.shape == (40, 5) and 20 < found.kept.sum() < 180
    np.testing.assert_array_equal(found.kept.ravel(), alone)
    assert demo.check_pose(*HOME).kept


def test_the_worst_state_of_a_batch_is_named(demo):
    heights = np.array([[0.0, 0.0, z] for z in (0.55, 0.74, 0.76, 0.75)])
    with pytest.raises(stewart.LimitError, match="leg_1 of state 2: length"):
        demo.inverse_dynamics(heights, np.zeros((4, 3)), *REST)


def test_singular_poses_are_refused():
    platform, path = paper_platform(), paper_paths()["III"].line
    near = path.at(3.7)
    with pytest.raises(SingularityError, match=r"condition number 2\.105e\+04, limit 1000"):
        platform.inverse_dynamics_of(near)
    with pytest.warns(stewart.LimitWarning, match="near a singularity"):
        platform.inverse_dynamics_of(near, on_violation="warn")
    with pytest.raises(SingularityError, match=r"t = 3\.671 s"):
        platform.check_path(path)
    with pytest.warns(stewart.LimitWarning, match=r"t = 3\.671 s"):
        found = platform.check_path(path, on_violation="warn")
    assert [violation.quantity for violation in found] == ["condition_number"]
    assert platform.check_path(paper_paths()["I"].line) == ()
    with pytest.raises(ParameterError, match="step is 0"):
        platform.check_path(path, step=0.0)


def test_a_path_out_of_the_workspace_is_refused_with_its_time(demo):
    path = stewart.straight_line(*HOME, [0.0, 0.0, 0.75], HOME[1], 2.0)
    with pytest.raises(stewart.LimitError, match=r"at t = 2\.000 s: leg_1: length"):
        demo.check_path(path)


@pytest.mark.parametrize("profile", ["quintic", "parabolic"])
@pytest.mark.parametrize("quaternions", [False, True])
def test_a_straight_path_is_bounded_by_the_polynomials_that_it_is(demo, profile, quaternions):
    random = np.random.default_rng(3)
    start, end = random.uniform(-0.4, 0.4, (2, 3))
    if quaternions:
        start, end = (quaternion_from_rotation(rotation_from_vector(turn)) for turn in (start, end))
    speeds = {"linear_speed": 0.03, "angular_speed": 0.5} if profile == "parabolic" else {}
    path = stewart.straight_line(
        HOME[0], start, np.array(HOME[0]) + np.array([0.02, 0.01, 0.03]), end, 1.5, profile, **speeds
    )
    pieces = path.pieces
    for k, (begin, finish) in enumerate(itertools.pairwise(pieces.times)):
        s = np.linspace(0.01, 0.99, 7)
        motion = path.at(begin + s * (finish - begin))
        place = (s[:, None, None] ** np.arange(6)[:, None] * pieces.coefficients[k]).sum(axis=1)
        np.testing.assert_allclose(place[:, :3], motion.position, atol=1e-12)
        if quaternions:
            first, axis = pieces.axis
            turned = rotation_from_vector(place[:, 3:4] * axis) @ rotation_from_quaternion(first)
            assert not place[:, 4:].any()
        else:
            turned = rotation_from_roll_pitch_yaw(place[:, 3:])
        np.testing.assert_allclose(turned, motion.rotation, atol=1e-12)
    bounds = PathBounds(demo.machine, np.zeros(6))
    boxes = Boxes.over(len(pieces.coefficients))
    for _ in range(4):
        boxes = boxes.split(np.arange(len(boxes.piece)), len(pieces.coefficients))
    found, (begin, _, finish) = bounds.of(pieces, boxes), boxes.spans(pieces)
    for share in random.uniform(0.0, 1.0, 5):
        truth = demo.inverse_dynamics_of(path.at(begin + share * (finish - begin)), on_violation="report")
        for (value, deviation), true in (
            (found.lengths, truth.leg_lengths),
            (found.speeds, truth.leg_velocities),
            (found.forces, truth.actuator_forces),
        ):
            assert (np.abs(true - value) <= deviation + 1e-9 * np.abs(value)).all()
            assert np.median(deviation) < 0.05 * np.abs(value).max()


def test_what_happens_between_two_samples_of_a_straight_path_is_seen(demo):
    path = stewart.straight_line(*HOME, [0.0, 0.0, 0.63], HOME[1], 0.15)
    with pytest.raises(stewart.LimitError, match="speed"):
        demo.check_path(path, step=1.0)
    motion = path.at

    class Sampled:
        duration, at = 0.15, staticmethod(motion)

    demo.check_path(Sampled(), step=1.0)


def test_a_locked_universal_joint_is_refused():
    platform = paper_platform()
    leg = platform.machine.legs[3]
    # The fourth leg stretched along its fixed axis, which is x.
    position = leg.base_point + np.array([0.7, 0.0, 0.0]) - leg.platform_point
    with pytest.raises(SingularityError, match="leg_4 lies along the fixed axis"):
        platform.inverse_dynamics(position, [0.0, 0.0, 0.0], *REST, on_violation="report")
    compiled = platform.compile("python")
    motion = stewart.pack(position, [0.0, 0.0, 0.0, 1.0], *REST)
    with pytest.raises(SingularityError, match="not finite"):
        compiled.actuator_forces(motion)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"position": [0.0, 0.0]}, StateError, "position has shape"),
        ({"position": [0.0, np.inf, 0.0]}, StateError, "position is not finite"),
        ({"orientation": [0.0, 0.0, 0.0, 0.0]}, StateError, "norm 0"),
        ({"orientation": [0.0, 0.0, 0.0, 0.5]}, StateError, "norm 0.5"),
        ({"orientation": [0.0, np.nan, 0.0]}, StateError, "orientation is not finite"),
        ({"orientation": 3.0}, StateError, "orientation has shape"),
        ({"angular_velocity": "fast"}, StateError, "angular_velocity cannot be read"),
        ({"angular_velocity": np.zeros((2, 3)), "position": np.zeros((3, 3))}, StateError, "do not fit"),
        ({"force": [np.nan, 0.0, 0.0]}, StateError, "force is not finite"),
        ({"model": "approximate"}, ParameterError, "'exact' or 'published'"),
        ({"on_violation": "ignore"}, ParameterError, "'raise', 'warn' or 'report'"),
    ],
)
def test_unusable_input_is_refused(demo, change, error, words):
    names = ("linear_velocity", "angular_velocity", "linear_acceleration", "angular_acceleration")
    usable = {"position": HOME[0], "orientation": HOME[1], **dict(zip(names, REST, strict=True))}
    with pytest.raises(error, match=words):
        demo.inverse_dynamics(**{**usable, **change})


def test_unusable_input_of_the_compiled_model_is_refused(demo):
    compiled = demo.compile("python")
    motion = stewart.pack(HOME[0], [0.0, 0.0, 0.0, 1.0], *REST)
    for wrong, words in (
        (motion[:24], "expected"),
        (np.full(25, np.nan), r"motion is nan at position\[0\]"),
        ("x", "numbers"),
    ):
        with pytest.raises(StateError, match=words):
            compiled.actuator_forces(wrong)
    with pytest.raises(StateError, match=r"out is float64 \(5,\); expected an array float64 \(6,\)"):
        compiled.actuator_forces(motion, out=np.empty(5))


def test_weight_is_carried_by_the_six_forces(demo):
    """Static: the vertical force on the ground is the weight of everything, whoever carries it."""
    result = demo.inverse_dynamics(*HOME, *REST)
    machine = demo.machine
    mass = machine.platform.mass + sum(leg.lower.mass + leg.upper.mass for leg in machine.legs)
    np.testing.assert_allclose(
        result.reactions.universal_force.sum(axis=0), [0.0, 0.0, 9.81 * mass], atol=1e-9
    )


@pytest.mark.parametrize("greatest", ["linear_velocity", "angular_velocity", "angular_acceleration", "force"])
def test_absurd_values_are_refused_by_name(greatest):
    platform = paper_platform()
    names = ("linear_velocity", "angular_velocity", "linear_acceleration", "angular_acceleration", "force")
    batch = {name: np.zeros((3, 3)) for name in names}
    batch[greatest][1, 0] = 1.5e308
    home = platform.machine.home_position, [0.0, 0.0, 0.0, 1.0]
    with pytest.raises(StateError, match=rf"of sample 1 are not finite: {greatest} reaches 1\.5e\+308"):
        platform.inverse_dynamics(*home, **batch, on_violation="report")
    single = {name: value[1] for name, value in batch.items()}
    with pytest.raises(StateError, match=rf"the actuator forces are not finite: {greatest}"):
        platform.inverse_dynamics(*home, **single, model="published", on_violation="report")
