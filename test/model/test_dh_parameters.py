"""Denavit-Hartenberg tables against textbooks, closed forms and the chain's own forward kinematics.

The transforms are multiplied here from the four elementary matrices, not with the package's code.
"""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from descriptions import joint, link, robot
from hypothesis import given, settings
from hypothesis import strategies as st
from made_chains import BODY, link_poses, screw

from robot_dynamics.errors import ConversionError, ParameterError, StateError
from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain
from robot_dynamics.model.dh import dh_parameters
from robot_dynamics.model.load import load_urdf

URDF = Path(__file__).parents[2] / "urdf"
CONVENTIONS = ("modified", "standard")
RPY = ("roll_rad", "pitch_rad", "yaw_rad")


def tip_pose(table, q) -> np.ndarray:
    """The tip's pose from the numbers of the table."""
    pose = table.base
    for row in table.rows:
        moved = 0.0 if row.coordinate is None else row.multiplier * q[row.coordinate]
        turn, slide = (0.0, moved) if row.kind is JointKind.PRISMATIC else (moved, 0.0)
        x_part, z_part = screw(row.alpha, row.a, 0), screw(row.theta + turn, row.d + slide, 2)
        pose = pose @ (x_part @ z_part if table.convention == "modified" else z_part @ x_part)
    return pose @ table.tool


def rotation(axis, angle) -> np.ndarray:
    """Rotation by quaternion, so that no formula is shared with the package."""
    w, (x, y, z) = np.cos(angle / 2), np.sin(angle / 2) * np.asarray(axis, dtype=float)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def assert_same_kinematics(chain: KinematicChain, tolerance: float = 1e-9) -> None:
    generator = np.random.default_rng(7)
    for convention in CONVENTIONS:
        table = dh_parameters(chain, convention)
        for q in generator.uniform(-2.0, 2.0, (5, chain.dof)):
            expected = link_poses(chain, q)[-1] @ chain.tip_transform
            assert np.abs(tip_pose(table, q) - expected).max() < tolerance
            assert np.abs(table.forward_kinematics(q) - expected).max() < tolerance


def parameters(table) -> np.ndarray:
    return np.array([[np.rad2deg(row.alpha), row.a, np.rad2deg(row.theta), row.d] for row in table.rows])


def two_axes(xyz: str, rpy: str, first: str = "0 0 1", second: str = "0 0 1", kind: str = "revolute"):
    return load_urdf(
        robot(
            link("ground", ""),
            link("a"),
            link("b"),
            joint("one", "ground", "a", kind, axis=first),
            joint("two", "a", "b", kind, xyz=xyz, rpy=rpy, axis=second),
        )
    )


def test_puma560_has_the_table_of_the_textbooks():
    """Modified: Armstrong et al. 1986; standard: Fu, Gonzalez & Lee 1987, table 2.1 (their d2 is our d3)."""
    chain = load_urdf(URDF / "puma560.urdf")
    modified, standard = (dh_parameters(chain, convention) for convention in CONVENTIONS)
    lengths = {"a2": 0.4318, "a3": -0.0203, "d1": 0.672, "d3": 0.15005, "d4": 0.4318, "d6": 0.05625}
    expected = [
        [0, 0, 0, lengths["d1"]],
        [-90, 0, 0, 0],
        [0, lengths["a2"], 0, lengths["d3"]],
        [90, lengths["a3"], 0, lengths["d4"]],
        [-90, 0, 0, 0],
        [90, 0, 0, lengths["d6"]],
    ]
    assert np.allclose(parameters(modified), expected, atol=1e-12)
    expected = [
        [-90, 0, 0, lengths["d1"]],
        [0, lengths["a2"], 0, 0],
        [90, lengths["a3"], 0, lengths["d3"]],
        [-90, 0, 0, lengths["d4"]],
        [90, 0, 0, 0],
        [0, 0, 0, lengths["d6"]],
    ]
    assert np.allclose(parameters(standard), expected, atol=1e-12)
    for table in (modified, standard):
        assert np.allclose(table.base, np.eye(4))
        assert np.allclose(table.tool, np.eye(4))


def test_scara_moves_as_in_closed_form():
    table = dh_parameters(load_urdf(URDF / "scara.urdf"))
    assert [row.kind.value for row in table.rows] == ["revolute", "revolute", "prismatic", "revolute"]
    for q1, q2, q3, q4 in np.random.default_rng(3).uniform(-1, 1, (10, 4)):
        pose = table.forward_kinematics(np.array([q1, q2, q3, q4]))
        expected = [
            0.325 * np.cos(q1) + 0.275 * np.cos(q1 + q2),
            0.325 * np.sin(q1) + 0.275 * np.sin(q1 + q2),
            0.36 + 0.08 + 0.02 - q3 - 0.16,
        ]
        assert np.allclose(pose[:3, 3], expected, atol=1e-14)
        heading = q1 + q2 - q4  # joint 4 points down
        assert np.allclose(pose[:3, 0], [np.cos(heading), np.sin(heading), 0], atol=1e-14)
        assert np.allclose(pose[:3, 2], [0, 0, -1], atol=1e-14)


