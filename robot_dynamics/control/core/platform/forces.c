/* The laws of a platform, and the forces of its model with payload, external wrench and estimated disturbance.
 *
 * Computed force in task space evaluates the exact inverse dynamics at the acceleration
 *
 *     a = a_d + Kv (v_d - v) + Kp (x_d - x) + z,
 *
 * where x is the pose of the measured leg lengths, and the orientation error the rotation vector from the measured to
 * the desired orientation, base frame. The estimated disturbance z follows z' = ki (x_d - x), so the error obeys
 * e''' + kv e'' + kp e' + ki e = 0: stable for ki < kp kv, with real roots up to 4/27 kp^1.5 when kv = 2 sqrt(kp). */
#include "platform.h"
#include "cholesky.h"

#include <math.h>

static const double LONGEST_GAP = 0.05; /* between two states; over a longer one nothing is integrated [s] */
/* Shares of the pose error that trips: beyond the one nothing is integrated, and within the other the estimate is good. */
static const double BLOCKED = 0.5, SMALL = 0.25;
/* Time constant of an estimate that drives the platform away from its reference [s]: what it bore is gone. */
static const double FADE = 0.1;

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Base frame to platform frame, and the product of a matrix (9) with a vector. */
static void turned_back(const double rotation[9], const double vector[3], double out[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = rotation[i] * vector[0] + rotation[3 + i] * vector[1] + rotation[6 + i] * vector[2];
    }
}

static void times(const double matrix[9], const double vector[3], double out[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = matrix[3 * i] * vector[0] + matrix[3 * i + 1] * vector[1] + matrix[3 * i + 2] * vector[2];
    }
}

/* Add the force and the moment of a payload on the platform to a wrench, all in the platform's frame. */
static void add_payload(const rd_platform_model *model, const double quaternion[4], const double twist[6],
                        const double acceleration[6], double wrench[6])
{
    const double *arm = model->payload_center, *inertia = model->payload_inertia;
    double rotation[9], w[3], alpha[3], lifted[3], lift[3], across[3], inward[3], around[3], momentum[3], turning[3];
    double gyroscopic[3], force[3], moment[3];
    rd_rotation(quaternion, rotation);
    for (int i = 0; i < 3; ++i) {
        lifted[i] = acceleration[i] - model->gravity[i];
    }
    turned_back(rotation, twist + 3, w);
    turned_back(rotation, acceleration + 3, alpha);
    turned_back(rotation, lifted, lift);
    cross(alpha, arm, across);
    cross(w, arm, inward);
    cross(w, inward, around);
    times(inertia, alpha, turning);
    times(inertia, w, momentum);
    cross(w, momentum, gyroscopic);
    for (int i = 0; i < 3; ++i) {
        force[i] = -model->payload_mass * (lift[i] + across[i] + around[i]);
    }
    cross(arm, force, moment);
    for (int i = 0; i < 3; ++i) {
        wrench[i] += force[i];
        wrench[3 + i] += moment[i] - turning[i] - gyroscopic[i];
    }
}

int rd_platform_forces_of(const rd_settings *s, size_t count, double *motions, double *forces)
{
    int finite = 1;
    for (size_t k = 0; k < count; ++k, motions += RD_MOTION_SIZE, forces += 6) {
        const double *in[] = {motions};
        if (s->platform->payload_mass > 0.0) {
            add_payload(s->platform, motions + 3, motions + 7, motions + 13, motions + 19);
        }
        finite &= s->inverse_dynamics(in, forces);
    }
    return finite;
}

int rd_platform_forces(const rd_core *core, const rd_settings *s, const double pose[7], const double twist[6],
                       const double acceleration[6], double *forces)
{
    double motion[RD_MOTION_SIZE];
    rd_copy(motion, pose, 7);
    rd_copy(motion + 7, twist, 6);
    rd_copy(motion + 13, acceleration, 6);
    rd_copy(motion + 19, rd_platform_of(core)->wrench, 6);
    return rd_platform_forces_of(s, 1, motion, forces);
}

