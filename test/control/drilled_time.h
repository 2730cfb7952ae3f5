/* The time of a drill, which passes by the millisecond. */
#ifndef DRILLED_TIME_H
#define DRILLED_TIME_H

#include "loop.h"

static int64_t steady = 1000000000;

static int64_t read_clock(void)
{
    return steady;
}

/* No states for a while. */
static void silence(rd_loop *loop, double seconds)
{
    const int64_t until = steady + (int64_t)(1e9 * seconds);
    while (steady < until) {
        steady += 1000000;
        rd_loop_tick(loop, steady, steady);
    }
}
#endif
