/* Hand guiding: while a hold-to-run button is pressed, an arm carries its weight and most of its friction, and somebody
 * moves it. Else it holds where it is, by computed torque.
 *
 *     tau = g(q) + M z + c f(q', load) + M a
 *
 * with an acceleration z that the model lacks, as computed torque has estimated it before; a share c < 1 of the friction f
 * along the measured velocity, so that what is left of it always takes energy; and the braking a of joints that are
 * faster than their cap, or near a limit. The velocity is smoothed for the friction: encoders make a joint at rest seem
 * to move to and fro by many times what counts as motion.
 *
 * Guided along axes, springs and dampers of a frame keep it in the other directions where the button was pressed.
 *
 * What ends the guiding beside a release (a stop, lost states, another mode) is not undone by a button that is still
 * pressed: it must be released first. */
#include "laws.h"

#include <math.h>
#include <string.h>

static const double VELOCITY_SMOOTHED = 0.02; /* time constant of the velocity [s] */
static const double HAND_DAMPING = 0.5;    /* [1/s] */

void rd_look_at_button(rd_core *core, int broken)
{
    const rd_settings *s = core->settings;
    const int button = core->time <= atomic_load_explicit(&core->guided_until, memory_order_acquire);
    const int guiding = rd_is_held_to_run(s);
    const int allowed = guiding && !broken && !core->braked && (!core->trip.latched || core->guides);
    core->armed = !button || (core->armed && allowed);
    const int pressed = button && allowed && core->armed;
    if (pressed == core->pressed) {
        return;
    }
    core->pressed = pressed;
    memset(core->felt, 0, sizeof(double) * (size_t)core->n);
    if (!guiding || broken) {
        return;
    }
    if (rd_controls(core->phase) && core->knows_effort) {
        rd_copy(core->departing, core->last_effort, core->n);
        core->departs = 1;
    }
    if (pressed) {
        rd_stop(core);
        core->has_sent = 0;
    } else if (!core->trip.latched) {
        rd_capture(core, RD_STOP_HOLD);
    }
}

static void smooth_velocity(rd_core *core)
{
    const double elapsed = rd_since_estimate(core);
    const double share = elapsed > 0.0 ? elapsed / (elapsed + VELOCITY_SMOOTHED) : 0.0;
    for (int j = 0; j < core->n; ++j) {
        core->felt[j] += share * (core->state.velocity[j] - core->felt[j]);
    }
}

int rd_hand_guiding(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    const double gain = rd_wall_gain(core, s);
    double *braking = core->scratch[3];
    if (s == core->settings) {
        smooth_velocity(core);
    }
    if (s->task && (!rd_joint_inertia(core, s) || !rd_cartesian_impedance(core, s, ahead, half, effort))) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        braking[j] = rd_braking_within(core, s, j, s->guide_speed[j], s->guide_limits, gain, 0.0)
            - HAND_DAMPING * core->state.velocity[j];
    }
    if (s->task) {
        for (int j = 0; j < core->n; ++j) {
            effort[j] += core->inertia[j] * braking[j];
        }
    } else {
        for (int j = 0; j < core->n; ++j) {
            braking[j] += core->disturbance[j];
        }
        if (!s->machine->dynamics(core, s, core->state.position, core->zero, braking, core->zero, effort)) {
            return 0;
        }
    }
    for (int j = 0; s->driven && j < core->n; ++j) {
        const double *p = s->friction + RD_FRICTION_PARAMETERS * j, v = core->felt[j];
        effort[j] += s->guide_friction * rd_friction(p, v, rd_beyond(RD_NOISE, v), effort[j]);
    }
    return 1;
}
