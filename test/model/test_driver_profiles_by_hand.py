"""Driver profiles made in code: what follows from them, and what is refused word for word."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.errors import ModelError, ParameterError
from robot_dynamics.model.driver_profile import (
    WITHOUT_FEEDBACK,
    DriverProfile,
    EffortCommand,
    EffortState,
    driver_names,
    load_driver,
)

COMMAND = EffortCommand(
    obeyed=True, interfaces=("effort", "position"), quantity="torque", drive_loop=True, gravity="robot",
    payload="controller", payload_service="/set", friction="partial", viscous_left=(0.25, 0.0, 1.0),
    coulomb_left=(0.5,), torque_limits=(10.0, 20.0, 30.0), torque_rate_limit=0.0,
)  # fmt: skip
STATE = EffortState(("position", "velocity"), "torque", "link", "included")
PROFILE = DriverProfile("mine", "My driver", "1", ("a",), COMMAND, STATE, 0.0, "on", "off", (), ("rate",))
PLAIN = replace(
    COMMAND, drive_loop=False, viscous_left=(), coulomb_left=(), torque_limits=(), gravity="controller"
)
JOINTS = ("a", "b", "c")
NO_EFFORTS = {"obeyed": False, "interfaces": ("position",), "quantity": "none"}


def driver(**changes):
    return replace(PROFILE, command=replace(COMMAND, **changes))


def reporting(**changes):
    return replace(PROFILE, state=replace(STATE, **changes))


def test_shares_and_limits_are_given_for_every_joint():
    viscous, dry = PROFILE.friction_left(JOINTS)
    assert viscous.tolist() == [0.25, 0.0, 1.0] and dry.tolist() == [0.5, 0.5, 0.5]
    assert PROFILE.torque_limits(JOINTS).tolist() == [10.0, 20.0, 30.0]
    plain = replace(PROFILE, command=PLAIN)
    for found, expected in zip(
        (*plain.friction_left(JOINTS), plain.torque_limits(JOINTS)), (1, 1, np.inf), strict=True
    ):
        assert found.tolist() == [expected] * 3
    for of, name in ((PROFILE.friction_left, "viscous_left"), (PROFILE.torque_limits, "torque_limits")):
        with pytest.raises(ParameterError) as refused:
            of(("a", "b"))
        said = f"driver 'mine': parameter '{name}' has 3 values; give 1, or 2 in the order a, b"
        assert str(refused.value) == said


def test_who_carries_the_weight():
    assert PROFILE.carries_weight
    assert not driver(gravity="controller").carries_weight


def test_drivers_that_cannot_be_commanded_torques_are_refused():
    PROFILE.check_command()
    for changes, said in (
        (
            {**NO_EFFORTS, "drive_loop": False},
            "driver 'mine' does not apply effort commands; a controller of efforts has no effect there",
        ),
        (
            {"quantity": "current"},
            "driver 'mine' takes motor currents, not torques; where it converts torques, give a copy of its"
            " profile with 'quantity: torque'",
        ),
    ):
        with pytest.raises(ParameterError) as refused:
            driver(**changes).check_command()
        assert str(refused.value) == said


def test_effort_states_that_are_no_torques_are_refused():
    for converted in (False, True):
        PROFILE.check_state(converted)
        with pytest.raises(ParameterError) as refused:
            reporting(quantity="none").check_state(converted)
        assert str(refused.value) == "driver 'mine' reports no efforts, so nothing can be learned from them"
    currents = reporting(quantity="current")
    currents.check_state(True)
    with pytest.raises(ParameterError) as refused:
        currents.check_state(False)
    assert str(refused.value) == (
        "driver 'mine' reports motor currents: give the torque of one ampere of each joint by --columns FILE;"
        " --inspect writes a guess of the file"
    )


def test_laws_with_gains_are_refused_where_the_drive_has_a_loop_of_its_own():
    assert WITHOUT_FEEDBACK == ("feedforward", "gravity_compensation")
    for mode in WITHOUT_FEEDBACK:
        PROFILE.check_mode(mode)
    replace(PROFILE, command=PLAIN).check_mode("computed_torque")
    with pytest.raises(ParameterError) as refused:
        PROFILE.check_mode("computed_torque")
    assert str(refused.value) == (
        "mode 'computed_torque' has gains, and driver 'mine' has a loop of its own: set mode to feedforward"
        " or gravity_compensation"
    )


OBEYED = "obeyed efforts need the interface effort and a quantity"
REFUSED = {
    "no interface": (
        {"interfaces": ("position",)},
        f"obeyed of a command is True, its interfaces are ['position'] and its quantity is torque: {OBEYED}",
    ),
    "no quantity": (
        {"quantity": "none"},
        "obeyed of a command is True, its interfaces are ['effort', 'position'] and its quantity is none:"
        f" {OBEYED}",
    ),
    "not obeyed": (
        {"obeyed": False, "interfaces": ("position",)},
        f"obeyed of a command is False, its interfaces are ['position'] and its quantity is torque: {OBEYED}",
    ),
    "not obeyed, accepted": (
        {"obeyed": False, "quantity": "none"},
        "obeyed of a command is False, its interfaces are ['effort', 'position'] and its quantity is none:"
        f" {OBEYED}",
    ),
    "loop": (
        {"interfaces": ("effort", "velocity")},
        "drive_loop of a command is True: the loop needs the interface position",
    ),
    "gravity": (
        {"gravity": "nobody"},
        "gravity of a EffortCommand is 'nobody'; it must be one of controller, robot",
    ),
    "payload": ({"payload": ""}, "payload of a EffortCommand is ''; it must be one of controller, robot"),
    "quantity": (
        {"quantity": "power"},
        "quantity of a EffortCommand is 'power'; it must be one of torque, current, none",
    ),
    "friction": (
        {"friction": "some"},
        "friction of a EffortCommand is 'some'; it must be one of none, partial, adjustable, unknown",
    ),
    "interface": (
        {"interfaces": ("effort", "pwm")},
        "interfaces of a EffortCommand, an entry, is 'pwm'; it must be one of position, velocity, effort",
    ),
    "share": (
        {"coulomb_left": (0.5, 1.25)},
        "coulomb_left of a EffortCommand, an entry, is 1.25; it must be from 0 to 1",
    ),
    "negative share": (
        {"viscous_left": (-0.25,)},
        "viscous_left of a EffortCommand, an entry, is -0.25; it must not be negative",
    ),
    "limit": (
        {"torque_limits": (1.0, 0.0)},
        "torque_limits of a EffortCommand, an entry, is 0; it must be positive",
    ),
    "rate": (
        {"torque_rate_limit": -1.0},
        "torque_rate_limit of a EffortCommand is -1; it must not be negative",
    ),
}


@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_effort_commands_that_cannot_be_are_refused(changes, said):
    with pytest.raises(ModelError) as refused:
        replace(COMMAND, **changes)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"interfaces": ("current",)},
            "interfaces of a EffortState, an entry, is 'current'; it must be one of position, velocity,"
            " effort",
        ),
        (
            {"quantity": "power"},
            "quantity of a EffortState is 'power'; it must be one of torque, current, none",
        ),
        ({"side": "left"}, "side of a EffortState is 'left'; it must be one of link, motor, unknown"),
        ({"gravity": "x"}, "gravity of a EffortState is 'x'; it must be one of included, removed, unknown"),
    ],
)
def test_effort_states_that_cannot_be_are_refused(changes, said):
    with pytest.raises(ModelError) as refused:
        replace(STATE, **changes)
    assert str(refused.value) == said


def keys():
    own = [field.name for field in fields(DriverProfile) if field.name not in ("command", "state")]
    return [
        *own, *(f"command.{field.name}" for field in fields(EffortCommand)),
        *(f"state.{field.name}" for field in fields(EffortState)),
    ]  # fmt: skip


def test_unverified_keys_are_keys_of_the_profile():
    assert replace(PROFILE, unverified=tuple(keys())).unverified == tuple(keys())
    for key in ("command", "state", "side", "command.side", "state.payload"):
        with pytest.raises(ModelError) as refused:
            replace(PROFILE, unverified=("rate", key))
        assert str(refused.value) == f"unverified has '{key}'; it must be one of {', '.join(keys())}"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"rate": -1.0}, "rate"),
        ({"name": 3}, "name"),
        ({"title": None}, "title"),
        ({"version": 1.0}, "version"),
        ({"activation": 1}, "activation"),
        ({"silence": 1}, "silence"),
        ({"sources": (1,)}, "sources"),
        ({"traps": (1,)}, "traps"),
        ({"unverified": (1,)}, "unverified"),
        ({"command": STATE}, "command"),
        ({"state": COMMAND}, "state"),
    ],
)
def test_fields_of_a_profile_are_checked(changes, name):
    with pytest.raises((ModelError, TypeError), match=f"{name} of a DriverProfile"):
        replace(PROFILE, **changes)


FILE = """\
name: mine
title: t
version: ""
sources: [s]
command: {obeyed: true, interfaces: [effort], quantity: torque, drive_loop: false, gravity: robot,
  payload: robot, payload_service: "", friction: none, viscous_left: [0.5, 1], coulomb_left: [],
  torque_limits: [], torque_rate_limit: 2}