GEOMETRIES = {
    "parallel": ("0.4 0 0", "0 0 0"),
    "parallel, offset along": ("0.3 -0.4 0.2", "0 0 1"),
    "antiparallel": ("0.4 0.1 0.2", "3.141592653589793 0 0"),
    "coincident": ("0 0 0.3", "0 0 0.5"),
    "coincident, antiparallel": ("0 0 0.3", "0 3.141592653589793 0"),
    "same place": ("0 0 0", "0 0 0"),
    "intersecting": ("0 0 0", "1.1 0 0"),
    "intersecting elsewhere": ("0 0.2 0.2", "0.7853981633974483 0 0"),
    "perpendicular": ("0.1 0.2 0.3", "1.5707963267948966 0 0"),
    "skew": ("0.1 0.2 0.3", "0.4 -0.7 1.2"),
    "skew, obtuse": ("0.1 0.2 0.3", "2.4 -0.7 1.2"),
}


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize(("xyz", "rpy"), GEOMETRIES.values(), ids=GEOMETRIES.keys())
def test_two_axes_in_every_relation(xyz, rpy, kind):
    assert_same_kinematics(two_axes(xyz, rpy, kind=kind), tolerance=1e-14)
    assert_same_kinematics(two_axes(xyz, rpy, first="1 0 0", second="0 -1 0", kind=kind), tolerance=1e-14)
    assert_same_kinematics(two_axes(xyz, rpy, first="0 0 -1", second="0.6 0 0.8", kind=kind), tolerance=1e-14)


def test_skew_axes_have_their_angle_and_distance():
    """Axes along z through the origin, and along (0, -sin 60°, cos 60°) through (0.25, y, z)."""
    table = dh_parameters(two_axes("0.25 0.4 -0.3", f"{np.pi / 3} 0 0"))
    assert table.rows[1].alpha == pytest.approx(np.pi / 3)
    assert table.rows[1].a == pytest.approx(0.25)
    # From the second joint's origin, the common normal (y = 0) is 0.4 / sin 60° further along its axis, and
    # there z = -0.3 + 0.4 / tan 60°; the first joint's frame is 0.3 above the ground.
    assert table.rows[1].d == pytest.approx(-0.4 / np.sin(np.pi / 3))
    assert table.rows[0].d == pytest.approx(0.3 - 0.3 + 0.4 / np.tan(np.pi / 3))


def test_antiparallel_axes_show_as_half_a_turn():
    table = dh_parameters(two_axes("0.4 0 0", "3.141592653589793 0 0"))
    assert (table.rows[1].alpha, table.rows[1].a) == (np.pi, 0.4)
    assert table.rows[1].multiplier == 1.0


@pytest.mark.parametrize("slack", [10.0**-k for k in range(1, 17)])
@pytest.mark.parametrize("turned", [0.0, np.pi])
def test_nearly_parallel_axes_keep_the_tip(slack, turned):
    """1.5708 or 1.5707963 for a quarter turn puts the common normal kilometres away."""
    chain = two_axes("0.5 0.1 0.2", f"{turned + slack} {slack / 3} 0.4")
    assert_same_kinematics(chain)
    assert_same_kinematics(two_axes("0.5 0.1 0.2", f"{turned + slack} 0 0", kind="prismatic"))


@pytest.mark.parametrize(
    "quarter", ["1.57", "1.5708", "1.570796", "1.5707963", "1.570796327", "1.57079632679"]
)
def test_arm_with_rounded_quarter_turns(quarter):
    links = [link(f"l{k}") for k in range(6)]
    places = ["0 0 0.3", "0.1 0 0.2", "0.5 0.1 0", "0.4 0 0.1", "0 0.1 0.1"]
    turns = [
        "0 0 0",
        f"-{quarter} 0 0",
        f"{quarter} -{quarter} 0",
        f"0 {quarter} {quarter}",
        f"{quarter} 0 0",
    ]
    axes = ["0 0 1", "0 1 0", "0 0 1", "0 1 0", "1 0 0"]
    joints = [
        joint(f"j{k}", f"l{k}", f"l{k + 1}", xyz=places[k], rpy=turns[k], axis=axes[k]) for k in range(5)
    ]
    assert_same_kinematics(load_urdf(robot(*links, *joints)))


