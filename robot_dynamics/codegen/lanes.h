/* Several states at once: vectors of doubles ("lanes") and their sine and cosine.
 *
 * sincos_lanes() is within 2 ulp of the exact sine and cosine for every |x| <= 1e5 rad; outside that range,
 * and for infinities and NaN, it calls the C library. Angles are reduced in three parts of pi/2 (Cody and
 * Waite) to a remainder that is off by little more than its last rounding; the polynomials are those of
 * fdlibm's __kernel_sin and __kernel_cos (Sun Microsystems, 1993), whose error on [-pi/4, pi/4] is below 2^-58.
 */
#include <math.h>
#include <stddef.h>

#ifndef LANES
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
#endif

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef long long lane_bits __attribute__((vector_size(8 * LANES)));

/* The compiler fuses a product with the sum that it is part of wherever it can (-ffp-contract=fast); here it can. */
#if defined(__FMA__) || defined(__aarch64__)
#define FUSED
#endif

/* Largest angle that the reduction below is made for [rad]. */
#define LARGEST_ANGLE 1e5

/* Sine and cosine of every lane; the lanes of the result that are not zero hold an angle out of range. */
static inline lane_bits sincos_reduced(lanes x, lanes *sine, lanes *cosine)
{
    /* x = k pi/2 + r; adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits. */
    const lanes shifted = x * 6.36619772367581382433e-01 + 6755399441055744.0;
    const lane_bits quadrant = (lane_bits)shifted;
    const lanes k = shifted - 6755399441055744.0;
#ifdef FUSED
    /* Parts as long as a double. The first difference is exact: a multiple of 2^-53 below 1. The third part
     * matters only where the second difference is so small that nothing of it was lost. */
    const lanes first = x - k * 1.5707963267948966;
    const lanes second = first - k * 6.123233995736766e-17;
    const lanes r = second - k * -1.4973849048591698e-33;
#else
    /* The products with the first two parts are exact, and the rounding of the second difference is made good. */
    const lanes first = x - k * 1.57079632673412561417e+00;
    const lanes second = first - k * 6.07710050630396597660e-11;
    const lanes lost = (first - second) - k * 6.07710050630396597660e-11;
    const lanes r = second + (lost - k * 2.02226624879595063154e-21);
#endif

    const lanes z = r * r;
    const lanes cube = z * r;
    const lanes square = z * z;
    const lanes s = (8.33333333332248946124e-03 + z * -1.98412698298579493134e-04)
        + square * ((2.75573137070700676789e-06 + z * -2.50507602534068634195e-08)
        + square * 1.58969099521155010221e-10);
    const lanes sin_r = r + cube * (z * s - 1.66666666666666324348e-01);
    const lanes c = z * ((4.16666666666666019037e-02 + z * -1.38888888888741095749e-03)
        + square * ((2.48015872894767294178e-05 + z * -2.75573143513906633035e-07)
        + square * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)));
    const lanes cos_r = (1.0 - 0.5 * z) + z * c;

    /* Odd quadrants swap sine and cosine; the sign of sine follows bit 1 of k, that of cosine of k + 1. */
    const lane_bits swap = ((lane_bits)sin_r ^ (lane_bits)cos_r) & -(quadrant & 1);
    *sine = (lanes)((lane_bits)sin_r ^ swap ^ ((quadrant & 2) << 62));
    *cosine = (lanes)((lane_bits)cos_r ^ swap ^ (((quadrant & 2) << 62) ^ (quadrant << 63)));
    const lanes size = (lanes)((lane_bits)x & 0x7fffffffffffffffLL);
    return ~(size <= LARGEST_ANGLE);
}

/* Correct the sines and cosines of angles out of range. */
static __attribute__((noinline, cold)) void sincos_outside(size_t count, const lanes *angles, lanes *sines,
                                                           lanes *cosines)
{
    for (size_t i = 0; i < count; ++i) {
        for (int lane = 0; lane < LANES; ++lane) {
            if (!(fabs(angles[i][lane]) <= LARGEST_ANGLE)) {
                sines[i][lane] = sin(angles[i][lane]);
                cosines[i][lane] = cos(angles[i][lane]);
            }
        }
    }
}

static inline int any_lane(lane_bits bits)
{
    long long any = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        any |= bits[lane];
    }
    return any != 0;
}

