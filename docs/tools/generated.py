"""A Sphinx extension with tables from the code: parameters, launch arguments, subcommands, Python API.

A page says where a table goes:

    ```{parameters} simulator
    ```
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from docutils import nodes
from node_parameters import literal, node_parameters
from sphinx.ext.autodoc.mock import mock
from sphinx.util.docutils import SphinxDirective

import robot_dynamics as rd
from robot_dynamics.cli.main import COMMANDS, command_line
from robot_dynamics.control.core.library import ffi, load_core
from robot_dynamics.control.supervision import RULES
from robot_dynamics.model.driver_profile import DriverProfile, driver_names, load_driver
from robot_dynamics.resources import share_directory

TYPES = {bool: "bool", int: "int", float: "float", str: "string"}
ROS = re.findall(
    r"<exec_depend>(\w+)</exec_depend>", (share_directory() / "package.xml").read_text(encoding="utf-8")
)
"""Packages of ROS that the nodes import; no table needs them."""


def cell(text: object) -> str:
    """Text for a cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown."""
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    yield from ("| " + " | ".join(row) + " |" for row in rows)
    yield ""


def parameters(node: str) -> Iterator[str]:
    """A table of a node's parameters."""
    with mock(ROS):
        known_parameters = node_parameters(node)
    rows = [
        (
            f"`{known.name}`",
            TYPES[known.type] + "[]" * known.array,
            known.unit and f"{cell(known.unit)}",
            f"`{literal(known.default)}`",
            cell(known.constraints),
            "at the start" if known.read_only else "live",
            cell(known.text),
        )
        for known in sorted(known_parameters.values(), key=lambda known: known.name)
    ]
    yield from table(("name", "type", "unit", "default", "bounds", "change", "meaning"), rows)


