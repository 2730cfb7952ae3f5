/* A clock on the wall that a test moves: preloaded, it stands between a process and the system's time.
 * Deadlines by that clock are moved back for the system, which does not know of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    int64_t ahead;    /* of the system's time [ns] */
    int64_t stands_at; /* 0: it does not [ns] */
} wall_clock;

static const volatile wall_clock *wall;
static const int64_t SECOND = 1000000000;
static const time_t NO_UPTIME = 1000000000; /* deadlines after this many seconds are by the wall's clock */

__attribute__((constructor)) static void hang_up(void)
{
    const char *file = getenv("WALL_CLOCK");
    const int descriptor = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    void *shared = MAP_FAILED;
    if (descriptor >= 0) {
        shared = mmap(NULL, sizeof(wall_clock), PROT_READ, MAP_SHARED, descriptor, 0);
        close(descriptor);
    }
    wall = shared == MAP_FAILED ? NULL : shared;
}

static int64_t real(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

/* By how much the shown time is ahead of the system's [ns]. */
static int64_t ahead(void)
{
    if (!wall) {
        return 0;
    }
    return wall->stands_at ? wall->stands_at - real() : wall->ahead;
}

static struct timespec shown(void)
{
    const int64_t now = real() + ahead();
    return (struct timespec){.tv_sec = now / SECOND, .tv_nsec = now % SECOND};
}

static struct timespec moved_back(const struct timespec *deadline)
{
    if (deadline->tv_sec < NO_UPTIME) {
        return *deadline;
    }
    const int64_t at = deadline->tv_sec * SECOND + deadline->tv_nsec - ahead();
    return (struct timespec){.tv_sec = at / SECOND, .tv_nsec = at % SECOND};
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) {
        return (int)syscall(SYS_clock_gettime, clock, now);
    }
    *now = shown();
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    const struct timespec time = shown();
    (void)zone;
    *now = (struct timeval){.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *now)
{
    const struct timespec time = shown();
    if (now) {
        *now = time.tv_sec;
    }
    return time.tv_sec;
}

#define WAIT(name, parameters, arguments)                       \
    int name parameters                                         \
    {                                                           \
        static int(*original) parameters;                       \
        const struct timespec at = moved_back(deadline);        \
        if (!original) {                                        \
            *(void **)&original = dlsym(RTLD_NEXT, #name);      \
        }                                                       \
        return original arguments;                              \
    }

WAIT(pthread_cond_timedwait,
     (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline),
     (condition, mutex, &at))
WAIT(pthread_cond_clockwait,
     (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
      const struct timespec *restrict deadline),
     (condition, mutex, clock, &at))
WAIT(pthread_mutex_timedlock, (pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline),
     (mutex, &at))
WAIT(sem_timedwait, (sem_t *restrict semaphore, const struct timespec *restrict deadline), (semaphore, &at))
WAIT(sem_clockwait, (sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict deadline),
     (semaphore, clock, &at))
