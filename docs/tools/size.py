"""Counts lines of code by room, without blank lines, comments, docstrings and imports.

    python docs/tools/size.py [--since COMMIT] [--longest N]

A room is a folder of the package, ``test`` or another folder with code. ``--since`` counts that commit too
and prints the change. Files that a program generated are left out.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
PYTHON = (".py",)
C = (".c", ".h", ".cpp", ".hpp")
CODE = (*PYTHON, *C)
GENERATED = re.compile(r"generated[^\n]*do not (edit|modify)", re.IGNORECASE)
_PLACE = re.compile(r"@[A-Z_]+@")
"""An open place of a template."""
_C_COMMENT = re.compile(r'("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')|/\*.*?\*/|//[^\n]*', re.DOTALL)
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def kind(name: str) -> str:
    """The suffix of a file, that of ``.in`` templates included: ``.cpp`` for ``plugin.cpp.in``."""
    path = PurePosixPath(name)
    return PurePosixPath(path.stem).suffix if path.suffix == ".in" else path.suffix


def room(name: str) -> str:
    """``robot_dynamics/<folder>``, or the first folder of the path."""
    parts = PurePosixPath(name).parts
    return "/".join(parts[: min(2, len(parts) - 1)]) if parts[0] == "robot_dynamics" else parts[0]


def lines_of_code(name: str, text: str) -> int:
    """Lines that hold code, without comments, docstrings and imports (``#include`` in C)."""
    if GENERATED.search(text[:2000]):
        return 0
    if kind(name) == ".py":
        return _lines_of_python(text)
    bare = _C_COMMENT.sub(lambda found: found.group(1) or "\n" * found.group().count("\n"), text)
    return sum(bool(line.strip()) and not re.match(r"\s*#\s*include", line) for line in bare.splitlines())


def _lines_of_python(text: str) -> int:
    text = _PLACE.sub("None", text)
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            held.update(range(token.start[0], token.end[0] + 1))
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        string = (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        if string or isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    blank = {number for number, line in enumerate(text.splitlines(), 1) if not line.strip()}
    return len(held - left_out - blank)


def working_tree() -> Iterator[tuple[str, str]]:
    """(path from the root, text) of every file with code that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if kind(name) in CODE and (ROOT / name).is_file():
            yield name, (ROOT / name).read_text(encoding="utf-8")


def commit(revision: str) -> Iterator[tuple[str, str]]:
    """The same of a commit."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            stream = files.extractfile(member) if kind(member.name) in CODE and member.isfile() else None
            if stream is not None:
                yield member.name, stream.read().decode()


def by_room(files: Iterator[tuple[str, str]]) -> Counter[str]:
    """Lines of code of each room."""
    found: Counter[str] = Counter()
    for name, text in files:
        found[room(name)] += lines_of_code(name, text)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--since", metavar="COMMIT", help="commit to compare with")
    parser.add_argument(
        "--longest", type=int, default=0, metavar="N", help="number of the longest files to list"
    )
    arguments = parser.parse_args()
    files = list(working_tree())
    now = by_room(iter(files))
    before = by_room(commit(arguments.since)) if arguments.since else None
    _table(now, before)
    sizes = sorted(((text.count("\n"), name) for name, text in files), reverse=True)
    for length, name in sizes[: arguments.longest]:
        print(f"{length:6}  {name}")


def _table(now: Counter[str], before: Counter[str] | None) -> None:
    rooms = sorted({*now, *(before or ())}, key=lambda name: (not name.startswith("robot_dynamics"), name))
    package = [name for name in rooms if name.startswith("robot_dynamics")]
    sums = {"the package": package, "package and tests": [*package, "test"], "everything": rooms}
    for title, parts in [*((name, [name]) for name in rooms), *sums.items()]:
        total = sum(now[part] for part in parts)
        line = f"{title:28}{total:8,}"
        if before is not None:
            earlier = sum(before[part] for part in parts)
            change = f"{100.0 * (total - earlier) / earlier:+.1f} %" if earlier else "new"
            line = f"{title:28}{earlier:8,} -> {total:7,}  {change:>8}"
        print(line)


if __name__ == "__main__":
    main()
