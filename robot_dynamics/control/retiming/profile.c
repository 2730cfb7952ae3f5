/* Largest x along the path: sets from which the end can be reached, backwards, then forwards the largest x. */
#include "retime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RD_STEPS 100
#define RD_CLOSE 1e-11
/* Slower than this a joint stands: x is never quite zero in a root's tangent. */
#define RD_STILL 1e-5
/* Shorter intervals are not halved [s]. */
#define RD_SHORTEST 1e-5
/* Most halvings of intervals in which an effort changes too unevenly, where rates are limited. */
#define RD_RATED_REFINEMENTS 4
/* Friction is linear in x near a place; x farther away by this share makes it linear anew. */
#define RD_NEARBY 0.02

/* Lines in the plane of x at an interval's beginning and y at its end: low + slope x <= y <= high + slope x. */
struct rd_lines {
    int count;
    double *high, *low, *slope;
};

/* Bounds of y for one x, and their slopes. */
struct rd_span {
    double high, low, high_slope, low_slope;
};

/* Bound of a row without its friction, of which a share is that of the load. */
static inline double rd_loaded(double bound, double share, int sign, double speed)
{
    /* Friction helps to brake, but not a joint that stands. */
    const double help = speed < RD_SLOW ? share * rd_direction(0.95 * speed) : share;
    const double with = bound * sign >= 0.0 ? 1.0 + share : 1.0 - help;
    return bound / with;
}

/* Friction of a row along its tangent at x: bounds at x = 0, and slope. */
static inline void rd_tangent(const double *p, double speed, double root, int sign, double *upper, double *lower,
                              double *slope)
{
    const double v = speed * root;
    double rate, more;
    rd_dry(p, v > RD_STILL ? v : 0.0, sign, upper, lower, &rate);
    const double viscous = rd_viscous(p, sign * v, &more);
    *slope = sign * (more + rate) * speed * 0.5 / root;
    const double constant = viscous - *slope * root * root;
    *upper += constant, *lower += constant;
}

/* Lines of row k of interval i, for friction of any kind. */
static void rd_odd_line(const struct rd_retiming *r, const struct rd_rows *w, int i, int k, double rx, double ry,
                        double least, struct rd_lines *t)
{
    const int m = w->count, j = w->joint[k];
    const size_t at = (size_t)i * m + k;
    const double half = 0.5 / (r->s[i + 1] - r->s[i]), *p = rd_friction_of(r, j), share = p[RD_LOAD_FRICTION];
    const int sign = w->sign[at];
    double f, g, f1, g1, rate, rate1, scale = 1.0;
    rd_tangent(p, w->speed[at], rx, sign, &f, &g, &rate);
    rd_tangent(p, w->speed[at + m], ry, sign, &f1, &g1, &rate1);
    double up = w->upper[at] - f, lo = w->lower[at] - g, up1 = w->upper[at] - f1, lo1 = w->lower[at] - g1;
    if (share != 0.0) {
        const double v0 = w->speed[at] * rx, v1 = w->speed[at + m] * ry;
        up = rd_loaded(up, share, sign, v0), lo = rd_loaded(lo, share, sign, v0);
        up1 = rd_loaded(up1, share, sign, v1), lo1 = rd_loaded(lo1, share, sign, v1);
        scale = 1.0 / (1.0 + share);
    }
    double left = w->a[at] * half, right = w->a[at + m] * half + w->b[at + m] + scale * rate1;
    left = fabs(left) > least ? left : least;
    right = fabs(right) > least ? right : least;
    const double i0 = 1.0 / left, i1 = 1.0 / right;
    const double y0 = (up - w->c[at]) * i0, y1 = (lo - w->c[at]) * i0;
    const double z0 = (up1 - w->c[at + m]) * i1, z1 = (lo1 - w->c[at + m]) * i1;
    t->high[k] = RD_MAX(y0, y1), t->low[k] = RD_MIN(y0, y1);
    t->high[m + k] = RD_MAX(z0, z1), t->low[m + k] = RD_MIN(z0, z1);
    t->slope[k] = 1.0 - (w->b[at] + scale * rate) * i0;
    t->slope[m + k] = w->a[at + m] * half * i1;
}

