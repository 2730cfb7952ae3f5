"""The fast way from Python to a kernel: see bridge.c."""

from __future__ import annotations

import ctypes
import logging
import sys
import sysconfig
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from robot_dynamics.errors import BackendError
from robot_dynamics.native.library import NativeKernel, shared_library
from robot_dynamics.spatial import Array

_LOG = logging.getLogger(__name__)
_PY_ARRAY_NEW = 93  # place in numpy's table of C functions, part of its ABI
_FLAGS = {"C_CONTIGUOUS": 0x1, "ALIGNED": 0x100, "WRITEABLE": 0x400}


class _Description(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("documentation", ctypes.c_char_p),
        ("states", ctypes.c_int),
        ("takes_wrench", ctypes.c_int),
        ("joints", ctypes.c_ssize_t),
        ("axes", ctypes.c_int),
        ("shape", ctypes.c_ssize_t * 2),
        ("takes_gravity", ctypes.c_int),
        ("gravity", ctypes.c_double * 3),
        ("general", ctypes.py_object),
    )


class Bridge:
    """Makes Python functions that call kernels directly."""

    def __init__(self, library: ctypes.PyDLL) -> None:
        self._function = library.bridge_function
        self._function.restype = ctypes.py_object
        self._function.argtypes = [ctypes.POINTER(_Description)]
        self._set_kernel = library.bridge_set_kernel
        self._set_kernel.restype = None
        self._set_kernel.argtypes = [ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def function(
        self,
        name: str,
        documentation: str,
        states: int,
        joints: int,
        shape: tuple[int, ...],
        takes_wrench: bool,
        gravity: Array | None,
        general: Callable[..., Any],
    ) -> Any:
        """A function of ``states`` arrays (joints,) or (N, joints), and optionally ``wrench`` and ``out``.

        Args:
            name: its name.
            documentation: its docstring, a signature line first.
            states: number of arrays that every call has.
            joints: their length.
            shape: of one result.
            takes_wrench: whether it takes an array (6,) or (N, 6) named wrench.
            gravity: (3,) last input of the kernels, if they have that one.
            general: called with the same arguments whenever they are unusual or the result is not finite.
        """
        return self._function(
            ctypes.byref(
                _Description(
                    name.encode(),
                    documentation.encode(),
                    states,
                    takes_wrench,
                    joints,
                    len(shape),
                    (ctypes.c_ssize_t * 2)(*shape),
                    gravity is not None,
                    (ctypes.c_double * 3)(*(gravity if gravity is not None else ())),
                    general,
                )
            )
        )

    def set_kernel(self, function: Any, kernel: NativeKernel, with_wrench: bool) -> None:
        """Let ``function`` use ``kernel`` for calls with, or without, a wrench."""
        self._set_kernel(function.__self__, int(with_wrench), kernel.single_address, kernel.batch_address)


@lru_cache(maxsize=1)
def load_bridge() -> Bridge | None:
    """The bridge, or None (and a note in the log) where Python or numpy are not as it expects."""
    reason = _unsupported()
    if reason is None:
        source = files("robot_dynamics.native").joinpath("bridge.c").read_text(encoding="utf-8")
        try:
            key = f"bridge {sys.implementation.cache_tag} {np.__version__}\n{source}"
            path = shared_library(key, lambda: source)
            library = ctypes.PyDLL(str(path))
            reason = _configure(library)
        except (BackendError, OSError, AttributeError) as error:
            reason = str(error)
    if reason is not None:
        _LOG.info("calls go through ctypes, which is slower: %s", reason)
        return None
    return Bridge(library)


def _unsupported() -> str | None:
    """Why the memory layout that bridge.c declares cannot hold here; None when it may."""
    if sys.implementation.name != "cpython":
        return f"this Python is {sys.implementation.name}"
    if sysconfig.get_config_var("Py_GIL_DISABLED") or hasattr(sys, "getobjects"):
        return "this build of Python lays out objects differently"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != 16 or np.ndarray.__basicsize__ < 80:
        return "objects have another size"
    return None


def _configure(library: ctypes.PyDLL) -> str | None:
    """Tell the bridge where things are and check what it believes; what is wrong, or None."""
    module: Any = getattr(np, "_core", None) or np.core
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = get_pointer(module.multiarray._ARRAY_API, None)
    new = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_PY_ARRAY_NEW]
    configure = library.bridge_configure
    configure.restype = None
    configure.argtypes = [ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_void_p]
    configure(None, np.ndarray, np.dtype(np.float64), new)

    probe = library.bridge_probe
    probe.restype = None
    probe.argtypes = [ctypes.py_object, ctypes.POINTER(ctypes.c_int64)]
    constant = np.ones(3)
    constant.flags.writeable = False
    samples: list[Any] = [
        np.zeros(5),
        np.zeros((3, 7)),
        np.zeros((4, 6))[:, ::2],
        constant,
        np.zeros(2, np.float32),
    ]
    probe_new = library.bridge_probe_new
    probe_new.restype = ctypes.py_object
    probe_new.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_ssize_t)]
    for sample in samples:
        answers = (ctypes.c_int64 * 7)()
        probe(sample, answers)
        flags = sum(bit for name, bit in _FLAGS.items() if sample.flags[name])
        shape = (*sample.shape, 0, 0)[:2]
        data = sample.__array_interface__["data"][0]
        if list(answers) != [id(np.ndarray), data, sample.ndim, *shape, id(sample.dtype), flags]:
            return "numpy lays out its arrays differently"
    for expected in samples[:2]:
        made = probe_new(expected.ndim, (ctypes.c_ssize_t * 2)(*expected.shape))
        if type(made) is not np.ndarray or made.shape != expected.shape or made.dtype != np.float64:
            return "numpy makes its arrays differently"
    return None
