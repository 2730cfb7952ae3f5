/* The open-loop descent of a platform whose states are lost, by simulation of its model.
 *
 * The simulation starts at the last known pose and twist, and covers the time before the loss was noticed under the
 * forces that left last. Then the reference stops, joins the planned descent at its nearest point and follows it to the
 * park pose, where the forces fade. The forces are those that bring the simulated platform along the reference. Errors
 * of the model grow about fourfold a second.
 *
 * Friction that is guessed is in the simulation: a real platform that it holds back would be pushed up where the
 * simulated one is braked. It may be absent all the same, so a second platform is simulated without it. No force lifts
 * that one. */
#include "platform.h"

#include <math.h>

static const double LONGEST = 0.05;         /* simulated at most at once [s] */
static const double LONGEST_UNSEEN = 0.5;  /* before the loss was noticed, at most [s] */
static const double STEP = 0.005;           /* longest step of the simulation [s] */
static const double KP = 100.0, KV = 20.0;  /* of the simulated error on the acceleration [1/s^2, 1/s] */
static const double GENTLE = 0.6;           /* share of a stop's deceleration that a way takes */
static const double LEAN = 2.0;             /* of a platform against its lower stops [m/s^2] */
static const double SHORTEST_STOP = 0.02;   /* a rest that is not quite one has no deceleration [s] */
/* Greatest speed and acceleration of a minimum-jerk way of length 1 in time 1. */
static const double PEAK_SPEED = 1.875, PEAK_ACCELERATION = 5.7735;

