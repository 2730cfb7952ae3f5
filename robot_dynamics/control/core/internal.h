/* Declarations that the core's own files share; nobody else includes them. */
#ifndef RD_INTERNAL_H
#define RD_INTERNAL_H

#include "core.h"
#include "extremes.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Functions of a machine that the state machine calls in its cycle; NULL: it adds nothing. States, efforts
 * and their limits are those of the joints; references are in coordinates of the machine's own. */
struct rd_machine {
    size_t state_size;            /* bytes that every core has for it in machine_state */
    unsigned without_feedback;    /* bit m: the law of mode m feeds no position back */
    unsigned without_reference;   /* bit m: the law of mode m follows nothing */
    unsigned held_to_run;         /* bit m: the law of mode m runs while a button is pressed */
    unsigned yielding;            /* bit m: the law of mode m leaves its reference under a load */
    int telemetry;                     /* doubles that it reports, behind the arrays of a snapshot */
    int telemetry_of_joints;           /* the same, times n; they come first */
    void (*begin)(struct rd_core *core); /* fills machine_state, which is zero */
    /* Finds the core's place from the joints' state: whether it could; if not, it changes nothing. */
    int (*find_place)(struct rd_core *core, double time, const double *position, const double *velocity);
    /* The law's effort, and the one that carries the weight: whether the model has one. */
    int (*effort)(struct rd_core *core, const struct rd_settings *settings, const rd_motion *ahead, double half, double *effort);
    int (*load)(const struct rd_core *core, const struct rd_settings *settings, double *effort);
    int rejoins;                  /* whether its reference restarts where it is after a gap; see rejoining.c */
    int group;                    /* coordinates that a deceleration limits together by their norm; 0: each alone */
    /* The effort of a state and an acceleration (n), with the friction of a rate; NULL: none is simulated. */
    int (*dynamics)(struct rd_core *core, const struct rd_settings *settings, const double *position,
                    const double *velocity, const double *acceleration, const double *rate, double *effort);
    /* The effort of a motion of the references; whether the model has one. */
    int (*reference_effort)(struct rd_core *core, const struct rd_settings *settings, const rd_motion *motion,
                            double *effort);
    /* Rates of the references' coordinates in the measured state; NULL: the joints' velocities. */
    void (*find_rate)(const struct rd_core *core, double *rate);
    /* The effort that bears the robot at its velocity without any acceleration; whether the model has one. */
    int (*bearing)(struct rd_core *core, const struct rd_settings *settings, double *effort);
    /* True if the measured state is beyond what the machine may do; notes what. The machine then holds. */
    int (*watch)(struct rd_core *core);
    /* Effort of a safe output of its own, `since` seconds after the fault began; `begins`: the first one. Whether there is one. */
    int (*settle)(struct rd_core *core, double since, int begins, double *effort);
    /* Distances from core->reference: of each joint (n), and of the pose, linear and angular; NULL: joint by joint. */
    void (*stray)(const struct rd_core *core, double *joints, double *linear, double *angular);
    /* Rates (n) of those distances of the joints. */
    void (*stray_rate)(const struct rd_core *core, double *joints);
    void (*change_law)(struct rd_core *core); /* other gains or another mode are in core->settings */
    /* Another law or model is in core->settings than `before`: what is carried stays carried. Whether the estimate changed. */
    int (*keep_load)(struct rd_core *core, const struct rd_settings *before);
    /* Carry what was carried before the error grew. */
    void (*restore_load)(struct rd_core *core);
    /* The load that the observer shows beside the model, times a factor, is carried from now on; NULL: it cannot be. */
    void (*take_load)(struct rd_core *core, double factor);
    /* Another softness is in force: what the error pulls less is carried from now on; NULL: joint by joint. */
    void (*carry_pull)(struct rd_core *core, double before, double now);
    void (*report)(const struct rd_core *core, double *telemetry);
    /* Positions and velocities (n) of the joints at a motion of the references; NULL: they are the same. */
    void (*joints_of)(const struct rd_core *core, const rd_motion *reference, double *position, double *velocity);
};

