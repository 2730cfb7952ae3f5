"""The descriptions of real robots that packages from PyPI have put on this machine."""

from __future__ import annotations

import importlib.util
import site
from pathlib import Path


def _folders() -> dict[str, Path]:
    folders = {}
    for place in (*site.getsitepackages(), site.getusersitepackages()):
        cmeel = Path(place) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if cmeel.is_dir():
            folders["example-robot-data"] = cmeel
    for module in ("pybullet_data", "rtbdata"):
        found = importlib.util.find_spec(module)
        if found is not None and found.origin is not None:
            folders[module] = Path(found.origin).parent
    return folders


FOLDERS = _folders()


def installed_robots() -> dict[str, Path]:
    """Every description found, by a name that is unique and readable."""
    return {
        f"{package}/{path.relative_to(folder)}": path
        for package, folder in FOLDERS.items()
        for path in sorted(folder.rglob("*.urdf"))
        if "random_urdfs" not in path.parts  # a thousand single bodies
    }


def example_robot(name: str) -> Path | None:
    """Path of a description of example-robot-data, such as ``panda_description/urdf/panda.urdf``."""
    folder = FOLDERS.get("example-robot-data")
    return folder / name if folder is not None and (folder / name).is_file() else None
