/* Inequalities of the fastest profile whose efforts change no faster than their limits, see rate.c. */
#ifndef RD_RATE_H
#define RD_RATE_H

#include "retime.h"

/* A limit of what has none. */
#define RD_NONE 1e30

/* Inequalities f(x) <= 0 of four kinds for each column: effort high and low, rate rising and falling. */
enum { RD_HIGH, RD_LOW, RD_RISE, RD_FALL, RD_SIDES };

struct rd_rates {
    int points, columns, rest[2]; /* points: intervals, and one before and one behind; columns: joints, path, empty ones */
    int failed, failed_joint;     /* interval and joint of the fastest change of an effort */
    double failed_value;
    double worst;                  /* largest share of a limit that the motion uses */
    double *p, *q, *c;             /* (points, columns): effort at the grid's point behind an interval: p x_i + q x_(i+1) + c */
    double *before, *behind;       /* (points): x there: before x_i + behind x_(i+1) */
    double *mean;                  /* (points, 3): mean of x in an interval, by the coefficients before, of and behind it */
    double duration, *span, *steep; /* at the last x: sum; (points): times of the intervals, derivatives by their means */
    double *length;                /* (points): time of an interval times the root of its mean */
    double *viscous;               /* linear friction per root of x, with its sign */
    double *swift;                 /* velocity per root of x, for `curved` */
    const struct rd_retiming *curved; /* where viscous friction of a joint is not linear; NULL: nowhere */
    double *high, *low, *up, *down; /* limits less dry friction, low as a magnitude; factors of the load's share */
    double *rate;                  /* of change in the interval */
    double *tau, *slope;           /* effort with viscous friction; derivative of the latter by each x */
    double *slack[RD_SIDES], *dual[RD_SIDES], *way[RD_SIDES];
    double *lack[RD_SIDES], *drop[RD_SIDES]; /* f(x) + slack, where x does not keep the limits yet; loss of slack of a step */
    double *x, *next, *kept, *best, *step, *most, *dual_most, *way_most, *dual_least, *way_least, *band;
    double *base;                  /* (points of the grid): x without limits of rates */
    double *hold;                  /* (2, columns): efforts that hold the arm at both ends */
};

double rd_spans(struct rd_rates *z, const double *x);
int rd_slacks(struct rd_rates *z, const double *x);
int rd_bounded(const struct rd_rates *z, int i);
double rd_deliver(struct rd_retiming *r, struct rd_rates *z);
int rd_beyond(const struct rd_retiming *r, struct rd_rates *z, double push, signed char *coarse);
int rd_slower(struct rd_retiming *r, struct rd_rates *z, signed char *coarse, double most);
int rd_interior(struct rd_rates *z, double start, double stop, int loose);

#endif
