"""Chains built from descriptions: what is lumped, held, measured and warned of, and what is refused."""

import warnings

import numpy as np
import pytest
from descriptions import LIMIT, MASSLESS, joint, link, robot, two_joint_arm
from made_chains import place
from scipy.spatial.transform import Rotation
from two_arms import JOINTS, TWO_ARMS

from robot_dynamics.errors import ModelError, WrongTypeError
from robot_dynamics.model.chain import JointKind
from robot_dynamics.model.load import load_urdf

quiet = pytest.mark.filterwarnings("ignore::robot_dynamics.errors.ModelWarning")


def mimic(of, multiplier=1.0, offset=0.0):
    return f'<mimic joint="{of}" multiplier="{multiplier}" offset="{offset}"/>'


def load(text, *given, **options):
    """A chain, and its warnings in no other way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chain = load_urdf(text, *given, **options)
    assert [str(warning.message) for warning in caught] == list(chain.warnings)
    return chain


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"root": 3}, "root is 3; it must be the name of a link"),
        ({"tip": ["fore"]}, "tip is ['fore']; it must be the name of a link"),
        (
            {"locked_joints": ["elbow"]},
            "locked_joints is ['elbow']; it must be a mapping of joints to positions",
        ),
        ({"tips": ["fore", 4]}, "tips has 4; it must be the name of a link"),
    ],
)  # fmt: skip
def test_arguments_of_other_types_are_refused(given, message):
    with pytest.raises(WrongTypeError) as refused:
        load_urdf(two_joint_arm(), **given)
    assert str(refused.value) == message


def follower(text, multiplier, offset=0.0):
    return two_joint_arm(link("hand"), joint("wrist", "fore", "hand", extra=mimic(text, multiplier, offset)))


OTHERS = "it must be a moving joint that is neither locked nor follows another one"
FAULTS = {
    "tip and tips": (
        two_joint_arm(),
        {"tip": "fore", "tips": ["upper"]},
        "tip is 'fore' and tips is ['upper']; give one of them",
    ),
    "nothing moves": (
        two_joint_arm(link("plate"), joint("bolt", "fore", "plate", "fixed")),
        {"root": "fore", "tips": ["plate", "fore"]},
        "robot 'sample' has no moving joint between 'fore' and 'plate', 'fore'",
    ),
    "one tip does not move": (
        two_joint_arm(link("plate"), joint("bolt", "ground", "plate", "fixed")),
        {"tips": ["fore", "plate", "ground"]},
        "robot 'sample' has no moving joint between 'ground' and 'plate'",
    ),
    "a tip twice": (two_joint_arm(), {"tips": ["upper", "fore", "fore"]}, "tips names 'fore' twice"),
    "unknown lock": (
        two_joint_arm(link("plate"), joint("bolt", "ground", "plate", "fixed")),
        {"locked_joints": {"knee": 0.0}},
        "locked joint 'knee' does not exist; the moving joints are: shoulder, elbow",
    ),
    "lock above": (
        two_joint_arm(),
        {"locked_joints": {"elbow": 2.0 + 1.1e-9}},
        "locked joint 'elbow': its position 2 is outside its limits, -2 to 2",
    ),
    "lock below": (
        two_joint_arm(),
        {"locked_joints": {"elbow": -2.0 - 1.1e-9}},
        "locked joint 'elbow': its position -2 is outside its limits, -2 to 2",
    ),
    "lock beyond": (
        two_joint_arm(link("disc"), joint("spin", "fore", "disc", "continuous")),
        {"locked_joints": {"spin": -1.001e9}},
        "locked joint 'spin': its position -1.001e+09 is beyond 1e+09",
    ),
    "planar lock": (
        two_joint_arm(link("disc"), joint("float", "fore", "disc", "planar")),
        {"locked_joints": {"float": 1e-3}},
        "joint 'float' is planar: it can be locked at 0 only",
    ),
    "planar": (
        two_joint_arm(link("disc"), joint("float", "fore", "disc", "planar")),
        {"tip": "fore"},
        "joint 'float' is planar, which a chain cannot have; lock it with locked_joints={'float': 0.0}, or"
        " choose a root below it",
    ),
    "side follower": (
        two_joint_arm(link("gear"), joint("idler", "upper", "gear", extra=mimic("elbow"))),
        {"tip": "fore"},
        "joint 'idler' mimics 'elbow', which is in the chain, but is on a side branch, whose mass cannot be"
        " lumped while it moves: lock one of them with locked_joints",
    ),
    "side leader": (
        two_joint_arm(
            link("gear"), joint("crank", "upper", "gear"), link("hand"),
            joint("wrist", "fore", "hand", extra=mimic("crank")),
        ),
        {"tip": "hand"},
        "joint 'wrist' is in the chain but mimics 'crank', which is not: lock one of them with locked_joints,"
        " or choose a chain with both",
    ),
    "large multiplier": (
        robot(
            link("ground", ""), *(link(f"l{k}") for k in range(3)),
            joint("a", "ground", "l0"), joint("b", "l0", "l1", extra=mimic("a", 1e5, -3.0)),
            joint("c", "l1", "l2", extra=mimic("b", -2e4, 7.0)),
        ),
        {},
        "joint 'c': its <mimic> and those that it follows make a multiplier of -2e+09 and an offset of"
        " 60007, beyond 1e+09",
    ),
    "large offset": (
        robot(
            link("ground", ""), *(link(f"l{k}") for k in range(3)),
            joint("a", "ground", "l0"), joint("b", "l0", "l1", extra=mimic("a", 1.0, -1e5)),
            joint("c", "l1", "l2", extra=mimic("b", 2e4, 7.0)),
        ),
        {},
        "joint 'c': its <mimic> and those that it follows make a multiplier of 20000 and an offset of"
        " -2e+09, beyond 1e+09",
    ),
    "all measured": (
        two_joint_arm(),
        {"measured_joints": ["elbow", "shoulder"]},
        "measured_joints has every joint of the chain, so none is left to control",
    ),
    "measured, none left": (
        two_joint_arm(),
        {"measured_joints": "all"},
        "measured_joints is 'all'; the chain has every joint of the robot",
    ),
    "measured unknown": (
        two_joint_arm(),
        {"measured_joints": ["elbow", "knee"]},
        f"measured_joints has 'knee'; {OTHERS}",
    ),
    "measured locked": (
        TWO_ARMS,
        {"tip": "left_hand", "measured_joints": ["waist"], "locked_joints": {"waist": 0.1}},
        f"measured_joints has 'waist'; {OTHERS}",
    ),
    "measured number": (
        two_joint_arm(),
        {"measured_joints": [5]},
        f"measured_joints has 5; {OTHERS}",
    ),
    "measured fixed": (
        TWO_ARMS,
        {"tip": "left_hand", "measured_joints": "left_wrist"},
        f"measured_joints has 'left_wrist'; {OTHERS}",
    ),
    "measured follower": (
        follower("elbow", 1.0),
        {"measured_joints": "wrist"},
        f"measured_joints has 'wrist'; {OTHERS}",
    ),
}  # fmt: skip


@quiet
@pytest.mark.parametrize(("text", "given", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_what_cannot_be_built_is_refused_with_names_and_numbers(text, given, message):
    with pytest.raises(ModelError) as refused:
        load_urdf(text, **given)
    assert str(refused.value) == message


@quiet
def test_locks_are_legal_up_to_their_bounds():
    for position in (2.0, -2.0, 2.0 + 1e-9, -2.0 - 1e-9):
        assert load_urdf(two_joint_arm(), locked_joints={"elbow": position}).dof == 1
    spinning = two_joint_arm(link("disc"), joint("spin", "fore", "disc", "continuous"))
    for position in (1e9, -1e9):
        assert load_urdf(spinning, locked_joints={"spin": position}).dof == 2
    locks = {"elbow": 0.3}
    load_urdf(two_joint_arm(), locked_joints=locks, tip="fore")
    assert locks == {"elbow": 0.3}


@quiet
@pytest.mark.parametrize(("first", "second"), [((1e5, 3.0), (-1e4, -5.0)), ((1.0, -1e5), (1e4, 0.0))])
def test_multipliers_and_offsets_of_followers_are_legal_up_to_the_largest_number(first, second):
    text = robot(
        link("ground", ""), *(link(f"l{k}") for k in range(3)),
        joint("a", "ground", "l0"), joint("b", "l0", "l1", extra=mimic("a", *first)),
        joint("c", "l1", "l2", extra=mimic("b", *second)),
    )  # fmt: skip
    last = load_urdf(text).joints[2]
    assert last.multiplier == second[0] * first[0]
    assert last.offset == second[0] * first[1] + second[1]
    assert max(abs(last.multiplier), abs(last.offset)) == 1e9


def test_a_follower_by_zero_stands_still_and_is_told():
    chain = load(follower("elbow", 0.0, 0.25))
    assert chain.joint_names == ("shoulder", "elbow") and len(chain.joints) == 2
    assert chain.warnings == ("joint 'wrist' follows 'elbow', by the multiplier 0: it stays at 0.25",)
    turned = chain.forward_kinematics(np.zeros(2))
    np.testing.assert_allclose(turned[:3, :3], Rotation.from_euler("z", 0.25).as_matrix(), atol=1e-15)
    # A side joint that follows by zero is no coupling.
    text = two_joint_arm(link("gear"), joint("idler", "upper", "gear", extra=mimic("elbow", 0.0, 0.5)))
    assert load(text, tip="fore").warnings == ()


@pytest.mark.parametrize(
    ("lock", "told"),
    [
        (0.9, "it stays at 2"),
        (-1.1, "it stays at -2"),
        (1.0, "it stays at 2.2, outside its limits, -2 to 2"),
        (-1.3, "it stays at -2.4, outside its limits, -2 to 2"),
    ],
)
def test_a_follower_of_a_locked_joint_is_told_with_its_place(lock, told):
    chain = load(follower("elbow", 2.0, 0.2), locked_joints={"elbow": lock})
    assert chain.warnings == (f"joint 'wrist' follows 'elbow', which is locked: {told}",)
    # Where the follower itself is locked, nothing is odd.
    assert load(follower("elbow", 2.0), locked_joints={"elbow": lock, "wrist": 0.1}).warnings == ()


@quiet
@pytest.mark.parametrize(
    ("leader", "given"), [("crank", {}), ("crank", {"locked_joints": {"crank": 0.0}}), ("still", {})]
)
def test_multipliers_of_joints_that_stand_still_do_not_count(leader, given):
    text = two_joint_arm(
        *(link(name) for name in ("l0", "l1", "l2", "l3")),
        joint("crank", "upper", "l0"),
        joint("still", "upper", "l1", extra=mimic("crank", 0.0)),
        joint("a", "upper", "l2", extra=mimic(leader, 1e5)),
        joint("b", "upper", "l3", extra=mimic("a", 1e5)),
    )
    assert load_urdf(text, tip="fore", **given).joint_names == ("shoulder", "elbow")


@quiet
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_joints_are_held_at_one(kind):
    text = two_joint_arm(link("hand"), joint("wrist", "fore", "hand", kind, xyz="0 0 0", axis="0 0.6 0.8"))
    free, held = load_urdf(text, tip="hand"), load_urdf(text, tip="hand", locked_joints={"wrist": 1.0})
    np.testing.assert_allclose(
        held.forward_kinematics(np.array([0.2, 0.3])),
        free.forward_kinematics(np.array([0.2, 0.3, 1.0])),
        atol=1e-15,
    )


@pytest.mark.parametrize(("far", "told"), [("0 -60 80", False), ("0 -60 80.1", True)])
def test_joints_beyond_a_hundred_metres_are_told(far, told):
    text = two_joint_arm(link("hand"), joint("wrist", "fore", "hand", xyz=far))
    expected = "joint 'wrist' is 100 m from the joint before: was the description meant in millimetres?"
    assert load(text).warnings == ((expected,) if told else ())


def test_the_joint_farthest_from_the_one_before_is_told():
    far = joint("wrist", "fore", "hand", xyz="0 0 150"), joint("last", "hand", "end", xyz="240 0 320")
    chain = load(two_joint_arm(link("hand"), link("end"), *far, link("x"), joint("y", "end", "x")))
    assert chain.warnings == (
        "joint 'last' is 400 m from the joint before: was the description meant in millimetres?",
    )


def test_links_without_mass_are_told_where_they_could_move():
    text = two_joint_arm(
        link("frame", ""), joint("bolt", "upper", "frame", "fixed"),
        link("nail", MASSLESS), joint("pin", "frame", "nail", "fixed"),
        link("finger", ""), joint("grip", "frame", "finger"),
        link("thumb", MASSLESS), joint("pinch", "frame", "thumb", "prismatic"),
        link("hand", ""), joint("wrist", "fore", "hand"),
        link("end", MASSLESS), joint("last", "hand", "end"),
    )  # fmt: skip
    chain = load(text, tip="end")
    assert chain.warnings == (
        "links without <inertial>, taken as massless: finger, hand",
        "links of zero mass: thumb, end",
        "link 'end', the last that moves, has no mass: the mass matrix is singular, so forward dynamics and"
        " simulation are impossible",
    )
    # Beside a link with mass, none of it is singular.
    other = load(text, tips=["hand", "fore"])
    assert other.warnings[-1].startswith("link 'hand', the last that moves, has no mass")
    heavy = load(text.replace(link("end", MASSLESS), link("end")), tip="end")
    assert len(heavy.warnings) == 2


def test_zero_limits_of_joints_beside_the_chain_are_not_told():
    nothing = LIMIT.replace('"10"', '"0"')
    text = two_joint_arm(
        link("gear"), joint("crank", "upper", "gear", limit=nothing),
        link("hand"), joint("wrist", "fore", "hand", limit=nothing),
        link("end"), joint("last", "hand", "end", limit=nothing.replace('"3"', '"0"')),
    )  # fmt: skip
    assert load(text, tip="end").warnings == (
        "limits of 0 are taken as not given, so there is none: effort of wrist, last; velocity of last",
    )
    assert load(text, tip="fore").warnings == ()


@quiet
def test_side_branches_of_all_kinds_are_lumped_where_they_rest():
    """A turned arm with a slider at its limit, whose bodies are added up as point masses would be."""
    text = two_joint_arm(
        link("swing"), joint("pan", "fore", "swing", xyz="0.1 0.2 0.3", rpy="0.3 0 0", axis="0 1 0",
                             limit=LIMIT.replace('"-2"', '"0.4"')),
        link("block"), joint("slide", "swing", "block", "prismatic", xyz="0 0 0.2", axis="0.6 0 0.8",
                             limit=LIMIT.replace('"2"', '"-0.5"')),
    )  # fmt: skip
    chain = load(text, tip="fore")
    places = [np.eye(4)]
    places.append(place((0.1, 0.2, 0.3), (0.3, 0, 0)) @ place(rpy=(0, 0.4, 0)))
    places.append(places[1] @ place((0, 0, 0.2)) @ place((-0.3, 0, -0.4)))
    centers = np.array([(place @ [0.1, 0, 0, 1])[:3] for place in places])
    body = chain.joints[1].body
    assert body.mass == 6.0
    np.testing.assert_allclose(body.center_of_mass, centers.mean(axis=0), atol=1e-14)
    expected = sum(place[:3, :3] @ np.diag([0.02, 0.03, 0.04]) @ place[:3, :3].T for place in places)
    for r in centers - centers.mean(axis=0):
        expected = expected + 2.0 * (r @ r * np.eye(3) - np.outer(r, r))
    np.testing.assert_allclose(body.inertia, expected, atol=1e-14)
    # None of them is a frame of the chain, as nobody said where they are.
    assert chain.frames == ()
    held = load(text, tip="fore", locked_joints={"pan": 0.7, "slide": -1.0})
    assert [(f.name, f.link, f.parent) for f in held.frames] == [
        ("swing", "fore", "fore"), ("block", "fore", "swing")
    ]  # fmt: skip
    swing = place((0.1, 0.2, 0.3), (0.3, 0, 0)) @ place(rpy=(0, 0.7, 0))
    np.testing.assert_allclose(held.frames[0].pose, swing, atol=1e-14)
    np.testing.assert_allclose(
        held.frames[1].pose, swing @ place((0, 0, 0.2)) @ place((-0.6, 0, -0.8)), atol=1e-14
    )


@quiet
def test_a_joint_takes_everything_from_its_description():
    extra = '<dynamics damping="0.7" friction="0.2"/>'
    text = two_joint_arm(
        link("hand"),
        joint("wrist", "fore", "hand", "prismatic", "1 2 3", "0.3 0 0", "0 3 4", extra=extra),
    )
    wrist = load(text).joints[2]
    assert (wrist.name, wrist.link, wrist.kind, wrist.coordinate) == ("wrist", "hand", JointKind.PRISMATIC, 2)
    assert (wrist.damping, wrist.friction, wrist.multiplier, wrist.offset) == (0.7, 0.2, 1.0, 0.0)
    np.testing.assert_allclose(wrist.origin, place((1, 2, 3), (0.3, 0, 0)), atol=1e-15)
    np.testing.assert_allclose(wrist.axis, [0, 0.6, 0.8], atol=1e-15)
    assert (wrist.limits.lower, wrist.limits.effort) == (-2.0, 10.0)


@quiet
def test_a_tree_takes_its_joints_in_the_order_of_the_description():
    text = two_joint_arm(
        link("hand"), joint("wrist", "fore", "hand"), link("eye"), joint("pan", "upper", "eye")
    )
    tree = load(text, tips=["eye", "fore"])
    assert [joint.name for joint in tree.joints] == ["shoulder", "elbow", "pan"]
    assert (tree.parents, tree.tip, tree.tip_joint) == ((-1, 0, 0), "eye", 2)
    assert [(tip.link, tip.joint) for tip in tree.other_tips] == [("fore", 1)]
    # A serial chain needs no parents; one whose inner link is the other tip does.
    serial = load(text, tip="hand")
    assert (serial.parents, serial.tip_joint, serial.other_tips) == ((), -1, ())
    inner = load(text, tips=["hand", "fore"])
    assert (inner.parents, inner.tip_joint, inner.other_tips[0].joint) == ((-1, 0, 1), 2, 1)
    # A tip is a name alone, or all of them.
    assert load(text, tips="hand").tip == "hand"
    assert [tip.link for tip in load(text, tips="all").tips] == ["hand", "eye"]
    # One branch of two that part at the root is serial as well.
    roots = robot(link("g", ""), link("a"), link("b"), joint("x", "g", "a"), joint("y", "g", "b"))
    assert load(roots, tips=["a", "b"]).parents == (-1, -1)


def test_chains_without_measured_joints_are_whole():
    for none in (None, (), []):
        chain = load(TWO_ARMS, tip="left_hand", measured_joints=none)
        assert chain.whole is None and chain.measured_joints == ()


@pytest.mark.parametrize("given", ["all", ["right_shoulder", "right_elbow"]])
def test_joints_of_the_other_arm_are_measured(given):
    chain = load(TWO_ARMS, tip="left_hand", measured_joints=given)
    assert chain.joint_names == ("waist", "left_shoulder", "left_elbow")
    assert chain.measured_joints == ("right_shoulder", "right_elbow")
    assert [tip.link for tip in chain.tips] == [tip.link for tip in chain.whole.tips] == ["left_hand"]
    assert chain.whole.joint_names == tuple(JOINTS)
    assert chain.whole.parents == (-1, 0, 1, 0, 3) and chain.whole.tip_joint == 2
    # In the chain itself they are at rest: the torso carries them.
    assert chain.joints[0].body.mass == pytest.approx(6.0 + 2.0 + 1.0)


def test_a_measured_joint_on_the_way_is_no_joint_of_the_chain():
    chain = load(TWO_ARMS, tip="left_hand", measured_joints="waist")
    assert chain.joint_names == ("left_shoulder", "left_elbow") and chain.measured_joints == ("waist",)
    assert chain.whole.joint_names == ("waist", "left_shoulder", "left_elbow")
    assert chain.whole.parents == (-1, 0, 1) and chain.whole.tip_joint == 2
    q = np.array([0.3, -0.7])
    np.testing.assert_allclose(
        chain.forward_kinematics(q), load(TWO_ARMS, tip="left_hand").forward_kinematics([0.0, *q]), atol=1e-15
    )


def test_both_tips_and_the_measured_joints_between_them():
    chain = load(TWO_ARMS, tips="all", measured_joints=["waist", "left_elbow"])
    assert chain.joint_names == ("left_shoulder", "right_shoulder", "right_elbow")
    assert chain.measured_joints == ("waist", "left_elbow")
    assert [tip.link for tip in chain.whole.tips] == ["left_hand", "right_hand"]
    assert [tip.joint for tip in chain.whole.tips] == [2, 4]
    assert [tip.joint for tip in chain.tips] == [0, 2]


def test_measured_joints_that_act_on_nothing_are_left_out_and_told():
    told = "measured joints that act on no joint of the chain are left out: right_shoulder, right_elbow"
    alone = load(TWO_ARMS, "torso", "left_hand", measured_joints=["right_shoulder", "right_elbow"])
    assert alone.whole is None and alone.warnings == (told,)
    # Where all were asked for, nobody named them.
    every = load(TWO_ARMS, "torso", "left_hand", measured_joints="all")
    assert every.whole is None and every.warnings == ()
    partly = load(
        TWO_ARMS, "torso", "left_hand", measured_joints=["left_shoulder", "right_shoulder", "right_elbow"]
    )
    assert partly.measured_joints == ("left_shoulder",) and partly.warnings == (told,)


@quiet
def test_a_measured_joint_acts_through_its_followers():
    """The crank hangs on the ground; the joint that follows it is carried by the arm, or carries it."""
    crank = (link("wheel"), joint("crank", "ground", "wheel", limit=LIMIT.replace('"-2"', '"0.5"')))
    beside = (link("gear"), joint("idler", "fore", "gear", extra=mimic("crank", 2.0, 0.1)))
    chain = load(two_joint_arm(*crank, *beside), tip="fore", measured_joints="crank")
    assert chain.measured_joints == ("crank",) and chain.joint_names == ("shoulder", "elbow")
    assert [joint.name for joint in chain.whole.joints] == ["shoulder", "elbow", "idler", "crank"]
    idler = chain.whole.joints[2]
    assert (idler.multiplier, idler.offset) == (2.0, 0.1)
    # At rest the crank is at its limit, and the gear where it follows it.
    alone = load(two_joint_arm(*crank, *beside), tip="fore", locked_joints={"crank": 0.5})
    np.testing.assert_array_equal(chain.joints[1].body.inertia, alone.joints[1].body.inertia)
    still = load(
        two_joint_arm(*crank, *beside), tip="fore", measured_joints="crank", locked_joints={"idler": 0.3}
    )
    assert [joint.name for joint in still.whole.joints] == ["shoulder", "elbow", "crank"]
