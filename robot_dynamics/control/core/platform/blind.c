/* The way down of a platform whose states have stopped coming, by the model's own simulation: as in Python
 * robot_dynamics.control.stewart.blind, but along a descent that has been finished beforehand.
 *
 * From the last known place the model goes on, under what left last, for as long as nobody had noticed. From there the
 * reference stops, goes over to the nearest point of the descent and follows that to the
 * park pose, where the forces fade. They are those that bring the simulated platform along it. */
#include "platform.h"

#include <math.h>

static const double LONGEST = 0.05;         /* time over which forces are simulated at most at once [s] */
static const double LONGEST_UNSEEN = 0.5;  /* and before anybody has noticed [s] */
static const double STEP = 0.005;           /* longest step of the simulation [s] */
static const double KP = 100.0, KV = 20.0;  /* of the simulated error on the acceleration [1/s^2, 1/s] */
static const double GENTLE = 0.6;           /* share of a stop's deceleration that a way takes */
/* Greatest speed and acceleration of a minimum-jerk way of length 1 in time 1. */
static const double PEAK_SPEED = 1.875, PEAK_ACCELERATION = 5.7735;

static double length_of(const double vector[3])
{
    return sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
}

/* Rates of roll, pitch and yaw under an angular velocity. */
static void angle_rates(const double angles[3], const double velocity[3], double rates[3])
{
    const double cy = cos(angles[1]), sy = sin(angles[1]), cz = cos(angles[2]), sz = sin(angles[2]);
    rates[0] = (cz * velocity[0] + sz * velocity[1]) / cy;
    rates[1] = cz * velocity[1] - sz * velocity[0];
    rates[2] = velocity[2] + sy * rates[0];
}

/* The time of the descent's knot that is nearest to a place (6), with angles by the characteristic length. */
static double nearest_knot(const rd_plan *descent, const double place[6], double length)
{
    double least = INFINITY, found = descent->times[0];
    for (size_t k = 0; k < descent->knots; ++k) {
        double at[6], distance = 0.0;
        const rd_motion motion = {at, (double[6]){0.0}, (double[6]){0.0}};
        rd_cursor cursor = {descent, k < descent->knots - 1 ? k : k - 1};
        rd_sample(&cursor, 6, descent->times[k], &motion);
        for (int i = 0; i < 6; ++i) {
            const double way = i < 3 ? place[i] - at[i] : length * remainder(place[i] - at[i], 2.0 * M_PI);
            distance += way * way;
        }
        if (distance < least) {
            least = distance;
            found = descent->times[k];
        }
    }
    return found;
}

/* How long the way to the descent takes with legs as fast as declared, and gently. */
static double way_time(rd_platform *platform, const rd_platform_model *model)
{
    double pose[7], moved[6], still[6] = {0.0}, unused[6], fastest = 0.0;
    const rd_motion motion = {platform->blind.place, platform->blind.way, still};
    rd_platform_motion(&motion, pose, moved, unused);
    for (int leg = 0; leg < 6; ++leg) {
        double rate = 0.0;
        for (int i = 0; i < 6; ++i) {
            rate += platform->jacobian[6 * leg + i] * moved[i];
        }
        fastest = fmax(fastest, fabs(rate));
    }
    const double hardest = fmax(length_of(moved) / model->pace[0], length_of(moved + 3) / model->pace[1]);
    return fmax(PEAK_SPEED * fastest / model->blind_speed, sqrt(PEAK_ACCELERATION / GENTLE * hardest));
}

/* The reference at a time: stop, way to the descent, descent. */
static void refer_blind(const rd_blind *blind, const rd_plan *descent, double time, const rd_motion *out)
{
    double since = time - blind->begun;
    rd_cursor cursor = {descent, 0};
    if (since < blind->stop_time) {
        const double share = since / blind->stop_time;
        for (int i = 0; i < 6; ++i) {
            out->position[i] = blind->place[i] + since * blind->rate[i] * (1.0 - 0.5 * share);
            out->velocity[i] = (1.0 - share) * blind->rate[i];
            out->acceleration[i] = -blind->rate[i] / blind->stop_time;
        }
        return;
    }
    since -= blind->stop_time;
    if (since >= blind->way_time) {
        rd_sample(&cursor, 6, blind->descends + since - blind->way_time, out);
        return;
    }
    const double u = since / blind->way_time, left = 1.0 - u * u * u * (10.0 + u * (-15.0 + 6.0 * u));
    const double slope = -30.0 * u * u * (1.0 + u * (-2.0 + u)) / blind->way_time;
    const double bend = -60.0 * u * (1.0 + u * (-3.0 + 2.0 * u)) / (blind->way_time * blind->way_time);
    for (int i = 0; i < 6; ++i) {
        out->position[i] = blind->joins[i] + left * blind->way[i];
        out->velocity[i] = slope * blind->way[i];
        out->acceleration[i] = bend * blind->way[i];
    }
}

/* Forces (6) of a pose and twist with an acceleration, and with what the model does not know of. */
static int forces_of(const rd_core *core, const double pose[7], const double twist[6], const double a[6], double *forces)
{
    double lifted[6];
    for (int i = 0; i < 6; ++i) {
        lifted[i] = a[i] + rd_platform_of(core)->disturbance[i];
    }
    return rd_platform_forces(core, core->settings, pose, twist, lifted, forces);
}

