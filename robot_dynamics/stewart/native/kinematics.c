#include "kinematics.h"

#include <math.h>

/* A Newton step that moves the platform by more than this multiple of the error in length is a singularity's. */
#define LONGEST_STEP 1e8
#define LEAST_FRACTION 1e-3
#define MOST_SWEEPS 60

static void swap(double *one, double *other, int count)
{
    for (int i = 0; i < count; i++) {
        const double value = one[i];
        one[i] = other[i];
        other[i] = value;
    }
}

static double greatest(const double values[6])
{
    double most = 0.0;
    for (int i = 0; i < 6; i++) {
        /* NaN counts as the greatest. */
        if (!(fabs(values[i]) <= most) && !isnan(most)) {
            most = fabs(values[i]);
        }
    }
    return most;
}

static double square(const double values[6])
{
    double sum = 0.0;
    for (int i = 0; i < 6; i++) {
        sum += values[i] * values[i];
    }
    return sum;
}

/* Differences of the wanted lengths from those of a pose. */
static void shortfall(const stewart_geometry *geometry, const double lengths[6], const double pose[7],
                      double error[6], double jacobian[36])
{
    stewart_inverse_kinematics(geometry, pose, error, jacobian);
    for (int i = 0; i < 6; i++) {
        error[i] = lengths[i] - error[i];
    }
}

static int usable(const double lengths[6], const double pose[7])
{
    for (int i = 0; i < 6; i++) {
        if (!(lengths[i] > 0.0 && isfinite(lengths[i]))) {
            return 0;
        }
    }
    for (int i = 0; i < 7; i++) {
        if (!isfinite(pose[i])) {
            return 0;
        }
    }
    return pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6] > 0.25;
}

/* A twist for rates (6), which it replaces. */
static int twist_of(const double jacobian[36], double values[6])
{
    double matrix[36];
    for (int i = 0; i < 36; i++) {
        matrix[i] = jacobian[i];
    }
    const double size = greatest(values);
    return stewart_solve(matrix, values, 1) && greatest(values) <= LONGEST_STEP * size;
}

void stewart_turn(double q[4], const double v[3])
{
    const double angle = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    const double half = angle > 1e-12 ? sin(0.5 * angle) / angle : 0.5;
    const double a = half * v[0], b = half * v[1], c = half * v[2], d = cos(0.5 * angle);
    const double x = q[0], y = q[1], z = q[2], w = q[3];
    const double p[4] = {d * x + a * w + b * z - c * y, d * y - a * z + b * w + c * x,
                         d * z + a * y - b * x + c * w, d * w - a * x - b * y - c * z};
    const double norm = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
    for (int i = 0; i < 4; i++) {
        q[i] = p[i] / norm;
    }
}

int stewart_solve(double matrix[36], double *right, int columns)
{
    int sign = 1;
    for (int k = 0; k < 6; k++) {
        int pivot = k;
        for (int i = k + 1; i < 6; i++) {
            if (fabs(matrix[6 * i + k]) > fabs(matrix[6 * pivot + k])) {
                pivot = i;
            }
        }
        if (!(fabs(matrix[6 * pivot + k]) > 0.0)) {
            return 0;
        }
        if ((pivot != k) != (matrix[6 * pivot + k] < 0.0)) {
            sign = -sign;
        }
        if (pivot != k) {
            swap(matrix + 6 * k, matrix + 6 * pivot, 6);
            swap(right + columns * k, right + columns * pivot, columns);
        }
        for (int i = k + 1; i < 6; i++) {
            const double factor = matrix[6 * i + k] / matrix[6 * k + k];
            for (int j = k; j < 6; j++) {
                matrix[6 * i + j] -= factor * matrix[6 * k + j];
            }
            for (int c = 0; c < columns; c++) {
                right[columns * i + c] -= factor * right[columns * k + c];
            }
        }
    }
    for (int k = 5; k >= 0; k--) {
        for (int c = 0; c < columns; c++) {
            for (int j = k + 1; j < 6; j++) {
                right[columns * k + c] -= matrix[6 * k + j] * right[columns * j + c];
            }
            right[columns * k + c] /= matrix[6 * k + k];
        }
    }
    return sign;
}

void stewart_inverse_kinematics(const stewart_geometry *geometry, const double pose[7], double lengths[6],
                                double jacobian[36])
{
    const double x = pose[3], y = pose[4], z = pose[5], w = pose[6];
    const double rotation[3][3] = {
        {1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)},
        {2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)},
        {2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)},
    };
    for (int leg = 0; leg < 6; leg++) {
        const double *point = geometry->platform[leg], *base = geometry->base[leg];
        double arm[3], s[3], squares = 0.0;
        for (int i = 0; i < 3; i++) {
            arm[i] = rotation[i][0] * point[0] + rotation[i][1] * point[1] + rotation[i][2] * point[2];
            s[i] = arm[i] + pose[i] - base[i];
            squares += s[i] * s[i];
        }
        lengths[leg] = sqrt(squares);
        for (int i = 0; i < 3; i++) {
            s[i] /= lengths[leg];
        }
        double *row = jacobian + 6 * leg;
        row[0] = s[0];
        row[1] = s[1];
        row[2] = s[2];
        row[3] = arm[1] * s[2] - arm[2] * s[1];
        row[4] = arm[2] * s[0] - arm[0] * s[2];
        row[5] = arm[0] * s[1] - arm[1] * s[0];
    }
}

