/* Gains and effort limits that a robot stands.
 *
 * With a period T and a delay d an effort comes the latency T/2 + d too late on average. A joint with the gains kp and kv
 * is stable where kp (T/2 + d) < kv and kv (T/2 + d) < 1, and where its inertia is a part 1/r of the model's, where r
 * times the latency does so. The disturbance estimate is stable with ki < kp kv. Gains that do not stand INERTIA_RATIO
 * are refused, those that do not stand TWICE are reported. Efforts of an arm whose steps are below HOLDS sqrt(kp) T of
 * the limit are too slow for the feedback: it would creep in a hold, stop by stop.
 *
 * In operation the periods of a second count, by their median and their 95th percentile: one late state is none. Gains
 * that do not stand them fall, kv by a share and kp by its square; below LEAST_SHARE the robot stops. */
#include "laws.h"
#include "cholesky.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double TWICE = 2.0;
static const double LEAST_SHARE = 0.25, LOWEST_SHARE = 1e-3; /* of the gains: below, the robot stops; and the least */
static const double HOLDS = 0.5;
static const double RUNS_ON = 0.1, LEG_RUNS_ON = 0.25, GUIDED_ON = 0.05; /* shares of the speed limit */
static const double STIFFEST = 4.0;        /* factor of kv of a platform, which carries people: it bears four times the mass */
static const double STIFFER = 2.0, RELAXED = 0.2; /* factor of kv from state to state; time constant of its end [s] */
static const double AFTER_CUT = 0.5;       /* time without such a factor after the effort of a joint was beyond its limit [s] */
static const double FAR_TOO_LATE = 3.0;    /* times the latency that gains stand: a speed grows fivefold from state to state */
static const double RISE = 1.0;            /* of the share, when periods are short again [1/s] */
static const double HALF = 0.5;            /* of the second that counts [s] */
static const double RARE = 0.95;
static const double LATE = 2.5, REMEMBERED = 1.0; /* periods that a late cycle takes; half of the time that it counts [s] */
/* Share of a declared load that external efforts show, where it is on the arm; steps that find an eigenvalue. */
static const double FELT = 0.5;
enum { MOST_JOINTS = 64, POWER_STEPS = 40 };
enum { FIRST = 4, EVERY = 32, RARE_FROM = 40 }; /* states between two looks, and from which on the rarest 5 % count */

/* Latency at which the gains of a joint are no longer stable [s]. */
static double latency_of(double kp, double kv)
{
    const double by_velocity = kv > 0.0 ? 1.0 / kv : INFINITY;
    return kp > 0.0 ? fmin(kv / kp, by_velocity) : by_velocity;
}

/* The joint whose gains stand the least latency. */
static int weakest(const rd_settings *s, int n)
{
    int worst = 0;
    double least = latency_of(s->kp[0], s->kv[0]);
    for (int j = 1; j < n; ++j) {
        const double latency = latency_of(s->kp[j], s->kv[j]);
        worst = latency < least ? j : worst;
        least = latency < least ? latency : least;
    }
    return worst;
}

void rd_use_settings(rd_core *core, const rd_settings *settings)
{
    core->settings = settings;
    core->weakest = weakest(settings, core->n);
}

/* The joint whose efforts change most slowly for its gains, and the longest period at which they hold it [s]. */
static int slowest(const rd_settings *s, int n, double *period)
{
    int worst = 0;
    *period = INFINITY;
    for (int j = 0; j < n && !s->platform && !(RD_YIELDING >> s->mode & 1U); ++j) {
        const double share = isfinite(s->limits[j]) ? s->effort_steps[j] / s->limits[j] : INFINITY;
        const double longest = s->kp[j] > 0.0 ? share / (HOLDS * sqrt(s->kp[j])) : INFINITY;
        if (longest < *period) {
            worst = j;
            *period = longest;
        }
    }
    return worst;
}

