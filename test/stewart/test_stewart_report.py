"""The sizing report: its numbers against closed forms and dense sampling, its page as a whole."""

import base64
import csv
import io
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
import yaml

from robot_dynamics import stewart
from robot_dynamics.cli.main import main
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.platform_model import compensated, loaded
from robot_dynamics.control.stewart.recorded import RecordedMotion
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.report.sizing import box, pictures
from robot_dynamics.report.sizing.axes import NAMES, displaced
from robot_dynamics.report.sizing.box import largest_box
from robot_dynamics.report.sizing.envelopes import envelopes
from robot_dynamics.report.sizing.loads import Loads, standard_loads
from robot_dynamics.report.sizing.losses import Landing, fall, holding, losses
from robot_dynamics.report.sizing.ratings import ratings, supply
from robot_dynamics.report.sizing.verdict import LoadCase, verdict
from robot_dynamics.report.sizing.workspace import excursions, maps
from robot_dynamics.resources import resource
from robot_dynamics.stewart.motion import motion_of
from robot_dynamics.stewart.motion_table import MotionTable, parse_motion
from robot_dynamics.stewart.new_machine import Measures, machine_text
from robot_dynamics.stewart.orientation import quaternion_from_rotation

BASE = Measures("base", 1.6, 1.2, 0.4, payload=1000.0, force=15000.0)
DESKTOP = Measures("desktop", 0.15, 0.1, 0.05)


@pytest.fixture(scope="module", params=[BASE, DESKTOP], ids=lambda m: m.name)
def platform(request):
    return stewart.load(machine_text(request.param))


def keeps(platform, offsets):
    poses = displaced(platform.machine, np.asarray(offsets, dtype=float))
    quaternions = quaternion_from_rotation(poses.rotation)
    return platform.check_pose(poses.position, quaternions, on_violation="report").kept


def test_excursions_end_where_a_limit_is_met(platform):
    for found in excursions(platform.machine):
        for end, cause in zip((found.least, found.greatest), found.causes, strict=True):
            shares = np.zeros((202, 6))
            shares[:200, found.axis] = np.linspace(0.0, 1.0 - 1e-7, 200) * end
            shares[200:, found.axis] = (1.0 - 1e-7) * end, (1.0 + 1e-6) * end
            kept = keeps(platform, shares)
            assert kept[:201].all() and not kept[201]
            assert cause.startswith("stroke") or cause in ("base joint", "platform joint")


def test_the_excursion_along_z_is_that_of_the_closed_form():
    """A symmetric machine: all legs alike, L² = d² + h² with their common horizontal part d."""
    platform = stewart.load(machine_text(BASE))
    machine, limits = platform.machine, platform.machine.legs[0].limits
    across = np.linalg.norm((machine.platform_points - machine.base_points)[0])
    heights = [np.sqrt(length**2 - across**2) for length in (limits.shortest, limits.longest)]
    found = excursions(machine)[2]
    home = machine.home_position[2]
    assert found.least + home == pytest.approx(heights[0], abs=1e-6)
    assert found.greatest + home == pytest.approx(heights[1], abs=1e-6)


@pytest.mark.long
def test_maps_tell_of_every_point_what_check_pose_does(platform):
    for m in maps(platform.machine, excursions(platform.machine)):
        offsets = np.zeros((len(m.up), len(m.across), 6))
        offsets[..., m.plane[0]], offsets[..., m.plane[1]] = m.across, m.up[:, None]
        np.testing.assert_array_equal(m.kept, keeps(platform, offsets))
        np.testing.assert_array_equal(m.kept, m.cause == 0)
        assert not m.kept[[0, -1]].any() and not m.kept[:, [0, -1]].any()
        assert 0.1 < m.kept.mean() < 0.9


