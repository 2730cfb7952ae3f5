/* The control core: states in, efforts out, for every robot that can be described as an rd_machine.
 *
 * No allocation after rd_core_new, no locks, no Python, no ROS. One thread at a time runs the cycle (rd_core_update,
 * _observe, _lost_states, _safe_command, _hold). Any other thread may hand over finished values (settings, plans, a
 * predecessor) by pointer, and read a snapshot.
 *
 * Between the two marks nothing needs the preprocessor: Python reads it from here (cffi), so that names and layouts
 * stand in this file alone. The comment behind a mode, a fail-safe output or a phase is its description.
 */
#ifndef RD_CORE_H
#define RD_CORE_H

#include "friction.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* API */

/* Laws of an arm; law.c has one function for each. */
enum rd_arm_mode {
    RD_COMPUTED_TORQUE,           /* tracks with feedback */
    RD_FEEDFORWARD,               /* sends the reference's own efforts without feedback */
    RD_GRAVITY_COMPENSATION,      /* carries the arm's weight only */
    RD_PD,                        /* tracks without a model */
    RD_JOINT_IMPEDANCE,           /* yields at each joint like a spring and a damper at the reference */
    RD_CARTESIAN_IMPEDANCE,       /* yields at a frame like springs and dampers at its reference pose */
    RD_HAND_GUIDING,              /* is moved by hand while a hold-to-run button is pressed, and else holds */
    RD_CALLED                     /* calls rd_settings.called */
};

/* Phase of the controller. */
enum rd_phase {
    RD_WAITING,                   /* waiting for the first joint state */
    RD_HOLDING,                   /* holding position */
    RD_TRACKING,                  /* following a trajectory */
    RD_STALE,                     /* no joint state: safe output */
    RD_FAULT,                     /* the model gave no usable effort: safe output */
    RD_PROTECTIVE_STOP,           /* protective stop: holding until ~/reset_fault */
    RD_STOPPING,                  /* slowing down to a stop */
    RD_GUIDED                     /* carrying the weight only: not holding position */
};

/* Stops: a later one of a lower kind never weakens one that is active. */
enum rd_stop_kind {
    RD_NO_STOP,
    RD_STOP_HOLD,                 /* with rd_settings.hold_deceleration */
    RD_STOP_EMERGENCY             /* with rd_settings.stop_deceleration */
};

/* Fail-safe output: sent when the controller cannot control. */
enum rd_safe_output {
    RD_GRAVITY_FADE,              /* carries the weight at the last known position and fades to zero */
    RD_ZERO,                      /* stops at once */
    RD_SETTLE                     /* a platform goes down to its park pose */
};

/* Commands that the actuators take. */
enum rd_command {
    RD_COMMAND_EFFORT,            /* efforts: the controller closes the loop */
    RD_COMMAND_VELOCITY,          /* velocities of the reference, with a slow correction of the position */
    RD_COMMAND_POSITION           /* positions of the reference: the actuators close the loop */
};

/* Efforts beside brakes. */
enum rd_brakes { RD_ALL, RD_FALLING, RD_RISING };

/* Reason why a state cannot follow from the one before; rd_discontinuity_text has it in words.
 * From RD_BEYOND on: a measured state of the machine's own is beyond a limit. */
enum rd_discontinuity {
    RD_CONTINUOUS, RD_BACKWARDS, RD_JUMPED, RD_AHEAD, RD_TOO_FAST, RD_EFFORT_STEP, RD_BEYOND
};

