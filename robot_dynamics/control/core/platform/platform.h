/* A Stewart platform for the control core. In the order of the files, each of which uses only those before it: the pose
 * (pose.c), laws and forces (forces.c), the open-loop descent (open_loop_descent.c), limits and the table (platform.c).
 *
 * Its state is that of the legs (6), its references are x, y, z [m] and roll, pitch, yaw [rad] of the platform's frame.
 * Poses are x, y, z and a unit quaternion x, y, z, w; twists, accelerations and errors (6) are linear, then angular, all
 * in the base frame. No allocation, no locks, bounded time.
 */
#ifndef RD_PLATFORM_H
#define RD_PLATFORM_H

#include "internal.h"
#include "kinematics.h"

/* API */

/* Laws of a platform. */
enum rd_platform_mode {
    RD_PLATFORM_COMPUTED_FORCE,   /* tracks with feedback in task space */
    RD_PLATFORM_FEEDFORWARD       /* sends the reference's own forces */
};

/* Kinds of a discontinuity RD_BEYOND + 6 kind + leg, with the measured value and the limit; leg is 0 for what is the
 * whole platform's. From RD_NO_POSE on the core computes no effort. */
enum rd_platform_beyond {
    RD_TOO_LONG,                  /* length [m] */
    RD_TOO_SHORT,                 /* length [m] */
    RD_TOO_QUICK,                 /* speed [m/s] */
    RD_BASE_ANGLE,                /* angle at the base [rad] */
    RD_PLATFORM_ANGLE,            /* angle at the platform [rad] */
    RD_CONDITION,                 /* condition number */
    RD_NO_POSE,                   /* the lengths have no pose near the last one; the value is what they are off [m] */
    RD_SINGULAR,                  /* the pose is singular */
    RD_ILL_CONDITIONED            /* the condition number is more than twice its limit */
};

enum { RD_MOTION_SIZE = 25 };     /* pose, twist, acceleration, external wrench: the input of the model's kernel */
enum { RD_TELEMETRY = 26 };             /* pose, twist, rates, disturbance, bound of the condition number */

/* A machine, its load and the parameters that only a platform has. */
typedef struct rd_platform_model {
    stewart_geometry geometry;
    double home[7];               /* pose */
    double up[3];                 /* unit vector against gravity, base frame */
    double stroke;                /* the longest [m] */
    double zero_lengths[6];       /* at which the joint positions are zero [m] */
    double condition_limit;
    double gravity[3];            /* base frame [m/s^2] */
    double payload_mass;          /* [kg] beside the machine's own platform; 0: none */
    double payload_center[3];     /* platform frame [m] */
    double payload_inertia[9];    /* about its centre of mass, row by row, platform frame [kg m^2] */
    double coulomb[6];            /* dry friction of the actuators [N] */
    double viscous[6];            /* friction of the actuators [N s/m] */
    double guessed_coulomb[6];    /* friction of the actuators that is guessed: no law compensates it [N] */
    double guessed_viscous[6];    /* [N s/m] */
    int32_t turning_friction;     /* whether base or platform joints have friction */
    double wrench_fade;           /* how long an external wrench takes to count, and to count no more [s] */
    double disturbance_gain[6];   /* of the coordinates [1/s^3]; 0: no observer */
    double disturbance_left[2];   /* linear and angular error that it leaves [m, rad] */
    double disturbance_bounds[2]; /* of its linear and angular part [m/s^2, rad/s^2] */
    double longest[6], shortest[6], speed[6];  /* of legs that are watched [m, m/s]; infinite where there is none */
    double base_cosine[6], platform_cosine[6]; /* of the greatest joint angles */
    double base_axes[6][3], platform_axes[6][3]; /* legs' directions at home, base and platform frame */
    const rd_plan *descent;       /* from home, at time 0, to the park pose; NULL: none. See open_loop_descent.c */
    double blind_speed;           /* of legs on the open-loop descent [m/s] */
    double pace[2];               /* linear and angular deceleration of a stop [m/s^2, rad/s^2] */
    int32_t watches;              /* whether measured states are held against the limits */
} rd_platform_model;

/* From another thread: the platform bears a wrench (6) in its own frame until a time on the core's clock [s]. One
 * thread at a time. */
void rd_platform_offer_wrench(rd_core *core, const double *wrench, double until);

/* Forces (count, 6) of motions (count, RD_MOTION_SIZE), to whose wrenches that of the payload is added: whether all are
 * finite. From any thread. */
int rd_platform_forces_of(const rd_settings *settings, size_t count, double *motions, double *forces);

/* A reference's coordinates (6), their rates and second derivatives as position (3), rotation (9, row by row, from the
 * platform frame to the base frame), twist (6) and acceleration (6). */
enum { RD_REFERENCE_SIZE = 24 };
void rd_platform_reference(double *position, double *velocity, double *acceleration, double *reference);

