"""The C of a machine: compiled, run without a warning, and equal to the library."""

import csv
import ctypes
import io
import shutil
import subprocess

import numpy as np
import pytest
from compilers import CC

from robot_dynamics import stewart
from robot_dynamics.cli.main import main
from robot_dynamics.control.stewart.platform_model import loaded as carry
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.papers.dasgupta.machines import paper_platform
from robot_dynamics.papers.dasgupta.reproduction import paper_paths
from robot_dynamics.resources import resource
from robot_dynamics.stewart.export import c_files
from robot_dynamics.stewart.kinematics import condition_number
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_of

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-O1", "-fPIC"]
DEMO = resource("config/stewart_demo.yaml")


def build(folder, name):
    sources = [f"{name}_dynamics.c", f"{name}_kinematics.c"]
    subprocess.run([*CC, *STRICT, "-shared", *sources, "-o", "machine.so", "-lm"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "machine.so"))
    getattr(library, f"{name}_condition_number").restype = ctypes.c_double
    return library


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machine")
    assert main(["generate", str(DEMO), "-o", str(folder), "--name", "hexa pod"]) == 0
    return build(folder, "hexa_pod"), stewart.load(DEMO)


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def call(function, size, *given):
    result = np.full(size, np.nan)
    arrays = [np.ascontiguousarray(array, dtype=float) for array in given]
    code = function(*map(pointer, arrays), pointer(result))
    return result, code


def search(function, lengths, start, tolerance=1e-10, most=30):
    pose, residual, steps = np.array(start, dtype=float), ctypes.c_double(-1.0), ctypes.c_int(-1)
    code = function(
        pointer(np.ascontiguousarray(lengths)),
        ctypes.c_double(tolerance),
        ctypes.c_int(most),
        pointer(pose),
        ctypes.byref(residual),
        ctypes.byref(steps),
    )
    return code, pose, residual.value, steps.value


def poses(seed, count):
    rng = np.random.default_rng(seed)
    positions = np.array([0.0, 0.0, 0.55]) + rng.uniform(-0.12, 0.12, (count, 3))
    quaternions = quaternion_from_rotation(rotation_of(rng.uniform(-0.5, 0.5, (count, 3))))
    return np.hstack([positions, quaternions])


def test_kinematics_are_those_of_the_library(demo):
    library, platform = demo
    for pose in poses(1, 50):
        legs = platform.legs(pose[:3], pose[3:])
        lengths, _ = call(library.hexa_pod_inverse_kinematics, 6, pose)
        jacobian, _ = call(library.hexa_pod_jacobian, 36, pose)
        np.testing.assert_allclose(lengths, legs.lengths, rtol=1e-14)
        np.testing.assert_allclose(jacobian.reshape(6, 6), legs.jacobian, atol=1e-14)
        rates = np.random.default_rng(2).normal(size=6)
        twist, code = call(library.hexa_pod_twist, 6, pose, rates)
        assert code == 0
        np.testing.assert_allclose(legs.jacobian @ twist, rates, atol=1e-12)
        expected = condition_number(legs.jacobian, platform.machine.characteristic_length)
        assert library.hexa_pod_condition_number(pointer(pose)) == pytest.approx(float(expected), rel=1e-12)


def test_the_pose_of_leg_lengths_is_the_librarys_and_the_true_one(demo):
    library, platform = demo
    home = np.ctypeslib.as_array((ctypes.c_double * 7).in_dll(library, "hexa_pod_home"))
    np.testing.assert_allclose(home, [0.0, 0.0, 0.55, 0.0, 0.0, 0.0, 1.0], atol=1e-15)
    for wanted in poses(3, 200):
        lengths = platform.legs(wanted[:3], wanted[3:]).lengths
        code, pose, residual, steps = search(library.hexa_pod_forward_kinematics, lengths, home)
        found = platform.forward_kinematics(lengths)
        assert code == 0 and found.converged and residual <= 1e-10
        assert steps == found.iterations
        np.testing.assert_allclose(pose, [*found.position, *found.orientation], atol=1e-12)
        np.testing.assert_allclose(pose, wanted, atol=1e-8)
        code, tight, residual, _ = search(library.hexa_pod_forward_kinematics, lengths, home, 1e-14, 40)
        if code == 0:
            np.testing.assert_allclose(tight, wanted, atol=1e-12)


def test_what_cannot_be_found_is_told_and_leaves_the_start(demo):
    library, platform = demo
    home = np.array([0.0, 0.0, 0.55, 0.0, 0.0, 0.0, 1.0])
    lengths = platform.legs(home[:3], home[3:]).lengths
    find = library.hexa_pod_forward_kinematics
    for wrong, expected in (
        ([0.1, 2.0, 0.1, 2.0, 0.1, 2.0], (1, 2)),
        (np.where(np.arange(6) == 3, np.nan, lengths), (3,)),
        (np.where(np.arange(6) == 3, np.inf, lengths), (3,)),
        (np.where(np.arange(6) == 3, 0.0, lengths), (3,)),
    ):
        code, pose, *_ = search(find, np.array(wrong), home)
        assert code in expected
        np.testing.assert_array_equal(pose, home)
    assert search(find, lengths, [*home[:3], 0.0, 0.0, 0.0, 0.0])[0] == 3
    assert search(find, lengths + 0.01, home, 1e-10, 1)[0] == 2


