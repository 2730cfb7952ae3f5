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
 * A robot that has the share s of its model's inertia and bears its load at rest has tau = s x + w where the model has
 * x + g. What is seen, x + g - tau, is then (1/s - 1) tau + const: in the first second of control its slope over the effort
 * tells s. The effort of the state before takes the place of the effort, so that the noise of a velocity, which both have,
 * does not count. The load at rest is s r - (1 - s) b with b = tau - g through the same filter.
 *
 * Efforts and positions have to belong together. Where measured efforts come later than the positions, what the positions
 * ask for waits; where commands act later than they are sent, the efforts wait. Both are means over the time between two
 * states, so a delay is a mean over the same time before.
 *
 * A joint's threshold is a floor at its speed and a share of the friction. At standstill dry friction may have any value,
 * and after a reversal a part of it has not built up again: the floor is then at least that friction and the least floor of
 * all speeds. It is no sum, because a floor for standstill that was identified contains this friction. The threshold passes
 * the same filter, for what friction does about a reversal stays in the residual as long. */
#include "measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEARNED_ARRAYS = 5, OBSERVER_ARRAYS = 15 + LEARNED_ARRAYS, WAITING = 256 };
static const double LONGEST_INTERVAL = 0.1;     /* between two states; over a longer one nothing is known [s] */
/* Sum of products of the efforts from which on they tell an inertia, in squares of their scale; ratios that are believed. */
static const double TELLING = 0.2, LEAST_RATIO = 0.05, LARGEST_RATIO = 4.0;

struct rd_observer {
    int n, knows, follows;        /* whether a state has been taken, and another one after it */
    uint64_t model;               /* of the settings then */
    double time;                  /* [s] */
    double *external, *threshold; /* (n), one behind the other [N m or N] */
    double *momentum, *drive;     /* (n) of the last state: p, and beta - g - f */
    double *place, *slid;         /* (n) of the last state [rad or m], and the states of presliding */
    double *borne;                /* (n) what efforts were beyond the model's weight, as smooth as `external` [N m or N] */
    /* While it learns: pairs, means (n) of the effort before, the effort and what is seen, and their products (n). */
    int learns, pairs;
    double *before, *means[3], *with_effort, *with_seen;
    double *ratio;                /* (n) of the joints' inertia to the model's */
    double *found[3], *asked, *acting, *limit; /* (n) scratch */
    /* Queue of a delay: (2 n) values and limits of the last intervals between states, and when each ended [s]. */
    double delay, *waiting, *ends;
    int next, kept;               /* place of the next one; how many there are */
};

rd_observer *rd_observer_new(int n)
{
    rd_observer *observer = calloc(1, sizeof *observer);
    double *store = calloc((size_t)((OBSERVER_ARRAYS + 2 * WAITING) * n + WAITING), sizeof *store);
    if (!observer || !store) {
        free(observer);
        free(store);
        return NULL;
    }
    *observer = (rd_observer){
        .n = n, .external = store, .threshold = store + n, .momentum = store + 2 * n, .drive = store + 3 * n,
        .found = {store + 4 * n, store + 5 * n, store + 6 * n},
        .borne = store + 7 * n, .before = store + 8 * n, .ratio = store + 9 * n,
        .means = {store + 10 * n, store + 11 * n, store + 12 * n},
        .with_effort = store + 13 * n, .with_seen = store + 14 * n, .asked = store + 15 * n, .acting = store + 16 * n,
        .limit = store + 17 * n, .place = store + 18 * n, .slid = store + 19 * n,
        .waiting = store + OBSERVER_ARRAYS * n, .ends = store + (OBSERVER_ARRAYS + 2 * WAITING) * n,
    };
    rd_observer_restart(observer);
    rd_observer_learn(observer, 1);
    rd_observer_learn(observer, 0);
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
    observer->knows = observer->follows = observer->kept = 0;
    for (int j = 0; j < observer->n; ++j) {
        observer->external[j] = observer->borne[j] = observer->slid[j] = 0.0;
        observer->threshold[j] = INFINITY;
    }
}

void rd_observer_learn(rd_observer *o, int learns)
{
    if (learns && !o->learns) {
        o->pairs = 0;
        memset(o->means[0], 0, sizeof(double) * (size_t)(LEARNED_ARRAYS * o->n));
        for (int j = 0; j < o->n; ++j) {
            o->ratio[j] = 1.0;
        }
    }
    o->learns = learns;
}

