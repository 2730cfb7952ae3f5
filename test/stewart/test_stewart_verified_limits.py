"""Limits along paths: at their bounds and beyond them, the worst moments, samples, singular times."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from limited_demo import DEMO, limited

from robot_dynamics import stewart
from robot_dynamics.errors import LimitError, ParameterError
from robot_dynamics.stewart import verified_limits
from robot_dynamics.stewart.path_bounds import Pieces
from robot_dynamics.stewart.verified_limits import (
    PathViolation,
    path_violations,
    samples,
    singular_time,
    violations_along,
)

HOME, LEVEL = np.array([0.0, 0.0, 0.55]), [0.0, 0.0, 0.0]
WRENCH = np.zeros(6)


def beside(x, y, z, place=HOME):
    """A place beside home."""
    return place + np.array([x, y, z])


def heaving(rise, **given):
    """Up by ``rise`` from home, within 2 s."""
    return stewart.straight_line(HOME, LEVEL, beside(0.0, 0.0, rise), LEVEL, 2.0, **given)


def lengths_at(height):
    return DEMO.legs([0.0, 0.0, height], LEVEL).lengths


def along(platform, path, wrench=WRENCH, **options):
    return path_violations(platform.machine, path.pieces, path.at, wrench, **options)


def lift(law, seconds=1.5, count=2):
    """A path of pieces of so many seconds each, up from home by a polynomial of time [s]."""
    coefficients = np.zeros((count, 6, 6))
    for piece in range(count):
        part = law(np.polynomial.Polynomial([seconds * piece, seconds])).coef
        coefficients[piece, : len(part), 2] = part
    coefficients[:, 0, :3] += HOME

    def motion(times):
        up = np.zeros((3, *times.shape, 3))
        up[..., 2] = law(times) + HOME[2], law.deriv()(times), law.deriv(2)(times)
        turn, none = np.broadcast_to(np.eye(3), (*times.shape, 3, 3)), np.zeros((*times.shape, 3))
        return stewart.Motion(up[0], turn, up[1], none, up[2], none, none, none)

    return SimpleNamespace(pieces=Pieces(seconds * np.arange(count + 1.0), coefficients), at=motion)


def bow(peak, height):
    """A parabola with its vertex at ``peak`` [s] and ``height`` above home."""
    return lift(np.polynomial.Polynomial([-peak, 1.0]) ** 2 / -2.25 * height + height)


def test_the_worst_moment_of_each_leg_is_told():
    """Up and down again, over limits of two legs: highest in the middle."""
    longest, top = np.full(6, 0.9), lengths_at(0.65)
    longest[[1, 4]] = top[[1, 4]] - [2e-5, 0.01]
    # 1.6 x² (1 - x)² of x = t / 3 s: 0.1 m in the middle.
    share = np.polynomial.Polynomial([0.0, 1.0 / 3.0])
    path = lift(1.6 * share**2 * (1.0 - share) ** 2)
    found = along(limited(longest=longest), path)
    assert {(one.violation.quantity, one.violation.leg) for one in found} == {("length", 1), ("length", 4)}
    for one in found:
        leg = one.violation.leg
        assert one.violation.state is None
        assert one.violation.value == pytest.approx(top[leg], abs=2e-8)
        assert one.violation.limit == longest[leg]
        assert one.time == pytest.approx(1.5, abs=0.02)
        assert one.message == (
            f"at t = {one.time:.3f} s: leg_{leg + 1}: length {top[leg]:.5g} m, above its greatest"
            f" {longest[leg]:.5g} m"
        )


@pytest.mark.parametrize("count", [64, 65, 130, 1000])
def test_the_worst_moment_of_a_long_violation_may_be_its_last(count):
    """However many pieces are broken: legs that get longer and longer, beyond their limits from the start."""
    rise = np.polynomial.Polynomial([0.0, 0.05])
    found = along(limited(longest=np.full(6, 0.3)), lift(rise, 2.0 / count, count))
    assert [one.violation.leg for one in found] == list(range(6))
    for one in found:
        assert one.time == pytest.approx(2.0, abs=1e-9)
        assert one.violation.value == pytest.approx(lengths_at(HOME[2] + 0.1)[one.violation.leg], rel=1e-12)


@pytest.mark.parametrize("peak", [12.5 / 32.0 * 1.5, 1.5 + 19.5 / 32.0 * 1.5])
@pytest.mark.parametrize(("name", "height"), [("longest", 0.03), ("shortest", -0.03)])
def test_the_worst_moment_is_looked_for_between_the_samples(name, height, peak):
    """The vertex lies between two of the 33 samples of its piece, on which the middle breaks the limit."""
    path = bow(peak, height)
    worst = lengths_at(HOME[2] + height)
    bounds = np.where(np.arange(6) == 3, worst - 0.001 * np.sign(height), worst + 0.1 * np.sign(height))
    platform = limited(**{"longest": np.full(6, 0.99), name: bounds})
    (found,) = along(platform, path)
    assert (found.violation.leg, found.violation.quantity) == (3, "length")
    assert found.violation.value == pytest.approx(worst[3], abs=2e-7)
    assert found.time == pytest.approx(peak, abs=1e-3)


def test_forces_far_beyond_a_limit_are_reported_at_their_worst_moment():
    """Against samples fifty times as dense as the 33 of a piece, of which none is as near."""
    peak = 12.5 / 32.0 * 0.4
    bend = 8.0 - 600.0 * np.polynomial.Polynomial([-peak, 1.0]) ** 2
    path = lift(bend.integ(2), 0.4, 1)
    platform = limited(force=np.full(6, 60.0))
    times = np.linspace(0.0, 0.4, 1601)
    dense = np.abs(platform.inverse_dynamics_of(path.at(times), on_violation="report").actuator_forces)
    found = along(platform, path)
    assert sorted(one.violation.leg for one in found) == list(range(6))
    for one in found:
        forces = dense[:, one.violation.leg]
        assert abs(one.violation.value) == pytest.approx(forces.max(), rel=2e-5)
        assert forces[::50].max() < (1.0 - 1e-4) * forces.max()
        assert one.time == pytest.approx(times[forces.argmax()], abs=1e-3)


def test_a_limit_that_is_left_in_the_middle_of_a_piece_alone_is_told():
    """By three millionths."""
    path = bow(0.75, 0.03)
    worst = lengths_at(HOME[2] + 0.03)
    for excess, count in ((3e-6, 6), (0.9e-6, 0)):
        platform = limited(longest=worst / (1.0 + excess))
        found = along(platform, path)
        assert len(found) == count
        assert all(one.time == pytest.approx(0.75, abs=1e-3) for one in found)


def test_violations_come_in_the_order_of_their_times():
    """The end of a rise is too long for one leg, its beginning too strong for another."""
    force = np.full(6, 1e5)
    longest = np.full(6, 0.9)
    longest[0] = lengths_at(0.65)[0] - 0.001
    platform = limited(longest=longest, force=force)
    path = heaving(0.1)
    forces = platform.inverse_dynamics_of(
        path.at(np.linspace(0.0, 2.0, 4001)), on_violation="report"
    ).actuator_forces
    strongest = forces[:, 3].max()
    force[3] = strongest - 0.5
    platform = limited(longest=longest, force=force)
    found = along(platform, path)
    assert {(one.violation.quantity, one.violation.leg) for one in found} <= {("force", 3), ("length", 0)}
    assert [one.time for one in found] == sorted(one.time for one in found)
    (strong,) = (one for one in found if one.violation.quantity == "force")
    assert strong.violation.value == pytest.approx(strongest, abs=1e-3)
    assert strong.time == pytest.approx(forces[:, 3].argmax() * 2.0 / 4000, abs=2e-3)


@pytest.mark.parametrize(("share", "kept"), [(1.0, True), (1.0 - 0.9e-6, True), (1.0 - 1.2e-6, False)])
def test_a_limit_that_a_path_touches_is_kept(share, kept):
    touched = limited(longest=share * lengths_at(0.65))
    path = heaving(0.1)
    found = along(touched, path)
    assert (found == ()) is kept
    assert {one.violation.quantity for one in found} <= {"length"}


def test_the_wrench_is_carried_on_the_way():
    platform = limited(force=np.full(6, 200.0))
    path = heaving(0.02)
    assert along(platform, path) == ()
    for wrench in ([0.0, 0.0, -1500.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 400.0]):
        found = along(platform, path, np.array(wrench))
        motion = path.at(np.array([one.time for one in found]))
        load = {
            "force": np.broadcast_to(wrench[:3], (len(found), 3)),
            "torque": np.broadcast_to(wrench[3:], (len(found), 3)),
        }
        forces = platform.inverse_dynamics_of(motion._replace(**load), on_violation="report").actuator_forces
        assert found
        for k, one in enumerate(found):
            assert one.violation.value == pytest.approx(abs(forces[k, one.violation.leg]), rel=1e-6)


def test_from_outside_a_stroke_may_be_left_that_gets_no_worse():
    platform = limited(longest=lengths_at(0.6))
    down = stewart.straight_line(beside(0.0, 0.0, 0.1), LEVEL, HOME, LEVEL, 2.0)
    assert along(platform, down)
    assert along(platform, down, from_outside=True) == ()
    assert violations_along(platform, down, 0.01, True) == ()
    assert {one.quantity for one in violations_along(platform, down, 0.01, False)} == {"length"}
    up = stewart.straight_line(beside(0.0, 0.0, 0.1), LEVEL, beside(0.0, 0.0, 0.11), LEVEL, 2.0)
    found = along(platform, up, from_outside=True)
    top = lengths_at(0.66)
    assert {one.violation.leg for one in found} == set(range(6))
    for one in found:
        assert one.violation.value == pytest.approx(top[one.violation.leg], rel=1e-6)
        assert one.violation.limit == pytest.approx(lengths_at(0.65)[one.violation.leg], rel=1e-12)


def test_from_outside_an_angle_may_be_left_that_gets_no_worse():
    platform = limited(base_angle=np.full(6, 0.1), platform_angle=np.full(6, 0.1))
    aside = beside(0.12, 0.0, 0.0)
    back = stewart.straight_line(aside, [0.0, 0.0, 0.2], HOME, LEVEL, 2.0)
    assert {one.violation.quantity for one in along(platform, back)} == {
        "base_angle",
        "platform_angle",
    }
    assert along(platform, back, from_outside=True) == ()
    away = stewart.straight_line(aside, [0.0, 0.0, 0.2], beside(0.03, 0.0, 0.0, aside), [0.0, 0.0, 0.25], 2.0)
    found = along(platform, away, from_outside=True)
    start = platform.legs(aside, [0.0, 0.0, 0.2])
    cosines = (start.directions * platform.machine.home_directions).sum(axis=-1)
    for one in found:
        if one.violation.quantity == "base_angle":
            assert one.violation.limit == pytest.approx(
                max(0.1, np.arccos(cosines[one.violation.leg])), abs=1e-9
            )
            assert one.violation.value > one.violation.limit


def test_a_path_too_near_to_a_limit_for_too_long_is_undecided_at_a_time(monkeypatch):
    """The first of the boxes that are too many is told by its middle."""
    free = limited(longest=np.full(6, 0.9))
    path = heaving(0.1)
    blended = heaving(0.1, profile="parabolic", linear_speed=0.0625, angular_speed=1.0)
    for line, most, time in ((path, 0, 1.0), (blended, 3, 0.2)):
        monkeypatch.setattr(verified_limits, "MOST_BOXES", most)
        with pytest.raises(LimitError) as caught:
            along(free, line)
        said = f"the path is too near to a limit for too long, e.g. at t = {time:.3f} s"
        assert str(caught.value) == said
    monkeypatch.setattr(verified_limits, "MOST_BOXES", 4)
    assert along(free, blended) == ()


@dataclass(frozen=True)
class Fold:
    """A platform whose Jacobian is singular at the roots of a polynomial of time."""

    roots: tuple[float, ...]
    duration: float

    def at(self, times):
        return np.asarray(times)

    def legs_of(self, times):
        jacobian = np.zeros((*times.shape, 6, 6))
        jacobian[...] = np.diag([1.0, -2.0, 3.0, 1.0, 2.0, 1.0])
        jacobian[..., 5, 5] = np.prod([times - root for root in self.roots], axis=0)
        return SimpleNamespace(jacobian=jacobian)


@pytest.mark.parametrize(
    ("roots", "duration", "step", "first"),
    [
        ((0.7312,), 2.0, 0.01, 0.7312),
        ((0.7312, 1.9), 2.0, 0.3, 0.7312),
        ((1.9, 1.1, 0.2), 2.0, 0.05, 0.2),
        ((-0.3, 1.617), 1.7, 0.4, 1.617),
        ((0.7312, 0.7312), 2.0, 0.1, None),
        ((-0.1, 2.1), 2.0, 0.1, None),
        ((0.25, 0.3), 2.0, 0.5, None),
    ],
)
def test_the_first_change_of_the_determinants_sign_is_found_to_rounding(roots, duration, step, first):
    """Two crossings between two samples are not seen."""
    fold = Fold(roots, duration)
    found = singular_time(fold, fold, step)
    assert found == (None if first is None else pytest.approx(first, abs=1e-11))


@pytest.mark.parametrize("root", [0.0, 0.5, 2.0])
def test_a_sample_that_is_singular_itself_counts(root):
    fold = Fold((root, -1.0), 2.0)
    assert singular_time(fold, fold, 0.5) == pytest.approx(root, abs=1e-11)


def test_samples_are_equally_spaced_and_at_most_a_step_apart():
    for duration, step, count in (
        (2.0, 0.5, 5),
        (2.0, 0.51, 5),
        (2.0, 0.49, 6),
        (2.0, 3.0, 2),
        (0.0, 1.0, 2),
        (2.0, 2.0, 2),
    ):
        found = samples(SimpleNamespace(duration=duration), step)
        np.testing.assert_allclose(found, np.linspace(0.0, duration, count), atol=1e-15)
    assert len(samples(SimpleNamespace(duration=1e6), 1.0)) == 1_000_001
    with pytest.raises(
        ParameterError, match=r"^step is 1 s: 1e\+06 samples in 1e\+06 s; 1000000 are possible$"
    ):
        samples(SimpleNamespace(duration=1e6 + 0.5), 1.0)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (0.0, "step is 0.0 s; it must be positive"),
        (-0.5, "step is -0.5 s; it must be positive"),
        (np.inf, "step is inf s; it must be positive"),
        (np.nan, "step is nan s; it must be positive"),
        (1e-7, "step is 1e-07 s: 2e+07 samples in 2 s; 1000000 are possible"),
        (1.99e-6, "step is 1.99e-06 s: 1.01e+06 samples in 2 s; 1000000 are possible"),
    ],
)
def test_a_step_that_makes_no_samples_or_too_many_is_refused(step, message):
    with pytest.raises(ParameterError) as caught:
        samples(SimpleNamespace(duration=2.0), step)
    assert str(caught.value) == message


def test_a_path_through_a_singular_pose_is_told_with_its_time_alone():
    platform = limited(longest=np.full(6, 0.6))
    path = stewart.straight_line(HOME, LEVEL, HOME, [0.0, 0.0, 2.6], 2.0)
    (found,) = violations_along(platform, path, 0.01, False)
    assert (found.quantity, found.leg, found.state, found.limit) == ("condition_number", None, None, 50.0)
    assert found.value > 1e7
    time = singular_time(platform, path, 0.01)
    assert found.message == (
        f"the path meets a singular pose at t = {time:.3f} s; its condition number there is {found.value:.3g}"
    )
    # A symmetric platform is singular where it has turned by a right angle.
    assert path.at(time).rotation[0, 0] == pytest.approx(0.0, abs=1e-9)


@dataclass(frozen=True)
class Later:
    """A path whose polynomials count their time from 7 s on, and one that tells none."""

    line: stewart.StraightLine

    @property
    def duration(self):
        return self.line.duration

    def at(self, times):
        return self.line.at(times)


class LaterWithPieces(Later):
    @property
    def pieces(self):
        pieces = self.line.pieces
        return replace(pieces, times=pieces.times + 7.0)


def test_times_of_a_path_begin_at_zero_whenever_its_polynomials_do():
    longest = lengths_at(0.65) * [1.1, 1.1, 0.99, 1.1, 1.1, 1.1]
    platform = limited(longest=longest)
    line = heaving(0.1)
    expected = violations_along(platform, line, 0.01, False)
    assert violations_along(platform, LaterWithPieces(line), 0.01, False) == expected
    (found,) = expected
    assert found.message.startswith("at t = 2.000 s: leg_3: length ")
    (sampled,) = violations_along(platform, Later(line), 0.3, False)
    assert (sampled.leg, sampled.limit) == (2, longest[2])
    assert sampled.message.startswith("at t = 2.000 s: leg_3: length ")
    assert sampled.state is None


def test_of_a_path_without_polynomials_the_first_sample_counts_from_outside():
    platform = limited(longest=lengths_at(0.6))
    down = Later(stewart.straight_line(beside(0.0, 0.0, 0.1), LEVEL, HOME, LEVEL, 2.0))
    assert violations_along(platform, down, 0.1, True) == ()
    found = violations_along(platform, down, 0.1, False)
    assert {one.leg for one in found} == set(range(6))
    assert all(one.message.startswith("at t = 0.000 s: ") for one in found)


def test_a_violation_of_a_path_says_its_time_in_milliseconds():
    violation = stewart.Violation("force", 2, None, 12.0, 10.0, "leg_3: force 12 N, above its greatest 10 N")
    found = PathViolation(1.23456, violation)
    assert found.message == "at t = 1.235 s: leg_3: force 12 N, above its greatest 10 N"
