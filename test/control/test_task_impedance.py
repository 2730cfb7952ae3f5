"""Cartesian impedance: the torque by Pinocchio, closed forms, singular poses, passivity, refusals."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import scipy.linalg
from closed_loop import READY, ArmLoop, Wall, description
from two_arms import TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import ParameterError

STARTS = {"ur5": READY, "panda": (0.1, -0.6, 0.2, -2.2, 0.1, 1.7, 0.6)}
MODE = {"mode": "cartesian_impedance", "max_effort": (1e4,), "start_motion": -1.0}
LEVER = 0.1
ROTOR, DAMPER = 0.3, 2.0


class Expected:
    """The law again, from its text and by Pinocchio: general inverses and square roots of matrices."""

    def __init__(self, robot, frame, parameters):
        self.model = pin.buildModelFromUrdf(str(description(robot)))
        self.data = self.model.createData()
        self.n, self.p = len(STARTS[robot]), parameters
        self.rest = np.zeros(self.model.nq - self.n)  # fingers, fixed at zero
        if self.rest.size:
            joints = list(range(self.n + 1, self.model.njoints))
            self.model = pin.buildReducedModel(self.model, joints, pin.neutral(self.model))
            self.data = self.model.createData()
        self.frame = self.model.getFrameId(frame)

    def kinematics(self, q, qd, qdd):
        """Pose, Jacobian in root axes, velocity and acceleration of the frame."""
        pin.forwardKinematics(self.model, self.data, q, qd, qdd)
        pin.updateFramePlacements(self.model, self.data)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        jacobian = pin.computeFrameJacobian(self.model, self.data, q, self.frame, axes)
        acceleration = pin.getFrameClassicalAcceleration(self.model, self.data, self.frame, axes).vector
        return self.data.oMf[self.frame].copy(), jacobian, jacobian @ qd, acceleration

    def inverse(self, matrix, regularization, squares=False):
        if regularization:
            left, values, right = np.linalg.svd(matrix)
            added = regularization**2
            return (
                right.T @ np.diag(1 / (values + added) if squares else values / (values**2 + added)) @ left.T
            )
        scale = np.diag([1, 1, 1, LEVER, LEVER, LEVER])
        values = np.linalg.eigvalsh(scale @ matrix @ scale)
        assert values[0] > 3.3e-2 * values[2], "the test is about poses far from singular ones"
        return np.linalg.inv(matrix)

    def torque(self, r, q, qd):
        p, n = self.p, self.n
        k, d, clip = (np.array(p[f"cartesian_{name}"]) for name in ("stiffness", "damping", "error_clip"))
        here, jacobian, twist, moved = self.kinematics(q, qd, 0.0 * q)
        mass = pin.crba(self.model, self.data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T + ROTOR * np.eye(n)
        there, _, wanted, accelerated = self.kinematics(r.position, r.velocity, r.acceleration)
        error = np.concatenate([
            there.translation - here.translation, pin.log3(there.rotation @ here.rotation.T)
        ])  # fmt: skip
        rate, bend = wanted - twist, accelerated - moved - jacobian @ r.acceleration
        turn = np.eye(6)
        if p["cartesian_axes"] == "frame":
            turn = np.kron(np.eye(2), here.rotation.T)
        jacobian, error, rate, bend = turn @ jacobian, turn @ error, turn @ rate, turn @ bend
        w = jacobian @ np.linalg.solve(mass, jacobian.T)
        pull = k * np.clip(error, -clip, clip)
        if p["operational_space"]:
            damping = np.diag(np.where(d < 0, 2 * np.sqrt(k), d))
            force = self.inverse(w, p["operational_space_regularization"]) @ (pull + damping @ rate + bend)
        else:
            root = np.diag(np.sqrt(np.where(d < 0, k, 0.0)))
            values, axes = np.linalg.eigh(root @ w @ root)
            keep = values > 1e-9
            critical = 2 * root @ (axes[:, keep] / np.sqrt(values[keep])) @ axes[:, keep].T @ root
            force = pull + (np.diag(np.maximum(d, 0)) + critical) @ rate
        own = np.array(p["nullspace_stiffness"])
        own_damping = p["nullspace_damping"]
        dampers = 2 * np.sqrt(own * np.diag(mass)) if own_damping < 0 else own_damping
        posture = np.clip(
            own * (r.position - q) + dampers * (r.velocity - qd),
            -p["nullspace_max_effort"], p["nullspace_max_effort"],
        )  # fmt: skip
        kind = p["nullspace_projector"]
        if kind == "dynamic":
            inertia = self.inverse(w, p["operational_space_regularization"])
            posture = posture - jacobian.T @ inertia @ jacobian @ np.linalg.solve(mass, posture)
        elif kind == "kinematic":
            inverse = self.inverse(jacobian @ jacobian.T, p["nullspace_regularization"], squares=True)
            posture = posture - jacobian.T @ inverse @ jacobian @ posture
        if p["operational_space"]:
            dynamics = pin.rnea(self.model, self.data, q, qd, r.acceleration)
        else:
            dynamics = pin.rnea(self.model, self.data, q, 0.0 * qd, r.acceleration)
            dynamics = dynamics + pin.computeCoriolisMatrix(self.model, self.data, q, qd) @ r.velocity
        dynamics = dynamics + ROTOR * r.acceleration + DAMPER * r.velocity
        if near := p["limit_repulsion_range"]:
            low, high = (self.model.lowerPositionLimit, self.model.upperPositionLimit)
            low, high = (np.clip(1 - way / near, 0, 1) for way in (q - low, high - q))
            damper = 2 * np.sqrt(p["limit_repulsion_effort"] / near * np.diag(mass)) * np.maximum(low, high)
            posture = posture + p["limit_repulsion_effort"] * (low - high) - damper * qd
            assert n == 6 or low.any()
        return dynamics + jacobian.T @ force + posture


STIFF = (600.0, 300.0, 900.0, 30.0, 20.0, 10.0)
LAWS = {
    "critical": {},
    "frame's axes, given damping": {
        "cartesian_axes": "frame", "cartesian_damping": (40.0, 30.0, 50.0, 3.0, 2.0, 1.0),
        "nullspace_projector": "none",
    },
    "some critical, kinematic": {
        "cartesian_damping": (40.0, -1.0, -1.0, 3.0, -1.0, 1.0), "nullspace_projector": "kinematic",
        "nullspace_damping": 0.5,
    },
    "decoupled": {"operational_space": True, "cartesian_stiffness": (100.0, 80.0, 60.0, 90.0, 120.0, 50.0)},
    "decoupled in the frame's axes": {
        "operational_space": True, "cartesian_axes": "frame",
        "cartesian_damping": (20.0, -1.0, 15.0, -1.0, 9.0, 8.0),
    },
    "clipped, pushed back from limits": {
        "cartesian_error_clip": (0.01, 0.02, 0.005, 0.03, 0.02, 0.01), "nullspace_max_effort": 0.5,
        "limit_repulsion_range": 1.0, "limit_repulsion_effort": 3.0,
    },
    "filtered, kinematic and regularized": {
        "position_filter": 0.003, "velocity_filter": 0.0015, "effort_filter": 0.002,
        "nullspace_projector": "kinematic", "nullspace_regularization": 0.05,
    },
    "decoupled and regularized": {
        "operational_space": True, "operational_space_regularization": 0.3, "velocity_filter": 0.004,
        "cartesian_stiffness": (100.0, 80.0, 60.0, 90.0, 120.0, 50.0),
    },
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("robot", ["ur5", "panda"])
def test_the_torque_is_the_law_s_by_pinocchio(robot, law):
    """States beside a reference that moves; rotors and friction as they are declared."""
    q = np.array(STARTS[robot])
    n = len(q)
    frame = {"ur5": ("", "wrist_3_link"), "panda": ("panda_hand_tcp", "panda_hand_tcp")}[robot]
    parameters = {
        "cartesian_frame": frame[0], "cartesian_axes": "root", "cartesian_stiffness": STIFF,
        "cartesian_damping": (-1.0,) * 6, "cartesian_error_clip": (0.1, 0.1, 0.1, 0.5, 0.5, 0.5),
        "operational_space": False, "limit_repulsion_range": 0.0, "position_filter": 0.0,
        "velocity_filter": 0.0, "effort_filter": 0.0, "operational_space_regularization": 0.0,
        "nullspace_regularization": 0.0,
        "nullspace_stiffness": tuple(np.linspace(4.0, 9.0, n)),
        "nullspace_damping": -1.0, "nullspace_max_effort": 5.0, "nullspace_projector": "dynamic",
    } | LAWS[law]  # fmt: skip
    loop = ArmLoop(robot, q)
    drives = rd.ActuatorParameters(rotor_inertia=(ROTOR,), damping=(DAMPER,), friction=(0.0,))
    arm = rd.ActuatedArm(rd.compile_dynamics(loop.chain, friction=False), loop.chain, drives)
    expected = Expected(robot, frame[1], parameters)
    control = rd.ArmController(loop.chain, arm, rd.ArmParameters(**MODE, **parameters))
    rng = np.random.default_rng(7)
    sent = control.update(0.0, q, np.zeros(n)).effort
    control.follow(loop.chain.joint_names, [rd.Waypoint(1.0, tuple(q + 0.2))])
    shares = [
        1.0 - np.exp(-0.002 / constant) if (constant := parameters[f"{of}_filter"]) else 1.0
        for of in ("position", "velocity", "effort")
    ]
    seen = [q, np.zeros(n)]
    for k in range(1, 12):  # slowly: friction that drives a joint ahead is not overcome
        reference = control.reference(0.002 * k).position
        aside = 0.03 if shares == [1.0] * 3 else 0.001  # a jump begins the filters anew
        state = reference + aside * rng.uniform(-1.0, 1.0, n), rng.uniform(-0.1, 0.1, n)
        command = control.update(0.002 * k, *state)
        seen = [old + share * (new - old) for old, new, share in zip(seen, state, shares[:2], strict=True)]
        torque = expected.torque(command.reference, *seen)
        asked = sent + shares[2] * (torque - sent)
        np.testing.assert_allclose(command.unlimited, asked, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(command.effort, asked, 1e-9, 1e-9)
        sent = command.effort


def rigid(robot="ur5", **parameters):
    """A controller of an arm without friction, and its exact model."""
    loop = ArmLoop(robot, STARTS[robot])
    arm = rd.compile_dynamics(loop.chain, friction=False)
    control = rd.ArmController(
        loop.chain, arm, rd.ArmParameters(**MODE | {"supervision": "observe"} | parameters)
    )
    return control, arm


def carry(control, path, step=0.01):
    """Carry the arm by hand along positions, after it has held the first one."""
    for k, q in enumerate(path):
        control.update(step * (k - len(path)), q, np.zeros(len(q)))


def settle(control, arm, q, duration, step, push=lambda t, q, qd: 0.0):
    """Positions and velocities of the exact arm that begins at rest at ``q`` while it is pushed."""
    qd, places, speeds = np.zeros_like(q), [], []
    for k in range(round(duration / step)):
        effort = control.update(k * step, q, qd).unlimited + push(k * step, q, qd)
        qd = qd + step * arm.forward_dynamics(q, qd, effort)
        q = q + step * qd
        places.append(q)
        speeds.append(qd)
    return np.array(places), np.array(speeds)


def test_decoupled_every_direction_goes_by_itself_as_a_damped_spring():
    """e'' + 2 sqrt(k) e' + k e = 0 from a centimetre or two hundredths of a radian aside."""
    stiffness = np.array((400.0, 200.0, 300.0, 250.0, 500.0, 350.0))
    q = np.array(READY)
    t = 1e-4 * np.arange(1, 3001)
    for axis in range(6):
        control, arm = rigid(operational_space=True, cartesian_stiffness=tuple(stiffness))
        aside = np.zeros(6)
        aside[axis] = 0.01 if axis < 3 else 0.02
        start, target = q.copy(), arm.forward_kinematics(q)
        for _ in range(20):
            start = start + np.linalg.solve(
                arm.jacobian(start, axes="root"), aside + apart(arm, start, target)
            )
        carry(control, np.linspace(q, start, 20))
        places, _ = settle(control, arm, start, 0.3, 1e-4)
        errors = np.array([-apart(arm, place, target) for place in places[::50]])
        omega = np.sqrt(stiffness[axis])
        expected = np.outer((np.exp(-omega * t) * (1.0 + omega * t))[::50], aside)
        np.testing.assert_allclose(errors, expected, atol=3e-3 * aside[axis])


