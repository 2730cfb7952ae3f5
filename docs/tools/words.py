"""Lists sentences of the user pages that are too long, pages whose average is, and terms out of order.

    python docs/tools/words.py [--pages]

Code, tables, headings and directives are left out; code within a sentence counts as one word. Only full
stops, question marks and exclamation marks end a sentence.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 25
AVERAGE = 16
FOLDERS = ("tutorials", "how_to", "reference", "moving_here", "explanation")
_FENCE = re.compile(r"^([`~:]{3,})[^\n]*\n.*?^\1[`~:]*$", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.?!])[\"')*_]*\s+")


def user_pages() -> list[Path]:
    """Pages that users read."""
    pages = [page for folder in FOLDERS for page in (ROOT / "docs" / folder).rglob("*.md")]
    return sorted([*pages, *(ROOT / "docs").glob("*.md"), ROOT / "README.md"])


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page's running text."""
    text = _FENCE.sub("", text)
    before_is_list = False
    for block in _BLOCK.split(text):
        is_list = bool(re.match(r"\s*([-*]|\d+\.) ", block))
        code = block.startswith(("    ", "\n    ")) and not is_list and not before_is_list
        before_is_list = is_list or (before_is_list and block.startswith(" "))
        lines = [
            line for line in block.splitlines() if not re.match(r"\s*(\||#|!\[|<)", line) or "](" in line[1:2]
        ]
        if code or not lines:
            continue
        block = " ".join(line.strip() for line in lines)
        block = re.sub(r"^([-*]|\d+\.) ", "", block)
        block = re.sub(r"`[^`]*`", "code", _LINK.sub(r"\1", block))
        yield from (part.strip() for part in _END.split(block) if re.search(r"\w", part))


def words(sentence: str) -> int:
    """Number of words; signs of arithmetic are none."""
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


def faults(page: Path) -> Iterator[str]:
    """Sentences of a page that are too long."""
    found = list(sentences(page.read_text(encoding="utf-8")))
    name = page.relative_to(ROOT)
    yield from (f"{name}: {words(s)} words: {s}" for s in found if words(s) > LONGEST)
    average = sum(map(words, found)) / max(1, len(found))
    if average > AVERAGE:
        yield f"{name}: {average:.1f} words a sentence on average; at most {AVERAGE}"


def out_of_order() -> Iterator[str]:
    """Terms of the glossary that do not follow the one before them."""
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| ([^|]+?) \|", text, re.MULTILINE)[1:]
    for before, term in itertools.pairwise(terms):
        if term.lower() <= before.lower():
            yield f"docs/glossary.md: '{term}' stands after '{before}'"


def main() -> int:
    """Print what is too long or out of order; 1 if anything is."""
    listed = {page: list(faults(page)) for page in user_pages()}
    if "--pages" in sys.argv:
        for page, found in listed.items():
            texts = list(sentences(page.read_text(encoding="utf-8")))
            average = sum(map(words, texts)) / max(1, len(texts))
            print(f"{len(found):4} {len(texts):4} {average:5.1f} {page.relative_to(ROOT)}")
        return 0
    lines = [*(line for found in listed.values() for line in found), *out_of_order()]
    print("\n".join(lines) or f"{len(listed)} pages, no sentence above {LONGEST} words")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
