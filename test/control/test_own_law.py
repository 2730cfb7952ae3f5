"""A control law of one's own, in C and in Python, as docs/how_to/controllers_without_ros.md has both."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

import robot_dynamics
from robot_dynamics.resources import resource

PACKAGE = Path(robot_dynamics.__file__).parent
NAME = "    RD_SPRING,                    /* pulls to the reference as a damped spring does */\n"
FUNCTION = """
static int spring(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    if (!arm_load(core, s, effort)) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        effort[j] += s->kp[j] * (core->reference.position[j] - core->state.position[j])
            - s->kv[j] * core->state.velocity[j];
    }
    return (void)ahead, (void)half, 1;
}

"""
USE = """
import numpy as np
import robot_dynamics as rd
from robot_dynamics.control.arm.laws import arm_modes

@rd.arm_law("spring_in_python")
def spring(model, given):
    weight = model.inverse_dynamics(given.position, 0.0 * given.position, 0.0 * given.position)
    return weight + given.kp * (given.reference.position - given.position) - given.kv * given.velocity

chain = rd.load_urdf("puma560.urdf")
q, qd, efforts = np.linspace(0.1, 0.6, 6), np.linspace(-0.2, 0.3, 6), []
for mode in ("spring", "spring_in_python"):
    controller = rd.ArmController(chain, parameters=rd.ArmParameters(mode=mode, kp=(40.0,), kv=(3.0,)))
    controller.update(0.0, q, np.zeros(6))
    efforts.append(controller.update(0.01, q + 1e-3, qd).unlimited)
    assert bool(controller.python_parts) == (mode == "spring_in_python")
weight = controller.dynamics.inverse_dynamics(q + 1e-3, np.zeros(6), np.zeros(6))
np.testing.assert_allclose(efforts, [weight - 40.0 * 1e-3 - 3.0 * qd] * 2, rtol=1e-12)
print(*arm_modes())
"""


@pytest.mark.long
def test_a_law_is_one_function_and_its_name(tmp_path):
    """A copy of the package gets a law in C; beside it, the same law is a Python function."""
    core = tmp_path / "robot_dynamics" / "control" / "core"
    shutil.copytree(
        PACKAGE, tmp_path / "robot_dynamics", ignore=shutil.ignore_patterns("__pycache__", "built")
    )
    for name, place, added in (
        ("core.h", "    RD_CALLED ", NAME),
        ("law.c", "/* The law of each mode:", FUNCTION),
        ("law.c", "    [RD_CALLED] = called,\n", "    [RD_SPRING] = spring,\n"),
    ):
        text = (core / name).read_text()
        assert text.count(place) == 1
        (core / name).write_text(text.replace(place, added + place))
    shutil.copy(resource("urdf/puma560.urdf"), tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [
        "computed_torque", "feedforward", "gravity_compensation", "pd", "joint_impedance",
        "cartesian_impedance", "hand_guiding", "spring", "spring_in_python",
    ]  # fmt: skip
