/* Symmetric matrices of the six directions of a frame: eigenvectors that follow those of the last cycle. */
#ifndef RD_SIX_H
#define RD_SIX_H

#include "internal.h"

#include <math.h>
#include <string.h>

enum { AXES = 6, MOST_SWEEPS = 12, REFINED = 4 };
static const double NEGLIGIBLE = 1e-26; /* square of what is left beside the diagonal, as a share of what is on it */
static const double SLIGHT = 1e-2;        /* angle between old and new eigenvectors from which on these are not close */
static const double ORTHONORMAL = 1e-13;
static const double LAST_STEP = 1e-7;     /* after which the square of a step, which is left, is negligible */

/* A matrix of six rows, each a vector of the processor, which the last two numbers pad. A row that crosses lines of the
 * cache takes several times as long. */
typedef rd_row rd_six[AXES] __attribute__((aligned(64)));

static void multiply(const rd_six x, const rd_six y, rd_six out)
{
    const rd_row a = y[0], b = y[1], c = y[2], d = y[3], e = y[4], f = y[5];
    /* Unrolled, its rows no longer find room in the registers of a processor without wide vectors. */
#pragma GCC unroll 1
    for (int i = 0; i < AXES; ++i) {
        out[i] = (x[i][0] * a + x[i][1] * b) + (x[i][2] * c + x[i][3] * d) + (x[i][4] * e + x[i][5] * f);
    }
}

static void transpose(const rd_six x, rd_six out)
{
    for (int j = 0; j < AXES; ++j) {
        out[j] = (rd_row){x[0][j], x[1][j], x[2][j], x[3][j], x[4][j], x[5][j]};
    }
}

/* Two rows turned by the angle with this cosine and sine. */
static void turn_pair(rd_row *p, rd_row *q, double c, double s)
{
    const rd_row x = *p, y = *q;
    *p = c * x - s * y;
    *q = s * x + c * y;
}

/* The rotation that makes b[p][q] of a symmetric matrix zero, there and in the eigenvectors. */
static void rotate(rd_six b, rd_six v, int p, int q)
{
    const double beside = b[p][q], apart = b[q][q] - b[p][p];
    if (beside * beside <= NEGLIGIBLE * fabs(b[p][p] * b[q][q])) {
        return;
    }
    const double theta = 0.5 * apart / beside;
    const double t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0)), c = 1.0 / sqrt(t * t + 1.0);
    const double first = b[p][p] - t * beside, last = b[q][q] + t * beside;
    turn_pair(&b[p], &b[q], c, t * c);
    turn_pair(&v[p], &v[q], c, t * c);
    for (int k = 0; k < AXES; ++k) {
        b[k][p] = b[p][k];
        b[k][q] = b[q][k];
    }
    b[p][p] = first;
    b[q][q] = last;
    b[p][q] = b[q][p] = 0.0;
}

/* Squares beside the diagonal, as a share of those on it. */
static double beside_diagonal(const rd_six b)
{
    double beside = 0.0, on = 0.0;
    for (int p = 0; p < AXES; ++p) {
        on += b[p][p] * b[p][p];
        for (int q = p + 1; q < AXES; ++q) {
            beside += b[p][q] * b[p][q];
        }
    }
    return on > 0.0 ? beside / on : 0.0;
}

/* Eigenvalues of a symmetric matrix by Jacobi's rotations, which begin with nearly orthonormal rows v. */
static void rotate_all(const rd_six a, rd_six v, double values[AXES])
{
    rd_six b, w, turned;
    transpose(v, turned);
    multiply(v, turned, b);
    for (int i = 0; i < AXES; ++i) {
        b[i] *= -0.5;
        b[i][i] += 1.5;
    }
    multiply(b, v, w);
    memcpy(v, w, sizeof w);
    transpose(v, turned);
    multiply(v, a, w);
    multiply(w, turned, b);
    for (int sweep = 0; sweep < MOST_SWEEPS && beside_diagonal(b) > NEGLIGIBLE; ++sweep) {
        for (int p = 0; p < AXES; ++p) {
            for (int q = p + 1; q < AXES; ++q) {
                rotate(b, v, p, q);
            }
        }
    }
    for (int i = 0; i < AXES; ++i) {
        values[i] = b[i][i];
    }
}

/* The step f that takes eigenvectors v to v + f v, from what their products with each other lack of unity and their
 * products by the matrix. Its largest element; infinite where some of them are not close enough for it to converge. */
