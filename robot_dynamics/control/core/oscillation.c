/* Oscillation that the feedback feeds: of the velocity error, faster than the loop itself, that does not decay. A rotor
 * inertia or friction that is declared and not there multiplies the gains, until sampling makes them unstable. */
#include "internal.h"

/* Half periods in a row that make an oscillation; of a peak, which share the next one has at least. */
enum { HALVES = 6 };
static const double LASTING = 0.9;
/* Share of the threshold beyond which a velocity has a sign. */
static const double SIGNED = 0.1;
/* Half periods in a row that swell, each by so much, make one sooner: the fewer, the more they must have swollen together,
 * which times 2 to the power of their number is SWOLLEN. Noise does not: they count beyond this share of the threshold,
 * and this many times what the peaks were over a moment [s] before. A push and a wrong state do not swell evenly. The
 * first states tell nothing of the noise. */
enum { SWELLS = 2, FIRST_STATES = 10 };
static const double SWELLING = 1.3, SWOLLEN = 100.0, COUNTED = 0.5, EVENLY = 2.0, ABOVE_NOISE = 6.0, MOMENT = 0.1;
/* Share of the reference's change of velocity that a robot may lack or have too much of, whose masses are a fifth off. It
 * also lags by a cycle. The velocity error that both give is no oscillation. */
static const double UNKNOWN_INERTIA = 0.25;
/* Gains that are many times too high let the velocity error turn in every state. It counts after so many states in which
 * it has turned and grown by so much, evenly but for the last one, which effort limits may hold back: the next one would be
 * too fast already. It counts beyond this share of the velocity limit, and this many times the noise of the states before,
 * which is known of so much time [s]. */
enum { TURNS = 3 };
static const double STEEP = 2.0, ALIKE = 2.0, SEEN = 1e-4, BEYOND_NOISE = 8.0, NOISE_TIME = 0.3;
/* The same where an oscillation has lowered gains already: they may still be too high. */
static const double STILL_GROWS = 1.1, STILL_ALIKE = 4.0;
/* It also counts after so many states in which it has turned and not become less, where it has been beyond half of this
 * share of the velocity limit before, and is beyond it: no noise is that fast. */
enum { FAST_TURNS = 2 };
static const double FAST = 0.25;
/* Damping takes this much of the energy that it could from a motion that something else drives. */
static const double DAMPED = 0.5;

/* Root mean square of the peaks over a moment. */
static double noise_of(const rd_swing *swing)
{
    return swing->weight > 0.0 ? sqrt(swing->square / swing->weight) : 0.0;
}

/* Half a period of the loop itself [s]. */
static double longest_half(double kp)
{
    return M_PI / (2.0 * sqrt(fmax(kp, 1e-9)));
}

/* Take the velocity error of this cycle, the acceleration that the feedback answers it with, and by how much the reference
 * has changed its velocity. */
static void follow_swing(rd_swing *swing, double time, double speed, double pull, double change, double kp, double kv,
                         double floor)
{
    const double elapsed = time - swing->seen;
    swing->work += swing->pull * 0.5 * (speed + swing->speed) * elapsed;
    swing->spent += kv * swing->speed * swing->speed * elapsed;
    swing->led += UNKNOWN_INERTIA * change;
    swing->step = fmax(swing->step, change);
    swing->seen = time;
    swing->speed = speed;
    swing->pull = pull;
    const int sign = speed > SIGNED * floor ? 1 : speed < -SIGNED * floor ? -1 : swing->sign;
    if (sign != swing->sign) {
        const double longest = longest_half(kp);
        const int lasts = swing->peak > floor && swing->peak >= LASTING * swing->last && time - swing->turned < longest;
        const double peak = swing->peak - swing->led - swing->step;
        const int fed = swing->work > -DAMPED * swing->spent, swells = fed && peak >= SWELLING * swing->last;
        swing->count = lasts && fed ? swing->count + 1 : 0;
        swing->grew = swing->peak / fmax(swing->last, SIGNED * floor);
        swing->first = swing->swells ? swing->first : fmax(swing->last, noise_of(swing));
        swing->swells = swells && time - swing->turned < longest ? swing->swells + 1 : 0;
        const double share = fmin(1.0, (time - swing->turned) / MOMENT);
        swing->square += share * (swing->last * swing->last - swing->square);
        swing->weight += share * (1.0 - swing->weight);
        swing->last = swing->peak;
        swing->peak = swing->work = swing->spent = 0.0;
        swing->led = UNKNOWN_INERTIA * change;
        swing->step = change;
        swing->turned = time;
        swing->sign = sign;
    } else if ((swing->count || swing->swells) && time - swing->turned > longest_half(kp)) {
        swing->count = swing->swells = 0;
    }
    swing->peak = fmax(swing->peak, fabs(speed));
    ++swing->states;
}

