"""Limbs of a robot that are alike: trees of joints of the same kinds on one link."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from robot_dynamics.dynamics.generator.links import GeneratorLink

# Limbs of fewer links are not worth a vector.
LEAST = 2
MOST = 8

LimbLinks = tuple[tuple[int, ...], ...]
"""Links of several limbs; those at the same place correspond."""


def alike_limbs(links: Sequence[GeneratorLink]) -> list[LimbLinks]:
    """Groups of limbs on a common link with joints of the same kinds in the same order; no two overlap."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for index, link in enumerate(links):
        children[link.parent].append(index)
    known: dict[tuple[object, ...], int] = {}
    shapes: dict[int, int] = {}
    for index in range(len(links) - 1, -1, -1):
        shape = (links[index].kind, *sorted(shapes[child] for child in children[index]))
        shapes[index] = known.setdefault(shape, len(known))

    def limb(index: int) -> tuple[int, ...]:
        below = sorted(children[index], key=lambda child: shapes[child])
        return (index, *(x for child in below for x in limb(child)))

    def groups(parent: int) -> Iterator[LimbLinks]:
        by_shape: defaultdict[int, list[int]] = defaultdict(list)
        for child in children[parent]:
            by_shape[shapes[child]].append(child)
        for alike in by_shape.values():
            limbs = tuple(limb(child) for child in alike)
            if 1 < len(limbs) <= MOST and len(limbs[0]) >= LEAST and _separate(links, limbs):
                yield limbs
            else:
                for child in alike:
                    yield from groups(child)

    return list(groups(-1))


def corresponding(links: Sequence[GeneratorLink]) -> list[tuple[int, ...]]:
    """Every link with those that correspond to it in limbs that are alike, in the order of their first."""
    made = {alike[0]: alike for limbs in alike_limbs(links) for alike in zip(*limbs, strict=True)}
    others = {index for alike in made.values() for index in alike[1:]}
    return [made.get(index, (index,)) for index in range(len(links)) if index not in others]


def _separate(links: Sequence[GeneratorLink], limbs: LimbLinks) -> bool:
    """Return whether the joints of every limb have coordinates of their own, in the same pattern."""
    patterns, all_own = set(), []
    for limb in limbs:
        own = [links[index].coordinate for index in limb]
        patterns.add(tuple(own.index(coordinate) for coordinate in own))
        all_own.append(set(own))
    outside = {
        link.coordinate for index, link in enumerate(links) if not any(index in limb for limb in limbs)
    }
    return len(patterns) == 1 and len(set().union(outside, *all_own)) == len(outside) + sum(map(len, all_own))
