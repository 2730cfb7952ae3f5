"""Time-optimal retiming: closed forms, dense simulation, friction, what cannot be done."""

import numpy as np
import pytest
from installed_robots import example_robot
from smooth_paths import smooth_path

import robot_dynamics as rd
from robot_dynamics.control.retiming.model import DrivenModel
from robot_dynamics.control.retiming.retime import through
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.resources import resource

SAMPLES = 60


@pytest.fixture(scope="module")
def chain():
    return rd.load_urdf(resource("urdf/puma560.urdf"))


@pytest.fixture(scope="module")
def links(chain):
    return rd.compile_dynamics(chain, friction=False)


@pytest.fixture(scope="module")
def arm(chain, links):
    parameters = rd.ActuatorParameters(
        damping=(3.0, 5.0, 3.0, 0.5, 0.5, 0.5), friction=(5.0, 8.0, 5.0, 1.0, 1.0, 1.0), rotor_inertia=(0.2,)
    )
    return rd.ActuatedArm(links, chain, parameters)


def waypoints(chain, count, seed, size=0.5):
    rng = np.random.default_rng(seed)
    middle = np.array([0.0, -0.5, 0.5, 0.0, 0.0, 0.0])
    return middle + size * rng.uniform(-1.0, 1.0, (count, chain.dof))


def largest_shares(model, result, limits):
    """Of effort, velocity and acceleration limits, by dense simulation of the result's spline."""
    times, driven = result.times, DrivenModel.of(model)
    part = np.linspace(1e-6, 1.0 - 1e-6, SAMPLES)
    at = (times[:-1, None] + np.diff(times)[:, None] * part).ravel()
    q, qd, qdd = result.spline.at(at)
    arrays = limits.arrays(driven.chain)
    pairs = ((driven.efforts(q, qd, qdd), "effort"), (qd, "velocity"), (qdd, "acceleration"))
    return [float((np.abs(values) / arrays[name]).max()) for values, name in pairs]


def all_limits(chain, acceleration=np.inf):
    given = rd.PathLimits.of(chain)
    return rd.PathLimits(given.velocity, acceleration, given.effort)


@pytest.mark.parametrize("speed", [np.inf, 1.0])
def test_a_straight_line_is_bang_bang(chain, links, speed):
    """d = 1 rad at a = 2 rad/s²: 2 sqrt(d / a) without a velocity limit, d / v + v / a with one."""
    line = np.array([[0.0] * 6, [1.0, 0.5, 0, 0, 0, 0]])
    limits = rd.PathLimits(velocity=speed, acceleration=2.0)
    made = rd.retime(links, line, limits)
    exact = 2.0 * np.sqrt(1.0 / 2.0) if np.isinf(speed) else 1.0 / speed + speed / 2.0
    assert made.duration == pytest.approx(exact, rel=1e-5)
    q, qd, _ = made.spline.at(made.times[[0, -1]])
    assert q == pytest.approx(line, abs=1e-9) and qd == pytest.approx(0.0, abs=1e-6)


