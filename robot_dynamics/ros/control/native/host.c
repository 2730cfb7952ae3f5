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

static void send_efforts(void *to, rd_session *session, int64_t stamp, const double *effort)
{
    rd_host *host = to;
    rd_messages *messages = session->messages;
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
}

void rd_host_init(rd_host *host, int lockstep, int simulated, void (*publish)(rd_host *, const rd_outbox *))
{
    host->simulated = simulated;
    host->publish = publish;
    rd_loop_init(&host->loop, rd_steady_now, send_efforts, host, lockstep);
    host->loop.time.used = simulated;
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

void rd_host_free(rd_host *host)
{
    free(host);
}

rd_loop *rd_host_loop(rd_host *host)
{
    return &host->loop;
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
    const rd_layout *layout = NULL;
    for (unsigned i = 0; i < RD_LAYOUTS; ++i) {
        const unsigned place = (messages->known + i) % RD_LAYOUTS;
        const rd_layout *candidate = atomic_load_explicit(&messages->layouts[place], memory_order_acquire);
        if (candidate && rd_cdr_read_joint_state(bytes, size, candidate, &state)) {
            layout = candidate;
            messages->known = place;
            break;
        }
    }
    if (!layout || !rd_cdr_pick(state.position, layout, n, messages->position)) {
        return NULL;
    }
    const int moves = state.velocity && rd_cdr_pick(state.velocity, layout, n, messages->velocity);
    host->given = (rd_given_state){
        .session = session,
        .stamp = state.stamp == 0 && !host->simulated ? read_clock(CLOCK_REALTIME) : state.stamp,
        .position = messages->position,
        .velocity = moves ? messages->velocity : NULL,
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
    const int64_t steady = rd_steady_now();
    note_front(host, steady);
    if (host->loop.session == state->session) {
        host->last_stamp = state->stamp;
        rd_loop_state(&host->loop, state->stamp, steady, state->position, state->velocity);
    }
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
    const int64_t steady = rd_steady_now();
    const rd_sim_time *time = &host->loop.time;
    const int64_t simulated = time->now == RD_NO_EPOCH ? host->last_stamp : time->now;
    note_front(host, steady);
    return rd_loop_tick(&host->loop, steady, host->simulated ? simulated : read_clock(CLOCK_REALTIME));
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
    *status = (rd_host_status){
        .states = atomic_load(&loop->states),
        .answered = atomic_load(&loop->answered),
        .last_state = atomic_load(&loop->shown_last_state),
        .session = atomic_load(&loop->shown_session),
        .safe = atomic_load(&loop->shown_safe),
        .asked = (uint32_t)atomic_load(&loop->asked),
        .done = (uint32_t)done,
        .active = atomic_load(&loop->shown_active),
        .halting = atomic_load(&loop->shown_halting),
    };
}
