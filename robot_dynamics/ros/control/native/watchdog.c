/* See watchdog.h. */
#include "watchdog.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

static const int64_t PERIOD = 10000000; /* between two looks, and between two commands [ns] */
enum { LOOKS = 5 };                     /* in a row and in time: a process that stood still as a whole goes on by itself */

struct rd_watchdog {
    rd_host *host;
    rd_borrowed borrowed;
    int priority, stopping;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ends;
};

static void send_instead(void *to, const rd_outbox *outbox)
{
    rd_publish_efforts(&((const rd_watchdog *)to)->borrowed, outbox);
}

/* Wait for a period; whether to go on. */
static int rest(rd_watchdog *watchdog)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PERIOD;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&watchdog->lock);
    int ended = 0;
    while (!watchdog->stopping && !ended) {
        ended = pthread_cond_timedwait(&watchdog->ends, &watchdog->lock, &until) != 0;
    }
    const int goes_on = !watchdog->stopping;
    pthread_mutex_unlock(&watchdog->lock);
    return goes_on;
}

static void *watch(void *argument)
{
    rd_watchdog *watchdog = argument;
    int64_t last = rd_steady_now();
    int looks = 0;
    rd_prepare_thread("watchdog", watchdog->priority);
    while (rest(watchdog)) {
        const int64_t steady = rd_steady_now();
        const int in_time = steady - last < 3 * PERIOD;
        last = steady;
        looks = !rd_host_overdue(watchdog->host, steady) ? 0 : looks >= LOOKS ? looks : in_time ? looks + 1 : 0;
        if (looks >= LOOKS && rd_host_overtake(watchdog->host, steady, send_instead, watchdog)) {
            rd_wake_front(&watchdog->borrowed);
        }
    }
    return NULL;
}

rd_watchdog *rd_watchdog_start(rd_host *host, const rd_borrowed *borrowed, int priority)
{
    rd_watchdog *watchdog = calloc(1, sizeof *watchdog);
    pthread_condattr_t steady;
    if (!watchdog) {
        return NULL;
    }
    watchdog->host = host;
    watchdog->borrowed = *borrowed;
    watchdog->priority = priority;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&watchdog->ends, &steady);
    pthread_condattr_destroy(&steady);
    pthread_mutex_init(&watchdog->lock, NULL);
    if (pthread_create(&watchdog->thread, NULL, watch, watchdog)) {
        free(watchdog);
        return NULL;
    }
    return watchdog;
}

void rd_watchdog_stop(rd_watchdog *watchdog)
{
    pthread_mutex_lock(&watchdog->lock);
    watchdog->stopping = 1;
    pthread_cond_signal(&watchdog->ends);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->thread, NULL);
    pthread_cond_destroy(&watchdog->ends);
    pthread_mutex_destroy(&watchdog->lock);
    free(watchdog);
}
