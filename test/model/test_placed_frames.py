"""Frames on the joint axes: the rules by which they are placed, on random trees and in closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from made_chains import BODY, P, R, chain_of, link_poses, moving, place, point_masses, screw
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import ModelError, ParameterError, WrongTypeError
from robot_dynamics.model.chain import JointLimits, KinematicChain, RigidBody, Tip
from robot_dynamics.model.frames import Rounding, frame_along, place_frames, residual

QUARTERS = [0.0, np.pi / 2, -np.pi / 2, np.pi]


def random_tree(seed, special=False):
    """Seven joints of both kinds; the first carries three branches, the root two."""
    draw = np.random.default_rng(seed)
    joints = []
    for k in range(8):
        rpy = draw.choice(QUARTERS, 3) if special else draw.uniform(-3, 3, 3)
        xyz = draw.uniform(-0.5, 0.5, 3) * (draw.integers(0, 2, 3) if special else 1)
        axis = np.eye(3)[draw.integers(3)] * draw.choice([-1, 1]) if special else draw.normal(size=3)
        masses, points = draw.uniform(0.2, 1.0, 5), draw.normal(scale=0.2, size=(5, 3))
        kind = P if draw.random() < 0.3 else R
        joints.append(
            moving(
                k, xyz, rpy, kind, axis / np.linalg.norm(axis), body=point_masses(masses, points),
                offset=draw.uniform(-0.4, 0.4), multiplier=draw.choice([1.0, -1.7]),
            )
        )  # fmt: skip
    tips = [place(draw.uniform(-0.3, 0.3, 3), draw.uniform(-3, 3, 3)) for _ in range(8)]
    return chain_of(*joints, parents=(-1, 0, 1, 0, 3, 4, 0, -1), tips=tips)


def frame_poses(chain, placed, q):
    """(4, 4) of every frame in the root, from the numbers of the links."""
    frames = []
    for link in placed.links:
        moved = link.multiplier * q[link.coordinate] + link.offset
        theta, r = (moved, link.r) if link.kind is R else (link.theta, moved)
        step = screw(link.gamma, 0.0, 2) @ screw(link.alpha, link.a, 0)
        step = step @ place((0.0, link.y_shift, 0.0)) @ screw(theta, r, 2)
        frames.append((frames[link.parent] if link.parent >= 0 else placed.base) @ step)
    return frames


TREES = [random_tree(seed, special=seed % 2 == 1) for seed in range(12)]


@pytest.mark.parametrize("chain", TREES, ids=range(len(TREES)))
def test_the_frames_move_with_their_links(chain):
    placed = place_frames(chain)
    q = np.random.default_rng(1).uniform(-2, 2, chain.dof)
    links, frames = link_poses(chain, q), frame_poses(chain, placed, q)
    for link, own, frame in zip(links, placed.poses, frames, strict=True):
        np.testing.assert_allclose(link @ own, frame, atol=1e-13)
    for tip, onward in zip(chain.tips, placed.tips, strict=True):
        expected = links[tip.joint] @ tip.transform
        np.testing.assert_allclose(frames[tip.joint] @ onward, expected, atol=1e-13)
    for joint, own in zip(chain.joints, placed.poses, strict=True):
        np.testing.assert_allclose(own[:3, 2], joint.axis, atol=1e-13)


def next_joint(chain, i):
    """The joint on which the frame of joint i depends: the first of those that carry most."""

    def weight(k):
        return 1 + sum(weight(j) for j in range(len(chain.joints)) if chain.carriers[j] == k)

    carried = [k for k in range(len(chain.joints)) if chain.carriers[k] == i]
    return max(carried, key=weight) if carried else None


@pytest.mark.parametrize("seed", [0, 2, 4, 6, 8, 10])
def test_frames_follow_the_rules_where_axes_are_skew(seed):
    chain = TREES[seed]
    placed = place_frames(chain)
    frames = frame_poses(chain, placed, np.random.default_rng(2).uniform(-2, 2, chain.dof))
    for i, link in enumerate(placed.links):
        main, carried = next_joint(chain, i), chain.carriers[i] >= 0
        if main is None:
            moved = (link.offset, link.r) if link.kind is R else (link.theta, link.offset)
            expected = (0.0, 0.0) if link.kind is R else (0.0, chain.joints[i].offset)
            assert not carried or moved == pytest.approx(expected, abs=1e-12)
            continue
        # x is at right angles to the next axis, and turned by less than a quarter from the x before it.
        assert abs(frames[i][:3, 0] @ frames[main][:3, 2]) < 1e-12
        if i > 0:
            assert abs(link.offset if link.kind is R else link.theta) <= np.pi / 2 + 1e-12
        after = placed.links[main]
        assert (after.gamma, after.y_shift) == (0.0, 0.0)
        if after.kind is P:
            assert after.a == 0.0
            assert link.kind is P or link.r == 0.0
            continue
        # The origin is the foot of the common normal: only x leads across to the next axis.
        way = frames[main][:3, 3] - frames[i][:3, 3]
        way = way - (way @ frames[main][:3, 2]) * frames[main][:3, 2]
        np.testing.assert_allclose(way, after.a * frames[i][:3, 0], atol=1e-12)
    others = [
        k for k, link in enumerate(placed.links) if link.parent >= 0 and k != next_joint(chain, link.parent)
    ]
    assert len(others) == 2 and all(0.0 < abs(placed.links[k].gamma) <= np.pi / 2 for k in others)
    for k in (k for k in (*others, 7) if placed.links[k].kind is P):
        assert placed.links[k].a == placed.links[k].y_shift == 0.0


@pytest.mark.parametrize("chain", TREES, ids=range(len(TREES)))
def test_inertial_parameters_are_those_of_the_urdf_about_the_frames_origin(chain):
    placed = place_frames(chain)
    for joint, link, own in zip(chain.joints, placed.links, placed.poses, strict=True):
        turn = own[:3, :3].T
        center = turn @ (joint.body.center_of_mass - own[:3, 3])
        steiner = joint.body.mass * (center @ center * np.eye(3) - np.outer(center, center))
        assert link.mass == joint.body.mass
        np.testing.assert_allclose(link.first_moment, joint.body.mass * center, atol=1e-11)
        np.testing.assert_allclose(link.inertia, turn @ joint.body.inertia @ turn.T + steiner, atol=1e-11)
        assert (link.theta if link.kind is R else link.r) == 0.0
        told = (joint.name, joint.kind, joint.coordinate, joint.multiplier)
        assert (link.name, link.kind, link.coordinate, link.multiplier) == told
    assert [link.parent for link in placed.links] == list(chain.carriers)
    first = placed.links[0]
    assert (first.gamma, first.alpha, first.a, first.y_shift) == (0.0, 0.0, 0.0, 0.0)
    assert (first.r if first.kind is R else first.theta) == 0.0
    assert first.offset == chain.joints[0].offset


def test_of_equal_branches_the_first_has_the_frame():
    draw = np.random.default_rng(3)
    joints = [moving(k, draw.uniform(-0.5, 0.5, 3), draw.uniform(-3, 3, 3)) for k in range(7)]
    placed = place_frames(chain_of(*joints, parents=(-1, 0, 0, 0, 1, 2, 3)))
    assert [link.gamma != 0.0 for link in placed.links] == [False, False, True, True, False, False, False]


def test_inertial_parameters_beside_the_largest_are_rounded_away():
    small, kept = 5e-13, 5.01e-13
    center = np.array([2.0, 2 * small, -2 * kept])
    link = place_frames(chain_of(moving(0, body=RigidBody(3.0, center, np.eye(3))))).links[0]
    assert link.first_moment.tolist() == [6.0, 0.0, 3.0 * center[2]]
    inertia = np.array([[4.0, 4 * small, -4 * kept], [4 * small, 3.0, 0.0], [-4 * kept, 0.0, 2.0]])
    link = place_frames(chain_of(moving(0, body=RigidBody(3.0, np.zeros(3), inertia)))).links[0]
    assert link.inertia.tolist() == [[4.0, 0.0, -4 * kept], [0.0, 3.0, 0.0], [-4 * kept, 0.0, 2.0]]
    less = RigidBody(3.0, np.array([2.0, small, -small]), np.eye(3))
    assert place_frames(chain_of(moving(0, body=less))).links[0].first_moment.tolist() == [6.0, 0.0, 0.0]


@pytest.mark.parametrize("height", [0.0, 0.2])
def test_parallel_axes_keep_the_height_of_the_common_normal_before(height):
    """A planar arm whose links lie at different heights along the axes."""
    chain = chain_of(
        moving(0, (0, 0, 0.5)),
        moving(1, (0.3, 0.4, height), (0, 0, 0.3)),
        moving(2, (0.2, 0, -0.7), (np.pi, 0, 0)),
        moving(3, (0.1, 0, 0.1)),
    )
    placed = place_frames(chain)
    assert [link.a for link in placed.links] == pytest.approx([0.0, 0.5, 0.2, 0.1])
    assert [link.alpha for link in placed.links] == [0.0, 0.0, np.pi, 0.0]
    assert [link.r for link in placed.links] == [0.0] * 4
    assert [link.y_shift for link in placed.links] == [0.0] * 4
    origin = placed.base[:3, 3]
    assert np.array_equal(origin, [0.0, 0.0, 0.5])
    np.testing.assert_allclose(placed.base[:3, 0], [0.6, 0.8, 0.0], atol=1e-15)
    # The frames stay at the height of the first, the links do not.
    assert [pose[2, 3] for pose in placed.poses] == pytest.approx(
        [0.0, -height, height - 0.7, height - 0.8], abs=1e-12
    )


@pytest.mark.parametrize("y", [0.3, -0.3, 0.0])
def test_of_two_equal_turns_the_one_with_a_positive_distance_is_taken(y):
    """The common normal of z and x is y, at right angles to the x axis before it."""
    chain = chain_of(moving(0), moving(1, (0.1, y, 0.2), (0, np.pi / 2, 0)))
    placed = place_frames(chain)
    assert placed.links[1].a == pytest.approx(abs(y))
    np.testing.assert_allclose(placed.poses[0][:3, 0], [0.0, -1.0 if y < 0 else 1.0, 0.0], atol=1e-15)
    assert placed.links[1].alpha == pytest.approx(-np.pi / 2 if y < 0 else np.pi / 2)


@pytest.mark.parametrize("turn", [0.2, 1.5, 1.7, 3.0, -0.2, -1.5, -1.7, -3.0])
def test_x_turns_as_little_as_possible_from_the_x_before_it(turn):
    """Of the common normal, the x axis of the third joint, both directions can be taken."""
    chain = chain_of(
        moving(0), moving(1, (0.2, 0, 0), offset=0.1), moving(2, (0, 0, 0.1), (np.pi / 2, 0, turn))
    )
    offset = place_frames(chain).links[1].offset
    assert offset == pytest.approx((turn + 0.1 + np.pi / 2) % np.pi - np.pi / 2, abs=1e-12)


@pytest.mark.parametrize("turn", [0.3, -1.2, 2.5])
def test_x_stays_where_it_is_before_an_axis_in_the_same_line(turn):
    chain = chain_of(
        moving(0), moving(1, (0.3, 0.4, 0), (0, 0, turn), offset=0.2), moving(2, (0, 0, 0.2), (0, 0, 0.5))
    )
    links = place_frames(chain).links
    assert links[1].offset == 0.0 and (links[2].alpha, links[2].a, links[2].y_shift) == (0.0, 0.0, 0.0)


def test_x_stays_where_it_is_of_an_arm_without_any_length():
    """Its tolerance of lengths is zero, as is the distance of its axes."""
    links = place_frames(chain_of(moving(0), moving(1, rpy=(0, 0, 0.5), offset=0.2), moving(2))).links
    assert [link.offset for link in links] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("offset", [0.0, 0.7])
@pytest.mark.parametrize("rpy", [(0.4, -0.3, 1.2), (1.5, 0.2, -2.9), (-2.0, 1.0, 0.3)])
def test_x_turns_as_little_as_possible_from_the_frame_along_the_first_axis(rpy, offset):
    alone = chain_of(moving(0, (0.3, 0.2, -0.4), rpy, axis=(0.6, 0.48, 0.64), offset=offset))
    axis = alone.joints[0].origin[:3, :3] @ alone.joints[0].axis
    along = frame_along(axis)
    back = Rotation.from_rotvec(-offset * axis).as_matrix()
    np.testing.assert_allclose(place_frames(alone).base[:3, :3], back @ along, atol=1e-14)
    second = moving(1, (0.1, 0.2, 0.3), (0.9, -0.8, 0.4))
    x = place_frames(chain_of(*alone.joints, second)).base[:3, 0]
    assert x @ (back @ along)[:, 0] >= 0.0


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("far", "shifted"), [(3.99, False), (4.01, True)])
def test_a_common_normal_beyond_four_arm_lengths_is_not_used(far, shifted, sign):
    """Two axes in a plane that meet at this height, in lengths of the link between them."""
    angle = np.arctan2(1.0, sign * far)
    chain = chain_of(moving(0), moving(1, (0, 0.5, 0), (angle, 0, 0)))
    placed = place_frames(chain)
    second = placed.links[1]
    if shifted:
        assert abs(second.y_shift) == pytest.approx(0.5 * abs(np.cos(angle)))
        assert placed.base[2, 3] == 0.0
    else:
        assert second.y_shift == 0.0
        assert placed.base[2, 3] == pytest.approx(0.5 * sign * far)
    q = np.array([0.4, -0.7])
    links = link_poses(chain, q)
    np.testing.assert_allclose(links[1] @ placed.poses[1], frame_poses(chain, placed, q)[1], atol=1e-13)


@pytest.mark.parametrize(("far", "shifted"), [(3.99, False), (4.01, True)])
def test_the_way_along_an_axis_counts_from_the_common_normal_before(far, shifted):
    """The axes of the first two are parallel, and the second joint's origin lies 0.3 below their normal."""
    longest = np.hypot(0.8, 0.3) + 0.5
    angle = np.arctan2(0.5, 0.3 + far * longest)
    chain = chain_of(
        moving(0, (9.0, 9.0, 9.0)), moving(1, (0.8, 0, -0.3)), moving(2, (0, 0.5, 0), (angle, 0, 0))
    )
    placed = place_frames(chain)
    assert (placed.links[2].y_shift != 0.0) is shifted
    assert placed.links[1].r == (0.0 if shifted else pytest.approx(far * longest))


