/* Declarations that the laws of an arm share. */
#ifndef RD_LAWS_H
#define RD_LAWS_H

#include "measured.h"

static const double INERTIA_RATIO = 1.3; /* share of the model's inertia that a real one may lack; see gains.c */

int rd_joint_impedance(rd_core *core, const rd_settings *settings, const rd_motion *ahead, double half, double *effort);
int rd_cartesian_impedance(rd_core *core, const rd_settings *settings, const rd_motion *ahead, double half, double *effort);
int rd_hand_guiding(rd_core *core, const rd_settings *settings, const rd_motion *ahead, double half_period, double *effort);
/* Weight (n) and inertia (n, n) of a model at a place (n), with rotors (n) or without (NULL); whether it has them. `rest`
 * and `unit` (n) are zero, and stay so. */
int rd_inertia_at(const rd_settings *settings, const double *rotors, int n, const double *place, const double *rest,
                  double *unit, double *weight, double *inertia);
/* Pose (n) of such an index from 0 on, within ranges (n), or within a turn where there is none: even, and the same always. */
void rd_pose_within(int index, int n, const double *lower, const double *upper, double *q);
/* Rotors (n) of an arm's drives; NULL: the links alone move. */
static inline const double *rd_rotors(const rd_settings *settings)
{
    return settings->driven ? settings->rotor_inertia : NULL;
}
/* Delay of an effort beside half a period [s]. */
static inline double delay_of(const rd_settings *s)
{
    return s->rules && s->rules->delay > 0.0 ? s->rules->delay : 0.0;
}
/* True if gains and springs are judged by the period of the states. */
static inline int judges(const rd_settings *s)
{
    return s->rules && s->rules->delay >= 0.0 && s->mode != RD_CALLED;
}
/* The diagonal of the mass matrix in core->inertia; whether the model has it. */
int rd_joint_inertia(rd_core *core, const rd_settings *settings);
/* Braking of a joint that yields: at its velocity limit and before its position limit, and in a stop [rad/s^2 or m/s^2]. */
double rd_braking_at_wall(const rd_core *core, const rd_settings *settings, int joint);
double rd_braking_in_stop(rd_core *core, const rd_settings *settings, int joint);
/* Efforts (n) of an acceleration (n) of an arm that yields, with C(q, qd) qd_d; whether the model has them. It uses the
 * scratch but for the last. */
int rd_yielding_dynamics(rd_core *core, const rd_settings *settings, const double *acceleration, double *effort);
/* The same within a speed `cap`, between two positions (NULL: the joint's limits), with a gain [1/s]. */
double rd_braking_within(const rd_core *core, const rd_settings *settings, int joint, double cap, const double *limits,
                         double gain, double rate);
double rd_wall_gain(const rd_core *core, const rd_settings *settings); /* of such braking [1/s] */
/* Effort of springs and dampers at a joint; what accelerates it fades towards the velocity limit. */
double rd_within_speed(const rd_core *core, const rd_settings *settings, int joint, double pull);
/* Factor of the braking of a joint that is moved by hand, `excess` faster than it may be; see gains.c. */
double rd_guided_stiffness(rd_core *core, const rd_settings *settings, int joint, double excess, double gain);
double rd_known_ratio(const rd_core *core, int joint); /* of a joint's inertia to its model's where a stop knows it is less, else 1 */
void rd_watch_lag(rd_core *core, const rd_settings *settings, int joint);
#endif