def declared_arguments(file: Path) -> dict[str, tuple[str, str, list[str] | None]]:
    """Text, default and choices of the arguments that a launch file declares; without a ROS installation."""
    # This repository's own folder launch/ is no library, though Python takes it for a package.
    lacking = [] if importlib.util.find_spec("launch_ros") else ["launch", "launch_ros", "ament_index_python"]
    for name in [name for name in sys.modules if name.partition(".")[0] in lacking]:
        del sys.modules[name]
    with mock(lacking):
        from robot_dynamics.ros.launching import actions
        from robot_dynamics.ros.launching.arguments import ARGUMENTS

        spec = importlib.util.spec_from_file_location(file.stem.replace(".", "_"), file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        declared: dict[str, tuple[str, str, list[str] | None]] = {}
        module.installed = Installed  # type: ignore[attr-defined]

        def record(_actions: object, *names: str, **defaults: Any) -> None:
            for name in names:
                text, default, choices = ARGUMENTS[name]
                given = defaults.get(name, default)
                if isinstance(given, actions.WhenArgument):
                    given = given.describe()
                elif given:
                    given = f"`{given}`"
                declared[name] = (text, str(given), choices)

        module.describe = record  # type: ignore[attr-defined]
        module.generate_launch_description()
        first = {name: default for name, (_, default, _) in declared.items()}
        Installed.answer = not Installed.answer
        module.generate_launch_description()
        Installed.answer = not Installed.answer
    for name, (text, default, choices) in declared.items():
        if default != first[name]:
            declared[name] = (
                text,
                f"{first[name]} where {Installed.package} is installed, else {default}",
                choices,
            )
    return declared


class Installed:
    """Answers a launch file's question for a package, for both answers in turn."""

    answer = True
    package = ""

    def __init__(self, package: str) -> None:
        Installed.package = package

    def __bool__(self) -> bool:
        return Installed.answer


def launch_arguments(_argument: str) -> Iterator[str]:
    """A section for each launch file."""
    for file in sorted((share_directory() / "launch").glob("*.launch.py")):
        yield f"## {file.name}\n"
        spec = file.read_text(encoding="utf-8").split('"""')[1]
        yield " ".join(spec.split()) + "\n"
        rows = [
            (f"`{name}`", cell(default), ", ".join(f"`{c}`" for c in choices or ()), cell(text))
            for name, (text, default, choices) in declared_arguments(file).items()
        ]
        yield from table(("argument", "default", "choices", "meaning"), rows)


def commands(_argument: str) -> Iterator[str]:
    """A section for each subcommand, with its help text."""
    parser = command_line(lambda name: True)
    with columns(100):
        for name, command in subcommands(parser):
            help_text = command.format_help().replace(str(Path.home()), "~")
            yield f"## {name}\n\n```text\n{help_text}```\n"
    missing = {name.replace("_", "-") for name in COMMANDS} - {name for name, _ in subcommands(parser)}
    if missing:
        raise LookupError(f"no help of {', '.join(sorted(missing))}")


def subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command below a parser, with those below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield name, command
                yield from ((f"{name} {below}", deeper) for below, deeper in subcommands(command))


@contextlib.contextmanager
def columns(width: int) -> Iterator[None]:
    """Make argparse write lines of this width."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(width)
    try:
        yield
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


def c_header(_argument: str) -> Iterator[str]:
    """The header of the control core, without the lines for the preprocessor."""
    text = (Path(rd.__file__).parent / "control/core/core.h").read_text(encoding="utf-8")
    yield "```c\n" + text.partition("/* API */\n")[2].partition("/* end of API */")[0].strip() + "\n```"


def rules(_argument: str) -> Iterator[str]:
    """A table of the rules of supervision, from the core's own."""
    core, ffi_of_core = load_core(), ffi()
    rows = []
    for number, (name, quantity) in enumerate(RULES.items()):
        line = core.rd_rule_table(number)
        if line == ffi_of_core.NULL:
            continue
        reaction, remedy = (ffi_of_core.string(text).decode() for text in (line.reaction, line.remedy))
        rows.append((f"`{name}`", cell(quantity), f"{line.duration:g}", cell(reaction), cell(remedy)))
    yield from table(("rule", "quantity", "duration [s]", "reaction", "remedy"), rows)


def drivers(_argument: str) -> Iterator[str]:
    """A table of the driver profiles, then every statement of each."""
    profiles = [load_driver(name) for name in driver_names()]
    rows = []
    for profile in profiles:
        command, state = profile.command, profile.state
        effort = state.quantity if state.side == "unknown" else f"{state.quantity}, {state.side} side"
        rows.append(
            (
                f"[`{profile.name}`](#driver-{profile.name.replace('_', '-')})",
                cell(f"{profile.title} {profile.version}"),
                ", ".join(command.interfaces) or "none",
                command.gravity,
                effort,
                f"{profile.rate:g}" if profile.rate else "",
            )
        )
    yield from table(
        ("profile", "driver, version", "command", "weight carried by", "effort states", "rate [Hz]"), rows
    )
    for profile in profiles:
        yield f"## Driver `{profile.name}`\n\n{profile.title} {profile.version}\n"
        yield from table(("key", "value"), [*_statements(profile)])
        if profile.sources:
            yield "Sources:\n"
            yield from (f"- {cell(source)}" for source in profile.sources)
            yield ""


def _statements(profile: DriverProfile) -> Iterator[tuple[str, str]]:
    """Keys and values of a profile; a value that no source confirmed has a question mark."""
    for part in ("command", "state", ""):
        record = getattr(profile, part) if part else profile
        for field in fields(record):
            key = f"{part}.{field.name}" if part else field.name
            value = getattr(record, field.name)
            if field.name in ("command", "state", "name", "title", "version", "sources", "unverified"):
                continue
            if field.name == "traps":
                yield from (("trap", cell(trap)) for trap in value)
            elif value != () and value != "" and (isinstance(value, bool) or value != 0.0):
                text = ", ".join(map(str, value)) if isinstance(value, tuple) else literal(value).strip('"')
                yield f"`{key}`", cell(text) + (" (?)" if key in profile.unverified else "")


def errors(_argument: str) -> Iterator[str]:
    """A table of the exceptions and warnings."""
    rows = [
        (f"`{name}`", cell((inspect.getdoc(thing) or "").split("\n\n")[0]))
        for name, thing in public(rd.errors)
        if issubclass_of(thing, BaseException)
    ]
    yield from table(("class", "meaning"), rows)


def api(_argument: str) -> Iterator[str]:
    """Every public name of the library."""
    modules = [name for name in rd.__all__ if inspect.ismodule(getattr(rd, name))]
    yield "```{eval-rst}"
    for name in rd.__all__:
        thing = getattr(rd, name)
        if name in modules or issubclass_of(thing, BaseException):
            continue
        kind = "autoclass" if inspect.isclass(thing) else "autofunction"
        yield f".. {kind}:: robot_dynamics.{name}"
        yield "   :members:\n" if kind == "autoclass" else ""
    yield "```"
    for name in modules:
        module = getattr(rd, name)
        yield f"\n## robot_dynamics.{name}\n\n```{{eval-rst}}"
        yield f".. automodule:: {module.__name__}\n   :no-members:\n"
        for member, thing in public(module):
            if getattr(rd, member, None) is thing and name != "errors":
                continue
            kind = "autoclass" if inspect.isclass(thing) else "autofunction"
            yield f".. {kind}:: {module.__name__}.{member}"
            yield "   :members:\n   :show-inheritance:\n" if kind == "autoclass" else ""
        yield "```"


def issubclass_of(thing: object, kind: type) -> bool:
    """True if ``thing`` is a class of this kind."""
    return inspect.isclass(thing) and issubclass(thing, kind)


def public(module: Any) -> Iterator[tuple[str, Any]]:
    """Classes and functions that a module offers."""
    names = getattr(module, "__all__", None)
    for name in names or vars(module):
        thing = getattr(module, name)
        own = names is not None or getattr(thing, "__module__", "") == module.__name__
        if own and not name.startswith("_") and (inspect.isclass(thing) or inspect.isfunction(thing)):
            yield name, thing


class Generated(SphinxDirective):
    """Markdown that a function of this module makes, in the place of the directive."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse what is made."""
        text = "\n".join(GENERATORS[self.name](self.arguments[0] if self.arguments else ""))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


GENERATORS = {
    "parameters": parameters,
    "launch-arguments": launch_arguments,
    "commands": commands,
    "c-header": c_header,
    "rules": rules,
    "drivers": drivers,
    "errors": errors,
    "api": api,
}


def literal_blocks(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Make an indented block behind a colon a block of code, as the docstrings mean it."""
    for number in range(len(lines) - 2):
        line, blank, block = lines[number : number + 3]
        if line.endswith(":") and not line.endswith("::") and not blank and block.startswith("    "):
            lines[number] += ":"
    code = False
    for number, line in enumerate(lines):
        code = line.startswith(" ") or not line if code else line.endswith("::")
        if not code:
            lines[number] = line.replace("|", "\\|")  # the magnitude of something, no substitution


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    for name in GENERATORS:
        app.add_directive(name, Generated)
    app.connect("autodoc-process-docstring", literal_blocks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
