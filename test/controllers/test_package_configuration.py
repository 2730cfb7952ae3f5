"""CMake's configuration of the generated package beside packages of ROS of several versions.

The packages found are empty: configured, not built. cmake itself and the package's files are real.
"""

import os
import re
import shutil
import subprocess

import pytest
from compilers import FOR_CMAKE
from patience import PATIENCE

from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource

FUNCTIONS = {
    "ament_cmake": "function(ament_package)\nendfunction()\n",
    "pluginlib": "function(pluginlib_export_plugin_description_file base)\n"
    "  message(STATUS exports-${base})\nendfunction()\n",
    "generate_parameter_library": "function(generate_parameter_library name)\n"
    "  add_library(${name} INTERFACE)\nendfunction()\n",
}
TARGETS = {"Eigen3": "Eigen3::Eigen"}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake")
    folder = tmp_path_factory.mktemp("workspace") / "puma_controllers"
    assert main(["generate", str(resource("urdf/puma560.urdf")), "--ros2-control", "-o", str(folder)]) == 0
    return folder


def configured(package, folder, version, solver):
    """CMake's result for the package where ``controller_interface`` has this version."""
    text = (package / "cmake/ros.cmake").read_text()
    listed = re.search(r"set\(CONTROLLER_DEPENDENCIES(.*?)\)", text, re.DOTALL)[1].split()
    for name in ["ament_cmake", "Eigen3", *listed, *(["inverse_dynamics_solver"] if solver else [])]:
        place = folder / "prefix/share" / name / "cmake"
        place.mkdir(parents=True)
        target = TARGETS.get(name, f"{name}::{name}")
        (place / f"{name}Config.cmake").write_text(
            f"if(NOT TARGET {target})\n  add_library({target} INTERFACE IMPORTED)\nendif()\n"
            + FUNCTIONS.get(name, "")
        )
        (place / f"{name}ConfigVersion.cmake").write_text(
            f"set(PACKAGE_VERSION {version})\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n"
        )
    command = ["cmake", "-S", package, "-B", folder / "build", "-DBUILD_TESTING=OFF"]
    command += [f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}"]
    environment = {**os.environ, **FOR_CMAKE}
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)


@pytest.mark.long
@pytest.mark.parametrize("version", ["4.44.0", "5.13.0", "6.5.0"])
def test_versions_with_lists_of_reference_interfaces_are_taken(package, tmp_path, version):
    done = configured(package, tmp_path, version, solver=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("version", ["2.50.0", "4.43.9", "5.12.0", "6.4.1"])
def test_older_versions_are_refused_with_the_one_that_is_needed(package, tmp_path, version):
    done = configured(package, tmp_path, version, solver=False)
    assert done.returncode != 0
    message = " ".join(done.stderr.split())
    assert f"controller_interface is {version}: this package needs 4.44 (Jazzy)" in message


@pytest.mark.parametrize("solver", [False, True])
def test_the_solver_s_plugin_is_built_where_its_package_is_there(package, tmp_path, solver):
    done = configured(package, tmp_path, "4.46.0", solver)
    assert done.returncode == 0, done.stderr
    assert "exports-controller_interface" in done.stdout
    assert ("exports-inverse_dynamics_solver" in done.stdout) == solver
    assert ("inverse_dynamics_solver was not found" in done.stdout) != solver