def test_viscous_friction_has_the_closed_form_of_a_first_order_lag():
    """One joint about a vertical axis: J qdd + D qd + F = L up to the switch, then -L."""
    text = (
        '<robot name="wheel"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="2" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="spin" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
        "</robot>"
    )
    chain = rd.load_urdf(text)
    inertia, damping, coulomb, limit, way = 2.0, 1.5, 0.5, 4.0, 3.0
    parameters = rd.ActuatorParameters(damping=(damping,), friction=(coulomb,))
    model = rd.ActuatedArm(rd.compile_dynamics(chain), chain, parameters)
    made = rd.retime(model, [[0.0], [way]], rd.PathLimits(effort=limit), intervals=2000)

    def motion(effort, v0, t):
        end, rate = (effort - coulomb) / damping, damping / inertia
        fading = np.exp(-rate * t)
        return end * t + (v0 - end) * (1.0 - fading) / rate, end + (v0 - end) * fading

    low, high = 0.0, 10.0
    for _ in range(80):
        first = 0.5 * (low + high)
        there, v = motion(limit, 0.0, first)
        end = (-limit - coulomb) / damping
        second = inertia / damping * np.log((end - v) / end)
        low, high = (first, high) if there + motion(-limit, v, second)[0] < way else (low, first)
    assert made.duration == pytest.approx(first + second, rel=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_limits_are_kept_between_the_points(arm, links, chain, seed):
    model = arm if seed % 2 else links
    limits = all_limits(chain, 15.0 if seed > 1 else np.inf)
    made = rd.retime(model, waypoints(chain, 30 if seed % 2 else 5, seed), limits)
    shares = largest_shares(model, made, limits)
    assert max(shares) <= 1.0 and made.share.max() > 0.99999 - 1e-9
    assert (made.share > 0.9).mean() > 0.9  # some limit is in use nearly everywhere


def random_walk(rng, count, lower, upper):
    walk = np.cumsum(rng.normal(scale=0.1, size=(count, len(lower))), axis=0)
    return 0.5 * (lower + upper) + 0.45 * (upper - lower) * np.sin(walk)


@pytest.mark.long
@pytest.mark.parametrize(("name", "seed"), [("ur10", 4), ("ur10", 3), ("ur3", 1)])
def test_limits_are_kept_where_a_path_bends_sharply(name, seed):
    """A random walk turns within a few per mille of the path; 20 000 samples a second agree."""
    ur = rd.load_urdf(example_robot(f"ur_description/urdf/{name}_robot.urdf"))
    limits, rng = rd.PathLimits.of(ur), np.random.default_rng(seed)
    model = rd.ActuatedArm(
        rd.compile_dynamics(ur, friction=False),
        ur,
        rd.ActuatorParameters(
            damping=(0.5 * (seed % 2),), friction=(0.4 * (seed % 2),), rotor_inertia=(0.02,)
        ),
    )
    made = rd.retime(model, random_walk(rng, 100, np.full(6, -2.5), np.full(6, 2.5)), limits)
    assert max(largest_shares(model, made, limits)) <= 1.0
    q, qd, qdd = made.spline.at(np.arange(0.0, made.duration, 1.0 / 20_000.0))
    assert (np.abs(model.inverse_dynamics(q, qd, qdd)) / limits.effort).max() <= 1.0
    assert (np.abs(qd) / limits.velocity).max() <= 1.0
    assert (made.share > 0.9).mean() > 0.8


@pytest.mark.parametrize(("name", "seed", "number"), [("ur5", 4, 24), ("ur10", 5, 54), ("ur10", 7, 913)])
def test_efforts_that_bend_both_ways_before_a_joint_turns_keep_their_limits(name, seed, number):
    """Finds of the sweep ``retiming``: the middle of such an interval does not show what it reaches."""
    ur = rd.load_urdf(example_robot(f"ur_description/urdf/{name}_robot.urdf"))
    lower, upper = (np.array([getattr(ur.driving_joint(j).limits, side) for j in range(6)]) for side in SIDES)
    lower, upper, rng = np.maximum(lower, -2.5), np.minimum(upper, 2.5), np.random.default_rng(seed)
    for k in range(number):  # the sweep's paths before
        (rng.uniform, rng.normal, rng.uniform)[k % 3](size=(100 if k % 3 < 2 else 2, 6))
    if number % 3:  # a walk
        wave = 0.9 * np.sin(np.cumsum(rng.normal(scale=0.1, size=(100, 6)), axis=0))
    else:
        wave = 0.6 * rng.uniform(-1.0, 1.0, (100, 6))
    path = 0.5 * (lower + upper) + 0.5 * (upper - lower) * wave
    links, limits = rd.compile_dynamics(ur, friction=False), rd.PathLimits.of(ur)
    dry = tuple((0.01 * np.asarray(limits.effort)).tolist())
    rubbing = rd.ActuatorParameters(damping=(0.5,), friction=dry, rotor_inertia=(0.02,))
    model = rd.ActuatedArm(links, ur, rubbing) if number % 2 else links
    assert max(largest_shares(model, rd.retime(model, path, limits), limits)) <= 1.0


SIDES = ("lower", "upper")


def test_friction_costs_time_and_a_payload_too(arm, links, chain):
    path = waypoints(chain, 5, 7)
    bare, rubbing = rd.retime(links, path), rd.retime(arm, path)
    loaded = rd.retime(links.with_payload([3.0, 0.0, 0.0, 0.3, 0.05, 0.0, 0.05, 0.0, 0.0, 0.01]), path)
    assert bare.duration < rubbing.duration < 1.5 * bare.duration
    assert bare.duration < loaded.duration


def test_a_trajectory_keeps_its_geometry_and_slower_only_slows(arm, chain):
    points = waypoints(chain, 6, 3)
    spline = smooth_path(np.linspace(0.0, 3.0, 6), points)
    made = rd.retime(arm, spline, slower=True)
    assert made.x.max() <= 1.0 and made.duration > 3.0
    assert max(largest_shares(arm, made, rd.PathLimits.of(chain))) <= 1.0
    assert made.q == pytest.approx(spline.at(made.s)[0], abs=1e-12)
    easy = QuinticSpline(10.0 * spline.times, spline.coefficients)
    kept = rd.retime(arm, easy, slower=True)
    assert kept.duration == pytest.approx(30.0, rel=1e-6)
    assert rd.retime(arm, easy).duration < 0.5 * kept.duration


def test_starts_and_ends_in_motion(links, chain):
    path = through(waypoints(chain, 5, 2), chain.joint_names)
    still = rd.retime(links, path, start_speed=0.0, end_speed=0.0)
    moving = rd.retime(links, path, start_speed=0.05, end_speed=0.05)
    assert moving.duration < still.duration
    assert moving.x[[0, -1]] == pytest.approx(0.05**2)
    with pytest.raises(TrajectoryError, match=r"starts with the speed 50 along it; at most"):
        rd.retime(links, path, start_speed=50.0, end_speed=0.0)


@pytest.mark.parametrize("speed", [0.002, 0.2])
def test_an_end_that_creeps_may_change_its_speed_and_one_that_moves_may_not(links, chain, speed):
    """Two joints start at one speed, with 2 and with -2 rad/s²; no timing makes both of it 1.9 rad/s²."""
    q, qd, qdd = np.zeros((3, 3, 6))
    q[1:, :2], qd[0, :2], qdd[0, :2] = [[1.0, -1.0], [2.0, -2.0]], speed, [2.0, -2.0]
    qd[1, :2] = [1.5, -1.5]
    path = waypoint_spline(np.array([0.0, 1.0, 2.0]), q, qd, qdd)
    limits = rd.PathLimits(np.full(6, 4.0), np.full(6, 1.9), rd.PathLimits.of(chain).effort)
    if speed > 0.02:
        with pytest.raises(TrajectoryError, match="starts with the speed"):
            rd.retime(links, path, limits, slower=True)
        return
    made = rd.retime(links, path, limits, slower=True)
    assert 0.9 * speed < made.spline.sample(0.0)[1][0] < speed
    assert max(largest_shares(links, made, limits)[1:]) <= 1.0


def test_the_grid_of_a_path_with_very_many_points_is_hardly_finer_than_its_points(links, chain):
    few = rd.retime(links, slow_swing(chain, 200))
    many = rd.retime(links, slow_swing(chain, 13_000))
    assert len(many.s) < 14_000
    assert many.duration == pytest.approx(few.duration, rel=5e-3)


def slow_swing(chain, count):
    """The same curve by few or many waypoints."""
    times = np.linspace(0.0, 60.0, count)
    speeds = 0.1 * (1.0 + 0.1 * np.arange(chain.dof))
    phase = times[:, None] * speeds
    q = np.array([0.0, -0.5, 0.5, 0.0, 0.0, 0.0]) + 0.4 * np.sin(phase)
    return waypoint_spline(times, q, 0.4 * speeds * np.cos(phase), -0.4 * speeds**2 * np.sin(phase))


def test_a_weight_that_is_too_large_is_named_with_its_place(links, chain):
    path = waypoints(chain, 4, 1)
    limits = rd.PathLimits(velocity=2.0, effort=[97.6, 20.0, 89.4, 24.2, 20.1, 21.3])
    with pytest.raises(
        TrajectoryError, match=r"joint2 cannot hold its weight .* s = 0\.\d+: [\d.]+ N·m of 20"
    ):
        rd.retime(links, path, limits)


def test_friction_that_grows_with_the_load_keeps_its_limits(links, chain):
    path, share = waypoints(chain, 5, 4), 0.1
    made = rd.retime(links, path, load_friction=share)
    q, qd, qdd = made.spline.at(made.times[:-1] + 0.37 * np.diff(made.times))
    load = links.inverse_dynamics(q, qd, qdd)
    effort = load + share * np.abs(load) * np.sign(qd)
    limits = rd.PathLimits.of(chain)
    assert (np.abs(effort) / limits.effort).max() <= 1.0
    assert made.duration > rd.retime(links, path).duration


def test_friction_under_load_of_the_drives_counts(links, chain):
    model = rd.ActuatedArm(links, chain, rd.ActuatorParameters(load_friction=(0.1,), rotor_inertia=(0.0,)))
    made = rd.retime(model, waypoints(chain, 5, 4))
    assert max(largest_shares(model, made, rd.PathLimits.of(chain))) <= 1.0005
    assert made.duration == pytest.approx(
        rd.retime(links, waypoints(chain, 5, 4), load_friction=0.1).duration
    )


def test_any_model_of_links_is_called_through_python(arm, chain, links):
    class Other:
        """The same links, not compiled."""

        def inverse_dynamics(self, q, qd, qdd):
            return links.inverse_dynamics(q, qd, qdd)

    path = waypoints(chain, 4, 5)
    parts = DrivenModel.of(arm)
    other = DrivenModel(chain, Other(), parts.rotor_inertia, parts.friction)
    assert rd.retime(other, path).duration == pytest.approx(rd.retime(arm, path).duration, rel=1e-9)

    class Faulty:
        def inverse_dynamics(self, q, qd, qdd):
            raise ValueError("no model")

    with pytest.raises(ValueError, match="no model"):
        rd.retime(DrivenModel(chain, Faulty(), parts.rotor_inertia, parts.friction), path)


MILLION = QuinticSpline(np.arange(1e6 + 1), np.broadcast_to(np.ones((1, 6, 6)), (1_000_000, 6, 6)))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ([[0.0] * 6, [1e300] * 6], "efforts along the path are not finite: its numbers are too large"),
        (MILLION, "1000001 waypoints; 1 to 100000 are accepted"),
        (np.zeros((1_000_000, 6)), "1000000 waypoints; 1 to 100000 are accepted"),
        ("path", "path"),
    ],
)
def test_a_path_that_is_none_is_refused(links, path, message):
    with pytest.raises(TrajectoryError, match=message):
        rd.retime(links, path)


