"""The fast way from Python to a kernel: see bridge.c."""

from __future__ import annotations

import ctypes
import logging
import math
import sys
import sysconfig
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from robot_dynamics.errors import BackendError
from robot_dynamics.native.evaluator import Evaluator, Given
from robot_dynamics.native.kernel import Kernel
from robot_dynamics.native.library import NativeKernel, joined_source, shared_library
from robot_dynamics.native.signature import Signature

_LOG = logging.getLogger(__name__)
_PY_ARRAY_NEW = 93  # place in numpy's table of C functions, part of its ABI
SOURCES = ("bridge_objects.h", "bridge_arguments.h", "bridge_results.h", "bridge.c")
_FLAGS = {"C_CONTIGUOUS": 0x1, "ALIGNED": 0x100, "WRITEABLE": 0x400}


_OUT = sys.intern("out")  # the bridge keeps no reference of its own
_MOST_INPUTS, _MOST_OPTIONAL, _MOST_OUTPUTS, _MOST_AXES = 12, 2, 6, 3  # as in bridge.c


class _Output(ctypes.Structure):
    _fields_ = (
        ("axes", ctypes.c_int),
        ("shape", ctypes.c_ssize_t * _MOST_AXES),
        ("row", ctypes.c_size_t),
    )


class _Description(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("documentation", ctypes.c_char_p),
        ("states", ctypes.c_int),
        ("optional", ctypes.c_int),
        ("held", ctypes.c_int),
        ("outputs", ctypes.c_int),
        ("sizes", ctypes.c_ssize_t * _MOST_INPUTS),
        ("names", ctypes.py_object * _MOST_OPTIONAL),
        ("values", ctypes.c_void_p * _MOST_INPUTS),
        ("results", _Output * _MOST_OUTPUTS),
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

    def serves(self, signature: Signature) -> bool:
        """Whether a function with these arrays can be made."""
        inputs = len(signature.states) + len(signature.optional) + len(signature.held)
        return (
            inputs <= _MOST_INPUTS
            and len(signature.optional) <= _MOST_OPTIONAL
            and len(signature.outputs) <= _MOST_OUTPUTS
            and all(len(shape) <= _MOST_AXES for shape in signature.outputs)
        )

    def function(self, evaluator: Evaluator, documentation: str) -> Callable[..., Any]:
        """A function that calls the kernels it is given, and ``evaluator`` whenever that is not enough.

        The arguments are then unusual, the result is not finite, or no kernel has been set.

        Args:
            evaluator: computes the same from anything.
            documentation: of the function.
        """
        signature = evaluator.signature
        arrays = (*signature.states, *signature.optional)
        outputs = [
            _Output(len(shape), (ctypes.c_ssize_t * _MOST_AXES)(*shape), math.prod(shape))
            for shape in signature.outputs
        ]
        names: Any = (ctypes.py_object * _MOST_OPTIONAL)()
        for place, array in enumerate(signature.optional):
            names[place] = sys.intern(array.name)
        description = _Description(
            signature.name.encode(),
            f"{signature.name}({', '.join(signature.arguments)})\n\n{documentation}".encode(),
            len(signature.states),
            len(signature.optional),
            len(evaluator.held),
            len(outputs),
            (ctypes.c_ssize_t * _MOST_INPUTS)(*(array.size for array in arrays)),
            names,
            (ctypes.c_void_p * _MOST_INPUTS)(*(array.ctypes.data for array in evaluator.held)),
            (_Output * _MOST_OUTPUTS)(*outputs),
            evaluator,
        )
        function: Callable[..., Any] = self._function(ctypes.byref(description))
        return function

    def set_kernel(self, function: Any, kernel: NativeKernel, variant: int) -> None:
        """Let ``function`` use ``kernel`` when the optional inputs of the bits in ``variant`` are given."""
        self._set_kernel(function.__self__, variant, kernel.single_address, kernel.batch_address)


def fast_function(evaluator: Evaluator, documentation: str) -> Callable[..., Any]:
    """The fastest way to call ``evaluator``: around it where the bridge works, else the evaluator itself.

    Kernels are passed on to the function as the evaluator uses them for the first time.
    """
    bridge = load_bridge()
    if bridge is None or not bridge.serves(evaluator.signature):
        return evaluator
    function = bridge.function(evaluator, documentation)
    # The function owns the evaluator; the way back must be weak: C code takes no part in collecting cycles.
    reference = weakref.ref(function)
    optional = [array.name for array in evaluator.signature.optional]

    def link(kernel: Kernel, given: Given) -> None:
        alive = reference()
        if alive is not None and isinstance(kernel, NativeKernel):
            bridge.set_kernel(alive, kernel, sum(1 << optional.index(name) for name in given))

    evaluator.link(link)
    return function


@lru_cache(maxsize=1)
def load_bridge() -> Bridge | None:
    """The bridge, or None (and a note in the log) where Python or numpy are not as it expects."""
    reason = _unsupported()
    if reason is None:
        source = joined_source("robot_dynamics.native", SOURCES)
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
    capsule = module.multiarray._ARRAY_API
    table = get_pointer(capsule, None)
    new = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_PY_ARRAY_NEW]
    configure = library.bridge_configure
    configure.restype = None
    configure.argtypes = [*[ctypes.py_object] * 4, ctypes.c_void_p]
    configure(None, np.ndarray, np.dtype(np.float64), _OUT, new)

    probe_capsule = library.bridge_probe_capsule
    probe_capsule.argtypes = [ctypes.py_object]
    if not probe_capsule(capsule):
        return "Python lays out its capsules differently"
    if not library.bridge_probe_references():
        return "Python counts references differently"
    return _doubt_about_arrays(library)


def _doubt_about_arrays(library: ctypes.PyDLL) -> str | None:
    """Where numpy's arrays are not as the bridge believes; None where they are."""
    probe = library.bridge_probe
    probe.restype = None
    probe.argtypes = [ctypes.py_object, ctypes.POINTER(ctypes.c_int64)]
    constant = np.ones(3)
    constant.flags.writeable = False
    watched = np.zeros(3)
    watch = weakref.ref(watched)
    samples: list[Any] = [
        np.zeros(5),
        np.zeros((3, 7)),
        np.zeros((4, 6))[:, ::2],
        constant,
        np.zeros(2, np.float32),
        watched,
    ]
    probe_new = library.bridge_probe_new
    probe_new.restype = ctypes.py_object
    probe_new.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_ssize_t)]
    for sample in samples:
        answers = (ctypes.c_int64 * 9)()
        probe(sample, answers)
        flags = sum(bit for name, bit in _FLAGS.items() if sample.flags[name])
        shape = (*sample.shape, 0, 0)[:2]
        data = sample.__array_interface__["data"][0]
        base = 0 if sample.base is None else id(sample.base)
        known = [id(np.ndarray), data, sample.ndim, *shape, id(sample.dtype), flags, sample is watch(), base]
        if list(answers) != known:
            return "numpy lays out its arrays differently"
    for expected in samples[:2]:
        made = probe_new(expected.ndim, (ctypes.c_ssize_t * 2)(*expected.shape))
        if type(made) is not np.ndarray or made.shape != expected.shape or made.dtype != np.float64:
            return "numpy makes its arrays differently"
    return None
