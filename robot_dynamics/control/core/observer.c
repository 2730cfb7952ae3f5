/* External efforts from positions, velocities and efforts alone.
 *
 * The generalised momentum p = M qd, with the rotors' I qd, changes by
 *
 *     p' = tau - f + beta - g + tau_ext,      beta = C^T qd,
 *
 * with the friction f of the measured velocity (De Luca, Albu-Schaeffer, Haddadin, Hirzinger, "Collision detection and
 * safe reaction with the DLR-III lightweight robot arm", IROS 2006). The residual r follows tau_ext with the gain K,
 * r' = K (tau_ext - r). Its step is exact for any period T: what tau_ext was on average is
 *
 *     (p(k+1) - p(k)) / T - tau - mean of (beta - g - f),      and r moves towards it by 1 - e^(-K T).
 *
 * A joint's threshold is a floor and a share of the friction, and all dry friction at standstill, where it may have any
 * value. It passes the same filter, for what friction does about a reversal stays in the residual as long. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>

enum { OBSERVER_ARRAYS = 7 };
static const double LONGEST_INTERVAL = 0.1;     /* between two states; over a longer one nothing is known [s] */

rd_observer *rd_observer_new(int n)
{
    rd_observer *observer = calloc(1, sizeof *observer);
    double *store = calloc((size_t)(OBSERVER_ARRAYS * n), sizeof *store);
    if (!observer || !store) {
        free(observer);
        free(store);
        return NULL;
    }
    *observer = (rd_observer){
        .n = n, .external = store, .threshold = store + n, .momentum = store + 2 * n, .drive = store + 3 * n,
        .found = {store + 4 * n, store + 5 * n, store + 6 * n},
    };
    rd_observer_restart(observer);
    return observer;
}

void rd_observer_free(rd_observer *observer)
{
    if (observer) {
        free(observer->external);
        free(observer);
    }
}

void rd_observer_restart(rd_observer *observer)
{
    observer->knows = 0;
    for (int j = 0; j < observer->n; ++j) {
        observer->external[j] = 0.0;
        observer->threshold[j] = INFINITY;
    }
}

const double *rd_observer_external(const rd_observer *observer)
{
    return observer->external;
}

/* Friction of a joint that is driven by an effort, and the threshold that it leaves. */
static double friction_of(const rd_settings *s, int j, double velocity, double effort, double *threshold)
{
    const double *p = s->friction + RD_FRICTION_PARAMETERS * j;
    const double plain = rd_friction(p, velocity, velocity, 0.0);
    const double slope = rd_friction(p, velocity, velocity, 1.0) - plain; /* per load, with the direction's sign */
    const double load = fabs((effort - plain) / (1.0 + copysign(slope, (effort - plain) * slope)));
    const double speed = fabs(velocity), still = 1.0 - fabs(rd_direction(velocity));
    *threshold += s->friction_drift * rd_friction(p, speed, 1.0, load);
    *threshold += still > 0.0 ? still * rd_friction(p, 0.0, 1.0, load) : 0.0;
    return plain + slope * load;
}

int rd_observer_update(rd_observer *o, const rd_settings *s, double time, const double *position,
                       const double *velocity, const double *effort)
{
    const double *const in[] = {position, velocity, s->gravity, s->payload};
    const double elapsed = time - o->time;
    double *momentum = o->found[0];
    if (!s->momentum || !(s->observer_gain > 0.0) || !s->momentum(in, o->found)) {
        rd_observer_restart(o);
        return 0;
    }
    if (o->knows && !(0.0 < elapsed && elapsed <= LONGEST_INTERVAL)) {
        rd_observer_restart(o);
    }
    /* Another model has another momentum: its step is left out. */
    const double share = o->knows && o->model == s->model ? -expm1(-s->observer_gain * elapsed) : 0.0;
    for (int j = 0; j < o->n; ++j) {
        double drive = o->found[1][j] - o->found[2][j], threshold = s->contact_floor[j];
        if (s->driven) {
            momentum[j] += s->rotor_inertia[j] * velocity[j];
            drive -= friction_of(s, j, velocity[j], effort[j], &threshold);
        }
        if (share > 0.0) {
            const double seen = (momentum[j] - o->momentum[j]) / elapsed - 0.5 * (drive + o->drive[j]) - effort[j];
            o->external[j] += share * (seen - o->external[j]);
        }
        if (!o->knows || threshold > o->threshold[j]) {
            o->threshold[j] = threshold;
        } else {
            o->threshold[j] += share * (threshold - o->threshold[j]);
        }
        o->drive[j] = drive;
        o->momentum[j] = momentum[j];
    }
    o->knows = 1;
    o->time = time;
    o->model = s->model;
    return 1;
}
