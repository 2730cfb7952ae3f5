/* The state machine of every robot: schedule, hold, loss of states, discontinuities, cross-fade and limits. */
#include "internal.h"

#include <math.h>
#include <string.h>

/* A longer time between two states is a gap, not a control period [s]; share of a new period in the mean. */
static const double LONGEST_PERIOD = 0.2, SMOOTHING = 0.05;

int rd_all_finite(const double *values, int n)
{
    double total = 0.0;
    for (int j = 0; j < n; ++j) {
        total += 0.0 * values[j];
    }
    return total == 0.0;
}

static void take_predecessor(rd_core *core)
{
    rd_core *other = atomic_exchange_explicit(&core->predecessor, NULL, memory_order_acquire);
    if (other && other->has_left) {
        rd_copy(core->left, other->left, core->n);
        core->has_left = 1;
    }
    if (other && rd_controls(other->phase) && other->knows_effort) {
        rd_copy(core->departing, other->last_effort, core->n);
        core->departs = 1;
    }
}

static int is_followed(const rd_core *core, uint64_t number)
{
    int found = core->current.plan && core->current.plan->number == number;
    for (int i = 0; i < core->waits; ++i) {
        found |= core->waiting[i].plan->number == number;
    }
    return found;
}

/* `now`: time of the last state that was answered. */
static void take_plan(rd_core *core, double now)
{
    const rd_plan *plan = atomic_exchange_explicit(&core->offered_plan, NULL, memory_order_acquire);
    if (!plan) {
        return;
    }
    core->considered = plan->number;
    core->late = now - plan->times[0];
    const int due = plan->continues ? is_followed(core, plan->continues) : plan->epoch == core->epoch;
    if (!due || !rd_controls(core->phase)) {
        core->verdict = RD_SUPERSEDED;
    } else if (core->late > 0.0) {
        core->verdict = RD_LATE;
    } else if (!rd_follow(core, plan)) {
        core->verdict = RD_QUEUE_FULL;
    } else {
        core->verdict = RD_ACCEPTED;
        core->epoch += plan->continues == 0;
        core->phase = RD_TRACKING;
    }
}

void rd_core_take_plan(rd_core *core)
{
    take_plan(core, core->time);
    rd_core_publish(core);
}

static void measure_period(rd_core *core, double elapsed)
{
    if (!(LONGEST_PERIOD > elapsed && elapsed > 0.0)) {
        return;
    }
    const double ratio = core->period / elapsed;
    if (!(0.5 < ratio && ratio < 2.0)) {
        core->period = elapsed;
    }
    core->period += SMOOTHING * (elapsed - core->period);
}

/* The cycle */

static void capture(rd_core *core)
{
    rd_stop(core);
    core->knows_inertia = 0;
    core->has_sent = 0; /* from here on the efforts are others, as was asked for */
    core->phase = RD_HOLDING;
}

static void limit(rd_core *core, const double *effort)
{
    const rd_machine *machine = core->settings->machine;
    if (effort != core->unlimited) {
        rd_copy(core->unlimited, effort, core->n);
    }
    if (machine->limit) {
        machine->limit(core, core->unlimited, core->effort);
        return;
    }
    for (int j = 0; j < core->n; ++j) {
        const double most = core->settings->limits[j];
        const double least = effort[j] > -most ? effort[j] : -most;
        core->effort[j] = least < most ? least : most;
    }
}

static int find_effort(rd_core *core, double time, double *effort)
{
    const rd_settings *settings = core->settings, *replaced = core->replaced;
    const double period = settings->control_period != 0.0 ? settings->control_period : core->period;
    const double half = settings->looks_ahead ? 0.5 * period : 0.0;
    const rd_motion *ahead = &core->reference;
    core->replaced = NULL;
    if (half > 0.0) {
        ahead = &core->ahead;
        rd_refer(core, time + half, ahead);
    }
    if (!settings->machine->effort(core, settings, ahead, half, effort)) {
        return 0;
    }
    if (settings->model_change_time == 0.0 && (replaced || core->departs)) {
        core->has_sent = 0;
    }
    if (replaced) {
        if (!replaced->machine->effort(core, replaced, ahead, half, core->before)) {
            return 0;
        }
        rd_begin_fading(core, time, core->before, effort);
    }
    if (core->departs) {
        core->fades = 0; /* the last effort had what was left of it */
        rd_begin_fading(core, time, core->departing, effort);
        core->departs = 0;
    }
    rd_add_fading(core, time, effort);
    return 1;
}

/* The command for the reference of now: 0 where the model fails, -1 where it gives no finite effort. */
static int answer(rd_core *core, double time)
{
    rd_refer(core, time, &core->reference);
    if (!find_effort(core, time, core->unlimited)) {
        return 0;
    }
    if (!rd_all_finite(core->unlimited, core->n)) {
        return -1;
    }
    limit(core, core->unlimited);
    return 1;
}

/* The command for this cycle, or a hold instead where it is too far from the last one; as answer(). */
static int command(rd_core *core, double time)
{
    int answered = answer(core, time);
    const double step = answered > 0 && core->has_sent ? rd_effort_step(core) : 0.0;
    if (step > 0.0) {
        rd_note(core, RD_EFFORT_STEP, step, 0.0);
        capture(core);
        core->fades = 0;
        answered = answer(core, time);
        if (answered > 0 && rd_effort_step(core) > 0.0) {
            return -1;
        }
    }
    return answered;
}