def test_auxiliary_row_moves_nothing_and_keeps_numbers_small():
    table = dh_parameters(two_axes("0.5 0 0", "1e-8 0 0", second="0 0 1"))
    assert len(table.rows) == 2  # the axes meet: no need
    table = dh_parameters(two_axes("0 0.5 0", "1e-8 0 0"))
    assert [row.joint for row in table.rows] == ["one", None, "two"]
    auxiliary = table.rows[1]
    assert (auxiliary.kind, auxiliary.coordinate, auxiliary.link) == (None, None, "a")
    assert np.abs(parameters(table)[:, [1, 3]]).max() < 1.0


def test_coarse_tolerance_makes_nearly_parallel_axes_parallel():
    chain = two_axes("0 0.5 0", "3.7e-6 0 0")
    table = dh_parameters(chain, tolerance=1e-4)
    assert len(table.rows) == 2
    assert table.rows[1].alpha == 0.0
    assert table.rows[1].a == pytest.approx(0.5)
    assert 0.0 < table.residual < 1e-4


def test_conversion_that_misses_is_refused_with_its_residual():
    chain = load_urdf(URDF / "arm7.urdf")
    with pytest.raises(ConversionError, match=r"world -> hand miss .* by \d.*tolerance 1e-17"):
        dh_parameters(chain, tolerance=1e-17)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("xyz", ["0 0 1e8", "1e8 0 0", "1e8 2e8 -3e8"])
def test_absurd_lengths_convert_or_are_refused(xyz):
    try:
        table = dh_parameters(two_axes(xyz, "1e-6 0.1 0"))
    except ConversionError:
        return
    assert table.residual < 1e-9


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_arguments_are_refused(tolerance):
    chain = load_urdf(URDF / "scara.urdf")
    with pytest.raises(ParameterError, match="tolerance"):
        dh_parameters(chain, tolerance=tolerance)
    with pytest.raises(ParameterError, match=r"'craig'.*'modified' or 'standard'"):
        dh_parameters(chain, "craig")
    for q in (np.zeros(3), np.zeros((1, 4)), np.full(4, np.nan)):
        with pytest.raises(StateError, match="joint1"):
            dh_parameters(chain).forward_kinematics(q)


def test_mimic_joints_have_rows_of_their_own():
    follow = '<mimic joint="one" multiplier="-0.5" offset="0.2"/>'
    chain = load_urdf(
        robot(
            link("ground", ""),
            link("a"),
            link("b"),
            link("c"),
            joint("one", "ground", "a"),
            joint("two", "a", "b", xyz="0.3 0 0", axis="0 1 0", extra=follow),
            joint("three", "b", "c", "prismatic", xyz="0.3 0 0", axis="1 0 0", extra=follow),
        )
    )
    table = dh_parameters(chain)
    assert table.joint_names == ("one",)
    assert [(row.coordinate, row.multiplier) for row in table.rows] == [(0, 1.0), (0, -0.5), (0, -0.5)]
    assert_same_kinematics(chain, tolerance=1e-14)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("name", ["puma560", "arm7", "scara"])
def test_row_frames_are_fixed_in_their_links(name, convention):
    chain = load_urdf(URDF / f"{name}.urdf")
    table = dh_parameters(chain, convention)
    for q in np.random.default_rng(2).uniform(-1, 1, (3, chain.dof)):
        pose, links = np.eye(4), {}
        for one, value in zip(chain.joints, chain.joint_values(q), strict=True):
            pose = pose @ one.origin @ one.displacement(value)
            links[one.link] = pose
        for row, frame in zip(table.rows, table.frames(q)[1:], strict=True):
            assert np.allclose(links[row.link] @ row.link_pose, frame, atol=1e-14)


def test_modified_frames_lie_on_their_own_axis_and_standard_ones_on_the_next():
    chain = load_urdf(URDF / "puma560.urdf")
    frames = {
        convention: dh_parameters(chain, convention).frames(np.full(6, 0.4)) for convention in CONVENTIONS
    }
    for own, previous in zip(frames["modified"][1:], frames["standard"][:-1], strict=True):
        assert np.allclose(own[:3, 2], previous[:3, 2])
        assert np.allclose(np.cross(own[:3, 3] - previous[:3, 3], own[:3, 2]), 0, atol=1e-12)


