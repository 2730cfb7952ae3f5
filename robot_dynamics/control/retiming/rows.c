/* Rows of limits at each point, and their margins for what happens between two points. */
#include "retime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below this share of a limit no margin is looked for. */
#define RD_FAR 0.7
/* Rows of which a bit each is kept. */
#define RD_FLAGS 64
/* As often margins of an interval grow by estimates. */
#define RD_ESTIMATES 12
/* A turning point counts as one at an end of its interval where the velocity there is this share of the other's. */
#define RD_TURNS 1e-6

/* Dry friction opposed to a motion of this speed and direction: its bounds while the motion begins, and the
 * slope of its magnitude with the speed. */
void rd_dry(const double *p, double speed, int sign, double *upper, double *lower, double *slope)
{
    double by;
    const double size = rd_dry_size(p, sign * speed, sign, &by);
    /* A little less help from friction than there is: the speed is not known exactly. */
    const double along = speed < RD_SLOW ? rd_direction(0.95 * speed) : 1.0;
    *upper = sign > 0 ? size : -along * size;
    *lower = sign > 0 ? along * size : -size;
    *slope = sign * by;
}

/* Bound of the dry friction of a joint that may move either way, without a load. */
static double rd_dry_bound(const double *p)
{
    return RD_MAX(rd_greatest_dry(p, 1.0), rd_greatest_dry(p, -1.0));
}

/* Viscous friction at a velocity. */
static double rd_viscous_at(const double *p, double velocity)
{
    double slope;
    return rd_viscous(p, velocity, &slope);
}

/* Limits and friction of row k, of an effort, where its joint stands or turns near point i. */
static void rd_turning_row(const struct rd_retiming *r, struct rd_rows *w, int i, int k)
{
    const int n = r->joints, j = w->joint[k], last = i + 1 == r->points;
    const size_t from = (size_t)i * n + j, to = (size_t)i * w->count + k;
    const double *p = rd_friction_of(r, j), here = r->qp[from], next = last ? 0.0 : r->qp[from + n], sum = here + next;
    const int sign = sum > 0.0 ? 1 : sum < 0.0 ? -1 : 0;
    /* At a turn of the joint, friction helps neither way. */
    const double before = i > 0 ? r->qp[from - n] + here : here;
    const int turns = before * here < 0.0 || (!last && sum * here < 0.0);
    w->speed[to] = turns ? 0.0 : fabs(here);
    w->drag[to] = sign * p[RD_DAMPING];
    if (!last && here * next < -RD_TURNS * sum * sum) {
        /* It turns between two points: dry friction may act either way. */
        const double after = fabs(next), size1 = RD_MAX(fabs(here), after);
        const double slower = RD_MIN(fabs(here), after) / size1 * RD_MIN(r->velocity[j], size1 * sqrt(r->cap));
        const double size = rd_dry_bound(p) + RD_MAX(rd_viscous_at(p, slower), -rd_viscous_at(p, -slower));
        w->upper[to] = RD_MAX((w->upper[to] - size) / (1.0 + p[RD_LOAD_FRICTION]), 0.1 * w->limit[k]);
        w->lower[to] = -w->upper[to];
        return;
    }
    w->sign[to] = (signed char)sign;
    w->push[to] = sign != 0 ? sign * p[RD_FRICTION] + p[RD_FRICTION_OFFSET] : 0.0;
}

