"""Each parameter of friction acts alike in all that reads the law: efforts against the law in closed form.

A parameter that is added to the law needs a case in `friction_cases`; a place that forgets one fails.
"""

import ctypes
import subprocess
from dataclasses import fields
from importlib.resources import files

import numpy as np
import pytest
from friction_cases import CASES, SPEEDS, effort_of
from patience import PATIENCE

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.trajectory import Trajectory
from robot_dynamics.control.protocol import Planned
from robot_dynamics.control.retiming.limits import PathLimits
from robot_dynamics.control.retiming.retime import retime
from robot_dynamics.control.spline import minimum_jerk_spline
from robot_dynamics.dynamics.friction import SCALES, DriveFriction, FrictionParameters
from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.friction import DRIVE_COLUMNS, DriveSignals, FrictionLaw
from robot_dynamics.native.compiler import find_compiler

INERTIA = 0.5
WHEEL = """<robot name="wheel"><link name="base"/><link name="disc"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="0.5"/></inertial></link>
<joint name="turn" type="continuous">
<parent link="base"/><child link="disc"/><axis xyz="0 0 1"/><limit effort="50" velocity="20"/>
</joint></robot>"""

EACH = pytest.mark.parametrize("name", CASES)


def drives(name):
    return ActuatorParameters(**{key: (value,) for key, value in CASES[name][0].items()})


def law_of(name):
    return drives(name).of(chain()).friction


def chain():
    return load_urdf(WHEEL)


def arm_with(name):
    links = compile_dynamics(chain(), friction=False, gravity=(0.0, 0.0, 0.0))
    return ActuatedArm(links, chain(), drives(name))


def test_each_parameter_of_the_law_has_a_case():
    assert list(CASES) == [field.name for field in fields(FrictionParameters)]
    assert list(CASES) == [field.name for field in fields(DriveFriction)]
    for name, (given, *_) in CASES.items():
        assert name in given


