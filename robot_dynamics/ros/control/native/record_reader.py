"""What the thread has recorded, and what of it the node's own thread lets people know."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.core.snapshot import PHASES
from robot_dynamics.control.protocol import Phase
from robot_dynamics.ros.control.cycle import CycleMonitor
from robot_dynamics.ros.control.events import LoopEvents
from robot_dynamics.ros.control.native.cycles import CALM, Cycles, Rows
from robot_dynamics.ros.control.native.library import Record
from robot_dynamics.ros.control.native.session import Session

_CONTROLS = [number for number, phase in enumerate(PHASES) if phase.controls]
_ANSWERED, _OBSERVED, _NO_EFFORT, _STATES_LOST, _FRONT_LOST, _SENDERS_GONE, _CLOCK_STANDS = range(7)


class RecordReader:
    """Reads records by the block: what every cycle costs in Python is taken from the loop's own processor.

    Args:
        events: told what happens.
        monitor: of the cycles.
        on_cycles: called for the answers since it was called last; returns how long the next call may
            wait [s].
    """

    def __init__(
        self,
        events: LoopEvents,
        monitor: CycleMonitor,
        on_cycles: Callable[[Cycles, Any], float],
    ) -> None:
        self._events = events
        self._monitor = monitor
        self._on_cycles = on_cycles

    def read(self, session: Session) -> float:
        """Take what the thread has recorded of a controller; returns how long the next look may wait [s]."""
        patience = CALM
        for rows in session.records():
            head = rows["head"]
            states = head[head["kind"] < _STATES_LOST]
            self._monitor.add(1e-9 * states["arrived"], 1e-9 * (states["left"] - states["arrived"]))
            answered = head["kind"] == _ANSWERED
            if answered.any():
                patience = self._on_cycles(Cycles(rows[answered], session.cycle), session.controller)
            for place in np.flatnonzero(_notable(rows, answered)):
                self._tell(session, rows[place])
        return patience

    def _tell(self, session: Session, row: Any) -> None:
        """What people should know of one record."""
        head, controller = row["head"], session.controller
        kind, age, back = int(head["kind"]), float(head["age"]), bool(head["back"])
        safe_output = controller.parameters.safe_output
        if kind == _STATES_LOST:
            self._events.states_lost(age, "" if back else safe_output)
        elif kind == _FRONT_LOST:
            self._events.front_lost(age, safe_output)
        elif kind == _SENDERS_GONE:
            self._events.senders_gone(age, "" if back else safe_output)
        elif kind == _CLOCK_STANDS:
            begun = PHASES[head["phase"]] is not Phase.WAITING
            self._events.clock_stands(age if age >= 0.0 else math.inf, safe_output if begun else "")
        elif kind == _NO_EFFORT:
            self._events.no_effort("the model has no finite effort for this state")
        elif kind == _ANSWERED:
            command = session.cycle(row).command
            names = session.order.joint_names
            self._events.answered(command, names, _discontinuity(controller, head), safe_output, back)


def _discontinuity(controller: CoreController[Any], head: Any) -> str:
    """Why a recorded state cannot follow from the one before; empty when it can."""
    return controller.words_of(Record(*head.tolist()))


def _notable(rows: Rows, answered: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which records tell more than the ones after them.

    Of answers as usual only the last says what holds now, and the last of those whose efforts were cut.
    """
    head = rows["head"]
    calm: NDArray[np.bool_] = answered & np.isin(head["phase"], _CONTROLS)
    calm &= (head["discontinuity"] == 0) & (head["back"] == 0)
    notable: NDArray[np.bool_] = ~calm & (head["kind"] != _OBSERVED)
    for usual in (calm, calm & (rows["unlimited"] != rows["effort"]).any(axis=1)):
        notable[np.flatnonzero(usual)[-1:]] = True
    return notable