int stewart_forward_kinematics(const stewart_geometry *geometry, const double lengths[6], double tolerance,
                               int most_steps, double pose[7], double *residual, int *steps)
{
    double now[7], error[6], jacobian[36];
    int taken = 0, result = STEWART_FOUND;
    if (!usable(lengths, pose)) {
        return STEWART_NOT_A_LENGTH;
    }
    for (int i = 0; i < 7; i++) {
        now[i] = pose[i];
    }
    stewart_turn(now + 3, (const double[3]){0.0, 0.0, 0.0});
    shortfall(geometry, lengths, now, error, jacobian);
    while (greatest(error) > tolerance && taken < most_steps) {
        double step[6], fraction = 1.0;
        for (int i = 0; i < 6; i++) {
            step[i] = error[i];
        }
        if (!twist_of(jacobian, step)) {
            result = STEWART_SINGULAR;
            break;
        }
        for (;;) {
            double trial[7], missing[6];
            const double angles[3] = {fraction * step[3], fraction * step[4], fraction * step[5]};
            for (int i = 0; i < 7; i++) {
                trial[i] = now[i] + (i < 3 ? fraction * step[i] : 0.0);
            }
            stewart_turn(trial + 3, angles);
            shortfall(geometry, lengths, trial, missing, jacobian);
            if (square(missing) < square(error)) {
                for (int i = 0; i < 7; i++) {
                    now[i] = trial[i];
                }
                for (int i = 0; i < 6; i++) {
                    error[i] = missing[i];
                }
                break;
            }
            if (fraction < LEAST_FRACTION) {
                most_steps = 0;
                break;
            }
            fraction *= 0.5;
        }
        taken++;
    }
    if (residual) {
        *residual = greatest(error);
    }
    if (steps) {
        *steps = taken;
    }
    if (result == STEWART_FOUND && !(greatest(error) <= tolerance)) {
        result = STEWART_NOT_FOUND;
    }
    for (int i = 0; i < 7 && result == STEWART_FOUND; i++) {
        pose[i] = now[i];
    }
    return result;
}

int stewart_twist(const stewart_geometry *geometry, const double pose[7], const double rates[6], double twist[6])
{
    double values[6], lengths[6], jacobian[36];
    for (int i = 0; i < 6; i++) {
        values[i] = rates[i];
    }
    stewart_inverse_kinematics(geometry, pose, lengths, jacobian);
    if (!twist_of(jacobian, values)) {
        return STEWART_SINGULAR;
    }
    for (int i = 0; i < 6; i++) {
        twist[i] = values[i];
    }
    return STEWART_FOUND;
}

/* Singular values by one-sided Jacobi rotations: columns are turned in pairs until all are perpendicular. */
double stewart_condition_number(const stewart_geometry *geometry, const double jacobian[36])
{
    double a[6][6], most = 0.0, least = INFINITY;
    int turning = 1;
    for (int i = 0; i < 36; i++) {
        if (!isfinite(jacobian[i])) {
            return INFINITY;
        }
        /* Row j of a is column j of the Jacobian. */
        a[i % 6][i / 6] = i % 6 < 3 ? jacobian[i] : jacobian[i] / geometry->characteristic_length;
    }
    for (int sweep = 0; sweep < MOST_SWEEPS && turning; sweep++) {
        turning = 0;
        for (int p = 0; p < 5; p++) {
            for (int q = p + 1; q < 6; q++) {
                double pq = 0.0;
                const double pp = square(a[p]), qq = square(a[q]);
                for (int i = 0; i < 6; i++) {
                    pq += a[p][i] * a[q][i];
                }
                if (!(fabs(pq) > 1e-16 * sqrt(pp * qq))) {
                    continue;
                }
                turning = 1;
                const double zeta = (qq - pp) / (2.0 * pq);
                const double t = copysign(1.0, zeta) / (fabs(zeta) + sqrt(1.0 + zeta * zeta));
                const double c = 1.0 / sqrt(1.0 + t * t), s = c * t;
                for (int i = 0; i < 6; i++) {
                    const double x = a[p][i], y = a[q][i];
                    a[p][i] = c * x - s * y;
                    a[q][i] = s * x + c * y;
                }
            }
        }
    }
    for (int p = 0; p < 6; p++) {
        const double value = sqrt(square(a[p]));
        most = value <= most ? most : value;
        least = value >= least ? least : value;
    }
    return least > 0.0 ? most / least : INFINITY;
}
