/* The period of the states that the springs of an impedance stand.
 *
 * Their gains on accelerations kp and kv, at their fastest pose, are stable where kv / kp and 1 / kv are longer than the
 * latency of gains.c. With critical damping kv follows from kp, so a share of the stiffness changes kv by its root. */
#include "springs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 6 };
/* Shares of what each joint stands by itself, of which the first that the whole arm stands is named. */
static const double COUPLED[] = {1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.1};

/* A refusal in words. */
typedef struct {
    const char *about;            /* what comes before it */
    double period;
    char *text;
    size_t bytes;
} rd_refusal;

/* Share of the stiffness, or where the dampers are too strong of the damping, that is stable with a latency. */
static double stable_share(const rd_rates *rates, double latency, int *damps)
{
    const double by_stiffness = rates->kp > 0.0 ? rates->kv / (rates->kp * latency) : INFINITY;
    *damps = !rates->critical && rates->kv * latency >= 1.0;
    if (rates->critical) {
        const double share = fmin(1.0 / (rates->kv * latency), by_stiffness);
        return rates->kp > 0.0 ? share * share : INFINITY;
    }
    return *damps ? 1.0 / (rates->kv * latency) : by_stiffness;
}

/* A value with two digits, none larger. */
static double rounded_down(double value)
{
    const double digit = pow(10.0, floor(log10(fmax(value, 1e-300))) - 1.0);
    return value > 0.0 ? floor(value / digit * (1.0 + 1e-12)) * digit : value;
}

static void add_values(const rd_refusal *refusal, const double *values, int count, int rounds)
{
    for (int i = 0; i < count; ++i) {
        const size_t used = strlen(refusal->text);
        const double shown = rounds ? rounded_down(values[i]) : values[i];
        snprintf(refusal->text + used, refusal->bytes - used, "%s%g", i ? ", " : "", shown);
    }
}

static int refuse_springs(const rd_refusal *refusal, const char *name, const double *given, const double *stable, int count)
{
    int any = 0;
    snprintf(refusal->text, refusal->bytes, "%sparameter '%s' is ", refusal->about, name);
    add_values(refusal, given, count, 0);
    for (int i = 0; i < count; ++i) {
        any |= stable[i] > 0.0;
    }
    size_t used = strlen(refusal->text);
    if (!any) {
        snprintf(refusal->text + used, refusal->bytes - used,
                 ": no stiffness is stable without damping; a damping of -1 is critical");
        return RD_FAILS;
    }
    snprintf(refusal->text + used, refusal->bytes - used, ": with a state every %.3g ms at most ", 1e3 * refusal->period);
    add_values(refusal, stable, count, 1);
    used = strlen(refusal->text);
    snprintf(refusal->text + used, refusal->bytes - used, " is stable");
    return RD_FAILS;
}

/* Of the springs at the joints. `work` has (5 n). */
static int judge_joints(const rd_range *range, const rd_settings *s, double latency, double *work, const rd_refusal *refusal)
{
    const int n = range->n;
    double *kp = work, *kv = kp + n, *own = kv + n, *slower = own + n, *other = slower + n;
    const rd_rates whole = rd_joint_rates(range, s->stiffness, s->damping, kp, kv);
    int damps, ignored;
    const double share = stable_share(&whole, latency, &damps);
    const double *given = damps ? s->damping : s->stiffness;
    const char *name = damps ? "joint_damping" : "joint_stiffness";
    if (share > 1.0) {
        return RD_STANDS;
    }
    for (int j = 0; j < n; ++j) {
        const rd_rates alone = {kp[j], kv[j], s->damping[j] < 0.0};
        own[j] = stable_share(&alone, latency, &ignored);
    }
    /* Only the joints that are too fast give way, where that is enough. */
    for (size_t i = 0; i < sizeof COUPLED / sizeof *COUPLED; ++i) {
        for (int j = 0; j < n; ++j) {
            slower[j] = rounded_down(given[j] * fmin(COUPLED[i] * own[j], 1.0));
        }
        const rd_rates rates = rd_joint_rates(range, damps ? s->stiffness : slower, damps ? slower : s->damping, kp, other);
        if (stable_share(&rates, latency, &ignored) > 1.0) {
            return refuse_springs(refusal, name, given, slower, n);
        }
    }
    for (int j = 0; j < n; ++j) {
        slower[j] = share * given[j];
    }
    return refuse_springs(refusal, name, given, slower, n);
}

/* Of the springs on a frame, linear and angular ones also by themselves. Directions in which it is guided have none, and are
 * not in the words. */
