"""The law of friction in C: what `robot_dynamics.dynamics.friction` computes with scalars that write C.

``python -m robot_dynamics.dynamics.friction_header`` writes the header that the control core includes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.codegen.emit_c import CAUTION
from robot_dynamics.dynamics import friction
from robot_dynamics.dynamics.friction import LINEAR, PARAMETERS, SCALES, VISCOUS, DriveFriction


@dataclass(frozen=True)
class CText:
    """A scalar whose arithmetic writes the lines of a C function.

    Attributes:
        text: its name or its number.
        lines: of the function, shared by its scalars.
    """

    text: str
    lines: list[str]

    def _new(self, text: str) -> CText:
        name = f"t{len(self.lines)}"
        self.lines.append(f"const double {name} = {text};")
        return CText(name, self.lines)

    def __add__(self, other: CText | float) -> CText:
        return self._new(f"{self.text} + {_text(other)}")

    def __sub__(self, other: CText | float) -> CText:
        return self._new(f"{self.text} - {_text(other)}")

    def __rsub__(self, other: float) -> CText:
        return self._new(f"{other!r} - {self.text}")

    def __mul__(self, other: CText | float) -> CText:
        return self._new(f"{self.text} * {_text(other)}")

    __rmul__ = __mul__

    def __truediv__(self, other: CText | float) -> CText:
        return self._new(f"{self.text} / {_text(other)}")

    def within_one(self) -> CText:
        """The number between −1 and 1 next to this one."""
        return self._new(f"{self.text} > 1.0 ? 1.0 : {self.text} < -1.0 ? -1.0 : {self.text}")

    def faded(self, velocity: CText, scale: CText) -> CText:
        """This · exp(−|velocity| / scale); the function is not called for zero."""
        fading = f"{self.text} * exp(-fabs({velocity.text}) / {scale.text})"
        return self._new(f"{self.text} != 0.0 ? {fading} : 0.0")

    def followed(self, travel: CText, scale: CText) -> CText:
        """This on its way to the sign of ``travel``, which stays as it is without one."""
        end = self._new(f"copysign(1.0, {travel.text})")
        return end + (self - end) * self._new(f"exp(-fabs({travel.text}) / {scale.text})")

    def smaller(self, other: CText) -> CText:
        """The smaller of two numbers."""
        return self._new(f"{self.text} < {other.text} ? {self.text} : {other.text}")

    def larger(self, other: CText) -> CText:
        """The larger of two numbers."""
        return self._new(f"{self.text} > {other.text} ? {self.text} : {other.text}")

    def magnitude(self) -> CText:
        """The absolute value."""
        return self._new(f"fabs({self.text})")

    def faded_slope(self, velocity: CText, scale: CText) -> CText:
        """Derivative by the velocity of this, which has faded as `faded` does."""
        slope = f"-copysign(1.0, {velocity.text}) * {self.text} / {scale.text}"
        return self._new(f"{self.text} != 0.0 ? {slope} : 0.0")

    def sign(self) -> CText:
        """1 or −1."""
        return self._new(f"copysign(1.0, {self.text})")


ONE = "1.0"


@dataclass(frozen=True)
class Moving:
    """A scalar of the law and its derivative by the velocity, which both write C.

    Attributes:
        value: the scalar.
        rate: its derivative, which is ``ONE`` of the velocity; None: it does not depend on the velocity.
    """

    value: CText
    rate: CText | None = None

    def __add__(self, other: Moving) -> Moving:
        rates = [rate for rate in (self.rate, other.rate) if rate is not None]
        return Moving(self.value + other.value, rates[0] + rates[1] if len(rates) == 2 else _only(rates))

    def __sub__(self, other: Moving) -> Moving:
        assert other.rate is None, "nothing that depends on the velocity is subtracted"
        return Moving(self.value - other.value, self.rate)

    def __mul__(self, other: Moving) -> Moving:
        value = self.value * other.value
        rates = [
            factor if rate.text == ONE else factor * rate
            for factor, rate in ((other.value, self.rate), (self.value, other.rate))
            if rate is not None
        ]
        return Moving(value, rates[0] + rates[1] if len(rates) == 2 else _only(rates))

    def faded(self, velocity: Moving, scale: Moving) -> Moving:
        """This · exp(−|velocity| / scale), of what does not depend on the velocity itself."""
        assert (
            self.rate is None
            and velocity.rate is not None
            and velocity.rate.text == ONE
            and scale.rate is None
        )
        value = self.value.faded(velocity.value, scale.value)
        return Moving(value, value.faded_slope(velocity.value, scale.value))

    def smaller(self, other: Moving) -> Moving:
        """The smaller of two numbers, neither of which depends on the velocity."""
        assert self.rate is None and other.rate is None
        return Moving(self.value.smaller(other.value))

    def magnitude(self) -> Moving:
        """The absolute value."""
        if self.rate is None:
            return Moving(self.value.magnitude())
        sign = self.value.sign()
        return Moving(self.value.magnitude(), sign if self.rate.text == ONE else sign * self.rate)


def _only(rates: Sequence[CText]) -> CText | None:
    return rates[0] if rates else None


def _text(value: CText | float) -> str:
    return value.text if isinstance(value, CText) else repr(value)


def friction_header() -> str:
    """The header: the law, its parts and their slopes, its bounds and its sign as inline functions."""
    codes = ",\n".join(f"    {code_of(name)}" for name in PARAMETERS)
    dry = "the magnitude of dry friction in a direction, -1 or 1, without a load [N m or N]"
    functions = [
        _function(
            "Effort that overcomes friction at a velocity along a heading, under a load of the gear"
            " [N m or N].",
            "rd_friction", lambda law, *given: law.effort(*given), "velocity", "heading", "load",
        ),
        _function(
            "Effort beside it after a reversal, in the state `slid` of presliding [N m or N].",
            "rd_presliding", lambda law, *given: law.presliding(*given), "heading", "slid",
        ),
        _function(
            "The state of presliding, from -1 to 1, after a travel in one direction [rad or m].",
            "rd_slid_after", lambda law, *given: law.slid_after(*given), "slid", "travel",
        ),
        _function("Not negative where friction drives no joint [N m or N].", "rd_friction_margin",
                  lambda law: law.margin),
        _sloped(
            "The part of rd_friction that is smooth through standstill [N m or N], and its slope.",
            "rd_viscous", lambda law, velocity: law.viscous(velocity),
        ),
        _sloped(
            "Magnitude of dry friction in a direction, -1 or 1, without a load [N m or N], and its slope.",
            "rd_dry_size", lambda law, velocity, along: law.dry_size(velocity, along), "along",
        ),
        _function(f"Bound below {dry}.", "rd_least_dry",
                  lambda law, along: law.least_dry(along), "along"),
        _function(f"Bound above {dry}.", "rd_greatest_dry",
                  lambda law, along: law.greatest_dry(along), "along"),
        _zeros("True if there is no friction at any velocity.", "rd_friction_is_zero", SCALES),
        _zeros(
            "True if rd_friction is linear in speed beyond standstill, and does not depend on the load.",
            "rd_friction_is_linear", LINEAR,
            f"p[{code_of('static_friction')}] == p[{code_of('friction')}]",
        ),
        _zeros(
            "True if rd_viscous is linear.", "rd_viscous_is_linear",
            [name for name in PARAMETERS if name not in VISCOUS or name in LINEAR],
        ),
    ]  # fmt: skip
    sign: list[str] = []
    along = friction.direction(CText("velocity", sign))
    return f"""\
