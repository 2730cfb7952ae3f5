/* See follower.h; what it adds to the loop is the stream of references, followed as a plan without an end. */
#include "follower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* References are joined whose velocity the arm's maximum acceleration reaches in such a time [s]. */
static const double JOINING = 0.01;

enum { FOLLOWER_ARRAYS = 15 }; /* of n doubles in a follower's store */

static const double SENT = 0.01; /* after which the end of the fail-safe output has been sent at the latest [s] */
static const double NEAR = 0.02, SLOW = 0.02; /* of a reference at rest where the arm is [rad or m, rad/s or m/s] */

static const int64_t MOST_AHEAD = 1000000000; /* of cycles that are counted while their clock stands [ns] */

struct rd_follower {
    rd_loop loop;
    rd_session *session;
    rd_snapshot *snapshot;        /* where the other thread reads */
    rd_stream stream;
    rd_plan plan;                 /* leads to the stream */
    double times[2];
    int knows_last, waits_for_rest;
    rd_motion last;               /* reference of the last cycle */
    double *effort;               /* (n) what was sent last */
    double *turns;                /* (n) whole turns between references and the arm */
    double *given[3];             /* (n) a reference with them, and with the joints that hold beside it */
    int64_t now, fault_since;     /* steady [ns]; RD_NO_EPOCH: the fail-safe output is not active */
    rd_record *record;            /* with its arrays, where the other thread reads */
    atomic_int stopped;           /* an emergency stop that nobody has reset */
    double *store;
};

static int64_t steady_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return INT64_C(1000000000) * now.tv_sec + now.tv_nsec;
}

static void keep_effort(void *to, rd_session *session, int64_t stamp, const double *effort)
{
    (void)stamp;
    rd_copy(((rd_follower *)to)->effort, effort, session->core->n);
}

rd_follower *rd_follower_new(int n, const rd_settings *settings, size_t record_bytes)
{
    rd_follower *follower = calloc(1, sizeof *follower);
    if (!follower) {
        return NULL;
    }
    const size_t each = (size_t)n;
    rd_core *core = rd_core_new(n, settings);
    follower->session = core ? rd_session_new(core, record_bytes) : NULL;
    follower->snapshot = core ? calloc(1, rd_core_snapshot_size(core)) : NULL;
    double *place = follower->store = calloc(FOLLOWER_ARRAYS * each, sizeof(double));
    follower->record = follower->session ? malloc(follower->session->ring.size) : NULL;
    if (!follower->session || !follower->snapshot || !follower->record || !place) {
        if (!follower->session) {
            rd_core_free(core);
        }
        rd_follower_free(follower);
        return NULL;
    }
    rd_motion *const motions[] = {&follower->stream.now, &follower->stream.ahead, &follower->last};
    for (int i = 0; i < 3; ++i, place += 3 * n) {
        *motions[i] = (rd_motion){place, place + n, place + 2 * n};
    }
    follower->effort = place;
    follower->turns = place + n;
    for (int i = 0; i < 3; ++i) {
        follower->given[i] = place + (2 + i) * n;
    }
    follower->times[1] = INFINITY;
    follower->plan = (rd_plan){.knots = 2, .times = follower->times, .stream = &follower->stream};
    rd_loop_init(&follower->loop, steady_clock, keep_effort, follower, 0);
    return follower;
}

void rd_follower_free(rd_follower *follower)
{
    if (follower) {
        if (follower->session) {
            rd_core_free(follower->session->core);
            rd_session_free(follower->session);
        }
        free(follower->snapshot);
        free(follower->record);
        free(follower->store);
        free(follower);
    }
}

static void request_stop(rd_follower *follower)
{
    rd_loop_request(&follower->loop, RD_EMERGENCY_STOP);
    rd_loop_request(&follower->loop, RD_LATCH);
}

void rd_follower_emergency_stop(rd_follower *follower)
{
    atomic_store_explicit(&follower->stopped, 1, memory_order_release);
    request_stop(follower);
}

int rd_follower_is_stopped(const rd_follower *follower)
{
    return atomic_load_explicit(&follower->stopped, memory_order_acquire);
}

