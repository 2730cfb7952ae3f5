"""Kinematics, energy and matrices against Pinocchio, on random arms and on robots that people have."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from installed_robots import example_robot
from random_arms import PinocchioArm, random_chain

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.errors import ParameterError, SingularityError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.resources import resource

GRAVITY = (1.0, -2.0, -9.3)
INSTALLED = {
    "panda": ("panda_description/urdf/panda.urdf", "panda_hand_tcp"),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "tool0"),
}


class Oracle(PinocchioArm):
    """Pinocchio's words for the quantities."""

    def __init__(self, chain, gravity):
        super().__init__(chain, gravity)
        self.last = len(chain.joints)
        place = pin.SE3(chain.tip_transform)
        self.tip = self.model.addFrame(pin.Frame("the tip", self.last, 0, place, pin.FrameType.OP_FRAME))
        self.frames = {None: self.tip}
        for index, joint in enumerate(chain.joints):
            frame = pin.Frame(f"of {joint.link}", index + 1, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME)
            self.frames[joint.link] = self.model.addFrame(frame)
        self.data = self.model.createData()

    def moved(self, q, qd=None):
        """Positions and velocities of all joints, with the kinematics up to date."""
        joints = self.map @ q + self.offset, self.map @ (0.0 * q if qd is None else qd)
        pin.forwardKinematics(self.model, self.data, *joints, 0.0 * joints[0])
        pin.updateFramePlacements(self.model, self.data)
        return joints

    def forward_kinematics(self, q, frame=None):
        self.moved(q)
        return self.data.oMf[self.frames[frame]].homogeneous

    def jacobian(self, q, frame=None, axes="tip"):
        reference = pin.LOCAL if axes == "tip" else pin.LOCAL_WORLD_ALIGNED
        joints = self.moved(q)[0]
        matrix = pin.computeFrameJacobian(self.model, self.data, joints, self.frames[frame], reference)
        return matrix @ self.map

    def jacobian_rate(self, q, qd, frame=None, axes="tip"):
        self.moved(q, qd)
        if axes == "tip":
            motion = pin.getFrameAcceleration(self.model, self.data, self.frames[frame], pin.LOCAL)
        else:
            motion = pin.getFrameClassicalAcceleration(
                self.model, self.data, self.frames[frame], pin.LOCAL_WORLD_ALIGNED
            )
        return motion.vector

    def energy(self, q, qd):
        joints = self.moved(q, qd)
        return np.array(
            [
                pin.computeKineticEnergy(self.model, self.data, *joints),
                pin.computePotentialEnergy(self.model, self.data, joints[0]),
            ]
        )

    def coriolis_matrix(self, q, qd):
        joints = self.moved(q, qd)
        return self.map.T @ pin.computeCoriolisMatrix(self.model, self.data, *joints) @ self.map

    def momentum(self, q, qd):
        joints = self.moved(q, qd)
        mass = pin.crba(self.model, self.data, joints[0])
        mass = np.triu(mass) + np.triu(mass, 1).T
        transposed = pin.computeCoriolisMatrix(self.model, self.data, *joints).T
        weight = pin.computeGeneralizedGravity(self.model, self.data, joints[0])
        return tuple(self.map.T @ part for part in (mass @ joints[1], transposed @ joints[1], weight))

    def inverse_mass_matrix(self, q):
        return np.linalg.inv(self.mass_matrix(q))

    def regressor(self, q, qd, qdd):
        values = self.map @ q + self.offset, self.map @ qd, self.map @ qdd
        return self.map.T @ pin.computeJointTorqueRegressor(self.model, self.data, *values)

    def inverse_dynamics_derivatives(self, q, qd, qdd, wrench=None):
        values = self.map @ q + self.offset, self.map @ qd, self.map @ qdd
        loads = self.loads(wrench)
        found = pin.computeRNEADerivatives(self.model, self.data, *values, loads)
        mass = np.triu(found[2]) + np.triu(found[2], 1).T
        return tuple(self.map.T @ matrix @ self.map for matrix in (*found[:2], mass))

    def forward_dynamics_derivatives(self, q, qd, tau, wrench=None):
        qdd = self.forward_dynamics(q, qd, tau, wrench)
        by_q, by_qd, mass = self.inverse_dynamics_derivatives(q, qd, qdd, wrench)
        return tuple(np.linalg.solve(mass, matrix) for matrix in (-by_q, -by_qd, np.eye(len(q))))