/* References */

void rd_platform_motion(const rd_motion *reference, double pose[7], double twist[6], double acceleration[6])
{
    const double *angles = reference->position + 3, *d = reference->velocity + 3, *a = reference->acceleration + 3;
    const double cy = cos(angles[1]), sy = sin(angles[1]), cz = cos(angles[2]), sz = sin(angles[2]);
    /* The axes of roll, pitch and yaw are (cz cy, sz cy, -sy), (-sz, cz, 0) and (0, 0, 1). */
    const double level = cy * d[0], level_rate = cy * a[0] - sy * d[1] * d[0];
    rd_copy(pose, reference->position, 3);
    rd_quaternion(angles, pose + 3);
    rd_copy(twist, reference->velocity, 3);
    rd_copy(acceleration, reference->acceleration, 3);
    twist[3] = cz * level - sz * d[1];
    twist[4] = sz * level + cz * d[1];
    twist[5] = d[2] - sy * d[0];
    acceleration[3] = cz * level_rate - sz * a[1] - d[2] * twist[4];
    acceleration[4] = sz * level_rate + cz * a[1] + d[2] * twist[3];
    acceleration[5] = a[2] - sy * a[0] - cy * d[1] * d[0];
}

void rd_platform_reference(double *position, double *velocity, double *acceleration, double *reference)
{
    const rd_motion motion = {position, velocity, acceleration};
    double pose[7];
    rd_platform_motion(&motion, pose, reference + 12, reference + 18);
    rd_copy(reference, pose, 3);
    rd_rotation(pose + 3, reference + 3);
}

void rd_pose_error(const double wanted[7], const double pose[7], double error[6])
{
    const double *p = wanted + 3, *q = pose + 3;
    /* The quaternion of the rotation from the pose to the one that is wanted. */
    double v[3] = {p[0] * q[3] - p[3] * q[0] - p[1] * q[2] + p[2] * q[1],
                   p[1] * q[3] - p[3] * q[1] - p[2] * q[0] + p[0] * q[2],
                   p[2] * q[3] - p[3] * q[2] - p[0] * q[1] + p[1] * q[0]};
    const double w = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
    const double sine = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    double scale = sine > 1e-12 ? 2.0 * atan2(sine, fabs(w)) / sine : 2.0;
    scale = w < 0.0 ? -scale : scale;
    for (int i = 0; i < 3; ++i) {
        error[i] = wanted[i] - pose[i];
        error[3 + i] = scale * v[i];
    }
}

/* The disturbance */

static int estimates(const rd_platform_model *model)
{
    return model->disturbance_gain[0] > 0.0;
}

/* Shorten the linear and the angular part to the declared bounds. */
static void bound_disturbance(const rd_platform_model *model, double disturbance[6])
{
    for (int part = 0; part < 2; ++part) {
        double *z = disturbance + 3 * part;
        const double size = sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]), most = model->disturbance_bounds[part];
        for (int i = 0; size > most && i < 3; ++i) {
            z[i] *= most / size;
        }
    }
}

void rd_platform_keep_disturbance(rd_core *core)
{
    const rd_platform_model *model = core->settings->platform;
    double *disturbance = rd_platform_of(core)->disturbance;
    bound_disturbance(model, disturbance);
    if (!estimates(model)) {
        rd_copy(disturbance, core->zero, 6);
    }
}

void rd_platform_restore_disturbance(rd_core *core)
{
    rd_copy(rd_platform_of(core)->disturbance, rd_platform_of(core)->undisturbed, 6);
}

/* A pose error as a share of the one that trips; 0 where none does. */
static double share_of_threshold(const rd_core *core, const double error[6])
{
    const rd_rules *rules = core->settings->rules;
    double share = 0.0;
    for (int part = 0; rules && part < 2; ++part) {
        const double *e = error + 3 * part;
        share = fmax(share, sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) / rules->pose[part]);
    }
    return isfinite(share) ? share : 0.0;
}

