"""Parameters that choose a chain, and what reaches the caller of ``load_urdf``."""

import warnings

import numpy as np
import pytest
from descriptions import joint, link, two_joint_arm
from two_arms import JOINTS, TWO_ARMS

from robot_dynamics.errors import ModelWarning, ParameterError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.chain_parameters import ChainParameters, MeasuredParameters
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.lumping import MASSLESS, lumped_body, moved_body
from robot_dynamics.parameters import describe


def test_defaults_and_what_cannot_change_while_a_node_runs():
    chosen = ChainParameters()
    assert (chosen.root, chosen.tip, chosen.tips) == ("", "", ())
    assert (chosen.locked, chosen.ends, MeasuredParameters().joints) == ({}, None, ())
    for cls in (ChainParameters, MeasuredParameters):
        assert all(description.read_only for description in describe(cls))


def test_a_chain_is_loaded_as_chosen():
    chain = ChainParameters(root="torso", tip="left_hand").load(TWO_ARMS)
    assert (chain.root, chain.tip, chain.joint_names) == ("torso", "left_hand", tuple(JOINTS[1:3]))
    whole = ChainParameters(tips=("all",)).load(TWO_ARMS)
    assert whole.joint_names == tuple(JOINTS)
    tree = ChainParameters(tips=("right_hand", "left_upper")).load(TWO_ARMS)
    assert [tip.link for tip in tree.tips] == ["right_hand", "left_upper"]
    locked = ChainParameters(
        tips=("all",), locked_joints=("waist", "left_elbow"), locked_positions=(0.1, -0.2)
    )
    assert locked.locked == {"waist": 0.1, "left_elbow": -0.2}
    assert locked.load(TWO_ARMS).joint_names == ("left_shoulder", "right_shoulder", "right_elbow")


@pytest.mark.parametrize(
    ("given", "joints"),
    [(("all",), "all"), (("waist", "left_elbow"), ("waist", "left_elbow")), (("all", "x"), ("all", "x"))],
)
def test_measured_joints_are_named_or_all(given, joints):
    assert MeasuredParameters(measured_joints=given, measured_reference="/r").joints == joints
    assert ChainParameters(tips=("all", "x")).ends == ("all", "x")


def test_measured_joints_are_loaded_beside_the_chain():
    measured = MeasuredParameters(measured_joints=("waist",))
    chain = ChainParameters(tip="left_hand").load(TWO_ARMS, measured)
    assert chain.measured_joints == ("waist",)
    assert ChainParameters(tip="left_hand").load(TWO_ARMS, MeasuredParameters()).whole is None
    assert ChainParameters(tip="left_hand").load(TWO_ARMS).whole is None


@pytest.mark.parametrize(
    ("cls", "given", "said"),
    [
        (
            ChainParameters, {"tip": "a", "tips": ["b", "c"]},
            "parameter 'tip' is 'a' and 'tips' is ['b', 'c']; give one of them",
        ),
        (
            ChainParameters, {"locked_joints": ("a", "b"), "locked_positions": (0.1,)},
            "parameter 'locked_positions' has 1 values for 2 'locked_joints'",
        ),
        (
            ChainParameters, {"locked_joints": ("a", "a"), "locked_positions": (0.1, 0.2)},
            "parameter 'locked_joints' names a joint twice",
        ),
        (
            MeasuredParameters, {"measured_reference": "/left"},
            "parameter 'measured_reference' is '/left', but 'measured_joints' is empty; name the joints",
        ),
    ],
)  # fmt: skip
def test_parameters_that_contradict_each_other_are_refused(cls, given, said):
    with pytest.raises(ParameterError) as refused:
        cls(**given)
    assert str(refused.value) == said


def test_warnings_point_at_the_caller():
    text = two_joint_arm(link("hand"), joint("wrist", "fore", "hand", xyz="0 0 425"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chain = load_urdf(text)
    assert [str(one.message) for one in caught] == list(chain.warnings) and len(caught) == 1
    assert caught[0].filename == __file__ and issubclass(caught[0].category, ModelWarning)


class Name(str):
    """A text of another class, as some libraries hand out."""


def test_texts_of_other_classes_are_names_as_well():
    chain = load_urdf(TWO_ARMS, Name("torso"), np.str_("left_hand"))
    assert (chain.root, chain.tip) == ("torso", "left_hand")
    assert (type(chain.root), type(chain.tip)) == (str, str)


def body(mass, center, *moments):
    return RigidBody(mass, np.array(center), np.diag(np.array(moments, dtype=float)))


def test_bodies_without_mass_add_their_inertia_alone():
    rotors = lumped_body([body(0.0, (1, 2, 3), 1, 2, 3), body(0.0, (-1, 5, 0), 0.5, 0.25, 0.125)])
    assert rotors.mass == 0.0 and not rotors.center_of_mass.any()
    assert np.array_equal(rotors.inertia, np.diag([1.5, 2.25, 3.125]))
    heavy = lumped_body([MASSLESS, body(0.5, (1.0, -2.0, 0.5), 1, 2, 3)])
    assert heavy.mass == 0.5 and heavy.center_of_mass.tolist() == [1.0, -2.0, 0.5]
    assert np.array_equal(heavy.inertia, np.diag([1.0, 2.0, 3.0]))
    assert not MASSLESS.center_of_mass.any() and not MASSLESS.inertia.any() and MASSLESS.mass == 0.0


def test_two_balls_are_a_dumbbell():
    pair = lumped_body([body(1.0, (0.0, 0.0, 0.0), 0.1, 0.1, 0.1), body(3.0, (0.0, 4.0, 0.0), 0.2, 0.2, 0.2)])
    assert pair.mass == 4.0 and pair.center_of_mass.tolist() == [0.0, 3.0, 0.0]
    np.testing.assert_allclose(pair.inertia, np.diag([12.3, 0.3, 12.3]), atol=1e-14)
    turn = np.array([[0.0, -1.0, 0.0, 5.0], [1.0, 0.0, 0.0, 6.0], [0.0, 0.0, 1.0, 7.0], [0.0, 0.0, 0.0, 1.0]])
    moved = moved_body(pair, turn)
    assert moved.mass == 4.0 and moved.center_of_mass.tolist() == [2.0, 6.0, 7.0]
    np.testing.assert_allclose(moved.inertia, np.diag([0.3, 12.3, 12.3]), atol=1e-14)
