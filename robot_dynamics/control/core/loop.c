/* See loop.h. */
#include "loop.h"

#include <math.h>

static const int64_t SAFE_PERIOD = 10000000;   /* between two commands of the safe output [ns] */
static const int64_t LONGEST_TICK = 100000000; /* between two looks at requests that nobody woke us for [ns] */
static const int64_t LONGEST_OLD = 1000000000; /* states that seem old for longer are of another clock [ns] */
static const int64_t LONGEST_END = 3000000000; /* a halt waits at most so long until the robot rests [ns] */

rd_session rd_nothing;

void rd_loop_init(rd_loop *loop, int64_t (*clock)(void),
                  void (*send)(void *, rd_session *, int64_t, const double *), void *to, int lockstep)
{
    *loop = (rd_loop){.clock = clock, .send = send, .to = to, .lockstep = lockstep};
    loop->front_seen = clock();
    loop->last_state = loop->lag = loop->old_since = loop->ahead = RD_NO_EPOCH;
    rd_time_init(&loop->time);
    atomic_init(&loop->shown_last_state, RD_NO_EPOCH);
    atomic_init(&loop->shown_ahead, RD_NO_EPOCH);
}

double rd_session_seconds(rd_session *session, int64_t stamp)
{
    int_fast64_t epoch = RD_NO_EPOCH;
    if (atomic_compare_exchange_strong(&session->epoch, &epoch, stamp)) {
        epoch = stamp;
    }
    return 1e-9 * (double)(stamp - epoch);
}

/* Requests */

void rd_loop_offer(rd_loop *loop, rd_session *session)
{
    atomic_store_explicit(&loop->offered, session ? session : &rd_nothing, memory_order_release);
    atomic_fetch_add_explicit(&loop->asked, 1, memory_order_release);
}

void rd_loop_request(rd_loop *loop, int what)
{
    if (what == RD_HOLD) {
        atomic_fetch_add_explicit(&loop->hold_requests, 1, memory_order_release);
    } else if (what == RD_EMERGENCY_STOP) {
        atomic_fetch_add_explicit(&loop->stop_requests, 1, memory_order_release);
    } else if (what == RD_LATCH) {
        atomic_fetch_add_explicit(&loop->latch_requests, 1, memory_order_release);
    } else if (what == RD_TAKE_PLAN) {
        atomic_fetch_add_explicit(&loop->plan_requests, 1, memory_order_release);
    } else if (what == RD_RESET_FAULT) {
        atomic_fetch_add_explicit(&loop->reset_requests, 1, memory_order_release);
    } else {
        const uint_fast32_t before = atomic_load_explicit(&loop->wanted, memory_order_relaxed);
        atomic_store_explicit(&loop->wanted, (before | 1) + (what == RD_ACTIVATE ? 2 : 1), memory_order_release);
    }
    atomic_fetch_add_explicit(&loop->asked, 1, memory_order_release);
}

static void begin_safe_output(rd_loop *loop, int64_t steady)
{
    rd_session *session = loop->session;
    if (loop->safe || !session) {
        return;
    }
    /* If it has been the answer to bad states already, it goes on from there. */
    const double faded = session->troubled ? session->trouble_latest - session->trouble_began : 0.0;
    loop->safe = session;
    loop->safe_for_front = 0;
    loop->safe_began = steady - (int64_t)(1e9 * (faded > 0.0 ? faded : 0.0));
    loop->safe_due = steady;
    /* A simulation's clock is another, and may stand; and there may have been no state yet. */
    const int by_wall_clock = !loop->lockstep && !loop->time.used && loop->last_state != RD_NO_EPOCH;
    rd_core_lost_states(session->core, by_wall_clock ? 1e-9 * (double)(steady - loop->last_state) : 0.0);
}

static void show(rd_loop *loop)
{
    atomic_store_explicit(&loop->shown_active, loop->active && !loop->ending, memory_order_release);
    atomic_store_explicit(&loop->shown_halting, loop->safe != NULL || loop->ending, memory_order_release);
    atomic_store_explicit(&loop->shown_last_state, loop->last_state, memory_order_release);
    atomic_store_explicit(&loop->shown_ahead, loop->ahead, memory_order_release);
    atomic_store_explicit(&loop->shown_session, loop->session, memory_order_release);
    atomic_store_explicit(&loop->shown_safe, loop->safe, memory_order_release);
}

