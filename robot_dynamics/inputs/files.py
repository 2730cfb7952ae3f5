"""Files from outside: regular ones only, of bounded size, and in UTF-8."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, TextIO

from robot_dynamics.errors import ModelError, ParameterError, RobotDynamicsError, quoted, readable

MAX_BYTES = 5 * 1024 * 1024
"""Size of the largest description or parameter file."""

Refuse = Callable[[str], RobotDynamicsError]
"""Makes the error of a file that is refused; an error class is one."""


def read_bytes(
    path: str | os.PathLike[str], what: str, error: Refuse = ModelError, most: int = MAX_BYTES
) -> bytes:
    """Content of a regular file.

    A device, a FIFO or a directory is refused and never waited for, whatever is put in the file's place
    meanwhile.

    Args:
        path: of the file.
        what: the kind of file, for messages, such as "URDF file".
        error: class of the error.
        most: size of the largest file [bytes].

    Raises:
        RobotDynamicsError: no such file, not a regular one, unreadable, or too large.
    """
    with open_regular(path, what, error) as stream:
        try:
            data = stream.read(most + 1)
        except OSError as reason:
            raise error(f"cannot read the {what} {quoted(_name(path))}: {_reason(reason)}") from None
    if data is None:
        raise error(f"cannot read the {what} {quoted(_name(path))}: it has nothing yet")
    if len(data) > most:
        raise error(f"{_name(path)}: larger than the {_size(most)} that a {what} may have")
    return data


def open_regular(path: str | os.PathLike[str], what: str, error: Refuse = ModelError) -> BinaryIO:
    """A regular file, open for reading; arguments and errors are those of :func:`read_bytes`."""
    try:
        # Opening a FIFO would wait for a writer.
        descriptor = os.open(os.fspath(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise error(f"no such {what}: {quoted(_name(path))}") from None
    except Exception as reason:  # also of an object that only calls itself a path
        raise error(f"cannot read the {what} {quoted(_name(path))}: {_reason(reason)}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise error(f"cannot read the {what} {quoted(_name(path))}: not a regular file")
    return os.fdopen(descriptor, "rb")


def open_output(path: str | os.PathLike[str], error: Refuse = ParameterError) -> TextIO:
    """A file for text in UTF-8, made or emptied; a FIFO that nobody reads is refused and not waited for.

    Args:
        path: of the file.
        error: class of the error.

    Raises:
        RobotDynamicsError: it cannot be written to.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(os.fspath(path), flags, 0o666)
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "w", encoding="utf-8", newline="", errors="backslashreplace")
    except (OSError, ValueError, TypeError) as reason:
        raise error(f"cannot write {quoted(_name(path))}: {_reason(reason)}") from None


def check_absent(path: Path) -> None:
    """Check that nothing is written over.

    Raises:
        RobotDynamicsError: the file or folder exists already.
    """
    if path.exists():
        raise RobotDynamicsError(f"{path} is there already; give another name")


def check_output(path: str | os.PathLike[str], error: Refuse = ParameterError) -> None:
    """Refuse at once what :func:`open_output` could not write to after long work; nothing is changed.

    Raises:
        RobotDynamicsError: no such folder, not a file, or one that may not be written.
    """
    reason = ""
    try:
        place = Path(path)
        if place.is_dir():
            reason = "it is a folder"
        elif place.exists():
            reason = "" if os.access(place, os.W_OK) else "permission denied"
        elif not place.parent.is_dir():
            reason = f"no such folder as {quoted(str(place.parent))}"
        else:
            _try_writing(place.parent)
    except (OSError, ValueError, TypeError) as problem:
        reason = _reason(problem)
    if reason:
        raise error(f"cannot write {quoted(_name(path))}: {reason}")


def check_folder(path: str | os.PathLike[str], error: Refuse = ParameterError) -> None:
    """Refuse at once a folder that :func:`write_files` could not make or fill; nothing is changed.

    Raises:
        RobotDynamicsError: it, or the nearest folder above that exists, is none or may not be written.
    """
    reason = ""
    try:
        place = Path(path).absolute()
        while not os.path.lexists(place) and place != place.parent:
            place = place.parent
        if place.is_dir():
            _try_writing(place)
        else:
            reason = f"{quoted(str(place))} is not a folder"
    except (OSError, ValueError, TypeError) as problem:
        reason = _reason(problem)
    if reason:
        raise error(f"cannot write to {quoted(_name(path))}: {reason}")


def write_files(folder: str | os.PathLike[str], contents: Mapping[str, str | bytes]) -> list[Path]:
    """Write files by their paths in ``folder``, which is made where it is not there; where they are.

    Raises:
        ParameterError: the folder or a file cannot be written.
    """
    paths = [Path(folder, name) for name in contents]
    try:
        for path, content in zip(paths, contents.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open_output(path) as stream:
                if isinstance(content, str):
                    stream.write(content)
                else:
                    stream.buffer.write(content)
    except (OSError, ValueError) as problem:
        raise ParameterError(f"cannot write to {quoted(_name(folder))}: {_reason(problem)}") from None
    return paths


def _try_writing(folder: Path) -> None:
    """An OSError where no file can be made in a folder; a file system may refuse what its rights allow."""
    with tempfile.TemporaryFile(dir=folder):
        pass


def read_text(
    path: str | os.PathLike[str], what: str, error: Refuse = ModelError, most: int = MAX_BYTES
) -> str:
    """Content of a regular file in UTF-8; arguments and errors are those of :func:`read_bytes`."""
    return decoded(read_bytes(path, what, error, most), str(_name(path)), error)


def decoded(data: bytes, source: str, error: Refuse = ModelError) -> str:
    """UTF-8 text, without a byte order mark.

    Args:
        data: the bytes.
        source: where they come from, for messages.
        error: class of the error.

    Raises:
        RobotDynamicsError: not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        raise error(f"{source} is not text in UTF-8: {reason.reason} at byte {reason.start}") from None


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Return whether ``path`` is a regular file; False for names that no file can have."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether ``path`` is a folder; False for names that no folder can have."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether ``path`` exists; False for names that nothing can have."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _name(path: object) -> object:
    try:
        return os.fspath(path) if isinstance(path, os.PathLike) else path
    except Exception:  # of an object that only calls itself a path
        return path


def _reason(reason: Exception) -> str:
    return (isinstance(reason, OSError) and reason.strerror) or readable(reason, 200)


def _size(count: int) -> str:
    return f"{count // 2**20} MiB" if count >= 2**20 else f"{count // 2**10} KiB"
