"""The generated ros2_control package of a platform's leg drives, as far as it needs no ROS."""

import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import yaml
from compilers import CXX
from patience import LONG_PATIENCE, PATIENCE

from robot_dynamics.cli.main import main
from robot_dynamics.control.core.library import doubles, load_core
from robot_dynamics.resources import resource
from robot_dynamics.stewart.platform import load
from robot_dynamics.stewart.sdf import home_lengths

MACHINE = resource("config/stewart_demo.yaml")
PERIOD, TIMEOUT, DECELERATION, LOST = 1e-3, 0.02, 8.0, 200
FORCE, SPEED, START = 100.0, 0.4, 0.01
# Cycles of a millisecond: "b x" begins with all legs measured at x, "c stamp x v f" is a command, "n": none,
# "r" rests.
DRIVER = """
#include <cstdio>
#include <iostream>
#include "legs_control/leg_setpoints.hpp"
using namespace legs_control;
int main()
{
  LegSetpoints legs(0.02, 8.0, 0.02, 0.05);
  Setpoints s;
  for (char kind; std::cin >> kind;) {
    bool taken = true;
    if (kind == 'b') {
      std::string x;
      std::cin >> x;
      s.position.fill(std::stod(x));
      taken = legs.begin(s.position);
    } else if (kind == 'c') {
      std::string x, v, f;
      std::cin >> s.stamp >> x >> v >> f;
      s.position.fill(std::stod(x));
      s.velocity.fill(std::stod(v));
      s.force.fill(std::stod(f));
      taken = legs.take(s);
    }
    const Setpoints & out = kind == 'r' ? legs.rest() : legs.update(1e-3);
    std::printf("%d %d ", taken, legs.phase());
    std::printf("%.17g %.17g %.17g\\n", out.position[5], out.velocity[5], out.force[5]);
  }
}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace") / "legs_control"
    command = ["generate", str(MACHINE), "--ros2-control", "-o", str(folder), "--maintainer", "A B <a@b.org>"]
    assert main(command) == 0
    return folder


@pytest.fixture(scope="module")
def run(package, tmp_path_factory):
    """Runs cycles; columns: whether the command is followed, phase, position, velocity, force."""
    build = tmp_path_factory.mktemp("build")
    (build / "driver.cpp").write_text(DRIVER, encoding="utf-8")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{package / 'include'}"]
    command = [*CXX, *flags, str(build / "driver.cpp"), "-o", str(build / "driver")]
    subprocess.run(command, check=True, timeout=LONG_PATIENCE)

    def cycles(lines):
        text = "\n".join(lines)
        done = subprocess.run(
            [build / "driver"], input=text, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr
        return np.array([[float(word) for word in line.split()] for line in done.stdout.splitlines()])

    return cycles


def motion():
    """Commands every other millisecond, with the speed from the second one on; then none."""
    yield f"b {START}"
    for k in range(LOST):
        speed = SPEED if k else 0.0
        place = START + SPEED * max(k - 1, 0) * PERIOD
        yield f"c {1 + 1_000_000 * k} {place!r} {speed} {FORCE}" if k % 2 == 0 else "n"


def test_legs_that_get_no_command_stop_straight_on_and_rest(run):
    """The stop is the core's for drives that take setpoints; the force stays, and nothing is ever zero."""
    found = run([*motion(), *["n"] * 200])
    taken, phase, position, velocity, force = found.T
    assert taken.all()
    assert position[0] == START
    assert (velocity[0], force[0]) == (0.0, 0.0)
    assert (force[1:] == FORCE).all()
    assert (np.abs(np.diff(position)) <= 0.8 * PERIOD + 1e-12).all()  # the machine's speed limit
    last = START + SPEED * (LOST - 3) * PERIOD  # of the command of cycle LOST - 2
    begin = LOST - 1 + 20  # its cycle in `found`, and the timeout
    np.testing.assert_allclose(
        position[LOST - 1 : begin], last + SPEED * PERIOD * np.arange(1, 21), rtol=1e-12
    )
    for k in (1, 10, 30, 49, 60):
        place, rate = np.full(6, last + SPEED * TIMEOUT), np.full(6, SPEED)
        load_core().rd_rest_setpoints(
            6, k * PERIOD, DECELERATION, doubles(np.repeat([-9.0, 9.0], 6)), doubles(place), doubles(rate)
        )
        np.testing.assert_allclose(
            (position[begin + k - 1], velocity[begin + k - 1]), (place[5], rate[5]), atol=1e-5
        )
    assert phase[-1] == 0
    np.testing.assert_allclose(
        position[-1], last + SPEED * TIMEOUT + 0.5 * SPEED**2 / DECELERATION, atol=1e-5
    )


