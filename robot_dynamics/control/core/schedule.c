/* Sampling of a plan at a time: robot_dynamics.control.spline.QuinticSpline and trajectory.Trajectory. */
#include "internal.h"

#include <string.h>

/* The k with times[k] <= time < times[k + 1]; time lies inside the plan. Mostly it is the last one or the next. */
static size_t find_segment(const rd_plan *plan, size_t guess, double time)
{
    const double *times = plan->times;
    size_t low = 0, high = plan->knots - 1;
    if (guess < high && times[guess] <= time) {
        low = guess;
        for (int i = 0; i < 4 && low + 1 < high; ++i, ++low) {
            if (time < times[low + 1]) {
                return low;
            }
        }
    }
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (time < times[middle]) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return low;
}

static void evaluate(const rd_plan *plan, size_t segment, double s, int n, const rd_motion *out)
{
    const double h = plan->times[segment + 1] - plan->times[segment];
    const double *c0 = plan->coefficients + segment * 6 * (size_t)n;
    const double *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n, *c4 = c3 + n, *c5 = c4 + n;
    for (int j = 0; j < n; ++j) {
        out->position[j] = c0[j] + s * (c1[j] + s * (c2[j] + s * (c3[j] + s * (c4[j] + s * c5[j]))));
        out->velocity[j] =
            (c1[j] + s * (2.0 * c2[j] + s * (3.0 * c3[j] + s * (4.0 * c4[j] + s * 5.0 * c5[j])))) / h;
        out->acceleration[j] = (2.0 * c2[j] + s * (6.0 * c3[j] + s * (12.0 * c4[j] + s * 20.0 * c5[j]))) / (h * h);
    }
}

static void copy_motion(const rd_motion *out, const rd_motion *from, int n)
{
    rd_copy(out->position, from->position, n);
    rd_copy(out->velocity, from->velocity, n);
    rd_copy(out->acceleration, from->acceleration, n);
}

void rd_sample(rd_cursor *cursor, int n, double time, const rd_motion *out)
{
    const rd_plan *plan = cursor->plan;
    const size_t last = plan->knots - 1;
    if (plan->stream) {
        copy_motion(out, time > plan->stream->time ? &plan->stream->ahead : &plan->stream->now, n);
    } else if (time >= plan->times[last]) {
        evaluate(plan, last - 1, 1.0, n, out);
        memset(out->velocity, 0, sizeof(double) * (size_t)n);
        memset(out->acceleration, 0, sizeof(double) * (size_t)n);
    } else if (time <= plan->times[0]) {
        evaluate(plan, 0, 0.0, n, out);
    } else {
        const size_t k = cursor->segment = find_segment(plan, cursor->segment, time);
        evaluate(plan, k, (time - plan->times[k]) / (plan->times[k + 1] - plan->times[k]), n, out);
    }
}

/* Followed references */

void rd_rest(const rd_core *core, const rd_motion *out, const double *place)
{
    rd_copy(out->position, place, core->n);
    memset(out->velocity, 0, sizeof(double) * (size_t)core->n);
    memset(out->acceleration, 0, sizeof(double) * (size_t)core->n);
}

void rd_refer(rd_core *core, double time, const rd_motion *out)
{
    rd_cursor *cursor = NULL;
    for (int i = core->waits - 1; i >= 0 && !cursor; --i) {
        cursor = time >= core->waiting[i].plan->times[0] ? &core->waiting[i] : NULL;
    }
    if (!cursor && core->current.plan && time >= core->current.plan->times[0]) {
        cursor = &core->current;
    }
    if (cursor) {
        rd_sample(cursor, core->n, time, out);
    } else if (core->stopping.kind) {
        rd_refer_stop(core, time, out);
    } else {
        rd_rest(core, out, core->hold);
    }
    rd_add_rejoining(core, time, out);
}

void rd_stop(rd_core *core)
{
    rd_copy(core->hold, core->place, core->n);
    core->current.plan = NULL;
    core->waits = 0;
    core->stopping.kind = RD_NO_STOP;
    core->blind.active = core->rejoining.active = 0;
    ++core->epoch;
}

/* Those that begin no earlier are dropped; those before it go on, and lead to it. */
int rd_follow(rd_core *core, const rd_plan *plan)
{
    int kept = 0;
    while (kept < core->waits && core->waiting[kept].plan->times[0] < plan->times[0]) {
        ++kept;
    }
    if (kept == RD_MOST_WAITING) {
        return 0;
    }
    core->before_plan.number = plan->number;
    core->before_plan.current = core->current;
    core->before_plan.waits = core->waits;
    memcpy(core->before_plan.waiting, core->waiting, sizeof core->waiting);
    core->waiting[kept] = (rd_cursor){plan, 0};
    core->waits = kept + 1;
    return 1;
}

void rd_advance(rd_core *core, double time)
{
    int begun = 0;
    while (begun < core->waits && time >= core->waiting[begun].plan->times[0]) {
        core->current = core->waiting[begun++];
        core->stopping.kind = RD_NO_STOP;
    }
    if (begun) {
        core->waits -= begun;
        memmove(core->waiting, core->waiting + begun, sizeof(rd_cursor) * (size_t)core->waits);
    }
    const rd_plan *plan = core->current.plan;
    if (plan && time >= plan->times[plan->knots - 1]) {
        rd_sample(&core->current, core->n, time, &core->ahead);
        rd_copy(core->hold, core->ahead.position, core->n);
        core->finished = plan->number;
        core->current.plan = NULL;
    }
}
