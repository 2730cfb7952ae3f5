/* The laws of an arm and its actuators. A new law is a function here with its line in LAWS, and its name with what it
 * does in rd_arm_mode of core.h. */
#include "laws.h"

#include <math.h>
#include <string.h>

static const double ESTIMATE_GAP = 0.05;   /* between two states; over a longer one nothing is integrated [s] */
static const double CAPPED = 0.5;          /* of what an error would pull, that the velocity limit leaves */
static const double LOAD_FADE = 0.1;       /* time constant of a load that drives its joint away [s] */
static const double AT_REST = 0.02;         /* slower, a joint stands [rad/s or m/s] */
static const double HOLDS_ALONE = 0.5;      /* of the following error, that kp may leave of an estimate that is switched off */
static const double KEEPS_PACE = 0.05;     /* of the velocity limit, that a joint lags behind whose error pulls at a load */
static const double PACED = 0.05;          /* for so long: the error of one that swings, where it turns, is no load [s] */
static const double GUIDED = 0.25;         /* share of the velocity limit that an arm moved by hand may have */
static const double GUIDED_GAIN = 10.0;    /* of its braking, at least [1/s] */
static const double GUIDED_DAMPING = 0.5;  /* [1/s] */
static const double WALL_GAIN = 40.0;      /* of the braking of a joint that yields, with states in good time [1/s] */
static const double WALL_SHARE = 0.25;     /* of it at most in a period of the states */
static const double STOPPED = 0.02;        /* share of the velocity limit beyond which a stop brakes an arm that yields */
static const double STOP_GAIN = 40.0;      /* of that braking [1/s] */
static const double STOP_SHARE = 0.08;     /* of it at most in the longest of the last periods: joints are coupled */
static const double SPRINGS_FADE = 0.85;   /* of the velocity limit, from which on springs accelerate a joint less */
static const double AHEAD = 0.05;          /* of the velocity limit, that friction may drive a joint ahead */
static const double DOUBT = 2000.0;        /* loss of what is overcome, per share of the limit that a lead has beyond AHEAD [1/s] */
static const double TRUST = 1.0;           /* its return while the joint lags [1/s] */
static const double GROWTH = 0.1;          /* of the velocity limit, by which friction that grows in a state may accelerate a joint */

/* Friction of a joint that a core compensates. It grows from state to state by as much as the least inertia of the joint
 * stands: more than there is of it would throw a light joint before any feedback sees it move. As much as a joint has shown
 * to have is there at once, or a light one would stand still for a while after each reversal. */
static double compensated(rd_core *core, const rd_settings *s, int j, double friction, double elapsed)
{
    const double *inertia = s->rules ? s->rules->inertia : NULL, last = core->rubbed[j];
    const double lead = copysign(1.0, last) * (core->state.velocity[j] - core->reference.velocity[j]);
    const int counts = s == core->settings && elapsed > 0.0;
    double *shown = &core->shown_friction[j], given = core->overcome[j] * friction;
    if (counts) {
        *shown = lead > AHEAD * s->velocity_limits[j] ? 0.5 * *shown : fmax(*shown, fabs(last));
    }
    if (!(fabs(given) <= *shown)) {
        const double step = inertia && elapsed > 0.0 ? GROWTH * s->velocity_limits[j] * inertia[j] / elapsed : INFINITY;
        given = copysign(fmin(fabs(given), fmax(*shown, (last * friction > 0.0 ? fabs(last) : 0.0) + step)), given);
    }
    core->rubbed[j] = counts ? given : last;
    return given;
}

/* Take the states of presliding on with the reference. They begin anew, without knowledge of what was before, after a gap
 * and with a state that does not follow the last one. Noise of a stream at rest is no travel. */
static void slide(rd_core *core, const rd_settings *s)
{
    const double elapsed = core->time - core->slid_time;
    const int known = 0.0 <= elapsed && elapsed < ESTIMATE_GAP && !core->discontinuity;
    for (int j = 0; j < core->n; ++j) {
        const double place = core->reference.position[j], rate = core->reference.velocity[j];
        const double *p = s->friction + RD_FRICTION_PARAMETERS * j;
        if (!known) {
            core->slid[j] = 0.0;
        } else if (p[RD_PRESLIDING_FRICTION] > 0.0 && rd_beyond(rd_reference_noise(core), rate) != 0.0) {
            core->slid[j] = rd_slid_after(p, core->slid[j], place - core->slid_at[j]);
        }
        core->slid_at[j] = place;
    }
    core->slid_time = core->time;
}

