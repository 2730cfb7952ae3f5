/* The pendulum of the loop's drills: its weight is 10 N m a radian, its inertia 2 kg m². */
#ifndef DRILLED_PENDULUM_H
#define DRILLED_PENDULUM_H

#include "loop.h"

typedef int drilled_weight(const double *const *, double *);

static rd_settings pendulum_settings(uint64_t number, drilled_weight *weight)
{
    static const double none[1], limit[1] = {100.0}, fast[1] = {50.0}, kp[1] = {100.0}, kv[1] = {20.0}, wide[2] = {-1e3, 1e3};
    static const double slow[1] = {5.0}, no_friction[RD_FRICTION_PARAMETERS];
    return (rd_settings){
        .number = number, .model = 1, .law = 1, .machine = rd_machine_arm(), .inverse_dynamics = weight, .rotor_inertia = none,
        .friction = no_friction, .limits = limit, .velocity_bounds = fast, .effort_steps = limit, .kp = kp, .kv = kv,
        .ki = none, .settled = none, .position_limits = wide, .velocity_limits = fast, .hold_deceleration = slow,
        .stop_deceleration = slow, .following = fast, .state_timeout = 0.1, .model_change_time = 0.2, .front_timeout = 1.0,
        .state_jump = 0.05, .mode = RD_COMPUTED_TORQUE, .safe_output = RD_GRAVITY_FADE,
    };
}
#endif
