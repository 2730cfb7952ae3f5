"""Imports go one way, and only the ROS layer knows ROS."""

import ast
import functools
import graphlib
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "robot_dynamics"
# Each layer may import itself and what stands before it.
LAYERS = [
    ["errors"],
    ["extras", "interrupts", "resources", "spatial"],
    ["inputs"],
    ["parameters"],
    ["codegen", "model"],
    ["native"],
    ["dynamics"],
    ["control", "stewart"],
    ["simulation", "benchmark", "controllers", "identification", "report", "view"],
    ["papers"],
    ["ros"],
    ["cli"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# The folders of the ROS layer; the nodes, which stand beside them, may import all but the last.
ROS_FOLDERS = [
    ["support"],
    ["models"],
    ["viewing", "simulation", "recording"],
    ["control"],
    ["actions"],
    ["feedforward"],
    ["running"],
    ["demo", "launching", "live"],
]
ROS_RANK = {name: rank for rank, names in enumerate(ROS_FOLDERS) for name in names}
LONGEST = 500
"""Lines of the longest source file."""
SOURCES = (".py", ".c", ".h", ".cpp", ".hpp")
QUESTION = r"(what|which|whether|where|when|how|who|whose|whom|why)\b"
# What knows no robot, and what it may import.
ROBOT_FREE = {
    "codegen": {"codegen", "errors"},
    "native": {"native", "codegen", "errors", "resources", "spatial", "inputs"},
}


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__")


@functools.cache
def statements(path: Path) -> list[ast.stmt]:
    """Imports, classes and texts of a file at any depth, shared by several tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = ast.Import | ast.ImportFrom | ast.ClassDef | ast.Expr
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def imports(path: Path):
    """Names that a file imports, at module level or elsewhere."""
    for node in statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def test_folders_of_the_ros_layer_build_on_each_other():
    top = len(ROS_FOLDERS) - 1
    wrong = []
    for path in sorted((PACKAGE / "ros").rglob("*.py")):
        own = path.relative_to(PACKAGE / "ros").parts[0]
        rank = ROS_RANK.get(own, top)
        for name in imports(path):
            parts = name.split(".")
            if parts[:2] == ["robot_dynamics", "ros"] and len(parts) > 2 and parts[2] != own:
                below = ROS_RANK[parts[2]] < rank if parts[2] in ROS_RANK else rank == top
                wrong += [] if below else [f"{path.name} in {own} imports {name}"]
    assert wrong == []


def test_imports_go_one_way():
    wrong = []
    for path in modules():
        own = layer(path)
        assert own in RANK, f"{own} has no place among the layers"
        for name in imports(path):
            parts = name.split(".")
            upward = ros = False
            if parts[0] == "robot_dynamics" and len(parts) > 1 and parts[1] in RANK:
                allowed = ROBOT_FREE.get(own, RANK)
                upward = RANK[parts[1]] > RANK[own] or parts[1] not in allowed
            elif own != "ros":
                ros = parts[0] in ("rclpy", "launch", "launch_ros") or parts[0].endswith(("_msgs", "_srvs"))
            if upward or ros:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert wrong == []


def test_no_import_goes_round_in_a_circle():
    """Imports for type checking only count too: what needs another's types depends on it."""
    files = {_module_name(path): path for path in PACKAGE.rglob("*.py")}
    graph = {
        name: {known for known in _imported_modules(path, files) if known != name}
        for name, path in files.items()
    }
    graphlib.TopologicalSorter(graph).prepare()


def _module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if path.stem == "__init__" else parts)


def _imported_modules(path: Path, files: dict[str, Path]):
    """Modules of the package whose names a file imports, or from which it imports a name."""
    for node in statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom) and node.module in files:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in files else node.module for name in names)


def test_the_library_works_without_ros_or_optional_packages():
    """Import everything that a user of the library imports, with ROS and the extras made unimportable."""
    program = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"rclpy", "mujoco", "matplotlib", "viser", "pinocchio", "launch"}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import robot_dynamics as rd
