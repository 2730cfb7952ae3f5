"""Words for the limit behind a deviation of a reference: the one that its target leaves farthest."""

from types import SimpleNamespace

import numpy as np
import pytest
from crooked_hexapod import (
    ALONG,
    CROOKED,
    JACOBIAN,
    LENGTHS,
    PLACE,
    ROTATION,
    Forces,
    envelope,
    legs_at,
    pace,
)
from scipy.spatial.transform import Rotation

from robot_dynamics.control.stewart.envelope import Pace, rotated
from robot_dynamics.control.stewart.operating_modes import cause_of_deviation
from robot_dynamics.control.stewart.reference_governor import PoseTarget
from robot_dynamics.errors import SingularityError, StateError
from robot_dynamics.stewart.kinematics import condition_number, leg_geometry

HOME_LENGTHS = legs_at(CROOKED.home_position, CROOKED.home_rotation)[0]


def cause(made, position=PLACE, rotation=ROTATION, twist=None, acceleration=None, **changes):
    rates = (np.zeros(6) if one is None else one for one in (twist, acceleration))
    return made.cause((position, rotation, *rates), pace(**changes))


def usual():
    """Limits that are all kept, none of them by far."""
    return {"shortest": 0.9 * LENGTHS.min(), "longest": 1.1 * LENGTHS.max(), "base_angle": 0.5,
            "platform_angle": 0.5, "force": 10.0, "condition": 60.0}  # fmt: skip


TWIST = np.array([0.2, -0.3, 0.1, 0.15, -0.1, 0.25])
RATES = np.abs(JACOBIAN @ TWIST)
BEND = np.array([0.9, -1.2, 0.8, 0.7, -0.6, 0.4])


def test_where_all_limits_are_kept_there_is_no_cause():
    made = envelope(np.array([1.0, -4.9, 2.0, 3.0, -1.0, 4.0]), **usual())
    sizes = np.linalg.norm(BEND[:3]), np.linalg.norm(BEND[3:])
    limits = Pace(1.01 * sizes[0], 1.01 * sizes[1], 1.05 * RATES.max() * np.ones(6), 0.5)
    assert made.cause((PLACE, ROTATION, TWIST, BEND), limits) == ""


@pytest.mark.parametrize("beyond", [1.001, 1.2])
def test_the_limit_that_is_left_farthest_is_named_with_its_leg(beyond):
    base = np.arccos((ALONG * CROOKED.home_directions).sum(axis=1))
    local = CROOKED.home_directions @ CROOKED.home_rotation
    top = np.arccos(((ALONG @ ROTATION) * local).sum(axis=1))
    found = float(condition_number(JACOBIAN, CROOKED.characteristic_length))
    longest, shortest, turned, tilted = (int(np.argmax(v)) for v in (LENGTHS, -LENGTHS, base, top))
    for limits, words in (
        (
            {"longest": LENGTHS.max() / beyond, "shortest": 0.5},
            f"longest length of {CROOKED.leg_names[longest]}",
        ),
        (
            {"shortest": LENGTHS.min() * beyond, "longest": 5.0},
            f"shortest length of {CROOKED.leg_names[shortest]}",
        ),
        ({"base_angle": base.max() / beyond}, f"base_angle of {CROOKED.leg_names[turned]}"),
        ({"platform_angle": top.max() / beyond}, f"platform_angle of {CROOKED.leg_names[tilted]}"),
        ({"condition": found / beyond}, "condition_limit"),
    ):
        assert cause(envelope(**{**usual(), **limits})) == words
    made = envelope(np.array([1.0, 2.0, 3.0, -5.0 * beyond, 4.0, 1.0]), **usual())
    assert cause(made, share=0.5) == f"force of {CROOKED.leg_names[3]}"
    made = envelope(**usual())
    quickest = int(np.argmax(RATES))
    assert (
        cause(made, twist=TWIST, leg_speed=np.full(6, RATES.max() / beyond))
        == f"speed of {CROOKED.leg_names[quickest]}"
    )
    linear, angular = np.linalg.norm(BEND[:3]) / beyond, np.linalg.norm(BEND[3:]) / beyond
    assert cause(made, acceleration=BEND, angular_acceleration=angular) == "max_angular_acceleration"
    motion = PLACE, ROTATION, np.zeros(6), BEND
    assert made.cause(motion, Pace(linear, 9.0, np.full(6, np.inf), 1.0)) == "max_acceleration"


def test_of_two_limits_the_one_that_is_left_farther_is_named():
    found = float(condition_number(JACOBIAN, CROOKED.characteristic_length))
    for share, words in ((1.1, "force of leg_2"), (1.3, "condition_limit")):
        made = envelope(np.array([1.0, 12.0, 2.0, 3.0, 4.0, 1.0]), **{**usual(), "condition": found / share})
        assert cause(made) == words


def test_a_force_at_its_limit_is_no_cause():
    assert cause(envelope(np.array([1.0, -5.0, 2.0, 3.0, 4.0, 1.0]), **usual()), share=0.5) == ""