/* Integrate the pose error, except over a gap, after forces that were cut, where it is small enough, and where it is so
 * large that a leg may be blocked. */
static void estimate_disturbance(rd_core *core, const rd_platform_model *model, const double error[6])
{
    rd_platform *platform = rd_platform_of(core);
    const double elapsed = platform->time - platform->disturbance_time;
    const double share = share_of_threshold(core, error);
    platform->disturbance_time = platform->time;
    if (share <= SMALL) {
        rd_copy(platform->undisturbed, platform->disturbance, 6);
    }
    for (int i = 0; i < 6 && share > SMALL && elapsed > 0.0; ++i) {
        double *z = &platform->disturbance[i];
        if (*z * error[i] < 0.0 && *z * platform->twist[i] > 0.0) {
            platform->undisturbed[i] = *z *= exp(-elapsed / FADE);
        }
    }
    if (!core->cut && !core->braked && 0.0 < elapsed && elapsed < LONGEST_GAP && share < BLOCKED) {
        const double soft = fmin(1.0, core->softness[0]);
        for (int i = 0; i < 6; ++i) {
            const double *e = error + i / 3 * 3;
            if (sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) > model->disturbance_left[i / 3]) {
                platform->disturbance[i] += soft * soft * soft * model->disturbance_gain[i] * elapsed * error[i];
            }
        }
        bound_disturbance(model, platform->disturbance);
    }
}

/* The wrench (6) of the forces under an acceleration at rest; whether the model has them. */
static int wrench_at_rest(const rd_core *core, const rd_settings *s, const double acceleration[6], double wrench[6])
{
    const rd_platform *platform = rd_platform_of(core);
    double forces[6];
    if (!rd_platform_forces(core, s, platform->pose, RD_AT_REST, acceleration, forces)) {
        return 0;
    }
    for (int i = 0; i < 6; ++i) {
        wrench[i] = 0.0;
        for (int leg = 0; leg < 6; ++leg) {
            wrench[i] += platform->jacobian[6 * leg + i] * forces[leg];
        }
    }
    return 1;
}

/* The part of the estimate that a new model carries is taken from it; see keep_load() of law.c. */
int rd_platform_keep_load(rd_core *core, const rd_settings *before)
{
    const rd_settings *s = core->settings;
    rd_platform *platform = rd_platform_of(core);
    double *z = platform->disturbance;
    double carried[6], rest[6], inertia[36];
    if (s->model == before->model) {
        return 0;
    }
    int kept = rd_controls(core->phase) && !core->braked && wrench_at_rest(core, before, z, carried)
        && wrench_at_rest(core, s, RD_AT_REST, rest);
    for (int i = 0; kept && i < 6; ++i) {
        double unit[6] = {0.0};
        unit[i] = 1.0;
        kept = wrench_at_rest(core, s, unit, inertia + 6 * i);
        for (int j = 0; j < 6; ++j) {
            inertia[6 * i + j] -= rest[j];
        }
        carried[i] -= rest[i];
    }
    kept = kept && solve_positive(inertia, 6, carried);
    int changed = 0;
    for (int i = 0; i < 6; ++i) {
        const double now = kept ? fmin(fmax(carried[i], fmin(0.0, z[i])), fmax(0.0, z[i])) : 0.0;
        changed |= now != z[i];
        platform->undisturbed[i] = z[i] = now;
    }
    return changed;
}

/* The laws */

void rd_leg_rates(const double jacobian[36], const double twist[6], double rates[6])
{
    for (int i = 0; i < 6; ++i) {
        rates[i] = 0.0;
        for (int j = 0; j < 6; ++j) {
            rates[i] += jacobian[6 * i + j] * twist[j];
        }
    }
}

/* Add what friction has more at the reference's twist than at the one that the model was given; see inverse_dynamics()
 * of law.c. Viscous friction is what changes its sign with the twist: of actuators alone it is known, of the joints at
 * their ends the model says it. Of the actuators' share as much is overcome as does not drive a leg ahead. */