def test_friction_of_every_kind_counts_as_pinocchio_and_the_law_have_it():
    """Stribeck, asymmetry, load and viscous friction, rotors: efforts of the links from ``pin.rnea``."""
    import pinocchio as pin

    urdf = str(example_robot("ur_description/urdf/ur5_robot.urdf"))
    ur, model = rd.load_urdf(urdf), pin.buildModelFromUrdf(urdf)
    assert ur.joint_names == tuple(model.names)[1:]
    damping, dry, breakaway, decay, offset, share, rotor = 2.0, 3.0, 6.0, 0.2, 0.5, 0.15, 0.3
    drives = rd.ActuatorParameters(
        damping=(damping,),
        friction=(dry,),
        static_friction=(breakaway,),
        stribeck_velocity=(decay,),
        friction_offset=(offset,),
        load_friction=(share,),
        rotor_inertia=(rotor,),
    )
    limits = rd.PathLimits.of(ur)
    arm = rd.ActuatedArm(rd.compile_dynamics(ur, friction=False), ur, drives)
    path = np.array([0.0, -1.0, 1.0, 0.0, 0.5, 0.0]) + np.random.default_rng(2).uniform(-0.7, 0.7, (6, 6))
    made = rd.retime(arm, path, limits)
    data = model.createData()
    q, qd, qdd = made.spline.at(np.linspace(0.0, made.duration, 5_000))
    load = np.array([pin.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])
    speed, sign = np.abs(qd), np.sign(qd)
    size = dry + (breakaway - dry) * np.exp(-speed / decay) + offset * sign + share * np.abs(load)
    used = np.abs(load + rotor * qdd + damping * qd + sign * size) / limits.effort
    moving = speed > 0.006  # below this the sign of the velocity is smooth
    assert used[moving].max() <= 1.0
    busiest = np.maximum(np.where(moving, used, 0.0), speed / limits.velocity).max(axis=1)
    assert np.median(busiest) > 0.99  # so the limit is in use, with all of this friction


