/* Cholesky's factors. */
#ifndef RD_CHOLESKY_H
#define RD_CHOLESKY_H

#include <math.h>

static inline double dot(const double *a, const double *b, int n)
{
    double sum = 0.0;
    for (int j = 0; j < n; ++j) {
        sum += a[j] * b[j];
    }
    return sum;
}

/* The lower Cholesky factor of a matrix (n, n) in its place, with the reciprocals of its diagonal; whether the matrix is
 * positive definite. */
static inline int factor(double *m, int n)
{
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            const double left = m[i * n + j] - dot(m + i * n, m + j * n, j);
            if (i == j && !(left > 0.0)) {
                return 0;
            }
            m[i * n + j] = i == j ? 1.0 / sqrt(left) : left * m[j * n + j];
        }
    }
    return 1;
}

/* L^-1 x */
static inline void solve_lower(const double *l, int n, const double *x, double *out)
{
    for (int i = 0; i < n; ++i) {
        out[i] = (x[i] - dot(l + i * n, out, i)) * l[i * n + i];
    }
}

/* L^-T x, also in the place of x */
static inline void solve_upper(const double *l, int n, const double *x, double *out)
{
    for (int i = n - 1; i >= 0; --i) {
        double left = x[i];
        for (int k = i + 1; k < n; ++k) {
            left -= l[k * n + i] * out[k];
        }
        out[i] = left * l[i * n + i];
    }
}

/* The solution of m x = b in the place of b, where m is symmetric and positive definite, which is then its factor. */
static inline int solve_positive(double *m, int n, double *b)
{
    if (!factor(m, n)) {
        return 0;
    }
    solve_lower(m, n, b, b);
    solve_upper(m, n, b, b);
    return 1;
}

#endif