state: {interfaces: [], quantity: none, side: unknown, gravity: unknown}
rate: 250
activation: a
silence: s
traps: []
unverified: [rate]
"""


def test_a_file_gives_every_field(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    command = EffortCommand(
        True, ("effort",), "torque", False, "robot", "robot", "", "none", (0.5, 1.0), (), (), 2.0
    )
    state = EffortState((), "none", "unknown", "unknown")
    expected = DriverProfile("mine", "t", "", ("s",), command, state, 250.0, "a", "s", (), ("rate",))
    assert load_driver(path) == load_driver(str(path)) == expected


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("silence: s\n", "", "key 'silence' is missing"),
        ("side: unknown, ", "", "key 'state.side' is missing"),
        (
            "silence: s\n",
            "noise: s\n",
            "key 'noise' is unknown; it must be one of name, title, version,"
            " sources, command, state, rate, activation, silence, traps, unverified",
        ),
        (
            "side:",
            "edge:",
            "key 'state.edge' is unknown; it must be one of interfaces, quantity, side, gravity",
        ),
        (FILE, "[1, 2]", "must hold a mapping of parameters, not list"),
        (
            "state: {interfaces: [], quantity: none, side: unknown, gravity: unknown}",
            "state: none",
            "state is 'none'; it must be a mapping",
        ),
    ],
)
def test_a_faulty_file_is_refused(tmp_path, monkeypatch, old, new, said):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(FILE.replace(old, new))
    with pytest.raises(ModelError) as refused:
        load_driver("mine.yaml")
    assert str(refused.value).startswith("driver profile 'mine.yaml': ")
    assert str(refused.value).endswith(said)


def test_an_unknown_name_is_refused_with_those_there_are():
    assert list(driver_names()) == sorted(driver_names())
    with pytest.raises(ModelError) as refused:
        load_driver("nobody")
    assert str(refused.value) == (
        f"there is no driver profile 'nobody'; choose from {', '.join(driver_names())}, or give the path of a"
        " .yaml file"
    )
