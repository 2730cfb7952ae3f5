"""Contacts in a log: external efforts by the controller's own observer, and a page about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.arm.contact import ContactParameters, MomentumObserver
from robot_dynamics.errors import LogError
from robot_dynamics.identification.log_checks import check_log
from robot_dynamics.identification.logs import Log
from robot_dynamics.report.pages import rendered
from robot_dynamics.report.plots import panels, picture
from robot_dynamics.spatial import Array

FREE_MARGIN = 1.5
"""Threshold over the largest external effort of a run in free motion."""
APART = 0.1
"""Shorter pauses do not end a contact [s]."""


@dataclass(frozen=True)
class Contact:
    """A time in which a joint feels more than its threshold.

    Attributes:
        joint: its name.
        began, ended: [s].
        largest: external effort, with its sign [N·m or N].
        threshold: at that moment [N·m or N].
    """

    joint: str
    began: float
    ended: float
    largest: float
    threshold: float


@dataclass(frozen=True)
class Felt:
    """External efforts of a log.

    Attributes:
        log: with its times and efforts.
        external: (N, n) [N·m or N].
        threshold: (N, n) [N·m or N].
    """

    log: Log
    external: Array
    threshold: Array

    def contacts(self) -> list[Contact]:
        """Every contact, in the order of their beginnings."""
        found = []
        beyond, time = np.abs(self.external) > self.threshold, self.log.time
        for j, name in enumerate(self.log.joint_names):
            places = np.flatnonzero(beyond[:, j])
            for part in np.split(places, np.flatnonzero(np.diff(time[places]) > APART) + 1):
                if len(part):
                    top = part[int(np.argmax(np.abs(self.external[part, j])))]
                    values = float(self.external[top, j]), float(self.threshold[top, j])
                    found.append(Contact(name, float(time[part[0]]), float(time[part[-1]]), *values))
        return sorted(found, key=lambda contact: contact.began)


def felt(log: Log, arm: ActuatedArm, parameters: ContactParameters) -> Felt:
    """External efforts of a log.

    Args:
        log: of joint states with efforts.
        arm: the model; its links are compiled.
        parameters: gain, thresholds, and delay of the efforts behind the positions.

    Raises:
        LogError: the log is not this robot's motion.
        ParameterError: a list does not fit the joints.
    """
    links: Any = arm.links
    check_log(log, links.chain)
    observer = MomentumObserver(links.chain, arm, parameters)
    acted = 0.5 * (log.effort + np.vstack([log.effort[:1], log.effort[:-1]]))
    rates = np.where(np.isnan(log.qd), np.gradient(log.q, log.time, axis=0), log.qd)
    rows = [observer.update(*row) for row in zip(log.time.tolist(), log.q, rates, acted, strict=True)]
    return Felt(log, np.array([row.effort for row in rows]), np.array([row.threshold for row in rows]))


def free_thresholds(logs: Sequence[Felt], parameters: ContactParameters) -> ContactParameters:
    """Parameters with the thresholds that runs in free motion, with margin, do not reach.

    Args:
        logs: felt with thresholds of friction alone, ``contact_threshold`` zero.
        parameters: gain and friction.
    """
    lacking = [np.max(np.abs(one.external) - one.threshold, axis=0, initial=0.0) for one in logs]
    floor = FREE_MARGIN * np.max(lacking, axis=0)
    return replace(parameters, contact_threshold=tuple(floor.tolist()), contact_speeds=())


def contact_page(runs: Sequence[Felt], parameters: ContactParameters) -> str:
    """HTML page of the contacts in runs."""
    if not runs:
        raise LogError("no run to report")
    number = sum(len(run.contacts()) for run in runs)
    verdict = (
        f"{number} contact{'s' if number != 1 else ''} in {len(runs)} run{'s' if len(runs) != 1 else ''}"
    )
    return rendered(
        "identification/contacts.html.j2",
        title="Contacts",
        summary=f"{verdict}; observer gain {parameters.observer_gain:g} 1/s. No safety function.",
        runs=[{"title": run.log.source, "table": _table(run), "pictures": [_picture(run)]} for run in runs],
    )


def _table(run: Felt) -> dict[str, Any]:
    rows = [
        [
            one.joint,
            f"{one.began:.3f}",
            f"{one.ended - one.began:.3f}",
            f"{one.largest:.3g}",
            f"{one.threshold:.3g}",
        ]
        for one in run.contacts()
    ]
    header = ["joint", "begins [s]", "lasts [s]", "largest external effort [N·m or N]", "threshold"]
    return {"header": header, "rows": rows or [["none", "", "", "", ""]]}


def _picture(run: Felt) -> dict[str, str]:
    figure, grid = panels(len(run.log.joint_names), "External effort and threshold", "N·m or N")
    for j, axes in enumerate(grid):
        axes.set_title(run.log.joint_names[j], fontsize="medium")
        axes.fill_between(run.log.time, -run.threshold[:, j], run.threshold[:, j], color="0.9", lw=0.0)
        axes.plot(run.log.time, run.external[:, j], lw=0.8)
    return picture(figure, "External efforts; grey: no contact")