static int rd_fill_rows(const struct rd_retiming *r, struct rd_rows *w)
{
    const int n = r->joints, m = w->count, e = w->efforts;
    for (int i = 0; i < r->points; i++) {
        const size_t from = (size_t)i * n, to = (size_t)i * m;
        const double *here = r->qp + from, *next = i + 1 < r->points ? here + n : here, *before = i > 0 ? here - n : here;
        const double *bow = r->qpp + from, *a = r->a + from, *b = r->b + from, *c = r->c + from;
        double *wa = w->a + to, *wb = w->b + to, *wc = w->c + to;
        memset(w->sign + to, 0, (size_t)m);
        for (int k = 0; k < m; k += 4) {
            FOUR(w->upper, to + k) = FOUR(w->limit, k) * (1.0 - RD_FREE);
            FOUR(w->lower, to + k) = -FOUR(w->upper, to + k);
            FOUR(w->speed, to + k) = FOUR(w->drag, to + k) = FOUR(w->push, to + k) = (rd_four){0.0, 0.0, 0.0, 0.0};
        }
        for (int k = 0; k < m && w->plain; k += 4)
            FOUR(wa, k) = FOUR(a, k), FOUR(wb, k) = FOUR(b, k), FOUR(wc, k) = FOUR(c, k);
        for (int k = w->plain ? n : 0; k < m; k++) {
            const int j = w->joint[k], effort = k < e;
            wa[k] = j < 0 ? 0.0 : effort ? a[j] : here[j];
            wb[k] = j < 0 ? 0.0 : effort ? b[j] : bow[j];
            wc[k] = effort ? c[j] : 0.0;
        }
        rd_mask bad = {0, 0, 0, 0};
        for (int k = 0; k < m; k += 4) {
            const rd_four sum = 0.0 * FOUR(wa, k) + 0.0 * FOUR(wb, k) + 0.0 * FOUR(wc, k);
            bad |= sum != sum;
        }
        if (rd_any(bad))
            return 0;
        for (int k = 0; k < e && !w->dry; k++) {
            const int j = w->joint[k];
            const double *p = rd_friction_of(r, j);
            if (!(here[j] * next[j] > 0.0 && here[j] * before[j] > 0.0)) {
                rd_turning_row(r, w, i, k);
                continue;
            }
            const int sign = here[j] > 0.0 ? 1 : -1;
            w->sign[to + k] = (signed char)sign, w->speed[to + k] = fabs(here[j]);
            w->drag[to + k] = sign * p[RD_DAMPING], w->push[to + k] = sign * p[RD_FRICTION] + p[RD_FRICTION_OFFSET];
        }
    }
    for (int i = 0; i < r->points; i++) {
        const double *rate = r->qp + (size_t)i * n;
        double share = (1.0 - RD_FREE) * (1.0 - RD_FREE) / r->cap;
        for (int j = 0; j < n; j++) {
            const double used = rate[j] * w->slowness[j];
            share = RD_MAX(share, used * used);
        }
        w->most[i] = (1.0 - RD_FREE) * (1.0 - RD_FREE) / RD_MAX(share, 1e-200);
    }
    return 1;
}

static int rd_prepare(const struct rd_retiming *r, struct rd_rows *w)
{
    const int n = r->joints;
    const size_t points = (size_t)r->points;
    for (int kind = 0; kind < 2; kind++)
        for (int j = 0; j < n; j++) {
            const double limit = kind == 0 ? r->effort[j] : r->acceleration[j];
            if (isfinite(limit)) {
                w->joint[w->count] = j, w->limit[w->count++] = limit;
                w->efforts += kind == 0;
            }
        }
    w->dry = 1, w->any_odd = 0;
    for (int k = 0; k < w->efforts; k++) {
        const double *p = rd_friction_of(r, w->joint[k]);
        w->odd[k] = !rd_friction_is_linear(p);
        w->any_odd |= w->odd[k];
        if (!rd_friction_is_zero(p))
            w->dry = 0;
    }
    w->plain = w->count == n && w->efforts == n;
    /* Whole groups of four; rows beside the limits' bound nothing. */
    for (; w->count % 4 != 0; w->count++)
        w->joint[w->count] = -1, w->limit[w->count] = 1.0;
    const size_t cells = points * (w->count > 0 ? w->count : 1);
    double *room = malloc((8 * cells + points) * sizeof *room);
    w->sign = malloc(cells + points), w->near = w->sign + cells;
    if (room == NULL || w->sign == NULL) {
        free(room);
        return 0;
    }
    w->a = room, w->b = w->a + cells, w->c = w->b + cells, w->upper = w->c + cells, w->lower = w->upper + cells;
    w->speed = w->lower + cells, w->drag = w->speed + cells, w->push = w->drag + cells, w->most = w->push + cells;
    return 1;
}

