"""Stops that outlast a controller's node: read before it controls, written before a service answers."""

from __future__ import annotations

import types
from collections.abc import Generator
from pathlib import Path
from typing import Any

from rclpy.node import Node

from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.stop_memory import (
    NO_FILE,
    StopMemory,
    StopParameters,
    StopState,
    state_file_name,
    state_folder,
)
from robot_dynamics.errors import ParameterError
from robot_dynamics.ros.support import parameters


class RememberedStops:
    """The stop memories of a node, one per machine that it has controlled.

    Args:
        node: gets the parameter ``state_directory``; its parameter ``lockstep`` is declared.
        robot: what a stop is of, for the log.
        remedy: how a stop is ended.
    """

    def __init__(self, node: Node, robot: str, remedy: str) -> None:
        self._node, self._robot, self._remedy = node, robot, remedy
        self._memories: dict[str, StopMemory] = {}
        self._machine = ""
        chosen = parameters.declare(node, StopParameters).state_directory
        self._folder: Path | None = None
        try:
            # A simulation in lockstep can be repeated: nothing of a run before may count.
            self._folder = state_folder(NO_FILE if node.get_parameter("lockstep").value else chosen)
        except ParameterError as error:
            node.get_logger().warning(f"stops are forgotten when the process ends: {error}")

    @property
    def failure(self) -> str:
        """Fault of the state file of the machine in use; empty where there is none."""
        memory = self._memories.get(self._machine)
        return memory.failure if memory is not None else ""

    def take_over(self, controller: CoreController[Any], machine: str) -> None:
        """Let a new controller of a machine begin as the machine was left."""
        state = self._memory(machine).state
        self._machine = machine
        if state is not StopState.RELEASED:
            controller.begin_at_rest(state)

    def look(self, controller: CoreController[Any]) -> None:
        """Remember what a controller in force has come to."""
        state = controller.stop_state
        if state is not None:
            self._memories[self._machine].remember(state)

    def stop(self, machine: str) -> None:
        """Remember an emergency stop of a robot that no controller moves."""
        self._machine = machine
        self._memory(machine).remember(StopState.STOPPED)

    async def written(self) -> str:
        """Wait until everything is on the disk; returns :attr:`failure`."""
        memory = self._memories.get(self._machine)
        while memory is not None and not memory.written:
            await _next_turn()
        return self.failure

    def close(self) -> None:
        """The process ends: see everything written."""
        for memory in self._memories.values():
            memory.close()

    def _memory(self, machine: str) -> StopMemory:
        if machine in self._memories:
            return self._memories[machine]
        name = state_file_name(self._domain, self._node.get_fully_qualified_name(), machine)
        file = self._folder / name if self._folder is not None else None
        self._memories[machine] = memory = StopMemory(file)
        log, remedy = self._node.get_logger(), self._remedy
        if memory.failure and memory.state is StopState.STOPPED:
            log.error(f"{memory.failure}: the {self._robot} counts as stopped; {remedy}")
        elif memory.failure:
            log.warning(f"stops are forgotten when the process ends: {memory.failure}")
        elif memory.state is not StopState.RELEASED:
            log.warning(f"{memory.state.value} according to {file}: {remedy}")
        return memory

    @property
    def _domain(self) -> int:
        return int(self._node.context.get_domain_id())


@types.coroutine
def _next_turn() -> Generator[None, None, None]:
    """Let the executor go on with other callbacks."""
    yield
