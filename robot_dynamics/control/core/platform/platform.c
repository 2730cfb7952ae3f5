/* A platform as a machine of the control core: watch over measured states, and the table of functions. */
#include "platform.h"

#include <math.h>

/* The watch */

/* Note the leg that is farthest beyond its limit; whether there is one. */
static int beyond(rd_core *core, int kind, const double *values, const double *limits)
{
    int worst = -1;
    double most = 0.0;
    for (int leg = 0; leg < 6; ++leg) {
        if (values[leg] - limits[leg] > most) {
            most = values[leg] - limits[leg];
            worst = leg;
        }
    }
    if (worst < 0) {
        return 0;
    }
    const int angle = kind == RD_BASE_ANGLE || kind == RD_PLATFORM_ANGLE;
    const double value = values[worst], limit = limits[worst];
    rd_note(core, RD_BEYOND + 6 * kind + worst, angle ? acos(-value) : fabs(value),
            angle ? acos(-limit) : fabs(limit));
    return 1;
}

int rd_platform_watch(rd_core *core)
{
    const rd_platform *platform = rd_platform_of(core);
    const rd_platform_model *model = core->settings->platform;
    const double *r = platform->rotation;
    double values[5][6], limits[5][6];
    if (!model->watches) {
        return 0;
    }
    for (int i = 0; i < 6; ++i) {
        const double *leg = platform->jacobian + 6 * i, *base = model->base_axes[i], *top = model->platform_axes[i];
        values[RD_TOO_LONG][i] = platform->lengths[i];
        values[RD_TOO_SHORT][i] = -platform->lengths[i];
        values[RD_TOO_QUICK][i] = fabs(platform->rates[i]);
        values[RD_BASE_ANGLE][i] = -(leg[0] * base[0] + leg[1] * base[1] + leg[2] * base[2]);
        values[RD_PLATFORM_ANGLE][i] = 0.0;
        for (int j = 0; j < 3; ++j) {
            values[RD_PLATFORM_ANGLE][i] -= (leg[0] * r[j] + leg[1] * r[3 + j] + leg[2] * r[6 + j]) * top[j];
        }
        limits[RD_TOO_LONG][i] = model->longest[i];
        limits[RD_TOO_SHORT][i] = -model->shortest[i];
        limits[RD_TOO_QUICK][i] = model->speed[i];
        limits[RD_BASE_ANGLE][i] = -model->base_cosine[i];
        limits[RD_PLATFORM_ANGLE][i] = -model->platform_cosine[i];
    }
    for (int kind = 0; kind < 5; ++kind) {
        if (beyond(core, kind, values[kind], limits[kind])) {
            return 1;
        }
    }
    if (rd_platform_conditioned(core, model->condition_limit)) {
        return 0;
    }
    rd_note(core, RD_BEYOND + 6 * RD_CONDITION, platform->condition, model->condition_limit);
    return 1;
}

/* The table */

static void begin_at_home(rd_core *core)
{
    rd_platform *platform = rd_platform_of(core);
    const rd_platform_model *model = core->settings->platform;
    rd_copy(platform->pose, model->home, 7);
    rd_rotation(platform->pose + 3, platform->rotation);
    rd_copy(core->place, platform->pose, 3);
    rd_roll_pitch_yaw(platform->rotation, core->place + 3);
    stewart_inverse_kinematics(&model->geometry, platform->pose, platform->lengths, platform->jacobian);
    platform->condition = INFINITY;
    platform->time = platform->disturbance_time = platform->given[6] = -INFINITY;
    platform->wrench_share = 0.0;
    atomic_store(&platform->box.values[6], -INFINITY);
}

static void report_pose(const rd_core *core, double *telemetry)
{
    const rd_platform *platform = rd_platform_of(core);
    rd_copy(telemetry, platform->pose, 7);
    rd_copy(telemetry + 7, platform->twist, 6);
    rd_copy(telemetry + 13, platform->rates, 6);
    rd_copy(telemetry + 19, platform->disturbance, 6);
    telemetry[25] = platform->condition;
}

static const rd_machine PLATFORM = {
    .state_size = sizeof(rd_platform),
    .without_feedback = 1U << RD_PLATFORM_FEEDFORWARD,
    .telemetry = RD_TELEMETRY,
    .begin = begin_at_home,
    .group = 3,
    .rejoins = 1,
    .find_place = rd_platform_find_place,
    .find_rate = rd_platform_find_rate,
    .reference_effort = rd_platform_reference_effort,
    .effort = rd_platform_effort,
    .load = rd_platform_load,
    .bearing = rd_platform_bearing,
    .watch = rd_platform_watch,
    .stray = rd_platform_stray,
    .stray_rate = rd_platform_stray_rate,
    .settle = rd_platform_settle,
    .change_law = rd_platform_keep_disturbance, .keep_load = rd_platform_keep_load,
    .restore_load = rd_platform_restore_disturbance, .carry_pull = rd_platform_carry_pull,
    .report = report_pose,
    .joints_of = rd_platform_joints_of,
};

const rd_machine *rd_machine_platform(void)
{
    return &PLATFORM;
}
