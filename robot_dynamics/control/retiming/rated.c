/* Profiles within limits of the rate of efforts: their inequalities, and solutions until the motion keeps them. */
#include "rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Solutions after which not only the limits of intervals fall where the motion between the points exceeds them. */
#define RD_LOCAL 9
/* Smallest share of the profile without limits of rates that is tried as a start. */
#define RD_SLOWEST 1e-15
/* Share of the fastest beginning from rest with which a start begins. */
#define RD_RAMP 0.7
/* Share of that profile, slacks as shares of their limits, and surrogate gap as a share of the duration, of a first
 * start, which need not keep the limits. */
#define RD_FIRST 0.3
#define RD_WIDE 0.3
#define RD_GAP 1.0
#define RD_END_GAP 1e-3
/* Gaps of the next solutions, and of a start that is very slow. */
#define RD_NEXT_GAP 3e-3
#define RD_NEXT_END 3e-4
#define RD_SLOW_GAP 4.0
/* A motion that lacks no more than this is passed more slowly as a whole. */
#define RD_SLIGHT 1e-3

static int rd_rates_room(struct rd_rates *z, int points, int columns)
{
    const size_t cells = (size_t)points * columns, arrays = 12 + 5 * RD_SIDES;
    double *room = calloc(arrays * cells + 22 * (size_t)points + 4 + 2 * (size_t)columns, sizeof *room);
    if (room == NULL)
        return 0;
    double **cell[] = {&z->p,  &z->q,    &z->c,    &z->viscous, &z->swift, &z->high,
                       &z->low, &z->up, &z->down, &z->rate,    &z->tau,   &z->slope};
    z->points = points, z->columns = columns;
    for (int k = 0; k < 12; k++, room += cells)
        *cell[k] = room;
    for (int side = 0; side < RD_SIDES; side++, room += 5 * cells) {
        z->slack[side] = room, z->dual[side] = room + cells, z->way[side] = room + 2 * cells;
        z->lack[side] = room + 3 * cells, z->drop[side] = room + 4 * cells;
    }
    z->x = room, z->next = room + points, z->step = z->next + points, z->most = z->step + points;
    z->dual_most = z->most + points, z->way_most = z->dual_most + points, z->band = z->way_most + points;
    z->before = z->band + 3 * (size_t)points, z->behind = z->before + points, z->length = z->behind + points;
    z->hold = z->length + points, z->base = z->hold + 2 * columns, z->kept = z->base + points + 2;
    z->mean = z->kept + points, z->dual_least = z->mean + 3 * (size_t)points, z->way_least = z->dual_least + points;
    z->best = z->way_least + points, z->span = z->best + points, z->steep = z->span + points;
    return 1;
}

/* Largest effort per u at point g, in limits of rates. */
static double rd_inertia(const struct rd_retiming *r, int g)
{
    double most = 0.0;
    for (int j = 0; j < r->joints; j++)
        most = RD_MAX(most, fabs(r->a[(size_t)g * r->joints + j]) / r->rate[j]);
    return most;
}

/* Largest u at point g where all joints turn at once: no effort at the point bounds it, but those nearby change with
 * it. Infinite at other points. */
static double rd_most_bend(const struct rd_retiming *r, int g, double x)
{
    if (g == 0 || g + 1 >= r->points)
        return INFINITY;
    const double before = rd_inertia(r, g - 1), after = rd_inertia(r, g + 1);
    if (!(rd_inertia(r, g) < 0.25 * RD_MIN(before, after)))
        return INFINITY;
    return 0.15 / (RD_MAX(before / (r->s[g] - r->s[g - 1]), after / (r->s[g + 1] - r->s[g])) * sqrt(x));
}

/* Rows of the grid's point g as the place between the coefficients i and i + 1: x is before x_i + behind x_(i+1),
 * and u is bend (x_(i+1) - tail x_i). */