/* Links and drives; the friction at the velocity `rate`, in the states `slid` of presliding (NULL: long after a reversal) and
 * under the links' load, is added, or what `core` compensates of it after a state so long ago [s]; below `noise` a rate has no
 * direction. Whether the model gave finite efforts.
 *
 * A law takes the reference's velocity for it: friction of the measured one would feed a motion wherever a joint has
 * less friction than is declared, and friction along the error would hunt at rest. */
static int driven_dynamics(int n, const rd_settings *s, const double *q, const double *qd, const double *qdd,
                           const double *rate, double noise, const double *slid, rd_core *core, double elapsed,
                           double *effort)
{
    const double *in[] = {q, qd, qdd, s->gravity, s->payload, rd_measured_now(s)};
    if (!s->inverse_dynamics(in, effort)) {
        return 0;
    }
    if (s->driven) {
        for (int j = 0; j < n; ++j) {
            const double *p = s->friction + RD_FRICTION_PARAMETERS * j;
            const double heading = rd_beyond(noise, rate[j]), built = slid ? rd_presliding(p, heading, slid[j]) : 0.0;
            const double friction = rd_friction(p, rate[j], heading, effort[j]) + built;
            effort[j] += s->rotor_inertia[j] * qdd[j] + (core ? compensated(core, s, j, friction, elapsed) : friction);
        }
    }
    return 1;
}

static int inverse_dynamics(int n, const rd_settings *s, const double *q, const double *qd, const double *qdd,
                            const double *rate, double *effort)
{
    return driven_dynamics(n, s, q, qd, qdd, rate, RD_NOISE, NULL, NULL, 0.0, effort);
}

static int arm_bearing(rd_core *core, const rd_settings *s, double *effort)
{
    return inverse_dynamics(core->n, s, core->state.position, core->state.velocity, core->disturbance, core->state.velocity, effort);
}

static int arm_load(const rd_core *core, const rd_settings *s, double *effort)
{
    return inverse_dynamics(core->n, s, core->state.position, core->zero, core->disturbance, core->zero, effort);
}

/* Error beyond which a joint is blocked. */
static double doubted(const rd_settings *s, int j)
{
    return s->rules && isfinite(s->rules->following[j]) ? s->rules->following[j] : s->following[j];
}

/* A load that drives its joint away from the reference, farther than `least`, or on beyond its limit, is none: somebody has
 * pushed when it was estimated, an end stop bore it, or what was carried is gone. It fades, and in a stop the faster, the
 * faster a joint goes away whose speed grows: one that only swings past its place gets slower. So does friction. */
void rd_drop_driving_load(rd_core *core, double elapsed, const double *least)
{
    const double *limits = elapsed < ESTIMATE_GAP ? core->settings->position_limits : NULL; /* over a gap nothing is known */
    for (int j = 0; elapsed > 0.0 && j < core->n; ++j) {
        const double place = core->state.position[j], error = core->reference.position[j] - place;
        double *z = &core->disturbance[j];
        const double ahead = copysign(1.0, *z) * (core->state.velocity[j] - core->reference.velocity[j]);
        const int faster = core->trip.latched && ahead > core->led[j];
        const int away = *z * error < 0.0 && *z * core->state.velocity[j] > 0.0
            && fabs(error) > (faster ? 0.25 * least[j] : least[j]);
        if (away || (limits && (*z > 0.0 ? place > limits[core->n + j] : place < limits[j]))) {
            core->undisturbed[j] = *z *= exp(-elapsed * fmax(1.0 / LOAD_FADE, faster ? ahead / least[j] : 0.0));
        }
        if (core->settings->driven) {
            rd_doubt_friction(core, j, core->reference.velocity[j], elapsed);
        }
    }
}

double rd_since_estimate(rd_core *core)
{
    const double elapsed = core->time - core->disturbance_time;
    core->disturbance_time = core->time;
    return elapsed;
}

/* Gain of the position error at a softness. A stop that stiffens a joint never makes one swing that its kv damps too little:
 * loads that the model lacks would swing even more. */
double rd_softened_kp(const rd_settings *s, int j, double soft)
{
    const double kv = soft * s->kv[j], kp = soft * soft * s->kp[j];
    return soft > 1.0 ? fmin(kp, fmax(s->kp[j], 0.25 * kv * kv)) : kp;
}