void rd_observer_find_ratios(rd_observer *o, const double *scale)
{
    double seen = 0.0, effort = TELLING;
    for (int j = 0; scale && j < o->n; ++j) {
        seen += copysign(o->with_seen[j], o->with_seen[j] * o->with_effort[j]) / (scale[j] * scale[j]);
        effort += fabs(o->with_effort[j]) / (scale[j] * scale[j]);
    }
    for (int j = 0; scale && j < o->n; ++j) {
        /* The other joints tell the part that a joint does not tell itself. */
        const double few = TELLING * scale[j] * scale[j];
        const double own = copysign(o->with_seen[j], o->with_seen[j] * o->with_effort[j]);
        const double slope = (own + few * seen / effort) / (fabs(o->with_effort[j]) + few);
        const double ratio = fmax(LEAST_RATIO, 1.0 / fmax(1.0 + slope, 1.0 / LARGEST_RATIO));
        o->ratio[j] = isfinite(slope) ? ratio : 1.0; /* fmax leaves a number of what is none */
    }
}

double rd_observer_ratio(const rd_observer *observer, int joint)
{
    return observer->ratio[joint];
}

double rd_observer_load(const rd_observer *o, int joint)
{
    return o->ratio[joint] * o->external[joint] - (1.0 - o->ratio[joint]) * o->borne[joint];
}

/* Take an effort, and what is seen of a joint over it. */
static void learn_inertia(rd_observer *o, int j, double effort, double seen)
{
    const double pairs = o->pairs, from = o->before[j] - o->means[0][j];
    o->means[0][j] += from / pairs;
    o->means[1][j] += (effort - o->means[1][j]) / pairs;
    o->means[2][j] += (seen - o->means[2][j]) / pairs;
    o->with_effort[j] += from * (effort - o->means[1][j]);
    o->with_seen[j] += from * (seen - o->means[2][j]);
}

const double *rd_observer_external(const rd_observer *observer)
{
    return observer->external;
}

/* Friction of a joint that is driven by an effort, in a state of presliding; the share of it that drifts,
 * and what of it a state hides. */
static double friction_of(const rd_settings *s, const double *parameters, int j, double velocity, double slid,
                          double effort, double *drift, double *hidden)
{
    const double *p = parameters + RD_FRICTION_PARAMETERS * j;
    const double unloaded = rd_friction(p, velocity, velocity, 0.0), plain = unloaded + rd_presliding(p, velocity, slid);
    const double slope = rd_friction(p, velocity, velocity, 1.0) - unloaded; /* per load, with the direction's sign */
    const double net = effort - plain, load = fabs(slope != 0.0 ? net / (1.0 + copysign(slope, net * slope)) : net);
    const double speed = fabs(velocity), still = 1.0 - fabs(rd_direction(velocity));
    *drift = s->friction_drift * rd_friction(p, speed, 1.0, load);
    *hidden = (still > 0.0 ? still * rd_friction(p, 0.0, 1.0, load) : 0.0) + p[RD_PRESLIDING_FRICTION] * (1.0 - fabs(slid));
    return plain + slope * load;
}

/* The threshold of a joint at a speed, without the share that drifts, where so much friction is hidden. */
static double floor_at(const rd_settings *s, int n, int j, double speed, double hidden)
{
    double least = INFINITY;
    int k = 0;
    for (int point = 0; point < s->contact_points; ++point) {
        least = fmin(least, s->contact_floor[point * n + j] + hidden);
    }
    while (k + 1 < s->contact_points && s->contact_speeds[(k + 1) * n + j] <= speed) {
        ++k;
    }
    const double here = s->contact_floor[k * n + j];
    if (k + 1 >= s->contact_points) {
        return fmax(here, least);
    }
    const double from = s->contact_speeds[k * n + j], to = s->contact_speeds[(k + 1) * n + j];
    const double between = fmax(0.0, (speed - from) / (to - from));
    return fmax(here + between * (s->contact_floor[(k + 1) * n + j] - here), least);
}

/* Keep what holds from the state before to this one, and replace it by its mean over as long a time, earlier by a delay;
 * limits (NULL: none) become as large as they were then. Whether that is known. */
