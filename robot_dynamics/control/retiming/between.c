/* Verification of what is delivered: quintics between the points, their efforts, velocities and accelerations. */
#include "retime.h"

#include "friction.h"

#include <math.h>
#include <stdlib.h>

#define RD_INSIDE 9
#define RD_FINE 24
/* Where an effort leaves its chord by this share of a limit within an interval, more places are looked at. */
#define RD_ARCHED 0.2
/* As often the limits of an interval are lowered before it is halved. */
#define RD_TRIES 8

struct rd_basis rd_basis_at(double t)
{
    const double t2 = t * t, t3 = t2 * t, t4 = t3 * t, t5 = t4 * t;
    return (struct rd_basis){
        {10.0 * t3 - 15.0 * t4 + 6.0 * t5, 30.0 * (t2 - 2.0 * t3 + t4), 60.0 * (t - 3.0 * t2 + 2.0 * t3)},
        {t - 6.0 * t3 + 8.0 * t4 - 3.0 * t5, 1.0 - 18.0 * t2 + 32.0 * t3 - 15.0 * t4, -36.0 * t + 96.0 * t2 - 60.0 * t3},
        {-4.0 * t3 + 7.0 * t4 - 3.0 * t5, -12.0 * t2 + 28.0 * t3 - 15.0 * t4, -24.0 * t + 84.0 * t2 - 60.0 * t3},
        {0.5 * (t2 - 3.0 * t3 + 3.0 * t4 - t5), t - 4.5 * t2 + 6.0 * t3 - 2.5 * t4, 1.0 - 9.0 * t + 18.0 * t2 - 10.0 * t3},
        {0.5 * (t3 - 2.0 * t4 + t5), 1.5 * t2 - 4.0 * t3 + 2.5 * t4, 3.0 * t - 12.0 * t2 + 10.0 * t3},
    };
}

/* States (count, joints) at equal distances within interval i; room: (joints, 5). */
void rd_inside(const struct rd_retiming *r, int i, int count, const struct rd_basis *basis, double *room,
                      double *q, double *qd, double *qdd)
{
    const int n = r->joints;
    const size_t at = (size_t)i * n;
    const double x = r->x[i], y = r->x[i + 1], h = rd_interval(r, i), g = 1.0 / h, hv = h * sqrt(x), hw = h * sqrt(y);
    const double hu = h * h * rd_bend_at(r, i, i), hz = h * h * rd_bend_at(r, i, i + 1), hx = h * h * x, hy = h * h * y;
    const double *p0 = r->q + at, *p1 = p0 + n, *d0 = r->qp + at, *d1 = d0 + n, *e0 = r->qpp + at, *e1 = e0 + n;
    double *restrict way = room, *restrict v0 = way + n, *restrict v1 = v0 + n, *restrict a0 = v1 + n;
    double *restrict a1 = a0 + n;
    for (int j = 0; j < n; j++) {
        way[j] = p1[j] - p0[j];
        v0[j] = hv * d0[j], v1[j] = hw * d1[j];
        a0[j] = hu * d0[j] + hx * e0[j], a1[j] = hz * d1[j] + hy * e1[j];
    }
    for (int k = 0; k < count; k++) {
        const struct rd_basis *b = basis + k;
        double *restrict to = q + (size_t)k * n, *restrict rate = qd + (size_t)k * n, *restrict bow = qdd + (size_t)k * n;
        for (int j = 0; j < n; j++) {
            to[j] = p0[j] + b->way[0] * way[j] + b->begin[0] * v0[j] + b->end[0] * v1[j] + b->bend[0] * a0[j] +
                    b->bent[0] * a1[j];
            rate[j] = g * (b->way[1] * way[j] + b->begin[1] * v0[j] + b->end[1] * v1[j] + b->bend[1] * a0[j] +
                           b->bent[1] * a1[j]);
            bow[j] = g * g * (b->way[2] * way[j] + b->begin[2] * v0[j] + b->end[2] * v1[j] + b->bend[2] * a0[j] +
                              b->bent[2] * a1[j]);
        }
    }
}

/* Lower the largest x at both ends of interval i. */
static void rd_slow_down(const struct rd_retiming *r, struct rd_rows *w, int i, double share)
{
    if (i > 0)
        w->most[i] = RD_MIN(w->most[i], r->x[i] * share);
    if (i + 2 < r->points)
        w->most[i + 1] = RD_MIN(w->most[i + 1], r->x[i + 1] * share);
}