SUITE = {
    "prob1": (np.linspace(-0.00038593, 0.00425594, 10)[:, None] * np.ones(3), [100.0] * 3, [100.0] * 3),
    "prob2": ([[0, 0, 0], [0, 1e-5, 0], [0, 0, 0]], [100.0] * 3, [100.0] * 3),
    "prob3": (
        np.linspace(-3.85929168e-4, 1.16383433e-3, 10)[:, None] * np.ones(3),
        [1000.0] * 3,
        [1000.0, 2000.0, 1000.0],
    ),
}
"""Paths, velocity and acceleration limits of toppra's ``tests/retime_robustness/problem_suite_1.yaml``."""


@pytest.mark.parametrize("name", SUITE)
def test_the_robustness_suite_of_toppra_is_retimed(name):
    points, velocity, acceleration = SUITE[name]
    limits = rd.PathLimits(velocity=velocity, acceleration=acceleration)
    gantry = rd.load_urdf(gantry_of(3))
    made = rd.retime(gantry, points, limits)
    assert max(largest_shares(gantry, made, limits)[1:]) <= 1.0
    if name != "prob2":  # one straight line, from rest to rest
        way = float(points[-1][0] - points[0][0])
        assert made.duration == pytest.approx(2.0 * np.sqrt(way / acceleration[0]), rel=1e-4)


