/* Implausible states and efforts: robot_dynamics.control.plausibility. */
#include "internal.h"

#include <math.h>
#include <stdio.h>

static const double ACCELERATION = 500.0, SPEED_MARGIN = 3.0;
static const double STOP_STEP = 0.2; /* share of its limit that an effort of a stop may step at least */
/* Difference of two speeds from which on a stop begins anew when the next state has confirmed one [rad/s or m/s]. */
static const double DOUBTED = 0.05;
/* Least shares of the following error, and of a jump, that a reset of a simulation moves a joint by. */
static const double LEAP = 0.5, LEAST_LEAP = 0.45;
/* Of a step of the effort: rounding must not pass it either. */
static const double WITHIN = 1.0 - 1e-12;

void rd_note(rd_core *core, int why, double size, double more)
{
    core->discontinuity = why;
    core->discontinuity_size = size;
    core->discontinuity_more = more;
}

/* A number with three decimals, or with few digits where it is too great to be read so. */
static const char *format_of(double value)
{
    return fabs(value) < 1e12 ? "%.3f" : "%.6g";
}

void rd_discontinuity_text(int discontinuity, double size, double more, char *text, size_t bytes)
{
    char a[40], b[40];
    snprintf(a, sizeof a, format_of(size), size);
    snprintf(b, sizeof b, format_of(more), more);
    switch (discontinuity) {
    case RD_BACKWARDS:
        snprintf(text, bytes, "time ran backwards by %s s", a);
        break;
    case RD_JUMPED:
        snprintf(text, bytes, "a joint jumped by %s rad or m in %s s", a, b);
        break;
    case RD_AHEAD:
        snprintf(text, bytes, "the stamps jumped ahead by %s s", a);
        break;
    case RD_TOO_FAST:
        snprintf(text, bytes, "a joint seems to move at %s rad/s or m/s, which is beyond %s", a, b);
        break;
    case RD_EFFORT_STEP:
        snprintf(text, bytes, "an effort would step by %.2f of its limit in one cycle", size);
        break;
    default:
        snprintf(text, bytes, "%s", "");
    }
}

const double *rd_unwrap(rd_core *core, const double *position)
{
    const rd_settings *settings = core->settings;
    if (!settings->turn || !rd_all_finite(position, core->n)) {
        return position;
    }
    for (int j = 0; j < core->n; ++j) {
        const double last = core->unwrapped[j];
        core->unwrapped[j] = position[j] + (core->knows_turns ? rd_turns(settings, j, position[j], last) : 0.0);
    }
    core->knows_turns = 1;
    return core->unwrapped;
}

static void check_speed(rd_core *core, double elapsed, const double *position, const double *velocity)
{
    const double *bounds = core->settings->velocity_bounds;
    double largest = 1.0;
    for (int j = 0; j < core->n; ++j) {
        if (!(fabs(velocity[j]) > bounds[j])) {
            continue;
        }
        const double share = fabs(velocity[j]) / bounds[j];
        if (share > largest && !rd_confirmed_speed(core, j, elapsed, position[j], velocity[j])) {
            largest = share;
            rd_note(core, RD_TOO_FAST, fabs(velocity[j]), bounds[j]);
        }
    }
}

/* Less than a jump, but no motion has led there, and the joint rests where it is: a following error that begins with it is
 * none. */
static int leaps(const rd_core *core, int j, double unexplained, double velocity)
{
    const rd_rules *rules = core->settings->rules;
    const double least = rules ? fmax(LEAP * rules->following[j], LEAST_LEAP * core->settings->state_jump) : INFINITY;
    return unexplained > least && fabs(velocity) < DOUBTED;
}

static void check_jump(rd_core *core, double time, const double *position, const double *velocity)
{
    const double elapsed = time - core->last_time;
    double largest = 0.0;
    int jumped = 0;
    for (int j = 0; j < core->n; ++j) {
        /* A velocity that is reported only once explains nothing. */
        const double speed = fmin(fabs(velocity[j]), fabs(core->last_velocity[j]));
        const double explained = SPEED_MARGIN * speed + 0.5 * ACCELERATION * elapsed;
        const double step = fabs(position[j] - core->last_position[j]);
        largest = step > largest ? step : largest;
        jumped |= step > core->settings->state_jump + elapsed * explained;
        if (leaps(core, j, step - elapsed * explained, velocity[j])) {
            core->supervision.leap = largest;
            core->supervision.leapt = time;
        }
    }
    if (jumped) {
        rd_note(core, RD_JUMPED, largest, elapsed);
    }
}

