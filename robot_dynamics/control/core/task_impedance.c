/* Impedance of a frame of an arm: it yields to external forces like springs and dampers at its reference pose.
 *
 *     tau = C(q, qd) qd_d + g + M qdd_d + J^T F + N tau_n,    F = K clip(e) + D (V_d - V)
 *
 * with the pose error e and the twists V, in root axes or in those of the frame. With an exact model it is passive, as
 * joint impedance is. Decoupled by the operational-space inertia Lambda = (J M^-1 J^T)^-1,
 *
 *     tau = C(q, qd) qd + g + M qdd_d + J^T F + N tau_n,     F = Lambda (K clip(e) + D (V_d - V) + A_d - J qdd_d - Jd qd)
 *
 * with the acceleration A_d of the reference, the error obeys e'' + D e' + K e = -Lambda^-1 F_ext. A damping below zero is critical: 2 sqrt(k) decoupled, else that of every mode
 * of frame and springs, D = 2 K^1/2 (K^1/2 Lambda^-1 K^1/2)^-1/2 K^1/2. The posture, a spring tau_n to the reference's
 * joints, is projected by N so that it moves the frame no more: dynamically N = 1 - J^T Lambda J M^-1, kinematically
 * N = 1 - J^T (J J^T)^-1 J; decoupled, always dynamically.
 *
 * In a direction in which the frame can hardly be moved, at a singularity, Lambda does not grow beyond LEAST_MOBILITY:
 * efforts stay bounded and continuous there, and N leaves the posture what the frame cannot do. A regularization does so
 * instead where it is given, in the units of the frame as they are: it takes from Lambda everywhere, and is no limit. */
#include "laws.h"
#include "cholesky.h"
#include "six.h"

#include <math.h>
#include <string.h>

static const double ALMOST_NONE = 1e-6;     /* share of the largest, below which an arm with few joints cannot move at all */
static const double LEAST_MOBILITY = 3e-2;  /* share of the third smallest that an eigenvalue of J M^-1 J^T is at least:
                                               a light wrist makes the largest ones and the mean very large */
static const double LEVER = 0.1;            /* length at which turning and moving compare [m] */
static const double TURNED_ROUND = 0.3;     /* the spring fades so far before half a turn, where its sense changes [rad] */
static const double BEYOND = 1.02;          /* share of a velocity limit that springs may take a joint to before the next state */
static const double PI = 3.14159265358979323846;
static const double PUSH_SMOOTHED = 0.05;   /* time constant of a wrench that is asked for [s] */

/* Both vectors of six numbers in root axes, in the axes of a pose. */
static void turn_into(const double pose[16], double x[AXES])
{
    double given[AXES];
    memcpy(given, x, sizeof given);
    for (int i = 0; i < 3; ++i) {
        x[i] = pose[i] * given[0] + pose[4 + i] * given[1] + pose[8 + i] * given[2];
        x[3 + i] = pose[i] * given[3] + pose[4 + i] * given[4] + pose[8 + i] * given[5];
    }
}

/* From a pose to another one, in root axes: way, and rotation vector. */
static void pose_error(const double from[16], const double to[16], double e[AXES])
{
    double r[3][3];
    for (int i = 0; i < 3; ++i) {
        e[i] = to[4 * i + 3] - from[4 * i + 3];
        for (int j = 0; j < 3; ++j) {
            r[i][j] = dot(to + 4 * i, from + 4 * j, 3);
        }
    }
    /* The quaternion from the largest of its four squares. */
    double w, x[3];
    const double trace = r[0][0] + r[1][1] + r[2][2];
    int k = r[1][1] > r[0][0] ? 1 : 0;
    k = r[2][2] > r[k][k] ? 2 : k;
    if (trace > r[k][k]) {
        w = 1.0 + trace;
        for (int i = 0; i < 3; ++i) {
            x[i] = r[(i + 2) % 3][(i + 1) % 3] - r[(i + 1) % 3][(i + 2) % 3];
        }
    } else {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        w = r[j][i] - r[i][j];
        x[k] = 1.0 + 2.0 * r[k][k] - trace;
        x[i] = r[k][i] + r[i][k];
        x[j] = r[k][j] + r[j][k];
    }
    const double size = sqrt(dot(x, x, 3)), angle = 2.0 * atan2(size, fabs(w));
    const double fade = fmin(1.0, (PI - angle) / TURNED_ROUND);
    for (int i = 0; i < 3; ++i) {
        e[3 + i] = size > 0.0 ? copysign(1.0, w) * fmax(fade, 0.0) * angle / size * x[i] : 0.0;
    }
}

static int use(rd_kernel kernel, const double *a, const double *b, const double *c, double *out)
{
    const double *in[] = {a, b, c};
    return kernel(in, out);
}

