/* Stops: the reference slows down along the path that it follows, or straight on from the measured state.
 *
 * A path p has a parameter s, whose rate r falls from 1 to 0. The reference is p(s), with the velocity p' r and the
 * acceleration p'' r^2 + p' r'. In each cycle r' is the least that keeps the acceleration within the deceleration of
 * the stop, and the efforts of the reference within their limits. Neither may keep the robot going: r' is at most
 * LEAST_BRAKING of what the deceleration alone would allow on a straight path. On a straight line an arm's joint that
 * would pass its position limit brakes harder than declared, as far as efforts permit.
 *
 * The path is that of the plan in force. It is a straight line of constant velocity where the reference comes from
 * outside cycle by cycle, and where the robot is farther off than the following error: then from the measured state. */
#include "internal.h"

#include <math.h>

static const double LEAST_BRAKING = 0.2;   /* see above */
static const double EFFORT_SHARE = 0.9;  /* share of the effort limits that the reference of a stop may ask for */
static const double ROOM_SHARE = 0.9, LEAST_ROOM = 1e-3; /* of the way to a position limit, that a stop takes [rad or m] */
static const double LEAST_PACE = 0.1;    /* that counts where cycles are late: the stop ends */
static const double STANDING = 1e-9;  /* a slower reference is at rest [1/s of its coordinates] */

static double dot_product(const double *a, const double *b, int n)
{
    double sum = 0.0;
    for (int j = 0; j < n; ++j) {
        sum += a[j] * b[j];
    }
    return sum;
}

/* The path at its parameter `where`: place, first and second derivative. */
static void sample_path(rd_core *core, double where, const rd_motion *out)
{
    rd_stopping *stop = &core->stopping;
    if (stop->path.plan) {
        rd_sample(&stop->path, core->n, where, out);
        return;
    }
    rd_rest(core, out, stop->place);
    rd_copy(out->velocity, stop->rate, core->n);
    for (int j = 0; j < core->n; ++j) {
        out->position[j] += where * stop->rate[j];
    }
}

/* The path in `out` at the stop's pace, whose rate is `change`. */
static void slow_down(const rd_core *core, double pace, double change, const rd_motion *out)
{
    for (int j = 0; j < core->n; ++j) {
        out->acceleration[j] = out->acceleration[j] * pace * pace + out->velocity[j] * change;
        out->velocity[j] *= pace;
    }
}

/* Greatest of the least rates of the pace that the deceleration allows; `nominal`: on a straight path. */
static double slowest_by_deceleration(const rd_core *core, const rd_motion *path, double *nominal)
{
    const rd_stopping *stop = &core->stopping;
    const int group = core->settings->machine->group > 0 ? core->settings->machine->group : 1;
    double least = -INFINITY;
    *nominal = -INFINITY;
    for (int j = 0; j < core->n; j += group) {
        const double *d = path->velocity + j, *b = path->acceleration + j, square = stop->pace * stop->pace;
        const double dd = dot_product(d, d, group), bd = square * dot_product(b, d, group), bb = square * square * dot_product(b, b, group);
        const double most = fmax(stop->deceleration[j] * stop->deceleration[j], bb);
        if (dd > STANDING * STANDING) {
            least = fmax(least, (-bd - sqrt(bd * bd + dd * (most - bb))) / dd);
            *nominal = fmax(*nominal, -stop->deceleration[j] / sqrt(dd));
        }
    }
    return least;
}

/* The same of the effort limits. An effort that is beyond its share already must not come to be more. */
static double slowest_by_efforts(rd_core *core, const rd_motion *path)
{
    const rd_settings *settings = core->settings;
    const rd_motion at = {core->ahead.position, core->ahead.velocity, core->ahead.acceleration};
    double *cruising = core->scratch[0], *slowing = core->scratch[1], least = -INFINITY;
    for (int unit = 0; unit < 2; ++unit) {
        rd_copy(at.position, path->position, core->n);
        rd_copy(at.velocity, path->velocity, core->n);
        rd_copy(at.acceleration, path->acceleration, core->n);
        slow_down(core, core->stopping.pace, -(double)unit, &at);
        if (!settings->machine->reference_effort(core, settings, &at, unit ? slowing : cruising)) {
            return -INFINITY;
        }
    }
    for (int j = 0; j < core->n; ++j) {
        const double per_unit = slowing[j] - cruising[j], most = fmax(EFFORT_SHARE * settings->limits[j], fabs(cruising[j]));
        /* -INFINITY, or no number, of a joint that needs nothing or has no limit */
        least = fmax(least, -(copysign(most, per_unit) - cruising[j]) / per_unit);
    }
    return least;
}

