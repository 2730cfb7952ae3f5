"""A machine as C that a user keeps: its kinematics and its exact actuator forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

from robot_dynamics.codegen.emit_c import CAUTION, c_header, c_source
from robot_dynamics.errors import escaped
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import quaternion_from_rotation
from robot_dynamics.stewart.program import make_program

_INCLUDE = '#include "kinematics.h"\n'


def c_files(machine: Machine, name: str, source: str) -> Mapping[str, str]:
    """Source and header of the actuator forces and of the kinematics, by file name.

    Args:
        machine: the platform.
        name: start of every file and function name, a C identifier.
        source: where the machine comes from, for the files' heads.
    """
    forces, places = f"{name}_dynamics", f"{name}_kinematics"
    notice = [
        f"Machine: {machine.name}.",
        f"Source: {source}.",
        f"Order of the legs: {', '.join(machine.leg_names)}.",
    ]
    program = replace(make_program(machine).program, name=f"{name}_inverse_dynamics")
    with_forces = [*notice, f"Compile with: cc -std=c99 -O2 -c {forces}.c; link with -lm."]
    return {
        f"{forces}.c": c_source([program], f"{forces}.h", with_forces),
        f"{forces}.h": c_header([program], f"{forces.upper()}_H", with_forces),
        f"{places}.c": _kinematics_source(machine, name, notice),
        f"{places}.h": _filled(_HEADER, name, notice),
    }


def _kinematics_source(machine: Machine, name: str, notice: list[str]) -> str:
    folder = files("robot_dynamics.stewart.native")
    header = folder.joinpath("kinematics.h").read_text("utf-8")
    body = folder.joinpath("kinematics.c").read_text("utf-8").replace(_INCLUDE, "")
    pose = [*machine.home_position, *quaternion_from_rotation(machine.home_rotation)]
    constants = {
        "BASE": _rows(machine.base_points),
        "POINTS": _rows(machine.platform_points),
        "LENGTH": _number(machine.characteristic_length),
        "HOME": ", ".join(_number(value) for value in pose),
    }
    text = _filled(_SOURCE, name, notice)
    for place, value in constants.items():
        text = text.replace(f"@{place}@", value)
    return text.replace("@LIBRARY@", f"{header}\n{body}")


def _filled(template: str, name: str, notice: list[str]) -> str:
    head = "\n".join(f" * {escaped(line).replace('*/', '* /')}" for line in ["", *notice]).replace(
        " * \n", " *\n"
    )
    return (
        template.replace("@HEAD@", f"/* {CAUTION}\n{head}")
        .replace("@UPPER@", name.upper())
        .replace("@NAME@", name)
    )


def _rows(points: Array) -> str:
    return ",\n     ".join("{" + ", ".join(_number(x) for x in point) + "}" for point in points)


def _number(value: float) -> str:
    return repr(float(value) + 0.0)


_HEADER = """\
@HEAD@
 *
 * A pose is x, y, z [m] of the platform's origin in the base frame and the unit quaternion x, y, z, w of its
 * orientation; a twist is the origin's velocity [m/s] and the angular velocity [rad/s], base frame.
 * Reentrant: no allocation, no static data that changes, bounded time. */
#ifndef @UPPER@_KINEMATICS_H
#define @UPPER@_KINEMATICS_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a search or a solution ends with. */
enum {
    @UPPER@_FOUND = 0,
    @UPPER@_SINGULAR = 1,     /* it ran into a singular pose */
    @UPPER@_NOT_FOUND = 2,    /* no pose near the start has these leg lengths */
    @UPPER@_NOT_A_LENGTH = 3, /* a length is not positive and finite, or the start is no pose */
};

/* The machine's home pose, a start for the first search. */
extern const double @NAME@_home[7];

/* Leg lengths [m] of a pose. */
void @NAME@_inverse_kinematics(const double pose[7], double lengths[6]);

/* The Jacobian of a pose, row by row: rates of the lengths = jacobian * twist. */
void @NAME@_jacobian(const double pose[7], double jacobian[36]);

/* Its condition number, moments divided by the characteristic length; infinite in a singular pose. */
double @NAME@_condition_number(const double pose[7]);

/* The pose near the start with these leg lengths, by Newton's steps, each halved until it makes the
 * errors of the lengths smaller; done when no length is off by more than the tolerance [m].
 * 1e-10 and 30 steps serve well.
 * pose: the start; what was found takes its place with @UPPER@_FOUND alone.
 * residual, steps: greatest error that remains [m], Newton's steps taken; either may be a null pointer. */
int @NAME@_forward_kinematics(const double lengths[6], double tolerance, int most_steps, double pose[7],
    double *residual, int *steps);

/* The twist at a pose from the rates of its leg lengths [m/s]; @UPPER@_FOUND or @UPPER@_SINGULAR. */
int @NAME@_twist(const double pose[7], const double rates[6], double twist[6]);

#ifdef __cplusplus
}
#endif

#endif
"""

_SOURCE = """\
@HEAD@
 * Compile with: cc -std=c99 -O2 -c @NAME@_kinematics.c; link with -lm. */
#include "@NAME@_kinematics.h"

#define STEWART_API static

@LIBRARY@
const double @NAME@_home[7] = {@HOME@};

static const stewart_geometry machine = {
    {@BASE@},
    {@POINTS@},
    @LENGTH@,
};

void @NAME@_inverse_kinematics(const double pose[7], double lengths[6])
{
    double jacobian[36];
    stewart_inverse_kinematics(&machine, pose, lengths, jacobian);
}

void @NAME@_jacobian(const double pose[7], double jacobian[36])
{
    double lengths[6];
    stewart_inverse_kinematics(&machine, pose, lengths, jacobian);
}

double @NAME@_condition_number(const double pose[7])
{
    double lengths[6], jacobian[36];
    stewart_inverse_kinematics(&machine, pose, lengths, jacobian);
    return stewart_condition_number(&machine, jacobian);
}

int @NAME@_forward_kinematics(const double lengths[6], double tolerance, int most_steps, double pose[7],
    double *residual, int *steps)
{
    return stewart_forward_kinematics(&machine, lengths, tolerance, most_steps, pose, residual, steps);
}

int @NAME@_twist(const double pose[7], const double rates[6], double twist[6])
{
    return stewart_twist(&machine, pose, rates, twist);
}
"""
