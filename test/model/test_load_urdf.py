"""Links and joints that make the chain, and its motion."""

import warnings

import numpy as np
import pytest
from descriptions import LIMIT, MASSLESS, POINT, inertial, joint, limited, link, robot, two_joint_arm

from robot_dynamics.errors import ModelError, ModelWarning, RobotDynamicsError, StateError
from robot_dynamics.model.chain import JointKind
from robot_dynamics.model.load import load_urdf
from robot_dynamics.spatial import pose, rotation_about

quiet = pytest.mark.filterwarnings("ignore::robot_dynamics.errors.ModelWarning")


def fingers(multiplier: float = 1.0) -> tuple[str, ...]:
    """A palm with a finger and a second one that mimics it."""
    follow = f'<mimic joint="finger" multiplier="{multiplier}" offset="0.01"/>'
    opening = LIMIT.replace('"-2"', '"0.02"')
    return (
        link("palm"),
        joint("wrist", "fore", "palm", "fixed"),
        link("finger_link"),
        joint("finger", "palm", "finger_link", "prismatic", xyz="0 0.1 0", axis="0 1 0", limit=opening),
        link("thumb_link"),
        joint("thumb", "palm", "thumb_link", "prismatic", xyz="0 -0.1 0", axis="0 -1 0", extra=follow),
    )


def test_the_public_names_load_the_same_objects():
    import robot_dynamics as rd

    assert rd.load_urdf is load_urdf
    assert issubclass(ModelError, rd.RobotDynamicsError)
    assert rd.RobotDynamicsError is RobotDynamicsError


def test_only_leaf_is_the_tip_and_planar_arm_moves_as_in_closed_form():
    chain = load_urdf(
        robot(
            link("ground", ""),
            link("a"),
            link("b"),
            link("end"),
            joint("one", "ground", "a", xyz="0 0 0"),
            joint("two", "a", "b", xyz="0.5 0 0"),
            joint("flange", "b", "end", "fixed", xyz="0.4 0 0"),
        )
    )
    assert (chain.root, chain.tip, chain.joint_names) == ("ground", "end", ("one", "two"))
    for first, second in np.random.default_rng(1).uniform(-np.pi, np.pi, (20, 2)):
        tip = chain.forward_kinematics(np.array([first, second]))
        assert np.allclose(tip[0, 3], 0.5 * np.cos(first) + 0.4 * np.cos(first + second), atol=1e-14)
        assert np.allclose(tip[1, 3], 0.5 * np.sin(first) + 0.4 * np.sin(first + second), atol=1e-14)
        assert np.allclose(np.arctan2(tip[1, 0], tip[0, 0]), np.angle(np.exp(1j * (first + second))))


def test_root_and_tip_choose_part_of_the_tree():
    chain = load_urdf(two_joint_arm(*fingers()), root="upper", tip="palm")
    assert (chain.root, chain.tip, chain.joint_names) == ("upper", "palm", ("elbow",))
    assert np.allclose(chain.forward_kinematics(np.zeros(1))[:3, 3], [0, 0, 0.6])


@pytest.mark.parametrize(
    ("root", "tip", "message"),
    [
        ("attic", None, "root link 'attic'.*ground, upper, fore"),
        (None, "cellar", "tip link 'cellar'.*ground, upper, fore"),
        ("fore", "upper", "'upper' does not hang below link 'fore'"),
        ("fore", "fore", "no moving joint between 'fore' and 'fore'"),
        ("fore", None, "no moving joint below link 'fore'"),
    ],
)
def test_impossible_ends_are_refused(root, tip, message):
    with pytest.raises(ModelError, match=message):
        load_urdf(two_joint_arm(), root=root, tip=tip)


def test_default_tip_of_an_arm_with_a_hand_is_the_palm():
    chain = load_urdf(two_joint_arm(*fingers()))
    assert (chain.tip, chain.joint_names) == ("palm", ("shoulder", "elbow"))