/* Rules of supervision; supervision.c has the line of each in its table. The comment is the quantity that is watched. */
enum rd_rule {
    RD_NO_RULE,
    RD_FOLLOWING_ERROR,           /* distance from the reference */
    RD_POSE_ERROR,                /* distance of the pose from its reference */
    RD_OVERSPEED,                 /* speed */
    RD_OSCILLATION,               /* speed of an oscillation that the feedback feeds */
    RD_START_SPEED,               /* speed in the first second */
    RD_START_DISPLACEMENT,        /* displacement in the first second */
    RD_START_LOAD,                /* effort that holds the arm at the start */
    RD_REPEATED_FAULTS,           /* faults within 5 s */
    RD_SLOW_STATES,               /* period between two states */
    RD_CONTACT,                   /* external effort */
    RD_DISPUTE,                   /* efforts of another node that go on */
    RD_START_EFFORT               /* effort on the arm beside its model's weight in the first second */
};
enum { RD_RULES = 13 };            /* rules, RD_NO_RULE included */

/* Reaction to an external effort beyond its threshold. */
enum rd_on_contact { RD_CONTACT_OFF, RD_CONTACT_REPORT, RD_CONTACT_HOLD, RD_CONTACT_YIELD, RD_CONTACT_RETREAT };

/* The line of a rule in the table. */
typedef struct {
    const char *name;
    double duration;              /* beyond the threshold until it trips [s] */
    double release;               /* share of the threshold below which it has ended */
    int32_t observable;           /* whether it only warns where rd_rules.observes */
    const char *reaction, *reset, *remedy;
} rd_rule_info;

/* The last trip of a rule. */
typedef struct {
    uint64_t count;               /* trips since the core began */
    double time;                  /* [s] */
    double measured, allowed;
    int32_t rule;                 /* RD_NO_RULE: none yet */
    int32_t joint;                /* -1: the whole robot */
    int32_t latched;              /* whether the protective stop is in force */
    int32_t stops;                /* whether this trip began it; 0: a warning */
    uint64_t reverted;            /* number of the model that is in force again, because a newer one had just come; 0: none */
} rd_trip;

/* Verdict: gains or effort limits stand what they are for, barely stand it, or fail. */
enum rd_standing { RD_STANDS, RD_BARELY_STANDS, RD_FAILS };

/* Outcome of a plan. */
enum rd_verdict { RD_PENDING, RD_ACCEPTED, RD_SUPERSEDED, RD_LATE, RD_QUEUE_FULL, RD_LATCHED };

enum { RD_MOST_WAITING = 10 };    /* plans that wait for their start */

typedef struct rd_core rd_core;
typedef struct rd_observer rd_observer;
typedef struct rd_machine rd_machine;
struct rd_platform_model;

/* A generated program: whether every output is finite. */
typedef int (*rd_kernel)(const double *const *in, double *out);
/* One with several outputs. */
typedef int (*rd_kernels)(const double *const *in, double *const *out);

typedef struct {
    double *position, *velocity, *acceleration; /* (n) */
} rd_motion;

/* Inputs of a law: measured state, current reference, and reference half a control period ahead; all (n). */
typedef struct {
    int32_t joints;
    double time, half_period;     /* [s]; half_period is 0 where the model is not evaluated ahead */
    const double *position, *velocity;
    rd_motion reference, ahead;
    const double *kp, *kv;
} rd_law_input;

/* A law that is called: fills the effort (n); whether it has one. */
typedef int (*rd_law)(void *context, const rd_law_input *input, double *effort);

/* Thresholds of supervision for one robot; infinite or zero where a rule is off. */
typedef struct rd_rules {
    const double *following;      /* (n) distance from the reference [rad or m] */
    const double *speed;          /* (n) of joints or legs [rad/s or m/s] */
    double pose[2];               /* distance of a platform's pose from its reference [m, rad] */
    double oscillation;           /* share of the velocity limit; 0: off */
    const double *inertia;        /* (n) of an arm's joints, the least over their range; NULL: not known */
    const double *start_effort;   /* (n) beside the model's weight in the first second [N m or N]; NULL: not watched */
    double start_speed, start_displacement; /* shares of velocity limit and `following` in the first second */
    double delay;                 /* of an effort beside half a period [s]; negative: gains are not judged by the period */
    int32_t observes;             /* rules of trajectories and errors only warn */
    int32_t contact;              /* enum rd_on_contact */
    double retreat;               /* way of the joint that moves farthest in RD_CONTACT_RETREAT [rad or m] */
} rd_rules;