/* Rate of the pace at which every joint of an arm rests before its position limit on a straight line; 0 at least. */
static double slowest_by_positions(const rd_core *core, const rd_motion *path)
{
    const rd_stopping *stop = &core->stopping;
    const double *limits = core->settings->position_limits;
    double least = 0.0;
    for (int j = 0; j < core->n && limits && !stop->path.plan; ++j) {
        const double rate = path->velocity[j];
        const double room = rate > 0.0 ? limits[core->n + j] - path->position[j] : path->position[j] - limits[j];
        least = fmin(least, -fabs(rate) * stop->pace * stop->pace / (2.0 * fmax(ROOM_SHARE * room, LEAST_ROOM)));
    }
    return least;
}

/* Rate of the pace that brings the robot to rest within the longest of the late cycles, where some were late. Feedback would
 * brake a robot that a faster reference leaves behind, with gains that rise, and be held over the next late cycle. A
 * position limit that is near goes first. */
static double slowest_by_late_cycles(const rd_core *core, const rd_motion *path)
{
    const double period = rd_control_period(core, core->settings), held = rd_longest_held(core, period);
    if (!(held > period && period > 0.0)) {
        return -INFINITY;
    }
    return fmin(-fmax(core->stopping.pace, LEAST_PACE) / held, slowest_by_positions(core, path));
}

/* The stop's pace from now on; at rest there is none any more. */
static void choose_change(rd_core *core)
{
    rd_stopping *stop = &core->stopping;
    const rd_motion *path = &core->reference;
    double nominal;
    sample_path(core, stop->where, path);
    stop->change = slowest_by_deceleration(core, path, &nominal);
    if (!isfinite(nominal) || stop->pace <= 0.0) {
        rd_copy(core->hold, path->position, core->n);
        stop->kind = RD_NO_STOP;
        return;
    }
    stop->change = fmin(stop->change, slowest_by_positions(core, path));
    stop->change = fmax(stop->change, slowest_by_efforts(core, path));
    stop->change = fmin(stop->change, LEAST_BRAKING * nominal);
    stop->change = fmax(stop->change, slowest_by_late_cycles(core, path));
}

/* Place of the stop at a time: parameter and rate of the path. */
static void stop_place(const rd_stopping *stop, double time, double *where, double *pace)
{
    const double since = fmax(0.0, time - stop->at);
    const double rests = stop->change < 0.0 ? fmin(since, -stop->pace / stop->change) : since;
    *where = stop->where + rests * (stop->pace + 0.5 * rests * stop->change);
    *pace = rests < since ? 0.0 : fmax(0.0, stop->pace + rests * stop->change);
}

double rd_stop_end(const rd_core *core)
{
    const rd_stopping *stop = &core->stopping;
    return stop->at + (stop->change < 0.0 ? -stop->pace / stop->change : 0.0);
}

/* Mean rate of the pace over the control period that contains `time`, for which its effort is held: what is left of a
 * slow motion ends within it, and the whole deceleration would push the robot back. Where cycles are late the effort may
 * be held as long as the longest of them. `path`: where the stop is; a position limit that is near goes first. None where
 * no period is known. */
static double mean_change(const rd_core *core, const rd_motion *path, double time)
{
    const rd_stopping *stop = &core->stopping;
    const double period = rd_control_period(core, core->settings), held = rd_longest_held(core, period);
    double where, pace;
    if (!(period > 0.0)) {
        return 0.0;
    }
    stop_place(stop, core->settings->looks_ahead ? time - 0.5 * period : time, &where, &pace);
    const double least = -pace / held;
    return fmax(stop->change, held > period ? fmin(least, slowest_by_positions(core, path)) : least);
}

void rd_refer_stop(rd_core *core, double time, const rd_motion *out)
{
    double where, pace;
    stop_place(&core->stopping, time, &where, &pace);
    sample_path(core, where, out);
    slow_down(core, pace, mean_change(core, out, time), out);
}

static void straight_on(rd_core *core, const double *place, const double *rate)
{
    rd_stopping *stop = &core->stopping;
    stop->path.plan = NULL;
    core->rejoining.active = 0;
    rd_copy(stop->place, place, core->n);
    rd_copy(stop->rate, rate, core->n);
    stop->where = 0.0;
    stop->pace = 1.0;
}

static void straight_from_measured(rd_core *core)
{
    const rd_machine *machine = core->settings->machine;
    double *rate = core->believed, share = 1.0;
    if (machine->find_rate) {
        rate = core->before;
        machine->find_rate(core, rate);
        for (int j = 0; j < core->n; ++j) {
            const double measured = fabs(core->state.velocity[j]);
            share = measured > STANDING ? fmin(share, fabs(core->believed[j]) / measured) : share;
        }
        for (int j = 0; j < core->n; ++j) {
            rate[j] *= share;
        }
    }
    straight_on(core, core->place, rate);
}