pytestmark = pytest.mark.usefixtures("fresh_cache")


def installed(name):
    if name == "puma560":
        return load_urdf(resource("urdf/puma560.urdf"))
    path, tip = INSTALLED[name]
    found = example_robot(path)
    if found is None:
        pytest.skip("example-robot-data is not installed")
    return load_urdf(found, tip=tip)


def chain_of(name):
    """A random arm by its seed, or a robot by its name; arm 2 and the short one have a mimic joint."""
    if name == "short":
        return random_chain(np.random.default_rng(2), 3, mimic=True)
    if isinstance(name, str):
        return installed(name)
    return random_chain(np.random.default_rng(name), 3 + name, mimic=name == 2)


def close(value, reference):
    assert value.shape == reference.shape
    np.testing.assert_allclose(value, reference, rtol=0, atol=1e-9 * max(1.0, np.abs(reference).max()))


def test_several_frames_in_one_call():
    for name, backend in ((2, "python"), ("puma560", "c")):
        chain = chain_of(name)
        dynamics, oracle = compile_dynamics(chain, GRAVITY, backend, ()), Oracle(chain, GRAVITY)
        links = [chain.joints[-1].link, chain.tip, chain.joints[0].link, chain.tip]
        q = np.random.default_rng(3).normal(size=(5, chain.dof))
        frames = [None if link == chain.tip else link for link in links]
        expected = np.array([[oracle.forward_kinematics(row, frame) for frame in frames] for row in q])
        for chosen in (links, tuple(links), tuple(links)):
            close(dynamics.forward_kinematics(q, frames=chosen), expected)
        close(dynamics.forward_kinematics(q), expected[:, 1])
        out = np.empty((4, 4, 4))
        assert dynamics.forward_kinematics(q[0], frames=links, out=out) is out
        close(out, expected[0])
        for wrong, words in (
            (["nowhere"], "nowhere"),
            ("tip", "sequence"),
            ([], "sequence"),
            ([None], "None"),
        ):
            with pytest.raises(ParameterError, match=words):
                dynamics.forward_kinematics(q, frames=wrong)
        with pytest.raises(ParameterError, match="not both"):
            dynamics.forward_kinematics(q, frame=links[0], frames=links)


ARMS = [0, 1, 2, 3, "puma560", "panda", "ur5"]
CALLS = [
    ("forward_kinematics", 1, {}),
    ("jacobian", 1, {}),
    ("jacobian", 1, {"axes": "root"}),
    ("jacobian_rate", 2, {}),
    ("jacobian_rate", 2, {"axes": "root"}),
    ("energy", 2, {}),
    ("momentum", 2, {}),
    ("coriolis_matrix", 2, {}),
    ("inverse_mass_matrix", 1, {}),
    ("regressor", 3, {}),
    ("inverse_dynamics_derivatives", 3, {}),
    ("inverse_dynamics_derivatives", 3, {"wrench": np.array([1.0, -2.0, 3.0, -0.4, 0.5, 0.6])}),
    ("forward_dynamics_derivatives", 3, {}),
    ("forward_dynamics_derivatives", 3, {"wrench": np.array([1.0, -2.0, 3.0, -0.4, 0.5, 0.6])}),
]


