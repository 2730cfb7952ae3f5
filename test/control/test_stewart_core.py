"""The platform's part of the control core: first poses, the watch, forces of references, sanitizers."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from motion_base import machine
from patience import PATIENCE
from platform_legs import with_limits
from sanitized import output_of

from robot_dynamics import stewart
from robot_dynamics.control.core import library
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.platform_model import loaded
from robot_dynamics.errors import SingularityError, StateError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_vector

C_SOURCES = Path(library.__file__).parent
KINEMATICS = Path(stewart.__file__).parent / "native"
CALM = {"safe_output": "gravity_fade"}


@pytest.fixture(scope="module")
def crooked():
    """A motion base with every measure off, dry friction, and springs."""
    random = np.random.default_rng(1)
    mapping = machine(1.6, 1.2, [1.2, 2.0], 1.3, 1500.0, 15e3, 1.0, 60.0)
    for leg in mapping["legs"]:
        for point in ("base_point", "platform_point"):
            leg[point] = (np.array(leg[point]) + random.uniform(-0.05, 0.05, 3)).tolist()
        leg["friction"] = {"coulomb": random.uniform(20.0, 200.0)}
        leg["spring"] = {"length": 1.5, "force": random.uniform(0.0, 2000.0), "stiffness": 500.0}
    mapping["home"]["orientation"] = [0.02, -0.03, 0.1, float(np.sqrt(1.0 - 0.0113))]
    return stewart.load(mapping)


@pytest.mark.long
@pytest.mark.parametrize("shift", [-0.35, 0.3])
def test_a_first_pose_at_the_end_of_the_strokes_is_found_and_lengths_without_a_pose_are_refused(
    crooked, shift
):
    control = StewartController(crooked, StewartParameters(**CALM))
    turned = quaternion_from_rotation(rotation_from_vector(np.array([0.05, -0.1, 0.15])))
    place = crooked.machine.home_position + np.array([0.05, -0.1, shift])
    lengths = crooked.legs(place, turned).lengths
    weight = control.update(0.0, lengths, np.zeros(6)).effort
    np.testing.assert_allclose(control.pose.position, place, rtol=0.0, atol=1e-9)
    rest = [np.zeros(3)] * 4
    exact = crooked.inverse_dynamics(place, turned, *rest, on_violation="report")
    assert control.pose.condition_number == pytest.approx(exact.scaled_condition_number)
    np.testing.assert_allclose(weight, exact.actuator_forces, rtol=1e-6)
    with pytest.raises(StateError, match=r"no pose near the last one .* ended \d\.\d+e[+-]\d+ m away"):
        control.update(0.01, lengths - np.array([0.0, 0.0, 1.4, 0.0, 0.0, 0.0]), np.zeros(6))
    control.lost_states()
    assert control.phase is Phase.STALE
    np.testing.assert_allclose(control.pose.position, place, rtol=0.0, atol=1e-9)


def test_a_singular_pose_is_refused():
    """Fichter's: a platform like its base, turned by 90 degrees about the vertical."""
    mapping = machine(1.0, 1.0, [0.2, 9.0], 1.3, 1500.0, 15e3, 1.0, 60.0)
    platform = stewart.load(mapping)
    turned = rotation_from_vector(np.array([0.0, 0.0, 0.5 * np.pi])) @ platform.machine.home_rotation
    lengths = platform.legs(platform.machine.home_position, quaternion_from_rotation(turned)).lengths
    control = StewartController(platform, StewartParameters(**CALM))
    with pytest.raises((SingularityError, StateError)):
        control.update(0.0, lengths, np.zeros(6))
    assert control.phase is Phase.WAITING


ANYWHERE = {"shortest": 0.2, "longest": 9.0}


def expected_words(machine_, directions, lengths, rates, rotation, margin):
    """Words of the first limit that the legs are beyond; empty where there is none."""
    limits = [leg.limits for leg in machine_.legs]
    longest, shortest, speed, base, top = (
        np.array([getattr(one, name) for one in limits])
        for name in ("longest", "shortest", "speed", "base_angle", "platform_angle")
    )
    slack, home = margin * (longest - shortest), machine_.home_directions
    angles = (
        np.arccos((directions * home).sum(axis=1)),
        np.arccos((directions @ rotation * (home @ machine_.home_rotation)).sum(axis=1)),
    )
    for what, unit, value, most in (
        ("length", "m", lengths, longest + slack),
        ("length", "m", -lengths, slack - shortest),
        ("speed", "m/s", np.abs(rates), (1.0 + margin) * speed),
        ("angle at the base", "rad", -np.cos(angles[0]), -np.cos((1.0 + margin) * base)),
        ("angle at the platform", "rad", -np.cos(angles[1]), -np.cos((1.0 + margin) * top)),
    ):
        if (value > most).any():
            leg = int(np.argmax(value - most))
            found, limit = abs(value[leg]), abs(most[leg])
            if unit == "rad":
                found, limit = np.arccos(-value[leg]), np.arccos(-most[leg])
            return f"{machine_.leg_names[leg]}: measured {what} {found:.5g} {unit}, beyond {limit:.5g} {unit}"
    return ""