/* Acceleration with which the position error pulls at a joint. It asks for no more speed than there is: v_d + (kp/kv) e
 * stays within the velocity limit. */
static double pull_of(const rd_core *core, const rd_settings *s, int j, double soft)
{
    const rd_motion *r = &core->reference;
    const double kv = soft * s->kv[j], most = s->velocity_limits[j], rate = r->velocity[j];
    const double pull = rd_softened_kp(s, j, soft) * (r->position[j] - core->state.position[j]);
    if (kv > 0.0) {
        return fmin(fmax(pull, fmin(0.0, kv * (-most - rate))), fmax(0.0, kv * (most - rate)));
    }
    return pull;
}

/* Integrate the position error of each joint to an acceleration that the model lacks: z' = ki e, at most kp times the
 * following error. Nothing is integrated over a gap, while limits or brakes take part of the efforts, where the error is
 * small enough, and where it is beyond half the following error: what blocks a joint there is no load. Near its velocity
 * limit, where no error may pull at a joint, the estimate alone bears a load: it grows as long as the joint falls behind, and
 * fades where it takes the joint beyond the limit. */
static void estimate_load(rd_core *core, const rd_settings *s, double elapsed)
{
    rd_drop_driving_load(core, elapsed, s->settled);
    for (int j = 0; j < core->n; ++j) {
        const double error = core->reference.position[j] - core->state.position[j], size = fabs(error);
        const double v = core->state.velocity[j], behind = error * (core->reference.velocity[j] - v);
        const double soft = core->softness[j], stiff = fmax(1.0, soft);
        double *z = &core->disturbance[j];
        const int settled = size <= s->settled[j] / stiff;
        const int capped = !settled && fabs(pull_of(core, s, j, soft)) < CAPPED * rd_softened_kp(s, j, soft) * size;
        if (settled) {
            core->undisturbed[j] = *z;
        } else if (capped && 0.0 < elapsed && *z * v > 0.0 && fabs(v) > s->velocity_limits[j]) {
            *z *= exp(-elapsed / LOAD_FADE);
        } else if (s->ki[j] > 0.0 && 0.0 < elapsed && elapsed < ESTIMATE_GAP && !core->cut && !core->braked
                   && (capped ? behind > 0.0 : size < 0.5 * doubted(s, j))) {
            const double most = fmax(stiff * s->kp[j] * doubted(s, j), fabs(core->undisturbed[j]));
            const double gain = stiff > 1.0 ? stiff : soft * soft * soft; /* stiffened, what blocks a joint winds up no load */
            *z = fmin(fmax(*z + gain * s->ki[j] * elapsed * error, -most), most);
        }
    }
}

/* Friction that is declared and not there drives a joint ahead of its reference, the faster the less inertia it has: what
 * is overcome of it falls until it does not, at least by half of it in a cycle where a joint is far ahead. */
void rd_doubt_friction(rd_core *core, int j, double rate, double elapsed)
{
    const double most = core->settings->velocity_limits[j];
    const double lead = rd_direction(rd_beyond(rd_reference_noise(core), rate)) * (core->state.velocity[j] - rate) / most;
    double *share = &core->overcome[j];
    if (lead > AHEAD) {
        *share *= fmax(0.5, 1.0 - DOUBT * fmin(elapsed, ESTIMATE_GAP) * (lead - AHEAD));
    } else if (lead < 0.0) {
        *share = fmin(1.0, *share + TRUST * fmin(elapsed, ESTIMATE_GAP));
    }
}

/* Acceleration of the feedback at a joint. */
static double feedback_of(const rd_core *core, const rd_settings *s, int j)
{
    const double soft = core->softness[j];
    return soft * s->kv[j] * (core->reference.velocity[j] - core->state.velocity[j]) + pull_of(core, s, j, soft);
}

double rd_pull(const rd_core *core, const rd_settings *s, int j, double soft)
{
    return fabs(core->time - core->strayed[j]) > PACED ? core->disturbance[j] + pull_of(core, s, j, soft) : NAN;
}

void rd_watch_lag(rd_core *core, const rd_settings *s, int j)
{
    if (fabs(core->state.velocity[j] - core->reference.velocity[j]) >= KEEPS_PACE * s->velocity_limits[j]) {
        core->strayed[j] = core->time;
    }
}

