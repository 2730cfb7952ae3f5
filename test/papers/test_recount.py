"""The written programs, counted and run again by a C parser that knows nothing of this package."""

import json
import math
import re

import numpy as np
import pytest
from pycparser import c_ast, c_parser

from robot_dynamics.cli.main import main
from robot_dynamics.dynamics.formulations import FORMULATIONS
from robot_dynamics.papers.dasgupta.machines import paper_platform
from robot_dynamics.papers.reference_models import REFERENCE_MODELS
from robot_dynamics.stewart import Motion, pack
from robot_dynamics.stewart.orientation import quaternion_from_rotation

pytestmark = pytest.mark.long

ARMS = [reference.file for reference in REFERENCE_MODELS]
ENDINGS = ("", "_own_angles")
STEWART = ("stewart_paper", "stewart_general", "stewart_general_any_gravity")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("counted")


@pytest.fixture(scope="module")
def printed(folder):
    """Output of the command while it writes the files, as {file: (multiplications, additions, …)}."""
    import contextlib
    import io

    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert main(["count", "--format", "json", "--draws", "0", "--write", str(folder)]) == 0
    document = json.loads(output.getvalue())
    found = {}
    for file, row in zip(ARMS, document["generated_reference_models"], strict=True):
        found[file], found[f"{file}_own_angles"] = row["generated"], row["generated_with_joint_angles_only"]
    for file, row in zip(STEWART, document["generated_stewart_models"], strict=True):
        found[file], found[f"{file}_frictionless"] = row["friction"], row["frictionless"]
    return found


class Interpreter(c_ast.NodeVisitor):
    """Runs the one function of a file on numbers, and counts its operators and calls."""

    def __init__(self, path, inputs):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
        (self.function,) = c_parser.CParser().parse(text).ext
        self.values = {name: list(values) for name, values in inputs.items()}
        self.operators = {"+": 0, "-": 0, "*": 0, "/": 0, "negative": 0}
        self.calls = {"sin": 0, "cos": 0, "sqrt": 0}
        self.arguments = []
        for statement in self.function.body.block_items:
            self.run(statement)

    @property
    def name(self):
        return self.function.decl.name

    def run(self, statement):
        if isinstance(statement, c_ast.Decl):
            assert statement.type.type.names == ["double"]
            self.values[statement.name] = self.value(statement.init)
        elif isinstance(statement, c_ast.Assignment):
            assert statement.op == "=" and isinstance(statement.lvalue, c_ast.ArrayRef)
            target = self.values.setdefault(statement.lvalue.name.name, {})
            target[int(statement.lvalue.subscript.value)] = self.value(statement.rvalue)
        else:
            raise AssertionError(f"unexpected statement {statement}")

    def value(self, node):
        if isinstance(node, c_ast.Constant):
            return float(node.value)
        if isinstance(node, c_ast.ID):
            return self.values[node.name]
        if isinstance(node, c_ast.ArrayRef):
            return self.values[node.name.name][int(node.subscript.value)]
        if isinstance(node, c_ast.UnaryOp):
            assert node.op == "-"
            self.operators["negative"] += 1
            return -self.value(node.expr)
        if isinstance(node, c_ast.BinaryOp):
            left, right = self.value(node.left), self.value(node.right)
            self.operators[node.op] += 1
            operations = {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "/": left.__truediv__}
            return operations[node.op](right)
        assert isinstance(node, c_ast.FuncCall)
        (argument,) = node.args.exprs
        self.calls[node.name.name] += 1
        if node.name.name != "sqrt":
            self.arguments.append(argument)
        return getattr(math, node.name.name)(self.value(argument))


def states(seed):
    return dict(zip(("q", "qd", "qdd"), np.random.default_rng(seed).uniform(-2.0, 2.0, (3, 6)), strict=True))