void rd_follower_activate(rd_follower *follower, int64_t steady, int lockstep)
{
    rd_loop_init(&follower->loop, steady_clock, keep_effort, follower, lockstep);
    follower->loop.last_state = steady;
    rd_forget_estimate(follower->session->core);
    follower->session->troubled = 0;
    follower->knows_last = follower->waits_for_rest = 0;
    follower->now = steady;
    follower->fault_since = RD_NO_EPOCH;
    memset(follower->effort, 0, sizeof(double) * (size_t)follower->session->core->n);
    rd_loop_offer(&follower->loop, follower->session);
    rd_loop_request(&follower->loop, RD_ACTIVATE);
    if (rd_follower_is_stopped(follower)) {
        request_stop(follower);
    }
}

const double *rd_follower_deactivate(rd_follower *follower)
{
    rd_core *core = follower->session->core;
    const int brakes = core->blind.active && core->stopping.kind, controlled = rd_controls(core->phase);
    rd_core_lost_states(core, 0.0);
    rd_stop(core); /* an effort that stays must be that of the load at rest */
    if (controlled || brakes) {
        rd_core_safe_command(core, 0.0);
        rd_copy(follower->effort, core->effort, core->n);
    }
    return follower->effort;
}

/* A clock that comes in bursts has not gone on without the states of the cycles in which it stood. */
int64_t rd_time_of_cycle(int64_t *ahead, int64_t clock, int64_t cycle)
{
    const int64_t room = clock + MOST_AHEAD - *ahead, counted = cycle < room ? cycle : room;
    const int64_t passed = counted > clock - *ahead ? counted : clock - *ahead;
    *ahead += passed - clock;
    return passed;
}

double rd_follower_fault_age(const rd_follower *follower)
{
    return follower->fault_since == RD_NO_EPOCH ? 0.0 : 1e-9 * (double)(follower->now - follower->fault_since);
}

int rd_follower_has_faded(const rd_follower *follower)
{
    const rd_core *core = follower->session->core;
    const double rested = core->blind.active ? core->blind.rested : 0.0; /* below 0: it brakes the arm yet */
    const double fade = core->settings->safe_output == RD_ZERO ? 0.0 : core->settings->safe_fade_time + SENT;
    return follower->fault_since != RD_NO_EPOCH && rested >= 0.0 && rd_follower_fault_age(follower) >= rested + fade;
}

void rd_follower_drive_reference(const rd_follower *follower, double *position, double *velocity)
{
    rd_core_drive_reference(follower->session->core, position, velocity);
}

static int is_far(int n, const double *from, const double *to, double most)
{
    for (int j = 0; j < n; ++j) {
        if (fabs(to[j] - from[j]) > most) {
            return 1;
        }
    }
    return 0;
}

/* True if a reference goes on from where the core's own is, by position and velocity. */
static int is_joined(const rd_core *core, const rd_motion *begins, double most)
{
    for (int j = 0; j < core->n; ++j) {
        const double speed = JOINING * core->settings->hold_deceleration[j];
        if (!(fabs(begins->velocity[j] - core->reference.velocity[j]) <= speed)) {
            return 0;
        }
    }
    return !is_far(core->n, core->reference.position, begins->position, most);
}

/* Joints that are given a reference; -1 where that of one is not finite. */
static int given_joints(const rd_cycle *cycle, int n)
{
    int given = 0;
    for (int j = 0; j < n; ++j) {
        int finite = 0, absent = 0;
        for (int i = 0; i < 3; ++i) {
            finite += cycle->reference[i] && isfinite(cycle->reference[i][j]);
            absent += !cycle->reference[i] || isnan(cycle->reference[i][j]);
        }
        if (finite < 3 && absent < 3) {
            return -1;
        }
        given += finite == 3;
    }
    return given;
}

static void copy_reference(const rd_motion *to, const double *const *from, int n)
{
    rd_copy(to->position, from[0], n);
    rd_copy(to->velocity, from[1], n);
    rd_copy(to->acceleration, from[2], n);
}

