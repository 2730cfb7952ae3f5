"""A CMake package around the C of a machine: sources, an example, and checks for ctest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

import numpy as np

from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import lumped_body
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.compiled import pack
from robot_dynamics.stewart.export import c_files, rows_text
from robot_dynamics.stewart.inverse_dynamics import inverse_dynamics
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import motion_of
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_vector

STATES = 8
"""Motions whose forces the checks compare."""


def package_files(machine: Machine, name: str, source: str, license: str) -> Mapping[str, str]:
    """Texts of the package's files by their paths.

    Args:
        machine: the platform.
        name: start of every file and function name, a C identifier.
        source: where the machine comes from, for the files' heads.
        license: SPDX expression that the files name.
    """
    spdx = f"/* SPDX-License-Identifier: {license} */\n"
    texts = {}
    for path, text in c_files(machine, name, source).items():
        place = "src" if path.endswith(".c") else f"include/{name}_dynamics"
        included = text.replace(f'#include "{name}_', f'#include "{name}_dynamics/{name}_')
        texts[f"{place}/{path}"] = spdx + included
    listing = (
        files("robot_dynamics.dynamics.languages").joinpath("package/CMakeLists.txt.in").read_text("utf-8")
    )
    for word, meaning in (
        ("src/ROBOT_dynamics.c)", "src/ROBOT_dynamics.c src/ROBOT_kinematics.c)"),
        ("Build the example in C++17", "Build the example"),
        ("  enable_language(CXX)\n", ""),
        ("example/example.cpp", "example/example.c"),
        ("  target_compile_features(ROBOT_example PRIVATE cxx_std_17)\n", ""),
    ):
        assert word in listing, word
        listing = listing.replace(word, meaning)
    words = {
        "TABLES": _tables(machine),
        "STATE_COUNT": str(STATES),
        "LICENSE_ID": license,
        "ROBOT_DYNAMICS_EXAMPLE": f"{name.upper()}_DYNAMICS_EXAMPLE",
        "UPPER": name.upper(),
        "ROBOT": name,
    }
    for path, text in (
        ("CMakeLists.txt", listing),
        ("example/example.c", _EXAMPLE),
        ("test/checks.c", _CHECKS),
    ):
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        texts[path] = text
    return texts


def _tables(machine: Machine) -> str:
    """Motions, payloads, and the forces and leg lengths that they must give, as C."""
    rng = np.random.default_rng(0)
    size = 0.02 * machine.characteristic_length
    tables: dict[str, list[Array]] = {"motions": [], "bodies": [], "forces": [], "lengths": []}
    for index in range(STATES):
        position = machine.home_position + rng.uniform(-size, size, 3)
        rotation = rotation_from_vector(rng.uniform(-0.05, 0.05, 3)) @ machine.home_rotation
        rates = rng.uniform(-1.0, 1.0, (6, 3))
        edges = rng.uniform(-0.2, 0.2, (3, 3))
        spread = edges @ edges.T
        inertia = np.trace(spread) * np.eye(3) - spread
        mass = 0.2 * machine.platform.mass * (index % 2)
        load = RigidBody(mass, rng.uniform(-0.2, 0.2, 3), mass * inertia)
        carrying = replace(machine, platform=lumped_body((machine.platform, load)))
        motion = motion_of(position, [0.0, 0.0, 0.0], *rates)._replace(rotation=rotation)
        found = inverse_dynamics(carrying, motion, "exact", "report")
        tables["motions"].append(pack(position, quaternion_from_rotation(rotation), *rates))
        center, about = load.center_of_mass, load.inertia
        six = about[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        tables["bodies"].append(np.array([mass, *center, *six]))
        tables["forces"].append(found.actuator_forces)
        tables["lengths"].append(found.leg_lengths)
    return "\n".join(
        f"static const double {name}[STATES][{len(rows[0])}] = {{\n    {rows_text(np.array(rows))}}};"
        for name, rows in tables.items()
    )


_CHECKS = """\
/* SPDX-License-Identifier: LICENSE_ID
 * Generated forces and leg lengths against those of a Newton-Euler formulation, body by body, computed when
 * the package was written; half of the motions with a payload. */
#include <ROBOT_dynamics/ROBOT_dynamics.h>
#include <ROBOT_dynamics/ROBOT_kinematics.h>

#include <math.h>
#include <stdio.h>

enum { STATES = STATE_COUNT };

TABLES

static double worse(double worst, double found, double expected)
{
    const double difference = fabs(found - expected);
    return difference <= worst ? worst : difference;
}

int main(void)
{
    double force = 0.0, length = 0.0, largest = 0.0;
    for (int k = 0; k < STATES; ++k) {
        double found[6], payload[10], legs[6], pose[7];
        ROBOT_payload(bodies[k][0], bodies[k] + 1, bodies[k] + 4, payload);
        ROBOT_inverse_dynamics_with_payload(motions[k], payload, found);
        ROBOT_inverse_kinematics(motions[k], legs);
        for (int i = 0; i < 7; ++i) {
            pose[i] = ROBOT_home[i];
        }
        if (ROBOT_forward_kinematics(legs, 1e-10, 30, pose, 0, 0) != UPPER_FOUND) {
            printf("motion %d: no pose has its leg lengths\\n", k);
            return 1;
        }
        for (int i = 0; i < 6; ++i) {
            force = worse(force, found[i], forces[k][i]);
            length = worse(length, legs[i], lengths[k][i]);
            largest = fmax(largest, fabs(forces[k][i]));
        }
        for (int i = 0; i < 3; ++i) {
            length = worse(length, pose[i], motions[k][i]);
        }
    }
    printf("largest force %g N, largest differences %g N and %g m\\n", largest, force, length);
    return force <= 1e-10 * largest && length <= 1e-8 ? 0 : 1;
}
"""

_EXAMPLE = """\
/* SPDX-License-Identifier: LICENSE_ID
 * Leg lengths and forces that hold the platform at home, without and with 10 kg on it. */
#include <ROBOT_dynamics/ROBOT_dynamics.h>
#include <ROBOT_dynamics/ROBOT_kinematics.h>

#include <stdio.h>

int main(void)
{
    const double center[3] = {0.0, 0.0, 0.1}, inertia[6] = {0.0};
    double motion[25] = {0.0}, payload[10], lengths[6], empty[6], loaded[6];
    int leg;
    for (int i = 0; i < 7; ++i) {
        motion[i] = ROBOT_home[i];
    }
    if (ROBOT_checked_inverse_kinematics(motion, lengths, &leg) != UPPER_WITHIN_LIMITS) {
        printf("home is not within the limits of leg %d\\n", leg + 1);
        return 1;
    }
    ROBOT_inverse_dynamics(motion, empty);
    ROBOT_payload(10.0, center, inertia, payload);
    ROBOT_inverse_dynamics_with_payload(motion, payload, loaded);
    for (int i = 0; i < 6; ++i) {
        printf("leg %d: %.4f m, %.1f N, with payload %.1f N\\n", i + 1, lengths[i], empty[i], loaded[i]);
    }
    return 0;
}
"""