@EACH
def test_numbers(name):
    effort = effort_of(name)
    for v in SPEEDS:
        for acceleration in (-1.5, 3.0):
            load = INERTIA * acceleration
            found = arm_with(name).inverse_dynamics(np.zeros(1), np.array([v]), np.array([acceleration]))
            assert found[0] == pytest.approx(load + effort(v, load), abs=1e-12)


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    """The written C with functions to call."""
    folder = tmp_path_factory.mktemp("terms")
    place = files("robot_dynamics.control.core")
    text = """#include "friction.h"
double effort(const double *p, double v, double load) { return rd_friction(p, v, v, load); }
double viscous(const double *p, double v, double *slope) { return rd_viscous(p, v, slope); }
double size(const double *p, double v, double along, double *slope)
{ return rd_dry_size(p, v, along, slope); }
double least(const double *p, double along) { return rd_least_dry(p, along); }
double most(const double *p, double along) { return rd_greatest_dry(p, along); }
int zero(const double *p) { return rd_friction_is_zero(p); }
int linear(const double *p) { return rd_friction_is_linear(p); }
"""
    (folder / "terms.c").write_text(text, encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", f"-I{place}"]
    command = [*find_compiler().command, *flags, folder / "terms.c", "-o", folder / "terms.so", "-lm"]
    subprocess.run(command, check=True, timeout=PATIENCE)
    library = ctypes.CDLL(str(folder / "terms.so"))
    slope = ctypes.POINTER(ctypes.c_double)
    for function, rest in (("effort", 2), ("least", 1), ("most", 1), ("viscous", 1), ("size", 2)):
        given = [ctypes.c_void_p, *[ctypes.c_double] * rest]
        getattr(library, function).argtypes = [*given, slope] if function in ("viscous", "size") else given
        getattr(library, function).restype = ctypes.c_double
    library.zero.argtypes = library.linear.argtypes = [ctypes.c_void_p]
    return library


@EACH
def test_written_c_its_parts_and_their_slopes(header, name):
    effort = effort_of(name)
    row = np.ascontiguousarray(law_of(name).matrix[0])
    at = row.ctypes.data
    assert not header.zero(at)

    def part(v):
        slopes = ctypes.c_double(), ctypes.c_double()
        smooth = header.viscous(at, v, slopes[0])
        dry = header.size(at, v, np.sign(v), slopes[1])
        return smooth + np.sign(v) * dry, slopes[0].value + np.sign(v) * slopes[1].value

    for v in SPEEDS:
        for load in (-4.0, 0.0, 2.5):
            assert header.effort(at, v, load) == pytest.approx(effort(v, load), abs=1e-12)
        assert header.viscous(at, v, ctypes.c_double()) == pytest.approx(CASES[name][1](v), abs=1e-12)
        found, slope = part(v)
        assert found == pytest.approx(effort(v, 0.0), abs=1e-12)
        step = 1e-6
        assert slope == pytest.approx((effort(v + step, 0.0) - effort(v - step, 0.0)) / (2 * step), abs=1e-7)
        dry = np.sign(v) * (found - header.viscous(at, v, ctypes.c_double()))
        assert header.least(at, np.sign(v)) - 1e-12 <= dry <= header.most(at, np.sign(v)) + 1e-12
    if header.linear(at):
        second = effort(np.array([0.5, 1.0, 1.5]), 0.0) @ [1.0, -2.0, 1.0]
        assert second == pytest.approx(0.0, abs=1e-12) and effort(1.0, 7.0) == effort(1.0, 0.0)


@EACH
def test_zero_and_plain(name):
    law, effort = law_of(name), effort_of(name)
    assert not law.is_zero
    plain = effort(SPEEDS, 3.0) - law.damping * SPEEDS - law.friction * np.sign(SPEEDS)
    assert law.is_plain == (not plain.any() and not law.presliding_friction.any())


@EACH
def test_ranges_hold_what_is_reached(name):
    law, effort = law_of(name), effort_of(name)
    for slowest, fastest in ((0.05, 0.4), (-1.2, -0.02), (-0.3, 0.8)):
        low, high = law.dry_range(*np.array([[slowest], [fastest], [1.0], [4.0]]))
        low, high = low + law.curved_viscous(slowest), high + law.curved_viscous(fastest)
        for v in np.linspace(slowest, fastest, 20):
            for load in (-4.0, 1.0, 2.0):
                rest = effort(v, load) - law.damping * v
                assert (low - 1e-12 <= rest).all() and (rest <= high + 1e-12).all()


@EACH
def test_regressor_columns_or_a_refusal(name):
    """Identification has columns for the parameter, or says that it does not know it."""
    known, effort = drives(name).of(chain()), effort_of(name)
    if name not in (*DRIVE_COLUMNS, *SCALES):
        with pytest.raises(ParameterError, match=f"^parameter '{name}' is not 0"):
            FrictionLaw.of(known)
        return
    law = FrictionLaw.of(known)
    qd = SPEEDS[:, None]
    qdd = np.linspace(-1.0, 1.0, len(qd))[:, None]
    load = INERTIA * qdd
    travels = law.presliding_travel[None]
    slid = np.sign(qd)[None]
    signals = DriveSignals.of(qd, qdd, law.stribeck_velocity[None], load, travels=travels, slid=slid)
    values = [getattr(known.friction, key) for key in DRIVE_COLUMNS[1:-1]]
    parameters = law.described(np.concatenate([known.rotor_inertia, *values, np.zeros(1)]))
    found = signals.columns(law) @ parameters
    np.testing.assert_allclose(found, effort(qd, load), atol=1e-12)


def test_identification_refuses_friction_that_it_has_no_columns_for(monkeypatch):
    columns = tuple(name for name in DRIVE_COLUMNS if name != "load_friction")
    monkeypatch.setattr("robot_dynamics.identification.friction.DRIVE_COLUMNS", columns)
    with pytest.raises(ParameterError, match="parameter 'load_friction' is not 0"):
        FrictionLaw.of(drives("load_friction").of(chain()))
    FrictionLaw.of(drives("friction").of(chain()))


@EACH
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_controller(name, sign):
    """The feedforward of a motion with zero error has the friction of its velocity."""
    effort, model = effort_of(name), arm_with(name)
    control = ArmController(chain(), model, ArmParameters(mode="feedforward"))
    control.update(0.0, np.zeros(1), np.zeros(1))
    start = control.plan_start(None)
    times = start.start + np.array([0.0, 2.0])
    path = minimum_jerk_spline(times, np.array([[0.0], [3.0 * sign]]), np.zeros((2, 1)), np.zeros((2, 1)))
    control.accept(Planned(Trajectory(path), start.epoch))
    now, seen = start.now, 0
    while now < times[1]:
        now += 0.002
        q, qd, _ = path.sample(min(max(now, times[0]), times[1]))
        command, reference = control.update(now, q, qd), control.reference(now)
        v, load = reference.velocity[0], INERTIA * reference.acceleration[0]
        if abs(v) > 0.05 and abs(reference.position[0]) > 1.5:
            seen += 1
            assert command.unlimited[0] == pytest.approx(load + effort(v, load), abs=1e-6)
    assert seen > 200


@EACH
@pytest.mark.parametrize("rate", [np.inf, 40.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_retiming_keeps_the_limits_and_uses_them(name, rate, sign):
    """Efforts in closed form reach the limit, not more; without dry friction they change slowly enough."""
    effort, smooth, most = effort_of(name), CASES[name][1], 4.0
    limits = PathLimits(velocity=[np.inf], effort=[most], effort_rate=[rate])
    made = retime(arm_with(name), [[0.0], [4.0 * sign]], limits, intervals=400)
    times = np.linspace(made.spline.times[0], made.spline.times[-1], 20_001)[1:-1]
    _, qd, qdd = (np.array(part)[:, 0] for part in zip(*map(made.spline.sample, times), strict=True))
    load = INERTIA * qdd
    size = np.abs(load + effort(qd, load))[np.abs(qd) > 0.02]
    assert 0.99 * most < size.max() < most * (1.0 + 1e-6)
    if rate == np.inf:  # almost everywhere at the limit
        assert np.median(size) > 0.98 * most
    change = np.abs(np.diff(load + smooth(qd))) / np.diff(times)
    assert change.max() < rate * (1.0 + 1e-3)


@EACH
def test_simulator(name):
    pytest.importorskip("mujoco", reason="MuJoCo simulates the arms")
    from robot_dynamics.simulation.arm import ArmPlant
    from robot_dynamics.simulation.parameters import PlantParameters

    given, effort = CASES[name][0], effort_of(name)
    listed = {key: (value,) for key, value in given.items()}
    plant = ArmPlant(WHEEL, parameters=PlantParameters(gravity=(0.0, 0.0, 0.0), **listed))
    for v in SPEEDS:
        plant.reset([0.0], [v])
        load = INERTIA * plant.acceleration([3.0])[0]
        # What builds up after a reversal is not there yet.
        rubs = effort(v, load) - given.get("presliding_friction", 0.0) * np.sign(v)
        assert 3.0 - load == pytest.approx(rubs, abs=1e-5)
        plant.advance(0.01, [3.0])
        moved, step = v, 1e-5
        if "presliding_friction" in given:
            continue
        for _ in range(1000):
            rubbed = effort(moved, load)
            for _ in range(5):
                rubbed = effort(moved, 3.0 - rubbed)
            moved += step * (3.0 - rubbed) / INERTIA
        if v * moved > 0.0:
            assert plant.velocity[0] == pytest.approx(moved, abs=2e-4)


@EACH
def test_the_simulated_path_has_the_drives_of_its_model(name, monkeypatch):
    pytest.importorskip("mujoco", reason="MuJoCo simulates the arms")
    from robot_dynamics.simulation import path_run

    class Seen(Exception):
        pass

    def plant(chain, parameters):
        raise Seen(parameters)

    monkeypatch.setattr(path_run, "ArmPlant", plant)
    spline = minimum_jerk_spline(np.array([0.0, 1.0]), np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((2, 1)))
    with pytest.raises(Seen) as found:
        path_run.run_path(chain(), arm_with(name), spline)
    law = found.value.args[0].friction_of([chain().driving_joint(0)])
    np.testing.assert_array_equal(law.matrix, law_of(name).matrix)
