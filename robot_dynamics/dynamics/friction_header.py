"""The law of friction in C: what `robot_dynamics.dynamics.friction` computes with scalars that write C.

``python -m robot_dynamics.dynamics.friction_header`` writes the header that the control core includes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields

from robot_dynamics.codegen.emit_c import CAUTION
from robot_dynamics.dynamics import friction
from robot_dynamics.dynamics.friction import DriveFriction


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

    def magnitude(self) -> CText:
        """The absolute value."""
        return self._new(f"fabs({self.text})")


def _text(value: CText | float) -> str:
    return value.text if isinstance(value, CText) else repr(value)


def friction_header() -> str:
    """The header: the law, its presliding, its sign and its margin as inline functions."""
    names = [field.name for field in fields(DriveFriction)]
    drives: list[str] = []
    law = DriveFriction(*(CText(f"p[{k}]", drives) for k in range(len(names))))
    effort = law.effort(*(CText(name, drives) for name in ("velocity", "heading", "load")))
    bounds: list[str] = []
    margin = DriveFriction(*(CText(f"p[{k}]", bounds) for k in range(len(names)))).margin
    sign: list[str] = []
    along = friction.direction(CText("velocity", sign))
    built: list[str] = []
    law = DriveFriction(*(CText(f"p[{k}]", built) for k in range(len(names))))
    lacking = law.presliding(CText("heading", built), CText("slid", built))
    way: list[str] = []
    law = DriveFriction(*(CText(f"p[{k}]", way) for k in range(len(names))))
    moved = law.slid_after(CText("slid", way), CText("travel", way))
    return f"""\
/* Friction of a joint, from robot_dynamics/dynamics/friction.py, where the law is explained.
 * {CAUTION}
 */
#ifndef RD_FRICTION_H
#define RD_FRICTION_H

#include <math.h>

enum {{ RD_FRICTION_PARAMETERS = {len(names)} }};
/* Parameters p of a joint: {", ".join(names[:5])},
 * {", ".join(names[5:])}. */
enum {{ RD_PRESLIDING = {names.index("presliding_friction")} }}; /* what builds up after a reversal */

/* Effort that overcomes friction at a velocity along a heading, under a load of the gear [N m or N]. */
static inline double rd_friction(const double *p, double velocity, double heading, double load)
{_body(drives, effort)}
/* Effort beside it after a reversal, in the state `slid` of presliding [N m or N]. */
static inline double rd_presliding(const double *p, double heading, double slid)
{_body(built, lacking)}
/* The state of presliding, from -1 to 1, after a travel in one direction [rad or m]. */
static inline double rd_slid_after(const double *p, double slid, double travel)
{_body(way, moved)}
/* Not negative where friction drives no joint [N m or N]. */
static inline double rd_friction_margin(const double *p)
{_body(bounds, margin)}
/* Sign of the velocity, smooth through standstill. */
static inline double rd_direction(double velocity)
{_body(sign, along)}
#endif
"""


def _body(lines: list[str], result: CText) -> str:
    *before, last = lines
    assert last.startswith(f"const double {result.text} = ")
    returned = last.replace(f"const double {result.text} =", "return", 1)
    return "".join(["{\n", *(f"    {line}\n" for line in [*before, returned]), "}\n"])


if __name__ == "__main__":
    sys.stdout.write(friction_header())
