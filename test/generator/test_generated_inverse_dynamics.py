"""Generated inverse dynamics against the plain recursion and Pinocchio, within rounding."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio
import plain_recursion
import pytest
import random_robots
from interpreter import evaluate
from shares import share_of

import robot_dynamics as rd
from robot_dynamics.codegen.program import count_operations
from robot_dynamics.dynamics.generator.links import axes_made_parallel
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import generate
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import JointKind
from robot_dynamics.papers.reference_models import REFERENCE_MODELS

URDF = Path(__file__).parents[2] / "urdf"


def assert_equal_torques(program, model, seed=0, tolerance=1e-12):
    for q, qd, qdd in plain_recursion.states(model, seed):
        expected = plain_recursion.inverse_dynamics(model, q, qd, qdd)
        computed = evaluate(program, {"q": q, "qd": qd, "qdd": qdd})["tau"]
        scale = np.abs(expected).max()
        np.testing.assert_allclose(computed, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("reference", REFERENCE_MODELS, ids=lambda r: r.name)
def test_reference_arms(reference, objective):
    model = reference.model()
    assert_equal_torques(generate(model, objective=objective), model)


@pytest.mark.parametrize("seed", share_of(range(24)))
def test_random_arms(seed):
    model = plain_recursion.random_arm(seed, generic=seed % 4 == 3)
    assert_equal_torques(generate(model, effort="none"), model, seed)


@pytest.mark.parametrize("seed", range(4))
def test_random_arms_after_a_search(seed):
    model = plain_recursion.random_arm(seed + 100, n=4)
    objective = list(Objective)[seed % len(Objective)]
    assert_equal_torques(generate(model, objective=objective), model, seed)


@pytest.mark.parametrize("seed", range(10))
def test_wrench_and_gravity_as_inputs(seed):
    model = plain_recursion.random_arm(seed + 50, n=1 + seed % 5)
    effort = "normal" if seed < 3 else "none"
    program = generate(model, inputs=("wrench", "gravity"), effort=effort)
    rng = np.random.default_rng(seed)
    wrench, gravity = rng.normal(size=6) * 10.0, rng.normal(size=3) * 5.0
    for q, qd, qdd in plain_recursion.states(model, seed):
        in_frame_0 = model.rebased().base[:3, :3].T @ gravity
        expected = plain_recursion.inverse_dynamics(model.rebased(), q, qd, qdd, wrench, in_frame_0)
        state = {"q": q, "qd": qd, "qdd": qdd, "wrench": wrench, "gravity": gravity}
        computed = evaluate(program, state)["tau"]
        np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_angles_that_are_not_made_round_give_exact_efforts():
    """A tilt of 1e-11 is none of rounding then, and no point mass is so large that it cancels digits."""
    quarter = 1.57079632679
    links = "".join(
        f'<link name="l{i}"><inertial><origin xyz="0.1 0.02 {0.05 * i}"/><mass value="{2.0 - 0.3 * i}"/>'
        '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>'
        f'<joint name="j{i}" type="revolute"><parent link="{f"l{i - 1}" if i else "base"}"/>'
        f'<child link="l{i}"/><origin xyz="0 {0.2 * (i % 2)} 0" rpy="{quarter * (-1) ** i} 0 0"/>'
        '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>'
        for i in range(5)
    )
    text = f'<robot name="r"><link name="base"/>{links}</robot>'
    model = SerialModel.from_chain(rd.load_urdf(text), tolerance=1e-14)
    oracle = pinocchio.buildModelFromXML(text)
    for seed in range(3):
        q, qd, qdd = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, 5))
        expected = pinocchio.rnea(oracle, oracle.createData(), q, qd, qdd)
        computed = evaluate(generate(model), {"q": q, "qd": qd, "qdd": qdd})["tau"]
        np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("seed", share_of(range(12)))
def test_random_chains_against_pinocchio(seed):
    chain = random_robots.chain(seed)
    gravity = np.random.default_rng(seed).normal(size=3) * 6.0
    program = generate(SerialModel.from_chain(chain, gravity), inputs=("wrench",), effort="none")
    rng = np.random.default_rng(seed + 1)
    q, qd, qdd = rng.uniform(-2.0, 2.0, (3, chain.dof))
    wrench = rng.normal(size=6)
    expected = random_robots.pinocchio_inverse_dynamics(chain, gravity, q, qd, qdd, wrench)
    computed = evaluate(program, {"q": q, "qd": qd, "qdd": qdd, "wrench": wrench})["tau"]
    np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def installed_robots():
    """Real robots that happen to be installed: descriptions that come with Pinocchio's example data."""
    share = Path(pinocchio.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    wanted = {
        "panda_description/urdf/panda.urdf": "panda_link8",
        "ur_description/urdf/ur5_robot.urdf": "tool0",
        "kinova_description/robots/kinova.urdf": "j2s6s200_end_effector",
    }
    return [(share / path, tip) for path, tip in wanted.items() if (share / path).is_file()]


@pytest.mark.parametrize(
    ("path", "tip"),
    [*((URDF / f"{name}.urdf", None) for name in ("puma560", "arm7", "scara")), *installed_robots()],
    ids=lambda value: getattr(value, "stem", ""),
)
def test_real_robots(path, tip):
    chain = rd.load_urdf(path, tip=tip)
    model = SerialModel.from_chain(chain)
    program = generate(model, inputs=("wrench",))
    rng = np.random.default_rng(1)
    for q, qd, qdd in plain_recursion.states(model, 5):
        wrench = rng.normal(size=6)
        computed = evaluate(program, {"q": q, "qd": qd, "qdd": qdd, "wrench": wrench})["tau"]
        expected = plain_recursion.inverse_dynamics(model, q, qd, qdd, wrench)
        np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        if any(joint.multiplier != 1.0 or joint.offset != 0.0 for joint in chain.joints):
            continue
        expected = random_robots.pinocchio_inverse_dynamics(chain, (0.0, 0.0, -9.81), q, qd, qdd, wrench)
        np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("angle", [6e-10, 3e-8, np.pi / 2 - 4e-9, np.pi - 1e-9])
def test_axes_that_are_almost_parallel_or_perpendicular(angle):
    # Their cosine or sine is 1 in floating point, and yet the other one is not 0.
    model = plain_recursion.random_arm(11, n=4, prismatic=0.0)
    links = tuple(replace(link, alpha=angle) for link in model.links)
    model = replace(model, links=links)
    assert_equal_torques(generate(model, effort="none"), model)


@pytest.mark.parametrize("seed", share_of(range(20)))
def test_axes_that_point_against_the_one_before_are_turned_round(seed):
    model = plain_recursion.random_arm(seed, n=6)
    rng = np.random.default_rng(seed)
    links = tuple(
        replace(link, alpha=rng.choice([0.0, np.pi, np.pi / 2, np.pi - 1e-5]), y_shift=rng.choice([0.0, 0.2]))
        for link in model.links
    )
    model = replace(model, links=links)
    turned = axes_made_parallel(model)
    assert all(link.cos_alpha > -0.5 for link in turned.links[1:])
    for q, qd, qdd in plain_recursion.states(model, seed):
        wrench = rng.normal(size=6)
        np.testing.assert_allclose(turned.forward_kinematics(q), model.forward_kinematics(q), atol=1e-13)
        expected = plain_recursion.inverse_dynamics(model, q, qd, qdd, wrench)
        computed = plain_recursion.inverse_dynamics(turned, q, qd, qdd, wrench)
        np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_an_antiparallel_axis_costs_what_a_parallel_one_costs():
    model = plain_recursion.random_arm(4, n=5, prismatic=0.0)

    def operations(alpha):
        links = tuple(replace(link, alpha=angle) for link, angle in zip(model.links, alpha, strict=True))
        return count_operations(generate(replace(model, links=links), effort="none")).total

    half = np.pi / 2
    assert operations([0.0, half, np.pi, np.pi, half]) == operations([0.0, half, 0.0, 0.0, half])


def one_kind(kind, n, axes=None, **settings):
    return random_robots.chain(3, n=n, kinds=[kind] * n, axes=axes, **settings)


@pytest.mark.parametrize(
    "chain",
    [
        one_kind(JointKind.REVOLUTE, 1),
        one_kind(JointKind.PRISMATIC, 1),
        one_kind(JointKind.PRISMATIC, 4),
        one_kind(JointKind.REVOLUTE, 5, axes=[np.array([0.0, 0.0, 1.0])] * 5, special=True),
        one_kind(JointKind.REVOLUTE, 4, massless=(0, 2)),
    ],
    ids=["one revolute", "one prismatic", "all prismatic", "parallel", "massless links"],
)
def test_degenerate_arms(chain):
    for gravity, effort in (((0.0, 0.0, -9.81), "normal"), ((0.0, 0.0, 9.81), "none"), (np.zeros(3), "none")):
        model = SerialModel.from_chain(chain, gravity)
        assert_equal_torques(generate(model, effort=effort), model)


def test_all_axes_vertical_and_parallel():
    model = plain_recursion.random_arm(7, n=4, prismatic=0.0)
    links = tuple(replace(link, alpha=0.0) for link in model.links)
    model = replace(model, links=links, gravity=np.array([0.0, 0.0, -9.81]))
    program = generate(model)
    assert_equal_torques(program, model)
    # No axis feels gravity, so it must not appear.
    assert not any(abs(abs(constant) - 9.81) < 1e-9 for constant in program.constants)


def test_robot_without_mass_needs_no_torque():
    model = plain_recursion.random_arm(2, n=3)
    massless = [
        replace(link, mass=0.0, first_moment=np.zeros(3), inertia=np.zeros((3, 3))) for link in model.links
    ]
    program = generate(replace(model, links=tuple(massless)))
    assert count_operations(program).total == 0
    result = evaluate(program, {"q": np.ones(3), "qd": np.ones(3), "qdd": np.ones(3)})
    np.testing.assert_array_equal(result["tau"], np.zeros(3))


@pytest.mark.parametrize("seed", range(4))
def test_joints_that_share_a_coordinate(seed):
    model = plain_recursion.random_arm(seed, n=5)
    coordinates, multipliers = (0, 1, 1, 0, 2), (1.0, 1.0, -1.0, 0.5, 1.0)
    links = tuple(
        replace(link, coordinate=c, multiplier=m)
        for link, c, m in zip(model.links, coordinates, multipliers, strict=True)
    )
    model = replace(model, links=links, coordinate_names=("a", "b", "c"))
    assert_equal_torques(generate(model, effort="none"), model, seed)


def test_forty_joints():
    chain = random_robots.chain(1, n=40, special=True)
    model = SerialModel.from_chain(chain)
    program = generate(model)
    assert_equal_torques(program, model, tolerance=1e-11)
    assert count_operations(program).total < 40 * 180


def test_unknown_requests_are_refused():
    model = plain_recursion.random_arm(0, n=2)
    with pytest.raises(ParameterError, match="'inverse_dynamics', 'gravity'"):
        generate(model, "inverse_kinematics")
    with pytest.raises(ParameterError, match=r"normal.*high"):
        generate(model, effort="extreme")
    with pytest.raises(ParameterError, match="takes no wrench"):
        generate(model, "gravity", inputs=("wrench",))
    with pytest.raises(ParameterError, match="does not depend on gravity"):
        generate(model, "mass_matrix", inputs=("gravity",))