/* Share by which a new state counts for the noise; 0: its noise is not known yet. All joints have had the same states. */
static double noise_share(const rd_swing *swing, double time)
{
    const int known = swing->states - TURNS; /* states whose noise is known: their mean at first */
    return known > 0 ? fmin(1.0, fmax(1.0 / known, (time - swing->seen) / NOISE_TIME)) : 0.0;
}

/* Growth of a velocity error that has turned in so many states; 0: it has not. `pull` is the feedback's answer to it,
 * `change` what the reference has changed its velocity by, which the last one may owe to the reference. */
static double find_turning(rd_swing *swing, double share, double speed, double pull, double change, double limit,
                           int known_to_swing)
{
    double *was = swing->errors, least = INFINITY, most = 0.0, last = 0.0;
    const int needed = known_to_swing ? TURNS - 1 : TURNS;
    const double steep = known_to_swing ? STILL_GROWS : STEEP, alike = known_to_swing ? STILL_ALIKE : ALIKE;
    const double oldest = was[TURNS];
    int turns = swing->pull * speed > 0.0 && pull * speed < 0.0; /* as the feedback asked, and it asks for more */
    for (int i = TURNS; i > 0; --i) {
        was[i] = was[i - 1];
    }
    was[0] = speed;
    swing->noise += share * (oldest * oldest - swing->noise);
    if (!turns) {
        return 0.0;
    }
    const double own = fmax(0.0, fabs(speed) - (1.0 + UNKNOWN_INERTIA) * change);
    int fast = own > FAST * limit && fabs(was[FAST_TURNS]) > 0.5 * FAST * limit;
    double grown = 0.0;
    for (int i = 0; i < FAST_TURNS; ++i) {
        fast = fast && was[i] * was[i + 1] < 0.0 && fabs(was[i]) >= fabs(was[i + 1]);
        grown = fast ? fmax(grown, -was[i] / was[i + 1]) : 0.0;
    }
    for (int i = 0; i < needed && turns; ++i) {
        const double growth = -(i == 0 ? copysign(own, speed) : was[i]) / was[i + 1];
        turns = growth >= steep;
        if (i == 0) {
            last = growth;
        } else {
            least = fmin(least, growth);
            most = fmax(most, growth);
        }
    }
    turns = turns && most <= alike * least && last <= alike * most && share > 0.0;
    turns = turns && own > fmax(SEEN * limit, BEYOND_NOISE * sqrt(swing->noise));
    return turns ? fmax(most, last) : grown;
}

static double velocity_floor(const rd_settings *s, int j, double share)
{
    return share * (isfinite(s->velocity_limits[j]) ? s->velocity_limits[j] : 1.0);
}

double rd_swelling(const rd_core *core, int joint)
{
    const rd_swing *swing = &core->swings[joint];
    return swing->turning > 0.0 ? swing->turning : swing->last > 0.0 ? fmax(1.0, swing->peak / swing->last) : 1.0;
}