@pytest.mark.parametrize(
    ("shift", "turn", "rates", "limits"),
    [
        ((0.0, 0.0, 0.45), (0.0, 0.0, 0.0), 0.0, {}),
        ((0.0, 0.0, -0.45), (0.0, 0.0, 0.0), 0.0, {}),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), [0.0, 0.2, -1.2, 0.0, 1.1, 0.0], {}),
        ((0.3, 0.1, 0.0), (0.0, 0.0, 0.0), 0.0, {"base_angle": 0.1, **ANYWHERE}),
        ((0.0, 0.1, 0.0), (0.1, 0.2, 0.0), 0.0, {"platform_angle": 0.1, **ANYWHERE}),
        ((0.0, 0.0, 0.1), (0.0, 0.0, 0.2), 0.0, {"condition_limit": 2.0, **ANYWHERE}),
        ((0.02, 0.0, 0.0), (0.0, 0.0, 0.1), 0.1, {}),
    ],
)
def test_a_state_beyond_a_limit_is_reported_once_and_answered_by_settling(
    crooked, shift, turn, rates, limits
):
    machine_ = with_limits(crooked.machine, **limits)
    rotation = rotation_from_vector(np.array(turn)) @ machine_.home_rotation
    legs = crooked.legs(machine_.home_position + np.array(shift), quaternion_from_rotation(rotation))
    rates = np.zeros(6) + rates
    parameters = StewartParameters(**CALM)
    control = StewartController(StewartPlatform(machine_), parameters)
    margin = parameters.watch_margin
    words = expected_words(machine_, legs.jacobian[:, :3], legs.lengths, rates, rotation, margin)
    if "condition_limit" in limits:
        assert words == ""
        words = f"measured condition number {condition(legs, machine_):.4g}, beyond 2"
    assert bool(words) == (max(map(abs, shift)) > 0.05 or rates.max() > 0.5)
    control.update(0.0, legs.lengths, rates)
    assert control.discontinuity == (f"{words}; settling" if words else "")
    for k in range(1, 5):
        control.update(0.01 * k, legs.lengths, rates)
        assert control.discontinuity == ""
    assert control._snapshot.read().beyond == bool(words)


def condition(legs, machine_):
    scaled = legs.jacobian / np.array([1.0] * 3 + [machine_.characteristic_length] * 3)
    return np.linalg.cond(scaled)


def test_forces_of_references_are_the_exact_ones_with_payload_and_wrench(crooked):
    """Those that the governor plans with, by the library's inverse dynamics of the loaded machine."""
    random, count = np.random.default_rng(3), 5
    load = RigidBody(200.0, np.array([0.1, -0.2, 0.3]), np.diag([10.0, 12.0, 9.0]))
    control = StewartController(crooked, StewartParameters(**CALM))
    control.change_payload(load)
    places = crooked.machine.home_position + random.uniform(-0.05, 0.05, (count, 3))
    rotations = np.array([rotation_from_vector(turn) for turn in random.uniform(-0.1, 0.1, (count, 3))])
    quaternions = quaternion_from_rotation(rotations)
    twists, accelerations = random.uniform(-0.5, 0.5, (2, count, 6))
    found = control.model_forces(places, quaternions, rotations, twists, accelerations)
    exact = StewartPlatform(loaded(crooked.machine, load)).inverse_dynamics(
        places, quaternions, twists[:, :3], twists[:, 3:], accelerations[:, :3], accelerations[:, 3:],
        on_violation="report",
    )  # fmt: skip
    np.testing.assert_allclose(found, exact.actuator_forces, rtol=1e-9)


COLLECTED = """
import gc
import robot_dynamics as rd
from robot_dynamics.control.core.library import ffi
from robot_dynamics.resources import resource
control = rd.StewartController(rd.load_stewart(resource("config/stewart_demo.yaml")))
control.itself = control
del control
with ffi()._lock:
    print(gc.collect() > 0)
"""


def test_a_controller_may_be_collected_while_cffi_looks_a_name_up():
    """A collection may begin anywhere, also under cffi's lock."""
    process = subprocess.run(
        [sys.executable, "-c", COLLECTED], capture_output=True, text=True, timeout=PATIENCE
    )
    assert process.stdout == "True\n", process.stderr


EXPECTED = r"""
holding: sent 3, sum 59\d\d, phase 1, beyond 0, cut 0
following: sent 60, sum \d+, phase 2, beyond 0, cut 1
under a weight: sent 105, sum 24000, phase 1, beyond 0, cut 1
other loads: sent 120, sum \d+, phase 1, beyond 0, cut 1
too long: sent 20, sum \d+, phase 1, beyond 1, cut 0
on brakes: sent 20, sum 0, phase 1, beyond 1, cut 0
ill conditioned: sent 20, sum \d+, phase 1, beyond 2, cut 0
states lost: sent \d+, sum \d+, phase 3, beyond 2, cut 0
settled: sent \d+, sum 0, phase 3, beyond 2, cut 0
numbers again: sent 2, sum \d+, phase 1, beyond \d+, cut 0
wrong 0
"""


@pytest.mark.long
def test_the_law_under_sanitizers(tmp_path):
    """See drill_platform.c: every situation, and states that no machine has."""
    drill = Path(__file__).with_name("drill_platform.c")
    folders = (C_SOURCES, C_SOURCES / "platform", KINEMATICS)
    parts = [part for folder in folders for part in sorted(folder.glob("*.c"))]
    printed = output_of(tmp_path / "drill", [drill, *parts]).strip()
    assert re.fullmatch(EXPECTED.strip(), printed), printed