void rd_carry_pull(rd_core *core, int j, double pull, double soft)
{
    if (isfinite(pull)) {
        core->disturbance[j] = core->undisturbed[j] = pull - pull_of(core, core->settings, j, soft);
    }
}

void rd_keep_pull(rd_core *core)
{
    const rd_settings *s = core->settings;
    for (int j = 0; !s->platform && j < core->n; ++j) {
        const double error = core->reference.position[j] - core->state.position[j];
        const double faster = core->state.velocity[j] - core->reference.velocity[j];
        if (core->softness[j] > 1.0 && error * faster < 0.0) {
            core->undisturbed[j] = core->disturbance[j] += pull_of(core, s, j, core->softness[j]);
        }
    }
}

static int computed_torque(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    double *acceleration = core->scratch[0], *velocity = core->scratch[1], *position = core->scratch[2];
    const double *q = core->state.position, *qd = core->state.velocity;
    if (s == core->settings && !rd_is_held_to_run(s)) {
        estimate_load(core, s, rd_since_estimate(core)); /* not of what a hand does while it waits for the button */
    }
    for (int j = 0; j < core->n; ++j) {
        const double a = acceleration[j] =
            rd_known_ratio(core, j) * ahead->acceleration[j] + feedback_of(core, s, j) + core->disturbance[j];
        velocity[j] = qd[j] + half * a;
        position[j] = q[j] + half * (qd[j] + 0.5 * half * a);
    }
    return driven_dynamics(core->n, s, position, velocity, acceleration, ahead->velocity, rd_reference_noise(core),
                           core->slid, core, core->period, effort);
}

int rd_joint_inertia(rd_core *core, const rd_settings *s)
{
    double *unit = core->scratch[1], *weight = core->scratch[0];
    core->knows_inertia = 0; /* another law's, and of another model, when a law is replaced */
    memset(unit, 0, sizeof(double) * (size_t)core->n);
    if (!rd_inertia_at(s, rd_rotors(s), core->n, core->state.position, core->zero, unit, weight, core->matrix)) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        core->inertia[j] = core->matrix[j * core->n + j];
    }
    return 1;
}

static int proportional_derivative(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half,
                                   double *effort)
{
    (void)ahead, (void)half;
    if (!core->knows_inertia && !(core->knows_inertia = rd_joint_inertia(core, s))) {
        return 0;
    }
    for (int j = 0; j < core->n; ++j) {
        effort[j] = core->inertia[j] * feedback_of(core, s, j);
    }
    return 1;
}

static int arm_dynamics(rd_core *core, const rd_settings *s, const double *q, const double *qd, const double *qdd,
                        const double *rate, double *effort)
{
    return driven_dynamics(core->n, s, q, qd, qdd, rate, rd_reference_noise(core), core->slid, core, 0.0, effort);
}

static int reference_effort(rd_core *core, const rd_settings *s, const rd_motion *r, double *effort)
{
    return driven_dynamics(core->n, s, r->position, r->velocity, r->acceleration, r->velocity, rd_reference_noise(core),
                           core->slid, NULL, 0.0, effort);
}

static int feedforward(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    (void)ahead;
    (void)half;
    return reference_effort(core, s, &core->reference, effort);
}

/* Braking of a joint that is faster than a cap or than the way to its position limit allows, unless its reference is as
 * fast; from beyond the limit it is pushed back. */
double rd_braking_within(const rd_core *core, const rd_settings *s, int j, double cap, const double *limits, double gain,
                         double rate)
{
    const double q = core->state.position[j], qd = core->state.velocity[j], per_way = 0.5 * gain;
    limits = limits ? limits : s->position_limits;
    double up = fmax(-cap, fmin(cap, per_way * (limits[core->n + j] - q)));
    double down = fmax(-cap, fmin(cap, per_way * (q - limits[j])));
    up = rate > 0.0 ? fmax(up, rate) : up;
    down = rate < 0.0 ? fmax(down, -rate) : down;
    return qd > up ? -gain * (qd - up) : qd < -down ? -gain * (qd + down) : 0.0;
}

/* Acceleration of a joint that may be moved by hand: slight damping, and braking above GUIDED of the velocity limit. */
static double guided_acceleration(rd_core *core, const rd_settings *s, int j)
{
    const double cap = GUIDED * s->velocity_limits[j], gain = fmax(s->kv[j], GUIDED_GAIN);
    const double braking = rd_braking_within(core, s, j, cap, NULL, gain, 0.0);
    return rd_guided_stiffness(core, s, j, fabs(braking) / gain, gain) * braking - GUIDED_DAMPING * core->state.velocity[j];
}