static int judge_springs(const rd_range *range, const rd_task *task, int guided, double latency, const rd_refusal *refusal)
{
    rd_task stable = *task;
    for (int part = 0; part < 3; ++part) {
        const int first = part == 1 ? 3 : 0, last = part == 0 ? 3 : DIRECTIONS;
        rd_task chosen = stable;
        int damps, critical = 0;
        for (int i = 0; i < DIRECTIONS; ++i) {
            const int counts = i >= first && i < last;
            chosen.stiffness[i] *= counts;
            chosen.damping[i] *= counts;
            critical |= chosen.damping[i] < 0.0;
        }
        rd_rates rates = rd_frame_rates(range, &chosen, 0);
        rates.critical = critical;
        const double share = stable_share(&rates, latency, &damps);
        double *values = damps ? stable.damping : stable.stiffness;
        for (int i = first; i < last && share < 1.0; ++i) {
            values[i] *= values[i] > 0.0 ? share : 1.0;
        }
    }
    for (int damps = 0; damps < 2; ++damps) {
        const double *given = damps ? task->damping : task->stiffness, *most = damps ? stable.damping : stable.stiffness;
        double shown[2][DIRECTIONS];
        int held[DIRECTIONS], first[2], count = 0, kinds = 0, smaller = 0, alike = 1;
        for (int i = 0; i < DIRECTIONS; ++i) {
            if (guided && task->stiffness[i] == 0.0 && task->damping[i] == 0.0) {
                continue;
            }
            if (!kinds || first[kinds - 1] / 3 != i / 3) {
                first[kinds++] = i;
            }
            held[count++] = i;
            smaller |= most[i] < given[i];
            alike &= given[i] == given[first[kinds - 1]];
        }
        count = alike ? kinds : count;
        for (int k = 0; k < count; ++k) {
            const int i = alike ? first[k] : held[k];
            shown[0][k] = given[i];
            shown[1][k] = most[i];
        }
        if (smaller) {
            return refuse_springs(refusal, damps ? "cartesian_damping" : "cartesian_stiffness", shown[0], shown[1], count);
        }
    }
    return RD_STANDS;
}

/* Of a frame, with its posture and the springs at position limits. `work` has (5 n). */
static int judge_frame(const rd_range *range, const rd_task *task, int guided, double latency, double *work,
                       const rd_refusal *refusal)
{
    const int n = range->n;
    int damps, alike = 1;
    if (judge_springs(range, task, guided, latency, refusal) == RD_FAILS) {
        return RD_FAILS;
    }
    if (task->limit_range > 0.0) {
        rd_rates back = {0.0, 0.0, 1};
        rd_find_mobilities(range, work);
        for (int j = 0; j < n; ++j) {
            back.kp = fmax(back.kp, task->limit_effort / task->limit_range * work[j]);
        }
        back.kv = 2.0 * sqrt(back.kp);
        const double stable = task->limit_effort * stable_share(&back, latency, &damps);
        if (stable < task->limit_effort) {
            return refuse_springs(refusal, "limit_repulsion_effort", &task->limit_effort, &stable, 1);
        }
    }
    rd_rates rates = rd_frame_rates(range, task, task->posture_effort > 0.0);
    rates.critical = task->posture_damping < 0.0;
    const double share = stable_share(&rates, latency, &damps);
    if (share >= 1.0 || !(task->posture_effort > 0.0)) {
        return RD_STANDS;
    }
    for (int j = 0; j < n; ++j) {
        work[j] = share * task->posture_stiffness[j];
        alike &= task->posture_stiffness[j] == *task->posture_stiffness;
    }
    const double stable = share * task->posture_damping;
    return damps ? refuse_springs(refusal, "nullspace_damping", &task->posture_damping, &stable, 1)
                 : refuse_springs(refusal, "nullspace_stiffness", task->posture_stiffness, work, alike ? 1 : n);
}

int rd_springs_text(const rd_settings *s, int n, const double *lower, const double *upper, double period,
                    const char *const *names, char *text, size_t bytes)
{
    const int joints = s->mode == RD_JOINT_IMPEDANCE, yields = s->rules && s->rules->contact == RD_CONTACT_YIELD;
    const double smoothed = RD_YIELDING >> s->mode & 1U ? fmax(s->smoothing[0], s->smoothing[1]) + s->smoothing[2] : 0.0;
    const double latency = INERTIA_RATIO * (0.5 * period + delay_of(s));
    const int guided = s->mode == RD_HAND_GUIDING;
    const char *const about = guided ? "guide_axes holds the frame in some directions: " : "";
    rd_refusal refusal = {about, period, text, bytes};
    rd_range range;
    int standing = RD_STANDS;
    (void)names;
    if (!s->rules || s->rules->delay < 0.0 || !(period > 0.0) || !(s->task || joints || yields)) {
        return RD_STANDS;
    }
    double *work = calloc((size_t)(5 * n), sizeof(double));
    if (!rd_evaluate_range(s, n, lower, upper, &range) || !work) {
        snprintf(text, bytes,
                 "springs cannot be judged: the model has no mass matrix at a pose within the range of the joints");
        standing = RD_FAILS;
    } else if (s->task) {
        standing = judge_frame(&range, s->task, guided, latency + INERTIA_RATIO * smoothed, work, &refusal);
    } else if (joints) {
        standing = judge_joints(&range, s, latency + INERTIA_RATIO * smoothed, work, &refusal);
    }
    if (standing == RD_STANDS && yields) {
        refusal.about = "on_contact is 'yield': ";
        standing = judge_joints(&range, s, latency, work, &refusal);
    }
    free(range.inverse);
    free(work);
    return standing;
}
