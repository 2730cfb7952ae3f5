/* Joints of the robot that somebody else moves, and whose measured state the model takes; see core.h.
 *
 * Between two states they go on with their velocity. Whatever comes stays within their limits, so no state that is wrong
 * makes an effort that the robot cannot need. What nobody gives is their acceleration: the effort that the measured one
 * would take beside the given one is what this leaves, and it is reported. */
#include "measured.h"

#include <stdlib.h>

static const double MEASURED_SMOOTHING = 0.02;    /* time constant of what velocities and accelerations are estimated with [s] */
static const double MEASURED_GAP = 0.1;     /* between two states; over a longer one nothing is estimated [s] */

struct rd_measured {
    int m, n;
    double timeout;               /* of the states [s] */
    double *rest, *now;           /* (3 m) as kernels take them: where nothing is known, and in this cycle */
    double *bounds;               /* (3 m) lowest and highest position, largest velocity */
    double *position, *velocity;  /* (m) of the last state */
    double *change;               /* (m) rate of the velocity */
    double *time;                 /* (m) of the last state [s] */
    double *given;                /* (3 m) of the kernel, for what is missed */
    double *zero, *with, *without; /* (n) */
    _Atomic(double) *acceleration; /* (m) of the reference of whoever moves them */
    _Atomic(double) *missed;      /* (n) largest effort since it was read last */
    _Atomic(double) until;        /* of the accelerations [s] */
    _Atomic(double) age;          /* of the oldest state; infinite: a joint has none yet [s] */
};

rd_measured *rd_measured_new(int m, int n, double timeout, const double *rest, const double *bounds)
{
    rd_measured *o = calloc(1, sizeof *o);
    double *store = calloc(16 * (size_t)m + 3 * (size_t)n + 1, sizeof(double));
    _Atomic(double) *shared = calloc((size_t)(m + n) + 1, sizeof *shared);
    if (!o || !store || !shared) {
        free(o);
        free(store);
        free(shared);
        return NULL;
    }
    o->m = m;
    o->n = n;
    o->timeout = timeout;
    double **const arrays[] = {&o->rest, &o->now, &o->bounds, &o->given};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i, store += 3 * m) {
        *arrays[i] = store;
    }
    double **const joints[] = {&o->position, &o->velocity, &o->change, &o->time};
    for (size_t i = 0; i < sizeof joints / sizeof joints[0]; ++i, store += m) {
        *joints[i] = store;
    }
    o->zero = store;
    o->with = store + n;
    o->without = store + 2 * n;
    o->acceleration = shared;
    o->missed = shared + m;
    rd_copy(o->rest, rest, 3 * m);
    rd_copy(o->now, rest, 3 * m);
    rd_copy(o->bounds, bounds, 3 * m);
    for (int j = 0; j < m; ++j) {
        o->time[j] = -INFINITY;
    }
    atomic_init(&o->until, -INFINITY);
    atomic_init(&o->age, INFINITY);
    return o;
}

void rd_measured_free(rd_measured *o)
{
    if (o) {
        free(o->rest);
        free((void *)o->acceleration);
        free(o);
    }
}

static double within(double value, double lowest, double highest)
{
    return fmin(fmax(value, lowest), highest);
}

static void take_joint(rd_measured *o, int j, double time, double position, double velocity)
{
    const double *lowest = o->bounds, *highest = lowest + o->m, *fastest = highest + o->m;
    const double elapsed = time - o->time[j];
    const int follows = 0.0 < elapsed && elapsed < MEASURED_GAP;
    const double share = follows ? -expm1(-elapsed / MEASURED_SMOOTHING) : 0.0;
    position = within(position, lowest[j], highest[j]);
    if (!isfinite(velocity)) {
        velocity = follows ? o->velocity[j] + share * ((position - o->position[j]) / elapsed - o->velocity[j]) : 0.0;
    }
    velocity = within(velocity, -fastest[j], fastest[j]);
    o->change[j] = follows ? o->change[j] + share * ((velocity - o->velocity[j]) / elapsed - o->change[j]) : 0.0;
    o->position[j] = position;
    o->velocity[j] = velocity;
    o->time[j] = time;
}