def compare(dynamics, oracle, name, count, options):
    """One by one, in batches, and into given arrays."""
    states = np.random.default_rng(7).normal(size=(3, 5, dynamics.chain.dof))[:count]
    rows = [as_tuple(getattr(oracle, name)(*row, **options)) for row in zip(*states, strict=True)]
    references = [np.array(arrays) for arrays in zip(*rows, strict=True)]
    function = getattr(dynamics, name)
    outs = tuple(np.zeros(reference.shape) for reference in references)
    out = outs if len(outs) > 1 else outs[0]
    assert function(*states, out=out, **options) is out
    found, single = as_tuple(function(*states, **options)), as_tuple(function(*states[:, 2], **options))
    for reference, *values in zip(references, found, outs, strict=True):
        for value in values:
            close(value, reference)
    for reference, value in zip(references, single, strict=True):
        close(value, reference[2])


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.long
@pytest.mark.parametrize("arm", ARMS)
def test_python(arm):
    chain = chain_of(arm)
    dynamics, oracle = compile_dynamics(chain, GRAVITY, "python", ()), Oracle(chain, GRAVITY)
    for name, count, options in CALLS:
        compare(dynamics, oracle, name, count, options)
        assert dynamics.operation_count(name).total > 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("arm", "calls"),
    # The longest program of a real robot is beyond LARGE_SOURCE, and its joints fill lanes.
    [("short", CALLS), ("panda", [CALLS[2], CALLS[-1]])],
    ids=["short", "panda"],
)
def test_compiled(arm, calls):
    chain = chain_of(arm)
    dynamics, oracle = compile_dynamics(chain, GRAVITY, "c", ()), Oracle(chain, GRAVITY)
    for name, count, options in calls:
        compare(dynamics, oracle, name, count, options)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("energy", 2),
        ("momentum", 2),
        ("regressor", 3),
        ("inverse_dynamics_derivatives", 3),
        ("forward_dynamics_derivatives", 3),
    ],
)
def test_another_slope(name, count):
    chain = chain_of(1)
    dynamics = compile_dynamics(chain, GRAVITY, "python", ()).with_gravity((3.0, 2.0, 1.0))
    compare(dynamics, Oracle(chain, (3.0, 2.0, 1.0)), name, count, {})


@pytest.mark.parametrize("arm", [1, 2, "ur5"])
def test_the_coriolis_matrix_is_that_of_christoffels_symbols(arm):
    """C + C^T is the rate of the mass matrix; C's columns change with qd as Christoffel's symbols do."""
    dynamics = compile_dynamics(chain_of(arm), GRAVITY, "python", ())
    q, qd = np.random.default_rng(4).normal(size=(2, dynamics.chain.dof))
    matrix, step = dynamics.coriolis_matrix(q, qd), 1e-6
    rate = (dynamics.mass_matrix(q + step * qd) - dynamics.mass_matrix(q - step * qd)) / (2.0 * step)
    np.testing.assert_allclose(matrix + matrix.T, rate, rtol=0, atol=1e-7 * np.abs(rate).max())
    symbols = dynamics.coriolis_matrix(np.tile(q, (len(qd), 1)), np.eye(len(qd)))
    np.testing.assert_allclose(symbols, symbols.transpose(2, 1, 0), atol=1e-12 * np.abs(symbols).max())
    np.testing.assert_allclose(matrix @ qd, dynamics.coriolis(q, qd), rtol=1e-10)


@pytest.mark.parametrize("arm", [0, 1, 3, 4, "puma560", "panda", "ur5"])
@pytest.mark.parametrize("gravity", [GRAVITY, (0.0, 0.0, -9.81)])
def test_base_parameters_are_the_fewest_and_give_the_same_efforts(arm, gravity):
    chain = chain_of(arm)
    dynamics, n = compile_dynamics(chain, gravity, "python", ()), chain.dof
    states = np.random.default_rng(2).normal(size=(3, 12 * n + 6, n))
    base, oracle = dynamics.base_regressor(*states), Oracle(chain, gravity)
    assert dynamics.base_map.shape == (base.shape[2], 10 * n)
    full = np.array([oracle.regressor(*state) for state in zip(*states, strict=True)])
    close(base @ dynamics.base_map, full)
    efforts = np.array([oracle.inverse_dynamics(*state) for state in zip(*states, strict=True)])
    close(base @ (dynamics.base_map @ dynamics.inertial_parameters), efforts)
    close(dynamics.regressor(*states) @ dynamics.inertial_parameters, efforts)
    # Minimal: as many as the rank of all motions, and none a combination of others.
    assert np.linalg.matrix_rank(full.reshape(-1, 10 * n), rtol=1e-9) == base.shape[2]
    columns = base.reshape(-1, base.shape[2])
    singular = np.linalg.svd(columns / np.linalg.norm(columns, axis=0), compute_uv=False)
    assert singular[-1] > 1e-6 and np.linalg.matrix_rank(dynamics.base_map) == base.shape[2]
    np.testing.assert_array_equal(dynamics.base_regressor(*states[:, 1]), base[1])