static double find_step(const rd_six lack, const rd_six products, rd_six f)
{
    double most = 0.0;
    for (int i = 0; i < AXES; ++i) {
        f[i][i] = 0.5 * lack[i][i];
        for (int k = 0; k < i; ++k) {
            const double first = products[i][i], last = products[k][k], gap = first - last, beside = products[i][k];
            if (beside * beside <= NEGLIGIBLE * fabs(first * last)) {
                f[i][k] = f[k][i] = 0.5 * lack[i][k];
                continue;
            }
            if (!(fabs(beside) < SLIGHT * fabs(gap))) {
                return INFINITY;
            }
            const double per = 1.0 / gap;
            f[i][k] = (beside + first * lack[i][k]) * per;
            f[k][i] = -(beside + last * lack[i][k]) * per;
            most = fmax(most, fabs(beside * per));
        }
    }
    return most;
}

/* Eigenvalues of a symmetric matrix, beginning with the eigenvectors (rows of v) of the last cycle: steps of second order
 * (Ogita and Aishima, "Iterative refinement for symmetric eigenvalue decomposition", Japan J. Indust. Appl. Math. 35,
 * 2018) where these are close, else rotations. */
__attribute__((unused)) static void find_eigen(const rd_six a, rd_row kept[AXES], double values[AXES])
{
    rd_six v, lack, products, w, turned, step;
    memcpy(v, kept, sizeof v);
    for (int k = 0; k < REFINED; ++k) {
        double most = 0.0;
        transpose(v, turned);
        multiply(v, turned, lack);
        multiply(v, a, w);
        multiply(w, turned, products);
        for (int i = 0; i < AXES; ++i) {
            lack[i] *= -1.0;
            lack[i][i] += 1.0;
            most = fmax(most, fabs(lack[i][i]));
        }
        if (most < ORTHONORMAL && beside_diagonal(products) <= NEGLIGIBLE) {
            for (int i = 0; i < AXES; ++i) {
                values[i] = products[i][i];
            }
            return;
        }
        const double largest = most < SLIGHT ? fmax(most, find_step(lack, products, step)) : INFINITY;
        if (!isfinite(largest)) {
            break;
        }
        multiply(step, v, w);
        for (int i = 0; i < AXES; ++i) {
            v[i] += w[i];
            values[i] = products[i][i] / (1.0 - lack[i][i]);
        }
        memcpy(kept, v, sizeof v);
        if (largest < LAST_STEP) {
            return;
        }
    }
    rotate_all(a, v, values);
    memcpy(kept, v, sizeof v);
}

/* A function of the matrix with these eigenvectors and values, between two scalings, times x. */
static void apply_scaled(const rd_six v, const double values[AXES], const double scale[AXES], const double x[AXES],
                         double out[AXES])
{
    rd_row scaled = {0.0}, sum = {0.0};
    for (int k = 0; k < AXES; ++k) {
        scaled[k] = scale[k] * x[k];
    }
    for (int i = 0; i < AXES; ++i) {
        double along = 0.0;
        for (int k = 0; k < AXES; ++k) {
            along += v[i][k] * scaled[k];
        }
        sum += values[i] * along * v[i];
    }
    for (int k = 0; k < AXES; ++k) {
        out[k] = scale[k] * sum[k];
    }
}

/* The inverse of the frame's mobility as the law has it: the sum of the products of each row with itself and a value.
 * These are eigenvectors and the inverses of their eigenvalues or, where none of them is limited, the inverse of the
 * Cholesky factor, and ones. */
typedef struct {
    const double *even;           /* (6) scaling of the six directions */
    const rd_row *rows;
    rd_six inverse;
    double values[AXES];
} rd_mobility;

/* The inverse of the mobility, times x. */
static inline void apply_inverse(const rd_mobility *m, const double x[AXES], double out[AXES])
{
    apply_scaled(m->rows, m->values, m->even, x, out);
}

/* The inverse of a matrix: the mobility, or where `squares` J J^T. `frame`: eigenvectors of a matrix that is close. */
void rd_find_mobility(const rd_six matrix, double regularization, int squares, rd_row frame[AXES], rd_mobility *found);
/* Eigenvectors, values and scaling of the damping that is critical with a task's springs at the mobility w = J M^-1 J^T;
 * whether there is any. */
int rd_find_damping(const rd_task *task, const rd_six w, rd_row modes[AXES], double root[AXES], double values[AXES]);

#endif
