"""Base and tool of Denavit-Hartenberg tables lie as near to root and tip as the axes allow."""

import numpy as np
import pytest
from made_chains import P, R, chain_of, link_poses, moving, place

from robot_dynamics.errors import ConversionError, ModelError, ParameterError
from robot_dynamics.model import dh
from robot_dynamics.model.chain import KinematicChain, Tip
from robot_dynamics.model.dh import dh_parameters, dh_tables
from robot_dynamics.model.frames import frame_along


def random_chain(seed, count=4):
    draw = np.random.default_rng(seed)
    axes = draw.normal(size=(count, 3))
    joints = [
        moving(
            k,
            draw.uniform(-0.5, 0.5, 3),
            draw.uniform(-3, 3, 3),
            P if draw.random() < 0.3 else R,
            axes[k] / np.linalg.norm(axes[k]),
            offset=draw.uniform(-0.5, 0.5),
        )
        for k in range(count)
    ]
    return chain_of(*joints, tips=[place(draw.uniform(-0.5, 0.5, 3), draw.uniform(-3, 3, 3))])


def assert_near_root(chain, base):
    origin = chain.joints[0].origin
    z, p = origin[:3, :3] @ chain.joints[0].axis, origin[:3, 3]
    np.testing.assert_allclose(base[:3, 3], p - (p @ z) * z, atol=1e-13)
    np.testing.assert_allclose(base[:3, :3], frame_along(z), atol=1e-13)


CHAINS = [random_chain(seed, count) for seed, count in enumerate((1, 1, 2, 3, 4, 5))]


@pytest.mark.parametrize("chain", CHAINS, ids=range(len(CHAINS)))
@pytest.mark.parametrize("convention", ["modified", "standard"])
def test_base_and_tool_keep_only_what_belongs_to_no_joint(chain, convention):
    table = dh_parameters(chain, convention)
    assert (table.robot, table.root, table.tip) == ("made", "root", "tip")
    assert (table.convention, table.joint_names) == (convention, chain.joint_names)
    q = np.random.default_rng(5).uniform(-2, 2, chain.dof)
    poses = link_poses(chain, q)
    np.testing.assert_allclose(table.forward_kinematics(q), poses[-1] @ chain.tip_transform, atol=1e-12)
    links = {joint.link: pose for joint, pose in zip(chain.joints, poses, strict=True)}
    for row, frame in zip(table.rows, table.frames(q)[1:], strict=True):
        np.testing.assert_allclose(links[row.link] @ row.link_pose, frame, atol=1e-12)
    assert_near_root(chain, table.base)
    tool = table.tool
    assert (tool[1, 0], tool[2, 3]) == pytest.approx((0.0, 0.0), abs=1e-13) and tool[0, 0] > 0.0
    if convention == "standard":
        assert (table.rows[-1].alpha, table.rows[-1].a) == (0.0, 0.0)
    else:
        assert (table.rows[0].alpha, table.rows[0].a) == (0.0, 0.0)
    assert 0.0 < table.residual < 1e-13


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 0.9e-6, np.pi / 2 - 1.1e-6])
def test_the_tool_is_turned_by_its_y_axis_where_its_x_axis_lies_on_the_joint_axis(pitch):
    chain = chain_of(moving(0, (0.1, 0.2, 0.3)), tips=[place((0.4, 0.5, 0.6), (0.7, pitch, 0.2))])
    table = dh_parameters(chain)
    tool = table.tool
    column = tool[:3, 0] if pitch == np.pi / 2 - 1.1e-6 else tool[:3, 1]
    assert column[1] == pytest.approx(0.0, abs=1e-13) and column[0] > 0.0
    assert table.rows[0].d == pytest.approx(0.3 + 0.6)


@pytest.mark.parametrize("convention", ["modified", "standard"])
def test_auxiliary_rows_are_fixed_in_the_link_before(convention):
    chain = chain_of(
        moving(0, (0.1, 0, 0.2), (0.3, 0.1, 0)),
        moving(1, (0.3, 0.5, 0.1), (1e-7, 0, 0.4)),
        moving(2, (0.2, -0.4, 0.3), (np.pi, 2e-7, 0), P),
        moving(3, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)),
        tips=[place((0.1, 0.2, 0.3), (0.3, 0.2, 0.1))],
    )
    table = dh_parameters(chain, convention)
    auxiliary = [k for k, row in enumerate(table.rows) if row.kind is None]
    assert auxiliary and table.rows[auxiliary[0]].link == "l0"
    for row in (table.rows[k] for k in auxiliary):
        assert (row.joint, row.coordinate, row.multiplier, row.theta) == (None, None, 0.0, 0.0)
    q = np.array([0.3, -0.7, 0.2, 1.1])
    poses = link_poses(chain, q)
    links = {joint.link: pose for joint, pose in zip(chain.joints, poses, strict=True)}
    for row, frame in zip(table.rows, table.frames(q)[1:], strict=True):
        np.testing.assert_allclose(links[row.link] @ row.link_pose, frame, atol=1e-11)
    if convention == "modified":
        k = auxiliary[0]
        assert table.rows[k].alpha == pytest.approx(-np.pi / 2, abs=1e-6)
        assert (table.rows[k + 1].alpha, table.rows[k + 1].a) == (np.pi / 2, 0.0)
        assert table.rows[k].d != 0.0


def tree():
    joints = (
        moving(0, (0.1, 0, 0)),
        moving(1, (0.2, 0, 0), (1, 0, 0)),
        moving(2, (0.3, 0, 0), (0, 1, 0), coordinate=1, multiplier=2.0),
    )
    return KinematicChain(
        "pair", "root", "a", joints, ("j0", "j1"), place((0, 0.1, 0)), parents=(-1, 0, 0), tip_joint=1,
        other_tips=(Tip("b", 2, place((0, 0.2, 0))),),
    )  # fmt: skip


def test_a_tree_has_a_table_for_each_tip_in_which_followers_move_by_themselves():
    tables = dh_tables(tree(), "standard")
    assert [(table.tip, table.joint_names, table.convention) for table in tables] == [
        ("a", ("j0", "j1"), "standard"),
        ("b", ("j0", "j2"), "standard"),
    ]
    assert [row.multiplier for row in tables[1].rows] == [1.0, 1.0]
    chain = CHAINS[3]
    (alone,) = dh_tables(chain)
    assert alone.json() == dh_parameters(chain).json() and alone.convention == "modified"
    with pytest.raises(
        ModelError, match=r"^pair is a tree with the tips a, b; a Denavit-Hartenberg table takes"
    ):
        dh_parameters(tree())
    for of in (dh_parameters, dh_tables):
        with pytest.raises((ModelError, TypeError), match="chain"):
            of("chain")
        with pytest.raises(ParameterError, match="convention"):
            of(chain, "craig")
        with pytest.raises(ParameterError, match="tolerance is 2"):
            of(chain, "standard", 2.0)


def test_a_table_may_miss_the_tip_by_the_tolerance(monkeypatch):
    for missed, legal in ((1e-9, True), (1.01e-9, False)):
        monkeypatch.setattr(dh, "residual", lambda chain, poses, missed=missed: missed)
        if legal:
            assert dh_parameters(CHAINS[2]).residual == 1e-9
            continue
        with pytest.raises(ConversionError) as refused:
            dh_parameters(CHAINS[2], "standard")
        assert str(refused.value) == (
            "the standard DH parameters of root -> tip miss the forward kinematics by 1e-09, more than the"
            " tolerance 1e-09"
        )
