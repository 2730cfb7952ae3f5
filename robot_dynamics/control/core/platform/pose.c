/* The pose of the measured leg lengths, by forward kinematics from the pose before, and the external wrench.
 *
 * A pose far too near to a singular one is known but not controlled in; the watch acts before, see platform.c. */
#include "platform.h"

#include <math.h>

static const double TOLERANCE = 1e-10; /* of the leg lengths [m] */
static const double LONGEST_FADE_STEP = 0.05; /* of a wrench between two states [s] */
static const double SINGULAR = 1e8;    /* condition number beyond which a Newton step says nothing */
static const double LEFT_ALONE = 2.0;  /* beyond so many times the limit of the condition number nothing is controlled */
enum { MOST_STEPS = 8, MOST_STEPS_AFAR = 30 };

void rd_rotation(const double q[4], double r[9])
{
    const double x2 = q[0] + q[0], y2 = q[1] + q[1], z2 = q[2] + q[2];
    const double xx = q[0] * x2, yy = q[1] * y2, zz = q[2] * z2, xy = q[0] * y2, xz = q[0] * z2, yz = q[1] * z2;
    const double wx = q[3] * x2, wy = q[3] * y2, wz = q[3] * z2;
    const double entries[9] = {1.0 - yy - zz, xy - wz, xz + wy, xy + wz, 1.0 - xx - zz, yz - wx,
                               xz - wy, yz + wx, 1.0 - xx - yy};
    rd_copy(r, entries, 9);
}

void rd_roll_pitch_yaw(const double r[9], double angles[3])
{
    const double horizontal = hypot(r[0], r[3]);
    const double yaw = horizontal > 1e-14 ? atan2(r[3], r[0]) : 0.0, c = cos(yaw), s = sin(yaw);
    angles[0] = atan2(s * r[2] - c * r[5] + 0.0, c * r[4] - s * r[1]);
    angles[1] = atan2(0.0 - r[6], horizontal);
    angles[2] = yaw;
}

void rd_quaternion(const double angles[3], double q[4])
{
    const double cx = cos(0.5 * angles[0]), sx = sin(0.5 * angles[0]), cy = cos(0.5 * angles[1]);
    const double sy = sin(0.5 * angles[1]), cz = cos(0.5 * angles[2]), sz = sin(0.5 * angles[2]);
    q[0] = sx * cy * cz - cx * sy * sz;
    q[1] = cx * sy * cz + sx * cy * sz;
    q[2] = cx * cy * sz - sx * sy * cz;
    q[3] = cx * cy * cz + sx * sy * sz;
}

void rd_angle_rates(const double angles[3], const double velocity[3], double rates[3])
{
    const double cy = cos(angles[1]), sy = sin(angles[1]), cz = cos(angles[2]), sz = sin(angles[2]);
    rates[0] = (cz * velocity[0] + sz * velocity[1]) / cy;
    rates[1] = cz * velocity[1] - sz * velocity[0];
    rates[2] = velocity[2] + sy * rates[0];
}

void rd_platform_find_rate(const rd_core *core, double *rate)
{
    const rd_platform *platform = rd_platform_of(core);
    rd_copy(rate, platform->twist, 3);
    rd_angle_rates(core->place + 3, platform->twist + 3, rate + 3);
}

/* True if a pose is upright, on home's side of the singular ones: the determinant has the same sign. */
static int is_this_machines(const rd_platform_model *model, const double pose[7])
{
    double lengths[6], jacobian[36], unused[6] = {0.0}, here[9], home[9];
    stewart_inverse_kinematics(&model->geometry, model->home, lengths, jacobian);
    const int side = stewart_solve(jacobian, unused, 1);
    stewart_inverse_kinematics(&model->geometry, pose, lengths, jacobian);
    rd_rotation(pose + 3, here);
    rd_rotation(model->home + 3, home);
    return side * stewart_solve(jacobian, unused, 1) > 0 && here[2] * home[2] + here[5] * home[5] + here[8] * home[8] > 0.0;
}

/* Search the first pose, which may be anywhere: from home, then from above and below it. */
static int found_afar(const rd_platform_model *model, const double lengths[6], double pose[7])
{
    static const double rises[] = {0.0, -0.5, 0.5, -1.0, 1.0, -1.5, 1.5};
    for (size_t k = 0; k < sizeof rises / sizeof *rises; ++k) {
        rd_copy(pose, model->home, 7);
        for (int i = 0; i < 3; ++i) {
            pose[i] += rises[k] * model->stroke * model->up[i];
        }
        const int result =
            stewart_forward_kinematics(&model->geometry, lengths, TOLERANCE, MOST_STEPS_AFAR, pose, NULL, NULL);
        if (result == STEWART_FOUND && is_this_machines(model, pose)) {
            return 1;
        }
    }
    return 0;
}

/* True if the pose is found; notes why not. */
static int found(rd_core *core, const double lengths[6], double pose[7])
{
    const rd_platform_model *model = core->settings->platform;
    const rd_platform *platform = rd_platform_of(core);
    double residual = INFINITY;
    rd_copy(pose, platform->pose, 7);
    const int result =
        stewart_forward_kinematics(&model->geometry, lengths, TOLERANCE, MOST_STEPS, pose, &residual, NULL);
    if (platform->known ? result == STEWART_FOUND : found_afar(model, lengths, pose)) {
        return 1;
    }
    rd_note(core, RD_BEYOND + 6 * (result == STEWART_SINGULAR ? RD_SINGULAR : RD_NO_POSE), residual, TOLERANCE);
    return 0;
}

