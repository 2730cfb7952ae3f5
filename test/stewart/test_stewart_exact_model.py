"""The exact model against physics: point masses, energy, every body's balance; the published one misses."""

import warnings

import numpy as np
import pytest
from stewart_oracles import FIRST, STEP, let_spin, random_motion, random_oracle, rotation, state

from robot_dynamics import stewart
from robot_dynamics.resources import resource
from robot_dynamics.stewart.orientation import quaternion_from_rotation

SEEDS = range(6)
TIMES = (0.3, 1.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_forces_are_those_of_dalemberts_principle(seed):
    oracle, motion = random_oracle(seed), random_motion(seed)
    platform = stewart.load(oracle.mapping)
    rng = np.random.default_rng(seed)
    for time in TIMES:
        force, torque = 20.0 * rng.normal(size=3), 5.0 * rng.normal(size=3)
        expected = oracle.actuator_forces(motion, time, force, torque)
        result = platform.inverse_dynamics(*state(motion, time), force=force, torque=torque)
        np.testing.assert_allclose(result.actuator_forces, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_power_of_the_actuators_is_the_change_of_energy_plus_losses(seed):
    oracle, motion = random_oracle(seed), random_motion(seed)
    platform = stewart.load(oracle.mapping)
    for time in TIMES:
        change = sum(
            weight * (oracle.energy(motion, time + i * STEP) - oracle.energy(motion, time - i * STEP)) / STEP
            for i, weight in enumerate(FIRST, start=1)
        )
        needed = change + oracle.losses(motion, time)
        _, _, rates = oracle.rates(motion, time)
        moved = state(motion, time)
        exact = platform.inverse_dynamics(*moved)
        scale = np.abs(exact.actuator_forces * rates).max()
        assert exact.actuator_forces @ rates == pytest.approx(needed, abs=1e-8 * scale)
        published = platform.inverse_dynamics(*moved, model="published")
        assert abs(published.actuator_forces @ rates - needed) > 1e-4 * scale


@pytest.mark.parametrize("seed", SEEDS)
def test_reactions_balance_every_body(seed):
    oracle, motion, time = random_oracle(seed), random_motion(seed), 0.7
    platform = stewart.load(oracle.mapping)
    force, torque = np.array([3.0, -7.0, 11.0]), np.array([1.0, 2.0, -3.0])
    moved = state(motion, time)
    result = platform.inverse_dynamics(*moved, force=force, torque=torque)
    reactions, w_platform = result.reactions, moved[3]
    bodies, frames, _ = oracle.positions(motion(time))
    lifts = oracle.accelerations(motion, time)
    w, _, rates = oracle.rates(motion, time)
    tight = {"atol": 1e-8 * np.abs(result.actuator_forces).max()}
    turn = rotation(moved[1])
    held, held_moment = turn @ force, turn @ torque
    for i, leg in enumerate(oracle.mapping["legs"]):
        c, base = leg["friction"], np.array(leg["base_point"])
        s, y = frames[i][:, 0], frames[i][:, 1]
        push = result.actuator_forces[i] * s
        drag = c["prismatic"] * rates[i] * s
        rub = c["spherical"] * (w[i] - w_platform)
        (lower, lower_moment), (upper, upper_moment) = (
            inertial(oracle.clouds[1 + 2 * i + part], bodies[1 + 2 * i + part], lifts[1 + 2 * i + part], base)
            for part in (0, 1)
        )
        across = reactions.prismatic_force[i]
        np.testing.assert_allclose(reactions.universal_force[i] - across - push + drag, lower, **tight)
        np.testing.assert_allclose(reactions.spherical_force[i] + across + push - drag, upper, **tight)
        np.testing.assert_allclose(
            reactions.universal_moment[i] - c["universal"] * w[i] - reactions.prismatic_moment[i],
            lower_moment,
            **tight,
        )
        tip = turn @ np.array(leg["platform_point"]) + moved[0]
        np.testing.assert_allclose(
            reactions.prismatic_moment[i] + np.cross(tip - base, reactions.spherical_force[i]) - rub,
            upper_moment,
            **tight,
        )
        assert across @ s == pytest.approx(0.0, abs=1e-8)
        assert reactions.universal_moment[i] @ y == pytest.approx(0.0, abs=1e-8)
        assert reactions.universal_moment[i] @ np.array(leg["universal_axis"]) == pytest.approx(0.0, abs=1e-8)
        held = held - reactions.spherical_force[i]
        held_moment = held_moment - np.cross(tip - moved[0], reactions.spherical_force[i]) + rub
    total, total_moment = inertial(oracle.platform, bodies[0], lifts[0], moved[0])
    np.testing.assert_allclose(held, total, **tight)
    np.testing.assert_allclose(held_moment, total_moment, **tight)


def inertial(cloud, points, lifts, about):
    forces = cloud.masses[:, None] * lifts
    return forces.sum(axis=0), np.cross(points - about, forces).sum(axis=0)


@pytest.mark.long
@pytest.mark.parametrize(("seed", "backend"), [(0, "c"), (1, "python"), (2, "python")])
def test_generated_program_is_the_exact_model(seed, backend):
    """Another derivation, other parameters: what they share is physics."""
    platform = stewart.load(random_oracle(seed).mapping)
    compiled = platform.compile(backend)
    assert compiled.backend == backend
    compare(platform, compiled, np.random.default_rng(seed))


@pytest.mark.parametrize(("name", "backend"), [("stewart_demo", "c"), ("stewart_dasgupta1998", "python")])
def test_generated_program_of_the_shipped_machines(name, backend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stewart.StewartModelWarning)
        platform = stewart.load(resource(f"config/{name}.yaml"))
    compare(platform, platform.compile(backend), np.random.default_rng(5))


def compare(platform, compiled, rng):
    count = 9
    machine = platform.machine
    positions = machine.home_position + 0.03 * rng.normal(size=(count, 3))
    quaternions = quaternion_from_rotation(
        machine.home_rotation @ np.array([rotation(a) for a in 0.1 * rng.normal(size=(count, 3))])
    )
    others = [rng.normal(size=(count, 3)) for _ in range(6)]
    expected = platform.inverse_dynamics(
        positions, quaternions, *others, on_violation="report"
    ).actuator_forces
    motions = stewart.pack(positions, quaternions, *others)
    tight = {"rtol": 0.0, "atol": 1e-11 * np.abs(expected).max()}
    np.testing.assert_allclose(compiled.actuator_forces(motions), expected, **tight)
    np.testing.assert_allclose(compiled.actuator_forces(motions[3]), expected[3], **tight)
    out = np.empty((count, 6))
    assert compiled.actuator_forces(motions, out=out) is out
    np.testing.assert_allclose(out, expected, **tight)


def spinning_mapping(seed):
    """A random machine whose legs all have spherical joints at both ends."""
    mapping = random_oracle(seed).mapping
    for leg in mapping["legs"]:
        let_spin(leg)
    return mapping


def test_legs_with_spherical_joints_at_both_ends():
    """Such a leg moves like one whose universal joint does not make it spin, whatever the axis chosen."""
    motion = random_motion(3)
    spinning = stewart.load(spinning_mapping(3))
    compare(spinning, spinning.compile("python"), np.random.default_rng(1))
    moved = state(motion, 0.4)
    result = spinning.inverse_dynamics(*moved)
    # Thin legs cannot tell the difference: without inertia about the leg's axis both joints are the same.
    thin, held = spinning_mapping(3), spinning_mapping(3)
    for leg, original in zip(held["legs"], random_oracle(3).mapping["legs"], strict=True):
        leg["base_joint"], leg["universal_axis"] = "universal", original["universal_axis"]
    for mapping in (thin, held):
        for leg in mapping["legs"]:
            for part in ("lower", "upper"):
                leg[part]["inertia"] = np.diag([0.0, 0.03, 0.03]).tolist()
    forces = [stewart.load(mapping).inverse_dynamics(*moved).actuator_forces for mapping in (thin, held)]
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-10)
    np.testing.assert_allclose(result.actuator_forces, forces[0], rtol=1e-10)
    assert np.abs(result.reactions.universal_moment).max() == 0.0


def test_massless_legs_without_friction_carry_the_static_forces():
    mapping = random_oracle(4).mapping
    for leg in mapping["legs"]:
        leg["friction"] = dict.fromkeys(leg["friction"], 0.0)
        for part in ("lower", "upper"):
            leg[part] = {"mass": 0.0, "center_of_mass": [0.0] * 3, "inertia": np.zeros((3, 3)).tolist()}
    platform, moved = stewart.load(mapping), state(random_motion(4), 0.4)
    for model in ("exact", "published"):
        result = platform.inverse_dynamics(*moved, model=model)
        np.testing.assert_allclose(result.actuator_forces, result.static_forces, rtol=1e-12)
    compare(platform, platform.compile("python"), np.random.default_rng(2))


def test_generated_program_where_everything_is_symmetric():
    """At home, level and at rest, coefficients vanish that a careless elimination would divide by."""
    platform = stewart.load(resource("config/stewart_demo.yaml"))
    home = platform.machine.home_position
    motion = stewart.pack(home, [0.0, 0.0, 0.0, 1.0], *np.zeros((4, 3)))
    expected = platform.inverse_dynamics(home, [0.0, 0.0, 0.0], *np.zeros((4, 3))).actuator_forces
    np.testing.assert_allclose(platform.compile().actuator_forces(motion), expected, rtol=1e-11)


def test_operations_stay_below_what_the_paper_needs_by_far():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stewart.StewartModelWarning)
        program = stewart.load(resource("config/stewart_dasgupta1998.yaml")).compile("python").program
    assert program.count.total == sum(part.total for part in program.parts.values())
    assert program.count.total <= 1836
    # The table of docs/papers/stewart_model.md, with friction.
    parts = {name: part.total for name, part in program.parts.items()}
    assert parts == {"legs": 1429, "platform": 184, "linear system": 223}


@pytest.mark.parametrize("model", ["exact", "published"])
def test_an_empty_batch_is_an_empty_result(model):
    platform = stewart.load(resource("config/stewart_demo.yaml").read_text())
    none, zero = np.zeros((0, 3)), np.zeros(3)
    result = platform.inverse_dynamics(none, [0.0, 0.0, 0.0, 1.0], zero, zero, zero, zero, model=model)
    assert result.actuator_forces.shape == (0, 6) and result.violations == ()
