/* Grid of a path: knots, points between them, turning points of joints, points where a joint's inertia vanishes. */
#include "retime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points nearer than this share of an interval to another one are left out. */
#define RD_NEAR 0.02
/* Intervals that are shorter than this share of the next one are not divided. */
#define RD_SHORT 0.3
/* Halvings of the first and the last interval of a motion from and to rest. */
#define RD_GRADED 5
/* More of them where the rate of efforts is limited. */
#define RD_FINER 6
#define RD_STEEP 0.2

static void rd_path_at(const struct rd_retiming *r, int k, double p, double *restrict q, double *restrict qp,
                       double *restrict qpp)
{
    const int n = r->joints;
    const double *restrict c = r->coefficients + (size_t)k * 6 * n;
    const double rate = 1.0 / (r->knots[k + 1] - r->knots[k]);
    for (int j = 0; j < n; j++) {
        const double c1 = c[n + j], c2 = c[2 * n + j], c3 = c[3 * n + j], c4 = c[4 * n + j], c5 = c[5 * n + j];
        q[j] = c[j] + p * (c1 + p * (c2 + p * (c3 + p * (c4 + p * c5))));
        qp[j] = rate * (c1 + p * (2.0 * c2 + p * (3.0 * c3 + p * (4.0 * c4 + p * 5.0 * c5))));
        qpp[j] = rate * rate * (2.0 * c2 + p * (6.0 * c3 + p * (12.0 * c4 + p * 20.0 * c5)));
    }
}

static double rd_rate_at(const double *c, int n, double p)
{
    return c[n] + p * (2.0 * c[2 * n] + p * (3.0 * c[3 * n] + p * (4.0 * c[4 * n] + p * 5.0 * c[5 * n])));
}

/* Between two shares of a segment where q' of a joint has other signs. */
static double rd_turning(const double *c, int n, double left, double right)
{
    double at_left = rd_rate_at(c, n, left), at_right = rd_rate_at(c, n, right);
    for (int k = 0; k < 60 && right - left > 1e-13; k++) {
        double p = left - at_left * (right - left) / (at_right - at_left);
        if (k % 3 == 2 || !(p > left && p < right))
            p = 0.5 * (left + right);
        const double at = rd_rate_at(c, n, p);
        if (at == 0.0)
            return p;
        if ((at > 0.0) == (at_left > 0.0)) {
            left = p;
            at_left = at;
        } else {
            right = p;
            at_right = at;
        }
    }
    return 0.5 * (left + right);
}