def apart(arm, q, target):
    """(6,) way and turn from here to a target pose, in root axes."""
    here = arm.forward_kinematics(q)
    return np.concatenate([target[:3, 3] - here[:3, 3], pin.log3(target[:3, :3] @ here[:3, :3].T)])


def test_the_coupled_error_is_the_linear_system_at_the_pose_and_every_mode_is_critical():
    """M e'' + J^T D J e' + J^T K J e = 0 by the matrix exponential, from a small displacement."""
    q, k = np.array(READY), np.diag(STIFF)
    control, arm = rigid(cartesian_stiffness=STIFF, nullspace_projector="none", nullspace_stiffness=(0.0,))
    mass, jacobian = arm.mass_matrix(q), arm.jacobian(q, axes="root")
    inertia = np.linalg.inv(jacobian @ np.linalg.solve(mass, jacobian.T))
    root = np.real(scipy.linalg.sqrtm(k))
    d = 2 * root @ np.linalg.inv(np.real(scipy.linalg.sqrtm(root @ np.linalg.inv(inertia) @ root))) @ root
    rows = [-np.linalg.solve(mass, jacobian.T @ matrix @ jacobian) for matrix in (k, d)]
    system = np.block([[np.zeros((6, 6)), np.eye(6)], rows])
    poles = np.linalg.eigvals(system)
    assert (np.abs(poles.imag) < 1e-4 * np.abs(poles.real)).all()
    aside = 1e-3 * np.array((1.0, -0.8, 0.6, 0.9, -1.0, 0.7))
    carry(control, np.linspace(q, q + aside, 20))
    places, _ = settle(control, arm, q + aside, 0.4, 1e-4)
    step = scipy.linalg.expm(0.01 * system)
    state = np.concatenate([aside, np.zeros(6)])
    for k in range(1, 40):
        state = step @ state
        np.testing.assert_allclose(places[100 * k - 1] - q, state[:6], atol=1e-2 * np.abs(aside).max())


