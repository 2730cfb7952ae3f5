/* What the core's own files share; nobody else includes it. */
#ifndef RD_INTERNAL_H
#define RD_INTERNAL_H

#include "core.h"

#include <stdatomic.h>
#include <string.h>

/* What a machine adds to the state machine, called in its cycle; NULL where it has nothing to add. States, efforts and
 * their limits are those of the joints; references are in coordinates of the machine's own. */
struct rd_machine {
    size_t state_size;            /* bytes that every core has for it in machine_state */
    unsigned without_feedback;    /* bit m: the law of mode m feeds no position back */
    unsigned without_reference;   /* bit m: the law of mode m follows nothing */
    int told;                     /* doubles that it tells, behind the arrays of a snapshot */
    void (*begin)(struct rd_core *core); /* fills machine_state, which is zero */
    /* Finds the core's place from the joints' state: whether it could; if not, it changes nothing. */
    int (*find_place)(struct rd_core *core, double time, const double *position, const double *velocity);
    /* The law's effort, and the one that carries the weight: whether the model has one. */
    int (*effort)(struct rd_core *core, const struct rd_settings *settings, const rd_motion *ahead, double half_period,
                  double *effort);
    int (*load)(const struct rd_core *core, const struct rd_settings *settings, double *effort);
    /* The effort that the drives can give instead of one beyond a limit; NULL: joint by joint. */
    void (*limit)(struct rd_core *core, const double *unlimited, double *effort);
    /* Whether the measured state is beyond what the machine may do; notes what. The machine then holds. */
    int (*watch)(struct rd_core *core);
    /* The effort of a safe output of the machine's own, `since` seconds after the fault began; it `begins` when it is the
     * first one since the core has controlled. Whether there is one. */
    int (*settle)(struct rd_core *core, double since, int begins, double *effort);
    void (*change_law)(struct rd_core *core); /* other gains or another mode are in core->settings */
    void (*tell)(const struct rd_core *core, double *told);
};

/* A plan and the segment where it was sampled last. */
typedef struct {
    const rd_plan *plan;
    size_t segment;
} rd_cursor;

struct rd_core {
    int n;
    int phase;
    uint64_t epoch;               /* counts holds, discontinuities, losses and accepted plans */
    double time;                  /* of the last state [s] */
    double period;                /* between two states, smoothed [s] */
    int discontinuity;
    double discontinuity_size, discontinuity_more; /* what it tells, see snapshot.py */
    const rd_settings *settings, *replaced;
    rd_cursor current;
    rd_cursor waiting[RD_MOST_WAITING]; /* in the order of their starts */
    int waits;                    /* how many */
    uint64_t finished;            /* number of the last plan that was followed to its end; 0: none */
    uint64_t considered;          /* number of the last plan that was looked at, and what became of it */
    int verdict;
    double late;                  /* by which a late plan missed its departure [s] */
    int knows_last, knows_effort, departs, fades, knows_inertia;
    int is_beyond;                /* the measured state was in the last cycle, see watch of rd_machine */
    uint64_t beyond;              /* how often it has come to be */
    int recaptures;               /* the place of the next state is to be held, see take_settings */
    int settles;                  /* the safe output of the machine's own has begun */
    double unseen;                /* from the last state until it was noticed that no more come [s] */
    double set_back;              /* by which the clock was set back since the settings in force came [s] */
    int braked;                   /* whether brakes have taken anything from the last effort */
    int has_sent;                 /* whether the next effort has to follow the one in sent */
    int has_left;                 /* whether anything has left, and is in left */
    double fade_began, fade_duration;
    double last_time;
    double fault_began;           /* time of the first state in a row without a usable effort [s] */
    rd_motion state;              /* measured; no accelerations */
    double *place;                /* (n) where the machine is, in the coordinates of its references */
    void *machine_state;
    rd_motion reference, ahead;
    double *hold;                 /* (n) where to stay without a plan */
    double *last_effort, *departing, *difference, *inertia;
    double *effort, *unlimited;   /* (n) the command */
    double *sent;                 /* (n) the last command of the law */
    double *left;                 /* (n) what left last, safe outputs too */
    double *last_position, *last_velocity; /* (n) of the state that was checked last */
    double *before;               /* (n) scratch of the cycle */
    double *scratch[4];           /* (n) scratch of the law */
    double *zero;                 /* (n) */
    double *store;                /* what all of the above point into */

    _Atomic(const rd_settings *) offered_settings;
    _Atomic(const rd_plan *) offered_plan;
    _Atomic(struct rd_core *) predecessor;
    atomic_uint_fast64_t sequence; /* odd while the snapshot is being written */
    struct rd_snapshot *shown;    /* the writer's own */
    atomic_uint_fast64_t *published; /* the same, word by word, for the readers */
    size_t words;                 /* of a snapshot */
};

/* Take over settings that were handed over; the others do so by themselves. */
void rd_core_take_settings(rd_core *core);

/* Parts, used by the core. */
static inline void rd_copy(double *to, const double *from, int n)
{
    memcpy(to, from, sizeof(double) * (size_t)n);
}

void rd_core_publish(rd_core *core);
void rd_note(rd_core *core, int why, double size, double more);
void rd_check_state(rd_core *core, double time, const double *position, const double *velocity, int expected);
double rd_effort_step(const rd_core *core);
static inline int rd_controls(int phase)
{
    return phase == RD_HOLDING || phase == RD_TRACKING;
}
/* The last stage of what leaves: steps from what left before are bounded; a safe output may take away at once. */
void rd_leave(rd_core *core, int safe);
/* Efforts (n) no further from the last ones than the steps; a safe output may take away at once. */
void rd_bound_steps(int n, const double *last, const double *steps, const double *limits, int safe, double *effort);
double rd_brake_share(const rd_core *core, double time); /* of the efforts that brakes leave */
/* The efforts (n) with which a safe output of the core would begin now, without a way of the machine's own. */
void rd_core_safe_load(const rd_core *core, double *effort);
int rd_all_finite(const double *values, int n);
double rd_ramp_down(double since, double duration);
void rd_add_fading(rd_core *core, double time, double *effort);
void rd_begin_fading(rd_core *core, double time, double *before, const double *effort);
void rd_brake(rd_core *core, double time); /* leaves of the command what brakes leave */
void rd_sample(rd_cursor *cursor, int n, double time, const rd_motion *out);
void rd_rest(const rd_core *core, const rd_motion *out, const double *place);
void rd_refer(rd_core *core, double time, const rd_motion *out); /* the reference at a time */
void rd_stop(rd_core *core);                                    /* drop what is followed, for the present place */
void rd_advance(rd_core *core, double time);                    /* begin and end plans */
int rd_follow(rd_core *core, const rd_plan *plan);              /* take it up at its start; 0: too many wait */
static inline int rd_has_plan(const rd_core *core)
{
    return core->current.plan || core->waits;
}
#endif