static void rd_place(const struct rd_retiming *r, struct rd_rates *z, int g, int i, double bend, double tail)
{
    const int n = r->joints, m = z->columns;
    const size_t from = (size_t)g * n, to = (size_t)i * m;
    const double e0 = z->before[i], e1 = z->behind[i];
    for (int j = 0; j < n; j++) {
        const double rate = r->qp[from + j], *f = rd_friction_of(r, j);
        const int sign = rate > 0.0 ? 1 : rate < 0.0 ? -1 : 0;
        const double *q = r->qp + from + j;
        /* At a turn of the joint, dry friction may act either way. */
        const int turns = fabs(rate) < 1e-9 || (g > 0 && g + 1 < r->points && q[-n] * q[n] < 0.0);
        const double size = RD_MAX(rd_greatest_dry(f, turns ? 1.0 : sign), rd_greatest_dry(f, turns ? -1.0 : sign));
        const double help = turns ? -size : rd_least_dry(f, sign);
        z->p[to + j] = e0 * r->b[from + j] - tail * bend * r->a[from + j];
        z->q[to + j] = e1 * r->b[from + j] + bend * r->a[from + j];
        z->c[to + j] = r->c[from + j];
        z->viscous[to + j] = f[RD_DAMPING] * rate, z->swift[to + j] = rate;
        z->up[to + j] = 1.0 + sign * f[RD_LOAD_FRICTION], z->down[to + j] = 1.0 - sign * f[RD_LOAD_FRICTION];
        if (isfinite(r->effort[j])) {
            const double limit = r->effort[j] * (1.0 - 1e-4);
            z->high[to + j] = limit - (sign < 0 ? -help : size);
            z->low[to + j] = limit + (sign > 0 ? help : -size);
        }
        if (isfinite(r->acceleration[j])) {
            z->p[to + n + j] = e0 * r->qpp[from + j] - tail * bend * rate;
            z->q[to + n + j] = e1 * r->qpp[from + j] + bend * rate;
            z->high[to + n + j] = z->low[to + n + j] = r->acceleration[j] * (1.0 - 1e-4);
        }
    }
}

/* Share of the second coefficient from rest that x is where the first interval ends; the same at the end. */
static double rd_rest(const double *s, int last, int end)
{
    const double d0 = end ? s[last] - s[last - 1] : s[1] - s[0], d1 = end ? s[last - 1] - s[last - 2] : s[2] - s[1];
    return 1.0 / (1.0 + d1 / (1.5 * d0));
}

static void rd_inequalities(const struct rd_retiming *r, struct rd_rates *z)
{
    const int n = r->joints, m = z->columns, last = r->points - 1, first = z->rest[0], top = z->points - 1;
    const double *s = r->s;
    for (int i = 0; i <= top; i++) {
        const size_t to = (size_t)i * m;
        const int g = first + i; /* behind the interval */
        double most = r->cap;
        for (int k = 0; k < m; k++) {
            z->high[to + k] = z->low[to + k] = z->rate[to + k] = RD_NONE;
            z->up[to + k] = z->down[to + k] = 1.0;
        }
        for (int j = 0; j < n; j++) {
            if (isfinite(r->rate[j]))
                z->rate[to + j] = r->rate[j] * (1.0 - 2e-3);
            for (int k = RD_MAX(g - 1, 0); k <= RD_MIN(g, last); k++) {
                const double rate = fabs(r->qp[(size_t)k * n + j]), limit = r->velocity[j] * (1.0 - 2.0 * RD_FREE);
                most = RD_MIN(most, limit * limit / RD_MAX(rate * rate, 1e-200));
            }
        }
        z->most[i] = RD_MIN(most, RD_NONE);
        if (i > 0 && i < top)
            z->length[i] = s[g] - s[g - 1];
        if (i == top)
            break;
        if ((i == 0 && z->rest[0]) || (i + 1 == top && z->rest[1])) {
            const int end = i > 0, at = end ? top : 0;
            const double share = rd_rest(s, last, end), d = end ? s[last] - s[last - 1] : s[1] - s[0];
            z->length[at] = 3.0 * d / sqrt(share);
            z->before[i] = end ? share : 0.0, z->behind[i] = end ? 0.0 : share;
            /* u is 2 x / (3 d) there. */
            rd_place(r, z, g, i, end ? 0.0 : share / (1.5 * d), 0.0);
            for (int j = 0; j < n && end; j++) {
                const size_t from = (size_t)g * n + j, cell = (size_t)i * m + j;
                z->p[cell] -= share / (1.5 * d) * r->a[from];
                if (isfinite(r->acceleration[j]))
                    z->p[cell + n] -= share / (1.5 * d) * r->qp[from];
            }
            for (int j = 0; j < n; j++)
                z->hold[end * m + j] = r->c[(size_t)(end ? last : 0) * n + j];
            continue;
        }
        const double left = i > 0 ? 0.5 * (s[g] - s[g - 1]) : 0.0, right = i + 1 < top ? 0.5 * (s[g + 1] - s[g]) : 0.0;
        z->before[i] = right / (left + right), z->behind[i] = left / (left + right);
        rd_place(r, z, g, i, 0.5 / (left + right), 1.0);
        const double bend = rd_most_bend(r, g, z->base[g]);
        if (bend < INFINITY) {
            z->p[to + m - 1] = -0.5 / (left + right), z->q[to + m - 1] = 0.5 / (left + right);
            z->high[to + m - 1] = z->low[to + m - 1] = bend;
        }
    }
    for (int i = 1; i < top; i++) {
        double *w = z->mean + 3 * (size_t)i;
        w[0] = z->before[i - 1] / 3.0, w[1] = (z->behind[i - 1] + 1.0 + z->before[i]) / 3.0, w[2] = z->behind[i] / 3.0;
    }
    z->mean[2] = z->mean[3 * (size_t)top] = 1.0; /* from rest and to rest: the neighbour */
}