@pytest.mark.parametrize("projector", ["dynamic", "kinematic"])
def test_the_posture_comes_back_without_moving_the_frame(projector):
    """A Panda whose elbow has been turned aside about the line from shoulder to wrist."""
    q = np.array(STARTS["panda"])
    control, arm = rigid("panda", nullspace_projector=projector, nullspace_stiffness=(20.0,))
    target, path = arm.forward_kinematics(q), [q]
    for _ in range(200):
        jacobian = arm.jacobian(path[-1], axes="root")
        along = np.linalg.svd(jacobian)[2][-1]
        back = np.linalg.pinv(jacobian) @ apart(arm, path[-1], target)
        path.append(path[-1] + 0.001 * along * np.sign(along[2]) + back)
    start = path[-1]
    assert np.abs(start - q).max() > 0.1
    carry(control, path)
    places, _ = settle(control, arm, start, 4.0, 5e-4)
    moved = max(np.linalg.norm(apart(arm, place, target)) for place in places[::20])
    assert moved < (3e-4 if projector == "dynamic" else 2e-2)
    assert np.abs(places[-1] - q).max() < 0.1 * np.abs(start - q).max()


@pytest.mark.parametrize("law", [{}, {"operational_space": True, "cartesian_stiffness": (400.0, 400.0)}])
def test_through_a_singular_pose_efforts_stay_bounded_and_without_a_jump(law):
    """The elbow goes through its stretched pose, while something pushes."""
    peaks, jumps = [], []
    for mode in ({"mode": "computed_torque"}, law):
        loop = ArmLoop("ur5", READY, **(MODE | law | mode | {"max_following_error": (-1.0,)}))
        loop.run(0.05)
        if mode is law:
            loop.disturbance = lambda time, effort: np.add(effort, (10.0, 10.0, 10.0, 0.5, 0.5, 0.0))
        loop.go(np.add(READY, (0.0, 0.0, -2.0, 0.0, 0.0, 0.0)), 4.0)
        loop.run(5.0)
        assert loop.trip is None and not loop.faults
        peaks.append(np.abs(loop.efforts).max(axis=0))
        jumps.append(np.abs(np.diff(loop.efforts[30:], axis=0)).max(axis=0))
    assert (peaks[1] < peaks[0] + 60.0).all()
    assert (jumps[1] < 2.0).all()


