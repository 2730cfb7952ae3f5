/* Setpoints for drives that close the loop: the positions and velocities of the joints at the reference.
 *
 * The first one is where the joints are measured. From there no step is longer than the velocity limit times the time
 * since the last one. Where setpoint and reference differ, as after a loss of states, the setpoint follows the reference's
 * velocity and comes back slowly. All joints are slowed down by the same share, so the robot stays on its path.
 *
 * A fail-safe output is a stop of these setpoints, straight on in the coordinates of the joints. It needs no state and no
 * model, so that it works wherever those have failed. */
#include "internal.h"

/* Times the period before, that the time between two setpoints counts at most; drives stand after so many periods
 * without one. */
static const double LONGER = 1.5, SILENT_PERIODS = 2.5;
static const double WITHIN_SPEED = 1.0 - 1e-9; /* rounding must not pass the limit either */

static double within_range(const double *range, int n, int j, double last, double wanted)
{
    return range ? fmin(fmax(wanted, fmin(range[j], last)), fmax(range[n + j], last)) : wanted;
}

void rd_rest_setpoints(int n, double elapsed, double deceleration, const double *range, double *position,
                       double *velocity)
{
    double fastest = 0.0;
    for (int j = 0; j < n; ++j) {
        fastest = fmax(fastest, fabs(velocity[j]));
    }
    const double needed = deceleration > 0.0 ? fastest / deceleration : 0.0, time = fmin(fmax(elapsed, 0.0), needed);
    const double left = time < needed ? 1.0 - time / needed : 0.0;
    for (int j = 0; j < n; ++j) {
        const double last = position[j];
        position[j] = within_range(range, n, j, last, last + 0.5 * (1.0 + left) * time * velocity[j]);
        velocity[j] *= left;
    }
}

/* Largest share of the steps (n) from `start` on that keeps all of them within the speeds. */
static double share_of(int n, const double *steps, const double *most, double scale)
{
    double share = 1.0;
    for (int j = 0; j < n; ++j) {
        const double limit = most[j] * scale * WITHIN_SPEED;
        share = fabs(steps[j]) > limit ? fmin(share, limit / fabs(steps[j])) : share;
    }
    return share;
}

static void approach(rd_core *core, double elapsed, const double *wanted, const double *rate)
{
    const rd_settings *settings = core->settings;
    rd_setpoints *set = &core->setpoints;
    double *step = core->scratch[2];
    const double most = elapsed * (settings->setpoint_speed + settings->setpoint_deceleration * elapsed);
    double share = 1.0;
    for (int j = 0; j < core->n; ++j) {
        const double away = wanted[j] - set->position[j] - elapsed * rate[j];
        share = fabs(away) > most ? fmin(share, most / fabs(away)) : share;
    }
    for (int j = 0; j < core->n; ++j) {
        step[j] = elapsed * rate[j] + share * (wanted[j] - set->position[j] - elapsed * rate[j]);
    }
    const double slower = share_of(core->n, step, settings->velocity_limits, elapsed);
    for (int j = 0; j < core->n; ++j) {
        const double last = set->position[j];
        set->position[j] = within_range(settings->setpoint_range, core->n, j, last, last + slower * step[j]);
        set->velocity[j] = share < 1.0 || slower < 1.0 ? (set->position[j] - last) / elapsed : rate[j];
    }
}

/* Velocities alone would drift away. */
static void correct_velocities(rd_core *core)
{
    const rd_settings *settings = core->settings;
    const double most = settings->setpoint_speed;
    for (int j = 0; j < core->n; ++j) {
        const double pull = settings->setpoint_gain * (core->setpoints.position[j] - core->state.position[j]);
        core->setpoints.velocity[j] += fmin(fmax(pull, -most), most);
    }
    const double share = share_of(core->n, core->setpoints.velocity, settings->velocity_limits, 1.0);
    for (int j = 0; j < core->n; ++j) {
        core->setpoints.velocity[j] *= share;
    }
}

/* True if the drives are no longer where their setpoints are. */
static int is_elsewhere(const rd_core *core)
{
    const rd_rules *rules = core->settings->rules;
    for (int j = 0; j < core->n; ++j) {
        const double most = rules ? rules->following[j] : core->settings->state_jump;
        if (fabs(core->state.position[j] - core->setpoints.position[j]) > most) {
            return 1;
        }
    }
    return 0;
}

void rd_advance_setpoints(rd_core *core, double time)
{
    const rd_settings *settings = core->settings;
    rd_setpoints *set = &core->setpoints;
    if (!rd_sends_setpoints(core)) {
        return;
    }
    const double since = time - set->time;
    const double elapsed = set->period > 0.0 ? fmin(since, LONGER * set->period) : since;
    const int braked = core->braked && rd_brake_share(core, time) <= 0.0;
    const int returns = set->stops && is_elsewhere(core);
    /* Drives may be off while the brakes hold, and have been while nothing was controlled. */
    const int begins = !set->known || returns || set->restarts > braked;
    set->time = time;
    set->period = set->known && since > 0.0 ? since : 0.0;
    set->stops = 0;
    set->restarts = braked;
    if (begins) {
        rd_copy(set->position, core->state.position, core->n);
        rd_copy(set->velocity, core->zero, core->n);
        set->known = 1;
    } else if (braked || !(elapsed > 0.0)) {
        rd_copy(set->velocity, core->zero, core->n);
    } else {
        double *wanted = core->scratch[0], *rate = core->scratch[1];
        rd_copy(wanted, core->reference.position, core->n);
        rd_copy(rate, core->reference.velocity, core->n);
        if (settings->machine->joints_of) {
            settings->machine->joints_of(core, &core->reference, wanted, rate);
        }
        approach(core, elapsed, wanted, rate);
        if (settings->command == RD_COMMAND_VELOCITY) {
            correct_velocities(core);
        }
    }
}

void rd_begin_setpoint_stop(rd_core *core, double age)
{
    rd_setpoints *set = &core->setpoints;
    if (!rd_sends_setpoints(core) || set->stops) {
        return;
    }
    set->stops = 1;
    set->since = -1.0;
    /* A drive that takes positions stands where its last setpoint is; one that takes velocities goes on. */
    const int stands = core->settings->command == RD_COMMAND_POSITION && age > SILENT_PERIODS * set->period;
    for (int j = 0; j < core->n; ++j) {
        set->position[j] += stands ? 0.0 : age * set->velocity[j];
        set->velocity[j] *= !stands;
    }
}

void rd_stop_setpoints(rd_core *core, double since)
{
    rd_setpoints *set = &core->setpoints;
    const rd_settings *settings = core->settings;
    rd_begin_setpoint_stop(core, 0.0);
    const double elapsed = set->since < 0.0 ? set->period : since - set->since;
    rd_rest_setpoints(core->n, elapsed, settings->setpoint_deceleration, settings->setpoint_range,
                      set->position, set->velocity);
    set->since = since;
}

int rd_safe_output_goes_on(const rd_core *core, double since)
{
    int left = rd_sends_setpoints(core) && core->setpoints.known && since < core->settings->safe_fade_time;
    for (int j = 0; j < core->n; ++j) {
        left |= rd_sends_setpoints(core) ? core->setpoints.velocity[j] != 0.0 : core->effort[j] != 0.0;
    }
    return left;
}
