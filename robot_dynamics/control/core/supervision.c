/* Supervision of the robot under control.
 *
 * A rule compares a measured value with its threshold in every cycle. It trips when the value has been beyond the
 * threshold for the rule's duration and for three states, both in the states' own time: a pause, a step or a reset of a
 * simulation is none. */
#include "internal.h"

#include <math.h>
#include <stdio.h>

enum { STATES = 3 }; /* in a row */
/* Time after activation or the release of brakes in which the robot has to stay at its place [s]. */
static const double BEGINNING = 1.0;
/* Speed beside its reference that a robot which follows something then may have, times `start_speed`. Time for
 * which its effort is watched nevertheless: a reference from rest has hardly an acceleration yet [s]. */
static const double DEPARTED = 2.0, AT_ONCE = 0.1;
/* Share of the movement that a measured velocity tells which positions must show. */
static const double CONFIRMED = 0.5;
/* Share of its speed limit by which a joint whose load is doubted may leave its reference behind. */
static const double DOUBTED_LOAD = 0.5;
/* Share of the accelerating efforts that a following error leaves room for: 1.5 * 0.25, as for the weight. */
static const double HEAVIER = 0.375;
/* Gains that periods lower to less than this share count for the effort of the same state. */
static const double FALLEN = 0.5;
/* Least share of kv that an oscillation leaves. */
static const double SOFTEST = 1e-6;

static const char OTHER_MODEL[] = "gravity, payload or a mass of the model differs from the robot's: check them, then call ~/reset_fault";

static const rd_rule_info RULES[RD_RULES] = {
    [RD_FOLLOWING_ERROR] = {"following_error", 0.02, 0.8, 1, "protective stop where the joint is",
                            "~/reset_fault",
                            "free the joint, or check payload, masses, friction and gains; then call ~/reset_fault"},
    [RD_POSE_ERROR] = {"pose_error", 0.02, 0.8, 1, "protective stop where the platform is", "~/reset_fault",
                       "free the platform, or check payload, masses, friction and gains; then call ~/reset_fault"},
    [RD_OVERSPEED] = {"overspeed", 0.02, 0.8, 0, "the motion is braked, then protective stop", "~/reset_fault",
                      "check masses, payload and gains; then call ~/reset_fault"},
    [RD_OSCILLATION] = {"oscillation", 0.0, 0.8, 0, "protective stop with lower gains", "~/reset_fault",
                        "the feedback feeds it: check rotor_inertia and friction of this joint, kp and kv; then call"
                        " ~/reset_fault"},
    [RD_START_SPEED] = {"start_speed", 0.01, 0.8, 0, "protective stop", "~/reset_fault", OTHER_MODEL},
    [RD_START_DISPLACEMENT] = {"start_displacement", 0.01, 0.8, 0, "protective stop", "~/reset_fault", OTHER_MODEL},
    [RD_START_EFFORT] = {"start_effort", 0.01, 0.8, 0, "protective stop", "~/reset_fault", OTHER_MODEL},
    [RD_START_LOAD] = {"start_load", 0.0, 1.0, 0, "protective stop", "~/reset_fault",
                       "check max_effort, payload and masses; then call ~/reset_fault"},
    [RD_SLOW_STATES] = {"slow_states", 1.0, 0.9, 0, "lower gains; protective stop where a quarter of kv is too much",
                        "~/reset_fault",
                        "states come too seldom for kp, kv and loop_delay: lower the gains or send states faster; then call"
                        " ~/reset_fault"},
    [RD_DISPUTE] = {"dispute", 0.7, 0.0, 0, "protective stop", "~/reset_fault",
                    "end the other node, then call ~/reset_fault"},
    [RD_REPEATED_FAULTS] = {"repeated_faults", 5.0, 0.0, 0, "protective stop as soon as states are usable",
                            "~/reset_fault", "see the lines before for their cause; then call ~/reset_fault"},
    [RD_CONTACT] = {"contact", 0.0, 0.8, 0, "protective stop where the arm is", "~/reset_fault",
                    "remove what touches the arm, or set its payload; then call ~/reset_fault"},
};

const rd_rule_info *rd_rule_table(int rule)
{
    return rule > RD_NO_RULE && rule < RD_RULES && RULES[rule].name ? &RULES[rule] : NULL;
}

/* The rules */