/* Largest x by (distance to the end)^(4/3) of a motion from or to rest: the third derivative of s is constant. */
static double rd_ramp(const struct rd_retiming *r, int point)
{
    double jerk = RD_NONE;
    for (int j = 0; j < r->joints; j++)
        if (isfinite(r->rate[j]))
            jerk = RD_MIN(jerk, r->rate[j] / RD_MAX(fabs(r->a[(size_t)point * r->joints + j]), 1e-200));
    return pow(36.0, 2.0 / 3.0) / 4.0 * pow(jerk, 2.0 / 3.0);
}

/* About a share of the profile without limits of rates; from rest and to rest, as s permits that changes with the cube
 * of time. */
static void rd_guess(const struct rd_retiming *r, struct rd_rates *z, double share)
{
    const int last = z->points - 1, first = z->rest[0], end = r->points - 1;
    const double begin = r->s[0], whole = r->s[end] - begin, ramps[2] = {rd_ramp(r, 0), rd_ramp(r, end)};
    for (int i = 1; i < last; i++) {
        const int g = first + i;
        const double along = (0.5 * (r->s[g - 1] + r->s[g]) - begin) / whole;
        double size = share, most = 0.5 * (z->base[g - 1] + z->base[g]);
        if (r->variant > 0)
            size *= exp(0.8 * sin(6.28 * (0.37 * r->variant + (1 + r->variant % 5) * along)));
        if (!z->rest[0] && !z->rest[1])
            most = RD_MIN(most, pow(z->base[0], 1.0 - along) * pow(z->base[end], along) / share);
        else if (!(z->rest[0] && z->rest[1])) /* from the moving end as slowly as it goes on */
            most = RD_MIN(most, z->base[z->rest[0] ? end : 0] * pow(z->rest[0] ? along : 1.0 - along, 4.0 / 3.0) / share);
        double over = 1.0 / (size * most);
        for (int k = 0; k < 2; k++) {
            const double away = whole * (k ? 1.0 - along : along);
            over += z->rest[k] ? 1.0 / (RD_MIN(1.0, 2.0 * sqrt(share)) * RD_RAMP * ramps[k] * pow(away, 4.0 / 3.0)) : 0.0;
        }
        z->x[i] = RD_MIN(1.0 / over, 0.999 * z->most[i]);
    }
}

/* A first start: what is known from a coarser grid, or a guess. */
static void rd_first(const struct rd_retiming *r, const struct rd_rows *w, struct rd_rates *z)
{
    int warm = 1;
    for (int i = 1; i + 1 < z->points; i++)
        warm &= w->warm[i - 1 + z->rest[0]] > 0.0;
    if (!warm)
        rd_guess(r, z, RD_FIRST);
    for (int i = 1; i + 1 < z->points && warm; i++)
        z->x[i] = RD_MIN(w->warm[i - 1 + z->rest[0]], 0.999 * z->most[i]);
}

