/* Oscillation that the feedback feeds: of the velocity error, faster than the loop itself, that does not decay. A rotor
 * inertia or friction that is declared and not there multiplies the gains, until sampling makes them unstable. */
#include "internal.h"

/* Half periods in a row that make an oscillation; of a peak, which share the next one has at least. */
enum { HALVES = 6 };
static const double LASTING = 0.9;
/* Share of the threshold beyond which a velocity has a sign. */
static const double SIGNED = 0.1;
/* Damping takes this much of the energy that it could from a motion that something else drives. */
static const double DAMPED = 0.5;

/* Take the velocity error of this cycle, and the acceleration that the feedback answers it with. */
static void follow_swing(rd_swing *swing, double time, double speed, double pull, double kp, double kv, double floor)
{
    const double elapsed = time - swing->seen, longest = M_PI / (2.0 * sqrt(fmax(kp, 1e-9)));
    swing->work += swing->pull * 0.5 * (speed + swing->speed) * elapsed;
    swing->spent += kv * swing->speed * swing->speed * elapsed;
    swing->seen = time;
    swing->speed = speed;
    swing->pull = pull;
    const int sign = speed > SIGNED * floor ? 1 : speed < -SIGNED * floor ? -1 : swing->sign;
    if (sign != swing->sign) {
        const int lasts = swing->peak > floor && swing->peak >= LASTING * swing->last && time - swing->turned < longest;
        swing->count = lasts && swing->work > -DAMPED * swing->spent ? swing->count + 1 : 0;
        swing->last = swing->peak;
        swing->peak = swing->work = swing->spent = 0.0;
        swing->turned = time;
        swing->sign = sign;
    } else if (time - swing->turned > longest) {
        swing->count = 0;
    }
    swing->peak = fmax(swing->peak, fabs(speed));
}

int rd_find_oscillation(rd_core *core, double share, double *measured, double *allowed)
{
    const rd_settings *s = core->settings;
    const rd_machine *machine = s->machine;
    double *error = core->scratch[0], *rate = core->scratch[1], linear, angular;
    int worst = -1;
    if (machine->stray) {
        machine->stray(core, error, &linear, &angular);
        machine->stray_rate(core, rate);
    }
    for (int j = 0; j < core->n; ++j) {
        rd_swing *swing = &core->swings[j];
        const double kv = core->softness * s->kv[j], kp = core->softness * core->softness * s->kp[j];
        const double floor = share * (isfinite(s->velocity_limits[j]) ? s->velocity_limits[j] : 1.0);
        const double away = machine->stray ? error[j] : core->reference.position[j] - core->state.position[j];
        const double slower = machine->stray ? rate[j] : core->reference.velocity[j] - core->state.velocity[j];
        follow_swing(swing, core->time, -slower, kv * slower + kp * away, s->kp[j], kv, floor);
        if (swing->count >= HALVES && (worst < 0 || swing->last > core->swings[worst].last)) {
            worst = j;
            *measured = swing->last;
            *allowed = floor;
        }
    }
    return worst;
}

void rd_forget_oscillation(rd_core *core)
{
    for (int j = 0; j < core->n; ++j) {
        core->swings[j] = (rd_swing){.seen = core->time, .turned = core->time};
    }
}