int rd_gains_text(const rd_settings *s, int n, double period, const char *const *names, char *text, size_t bytes)
{
    for (int i = 0; i < n; ++i) {
        if (s->ki[i] > 0.5 * s->kp[i] * s->kv[i] && s->mode == RD_COMPUTED_TORQUE) {
            snprintf(text, bytes, "parameter 'ki' is %.4g for %s: with its kp and kv at most %.4g is stable", s->ki[i],
                     names[i], 0.5 * s->kp[i] * s->kv[i]);
            return RD_FAILS;
        }
    }
    double held;
    const int slow = slowest(s, n, &held);
    if (judges(s) && period > held) {
        const double least = ceil(100.0 * s->effort_steps[slow] / s->limits[slow] * period / held / 0.1) * 1e-3;
        snprintf(text, bytes,
                 "parameter 'max_effort_step' is %.4g: with the kp of %s and a state every %.3g ms at least %.4g holds the arm",
                 s->effort_steps[slow] / s->limits[slow], names[slow], 1e3 * period, least);
        return RD_FAILS;
    }
    const int j = weakest(s, n);
    const double latency = 0.5 * period + delay_of(s), stands = latency_of(s->kp[j], s->kv[j]);
    const double ratio = stands <= INERTIA_RATIO * latency ? INERTIA_RATIO : TWICE;
    if (!judges(s) || !(period > 0.0) || stands > TWICE * latency) {
        return RD_STANDS;
    }
    const int fast = s->kv[j] * ratio * latency >= 1.0, undamped = !(s->kv[j] > 0.0);
    const double most = fast ? 1.0 / (ratio * latency) : undamped ? s->kp[j] * ratio * latency : s->kv[j] / (ratio * latency);
    const char *const why = ratio == TWICE ? "stays stable where the inertia is half the model's" : "is stable";
    snprintf(text, bytes, "parameter '%s' is %.4g for %s: with a state every %.3g ms%s at %s %.4g %s",
             fast || undamped ? "kv" : "kp", fast || undamped ? s->kv[j] : s->kp[j], names[j], 1e3 * period,
             delay_of(s) > 0.0 ? " and loop_delay" : "", undamped ? "least" : "most", most, why);
    return ratio == TWICE ? RD_BARELY_STANDS : RD_FAILS;
}

void rd_longest_periods(const rd_settings *s, int n, double *periods)
{
    for (int j = 0; j < n; ++j) {
        const double latency = latency_of(s->kp[j], s->kv[j]) / INERTIA_RATIO - delay_of(s);
        periods[j] = judges(s) ? fmax(0.0, 2.0 * latency) : INFINITY;
    }
}

int rd_weight_text(const rd_settings *s, int n, const double *position, const double *before, const char *const *names,
                   char *text, size_t bytes)
{
    double zero[MOST_JOINTS] = {0.0}, weight[MOST_JOINTS];
    const double *in[] = {position, zero, zero, s->gravity, s->payload, rd_measured_rest(s)};
    int worst = -1;
    if (n > MOST_JOINTS || !rd_all_finite(position, n) || !s->inverse_dynamics(in, weight)) {
        return RD_STANDS;
    }
    for (int j = 0; j < n; ++j) {
        const double share = fabs(weight[j]) / s->limits[j];
        const int lowered = !before || s->limits[j] < before[j];
        if (lowered && share > 1.0 && (worst < 0 || share > fabs(weight[worst]) / s->limits[worst])) {
            worst = j;
        }
    }
    if (worst < 0) {
        return RD_STANDS;
    }
    snprintf(text, bytes, "by this model %s needs %.4g to hold the arm at rest here, but its limit is %.4g: ", names[worst],
             fabs(weight[worst]), s->limits[worst]);
    return RD_FAILS;
}

