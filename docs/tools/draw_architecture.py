"""Draws ``docs/images/architecture.png`` from the code: rooms, their sizes, and who imports whom.

    python docs/tools/draw_architecture.py

The layers are those that ``test/test_layers.py`` enforces. An arrow stands for imports; one that a longer way
implies is left out.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "robot_dynamics"
sys.path.insert(0, str(ROOT / "test"))
from size import lines_of_code  # noqa: E402
from test_layers import LAYERS, imports, layer  # noqa: E402

WIDTH, ROW, HEIGHT, GAP = 16.0, 1.62, 1.16, 0.25
TINTS = ("#dfe9f3", "#e6f0e4", "#f6ecd9", "#f1e4ee")


def sources(room: str) -> list[Path]:
    """Python and C files of a room."""
    folder = PACKAGE / room
    if not folder.is_dir():
        return [PACKAGE / f"{room}.py"]
    return [path for path in folder.rglob("*") if path.suffix in (".py", ".c", ".h", ".cpp")]


def lines(room: str) -> int:
    """Lines of code of all its files."""
    return sum(lines_of_code(path.name, path.read_text(encoding="utf-8")) for path in sources(room))


def purpose(room: str) -> str:
    """The first sentence of what the room says of itself."""
    folder = PACKAGE / room
    file = folder / "__init__.py" if folder.is_dir() else PACKAGE / f"{room}.py"
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].split(". ")[0].replace("\n", " ").replace("``", "").rstrip(".")


def used(room: str, rooms: set[str]) -> set[str]:
    """The rooms that a room imports."""
    found = set()
    for path in sources(room):
        if path.suffix != ".py":
            continue
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "robot_dynamics" and len(parts) > 1 and parts[1] in rooms:
                found.add(parts[1])
    return found - {room}


def reduced(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that no longer way implies."""

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        pending = list(edges[start])
        while pending:
            room = pending.pop()
            if room not in seen:
                seen.add(room)
                pending += edges[room]
        return seen

    return {
        room: {to for to in targets if not any(to in reach(other) for other in targets - {to})}
        for room, targets in edges.items()
    }


def main() -> None:
    """Draw the picture."""
    rooms = {room for row in LAYERS for room in row}
    assert rooms >= {layer(path) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    places: dict[str, tuple[float, float, float]] = {}
    figure, axes = plt.subplots(figsize=(WIDTH, ROW * len(LAYERS) * 0.8))
    for number, row in enumerate(LAYERS):
        sizes = [max(0.3 if len(row) > 3 else 0.22, lines(room) ** 0.5 / 130.0) for room in row]
        total = sum(sizes)
        widths = [min(0.62, size / max(total, 1.0)) * (WIDTH - GAP * len(row)) for size in sizes]
        left = 0.5 * (WIDTH - sum(widths) - GAP * (len(row) - 1))
        for room, width in zip(row, widths, strict=True):
            bottom = number * ROW
            places[room] = (left, bottom, width)
            axes.add_patch(
                FancyBboxPatch(
                    (left, bottom), width, HEIGHT, boxstyle="round,pad=0,rounding_size=0.08",
                    facecolor=TINTS[number % len(TINTS)], edgecolor="#2b4a66", linewidth=1.2, zorder=3,
                )
            )  # fmt: skip
            axes.text(left + 0.12, bottom + HEIGHT - 0.13, room, va="top", weight="bold", size=11, zorder=4)
            axes.text(
                left + width - 0.12, bottom + HEIGHT - 0.15, f"{lines(room):,}", va="top", ha="right",
                size=7.5, color="#555555", zorder=4,
            )  # fmt: skip
            told = "\n".join(textwrap.wrap(purpose(room), max(14, int(width * 11.0)))[:4])
            axes.text(
                left + 0.12, bottom + HEIGHT - 0.42, told, va="top", size=7.5, color="#333333", zorder=4
            )
            left += width + GAP
    for room, targets in reduced({room: used(room, rooms) for room in rooms}).items():
        for target in targets:
            (x, y, width), (x_to, y_to, width_to) = places[room], places[target]
            axes.add_patch(
                FancyArrowPatch(
                    (x + 0.5 * width, y), (x_to + 0.5 * width_to, y_to + HEIGHT), arrowstyle="-|>",
                    mutation_scale=11, color="#7d93a8", linewidth=1.1, zorder=2,
                    connectionstyle="arc3,rad=0.06", shrinkA=0, shrinkB=0,
                )
            )  # fmt: skip
    axes.set(xlim=(-0.1, WIDTH + 0.1), ylim=(-0.15, ROW * len(LAYERS)))
    axes.axis("off")
    figure.savefig(ROOT / "docs/images/architecture.png", dpi=90, bbox_inches="tight", pad_inches=0.1)


if __name__ == "__main__":
    main()