def test_vertical_speed_acceleration_and_power_are_those_of_the_closed_form():
    """Legs without mass and friction: six equal forces, F = m (g + a) / (6 sin e); L' = z' sin e."""
    mapping = yaml.safe_load(machine_text(BASE))
    mapping["leg_defaults"]["lower"] = mapping["leg_defaults"]["upper"] = {
        "mass": 0.0,
        "center_of_mass": [0.0, 0.0, 0.0],
        "inertia": np.zeros((3, 3)).tolist(),
    }
    mapping["leg_defaults"]["friction"] = {"universal": 0.0, "prismatic": 0.0, "spherical": 0.0}
    machine = stewart.load(mapping).machine
    envelope = envelopes(machine, excursions(machine))[2]
    height = machine.home_position[2] + envelope.displacement
    across = np.linalg.norm((machine.platform_points - machine.base_points)[0])
    sine = height / np.hypot(height, across)
    mass = machine.platform.mass
    np.testing.assert_allclose(envelope.speed, 0.8 / sine, rtol=1e-9)
    np.testing.assert_allclose(envelope.forward, 6.0 * 15000.0 * sine / mass - 9.81, rtol=1e-8)
    np.testing.assert_allclose(envelope.backward, 6.0 * 15000.0 * sine / mass + 9.81, rtol=1e-8)
    np.testing.assert_allclose(envelope.total_power, mass * 9.81 * 0.8 / sine, rtol=1e-8)
    np.testing.assert_allclose(6.0 * envelope.leg_power, envelope.total_power, rtol=1e-8)


def test_envelopes_are_the_very_edge_of_the_limits(platform):
    """Oracle: the library's own check of a motion, just within and just beyond."""
    machine = platform.machine
    rest, coulomb = np.zeros(3), machine.legs[0].friction.coulomb
    for envelope in envelopes(machine, excursions(machine)):
        for k in (5, 30, 50):
            offset = np.zeros(6)
            offset[envelope.axis] = envelope.displacement[k]
            pose = displaced(machine, offset)
            direction = np.eye(3)[envelope.axis % 3]
            quaternion = quaternion_from_rotation(pose.rotation)

            def violates(v, a, dry=0.0, pose=pose, quaternion=quaternion, axis=envelope.axis, d=direction):
                moving = [v * d, rest] if axis < 3 else [rest, v * d]
                pushing = [a * d, rest] if axis < 3 else [rest, a * d]
                sign = [np.sign(a) * d, rest] if axis < 3 else [rest, np.sign(a) * d]
                result = platform.inverse_dynamics(
                    pose.position, quaternion, *moving, *pushing, on_violation="report"
                )
                # Legs that begin to move have their dry friction against them, which rest does not show.
                rates = result.jacobian @ np.concatenate(moving if dry == 0.0 else sign)
                forces = result.actuator_forces + dry * coulomb * np.sign(np.round(rates, 9))
                beyond = {"force"} if np.abs(forces).max() > machine.legs[0].limits.force else set()
                return {violation.quantity for violation in result.violations} | beyond

            for speed in (envelope.speed[k], -envelope.speed[k]):
                assert "speed" not in violates((1.0 - 1e-9) * speed, 0.0)
                assert "speed" in violates((1.0 + 1e-9) * speed, 0.0)
            for acceleration in (envelope.forward[k], -envelope.backward[k]):
                assert violates(0.0, (1.0 - 1e-6) * acceleration, dry=1.0) == set()
                assert violates(0.0, (1.0 + 1e-6) * acceleration, dry=1.0) == {"force"}


def integral(values, times):
    return float((0.5 * (values[1:] + values[:-1]) * np.diff(times)).sum())


def test_the_standard_motion_keeps_the_limits_and_its_power_is_the_machines(platform):
    machine = platform.machine
    reached = excursions(machine)
    loads = standard_loads(platform, reached, envelopes(machine, reached))
    assert loads.messages == ()
    assert [name for _, name in loads.parts] == list(NAMES)
    # Over whole periods the actuators give what friction takes.
    friction = machine.legs[0].friction
    slow = np.clip(np.abs(loads.speed) / 0.005, 0.0, 1.0)
    heat = friction.prismatic * loads.speed**2
    heat += friction.coulomb * np.abs(loads.speed) * 0.5 * slow * (3.0 - slow**2)
    for number, (row, _) in enumerate(loads.parts):
        rows = slice(row, row + 240)
        given = integral(loads.power[rows].sum(axis=1), loads.time[rows])
        taken = integral(heat[rows].sum(axis=1), loads.time[rows])
        size = integral(np.abs(loads.power[rows]).sum(axis=1), loads.time[rows])
        assert given == pytest.approx(taken, abs=1e-4 * size), NAMES[number]
    # Poses between the swings are free: joined, they are a motion that the platform can make.
    joined = RecordedMotion(
        MotionTable(loads.time, loads.motion.position, quaternion_from_rotation(loads.motion.rotation))
    )
    times = np.linspace(0.0, loads.time[-1], 20_000)
    assert platform.inverse_dynamics_of(joined.at(times), on_violation="report").violations == ()
    peaks = loads.actuators()
    assert (peaks["rms_force"] <= np.maximum(peaks["greatest_force"], -peaks["least_force"])).all()


