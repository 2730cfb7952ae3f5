"""The sizing report: its numbers against closed forms and dense sampling, its page as a whole."""

import base64
import csv
import io
import re

import numpy as np
import pytest
import yaml

from robot_dynamics import stewart
from robot_dynamics.cli.main import main
from robot_dynamics.report.sizing import pictures
from robot_dynamics.report.sizing.axes import NAMES, displaced
from robot_dynamics.report.sizing.envelopes import envelopes
from robot_dynamics.report.sizing.loads import standard_loads
from robot_dynamics.report.sizing.workspace import excursions, maps
from robot_dynamics.resources import resource
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
    rest = np.zeros(3)
    for envelope in envelopes(machine, excursions(machine)):
        for k in (5, 30, 50):
            offset = np.zeros(6)
            offset[envelope.axis] = envelope.displacement[k]
            pose = displaced(machine, offset)
            direction = np.eye(3)[envelope.axis % 3]
            quaternion = quaternion_from_rotation(pose.rotation)

            def violates(
                speed, acceleration, pose=pose, quaternion=quaternion, axis=envelope.axis, d=direction
            ):
                moving = [speed * d, rest] if axis < 3 else [rest, speed * d]
                pushing = [acceleration * d, rest] if axis < 3 else [rest, acceleration * d]
                found = platform.inverse_dynamics(
                    pose.position, quaternion, *moving, *pushing, on_violation="report"
                ).violations
                return {violation.quantity for violation in found}

            for speed in (envelope.speed[k], -envelope.speed[k]):
                assert "speed" not in violates((1.0 - 1e-9) * speed, 0.0)
                assert "speed" in violates((1.0 + 1e-9) * speed, 0.0)
            for acceleration in (envelope.forward[k], -envelope.backward[k]):
                assert violates(0.0, (1.0 - 1e-6) * acceleration) == set()
                assert violates(0.0, (1.0 + 1e-6) * acceleration) == {"force"}


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
    losses = friction.prismatic * loads.speed**2
    losses += friction.coulomb * np.abs(loads.speed) * 0.5 * slow * (3.0 - slow**2)
    for number, (row, _) in enumerate(loads.parts):
        rows = slice(row, row + 240)
        given = integral(loads.power[rows].sum(axis=1), loads.time[rows])
        taken = integral(losses[rows].sum(axis=1), loads.time[rows])
        size = integral(np.abs(loads.power[rows]).sum(axis=1), loads.time[rows])
        assert given == pytest.approx(taken, abs=1e-4 * size), NAMES[number]
    peaks = loads.actuators()
    assert (peaks["rms_force"] <= np.maximum(peaks["greatest_force"], -peaks["least_force"])).all()


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


def test_the_page_stands_alone_and_holds_its_pictures_and_tables(page):
    folder, _, _ = page
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href)="(?!data:)', html) and "<script" not in html
    images = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    assert len(images) == 6 * 5 + 5
    assert all(base64.b64decode(image).startswith(b"\x89PNG") for image in images)
    tables = dict(re.findall(r'download="([^"]+)" href="data:text/csv;base64,([^"]+)"', html))
    assert sorted(tables) == sorted(path.name for path in folder.glob("*.csv"))
    for name, data in tables.items():
        assert base64.b64decode(data) == (folder / name).read_bytes()
    assert "lift &lt;b&gt;.csv" in html
    assert "above its greatest" in html and 'class="over"' in html


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
    rms = np.sqrt(np.mean(result.actuator_forces**2, axis=0))
    np.testing.assert_allclose([float(row["rms_force"]) for row in rows], rms, rtol=2e-2)


def test_a_machine_without_limits_has_a_report_too(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.setattr(pictures, "_png", lambda figure: b"")
    mapping = yaml.safe_load(machine_text(DESKTOP))
    mapping["leg_defaults"]["limits"] = "unlimited"
    file = tmp_path / "free.yaml"
    file.write_text(yaml.safe_dump(mapping), encoding="utf-8")
    assert main(["stewart", "report", str(file), "-o", str(tmp_path / "out")]) == 0
    assert "names no limit of force" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
