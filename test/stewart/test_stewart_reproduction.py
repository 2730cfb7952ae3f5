"""Printed results of the paper, and the command that makes its figures."""

import numpy as np
import pytest

from robot_dynamics.cli import reproduce as reproduce_command
from robot_dynamics.papers.dasgupta.machines import paper_platform
from robot_dynamics.papers.dasgupta.reproduction import (
    paper_paths,
    reproduce,
    singular_instant,
    statements,
)

# Derived independently of this package, from the mended equations in vector form.
START_OF_PATH_I = [411.5293, -1146.6681, 1434.0676, -616.9372, -68.9928, 370.5364]


@pytest.fixture(scope="module")
def done():
    return reproduce()


def test_forces_at_the_start_of_path_i():
    platform, path = paper_platform(), paper_paths()["I"].line
    forces = platform.inverse_dynamics_of(path.at(0.0)).actuator_forces
    np.testing.assert_allclose(forces, START_OF_PATH_I, atol=6e-5)


def test_the_text_of_the_paper_holds_for_its_equations(done):
    found = list(statements(done, "published"))
    assert len(found) == 7
    assert [statement.claim for statement in found if not statement.agrees] == []


def test_only_the_greatest_dynamic_fraction_differs_in_the_exact_model(done):
    differing = [statement for statement in statements(done, "exact") if not statement.agrees]
    assert [statement.claim.split(" (")[0] for statement in differing] == [
        "Path I: the maximum may even go up to 40 %"
    ]


def test_path_iii_is_singular_where_the_paper_has_it(done):
    time, condition = singular_instant(done)
    assert time == pytest.approx(3.671, abs=5e-4)
    assert condition > 1e10
    result = done.results["III", "exact"]
    assert result.condition_number[37] > 2e4
    assert np.abs(result.actuator_forces).max() > 1e5


def test_static_forces_are_those_of_massless_legs(done):
    """Equation 41 by hand at the start of Path I, where nothing moves yet."""
    platform, path = done.platform, paper_paths()["I"].line
    start = path.at(0.0)
    body = platform.machine.platform
    arm = start.rotation @ body.center_of_mass
    weight = body.mass * (
        platform.machine.gravity - start.linear_acceleration - np.cross(start.angular_acceleration, arm)
    )
    inertia = start.rotation @ body.inertia @ start.rotation.T
    load = np.concatenate([weight, np.cross(arm, weight) - inertia @ start.angular_acceleration])
    expected = np.linalg.solve(platform.legs_of(start).jacobian.T, -load)
    np.testing.assert_allclose(done.results["I", "exact"].static_forces[0], expected, rtol=1e-10)


def test_the_command_prints_what_agrees_and_what_differs(done, capsys):
    assert reproduce_command._report(done)
    printed = capsys.readouterr().out
    assert "singular" in printed and "3.671 s" in printed and "40.5%" in printed and "DIFFERS" in printed
