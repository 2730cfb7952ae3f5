"""The package of ``robot_dynamics generate --cmake``: built, tested, installed, found and used from C++17."""

import shutil
import subprocess

import numpy as np
import pinocchio as pin
import pytest
from compilers import CC

from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource

URDF = resource("urdf/scara.urdf")
STRICT = "-Wall -Wextra -Wpedantic -Werror"
MASS, CENTER, INERTIA = 2.0, (0.1, -0.2, 0.3), (0.03, 0.001, -0.002, 0.04, 0.003, 0.05)
GRAVITY = (1.0, -2.0, -9.0)
STATE = np.array([[0.3, -0.4, 0.05, 0.6], [1.1, 0.7, -0.2, 0.002], [2.0, -1.0, 0.5, 3.0]])

PROJECT = """cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C CXX)
find_package(scara_dynamics 1.0 REQUIRED)
add_executable(user user.cpp)
target_compile_features(user PRIVATE cxx_std_17)
target_link_libraries(user PRIVATE scara_dynamics::scara_dynamics)
"""
USER = """#include <scara_dynamics/scara_dynamics.h>
#include <cmath>
#include <cstdio>
#include <string_view>
int main()
{
    static_assert(scara_joints == 4);
    if (std::string_view(scara_joint_names[2]) != "joint3"
        || std::string_view(scara_position_units[2]) != "m"
        || std::string_view(scara_effort_units[0]) != "N m"
        || scara_lower_limits[0] >= scara_upper_limits[0]) {
        return 1;
    }
    const double q[] = {Q}, qd[] = {QD}, qdd[] = {QDD}, gravity[] = {GRAVITY}, center[] = {CENTER};
    const double inertia[] = {INERTIA};
    double payload[10], tau[scara_joints], back[scara_joints], mass[scara_joints * scara_joints];
    scara_payload(MASS, center, inertia, payload);
    scara_inverse_dynamics(q, qd, qdd, gravity, payload, scara_default_friction, tau);
    scara_forward_dynamics(q, qd, tau, gravity, payload, scara_default_friction, back);
    scara_mass_matrix(q, payload, mass);
    for (int i = 0; i < scara_joints; ++i) {
        std::printf("%.17g %.17g %.17g\\n", tau[i], back[i], mass[5 * i]);
    }
}
"""


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_the_package_is_built_found_and_right(tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake")
    package, user = tmp_path / "package", tmp_path / "user"
    assert main(["generate", str(URDF), "--cmake", "-o", str(package), "--license", "MIT"]) == 0
    header = package / "include" / "scara_dynamics" / "scara_dynamics.h"
    assert header.read_text().startswith("/* SPDX-License-Identifier: MIT */\n")
    flags = [f"-DCMAKE_C_FLAGS={STRICT}", f"-DCMAKE_CXX_FLAGS={STRICT}"]
    run("cmake", "-B", "build", *flags, "-DSCARA_DYNAMICS_EXAMPLE=ON", cwd=package)
    run("cmake", "--build", "build", cwd=package)
    assert "100% tests passed" in run("ctest", "--test-dir", "build", cwd=package)
    run("cmake", "--install", "build", "--prefix", str(tmp_path / "installed"), cwd=package)
    assert "joint3" in run(str(package / "build" / "scara_example"), cwd=package)

    words = {"QDD": STATE[2], "QD": STATE[1], "Q": STATE[0], "GRAVITY": GRAVITY, "CENTER": CENTER}
    text = USER.replace("{INERTIA}", f"{{{', '.join(map(str, INERTIA))}}}").replace("MASS", str(MASS))
    for word, values in words.items():
        text = text.replace(f"{{{word}}}", f"{{{', '.join(map(str, values))}}}")
    user.mkdir()
    (user / "CMakeLists.txt").write_text(PROJECT)
    (user / "user.cpp").write_text(text)
    run("cmake", "-B", "build", *flags, f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}", cwd=user)
    run("cmake", "--build", "build", cwd=user)
    tau, back, diagonal = np.array(
        [line.split() for line in run("build/user", cwd=user).splitlines()], float
    ).T
    expected, mass = with_pinocchio()
    np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(diagonal, np.diag(mass), rtol=1e-10)
    np.testing.assert_allclose(back, STATE[2], rtol=1e-9, atol=1e-9)


def with_pinocchio():
    """Efforts and mass matrix with the payload appended, and the friction of the description."""
    model = pin.buildModelFromUrdf(str(URDF))
    model.gravity.linear = np.array(GRAVITY)
    xx, xy, xz, yy, yz, zz = INERTIA
    body = pin.Inertia(MASS, np.array(CENTER), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    tip = model.frames[model.getFrameId("link4")]
    model.appendBodyToJoint(tip.parentJoint, body, tip.placement)
    data = model.createData()
    tau = pin.rnea(model, data, *STATE)
    slow = np.clip(STATE[1] / 0.005, -1.0, 1.0)
    tau = tau + model.damping * STATE[1] + model.friction * 0.5 * slow * (3.0 - slow**2)
    return tau, pin.crba(model, data, STATE[0])


def test_nothing_is_allocated(tmp_path):
    assert main(["generate", str(URDF), "--cmake", "-o", str(tmp_path)]) == 0
    run(
        *CC,
        "-std=c99",
        "-O2",
        "-c",
        "src/scara_dynamics.c",
        "-I",
        "include",
        "-o",
        "dynamics.o",
        cwd=tmp_path,
    )
    needed = {line.split()[-1] for line in run("nm", "-u", "dynamics.o", cwd=tmp_path).splitlines()}
    assert needed <= {"sin", "cos", "sincos", "sqrt", "_GLOBAL_OFFSET_TABLE_"}


def test_what_makes_no_package_is_refused(tmp_path, capsys):
    for arguments, words in (
        (["--language", "python"], "not of python"),
        (["--quantity", "gravity"], "inverse_dynamics"),
        (["--license", "my own\nlicence"], "SPDX"),
    ):
        assert main(["generate", str(URDF), "--cmake", "-o", str(tmp_path), *arguments]) == 1
        assert words in capsys.readouterr().err
