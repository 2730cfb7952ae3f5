/* The state machine of every robot: schedule, hold, loss of states, discontinuities, cross-fade and limits. */
#include "measured.h"

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
    if (core->trip.latched && !plan->while_latched) {
        core->verdict = RD_LATCHED;
    } else if (!due || !rd_controls(core->phase)) {
        core->verdict = RD_SUPERSEDED;
    } else if (core->late > 0.0) {
        core->verdict = RD_LATE;
    } else if (!rd_follow(core, plan)) {
        core->verdict = RD_QUEUE_FULL;
    } else {
        core->verdict = RD_ACCEPTED;
        core->epoch += plan->continues == 0;
        core->before_plan.epoch = core->epoch;
        core->phase = rd_phase_of(core, core->stopping.kind && plan->times[0] > core->time ? RD_STOPPING : RD_TRACKING);
    }
}

void rd_core_take_plan(rd_core *core)
{
    take_plan(core, core->time);
    rd_core_publish(core);
}

int rd_core_withdraw_plan(rd_core *core, uint64_t number)
{
    const int last = number && number == core->before_plan.number && core->epoch == core->before_plan.epoch;
    if (last) {
        core->current = core->before_plan.current;
        core->waits = core->before_plan.waits;
        memcpy(core->waiting, core->before_plan.waiting, sizeof core->waiting);
        ++core->epoch; /* what was planned since departs from what nobody follows */
        core->phase = rd_phase_of(core, rd_has_plan(core) ? RD_TRACKING : RD_HOLDING);
        rd_core_publish(core);
    }
    return last;
}

void rd_core_drop(rd_core *core)
{
    rd_stop(core);
    core->phase = rd_controls(core->phase) ? rd_phase_of(core, RD_HOLDING) : core->phase;
    rd_core_publish(core);
}

static void measure_period(rd_core *core, double elapsed)
{
    if (!(LONGEST_PERIOD > elapsed && elapsed > 0.0)) {
        return;
    }
    if (core->pace.relieved != core->time) {
        rd_note_held(core, elapsed);
    }
    const double ratio = core->period / elapsed, again = core->odd_period / elapsed;
    if (core->period > 0.0 && !(0.5 < ratio && ratio < 2.0) && !(0.5 < again && again < 2.0)) {
        core->odd_period = elapsed; /* a gap, unless the next one is like it */
        return;
    }
    core->odd_period = 0.0;
    core->period = 0.5 < ratio && ratio < 2.0 ? core->period : elapsed;
    core->period += SMOOTHING * (elapsed - core->period);
}

/* The cycle */

/* Stop straight on from the measured state; drives that close the loop are where their reference is. */
void rd_capture(rd_core *core, int kind)
{
    if (rd_sends_setpoints(core) && rd_controls(core->phase) && core->setpoints.known && !core->braked) {
        rd_stop_reference(core, kind);
    } else {
        rd_stop_straight(core, kind);
    }
    core->knows_inertia = 0;
    core->has_sent = 0; /* from here on the efforts are others, as was asked for */
}

double rd_control_period(const rd_core *core, const rd_settings *settings)
{
    return settings->control_period != 0.0 ? settings->control_period : core->period;
}

const rd_motion *rd_look_ahead(rd_core *core, double time, double *half)
{
    *half = core->settings->looks_ahead ? 0.5 * rd_control_period(core, core->settings) : 0.0;
    if (!(*half > 0.0)) {
        return &core->reference;
    }
    rd_refer(core, time + *half, &core->ahead);
    return &core->ahead;
}

