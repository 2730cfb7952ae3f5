"""Every real robot that is installed: forward kinematics, tables and lumped bodies against Pinocchio."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from installed_robots import FOLDERS, example_robot, installed_robots

from robot_dynamics.errors import ModelError
from robot_dynamics.model.builder import build_chain
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.dh import dh_parameters
from robot_dynamics.model.urdf import RobotTree, parse_urdf

pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")

ROBOTS = installed_robots()
URDF = Path(__file__).parents[2] / "urdf"
LEAVES_PER_ROBOT = 3

# Faults that a person can see in the file, by the end of its path.
BROKEN = {
    "alex_psyonic_hands.urdf": "mimics 'index_q1', which does not exist",
    "ur_description/urdf/ur3.urdf": "name",
    "bike.urdf": "0.07,",
    "biped2d_pybullet.urdf": "not well-formed",
    "cube_no_rotation.urdf": "lower limit 1 is above",
    "diff_ring.urdf": "not well-formed",
    "humanoid/humanoid.urdf": "not well-formed",
    "husky/husky.urdf": "unresolved xacro",
    "microtaur/microtaur.urdf": "-3.14159 1.57079 0 0",
    "spherical_joint_limit.urdf": "velocity",
    "torus_deform.urdf": "no links",
    "rtbdata/data/test.urdf": "not well-formed",
}


def resting(tree: RobotTree) -> dict[str, float]:
    """Mimic joints held where they can be, so that any leaf can be the tip."""
    return {
        joint.name: min(max(0.0, joint.limits.lower), joint.limits.upper)
        for joint in tree.joints.values()
        if joint.mimic is not None
    }


def chains_of(tree: RobotTree, count: int) -> list[KinematicChain]:
    """Chains from the root to ``count`` leaves, spread over the robot."""
    chains = []
    for leaf in tree.leaves[:: max(1, len(tree.leaves) // count)]:
        locked = resting(tree)
        if not any(
            joint.kind.moves_on_axis and joint.name not in locked for joint in tree.path(tree.root, leaf)
        ):
            continue
        chains.append(build_chain(tree, tip=leaf, locked_joints=locked))
    return chains


def positions_off_chain(tree: RobotTree, locked: dict[str, float]) -> dict[str, float]:
    """Positions of the joints that are not in the chain: as locked, with the master, or near zero."""
    positions = {}
    for joint in tree.joints.values():
        if joint.name in locked:
            positions[joint.name] = locked[joint.name]
        elif joint.mimic is not None and joint.mimic.joint in locked:
            positions[joint.name] = joint.mimic.multiplier * locked[joint.mimic.joint] + joint.mimic.offset
        elif joint.kind.moves_on_axis:
            positions[joint.name] = min(max(0.0, joint.limits.lower), joint.limits.upper)
    return positions


def configuration(model, values: dict[str, float]) -> np.ndarray:
    """Pinocchio's configuration vector with the given joints set."""
    q = pin.neutral(model)
    for name, value in values.items():
        joint = model.joints[model.getJointId(name)]
        if joint.nq == 1:
            q[joint.idx_q] = value
        else:
            q[joint.idx_q : joint.idx_q + 2] = np.cos(value), np.sin(value)
    return q


def test_the_packages_with_robots_are_found():
    missing = {"example-robot-data", "pybullet_data", "rtbdata"} - FOLDERS.keys()
    if missing:
        pytest.skip(f"not installed: {', '.join(sorted(missing))}")
    assert len(ROBOTS) > 150


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("path", ROBOTS.values(), ids=ROBOTS.keys())
def test_forward_kinematics_and_tables(path):
    reason = next((why for end, why in BROKEN.items() if str(path).endswith(end)), None)
    if reason is not None:
        with pytest.raises(ModelError, match=reason):
            parse_urdf(path)
        return
    tree = parse_urdf(path)
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    generator = np.random.default_rng(len(tree.links))
    for chain in chains_of(tree, LEAVES_PER_ROBOT):
        tables = [dh_parameters(chain, convention) for convention in ("modified", "standard")]
        for q in generator.uniform(-2.0, 2.0, (2, chain.dof)):
            values = {j.name: v for j, v in zip(chain.joints, chain.joint_values(q), strict=True)}
            pin.framesForwardKinematics(model, data, configuration(model, resting(tree) | values))
            expected = data.oMf[model.getFrameId(chain.tip)].homogeneous
            assert np.abs(chain.forward_kinematics(q) - expected).max() < 1e-12
            for table in tables:
                assert np.abs(table.forward_kinematics(q) - expected).max() < 1e-9


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("path", ROBOTS.values(), ids=ROBOTS.keys())
def test_every_tip_of_the_whole_tree_is_where_pinocchio_has_it(path):
    if any(str(path).endswith(end) for end in BROKEN):
        return
    tree = parse_urdf(path)
    locked = {j.name: 0.0 for j in tree.joints.values() if j.kind.value in ("floating", "planar")}
    if not any(joint.kind.moves_on_axis for joint in tree.joints.values()):
        with pytest.raises(ModelError, match="no moving joint"):
            build_chain(tree, tips="all", locked_joints=locked)
        return
    chain = build_chain(tree, tips="all", locked_joints=locked)
    model = pin.buildModelFromXML(
        re.sub(r"<mimic[^>]*?(/>|>\s*</mimic>)", "", path.read_text(errors="replace"))
    )
    data = model.createData()
    q = np.random.default_rng(len(tree.links)).uniform(-2.0, 2.0, chain.dof)
    values = {j.name: v for j, v in zip(chain.joints, chain.joint_values(q), strict=True)}
    pin.framesForwardKinematics(model, data, configuration(model, values))
    poses = chain.link_poses(q)
    for tip in chain.tips:
        expected = data.oMf[model.getFrameId(tip.link)].homogeneous
        assert np.abs(poses[tip.joint] @ tip.transform - expected).max() < 1e-12
    moved = sum(joint.body.mass for joint in chain.joints)
    assert moved == pytest.approx(sum(inertia.mass for inertia in model.inertias[1:]), rel=1e-12, abs=1e-15)