def test_a_singular_pose_is_told(tmp_path):
    """The paper's machine on its third path, which is singular at 3.671 s."""
    platform = paper_platform()
    for name, text in c_files(platform.machine, "paper", "a test").items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    library = build(tmp_path, "paper")
    path = paper_paths()["III"].line
    time = platform.singular_time(path)
    motion = path.at(time)
    pose = np.concatenate([motion.position, quaternion_from_rotation(motion.rotation)])
    assert library.paper_condition_number(pointer(pose)) > 1e9
    far = path.at(time - 0.5)
    start = np.concatenate([far.position, quaternion_from_rotation(far.rotation)])
    number = condition_number(platform.legs_of(far).jacobian, platform.machine.characteristic_length)
    assert library.paper_condition_number(pointer(start)) == pytest.approx(float(number), rel=1e-11)
    lengths = platform.legs_of(motion).lengths
    code, *_ = search(library.paper_forward_kinematics, lengths + 1e-3 * np.eye(6)[0], pose)
    assert code in (1, 2)


def test_forces_are_those_of_the_library(demo):
    library, platform = demo
    rng = np.random.default_rng(5)
    for pose in poses(4, 30):
        rest = rng.normal(size=(6, 3))
        motion = stewart.pack(pose[:3], pose[3:], *rest)
        forces, _ = call(library.hexa_pod_inverse_dynamics, 6, motion)
        compiled = platform.compile("c").actuator_forces(motion)
        np.testing.assert_allclose(forces, compiled, atol=1e-12 * np.abs(compiled).max())
        expected = platform.inverse_dynamics(pose[:3], pose[3:], *rest, on_violation="report").actuator_forces
        np.testing.assert_allclose(forces, expected, atol=1e-12 * np.abs(expected).max())


def test_forces_with_a_payload_are_those_of_a_machine_that_carries_it(demo):
    library, platform = demo
    rng, none = np.random.default_rng(7), np.zeros(10)
    for pose in poses(8, 20):
        rest = rng.normal(size=(6, 3))
        motion = stewart.pack(pose[:3], pose[3:], *rest)
        spread = np.diag(rng.uniform(0.0, 0.2, 3))
        turn = rotation_of(rng.uniform(-1.0, 1.0, 3))
        inertia = turn @ (np.trace(spread) * np.eye(3) - spread) @ turn.T
        mass, center = rng.uniform(1.0, 20.0), rng.uniform(-0.2, 0.2, 3)
        six = inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        payload = np.zeros(10)
        library.hexa_pod_payload(ctypes.c_double(mass), pointer(center), pointer(six), pointer(payload))
        loaded, _ = call(library.hexa_pod_inverse_dynamics_with_payload, 6, motion, payload)
        carrying = stewart.StewartPlatform(carry(platform.machine, RigidBody(mass, center, inertia)))
        expected = carrying.inverse_dynamics(pose[:3], pose[3:], *rest, on_violation="report").actuator_forces
        np.testing.assert_allclose(loaded, expected, atol=1e-11 * np.abs(expected).max())
        empty, _ = call(library.hexa_pod_inverse_dynamics_with_payload, 6, motion, none)
        np.testing.assert_array_equal(empty, call(library.hexa_pod_inverse_dynamics, 6, motion)[0])


def test_limits_of_a_pose_are_those_of_the_library(demo):
    library, platform = demo
    kinds = {1: "length", 2: "length", 3: "base_angle", 4: "platform_angle", 5: "condition_number"}
    rng, seen = np.random.default_rng(9), set()
    for _ in range(400):
        turn = quaternion_from_rotation(rotation_of(rng.uniform(-0.9, 0.9, 3)))
        pose = np.concatenate([np.array([0.0, 0.0, 0.55]) + rng.uniform(-0.2, 0.2, 3), turn])
        lengths, leg = np.full(6, np.nan), ctypes.c_int(-9)
        kind = library.hexa_pod_checked_inverse_kinematics(pointer(pose), pointer(lengths), ctypes.byref(leg))
        found = platform.check_pose(pose[:3], pose[3:], on_violation="report")
        np.testing.assert_allclose(lengths, platform.legs(pose[:3], pose[3:]).lengths, rtol=1e-14)
        broken = {(one.quantity, one.leg) for one in found}
        if kind == 0:
            assert not broken and leg.value == -1
        else:
            assert (kinds[kind], None if leg.value < 0 else leg.value) in broken
        seen.add(kind)
    assert {0, 1, 2} <= seen


