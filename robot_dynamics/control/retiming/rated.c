/* Profiles within limits of the rate of efforts: their inequalities, and the motion that is delivered. */
#include "rate.h"

#include "friction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Solutions after which not only the limits of intervals fall where the motion between the points exceeds them. */
#define RD_LOCAL 9
#define RD_SAMPLES 4
/* Smallest share of the profile without limits of rates that is tried as a start. */
#define RD_SLOWEST 1e-15
/* Share of the fastest beginning from rest with which a start begins. */
#define RD_RAMP 0.7
/* Share of that profile, slacks as shares of their limits, and surrogate gap as a share of the duration, of a first
 * start, which need not keep the limits. */
#define RD_FIRST 0.3
#define RD_WIDE 0.3
#define RD_GAP 1.0

static int rd_rates_room(struct rd_rates *z, int points, int columns)
{
    const size_t cells = (size_t)points * columns, arrays = 11 + 5 * RD_SIDES;
    double *room = calloc(arrays * cells + 14 * (size_t)points + 4 + 2 * (size_t)columns, sizeof *room);
    if (room == NULL)
        return 0;
    double **cell[] = {&z->p, &z->q, &z->c, &z->viscous, &z->high, &z->low, &z->up, &z->down, &z->rate, &z->tau, &z->slope};
    z->points = points, z->columns = columns;
    for (int k = 0; k < 11; k++, room += cells)
        *cell[k] = room;
    for (int side = 0; side < RD_SIDES; side++, room += 5 * cells) {
        z->slack[side] = room, z->dual[side] = room + cells, z->way[side] = room + 2 * cells;
        z->lack[side] = room + 3 * cells, z->drop[side] = room + 4 * cells;
    }
    z->x = room, z->next = room + points, z->step = z->next + points, z->most = z->step + points;
    z->dual_most = z->most + points, z->way_most = z->dual_most + points, z->band = z->way_most + points;
    z->before = z->band + 3 * (size_t)points, z->behind = z->before + points, z->length = z->behind + points;
    z->hold = z->length + points, z->base = z->hold + 2 * columns, z->kept = z->base + points + 2;
    return 1;
}

/* Rows of the grid's point g as the place between the coefficients i and i + 1: x is before x_i + behind x_(i+1),
 * and u is bend (x_(i+1) - tail x_i). */
static void rd_place(const struct rd_retiming *r, struct rd_rates *z, int g, int i, double bend, double tail)
{
    const int n = r->joints, m = z->columns;
    const size_t from = (size_t)g * n, to = (size_t)i * m;
    const double e0 = z->before[i], e1 = z->behind[i];
    for (int j = 0; j < n; j++) {
        const double rate = r->qp[from + j], *f = r->friction + 5 * j;
        const int sign = rate > 0.0 ? 1 : rate < 0.0 ? -1 : 0;
        const double *q = r->qp + from + j;
        /* Where it turns, dry friction may act either way. */
        const int turns = fabs(rate) < 1e-9 || (g > 0 && g + 1 < r->points && q[-n] * q[n] < 0.0);
        const double size = RD_MAX(f[1], f[2]) + (turns ? fabs(f[4]) : sign * f[4]);
        const double help = turns ? -size : RD_MIN(f[1], f[2]) + sign * f[4];
        z->p[to + j] = e0 * r->b[from + j] - tail * bend * r->a[from + j];
        z->q[to + j] = e1 * r->b[from + j] + bend * r->a[from + j];
        z->c[to + j] = r->c[from + j];
        z->viscous[to + j] = f[0] * rate;
        z->up[to + j] = 1.0 + sign * r->load_friction[j], z->down[to + j] = 1.0 - sign * r->load_friction[j];
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
    }
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
    for (int i = 0; i < z->points; i++) {
        double unused;
        const double span = rd_span(z, z->x, i, &unused);
        for (int k = 0; k < m; k++) {
            const size_t at = (size_t)i * m + k;
            z->slack[RD_HIGH][at] = RD_WIDE * RD_MAX(fabs(z->high[at]), 1e-9);
            z->slack[RD_LOW][at] = RD_WIDE * RD_MAX(fabs(z->low[at]), 1e-9);
            z->slack[RD_RISE][at] = z->slack[RD_FALL][at] = RD_WIDE * (z->rate[at] < RD_NONE ? z->rate[at] * span : RD_NONE);
        }
    }
}

/* x, u and durations of the motion whose u is linear in s between the points. */
static void rd_deliver(struct rd_retiming *r, struct rd_rates *z)
{
    static const double place[5] = {0.04691007703066802, 0.23076534494715845, 0.5, 0.76923465505284155, 0.95308992296933198};
    static const double weight[5] = {0.11846344252809454, 0.23931433524968324, 0.28444444444444444, 0.23931433524968324,
                                     0.11846344252809454};
    const int last = r->points - 1, first = z->rest[0];
    const double *x = z->x, *s = r->s;
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
            continue;
        }
        for (int k = 0; k < 5; k++) {
            const double t = place[k], here = y0 + d * t * (2.0 * u0 + (u1 - u0) * t);
            time += d * weight[k] / sqrt(RD_MAX(here, 1e-3 * RD_MIN(y0, y1)));
        }
        r->h[i] = time;
        /* Its time is almost its length by the root of its coefficient. */
        const int at = i + 1 - first;
        z->length[at] = time * sqrt(x[at]);
    }
}

