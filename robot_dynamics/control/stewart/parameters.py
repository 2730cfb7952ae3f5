"""Parameters of the platform controller, and of the payload on the platform."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.control.brakes import BrakeParameters
from robot_dynamics.control.core.library import COMMANDS
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.control.parameters import LoopParameters
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array

LAWS = {name.removeprefix("platform_"): about for name, about in enumerators("rd_platform_mode").items()}
"""Laws of a platform and their descriptions, in the order of the core's enumeration."""
DIRECTIONS = ("x", "y", "z", "about x", "about y", "about z")


@dataclass(frozen=True)
class StewartParameters(BrakeParameters, LoopParameters):
    """Gains and mode of the platform controller; all can be changed while it runs."""

    safe_output: str = parameter(
        "settle",
        "Fail-safe output: settle descends open-loop to the park pose, where the forces fade; gravity_fade"
        " carries the weight at the last known pose and fades to zero; zero stops at once",
        choices=("settle", "gravity_fade", "zero"),
    )
    command: str = parameter(
        "effort",
        "Command to the actuators: effort are forces, and this controller closes the loop; position and"
        " velocity are setpoints of the legs at the reference, and the drives close the loop",
        choices=COMMANDS,
        read_only=True,
    )
    length_gain: float = parameter(
        2.0,
        "Gain of the length error in setpoints of a velocity; its part of them is at most settle_speed",
        unit="1/s",
        minimum=0.0,
        maximum=100.0,
    )
    mode: str = parameter(
        "computed_force",
        "; ".join(f"{law} {summary}" for law, summary in LAWS.items()),
        choices=tuple(LAWS),
    )
    kp: tuple[float, ...] = parameter(
        (400.0,),
        "Gain of the pose error on the acceleration: one for all, or x, y, z and about x, y, z of the base",
        unit="1/s²",
        minimum=0.0,
        maximum=1e6,
    )
    kv: tuple[float, ...] = parameter(
        (40.0,),
        "Gain of the velocity error on the acceleration; 2·sqrt(kp) is critical damping",
        unit="1/s",
        minimum=0.0,
        maximum=1e4,
    )
    ki: float = parameter(
        0.0,
        "Gain of the disturbance observer, which removes the pose error caused by an unmodelled load;"
        " 0: kp·kv/16 of each direction, beyond an error of 2 mm; -1: off",
        unit="1/s³",
        minimum=-1.0,
        maximum=1e9,
    )
    disturbance_limit: float = parameter(
        3.0,
        "Maximum acceleration of the disturbance observer; divided by the characteristic length, its maximum"
        " angular acceleration",
        unit="m/s²",
        minimum=0.0,
        maximum=1e3,
    )
    max_acceleration: float = parameter(
        4.0,
        "Maximum acceleration of trajectories, streams, holds and settling",
        unit="m/s²",
        minimum=1e-3,
        maximum=1e3,
    )
    max_angular_acceleration: float = parameter(
        0.0,
        "Maximum angular acceleration of the same; 0: max_acceleration divided by the characteristic length",
        unit="rad/s²",
        minimum=0.0,
        maximum=1e4,
    )
    stop_deceleration: float = parameter(
        0.0,
        "Deceleration of an emergency stop, a protective stop and a stop after a jump, as far as the forces"
        " permit; divided by the characteristic length, its angular deceleration; 0: twice max_acceleration",
        unit="m/s²",
        minimum=0.0,
        maximum=1e3,
    )
    governed_share: float = parameter(
        0.9,
        "Share of the legs' speed and force limits that governed references may take",
        minimum=0.1,
        maximum=1.0,
    )
    settle_speed: float = parameter(
        0.05,
        "Maximum leg speed on the way to the park pose and home from it",
        unit="m/s",
        minimum=1e-3,
        maximum=1.0,
    )
    blind_speed: float = parameter(
        0.5,
        "Maximum leg speed of the open-loop descent (safe_output settle); errors grow with its duration",
        unit="m/s",
        minimum=1e-3,
        maximum=1.0,
    )
    park_pose: tuple[float, ...] = parameter(
        (),
        "Park pose: x, y, z and roll, pitch, yaw; empty: straight down from home as far as the limits allow",
        unit="m or rad",
        minimum=-1e3,
        maximum=1e3,
    )
    start_parked: bool = parameter(
        False, "Start parked: brakes engaged and no forces until ~/unpark", read_only=True
    )
    max_pose_error: tuple[float, ...] = parameter(
        (0.0, 0.0),
        "Distance and angle of the pose from its reference beyond which a protective stop begins; 0: derived"
        " from weight, friction, inertia and kp; -1: off",
        unit="m, rad",
        minimum=-1.0,
        maximum=1e6,
    )
    stream_clock: str = parameter(
        "stamps",
        "Times of the poses of a stream: stamps are believed; recovered estimates rate and offset of the"
        " sender and takes the scatter of its stamps out; poses with stamp 0 are always recovered",
        choices=("stamps", "recovered"),
    )
    stream_window: float = parameter(
        0.1,
        "Time over which poses with recovered times are smoothed, at least 4.5 periods",
        unit="s",
        minimum=0.0,
        maximum=1.0,
    )
    stream_jerk: float = parameter(
        0.0,
        "Maximum jerk of streams; divided by the characteristic length, their angular jerk; 0, and in stops"
        " at least: max_acceleration is reached in 0.05 s",
        unit="m/s³",
        minimum=0.0,
        maximum=1e6,
    )
    stream_tolerance: tuple[float, ...] = parameter(
        (0.005, 0.02),
        "Distance and angle by which the governor may change a stream without a warning",
        unit="m, rad",
        minimum=0.0,
        maximum=1e6,
    )
    stream_timeout: float = parameter(
        0.1,
        "Age of the last pose command at which a stream has ended, at least 4.5 periods",
        unit="s",
        minimum=1e-3,
        maximum=60.0,
    )
    on_stream_end: str = parameter(
        "park",
        "Reaction to the end of a stream: hold where the platform is; settle to the park pose and hold there;"
        " park there on the brakes. The stream is joined again when it comes back, except on the brakes",
        choices=("hold", "settle", "park"),
    )
    watch_margin: float = parameter(
        0.05,
        "Margin of measured strokes, leg speeds and joint angles beyond their limits, as a share of each;"
        " beyond it the trajectory is cancelled and the platform settles",
        minimum=0.0,
        maximum=1e6,
    )
    wrench_timeout: float = parameter(
        0.2,
        "Maximum age of an external wrench; an older one fades out",
        unit="s",
        minimum=1e-3,
        maximum=60.0,
    )
    wrench_fade_time: float = parameter(
        1.0,
        "Time over which an external wrench fades in, and out when no newer one comes; 0: at once",
        unit="s",
        minimum=0.0,
        maximum=60.0,
    )

    def __post_init__(self) -> None:
        validate(self)
        for name in ("kp", "kv"):
            if len(getattr(self, name)) not in (1, len(DIRECTIONS)):
                raise ParameterError(
                    f"parameter '{name}' has {len(getattr(self, name))} values; give 1, or 6: x, y, z and"
                    " about x, y, z"
                )
        for name in ("max_pose_error", "stream_tolerance"):
            if len(getattr(self, name)) != 2:
                raise ParameterError(
                    f"parameter '{name}' has {len(getattr(self, name))} values; give distance and angle"
                )
        if len(self.park_pose) not in (0, 6):
            raise ParameterError(
                f"parameter 'park_pose' has {len(self.park_pose)} values; give none, or 6: x, y, z, roll,"
                " pitch, yaw"
            )

    @property
    def sends_setpoints(self) -> bool:
        """True where the drives close the loop."""
        return self.command != COMMANDS[0]

    @property
    def fail_safe(self) -> str:
        """See :class:`LoopParameters`; drives that close the loop are brought to rest."""
        return "setpoints of a stop" if self.sends_setpoints else self.safe_output

    def gains(self) -> tuple[Array, Array]:
        """Gains (6,) of pose and velocity errors: linear, then angular, base frame."""
        return per_joint(self.kp, DIRECTIONS, "kp"), per_joint(self.kv, DIRECTIONS, "kv")


@dataclass(frozen=True)
class PlatformPayloadParameters(PayloadParameters):
    """Payload on the platform, beside the masses of the machine's file; all can be changed at any time."""

    payload_mass: float = parameter(
        0.0,
        "Mass of the payload beside the masses of the platform's file; 0: none",
        unit="kg",
        minimum=0.0,
        maximum=1e5,
    )
    payload_center: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "Centre of mass of the payload in the platform's frame: x, y, z",
        unit="m",
        minimum=-100.0,
        maximum=100.0,
    )
    payload_inertia: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "Inertia of the payload about its centre of mass, in the axes of the platform's frame: ixx, ixy, ixz,"
        " iyy, iyz, izz; zeros: a point mass",
        unit="kg·m²",
        minimum=-1e6,
        maximum=1e6,
    )
