"""Programs in which alike limbs are lanes of vectors: the same results, and fewer operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
import random_robots
from interpreter import lane_results, results_of
from tree_oracle import GRAVITY, Oracle, agree, as_placed, real_tree

from robot_dynamics.codegen.program import Operation
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.model.chain import JointKind, KinematicChain, RigidBody, Tip

REAL = ("baxter_description/urdf/baxter.urdf", "talos_data/robots/talos_full_v2.urdf")
AT_ONCE = ("inverse_dynamics", "mass_matrix", "energy")
MARKED = [name if name in AT_ONCE else pytest.param(name, marks=pytest.mark.long) for name in QUANTITIES]
MIRROR = np.diag([1.0, -1.0, 1.0])


def mirrored(joint):
    """A joint and its body seen in a mirror: the same motion has the same sign."""
    turned = joint.origin.copy()
    turned[:3, :3] = MIRROR @ joint.origin[:3, :3] @ MIRROR
    turned[:3, 3] = MIRROR @ joint.origin[:3, 3]
    body = joint.body
    reflected = RigidBody(body.mass, MIRROR @ body.center_of_mass, MIRROR @ body.inertia @ MIRROR)
    sign = -1.0 if joint.kind is JointKind.REVOLUTE else 1.0
    return replace(joint, origin=turned, axis=sign * MIRROR @ joint.axis, body=reflected)


def robot(torso, limbs):
    """A tree: a chain of joints, and limbs, each with its mount, on the last one of them."""
    joints, parents, tips = list(torso), list(range(-1, len(torso) - 1)), []
    for k, (mount, limb) in enumerate(limbs):
        for i, joint in enumerate(limb):
            parents.append(len(joints) - 1 if i else len(torso) - 1)
            joints.append(replace(joint, origin=mount @ joint.origin) if i == 0 else joint)
        tips.append(Tip(f"tip{k}", len(joints) - 1, np.eye(4)))
    names = tuple(f"j{i}" for i in range(len(joints)))
    joints = [
        replace(joint, name=name, link=f"l{i}", coordinate=i)
        for i, (joint, name) in enumerate(zip(joints, names, strict=True))
    ]
    first = tips[0]
    return KinematicChain(
        "limbs",
        "root",
        first.link,
        tuple(joints),
        names,
        first.transform,
        parents=tuple(parents),
        tip_joint=first.joint,
        other_tips=tuple(tips[1:]),
    )


def joints_of(seed, n, kinds=None):
    return random_robots.chain(seed, n, kinds, special=True).joints


def heavier(limb):
    """The limb with another mass in its last link."""
    body = limb[-1].body
    return (*limb[:-1], replace(limb[-1], body=replace(body, mass=1.25 * body.mass)))


def arms_on_the_base():
    limb = joints_of(3, 5)
    mounts = [random_robots.pose(np.random.default_rng(k)) for k in (1, 2)]
    return robot((), [(mount, limb) for mount in mounts])


def mirrored_arms_on_a_torso():
    limb = joints_of(8, 5)
    left = random_robots.pose(np.random.default_rng(4))
    right = np.eye(4)
    right[:3, :3] = MIRROR @ left[:3, :3] @ MIRROR
    right[:3, 3] = MIRROR @ left[:3, 3]
    return robot(joints_of(2, 2), [(left, limb), (right, [mirrored(joint) for joint in limb])])


def arms_with_different_mounts():
    limb = joints_of(8, 4)
    straight = random_robots.shift(0.0, 0.2, 0.0)
    return robot(joints_of(6, 1), [(straight, limb), (random_robots.pose(np.random.default_rng(7)), limb)])


def quadruped():
    leg = joints_of(12, 3, [JointKind.REVOLUTE] * 3)
    other = [mirrored(joint) for joint in leg]
    place = random_robots.shift
    return robot(
        (), [(place(x, y, 0.0), leg if y > 0.0 else other) for x in (0.4, -0.4) for y in (0.2, -0.2)]
    )


def hand():
    finger = joints_of(14, 2, [JointKind.REVOLUTE] * 2)
    return robot(joints_of(15, 1), [(random_robots.shift(0.1, 0.03 * k, 0.01), finger) for k in range(5)])


def one_heavier_arm():
    limb = joints_of(3, 4)
    mounts = [random_robots.pose(np.random.default_rng(k)) for k in (1, 2)]
    return robot(joints_of(2, 1), [(mounts[0], limb), (mounts[1], heavier(limb))])


ALIKE = (
    arms_on_the_base,
    mirrored_arms_on_a_torso,
    arms_with_different_mounts,
    quadruped,
    hand,
    one_heavier_arm,
)


@pytest.fixture(scope="module", params=ALIKE, ids=lambda make: make.__name__)
def alike(request):
    return as_placed(request.param())


def program_of(chain, quantity, inputs=()):
    options = {option.name: option.default for option in QUANTITIES[quantity].options}
    return make_program(chain, np.array(GRAVITY), quantity, inputs, options=options)


@pytest.mark.parametrize("quantity", MARKED)
def test_lanes_give_the_results_of_scalars(alike, quantity):
    about = QUANTITIES[quantity]
    for inputs in ((), [array.name for array in (*about.optional, *about.held) if array.name != "gravity"]):
        program = program_of(alike, quantity, inputs)
        if program.limbs is None:
            continue
        given = np.random.default_rng(5).uniform(-1.0, 1.0, program.input_size)
        expected = np.array(results_of(program, given))
        found = lane_results(program.limbs, given)
        assert np.abs(found - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())


def test_most_of_inverse_dynamics_is_in_lanes(alike):
    program = program_of(alike, "inverse_dynamics")
    assert len(program.limbs.program.instructions) < 0.75 * len(program.instructions)


def counted(program):
    """Operations but for picks of a lane and changes of sign."""
    kinds = [instruction.operation for instruction in program.instructions]
    return len(kinds) - kinds.count(Operation.PICK) - kinds.count(Operation.NEG)


@pytest.mark.parametrize("seed", [14, 37])
def test_mass_matrices_of_equal_limbs_take_the_operations_of_one(seed):
    """They do not depend on where the limbs are mounted on the base."""
    limb = joints_of(seed, 2)
    mounts = [random_robots.pose(np.random.default_rng(k)) for k in (1, 2, 3)]
    program = program_of(robot((), [(mount, limb) for mount in mounts]), "mass_matrix")
    alone = program_of(robot((), [(mounts[0], limb)]), "mass_matrix")
    assert (counted(program), counted(program.limbs.program)) == (3 * counted(alone), counted(alone))


@pytest.mark.long
def test_kernels_agree_with_pinocchio(alike):
    dynamics, oracle = compile_dynamics(alike, GRAVITY, "c", ()), Oracle(alike)
    agree(dynamics.inverse_dynamics(oracle.q, oracle.qd, oracle.qdd), oracle.efforts())
    agree(dynamics.mass_matrix(oracle.q), oracle.mass())
    given = dynamics.forward_dynamics(oracle.q, oracle.qd, oracle.tau)
    agree(oracle.mass() @ given + oracle.bias(), oracle.tau)
    far = 1e6 + oracle.q
    np.testing.assert_allclose(dynamics.gravity(far), dynamics.gravity(far[None])[0], rtol=1e-9, atol=1e-9)
    with pytest.raises(Exception, match="finite"):
        dynamics.inverse_dynamics(oracle.q, oracle.qd, np.full(alike.dof, np.inf))


@pytest.mark.long
def test_derivatives_and_regressor_of_kernels_agree_with_pinocchio(alike):
    dynamics, oracle = compile_dynamics(alike, GRAVITY, "c", ()), Oracle(alike)
    oracle.at(pinocchio.computeRNEADerivatives)
    positions, velocities, mass = dynamics.inverse_dynamics_derivatives(oracle.q, oracle.qd, oracle.qdd)
    agree(positions, oracle.data.dtau_dq)
    agree(velocities, oracle.data.dtau_dv)
    agree(mass, oracle.mass())
    matrix = oracle.at(pinocchio.computeJointTorqueRegressor)
    agree(dynamics.regressor(oracle.q, oracle.qd, oracle.qdd), matrix)


@pytest.mark.long
@pytest.mark.parametrize("name", REAL)
def test_real_robots(name):
    chain = real_tree(name)
    dynamics, oracle = compile_dynamics(chain, GRAVITY, "c", ()), Oracle(chain)
    assert program_of(chain, "inverse_dynamics").limbs is not None
    agree(dynamics.inverse_dynamics(oracle.q, oracle.qd, oracle.qdd), oracle.efforts())
    agree(dynamics.mass_matrix(oracle.q), oracle.mass())


def test_without_alike_limbs_programs_are_scalar():
    turning, sliding = [JointKind.REVOLUTE] * 3, [JointKind.PRISMATIC] * 3
    mounts = [random_robots.pose(np.random.default_rng(k)) for k in (1, 2)]
    different = robot((), [(mounts[0], joints_of(3, 3, turning)), (mounts[1], joints_of(3, 3, sliding))])
    for chain in (different, random_robots.chain(4, 6)):
        assert program_of(chain, "inverse_dynamics").limbs is None


def test_counted_programs_have_no_lanes():
    chain = arms_on_the_base()
    assert make_program(chain, np.array(GRAVITY), "gravity", (), Objective.OPERATIONS).limbs is None
