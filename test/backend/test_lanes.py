"""The vector sine and cosine against extended precision; states between rows and lanes."""

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

enum { MOST = 4 };

/* Through lanes and back; the columns as they stood in the lanes. */
void rows(size_t count, size_t size, const double *in, double *out, double *columns)
{
    lanes kept[20 * MOST] = {0};
    load_rows(count, size, in, kept, MOST);
    for (size_t k = 0; k < size; ++k)
        for (size_t i = 0; i < (count + LANES - 1) / LANES * LANES; ++i)
            columns[k * MOST * LANES + i] = kept[k * MOST + i / LANES][i % LANES];
    store_rows(count, size, kept, MOST, out);
}

size_t width(void) { return LANES; }
"""
LARGEST = 1e5
EXTENDED = np.finfo(np.longdouble).nmant >= 63


@pytest.fixture(scope="module", params=["-march=native", "-DLANES=8", "-ffp-contract=off", "-DLANES=2"])
def library(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lanes")
    source = files("robot_dynamics.codegen").joinpath("lanes.h").read_text() + HARNESS
    (folder / "lanes.c").write_text(source)
    call = [*find_compiler().command, "-O2", "-shared", "-fPIC", "-w", request.param]
    subprocess.run([*call, "lanes.c", "-o", "lanes.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "lanes.so"))


@pytest.fixture(scope="module")
def sincos(library):
    function = library.both

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


@pytest.mark.long
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


def test_rows_come_back_from_the_lanes_and_nothing_beside_them_is_written(library):
    lanes = library.width()
    for size in (1, 2, 3, 6, 7, 8, 9, 15, 16, 20):
        for count in (1, 2, lanes - 1, lanes, lanes + 1, 3 * lanes, 4 * lanes - 1, 4 * lanes):
            given = np.random.default_rng(count).normal(size=(count, size))
            guarded, columns = np.full(count * size + 40, np.nan), np.empty((size, 4 * lanes))
            arrays = (given, guarded[20:], columns)
            addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
            library.rows(ctypes.c_size_t(count), ctypes.c_size_t(size), *addresses)
            np.testing.assert_array_equal(guarded[20:-20], given.ravel())
            assert np.isnan(guarded[:20]).all() and np.isnan(guarded[-20:]).all()
            padded = np.concatenate([given, np.repeat(given[-1:], -count % lanes, axis=0)])
            np.testing.assert_array_equal(columns[:, : len(padded)], padded.T)
