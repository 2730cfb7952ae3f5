"""Every C file of the package has tests that a fault in it is shown to, and all of these exist."""

import ast
import sys
from pathlib import Path

import pytest

import robot_dynamics

TESTS = Path(__file__).parent
PACKAGE = Path(robot_dynamics.__file__).parent
SOURCES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.c"))


@pytest.fixture
def table(monkeypatch):
    monkeypatch.syspath_prepend(TESTS / "mutation")
    monkeypatch.delitem(sys.modules, "concerning", raising=False)
    import concerning

    return concerning


def test_every_c_file_has_tests(table):
    for source in SOURCES:
        assert table.tests_for(source)


def test_every_entry_is_of_the_package_and_its_tests_exist(table):
    for place, tests in table.CONCERNING.items():
        assert (PACKAGE / place).exists(), place
        for test in tests:
            assert (TESTS.parent / test).exists(), test


def test_the_longest_entry_counts(table, monkeypatch):
    monkeypatch.setattr(table, "CONCERNING", {"a": ("1",), "a/b": ("2",), "a/b/c.py": ("3",)})
    found = [table.tests_for(Path(module)) for module in ("a/x.py", "a/b/x.py", "a/b/c.py")]
    assert found == [("1",), ("2",), ("3",)]
    with pytest.raises(LookupError, match=r"has no tests for d/x\.py"):
        table.tests_for(Path("d/x.py"))


@pytest.fixture
def checkout(monkeypatch, tmp_path):
    """A repository of three files, and the folder of the tools."""
    monkeypatch.syspath_prepend(TESTS / "mutation")
    for name in ("robot_dynamics/core.c", "test/test_one.py", "test/test_two.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("before")
    return tmp_path


def test_what_tests_reach_is_measured_again_only_after_a_change(checkout):
    import reach

    tests = ("test/test_one.py", "test/test_two.py")

    def memory():
        return reach.Memory(checkout / "kept", checkout)

    def missing():
        return [test for test in tests if memory().recall(test) is None]

    def measure():
        for test in missing():
            memory().keep(test, 0b1110, [reach.Reached(f"{test}::it", 0.5, 0b1010)])

    assert missing() == list(tests)
    measure()
    executable, found = memory().recall(tests[0])
    (one,) = found.values()
    assert executable == 0b1110 and one.name == "test/test_one.py::it" and one.seconds == 0.5
    assert [one.reaches(line) for line in (1, 2, 3, None)] == [True, False, True, True]
    (checkout / tests[1]).write_text("after")
    assert missing() == [tests[1]]
    measure()
    (checkout / "robot_dynamics/core.c").write_text("after")
    assert missing() == list(tests)


def test_a_fault_between_counted_lines_is_of_the_line_before(checkout):
    import reach

    source = Path("robot_dynamics/core.c")
    lines = reach.Numbering(checkout, [source])
    executable = 1 << lines.number(source, 3)
    assert lines.counted(source, 4, executable) == lines.number(source, 3)
    assert lines.counted(source, 2, executable) is None
    assert lines.source("/somewhere/robot_dynamics/core.c") == source


def test_a_fault_is_told_in_its_line(checkout):
    import faults_in_c

    source = Path("robot_dynamics/core.c")
    (checkout / source).write_text("int f(int a)\n{\n    return a < 2;\n}\n")
    told = [fault.told(checkout) for fault in faults_in_c.c_faults(faults_in_c.Target(source), checkout)]
    assert told == ["core.c: return a [< -> <=] 2;", "core.c: return a < [2 -> 3];"]


MODULE = '''"""A module."""
LIMIT = 3


class Thing:
    size: int = 2

    def grow(self, by=1):
        if (
            by > LIMIT
        ):
            return 0
        else:
            return self.size + by


def double(thing):
    def inner(k=2):
        return thing.grow(k)

    return inner()
'''


@pytest.fixture
def places(checkout):
    import places

    module, user = Path("robot_dynamics/thing.py"), Path("robot_dynamics/user.py")
    (checkout / module).write_text(MODULE)
    (checkout / user).write_text("from robot_dynamics.thing import double\n\ndef use():\n    double(1)\n")
    found = places.Places(checkout, [module, user])
    return lambda line: [(place.name, *span) for place, *span in found.concerned(module, line)]


def test_a_fault_in_a_function_concerns_its_statement(places):
    assert places(10) == [("thing.py", 9, 11)]  # a head
    assert places(12) == [("thing.py", 12, 12)]
    assert places(14) == [("thing.py", 14, 14)]
    assert places(19) == [("thing.py", 19, 19)]


def test_a_test_concerns_what_it_imports_by_its_name(checkout):
    import places

    text = "import robot_dynamics.a\nfrom robot_dynamics.b import thing\nfrom robot_dynamics import c\n"
    names = set(places.imports(ast.parse(text)))
    assert {f"robot_dynamics.{name}" for name in "abc"} <= names and "robot_dynamics.thing" not in names


def test_a_fault_that_runs_at_the_import_concerns_all_functions_of_a_module_and_its_users(places):
    everything = {("thing.py", 9, 14), ("thing.py", 18, 21), ("user.py", 4, 4)}
    for line in (2, 6, 8):
        assert {*places(line)} - {("thing.py", 19, 19)} == {("thing.py", line, line)} | everything


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("LIMIT = 3", "LIMIT = 4", "LIMIT = [3 -> 4]"),
        ("by > LIMIT", "by >= LIMIT", "by [> -> >=] LIMIT"),
        ("self.size + by", "self.size - by", "return self.size [+ -> -] by"),
        ("return inner()", "return not inner()", "return [inner -> not inner]()"),
    ],
)
def test_a_fault_in_python_is_told_in_its_line(checkout, old, new, told):
    import places

    assert places.in_its_line(MODULE, MODULE.replace(old, new)) == told