@pytest.mark.parametrize("law", [{}, {"operational_space": True, "cartesian_stiffness": (400.0, 400.0)}])
def test_an_arm_that_is_bent_through_a_singular_pose_feels_a_bounded_spring(law):
    """The elbow is forced from its bent reference through the stretched pose, where no force shortens it."""
    q = np.array(READY)
    q[2] = 0.5
    control, _ = rigid(**law)
    bends, rate = np.arange(0.5, -0.3, -2e-4), np.array([0.0, 0.0, -0.1, 0.0, 0.0, 0.0])
    efforts = []
    for k, bend in enumerate(bends):
        q[2] = bend
        efforts.append(control.update(0.002 * k, q, rate).unlimited)
    efforts = np.array(efforts)
    assert np.abs(efforts).max() < 1200.0
    assert np.abs(np.diff(efforts[1:], axis=0)).max() < 4.0  # at the first state the arm begins to brake


@pytest.mark.parametrize(
    "law",
    [
        {"cartesian_stiffness": (0.0, 0.0), "cartesian_damping": (0.0, 0.0), "nullspace_stiffness": (0.0,)},
        {"mode": "joint_impedance", "joint_stiffness": (0.0,), "joint_damping": (0.0,)},
    ],
    ids=["free", "free joints"],
)
def test_nobody_gets_more_energy_out_of_it_than_was_put_in(law):
    """The work of pushes never falls below zero by more than 1 % of the largest energy.

    The arm is spun about its first joint while it is bent, stretched, and stopped: a law that cancels
    Coriolis efforts would give energy away. Then pushes are random, with brakes between them.
    """
    q, step = np.array((0.0, -1.2, 2.2, -1.9, -1.57, 0.3)), 2.5e-4
    bent, stretched = q.copy(), np.array((0.0, -0.3, 0.4, -1.9, -1.57, 0.3))
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.uniform(0.02, 0.2, 60))
    pushes = rng.normal(0.0, 1.0, (61, 6)) * (60.0, 60.0, 40.0, 6.0, 6.0, 3.0)
    gain = np.array((0.0, 900.0, 600.0, 60.0, 60.0, 30.0))

    def push(t, q, qd):
        if t > 3.0:
            k = int(np.searchsorted(times, t - 3.0))
            return pushes[k] if k % 2 else -0.02 * gain * qd
        share = np.clip((t - 0.5) / 1.0, 0.0, 1.0)
        effort = gain * (bent + share * (stretched - bent) - q) - 0.2 * gain * qd
        effort[0] = 10.0 * (t < 0.3) - 10.0 * (t > 2.0) * np.tanh(50.0 * qd[0])
        return effort

    control, arm = rigid(**({"nullspace_projector": "none", "start_motion": -1.0} | law))
    carry(control, [q])
    places, speeds = settle(control, arm, q, 5.0, step, push)
    before, rates = np.vstack([q, places[:-1]]), np.vstack([0.0 * q, speeds])
    given = np.array([push(k * step, before[k], rates[k]) for k in range(len(places))])
    work = np.cumsum(step * np.sum(given * 0.5 * (rates[1:] + rates[:-1]), axis=1))
    kinetic = max(0.5 * v @ arm.mass_matrix(p) @ v for p, v in zip(places[::40], speeds[::40], strict=True))
    assert work.min() > -0.01 * kinetic