@quiet
def test_default_tip_of_an_arm_with_two_tool_frames_is_where_they_part():
    frames = (link("flange", ""), joint("to_flange", "fore", "flange", "fixed"))
    more = (link("tool", ""), joint("to_tool", "fore", "tool", "fixed"))
    assert load_urdf(two_joint_arm(*frames)).tip == "flange"
    assert load_urdf(two_joint_arm(*frames, *more)).tip == "fore"


def test_default_tip_of_the_deepest_branch():
    camera = (link("camera"), joint("pan", "upper", "camera"))
    more = (link("hand"), joint("wrist", "fore", "hand"))
    assert load_urdf(two_joint_arm(*camera, *more)).joint_names == ("shoulder", "elbow", "wrist")


def test_two_arms_have_no_default_tip():
    other = (link("left"), joint("left_shoulder", "ground", "left"))
    more = (link("left_fore"), joint("left_elbow", "left", "left_fore"))
    with pytest.raises(ModelError, match=r"name the tip link.*fore, left_fore"):
        load_urdf(two_joint_arm(*other, *more))


@quiet
@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_free_joint_in_the_chain_is_an_error_that_names_it(kind):
    description = two_joint_arm(link("drone"), joint("tether", "fore", "drone", kind))
    with pytest.raises(ModelError, match=f"'tether' is {kind}"):
        load_urdf(description, tip="drone")
    with pytest.raises(ModelError, match=f"'tether' is {kind}"):
        load_urdf(description, tip="fore")
    chain = load_urdf(description, tip="fore", locked_joints={"tether": 0.0})
    assert chain.joints[-1].body.mass == 4.0
    with pytest.raises(ModelError, match=r"'tether'.*locked at 0 only"):
        load_urdf(description, locked_joints={"tether": 1.0})


@quiet
def test_free_joint_above_the_root_does_not_matter():
    description = two_joint_arm().replace(
        "</robot>", link("world", "") + joint("float", "world", "ground", "floating") + "</robot>"
    )
    assert load_urdf(description, root="ground").joint_names == ("shoulder", "elbow")


def test_continuous_prismatic_and_fixed_joints():
    chain = load_urdf(
        robot(
            link("ground", ""),
            link("turntable"),
            link("plate"),
            link("slide"),
            joint("turn", "ground", "turntable", "continuous", limit='<limit effort="5" velocity="1"/>'),
            joint("weld", "turntable", "plate", "fixed", xyz="1 0 0", rpy="0 0 1.5707963267948966"),
            joint("push", "plate", "slide", "prismatic", xyz="0 0 0", axis="2 0 0"),
        )
    )
    turn, push = chain.joints
    assert (turn.kind, push.kind) == (JointKind.REVOLUTE, JointKind.PRISMATIC)
    assert (turn.limits.lower, turn.limits.upper, turn.limits.effort) == (-np.inf, np.inf, 5.0)
    assert np.allclose(chain.forward_kinematics(np.array([0.0, 0.25]))[:3, 3], [1, 0.25, 0.3])
    assert np.allclose(chain.forward_kinematics(np.array([np.pi, 0.25]))[:3, 3], [-1, -0.25, 0.3])


def test_joint_without_an_axis_turns_about_x():
    chain = load_urdf(robot(link("a", ""), link("b"), joint("j", "a", "b", axis=None)))
    assert np.allclose(chain.forward_kinematics(np.array([np.pi / 2]))[:3, 1], [0, 0, 1])


def test_locked_joint_inside_the_chain_becomes_fixed():
    free, locked = load_urdf(two_joint_arm()), load_urdf(two_joint_arm(), locked_joints={"shoulder": 0.7})
    assert locked.joint_names == ("elbow",)
    for value in (-1.0, 0.4):
        expected = free.forward_kinematics(np.array([0.7, value]))
        assert np.allclose(locked.forward_kinematics(np.array([value])), expected, atol=1e-15)
    tail = load_urdf(two_joint_arm(), locked_joints={"elbow": 0.7})
    assert tail.joints[-1].body.mass == 4.0
    expected = free.forward_kinematics(np.array([0.2, 0.7]))
    assert np.allclose(tail.forward_kinematics(np.array([0.2])), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("locked", "message"),
    [
        ({"knee": 0.0}, "'knee' does not exist; the moving joints are: shoulder, elbow"),
        ({"elbow": 2.5}, "'elbow'.*2.5 is outside its limits, -2 to 2"),
        ({"elbow": float("nan")}, "'elbow'.*nan"),
        ({"elbow": float("inf")}, "'elbow'.*inf"),
        ({"elbow": "half"}, "'elbow'.*'half'"),
        ({"elbow": None}, "'elbow'.*None"),
    ],
)
def test_impossible_locks_are_refused(locked, message):
    with pytest.raises(ModelError, match=message):
        load_urdf(two_joint_arm(), locked_joints=locked)


