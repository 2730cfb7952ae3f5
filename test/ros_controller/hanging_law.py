"""The controller as a node whose loop a test makes hang: in a law in Python, or in a kernel in C.

The environment variable ``HANG_FIFO`` names a FIFO, ``HANG_IN`` is ``law`` or ``kernel``. Where the first
joint is at ``HANGS``, that one waits for a byte. Before control, thresholds ask the kernel at other places.
"""

import os
import sys
from pathlib import Path

import cffi

from robot_dynamics.control.arm import controller as arm
from robot_dynamics.control.arm.laws import arm_law
from robot_dynamics.native.library import shared_library
from robot_dynamics.ros import computed_torque_controller

FIFO, WHERE, HANGS = "HANG_FIFO", "HANG_IN", 0.55
SOURCE = """
#include <fcntl.h>
#include <unistd.h>
int (*real)(const double *const *in, double *out);
const char *fifo;
int hanging_kernel(const double *const *in, double *out)
{
    char byte;
    if (in[0][0] == 0.55) {
        int file = open(fifo, O_RDWR);
        (void)!read(file, &byte, 1);
        close(file);
    }
    return real(in, out);
}
"""


@arm_law("hanging")
def hanging(model, given):
    """Gravity compensation that hangs."""
    if given.position[0] == HANGS:
        with Path(os.environ[FIFO]).open("rb", buffering=0) as fifo:
            fifo.read(1)
    return model.inverse_dynamics(given.position, 0.0 * given.position, 0.0 * given.position)


def hang_in_c():
    """Every kernel of an arm waits where the first joint is at ``HANGS``."""
    ffi = cffi.FFI()
    ffi.cdef("int (*real)(const double *const *in, double *out); const char *fifo;"
             "int hanging_kernel(const double *const *in, double *out);")  # fmt: skip
    library = ffi.dlopen(str(shared_library(SOURCE, lambda: SOURCE)))
    kept = ffi.new("char[]", os.environ[FIFO].encode())
    library.fifo = kept
    loop_settings = arm.loop_settings

    def hanging_settings(kernel, *arguments, **own):
        library.real = ffi.cast("int (*)(const double *const *, double *)", kernel)
        address = int(ffi.cast("uintptr_t", ffi.addressof(library, "hanging_kernel")))
        settings = loop_settings(address, *arguments, **own)
        return settings._replace(kept=(settings.kept, kept, library))

    arm.loop_settings = hanging_settings


if __name__ == "__main__":
    if os.environ[WHERE] == "kernel":
        hang_in_c()
    sys.exit(computed_torque_controller.main())