static int rd_by_size(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int rd_append(struct rd_retiming *r, signed char *knot, int k, double share)
{
    const size_t row = (size_t)r->points * r->joints;
    if (r->points + 2 > r->capacity)
        return 0;
    r->s[r->points] = r->knots[k] + share * (r->knots[k + 1] - r->knots[k]);
    knot[r->points++] = share == 0.0;
    rd_path_at(r, k, share, r->q + row, r->qp + row, r->qpp + row);
    return 1;
}

/* The points of segment k without its end: m at equal distances, of which those near to one of `more` move there. */
static int rd_fill(struct rd_retiming *r, signed char *knot, int k, int m, double *more, int count)
{
    const double near = RD_NEAR / m;
    int at = 0;
    qsort(more, count, sizeof *more, rd_by_size);
    while (at < count && more[at] < near)
        at++;
    for (int i = 0; i < m; i++) {
        double last = (double)i / m;
        if (i > 0 && at < count && more[at] < last + near)
            last = more[at++];
        if (!rd_append(r, knot, k, last))
            return 0;
        for (; at < count && more[at] < (double)(i + 1) / m - near; at++)
            if (more[at] > last + near) {
                last = more[at];
                if (!rd_append(r, knot, k, last))
                    return 0;
            }
        while (at < count && i + 1 < m && more[at] < last + near)
            at++;
    }
    return 1;
}

/* Segment of s, this one or one behind it. */
int rd_path_segment(const struct rd_retiming *r, int segment, double s)
{
    while (segment + 1 < r->segments && r->knots[segment + 1] <= s)
        segment++;
    return segment;
}

/* First derivative of a joint at s in a segment. */
double rd_path_rate(const struct rd_retiming *r, int segment, int joint, double s)
{
    const double rate = 1.0 / (r->knots[segment + 1] - r->knots[segment]);
    const double *c = r->coefficients + (size_t)segment * 6 * r->joints + joint;
    return rate * rd_rate_at(c, r->joints, rate * (s - r->knots[segment]));
}

/* The path at s, which lies in this segment or behind it. */
void rd_path_middle(const struct rd_retiming *r, int *segment, double s, double *q, double *qp, double *qpp)
{
    *segment = rd_path_segment(r, *segment, s);
    const double h = r->knots[*segment + 1] - r->knots[*segment];
    rd_path_at(r, *segment, (s - r->knots[*segment]) / h, q, qp, qpp);
}

int rd_call(const struct rd_retiming *r, int count, const double *q, const double *qd, const double *qdd, double *out)
{
    const double *in[16] = {q, qd, qdd};
    for (int k = 0; k < r->constants && k < 13; k++)
        in[3 + k] = r->constant[k];
    return r->efforts((size_t)count, in, out);
}

/* a, b and c of points first to first + count. */
static int rd_terms(struct rd_retiming *r, int first, int count)
{
    const int n = r->joints;
    const size_t at = (size_t)first * n, size = (size_t)count * n;
    const double *q = r->q + at, *qp = r->qp + at, *qpp = r->qpp + at;
    double *a = r->a + at, *b = r->b + at, *c = r->c + at, *zero = calloc(size + 1, sizeof *zero);
    const int done = zero != NULL && rd_call(r, count, q, zero, zero, c) && rd_call(r, count, q, zero, qp, a) &&
                     rd_call(r, count, q, qp, qpp, b);
    free(zero);
    for (size_t k = 0; k < size && done; k += n)
        for (int j = 0; j < n; j++) {
            a[k + j] += r->rotor[j] * qp[k + j] - c[k + j];
            b[k + j] += r->rotor[j] * qpp[k + j] - c[k + j];
        }
    return done;
}

static void rd_move(double *rows, int n, int to, int from)
{
    memcpy(rows + (size_t)to * n, rows + (size_t)from * n, (size_t)n * sizeof *rows);
}

/* Insert points at places of the path, each behind another point, in their order; whether efforts are known there. */
int rd_retime_insert(struct rd_retiming *r, signed char *knot, const double *places, const int *behind, int count)
{
    const int n = r->joints, before = r->points;
    double *rows[6] = {r->q, r->qp, r->qpp, r->a, r->b, r->c};
    int segment = 0, from, to;
    /* They are evaluated behind all others, and go from there to their places. */
    for (int k = 0; k < count; k++) {
        const size_t row = ((size_t)before + k) * n;
        rd_path_middle(r, &segment, places[k], r->q + row, r->qp + row, r->qpp + row);
    }
    double *kept = malloc(((size_t)count * n + 1) * sizeof *kept);
    const int done = kept != NULL && rd_terms(r, before, count);
    for (int part = 0; part < 6 && done; part++) {
        memcpy(kept, rows[part] + (size_t)before * n, (size_t)count * n * sizeof *kept);
        for (from = before - 1, to = before + count - 1; to > from; to--) {
            const int k = to - from - 1;
            if (behind[k] == from)
                memcpy(rows[part] + (size_t)to * n, kept + (size_t)k * n, (size_t)n * sizeof *kept);
            else
                rd_move(rows[part], n, to, from--);
        }
    }
    free(kept);
    for (from = before - 1, to = before + count - 1; to > from && done; to--) {
        const int k = to - from - 1;
        r->s[to] = behind[k] == from ? places[k] : r->s[from];
        knot[to] = behind[k] == from ? 0 : knot[from];
        if (behind[k] != from)
            from--;
    }
    r->points = before + (done ? count : 0);
    return done;
}

/* Insert the points where a of a joint with a limit crosses zero. */
static int rd_insert_singular(struct rd_retiming *r, signed char *knot)
{
    const int n = r->joints, before = r->points;
    double *found = malloc(((size_t)r->capacity - before + 1) * sizeof *found);
    double *seen = malloc((size_t)n * sizeof *seen);
    int *behind = malloc(((size_t)r->capacity - before + 1) * sizeof *behind);
    int count = 0, done = found != NULL && behind != NULL && seen != NULL;
    for (int i = 0; i + 1 < before && done; i++) {
        const double *a0 = r->a + (size_t)i * n, *a1 = a0 + n, d = r->s[i + 1] - r->s[i];
        if ((i > 0 && d < RD_SHORT * (r->s[i] - r->s[i - 1])) ||
            (i + 2 < before && d < RD_SHORT * (r->s[i + 2] - r->s[i + 1])))
            continue;
        int here = 0;
        for (int j = 0; j < n; j++)
            if (a0[j] * a1[j] < 0.0 && isfinite(r->effort[j]))
                seen[here++] = a0[j] / (a0[j] - a1[j]);
        if (here > 1)
            qsort(seen, here, sizeof *seen, rd_by_size);
        double last = 0.0;
        for (int k = 0; k < here && before + count < r->capacity; k++)
            if (seen[k] > last + RD_NEAR && seen[k] < 1.0 - RD_NEAR) {
                last = seen[k];
                found[count] = r->s[i] + last * d;
                behind[count++] = i;
            }
    }
    if (count > 0 && done)
        done = rd_retime_insert(r, knot, found, behind, count);
    free(found), free(behind), free(seen);
    return done;
}

/* A motion whose effort begins and ends without a step changes it most in the first and in the last intervals. */
static int rd_halve_ends(struct rd_retiming *r, signed char *knot)
{
    int done = 1;
    for (int k = 0; k < RD_FINER && done; k++)
        for (int end = 0; end < 2; end++) {
            const int behind = end ? r->points - 2 : 0;
            const double place = 0.5 * (r->s[behind] + r->s[behind + 1]);
            if ((end ? r->end : r->start) == 0.0 && r->points + 2 < r->capacity)
                done = done && rd_retime_insert(r, knot, &place, &behind, 1);
        }
    /* The speed hardly changes within an interval. */
    double *places = malloc((size_t)r->points * 4 * sizeof *places);
    int *behind = malloc((size_t)r->points * 4 * sizeof *behind);
    done = done && places != NULL && behind != NULL;
    for (int pass = 0; pass < 2 && done; pass++) {
        const int last = r->points - 1;
        int count = 0;
        for (int i = 0; i < last; i++) {
            const double d = r->s[i + 1] - r->s[i], before = r->s[i + 1] - r->s[0], after = r->s[last] - r->s[i];
            if ((r->start == 0.0 && i > 1 && d > RD_STEEP * before) || (r->end == 0.0 && i < last - 2 && d > RD_STEEP * after))
                places[count] = r->s[i] + 0.5 * d, behind[count++] = i;
        }
        if (count > 0 && r->points + count + 2 < r->capacity)
            done = rd_retime_insert(r, knot, places, behind, count);
    }
    free(places), free(behind);
    return done;
}

int rd_retime_grid(struct rd_retiming *r, signed char *knot)
{
    const int n = r->joints;
    const double whole = r->knots[r->segments] - r->knots[0];
    int room = 0;
    double *more = NULL;
    r->points = 0;
    for (int k = 0; k < r->segments; k++) {
        const double *c = r->coefficients + (size_t)k * 6 * n;
        const double share = (r->knots[k + 1] - r->knots[k]) / whole;
        const int wanted = (int)ceil(share * r->intervals - 1e-9), m = RD_MAX(wanted, r->least);
        int count = 0;
        if (room < m * n + 2 * RD_GRADED) {
            double *larger = realloc(more, ((size_t)m * n + 2 * RD_GRADED) * sizeof *more);
            if (larger == NULL) {
                free(more);
                return RD_NO_MEMORY;
            }
            more = larger, room = m * n + 2 * RD_GRADED;
        }
        for (int j = 0; j < n; j++) {
            double before = rd_rate_at(c + j, n, 0.0);
            for (int i = 1; i <= m; i++) {
                const double after = rd_rate_at(c + j, n, (double)i / m);
                if (before * after < 0.0)
                    more[count++] = rd_turning(c + j, n, (double)(i - 1) / m, (double)i / m);
                before = after;
            }
        }
        /* A motion from rest and to rest changes its speed most in the first and in the last interval. */
        for (int i = 0; i < RD_GRADED; i++) {
            const double way = 0.5 * pow(0.5, i) / m;
            if (k == 0 && r->start == 0.0)
                more[count++] = way;
            if (k + 1 == r->segments && r->end == 0.0)
                more[count++] = 1.0 - way;
        }
        if (!rd_fill(r, knot, k, m, more, count)) {
            free(more);
            return RD_NO_MEMORY;
        }
    }
    free(more);
    const size_t row = (size_t)r->points * n;
    rd_path_at(r, r->segments - 1, 1.0, r->q + row, r->qp + row, r->qpp + row);
    knot[r->points] = 1;
    r->s[r->points++] = r->knots[r->segments];

    if (!rd_terms(r, 0, r->points) || !rd_insert_singular(r, knot))
        return RD_NOT_FINITE;
    return r->rate == NULL || rd_halve_ends(r, knot) ? RD_RETIMED : RD_NOT_FINITE;
}

/* Duration of interval i. */
double rd_interval(const struct rd_retiming *r, int i)
{
    return r->rated ? r->h[i] : 2.0 * (r->s[i + 1] - r->s[i]) / (sqrt(r->x[i]) + sqrt(r->x[i + 1]));
}

/* Second derivative of s by time at a point, within interval i. */
double rd_bend_at(const struct rd_retiming *r, int i, int point)
{
    return r->rated ? r->u[point] : 0.5 * (r->x[i + 1] - r->x[i]) / (r->s[i + 1] - r->s[i]);
}

int rd_retime_spline(const struct rd_retiming *r, double *times, double *coefficients)
{
    const int n = r->joints;
    times[0] = 0.0;
    for (int i = 0; i + 1 < r->points; i++) {
        const double x = r->x[i], y = r->x[i + 1], h = rd_interval(r, i), hh = h * h, hv = h * sqrt(x), hw = h * sqrt(y);
        const double hu = hh * rd_bend_at(r, i, i), hz = hh * rd_bend_at(r, i, i + 1), hx = hh * x, hy = hh * y;
        double *out = coefficients + (size_t)i * 6 * n;
        const double *q = r->q + (size_t)i * n, *qp = r->qp + (size_t)i * n, *qpp = r->qpp + (size_t)i * n;
        times[i + 1] = times[i] + h;
        if (!(isfinite(h) && times[i + 1] > times[i]))
            return 0;
        /* The last group first: what it writes beyond a row is written again. */
        for (int j = (n - 1) / 4 * 4; j >= 0; j -= 4) {
            const rd_four p0 = FOUR(q, j), v0 = hv * FOUR(qp, j), a0 = hu * FOUR(qp, j) + hx * FOUR(qpp, j);
            const rd_four p1 = FOUR(q, n + j), v1 = hw * FOUR(qp, n + j), a1 = hz * FOUR(qp, n + j) + hy * FOUR(qpp, n + j);
            const rd_four e = p1 - p0 - v0 - 0.5 * a0, f = v1 - v0 - a0, g = a1 - a0;
            FOUR(out, j) = p0;
            FOUR(out, n + j) = v0;
            FOUR(out, 2 * n + j) = 0.5 * a0;
            FOUR(out, 3 * n + j) = 10.0 * e - 4.0 * f + 0.5 * g;
            FOUR(out, 4 * n + j) = -15.0 * e + 7.0 * f - g;
            FOUR(out, 5 * n + j) = 6.0 * e - 3.0 * f + 0.5 * g;
        }
    }
    return 1;
}
