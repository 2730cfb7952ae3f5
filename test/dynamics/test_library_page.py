"""The tables of docs/reference/library.md name everything there is."""

import re
from pathlib import Path

import robot_dynamics as rd
from robot_dynamics.dynamics.quantities import QUANTITIES

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/library.md").read_text(encoding="utf-8")


def test_tables_are_complete():
    named = set(re.findall(r"`(\w+)\(", PAGE))
    assert set(QUANTITIES) <= named
    functions = {name for name in rd.equations.__all__ if name[0].islower()}
    assert functions - {"base_parameters", "standard_parameters"} <= named
    for name in rd.equations.__all__:
        assert name in PAGE or name == "BaseParameters", name
