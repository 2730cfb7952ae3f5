/* Limits of the rate of efforts: the fastest profile whose efforts change no faster.
 *
 * x = (ds/dt)^2 is a quadratic spline of s whose knots are the points of the grid: its coefficients x_k belong to
 * the intervals, u = d2s/dt2 is linear within each. Efforts at the points are linear in two neighbours, and
 *     |tau_(k+1) - tau_k| <= rate * (time between the points), about d_k / sqrt(mean of x).
 * The right side is convex in x: the set is not. A primal-dual interior-point method (Boyd, Vandenberghe, Convex
 * Optimization, section 11.7) with this side's curvature left out of its matrix goes to a point at which no small
 * change is faster. It begins with slacks that are larger than those of x, and takes this back step by step; where that
 * fails, it begins anew from an x that keeps all limits, and stays within them. The matrix has five diagonals.
 *
 * From rest and to rest the effort begins and ends as the one that holds the arm: in the first and in the last
 * interval s changes with the cube of time. Dry friction is left out of rates: no timing avoids its jump where a
 * joint turns.
 */
#include "rate.h"

#include <math.h>
#include <string.h>

#define RD_ITERATIONS 100
/* Steps after which all limits are kept, where x need not keep them at first. */
#define RD_LOOSE 60

static inline rd_four rd_same(double value)
{
    return (rd_four){value, value, value, value};
}

static inline double rd_sum(rd_four v)
{
    return (v[0] + v[1]) + (v[2] + v[3]);
}

/* Mean of x in interval i, or of its step. */
static inline double rd_mean(const struct rd_rates *z, const double *x, int i)
{
    const double *w = z->mean + 3 * (size_t)i;
    return (i > 0 ? w[0] * x[i - 1] : 0.0) + w[1] * x[i] + (i + 1 < z->points ? w[2] * x[i + 1] : 0.0);
}

/* Times of the intervals, and their derivatives by the means of x; the sum of the times. */
double rd_spans(struct rd_rates *z, const double *x)
{
    double sum = 0.0;
    for (int i = 0; i < z->points; i++) {
        const double over = 1.0 / rd_mean(z, x, i);
        sum += z->span[i] = z->length[i] * sqrt(over);
        z->steep[i] = -0.5 * z->span[i] * over;
    }
    return sum;
}

/* Change of the effort in interval i, four columns. */
static inline rd_four rd_change(const struct rd_rates *z, const double *x, int i, int k)
{
    const int n = z->columns, last = z->points - 1;
    const size_t at = (size_t)i * n + k;
    if (i > 0 && i < last)
        return FOUR(z->tau, at) - FOUR(z->tau, at - n);
    (void)x;
    return i == 0 ? FOUR(z->tau, at) - FOUR(z->hold, k) : FOUR(z->hold, n + k) - FOUR(z->tau, at - n);
}

int rd_bounded(const struct rd_rates *z, int i)
{
    const int last = z->points - 1;
    return (i > 0 || z->rest[0]) && (i < last || z->rest[1]);
}

/* Viscous friction of four columns where x has this root, and its derivative by x. */
static rd_four rd_curved(const struct rd_rates *z, size_t at, int k, double root, rd_four *slope)
{
    rd_four rubs = rd_same(0.0);
    *slope = rubs;
    for (int lane = 0; lane < 4 && k + lane < z->curved->joints; lane++) {
        const double swift = z->swift[at + lane];
        double by;
        rubs[lane] = rd_viscous(rd_friction_of(z->curved, k + lane), swift * root, &by);
        (*slope)[lane] = by * swift * (0.5 / root);
    }
    return rubs;
}

