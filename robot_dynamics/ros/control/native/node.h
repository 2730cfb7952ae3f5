/* A thread that answers joint states with efforts over rcl, and never needs the interpreter.
 *
 * It borrows the subscription, the publishers and the guard conditions of an rclpy node, which must outlive it.
 */
#ifndef RD_NODE_H
#define RD_NODE_H

#include "cdr.h"
#include "loop.h"

#include <rcl/rcl.h>

enum { RD_LAYOUTS = 8, RD_FOREIGN_SLOTS = 8, RD_FOREIGN_BYTES = 65536 };

/* What a session needs to speak DDS. */
typedef struct {
    rcl_serialized_message_t stamped, command;
    size_t stamped_effort, command_effort;      /* where the doubles begin [bytes] */
    size_t stamped_position, stamped_velocity;  /* likewise, where the stamped command tells the state; else 0 */
    double *offset;                             /* (n) added to the positions there */
    _Atomic(const rd_layout *) layouts[RD_LAYOUTS];
    unsigned known;                             /* the layout that fitted last */
    double *position, *velocity;                /* (n) of the message being answered */
} rd_outlet;

/* A state that was decoded elsewhere. */
typedef struct {
    const rd_session *session;                  /* for which */
    int64_t stamp;                              /* [ns] */
    const double *position, *velocity;          /* (n); no velocity: NULL */
} rd_given_state;

/* Messages for those who know every form: one writer, one reader. */
typedef struct {
    size_t sizes[RD_FOREIGN_SLOTS];
    uint8_t bytes[RD_FOREIGN_SLOTS][RD_FOREIGN_BYTES];
    atomic_size_t written, read;
    atomic_uint_fast64_t lost;
} rd_foreign;

typedef struct {
    rd_loop loop;
    rcl_context_t *context;
    const rcl_subscription_t *states;
    const rcl_subscription_t *clock;            /* of simulated time; NULL: the clock on the wall counts */
    const rcl_publisher_t *stamped, *command;
    const rcl_guard_condition_t *wake;          /* wakes this thread */
    int event;                                  /* descriptor that wakes the front while it rests */
    const rcl_guard_condition_t *front;         /* wakes it while it waits for ROS */
    rcl_wait_set_t wait_set;
    rcl_serialized_message_t taken, newer;
    rd_foreign foreign;
    _Atomic(const rd_given_state *) given;
    int64_t looked_around;                      /* steady time when it was looked who publishes states [ns] */
    int64_t last_stamp;                         /* of a state [ns] */
    int ready;                                  /* what must be taken down again */
    atomic_int stopping, failed;
    int32_t priority, cpu;                      /* real-time priority, 0: none; processor, -1: any */
    atomic_int priority_error, cpu_error;       /* errno of what was not permitted; -1: not tried yet */
    uint64_t thread;                            /* pthread_t */
} rd_node;

struct rd_node_status {
    uint64_t states, answered, foreign_lost;
    int64_t last_state;                         /* steady [ns]; INT64_MIN: none yet */
    const rd_session *session, *safe;
    uint32_t asked, done;
    int32_t active, halting, failed, priority_error, cpu_error;
};

/* NULL with rcl's reason in `reason` (so many bytes) if it cannot be. */
rd_node *rd_node_start(rcl_context_t *context, const rcl_subscription_t *states, const rcl_publisher_t *stamped,
                       const rcl_publisher_t *command, const rcl_guard_condition_t *wake,
                       const rcl_guard_condition_t *front, const rcl_subscription_t *clock, int event,
                       int lockstep, int priority, int cpu,
                       char *reason, size_t reason_size);
/* To stop at once: ask, wake, stop. */
void rd_node_ask_to_stop(rd_node *node);
void rd_node_stop(rd_node *node);
/* Sizes of rd_given_state, rd_record and struct rd_node_status, in this order. */
void rd_node_sizes(size_t *sizes);

rd_outlet *rd_outlet_new(uint32_t n, const uint8_t *stamped, size_t stamped_size, size_t stamped_effort,
                         const uint8_t *command, size_t command_size, size_t command_effort);
/* The stamped command has room for positions and velocities there: measured ones are told, with an offset (n). */
void rd_outlet_tell_state(rd_outlet *outlet, uint32_t n, size_t position, size_t velocity, const double *offset);
void rd_outlet_fill_state(rd_outlet *outlet, const rd_core *core);
void rd_outlet_free(rd_outlet *outlet);
void rd_release(rcl_serialized_message_t *message);
void rd_outlet_know(rd_outlet *outlet, unsigned place, const rd_layout *layout);

/* The next message of a subscription; whether there was one. */
int rd_take(const rcl_subscription_t *from, rcl_serialized_message_t *message);
/* What time it is, where that is told; whether anybody publishes states. Called by the thread. */
void rd_node_take_clock(rd_node *node, int64_t steady);
void rd_node_look_around(rd_node *node, int64_t steady);

/* From the front. */
rd_loop *rd_node_loop(rd_node *node);
void rd_node_give(rd_node *node, const rd_given_state *state);
int rd_node_given_pending(rd_node *node);
void rd_node_seen(rd_node *node, int64_t steady);
size_t rd_node_foreign(rd_node *node, uint8_t *bytes); /* copied; 0: none */
void rd_node_status(rd_node *node, struct rd_node_status *status);

#endif
