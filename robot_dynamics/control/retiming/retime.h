/* Time-optimal retiming along a path: x = (ds/dt)^2 is linear and u = d2s/dt2 constant between grid points.
 *
 * Effort of a joint: tau = a u + b x + c + friction(q' sqrt(x)), from three batch calls of inverse dynamics.
 * Backward pass: sets of x from which the end can be reached. Forward pass: the largest x in these sets.
 * Pham, Pham, "A new approach to time-optimal path parameterization based on reachability analysis", IEEE T-RO
 * 34 (2018) 645-659, with rows at both ends of each interval and friction that is not linear in x.
 */
#ifndef RD_RETIME_H
#define RD_RETIME_H

#include "friction.h"

#include <stddef.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

/* API */
enum rd_retime_result {
    RD_RETIMED,
    RD_NO_MEMORY,
    RD_NOT_FINITE, /* efforts or path that are not finite */
    RD_EMPTY,      /* no motion passes a point of the path within the limits */
    RD_START,      /* the start's speed is outside of what the path allows */
    RD_END,        /* the same of the end */
    RD_RATE,       /* no motion was found that keeps limits of the rate of efforts */
    RD_BEYOND,     /* a limit is exceeded between two points, whatever is done */
    RD_TOO_COARSE, /* the grid has to be finer: not for callers */
};

enum rd_retime_kind {
    RD_BY_EFFORT,
    RD_BY_VELOCITY,
    RD_BY_ACCELERATION,
    RD_BY_CAP, /* largest path speed that is asked for */
    RD_BY_RATE,
};

typedef int (*rd_efforts)(size_t count, const double *const *in, double *out);

struct rd_retiming {
    /* Path: quintics in the share of a segment, as control/spline.py has them. */
    int joints, segments;
    const double *knots;        /* (segments + 1) */
    const double *coefficients; /* (segments, 6, joints) */
    /* Model: rigid bodies and drives. */
    rd_efforts efforts;
    int constants;                  /* inputs after q, qd, qdd */
    const double *const *constant;
    const double *rotor;            /* (joints) */
    const double *friction;         /* (joints, RD_FRICTION_PARAMETERS): see friction.h */
    /* Limits, (joints); infinite where there is none. */
    const double *velocity, *acceleration, *effort;
    const double *rate; /* (joints): of the effort without dry friction; NULL: none has one */
    int variant;        /* of the start where rates are limited, 0: the usual one */
    double start, end; /* x at the ends; negative: free */
    double cap;        /* largest x */
    int intervals;     /* wanted number */
    int least;         /* of intervals per segment */
    int refinements;   /* most halvings of intervals in which the path changes too much */
    int rounds;        /* most solutions with larger margins on one grid */
    int solutions;     /* the same where rates are limited */
    /* Results; capacity: of the arrays with a row for each point. */
    int capacity, points, rounds_taken;
    double *s, *x;
    double *q, *qp, *qpp;  /* (points, joints) by s */
    double *a, *b, *c;     /* (points, joints), rotors included */
    int *kind, *joint;     /* (points): the limit that is nearest behind each point, and whose */
    double *share;         /* (points): how much of it is used */
    int rated, steps;      /* whether u and h hold, where rates are limited; steps that it took */
    double *u, *h;         /* (points): second derivative of s by time at it, and duration behind it */
    /* Request that cannot be met. */
    double failed_at, failed_value, failed_limit;
    int failed_joint, failed_kind;
};

int rd_retime(struct rd_retiming *r);
/* times (points), coefficients (points - 1, 6, joints) and three more numbers. */
int rd_retime_spline(const struct rd_retiming *r, double *times, double *coefficients);
/* end of API */

/* Parameters of a joint's friction. */
static inline const double *rd_friction_of(const struct rd_retiming *r, int joint)
{
    return r->friction + RD_FRICTION_PARAMETERS * joint;
}

