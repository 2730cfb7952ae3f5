/* See host.h. */
#include "host.h"

#include <stdlib.h>
#include <time.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t rd_steady_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* The watchdog outside the loop.
 *
 * After each command the loop leaves what a fail-safe output would begin with: the efforts that carry the robot, and
 * those that left last. A loop that hangs may be anywhere in the core, so the watchdog takes nothing but these numbers. A
 * loop that runs again finds `overtaken` set before it sends: what it was about to send is dropped, and it goes on with
 * the fail-safe output of its own from the efforts that the watchdog has sent last. */

static const int64_t PATIENCE = 100000000; /* beyond the states' timeout: the loop itself notices a loss first [ns] */

/* A sign of life; whether the loop may send. */
static int live(rd_host *host)
{
    pthread_mutex_lock(&host->guard.lock);
    const int overtaken = host->guard.overtaken;
    if (!overtaken) {
        host->guard.heartbeat = rd_steady_now();
    }
    pthread_mutex_unlock(&host->guard.lock);
    return !overtaken;
}

int rd_host_may_send(rd_host *host)
{
    return live(host);
}

/* Goes on after the watchdog, where it has taken over. */
static void recover(rd_host *host)
{
    rd_guard *guard = &host->guard;
    if (live(host)) {
        return;
    }
    const int64_t steady = rd_steady_now();
    pthread_mutex_lock(&guard->lock);
    if (guard->messages) {
        const double age = 1e-9 * (double)(steady - guard->hung_since);
        rd_loop_hung(&host->loop, steady, guard->began, age, guard->messages->left, guard->messages->rest);
    }
    guard->overtaken = 0;
    guard->heartbeat = steady;
    pthread_mutex_unlock(&guard->lock);
}

/* Leave what the watchdog would begin with. */
static void leave_reserve(rd_host *host, rd_messages *messages, const rd_core *core, int64_t stamp, const double *effort)
{
    const rd_settings *settings = core->settings;
    rd_guard *guard = &host->guard;
    if (host->loop.safe) {
        rd_copy(messages->next_load, effort, core->n);
    } else {
        rd_core_safe_load(core, messages->next_load);
    }
    pthread_mutex_lock(&guard->lock);
    if (!guard->overtaken) {
        guard->messages = messages;
        guard->n = core->n;
        guard->stamp = stamp;
        guard->fade = settings->safe_fade_time;
        guard->allowed = (int64_t)(1e9 * settings->state_timeout) + PATIENCE;
        rd_copy(messages->load, messages->next_load, core->n);
        rd_copy(messages->left, effort, core->n);
        rd_copy(messages->steps, settings->effort_steps, core->n);
        rd_copy(messages->limits, settings->limits, core->n);
        rd_copy(messages->rest, messages->moving, 2 * core->n);
        for (int j = 0; j < 2 * core->n; ++j) {
            const double open = j < core->n ? -INFINITY : INFINITY;
            messages->range[j] = settings->setpoint_range ? settings->setpoint_range[j] : open;
        }
        guard->command = settings->command;
        guard->deceleration = settings->setpoint_deceleration;
        guard->heartbeat = rd_steady_now();
    }
    pthread_mutex_unlock(&guard->lock);
}

int rd_host_overdue(rd_host *host, int64_t steady)
{
    rd_guard *guard = &host->guard;
    pthread_mutex_lock(&guard->lock);
    const int overdue = guard->messages && steady - guard->heartbeat > guard->allowed;
    pthread_mutex_unlock(&guard->lock);
    return overdue;
}