/* A start that keeps all limits; whether there is one. */
static int rd_start(const struct rd_retiming *r, struct rd_rates *z)
{
    for (double share = 0.5; share > RD_SLOWEST; share *= 0.5) {
        rd_guess(r, z, share);
        if (rd_slacks(z, z->x))
            return 1;
    }
    return 0;
}

/* Slacks of a start that need not keep the limits: shares of these. */
static void rd_wide(struct rd_rates *z)
{
    const int m = z->columns;
    rd_spans(z, z->x);
    for (int i = 0; i < z->points; i++) {
        const double span = z->span[i];
        for (int k = 0; k < m; k++) {
            const size_t at = (size_t)i * m + k;
            z->slack[RD_HIGH][at] = RD_WIDE * RD_MAX(fabs(z->high[at]), 1e-9);
            z->slack[RD_LOW][at] = RD_WIDE * RD_MAX(fabs(z->low[at]), 1e-9);
            z->slack[RD_RISE][at] = z->slack[RD_FALL][at] = RD_WIDE * (z->rate[at] < RD_NONE ? z->rate[at] * span : RD_NONE);
        }
    }
}

/* Limits that are nearest, where it is the rate. */
static void rd_rate_shares(struct rd_retiming *r, const struct rd_rates *z)
{
    for (int i = 0; i < z->points; i++)
        for (int j = 0; j < r->joints && rd_bounded(z, i); j++) {
            const int g = RD_MAX(z->rest[0] + i - 1, 0);
            const size_t at = (size_t)i * z->columns + j;
            const double most = z->rate[at] * z->span[i];
            const double used = 1.0 - RD_MIN(z->slack[RD_RISE][at], z->slack[RD_FALL][at]) / most;
            if (z->rate[at] < RD_NONE && used > r->share[g])
                r->share[g] = used, r->kind[g] = RD_BY_RATE, r->joint[g] = j;
        }
}

/* A profile that is known, within the limits of speeds. */
static void rd_within_most(struct rd_rates *z, const double *x)
{
    for (int i = 1; i + 1 < z->points; i++)
        z->x[i] = RD_MIN(x[i], z->most[i] * (1.0 - 1e-6));
}

/* Fastest x within the limits as they are, from the last one; whether there is one. far: whether it is beyond many of
 * them. */
static int rd_solution(const struct rd_retiming *r, struct rd_rates *z, int first, int far, int *steps)
{
    int done = -1;
    memcpy(z->kept, z->x, (size_t)z->points * sizeof *z->x);
    if (!first && !far) {
        rd_within_most(z, z->kept);
        done = rd_interior(z, RD_NEXT_GAP, RD_NEXT_END, 1);
        *steps += abs(done);
    }
    if (done < 0 || !rd_slacks(z, z->x)) {
        rd_within_most(z, z->kept);
        rd_wide(z);
        done = rd_interior(z, RD_GAP, first ? RD_END_GAP : RD_NEXT_END, 1);
        *steps += abs(done);
    }
    if (done >= 0 && rd_slacks(z, z->x))
        return 1;
    /* From a motion within all limits: a little slower than the last one, or very slow. */
    memcpy(z->x, z->kept, (size_t)z->points * sizeof *z->x);
    for (double less = 1e-3; less < 1.0 && !first && !rd_slacks(z, z->x); less *= 2.0)
        for (int i = 1; i + 1 < z->points; i++)
            z->x[i] *= 1.0 - less;
    const int again = first || !rd_slacks(z, z->x);
    if (again && !rd_start(r, z))
        return 0;
    *steps += rd_interior(z, again ? RD_SLOW_GAP : RD_NEXT_GAP, again ? RD_END_GAP : RD_NEXT_END, 0);
    return 1;
}

