"""Choice of the law of friction for each joint: the one that predicts data that it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.identification.base_parameters import RegroupedBase
from robot_dynamics.identification.friction import DRIVE_COLUMNS, SPEEDS, TRAVELS, FrictionLaw
from robot_dynamics.identification.least_squares import robust_fit
from robot_dynamics.identification.runs import Run
from robot_dynamics.spatial import Array

FOLDS = 5
"""Parts of the runs, one after the other, each predicted from the others."""
SWEEPS = 2
LEAST_GAIN = 0.05
"""Share of its squared error by which a joint's law must be better."""
MOST_LOSS = 0.1
"""Largest loss of the parts that become worse, as a share of the others' gain."""
LEAST_LOAD_GAIN, MOST_LOAD_LOSS = 0.02, 1.0 / 3.0
"""The same for friction that grows with the load, whose sign and size are checked besides."""
LEAST_TRAVEL, MOST_TRAVEL = 0.0005, 0.05
"""Limits of the travel after a reversal that fits best [rad or m]."""
TRAVEL_ROUNDS = 6
"""Most steps towards it."""
_TRAVEL_STEP, _TRAVEL_FOUND = 0.5, 0.01
"""Greatest step of the logarithm of a travel, and the step that ends the search."""


def chosen_law(runs: Sequence[Run], base: RegroupedBase, load: bool = False) -> FrictionLaw:
    """The law that runs ask for, by cross-validation of weighted least squares.

    Joint by joint, friction that grows with the load is taken in, then friction that builds up after a
    reversal over each of TRAVELS, Stribeck's term at each of SPEEDS, and the asymmetry beside the sensor's
    offset, where they lower the error on the parts that were not learned from, and raise that of hardly any.

    Args:
        runs: to learn from.
        base: combinations of parameters with friction of the plain law.
        load: try friction that grows with the loads of ``runs``.
    """
    trial = _Trials(runs, base)
    count = runs[0].effort.shape[1]
    none = np.zeros(count, dtype=bool)
    plain = _Choice(np.zeros(count, dtype=int), none, none, np.zeros(count, dtype=int))
    found = _descended(trial, plain, load=False)
    if load:
        # Friction that grows with speed and with the load look alike, so both orders are tried.
        others = [_descended(trial, start, load=True) for start in (found, plain)]
        found = min(others, key=lambda choice: float(trial.errors(choice).sum()))
    speeds = np.array([0.0, *SPEEDS])[found.speeds]
    travels = np.array([0.0, *TRAVELS])[found.travels]
    return FrictionLaw(speeds, found.asymmetric, found.loaded, travels, runs[0].drives.coupling)


def best_travels(runs: Sequence[Run], law: FrictionLaw, base: RegroupedBase) -> tuple[list[Run], FrictionLaw]:
    """The law with the travels that fit best, and runs with their signals.

    Travels begin at those of ``law`` and go by Gauss-Newton steps of their logarithms to the least residuals.
    A travel that is only one of TRAVELS leaves an error at each reversal, where accelerations are greatest
    and always point the new way: rotor inertias would take it.

    Args:
        runs: to learn from.
        law: that was chosen.
        base: combinations of parameters by this law.
    """
    sliding = np.flatnonzero(law.presliding_travel)
    if not len(sliding):
        return list(runs), law
    columns, size = list(base.columns), base.grouping.shape[1]
    first = size - (len(DRIVE_COLUMNS) - DRIVE_COLUMNS.index("presliding_friction")) * len(law.loaded)
    places = [len(sliding) + columns.index(first + j) for j in sliding.tolist()]
    effort = np.concatenate([run.effort for run in runs])
    counted = np.concatenate([run.counted for run in runs])
    least, best, travels = np.inf, (list(runs), law), law.presliding_travel.copy()
    for _ in range(TRAVEL_ROUNDS):
        tried = replace(law, presliding_travel=travels)
        slid = [run.sliding(tried) for run in runs]
        regressor = np.concatenate([run.regressor(tried) for run in slid])[:, :, columns]
        fit = robust_fit(regressor, effort, counted)
        misfit = float(np.sum(np.log(np.maximum(np.mean(fit.residual**2, axis=0), 1e-300))))
        if not misfit < least:
            break
        least, best = misfit, (slid, tried)
        change = np.concatenate([run.drives.travel_columns(tried) for run in slid])
        values = robust_fit(np.concatenate([change, regressor], axis=2), effort, counted).values
        # The change of a unit that builds up counts as often as there are units.
        units = np.maximum(values[places], 1e-9 * np.abs(effort).max())
        step = np.clip(values[: len(sliding)] / units, -_TRAVEL_STEP, _TRAVEL_STEP)
        if np.all(np.abs(step) < _TRAVEL_FOUND):
            break
        travels = travels.copy()
        travels[sliding] = np.clip(travels[sliding] * np.exp(step), LEAST_TRAVEL, MOST_TRAVEL)
    return best


@dataclass(frozen=True)
class _Choice:
    """Variables of friction, (n,) each: 0 or 1 + the places in SPEEDS and TRAVELS, direction, load."""

    speeds: NDArray[np.int_]
    asymmetric: NDArray[np.bool_]
    loaded: NDArray[np.bool_]
    travels: NDArray[np.int_]