from robot_dynamics.resources import resource
chain = rd.load_urdf(resource("urdf/puma560.urdf"))
table = rd.dh_parameters(chain)
dynamics = rd.compile_dynamics(chain)
print(dynamics.inverse_dynamics([0.0] * 6, [0.0] * 6, [0.0] * 6))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_files_can_be_read_in_a_sitting():
    files = [*PACKAGE.rglob("*"), *(PACKAGE.parent / "test").rglob("*.[ch]")]
    sources = [path for path in files if path.name.removesuffix(".in").endswith(SOURCES)]
    assert {path.suffix for path in sources} >= {".py", ".c", ".h", ".cpp", ".in"}
    too_long = {
        str(path.relative_to(PACKAGE.parent)): lines
        for path in sources
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST
    }
    assert not too_long


def test_no_name_of_a_class_is_used_twice():
    """One name stands for one thing in the whole package."""
    places: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in statements(path):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert places
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_docstrings_begin_with_a_noun_or_a_verb():
    """A question word makes a reader guess the noun."""
    folders = [PACKAGE, *(PACKAGE.parent / name for name in ("test", "docs/tools", "examples", "launch"))]
    candidate = re.compile(rf'"""\s*{QUESTION}', re.IGNORECASE)
    question = re.compile(rf"\s*{QUESTION}", re.IGNORECASE)
    wrong = []
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        # Most files need no parser: it takes far longer than the search.
        if not candidate.search(path.read_text(encoding="utf-8")):
            continue
        for node in statements(path):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                text = node.value.value
                if isinstance(text, str) and question.match(text):
                    wrong.append(f"{path.relative_to(PACKAGE.parent)}:{node.lineno}: {text[:60]}")
    assert wrong == []


def test_comments_of_c_begin_with_a_noun_or_a_verb():
    """The rule of docstrings, for comments on lines of their own."""
    question = re.compile(rf"\s*(/\*+|//+)\s*{QUESTION}", re.IGNORECASE)
    wrong = []
    for path in PACKAGE.rglob("*"):
        if path.name.removesuffix(".in").endswith(SOURCES[1:]):
            before = ""
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if question.match(line) and not before.lstrip().startswith("//"):
                    wrong.append(f"{path.relative_to(PACKAGE)}:{number}: {line.strip()[:60]}")
                before = line
    assert wrong == []


def test_every_dependency_of_setup_py_is_declared_for_ros():
    """package.xml names what pip would install at run time, by its rosdep key."""
    keys = {
        "cffi": "python3-cffi",
        "numpy": "python3-numpy",
        "transforms3d": "python3-transforms3d",
        "urdfdom-py": "urdfdom_py",
        "pyyaml": "python3-yaml",
        "tqdm": "python3-tqdm",
    }
    declared = (PACKAGE.parent / "package.xml").read_text(encoding="utf-8")
    setup = (PACKAGE.parent / "setup.py").read_text(encoding="utf-8")
    requirements = ast.literal_eval(re.search(r"install_requires=(\[.*?\])", setup, re.DOTALL).group(1))
    assert requirements
    for requirement in requirements:
        name = re.split(r"[<>=!~;\s]", requirement, maxsplit=1)[0].lower()
        assert f">{keys[name]}<" in declared, f"{name} is not declared in package.xml"


def test_every_node_can_be_run_in_both_worlds():
    """The nodes of ``robot_dynamics run`` are those of ``ros2 run``, and have pages."""
    from robot_dynamics.cli.run import NODES

    installed = {
        entry.name
        for entry in importlib.metadata.distribution("robot_dynamics").entry_points
        if entry.value.startswith("robot_dynamics.ros.")
    }
    # colcon puts them into lib/robot_dynamics; pip does not put such names on everybody's path.
    assert installed in (set(), set(NODES))
    setup = (PACKAGE.parent / "setup.py").read_text(encoding="utf-8")
    declared = ast.literal_eval(re.search(r"^NODES = (\[.*?\])", setup, re.DOTALL | re.MULTILINE).group(1))
    assert set(NODES) == set(declared)
    # What is no node stands in a folder of its own kind.
    assert set(NODES) == {path.stem for path in (PACKAGE / "ros").glob("*.py")} - {"__init__"}
    for node in NODES:
        assert (PACKAGE.parent / "docs/reference" / f"{node}.md").is_file()
        assert f"{node}.md" in (PACKAGE.parent / "docs/index.md").read_text(encoding="utf-8")