def test_side_branch_rests_at_the_nearest_position_that_its_limits_allow():
    """The finger cannot be at 0, so it is at 0.02, and the thumb follows it: 2 * 0.02 + 0.01."""
    body = load_urdf(two_joint_arm(*fingers(multiplier=2.0))).joints[-1].body
    assert body.mass == 8.0
    # Fore, palm, finger and thumb, 2 kg each, with their centres 0.1 m along their x axes.
    positions = np.array([[0.1, 0, 0], [0.1, 0, 0.3], [0.1, 0.1 + 0.02, 0.3], [0.1, -0.1 - 0.05, 0.3]])
    assert np.allclose(body.center_of_mass, positions.mean(axis=0), atol=1e-15)
    spread = positions - positions.mean(axis=0)
    steiner = sum(2.0 * (r @ r * np.eye(3) - np.outer(r, r)) for r in spread)
    assert np.allclose(body.inertia, 4 * np.diag([0.02, 0.03, 0.04]) + steiner, atol=1e-15)


def test_side_branch_is_lumped_where_it_is_locked():
    body = load_urdf(two_joint_arm(*fingers()), locked_joints={"finger": 0.5}).joints[-1].body
    y = np.mean([0.0, 0.0, 0.1 + 0.5, -0.1 - 0.51])
    assert np.allclose(body.center_of_mass, [0.1, y, 0.225], atol=1e-15)
    apart = load_urdf(two_joint_arm(*fingers()), locked_joints={"finger": 0.5, "thumb": -1.0})
    y = np.mean([0.0, 0.0, 0.1 + 0.5, -0.1 + 1.0])
    assert np.allclose(apart.joints[-1].body.center_of_mass, [0.1, y, 0.225], atol=1e-15)


def test_what_hangs_on_the_root_is_ground():
    bare = load_urdf(two_joint_arm())
    furnished = load_urdf(
        two_joint_arm(
            link("table"), joint("t", "ground", "table", "fixed"), link("lamp"), joint("l", "table", "lamp")
        ),
        tip="fore",
    )
    for one, other in zip(bare.joints, furnished.joints, strict=True):
        assert one.body.mass == other.body.mass
        assert np.array_equal(one.body.inertia, other.body.inertia)


def test_side_joint_that_mimics_a_chain_joint_is_an_error_that_names_both():
    follower = (link("gear"), joint("idler", "upper", "gear", extra='<mimic joint="elbow"/>'))
    with pytest.raises(ModelError, match=r"'idler' mimics 'elbow'.*lock"):
        load_urdf(two_joint_arm(*follower), tip="fore")
    assert load_urdf(two_joint_arm(*follower), tip="fore", locked_joints={"idler": 0.3}).dof == 2
    assert load_urdf(two_joint_arm(*follower), tip="fore", locked_joints={"elbow": 0.3}).dof == 1


def test_chain_joint_that_mimics_a_side_joint_is_an_error_that_names_both():
    with pytest.raises(ModelError, match=r"'thumb'.*'finger'.*lock"):
        load_urdf(two_joint_arm(*fingers()), tip="thumb_link")
    chain = load_urdf(two_joint_arm(*fingers()), tip="thumb_link", locked_joints={"finger": 0.5})
    assert chain.joint_names == ("shoulder", "elbow")
    assert np.allclose(chain.forward_kinematics(np.zeros(2))[:3, 3], [0, -0.1 - 0.51, 0.9])