/* The acceleration (6) of a platform under forces: these are linear in it. */
static int acceleration_of(const rd_core *core, const double pose[7], const double twist[6], const double sent[6],
                           double acceleration[6])
{
    double bearing[6], matrix[36], column[6];
    if (!forces_of(core, pose, twist, RD_AT_REST, bearing)) {
        return 0;
    }
    for (int j = 0; j < 6; ++j) {
        double unit[6] = {0.0};
        unit[j] = 1.0;
        if (!forces_of(core, pose, twist, unit, column)) {
            return 0;
        }
        for (int i = 0; i < 6; ++i) {
            matrix[6 * i + j] = column[i] - bearing[i];
        }
        acceleration[j] = sent[j] - bearing[j];
    }
    return stewart_solve(matrix, acceleration, 1) != 0;
}

static void move_simulated(double pose[7], double twist[6], const double acceleration[6], double step)
{
    double turn[3];
    for (int i = 0; i < 6; ++i) {
        const double way = step * (twist[i] + 0.5 * step * acceleration[i]);
        if (i < 3) {
            pose[i] += way;
        } else {
            turn[i - 3] = way;
        }
        twist[i] += step * acceleration[i];
    }
    stewart_turn(pose + 3, turn);
}

/* Go on under what was sent last, by midpoint steps; whether that could be told. */
static int simulate_blind(const rd_core *core, rd_blind *blind, double duration)
{
    const int count = (int)fmax(1.0, ceil(duration / STEP - 1e-9));
    const double step = duration / count;
    for (int k = 0; k < count; ++k) {
        double pose[7], twist[6], acceleration[6];
        rd_copy(pose, blind->pose, 7);
        rd_copy(twist, blind->twist, 6);
        if (!acceleration_of(core, pose, twist, blind->sent, acceleration)) {
            return 0;
        }
        move_simulated(pose, twist, acceleration, 0.5 * step);
        if (!acceleration_of(core, pose, twist, blind->sent, acceleration)) {
            return 0;
        }
        move_simulated(blind->pose, blind->twist, acceleration, step);
    }
    return 1;
}

static void begin_blind(rd_core *core, double since)
{
    rd_platform *platform = rd_platform_of(core);
    const rd_platform_model *model = core->settings->platform;
    rd_blind *blind = &platform->blind;
    const rd_motion at = {blind->joins, (double[6]){0.0}, (double[6]){0.0}};
    double stands[6], rotation[9];
    blind->begun = since;
    blind->time = since;
    rd_copy(blind->pose, platform->pose, 7);
    rd_copy(blind->twist, platform->twist, 6);
    rd_copy(blind->sent, core->left, 6);
    if (core->has_left && core->unseen > 0.0 && !simulate_blind(core, blind, fmin(core->unseen, LONGEST_UNSEEN))) {
        rd_copy(blind->pose, platform->pose, 7);
        rd_copy(blind->twist, platform->twist, 6);
    }
    rd_copy(blind->place, blind->pose, 3);
    rd_rotation(blind->pose + 3, rotation);
    rd_roll_pitch_yaw(rotation, blind->place + 3);
    rd_copy(blind->rate, blind->twist, 3);
    angle_rates(blind->place + 3, blind->twist + 3, blind->rate + 3);
    blind->stop_time = fmax(length_of(blind->twist) / model->pace[0], length_of(blind->twist + 3) / model->pace[1]);
    for (int i = 0; i < 6; ++i) {
        stands[i] = blind->place[i] + 0.5 * blind->stop_time * blind->rate[i];
    }
    blind->descends = nearest_knot(model->descent, stands, model->geometry.characteristic_length);
    rd_cursor cursor = {model->descent, 0};
    rd_sample(&cursor, 6, blind->descends, &at);
    for (int i = 0; i < 6; ++i) {
        const double way = stands[i] - blind->joins[i];
        blind->way[i] = i < 3 ? way : remainder(way, 2.0 * M_PI);
    }
    blind->way_time = way_time(platform, model);
    blind->end = blind->begun + blind->stop_time + blind->way_time + model->descent->times[model->descent->knots - 1]
               - blind->descends;
    blind->sends = 0;
}

/* Forces that bring the simulated platform to a reference; none where there are none. */
static void want(const rd_core *core, rd_blind *blind, const rd_motion *reference)
{
    const double *limits = core->settings->limits;
    double pose[7], twist[6], acceleration[6], error[6];
    rd_platform_motion(reference, pose, twist, acceleration);
    rd_pose_error(pose, blind->pose, error);
    for (int i = 0; i < 6; ++i) {
        acceleration[i] += KP * error[i] + KV * (twist[i] - blind->twist[i]);
    }
    const int told = forces_of(core, blind->pose, blind->twist, acceleration, blind->sent);
    for (int i = 0; i < 6; ++i) {
        const double force = told && isfinite(blind->sent[i]) ? blind->sent[i] : 0.0;
        blind->sent[i] = fmin(fmax(force, -limits[i]), limits[i]);
    }
}

int rd_platform_settle(rd_core *core, double since, int begins, double *effort)
{
    rd_blind *blind = &rd_platform_of(core)->blind;
    const rd_plan *descent = core->settings->platform->descent;
    double place[6], rate[6], second[6];
    const rd_motion reference = {place, rate, second};
    if (!descent) {
        return 0;
    }
    if (begins || since < blind->time) {
        begin_blind(core, since);
    }
    if (blind->sends && since > blind->time && blind->time < blind->end
        && !simulate_blind(core, blind, fmin(since - blind->time, LONGEST))) {
        blind->end = blind->time; /* nothing is known of the platform from here on: what was sent last fades */
    }
    blind->time = since;
    if (!blind->sends || since <= blind->end) {
        refer_blind(blind, descent, since, &reference);
        want(core, blind, &reference);
        blind->sends = 1;
    }
    const double share = since > blind->end ? rd_ramp_down(since - blind->end, core->settings->safe_fade_time) : 1.0;
    for (int i = 0; i < 6; ++i) {
        effort[i] = share * blind->sent[i];
    }
    return 1;
}