/* Rows (6, n) in the axes of a pose. */
static void turn_rows(const double pose[16], int n, double *rows)
{
    for (int j = 0; j < n; ++j) {
        double column[AXES];
        for (int i = 0; i < AXES; ++i) {
            column[i] = rows[i * n + j];
        }
        turn_into(pose, column);
        for (int i = 0; i < AXES; ++i) {
            rows[i * n + j] = column[i];
        }
    }
}

/* Add J^T f. */
static void add_force(const double *jacobian, int n, const double f[AXES], double *effort)
{
    for (int i = 0; i < AXES; ++i) {
        for (int j = 0; j < n; ++j) {
            effort[j] += jacobian[i * n + j] * f[i];
        }
    }
}

/* The wrench that is asked for beside the springs; it comes and goes smoothly, and only in its own mode. */
static void add_push(rd_core *core, const rd_settings *s, const double here[16], double force[AXES])
{
    const int lasts = s->mode == RD_CARTESIAN_IMPEDANCE && !core->trip.latched
        && core->time <= atomic_load_explicit(&core->pushed_until, memory_order_acquire);
    const double elapsed = core->time - core->push_time;
    const double share = elapsed > 0.0 ? fmin(1.0, elapsed / (elapsed + PUSH_SMOOTHED)) : 0.0;
    double push[AXES];
    for (int i = 0; i < AXES; ++i) {
        const double wanted = lasts ? atomic_load_explicit(&core->push[i], memory_order_relaxed) : 0.0;
        push[i] = core->pushes[i] += share * (wanted - core->pushes[i]);
    }
    core->push_time = core->time;
    if (s->task->axes == RD_TASK_FRAME) {
        turn_into(here, push);
    }
    for (int i = 0; i < AXES; ++i) {
        force[i] += push[i];
    }
}

/* Eigenvalues, at least LEAST_MOBILITY of the third smallest, inverted; or with a regularization e, x / (x^2 + e^2), of
 * squares 1 / (x + e^2). */
static void invert_mobility(double values[AXES], double regularization, int squares)
{
    const double added = regularization * regularization;
    double low[3] = {INFINITY, INFINITY, INFINITY}, most = 0.0;
    for (int i = 0; i < AXES; ++i) {
        double rest = values[i];
        most = fmax(most, rest);
        for (int k = 0; k < 3; ++k) {
            const double smaller = fmin(low[k], rest);
            rest = fmax(low[k], rest);
            low[k] = smaller;
        }
    }
    for (int i = 0; i < AXES; ++i) {
        const double value = fmax(values[i], 0.0), least = LEAST_MOBILITY * fmax(low[2], ALMOST_NONE * most);
        values[i] = added > 0.0 ? (squares ? 1.0 / (value + added) : value / (value * value + added))
            : least > 0.0       ? 1.0 / fmax(value, least)
                                : 0.0;
    }
}

int rd_find_damping(const rd_task *task, const rd_six w, rd_row modes[AXES], double root[AXES], double values[AXES])
{
    double most = 0.0;
    rd_six scaled;
    int critical = 0;
    for (int i = 0; i < AXES; ++i) {
        const int own = task->damping[i] < 0.0 && task->stiffness[i] > 0.0;
        root[i] = own ? sqrt(task->stiffness[i]) : 0.0;
        critical |= own;
    }
    if (!critical) {
        return 0;
    }
    const rd_row roots = {root[0], root[1], root[2], root[3], root[4], root[5]};
    for (int i = 0; i < AXES; ++i) {
        scaled[i] = root[i] * w[i] * roots;
    }
    find_eigen(scaled, modes, values);
    for (int i = 0; i < AXES; ++i) {
        most = fmax(most, values[i]);
    }
    for (int i = 0; i < AXES; ++i) {
        values[i] = most > 0.0 ? 2.0 / sqrt(fmax(values[i], 1e-12 * most)) : 0.0;
    }
    return 1;
}

/* Damping force at a twist: given, or critical with springs at the mobility w = J M^-1 J^T. */
static void damp(rd_core *core, const rd_task *task, const rd_six w, const double rate[AXES], double force[AXES])
{
    double root[AXES], values[AXES], damped[AXES];
    for (int i = 0; i < AXES; ++i) {
        force[i] = fmax(task->damping[i], 0.0) * rate[i];
    }
    if (!rd_find_damping(task, w, core->task.modes, root, values)) {
        return;
    }
    apply_scaled(core->task.modes, values, root, rate, damped);
    for (int i = 0; i < AXES; ++i) {
        force[i] += damped[i];
    }
}

/* L^-1 times rows of six numbers, in their place. */
static void solve_rows(const double *l, int n, rd_row *rows)
{
    for (int i = 0; i < n; ++i) {
        rd_row left = rows[i];
        for (int k = 0; k < i; ++k) {
            left -= l[i * n + k] * rows[k];
        }
        rows[i] = left * l[i * n + i];
    }
}