static int is_swollen(const rd_swing *swing, double floor)
{
    const int halves = swing->swells + 1;
    if (halves < SWELLS || !(swing->last > 0.0)) {
        return 0;
    }
    const double noise = noise_of(swing), first = swing->swells ? swing->first : fmax(swing->last, noise);
    const double peak = swing->peak - swing->led - swing->step, grows = peak / fmax(swing->last, SIGNED * floor);
    const int evenly = grows < EVENLY * swing->grew && (halves > SWELLS || swing->grew < EVENLY * grows);
    return evenly && peak >= SWELLING * swing->last
        && ldexp(peak, halves) >= SWOLLEN * fmax(first, SIGNED * floor) && swing->states > FIRST_STATES
        && peak > fmax(COUNTED * floor, ABOVE_NOISE * noise);
}

/* By how much the reference has changed the velocity of each joint (n) since the last state. A platform's legs take that of
 * the pose, whose lever comes from the declared decelerations. */
static void find_changes(rd_core *core, const rd_settings *s, double *change)
{
    for (int j = 0; j < core->n; ++j) {
        rd_swing *swing = &core->swings[j];
        change[j] = swing->states > 0 ? fabs(core->reference.velocity[j] - swing->reference) : 0.0;
        swing->reference = core->reference.velocity[j];
    }
    if (s->machine->stray) {
        const double lever = s->hold_deceleration[3] > 0.0 ? s->hold_deceleration[0] / s->hold_deceleration[3] : 0.0;
        const double moved = sqrt(change[0] * change[0] + change[1] * change[1] + change[2] * change[2]);
        const double turned = sqrt(change[3] * change[3] + change[4] * change[4] + change[5] * change[5]);
        for (int j = 0; j < core->n; ++j) {
            change[j] = moved + lever * turned;
        }
    }
}

void rd_find_rates(rd_core *core, double *rate)
{
    if (core->settings->machine->stray) {
        core->settings->machine->stray_rate(core, rate);
        return;
    }
    for (int j = 0; j < core->n; ++j) {
        rate[j] = core->reference.velocity[j] - core->state.velocity[j];
    }
}

int rd_find_oscillation(rd_core *core, double share, double *measured, double *allowed)
{
    const rd_settings *s = core->settings;
    const rd_machine *machine = s->machine;
    double *error = core->scratch[0], *rate = core->scratch[1], *change = core->scratch[2];
    double linear, angular, fastest = 0.0;
    int worst = -1;
    if (machine->stray) {
        machine->stray(core, error, &linear, &angular);
    }
    rd_find_rates(core, rate);
    find_changes(core, s, change);
    const int known = core->trip.latched && core->trip.rule == RD_OSCILLATION; /* one joint has shown it */
    const double noise = noise_share(&core->swings[0], core->time);
    for (int j = 0; j < core->n; ++j) {
        rd_swing *swing = &core->swings[j];
        const double soft = core->softness[j], kv = soft * s->kv[j], kp = rd_softened_kp(s, j, soft);
        const double limit = velocity_floor(s, j, 1.0), floor = share * limit;
        const double away = machine->stray ? error[j] : core->reference.position[j] - core->state.position[j];
        const double slower = rate[j];
        const double pull = kv * slower + kp * away;
        swing->turning = find_turning(swing, noise, -slower, pull, change[j], limit, known);
        follow_swing(swing, core->time, -slower, pull, change[j], s->kp[j], kv, floor);
        const double speed = fmax(fabs(slower), fmax(swing->last, swing->peak));
        swing->swings = swing->turning > 0.0 || swing->count >= HALVES || is_swollen(swing, floor);
        if (swing->swings && (worst < 0 || speed > fastest)) {
            worst = j;
            fastest = *measured = speed;
            *allowed = floor;
        }
    }
    return worst;
}

void rd_forget_oscillation(rd_core *core, int all)
{
    for (int j = 0; j < core->n; ++j) {
        const rd_swing *before = &core->swings[j];
        if (all || before->swings) {
            core->swings[j] = (rd_swing){.seen = core->time, .turned = core->time, .square = before->square,
                                         .weight = before->weight, .noise = before->noise, .states = before->states,
                                         .reference = before->reference};
        }
    }
}
