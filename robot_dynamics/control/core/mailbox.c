/* Making a core, handing values over to it and reading what it does: everything that is not its cycle. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 62 }; /* of n doubles in a core's store */

_Static_assert(sizeof(rd_snapshot) % sizeof(uint64_t) == 0, "a snapshot is published word by word");

static void publish_words(rd_core *core)
{
    const uint8_t *from = (const uint8_t *)core->shown;
    atomic_uint_fast64_t *const to = core->published;
    const size_t words = core->words;
    /* Only the cycle writes: it needs no locked addition. */
    const uint64_t sequence = atomic_load_explicit(&core->sequence, memory_order_relaxed);
    atomic_store_explicit(&core->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < words; ++i) {
        uint64_t word;
        memcpy(&word, from + i * sizeof word, sizeof word);
        atomic_store_explicit(&to[i], word, memory_order_relaxed);
    }
    atomic_store_explicit(&core->sequence, sequence + 2, memory_order_release);
}

void rd_core_publish(rd_core *core)
{
    rd_snapshot *shown = core->shown;
    const rd_plan *next = core->waits ? core->waiting[0].plan : NULL;
    const rd_plan *stopped = core->stopping.kind ? core->stopping.path.plan : NULL;
    const rd_plan *oldest = stopped ? stopped : core->current.plan ? core->current.plan : next;
    const rd_plan *before = core->before_plan.current.plan ? core->before_plan.current.plan
        : core->before_plan.waits                          ? core->before_plan.waiting[0].plan
                                                           : NULL;
    if (before && core->before_plan.epoch == core->epoch && (!oldest || before->number < oldest->number)) {
        oldest = before;
    }
    shown->epoch = core->epoch;
    shown->current = core->current.plan ? core->current.plan->number : 0;
    for (int i = 0; i < RD_MOST_WAITING && (i < core->waits || shown->waiting[i]); ++i) {
        shown->waiting[i] = i < core->waits ? core->waiting[i].plan->number : 0;
    }
    shown->finished = core->finished;
    shown->considered = core->considered;
    shown->oldest_settings = (core->replaced ? core->replaced : core->settings)->number;
    shown->former = core->former ? core->former->number : 0;
    shown->oldest_plan = oldest ? oldest->number : core->considered + 1;
    shown->model = core->settings->model;
    shown->refused = core->refused[1];
    shown->beyond = core->beyond;
    shown->time = core->time;
    shown->period = core->period;
    shown->late = core->late;
    shown->usual_period = core->pace.seen ? core->pace.median : 0.0;
    shown->trip = core->trip;
    shown->rests = core->stopping.kind ? rd_stop_end(core) : core->time;
    for (int rule = 0; rule < RD_RULES; ++rule) {
        shown->largest[rule] = core->supervision.rules[rule].largest;
    }
    shown->estimates = core->estimate.replaces;
    shown->moves = rd_moves(core);
    shown->phase = core->phase;
    shown->verdict = core->verdict;
    double *values = (double *)(shown + 1);
    rd_copy(values, core->hold, core->n);
    rd_copy(values + core->n, core->state.position, 2 * core->n); /* its arrays lie one behind the other in the store */
    rd_copy(values + 3 * core->n, core->reference.position, 3 * core->n);
    if (core->settings->machine->report) {
        core->settings->machine->report(core, values + 6 * core->n);
    }
    publish_words(core);
}

size_t rd_core_snapshot_size(const rd_core *core)
{
    return core->words * sizeof(uint64_t);
}

void rd_core_snapshot(rd_core *core, rd_snapshot *out)
{
    uint8_t *to = (uint8_t *)out;
    uint_fast64_t before, after;
    do {
        before = atomic_load_explicit(&core->sequence, memory_order_acquire);
        for (size_t i = 0; i < core->words; ++i) {
            const uint64_t word = atomic_load_explicit(&core->published[i], memory_order_relaxed);
            memcpy(to + i * sizeof word, &word, sizeof word);
        }
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&core->sequence, memory_order_relaxed);
    } while (before != after || before & 1);
}

