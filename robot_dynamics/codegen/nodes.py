"""Node kinds of the expression graph.

A node is a triple ``(kind, a, b)`` of small integers (triples of integers hash fast and identically in every
process). For INPUT and CONSTANT, ``a`` is the running number among inputs or constants; for ADD, SUB, MUL and
DIV, ``a`` and ``b`` are node numbers; for SIN, COS and SQRT, ``a`` is a literal (``2 * node + negated``). For
PICK, ``a`` is the literal of a vector and ``b`` a lane.
"""

from typing import TypeAlias

Node: TypeAlias = tuple[int, int, int]

KINDS = range(10)
INPUT, CONSTANT, ADD, SUB, MUL, DIV, SIN, COS, SQRT, PICK = KINDS
