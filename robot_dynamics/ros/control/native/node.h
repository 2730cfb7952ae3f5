/* A thread that answers joint states with efforts over rcl, and never needs the interpreter.
 *
 * It borrows the subscription, the publishers and the guard conditions of an rclpy node, which must outlive it.
 */
#ifndef RD_NODE_H
#define RD_NODE_H

#include "host.h"

#include <rcl/rcl.h>

/* API */

enum { RD_UNDECODED_BYTES = 65536 };            /* longest message that is passed on */

typedef struct rd_node rd_node;
typedef struct rd_listener rd_listener;         /* see listener.h */

typedef struct {
    uint64_t undecoded_lost;                    /* messages that were too long or too many to be passed on */
    int32_t failed, priority_error, cpu_error;  /* errno of what was not permitted; -1: not tried yet */
} rd_node_status;

/* Objects that an rclpy node lends, by the addresses of rcl's structures. */
typedef struct {
    void *context, *states, *stamped, *command; /* context, subscription, publishers */
    void *wake, *front;                         /* guard conditions: wakes the thread; wakes the node's own */
    void *brake;                                /* publisher of the brake command; NULL: there are no brakes */
    void *clock;                                /* subscription of simulated time; NULL: the clock on the wall counts */
    int event;                                  /* descriptor that wakes the node's own thread while it rests */
} rd_borrowed;

/* NULL with rcl's reason in `reason` (so many bytes) if it cannot be.
 * listener: of others; it must outlive the thread. priority: real-time priority, 0: none; cpu: processor, -1: any. */
rd_node *rd_node_start(const rd_borrowed *borrowed, rd_listener *listener, int lockstep, int priority, int cpu,
                       char *reason, size_t reason_size);
/* To stop at once: ask, wake, stop. A thread that hangs is left to the end of the process: returns 0. */
void rd_node_ask_to_stop(rd_node *node);
int rd_node_stop(rd_node *node);
rd_host *rd_node_host(rd_node *node);
/* A state that was decoded elsewhere; whether the one before is still pending. */
void rd_node_give(rd_node *node, const rd_given_state *state);
int rd_node_given_pending(rd_node *node);
/* A message that takes a decoder that knows every form, copied; its size, 0: none. */
size_t rd_node_undecoded(rd_node *node, uint8_t *bytes);
void rd_node_status_of(rd_node *node, rd_node_status *status);

/* end of API */

/* For whoever sends over rcl. */
void rd_publish_efforts(const rd_borrowed *borrowed, const rd_outbox *outbox);
/* The front looks by itself before long; what it should see at once it is woken for. */
void rd_wake_front(const rd_borrowed *borrowed);
/* Name the calling thread, leave signals to others, and give it a real-time priority; errno of what is not permitted. */
int rd_prepare_thread(const char *name, int priority);
#endif
