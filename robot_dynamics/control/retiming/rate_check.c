/* Delivered motion under limits of effort rates, and its excess over these limits. */
#include "rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RD_SAMPLES 4
/* An effort that changes so many times as fast as it may within an interval asks for a finer grid. */
#define RD_UNEVEN 1.5
/* Share of the fourth difference that a change may be larger than it seems. */
#define RD_UNKNOWN 0.1
/* Values whose steps are below this share of what they may reach are far from it. */
#define RD_STEEPEST 5.5
/* Pushes from which so many intervals on each side give way, too. */
#define RD_PUSHED 4.0
#define RD_HARDER 8.0

/* Values that a joint reaches in an interval, and the excess of its effort over its limit (negative: below). */
struct rd_reach {
    double above, below, speed, acceleration, rate, mean;
};

/* x, u and durations of the motion whose u is linear in s between the points. */
double rd_deliver(struct rd_retiming *r, struct rd_rates *z)
{
    static const double place[5] = {0.04691007703066802, 0.23076534494715845, 0.5, 0.76923465505284155, 0.95308992296933198};
    static const double weight[5] = {0.11846344252809454, 0.23931433524968324, 0.28444444444444444, 0.23931433524968324,
                                     0.11846344252809454};
    const int last = r->points - 1, first = z->rest[0];
    const double *x = z->x, *s = r->s;
    double whole = 0.0;
    r->u[0] = r->u[last] = 0.0;
    if (z->rest[0])
        r->x[0] = 0.0;
    if (z->rest[1])
        r->x[last] = 0.0;
    for (int i = 0; i + 1 < z->points; i++) {
        const int g = first + i, begins = i == 0 && z->rest[0], ends = i + 2 == z->points && z->rest[1];
        const double left = i > 0 ? 0.5 * (s[g] - s[g - 1]) : 0.0, right = i + 2 < z->points ? 0.5 * (s[g + 1] - s[g]) : 0.0;
        r->x[g] = z->before[i] * x[i] + z->behind[i] * x[i + 1];
        r->u[g] = begins  ? r->x[g] / (1.5 * (s[1] - s[0]))
                  : ends ? -r->x[g] / (1.5 * (s[last] - s[last - 1]))
                         : 0.5 * (x[i + 1] - x[i]) / (left + right);
    }
    for (int i = 0; i < last; i++) {
        const double d = s[i + 1] - s[i], y0 = r->x[i], y1 = r->x[i + 1], u0 = r->u[i], u1 = r->u[i + 1];
        double time = 0.0;
        if ((i == 0 && z->rest[0]) || (i + 1 == last && z->rest[1])) {
            r->h[i] = 3.0 * d / sqrt(i == 0 && z->rest[0] ? y1 : y0);
            whole += r->h[i];
            continue;
        }
        for (int k = 0; k < 5; k++) {
            const double t = place[k], here = y0 + d * t * (2.0 * u0 + (u1 - u0) * t);
            time += d * weight[k] / sqrt(RD_MAX(here, 1e-3 * RD_MIN(y0, y1)));
        }
        r->h[i] = time, whole += time;
        /* Its time is almost its length by the root of its mean. */
        const int at = i + 1 - first;
        z->length[at] = time * sqrt(z->mean[3 * at] * x[at - 1] + z->mean[3 * at + 1] * x[at] + z->mean[3 * at + 2] * x[at + 1]);
    }
    return whole;
}

/* Lower a limit, but not below what holds the arm. */
static void rd_lower(double *limit, double less, double hold)
{
    *limit = RD_MAX(*limit - less, RD_MIN(*limit, hold));
}

/* Fastest change of what has these five values at equal distances, `part` of them in a second: the derivative of the
 * polynomial through them. What is certainly below `free` is 0. */
static double rd_fastest_change(const double *g, double part, double free)
{
    double step = 0.0;
    for (int k = 0; k < RD_SAMPLES; k++)
        step = RD_MAX(step, fabs(g[k + 1] - g[k]));
    if (RD_STEEPEST * step * part < free)
        return 0.0;
    const double over = part / 12.0, other = fabs(g[0] - 4.0 * g[1] + 6.0 * g[2] - 4.0 * g[3] + g[4]);
    const double change[5] = {over * (-25.0 * g[0] + 48.0 * g[1] - 36.0 * g[2] + 16.0 * g[3] - 3.0 * g[4]),
                              over * (-3.0 * g[0] - 10.0 * g[1] + 18.0 * g[2] - 6.0 * g[3] + g[4]),
                              over * (g[0] - 8.0 * g[1] + 8.0 * g[3] - g[4]),
                              over * (-g[0] + 6.0 * g[1] - 18.0 * g[2] + 10.0 * g[3] + 3.0 * g[4]),
                              over * (3.0 * g[0] - 16.0 * g[1] + 36.0 * g[2] - 48.0 * g[3] + 25.0 * g[4])};
    const double back[5] = {-change[0], -change[1], -change[2], -change[3], -change[4]};
    return RD_MAX(rd_peak(change, 5), rd_peak(back, 5)) + RD_UNKNOWN * part * other;
}

