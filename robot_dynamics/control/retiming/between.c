/* Verification of what is delivered: quintics between the points, their efforts, velocities and accelerations. */
#include "retime.h"

#include <math.h>
#include <stdlib.h>

#define RD_INSIDE 9
#define RD_FINE 24
/* Share of a limit by which an effort may leave its chord in an interval; beyond it more places are checked. */
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

/* States (count, joints) at places within interval i; up to three numbers behind them are overwritten. */
void rd_inside(const struct rd_retiming *r, int i, int count, const struct rd_basis *basis, double *q, double *qd,
               double *qdd)
{
    const int n = r->joints;
    const size_t at = (size_t)i * n;
    const double x = r->x[i], y = r->x[i + 1], h = rd_interval(r, i), g = 1.0 / h, hh = h * h, hv = h * sqrt(x);
    const double hw = h * sqrt(y), hu = hh * rd_bend_at(r, i, i), hz = hh * rd_bend_at(r, i, i + 1), hx = hh * x, hy = hh * y;
    const double *p0 = r->q + at, *d0 = r->qp + at, *e0 = r->qpp + at;
    double *to[3] = {q, qd, qdd};
    for (int k = 0; k < count; k++) {
        const struct rd_basis *b = basis + k;
        double scale = 1.0;
        for (int order = 0; order < 3; order++, scale *= g) {
            const double way = scale * b->way[order], bend = scale * b->bend[order], bent = scale * b->bent[order];
            const double first = scale * b->begin[order] * hv + bend * hu, second = scale * b->end[order] * hw + bent * hz;
            const double whole = order == 0 ? 1.0 : 0.0;
            double *out = to[order] + (size_t)k * n;
            for (int j = 0; j < n; j += 4) {
                const rd_four from = FOUR(p0, j);
                FOUR(out, j) = whole * from + way * (FOUR(p0, n + j) - from) + first * FOUR(d0, j) + second * FOUR(d0, n + j) +
                               bend * hx * FOUR(e0, j) + bent * hy * FOUR(e0, n + j);
            }
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
double rd_fastest(const double *v, double sign, double free)
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

/* True if no row of interval i leaves its limits by the parabola through its ends and its middle, four rows at once;
 * middle, rate: (count) what is reached there, without friction, and speeds of joints with effort limits. Where a
 * joint stands or begins to move: no. */
static int rd_clear(const struct rd_rows *w, int i, double u, double x, double y, double rx, double ry,
                    const double *middle, const double *rate)
{
    const int m = w->count;
    rd_mask open = {0, 0, 0, 0};
    for (int k = 0; k < m; k += 4) {
        const size_t at = (size_t)i * m + k;
        const rd_four limit = FOUR(w->limit, k), push = FOUR(w->push, at), drag = FOUR(w->drag, at), v = FOUR(rate, k);
        const rd_four v0 = FOUR(w->speed, at) * rx, v1 = FOUR(w->speed, at + m) * ry;
        const rd_four g0 = FOUR(w->a, at) * u + FOUR(w->b, at) * x + FOUR(w->c, at) + push + drag * v0;
        const rd_four g1 = FOUR(w->a, at + m) * u + FOUR(w->b, at + m) * y + FOUR(w->c, at + m) + push + drag * v1;
        const rd_four g = FOUR(middle, k) + push + drag * v, mean = 0.5 * (g0 + g1), tilt = g1 - g0;
        const rd_four arch = rd_size(g - mean), bend = 2.0 * (mean - g);
        const rd_four top = rd_larger(g0, g1), low = rd_smaller(g0, g1);
        const rd_four most = rd_larger(top, g), least = rd_smaller(low, g);
        const rd_four largest = rd_larger(most, -least), free = limit * (1.0 - RD_FREE);
        /* The vertex, where it lies within the interval, is beyond the middle. */
        const rd_four over = tilt * tilt / (8.0 * rd_chosen(arch > 0.0, bend, limit));
        const rd_mask within = (tilt < 4.0 * arch) & (tilt > -4.0 * arch);
        const rd_four peak = rd_chosen(within & (g > mean), g - over, most);
        const rd_four trough = rd_chosen(within & (g < mean), g - over, least);
        const rd_four reach = rd_larger(peak, -trough);
        open |= (push != 0.0) & ((v0 < RD_SLOW) | (v1 < RD_SLOW) | (v < RD_SLOW));
        open |= (FOUR(w->speed, at) == 0.0) & (v != 0.0);
        open |= ((arch > RD_BENT * limit) & (largest + arch > free)) | (arch > RD_ARCHED * limit);
        open |= (reach > free + 0.1 * RD_FREE * limit) | (reach != reach);
    }
    return !rd_any(open);
}

/* True if a joint may be too fast within interval i: the velocity of a quintic lies between five numbers. */
static int rd_may_be_fast(const struct rd_retiming *r, const struct rd_rows *w, int i, double u, double x, double y,
                          double v0, double v1, double h)
{
    const int n = r->joints;
    const double quarter = 0.25 * h, over = 5.0 / h;
    rd_mask fast = {0, 0, 0, 0};
    for (int j = 0; j < n; j += 4) {
        const size_t left = (size_t)i * n + j, right = left + n;
        const rd_four free = FOUR(w->velocity, j) * (1.0 - 0.5 * RD_FREE), p = FOUR(r->qp, left), t = FOUR(r->qp, right);
        const rd_four a = v0 * p, e = v1 * t, b = a + quarter * (u * p + x * FOUR(r->qpp, left));
        const rd_four d = e - quarter * (u * t + y * FOUR(r->qpp, right));
        const rd_four c = over * (FOUR(r->q, right) - FOUR(r->q, left)) - a - b - d - e;
        const rd_four top = rd_larger(rd_larger(rd_larger(a, b), rd_larger(c, d)), e);
        const rd_four low = rd_smaller(rd_smaller(rd_smaller(a, b), rd_smaller(c, d)), e);
        if (!rd_any((top > free) | (low < -free)))
            continue;
        /* The numbers of both halves are nearer to it. */
        const rd_four ab = 0.5 * (a + b), bc = 0.5 * (b + c), cd = 0.5 * (c + d), de = 0.5 * (d + e);
        const rd_four f = 0.5 * (ab + bc), g = 0.5 * (bc + cd), k = 0.5 * (cd + de), l = 0.5 * (f + g), o = 0.5 * (g + k);
        const rd_four half[8] = {ab, f, l, 0.5 * (l + o), o, k, de, e};
        rd_four most = a, least = a;
        for (int part = 0; part < 8; part++)
            most = rd_larger(half[part], most), least = rd_smaller(half[part], least);
        fast |= (most > free) | (least < -free);
    }
    return rd_any(fast);
}

/* Compare what is reached within interval i with its limits; 1: they are lowered, 2: more places are needed.
 * room: twice (rows). */
static int rd_compare(const struct rd_retiming *r, struct rd_rows *w, int i, const double *qd, const double *qdd,
                      const double *effort, double *room)
{
    const int n = r->joints, m = w->count, count = w->near[i];
    const double x = r->x[i], y = r->x[i + 1], u = (y - x) / (2.0 * (r->s[i + 1] - r->s[i])), v0 = sqrt(x), v1 = sqrt(y);
    int moved = 0, unclear = 0, clear = count == 1 && !w->any_odd;
    double up[RD_INSIDE + 2], down[RD_INSIDE + 2], fastest = 1.0;
    for (int k = 0; k < m && clear; k++) {
        const int j = w->joint[k], effort_row = k < w->efforts;
        room[k] = j < 0 ? 0.0 : effort_row ? effort[j] + r->rotor[j] * qdd[j] : qdd[j];
        room[m + k] = effort_row && !w->dry ? fabs(qd[j]) : 0.0;
    }
    clear = clear && rd_clear(w, i, u, x, y, v0, v1, room, room + m);
    for (int k = 0; k < m && w->joint[k] >= 0 && !clear; k++) {
        const int j = w->joint[k], rubs = k < w->efforts && !w->dry;
        const size_t at = (size_t)i * m + k;
        const double limit = w->limit[k], free = limit * (1.0 - RD_FREE), spare = 0.1 * RD_FREE * limit;
        const double *from = r->qp + (size_t)i * n + j, *bow = r->qpp + (size_t)i * n + j;
        const double *p = rd_friction_of(r, j);
        up[0] = w->a[at] * u + w->b[at] * x + w->c[at];
        up[count + 1] = w->a[at + m] * u + w->b[at + m] * y + w->c[at + m];
        for (int s = 0; s < count; s++)
            up[s + 1] = k < w->efforts ? effort[(size_t)s * n + j] + r->rotor[j] * qdd[(size_t)s * n + j]
                                       : qdd[(size_t)s * n + j];
        if (rubs) {
            for (int s = 0; s < count; s++) {
                const double rate = qd[(size_t)s * n + j];
                up[s + 1] += rd_friction(p, rate, rate, effort[(size_t)s * n + j]);
            }
            up[0] += rd_friction(p, from[0] * v0, from[0] * v0, up[0] - r->rotor[j] * (from[0] * u + bow[0] * x));
            up[count + 1] += rd_friction(p, from[n] * v1, from[n] * v1,
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
    const int fast = rd_may_be_fast(r, w, i, u, x, y, v0, v1, h);
    for (int j = 0; j < n && fast; j++) {
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

/* True if a joint turns at an end of interval i, or nearly: efforts may bend both ways there. */
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
        double *room = malloc((4 * count * n + 12 + 2 * (size_t)w->count) * sizeof *room), *q = room, *qd = q + count * n + 4;
        double *qdd = qd + count * n + 4, *effort = qdd + count * n + 4;
        if (room == NULL)
            return -1;
        for (int i = 0; i < intervals; i++)
            if (w->open[i]) {
                rd_inside(r, i, w->near[i], basis + (w->near[i] > 1), q + at, qd + at, qdd + at);
                at += (size_t)w->near[i] * n;
            }
        done = rd_call(r, (int)count, q, qd, qdd, effort);
        at = 0;
        for (int i = 0; i < intervals && done; i++) {
            if (!w->open[i])
                continue;
            const size_t here = at;
            at += (size_t)w->near[i] * n;
            const int found = rd_compare(r, w, i, qd + here, qdd + here, effort + here, effort + count * n);
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
