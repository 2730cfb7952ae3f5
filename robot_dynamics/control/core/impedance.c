/* Impedance of an arm: it yields to external efforts like springs and dampers at its reference.
 *
 *     tau = C(q, qd) qd_d + g + M qdd_d + K clip(q_d - q) + D (qd_d - qd)
 *
 * The inertia stays the arm's own, so with an exact model M e'' + (C + D) e' + K e = -tau_ext, which gives nobody more
 * energy than it has got (Paden and Panja, 1988). A damping below zero is critical for the joint's own inertia at this
 * pose, 2 sqrt(K_j M_jj). An acceleration that the model lacks, estimated
 * before by computed torque, is added to qdd_d and does not grow: an error is no load here, but what the arm yields by. */
#include "laws.h"

#include <math.h>

/* Share by which a low-pass filter with a time constant follows in a time. */
static double followed(double elapsed, double constant)
{
    return constant > 0.0 ? -expm1(-elapsed / constant) : 1.0;
}

void rd_see_state(rd_core *core, double elapsed, int broken)
{
    const rd_settings *s = core->settings;
    const int smooths = s->machine->yielding >> s->mode & 1U, begins = !smooths || broken || !(elapsed > 0.0);
    const double place = begins ? 1.0 : followed(elapsed, s->smoothing[0]);
    const double rate = begins ? 1.0 : followed(elapsed, s->smoothing[1]);
    rd_motion *smoothed = &core->smoothed;
    core->seen = place < 1.0 || rate < 1.0 ? smoothed : &core->state;
    for (int j = 0; j < core->n; ++j) {
        const double q = core->state.position[j], qd = core->state.velocity[j];
        smoothed->position[j] = place < 1.0 ? smoothed->position[j] + place * (q - smoothed->position[j]) : q;
        smoothed->velocity[j] = rate < 1.0 ? smoothed->velocity[j] + rate * (qd - smoothed->velocity[j]) : qd;
    }
}

/* But in a stop. A filter limits no effort, and what is within the rate stays as it is to the last bit. */
void rd_bound_rate(rd_core *core)
{
    const rd_settings *s = core->settings;
    if (!s->effort_rates || !(s->machine->yielding >> s->mode & 1U) || core->stopping.kind || !core->has_sent
        || !(core->period > 0.0)) {
        return;
    }
    const double share = followed(core->period, s->smoothing[2]);
    for (int j = 0; j < core->n; ++j) {
        const double most = s->effort_rates[j] * core->period, step = core->effort[j] - core->sent[j];
        const double bounded = fmin(fmax(step, -most), most);
        const int limited = bounded != step || core->effort[j] != core->unlimited[j];
        if (share < 1.0 || bounded != step) {
            core->effort[j] = core->sent[j] + share * bounded;
        }
        if (!limited) {
            core->unlimited[j] = core->effort[j];
        }
    }
}

/* C is bilinear and, by Christoffel's symbols, symmetric in both velocities: 4 C(q, a) b = h(a + b) - h(a - b), with the
 * efforts h at a velocity without friction. */
int rd_yielding_dynamics(rd_core *core, const rd_settings *s, const double *acceleration, double *effort)
{
    const rd_motion *r = &core->reference;
    const double *q = core->seen->position, *qd = core->seen->velocity;
    double *velocity = core->scratch[0], *sum = core->scratch[1], *difference = core->scratch[2];
    const double *in[] = {q, velocity, core->zero, s->gravity, s->payload, rd_measured_now(s)};
    int moves = 0;
    if (!s->machine->dynamics(core, s, q, core->zero, acceleration, r->velocity, effort)) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        moves |= r->velocity[j] != 0.0;
        velocity[j] = qd[j] + r->velocity[j];
    }
    if (!moves) {
        return 1;
    }
    if (!s->inverse_dynamics(in, sum)) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        velocity[j] = qd[j] - r->velocity[j];
    }
    if (!s->inverse_dynamics(in, difference)) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        effort[j] += 0.25 * (sum[j] - difference[j]);
    }
    return 1;
}

int rd_joint_impedance(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    const rd_motion *r = &core->reference;
    const double *q = core->seen->position, *qd = core->seen->velocity;
    double *acceleration = core->scratch[3];
    int needs_inertia = 0;
    (void)ahead;
    (void)half;
    if (s == core->settings) {
        rd_drop_driving_load(core, rd_since_estimate(core), s->error_clip);
    }
    for (int j = 0; j < core->n; ++j) {
        needs_inertia |= s->damping[j] < 0.0 || rd_braking_at_wall(core, s, j) != 0.0;
        acceleration[j] = r->acceleration[j] + core->disturbance[j] + rd_braking_in_stop(core, s, j);
    }
    if (!rd_yielding_dynamics(core, s, acceleration, effort) || (needs_inertia && !rd_joint_inertia(core, s))) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        const double error = fmin(fmax(r->position[j] - q[j], -s->error_clip[j]), s->error_clip[j]);
        const double d = s->damping[j] < 0.0 ? 2.0 * sqrt(s->stiffness[j] * core->inertia[j]) : s->damping[j];
        const double wall = rd_braking_at_wall(core, s, j);
        effort[j] += wall != 0.0 ? wall * core->inertia[j] : 0.0;
        const double soft = core->softness[j];
        const double pull = soft * (soft * s->stiffness[j] * error + d * (r->velocity[j] - qd[j]));
        effort[j] += rd_within_speed(core, s, j, pull);
    }
    return 1;
}
