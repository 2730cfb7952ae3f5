/* See node.h. */
#define _GNU_SOURCE
#include "node.h"

#include <errno.h>
#include <pthread.h>
#include <rcl/error_handling.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TAKEN = 64 };               /* messages of a burst between two looks at everything else */
enum { FIRST_CAPACITY = 4096 };         /* of a message [bytes]; longer ones make room once */

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t steady_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* Efforts leave: the stamped command first, for a plant in lockstep goes on as soon as it has it. */
static void send_efforts(void *to, rd_session *session, int64_t stamp, const double *effort)
{
    rd_node *node = to;
    rd_outlet *outlet = session->outlet;
    const size_t size = sizeof(double) * (size_t)session->core->n;
    rd_cdr_set_stamp(outlet->stamped.buffer, stamp);
    memcpy(outlet->stamped.buffer + outlet->stamped_effort, effort, size);
    rd_outlet_fill_state(outlet, session->core);
    memcpy(outlet->command.buffer + outlet->command_effort, effort, size);
    if (rcl_publish_serialized_message(node->stamped, &outlet->stamped, NULL) != RCL_RET_OK
        || rcl_publish_serialized_message(node->command, &outlet->command, NULL) != RCL_RET_OK) {
        rcl_reset_error();
    }
}

/* Messages in */

/* The front looks by itself before long; what it should see at once it is woken for. */
static void wake_front(rd_node *node)
{
    const uint64_t one = 1;
    if (write(node->event, &one, sizeof one) < 0 || rcl_trigger_guard_condition(node->front) != RCL_RET_OK) {
        rcl_reset_error();
    }
}

static void pass_on(rd_node *node, const rcl_serialized_message_t *message)
{
    rd_foreign *foreign = &node->foreign;
    const size_t written = atomic_load_explicit(&foreign->written, memory_order_relaxed);
    const int full = written - atomic_load_explicit(&foreign->read, memory_order_acquire) >= RD_FOREIGN_SLOTS;
    if (full || message->buffer_length > RD_FOREIGN_BYTES) {
        atomic_fetch_add_explicit(&foreign->lost, 1, memory_order_relaxed);
    } else {
        foreign->sizes[written % RD_FOREIGN_SLOTS] = message->buffer_length;
        memcpy(foreign->bytes[written % RD_FOREIGN_SLOTS], message->buffer, message->buffer_length);
        atomic_store_explicit(&foreign->written, written + 1, memory_order_release);
    }
    wake_front(node);
}

/* Whether the message is as usual; then it is answered. */
static int answer_message(rd_node *node, rd_session *session, const rcl_serialized_message_t *message)
{
    rd_outlet *outlet = session->outlet;
    const uint32_t n = (uint32_t)session->core->n;
    rd_joint_state state;
    const rd_layout *layout = NULL;
    for (unsigned i = 0; i < RD_LAYOUTS; ++i) {
        const unsigned place = (outlet->known + i) % RD_LAYOUTS;
        const rd_layout *candidate = atomic_load_explicit(&outlet->layouts[place], memory_order_acquire);
        if (candidate && rd_cdr_read_joint_state(message->buffer, message->buffer_length, candidate, &state)) {
            layout = candidate;
            outlet->known = place;
            break;
        }
    }
    if (!layout || !rd_cdr_pick(state.position, layout, n, outlet->position)) {
        return 0;
    }
    const int moves = state.velocity && rd_cdr_pick(state.velocity, layout, n, outlet->velocity);
    if (state.stamp == 0 && !node->clock) {
        state.stamp = read_clock(CLOCK_REALTIME);
    }
    node->last_stamp = state.stamp;
    rd_loop_state(&node->loop, state.stamp, steady_now(), outlet->position, moves ? outlet->velocity : NULL);
    return 1;
}

static void handle(rd_node *node, const rcl_serialized_message_t *message)
{
    rd_session *session = node->loop.session;
    if (session && !answer_message(node, session, message)) {
        pass_on(node, message);
    }
}

/* By the wall clock only the newest state counts; in lockstep each one is answered. */
static void take_all(rd_node *node)
{
    int taken = 0;
    for (int i = 0; i < MOST_TAKEN; ++i) {
        if (!rd_take(node->states, &node->newer)) {
            break;
        }
        const rcl_serialized_message_t newest = node->newer;
        node->newer = node->taken;
        node->taken = newest;
        taken = !node->loop.lockstep;
        if (node->loop.lockstep) {
            handle(node, &node->taken);
        }
    }
    if (taken) {
        handle(node, &node->taken);
    }
}

static void take_given(rd_node *node)
{
    const rd_given_state *state = atomic_load_explicit(&node->given, memory_order_acquire);
    if (state) {
        if (node->loop.session == state->session) {
            node->last_stamp = state->stamp;
            rd_loop_state(&node->loop, state->stamp, steady_now(), state->position, state->velocity);
        }
        atomic_store_explicit(&node->given, NULL, memory_order_release);
    }
}

/* The thread */

static void prepare_scheduling(rd_node *node)
{
    int error = 0;
    sigset_t all;
    pthread_setname_np(pthread_self(), "control_loop");
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    if (node->cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((unsigned)node->cpu, &set);
        error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }
    atomic_store(&node->cpu_error, error);
    error = 0;
    if (node->priority > 0) {
        const struct sched_param wanted = {.sched_priority = node->priority};
        error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted);
    }
    atomic_store(&node->priority_error, error);
}