/* Axes of the springs of a frame. */
enum rd_task_axes { RD_TASK_ROOT, RD_TASK_FRAME };

/* Projector that keeps the posture from moving the frame. */
enum rd_projector {
    RD_PROJECT_DYNAMIC,           /* the frame's acceleration stays as it is */
    RD_PROJECT_KINEMATIC,         /* the frame's force stays as it is */
    RD_PROJECT_NONE               /* nothing */
};

/* Law of the mode RD_CARTESIAN_IMPEDANCE. The frame's six directions are linear, then angular. */
typedef struct rd_task {
    rd_kernel pose;               /* (4, 4) in the root frame, of q */
    rd_kernel jacobian;           /* (6, n) in root axes, of q */
    rd_kernel jacobian_rate;      /* (6) of q and qd, in root axes */
    rd_kernel mass_matrix;        /* (n, n) of q and, where they are inputs, payload and measured */
    double stiffness[6], damping[6]; /* damping below 0: critical [N/m, N m/rad, N s/m, N m s/rad; decoupled 1/s^2, 1/s] */
    double error_clip[6];         /* [m, rad] */
    const double *posture_stiffness; /* (n) [N m/rad or N/m] */
    double posture_damping;       /* of each joint; below 0: critical [N m s/rad or N s/m] */
    double posture_effort;        /* of each joint at most [N m or N] */
    double limit_range;           /* from a position limit, in which a spring pushes the joint back; 0: none [rad or m] */
    double limit_effort;          /* of that spring at the limit [N m or N] */
    double regularization[2];     /* of J M^-1 J^T [1/kg], and of the singular values of J [m or 1]; 0: directions that can
                                     hardly be moved are limited instead */
    int32_t axes;                 /* enum rd_task_axes */
    int32_t projector;            /* enum rd_projector */
    int32_t decoupled;            /* whether springs act on accelerations, by the operational-space inertia */
} rd_task;

/* Efforts that an observer of external efforts is given. */
typedef struct rd_observed {
    double delay;                 /* of the efforts behind the positions; below 0: they act later than they are sent [s] */
    const double *gravity;        /* (3) that they carry; NULL: that of the settings [m/s^2] */
    const double *friction;       /* (n, RD_FRICTION_PARAMETERS) that they overcome; NULL: that of the settings */
    const double *offset;         /* (n) that their sensors add; NULL: none [N m or N] */
    int32_t driven;               /* whether rotors and friction are in them */
} rd_observed;

/* Measured joints: joints of the same robot that somebody else moves, such as a torso. Where there are any, the last input
 * of the model's kernels is their positions, velocities and accelerations (3 m). */
typedef struct rd_measured rd_measured;