rd_core *rd_core_new(int n, const rd_settings *settings)
{
    rd_core *core = calloc(1, sizeof *core);
    const rd_machine *machine = settings->machine;
    const size_t each = (size_t)n;
    if (core) {
        core->words = sizeof(rd_snapshot) / sizeof(uint64_t) + 6 * each + rd_telemetry(machine, n);
    }
    if (!core || !(core->store = calloc((ARRAYS + RD_TASK_ROWS + 6 + each) * each, sizeof(double)))
        || !(core->swings = calloc(each, sizeof *core->swings))
        || !(core->observer = rd_observer_new(n)) || !(core->sensed = rd_observer_new(n))
        || !(core->machine_state = calloc(1, machine->state_size + 1))
        || !(core->shown = calloc(core->words, sizeof(uint64_t)))
        || !(core->published = calloc(core->words, sizeof *core->published))) {
        rd_core_free(core);
        return NULL;
    }
    double *place = core->store;
    double **const arrays[ARRAYS] = {
        /* The first five are rd_results.results. */
        &core->effort, &core->unlimited, &core->reference.position, &core->reference.velocity,
        &core->reference.acceleration, &core->state.position, &core->state.velocity, &core->ahead.position, &core->ahead.velocity, &core->ahead.acceleration,
        &core->hold, &core->last_effort, &core->departing, &core->difference, &core->inertia, &core->unwrapped, &core->last_position, &core->last_velocity, &core->before, &core->scratch[0],
        &core->scratch[1], &core->scratch[2], &core->scratch[3], &core->zero, &core->sent, &core->place,
        &core->left, &core->stopping.place, &core->stopping.rate,
        &core->believed,
        &core->blind.position, &core->blind.velocity, &core->blind.acceleration,
        &core->disturbance, &core->undisturbed, &core->softness, &core->swung, &core->stiffened, &core->led, &core->strayed, &core->cut_at,
        &core->overcome, &core->rubbed, &core->shown_friction, &core->slid, &core->slid_at,
        &core->supervision.place, &core->supervision.shaken, &core->supervision.stopped, &core->setpoints.position, &core->setpoints.velocity,
        &core->felt, &core->retreat.way, &core->rejoining.place, &core->rejoining.rate,
        &core->estimate.place, &core->estimate.velocity, &core->estimate.from, &core->measured, &core->acted,
        &core->smoothed.position, &core->smoothed.velocity,
    };
    for (int i = 0; i < ARRAYS; ++i, place += n) {
        *arrays[i] = place;
    }
    core->seen = &core->state;
    core->matrix = place;
    core->task.rows = place + each * each;
    core->retreat.coefficients = core->task.rows + RD_TASK_ROWS * each;
    for (int i = 0; i < 6; ++i) {
        core->task.modes[i][i] = core->task.frame[i][i] = 1.0;
    }
    core->n = n;
    core->pace.share = 1.0;
    core->pace.relieved = NAN;
    atomic_init(&core->guided_until, -INFINITY);
    atomic_init(&core->pushed_until, -INFINITY);
    for (int j = 0; j < n; ++j) {
        core->softness[j] = core->swung[j] = core->stiffened[j] = core->overcome[j] = 1.0;
        core->cut_at[j] = -INFINITY;
    }
    rd_use_settings(core, settings);
    core->time = core->last_time = core->supervision.stopped_at = core->supervision.leapt = core->supervision.moved = -INFINITY;
    core->slid_time = -INFINITY;
    if (!machine->find_place) {
        core->place = core->state.position;
    }
    if (machine->begin) {
        machine->begin(core);
    }
    rd_copy(core->hold, core->place, n);
    rd_core_publish(core);
    return core;
}

void rd_core_free(rd_core *core)
{
    if (core) {
        free(core->store);
        free(core->swings);
        rd_observer_free(core->observer);
        rd_observer_free(core->sensed);
        free(core->machine_state);
        free(core->shown);
        free(core->published);
        free(core);
    }
}

void rd_core_results(const rd_core *core, rd_results *results)
{
    *results = (rd_results){
        core->store, &core->phase, core->discontinuity_size, core->discontinuity_more, core->discontinuity, core->trip,
    };
}

/* Handing over */

void rd_core_push(rd_core *core, const double *wrench, double until)
{
    for (int i = 0; i < 6; ++i) {
        atomic_store_explicit(&core->push[i], wrench[i], memory_order_relaxed);
    }
    atomic_store_explicit(&core->pushed_until, until, memory_order_release);
}

void rd_core_guide(rd_core *core, double until)
{
    atomic_store_explicit(&core->guided_until, until, memory_order_release);
}

void rd_core_offer_settings(rd_core *core, const rd_settings *settings)
{
    atomic_store_explicit(&core->offered_settings, settings, memory_order_release);
}

void rd_core_offer_plan(rd_core *core, const rd_plan *plan)
{
    atomic_store_explicit(&core->offered_plan, plan, memory_order_release);
}

