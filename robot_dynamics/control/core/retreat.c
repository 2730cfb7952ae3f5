/* The way back from a contact: once the stop has ended, the arm moves away as what touches it pushes, by a bounded way of
 * its joints, and stays there. Where something pushes against that, it stops. */
#include "internal.h"

#include <math.h>

static const double RETREAT_SPEED = 0.25;  /* share of the velocity limit, and speed without one [rad/s or m/s] */
static const double SHORTEST_RETREAT = 0.2; /* [s] */
static const double BACK_SPEED = 1.875, BACK_ACCELERATION = 5.7735; /* peaks of 10 s^3 - 15 s^4 + 6 s^5 */

void rd_choose_retreat(rd_core *core, int rule)
{
    const rd_settings *s = core->settings;
    rd_retreat *retreat = &core->retreat;
    double *effort = core->before, *way = retreat->way, largest = 0.0;
    retreat->begins = retreat->active = 0;
    if (rule != RD_CONTACT || s->rules->contact != RD_CONTACT_RETREAT || !s->machine->dynamics) {
        return;
    }
    const double *external = rd_external(core);
    if (!s->machine->dynamics(core, s, core->state.position, core->zero, core->zero, core->zero, effort)) {
        return;
    }
    for (int j = 0; j < core->n; ++j) {
        effort[j] += external[j];
    }
    if (!rd_acceleration(core, s, core->state.position, core->zero, core->zero, effort, way)) {
        return;
    }
    for (int j = 0; j < core->n; ++j) {
        largest = fmax(largest, fabs(way[j]));
    }
    for (int j = 0; j < core->n; ++j) {
        way[j] *= largest > 0.0 ? s->rules->retreat / largest : 0.0;
    }
    retreat->begins = largest > 0.0;
}

static void begin_retreat(rd_core *core)
{
    const rd_settings *s = core->settings;
    rd_retreat *retreat = &core->retreat;
    double duration = SHORTEST_RETREAT;
    for (int j = 0; j < core->n; ++j) {
        const double low = s->position_limits[j], high = s->position_limits[core->n + j], from = core->hold[j];
        const double most = isfinite(s->velocity_limits[j]) ? RETREAT_SPEED * s->velocity_limits[j] : RETREAT_SPEED;
        /* Never farther beyond a limit than it is. */
        retreat->way[j] = fmin(fmax(retreat->way[j], fmin(0.0, low - from)), fmax(0.0, high - from));
        duration = fmax(duration, BACK_SPEED * fabs(retreat->way[j]) / most);
        duration = fmax(duration, sqrt(BACK_ACCELERATION * fabs(retreat->way[j]) / s->hold_deceleration[j]));
    }
    for (int j = 0; j < core->n; ++j) {
        static const double POWERS[] = {0.0, 0.0, 0.0, 10.0, -15.0, 6.0};
        for (int k = 0; k < 6; ++k) {
            retreat->coefficients[k * core->n + j] = POWERS[k] * retreat->way[j] + (k ? 0.0 : core->hold[j]);
        }
    }
    retreat->times[0] = core->time;
    retreat->times[1] = core->time + duration;
    retreat->plan = (rd_plan){.number = core->finished, .knots = 2, .times = retreat->times,
                              .coefficients = retreat->coefficients, .while_latched = 1};
    core->current = (rd_cursor){&retreat->plan, 0};
    ++core->epoch;
    retreat->begins = 0;
    retreat->active = 1;
}

/* True if something pushes against the way by more than a contact's threshold. */
static int is_blocked(const rd_core *core)
{
    const double *external = rd_external(core), *threshold = external + core->n;
    for (int j = 0; j < core->n; ++j) {
        if (fabs(external[j]) > threshold[j] && external[j] * core->retreat.way[j] < 0.0) {
            return 1;
        }
    }
    return 0;
}

void rd_go_on_with_retreat(rd_core *core)
{
    rd_retreat *retreat = &core->retreat;
    if (!core->trip.latched || core->guides) {
        retreat->begins = 0;
    }
    if (retreat->begins && !core->stopping.kind && !rd_has_plan(core)) {
        begin_retreat(core);
    } else if (retreat->active && core->current.plan != &retreat->plan) {
        retreat->active = 0;
    } else if (retreat->active && is_blocked(core)) {
        retreat->active = 0;
        rd_capture(core, RD_STOP_EMERGENCY);
    }
}

void rd_drop_retreat(rd_core *core)
{
    core->retreat.begins = 0;
    if (core->retreat.active && core->current.plan == &core->retreat.plan) {
        rd_stop_along(core, RD_STOP_HOLD);
    }
    core->retreat.active = 0;
}