/* Model, law and parameters. Never changed once it is handed over; read only while it is in use. */
typedef struct rd_settings {
    uint64_t number;              /* of the settings: 1, 2, ... in the order in which they are handed over */
    uint64_t model, law;          /* another number: another model, other gains or another mode */
    const rd_machine *machine;    /* the same as long as a core lives */
    rd_kernel inverse_dynamics;   /* of q, qd, qdd and, where they are inputs, gravity, payload and measured; a
                                     platform's: of a motion (25) */
    rd_kernels momentum;          /* momentum, slope and weight (n) of q, qd and, where they are inputs, gravity,
                                     payload and measured; NULL: external efforts are not observed */
    rd_law called;                /* of the mode RD_CALLED */
    void *called_context;
    const struct rd_platform_model *platform; /* of a platform; else NULL */
    const rd_rules *rules;        /* of supervision; NULL: none */
    const double *gravity;        /* (3), NULL where it is no input [m/s^2] */
    const double *payload;        /* (10), NULL where it is no input: m, m c (3), inertia xx, xy, yy, xz, yz, zz
                                     about the tip frame's origin [kg, kg m, kg m^2] */
    struct rd_measured *beside;   /* joints that somebody else moves; NULL: there are none */
    const double *rotor_inertia;  /* (n) */
    const double *friction;       /* (n, RD_FRICTION_PARAMETERS) */
    const double *limits;         /* (n), infinite where there is none */
    const double *velocity_bounds, *effort_steps; /* (n) of robot_dynamics.control.plausibility.PlausibilityBounds */
    const double *velocity_limits; /* (n), infinite where there is none */
    const double *position_limits; /* (2 n) lowest, then highest, of an arm; infinite where there is none */
    const double *turn;           /* (n) after which a measured position of a continuous joint may begin anew, 0: it does
                                     not [rad]; NULL: of no joint */
    /* Of stops, in coordinates of the references, as groups of rd_machine have them: decelerations of a hold and of an
     * emergency stop, and the distance from the reference beyond which a stop no longer follows its path; (n). */
    const double *hold_deceleration, *stop_deceleration, *following;
    const double *kp, *kv;        /* (n) */
    const double *ki, *settled;   /* (n) of an arm: gain of the disturbance estimate [1/s^3]; errors that it leaves */
    const double *stiffness, *damping, *error_clip; /* (n) of the mode RD_JOINT_IMPEDANCE; damping below 0: critical
                                     [N m/rad or N/m, N m s/rad or N s/m, rad or m] */
    const double *effort_rates;   /* (n) of modes that yield, infinite where there is none; NULL: none [N m/s or N/s] */
    double smoothing[3];          /* time constants of low-pass filters in modes that yield: of measured positions, of
                                     velocities, and of the efforts; 0: none [s] */
    const struct rd_task *task;   /* of the mode RD_CARTESIAN_IMPEDANCE, and of RD_HAND_GUIDING along axes; else NULL */
    const double *guide_speed;    /* (n) of the mode RD_HAND_GUIDING at most [rad/s or m/s] */
    const double *guide_limits;   /* (2 n) lowest, then highest positions of the mode [rad or m] */
    double guide_friction;        /* share of the friction that the mode compensates, below 1 */
    /* Thresholds of the external efforts without friction at so many speeds (contact_points, n), infinite: none, and those
     * speeds (contact_points, n) in ascending order; between them they are interpolated. One needs no speed. */
    const double *contact_floor, *contact_speeds;
    int32_t contact_points;
    double friction_drift;        /* share of the friction that thresholds leave */
    double observer_gain;         /* of the external efforts; 0: they are not observed [1/s] */
    const rd_observed *measured;  /* efforts that come with the states, from which external efforts are observed; NULL:
                                     they are observed from the commands */
    double control_period, state_timeout, safe_fade_time, model_change_time, front_timeout; /* [s] */
    double state_jump, stamp_step; /* [rad or m], [s] */
    double brake_from, brake_fade; /* see brakes; on the core's clock [s] */
    double brake_delay;           /* from the command until brakes hold; 0: there are none [s] */
    int32_t command;              /* enum rd_command; setpoints.c has what is not an effort */
    const double *setpoint_range; /* (2 n) lowest, then highest setpoint of a position [rad or m] */
    double setpoint_speed;        /* at which setpoints come back to their reference [rad/s or m/s] */
    double setpoint_gain;         /* of the position in setpoints of a velocity [1/s] */
    double setpoint_deceleration; /* of a stop without states [rad/s^2 or m/s^2] */
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
    uint64_t epoch;               /* of the core when the plan's start was asked for */
    uint64_t continues;           /* number of the plan that it goes on with: in force instead of the epoch, which
                                     stays; 0: none */
    size_t knots;                 /* K >= 2 */
    const double *times;          /* (K) on the controller's clock [s] */
    const double *coefficients;   /* (K - 1, 6, n) of the powers of the share of the segment that has passed */
    const rd_stream *stream;      /* instead of coefficients, from the first knot's to the last one's time; or NULL */
    int32_t while_latched;        /* whether it is taken up during a protective stop: a way to brakes */
    int32_t exact;                /* whether its velocity is meant, however slow: no sender's noise is in it */
} rd_plan;

