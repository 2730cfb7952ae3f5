"""Fingerprint of the sources that generated code depends on, besides the model.

Where a module's source names others of this package in import statements, they belong to it, and so on, with
the C files beside them. Import statements are found in the text, which is an order of magnitude faster than
parsing it and is on the path of every load from the cache; one in a docstring is followed too, which does no
harm. The package's own ``__init__``, the public face, is not followed: it names everything.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

_PACKAGE = "robot_dynamics"
_RESOURCES = (".c", ".h")
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(robot_dynamics[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    rb"|import[ \t]+([^\n]*\brobot_dynamics\b[^\n]*))",
    re.MULTILINE,
)
_NAME = re.compile(rb"[A-Za-z_][\w.]*")


@lru_cache(maxsize=16)
def source_fingerprint(*modules: str) -> str:
    """Digest of the sources that ``modules`` are made of, so that a change makes cached results obsolete."""
    return digest_of(modules, files(_PACKAGE))


def digest_of(modules: tuple[str, ...], package: Any) -> str:
    """The digest for a copy of the package in the folder ``package``."""
    digest = hashlib.sha256()
    for name, data in sorted(sources_of(modules, package).items()):
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def sources_of(modules: tuple[str, ...], package: Any) -> dict[str, bytes]:
    """Content of every file, by its path in ``package``, that ``modules`` are made of."""
    found: dict[str, bytes] = {}
    seen = {_PACKAGE}
    folders: dict[str, bool] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        path, source = _read(name, package)
        if not path:
            continue
        found[path] = source
        waiting.append(name.rpartition(".")[0])
        for module, members in imports_of(source):
            waiting.append(module)
            if module not in folders:
                folders[module] = package.joinpath(*module.split(".")[1:]).is_dir()
            # Only a package has modules among its members.
            if folders[module]:
                waiting += [f"{module}.{member}" for member in members]
    for folder in {path.rpartition("/")[0] for path in found}:
        for entry in package.joinpath(folder).iterdir():
            if entry.name.endswith(_RESOURCES):
                found[f"{folder}/{entry.name}"] = entry.read_bytes()
    return found


def imports_of(source: bytes) -> list[tuple[str, list[str]]]:
    """This package's modules in import statements, and the names that are imported from them."""
    result: list[tuple[str, list[str]]] = []
    for origin, members, plain in _IMPORT.findall(source):
        if plain:
            result += [(name, []) for name in _words(plain) if name.partition(".")[0] == _PACKAGE]
        else:
            result.append((origin.decode(), _words(members)))
    return result


def _words(text: bytes) -> list[str]:
    return [word.decode() for word in _NAME.findall(text)]


def _read(name: str, package: Any) -> tuple[str, bytes]:
    """Path and content of a module; empty for a name that is none."""
    path = name.partition(".")[2].replace(".", "/")
    for candidate in (f"{path}.py", f"{path}/__init__.py"):
        file = package.joinpath(candidate)
        if file.is_file():
            return candidate, file.read_bytes()
    return "", b""