/* Lines of interval i; friction is linear near x and y. */
static void rd_lines_of(const struct rd_retiming *r, const struct rd_rows *w, int i, double x, double y,
                        struct rd_lines *t)
{
    const int m = w->count;
    const size_t at = (size_t)i * m;
    const double half = 0.5 / (r->s[i + 1] - r->s[i]);
    const double *a = w->a + at, *b = w->b + at, *c = w->c + at, *limit = w->limit, *upper = w->upper + at;
    const double *lower = w->lower + at, *speed = w->speed + at, *drag = w->drag + at, *push = w->push + at;
    const double most = w->most[i] < 1e100 ? w->most[i] + 1e-200 : 1e100, tiny = 1e-10 / most;
    t->count = 2 * m;
    if (w->dry) {
        for (int k = 0; k < m; k += 4) {
            const rd_four up = FOUR(upper, k), lo = FOUR(lower, k), least = tiny * FOUR(limit, k);
            const rd_four left = FOUR(a, k) * half, a1 = FOUR(a, m + k) * half, right = a1 + FOUR(b, m + k);
            const rd_four c0 = FOUR(c, k), c1 = FOUR(c, m + k);
            const rd_four i0 = 1.0 / rd_chosen(rd_size(left) > least, left, least);
            const rd_four i1 = 1.0 / rd_chosen(rd_size(right) > least, right, least);
            const rd_four y0 = (up - c0) * i0, y1 = (lo - c0) * i0, z0 = (up - c1) * i1, z1 = (lo - c1) * i1;
            FOUR(t->high, k) = rd_larger(y0, y1), FOUR(t->low, k) = rd_smaller(y0, y1);
            FOUR(t->high, m + k) = rd_larger(z0, z1), FOUR(t->low, m + k) = rd_smaller(z0, z1);
            FOUR(t->slope, k) = 1.0 - FOUR(b, k) * i0, FOUR(t->slope, m + k) = a1 * i1;
        }
        return;
    }
    const double floor = 1e-12 * most, rx = sqrt(RD_MAX(x, floor)), ry = sqrt(RD_MAX(y, floor));
    const double hx = 0.5 * rx, hy = 0.5 * ry, gx = 0.5 / rx, gy = 0.5 / ry;
    rd_mask slow = {0, 0, 0, 0};
    for (int k = 0; k < m; k += 4) {
        const rd_four f0 = FOUR(drag, k) * FOUR(speed, k), f1 = FOUR(drag, k) * FOUR(speed, m + k), p = FOUR(push, k);
        const rd_four up = FOUR(upper, k) - p, lo = FOUR(lower, k) - p, least = tiny * FOUR(limit, k);
        const rd_four left = FOUR(a, k) * half, a1 = FOUR(a, m + k) * half, right = a1 + FOUR(b, m + k) + f1 * gy;
        const rd_four c0 = FOUR(c, k) + f0 * hx, c1 = FOUR(c, m + k) + f1 * hy;
        const rd_four i0 = 1.0 / rd_chosen(rd_size(left) > least, left, least);
        const rd_four i1 = 1.0 / rd_chosen(rd_size(right) > least, right, least);
        const rd_four y0 = (up - c0) * i0, y1 = (lo - c0) * i0, z0 = (up - c1) * i1, z1 = (lo - c1) * i1;
        FOUR(t->high, k) = rd_larger(y0, y1), FOUR(t->low, k) = rd_smaller(y0, y1);
        FOUR(t->high, m + k) = rd_larger(z0, z1), FOUR(t->low, m + k) = rd_smaller(z0, z1);
        FOUR(t->slope, k) = 1.0 - (FOUR(b, k) + f0 * gx) * i0, FOUR(t->slope, m + k) = a1 * i1;
        slow |= (p != 0.0) & ((FOUR(speed, k) * rx < RD_SLOW) | (FOUR(speed, m + k) * ry < RD_SLOW));
    }
    if (!(w->any_odd || rd_any(slow)))
        return;
    for (int k = 0; k < w->efforts; k++)
        if (w->sign[at + k] != 0 &&
            (w->odd[k] || (push[k] != 0.0 && (speed[k] * rx < RD_SLOW || speed[m + k] * ry < RD_SLOW))))
            rd_odd_line(r, w, i, k, rx, ry, tiny * limit[k], t);
}