def gantry_of(count):
    """A URDF of sliding joints in a row."""
    links = "".join(
        f'<link name="link{k}"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for k in range(count + 1)
    )
    joints = "".join(
        f'<joint name="joint{k}" type="prismatic"><parent link="link{k}"/><child link="link{k + 1}"/>'
        '<axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="1000" velocity="2000"/></joint>'
        for k in range(count)
    )
    return f'<robot name="gantry">{links}{joints}</robot>'


def test_ten_joints_of_which_some_hardly_move():
    """The path of toppra's ``cpp/tests/test_issue_198.cpp``: joints with a millionth of the others' way."""
    rng = np.random.default_rng(198)
    acceleration = np.array([10.5, 20.25, 155.0, 85.1, 277.7, 10.5, 20.6, 145.6, 84.9, 279.3])
    way = np.array([0.6, 0.4, 1.6, 1e-4, 1e-5, 0.7, 0.5, 1.6, 1e-4, 1e-5])
    points = np.linspace(0.0, 1.0, 10)[:, None] * way + 0.05 * way * rng.uniform(-1.0, 1.0, (10, 10))
    limits = rd.PathLimits(velocity=3.0, acceleration=acceleration)
    gantry = rd.load_urdf(gantry_of(10))
    made = rd.retime(gantry, points, limits)
    assert max(largest_shares(gantry, made, limits)[1:]) <= 1.0
