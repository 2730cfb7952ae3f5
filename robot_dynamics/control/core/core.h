/* The control core in C: what robot_dynamics.control.reference_core.ControlCore is in Python, cycle for cycle, for every machine
 * that can be told as a rd_machine.
 *
 * States in, efforts out; no allocation after rd_core_new, no locks, no Python, no ROS. One thread at a time
 * runs the cycle (rd_core_update, _observe, _lost_states, _safe_command, _hold); any other thread may hand over
 * finished values (settings, plans, a predecessor) by pointer, and read a snapshot.
 */
#ifndef RD_CORE_H
#define RD_CORE_H

#ifndef __cplusplus
#include <stdatomic.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "friction.h"

/* A generated program: whether every output is finite. */
typedef int (*rd_kernel)(const double *const *in, double *out);

enum { RD_WAITING, RD_HOLDING, RD_TRACKING, RD_STALE, RD_FAULT };                       /* phases */
enum { RD_COMPUTED_TORQUE, RD_FEEDFORWARD, RD_GRAVITY_COMPENSATION, RD_PD };            /* modes */
enum { RD_GRAVITY_FADE, RD_ZERO, RD_SETTLE };                                           /* safe outputs */
enum { RD_ALL, RD_FALLING, RD_RISING };                                                 /* efforts beside brakes */
enum { RD_CONTINUOUS, RD_BACKWARDS, RD_JUMPED, RD_AHEAD, RD_TOO_FAST, RD_EFFORT_STEP, RD_BEYOND }; /* discontinuities */
enum { RD_PENDING, RD_ACCEPTED, RD_SUPERSEDED, RD_LATE };                               /* verdicts on a plan */

struct rd_core;
struct rd_settings;
struct rd_platform_model;

typedef struct {
    double *position, *velocity, *acceleration; /* (n) */
} rd_motion;

/* What a machine adds to the state machine, called in its cycle; NULL where it has nothing to add. States, efforts and
 * their limits are those of the joints; references are in coordinates of the machine's own. */
typedef struct {
    size_t state_size;            /* bytes that every core has for it in machine_state */
    unsigned looks_ahead;         /* bit m: the law of mode m does */
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
} rd_machine;

/* Model, law and parameters. Never changed once it is handed over; read only while it is in use. */
typedef struct rd_settings {
    uint64_t number;              /* of the settings: 1, 2, ... in the order in which they are handed over */
    uint64_t model, law;          /* another number: another model, other gains or another mode */
    const rd_machine *machine;    /* the same as long as a core lives */
    rd_kernel inverse_dynamics;   /* of q, qd, qdd and, where they are inputs, gravity and payload; a platform's: of a
                                     motion (25) */
    const struct rd_platform_model *platform; /* of a platform; else NULL */
    const double *gravity;        /* (3), NULL where it is no input [m/s^2] */
    const double *payload;        /* (10), NULL where it is no input: m, m c (3), inertia xx, xy, yy, xz, yz, zz
                                     about the tip frame's origin [kg, kg m, kg m^2] */
    const double *rotor_inertia;  /* (n) */
    const double *friction;       /* (n, RD_FRICTION_PARAMETERS) */
    const double *limits;         /* (n), infinite where there is none */
    const double *velocity_bounds, *effort_steps; /* (n) of robot_dynamics.control.plausibility.Bounds */
    const double *kp, *kv;        /* (n) */
    double control_period, state_timeout, safe_fade_time, model_change_time, front_timeout; /* [s] */
    double state_jump, stamp_step; /* [rad or m], [s] */
    double brake_from, brake_fade; /* see brakes; on the core's clock [s] */
    int32_t driven;               /* whether the drives add anything */
    int32_t mode, looks_ahead, safe_output;
    int32_t brakes;               /* what brakes leave of the efforts: all, falling or rising from brake_from on */
} rd_settings;

/* References that come from outside cycle by cycle; written by the thread that runs the cycle, before it does. */
typedef struct {
    double time;                  /* until then `now` is the reference, later `ahead` [s] */
    rd_motion now, ahead;
} rd_stream;