def test_json_and_csv_carry_every_digit():
    chain = load_urdf(
        robot(
            link("ground", ""),
            link("a"),
            link("b"),
            joint("one", "ground", "a", rpy="0.1 0.2 0.3", axis="1 2 3"),
            joint("two", "a", "b", "prismatic", xyz="0.1 0.2 0.3", rpy="1 0.2 0.3", axis="3 2 1"),
        )
    )
    for convention in CONVENTIONS:
        table = dh_parameters(chain, convention)
        document = json.loads(table.json())
        assert document["convention"] == convention
        assert document["joint_names"] == ["one", "two"]
        assert np.array_equal(document["base"], table.base)
        assert np.array_equal(document["tool"], table.tool)
        lines = list(csv.DictReader(io.StringIO(table.csv())))
        assert [line["type"] for line in lines] == ["base", "revolute", "prismatic", "tool"]
        for row, listed, line in zip(table.rows, document["rows"], lines[1:3], strict=True):
            for key, column in (("alpha", "alpha_rad"), ("a", "a_m"), ("theta", "theta_rad"), ("d", "d_m")):
                assert listed[key] == getattr(row, key) == float(line[column])
            assert line["coordinate"] == row.joint == listed["joint"]
            assert np.array_equal(listed["link_pose"], row.link_pose)


def test_csv_carries_the_frames_in_their_links():
    table = dh_parameters(load_urdf(URDF / "arm7.urdf"), "standard")
    lines = list(csv.DictReader(io.StringIO(table.csv())))[1:-1]
    for row, line in zip(table.rows, lines, strict=True):
        x, y, z, *angles = (float(line[key]) for key in ("x_m", "y_m", "z_m", *RPY))
        expected = rotation([0, 0, 1], angles[2]) @ rotation([0, 1, 0], angles[1])
        assert np.allclose(expected @ rotation([1, 0, 0], angles[0]), row.link_pose[:3, :3], atol=1e-14)
        assert np.array_equal([x, y, z], row.link_pose[:3, 3])


def test_a_chain_and_its_table_introduce_themselves():
    chain = load_urdf(URDF / "scara.urdf")
    names = "joint1, joint2, joint3, joint4"
    assert repr(chain) == f"<KinematicChain scara: world -> link4, 4 joints: {names}>"
    table = dh_parameters(chain)
    assert repr(table) == "<DHTable scara: world -> link4, modified DH parameters, 4 rows>"
    page = ElementTree.fromstring(f"<div>{table._repr_html_()}</div>".replace("<br>", " "))
    cells = [[cell.text for cell in line] for line in page.iter("tr")]
    assert cells[0] == ["row", "joint", "type", "alpha [deg]", "a [m]", "theta [deg]", "d [m]"]
    assert cells[3] == ["3", "joint3", "prismatic", "180", "0", "0", "q3"]
    assert "base, world -> frame 0" in page.find("p").text


def test_a_name_in_the_table_is_text_and_no_markup():
    chain = replace(load_urdf(URDF / "scara.urdf"), name="<b>&")
    assert "&lt;b&gt;&amp;: world" in dh_parameters(chain)._repr_html_()


numbers = st.floats(-1.0, 1.0, allow_subnormal=False)
rounded_turns = st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi, 1.5708, 3.1416, 1.570796, -1.5707963])
lengths = st.one_of(st.just(0.0), numbers)
axes = st.one_of(
    st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1)]),
    st.tuples(numbers, numbers, numbers).filter(lambda axis: np.linalg.norm(axis) > 0.1),
)


@st.composite
def chains(draw) -> KinematicChain:
    """Chains of one to seven joints, special positions preferred."""
    joints = []
    for k in range(draw(st.integers(1, 7))):
        origin = np.eye(4)
        for unit in np.eye(3):
            origin[:3, :3] = rotation(unit, draw(st.one_of(rounded_turns, numbers))) @ origin[:3, :3]
        origin[:3, 3] = draw(st.tuples(lengths, lengths, lengths))
        axis = np.array(draw(axes), dtype=float)
        kind = draw(st.sampled_from([JointKind.REVOLUTE, JointKind.REVOLUTE, JointKind.PRISMATIC]))
        unit_axis = axis / np.linalg.norm(axis)
        joints.append(ChainJoint(f"j{k}", f"l{k}", kind, origin, unit_axis, BODY, coordinate=k))
    tip = np.eye(4)
    tip[:3, :3] = rotation([0, 0.6, 0.8], draw(numbers))
    tip[:3, 3] = draw(st.tuples(lengths, lengths, lengths))
    return KinematicChain("random", "root", "tip", tuple(joints), tuple(j.name for j in joints), tip)


@pytest.mark.long
@settings(deadline=None, derandomize=True, max_examples=80)
@given(chains())
def test_any_chain_keeps_its_kinematics(chain):
    assert_same_kinematics(chain)
