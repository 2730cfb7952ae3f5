"""The robots that come with the package: published numbers, physical sense, and other programs' opinion."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.urdf import parse_urdf

URDF = Path(__file__).parents[2] / "urdf"
NAMES = ("puma560", "arm7", "scara")
PUMA = URDF / "puma560.urdf"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES)
def test_loads_without_a_warning(name):
    chain = load_urdf(URDF / f"{name}.urdf")
    assert chain.dof == {"puma560": 6, "arm7": 7, "scara": 4}[name]
    assert chain.root == "world"


@pytest.mark.parametrize("name", NAMES)
def test_every_link_is_a_possible_body(name):
    for link in parse_urdf(URDF / f"{name}.urdf").links.values():
        if link.body is None:
            assert link.name == "world"
            continue
        assert link.body.mass > 0.0
        moments = np.linalg.eigvalsh(link.body.inertia)
        assert moments[0] > 0.0
        assert moments[0] + moments[1] > moments[2]


@pytest.mark.parametrize("name", NAMES)
def test_every_joint_has_limits_to_work_within(name):
    for joint in load_urdf(URDF / f"{name}.urdf").joints:
        assert np.isfinite([joint.limits.lower, joint.limits.upper]).all()
        assert joint.limits.lower < joint.limits.upper
        assert 0.0 < joint.limits.velocity < np.inf
        assert 0.0 < joint.limits.effort < np.inf


@pytest.mark.parametrize("name", NAMES)
def test_inertial_axes_are_the_links_and_shapes_need_no_files(name):
    """Some simulators turn an inertia twice when its origin has an rpy."""
    robot = ElementTree.parse(URDF / f"{name}.urdf").getroot()
    for origin in robot.iterfind("link/inertial/origin"):
        assert origin.get("rpy") == "0 0 0"
    assert robot.find(".//mesh") is None
    for link in robot.iterfind("link"):
        if link.get("name") != "world":
            assert link.find("visual/geometry") is not None
            assert link.find("collision/geometry") is not None


@pytest.mark.parametrize("name", NAMES)
def test_mujoco_reads_the_same_robot(name):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    tree = parse_urdf(URDF / f"{name}.urdf")
    model = mujoco.MjModel.from_xml_path(str(URDF / f"{name}.urdf"))
    data = mujoco.MjData(model)
    chain = load_urdf(URDF / f"{name}.urdf")
    total = (
        sum(link.body.mass for link in tree.links.values() if link.body) - tree.links["base_link"].body.mass
    )
    assert mujoco.mj_getTotalmass(model) == pytest.approx(total)
    q = np.random.default_rng(5).uniform(-0.5, 0.5, chain.dof)
    for joint, value in zip(chain.joint_names, q, strict=True):
        data.joint(joint).qpos[:] = value
    mujoco.mj_kinematics(model, data)
    last = chain.joints[-1].link
    flange = load_urdf(URDF / f"{name}.urdf", tip=last).forward_kinematics(q)
    assert np.allclose(data.body(last).xpos, flange[:3, 3], atol=1e-9)
    assert np.allclose(data.body(last).xmat.reshape(3, 3), flange[:3, :3], atol=1e-9)


def holding_torques(chain, q) -> np.ndarray:
    """Static torques by moments of the weights about each axis, gravity 9.81 m/s² down."""
    pose, axes, weights = np.eye(4), [], []
    for joint, value in zip(chain.joints, chain.joint_values(q), strict=True):
        pose = pose @ joint.origin @ joint.displacement(value)
        axes.append((pose[:3, :3] @ joint.axis, pose[:3, 3]))
        center = pose[:3, :3] @ joint.body.center_of_mass + pose[:3, 3]
        weights.append((center, joint.body.mass * np.array([0.0, 0.0, -9.81])))
    return np.array(
        [
            -sum(axis @ np.cross(center - point, weight) for center, weight in weights[index:])
            for index, (axis, point) in enumerate(axes)
        ]
    )


def test_puma560_holds_itself_as_corkes_model_does():
    """Corke's p560.gravload(qn) is (0, 31.6399, 6.0351, 0, 0.0283, 0) N·m at qn = (0, 45, 180, 0, 45, 0)°.

    His link 4 has its mass 0.019 m beyond the wrist centre; in the paper, and here, it lies as far before it.
    Seen from the horizontal axes 2 and 3, with the forearm at 45°, that makes 0.038 · 0.82 · g · sin 45°.
    """
    corke = np.array([0.0, 31.6399, 6.0351, 0.0, 0.0283, 0.0])
    zeros = np.pi * np.array([1, -1, 1, 0, 0, 0])
    q = np.deg2rad([0, 45, 180, 0, 45, 0]) + zeros
    difference = 0.038 * 0.82 * 9.81 * np.sin(np.pi / 4) * np.array([0, 1, 1, 0, 0, 0])
    assert np.allclose(holding_torques(load_urdf(PUMA), q), corke - difference, atol=5e-5)


def test_puma560_forearm_and_wrist_together_are_as_armstrong_weighed_them():
    """Their table lists "link 3 with complete wrist": 6.04 kg, centre (0, -0.143, 0.014) m."""
    whole = load_urdf(PUMA, locked_joints={"joint4": 0.0, "joint5": 0.0, "joint6": 0.0})
    forearm = whole.joints[-1].body
    assert forearm.mass == pytest.approx(6.04, abs=0.02)
    assert forearm.center_of_mass[1] == pytest.approx(-0.143, abs=1.5e-3)
    # Moments about axes across the forearm: 0.192 and 0.212; ours carry the 0.004 that makes link 3 possible.
    assert forearm.inertia[0, 0] == pytest.approx(0.192 + 0.004, rel=0.02)
    assert forearm.inertia[2, 2] == pytest.approx(0.212, rel=0.02)


def test_puma560_can_make_lees_move():
    chain = load_urdf(PUMA)
    start, goal = np.deg2rad([90, 0, 90, 0, 0, 0]), np.deg2rad([45, 30, 0, 45, 60, 90])
    for index, joint in enumerate(chain.joints):
        assert joint.limits.lower < min(start[index], goal[index])
        assert max(start[index], goal[index]) < joint.limits.upper
        # A quintic over 2 s is fastest in the middle: 15/8 of the mean velocity.
        assert abs(goal[index] - start[index]) / 2.0 * 15.0 / 8.0 < joint.limits.velocity
    assert [joint.limits.effort for joint in chain.joints] == [97.6, 186.4, 89.4, 24.2, 20.1, 21.3]
    for q in (start, goal):
        assert (np.abs(holding_torques(chain, q)) < [joint.limits.effort for joint in chain.joints]).all()
    # Stretched out along the base's y axis, the arm's shoulder offset to the side of it.
    reach = 0.4318 + 0.4318 + 0.05625
    assert np.allclose(chain.forward_kinematics(start)[:3, 3], [-0.15005, reach, 0.672 + 0.0203])


def test_arm7_fingers_close_together():
    tree = parse_urdf(URDF / "arm7.urdf")
    assert tree.joints["finger_right"].mimic.joint == "finger_left"
    for opening in (0.0, 0.04):
        hand = load_urdf(URDF / "arm7.urdf", locked_joints={"finger_left": opening}).joints[-1].body
        assert np.allclose(hand.center_of_mass[:2], 0.0, atol=1e-12)
    with pytest.raises(ModelError, match=r"finger_right.*finger_left"):
        load_urdf(URDF / "arm7.urdf", tip="finger_left_link")
