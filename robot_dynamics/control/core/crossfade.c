/* Ramps: a law that is replaced, a load that is let go, efforts beside brakes. */
#include "internal.h"

static const double SOON = 0.05; /* in which a stop lets go of a change of model or law [s] */

double rd_ramp_down(double since, double duration)
{
    const double share = duration > 0.0 ? 1.0 - since / duration : 0.0;
    return share > 0.0 ? share : 0.0;
}

/* Add to `effort` the rest, at `time`, of the difference from a law that was in use before. */
void rd_add_fading(rd_core *core, double time, double *effort)
{
    if (!core->fades) {
        return;
    }
    const double share = rd_ramp_down(time - core->fade_began, core->fade_duration);
    if (share == 0.0) {
        core->fades = 0;
        return;
    }
    for (int j = 0; j < core->n; ++j) {
        effort[j] += share * core->difference[j];
    }
}

/* From `before` the efforts go over to those of the law, `effort`; `before` is used up. */
void rd_begin_fading(rd_core *core, double time, double *before, const double *effort)
{
    for (int j = 0; j < core->n; ++j) {
        before[j] -= effort[j];
    }
    rd_add_fading(core, time, before);
    rd_copy(core->difference, before, core->n);
    core->fade_began = time;
    core->fade_duration = core->settings->model_change_time;
    core->fades = 1;
    if (core->stopping.kind) {
        rd_end_fading_soon(core, time); /* a robot that is to stop cannot while the effort is still another one */
    }
}

void rd_end_fading_soon(rd_core *core, double time)
{
    if (core->fades && core->fade_began + core->fade_duration > time + SOON) {
        const double share = rd_ramp_down(time - core->fade_began, core->fade_duration);
        for (int j = 0; j < core->n; ++j) {
            core->difference[j] *= share;
        }
        core->fade_began = time;
        core->fade_duration = SOON;
    }
}

/* Share of the efforts beside brakes. An active ramp goes on from its place when the clock is set back. */
double rd_brake_share(const rd_core *core, double time)
{
    const rd_settings *settings = core->settings;
    const double since = time + core->set_back - settings->brake_from;
    const double falling = since >= 0.0 ? rd_ramp_down(since, settings->brake_fade) : 1.0;
    return settings->brakes == RD_FALLING ? falling : settings->brakes == RD_RISING ? 1.0 - falling : 1.0;
}

/* Leave of the command what brakes leave; what they carry is no effort that a limit has cut. */
void rd_brake(rd_core *core, double time)
{
    const double share = rd_brake_share(core, time);
    core->braked = share < 1.0;
    for (int j = 0; core->braked && j < core->n; ++j) {
        core->effort[j] *= share;
        core->unlimited[j] *= share;
    }
}