/* Friction of a joint, from robot_dynamics/dynamics/friction.py, where the law is explained.
 * {CAUTION}
 */
#ifndef RD_FRICTION_H
#define RD_FRICTION_H

#include <math.h>

/* Parameters p of a joint. */
enum rd_friction_parameter {{
{codes},
    RD_FRICTION_PARAMETERS
}};

{"".join(functions)}/* Sign of the velocity, smooth through standstill. */
static inline double rd_direction(double velocity)
{_body(sign, along)}
#endif
"""


def code_of(name: str) -> str:
    """The index of a parameter in C."""
    return f"RD_{name.upper()}"


def _law(lines: list[str]) -> dict[str, CText]:
    """The parameters, as texts of a function with these lines."""
    return {name: CText(f"p[{code_of(name)}]", lines) for name in PARAMETERS}


def _function(about: str, name: str, result: Callable[..., Any], *given: str) -> str:
    """A function of the parameters and of ``given`` numbers."""
    lines: list[str] = []
    made = result(DriveFriction(**_law(lines)), *(CText(text, lines) for text in given))
    head = ", ".join(["const double *p", *(f"double {text}" for text in given)])
    return f"/* {about} */\nstatic inline double {name}({head})\n{_body(lines, made)}\n"


def _sloped(about: str, name: str, result: Callable[..., Any], *given: str) -> str:
    """A function of the velocity that gives its derivative by it, too."""
    lines: list[str] = []
    law = DriveFriction(**{key: Moving(text) for key, text in _law(lines).items()})
    velocity = Moving(CText("velocity", lines), CText(ONE, lines))
    made = result(law, velocity, *(Moving(CText(text, lines)) for text in given))
    slope = "0.0" if made.rate is None else _text(made.rate)
    head = ", ".join(["const double *p", "double velocity", *(f"double {text}" for text in given)])
    body = "".join(f"    {line}\n" for line in [*lines, f"*slope = {slope};", f"return {made.value.text};"])
    return f"/* {about} */\nstatic inline double {name}({head}, double *slope)\n{{\n{body}}}\n\n"


def _zeros(about: str, name: str, others: Sequence[str], *conditions: str) -> str:
    """A function that compares all parameters but ``others`` with zero."""
    zero = [f"p[{code_of(parameter)}] == 0.0" for parameter in PARAMETERS if parameter not in others]
    text = "\n        && ".join([*conditions, *zero])
    body = f"    return {text};" if text else "    (void)p;\n    return 1;"
    return f"/* {about} */\nstatic inline int {name}(const double *p)\n{{\n{body}\n}}\n\n"


def _body(lines: list[str], result: CText) -> str:
    *before, last = lines
    assert last.startswith(f"const double {result.text} = ")
    returned = last.replace(f"const double {result.text} =", "return", 1)
    return "".join(["{\n", *(f"    {line}\n" for line in [*before, returned]), "}\n"])


if __name__ == "__main__":
    sys.stdout.write(friction_header())
