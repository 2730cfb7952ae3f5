"""Arms whose operation counts are known from elsewhere, and the counts that the generator reaches.

A model is a class: which parameters vanish and which axes are parallel or at right angles. Its numbers are
*drawn*: lengths, masses and inertial parameters that have nothing in common, so that a count holds for
symbolic parameters and owes nothing to two of them being equal (a_2 = d_4 in a PUMA) or to a sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.codegen.program import OperationCount, Program, count_operations
from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.links import links_of
from robot_dynamics.dynamics.generator.search import Objective, lengths_of
from robot_dynamics.dynamics.programs import find_choices, generate
from robot_dynamics.dynamics.serial_model import SerialModel

Draw = Iterator[float]
# So many draws of a model's numbers are counted.
DRAWS = 100
SYMPYBOTICS = "SymPyBotics, run by us with the joints' own sines and cosines; no publication prints it"
_QUARTER = math.pi / 2.0
_INERTIA = ("XX", "XY", "XZ", "YY", "YZ", "ZZ")
_BASE = "XX XY XZ YZ ZZ MX MY"


@dataclass(frozen=True)
class ReferenceModel:
    """An arm whose inverse dynamics somebody else has counted.

    Attributes:
        name: of the arm and its parameter set.
        file: the same as part of a file name.
        make: builds it from a draw of numbers.
        multiplications, additions: the smallest count known from elsewhere.
        source: where that count comes from.
        published: whether it is printed somewhere, or a run of another program.
    """

    name: str
    file: str
    make: Callable[[Draw], SerialModel]
    multiplications: int
    additions: int
    source: str
    published: bool

    @property
    def total(self) -> int:
        """Operations known from elsewhere."""
        return self.multiplications + self.additions

    def model(self, seed: int | None = None) -> SerialModel:
        """The arm with the standard numbers, or with random numbers and signs."""
        return self.make(_standard_draw() if seed is None else _random_draw(seed))


@dataclass(frozen=True)
class ReferenceCount:
    """Operations of the generated program of a reference model.

    Attributes:
        reference: the model and its count from elsewhere.
        count: fewest operations found.
        joint_angles_only: fewest operations when only the joints' own sines and cosines are used.
        draws: number of random draws of the model's numbers that were counted.
        worst: greatest of the two totals over these draws; None without any.
    """

    reference: ReferenceModel
    count: OperationCount
    joint_angles_only: OperationCount
    draws: int
    worst: tuple[int, int] | None


def _renaud(draw: Draw) -> SerialModel:
    """Renaud's example with six revolute joints: centers of mass on frame axes, no products of inertia."""
    moments = (2, 0, 1, 2, 1, 2)
    return SerialModel.from_dh(
        alpha=(0.0, _QUARTER, 0.0, _QUARTER, -_QUARTER, _QUARTER),
        a=(0.0, 0.0, next(draw), 0.0, 0.0, 0.0),
        r=(0.0, 0.0, 0.0, next(draw), 0.0, 0.0),
        mass=[abs(next(draw)) for _ in range(6)],
        first_moment=[next(draw) * np.eye(3)[axis] for axis in moments],
        inertia=[np.diag([next(draw), next(draw), next(draw)]) for _ in range(6)],
    )


def _rx90_simplified(draw: Draw) -> SerialModel:
    """Stäubli RX-90 with the simplified set of parameters."""
    return _rx90(draw, ("ZZ", "XX XZ ZZ MX", "XX ZZ MY", "XX ZZ", "XX ZZ MY", "XX ZZ"))


def _rx90_base(draw: Draw) -> SerialModel:
    """Stäubli RX-90 with its 36 base parameters."""
    return _rx90(draw, ("ZZ", *[_BASE] * 5))


def _puma560_base(draw: Draw) -> SerialModel:
    """PUMA 560 with its 36 base parameters and four different lengths."""
    return _arm(
        draw,
        alpha=(0.0, -_QUARTER, 0.0, -_QUARTER, _QUARTER, -_QUARTER),
        a=(0.0, 0.0, next(draw), next(draw), 0.0, 0.0),
        r=(0.0, 0.0, next(draw), next(draw), 0.0, 0.0),
        names=("ZZ", *[_BASE] * 5),
    )