int rd_host_overtake(rd_host *host, int64_t steady, void (*publish)(void *to, const rd_outbox *outbox), void *to)
{
    rd_guard *guard = &host->guard;
    pthread_mutex_lock(&guard->lock);
    rd_messages *messages = guard->messages;
    if (!messages || steady - guard->heartbeat <= guard->allowed) {
        pthread_mutex_unlock(&guard->lock);
        return 0;
    }
    const int begins = !guard->overtaken;
    if (begins) {
        guard->overtaken = 1;
        guard->hung_since = guard->heartbeat;
        guard->began = steady;
        guard->seen = 0.0;
    }
    const double since = 1e-9 * (double)(steady - guard->began);
    const double share = guard->command == RD_COMMAND_EFFORT ? rd_ramp_down(since, guard->fade) : 1.0;
    double *const position = messages->rest, *const velocity = position + guard->n;
    /* Only drives that take velocities have gone on without commands. */
    for (int j = 0; guard->command != RD_COMMAND_VELOCITY && j < guard->n; ++j) {
        velocity[j] = 0.0;
    }
    rd_rest_setpoints(guard->n, since - guard->seen, guard->deceleration, messages->range, position, velocity);
    guard->seen = since;
    guard->faded = guard->command == RD_COMMAND_EFFORT || since >= guard->fade;
    for (int j = 0; j < guard->n; ++j) {
        messages->safe[j] = share * messages->load[j];
    }
    rd_bound_steps(guard->n, messages->left, messages->steps, messages->limits, 1, messages->safe);
    rd_copy(messages->left, messages->safe, guard->n);
    for (int j = 0; j < guard->n; ++j) {
        guard->faded &= (guard->command == RD_COMMAND_EFFORT ? messages->safe[j] : velocity[j]) == 0.0;
    }
    const size_t size = sizeof(double) * (size_t)guard->n;
    rd_cdr_set_stamp(messages->safe_stamped.bytes, host->simulated ? guard->stamp : read_clock(CLOCK_REALTIME));
    memcpy(messages->safe_stamped.bytes + messages->safe_stamped.effort, messages->safe, size);
    memcpy(messages->safe_stamped.bytes + messages->safe_stamped.position, position, size);
    memcpy(messages->safe_stamped.bytes + messages->safe_stamped.velocity, velocity, size);
    const double *const taken[] = {messages->safe, velocity, position};
    memcpy(messages->safe_command.bytes + messages->safe_command.effort, taken[guard->command], size);
    const rd_outbox outbox = {
        .stamped = messages->safe_stamped.bytes,
        .command = messages->safe_command.bytes,
        .stamped_size = messages->safe_stamped.size,
        .command_size = messages->safe_command.size,
    };
    publish(to, &outbox);
    pthread_mutex_unlock(&guard->lock);
    return begins;
}

void rd_host_forget(rd_host *host, const rd_messages *messages)
{
    pthread_mutex_lock(&host->guard.lock);
    if (host->guard.messages == messages) {
        host->guard.messages = NULL;
    }
    pthread_mutex_unlock(&host->guard.lock);
}

static void send_efforts(void *to, rd_session *session, int64_t stamp, const double *effort)
{
    rd_host *host = to;
    rd_messages *messages = session->messages;
    if (!live(host) || (rd_sends_setpoints(session->core) && !session->core->setpoints.known)) {
        return;
    }
    rd_messages_fill(messages, session->core, stamp, effort);
    host->outbox = (rd_outbox){
        .count = host->outbox.count + 1,
        .stamped = messages->stamped.bytes,
        .command = messages->command.bytes,
        .stamped_size = messages->stamped.size,
        .command_size = messages->command.size,
    };
    if (host->publish) {
        host->publish(host, &host->outbox);
    }
    if (!host->loop.lockstep) {
        leave_reserve(host, messages, session->core, stamp, effort);
    }
}

void rd_host_init(rd_host *host, int lockstep, int simulated, void (*publish)(rd_host *, const rd_outbox *))
{
    pthread_mutexattr_t inherits;
    pthread_mutexattr_init(&inherits);
    pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&host->guard.lock, &inherits);
    pthread_mutexattr_destroy(&inherits);
    host->simulated = simulated;
    host->publish = publish;
    rd_loop_init(&host->loop, rd_steady_now, send_efforts, host, lockstep);
    host->loop.time.used = simulated;
    host->ownership.brake_sent = -1;
    host->ownership.looked = host->ownership.resumed = host->ownership.last = RD_NO_EPOCH;
    atomic_init(&host->ownership.brake, -1);
}

rd_host *rd_host_new(int lockstep, int simulated)
{
    rd_host *host = calloc(1, sizeof *host);
    if (host) {
        rd_host_init(host, lockstep, simulated, NULL);
        host->is_front = 1;
    }
    return host;
}

void rd_host_destroy(rd_host *host)
{
    pthread_mutex_destroy(&host->guard.lock);
}

void rd_host_free(rd_host *host)
{
    if (host) {
        rd_host_destroy(host);
        free(host);
    }
}

rd_loop *rd_host_loop(rd_host *host)
{
    return &host->loop;
}

/* Measured joints of a message, for the model of the session; NULL: there are none. */
static const double *read_measured(rd_session *session, const rd_joint_state *state)
{
    rd_messages *messages = session->messages;
    const uint32_t m = messages->joints.measured;
    const uint32_t *const places = messages->places + session->core->n;
    if (!m || !state->position) {
        return NULL;
    }
    rd_cdr_pick_some(state->position, places, m, messages->beside);
    rd_cdr_pick_some(state->velocity, places, m, messages->beside + m);
    return messages->beside;
}

/* Give the model of a session the measured joints of a message; whether it knows all of them. */
static int take_measured(rd_session *session, int64_t stamp, const double *values)
{
    rd_measured *measured = session->core->settings->beside;
    const rd_messages *messages = session->messages;
    if (measured && values) {
        rd_measured_take(measured, rd_session_seconds(session, stamp), values, values + messages->joints.measured);
    }
    return !measured || rd_measured_known(measured);
}

static int64_t stamp_of(const rd_host *host, const rd_joint_state *state)
{
    return state->stamp == 0 && !host->simulated ? read_clock(CLOCK_REALTIME) : state->stamp;
}

