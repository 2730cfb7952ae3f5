/* See node.h. */
#define _GNU_SOURCE
#include "node.h"

#include "listener.h"

#include <pthread.h>
#include <rcl/error_handling.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_TAKEN = 64 };               /* messages of a burst between two looks at everything else */
enum { FIRST_CAPACITY = 4096 };         /* of a message [bytes]; longer ones make room once */
enum { UNDECODED_SLOTS = 8 };
static const int64_t LOOK_PERIOD = 50000000; /* between two looks at who publishes states [ns] */

/* Messages for those who know every form: one writer, one reader. */
typedef struct {
    size_t sizes[UNDECODED_SLOTS];
    uint8_t bytes[UNDECODED_SLOTS][RD_UNDECODED_BYTES];
    atomic_size_t written, read;
    atomic_uint_fast64_t lost;
} undecoded_ring;

struct rd_node {
    rd_host host;                               /* first: a host is its node */
    rd_borrowed borrowed;
    rd_listener *listener;
    rcl_wait_set_t wait_set;
    rcl_serialized_message_t taken;
    undecoded_ring undecoded;
    _Atomic(const rd_given_state *) given;
    int64_t looked_around;                      /* steady time when it was looked who publishes states [ns] */
    int ready;                                  /* what must be taken down again */
    atomic_int stopping, failed;
    int32_t priority, cpu;
    atomic_int priority_error, cpu_error;
    pthread_t thread;
};

static void publish(const rcl_publisher_t *publisher, const uint8_t *bytes, size_t size)
{
    const rcl_serialized_message_t message = {(uint8_t *)bytes, size, size, rcutils_get_default_allocator()};
    if (rcl_publish_serialized_message(publisher, &message, NULL) != RCL_RET_OK) {
        rcl_reset_error();
    }
}

/* Efforts leave: the stamped command first, for a plant in lockstep goes on as soon as it has it. */
void rd_publish_efforts(const rd_borrowed *borrowed, const rd_outbox *outbox)
{
    publish(borrowed->stamped, outbox->stamped, outbox->stamped_size);
    publish(borrowed->command, outbox->command, outbox->command_size);
}

static void publish_efforts(rd_host *host, const rd_outbox *outbox)
{
    rd_publish_efforts(&((const rd_node *)host)->borrowed, outbox);
}

/* Messages in */

void rd_wake_front(const rd_borrowed *borrowed)
{
    const uint64_t one = 1;
    if (borrowed->event >= 0 && write(borrowed->event, &one, sizeof one) < 0) {
        return; /* it is full: the front is to look anyway */
    }
    if (borrowed->front && rcl_trigger_guard_condition(borrowed->front) != RCL_RET_OK) {
        rcl_reset_error();
    }
}

static void pass_on(rd_node *node, const rcl_serialized_message_t *message)
{
    undecoded_ring *ring = &node->undecoded;
    const size_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    const int full = written - atomic_load_explicit(&ring->read, memory_order_acquire) >= UNDECODED_SLOTS;
    if (full || message->buffer_length > RD_UNDECODED_BYTES) {
        atomic_fetch_add_explicit(&ring->lost, 1, memory_order_relaxed);
    } else {
        ring->sizes[written % UNDECODED_SLOTS] = message->buffer_length;
        memcpy(ring->bytes[written % UNDECODED_SLOTS], message->buffer, message->buffer_length);
        atomic_store_explicit(&ring->written, written + 1, memory_order_release);
    }
    rd_wake_front(&node->borrowed);
}

/* The next message of a subscription; whether there was one. */
static int take(const rcl_subscription_t *from, rcl_serialized_message_t *message)
{
    const rcl_ret_t result = rcl_take_serialized_message(from, message, NULL, NULL);
    if (result != RCL_RET_OK && result != RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
        rcl_reset_error();
    }
    return result == RCL_RET_OK;
}

/* By the wall clock only the newest state counts; in lockstep each one is answered. Messages without the controller's
 * joints, such as a gripper's, are left out: they displace none. */