/* The picture that other threads may read. The arrays follow it: hold, position, velocity, and the reference's position,
 * velocity and acceleration, (n) each, and what the machine reports. */
typedef struct rd_snapshot {
    uint64_t epoch;
    uint64_t current;             /* number of the plan in force; 0: none */
    uint64_t waiting[RD_MOST_WAITING]; /* of those that wait for their start, in the order of their starts */
    uint64_t finished, considered;
    uint64_t oldest_settings;     /* settings with a smaller number are not used any more, but for the former ones */
    uint64_t former;              /* number of settings whose model may come back; 0: none */
    uint64_t oldest_plan;
    uint64_t model, refused;      /* numbers of the model in force, and of the last one that was taken back; 0: none */
    uint64_t beyond;              /* how often a measured state has come to be beyond what the machine may do */
    double time, period, late;
    double usual_period;          /* median of the last second [s]; 0: not known */
    rd_trip trip;
    double rests;                 /* while it stops: when it will rest if its deceleration stays; else `time` [s] */
    double largest[RD_RULES];     /* largest value of each rule so far, as a share of its threshold */
    int32_t phase, verdict;
    int32_t estimates;            /* whether measured velocities are zeros, and are estimated from positions instead */
    int32_t moves;                /* whether a joint or leg has moved within the last moment: a fault is not reset then */
} rd_snapshot;

/* Results of the last call. What it points to stays there, and is that of each later call. */
typedef struct {
    const double *results;        /* (5, n): effort, what was asked for before the limits, the reference's motion */
    const int *phase;
    double discontinuity_size, discontinuity_more;
    int32_t discontinuity;
    rd_trip trip;
} rd_results;

const rd_machine *rd_machine_arm(void);

/* A core of n joints that waits for its first state; NULL without memory. */
rd_core *rd_core_new(int n, const rd_settings *settings);
void rd_core_free(rd_core *core);

/* Measured joints of a robot of n joints: their motion at rest (3 m); their lowest and highest position and their largest
 * velocity (3 m); `timeout` after which a joint without a new state counts as at rest [s]. NULL without memory. */
rd_measured *rd_measured_new(int m, int n, double timeout, const double *rest, const double *bounds);
void rd_measured_free(rd_measured *measured);
/* From the thread of the cycle, before it: positions (m) and velocities (m, NULL: none) of a state; NAN: not of this joint. */
void rd_measured_take(rd_measured *measured, double time, const double *position, const double *velocity);
/* True if every joint has had a state; before that there is no effort. NULL: there are none. */
int rd_measured_known(const rd_measured *measured);
/* From the thread of the cycle: their motion (3 m) in the last cycle, as kernels take it. */
void rd_measured_motion(const rd_measured *measured, double *motion);
/* From any thread: accelerations (m) that their own controller intends, until a time of the states [s]. */
void rd_measured_accelerate(rd_measured *measured, const double *acceleration, double until);
/* From one other thread: largest efforts (n) since the last call that the measured accelerations would have taken beside
 * those that are known; the age of the oldest state, infinite before all joints have one [s]. */
double rd_measured_report(rd_measured *measured, double *missed);

/* Following errors (n) that an arm may have by its model: of joints with these positions and velocities (n), infinite
 * where there is no limit, of which some slide. Whether the model has finite efforts. */
int rd_arm_following(const rd_settings *settings, int n, const double *lower, const double *upper, const double *velocity,
                     const int32_t *slides, double *following);

/* Efforts (n) beside the weight that an arm may have at rest by its model: an unknown part of the weight, the largest over
 * the range, friction and a share of the effort limit. Whether the model has finite efforts. */
int rd_arm_unknown_efforts(const rd_settings *settings, int n, const double *lower, const double *upper, double *efforts);

