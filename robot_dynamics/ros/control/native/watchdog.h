/* A thread that sends the fail-safe output over rcl where the loop of a host hangs, whatever holds it. */
#ifndef RD_WATCHDOG_H
#define RD_WATCHDOG_H

#include "node.h"

/* API */

typedef struct rd_watchdog rd_watchdog;

/* Watches a host from now on, with the publishers of rcl that are lent; its event and its guard condition are signalled
 * when the watchdog takes over. priority: real-time priority, 0: none. NULL if it cannot be. */
rd_watchdog *rd_watchdog_start(rd_host *host, const rd_borrowed *borrowed, int priority);
void rd_watchdog_stop(rd_watchdog *watchdog);

/* end of API */
#endif