/* Value beside its threshold: share 1 is the threshold. */
typedef struct {
    double share, measured, allowed;
    int joint;
} reading;

static void take_worse(reading *worst, int joint, double measured, double allowed)
{
    const double share = allowed > 0.0 ? measured / allowed : 0.0;
    if (share > worst->share) {
        *worst = (reading){share, measured, allowed, joint};
    }
}

/* True if robot and model may weigh differently: a load is new, or needed stiffer gains than those in force. */
static int doubts_load(const rd_core *core)
{
    return rd_has_new_model(core) || core->time < core->supervision.doubted;
}

/* Keep what was seen, and count how long it has been beyond its threshold; whether the rule trips now. */
static int counts(rd_core *core, int rule, const reading *value)
{
    rd_rule_state *state = &core->supervision.rules[rule];
    const rd_rule_info *info = &RULES[rule];
    state->share = value->share;
    state->largest = fmax(state->largest, value->share);
    if (!(value->share > 1.0)) {
        state->states = 0;
        state->warned &= value->share > info->release;
        return 0;
    }
    if (state->states == 0) {
        state->since = core->time;
    }
    ++state->states;
    /* A load that is declared and not there, or there and not declared, throws a light robot: its speed is not confirmed for long. */
    const double duration = rule == RD_OVERSPEED && doubts_load(core) ? 0.0 : info->duration;
    return state->states >= STATES && core->time - state->since >= duration - 1e-9;
}

/* Apply a rule to what was measured; whether it begins a protective stop. */
static int apply(rd_core *core, int rule, const reading *value)
{
    rd_rule_state *state = &core->supervision.rules[rule];
    if (!counts(core, rule, value) || (core->trip.latched && rule != RD_OVERSPEED)) {
        return 0;
    }
    const rd_rules *rules = core->settings->rules;
    if (rule == RD_CONTACT ? rules->contact == RD_CONTACT_REPORT : rules->observes && RULES[rule].observable) {
        if (!state->warned) {
            rd_note_trip(core, rule, value->joint, value->measured, value->allowed, 0);
        }
        state->warned = 1;
        return 0;
    }
    state->warned = 1;
    state->states = 0;
    rd_trip_rule(core, rule, value->joint, value->measured, value->allowed);
    return 1;
}

/* A reset of a simulation that is too short for a jump is answered like one. */
static int is_leap(rd_core *core, int rule, const reading *value)
{
    const rd_supervision *watch = &core->supervision;
    const rd_rule_state *state = &watch->rules[rule];
    if (!(value->share > 1.0 && state->states > 0 && state->since == watch->leapt)) {
        return 0;
    }
    rd_note(core, RD_JUMPED, watch->leap, core->period);
    rd_capture(core, RD_STOP_EMERGENCY);
    core->fades = 0;
    core->replaced = NULL;
    rd_supervision_restart(core);
    return 1;
}

/* Distances of the joints or legs (n) from the reference in `before`, and of a platform's pose. */
static void find_errors(rd_core *core, double *linear, double *angular)
{
    const rd_machine *machine = core->settings->machine;
    if (machine->stray) {
        machine->stray(core, core->before, linear, angular);
        return;
    }
    for (int j = 0; j < core->n; ++j) {
        core->before[j] = core->reference.position[j] - core->state.position[j];
    }
}

/* Masses that differ from the model's are felt while the reference of an arm accelerates, and until feedback has come up. */
static void find_shaken(rd_core *core)
{
    const rd_settings *settings = core->settings;
    double *shaken = core->supervision.shaken;
    for (int j = 0; j < core->n; ++j) {
        const double now = fabs(core->reference.acceleration[j]), kv = settings->kv[j];
        const double left = kv > 0.0 && shaken[j] > now ? shaken[j] * (1.0 - core->period * settings->kp[j] / kv) : 0.0;
        shaken[j] = left < now ? now : left;
    }
}

