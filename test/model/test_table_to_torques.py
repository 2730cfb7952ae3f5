"""A robot rebuilt from its exported table, and the inertias in the table's frames, needs the same torques."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import descriptions as given
import numpy as np
import pytest
from installed_robots import installed_robots
from interpreter import evaluate
from made_chains import screw
from shares import share_of
from test_real_robots import BROKEN, LEAVES_PER_ROBOT, chains_of

from robot_dynamics.dynamics.programs import generate
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.dh import dh_parameters
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.urdf import parse_urdf

pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")

URDF = Path(__file__).parents[2] / "urdf"
GRAVITY = np.array([1.5, -2.5, -9.0])
ROBOTS = {
    name: path
    for name, path in installed_robots().items()
    if not any(str(path).endswith(end) for end in BROKEN)
} | {name: URDF / f"{name}.urdf" for name in ("puma560", "arm7", "scara")}


def place(line: dict[str, str]) -> np.ndarray:
    """(4, 4) pose in a line of the CSV."""
    pose = np.eye(4)
    angles = (float(line[key]) for key in ("roll_rad", "pitch_rad", "yaw_rad"))
    pose[:3, :3] = pin.rpy.rpyToMatrix(*angles)
    pose[:3, 3] = [float(line[key]) for key in ("x_m", "y_m", "z_m")]
    return pose


def from_json(text: str) -> dict:
    """The document with its poses as arrays."""
    document = json.loads(text)
    for key in ("base", "tool"):
        document[key] = np.array(document[key])
    for row in document["rows"]:
        row["link_pose"] = np.array(row["link_pose"])
    return document


def from_csv(text: str, convention: str) -> dict:
    """The same document from the CSV."""
    first, *lines, last = csv.DictReader(io.StringIO(text))
    names = {"alpha": "alpha_rad", "a": "a_m", "theta": "theta_rad", "d": "d_m"}
    rows = [
        {key: float(line[column]) for key, column in names.items()}
        | {"type": line["type"], "joint": line["joint"] or None, "link_pose": place(line)}
        for line in lines
    ]
    return {"convention": convention, "base": place(first), "rows": rows, "tool": place(last)}


def rebuilt_in_pinocchio(document: dict, chain: KinematicChain):
    """Pinocchio's model of the table alone, one coordinate per joint; pose of the tip in the last joint."""
    model = pin.Model()
    model.gravity = pin.Motion(GRAVITY, np.zeros(3))
    bodies = {joint.name: joint.body for joint in chain.joints}
    parent, pending = 0, document["base"]
    for row in document["rows"]:
        along_x, along_z = screw(row["alpha"], row["a"], 0), screw(row["theta"], row["d"], 2)
        modified = document["convention"] == "modified"
        before, after = (along_x @ along_z, np.eye(4)) if modified else (along_z, along_x)
        pending = pending @ before
        if row["joint"] is not None:
            kind = pin.JointModelRZ if row["type"] == "revolute" else pin.JointModelPZ
            parent = model.addJoint(parent, kind(), pin.SE3(pending), row["joint"])
            body, link = bodies[row["joint"]], pin.SE3(after @ np.linalg.inv(row["link_pose"]))
            model.appendBodyToJoint(parent, pin.Inertia(body.mass, body.center_of_mass, body.inertia), link)
            pending = np.eye(4)
        pending = pending @ after
    return model, pin.SE3(pending @ document["tool"])


def rebuilt_here(document: dict, chain: KinematicChain) -> SerialModel:
    """The model of the package from a modified table, one coordinate per joint."""
    bodies = {joint.name: joint.body for joint in chain.joints}
    columns: dict[str, list] = {key: [] for key in ("alpha", "a", "r", "theta", "y_shift", "prismatic")}
    mass, first_moment, inertia = [], [], []
    twist, length, shift = 0.0, 0.0, 0.0
    for row in document["rows"]:
        twist, length = twist + row["alpha"], length + row["a"]
        if row["joint"] is None:
            assert row["theta"] == 0.0
            shift = row["d"]
            continue
        values = (twist, length, row["d"], row["theta"], shift, row["type"] == "prismatic")
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
        body = bodies[row["joint"]]
        spatial = pin.Inertia(body.mass, body.center_of_mass, body.inertia)
        spatial = pin.SE3(np.linalg.inv(row["link_pose"])).act(spatial).matrix()
        mass.append(body.mass)
        first_moment.append([spatial[5, 1], spatial[3, 2], spatial[4, 0]])
        inertia.append(spatial[3:, 3:])
        twist, length, shift = 0.0, 0.0, 0.0
    rotation = document["base"][:3, :3]
    return SerialModel.from_dh(
        **columns,
        mass=mass,
        first_moment=first_moment,
        inertia=inertia,
        base=document["base"],
        tip=document["tool"],
        gravity=rotation.T @ GRAVITY,
    )