void rd_core_succeed(rd_core *core, rd_core *predecessor)
{
    atomic_store_explicit(&core->predecessor, predecessor, memory_order_release);
}

/* A model that is followed by a trip within this time is taken back [s]. */
static const double YOUNG = 2.0;

int rd_has_new_model(const rd_core *core)
{
    return core->former && core->time - core->changed_at <= YOUNG;
}

uint64_t rd_take_back_model(rd_core *core)
{
    const rd_settings *failed = core->settings, *former = core->former;
    const int back = rd_has_new_model(core) && !core->braked && former->law == failed->law;
    core->former = NULL;
    if (!back) {
        return 0;
    }
    core->refused[0] = former->model + 1;
    core->refused[1] = failed->model;
    rd_use_settings(core, former);
    core->replaced = NULL;
    core->knows_inertia = core->has_sent = 0;
    if (former->machine->keep_load) {
        former->machine->keep_load(core, failed);
    }
    return former->model;
}

/* Models that come one after the other within a moment are one change. */
static void remember_former(rd_core *core, const rd_settings *before)
{
    if (core->former == NULL && rd_controls(core->phase)) {
        core->former = before;
        core->changed_at = core->time;
    }
}

/* True if settings have another mode or other gains. */
static int feeds_back_otherwise(const rd_settings *s, const rd_settings *before, int n)
{
    int other = s->mode != before->mode;
    for (int j = 0; j < n; ++j) {
        other |= s->kp[j] != before->kp[j] || s->kv[j] != before->kv[j];
    }
    return other;
}

/* Difference of the last command from the law in force now, in the state and with the reference of then.
 * A step of the reference that comes with the next state is no part of it. True if it was found; else that
 * state tells it. */
static int find_departure(rd_core *core)
{
    const rd_settings *s = core->settings;
    const unsigned follows = ~(s->machine->without_feedback | s->machine->held_to_run | s->machine->yielding);
    double half, *effort = core->before;
    if (!(follows >> s->mode & 1U) || s->mode == RD_CALLED || core->recaptures || !core->knows_last) {
        return 0;
    }
    const rd_motion *ahead = rd_look_ahead(core, core->time, &half);
    if (!s->machine->effort(core, s, ahead, half, effort) || !rd_all_finite(effort, core->n)) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        core->departing[j] -= effort[j];
    }
    return 1;
}

void rd_core_take_settings(rd_core *core)
{
    const rd_settings *offered = atomic_exchange_explicit(&core->offered_settings, NULL, memory_order_acquire);
    core->former = rd_has_new_model(core) ? core->former : NULL;
    if (!offered || (core->refused[0] <= offered->model && offered->model <= core->refused[1])) {
        return; /* whoever offers a model that was taken back has not heard of it yet */
    }
    const rd_settings *before = core->settings;
    if (offered->model != before->model) {
        remember_former(core, before);
    }
    rd_use_settings(core, offered);
    core->set_back = 0.0;
    core->has_sent = 0;
    if (offered->model != before->model && !core->replaced) {
        core->replaced = before;
    }
    /* The reference has not been kept to, or will not be: afterwards the robot may be anywhere else. */
    const int strayed = offered->machine->without_feedback >> before->mode & 1U;
    const int ends = offered->machine->without_reference >> offered->mode & 1U;
    if (offered->mode != before->mode && (strayed || ends) && core->recaptures == RD_NO_STOP) {
        core->recaptures = RD_STOP_HOLD;
    }
    if (offered->mode != before->mode) {
        core->armed = 0;
        core->guides = core->trip.latched && ends && !rd_rule_doubts(core->trip.rule);
    }
    const int kept = offered->machine->keep_load && (offered->law != before->law || offered->model != before->model)
        && offered->machine->keep_load(core, before);
    const int outdated = kept && core->replaced == before; /* that law would answer with the estimate of now */
    if (offered->law != before->law) {
        if (feeds_back_otherwise(offered, before, core->n)) {
            rd_end_stiffness(core, before);
        }
        if (offered->machine->change_law) {
            offered->machine->change_law(core);
        }
    }
    if ((outdated || offered->law != before->law) && rd_controls(core->phase) && core->knows_effort) {
        core->replaced = outdated ? NULL : core->replaced;
        rd_copy(core->departing, core->last_effort, core->n);
        core->departs = offered->mode == before->mode && find_departure(core) ? 2 : 1;
    }
}