def stewart_motion(platform):
    random = np.random.default_rng(4)
    vectors = [0.3 * random.normal(size=3) for _ in range(6)]
    machine = platform.machine
    packed = pack(machine.home_position, quaternion_from_rotation(machine.home_rotation), *vectors)
    return packed, Motion(machine.home_position, machine.home_rotation, *vectors)


def counted(run):
    operators, calls = run.operators, run.calls
    return {
        "multiplications": operators["*"],
        "additions": operators["+"] + operators["-"],
        "divisions": operators["/"],
        "square_roots": calls["sqrt"],
        "sines_and_cosines": calls["sin"] + calls["cos"],
    }


def test_every_counted_program_is_written_once(folder, printed):
    assert sorted(path.stem for path in folder.glob("*.c")) == sorted(printed)
    assert len(printed) == 14


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("file", ARMS)
def test_an_arms_program_has_the_operations_that_are_printed(folder, printed, file, ending):
    run = Interpreter(folder / f"{file}{ending}.c", states(1))
    assert run.name == file + ending
    assert counted(run) == printed[file + ending]


@pytest.mark.parametrize("file", [f"{name}{end}" for name in STEWART for end in ("", "_frictionless")])
def test_a_platforms_program_has_the_operations_that_are_printed(folder, printed, file):
    packed, _ = stewart_motion(paper_platform())
    run = Interpreter(folder / f"{file}.c", {"motion": packed})
    assert run.name == file
    assert counted(run) == printed[file]


@pytest.mark.parametrize("file", ARMS)
def test_own_angles_means_that_only_joint_angles_have_sines_and_cosines(folder, printed, file):
    run = Interpreter(folder / f"{file}_own_angles.c", states(1))
    assert all(isinstance(argument, c_ast.ID | c_ast.ArrayRef) for argument in run.arguments)
    assert len(run.arguments) <= 12


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("reference", REFERENCE_MODELS, ids=lambda r: r.file)
def test_the_written_program_computes_the_torques(folder, printed, reference, ending):
    for seed in range(3):
        inputs = states(seed)
        run = Interpreter(folder / f"{reference.file}{ending}.c", inputs)
        expected = FORMULATIONS["augmented-body"](reference.model(), *inputs.values())
        found = [run.values["tau"][i] for i in range(6)]
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


def test_the_written_platform_computes_the_forces(folder, printed):
    platform = paper_platform()
    packed, motion = stewart_motion(platform)
    run = Interpreter(folder / "stewart_paper.c", {"motion": packed})
    expected = platform.inverse_dynamics_of(motion).actuator_forces
    found = [run.values["actuator_forces"][i] for i in range(6)]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_a_robots_program_is_written_too(tmp_path, capsys):
    from robot_dynamics.resources import resource

    arguments = ["count", str(resource("urdf/puma560.urdf")), "--formulation", "craig", "--format", "json"]
    assert main([*arguments, "--write", str(tmp_path)]) == 0
    customised = json.loads(capsys.readouterr().out)["customised"]
    run = Interpreter(tmp_path / "puma560.c", states(2))
    assert {key: counted(run)[key] for key in customised} == customised


def test_generate_writes_what_is_counted_when_asked_for_few_operations(tmp_path, capsys):
    from robot_dynamics.resources import resource

    urdf = str(resource("urdf/puma560.urdf"))
    assert main(["count", urdf, "--formulation", "craig", "--format", "json"]) == 0
    customised = json.loads(capsys.readouterr().out)["customised"]
    for objective in ("operations", "time"):
        folder = tmp_path / objective
        command = ["generate", urdf, "-o", str(folder), "--quantity", "inverse_dynamics"]
        assert main([*command, "--objective", objective]) == 0
        run = Interpreter(folder / "puma560_dynamics.c", states(2))
        same = {key: counted(run)[key] for key in customised} == customised
        assert same is (objective == "operations")
        assert f"Objective {objective}: " in (folder / "puma560_dynamics.c").read_text(encoding="utf-8")
