/* Velocities from positions, where a driver has none: it gives no velocities, or zeros whatever the joints do. */
#include "internal.h"

#include <math.h>

static const double CUTOFF = 2.0 * M_PI * 50.0; /* of the estimate [1/s] */
static const double LONGEST_STEP = 0.2;         /* between two positions that tell a velocity [s] */
/* Zeros are no velocities where the joints have moved so far [rad or m], so fast [rad/s or m/s] and in so many steps. What
 * took longer than a moment [s] begins anew. */
enum { ZEROS_STEPS = 5 };
static const double MOVED = 1e-3, MOVING = 5e-3, ZEROS_TIME = 1.0;

const double *rd_estimate_velocity(rd_core *core, double time, const double *position)
{
    rd_estimate *estimate = &core->estimate;
    const double elapsed = time - estimate->time, share = 1.0 - exp(-CUTOFF * elapsed);
    for (int j = 0; j < core->n; ++j) {
        double *velocity = &estimate->velocity[j];
        const double turns = rd_turns(core->settings, j, position[j], estimate->place[j]);
        const double moved = position[j] + turns - estimate->place[j];
        if (!estimate->begun || !(0.0 < elapsed && elapsed <= LONGEST_STEP)) {
            *velocity = 0.0;
        } else {
            *velocity += share * (moved / elapsed - *velocity);
        }
        estimate->place[j] = position[j];
    }
    estimate->time = time;
    estimate->begun = 1;
    return estimate->velocity;
}

void rd_forget_estimate(rd_core *core)
{
    core->estimate.begun = core->estimate.steps = 0;
}

/* True if the joints move while their velocities are said to be zero. */
static int moves(rd_core *core, double time, const double *position)
{
    rd_estimate *estimate = &core->estimate;
    const double since = time - estimate->since;
    double farthest = 0.0;
    int changed = 0;
    if (!estimate->begun || estimate->steps == 0 || !(0.0 <= since && since < ZEROS_TIME)) {
        rd_copy(estimate->from, position, core->n);
        estimate->since = time;
        estimate->steps = 1;
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        const double moved = position[j] + rd_turns(core->settings, j, position[j], estimate->from[j]) - estimate->from[j];
        farthest = fmax(farthest, fabs(moved));
        changed |= position[j] != estimate->place[j];
    }
    estimate->steps += changed;
    return estimate->steps > ZEROS_STEPS && farthest > MOVED && farthest > MOVING * since;
}

const double *rd_usable_velocity(rd_core *core, double time, const double *position, const double *velocity)
{
    rd_estimate *estimate = &core->estimate;
    int zero = 1;
    for (int j = 0; j < core->n; ++j) {
        zero &= velocity[j] == 0.0;
    }
    if (!zero || !rd_all_finite(position, core->n)) {
        if (velocity != estimate->velocity) {
            rd_forget_estimate(core);
            estimate->replaces = 0;
        }
        return velocity;
    }
    estimate->replaces = estimate->replaces || moves(core, time, position);
    const double *estimated = rd_estimate_velocity(core, time, position);
    return estimate->replaces ? estimated : velocity;
}