double rd_wall_gain(const rd_core *core, const rd_settings *s)
{
    const double period = rd_control_period(core, s);
    return period > 0.0 ? fmin(WALL_GAIN, WALL_SHARE / period) : GUIDED_GAIN;
}

double rd_braking_at_wall(const rd_core *core, const rd_settings *s, int j)
{
    return rd_braking_within(core, s, j, s->velocity_limits[j], NULL, rd_wall_gain(core, s), core->reference.velocity[j]);
}

/* Soft springs stop nothing, so a protective stop brakes what yields, unless it has yielded to a contact. An acceleration,
 * because axes that align share theirs; it grows where the model's inertia is too little against a load. */
double rd_braking_in_stop(rd_core *core, const rd_settings *s, int j)
{
    if (!core->trip.latched || core->trip.rule == RD_CONTACT || core->guides || rd_braking_at_wall(core, s, j) != 0.0) {
        return 0.0;
    }
    const double longest = rd_longest_recent(core, rd_control_period(core, s));
    const double gain = fmin(STOP_GAIN, STOP_SHARE / (longest + (s->rules ? fmax(s->rules->delay, 0.0) : 0.0)));
    const double braking = rd_braking_within(core, s, j, STOPPED * s->velocity_limits[j], NULL, gain, core->reference.velocity[j]);
    return rd_guided_stiffness(core, s, j, fabs(braking) / gain, gain) * braking;
}

double rd_within_speed(const rd_core *core, const rd_settings *s, int j, double pull)
{
    const double qd = core->state.velocity[j], most = fmax(s->velocity_limits[j], fabs(core->reference.velocity[j]));
    const double left = (1.0 - fabs(qd) / most) / (1.0 - SPRINGS_FADE);
    return pull * qd > 0.0 ? pull * fmin(fmax(left, 0.0), 1.0) : pull;
}

static int gravity_compensation(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    double *acceleration = core->scratch[0];
    (void)ahead;
    (void)half;
    for (int j = 0; j < core->n; ++j) {
        acceleration[j] = guided_acceleration(core, s, j);
    }
    return inverse_dynamics(core->n, s, core->state.position, core->zero, acceleration, core->zero, effort);
}

/* A law from outside: it is given what the others use, too. */
static int called(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    const rd_law_input input = {
        .joints = core->n, .time = core->time, .half_period = half, .position = core->state.position,
        .velocity = core->state.velocity, .reference = core->reference, .ahead = *ahead, .kp = s->kp, .kv = s->kv,
    };
    return s->called && s->called(s->called_context, &input, effort);
}

/* The law of each mode: the efforts for core->state, core->reference and the reference `half` a control period ahead;
 * whether the model has them. */
static int (*const LAWS[])(rd_core *, const rd_settings *, const rd_motion *, double, double *) = {
    [RD_COMPUTED_TORQUE] = computed_torque,
    [RD_FEEDFORWARD] = feedforward,
    [RD_GRAVITY_COMPENSATION] = gravity_compensation,
    [RD_PD] = proportional_derivative,
    [RD_JOINT_IMPEDANCE] = rd_joint_impedance,
    [RD_CARTESIAN_IMPEDANCE] = rd_cartesian_impedance,
    [RD_HAND_GUIDING] = rd_hand_guiding,
    [RD_CALLED] = called,
};

static int arm_effort(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    const int mode = rd_has_yielded(core, s) ? RD_JOINT_IMPEDANCE
        : rd_lacks_feedback(core, s)         ? RD_COMPUTED_TORQUE
                                             : s->mode;
    if (s->driven && s == core->settings) {
        slide(core, s);
    }
    return LAWS[mode](core, s, ahead, half, effort);
}

static void change_law(rd_core *core)
{
    core->knows_inertia = 0;
}

static void restore_load(rd_core *core)
{
    rd_copy(core->disturbance, core->undisturbed, core->n);
}

/* True if a joint goes on to carry an estimated acceleration. An estimate that is switched off keeps what kp alone would
 * hold too far from the reference. */
