"""The gates for text from outside as functions of bytes, for the fuzzers.

What comes in may be anything; what comes out is used, so that a description that passes is one that works.
"""

from __future__ import annotations

import functools
import io
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from robot_dynamics import KinematicChain, ModelError, RobotDynamicsError, load_stewart, load_urdf
from robot_dynamics.cli.state_table import read_states
from robot_dynamics.errors import LONGEST_MESSAGE
from robot_dynamics.identification.excitation.points import read_points
from robot_dynamics.identification.files import read_drives
from robot_dynamics.identification.log_checks import check_log
from robot_dynamics.identification.logs import read_log
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.inputs.documents import parse_yaml
from robot_dynamics.inputs.files import decoded
from robot_dynamics.inputs.tables import text_lines
from robot_dynamics.stewart.motion_table import parse_motion

CORPUS = Path(__file__).parent / "corpus"
"""Inputs that were worth keeping, in a folder for each gate; every one is tried again by the tests."""
JOINTS = ("a", "b")
ARM = (
    '<robot name="arm"><link name="l0"/><link name="l1"/><link name="l2"/>'
    '<joint name="a" type="continuous"><parent link="l0"/><child link="l1"/><axis xyz="0 0 1"/></joint>'
    '<joint name="b" type="continuous"><parent link="l1"/><child link="l2"/><axis xyz="0 1 0"/></joint>'
    "</robot>"
)
FOLDER = tempfile.TemporaryDirectory(prefix="fuzz")


def urdf(data: bytes) -> None:
    """A robot description, and the kinematics of the chain that it is."""
    chain = load_urdf(data)
    pose = chain.forward_kinematics(np.full(chain.dof, 0.3))
    assert np.isfinite(pose).all()


def machine(data: bytes) -> None:
    """The YAML of a Stewart platform, and the legs of the machine at home."""
    text = decoded(data, "the text", ModelError)
    platform = load_stewart(text if "\n" in text else f"{text}\n")
    home = platform.machine
    lengths = platform.legs_of(platform.motion(home.home_position, [0.0, 0.0, 0.0, 1.0])).lengths
    assert np.isfinite(lengths).all()


def document(data: bytes) -> None:
    """Any YAML."""
    parse_yaml(decoded(data, "the text", ModelError), "the text")


def states(data: bytes) -> None:
    """A table of an arm's states."""
    table = read_states(text_lines(io.BytesIO(data), "the table"), JOINTS, "the table")
    assert table.q.shape == table.qd.shape == table.qdd.shape
    for values in (table.q, table.qd, table.qdd):
        assert np.isfinite(values).all()


def motion(data: bytes) -> None:
    """A table of a platform's poses."""
    table = parse_motion(text_lines(io.BytesIO(data), "the table"), "the table")
    assert (np.diff(table.time) > 0.0).all()
    assert np.isfinite(table.position).all()
    np.testing.assert_allclose(np.linalg.norm(table.orientation, axis=1), 1.0, atol=1e-12)


def recording(data: bytes) -> None:
    """A table that an arm is identified from."""
    _check_log(_placed(data, "run.csv"))


def bag(data: bytes) -> None:
    """A bag that an arm is identified from."""
    _check_log(_placed(data, "run.mcap"))


def identified(data: bytes) -> None:
    """The YAML that excitation and identification leave: a motion, or the drives of an arm."""
    path = _placed(data, "file.yaml")
    try:
        points = read_points(path, JOINTS)
    except RobotDynamicsError:
        assert np.isfinite(read_drives(path, _arm()).rotor_inertia).all()
    else:
        assert (np.diff(points.time) > 0.0).all()
        for values in (points.positions, points.velocities, points.accelerations):
            assert np.isfinite(values).all()


def _check_log(path: str) -> None:
    log = read_log(path, JOINTS)
    check_log(log, _arm())
    assert (np.diff(log.time) > 0.0).all()
    assert np.isfinite(log.q).all()
    assert np.isfinite(log.effort).all()


def _placed(data: bytes, name: str) -> str:
    """A file of this content."""
    path = Path(FOLDER.name) / name
    path.write_bytes(data)
    return str(path)


@functools.cache
def _arm() -> KinematicChain:
    return load_urdf(ARM)


def number(data: bytes) -> None:
    """A number in text: what is taken is what Python makes of it."""
    text = decoded(data, "the text", ModelError)
    try:
        value = decimal(text)
    except ValueError as reason:
        raise ModelError(str(reason)) from None
    assert text.isascii()
    assert "_" not in text
    assert value == float(text) or np.isnan(value)


GATES: dict[str, Callable[[bytes], None]] = {
    gate.__name__: gate
    for gate in (urdf, machine, document, states, motion, number, recording, bag, identified)
}


def knock(name: str, data: bytes) -> bool:
    """Try an input at a gate; whether it passed.

    Raises:
        AssertionError: what passed does not work, or the refusal is not short and printable.
        Exception: anything but an error of this package.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            GATES[name](data)
        except RobotDynamicsError as error:
            message = str(error)
            assert message
            assert len(message) <= LONGEST_MESSAGE
            assert message.replace("\n", "").isprintable()
            return False
    return True


def seeds(name: str) -> list[bytes]:
    """The kept inputs of a gate."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
