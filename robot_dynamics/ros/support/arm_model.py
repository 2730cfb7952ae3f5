"""The model of an arm as nodes get it: from the robot's description; root, tip and gravity are parameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from rclpy.node import Node

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.support.description import DescriptionSource
from robot_dynamics.ros.support.parameters import declare


@dataclass(frozen=True)
class ModelParameters:
    """Which chain of the robot, and where down is."""

    root: str = parameter("", "Root link of the chain; empty: the root of the robot", read_only=True)
    tip: str = parameter("", "Tip link of the chain; empty: the only possible one", read_only=True)
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81), "Gravity vector in the root frame, for tilted mounts", unit="m/s²", read_only=True
    )

    def __post_init__(self) -> None:
        validate(self)
        if len(self.gravity) != 3:
            raise ParameterError(
                f"parameter 'gravity' has {len(self.gravity)} values; it must have 3: x, y, z"
            )


@dataclass(frozen=True)
class ArmModel:
    """A chain and its compiled dynamics."""

    chain: KinematicChain
    dynamics: CompiledDynamics


class ModelLoader:
    """Builds the model from every new robot description.

    The first model is built at once, so a node without one can wait for it. A later one is built in a thread
    of its own while the old one stays in use, and handed over in the node's own thread; a description that is
    refused leaves the old model in use.

    Args:
        node: gets the parameters and the description.
        on_model: called in the node's thread with every model.
    """

    def __init__(self, node: Node, on_model: Callable[[ArmModel], None]) -> None:
        self.parameters = declare(node, ModelParameters)
        self.model: ArmModel | None = None
        self._node = node
        self._on_model = on_model
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        self._building: Future[ArmModel] | None = None
        self._ready = node.create_guard_condition(self._take_over)
        self._source = DescriptionSource(node, self._on_description)

    def _on_description(self, text: str) -> None:
        if self.model is None:
            self._use(self._build(text))
            return
        self._building = self._pool.submit(self._build, text)
        self._building.add_done_callback(lambda _: self._ready.trigger())

    def _take_over(self) -> None:
        building = self._building
        if building is None or not building.done():
            return
        self._building = None
        try:
            self._use(building.result())
        except RobotDynamicsError as error:
            self._node.get_logger().error(f"the new description is refused, the old model stays: {error}")

    def _use(self, model: ArmModel) -> None:
        self.model = model
        self._on_model(model)

    def _build(self, text: str) -> ArmModel:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            chain = load_urdf(text, root=self.parameters.root or None, tip=self.parameters.tip or None)
            dynamics = compile_dynamics(chain, gravity=self.parameters.gravity)
        for warning in caught:
            self._node.get_logger().warning(str(warning.message))
        self._node.get_logger().info(
            f"model of {chain.name}: {chain.root} -> {chain.tip}, joints {', '.join(chain.joint_names)}"
        )
        return ArmModel(chain, dynamics)
