"""Commands of the tutorials print what the pages show; code blocks of all pages can be read."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from robot_dynamics.cli.main import main

DOCS = Path(__file__).resolve().parents[1] / "docs"
FENCE = re.compile(r"^ *```(\w+)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)


def blocks(page):
    """Language and text of each block of code on a page."""
    return FENCE.findall((DOCS / page).read_text(encoding="utf-8"))


def shown(page, command):
    """What the page shows as the output of a command."""
    listed = blocks(page)
    return next(
        after[1]
        for before, after in itertools.pairwise(listed)
        if before[1].strip() == command and after[0] == "text"
    )


def printed(command, capsys):
    """Both streams of a command, and that it succeeds."""
    assert main(command.split()[1:]) == 0
    said = capsys.readouterr()
    return said.err + said.out


def test_your_arm(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    xml = next(text for language, text in blocks("tutorials/your_arm.md") if language == "xml")
    Path("arm.urdf").write_text(xml, encoding="utf-8")
    command = "robot_dynamics dh arm.urdf"
    assert shown("tutorials/your_arm.md", command) in printed(command, capsys)


def test_your_stewart_platform(tmp_path, monkeypatch, capsys):
    page = "tutorials/your_stewart_platform.md"
    monkeypatch.chdir(tmp_path)
    new = (
        "robot_dynamics stewart new --base-radius 1.6 --platform-radius 1.2 --stroke 0.4 -o my_platform.yaml"
    )
    assert printed(new, capsys) == shown(page, new)
    program = next(text for _, text in blocks(page) if "motion.csv" in text and "print" in text)
    subprocess.run([sys.executable, "-c", program], check=True)
    check = "robot_dynamics stewart check my_platform.yaml motion.csv"
    assert printed(check, capsys) == shown(page, check)


@pytest.mark.parametrize("page", sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")))
def test_code_blocks_can_be_read(page):
    for language, text in blocks(page):
        if language == "python":
            ast.parse(text)
        if language == "yaml":
            yaml.safe_load(re.sub(r"^   ", "", text, flags=re.MULTILINE) if text.startswith("   ") else text)