static int wait_for_work(rd_node *node, int64_t timeout)
{
    rcl_wait_set_t *set = &node->wait_set;
    rcl_ret_t result = rcl_wait_set_clear(set);
    if (result == RCL_RET_OK) {
        result = rcl_wait_set_add_subscription(set, node->states, NULL);
    }
    if (result == RCL_RET_OK && node->clock) {
        result = rcl_wait_set_add_subscription(set, node->clock, NULL);
    }
    if (result == RCL_RET_OK) {
        result = rcl_wait_set_add_guard_condition(set, node->wake, NULL);
    }
    if (result == RCL_RET_OK) {
        result = rcl_wait(set, timeout > 0 ? timeout : 0);
    }
    if (result != RCL_RET_OK && result != RCL_RET_TIMEOUT) {
        rcl_reset_error();
        return 0;
    }
    return 1;
}

static void *run(void *argument)
{
    rd_node *node = argument;
    int64_t due = 0;
    prepare_scheduling(node);
    while (!atomic_load_explicit(&node->stopping, memory_order_acquire)) {
        if (!wait_for_work(node, due - steady_now())) {
            atomic_store(&node->failed, 1);
            break;
        }
        if (node->clock && node->wait_set.subscriptions[1]) {
            rd_node_take_clock(node, steady_now());
        }
        if (node->wait_set.subscriptions[0]) {
            take_all(node);
        }
        take_given(node);
        rd_node_look_around(node, steady_now());
        const int64_t told = node->loop.time.now == RD_NO_EPOCH ? node->last_stamp : node->loop.time.now;
        const int64_t now = node->clock ? told : read_clock(CLOCK_REALTIME);
        due = rd_loop_tick(&node->loop, steady_now(), now);
        if (node->loop.session && node->loop.session->ring.urgent) {
            node->loop.session->ring.urgent = 0;
            wake_front(node);
        }
    }
    return NULL;
}

enum { WAIT_SET = 1, THREAD = 2 }; /* what is ready */

static int prepare(rd_node *node)
{
    rcutils_allocator_t allocator = rcutils_get_default_allocator();
    node->wait_set = rcl_get_zero_initialized_wait_set();
    if (rcl_wait_set_init(&node->wait_set, node->clock ? 2 : 1, 1, 0, 0, 0, 0, node->context, allocator) != RCL_RET_OK) {
        return 0;
    }
    node->ready |= WAIT_SET;
    node->taken = node->newer = rcutils_get_zero_initialized_uint8_array();
    return rcutils_uint8_array_init(&node->taken, FIRST_CAPACITY, &allocator) == RCUTILS_RET_OK
           && rcutils_uint8_array_init(&node->newer, FIRST_CAPACITY, &allocator) == RCUTILS_RET_OK;
}

void rd_node_ask_to_stop(rd_node *node)
{
    atomic_store_explicit(&node->stopping, 1, memory_order_release);
}

void rd_node_stop(rd_node *node)
{
    pthread_t thread;
    memcpy(&thread, &node->thread, sizeof thread);
    rd_node_ask_to_stop(node);
    if (node->ready & THREAD) {
        pthread_join(thread, NULL);
    }
    rd_release(&node->taken);
    rd_release(&node->newer);
    if (node->ready & WAIT_SET && rcl_wait_set_fini(&node->wait_set) != RCL_RET_OK) {
        rcl_reset_error();
    }
    free(node);
}

rd_node *rd_node_start(rcl_context_t *context, const rcl_subscription_t *states, const rcl_publisher_t *stamped,
                       const rcl_publisher_t *command, const rcl_guard_condition_t *wake,
                       const rcl_guard_condition_t *front, const rcl_subscription_t *clock, int event,
                       int lockstep, int priority, int cpu,
                       char *reason, size_t reason_size)
{
    _Static_assert(sizeof(pthread_t) == sizeof(uint64_t), "a thread's name must fit");
    rd_node *node = calloc(1, sizeof *node);
    pthread_t thread;
    if (!node) {
        snprintf(reason, reason_size, "no memory");
        return NULL;
    }
    node->context = context;
    node->states = states;
    node->stamped = stamped;
    node->command = command;
    node->wake = wake;
    node->front = front;
    node->event = event;
    node->clock = clock;
    node->priority = priority;
    node->cpu = cpu;
    atomic_init(&node->priority_error, -1);
    atomic_init(&node->cpu_error, -1);
    rd_loop_init(&node->loop, steady_now, send_efforts, node, lockstep);
    node->loop.time.used = clock != NULL;
    if (!prepare(node)) {
        snprintf(reason, reason_size, "%s", rcl_get_error_string().str);
        rcl_reset_error();
        rd_node_stop(node);
        return NULL;
    }
    const int error = pthread_create(&thread, NULL, run, node);
    if (error) {
        snprintf(reason, reason_size, "no thread can be made: errno %d", error);
        rd_node_stop(node);
        return NULL;
    }
    memcpy(&node->thread, &thread, sizeof thread);
    node->ready |= THREAD;
    return node;
}