/* A stop starts from the measured velocity, which must not be a value that was reported only once. */
static void believe(rd_core *core, const double *velocity)
{
    for (int j = 0; j < core->n; ++j) {
        const double last = core->knows_last ? core->last_velocity[j] : velocity[j];
        const double size = fmin(fmin(fabs(velocity[j]), fabs(last)), core->settings->velocity_limits[j]);
        core->believed[j] = velocity[j] * last > 0.0 ? copysign(size, last) : 0.0;
    }
}

/* True if the measured speed is far from the believed one: the next state tells which of them is right. */
int rd_speed_is_doubted(const rd_core *core)
{
    for (int j = 0; j < core->n; ++j) {
        if (fabs(core->state.velocity[j] - core->believed[j]) > DOUBTED) {
            return 1;
        }
    }
    return 0;
}

void rd_check_state(rd_core *core, double time, const double *position, const double *velocity, int expected)
{
    const double elapsed = time - core->last_time;
    core->discontinuity = RD_CONTINUOUS;
    check_speed(core, elapsed, position, velocity);
    if (core->discontinuity) {
        /* No effort is computed from a velocity that no joint has. */
    } else if (elapsed < 0.0) {
        rd_note(core, RD_BACKWARDS, -elapsed, 0.0);
    } else if (expected && elapsed > core->settings->stamp_step) {
        rd_note(core, RD_AHEAD, elapsed, 0.0);
    } else if (core->knows_last) {
        check_jump(core, time, position, velocity);
    }
    believe(core, velocity);
    rd_copy(core->last_position, position, core->n);
    rd_copy(core->last_velocity, velocity, core->n);
    core->last_time = time;
    core->knows_last = 1;
}

/* Largest step from the last command, as a share of a limit, if any step is too large; else 0. */
double rd_effort_step(const rd_core *core)
{
    const rd_settings *settings = core->settings;
    double largest = 0.0;
    int far = 0;
    for (int j = 0; j < core->n; ++j) {
        far |= fabs(core->effort[j] - core->sent[j]) > settings->effort_steps[j];
    }
    for (int j = 0; far && j < core->n; ++j) {
        const double share = fabs(core->effort[j] - core->sent[j]) / settings->limits[j];
        largest = share > largest ? share : largest;
    }
    return largest;
}

void rd_bound_steps(int n, const double *last, const double *steps, const double *limits, int safe, double *effort)
{
    for (int j = 0; j < n; ++j) {
        if (fabs(effort[j] - last[j]) > steps[j]) {
            double least = last[j] - WITHIN * steps[j], most = last[j] + WITHIN * steps[j];
            least = safe && least > 0.0 ? 0.0 : least;
            most = safe && most < 0.0 ? 0.0 : most;
            const double within = fmin(fmax(effort[j], least), most);
            effort[j] = fmin(fmax(within, -limits[j]), limits[j]); /* a lowered limit counts at once */
        }
    }
}

void rd_leave(rd_core *core, int safe)
{
    const rd_settings *settings = core->settings;
    const double *steps = settings->effort_steps;
    if (core->stopping.kind || (core->trip.latched && !safe)) {
        double share = 1.0;
        for (int j = 0; j < core->n; ++j) {
            const double step = fabs(core->effort[j] - core->left[j]);
            core->before[j] = fmax(steps[j], STOP_STEP * settings->limits[j]);
            share = step > core->before[j] ? fmin(share, WITHIN * core->before[j] / step) : share;
        }
        steps = core->before;
        /* One joint that gets less than the others would be driven by them. */
        for (int j = 0; j < core->n && core->has_left && !safe; ++j) {
            core->effort[j] = core->left[j] + share * (core->effort[j] - core->left[j]);
        }
    }
    if (core->has_left) {
        rd_bound_steps(core->n, core->left, steps, settings->limits, safe, core->effort);
    }
    rd_copy(core->left, core->effort, core->n);
    core->has_left = 1;
}