/* Numbers of both halves exchanged (2), or neighbours. */
static inline rd_four rd_turned(rd_four v, int half)
{
    return half == 2 ? (rd_four){v[2], v[3], v[0], v[1]} : (rd_four){v[1], v[0], v[3], v[2]};
}

static inline void rd_span_at(const struct rd_lines *t, double x, double low, double high, struct rd_span *span)
{
    rd_four above = {high, high, high, high}, below = {low, low, low, low};
    rd_four above_slope = {0.0, 0.0, 0.0, 0.0}, below_slope = above_slope;
    for (int k = 0; k < t->count; k += 4) {
        const rd_four slope = FOUR(t->slope, k), top = FOUR(t->high, k) + slope * x, bottom = FOUR(t->low, k) + slope * x;
        const rd_mask less = top < above, more = bottom > below;
        above = rd_smaller(top, above), above_slope = rd_chosen(less, slope, above_slope);
        below = rd_larger(bottom, below), below_slope = rd_chosen(more, slope, below_slope);
    }
    for (int half = 2; half > 0; half--) {
        const rd_four top = rd_turned(above, half), bottom = rd_turned(below, half);
        const rd_mask less = top < above, more = bottom > below;
        above = rd_smaller(top, above), above_slope = rd_chosen(less, rd_turned(above_slope, half), above_slope);
        below = rd_larger(bottom, below), below_slope = rd_chosen(more, rd_turned(below_slope, half), below_slope);
    }
    span->high = above[0], span->high_slope = above_slope[0];
    span->low = below[0], span->low_slope = below_slope[0];
}

static inline double rd_within(double y, double low, double high)
{
    return y < low ? low : y > high ? high : y;
}

static inline int rd_nearby(double value, double place)
{
    return fabs(value - place) <= RD_NEARBY * place;
}

/* Largest (sense 1) or smallest (-1) x in [from, to] with a y in [low, high], beginning at a guess; negative: there
 * is none. */
static double rd_extreme(const struct rd_retiming *r, const struct rd_rows *w, struct rd_lines *lines, int i,
                         int sense, double from, double to, double low, double high, double guess)
{
    const double end = sense > 0 ? to : from;
    double x = rd_within(guess, from, to), at = x, near = sense > 0 ? high : low;
    double good = -1.0, bad = -1.0;
    int renewed = 0;
    rd_lines_of(r, w, i, at, near, lines);
    for (int k = 0; k < RD_STEPS; k++) {
        struct rd_span t;
        rd_span_at(lines, x, low, high, &t);
        const double gap = t.high - t.low, slope = t.high_slope - t.low_slope;
        const int fits = gap >= -RD_CLOSE * (fabs(t.high) + x);
        double next = x - gap / slope;
        if (fits)
            good = x;
        else
            bad = x;
        if (slope * sense >= 0.0 || !isfinite(next))
            next = !fits ? (good >= 0.0 ? 0.5 * (good + bad) : -1.0) : bad >= 0.0 ? 0.5 * (good + bad) : end;
        else
            next = rd_within(next, from, to);
        if (next >= 0.0 && good >= 0.0 && bad >= 0.0 && (next - good) * (next - bad) > 0.0)
            next = 0.5 * (good + bad);
        const int done = next < 0.0 || fabs(next - x) <= 1e-12 * x ||
                         (good >= 0.0 && fabs(next - good) <= 1e-10 * (good + next));
        if (done) {
            double found = good;
            if (good < 0.0 && next >= 0.0) { /* within rounding of the boundary, which may be steep */
                found = rd_within(x - sense * 1e-9 * x, from, to);
                rd_span_at(lines, found, low, high, &t);
                found = t.high - t.low >= -1e-6 * (fabs(t.high) + x) ? found : -1.0;
            }
            /* Any y that x allows will do: nearest to where friction was made linear. */
            const double middle = rd_within(rd_within(near, t.low, t.high), low, high);
            const int lost = found < 0.0 && at > 1e-9 * to; /* friction of a speed that is much too high */
            if (w->dry || renewed > 15 || (!lost && rd_nearby(x, at) && rd_nearby(middle, near)))
                return found;
            at = lost ? RD_MIN(0.05 * at, x > 0.0 ? x : at) : x;
            x = at, near = lost ? near : middle, renewed++, good = bad = -1.0;
            rd_lines_of(r, w, i, at, near, lines);
            continue;
        }
        x = next;
    }
    return good;
}

