"""Parameters of what is shown, free of ROS."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.view.origins import is_origin


def _check_gravity(gravity: tuple[float, ...]) -> None:
    if len(gravity) != 3:
        raise ParameterError(f"parameter 'gravity' has {len(gravity)} values; it must have 3: x, y, z")


@dataclass(frozen=True)
class WebViewParameters:
    """Parameters of the web view: address, names of the nodes and update rate."""

    host: str = parameter(
        "127.0.0.1",
        "Address that the page is served on; 0.0.0.0 lets everybody on the network move the robot",
        read_only=True,
    )
    port: int = parameter(8080, "Port that the page is served on", minimum=1, maximum=65535, read_only=True)
    update_rate: float = parameter(
        20.0, "Rate at which the page is updated", unit="Hz", minimum=1.0, maximum=60.0, read_only=True
    )
    plot_window: float = parameter(
        15.0, "Time that the plots show", unit="s", minimum=1.0, maximum=120.0, read_only=True
    )
    shadows: bool = parameter(
        True, "Draw shadows, unless the picture is a simple one (detail)", read_only=True
    )
    detail: str = parameter(
        "auto",
        "simple: meshes of few triangles, no shadows, for browsers without a graphics card; full: as in the"
        " files; auto: simple until a browser has shown that it draws fast",
        choices=("auto", "simple", "full"),
        read_only=True,
    )
    dark: bool = parameter(False, "Begin with dark panels; a box on the page changes it", read_only=True)
    machine: str = parameter(
        "",
        "YAML file of a Stewart platform, a path or the name of one in the package; empty: show the arm of"
        " robot_description",
        read_only=True,
    )
    zero_lengths: tuple[float, ...] = parameter(
        (),
        "Leg lengths at which the platform's joint positions are zero; empty: a joint's position is the leg's"
        " length",
        unit="m",
        minimum=0.0,
        maximum=1e3,
        read_only=True,
    )
    controller: str = parameter(
        "",
        "Node that takes the trajectories, publishes its reference and has the service hold; empty:"
        " computed_torque_controller, or stewart_platform for a platform",
        read_only=True,
    )
    simulator: str = parameter("simulator", "Node whose service 'reset' is called", read_only=True)
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81),
        "Gravity vector in the root frame, for the weights of an arm; a platform's is in its file",
        unit="m/s²",
        read_only=True,
    )
    description_folder: str = parameter(
        "",
        "Folder of the robot's description: relative mesh names begin there, and packages are searched "
        "in the folders above it",
        read_only=True,
    )
    home_joints: tuple[str, ...] = parameter(
        (),
        "Joints whose position at the button home is given; the others go to their ready pose",
        read_only=True,
    )
    home_positions: tuple[float, ...] = parameter(
        (), "Position of each of home_joints", unit="rad or m", read_only=True
    )
    notes: tuple[str, ...] = parameter((), "Lines that the page shows under Notes", read_only=True)
    allowed_origins: tuple[str, ...] = parameter(
        (),
        "Further addresses under which browsers may use the page, such as https://robot.example behind a"
        " proxy; its own are always allowed",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)
        _check_gravity(self.gravity)
        if len(self.zero_lengths) not in (0, 6):
            raise ParameterError(
                f"parameter 'zero_lengths' has {len(self.zero_lengths)} values; give none or six"
            )
        if len(self.home_joints) != len(self.home_positions):
            raise ParameterError(
                f"parameter 'home_positions' has {len(self.home_positions)} values for"
                f" {len(self.home_joints)} home_joints"
            )
        for origin in self.allowed_origins:
            if not is_origin(origin):
                raise ParameterError(
                    f"parameter 'allowed_origins': {origin!r} is no origin; write http://name:port or"
                    " https://name"
                )

    @property
    def controlled_by(self) -> str:
        """Name of the controller."""
        return self.controller or ("stewart_platform" if self.machine else "computed_torque_controller")


@dataclass(frozen=True)
class MarkerParameters:
    """Parameters of the markers."""

    update_rate: float = parameter(
        20.0, "Rate of the markers", unit="Hz", minimum=1.0, maximum=100.0, read_only=True
    )
    frame_prefix: str = parameter(
        "", "Put before the link names, as robot_state_publisher does with its own", read_only=True
    )
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81), "Gravity vector in the root frame", unit="m/s²", read_only=True
    )
    scale: float = parameter(
        1.0, "Factor on the size of arcs, arrows and text", minimum=0.01, maximum=100.0, read_only=True
    )

    def __post_init__(self) -> None:
        validate(self)
        _check_gravity(self.gravity)