static int add_friction(const rd_core *core, const rd_settings *s, const double pose[7], const double given[6],
                        const double reference[6], double *effort)
{
    const rd_platform_model *model = s->platform;
    const double *jacobian = rd_platform_of(core)->jacobian;
    double more[6], less[6], rates[6], led[6], known[6], ahead[6], back[6];
    for (int i = 0; i < 6; ++i) {
        more[i] = reference[i] - given[i];
        less[i] = -more[i];
    }
    rd_leg_rates(jacobian, more, rates);
    rd_leg_rates(jacobian, reference, led);
    rd_leg_rates(jacobian, given, known);
    if (model->turning_friction && (!rd_platform_forces(core, s, pose, more, RD_AT_REST, ahead)
                                    || !rd_platform_forces(core, s, pose, less, RD_AT_REST, back))) {
        return 0;
    }
    for (int i = 0; i < 6; ++i) {
        const double dry = model->coulomb[i];
        effort[i] += model->turning_friction ? 0.5 * (ahead[i] - back[i]) - dry * rd_direction(rates[i])
                                             : model->viscous[i] * rates[i];
        effort[i] += dry * (core->overcome[i] * rd_direction(rd_beyond(rd_reference_noise(core), led[i])) - rd_direction(known[i]));
        effort[i] -= (1.0 - core->overcome[i]) * model->viscous[i] * led[i];
    }
    return 1;
}

/* Share of the pose error with which it asks no leg for more speed than there is, see feedback_of() of law.c. */
static double pull_share(const rd_core *core, const rd_settings *s, double soft, const double rate[6], const double error[6])
{
    double pull[6], asked[6], led[6], share = 1.0;
    for (int i = 0; i < 6; ++i) {
        const double stiff = fmax(1.0, soft);
        pull[i] = s->kv[i] > 0.0 ? rd_softened_kp(s, i, stiff) / (stiff * s->kv[i]) * error[i] : 0.0;
    }
    rd_leg_rates(rd_platform_of(core)->jacobian, pull, asked);
    rd_leg_rates(rd_platform_of(core)->jacobian, rate, led);
    for (int i = 0; i < 6; ++i) {
        const double most = s->velocity_limits[i];
        if (fabs(led[i] + asked[i]) > most && led[i] * asked[i] >= 0.0) {
            share = fmin(share, fmax(0.0, (most - fabs(led[i])) / fabs(asked[i])));
        } else if (fabs(led[i] + asked[i]) > most) {
            share = fmin(share, (most + fabs(led[i])) / fabs(asked[i]));
        }
    }
    return share;
}

void rd_platform_carry_pull(rd_core *core, double before, double now)
{
    const rd_settings *s = core->settings;
    rd_platform *platform = rd_platform_of(core);
    double wanted[7], rate[6], unused[6], error[6];
    rd_platform_motion(&core->reference, wanted, rate, unused);
    rd_pose_error(wanted, platform->pose, error);
    const double had = pull_share(core, s, before, rate, error), has = pull_share(core, s, now, rate, error);
    for (int i = 0; i < 6 && estimates(s->platform); ++i) {
        platform->disturbance[i] += (had * rd_softened_kp(s, i, before) - has * rd_softened_kp(s, i, now)) * error[i];
        platform->undisturbed[i] = platform->disturbance[i];
    }
    bound_disturbance(s->platform, platform->disturbance);
}

