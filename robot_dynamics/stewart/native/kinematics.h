/* Kinematics of a Stewart platform: leg lengths of a pose, and the pose of leg lengths.
 *
 * A pose is x, y, z [m] of the platform's origin in the base frame and the unit quaternion x, y, z, w of its
 * orientation. A twist is the origin's velocity [m/s] and the angular velocity [rad/s], base frame. Reentrant: no
 * allocation, no static data, bounded time. */
#ifndef STEWART_KINEMATICS_H
#define STEWART_KINEMATICS_H

#ifndef STEWART_API
#define STEWART_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* API */

typedef struct {
    double base[6][3];            /* centres of the base joints, base frame [m] */
    double platform[6][3];        /* centres of the platform joints, platform frame [m] */
    double characteristic_length; /* divides moments in the condition number [m] */
} stewart_geometry;

/* end of API */

/* Result of a search or a solution. */
enum {
    STEWART_FOUND = 0,
    STEWART_SINGULAR = 1,     /* the search ran into a singular pose */
    STEWART_NOT_FOUND = 2,    /* no pose near the start has these leg lengths */
    STEWART_NOT_A_LENGTH = 3, /* a length is not positive and finite, or the start is no pose */
};

/* Leg lengths (6) [m] and the Jacobian (6 x 6, row by row) that takes a twist to the rates of the lengths. */
STEWART_API void stewart_inverse_kinematics(const stewart_geometry *geometry, const double pose[7],
                                            double lengths[6], double jacobian[36]);

/* The pose near the start with these leg lengths, by Newton's steps, each halved until it makes the lengths' errors
 * smaller. Done when no length is off by more than the tolerance [m].
 * pose: the start; what was found takes its place with STEWART_FOUND alone.
 * residual, steps: greatest remaining error of a length [m], Newton's steps taken; either may be a null pointer. */
STEWART_API int stewart_forward_kinematics(const stewart_geometry *geometry, const double lengths[6],
                                           double tolerance, int most_steps, double pose[7], double *residual,
                                           int *steps);

/* The platform's twist (6) at a pose from the rates of its leg lengths (6) [m/s]; STEWART_FOUND or
 * STEWART_SINGULAR, which leaves it as it was. */
STEWART_API int stewart_twist(const stewart_geometry *geometry, const double pose[7], const double rates[6],
                              double twist[6]);

/* Ratio of the greatest to the least singular value of a Jacobian, moments divided by the characteristic length;
 * infinite in a singular pose. */
STEWART_API double stewart_condition_number(const stewart_geometry *geometry, const double jacobian[36]);

/* Turn a unit quaternion x, y, z, w further by a rotation vector in the base frame [rad]. */
STEWART_API void stewart_turn(double quaternion[4], const double vector[3]);

/* Solve a system of six equations for several right sides (6 x columns, row by row) by elimination with row pivots;
 * both are overwritten. Sign of the matrix's determinant; 0: there is no solution. */
STEWART_API int stewart_solve(double matrix[36], double *right, int columns);

#ifdef __cplusplus
}
#endif

#endif