# Constant loads of the closed forms below do not depend on poses.
STILL = motion_of([0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0])
RATED = replace(
    BASE, continuous_force=6000.0, drive=(0.01, 4e-4, 1.2e-3, 2.0), speed_force=((0.0, 15e3), (0.8, 3e3))
)


def test_the_verdict_is_that_of_the_worst_load_and_rating():
    """Constant motions, as in the next test: by the worst of two loads, and the rating it strains most."""
    machine = stewart.load(machine_text(RATED)).machine
    time, zero = np.linspace(0.0, 4.0, 401), np.zeros((401, 6, 3))
    reactions = stewart.Reactions(zero, zero, zero, zero, zero)

    def case(name: str, force: float, speed: float, *messages: str) -> LoadCase:
        values = np.full((401, 6), force)
        loads = Loads("", time, STILL, values, np.full((401, 6), speed), values, reactions, time, messages)
        landing = Landing(np.nan, "", np.zeros(6), 0.0)
        return LoadCase(name, 1.0, loads, ratings(machine, loads), supply(loads), landing, values[0])

    light = case("", 1e3, 0.1)
    for other, good, words in (
        (case("driver", 5e3, 0.1), True, "leg_1 needs 37 % of its force at its speed with the load driver."),
        (case("still", 5e3, 0.0), True, "leg_1 needs 33 % of its force limit with the load still."),
        (case("crate", 7e3, 0.1), False, "leg_1 gets too hot with the load crate: rms force 117 %"),
        (case("fast", 5.9e3, 0.78), False, "leg_1 is too weak at speed with the load fast: 179 %"),
        (case("far", 1e3, 0.1, "no"), False, "The platform cannot make this motion with the load far: no."),
    ):
        found = verdict(machine, [light, other])
        assert found[0] is good and words in found[1], found


def test_ratings_motors_and_supply_are_those_of_the_closed_form():
    """A motion of constant force and speed: what a leg does is known without the model."""
    machine = stewart.load(machine_text(RATED)).machine
    time = np.linspace(0.0, 4.0, 401)
    # Half of the time at 0.4 m/s up with 5 kN, half of it down, four legs; the others stand.
    sign = np.where(time < 2.0, 1.0, -1.0)
    moving = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    speed, force = 0.4 * sign[:, None] * moving, 5e3 * np.ones((401, 6))
    zero = np.zeros((401, 6, 3))
    reactions = stewart.Reactions(zero, zero, zero, zero, zero)
    loads = Loads("", time, STILL, speed + 1.5, speed, force, reactions, time, ())
    rated = ratings(machine, loads)
    np.testing.assert_allclose(rated.peak_use, 1.0 / 3.0)
    np.testing.assert_allclose(rated.continuous_use, 5.0 / 6.0)
    np.testing.assert_allclose(rated.curve_use, np.where(moving > 0.0, 5e3 / 9e3, 1.0 / 3.0))
    np.testing.assert_allclose(rated.motor_speed, 0.4 / 0.01 * 2.0 * 2.0 * np.pi * moving)
    np.testing.assert_allclose(rated.motor_torque, 5e3 * 0.01 / (2.0 * np.pi) / 2.0)
    np.testing.assert_allclose(rated.motor_rms_torque, rated.motor_torque)
    found = supply(loads)
    assert (found.peak, found.regeneration) == (8e3, 8e3)
    assert found.mean == pytest.approx(0.0, abs=20.0)
    assert found.regeneration_mean == pytest.approx(4e3, rel=0.01)
    assert found.returned_energy == pytest.approx(16e3, rel=0.01)