/* Bits of an arm's modes that yield. */
enum { RD_YIELDING = 1 << RD_JOINT_IMPEDANCE | 1 << RD_CARTESIAN_IMPEDANCE };
enum { RD_TASK_ROWS = 20 };       /* a Jacobian, another one, and one in padded columns */
typedef double rd_row __attribute__((vector_size(64), aligned(8))); /* six numbers and two more */
enum { RD_MOST_FAULTS = 3 };      /* within the duration of RD_REPEATED_FAULTS that latch */

/* A rule at work: values as shares of its threshold. */
typedef struct {
    double share, largest, since;
    int states, warned;
} rd_rule_state;

/* Velocity error of a joint; see oscillation.c. */
typedef struct {
    double seen, turned;          /* time of the last state, and of the last change of sign [s] */
    double speed, pull, peak, last, work, spent;
    double led, step;             /* velocity error of this half period that unknown masses and a lag explain */
    double reference;             /* its velocity in the last state */
    int sign, count;              /* of velocity error; half periods that last */
    int states;                   /* so far */
    int swings, swells;           /* whether it is an oscillation; half periods that swell */
    double first, grew;           /* peak from which they do; factor of the last one */
    double square, weight;        /* mean square of the peaks over the last moment, and what of a moment has passed */
    double errors[4], noise;      /* of the last states, the newest first; mean square of the ones before */
    double turning;               /* growth of one that turns in every state; 0: it does not */
} rd_swing;

enum { RD_PACE_RECENT = 3, RD_PACE_BINS = 256 };

/* Periods of the last second, in two halves, and what they leave of the gains; see gains.c. */
typedef struct {
    int counts[2][RD_PACE_BINS], totals[2], lowest[2]; /* no bin below the lowest has any */
    double sums[2][RD_PACE_BINS];
    int half, unseen, seen;
    double began, last;           /* [s] */
    double median, rare;          /* median and 95th percentile [s] */
    double share, wanted;         /* of the gains in force, and that the periods allow */
    double recent[RD_PACE_RECENT]; /* the last periods, the newest first [s] */
    double longest[2], turned;    /* of the last seconds, in two halves, and when the newer began: never forgotten [s] */
    double relieved;              /* time of the state whose effort the safe output has replaced [s] */
} rd_pace;

/* Memory of supervision; see supervision.c. */
typedef struct {
    rd_rule_state rules[RD_RULES];
    double *place;                /* (n) where an overspeed began */
    double *shaken;               /* (n) acceleration of its reference, which fades until feedback has come up [rad/s² or m/s²] */
    double path, seen;            /* that its velocities tell; time of the last state [s] */
    double moved, doubted;        /* when a joint or leg was faster last than one at rest; until when its load is doubted [s] */
    double leap, leapt;           /* the last one that looks like a reset of a simulation, and when [rad or m], [s] */
    double *stopped, stopped_at;  /* (n) place of the last protective stop, and its time [s] */
    double fault_times[RD_MOST_FAULTS];
    int faults;
    int weighs;                   /* whether the weight has yet to be compared with the limits */
    int begins;                   /* whether the first second has not passed; 2: and it has followed something since */
    double began, first;          /* [s]; share of the speed then; negative: not seen yet */
} rd_supervision;

/* A plan and the segment where it was sampled last. */
typedef struct {
    const rd_plan *plan;
    size_t segment;
} rd_cursor;

/* A stop; see stopping.c. */
typedef struct {
    int kind;                     /* of rd_stop_kind */
    rd_cursor path;               /* its plan is NULL on a straight line */
    double *place, *rate;         /* (n) of the straight line: place at parameter 0, derivative */
    double at;                    /* time of what follows [s] */
    double where;                 /* parameter of the path: time of the plan, or since the line began [s] */
    double pace, change;          /* rate of the parameter, 1 to 0, and its rate [1/s] */
    const double *deceleration;   /* (n) */
} rd_stopping;

/* Velocities from positions; see velocity.c. */
typedef struct {
    double time, since;           /* of the last position; when zeros began [s] */
    double *place, *velocity;     /* (n) last position; the estimate */
    double *from;                 /* (n) where zeros began */
    int begun, steps;             /* whether there is a last position; steps since zeros began */
    int replaces;                 /* whether it is used instead of zeros */
} rd_estimate;

