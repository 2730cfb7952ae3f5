"""A machine as C that a user keeps: its kinematics and its exact actuator forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

import numpy as np

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
    source_of_forces = c_source([program], f"{forces}.h", with_forces)
    gravity = ", ".join(_number(value) for value in machine.gravity)
    carrying = _PAYLOAD.replace("@NAME@", name).replace("@GRAVITY@", gravity)
    return {
        f"{forces}.c": f"{source_of_forces}\n{carrying}",
        f"{forces}.h": c_header(
            [program], f"{forces.upper()}_H", with_forces, _PAYLOAD_HEADER.replace("@NAME@", name)
        ),
        f"{places}.c": _kinematics_source(machine, name, notice),
        f"{places}.h": _filled(_HEADER, name, notice),
    }


def _kinematics_source(machine: Machine, name: str, notice: list[str]) -> str:
    folder = files("robot_dynamics.stewart.native")
    header = folder.joinpath("kinematics.h").read_text("utf-8")
    body = folder.joinpath("kinematics.c").read_text("utf-8").replace(_INCLUDE, "")
    pose = [*machine.home_position, *quaternion_from_rotation(machine.home_rotation)]
    limits = [leg.limits for leg in machine.legs]
    listed = {
        name.upper(): [getattr(one, name) for one in limits]
        for name in ("shortest", "longest", "speed", "force", "base_angle", "platform_angle")
    }
    constants = {
        **{name: ", ".join(_number(value) for value in values) for name, values in listed.items()},
        "CONDITION": _number(machine.condition_limit),
        "DIRECTIONS": rows_text(machine.home_directions),
        "LOCAL": rows_text(machine.home_directions @ machine.home_rotation),
        "BASE": rows_text(machine.base_points),
        "POINTS": rows_text(machine.platform_points),
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


def rows_text(points: Array) -> str:
    """Rows of numbers as the initialiser of a C array, without its outer braces."""
    return ",\n     ".join("{" + ", ".join(_number(x) for x in point) + "}" for point in points)


def _number(value: float) -> str:
    return "INFINITY" if np.isinf(value) else repr(float(value) + 0.0)


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

/* Limits that a pose may not keep. */
enum {
    @UPPER@_WITHIN_LIMITS = 0,
    @UPPER@_TOO_SHORT = 1,
    @UPPER@_TOO_LONG = 2,
    @UPPER@_BASE_ANGLE = 3,     /* of the leg from its direction at home, seen from the base */
    @UPPER@_PLATFORM_ANGLE = 4, /* the same seen from the platform */
    @UPPER@_CONDITION = 5,      /* nearer to a singular pose than the machine's condition limit */
};

/* Limits of the legs; infinite where the machine has none. */
extern const double @NAME@_shortest[6], @NAME@_longest[6];            /* [m] */
extern const double @NAME@_speed_limits[6], @NAME@_force_limits[6];   /* [m/s], [N] */
extern const double @NAME@_base_angles[6], @NAME@_platform_angles[6]; /* [rad] */

/* Leg lengths [m] of a pose. */
void @NAME@_inverse_kinematics(const double pose[7], double lengths[6]);

/* The same, and the first limit that the pose does not keep; @UPPER@_WITHIN_LIMITS where it keeps all.
 * leg: index of the leg, -1 where no single leg is meant; may be a null pointer. */
int @NAME@_checked_inverse_kinematics(const double pose[7], double lengths[6], int *leg);

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

const double @NAME@_shortest[6] = {@SHORTEST@};
const double @NAME@_longest[6] = {@LONGEST@};
const double @NAME@_speed_limits[6] = {@SPEED@};
const double @NAME@_force_limits[6] = {@FORCE@};
const double @NAME@_base_angles[6] = {@BASE_ANGLE@};
const double @NAME@_platform_angles[6] = {@PLATFORM_ANGLE@};

/* Directions of the legs at home, in the base frame and in the platform frame. */
static const double home_directions[6][3] = {
    @DIRECTIONS@};
static const double local_directions[6][3] = {
    @LOCAL@};

static double angle_between(const double a[3], const double b[3])
{
    const double cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    return acos(fmax(-1.0, fmin(1.0, cosine)));
}

int @NAME@_checked_inverse_kinematics(const double pose[7], double lengths[6], int *leg)
{
    const double *q = pose + 3;
    double jacobian[36];
    int kind = @UPPER@_WITHIN_LIMITS, at = -1;
    stewart_inverse_kinematics(&machine, pose, lengths, jacobian);
    for (int i = 0; i < 6 && kind == @UPPER@_WITHIN_LIMITS; ++i) {
        const double *h = local_directions[i], *direction = jacobian + 6 * i;
        /* The direction at home, turned with the platform: h + 2 (w (q x h) + q x (q x h)). */
        const double t[3] = {q[1] * h[2] - q[2] * h[1], q[2] * h[0] - q[0] * h[2], q[0] * h[1] - q[1] * h[0]};
        const double turned[3] = {
            h[0] + 2.0 * (q[3] * t[0] + q[1] * t[2] - q[2] * t[1]),
            h[1] + 2.0 * (q[3] * t[1] + q[2] * t[0] - q[0] * t[2]),
            h[2] + 2.0 * (q[3] * t[2] + q[0] * t[1] - q[1] * t[0]),
        };
        at = i;
        /* A length that is not a number keeps no limit. */
        if (!(lengths[i] >= @NAME@_shortest[i])) {
            kind = @UPPER@_TOO_SHORT;
        } else if (!(lengths[i] <= @NAME@_longest[i])) {
            kind = @UPPER@_TOO_LONG;
        } else if (!(angle_between(direction, home_directions[i]) <= @NAME@_base_angles[i])) {
            kind = @UPPER@_BASE_ANGLE;
        } else if (!(angle_between(direction, turned) <= @NAME@_platform_angles[i])) {
            kind = @UPPER@_PLATFORM_ANGLE;
        }
    }
    if (kind == @UPPER@_WITHIN_LIMITS) {
        at = -1;
        if (!(stewart_condition_number(&machine, jacobian) <= @CONDITION@)) {
            kind = @UPPER@_CONDITION;
        }
    }
    if (leg) {
        *leg = at;
    }
    return kind;
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

_PAYLOAD_HEADER = """\
/* The payload of a body on the platform: mass [kg], centre of mass [m], inertia ixx, ixy, ixz, iyy, iyz, izz
 * about that centre [kg m^2], all in the platform frame. */