static int carries(const rd_settings *s, int j, double estimate)
{
    const unsigned carrying = 1U << RD_COMPUTED_TORQUE | s->machine->yielding | s->machine->held_to_run;
    const int needed = fabs(estimate) > HOLDS_ALONE * s->kp[j] * doubted(s, j);
    return (s->ki[j] > 0.0 || needed) && carrying >> s->mode & 1U;
}

/* The estimate after a change of law or model. What a new model carries of it is taken from it, so that a load that has
 * been estimated and is declared then does not count twice; a load that is declared first is none of its business. After a
 * law without position feedback it carries what the present effort holds at rest beside the model. */
static int keep_load(rd_core *core, const rd_settings *before)
{
    const rd_settings *s = core->settings;
    const int fed_back = !(before->machine->without_feedback >> before->mode & 1U);
    double *carried = core->before, *found = core->scratch[3], *z = core->disturbance;
    int kept = rd_controls(core->phase) && core->knows_effort && !core->braked && (fed_back || !core->cut), changed = 0;
    for (int j = 0; j < core->n; ++j) {
        kept &= fed_back || (fabs(core->state.velocity[j]) < AT_REST && !core->fades);
    }
    rd_copy(carried, core->last_effort, core->n);
    kept = kept && (!fed_back || inverse_dynamics(core->n, before, core->state.position, core->zero, z, core->zero, carried));
    kept = kept && rd_acceleration(core, s, core->state.position, core->zero, core->zero, carried, found);
    for (int j = 0; j < core->n; ++j) {
        const double most = fmax(s->kp[j] * doubted(s, j), fed_back ? fabs(z[j]) : 0.0);
        const double least = fed_back ? fmax(-most, fmin(0.0, z[j])) : -most;
        const double greatest = fed_back ? fmin(most, fmax(0.0, z[j])) : most;
        const double now = kept && carries(s, j, found[j]) ? fmin(fmax(found[j], least), greatest) : 0.0;
        changed |= now != z[j];
        core->undisturbed[j] = z[j] = now;
    }
    return changed;
}

/* A load that the observer shows, without what may be declared friction that is not there: it looks like a load along the
 * motion. Of that as much is left as the least inertia of the joint stands in a state. */
static double without_friction(const rd_core *core, const rd_settings *s, int j, double load)
{
    const double *p = s->friction + RD_FRICTION_PARAMETERS * j, rate = core->state.velocity[j];
    const double stands = s->rules && s->rules->inertia && core->period > 0.0
        ? GROWTH * s->velocity_limits[j] * s->rules->inertia[j] / core->period : INFINITY;
    const double friction = s->driven ? fabs(rd_friction(p, rate, rate, 0.0)) : 0.0;
    const double doubt = load * rate > 0.0 ? fmin(fabs(load), friction) : 0.0;
    return load - copysign(doubt - fmin(doubt, stands), load);
}

/* Carry what the observer shows beside the model at rest, times a factor. */
static void take_load(rd_core *core, double factor)
{
    const rd_settings *s = core->settings;
    double *effort = core->before, *found = core->scratch[3];
    if (!inverse_dynamics(core->n, s, core->state.position, core->zero, core->zero, core->zero, effort)) {
        return;
    }
    for (int j = 0; j < core->n; ++j) {
        effort[j] -= without_friction(core, s, j, factor * rd_observer_load(core->observer, j));
    }
    if (rd_acceleration(core, s, core->state.position, core->zero, core->zero, effort, found)) {
        rd_copy(core->disturbance, found, core->n);
        rd_copy(core->undisturbed, found, core->n);
    }
}

/* External efforts and their thresholds. */
static void report_external(const rd_core *core, double *telemetry)
{
    rd_copy(telemetry, rd_external(core), 2 * core->n);
}

static const rd_machine ARM = {
    .telemetry_of_joints = 2, .report = report_external,
    .without_feedback = 1U << RD_FEEDFORWARD | 1U << RD_GRAVITY_COMPENSATION | 1U << RD_HAND_GUIDING,
    .without_reference = 1U << RD_GRAVITY_COMPENSATION | 1U << RD_HAND_GUIDING,
    .held_to_run = 1U << RD_HAND_GUIDING,
    .yielding = RD_YIELDING,
    .reference_effort = reference_effort, .dynamics = arm_dynamics, .bearing = arm_bearing, .effort = arm_effort,
    .load = arm_load, .change_law = change_law, .keep_load = keep_load, .restore_load = restore_load,
    .take_load = take_load,
};

const rd_machine *rd_machine_arm(void)
{
    return &ARM;
}