/* Largest of a polynomial with these Bernstein coefficients times a sign, or a bound that is below `free`. */
static double rd_fastest(const double *v, double sign, double free)
{
    double up[RD_FINE + 1], part[5], bound = -INFINITY;
    for (int k = 0; k < 5; k++)
        part[k] = sign * v[k];
    /* The coefficients of both halves are nearer to it. */
    for (int level = 4; level > 0; level--) {
        bound = RD_MAX(bound, RD_MAX(part[0], part[level]));
        for (int k = 0; k < level; k++)
            part[k] = 0.5 * (part[k] + part[k + 1]);
    }
    if ((bound = RD_MAX(bound, part[0])) <= free)
        return bound;
    for (int k = 0; k <= RD_FINE; k++) {
        const double t = (double)k / RD_FINE, o = 1.0 - t;
        up[k] = sign * (o * o * (o * o * v[0] + 4.0 * o * t * v[1] + 6.0 * t * t * v[2]) +
                        t * t * t * (4.0 * o * v[3] + t * v[4]));
    }
    return rd_peak(up, RD_FINE + 1);
}

/* Error of the parabolas' peak: about a fifteenth of the third difference. */
static double rd_doubt(const double *value, int count)
{
    double most = 0.0;
    for (int k = 0; k + 3 < count; k++)
        most = RD_MAX(most, fabs(value[k + 3] - value[k] - 3.0 * (value[k + 2] - value[k + 1])));
    return most / 15.0;
}

/* Compare what is reached within interval i with its limits; 1: they are lowered, 2: more places are needed. */
static int rd_compare(const struct rd_retiming *r, struct rd_rows *w, int i, const double *qd, const double *qdd,
                      const double *effort)
{
    const int n = r->joints, m = w->count, count = w->near[i];
    const double x = r->x[i], y = r->x[i + 1], u = (y - x) / (2.0 * (r->s[i + 1] - r->s[i])), v0 = sqrt(x), v1 = sqrt(y);
    int moved = 0, unclear = 0;
    double up[RD_INSIDE + 2], down[RD_INSIDE + 2], fastest = 1.0;
    for (int k = 0; k < m && w->joint[k] >= 0; k++) {
        const int j = w->joint[k], rubs = k < w->efforts && !w->dry;
        const size_t at = (size_t)i * m + k;
        const double limit = w->limit[k], free = limit * (1.0 - RD_FREE), spare = 0.1 * RD_FREE * limit;
        const double *from = r->qp + (size_t)i * n + j, *bow = r->qpp + (size_t)i * n + j, *p = r->friction + 5 * j;
        const double law[RD_FRICTION_PARAMETERS] = {p[0], p[1], p[2], p[3], p[4], r->load_friction[j]};
        up[0] = w->a[at] * u + w->b[at] * x + w->c[at];
        up[count + 1] = w->a[at + m] * u + w->b[at + m] * y + w->c[at + m];
        for (int s = 0; s < count; s++)
            up[s + 1] = k < w->efforts ? effort[(size_t)s * n + j] + r->rotor[j] * qdd[(size_t)s * n + j]
                                       : qdd[(size_t)s * n + j];
        if (rubs) {
            for (int s = 0; s < count; s++) {
                const double rate = qd[(size_t)s * n + j];
                up[s + 1] += rd_friction(law, rate, rate, effort[(size_t)s * n + j]);
            }
            up[0] += rd_friction(law, from[0] * v0, from[0] * v0, up[0] - r->rotor[j] * (from[0] * u + bow[0] * x));
            up[count + 1] += rd_friction(law, from[n] * v1, from[n] * v1,
                                         up[count + 1] - r->rotor[j] * (from[n] * u + bow[n] * y));
        }
        if (count == 1) {
            const double arch = fabs(up[1] - 0.5 * (up[0] + up[2]));
            const double largest = RD_MAX(RD_MAX(fabs(up[0]), fabs(up[1])), fabs(up[2]));
            unclear |= (arch > RD_BENT * limit && largest + arch > free) || arch > RD_ARCHED * limit;
            if (largest + 0.25 * arch <= free) /* a parabola does not reach farther */
                continue;
        }
        for (int s = 0; s < count + 2; s++)
            down[s] = -up[s];
        double above = rd_peak(up, count + 2) - free, below = rd_peak(down, count + 2) - free;
        const double most = RD_COARSE * limit, doubt = rd_doubt(up, count + 2);
        if (doubt > 0.5 * RD_FREE * limit)
            above += doubt, below += doubt;
        if (above > most || below > most)
            w->coarse[i] = 1;
        if (above > spare)
            w->upper[at] = RD_MAX(w->upper[at] - RD_MIN((1.0 + w->spare) * above, most), 0.5 * free), moved = 1;
        if (below > spare)
            w->lower[at] = RD_MIN(w->lower[at] + RD_MIN((1.0 + w->spare) * below, most), -0.5 * free), moved = 1;
    }
    const double h = 2.0 * (r->s[i + 1] - r->s[i]) / (v0 + v1);
    for (int j = 0; j < n; j++) {
        const size_t left = (size_t)i * n + j, right = left + n;
        const double limit = r->velocity[j], free = limit * (1.0 - 0.5 * RD_FREE);
        /* The velocity of a quintic lies between five numbers. */
        double v[5] = {r->qp[left] * v0, 0.0, 0.0, 0.0, r->qp[right] * v1};
        v[1] = v[0] + 0.25 * h * (u * r->qp[left] + x * r->qpp[left]);
        v[3] = v[4] - 0.25 * h * (u * r->qp[right] + y * r->qpp[right]);
        v[2] = 5.0 * (r->q[right] - r->q[left]) / h - v[0] - v[1] - v[3] - v[4];
        const double most = RD_MAX(RD_MAX(v[0], v[1]), RD_MAX(RD_MAX(v[2], v[3]), v[4]));
        const double least = RD_MIN(RD_MIN(v[0], v[1]), RD_MIN(RD_MIN(v[2], v[3]), v[4]));
        if (RD_MAX(most, -least) > free)
            fastest = RD_MAX(fastest, rd_fastest(v, most > -least ? 1.0 : -1.0, free) / free);
    }
    if (unclear)
        return 2;
    if (fastest > 1.0) {
        rd_slow_down(r, w, i, 1.0 / (1.0 + 2.1 * (fastest - 1.0)));
        moved = 1;
    }
    return moved;
}

