/* The reference after a gap between two states: it restarts where the robot is, and rejoins what is followed.
 *
 * The robot has moved under constant efforts meanwhile, so that reference and robot have parted. Feedback would meet their
 * distance with a step of the efforts. Instead the distance d and the difference of velocities v are added to the
 * reference, and fade along the quintic that begins with them and ends at zero,
 *
 *     d (1 - 10 s^3 + 15 s^4 - 6 s^5) + v T (s - 6 s^3 + 8 s^4 - 3 s^5),
 *
 * with the deceleration of a hold. So feedback acts at once, on what comes after the gap. */
#include "internal.h"

/* Shortest gap, in periods and [s]; greatest second derivatives of the two polynomials. */
static const double GAP_PERIODS = 5.0, SHORTEST_GAP = 0.02, PLACE_BENDS = 5.78, RATE_BENDS = 4.0;

void rd_add_rejoining(const rd_core *core, double time, const rd_motion *out)
{
    const rd_rejoining *gap = &core->rejoining;
    const double s = (time - gap->began) / gap->duration, left = gap->duration;
    if (!gap->active || !(s >= 0.0 && s < 1.0)) {
        return;
    }
    const double s2 = s * s, s3 = s2 * s, s4 = s3 * s, s5 = s4 * s;
    for (int j = 0; j < core->n; ++j) {
        const double d = gap->place[j], v = gap->rate[j];
        out->position[j] += d * (1.0 - 10.0 * s3 + 15.0 * s4 - 6.0 * s5) + v * left * (s - 6.0 * s3 + 8.0 * s4 - 3.0 * s5);
        out->velocity[j] += d * (-30.0 * s2 + 60.0 * s3 - 30.0 * s4) / left
            + v * (1.0 - 18.0 * s2 + 32.0 * s3 - 15.0 * s4);
        out->acceleration[j] += d * (-60.0 * s + 180.0 * s2 - 120.0 * s3) / (left * left)
            + v * (-36.0 * s + 96.0 * s2 - 60.0 * s3) / left;
    }
}

static double size_of(const double *values, int n)
{
    double sum = 0.0;
    for (int j = 0; j < n; ++j) {
        sum += values[j] * values[j];
    }
    return sqrt(sum);
}

void rd_begin_rejoining(rd_core *core, double time, double elapsed, double period)
{
    const rd_settings *settings = core->settings;
    const rd_machine *machine = settings->machine;
    rd_rejoining *gap = &core->rejoining;
    if (!machine->rejoins || rd_sends_setpoints(core) || core->braked || !(period > 0.0) || !rd_has_plan(core)
        || elapsed < fmax(SHORTEST_GAP, GAP_PERIODS * period)) {
        return;
    }
    double *asked = core->scratch[0], duration = 0.0;
    int parted = 0;
    gap->active = 0;
    rd_refer(core, time, &core->reference);
    machine->find_rate(core, gap->rate);
    for (int j = 0; j < core->n; ++j) {
        const int turns = machine->group > 1 && j >= machine->group;
        const double away = core->place[j] - core->reference.position[j];
        gap->place[j] = turns ? remainder(away, 2.0 * M_PI) : away;
        gap->rate[j] -= core->reference.velocity[j];
        asked[j] = settings->kp[j] * gap->place[j] + settings->kv[j] * gap->rate[j];
    }
    for (int j = 0; j < core->n; j += machine->group) {
        const double most = settings->hold_deceleration[j];
        parted |= size_of(asked + j, machine->group) > most;
        duration = fmax(duration, sqrt(PLACE_BENDS * size_of(gap->place + j, machine->group) / most));
        duration = fmax(duration, RATE_BENDS * size_of(gap->rate + j, machine->group) / most);
    }
    gap->active = parted && duration > 0.0;
    gap->began = time;
    gap->duration = duration;
}