/* A planned path: quintics between knots. Never changed once it is handed over. */
typedef struct {
    uint64_t number;              /* 1, 2, ... in the order in which they are handed over */
    uint64_t epoch;               /* of the core when the plan's departure was asked for */
    uint64_t continues;           /* number of the plan that it goes on with: in force instead of the epoch, which
                                     stays; 0: none */
    size_t knots;                 /* K >= 2 */
    const double *times;          /* (K) on the controller's clock [s] */
    const double *coefficients;   /* (K - 1, 6, n) of the powers of the share of the segment that has passed */
    const rd_stream *stream;      /* instead of coefficients, from the first knot's to the last one's time; or NULL */
} rd_plan;

/* All that follows is C's alone: C++ has no _Atomic. */
#ifndef __cplusplus
/* A plan and the segment where it was sampled last. */
typedef struct {
    const rd_plan *plan;
    size_t segment;
} rd_cursor;

typedef struct rd_core {
    int n;
    int phase;
    uint64_t epoch;               /* counts holds, discontinuities, losses and accepted plans */
    double time;                  /* of the last state [s] */
    double period;                /* between two states, smoothed [s] */
    int discontinuity;
    double discontinuity_size, discontinuity_more; /* what it tells, see snapshot.py */
    const rd_settings *settings, *replaced;
    rd_cursor current, next;
    uint64_t finished;            /* number of the last plan that was followed to its end; 0: none */
    uint64_t considered;          /* number of the last plan that was looked at, and what became of it */
    int verdict;
    double late;                  /* by which a late plan missed its departure [s] */
    int knows_last, knows_effort, departs, fades, knows_inertia;
    int is_beyond;                /* the measured state was in the last cycle, see watch of rd_machine */
    uint64_t beyond;              /* how often it has come to be */
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
    struct rd_snapshot *shown;
} rd_core;

/* What other threads may know. The arrays follow it: hold, position, velocity (n), and what the machine tells. */
typedef struct rd_snapshot {
    uint64_t epoch;
    uint64_t current, next;       /* numbers of the plans in force and waiting; 0: none */
    uint64_t finished, considered;
    uint64_t oldest_settings;     /* settings with a smaller number are not used any more */
    uint64_t oldest_plan;
    uint64_t beyond;              /* how often a measured state has come to be beyond what the machine may do */
    double time, period, late;
    int32_t phase, verdict;
    double values[];
} rd_snapshot;

/* A core of n joints that waits for its first state; NULL without memory. */
rd_core *rd_core_new(int n, const rd_settings *settings);
void rd_core_free(rd_core *core);

/* The cycle. Results are in effort, unlimited, reference, phase. 0 where the model has no effort for the state:
 * the caller then calls rd_core_lost_states and sends rd_core_safe_command. */
int rd_core_update(rd_core *core, double time, const double *position, const double *velocity);
void rd_core_observe(rd_core *core, const double *position);
void rd_core_lost_states(rd_core *core, double age);
void rd_core_hold(rd_core *core);
/* Fills effort, unlimited and reference. */
void rd_core_safe_command(rd_core *core, double since);
/* Where the results of the last call are, for callers in other languages. */
typedef struct {
    const double *effort, *unlimited;                  /* (n) */
    const double *position, *velocity, *acceleration;  /* (n) of the reference */
    double discontinuity_size, discontinuity_more;
    int32_t discontinuity, phase;
} rd_results;
void rd_core_results(const rd_core *core, rd_results *results);
/* Sizes of rd_settings, rd_plan, rd_snapshot and rd_results, in this order. */
void rd_sizes(size_t *sizes);
/* Take over settings that were handed over; the others do so by themselves. */
void rd_core_take_settings(rd_core *core);

/* From any thread: hand over, and read. What is handed over must stay until the snapshot says that it is free. */
void rd_core_offer_settings(rd_core *core, const rd_settings *settings);
void rd_core_offer_plan(rd_core *core, const rd_plan *plan);
/* Begin with the last effort of another core of the same joints, if that one controls then. */
void rd_core_succeed(rd_core *core, rd_core *predecessor);
void rd_core_snapshot(rd_core *core, rd_snapshot *copy);
size_t rd_core_snapshot_size(const rd_core *core);

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
#endif

#ifdef __cplusplus
extern "C"
#else
extern
#endif
const rd_machine rd_arm; /* law.c */
#endif
