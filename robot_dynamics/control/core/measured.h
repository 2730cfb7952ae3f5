/* The cycle's view of measured joints; see core.h. */
#ifndef RD_MEASURED_H
#define RD_MEASURED_H

#include "internal.h"

/* Their motion (3 m) in this cycle, as kernels take it; NULL: there are none. */
const double *rd_measured_now(const rd_settings *settings);
/* The same at rest. */
const double *rd_measured_rest(const rd_settings *settings);
/* Nothing happens where there are none (NULL). Begin a cycle: their motion half a period after a time. */
void rd_measured_advance(rd_measured *measured, double time, double period);
/* Note the efforts that their measured accelerations would take beside the given ones. */
void rd_measured_miss(rd_measured *measured, const rd_settings *settings, const double *position);
/* States are lost: from now on they are at rest. */
void rd_measured_lost(rd_measured *measured);
#endif
