/* A platform's law in the loop without ROS, Python and threads, for the sanitizers: through every situation, and through
 * states that no machine has. Whatever comes, what leaves is finite and within the limits.
 *
 * The model is a mass on six legs that know nothing of each other; prints what the test knows has to be.
 */
#include "drilled_time.h"
#include "platform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LIMIT 4000.0

static int sent, wrong, cut;
static double sum;
static uint64_t seed = 88172645463325252u;

static double chance(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static int forces(const double *const *in, double *out)
{
    const double *motion = in[0];
    int finite = 1;
    for (int i = 0; i < 6; ++i) {
        out[i] = 100.0 * (motion[15] + 9.81) + 20.0 * motion[13 + i] - motion[21] / 6.0;
        finite &= isfinite(out[i]) != 0;
    }
    return finite;
}

static void send(void *to, rd_session *session, int64_t stamp, const double *effort)
{
    (void)to, (void)stamp;
    ++sent;
    sum = 0.0;
    for (int i = 0; i < 6; ++i) {
        wrong += !(fabs(effort[i]) <= LIMIT);
        cut += session->core->effort[i] != session->core->unlimited[i];
        sum += effort[i];
    }
}

static const double limits[6] = {LIMIT, LIMIT, LIMIT, LIMIT, LIMIT, LIMIT}, fast[6] = {9, 9, 9, 9, 9, 9};
static const double kp[6] = {100, 100, 100, 100, 100, 100}, kv[6] = {20, 20, 20, 20, 20, 0};
static const double times[3] = {0.0, 1.0, 2.0};
static double coefficients[2][6][6];
static const rd_plan descent = {1, 0, 0, 3, times, coefficients[0][0], NULL, 0, 0};

static rd_platform_model make_model(void)
{
    rd_platform_model model = {
        .geometry.characteristic_length = 1.0, .home = {0, 0, 1.3, 0, 0, 0, 1}, .up = {0, 0, 1}, .stroke = 0.6,
        .condition_limit = 30.0, .gravity = {0, 0, -9.81}, .payload_mass = 5.0, .payload_center = {0.1, 0, 0.2},
        .payload_inertia = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .coulomb = {9, 9, 9, 9, 9, 9}, .disturbance_gain = {50, 50, 50, 50, 50, 50},
        .disturbance_bounds = {0.5, 0.5}, .descent = &descent, .blind_speed = 0.1, .pace = {4.0, 4.0}, .watches = 1,
    };
    for (int i = 0; i < 6; ++i) {
        const double side = i % 2 ? -1.0 : 1.0, at = M_PI * (i / 2 * 120 + side * 10) / 180.0;
        const double to = M_PI * (i / 2 * 120 + side * 50) / 180.0;
        model.geometry.base[i][0] = 1.6 * cos(at), model.geometry.base[i][1] = 1.6 * sin(at);
        model.geometry.platform[i][0] = 1.2 * cos(to), model.geometry.platform[i][1] = 1.2 * sin(to);
        model.longest[i] = 1.95, model.shortest[i] = 1.1, model.speed[i] = 2.0;
        model.base_cosine[i] = model.platform_cosine[i] = -1.0;
    }
    return model;
}

static rd_settings make_settings(uint64_t number, const rd_platform_model *model)
{
    return (rd_settings){
        .number = number, .model = number, .law = number, .machine = rd_machine_platform(), .platform = model,
        .inverse_dynamics = forces, .limits = limits, .velocity_bounds = fast, .effort_steps = limits, .kp = kp,
        .velocity_limits = fast, .hold_deceleration = fast, .stop_deceleration = fast, .following = fast, .kv = kv, .state_timeout = 0.1, .safe_fade_time = 0.05, .model_change_time = 0.02,
        .state_jump = 0.05, .stamp_step = 0.5, .mode = RD_PLATFORM_COMPUTED_FORCE,
        .looks_ahead = 1, .safe_output = RD_SETTLE,
    };
}

static void state(rd_loop *loop, const double *lengths, const double *rates)
{
    steady += 1000000;
    rd_loop_state(loop, steady, steady, lengths, rates);
    rd_loop_tick(loop, steady, steady);
}

static void at_height(rd_loop *loop, const rd_platform_model *model, int count, double height)
{
    const double pose[7] = {0.02, -0.03, height, 0, 0, 0, 1}, still[6] = {0};
    double lengths[6], jacobian[36];
    stewart_inverse_kinematics(&model->geometry, pose, lengths, jacobian);
    for (int i = 0; i < count; ++i) {
        state(loop, lengths, still);
    }
}

static void tell(const char *what, const rd_loop *loop)
{
    const rd_core *core = loop->session->core;
    printf("%s: sent %d, sum %.0f, phase %d, beyond %d, cut %d\n", what, sent, sum, core->phase, (int)core->beyond,
           cut != 0);
    sent = cut = 0;
}

/* States that no machine has: whatever they are, the loop stays sound. */
static void rubbish(rd_loop *loop, const rd_platform_model *model)
{
    static const double odd[] = {0.0, -1.0, 1e-320, 1e308, -1e308, 1e-9, 3.0, 1e6};
    for (int k = 0; k < 4000; ++k) {
        double lengths[6], rates[6];
        for (int i = 0; i < 6; ++i) {
            const double which = chance();
            lengths[i] = which < 0.9 ? 1.3 + 0.5 * chance() : which < 0.95 ? odd[(int)(8 * chance())] : NAN;
            rates[i] = chance() < 0.98 ? chance() - 0.5 : odd[(int)(8 * chance())];
            rates[i] = chance() < 0.99 ? rates[i] : INFINITY;
        }
        state(loop, lengths, rates);
        if (k % 10 == 0) {
            at_height(loop, model, 2, 1.1 + 0.4 * chance());
        }
    }
}

int main(void)
{
    static rd_loop loop;
    rd_platform_model model = make_model(), loaded = model, flat = model;
    loaded.payload_mass = 0.0, loaded.disturbance_gain[0] = 0.0;
    flat.condition_limit = 1.5;
    rd_settings first = make_settings(1, &model), second = make_settings(2, &loaded), third = make_settings(3, &model);
    rd_settings braking = make_settings(4, &model), strict = make_settings(5, &flat), last = make_settings(6, &model);
    rd_core *core = rd_core_new(6, &first);
    rd_session *session = rd_session_new(core, 100000);
    for (int k = 0; k < 2; ++k) {
        coefficients[k][0][2] = 1.3 - 0.05 * k, coefficients[k][1][2] = -0.05;
    }
    rd_loop_init(&loop, read_clock, send, NULL, 0);
    rd_loop_offer(&loop, session);
    rd_loop_request(&loop, RD_ACTIVATE);
    at_height(&loop, &model, 3, 1.3);
    tell("holding", &loop);
    const double from[2] = {core->time + 0.01, core->time + 0.11};
    const double rise[6][6] = {{0.02, -0.03, 1.3, 0, 0, 0}, {0}, {0}, {0, 0, 0.1, 0.1, -0.2, 0.3}};
    const rd_plan plan = {2, core->epoch, 0, 2, from, rise[0], NULL, 0, 0};
    rd_core_offer_plan(core, &plan);
    at_height(&loop, &model, 60, 1.3);
    tell("following", &loop);
    at_height(&loop, &model, 100, 1.3);
    rd_platform_offer_wrench(core, (double[6]){0, 0, -1e5, 0, 0, 0}, core->time + 0.01);
    at_height(&loop, &model, 5, 1.3);
    tell("under a weight", &loop);
    at_height(&loop, &model, 20, 1.3);
    rd_core_offer_settings(core, &second);
    at_height(&loop, &model, 50, 1.3);
    rd_core_offer_settings(core, &third);
    at_height(&loop, &model, 50, 1.3);
    tell("other loads", &loop);
    at_height(&loop, &model, 20, 1.69);
    tell("too long", &loop);
    braking.brakes = RD_FALLING, braking.brake_from = core->time, braking.brake_fade = 0.01;
    rd_core_offer_settings(core, &braking);
    at_height(&loop, &model, 20, 1.3);
    tell("on brakes", &loop);
    rd_core_offer_settings(core, &strict);
    at_height(&loop, &model, 20, 1.3);
    tell("ill conditioned", &loop);
    rd_core_offer_settings(core, &last);
    at_height(&loop, &model, 20, 1.3);
    silence(&loop, 0.5);
    tell("states lost", &loop);
    silence(&loop, 3.0);
    tell("settled", &loop);
    rubbish(&loop, &model);
    at_height(&loop, &model, 50, 1.3);
    sent = cut = 0;
    at_height(&loop, &model, 2, 1.3);
    tell("numbers again", &loop);
    printf("wrong %d\n", wrong);
    rd_session_free(session);
    rd_core_free(core);
    return 0;
}