def test_only_commands_that_legs_can_follow_are_taken(run):
    stopped = [*motion(), *["n"] * 200]
    rest = float(run(stopped)[-1, 2])
    stamp = 900_000_000
    for command, taken in (
        (f"{rest + 1e-3!r} 0 50", True),
        (f"{rest + 0.019!r} 0 50", True),
        (f"{rest + 0.021!r} 0 50", False),
        (f"0 0 {FORCE}", False),
        (f"{rest!r} nan 50", False),
        (f"{rest!r} 0 inf", False),
        ("nan 0 50", False),
        (f"{rest!r} 2 50", False),
    ):
        found = run([*stopped, f"c {stamp} {command}", "n", "n"])
        assert bool(found[-3, 0]) == taken, command
        # Back to the command with 0.05 m/s: three cycles.
        np.testing.assert_allclose(found[-1, 2], rest + (1.5e-4 if taken else 0.0), atol=1e-12)
        assert found[-1, 4] == (50.0 if taken else FORCE)
    left = run([*motion(), "r", "n"])
    assert (left[-2:, 3] == 0.0).all()
    assert left[-2, 2] == left[-1, 2]
    assert run(["b 5"])[0, 0] == 0.0
    assert run(["b nan"])[0, 0] == 0.0


def test_the_package_has_what_ros2_control_looks_for(package):
    plugin = ElementTree.parse(package / "controller_plugin.xml").getroot()
    assert plugin.attrib["path"] == "legs_control"
    assert plugin[0].attrib["type"] == "legs_control::LegSetpointController"
    parameters = yaml.safe_load((package / "src/leg_parameters.yaml").read_text())["legs_control"]
    controllers = yaml.safe_load((package / "config/controllers.yaml").read_text())
    own = controllers["leg_setpoint_controller"]["ros__parameters"]
    assert set(own) == set(parameters)
    node = yaml.safe_load((package / "config/stewart_platform.yaml").read_text())["stewart_platform"]
    assert node["ros__parameters"]["zero_lengths"] == home_lengths(load(MACHINE).machine).tolist()
    assert parameters["stop_deceleration"]["default_value"] == own["stop_deceleration"] == DECELERATION
    robot = ElementTree.parse(package / "urdf/legs.urdf").getroot()
    joints = robot.find("ros2_control").findall("joint")
    assert [joint.attrib["name"] for joint in joints] == own["joints"]
    names = [each.attrib["name"] for each in joints[0].findall("command_interface")]
    assert names == own["command_interfaces"] == ["position", "velocity", "effort"]
    assert '<maintainer email="a@b.org">A B</maintainer>' in (package / "package.xml").read_text()
    left = [path for path in package.rglob("*") if path.is_file() and "@P" in path.read_text()]
    assert left == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--driver", "ur"], "--driver is for an arm"),
        (["--cmake"], "--cmake has no meaning with --ros2-control"),
        (["--name", "My Legs"], "cannot be the name of a ROS package"),
        (["--maintainer", "nobody"], "is not 'NAME <ADDRESS>'"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, capsys, options, words):
    command = ["generate", str(MACHINE), "--ros2-control", "-o", str(tmp_path / "p"), *options]
    assert main(command) != 0
    assert words in capsys.readouterr().err
    assert not (tmp_path / "p").exists()