/* See rd_slacks; curved: whether viscous friction may not be linear. */
static inline __attribute__((always_inline)) int rd_slacks_of(struct rd_rates *z, const double *x, int curved)
{
    const int n = z->columns, last = z->points - 1;
    for (int i = 1; i < last; i++)
        if (!(x[i] > 0.0 && x[i] < z->most[i]))
            return 0;
    z->duration = rd_spans(z, x);
    rd_mask bad = {0, 0, 0, 0};
    for (int i = 0; i <= last; i++) {
        const double span = z->span[i];
        const int bounded = rd_bounded(z, i);
        for (int k = 0; k < n; k += 4) {
            const size_t at = (size_t)i * n + k;
            if (i < last) {
                const double root = sqrt(z->before[i] * x[i] + z->behind[i] * x[i + 1]);
                const rd_four load = FOUR(z->p, at) * x[i] + FOUR(z->q, at) * x[i + 1] + FOUR(z->c, at);
                rd_four rubs = FOUR(z->viscous, at) * root, slope = FOUR(z->viscous, at) * (0.5 / root);
                if (curved)
                    rubs = rd_curved(z, at, k, root, &slope);
                FOUR(z->tau, at) = load + rubs, FOUR(z->slope, at) = slope;
                FOUR(z->slack[RD_HIGH], at) = FOUR(z->high, at) - FOUR(z->up, at) * load - rubs;
                FOUR(z->slack[RD_LOW], at) = FOUR(z->low, at) + FOUR(z->down, at) * load + rubs;
                bad |= (FOUR(z->slack[RD_HIGH], at) <= 0.0) | (FOUR(z->slack[RD_LOW], at) <= 0.0);
            }
            if (!bounded)
                continue;
            const rd_four most = FOUR(z->rate, at), change = rd_change(z, x, i, k);
            const rd_four room = rd_chosen(most < RD_NONE, most * span, rd_same(RD_NONE));
            FOUR(z->slack[RD_RISE], at) = room - change, FOUR(z->slack[RD_FALL], at) = room + change;
            bad |= (room <= change) | (room <= -change);
        }
    }
    return !rd_any(bad);
}

/* Slacks at x; whether all are positive. */
int rd_slacks(struct rd_rates *z, const double *x)
{
    return z->curved != NULL ? rd_slacks_of(z, x, 1) : rd_slacks_of(z, x, 0);
}

/* Gradients of the change in interval i by the coefficients before, of and behind it, and `room`: of its limit. */
static inline void rd_rate_slopes(const struct rd_rates *z, int i, int k, double span, rd_four *g0, rd_four *g1,
                                  rd_four *g2, rd_four *room)
{
    const int n = z->columns, last = z->points - 1;
    const size_t at = (size_t)i * n + k;
    const rd_four none = rd_same(0.0);
    *room = rd_chosen(FOUR(z->rate, at) < RD_NONE, FOUR(z->rate, at) * span, none);
    *g0 = *g1 = *g2 = none;
    if (i > 0) {
        *g0 = -(FOUR(z->p, at - n) + z->before[i - 1] * FOUR(z->slope, at - n));
        *g1 = -(FOUR(z->q, at - n) + z->behind[i - 1] * FOUR(z->slope, at - n));
    }
    if (i < last) {
        *g1 += FOUR(z->p, at) + z->before[i] * FOUR(z->slope, at);
        *g2 = FOUR(z->q, at) + z->behind[i] * FOUR(z->slope, at);
    }
}

