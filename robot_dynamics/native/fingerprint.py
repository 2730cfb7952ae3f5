"""What generated code depends on: the model's numbers and the code that turns them into a program."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

_SOURCES = (
    "robot_dynamics.codegen",
    "robot_dynamics.dynamics",
    "robot_dynamics.model",
    "robot_dynamics.native",
)


def model_fingerprint(chain: KinematicChain, gravity: Array | None) -> str:
    """Digest of every number that the dynamics of ``chain`` depend on; names do not count.

    ``gravity`` is (3,) in the root frame [m/s²], None where nothing depends on it.
    """
    digest = hashlib.sha256(b"" if gravity is None else np.asarray(gravity, dtype=float).tobytes())
    for joint in chain.joints:
        digest.update(f"{joint.kind.value} {joint.coordinate}".encode())
        scalars = (joint.multiplier, joint.offset, joint.body.mass)
        arrays = (joint.origin, joint.axis, joint.body.center_of_mass, joint.body.inertia)
        for numbers in (scalars, *arrays):
            digest.update(np.asarray(numbers, dtype=float).tobytes())
    digest.update(np.asarray(chain.tip_transform, dtype=float).tobytes())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def generator_fingerprint() -> str:
    """Digest of the generating code itself, so that a change in it makes every cached result obsolete."""
    digest = hashlib.sha256()
    for package in _SOURCES:
        _add(digest, files(package))
    return digest.hexdigest()


def _add(digest: Any, folder: Any) -> None:
    for entry in sorted(folder.iterdir(), key=lambda entry: str(entry.name)):
        if entry.is_dir():
            if entry.name != "__pycache__":
                _add(digest, entry)
        elif entry.name.endswith((".py", ".h")):
            digest.update(entry.name.encode())
            digest.update(entry.read_bytes())
