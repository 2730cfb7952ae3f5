"""Python functions in C that call compiled kernels directly; fast_call.c explains how."""

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
from robot_dynamics.native.library import NativeKernel, shared_library
from robot_dynamics.native.prebuilt import joined_source
from robot_dynamics.native.signature import Signature

_LOG = logging.getLogger(__name__)
_PY_ARRAY_NEW = 93  # place in numpy's table of C functions, part of its ABI
SOURCES = ("fast_call_objects.h", "fast_call_arguments.h", "fast_call_results.h", "fast_call.c")
_FLAGS = {"C_CONTIGUOUS": 0x1, "ALIGNED": 0x100, "WRITEABLE": 0x400}


_OUT = sys.intern("out")  # fast_call.c keeps no reference of its own
_MOST_INPUTS, _MOST_OPTIONAL, _MOST_OUTPUTS, _MOST_AXES = 12, 2, 6, 3  # as in fast_call.c


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
        ("constants", ctypes.c_int),
        ("outputs", ctypes.c_int),
        ("sizes", ctypes.c_ssize_t * _MOST_INPUTS),
        ("names", ctypes.py_object * _MOST_OPTIONAL),
        ("values", ctypes.c_void_p * _MOST_INPUTS),
        ("results", _Output * _MOST_OUTPUTS),
        ("general", ctypes.py_object),
    )


class FastCalls:
    """Factory of Python functions that call kernels directly."""

    def __init__(self, library: ctypes.PyDLL) -> None:
        self._function = library.fast_call_function
        self._function.restype = ctypes.py_object
        self._function.argtypes = [ctypes.POINTER(_Description)]
        self._set_kernel = library.fast_call_set_kernel
        self._set_kernel.restype = None
        self._set_kernel.argtypes = [ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def serves(self, signature: Signature) -> bool:
        """Return whether a function with these arrays can be made."""
        inputs = len(signature.states) + len(signature.optional) + len(signature.constants)
        return (
            inputs <= _MOST_INPUTS
            and len(signature.optional) <= _MOST_OPTIONAL
            and len(signature.outputs) <= _MOST_OUTPUTS
            and all(len(shape) <= _MOST_AXES for shape in signature.outputs)
        )

    def function(self, evaluator: Evaluator, documentation: str) -> Callable[..., Any]:
        """Function that calls the kernels set for it, and otherwise ``evaluator``.

        The evaluator is called when the arguments are unusual, the result is not finite, or no kernel is set.

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
            len(evaluator.constants),
            len(outputs),
            (ctypes.c_ssize_t * _MOST_INPUTS)(*(array.size for array in arrays)),
            names,
            (ctypes.c_void_p * _MOST_INPUTS)(*(array.ctypes.data for array in evaluator.constants)),
            (_Output * _MOST_OUTPUTS)(*outputs),
            evaluator,
        )
        function: Callable[..., Any] = self._function(ctypes.byref(description))
        return function

    def set_kernel(self, function: Any, kernel: NativeKernel, variant: int) -> None:
        """Use ``kernel`` in ``function`` when the optional inputs of the bits in ``variant`` are given."""
        self._set_kernel(function.__self__, variant, kernel.single_address, kernel.batch_address)


def fast_function(evaluator: Evaluator, documentation: str) -> Callable[..., Any]:
    """Fast function for ``evaluator`` where this Python and numpy allow one, else the evaluator itself.

    The function gets a kernel when the evaluator first uses it.
    """
    calls = load_fast_calls()
    if calls is None or not calls.serves(evaluator.signature):
        return evaluator
    function = calls.function(evaluator, documentation)
    # The function owns the evaluator; the way back must be weak: C code takes no part in collecting cycles.
    reference = weakref.ref(function)
    optional = [array.name for array in evaluator.signature.optional]

    def link(kernel: Kernel, given: Given) -> None:
        alive = reference()
        if alive is not None and isinstance(kernel, NativeKernel):
            calls.set_kernel(alive, kernel, sum(1 << optional.index(name) for name in given))

    evaluator.link(link)
    return function


@lru_cache(maxsize=1)
def load_fast_calls() -> FastCalls | None:
    """Load the compiled fast_call.c; None, with a line in the log, where it does not fit Python or numpy."""
    reason = _unsupported()
    if reason is None:
        source = joined_source("robot_dynamics.native", SOURCES)
        try:
            key = f"fast_call {sys.implementation.cache_tag} {np.__version__}\n{source}"
            path = shared_library(key, lambda: source)
            library = ctypes.PyDLL(str(path))
            reason = _configure(library)
        except (BackendError, OSError, AttributeError) as error:
            reason = str(error)
    if reason is not None:
        _LOG.info("calls go through ctypes, which is slower: %s", reason)
        return None
    return FastCalls(library)


def _unsupported() -> str | None:
    """Reason why the memory layout that fast_call.c declares does not hold here, or None."""
    if sys.implementation.name != "cpython":
        return f"this Python is {sys.implementation.name}"
    if sysconfig.get_config_var("Py_GIL_DISABLED") or hasattr(sys, "getobjects"):
        return "this build of Python lays out objects differently"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != 16 or np.ndarray.__basicsize__ < 80:
        return "objects have another size"
    return None


def _configure(library: ctypes.PyDLL) -> str | None:
    """Give fast_call.c its addresses and check its assumptions; return the one that fails, or None."""
    module: Any = getattr(np, "_core", None) or np.core
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = module.multiarray._ARRAY_API
    table = get_pointer(capsule, None)
    new = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_PY_ARRAY_NEW]
    configure = library.fast_call_configure
    configure.restype = None
    configure.argtypes = [*[ctypes.py_object] * 4, ctypes.c_void_p]
    configure(None, np.ndarray, np.dtype(np.float64), _OUT, new)

    probe_capsule = library.fast_call_probe_capsule
    probe_capsule.argtypes = [ctypes.py_object]
    if not probe_capsule(capsule):
        return "Python lays out its capsules differently"
    if not library.fast_call_probe_references():
        return "Python counts references differently"
    return _doubt_about_arrays(library)


def _doubt_about_arrays(library: ctypes.PyDLL) -> str | None:
    """Reason why the layout of numpy's arrays is not the one that fast_call.c declares, or None."""
    probe = library.fast_call_probe
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
    probe_new = library.fast_call_probe_new
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