/* True if the robot is farther from a place of the reference than the following error. */
static int is_astray(const rd_core *core, const double *place)
{
    const rd_settings *settings = core->settings;
    if (rd_sends_setpoints(core) && !core->braked) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        const double away = place[j] - core->place[j];
        const int turns = settings->machine->group > 1 && j >= settings->machine->group;
        if (fabs(turns ? remainder(away, 2.0 * M_PI) : away) > settings->following[j]) {
            return 1;
        }
    }
    return 0;
}

static void begin_stop(rd_core *core, int kind)
{
    rd_stopping *stop = &core->stopping;
    const rd_settings *settings = core->settings;
    stop->kind = kind > stop->kind ? kind : stop->kind;
    stop->deceleration = stop->kind >= RD_STOP_EMERGENCY ? settings->stop_deceleration : settings->hold_deceleration;
    stop->at = core->time;
    core->current.plan = NULL;
    core->waits = 0;
    core->blind.active = 0;
    ++core->epoch;
    rd_end_fading_soon(core, core->time);
    choose_change(core);
    core->phase = rd_phase_of(core, stop->kind ? RD_STOPPING : RD_HOLDING);
}

void rd_stop_along(rd_core *core, int kind)
{
    rd_stopping *stop = &core->stopping;
    const rd_plan *plan = core->current.plan;
    const int at_rest = !plan && !stop->kind;
    if (at_rest) {
        rd_rest(core, &core->reference, core->hold);
    } else if (!stop->kind && !plan->stream) {
        stop->path = core->current;
        stop->where = core->time;
        stop->pace = 1.0;
        rd_sample(&stop->path, core->n, core->time, &core->reference);
    } else {
        rd_refer(core, core->time, &core->reference);
        if (!stop->kind) {
            straight_on(core, core->reference.position, core->reference.velocity);
        } else {
            stop_place(stop, core->time, &stop->where, &stop->pace);
        }
    }
    if (is_astray(core, core->reference.position)) {
        rd_keep_pull(core);
        rd_stop_straight(core, kind);
    } else if (at_rest) {
        core->waits = 0;
        ++core->epoch; /* the reference stays: taken anew each time, it would sink under a load that the model lacks */
        core->phase = rd_phase_of(core, RD_HOLDING);
    } else {
        begin_stop(core, kind);
    }
}

void rd_stop_straight(rd_core *core, int kind)
{
    rd_copy(core->hold, core->place, core->n);
    straight_from_measured(core);
    begin_stop(core, kind);
}

void rd_stop_reference(rd_core *core, int kind)
{
    rd_copy(core->hold, core->reference.position, core->n);
    straight_on(core, core->reference.position, core->reference.velocity);
    begin_stop(core, kind);
}

void rd_advance_stop(rd_core *core, double time)
{
    rd_stopping *stop = &core->stopping;
    if (!stop->kind) {
        return;
    }
    double where, pace;
    stop_place(stop, time, &where, &pace);
    stop->where = where;
    stop->pace = pace;
    stop->at = time;
    stop->deceleration =
        stop->kind >= RD_STOP_EMERGENCY ? core->settings->stop_deceleration : core->settings->hold_deceleration;
    sample_path(core, where, &core->reference);
    if (!core->blind.active && is_astray(core, core->reference.position)) {
        rd_keep_pull(core);
        straight_from_measured(core);
    }
    choose_change(core);
}

int rd_stop_from(rd_core *core, double age, const double *place, const double *velocity)
{
    rd_stopping *stop = &core->stopping;
    const double time = core->time + age, *following = core->settings->following;
    const rd_plan *plan = core->current.plan;
    int far = 0;
    if (!stop->kind && (!plan || plan->stream)) {
        far = plan != NULL;
    } else if (stop->kind) {
        stop_place(stop, time, &stop->where, &stop->pace);
    } else {
        stop->path = core->current;
        stop->where = time;
        stop->pace = 1.0;
    }
    if (!stop->kind && !plan) {
        return 0;
    }
    if (!far) {
        sample_path(core, stop->where, &core->reference);
        for (int j = 0; j < core->n; ++j) {
            far |= fabs(core->reference.position[j] - place[j]) > following[j];
        }
    }
    if (far) {
        straight_on(core, place, velocity);
    }
    begin_stop(core, RD_STOP_EMERGENCY);
    stop->at = time;
    return stop->kind != RD_NO_STOP;
}