/* Largest ratio of an inertia (n, n) to another one, by its factor, and the joint that has most of it. */
static double largest_ratio(const double *factor, const double *inertia, int n, int *joint)
{
    double x[MOST_JOINTS], y[MOST_JOINTS], ratio = 1.0;
    for (int j = 0; j < n; ++j) {
        x[j] = sqrt(1.0 / n);
    }
    for (int step = 0; step < POWER_STEPS; ++step) {
        solve_upper(factor, n, x, y);
        for (int i = 0; i < n; ++i) {
            x[i] = dot(inertia + i * n, y, n);
        }
        solve_lower(factor, n, x, x);
        ratio = sqrt(dot(x, x, n));
        for (int j = 0; j < n; ++j) {
            x[j] /= ratio;
            *joint = fabs(y[j]) > fabs(y[*joint]) ? j : *joint;
        }
    }
    return ratio;
}

int rd_load_text(const rd_settings *s, int n, const rd_settings *before, const double *position, const double *external,
                 double period, const char *const *names, char *text, size_t bytes)
{
    double weights[2][MOST_JOINTS], rest[MOST_JOINTS] = {0.0}, unit[MOST_JOINTS] = {0.0}, felt = 0.0, more = 0.0;
    double *matrices = n > MOST_JOINTS ? NULL : calloc((size_t)(2 * n * n), sizeof(double));
    double *const had = matrices, *const has = matrices ? matrices + n * n : NULL;
    int joint = 0;
    const int known = matrices && judges(s) && s->mode == RD_COMPUTED_TORQUE && period > 0.0 && rd_all_finite(position, n)
        && rd_inertia_at(before, rd_rotors(s), n, position, rest, unit, weights[0], had)
        && rd_inertia_at(s, rd_rotors(s), n, position, rest, unit, weights[1], has) && factor(had, n);
    const double ratio = known ? largest_ratio(had, has, n, &joint) : 1.0;
    for (int j = 0; known && j < n; ++j) {
        const double load = weights[1][j] - weights[0][j];
        felt -= load * external[j];
        more += load * load;
    }
    free(matrices);
    const int weak = weakest(s, n);
    const double most = 1.0 / (ratio * (0.5 * period + delay_of(s)));
    if (!known || 1.0 / latency_of(s->kp[weak], s->kv[weak]) <= most || (more > 0.0 && felt >= FELT * more)) {
        return RD_STANDS;
    }
    snprintf(text, bytes,
             "%s has %.3g times the inertia with this load that it has without it, and the arm does not feel the load: with a"
             " state every %.3g ms it would oscillate until the load is on it. Declare the load when it is on the arm, or set kv"
             " and kp / kv to at most %.4g",
             names[joint], ratio, 1e3 * period, most);
    return RD_FAILS;
}

/* Periods in operation */

/* Bin of a period: sixteen for each power of two. */
static int bin_of(double period)
{
    int exponent;
    const double mantissa = frexp(period, &exponent); /* 0.5 to 1 */
    const int bin = RD_PACE_BINS + 16 * (exponent + 2) + (int)(32.0 * (mantissa - 0.5)) - 16;
    return bin < 0 ? 0 : bin < RD_PACE_BINS ? bin : RD_PACE_BINS - 1;
}

/* Period that such a share of the periods do not exceed; there are some. */
static double quantile(const rd_pace *pace, double share)
{
    int left = (int)(share * (pace->totals[0] + pace->totals[1]));
    int bin = (pace->lowest[0] < pace->lowest[1] ? pace->lowest[0] : pace->lowest[1]) - 1;
    while (left >= 0 && bin + 1 < RD_PACE_BINS) {
        ++bin;
        left -= pace->counts[0][bin] + pace->counts[1][bin];
    }
    return (pace->sums[0][bin] + pace->sums[1][bin]) / (pace->counts[0][bin] + pace->counts[1][bin]);
}

void rd_pace_forget(rd_core *core)
{
    const rd_pace *pace = &core->pace;
    core->pace = (rd_pace){.began = core->time, .share = pace->share, .wanted = pace->share, .turned = pace->turned,
                           .longest = {pace->longest[0], pace->longest[1]}, .relieved = pace->relieved};
}

void rd_note_held(rd_core *core, double elapsed)
{
    rd_pace *pace = &core->pace;
    if (fabs(core->time - pace->turned) > REMEMBERED) {
        pace->turned = core->time;
        pace->longest[1] = pace->longest[0];
        pace->longest[0] = 0.0;
    }
    pace->longest[0] = fmax(pace->longest[0], elapsed);
}