@pytest.mark.parametrize(("far", "shifted"), [(3.99, False), (4.01, True)])
def test_the_arm_is_as_long_as_its_farthest_center_of_mass(far, shifted):
    heavy = RigidBody(1.0, np.array([0.0, 0.0, -2.0]), np.eye(3))
    angle = np.arctan2(0.5, far * 2.0)
    for bodies in ((heavy, BODY), (BODY, heavy)):
        chain = chain_of(
            moving(0, (5.0, 0, 0), body=bodies[0]), moving(1, (0, 0.5, 0), (angle, 0, 0), body=bodies[1])
        )
        assert (place_frames(chain).links[1].y_shift != 0.0) is shifted


def test_quarter_turns_and_zero_lengths_are_made_round_up_to_the_bounds():
    rounding = Rounding(angle=0.25, length=0.5)
    quarter = np.pi / 2
    assert [rounding.of_angle(a) for a in (0.25, -0.25, 0.26, -0.26)] == [0.0, 0.0, 0.26, -0.26]
    for k, expected in ((1, quarter), (-1, -quarter), (2, np.pi), (-2, np.pi), (3, -quarter), (5, quarter)):
        assert rounding.of_angle(k * quarter) == expected
        for off in (-0.24, 0.24):
            assert rounding.of_angle(k * quarter + off) == expected
        kept = rounding.of_angle(k * quarter + 0.26)
        assert np.exp(1j * kept) == pytest.approx(np.exp(1j * (k * quarter + 0.26)))
        assert -np.pi < kept <= np.pi
    assert [rounding.of_length(x) for x in (0.5, -0.5, 0.51, -0.51)] == [0.0, 0.0, 0.51, -0.51]
    for angle, number in (
        (rounding.of_angle(np.float64(0.1)), 0.0),
        (rounding.of_length(np.float64(2)), 2.0),
    ):
        assert type(angle) is float and angle == number
    pose = np.array([[0.9, 0.25, -0.25, 0.5], [0.26, -0.26, 0.1, -0.5], [0.3, -0.1, 0.7, 0.51], [0, 0, 0, 1]])
    assert rounding.of_pose(pose).tolist() == [
        [0.9, 0, 0, 0], [0.26, -0.26, 0, 0], [0.3, 0, 0.7, 0.51], [0, 0, 0, 1]
    ]  # fmt: skip


