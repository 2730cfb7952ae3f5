"""The vector sine and cosine against extended precision."""

import ctypes
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from robot_dynamics.native.compiler import find_compiler

HARNESS = """
void both(size_t count, const double *x, double *s, double *c)
{
    for (size_t i = 0; i < count; i += LANES) {
        lanes angle, sine, cosine;
        for (int j = 0; j < LANES; ++j) angle[j] = x[i + j];
        sincos_lanes(1, &angle, &sine, &cosine);
        for (int j = 0; j < LANES; ++j) { s[i + j] = sine[j]; c[i + j] = cosine[j]; }
    }
}
"""
LARGEST = 1e5
EXTENDED = np.finfo(np.longdouble).nmant >= 63


@pytest.fixture(scope="module", params=["-march=native", "-DLANES=8", "-ffp-contract=off", "-DLANES=2"])
def sincos(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lanes")
    source = files("robot_dynamics.codegen").joinpath("lanes.h").read_text() + HARNESS
    (folder / "lanes.c").write_text(source)
    call = [*find_compiler().command, "-O2", "-shared", "-fPIC", "-w", request.param]
    subprocess.run([*call, "lanes.c", "-o", "lanes.so", "-lm"], cwd=folder, check=True)
    function = ctypes.CDLL(str(folder / "lanes.so")).both

    def both(x):
        x = np.ascontiguousarray(x, dtype=float)
        padded = np.concatenate([x, np.zeros(-len(x) % 8)])
        s, c = np.empty_like(padded), np.empty_like(padded)
        addresses = (ctypes.c_void_p(array.ctypes.data) for array in (padded, s, c))
        function(ctypes.c_size_t(len(padded)), *addresses)
        return s[: len(x)], c[: len(x)]

    return both


def ulps(value, exact):
    return np.abs(value.astype(np.longdouble) - exact) / np.spacing(np.abs(exact.astype(float)))


def angles():
    rng = np.random.default_rng(7)
    multiples = np.arange(0, int(LARGEST / (np.pi / 4))) * (np.pi / 4)
    return np.concatenate(
        [
            rng.uniform(-LARGEST, LARGEST, 100_000),
            rng.uniform(-7.0, 7.0, 200_000),
            10.0 ** rng.uniform(-300, 5, 50_000),
            # The doubles nearest to multiples of pi/2 lose most digits in the reduction.
            multiples,
            -np.nextafter(multiples, np.inf),
            np.nextafter(multiples, -np.inf),
            [LARGEST, -LARGEST, 5e-324],
        ]
    )


@pytest.mark.skipif(not EXTENDED, reason="this machine's long double is no wider than a double")
def test_error_is_below_the_stated_bound(sincos):
    x = angles()
    s, c = sincos(x)
    assert ulps(s, np.sin(x.astype(np.longdouble))).max() <= 2.0
    assert ulps(c, np.cos(x.astype(np.longdouble))).max() <= 2.0


def test_beyond_the_range_the_c_library_answers(sincos):
    x = np.array([1.5e5, -1e22, 1e300, 0.5, np.nextafter(LARGEST, np.inf), 3.0, -2.5e6, 1e-320])
    s, c = sincos(x)
    np.testing.assert_array_max_ulp(s, np.sin(x), 2)
    np.testing.assert_array_max_ulp(c, np.cos(x), 2)


def test_not_finite_stays_in_its_lane(sincos):
    x = np.array([np.nan, 1.0, np.inf, -np.inf, 0.25, -0.0, 2.0, 3.0])
    s, c = sincos(x)
    assert np.isnan(s[[0, 2, 3]]).all() and np.isnan(c[[0, 2, 3]]).all()
    rest = [1, 4, 5, 6, 7]
    np.testing.assert_allclose(s[rest], np.sin(x[rest]), rtol=1e-15)
    np.testing.assert_allclose(c[rest], np.cos(x[rest]), rtol=1e-15)
