/* Gains that are as fast as the springs of an impedance.
 *
 * On the inertia M springs K and dampers D act as the gains M^-1 K and M^-1 D, whose largest eigenvalues over the range of
 * the joints count. Springs of a frame are J^T K J, and those of the posture N K, as in task_impedance.c. */
#include "cholesky.h"
#include "six.h"
#include "springs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SQUARINGS = 30 };
/* Last part of a logarithm that a squaring changes. */
static const double CONVERGED = 1e-12;

int rd_evaluate_range(const rd_settings *s, int n, const double *lower, const double *upper, rd_range *range)
{
    const int squares = n * n, row = AXES * n;
    double *next = calloc((size_t)(RD_SPRING_POSES * (squares + n + row) + 2 * squares + row + 4 * n), sizeof(double));
    *range = (rd_range){n, next, NULL, NULL, NULL, NULL, NULL};
    if (!next) {
        return 0;
    }
    range->inertia = range->inverse + RD_SPRING_POSES * squares;
    range->rows = range->inertia + RD_SPRING_POSES * n;
    range->matrix = range->rows + RD_SPRING_POSES * row;
    range->square = range->matrix + squares;
    range->solved = range->square + squares;
    double *q = range->solved + row, *rest = q + n, *unit = rest + n, *weight = unit + n, *mass = range->matrix;
    for (int k = 0; k < RD_SPRING_POSES; ++k) {
        rd_pose_within(k, n, lower, upper, q);
        const double *in[] = {q, rd_measured_rest(s), NULL};
        if (!rd_inertia_at(s, rd_rotors(s), n, q, rest, unit, weight, mass)
            || (s->task && !s->task->jacobian(in, range->rows + k * row))) {
            return 0;
        }
        for (int j = 0; j < n; ++j) {
            range->inertia[k * n + j] = mass[j * n + j];
        }
        if (!factor(mass, n)) {
            return 0;
        }
        for (int j = 0; j < n; ++j) {
            double *column = range->inverse + k * squares + j * n;
            unit[j] = 1.0;
            solve_lower(mass, n, unit, column);
            solve_upper(mass, n, column, column);
            unit[j] = 0.0;
        }
    }
    return 1;
}

/* Largest absolute eigenvalue of the scratch matrix, or `least` where it is no larger, by the norm of its powers:
 * ||A^m||^(1/m) converges to it from above, also where two of them are close. Infinite where it is not known. */
static double largest_eigenvalue(const rd_range *range, double least)
{
    const int n = range->n;
    double *a = range->matrix, *b = range->square, logarithm = 0.0, share = 1.0;
    for (int step = 0; step < SQUARINGS; ++step) {
        const double size = sqrt(dot(a, a, n * n));
        if (!(size > 0.0 && size < INFINITY)) {
            return size == 0.0 ? least : INFINITY;
        }
        const double part = share * log(size);
        logarithm += part;
        if (exp(logarithm) <= least) {
            return least;
        }
        if (step && fabs(part) < CONVERGED) {
            break;
        }
        share *= 0.5;
        memset(b, 0, sizeof(double) * (size_t)(n * n));
        for (int i = 0; i < n * n; ++i) {
            a[i] /= size;
        }
        for (int i = 0; i < n; ++i) {
            for (int k = 0; k < n; ++k) {
                for (int j = 0; j < n; ++j) {
                    b[i * n + j] += a[i * n + k] * a[k * n + j];
                }
            }
        }
        memcpy(a, b, sizeof(double) * (size_t)(n * n));
    }
    return exp(logarithm);
}

/* The rate of damping, or less where a direction that it does not damp has less damping for its stiffness. */
static double least_damped(const rd_rates *rates, int n, const double *stiffness, const double *damping)
{
    double ratio = 0.0;
    for (int i = 0; i < n; ++i) {
        ratio = stiffness[i] > 0.0 && damping[i] > 0.0 ? fmax(ratio, stiffness[i] / damping[i]) : ratio;
    }
    return ratio > rates->kv ? fmin(rates->kv, rates->kp / ratio) : rates->kv;
}

void rd_find_mobilities(const rd_range *range, double *mobility)
{
    const int n = range->n;
    memset(mobility, 0, sizeof(double) * (size_t)n);
    for (int i = 0; i < RD_SPRING_POSES * n; ++i) {
        mobility[i % n] = fmax(mobility[i % n], range->inverse[i * n + i % n]);
    }
}

rd_rates rd_joint_rates(const rd_range *range, const double *stiffness, const double *damping, double *kp, double *kv)
{
    const int n = range->n;
    rd_rates whole = {0.0, 0.0, 0};
    double most[2] = {0.0, 0.0};
    for (int k = 0; k < RD_SPRING_POSES; ++k) {
        const double *inverse = range->inverse + k * n * n, *inertia = range->inertia + k * n;
        for (int damps = 0; damps < 2; ++damps) {
            for (int i = 0; i < n * n; ++i) {
                const int j = i % n;
                const double d = damping[j] < 0.0 ? 2.0 * sqrt(stiffness[j] * inertia[j]) : damping[j];
                range->matrix[i] = inverse[i] * (damps ? d : stiffness[j]);
            }
            double *rate = damps ? &whole.kv : &whole.kp;
            *rate = largest_eigenvalue(range, *rate);
        }
    }
    whole.kv = least_damped(&whole, n, stiffness, damping);
    rd_find_mobilities(range, kv);
    for (int j = 0; j < n; ++j) {
        const double mobility = kv[j];
        kp[j] = stiffness[j] * mobility;
        kv[j] = damping[j] < 0.0 ? 2.0 * sqrt(kp[j]) : damping[j] * mobility;
        most[0] = fmax(most[0], kp[j]);
        most[1] = fmax(most[1], kv[j]);
        whole.critical |= damping[j] < 0.0;
    }
    for (int j = 0; j < n; ++j) {
        kp[j] *= most[0] > 0.0 ? whole.kp / most[0] : 0.0;
        kv[j] *= most[1] > 0.0 ? whole.kv / most[1] : 0.0;
    }
    return whole;
}