LIMITED = JointLimits(lower=-0.7, upper=0.3)


def serial(limits=LIMITED):
    """Lengths 1, 2 and 3, one joint slides, and the tip is 1 from the last."""
    return chain_of(
        moving(0, (1.0, 0, 0)),
        moving(1, (0, 2.0, 0), kind=P, axis=(1.0, 0, 0), limits=limits),
        moving(2, (0, 0, 3.0)),
        tips=[place((0.0, 0.6, 0.8))],
    )


@pytest.mark.parametrize(
    ("limits", "slide"),
    [
        (LIMITED, 0.7),
        (JointLimits(lower=-0.2, upper=0.3), 0.3),
        (JointLimits(), 1.0),
        (JointLimits(lower=-0.2), 1.0),
        (JointLimits(upper=0.2), 1.0),
        (JointLimits(lower=2.0), 2.0),
    ],
)
def test_the_reach_is_that_of_all_links_in_a_line(limits, slide):
    chain = serial(limits=limits)
    placed = place_frames(chain)
    assert placed.reach == pytest.approx(1.0 + 2.0 + 3.0 + 1.0 + slide)
    assert placed.rounding == Rounding.of(chain, 1e-9)
    # Joints behind the tip count, too.
    assert place_frames(replace(chain, tip_joint=0)).reach == pytest.approx(1.0 + 2.0 + 3.0 + slide)


