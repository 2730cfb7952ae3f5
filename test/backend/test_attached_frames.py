"""Frames on fixed joints are frames of the compiled quantities: their oracle is the chain that ends there."""

from __future__ import annotations

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource

FRAMES = """
<link name="flange"/><joint name="bolt" type="fixed"><parent link="link6"/><child link="flange"/>
<origin xyz="0.01 0 0.03" rpy="0.3 0 0"/></joint>
<link name="tool0"/><joint name="face" type="fixed"><parent link="flange"/><child link="tool0"/>
<origin xyz="0 -0.02 0.0823" rpy="0 0.7 1.1"/></joint>
<link name="camera"/><joint name="bracket" type="fixed"><parent link="link3"/><child link="camera"/>
<origin xyz="0.1 0.2 0.3" rpy="0.2 -0.5 0"/></joint></robot>"""
Q, QD = np.array([0.3, -0.8, 1.1, 0.5, -0.9, 0.2]), np.array([0.4, -0.2, 0.7, -1.0, 0.3, 0.9])


@pytest.fixture(scope="module")
def text():
    return resource("urdf/puma560.urdf").read_text(encoding="utf-8").replace("</robot>", FRAMES)


@pytest.fixture(scope="module", params=["python", "c"])
def arm(request, text):
    return rd.compile_dynamics(rd.load_urdf(text, tip="link6"), backend=request.param, quantities=())


@pytest.mark.filterwarnings("ignore::robot_dynamics.errors.ModelWarning")
@pytest.mark.parametrize(
    ("arm", "frame"),
    [("python", "flange"), ("python", "tool0"), ("python", "camera"), ("c", "camera")],
    indirect=["arm"],
)
def test_frames_on_fixed_joints_are_those_of_a_chain_that_ends_there(arm, text, frame):
    own = rd.compile_dynamics(rd.load_urdf(text, tip=frame), backend="python", quantities=())
    n = own.chain.dof
    np.testing.assert_allclose(
        arm.forward_kinematics(Q, frame=frame), own.forward_kinematics(Q[:n]), atol=1e-14
    )
    for axes in ("tip", "root"):
        full = np.zeros((6, 6))
        full[:, :n] = own.jacobian(Q[:n], axes=axes)
        np.testing.assert_allclose(arm.jacobian(Q, frame=frame, axes=axes), full, atol=1e-14)
        rate = own.jacobian_rate(Q[:n], QD[:n], axes=axes)
        np.testing.assert_allclose(arm.jacobian_rate(Q, QD, frame=frame, axes=axes), rate, atol=1e-13)


def test_several_frames_at_once(arm):
    poses = arm.forward_kinematics(Q, frames=["tool0", "link3", "camera", "link6"])
    for pose, frame in zip(poses, ("tool0", "link3", "camera", "link6"), strict=True):
        np.testing.assert_allclose(pose, arm.forward_kinematics(Q, frame=frame), atol=1e-15)


def test_an_unknown_frame_is_refused_with_the_names_that_are_known(arm):
    with pytest.raises(rd.ParameterError, match=r"'tool1'.*tool0"):
        arm.jacobian(Q, frame="tool1")


def test_generate_writes_the_jacobian_of_a_fixed_frame(text, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    options = ["--tip", "link6", "--quantity", "jacobian", "--frame", "tool0", "--language", "python"]
    assert main(["generate", str(path), *options, "-o", str(tmp_path)]) == 0
    (module,) = tmp_path.glob("*.py")
    assert "tool0" in module.read_text(encoding="utf-8")