/* Matrix and right side of the step at x, with this product of slacks and duals as the aim. */
static inline __attribute__((always_inline)) void rd_assembled(struct rd_rates *z, double aim, int loose)
{
    const int n = z->columns, last = z->points - 1;
    double *h = z->band, *g = z->step;
    const double *x = z->x;
    memset(h, 0, 3 * (size_t)z->points * sizeof *h);
    memset(g, 0, (size_t)z->points * sizeof *g);
    for (int i = 0; i <= last; i++) {
        const double slope = z->steep[i], *w = z->mean + 3 * (size_t)i, bend = 3.0 * slope * slope / RD_MAX(z->span[i], 1e-300);
        double *row = h + 3 * (size_t)i;
        if (i > 0)
            g[i - 1] -= w[0] * slope, row[-3] += bend * w[0] * w[0], row[-2] += bend * w[0] * w[1];
        if (i > 0 && i < last)
            row[-1] += bend * w[0] * w[2];
        g[i] -= w[1] * slope, row[0] += bend * w[1] * w[1];
        if (i < last)
            g[i + 1] -= w[2] * slope, row[1] += bend * w[1] * w[2], row[3] += bend * w[2] * w[2];
    }
    for (int i = 0; i < last; i++) {
        const double e0 = z->before[i], e1 = z->behind[i];
        rd_four ii = rd_same(0.0), ik = ii, kk = ii, gi = ii, gk = ii;
        for (int k = 0; k < n; k += 4) {
            const size_t at = (size_t)i * n + k;
            const rd_four p = FOUR(z->p, at), q = FOUR(z->q, at), slope = FOUR(z->slope, at);
            const rd_four i0 = 1.0 / FOUR(z->slack[RD_HIGH], at), i1 = 1.0 / FOUR(z->slack[RD_LOW], at);
            const rd_four w0 = FOUR(z->dual[RD_HIGH], at) * i0, w1 = FOUR(z->dual[RD_LOW], at) * i1;
            const rd_four a0 = FOUR(z->up, at) * p + e0 * slope, b0 = FOUR(z->up, at) * q + e1 * slope;
            const rd_four a1 = FOUR(z->down, at) * p + e0 * slope, b1 = FOUR(z->down, at) * q + e1 * slope;
            ii += w0 * a0 * a0 + w1 * a1 * a1, ik += w0 * a0 * b0 + w1 * a1 * b1, kk += w0 * b0 * b0 + w1 * b1 * b1;
            const rd_four t0 = loose ? aim * i0 + w0 * FOUR(z->lack[RD_HIGH], at) : aim * i0;
            const rd_four t1 = loose ? aim * i1 + w1 * FOUR(z->lack[RD_LOW], at) : aim * i1;
            gi -= t0 * a0 - t1 * a1, gk -= t0 * b0 - t1 * b1;
        }
        h[3 * i] += rd_sum(ii), h[3 * i + 1] += rd_sum(ik), h[3 * i + 3] += rd_sum(kk);
        g[i] += rd_sum(gi), g[i + 1] += rd_sum(gk);
    }
    for (int i = 0; i <= last; i++) {
        if (i > 0 && i < last) {
            const double room = z->most[i] - x[i];
            h[3 * i] += z->dual_most[i] / room + z->dual_least[i] / x[i], g[i] += aim / x[i] - aim / room;
        }
        if (!rd_bounded(z, i))
            continue;
        const double slope = z->steep[i];
        const double w0 = z->mean[3 * (size_t)i], w1 = z->mean[3 * (size_t)i + 1], w2 = z->mean[3 * (size_t)i + 2];
        rd_four h00 = rd_same(0.0), h01 = h00, h02 = h00, h11 = h00, h12 = h00, h22 = h00, e0 = h00, e1 = h00, e2 = h00;
        for (int k = 0; k < n; k += 4) {
            const size_t at = (size_t)i * n + k;
            rd_four g0, g1, g2, room;
            rd_rate_slopes(z, i, k, slope, &g0, &g1, &g2, &room);
            for (int side = 0; side < 2; side++) {
                const rd_four over = 1.0 / FOUR(z->slack[RD_RISE + side], at);
                const rd_four w = FOUR(z->dual[RD_RISE + side], at) * over, sign = rd_same(side ? -1.0 : 1.0);
                const rd_four f0 = sign * g0 - w0 * room, f1 = sign * g1 - w1 * room, f2 = sign * g2 - w2 * room;
                h00 += w * f0 * f0, h01 += w * f0 * f1, h02 += w * f0 * f2;
                h11 += w * f1 * f1, h12 += w * f1 * f2, h22 += w * f2 * f2;
                const rd_four t = loose ? aim * over + w * FOUR(z->lack[RD_RISE + side], at) : aim * over;
                e0 -= t * f0, e1 -= t * f1, e2 -= t * f2;
            }
        }
        if (i > 0)
            h[3 * i - 3] += rd_sum(h00), h[3 * i - 2] += rd_sum(h01), g[i - 1] += rd_sum(e0);
        if (i > 0 && i < last)
            h[3 * i - 1] += rd_sum(h02);
        h[3 * i] += rd_sum(h11), g[i] += rd_sum(e1);
        if (i < last)
            h[3 * i + 1] += rd_sum(h12), h[3 * i + 3] += rd_sum(h22), g[i + 1] += rd_sum(e2);
    }
    for (int end = 0; end < 2; end++) { /* x at the ends is given */
        const int at = end ? last : 0;
        h[3 * at] = 1.0, g[at] = 0.0;
        if (end)
            h[3 * (last - 1) + 1] = h[3 * (last - 2) + 2] = 0.0;
        else
            h[1] = h[2] = 0.0;
    }
}

static void rd_assemble(struct rd_rates *z, double aim, int loose)
{
    if (loose)
        rd_assembled(z, aim, 1);
    else
        rd_assembled(z, aim, 0);
}

/* Solve the system of five diagonals in place; whether it is positive definite. */
static int rd_five_diagonals(struct rd_rates *z)
{
    const int count = z->points;
    double *h = z->band, *g = z->step;
    for (int i = 0; i < count; i++) {
        double *row = h + 3 * (size_t)i;
        if (!(row[0] > 0.0))
            return 0;
        const double over = 1.0 / row[0], l1 = row[1] * over, l2 = row[2] * over;
        if (i + 1 < count)
            row[3] -= l1 * row[1], row[4] -= l1 * row[2], g[i + 1] -= l1 * g[i];
        if (i + 2 < count)
            row[6] -= l2 * row[2], g[i + 2] -= l2 * g[i];
        row[1] = l1, row[2] = l2, g[i] *= over;
    }
    for (int i = count - 1; i >= 0; i--) {
        if (i + 1 < count)
            g[i] -= h[3 * (size_t)i + 1] * g[i + 1];
        if (i + 2 < count)
            g[i] -= h[3 * (size_t)i + 2] * g[i + 2];
    }
    return 1;
}

