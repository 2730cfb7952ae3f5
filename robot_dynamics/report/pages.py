"""HTML pages of one look, each a single file."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.extras import lacking


def rendered(template: str, **values: Any) -> str:
    """The page that a template makes of values.

    Args:
        template: its path in the package; it extends ``report/page.html.j2``.
        values: that the template names, a title and a summary among them.

    Raises:
        RobotDynamicsError: jinja2 is missing.
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise RobotDynamicsError(lacking("the page needs", "jinja2")) from error
    package = files("robot_dynamics")
    loader = FunctionLoader(lambda name: package.joinpath(*name.split("/")).read_text("utf-8"))
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, loader=loader)
    return environment.get_template(template).render(values)