def test_the_fall_is_that_of_energy_and_of_the_library():
    """Without friction the energy at the stop is the weight times the height that was lost."""
    mapping = yaml.safe_load(machine_text(BASE))
    mapping["leg_defaults"]["lower"] = mapping["leg_defaults"]["upper"] = {
        "mass": 0.0,
        "center_of_mass": [0.0, 0.0, 0.0],
        "inertia": np.zeros((3, 3)).tolist(),
    }
    mapping["leg_defaults"]["friction"] = {"universal": 0.0, "prismatic": 0.0, "spherical": 0.0}
    platform = stewart.load(mapping)
    machine, shortest = platform.machine, platform.machine.legs[0].limits.shortest
    lost = fall(platform)
    across = np.linalg.norm((machine.platform_points - machine.base_points)[0])
    height = machine.home_position[2] - np.sqrt(shortest**2 - across**2)
    assert lost.energy == pytest.approx(machine.platform.mass * 9.81 * height, rel=0.02)
    assert lost.time == pytest.approx(np.sqrt(2.0 * height / 9.81), rel=0.01)
    speed = np.sqrt(2.0 * 9.81 * height) * np.sqrt(shortest**2 - across**2) / shortest
    np.testing.assert_allclose(lost.leg_speed, -speed, rtol=0.02)
    np.testing.assert_allclose(
        holding(platform).sum() * machine.home_directions[0][2], machine.platform.mass * 9.81
    )
    rubbing = fall(stewart.load(machine_text(replace(BASE, force=40e3, speed=0.8))))
    assert 0.1 * lost.energy < rubbing.energy < 0.6 * lost.energy


@pytest.fixture(scope="module")
def desktop_losses():
    platform = stewart.load(machine_text(DESKTOP))
    return platform, losses(platform, fall(compensated(platform)))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["power", "joint states, settle, 5% of the mass unknown", "the force of"])
def test_losses_end_as_simulated_rigid_bodies_do(kind, desktop_losses):
    """Oracle: MuJoCo, with the same controller and the forces that it sends."""
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    from robot_dynamics.simulation.parameters import PlantParameters
    from robot_dynamics.simulation.stewart import StewartPlant

    platform, found = desktop_losses
    name, expected = next((name, lost) for name, lost in found.items() if name.startswith(kind))
    truth = compensated(platform)
    if "unknown" in name:
        body = truth.machine.platform
        load = RigidBody(0.05 * body.mass, body.center_of_mass, np.zeros((3, 3)))
        truth = stewart.StewartPlatform(loaded(truth.machine, load))
    plant = StewartPlant(truth, PlantParameters(physics_timestep=0.0005))
    control = StewartController(platform, StewartParameters())
    ends = np.array([[leg.limits.shortest, leg.limits.longest] for leg in platform.machine.legs]).T

    def answered():
        return control.update(plant.time, plant.position, plant.velocity).effort

    while plant.time < (0.5 if "unknown" in name else 0.1) - 1e-9:
        plant.advance(0.01, answered())
    began = plant.time
    if "states" in name:
        plant.advance(0.1, answered())
        control.lost_states(0.1)
    noticed = plant.time
    while np.maximum(ends[0] - plant.position, plant.position - ends[1]).max() < 0.0:
        assert plant.time < began + 2.0
        if round((plant.time - noticed) / 0.0005) % 20 == 0:
            forces = control.safe_command(plant.time - noticed).effort if "states" in name else answered()
            if "force" in name:
                forces[platform.machine.leg_names.index(name.split()[-1])] = 0.0
        speed = np.abs(plant.velocity).max()
        plant.advance(0.0005, np.zeros(6) if name == "power" else forces)
    assert plant.time - began == pytest.approx(expected.time, rel=0.03)
    assert speed == pytest.approx(expected.speed, rel=0.05)
    if "force" in name:  # the protective stop gets faster, which no feedback explains
        assert expected.braked < expected.time


@pytest.mark.long
def test_losses_in_motion_are_worse_than_at_rest(desktop_losses):
    found = desktop_losses[1]
    moving, resting = found["power, in a heave motion"], found["power"]
    assert moving.energy > resting.energy
    assert found["joint states, settle, in a heave motion"].speed < 0.6 * moving.speed