@pytest.mark.parametrize("error", [SingularityError("singular"), StateError("none")])
def test_a_pose_without_forces_is_called_singular(error):
    assert cause(envelope(error, **usual())) == "a singular pose"


def test_forces_of_a_cause_are_those_of_the_whole_motion():
    forces = Forces()
    made = envelope(forces, **usual())
    cause(made, twist=TWIST, acceleration=BEND)
    positions, quaternions, rotations, twists, accelerations = forces.states[0]
    assert quaternions.shape == (1, 4)
    np.testing.assert_array_equal(positions, PLACE[None])
    np.testing.assert_array_equal(rotations, ROTATION[None])
    np.testing.assert_array_equal(twists, TWIST[None])
    np.testing.assert_array_equal(accelerations, BEND[None])
    np.testing.assert_allclose(Rotation.from_quat(quaternions).as_matrix(), ROTATION[None], atol=1e-14)


def test_angles_beyond_a_right_one_are_angles_too():
    """Below its base a platform has turned its legs by more than half of half a turn."""
    below = PLACE * [1.0, 1.0, -1.0]
    turned = np.arccos((legs_at(below, ROTATION)[1] * CROOKED.home_directions).sum(axis=1))
    assert turned.max() > 1.9
    for limit, words in ((turned.max() * 1.01, ""), (turned.max() / 1.01, "base_angle of ")):
        made = envelope(base_angle=float(limit))
        found = cause(made, position=below)
        assert found.startswith(words) and bool(found) == bool(words)


def test_an_angle_that_may_not_change_has_a_limit_too():
    home = CROOKED.home_position, CROOKED.home_rotation
    made = envelope(base_angle=0.0, platform_angle={3: 0.0})
    assert cause(made, home[0] + [0.0, 0.0, 0.1], home[1]).startswith("base_angle of leg_")
    made = envelope(base_angle=1.0, platform_angle={3: 0.0})
    turned = rotated(home[1], np.array([0.0, 0.0, 0.3]))
    assert cause(made, home[0], turned) == "platform_angle of leg_4"


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_leg_along_its_direction_at_home_hides_no_other_one_and_one_against_it_is_turned(sense):
    """Cosines may be beyond 1 by a rounding."""
    found = []
    for distance in np.linspace(0.05, 0.4, 200):
        for leg in range(6):
            home = CROOKED.home_directions[leg]
            begin = CROOKED.home_position - (0.0 if sense > 0.0 else 2.0) * HOME_LENGTHS[leg] * home
            place = begin + sense * distance * home
            along = leg_geometry(CROOKED, place, CROOKED.home_rotation).directions
            if sense * (along * CROOKED.home_directions).sum(axis=-1)[leg] > 1.0:
                found.append((place, leg))
    assert found
    place, leg = found[-1]
    made = envelope(base_angle=0.001 if sense > 0.0 else {leg: 3.0})
    assert cause(made, place, CROOKED.home_rotation).startswith("base_angle of leg_")


# A deviation from a stream


class Told:
    """An envelope that names these causes one after another, and records the motions."""

    def __init__(self, *causes):
        self.causes, self.motions, self.paces = list(causes), [], []

    def cause(self, motion, pace):
        self.motions.append(motion)
        self.paces.append(pace)
        return self.causes.pop(0)


@pytest.mark.parametrize(
    ("causes", "words"),
    [
        (("speed of leg_2",), "speed of leg_2"),
        (("", "", "force of leg_1"), "force of leg_1"),
        (("", "", "", "longest length of leg_3"), "room for a stop before the longest length of leg_3"),
        (("", "", "", ""), "stream_jerk, or a pose that was late"),
    ],
)
def test_a_deviation_is_due_to_its_target_one_before_it_or_the_stop_behind_it(causes, words):
    twist = np.array([0.6, -0.2, 0.3, 0.4, 0.1, -0.5])
    asked = [
        PoseTarget(PLACE + 0.01 * k, ROTATION, (1.0 - 0.1 * k) * twist, (1.0 + k) * BEND) for k in range(3)
    ]
    limits = Pace(2.0, 0.5, np.full(6, 9.0), 0.7)
    told = Told(*causes)
    assert cause_of_deviation(SimpleNamespace(envelope=told, pace=limits), asked) == words
    assert len(told.motions) == len(causes) and all(one is limits for one in told.paces)
    for motion, one in zip(told.motions, asked, strict=False):
        for part, expected in zip(
            motion, (one.position, one.rotation, one.twist, one.acceleration), strict=True
        ):
            assert part is expected
    if len(causes) == 4:
        position, rotation, *still = told.motions[3]
        duration = max(0.7 / 2.0, np.sqrt(0.42) / 0.5)
        np.testing.assert_allclose(position, PLACE + 0.5 * duration * twist[:3], rtol=1e-12)
        turn = Rotation.from_rotvec(0.5 * duration * twist[3:]) * Rotation.from_matrix(ROTATION)
        np.testing.assert_allclose(rotation, turn.as_matrix(), atol=1e-12)
        assert not np.any(still) and [part.shape for part in still] == [(6,), (6,)]
