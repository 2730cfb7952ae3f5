"""Files of ``robot_dynamics generate`` are compiled, run and compared with Pinocchio."""

import ctypes
import subprocess
import sys

import numpy as np
import pinocchio
import pytest
from compilers import CC, CXX

from robot_dynamics.cli.main import main
from robot_dynamics.dynamics.export import identifier
from robot_dynamics.resources import resource

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
URDF = resource("urdf/puma560.urdf")
JOINTS = 6


@pytest.fixture(scope="module")
def arm():
    model = pinocchio.buildModelFromUrdf(str(URDF))
    return model, model.createData()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated")
    assert main(["generate", str(URDF), "-o", str(folder), "--name", "PUMA-560"]) == 0
    compiler = [*CC, "-std=c99", *STRICT, "-O1", "-fPIC"]
    subprocess.run([*compiler, "-c", "puma_560_dynamics.c", "-o", "puma.o"], cwd=folder, check=True)
    subprocess.run([*CC, "-shared", "puma.o", "-o", "puma.so", "-lm"], cwd=folder, check=True)
    return folder


def test_a_chain_without_end_is_refused_before_anything_is_generated(tmp_path, capsys):
    links = "".join(
        f'<link name="l{k}"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        f'<joint name="j{k}" type="continuous"><parent link="l{k - 1}"/><child link="l{k}"/>'
        '<origin xyz="1 0 0"/><axis xyz="0 1 0"/></joint>'
        for k in range(1, 1500)
    )
    file = tmp_path / "snake.urdf"
    file.write_text(f'<robot name="snake"><link name="l0"/>{links}</robot>', encoding="utf-8")
    assert main(["generate", str(file), "-o", str(tmp_path / "made")]) == 1
    assert "1499 joints from l0 to l1499; programs are generated for at most 150" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def call(function, size, *states):
    result = np.empty(size)
    function(*(ctypes.c_void_p(np.ascontiguousarray(state).ctypes.data) for state in (*states, result)))
    return result


def test_c_functions_agree_with_pinocchio(folder, arm):
    library = ctypes.CDLL(str(folder / "puma.so"))
    rng = np.random.default_rng(0)
    model, data = arm
    for _ in range(5):
        q, qd, third = rng.normal(size=(3, JOINTS))
        expected = pinocchio.rnea(model, data, q, qd, third)
        close = {"rtol": 0, "atol": 1e-11 * np.abs(expected).max()}
        tau = call(library.puma_560_inverse_dynamics, JOINTS, q, qd, third)
        np.testing.assert_allclose(tau, expected, **close)
        holding = pinocchio.computeGeneralizedGravity(model, data, q)
        np.testing.assert_allclose(call(library.puma_560_gravity, JOINTS, q), holding, **close)
        upper = np.triu(pinocchio.crba(model, data, q))
        matrix = call(library.puma_560_mass_matrix, JOINTS**2, q).reshape(JOINTS, JOINTS)
        np.testing.assert_allclose(matrix, upper + np.triu(upper, 1).T, **close)
        accelerations = pinocchio.aba(model, data, q, qd, third)
        np.testing.assert_allclose(
            call(library.puma_560_forward_dynamics, JOINTS, q, qd, third), accelerations, rtol=1e-9
        )


def test_files_say_what_they_are(folder):
    for name in ("puma_560_dynamics.c", "puma_560_dynamics.h"):
        head = (folder / name).read_text()[:1200]
        for words in (
            "do not modify by hand",
            "multiplications",
            "SHA-256",
            "joint1 (revolute), joint2 (revolute)",
            "m/s^2",
            "from link",
        ):
            assert words in head
    assert "q: joint positions [rad]" in (folder / "puma_560_dynamics.h").read_text()