/* Halt: the fail-safe output begins, at rest where states still come. */
static void halt(rd_loop *loop, int64_t steady)
{
    if (loop->ending == RD_BRAKES && loop->session) {
        loop->session->core->held = 1;
    }
    loop->ending = RD_GOES_ON;
    loop->active = 0;
    begin_safe_output(loop, steady);
}

static int is_moving(const rd_core *core)
{
    return rd_controls(core->phase) && (core->stopping.kind || rd_has_plan(core));
}

/* Time for which the efforts must carry the robot beside brakes that begin to engage now [ns]. */
static int64_t braking_time(const rd_loop *loop)
{
    const rd_core *core = loop->session->core;
    const int carries = !loop->lockstep && rd_controls(core->phase) && rd_brake_share(core, core->time) > 0.0;
    return carries ? (int64_t)(1e9 * core->settings->brake_delay) : 0;
}

static void look_for_end(rd_loop *loop, int64_t steady)
{
    if (!loop->ending) {
        return;
    }
    const int64_t waited = steady - loop->ending_since;
    if (loop->safe || !loop->session) {
        halt(loop, steady);
    } else if (loop->ending == RD_BRAKES) {
        if (waited >= braking_time(loop)) {
            halt(loop, steady);
        }
    } else if (!is_moving(loop->session->core) || waited > LONGEST_END) {
        if (braking_time(loop) > 0) {
            loop->ending = RD_BRAKES;
            loop->ending_since = steady;
        } else {
            halt(loop, steady);
        }
    }
}

static void meet_requests(rd_loop *loop, int64_t steady)
{
    const uint_fast32_t asked = atomic_load_explicit(&loop->asked, memory_order_acquire);
    rd_session *offered = atomic_exchange_explicit(&loop->offered, NULL, memory_order_acquire);
    if (offered && loop->ending) {
        halt(loop, steady);
    }
    if (offered) {
        loop->session = offered == &rd_nothing ? NULL : offered;
    }
    const uint_fast32_t wanted = atomic_load_explicit(&loop->wanted, memory_order_acquire);
    if (wanted != loop->lifecycle) {
        loop->lifecycle = (uint32_t)wanted;
        if (wanted & 1) {
            loop->active = 1;
            loop->ending = RD_GOES_ON;
            loop->safe = NULL;
            if (loop->session) {
                rd_supervision_begin(loop->session->core);
            }
        } else if (loop->active && !loop->ending) {
            if (loop->session && !loop->safe && is_moving(loop->session->core)) {
                rd_core_hold(loop->session->core);
            }
            loop->ending = RD_COMES_TO_REST;
            loop->ending_since = steady;
            look_for_end(loop, steady);
        }
    }
    const uint_fast32_t holds = atomic_load_explicit(&loop->hold_requests, memory_order_acquire);
    if (holds != loop->held) {
        loop->held = (uint32_t)holds;
        if (loop->session) {
            rd_core_hold(loop->session->core);
        }
    }
    const uint_fast32_t stops = atomic_load_explicit(&loop->stop_requests, memory_order_acquire);
    if (stops != loop->stopped) {
        loop->stopped = (uint32_t)stops;
        if (loop->session) {
            rd_core_emergency_stop(loop->session->core);
        }
    }
    const uint_fast32_t latches = atomic_load_explicit(&loop->latch_requests, memory_order_acquire);
    if (latches != loop->latched) {
        loop->latched = (uint32_t)latches;
        if (loop->session) {
            rd_core_latch(loop->session->core);
        }
    }
    const uint_fast32_t resets = atomic_load_explicit(&loop->reset_requests, memory_order_acquire);
    if (resets != loop->faults_reset) {
        loop->faults_reset = (uint32_t)resets;
        if (loop->session) {
            rd_core_reset_fault(loop->session->core);
        }
    }
    const uint_fast32_t plans = atomic_load_explicit(&loop->plan_requests, memory_order_acquire);
    if (plans != loop->plans_taken) {
        loop->plans_taken = (uint32_t)plans;
        if (loop->session) {
            rd_core_take_plan(loop->session->core);
        }
    }
    if (asked != atomic_load_explicit(&loop->done, memory_order_relaxed)) {
        show(loop); /* who sees that a request was met sees what has become of it */
        atomic_store_explicit(&loop->done, asked, memory_order_release);
    }
}

