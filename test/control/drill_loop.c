/* The loop and its core without ROS, Python and threads, for the sanitizers: a pendulum through every situation.
 *
 * Prints what leaves the loop; the test knows what it has to be.
 */
#include "drilled_pendulum.h"
#include "drilled_time.h"

#include <math.h>
#include <stdio.h>

static int sent, unseen;
static double last_effort;

static int weight(const double *const *in, double *out)
{
    out[0] = 2.0 * in[2][0] + 10.0 * in[0][0];
    return isfinite(out[0]);
}

static void send(void *to, rd_session *session, int64_t stamp, const double *effort)
{
    (void)session, (void)stamp;
    const rd_loop *loop = to;
    unseen += !loop->active && loop->done == loop->asked && !loop->shown_halting;
    ++sent;
    last_effort = effort[0];
}

static rd_settings make_settings(uint64_t number)
{
    rd_settings settings = pendulum_settings(number, weight);
    settings.safe_fade_time = 0.05;
    settings.stamp_step = 0.5;
    settings.looks_ahead = 1;
    return settings;
}

static void states(rd_loop *loop, int count, double place, double velocity)
{
    for (int i = 0; i < count; ++i) {
        steady += 1000000;
        rd_loop_state(loop, steady, steady, &place, velocity > 1e30 ? NULL : &velocity);
        rd_loop_tick(loop, steady, steady);
    }
}

/* A simulator: its clock goes on, or states come, or both; steady time passes in any case. */
static void simulate(rd_loop *loop, int count, int clock, int state)
{
    static int64_t simulated;
    static const double place = 0.2, velocity = 0.0;
    simulated = simulated ? simulated : steady;
    for (int i = 0; i < count; ++i) {
        steady += 1000000;
        simulated += 1000000;
        if (clock) {
            rd_loop_clock(loop, simulated, steady);
        }
        if (state) {
            rd_loop_state(loop, simulated, steady, &place, &velocity);
        }
        atomic_store(&loop->front_seen, steady);
        rd_loop_tick(loop, steady, simulated);
    }
}

static void tell(const char *what, const rd_loop *loop, const rd_core *core)
{
    printf("%s: sent %d, effort %.3f, phase %d, halting %d\n", what, sent, last_effort, core->phase, loop->safe != NULL);
    sent = 0;
}

