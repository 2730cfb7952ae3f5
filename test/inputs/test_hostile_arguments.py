"""Every argument of the library with values that nobody should pass: refused by name, shortly, or used.

Only errors of this package come out; for an object of an altogether wrong type one that is a TypeError too.
"""

import dataclasses
import inspect
import itertools
import os
import pickle
from functools import lru_cache

import numpy as np
import pytest
import yaml
from shares import share_of

import robot_dynamics as rd
from robot_dynamics.dynamics.formulations import FORMULATIONS
from robot_dynamics.errors import LONGEST_MESSAGE
from robot_dynamics.report.plots import blank_figure, save
from robot_dynamics.resources import resource

pytestmark = pytest.mark.filterwarnings("ignore")


class Faulty:
    """An object that fails whatever is asked of it."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __array__(self, *_, **__):
        raise RuntimeError("x" * 100_000)

    def fail(self, *_):
        raise RuntimeError("nothing works")

    __eq__ = __hash__ = __len__ = __iter__ = __float__ = __index__ = __bool__ = __fspath__ = fail


class FaultyList(list):
    """A list that cannot be gone through."""

    __len__ = __iter__ = __getitem__ = __bool__ = Faulty.fail


class FaultyText(str):
    """A text that cannot be compared."""

    __eq__ = __hash__ = __contains__ = Faulty.fail


LOOP: list = []
LOOP.append(LOOP)
HOSTILE = {
    "integer beyond doubles": 10**400,
    "integers beyond doubles": [10**400] * 6,
    "integer of 5000 digits": 10**5000,
    "complex": 1j,
    "complex numbers": [1j] * 6,
    "numbers of which one is masked": [np.ma.masked, *[1.0] * 5],
    "long doubles beyond doubles": np.full(6, np.longdouble("1e4000")),
    "without an end": itertools.repeat(1.0),
    "list in itself": LOOP,
    "masked": np.ma.array([1.0] * 6, mask=[True] + [False] * 5),
    "dates": np.array(["2001-01-01"] * 6, dtype="datetime64[D]"),
    "texts": ["1"] * 6,
    "long text": "x" * 100_000,
    "bytes": b"\xff" * 10,
    "none": None,
    "object": object(),
    "faulty object": Faulty(),
    "faulty list": FaultyList([1.0] * 6),
    "faulty text": FaultyText("tip"),
    "function": len,
    "type": int,
    "NaN": np.nan,
    "NaNs": [np.nan] * 6,
    "infinity": float("inf"),
    "large": 1e300,
    "large numbers": [1e300] * 6,
    "boolean": True,
    "booleans": [True] * 6,
    "empty list": [],
    "ragged": [[1.0, 2.0], [3.0]],
    "texts in lists": [["a"]],
    "mapping": {"a": 1},
    "set": {1},
    "minus one": -1,
    "zero": 0,
    "NUL": "a\0b",
    "lone surrogate": "\ud800",
    "empty array": np.zeros(0),
    "array of many axes": np.zeros((2, 2, 2, 2)),
    "records": np.zeros(6, dtype=[("a", float)]),
    "array without an axis": np.array(3.0),
}

URDF = str(resource("urdf/puma560.urdf"))
CHAIN = rd.load_urdf(URDF)
REST = np.zeros(CHAIN.dof)
MACHINE = yaml.safe_load(resource("config/stewart_demo.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def targets():
    """Functions of one value, by the name of the argument that it becomes."""
    return {
        **description_targets(),
        **arm_targets(),
        **control_targets(),
        **platform_targets(),
        **record_targets(),
        **equation_targets(),
    }


def record_targets():
    """Every field of the records that models consist of."""
    machine, model = rd.load_stewart(MACHINE).machine, rd.SerialModel.from_chain(CHAIN)
    joint, leg, table = CHAIN.joints[0], machine.legs[0], rd.dh_parameters(CHAIN)
    bodies = (joint, joint.body, joint.limits, model, model.links[0], table, table.rows[0])
    parts = (machine, leg, leg.limits, leg.friction, leg.drive, leg.spring)
    return {
        f"{type(record).__name__} {field.name}": lambda v, r=record, name=field.name: dataclasses.replace(
            r, **{name: v}
        )
        for record in (*bodies, *parts, rd.Waypoint(1.0, [0.0]))
        for field in dataclasses.fields(record)
        if field.init
    }


def equation_targets():
    """Every argument of the textbook equations."""
    model = rd.SerialModel.from_chain(CHAIN)
    usual = {"model": model, "duration": 1.0, "step": 1.0, **dict.fromkeys(("q", "qd", "tau"), REST)}

    def call(function, wanted, value):
        names = inspect.signature(function).parameters
        given = {name: usual[name] for name in names if name in usual}
        return function(**{**given, wanted: value})

    functions = [getattr(rd.equations, name) for name in rd.equations.__all__ if name[0].islower()]
    return {
        f"{function.__name__} {argument}": lambda v, f=function, argument=argument: call(f, argument, v)
        for function in functions
        for argument in inspect.signature(function).parameters
        if argument not in ("scalars", "inverse_dynamics", "effort")
    }


def test_a_picture_waits_for_no_reader(tmp_path):
    os.mkfifo(tmp_path / "plot.png")
    with pytest.raises(rd.ParameterError, match=r"plot\.png"):
        save(blank_figure(1.0, 1.0, "none"), tmp_path / "plot.png")


def test_the_equations_tell_of_overflow():
    model, large = rd.SerialModel.from_chain(CHAIN), [1e200] * CHAIN.dof
    for function, arguments in (
        (rd.equations.coriolis_forces, (REST, large)),
        (rd.equations.articulated_body, (REST, large, REST)),
        (rd.formulations.newton_euler, (REST, large, REST)),
    ):
        with pytest.raises(rd.StateError, match=r"no finite result: .*qd reaches 1e\+200"):
            function(model, *arguments)


def description_targets():
    def leg(field, value):
        first, *others = MACHINE["legs"]
        return rd.load_stewart({**MACHINE, "legs": [{**first, field: value}, *others]})

    def default(field, value):
        return rd.load_stewart({**MACHINE, "leg_defaults": {**MACHINE["leg_defaults"], field: value}})

    return {
        "load_urdf source": rd.load_urdf,
        "load_urdf root": lambda v: rd.load_urdf(URDF, root=v),
        "load_urdf tip": lambda v: rd.load_urdf(URDF, tip=v),
        "load_urdf locked_joints": lambda v: rd.load_urdf(URDF, locked_joints=v),
        "locked position": lambda v: rd.load_urdf(URDF, locked_joints={"joint2": v}),
        "load_stewart source": rd.load_stewart,
        **{f"machine {k}": lambda v, k=k: rd.load_stewart({**MACHINE, k: v}) for k in MACHINE},
        "machine leg": lambda v: rd.load_stewart({**MACHINE, "legs": [v] * 6}),
        **{f"leg {k}": lambda v, k=k: leg(k, v) for k in MACHINE["legs"][0]},
        **{f"leg default {k}": lambda v, k=k: default(k, v) for k in MACHINE["leg_defaults"]},
        "dh_parameters chain": rd.dh_parameters,
        "dh_parameters convention": lambda v: rd.dh_parameters(CHAIN, v),
        "dh_parameters tolerance": lambda v: rd.dh_parameters(CHAIN, tolerance=v),
        "forward_kinematics q": CHAIN.forward_kinematics,
        "joint_values q": CHAIN.joint_values,
        "driving_joint coordinate": CHAIN.driving_joint,
        "table q": rd.dh_parameters(CHAIN).forward_kinematics,
        **{
            f"KinematicChain {field.name}": lambda v, name=field.name: dataclasses.replace(CHAIN, **{name: v})
            for field in dataclasses.fields(CHAIN)
        },
        **textbook_targets(),
    }


def textbook_targets():
    """Arguments of the model of a textbook arm, whole and entry by entry."""
    arm = {
        **{name: [0.1, 0.2] for name in ("alpha", "a", "r", "mass", "theta", "y_shift")},
        "first_moment": [[0.0, 0.0, 0.1]] * 2,
        "inertia": [np.eye(3)] * 2,
        "prismatic": [False, True],
        "base": np.eye(4),
        "tip": np.eye(4),
        "names": ["a", "b"],
    }
    make = rd.SerialModel.from_dh
    return {
        **{f"from_dh {name}": lambda v, name=name: make(**{**arm, name: v}) for name in arm},
        **{f"entry {name}": lambda v, name=name: make(**{**arm, name: [v, v]}) for name in arm},
    }


def arm_targets():
    arm, model = rd.compile_dynamics(CHAIN), rd.SerialModel.from_chain(CHAIN)
    return {
        "compile_dynamics chain": rd.compile_dynamics,
        "compile_dynamics gravity": lambda v: rd.compile_dynamics(CHAIN, v),
        "compile_dynamics backend": lambda v: rd.compile_dynamics(CHAIN, backend=v),
        "compile_dynamics quantities": lambda v: rd.compile_dynamics(CHAIN, quantities=v),
        "inverse_dynamics q": lambda v: arm.inverse_dynamics(v, REST, REST),
        "inverse_dynamics qd": lambda v: arm.inverse_dynamics(REST, v, REST),
        "inverse_dynamics wrench": lambda v: arm.inverse_dynamics(REST, REST, REST, wrench=v),
        "inverse_dynamics out": lambda v: arm.inverse_dynamics(REST, REST, REST, out=v),
        "forward_dynamics tau": lambda v: arm.forward_dynamics(REST, REST, v),
        "mass_matrix q": arm.mass_matrix,
        "jacobian q": arm.jacobian,
        "prepare quantities": arm.prepare,
        "compile_dynamics payload": lambda v: rd.compile_dynamics(CHAIN, payload=v, quantities=()),
        "compile_dynamics friction": lambda v: rd.compile_dynamics(CHAIN, friction=v, quantities=()),
        "with_payload payload": arm.with_payload,
        "evaluator name": arm.evaluator,
        "operation_count quantity": arm.operation_count,
        "with_gravity gravity": arm.with_gravity,
        "model q": model.forward_kinematics,
        "SerialModel chain": rd.SerialModel.from_chain,
        "SerialModel gravity": lambda v: rd.SerialModel.from_chain(CHAIN, v),
        **{f"{name} q": lambda v, f=f: f(model, v, REST, REST) for name, f in FORMULATIONS.items()},
        **{
            f"{name} wrench": lambda v, f=f: f(model, REST, REST, REST, v) for name, f in FORMULATIONS.items()
        },
    }


def control_targets():
    dynamics = rd.ArmController(CHAIN).dynamics
    names, move = CHAIN.joint_names, [0.1] * CHAIN.dof

    def started():
        controller = rd.ArmController(CHAIN, dynamics)
        controller.update(0.0, REST, REST)
        return controller

    def follow(*waypoints):
        return started().follow(names, waypoints)

    classes = (rd.ArmParameters, rd.ActuatorParameters, rd.StewartParameters)
    return {
        "ArmController chain": rd.ArmController,
        "StewartController platform": rd.StewartController,
        "follow joint_names": lambda v: started().follow(v, [rd.Waypoint(1.0, move)]),
        "follow joint name": lambda v: started().follow([v] * CHAIN.dof, [rd.Waypoint(1.0, move)]),
        "follow waypoints": lambda v: started().follow(names, v),
        "follow waypoint": follow,
        "follow start": lambda v: started().follow(names, [rd.Waypoint(1.0, move)], v),
        "waypoint time": lambda v: follow(rd.Waypoint(v, move)),
        "waypoint positions": lambda v: follow(rd.Waypoint(1.0, v)),
        "waypoint position": lambda v: follow(rd.Waypoint(1.0, [v] * CHAIN.dof)),
        "waypoint velocities": lambda v: follow(rd.Waypoint(1.0, move, v)),
        "ArmController parameters": lambda v: rd.ArmController(CHAIN, dynamics, v),
        "ActuatedArm chain": lambda v: rd.ActuatedArm(dynamics, v, rd.ActuatorParameters()),
        "ActuatedArm parameters": lambda v: rd.ActuatedArm(dynamics, CHAIN, v),
        "ActuatedArm links": lambda v: rd.ActuatedArm(v, CHAIN, rd.ActuatorParameters()),
        "of chain": rd.ActuatorParameters().of,
        "of_joints joints": rd.ActuatorParameters().of_joints,
        "limits_of chain": rd.ArmParameters().limits_of,
        "limits described": lambda v: rd.ArmParameters().effort_limits_of(names, v),
        "gains joint_names": rd.ArmParameters().gains,
        "plan_start allowance": lambda v: started().plan_start(None, v),
        "accept planned": lambda v: started().accept(v),
        "take_over_from other": lambda v: started().take_over_from(v),
        "safe_command since": lambda v: started().safe_command(v),
        "observe place": lambda v: started().observe(v),
        "update time": lambda v: started().update(v, REST, REST),
        "update position": lambda v: started().update(1.0, v, REST),
        "update velocity": lambda v: started().update(1.0, REST, v),
        **{
            f"{cls.__name__} {field.name}": lambda v, cls=cls, field=field: cls(**{field.name: v})
            for cls in classes
            for field in dataclasses.fields(cls)
        },
    }


def platform_targets():
    platform = rd.load_stewart(MACHINE)

    def usual(name):
        home = {"position": platform.machine.home_position, "orientation": np.array([0.0, 0.0, 0.0, 1.0])}
        return home.get(name, np.zeros(6 if name in ("lengths", "actuator_forces") else 3))

    def call(method, wanted, value):
        given = {
            name: usual(name)
            for name, parameter in inspect.signature(method).parameters.items()
            if parameter.default is parameter.empty
        }
        if method is line:
            given["duration"] = 1.0
        return method(**{**given, wanted: value})

    lengths = platform.legs(usual("position"), usual("orientation")).lengths

    @lru_cache(maxsize=1)
    def started():
        """One for all: to make it takes longer than everything that is asked of it."""
        controller = rd.StewartController(platform)
        controller.update(0.0, lengths, np.zeros(6))
        return controller

    line, rest = rd.stewart.straight_line, np.zeros(3)
    state = rd.stewart.State(platform.machine.home_position, np.array([0.0, 0.0, 0.0, 1.0]), rest, rest)
    path = line(rest, rest, rest, rest, 1.0)
    still = platform.task_space_dynamics(usual("position"), usual("orientation"))

    def start(name, value):
        begin = dataclasses.replace(state, **{name: value})
        return platform.simulate(lambda *_: np.zeros(6), 0.001, 0.001, begin)

    return {
        "StewartPlatform machine": rd.StewartPlatform,
        "acceleration actuator_forces": still.acceleration,
        "path times": path.at,
        "path step": lambda v: platform.check_path(path, v),
        "path from_outside": lambda v: platform.check_path(path, from_outside=v),
        **{
            f"simulated {field.name}": lambda v, name=field.name: start(name, v)
            for field in dataclasses.fields(state)
        },
        **{
            f"{method.__name__} {argument}": lambda v, m=method, argument=argument: call(m, argument, v)
            for method in (line, rd.stewart.pack)
            for argument in inspect.signature(method).parameters
        },
        "StewartController parameters": lambda v: rd.StewartController(platform, v),
        "set_wrench force": lambda v: started().set_wrench(v, [0.0, 0.0, 0.0]),
        "change_payload payload": lambda v: started().change_payload(v),
        "change_model platform": lambda v: started().change_model(v),
        "command_pose sample": lambda v: started().command_pose(v),
        "pose waypoints": lambda v: started().follow(v),
        "platform safe_command since": lambda v: started().safe_command(v),
    } | {
        f"{name} {argument}": lambda v, method=method, argument=argument: call(method, argument, v)
        for name, method in inspect.getmembers(platform, inspect.ismethod)
        if not name.startswith("_")
        for argument in inspect.signature(method).parameters
    }


RIGHT = ("must be ", "expected ", "cannot be read as ")
"""Words before what would be right."""


@pytest.mark.parametrize("value", share_of(HOSTILE))
def test_only_errors_that_name_the_argument_come_out(value, targets):
    wrong = []
    for name, target in targets.items():
        try:
            target(value)
        except rd.RobotDynamicsError as error:
            if len(str(error)) > LONGEST_MESSAGE:
                wrong.append(f"{name}: a message of {len(str(error))} characters")
            if isinstance(error, TypeError) and not any(words in str(error) for words in RIGHT):
                wrong.append(f"{name}: {error}")
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__} {str(error)[:100]}")
    assert not wrong


def test_an_object_of_a_wrong_type_raises_both_errors_at_every_argument(targets):
    wrong = []
    for name, target in targets.items():
        if name == "observe place":  # it ignores what is no position
            continue
        with pytest.raises(rd.RobotDynamicsError) as raised:
            target(object())
        kinds = isinstance(raised.value, rd.WrongTypeError), isinstance(raised.value, TypeError)
        known = pickle.loads(pickle.dumps(raised.value))
        if not all(kinds) or type(known) is not type(raised.value) or str(known) != str(raised.value):
            wrong.append(f"{name}: {raised.value!r}")
    assert not wrong


SILENTLY_WRONG = ("complex numbers", "masked", "dates", "texts", "booleans")


@pytest.mark.parametrize("kind", SILENTLY_WRONG)
def test_what_numpy_would_turn_into_numbers_is_refused(kind, targets):
    arrays = (
        "q",
        "qd",
        "wrench",
        "tau",
        "gravity",
        "positions",
        "velocities",
        "position",
        "lengths",
        "force",
    )
    for name, target in targets.items():
        argument = name.rpartition(" ")[2]
        if argument in arrays and not name.startswith(("leg", "machine", "locked", "Waypoint")):
            with pytest.raises(rd.RobotDynamicsError, match=argument.split("_")[0]):
                target(HOSTILE[kind])
