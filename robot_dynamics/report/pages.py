"""HTML pages of one look, each a single file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.extras import lacking


@dataclass(frozen=True)
class Bar:
    """Needed and available effort of one actuator, for the macro ``bars``.

    Attributes:
        name: of the actuator.
        share: needed part of what is available [%]; None where no limit is given.
        words: both with their unit.
    """

    name: str
    share: float | None
    words: str

    @classmethod
    def of(cls, name: str, needed: float, available: float, unit: str) -> Bar:
        """The bar of two values in a unit; an infinite or zero limit is none."""
        if not (math.isfinite(available) and available > 0.0):
            return cls(name, None, f"{needed:.3g} {unit}, no limit given")
        share = 100.0 * needed / available
        return cls(name, share, f"{needed:.4g} of {available:.4g} {unit} ({share:.0f} %)")


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