/* Whether a joint turns at an end of interval i, or nearly: efforts may bend both ways there. */
static int rd_turns(const struct rd_retiming *r, int i)
{
    const int n = r->joints;
    const double *p = r->qp + (size_t)i * n;
    int turns = 0;
    for (int j = 0; j < n; j++)
        turns |= fabs(p[j] - p[n + j]) > 0.5 * (fabs(p[j]) + fabs(p[n + j]));
    return turns;
}

/* Lower the limits of the intervals within which the motion is beyond them; their number, or -1. */
int rd_retime_between(const struct rd_retiming *r, struct rd_rows *w)
{
    const int n = r->joints, intervals = r->points - 1;
    struct rd_basis basis[1 + RD_INSIDE];
    int changed = 0, done = 1;
    basis[0] = rd_basis_at(0.5);
    for (int k = 0; k < RD_INSIDE; k++)
        basis[1 + k] = rd_basis_at((k + 1.0) / (RD_INSIDE + 1.0));
    for (int i = 0; i < intervals; i++) {
        w->open[i] = !(w->kept[i] && w->checked[i] == r->x[i] && w->checked[i + 1] == r->x[i + 1]);
        w->near[i] = w->near[i] > 1 || rd_turns(r, i) ? RD_INSIDE : 1;
    }
    for (int i = 0; i <= intervals; i++)
        w->checked[i] = r->x[i];
    for (int pass = 0; pass < 2 && done; pass++) {
        size_t count = 0, at = 0;
        for (int i = 0; i < intervals; i++)
            count += w->open[i] ? w->near[i] : 0;
        if (count == 0)
            break;
        double *room = malloc((4 * count + 5) * n * sizeof *room), *q = room + 5 * n, *qd = q + count * n;
        double *qdd = qd + count * n, *effort = qdd + count * n;
        if (room == NULL)
            return -1;
        for (int i = 0; i < intervals; i++)
            if (w->open[i]) {
                rd_inside(r, i, w->near[i], basis + (w->near[i] > 1), room, q + at, qd + at, qdd + at);
                at += (size_t)w->near[i] * n;
            }
        done = rd_call(r, (int)count, q, qd, qdd, effort);
        at = 0;
        for (int i = 0; i < intervals && done; i++) {
            if (!w->open[i])
                continue;
            const size_t here = at;
            at += (size_t)w->near[i] * n;
            const int found = rd_compare(r, w, i, qd + here, qdd + here, effort + here);
            w->open[i] = found == 2, w->kept[i] = found == 0;
            if (found == 2)
                w->near[i] = RD_INSIDE;
            if (found != 1)
                continue;
            if (w->tries[i] < RD_TRIES)
                w->tries[i]++;
            else if (w->finest)
                rd_slow_down(r, w, i, 0.9);
            else {
                w->coarse[i] = 1;
                continue;
            }
            w->dirty[i] = w->dirty[i + 1] = 1;
            changed++;
        }
        free(room);
    }
    return done ? changed : -1;
}