@pytest.mark.parametrize("period", [0.001, 0.004])
@pytest.mark.parametrize("law", [{}, {"operational_space": True, "cartesian_stiffness": (200.0, 200.0)}])
def test_a_stiff_wall_is_hit_without_instability(law, period):
    """A wall of 1e5 N/m hit at 0.1 m/s: the tip comes to rest on it with the force of its spring."""
    loop = ArmLoop("ur5", READY, period=period, **MODE | law | {"max_following_error": (-1.0,)})
    wall = Wall(loop, below=0.01)
    loop.run(0.05)
    loop.go(np.add(READY, (0.0, 0.12, 0.0, -0.12, 0.0, 0.0)), 0.7)
    loop.run(2.5)
    _, rates, forces = np.array(wall.seen).T
    hit = int(np.argmax(forces > 0.0))
    assert forces.max() > 0.0 and -rates[hit - 1] > 0.08
    assert loop.phases[-1] is Phase.HOLDING and loop.trip is None
    last = round(0.3 / period)
    assert np.abs(loop.velocities[-last:]).max() < 0.01
    assert np.ptp(forces[-last:]) < 0.1 * forces[-last:].mean() and forces[-1] > 1.0


def test_a_push_at_the_tip_moves_it_by_its_stiffness_and_a_change_of_stiffness_blends():
    """A force of 20 N along z: 20 N over the stiffness, in the root's axes."""
    parameters = MODE | {"cartesian_stiffness": (600.0, 600.0, 400.0, 60.0, 60.0, 60.0)}
    loop = ArmLoop("ur5", READY, **parameters)
    links = rd.compile_dynamics(loop.chain, friction=False)
    loop.run(0.1)
    before = links.forward_kinematics(loop.plant.position).copy()
    force = np.array((0.0, 0.0, 20.0, 0.0, 0.0, 0.0))
    loop.disturbance = lambda time, effort: (
        effort + links.jacobian(loop.plant.position, axes="root").T @ force
    )
    loop.run(4.0)
    moved = links.forward_kinematics(loop.plant.position) - before
    np.testing.assert_allclose(moved[:3, 3], (0.0, 0.0, 20.0 / 400.0), atol=5e-4)
    effort = loop.efforts[-1]
    loop.control.parameters = rd.ArmParameters(**parameters | {"cartesian_stiffness": (800.0, 60.0)})
    assert loop.control.energy_added == pytest.approx(0.5 * (800.0 - 400.0) * (20.0 / 400.0) ** 2, rel=0.03)
    loop.run(0.004)
    assert np.abs(loop.efforts[-1] - effort).max() < 2.0
    loop.run(4.0)
    moved = links.forward_kinematics(loop.plant.position) - before
    np.testing.assert_allclose(moved[:3, 3], (0.0, 0.0, 20.0 / 800.0), atol=5e-4)
    assert loop.trip is None
    loop.disturbance = None
    loop.run(4.0)
    np.testing.assert_allclose(links.forward_kinematics(loop.plant.position), before, atol=2e-4)


