"""Every module of the package has tests that a fault in it is shown to, and all of these exist."""

import sys
from pathlib import Path

import pytest

import robot_dynamics

TESTS = Path(__file__).parent
PACKAGE = Path(robot_dynamics.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


@pytest.fixture
def table(monkeypatch):
    monkeypatch.syspath_prepend(TESTS / "mutation")
    monkeypatch.delitem(sys.modules, "concerning", raising=False)
    import concerning

    return concerning


def test_every_module_has_tests(table):
    for module in MODULES:
        assert table.tests_for(module)


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


def test_what_tests_reach_is_measured_again_only_after_a_change(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(TESTS / "mutation")
    import reach

    for name in ("robot_dynamics/core.c", "test/test_one.py", "test/test_two.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("before")
    tests, asked = ("test/test_one.py", "test/test_two.py"), []

    def run(some):
        asked.append(tuple(some))
        return [reach.Reached(f"{test}::it", 0.5, frozenset({1, 3})) for test in some]

    def found():
        return reach.remembered(tmp_path / "kept", tmp_path, [Path("core.c")], tests, run)

    assert found() == found() and asked == [tests]
    (tmp_path / tests[1]).write_text("after")
    assert len(found()) == 2 and asked[1:] == [tests[1:]]
    (tmp_path / "robot_dynamics/core.c").write_text("after")
    assert len(found()) == 2 and asked[2:] == [tests]