/* Stream of this cycle. A reference for the next period was given in the last one for this; between
 * both lies the acceleration that the law looks ahead to. */
static void write_stream(rd_follower *follower, const rd_cycle *cycle, int n)
{
    const rd_motion *last = &follower->last, *ahead = &follower->stream.ahead;
    const double *const before[] = {last->position, last->velocity, last->acceleration};
    const int leads = cycle->leads && follower->knows_last;
    copy_reference(&follower->stream.now, leads ? before : cycle->reference, n);
    copy_reference(ahead, cycle->reference, n);
    for (int j = 0; leads && j < n; ++j) {
        ahead->acceleration[j] = 0.5 * (last->acceleration[j] + ahead->acceleration[j]);
    }
    follower->stream.time = rd_session_seconds(follower->session, cycle->stamp);
    copy_reference(last, cycle->reference, n);
    follower->knows_last = 1;
}

/* Replaces the reference of a cycle by one for all joints: whether there is one. It counts the whole turns of continuous
 * joints as the core does, and they stay while it is followed. Joints that are given none hold where the arm's reference
 * is, unless that moves. */
static int complete(rd_follower *follower, rd_cycle *cycle)
{
    const rd_core *core = follower->session->core;
    const int controls = rd_controls(core->phase);
    if (given_joints(cycle, core->n) < 1) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        const double reference = cycle->reference[0][j];
        for (int i = 1; i < 3; ++i) {
            follower->given[i][j] = isnan(reference) ? 0.0 : cycle->reference[i][j];
        }
        if (isnan(reference)) {
            const double speed = JOINING * core->settings->hold_deceleration[j];
            if (controls && !(fabs(core->reference.velocity[j]) <= speed)) {
                return 0;
            }
            follower->given[0][j] = controls ? core->reference.position[j] : cycle->position[j];
            continue;
        }
        if (core->settings->turn && !rd_has_plan(core) && controls) {
            follower->turns[j] = rd_turns(core->settings, j, reference, core->state.position[j]);
        }
        follower->given[0][j] = reference + follower->turns[j];
    }
    for (int i = 0; i < 3; ++i) {
        cycle->reference[i] = follower->given[i];
    }
    return 1;
}

static void take_reference(rd_follower *follower, const rd_cycle *given_cycle)
{
    rd_core *core = follower->session->core;
    rd_cycle completed = *given_cycle;
    const rd_cycle *const cycle = &completed;
    const int given = complete(follower, &completed);
    const int stepped = given && follower->knows_last
        && is_far(core->n, follower->last.position, cycle->reference[0], cycle->most_step);
    int follows = rd_has_plan(core);
    follower->waits_for_rest |= core->trip.latched || rd_is_held_to_run(core->settings);
    if (!given || stepped) {
        follower->knows_last = 0;
        if (follows) {
            rd_core_hold(core);
            follows = 0;
        }
    }
    if (!given) {
        return;
    }
    write_stream(follower, cycle, core->n);
    if (follower->waits_for_rest) {
        /* A reset moves nothing: what was followed goes on only where the arm is. */
        follower->waits_for_rest = core->trip.latched || is_far(core->n, core->hold, follower->stream.now.position, NEAR)
            || is_far(core->n, core->zero, follower->stream.now.velocity, SLOW);
        return;
    }
    if (!follows && rd_controls(core->phase) && is_joined(core, &follower->stream.now, cycle->most_step)) {
        follower->times[0] = core->time;
        ++follower->plan.number;
        follower->plan.epoch = core->epoch;
        rd_core_offer_plan(core, &follower->plan);
    }
}

/* Take the measured joints of a cycle; whether all of them have had a state. */
static int take_beside(rd_follower *follower, const rd_cycle *cycle)
{
    rd_measured *const measured = follower->session->core->settings->beside;
    if (measured && cycle->beside[0]) {
        const double time = rd_session_seconds(follower->session, cycle->stamp);
        rd_measured_take(measured, time, cycle->beside[0], cycle->beside[1]);
    }
    return rd_measured_known(measured);
}