/* A machine that has come to be where it may not be holds from the next cycle on. */
static void watch(rd_core *core)
{
    const rd_machine *machine = core->settings->machine;
    if (!machine->watch || core->discontinuity || !rd_controls(core->phase)) {
        return;
    }
    const int before = core->is_beyond;
    core->is_beyond = machine->watch(core);
    if (core->is_beyond && !before) {
        ++core->beyond;
        capture(core);
    } else {
        core->discontinuity = RD_CONTINUOUS;
    }
}

/* Take a measured state; one in which the machine cannot be changes nothing. */
static int find_place(rd_core *core, double time, const double *position, const double *velocity)
{
    const rd_machine *machine = core->settings->machine;
    if (machine->find_place && !machine->find_place(core, time, position, velocity)) {
        return 0;
    }
    rd_copy(core->state.position, position, core->n);
    rd_copy(core->state.velocity, velocity, core->n);
    return 1;
}

int rd_core_update(rd_core *core, double time, const double *position, const double *velocity)
{
    const double before = core->time;
    rd_core_take_settings(core);
    take_predecessor(core);
    if (!find_place(core, time, position, velocity)) {
        rd_core_publish(core);
        return 0;
    }
    const int lost = !rd_controls(core->phase);
    core->fault_began = core->phase == RD_FAULT ? core->fault_began : time;
    rd_check_state(core, time, position, velocity, !lost);
    measure_period(core, time - core->time);
    core->set_back += time < before ? before - time : 0.0;
    core->time = time;
    if (lost || core->discontinuity) {
        capture(core);
        core->fades = 0;
        core->replaced = NULL;
        core->is_beyond = 0; /* whoever answered it has been overtaken by this */
    }
    if (core->discontinuity) {
        core->departs = 0;
    }
    if (core->recaptures && !lost && !core->discontinuity) {
        capture(core);
    }
    core->recaptures = 0;
    take_plan(core, before);
    rd_advance(core, time);
    if (!rd_has_plan(core)) {
        core->phase = RD_HOLDING;
    }
    const int answered = core->discontinuity == RD_TOO_FAST ? -1 : command(core, time);
    if (answered < 0) {
        core->phase = RD_FAULT;
        rd_core_safe_command(core, fmax(0.0, time - core->fault_began));
    } else if (answered > 0) {
        rd_copy(core->last_effort, core->unlimited, core->n);
        rd_copy(core->sent, core->effort, core->n);
        core->knows_effort = core->has_sent = 1;
        core->settles = 0;
        rd_brake(core, time);
        rd_leave(core, 0);
        watch(core);
    }
    rd_core_publish(core);
    return answered != 0;
}

void rd_core_observe(rd_core *core, const double *position)
{
    rd_core_take_settings(core);
    find_place(core, core->time, position, core->zero);
    rd_core_publish(core);
}

void rd_core_hold(rd_core *core)
{
    if (core->phase == RD_HOLDING && !rd_has_plan(core)) {
        ++core->epoch; /* the reference stays: taken anew each time, it would sink under a load that the model lacks */
    } else if (rd_controls(core->phase)) {
        capture(core);
    }
    rd_core_publish(core);
}

void rd_core_lost_states(rd_core *core, double age)
{
    if (rd_controls(core->phase)) {
        core->unseen = age;
    }
    if (core->phase != RD_WAITING) {
        rd_stop(core);
        core->phase = RD_STALE;
        core->departs = core->has_sent = 0;
    }
    rd_core_publish(core);
}

/* What a machine declares as safe, where it has a way of its own to come to rest; whether it has. */
static int settle(rd_core *core, double since)
{
    const rd_settings *settings = core->settings;
    if (settings->safe_output != RD_SETTLE || !settings->machine->settle || !isfinite(core->time)
        || !settings->machine->settle(core, since, !core->settles, core->effort)) {
        return 0;
    }
    core->settles = 1;
    rd_copy(core->unlimited, core->effort, core->n);
    return 1;
}

void rd_core_safe_load(const rd_core *core, double *effort)
{
    const rd_settings *settings = core->settings;
    const int carries = settings->safe_output != RD_ZERO && isfinite(core->time)
        && settings->machine->load(core, settings, effort) && rd_all_finite(effort, core->n);
    const double share = carries ? rd_brake_share(core, core->time) : 0.0;
    for (int j = 0; j < core->n; ++j) {
        effort[j] = carries ? share * fmin(fmax(effort[j], -settings->limits[j]), settings->limits[j]) : 0.0;
    }
}

void rd_core_safe_command(rd_core *core, double since)
{
    rd_core_take_settings(core);
    const rd_settings *settings = core->settings;
    const double share = rd_ramp_down(since, settings->safe_fade_time);
    double *effort = core->before;
    if (!settle(core, since)) {
        int carries = settings->safe_output != RD_ZERO && isfinite(core->time) && share > 0.0;
        carries = carries && settings->machine->load(core, settings, effort) && rd_all_finite(effort, core->n);
        for (int j = 0; j < core->n; ++j) {
            effort[j] = carries ? share * effort[j] : 0.0;
        }
        limit(core, effort);
    }
    rd_brake(core, core->time + since);
    rd_leave(core, 1);
    rd_rest(core, &core->reference, core->place);
    rd_core_publish(core);
}
