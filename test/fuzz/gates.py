"""The gates for text from outside as functions of bytes, for the fuzzers.

What comes in may be anything; what comes out is used, so that a description that passes is one that works.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from robot_dynamics import ModelError, RobotDynamicsError, load_stewart, load_urdf
from robot_dynamics.cli.state_table import read_states
from robot_dynamics.errors import LONGEST_MESSAGE
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.inputs.documents import parse_yaml
from robot_dynamics.inputs.files import decoded
from robot_dynamics.inputs.tables import text_lines
from robot_dynamics.stewart.motion_table import parse_motion

CORPUS = Path(__file__).parent / "corpus"
"""Inputs that were worth keeping, in a folder for each gate; every one is tried again by the tests."""
JOINTS = ("a", "b")


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
    gate.__name__: gate for gate in (urdf, machine, document, states, motion, number)
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