/* Sine and cosine of count vectors of angles [rad]; see the head of this file. */
static void sincos_lanes(size_t count, const lanes *angles, lanes *sines, lanes *cosines)
{
    lane_bits outside = {0};
    for (size_t i = 0; i < count; ++i) {
        outside |= sincos_reduced(angles[i], &sines[i], &cosines[i]);
    }
    if (__builtin_expect(any_lane(outside), 0)) {
        sincos_outside(count, angles, sines, cosines);
    }
}

/* The same of the angles of a single state, known to be few when this is compiled. */
static inline __attribute__((always_inline)) void sincos_state(size_t count, const lanes *angles, lanes *sines,
                                                               lanes *cosines)
{
    if (count > 2) {
        sincos_lanes(count, angles, sines, cosines);
        return;
    }
    lane_bits outside = sincos_reduced(angles[0], &sines[0], &cosines[0]);
    if (count == 2) {
        outside |= sincos_reduced(angles[1], &sines[1], &cosines[1]);
    }
    if (__builtin_expect(any_lane(outside), 0)) {
        sincos_outside(count, angles, sines, cosines);
    }
}

/* Angles of a single state as vectors, put together in registers: a vector that is read from where its elements
 * have just been written waits for them to reach the cache. */
#if LANES == 2
#define VECTORS_OF_2(a, b) (lanes){a, b}
#define VECTORS_OF_4(a, b, c, d) (lanes){a, b}, (lanes){c, d}
#define VECTORS_OF_8(a, b, c, d, e, f, g, h) (lanes){a, b}, (lanes){c, d}, (lanes){e, f}, (lanes){g, h}
#elif LANES == 4
#define VECTORS_OF_2(a, b) (lanes){a, b, 0.0, 0.0}
#define VECTORS_OF_4(a, b, c, d) (lanes){a, b, c, d}
#define VECTORS_OF_8(a, b, c, d, e, f, g, h) (lanes){a, b, c, d}, (lanes){e, f, g, h}
#elif LANES == 8
#define VECTORS_OF_2(a, b) (lanes){a, b, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}
#define VECTORS_OF_4(a, b, c, d) (lanes){a, b, c, d, 0.0, 0.0, 0.0, 0.0}
#define VECTORS_OF_8(a, b, c, d, e, f, g, h) (lanes){a, b, c, d, e, f, g, h}
#endif

static inline lanes sin_lanes(lanes x)
{
    lanes sine, cosine;
    sincos_lanes(1, &x, &sine, &cosine);
    return sine;
}

static inline lanes cos_lanes(lanes x)
{
    lanes sine, cosine;
    sincos_lanes(1, &x, &sine, &cosine);
    return cosine;
}

static inline lanes sqrt_lanes(lanes x)
{
    for (int lane = 0; lane < LANES; ++lane) {
        x[lane] = sqrt(x[lane]);
    }
    return x;
}

/* Long programs are compiled for size, or hardly optimised at all. What moves their states is not. */
#if defined(__GNUC__) && !defined(__clang__)
#define MOVES __attribute__((optimize("O2")))
#else
#define MOVES
#endif

/* Vector for states that are rows of an array: LANES of its entries, without more alignment. */
typedef double unaligned __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

#ifdef __clang__
#define PICK(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define PICK(x, y, ...) __builtin_shuffle(x, y, (lane_bits){__VA_ARGS__})
#endif
#if LANES == 2
#define LOWER(x, y) PICK(x, y, 0, 2)
#define UPPER(x, y) PICK(x, y, 1, 3)
#elif LANES == 4
#define LOWER(x, y) PICK(x, y, 0, 4, 1, 5)
#define UPPER(x, y) PICK(x, y, 2, 6, 3, 7)
#elif LANES == 8
#define LOWER(x, y) PICK(x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER(x, y) PICK(x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#error "LANES must be 2, 4 or 8"
#endif

/* Transpose LANES vectors: each riffle of the two halves moves one bit of an entry's row into its column. Unrolled,
 * because vectors that are picked by a loop's counter wait in memory. */
