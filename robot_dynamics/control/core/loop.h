/* Loop around a core: clock, velocities, watchdog, safe output, halt, and a record of what was done.
 *
 * Free of ROS: whoever runs it gives it states and steady time, and sends the efforts that it is handed. One
 * thread runs it; any other thread may hand over sessions and requests, and reads the records of a session.
 */
#ifndef RD_LOOP_H
#define RD_LOOP_H

#include "core.h"

#ifndef __cplusplus
#include "internal.h"
#endif

/* API */

/* Kinds of records. */
enum rd_record_kind {
    RD_ANSWERED,     /* a state and its answer */
    RD_OBSERVED,     /* a state without an answer, for the loop does not control */
    RD_NO_EFFORT,    /* a state for which the model has no effort: safe output */
    RD_STATES_LOST,  /* no state for `age`: safe output */
    RD_FRONT_LOST,   /* whoever plans is silent for `age`, and everything accepted is finished: safe output */
    RD_SENDERS_GONE, /* nobody publishes states any more, since `age`: safe output */
    RD_LOOP_HUNG,    /* the loop itself hung for `age`: its watchdog has sent the safe output */
    RD_CLOCK_STANDS  /* states go on while the simulated clock has stood for `age`, or (-1) never ran: safe output */
};

typedef struct {
    int64_t stamp;                /* of the state [ns] */
    int64_t arrived, left;        /* steady time of the state and of its answer [ns] */
    double time, age;             /* of the state on the core's clock; of what is lost [s] */
    double discontinuity_size, discontinuity_more;
    rd_trip trip;                 /* of this cycle; RD_NO_RULE: none */
    int32_t kind, phase, discontinuity;
    int32_t back;                 /* the safe output ended with this state */
} rd_record;

/* position, velocity, reference (3), unlimited, effort: (n) each behind a record, and then what the machine reports */
enum rd_record_size { RD_RECORD_ARRAYS = 7 };

typedef struct rd_loop rd_loop;
typedef struct rd_session rd_session;

/* A core in use, and what the loop keeps beside it. */
rd_session *rd_session_new(rd_core *core, size_t ring_bytes);
void rd_session_free(rd_session *session);
void rd_session_attach(rd_session *session, void *messages);
int rd_session_read(rd_session *session, rd_record *record); /* see rd_ring_read */
/* At most `most` of them, one behind the other, each with its arrays; how many. */
size_t rd_session_read_many(rd_session *session, void *records, size_t most);
uint64_t rd_session_lost(rd_session *session);               /* records that found no room */
size_t rd_session_record_size(rd_session *session);
int64_t rd_session_epoch(rd_session *session);
double rd_session_seconds(rd_session *session, int64_t stamp);

/* Simulated time; see sim_time.c. */
typedef struct {
    int used;                     /* whether states are judged by it */
    int alone;                    /* nobody publishes states any more */
    int reported;                 /* a fault of the clock has been recorded */
    int64_t now;                  /* the clock [ns]; INT64_MIN: none yet */
    int64_t moved;                /* steady time at which it began to say so [ns] */
    int64_t at_state;             /* when the last state came, as the clock or the state says */
    int64_t ahead_since;          /* steady time since which states are ahead of it; INT64_MIN: they are not */
} rd_sim_time;

void rd_time_init(rd_sim_time *time);
/* The clock says `now`; whether states go on while it stands; for how long states have been missing that should have
 * come [s]. */
void rd_time_tell(rd_sim_time *time, int64_t now, int64_t steady);
int rd_time_runs_away(rd_sim_time *time, int64_t stamp, int64_t steady, int64_t timeout);
void rd_time_note_state(rd_sim_time *time, int64_t stamp);
double rd_time_lost(const rd_sim_time *time, int64_t last_state, int64_t steady, int64_t timeout);

/* From another thread. */
void rd_loop_offer(rd_loop *loop, rd_session *session); /* NULL: none */
void rd_loop_request(rd_loop *loop, int what);          /* RD_HOLD, ... */
enum rd_request { RD_HOLD, RD_ACTIVATE, RD_HALT, RD_TAKE_PLAN, RD_RESET_FAULT, RD_EMERGENCY_STOP, RD_LATCH };

/* end of API */

