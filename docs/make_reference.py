"""Makes the API reference as web pages from the docstrings.

python docs/make_reference.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_type_hints

import pdoc

import robot_dynamics as rd


def main() -> int:
    """Write one page for each module that holds a public name."""
    folder = Path(sys.argv[1])
    homes = sorted({module for module, _ in rd._HOME.values()})
    # What the package itself names as a module comes with it.
    own = {f"robot_dynamics.{name}" for name in rd.__all__}
    specifications = ["robot_dynamics", *(home for home in homes if home not in own)]
    # Public names are loaded when they are asked for, and pdoc only reads what is there.
    for name in rd.__all__:
        setattr(rd, name, getattr(rd, name))
    motion: Any = rd.stewart.Motion  # a named tuple's signature does not know where its types come from
    motion.__new__.__annotations__ = get_type_hints(motion)
    pdoc.render.configure(docformat="google", footer_text=f"robot_dynamics {rd.__version__}")
    pdoc.pdoc(*specifications, output_directory=folder)
    missing = [
        name
        for name in rd.__all__
        if name not in (folder / "robot_dynamics.html").read_text(encoding="utf-8")
    ]
    if missing:
        print(f"not in the reference: {', '.join(missing)}", file=sys.stderr)
        return 1
    print(f"{len(homes)} modules, {len(rd.__all__)} public names: {folder / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