/* An arm that yields may be anywhere; its speed is watched. */
static int watch_following(rd_core *core, const rd_rules *rules)
{
    const rd_machine *machine = core->settings->machine;
    reading legs = {.joint = -1}, pose = {.joint = -1};
    if (rd_follows_nothing(core) || rd_yields(core) || core->braked) {
        return 0;
    }
    double linear = 0.0, angular = 0.0;
    find_errors(core, &linear, &angular);
    if (!machine->stray) {
        find_shaken(core);
    }
    take_worse(&pose, 0, linear, rules->pose[0]);
    take_worse(&pose, 1, angular, rules->pose[1]);
    for (int j = 0; j < core->n; ++j) {
        const double error = fabs(core->before[j]), kp = core->settings->kp[j];
        const double shaken = error > rules->following[j] && kp > 0.0 ? HEAVIER * core->supervision.shaken[j] / kp : 0.0;
        take_worse(&legs, j, error, rules->following[j] + shaken);
    }
    if (is_leap(core, RD_FOLLOWING_ERROR, &legs) || is_leap(core, RD_POSE_ERROR, &pose)) {
        return 1;
    }
    return apply(core, RD_FOLLOWING_ERROR, &legs) || (machine->stray && apply(core, RD_POSE_ERROR, &pose));
}

/* Speed beyond the limit that positions confirm: what positions show since it began. A model that has just changed is
 * doubted sooner, where a joint leaves its reference behind. */
static int watch_speed(rd_core *core, const rd_rules *rules)
{
    rd_supervision *watch = &core->supervision;
    const int doubts = doubts_load(core) && !rd_follows_nothing(core) && !rd_yields(core);
    double place[6], legs[6];
    const double *rate = core->settings->platform ? legs : core->reference.velocity;
    reading worst = {.joint = -1};
    if (doubts && core->settings->platform) {
        core->settings->machine->joints_of(core, &core->reference, place, legs);
    }
    for (int j = 0; j < core->n; ++j) {
        const double most = doubts ? fmin(1.0, DOUBTED_LOAD + fabs(rate[j]) / rules->speed[j]) : 1.0;
        take_worse(&worst, j, fabs(core->state.velocity[j]), most * rules->speed[j]);
    }
    const int j = worst.joint;
    if (j >= 0 && worst.share > 1.0) {
        const double velocity = core->state.velocity[j];
        if (watch->rules[RD_OVERSPEED].states == 0) {
            rd_copy(watch->place, core->state.position, core->n);
            watch->path = 0.0;
        } else {
            watch->path += fabs(velocity) * (core->time - watch->seen);
            const double moved = copysign(1.0, velocity) * (core->state.position[j] - watch->place[j]);
            worst.share = moved >= CONFIRMED * watch->path ? worst.share : 0.0;
        }
    }
    watch->seen = core->time;
    return apply(core, RD_OVERSPEED, &worst);
}

/* Gains that an oscillation has lowered go on falling while it lasts: those of an arm's joints that swing, and all of a
 * machine whose references are no joints. */
static int watch_oscillation(rd_core *core, const rd_rules *rules)
{
    reading swing = {.joint = -1};
    double measured, allowed;
    if (!(rules->oscillation > 0.0) || core->braked || rd_follows_nothing(core)) {
        return 0;
    }
    const int joint = rd_find_oscillation(core, rules->oscillation, &measured, &allowed);
    if (joint >= 0) {
        take_worse(&swing, joint, measured, allowed);
        for (int j = 0; j < core->n; ++j) {
            if (core->swings[j].swings || core->settings->machine->stray) {
                const double swelling = fmax(rd_swelling(core, joint), rd_swelling(core, j));
                core->swung[j] = fmax(SOFTEST, fmin(1.0, core->softness[j]) / (1.0 + swelling));
            }
        }
        rd_forget_oscillation(core, core->settings->machine->stray != NULL);
    }
    core->supervision.rules[RD_OSCILLATION].largest = fmax(core->supervision.rules[RD_OSCILLATION].largest, swing.share);
    if (joint >= 0 && !core->trip.latched) {
        rd_trip_rule(core, RD_OSCILLATION, joint, measured, allowed);
    }
    return joint >= 0; /* in a stop, too, the effort of this state has lower gains already */
}

