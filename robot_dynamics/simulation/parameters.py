"""Parameters of the simulated arm and of the node that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.control.arm.effort_limits import EffortLimitParameters
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain_parameters import ChainParameters
from robot_dynamics.parameters import by_name, parameter

COMMANDS = ("effort", "velocity", "position")
INTEGRATORS = ("auto", "rk4", "implicitfast")
EFFORT_ARRAY, JOINT_STATE = "std_msgs/Float64MultiArray", "sensor_msgs/JointState"


@dataclass(frozen=True)
class PlantParameters(PayloadParameters, ActuatorParameters, EffortLimitParameters):
    """Parameters of the simulated arm beside its description: its world, its load and its faults.

    ``tip_payloads`` are the loads of several tips, by their names; a node has them as ``payload.<tip>.mass``.

    A payload, a scale other than 1 or another friction is an error that the controller's model does not know.
    """

    physics_timestep: float = parameter(
        0.0005, "Longest step of the physics", unit="s", minimum=1e-6, maximum=0.02, read_only=True
    )
    integrator: str = parameter(
        "auto",
        "rk4 is the most accurate, implicitfast bears large damping, auto chooses by the damping",
        choices=INTEGRATORS,
        read_only=True,
    )
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81),
        "Gravity in the axes of the root link",
        unit="m/s²",
        minimum=-1000.0,
        maximum=1000.0,
    )
    mass_scale: float = parameter(
        1.0, "Factor on the mass and the inertia of every link", minimum=0.01, maximum=100.0
    )
    inertia_scale: float = parameter(
        1.0,
        "Further factor on every link's inertia about its center of mass",
        minimum=0.01,
        maximum=100.0,
    )
    joint_friction: bool = parameter(True, "Apply damping and Coulomb friction")
    joint_limits: bool = parameter(True, "Stop the joints at the position limits of the description")
    effort_limits: bool = parameter(True, "Clamp efforts to the limits of max_effort or the description")
    tip_payloads: Mapping[str, PayloadParameters] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.gravity) != 3:
            raise ParameterError(f"parameter 'gravity' has {len(self.gravity)} values; it must have 3")


@dataclass(frozen=True)
class SimulatorParameters(ChainParameters):
    """Parameters of the simulator node."""

    machine: str = parameter(
        "",
        "YAML file of a Stewart platform, a path or the name of one in the package, to simulate instead of"
        " an arm",
        read_only=True,
    )
    initial_joints: tuple[str, ...] = parameter(
        (), "Joints that do not start at zero; the others start at zero, or at the limit next to it"
    )
    initial_positions: tuple[float, ...] = parameter(
        (), "Initial position of each of initial_joints", unit="rad or m"
    )
    rate: float = parameter(
        500.0,
        "Rate of the joint states and of the control",
        unit="Hz",
        minimum=1.0,
        maximum=2000.0,
        read_only=True,
    )
    lockstep: bool = parameter(
        False, "Advance only when joint_command answers the last joint state", read_only=True
    )
    drives: str = parameter(
        COMMANDS[0],
        "Command to a platform's actuators: effort, or position or velocity where the drives close the loop",
        choices=COMMANDS,
        read_only=True,
    )
    command_message: str = parameter(
        EFFORT_ARRAY,
        "Messages that command by the wall clock: efforts in the order of the joints on"
        " effort_controller/commands, of a platform leg_effort_controller/commands, or by name on"
        " robot_joint_commands, as ros2_control's hardware on topics sends them",
        choices=(EFFORT_ARRAY, JOINT_STATE),
        read_only=True,
    )
    publish_clock: bool = parameter(False, "Publish simulated time on /clock", read_only=True)
    measure_latency: bool = parameter(
        False,
        "Without lockstep: listen to joint_command too, and report the time from a state to its answer",
        read_only=True,
    )
    publish_description: bool = parameter(
        False, "Publish robot_description, where no robot_state_publisher does", read_only=True
    )
    real_time_factor: float = parameter(
        1.0,
        "Simulated seconds per second of the wall clock, without lockstep",
        minimum=0.01,
        maximum=100.0,
        read_only=True,
    )
    encoder_step: float = parameter(
        0.0,
        "Step to which the positions of the joint states are rounded, as encoders do; 0: none",
        unit="rad or m",
        minimum=0.0,
        maximum=0.1,
    )
    effort_noise: float = parameter(
        0.0,
        "Standard deviation of the efforts of the joint states, as a share of each effort",
        minimum=0.0,
        maximum=1.0,
    )
    command_timeout: float = parameter(
        0.1,
        "Simulated time without a command after which on_timeout happens",
        unit="s",
        minimum=0.001,
        maximum=60.0,
    )
    brake_timeout: float = parameter(
        0.5,
        "Time on the wall without a message on a platform's ~/brake after which its brakes engage, once one"
        " came",
        unit="s",
        minimum=0.1,
        maximum=60.0,
    )
    on_timeout: str = parameter(
        "brake",
        "Without commands: brake locks every joint, zero_effort lets the arm move freely",
        choices=("brake", "zero_effort"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        by_name(self, "initial_joints", "initial_positions")
        if self.drives != COMMANDS[0] and not self.machine:
            raise ParameterError(f"parameter 'drives' is {self.drives}; an arm takes {COMMANDS[0]} only")
        if self.drives != COMMANDS[0] and self.command_message == JOINT_STATE:
            raise ParameterError(
                f"parameter 'drives' is {self.drives}: set command_message to {EFFORT_ARRAY}"
            )