def torques(model: SerialModel, q, qd, qdd, wrench) -> np.ndarray:
    """Torques of the generated program."""
    program = generate(model, inputs=("wrench",), effort="none")
    return evaluate(program, {"q": q, "qd": qd, "qdd": qdd, "wrench": wrench})["tau"]


def pinocchio_torques(model, tip, q, qd, qdd, wrench) -> np.ndarray:
    forces = pin.StdVec_Force()
    for _ in range(model.njoints - 1):
        forces.append(pin.Force.Zero())
    forces.append(tip.act(pin.Force(-wrench[:3], -wrench[3:])))
    return np.array(pin.rnea(model, model.createData(), q, qd, qdd, forces))


def assert_same_torques(chain: KinematicChain) -> None:
    """From the chain, and from its tables with the coordinates of the chain put through the mimic factors."""
    rng = np.random.default_rng(len(chain.joints))
    states, wrench = rng.uniform(-2.0, 2.0, (3, chain.dof)), rng.normal(size=6)
    expected = torques(SerialModel.from_chain(chain, GRAVITY), *states, wrench)
    to_joints = np.zeros((len(chain.joints), chain.dof))
    for k, joint in enumerate(chain.joints):
        to_joints[k, joint.coordinate] = joint.multiplier
    moved = [to_joints @ state for state in states]
    bound = 1e-12 * np.abs(expected).max()
    for convention in ("modified", "standard"):
        table = dh_parameters(chain, convention)
        for document in (from_json(table.json()), from_csv(table.csv(), convention)):
            model, tip = rebuilt_in_pinocchio(document, chain)
            computed = to_joints.T @ pinocchio_torques(model, tip, *moved, wrench)
            np.testing.assert_allclose(computed, expected, rtol=0, atol=bound)
            if convention == "modified":
                computed = to_joints.T @ torques(rebuilt_here(document, chain), *moved, wrench)
                np.testing.assert_allclose(computed, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("path", share_of(ROBOTS))
def test_a_rebuilt_robot_needs_the_same_torques(path):
    for chain in chains_of(parse_urdf(path), LEAVES_PER_ROBOT):
        assert_same_torques(chain)


@pytest.mark.parametrize("path", share_of(ROBOTS))
def test_torques_are_those_of_pinocchio_on_the_joints_of_the_description(path):
    """As near as the rounding of angles allows: 1.57079632679 is taken for a quarter turn."""
    for chain in chains_of(parse_urdf(path), LEAVES_PER_ROBOT):
        if any(joint.offset != 0.0 or joint.multiplier != 1.0 for joint in chain.joints):
            continue
        model, parent = pin.Model(), 0
        model.gravity = pin.Motion(GRAVITY, np.zeros(3))
        for joint in chain.joints:
            kind = pin.JointModelRevoluteUnaligned
            if joint.kind.value == "prismatic":
                kind = pin.JointModelPrismaticUnaligned
            parent = model.addJoint(parent, kind(joint.axis), pin.SE3(joint.origin), joint.name)
            body = pin.Inertia(joint.body.mass, joint.body.center_of_mass, joint.body.inertia)
            model.appendBodyToJoint(parent, body, pin.SE3.Identity())
        rng = np.random.default_rng(3)
        states, wrench = rng.uniform(-2.0, 2.0, (3, chain.dof)), rng.normal(size=6)
        expected = pinocchio_torques(model, pin.SE3(chain.tip_transform), *states, wrench)
        computed = torques(SerialModel.from_chain(chain, GRAVITY), *states, wrench)
        np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("quarter", ["1.57", "1.5708", "1.570796", "1.5707963", "1.57079632679"])
def test_rebuilt_over_auxiliary_rows(quarter):
    """Each pair of neighbouring axes is parallel but for the digits that are missing."""
    turns = ["0 0 0", f"-{quarter} 0 0", f"{quarter} 0 {quarter}", f"0 {quarter} 0", f"{quarter} 0 0"]
    axes = ["0 0 1", "0 1 0", "0 0 1", "1 0 0", "0 0 1"]
    places = ["0 0 0.3", "0.1 0.2 0.2", "0.5 0.1 0", "0.4 0.3 0.1", "0.2 0.1 0.1"]
    joints = [
        given.joint(f"j{k}", f"l{k}", f"l{k + 1}", kind, xyz=places[k], rpy=turns[k], axis=axes[k])
        for k, kind in enumerate(["revolute", "revolute", "prismatic", "revolute", "revolute"])
    ]
    chain = load_urdf(given.robot(*(given.link(f"l{k}") for k in range(6)), *joints))
    rows = dh_parameters(chain).rows
    assert len(rows) > 5 or quarter in ("1.57", "1.57079632679")
    assert max(abs(length) for row in rows for length in (row.a, row.d)) < 4.0 * 3.0
    assert_same_torques(chain)
