/* The laws of an arm and its actuators. A new law is a function here with its line in LAWS, and its name with what it
 * does in rd_arm_mode of core.h. */
#include "internal.h"

#include <math.h>
#include <string.h>

/* Least velocity gain by which an acceleration is turned into a velocity to be reached [1/s]. */
static const double SLOWEST = 1.0;

/* Links and drives; dry friction is overcome along heading. Whether the model gave finite efforts. */
static int inverse_dynamics(int n, const rd_settings *s, const double *q, const double *qd, const double *qdd,
                            const double *heading, double *effort)
{
    const double *in[] = {q, qd, qdd, s->gravity, s->payload};
    if (!s->inverse_dynamics(in, effort)) {
        return 0;
    }
    if (s->driven) {
        for (int j = 0; j < n; ++j) {
            const double friction = rd_friction(s->friction + RD_FRICTION_PARAMETERS * j, qd[j], heading[j]);
            effort[j] = effort[j] + s->rotor_inertia[j] * qdd[j] + friction;
        }
    }
    return 1;
}

static int arm_load(const rd_core *core, const rd_settings *s, double *effort)
{
    return inverse_dynamics(core->n, s, core->state.position, core->zero, core->zero, core->zero, effort);
}

static int computed_torque(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    double *acceleration = core->scratch[0], *velocity = core->scratch[1], *position = core->scratch[2];
    double *heading = core->scratch[3];
    const double *q = core->state.position, *qd = core->state.velocity;
    const rd_motion *r = &core->reference;
    for (int j = 0; j < core->n; ++j) {
        const double feedback = s->kv[j] * (r->velocity[j] - qd[j]) + s->kp[j] * (r->position[j] - q[j]);
        const double a = acceleration[j] = ahead->acceleration[j] + feedback;
        velocity[j] = qd[j] + half * a;
        position[j] = q[j] + half * (qd[j] + 0.5 * half * a);
        heading[j] = qd[j] + a / (s->kv[j] > SLOWEST ? s->kv[j] : SLOWEST);
    }
    return inverse_dynamics(core->n, s, position, velocity, acceleration, heading, effort);
}

/* The diagonal of the mass matrix: effort per own acceleration. */
static int joint_inertia(rd_core *core, const rd_settings *s)
{
    double *load = core->scratch[0], *unit = core->scratch[1], *effort = core->scratch[2];
    if (!arm_load(core, s, load)) {
        return 0;
    }
    memset(unit, 0, sizeof(double) * (size_t)core->n);
    for (int j = 0; j < core->n; ++j) {
        unit[j] = 1.0;
        if (!inverse_dynamics(core->n, s, core->state.position, core->zero, unit, core->zero, effort)) {
            return 0;
        }
        unit[j] = 0.0;
        core->inertia[j] = effort[j] - load[j];
    }
    return 1;
}

static int proportional_derivative(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half,
                                   double *effort)
{
    (void)ahead;
    (void)half;
    if (!core->knows_inertia && !(core->knows_inertia = joint_inertia(core, s))) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        const double error = core->reference.position[j] - core->state.position[j];
        const double rate = core->reference.velocity[j] - core->state.velocity[j];
        effort[j] = core->inertia[j] * (s->kv[j] * rate + s->kp[j] * error);
    }
    return 1;
}

static int feedforward(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    const rd_motion *r = &core->reference;
    (void)ahead;
    (void)half;
    return inverse_dynamics(core->n, s, r->position, r->velocity, r->acceleration, r->velocity, effort);
}

static int gravity_compensation(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    (void)ahead;
    (void)half;
    return arm_load(core, s, effort);
}

/* A law from outside: it is given what the others use, too. */
static int called(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    const rd_law_input input = {
        .joints = core->n, .time = core->time, .half_period = half, .position = core->state.position,
        .velocity = core->state.velocity, .reference = core->reference, .ahead = *ahead, .kp = s->kp, .kv = s->kv,
    };
    return s->called && s->called(s->called_context, &input, effort);
}

/* The law of each mode: the efforts for core->state, core->reference and the reference `half` a control period ahead;
 * whether the model has them. */
static int (*const LAWS[])(rd_core *, const rd_settings *, const rd_motion *, double, double *) = {
    [RD_COMPUTED_TORQUE] = computed_torque,
    [RD_FEEDFORWARD] = feedforward,
    [RD_GRAVITY_COMPENSATION] = gravity_compensation,
    [RD_PD] = proportional_derivative,
    [RD_CALLED] = called,
};

static int arm_effort(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    return LAWS[s->mode](core, s, ahead, half, effort);
}

static void forget_inertia(rd_core *core)
{
    core->knows_inertia = 0;
}

static const rd_machine ARM = {
    .without_feedback = 1U << RD_FEEDFORWARD | 1U << RD_GRAVITY_COMPENSATION,
    .without_reference = 1U << RD_GRAVITY_COMPENSATION,
    .effort = arm_effort, .load = arm_load, .change_law = forget_inertia,
};

const rd_machine *rd_machine_arm(void)
{
    return &ARM;
}
