"""Texts of the CMake package around a machine's C: places, words, and tables that hold true forces."""

import re
from dataclasses import replace

import numpy as np
import pytest
from motion_base import motion_base
from platform_legs import replace_legs
from stewart_oracles import axial

from robot_dynamics import stewart
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import lumped_body
from robot_dynamics.stewart import cmake_package
from robot_dynamics.stewart.cmake_package import package_files
from robot_dynamics.stewart.export import _kinematics_source, rows_text
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_quaternion


def written(machine, name, source):
    """In the place of the generated C."""
    return {
        f"{name}_dynamics.c": f'#include "{name}_dynamics.h"\n#include <math.h>\n/* {source} */\n',
        f"{name}_kinematics.c": f'#include "{name}_kinematics.h"\n',
        f"{name}_dynamics.h": f'#include "other.h"\nint {name}_x;\n',
        f"{name}_kinematics.h": "",
    }


@pytest.fixture(scope="module")
def machine():
    return motion_base().machine


@pytest.fixture(scope="module")
def texts(machine):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cmake_package, "c_files", written)
        return package_files(machine, "hexa_1", "a table", "Apache-2.0 OR MIT")


def test_sources_headers_and_the_rest_have_their_places(texts):
    assert list(texts) == [
        "src/hexa_1_dynamics.c",
        "src/hexa_1_kinematics.c",
        "include/hexa_1_dynamics/hexa_1_dynamics.h",
        "include/hexa_1_dynamics/hexa_1_kinematics.h",
        "CMakeLists.txt",
        "example/example.c",
        "test/checks.c",
    ]
    spdx = "/* SPDX-License-Identifier: Apache-2.0 OR MIT */\n"
    assert texts["src/hexa_1_dynamics.c"] == (
        f'{spdx}#include "hexa_1_dynamics/hexa_1_dynamics.h"\n#include <math.h>\n/* a table */\n'
    )
    assert texts["include/hexa_1_dynamics/hexa_1_dynamics.h"] == f'{spdx}#include "other.h"\nint hexa_1_x;\n'
    assert texts["include/hexa_1_dynamics/hexa_1_kinematics.h"] == spdx


def test_no_placeholder_is_left_and_the_example_is_in_c(texts):
    for path in ("CMakeLists.txt", "example/example.c", "test/checks.c"):
        left = re.search(
            r"ROBOT|UPPER|TABLES|STATE_COUNT|LICENSE_ID", texts[path].replace("ROBOT_DYNAMICS_", "")
        )
        assert left is None, (path, left)
    listing = texts["CMakeLists.txt"]
    for words in (
        "src/hexa_1_dynamics.c src/hexa_1_kinematics.c)",
        "Build the example",
        "example/example.c",
        "HEXA_1_DYNAMICS_EXAMPLE",
    ):
        assert words in listing
    assert "CXX" not in listing and "cxx_std" not in listing and "C++" not in listing
    for path in ("example/example.c", "test/checks.c"):
        assert "SPDX-License-Identifier: Apache-2.0 OR MIT" in texts[path]
        assert "#include <hexa_1_dynamics/hexa_1_dynamics.h>" in texts[path]
    assert "HEXA_1_WITHIN_LIMITS" in texts["example/example.c"]
    assert "enum { STATES = 8 };" in texts["test/checks.c"]


def table(text, name):
    found = re.search(rf"static const double {name}\[STATES\]\[(\d+)\] = \{{\n(.*?)\}};", text, re.DOTALL)
    rows = [[float(x) for x in row.split(",")] for row in re.findall(r"\{([^{}]*)\}", found[2])]
    assert found[2].count("{") == found[2].count("}") == len(rows)
    assert {len(row) for row in rows} == {int(found[1])}
    return np.array(rows)


