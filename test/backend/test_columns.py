"""Derivatives of one state with the joints in lanes are those of the program that has only scalars."""

import ctypes

import numpy as np
import pytest
from random_arms import random_chain

from robot_dynamics.codegen.emit_lanes import lanes_source
from robot_dynamics.codegen.emit_python import python_module
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.native.compiler import find_compiler

GUARD = 8
INPUTS = ("wrench", "gravity", "payload", "friction")


@pytest.mark.long
@pytest.mark.parametrize(
    ("quantity", "joints"),
    [
        ("inverse_dynamics_derivatives", 4),
        ("inverse_dynamics_derivatives", 8),
        ("forward_dynamics_derivatives", 5),
    ],
)
def test_columns_in_lanes_are_the_program_and_stay_in_their_arrays(quantity, joints, tmp_path):
    rng = np.random.default_rng(joints)
    program = make_program(random_chain(rng, joints), None, quantity, INPUTS)
    assert program.columns is not None
    target = tmp_path / "kernel.so"
    find_compiler().compile(lanes_source(program), target, tmp_path, ("-DLANES=8", "-O0"))
    kernel = ctypes.CDLL(str(target)).kernel
    names = {}
    exec(python_module([program], []), names)

    def evaluated(state):
        guarded = np.full((3, joints * joints + 2 * GUARD), np.nan)
        places = (ctypes.c_void_p * 3)(*(row[GUARD:].ctypes.data for row in guarded))
        given = (ctypes.c_void_p * len(state))(*(array.ctypes.data for array in state))
        finite = kernel(given, places)
        assert np.isnan(guarded[:, :GUARD]).all() and np.isnan(guarded[:, -GUARD:]).all()
        return finite, guarded[:, GUARD:-GUARD]

    for _ in range(3):
        state = [rng.uniform(0.1, 1.0, argument.size) for argument in program.inputs]
        finite, found = evaluated(state)
        assert finite
        expected = np.array(names[quantity](*(array.tolist() for array in state)))
        scale = np.abs(expected).max(axis=1)
        assert (np.abs(found - expected).max(axis=1) < 1e-11 * scale).all()
        state[1][joints - 1] = np.nan
        assert not evaluated(state)[0]


def test_arms_that_fit_no_vector_have_no_columns():
    for joints in (3, 9):
        chain = random_chain(np.random.default_rng(joints), joints)
        assert make_program(chain, None, "inverse_dynamics_derivatives", ("gravity",)).columns is None
    coupled = random_chain(np.random.default_rng(6), 6, mimic=True)
    assert make_program(coupled, None, "inverse_dynamics_derivatives", ("gravity",)).columns is None