double rd_longest_held(const rd_core *core, double period)
{
    const double longest = fmax(core->pace.longest[0], core->pace.longest[1]);
    return longest > LATE * period ? longest : period;
}

void rd_pace_take(rd_core *core, double elapsed)
{
    rd_pace *pace = &core->pace;
    if (core->time - pace->began > HALF) {
        pace->half = !pace->half;
        pace->began = core->time;
        memset(pace->counts[pace->half], 0, sizeof pace->counts[0]);
        memset(pace->sums[pace->half], 0, sizeof pace->sums[0]);
        pace->totals[pace->half] = 0;
        pace->lowest[pace->half] = RD_PACE_BINS;
    }
    memmove(pace->recent + 1, pace->recent, sizeof pace->recent - sizeof *pace->recent);
    pace->recent[0] = elapsed;
    const int bin = bin_of(elapsed);
    pace->lowest[pace->half] = bin < pace->lowest[pace->half] ? bin : pace->lowest[pace->half];
    ++pace->counts[pace->half][bin];
    pace->sums[pace->half][bin] += elapsed;
    ++pace->totals[pace->half];
    const int total = pace->totals[0] + pace->totals[1];
    if (++pace->unseen < (pace->seen ? EVERY : FIRST)) {
        return;
    }
    pace->unseen = 0;
    pace->seen = 1;
    pace->median = quantile(pace, 0.5);
    pace->rare = total >= RARE_FROM ? quantile(pace, RARE) : pace->median;
}

/* Share of the gains that several states in a row allow, each of them too late for the whole: until half of the last
 * second has been like them, the feedback would feed an oscillation. One that is far too late is enough: a light joint is
 * several times as fast after each of them. */
static double stands_now(const rd_core *core, const rd_settings *s)
{
    const int j = core->weakest;
    double least = core->pace.recent[0];
    for (int i = 1; i < RD_PACE_RECENT; ++i) {
        least = fmin(least, core->pace.recent[i]);
    }
    const double stands = latency_of(s->kp[j], s->kv[j]), last = core->pace.recent[0];
    least = 0.5 * last + delay_of(s) > FAR_TOO_LATE * stands ? last : least;
    const double latency = 0.5 * least + delay_of(s);
    return latency > stands ? stands / (INERTIA_RATIO * latency) : 1.0;
}

double rd_longest_recent(const rd_core *core, double least)
{
    for (int i = 0; i < RD_PACE_RECENT; ++i) {
        least = fmax(least, core->pace.recent[i]);
    }
    return least;
}

double rd_known_ratio(const rd_core *core, int joint)
{
    return core->trip.latched ? fmin(1.0, rd_observer_ratio(core->observer, joint)) : 1.0;
}

/* A joint that is too fast and gets faster has more inertia than its model, or a load beyond its feedback.
 * Its gains rise from state to state until it slows down. They stay stable with half of the model's inertia,
 * or with what is known of it. `excess` is the speed of a joint beyond what it should have, `least` the share of the limit from which on it
 * counts, and `stands` the latency at which the gains are no longer stable [s]. */
static void stiffen(rd_core *core, const rd_settings *s, int j, double excess, double least, double stands)
{
    const int faster = excess > fmax(least * s->velocity_limits[j], core->led[j]);
    const double longest = rd_longest_recent(core, core->period);
    double *factor = &core->stiffened[j];
    const double lightness = TWICE / rd_known_ratio(core, j), half = lightness * 0.5 * longest;
    const double stable = longest > 0.0 ? fmax(1.0, stands / (half + lightness * delay_of(s))) : 1.0;
    const double most = s->platform ? fmin(stable, STIFFEST) : stable;
    /* Gains in force have shown that the robot stands them: a delay that is declared later lowers none. */
    const double kept = longest > 0.0 ? fmax(1.0, stands / half) : 1.0;
    core->led[j] = excess;
    if (core->cut && !s->platform && fabs(core->unlimited[j]) > s->limits[j]) {
        core->cut_at[j] = core->time;
    }
    if (fabs(core->time - core->cut_at[j]) < AFTER_CUT) {
        *factor = 1.0; /* an effort that is cut has no more to give */
    } else if (core->cut) {
        *factor = fmax(1.0, *factor / STIFFER); /* it may be what takes other joints beyond their limits */
    } else {
        *factor = fmin(fmax(*factor, faster ? fmin(STIFFER * *factor, most) : 1.0), kept);
    }
}