/* Rows of a new grid. */
int rd_retime_rows(const struct rd_retiming *r, struct rd_rows *w)
{
    w->count = w->efforts = 0;
    w->sign = NULL, w->a = NULL;
    if (!rd_prepare(r, w))
        return RD_NO_MEMORY;
    return rd_fill_rows(r, w) ? RD_RETIMED : RD_NOT_FINITE;
}

/* Weights of a point's neighbours in second derivatives, times the square of the step d / 8. */
struct rd_weights {
    double before, after;
};

static inline struct rd_weights rd_weights_of(const double *s, int i, double d)
{
    const double h0 = s[i] - s[i - 1], h1 = s[i + 1] - s[i], scale = 0.25 * d * d / ((h0 + h1) * h0 * h1);
    return (struct rd_weights){scale * h1, scale * h0};
}

/* a'' u + 4 b' u + b'' x + c'' of a row at a point from its neighbours, times the square of the step d / 8; slope:
 * 4 b' u times the same. */
static inline double rd_bend(const struct rd_rows *w, struct rd_weights by, size_t at, double u, double x, double slope)
{
    const size_t m = (size_t)w->count, left = at - m, right = at + m;
    const double here = w->a[at] * u + w->b[at] * x + w->c[at];
    const double before = w->a[left] * u + w->b[left] * x + w->c[left], after = w->a[right] * u + w->b[right] * x + w->c[right];
    return by.before * (before - here) + by.after * (after - here) + slope;
}

/* Effort of friction, its larger magnitude where it jumps. */
static double rd_friction_at(const double *p, double speed, int sign)
{
    double upper, lower, slope;
    if (sign == 0 || rd_friction_is_zero(p))
        return 0.0;
    rd_dry(p, speed, sign, &upper, &lower, &slope);
    return (sign > 0 ? upper : lower) + rd_viscous_at(p, sign * speed);
}

