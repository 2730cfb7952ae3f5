"""The quantities that a customised model computes, and the shapes of their arrays."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """What one generated function computes.

    Attributes:
        name: as in the generator and in ``CompiledDynamics``.
        states: the arrays that every call has, each with one entry per joint.
        takes_wrench: whether a tip wrench may be given.
        takes_gravity: whether it depends on gravity.
        rows: rows of one result; 0 when it is a vector with one entry per joint, -1 for one row per joint.
    """

    name: str
    states: tuple[str, ...]
    takes_wrench: bool = False
    takes_gravity: bool = False
    rows: int = 0

    def shape(self, joints: int) -> tuple[int, ...]:
        """Shape of one result for a chain of ``joints`` joints."""
        if self.rows == 0:
            return (joints,)
        return (joints if self.rows < 0 else self.rows, joints)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments of a call, in order."""
        return (*self.states, *(("wrench",) if self.takes_wrench else ()), "out")


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("inverse_dynamics", ("q", "qd", "qdd"), takes_wrench=True, takes_gravity=True),
        Quantity("gravity", ("q",), takes_gravity=True),
        Quantity("coriolis", ("q", "qd")),
        Quantity("mass_matrix", ("q",), rows=-1),
        Quantity("forward_dynamics", ("q", "qd", "tau"), takes_wrench=True, takes_gravity=True),
        Quantity("jacobian", ("q",), rows=6),
    )
}