static int computed_force(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    const rd_platform_model *model = s->platform;
    rd_platform *platform = rd_platform_of(core);
    const double *v = platform->twist;
    double wanted[7], rate[6], unused[6], a[6], error[6], later[7], later_twist[6], lead[6], led[6], turn[3];
    rd_platform_motion(ahead, wanted, rate, a);
    rd_copy(lead, rate, 6);
    if (ahead != &core->reference) {
        rd_platform_motion(&core->reference, wanted, rate, unused);
    }
    rd_pose_error(wanted, platform->pose, error);
    rd_leg_rates(platform->jacobian, rate, led);
    for (int i = 0; i < 6 && s == core->settings; ++i) {
        rd_doubt_friction(core, i, led[i], core->period);
    }
    const double soft = core->softness[0], share = pull_share(core, s, soft, rate, error);
    for (int i = 0; i < 6; ++i) {
        a[i] = a[i] + soft * s->kv[i] * (rate[i] - v[i]) + share * rd_softened_kp(s, i, soft) * error[i];
    }
    if (estimates(model)) {
        estimate_disturbance(core, model, error);
        for (int i = 0; i < 6; ++i) {
            a[i] += platform->disturbance[i];
        }
    }
    rd_copy(later, platform->pose, 7);
    for (int i = 0; i < 6; ++i) {
        const double step = half * (v[i] + 0.5 * half * a[i]);
        *(i < 3 ? &later[i] : &turn[i - 3]) = i < 3 ? later[i] + step : step;
        later_twist[i] = v[i] + half * a[i];
    }
    stewart_turn(later + 3, turn);
    return rd_platform_forces(core, s, later, later_twist, a, effort)
        && add_friction(core, s, later, later_twist, lead, effort);
}

int rd_platform_reference_effort(rd_core *core, const rd_settings *s, const rd_motion *motion, double *effort)
{
    double pose[7], twist[6], acceleration[6];
    rd_platform_motion(motion, pose, twist, acceleration);
    return rd_platform_forces(core, s, pose, twist, acceleration, effort);
}

int rd_platform_effort(rd_core *core, const rd_settings *s, const rd_motion *ahead, double half, double *effort)
{
    if (s->mode == RD_PLATFORM_COMPUTED_FORCE || rd_lacks_feedback(core, s)) {
        return computed_force(core, s, ahead, half, effort);
    }
    return rd_platform_reference_effort(core, s, ahead, effort);
}

void rd_platform_joints_of(const rd_core *core, const rd_motion *reference, double *position, double *velocity)
{
    const rd_platform_model *model = core->settings->platform;
    double pose[7], twist[6], unused[6], jacobian[36];
    rd_platform_motion(reference, pose, twist, unused);
    stewart_inverse_kinematics(&model->geometry, pose, position, jacobian);
    rd_leg_rates(jacobian, twist, velocity);
    for (int i = 0; i < 6; ++i) {
        position[i] -= model->zero_lengths[i];
    }
}

int rd_platform_bearing(rd_core *core, const rd_settings *s, double *effort)
{
    const rd_platform *platform = rd_platform_of(core);
    return rd_platform_forces(core, s, platform->pose, platform->twist, platform->disturbance, effort);
}

int rd_platform_load(const rd_core *core, const rd_settings *s, double *effort)
{
    const rd_platform *platform = rd_platform_of(core);
    return rd_platform_forces(core, s, platform->pose, RD_AT_REST, platform->disturbance, effort);
}

/* Legs by the Jacobian: the following error is small. */
void rd_platform_stray(const rd_core *core, double *legs, double *linear, double *angular)
{
    const rd_platform *platform = rd_platform_of(core);
    double wanted[7], unused[6], twist[6], error[6];
    rd_platform_motion(&core->reference, wanted, twist, unused);
    rd_pose_error(wanted, platform->pose, error);
    rd_leg_rates(platform->jacobian, error, legs);
    *linear = sqrt(error[0] * error[0] + error[1] * error[1] + error[2] * error[2]);
    *angular = sqrt(error[3] * error[3] + error[4] * error[4] + error[5] * error[5]);
}

void rd_platform_stray_rate(const rd_core *core, double *legs)
{
    const rd_platform *platform = rd_platform_of(core);
    double pose[7], twist[6], unused[6];
    rd_platform_motion(&core->reference, pose, twist, unused);
    for (int i = 0; i < 6; ++i) {
        twist[i] -= platform->twist[i];
    }
    rd_leg_rates(platform->jacobian, twist, legs);
}