def test_the_reach_of_a_tree_is_that_of_its_longest_branch():
    tips = [place((0.5, 0, 0)), place((0, 0, -4.0)), place((0, 0.1, 0))]
    chain = chain_of(
        moving(0, (1.0, 0, 0)), moving(1, (0, 2.0, 0)), moving(2, (0.7, 0, 0)), moving(3, (0.1, 0, 0)),
        parents=(-1, 0, 0, 2), tips=tips,
    )  # fmt: skip
    assert chain.tips[1].joint == 3
    assert place_frames(chain).reach == pytest.approx(1.0 + 0.7 + 0.1 + 4.0)
    shorter = replace(chain, other_tips=(replace(chain.other_tips[0], transform=place((1.0, 0, 0))),))
    assert place_frames(shorter).reach == pytest.approx(1.0 + 2.0 + 0.5)
    twice = replace(shorter, other_tips=(*shorter.other_tips, Tip("inner", 1, place((0, 0, 0.9)))))
    assert place_frames(twice).reach == pytest.approx(1.0 + 2.0 + 0.9)


def test_tolerances_of_angles_and_lengths_move_the_tip_by_no_more_than_allowed():
    chain = serial()
    rounding = Rounding.of(chain, 1e-3)
    assert rounding.angle == pytest.approx(1e-3 / (4 * 3 * 7.7))
    assert rounding.length == pytest.approx(rounding.angle * 5.0)  # the arm from the first joint on
    short = chain_of(moving(0), moving(1, (0.1, 0, 0)))
    assert Rounding.of(short, 1e-3).angle == pytest.approx(1e-3 / (4 * 2 * 1.0))
    tree = chain_of(*[moving(k, (0.1, 0, 0)) for k in range(5)], parents=(-1, 0, 0, 2, 0))
    assert Rounding.of(tree, 1e-3).angle == pytest.approx(1e-3 / (4 * 3 * 1.0))
    coarse = place_frames(chain_of(moving(0), moving(1, (0.1, 0, 0), (1e-3, 0, 0))), tolerance=1.0)
    assert coarse.links[1].alpha == 0.0 and coarse.rounding.angle == pytest.approx(1.0 / 8)