static void take_states(rd_node *node)
{
    rd_host *host = &node->host;
    const rd_given_state *newest = NULL;
    for (int i = 0; i < MOST_TAKEN && take(node->borrowed.states, &node->taken); ++i) {
        const rd_given_state *state =
            host->loop.session ? rd_host_read(host, node->taken.buffer, node->taken.buffer_length) : NULL;
        if (state) {
            newest = state->session ? state : newest;
        } else if (host->loop.session) {
            newest = host->spoiled ? NULL : newest;
            pass_on(node, &node->taken);
        }
        if (newest && host->loop.lockstep) {
            rd_host_answer(host, newest);
            newest = NULL;
        }
    }
    if (newest) {
        rd_host_answer(host, newest);
    }
}

/* Take the time from the clock topic, if it is published; the newest message counts. */
static void take_clock(rd_node *node)
{
    for (int i = 0; i < MOST_TAKEN && take(node->borrowed.clock, &node->taken); ++i) {
        int64_t now;
        if (rd_cdr_read_time(node->taken.buffer, node->taken.buffer_length, &now)) {
            rd_host_clock(&node->host, now);
        }
    }
}

static void look_around(rd_node *node)
{
    size_t publishers = 1;
    const int64_t steady = rd_steady_now();
    if (!node->borrowed.clock || steady - node->looked_around < LOOK_PERIOD) {
        return;
    }
    node->looked_around = steady;
    if (rcl_subscription_get_publisher_count(node->borrowed.states, &publishers) != RCL_RET_OK) {
        rcl_reset_error();
    }
    rd_host_alone(&node->host, publishers == 0);
}

static void take_given(rd_node *node)
{
    const rd_given_state *state = atomic_load_explicit(&node->given, memory_order_acquire);
    if (state) {
        rd_host_answer(&node->host, state);
        atomic_store_explicit(&node->given, NULL, memory_order_release);
    }
}

/* Hear what others send before anything is answered; the front is woken for what changes. */
static void look_for_others(rd_node *node)
{
    const rd_ownership *ownership = &node->host.ownership;
    const int32_t right = ownership->right;
    const uint64_t brakes = ownership->braked + ownership->released;
    rd_listener_look(node->listener, &node->host);
    if (ownership->right != right || ownership->braked + ownership->released != brakes) {
        rd_wake_front(&node->borrowed);
    }
}

static void command_brakes(rd_node *node)
{
    const int command = node->borrowed.brake ? rd_host_brake_command(&node->host, rd_steady_now()) : -1;
    if (command >= 0) {
        const uint8_t message[] = {0, 1, 0, 0, (uint8_t)command, 0, 0, 0};
        publish(node->borrowed.brake, message, sizeof message);
    }
}

/* The thread */

int rd_prepare_thread(const char *name, int priority)
{
    sigset_t all;
    pthread_setname_np(pthread_self(), name);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    const struct sched_param wanted = {.sched_priority = priority};
    return priority > 0 ? pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted) : 0;
}

static void prepare_scheduling(rd_node *node)
{
    int error = 0;
    if (node->cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((unsigned)node->cpu, &set);
        error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }
    atomic_store(&node->cpu_error, error);
    atomic_store(&node->priority_error, rd_prepare_thread("control_loop", node->priority));
}