/* In the first second the robot stays where it is. One that departs meanwhile is as fast as its reference. */
static int watch_beginning(rd_core *core, const rd_rules *rules)
{
    rd_supervision *watch = &core->supervision;
    reading speed = {.joint = -1}, distance = {.joint = -1}, effort = {.joint = -1};
    if (core->braked || !watch->begins) {
        watch->begins = core->braked; /* it begins when brakes have let go */
        watch->began = core->time;
        watch->first = -1.0;
        rd_observer_learn(core->observer, 0);
        return 0;
    }
    double *rate = core->scratch[1], linear, angular;
    const int guided = rd_follows_nothing(core); /* a hand may move one that follows nothing, but not at once */
    const int within = core->time - watch->began <= (guided ? AT_ONCE : BEGINNING) && !core->trip.latched && !(guided && rd_is_held_to_run(core->settings));
    watch->begins = !within ? 0 : rd_has_plan(core) ? 2 : watch->begins;
    rd_observer_learn(core->observer, watch->begins == 1);
    const int departed = watch->begins == 2;
    if (!watch->begins) return 0;
    find_errors(core, &linear, &angular);
    rd_find_rates(core, rate);
    for (int j = 0; !guided && j < core->n; ++j) {
        /* An unknown part of the weight makes no joint faster than this share of the following error's spring. */
        const double settling = 0.75 * sqrt(core->settings->kp[j]) * rules->following[j];
        const double share = (departed ? DEPARTED : 1.0) * rules->start_speed;
        const double most = share > 0.0 ? fmax(share * core->settings->velocity_limits[j], settling) : 0.0;
        take_worse(&speed, j, departed ? fabs(rate[j]) : fabs(core->state.velocity[j]), most);
        take_worse(&distance, j, departed || rd_yields(core) ? 0.0 : fabs(core->before[j]), rules->start_displacement * rules->following[j]);
    }
    if (watch->first < 0.0) {
        watch->first = speed.share; /* a robot that moves already has so much to lose */
    }
    speed.share /= fmax(1.0, 1.1 * watch->first);
    const double *external = rd_observer_external(core->observer);
    for (int j = 0; (!departed || core->time - watch->began < AT_ONCE) && rules->start_effort && rules->start_speed > 0.0 && j < core->n; ++j) {
        take_worse(&effort, j, fabs(external[j]), isfinite(external[core->n + j]) ? rules->start_effort[j] : INFINITY);
    }
    return apply(core, RD_START_EFFORT, &effort) || apply(core, RD_START_SPEED, &speed) || apply(core, RD_START_DISPLACEMENT, &distance);
}

/* Efforts that cannot carry the arm where control begins. */
static int watch_weight(rd_core *core, const rd_rules *rules)
{
    const rd_settings *settings = core->settings;
    reading load = {.joint = -1};
    if (!core->supervision.weighs || core->settings->machine->stray) {
        return 0;
    }
    core->supervision.weighs = 0;
    if (!(rules->start_speed > 0.0) || !settings->machine->load(core, settings, core->before)) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        take_worse(&load, j, fabs(core->before[j]), settings->limits[j]);
    }
    core->supervision.rules[RD_START_LOAD].largest = load.share;
    if (load.share > 1.0 && !core->trip.latched) {
        rd_trip_rule(core, RD_START_LOAD, load.joint, load.measured, load.allowed);
        return 1;
    }
    return 0;
}

/* An arm that is moved by hand is touched all the time. */
static int watch_contact(rd_core *core, const rd_rules *rules)
{
    const double *external = rd_external(core), *threshold = external + core->n;
    reading worst = {.joint = -1};
    if (rules->contact == RD_CONTACT_OFF || rd_follows_nothing(core)) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        take_worse(&worst, j, fabs(external[j]), threshold[j]);
    }
    return apply(core, RD_CONTACT, &worst);
}

int rd_supervise(rd_core *core)
{
    const rd_rules *rules = core->settings->rules;
    const double share = core->pace.share;
    rd_watch_motion(core);
    if (!rules) {
        return 0;
    }
    if (core->trip.latched && !core->stopping.kind) {
        rd_copy(core->supervision.stopped, core->hold, core->n);
    }
    const int stops = rd_watch_pace(core) || watch_oscillation(core, rules) || watch_weight(core, rules)
        || watch_speed(core, rules) || watch_beginning(core, rules)
        || watch_contact(core, rules) || watch_following(core, rules);
    rd_soften(core);
    return stops || core->pace.share < FALLEN * share;
}

void rd_supervision_restart(rd_core *core)
{
    for (int rule = 0; rule < RD_RULES; ++rule) {
        core->supervision.rules[rule].states = 0;
    }
    core->former = NULL;
    memset(core->supervision.shaken, 0, sizeof(double) * (size_t)core->n);
    core->supervision.seen = core->time;
    rd_pace_forget(core);
    rd_forget_oscillation(core, 1);
}