/* Effort in the rows of point i at standstill that is farthest beyond a limit, for the message. */
static void rd_explain(struct rd_retiming *r, const struct rd_rows *w, int i)
{
    const int m = w->count, e = w->efforts;
    double worst = -INFINITY;
    r->failed_at = r->s[i], r->failed_joint = -1, r->failed_kind = RD_BY_EFFORT;
    for (int point = i; point < i + 2 && point < r->points; point++)
        for (int k = 0; k < e; k++) {
            const int j = w->joint[k], sign = w->sign[(size_t)i * m + k];
            double upper = 0.0, lower = 0.0, slope, tau = w->c[(size_t)point * m + k];
            if (sign != 0)
                rd_dry(rd_friction_of(r, j), 0.0, sign, &upper, &lower, &slope);
            tau += rd_friction_of(r, j)[RD_LOAD_FRICTION] * fabs(tau) * sign;
            const double value = fabs(tau + upper) > fabs(tau + lower) ? tau + upper : tau + lower;
            const double excess = fabs(value) / w->limit[k];
            if (excess > 1.0 && excess > worst) {
                worst = excess;
                r->failed_at = r->s[point], r->failed_joint = j;
                r->failed_value = value, r->failed_limit = w->limit[k];
            }
        }
}

/* True if the arm can go on from point i to the next as slowly as it likes. */
static int rd_can_crawl(const struct rd_retiming *r, const struct rd_rows *w, int i)
{
    const int m = w->count;
    const double *upper = w->upper + (size_t)i * m, *lower = w->lower + (size_t)i * m;
    const double *before = w->c + (size_t)i * m, *after = before + m, *push = w->push + (size_t)i * m;
    rd_mask beyond = {0, 0, 0, 0};
    for (int k = 0; k < m && !w->any_odd; k += 4) {
        const rd_four zero = {0.0, 0.0, 0.0, 0.0}, rub = FOUR(push, k);
        const rd_four up = FOUR(upper, k) - rd_larger(rub, zero);
        const rd_four low = FOUR(lower, k) - rd_smaller(rub, zero);
        beyond |= (FOUR(before, k) > up) | (FOUR(after, k) > up) | (FOUR(before, k) < low) | (FOUR(after, k) < low);
    }
    if (!w->any_odd)
        return !rd_any(beyond);
    for (int k = 0; k < w->efforts; k++) {
        const int j = w->joint[k], sign = w->sign[(size_t)i * m + k];
        double up = upper[k], low = lower[k];
        if (sign != 0 && !w->dry) {
            double f, g, slope;
            const double *p = rd_friction_of(r, j), share = p[RD_LOAD_FRICTION];
            rd_dry(p, 0.0, sign, &f, &g, &slope);
            up = rd_loaded(up - f, share, sign, 0.0);
            low = rd_loaded(low - g, share, sign, 0.0);
        }
        if (before[k] > up || after[k] > up || before[k] < low || after[k] < low)
            return 0;
    }
    return 1;
}

