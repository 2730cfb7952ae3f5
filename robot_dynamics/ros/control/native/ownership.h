/* Ownership of the robot: a node hears efforts and brake commands that others send. Free of ROS.
 *
 * Two senders of efforts are never wanted. A node whose process stood still yields at once: who sends now began
 * meanwhile. A newcomer, whose discovery of the others was slow, yields to a node that has been active for longer. Between
 * nodes of equal right the publisher with the greater identity yields. Efforts that go on although this node has the right
 * are a dispute. It begins a protective stop of a robot without brakes; a platform is stopped by the front.
 *
 * The brake command belongs to the node whose loop is active. That loop alone repeats it, so that its silence means that
 * nobody looks after the brakes. */
#ifndef RD_OWNERSHIP_H
#define RD_OWNERSHIP_H

#include "host.h"

/* API */

enum { RD_SENDER_BYTES = 16 };                  /* of a publisher's identity in DDS */

typedef enum { RD_OWNS, RD_YIELDED, RD_DISPUTED } rd_right;

typedef struct {
    uint64_t efforts;                           /* messages of others so far */
    int64_t last;                               /* steady time of the last of them [ns]; INT64_MIN: none yet */
    uint64_t disputes;                          /* how often efforts of others went on although this node has the right */
    uint64_t braked, released;                  /* commands of others against this node's own: engage; release */
    int32_t right;                              /* rd_right */
    int32_t paused, newcomer;                   /* why it yielded: its process stood still; it was just activated */
    uint8_t sender[RD_SENDER_BYTES];            /* of the last efforts */
} rd_others;

/* The identity of this node's own publisher of efforts. */
void rd_host_identify(rd_host *host, const uint8_t *own);
/* Forget what was decided: the node is about to be activated. */
void rd_host_claim(rd_host *host, int64_t steady);
/* In the loop's thread: it runs, so the process does not stand still. */
void rd_host_alive(rd_host *host, int64_t steady);
/* In the loop's thread: efforts, or a brake command, of somebody else have come. */
void rd_host_heard(rd_host *host, const uint8_t *sender, int64_t steady);
void rd_host_heard_brake(rd_host *host, int engaged);
/* From the front: brakes are to be engaged (1) or released (0); before the first call there are none. While a robot that
 * is to halt comes to rest nothing is engaged, unless it is to be at once (2). */
void rd_host_brake(rd_host *host, int engaged);
/* In the loop's thread: the brake command to send now; -1: none. */
int rd_host_brake_command(rd_host *host, int64_t steady);
void rd_host_others(rd_host *host, rd_others *others);

/* end of API */

#endif