@pytest.mark.parametrize("slack", [0.99, 1.01])
def test_axes_are_parallel_or_coincide_up_to_the_rounding(slack):
    bound = Rounding.of(chain_of(moving(0), moving(1, (0.5, 0, 0))), 1e-4)
    apart = chain_of(moving(0), moving(1, (0.5, 0.0, 0), (0, slack * bound.angle, 0)))
    assert (place_frames(apart, 1e-4).links[1].alpha == 0.0) is (slack < 1)
    # Where axes coincide, x stays as it was: here the x axis of the root.
    close = chain_of(moving(0), moving(1, (0, slack * 1e-4 / 8 * 0.5, 0.5)))
    x = place_frames(close, 1e-4).poses[0][:3, 0]
    np.testing.assert_allclose(x, [1, 0, 0] if slack < 1 else [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("z", "x"),
    [
        ((0, 0, 1.0), (1, 0, 0)),
        ((1.0, 0, 0), (0, 1, 0)),
        ((0, -1.0, 0), (1, 0, 0)),
        ((0.6, 0, 0.8), (0, 1, 0)),
        ((0.6, 0.8, 0), (0, 0, 1)),
        ((0, 0.6, -0.8), (1, 0, 0)),
        ((0.36, 0.48, 0.8), (0.8704, -0.1728, -0.288)),
    ],
)
def test_a_frame_along_an_axis_takes_the_outer_axis_farthest_from_it(z, x):
    made = frame_along(np.array(z))
    np.testing.assert_allclose(made[:, 2], z, atol=1e-15)
    np.testing.assert_allclose(made.T @ made, np.eye(3), atol=1e-15)
    assert np.linalg.det(made) == pytest.approx(1.0)
    np.testing.assert_allclose(made[:, 0], x / np.linalg.norm(x), atol=1e-15)


@pytest.mark.parametrize("noise", [1e-8, -1e-8])
def test_of_axes_as_far_but_for_noise_the_first_is_taken(noise):
    z = np.array([1.0 + noise, 1.0, 1.0 - noise]) / np.sqrt(3.0)
    assert frame_along(z)[0, 0] == pytest.approx(np.sqrt(2 / 3))
    # Six digits count.
    for less, first in ((2e-7, True), (2e-6, False)):
        z = np.array([0.5 + less, 0.5, 0.0])
        z[2] = np.sqrt(1.0 - z @ z)
        assert frame_along(z)[0 if first else 1, 0] == pytest.approx(np.sqrt(0.75), abs=1e-5)


def test_the_residual_is_the_largest_difference_of_any_tip_over_the_joint_ranges():
    chain = chain_of(
        moving(0, (1.0, 0, 0), limits=LIMITED), moving(1, (0, 2.0, 0), kind=P, limits=JointLimits(lower=4.0)),
        moving(2, (0, 0, 3.0)), moving(3, kind=P, limits=JointLimits(upper=-2.0)), moving(4, kind=P),
        moving(5, limits=JointLimits(lower=5.0)),
        parents=(-1, 0, 0, 2, 1, 3), tips=[place((0, 0.3, 0)), place((0.1, 0, 0), (0.3, 0.1, 0))],
    )  # fmt: skip
    assert len(chain.tips) == 2
    asked = []

    def exact(q):
        asked.append(q)
        links = link_poses(chain, q)
        return [links[tip.joint] @ tip.transform for tip in chain.tips]

    assert residual(chain, exact) < 1e-13
    samples = np.array(asked)
    assert samples.shape == (16, 6)
    low = np.array([-0.7, 1.0, -np.pi, -2.0, -1.0, np.pi])
    high = np.array([0.3, 4.0, np.pi, -1.0, 1.0, 5.0])
    assert (samples >= low).all() and (samples <= high).all()
    assert (np.ptp(samples, axis=0) > 0.5 * (high - low)).all()

    for tip, sign in ((0, 1.0), (1, -1.0)):

        def missing(q, tip=tip, sign=sign):
            poses = exact(q)
            if len(asked) == 7:
                poses[tip][1, 3] += sign * 0.25
                poses[1 - tip][0, 0] += 0.125
            return poses

        asked.clear()
        assert residual(chain, missing) == pytest.approx(0.25)


def test_what_cannot_be_placed_is_refused():
    chain = chain_of(moving(0))
    for tolerance in (0.0, -1e-9, 1.0000001):
        with pytest.raises(ParameterError) as caught:
            place_frames(chain, tolerance)
        assert str(caught.value) == f"tolerance is {tolerance:g}; it must be positive and at most 1"
    assert place_frames(chain, 1.0).rounding.angle == 0.25
    empty = KinematicChain("r", "base", "end", (), (), np.eye(4))
    with pytest.raises(ParameterError, match=r"^the chain base -> end has no moving joint$"):
        place_frames(empty)
    with pytest.raises((WrongTypeError, ModelError), match="chain"):
        place_frames(3)
