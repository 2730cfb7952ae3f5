"""Draws what the package is made of, and where it is installed.

    python docs/tools/draw_architecture.py

``architecture.png`` is drawn from the code: rooms, their sizes, and who imports whom. ``install_sizes.png``
has the sizes of this environment, and ``workspace.png`` the folders of a workspace that colcon builds.

The layers are those that ``test/test_layers.py`` enforces. An arrow stands for imports; one that a longer way
implies is left out.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "robot_dynamics"
sys.path.insert(0, str(ROOT / "test"))
from size import CODE, kind, lines_of_code  # noqa: E402
from test_layers import LAYERS, imports, layer  # noqa: E402

WIDTH, ROW, HEIGHT, GAP = 16.0, 1.62, 1.16, 0.25
EXTRAS = ("ros", "simulation", "plots", "view", "identification")
TINTS = ("#dfe9f3", "#e6f0e4", "#f6ecd9", "#f1e4ee")


def sources(room: str) -> list[Path]:
    """Python, C and C++ files of a room, templates included."""
    folder = PACKAGE / room
    if not folder.is_dir():
        return [PACKAGE / f"{room}.py"]
    return [path for path in folder.rglob("*") if kind(path.name) in CODE]


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
        if path.suffix != ".py":  # a template is no module
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


def closure(wanted: Iterable[Requirement]) -> dict[str, int]:
    """Packages of this environment that requirements bring, and the bytes of their files."""
    found: dict[str, int] = {}
    seen, pending = set(), [(wish, extra) for wish in wanted for extra in (wish.extras or {""})]
    while pending:
        wish, extra = pending.pop()
        if (wish.name, extra) in seen:
            continue
        seen.add((wish.name, extra))
        package = metadata.distribution(wish.name)
        files = (Path(package.locate_file(file)) for file in package.files or ())
        found[package.metadata["Name"]] = sum(file.stat().st_size for file in files if file.is_file())
        for text in package.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                pending += [(needed, part) for part in needed.extras or {""}]
    return found


def extras() -> None:
    """Draw ``install_sizes.png``: size of the package alone in this environment, and with each extra."""
    wishes = [Requirement(text) for text in metadata.requires("robot_dynamics") or ()]

    def of(*names: str) -> dict[str, int]:
        chosen = ("", *names)
        return closure(
            w
            for w in wishes
            if w.marker is None or any(w.marker.evaluate({"extra": name}) for name in chosen)
        )

    alone, whole = sum(of().values()) / 1e6, sum(of(*EXTRAS).values()) / 1e6
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    rows = {"package alone": alone, **{name: sum(of(name).values()) / 1e6 for name in EXTRAS}}
    rows["all of these (make demo)"] = whole
    for row, size in enumerate(rows.values()):
        axes.barh(row, alone, color="#7d93a8")
        axes.barh(row, size - alone, left=alone, color="#d9a441")
        axes.text(size + 8.0, row, f"{size:.0f}", va="center", size=11)
    axes.set_yticks(range(len(rows)), rows, size=11)
    axes.set(xlabel="size of the files [MB]", xlim=(0.0, 1.12 * whole))
    axes.invert_yaxis()
    figure.savefig(ROOT / "docs/images/install_sizes.png", dpi=120)


def workspace() -> None:
    """Draw ``workspace.png``: folders of a workspace that colcon has built, and who starts whom."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        subprocess.run(["git", "clone", "-q", ROOT, place / "src/robot_dynamics"], check=True)
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
        (place / "venv/COLCON_IGNORE").touch()
        # The packages of this environment stand for those of the system and of pip.
        sites = [path for path in sys.path if path.endswith("site-packages")]
        inside = next((place / "venv/lib").glob("python*/site-packages"))
        (inside / "here.pth").write_text("\n".join(sites), encoding="utf-8")
        python = place / "venv/bin/python3"
        subprocess.run([python, "-m", "colcon", "build"], cwd=place, check=True)
        prefix = place / "install/robot_dynamics"
        programs = sorted(path.name for path in (prefix / "lib/robot_dynamics").iterdir())
        first = (prefix / "lib/robot_dynamics/simulator").read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith(f"#!{place}/venv/bin/python"), first
        shared = [path.name for path in (prefix / "share/robot_dynamics").iterdir() if path.is_dir()]
        assert any(prefix.glob("lib/python3.*/site-packages/robot_dynamics"))
        folders = sorted(path.name for path in place.iterdir() if path.is_dir())
    assert folders == ["build", "install", "log", "src", "venv"], folders
    assert {"config", "launch", "rviz", "security", "urdf"} <= set(shared), shared
    tree = (
        ("~/ws", ""),
        ("├ src/robot_dynamics", "the clone"),
        ("├ venv", "MuJoCo, viser; sees ROS's packages"),
        ("│ └ bin/python3", "runs colcon and the nodes"),
        ("├ build, log", "for colcon alone"),
        ("└ install", ""),
        ("  ├ setup.bash", "source it in each terminal"),
        ("  └ robot_dynamics", ""),
        ("    ├ lib/robot_dynamics", f"{len(programs)} programs for ros2 run"),
        ("    ├ lib/python3.*", "the Python package"),
        ("    └ share/robot_dynamics", "launch files, URDFs, configuration"),
    )
    figure, axes = plt.subplots(figsize=(6.4, 3.7), layout="constrained")
    for row, (name, words) in enumerate(tree):
        axes.text(0.45, -row, name, family="monospace", size=11, va="center")
        axes.text(3.45, -row, words, size=11, va="center", color="#2b4a66")
    # The first line of each program names the interpreter.
    axes.plot([0.75, 0.15, 0.15], [-8, -8, -3], color="#b5651d", linewidth=1.6)
    axes.annotate("", (0.47, -3), (0.15, -3), arrowprops={"arrowstyle": "-|>", "color": "#b5651d", "lw": 1.6})
    axes.text(0.05, -5.5, "started by", rotation=90, size=11, color="#b5651d", ha="right", va="center")
    axes.set(xlim=(-0.15, 6.4), ylim=(-10.6, 0.6))
    axes.axis("off")
    figure.savefig(ROOT / "docs/images/workspace.png", dpi=120)


def main() -> None:
    """Draw ``architecture.png``."""
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
                left + width - 0.12, bottom + 0.1, f"{lines(room):,}", va="bottom", ha="right",
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
    extras()
    workspace()