/* Ways of the duals for a step of x; the longest steps of both that stay inside. */
static void rd_ways(struct rd_rates *z, double aim, int loose, double *primal, double *dual)
{
    const int n = z->columns, last = z->points - 1;
    const double *x = z->x, *dx = z->step;
    rd_four most = rd_same(1e-3), also = most; /* inverse step lengths */
    for (int i = 0; i <= last; i++) {
        const double slope = z->steep[i];
        const int bounded = rd_bounded(z, i);
        if (i > 0 && i < last) {
            const double room = z->most[i] - x[i];
            z->way_most[i] = aim / room - z->dual_most[i] * (1.0 - dx[i] / room);
            z->way_least[i] = aim / x[i] - z->dual_least[i] * (1.0 + dx[i] / x[i]);
            most[0] = RD_MAX(most[0], RD_MAX(dx[i] / room, -dx[i] / x[i]));
            also[0] = RD_MAX(also[0], RD_MAX(-z->way_most[i] / z->dual_most[i], -z->way_least[i] / z->dual_least[i]));
        }
        for (int k = 0; k < n; k += 4) {
            const size_t at = (size_t)i * n + k;
            rd_four f[RD_SIDES] = {rd_same(0.0), rd_same(0.0), rd_same(0.0), rd_same(0.0)};
            if (i < last) {
                const rd_four load = FOUR(z->p, at) * dx[i] + FOUR(z->q, at) * dx[i + 1];
                const rd_four rubs = FOUR(z->slope, at) * (z->before[i] * dx[i] + z->behind[i] * dx[i + 1]);
                f[RD_HIGH] = FOUR(z->up, at) * load + rubs, f[RD_LOW] = -(FOUR(z->down, at) * load + rubs);
            }
            if (bounded) {
                rd_four g0, g1, g2, room;
                rd_rate_slopes(z, i, k, slope, &g0, &g1, &g2, &room);
                const rd_four change = g0 * (i > 0 ? dx[i - 1] : 0.0) + g1 * dx[i] + g2 * (i < last ? dx[i + 1] : 0.0);
                room *= rd_mean(z, dx, i);
                f[RD_RISE] = change - room, f[RD_FALL] = -change - room;
            }
            for (int side = i < last ? RD_HIGH : RD_RISE; side < (bounded ? RD_SIDES : RD_RISE); side++) {
                const rd_four over = 1.0 / FOUR(z->slack[side], at), l = FOUR(z->dual[side], at);
                if (loose)
                    f[side] += FOUR(z->lack[side], at), FOUR(z->drop[side], at) = f[side];
                const rd_four share = f[side] * over, way = aim * over - l + l * share, part = -way / l;
                FOUR(z->way[side], at) = way;
                most = rd_chosen(share > most, share, most), also = rd_chosen(part > also, part, also);
            }
        }
    }
    *primal = *dual = 0.0;
    for (int k = 0; k < 4; k++)
        *primal = RD_MAX(*primal, most[k]), *dual = RD_MAX(*dual, also[k]);
    *primal = RD_MIN(1.0, 0.99 / *primal), *dual = RD_MIN(1.0, 0.99 / *dual);
}

/* Sum of the products of slacks and duals, and their number; or the duals that make each product `set`. */
static double rd_gap(struct rd_rates *z, double set, double *number)
{
    const int n = z->columns, last = z->points - 1;
    rd_four sum = rd_same(0.0);
    double count = 0.0;
    for (int i = 0; i <= last; i++) {
        if (i > 0 && i < last) {
            if (set > 0.0)
                z->dual_most[i] = set / (z->most[i] - z->x[i]), z->dual_least[i] = set / z->x[i];
            sum[0] += z->dual_most[i] * (z->most[i] - z->x[i]) + z->dual_least[i] * z->x[i], count += 2.0;
        }
        for (int side = i < last ? RD_HIGH : RD_RISE; side < (rd_bounded(z, i) ? RD_SIDES : RD_RISE); side++)
            for (int k = 0; k < n; k += 4) {
                const size_t at = (size_t)i * n + k;
                if (set > 0.0)
                    FOUR(z->dual[side], at) = set / FOUR(z->slack[side], at);
                sum += FOUR(z->dual[side], at) * FOUR(z->slack[side], at), count += 4.0;
            }
    }
    *number = count;
    return rd_sum(sum);
}

