"""The generated ros2_control package as far as it needs no ROS: what it computes, and what its files say.

Its wrappers are compiled and run where ROS is; docs/ros2_control.md says on which versions.
"""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml
from compilers import CC, CXX
from friction_cases import CASES, SPEEDS, effort_of
from patience import LONG_PATIENCE, PATIENCE
from two_arms import JOINTS as JOINTS_OF_TWO
from two_arms import TIPS, TWO_ARMS

from robot_dynamics.cli.main import main
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.control.core.library import MODES, doubles, ffi
from robot_dynamics.control.protocol import Phase
from robot_dynamics.controllers.description import System, with_simulated_hardware
from robot_dynamics.controllers.parameters import (
    ABSENT,
    FollowingParameters,
    descriptions,
)
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.files import read_bytes
from robot_dynamics.model.load import load_urdf
from robot_dynamics.native.compiler import FLAGS, FOR_THIS_CPU, find_compiler
from robot_dynamics.parameters import describe
from robot_dynamics.resources import resource

PUMA = resource("urdf/puma560.urdf")
JOINTS = 6
PERIOD = 1_000_000  # [ns]
GRAVITY = (0.0, 0.0, -9.81)
DRIVES = {
    "rotor_inertia": (0.3,),
    "damping": (1.5,),
    "friction": (0.8,),
    "static_friction": (1.1,),
    "friction_offset": (0.1,),
    "load_friction": (0.06,),
    "presliding_friction": (0.4,),
}
PAYLOAD = {
    "payload_mass": 1.5,
    "payload_center": (0.0, 0.02, 0.1),
    "payload_inertia": (0.01, 0, 0, 0.01, 0, 0.004),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package of a PUMA 560."""
    folder = tmp_path_factory.mktemp("workspace") / "puma_controllers"
    assert main(["generate", str(PUMA), "--ros2-control", "-o", str(folder)]) == 0
    return folder


STRICT = ["-Wall", "-Wextra", "-Werror"]


def compiled(sources, build, *flags):
    """Objects of C files, with the flags of the node's code."""
    compiler, objects = find_compiler().command, []
    exact = [*compiler, "-O2", *(flag for flag in FLAGS if flag not in ("-shared", "-w")), FOR_THIS_CPU]
    for source in sorted(sources.glob("*.c")):
        objects.append(build / f"{source.stem}.o")
        command = [*exact, "-std=gnu11", *STRICT, *flags, "-c", source, "-o", objects[-1]]
        subprocess.run(command, check=True, timeout=PATIENCE)
    return objects


@pytest.fixture(scope="module")
def core(package, tmp_path_factory):
    """Objects of the control core, which every package has; its results are those of -O3."""
    return compiled(package / "src" / "core", tmp_path_factory.mktemp("core"), "-ffp-contract=off", "-O1")


@pytest.fixture(scope="module")
def replay(package, core, tmp_path_factory):
    """Its program replay."""
    return replay_of(package, core, tmp_path_factory.mktemp("build"))


def replay_of(package, core, build):
    """The program replay of a package."""
    objects = [*core, *compiled(package / "src" / "model", build)]
    program = build / "replay"
    includes = [f"-I{package / 'include'}", f"-I{package / 'src'}"]
    tool = package / "tools" / "replay.cpp"
    command = [
        *CXX,
        "-std=c++17",
        "-O1",
        *STRICT,
        "-Wpedantic",
        *includes,
        tool,
        *objects,
        "-o",
        program,
        "-lm",
    ]
    subprocess.run(command, check=True, timeout=LONG_PATIENCE)
    return program


COMPILERS = [pair for pair in (("gcc", "g++"), ("clang", "clang++")) if all(map(shutil.which, pair))]


@pytest.mark.long
@pytest.mark.parametrize(("c", "cpp"), COMPILERS)
def test_cmake_builds_what_needs_no_ros_without_warnings(package, tmp_path, c, cpp):
    """As a user builds it, with the default flags and -Wall -Wextra."""
    if shutil.which("cmake") is None:
        pytest.skip("no cmake")
    strict = "-Wall -Wextra -Werror"
    compilers = [f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cpp}"]
    flags = [f"-DCMAKE_C_FLAGS={strict}", f"-DCMAKE_CXX_FLAGS={strict}", "-DWITHOUT_ROS=ON"]
    for command in (
        ["cmake", "-S", package, "-B", tmp_path, *compilers, *flags],
        ["cmake", "--build", tmp_path],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([tmp_path / "replay", "--moves", "10"], capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


def cycles_of_a_move(random):
    """Stamps, states around a smooth move, and its references; some cycles have none, and one jumps."""
    times = np.arange(200) * PERIOD
    angle = 1e-9 * times[:, None] * (1.0 + np.arange(JOINTS)) * 3.0
    reference = [0.1 * np.sin(angle), 0.3 * np.cos(angle), -0.9 * np.sin(angle)]
    position = reference[0] + random.normal(scale=1e-3, size=angle.shape)
    velocity = reference[1] + random.normal(scale=1e-2, size=angle.shape)
    reference[0][60:64] = np.nan
    reference[2][90, 3] = np.nan
    reference[0][120:125] += 1.0
    return times, position, velocity, reference


def parameters_of(mode, **others):
    return {"mode": mode, "kp": (80.0,), "kv": (15.0, 16.0, 17.0, 18.0, 19.0, 20.0), **others}


def efforts_of(program, parameters, times, position, velocity, reference, leads, events=None):
    lines = [
        " ".join([name, *(str(v) for v in (value if isinstance(value, tuple) else (value,)))])
        for name, value in parameters.items()
    ]
    for k, stamp in enumerate(times):
        lines += [events[k]] if events and k in events else []
        values = np.concatenate([position[k], velocity[k], *(part[k] for part in reference)])
        lines.append(" ".join([str(stamp), str(int(leads)), *map(repr, values.tolist())]))
    done = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "0 allocations in the cycles\n"
    return np.array([[float(word) for word in line.split()] for line in done.stdout.splitlines()])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("kp nan", "parameter 'kp' is nan: it must be a finite number"),
        ("kp 80 80 inf 80 80 80", "parameter 'kp' is inf: it must be a finite number"),
        ("payload_mass nan", "parameter 'payload_mass' is nan: it must be a finite number"),
        ("max_reference_step nan", "parameter 'max_reference_step' is nan: it must be a finite number"),
        ("kp -1", "parameter 'kp' is -1: it must be from 0 to 1e+06 1/s²"),
        ("kv 1 2", "parameter 'kv' has 2 values, the arm has 6 joints: give 1 or 6"),
        ("kp", "parameter 'kp' has 0 values: give 1 or 6, one per joint"),
        (
            "kp 80 80 0 80 80 80",
            "parameter 'kp' is 0 for joint3: mode 'computed_torque' needs a gain above 0",
        ),
        ("kv 0", "parameter 'kv' is 0 for joint1: mode 'computed_torque' needs a gain above 0"),
        ("joints a b a d e f", "parameter 'joints' has 'a' twice: each one once"),
        ("payload_center 0 0", "parameter 'payload_center' must have 3 values"),
        ("payload_inertia 1 0 0 1 0 9", "no rigid body has the inertia of parameter 'payload_inertia'"),
        ("friction_offset 9", "parameter 'friction_offset' is larger than the friction of joint1"),
        (
            "command_interfaces position velocity effort",
            "parameter 'mode' is 'computed_torque', and the drives",
        ),
        ("command_interfaces position", "parameter 'command_interfaces' must have effort"),
        (
            "command_interfaces effort force",
            "parameter 'command_interfaces' has 'force': it must be position",
        ),
        ("safe_output drop", "there is no choice 'drop'"),
        ("on_contact hold\nobserver_gain 0", "parameter 'on_contact' is 'hold', but no external effort"),
        ("joint_damping -0.5", "parameter 'joint_damping' is -0.5: it must not be negative, or -1: critical"),
        ("joint_stiffness", "parameter 'joint_stiffness', 'joint_damping', 'joint_error_clip' or"),
        (
            "cartesian_stiffness 1 2 3",
            "parameter 'cartesian_stiffness' has 3 values: give 2 (linear, angular)",
        ),
        ("operational_space true\nnullspace_projector kinematic", "parameter 'nullspace_projector' is"),
        (
            "mode joint_impedance\njoint_stiffness 30000\ncontrol_period 0.001",
            "parameter 'joint_stiffness' is 30000, 30000, 30000, 30000, 30000, 30000: with a state every 1 ms"
            " at most 30000, 30000, 21000, 220, 90, 5.5 is stable",
        ),
        (
            "mode cartesian_impedance\ncartesian_stiffness 100000 30\ncontrol_period 0.001",
            "parameter 'cartesian_stiffness' is 100000, 30: with a state every 1 ms at most 100000, 23 is"
            " stable",
        ),
        ("mode hand_guiding\nguide_axes x up", "parameter 'guide_axes' has 'up': directions are x, y, z"),
        ("mode hand_guiding\nguide_friction 1", "parameter 'guide_friction' is 1: it must be from 0 to 0.95"),
        (
            "on_contact yield\njoint_stiffness 1000000\ncontrol_period 0.002",
            "on_contact is 'yield': parameter 'joint_stiffness' is 1e+06",
        ),
        ("kpp 3", "there is no parameter 'kpp'"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(replay, line, reason):
    done = subprocess.run([replay], input=line, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"replay: {reason}")


@pytest.mark.parametrize(
    "values",
    [
        {"mode": "joint_impedance", "joint_stiffness": (30000.0,)},
        {"mode": "joint_impedance", "joint_stiffness": (10.0,), "joint_damping": (300.0,) * 5 + (1.0,)},
        {"mode": "joint_impedance", "joint_stiffness": (10.0,), "joint_damping": (0.0,)},
        {"mode": "joint_impedance", "joint_stiffness": (2.0,), "effort_filter": 0.05},
        {"mode": "cartesian_impedance", "cartesian_stiffness": (100000.0, 30.0)},
        {
            "mode": "cartesian_impedance",
            "cartesian_stiffness": (900000.0, 200000.0),
            "operational_space": True,
        },
        {"mode": "cartesian_impedance", "nullspace_projector": "none", "nullspace_stiffness": (900.0,)},
        {"mode": "hand_guiding", "guide_axes": ("x", "ry"), "cartesian_stiffness": (100000.0, 30.0)},
        {"mode": "pd", "on_contact": "yield", "joint_stiffness": (30000.0,)},
    ],
)
def test_springs_are_refused_in_the_words_of_the_library(replay, values):
    """Of its controller in Python, for the same robot."""
    values |= {"control_period": 0.001}
    with pytest.raises(ParameterError) as told:
        ArmController(load_urdf(PUMA), parameters=ArmParameters(**values))
    lines = [
        f"{name} {' '.join(map(str, value)) if isinstance(value, tuple) else str(value).lower()}"
        for name, value in values.items()
    ]
    done = subprocess.run([replay], input="\n".join(lines), capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (2, f"replay: {told.value}\n")


def test_modes_without_feedback_take_gains_of_zero(replay):
    for mode in ("feedforward", "gravity_compensation"):
        text = f"mode {mode}\nkp 0\nkv 0"
        done = subprocess.run([replay], input=text, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr


def test_its_rules_are_the_node_s_and_are_shown_with_what_is_off_or_too_low(replay):
    parameters = {"kp": (60.0,), "kv": (15.0,), "on_contact": "hold", "start_motion": -1.0}
    lines = ["kp 60", "kv 15", "on_contact hold", "start_motion -1"]
    lines += [f"{name} {' '.join(map(str, values))}" for name, values in DRIVES.items()]
    shown = subprocess.run(
        [replay, "--rules"], input="\n".join(lines), capture_output=True, text=True, timeout=PATIENCE
    )
    assert shown.returncode == 0, shown.stderr
    controller = ArmController(*arm_of(parameters))
    # Efforts of other nodes do not come to a controller of ros2_control.
    rules = [f"rule {rule.words}" for rule in controller.rules() if rule.name != "dispute"]
    *table, gains = [line for line in shown.stdout.splitlines() if not line.startswith("warning: ")]
    assert table == rules
    assert gains == f"kp times inertia, dry friction over it, natural frequency: {controller.characteristics}"
    warnings = [line.removeprefix("warning: ") for line in shown.stdout.splitlines() if "warning: " in line]
    assert warnings[0] == "parameter 'start_motion' is -1: its rule of supervision is off"
    assert sorted(warnings[1:]) == sorted(controller.low_gains()) != []


class Stream:
    """References that come cycle by cycle, handed to a controller's core as a plan without an end."""

    def __init__(self, controller):
        self.core, self.numbers = controller, 0
        self.values = np.zeros((2, 3, JOINTS))
        motions = [[doubles(row) for row in motion] for motion in self.values]
        self.kept = [motions, doubles(np.array([0.0, np.inf]))]
        self.value = ffi().new("rd_stream *", [0.0, *motions])

    def offer(self):
        """Follow it from now on."""
        core, self.numbers = self.core, self.numbers + 1
        self.kept[1][0] = core.time
        plan = [self.numbers, core.epoch, 0, 2, self.kept[1], ffi().NULL, self.value]
        self.kept.append(ffi().new("rd_plan *", plan))
        core._library.rd_core_offer_plan(core._core, self.kept[-1])
        core._library.rd_core_take_plan(core._core)
        assert core.phase is Phase.TRACKING

    def set(self, time, now, ahead):
        self.value.time = time
        self.values[:] = now, ahead

    @property
    def followed(self):
        return bool(self.core._snapshot.read().current == self.numbers > 0)

    @property
    def reference(self):
        self.core._snapshot.read()
        return self.core._snapshot.motion


class Follower:
    """The rules of follower.h, around a controller."""

    def __init__(self, controller, step, leads):
        self.controller, self.step, self.leads = controller, step, leads
        self.last, self.stream = None, Stream(controller)
        chain = controller.chain
        self.speeds = np.array([chain.driving_joint(j).limits.velocity for j in range(chain.dof)])

    def update(self, time, position, velocity, given):
        core = self.controller
        usable = all(np.isfinite(part).all() for part in given)
        stepped = usable and self.last is not None and (abs(given[0] - self.last[0]) > self.step).any()
        following = self.stream.followed
        if not usable or stepped:
            self.last = None
            if following:
                core.hold()
                following = False
        if usable:
            now, ahead = given, given
            if self.leads and self.last is not None:
                now, ahead = self.last, (given[0], given[1], 0.5 * (self.last[2] + given[2]))
            self.last = given
            place, rate = self.stream.reference[:2]
            near = core.phase.controls and (
                following
                or ((abs(now[0] - place) <= self.step) & (abs(now[1] - rate) <= 0.1 * self.speeds)).all()
            )
            if following or near:
                self.stream.set(time, now, ahead)
            if not following and near:
                self.stream.offer()
        return core.update(time, position, velocity).effort


def arm_of(parameters, **carried):
    chain = load_urdf(read_bytes(PUMA, "URDF", ValueError))
    payload = PayloadParameters(**carried).payload
    links = compile_dynamics(chain, payload=payload, friction=False)
    return chain, ActuatedArm(links, chain, ActuatorParameters(**DRIVES)), ArmParameters(**parameters)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "hand_guiding"])
@pytest.mark.parametrize("leads", [False, True])
def test_efforts_are_those_of_the_controller(replay, mode, leads):
    """Holds, moves, missing references, one that jumps; drives, payload, limits; no cycle allocates."""
    random = np.random.default_rng(5)
    times, position, velocity, reference = cycles_of_a_move(random)
    parameters = parameters_of(mode, max_effort=(40.0, 50.0, 40.0, 20.0, 20.0, 20.0), max_effort_step=2.0)
    if mode == "pd":  # it leaves the weight, with which these states, unlike an arm, do not fall
        parameters["start_motion"] = -1.0
    reached = efforts_of(
        replay, {**parameters, **DRIVES, **PAYLOAD}, times, position, velocity, reference, leads
    )
    follower = Follower(
        ArmController(*arm_of(parameters, **PAYLOAD)), FollowingParameters().max_reference_step, leads
    )
    expected = []
    phases = set()
    for k, stamp in enumerate(times):
        given = tuple(part[k] for part in reference)
        expected.append(follower.update(1e-9 * float(stamp), position[k], velocity[k], given))
        phases.add(follower.controller.phase)
    assert phases >= {Phase.TRACKING, Phase.STOPPING}
    np.testing.assert_allclose(reached, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("stop", [0, 150])
def test_an_emergency_stop_holds_until_it_is_reset_as_in_the_node(replay, stop):
    """In motion, or before the activation; references go on, and are not joined from afar after the reset."""
    reset = 450
    times = np.arange(500) * PERIOD
    angle = 1e-9 * times[:, None] * (1.0 + np.arange(JOINTS))
    reference = [0.3 * np.sin(angle), 0.3 * np.cos(angle), -0.3 * np.sin(angle)]
    position, velocity = reference[0].copy(), reference[1].copy()
    position[stop:], velocity[stop:] = position[stop], 0.0
    parameters = parameters_of("computed_torque")
    events = {stop: "stop 1", reset: "reset 1"}
    reached = efforts_of(
        replay, {**parameters, **DRIVES}, times, position, velocity, reference, False, events
    )
    controller = ArmController(*arm_of(parameters))
    follower = Follower(controller, 0.1, False)
    expected, phases = [], []
    for k, stamp in enumerate(times):
        time, state = 1e-9 * float(stamp), (position[k], velocity[k])
        now = [part[k] for part in reference]
        if k == stop:
            follower.stream.set(time, now, now)  # the reference comes before the stop
            assert controller.emergency_stop() == ""
        if k == reset:
            assert controller.reset_fault() == ""
        answer = follower.update(time, *state, now) if k < stop else controller.update(time, *state).effort
        expected.append(answer)
        phases.append(controller.phase)
    np.testing.assert_allclose(reached, expected, rtol=1e-12, atol=1e-12)
    assert stop == 0 or phases[stop - 1] is Phase.TRACKING
    assert phases[reset - 1] is Phase.PROTECTIVE_STOP
    assert set(phases[reset:]) == {Phase.HOLDING}


def test_a_path_that_passes_at_speed_is_not_joined_from_rest(replay):
    """After 0.15 s of NaN references the arm held, and 1 s later it jumped after the path at 2.9 rad/s."""
    times = np.arange(600) * PERIOD
    seconds, rest = 1e-9 * times[:, None], np.zeros((600, JOINTS))
    first = np.eye(JOINTS)[0]
    parameters = parameters_of("computed_torque")
    weight = ArmController(*arm_of(parameters)).update(0.0, rest[0], rest[0]).effort
    for speed, joined in ((2.9, False), (0.02, True)):
        reference = [speed * (seconds - seconds[400]) * first, speed * first + rest, rest.copy()]
        for part in reference:
            part[:75] = np.nan
        reached = efforts_of(replay, {**parameters, **DRIVES}, times, rest, rest, reference, False)
        moved = np.abs(reached - weight).max()
        assert moved > 0.01 if joined else moved < 1e-3, (speed, moved)


def test_efforts_are_those_of_the_node_s_native_loop_to_the_last_bit(replay):
    """The same C core and program, compiled by the package and by the node, on the same references."""
    random = np.random.default_rng(6)
    times, position, velocity, reference = cycles_of_a_move(random)
    times = times[:60]  # before anything is missing
    parameters = parameters_of("computed_torque", max_effort_step=2.0)
    reached = efforts_of(
        replay, {**parameters, **DRIVES, **PAYLOAD}, times, position, velocity, reference, False
    )
    controller = ArmController(*arm_of(parameters, **PAYLOAD))
    controller.update(0.0, position[0], velocity[0])
    stream = Stream(controller)
    stream.offer()
    for k in range(1, len(times)):
        given = [part[k] for part in reference]
        stream.set(1e-9 * float(times[k]), given, given)
        command = controller.update(1e-9 * float(times[k]), position[k], velocity[k])
        assert command.phase is Phase.TRACKING
        # With its two languages clang joins other sums: they may differ by roundings there.
        roundings = 0.0 if CC == ("cc",) else 1e-15
        np.testing.assert_allclose(reached[k], command.effort, rtol=roundings, atol=0.0)


@pytest.mark.parametrize("measured", [False, True])
def test_a_contact_stops_the_arm_as_in_the_node(replay, measured):
    """Something has moved the arm by 0.02 rad and keeps it there: what holds against it is felt.

    Or measured efforts, 3 ms late, tell so.
    """
    times = np.arange(400) * PERIOD
    position = np.tile(0.1 * np.arange(JOINTS), (400, 1))
    velocity, none = np.zeros_like(position), [np.full_like(position, np.nan)] * 3
    velocity[50:90, 1] = 0.5
    position[:, 1] += PERIOD * 1e-9 * np.cumsum(velocity[:, 1])
    parameters = parameters_of("computed_torque", on_contact="hold", contact_threshold=(8.0,))
    _, arm, _ = arm_of(parameters)
    efforts = np.stack([arm.links.inverse_dynamics(q, 0.0 * q, 0.0 * q) for q in position])
    if measured:
        velocity[:], position[:] = 0.0, position[0]
        efforts = np.tile(efforts[0], (400, 1))
        efforts[100:, 2] += 60.0
        parameters |= {"observed_efforts": "motor", "effort_delay": 0.003}
    lines = [f"measured {' '.join(map(repr, row.tolist()))}" for row in efforts]
    events = dict(enumerate(lines)) if measured else {}
    reached = efforts_of(replay, {**parameters, **DRIVES}, times, position, velocity, none, False, events)
    controller = ArmController(*arm_of(parameters))
    commands = [
        controller.update(1e-9 * float(stamp), position[k], velocity[k], efforts[k] if measured else None)
        for k, stamp in enumerate(times)
    ]
    np.testing.assert_allclose(reached, [c.effort for c in commands], rtol=1e-12, atol=1e-12)
    assert controller.trip.rule == "contact"
    assert commands[-1].phase is Phase.PROTECTIVE_STOP


@pytest.mark.parametrize(
    ("mode", "others"),
    [
        ("cartesian_impedance", {"wrench_timeout": 0.08}),
        ("hand_guiding", {"guide_timeout": 0.08}),
        (
            "hand_guiding",
            {"guide_timeout": 0.08, "guide_axes": ("x", "rz"), "cartesian_stiffness": (400.0, 20.0)},
        ),
    ],
)
def test_a_wrench_and_a_button_act_as_in_the_node(replay, mode, others):
    """Both are repeated, run out, come again, and the button is released; no cycle allocates."""
    times, position, velocity, _ = cycles_of_a_move(np.random.default_rng(8))
    position, velocity = 0.02 * position, 0.02 * velocity  # slow enough for supervision
    none = [np.full_like(position, np.nan)] * 3
    wrench = (5.0, -3.0, 8.0, 0.4, -0.2, 0.3)
    asks = {20: True, 60: True, 170: True, 185: False}
    guides = mode == "hand_guiding"
    on, off = ("guide 1", "guide 0") if guides else (f"push {' '.join(map(str, wrench))}", "push 0 0 0 0 0 0")
    parameters = parameters_of(mode, **others)
    events = {k: on if pressed else off for k, pressed in asks.items()}
    reached = efforts_of(
        replay, {**parameters, **DRIVES, **PAYLOAD}, times, position, velocity, none, False, events
    )
    controller = ArmController(*arm_of(parameters, **PAYLOAD))
    commands = []
    for k, stamp in enumerate(times):
        if k in asks:
            assert not (controller.guide(asks[k]) if guides else controller.push(np.array(wrench) * asks[k]))
        commands.append(controller.update(1e-9 * float(stamp), position[k], velocity[k]))
    np.testing.assert_allclose(reached, [c.effort for c in commands], rtol=1e-12, atol=1e-12)
    guided = {k for k, command in enumerate(commands) if command.phase is Phase.GUIDED}
    assert bool(guided) == guides
    assert not guides or {30, 100, 180} <= guided
    assert not guided & {10, 160, 190}  # neither before, nor after it has run out or is released


def test_drives_with_a_loop_of_their_own_get_the_reference_and_an_effort_without_gains(replay):
    """Against Pinocchio at the reference, wherever the arm is measured."""
    times, position, velocity, reference = cycles_of_a_move(np.random.default_rng(7))
    times = times[:100]
    model = pin.buildModelFromUrdf(str(PUMA))
    data = model.createData()
    given = {
        "command_interfaces": ("effort", "position", "velocity"),
        "mode": "feedforward",
        "kp": (80.0,),
        "kv": (15.0,),
        "damping": (0.0,),
        "friction": (0.0,),
        "model_change_time": 0.0,
    }
    rows = efforts_of(replay, given, times, position, velocity, reference, False)
    assert rows.shape == (len(times), 3 * JOINTS)
    efforts, places, rates = np.split(rows, 3, axis=1)
    following = slice(1, 60)  # the references end at 60
    np.testing.assert_array_equal(places[following], reference[0][following])
    np.testing.assert_array_equal(rates[following], reference[1][following])
    for k in range(1, 60):
        expected = pin.rnea(model, data, *(part[k] for part in reference))
        np.testing.assert_allclose(efforts[k], expected, rtol=1e-9, atol=1e-9)
    assert np.isfinite(rows).all()
    guided = efforts_of(
        replay, {**given, "mode": "gravity_compensation"}, times, position, velocity, reference, False
    )
    np.testing.assert_array_equal(guided[:, JOINTS:], np.hstack([position[:100], np.zeros((100, JOINTS))]))


@pytest.mark.long
def test_an_arm_has_the_state_of_the_torso_that_another_controller_turns(core, tmp_path):
    """The torso's position, velocity and intended acceleration are in the efforts: against Pinocchio."""
    package, description = tmp_path / "right_controllers", tmp_path / "two_arms.urdf"
    description.write_text(TWO_ARMS, encoding="utf-8")
    command = ["generate", str(description), "--tip", "right_hand", "--ros2-control", "-o", str(package)]
    assert main([*command, "--measured-joints", "waist"]) == 0
    systems = ElementTree.parse(package / "urdf" / "robot.urdf").findall("ros2_control")
    assert [[joint.get("name") for joint in one.findall("joint")] for one in systems] == [
        JOINTS_OF_TWO[3:],
        ["waist"],
    ]
    assert not (package / "mujoco").exists()
    replay = replay_of(package, core, tmp_path)
    count, rate = 40, 0.5
    times, own, acceleration = np.arange(count) * PERIOD, np.array([-0.3, 0.6]), 1.2
    seconds = 1e-9 * times
    waist = 0.7 + rate * seconds + 0.5 * acceleration * seconds**2
    turning = rate + acceleration * seconds
    events = {k: f"beside {float(waist[k])!r} {float(turning[k])!r}" for k in range(count)}
    events[0] = "beside nan nan"  # no state yet, so no effort
    events[20] += f"\nintended {acceleration!r}"
    shape = np.ones((count, 1))
    still = [own * shape, 0.0 * own * shape]
    given = {"mode": "gravity_compensation", "half_period_ahead": "false", "max_effort_step": 2.0}
    nothing = [np.full((count, 2), np.nan)] * 3
    reached = efforts_of(replay, given, times, *still, nothing, False, events)
    assert not reached[0].any()
    model = pin.buildModelFromXML(TWO_ARMS)
    data, order = model.createData(), [model.joints[model.getJointId(j)].idx_q for j in JOINTS_OF_TWO]
    for k in range(1, count):
        wanted = np.zeros((3, 5))
        wanted[:, order[0]] = waist[k], turning[k], acceleration if k >= 20 else 0.0
        wanted[0, order[3:]] = own
        expected = pin.rnea(model, data, *wanted)[order[3:]]
        np.testing.assert_allclose(reached[k], expected, rtol=1e-9, err_msg=str(k))


@pytest.mark.long
def test_a_tree_has_one_controller_and_a_group_for_each_arm(core, tmp_path):
    """Groups that nobody gives a reference hold, and a payload is at its tip: efforts against Pinocchio."""
    package, description = tmp_path / "two_controllers", tmp_path / "two_arms.urdf"
    description.write_text(TWO_ARMS, encoding="utf-8")
    assert main(["generate", str(description), "--tips", "all", "--ros2-control", "-o", str(package)]) == 0
    controllers = yaml.safe_load((package / "config" / "controllers.yaml").read_text())
    names = [f"{group}_joint_trajectory_controller" for group in ("shared", *TIPS)]
    groups = [controllers[name]["ros__parameters"]["joints"] for name in names]
    assert groups == [JOINTS_OF_TWO[:1], JOINTS_OF_TWO[1:3], JOINTS_OF_TWO[3:]]
    moveit = yaml.safe_load((package / "config" / "moveit_controllers.yaml").read_text())
    manager = moveit["moveit_simple_controller_manager"]
    assert manager["controller_names"] == ["joint_trajectory_controller", *names]
    assert [manager[name]["default"] for name in manager["controller_names"]] == [True, False, False, False]
    replay = replay_of(package, core, tmp_path)

    count, n = 60, len(JOINTS_OF_TWO)
    times = np.arange(count) * PERIOD
    angle = 1e-9 * times[:, None] * np.ones(n)
    reference = [0.2 + 0.01 * np.sin(angle), 0.01 * np.cos(angle), -0.01 * np.sin(angle)]
    place, random = reference[0][0].copy(), np.random.default_rng(8)
    for part in reference:
        part[:, [0, 3, 4]] = np.nan  # the left arm alone is led
    still = (place, 0.0, 0.0)
    led = [np.where(np.isnan(part), rest, part) for part, rest in zip(reference, still, strict=True)]
    position = led[0] + random.normal(scale=1e-4, size=led[0].shape)
    position[0], velocity = place, led[1] + random.normal(scale=1e-3, size=led[1].shape)
    velocity[0] = 0.0
    given = {"kp": (80.0,), "kv": (15.0,), "ki": -1.0, "half_period_ahead": "false", "max_effort_step": 2.0}
    load = {"payload.right_hand.mass": 1.5, "payload.right_hand.center": (0.0, 0.02, 0.1)}
    reached = efforts_of(
        replay, {"mode": "computed_torque", **given, **load}, times, position, velocity, reference, False
    )
    model = pin.buildModelFromXML(TWO_ARMS)
    tip = load_urdf(TWO_ARMS, tips="all").tips[1]
    body = pin.Inertia(1.5, np.array([0.0, 0.02, 0.1]), np.zeros((3, 3)))
    model.inertias[model.getJointId("right_elbow")] += pin.SE3(tip.transform).act(body)
    data, order = model.createData(), [model.joints[model.getJointId(j)].idx_q for j in JOINTS_OF_TWO]
    for k in range(2, count):
        error = led[0][k] - position[k], led[1][k] - velocity[k]
        wanted = np.zeros((3, n))
        wanted[:, order] = position[k], velocity[k], led[2][k] + 80.0 * error[0] + 15.0 * error[1]
        np.testing.assert_allclose(reached[k], pin.rnea(model, data, *wanted)[order], rtol=1e-9, atol=1e-9)


FRICTION_PROGRAM = """
#include <cstdio>
#include "puma_controllers/settings.hpp"
int main()
{
  puma_controllers::Parameters p;
  p.damping = {1.5};
  p.friction = {0.8};
  p.static_friction = {1.1};
  p.friction_offset = {0.1, 0.2, -0.3, 0.0, 0.4, 0.5};
  p.load_friction = {0.05};
  const puma_controllers::Friction friction = puma_controllers::friction_of(p);
  for (double v = -0.4; v < 0.4; v += 0.00173) {
    for (int j = 0; j < puma_controllers::kJoints; ++j) {
      std::printf("%.17g\\n", rd_friction(&friction[RD_FRICTION_PARAMETERS * j], v, v, -7.0));
    }
  }
  p.presliding_friction = {0.9};
  try {
    puma_controllers::friction_of(p);
  } catch (const std::invalid_argument & error) {
    std::puts(error.what());
  }
}
"""


RENAMING_PROGRAM = """
#include <cstdio>
#include "puma_controllers/model.hpp"
int main()
{
  using puma_controllers::Renaming;
  const auto named = [](const char * before, const char * after, int count) {
    std::vector<std::string> names;
    for (int j = 1; j <= count; ++j) {
      names.push_back(before + std::to_string(j) + after);
    }
    return names;
  };
  for (const auto & joints : {named("joint", "", 6), named("left_joint", "", 6), named("axis", "_b", 6)}) {
    const Renaming renaming(joints);
    std::printf("%s %s\\n", renaming("joint3").c_str(), renaming("link2").c_str());
  }
}
"""


CHANGE_PROGRAM = """
#include <cstdio>
#include "puma_controllers/settings.hpp"
using namespace puma_controllers;
int main()
{
  const Parameters p;
  const auto before = make_settings(p, nullptr);
  Vector stretched{}, external{};
  const auto change = [&](Parameters changed) {
    try {
      const auto settings = make_settings(changed, before.get());
      check_standing(*settings, 1e-3, stretched.data(), before.get(), external.data());
      std::puts("taken");
    } catch (const std::exception & error) {
      std::puts(error.what());
    }
  };
  for (const double mass : {2.0, 500.0}) {
    Parameters changed = p;
    changed.payload_mass = mass;
    change(changed);
  }
  for (const double kp : {90.0, 1e6}) {
    Parameters changed = p;
    changed.kp = {kp};
    change(changed);
  }
  Parameters aside = p;
  aside.payload_mass = 2.0;
  aside.payload_center = {0.1, 0.0, 0.1};
  const auto with = make_settings(aside, before.get()), without = make_settings(p, before.get());
  const double zero[kJoints]{};
  Vector loaded{}, empty{};
  for (const auto & [settings, weight] : {std::pair{&with->core, &loaded}, {&without->core, &empty}}) {
    const double * in[] = {stretched.data(), zero, zero, settings->gravity, settings->payload, nullptr};
    settings->inverse_dynamics(in, weight->data());
  }
  for (const double felt : {0.0, 0.9}) {
    for (int j = 0; j < kJoints; ++j) {
      external[j] = felt * (empty[j] - loaded[j]);
    }
    change(aside);
  }
}
"""


@pytest.mark.long
def test_a_payload_that_no_effort_carries_is_refused_live(package, core, tmp_path):
    (tmp_path / "change.cpp").write_text(CHANGE_PROGRAM, encoding="utf-8")
    for source in (package / "src/model").glob("*.c"):
        command = [*CC, "-O0", "-std=gnu11", "-c", source, "-o", tmp_path / f"{source.stem}.o"]
        subprocess.run(command, check=True, timeout=PATIENCE)
    objects = [*core, *tmp_path.glob("*.o")]
    includes = [f"-I{package / 'include'}", f"-I{package / 'src'}"]
    command = [*CXX, "-std=c++17", *includes, tmp_path / "change.cpp", *objects, "-o", tmp_path / "change"]
    subprocess.run([*command, "-lm"], check=True, timeout=LONG_PATIENCE)
    done = subprocess.run([tmp_path / "change"], check=True, capture_output=True, text=True)
    light, heavy, low, high, absent, felt = done.stdout.splitlines()
    assert light == low == felt == "taken"
    assert re.match("joint6 has .* times the inertia with this load .* until the load is on it", absent)
    assert re.match(
        "by this model joint2 needs .* to hold the arm at rest here, but its limit is 186.4", heavy
    )
    assert re.match("parameter 'kp' is 1e.06 for joint1: with a state every 1 ms at most", high)


@pytest.mark.long
def test_links_have_the_prefix_of_the_joints(package, tmp_path):
    """A prefix in front; the same with a model that has another prefix of its own; joints named otherwise."""
    (tmp_path / "renaming.cpp").write_text(RENAMING_PROGRAM, encoding="utf-8")
    (tmp_path / "prefixed").mkdir()
    model = (package / "include/puma_controllers/model.hpp").read_text()
    prefixed = tmp_path / "prefixed/puma_controllers"
    prefixed.mkdir()
    (prefixed / "model.hpp").write_text(model.replace('"joint', '"right_joint'))
    main_program = (tmp_path / "renaming.cpp").read_text()
    (tmp_path / "other.cpp").write_text(
        main_program.replace('("joint3")', '("right_joint3")').replace('("link2")', '("right_link2")')
    )
    found = []
    for source, folder in (("renaming.cpp", package / "include"), ("other.cpp", tmp_path / "prefixed")):
        program = tmp_path / source.partition(".")[0]
        command = [
            *CXX,
            "-std=c++17",
            f"-I{folder}",
            f"-I{package / 'src'}",
            tmp_path / source,
            "-o",
            program,
        ]
        subprocess.run([*command, "-Wall", "-Wextra", "-Werror"], check=True, timeout=LONG_PATIENCE)
        done = subprocess.run([program], check=True, capture_output=True, text=True, timeout=PATIENCE)
        found.append(done.stdout.splitlines())
    assert found[0] == ["joint3 link2", "left_joint3 left_link2", "joint3 link2"]
    assert found[1] == ["joint3 link2", "left_joint3 left_link2", "right_joint3 right_link2"]


def test_friction_of_solver_and_controller_is_the_law_of_the_library(package, tmp_path):
    (tmp_path / "friction.cpp").write_text(FRICTION_PROGRAM, encoding="utf-8")
    includes = [f"-I{package / 'include'}", f"-I{package / 'src'}"]
    command = [*CXX, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", *includes]
    program = tmp_path / "friction"
    subprocess.run([*command, tmp_path / "friction.cpp", "-o", program], check=True, timeout=LONG_PATIENCE)
    *rows, refusal = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    chain = load_urdf(PUMA)
    offset = (0.1, 0.2, -0.3, 0.0, 0.4, 0.5)
    given = ActuatorParameters(
        damping=(1.5,), friction=(0.8,), static_friction=(1.1,), friction_offset=offset, load_friction=(0.05,)
    )
    velocity = -0.4 + 0.00173 * np.arange(len(rows) // JOINTS)[:, None] * np.ones(JOINTS)
    expected = given.of(chain).friction.effort(velocity, load=np.full(JOINTS, -7.0))
    np.testing.assert_allclose(np.reshape(rows, (-1, JOINTS)).astype(float), expected, rtol=1e-12, atol=1e-12)
    assert "'presliding_friction' is larger than the friction of joint1; friction would drive" in refusal


def friction_program():
    """C++ that prints the friction of the first joint for each parameter of the law."""
    lines = []
    for given, *_ in CASES.values():
        values = {"damping": 0.0, "friction": 0.0, **given}
        lines.append(
            "  show({" + ", ".join(f"{{&P::{name}, {value!r}}}" for name, value in values.items()) + "});"
        )
    return f"""
#include <cstdio>
#include <utility>
#include <vector>
#include "puma_controllers/settings.hpp"
using P = puma_controllers::Parameters;
using Given = std::vector<std::pair<std::vector<double> P::*, double>>;
void show(const Given & given)
{{
  P p;
  for (const auto & [name, value] : given) {{
    p.*name = {{value}};
  }}
  const puma_controllers::Friction friction = puma_controllers::friction_of(p);
  for (double v : {{ {", ".join(map(repr, SPEEDS.tolist()))} }}) {{
    std::printf("%.17g\\n", rd_friction(friction.data(), v, v, -7.0));
  }}
}}
int main()
{{
{chr(10).join(lines)}
}}
"""


def test_each_parameter_of_friction_acts_in_the_controller_as_in_closed_form(package, tmp_path):
    source, program = tmp_path / "each.cpp", tmp_path / "each"
    source.write_text(friction_program(), encoding="utf-8")
    includes = [f"-I{package / 'include'}", f"-I{package / 'src'}"]
    command = [*CXX, "-std=c++17", "-O1", *STRICT, *includes, source, "-o", program]
    subprocess.run(command, check=True, timeout=LONG_PATIENCE)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    found = np.array(list(map(float, printed.split()))).reshape(len(CASES), len(SPEEDS))
    for row, name in zip(found, CASES, strict=True):
        np.testing.assert_allclose(row, effort_of(name)(SPEEDS, -7.0), atol=1e-12, err_msg=name)


def test_the_package_has_what_ros2_control_looks_for(package):
    text = {str(path.relative_to(package)): path.read_text() for path in package.rglob("*") if path.is_file()}
    assert not [name for name, content in text.items() if "@" in content and "@PACKAGE" in content]
    assert "<name>puma_controllers</name>" in text["package.xml"]
    assert 'name="puma_controllers/ComputedTorqueController"' in text["controller_plugin.xml"]
    assert 'base_class_type="inverse_dynamics_solver::InverseDynamicsSolver"' in text["solver_plugin.xml"]
    controllers = yaml.safe_load(text["config/controllers.yaml"])
    front = controllers["joint_trajectory_controller"]["ros__parameters"]
    assert front["command_interfaces"] == ["position", "velocity", "acceleration"]
    assert front["command_joints"] == [f"computed_torque_controller/{joint}" for joint in front["joints"]]
    assert text["urdf/robot.urdf"].count('<command_interface name="effort"/>') == JOINTS
    models = [content for name, content in text.items() if name.startswith("src/model/")]
    assert not any("int kernel_batch(" in content for content in models)
    for name, content in text.items():
        if (
            name.endswith((".cpp", ".hpp", ".py", ".yaml", ".xml", "CMakeLists.txt"))
            and "parameters" not in name
        ):
            assert "SPDX-License-Identifier: Apache-2.0" in content, name


def test_parameters_are_those_of_the_node(package):
    written = yaml.safe_load((package / "src/parameters.yaml").read_text())["puma_controllers"]
    assert list(written) == [about.name for about in descriptions(np.array(GRAVITY))]
    node = {about.name for about in describe(ArmParameters)} - set(ABSENT)
    assert node | set(DRIVES) | set(PAYLOAD) | {"gravity"} <= set(written)
    assert written["kp"]["validation"] == {"not_empty<>": None, "element_bounds<>": [0.0, 1e6]}
    assert written["joints"]["validation"] == {"unique<>": None}
    assert written["payload_inertia"]["validation"]["fixed_size<>"] == [6]
    assert all(entry["description"] for entry in written.values())
    assert written["mode"]["validation"] == {"one_of<>": [list(MODES)]}
    assert written["gravity"]["default_value"] == list(GRAVITY)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--name", "My Robot"], "cannot be the name of a ROS package"),
        (["--name", "two__underscores"], "cannot be the name of a ROS package"),
        (["--wrench"], "--wrench has no meaning with --ros2-control"),
        (["--quantity", "gravity"], "--quantity has no meaning with --ros2-control"),
        (["--license", "MIT"], "whose licence is Apache-2.0"),
        (["--driver", "ura"], "there is no driver profile 'ura'; choose from"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, capsys, arguments, reason):
    command = ["generate", str(PUMA), "--ros2-control", "-o", str(tmp_path / "p"), *arguments]
    assert main(command) != 0
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "p").exists()


def test_a_driver_decides_gravity_rate_limits_and_friction(tmp_path):
    text = resource("config/drivers/ur.yaml").read_text(encoding="utf-8")
    own = tmp_path / "own.yaml"
    own.write_text(text.replace("torque_limits: []", "torque_limits: [54, 5000, 28, 28, 10, 10]"))
    folder = tmp_path / "puma_on_ur"
    command = ["generate", str(PUMA), "--ros2-control", "-o", str(folder), "--driver", str(own)]
    assert main(command) == 0
    parameters = yaml.safe_load((folder / "src/parameters.yaml").read_text())["puma_on_ur"]
    assert parameters["gravity"]["default_value"] == [0.0, 0.0, 0.0]
    manager = yaml.safe_load((folder / "config/controllers.yaml").read_text())["controller_manager"]
    assert manager["ros__parameters"]["update_rate"] == 500
    header = (folder / "include/puma_on_ur/model.hpp").read_text()
    left, limits = (
        [float(value) for value in re.search(rf"{name}{{(.*?)}};", header)[1].split(", ")]
        for name in ("kFrictionLeft", "kEffortLimits")
    )
    elbow = dict(zip(DriveFriction.__dataclass_fields__, np.reshape(left, (JOINTS, -1))[2], strict=True))
    expected = {
        "damping": 0.2, "friction": 0.3, "static_friction": 0.3, "stribeck_velocity": 1.0,
        "friction_offset": 0.3, "load_friction": 0.3, "presliding_friction": 0.3, "presliding_travel": 1.0,
    }  # fmt: skip
    assert {name: elbow[name] for name in expected} == expected
    described = [joint.limits.effort for joint in load_urdf(PUMA).joints]
    assert limits == [min(pair) for pair in zip(described, (54, 5000, 28, 28, 10, 10), strict=True)]


@pytest.mark.long
def test_a_driver_with_a_loop_of_its_own_sets_interfaces_and_mode(tmp_path):
    text = resource("config/drivers/openarm_mit.yaml").read_text(encoding="utf-8")
    own = tmp_path / "own.yaml"
    own.write_text(re.sub(r"torque_limits: .*", "torque_limits: []", text))
    folder = tmp_path / "mit_arm"
    assert main(["generate", str(PUMA), "--ros2-control", "-o", str(folder), "--driver", str(own)]) == 0
    parameters = yaml.safe_load((folder / "src/parameters.yaml").read_text())["mit_arm"]
    assert parameters["command_interfaces"]["default_value"] == ["position", "velocity", "effort"]
    assert parameters["command_interfaces"]["read_only"]
    assert parameters["mode"]["default_value"] == "feedforward"
    controllers = yaml.safe_load((folder / "config/controllers.yaml").read_text())
    assert controllers["computed_torque_controller"]["ros__parameters"]["mode"] == "feedforward"
    description = (folder / "urdf/robot.urdf").read_text()
    for kind in ("position", "velocity", "effort"):
        assert description.count(f'<command_interface name="{kind}"/>') == JOINTS
    assert '<param name="kp">' in description


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        ("kinova", "driver 'kinova' does not apply effort commands"),
        ("dynamixel", "driver 'dynamixel' takes motor currents, not torques"),
        ("kuka_sunrise", "driver 'kuka_sunrise' has no state interface velocity, which the controller needs"),
    ],
)
def test_a_driver_that_the_controller_cannot_command_is_refused(tmp_path, capsys, driver, reason):
    command = ["generate", str(PUMA), "--ros2-control", "-o", str(tmp_path / "p"), "--driver", driver]
    assert main(command) != 0
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "p").exists()


def test_a_description_with_hardware_of_its_own_stays_as_it_is(tmp_path, capsys):
    tag = '<ros2_control name="mine" type="system"><hardware/></ros2_control>'
    own = PUMA.read_text().replace("</robot>", f"{tag}</robot>")
    (tmp_path / "own.urdf").write_text(own)
    assert (
        main(["generate", str(tmp_path / "own.urdf"), "--ros2-control", "-o", str(tmp_path / "own_arm")]) == 0
    )
    assert (tmp_path / "own_arm/urdf/robot.urdf").read_text() == own
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if "ros2_control" in line] == [
        "robot_dynamics: note: the description has a ros2_control tag of its own: the launch file starts that"
        " hardware, and no simulation"
    ]
    assert Path(tmp_path / "own_arm/LICENSE").is_file()


@pytest.mark.long
def test_the_simulated_arm_begins_within_its_limits(tmp_path):
    """At zero, or at the limit next to it."""
    chain = load_urdf(PUMA)
    limit = f'lower="{chain.driving_joint(1).limits.lower!r}"'
    own = PUMA.read_text()
    assert own.count(limit) == 1
    (tmp_path / "own.urdf").write_text(own.replace(limit, 'lower="0.3"'))
    folder = tmp_path / "own_arm"
    assert main(["generate", str(tmp_path / "own.urdf"), "--ros2-control", "-o", str(folder)]) == 0
    system = ElementTree.parse(folder / "urdf/robot.urdf").getroot().find("ros2_control")
    starts = [joint.find("state_interface/param").text for joint in system.findall("joint")]
    assert [float(start) for start in starts] == [0.0, 0.3, 0.0, 0.0, 0.0, 0.0]


def test_marks_of_writing_direction_are_references_in_the_copy():
    told = '<robot name="a\u202eb"><!-- \u2066 --><ros2_control name="mine"/></robot>'
    copy = with_simulated_hardware(told.encode(), [])
    assert copy == '<robot name="a&#x202e;b"><!-- &#x2066; --><ros2_control name="mine"/></robot>'
    added = with_simulated_hardware(b"<robot></robot>", [System("arm", "none", {"j\u202e": -0.07})])
    assert '<joint name="j&#x202e;">' in added
    assert '<state_interface name="position"><param name="initial_value">-0.07</param>' in added