const rd_given_state *rd_host_read(rd_host *host, const uint8_t *bytes, size_t size)
{
    rd_session *session = host->loop.session;
    if (!session) {
        return NULL;
    }
    rd_messages *messages = session->messages;
    const uint32_t n = (uint32_t)session->core->n;
    rd_joint_state state;
    const int reading = rd_cdr_read_joint_state(bytes, size, &messages->joints, messages->places, &state);
    if (reading == RD_OTHER_JOINTS) {
        static const rd_given_state not_ours = {0};
        const double *const values = read_measured(session, &state);
        const int64_t stamp = values ? stamp_of(host, &state) : 0;
        if (stamp) {
            take_measured(session, stamp, values);
        }
        return &not_ours;
    }
    host->spoiled = reading == RD_READ; /* the arrays of the state before are being written */
    if (reading != RD_READ || !rd_cdr_pick(state.position, messages->places, n, messages->position)) {
        return NULL;
    }
    const int moves = state.velocity && rd_cdr_pick(state.velocity, messages->places, n, messages->velocity);
    const int pushes = session->core->settings->measured && state.effort
        && rd_cdr_pick(state.effort, messages->places, n, messages->effort);
    host->given = (rd_given_state){
        .session = session,
        .stamp = stamp_of(host, &state),
        .position = messages->position,
        .velocity = moves ? messages->velocity : NULL,
        .effort = pushes ? messages->effort : NULL,
        .measured = read_measured(session, &state),
    };
    return &host->given;
}

static void note_front(rd_host *host, int64_t steady)
{
    if (host->is_front) {
        atomic_store_explicit(&host->loop.front_seen, steady, memory_order_relaxed);
    }
}

void rd_host_answer(rd_host *host, const rd_given_state *state)
{
    recover(host);
    const int64_t steady = rd_steady_now();
    note_front(host, steady);
    if (host->loop.session == state->session) {
        host->last_stamp = state->stamp;
        if (take_measured(host->loop.session, state->stamp, state->measured)) {
            rd_core_measure(host->loop.session->core, state->effort);
            rd_loop_state(&host->loop, state->stamp, steady, state->position, state->velocity);
        }
    }
    recover(host);
}

void rd_host_clock(rd_host *host, int64_t now)
{
    rd_loop_clock(&host->loop, now, rd_steady_now());
}

void rd_host_alone(rd_host *host, int alone)
{
    host->loop.time.alone = alone;
}

int64_t rd_host_tick(rd_host *host)
{
    recover(host);
    const int64_t steady = rd_steady_now();
    const rd_sim_time *time = &host->loop.time;
    const int64_t simulated = time->now == RD_NO_EPOCH ? host->last_stamp : time->now;
    note_front(host, steady);
    int64_t due = rd_loop_tick(&host->loop, steady, host->simulated ? simulated : read_clock(CLOCK_REALTIME));
    if (!host->loop.active && !host->loop.safe && host->guard.messages) {
        rd_host_forget(host, host->guard.messages); /* nothing is sent any more */
    }
    recover(host);
    const int64_t brakes = host->ownership.brake_at + RD_REPEAT_BRAKE;
    if (atomic_load(&host->ownership.brake) >= 0 && (host->loop.active || host->loop.safe) && brakes < due) {
        due = brakes;
    }
    return due;
}

const rd_outbox *rd_host_outbox(const rd_host *host)
{
    return &host->outbox;
}

int rd_host_urgent(rd_host *host)
{
    rd_session *session = host->loop.session;
    const int urgent = session && session->ring.urgent;
    if (urgent) {
        session->ring.urgent = 0;
    }
    return urgent;
}

void rd_host_seen(rd_host *host)
{
    atomic_store_explicit(&host->loop.front_seen, rd_steady_now(), memory_order_release);
}

void rd_host_status_of(rd_host *host, rd_host_status *status)
{
    rd_loop *loop = &host->loop;
    const uint_fast32_t done = atomic_load(&loop->done); /* before what has become of the requests */
    pthread_mutex_lock(&host->guard.lock);
    const int64_t hung = host->guard.overtaken ? host->guard.hung_since : 0;
    const int faded = host->guard.faded;
    pthread_mutex_unlock(&host->guard.lock);
    *status = (rd_host_status){
        .states = atomic_load(&loop->states),
        .answered = atomic_load(&loop->answered),
        .last_state = atomic_load(&loop->shown_last_state),
        .ahead = atomic_load(&loop->shown_ahead),
        .session = atomic_load(&loop->shown_session),
        .safe = atomic_load(&loop->shown_safe),
        .asked = (uint32_t)atomic_load(&loop->asked),
        .done = (uint32_t)done,
        .active = atomic_load(&loop->shown_active),
        .halting = atomic_load(&loop->shown_halting),
        .faded = faded,
        .hung = hung,
    };
}