def test_the_cpp_controller_compiles_without_warnings_and_tracks(folder):
    flags = ["-std=c++17", *STRICT, "-O1"]
    build = [*CXX, *flags, "example_controller.cpp", "puma.o", "-o", "example", "-lm"]
    subprocess.run(build, cwd=folder, check=True)
    run = subprocess.run([folder / "example"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    assert float(run.stdout.split(":")[1]) < 1e-3


@pytest.mark.long
def test_the_python_module_agrees_with_pinocchio(tmp_path, arm, monkeypatch):
    assert (
        main(["generate", str(URDF), "--language", "python", "-o", str(tmp_path), "--quantity", "all"]) == 0
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__("puma560_dynamics")
    sys.modules.pop("puma560_dynamics")
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, JOINTS))
    model, data = arm
    tau = module.puma560_inverse_dynamics(q.tolist(), qd.tolist(), qdd.tolist())
    np.testing.assert_allclose(tau, pinocchio.rnea(model, data, q, qd, qdd), rtol=1e-11, atol=1e-11)
    bias = pinocchio.rnea(model, data, q, qd, 0 * q) - pinocchio.rnea(model, data, q, 0 * q, 0 * q)
    np.testing.assert_allclose(module.puma560_coriolis(q.tolist(), qd.tolist()), bias, rtol=0, atol=1e-11)
    assert "do not modify by hand" in module.__doc__
    assert len(module.puma560_jacobian(q.tolist())) == 6 * JOINTS


def test_wrench_gravity_and_part_of_the_chain(tmp_path):
    arguments = [
        "--tip",
        "link3",
        "--wrench",
        "--gravity",
        "0",
        "9.81",
        "0",
        "--quantity",
        "inverse_dynamics",
    ]
    assert main(["generate", str(URDF), "-o", str(tmp_path), *arguments]) == 0
    header = (tmp_path / "puma560_dynamics.h").read_text()
    assert "const double wrench[6], double tau[3])" in header and "[0, 9.81, 0] m/s^2" in header
    assert not (tmp_path / "example_controller.cpp").exists()


def test_frames_and_axes_are_chosen(tmp_path, arm, monkeypatch):
    wanted = ["--quantity", "forward_kinematics", "--quantity", "jacobian", "--frames", "link2,link5"]
    wanted += ["--axes", "root", "--name", "framed", "--language", "python"]
    assert main(["generate", str(URDF), "-o", str(tmp_path), *wanted]) == 0
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__("framed_dynamics")
    model, data = arm
    q = np.random.default_rng(5).normal(size=JOINTS)
    pinocchio.forwardKinematics(model, data, q)
    poses = np.array(module.framed_forward_kinematics(q.tolist())).reshape(2, 4, 4)
    for pose, joint in zip(poses, (2, 5), strict=True):
        np.testing.assert_allclose(pose, data.oMi[joint].homogeneous, rtol=0, atol=1e-12)
    tip = model.nframes - 1
    expected = pinocchio.computeFrameJacobian(model, data, q, tip, pinocchio.LOCAL_WORLD_ALIGNED)
    jacobian = np.array(module.framed_jacobian(q.tolist())).reshape(6, JOINTS)
    np.testing.assert_allclose(jacobian, expected, rtol=0, atol=1e-12)
    assert main(["generate", str(URDF), "--frames", "link2", "--frame", "link2"]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no_such.urdf"], "no_such.urdf"),
        ([str(URDF), "--tip", "nowhere"], "nowhere"),
        ([str(URDF), "--gravity", "0", "0", "nan"], "gravity"),
        ([str(URDF), "-o", "/dev/null/folder"], "cannot write"),
    ],
)
def test_mistakes_are_explained(arguments, words, capsys):
    assert main(["generate", *arguments]) == 1
    assert words in capsys.readouterr().err


def test_units_follow_the_joints(tmp_path):
    scara = str(resource("urdf/scara.urdf"))
    assert main(["generate", scara, "-o", str(tmp_path), "--quantity", "inverse_dynamics"]) == 0
    header = (tmp_path / "scara_dynamics.h").read_text()
    assert "qd: joint velocities [rad/s or m/s]" in header
    assert "tau (out): joint efforts [N m or N]" in header and "(prismatic)" in header


def test_names_become_identifiers():
    assert identifier("KUKA LBR iiwa 14") == "kuka_lbr_iiwa_14"
    assert identifier("6-axis") == "robot_6_axis"
    assert identifier("Ünïcode") == "n_code"
    assert identifier("---") == "robot"
