"""Compiled and generated code, kept between processes.

What is stored here is executed, so a folder that another user could write to, or that belongs to another
user, is never used. Entries are written beside their place and renamed into it; each ends in a digest of
its content, so that a damaged one is noticed and made again.
"""

from __future__ import annotations

import atexit
import contextlib
import grp
import hashlib
import logging
import os
import pwd
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from robot_dynamics.errors import BackendError

_LOG = logging.getLogger(__name__)
_MARK = b"\n# sha256 "
_MOST_ENTRIES = 400
_HALF_MADE = re.compile(r"\.new_(\d+)_")

Build = Callable[[Path, Path], None]
_may_build: ContextVar[bool] = ContextVar("_may_build", default=True)
_chosen: Path | None = None


class NotBuilt(Exception):
    """An entry is missing and must not be built in this context."""


@contextlib.contextmanager
def finished_entries() -> Iterator[None]:
    """Within this context an entry that is not there raises :class:`NotBuilt` instead of being made."""
    token = _may_build.set(False)
    try:
        yield
    finally:
        _may_build.reset(token)


def folder() -> Path:
    """Folder of the entries."""
    return _chosen or _folder(_wanted_folder())


def use(place: Path) -> None:
    """Keep the entries in ``place``, the folder of another process of this user."""
    global _chosen
    _chosen = place


def cached(key: str, suffix: str, build: Build) -> Path:
    """The file that belongs to ``key``, made by ``build`` if it is not there or damaged.

    Args:
        key: identifies the content completely.
        suffix: file name ending.
        build: called with the file to write and a private folder for anything else.

    Raises:
        BackendError: no folder can be written to, or ``build`` raised it.
        NotBuilt: it would have to be made, within :func:`finished_entries`.
    """
    name = hashlib.sha256(key.encode()).hexdigest()[:40] + suffix
    place = folder()
    path = place / name
    if _is_sound(path):
        with contextlib.suppress(OSError):
            os.utime(path)
        return path
    if not _may_build.get():
        raise NotBuilt(name)
    try:
        _write(path, build)
    except OSError as error:
        _LOG.warning("the cache %s cannot be written (%s); compiling for this process only", place, error)
        path = _temporary_folder() / name
        if not _is_sound(path):
            try:
                _write(path, build)
            except OSError as second:
                raise BackendError(f"generated code cannot be stored in {path.parent}: {second}") from second
    return path


def sweep(place: Path) -> None:
    """Remove what processes that are no more have left half-made in a folder of entries."""
    for path in place.iterdir():
        owner = _HALF_MADE.match(path.name)
        if owner is not None and not _is_alive(int(owner[1])):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def discard(path: Path) -> None:
    """Remove an entry that turned out to be useless."""
    path.unlink(missing_ok=True)


def content(path: Path) -> bytes:
    """Content that ``build`` wrote."""
    return path.read_bytes().rpartition(_MARK)[0]


def objection(folder: Path) -> str | None:
    """Reason why code in ``folder`` must not be executed, or None."""
    user = os.getuid()
    real = folder.resolve()
    for place in (real, *real.parents):
        try:
            status = place.stat()
        except OSError as error:
            return str(error)
        if place == real and status.st_uid != user:
            return f"{place} belongs to user {status.st_uid}, not to you ({user})"
        if status.st_uid not in (user, 0):
            return f"{place} belongs to user {status.st_uid}"
        shared = status.st_mode & stat.S_IWOTH or (
            status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid)
        )
        if shared and (place == real or not status.st_mode & stat.S_ISVTX):
            return f"others can write to {place} (mode {stat.S_IMODE(status.st_mode):o})"
    return None


def _is_private_group(number: int) -> bool:
    """Return whether this user is the only member of the group, as in Debian's groups of users."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
        group = grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}


def _wanted_folder() -> Path:
    configured = os.environ.get("XDG_CACHE_HOME", "")
    if configured and Path(configured).is_absolute():
        return Path(configured) / "robot_dynamics"
    with contextlib.suppress(RuntimeError):
        return Path.home() / ".cache" / "robot_dynamics"
    return _temporary_folder()


@lru_cache(maxsize=8)
def _folder(wanted: Path) -> Path:
    """``wanted``, made if need be, or a private temporary folder if it is not safe."""
    try:
        for place in (*reversed(wanted.parents), wanted):
            if not place.is_dir():
                place.mkdir(mode=0o700, exist_ok=True)
        reason = objection(wanted)
    except OSError as error:
        reason = str(error)
    if reason is None:
        return wanted
    _LOG.warning("the cache %s is not used: %s; compiling for this process only", wanted, reason)
    return _temporary_folder()


@lru_cache(maxsize=1)
def _temporary_folder() -> Path:
    try:
        path = tempfile.mkdtemp(prefix="robot_dynamics_")
    except OSError as error:
        raise BackendError(
            f"there is no folder for generated code, not even a temporary one: {error}"
        ) from error
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


def _is_sound(path: Path) -> bool:
    """Return whether ``path`` is a regular file of this user that ends in the digest of its content."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
            return False
        data, mark, digest = path.read_bytes().rpartition(_MARK)
    except OSError:
        return False
    return bool(mark) and digest.strip() == hashlib.sha256(data).hexdigest().encode()


def _write(path: Path, build: Build) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".new_{os.getpid()}_", dir=path.parent) as scratch:
        made = Path(scratch) / path.name
        build(made, Path(scratch))
        digest = hashlib.sha256(made.read_bytes()).hexdigest()
        with made.open("ab") as file:
            file.write(_MARK + digest.encode() + b"\n")
        made.chmod(0o700)
        made.replace(path)
    sweep(path.parent)
    _prune(path.parent)


def _prune(folder: Path) -> None:
    """Forget the entries that have not been used for longest."""
    entries: list[tuple[float, Path]] = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.is_file():
                entries.append((path.stat().st_mtime, path))
    for _, path in sorted(entries)[: max(0, len(entries) - _MOST_ENTRIES)]:
        with contextlib.suppress(OSError):
            path.unlink()