/* A stop without states; see open_loop_descent.c. */
typedef struct {
    int active;
    double since;                 /* time of the simulated arm, since the fault began [s] */
    double rested;                /* when its reference came to rest [s]; negative: not yet */
    double *position, *velocity, *acceleration; /* (n) simulated; scratch */
} rd_blind;

/* Setpoints for actuators with a loop of their own; see setpoints.c. */
typedef struct {
    double *position, *velocity;  /* (n) sent last */
    double time, period;          /* of the last state that was answered, and since the one before; 0: none [s] */
    double since;                 /* of a stop without states: since the fault began [s] */
    int known;                    /* whether there are any */
    int stops;                    /* whether the last one was of a stop without states */
    int restarts;                 /* 1: the next one is where the joints are measured, unless brakes hold; 2: it is */
} rd_setpoints;
/* The way back from a contact; see retreat.c. */
typedef struct {
    int begins, active;
    double *way;                  /* (n) [rad or m] */
    double times[2];
    double *coefficients;         /* (6, n) */
    rd_plan plan;
} rd_retreat;

/* Difference that is added to the reference after a gap; see rejoining.c. */
typedef struct {
    int active;
    double began, duration;       /* [s] */
    double *place, *rate;         /* (n) in coordinates of the references */
} rd_rejoining;