/* Lower the limits of interval i where the profile's rows may leave them between its ends; whether it did. */
static int rd_row_margins(const struct rd_retiming *r, struct rd_rows *w, int i)
{
    const int m = w->count, e = w->efforts;
    const double x = r->x[i], y = r->x[i + 1], d = r->s[i + 1] - r->s[i], u = (y - x) / (2.0 * d);
    const double rx = sqrt(x), ry = sqrt(y), bow = rx + ry > 0.0 ? (ry - rx) * (ry - rx) / (4.0 * (rx + ry)) : 0.0;
    int left = i > 0 && !w->knot[i], right = i + 2 < r->points && !w->knot[i + 1], moved = 0;
    if (!left && !right)
        left = i > 0, right = i + 2 < r->points;
    unsigned near = 0;
    unsigned long long flags = 0;
    for (int k = 0; k < m; k += 4) {
        const size_t at = (size_t)i * m + k;
        const rd_four limit = RD_FAR * FOUR(w->limit, k), push = FOUR(w->push, at), drag = FOUR(w->drag, at);
        const rd_four g0 = FOUR(w->a, at) * u + FOUR(w->b, at) * x + FOUR(w->c, at) + push + drag * FOUR(w->speed, at) * rx;
        const rd_four g1 = FOUR(w->a, at + m) * u + FOUR(w->b, at + m) * y + FOUR(w->c, at + m) + push +
                           drag * FOUR(w->speed, at + m) * ry;
        const rd_mask far = (g0 > limit) | (g0 < -limit) | (g1 > limit) | (g1 < -limit);
        const unsigned bits = rd_bits(far);
        near |= bits;
        if (k < RD_FLAGS)
            flags |= (unsigned long long)bits << k;
    }
    w->near[i] = 1;
    if (!w->any_odd && !near)
        return 0;
    const struct rd_weights none = {0.0, 0.0}, here = left ? rd_weights_of(r->s, i, d) : none;
    const struct rd_weights next = right ? rd_weights_of(r->s, i + 1, d) : none;
    for (int k = 0; k < m; k++) {
        const size_t at = (size_t)i * m + k;
        if (w->joint[k] < 0)
            break;
        if (!w->any_odd && k < RD_FLAGS && !(flags >> k & 1))
            continue;
        const double limit = w->limit[k];
        double g0 = w->a[at] * u + w->b[at] * x + w->c[at];
        double g1 = w->a[at + m] * u + w->b[at + m] * y + w->c[at + m];
        double above = 0.0, below = 0.0;
        const double *p = rd_friction_of(r, w->joint[k]);
        const int sign = k < e ? w->sign[at] : 0, rubs = sign != 0 && !rd_friction_is_zero(p);
        const double v0 = rubs ? w->speed[at] : 0.0, v1 = rubs ? w->speed[at + m] : 0.0;
        if (sign != 0) {
            g0 += sign * p[RD_LOAD_FRICTION] * fabs(g0);
            g1 += sign * p[RD_LOAD_FRICTION] * fabs(g1);
        }
        if (rubs)
            g0 += rd_friction_at(p, v0 * rx, sign), g1 += rd_friction_at(p, v1 * ry, sign);
        const double top = RD_MAX(g0, g1), bottom = RD_MIN(g0, g1);
        if (top < RD_FAR * limit && bottom > -RD_FAR * limit)
            continue;
        const double slope = 0.5 * d * u * (w->b[at + m] - w->b[at]);
        const double first = left ? rd_bend(w, here, at, u, x, slope) : 0.0;
        const double second = right ? rd_bend(w, next, at + m, u, y, slope) : first;
        const double bend = left ? first : second;
        above = -RD_MIN(RD_MIN(bend, second), 0.0), below = RD_MAX(RD_MAX(bend, second), 0.0);
        if (rubs) {
            /* Estimates, of known parts of friction: of others the comparison between the points takes care. */
            const double arch = p[RD_DAMPING] * RD_MAX(v0, v1) * bow;
            const double cross = 0.25 * p[RD_DAMPING] * fabs(v1 - v0) * fabs(ry - rx);
            const double turn = 0.25 * fabs(p[RD_STATIC_FRICTION] - p[RD_FRICTION]) *
                                RD_MIN(fabs(v1 * ry - v0 * rx) / p[RD_STRIBECK_VELOCITY], 1.0);
            above += (sign > 0 ? arch : 0.0) + cross + turn;
            below += (sign < 0 ? arch : 0.0) + cross + turn;
        }
        if (RD_MAX(above, below) > RD_BENT * limit)
            w->near[i] = 2;
        const double most = RD_COARSE * limit, spare = 0.2 * RD_FREE * limit;
        const double free = limit * (1.0 - RD_FREE);
        above *= 1.0 + RD_SPARE, below *= 1.0 + RD_SPARE;
        if ((above > most && top + above > free) || (below > most && bottom - below < -free))
            w->coarse[i] = 1;
        above = RD_MIN(above, most), below = RD_MIN(below, most);
        if (top + above > free + spare && w->upper[at] > free - above)
            w->upper[at] = free - above, moved = 1;
        if (bottom - below < -free - spare && w->lower[at] < -free + below)
            w->lower[at] = -free + below, moved = 1;
    }
    return moved;
}

