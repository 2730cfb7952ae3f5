/* Rates of springs on the inertia of an arm; see spring_rates.c. */
#ifndef RD_SPRINGS_H
#define RD_SPRINGS_H

#include "laws.h"

enum { RD_SPRING_POSES = 256 };    /* poses over the range of the joints: coupled joints are fastest in few of them */

/* Rates of springs: gains on accelerations [1/s^2, 1/s], and whether any damping follows the stiffness. */
typedef struct {
    double kp, kv;
    int critical;
} rd_rates;

/* A model over the range of the joints. */
typedef struct {
    int n;
    double *inverse, *inertia, *rows; /* of each pose: (n, n) M^-1, (n) diagonal of M, (6, n) Jacobian */
    double *matrix, *square, *solved; /* scratch: (n, n), (n, n) and (6, n) */
} rd_range;

/* The model over the range of the joints; whether it has mass matrices that are positive definite. Free `inverse` then. */
int rd_evaluate_range(const rd_settings *settings, int n, const double *lower, const double *upper, rd_range *range);
/* Largest elements (n) on the diagonal of M^-1. */
void rd_find_mobilities(const rd_range *range, double *mobility);
/* Rates of springs at the joints, and in `kp` and `kv` (n) what each joint has of them. */
rd_rates rd_joint_rates(const rd_range *range, const double *stiffness, const double *damping, double *kp, double *kv);
/* Rates of the springs of a frame, with those of the posture or without. */
rd_rates rd_frame_rates(const rd_range *range, const rd_task *task, int posture);
#endif