@pytest.mark.long
def test_a_descent_is_gentler_than_forces_that_fade_where_friction_is_as_guessed(desktop_losses):
    settles, fades = (
        desktop_losses[1][f"joint states, {output}, with the guessed friction"]
        for output in ("settle", "gravity_fade")
    )
    assert settles.speed < 0.8 * fades.speed


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    folder = tmp_path_factory.mktemp("report")
    machine = resource("config/stewart_demo.yaml")
    path = stewart.straight_line([0.0, 0.0, 0.55], [0.0] * 3, [0.05, 0.0, 0.74], [0.1, 0.0, 0.0], 0.4)
    times = np.linspace(0.0, 0.4, 81)
    motion = path.at(times)
    rows = np.column_stack([times, motion.position, quaternion_from_rotation(motion.rotation)])
    file = folder / "lift <b>.csv"
    np.savetxt(file, rows, delimiter=",", header="time,x,y,z,qx,qy,qz,qw", comments="")
    assert main(["stewart", "report", str(machine), "-o", str(folder / "out"), "--motion", str(file)]) == 0
    return folder / "out", path, stewart.load(machine)


@pytest.mark.long
def test_the_page_stands_alone_and_holds_its_pictures_and_tables(page):
    folder, _, _ = page
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href)="(?!data:)', html) and "<script" not in html
    images = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    assert len(images) == 2 * 9 + 3 * 6 + 5 + 1
    assert html.index('class="bad"') < html.index("What to do next") < html.index('class="bar"')
    assert "heave and" not in html and "falls from home onto its stops" in html
    assert html.index("Most loaded: leg_") < html.index("Reach and what it allows")
    assert all(base64.b64decode(image).startswith(b"\x89PNG") for image in images)
    tables = dict(re.findall(r'download="([^"]+)" href="data:text/csv;base64,([^"]+)"', html))
    assert sorted(tables) == sorted(path.name for path in folder.glob("*.csv"))
    for name, data in tables.items():
        assert base64.b64decode(data) == (folder / name).read_bytes()
    assert "lift &lt;b&gt;.csv" in html
    assert "above its greatest" in html and 'class="over"' in html