/* Least inertia of each joint (n) over the range of the joints, its rotor included; whether the model has it. */
int rd_arm_inertia(const rd_settings *settings, int n, const double *lower, const double *upper, double *inertia);
/* Dry friction of a joint at most [N m or N]. */
double rd_arm_friction(const rd_settings *settings, int joint);
/* True if a joint of such an inertia arrives within its settled error in spite of its friction; else why not, and which
 * parameter changes it. */
int rd_arrival_text(const rd_settings *settings, int joint, double inertia, const char *name, const char *unit,
                    char *text, size_t bytes);
/* True if the gains of an arm's joints are stable with a state every `period` [s]; else why not, in `text` of so many
 * bytes, with the largest gain that is. */
int rd_gains_text(const rd_settings *settings, int n, double period, const char *const *names, char *text, size_t bytes);
/* Gains (n) on accelerations [1/s^2, 1/s] that are as fast as the springs of an impedance at any pose of joints with these
 * ranges (n), in `kp` and `kv`, which stay as they are in other modes. The joints share the largest of the arm as they would
 * have it alone; those of a frame have it all. Whether the model has a mass matrix everywhere. */
int rd_equivalent_gains(const rd_settings *settings, int n, const double *lower, const double *upper, double *kp, double *kv);
/* True if the springs of an impedance, of a frame that is guided, and of a yield to a contact are stable at any pose with a
 * state every `period` [s], 0: not known; else why not, with the largest that are. */
int rd_springs_text(const rd_settings *settings, int n, const double *lower, const double *upper, double period,
                    const char *const *names, char *text, size_t bytes);
/* Longest periods of the states (n) that the gains of each joint stand [s]; infinite where they are not judged. */
void rd_longest_periods(const rd_settings *settings, int n, double *periods);
/* True if effort limits carry an arm at rest at a position (n), as far as they are lower than those `before` (n; NULL: all);
 * else why not. */
int rd_weight_text(const rd_settings *settings, int n, const double *position, const double *before,
                   const char *const *names, char *text, size_t bytes);
/* True if the gains of computed torque are stable with these settings while an arm at a position (n) has the load of those
 * `before`: until a declared load is on it, and longer where it is not. External efforts (n) that are those of the load
 * say that it is. Else why not. */
int rd_load_text(const rd_settings *settings, int n, const rd_settings *before, const double *position,
                 const double *external, double period, const char *const *names, char *text, size_t bytes);

/* The cycle: the command for a state. 0 where the model has no effort for the state: the caller then calls
 * rd_core_lost_states and sends rd_core_safe_command. */
int rd_core_update(rd_core *core, double time, const double *position, const double *velocity);
/* The efforts (n) that were measured with the next state; NULL: none were. They matter where rd_settings.measured is. */
void rd_core_measure(rd_core *core, const double *effort);
/* Keeps the place fresh while nothing is controlled. */
void rd_core_observe(rd_core *core, const double *position);
void rd_core_lost_states(rd_core *core, double age);
/* Slow down along the path that is followed, and hold there; see stopping.c. */
void rd_core_hold(rd_core *core);
void rd_core_emergency_stop(rd_core *core);
/* Begin a protective stop from outside, as for a latch that is remembered, or a dispute over the robot. */
void rd_core_protect(rd_core *core, int rule);
/* Latch the stop that is active, or the hold: nothing is followed until the fault is reset. */
void rd_core_latch(rd_core *core);
/* From any thread: the hold-to-run button of the mode RD_HAND_GUIDING counts as pressed until a time of the states [s];
 * -INFINITY: released. After anything else than a release has ended the guiding, it must be released first. */
void rd_core_guide(rd_core *core, double until);
/* From any thread: the wrench (6), linear and angular in root axes, with which the frame of RD_CARTESIAN_IMPEDANCE pushes
 * beside its springs, until a time of the states [N, N m, s]. */