LUMPED = {
    "arm7, gripper open": (URDF / "arm7.urdf", "hand", {"finger_left": 0.03, "finger_right": 0.03}),
    "arm7, mimic follows": (URDF / "arm7.urdf", "hand", {"finger_left": 0.02}),
    "puma560": (URDF / "puma560.urdf", "link6", {}),
    "panda": (
        example_robot("panda_description/urdf/panda.urdf"),
        "panda_link8",
        {"panda_finger_joint1": 0.02, "panda_finger_joint2": 0.02},
    ),
    "panda, one wrist joint locked": (
        example_robot("panda_description/urdf/panda.urdf"),
        "panda_link8",
        {"panda_joint5": 0.7, "panda_finger_joint1": 0.04},
    ),
    "ur5 with gripper": (example_robot("ur_description/urdf/ur5_gripper.urdf"), None, {}),
    "tiago": (example_robot("tiago_description/robots/tiago.urdf"), "arm_tool_link", {"head_1_joint": 0.4}),
    "talos arm": (
        example_robot("talos_data/robots/talos_reduced.urdf"),
        "gripper_left_base_link",
        {"head_2_joint": 0.1, "gripper_left_joint": -0.3},
    ),
    "talos leg": (example_robot("talos_data/robots/talos_reduced.urdf"), "left_sole_link", {}),
}


@pytest.mark.parametrize(("path", "tip", "locked"), LUMPED.values(), ids=LUMPED.keys())
def test_lumped_bodies_are_those_of_pinocchio(path, tip, locked):
    """Pinocchio locks every joint off the chain where we do; then body by body."""
    if path is None:
        pytest.skip("example-robot-data is not installed")
    tree = parse_urdf(path)
    chain = build_chain(tree, tip=tip, locked_joints=locked)
    model = pin.buildModelFromUrdf(str(path))
    positions = positions_off_chain(tree, locked)
    moving = set(chain.joint_names)
    held = [k for k, name in enumerate(model.names) if k and name not in moving]
    reduced = pin.buildReducedModel(model, held, configuration(model, positions))
    assert tuple(reduced.names)[1:] == chain.joint_names
    for joint, inertia in zip(chain.joints, list(reduced.inertias)[1:], strict=True):
        assert joint.body.mass == pytest.approx(inertia.mass, rel=1e-12)
        assert np.allclose(joint.body.center_of_mass, inertia.lever, atol=1e-12)
        assert np.allclose(joint.body.inertia, inertia.inertia, rtol=1e-10, atol=1e-12)
    moved = sum(joint.body.mass for joint in chain.joints)
    assert moved == pytest.approx(pin.computeTotalMass(reduced), rel=1e-12)


@pytest.mark.parametrize(("path", "tip", "locked"), LUMPED.values(), ids=LUMPED.keys())
def test_gravity_torques_hold_the_gripper_too(path, tip, locked):
    """The slope of our bodies' potential energy against Pinocchio's torques for the whole robot."""
    if path is None:
        pytest.skip("example-robot-data is not installed")
    tree = parse_urdf(path)
    chain = build_chain(tree, tip=tip, locked_joints=locked)
    gravity = np.array([1.0, -2.0, -9.0])
    model = pin.buildModelFromUrdf(str(path))
    model.gravity.linear = gravity
    q = np.random.default_rng(4).uniform(-0.5, 0.5, chain.dof)
    positions = positions_off_chain(tree, locked) | dict(zip(chain.joint_names, q, strict=True))
    torques = pin.computeGeneralizedGravity(model, model.createData(), configuration(model, positions))
    expected = [torques[model.joints[model.getJointId(name)].idx_v] for name in chain.joint_names]

    def potential(coordinates: np.ndarray) -> float:
        pose, energy = np.eye(4), 0.0
        for joint, value in zip(chain.joints, chain.joint_values(coordinates), strict=True):
            pose = pose @ joint.origin @ joint.displacement(value)
            center = pose[:3, :3] @ joint.body.center_of_mass + pose[:3, 3]
            energy -= joint.body.mass * gravity @ center
        return energy

    step = 1e-4
    slope = [
        (potential(q + step * unit) - potential(q - step * unit)) / (2 * step) for unit in np.eye(chain.dof)
    ]
    assert np.allclose(slope, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))
