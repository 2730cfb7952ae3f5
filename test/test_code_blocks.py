"""Code blocks of all pages run from top to bottom, or say in their first line what they need."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import patience
import pytest
import yaml

from robot_dynamics.cli.main import command_line, main

DOCS = Path(__file__).resolve().parents[1] / "docs"
FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
# First lines, without "# ", of blocks that run only where more is there than in the tests.
NEEDS = (
    "in a clone",
    "with ROS 2 installed",
    "with Gazebo",
    "with Drake",
    "with JAX",
    "with a robot connected",
    "with your own files",
)
REFUSED = "is refused"
"""First line, without "# ", of a block whose command is an example of an error."""
# Subcommands that start or reach nodes or pages, or take long.
LONG = ("view", "run", "record", "excite", "identify", "report", "set", "call", "play")
LASTING = ("view", "run", "record")


@dataclass(frozen=True)
class Block:
    """A block of code, and what the page shows after it."""

    language: str
    text: str
    shown: str = ""

    @property
    def needs(self) -> str:
        first = self.text.partition("\n")[0]
        return first[2:] if first.startswith("# ") and first[2:] in NEEDS else ""

    @property
    def code(self) -> int:
        """Exit code of each command."""
        return int(self.text.startswith(f"# {REFUSED}\n"))

    @property
    def commands(self) -> list[str]:
        lines = re.sub(r"\\\n\s*", "", self.text).splitlines()
        return [line for line in lines if line.strip() and not line.startswith("#")]

    @property
    def is_long(self) -> bool:
        if self.language == "sh":
            return any(self._subcommand(line) in LONG for line in self.commands)
        return "rclpy" in self.text

    @staticmethod
    def _subcommand(line: str) -> str:
        given = line.split()
        return given[2 if given[1] == "stewart" else 1]

    def lasts(self, line: str) -> bool:
        return self._subcommand(line) in LASTING or "--send" in line


def blocks(page: str) -> list[Block]:
    """Blocks of a page that can be run, each with its output."""
    found: list[Block] = []
    for indent, language, text in FENCE.findall((DOCS / page).read_text(encoding="utf-8")):
        text = re.sub(f"^{indent}", "", text, flags=re.MULTILINE)
        if language == "text" and found:
            found[-1] = Block(found[-1].language, found[-1].text, text)
        elif language in ("sh", "python", "py", "xml", "yaml"):
            found.append(Block(language, text))
    return found


def tracks_as_described(page: str, printed: str) -> None:
    """The example of controllers without ROS."""
    described, errors = printed.splitlines()[:2]
    assert f"`{described}`" in (DOCS / page).read_text(encoding="utf-8")
    largest, final = map(float, re.findall(r"(\S+e\S+) rad", errors))
    assert largest < 5e-6
    assert final < 1e-8


def agrees(_: str, printed: str) -> None:
    """Comparisons that snippets print."""
    assert printed and "False" not in printed


# What programs of a page print beside the blocks of text.
PRINTED = {"how_to/controllers_without_ros.md": tracks_as_described, "reference/library.md": agrees}

CALLED = re.compile(r"(?:^|&& |\| )(?:\S+=\S+ )*(?:\S*/)?(robot_dynamics|make) ([^&|#]*)")
PAGES = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
RUNNABLE = [page for page in PAGES if any(b.language in ("sh", "python", "py") for b in blocks(page))]
CRANE = next(block.text for block in blocks("tutorials/your_arm.md") if block.language == "xml")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the tutorial's arm, where a reader may stand."""
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(CRANE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", RUNNABLE)
def test_blocks_run_from_top_to_bottom(page, folder, capsys):
    space, printed = {"__name__": "page"}, ""
    for block in blocks(page):
        if block.language == "yaml":
            yaml.safe_load(block.text)
        if block.needs or block.is_long or block.language in ("yaml", "xml"):
            continue
        capsys.readouterr()
        if block.language == "sh":
            for line in block.commands:
                assert line.startswith("robot_dynamics "), f"{line}: says not what it needs"
                assert main(shlex.split(line, comments=True)[1:]) == 0, line
            said = capsys.readouterr()
            assert block.shown in said.err + said.out
        else:
            exec(compile(block.text, page, "exec"), space)
            printed += capsys.readouterr().out
    if page in PRINTED:
        PRINTED[page](page, printed)


@pytest.mark.parametrize("page", [*RUNNABLE, "../README.md"])
def test_every_command_has_the_options_and_targets_it_is_given(page):
    """Of all blocks, whatever they need."""
    targets = re.findall(
        r"^([a-z -]+):", (DOCS.parent / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    for line in (line for block in blocks(page) if block.language == "sh" for line in block.commands):
        for program, given in CALLED.findall(line):
            words = shlex.split(given)
            if program == "make":
                assert [w for w in words if "=" not in w and w not in " ".join(targets).split()] == [], line
                continue
            called = next(word.replace("-", "_") for word in words if not word.startswith("-"))
            _, unknown = command_line(lambda name, called=called: name == called).parse_known_args(words)
            assert all(":=" in word for word in unknown), line


def heads(text):
    """The beginning of each line, up to its first number."""
    return [
        re.split(r"[-\d]", re.sub(r"^\[INFO\] \[[\d.]+\] ", "", line))[0].rstrip()
        for line in text.splitlines()
    ]


class Terminals:
    """Commands that go on, each in a terminal of its own."""

    def __init__(self, folder: Path, environment: dict[str, str]):
        self._place = {"cwd": folder, "env": environment}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._logs: list[Path] = []

    def start(self, line: str) -> None:
        """Begin a command in place of one of the same node."""
        node = " ".join(line.split()[1:3])
        self.interrupt(node)
        if node == "run web_view":
            self.interrupt("view")  # pages tell to: both take the same port
        self._logs.append(self._place["cwd"] / f"{len(self._logs)}.log")
        with self._logs[-1].open("w") as file:
            self._running[node] = subprocess.Popen(
                ["bash", "-c", f"exec {line}"], stdout=file, stderr=subprocess.STDOUT, **self._place
            )

    def wait_for(self, shown: str) -> None:
        """Until a command that goes on has printed the last line that a page shows."""
        limit = time.monotonic() + patience.LONG_PATIENCE
        while shown and not any(heads(shown)[-1] in heads(log.read_text()) for log in self._logs):
            assert not self.failed() and time.monotonic() < limit, f"waited for {shown}"
            time.sleep(0.1)

    def failed(self) -> str:
        """Commands that have ended with an error, and all logs; empty where all go on."""
        ended = [node for node, process in self._running.items() if process.poll()]
        return "\n".join([*ended, *(log.read_text() for log in self._logs)]) if ended else ""

    def wait(self, kind: str) -> None:
        """Until a command has ended by itself."""
        for node, process in self._running.items():
            if node.startswith(kind):
                assert process.wait(patience.LONG_PATIENCE) == 0, node

    def interrupt(self, kind: str = "") -> None:
        """Ctrl-C in the terminals of a kind of command."""
        chosen = [node for node in reversed(self._running) if node.startswith(kind)]
        for node in chosen:
            process = self._running.pop(node)
            process.send_signal(signal.SIGINT)
            try:
                process.wait(patience.PATIENCE)
            finally:
                process.kill()


@pytest.mark.whole
@pytest.mark.parametrize("page", [page for page in RUNNABLE if page.startswith("tutorials/")])
def test_tutorials_run_as_a_reader_runs_them(page, folder):
    """Commands that go on run side by side; a recording ends with the motion, the others with the page."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "BROWSER": "true"}
    terminals = Terminals(folder, environment)
    try:
        for block in blocks(page):
            if block.needs or block.language in ("xml", "yaml"):
                continue
            if block.language != "sh":
                subprocess.run([sys.executable, "-c", block.text], cwd=folder, env=environment, check=True)
                continue
            for line in block.commands:
                if block.lasts(line):
                    terminals.start(line)
                    continue
                terminals.wait("excite")
                terminals.interrupt("record")
                done = subprocess.run(
                    ["bash", "-c", line],
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == block.code, done.stderr
                said = heads(done.stderr + done.stdout)
                assert [head for head in heads(block.shown) if head not in said] == [], said
            if all(block.lasts(line) for line in block.commands):
                terminals.wait_for(block.shown)
        assert not terminals.failed()
    finally:
        terminals.interrupt()
