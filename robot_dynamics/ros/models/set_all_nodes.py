"""Sets parameters and calls services at every node of a robot at once, and reads what its nodes have."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters, ListParameters, SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from std_srvs.srv import Trigger

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.models.live_parameters import SHARED
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.diagnostics import PREPARING, status_name
from robot_dynamics.ros.support.visit import visiting_node

SETTLED = 3.0
"""Seconds without a further node until those that were found count as all; a node that is known by its name
alone has as many as one that has to answer."""
ANSWER = 5.0
"""Seconds that a node has to answer."""
AGAIN = 1.0
"""Seconds until a request of parameters is repeated: DDS drops answers to clients that it has just found."""
UNSAVED = ("robot_description", "robot_description_semantic", "use_sim_time")
"""Parameters that no file of parameters is to repeat."""
OF_SIMULATOR = "physics_timestep"
"""Parameter of a simulator: its payload is what the arm really carries."""


PREPARED = 120.0
"""Longest wait for the model of a new description [s]."""


@dataclass(frozen=True)
class LiveSetting:
    """Parameters that were set at the nodes of a robot.

    Attributes:
        names: of the parameters that were set, by node.
        before: their values before, by node and name.
        reported: all parameters of the nodes afterwards, where they were asked for.
    """

    names: dict[str, list[str]]
    before: dict[str, dict[str, Any]]
    reported: dict[str, dict[str, Any]]


def set_all_nodes(
    wanted: Mapping[str, Any], namespace: str | None, simulator: bool, patience: float, report: bool = False
) -> LiveSetting:
    """Set parameters at every node that has them; where one refuses, all get their old values back.

    Args:
        wanted: names with their values; empty: nothing is set. A number is one for all joints where the node
            has a list.
        namespace: of the robot; nodes below it count too. None: of the only robot that there is.
        simulator: whether a simulator's own count as well.
        patience: how long to look for the first node [s].
        report: whether to ask the nodes for all of their parameters afterwards.

    Returns:
        What was set, and what the nodes have.

    Raises:
        RobotDynamicsError: no node has them, one does not answer, or one refuses; the text says which. Or
            there are several robots, and no namespace.
    """
    with visiting_node("set") as (node, executor):
        caller = _Caller(node, executor)
        below = namespace or "/"
        names = [*wanted, *(name for name in SHARED if report and name not in wanted)]
        found, known = caller.nodes_with(names, below, simulator, patience)
        having = {owner: [name for name in has if name in wanted] for owner, has in found.items()}
        having = {owner: has for owner, has in having.items() if has}
        missing = [name for name in wanted if not any(name in has for has in having.values())]
        if missing or not found:
            absent = ", ".join(missing or SHARED[:1])
            near = {hint for name in missing for hint in get_close_matches(name, known, 1)}
            hint = f"; did you mean {' or '.join(sorted(near))}?" if near else ""
            raise RobotDynamicsError(
                f"no node below {below} has {absent}, or none was found in {patience:g} s{hint}"
            )
        _check_alone(found, namespace, ", ".join(wanted or names))
        before = caller.set_all(having, wanted) if wanted else {}
        return LiveSetting(
            having, before, {owner: caller.everything(owner) for owner in found} if report else {}
        )


def call_all_nodes(service: str, namespace: str | None, patience: float) -> dict[str, Trigger.Response]:
    """Call a service without arguments at every node of a robot that has it; the answers by node.

    Args:
        service: its name behind the node's.
        namespace: of the robot; nodes below it count too. None: of the only robot that there is.
        patience: how long to look for the first node [s].

    Raises:
        RobotDynamicsError: no node has it, or one does not answer; or there are several robots, and no
            namespace.
    """
    with visiting_node("call") as (node, executor):
        below = (namespace or "/").rstrip("/") + "/"
        found: list[str] = []
        known: set[str] = set()
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            triggers = {
                name
                for name, kinds in node.get_service_names_and_types()
                if "std_srvs/srv/Trigger" in kinds and name.startswith(below)
            }
            if triggers - known:
                known |= triggers
                found = sorted(name for name in known if name.endswith(f"/{service}"))
                deadline = time.monotonic() + SETTLED if found else deadline
            executor.spin_once(timeout_sec=0.05)
        if not found:
            near = get_close_matches(service, {name.rpartition("/")[2] for name in known}, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise RobotDynamicsError(
                f"no node below {below} has the service {service}, looked for {patience:g} s{hint}"
            )
        owners = [name.rpartition("/")[0] for name in found]
        _check_alone(owners, namespace, service)
        caller = _Caller(node, executor)
        return {owner: caller.call(Trigger, f"{owner}/{service}", Trigger.Request()) for owner in owners}


def _check_alone(owners: Iterable[str], namespace: str | None, what: str) -> None:
    """Refuse to choose among several robots, where nodes of several have it."""
    spaces = {owner.rpartition("/")[0] or "/" for owner in owners}
    if namespace is None and len(spaces) > 1:
        raise RobotDynamicsError(
            f"there are several robots: nodes in {', '.join(sorted(spaces))} have {what};"
            " give --namespace of one, or --all"
        )


def wait_until_prepared(owner: str) -> None:
    """Wait until a node has built the model of what was set; at once where it reports nothing about that.

    Raises:
        RobotDynamicsError: it still builds after :data:`PREPARED`.
    """
    reported: dict[str, str] = {}

    def on_status(array: DiagnosticArray) -> None:
        for status in array.status:
            if status.name == status_name(owner):
                reported.update({PREPARING: ""}, **{one.key: one.value for one in status.values})

    with visiting_node("set") as (node, executor):
        node.create_subscription(DiagnosticArray, "/diagnostics", on_status, qos.DIAGNOSTICS)
        began = time.monotonic()
        while reported.get(PREPARING, "yes") == "yes":
            waited = time.monotonic() - began
            if not reported and waited > ANSWER:
                return
            if waited > PREPARED:
                raise RobotDynamicsError(f"{owner} still prepares its new model after {PREPARED:g} s")
            executor.spin_once(timeout_sec=0.05)


def _fitting(value: Any, present: Any) -> Any:
    """The value in the type of the present one, where a number has several."""
    if isinstance(present, list | tuple | array) and isinstance(value, float):
        return [value]
    if isinstance(present, int) and not isinstance(present, bool) and isinstance(value, float):
        return int(value) if value.is_integer() else value
    return value


class _Caller:
    """Calls the parameter services of other nodes."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor) -> None:
        self._node = node
        self._executor = executor

    def nodes_with(
        self, names: Sequence[str], namespace: str, simulator: bool, patience: float
    ) -> tuple[dict[str, list[str]], set[str]]:
        """Names of these parameters that each node has, when no further node comes up; and all names."""
        below = namespace.rstrip("/") + "/"
        found: dict[str, list[str]] = {}
        known: set[str] = set()
        heard = time.monotonic()
        deadline = heard + patience
        while time.monotonic() < deadline:
            for service, _ in self._node.get_service_names_and_types():
                owner, _, kind = service.rpartition("/")
                if kind != "list_parameters" or not owner.startswith(below) or owner in found:
                    continue
                has = set(self.call(ListParameters, service, ListParameters.Request()).result.names)
                mine = [name for name in names if name in has]
                known |= has
                found[owner] = mine if simulator or OF_SIMULATOR not in has else []
                heard = time.monotonic()
            if found:
                deadline = heard + (ANSWER if self._names(below) - set(found) else SETTLED)
            self._executor.spin_once(timeout_sec=0.05)
        return {owner: mine for owner, mine in found.items() if mine}, known

    def _names(self, below: str) -> set[str]:
        """Nodes that are known, whether or not their services are; hidden ones and this one are left out."""
        nodes = self._node.get_node_names_and_namespaces()
        full = {f"{space.rstrip('/')}/{name}" for name, space in nodes if not name.startswith("_")}
        return {name for name in full if name.startswith(below)} - {self._node.get_fully_qualified_name()}

    def set_all(self, found: Mapping[str, list[str]], wanted: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Set what each node has, and return the old values; what was set is taken back where one refuses."""
        before: dict[str, list[Parameter]] = {}
        for owner, names in found.items():
            before[owner] = self._values(owner, names)
            try:
                present = {one.name: one.value for one in before[owner]}
                fitting = {name: _fitting(wanted[name], present.get(name)) for name in names}
                self.set_one(owner, [Parameter(name, value=value) for name, value in fitting.items()])
            except RobotDynamicsError as error:
                del before[owner]
                for one, parameters in before.items():
                    self.set_one(one, parameters)
                raise RobotDynamicsError(f"{error}; every node has its old values") from error
        return {owner: {one.name: one.value for one in values} for owner, values in before.items()}

    def everything(self, owner: str) -> dict[str, Any]:
        """Values of a node by their names, except texts of descriptions, empty lists, and QoS."""
        names = self.call(ListParameters, f"{owner}/list_parameters", ListParameters.Request()).result.names
        kept = [
            name for name in sorted(names) if name not in UNSAVED and not name.startswith("qos_overrides.")
        ]
        values = {one.name: one.value for one in self._values(owner, kept)}
        plain = {name: list(value) if isinstance(value, array) else value for name, value in values.items()}
        return {name: value for name, value in plain.items() if value not in ([], "")}

    def _values(self, owner: str, names: Sequence[str]) -> list[Parameter]:
        """Values of a node, one by one: of several it tells none where one has no value yet."""
        found = []
        for name in names:
            answer = self.call(GetParameters, f"{owner}/get_parameters", GetParameters.Request(names=[name]))
            for value in map(parameter_value_to_python, answer.values):
                if value is not None:
                    found.append(Parameter(name, value=value))
        return found

    def set_one(self, owner: str, parameters: Sequence[Parameter]) -> None:
        """Set parameters of one node, all or none."""
        request = SetParametersAtomically.Request(parameters=[one.to_parameter_msg() for one in parameters])
        result = self.call(SetParametersAtomically, f"{owner}/set_parameters_atomically", request).result
        if not result.successful:
            raise RobotDynamicsError(f"{owner} refuses: {result.reason}")

    def call(self, kind: Any, service: str, request: Any) -> Any:
        """Call a service and return its answer; requests of parameters are sent again where none comes."""
        client = self._node.create_client(kind, service)
        try:
            self._wait(client.service_is_ready, service)
            futures = [client.call_async(request)]
            asked = time.monotonic()

            def answered() -> bool:
                nonlocal asked
                if kind is not Trigger and time.monotonic() > asked + AGAIN:
                    futures.append(client.call_async(request))
                    asked = time.monotonic()
                return any(future.done() for future in futures)

            self._wait(answered, service)
            return next(future.result() for future in futures if future.done())
        finally:
            self._node.destroy_client(client)

    def _wait(self, condition: Callable[[], bool], service: str) -> None:
        deadline = time.monotonic() + ANSWER
        while not condition():
            if time.monotonic() > deadline:
                raise RobotDynamicsError(f"{service} does not answer within {ANSWER:g} s")
            self._executor.spin_once(timeout_sec=0.05)
