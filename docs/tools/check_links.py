"""Looks at every link between the pages of this repository: the file is there, and so is the heading.

python docs/tools/check_links.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """Every page that people read."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md"), *(ROOT / "examples").glob("*.md")])


def anchors(page: Path) -> set[str]:
    """Fragments that a link to a page may have."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"{page.relative_to(ROOT)}: {target}: no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{page.relative_to(ROOT)}: {target}: no such heading"


def main() -> int:
    """Print what is broken; 1 if anything is."""
    found = [line for page in pages() for line in broken(page)]
    print("\n".join(found) or f"{len(pages())} pages, every link leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