/* True if LEAST_MOBILITY limits no eigenvalue: by the inverse of the factor, the trace of the matrix' inverse bounds the
 * inverse of the least one, and the third smallest is at most the trace of either half. */
static int is_mobile(const rd_six inverse, double third)
{
    rd_row squares = {0.0};
    double most = 0.0;
    for (int i = 0; i < AXES; ++i) {
        squares += inverse[i] * inverse[i];
    }
    for (int i = 0; i < AXES; ++i) {
        most += squares[i];
    }
    return LEAST_MOBILITY * third * most < 1.0;
}

void rd_find_mobility(const rd_six matrix, double regularization, int squares, rd_row frame[AXES], rd_mobility *found)
{
    static const double EVEN[2][AXES] = {{1.0, 1.0, 1.0, LEVER, LEVER, LEVER}, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0}};
    const double *even = found->even = EVEN[regularization > 0.0];
    double half[2] = {0.0, 0.0}, lower[AXES * AXES];
    const rd_row evens = {even[0], even[1], even[2], even[3], even[4], even[5]};
    rd_six scaled;
    for (int i = 0; i < AXES; ++i) {
        scaled[i] = even[i] * matrix[i] * evens;
        for (int k = 0; k <= i; ++k) {
            lower[i * AXES + k] = scaled[i][k];
        }
        half[i / 3] += scaled[i][i];
        found->inverse[i] = (rd_row){0.0};
        found->inverse[i][i] = found->values[i] = 1.0;
    }
    found->rows = found->inverse;
    if (!(regularization > 0.0) && factor(lower, AXES)) {
        solve_rows(lower, AXES, found->inverse);
        if (is_mobile(found->inverse, fmin(half[0], half[1]))) {
            return;
        }
    }
    found->rows = frame;
    find_eigen(scaled, frame, found->values);
    invert_mobility(found->values, regularization, squares);
}

/* The spring that pushes a joint back from a position limit, with critical damping that comes as the spring does. */
static double pushed_back(const rd_core *core, const rd_settings *s, int j, double mass)
{
    const rd_task *task = s->task;
    const double q = core->seen->position[j], near = task->limit_range;
    if (!(near > 0.0)) {
        return 0.0;
    }
    const double low = fmin(fmax((near - (q - s->position_limits[j])) / near, 0.0), 1.0);
    const double high = fmin(fmax((near - (s->position_limits[core->n + j] - q)) / near, 0.0), 1.0);
    const double damping = 2.0 * sqrt(task->limit_effort / near * mass) * fmax(low, high);
    return task->limit_effort * (low - high) - damping * core->seen->velocity[j];
}

/* Sum of the products of columns (n) with themselves. */
static void find_products(const rd_row *columns, int n, rd_six products)
{
    for (int i = 0; i < AXES; ++i) {
        rd_row sum = {0.0};
        for (int j = 0; j < n; ++j) {
            sum += columns[j][i] * columns[j];
        }
        products[i] = sum;
    }
}

/* Share of what pulls (n) that, by the model, takes no joint far beyond its velocity limit before the next state: where
 * axes align, a light load would be thrown by springs of the heavy one. `mass` (n, n) is factored, `found` (n) scratch. */
static double share_of_pull(const rd_core *core, const rd_settings *s, const double *mass, const double *pull, double *found)
{
    const double period = rd_longest_recent(core, rd_control_period(core, s));
    double share = 1.0;
    solve_lower(mass, core->n, pull, found);
    solve_upper(mass, core->n, found, found);
    for (int j = 0; j < core->n; ++j) {
        const double gained = fabs(found[j]) * period;
        const double room = BEYOND * s->velocity_limits[j] - copysign(1.0, found[j]) * core->state.velocity[j];
        share = gained > room ? fmin(share, fmax(room, 0.0) / gained) : share;
    }
    return share;
}

