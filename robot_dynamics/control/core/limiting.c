/* Efforts beyond the limits.
 *
 * Efforts are affine in the commanded acceleration: u = h + M a, where h bears the robot at its present velocity. Between
 * h and u the efforts h + s M a accelerate the robot less in the same direction, so a law that decouples the joints stays
 * one. Taken is the largest s in [0, 1] within the limits. Where there is none, and where s falls below BRAKING while the
 * acceleration takes energy from the robot, each joint is limited by itself, and those that would drive it faster keep
 * their share s, if that takes more energy: a joint that is braked by itself may drive the others. The change between both
 * takes BLENDING, so that it is no step of an effort. */
#include "internal.h"

#include <math.h>

static const double BRAKING = 0.3, BLENDING = 0.01; /* [s] */

static double clipped(double effort, double limit)
{
    return fmin(fmax(effort, -limit), limit);
}

static int is_within(const double *effort, const double *limits, int n)
{
    int kept = 1;
    for (int j = 0; j < n; ++j) {
        kept &= fabs(effort[j]) <= limits[j];
    }
    return kept;
}

/* Largest share s in [0, 1] with bearing + s step within the limits; negative: there is none. */
static double share_within(const double *bearing, const double *step, const double *limits, int n)
{
    double least = 0.0, most = 1.0;
    for (int j = 0; j < n; ++j) {
        if (step[j] == 0.0) {
            most = fabs(bearing[j]) <= limits[j] ? most : -1.0;
        } else {
            const double toward = copysign(limits[j], step[j]);
            most = fmin(most, (toward - bearing[j]) / step[j]);
            least = fmax(least, (-toward - bearing[j]) / step[j]);
        }
    }
    return least <= most ? most : -1.0;
}

void rd_limit_each(const rd_core *core, const double *unlimited, double *effort)
{
    for (int j = 0; j < core->n; ++j) {
        effort[j] = clipped(unlimited[j], core->settings->limits[j]);
    }
}

void rd_limit(rd_core *core, const double *unlimited, double *effort)
{
    const rd_settings *settings = core->settings;
    const double *limits = settings->limits, *rate = core->state.velocity;
    double *bearing = core->scratch[0], *step = core->scratch[1], power = 0.0;
    double *scaled = core->scratch[2], *own = core->scratch[3];
    const int n = core->n;
    core->cut = !is_within(unlimited, limits, n);
    if (!core->cut) {
        core->by_joint = 0.0;
        rd_copy(effort, unlimited, n);
        return;
    }
    if (!settings->machine->bearing(core, settings, bearing) || !rd_all_finite(bearing, n)) {
        rd_limit_each(core, unlimited, effort);
        return;
    }
    for (int j = 0; j < n; ++j) {
        step[j] = unlimited[j] - bearing[j];
        power += step[j] * rate[j];
    }
    const double found = share_within(bearing, step, limits, n), share = fmax(found, 0.0);
    const int brakes = power < 0.0;
    double taken = 0.0; /* power that limiting each joint takes beyond that of the share */
    for (int j = 0; j < n; ++j) {
        scaled[j] = clipped(bearing[j] + share * step[j], limits[j]);
        own[j] = brakes && step[j] * rate[j] > 0.0 ? scaled[j] : clipped(unlimited[j], limits[j]);
        taken += (scaled[j] - own[j]) * rate[j];
    }
    const double wanted = found < 0.0 || (brakes && found < BRAKING && taken > 0.0) ? 1.0 : 0.0;
    const double most = core->period > 0.0 ? core->period / BLENDING : 1.0;
    core->by_joint += clipped(wanted - core->by_joint, most);
    for (int j = 0; j < n; ++j) {
        effort[j] = clipped(scaled[j] + core->by_joint * (own[j] - scaled[j]), limits[j]);
    }
}
