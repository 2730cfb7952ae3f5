/* fmax and fmin without calls, which compilers keep for NaN. */
#ifndef RD_EXTREMES_H
#define RD_EXTREMES_H

#include <math.h>

/* Results of fmax and fmin: if one argument is NaN, the other one. */
static inline double rd_larger(double a, double b)
{
    return a > b || isnan(b) ? a : b;
}

static inline double rd_smaller(double a, double b)
{
    return a < b || isnan(b) ? a : b;
}
#define fmax rd_larger
#define fmin rd_smaller

#endif