void rd_measured_take(rd_measured *o, double time, const double *position, const double *velocity)
{
    for (int j = 0; j < o->m; ++j) {
        const double late = o->time[j] - time; /* by more: a simulation was reset */
        if (isfinite(position[j]) && !(0.0 <= late && late < MEASURED_GAP)) {
            take_joint(o, j, time, position[j], velocity ? velocity[j] : NAN);
        }
    }
}

int rd_measured_known(const rd_measured *o)
{
    int known = 1;
    for (int j = 0; o && j < o->m; ++j) {
        known &= isfinite(o->time[j]);
    }
    return known;
}

void rd_measured_motion(const rd_measured *o, double *motion)
{
    rd_copy(motion, o->now, 3 * o->m);
}

void rd_measured_accelerate(rd_measured *o, const double *acceleration, double until)
{
    for (int j = 0; j < o->m; ++j) {
        atomic_store_explicit(&o->acceleration[j], acceleration[j], memory_order_relaxed);
    }
    atomic_store_explicit(&o->until, until, memory_order_release);
}

void rd_measured_advance(rd_measured *o, double time, double period)
{
    if (!o) {
        return;
    }
    const double *lowest = o->bounds, *highest = lowest + o->m, *fastest = highest + o->m;
    const int led = time <= atomic_load_explicit(&o->until, memory_order_acquire);
    double oldest = 0.0;
    for (int j = 0; j < o->m; ++j) {
        const double age = fmax(0.0, time - o->time[j]), ahead = age + 0.5 * period;
        const double fresh = age <= o->timeout;
        const double intended = atomic_load_explicit(&o->acceleration[j], memory_order_relaxed);
        const double a = led && fresh && isfinite(intended) ? intended : 0.0;
        const double v = fresh ? o->velocity[j] : 0.0;
        o->now[j] = within(o->position[j] + (fresh ? ahead * (v + 0.5 * ahead * a) : 0.0), lowest[j], highest[j]);
        o->now[o->m + j] = within(v + (fresh ? ahead * a : 0.0), -fastest[j], fastest[j]);
        o->now[2 * o->m + j] = a;
        oldest = fmax(oldest, age);
    }
    atomic_store_explicit(&o->age, oldest, memory_order_relaxed);
}

void rd_measured_miss(rd_measured *o, const rd_settings *s, const double *position)
{
    if (!o) {
        return;
    }
    const double *in[] = {position, o->zero, o->zero, s->gravity, s->payload, o->given};
    int missing = 0;
    rd_copy(o->given, o->now, o->m);
    memset(o->given + o->m, 0, sizeof(double) * 2 * (size_t)o->m);
    if (!s->inverse_dynamics(in, o->without)) {
        return;
    }
    for (int j = 0; j < o->m; ++j) {
        o->given[2 * o->m + j] = o->change[j] - o->now[2 * o->m + j];
        missing |= o->given[2 * o->m + j] != 0.0;
    }
    if (!missing || !s->inverse_dynamics(in, o->with)) {
        return;
    }
    for (int j = 0; j < o->n; ++j) {
        const double effort = fabs(o->with[j] - o->without[j]);
        if (effort > atomic_load_explicit(&o->missed[j], memory_order_relaxed)) {
            atomic_store_explicit(&o->missed[j], effort, memory_order_relaxed);
        }
    }
}

double rd_measured_report(rd_measured *o, double *missed)
{
    for (int j = 0; j < o->n; ++j) {
        missed[j] = atomic_exchange_explicit(&o->missed[j], 0.0, memory_order_relaxed);
    }
    return atomic_load_explicit(&o->age, memory_order_relaxed);
}

void rd_measured_lost(rd_measured *o)
{
    if (o) {
        memset(o->now + o->m, 0, sizeof(double) * 2 * (size_t)o->m);
    }
}

const double *rd_measured_now(const rd_settings *s)
{
    return s->beside ? s->beside->now : NULL;
}

const double *rd_measured_rest(const rd_settings *s)
{
    return s->beside ? s->beside->rest : NULL;
}
