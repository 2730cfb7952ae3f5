/* The stop of an arm whose states are lost, by simulation of its model.
 *
 * The simulation starts at the last state, and covers the time before the loss was noticed under the efforts that left
 * last. Then the reference stops along its path, or straight on where the simulated arm is too far from it. The efforts
 * are those that bring the simulated arm along the reference, within the limits. At rest the load fades. */
#include "internal.h"

#include <math.h>

static const double BLIND_KP = 100.0, BLIND_KV = 20.0; /* of the simulated error on the acceleration [1/s^2, 1/s] */
static const double BLIND_PERIOD = 0.01;   /* for which an effort is held, as the loop sends them [s] */
static const double BLIND_STEP = 0.002;    /* longest step of the simulation [s] */
static const double BLIND_LONGEST = 0.5;   /* simulated at most at once [s] */

/* Solve matrix x = right (n, n row by row) in place; whether it is regular. */
static int solve_in_place(double *matrix, double *right, int n)
{
    for (int k = 0; k < n; ++k) {
        int best = k;
        for (int i = k + 1; i < n; ++i) {
            best = fabs(matrix[i * n + k]) > fabs(matrix[best * n + k]) ? i : best;
        }
        if (!(fabs(matrix[best * n + k]) > 0.0)) {
            return 0;
        }
        for (int j = 0; j < n; ++j) {
            const double kept = matrix[k * n + j];
            matrix[k * n + j] = matrix[best * n + j];
            matrix[best * n + j] = kept;
        }
        const double kept = right[k];
        right[k] = right[best];
        right[best] = kept;
        for (int i = k + 1; i < n; ++i) {
            const double factor = matrix[i * n + k] / matrix[k * n + k];
            for (int j = k; j < n; ++j) {
                matrix[i * n + j] -= factor * matrix[k * n + j];
            }
            right[i] -= factor * right[k];
        }
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int j = i + 1; j < n; ++j) {
            right[i] -= matrix[i * n + j] * right[j];
        }
        right[i] /= matrix[i * n + i];
    }
    return 1;
}

int rd_acceleration(rd_core *core, const rd_settings *settings, const double *position, const double *velocity,
                    const double *rate, const double *effort, double *out)
{
    const int n = core->n;
    const rd_machine *machine = settings->machine;
    double *bearing = core->scratch[0], *unit = core->scratch[1], *column = core->scratch[2];
    rd_copy(unit, core->zero, n);
    if (!machine->dynamics(core, settings, position, velocity, core->zero, rate, bearing)) {
        return 0;
    }
    for (int j = 0; j < n; ++j) {
        unit[j] = 1.0;
        if (!machine->dynamics(core, settings, position, velocity, unit, rate, column)) {
            return 0;
        }
        unit[j] = 0.0;
        for (int i = 0; i < n; ++i) {
            core->matrix[i * n + j] = column[i] - bearing[i];
        }
        out[j] = effort[j] - bearing[j];
    }
    return solve_in_place(core->matrix, out, n) && rd_all_finite(out, n);
}

/* Simulated acceleration under the efforts that left last; friction is that of the reference, as the law has it. */
static int simulated_acceleration(rd_core *core, const double *position, const double *velocity, double *out)
{
    return rd_acceleration(core, core->settings, position, velocity, core->reference.velocity, core->left, out);
}

/* By midpoint steps; whether the model has an acceleration throughout. */
static int simulate_arm(rd_core *core, double duration)
{
    rd_blind *blind = &core->blind;
    const int count = (int)fmax(1.0, ceil(fmin(duration, BLIND_LONGEST) / BLIND_STEP - 1e-9));
    const double step = fmin(duration, BLIND_LONGEST) / count;
    double *middle = core->scratch[3], *speed = core->before, *a = blind->acceleration;
    for (int k = 0; k < count; ++k) {
        if (!simulated_acceleration(core, blind->position, blind->velocity, a)) {
            return 0;
        }
        for (int j = 0; j < core->n; ++j) {
            middle[j] = blind->position[j] + 0.5 * step * blind->velocity[j];
            speed[j] = blind->velocity[j] + 0.5 * step * a[j];
        }
        if (!simulated_acceleration(core, middle, speed, a)) {
            return 0;
        }
        for (int j = 0; j < core->n; ++j) {
            blind->position[j] += step * speed[j];
            blind->velocity[j] += step * a[j];
        }
    }
    return 1;
}

int rd_begin_blind(rd_core *core, double age)
{
    rd_blind *blind = &core->blind;
    blind->active = 0;
    if (rd_sends_setpoints(core) || !core->settings->machine->dynamics || !core->has_left || core->settings->safe_output != RD_GRAVITY_FADE) {
        return 0;
    }
    rd_copy(blind->position, core->state.position, core->n);
    rd_copy(blind->velocity, core->state.velocity, core->n);
    if (age > 0.0 && !simulate_arm(core, age)) {
        return 0;
    }
    blind->since = 0.0;
    blind->rested = -1.0;
    blind->active = rd_stop_from(core, age, blind->position, blind->velocity);
    return blind->active;
}

int rd_blind_effort(rd_core *core, double since, double *effort)
{
    rd_blind *blind = &core->blind;
    const double time = core->time + core->unseen + since, *limits = core->settings->limits;
    double *asked = blind->acceleration, share = 1.0;
    if (since > blind->since && !simulate_arm(core, since - blind->since)) {
        return 0;
    }
    blind->since = fmax(blind->since, since);
    rd_advance_stop(core, time);
    rd_refer(core, time, &core->reference);
    if (!core->stopping.kind) {
        blind->rested = blind->rested < 0.0 ? since : blind->rested;
        share = rd_ramp_down(since - blind->rested, core->settings->safe_fade_time);
    }
    rd_refer(core, time + BLIND_PERIOD, &core->ahead);
    for (int j = 0; j < core->n; ++j) {
        asked[j] = (core->ahead.velocity[j] - core->reference.velocity[j]) / BLIND_PERIOD
                   + BLIND_KV * (core->reference.velocity[j] - blind->velocity[j])
                   + BLIND_KP * (core->reference.position[j] - blind->position[j]);
    }
    if (!core->settings->machine->dynamics(core, core->settings, blind->position, blind->velocity, asked,
                                           core->reference.velocity, effort)
        || !rd_all_finite(effort, core->n)) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        effort[j] = share * fmin(fmax(effort[j], -limits[j]), limits[j]);
    }
    return 1;
}