/* Largest lack of the slowest start, for the message. */
static void rd_explain_start(struct rd_retiming *r, const struct rd_rates *z)
{
    double worst = 0.0;
    r->failed_joint = -1;
    for (int i = 0; i < z->points; i++)
        for (int side = 0; side < RD_SIDES; side++)
            for (int j = 0; j < r->joints && (side < RD_RISE ? i + 1 < z->points : rd_bounded(z, i)); j++) {
                const size_t at = (size_t)i * z->columns + j;
                const double limit = side < RD_RISE ? r->effort[j] : r->rate[j] * z->span[i], lack = -z->slack[side][at] / limit;
                if (!(lack > worst))
                    continue;
                worst = lack;
                const int g = z->rest[0] + i - (side >= RD_RISE);
                r->failed_at = r->s[RD_MIN(RD_MAX(g, 0), r->points - 1)];
                r->failed_kind = side < RD_RISE ? RD_BY_EFFORT : RD_BY_RATE, r->failed_joint = j;
                r->failed_limit = side < RD_RISE ? limit : r->rate[j], r->failed_value = (1.0 + lack) * r->failed_limit;
            }
}

/* Intervals in which the grid is too coarse for what is delivered; their number. */
static int rd_uneven(const struct rd_retiming *r, struct rd_rows *w, const struct rd_rates *z)
{
    int count = 0;
    for (int i = 0; i + 1 < r->points; i++) {
        const int at = i + 1 - z->rest[0];
        w->warm[i] = at > 0 && at + 1 < z->points ? z->x[at] : -1.0;
        count += w->coarse[i];
    }
    return count;
}

/* fine: whether the grid stays as it is. */
int rd_retime_rates(struct rd_retiming *r, struct rd_rows *w, int fine)
{
    struct rd_rates z = {0};
    const int last = r->points - 1;
    int hard = 0, beyond = 0, result = RD_BEYOND;
    double fastest = INFINITY;
    for (int j = 0; j < r->joints; j++) {
        hard |= isfinite(r->acceleration[j]);
        z.curved = rd_viscous_is_linear(rd_friction_of(r, j)) ? z.curved : r;
    }
    z.rest[0] = r->x[0] <= 0.0, z.rest[1] = r->x[last] <= 0.0;
    if (!rd_rates_room(&z, r->points + 1 - z.rest[0] - z.rest[1], ((1 + hard) * r->joints + 4) / 4 * 4))
        return RD_NO_MEMORY;
    memcpy(z.base, w->free, (size_t)r->points * sizeof *z.base);
    rd_inequalities(r, &z);
    z.x[0] = z.next[0] = r->x[0], z.x[z.points - 1] = z.next[z.points - 1] = r->x[last];
    r->rated = 1;
    rd_first(r, w, &z);
    for (int k = 0; k < r->solutions && result == RD_BEYOND; k++) {
        if (!rd_solution(r, &z, k == 0, 3 * beyond > r->points, &r->steps)) {
            result = k > 0 ? RD_BEYOND : RD_RATE;
            if (k == 0)
                rd_explain_start(r, &z);
            break;
        }
        const double time = rd_deliver(r, &z);
        beyond = rd_beyond(r, &z, 1.0 + RD_MIN(k, RD_LOCAL), w->coarse);
        if (beyond < 0)
            result = RD_NO_MEMORY;
        else if (k == 0 && !fine && rd_uneven(r, w, &z) > 0)
            result = RD_TOO_COARSE;
        else if (beyond == 0 || rd_slower(r, &z, w->coarse, RD_SLIGHT * RD_MAX(k - RD_LOCAL, 1)))
            result = RD_RETIMED;
        else if (time * z.worst < fastest)
            fastest = time * z.worst, memcpy(z.best, z.x, (size_t)z.points * sizeof *z.x);
    }
    if (result == RD_BEYOND && fastest < INFINITY) {
        memcpy(z.x, z.best, (size_t)z.points * sizeof *z.x);
        rd_deliver(r, &z);
        if (rd_beyond(r, &z, 1.0, w->coarse) >= 0 && rd_slower(r, &z, w->coarse, INFINITY))
            result = RD_RETIMED;
    }
    if (result == RD_BEYOND) {
        r->failed_at = r->s[z.failed], r->failed_joint = z.failed_joint, r->failed_kind = RD_BY_RATE;
        r->failed_value = z.failed_value, r->failed_limit = r->rate[z.failed_joint];
    }
    r->rated = result == RD_RETIMED;
    if (r->rated) {
        rd_retime_shares(r, w);
        rd_slacks(&z, z.x);
        rd_rate_shares(r, &z);
    }
    free(z.p);
    return result;
}