struct rd_core {
    int n;
    int phase;
    uint64_t epoch;               /* counts holds, discontinuities, losses and accepted plans */
    double time;                  /* of the last state [s] */
    double period, odd_period;    /* between two states, smoothed; the last one if it was of another kind [s] */
    int discontinuity;
    double discontinuity_size, discontinuity_more; /* what it says, see snapshot.py */
    const rd_settings *settings, *replaced;
    int weakest;                  /* joint whose gains in the settings stand the least latency; see gains.c */
    const rd_settings *former;    /* with the model before those of the last moment; NULL: none; see mailbox.c */
    double changed_at;            /* when that model went [s] */
    uint64_t refused[2];          /* first and last model that have been taken back */
    rd_cursor current;
    rd_cursor waiting[RD_MOST_WAITING]; /* in the order of their starts */
    int waits;                    /* how many */
    /* Plans that the newest plan replaced, kept as long as the epoch stays; see rd_core_withdraw_plan. */
    struct {
        uint64_t number, epoch;
        rd_cursor current, waiting[RD_MOST_WAITING];
        int waits;
    } before_plan;
    rd_stopping stopping;
    rd_setpoints setpoints;
    rd_rejoining rejoining;
    rd_blind blind;
    rd_estimate estimate;
    double *matrix;               /* (n, n) scratch */
    struct {
        double *rows;             /* (RD_TASK_ROWS, n) scratch */
        rd_row modes[6], frame[6]; /* eigenvectors of the last cycle, in rows */
    } task;                       /* see task_impedance.c */
    double *disturbance;          /* (n) of an arm: estimated acceleration that the model lacks [rad/s^2 or m/s^2] */
    double *undisturbed;          /* (n) its value when the error was small last */
    double disturbance_time;      /* [s] */
    uint64_t finished;            /* number of the last plan that was followed to its end; 0: none */
    uint64_t considered;          /* number of the last plan that was looked at, and what became of it */
    int verdict;
    double late;                  /* by which a late plan missed its start [s] */
    int knows_last, knows_effort, fades, knows_inertia, knows_turns;
    int departs;                  /* the law is another one: 1: `departing` is the last effort, 2: the part beside the law */
    int is_beyond;                /* the measured state was in the last cycle, see watch of rd_machine */
    uint64_t beyond;              /* how often it has come to be */
    int guides;                   /* latched, the arm may be moved by hand: somebody has chosen a mode for it since */
    int recaptures;               /* stop (enum rd_stop_kind) that begins anew from the next state; see take_settings */
    int settles;                  /* the safe output of the machine's own has begun */
    rd_trip trip;                 /* of supervision; `latched` is the protective stop in force */
    rd_supervision supervision;
    rd_observer *observer;        /* of the commands */
    rd_observer *sensed;          /* of the measured efforts */
    int measures;                 /* whether efforts were measured with the newest state */
    rd_swing *swings;             /* (n) */
    double *softness;             /* (n) shares of kv in force, and their squares of kp */
    double *overcome;             /* (n) shares of the friction that the law compensates */
    double *rubbed, *shown_friction; /* (n) that the law has compensated last, and the most that joints have shown [N m or N] */
    double *slid, *slid_at, slid_time; /* (n) states of presliding, the reference then [rad or m], and when [s] */
    double *swung;                /* (n) what oscillations leave of them */
    double *strayed;              /* (n) when a joint has not kept pace with its reference last [s] */
    double *led;                  /* (n) by how much each joint was faster than its reference in the last state */
    double *stiffened;            /* (n) by what a protective stop multiplies them, 1 at least; see gains.c */
    rd_pace pace;
    double unseen;                /* from the last state until it was noticed that no more come [s] */
    double set_back;              /* by which the clock was set back since the settings in force came [s] */
    int cut;                      /* whether limits have cut the last effort of the law */
    double *cut_at;               /* (n) when an effort was beyond its limit, so that gains could not rise [s] */
    double by_joint;              /* how far each joint is limited by itself, 0 to 1; see limiting.c */
    int braked;                   /* whether brakes have taken anything from the last effort */
    int held;                     /* brakes hold since a halt: the fail-safe output is what carries, and fades */
    int has_sent;                 /* whether the next effort has to follow the one in sent */
    int has_left;                 /* whether anything has left, and is in left */
    double fade_began, fade_duration;
    double last_time;
    double fault_began;           /* time of the first state in a row without a usable effort [s] */
    rd_motion state;              /* measured; no accelerations */
    rd_motion smoothed;           /* the same through the filters of modes that yield; see impedance.c */
    const rd_motion *seen;        /* the one of both that laws that yield use */
    double *place;                /* (n) where the machine is, in the coordinates of its references */
    void *machine_state;
    rd_motion reference, ahead;
    double *hold;                 /* (n) where to stay without a plan */
    double *last_effort, *departing, *difference, *inertia;
    double *effort, *unlimited;   /* (n) the command */
    double *measured, *acted;     /* (n) measured efforts; their mean since the last state */
    double *sent;                 /* (n) the last command of the law */
    double *left;                 /* (n) what left last, safe outputs too */
    double *unwrapped;            /* (n) measured positions, with whole turns since the first one */
    double *last_position, *last_velocity; /* (n) of the state that was checked last */
    _Atomic double push[6], pushed_until; /* see rd_core_push */
    double pushes[6], push_time;  /* smoothed [N, N m]; of the last state [s] */
    /* Of the hold-to-run button: whether it is pressed, and may be; see guiding.c. */
    _Atomic double guided_until;  /* [s] */
    int pressed, armed;
    double *felt;                 /* (n) measured velocities, smoothed [rad/s or m/s] */
    rd_retreat retreat;
    double *believed;             /* (n) measured velocities as far as the state before confirms them, within limits */
    double *before, *scratch[4];  /* (n) scratch of the cycle, and of the law */
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

/* Number of doubles that a machine of n joints reports. */
static inline size_t rd_telemetry(const rd_machine *machine, int n)
{
    return (size_t)machine->telemetry + (size_t)machine->telemetry_of_joints * (size_t)n;
}

/* Take over settings that were handed over; the others do so by themselves. Settings are in force from now on. */
void rd_core_take_settings(rd_core *core);
void rd_use_settings(rd_core *core, const rd_settings *settings);
/* A rule has tripped: where the model has just changed, the one before is in force again; its number, 0: nothing changes. */
uint64_t rd_take_back_model(rd_core *core);
int rd_has_new_model(const rd_core *core); /* whether it has just changed */

/* Parts, used by the core. */
static inline void rd_copy(double *to, const double *from, int n)
{
    memcpy(to, from, sizeof(double) * (size_t)n);
}

/* Noise of a velocity: a pose at rest that is sent at 60 Hz with a noise of 0.1 mm moves at up to 6 mm/s
 * [rad/s or m/s]. */
static const double RD_NOISE = 0.01;
static inline double rd_beyond(double noise, double velocity)
{
    const double size = fabs(velocity) - noise;
    return size > 0.0 ? copysign(size, velocity) : 0.0;
}
/* Of the reference's velocity: none along a plan whose velocity is meant. */
static inline double rd_reference_noise(const rd_core *core)
{
    return core->current.plan && core->current.plan->exact ? 0.0 : RD_NOISE;
}

void rd_doubt_friction(rd_core *core, int joint, double reference_velocity, double elapsed); /* see law.c */
/* Time since the estimate of a load was looked at last [s]; and what fades of it, by errors beyond (n) `least`. */
double rd_since_estimate(rd_core *core);
void rd_drop_driving_load(rd_core *core, double elapsed, const double *least);
/* See guiding.c: the button of this cycle, `broken`: whose state does not follow from the last one. */
void rd_look_at_button(rd_core *core, int broken);
/* See retreat.c: the way back from a contact begins when the stop has ended; it goes on; it is dropped. */
void rd_choose_retreat(rd_core *core, int rule);
void rd_go_on_with_retreat(rd_core *core);
void rd_drop_retreat(rd_core *core);
/* See impedance.c. */
void rd_see_state(rd_core *core, double elapsed, int broken); /* filter it; `broken`: it is not the next one */
void rd_bound_rate(rd_core *core);                            /* and filter the effort */
void rd_core_publish(rd_core *core);
/* External efforts (n) that are reported and that make contacts, then their thresholds (n). */
static inline const double *rd_external(const rd_core *core)
{
    return rd_observer_external(core->settings->measured ? core->sensed : core->observer);
}
/* See observer.c: begin or end to learn the joints' inertia; find it from what was learned, with a scale (n) of the
 * efforts; its ratio to the model's, and the external effort at rest that it leaves. */
void rd_observer_learn(rd_observer *observer, int learns);
void rd_observer_find_ratios(rd_observer *observer, const double *scale);
double rd_observer_ratio(const rd_observer *observer, int joint);
double rd_observer_load(const rd_observer *observer, int joint);
void rd_note(rd_core *core, int why, double size, double more);
/* Filtered backward differences (n); zero at first, and after time ran backwards. */
const double *rd_estimate_velocity(rd_core *core, double time, const double *position);
void rd_forget_estimate(rd_core *core);
/* Velocities (n) as they are measured, or as they are estimated where zeros are measured while joints move. */
const double *rd_usable_velocity(rd_core *core, double time, const double *position, const double *velocity);
int rd_speed_is_doubted(const rd_core *core);
/* Positions (n) of continuous joints with the whole turns that bring them nearest the last ones. */
const double *rd_unwrap(rd_core *core, const double *position);
/* Whole turns of a joint that bring a position nearest another one [rad]. */
static inline double rd_turns(const rd_settings *settings, int j, double position, double near)
{
    const double turn = settings->turn ? settings->turn[j] : 0.0;
    return turn > 0.0 && isfinite(near - position) ? turn * nearbyint((near - position) / turn) : 0.0;
}
void rd_check_state(rd_core *core, double time, const double *position, const double *velocity, int expected);
double rd_effort_step(const rd_core *core);
static inline int rd_controls(int phase)
{
    return phase == RD_HOLDING || phase == RD_TRACKING || phase == RD_PROTECTIVE_STOP || phase == RD_STOPPING
        || phase == RD_GUIDED;
}
/* The last stage of what leaves: steps from what left before are bounded; a safe output may take away at once. */
void rd_leave(rd_core *core, int safe);
double rd_brake_share(const rd_core *core, double time); /* of the efforts that brakes leave */
/* The efforts (n) with which a safe output of the core would begin now, without a way of the machine's own. */
void rd_core_safe_load(const rd_core *core, double *effort);
int rd_all_finite(const double *values, int n);
void rd_add_fading(rd_core *core, double time, double *effort);
void rd_begin_fading(rd_core *core, double time, double *before, const double *effort);
void rd_end_fading_soon(rd_core *core, double time); /* what is left of a change goes within a moment */
/* Efforts within the limits: of a law, and each by itself. */
void rd_limit(rd_core *core, const double *unlimited, double *effort);
void rd_limit_each(const rd_core *core, const double *unlimited, double *effort);
void rd_brake(rd_core *core, double time); /* leaves of the command what brakes leave */
void rd_sample(rd_cursor *cursor, int n, double time, const rd_motion *out);
/* Stop straight on from the measured state. */
void rd_capture(rd_core *core, int kind);

/* Period of the settings, else the measured one; 0 while there is none [s]. */
double rd_control_period(const rd_core *core, const rd_settings *settings);
/* The reference that a law looks at in the cycle of a time: half a period ahead where the settings ask for it [s]. */
const rd_motion *rd_look_ahead(rd_core *core, double time, double *half);
/* True if the law of the mode runs while a button is pressed; true if it waits for that. */
static inline int rd_is_held_to_run(const rd_settings *settings)
{
    return settings->machine->held_to_run >> settings->mode & 1U;
}
static inline int rd_waits_for_button(const rd_core *core, const rd_settings *settings)
{
    return rd_is_held_to_run(settings) && !core->pressed;
}
/* True if the law of the mode follows nothing; true if the one in force does. */
static inline int rd_has_no_reference(const rd_core *core)
{
    const rd_settings *settings = core->settings;
    return settings->machine->without_reference >> settings->mode & 1U && !rd_waits_for_button(core, settings);
}
static inline int rd_follows_nothing(const rd_core *core)
{
    return rd_has_no_reference(core) && (!core->trip.latched || core->guides);
}
/* Phase of a core that follows nothing, and of one that follows a plan. */
static inline int rd_phase_of(const rd_core *core, int phase)
{
    const int guided = rd_has_no_reference(core);
    return core->trip.latched ? RD_PROTECTIVE_STOP : guided && phase == RD_HOLDING ? RD_GUIDED : phase;
}
/* Law in force: a protective stop needs feedback, which the law of the mode may lack; so does waiting for a button. */
static inline int rd_lacks_feedback(const rd_core *core, const rd_settings *settings)
{
    return settings->command == RD_COMMAND_EFFORT && settings->machine->without_feedback >> settings->mode & 1U
        && ((core->trip.latched && !core->guides) || rd_waits_for_button(core, settings));
}
/* True if the actuators take setpoints and close the loop, so that what is measured moves no reference. */
static inline int rd_sends_setpoints(const rd_core *core)
{
    return core->settings->command != RD_COMMAND_EFFORT;
}
/* See rejoining.c: add to a reference what a gap has left, and begin that after a gap of `elapsed` [s]. */
void rd_add_rejoining(const rd_core *core, double time, const rd_motion *out);
void rd_begin_rejoining(rd_core *core, double time, double elapsed, double period);
/* See setpoints.c: setpoints of this cycle, the beginning of a stop without states, and its setpoints. */
void rd_advance_setpoints(rd_core *core, double time);
void rd_begin_setpoint_stop(rd_core *core, double age);
void rd_stop_setpoints(rd_core *core, double since);
/* True if a fail-safe output that began so long ago [s] has anything left to send. */
int rd_safe_output_goes_on(const rd_core *core, double since);
/* True if the arm has yielded to a contact: its law is then joint impedance until the fault is reset. */
int rd_has_yielded(const rd_core *core, const rd_settings *settings);
/* True if the law in force leaves its reference under a load. */
int rd_yields(const rd_core *core);
/* A rule has tripped at a joint (-1: whole robot): note it, latch, and begin the protective stop. */
void rd_trip_rule(rd_core *core, int rule, int joint, double measured, double allowed);
void rd_note_trip(rd_core *core, int rule, int joint, double measured, double allowed, int stops);
/* Periods between states: forget them, take one, and apply their rule; whether it begins a protective stop. */
void rd_pace_forget(rd_core *core);
void rd_pace_take(rd_core *core, double elapsed);
double rd_longest_recent(const rd_core *core, double least); /* of the last periods, at least so long [s] */
void rd_note_held(rd_core *core, double elapsed); /* the last effort was held so long [s] */
double rd_longest_held(const rd_core *core, double period); /* an effort, lately: a period, or what late cycles took [s] */
int rd_watch_pace(rd_core *core);
void rd_soften(rd_core *core); /* finds core->softness */
/* Pull of load and position error at a joint with a softness; NAN: it does not keep pace. Other gains carry all. */
double rd_pull(const rd_core *core, const rd_settings *settings, int joint, double softness);
void rd_carry_pull(rd_core *core, int joint, double pull, double softness);
double rd_softened_kp(const rd_settings *settings, int joint, double softness);
void rd_keep_pull(rd_core *core); /* of joints that a load takes away although they are stiffened: a new place would lose it */
/* True if a protective stop had raised gains, those of the settings before; what they bore is carried. */
int rd_end_stiffness(rd_core *core, const rd_settings *before);
/* Apply the rules to the state and the reference of this cycle; whether one begins a protective stop. */
int rd_supervise(rd_core *core);
void rd_watch_motion(rd_core *core);
int rd_moves(const rd_core *core); /* within the last moment of control */
/* States do not follow one from the other; the core begins to control; a cycle had no usable effort. */
void rd_supervision_restart(rd_core *core);
void rd_supervision_begin(rd_core *core);
int rd_count_fault(rd_core *core); /* whether it latches */
/* The clock was set back by so much [s]: what supervision remembers stays as long ago as it was. */
void rd_supervision_set_back(rd_core *core, double by);
/* The joint that oscillates by feedback, its speed and the least that counts; -1: none. How much slower joints or legs are. */
int rd_find_oscillation(rd_core *core, double share, double *measured, double *allowed);
void rd_find_rates(rd_core *core, double *rate);
void rd_forget_oscillation(rd_core *core, int all);
/* Speed of a joint that oscillates, as a ratio to half a period before; 1: the oscillation does not swell. */
double rd_swelling(const rd_core *core, int joint);
/* True if a velocity beyond all bounds is real: the state before and both positions show it. */
int rd_confirmed_speed(const rd_core *core, int joint, double elapsed, double position, double velocity);
/* Bring the robot to rest; `rule` is the reason. */
void rd_begin_protective_stop(rd_core *core, int rule);
void rd_rest(const rd_core *core, const rd_motion *out, const double *place);
void rd_refer(rd_core *core, double time, const rd_motion *out); /* the reference at a time */
void rd_stop(rd_core *core);                                    /* drop what is followed, for the present place */
void rd_advance(rd_core *core, double time);                    /* begin and end plans */
int rd_follow(rd_core *core, const rd_plan *plan);              /* take it up at its start; 0: too many wait */
/* Stops; see stopping.c. Drop what is followed and slow down along its path, or straight on from the measured state. */
void rd_stop_along(rd_core *core, int kind);
void rd_stop_straight(rd_core *core, int kind);
/* Slow down straight on from the reference of the last cycle. */
void rd_stop_reference(rd_core *core, int kind);
/* The same `age` after the last state, of a robot that is at a place with a velocity then; whether it moves. */
int rd_stop_from(rd_core *core, double age, const double *place, const double *velocity);
/* States are lost for `age`: whether there is a stop to play by the model alone, and its effort (n). */
int rd_begin_blind(rd_core *core, double age);
int rd_blind_effort(rd_core *core, double since, double *effort);
/* Acceleration (n) that an effort gives the robot in a state, with the friction of a rate; whether the model has one. */
int rd_acceleration(rd_core *core, const rd_settings *settings, const double *position, const double *velocity,
                    const double *rate, const double *effort, double *out);
void rd_advance_stop(rd_core *core, double time);
void rd_refer_stop(rd_core *core, double time, const rd_motion *out);
double rd_stop_end(const rd_core *core); /* see rd_snapshot.rests */

static inline int rd_has_plan(const rd_core *core)
{
    return core->current.plan || core->waits;
}
#endif
