/* A loop whose states and commands are messages: bytes in, bytes out. Free of ROS.
 *
 * The thread (node.c) takes and sends those bytes by rcl. The Python host brings them to rd_host_read and sends what it
 * finds in the outbox.
 */
#ifndef RD_HOST_H
#define RD_HOST_H

#include "cdr.h"
#include "loop.h"

#include <pthread.h>

/* API */

/* The messages of one controller: names in the states that come, bytes of the commands that leave. */
typedef struct rd_messages rd_messages;
typedef struct rd_host rd_host;

/* A decoded state. */
typedef struct {
    const rd_session *session;    /* for which; NULL: a message without the controller's joints, which asks for nothing */
    int64_t stamp;                /* [ns]; 0 in simulated time: none */
    const double *position, *velocity, *effort; /* (n); no velocity, no effort: NULL */
    const double *measured;       /* (2 m) positions and velocities of measured joints, NAN: none; NULL: there are none */
} rd_given_state;

/* Messages to be sent: stamped and unstamped efforts. */
typedef struct {
    uint64_t count;               /* of commands so far */
    const uint8_t *stamped, *command;
    size_t stamped_size, command_size;
} rd_outbox;

typedef struct {
    uint64_t states, answered;
    int64_t last_state;           /* steady [ns]; INT64_MIN: none yet */
    int64_t ahead;                /* of the steady clock before the session's [ns]; INT64_MIN: not known */
    const rd_session *session, *safe;
    uint32_t asked, done;
    int32_t active, halting;
    int32_t faded;                /* whether the watchdog's last command is no effort */
    int64_t hung;                 /* the loop hangs since, steady [ns]; 0: it does not */
} rd_host_status;

/* Messages of n joints and m measured ones, which only states have; names without their zeros in `text`. The stamped
 * command has positions and velocities, too: with an offset (n) and efforts as command the measured ones, plus the offset;
 * else those of the reference, for drives with a loop of their own. The unstamped command has what the actuators take.
 * NULL without memory. */
rd_messages *rd_messages_new(uint32_t n, uint32_t m, const uint32_t *lengths, const char *text, const double *offset);
void rd_messages_free(rd_messages *messages);

/* A host that its caller runs; NULL without memory. */
rd_host *rd_host_new(int lockstep, int simulated);
void rd_host_free(rd_host *host);
rd_loop *rd_host_loop(rd_host *host);
/* The state in a message for the session in force; NULL: it takes a decoder that knows every form. */
const rd_given_state *rd_host_read(rd_host *host, const uint8_t *bytes, size_t size);
/* One cycle, if the state is for the session in force. */
void rd_host_answer(rd_host *host, const rd_given_state *state);
/* The simulated clock says `now` [ns]; whether nobody publishes states any more. */
void rd_host_clock(rd_host *host, int64_t now);
void rd_host_alone(rd_host *host, int alone);
/* Everything that is not a state; returns when to call again at the latest, steady [ns]. */
int64_t rd_host_tick(rd_host *host);
const rd_outbox *rd_host_outbox(const rd_host *host);
/* True if what is in the outbox may be sent: not where the watchdog has taken over since. */
int rd_host_may_send(rd_host *host);
/* Messages that are about to be freed are used no more. */
void rd_host_forget(rd_host *host, const rd_messages *messages);
/* True if something was recorded since the last call that must be reported at once. */
int rd_host_urgent(rd_host *host);
/* From another thread: it is alive, and reads the records. */
void rd_host_seen(rd_host *host);
void rd_host_status_of(rd_host *host, rd_host_status *status);

/* end of API */

/* A message with places for doubles; a place of 0 is none. */
typedef struct {
    uint8_t *bytes;
    size_t size, effort, position, velocity;
} rd_template;

struct rd_messages {
    rd_template stamped, command;
    double *offset;                             /* (n) added to the positions of the stamped command */
    rd_names joints;
    uint32_t *places;                           /* (n + m) of the joints in the message being answered */
    double *position, *velocity, *effort;       /* (n) of the message being answered */
    double *beside;                             /* (2 m) positions and velocities of measured joints in it */
    rd_template safe_stamped, safe_command;     /* the watchdog's own */
    double *load, *left, *steps, *limits;       /* (n) with which it takes over, see host.c */
    double *next_load, *safe;                   /* (n) scratch: of the loop, of the watchdog */
    double *moving;                             /* (2 n) positions and velocities of the stamped command */
    double *rest, *range;                       /* (2 n) the same of the watchdog's, and the range of setpoints */
    int measured;                               /* whether these are measured */
};

/* Knowledge of a watchdog outside the loop, under a lock that is never held during a cycle. */
typedef struct {
    pthread_mutex_t lock;
    rd_messages *messages;                      /* whose efforts were sent last; NULL: none are to be sent */
    int n, overtaken, faded;
    int64_t heartbeat;                          /* the loop's last sign of life, steady [ns] */
    int64_t hung_since, began;                  /* that of the loop that hangs; when the watchdog took over [ns] */
    int64_t allowed;                            /* between two signs of life [ns] */
    int64_t stamp;                              /* of the last command [ns] */
    double fade;                                /* [s] */
    int command;                                /* enum rd_command */
    double deceleration, seen;                  /* of setpoints; since the watchdog took over, at its last command [s] */
} rd_guard;

#define RD_REPEAT_BRAKE 50000000                /* between two brake commands [ns] */

/* Other senders, see ownership.h: efforts and right under the guard's lock, the rest is the loop's. */
typedef struct {
    uint64_t efforts, disputes;
    int64_t began, last;                        /* of the efforts of others, steady [ns] */
    int64_t looked, resumed;                    /* last look of the loop; when it went on after a pause [ns] */
    int64_t claimed;                            /* when this node was activated [ns] */
    int32_t right, paused, newcomer;
    uint8_t own[16], sender[16];                /* identities of publishers */
    atomic_int brake;                           /* command of the front; -1: there are no brakes; 2: engage at once */
    int brake_kept;                             /* the same before a halt began, whose robot comes to rest first */
    atomic_uint_fast64_t braked, released;
    int imposed;                                /* others engaged the brakes; 2: the front has done so as well */
    int spoke, brake_sent;                      /* whether a command is being repeated, and which; -1: none */
    int64_t brake_at;                           /* when it was sent [ns] */
} rd_ownership;

struct rd_host {
    rd_loop loop;
    int simulated;
    int is_front;                               /* whoever runs the loop reads the records as well */
    int64_t last_stamp;                         /* of a state [ns] */
    rd_given_state given;
    int spoiled;                                /* whether the last read, a failed one, has overwritten `given` */
    rd_outbox outbox;
    rd_guard guard;
    rd_ownership ownership;
    void (*publish)(rd_host *host, const rd_outbox *outbox); /* NULL: the outbox is read */
};

/* Fill the messages with efforts that answer the state with this stamp. */
void rd_messages_fill(rd_messages *messages, const rd_core *core, int64_t stamp, const double *effort);
/* True if the loop has given no sign of life for longer than it may while its efforts are in force. */
int rd_host_overdue(rd_host *host, int64_t steady);
/* Send the fail-safe output in place of a loop that hangs; whether that begins now. */
int rd_host_overtake(rd_host *host, int64_t steady, void (*publish)(void *to, const rd_outbox *outbox), void *to);
void rd_host_destroy(rd_host *host);
void rd_host_init(rd_host *host, int lockstep, int simulated, void (*publish)(rd_host *, const rd_outbox *));
int64_t rd_steady_now(void);
#endif