int main(void)
{
    static rd_loop loop;
    rd_settings first = make_settings(1), second = make_settings(2);
    rd_core *core = rd_core_new(1, &first);
    rd_session *session = rd_session_new(core, 100000);
    static const double times[3] = {0.05, 0.15, 0.25};
    static const double coefficients[2][6][1] = {{{0.3}, {0}, {0}, {0.1}, {-0.15}, {0.06}}, {{0.31}, {0}, {0}, {0}, {0}, {0}}};
    static double record[64];
    int records = 0;

    rd_loop_init(&loop, read_clock, send, &loop, 0);
    states(&loop, 3, 0.3, 0.0);
    tell("nothing to use", &loop, core);
    rd_loop_offer(&loop, session);
    rd_loop_request(&loop, RD_ACTIVATE);
    silence(&loop, 0.2);
    rd_loop_request(&loop, RD_HALT);
    silence(&loop, 0.2);
    tell("before the first state", &loop, core);
    states(&loop, 3, 0.3, 0.0);
    tell("inactive", &loop, core);
    rd_loop_request(&loop, RD_ACTIVATE);
    states(&loop, 3, 0.3, 0.0);
    tell("holding", &loop, core);

    const rd_plan late = {1, core->epoch, 0, 3, (double[]){0.0, 0.1, 0.2}, coefficients[0][0], NULL, 0, 0};
    const rd_plan plan = {2, core->epoch, 0, 3, times, coefficients[0][0], NULL, 0, 0};
    const rd_plan superseded = {3, core->epoch, 0, 3, times, coefficients[0][0], NULL, 0, 0};
    rd_core_offer_plan(core, &late);
    states(&loop, 1, 0.3, 0.0);
    printf("late plan: %d\n", core->verdict);
    rd_core_offer_plan(core, &plan);
    states(&loop, 100, 0.3, 0.0);
    printf("plan: %d, segment %zu\n", core->verdict, core->current.segment);
    rd_core_offer_plan(core, &superseded);
    states(&loop, 1, 0.3, 0.0);
    printf("after another: %d\n", core->verdict);
    tell("following", &loop, core);
    rd_core_offer_settings(core, &second);
    silence(&loop, 0.095);
    tell("still waiting", &loop, core);
    silence(&loop, 0.2);
    tell("states lost", &loop, core);
    states(&loop, 1, 0.2, 1e31);
    tell("states back", &loop, core);
    states(&loop, 2, NAN, 0.0);
    tell("no number", &loop, core);
    states(&loop, 2, 0.2, 0.0);
    tell("numbers again", &loop, core);
    rd_loop_request(&loop, RD_HOLD);
    states(&loop, 1, 0.2, 0.0);
    for (int i = 0; i < 1100; ++i) {
        states(&loop, 1, 0.2, 0.0); /* the front is silent */
    }
    tell("nobody at home", &loop, core);
    atomic_store(&loop.front_seen, steady);
    states(&loop, 2, 0.2, 0.0);
    tell("somebody at home", &loop, core);

    /* The loop was stopped for 0.45 s: states that waited are no place to hold. */
    silence(&loop, 0.0);
    steady += 450000000;
    const double waited = 0.9, now = 0.2, still = 0.0;
    rd_loop_state(&loop, steady - 445000000, steady, &waited, &still);
    rd_loop_state(&loop, steady - 440000000, steady, &waited, &still);
    tell("states that waited", &loop, core);
    rd_loop_state(&loop, steady, steady, &now, &still);
    tell("a state of now", &loop, core);

    /* A halt in motion comes to rest first. */
    const double move_times[3] = {core->time + 0.001, core->time + 0.201, core->time + 0.301};
    static const double move[2][6][1] = {{{0.2}, {0}, {0}, {1.0}, {-1.5}, {0.6}}, {{0.3}, {0}, {0}, {0}, {0}, {0}}};
    const rd_plan moves = {core->considered + 1, core->epoch, 0, 3, move_times, move[0][0], NULL, 0, 0};
    rd_core_offer_plan(core, &moves);
    rd_motion here = {(double[1]){0}, (double[1]){0}, (double[1]){0}};
    for (int i = 0; i < 400; ++i) {
        if (i == 100) {
            rd_loop_request(&loop, RD_HALT);
        }
        steady += 1000000;
        rd_refer(core, core->time + 0.001, &here); /* the plant is where it shall be */
        rd_loop_state(&loop, steady, steady, here.position, here.velocity);
        rd_loop_tick(&loop, steady, steady);
        if (i == 99 || i == 101) {
            tell(i == 99 ? "in motion" : "coming to rest", &loop, core);
        }
        if (loop.safe && !loop.active) {
            printf("safe output at rest: %d, speed %.3f\n", core->phase == RD_STALE, fabs(here.velocity[0]));
            break;
        }
    }
    silence(&loop, 0.3);
    tell("at rest", &loop, core);
    rd_loop_request(&loop, RD_ACTIVATE);
    states(&loop, 3, 0.2, 0.0);
    tell("active again", &loop, core);

    while (rd_session_read(session, (rd_record *)record)) {
        ++records;
    }
    printf("records %d, lost %d\n", records, (int)rd_session_lost(session));
    int jumps = 0, losses = 0, back = 0;
    for (int i = 0; i < 5000; ++i) {
        atomic_store(&loop.front_seen, steady);
        states(&loop, 1, i < 4990 ? 0.2 : 0.2 + 0.1 * (i % 2), 0.0); /* the last ones jump to and fro */
    }
    silence(&loop, 0.2);
    states(&loop, 1, 0.2, 0.0);
    while (rd_session_read(session, (rd_record *)record)) {
        jumps += ((rd_record *)record)->discontinuity != 0;
        losses += ((rd_record *)record)->kind == RD_STATES_LOST;
        back += ((rd_record *)record)->back != 0;
    }
    printf("unread: %d jumps, %d loss, %d back\n", jumps, losses, back);
    sent = 0;
    loop.time.used = 1;
    simulate(&loop, 10, 0, 1);
    tell("no clock", &loop, core);
    simulate(&loop, 50, 1, 1);
    tell("simulated time", &loop, core);
    silence(&loop, 0.5);
    tell("a pause", &loop, core);
    simulate(&loop, 300, 0, 1);
    tell("states without time", &loop, core);
    simulate(&loop, 2, 1, 1);
    tell("time again", &loop, core);
    simulate(&loop, 300, 1, 0);
    tell("time without states", &loop, core);
    simulate(&loop, 2, 1, 1);
    loop.time.alone = 1;
    silence(&loop, 0.3);
    tell("nobody publishes", &loop, core);
    loop.time.alone = 0;
    simulate(&loop, 2, 1, 1);
    int clocks = 0, senders = 0;
    while (rd_session_read(session, (rd_record *)record)) {
        clocks += ((rd_record *)record)->kind == RD_CLOCK_STANDS;
        senders += ((rd_record *)record)->kind == RD_SENDERS_GONE;
    }
    printf("told: %d of the clock, %d of senders\n", clocks, senders);
    sent = 0;
    rd_loop_request(&loop, RD_HALT);
    silence(&loop, 0.2);
    tell("halted", &loop, core);
    printf("safe outputs of requests that looked met without them: %d\n", unseen);
    rd_loop_offer(&loop, NULL);
    silence(&loop, 0.01);
    rd_session_free(session);
    rd_core_free(core);
    return 0;
}