/* Inverse of a Jacobian with moments divided by the characteristic length, and a bound of its condition number: the
 * product of Frobenius' norms, which is that of the spectral ones or more. Whether the pose is not singular. */
static int inverted(const rd_platform_model *model, const double jacobian[36], double inverse[36], double *condition)
{
    const double per_length = 1.0 / model->geometry.characteristic_length;
    double scaled[36], size = 0.0, inverse_size = 0.0;
    for (int i = 0; i < 36; ++i) {
        scaled[i] = i % 6 < 3 ? jacobian[i] : per_length * jacobian[i];
        inverse[i] = i % 7 == 0;
        size += scaled[i] * scaled[i];
    }
    if (!stewart_solve(scaled, inverse, 6)) {
        return 0;
    }
    for (int i = 0; i < 36; ++i) {
        inverse_size += inverse[i] * inverse[i];
    }
    *condition = sqrt(size * inverse_size);
    if (!(*condition <= SINGULAR)) {
        *condition = stewart_condition_number(&model->geometry, jacobian);
    }
    return *condition <= SINGULAR;
}

/* Take a pose with its Jacobian's inverse (moments divided by the characteristic length) for the platform's. */
static void take(rd_core *core, const double pose[7], const double inverse[36], const double rates[6])
{
    rd_platform *platform = rd_platform_of(core);
    const double length = core->settings->platform->geometry.characteristic_length;
    rd_copy(platform->pose, pose, 7);
    rd_copy(platform->rates, rates, 6);
    for (int i = 0; i < 6; ++i) {
        double sum = 0.0;
        for (int j = 0; j < 6; ++j) {
            sum += inverse[6 * i + j] * rates[j];
        }
        platform->twist[i] = i < 3 ? sum : sum / length;
    }
    platform->known = 1;
    rd_rotation(pose + 3, platform->rotation);
    rd_copy(core->place, pose, 3);
    rd_roll_pitch_yaw(platform->rotation, core->place + 3);
}

/* Take the wrench that another thread has offered last, if it is whole. It fades in, and out when it is too old. */
static void take_wrench(rd_platform *platform, const rd_platform_model *model, double time)
{
    const double elapsed = fmin(fmax(time - platform->time, 0.0), LONGEST_FADE_STEP);
    rd_wrench_box *box = &platform->box;
    double values[7];
    const uint_fast64_t before = atomic_load_explicit(&box->sequence, memory_order_acquire);
    for (int i = 0; i < 7; ++i) {
        values[i] = atomic_load_explicit(&box->values[i], memory_order_relaxed);
    }
    atomic_thread_fence(memory_order_acquire);
    if (!(before & 1) && before == atomic_load_explicit(&box->sequence, memory_order_relaxed)) {
        rd_copy(platform->given, values, 7);
    }
    const double step = model->wrench_fade > 0.0 ? elapsed / model->wrench_fade : 1.0;
    const double share = platform->wrench_share + (time <= platform->given[6] ? step : -step);
    platform->wrench_share = fmin(fmax(share, 0.0), 1.0);
    for (int i = 0; i < 6; ++i) {
        platform->wrench[i] = platform->wrench_share * platform->given[i];
    }
}

void rd_platform_offer_wrench(rd_core *core, const double *wrench, double until)
{
    rd_wrench_box *box = &rd_platform_of(core)->box;
    atomic_fetch_add_explicit(&box->sequence, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (int i = 0; i < 7; ++i) {
        atomic_store_explicit(&box->values[i], i < 6 ? wrench[i] : until, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&box->sequence, 1, memory_order_release);
}

int rd_platform_conditioned(rd_core *core, double limit)
{
    rd_platform *platform = rd_platform_of(core);
    if (!(platform->condition <= limit) && !platform->condition_exact) {
        platform->condition = stewart_condition_number(&core->settings->platform->geometry, platform->jacobian);
        platform->condition_exact = 1;
    }
    return platform->condition <= limit;
}

int rd_platform_find_place(rd_core *core, double time, const double *position, const double *velocity)
{
    const rd_platform_model *model = core->settings->platform;
    rd_platform *platform = rd_platform_of(core);
    double lengths[6], jacobian[36], inverse[36], pose[7], unused[6], condition;
    core->discontinuity = RD_CONTINUOUS; /* a pose that is refused is noted instead */
    take_wrench(platform, model, time);
    for (int i = 0; i < 6; ++i) {
        lengths[i] = position[i] + model->zero_lengths[i];
    }
    if (!rd_all_finite(velocity, 6) || !found(core, lengths, pose)) {
        return 0;
    }
    stewart_inverse_kinematics(&model->geometry, pose, unused, jacobian);
    if (!inverted(model, jacobian, inverse, &condition)) {
        rd_note(core, RD_BEYOND + 6 * RD_SINGULAR, 0.0, 0.0);
        return 0;
    }
    take(core, pose, inverse, velocity);
    rd_copy(platform->jacobian, jacobian, 36);
    rd_copy(platform->lengths, lengths, 6);
    platform->condition = condition;
    platform->condition_exact = 0;
    platform->time = time;
    if (!rd_platform_conditioned(core, LEFT_ALONE * model->condition_limit)) {
        rd_note(core, RD_BEYOND + 6 * RD_ILL_CONDITIONED, platform->condition, model->condition_limit);
        return 0;
    }
    return 1;
}