void rd_supervision_begin(rd_core *core)
{
    rd_supervision_restart(core);
    core->supervision.begins = core->supervision.weighs = 1;
    core->supervision.began = core->time;
    core->supervision.first = -1.0;
}

/* Several faults in a short time latch. */
int rd_count_fault(rd_core *core)
{
    rd_supervision *watch = &core->supervision;
    const int limit = RD_MOST_FAULTS;
    if (!core->settings->rules) {
        return 0;
    }
    while (watch->faults > 0 && !(core->time - watch->fault_times[0] <= RULES[RD_REPEATED_FAULTS].duration)) {
        memmove(watch->fault_times, watch->fault_times + 1, sizeof(double) * (size_t)--watch->faults);
    }
    if (watch->faults == limit) {
        return 0;
    }
    watch->fault_times[watch->faults++] = core->time;
    if (watch->faults < limit || core->trip.latched) {
        return 0;
    }
    rd_note_trip(core, RD_REPEATED_FAULTS, -1, limit, limit - 1, 1);
    return 1;
}

int rd_confirmed_speed(const rd_core *core, int joint, double elapsed, double position, double velocity)
{
    const rd_rules *rules = core->settings->rules;
    const double moved = copysign(1.0, velocity) * (position - core->last_position[joint]);
    const double before = copysign(1.0, velocity) * core->last_velocity[joint];
    return rules && core->knows_last && elapsed > 0.0 && before > rules->speed[joint] && moved >= CONFIRMED * before * elapsed;
}

/* Words */

void rd_trip_text(const rd_trip *trip, const char *joint, const char *unit, char *text, size_t bytes)
{
    static const char *const QUANTITIES[RD_RULES] = {
        [RD_FOLLOWING_ERROR] = "is %.4g %s from its reference", [RD_POSE_ERROR] = "is %.4g %s from its reference",
        [RD_OVERSPEED] = "moves at %.4g %s/s", [RD_OSCILLATION] = "oscillates at %.4g %s/s",
        [RD_START_SPEED] = "moves at %.4g %s/s just after the start",
        [RD_START_EFFORT] = "bears %.4g %s beside its model's weight just after the start",
        [RD_START_DISPLACEMENT] = "is %.4g %s from where the start found it",
        [RD_REPEATED_FAULTS] = "has had %.0f faults within 5 s", [RD_START_LOAD] = "needs %.4g %s to hold the arm at rest",
        [RD_SLOW_STATES] = "gets a state every %.3g s",
        [RD_CONTACT] = "feels an external effort of %.4g %s",
    };
    static const char *const BOUNDS[RD_RULES] = {
        [RD_OVERSPEED] = "%.4g %s/s", [RD_OSCILLATION] = "%.4g %s/s", [RD_START_SPEED] = "%.4g %s/s", [RD_REPEATED_FAULTS] = "%.0f",
        [RD_SLOW_STATES] = "%.3g s",
    };
    const rd_rule_info *info = rd_rule_table(trip->rule);
    char measured[80], allowed[40];
    if (!info || !QUANTITIES[trip->rule]) {
        snprintf(text, bytes, "protective stop; remove its cause, then call ~/reset_fault");
        return;
    }
    const int bears = trip->rule == RD_START_LOAD || trip->rule == RD_START_EFFORT || trip->rule == RD_CONTACT;
    unit = !bears ? unit : strcmp(unit, "m") ? "N·m" : "N";
    snprintf(measured, sizeof measured, QUANTITIES[trip->rule], trip->measured, unit);
    snprintf(allowed, sizeof allowed, BOUNDS[trip->rule] ? BOUNDS[trip->rule] : "%.4g %s", trip->allowed, unit);
    snprintf(text, bytes, "%s %s, allowed are %s: %s%s; %s", joint, measured, allowed,
             trip->stops ? trip->rule == RD_SLOW_STATES ? "protective stop with lower gains" : info->reaction
             : trip->rule == RD_CONTACT ? "reported only (on_contact: report)"
             : trip->rule == RD_SLOW_STATES ? "its gains are lower until they come faster"
                                            : "reported only (supervision: observe)",
             trip->reverted ? ", on the model before the last change, which is in force again" : "", info->remedy);
}