const rd_machine *rd_machine_platform(void);

/* end of API */

/* A wrench that comes from another thread; what is read while it is written does not count. */
typedef struct {
    atomic_uint_fast64_t sequence;             /* odd while it is being written */
    _Atomic double values[7];                  /* force, moment about the origin, platform frame [N, N m]; until [s] */
} rd_wrench_box;

/* A simulated platform: whether guessed friction acts on it, and whether it rests on its lower stops. */
typedef struct {
    double pose[7], twist[6];
    int rubs, rests;
} rd_simulated;

/* An open-loop descent; times on the clock of the fault [s]. */
typedef struct {
    double begun, stop_time, way_time, end;
    double place[6], rate[6];     /* where it begins; coordinates of references and their rates */
    double joins[6], descends;    /* where the descent is joined, and its time then */
    double way[6];                /* from there to where the platform stops */
    double time;                  /* of the simulated platforms */
    rd_simulated believed, free;  /* with and without guessed friction */
    double sent[6];               /* forces */
    int sends;                    /* whether there are any */
} rd_open_loop;

/* State that a core keeps for its platform. */
typedef struct {
    double pose[7];
    double rotation[9];           /* row by row, from the platform frame to the base frame */
    double jacobian[36];          /* from the twist to the rates of the lengths */
    double twist[6], rates[6], lengths[6];
    double condition;             /* the Jacobian's condition number, or a bound of it from above */
    int condition_exact;
    int known;                    /* whether there has been a pose */
    double time;                  /* of the state [s] */
    double wrench[6];             /* in force */
    double given[7];              /* the wrench read last, and until when it counts */
    double wrench_share;          /* of it that is in force, 0 to 1 */
    double disturbance[6];        /* estimated: an acceleration that the model lacks */
    double undisturbed[6];        /* its value when the error was small last */
    double disturbance_time;      /* [s] */
    rd_wrench_box box;
    rd_open_loop open_loop;
} rd_platform;

#define RD_AT_REST ((const double[6]){0.0})

static inline rd_platform *rd_platform_of(const rd_core *core)
{
    return core->machine_state;
}

/* The pose (pose.c) */

/* Rotation (9) of a unit quaternion; roll, pitch, yaw of a rotation; and the quaternion of these. */
void rd_rotation(const double quaternion[4], double rotation[9]);
void rd_roll_pitch_yaw(const double rotation[9], double angles[3]);
void rd_quaternion(const double angles[3], double quaternion[4]);
/* Rates of roll, pitch and yaw under an angular velocity; rates of the references' coordinates as measured. */
void rd_angle_rates(const double angles[3], const double velocity[3], double rates[3]);
void rd_platform_find_rate(const rd_core *core, double *rate);
/* True if the condition number of the measured pose is no greater than a limit. */
int rd_platform_conditioned(rd_core *core, double limit);
int rd_platform_find_place(rd_core *core, double time, const double *position, const double *velocity);

/* Forces (forces.c) */

/* Rates (6) of the legs under a twist. */
void rd_leg_rates(const double jacobian[36], const double twist[6], double rates[6]);

/* A reference as pose, twist and acceleration; the difference of two poses as an error (6). */
void rd_platform_motion(const rd_motion *reference, double pose[7], double twist[6], double acceleration[6]);
void rd_pose_error(const double wanted[7], const double pose[7], double error[6]);
/* Forces (6) of a motion under the wrench of now, payload included: whether they are finite. */
int rd_platform_forces(const rd_core *core, const rd_settings *settings, const double pose[7], const double twist[6],
                       const double acceleration[6], double *forces);
int rd_platform_effort(rd_core *core, const rd_settings *settings, const rd_motion *ahead, double half_period,
                       double *effort);
int rd_platform_reference_effort(rd_core *core, const rd_settings *settings, const rd_motion *motion, double *effort);
/* Joint positions and velocities (6) at a reference. */
void rd_platform_joints_of(const rd_core *core, const rd_motion *reference, double *position, double *velocity);
int rd_platform_bearing(rd_core *core, const rd_settings *settings, double *effort);
void rd_platform_stray(const rd_core *core, double *legs, double *linear, double *angular);
void rd_platform_stray_rate(const rd_core *core, double *legs);
int rd_platform_load(const rd_core *core, const rd_settings *settings, double *effort);
/* Keep the estimated disturbance within the bounds of other gains; zero where there is no observer. */
void rd_platform_keep_disturbance(rd_core *core);
int rd_platform_keep_load(rd_core *core, const rd_settings *before);
/* Carry what was estimated before the error grew. */
void rd_platform_restore_disturbance(rd_core *core);
void rd_platform_carry_pull(rd_core *core, double before, double now);

/* The open-loop descent (open_loop_descent.c) */

int rd_platform_settle(rd_core *core, double since, int begins, double *effort);

/* Limits (platform.c) */

int rd_platform_watch(rd_core *core);

#endif