def parallelogram(order: str = "master first") -> str:
    """Three joints about y; c follows b, which follows a: q_c = -2 (0.5 a + 0.1) + 0.3 = -a + 0.1."""
    masters = {"b": '<mimic joint="a" multiplier="0.5" offset="0.1"/>'}
    masters["c"] = '<mimic joint="b" multiplier="-2" offset="0.3"/>'
    names = "abc" if order == "master first" else "cba"
    links = [link("ground", ""), *(link(f"link_{name}") for name in names)]
    carriers = ["ground", *(f"link_{name}" for name in names)]
    joints = [
        joint(name, parent, f"link_{name}", xyz="0.2 0 0", axis="0 1 0", extra=masters.get(name, ""))
        for name, parent in zip(names, carriers, strict=False)
    ]
    return robot(*links, *joints)


@pytest.mark.parametrize("order", ["master first", "master last"])
def test_mimic_of_a_mimic_inside_the_chain(order):
    chain = load_urdf(parallelogram(order))
    assert (chain.dof, chain.joint_names, len(chain.joints)) == (1, ("a",), 3)
    values = dict(zip((j.name for j in chain.joints), chain.joint_values(np.array([0.4])), strict=True))
    assert values == pytest.approx({"a": 0.4, "b": 0.3, "c": -0.3})
    by_name = {j.name: (j.multiplier, j.offset) for j in chain.joints}
    assert by_name["c"] == pytest.approx((-1.0, 0.1))
    tip = chain.forward_kinematics(np.array([0.4]))
    assert np.arctan2(tip[0, 2], tip[0, 0]) == pytest.approx(0.4)


def test_locking_the_master_locks_its_mimics():
    description = two_joint_arm(
        link("hand"),
        joint("wrist", "fore", "hand", axis="0 1 0", extra='<mimic joint="elbow" multiplier="-1"/>'),
    )
    chain = load_urdf(description, locked_joints={"elbow": 0.6})
    assert chain.joint_names == ("shoulder",)
    assert np.allclose(chain.forward_kinematics(np.zeros(1))[:3, :3], np.eye(3))


def test_missing_inertial_warns_by_name():
    description = two_joint_arm(link("finger", ""), joint("slide", "fore", "finger", "prismatic"))
    with pytest.warns(ModelWarning, match="without <inertial>.*: finger$"):
        chain = load_urdf(description, tip="fore")
    assert chain.warnings == ("links without <inertial>, taken as massless: finger",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_urdf(two_joint_arm()).warnings == ()  # the ground needs no mass
        frame = two_joint_arm(link("frame", ""), joint("mount", "fore", "frame", "fixed"))
        assert load_urdf(frame).warnings == ()


def test_fixed_and_locked_links_are_frames_of_the_chain():
    description = two_joint_arm(
        link("plate"), joint("bolt", "upper", "plate", "fixed", xyz="0 0.1 0"),
        link("sensor"), joint("pan", "plate", "sensor", xyz="0 0 0.2"),
        link("finger"), joint("grip", "fore", "finger"),
    )  # fmt: skip
    chain = load_urdf(description, tip="fore", locked_joints={"pan": np.pi / 2})
    assert [(frame.name, frame.link, frame.parent) for frame in chain.frames] == [
        ("plate", "upper", "upper"),
        ("sensor", "upper", "plate"),
    ]
    assert np.allclose(chain.frames[1].pose, pose(rotation_about([0, 0, 1], np.pi / 2), [0, 0.1, 0.2]))
    assert chain.frames_behind_tips() == {}


@quiet
@pytest.mark.parametrize(
    ("mass", "moments", "message"),
    [
        ("1", ("1", "1", "3"), "link 'hand': no rigid body.*triangle"),
        ("1", ("0", "0", "0"), "link 'hand': the inertia is not positive definite"),
        ("0", ("0", "0", "0"), "zero mass: hand"),
        ("0", ("1", "1", "1"), "link 'hand': it has an inertia but no mass"),
    ],
    ids=["triangle inequality", "point mass", "zero mass", "rotor"],
)
def test_doubtful_mass_properties_warn_by_name(mass, moments, message):
    body = inertial(mass, **dict(zip(("ixx", "iyy", "izz"), moments, strict=True)))
    description = two_joint_arm(link("hand", body), joint("mount", "fore", "hand"))
    with pytest.warns(ModelWarning, match=message):
        load_urdf(description, tip="fore")


def test_a_point_mass_on_a_fixed_joint_is_no_warning():
    """It is part of the link that carries it, whose centre of mass it moves."""
    point = inertial("2", **POINT)
    bolted = joint("bolt", "fore", "sensor", "fixed", xyz="0 0 0.3")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = load_urdf(two_joint_arm(), tip="fore").joints[-1].body
        body = load_urdf(two_joint_arm(link("sensor", point), bolted), tip="fore").joints[-1].body
    assert body.mass == pytest.approx(plain.mass + 2.0)
    first_moment = plain.mass * plain.center_of_mass + [0.0, 0.0, 0.6]
    np.testing.assert_allclose(body.mass * body.center_of_mass, first_moment, atol=1e-12)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("", "joint 'elbow': .*needs <limit>"),
        (LIMIT.replace('"10"', '"0"'), "limits of 0 are taken as not given.*: effort of elbow"),
        ('<limit effort="1" velocity="1"/>', "joint 'elbow': lower and upper limit are both 0"),
    ],
    ids=["none", "no effort", "no range"],
)
def test_doubtful_limits_warn_by_name(limit, message):
    description = two_joint_arm().replace(joint("elbow", "upper", "fore", axis="0 1 0"), "")
    faulty = joint("elbow", "upper", "fore", axis="0 1 0", limit=limit)
    with pytest.warns(ModelWarning, match=message):
        load_urdf(description.replace("</robot>", faulty + "</robot>"))