/* Speed of a joint beyond what a stop's reference and its error ask for. On the way to its reference a joint may be as fast
 * as its error asks for: higher gains would only ask for more. */
static double excess_of(const rd_core *core, const rd_settings *s, int j, int gains, double place, double rate)
{
    const double velocity = core->state.velocity[j], way = copysign(1.0, velocity), kv = s->kv[gains];
    const double asked = kv > 0.0 ? core->softness[j] * s->kp[gains] * (place - core->state.position[j]) / kv : 0.0;
    return way * (velocity - rate) - fmin(fmax(0.0, way * asked), s->velocity_limits[j]);
}

/* The gains of a platform rise as one, for the leg that is farthest beyond. */
static void stiffen_platform(rd_core *core, const rd_settings *s)
{
    double place[6], rate[6], excess[6], most = -INFINITY;
    const int weak = core->weakest;
    int worst = 0;
    core->settings->machine->joints_of(core, &core->reference, place, rate);
    for (int j = 0; j < core->n; ++j) {
        excess[j] = excess_of(core, s, j, weak, place[j], rate[j]);
        if (excess[j] / s->velocity_limits[j] > most) {
            most = excess[j] / s->velocity_limits[j];
            worst = j;
        }
    }
    stiffen(core, s, worst, excess[worst], LEG_RUNS_ON, latency_of(0.0, s->kv[weak]));
    for (int j = 0; j < core->n; ++j) {
        core->led[j] = excess[j];
        core->stiffened[j] = core->stiffened[worst];
    }
}

/* A protective stop with feedback; without one, and without a reference, the law of the mode does it. */
static void stiffen_stop(rd_core *core, const rd_settings *s)
{
    const int stops = core->trip.latched && s->command == RD_COMMAND_EFFORT && !core->braked
        && !rd_yields(core);
    if (rd_follows_nothing(core)) {
        return;
    }
    for (int j = 0; j < core->n && !core->trip.latched; ++j) {
        core->stiffened[j] = 1.0;
    }
    if (!stops) {
        return;
    }
    if (s->platform) {
        stiffen_platform(core, s);
        return;
    }
    for (int j = 0; j < core->n; ++j) {
        const double excess = excess_of(core, s, j, j, core->reference.position[j], core->reference.velocity[j]);
        stiffen(core, s, j, excess, RUNS_ON, latency_of(0.0, s->kv[j])); /* kp stays within kv, see rd_softened_kp */
    }
}

double rd_guided_stiffness(rd_core *core, const rd_settings *s, int j, double excess, double gain)
{
    if (s == core->settings) {
        stiffen(core, s, j, excess, GUIDED_ON, 1.0 / gain);
        if (excess <= 0.0) {
            core->stiffened[j] -= fmin(1.0, core->period / RELAXED) * (core->stiffened[j] - 1.0);
        }
    }
    return core->stiffened[j];
}