@pytest.mark.long
def test_the_cmake_package_builds_checks_itself_and_runs_its_example(tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    words = ["--cmake", "--license", "MIT", "--name", "hexa pod"]
    assert main(["generate", str(DEMO), "-o", str(tmp_path), *words]) == 0
    for step in (
        ["cmake", "-B", "build", "-DHEXA_POD_DYNAMICS_EXAMPLE=ON", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror"],
        ["cmake", "--build", "build"],
        ["ctest", "--test-dir", "build", "--output-on-failure"],
        ["cmake", "--install", "build", "--prefix", "installed"],
    ):
        subprocess.run(step, cwd=tmp_path, check=True, capture_output=True)
    told = subprocess.run(
        [str(tmp_path / "build/hexa_pod_example")], capture_output=True, text=True, check=True
    )
    home = stewart.load(DEMO)
    lengths = home.legs(home.machine.home_position, [0.0, 0.0, 0.0]).lengths
    assert told.stdout.splitlines()[0].startswith(f"leg 1: {lengths[0]:.4f} m")
    assert (tmp_path / "installed/include/hexa_pod_dynamics/hexa_pod_kinematics.h").is_file()
    assert "SPDX-License-Identifier: MIT" in (tmp_path / "src/hexa_pod_dynamics.c").read_text()


def test_options_of_an_arm_are_refused(tmp_path, capsys):
    for words in (["--tip", "a"], ["--quantity", "gravity"], ["--language", "python"], ["--wrench"]):
        assert main(["generate", str(DEMO), "-o", str(tmp_path), *words]) == 1
        assert words[0] in capsys.readouterr().err


def test_a_machine_and_a_motion_may_come_from_standard_input(tmp_path, monkeypatch, capsys):
    def given(data):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    file = tmp_path / "motion.csv"
    file.write_text("time,x,y,z,qx,qy,qz,qw\n0,0,0,0.55,0,0,0,1\n1,0,0,0.56,0,0,0,1\n", encoding="utf-8")
    machine = DEMO.read_bytes()
    assert main(["inverse-dynamics", str(DEMO), "--states", str(file)]) == 0
    expected = capsys.readouterr().out
    given(machine)
    assert main(["inverse-dynamics", "-", "--states", str(file)]) == 0
    assert capsys.readouterr().out == expected
    given(file.read_bytes())
    assert main(["inverse-dynamics", str(DEMO), "--states", "-"]) == 0
    assert capsys.readouterr().out == expected
    for words, data in (
        (["generate", "-", "-o", str(tmp_path)], machine),
        (["sdf", "-"], machine),
        (["stewart", "check", "-", str(file)], machine),
        (["stewart", "check", str(DEMO), "-"], file.read_bytes()),
    ):
        given(data)
        assert main(words) == 0, words
    capsys.readouterr()
    for words in (["inverse-dynamics", "-", "--states", "-"], ["stewart", "check", "-", "-"]):
        given(machine)
        assert main(words) == 1
        assert "cannot both be read from standard input" in capsys.readouterr().err


def test_the_forces_of_a_motion_by_csv(tmp_path, capsys):
    """Oracle: the path that the poses were taken from."""
    platform = stewart.load(DEMO)
    path = stewart.straight_line(
        [0.0, 0.0, 0.55], [0.0, 0.0, 0.0], [0.05, -0.03, 0.58], [0.1, 0.05, -0.1], 1.0
    )
    times = np.linspace(0.0, 1.0, 401)
    motion = path.at(times)
    rows = np.column_stack([times + 3.0, motion.position, quaternion_from_rotation(motion.rotation)])
    file = tmp_path / "motion.csv"
    np.savetxt(file, rows, delimiter=",", header="time,x,y,z,qx,qy,qz,qw", comments="")
    assert main(["inverse-dynamics", str(DEMO), "--states", str(file)]) == 0
    written = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert written[0] == ["time", *(f"leg_{k}.effort" for k in range(1, 7))]
    values = np.array(written[1:], dtype=float)
    expected = platform.inverse_dynamics_of(motion).actuator_forces
    np.testing.assert_allclose(values[:, 0], times + 3.0, atol=1e-12)
    np.testing.assert_allclose(values[20:-20, 1:], expected[20:-20], atol=0.02)
    file.write_text("time,x,y,z,qx,qy,qz,qw\n0,0,0,0.55,0,0,0,1\n", encoding="utf-8")
    assert main(["inverse-dynamics", str(DEMO), "--states", str(file)]) == 0
    values = np.array(capsys.readouterr().out.split("\n")[1].split(","), dtype=float)
    rest = platform.inverse_dynamics([0.0, 0.0, 0.55], [0.0, 0.0, 0.0], *np.zeros((4, 3)))
    np.testing.assert_allclose(values[1:], rest.actuator_forces, atol=1e-9)