/* Excess of five values over a limit; far below it, that of the largest. */
static double rd_excess(const double *value, double limit, double least, double largest)
{
    if (largest + 2.0 * (largest - least) < limit)
        return largest - limit;
    const double doubt = rd_doubt(value, RD_SAMPLES + 1);
    return rd_peak(value, RD_SAMPLES + 1) + (doubt > 0.5 * RD_FREE * fabs(limit) ? doubt : 0.0) - limit;
}

/* Values that joint j reaches in interval i, whose states and efforts begin here. */
static void rd_reached(const struct rd_retiming *r, int i, int j, const double *q, const double *qd, const double *qdd,
                       const double *effort, struct rd_reach *out)
{
    const int n = r->joints, end = RD_SAMPLES * n;
    const double *p = rd_friction_of(r, j), h = r->h[i], free = r->effort[j] * (1.0 - RD_FREE), most = r->acceleration[j];
    double up[RD_SAMPLES + 1], down[RD_SAMPLES + 1], g[RD_SAMPLES + 1], top = -INFINITY, bottom = INFINITY;
    for (int k = 0; k <= RD_SAMPLES; k++) {
        const double v = qd[k * n], load = effort[k * n] + r->rotor[j] * qdd[k * n];
        const double tau = load + rd_friction(p, v, v, effort[k * n]);
        double slope;
        up[k] = tau, down[k] = -tau, g[k] = load + rd_viscous(p, v, &slope);
        top = RD_MAX(top, tau), bottom = RD_MIN(bottom, tau);
    }
    out->above = rd_excess(up, free, bottom, top), out->below = rd_excess(down, free, -top, -bottom);
    out->mean = (g[RD_SAMPLES] - g[0]) / h, out->rate = rd_fastest_change(g, RD_SAMPLES / h, 0.9 * r->rate[j]);
    /* The velocity of a quintic lies between five numbers. */
    const double quarter = 0.25 * h, slow = r->velocity[j] * (1.0 - RD_FREE);
    double v[5] = {qd[0], qd[0] + quarter * qdd[0], 0.0, qd[end] - quarter * qdd[end], qd[end]};
    v[2] = 5.0 * (q[end] - q[0]) / h - v[0] - v[1] - v[3] - v[4];
    out->speed = out->acceleration = 0.0;
    for (int k = 0; k < 5; k++)
        out->speed = RD_MAX(out->speed, fabs(v[k]));
    if (out->speed > slow)
        out->speed = RD_MAX(rd_fastest(v, 1.0, slow), rd_fastest(v, -1.0, slow));
    if (most == INFINITY)
        return;
    top = -INFINITY, bottom = INFINITY;
    for (int k = 0; k <= RD_SAMPLES; k++) {
        up[k] = qdd[k * n], down[k] = -up[k];
        top = RD_MAX(top, up[k]), bottom = RD_MIN(bottom, up[k]);
    }
    out->acceleration = most + RD_MAX(rd_excess(up, most, bottom, top), rd_excess(down, most, -top, -bottom));
}