#ifndef __cplusplus
/* A single writer and a single reader; what finds no room is counted and left out. Some room is kept for what must
 * be reported: see `spare` in loop.c. */
typedef struct {
    uint8_t *slots;
    size_t size, count;           /* of a slot [bytes], of slots */
    atomic_size_t written, read;
    atomic_uint_fast64_t lost;
    int urgent;                   /* the writer's: something was noted that must be reported at once */
} rd_ring;

struct rd_session {
    rd_core *core;
    void *messages;               /* of whoever sends */
    atomic_int_fast64_t epoch;    /* stamp at which the core's clock is zero [ns]; RD_NO_EPOCH until there is one */
    uint64_t trips;               /* that have been noted */
    int troubled;
    double trouble_began, trouble_latest; /* [s] */
    rd_ring ring;
};

#define RD_NO_EPOCH INT64_MIN

/* Stages of a halt under control: the robot comes to rest, then its brakes hold. */
enum rd_ending { RD_GOES_ON, RD_COMES_TO_REST, RD_BRAKES };

struct rd_loop {
    int64_t (*clock)(void);       /* steady time [ns] */
    void (*send)(void *to, rd_session *session, int64_t stamp, const double *effort);
    void *to;
    int lockstep;                 /* the age of the states is not judged */
    rd_sim_time time;
    rd_session *session;          /* in force */
    rd_session *safe;             /* whose safe output is being sent */
    int safe_for_front;           /* because of the front */
    int active;
    int64_t lag, old_since;       /* least age of states at arrival, by both clocks; since when they are older [ns] */
    int ending;                   /* rd_ending: a halt has been asked for */
    int64_t ending_since;         /* steady [ns] */
    int64_t ahead; /* of the steady clock before the session's, when the last timely state came [ns] */
    int64_t last_state, last_busy, safe_began, safe_due; /* steady [ns]; busy: with a plan */
    /* Requests to hold, to stop, to latch, to take a plan, to reset a fault, that have been met. */
    uint32_t held, stopped, latched, plans_taken, faults_reset;
    uint32_t lifecycle;           /* last request to activate or halt that has been met */

    _Atomic(rd_session *) offered;        /* to use from now on; &rd_nothing: none at all */
    atomic_uint_fast32_t hold_requests, stop_requests, latch_requests, plan_requests, reset_requests;
    atomic_uint_fast32_t wanted;          /* 2 k + 1: the k-th request, activate; 2 k: halt */
    atomic_int_fast64_t front_seen;       /* steady time of the front's last sign of life [ns] */
    /* For others to read. */
    atomic_uint_fast64_t states, answered;
    atomic_uint_fast32_t asked, done;     /* requests made, and how many of them have been looked at */
    atomic_int shown_active, shown_halting;
    atomic_int_fast64_t shown_last_state, shown_ahead;
    _Atomic(rd_session *) shown_session, shown_safe;
};

extern rd_session rd_nothing;

void rd_loop_init(rd_loop *loop, int64_t (*clock)(void),
                  void (*send)(void *, rd_session *, int64_t, const double *), void *to, int lockstep);
/* A state arrived at `steady`; velocity NULL: estimated. All times in ns. */
void rd_loop_state(rd_loop *loop, int64_t stamp, int64_t steady, const double *position, const double *velocity);
/* The simulated clock says `now` [ns]. */
void rd_loop_clock(rd_loop *loop, int64_t now, int64_t steady);
/* Look after everything that is not a state; returns when to call again at the latest. `wall` stamps safe output. */
int64_t rd_loop_tick(rd_loop *loop, int64_t steady, int64_t wall);

/* The loop runs again after its watchdog has sent the safe output since `began`, efforts `left` (n) and setpoints `rest` (2 n)
 * last; it hung for `age` [s]. */
void rd_loop_hung(rd_loop *loop, int64_t steady, int64_t began, double age, const double *left, const double *rest);

/* The oldest record that has not been read, copied to `record` and behind it its arrays; whether there is one. */
int rd_ring_read(rd_ring *ring, rd_record *record);
/* Note what was done, with the arrays of the core as they are. */
void rd_session_note(rd_session *session, const rd_record *about);
rd_record *rd_ring_slot(rd_ring *ring, size_t spare);
void rd_ring_commit(rd_ring *ring);
#endif
#endif