/* Lower a limit, but not below what holds the arm. */
static void rd_lower(double *limit, double less, double hold)
{
    *limit = RD_MAX(*limit - less, RD_MIN(*limit, hold));
}

/* Lower limits where the motion is beyond them, by so much more; the number of intervals concerned, or -1. */
static int rd_beyond(const struct rd_retiming *r, struct rd_rates *z, double push)
{
    const int n = r->joints, m = z->columns, intervals = r->points - 1, each = RD_SAMPLES + 1;
    const size_t count = (size_t)each * intervals;
    struct rd_basis basis[RD_SAMPLES + 1];
    double *room = malloc((4 * count * n + 12) * sizeof *room), *q = room, *qd = q + count * n + 4;
    double *qdd = qd + count * n + 4, *effort = qdd + count * n;
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
    for (int i = 0; i < intervals; i++) {
        int moved = 0;
        for (int j = 0; j < n; j++) {
            const double *f = r->friction + 5 * j, part = RD_SAMPLES / r->h[i];
            const double law[RD_FRICTION_PARAMETERS] = {f[0], f[1], f[2], f[3], f[4], r->load_friction[j]};
            const int place = i + 1 - z->rest[0], top = z->points - 1; /* of the interval */
            const size_t to = (size_t)RD_MIN(place, top) * m + j, back = (size_t)RD_MAX(place - 1, 0) * m + j;
            double above = 0.0, below = 0.0, rate = 0.0, fast = 0.0, hard = 0.0, last = 0.0, mean = 0.0, change[RD_SAMPLES + 1];
            double up[RD_SAMPLES + 1], down[RD_SAMPLES + 1], forth[RD_SAMPLES + 1], back_to[RD_SAMPLES + 1];
            for (int k = 0; k < each; k++) {
                const size_t at = ((size_t)i * each + k) * n + j;
                const double v = qd[at], load = effort[at] + r->rotor[j] * qdd[at], smooth = load + f[0] * v;
                const double tau = load + rd_friction(law, v, v, effort[at]), free = r->effort[j] * (1.0 - RD_FREE);
                up[k] = tau - free, down[k] = -tau - free, forth[k] = v, back_to[k] = -v;
                hard = RD_MAX(hard, fabs(qdd[at]));
                change[k] = (smooth - last) * part;
                if (k > 0)
                    rate = RD_MAX(rate, fabs(change[k])), mean += change[k] / RD_SAMPLES;
                last = smooth;
            }
            const double doubt = rd_doubt(up, each), unsure = doubt > 0.5 * RD_FREE * r->effort[j] ? doubt : 0.0;
            above = rd_peak(up, each) + unsure, below = rd_peak(down, each) + unsure;
            fast = RD_MAX(rd_peak(forth, each), rd_peak(back_to, each));
            /* Towards the ends it goes on as it changes. */
            rate = RD_MAX(rate, fabs(1.5 * change[1] - 0.5 * change[2]));
            rate = RD_MAX(rate, fabs(1.5 * change[RD_SAMPLES] - 0.5 * change[RD_SAMPLES - 1]));
            if (above > 0.0) {
                const double less = push * (1.2 * above + 1e-5 * r->effort[j]);
                for (size_t at = back; at <= to; at += m)
                    rd_lower(&z->high[at], less + 0.3 * z->slack[RD_HIGH][at], z->up[at] * z->c[at] + 0.01 * r->effort[j]);
                moved = 1;
            }
            if (below > 0.0) {
                const double less = push * (1.2 * below + 1e-5 * r->effort[j]);
                for (size_t at = back; at <= to; at += m)
                    rd_lower(&z->low[at], less + 0.3 * z->slack[RD_LOW][at], 0.01 * r->effort[j] - z->down[at] * z->c[at]);
                moved = 1;
            }
            if (hard > r->acceleration[j] * (1.0 - RD_FREE)) {
                const double less = push * (1.2 * (hard - r->acceleration[j]) + 1e-4 * r->acceleration[j]);
                z->high[to + n] -= less, z->low[to + n] -= less, z->high[back + n] -= less, z->low[back + n] -= less;
                moved = 1;
            }
            if (fast > r->velocity[j] * (1.0 - RD_FREE)) {
                const double less = r->velocity[j] / fast, share = less * less * (1.0 - 1e-4 * push);
                z->most[RD_MIN(place, top)] *= share, moved = 1;
            }
            if (rate > r->rate[j] * (1.0 - RD_FREE)) {
                const double less = RD_MAX(r->rate[j] / rate, 0.5) * (1.0 - 2e-3 * push);
                /* What it is on the whole is the place to begin at: it may have been lower than the limit. */
                const int all = fabs(mean) < 0.8 * rate; /* other joints make it change within the interval */
                z->rate[to] = RD_MIN(z->rate[to], RD_MAX(fabs(mean), 0.5 * z->rate[to])) * less, moved = 1;
                for (int k = 0; k < n && all; k++)
                    z->rate[to - j + k] *= k == j ? 1.0 : less;
                /* Neighbours take over what it leaves. */
                for (int k = -1; k < 2 && !all; k += 2)
                    if (place + k >= 0 && place + k <= top)
                        z->rate[to + (ptrdiff_t)k * m] *= 1.0 - 1e-3 * push;
            }
        }
        if (moved && changed++ == 0)
            z->failed = i;
    }
    free(room);
    return changed;
}

