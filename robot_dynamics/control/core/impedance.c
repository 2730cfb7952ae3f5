/* Impedance of an arm: it yields to external efforts like springs and dampers at its reference.
 *
 *     tau = C qd + g + M qdd_d + K clip(q_d - q) + D (qd_d - qd)
 *
 * The inertia stays the arm's own, so with an exact model M e'' + (C + D) e' + K e = -tau_ext. A damping below zero is
 * critical for the joint's own inertia at this pose, 2 sqrt(K_j M_jj). An acceleration that the model lacks, estimated
 * before by computed torque, is added to qdd_d and does not grow: an error is no load here, but what the arm yields by. */
#include "internal.h"

#include <math.h>

int rd_joint_impedance(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    const rd_motion *r = &core->reference;
    const double *q = core->state.position, *qd = core->state.velocity;
    double *acceleration = core->scratch[3];
    int critical = 0;
    (void)ahead;
    (void)half;
    if (s == core->settings) {
        rd_drop_driving_load(core, rd_since_estimate(core), s->error_clip);
    }
    for (int j = 0; j < core->n; ++j) {
        critical |= s->damping[j] < 0.0;
        acceleration[j] = r->acceleration[j] + core->disturbance[j];
    }
    if (!s->machine->dynamics(core, s, q, qd, acceleration, r->velocity, effort)
        || (critical && !rd_joint_inertia(core, s))) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        const double error = fmin(fmax(r->position[j] - q[j], -s->error_clip[j]), s->error_clip[j]);
        const double d = s->damping[j] < 0.0 ? 2.0 * sqrt(s->stiffness[j] * core->inertia[j]) : s->damping[j];
        effort[j] += core->softness * (core->softness * s->stiffness[j] * error + d * (r->velocity[j] - qd[j]));
    }
    return 1;
}