static int wait_for_work(rd_node *node, int64_t timeout)
{
    rcl_wait_set_t *set = &node->wait_set;
    rcl_ret_t result = rcl_wait_set_clear(set);
    if (result == RCL_RET_OK) {
        result = rcl_wait_set_add_subscription(set, node->borrowed.states, NULL);
    }
    if (result == RCL_RET_OK && node->borrowed.clock) {
        result = rcl_wait_set_add_subscription(set, node->borrowed.clock, NULL);
    }
    if (result == RCL_RET_OK) {
        result = rcl_wait_set_add_guard_condition(set, node->borrowed.wake, NULL);
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
    uint_fast32_t met = 0;
    prepare_scheduling(node);
    rd_wake_front(&node->borrowed);
    while (!atomic_load_explicit(&node->stopping, memory_order_acquire)) {
        if (!wait_for_work(node, due - rd_steady_now())) {
            atomic_store(&node->failed, 1);
            break;
        }
        if (node->borrowed.clock && node->wait_set.subscriptions[1]) {
            take_clock(node);
        }
        look_for_others(node);
        if (node->wait_set.subscriptions[0]) {
            take_states(node);
        }
        take_given(node);
        look_around(node);
        due = rd_host_tick(&node->host);
        command_brakes(node);
        const uint_fast32_t done = atomic_load_explicit(&node->host.loop.done, memory_order_relaxed);
        if (rd_host_urgent(&node->host) || done != met) {
            met = done;
            rd_wake_front(&node->borrowed);
        }
    }
    return NULL;
}

enum { WAIT_SET = 1, THREAD = 2 }; /* what is ready */

static int prepare(rd_node *node)
{
    rcutils_allocator_t allocator = rcutils_get_default_allocator();
    node->wait_set = rcl_get_zero_initialized_wait_set();
    if (rcl_wait_set_init(&node->wait_set, node->borrowed.clock ? 2 : 1, 1, 0, 0, 0, 0, node->borrowed.context, allocator) != RCL_RET_OK) {
        return 0;
    }
    node->ready |= WAIT_SET;
    node->taken = rcutils_get_zero_initialized_uint8_array();
    return rcutils_uint8_array_init(&node->taken, FIRST_CAPACITY, &allocator) == RCUTILS_RET_OK;
}

void rd_node_ask_to_stop(rd_node *node)
{
    atomic_store_explicit(&node->stopping, 1, memory_order_release);
}

static void release(rcl_serialized_message_t *message)
{
    if (message->buffer && rcutils_uint8_array_fini(message) != RCUTILS_RET_OK) {
        rcutils_reset_error();
    }
}

int rd_node_stop(rd_node *node)
{
    rd_host_status status = {0};
    rd_node_ask_to_stop(node);
    rd_host_status_of(&node->host, &status);
    if (status.hung) {
        return 0;
    }
    if (node->ready & THREAD) {
        pthread_join(node->thread, NULL);
    }
    release(&node->taken);
    if (node->ready & WAIT_SET && rcl_wait_set_fini(&node->wait_set) != RCL_RET_OK) {
        rcl_reset_error();
    }
    rd_host_destroy(&node->host);
    free(node);
    return 1;
}

rd_node *rd_node_start(const rd_borrowed *borrowed, rd_listener *listener, int lockstep, int priority, int cpu,
                       char *reason, size_t reason_size)
{
    rd_node *node = calloc(1, sizeof *node);
    if (!node) {
        snprintf(reason, reason_size, "no memory");
        return NULL;
    }
    node->borrowed = *borrowed;
    node->listener = listener;
    node->priority = priority;
    node->cpu = cpu;
    atomic_init(&node->priority_error, -1);
    atomic_init(&node->cpu_error, -1);
    rd_host_init(&node->host, lockstep, borrowed->clock != NULL, publish_efforts);
    if (!prepare(node)) {
        snprintf(reason, reason_size, "%s", rcl_get_error_string().str);
        rcl_reset_error();
        rd_node_stop(node);
        return NULL;
    }
    const int error = pthread_create(&node->thread, NULL, run, node);
    if (error) {
        snprintf(reason, reason_size, "no thread can be made: errno %d", error);
        rd_node_stop(node);
        return NULL;
    }
    node->ready |= THREAD;
    return node;
}

rd_host *rd_node_host(rd_node *node)
{
    return &node->host;
}

void rd_node_give(rd_node *node, const rd_given_state *state)
{
    atomic_store_explicit(&node->given, state, memory_order_release);
}

int rd_node_given_pending(rd_node *node)
{
    return atomic_load_explicit(&node->given, memory_order_acquire) != NULL;
}

size_t rd_node_undecoded(rd_node *node, uint8_t *bytes)
{
    undecoded_ring *ring = &node->undecoded;
    const size_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
    if (read == atomic_load_explicit(&ring->written, memory_order_acquire)) {
        return 0;
    }
    const size_t size = ring->sizes[read % UNDECODED_SLOTS];
    memcpy(bytes, ring->bytes[read % UNDECODED_SLOTS], size);
    atomic_store_explicit(&ring->read, read + 1, memory_order_release);
    return size;
}

void rd_node_status_of(rd_node *node, rd_node_status *status)
{
    *status = (rd_node_status){
        .undecoded_lost = atomic_load(&node->undecoded.lost),
        .failed = atomic_load(&node->failed),
        .priority_error = atomic_load(&node->priority_error),
        .cpu_error = atomic_load(&node->cpu_error),
    };
}