/* Largest of values at equal distances, and of the parabolas through three of them. */
double rd_peak(const double *value, int count)
{
    double peak = RD_MAX(value[0], value[count - 1]);
    for (int k = 1; k + 1 < count; k++) {
        const double bend = value[k - 1] - 2.0 * value[k] + value[k + 1], tilt = value[k + 1] - value[k - 1];
        peak = RD_MAX(peak, value[k]);
        if (bend < 0.0 && fabs(tilt) < -2.0 * bend)
            peak = RD_MAX(peak, value[k] - tilt * tilt / (8.0 * bend));
    }
    return peak;
}

/* Error of the parabolas' peak: about a fifteenth of the third difference. */
double rd_doubt(const double *value, int count)
{
    double most = 0.0;
    for (int k = 0; k + 3 < count; k++)
        most = RD_MAX(most, fabs(value[k + 3] - value[k] - 3.0 * (value[k + 2] - value[k + 1])));
    return most / 15.0;
}

/* Lower the largest x at both ends of interval i where a joint is too fast between them. */
static int rd_speed_margins(const struct rd_retiming *r, struct rd_rows *w, int i, int segment)
{
    const int n = r->joints;
    const double x = r->x[i], y = r->x[i + 1], d = r->s[i + 1] - r->s[i], high = RD_MAX(x, y);
    const double *p = r->qp + (size_t)i * n, *pp = r->qpp + (size_t)i * n;
    double over = 1.0;
    unsigned fast = 0;
    for (int j = 0; j < n; j += 4) {
        const rd_four left = rd_size(FOUR(p, j)), right = rd_size(FOUR(p, n + j));
        const rd_four step = FOUR(pp, j) - FOUR(pp, n + j), limit = FOUR(w->velocity, j);
        const rd_four size = rd_larger(left, right) + 0.25 * d * rd_size(step);
        fast |= rd_bits(size * size * high > limit * limit * (1.0 - 1.5 * RD_FREE)) << (j & 28);
    }
    for (int j = 0; j < n && fast; j++) {
        if (n <= 32 && !(fast >> j & 1))
            continue;
        const double most = r->velocity[j] * r->velocity[j] * (1.0 - 1.5 * RD_FREE), part = 1.0 / most;
        const double size = RD_MAX(fabs(p[j]), fabs(p[n + j])) + 0.25 * d * fabs(pp[j] - pp[n + j]);
        if (!(size * size * high > most))
            continue;
        double used[17];
        /* A parabola follows what hardly changes. */
        const int even = fabs(fabs(p[j]) - fabs(p[n + j])) < 0.02 * size && fabs(x - y) < 0.02 * high;
        int last = even ? 2 : 4;
        if (!even) {
            const double middle = rd_path_rate(r, segment, j, r->s[i] + 0.5 * d);
            const double here = p[j] * p[j] * x, there = p[n + j] * p[n + j] * y;
            const double half = 0.5 * middle * middle * (x + y), arch = fabs(half - 0.5 * (here + there));
            if (RD_MAX(RD_MAX(here, there), half) + arch <= most)
                continue;
        }
        for (;; last = 16) {
            used[0] = p[j] * p[j] * x * part, used[last] = p[n + j] * p[n + j] * y * part;
            for (int k = 1; k < last; k++) {
                const double t = (double)k / last, rate = rd_path_rate(r, segment, j, r->s[i] + t * d);
                used[k] = rate * rate * (x + t * (y - x)) * part;
            }
            if (last != 4 || rd_doubt(used, 5) <= 0.1 * RD_FREE)
                break;
        }
        over = RD_MAX(over, rd_peak(used, last + 1));
    }
    if (over <= 1.0)
        return 0;
    /* Below both ends, by a little more than what is too much. */
    const double to = 1.0 / (1.0 + 1.05 * (over - 1.0));
    if (i > 0)
        w->most[i] = RD_MIN(w->most[i], x * to);
    if (i + 2 < r->points)
        w->most[i + 1] = RD_MIN(w->most[i + 1], y * to);
    return 1;
}

