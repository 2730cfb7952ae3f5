"""Lines of Python that must run for a fault in a line to matter."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

Span = tuple[Path, int, int]
"""A module, and its first and last line."""
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


class Places:
    """Search for the tests of a line.

    Args:
        root: of the repository.
        modules: of the package, relative to it.
    """

    def __init__(self, root: Path, modules: Sequence[Path]) -> None:
        self._root = root
        self._trees = {module: ast.parse((root / module).read_text(encoding="utf-8")) for module in modules}
        names = {module: ".".join(module.with_suffix("").parts) for module in modules}
        self._importers: dict[Path, list[Path]] = {module: [] for module in modules}
        known = {name.removesuffix(".__init__"): module for module, name in names.items()}
        for module, tree in self._trees.items():
            for name in dict.fromkeys(imports(tree)):
                if name in known:
                    self._importers[known[name]].append(module)

    def at_import(self, module: Path, line: int) -> bool:
        """True where a line runs at the import of its module."""
        return _statement(self._trees[module], line) is None

    def concerned(self, module: Path, line: int) -> list[Span]:
        """Spans of which a test must reach a line to notice a fault in this one.

        A line of a function: its statement. One that runs where the module is imported: that line, and all
        functions of the module and of those that import it.
        """
        statement = _statement(self._trees[module], line)
        if statement is not None:
            return [(module, *statement)]
        places = (module, *self._importers[module])
        bodies = [(place, *span) for place in places for span in _bodies(self._trees[place])]
        return [(module, line, line), *bodies]


def imports(tree: ast.Module) -> Iterator[str]:
    """Names that a module imports, dotted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def _bodies(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """First and last line of the bodies of all functions."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTION):
            yield node.body[0].lineno, node.body[-1].end_lineno or 0


def _statement(tree: ast.Module, line: int) -> tuple[int, int] | None:
    """Lines of the innermost statement at a line, its head where it has a body; None outside of functions."""
    found, inside = None, False
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                if isinstance(child, ast.match_case):
                    begin, end = child.pattern.lineno, child.body[-1].end_lineno or 0
                else:
                    begin, end = child.lineno, child.end_lineno or 0
                if not begin <= line <= end:
                    continue
                body = getattr(child, "body", None)
                if isinstance(child, FUNCTION):
                    inside = child.body[0].lineno <= line or (inside and line <= child.body[0].lineno)
                    found = (begin, end) if inside else None
                elif isinstance(child, ast.ClassDef):
                    inside, found = False, None
                elif inside:
                    found = (begin, max(begin, body[0].lineno - 1) if body and line < body[0].lineno else end)
                nodes = [child]
                break
        else:
            break
    return found if inside else None


def in_its_line(before: str, after: str) -> str:
    """The difference of two texts, in the line of the first, e.g. ``a [< -> <=] b``."""
    begin = _alike(before, after)
    end = min(_alike(before[::-1], after[::-1]), min(len(before), len(after)) - begin)
    while begin and (before[begin - 1].isalnum() or before[begin - 1] in "._=<>!"):
        begin -= 1
    while end and (before[-end].isalnum() or before[-end] in "._=<>!"):
        end -= 1
    first = before.rfind("\n", 0, begin) + 1
    rest = before[len(before) - end :].partition("\n")[0]
    old, new = (" ".join(text[begin : len(text) - end].split()) for text in (before, after))
    return f"{before[first:begin]}[{old} -> {new}]{rest}".strip()


def _alike(one: str, other: str) -> int:
    """Number of characters with which both begin."""
    pairs = zip(one, other, strict=False)
    return next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