def inertia_of(body):
    xx, xy, xz, yy, yz, zz = body[4:]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_the_tables_hold_the_forces_and_lengths_of_motions_half_of_them_with_a_payload(texts, machine):
    motions, bodies, forces, lengths = (
        table(texts["test/checks.c"], name) for name in ("motions", "bodies", "forces", "lengths")
    )
    assert [len(x) for x in (motions, bodies, forces, lengths)] == [8] * 4
    platform = stewart.StewartPlatform(machine)
    for motion, body, force, length in zip(motions, bodies, forces, lengths, strict=True):
        parts = np.split(motion, [3, 7, 10, 13, 16, 19, 22])
        np.testing.assert_allclose(platform.legs(*parts[:2]).lengths, length, rtol=1e-12)
        load = RigidBody(body[0], body[1:4], inertia_of(body))
        carrying = replace(machine, platform=lumped_body((machine.platform, load)))
        found = stewart.StewartPlatform(carrying).inverse_dynamics(*parts, on_violation="report")
        np.testing.assert_allclose(found.actuator_forces, force, rtol=1e-10)
        assert found.scaled_condition_number < machine.condition_limit
    np.testing.assert_array_equal(bodies[::2, 0], 0.0)
    np.testing.assert_allclose(bodies[1::2, 0], 0.2 * machine.platform.mass)


def test_numbers_of_the_kinematics_are_those_of_the_machine(machine):
    limits = [stewart.LegLimits(0.5 + 0.1 * k, 9.0, 0.1 * k) for k in range(6)]
    turn = rotation_from_quaternion([0.1, -0.2, 0.3, 0.9])
    given = replace(replace_legs(machine, limits=limits), home_rotation=turn)
    text = _kinematics_source(given, "hexa_1", ["Machine: */ a.", "", "Source: b\x07."])
    assert "@" not in text and "* Machine: * / a.\n *\n * Source: b\\x07.\n" in text
    assert '"kinematics.h"' not in text
    for values in (
        [one.shortest for one in limits],
        [one.longest for one in limits],
        [one.speed for one in limits],
        [*given.home_position, *quaternion_from_rotation(given.home_rotation)],
    ):
        assert ", ".join(repr(float(x)) for x in values) in text
    assert ", ".join(["INFINITY"] * 6) in text
    for points in (given.base_points, given.platform_points, given.home_directions @ given.home_rotation):
        assert ",\n     ".join(f"{{{x!r}, {y!r}, {z!r}}}" for x, y, z in (points + 0.0).tolist()) in text
    assert rows_text(np.array([[-0.0, 1.5], [np.inf, -2.0]])) == "{0.0, 1.5},\n     {INFINITY, -2.0}"


def test_motions_of_the_tables_are_of_moderate_size_in_every_direction(texts, machine):
    """Uniform samples: within their bounds, on both sides of zero, and most of the way to the bounds."""
    motions, bodies = table(texts["test/checks.c"], "motions"), table(texts["test/checks.c"], "bodies")
    size = 0.02 * machine.characteristic_length
    turns = rotation_from_quaternion(motions[:, 3:7]) @ machine.home_rotation.T
    twists = np.array([axial(turn) for turn in turns])
    for samples, bound in (
        (motions[:, :3] - machine.home_position, size),
        (twists, 0.0502),
        (motions[:, 7:], 1.0),
        (bodies[:, 1:4], 0.2),
    ):
        assert np.abs(samples).max() <= bound * (1.0 + 1e-9)
        assert samples.min() < -0.7 * bound and samples.max() > 0.7 * bound
    for block in np.split(motions[:, 7:], 6, axis=1):
        assert np.abs(block).max() > 0.7
    for body in bodies[1::2]:
        inertia = inertia_of(body) / body[0]
        spread = 0.5 * np.trace(inertia) * np.eye(3) - inertia
        moments = np.linalg.eigvalsh(spread)
        assert moments[0] > 0.0 and 0.02 < moments.sum() < 9 * 0.2**2
        assert np.abs(spread[np.triu_indices(3, 1)]).max() > 0.005
