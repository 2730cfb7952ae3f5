"""Kernels in shared libraries (the functions that ``codegen.emit_lanes`` writes), called through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path

from robot_dynamics.errors import BackendError
from robot_dynamics.native.cache import cached, discard
from robot_dynamics.native.compiler import FLAGS, FOR_THIS_CPU, cpu_identity, find_compiler
from robot_dynamics.spatial import Array


class NativeKernel:
    """A compiled program.

    Attributes:
        single_address: of ``int kernel(const double *const *in, double *out)``.
        batch_address: of ``int kernel_batch(size_t count, const double *const *in, double *out)``; both take
            ``double *const *out`` where there are several outputs.
    """

    def __init__(self, library: ctypes.CDLL, outputs: int = 1) -> None:
        """Wrap the functions of a loaded ``library`` whose program has so many ``outputs``."""
        self._outputs = outputs
        self._single = library.kernel
        self._single.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self._batch = library.kernel_batch
        self._batch.argtypes = [ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        self.single_address = ctypes.cast(self._single, ctypes.c_void_p).value
        self.batch_address = ctypes.cast(self._batch, ctypes.c_void_p).value

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> bool:
        """See `Kernel`; an output may share memory with no input."""
        given = (ctypes.c_void_p * len(inputs))(*(array.ctypes.data for array in inputs))
        places = (ctypes.c_void_p * len(outputs))(*(array.ctypes.data for array in outputs))
        target = places[0] if self._outputs == 1 else places
        if inputs[0].ndim == 1:
            return bool(self._single(given, target))
        return bool(self._batch(len(inputs[0]), given, target))


def load_library(key: str, source: Callable[[], str], outputs: int = 1) -> NativeKernel:
    """The kernel that belongs to ``key``, from the cache or compiled from ``source()``.

    Raises:
        BackendError: no compiler, a compiler that fails, or a library that cannot be loaded.
    """
    path = shared_library(key, source)
    try:
        return NativeKernel(ctypes.CDLL(str(path)), outputs)
    except (OSError, AttributeError) as error:
        discard(path)
        raise BackendError(f"the compiled library {path} cannot be loaded: {error}") from error


def shared_library(key: str, source: Callable[[], str], flags: Sequence[str] = ()) -> Path:
    """Path of the library that belongs to ``key``, this compiler and this CPU.

    Args:
        key: identifies the source completely.
        source: makes its text, if it has to be compiled.
        flags: of the compiler, beside those that every library has.

    Raises:
        BackendError: no compiler, or it fails.
    """
    compiler = find_compiler()
    everything = "\n".join([key, compiler.identity, *FLAGS, *flags, FOR_THIS_CPU, cpu_identity()])
    return cached(everything, ".so", lambda target, folder: compiler.compile(source(), target, folder, flags))
