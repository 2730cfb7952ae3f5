"""Gravity as an accelerometer on the arm's base sees it, for tilted and for moving mounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError, StateError, short
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array, rotation_from_rpy

STANDARD_GRAVITY = 9.80665
MOST_GRAVITY = 3.0
"""Largest gravity that is believed, in multiples of the standard one."""


def check_gravity(gravity: Sequence[float] | Array) -> None:
    """Refuse a gravity vector (3,) that is larger than any arm stands in [m/s²].

    Raises:
        ParameterError: its magnitude is beyond three times the standard gravity.
    """
    size = float(np.linalg.norm(gravity))
    if not size <= MOST_GRAVITY * STANDARD_GRAVITY:
        raise ParameterError(
            f"parameter 'gravity' has a magnitude of {short(size)} m/s²; at most"
            f" {MOST_GRAVITY * STANDARD_GRAVITY:.4g} is believed: give it in m/s², such as 0, 0, -9.81"
        )


@dataclass(frozen=True)
class ImuParameters:
    """Reading of gravity from an accelerometer on the arm's base."""

    gravity_from_imu: bool = parameter(
        False,
        "Take the gravity vector from the accelerometer on the topic imu, mounted on the root link",
        read_only=True,
    )
    imu_roll_pitch_yaw: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "Orientation of the IMU's frame in the root frame: roll, pitch, yaw",
        unit="rad",
        minimum=-7.0,
        maximum=7.0,
    )
    imu_time_constant: float = parameter(
        0.5, "Time constant of the low-pass filter on the accelerometer", unit="s", minimum=0.0, maximum=60.0
    )
    imu_tolerance: float = parameter(
        0.5,
        "Samples whose magnitude is farther than this from gravity's show that the base accelerates, and are"
        " ignored",
        unit="m/s²",
        minimum=1e-3,
        maximum=9.0,
    )

    def __post_init__(self) -> None:
        validate(self)
        if len(self.imu_roll_pitch_yaw) != 3:
            raise ParameterError("parameter 'imu_roll_pitch_yaw' must have 3 values: roll, pitch, yaw")


class GravityEstimator:
    """The gravity vector from samples of an accelerometer, filtered; bad samples are refused.

    Args:
        parameters: of the mounting and the filter; replaceable at any time.
    """

    def __init__(self, parameters: ImuParameters) -> None:
        self.parameters = parameters
        self.vector: Array | None = None
        self._time = -np.inf

    def update(self, time: float, acceleration: Array) -> Array:
        """Take one sample and return the present estimate (3,) in the root frame [m/s²].

        Args:
            time: of the sample [s]; when it runs backwards the filter starts anew.
            acceleration: (3,) what the accelerometer measures, in its own frame: at rest 9.81 m/s² upwards.

        Raises:
            StateError: not three finite numbers, or a magnitude that gravity alone does not have.
        """
        measured = np.asarray(acceleration, dtype=float)
        if measured.shape != (3,) or not np.isfinite(measured).all():
            raise StateError(f"acceleration {acceleration!r}; it must be three finite numbers")
        size = float(np.linalg.norm(measured))
        if abs(size - STANDARD_GRAVITY) > self.parameters.imu_tolerance:
            raise StateError(
                f"the accelerometer measures {short(size)} m/s², which is not gravity alone"
                f" ({STANDARD_GRAVITY:.2f} ± {self.parameters.imu_tolerance:g})"
            )
        gravity = -rotation_from_rpy(self.parameters.imu_roll_pitch_yaw) @ measured
        elapsed = time - self._time
        self._time = time
        if self.vector is None or elapsed < 0.0 or self.parameters.imu_time_constant == 0.0:
            self.vector = gravity
        else:
            share = 1.0 - np.exp(-elapsed / self.parameters.imu_time_constant)
            self.vector = self.vector + share * (gravity - self.vector)
        return self.vector
