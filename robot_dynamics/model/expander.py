"""A program that expands one xacro file: expressions that compute for ever can be ended only with it."""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from collections.abc import Mapping

NOT_INSTALLED = "xacro is not installed"


class _Asked(dict[str, str]):
    """The arguments of a xacro file, which remember the names that it declares or uses."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def _expand(path: str, arguments: Mapping[str, str]) -> dict[str, object]:
    """The ``text`` of the file and the names it ``asked`` for, or an ``error``."""
    try:
        import xacro
    except ImportError:
        return {"error": NOT_INSTALLED}
    given = _Asked(arguments)
    try:
        text = str(xacro.process_file(path, mappings=given).toxml())
    except Exception as error:  # xacro raises what its parsers and expressions raise
        reason, cause = " ".join(str(error).split()), getattr(error, "exc", error)
        words = (reason[:300], "" if str(cause) else type(cause).__name__)
        return {"error": ": ".join(filter(None, words))}
    return {"text": text, "asked": sorted(given.asked)}


def main() -> None:
    """Read path, arguments, seconds of processor time and bytes; write what came of it. Both are JSON."""
    path, arguments, longest, largest = json.load(sys.stdin)
    for what, most in ((resource.RLIMIT_CPU, longest), (resource.RLIMIT_AS, largest)):
        resource.setrlimit(what, (most, most))
    with contextlib.redirect_stdout(sys.stderr):
        answer = _expand(path, arguments)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