/* Silence of the front beyond the permitted one [s], if nothing accepted is left to be done; else 0. */
static double front_silence(rd_loop *loop, int64_t steady)
{
    const rd_core *core = loop->session->core;
    const double timeout = core->settings->front_timeout;
    const int64_t seen = atomic_load_explicit(&loop->front_seen, memory_order_relaxed);
    if (rd_has_plan(core) || core->phase == RD_STOPPING) {
        loop->last_busy = steady;
    }
    const double silent = 1e-9 * (double)(steady - (seen > loop->last_busy ? seen : loop->last_busy));
    return timeout > 0.0 && silent > timeout ? silent : 0.0;
}

static int64_t timeout_of(const rd_session *session)
{
    return (int64_t)(1e9 * session->core->settings->state_timeout);
}

/* True if a state that comes after a loss was measured before it: messages that waited are no place to hold. */
static int is_old(rd_loop *loop, int64_t stamp, int64_t steady, int lost)
{
    if (loop->lockstep || loop->time.used || stamp == 0) {
        return 0;
    }
    const int64_t lag = steady - stamp;
    if (loop->lag == RD_NO_EPOCH || lag < loop->lag) {
        loop->lag = lag;
    }
    if (!lost || lag - loop->lag < timeout_of(loop->session)) {
        loop->lag += lost ? 0 : (lag - loop->lag) / 1024;
        loop->old_since = RD_NO_EPOCH;
        return 0;
    }
    loop->old_since = loop->old_since == RD_NO_EPOCH ? steady : loop->old_since;
    if (steady - loop->old_since > LONGEST_OLD) {
        loop->lag = lag;
        return 0;
    }
    return 1;
}

/* Begin the safe output where states or the front have been silent too long. A state that comes after such a silence,
 * before anybody has noticed it, is answered by a hold. */
static void look_for_losses(rd_loop *loop, int64_t steady, int state_has_come)
{
    rd_session *session = loop->session;
    rd_core *core = session->core;
    if (core->phase == RD_WAITING) {
        return;
    }
    rd_record about = {.arrived = steady, .left = steady, .time = core->time, .kind = RD_STATES_LOST};
    const rd_sim_time *time = &loop->time;
    const int64_t timeout = timeout_of(session), since = steady - loop->last_state;
    const double age = time->used ? rd_time_lost(time, loop->last_state, steady, timeout)
                                  : since >= timeout ? 1e-9 * (double)since : 0.0;
    const double silent = front_silence(loop, steady);
    if (!loop->lockstep && age > 0.0) {
        about.kind = time->used && time->alone ? RD_SENDERS_GONE : RD_STATES_LOST;
        about.age = age;
    } else if (silent > 0.0) {
        about.kind = RD_FRONT_LOST;
        about.age = silent;
    } else {
        return;
    }
    if (state_has_come && about.kind != RD_FRONT_LOST) {
        about.back = 1;
        rd_core_lost_states(core, 0.0);
    } else {
        begin_safe_output(loop, steady);
        loop->safe_for_front = about.kind == RD_FRONT_LOST;
    }
    about.phase = core->phase;
    rd_session_note(session, &about);
}

/* True if states go on while the simulated clock stands, which the safe output answers. */
static int clock_fails(rd_loop *loop, int64_t stamp, int64_t steady)
{
    rd_session *session = loop->session;
    rd_sim_time *time = &loop->time;
    if (!time->used || loop->lockstep || !rd_time_runs_away(time, stamp, steady, timeout_of(session))) {
        time->reported = 0;
        return 0;
    }
    if (loop->active && !time->reported && steady - time->ahead_since >= timeout_of(session)) {
        rd_record about = {.arrived = steady, .left = steady, .time = session->core->time, .kind = RD_CLOCK_STANDS};
        time->reported = 1;
        about.age = time->now == RD_NO_EPOCH ? -1.0 : 1e-9 * (double)(steady - time->moved);
        if (session->core->phase != RD_WAITING) {
            begin_safe_output(loop, steady);
        }
        about.phase = session->core->phase;
        rd_session_note(session, &about);
    }
    return 1;
}