int rd_end_stiffness(rd_core *core, const rd_settings *before)
{
    const rd_settings *s = core->settings;
    double *pull = core->led; /* of the next state */
    const double soft = core->softness[0];
    int stiff = 0;
    for (int j = 0; j < core->n; ++j) {
        stiff |= core->stiffened[j] > 1.0 && !(RD_YIELDING >> before->mode & 1U);
        pull[j] = core->softness[j] > 1.0 ? rd_pull(core, before, j, core->softness[j]) : NAN;
        core->softness[j] = fmin(core->softness[j], 1.0);
        core->stiffened[j] = 1.0;
    }
    if (s->platform) {
        if (soft > 1.0 && core->trip.latched) {
            s->machine->carry_pull(core, soft, 1.0);
        }
    } else if (stiff && core->trip.latched && !rd_follows_nothing(core)) {
        if (s->momentum && s->observer_gain > 0.0) {
            s->machine->take_load(core, 1.0);
        }
        for (int j = 0; j < core->n; ++j) {
            rd_carry_pull(core, j, pull[j], core->softness[j]);
        }
    }
    memset(pull, 0, sizeof(double) * (size_t)core->n);
    return stiff;
}

/* The periods leave as much of the gains of every joint, or of a platform, as its own gains stand. */
void rd_soften(rd_core *core)
{
    const rd_settings *s = core->settings;
    const double share = core->pace.share;
    const int whole = share >= 1.0, j = core->weakest;
    const int plain = rd_follows_nothing(core) || rd_yields(core); /* only their braking is stiffened */
    const double least = latency_of(s->kp[j], s->kv[j]), latency = TWICE * (0.5 * core->period + delay_of(s));
    stiffen_stop(core, s);
    for (int i = 0; i < core->n; ++i) {
        rd_watch_lag(core, s, i);
        const double own = whole ? INFINITY : latency_of(s->kp[i], s->kv[i]);
        const double stands = s->platform || !isfinite(own) ? share : fmin(1.0, share * own / least);
        const double ratio = rd_known_ratio(core, i);
        const double light = ratio < 1.0 ? ratio * latency_of(s->kp[i], s->kv[i]) / latency : 1.0;
        const double left = fmin(core->swung[i], fmin(stands, light));
        const double before = core->softness[i], now = left < 1.0 || plain ? left : core->stiffened[i];
        if (now < before && before > 1.0 && core->trip.latched && !core->cut) {
            if (!s->platform) {
                rd_carry_pull(core, i, rd_pull(core, s, i, before), fmax(now, 1.0));
            } else if (i == 0) {
                s->machine->carry_pull(core, before, fmax(now, 1.0));
            }
        }
        core->softness[i] = now;
    }
}

int rd_watch_pace(rd_core *core)
{
    const rd_settings *s = core->settings;
    rd_pace *pace = &core->pace;
    rd_rule_state *state = &core->supervision.rules[RD_SLOW_STATES];
    if (!judges(s) || !pace->seen) {
        pace->share = 1.0;
        return 0;
    }
    if (pace->unseen == 0) {
        const int j = core->weakest;
        const double stands = latency_of(s->kp[j], s->kv[j]), delay = delay_of(s);
        const double usual = INERTIA_RATIO * (0.5 * pace->median + delay), rare = 0.5 * pace->rare + delay;
        const double latency = fmax(usual, rare), measured = usual < rare ? pace->rare : pace->median;
        const double allowed = 2.0 * ((usual < rare ? stands : stands / INERTIA_RATIO) - delay);
        pace->wanted = fmin(1.0, stands / latency);
        state->share = latency / stands;
        state->largest = fmax(state->largest, state->share);
        if (pace->wanted < LEAST_SHARE && !core->trip.latched) {
            pace->share = fmax(LOWEST_SHARE, pace->wanted);
            rd_trip_rule(core, RD_SLOW_STATES, j, measured, fmax(allowed, 0.0));
            return 1;
        }
        if (state->share > 1.0 && !state->warned) {
            rd_note_trip(core, RD_SLOW_STATES, j, measured, fmax(allowed, 0.0), 0);
        }
        state->warned = state->share > 1.0 || (state->warned && state->share > rd_rule_table(RD_SLOW_STATES)->release);
    }
    /* Down at once, up slowly. */
    const double wanted = fmax(LOWEST_SHARE, fmin(pace->wanted, stands_now(core, s)));
    pace->share = fmin(wanted, pace->share + RISE * fmin(core->time - pace->last, HALF));
    pace->last = core->time;
    return 0;
}