struct rd_rows {
    int count;         /* rows for each point: efforts, then accelerations, then empty ones to a multiple of four */
    int efforts;       /* of them, of efforts */
    int *joint;        /* (count); -1: empty */
    double *limit;     /* (count) */
    double *a, *b, *c; /* (points, count) */
    double *upper, *lower; /* (points, count): limits less the margins of the interval behind the point */
    double *speed;     /* (points, count): |q'| of rows of efforts */
    double *drag;      /* (points, count): viscous friction per speed behind the point, with its sign, where not odd */
    double *push;      /* (points, count): dry friction behind the point, with its sign, where not odd */
    signed char *sign; /* (points, count): direction of motion behind the point */
    signed char *odd;  /* (count): whether friction depends on speed in another way, or on the load */
    signed char *knot; /* (points): whether a segment ends there */
    signed char *near; /* (points): places behind the point at which efforts are computed again */
    signed char *coarse; /* (points): whether the interval behind the point is too long */
    signed char *estimates, *tries; /* (points): how often its limits were lowered by estimates and by what is reached */
    signed char *kept;   /* (points): whether it keeps its limits with the x of `checked` */
    signed char *open;   /* (points): whether it has to be compared with its limits */
    signed char *dirty;  /* (points): whether limits behind the point have changed since the last solution */
    double *seen, *checked; /* (points): x of the last estimates, and of the last comparison */
    int finest;        /* whether no interval is halved any more */
    double *most;      /* (points): largest x by velocities */
    double *free;      /* (points): x without limits of rates */
    double *warm;      /* (points): coefficient of the interval behind a point on the grid before; negative: none */
    double *velocity;  /* (joints): their limits, and infinite ones to a multiple of four */
    double *slowness;  /* (joints): one by their limits */
    double spare;      /* the same of margins that are seen to be too small; grows with each solution */
    int any_odd;       /* whether any row is */
    int dry;           /* whether no joint has friction */
    int plain;         /* whether rows are those of the joints' efforts, in their order */
};

/* Four numbers at once, wherever they lie. */
typedef double rd_four __attribute__((vector_size(32), aligned(8), may_alias));
typedef long long rd_mask __attribute__((vector_size(32)));
#define FOUR(array, k) (*(rd_four *)((array) + (k)))

static inline rd_four rd_chosen(rd_mask mask, rd_four yes, rd_four no)
{
    return (rd_four)((mask & (rd_mask)yes) | (~mask & (rd_mask)no));
}

#ifdef __AVX__
static inline rd_four rd_larger(rd_four a, rd_four b)
{
    return (rd_four)_mm256_max_pd((__m256d)a, (__m256d)b);
}

static inline rd_four rd_smaller(rd_four a, rd_four b)
{
    return (rd_four)_mm256_min_pd((__m256d)a, (__m256d)b);
}

/* Bits of the numbers for which a mask holds. */
static inline unsigned rd_bits(rd_mask mask)
{
    return (unsigned)_mm256_movemask_pd((__m256d)mask);
}
#else
static inline rd_four rd_larger(rd_four a, rd_four b)
{
    return rd_chosen(a > b, a, b);
}

static inline rd_four rd_smaller(rd_four a, rd_four b)
{
    return rd_chosen(a < b, a, b);
}

static inline unsigned rd_bits(rd_mask mask)
{
    return (unsigned)((mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8));
}
#endif

static inline rd_four rd_size(rd_four a)
{
    return rd_larger(a, -a);
}

static inline int rd_any(rd_mask mask)
{
    return rd_bits(mask) != 0;
}

/* Share by which margins are larger than their estimates. */
#define RD_SPARE 0.1
/* Share of a limit that stays free of rounding. */
#define RD_FREE 1e-5
/* Share of a limit by which efforts may bend in an interval; beyond it they are computed at more places. */
#define RD_BENT 3e-4
/* A larger margin, as a share of the limit, asks for a finer grid. */
#define RD_COARSE 0.15
/* Below this speed the sign of dry friction is smooth [rad/s or m/s]. */
#define RD_SLOW (0.005 / 0.95)
#define RD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define RD_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Quintics by their ends: shares of the way, and of velocities and accelerations times their durations. */
struct rd_basis {
    double way[3], begin[3], end[3], bend[3], bent[3];
};

struct rd_basis rd_basis_at(double t);
void rd_inside(const struct rd_retiming *r, int i, int count, const struct rd_basis *basis, double *q, double *qd,
               double *qdd);
double rd_interval(const struct rd_retiming *r, int i);
double rd_bend_at(const struct rd_retiming *r, int i, int point);
int rd_retime_rates(struct rd_retiming *r, struct rd_rows *w, int fine);
int rd_call(const struct rd_retiming *r, int count, const double *q, const double *qd, const double *qdd, double *out);
int rd_path_segment(const struct rd_retiming *r, int segment, double s);
double rd_path_rate(const struct rd_retiming *r, int segment, int joint, double s);
void rd_path_middle(const struct rd_retiming *r, int *segment, double s, double *q, double *qp, double *qpp);
int rd_retime_grid(struct rd_retiming *r, signed char *knot);
int rd_retime_insert(struct rd_retiming *r, signed char *knot, const double *places, const int *behind, int count);
int rd_retime_rows(const struct rd_retiming *r, struct rd_rows *w);
int rd_retime_margins(const struct rd_retiming *r, struct rd_rows *rows);
int rd_retime_between(const struct rd_retiming *r, struct rd_rows *rows);
double rd_peak(const double *value, int count);
double rd_fastest(const double *v, double sign, double free);
double rd_doubt(const double *value, int count);
void rd_retime_shares(const struct rd_retiming *r, const struct rd_rows *rows);
void rd_dry(const double *p, double speed, int sign, double *upper, double *lower, double *slope);

#endif
