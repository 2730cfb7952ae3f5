"""Small faults to plant in the package: where they can be, and a random sample of them."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec
from faults_in_c import CFault, Position, Target, c_faults
from places import in_its_line

ARITHMETIC = {"Add", "Sub", "Mul", "Div"}
ORDER = {"Lt", "LtE", "Gt", "GtE", "Eq", "NotEq"}

Fault = MutationSpec | CFault


def targets(words: Iterable[str], package: Path) -> list[Target]:
    """Targets inside ``package`` for words as ``control``, ``control/core/*.c``, ``codegen/partition.py:40``.

    Raises:
        ValueError: a word names nothing.
    """
    found: list[Target] = []
    for word in words:
        name, _, line = word.partition(":")
        place = package / name
        folder = sorted([*place.rglob("*.py"), *place.rglob("*.c")])
        files = folder if place.is_dir() else sorted(package.glob(name))
        if not files or not all(file.is_file() for file in files):
            raise ValueError(f"{word!r} names no module and no folder of {package}/")
        found += [Target(file, int(line) if line else None) for file in files]
    return found


def matters(operator: str) -> bool:
    """True if an operator makes faults that somebody could make; most others end in a TypeError at once."""
    name = operator.removeprefix("core/")
    binary = re.fullmatch(r"ReplaceBinaryOperator_(\w+)_(\w+)", name)
    if binary:
        return binary[2] in ARITHMETIC
    comparison = re.fullmatch(r"ReplaceComparisonOperator_(\w+)_(\w+)", name)
    if comparison:
        return ({comparison[1], comparison[2]} <= ORDER) or {comparison[1], comparison[2]} == {"Is", "IsNot"}
    return "Invert" not in name and name not in ("VariableInserter", "VariableReplacer")


def silent_spans(source: str) -> list[tuple[Position, Position]]:
    """Spans of a source in which a fault changes no behaviour that matters.

    Annotations and names of types, which nobody evaluates; ``strict`` of a ``zip`` of lists that are equally
    long anyway; ``maximum`` of a parameter, which only keeps out what cannot be meant.
    """
    return [
        ((part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0))
        for node in ast.walk(ast.parse(source))
        for part in _silent(node)
    ]


def _silent(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    elif isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield node.returns
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.Subscript):
        if all(isinstance(target, ast.Name) and target.id.istitle() for target in node.targets):
            yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        quiet = {"zip": "strict", "parameter": "maximum"}.get(node.func.id)
        yield from (word.value for word in node.keywords if word.arg == quiet)


def mutants(target: Target, root: Path) -> Iterator[Fault]:
    """Every fault of a target; its path is relative to ``root``."""
    if target.path.suffix == ".c":
        yield from c_faults(target, root)
        return
    file = root / target.path
    source = file.read_text(encoding="utf-8")
    silent, lines = silent_spans(source), source.splitlines()
    nodes = list(ast_nodes(get_ast_from_path(file)))
    for name in filter(matters, sorted(operator_names())):
        operator = get_operator(name)()
        places = (place for node in nodes for place in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(places):
            wanted = target.line is None or start[0] <= target.line <= end[0]
            # cosmic-ray replaces an exception that is a name, none of a module.
            dotted = "Exception" in name and "." in lines[start[0] - 1][start[1] : end[1]]
            seen = wanted and start < end and not dotted
            if seen and not any(first <= start < last for first, last in silent):
                yield MutationSpec(target.path, name, occurrence, start, end)


def sample(found: Sequence[Fault], size: int, seed: int) -> list[Fault]:
    """``size`` of the faults found, each at a place of its own, chosen by ``seed``.

    The place is drawn first: a comparison, which can be replaced by five others, counts as much as a number.
    """
    places: dict[tuple[Path, Position], list[Fault]] = {}
    for mutant in found:
        places.setdefault((mutant.module_path, mutant.start_pos), []).append(mutant)
    generator = random.Random(seed)
    drawn = generator.sample(sorted(places), min(size, len(places)))
    return [generator.choice(places[place]) for place in drawn]


def planted(fault: MutationSpec, root: Path) -> str:
    """The text of a Python module with a fault.

    Raises:
        RuntimeError: it cannot be planted.
    """
    text = (root / fault.module_path).read_text(encoding="utf-8")
    made = mutate_code(text, get_operator(fault.operator_name)(), fault.occurrence)
    if made is None:
        raise RuntimeError(f"{fault} cannot be planted")
    return str(made)


def told_of(fault: Fault, root: Path) -> str:
    """A fault in its line; in Python e.g. ``model/frames.py: a [< -> <=] b``."""
    if isinstance(fault, CFault):
        return fault.told(root)
    text = (root / fault.module_path).read_text(encoding="utf-8")
    return f"{Path(*fault.module_path.parts[1:])}: {in_its_line(text, planted(fault, root))}"