int rd_cartesian_impedance(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    const rd_task *task = s->task;
    const int n = core->n;
    const rd_motion *r = &core->reference;
    const double *q = core->seen->position, *qd = core->seen->velocity, *beside = rd_measured_now(s);
    double *jacobian = core->task.rows, *next = jacobian + AXES * n, *mass = core->matrix;
    rd_row *columns = (rd_row *)(next + AXES * n); /* (n) of the Jacobian */
    double *acceleration = core->scratch[3], *posture = core->scratch[1], *lowered = core->scratch[2];
    double soft = 1.0, here[16], there[16], e[AXES], rate[AXES], force[AXES];
    rd_six w = {{0.0}};
    rd_mobility mobility;
    (void)ahead;
    (void)half;
    if (s == core->settings) {
        rd_drop_driving_load(core, rd_since_estimate(core), s->error_clip);
    }
    for (int j = 0; j < n; ++j) {
        soft = fmin(soft, core->softness[j]); /* the frame's springs pull at every joint */
        acceleration[j] = r->acceleration[j] + core->disturbance[j] + rd_braking_in_stop(core, s, j);
    }
    if (!task
        || !(task->decoupled ? s->machine->dynamics(core, s, q, qd, acceleration, r->velocity, effort)
                             : rd_yielding_dynamics(core, s, acceleration, effort))
        || !use(task->pose, q, beside, NULL, here) || !use(task->pose, r->position, beside, NULL, there)
        || !use(task->jacobian, q, beside, NULL, jacobian) || !use(task->jacobian, r->position, beside, NULL, next)
        || !use(task->mass_matrix, q, s->payload, beside, mass)) {
        return 0;
    }
    for (int j = 0; j < n; ++j) {
        mass[j * n + j] += s->driven ? s->rotor_inertia[j] : 0.0;
        const double k = task->posture_stiffness[j];
        const double d = task->posture_damping < 0.0 ? 2.0 * sqrt(k * mass[j * n + j]) : task->posture_damping;
        const double pull = soft * (soft * k * (r->position[j] - q[j]) + d * (r->velocity[j] - qd[j]));
        effort[j] += mass[j * n + j] * rd_braking_at_wall(core, s, j) + pushed_back(core, s, j, mass[j * n + j]);
        posture[j] = fmin(fmax(pull, -task->posture_effort), task->posture_effort);
    }
    pose_error(here, there, e);
    if (task->axes == RD_TASK_FRAME) {
        turn_into(here, e);
        turn_rows(here, n, jacobian);
        turn_rows(here, n, next);
    }
    if (!factor(mass, n)) {
        return 0;
    }
    for (int i = 0; i < AXES; ++i) {
        rate[i] = dot(next + i * n, r->velocity, n) - dot(jacobian + i * n, qd, n);
        e[i] = soft * soft * task->stiffness[i] * fmin(fmax(e[i], -task->error_clip[i]), task->error_clip[i]);
    }
    for (int j = 0; j < n; ++j) {
        const double *top = jacobian + j;
        columns[j] = (rd_row){top[0], top[n], top[2 * n], top[3 * n], top[4 * n], top[5 * n]};
    }
    const int projects = task->projector != RD_PROJECT_NONE;
    const int kinematic = task->projector == RD_PROJECT_KINEMATIC && !task->decoupled;
    rd_row moved = {0.0};
    if (kinematic) {
        find_products(columns, n, w);
        rd_find_mobility(w, task->regularization[1], 1, core->task.frame, &mobility);
        for (int j = 0; j < n; ++j) {
            moved -= posture[j] * columns[j];
        }
    }
    solve_rows(mass, n, columns);
    find_products(columns, n, w);
    if (!kinematic && (task->decoupled || projects)) {
        rd_find_mobility(w, task->regularization[0], 0, core->task.frame, &mobility);
        solve_lower(mass, n, posture, lowered);
        for (int j = 0; j < n; ++j) {
            moved -= lowered[j] * columns[j];
        }
    }
    if (task->decoupled) {
        double found[2][AXES], asked[AXES];
        if (!use(task->jacobian_rate, q, qd, beside, found[0])
            || !use(task->jacobian_rate, r->position, r->velocity, beside, found[1])) {
            return 0;
        }
        if (task->axes == RD_TASK_FRAME) {
            turn_into(here, found[0]);
            turn_into(here, found[1]);
        }
        for (int i = 0; i < AXES; ++i) {
            const double d = task->damping[i] < 0.0 ? 2.0 * sqrt(task->stiffness[i]) : task->damping[i];
            asked[i] = e[i] + soft * d * rate[i] + found[1][i] - found[0][i];
            for (int j = 0; j < n; ++j) {
                asked[i] += (next[i * n + j] - jacobian[i * n + j]) * r->acceleration[j];
            }
        }
        apply_inverse(&mobility, asked, force);
    } else {
        damp(core, task, w, rate, force);
        for (int i = 0; i < AXES; ++i) {
            force[i] = e[i] + soft * force[i];
        }
    }
    add_push(core, s, here, force);
    if (projects) {
        double held[AXES];
        apply_inverse(&mobility, (const double *)&moved, held);
        add_force(jacobian, n, held, posture);
    }
    add_force(jacobian, n, force, posture);
    const double share = share_of_pull(core, s, mass, posture, acceleration);
    for (int j = 0; j < n; ++j) {
        effort[j] += share * rd_within_speed(core, s, j, posture[j]);
        if (s == core->settings) {
            core->difference[j] *= share; /* of the springs before, which these balance while they replace them */
        }
    }
    return 1;
}
