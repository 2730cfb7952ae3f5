"""The demo platform with other limits."""

from __future__ import annotations

from platform_legs import replace_legs

from robot_dynamics import stewart
from robot_dynamics.resources import resource

DEMO = stewart.load(resource("config/stewart_demo.yaml"))


def limited(**limits):
    """The demo platform with limits (6,) in place of its own; a quantity that is not given has no limit."""
    each = [stewart.LegLimits(**{name: values[k] for name, values in limits.items()}) for k in range(6)]
    return stewart.StewartPlatform(replace_legs(DEMO.machine, limits=each))