@pytest.mark.parametrize("zero", ["0", "0.0", "-0", "0e5"])
def test_effort_and_velocity_limits_of_zero_are_not_given(zero):
    nothing = limited(-2, 2, zero, zero)
    half = limited(-2, 2, 10, zero)
    description = robot(
        *(link(name) for name in ("ground", "upper", "fore", "hand")),
        joint("shoulder", "ground", "upper", limit=nothing),
        joint("elbow", "upper", "fore", axis="0 1 0", limit=half),
        joint("wrist", "fore", "hand", limit=nothing),
    )
    with pytest.warns(ModelWarning) as caught:
        chain = load_urdf(description)
    about_limits = [str(warning.message) for warning in caught if "limit" in str(warning.message)]
    assert about_limits == [
        "limits of 0 are taken as not given, so there is none:"
        " effort of shoulder, wrist; velocity of shoulder, elbow, wrist"
    ]
    assert [joint.limits.effort for joint in chain.joints] == [np.inf, 10.0, np.inf]
    assert [joint.limits.velocity for joint in chain.joints] == [np.inf] * 3
    assert [(joint.limits.lower, joint.limits.upper) for joint in chain.joints] == [(-2.0, 2.0)] * 3


def test_a_range_from_zero_to_zero_keeps_its_meaning():
    blocked = limited(0, 0, 0, 0)
    description = two_joint_arm().replace(LIMIT, blocked, 1)
    with (
        pytest.warns(ModelWarning, match="joint 'shoulder': lower and upper limit are both 0"),
        pytest.warns(ModelWarning, match="limits of 0"),
    ):
        chain = load_urdf(description)
    assert (chain.joints[0].limits.lower, chain.joints[0].limits.upper) == (0.0, 0.0)


def test_warnings_of_other_branches_are_not_repeated():
    odd = link("lamp", MASSLESS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_urdf(two_joint_arm(odd, joint("switch", "ground", "lamp", "fixed")), tip="fore")


@pytest.mark.parametrize("q", [np.zeros(1), np.zeros(3), np.zeros((2, 1)), 0.0])
def test_joint_values_of_a_wrong_shape_are_refused(q):
    with pytest.raises(StateError, match="shoulder, elbow"):
        load_urdf(two_joint_arm()).forward_kinematics(q)