def test_base_parameters_of_any_gravity_and_of_a_joint_that_follows():
    chain, gravity = chain_of(0), (3.0, 2.0, 1.0)
    turned = compile_dynamics(chain, backend="c", quantities=()).with_gravity(gravity)
    states = np.random.default_rng(2).normal(size=(3, 5, chain.dof))
    oracle = Oracle(chain, gravity)
    full = np.array([oracle.regressor(*state) for state in zip(*states, strict=True)])
    close(turned.base_regressor(*states) @ turned.base_map, full)
    chain = chain_of("short")
    dynamics, oracle = compile_dynamics(chain, GRAVITY, "c", ()), Oracle(chain, GRAVITY)
    state = np.random.default_rng(3).normal(size=(3, chain.dof))
    close(dynamics.base_regressor(*state) @ dynamics.base_map, oracle.regressor(*state))


def test_a_joint_that_moves_no_mass_is_refused():
    chain = chain_of(0)
    bare = replace(chain.joints[-1], body=RigidBody(0.0, np.zeros(3), np.zeros((3, 3))))
    dynamics = compile_dynamics(replace(chain, joints=(*chain.joints[:-1], bare)), backend="python")
    zero = np.zeros(3)
    with pytest.raises(SingularityError, match="moves no mass"):
        dynamics.inverse_mass_matrix(zero)
    with pytest.raises(SingularityError, match="moves no mass"):
        dynamics.forward_dynamics_derivatives(zero, zero, zero)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("axes", ["tip", "root"])
def test_any_link_by_its_name(backend, axes):
    chain = chain_of("short" if backend == "c" else 2)
    dynamics, oracle = compile_dynamics(chain, GRAVITY, backend, ()), Oracle(chain, GRAVITY)
    for joint in chain.joints[:: 2 if backend == "c" else 1]:
        compare(dynamics, oracle, "forward_kinematics", 1, {"frame": joint.link})
        compare(dynamics, oracle, "jacobian", 1, {"frame": joint.link, "axes": axes})
        compare(dynamics, oracle, "jacobian_rate", 2, {"frame": joint.link, "axes": axes})
    compare(dynamics, oracle, "jacobian", 1, {"axes": axes})
    q = np.ones(chain.dof)
    np.testing.assert_array_equal(dynamics.jacobian(q, frame=chain.tip), dynamics.jacobian(q))


def test_a_function_outlives_what_made_it():
    chain = chain_of(0)
    jacobian = compile_dynamics(chain, GRAVITY, "c", ()).function("jacobian")
    q = np.ones(chain.dof)
    close(jacobian(q, frame="link_2", axes="root"), Oracle(chain, GRAVITY).jacobian(q, "link_2", "root"))


def test_what_does_not_exist_is_refused_with_what_does():
    dynamics = compile_dynamics(chain_of(0), GRAVITY, "python", ())
    q = np.zeros(3)
    with pytest.raises(ParameterError, match="no frame 'elbow'; choose from link_1, link_2, link_3, tip"):
        dynamics.jacobian(q, frame="elbow")
    with pytest.raises(ParameterError, match="no axes 'world'; choose from tip, root"):
        dynamics.jacobian(q, axes="world")
    with pytest.raises(ParameterError, match="no axes 3; choose"):
        dynamics.jacobian(q, axes=3)
    with pytest.raises(ParameterError, match="energy has no option 'frame'"):
        dynamics.function("energy", frame="link_1")
