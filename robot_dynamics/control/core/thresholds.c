/* Thresholds of supervision: those that are derived from the model of an arm, and those of every rule. */
#include "cholesky.h"
#include "laws.h"

#include <stdio.h>
#include <stdlib.h>

enum { POSES = 64, LARGEST = 64 };
/* Share of the weight that a model may lack or have too much: a robot that is a fifth lighter than its model is also so
 * much quicker. Of a law without a model the whole weight, and as much of it. */
static const double UNKNOWN_WEIGHT = 0.2 / 0.8, MARGIN = 1.5;
/* Least threshold: encoder noise and delays [rad, m]; a larger range is no range [rad or m]. */
static const double LEAST[] = {0.02, 0.005}, ENDLESS = 1e3;
static const double SHARE_OF_RANGE = 0.1;
static const double SHARE_OF_LIMIT = 0.02; /* of an effort limit, that a robot at rest may have unknown */

/* Element of the sequence of van der Corput in a base: even, and the same in every run. */
static double scattered(int index, int base)
{
    double share = 1.0, value = 0.0;
    for (; index > 0; index /= base) {
        share /= base;
        value += share * (index % base);
    }
    return value;
}

void rd_pose_within(int index, int n, const double *lower, const double *upper, double *q)
{
    static const int BASES[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
    for (int j = 0; j < n; ++j) {
        const int ranged = upper[j] - lower[j] < ENDLESS;
        const double low = ranged ? lower[j] : -M_PI, high = ranged ? upper[j] : M_PI;
        q[j] = low + (high - low) * scattered(index + 1 + j / 16, BASES[j % 16]);
    }
}

int rd_inertia_at(const rd_settings *s, const double *rotors, int n, const double *place, const double *rest, double *unit,
                  double *weight, double *inertia)
{
    const double *in[] = {place, rest, unit, s->gravity, s->payload, rd_measured_rest(s)};
    int known = s->inverse_dynamics(in, weight);
    for (int i = 0; i < n && known; ++i) {
        unit[i] = 1.0;
        known = s->inverse_dynamics(in, inertia + i * n);
        unit[i] = 0.0;
        for (int j = 0; j < n; ++j) {
            inertia[i * n + j] -= weight[j];
        }
        inertia[i * n + i] += rotors ? rotors[i] : 0.0;
    }
    return known;
}

/* Acceleration that an unknown part of the weight and of the friction give each joint (n) at a pose: of its own inertia,
 * and through the other joints. `work` has n (n + 4), and its first 2 n are zero. */
static int unknown_acceleration(const rd_settings *s, int n, const double *q, double *work, double *out)
{
    double *rest = work, *unit = rest + n, *load = unit + n, *through = load + n, *matrix = through + n;
    const double weight = s->mode == RD_PD ? 1.0 + UNKNOWN_WEIGHT : UNKNOWN_WEIGHT;
    if (!rd_inertia_at(s, rd_rotors(s), n, q, rest, unit, load, matrix)) {
        return 0;
    }
    for (int j = 0; j < n; ++j) {
        const double own = (weight * fabs(load[j]) + rd_arm_friction(s, j)) / matrix[j * n + j];
        out[j] = matrix[j * n + j] > 0.0 && isfinite(own) ? own : 0.0;
        through[j] = weight * load[j];
    }
    if (solve_positive(matrix, n, through)) {
        for (int j = 0; j < n; ++j) {
            out[j] = fmax(out[j], fabs(through[j]));
        }
    }
    return 1;
}

int rd_arm_following(const rd_settings *s, int n, const double *lower, const double *upper, const double *velocity,
                     const int32_t *slides, double *out)
{
    double *work = calloc((size_t)(n * (n + 6)), sizeof(double));
    double *q = work ? work + n * (n + 4) : NULL, *found = work ? q + n : NULL;
    int finite = work != NULL;
    memset(out, 0, sizeof(double) * (size_t)n);
    for (int index = 0; finite && index < POSES; ++index) {
        rd_pose_within(index, n, lower, upper, q);
        finite = unknown_acceleration(s, n, q, work, found);
        for (int j = 0; finite && j < n; ++j) {
            out[j] = fmax(out[j], found[j]);
        }
    }
    for (int j = 0; finite && j < n; ++j) {
        const double least = LEAST[slides[j] != 0], range = upper[j] - lower[j];
        const double most = fmin(range < ENDLESS ? SHARE_OF_RANGE * range : INFINITY, s->kv[j] * velocity[j] / s->kp[j]);
        const double wanted = s->kp[j] > 0.0 ? MARGIN * out[j] / s->kp[j] + least : INFINITY;
        out[j] = fmax(least, fmin(wanted, isnan(most) ? INFINITY : most));
    }
    free(work);
    return finite;
}

int rd_arm_unknown_efforts(const rd_settings *s, int n, const double *lower, const double *upper, double *efforts)
{
    double *rest = calloc((size_t)(2 * n), sizeof(double)), *load = rest + n, q[LARGEST], heaviest = 0.0;
    int finite = rest != NULL && n <= LARGEST;
    memset(efforts, 0, sizeof(double) * (size_t)n);
    for (int index = 0; finite && index < POSES; ++index) {
        const double *in[] = {q, rest, rest, s->gravity, s->payload, rd_measured_rest(s)};
        rd_pose_within(index, n, lower, upper, q);
        finite = s->inverse_dynamics(in, load);
        for (int j = 0; finite && j < n; ++j) {
            efforts[j] = fmax(efforts[j], fabs(load[j]));
            heaviest = fmax(heaviest, efforts[j]);
        }
    }
    for (int j = 0; finite && j < n; ++j) {
        const double limit = isfinite(s->limits[j]) ? s->limits[j] : heaviest;
        efforts[j] = UNKNOWN_WEIGHT * efforts[j] + rd_arm_friction(s, j) + SHARE_OF_LIMIT * limit;
    }
    free(rest);
    return finite;
}

int rd_arm_inertia(const rd_settings *s, int n, const double *lower, const double *upper, double *inertia)
{
    double *matrix = calloc((size_t)(n * n), sizeof(double));
    double q[LARGEST], rest[LARGEST] = {0.0}, unit[LARGEST] = {0.0}, weight[LARGEST];
    int finite = matrix != NULL && n <= LARGEST;
    for (int j = 0; j < n; ++j) {
        inertia[j] = INFINITY;
    }
    for (int index = 0; finite && index < POSES; ++index) {
        rd_pose_within(index, n, lower, upper, q);
        finite = rd_inertia_at(s, rd_rotors(s), n, q, rest, unit, weight, matrix);
        for (int j = 0; finite && j < n; ++j) {
            inertia[j] = fmin(inertia[j], matrix[j * n + j]);
        }
    }
    free(matrix);
    return finite;
}

double rd_arm_friction(const rd_settings *s, int joint)
{
    const double *p = s->friction + RD_FRICTION_PARAMETERS * joint;
    return s->driven ? fmax(rd_greatest_dry(p, 1.0), rd_greatest_dry(p, -1.0)) : 0.0;
}

int rd_arrival_text(const rd_settings *s, int j, double inertia, const char *name, const char *unit, char *text,
                    size_t bytes)
{
    const int estimates = s->mode == RD_COMPUTED_TORQUE && s->ki[j] > 0.0, slides = !strcmp(unit, "m");
    const double friction = rd_arm_friction(s, j), stiffness = s->kp[j] * inertia, left = friction / stiffness;
    const double doubted = s->rules && isfinite(s->rules->following[j]) ? s->rules->following[j] : s->following[j];
    const double most = estimates ? 0.5 * doubted : s->settled[j];
    if ((s->mode != RD_COMPUTED_TORQUE && s->mode != RD_PD) || !(left > most) || !(stiffness > 0.0)) {
        return RD_STANDS;
    }
    snprintf(text, bytes, "%s may rest %.3g %s from its goal: friction %.3g over kp times inertia %.3g %s; %sraise kp to %.4g%s",
             name, left, unit, friction, stiffness, slides ? "N/m" : "N·m/rad",
             s->rotor_inertia[j] > 0.0 ? "" : "declare its rotor_inertia, or ", friction / (inertia * most),
             s->mode == RD_COMPUTED_TORQUE && !estimates ? ", or switch ki on" : "");
    return RD_FAILS;
}

/* Values (n) times a share, infinite where that is 0: the rule is off. */
static int scaled(int n, const double *values, double share, double *out)
{
    for (int j = 0; j < n; ++j) {
        out[j] = share > 0.0 ? share * values[j] : INFINITY;
    }
    return n;
}

int rd_rule_thresholds(const rd_settings *s, int n, int rule, double *out)
{
    const rd_rules *rules = s->rules;
    const int starts = rules->start_speed > 0.0;
    switch (rule) {
    case RD_FOLLOWING_ERROR: return scaled(n, rules->following, 1.0, out);
    case RD_OVERSPEED: return scaled(n, rules->speed, 1.0, out);
    case RD_OSCILLATION: return scaled(n, s->velocity_limits, rules->oscillation, out);
    case RD_START_SPEED: return scaled(n, s->velocity_limits, rules->start_speed, out);
    case RD_START_DISPLACEMENT: return scaled(n, rules->following, rules->start_displacement, out);
    case RD_START_LOAD: return scaled(n, s->limits, starts, out);
    case RD_START_EFFORT: return rules->start_effort ? scaled(n, rules->start_effort, starts, out) : 0;
    case RD_SLOW_STATES: rd_longest_periods(s, n, out); return n;
    case RD_REPEATED_FAULTS: *out = RD_MOST_FAULTS - 1; return 1;
    case RD_DISPUTE: *out = rd_rule_table(rule)->duration; return 1;
    case RD_POSE_ERROR: rd_copy(out, rules->pose, rules->pose[0] > 0.0 ? 2 : 0); return rules->pose[0] > 0.0 ? 2 : 0;
    case RD_CONTACT: break;
    default: return 0;
    }
    memset(out, 0, sizeof(double) * (size_t)n);
    for (int i = 0; rules->contact && i < (s->contact_points > 1 ? s->contact_points : 1) * n; ++i) {
        out[i % n] = fmax(out[i % n], s->contact_floor[i]);
    }
    return rules->contact ? n : 0;
}