static int wait(rd_observer *o, double time, double elapsed, double delay, double *values, double *limits)
{
    const int n = o->n;
    const double from = time - delay - elapsed, to = time - delay;
    double *newest = o->waiting + 2 * n * o->next, end = time, begins = time - elapsed;
    rd_copy(newest, values, n);
    rd_copy(newest + n, limits ? limits : values, n);
    o->ends[o->next] = time;
    o->kept += o->kept < WAITING;
    memset(values, 0, sizeof(double) * (size_t)n);
    for (int back = 0; back < o->kept; ++back) {
        const int place = (o->next - back + WAITING) % WAITING, before = (place - 1 + WAITING) % WAITING;
        const double *one = o->waiting + 2 * n * place;
        /* The oldest has to do for all of what is older than everything that is kept. */
        const int oldest = back == WAITING - 1;
        begins = oldest ? fmin(from, end) : back == 0 ? begins : back < o->kept - 1 ? o->ends[before] : INFINITY;
        const double share = oldest ? (fmin(end, to) - from) / elapsed : (fmin(end, to) - fmax(begins, from)) / elapsed;
        for (int j = 0; share > 0.0 && j < n; ++j) {
            values[j] += share * one[j];
            if (limits) {
                limits[j] = fmax(limits[j], one[n + j]);
            }
        }
        if (begins <= from) {
            o->next = (o->next + 1) % WAITING;
            return 1;
        }
        end = begins;
    }
    o->next = (o->next + 1) % WAITING;
    return 0;
}

int rd_observer_update(rd_observer *o, const rd_settings *s, double time, const double *position,
                       const double *velocity, const double *effort, const rd_observed *about)
{
    const double *const in[] = {position, velocity, about->gravity ? about->gravity : s->gravity, s->payload,
                                rd_measured_now(s)};
    const double *friction = about->friction ? about->friction : s->friction;
    const double elapsed = time - o->time, delay = about->delay;
    double *momentum = o->found[0];
    if (!s->momentum || !(s->observer_gain > 0.0) || !effort || !s->momentum(in, o->found)) {
        rd_observer_restart(o);
        return 0;
    }
    if (o->knows && !(0.0 < elapsed && elapsed <= LONGEST_INTERVAL)) {
        rd_observer_restart(o);
    }
    /* Another model has another momentum: its step is left out. */
    const double share = o->knows && o->model == s->model ? -expm1(-s->observer_gain * elapsed) : 0.0;
    int known = share > 0.0;
    if (!known || o->delay != delay) {
        o->kept = 0;
        o->delay = delay;
    }
    for (int j = 0; j < o->n; ++j) {
        o->acting[j] = effort[j] - (about->offset ? about->offset[j] : 0.0);
    }
    if (known && delay < 0.0) {
        known = wait(o, time, elapsed, -delay, o->acting, NULL);
    }
    for (int j = 0; j < o->n; ++j) {
        double drive = o->found[1][j] - o->found[2][j], drift = 0.0, hidden = 0.0;
        if (about->driven) {
            const double *p = friction + RD_FRICTION_PARAMETERS * j, travel = position[j] - o->place[j];
            if (o->knows && p[RD_PRESLIDING_FRICTION] > 0.0 && rd_beyond(RD_NOISE, velocity[j]) != 0.0) {
                o->slid[j] = rd_slid_after(p, o->slid[j], travel);
            }
            momentum[j] += s->rotor_inertia[j] * velocity[j];
            drive -= friction_of(s, friction, j, velocity[j], o->slid[j], o->acting[j], &drift, &hidden);
        }
        o->limit[j] = drift + floor_at(s, o->n, j, fabs(velocity[j]), hidden);
        o->asked[j] = share > 0.0 ? (momentum[j] - o->momentum[j]) / elapsed - 0.5 * (drive + o->drive[j]) : 0.0;
        o->borne[j] += known ? share * (o->acting[j] + 0.5 * (drive + o->drive[j]) - o->borne[j]) : 0.0;
        o->drive[j] = drive;
        o->momentum[j] = momentum[j];
        o->place[j] = position[j];
    }
    if (known && delay > 0.0) {
        known = wait(o, time, elapsed, delay, o->asked, o->limit);
    }
    const int learns = o->learns && known && o->follows;
    o->pairs += learns;
    for (int j = 0; j < o->n; ++j) {
        if (known) {
            const double seen = o->asked[j] - o->acting[j];
            o->external[j] += share * (seen - o->external[j]);
            if (learns) {
                learn_inertia(o, j, o->acting[j], seen);
            }
            o->before[j] = o->acting[j];
        }
        if (!o->knows || o->limit[j] >= o->threshold[j]) { /* both may be infinite */
            o->threshold[j] = o->limit[j];
        } else {
            o->threshold[j] += share * (o->limit[j] - o->threshold[j]);
        }
    }
    o->follows = known;
    o->knows = 1;
    o->time = time;
    o->model = s->model;
    return 1;
}