/* A frame at one pose: its law's matrices. */
typedef struct {
    rd_six frames[3];             /* eigenvectors */
    rd_mobility inertia, squares;
    double root[AXES], values[AXES];
    int critical;
} rd_frame_at;

static void evaluate_frame(const rd_range *range, const rd_task *task, const double *rows, const double *inverse,
                           rd_frame_at *at)
{
    const int n = range->n;
    rd_six mobility = {{0.0}}, squares = {{0.0}};
    memset(at->frames, 0, sizeof at->frames);
    for (int i = 0; i < AXES; ++i) {
        for (int j = 0; j < n; ++j) {
            range->solved[i * n + j] = dot(rows + i * n, inverse + j * n, n);
        }
        for (int k = 0; k < AXES; ++k) {
            mobility[i][k] = dot(range->solved + i * n, rows + k * n, n);
            squares[i][k] = dot(rows + i * n, rows + k * n, n);
        }
        at->frames[0][i][i] = at->frames[1][i][i] = at->frames[2][i][i] = 1.0;
    }
    rd_find_mobility(mobility, task->regularization[0], 0, at->frames[0], &at->inertia);
    rd_find_mobility(squares, task->regularization[1], 1, at->frames[1], &at->squares);
    at->critical = rd_find_damping(task, mobility, at->frames[2], at->root, at->values);
}

/* Force of springs, or of dampers, of the frame along a way (6). */
static void frame_force(const rd_task *task, const rd_frame_at *at, int damps, const double way[AXES], double force[AXES])
{
    double given[AXES], damped[AXES] = {0.0};
    for (int i = 0; i < AXES; ++i) {
        const double least = task->decoupled ? 2.0 * sqrt(task->stiffness[i]) : 0.0;
        const double damping = task->damping[i] < 0.0 ? least : task->damping[i];
        given[i] = (damps ? damping : task->stiffness[i]) * way[i];
    }
    if (task->decoupled) {
        apply_inverse(&at->inertia, given, force);
        return;
    }
    if (damps && at->critical) {
        apply_scaled(at->frames[2], at->values, at->root, way, damped);
    }
    for (int i = 0; i < AXES; ++i) {
        force[i] = given[i] + damped[i];
    }
}

rd_rates rd_frame_rates(const rd_range *range, const rd_task *task, int posture)
{
    const int n = range->n;
    rd_rates rates = {0.0, 0.0, 0};
    rd_frame_at at;
    for (int pose = 0; pose < 2 * RD_SPRING_POSES; ++pose) {
        const int k = pose / 2, damps = pose % 2;
        const double *rows = range->rows + AXES * n * k, *inverse = range->inverse + k * n * n;
        if (!damps) {
            evaluate_frame(range, task, rows, inverse, &at);
        }
        for (int j = 0; j < n; ++j) {
            const double spring = posture ? task->posture_stiffness[j] : 0.0, own = posture ? task->posture_damping : 0.0;
            const double damper = own < 0.0 ? 2.0 * sqrt(spring * range->inertia[k * n + j]) : own;
            const double pull = damps ? damper : spring;
            double way[AXES], force[AXES], moved[AXES], taken[AXES] = {0.0};
            for (int i = 0; i < AXES; ++i) {
                way[i] = rows[i * n + j];
                moved[i] = pull * (task->projector == RD_PROJECT_DYNAMIC ? range->solved[i * n + j] : way[i]);
            }
            frame_force(task, &at, damps, way, force);
            if (task->projector != RD_PROJECT_NONE) {
                apply_inverse(task->projector == RD_PROJECT_DYNAMIC ? &at.inertia : &at.squares, moved, taken);
            }
            for (int i = 0; i < n; ++i) {
                double sum = pull * inverse[i * n + j];
                for (int axis = 0; axis < AXES; ++axis) {
                    sum += range->solved[axis * n + i] * (force[axis] - taken[axis]);
                }
                range->matrix[i * n + j] = sum;
            }
        }
        double *rate = damps ? &rates.kv : &rates.kp;
        *rate = largest_eigenvalue(range, *rate);
    }
    rates.kv = least_damped(&rates, AXES, task->stiffness, task->damping);
    return rates;
}

int rd_equivalent_gains(const rd_settings *s, int n, const double *lower, const double *upper, double *kp, double *kv)
{
    rd_range range;
    if (!(RD_YIELDING >> s->mode & 1U)) {
        return 1;
    }
    const int known = rd_evaluate_range(s, n, lower, upper, &range);
    if (known && s->mode == RD_JOINT_IMPEDANCE) {
        rd_joint_rates(&range, s->stiffness, s->damping, kp, kv);
    } else if (known) {
        const rd_rates rates = rd_frame_rates(&range, s->task, s->task->posture_effort > 0.0);
        for (int j = 0; j < n; ++j) {
            kp[j] = rates.kp;
            kv[j] = rates.kv;
        }
    }
    free(range.inverse);
    return known;
}