void @NAME@_payload(double mass, const double center[3], const double inertia[6], double payload[10]);

/* As @NAME@_inverse_dynamics, with a payload beside the machine's own platform; zeros are none.
 * payload: mass, mass times centre of mass (3), inertia xx, xy, yy, xz, yz, zz about the origin. */
void @NAME@_inverse_dynamics_with_payload(const double motion[25], const double payload[10],
    double actuator_forces[6]);"""

_PAYLOAD = """\
void @NAME@_payload(double mass, const double center[3], const double inertia[6], double payload[10])
{
    const double x = center[0], y = center[1], z = center[2];
    const double about[10] = {
        mass, mass * x, mass * y, mass * z,
        inertia[0] + mass * (y * y + z * z), inertia[1] - mass * x * y, inertia[3] + mass * (x * x + z * z),
        inertia[2] - mass * x * z, inertia[4] - mass * y * z, inertia[5] + mass * (x * x + y * y)};
    for (int i = 0; i < 10; ++i) {
        payload[i] = about[i];
    }
}

static void cross_product(const double a[3], const double b[3], double result[3])
{
    result[0] = a[1] * b[2] - a[2] * b[1];
    result[1] = a[2] * b[0] - a[0] * b[2];
    result[2] = a[0] * b[1] - a[1] * b[0];
}

/* A vector of the base frame in the platform frame: turned back by the unit quaternion q. */
static void turned_back(const double q[4], const double v[3], double result[3])
{
    double t[3], u[3];
    cross_product(q, v, t);
    cross_product(q, t, u);
    for (int i = 0; i < 3; ++i) {
        result[i] = v[i] + 2.0 * (u[i] - q[3] * t[i]);
    }
}

void @NAME@_inverse_dynamics_with_payload(const double motion[25], const double payload[10],
    double actuator_forces[6])
{
    static const double gravity[3] = {@GRAVITY@};
    const double *h = payload + 1, *j = payload + 4;
    const double tensor[3][3] = {{j[0], j[1], j[3]}, {j[1], j[2], j[4]}, {j[3], j[4], j[5]}};
    double lift[3], l[3], w[3], alpha[3], spin[3], swing[3], centripetal[3], momentum[3], gyroscopic[3];
    double lever[3], loaded[25];
    for (int i = 0; i < 3; ++i) {
        lift[i] = motion[13 + i] - gravity[i];
    }
    turned_back(motion + 3, lift, l);
    turned_back(motion + 3, motion + 10, w);
    turned_back(motion + 3, motion + 16, alpha);
    cross_product(alpha, h, spin);
    cross_product(w, h, swing);
    cross_product(w, swing, centripetal);
    cross_product(h, l, lever);
    for (int i = 0; i < 3; ++i) {
        momentum[i] = tensor[i][0] * w[0] + tensor[i][1] * w[1] + tensor[i][2] * w[2];
    }
    cross_product(w, momentum, gyroscopic);
    for (int i = 0; i < 25; ++i) {
        loaded[i] = motion[i];
    }
    /* What the payload asks for acts on the platform as an external wrench the other way. */
    for (int i = 0; i < 3; ++i) {
        const double turning = tensor[i][0] * alpha[0] + tensor[i][1] * alpha[1] + tensor[i][2] * alpha[2];
        loaded[19 + i] -= payload[0] * l[i] + spin[i] + centripetal[i];
        loaded[22 + i] -= lever[i] + turning + gyroscopic[i];
    }
    @NAME@_inverse_dynamics(loaded, actuator_forces);
}
"""
