"""There is one law of friction: the core includes the C that is written from it."""

import ctypes
import subprocess
from dataclasses import fields
from importlib.resources import files

import numpy as np
import pytest
from patience import PATIENCE

from robot_dynamics.dynamics.friction import (
    STICTION_VELOCITY,
    DriveFriction,
    FrictionParameters,
    direction,
    direction_slope,
)
from robot_dynamics.dynamics.friction_header import friction_header
from robot_dynamics.native.compiler import find_compiler
from robot_dynamics.parameters import describe

CORE = files("robot_dynamics.control.core")
HEADER = CORE.joinpath("friction.h").read_text(encoding="utf-8")
EXPORTED = """
double effort(const double *p, double velocity, double heading, double load)
{ return rd_friction(p, velocity, heading, load); }
double margin(const double *p) { return rd_friction_margin(p); }
double along(double velocity) { return rd_direction(velocity); }
double presliding(const double *p, double heading, double slid) { return rd_presliding(p, heading, slid); }
double slid_after(const double *p, double slid, double travel) { return rd_slid_after(p, slid, travel); }
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("friction")
    source, library = folder / "friction.c", folder / "friction.so"
    source.write_text(f'#include "friction.h"\n{EXPORTED}', encoding="utf-8")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    command = [*find_compiler().command, *strict, f"-I{CORE}", source, "-o", library, "-lm"]
    subprocess.run(command, check=True, timeout=PATIENCE)
    found = ctypes.CDLL(str(library))
    for function in (found.effort, found.margin, found.along, found.presliding, found.slid_after):
        function.restype = ctypes.c_double
    found.effort.argtypes = [ctypes.c_void_p, *[ctypes.c_double] * 3]
    found.presliding.argtypes = found.slid_after.argtypes = [ctypes.c_void_p, *[ctypes.c_double] * 2]
    found.margin.argtypes, found.along.argtypes = [ctypes.c_void_p], [ctypes.c_double]
    return found


def test_the_core_includes_the_law_as_it_is():
    assert friction_header() == HEADER, "python -m robot_dynamics.dynamics.friction_header writes friction.h"


def test_parameters_have_the_order_of_the_law():
    assert [about.name for about in describe(FrictionParameters)] == [f.name for f in fields(DriveFriction)]


@pytest.mark.parametrize("plain", [False, True])
def test_c_computes_as_numbers_do(compiled, plain):
    draw = np.random.default_rng(3)
    for _ in range(300):
        size = 10.0 ** draw.uniform(-4.0, 1.0)
        law = DriveFriction(*(np.array([x]) for x in draw.uniform(0.01, 2.0, len(fields(DriveFriction)))))
        if plain:
            law = DriveFriction.plain(law.damping, law.friction)
            law = DriveFriction(*(np.full(1, getattr(law, field.name)) for field in fields(law)))
        velocity, heading, load = (np.array([x]) for x in size * draw.normal(size=3))
        p = np.ascontiguousarray(law.matrix[0])
        found = compiled.effort(p.ctypes.data, velocity[0], heading[0], load[0])
        assert found == pytest.approx(law.effort(velocity, heading, load)[0], rel=1e-15, abs=1e-15)
        slid, travel = draw.uniform(-1.0, 1.0, (2, 1)) * [[1.0], [size]]
        built = compiled.presliding(p.ctypes.data, heading[0], slid[0])
        assert built == pytest.approx(law.presliding(heading, slid)[0], rel=1e-15, abs=1e-15)
        moved = compiled.slid_after(p.ctypes.data, slid[0], travel[0])
        assert moved == pytest.approx(law.slid_after(slid, travel)[0], rel=1e-14, abs=1e-15)
        assert compiled.slid_after(p.ctypes.data, slid[0], 0.0) == pytest.approx(slid[0], abs=1e-15)
        assert compiled.margin(p.ctypes.data) == law.margin[0]
        assert compiled.along(heading[0]) == direction(heading)[0] == direction(float(heading[0]))


def test_what_builds_up_takes_energy_on_every_path():
    """A unit of Dahl's friction stores at most half its travel; after a long way it is Coulomb friction."""
    law = DriveFriction(0.0, 1.0, 1.0, 1.0, 0.0, 0.0, presliding_friction=1.0, presliding_travel=0.01)
    draw, slid, work = np.random.default_rng(0), 0.0, 0.0
    for travel in draw.normal(0.0, 1e-3, 20_000):
        moved = law.slid_after(slid, travel)
        assert abs(moved) <= 1.0
        # Exact along a part: the integral of z dq is s dq - s_B (z' - z).
        work += abs(travel) - np.sign(travel) * 0.01 * (moved - slid)
        slid = moved
        assert work >= 0.5 * 0.01 * slid**2
    slid = law.slid_after(slid, -1.0)
    for v in (-0.5, -0.003, 0.0, 0.004):
        along = direction(v)
        assert law.presliding(v, slid) == pytest.approx(min(0.0, -2.0 * along), abs=1e-12)


def test_the_slope_is_that_of_the_law():
    v = np.array([-2.0, -0.9, -0.3, 0.0, 0.4, 0.99, 1.7]) * STICTION_VELOCITY
    step = 1e-7 * STICTION_VELOCITY
    found = (direction(v + step) - direction(v - step)) / (2.0 * step)
    np.testing.assert_allclose(direction_slope(v), found, atol=1e-6 / STICTION_VELOCITY)