/* Lower limits where a profile may leave them between two points; the number of intervals concerned. */
int rd_retime_margins(const struct rd_retiming *r, struct rd_rows *w)
{
    int changed = 0, segment = 0;
    for (int i = 0; i + 1 < r->points; i++) {
        const int same = w->seen[i] == r->x[i] && w->seen[i + 1] == r->x[i + 1];
        w->seen[i] = r->x[i];
        if (same || w->estimates[i] >= RD_ESTIMATES)
            continue;
        segment = rd_path_segment(r, segment, 0.5 * (r->s[i] + r->s[i + 1]));
        const int rows = rd_row_margins(r, w, i), speeds = rd_speed_margins(r, w, i, segment);
        if (!rows && !speeds)
            continue;
        w->estimates[i]++;
        w->dirty[i] = 1, w->dirty[i + 1] |= speeds;
        changed++;
    }
    w->seen[r->points - 1] = r->x[r->points - 1];
    return changed;
}

/* Shares that rows of group k use at point i; friction as in interval `behind`. */
static inline rd_four rd_used(const struct rd_retiming *r, const struct rd_rows *w, int i, int behind, int k, double u,
                              double v)
{
    const size_t at = (size_t)i * w->count + k, of = (size_t)behind * w->count + k;
    const double x = r->x[i];
    const rd_four rate = FOUR(w->speed, at) * v, push = FOUR(w->push, of), limit = FOUR(w->limit, k);
    const rd_four load = FOUR(w->a, at) * u + FOUR(w->b, at) * x + FOUR(w->c, at);
    rd_four tau = load + push + FOUR(w->drag, of) * rate;
    if (w->any_odd || rd_any((push != 0.0) & (rate < RD_SLOW)))
        for (int lane = 0; lane < 4 && k + lane < w->efforts; lane++) {
            const int j = w->joint[k + lane], sign = w->sign[of + lane];
            if (w->odd[k + lane] || rate[lane] < RD_SLOW)
                tau[lane] = load[lane] + rd_friction_of(r, j)[RD_LOAD_FRICTION] * fabs(load[lane]) * sign +
                            rd_friction_at(rd_friction_of(r, j), rate[lane], sign);
        }
    return rd_size(tau) / limit;
}

void rd_retime_shares(const struct rd_retiming *r, const struct rd_rows *w)
{
    const int n = r->joints, m = w->count, e = w->efforts;
    for (int i = 0; i < r->points; i++) {
        const int k0 = i + 1 == r->points ? i - 1 : i;
        const double v = sqrt(r->x[i]), u = (r->x[k0 + 1] - r->x[k0]) / (2.0 * (r->s[k0 + 1] - r->s[k0]));
        const double *rate = r->qp + (size_t)i * n;
        const double least = isfinite(r->cap) ? sqrt(r->x[i] / r->cap) : 0.0;
        /* Rows first, then velocities behind them: the largest of each lane, and where it is. */
        rd_four most = {least, least, least, least}, place = {-1.0, -1.0, -1.0, -1.0};
        for (int k = 0; k < m + n; k += 4) {
            rd_four used;
            if (k < m)
                used = rd_used(r, w, i, k0, k, u, v);
            else {
                const rd_four way = v * FOUR(rate, k - m) * FOUR(w->slowness, k - m);
                used = rd_size(way);
            }
            const rd_mask larger = used > most;
            const rd_four here = {k, k, k, k};
            most = rd_larger(used, most), place = rd_chosen(larger, here, place);
        }
        int lane = 0;
        for (int k = 1; k < 4; k++)
            if (most[k] > most[lane])
                lane = k;
        const int k = (int)place[lane] + lane, none = place[lane] < 0.0;
        r->share[i] = most[lane];
        r->kind[i] = none ? RD_BY_CAP : k < e ? RD_BY_EFFORT : k < m ? RD_BY_ACCELERATION : RD_BY_VELOCITY;
        r->joint[i] = none ? -1 : k < m ? w->joint[k] : k - m;
    }
}
