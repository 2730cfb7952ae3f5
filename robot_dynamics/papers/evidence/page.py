"""The evidence as one self-contained HTML page, as JSON and as Markdown."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.extras import lacking
from robot_dynamics.inputs.files import write_files
from robot_dynamics.papers.evidence.finding import EvidenceVerdict, Item, Paper

TITLE = "The five papers: what they print and what came out"
# Where the documents keep their pictures.
PICTURES = "images/evidence"
INTRODUCTION = (
    "Every verdict is computed: an item is reproduced when the criterion beside it was evaluated and holds."
    " The"
    " command above each table makes it again."
)


def write(papers: Sequence[Paper], items: Sequence[Item], folder: Path) -> list[Path]:
    """Write index.html and items.json into ``folder``; their paths.

    Raises:
        ParameterError: the folder cannot be written.
        RobotDynamicsError: the package's extra ``report`` is not installed.
    """
    texts = {
        "index.html": html(papers, items),
        "items.json": json.dumps([item.as_dict() for item in items], indent=2, ensure_ascii=False) + "\n",
    }
    return write_files(folder, texts)


def write_markdown(papers: Sequence[Paper], items: Sequence[Item], folder: Path) -> list[Path]:
    """Write evidence.md and errata.md into ``folder``, and the pictures into a folder there; their paths."""
    paths = write_files(folder, {"evidence.md": _evidence(papers, items), "errata.md": _errata(items)})
    pictures = folder / PICTURES
    try:
        pictures.mkdir(parents=True, exist_ok=True)
        for item in items:
            for picture in item.finding.pictures:
                shutil.copyfile(picture, pictures / _picture_name(item, picture))
    except OSError as error:
        raise ParameterError(f"cannot write to {pictures}: {error.strerror}") from error
    return paths


def html(papers: Sequence[Paper], items: Sequence[Item]) -> str:
    """The page; pictures are part of it."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise RobotDynamicsError(lacking("the page needs", "jinja2")) from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    source = files("robot_dynamics.papers.evidence").joinpath("page.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        title=TITLE,
        introduction=INTRODUCTION,
        verdicts=[verdict.value for verdict in EvidenceVerdict],
        papers=[_paper(paper, items) for paper in papers],
        errata=[item.as_dict() for item in _of_errata(items)],
    )


def tally(items: Iterable[Item]) -> dict[str, int]:
    """Number of items with each verdict."""
    verdicts = [item.finding.verdict for item in items]
    return {verdict.value: verdicts.count(verdict) for verdict in EvidenceVerdict}


def _paper(paper: Paper, items: Sequence[Item]) -> dict[str, Any]:
    own = [item for item in items if item.paper == paper.key]
    sections = []
    for section in paper.sections:
        entries = [item for item in own if item.section == section.key]
        if entries:
            rows = [_row(item) for item in entries]
            command = entries[0].command
            sections.append({"key": section.key, "title": section.title, "command": command, "items": rows})
    return {"key": paper.key, "title": paper.title, "tally": tally(own), "sections": _Items(sections)}


class _Items(list[Any]):
    """A list whose entries' key "items" is not hidden by a dictionary's method in a template."""

    def __init__(self, sections: Sequence[dict[str, Any]]) -> None:
        super().__init__(type("Section", (), section) for section in sections)


def _row(item: Item) -> dict[str, Any]:
    pictures = [_data_uri(picture) for picture in item.finding.pictures]
    style = item.finding.verdict.name.lower()
    return {**item.as_dict(), "style": style, "pictures": pictures}


def _data_uri(path: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def _of_errata(items: Iterable[Item]) -> list[Item]:
    return [item for item in items if item.finding.derivation]


def _evidence(papers: Sequence[Paper], items: Sequence[Item]) -> str:
    lines = [
        "# Evidence",
        "",
        "What the five papers print and what came out, as `robot_dynamics reproduce all"
        " --markdown docs/papers` wrote it. `make report` makes it as one HTML page.",
        INTRODUCTION + " Errors of the print, with derivations: [errata](errata.md).",
        "",
        f"| paper | {' | '.join(verdict.value for verdict in EvidenceVerdict)} |",
        "|---|---:|---:|---:|",
    ]
    for paper in papers:
        counts = tally(item for item in items if item.paper == paper.key)
        lines.append(f"| {_cell(paper.title)} | {' | '.join(map(str, counts.values()))} |")
    for paper in papers:
        lines += ["", f"## {paper.key}: {paper.title}"]
        for section in paper.sections:
            own = [item for item in items if (item.paper, item.section) == (paper.key, section.key)]
            if own:
                lines += ["", f"### {section.title}", "", f"`{own[0].command}`", ""]
                lines += ["| item | the paper | came out | verdict | because |", "|---|---|---|---|---|"]
                lines += [_markdown_row(item) for item in own]
                lines += [
                    f"\n![{item.finding.item}]({PICTURES}/{_picture_name(item, picture)})"
                    for item in own
                    for picture in item.finding.pictures
                ]
    return "\n".join(lines) + "\n"


def _picture_name(item: Item, picture: Path) -> str:
    return f"{item.paper}_{picture.name}"


def _markdown_row(item: Item) -> str:
    entry = item.as_dict()
    cells = (entry[key] for key in ("item", "printed", "found", "verdict", "reason"))
    return f"| {' | '.join(map(_cell, cells))} |"


def _errata(items: Sequence[Item]) -> str:
    lines = [
        "# Errata of the papers",
        "",
        "Numbers and equations that disagree with the print, as far as the scanned texts can be read, with"
        " the"
        " derivation of each. Every one was evaluated as printed and as corrected"
        " (`robot_dynamics reproduce PAPER --only errata`).",
    ]
    for item in _of_errata(items):
        finding = item.finding
        lines += ["", f"## {item.paper}: {finding.item.removeprefix('erratum: ')}", ""]
        lines += [f"- printed: {finding.printed}", f"- found: {finding.found}", "", finding.derivation]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("*", "\\*").replace("_", "\\_")