def _descended(trial: _Trials, choice: _Choice, load: bool) -> _Choice:
    """The choice after each joint has taken in what lowers its error."""
    count = len(choice.speeds)
    errors = trial.errors(choice)
    for _ in range(SWEEPS):
        for j in range(count if load else 0):
            tried = replace(choice, loaded=choice.loaded | (np.arange(count) == j))
            found = trial.errors(tried)
            if not choice.loaded[j] and _better(found, errors, j, LEAST_LOAD_GAIN, MOST_LOAD_LOSS):
                errors, choice = found, tried
        for name, most in (("travels", trial.travels), ("speeds", len(SPEEDS))):
            for j in range(count):
                errors, choice = _best_place(trial, choice, errors, name, j, most)
        for name in ("travels", "speeds"):
            for j in np.flatnonzero(getattr(choice, name)).tolist():
                # What stood for something that was found later may go.
                without = _placed(choice, name, j, 0)
                found = trial.errors(without)
                if found.sum() - errors.sum() <= LEAST_GAIN * found[:, j].sum():
                    errors, choice = found, without
        for j in range(count):
            tried = replace(choice, asymmetric=choice.asymmetric | (np.arange(count) == j))
            found = trial.errors(tried)
            if not choice.asymmetric[j] and trial.has_offset(j) and _better(found, errors, j):
                errors, choice = found, tried
    return choice


def _best_place(
    trial: _Trials, choice: _Choice, errors: Array, name: str, joint: int, most: int
) -> tuple[Array, _Choice]:
    """The choice with the best place of a joint in SPEEDS or TRAVELS, if one is better, and its errors."""
    best, at, places = errors, choice, getattr(choice, name)
    for place in range(1, most + 1):
        tried = _placed(choice, name, joint, place)
        found = trial.errors(tried)
        if found.sum() < best.sum() and (places[joint] > 0 or _better(found, errors, joint)):
            best, at = found, tried
    return best, at


def _placed(choice: _Choice, name: str, joint: int, place: int) -> _Choice:
    """The choice with another place of a joint in SPEEDS or TRAVELS."""
    places = getattr(choice, name)
    changed: dict[str, Any] = {name: np.where(np.arange(len(places)) == joint, place, places)}
    return replace(choice, **changed)


def _better(
    tried: Array, errors: Array, joint: int, least: float = LEAST_GAIN, most: float = MOST_LOSS
) -> bool:
    """True if errors (FOLDS, n) are lower in nearly all parts, and by what matters to the joint."""
    gain = errors.sum(axis=1) - tried.sum(axis=1)
    lost, won = -gain[gain < 0.0].sum(), gain[gain > 0.0].sum()
    return bool(lost < most * won and gain.sum() > least * errors[:, joint].sum())


class _Trials:
    """Squared errors of any choice of columns, from products that are made once.

    Attributes:
        travels: number of TRAVELS that are tried; files have none for motors that move several joints.
    """

    def __init__(self, runs: Sequence[Run], base: RegroupedBase) -> None:
        count, coupling = runs[0].effort.shape[1], runs[0].drives.coupling
        self.travels = len(TRAVELS) if coupling is None else 0
        plain = FrictionLaw.plain(count, coupling)
        regressor = np.concatenate([run.regressor(plain) for run in runs])[:, :, list(base.columns)]
        effort = np.concatenate([run.effort for run in runs])
        weights = robust_fit(regressor, effort, np.concatenate([run.counted for run in runs])).weights
        more = [np.concatenate([run.drives.fading[k] for run in runs]) for k in range(len(SPEEDS))]
        more += [np.concatenate([run.drives.building[k] for run in runs]) for k in range(len(TRAVELS))]
        more.append(np.concatenate([run.drives.square for run in runs]))
        more.append(np.concatenate([run.drives.load for run in runs]))
        columns = [regressor, *(runs[0].drives.placed(part) for part in more), effort[:, :, None]]
        rows = np.concatenate(columns, axis=2) * weights[:, :, None]
        size = np.sqrt(np.sum(rows**2, axis=(0, 1)))
        self._size = np.where(size > 0.0, size, 1.0)
        rows = rows / self._size
        parts = np.array_split(np.arange(len(rows)), FOLDS)
        self._products = np.array([[rows[part, j].T @ rows[part, j] for j in range(count)] for part in parts])
        self._count, self._plain = count, regressor.shape[2]
        first = base.grouping.shape[1] - count
        places = {column: k for k, column in enumerate(base.columns)}
        self._offsets = np.array([places.get(first + j, -1) for j in range(count)])

    def has_offset(self, joint: int) -> bool:
        """True if a constant effort of the joint can be distinguished from everything else."""
        return bool(self._offsets[joint] >= 0)

    def errors(self, choice: _Choice) -> Array:
        """(FOLDS, n) weighted squares of each part's errors, predicted from the other parts."""
        speeds, asymmetric, loaded = choice.speeds, choice.asymmetric, choice.loaded
        joints, folds = np.arange(self._count), np.arange(FOLDS)
        curved = speeds > 0
        after = self._plain + self._count * (len(SPEEDS) + len(TRAVELS))
        own = [
            -1,
            *range(self._plain),
            *(self._plain + self._count * (speeds - 1) + joints)[curved],
            *(self._plain + self._count * (len(SPEEDS) + choice.travels - 1) + joints)[choice.travels > 0],
            *(after + joints)[asymmetric],
            *(after + self._count + joints)[loaded],
        ]
        products = self._products[np.ix_(folds, joints, np.array(own), np.array(own))]
        whole = products.sum(axis=1)
        result = np.empty((FOLDS, self._count))
        for fold in range(FOLDS):
            known = whole.sum(axis=0) - whole[fold]
            matrix = known[1:, 1:] + 1e-10 * np.eye(len(own) - 1)
            values = np.concatenate([[-1.0], np.linalg.solve(matrix, known[1:, 0])])
            result[fold] = np.einsum("i,jik,k->j", values, products[fold], values)
        return np.asarray(result * self._size[-1] ** 2)