void rd_core_push(rd_core *core, const double *wrench, double until);
/* End a protective stop: the robot is held where it is, and what was dropped stays dropped. One that moves still has to
 * come to rest first: see rd_snapshot.moves. */
void rd_core_reset_fault(rd_core *core);
/* The fail-safe output, `since` seconds after the fault began. */
void rd_core_safe_command(rd_core *core, double since);
/* Position and velocity (n) for drives with a loop of their own, beside the effort of this cycle: the setpoints where the
 * command is no effort, else the arm's reference, or rest where the arm is measured under a law that follows nothing. NaN
 * and 0 before the first state. */
void rd_core_drive_reference(const rd_core *core, double *position, double *velocity);
void rd_core_results(const rd_core *core, rd_results *results);
/* The line of a rule; NULL: there is none. */
const rd_rule_info *rd_rule_table(int rule);
/* Thresholds of a rule for a robot of n joints or legs, in `out` (n, 2 at least), infinite where it is off: one per joint or
 * leg, one for the robot, or two for its pose; how many, 0: these settings do not watch it. */
int rd_rule_thresholds(const rd_settings *settings, int n, int rule, double *out);
/* True if a trip of a rule leaves model or states in doubt: the robot is then not to be moved by hand. */
int rd_rule_doubts(int rule);
/* A trip in words, in `text` of so many bytes; the name of the joint or robot, and its unit. */
void rd_trip_text(const rd_trip *trip, const char *joint, const char *unit, char *text, size_t bytes);
/* A discontinuity in words, in `text` of so many bytes; empty for RD_CONTINUOUS and from RD_BEYOND on. */
void rd_discontinuity_text(int discontinuity, double size, double more, char *text, size_t bytes);

/* The external efforts of an arm; see observer.c. Every core has an observer of its own. NULL without memory. */
rd_observer *rd_observer_new(int n);
void rd_observer_free(rd_observer *observer);
/* Take the state at a time [s], and the efforts (n) since the last one, NULL: none; whether the model has its momentum. */
int rd_observer_update(rd_observer *observer, const rd_settings *settings, double time, const double *position,
                       const double *velocity, const double *effort, const rd_observed *about);
/* Nothing is known any more. */
void rd_observer_restart(rd_observer *observer);
/* External efforts (n), then their thresholds (n), infinite where there is none. */
const double *rd_observer_external(const rd_observer *observer);

/* Take up a plan that was handed over, as the next cycle would. */
void rd_core_take_plan(rd_core *core);
/* Take back the plan that was taken up last, which nobody follows: what it replaced goes on. Whether it was taken back;
 * 0: something else has come since. */
int rd_core_withdraw_plan(rd_core *core, uint64_t number);
/* Drop what is followed, for a robot that somebody else holds where it is. */
void rd_core_drop(rd_core *core);
/* Share of a load that is still carried `since` seconds after it began to go: 1 to 0 in a line. */
double rd_ramp_down(double since, double duration);
/* Setpoints (n) of a straight stop, `elapsed` seconds later; positions stay within their range (2 n). */
void rd_rest_setpoints(int n, double elapsed, double deceleration, const double *range, double *position,
                       double *velocity);
/* Efforts (n) no further from the last ones than the steps; a safe output may take away at once. */
void rd_bound_steps(int n, const double *last, const double *steps, const double *limits, int safe, double *effort);

/* From any thread: hand over, and read. What is handed over must stay until the snapshot says that it is free. */
void rd_core_offer_settings(rd_core *core, const rd_settings *settings);
void rd_core_offer_plan(rd_core *core, const rd_plan *plan);
/* Begin with the last effort of another core of the same joints, if that one controls then. */
void rd_core_succeed(rd_core *core, rd_core *predecessor);
void rd_core_snapshot(rd_core *core, rd_snapshot *copy);
size_t rd_core_snapshot_size(const rd_core *core);

/* end of API */

#ifdef __cplusplus
}
#endif
#endif