void rd_loop_state(rd_loop *loop, int64_t stamp, int64_t steady, const double *position, const double *velocity)
{
    meet_requests(loop, steady);
    rd_session *session = loop->session;
    if (!session) {
        return;
    }
    rd_core *core = session->core;
    const int lost = core->phase != RD_WAITING && loop->active
        && (loop->safe != NULL || steady - loop->last_state >= timeout_of(session));
    const int old = is_old(loop, stamp, steady, lost);
    if (loop->active && !loop->safe) {
        look_for_losses(loop, steady, !old);
    }
    const int clockless = clock_fails(loop, stamp, steady);
    if (stamp == 0 && loop->time.now != RD_NO_EPOCH) {
        stamp = loop->time.now;
    }
    rd_time_note_state(&loop->time, stamp);
    const double now = rd_session_seconds(session, stamp);
    rd_record about = {.stamp = stamp, .arrived = steady, .time = now, .kind = RD_OBSERVED};
    loop->last_state = steady;
    atomic_fetch_add_explicit(&loop->states, 1, memory_order_relaxed);
    if (!velocity) {
        velocity = rd_estimate_velocity(core, now, position);
    }
    if (old) {
        about.phase = core->phase;
        about.left = loop->clock();
        rd_session_note(session, &about);
        show(loop);
        return;
    }
    loop->ahead = fabs(now) < 1e9 ? steady - (int64_t)(1e9 * now) : RD_NO_EPOCH;
    if (!loop->active || clockless || (loop->safe && loop->safe_for_front && front_silence(loop, steady) > 0.0)) {
        rd_core_observe(core, position);
    } else if (rd_core_update(core, now, position, velocity)) {
        session->troubled = 0;
        loop->send(loop->to, session, stamp, core->effort);
        about.kind = RD_ANSWERED;
        about.back = loop->safe != NULL;
        loop->safe = NULL;
        atomic_fetch_add_explicit(&loop->answered, 1, memory_order_relaxed);
    } else {
        rd_core_lost_states(core, 0.0);
        session->trouble_began = session->troubled ? session->trouble_began : now;
        session->trouble_latest = now;
        session->troubled = 1;
        about.kind = RD_NO_EFFORT;
        if (!loop->safe) {
            rd_core_safe_command(core, fmax(0.0, now - session->trouble_began));
            loop->send(loop->to, session, stamp, core->effort);
        }
    }
    if (about.kind != RD_OBSERVED) {
        about.discontinuity = core->discontinuity;
        about.discontinuity_size = core->discontinuity_size;
        about.discontinuity_more = core->discontinuity_more;
    }
    about.phase = core->phase;
    about.left = loop->clock();
    rd_session_note(session, &about);
    look_for_end(loop, steady);
    show(loop);
}

void rd_loop_hung(rd_loop *loop, int64_t steady, int64_t began, double age, const double *left,
                  const double *rest)
{
    rd_session *session = loop->safe ? loop->safe : loop->session;
    if (!session) {
        return;
    }
    rd_core *core = session->core;
    rd_record about = {.arrived = steady, .left = steady, .time = core->time, .kind = RD_LOOP_HUNG, .age = age};
    if (!loop->safe) {
        loop->safe = session;
        loop->safe_for_front = 0;
        loop->safe_began = began;
    }
    loop->safe_due = steady;
    rd_core_lost_states(core, 0.0);
    rd_copy(core->left, left, core->n);
    if (rd_sends_setpoints(core)) {
        rd_copy(core->setpoints.position, rest, core->n);
        rd_copy(core->setpoints.velocity, rest + core->n, core->n);
    }
    about.phase = core->phase;
    rd_session_note(session, &about);
    show(loop);
}

static void send_safe_output(rd_loop *loop, int64_t steady, int64_t wall)
{
    rd_core *core = loop->safe->core;
    const double since = 1e-9 * (double)(steady - loop->safe_began);
    rd_core_safe_command(core, since);
    loop->send(loop->to, loop->safe, wall, core->effort);
    loop->safe_due = steady + SAFE_PERIOD;
    if (!loop->active && !rd_safe_output_goes_on(core, since)) {
        loop->safe = NULL;
    }
}

int64_t rd_loop_tick(rd_loop *loop, int64_t steady, int64_t wall)
{
    int64_t due = steady + LONGEST_TICK;
    meet_requests(loop, steady);
    if (!loop->safe && loop->session && loop->active) {
        look_for_losses(loop, steady, 0);
    }
    look_for_end(loop, steady);
    if (loop->safe && steady >= loop->safe_due) {
        send_safe_output(loop, steady, wall);
    }
    if (loop->safe) {
        due = loop->safe_due;
    } else if (loop->session && loop->active && !loop->lockstep && loop->session->core->phase != RD_WAITING) {
        const int64_t lost = loop->last_state + timeout_of(loop->session) + 1;
        due = lost < due && lost > steady ? lost : due;
    }
    if (loop->ending == RD_BRAKES) {
        const int64_t held = loop->ending_since + braking_time(loop);
        due = held < due && held > steady ? held : due;
    }
    show(loop);
    return due;
}
