"""Makes the evidence of papers, section by section, with a progress bar."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from robot_dynamics.errors import ParameterError
from robot_dynamics.papers.evidence.finding import Item, Paper, Section


def gather(papers: Sequence[Paper], folder: Path, only: str | None = None) -> list[Item]:
    """Every item of ``papers``, or of their section ``only``; pictures go to ``folder``.

    Raises:
        ParameterError: no such section.
    """
    work = [(paper, section) for paper in papers for section in _sections(paper, only)]
    items = []
    with tqdm(total=len(work), file=sys.stderr, unit="section", ncols=100) as bar:
        for paper, section in work:
            bar.set_description(f"{paper.key}: {section.key}")
            command = f"robot_dynamics reproduce {paper.key} --only {section.key}"
            pictures = folder / paper.key if len(papers) > 1 else folder
            pictures.mkdir(parents=True, exist_ok=True)
            items += [Item(paper.key, section.key, finding, command) for finding in section.run(pictures)]
            bar.update()
    return items


def _sections(paper: Paper, only: str | None) -> list[Section]:
    known = [section.key for section in paper.sections]
    if only is not None and only not in known:
        raise ParameterError(f"{paper.key} has no section {only!r}; known are {', '.join(known)}")
    return [section for section in paper.sections if only in (None, section.key)]
