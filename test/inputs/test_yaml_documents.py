"""Validation of YAML: accepted documents, and refusals, short, quick and by the package's own error."""

import math

import pytest
import yaml

from robot_dynamics.errors import LONGEST_MESSAGE, ModelError
from robot_dynamics.inputs.documents import MAX_CHARACTERS, parse_yaml, read_yaml
from robot_dynamics.resources import share_directory

SHIPPED = sorted((share_directory() / "config").glob("*.yaml"))


def layers(first, part):
    """Nine aliases of nine aliases of ...: small to write, more than memory when written out."""
    lines = [f"a: &a {first}"]
    for depth in range(1, 9):
        name, below = chr(97 + depth), f"*{chr(96 + depth)}"
        lines.append(f"{name}: &{name} " + part.format(", ".join([below] * 9)))
    return "\n".join(lines)


REFUSED = {
    "alias bomb": (layers("[x, x, x, x, x, x, x, x, x]", "[{}]"), "aliases make it larger"),
    "merge bomb": (layers("{x: 1}", "{{<<: [{}]}}"), "aliases make it larger"),
    "alias to itself": ("a: &a [*a]", "an alias to what it is in"),
    "alias to what it is deep in": ("a: &a {b: {c: [*a]}}", "an alias to what it is in"),
    "alias to nothing": ("a: *b", "undefined alias"),
    "nested brackets": ("a: " + "[" * 3000, "nested more than 40 deep"),
    "nested blocks": ("\n".join(" " * k + "a:" for k in range(200)), "nested more than 40 deep"),
    "many values": ("a: [" + "1," * 30_000 + "]", "more than 20000 values"),
    "large": ("a: " + "x" * MAX_CHARACTERS, "larger than the 256 KiB"),
    "tag": ("a: !!int x", "the tag"),
    "tag of Python": ("a: !!python/object/apply:os.getcwd []", "the tag"),
    "integer of 5000 digits": ("a: " + "9" * 5000, "too large for a number"),
    "integer beyond doubles": ("a: 1" + "0" * 400, "too large for a number"),
    "float beyond doubles": ("a: 1e400", "too large for a number"),
    "keys of several kinds": ("1: a\nb: c", "the key '1' is not a text"),
    "list as a key": ("? [1]\n: 2", "the key a list or mapping is not a text"),
    "key given twice": ("a: 1\nb: 2\na: 3", r"the key 'a' is given twice \(line 3, column 1\)"),
    "NUL": ("a: \0", "special characters are not allowed"),
    "lone surrogate": ("a: \ud800", "special characters are not allowed"),
    "two documents": ("a: 1\n---\nb: 2", "another document"),
    "merge of a number": ("a: {<<: 3}", "merging"),
    "tab": ("a:\t- b", "cannot start any token"),
    "open quote": ("a: '" + "x" * 5000, "unexpected end"),
    "list": ("- 1", "must hold a mapping of parameters, not list"),
    "nothing": ("", "must hold a mapping of parameters, not nothing"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_plain_document_is_refused_shortly(text, message):
    with pytest.raises(ModelError, match=message) as caught:
        parse_yaml(text, "the text")
    assert len(str(caught.value)) <= LONGEST_MESSAGE


@pytest.mark.parametrize(
    "word",
    ["2001-99-99", "2001-01-01", "0x_", "0x10", "0o7", "0b1", "1_7.4", "1:30", "١٧.٤", "１７", "1e", "."],
)
def test_what_is_no_decimal_number_stays_a_text(word):
    assert parse_yaml(f"a: {word}", "the text") == {"a": word}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("17", 17), ("-3", -3), ("+3", 3), ("010", 10), ("0" * 5000 + "7", 7), ("1.5", 1.5), (".5", 0.5),
        ("1.", 1.0), ("1e-3", 1e-3), ("-1.5E+3", -1500.0), ("9" * 300, 1e300), (".inf", math.inf),
        ("-.inf", -math.inf), ("true", True), ("no", False), ("~", None), ("null", None), ("", None),
        ("'1'", "1"),
    ],
)  # fmt: skip
def test_plain_values_are_what_they_look_like(word, value):
    read = parse_yaml(f"a: {word}\n", "the text")["a"]
    assert read == pytest.approx(value, rel=1e-15) if isinstance(value, float) else read == value
    assert type(read) is type(value)


def test_aliases_and_merges_are_followed():
    text = "a: &a {x: 1, y: [1, 2]}\nb: {<<: *a, x: 2}\nc: *a"
    a = {"x": 1, "y": [1, 2]}
    assert parse_yaml(text, "the text") == {"a": a, "b": {"x": 2, "y": [1, 2]}, "c": a}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_the_packages_own_files_are_read_as_by_pyyaml(path):
    assert read_yaml(path, "file") == yaml.safe_load(path.read_text(encoding="utf-8"))
