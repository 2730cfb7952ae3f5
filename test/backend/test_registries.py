"""A quantity or an output language is one object in a registry: nothing else has to know it."""

import subprocess

import numpy as np
import pytest
from compilers import CC
from random_arms import PinocchioArm, random_chain

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.dynamics.export import Export
from robot_dynamics.dynamics.generator.choices import default_choices
from robot_dynamics.dynamics.generator.inputs import GRAVITY, WRENCH, InputArray, Inputs, Q
from robot_dynamics.dynamics.generator.mass_matrix import mass_matrix
from robot_dynamics.dynamics.generator.recursion import inverse_dynamics
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.languages import LANGUAGES, Language, language_named
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.dynamics.quantities.quantity import OutputArray, quantity
from robot_dynamics.errors import ParameterError
from robot_dynamics.native import cache
from robot_dynamics.resources import resource

SCALE = InputArray("scale", "factor of every entry", lambda sizes: 1, per_joint=False)
URDF = str(resource("urdf/puma560.urdf"))


def trace(request):
    inputs = Inputs(request, Q, SCALE)
    choices = default_choices(request.links)
    (scale,) = inputs["scale"]
    matrix = mass_matrix(inputs.graph, request.links, inputs["q"], choices)
    load = inverse_dynamics(inputs.graph, request.links, inputs.state(), choices)
    return Trace(
        inputs.graph, ([scale * entry for row in matrix for entry in row], [scale * x for x in load])
    )


@quantity(
    states=(Q, SCALE),
    optional=(WRENCH,),
    held=(GRAVITY,),
    outputs=(
        OutputArray("matrix", "mass matrix [kg m^2]", lambda sizes: (sizes.joints, sizes.joints)),
        OutputArray("load", "joint efforts [{effort}]"),
    ),
    trace=trace,
)
def trial(self, q, scale, wrench=None, out=None):
    """Mass matrix and gravity, scaled."""
    return self.function("trial")(q, scale, wrench, out)


@pytest.fixture(autouse=True)
def registered(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(QUANTITIES, "trial", trial)
    cache._folder.cache_clear()
    yield
    cache._folder.cache_clear()


@pytest.mark.long
@pytest.mark.parametrize("backend", ["c", "python"])
def test_a_quantity_of_any_inputs_and_several_outputs(backend):
    chain = random_chain(np.random.default_rng(8), 3)
    dynamics = rd.compile_dynamics(chain, backend=backend, quantities=())
    q = np.random.default_rng(1).normal(size=(5, 3))
    scale = np.linspace(1.0, 2.0, 5)[:, None]
    wrench = np.arange(6.0)
    for gravity in ((0.0, 0.0, -9.81), (1.0, 2.0, 3.0)):
        oracle = PinocchioArm(chain, gravity)
        turned = dynamics if gravity[0] == 0.0 else dynamics.with_gravity(gravity)
        matrix, load = turned.function("trial")(q, scale)
        _, pushed = turned.function("trial")(q, scale, wrench=wrench)
        assert matrix.shape == (5, 3, 3) and load.shape == (5, 3)
        for i in range(5):
            np.testing.assert_allclose(matrix[i], scale[i] * oracle.mass_matrix(q[i]), rtol=1e-11)
            np.testing.assert_allclose(load[i], scale[i] * oracle.gravity(q[i]), rtol=1e-10)
            rest = np.zeros(3)
            expected = scale[i] * oracle.inverse_dynamics(q[i], rest, rest, wrench)
            np.testing.assert_allclose(pushed[i], expected, rtol=1e-10)
    assert dynamics.operation_count("trial").total > 0


def test_a_quantity_is_exported_like_any_other(tmp_path):
    folder = tmp_path / "made"
    assert main(["generate", URDF, "--quantity", "trial", "-o", str(folder)]) == 0
    header = (folder / "puma560_dynamics.h").read_text()
    assert "double matrix[36], double load[6])" in header and "load (out): joint efforts [N m]" in header
    strict = [*CC, "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "puma560_dynamics.c"]
    subprocess.run(strict, cwd=folder, check=True)


def files(export: Export):
    return {"start/here.txt": export.name, "deep/er/names.txt": " ".join(export.chain.joint_names)}


def test_a_language_writes_as_many_files_as_it_likes(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(LANGUAGES, "plain", Language(files, lambda _, main: f"read {main}"))
    assert main(["generate", URDF, "--language", "plain", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "start" / "here.txt").read_text() == "puma560"
    assert (tmp_path / "deep" / "er" / "names.txt").read_text().split()[0] == "joint1"
    assert f"read {tmp_path / 'start' / 'here.txt'}" in capsys.readouterr().out


def test_an_unknown_language_is_refused_with_those_that_are_known(capsys):
    with pytest.raises(ParameterError, match=r"no language 'fortran'; choose from c, python"):
        language_named("fortran")
    with pytest.raises(SystemExit):
        main(["generate", URDF, "--language", "fortran"])
    error = capsys.readouterr().err
    assert "fortran" in error and "python" in error