static inline MOVES void transpose(lanes *square)
{
    lanes riffled[LANES];
#pragma GCC unroll 3
    for (int bits = 1; bits < LANES; bits *= 2) {
#pragma GCC unroll 4
        for (int i = 0; i < LANES / 2; ++i) {
            riffled[2 * i] = LOWER(square[i], square[i + LANES / 2]);
            riffled[2 * i + 1] = UPPER(square[i], square[i + LANES / 2]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < LANES; ++i) {
            square[i] = riffled[i];
        }
    }
}

/* First entry of group g of LANES columns of `size`: the last group overlaps the one before. */
static inline MOVES size_t group(size_t g, size_t size)
{
    return size >= LANES && (g + 1) * LANES > size ? size - LANES : g * LANES;
}

/* The columns of `count` rows of `size` doubles: state LANES * v + lane in the lane of columns[k * tile + v]. Vectors
 * are filled with copies of the last row. */
static inline MOVES void load_rows(size_t count, size_t size, const double *rows, lanes *columns, size_t tile)
{
    const double *const end = rows + count * size;
    for (size_t v = 0; v * LANES < count; ++v) {
        for (size_t g = 0; g * LANES < size; ++g) {
            const size_t first = group(g, size);
            lanes square[LANES];
#pragma GCC unroll 8
            for (size_t lane = 0; lane < LANES; ++lane) {
                const size_t row = v * LANES + lane < count ? v * LANES + lane : count - 1;
                const double *const from = rows + row * size + first;
                if (end - from >= LANES) {
                    square[lane] = *(const unaligned *)from;
                } else {
                    lanes row_end = {0};
                    for (size_t k = 0; k < size; ++k) {
                        row_end[k] = from[k];
                    }
                    square[lane] = row_end;
                }
            }
            transpose(square);
#pragma GCC unroll 8
            for (size_t k = 0; k < LANES; ++k) {
                if (first + k < size) {
                    columns[(first + k) * tile + v] = square[k];
                }
            }
        }
    }
}

/* Columns of one row that stands for all states. */
static inline MOVES void repeat_row(size_t vectors, size_t size, const double *row, lanes *columns, size_t tile)
{
    for (size_t k = 0; k < size; ++k) {
        for (size_t v = 0; v < vectors; ++v) {
            columns[k * tile + v] = (lanes){0} + row[k];
        }
    }
}

/* Ask for the memory of a share of `count` doubles that will be read, or written: part `part` of `parts`. */
static inline MOVES void ask_for(const double *first, size_t count, size_t part, size_t parts, int write)
{
    for (size_t i = count * part / parts; i < count * (part + 1) / parts; i += 64 / sizeof(double)) {
        if (write) {
            __builtin_prefetch(first + i, 1, 2);
        } else {
            __builtin_prefetch(first + i, 0, 3);
        }
    }
}

/* The way back. A row may be written past its end where the next one follows, which is written after it. */
static inline MOVES void store_rows(size_t count, size_t size, const lanes *columns, size_t tile, double *rows)
{
    double *const end = rows + count * size;
    for (size_t v = 0; v * LANES < count; ++v) {
        for (size_t g = 0; g * LANES < size; ++g) {
            const size_t first = group(g, size);
            lanes square[LANES];
#pragma GCC unroll 8
            for (size_t k = 0; k < LANES; ++k) {
                square[k] = columns[(first + k < size ? first + k : first) * tile + v];
            }
            transpose(square);
#pragma GCC unroll 8
            for (size_t lane = 0; lane < LANES; ++lane) {
                double *const to = rows + (v * LANES + lane) * size + first;
                if (end - to >= LANES) {
                    *(unaligned *)to = square[lane];
                } else if (to < end) {
                    const lanes row_end = square[lane];
                    for (size_t k = 0; k < size; ++k) {
                        to[k] = row_end[k];
                    }
                }
            }
        }
    }
}

/* A sum of (value * 0): zero when every value is finite. */
static inline double not_finite(const double *values, size_t count)
{
    lanes sums[4] = {{0}, {0}, {0}, {0}};
    double rest = 0.0;
    size_t i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES) {
        for (size_t k = 0; k < 4; ++k) {
            sums[k] += 0.0 * *(const unaligned *)(values + i + k * LANES);
        }
    }
    for (; i + LANES <= count; i += LANES) {
        sums[0] += 0.0 * *(const unaligned *)(values + i);
    }
    for (; i < count; ++i) {
        rest += 0.0 * values[i];
    }
    const lanes sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int lane = 0; lane < LANES; ++lane) {
        rest += sum[lane];
    }
    return rest;
}

/* True if every lane of a sum of (value * 0) is zero, that is, if every value was finite. */
static inline int all_zero(lanes sum)
{
    int zero = 1;
    for (int lane = 0; lane < LANES; ++lane) {
        zero &= sum[lane] == 0.0;
    }
    return zero;
}
