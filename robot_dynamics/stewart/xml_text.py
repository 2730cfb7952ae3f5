"""XML written by hand: elements, their texts, and numbers with every digit."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from robot_dynamics.spatial import Array

Element = ElementTree.Element


def add(element: Element, tag: str, /, **attributes: str) -> Element:
    """A new element at the end of ``element``."""
    return ElementTree.SubElement(element, tag, attributes)


def texts(element: Element, /, **children: str) -> None:
    """New elements with these texts at the end of ``element``."""
    for tag, text in children.items():
        add(element, tag).text = text


def visible(document: str) -> str:
    """XML in which what is not printable, such as marks of writing direction, stands as a reference."""
    return "".join(c if c.isprintable() or c == "\n" else f"&#x{ord(c):x};" for c in document)


def document_text(root: Element) -> str:
    """The whole document, indented."""
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + visible(ElementTree.tostring(root, encoding="unicode")) + "\n"


def numbers_text(values: Sequence[float] | Array) -> str:
    """Numbers with blanks between them."""
    return " ".join(number_text(value) for value in values)


def number_text(value: float) -> str:
    """Every digit that a double has, without a superfluous one."""
    return repr(float(value) + 0.0)