/* `moved`: whether the set of a point has changed since the last solution. */
static int rd_forwards(struct rd_retiming *r, const struct rd_rows *w, struct rd_lines *lines, const double *low,
                       const double *high, const signed char *moved, int same)
{
    const int last = r->points - 1;
    double x = r->x[0], ratio = 1.0;
    for (int i = 0; i < last; i++) {
        const double was = r->x[i + 1];
        if (same && !w->dirty[i] && !moved[i + 1]) {
            ratio = x > 0.0 ? was / x : 1.0;
            x = was;
            continue;
        }
        double near = rd_within(x * ratio, low[i + 1], high[i + 1]), y = near;
        for (int k = 0; k < 12; k++) {
            struct rd_span t;
            rd_lines_of(r, w, i, x, near, lines);
            rd_span_at(lines, x, low[i + 1], high[i + 1], &t);
            y = rd_within(t.high > t.low ? t.high : 0.5 * (t.high + t.low), low[i + 1], high[i + 1]);
            if (w->dry || fabs(y - near) <= 1e-3 * (y + near))
                break;
            near = y;
        }
        if (y <= 0.0 && x <= 0.0) {
            rd_explain(r, w, i);
            return RD_EMPTY;
        }
        ratio = x > 0.0 ? y / x : 1.0;
        same = y == was;
        r->x[i + 1] = x = y;
    }
    return RD_RETIMED;
}

/* Solve anew where limits have changed since the last solution. */
static int rd_retime_solve(struct rd_retiming *r, struct rd_rows *w, struct rd_lines *lines, double *low, double *high)
{
    const int last = r->points - 1;
    const double spare = 1e-9;
    signed char *moved = w->open; /* compared with limits only between two solutions */
    r->failed_joint = -1, r->failed_value = r->failed_limit = 0.0;
    high[last] = r->end >= 0.0 ? r->end : w->most[last];
    low[last] = r->end >= 0.0 ? r->end : 0.0;
    if (high[last] > w->most[last] * (1.0 + 4e-6)) {
        r->failed_at = r->s[last], r->failed_value = sqrt(r->end), r->failed_limit = sqrt(w->most[last]);
        return RD_END;
    }
    moved[last] = w->dirty[last];
    for (int i = last - 1; i >= 0; i--) {
        moved[i] = 0;
        if (!w->dirty[i] && !moved[i + 1])
            continue;
        const double to = w->most[i], was_low = low[i], was_high = high[i];
        /* Behind a point that velocities bound, they bound most likely, too. */
        const int fast = i + 2 > last || high[i + 2] <= 0.0 || high[i + 1] == w->most[i + 1];
        const double guess = fast ? to : high[i + 1] * (high[i + 1] / high[i + 2]);
        double from = 0.0;
        if (low[i + 1] > 0.0 || !rd_can_crawl(r, w, i))
            from = rd_extreme(r, w, lines, i, -1, 0.0, to, low[i + 1], high[i + 1], 0.0);
        low[i] = from;
        high[i] = from < 0.0 ? -1.0 : rd_extreme(r, w, lines, i, 1, from, to, low[i + 1], high[i + 1], guess);
        if (high[i] < 0.0 || (high[i] == 0.0 && i > 0)) {
            rd_explain(r, w, i);
            return RD_EMPTY;
        }
        moved[i] = low[i] != was_low || high[i] != was_high;
    }
    const double x = r->start >= 0.0 ? r->start : high[0];
    if (x > high[0] * (1.0 + 4e-6) + spare || x < low[0] * (1.0 - 4e-6) - spare) {
        r->failed_at = r->s[0], r->failed_value = sqrt(x);
        r->failed_limit = x > high[0] ? sqrt(high[0]) : -sqrt(low[0]);
        return RD_START;
    }
    const int same = r->x[0] == x;
    r->x[0] = x;
    return rd_forwards(r, w, lines, low, high, moved, same);
}

