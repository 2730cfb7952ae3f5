"""The model of an arm as nodes get it: from the robot's description, with payload and gravity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool

from robot_dynamics import compile_dynamics
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.gravity import check_gravity
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.control.arm.task_impedance import TaskImpedanceParameters
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.errors import ModelError, ParameterError, RobotDynamicsError, escaped, quoted, shown
from robot_dynamics.model.chain import KinematicChain, same_model
from robot_dynamics.model.chain_parameters import ChainParameters, MeasuredParameters
from robot_dynamics.model.driver_profile import DriverProfile, load_driver
from robot_dynamics.native.build_process import BUILDS
from robot_dynamics.parameters import describe, parameter, validate
from robot_dynamics.ros.models.description import DescriptionSource
from robot_dynamics.ros.models.imu_gravity import ImuGravity
from robot_dynamics.ros.models.live_parameters import LiveFollower
from robot_dynamics.ros.models.tip_payloads import TipPayloads
from robot_dynamics.ros.support import parameters
from robot_dynamics.ros.support.background import Background
from robot_dynamics.ros.support.faults import explain

NEEDED = ("inverse_dynamics",)
"""Quantities that every node evaluates."""
_COMPENSATES = "robot_compensates_gravity"


@dataclass(frozen=True)
class ModelParameters(ChainParameters):
    """Chain of the robot, direction of gravity, and who carries the weight."""

    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81),
        "Gravity vector in the root frame, for tilted mounts",
        unit="m/s²",
        minimum=-100.0,
        maximum=100.0,
    )
    robot_compensates_gravity: bool = parameter(
        False, "The robot carries its own weight and payload: gravity is left out of every effort"
    )
    driver: str = parameter(
        "",
        "Driver profile that states what efforts mean: its name in config/drivers, or the path of a .yaml"
        " file; it decides robot_compensates_gravity and the friction that is left; empty: none",
        read_only=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.gravity) != 3:
            raise ParameterError(
                f"parameter 'gravity' has {len(self.gravity)} values; it must have 3: x, y, z"
            )
        check_gravity(self.gravity)


@dataclass(frozen=True)
class FollowParameters:
    """Source of payload, gravity and friction."""

    follow_robot_model: bool = parameter(
        False,
        "Take payload, gravity and friction from the node robot_model, the one place to set them then",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class ArmModel:
    """A chain and its compiled dynamics.

    Attributes:
        chain: the arm with its payload.
        dynamics: under the gravity that the actuators have to carry.
        bare: the arm without payload.
        gravity: in the root frame, carried by the actuators or not [m/s²].
        payload: in ``chain``.
        loads: payloads of several tips in ``chain``, by their names.
        compensated: whether the robot carries its weight by itself.
        driver: profile of the driver that gets the efforts; None: none is given.
    """

    chain: KinematicChain
    dynamics: CompiledDynamics
    bare: KinematicChain
    gravity: tuple[float, ...]
    payload: PayloadParameters
    compensated: bool
    driver: DriverProfile | None = None
    loads: Mapping[str, PayloadParameters] = field(default_factory=dict)

    def actuated(self, drives: ActuatorParameters) -> ActuatedArm:
        """The model with its drives, less the friction that the driver compensates."""
        return ActuatedArm(self.dynamics, self.chain, drives, self.driver, self.gravity)

    @property
    def values(self) -> tuple[object, ...]:
        """Payload, gravity and who carries it: what may change while the arm is the same."""
        return self.payload, self.loads, self.gravity, self.compensated

    def in_force(self) -> dict[str, str]:
        """Payload, gravity and who carries it, for the diagnostics."""
        loads = {f"payload of {tip} [kg]": load for tip, load in self.loads.items()}
        return {
            **{name: _described(load) for name, load in (loads or {"payload [kg]": self.payload}).items()},
            "gravity [m/s^2]": _listed(self.gravity),
            "robot compensates gravity": str(self.compensated),
            **({"driver": self.driver.name} if self.driver else {}),
        }


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def _described(load: PayloadParameters) -> str:
    about = f" at {_listed(load.payload_center)} m" if load.payload_mass else ""
    inertia = f", inertia {_listed(load.payload_inertia)} kg m^2" if any(load.payload_inertia) else ""
    return f"{load.payload_mass:.6g}{about}{inertia if about else ''}"


class ModelLoader:
    """Builds the model from every new robot description, and again when payload or gravity change.

    The first model is built at once, so a node without one can wait for it. A later one is built in a thread
    of its own while the old one stays in use, and handed over in the node's own thread; what is refused
    leaves the old model in use.

    Nothing is built before :meth:`start`.

    Args:
        node: gets the parameters, the description and the service ``~/robot_compensates_gravity``.
        on_model: called in the node's thread with the model of every new description.
        on_change: called in the node's thread when the same arm has another payload or gravity.
        follows: whether the node can take its live parameters from ``robot_model``.
        commands: whether the node commands efforts, which not every driver applies.
        quantities: that the node evaluates.
        measured: joints that another controller moves; None: the node takes none.

    Attributes:
        on_declared: called with the names of parameters that came with a description.
        law: whose programs are compiled with every model; None: no law needs any.
        moves: whether the node commands its robot now; then no other robot takes its place.
    """

    def __init__(
        self,
        node: Node,
        on_model: Callable[[ArmModel], None],
        on_change: Callable[[ArmModel], None],
        follows: bool = True,
        commands: bool = True,
        quantities: tuple[str, ...] = NEEDED,
        measured: MeasuredParameters | None = None,
    ) -> None:
        self.parameters = parameters.declare(node, ModelParameters)
        self.driver = load_driver(self.parameters.driver) if self.parameters.driver else None
        self.payload = parameters.declare(node, PayloadParameters)
        self.on_declared: Callable[[Sequence[str]], None] = lambda names: None
        self.law: TaskImpedanceParameters | None = None
        self.moves: Callable[[], bool] = lambda: False
        self.model: ArmModel | None = None
        self._built: ArmModel | None = None  # not before the thread that builds has it
        self._change_due = False
        self._node = node
        self._measured = measured
        self._quantities = quantities
        self._on_model = on_model
        self._on_change = on_change
        self._background = Background(node)
        self._changes = node.create_guard_condition(self._build_change)
        parameters.watch(node, self.parameters, self._on_parameters, check=self._check)
        parameters.watch(node, self.payload, self._on_payload, check=self._check_payload)
        node.create_service(SetBool, f"~/{_COMPENSATES}", self._on_compensates)
        self._tips = TipPayloads(node, self._change, self._check_loads)
        self._imu = ImuGravity(node, self._change)
        self._follows = follows and parameters.declare(node, FollowParameters).follow_robot_model
        if self._follows:
            if self._imu.used:
                raise ParameterError("follow_robot_model and gravity_from_imu cannot both be true")
            LiveFollower(node)
        self._source = DescriptionSource(node, self._on_description, check=self._check_description)
        if self.driver is not None:
            self._follow_driver(self.driver, commands)

    def start(self) -> None:
        """Take the description that the node was given, or wait for one.

        Raises:
            RobotDynamicsError: the description that it was given is refused.
        """
        self._source.start()

    @property
    def missing(self) -> str:
        """Reason why there is no model yet; empty when there is one."""
        return "" if self.model is not None else self._source.missing

    @property
    def preparing(self) -> str:
        """Answer, yes or no, for the diagnostics: a new model is being built while the old one is in use."""
        return "yes" if self._change_due or self._background.busy else "no"

    @property
    def gravity(self) -> tuple[float, ...]:
        """(3,) in the root frame, from the IMU where it is used [m/s²]."""
        return self._imu.vector or self.parameters.gravity

    @property
    def gravity_from_imu(self) -> bool:
        """Return whether gravity comes from the accelerometer."""
        return self._imu.used

    @property
    def warnings(self) -> list[str]:
        """Possible faults of the model in use, for a warning in the diagnostics."""
        found = [self._imu.warning] if self._imu.warning else []
        if self.model is not None and self.model.dynamics.backend != "c":
            found.append("the model is generated Python, slower than compiled C; install a C compiler")
        return found

    # What changes

    def _on_description(self, text: str) -> None:
        if self.model is None:
            self._use(self._load(text))
        else:
            self._node.get_logger().info("a new description: the old model is in use until its own is built")
            self._build("description", lambda: self._load(text))

    def _check_description(self, text: str) -> None:
        chain = self._read(text)
        self.payload.on(chain, self._tips.of(_names(chain)))

    def _follow_driver(self, driver: DriverProfile, commands: bool) -> None:
        if commands:
            driver.check_command()
        if self.parameters.robot_compensates_gravity != driver.carries_weight:
            # Parameter files of the package have every parameter, so a value in them is no contradiction.
            self._node.set_parameters([Parameter(_COMPENSATES, value=driver.carries_weight)])
        carrier = "the robot" if driver.carries_weight else "the controller"
        self._node.get_logger().info(f"driver {driver.name}: {carrier} carries the robot's weight")

    def _check(self, candidate: ModelParameters) -> None:
        if self.driver is not None and candidate.robot_compensates_gravity != self.driver.carries_weight:
            raise ParameterError(
                f"parameter '{_COMPENSATES}' is {str(self.driver.carries_weight).lower()} by the driver"
                f" profile {quoted(self.driver.name)}: start the node with another driver"
            )
        if self._imu.used and candidate.gravity != self.parameters.gravity:
            raise ParameterError("parameter 'gravity' has no effect while gravity_from_imu is true")

    def _check_payload(self, candidate: PayloadParameters) -> None:
        if self.model is not None:
            candidate.on(self.model.bare)

    def _check_loads(self, candidate: Mapping[str, PayloadParameters]) -> None:
        if self.model is not None:
            tips = [tip.link for tip in self.model.bare.tips]
            self.payload.on(self.model.bare, {tip: candidate[tip] for tip in tips if tip in candidate})

    def _on_parameters(self, accepted: ModelParameters) -> None:
        self.parameters = accepted
        self._change()

    def _on_payload(self, accepted: PayloadParameters) -> None:
        self.payload = accepted
        self._change()

    def _on_compensates(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        result = self._node.set_parameters([Parameter(_COMPENSATES, value=request.data)])[0]
        response.success = result.successful
        carrier = "the robot" if request.data else "the actuators under command"
        response.message = result.reason or f"gravity is carried by {carrier}"
        return response

    def _change(self) -> None:
        # What is set together counts together: it is built when the call that sets it has ended, and a change
        # that waits for its turn takes up whatever else changes until then.
        if self.model is not None and not self._change_due:
            self._change_due = True
            self._changes.trigger()

    def _build_change(self) -> None:
        self._build("payload or gravity", self._changed)

    # Building

    def _build(self, what: str, work: Callable[[], ArmModel]) -> None:
        def refused(reason: str) -> None:
            self._node.get_logger().error(f"the new {what} is refused, the old model stays: {reason}")
            if what == "description":
                self._source.refuse(reason)
            else:
                self._show_model_in_force()

        self._background.submit(what, work, self._use, refused)

    def return_to(self, model: ArmModel) -> None:
        """Show an earlier model of the same arm, which is in force again; their owner hears of its values."""
        self.model = self._built = model
        self._show_values(model)

    def _show_model_in_force(self) -> None:
        """Set payload and gravity back to those of the model that stays."""
        if self.model is not None and not self._follows:
            self._show_values(self.model)

    def _show_values(self, model: ArmModel) -> None:
        values = {about.name: getattr(model.payload, about.name) for about in describe(PayloadParameters)}
        values[_COMPENSATES] = model.compensated
        if not self._imu.used:
            values["gravity"] = model.gravity
        shown = [Parameter(name, value=value) for name, value in values.items()]
        self._node.set_parameters([*shown, *self._tips.show(model.loads)])

    def _use(self, model: ArmModel) -> None:
        old, self.model = self.model, model
        try:
            if old is not None and old.bare is not model.bare:
                self._declare_loads(model.bare)
                if self._tips.of(_names(model.bare)) != model.loads:
                    self._change()
            if old is None or old.bare is not model.bare:
                self._on_model(model)
            elif old.values != model.values:
                self._on_change(model)
                self._tell(old, model)
        except Exception:
            self.model = self._built = old
            raise

    def _tell(self, old: ArmModel, new: ArmModel) -> None:
        """Log what is in force from now on, unless it is an accelerometer's next sample."""
        if self._imu.used and (old.payload, old.loads, old.compensated) == (
            *(new.payload, new.loads),
            new.compensated,
        ):
            return
        values = "; ".join(f"{name} {value}" for name, value in new.in_force().items())
        self._node.get_logger().info(f"in force from now on: {values}")

    def _read(self, text: str) -> KinematicChain:
        chain = self.parameters.load(text, self._measured)
        present = () if self.model is None else self.model.chain.joint_names
        if present and set(chain.joint_names) != set(present) and self.moves():
            raise ModelError(
                f"it is another robot, {shown(chain.name)} with the joints {shown(*chain.joint_names)}, while"
                f" the node commands {shown(*present)}: deactivate it first"
            )
        return chain

    def _load(self, text: str) -> ArmModel:
        try:
            return self._loaded(self._read(text))
        except RobotDynamicsError:
            raise
        except Exception as error:
            raise ModelError(f"no model can be made of it: {explain(error)}") from error

    def _loaded(self, chain: KinematicChain) -> ArmModel:
        if self._built is not None and same_model(chain, self._built.bare):
            self._node.get_logger().info("the new description has the same model: nothing changes")
            return self._variant(self._built.bare)
        for warning in chain.warnings:
            self._node.get_logger().warning(escaped(warning))
        if self.model is None:
            self._declare_loads(chain)
        model = self._variant(chain)
        self._node.get_logger().info(
            f"model of {shown(chain.name)}: {shown(chain.ends)}, joints {shown(*chain.joint_names)}"
        )
        return model

    def _declare_loads(self, chain: KinematicChain) -> None:
        """Declare the payloads of a tree's tips; in the node's thread."""
        self._tips.declare(_names(chain))
        self.on_declared([parameter.name for parameter in self._tips.show(self._tips.of(_names(chain)))])

    def _changed(self) -> ArmModel:
        self._change_due = False
        assert self._built is not None
        return self._variant(self._built.bare)

    def _variant(self, bare: KinematicChain) -> ArmModel:
        """The model of ``bare`` with the payload and the gravity of this moment."""
        gravity, payload = self.gravity, self.payload
        compensated = self.parameters.robot_compensates_gravity
        carried = (0.0, 0.0, 0.0) if compensated else gravity
        loads = self._tips.of(_names(bare))
        chain, load = payload.on(bare, loads), payload.at_tips(bare, loads)
        old = self._built
        if old is not None and old.bare is bare:
            dynamics = old.dynamics.with_gravity(carried).with_payload(load)
        else:
            dynamics = compile_dynamics(bare, carried, quantities=(), payload=load, friction=False)
        prepare = partial(prepare_model, dynamics, self._quantities, self.law)
        BUILDS.made(prepare, prepare)
        self._built = ArmModel(chain, dynamics, bare, gravity, payload, compensated, self.driver, loads)
        return self._built


def prepare_model(
    dynamics: CompiledDynamics, quantities: tuple[str, ...], law: TaskImpedanceParameters | None
) -> None:
    """Compile what a node and its control law evaluate."""
    dynamics.prepare(quantities)
    if law is not None:
        law.prepare(dynamics)


def _names(chain: KinematicChain) -> list[str]:
    """Names of the tips."""
    return [tip.link for tip in chain.tips]