/* Lower limits of joint j in the interval z has at `place`, and at its ends, by what is beyond them; whether any is. */
static int rd_lowered(const struct rd_retiming *r, struct rd_rates *z, int place, int j, const struct rd_reach *reach,
                      double push)
{
    const int n = r->joints, m = z->columns, top = z->points - 1;
    const size_t to = (size_t)RD_MIN(place, top) * m + j, back = (size_t)RD_MAX(place - 1, 0) * m + j;
    const double effort = r->effort[j], most = r->acceleration[j];
    int moved = 0;
    for (int low = 0; low < 2; low++) {
        const double beyond = low ? reach->below : reach->above, less = push * (1.2 * beyond + 1e-5 * effort);
        double *limit = low ? z->low : z->high, *slack = z->slack[low ? RD_LOW : RD_HIGH];
        if (!(beyond > 0.0))
            continue;
        for (size_t at = back; at <= to; at += m) {
            const double hold = low ? -z->down[at] * z->c[at] : z->up[at] * z->c[at];
            rd_lower(&limit[at], less + 0.3 * slack[at], hold + 0.01 * effort);
        }
        moved = 1;
    }
    if (reach->acceleration > most * (1.0 - RD_FREE)) {
        const double less = push * (1.2 * (reach->acceleration - most) + 1e-4 * most);
        z->high[to + n] -= less, z->low[to + n] -= less, z->high[back + n] -= less, z->low[back + n] -= less;
        moved = 1;
    }
    if (reach->speed > r->velocity[j] * (1.0 - RD_FREE)) {
        const double less = r->velocity[j] / reach->speed;
        z->most[RD_MIN(place, top)] *= less * less * (1.0 - 1e-4 * push), moved = 1;
    }
    if (!(reach->rate > r->rate[j] * (1.0 - RD_FREE)))
        return moved;
    const double less = RD_MAX(r->rate[j] / reach->rate, 0.5) * (1.0 - 2e-3 * push), mean = fabs(reach->mean);
    /* The mean rate is the place to begin at: it may have been lower than the limit. */
    const int all = mean < 0.8 * reach->rate; /* other joints make it change within the interval */
    z->rate[to] = RD_MIN(z->rate[to], RD_MAX(mean, 0.5 * z->rate[to])) * less;
    for (int k = 0; k < n && all; k++)
        z->rate[to - j + k] *= k == j ? 1.0 : less;
    /* Neighbours take over what it leaves. */
    const int wide = push > RD_HARDER ? 8 : push > RD_PUSHED ? 3 : 1;
    const double others = 1.0 - 1e-3 * push;
    for (int k = -wide; k <= wide && (!all || wide > 1); k++)
        if (k != 0 && place + k >= 0 && place + k <= top)
            z->rate[to + (ptrdiff_t)k * m] *= wide > 1 ? RD_MIN(less, others) : others;
    return 1;
}

/* Lower limits where the motion is beyond them, by so much more; the number of intervals concerned, or -1. coarse:
 * whether the grid is too coarse there. */
int rd_beyond(const struct rd_retiming *r, struct rd_rates *z, double push, signed char *coarse)
{
    const int n = r->joints, intervals = r->points - 1, each = RD_SAMPLES + 1;
    const size_t count = (size_t)each * intervals;
    struct rd_basis basis[RD_SAMPLES + 1];
    double *room = malloc((4 * count * n + 12) * sizeof *room), *q = room, *qd = q + count * n + 4;
    double *qdd = qd + count * n + 4, *effort = qdd + count * n;
    double fastest = 0.0;
    int changed = 0;
    if (room == NULL)
        return -1;
    for (int k = 0; k < each; k++)
        basis[k] = rd_basis_at((double)k / RD_SAMPLES);
    for (int i = 0; i < intervals; i++) {
        const size_t at = (size_t)i * each * n;
        rd_inside(r, i, each, basis, q + at, qd + at, qdd + at);
    }
    if (!rd_call(r, (int)count, q, qd, qdd, effort)) {
        free(room);
        return -1;
    }
    z->worst = 0.0;
    for (int i = 0; i < intervals; i++) {
        int moved = 0;
        coarse[i] = 0;
        for (int j = 0; j < n; j++) {
            const size_t at = (size_t)i * each * n + j;
            struct rd_reach reach;
            rd_reached(r, i, j, q + at, qd + at, qdd + at, effort + at, &reach);
            const double share = 1.0 + RD_MAX(reach.above, reach.below) / r->effort[j], rate = reach.rate / r->rate[j];
            z->worst = RD_MAX(RD_MAX(z->worst, RD_MAX(share, rate)),
                              RD_MAX(reach.speed / r->velocity[j], reach.acceleration / r->acceleration[j]));
            coarse[i] |= rate > RD_UNEVEN;
            if (rate > fastest)
                fastest = rate, z->failed = i, z->failed_joint = j, z->failed_value = reach.rate;
            moved |= rd_lowered(r, z, i + 1 - z->rest[0], j, &reach, push);
        }
        changed += moved;
    }
    free(room);
    return changed;
}

/* Pass the whole path from rest to rest a little more slowly where this is all that it lacks; whether it does. */
int rd_slower(struct rd_retiming *r, struct rd_rates *z, signed char *coarse, double most)
{
    double by = 1.0;
    if (!z->rest[0] || !z->rest[1])
        return 0;
    while (z->worst > 1.0 - RD_FREE) {
        const double more = z->worst * (1.0 + 1e-4);
        by *= more;
        if (!(by < 1.0 + most))
            return 0;
        for (int i = 0; i < r->points; i++)
            r->x[i] /= more * more, r->u[i] /= more * more, r->h[i] *= more;
        if (rd_beyond(r, z, 1.0, coarse) < 0)
            return 0;
    }
    return 1;
}