/* Solutions on one grid, until its limits are kept. */
static int rd_retime_on_grid(struct rd_retiming *r, struct rd_rows *w, double *sets)
{
    struct rd_lines lines = {0, sets + 2 * (size_t)r->capacity, NULL, NULL};
    int result = RD_RETIMED;
    lines.low = lines.high + 4 * (r->joints + 2), lines.slope = lines.low + 4 * (r->joints + 2);
    for (int i = 0; i < r->points; i++)
        w->dirty[i] = 1, r->x[i] = w->seen[i] = w->checked[i] = -1.0;
    for (int k = 0; k < r->rounds; k++) {
        result = rd_retime_solve(r, w, &lines, sets, sets + r->capacity);
        r->rounds_taken++;
        if (result != RD_RETIMED)
            return result;
        memset(w->dirty, 0, (size_t)r->points);
        w->spare = RD_SPARE * (k < 20 ? k : 20);
        if (rd_retime_margins(r, w) > 0)
            continue;
        const int more = rd_retime_between(r, w);
        if (more < 0)
            return RD_NO_MEMORY;
        if (more == 0)
            return RD_RETIMED;
    }
    const signed char *first = memchr(w->dirty, 1, (size_t)r->points);
    r->failed_at = r->s[first != NULL ? first - w->dirty : 0];
    return RD_BEYOND;
}

/* Move the profile of interval i to its place on a finer grid; x is a quadratic spline. */
static void rd_halve(struct rd_retiming *r, struct rd_rows *w, int i, int to, int halved)
{
    const double from = r->x[i];
    if (halved) {
        const double next = r->x[to + 2], old = w->warm[i], mid = old > 0.0 ? 0.25 * (from + 2.0 * old + next) : 0.4 * (from + next);
        w->warm[to] = from > 0.0 ? 0.5 * (from + (old > 0.0 ? old : mid)) : -1.0;
        w->warm[to + 1] = next > 0.0 ? 0.5 * (next + (old > 0.0 ? old : mid)) : -1.0;
        r->x[to + 1] = mid, w->free[to + 1] = 0.5 * (w->free[i] + w->free[to + 2]);
    } else
        w->warm[to] = w->warm[i];
    r->x[to] = from, w->free[to] = w->free[i];
}

/* Halve the intervals in which the grid is too coarse, which keeps the limits of all others; RD_RETIMED, or
 * RD_EMPTY where there is nothing to halve. fails: 1: the place where the profile ends, too; -1: rates are limited. */
static int rd_refine(struct rd_retiming *r, struct rd_rows *w, int fails)
{
    const int before = r->points, rated = fails < 0;
    int count = 0, result = RD_EMPTY;
    double *places = malloc((size_t)before * sizeof *places);
    int *behind = malloc((size_t)before * sizeof *behind);
    const int ready = places != NULL && behind != NULL;
    for (int i = 0; i + 1 < before && ready; i++) {
        const double d = r->s[i + 1] - r->s[i];
        if (!w->coarse[i] && !(fails > 0 && r->s[i] <= r->failed_at && r->failed_at <= r->s[i + 1]))
            continue;
        if (fails <= 0 && 2.0 * d < RD_SHORTEST * (sqrt(r->x[i]) + sqrt(r->x[i + 1])))
            continue;
        places[count] = r->s[i] + 0.5 * d;
        behind[count++] = i;
    }
    if (count > 0 && before + count + 2 < r->capacity) {
        struct rd_rows old = *w;
        result = rd_retime_insert(r, w->knot, places, behind, count) ? rd_retime_rows(r, w) : RD_NOT_FINITE;
        for (int i = before - 1, k = count - 1; i >= 0 && result == RD_RETIMED; i--) {
            const int halved = k >= 0 && behind[k] == i, to = i + k + 1 - halved;
            const size_t from = (size_t)i * w->count, at = (size_t)to * w->count;
            w->coarse[to] = w->estimates[to] = w->tries[to] = w->kept[to] = 0;
            if (rated)
                rd_halve(r, w, i, to, halved);
            if (halved) {
                w->coarse[to + 1] = w->estimates[to + 1] = w->tries[to + 1] = w->kept[to + 1] = 0;
                k--;
                continue;
            }
            for (int row = 0; row < w->count; row++)
                w->upper[at + row] = old.upper[from + row], w->lower[at + row] = old.lower[from + row];
            if (i > 0 && !(k >= 0 && behind[k] == i - 1))
                w->most[to] = old.most[i];
        }
        free(old.sign), free(old.a);
    }
    free(places), free(behind);
    return ready ? result : RD_NO_MEMORY;
}