REFERENCE_MODELS = (
    ReferenceModel(
        "Renaud's 6R example",
        "renaud_example",
        _renaud,
        164,
        115,
        "Renaud 1987, printed, after regrouping by hand",
        True,
    ),
    ReferenceModel(
        "RX-90, simplified set", "rx90_simplified", _rx90_simplified, 160, 109, SYMPYBOTICS, False
    ),
    ReferenceModel("RX-90, 36 base parameters", "rx90_base", _rx90_base, 286, 226, SYMPYBOTICS, False),
    ReferenceModel(
        "PUMA 560, 36 base parameters", "puma560_base", _puma560_base, 301, 240, SYMPYBOTICS, False
    ),
)


def reference_model(file: str) -> ReferenceModel:
    """The reference model whose programs are written to ``file``.c."""
    return next(reference for reference in REFERENCE_MODELS if reference.file == file)


# What the two counts of a model are, and what the files of their programs end with.
OBJECTIVES = {Objective.OPERATIONS: "", Objective.JOINT_ANGLES: "_own_angles"}


def reference_program(
    reference: ReferenceModel, objective: Objective, effort: str = "normal"
) -> tuple[Program, Choices]:
    """The counted program of a reference model with its standard numbers, and the choices behind it."""
    model = reference.model()
    choices = find_choices(model, objective, effort)
    return generate(model, objective=objective, choices=choices), choices


def reference_counts(effort: str = "normal", draws: int = DRAWS) -> list[ReferenceCount]:
    """Count the generated inverse dynamics of every reference model, by ``program.CONVENTION``."""
    counts = []
    for reference in REFERENCE_MODELS:
        found, worst = [], []
        for objective in OBJECTIVES:
            program, choices = reference_program(reference, objective, effort)
            found.append(count_operations(program))
            worst.append(max(drawn_counts(reference, choices, draws), default=found[-1].total))
        both = (worst[0], worst[1]) if draws else None
        counts.append(ReferenceCount(reference, found[0], found[1], draws, both))
    return counts


def drawn_counts(reference: ReferenceModel, choices: Choices, draws: int) -> list[int]:
    """Total operations of the same model with other numbers, written with the same choices."""
    units = lengths_of(links_of(reference.model().rebased()))
    forward, backward = units.index(choices.forward_length), units.index(choices.backward_length)
    totals = []
    for seed in range(draws):
        model = reference.model(seed)
        own = lengths_of(links_of(model.rebased()))
        same = replace(choices, forward_length=own[forward], backward_length=own[backward])
        totals.append(count_operations(generate(model, choices=same)).total)
    return totals


def _rx90(draw: Draw, names: Sequence[str]) -> SerialModel:
    return _arm(
        draw,
        alpha=(0.0, _QUARTER, 0.0, -_QUARTER, _QUARTER, -_QUARTER),
        a=(0.0, 0.0, next(draw), 0.0, 0.0, 0.0),
        r=(0.0, 0.0, 0.0, next(draw), 0.0, 0.0),
        names=names,
    )


def _arm(
    draw: Draw, alpha: Sequence[float], a: Sequence[float], r: Sequence[float], names: Sequence[str]
) -> SerialModel:
    """An arm whose inertial parameters are zero but for those named, link by link."""
    sets: list[Mapping[str, float]] = [{name: next(draw) for name in link.split()} for link in names]
    return SerialModel.from_dh(
        alpha=alpha,
        a=a,
        r=r,
        mass=[0.0] * len(sets),
        first_moment=[[link.get(name, 0.0) for name in ("MX", "MY", "MZ")] for link in sets],
        inertia=[[link.get(name, 0.0) for name in _INERTIA] for link in sets],
    )


def _standard_draw() -> Draw:
    """Numbers between 0.3 and 2.3 that have nothing in common (multiples of the golden section)."""
    k = 0
    while True:
        k += 1
        yield 0.3 + 2.0 * math.fmod(k * 0.6180339887498949, 1.0)


def _random_draw(seed: int) -> Draw:
    """Random numbers of either sign, between 0.3 and 2.3 in magnitude."""
    random = np.random.default_rng(seed)
    while True:
        yield float(random.uniform(0.3, 2.3) * random.choice((-1.0, 1.0)))