const double *rd_follower_update(rd_follower *follower, const rd_cycle *cycle)
{
    const int n = follower->session->core->n;
    const int known = take_beside(follower, cycle);
    const int seen = known && cycle->position && rd_all_finite(cycle->position, n)
        && (!cycle->velocity || rd_all_finite(cycle->velocity, n));
    if (seen) {
        take_reference(follower, cycle);
        rd_core_measure(follower->session->core, cycle->effort);
        rd_loop_state(&follower->loop, cycle->stamp, cycle->steady, cycle->position, cycle->velocity);
    }
    rd_loop_tick(&follower->loop, cycle->steady, cycle->stamp);
    const int phase = follower->session->core->phase;
    follower->now = cycle->steady;
    if (phase != RD_STALE && phase != RD_FAULT) {
        follower->fault_since = RD_NO_EPOCH;
    } else if (follower->fault_since == RD_NO_EPOCH) {
        follower->fault_since = cycle->steady;
    }
    return follower->effort;
}

int rd_follower_reset_fault(rd_follower *follower)
{
    rd_core_snapshot(follower->session->core, follower->snapshot);
    if (follower->snapshot->moves) {
        return 0;
    }
    atomic_store_explicit(&follower->stopped, 0, memory_order_release);
    rd_loop_request(&follower->loop, RD_RESET_FAULT);
    return 1;
}

static double seen_at(rd_follower *follower)
{
    rd_core_snapshot(follower->session->core, follower->snapshot);
    return follower->snapshot->time;
}

void rd_follower_push(rd_follower *follower, const double *wrench, double duration)
{
    rd_core_push(follower->session->core, wrench, seen_at(follower) + duration);
}

void rd_follower_guide(rd_follower *follower, int pressed, double duration)
{
    rd_core_guide(follower->session->core, pressed ? seen_at(follower) + duration : -INFINITY);
}

void rd_follower_accelerate(rd_follower *follower, const double *acceleration, double duration)
{
    rd_core *core = follower->session->core;
    if (core->settings->beside) {
        rd_measured_accelerate(core->settings->beside, acceleration, seen_at(follower) + duration);
    }
}

int rd_follower_doubts(rd_follower *follower)
{
    rd_core_snapshot(follower->session->core, follower->snapshot);
    return follower->snapshot->trip.latched && rd_rule_doubts(follower->snapshot->trip.rule);
}

void rd_follower_largest(rd_follower *follower, double *largest)
{
    rd_core_snapshot(follower->session->core, follower->snapshot);
    rd_copy(largest, follower->snapshot->largest, RD_RULES);
}

void rd_follower_offer_settings(rd_follower *follower, const rd_settings *settings)
{
    rd_core_offer_settings(follower->session->core, settings);
}

int rd_follower_standing(rd_follower *follower, double *position, double *external, double *period)
{
    const int n = follower->session->core->n;
    rd_core_snapshot(follower->session->core, follower->snapshot);
    const double *const arrays = (const double *)(follower->snapshot + 1);
    rd_copy(position, arrays + n, n);
    rd_copy(external, arrays + 6 * n, n);
    *period = *period > 0.0 ? *period : follower->snapshot->usual_period;
    return rd_controls(follower->snapshot->phase);
}

int rd_follower_estimates_velocity(rd_follower *follower)
{
    rd_core_snapshot(follower->session->core, follower->snapshot);
    return follower->snapshot->estimates;
}

uint64_t rd_follower_oldest_settings(rd_follower *follower)
{
    rd_core_snapshot(follower->session->core, follower->snapshot);
    const uint64_t former = follower->snapshot->former;
    return former ? former : follower->snapshot->oldest_settings;
}

int rd_follower_read(rd_follower *follower, rd_record *record, double *arrays)
{
    if (!rd_session_read(follower->session, follower->record)) {
        return 0;
    }
    *record = *follower->record;
    rd_copy(arrays, (const double *)(follower->record + 1), RD_FOLLOWER_ARRAYS * follower->session->core->n);
    return 1;
}
