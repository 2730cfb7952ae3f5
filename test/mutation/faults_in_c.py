"""Small faults to plant in C, with the package or a line of it that they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Position = tuple[int, int]

C_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "*=": "+=", "|=": "=",
}  # fmt: skip
"""Operators of C between two blanks, and what takes their place."""
_C_OPERATOR = re.compile(
    rf"(?<= )({'|'.join(map(re.escape, sorted(C_OPERATORS, key=len, reverse=True)))})(?= )"
)
_C_CONDITION = re.compile(r"\b(?:if|while) (?=\()")
_C_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_C_TEXT = r"\"(?:\\.|[^\"\\])*\""
_C_SILENT = re.compile(
    rf"/\*.*?\*/|^#.*?$|{_C_TEXT}|\[[^\]]*\]|sizeof[^;]*;|^static const(?:{_C_TEXT}|[^\";])*;",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class CFault:
    """A fault in a C file.

    Attributes:
        module_path: relative to the repository.
        operator_name: its kind.
        start_pos: line and column of what it replaces.
        offset: of it in the text.
        before: text that it replaces.
        after: text in its place.
    """

    module_path: Path
    operator_name: str
    start_pos: Position
    offset: int
    before: str
    after: str

    def planted(self, text: str) -> str:
        """The file's text with the fault."""
        return text[: self.offset] + self.after + text[self.offset + len(self.before) :]

    def told(self, root: Path) -> str:
        """The fault in its line, e.g. ``gains.c: if (a [< -> <=] b)``; its file is below ``root``."""
        text = (root / self.module_path).read_text(encoding="utf-8")
        begin = text.rfind("\n", 0, self.offset) + 1
        end = self.offset + len(self.before)
        rest = text[end:].partition("\n")[0]
        line = f"{text[begin : self.offset]}[{self.before} -> {self.after}]{rest}"
        return f"{self.module_path.name}: {line.strip()}"


@dataclass(frozen=True)
class Target:
    """A module of the package, or one line of it.

    Attributes:
        path: relative to the repository.
        line: None for all lines.
    """

    path: Path
    line: int | None = None


def c_faults(target: Target, root: Path) -> Iterator[CFault]:
    """Every fault of a C file: other operators, conditions turned round, numbers one larger."""
    text = (root / target.path).read_text(encoding="utf-8")
    silent = [match.span() for match in _C_SILENT.finditer(text)]

    def fault(kind: str, offset: int, before: str, after: str) -> CFault:
        line = text.count("\n", 0, offset) + 1
        return CFault(target.path, kind, (line, offset - text.rfind("\n", 0, offset)), offset, before, after)

    found = [fault("operator", m.start(), m[0], C_OPERATORS[m[0]]) for m in _C_OPERATOR.finditer(text)]
    found += [fault("condition", m.end(), "(", "(!") for m in _C_CONDITION.finditer(text)]
    for m in _C_NUMBER.finditer(text):
        more = str(int(m[0]) + 1) if m[0].isdigit() else repr(float(m[0]) + 1.0)
        found.append(fault("number", m.start(), m[0], more))
    for one in found:
        wanted = target.line in (None, one.start_pos[0])
        if wanted and not any(first <= one.offset < last for first, last in silent):
            yield one