def test_a_light_wrist_in_a_singular_pose_leaves_the_posture_no_say_at_the_tip():
    """20 N over 400 N/m are 50 mm: the mobilities of a PUMA's tip differ by a factor of a million."""
    loop = ArmLoop("puma", np.zeros(6), cartesian_stiffness=(400.0, 5.0), wrench_timeout=9.0, **MODE)
    loop.run(0.1)
    before = loop.links.forward_kinematics(loop.plant.position)[:3, 3].copy()
    assert loop.control.push([0.0, 0.0, 20.0, 0.0, 0.0, 0.0]) == ""
    loop.run(3.0)
    moved = loop.links.forward_kinematics(loop.plant.position)[:3, 3] - before
    np.testing.assert_allclose(moved, (0.0, 0.0, 0.05), atol=1e-4)


@pytest.mark.parametrize("mode", ["cartesian_impedance", "joint_impedance"])
def test_an_arm_that_is_pushed_towards_its_joint_limit_is_braked_before_it(mode):
    """A Panda's second joint with soft springs, under a push that ends at its limit."""
    start = np.array(STARTS["panda"])
    soft = {"cartesian_stiffness": (20.0, 2.0), "nullspace_stiffness": (1.0,), "joint_stiffness": (1.0,)}
    loop = ArmLoop("panda", start, **MODE | soft | {"mode": mode})
    highest = loop.chain.driving_joint(1).limits.upper
    push = np.zeros(7)
    push[1] = 25.0
    loop.disturbance = lambda time, effort: effort + push * (loop.plant.position[1] < highest)
    loop.run(6.0)
    near = loop.positions[:, 1] > highest - 0.02
    assert near.any() and loop.velocities[near, 1].max() < 0.3 * loop.velocities[:, 1].max()
    assert loop.trip is None
    assert loop.positions[:, 1].max() < highest + 0.02


