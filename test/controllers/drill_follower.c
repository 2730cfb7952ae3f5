/* The follower as the generated controller uses it, from two threads, to be run under ThreadSanitizer: states are lost
 * and return; at the end it is deactivated in the fail-safe output, while it controls, and while it brakes without states. */
#include "core/follower.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { N = 2, CYCLES = 20000, SETTINGS = 200 };

static int weights(const double *const *in, double *out)
{
    for (int j = 0; j < N; ++j) {
        out[j] = 10.0 * (j + 1) + in[2][j];
    }
    return 1;
}

static double wide[2 * N] = {-1e3, -1e3, 1e3, 1e3};
static double zero[N * RD_FRICTION_PARAMETERS + 10], many[N] = {1e3, 1e3}, gain[N] = {100.0, 100.0};
static rd_settings settings[SETTINGS];
static rd_follower *follower;
static atomic_int done;

static void *report(void *unused)
{
    rd_record record;
    double arrays[RD_FOLLOWER_ARRAYS * N];
    long records = 0;
    double largest[RD_RULES];
    for (int given = 1; !atomic_load(&done);) {
        while (rd_follower_read(follower, &record, arrays)) {
            ++records;
        }
        rd_follower_largest(follower, largest);
        if (given < SETTINGS && rd_follower_oldest_settings(follower) == settings[given - 1].number) {
            rd_follower_offer_settings(follower, &settings[given++]);
        }
    }
    fprintf(stderr, "%ld records\n", records);
    return unused;
}

static const double *run(int64_t k, int seen)
{
    static double position[N], velocity[N], reference[N];
    reference[0] = 0.01; /* an error, which feedback answers */
    rd_cycle cycle = {.stamp = 1000000 * k, .steady = 1000000 * k, .position = seen ? position : NULL,
                      .velocity = velocity, .reference = {reference, velocity, velocity}, .leads = 1,
                      .most_step = 0.1};
    return rd_follower_update(follower, &cycle);
}

static const double *follower_effort;

static void cycle_in_motion(int64_t k, int seen)
{
    static double position[N], velocity[N], still[N];
    for (int j = 0; j < N; ++j) {
        position[j] = 1e-3 * (double)(k % CYCLES);
        velocity[j] = 1.0;
    }
    rd_cycle cycle = {.stamp = 1000000 * k, .steady = 1000000 * k, .position = seen ? position : NULL, .velocity = velocity,
                      .reference = {position, velocity, still}, .most_step = 0.1};
    follower_effort = rd_follower_update(follower, &cycle);
}

/* From an activation at cycle k on; the cycle after that in which the loss is noticed. */
static int64_t lose_states_in_motion(int64_t k)
{
    const int64_t lost = k + 50;
    rd_follower_activate(follower, 1000000 * k, 0);
    while (!(rd_follower_fault_age(follower) > 0.0)) {
        cycle_in_motion(k, k < lost);
        ++k;
    }
    return k;
}

/* A cycle of 1 ms, and a clock that stands for two of them, goes on without the states, and stands for 2 s. */
static void take_times_of_cycles(void)
{
    static const int64_t steps[] = {1000000, 0, 0, 3000000, 130000000};
    int64_t ahead = 0, passed = 0;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; ++k) {
        printf("%d ", (int)(rd_time_of_cycle(&ahead, steps[k], 1000000) / 1000000));
    }
    for (int k = 0; k < 2000; ++k) {
        passed += rd_time_of_cycle(&ahead, 0, 1000000);
    }
    printf("%d %d\n", (int)(passed / 1000000), (int)(rd_time_of_cycle(&ahead, 2000000000, 1000000) / 1000000));
}

int main(void)
{
    for (int k = 0; k < SETTINGS; ++k) {
        settings[k] = (rd_settings){
            .number = k + 1, .model = k + 1, .law = 1, .machine = rd_machine_arm(), .inverse_dynamics = weights,
            .gravity = zero, .payload = zero, .rotor_inertia = zero, .friction = zero, .limits = many,
            .ki = zero, .settled = zero, .position_limits = wide, .velocity_limits = many, .hold_deceleration = many, .stop_deceleration = many, .following = many,
            .velocity_bounds = many, .effort_steps = many, .kp = gain, .kv = gain, .state_timeout = 0.1,
            .safe_fade_time = 1.0, .model_change_time = 0.01, .state_jump = 1.0, .stamp_step = 1.0};
    }
    follower = rd_follower_new(N, &settings[0], 1 << 16);
    pthread_t reporter;
    pthread_create(&reporter, NULL, report, NULL);
    rd_follower_activate(follower, 0, 0);
    for (int64_t k = 0; k < CYCLES; ++k) {
        const double *effort = run(k, k % 1000 < 800);
        if (k >= CYCLES - 1000 && k % 100 == 99) {
            printf("%d: %.3f s, %.2f N m\n", (int)(k % 1000), rd_follower_fault_age(follower), effort[0]);
        }
    }
    printf("left in the fail-safe output: %.2f N m\n", rd_follower_deactivate(follower)[0]);
    rd_follower_activate(follower, 1000000 * (int64_t)CYCLES, 0);
    for (int64_t k = CYCLES; k < CYCLES + 10; ++k) {
        run(k, 1);
    }
    const double *left = rd_follower_deactivate(follower);
    printf("left while it controls: %.2f %.2f N m\n", left[0], left[1]);
    int64_t now = lose_states_in_motion(2 * CYCLES);
    printf("braking %.0f, ", follower_effort[0]);
    left = rd_follower_deactivate(follower);
    printf("left behind it %.2f %.2f N m\n", left[0], left[1]);
    for (now = lose_states_in_motion(3 * CYCLES); !rd_follower_has_faded(follower); ++now) {
        cycle_in_motion(now, 0);
    }
    printf("%.3f s, %.2f N m\n", rd_follower_fault_age(follower), follower_effort[0]);
    take_times_of_cycles();
    atomic_store(&done, 1);
    pthread_join(reporter, NULL);
    rd_follower_free(follower);
    return 0;
}
