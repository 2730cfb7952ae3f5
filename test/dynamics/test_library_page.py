"""What docs/reference/library.md shows runs as printed, and its tables name everything there is."""

import re
from pathlib import Path

import pytest

import robot_dynamics as rd
from robot_dynamics.dynamics.quantities import QUANTITIES

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/library.md").read_text(encoding="utf-8")
SNIPPETS = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "\n" in code.strip()]


@pytest.mark.parametrize("code", SNIPPETS, ids=range(len(SNIPPETS)))
def test_snippets_run(code, capsys):
    exec(code, {})
    printed = capsys.readouterr().out
    assert printed and "False" not in printed


def test_tables_are_complete():
    named = set(re.findall(r"`(\w+)\(", PAGE))
    assert set(QUANTITIES) <= named
    functions = {name for name in rd.equations.__all__ if name[0].islower()}
    assert functions - {"base_parameters", "standard_parameters"} <= named
    for name in rd.equations.__all__:
        assert name in PAGE or name == "BaseParameters", name
