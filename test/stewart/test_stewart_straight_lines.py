"""Straight lines of the platform: time laws against their closed forms, polynomials, refused timings."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics import stewart
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.stewart.orientation import angular_motion
from robot_dynamics.stewart.path_bounds import Pieces
from robot_dynamics.stewart.paths import PlatformPath, PolynomialPath, StraightLine, TimeLaw

DURATION, BLEND = 2.5, 0.7
QUINTIC, BLENDED = TimeLaw(DURATION, None), TimeLaw(DURATION, BLEND)
HERE, THERE = np.array([0.1, -0.2, 0.5]), np.array([0.4, 0.2, 0.38])
LENGTH = float(np.linalg.norm(THERE - HERE))
ANGLES = np.array([[0.3, -0.2, 0.5], [0.1, 0.4, -0.15]])
TURNED = float(np.linalg.norm(ANGLES[1] - ANGLES[0]))
LINE = {
    "start_position": HERE,
    "start_orientation": ANGLES[0],
    "end_position": THERE,
    "end_orientation": ANGLES[1],
    "duration": DURATION,
}


def quintic_at(time):
    """Minimum jerk from 0 to 1 by its derivatives as powers."""
    x = np.clip(np.asarray(time, dtype=float), 0.0, DURATION) / DURATION
    law = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
    return law(x), law.deriv()(x) / DURATION, law.deriv(2)(x) / DURATION**2


def blended_at(time):
    """Constant acceleration, constant speed, constant deceleration, by integrating what is constant."""
    top = 1.0 / (DURATION - BLEND)
    t = float(np.clip(time, 0.0, DURATION))
    if t < BLEND:
        return top / BLEND * t * t / 2.0, top / BLEND * t, top / BLEND
    if t <= DURATION - BLEND:
        return top * BLEND / 2.0 + top * (t - BLEND), top, 0.0
    left = DURATION - t
    return 1.0 - top / BLEND * left * left / 2.0, top / BLEND * left, -top / BLEND


def test_the_quintic_is_the_one_of_minimum_jerk():
    times = np.linspace(0.0, DURATION, 12).reshape(3, 4)
    for found, expected in zip(QUINTIC.at(times), quintic_at(times), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_blends_accelerate_evenly_up_to_the_speed_of_the_middle():
    times = np.array([0.0, 0.2, 0.5, 0.69, 0.71, 1.0, 1.7, 1.79, 1.81, 2.1, 2.49, 2.5])
    found = np.array(BLENDED.at(times.reshape(3, 4))).reshape(3, -1)
    np.testing.assert_allclose(found, np.array([blended_at(time) for time in times]).T, atol=1e-14)
    # On the knots themselves the speed is that of the middle, and nothing accelerates.
    quarters = TimeLaw(4.0, 1.0)
    np.testing.assert_array_equal(quarters.at(np.array([1.0, 3.0]))[2], [0.0, 0.0])


@pytest.mark.parametrize("law", [QUINTIC, BLENDED])
def test_before_and_after_a_time_law_is_at_rest_at_its_ends(law):
    for time, fraction in ((-0.3, 0.0), (-1e-9, 0.0), (DURATION + 1e-9, 1.0), (DURATION + 3.0, 1.0)):
        np.testing.assert_allclose(law.at(np.array(time)), [fraction, 0.0, 0.0], atol=1e-15)


def test_at_the_ends_themselves_the_blends_accelerate():
    gain = 1.0 / ((DURATION - BLEND) * BLEND)
    assert BLENDED.at(np.array(0.0))[2] == pytest.approx(gain)
    assert BLENDED.at(np.array(DURATION))[2] == pytest.approx(-gain)


def test_knots_are_the_ends_and_where_blends_end():
    assert QUINTIC.knots == [0.0, DURATION]
    assert BLENDED.knots == [0.0, BLEND, DURATION - BLEND, DURATION]


@pytest.mark.parametrize(
    ("law", "spans"),
    [
        (QUINTIC, [(0.0, DURATION), (0.3, 1.1), (1.9, 2.4)]),
        (BLENDED, [(0.0, 0.7), (0.1, 0.6), (0.7, 1.8), (0.8, 1.1), (1.2, 1.8), (1.8, 2.5), (2.0, 2.3)]),
        (TimeLaw(1.0, 0.5), [(0.0, 0.5), (0.4, 0.5), (0.5, 1.0), (0.5, 0.6)]),
    ],
)
def test_polynomials_of_spans_are_the_time_law(law, spans):
    """Of s, which runs from 0 to 1 in each span: also where a span touches a knot."""
    for start, end in spans:
        coefficients = law.polynomial(start, end)
        assert coefficients.shape == (6,)
        share = np.array([0.0, 0.13, 0.5, 0.77, 1.0])
        values = sum(c * share**power for power, c in enumerate(coefficients))
        np.testing.assert_allclose(values, law.at(start + share * (end - start))[0], atol=1e-14)


@pytest.mark.parametrize(
    ("duration", "blend", "told"),
    [
        (0.0, None, "0 s and the blend None s"),
        (-1.5, None, "-1.5 s and the blend None s"),
        (-1.5, -1.0, "-1.5 s and the blend -1.0 s"),
        (2.0, 0.0, "2 s and the blend 0.0 s"),
        (2.0, -0.3, "2 s and the blend -0.3 s"),
        (2.0, 1.0000001, "2 s and the blend 1.0000001 s"),
        (2.0, 3.0, "2 s and the blend 3.0 s"),
    ],
)
def test_a_time_law_has_a_positive_duration_and_a_blend_of_at_most_half_of_it(duration, blend, told):
    with pytest.raises(TrajectoryError) as caught:
        TimeLaw(duration, blend)
    assert str(caught.value) == (
        f"a TimeLaw has the duration {told}; the first must be positive, the second at most half of it"
    )


def test_a_time_law_may_be_short_and_its_blends_may_touch():
    assert TimeLaw(1e-6, None).duration == 1e-6
    assert TimeLaw(2.0, 1.0).blend == 1.0
    assert TimeLaw(0.5, 1e-9).blend == 1e-9
    with pytest.raises(TrajectoryError, match="blend of a TimeLaw"):
        TimeLaw(2.0, np.nan)
    with pytest.raises(TrajectoryError, match="duration of a TimeLaw"):
        TimeLaw(np.inf, None)


def line(**given):
    return stewart.straight_line(**{**LINE, **given})


def quaternions():
    return {
        f"{end}_orientation": Rotation.from_euler("xyz", angles).as_quat()
        for end, angles in zip(("start", "end"), ANGLES, strict=True)
    }


SPEEDS = {"linear_speed": LENGTH / (DURATION - 0.7), "angular_speed": TURNED / (DURATION - 0.9)}


def test_position_and_angles_run_straight_each_by_its_own_law():
    path = line(profile="parabolic", **SPEEDS)
    assert path.linear_law.blend == pytest.approx(0.7)
    assert path.angular_law.blend == pytest.approx(0.9)
    assert isinstance(path, PlatformPath) and isinstance(path, PolynomialPath)
    times = np.array([[0.1, 0.8], [1.3, 1.75], [2.3, 2.5]])
    motion = path.at(times)
    assert motion.position.shape == (3, 2, 3) and motion.rotation.shape == (3, 2, 3, 3)
    for at in np.ndindex(times.shape):
        fraction, rate, bend = blended_at(times[at])
        np.testing.assert_allclose(motion.position[at], HERE + fraction * (THERE - HERE), atol=1e-14)
        np.testing.assert_allclose(motion.linear_velocity[at], rate * (THERE - HERE), atol=1e-14)
        np.testing.assert_allclose(motion.linear_acceleration[at], bend * (THERE - HERE), atol=1e-14)
        turned = path.angular_law.at(times[at])[0]
        angles = ANGLES[0] + turned * (ANGLES[1] - ANGLES[0])
        np.testing.assert_allclose(
            motion.rotation[at], Rotation.from_euler("xyz", angles).as_matrix(), atol=1e-14
        )
        rates = [path.angular_law.at(times[at])[k] * (ANGLES[1] - ANGLES[0]) for k in (1, 2)]
        expected = angular_motion(angles, *rates)
        np.testing.assert_allclose(motion.angular_velocity[at], expected[0], atol=1e-14)
        np.testing.assert_allclose(motion.angular_acceleration[at], expected[1], atol=1e-14)
    assert not motion.force.any() and not motion.torque.any()
    assert motion.force.shape == motion.torque.shape == (3, 2, 3)


def test_quaternions_turn_about_the_one_axis_between_them():
    path = line(**quaternions())
    first, last = (Rotation.from_euler("xyz", angles) for angles in ANGLES)
    turn = (last * first.inv()).as_rotvec()
    np.testing.assert_allclose(path.turn, turn, atol=1e-14)
    assert path.start_angles is None
    times = np.array([0.0, 0.6, 1.25, 2.2, 2.5])
    motion, (fraction, rate, bend) = path.at(times), quintic_at(times)
    for k in range(len(times)):
        expected = (Rotation.from_rotvec(fraction[k] * turn) * first).as_matrix()
        np.testing.assert_allclose(motion.rotation[k], expected, atol=1e-14)
    np.testing.assert_allclose(motion.angular_velocity, rate[:, None] * turn, atol=1e-14)
    np.testing.assert_allclose(motion.angular_acceleration, bend[:, None] * turn, atol=1e-14)


def values_of(pieces, piece, share):
    return share ** np.arange(6) @ pieces.coefficients[piece]


@pytest.mark.parametrize("profile", ["quintic", "parabolic"])
def test_pieces_of_angles_are_the_path(profile):
    path = line(profile=profile, **(SPEEDS if profile == "parabolic" else {}))
    pieces = path.pieces
    knots = [0.0, DURATION] if profile == "quintic" else [0.0, 0.7, 0.9, 1.6, 1.8, DURATION]
    np.testing.assert_allclose(pieces.times, knots, atol=1e-14)
    assert pieces.axis is None
    for piece in range(len(knots) - 1):
        for share in (0.0, 0.4, 1.0):
            time = knots[piece] + share * (knots[piece + 1] - knots[piece])
            motion, found = path.at(time), values_of(pieces, piece, share)
            np.testing.assert_allclose(found[:3], motion.position, atol=1e-13)
            expected = Rotation.from_matrix(motion.rotation).as_euler("xyz")
            np.testing.assert_allclose(found[3:], expected, atol=1e-13)


def test_pieces_of_quaternions_are_an_angle_about_an_axis():
    path = line(**quaternions())
    pieces = path.pieces
    first, axis = pieces.axis
    start = Rotation.from_euler("xyz", ANGLES[0])
    np.testing.assert_allclose(first, start.as_quat(canonical=True), atol=1e-14)
    assert np.linalg.norm(axis) == pytest.approx(1.0)
    for share in (0.0, 0.3, 0.8, 1.0):
        found, motion = values_of(pieces, 0, share), path.at(share * DURATION)
        np.testing.assert_allclose(found[:3], motion.position, atol=1e-14)
        turned = (Rotation.from_rotvec(found[3] * axis) * start).as_matrix()
        np.testing.assert_allclose(turned, motion.rotation, atol=1e-14)
        assert found[4] == found[5] == 0.0


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_path_that_keeps_its_quaternion_turns_by_nothing_about_a_unit_vector(sense):
    start = quaternions()["start_orientation"]
    pieces = line(start_orientation=start, end_orientation=sense * start).pieces
    assert np.linalg.norm(pieces.axis[1]) == pytest.approx(1.0)
    assert not pieces.coefficients[:, :, 3:].any()
    np.testing.assert_allclose(np.abs(pieces.axis[0]), np.abs(start), atol=1e-14)


def test_a_turn_of_less_than_a_radian_has_its_own_axis():
    small = Rotation.from_rotvec([0.0, 0.02, -0.01]).as_quat()
    pieces = line(start_orientation=[0.0, 0.0, 0.0, 1.0], end_orientation=small).pieces
    np.testing.assert_allclose(pieces.axis[1], np.array([0.0, 2.0, -1.0]) / np.sqrt(5.0), atol=1e-13)
    assert values_of(pieces, 0, 1.0)[3] == pytest.approx(0.01 * np.sqrt(5.0))


NEEDED = f"{1.875 * LENGTH / 0.3:g} s"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"linear_speed": 0.3},
            f"{LENGTH:g} m in 2.5 s peaks at {1.875 * LENGTH / 2.5:g} m/s, above linear_speed 0.3 m/s; take"
            f" at least {NEEDED}",
        ),
        (
            {"angular_speed": 0.4},
            f"{TURNED:g} rad in 2.5 s peaks at {1.875 * TURNED / 2.5:g} rad/s, above angular_speed 0.4 rad/s;"
            f" take at least {1.875 * TURNED / 0.4:g} s",
        ),
        ({"linear_speed": 0.0}, "linear_speed is 0 m/s; it must be positive"),
        ({"angular_speed": -0.5}, "angular_speed is -0.5 rad/s; it must be positive"),
        ({"linear_speed": np.inf}, "linear_speed is inf; expected a finite number"),
        (
            {"profile": "parabolic", "angular_speed": 1.0},
            "a path with parabolic blends needs linear_speed [m/s]",
        ),
        (
            {"profile": "parabolic", "linear_speed": 0.3},
            "a path with parabolic blends needs angular_speed [rad/s]",
        ),
        (
            {"profile": "parabolic", "linear_speed": 0.1, "angular_speed": 0.5},
            f"{LENGTH:g} m in 2.5 s with linear_speed 0.1 m/s cannot be blended; the speed must be above"
            f" {LENGTH / 2.5:g} and at most {2.0 * LENGTH / 2.5:g} m/s",
        ),
        (
            {"profile": "parabolic", "linear_speed": 0.5, "angular_speed": 0.5},
            f"{LENGTH:g} m in 2.5 s with linear_speed 0.5 m/s cannot be blended; the speed must be above"
            f" {LENGTH / 2.5:g} and at most {2.0 * LENGTH / 2.5:g} m/s",
        ),
        (
            {"profile": "parabolic", "linear_speed": 0.3, "angular_speed": 2.5},
            f"{TURNED:g} rad in 2.5 s with angular_speed 2.5 rad/s cannot be blended; the speed must be above"
            f" {TURNED / 2.5:g} and at most {2.0 * TURNED / 2.5:g} rad/s",
        ),
        ({"duration": 0.0}, "duration is 0.0 s; it must be positive, 1e-06 to 1e+09 s"),
        ({"duration": np.nan}, "duration is nan s; it must be positive, 1e-06 to 1e+09 s"),
        ({"duration": 9e-7}, "duration is 9e-07 s; it must be positive, 1e-06 to 1e+09 s"),
        ({"duration": 1e9 + 0.5}, "duration is 1000000000.5 s; it must be positive, 1e-06 to 1e+09 s"),
        ({"duration": [2.0]}, "duration is [2.0] s; it must be positive, 1e-06 to 1e+09 s"),
        (
            {"end_position": [0.0, np.nan, 0.0]},
            "end_position is [0.0, nan, 0.0]; it must be three finite numbers",
        ),
        (
            {"start_position": [0.0, -1e9 - 0.5, 0.0]},
            "start_position is [0.0, -1000000000.5, 0.0]; no coordinate may exceed 1e+09 m",
        ),
        (
            {"end_position": [0.0, 0.0, 1e9 + 0.5]},
            "end_position is [0.0, 0.0, 1000000000.5]; no coordinate may exceed 1e+09 m",
        ),
        (
            {"end_orientation": [0.0, 0.0, 0.0, 1.0]},
            "the orientations have shapes (3,) and (4,); give two quaternions (4,) or two triples of"
            " roll, pitch and yaw (3,)",
        ),
        (
            {"start_orientation": [[0.0] * 3], "end_orientation": [[0.0] * 3]},
            "the orientations have shapes (1, 3) and (1, 3); give two quaternions (4,) or two triples of"
            " roll, pitch and yaw (3,)",
        ),
        (
            {"start_orientation": 0.3, "end_orientation": 0.3},
            "the orientations have shapes () and (); give two quaternions (4,) or two triples of roll, pitch"
            " and yaw (3,)",
        ),
        ({"profile": "cubic"}, "profile is 'cubic'; it must be 'quintic' or 'parabolic'"),
    ],
)
def test_an_impossible_timing_is_refused_with_the_numbers_that_would_do(given, message):
    with pytest.raises(TrajectoryError) as caught:
        line(**given)
    assert str(caught.value) == message


def test_the_greatest_durations_and_distances_are_possible():
    for duration in (1e-6, 1e9):
        assert line(duration=duration).duration == duration
    far = line(start_position=[-1e9, 0.0, 0.0], end_position=[0.0, 1e9, 1e9])
    np.testing.assert_array_equal(far.displacement, [1e9, 1e9, 1e9])


@pytest.mark.parametrize(("shortfall", "kept"), [(0.0, True), (5e-10, True), (2e-9, False)])
def test_a_quintic_may_reach_its_greatest_speed_up_to_rounding(shortfall, kept):
    """1.875 times the mean speed; a path whose duration was computed from the speed is no mistake."""
    for name, distance in (("linear_speed", LENGTH), ("angular_speed", TURNED)):
        speed = 1.875 * distance / DURATION * (1.0 - shortfall)
        if kept:
            assert line(**{name: speed}).linear_law == TimeLaw(DURATION, None)
        else:
            with pytest.raises(TrajectoryError, match=f"above {name}"):
                line(**{name: speed})


def test_blends_take_what_the_speed_leaves_of_the_duration():
    blended = {"profile": "parabolic", "angular_speed": SPEEDS["angular_speed"]}
    # The greatest speed leaves no middle, up to rounding; just above the mean speed blends are short.
    for slack in (0.0, 4e-10):
        greatest = line(**blended, linear_speed=2.0 * LENGTH / DURATION * (1.0 + slack))
        assert greatest.linear_law.blend == pytest.approx(DURATION / 2.0, rel=1e-12)
        assert greatest.linear_law.blend <= DURATION / 2.0
    with pytest.raises(TrajectoryError, match="cannot be blended"):
        line(**blended, linear_speed=2.0 * LENGTH / DURATION * (1.0 + 1e-8))
    least = line(**blended, linear_speed=LENGTH / DURATION * (1.0 + 1e-6))
    assert least.linear_law.blend == pytest.approx(DURATION * 1e-6, rel=1e-5)
    with pytest.raises(TrajectoryError, match="cannot be blended"):
        line(**blended, linear_speed=LENGTH / DURATION)


def test_what_does_not_move_needs_no_speed_that_fits():
    path = line(
        profile="parabolic", end_position=HERE, linear_speed=3.0, angular_speed=SPEEDS["angular_speed"]
    )
    assert path.linear_law == TimeLaw(DURATION, DURATION / 2.0)
    np.testing.assert_array_equal(path.at(np.array([0.3, 1.9])).linear_velocity, np.zeros((2, 3)))
    for speeds in ({"linear_speed": 1e-3}, {"linear_speed": 5.0}):  # a quintic keeps below any speed at rest
        assert line(end_position=HERE, **speeds).linear_law == TimeLaw(DURATION, None)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("start_position", np.zeros(4), "start_position of a StraightLine .* 3 finite numbers"),
        ("displacement", np.zeros(2), "displacement of a StraightLine .* 3 finite numbers"),
        ("start_rotation", np.zeros((3, 2)), "start_rotation of a StraightLine .* 3 by 3 finite numbers"),
        ("start_rotation", np.zeros((2, 3)), "start_rotation of a StraightLine .* 3 by 3 finite numbers"),
        ("start_angles", np.zeros(4), "start_angles of a StraightLine .* 3 finite numbers"),
        ("turn", np.zeros(2), "turn of a StraightLine .* 3 finite numbers"),
        ("duration", np.nan, "duration of a StraightLine"),
    ],
)
def test_a_straight_line_made_by_hand_names_the_field_that_does_not_fit(name, value, told):
    path = line()
    fields = {key: getattr(path, key) for key in StraightLine.__dataclass_fields__}
    assert StraightLine(**fields).duration == DURATION
    with pytest.raises(TrajectoryError, match=told):
        StraightLine(**{**fields, name: value})


@pytest.mark.parametrize("times", [np.nan, [0.0, np.inf]])
def test_times_of_a_path_are_finite(times):
    with pytest.raises(TrajectoryError) as caught:
        line().at(times)
    assert str(caught.value) == f"times is {times}; every number must be finite"


@pytest.mark.parametrize(
    ("times", "shape"),
    [
        ((2,), (2, 6, 6)),
        ((1,), (0, 6, 6)),
        ((0,), (1, 6, 6)),
        ((2, 1), (1, 6, 6)),
        ((3,), (2, 6, 5)),
        ((3,), (2, 5, 6)),
    ],
)
def test_pieces_have_six_coefficients_of_six_coordinates_for_each_span(times, shape):
    with pytest.raises(TrajectoryError) as caught:
        Pieces(np.zeros(times), np.zeros(shape))
    assert str(caught.value) == (
        f"times of Pieces has shape {times}, coefficients {shape}; expected (K,) and (K - 1, 6, 6)"
    )