static double length_of(const double vector[3])
{
    return sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
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

/* Duration of the way to the descent at the declared leg speed, with a gentle acceleration [s]. */
static double way_time(rd_platform *platform, const rd_platform_model *model)
{
    double pose[7], moved[6], still[6] = {0.0}, unused[6], rates[6], fastest = 0.0;
    const rd_motion motion = {platform->open_loop.place, platform->open_loop.way, still};
    rd_platform_motion(&motion, pose, moved, unused);
    rd_leg_rates(platform->jacobian, moved, rates);
    for (int leg = 0; leg < 6; ++leg) {
        fastest = fmax(fastest, fabs(rates[leg]));
    }
    const double hardest = fmax(length_of(moved) / model->pace[0], length_of(moved + 3) / model->pace[1]);
    return fmax(PEAK_SPEED * fastest / model->blind_speed, sqrt(PEAK_ACCELERATION / GENTLE * hardest));
}

/* The reference at a time: stop, way to the descent, descent. */
static void refer(const rd_open_loop *open, const rd_plan *descent, double time, const rd_motion *out)
{
    double since = time - open->begun;
    rd_cursor cursor = {descent, 0};
    if (since < open->stop_time) {
        const double share = since / open->stop_time;
        for (int i = 0; i < 6; ++i) {
            out->position[i] = open->place[i] + since * open->rate[i] * (1.0 - 0.5 * share);
            out->velocity[i] = (1.0 - share) * open->rate[i];
            out->acceleration[i] = -open->rate[i] / open->stop_time;
        }
        return;
    }
    since -= open->stop_time;
    if (since >= open->way_time) {
        rd_sample(&cursor, 6, open->descends + since - open->way_time, out);
        return;
    }
    const double u = since / open->way_time, left = 1.0 - u * u * u * (10.0 + u * (-15.0 + 6.0 * u));
    const double slope = -30.0 * u * u * (1.0 + u * (-2.0 + u)) / open->way_time;
    const double bend = -60.0 * u * (1.0 + u * (-3.0 + 2.0 * u)) / (open->way_time * open->way_time);
    for (int i = 0; i < 6; ++i) {
        out->position[i] = open->joins[i] + left * open->way[i];
        out->velocity[i] = slope * open->way[i];
        out->acceleration[i] = bend * open->way[i];
    }
}

static int guesses_friction(const rd_platform_model *model)
{
    double sum = 0.0;
    for (int i = 0; i < 6; ++i) {
        sum += model->guessed_coulomb[i] + model->guessed_viscous[i];
    }
    return sum > 0.0;
}

/* Forces (6) of a pose, a twist and an acceleration, with the estimated disturbance, and with guessed friction or not. */
static int forces_of(const rd_core *core, const double pose[7], const double twist[6], const double a[6], int rubs,
                     double *forces)
{
    const rd_platform_model *model = core->settings->platform;
    double lifted[6], lengths[6], jacobian[36], rates[6];
    for (int i = 0; i < 6; ++i) {
        lifted[i] = a[i] + rd_platform_of(core)->disturbance[i];
    }
    const int known = rd_platform_forces(core, core->settings, pose, twist, lifted, forces);
    if (rubs) {
        stewart_inverse_kinematics(&model->geometry, pose, lengths, jacobian);
        rd_leg_rates(jacobian, twist, rates);
    }
    for (int i = 0; rubs && i < 6; ++i) {
        forces[i] += model->guessed_coulomb[i] * rd_direction(rates[i]) + model->guessed_viscous[i] * rates[i];
    }
    return known;
}

/* The acceleration (6) of a platform under forces: these are linear in it. */
static int acceleration_of(const rd_core *core, const double pose[7], const double twist[6], const double sent[6],
                           int rubs, double acceleration[6])
{
    double bearing[6], matrix[36], column[6];
    if (!forces_of(core, pose, twist, RD_AT_REST, rubs, bearing)) {
        return 0;
    }
    for (int j = 0; j < 6; ++j) {
        double unit[6] = {0.0};
        unit[j] = 1.0;
        if (!forces_of(core, pose, twist, unit, rubs, column)) {
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

/* Simulate under forces, by midpoint steps, down to the lower stops; whether the model has an acceleration throughout. */
static int move(const rd_core *core, rd_simulated *moved, const double sent[6], double duration)
{
    const rd_platform_model *model = core->settings->platform;
    const int count = (int)fmax(1.0, ceil(duration / STEP - 1e-9));
    const double step = duration / count;
    for (int k = 0; k < count && !moved->rests; ++k) {
        double pose[7], twist[6], acceleration[6], lengths[6], jacobian[36], above = 0.0;
        rd_copy(pose, moved->pose, 7);
        rd_copy(twist, moved->twist, 6);
        if (!acceleration_of(core, pose, twist, sent, moved->rubs, acceleration)) {
            return 0;
        }
        move_simulated(pose, twist, acceleration, 0.5 * step);
        if (!acceleration_of(core, pose, twist, sent, moved->rubs, acceleration)) {
            return 0;
        }
        move_simulated(moved->pose, moved->twist, acceleration, step);
        stewart_inverse_kinematics(&model->geometry, moved->pose, lengths, jacobian);
        for (int i = 0; i < 6; ++i) {
            above += lengths[i] - model->shortest[i];
        }
        if (above <= 0.0) {
            moved->rests = 1;
            rd_copy(moved->twist, core->zero, 6);
        }
    }
    return 1;
}

static int simulate(const rd_core *core, rd_open_loop *open, double duration)
{
    return move(core, &open->believed, open->sent, duration)
        && (!open->believed.rubs || move(core, &open->free, open->sent, duration));
}

/* Both simulated platforms are where the measured one was. */
static void place_simulated(const rd_platform *platform, rd_open_loop *open, int rubs)
{
    rd_copy(open->believed.pose, platform->pose, 7);
    rd_copy(open->believed.twist, platform->twist, 6);
    open->believed.rests = 0;
    open->free = open->believed;
    open->believed.rubs = rubs;
    open->free.rubs = 0;
}

/* Lower the forces where they would lift a platform without friction; at its stops it leans on them. */
static void lift_nothing(const rd_core *core, rd_open_loop *open)
{
    const double *up = core->settings->platform->up, lean = open->free.rests ? LEAN : 0.0;
    const double leaning[6] = {-lean * up[0], -lean * up[1], -lean * up[2]};
    double bearing[6], acceleration[6], rise = lean, speed = 0.0;
    if (!forces_of(core, open->free.pose, open->free.twist, leaning, 0, bearing)
        || !acceleration_of(core, open->free.pose, open->free.twist, open->sent, 0, acceleration)) {
        return;
    }
    for (int i = 0; i < 3; ++i) {
        rise += up[i] * acceleration[i];
        speed += up[i] * open->free.twist[i];
    }
    if (rise > 0.0 && speed + rise * STEP > 0.0) {
        const double share = fmax(0.0, -speed) / (rise * STEP);
        for (int i = 0; i < 6; ++i) {
            open->sent[i] = bearing[i] + share * (open->sent[i] - bearing[i]);
        }
    }
}

static void begin(rd_core *core, double since)
{
    rd_platform *platform = rd_platform_of(core);
    const rd_platform_model *model = core->settings->platform;
    rd_open_loop *open = &platform->open_loop;
    const rd_motion at = {open->joins, (double[6]){0.0}, (double[6]){0.0}};
    double stands[6], rotation[9];
    open->begun = since;
    open->time = since;
    place_simulated(platform, open, guesses_friction(model));
    rd_copy(open->sent, core->left, 6);
    if (core->has_left && core->unseen > 0.0 && !simulate(core, open, fmin(core->unseen, LONGEST_UNSEEN))) {
        place_simulated(platform, open, open->believed.rubs);
    }
    rd_copy(open->place, open->believed.pose, 3);
    rd_rotation(open->believed.pose + 3, rotation);
    rd_roll_pitch_yaw(rotation, open->place + 3);
    rd_copy(open->rate, open->believed.twist, 3);
    rd_angle_rates(open->place + 3, open->believed.twist + 3, open->rate + 3);
    open->stop_time = fmax(length_of(open->believed.twist) / model->pace[0], length_of(open->believed.twist + 3) / model->pace[1]);
    open->stop_time = fmax(open->stop_time, SHORTEST_STOP);
    for (int i = 0; i < 6; ++i) {
        stands[i] = open->place[i] + 0.5 * open->stop_time * open->rate[i];
    }
    open->descends = nearest_knot(model->descent, stands, model->geometry.characteristic_length);
    rd_cursor cursor = {model->descent, 0};
    rd_sample(&cursor, 6, open->descends, &at);
    for (int i = 0; i < 6; ++i) {
        const double way = stands[i] - open->joins[i];
        open->way[i] = i < 3 ? way : remainder(way, 2.0 * M_PI);
    }
    open->way_time = way_time(platform, model);
    open->end = open->begun + open->stop_time + open->way_time + model->descent->times[model->descent->knots - 1]
               - open->descends;
    open->sends = 0;
}

/* Forces that bring the simulated platform to a reference; zero where the model has none. */
static void find_forces(const rd_core *core, rd_open_loop *open, const rd_motion *reference)
{
    const double *limits = core->settings->limits;
    double pose[7], twist[6], acceleration[6], error[6];
    rd_platform_motion(reference, pose, twist, acceleration);
    rd_pose_error(pose, open->believed.pose, error);
    for (int i = 0; i < 6; ++i) {
        acceleration[i] += KP * error[i] + KV * (twist[i] - open->believed.twist[i]);
    }
    const int rubs = open->believed.rubs;
    const int known = forces_of(core, open->believed.pose, open->believed.twist, acceleration, rubs, open->sent);
    if (known && rubs) {
        lift_nothing(core, open);
    }
    for (int i = 0; i < 6; ++i) {
        const double force = known && isfinite(open->sent[i]) ? open->sent[i] : 0.0;
        open->sent[i] = fmin(fmax(force, -limits[i]), limits[i]);
    }
}

int rd_platform_settle(rd_core *core, double since, int begins, double *effort)
{
    rd_open_loop *open = &rd_platform_of(core)->open_loop;
    const rd_plan *descent = core->settings->platform->descent;
    double place[6], rate[6], second[6];
    const rd_motion reference = {place, rate, second};
    if (!descent) {
        return 0;
    }
    if (begins || since < open->time) {
        begin(core, since);
    }
    if (open->sends && since > open->time && open->time < open->end
        && !simulate(core, open, fmin(since - open->time, LONGEST))) {
        open->end = open->time; /* the place is unknown from here on: the last forces fade */
    }
    open->time = since;
    if (!open->sends || since <= open->end) {
        refer(open, descent, since, &reference);
        find_forces(core, open, &reference);
        open->sends = 1;
    }
    const double share = since > open->end ? rd_ramp_down(since - open->end, core->settings->safe_fade_time) : 1.0;
    for (int i = 0; i < 6; ++i) {
        effort[i] = share * open->sent[i];
    }
    return 1;
}