@pytest.mark.long
def test_the_tables_have_the_numbers_of_the_motion(page):
    folder, path, platform = page
    rows = list(csv.DictReader(io.StringIO((folder / "actuators.csv").read_text(encoding="utf-8"))))
    motion = path.at(np.linspace(0.0, 0.4, 2001))
    result = platform.inverse_dynamics_of(motion, on_violation="report")
    assert [row["leg"] for row in rows] == list(platform.machine.leg_names)
    speed = np.abs(result.leg_velocities).max(axis=0)
    np.testing.assert_allclose([float(row["peak_speed"]) for row in rows], speed, rtol=1e-3)
    longest = result.leg_lengths.max(axis=0)
    np.testing.assert_allclose([float(row["longest"]) for row in rows], longest, rtol=1e-6)
    lines = (folder / "motion.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    table = parse_motion(lines, "motion.csv")
    np.testing.assert_allclose(table.position, path.at(table.time).position, atol=1e-6)
    rms = np.sqrt(np.mean(result.actuator_forces**2, axis=0))
    np.testing.assert_allclose([float(row["rms_force"]) for row in rows], rms, rtol=2e-2)


@pytest.mark.long
@pytest.mark.parametrize(
    "proportions", [None, (0.1, 0.1, 0.1, 0.1, 0.1, 0.1), (0.1, 0.0, 0.2, 0.0, 0.3, 0.0)]
)
def test_every_pose_of_the_largest_box_is_within_the_limits(platform, proportions):
    """Oracle: the library's own check and its forces at rest, at random poses inside and on the faces."""
    machine = platform.machine
    size = 1.0 if machine.characteristic_length > 1.0 else 0.1
    given = None if proportions is None else size * np.array(proportions)
    found = largest_box(machine, excursions(machine), given)
    assert 0.9 * found.sampled < found.scale < found.sampled and found.cause
    rng = np.random.default_rng(3)
    inside = rng.uniform(-1.0, 1.0, (4000, 6))
    faces = np.sign(inside) * (np.abs(inside) > 0.3) + inside * (np.abs(inside) <= 0.3)
    offsets = np.vstack([inside, faces]) * found.half
    assert keeps(platform, offsets).all()
    poses, rest = displaced(machine, offsets), np.zeros((8000, 3))
    held = platform.inverse_dynamics(
        poses.position,
        quaternion_from_rotation(poses.rotation),
        rest,
        rest,
        rest,
        rest,
        on_violation="report",
    )
    assert np.abs(held.actuator_forces).max() <= machine.legs[0].limits.force
    corners = (
        1.001 * found.sampled * found.proportions * np.array(list(itertools.product((-1, 0, 1), repeat=6)))
    )
    assert not keeps(platform, corners).all()


def test_the_box_along_z_and_that_of_a_weak_machine_are_known():
    machine = stewart.load(machine_text(BASE)).machine
    reached = excursions(machine)
    heave = largest_box(machine, reached, np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
    assert heave.sampled == pytest.approx(min(-reached[2].least, reached[2].greatest), rel=1e-4)
    assert heave.scale == pytest.approx(0.999 * heave.sampled)
    home = holding(stewart.StewartPlatform(machine)).max()
    weak = stewart.load(machine_text(replace(BASE, force=1.02 * home))).machine
    found = largest_box(weak, reached, np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
    assert found.cause == "holding force" and 0.0 < found.scale < found.sampled < 0.2


@pytest.mark.long
def test_load_cases_are_those_of_a_machine_that_carries_them(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.setattr(pictures, "_png", lambda figure: b"")
    file, out = tmp_path / "base.yaml", tmp_path / "out"
    file.write_text(machine_text(replace(BASE, force=30e3)), encoding="utf-8")
    words = ["stewart", "report", str(file), "-o", str(out)]
    cases = ["--payload", "driver", "150", "0", "0.1", "0.4", "--payload", "crate<b>", "500", "0", "0", "0.2"]
    assert main([*words, *cases, "--box", "0.1", "0.1", "0.1", "0", "5", "0"]) == 0
    html = (out / "index.html").read_text(encoding="utf-8")
    assert "<td>driver</td>" in html and "crate&lt;b&gt;" in html
    machine = stewart.load(file).machine
    reached = excursions(machine)
    body = RigidBody(150.0, np.array([0.0, 0.1, 0.4]), np.zeros((3, 3)))
    carrying = stewart.StewartPlatform(loaded(machine, body))
    expected = standard_loads(carrying, reached, envelopes(machine, reached)).actuators()["rms_force"]
    rows = list(csv.DictReader(io.StringIO((out / "actuators_1.csv").read_text(encoding="utf-8"))))
    np.testing.assert_allclose([float(row["rms_force"]) for row in rows], expected, rtol=1e-6)
    # The weight that the legs hold grows by that of the payload.
    lift = [np.abs(holding(one) @ machine.home_directions[:, 2]) for one in (stewart.load(file), carrying)]
    assert lift[1] - lift[0] == pytest.approx(150.0 * 9.81, rel=1e-6)
    # The verdict is that of the heaviest load.
    heaviest = list(csv.DictReader(io.StringIO((out / "actuators_2.csv").read_text(encoding="utf-8"))))
    needed = [max(abs(float(row["greatest_force"])), abs(float(row["least_force"]))) for row in heaviest]
    leg = int(np.argmax(needed))
    sentence = (
        f"{machine.leg_names[leg]} needs {needed[leg] / 300.0:.0f} % of its force limit with the load crate"
    )
    assert sentence in html
    assert sentence in capsys.readouterr().out
    for wrong in (["a", "x", "0", "0", "0"], ["a", "-1", "0", "0", "0"], ["", "1", "0", "0", "0"]):
        assert main([*words, "--payload", *wrong]) == 1
        assert "--payload" in capsys.readouterr().err


@pytest.mark.long
def test_a_machine_without_limits_has_a_report_too(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.setattr(pictures, "_png", lambda figure: b"")
    monkeypatch.setattr(box, "MOST_PARTS", 1000)
    mapping = yaml.safe_load(machine_text(DESKTOP))
    mapping["leg_defaults"]["limits"] = "unlimited"
    file = tmp_path / "free.yaml"
    file.write_text(yaml.safe_dump(mapping), encoding="utf-8")
    assert main(["stewart", "report", str(file), "-o", str(tmp_path / "out")]) == 0
    assert "names no limit of force" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
