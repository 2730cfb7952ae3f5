"""YAML from outside: the plain part of it, bounded, and without surprises.

What is read are mappings with texts as keys, lists, texts, decimal numbers, ``true`` and ``false``. Aliases
and merges are followed as long as the whole stays small. Tags are refused. Dates, octal, hexadecimal and
sexagesimal numbers and digits with underscores stay texts, which whoever needs a number refuses by name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import yaml

from robot_dynamics.errors import ModelError, escaped, quoted
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.inputs.files import Refuse, read_text

MAX_CHARACTERS = 256 * 1024
"""Size of the largest document."""
MAX_NODES = 20_000
"""Largest number of values, keys, lists and mappings."""
MAX_DEPTH = 40
"""Deepest nesting of lists and mappings."""
MAX_EXPANDED = 1_000_000
"""Size of the largest document with every alias written out [characters and nodes]."""
_MERGE = "tag:yaml.org,2002:merge"


def read_yaml(path: str | os.PathLike[str], what: str, error: Refuse = ModelError) -> Mapping[str, Any]:
    """The mapping in a YAML file.

    Args:
        path: of the file.
        what: the kind of file, for messages, such as "machine file".
        error: class of the error.

    Raises:
        RobotDynamicsError: the file cannot be read, or is refused as by :func:`parse_yaml`.
    """
    return parse_yaml(
        read_text(path, what, error, MAX_CHARACTERS), escaped(os.fsdecode(path), kept=""), error
    )


def parse_yaml(text: str, source: str, error: Refuse = ModelError) -> Mapping[str, Any]:
    """The mapping in a YAML text.

    Args:
        text: the document.
        source: where it comes from, for messages.
        error: class of the error.

    Raises:
        RobotDynamicsError: too large, too deep, not YAML, not a mapping, a tag, a key given twice or no text.
    """
    if len(text) > MAX_CHARACTERS:
        raise error(f"{source}: larger than the {MAX_CHARACTERS // 1024} KiB that a YAML document may have")
    try:
        _check_events(text)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            _check_size(node)
            document = loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.YAMLError as reason:
        raise error(f"{source} is not valid YAML: {_words(reason)}") from None
    if not isinstance(document, Mapping):
        raise error(f"{source} must hold a mapping of parameters, not {_kind(document)}")
    return document


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with fewer kinds of scalars, and without keys that are lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == _MERGE:
                continue
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                what = quoted(key.value) if isinstance(key, yaml.ScalarNode) else "a list or mapping"
                raise _refusal(f"the key {what} is not a text", key.start_mark)
            if key.value in seen:
                raise _refusal(f"the key {quoted(key.value)} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    # An integer beyond the range of doubles is refused as a float is.
    number = _float(loader, node)
    return int(number) if abs(number) < 2.0**53 else number


def _float(_: _Loader, node: yaml.ScalarNode) -> float:
    try:
        return decimal(node.value.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError as reason:
        problem = f"{quoted(node.value)} is {reason}"
        raise _refusal(problem, node.start_mark) from None


_Loader.yaml_implicit_resolvers = {}
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)
for _kind_of, _pattern, _first in (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)", "tTfFyYnNoO"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.inf|\.nan", "-+."),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("merge", r"<<", "<"),
):
    _first_characters: list[Any] = [*_first.replace("\0", ""), *([""] if "\0" in _first else [])]
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind_of}", re.compile(rf"^(?:{_pattern})$"), _first_characters
    )


def _check_events(text: str) -> None:
    """Refuse depth before anything is built, as building goes down by recursion; and tags."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, yaml.SafeLoader)):
        if count > MAX_NODES:
            raise _refusal(f"more than {MAX_NODES} values", event.start_mark)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _refusal(f"nested more than {MAX_DEPTH} deep", event.start_mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise _refusal(f"the tag {quoted(tag)}", event.start_mark)


def _check_size(node: yaml.Node | None) -> None:
    """Refuse what aliases make of a document: more than memory holds, or something without an end."""
    sizes: dict[int, int] = {}
    for current in _children_first(node):
        size = 1 + (len(current.value) if isinstance(current, yaml.ScalarNode) else 0)
        size += sum(sizes[id(child)] for child in _children(current))
        if size > MAX_EXPANDED:
            problem = f"its aliases make it larger than {MAX_EXPANDED} characters"
            raise _refusal(problem, current.start_mark)
        sizes[id(current)] = size


def _children_first(root: yaml.Node | None) -> Iterator[yaml.Node]:
    """Every node once, after those in it."""
    finished: set[int] = set()
    under_way: set[int] = set()
    pending = [root] if root is not None else []
    while pending:
        node = pending[-1]
        if id(node) in finished:
            pending.pop()
        elif id(node) in under_way:
            pending.pop()
            finished.add(id(node))
            yield node
        else:
            under_way.add(id(node))
            for child in _children(node):
                if id(child) in under_way and id(child) not in finished:
                    raise _refusal("an alias to what it is in", child.start_mark)
                if id(child) not in finished:
                    pending.append(child)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair


def _refusal(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    """Error at a place in the document."""
    return yaml.MarkedYAMLError(None, None, problem, mark)


def _words(reason: yaml.YAMLError) -> str:
    """Description of a YAML error and its place, in one line."""
    if isinstance(reason, yaml.MarkedYAMLError):
        place = reason.problem_mark
        where = f" (line {place.line + 1}, column {place.column + 1})" if place is not None else ""
        return f"{reason.problem or reason.context}{where}"
    return " ".join(str(reason).split())


def _kind(document: object) -> str:
    return "nothing" if document is None else type(document).__name__