/* Limits that are nearest, where it is the rate. */
static void rd_rate_shares(struct rd_retiming *r, const struct rd_rates *z)
{
    for (int i = 0; i < z->points; i++)
        for (int j = 0; j < r->joints && rd_bounded(z, i); j++) {
            double unused;
            const int g = RD_MAX(z->rest[0] + i - 1, 0);
            const size_t at = (size_t)i * z->columns + j;
            const double most = z->rate[at] * rd_span(z, z->x, i, &unused);
            const double used = 1.0 - RD_MIN(z->slack[RD_RISE][at], z->slack[RD_FALL][at]) / most;
            if (z->rate[at] < RD_NONE && used > r->share[g])
                r->share[g] = used, r->kind[g] = RD_BY_RATE, r->joint[g] = j;
        }
}

int rd_retime_rates(struct rd_retiming *r, const struct rd_rows *w)
{
    struct rd_rates z = {0};
    const int last = r->points - 1;
    int hard = 0;
    for (int j = 0; j < r->joints; j++)
        hard |= isfinite(r->acceleration[j]);
    z.rest[0] = r->x[0] <= 0.0, z.rest[1] = r->x[last] <= 0.0;
    const int ready = rd_rates_room(&z, r->points + 1 - z.rest[0] - z.rest[1], ((1 + hard) * r->joints + 3) / 4 * 4);
    int result = ready ? RD_BEYOND : RD_NO_MEMORY;
    if (!ready)
        return result;
    rd_inequalities(r, &z);
    z.x[0] = z.next[0] = r->x[0], z.x[z.points - 1] = r->x[last];
    r->steps = 0, r->rated = 1;
    memcpy(z.base, r->x, (size_t)r->points * sizeof *z.base);
    if (!rd_start(r, &z))
        result = RD_RATE;
    else
        rd_deliver(r, &z);
    for (int k = 0; k < r->solutions && result == RD_BEYOND; k++) {
        memcpy(z.kept, z.x, (size_t)z.points * sizeof *z.x);
        if (k == 0)
            rd_guess(r, &z, RD_FIRST), rd_wide(&z);
        for (int i = 1; i + 1 < z.points; i++)
            z.x[i] = RD_MIN(z.x[i], z.most[i] * (1.0 - 1e-6));
        int steps = rd_interior(&z, k == 0 ? RD_GAP : 3e-3, k == 0 ? 1e-3 : 3e-4, 1);
        r->steps += abs(steps);
        if (!rd_slacks(&z, z.x))
            steps = -1;
        if (steps < 0) /* a little slower than the last motion */
            memcpy(z.x, z.kept, (size_t)z.points * sizeof *z.x);
        if (steps < 0) {
            for (double less = 1e-3; less < 1.0 && !rd_slacks(&z, z.x); less *= 2.0)
                for (int i = 1; i + 1 < z.points; i++)
                    z.x[i] *= 1.0 - less;
            const int again = k == 0 || !rd_slacks(&z, z.x);
            if (again && !rd_start(r, &z))
                break;
            r->steps += rd_interior(&z, again ? 4.0 : 3e-3, again ? 1e-3 : 3e-4, 0);
        }
        rd_deliver(r, &z);
        const int beyond = rd_beyond(r, &z, 1.0 + RD_MIN(k, RD_LOCAL));
        if (beyond == 0)
            result = RD_RETIMED;
        if (beyond < 0)
            result = RD_NO_MEMORY;
        /* What goes from one interval to the next ends where all are a little slower. */
        for (size_t at = 0; at < (size_t)z.points * z.columns && k >= RD_LOCAL; at++)
            z.rate[at] *= z.rate[at] < RD_NONE ? 0.99 : 1.0;
    }
    r->failed_at = r->s[z.failed];
    r->rated = result == RD_RETIMED;
    if (r->rated) {
        rd_retime_shares(r, w);
        rd_rate_shares(r, &z);
    }
    free(z.p);
    return result;
}
