/* A loop with a pendulum, and expectations: what is not so is printed. */
#ifndef DRILLED_LOOP_H
#define DRILLED_LOOP_H

#include "drilled_pendulum.h"
#include "drilled_time.h"

#include <math.h>
#include <stdio.h>

enum { MS = 1000000, S = 1000000000 };
static int sent, expected, offset;
static double last_effort;
static rd_loop loop;
static rd_core *core;
static rd_session *session;
static rd_settings settings, braked;
static double record[64];

static void expect(int holds, const char *what)
{
    ++expected;
    if (!holds) {
        printf("not so: %s\n", what);
    }
}

static int near(double value, double wanted)
{
    return fabs(value - wanted) < 1e-6;
}

static int weight(const double *const *in, double *out)
{
    out[0] = 2.0 * in[2][0] + 10.0 * in[0][0];
    return in[1][0] < 10.0; /* it knows no faster motion */
}

static void send(void *to, rd_session *of, int64_t stamp, const double *effort)
{
    (void)to, (void)of, (void)stamp;
    ++sent;
    last_effort = effort[0];
}

/* A loop that controls since 5 states every ms; `changed` settings. */
static void begin(const rd_settings *changed, int lockstep)
{
    rd_session_free(session);
    rd_core_free(core);
    steady += 20 * (int64_t)S;
    offset = 0;
    core = rd_core_new(1, changed);
    session = rd_session_new(core, 100000);
    rd_loop_init(&loop, read_clock, send, NULL, lockstep);
    rd_loop_offer(&loop, session);
    rd_loop_request(&loop, RD_ACTIVATE);
}

static void state_at(double place, double velocity, int64_t stamp)
{
    atomic_store(&loop.front_seen, steady);
    rd_loop_state(&loop, stamp, steady, &place, &velocity);
}

static void moving_states(int count, double place, double velocity)
{
    for (int i = 0; i < count; ++i) {
        steady += MS;
        state_at(place, velocity, steady - offset);
        rd_loop_tick(&loop, steady, steady);
    }
}

static void states(int count, double place)
{
    moving_states(count, place, 0.0);
}

static int64_t tick(int64_t later)
{
    steady += later;
    return rd_loop_tick(&loop, steady, steady) - steady;
}

static rd_record *latest(int kind)
{
    static double found[64];
    ((rd_record *)found)->kind = -1;
    while (rd_session_read(session, (rd_record *)record)) {
        if (((rd_record *)record)->kind == kind) {
            memcpy(found, record, sizeof found);
        }
    }
    return (rd_record *)found;
}

/* A plan of 0.1 rad from 0.2 within so many seconds, from a time of the core on. */
static const double *coefficients(void)
{
    static const double values[6] = {0.2, 0.0, 0.0, 1.0, -1.5, 0.6};
    return values;
}

static rd_plan plan_of(double *times, double from, double seconds)
{
    times[0] = from;
    times[1] = from + seconds;
    return (rd_plan){core->considered + 1, core->epoch, 0, 2, times, coefficients(), NULL, 0, 0};
}

/* States where the reference is, every ms. */
static void follow(int count)
{
    rd_motion here = {(double[1]){0}, (double[1]){0}, (double[1]){0}};
    for (int i = 0; i < count; ++i) {
        steady += MS;
        rd_refer(core, core->time + 0.001, &here);
        state_at(here.position[0], here.velocity[0], steady);
        rd_loop_tick(&loop, steady, steady);
    }
}

static void make_settings(void)
{
    settings = pendulum_settings(1, weight);
    settings.safe_fade_time = 1.0;
    settings.stamp_step = 5.0;
    braked = settings;
    braked.brake_delay = 0.2;
}
#endif