static int find_effort(rd_core *core, double time, double *effort)
{
    const rd_settings *settings = core->settings, *replaced = core->replaced;
    double half;
    const rd_motion *ahead = rd_look_ahead(core, time, &half);
    core->replaced = NULL;
    if (!settings->machine->effort(core, settings, ahead, half, effort)) {
        return 0;
    }
    if (replaced) {
        if (!replaced->machine->effort(core, replaced, ahead, half, core->before)) {
            return 0;
        }
        rd_begin_fading(core, time, core->before, effort);
    }
    if (core->departs) {
        core->fades = 0; /* the last effort had what was left of it */
        for (int j = 0; core->departs == 2 && j < core->n; ++j) {
            core->departing[j] += effort[j];
        }
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
    rd_limit(core, core->unlimited, core->effort);
    rd_bound_rate(core);
    return 1;
}

/* The command for this cycle, or a stop instead where it is too far from the last one; as answer(). In a protective stop
 * it leaves in steps, and begins no other: a light joint would never come to rest. */
static int command(rd_core *core, double time)
{
    int answered = answer(core, time);
    const int watched = core->has_sent && !core->stopping.kind && !core->trip.latched && !rd_sends_setpoints(core);
    const double step = answered > 0 && watched ? rd_effort_step(core) : 0.0;
    if (step > 0.0) {
        rd_note(core, RD_EFFORT_STEP, step, 0.0);
        if (rd_count_fault(core)) {
            rd_begin_protective_stop(core, RD_REPEATED_FAULTS);
        } else {
            rd_capture(core, RD_STOP_EMERGENCY);
        }
        core->fades = 0;
        answered = answer(core, time); /* as much of it leaves as a step may be */
    }
    if (answered > 0 && rd_supervise(core)) {
        answered = answer(core, time);
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
        rd_capture(core, RD_STOP_EMERGENCY);
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

/* External efforts from this state and what left since the last one, and from what was measured meanwhile; `broken`: that
 * state is not the one before. */
static void observe(rd_core *core, int broken)
{
    const rd_settings *s = core->settings;
    const rd_observed sent = {.delay = s->rules ? -fmax(s->rules->delay, 0.0) : 0.0, .driven = s->driven};
    const double *q = core->state.position, *qd = core->state.velocity;
    if (!s->momentum) {
        return;
    }
    if (broken || core->braked || !core->has_left) {
        rd_observer_restart(core->observer);
    }
    rd_observer_update(core->observer, s, core->time, q, qd, core->left, &sent);
    if (!s->measured) {
        return;
    }
    if (broken || core->braked) {
        rd_observer_restart(core->sensed);
    }
    rd_observer_update(core->sensed, s, core->time, q, qd, core->measures ? core->acted : NULL, s->measured);
}

void rd_core_measure(rd_core *core, const double *effort)
{
    const int known = effort && rd_all_finite(effort, core->n);
    for (int j = 0; known && j < core->n; ++j) {
        core->acted[j] = core->measures ? 0.5 * (core->measured[j] + effort[j]) : effort[j];
        core->measured[j] = effort[j];
    }
    core->measures = known;
}

/* A robot that rests on brakes without efforts stays there: its place is the reference when they let go. */
static void rest_on_brakes(rd_core *core)
{
    if (core->braked && !core->settings->machine->stray && !core->stopping.kind && !rd_has_plan(core)
        && rd_brake_share(core, core->time) <= 0.0) {
        rd_copy(core->hold, core->place, core->n);
    }
}

void rd_supervision_set_back(rd_core *core, double by)
{
    rd_supervision *watch = &core->supervision;
    watch->stopped_at -= by;
    watch->began -= by;
    watch->doubted -= by;
    for (int i = 0; i < watch->faults; ++i) {
        watch->fault_times[i] -= by;
    }
}

int rd_core_update(rd_core *core, double time, const double *position, const double *velocity)
{
    const double before = core->time;
    core->held = 0;
    rd_core_take_settings(core);
    rd_measured *const measured = core->settings->beside;
    if (!rd_measured_known(measured)) {
        return 0;
    }
    take_predecessor(core);
    position = rd_unwrap(core, position);
    velocity = rd_usable_velocity(core, time, position, velocity);
    if (!find_place(core, time, position, velocity)) {
        rd_core_publish(core);
        return 0;
    }
    const int before_phase = core->phase, lost = !rd_controls(core->phase);
    core->fault_began = core->phase == RD_FAULT ? core->fault_began : time;
    rd_check_state(core, time, position, velocity, !lost);
    const double elapsed = time - core->time, period = core->period;
    measure_period(core, elapsed);
    if (time < before) {
        core->set_back += before - time;
        rd_supervision_set_back(core, before - time);
    }
    core->time = time;
    rd_measured_advance(measured, time, core->settings->looks_ahead ? rd_control_period(core, core->settings) : 0.0);
    observe(core, lost || core->discontinuity);
    rd_see_state(core, elapsed, lost || core->discontinuity);
    rd_look_at_button(core, lost || core->discontinuity);
    const int doubted = (lost || core->discontinuity) && rd_speed_is_doubted(core);
    if (core->discontinuity) {
        rd_forget_estimate(core);
    }
    if (lost || core->discontinuity) {
        rd_capture(core, RD_STOP_EMERGENCY);
        core->fades = 0;
        core->replaced = NULL;
        core->is_beyond = 0; /* whoever answered it has been overtaken by this */
        rd_supervision_restart(core);
    } else if (0.0 < elapsed && elapsed < LONGEST_PERIOD) {
        rd_pace_take(core, elapsed);
    }
    if (before_phase == RD_WAITING && !core->departs) {
        rd_supervision_begin(core);
    }
    if (core->discontinuity) {
        core->departs = 0;
    }
    if (core->recaptures && !lost && !core->discontinuity) {
        rd_capture(core, core->recaptures);
    }
    core->recaptures = doubted ? RD_STOP_EMERGENCY : RD_NO_STOP;
    take_plan(core, before);
    rd_advance(core, time);
    rd_advance_stop(core, time);
    rd_go_on_with_retreat(core);
    core->phase =
        rd_phase_of(core, core->stopping.kind ? RD_STOPPING : rd_has_plan(core) ? RD_TRACKING : RD_HOLDING);
    if (!lost && !core->discontinuity) {
        rd_begin_rejoining(core, time, elapsed, period);
    }
    const int answered = core->discontinuity == RD_TOO_FAST ? -1 : command(core, time);
    if (answered <= 0 && before_phase != RD_FAULT) {
        rd_count_fault(core);
    }
    if (answered < 0) {
        core->phase = RD_FAULT;
        rd_core_safe_command(core, fmax(0.0, time - core->fault_began));
    } else if (answered > 0) {
        rd_copy(core->last_effort, core->unlimited, core->n);
        rd_copy(core->sent, core->effort, core->n);
        core->knows_effort = core->has_sent = 1;
        core->settles = 0;
        rd_measured_miss(measured, core->settings, core->state.position);
        rd_brake(core, time);
        rd_leave(core, 0);
        rd_advance_setpoints(core, time);
        rest_on_brakes(core);
        watch(core);
    }
    rd_core_publish(core);
    return answered != 0;
}

void rd_core_observe(rd_core *core, const double *position)
{
    rd_core_take_settings(core);
    position = rd_unwrap(core, position);
    if (find_place(core, core->time, position, core->zero)) {
        core->stopping.kind = RD_NO_STOP; /* the place is known: a stop by the model alone has ended */
        core->blind.active = 0;
        core->setpoints.restarts = 2;
    }
    rd_core_publish(core);
}

static void stop_along(rd_core *core, int kind)
{
    if (rd_controls(core->phase)) {
        const int moved = core->stopping.kind || rd_has_plan(core);
        rd_stop_along(core, kind);
        if (moved) {
            core->knows_inertia = core->has_sent = 0;
        }
    }
    rd_core_publish(core);
}

void rd_core_hold(rd_core *core)
{
    stop_along(core, RD_STOP_HOLD);
}

void rd_core_emergency_stop(rd_core *core)
{
    stop_along(core, RD_STOP_EMERGENCY);
}

void rd_core_lost_states(rd_core *core, double age)
{
    rd_measured_lost(core->settings->beside);
    if (rd_controls(core->phase)) {
        core->unseen = age;
        rd_begin_setpoint_stop(core, age);
    }
    if (core->phase != RD_WAITING) {
        if (!core->blind.active && !(rd_controls(core->phase) && rd_begin_blind(core, age))) {
            rd_stop(core);
        }
        core->phase = RD_STALE;
        core->departs = core->has_sent = 0;
    }
    rd_core_publish(core);
}

/* Safe output of a machine that has a way of its own to come to rest; true if it has one. */
static int settle(rd_core *core, double since)
{
    const rd_settings *settings = core->settings;
    if (settings->safe_output != RD_SETTLE || core->held || !settings->machine->settle || !isfinite(core->time)
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
    const int carries = (settings->safe_output != RD_ZERO || rd_sends_setpoints(core)) && isfinite(core->time)
        && settings->machine->load(core, settings, effort) && rd_all_finite(effort, core->n);
    const double share = carries ? rd_brake_share(core, core->time) : 0.0;
    for (int j = 0; j < core->n; ++j) {
        effort[j] = carries ? share * fmin(fmax(effort[j], -settings->limits[j]), settings->limits[j]) : 0.0;
    }
}

void rd_core_safe_command(rd_core *core, double since)
{
    rd_core_take_settings(core);
    core->pace.relieved = core->time;
    const rd_settings *settings = core->settings;
    const double share = rd_ramp_down(since, settings->safe_fade_time);
    double *effort = core->before;
    const int blind = core->blind.active && rd_blind_effort(core, since, effort);
    if (rd_sends_setpoints(core)) {
        rd_stop_setpoints(core, since);
        if (!isfinite(core->time) || !settings->machine->load(core, settings, effort) || !rd_all_finite(effort, core->n)) {
            rd_copy(effort, core->left, core->n);
        }
        rd_copy(core->unlimited, effort, core->n);
        rd_limit_each(core, effort, core->effort);
    } else if (blind) {
        rd_copy(core->unlimited, effort, core->n);
        rd_limit_each(core, effort, core->effort);
    } else if (!settle(core, since)) {
        int carries = settings->safe_output != RD_ZERO && isfinite(core->time) && share > 0.0;
        carries = carries && settings->machine->load(core, settings, effort) && rd_all_finite(effort, core->n);
        for (int j = 0; j < core->n; ++j) {
            effort[j] = carries ? share * effort[j] : 0.0;
        }
        rd_copy(core->unlimited, effort, core->n);
        rd_limit_each(core, effort, core->effort);
    }
    rd_brake(core, core->time + since);
    rd_leave(core, 1);
    if (!blind) {
        rd_rest(core, &core->reference, core->place);
    }
    rd_core_publish(core);
}

void rd_core_drive_reference(const rd_core *core, double *position, double *velocity)
{
    const rd_setpoints *set = &core->setpoints;
    if (rd_sends_setpoints(core)) {
        for (int j = 0; j < core->n; ++j) {
            position[j] = set->known ? set->position[j] : NAN;
            velocity[j] = set->known ? set->velocity[j] : 0.0;
        }
        return;
    }
    const int guided = rd_follows_nothing(core) && rd_controls(core->phase);
    const int known = core->phase != RD_WAITING;
    const rd_motion *r = &core->reference;
    for (int j = 0; j < core->n; ++j) {
        position[j] = !known ? NAN : guided ? core->state.position[j] : r->position[j];
        velocity[j] = !known || guided ? 0.0 : r->velocity[j];
    }
}