/* Move the duals along their ways; the sum of the products of slacks and duals. */
static double rd_moved(struct rd_rates *z, double step)
{
    const int last = z->points - 1, n = z->columns;
    rd_four sum = rd_same(0.0);
    for (int i = 1; i < last; i++) {
        z->dual_most[i] += step * z->way_most[i], z->dual_least[i] += step * z->way_least[i];
        sum[0] += z->dual_most[i] * (z->most[i] - z->x[i]) + z->dual_least[i] * z->x[i];
    }
    for (int side = 0; side < RD_SIDES; side++) {
        /* Rows that are not bounded have neither. */
        const int rates = side >= RD_RISE, first = rates && !rd_bounded(z, 0), count = rates ? rd_bounded(z, last) + last : last;
        double *dual = z->dual[side];
        const double *way = z->way[side], *slack = z->slack[side];
        for (size_t at = (size_t)first * n; at < (size_t)count * n; at += 4) {
            FOUR(dual, at) += step * FOUR(way, at);
            sum += FOUR(dual, at) * FOUR(slack, at);
        }
    }
    return rd_sum(sum);
}

/* Slacks that are at least those of x, and what x lacks to them; whether it lacks nothing. `step`: by so much of
 * `drop` they have fallen. */
static int rd_lacks(struct rd_rates *z, const double *x, double step)
{
    const size_t cells = (size_t)z->points * z->columns;
    for (int side = 0; side < RD_SIDES; side++)
        for (size_t at = 0; at < cells; at++)
            z->lack[side][at] = z->slack[side][at] - step * z->drop[side][at];
    rd_slacks(z, x);
    rd_mask lacks = {0, 0, 0, 0};
    for (int side = 0; side < RD_SIDES; side++)
        for (size_t at = 0; at < cells; at += 4) {
            const rd_four wanted = FOUR(z->lack[side], at), real = FOUR(z->slack[side], at);
            const rd_mask less = real < 0.9 * wanted; /* a little less is a slack as good */
            FOUR(z->slack[side], at) = rd_chosen(less, wanted, real);
            FOUR(z->lack[side], at) = rd_chosen(less, wanted - real, rd_same(0.0));
            lacks |= less;
        }
    return !rd_any(lacks);
}

/* Fastest x from one that keeps all limits, or `loose` from one that nearly does, with slacks as they were; the number
 * of steps, negative where x does not keep them in the end. Surrogate gaps of the start and of the end are shares of
 * the duration. */
int rd_interior(struct rd_rates *z, double start, double stop, int loose)
{
    const int count = z->points;
    double number, duration, before = INFINITY, share = 0.1;
    if (loose)
        loose = !rd_lacks(z, z->x, 0.0);
    else
        rd_slacks(z, z->x);
    duration = z->duration;
    rd_gap(z, 1.0, &number);
    double gap = rd_gap(z, start * duration / number, &number);
    for (int k = 0; k < RD_ITERATIONS; k++) {
        if (!loose && gap < stop * duration && fabs(before - duration) < stop * duration)
            return k;
        if (loose && k == RD_LOOSE)
            return -k;
        const double aim = RD_MAX(share * gap, 0.3 * stop * duration) / number;
        rd_assemble(z, aim, loose);
        if (!rd_five_diagonals(z))
            return loose ? -k : k;
        double primal, dual;
        rd_ways(z, aim, loose, &primal, &dual);
        int fits = 0;
        for (int tries = 0; tries < 30 && !fits; tries++, primal *= fits ? 1.0 : 0.7) {
            for (int i = 0; i < count; i++)
                z->next[i] = z->x[i] + primal * z->step[i];
            fits = loose || rd_slacks(z, z->next);
        }
        if (!fits) {
            rd_slacks(z, z->x);
            return k;
        }
        if (loose)
            loose = !rd_lacks(z, z->next, primal);
        memcpy(z->x, z->next, (size_t)count * sizeof *z->x);
        gap = rd_moved(z, dual);
        before = duration, duration = z->duration;
        share = primal > 0.9 && dual > 0.9 ? 0.1 : primal > 0.5 ? 0.3 : primal > 0.2 ? 0.6 : 0.9;
        /* While x is still far below its bounds, duals stay. */
        if (duration < 0.97 * before)
            share = RD_MAX(share, 0.8);
    }
    return loose ? -RD_ITERATIONS : RD_ITERATIONS;
}
