"""Polynomials in the number of links with exact rational coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Polynomial:
    """sum of coefficients[k] n^k, without trailing zeros."""

    coefficients: tuple[Fraction, ...]

    @classmethod
    def of(cls, *descending: int | Fraction) -> Polynomial:
        """From the coefficients of the highest power down, as one writes them."""
        coefficients = [Fraction(c) for c in reversed(descending)]
        while coefficients and coefficients[-1] == 0:
            coefficients.pop()
        return cls(tuple(coefficients))

    @classmethod
    def through(cls, values: Mapping[int, int]) -> Polynomial:
        """The polynomial of lowest degree through ``values`` (n -> count).

        Raises:
            ValueError: even the highest degree leaves no value to confirm it.
        """
        points = sorted(values.items())
        # Newton's divided differences.
        result, basis = cls(()), cls.of(1)
        for used in range(len(points)):
            n, value = points[used]
            missing = Fraction(value) - result(n)
            if missing == 0 and all(result(m) == v for m, v in points):
                return result
            result = result + basis * (missing / basis(n))
            basis = basis * cls.of(1, -n)
        raise ValueError(f"no polynomial is confirmed by {dict(points)}")

    def __call__(self, n: int) -> Fraction:
        return sum((c * n**k for k, c in enumerate(self.coefficients)), Fraction(0))

    def __add__(self, other: Polynomial) -> Polynomial:
        size = max(len(self.coefficients), len(other.coefficients))
        padded = [(*p.coefficients, *(Fraction(0),) * (size - len(p.coefficients))) for p in (self, other)]
        return Polynomial.of(*reversed([a + b for a, b in zip(*padded, strict=True)]))

    def __mul__(self, other: Polynomial | Fraction) -> Polynomial:
        if isinstance(other, Fraction):
            return Polynomial.of(*reversed([c * other for c in self.coefficients]))
        product = [Fraction(0)] * (len(self.coefficients) + len(other.coefficients))
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other.coefficients):
                product[i + j] += a * b
        return Polynomial.of(*reversed(product))

    def __str__(self) -> str:
        text = ""
        for power in range(len(self.coefficients) - 1, -1, -1):
            c = self.coefficients[power]
            if c == 0:
                continue
            symbol = {0: "", 1: "n"}.get(power, f"n^{power}")
            magnitude = "" if abs(c) == 1 and symbol else f"{abs(c)}"
            if symbol and "/" in magnitude:
                magnitude = f"({magnitude})"
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            text += f"{sign}{magnitude}{symbol}"
        return text or "0"