int rd_retime(struct rd_retiming *r)
{
    struct rd_rows w = {0};
    int result = RD_NO_MEMORY;
    const size_t capacity = (size_t)r->capacity;
    w.knot = calloc(7 * capacity, 1);
    w.odd = calloc((size_t)r->joints + 1, 1);
    w.velocity = malloc((2 * (size_t)r->joints + 8) * sizeof *w.velocity);
    w.joint = malloc((2 * (size_t)r->joints + 4) * sizeof *w.joint);
    w.limit = malloc((2 * (size_t)r->joints + 4) * sizeof *w.limit);
    double *sets = malloc((4 * capacity + 12 * ((size_t)r->joints + 2)) * sizeof *sets);
    const int ready = w.knot != NULL && w.joint != NULL && w.limit != NULL && w.odd != NULL && sets != NULL && w.velocity != NULL;
    r->rounds_taken = r->rated = r->steps = 0;
    if (ready) {
        w.slowness = w.velocity + r->joints + 4;
        for (int j = 0; j < r->joints + 4; j++)
            w.velocity[j] = j < r->joints ? r->velocity[j] : INFINITY;
        for (int j = 0; j < r->joints + 4; j++)
            w.slowness[j] = 1.0 / w.velocity[j];
        w.coarse = w.knot + capacity, w.estimates = w.coarse + capacity, w.tries = w.estimates + capacity;
        w.kept = w.tries + capacity, w.open = w.kept + capacity, w.dirty = w.open + capacity;
        w.seen = sets + 2 * capacity + 12 * ((size_t)r->joints + 2), w.checked = w.seen + capacity;
        result = rd_retime_grid(r, w.knot);
        if (result == RD_RETIMED)
            result = rd_retime_rows(r, &w);
    }
    for (int k = 0; ready && (result == RD_RETIMED || result == RD_EMPTY); k++) {
        result = rd_retime_on_grid(r, &w, sets);
        if (result != RD_RETIMED && result != RD_EMPTY)
            break;
        int coarse = 0;
        for (int i = 0; i + 1 < r->points; i++)
            coarse |= w.coarse[i];
        if (w.finest || !(coarse || result == RD_EMPTY))
            break;
        const int refined = k < r->refinements ? rd_refine(r, &w, result == RD_EMPTY) : RD_EMPTY;
        if (refined == RD_EMPTY) {
            if (result == RD_EMPTY)
                break;
            w.finest = 1;
        } else
            result = refined;
    }
    if (result == RD_RETIMED)
        rd_retime_shares(r, &w);
    w.free = sets, w.warm = sets + capacity;
    for (int i = 0; i < r->points && result == RD_RETIMED && r->rate != NULL; i++)
        w.free[i] = r->x[i], w.warm[i] = -1.0;
    for (int k = 0; result == RD_RETIMED && r->rate != NULL; k++) {
        result = rd_retime_rates(r, &w, k >= RD_RATED_REFINEMENTS);
        if (result != RD_TOO_COARSE)
            break;
        result = rd_refine(r, &w, -1);
        if (result == RD_EMPTY)
            result = rd_retime_rates(r, &w, 1);
    }
    free(w.knot), free(w.odd), free(w.velocity), free(w.joint), free(w.limit), free(w.sign), free(w.a), free(sets);
    return result;
}
