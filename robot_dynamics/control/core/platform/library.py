"""The C sources of the control core with the law of a platform, compiled and cached as the core alone is."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, ClassVar

from robot_dynamics.control.core import library as core
from robot_dynamics.errors import BackendError
from robot_dynamics.native.library import joined_source

PACKAGE = "robot_dynamics.control.core.platform"
SOURCES = ("platform.h", "pose.c", "forces.c", "bounds.c", "blind.c")
KINEMATICS = ("robot_dynamics.stewart.native", ("kinematics.h", "kinematics.c"))

MODES = ("computed_force", "feedforward")
"""Laws of a platform, in the order of their enumeration."""
BEYOND = 6
"""The discontinuity of a leg that is beyond a limit is this, six times the kind, and the leg."""
TOLD = {"pose": 7, "twist": 6, "rates": 6, "disturbance": 6, "condition": 1}
"""What a platform tells beside what a core does, and how many values each takes."""

_DOUBLE = ctypes.c_double


class PlatformModel(ctypes.Structure):
    """``rd_platform_model`` of platform.h."""

    _fields_: ClassVar = [
        ("base_points", _DOUBLE * 18),
        ("platform_points", _DOUBLE * 18),
        ("characteristic_length", _DOUBLE),
        ("home", _DOUBLE * 7),
        ("up", _DOUBLE * 3),
        ("stroke", _DOUBLE),
        ("zero_lengths", _DOUBLE * 6),
        ("condition_limit", _DOUBLE),
        ("gravity", _DOUBLE * 3),
        ("payload_mass", _DOUBLE),
        ("payload_center", _DOUBLE * 3),
        ("payload_inertia", _DOUBLE * 9),
        ("coulomb", _DOUBLE * 6),
        ("disturbance_gain", _DOUBLE),
        ("disturbance_bounds", _DOUBLE * 2),
        *((name, _DOUBLE * 6) for name in ("longest", "shortest", "speed", "base_cosine", "platform_cosine")),
        ("base_axes", _DOUBLE * 18),
        ("platform_axes", _DOUBLE * 18),
        ("descent", ctypes.c_void_p),
        ("blind_speed", _DOUBLE),
        ("pace", _DOUBLE * 2),
        ("watches", ctypes.c_int32),
    ]


_POINTER = ctypes.c_void_p
SIGNATURES: dict[str, tuple[Any, Any]] = {
    **core.SIGNATURES,
    "rd_platform_offer_wrench": (None, [_POINTER, _POINTER, _DOUBLE]),
    "rd_platform_sizes": (None, [ctypes.POINTER(ctypes.c_size_t)]),
}


@lru_cache(maxsize=1)
def load_platform() -> ctypes.CDLL:
    """The library of the control core with the law of a platform.

    Raises:
        BackendError: there is no compiler, or it fails.
    """
    source = "\n".join(
        [
            joined_source(core.PACKAGE, core.SOURCES),
            joined_source(*KINEMATICS),
            joined_source(PACKAGE, SOURCES),
        ]
    )
    structures = (core.Settings, core.Plan, core.Snapshot, core.Results)
    library = core.load(source, core.FLAGS, SIGNATURES, structures)
    real = ctypes.c_size_t()
    library.rd_platform_sizes(ctypes.byref(real))
    if real.value != ctypes.sizeof(PlatformModel):
        raise BackendError("this compiler lays out the structures of the platform's law in another way")
    return library
