"""Names that ``import robot_dynamics`` gives: everything that a user needs by name, and nothing else."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics import errors
from robot_dynamics.resources import resource

ROOT = Path(__file__).resolve().parent.parent


def names_for_the_type_checker():
    """The names imported under TYPE_CHECKING."""
    tree = ast.parse(Path(rd.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return sorted(alias.asname or alias.name for node in block.body for alias in node.names)


def test_dir_shows_the_public_names_and_nothing_else():
    assert sorted(dir(rd)) == sorted([*rd.__all__, "__version__"])
    assert not [name for name in dir(rd) if name.startswith("_") and name != "__version__"]


def test_dir_stays_so_after_everything_has_been_loaded():
    for name in rd.__all__:
        getattr(rd, name)
    assert sorted(dir(rd)) == sorted([*rd.__all__, "__version__"])


def test_the_type_checker_knows_the_same_names():
    assert names_for_the_type_checker() == sorted(rd.__all__)


def test_every_public_name_is_documented():
    for name in rd.__all__:
        assert inspect.getdoc(getattr(rd, name)), name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'load_udrf'"):
        _ = rd.load_udrf


@pytest.mark.long
def test_every_error_is_public_and_stands_in_one_place():
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == errors.__name__
    }
    assert defined <= set(rd.__all__)
    for path in (ROOT / "robot_dynamics").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name.endswith(("Error", "Warning")):
                assert path.name == "errors.py", f"{node.name} is defined in {path}"


def test_importing_the_package_loads_nothing():
    program = "import sys, robot_dynamics; print(len([m for m in sys.modules if 'robot_dynamics.' in m]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_one_version_everywhere():
    declared = re.search(r"<version>(.*)</version>", (ROOT / "package.xml").read_text(encoding="utf-8"))
    assert declared is not None and declared.group(1) == rd.__version__


def test_formulations_agree_with_the_generated_model():
    chain = rd.load_urdf(resource("urdf/puma560.urdf"))
    model = rd.SerialModel.from_chain(chain)
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, chain.dof))
    generated = rd.compile_dynamics(chain).inverse_dynamics(q, qd, qdd)
    for name, formulation in rd.formulations.FORMULATIONS.items():
        np.testing.assert_allclose(
            formulation(model, q, qd, qdd), generated, rtol=0, atol=1e-10, err_msg=name
        )


def test_objects_introduce_themselves_in_a_line():
    chain = rd.load_urdf(resource("urdf/puma560.urdf"))
    things = {
        "puma560": chain,
        "modified": rd.dh_parameters(chain),
        "joint1": rd.SerialModel.from_chain(chain),
        "6 joints": rd.compile_dynamics(chain),
        "joint2": chain.joints[1],
        "stewart_demo": rd.load_stewart(resource("config/stewart_demo.yaml")),
    }
    for word, thing in things.items():
        assert len(repr(thing)) < 160 and "\n" not in repr(thing), repr(thing)
        assert word in repr(thing), repr(thing)


def test_a_table_shows_itself_in_a_notebook():
    table = rd.dh_parameters(rd.load_urdf(resource("urdf/puma560.urdf")))
    html = table._repr_html_()
    assert html.count("<tr") >= 1 + len(table.rows) and "joint6" in html


@pytest.mark.parametrize(
    ("called", "text"),
    [
        (lambda arm: rd.load_urdf(5), "a robot description must be a path"),
        (lambda arm: rd.load_urdf(arm, tip=5), "tip is 5; it must be the name of a link"),
        (lambda arm: rd.load_urdf(arm, root=5), "root is 5; it must be the name of a link"),
        (lambda arm: rd.load_urdf(arm, tips=["link6", 3]), "tips has 3; it must be the name of a link"),
        (
            lambda arm: rd.load_urdf(arm, locked_joints=5),
            "locked_joints is 5; it must be a mapping of joints",
        ),
        (lambda arm: rd.compile_dynamics(5), "chain is 5; it must be a KinematicChain"),
        (lambda arm: rd.dh_parameters(5), "chain is 5; it must be a KinematicChain"),
        (lambda arm: rd.retime(5, 5), "model is 5; it must be a KinematicChain, CompiledDynamics"),
        (lambda arm: rd.load_stewart(5), "a machine must be a path"),
        (lambda arm: rd.ArmController(5, rd.ArmParameters()), "chain is 5; it must be a KinematicChain"),
    ],
)
def test_arguments_of_a_wrong_type_raise_both_errors(called, text):
    with pytest.raises(TypeError, match=text) as raised:
        called(resource("urdf/puma560.urdf"))
    assert isinstance(raised.value, rd.RobotDynamicsError)
