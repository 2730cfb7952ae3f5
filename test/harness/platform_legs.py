"""Legs of a platform: machines with other legs, and lengths and Jacobian by numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np


def replace_leg(machine, number, **fields):
    """A machine with other fields of one leg."""
    legs = list(machine.legs)
    legs[number] = replace(legs[number], **fields)
    return replace(machine, legs=tuple(legs))


def replace_legs(machine, **fields):
    """A machine with other fields of all legs; a field has six values, one for each leg."""
    legs = [
        replace(leg, **{name: values[k] for name, values in fields.items()})
        for k, leg in enumerate(machine.legs)
    ]
    return replace(machine, legs=tuple(legs))


def with_limits(machine, condition_limit=None, **limits):
    """The machine with other limits of all legs, or of its condition number."""
    legs = tuple(replace(leg, limits=replace(leg.limits, **limits)) for leg in machine.legs)
    return replace(machine, legs=legs, condition_limit=condition_limit or machine.condition_limit)


def legs_of(base, top, place, rotation):
    """(6) lengths of legs and (6, 6) Jacobian, whose first three columns are the legs' directions."""
    arms = top @ rotation.T
    legs = place + arms - base
    lengths = np.linalg.norm(legs, axis=1)
    directions = legs / lengths[:, None]
    return lengths, np.hstack([directions, np.cross(arms, directions)])


def legs_of_machine(machine, place, rotation):
    """(6) lengths of a machine's legs and (6, 6) Jacobian."""
    return legs_of(machine.base_points, machine.platform_points, place, rotation)