@pytest.mark.long
def test_what_is_not_stable_or_no_impedance_is_refused():
    loop = ArmLoop("ur5", READY, control_period=0.002, **MODE)
    loop.run(0.1)

    def use(**parameters):
        loop.control.parameters = rd.ArmParameters(control_period=0.002, **MODE | parameters)

    with pytest.raises(
        ParameterError, match=r"'cartesian_stiffness' is 1e\+06, 1e\+06.* 2 ms at most"
    ) as told:
        use(cartesian_stiffness=(1e6, 1e6))
    most = [
        float(text) for text in str(told.value).split("at most ")[1].removesuffix(" is stable").split(",")
    ]
    assert len(most) == 2 and most[0] > 10.0 * most[1] > 0.0
    use(cartesian_stiffness=tuple(most))
    for k in range(2):
        with pytest.raises(ParameterError, match="cartesian_stiffness"):
            use(cartesian_stiffness=tuple(value * (1.0 if k == i else 1.2) for i, value in enumerate(most)))
    with pytest.raises(ParameterError, match=r"'cartesian_damping' is 10000, .*at most"):
        use(cartesian_damping=(1e4, 1e4))
    with pytest.raises(ParameterError, match=r"'nullspace_stiffness' is 100000: .*at most"):
        use(nullspace_stiffness=(1e5,), nullspace_projector="none", nullspace_damping=10.0)
    weak = {
        "cartesian_stiffness": (1745.0, 174.5),
        "cartesian_damping": (5.0, 0.5),
        "operational_space": True,
    }
    use(**weak)  # the posture is damped much more
    with pytest.raises(
        ParameterError, match=r"'cartesian_stiffness' is 1745, 174.5: with a state every 20 ms"
    ):
        loop.control.parameters = rd.ArmParameters(control_period=0.02, **MODE | weak)
    use()
    loop.run(0.3)
    assert loop.trip is None
    for values, words in (
        ({"cartesian_stiffness": (-1.0, 1.0)}, "cartesian_stiffness"),
        ({"cartesian_stiffness": (1.0, 1.0, 1.0)}, "3 values; give 2 .* or 6"),
        ({"cartesian_damping": (-0.5, 1.0)}, "or -1: critical"),
        ({"cartesian_stiffness": (float("nan"), 1.0)}, "cartesian_stiffness"),
        ({"nullspace_stiffness": ()}, "nullspace_stiffness.*empty"),
        ({"cartesian_axes": "world"}, "cartesian_axes"),
        ({"operational_space": True, "nullspace_projector": "kinematic"}, "choose 'dynamic'"),
    ):
        with pytest.raises(ParameterError, match=words):
            rd.ArmParameters(**MODE | values)
    for values, words in (
        ({"cartesian_frame": "thumb"}, "no frame 'thumb'; choose from"),
        ({"nullspace_stiffness": (1.0, 2.0)}, r"nullspace_stiffness.*2 values"),
    ):
        with pytest.raises(ParameterError, match=words):
            rd.ArmController(loop.chain, parameters=rd.ArmParameters(**MODE | values))
    slow = rd.compile_dynamics(loop.chain, backend="python", friction=False)
    with pytest.raises(ParameterError, match="C compiler"):
        rd.ArmController(loop.chain, slow, rd.ArmParameters(**MODE))
    tree = rd.load_urdf(TWO_ARMS, tips="all")
    with pytest.raises(ParameterError, match="has the tips left_hand, right_hand"):
        rd.ArmController(tree, parameters=rd.ArmParameters(**MODE))
