/* A protective stop: it brings the robot to rest with feedback and is latched until the fault is reset, which moves
 * nothing. */
#include "internal.h"

#include <math.h>

/* A second stop sooner takes no new place [s]. */
static const double AGAIN = 5.0;
/* Least share of its final value that an observer is taken to show. */
static const double LEAST_SHOWN = 0.2;
/* Share of its speed limit that a joint at rest does not pass; for how long, until its robot rests [s]. */
static const double RESTING = 0.05, CALM = 0.2;

/* True if the place of a stop within the last seconds is still near, and nothing has been followed away from it: another
 * stop takes no new one, or each would sink a little lower. */
static int stopped_here(const rd_core *core)
{
    const rd_supervision *watch = &core->supervision;
    int near = core->time - watch->stopped_at < AGAIN && !core->current.plan && !core->stopping.kind;
    for (int j = 0; near && j < core->n; ++j) {
        near = fabs(core->place[j] - watch->stopped[j]) <= core->settings->following[j];
    }
    return near;
}

/* Bring the robot to rest: along its path where no rule doubts that it follows, else straight on from where it is. */
void rd_begin_protective_stop(rd_core *core, int rule)
{
    rd_supervision *watch = &core->supervision;
    core->settings->machine->restore_load(core);
    if (rule != RD_NO_RULE && rule != RD_SLOW_STATES && rule != RD_DISPUTE) {
        core->trip.reverted = rd_take_back_model(core);
    }
    const int starts = rule == RD_START_EFFORT || rule == RD_START_SPEED || rule == RD_START_DISPLACEMENT;
    if (starts && core->settings->machine->take_load && core->settings->momentum) {
        /* The model does not carry the robot, so the stop would sink. The observer has begun with the control, and has
         * come to a share of what it will show. */
        rd_observer_find_ratios(core->observer, core->settings->rules->start_effort);
        const double shown = 1.0 - exp(-core->settings->observer_gain * (core->time - watch->began));
        core->settings->machine->take_load(core, 1.0 / fmax(LEAST_SHOWN, shown));
    }
    const int again = rule != RD_OVERSPEED && stopped_here(core);
    for (int j = 0; again && j < core->n; ++j) { /* the reference may have been captured elsewhere since */
        const double kept = fabs(core->hold[j] - core->place[j]), taken = fabs(watch->stopped[j] - core->place[j]);
        watch->stopped[j] = kept < taken ? core->hold[j] : watch->stopped[j];
    }
    if (rule == RD_NO_RULE || rule == RD_REPEATED_FAULTS || rule == RD_SLOW_STATES || rule == RD_DISPUTE) {
        rd_stop_along(core, RD_STOP_EMERGENCY);
        core->knows_inertia = core->has_sent = 0;
    } else {
        rd_keep_pull(core);
        rd_capture(core, RD_STOP_EMERGENCY);
    }
    if (again) {
        core->stopping.kind = RD_NO_STOP;
        rd_copy(core->hold, watch->stopped, core->n);
    } else {
        rd_copy(watch->stopped, core->hold, core->n);
        watch->stopped_at = core->time;
    }
    rd_choose_retreat(core, rule);
    core->fades = 0;
    core->replaced = NULL;
}

void rd_note_trip(rd_core *core, int rule, int joint, double measured, double allowed, int stops)
{
    const int latched = core->trip.latched || stops;
    core->trip = (rd_trip){.count = core->trip.count + 1, .time = core->time, .measured = measured, .allowed = allowed,
                           .rule = rule, .joint = joint, .latched = latched, .stops = stops};
    core->guides &= !stops;
}

void rd_trip_rule(rd_core *core, int rule, int joint, double measured, double allowed)
{
    const int latched = core->trip.latched;
    rd_note_trip(core, rule, joint, measured, allowed, 1);
    if (!latched || rule == RD_OVERSPEED) {
        rd_begin_protective_stop(core, rule);
    }
}

void rd_core_protect(rd_core *core, int rule)
{
    if (!core->trip.latched) {
        core->trip.rule = rule;
        core->trip.joint = -1;
        core->trip.latched = 1;
        if (rd_controls(core->phase)) {
            rd_begin_protective_stop(core, rule);
        }
    }
    rd_core_publish(core);
}

void rd_core_latch(rd_core *core)
{
    if (!core->trip.latched) {
        core->trip.rule = RD_NO_RULE;
        core->trip.joint = -1;
        core->trip.latched = 1;
        ++core->epoch;
        core->phase = rd_controls(core->phase) ? RD_PROTECTIVE_STOP : core->phase;
    }
    rd_core_publish(core);
}

int rd_rule_doubts(int rule)
{
    return rule == RD_OVERSPEED || rule == RD_START_SPEED || rule == RD_START_DISPLACEMENT || rule == RD_START_LOAD
        || rule == RD_START_EFFORT || rule == RD_REPEATED_FAULTS || rule == RD_SLOW_STATES;
}

/* For so long after it the load is doubted that stiffer gains have borne [s]. */
static const double SOFTENED = 2.0;

void rd_core_reset_fault(rd_core *core)
{
    if (!core->trip.latched) {
        return;
    }
    const int yielded = rd_has_yielded(core, core->settings), stiff = rd_end_stiffness(core, core->settings);
    if ((yielded || stiff || rd_lacks_feedback(core, core->settings)) && core->knows_effort) {
        rd_copy(core->departing, core->last_effort, core->n); /* the law of the mode is another one */
        core->departs = 1;
    }
    if (yielded) {
        core->recaptures = RD_STOP_HOLD;
    }
    if (stiff) {
        core->supervision.doubted = core->time + SOFTENED;
    }
    rd_drop_retreat(core);
    core->trip.latched = core->guides = 0;
    for (int j = 0; j < core->n; ++j) {
        core->swung[j] = 1.0;
    }
    rd_forget_oscillation(core, 1);
    core->supervision.faults = 0;
    core->has_sent = 0;
    core->phase = core->phase == RD_PROTECTIVE_STOP ? RD_HOLDING : core->phase;
    ++core->epoch; /* what was planned before stays dropped */
    rd_core_publish(core);
}

/* One that passes zero while it swings is not at rest. */
void rd_watch_motion(rd_core *core)
{
    for (int j = 0; j < core->n && !core->braked; ++j) {
        if (fabs(core->state.velocity[j]) > RESTING * core->settings->velocity_limits[j]) {
            core->supervision.moved = core->time;
        }
    }
}

int rd_moves(const rd_core *core)
{
    return rd_controls(core->phase) && !core->braked && core->time - core->supervision.moved < CALM;
}

int rd_has_yielded(const rd_core *core, const rd_settings *settings)
{
    return core->trip.latched && core->trip.rule == RD_CONTACT && settings->rules
        && settings->rules->contact == RD_CONTACT_YIELD && !core->guides
        && !(settings->machine->yielding >> settings->mode & 1U);
}

int rd_yields(const rd_core *core)
{
    const rd_settings *settings = core->settings;
    return settings->machine->yielding >> settings->mode & 1U || rd_has_yielded(core, settings);
}
